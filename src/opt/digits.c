/* digits: a linear system after n steps, by the binary digits of n.
 *
 *   s' = A s + b   =>   P[0] = A, P[k] = P[k-1] P[k-1]      2^k steps at once: P[k] s + q[k],  q[0] = b, q[k] = P[k-1] q[k-1] + q[k-1]
 *                       s[k+1] = P[k] s[k] + q[k] where digit k of n is 1, else s[k]
 *
 * over a hidden dim whose bound is how many digits the bound of the dim has, which the call tells: O(log n), no division, valid where A is 1. A is a matrix of factors, by which elements are multiplied one
 * by one; what is 0 or 1 for ever has no place. Integers are exact modulo 2^64. Floats, in f64: each P[k] has 2 k units more than P[0] at most, times its condition. */
#include "opt/evolve.h"

enum { DIGIT_STATES = 8 };
typedef struct digit_dims { int n; const tp_sym *const *dim; } digit_dims;
typedef struct digit_system {
  tp_evolving *e; tp_mk mk; const tp_sym *k; tp_dtype dtype; const tp_out *o; bool scalar;      /* scalar: all factors are numbers, of all elements */
  int n; tp_val init[DIGIT_STATES], add[DIGIT_STATES];          /* add {NULL}: 0 */
  tp_val by[DIGIT_STATES][DIGIT_STATES]; bool has[DIGIT_STATES][DIGIT_STATES], far[DIGIT_STATES][DIGIT_STATES];         /* by {NULL}: 1; far: in some power of A */
  tp_val p[DIGIT_STATES][DIGIT_STATES], q[DIGIT_STATES], s[DIGIT_STATES], step[DIGIT_STATES], digit;                    /* p {NULL}, where far: 1; q {NULL}: 0 */
  digit_dims factors, sums, states;
} digit_system;

/* ---- the system ---- */

static tp_val fitted(const digit_system *d, tp_val v) { return mk_expand(d->mk, mk_cast(d->mk, v, d->dtype), d->o->rank, d->o->shape); }

static void join_dims(const digit_system *d, digit_dims *to, tp_val v) {
  if (v.node) to->n = tp_dom_union(d->mk.g, to->n, to->dim, v.node->ndom, v.node->dom, &to->dim);
}

static int new_state(digit_system *d, tp_val init) {
  d->init[d->n] = fitted(d, init);
  return d->n++;
}

static void put_factor(digit_system *d, int i, int j, tp_val by) {
  d->has[i][j] = true;
  d->by[i][j] = by.node ? mk_cast(d->mk, by, d->dtype) : by;
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
    if (o->rank != d->o->rank || memcmp(o->shape, d->o->shape, sizeof *o->shape * (size_t)o->rank)) return false;
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
  d->factors.n = tp_dom_union(d->mk.g, d->factors.n, d->factors.dim, 1, &d->k, &d->factors.dim);
  d->sums = d->factors;
  for (int i = 0; i < d->n; i++) join_dims(d, &d->sums, d->add[i]);
  d->states = d->sums;
  for (int i = 0; i < d->n; i++) join_dims(d, &d->states, d->init[i]);
  d->states.n = tp_dom_union(d->mk.g, d->states.n, d->states.dim, 1, &d->e->dim, &d->states.dim);
}

/* ---- its recurrences over digits ---- */

static tp_val declared_over(const digit_system *d, tp_dtype dtype, bool scalar, const digit_dims *over) {
  return mk_declared(d->mk, dtype, scalar ? 0 : d->o->rank, scalar ? NULL : d->o->shape, over->n, over->dim);
}

static tp_val one_before(const digit_system *d, tp_val v) { return v.node ? mk_at(d->mk, v, d->k, tp_ix_addc(d->mk.g->ix, tp_ix_sym(d->mk.g->ix, d->k), -1)) : v; }

static bool defined_by(const digit_system *d, tp_val v, tp_val first, tp_val next) {
  tp_ictx *ix = d->mk.g->ix;
  const tp_ix *begins = tp_ix_cmp(ix, TP_EQ, tp_ix_sym(ix, d->k), tp_ix_const(ix, 0));
  return v.node && first.node && next.node && tp_merge_add(d->mk.g, v.node, begins, first, d->mk.err) && tp_merge_add(d->mk.g, v.node, NULL, next, d->mk.err);
}

static tp_val nothing_of(const digit_system *d, bool scalar) { return mk_fill(d->mk, 0, d->dtype, scalar ? 0 : d->o->rank, scalar ? NULL : d->o->shape, 0, NULL); }
static tp_val times_factor(const digit_system *d, tp_val a, tp_val b) { return !a.node ? b : !b.node ? a : mk_mul(d->mk, a, b); }
static tp_val plus_term(const digit_system *d, tp_val a, tp_val b) { return !a.node ? b : !b.node ? a : mk_add(d->mk, a, b); }

