/* binary_power: a linear system after n steps, by the binary digits of n.
 *
 *   s' = A s + b   =>   2^k steps at once: P[k] s + q[k],
 *     P[0] = A, P[k] = P[k-1] P[k-1]      q[0] = b, q[k] = P[k-1] q[k-1] + q[k-1]
 *     s[k+1] = P[k] s[k] + q[k] where digit k of n is 1, else s[k]
 *
 * over a hidden dim whose bound is how many digits the bound of the dim has, which the call tells:
 * O(log n), no division, valid where A is 1. A has a factor for each pair of states, a number or
 * one for each element, or is the matrix that multiplies the only state; a factor that is 0 in
 * every power is not stored. Integers are exact modulo 2^64. Floats are f64: the error of P[k] is
 * at most 2 k units larger than that of P[0], times its condition; for a matrix 2^k units, as many
 * as the steps have. */
#include "opt/chrec/evolve.h"

enum { POWER_STATES = 8 };
typedef struct power_dims {
  int n;
  tp_dims dim;
} power_dims;
typedef struct power_system {
  tp_mk mk;
  tp_sym *dim, *digit; /* digit: the hidden dim */
  tp_dtype dtype;
  /* by state: its type; for a state with a matrix, its type where that multiplies it */
  const tp_out *o;
  char side; /* of the matrix, as in tp_form; 0: there is none */
  int rank;  /* of factors */
  tp_ixs shape;
  int n;
  /* first values, of q and of P; {NULL}: 0. far: P has the factor in some power */
  tp_val init[POWER_STATES], add[POWER_STATES], by[POWER_STATES][POWER_STATES];
  bool far[POWER_STATES][POWER_STATES];
  tp_val p[POWER_STATES][POWER_STATES], q[POWER_STATES], s[POWER_STATES], step[POWER_STATES];
  power_dims factors, sums, states;
} power_system;

/* ---- the system ---- */

static tp_val power_state(const power_system *d, tp_val v, const tp_out *of) {
  v = mk_expand(d->mk, mk_cast(d->mk, v, d->dtype), of->rank, of->shape);
  return mk_reshape(d->mk, v, d->o->rank, d->o->shape);
}

/* Finds the shape of factors: a number's, an element's, or the matrix's. False: the matrix is too
 * large for its powers to gain anything, or there is none although states have its shape. */
static bool find_shape(power_system *d, const tp_system *s) {
  int64_t rows;
  tp_val matrix = s->row[0].by[0];
  d->side = s->row[0].side;
  d->shape = d->o->shape;
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < s->n; j++)
      if (s->row[i].by[j].node && tp_rankof(s->row[i].by[j])) d->rank = d->o->rank;
  if (!d->side) return !s->matrix;
  d->rank = tp_rankof(matrix), d->shape = tp_outof(matrix)->shape;
  return tp_ix_is_const(d->shape[d->rank - 1], &rows) && rows <= TP_TUNE_MATRIX_ROWS;
}

static void put_power(power_system *d, int i, int j, tp_val by) {
  if (!by.node) by = mk_num(d->mk, 1, d->dtype);
  d->by[i][j] = mk_expand(d->mk, mk_cast(d->mk, by, d->dtype), d->rank, d->shape);
  d->far[i][j] = true;
}

/* Puts the added form {c0,+,c1,..} into the system: each coefficient becomes a state but the last,
 * which is added at each step. */
static bool put_added(power_system *d, int i, const tp_form *f, const tp_out *of) {
  if (d->n + f->n > POWER_STATES) return false;
  for (int j = 0; j + 1 < f->n; j++) {
    int u = d->n++;
    d->init[u] = power_state(d, f->c[j], of);
    put_power(d, u, u, tp_none);
    put_power(d, i, u, tp_none);
    i = u;
  }
  if (f->n) d->add[i] = power_state(d, f->c[f->n - 1], of);
  return true;
}

static bool put_system(power_system *d, const tp_system *s) {
  const tp_out *of = &s->state[0]->out[0];
  for (int i = 1; i < s->n; i++)
    if (!tp_one_shape(&s->state[i]->out[0], of)) return false;
  if (!find_shape(d, s)) return false;
  for (d->n = 0; d->n < s->n; d->n++) d->init[d->n] = power_state(d, s->of[d->n].init, of);
  for (int i = 0; i < s->n; i++) {
    for (int j = 0; j < s->n; j++)
      if (s->row[i].has[j]) put_power(d, i, j, s->row[i].by[j]);
    if (!put_added(d, i, &s->row[i], of)) return false;
  }
  for (int l = 0; l < d->n; l++)
    for (int i = 0; i < d->n; i++)
      for (int j = 0; j < d->n; j++) d->far[i][j] |= d->far[i][l] && d->far[l][j];
  return true;
}

static void join_dims(const power_system *d, power_dims *to, int n, tp_dims dim) {
  to->n = tp_dom_union(d->mk.g, to->n, to->dim, n, dim, &to->dim);
}

static void join_dims_of(const power_system *d, power_dims *to, tp_val v) {
  if (v.node) join_dims(d, to, v.node->ndom, v.node->dom);
}

static void find_dims(power_system *d) {
  join_dims(d, &d->factors, 1, &d->digit);
  for (int i = 0; i < d->n; i++)
    for (int j = 0; j < d->n; j++) join_dims_of(d, &d->factors, d->by[i][j]);
  d->sums = d->factors;
  for (int i = 0; i < d->n; i++) join_dims_of(d, &d->sums, d->add[i]);
  d->states = d->sums;
  for (int i = 0; i < d->n; i++) join_dims_of(d, &d->states, d->init[i]);
  join_dims(d, &d->states, 1, &d->dim);
}

