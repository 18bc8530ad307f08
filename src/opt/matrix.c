/* matrix: a state that a matrix multiplies at each step, after n steps, by the binary digits of n
 * (digits.c).
 *
 *   x' = A x + b   =>   P[k] = P[k-1] P[k-1], q[k] = P[k-1] q[k-1] + q[k-1];  x[k+1] = P[k] x[k] +
 * q[k] where digit k of n is 1
 *
 * Several states, and what is added where that is a polynomial in n, are one that has them all, by
 * one matrix that has theirs. A square of m rows costs m steps, so where the bound of the dim is
 * small the steps are taken: a copy of the recurrence, which only such calls need. Floats are kept
 * in f64: P[k] has 2^k units more than A, as many steps have. */
#include "opt/evolve.h"

enum { MATRIX_STEPS = TP_TUNE_MATRIX_STEPS, STEPS_PER_ROW = TP_TUNE_STEPS_PER_ROW };

typedef struct matrix_steps {
  tp_mk mk;
  const tp_system *s;
  char side;
  const tp_out *o;
} matrix_steps;

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

static tp_val by_one_matrix(
    tp_evolving *e, const tp_out *o, const tp_system *s, const tp_ix *n, tp_dtype dtype) {
  const tp_form *f = &s->row[0];
  tp_mk mk = e->mk;
  matrix_steps w = { mk, s, f->side[0], o };
  tp_digits d = tp_digits_along(e, dtype);
  tp_val a = with_axes(&w, mk_cast(mk, f->by[0], dtype)),
         b = mk_cast(mk, f->n ? f->c[0] : tp_none, dtype), x0 = mk_cast(mk, s->of[0].init, dtype);
  if (b.node) b = mk_expand(mk, b, w.o->rank, w.o->shape);
  x0 = mk_expand(mk, x0, w.o->rank, w.o->shape);
  if (!a.node || !x0.node) return tp_none;
  tp_val p = tp_over_digits(&d, a, a, tp_none, false),
         q = b.node ? tp_over_digits(&d, b, a, b, false) : b,
         x = tp_over_digits(&d, x0, a, b, true);
  if (!p.node || (b.node && !q.node) || !x.node) return tp_none;
  tp_val half = tp_digit_before(&d, p),
         next = mk_op(mk, TP_OP_MATMUL, 2, (tp_val[]){ half, half }, NULL);
  if (!tp_digits_define(&d, p, a, next)) return tp_none;
  if (b.node &&
      !tp_digits_define(&d, q, b,
          mk_add(mk, tp_digit_before(&d, q), stepped_by(&w, half, tp_digit_before(&d, q)))))
    return tp_none;
  tp_val y = stepped_by(&w, p, x),
         step = mk_select(mk, tp_digit_of(&d, n), b.node ? mk_add(mk, y, q) : y, x);
  if (!tp_digits_define(&d, x, x0, tp_digit_before(&d, step))) return tp_none;
  return tp_digits_last(&d, step);
}

/* ---- several states ---- */

/* Of states that lie under each other (side 'r': beside), the matrix of their matrices; more: what
 * is added at step n, {c0,+,c1,..}, is states of its own but for the last. */
enum { STACKED_STATES = 2 * EVOLVE_STATES };
typedef struct stacked_states {
  tp_mk mk;
  tp_dtype dtype;
  char side;
  const tp_out *o; /* o: of each */
  /* {NULL}: 0 */
  int n;
  tp_val init[STACKED_STATES], add[STACKED_STATES], by[STACKED_STATES][STACKED_STATES];
} stacked_states;

/* Where matrices stand; 0: there are none. */
static char matrices_side(const tp_system *s) {
  char side = 0;
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < s->n; j++)
      if (s->row[i].side[j]) side = s->row[i].side[j];
  return side;
}

static tp_val as_matrix(const stacked_states *t, tp_val v, const tp_out *of) {
  return mk_reshape(t->mk, mk_expand(t->mk, mk_cast(t->mk, v, t->dtype), of->rank, of->shape),
      t->o->rank, t->o->shape);
}

static const tp_ix *stacked_rows(const stacked_states *t) { return t->o->shape[t->side == 'r']; }

static tp_val square_of(const stacked_states *t, tp_val number) {
  const tp_ix *m = stacked_rows(t), *shape[2] = { m, m };
  tp_val same = mk_cast(t->mk,
      mk_bin(t->mk, TP_OP_EQ, mk_iota(t->mk, 0, 2, shape, 0, NULL),
          mk_iota(t->mk, 1, 2, shape, 0, NULL)),
      t->dtype);
  return number.node ? mk_mul(t->mk, same, number) : same;
}

static bool stack_factors(stacked_states *t, const tp_form *f, int i, int n) {
  for (int j = 0; j < n; j++) {
    tp_val by = mk_cast(t->mk, f->by[j], t->dtype);
    if (!f->has[j]) continue;
    if (f->side[j] ? f->side[j] != t->side || tp_rankof(by) != 2 : by.node && tp_rankof(by))
      return false;
    t->by[i][j] = f->side[j] ? by : square_of(t, by);
  }
  return true;
}

static bool stack_added(stacked_states *t, const tp_form *f, const tp_out *of, int i) {
  if (t->n + f->n - 1 > STACKED_STATES) return false;
  for (int k = 0; k + 1 < f->n; k++) {
    int u = t->n++;
    t->init[u] = as_matrix(t, f->c[k], of);
    t->by[i][u] = t->by[u][u] = square_of(t, tp_none);
    i = u;
  }
  if (f->n) t->add[i] = as_matrix(t, f->c[f->n - 1], of);
  return true;
}

