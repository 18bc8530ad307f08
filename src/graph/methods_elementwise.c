/* methods: elementwise arithmetic, comparisons, logic, activations, types. Rows whose name is a
 * primitive's text share one body. */
#include "graph/rows.h"
#include <math.h>

METHOD(un) { GIVE(mk_un(k, tp_named_op(k), a[0].val)); }

/* A whole number beside integers that lack it wraps, as they do: u8 x + 300 is x + 44. (A limit, of
 * minimum, maximum or clamp, saturates instead.) */
static tp_arg wrapped(tp_mk k, const tp_arg *w, const tp_arg *beside) {
  tp_arg a = *w;
  if (w->where && tp_weak_beside(w, tp_dtypeof(beside->val)) == tp_dtypeof(beside->val)) {
    tp_arg *sides = tp_dup(&k.g->arena, w->where, 3 * sizeof *sides);
    for (int i = 1; i < 3; i++) sides[i] = wrapped(k, &w->where[i], beside);
    a.where = sides;
  }
  if (!w->isnum || beside->weak || w->num != floor(w->num) || fabs(w->num) >= 0x1p63) return a;
  tp_dtype d = tp_dtypeof(beside->val);
  if (d == TP_U8) a.num = (double)(uint8_t)(int64_t)w->num;
  if (d == TP_I32) a.num = (double)(int32_t)(uint32_t)(int64_t)w->num;
  return a;
}

static bool weak_wrapped(tp_mk k, const tp_arg *a, const tp_arg *b, tp_val *x, tp_val *y) {
  tp_arg v[2] = { wrapped(k, a, b), wrapped(k, b, a) };
  return tp_weak(k, &v[0], &v[1], false, x, y);
}

METHOD(bin) {
  tp_val x, y;
  tp_op op = tp_named_op(k);
  bool limits = op == TP_OP_MINIMUM || op == TP_OP_MAXIMUM, compares = tp_ops[op].cls == TP_CLS_CMP;
  if (!(limits || compares ? tp_weak(k, &a[0], &a[1], compares, &x, &y)
                           : weak_wrapped(k, &a[0], &a[1], &x, &y)))
    return false;
  GIVE(mk_bin(k, op, x, y));
}

METHOD(logic) {
  GIVE(
      mk_op(k, tp_named_op(k), tp_ops[tp_named_op(k)].nin, (tp_val[]){ a[0].val, a[1].val }, NULL));
}

/* x ^ 2 => x * x, exactly */
METHOD(pow) {
  tp_val x, y;
  if (a[1].isnum && a[1].num == 2) GIVE(mk_mul(k, a[0].val, a[0].val));
  if (!weak_wrapped(k, &a[0], &a[1], &x, &y)) return false;
  if (a[1].isnum && a[1].num < 0 && !tp_dtype_float(tp_dtypeof(x)))
    return tp_wrong(
        k, TP_E_DTYPE, "integers have no power %g: convert with :to(\"f32\")", a[1].num);
  GIVE(mk_bin(k, TP_OP_POW, x, y));
}

METHOD(square) { GIVE(mk_mul(k, a[0].val, a[0].val)); }

METHOD(reciprocal) { GIVE(mk_cbin(k, TP_OP_DIV, 1, mk_cast(k, a[0].val, tp_float_of(a[0].val)))); }

/* In f64, where log(8) / log(2) is 3. */
METHOD(log2) {
  tp_val y = mk_log(k, mk_cast(k, a[0].val, TP_F64));
  GIVE_FLOAT(mk_binc(k, TP_OP_DIV, y, log(2)));
}

METHOD(where) {
  tp_val x, y;
  if (!weak_wrapped(k, &a[1], &a[2], &x, &y)) return false;
  GIVE(mk_select(k, a[0].val, x, y));
}

/* The limit stands first: it has the gradient where x is equal to it. NaN stays. */
static bool limited(tp_mk k, tp_op extreme, tp_val *x, const tp_arg *limit) {
  tp_arg now = { .kind = 'T', .val = *x };
  tp_val v, c;
  if (!limit->kind) return true;
  if (!tp_weak(k, &now, limit, false, &v, &c)) return false;
  *x = mk_bin(k, extreme, c, v);
  return x->node;
}

