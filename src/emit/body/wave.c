/* wave.c: a recurrence over two dims goes through many rows at once.
 *
 * FOR p { points; FOR q { X[p, q] = f(X[p - 1, q], X[p, q - 1], X[p - 1, q - 1], numbers of p, of
 * q, of both) } }: cells of one diagonal do not need each other. LANES rows go together, one lane
 * each: in step s row l is at column s - l. Lane l has its left cell from its own last step, the
 * one above from lane l - 1's, and the corner is the cell above of one step ago; lane 0 reads the
 * row before from memory. Numbers of q move on from lane to lane, those of both are read where they
 * lie. Lanes that have not begun hold the cell left of the row, made by the points before the inner
 * loop; lanes that are done keep their last cell. If X keeps a ring of w rows, only the last w
 * lanes are stored: others would be overwritten, and the slot of the row before is written LANES -
 * 1 columns behind the place where it is read. Remaining rows run as the plan has them, and so do
 * first ones, if the points are under a condition that later rows meet. A greatest or least value
 * of all cells, one number, is kept for each lane. */
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
/* v: statements of p's body, n before the inner loop; first: lane from which on rows are stored;
 * cell: the result that is X, after the greatest or least of all if there is one; cond: of the rows
 * (NULL: all) */
typedef struct {
  tp_emit *e;
  const tp_pnode *p, *q, *body;
  const tp_region *r;
  tp_emit_nodes v;
  int n, lanes, first, cell;
  const tp_nd *x;
  tp_ix *cond;
  wave_cell *in;
} wave;

static bool window_mentions(const tp_nd *nd, tp_sym *s) {
  bool any = tp_ix_mentions(nd->off, s);
  for (int i = 0; i < nd->nring; i++) any |= tp_ix_mentions(nd->ring[i].idx, s);
  return any;
}

/* ---- is it one? ---- */

