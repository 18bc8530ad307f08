/* elementwise.c: makes one element of one of each operand. Floats are computed in double, then
 * rounded (f16 and bf16 by way of f32); integers exactly in i64, then wrapped. */
#include "ref/machine.h"
#include <math.h>

static void put(ref_data *out, int64_t i, double v) {
  bool half = out->dtype == TP_F16 || out->dtype == TP_BF16;
  tp_put(out->dtype, out->data, i, half ? (float)v : v);
}

static double unary_f(tp_op op, double x) {
  switch (op) {
  case TP_OP_NEG: return -x;
  case TP_OP_ABS: return fabs(x);
  case TP_OP_SIGN: return (x > 0) - (x < 0); /* 0 of NaN */
  case TP_OP_EXP: return exp(x);
  case TP_OP_EXPM1: return expm1(x);
  case TP_OP_LOG: return log(x);
  case TP_OP_LOG1P: return log1p(x);
  case TP_OP_SQRT: return sqrt(x);
  case TP_OP_RSQRT: return 1 / sqrt(x);
  case TP_OP_SIN: return sin(x);
  case TP_OP_COS: return cos(x);
  case TP_OP_TAN: return tan(x);
  case TP_OP_TANH: return tanh(x);
  case TP_OP_SIGMOID: return 1 / (1 + exp(-x));
  case TP_OP_ERF: return erf(x);
  case TP_OP_FLOOR: return floor(x);
  case TP_OP_CEIL: return ceil(x);
  case TP_OP_ROUND: return rint(x); /* half to even */
  default: return TP_NEVER(true) ? 0 : x;
  }
}

static int64_t unary_i(tp_op op, int64_t x) {
  switch (op) {
  case TP_OP_NEG: return (int64_t)(0 - (uint64_t)x);
  case TP_OP_ABS: return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
  case TP_OP_SIGN: return (x > 0) - (x < 0);
  case TP_OP_LNOT: return !x;
  case TP_OP_FLOOR:
  case TP_OP_CEIL:
  case TP_OP_ROUND: return x;
  default: return TP_NEVER(true) ? 0 : x;
  }
}

static bool unary(tp_op op, ref_data *out, const ref_data *x) {
  for (int64_t i = 0; i < out->n; i++)
    if (tp_dtype_float(x->dtype)) put(out, i, unary_f(op, tp_get(x->dtype, x->data, i)));
    else tp_puti(out->dtype, out->data, i, unary_i(op, tp_geti(x->dtype, x->data, i)));
  return true;
}

static bool cast(ref_data *out, const ref_data *x) {
  for (int64_t i = 0; i < out->n; i++)
    if (tp_dtype_float(x->dtype)) tp_put(out->dtype, out->data, i, tp_get(x->dtype, x->data, i));
    else tp_puti(out->dtype, out->data, i, tp_geti(x->dtype, x->data, i));
  return true;
}

