/* methods: elements chosen by data or by position: gathers, sorting. */
#include "graph/methods/rows.h"

METHOD(gather) {
  AXIS(axis, a[0].val, a[1].i);
  tp_val in[2] = { a[0].val, tp_index_arg(k, a[2].val) };
  GIVE(mk_op(k, tp_named_op(k), 2, in, &(tp_attr){ .axis = axis }));
}

/* y as an element of x: a number takes x's dtype, which must have it. */
static tp_val element(tp_mk k, tp_val x, const tp_arg *y) {
  tp_dtype d = tp_dtypeof(x);
  double v;
  const char *no = y->weak ? tp_weak_refused(y, d, &v) : NULL;
  if (no) tp_wrong(k, TP_E_DTYPE, "%.14g is %s, and x is %s", v, no, tp_dtype_name(d));
  return no ? (tp_val){ 0 } : y->weak ? tp_weak_as(k, y, d) : y->val;
}

METHOD(element) { GIVE(element(k, a[0].val, &a[1])); }

METHOD(scatter_add) {
  AXIS(axis, a[0].val, a[1].i);
  tp_val index = tp_index_arg(k, a[2].val), src = element(k, a[0].val, &a[3]);
  if (a[3].weak && index.node && src.node)
    src = mk_expand(k, src, tp_rankof(index), tp_outof(index)->shape);
  GIVE(mk_op(k, IS("put_at") ? TP_OP_PUT : TP_OP_SCATTER_ADD, 3, (tp_val[]){ a[0].val, index, src },
      &(tp_attr){ .axis = axis }));
}

/* Values and indices along an axis, the last unless given. */
METHOD(sort) {
  AXIS(axis, a[0].val, tp_arg_i(&a[1], -1));
  tp_val v = mk_op(k, TP_OP_SORT, 1, &a[0].val,
      &(tp_attr){ .axis = axis, .descending = tp_arg_b(&a[2], false) });
  if (IS("argsort")) GIVE(((tp_val){ v.node, 1 }));
  return tp_give(k, 2, (tp_val[]){ v, { v.node, 1 } }, out);
}
