/* wave.c: a recurrence over two dims, many rows at once.
 *
 * FOR p { points; FOR q { X[p, q] = f(X[p - 1, q], X[p, q - 1], X[p - 1, q - 1], numbers of p, of
 * q, of both) } }: cells of one diagonal need none of each other. LANES rows go together, one lane
 * each: in step s row l is at column s - l. Lane l has its left cell from its own last step, the
 * one above from lane l - 1's, and the corner is the cell above of one step ago; lane 0 reads the
 * row before from memory. Numbers of q move on from lane to lane, those of both are read where they
 * lie. Lanes that have not begun hold the cell left of the row, made by the points before the inner
 * loop; lanes that are done keep their last. Where X keeps a ring of w rows only the last w lanes
 * are stored: others would be overwritten, and the slot of the row before is written LANES - 1
 * columns behind where it is read. Rows that are left over run as the plan has them. */
#include "emit/priv.h"

typedef enum {
  CELL_NONE,
  CELL_UP,
  CELL_LEFT,
  CELL_CORNER,
  CELL_ROW,
  CELL_COLUMN,
  CELL_SAME,
  CELL_OTHER
} wave_cell;
typedef struct {
  tp_emit *e;
  const tp_pnode *p, *q, *body;
  const tp_region *r;
  int nbefore;
  const tp_pnode **before;
  const tp_nd *x;
  int lanes, first;
  wave_cell *in; /* first: lane from which on rows are stored */
} wave;

static bool mentions(const tp_ix *e, const tp_sym *s) { return tp_ix_mentions(e, s); }

static bool window_mentions(const tp_nd *nd, const tp_sym *s) {
  bool any = mentions(nd->off, s);
  for (int i = 0; i < nd->nring; i++)
    any |= mentions(nd->ring[i].idx, s) || mentions(nd->ring[i].width, s) ||
        mentions(nd->ring[i].stride, s);
  return any;
}

/* ---- is it one? ---- */

/* Is a, dp rows and dq columns on, where o is? Both are of one buffer. */
static bool is_there(const wave *w, const tp_nd *a, int dp, int dq, const tp_nd *o) {
  tp_ictx *ix = w->e->ix;
  const tp_sym *from[] = { w->p->var, w->q->var };
  const tp_ix *to[] = { tp_ix_addc(ix, tp_ix_sym(ix, from[0]), dp),
    tp_ix_addc(ix, tp_ix_sym(ix, from[1]), dq) };
  return tp_ix_subst(ix, a->off, 2, from, to) == o->off && tp_same_rings(a, o, ix, 2, from, to);
}

static wave_cell cell_of(const wave *w, const tp_nd *a) {
  bool p = window_mentions(a, w->p->var), q = window_mentions(a, w->q->var);
  const tp_nd *o = w->x;
  if (a->buf == o->buf)
    return is_there(w, a, 1, 0, o) ? CELL_UP
        : is_there(w, a, 0, 1, o)  ? CELL_LEFT
        : is_there(w, a, 1, 1, o)  ? CELL_CORNER
                                   : CELL_NONE;
  return p && q ? CELL_OTHER : p ? CELL_ROW : q ? CELL_COLUMN : CELL_SAME;
}

/* A point before the inner loop: it writes the cell left of the row, and of all cells reads the one
 * above that at most. */
static bool makes_left(const wave *w, const tp_pnode *x) {
  const tp_ix *left = tp_ix_addc(w->e->ix, w->q->lo, -1);
  if (x->kind != TP_P_REGION || !tp_emit_is_points(w->e, x) || tp_emit_faults(w->e, x->rg) ||
      x->rg->nlead || x->rg->nout != 1 || x->rg->acc)
    return false;
  const tp_nd *o = &x->rg->out[0];
  bool ok = o->buf == w->x->buf && tp_same_rings(o, w->x, NULL, 0, NULL, NULL) &&
      o->off == tp_ix_subst(w->e->ix, w->x->off, 1, &w->q->var, &left);
  for (int i = 0; ok && i < x->rg->nin; i++)
    ok = x->rg->in[i].buf != w->x->buf || is_there(w, &x->rg->in[i], 1, 0, o);
  return ok;
}

