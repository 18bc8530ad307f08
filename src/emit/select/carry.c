/* carry.c: values that a recurrence reads from earlier iterations stay in locals.
 *
 * A loop carries an element of a buffer if one written out point, which every iteration reaches,
 * writes it, and nothing else in the loop does: each other write of the buffer is a written out
 * point a constant distance off, at which no iteration meets another's. A read is of the element
 * written k iterations ago if its place, with the loop's variable moved by k steps, is the place
 * written. Memory is written as well, so all other reads find it there. */
#include "emit/priv.h"

enum { DEEPEST = 4 };

typedef struct {
  const tp_nd *nd;
  tp_ix *off;
  bool write, direct;
} touch;
typedef struct {
  tp_emit *e;
  const tp_pnode *loop;
  TP_VEC(touch) v;
  bool *bad;
} touches;

/* ---- reads and writes of the body ---- */

static void touch_points(touches *t, const tp_region *r, bool direct) {
  int64_t shape[TP_MAXRANK];
  tp_walk w;
  for (int i = 0; i < r->nlead; i++) (void)tp_ix_is_const(r->lead[i], &shape[i]);
  for (tp_walk_start(&w, r->nlead, shape); w.ok; tp_walk_next(&w)) {
    bool first = true; /* a fold is written with the first of its points */
    for (int i = 0; i < r->nlead; i++) first &= !(r->sums >> i & 1) || w.at[i] == 0;
    for (int i = 0; i < r->nin + r->nout; i++) {
      const tp_nd *nd = tp_window_at(r, i);
      if (nd->buf >= 0 && (i < r->nin || first))
        TP_PUSH(t->e->a, &t->v, (touch){ nd, tp_emit_offset(r, nd, w.at), i >= r->nin, direct });
    }
  }
}

static void touch_all(touches *t, const tp_pnode *x, bool direct) {
  if (x->kind == TP_P_REGION && tp_emit_is_points(t->e, x))
    touch_points(t, tp_emit_region(t->e, x), direct);
  else if (x->kind == TP_P_REGION)
    for (int i = 0; i < x->rg->nout; i++)
      if (x->rg->out[i].buf >= 0) t->bad[x->rg->out[i].buf] = true;
  for (int i = 0; i < x->n; i++) touch_all(t, x->kid[i], direct && tp_is_row(x));
}

/* ---- places ---- */

static tp_ix *moved(const tp_pnode *loop, tp_ix *x, int k) {
  tp_ix *to = tp_ix_addc(tp_ix_sym(loop->var), (int64_t)k * loop->step);
  return k ? tp_ix_subst(x, 1, &loop->var, &to) : x;
}

/* Is the element at nd, off the one that the other window wrote k iterations ago? */
static bool is_ago(
    const tp_pnode *loop, const tp_nd *nd, tp_ix *off, const tp_nd *other, tp_ix *at, int k) {
  tp_ix *to = moved(loop, tp_ix_sym(loop->var), k);
  return nd->buf == other->buf && moved(loop, off, k) == at &&
      tp_same_rings(nd, other, 1, &loop->var, &to);
}

static bool is_steady(const tp_pnode *loop, const touch *t) {
  bool ok = emit_is_steady(loop, t->off);
  for (int i = 0; i < t->nd->nring; i++) ok &= emit_is_steady(loop, t->nd->ring[i].idx);
  return ok;
}

/* Two places d apart in each iteration never meet in two iterations if they move by steps of which
 * d is no multiple. */
static bool never_meet(const touches *t, const touch *a, int64_t d) {
  int64_t step = 0, s = 0;
  tp_ix *rest;
  if (tp_ix_mentions(a->off, t->loop->var) && !tp_ix_linear_in(a->off, t->loop->var, &step, &rest))
    return false;
  step *= t->loop->step;
  for (int i = 0; i < a->nd->nring; i++) {
    if (!tp_ix_mentions(a->nd->ring[i].idx, t->loop->var)) continue;
    if (step || !tp_ix_is_const(a->nd->ring[i].stride, &s)) return false;
    step = s;
  }
  return step ? d % step != 0 : d != 0;
}

