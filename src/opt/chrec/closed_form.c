/* closed_form: values after n steps, without the steps (evolve.h).
 *
 *   {c0,+,c1,+,..}             sum of c[j] * C(n, j)
 *   x' = a x + b, |a| <= 1     x0 a^n + b S
 *   x' = a x + b, |a| > 1      x0 + (x0 (a - 1) + b) S: a state that stays is not made of parts
 *   that cancel
 *     S = 1 + a + .. + a^(n-1) = (a^n - 1) / (a - 1), or n where a is 1
 *
 * Integers are exact modulo 2^64. C(n, j) needs no wider type: among j consecutive numbers every
 * second is even, and their halves are consecutive again, so all factors of 2 in j! are divided out
 * one by one; a product with the inverse modulo 2^64 divides by the odd rest. Floats are computed
 * in f64 and rounded once to the tensor's dtype. S near a = 1 is expm1(n log a) / (a - 1): a
 * relative error of a few 1e-16 times 1 + |n log a|, where n steps in the tensor's own dtype have
 * one of n units of its last place. */
#include "opt/chrec/evolve.h"
#include <math.h>

typedef struct {
  tp_mk mk;
  tp_dtype dtype;
  tp_ix *n;
  const tp_out *o;
} formula;

static tp_val number_at(const formula *k, tp_ix *i) { return tp_ixvalue(k->mk.g, i, k->mk.err); }
static tp_val times_at(const formula *k, tp_val a, tp_val b) {
  return !a.node ? b : !b.node ? a : mk_mul(k->mk, a, b);
}
static tp_val plain(const formula *k, tp_val v) { return mk_cast(k->mk, v, k->dtype); }

/* ---- binomials ---- */

/* n (n-1) .. (n-j+1) without the factors of 2 that j! has; {NULL}: 1. */
static tp_val halved(const formula *k, tp_ix *n, int j) {
  int half = j / 2;
  /* n or n - 1 */
  tp_ix *odd = tp_ix_addc(tp_ix_mulc(tp_ix_fdiv(tp_ix_addc(n, 1), 2), 2), -1);
  tp_val y = j ? halved(k, tp_ix_fdiv(n, 2), half) : tp_none;
  for (int i = 0; i < half; i++) y = times_at(k, y, number_at(k, tp_ix_addc(odd, -2 * i)));
  return j % 2 ? times_at(k, y, number_at(k, tp_ix_addc(n, -2 * half))) : y;
}

/* The inverse of j! without its factors of 2, modulo 2^64. */
static int64_t inverse_of_odd(int j) {
  uint64_t odd = 1, inv = 1;
  for (int i = 2; i <= j; i++) odd *= (uint64_t)i >> __builtin_ctz((unsigned)i);
  for (int i = 0; i < 6; i++) inv *= 2 - odd * inv;
  return (int64_t)inv;
}

static tp_val whole_binomial(const formula *k, int j) {
  tp_val y = halved(k, k->n, j);
  int64_t inv = inverse_of_odd(j);
  return inv == 1 ? y : times_at(k, y, number_at(k, tp_ix_const(k->mk.g->ix, inv)));
}

static tp_val float_binomial(const formula *k, int j) {
  tp_val y = tp_none;
  double down = 1;
  for (int i = 0; i < j; i++) {
    y = times_at(k, y, plain(k, number_at(k, tp_ix_addc(k->n, -i))));
    down *= i + 1;
  }
  return down == 1 ? y : mk_binc(k->mk, TP_OP_DIV, y, down);
}

/* ---- formulas ---- */

static formula formula_of(tp_evolving *e, const tp_node *m) {
  tp_ix *t = tp_ix_sym(e->dim),
        *n = e->back ? tp_ix_addc(tp_ix_sub(tp_ix_sym(e->dim->bound), t), -1) : t;
  return (formula){ e->mk, tp_dtype_float(m->out[0].dtype) ? TP_F64 : TP_I64, n, &m->out[0] };
}

/* y in m's dtype, shape and domain. */
static tp_val as_of(const formula *k, const tp_node *m, tp_val y) {
  if (!y.node) return y;
  y = mk_expand(k->mk, mk_cast(k->mk, y, k->o->dtype), k->o->rank, k->o->shape);
  if (!y.node || tp_same_dims(y.node, m)) return y;
  tp_val z = mk_declared(k->mk, k->o->dtype, k->o->rank, k->o->shape, m->ndom, m->dom);
  return z.node && tp_merge_add(k->mk.g, z.node, NULL, y, k->mk.err) ? z : tp_none;
}

static bool is_literal(tp_val v, double *c) {
  v = tp_spread(v);
  while (v.node->op == TP_OP_CAST && tp_dtypeof(v) == TP_F64) v = tp_spread(v.node->in[0].src);
  return tp_number_of(v, c);
}

