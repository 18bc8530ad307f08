/* digits: a linear system after n steps, by the binary digits of n.
 *
 *   s' = A s + b   =>   P[0] = A, P[k] = P[k-1] P[k-1]      2^k steps at once: P[k] s + q[k],  q[0]
 * = b, q[k] = P[k-1] q[k-1] + q[k-1] s[k+1] = P[k] s[k] + q[k] where digit k of n is 1, else s[k]
 *
 * over a hidden dim whose bound is how many digits the bound of the dim has, which the call tells:
 * O(log n), no division, valid where A is 1. A is a matrix of factors, by which elements are
 * multiplied one by one; what is 0 or 1 for ever has no place. Integers are exact modulo 2^64.
 * Floats, in f64: each P[k] has 2 k units more than P[0] at most, times its condition. */
#include "opt/evolve.h"

enum { DIGIT_STATES = 8 };
tp_digits tp_digits_along(const tp_evolving *e, tp_dtype dtype) {
  return (tp_digits){ e->mk, e->dim, tp_sym_digits(e->mk.g->ix, e->dim->bound), dtype };
}

tp_val tp_digit_before(const tp_digits *d, tp_val v) {
  return v.node ? mk_at(d->mk, v, d->k, tp_ix_addc(d->mk.g->ix, tp_ix_sym(d->mk.g->ix, d->k), -1))
                : v;
}

tp_val tp_digits_last(const tp_digits *d, tp_val v) {
  return mk_at(d->mk, v, d->k, tp_ix_addc(d->mk.g->ix, tp_ix_sym(d->mk.g->ix, d->k->bound), -1));
}

bool tp_digits_define(const tp_digits *d, tp_val v, tp_val first, tp_val next) {
  tp_ictx *ix = d->mk.g->ix;
  const tp_ix *begins = tp_ix_cmp(ix, TP_EQ, tp_ix_sym(ix, d->k), tp_ix_const(ix, 0));
  return v.node && first.node && next.node &&
      tp_merge_add(d->mk.g, v.node, begins, first, d->mk.err) &&
      tp_merge_add(d->mk.g, v.node, NULL, next, d->mk.err);
}

tp_val tp_over_digits(const tp_digits *d, tp_val like, tp_val a, tp_val b, bool with_dim) {
  const tp_sym *const *dim = like.node->dom;
  int n = like.node->ndom;
  if (a.node) n = tp_dom_union(d->mk.g, n, dim, a.node->ndom, a.node->dom, &dim);
  if (b.node) n = tp_dom_union(d->mk.g, n, dim, b.node->ndom, b.node->dom, &dim);
  n = tp_dom_union(d->mk.g, n, dim, 1, &d->k, &dim);
  if (with_dim) n = tp_dom_union(d->mk.g, n, dim, 1, &d->dim, &dim);
  return mk_declared(d->mk, tp_dtypeof(like), tp_rankof(like), tp_outof(like)->shape, n, dim);
}

tp_val tp_digit_of(const tp_digits *d, const tp_ix *n) {
  tp_val first = tp_ixvalue(d->mk.g, n, d->mk.err),
         h = first.node ? tp_over_digits(d, first, tp_none, tp_none, true) : first;
  if (!tp_digits_define(d, h, first, mk_binc(d->mk, TP_OP_FLOORDIV, tp_digit_before(d, h), 2)))
    return tp_none;
  return mk_binc(d->mk, TP_OP_EQ, mk_binc(d->mk, TP_OP_MOD, h, 2), 1);
}

/* ---- systems of factors ---- */

typedef struct digit_dims {
  int n;
  const tp_sym *const *dim;
} digit_dims;
typedef struct digit_system {
  /* scalar: all factors are numbers, of all elements */
  tp_digits at;
  const tp_out *o;
  bool scalar;
  int n;
  tp_val init[DIGIT_STATES], add[DIGIT_STATES]; /* add {NULL}: 0 */
  /* by {NULL}: 1; far: in some power of A */
  tp_val by[DIGIT_STATES][DIGIT_STATES];
  bool has[DIGIT_STATES][DIGIT_STATES], far[DIGIT_STATES][DIGIT_STATES];
  /* p {NULL}, where far: 1; q {NULL}: 0 */
  tp_val p[DIGIT_STATES][DIGIT_STATES], q[DIGIT_STATES], s[DIGIT_STATES], step[DIGIT_STATES], digit;
  digit_dims factors, sums, states;
} digit_system;

