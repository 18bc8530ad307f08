/* methods: movement. */
#include "graph/rows.h"

static int64_t axis_number(const tp_ix *e) {
  int64_t v = 0;
  tp_ix_is_const(e, &v);
  return v;
}

METHOD(reshape) { GIVE(mk_reshape(k, a[0].val, a[1].n, a[1].ixs)); }
METHOD(expand) { GIVE(mk_expand(k, a[0].val, a[1].n, a[1].ixs)); }
METHOD(unsqueeze) { GIVE(mk_unsqueeze(k, a[0].val, (int)a[1].i)); }

METHOD(flatten) {
  tp_val x = a[0].val;
  int from, to, rank = tp_rankof(x), n = 0;
  const tp_ix *shape[TP_MAXRANK];
  if (rank == 0) GIVE(mk_unsqueeze(k, x, 0));
  if (!tp_axis(k, rank, tp_arg_i(&a[1], 0), &from) || !tp_axis(k, rank, tp_arg_i(&a[2], -1), &to))
    return false;
  if (from > to) return tp_wrong(k, TP_E_SHAPE, "axis %d comes after axis %d", from, to);
  for (int i = 0; i < rank; i++) {
    if (i > from && i <= to) shape[n - 1] = tp_ix_mul(k.g->ix, shape[n - 1], mk_extent(x, i));
    else shape[n++] = mk_extent(x, i);
  }
  GIVE(mk_reshape(k, x, n, shape));
}

METHOD(permute) {
  int order[TP_MAXRANK], rank = tp_rankof(a[0].val);
  if (a[1].n != rank) return tp_wrong(k, TP_E_SHAPE, "%d axes of a tensor with %d", a[1].n, rank);
  for (int i = 0; i < rank; i++)
    if (!tp_axis(k, rank, axis_number(a[1].ixs[i]), &order[i])) return false;
  GIVE(mk_permute(k, a[0].val, order));
}

METHOD(transpose) {
  int i, j, rank = tp_rankof(a[0].val);
  if (!tp_axis(k, rank, a[1].i, &i) || !tp_axis(k, rank, a[2].i, &j)) return false;
  GIVE(mk_swap(k, a[0].val, i, j));
}

METHOD(mt) {
  int rank = tp_rankof(a[0].val);
  if (rank < 2) return tp_wrong(k, TP_E_SHAPE, "a matrix has two axes, not %d", rank);
  GIVE(mk_swap(k, a[0].val, rank - 2, rank - 1));
}

METHOD(squeeze) {
  int axes[TP_MAXRANK], n = tp_axes(k, a[0].val, &a[1], axes);
  if (n < 0) return false;
  const tp_ix *shape[TP_MAXRANK];
  int rank = 0;
  for (int i = 0, next = 0; i < tp_rankof(a[0].val); i++) {
    bool named = next < n && axes[next] == i;
    next += named;
    if (!named || mk_extent(a[0].val, i) != mk_int(k, 1)) shape[rank++] = mk_extent(a[0].val, i);
  }
  GIVE(mk_reshape(k, a[0].val, rank, shape));
}

METHOD(flip) {
  int axes[TP_MAXRANK], n = tp_axes(k, a[0].val, &a[1], axes);
  tp_val x = n < 0 ? tp_none : a[0].val;
  for (int i = 0; i < n; i++) x = mk_flip(k, x, axes[i]);
  GIVE(x);
}

/* ---- parts ---- */

static tp_val part(tp_mk k, tp_val x, int axis, const tp_ix *lo, const tp_ix *extent) {
  return mk_slice(k, x, axis, lo, extent, 1);
}

static bool parts(tp_mk k, tp_val x, int axis, int n, const tp_ix *const *size, tp_vals *out) {
  tp_val *v = TP_NEWN(&k.g->arena, tp_val, n + 1);
  const tp_ix *lo = mk_int(k, 0);
  for (int i = 0; i < n; i++) {
    v[i] = part(k, x, axis, lo, size[i]);
    lo = tp_ix_add(k.g->ix, lo, size[i]);
  }
  return tp_give(k, n, v, out);
}