/* c C(n, j); for floats 0 before step j, as c may be infinite or NaN. */
static tp_val binomial_term(const formula *k, tp_val c, int j) {
  double number = INFINITY;
  if (k->dtype == TP_I64) return mk_mul(k->mk, c, whole_binomial(k, j));
  tp_val times = float_binomial(k, j), y = mk_mul(k->mk, c, times);
  if (is_literal(c, &number) && isfinite(number)) return y;
  return mk_select(k->mk, mk_binc(k->mk, TP_OP_EQ, times, 0), mk_num(k->mk, 0, TP_F64), y);
}

tp_val tp_evolved_form(tp_evolving *e, const tp_node *m, const tp_form *f) {
  formula k = formula_of(e, m);
  tp_val y = plain(&k, f->c[0]);
  for (int j = 1; j < f->n; j++) y = mk_add(k.mk, y, binomial_term(&k, plain(&k, f->c[j]), j));
  return as_of(&k, m, y);
}

/* ---- x' = a x + b ---- */

/* 1 + a + .. + a^(n-1), p being a^n */
static tp_val series(const formula *k, tp_val a, tp_val n, tp_val p) {
  tp_mk mk = k->mk;
  double c = 0;
  bool known = is_literal(a, &c);
  if (known && c == 1) return n;
  tp_val less = mk_addc(mk, a, -1), far = mk_addc(mk, p, -1);
  if (known && fabs(c - 1) >= 0.5) return mk_div(mk, far, less);
  tp_val near = mk_un(mk, TP_OP_EXPM1, mk_mul(mk, n, mk_log(mk, a)));
  if (known) return mk_div(mk, near, less);
  tp_val is_near = mk_binc(mk, TP_OP_LT, mk_un(mk, TP_OP_ABS, less), 0.5),
         s = mk_div(mk, mk_select(mk, is_near, near, far), less);
  return mk_select(mk, mk_binc(mk, TP_OP_EQ, less, 0), n, s);
}

/* x a^n; an x of 0 stays 0, however far a finite a has grown. */
static tp_val grown(const formula *k, tp_val x, tp_val a, tp_val p) {
  tp_mk mk = k->mk;
  double c = 0;
  tp_val y = mk_mul(mk, x, p);
  if (is_literal(a, &c) && fabs(c) <= 1) return y;
  tp_val still = mk_and(
      mk, mk_binc(mk, TP_OP_EQ, x, 0), mk_binc(mk, TP_OP_LT, mk_un(mk, TP_OP_ABS, a), INFINITY));
  return mk_select(mk, still, x, y);
}

/* x + d S, or x where nothing is added */
static tp_val risen_by(const formula *k, tp_val x, tp_val d, tp_val s) {
  return mk_select(k->mk, mk_binc(k->mk, TP_OP_EQ, d, 0), x, mk_add(k->mk, x, mk_mul(k->mk, d, s)));
}

static tp_val stepped(const formula *k, tp_val x, tp_val a, tp_val b) {
  tp_mk mk = k->mk;
  double c = 0;
  tp_val n = plain(k, number_at(k, k->n)), p = mk_bin(mk, TP_OP_POW, a, n);
  if (!b.node) return grown(k, x, a, p);
  tp_val s = series(k, a, n, p), near = mk_add(mk, mk_mul(mk, x, p), mk_mul(mk, b, s));
  bool known = is_literal(a, &c);
  if (known && fabs(c) <= 1) return near;
  tp_val d = mk_add(mk, mk_mul(mk, x, mk_addc(mk, a, -1)), b), far = risen_by(k, x, d, s);
  return known ? far : mk_select(mk, mk_binc(mk, TP_OP_LE, mk_un(mk, TP_OP_ABS, a), 1), near, far);
}

/* The value is x before the first step, even where a or b is no number. */
static tp_val affine(const formula *k, tp_val x, tp_val a, tp_val b) {
  double number = INFINITY;
  tp_val y = stepped(k, x, a, b);
  bool finite = is_literal(a, &number) && isfinite(number) &&
      (!b.node || (is_literal(b, &number) && isfinite(number)));
  return finite ? y
                : mk_select(k->mk, mk_binc(k->mk, TP_OP_EQ, plain(k, number_at(k, k->n)), 0), x, y);
}

tp_val tp_evolved_system(tp_evolving *e, const tp_node *m, const tp_system *s) {
  formula k = formula_of(e, m);
  const tp_form *f = &s->row[0];
  bool floats = k.dtype == TP_F64;
  if (s->matrix || s->n != 1 || f->n > floats || !f->has[0] || !f->by[0].node)
    return as_of(&k, m, tp_evolved_power(e, m, s, k.n, k.dtype));
  tp_val x = plain(&k, s->of[0].init), a = plain(&k, f->by[0]);
  return as_of(&k, m,
      floats ? affine(&k, x, a, plain(&k, f->n ? f->c[0] : tp_none))
             : mk_mul(k.mk, x, mk_bin(k.mk, TP_OP_POW, a, number_at(&k, k.n))));
}
