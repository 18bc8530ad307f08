/* matrix: a state that a matrix multiplies at each step, after n steps, by the binary digits of n (digits.c).
 *
 *   x' = A x + b   =>   P[k] = P[k-1] P[k-1], q[k] = P[k-1] q[k-1] + q[k-1];  x[k+1] = P[k] x[k] + q[k] where digit k of n is 1
 *
 * A square of m rows costs m steps, so where the bound of the dim is small the steps are taken: a copy of the recurrence, which only such calls need. Floats are kept in f64: P[k] has 2^k units more
 * than A, as many steps have. */
#include "opt/evolve.h"

enum { MATRIX_STEPS = TP_TUNE_MATRIX_STEPS, STEPS_PER_ROW = TP_TUNE_STEPS_PER_ROW };

typedef struct matrix_steps { tp_mk mk; const tp_system *s; char side; const tp_out *o; } matrix_steps;

static tp_val stepped_by(const matrix_steps *w, tp_val p, tp_val x) {
  const tp_out *at = w->s->matrix;
  tp_val y = mk_reshape(w->mk, x, at->rank, at->shape);
  tp_val in[2] = { w->side == 'l' ? p : y, w->side == 'l' ? y : p };
  return mk_reshape(w->mk, mk_op(w->mk, TP_OP_MATMUL, 2, in, NULL), w->o->rank, w->o->shape);
}

/* The matrix with as many axes as what it multiplies. */
static tp_val with_axes(const matrix_steps *w, tp_val p) {
  while (p.node && tp_rankof(p) < w->s->matrix->rank) p = mk_unsqueeze(w->mk, p, 0);
  return p;
}

tp_val tp_evolved_matrix(tp_evolving *e, tp_node *m, const tp_system *s, const tp_ix *n, tp_dtype dtype) {
  const tp_form *f = &s->row[0];
  tp_mk mk = e->mk;
  matrix_steps w = { mk, s, f->side[0], &m->out[0] };
  if (s->n != 1 || f->n > 1 || !f->side[0]) return tp_none;
  tp_digits d = tp_digits_along(e, dtype);
  tp_val a = with_axes(&w, mk_cast(mk, f->by[0], dtype)), b = mk_cast(mk, f->n ? f->c[0] : tp_none, dtype), x0 = mk_cast(mk, s->of[0].init, dtype);
  if (b.node) b = mk_expand(mk, b, w.o->rank, w.o->shape);
  x0 = mk_expand(mk, x0, w.o->rank, w.o->shape);
  if (!a.node || !x0.node) return tp_none;
  tp_val p = tp_over_digits(&d, a, a, tp_none, false), q = b.node ? tp_over_digits(&d, b, a, b, false) : b, x = tp_over_digits(&d, x0, a, b, true);
  if (!p.node || (b.node && !q.node) || !x.node) return tp_none;
  tp_val half = tp_digit_before(&d, p), next = mk_op(mk, TP_OP_MATMUL, 2, (tp_val[]){ half, half }, NULL);
  if (!tp_digits_define(&d, p, a, next)) return tp_none;
  if (b.node && !tp_digits_define(&d, q, b, mk_add(mk, tp_digit_before(&d, q), stepped_by(&w, half, tp_digit_before(&d, q))))) return tp_none;
  tp_val y = stepped_by(&w, p, x), step = mk_select(mk, tp_digit_of(&d, n), b.node ? mk_add(mk, y, q) : y, x);
  if (!tp_digits_define(&d, x, x0, tp_digit_before(&d, step))) return tp_none;
  return tp_digits_last(&d, step);
}

/* ---- where steps are few ---- */

typedef struct { tp_mk mk; tp_node *m; const char *cone; tp_val *copy; } copying;

static tp_val copied_value(copying *c, tp_val v);

static bool copy_branches(copying *c, const tp_node *from, tp_node *to) {
  for (int k = 0; k < from->nin; k++) {
    tp_val x = copied_value(c, from->in[k].src);
    if (!x.node || !tp_merge_add(c->mk.g, to, from->in[k].cond, x, c->mk.err)) return false;
  }
  return true;
}

static tp_val copied_node(copying *c, tp_node *n) {
  tp_val in[3];
  if (n->op == TP_OP_MERGE) {
    tp_val y = c->copy[n->id] = mk_declared(c->mk, n->out[0].dtype, n->out[0].rank, n->out[0].shape, n->ndom, n->dom);
    if (!y.node || !copy_branches(c, n, y.node)) return tp_none;
    y.node->name = n->name, y.node->what = n->what;
    return y;
  }
  if (n->nin > (int)TP_LEN(in) || n->op == TP_OP_ACCUM) return tp_none;
  for (int k = 0; k < n->nin; k++) in[k] = copied_value(c, n->in[k].src);
  return n->op == TP_OP_READ ? in[0].node ? tp_read(c->mk.g, in[0], n->attr.at, c->mk.err) : tp_none : mk_op(c->mk, n->op, n->nin, in, &n->attr);
}

static tp_val copied_value(copying *c, tp_val v) {
  if (!c->cone[v.node->id]) return v;
  if (!c->copy[v.node->id].node) c->copy[v.node->id] = copied_node(c, v.node);
  return c->copy[v.node->id];
}

tp_val tp_steps_where_few(tp_evolving *e, tp_node *m, const tp_system *s, const char *cone, tp_val evolved) {
  tp_ictx *ix = e->mk.g->ix;
  if (!s->matrix || !evolved.node) return evolved;
  const tp_val a = s->row[0].by[0];
  const tp_ix *rows = mk_extent(a, tp_rankof(a) - 1), *most = tp_ix_addc(ix, tp_ix_mulc(ix, rows, STEPS_PER_ROW), MATRIX_STEPS);
  const tp_ix *many = tp_ix_cmp(ix, TP_GE, tp_ix_sym(ix, e->dim->bound), most);
  copying c = { e->mk, m, cone, TP_NEWN(&e->mk.g->arena, tp_val, e->n0) };
  if (!tp_ix_is_affine(most)) return tp_none;
  tp_val by_steps = copied_value(&c, tp_v(m));
  if (!by_steps.node) return by_steps;
  by_steps.node->attr.flag = true;
  return mk_either(e->mk, m->ndom, m->dom, many, evolved, by_steps);
}