/* Is it the only write of its element? */
static bool is_alone(const touches *t, int k) {
  const touch *a = &t->v.v[k];
  bool ok = !t->bad[a->nd->buf];
  for (int i = 0; i < t->v.n && ok; i++) {
    const touch *b = &t->v.v[i];
    int64_t d = 0;
    if (i == k || !b->write || b->nd->buf != a->nd->buf) continue;
    ok = b->direct && tp_same_rings(a->nd, b->nd, 0, NULL, NULL) &&
        tp_ix_is_const(tp_ix_sub(a->off, b->off), &d) && never_meet(t, a, d);
  }
  return ok;
}

/* A read, made by every iteration, of the element that w wrote k iterations ago; NULL: none. */
static const touch *read_of(const touches *t, const touch *w, int k) {
  TP_EACH (const touch, r, t->v) {
    if (!r->write && r->direct && is_ago(t->loop, r->nd, r->off, w->nd, w->off, k)) return r;
  }
  return NULL;
}

/* ---- locals ---- */

static void declare_carry(tp_emit *e, const touches *t, const touch *w, tp_carry c, int entry) {
  const char *type = tp_emit_held(tp_emit_dtype(e, c.nd));
  TP_PUSH(e->a, &e->carry, c);
  for (int k = 0; k <= c.depth; k++)
    tp_emit_line(e, "%s c%d_%d = 0; (void)c%d_%d;\n", type, c.id, k, c.id, k);
  if (!c.depth) return;
  const char *lo = emit_ix(e, t->loop->lo), *hi = emit_ix(e, t->loop->hi);
  int v = t->loop->var->id;
  emit_open(e, "if (%s < %s) {\n", lo, hi);
  tp_emit_line(e, "const int64_t s%d = %s; (void)s%d;\n", v, tp_emit_start(e, t->loop, entry), v);
  for (int k = 1; k <= c.depth; k++) {
    const touch *r = read_of(t, w, k);
    tp_emit_line(e, "c%d_%d = ", c.id, k);
    emit_load(e, tp_emit_dtype(e, r->nd));
    emit_cell(e, r->nd, r->off);
    tp_puts(e->b, ");\n");
  }
  emit_shut(e, 1);
}

static bool is_read_again(const touches *t, const touch *w) {
  bool any = false;
  for (int i = 0; i < t->v.n && !any; i++)
    any = !t->v.v[i].write && is_ago(t->loop, t->v.v[i].nd, t->v.v[i].off, w->nd, w->off, 0);
  return any;
}

int tp_emit_carry_begin(tp_emit *e, const tp_pnode *loop, int entry) {
  int had = e->carry.n;
  touches t = { .e = e, .loop = loop, .bad = TP_NEWN(e->a, bool, e->p->bufs.n + 1) };
  touch_all(&t, loop->kid[0], true);
  for (int i = 0; i < t.v.n; i++) {
    const touch *w = &t.v.v[i];
    if (!w->write || !w->direct || !is_alone(&t, i) || !is_steady(loop, w)) continue;
    /* a place that stays holds the latest only */
    int depth = 0, deepest = is_ago(loop, w->nd, w->off, w->nd, w->off, 1) ? 1 : DEEPEST;
    while (depth < deepest && read_of(&t, w, depth + 1)) depth++;
    if (depth || is_read_again(&t, w))
      declare_carry(e, &t, w,
          (tp_carry){
              .id = e->ncarried++, .depth = depth, .nd = w->nd, .off = w->off, .loop = loop },
          entry);
  }
  return had;
}

void tp_emit_carry_next(tp_emit *e, int from) {
  for (int i = from; i < e->carry.n; i++) {
    tp_carry *c = &e->carry.v[i];
    for (int k = c->depth; k > 0; k--)
      tp_emit_line(e, "c%d_%d = c%d_%d;\n", c->id, k, c->id, k - 1);
    c->written = false;
  }
}

bool tp_emit_carried(tp_emit *e, const tp_nd *nd, tp_ix *off) {
  for (int i = e->carry.n - 1; i >= 0; i--) {
    const tp_carry *c = &e->carry.v[i];
    for (int k = !c->written; k <= c->depth; k++) {
      if (!is_ago(c->loop, nd, off, c->nd, c->off, k)) continue;
      tp_putf(e->b, "c%d_%d", c->id, k);
      return true;
    }
  }
  return false;
}

tp_carry *tp_emit_carries(tp_emit *e, const tp_nd *nd, tp_ix *off) {
  for (int i = e->carry.n - 1; i >= 0; i--) {
    tp_carry *c = &e->carry.v[i];
    if (is_ago(c->loop, nd, off, c->nd, c->off, 0)) return c;
  }
  return NULL;
}