/* Rows that are kept: all of them, or a ring that lanes go round a whole number of times. */
static bool rows_kept(wave *w) {
  int64_t width = 0;
  int turning = 0;
  for (int i = 0; i < w->x->nring; i++) {
    const tp_ring *r = &w->x->ring[i];
    if (mentions(r->width, w->p->var) || mentions(r->stride, w->p->var) ||
        mentions(r->idx, w->q->var) || mentions(r->width, w->q->var) ||
        mentions(r->stride, w->q->var))
      return false;
    if (!mentions(r->idx, w->p->var)) continue;
    int64_t k;
    const tp_ix *rest;
    turning++;
    if (!tp_ix_linear_in(w->e->ix, r->idx, w->p->var, &k, &rest) || k != 1 ||
        !tp_ix_is_const(r->width, &width) || width < 1 || width > w->lanes || w->lanes % width)
      return false;
  }
  w->first = turning ? w->lanes - (int)width : 0;
  return turning < 2 && !(turning && mentions(w->x->off, w->p->var)) &&
      (turning || mentions(w->x->off, w->p->var));
}

static bool fits_lanes(wave *w) {
  tp_dtype d = w->e->p->bufs.v[w->x->buf]->dtype;
  bool ok = d == TP_F32 || d == TP_I32 || d == TP_F64 || d == TP_I64, left = false;
  w->lanes = 64 / TP_MAX(tp_dtype_size(d), 4);
  w->in = TP_NEWN(w->e->a, wave_cell, w->r->nin + 1);
  for (int i = 0; ok && i < w->r->nin; i++) {
    w->in[i] = cell_of(w, &w->r->in[i]);
    ok = w->in[i] != CELL_NONE;
    left |= w->in[i] == CELL_LEFT;
  }
  return ok && left && rows_kept(w);
}

/* The statements of a sequence, in order. */
static int listed(const tp_pnode *x, const tp_pnode **v, int n, int max) {
  if (!tp_is_row(x)) {
    if (n < max) v[n] = x;
    return n + 1;
  }
  for (int i = 0; i < x->n; i++) n = listed(x->kid[i], v, n, max);
  return n;
}

enum { BEFORE = 4 };
static bool is_wave(wave *w) {
  const tp_pnode **v = TP_NEWN(w->e->a, const tp_pnode *, BEFORE + 1), *body[1];
  int n = listed(w->p->kid[0], v, 0, BEFORE + 1);
  if (n < 1 || n > BEFORE + 1 || w->p->step != 1 || v[n - 1]->kind != TP_P_FOR) return false;
  w->q = v[n - 1];
  if (w->q->step != 1 || mentions(w->q->lo, w->p->var) || mentions(w->q->hi, w->p->var) ||
      listed(w->q->kid[0], body, 0, 1) != 1)
    return false;
  w->body = body[0];
  if (w->body->kind != TP_P_REGION || !tp_emit_is_points(w->e, w->body)) return false;
  w->r = w->body->rg;
  if (w->r->nlead || w->r->nout != 1 || w->r->acc || !w->r->nmicro || tp_emit_faults(w->e, w->r))
    return false;
  w->x = &w->r->out[0];
  w->nbefore = n - 1;
  w->before = v;
  bool ok = fits_lanes(w);
  for (int i = 0; ok && i < w->nbefore; i++) ok = makes_left(w, v[i]);
  return ok && w->nbefore > 0;
}

/* ---- text ---- */

static tp_dtype wave_type(const wave *w, int buf) { return w->e->p->bufs.v[buf]->dtype; }

static void put_cell(const wave *w, const tp_nd *nd) {
  w->e->buf[nd->buf] = true;
  emit_load(w->e, wave_type(w, nd->buf));
  tp_putf(w->e->b, "b%d[", nd->buf);
  tp_emit_place(w->e, nd, nd->off);
  tp_puts(w->e->b, "])");
}

/* to = the element of the window at row p, column q. */
static void put_wave_read(
    const wave *w, const char *to, const tp_nd *nd, const char *p, const char *q) {
  tp_emit_line(w->e,
      "{ const int64_t s%d = %s, s%d = %s; (void)s%d, (void)s%d; %s = ", w->p->var->id, p,
      w->q->var->id, q, w->p->var->id, w->q->var->id, to);
  put_cell(w, nd);
  tp_puts(w->e->b, "; }\n");
}

