/* methods: movement. */
#include "graph/methods/rows.h"

static int64_t axis_number(tp_ix *e) {
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
  tp_ix *shape[TP_MAXRANK];
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

METHOD(part) {
  GIVE(mk_slice(
      k, a[0].val, (int)a[1].i, tp_arg_ix(k, &a[2]), tp_arg_ix(k, &a[3]), tp_arg_i(&a[4], 1)));
}

METHOD(pad) {
  GIVE(mk_pad(k, a[0].val, (int)a[1].i, tp_arg_ix(k, &a[2]), tp_arg_ix(k, &a[3]), a[4].f));
}

METHOD(unfold) {
  GIVE(mk_unfold(
      k, a[0].val, (int)a[1].i, tp_arg_ix(k, &a[2]), tp_arg_ix(k, &a[3]), a[4].i, a[5].i));
}

METHOD(concat) { GIVE(mk_concat(k, a[0].n, a[0].vals, (int)a[1].i)); }

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