METHOD(clamp) {
  const tp_arg *lo = &a[1], *hi = &a[2];
  tp_val x = a[0].val;
  if (!lo->kind && !hi->kind)
    return tp_wrong(k, TP_E_OPTION, "a limit is missing: x:clamp(lo, hi), x:clamp(nil, hi)");
  if (!limited(k, TP_OP_MAXIMUM, &x, lo) || !limited(k, TP_OP_MINIMUM, &x, hi)) return false;
  GIVE(x);
}

METHOD(to) {
  if (a[0].isnum) GIVE(mk_num(k, a[0].num, a[1].dtype));
  GIVE(mk_cast(k, a[0].val, a[1].dtype));
}

METHOD(detach) { GIVE(mk_detach(k, a[0].val)); }

/* ---- activations: computed in f32 at least, rounded once ---- */

METHOD(relu) {
  tp_val x = tp_dtypeof(a[0].val) == TP_BOOL ? mk_cast(k, a[0].val, TP_I64) : a[0].val;
  GIVE(mk_cbin(k, TP_OP_MAXIMUM, 0, x));
}

METHOD(leaky_relu) {
  tp_val x = tp_wide(k, a[0].val);
  tp_val y = mk_select(k, mk_binc(k, TP_OP_GT, x, 0), x, mk_mulc(k, x, tp_arg_f(&a[1], 0.01)));
  GIVE_FLOAT(y);
}

/* The side not taken sees min(x, 0), so that it cannot overflow into the gradient. */
METHOD(elu) {
  tp_val x = tp_wide(k, a[0].val), low = mk_un(k, TP_OP_EXPM1, mk_binc(k, TP_OP_MINIMUM, x, 0));
  tp_val y = mk_select(k, mk_binc(k, TP_OP_GT, x, 0), x, mk_mulc(k, low, tp_arg_f(&a[1], 1)));
  GIVE_FLOAT(y);
}

/* x/2 (1 + erf(x / sqrt 2)), or x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
METHOD(gelu) {
  tp_val x = tp_wide(k, a[0].val), p;
  if (!a[1].kind || strcmp(a[1].s, "none") == 0) p = mk_un(k, TP_OP_ERF, mk_mulc(k, x, sqrt(0.5)));
  else if (strcmp(a[1].s, "tanh") == 0) {
    tp_val cubic = mk_mulc(k, mk_mul(k, mk_mul(k, x, x), x), 0.044715);
    p = mk_un(k, TP_OP_TANH, mk_mulc(k, mk_add(k, x, cubic), sqrt(2 / 3.14159265358979323846)));
  } else return tp_wrong(k, TP_E_OPTION, "approximate is \"none\" or \"tanh\", not \"%s\"", a[1].s);
  GIVE_FLOAT(mk_mul(k, mk_mulc(k, x, 0.5), mk_addc(k, p, 1)));
}

METHOD(silu) {
  tp_val x = tp_wide(k, a[0].val);
  GIVE_FLOAT(mk_mul(k, x, mk_un(k, TP_OP_SIGMOID, x)));
}

/* p + log1p(exp(n)) with p = x, n = -x for x >= 0, else p = 0, n = x: every derivative is right at
 * 0 too. */
METHOD(softplus) {
  double beta = tp_arg_f(&a[1], 1), threshold = tp_arg_f(&a[2], 20);
  tp_val x = tp_wide(k, a[0].val), z = beta == 1 ? x : mk_mulc(k, x, beta),
         up = mk_binc(k, TP_OP_GE, z, 0);
  tp_val n = mk_select(k, up, mk_neg(k, z), z);
  tp_val y = mk_add(k, mk_where(k, up, z), mk_un(k, TP_OP_LOG1P, mk_exp(k, n)));
  if (beta != 1) y = mk_binc(k, TP_OP_DIV, y, beta);
  GIVE_FLOAT(mk_select(k, mk_binc(k, TP_OP_GT, z, threshold), x, y));
}