/* ---- the system ---- */

static tp_val fitted(const digit_system *d, tp_val v) {
  return mk_expand(d->at.mk, mk_cast(d->at.mk, v, d->at.dtype), d->o->rank, d->o->shape);
}

static void join_dims(const digit_system *d, digit_dims *to, tp_val v) {
  if (v.node) to->n = tp_dom_union(d->at.mk.g, to->n, to->dim, v.node->ndom, v.node->dom, &to->dim);
}

static int new_state(digit_system *d, tp_val init) {
  d->init[d->n] = fitted(d, init);
  return d->n++;
}

static void put_factor(digit_system *d, int i, int j, tp_val by) {
  d->has[i][j] = true;
  d->by[i][j] = by.node ? mk_cast(d->at.mk, by, d->at.dtype) : by;
  d->scalar &= !by.node || tp_rankof(by) == 0;
}

/* What is added at step n, {c0,+,c1,..}: states of its own but for the last, which is added. */
static bool put_added(digit_system *d, int i, const tp_form *f) {
  if (d->n + f->n > DIGIT_STATES) return false;
  for (int j = 0; j + 1 < f->n; j++) {
    int u = new_state(d, f->c[j]);
    put_factor(d, u, u, tp_none);
    put_factor(d, i, u, tp_none);
    i = u;
  }
  if (f->n) d->add[i] = fitted(d, f->c[f->n - 1]);
  return true;
}

static bool put_system(digit_system *d, const tp_system *s) {
  for (int i = 0; i < s->n; i++) {
    const tp_out *o = &s->state[i]->out[0];
    if (!tp_one_shape(o, d->o)) return false;
    new_state(d, s->of[i].init);
  }
  for (int i = 0; i < s->n; i++) {
    for (int j = 0; j < s->n; j++)
      if (s->row[i].has[j]) put_factor(d, i, j, s->row[i].by[j]);
    if (!put_added(d, i, &s->row[i])) return false;
  }
  return true;
}

static void find_far(digit_system *d) {
  memcpy(d->far, d->has, sizeof d->far);
  for (int l = 0; l < d->n; l++)
    for (int i = 0; i < d->n; i++)
      for (int j = 0; j < d->n; j++) d->far[i][j] |= d->far[i][l] && d->far[l][j];
}

/* A state that goes over into itself once, and by no other way. */
static bool is_one_for_ever(const digit_system *d, int i, int j) {
  if (i != j || !d->has[i][i] || d->by[i][i].node) return false;
  for (int l = 0; l < d->n; l++)
    if (l != i && d->far[i][l] && d->far[l][i]) return false;
  return true;
}

static void find_dims(digit_system *d) {
  for (int i = 0; i < d->n; i++)
    for (int j = 0; j < d->n; j++) join_dims(d, &d->factors, d->by[i][j]);
  d->factors.n =
      tp_dom_union(d->at.mk.g, d->factors.n, d->factors.dim, 1, &d->at.k, &d->factors.dim);
  d->sums = d->factors;
  for (int i = 0; i < d->n; i++) join_dims(d, &d->sums, d->add[i]);
  d->states = d->sums;
  for (int i = 0; i < d->n; i++) join_dims(d, &d->states, d->init[i]);
  d->states.n = tp_dom_union(d->at.mk.g, d->states.n, d->states.dim, 1, &d->at.dim, &d->states.dim);
}

/* ---- its recurrences over digits ---- */

static tp_val declared_over(
    const digit_system *d, tp_dtype dtype, bool scalar, const digit_dims *over) {
  return mk_declared(
      d->at.mk, dtype, scalar ? 0 : d->o->rank, scalar ? NULL : d->o->shape, over->n, over->dim);
}

