/* methods: helpers of the bodies: results, errors, arguments, dtypes. */
#include "graph/methods/rows.h"
#include <math.h>

/* ---- results and errors ---- */

bool tp_give(tp_mk k, int n, const tp_val *v, tp_vals *out) {
  for (int i = 0; i < n; i++)
    if (!v[i].node) return false;
  *out = (tp_vals){ n, tp_dup(&k.g->arena, v, sizeof *v * (size_t)n) };
  return true;
}

tp_op tp_named_op(tp_mk k) {
  tp_op op = TP_OP_ADD;
  bool known = tp_op_parse(k.row, &op);
  (void)TP_NEVER(!known);
  return op;
}

bool tp_wrong(tp_mk k, tp_code code, const char *fmt, ...) {
  char text[512];
  TP_FORMAT(text, fmt);
  return tp_fail(k.err, code, k.g->pos, "%s: '%s': %s", tp_code_word(code), k.who, text);
}

/* ---- arguments ---- */

tp_ix *tp_arg_ix(tp_mk k, const tp_arg *a) { return a->kind == 'X' ? a->ix : mk_int(k, a->i); }

bool tp_axis_of(tp_mk k, int rank, int64_t axis, int *out) {
  if (axis < -rank || axis >= rank)
    return rank ? tp_wrong(k, TP_E_SHAPE,
                      "axis %lld of a tensor with %d ax%s: axes go from 0 to %d, or from -%d to -1",
                      (long long)axis, rank, rank == 1 ? "is" : "es", rank - 1, rank)
                : tp_wrong(k, TP_E_SHAPE,
                      "axis %lld of a scalar, which has none (dims are no axes: a range reads "
                      "them, x[0 .. t+1])",
                      (long long)axis);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return true;
}

int tp_axes(tp_mk k, tp_val x, const tp_arg *a, int *out) {
  int rank = tp_rankof(x), n = 0;
  bool all = !a->kind || a->n == 0, on[TP_MAXRANK] = { 0 };
  for (int i = 0; !all && i < a->n; i++) {
    int64_t v = 0;
    int axis = 0;
    tp_ix_is_const(a->ixs[i], &v);
    if (!tp_axis_of(k, rank, v, &axis)) return -1;
    if (on[axis]) return tp_wrong(k, TP_E_SHAPE, "axis %lld is named twice", (long long)v), -1;
    on[axis] = true;
  }
  for (int i = 0; i < rank; i++)
    if (all || on[i]) out[n++] = i;
  return n;
}

/* ---- dtypes ---- */

/* Does the number exist among the values of d? */
static bool representable(double v, tp_dtype d) {
  if (tp_dtype_float(d)) return true;
  if (v != floor(v) || isinf(v)) return false;
  switch (d) {
  case TP_U8: return v >= 0 && v <= 255;
  case TP_I32: return v >= INT32_MIN && v <= INT32_MAX;
  default: return true;
  }
}

/* bool is i64 in arithmetic; a comparison with a number that d lacks becomes wider. */
static tp_dtype beside(const tp_arg *w, tp_dtype d, bool compares) {
  if (w->where)
    return tp_dtype_promote(beside(&w->where[1], d, compares), beside(&w->where[2], d, compares));
  if (w->isnum && !tp_dtype_float(d) && (w->num != floor(w->num) || isinf(w->num))) return TP_F32;
  if (d == TP_BOOL || (compares && w->isnum && !representable(w->num, d))) return TP_I64;
  return d;
}

tp_dtype tp_weak_beside(const tp_arg *w, tp_dtype d) { return beside(w, d, false); }

tp_val tp_weak_as(tp_mk k, const tp_arg *w, tp_dtype d) {
  if (!w->where) return w->isnum ? mk_num(k, w->num, d) : mk_cast(k, w->val, d);
  tp_val y =
      mk_select(k, w->where[0].val, tp_weak_as(k, &w->where[1], d), tp_weak_as(k, &w->where[2], d));
  if (y.node) y.node->name = w->val.node->name;
  return y;
}

const char *tp_weak_refused(const tp_arg *w, tp_dtype d, double *v) {
  if (w->where) {
    const char *no = tp_weak_refused(&w->where[1], d, v);
    return no ? no : tp_weak_refused(&w->where[2], d, v);
  }
  *v = w->num;
  return w->isnum || d != TP_I64 ? tp_dtype_refuses(d == TP_BOOL ? TP_I64 : d, w->num) : NULL;
}

bool tp_weak(tp_mk k, const tp_arg *a, const tp_arg *b, bool compares, tp_val *x, tp_val *y) {
  *x = a->val;
  *y = b->val;
  if (a->weak && !b->weak) *x = tp_weak_as(k, a, beside(a, tp_dtypeof(b->val), compares));
  if (b->weak && !a->weak) *y = tp_weak_as(k, b, beside(b, tp_dtypeof(a->val), compares));
  return x->node && y->node;
}

tp_dtype tp_float_of(tp_val x) { return tp_dtype_float(tp_dtypeof(x)) ? tp_dtypeof(x) : TP_F32; }

tp_val tp_index_arg(tp_mk k, tp_val x) {
  if (!x.node) return x;
  tp_dtype d = tp_dtypeof(x);
  return d == TP_I32 || d == TP_U8 ? mk_cast(k, x, TP_I64) : x;
}