/* Is window a, moved by dp rows and dq columns, window o? Both are on one buffer. */
static bool is_there(const wave *w, const tp_nd *a, int dp, int dq, const tp_nd *o) {
  tp_sym *from[] = { w->p->var, w->q->var };
  tp_ix *to[] = { tp_ix_addc(tp_ix_sym(from[0]), dp), tp_ix_addc(tp_ix_sym(from[1]), dq) };
  return tp_ix_subst(a->off, 2, from, to) == o->off && tp_same_rings(a, o, 2, from, to);
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

/* Does the first result go, as greatest or least, to one number that nothing here reads? */
static bool keeps_best(const wave *w, const tp_region *r) {
  const tp_nd *o = &r->out[0];
  bool ok = r->acc && (r->red == TP_RED_MAX || r->red == TP_RED_MIN) && r->nout == 2 &&
      o->buf >= 0 && o->buf != r->out[1].buf && !window_mentions(o, w->p->var) &&
      !window_mentions(o, w->q->var) && tp_emit_dtype(w->e, o) == tp_emit_dtype(w->e, &r->out[1]);
  for (int i = 0; ok && i < r->nin; i++) ok = r->in[i].buf != o->buf;
  return ok;
}

static bool is_one_point(const wave *w, const tp_pnode *x) {
  return x->kind == TP_P_REGION && tp_emit_is_points(w->e, x) && !tp_emit_faults(w->e, x->rg) &&
      !x->rg->nlead && ((x->rg->nout == 1 && !x->rg->acc) || keeps_best(w, x->rg));
}

/* Is the window, of X, the cell left of the row? */
static bool is_left(const wave *w, const tp_nd *nd) {
  tp_ix *left = tp_ix_addc(w->q->lo, -1);
  return tp_same_rings(nd, w->x, 0, NULL, NULL) &&
      nd->off == tp_ix_subst(w->x->off, 1, &w->q->var, &left);
}

/* Does x take that cell for the greatest or least of all? */
static bool takes_left(const wave *w, const tp_pnode *x) {
  const tp_region *r = x->kind == TP_P_REGION && w->cell ? x->rg : NULL;
  bool ok = r && tp_emit_is_points(w->e, x) && !tp_emit_faults(w->e, r) && !r->nlead &&
      r->nout == 1 && r->acc && r->red == w->r->red && r->out[0].buf == w->r->out[0].buf;
  for (int i = 0; ok && i < r->nin; i++)
    ok = r->in[i].buf != r->out[0].buf && (r->in[i].buf != w->x->buf || is_left(w, &r->in[i]));
  return ok;
}

/* Is x a point before the inner loop that makes the cell left of the row? Among cells it may read
 * only the one above. */
static bool makes_left(const wave *w, const tp_pnode *x) {
  if (!is_one_point(w, x)) return takes_left(w, x);
  const tp_nd *o = &x->rg->out[x->rg->nout - 1];
  bool ok = o->buf == w->x->buf && (x->rg->nout == 1 || x->rg->out[0].buf == w->r->out[0].buf) &&
      is_left(w, o);
  for (int i = 0; ok && i < x->rg->nin; i++)
    ok = x->rg->in[i].buf != w->x->buf || is_there(w, &x->rg->in[i], 1, 0, o);
  return ok;
}

/* Are all rows kept, or a ring that lanes go round a whole number of times? */
static bool rows_kept(wave *w) {
  int64_t width = 0, k;
  tp_ix *rest;
  int turning = 0;
  for (int i = 0; i < w->x->nring; i++) {
    const tp_ring *r = &w->x->ring[i];
    if (tp_ix_mentions(r->idx, w->q->var)) return false;
    if (!tp_ix_mentions(r->idx, w->p->var)) continue;
    if (turning++ || !tp_ix_linear_in(r->idx, w->p->var, &k, &rest) || k != 1 ||
        !tp_ix_is_const(r->width, &width) || width < 1 || width > w->lanes || w->lanes % width)
      return false;
  }
  w->first = turning ? w->lanes - (int)width : 0;
  return tp_ix_mentions(w->x->off, w->p->var) == !turning;
}

static bool fits_lanes(wave *w) {
  tp_dtype d = tp_emit_dtype(w->e, w->x);
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

/* Takes a row's statements; the last ones may be under a condition that holds from some row on. */
static void put_rows(wave *w) {
  tp_ix *rest;
  int64_t k;
  emit_put_row(w->e, w->p->kid[0], &w->v);
  const tp_pnode *x = w->v.n ? w->v.v[w->v.n - 1] : NULL;
  if (!x || x->kind != TP_P_IF || tp_ix_kind(x->cond) != TP_IX_GE0 ||
      !tp_ix_linear_in(tp_ix_arg(x->cond, 0), w->p->var, &k, &rest) || k <= 0)
    return;
  w->cond = x->cond;
  w->v.n--;
  emit_put_row(w->e, x->kid[0], &w->v);
}

enum { BEFORE = 4 };
static bool is_wave(wave *w) {
  tp_emit_nodes body = { 0 };
  put_rows(w);
  w->n = w->v.n - 1;
  if (w->n < 1 || w->n > BEFORE || w->p->step != 1) return false;
  w->q = w->v.v[w->n];
  if (w->q->kind != TP_P_FOR || w->q->step != 1 || tp_ix_mentions(w->q->lo, w->p->var) ||
      tp_ix_mentions(w->q->hi, w->p->var))
    return false;
  emit_put_row(w->e, w->q->kid[0], &body);
  if (body.n != 1 || !is_one_point(w, body.v[0]) || !body.v[0]->rg->nmicro) return false;
  w->body = body.v[0];
  w->r = w->body->rg;
  w->cell = w->r->nout - 1;
  w->x = &w->r->out[w->cell];
  bool ok = fits_lanes(w);
  for (int i = 0; ok && i < w->n; i++) ok = makes_left(w, w->v.v[i]);
  return ok;
}

/* ---- text ---- */

static const char *type_of_cell(const wave *w, const tp_nd *nd) {
  return tp_emit_held(tp_emit_dtype(w->e, nd));
}

static void put_cell(const wave *w, const tp_nd *nd) {
  emit_load(w->e, tp_emit_dtype(w->e, nd));
  emit_cell(w->e, nd, nd->off);
  tp_puts(w->e->b, ")");
}

/* Prints with row p and column q as the loops' variables. */
static void put_at_cell(const wave *w, const char *p, const char *q) {
  int a = w->p->var->id, b = w->q->var->id;
  tp_putf(w->e->b, "const int64_t s%d = %s, s%d = %s; (void)s%d, (void)s%d;\n", a, p, b, q, a, b);
}

/* to = the element of the window there. */
static void put_wave_read(
    const wave *w, const char *to, const tp_nd *nd, const char *p, const char *q) {
  tp_emit_line(w->e, "{ ");
  put_at_cell(w, p, q);
  tp_emit_line(w->e, "%s = ", to);
  put_cell(w, nd);
  tp_puts(w->e->b, "; }\n");
}

/* Lanes begin with the cells left of their rows and the numbers of their rows. */
static void put_begin(const wave *w) {
  tp_emit *e = w->e;
  const char *t = type_of_cell(w, w->x);
  tp_emit_line(e, "TP_VECTOR(%s, %d) cells, above, corner;\n", t, w->lanes);
  for (int i = 0; i < w->r->nin; i++) {
    const char *own = type_of_cell(w, &w->r->in[i]);
    if (w->in[i] == CELL_ROW) tp_emit_line(e, "%s i%d_[%d];\n", own, i, w->lanes);
    if (w->in[i] == CELL_COLUMN)
      tp_emit_line(e, "TP_VECTOR(%s, %d) i%d_ = { 0 };\n", own, w->lanes, i);
    if (w->in[i] == CELL_SAME) {
      tp_emit_line(e, "%s i%d_;\n", own, i);
      put_wave_read(w, tp_printf(e->a, "i%d_", i), &w->r->in[i], "row", "lo");
    }
  }
  if (w->cell) {
    tp_emit_line(e, "TP_VECTOR(%s, %d) best;\n", t, w->lanes);
    emit_open(e, "for (int l = 0; l < %d; l++) {\n", w->lanes);
    put_wave_read(w, "best[l]", &w->r->out[0], "row", "lo");
    emit_shut(e, 1);
  }
  tp_emit_line(e, "%s before = 0;\n", t);
  for (int i = 0; i < w->r->nin; i++)
    if (w->in[i] == CELL_CORNER) put_wave_read(w, "before", &w->r->in[i], "row", "lo");
  emit_open(e, "for (int l = 0; l < %d; l++) {\n", w->lanes);
  tp_emit_line(e, "const int64_t s%d = row + l;\n", w->p->var->id);
  for (int i = 0; i < w->n; i++) tp_emit_loop(e, w->v.v[i]);
  for (int i = 0; i < w->r->nin; i++)
    if (w->in[i] == CELL_ROW)
      put_wave_read(w, tp_printf(e->a, "i%d_[l]", i), &w->r->in[i], "row + l", "lo");
  put_wave_read(w, "cells[l]", w->x, "row + l", "lo - 1");
  emit_shut(e, 1);
  tp_emit_line(e, "above = TP_SHIFT_%d(cells);\n", w->lanes);
  tp_emit_line(e, "above[0] = before;\n");
}

/* Moves lanes on by one; lane 0 reads. */
static void put_enter(const wave *w, bool reads) {
  tp_emit *e = w->e;
  tp_emit_line(e, "corner = above;\n");
  tp_emit_line(e, "above = TP_SHIFT_%d(cells);\n", w->lanes);
  for (int i = 0; i < w->r->nin; i++)
    if (w->in[i] == CELL_COLUMN) tp_emit_line(e, "i%d_ = TP_SHIFT_%d(i%d_);\n", i, w->lanes, i);
  for (int i = 0; reads && i < w->r->nin; i++) {
    /* the cell above now is the next step's corner */
    bool column = w->in[i] == CELL_COLUMN, next = w->in[i] == CELL_CORNER;
    if (column || next || w->in[i] == CELL_UP)
      put_wave_read(w, column ? tp_printf(e->a, "i%d_[0]", i) : "above[0]", &w->r->in[i], "row",
          next ? "step + 1" : "step");
  }
}

static void put_operand(const wave *w, int i) {
  static const char *const of[] = { [CELL_UP] = "above_[l]",
    [CELL_LEFT] = "cells_[l]",
    [CELL_CORNER] = "corner_[l]",
    [CELL_ROW] = "i%d_[l]",
    [CELL_COLUMN] = "i%d__[l]",
    [CELL_SAME] = "i%d_" };
  tp_emit_line(w->e, "const %s i%d = ", type_of_cell(w, &w->r->in[i]), i);
  if (w->in[i] == CELL_OTHER) put_cell(w, &w->r->in[i]);
  else tp_putf(w->e->b, of[w->in[i]], i);
  tp_puts(w->e->b, ";\n");
}

static const char *name_of_best(const wave *w) {
  return tp_printf(w->e->a, "tp_%s_%s", w->r->red == TP_RED_MAX ? "MAXIMUM" : "MINIMUM",
      tp_emit_sfx(tp_emit_dtype(w->e, w->x)));
}

/* The greatest or least of all lanes and of what is there. */
static void put_best(const wave *w) {
  const tp_nd *o = &w->r->out[0];
  emit_open(w->e, "for (int l = 0; l < %d; l++) {\n", w->lanes);
  tp_emit_indent(w->e);
  put_at_cell(w, "row", "lo");
  tp_emit_indent(w->e);
  emit_cell(w->e, o, o->off);
  tp_putf(w->e->b, " = %s(", name_of_best(w));
  put_cell(w, o);
  tp_puts(w->e->b, ", best[l]);\n");
  emit_shut(w->e, 1);
}

/* One step of all lanes; some: not all of them are inside their rows. */
static void put_wave_step(const wave *w, bool some) {
  tp_emit *e = w->e;
  const char *t = type_of_cell(w, w->x);
  tp_emit_line(e, "%s made[%d];\n", t, w->lanes);
  if (w->cell) {
    tp_emit_line(e, "%s most[%d];\n", t, w->lanes);
    tp_emit_line(e, "TP_SPREAD(%s, %d, best);\n", t, w->lanes);
  }
  tp_emit_line(e, "TP_SPREAD(%s, %d, cells);\n", t, w->lanes);
  tp_emit_line(e, "TP_SPREAD(%s, %d, above);\n", t, w->lanes);
  tp_emit_line(e, "TP_SPREAD(%s, %d, corner);\n", t, w->lanes);
  for (int i = 0; i < w->r->nin; i++)
    if (w->in[i] == CELL_COLUMN)
      tp_emit_line(e, "TP_SPREAD(%s, %d, i%d_);\n", type_of_cell(w, &w->r->in[i]), w->lanes, i);
  tp_emit_line(e, "TP_IVDEP\n");
  emit_open(e, "for (int l = 0; l < %d; l++) {\n", w->lanes);
  tp_emit_indent(e);
  /* lanes outside of their rows read nothing */
  put_at_cell(
      w, "row + l", some ? "step - l < lo ? lo : step - l < hi ? step - l : hi - 1" : "step - l");
  for (int i = 0; i < w->r->nin; i++) put_operand(w, i);
  tp_emit_micros(e, w->body);
  tp_emit_line(e,
      some ? "made[l] = step - l >= lo && step - l < hi ? m%d : cells_[l];\n" : "made[l] = m%d;\n",
      w->r->outmicro[w->cell]);
  if (w->cell)
    tp_emit_line(e, "most[l] = %s%s(best_[l], m%d)%s;\n",
        some ? "step - l >= lo && step - l < hi ? " : "", name_of_best(w), w->r->outmicro[0],
        some ? " : best_[l]" : "");
  emit_shut(e, 1);
  if (w->cell) tp_emit_line(e, "__builtin_memcpy(&best, most, sizeof best);\n");
  tp_emit_line(e, "__builtin_memcpy(&cells, made, sizeof cells);\n");
  emit_open(e, "for (int l = %d; l < %d; l++) {\n", w->first, w->lanes);
  tp_emit_indent(e);
  put_at_cell(w, "row + l", "step - l");
  tp_emit_line(e, "%s", some ? "if (step - l >= lo && step - l < hi) " : "");
  emit_cell(e, w->x, w->x->off);
  tp_puts(e->b, " = made[l];\n");
  emit_shut(e, 1);
}

static void put_steps(const wave *w, const char *end, bool reads, bool some) {
  emit_open(w->e, "for (; step < %s; step++) {\n", end);
  put_enter(w, reads);
  put_wave_step(w, some);
  emit_shut(w->e, 1);
}

bool tp_emit_wave(tp_emit *e, const tp_pnode *x, int entry) {
  wave w = { .e = e, .p = x };
  if (!is_wave(&w)) return false;
  int v = x->var->id;
  bool p = e->sym[v], q = e->sym[w.q->var->id];
  emit_open(e, "{ /* rows of %d in lanes */\n", w.body->pos);
  tp_emit_line(e, "const int64_t end = %s, lo = %s, hi = %s;\n", emit_ix(e, x->hi),
      emit_ix(e, w.q->lo), emit_ix(e, w.q->hi));
  tp_emit_line(e, "int64_t row = %s;\n", tp_emit_start(e, x, entry));
  emit_open(e, "while (row < end) {\n");
  tp_emit_line(e, "const int64_t s%d = row;\n", v);
  emit_open(e, "if (end - row >= %d && hi - lo >= %d && %s) {\n", w.lanes, w.lanes,
      w.cond ? emit_ix(e, w.cond) : "1");
  tp_emit_line(e, "TP_END_IF((*cancel || !++looks) && h->cancelled(h->exec, %d));\n", x->pos);
  put_begin(&w);
  tp_emit_line(e, "int64_t step = lo;\n");
  put_steps(&w, tp_printf(e->a, "lo + %d", w.lanes - 1), true, true);
  put_steps(&w, "hi", true, false);
  put_steps(&w, tp_printf(e->a, "hi + %d", w.lanes - 1), false, true);
  if (w.cell) put_best(&w);
  tp_emit_line(e, "row += %d;\n", w.lanes);
  emit_else(e);
  tp_emit_rest(e, x);
  tp_emit_line(e, "row++;\n");
  emit_shut(e, 3);
  e->sym[v] = p;
  e->sym[w.q->var->id] = q;
  return true;
}