/* Lanes begin with the cells left of their rows and the numbers of their rows. */
static void put_begin(const wave *w) {
  tp_emit *e = w->e;
  char to[32];
  const char *t = tp_emit_type(wave_type(w, w->x->buf));
  tp_emit_line(
      e, "typedef %s lanes __attribute__((vector_size(%d * sizeof(%s))));\n", t, w->lanes, t);
  tp_emit_line(e, "lanes cells, above, corner;\n");
  for (int i = 0; i < w->r->nin; i++) {
    const char *own = tp_emit_held(wave_type(w, w->r->in[i].buf));
    if (w->in[i] == CELL_ROW) tp_emit_line(e, "%s i%d_[%d];\n", own, i, w->lanes);
    if (w->in[i] == CELL_COLUMN)
      tp_emit_line(e,
          "typedef %s lanes%d __attribute__((vector_size(%d * sizeof(%s)))); lanes%d i%d_ = { 0 "
          "};\n",
          own, i, w->lanes, own, i, i);
    if (w->in[i] == CELL_SAME) {
      tp_emit_line(e, "%s i%d_;\n", own, i);
      snprintf(to, sizeof to, "i%d_", i);
      put_wave_read(w, to, &w->r->in[i], "row", "lo");
    }
  }
  tp_emit_line(e, "%s before = 0;\n", t);
  for (int i = 0; i < w->r->nin; i++)
    if (w->in[i] == CELL_CORNER) put_wave_read(w, "before", &w->r->in[i], "row", "lo");
  emit_open(e, "for (int l = 0; l < %d; l++) {\n", w->lanes);
  tp_emit_line(e, "const int64_t s%d = row + l;\n", w->p->var->id);
  for (int i = 0; i < w->nbefore; i++) tp_emit_loop(e, w->before[i]);
  for (int i = 0; i < w->r->nin; i++) {
    snprintf(to, sizeof to, "i%d_[l]", i);
    if (w->in[i] == CELL_ROW) put_wave_read(w, to, &w->r->in[i], "row + l", "lo");
  }
  put_wave_read(w, "cells[l]", w->x, "row + l", "lo - 1");
  emit_shut(w->e, 1);
  tp_emit_line(e, "above = TP_SHIFT_%d(cells);\n", w->lanes);
  tp_emit_line(e, "above[0] = before;\n");
}

/* Moves lanes on by one; lane 0 reads. */
static void put_enter(const wave *w, bool reads) {
  tp_emit *e = w->e;
  char to[32];
  tp_emit_line(e, "corner = above;\n");
  tp_emit_line(e, "above = TP_SHIFT_%d(cells);\n", w->lanes);
  for (int i = 0; i < w->r->nin; i++)
    if (w->in[i] == CELL_COLUMN) tp_emit_line(e, "i%d_ = TP_SHIFT_%d(i%d_);\n", i, w->lanes, i);
  for (int i = 0; reads && i < w->r->nin; i++) {
    /* the next step's corner is what is above now */
    bool column = w->in[i] == CELL_COLUMN, next = w->in[i] == CELL_CORNER;
    snprintf(to, sizeof to, column ? "i%d_[0]" : "above[0]", i);
    if (column || next || w->in[i] == CELL_UP)
      put_wave_read(w, to, &w->r->in[i], "row", next ? "step + 1" : "step");
  }
}

static void put_operand(const wave *w, int i) {
  static const char *const of[] = {
    [CELL_UP] = "above_[l]", [CELL_LEFT] = "cells_[l]", [CELL_CORNER] = "corner_[l]"
  };
  const char *here = w->in[i] == CELL_SAME ? "i%d_" : w->in[i] == CELL_ROW ? "i%d_[l]" : "in%d[l]";
  tp_emit_line(w->e, "const %s i%d = ", tp_emit_held(wave_type(w, w->r->in[i].buf)), i);
  if (w->in[i] == CELL_OTHER) put_cell(w, &w->r->in[i]);
  else tp_putf(w->e->b, w->in[i] <= CELL_CORNER ? of[w->in[i]] : here, i);
  tp_puts(w->e->b, ";\n");
}

