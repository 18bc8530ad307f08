/* methods: reductions, scans. */
#include "graph/methods/rows.h"

/* Axes of argument 1. */
#define AXES(axes) \
  int axes[TP_MAXRANK], n = tp_axes(k, a[0].val, &a[1], axes); \
  if (n < 0) return false
#define KEEPDIM tp_arg_b(&a[2], false)

METHOD(reduce) {
  AXES(axes);
  GIVE(mk_reduce(k, tp_named_op(k), a[0].val, n, axes, KEEPDIM));
}

METHOD(arg) {
  AXES(axes);
  tp_ix *shape[TP_MAXRANK];
  if (n == 1) GIVE(mk_reduce(k, tp_named_op(k), a[0].val, 1, axes, KEEPDIM));
  tp_val x = mk_gather_axes(k, a[0].val, n, axes);
  if (!x.node) return false;
  x = mk_reduce(k, tp_named_op(k), x, 1, (int[]){ tp_rankof(x) - 1 }, false);
  GIVE(KEEPDIM ? mk_reshape(k, x, mk_shape_but(k, a[0].val, n, axes, true, shape), shape) : x);
}

/* f16, bf16 and integers are summed in f32 and rounded once */
METHOD(mean) {
  AXES(axes);
  tp_dtype d = tp_dtypeof(a[0].val) == TP_F64 ? TP_F64 : TP_F32;
  tp_val x = mk_cast(k, a[0].val, d), s = mk_reduce(k, TP_OP_SUM, x, n, axes, KEEPDIM);
  if (n && s.node) s = mk_div(k, s, mk_size(k, mk_numel(k, x, n, axes), d));
  GIVE(mk_cast(k, s, tp_float_of(a[0].val)));
}

/* ---- scans ---- */

/* The one axis that argument `arg` names; without it a vector's axis, else `dflt` (-1: none). */
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