/* a - b * floor(a / b) with one rounding: fmod is exact. */
static double mod_f(double a, double b) {
  double m = fmod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

static double floordiv_f(double a, double b) {
  if (b == 0) return a / b;
  double m = fmod(a, b), q = (a - m) / b; /* an integer but for rounding */
  if (m != 0 && (m < 0) != (b < 0)) q -= 1;
  return q == 0 ? copysign(0, a / b) : rint(q);
}

static double binary_f(tp_op op, double a, double b) {
  switch (op) {
  case TP_OP_ADD: return a + b;
  case TP_OP_SUB: return a - b;
  case TP_OP_MUL: return a * b;
  case TP_OP_DIV: return a / b;
  case TP_OP_POW: return pow(a, b);
  case TP_OP_MOD: return mod_f(a, b);
  case TP_OP_FLOORDIV: return floordiv_f(a, b);
  case TP_OP_MINIMUM: return isnan(a) || a <= b ? a : b;
  case TP_OP_MAXIMUM: return isnan(a) || a >= b ? a : b;
  default: return TP_NEVER(true) ? 0 : a;
  }
}

#define COMPARISONS \
  case TP_OP_EQ: return a == b; \
  case TP_OP_NE: return a != b; \
  case TP_OP_LT: return a < b; \
  case TP_OP_LE: return a <= b; \
  case TP_OP_GT: return a > b; \
  case TP_OP_GE: return a >= b; \
  default: return TP_NEVER(true)
static bool compare_f(tp_op op, double a, double b) {
  switch (op) { COMPARISONS; }
}

static int64_t pow_i(int64_t a, int64_t n) {
  uint64_t p = 1, x = (uint64_t)a;
  for (; n; n >>= 1, x *= x)
    if (n & 1) p *= x;
  return (int64_t)p;
}

/* Floors; b = -1 wraps. */
static int64_t floordiv_i(int64_t a, int64_t b) {
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static int64_t mod_i(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a - (uint64_t)b * (uint64_t)floordiv_i(a, b));
}

static int64_t binary_i(tp_op op, int64_t a, int64_t b) {
  switch (op) {
  case TP_OP_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
  case TP_OP_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
  case TP_OP_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
  case TP_OP_POW: return pow_i(a, b);
  case TP_OP_MOD: return mod_i(a, b);
  case TP_OP_FLOORDIV: return floordiv_i(a, b);
  case TP_OP_MINIMUM: return TP_MIN(a, b);
  case TP_OP_MAXIMUM: return TP_MAX(a, b);
  case TP_OP_LAND: return a && b;
  case TP_OP_LOR: return a || b; COMPARISONS;
  }
}

static bool legal_i(ref *r, tp_cell *c, tp_op op, int64_t b) {
  if ((op == TP_OP_MOD || op == TP_OP_FLOORDIV) && b == 0)
    return ref_fail(r, c, TP_E_INPUT, "integer division by zero");
  if (op == TP_OP_POW && b < 0)
    return ref_fail(r, c, TP_E_INPUT, "integer power with a negative exponent");
  return true;
}

static bool binary(ref *r, tp_cell *c, ref_data *out, const ref_data *a, const ref_data *b) {
  tp_op op = c->node->op;
  bool flt = tp_dtype_float(a->dtype), cmp = tp_ops[op].cls == TP_CLS_CMP;
  int64_t sa[TP_MAXRANK], sb[TP_MAXRANK];
  ref_strides_broadcast(out, a, sa);
  ref_strides_broadcast(out, b, sb);
  TP_WALK (w, out->rank, out->shape) {
    int64_t ia = tp_walk_offset(&w, sa), ib = tp_walk_offset(&w, sb);
    if (flt) {
      double x = tp_get(a->dtype, a->data, ia), y = tp_get(b->dtype, b->data, ib);
      put(out, w.n, cmp ? compare_f(op, x, y) : binary_f(op, x, y));
    } else {
      int64_t x = tp_geti(a->dtype, a->data, ia), y = tp_geti(b->dtype, b->data, ib);
      if (!legal_i(r, c, op, y)) return false;
      tp_puti(out->dtype, out->data, w.n, binary_i(op, x, y));
    }
  }
  return true;
}

static bool choose(ref_data *out, const ref_data *cond, const ref_data *a, const ref_data *b) {
  int64_t sc[TP_MAXRANK], sa[TP_MAXRANK], sb[TP_MAXRANK];
  ref_strides_broadcast(out, cond, sc);
  ref_strides_broadcast(out, a, sa);
  ref_strides_broadcast(out, b, sb);
  TP_WALK (w, out->rank, out->shape) {
    bool first = tp_geti(cond->dtype, cond->data, tp_walk_offset(&w, sc)) != 0;
    ref_copy(out, w.n, first ? a : b, tp_walk_offset(&w, first ? sa : sb));
  }
  return true;
}

bool ref_elementwise(ref *r, tp_cell *c, ref_data *out, const ref_data *in) {
  if (c->node->op == TP_OP_CAST) return cast(out, &in[0]);
  if (c->node->op == TP_OP_SELECT) return choose(out, &in[0], &in[1], &in[2]);
  return c->node->nin == 1 ? unary(c->node->op, out, &in[0]) : binary(r, c, out, &in[0], &in[1]);
}