/* One step of all lanes; some: not all of them are inside their rows. */
static void put_wave_step(const wave *w, bool some) {
  tp_emit *e = w->e;
  int p = w->p->var->id, q = w->q->var->id;
  const char *t = tp_emit_type(wave_type(w, w->x->buf));
  tp_emit_line(e, "%s cells_[%d], above_[%d], corner_[%d], made[%d];\n", t, w->lanes, w->lanes,
      w->lanes, w->lanes);
  tp_emit_line(e,
      "__builtin_memcpy(cells_, &cells, sizeof cells), __builtin_memcpy(above_, &above, sizeof "
      "above), __builtin_memcpy(corner_, &corner, sizeof corner);\n");
  for (int i = 0; i < w->r->nin; i++)
    if (w->in[i] == CELL_COLUMN)
      tp_emit_line(e, "%s in%d[%d]; __builtin_memcpy(in%d, &i%d_, sizeof i%d_);\n",
          tp_emit_held(wave_type(w, w->r->in[i].buf)), i, w->lanes, i, i, i);
  tp_emit_line(e, "TP_IVDEP\n");
  emit_open(e, "for (int l = 0; l < %d; l++) {\n", w->lanes);
  /* others read nothing beyond their rows */
  const char *column = some ? "step - l < lo ? lo : step - l < hi ? step - l : hi - 1" : "step - l";
  tp_emit_line(
      e, "const int64_t s%d = row + l, s%d = %s; (void)s%d, (void)s%d;\n", p, q, column, p, q);
  for (int i = 0; i < w->r->nin; i++) put_operand(w, i);
  tp_emit_micros(e, w->body);
  tp_emit_line(e,
      some ? "made[l] = step - l >= lo && step - l < hi ? m%d : cells_[l];\n" : "made[l] = m%d;\n",
      w->r->outmicro[0]);
  emit_shut(w->e, 1);
  tp_emit_line(e, "__builtin_memcpy(&cells, made, sizeof cells);\n");
  emit_open(e, "for (int l = %d; l < %d; l++) {\n", w->first, w->lanes);
  tp_emit_line(e, "const int64_t s%d = row + l, s%d = step - l; (void)s%d;\n", p, q, p);
  tp_emit_line(e, "%sb%d[", some ? "if (step - l >= lo && step - l < hi) " : "", w->x->buf);
  e->buf[w->x->buf] = true;
  tp_emit_place(e, w->x, w->x->off);
  tp_puts(e->b, "] = made[l];\n");
  emit_shut(w->e, 1);
}

static void put_steps(const wave *w, const char *end, bool reads, bool some) {
  emit_open(w->e, "for (; step < %s; step++) {\n", end);
  put_enter(w, reads);
  put_wave_step(w, some);
  emit_shut(w->e, 1);
}

static void put_limits(const wave *w, int entry) {
  tp_emit *e = w->e;
  tp_emit_line(e, "const int64_t end = %s, lo = %s, hi = %s;\n", emit_ix(e, w->p->hi),
      emit_ix(e, w->q->lo), emit_ix(e, w->q->hi));
  tp_emit_line(e, "int64_t row = %s;\n", tp_emit_start(e, w->p, entry));
}

bool tp_emit_wave(tp_emit *e, const tp_pnode *x, int entry) {
  wave w = { .e = e, .p = x };
  if (!is_wave(&w)) return false;
  bool p = e->sym[x->var->id], q = e->sym[w.q->var->id];
  tp_emit_line(e, "{ /* rows of %d in lanes */\n", w.body->pos);
  e->depth++;
  put_limits(&w, entry);
  emit_open(
      e, "for (; end - row >= %d && hi - lo >= %d; row += %d) {\n", w.lanes, w.lanes, w.lanes);
  tp_emit_line(e, "TP_END_IF((*cancel || !++looks) && h->cancelled(h->exec, %d));\n", x->pos);
  put_begin(&w);
  tp_emit_line(e, "int64_t step = lo;\n");
  const char *more = tp_printf(e->a, " + %d", w.lanes - 1);
  put_steps(&w, tp_printf(e->a, "lo%s", more), true, true);
  put_steps(&w, "hi", true, false);
  put_steps(&w, tp_printf(e->a, "hi%s", more), false, true);
  emit_shut(w.e, 1);
  emit_open(e, "for (int64_t s%d = row; s%d < end; s%d++) {\n", x->var->id, x->var->id, x->var->id);
  tp_emit_rest(e, x);
  emit_shut(w.e, 2);
  e->sym[x->var->id] = p;
  e->sym[w.q->var->id] = q;
  return true;
}
