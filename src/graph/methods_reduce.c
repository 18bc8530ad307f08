/* methods: reductions, softmax, scans. A maximum that only makes a formula stable is detached. */
#include "graph/rows.h"
#include <math.h>

/* Axes of argument 1. */
#define AXES(axes) \
  int axes[TP_MAXRANK], n = tp_axes(k, a[0].val, &a[1], axes); \
  if (n < 0) return false
#define KEEPDIM tp_arg_b(&a[2], false)

/* y, in which the axes are 1, without them. */
static tp_val dropped(tp_mk k, tp_val y, int n, const int *axes) {
  const tp_ix *shape[TP_MAXRANK];
  return y.node && n ? mk_reshape(k, y, mk_shape_but(k, y, n, axes, false, shape), shape) : y;
}

METHOD(reduce) {
  AXES(axes);
  GIVE(mk_reduce(k, tp_named_op(k), a[0].val, n, axes, KEEPDIM));
}

METHOD(any) {
  AXES(axes);
  tp_val x = a[0].val;
  if (tp_dtypeof(x) != TP_BOOL) x = mk_binc(k, TP_OP_NE, x, 0);
  GIVE(mk_reduce(k, IS("any") ? TP_OP_MAX : TP_OP_MIN, x, n, axes, KEEPDIM));
}

METHOD(arg) {
  AXES(axes);
  const tp_ix *shape[TP_MAXRANK];
  if (n == 1) GIVE(mk_reduce(k, tp_named_op(k), a[0].val, 1, axes, KEEPDIM));
  tp_val x = mk_gather_axes(k, a[0].val, n, axes);
  if (!x.node) return false;
  x = mk_reduce(k, tp_named_op(k), x, 1, (int[]){ tp_rankof(x) - 1 }, false);
  GIVE(KEEPDIM ? mk_reshape(k, x, mk_shape_but(k, a[0].val, n, axes, true, shape), shape) : x);
}

/* ---- means ---- */

tp_val tp_mean_of(tp_mk k, tp_val x, int n, const int *axes, bool keepdim) {
  if (!x.node) return x;
  tp_val s = mk_reduce(k, TP_OP_SUM, x, n, axes, keepdim);
  return n ? mk_div(k, s, mk_size(k, mk_numel(k, x, n, axes), tp_dtypeof(x))) : s;
}

METHOD(mean) {
  AXES(axes);
  GIVE_FLOAT(tp_mean_of(k, tp_wide(k, a[0].val), n, axes, KEEPDIM));
}

/* f(s) with the gradient 0 where s is 0. */
static tp_val rooted(tp_mk k, tp_val s, double power) {
  tp_val zero = mk_binc(k, TP_OP_EQ, s, 0), safe = mk_select(k, zero, mk_like(k, 1, s), s);
  tp_val y = power == 0.5 ? mk_un(k, TP_OP_SQRT, safe) : mk_binc(k, TP_OP_POW, safe, power);
  return mk_unless(k, zero, y);
}

/* sum((x - mean)^2) / max(0, n - correction): NaN where that is 0 / 0 */
METHOD(var) {
  AXES(axes);
  int64_t correction = a[4].kind ? a[4].b : tp_arg_i(&a[3], 1);
  tp_val x = tp_wide(k, a[0].val), d = mk_sub(k, x, tp_mean_of(k, x, n, axes, true));
  if (!d.node) return false;
  const tp_ix *count =
      tp_ix_max(k.g->ix, mk_int(k, 0), tp_ix_addc(k.g->ix, mk_numel(k, x, n, axes), -correction));
  tp_val y = mk_div(k, mk_reduce(k, TP_OP_SUM, mk_mul(k, d, d), n, axes, KEEPDIM),
      mk_size(k, count, tp_dtypeof(x)));
  if (IS("std")) y = rooted(k, y, 0.5);
  GIVE_FLOAT(y);
}

/* A table of axes, or one that a tensor of this rank has. */
static bool an_axis(const tp_arg *a, int rank) {
  int64_t v;
  return a->kind == 'A' && (a->n != 1 || (tp_ix_is_const(a->ixs[0], &v) && v >= -rank && v < rank));
}

static bool exponent(tp_mk k, const tp_arg *a, double *p) {
  int64_t v;
  if (a->kind == 'F') *p = a->f;
  else if (a->kind == 'A' && a->n == 1 && tp_ix_is_const(a->ixs[0], &v)) *p = (double)v;
  else if (a->kind == 'N' && strcmp(a->s, "fro") != 0)
    return tp_wrong(k, TP_E_OPTION, "p is a number, not \"%s\"", a->s);
  else if (a->kind == 'A') return tp_wrong(k, TP_E_OPTION, "p is a number, not a table");
  return true;
}