/* Parts of `size` and a smaller last one; an axis of 0 has one part. */
static bool equal_parts(tp_mk k, tp_val x, int axis, int64_t extent, int64_t size, tp_vals *out) {
  int n = extent ? (int)((extent + size - 1) / size) : 1;
  const tp_ix **v = TP_NEWN(&k.g->arena, const tp_ix *, n);
  for (int i = 0; i < n; i++) v[i] = mk_int(k, TP_MIN(size, extent - i * size));
  return parts(k, x, axis, n, v, out);
}

METHOD(split) {
  int64_t extent = 0, size = 0;
  AXIS(axis, a[0].val, tp_arg_i(&a[2], 0));
  const tp_ix *e = mk_extent(a[0].val, axis), *sum = mk_int(k, 0);
  if (a[1].n == 1 && tp_ix_is_const(a[1].ixs[0], &size) && tp_ix_is_const(e, &extent)) {
    if (size < 1) return tp_wrong(k, TP_E_OPTION, "parts of %lld", (long long)size);
    return equal_parts(k, a[0].val, axis, extent, size, out);
  }
  for (int i = 0; i < a[1].n; i++) sum = tp_ix_add(k.g->ix, sum, a[1].ixs[i]);
  if (!tp_equal(k, sum, e))
    return tp_wrong(
        k, TP_E_SHAPE, "sizes that sum to %s of an axis of %s", tp_text(k, sum), tp_text(k, e));
  return parts(k, a[0].val, axis, a[1].n, a[1].ixs, out);
}

METHOD(chunk) {
  int64_t extent;
  AXIS(axis, a[0].val, tp_arg_i(&a[2], 0));
  if (a[1].i < 1 || a[1].i > 65536)
    return tp_wrong(k, TP_E_OPTION, "%lld parts", (long long)a[1].i);
  const tp_ix *e = mk_extent(a[0].val, axis), *each = tp_ix_divexact(k.g->ix, e, mk_int(k, a[1].i));
  if (tp_ix_is_const(e, &extent))
    return equal_parts(k, a[0].val, axis, extent, TP_MAX(1, (extent + a[1].i - 1) / a[1].i), out);
  if (!each)
    return tp_wrong(
        k, TP_E_SHAPE, "an axis of %s is no multiple of %lld", tp_text(k, e), (long long)a[1].i);
  const tp_ix **size = TP_NEWN(&k.g->arena, const tp_ix *, a[1].i);
  for (int i = 0; i < a[1].i; i++) size[i] = each;
  return parts(k, a[0].val, axis, (int)a[1].i, size, out);
}

/* Negative padding cuts. */
static tp_val padded(tp_mk k, tp_val x, int axis, const tp_ix *lo, const tp_ix *hi, double value) {
  int64_t l = 0, h = 0;
  bool cl = tp_ix_is_const(lo, &l) && l < 0, ch = tp_ix_is_const(hi, &h) && h < 0;
  if (x.node && (cl || ch)) {
    const tp_ix *extent = tp_ix_addc(k.g->ix, mk_extent(x, axis), (cl ? l : 0) + (ch ? h : 0));
    x = part(k, x, axis, mk_int(k, cl ? -l : 0), extent);
  }
  return x.node ? mk_pad(k, x, axis, cl ? mk_int(k, 0) : lo, ch ? mk_int(k, 0) : hi, value) : x;
}