static tp_val nothing_of(const digit_system *d, bool scalar) {
  return mk_fill(
      d->at.mk, 0, d->at.dtype, scalar ? 0 : d->o->rank, scalar ? NULL : d->o->shape, 0, NULL);
}
static tp_val times_factor(const digit_system *d, tp_val a, tp_val b) {
  return !a.node ? b : !b.node ? a : mk_mul(d->at.mk, a, b);
}
static tp_val plus_term(const digit_system *d, tp_val a, tp_val b) {
  return !a.node ? b : !b.node ? a : mk_add(d->at.mk, a, b);
}

/* Does far say 1? Both factors 1 would be lost in a product. */
static tp_val factor_before(const digit_system *d, int i, int j) {
  return tp_digit_before(&d->at, d->p[i][j]);
}

static tp_val one_more(const digit_system *d) { return mk_num(d->at.mk, 1, d->at.dtype); }

static bool define_factor(digit_system *d, int i, int j) {
  if (!d->p[i][j].node) return true;
  tp_val next = tp_none,
         first = !d->has[i][j] ? nothing_of(d, d->scalar)
      : d->by[i][j].node       ? d->by[i][j]
                               : one_more(d);
  for (int l = 0; l < d->n; l++) {
    if (!d->far[i][l] || !d->far[l][j]) continue;
    tp_val both = times_factor(d, factor_before(d, i, l), factor_before(d, l, j));
    next = plus_term(d, next, both.node ? both : one_more(d));
  }
  if (!next.node) next = nothing_of(d, d->scalar);
  if (!d->scalar)
    first = mk_expand(d->at.mk, first, d->o->rank, d->o->shape),
    next = mk_expand(d->at.mk, next, d->o->rank, d->o->shape);
  return tp_digits_define(&d->at, d->p[i][j], first, next);
}

static bool define_sum(digit_system *d, int i) {
  if (!d->q[i].node) return true;
  tp_val next = tp_digit_before(&d->at, d->q[i]);
  for (int l = 0; l < d->n; l++)
    if (d->far[i][l] && d->q[l].node)
      next = plus_term(
          d, next, times_factor(d, factor_before(d, i, l), tp_digit_before(&d->at, d->q[l])));
  return tp_digits_define(&d->at, d->q[i], d->add[i].node ? d->add[i] : nothing_of(d, false), next);
}

static void make_step(digit_system *d, int i) {
  tp_val y = d->q[i];
  for (int l = 0; l < d->n; l++)
    if (d->far[i][l]) y = plus_term(d, y, times_factor(d, d->p[i][l], d->s[l]));
  d->step[i] = mk_select(d->at.mk, d->digit, y.node ? y : nothing_of(d, false), d->s[i]);
}

static void declare_all(digit_system *d) {
  for (int i = 0; i < d->n; i++) {
    bool adds = d->add[i].node;
    for (int j = 0; j < d->n; j++) {
      if (d->far[i][j] && !is_one_for_ever(d, i, j))
        d->p[i][j] = declared_over(d, d->at.dtype, d->scalar, &d->factors);
      adds |= d->far[i][j] && d->add[j].node;
    }
    if (adds) d->q[i] = declared_over(d, d->at.dtype, false, &d->sums);
    d->s[i] = declared_over(d, d->at.dtype, false, &d->states);
  }
}

static bool define_all(digit_system *d) {
  bool ok = !d->at.mk.err->code;
  for (int i = 0; i < d->n && ok; i++) {
    for (int j = 0; j < d->n && ok; j++) ok = define_factor(d, i, j);
    ok = ok && define_sum(d, i);
    make_step(d, i);
  }
  for (int i = 0; i < d->n && ok; i++)
    ok = tp_digits_define(&d->at, d->s[i], d->init[i], tp_digit_before(&d->at, d->step[i]));
  return ok;
}

tp_val tp_evolved_digits(
    tp_evolving *e, const tp_node *m, const tp_system *s, const tp_ix *n, tp_dtype dtype) {
  digit_system *d = TP_NEW(&e->mk.g->arena, digit_system);
  *d = (digit_system){ .at = tp_digits_along(e, dtype), .o = &m->out[0], .scalar = true };
  if (s->matrix || !put_system(d, s)) return tp_none;
  find_far(d);
  find_dims(d);
  declare_all(d);
  d->digit = tp_digit_of(&d->at, n);
  if (!d->digit.node || !define_all(d)) return tp_none;
  return tp_digits_last(&d->at, d->step[0]);
}