METHOD(norm) {
  /* norm(axis), norm(axis, { p = 1 }) */
  bool named = a[4].kind != 0, lone = !a[2].kind && (named || an_axis(&a[1], tp_rankof(a[0].val)));
  int axes[TP_MAXRANK], n = tp_axes(k, a[0].val, lone ? &a[1] : &a[2], axes);
  double p = 2;
  if (n < 0 || (named ? !exponent(k, &a[4], &p) : !lone && !exponent(k, &a[1], &p))) return false;
  tp_val x = tp_wide(k, a[0].val);
  tp_op op = !isinf(p) ? TP_OP_SUM : p > 0 ? TP_OP_MAX : TP_OP_MIN;
  if (p == 2) x = mk_mul(k, x, x);
  else if (p == 0) x = mk_cast(k, mk_binc(k, TP_OP_NE, x, 0), tp_dtypeof(x));
  else {
    x = mk_un(k, TP_OP_ABS, x);
    if (p != 1 && !isinf(p)) x = rooted(k, x, p);
  }
  x = mk_reduce(k, op, x, n, axes, tp_arg_b(&a[3], false));
  GIVE_FLOAT(p == 0 || p == 1 || isinf(p) ? x : rooted(k, x, 1 / p));
}

/* ---- softmax ---- */

static tp_val top(tp_mk k, tp_val x, int n, const int *axes) {
  return mk_detach(k, mk_reduce(k, TP_OP_MAX, x, n, axes, true));
}

METHOD(logsumexp) {
  AXES(axes);
  tp_val x = tp_wide(k, a[0].val), t = top(k, x, n, axes);
  /* inf - inf must not arise */
  t = mk_where(k, mk_binc(k, TP_OP_LT, mk_un(k, TP_OP_ABS, t), INFINITY), t);
  tp_val y =
      mk_add(k, mk_log(k, mk_reduce(k, TP_OP_SUM, mk_exp(k, mk_sub(k, x, t)), n, axes, true)), t);
  GIVE_FLOAT(KEEPDIM ? y : dropped(k, y, n, axes));
}

static tp_val log_softmax(tp_mk k, tp_val x, int n, const int *axes) {
  tp_val z = mk_sub(k, x, top(k, x, n, axes));
  return mk_sub(k, z, mk_log(k, mk_reduce(k, TP_OP_SUM, mk_exp(k, z), n, axes, true)));
}

tp_val tp_log_softmax_of(tp_mk k, tp_val x, int axis) { return log_softmax(k, x, 1, &axis); }

METHOD(softmax) {
  int axes[TP_MAXRANK], n = tp_axes(k, a[0].val, &a[1], axes);
  if (n < 0) return false;
  tp_val x = tp_wide(k, a[0].val), y;
  if (IS("log_softmax")) y = log_softmax(k, x, n, axes);
  else {
    tp_val e = mk_exp(k, mk_sub(k, x, top(k, x, n, axes)));
    y = mk_div(k, e, mk_reduce(k, TP_OP_SUM, e, n, axes, true));
  }
  GIVE_FLOAT(y);
}

/* ---- scans ---- */

/* The one axis of argument `arg`; without it that of a vector, else `dflt` (-1: none). */
static bool one_axis(tp_mk k, tp_val x, const tp_arg *arg, int dflt, int *axis) {
  int axes[TP_MAXRANK], n = tp_axes(k, x, arg, axes);
  if (n < 0) return false;
  if (!arg->kind && dflt >= 0) axes[0] = dflt, n = TP_MIN(n, 1);
  if (n != 1) return tp_wrong(k, TP_E_SHAPE, "needs one axis of a tensor with %d", tp_rankof(x));
  *axis = axes[0];
  return true;
}

METHOD(cumsum) {
  int axis;
  if (!one_axis(k, a[0].val, &a[1], -1, &axis)) return false;
  tp_dtype d = tp_dtypeof(a[0].val);
  tp_val x = mk_cast(k, a[0].val, tp_dtype_float(d) ? d : TP_I64);
  if (IS("cumsum")) GIVE(mk_scan(k, x, axis, 1, false));
  GIVE(mk_op(k, TP_OP_CUMPROD, 1, &x, &(tp_attr){ .axis = axis }));
}

METHOD(discounted) {
  int axis;
  if (!one_axis(k, a[0].val, &a[2], 0, &axis)) return false;
  GIVE(mk_scan(k, mk_cast(k, a[0].val, tp_float_of(a[0].val)), axis, a[1].f, true));
}