METHOD(pad) {
  tp_val x = a[0].val;
  int rank = tp_rankof(x);
  if (a[3].kind && strcmp(a[3].s, "constant") != 0)
    return tp_wrong(k, TP_E_OPTION, "mode is \"constant\", not \"%s\"", a[3].s);
  if (a[1].n % 2 || a[1].n > 2 * rank)
    return tp_wrong(k, TP_E_SHAPE,
        "%d numbers for a tensor with %d axes: two for each, the last axis first", a[1].n, rank);
  for (int i = 0; i < a[1].n / 2; i++)
    x = padded(k, x, rank - 1 - i, a[1].ixs[2 * i], a[1].ixs[2 * i + 1], tp_arg_f(&a[2], 0));
  GIVE(x);
}

/* Element i comes from (i - shift) mod n: two slices where n is known, else by index. */
static tp_val rolled(tp_mk k, tp_val x, int axis, int64_t shift) {
  if (!x.node) return x;
  int64_t n;
  const tp_ix *e = mk_extent(x, axis);
  if (!tp_ix_is_const(e, &n)) {
    tp_val from =
        mk_bin(k, TP_OP_MOD, mk_addc(k, mk_indices(k, e), (double)-shift), mk_size(k, e, TP_I64));
    return tp_pick(k, TP_OP_INDEX_SELECT, x, from, axis);
  }
  int64_t s = n ? ((shift % n) + n) % n : 0;
  if (s == 0) return x;
  tp_val v[2] = { part(k, x, axis, mk_int(k, n - s), mk_int(k, s)),
    part(k, x, axis, mk_int(k, 0), mk_int(k, n - s)) };
  return mk_concat(k, 2, v, axis);
}

METHOD(roll) {
  tp_val x = a[0].val;
  int rank = tp_rankof(x), axis;
  if (!a[2].kind) {
    tp_val flat = mk_reshape(k, x, 1, (const tp_ix *[]){ mk_numel(k, x, rank, NULL) });
    GIVE(mk_reshape(k, rolled(k, flat, 0, axis_number(a[1].ixs[0])), rank, tp_outof(x)->shape));
  }
  if (a[1].n != a[2].n) return tp_wrong(k, TP_E_OPTION, "%d shifts for %d axes", a[1].n, a[2].n);
  for (int i = 0; i < a[1].n; i++) {
    if (!tp_axis(k, rank, axis_number(a[2].ixs[i]), &axis)) return false;
    x = rolled(k, x, axis, axis_number(a[1].ixs[i]));
  }
  GIVE(x);
}

/* ---- indices ---- */

static bool no_tensor(tp_mk k, const tp_arg *x, const char *what) {
  return x->kind != 'T' ||
      tp_wrong(k, TP_E_OPTION,
          "%s is an integer or an index expression; to choose by data use narrow or index_select",
          what);
}

/* Ends never wrap: a negative one would silently give nothing. */
static bool not_negative(tp_mk k, const tp_ix *e) {
  int64_t v;
  return !tp_ix_is_const(e, &v) || v >= 0 ||
      tp_wrong(k, TP_E_DOMAIN, "%lld: indices count from 0 and do not wrap", (long long)v);
}

METHOD(slice) {
  tp_val x = a[0].val;
  int axis;
  int64_t step = tp_arg_i(&a[4], 1);
  if (!tp_axis(k, tp_rankof(x), a[1].i, &axis) || !no_tensor(k, &a[2], "lo") ||
      !no_tensor(k, &a[3], "hi"))
    return false;
  if (step < 1) return tp_wrong(k, TP_E_OPTION, "step %lld; to reverse use flip", (long long)step);
  const tp_ix *lo = a[2].kind ? tp_arg_ix(k, &a[2]) : mk_int(k, 0),
              *hi = a[3].kind ? tp_arg_ix(k, &a[3]) : mk_extent(x, axis);
  if (!not_negative(k, lo) || !not_negative(k, hi)) return false;
  const tp_ix *from = lo;
  if (step > 1) {
    hi = tp_ix_fdiv(k.g->ix, tp_ix_addc(k.g->ix, tp_ix_sub(k.g->ix, hi, lo), step - 1), step);
    from = mk_int(k, 0);
  }
  const tp_ix *extent = tp_ix_extent(k.g->ix, from, hi, x.node->ndom, x.node->dom);
  GIVE(mk_slice(k, x, axis, lo, extent, step));
}