static tp_val side_by_side_all(const stacked_states *t, const tp_val *v, const tp_ix *rows,
    const tp_ix *columns, bool beside) {
  tp_val in[STACKED_STATES];
  const tp_ix *shape[2] = { rows, columns };
  for (int i = 0; i < t->n; i++)
    in[i] = v[i].node ? v[i] : mk_fill(t->mk, 0, t->dtype, 2, shape, 0, NULL);
  return mk_concat(t->mk, t->n, in, beside);
}

/* One state of one matrix, of which the first part is the system's first state. */
static tp_val by_stacked(
    tp_evolving *e, const tp_node *m, const tp_system *s, const tp_ix *n, tp_dtype dtype) {
  tp_mk mk = e->mk;
  stacked_states t = { .mk = mk, .dtype = dtype, .o = s->matrix, .n = s->n };
  tp_val line[STACKED_STATES] = { { 0 } }, any = tp_none;
  t.side = matrices_side(s);
  if (t.o->rank != 2 || !t.side) return tp_none;
  for (int i = 0; i < s->n; i++) {
    const tp_out *of = &s->state[i]->out[0];
    if (of->dtype != m->out[0].dtype ||
        mk_numel(mk, tp_v(s->state[i]), of->rank, NULL) !=
            mk_numel(mk, tp_v((tp_node *)m), m->out[0].rank, NULL))
      return tp_none;
    t.init[i] = as_matrix(&t, s->of[i].init, of);
    if (!stack_factors(&t, &s->row[i], i, s->n)) return tp_none;
  }
  for (int i = 0; i < s->n; i++)
    if (!stack_added(&t, &s->row[i], &s->state[i]->out[0], i)) return tp_none;
  bool beside = t.side == 'r';
  const tp_ix *rows = stacked_rows(&t);
  /* line i: of what state i becomes, or, beside each other, of what it goes into */
  for (int i = 0; i < t.n; i++) {
    tp_val in[STACKED_STATES];
    for (int j = 0; j < t.n; j++) in[j] = beside ? t.by[j][i] : t.by[i][j];
    line[i] = side_by_side_all(&t, in, rows, rows, true);
    if (t.add[i].node) any = t.add[i];
  }
  tp_system one = { .n = 1,
    .of[0] = { .init = side_by_side_all(&t, t.init, t.o->shape[0], t.o->shape[1], beside) } };
  one.row[0] = (tp_form){
    .has[0] = true, .side[0] = t.side, .by[0] = side_by_side_all(&t, line, rows, rows, false)
  };
  if (any.node)
    one.row[0].n = 1,
    one.row[0].c[0] = side_by_side_all(&t, t.add, t.o->shape[0], t.o->shape[1], beside);
  if (!one.of[0].init.node || !one.row[0].by[0].node || (any.node && !one.row[0].c[0].node))
    return tp_none;
  one.matrix = tp_outof(one.of[0].init);
  tp_val y = by_one_matrix(e, one.matrix, &one, n, dtype);
  if (y.node) y = mk_slice(mk, y, beside, mk_int(mk, 0), t.o->shape[beside], 1);
  return mk_reshape(mk, y, m->out[0].rank, m->out[0].shape);
}

tp_val tp_evolved_matrix(
    tp_evolving *e, tp_node *m, const tp_system *s, const tp_ix *n, tp_dtype dtype) {
  bool one = s->n == 1 && s->row[0].n <= 1 && s->row[0].side[0];
  return one ? by_one_matrix(e, &m->out[0], s, n, dtype) : by_stacked(e, m, s, n, dtype);
}

/* ---- where steps are few ---- */

typedef struct {
  tp_mk mk;
  tp_node *m;
  const char *cone;
  tp_val *copy;
} copying;

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
    tp_val y = c->copy[n->id] =
        mk_declared(c->mk, n->out[0].dtype, n->out[0].rank, n->out[0].shape, n->ndom, n->dom);
    if (!y.node || !copy_branches(c, n, y.node)) return tp_none;
    y.node->name = n->name, y.node->what = n->what;
    y.node->attr.flag = true; /* it stays */
    return y;
  }
  if (n->nin > (int)TP_LEN(in) || n->op == TP_OP_ACCUM) return tp_none;
  for (int k = 0; k < n->nin; k++) in[k] = copied_value(c, n->in[k].src);
  return n->op == TP_OP_READ ? in[0].node ? tp_read(c->mk.g, in[0], n->attr.at, c->mk.err) : tp_none
                             : mk_op(c->mk, n->op, n->nin, in, &n->attr);
}

static tp_val copied_value(copying *c, tp_val v) {
  if (!c->cone[v.node->id]) return v;
  if (!c->copy[v.node->id].node) c->copy[v.node->id] = copied_node(c, v.node);
  return c->copy[v.node->id];
}

tp_val tp_steps_where_few(
    tp_evolving *e, tp_node *m, const tp_system *s, const char *cone, tp_val evolved) {
  tp_ictx *ix = e->mk.g->ix;
  if (!s->matrix || !evolved.node) return evolved;
  const tp_out *o = s->matrix;
  const tp_ix *rows = tp_ix_mulc(ix, o->shape[o->rank - (matrices_side(s) == 'r' ? 1 : 2)], s->n),
              *most = tp_ix_addc(ix, tp_ix_mulc(ix, rows, STEPS_PER_ROW), MATRIX_STEPS);
  const tp_ix *many = tp_ix_cmp(ix, TP_GE, tp_ix_sym(ix, e->dim->bound), most);
  copying c = { e->mk, m, cone, TP_NEWN(&e->mk.g->arena, tp_val, e->n0) };
  if (!tp_ix_is_affine(most)) return tp_none;
  tp_val by_steps = copied_value(&c, tp_v(m));
  if (!by_steps.node) return by_steps;
  return mk_either(e->mk, m->ndom, m->dom, many, evolved, by_steps);
}
