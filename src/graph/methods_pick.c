/* methods: chosen by data or by position: gathers, sorting, triangles. */
#include "graph/rows.h"

METHOD(gather) {
  AXIS(axis, a[0].val, a[1].i);
  GIVE(tp_pick(k, tp_named_op(k), a[0].val, tp_index_arg(k, a[2].val), axis));
}

METHOD(scatter_add) {
  int axis;
  tp_val index = tp_index_arg(k, a[2].val), src = a[3].val;
  if (!index.node || !tp_axis(k, tp_rankof(a[0].val), a[1].i, &axis)) return false;
  if (a[3].weak) {
    double v;
    const char *no = tp_weak_refused(&a[3], tp_dtypeof(a[0].val), &v);
    if (no)
      return tp_wrong(
          k, TP_E_DTYPE, "%.14g is %s, and x is %s", v, no, tp_dtype_name(tp_dtypeof(a[0].val)));
    src = mk_expand(
        k, tp_weak_as(k, &a[3], tp_dtypeof(a[0].val)), tp_rankof(index), tp_outof(index)->shape);
  }
  GIVE(mk_op(
      k, TP_OP_SCATTER_ADD, 3, (tp_val[]){ a[0].val, index, src }, &(tp_attr){ .axis = axis }));
}

METHOD(one_hot) {
  tp_val x = tp_index_arg(k, a[0].val);
  if (!x.node) return false;
  if (tp_dtypeof(x) != TP_I64 || a[1].kind == 'T')
    return tp_wrong(k, TP_E_DTYPE, "takes integers and the number of classes");
  tp_val hit = mk_bin(k, TP_OP_EQ, mk_unsqueeze(k, x, -1), mk_indices(k, tp_arg_ix(k, &a[1])));
  GIVE(mk_cast(k, hit, TP_I64));
}

/* ---- sorting ---- */

/* Values and indices along an axis, the last unless given. */
static bool sorted(tp_mk k, tp_val x, const tp_arg *axis, bool descending, tp_val v[2], int *ax) {
  if (!tp_axis(k, tp_rankof(x), tp_arg_i(axis, -1), ax)) return false;
  v[0] = mk_op(k, TP_OP_SORT, 1, &x, &(tp_attr){ .axis = *ax, .descending = descending });
  v[1] = (tp_val){ v[0].node, 1 };
  return v[0].node;
}

METHOD(sort) {
  tp_val v[2];
  int axis;
  if (!sorted(k, a[0].val, &a[1], tp_arg_b(&a[2], false), v, &axis)) return false;
  if (IS("argsort")) GIVE(v[1]);
  return tp_give(k, 2, v, out);
}

METHOD(topk) {
  tp_val v[2];
  int axis;
  if (a[1].kind == 'T') return tp_wrong(k, TP_E_OPTION, "k is an integer or an index expression");
  if (!sorted(k, a[0].val, &a[2], tp_arg_b(&a[3], true), v, &axis)) return false;
  for (int i = 0; i < 2; i++) v[i] = mk_slice(k, v[i], axis, mk_int(k, 0), tp_arg_ix(k, &a[1]), 1);
  return tp_give(k, 2, v, out);
}

/* ---- triangles: column - row against the diagonal ---- */

METHOD(tril) {
  tp_val x = a[0].val;
  int rank = tp_rankof(x);
  if (rank < 2) return tp_wrong(k, TP_E_SHAPE, "a matrix has two axes, not %d", rank);
  const tp_ix *shape[2] = { mk_extent(x, rank - 2), mk_extent(x, rank - 1) };
  tp_val off = mk_sub(k, mk_iota(k, 1, 2, shape, 0, NULL), mk_iota(k, 0, 2, shape, 0, NULL));
  double diagonal = a[1].kind ? (double)a[1].i : 0;
  GIVE(mk_where(k, mk_binc(k, IS("tril") ? TP_OP_LE : TP_OP_GE, off, diagonal), x));
}
