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

METHOD(permute) {
  int order[TP_MAXRANK], rank = tp_rankof(a[0].val);
  if (a[1].n != rank) return tp_wrong(k, TP_E_SHAPE, "%d axes of a tensor with %d", a[1].n, rank);
  for (int i = 0; i < rank; i++)
    if (!tp_axis_of(k, rank, axis_number(a[1].ixs[i]), &order[i])) return false;
  GIVE(mk_permute(k, a[0].val, order));
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

METHOD(part) { GIVE(part(k, a[0].val, (int)a[1].i, tp_arg_ix(k, &a[2]), tp_arg_ix(k, &a[3]))); }

METHOD(pad) {
  GIVE(mk_pad(k, a[0].val, (int)a[1].i, tp_arg_ix(k, &a[2]), tp_arg_ix(k, &a[3]), a[4].f));
}

METHOD(unfold) {
  GIVE(mk_unfold(
      k, a[0].val, (int)a[1].i, tp_arg_ix(k, &a[2]), tp_arg_ix(k, &a[3]), a[4].i, a[5].i));
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
  if (!tp_axis_of(k, tp_rankof(x), a[1].i, &axis) || !no_tensor(k, &a[2], "lo") ||
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
  if (!tp_axis_of(k, tp_rankof(x), a[1].i, &axis) || !no_tensor(k, &a[3], "length")) return false;
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
  if (!same_dtypes(k, &a[0], v) || !tp_axis_of(k, tp_rankof(v[0]), tp_arg_i(&a[1], 0), &axis))
    return false;
  GIVE(mk_concat(k, a[0].n, v, axis));
}

/* ---- contraction ---- */

METHOD(matmul) { GIVE(mk_matmul(k, a[0].val, a[1].val)); }

/* x and the weight in groups; strides, dilations and paddings; the shape of the result. */
METHOD(conv) {
  int axes[3 * TP_MAXRANK], n = 0;
  for (int i = 0; i < a[2].n; i++)
    for (int j = 2; j < 5; j++) axes[n++] = (int)axis_number(a[j].ixs[i]);
  GIVE(mk_op(k, tp_named_op(k), 2, (tp_val[]){ a[0].val, a[1].val },
      &(tp_attr){ .naxes = n, .axes = axes, .nix = a[5].n, .ix = a[5].ixs }));
}