/* Does far say 1? Both factors 1 would be lost in a product. */
static tp_val factor_before(const digit_system *d, int i, int j) { return one_before(d, d->p[i][j]); }

static tp_val one_more(const digit_system *d) { return mk_num(d->mk, 1, d->dtype); }

static bool define_factor(digit_system *d, int i, int j) {
  if (!d->p[i][j].node) return true;
  tp_val next = tp_none, first = !d->has[i][j] ? nothing_of(d, d->scalar) : d->by[i][j].node ? d->by[i][j] : one_more(d);
  for (int l = 0; l < d->n; l++) {
    if (!d->far[i][l] || !d->far[l][j]) continue;
    tp_val both = times_factor(d, factor_before(d, i, l), factor_before(d, l, j));
    next = plus_term(d, next, both.node ? both : one_more(d));
  }
  if (!next.node) next = nothing_of(d, d->scalar);
  if (!d->scalar) first = mk_expand(d->mk, first, d->o->rank, d->o->shape), next = mk_expand(d->mk, next, d->o->rank, d->o->shape);
  return defined_by(d, d->p[i][j], first, next);
}

static bool define_sum(digit_system *d, int i) {
  if (!d->q[i].node) return true;
  tp_val next = one_before(d, d->q[i]);
  for (int l = 0; l < d->n; l++)
    if (d->far[i][l] && d->q[l].node) next = plus_term(d, next, times_factor(d, factor_before(d, i, l), one_before(d, d->q[l])));
  return defined_by(d, d->q[i], d->add[i].node ? d->add[i] : nothing_of(d, false), next);
}

static void make_step(digit_system *d, int i) {
  tp_val y = d->q[i];
  for (int l = 0; l < d->n; l++)
    if (d->far[i][l]) y = plus_term(d, y, times_factor(d, d->p[i][l], d->s[l]));
  d->step[i] = mk_select(d->mk, d->digit, y.node ? y : nothing_of(d, false), d->s[i]);
}

/* Digit k of n. */
static tp_val digit_of(const digit_system *d, const tp_ix *n) {
  digit_dims over = { 0 };
  over.n = tp_dom_union(d->mk.g, 1, &d->e->dim, 1, &d->k, &over.dim);
  tp_val h = declared_over(d, TP_I64, true, &over), first = tp_ixvalue(d->mk.g, n, d->mk.err);
  if (!defined_by(d, h, first, mk_binc(d->mk, TP_OP_FLOORDIV, one_before(d, h), 2))) return tp_none;
  return mk_binc(d->mk, TP_OP_EQ, mk_binc(d->mk, TP_OP_MOD, h, 2), 1);
}

static void declare_all(digit_system *d) {
  for (int i = 0; i < d->n; i++) {
    bool adds = d->add[i].node;
    for (int j = 0; j < d->n; j++) {
      if (d->far[i][j] && !is_one_for_ever(d, i, j)) d->p[i][j] = declared_over(d, d->dtype, d->scalar, &d->factors);
      adds |= d->far[i][j] && d->add[j].node;
    }
    if (adds) d->q[i] = declared_over(d, d->dtype, false, &d->sums);
    d->s[i] = declared_over(d, d->dtype, false, &d->states);
  }
}

static bool define_all(digit_system *d) {
  bool ok = !d->mk.err->code;
  for (int i = 0; i < d->n && ok; i++) {
    for (int j = 0; j < d->n && ok; j++) ok = define_factor(d, i, j);
    ok = ok && define_sum(d, i);
    make_step(d, i);
  }
  for (int i = 0; i < d->n && ok; i++) ok = defined_by(d, d->s[i], d->init[i], one_before(d, d->step[i]));
  return ok;
}

tp_val tp_evolved_digits(tp_evolving *e, const tp_node *m, const tp_system *s, const tp_ix *n, tp_dtype dtype) {
  tp_ictx *ix = e->mk.g->ix;
  digit_system *d = TP_NEW(&e->mk.g->arena, digit_system);
  *d = (digit_system){ .e = e, .mk = e->mk, .k = tp_sym_digits(ix, e->dim->bound), .dtype = dtype, .o = &m->out[0], .scalar = true };
  if (!put_system(d, s)) return tp_none;
  find_far(d);
  find_dims(d);
  declare_all(d);
  d->digit = digit_of(d, n);
  if (!d->digit.node || !define_all(d)) return tp_none;
  return mk_at(d->mk, d->step[0], d->k, tp_ix_addc(ix, tp_ix_sym(ix, d->k->bound), -1));
}