static bool scalar_index(tp_mk k, tp_val *v) {
  *v = tp_index_arg(k, *v);
  if (!v->node) return false;
  return (tp_rankof(*v) == 0 && tp_dtypeof(*v) == TP_I64) ||
      tp_wrong(
          k, TP_E_DTYPE, "an index is an integer, an index expression or an i64 scalar tensor");
}

METHOD(select) {
  tp_val x = a[0].val, i = a[2].val;
  AXIS(axis, x, a[1].i);
  if (a[2].kind == 'T') {
    if (!scalar_index(k, &i)) return false;
    GIVE(tp_pick(k, TP_OP_INDEX_SELECT, x, i, axis));
  }
  const tp_ix *at = tp_arg_ix(k, &a[2]);
  if (!not_negative(k, at)) return false;
  GIVE(mk_squeeze(k, part(k, x, axis, at, mk_int(k, 1)), axis));
}

METHOD(narrow) {
  tp_val x = a[0].val, i = a[2].val;
  int axis;
  if (!tp_axis(k, tp_rankof(x), a[1].i, &axis) || !no_tensor(k, &a[3], "length")) return false;
  const tp_ix *n = tp_arg_ix(k, &a[3]);
  if (!not_negative(k, n)) return false;
  if (a[2].kind == 'T') {
    if (!scalar_index(k, &i)) return false;
    GIVE(tp_pick(k, TP_OP_INDEX_SELECT, x, mk_add(k, mk_indices(k, n), i), axis));
  }
  const tp_ix *at = tp_arg_ix(k, &a[2]);
  if (!not_negative(k, at)) return false;
  GIVE(part(k, x, axis, at, n));
}

/* ---- several ---- */

static bool same_dtypes(tp_mk k, const tp_arg *list, tp_val *v) {
  if (list->n < 1) return tp_wrong(k, TP_E_OPTION, "a table of at least one tensor is wanted");
  tp_dtype d = tp_dtypeof(list->vals[0]);
  for (int i = 1; i < list->n; i++) d = tp_dtype_promote(d, tp_dtypeof(list->vals[i]));
  for (int i = 0; i < list->n; i++)
    if (!(v[i] = mk_cast(k, list->vals[i], d)).node) return false;
  return true;
}

METHOD(cat) {
  tp_val *v = TP_NEWN(&k.g->arena, tp_val, a[0].n + 1);
  int axis;
  if (!same_dtypes(k, &a[0], v) || !tp_axis(k, tp_rankof(v[0]), tp_arg_i(&a[1], 0), &axis))
    return false;
  GIVE(mk_concat(k, a[0].n, v, axis));
}

METHOD(stack) {
  tp_val *v = TP_NEWN(&k.g->arena, tp_val, a[0].n + 1);
  int axis;
  if (!same_dtypes(k, &a[0], v) || !tp_axis(k, tp_rankof(v[0]) + 1, tp_arg_i(&a[1], 0), &axis))
    return false;
  for (int i = 0; i < a[0].n; i++) {
    if (tp_rankof(v[i]) != tp_rankof(v[0]))
      return tp_wrong(
          k, TP_E_SHAPE, "tensors with %d and %d axes", tp_rankof(v[0]), tp_rankof(v[i]));
    for (int j = 0; j < tp_rankof(v[i]); j++)
      if (!tp_equal(k, mk_extent(v[0], j), mk_extent(v[i], j)))
        return tp_wrong(k, TP_E_SHAPE, "sizes of axis %d differ", j);
  }
  for (int i = 0; i < a[0].n; i++) v[i] = mk_unsqueeze(k, v[i], axis);
  GIVE(mk_concat(k, a[0].n, v, axis));
}