/* ---- its recurrences over digits ---- */

static tp_val declared_over(
    const power_system *d, tp_dtype t, int rank, tp_ixs shape, power_dims over) {
  return mk_declared(d->mk, t, rank, shape, over.n, over.dim);
}

static tp_val digit_before(const power_system *d, tp_val v) {
  return mk_at(d->mk, v, d->digit, tp_ix_addc(tp_ix_sym(d->digit), -1));
}

static bool power_define(const power_system *d, tp_val v, tp_val first, tp_val next) {
  tp_ictx *ix = d->mk.g->ix;
  tp_ix *begins = tp_ix_cmp(TP_EQ, tp_ix_sym(d->digit), tp_ix_const(ix, 0));
  return v.node && first.node && next.node &&
      tp_merge_add(d->mk.g, v.node, begins, first, d->mk.err) &&
      tp_merge_add(d->mk.g, v.node, NULL, next, d->mk.err);
}

/* bool: is the digit of n 1? */
static tp_val digit_is_one(const power_system *d, tp_ix *n) {
  tp_val first = tp_ixvalue(d->mk.g, n, d->mk.err);
  power_dims over = { 0 };
  join_dims_of(d, &over, first);
  join_dims(d, &over, 1, &d->digit);
  join_dims(d, &over, 1, &d->dim);
  tp_val h = declared_over(d, TP_I64, 0, NULL, over);
  if (!power_define(d, h, first, mk_binc(d->mk, TP_OP_FLOORDIV, digit_before(d, h), 2)))
    return tp_none;
  return mk_binc(d->mk, TP_OP_EQ, mk_binc(d->mk, TP_OP_MOD, h, 2), 1);
}

static tp_val or_nothing(const power_system *d, tp_val v, int rank, tp_ixs shape) {
  return v.node ? v : mk_fill(d->mk, 0, d->dtype, rank, shape, 0, NULL);
}

/* y + a b, in which a matrix b stands before a or behind it. */
static tp_val plus_product(const power_system *d, tp_val y, tp_val a, tp_val b) {
  tp_val ab = !d->side ? mk_mul(d->mk, a, b)
      : d->side == 'r' ? mk_matmul(d->mk, b, a)
                       : mk_matmul(d->mk, a, b);
  return y.node ? mk_add(d->mk, y, ab) : ab;
}

static bool define_factor(power_system *d, int i, int j) {
  tp_val next = tp_none;
  for (int l = 0; l < d->n; l++)
    if (d->far[i][l] && d->far[l][j])
      next = plus_product(d, next, digit_before(d, d->p[i][l]), digit_before(d, d->p[l][j]));
  return power_define(d, d->p[i][j], or_nothing(d, d->by[i][j], d->rank, d->shape),
      mk_expand(d->mk, or_nothing(d, next, d->rank, d->shape), d->rank, d->shape));
}

static bool define_sum(power_system *d, int i) {
  tp_val next = digit_before(d, d->q[i]);
  for (int l = 0; l < d->n; l++)
    if (d->far[i][l] && d->q[l].node)
      next = plus_product(d, next, digit_before(d, d->p[i][l]), digit_before(d, d->q[l]));
  return power_define(d, d->q[i], or_nothing(d, d->add[i], d->o->rank, d->o->shape), next);
}

static void declare_all(power_system *d) {
  const tp_out *o = d->o;
  for (int i = 0; i < d->n; i++) {
    bool adds = d->add[i].node;
    for (int j = 0; j < d->n; j++) {
      if (d->far[i][j]) d->p[i][j] = declared_over(d, d->dtype, d->rank, d->shape, d->factors);
      adds |= d->far[i][j] && d->add[j].node;
    }
    if (adds) d->q[i] = declared_over(d, d->dtype, o->rank, o->shape, d->sums);
    d->s[i] = declared_over(d, d->dtype, o->rank, o->shape, d->states);
  }
}

static bool define_all(power_system *d, tp_val is_one) {
  bool ok = !d->mk.err->code;
  for (int i = 0; i < d->n && ok; i++) {
    tp_val y = d->q[i];
    for (int j = 0; j < d->n && ok; j++) {
      if (!d->far[i][j]) continue;
      ok = define_factor(d, i, j);
      y = plus_product(d, y, d->p[i][j], d->s[j]);
    }
    ok = ok && (!d->q[i].node || define_sum(d, i));
    y = or_nothing(d, y, d->o->rank, d->o->shape);
    d->step[i] = mk_select(d->mk, is_one, y, d->s[i]);
  }
  for (int i = 0; i < d->n && ok; i++)
    ok = power_define(d, d->s[i], d->init[i], digit_before(d, d->step[i]));
  return ok;
}

tp_val tp_evolved_power(
    tp_evolving *e, const tp_node *m, const tp_system *s, tp_ix *n, tp_dtype dtype) {
  tp_ictx *ix = e->mk.g->ix;
  const tp_out *o = &m->out[0];
  power_system *d = TP_NEW(&e->mk.g->arena, power_system);
  *d = (power_system){ .mk = e->mk,
    .dim = e->dim,
    .digit = tp_sym_digits(ix, e->dim->bound),
    .dtype = dtype,
    .o = s->matrix ? s->matrix : o };
  if (!put_system(d, s)) return tp_none;
  find_dims(d);
  declare_all(d);
  tp_val is_one = digit_is_one(d, n);
  if (!is_one.node || !define_all(d, is_one)) return tp_none;
  tp_ix *last = tp_ix_addc(tp_ix_sym(d->digit->bound), -1);
  return mk_reshape(d->mk, mk_at(d->mk, d->step[0], d->digit, last), o->rank, o->shape);
}
