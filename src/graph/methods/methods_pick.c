/* methods: elements chosen by data or by position: gathers, sorting. */
#include "graph/methods/rows.h"

METHOD(gather) {
  AXIS(axis, a[0].val, a[1].i);
  tp_val in[2] = { a[0].val, tp_index_arg(k, a[2].val) };
  GIVE(mk_op(k, tp_named_op(k), 2, in, &(tp_attr){ .axis = axis }));
}

METHOD(scatter_add) {
  int axis;
  tp_val index = tp_index_arg(k, a[2].val), src = a[3].val;
  if (!index.node || !tp_axis_of(k, tp_rankof(a[0].val), a[1].i, &axis)) return false;
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

/* Values and indices along an axis, the last unless given. */
METHOD(sort) {
  AXIS(axis, a[0].val, tp_arg_i(&a[1], -1));
  tp_val v = mk_op(k, TP_OP_SORT, 1, &a[0].val,
      &(tp_attr){ .axis = axis, .descending = tp_arg_b(&a[2], false) });
  if (IS("argsort")) GIVE(((tp_val){ v.node, 1 }));
  return tp_give(k, 2, (tp_val[]){ v, { v.node, 1 } }, out);
}
