/* mk: makers that need a little more than one primitive. */
#include "graph/mk.h"

tp_val mk_flip(tp_mk k, tp_val x, int axis) {
  return mk_op(k, TP_OP_FLIP, 1, &x, &(tp_attr){ .axis = axis });
}

tp_val mk_pad(tp_mk k, tp_val x, int axis, tp_ix *lo, tp_ix *hi, double value) {
  if (tp_is_number(lo, 0) && tp_is_number(hi, 0)) return x;
  return mk_op(k, TP_OP_PAD, 1, &x,
      &(tp_attr){ .axis = axis, .nix = 2, .ix = (tp_ix *const[]){ lo, hi }, .f = { value } });
}

tp_val mk_unfold(
    tp_mk k, tp_val x, int axis, tp_ix *count, tp_ix *size, int64_t step, int64_t dilation) {
  return mk_op(k, TP_OP_UNFOLD, 1, &x,
      &(tp_attr){ .axis = axis,
          .nix = 2,
          .ix = (tp_ix *const[]){ count, size },
          .step = step,
          .dilation = dilation });
}

/* Windows that lie side by side need no sum: they are one axis; zeros follow for the elements that
 * no window covers. */
tp_val mk_fold(tp_mk k, tp_val x, int axis, tp_ix *extent, int64_t step, int64_t dilation) {
  int64_t size;
  if (!x.node) return x;
  if (dilation != 1 || !tp_ix_is_const(mk_extent(x, axis + 1), &size) || size != step)
    return mk_op(k, TP_OP_FOLD, 1, &x,
        &(tp_attr){ .axis = axis, .nix = 1, .ix = &extent, .step = step, .dilation = dilation });
  tp_ix *shape[TP_MAXRANK];
  TP_COPYN(shape, tp_outof(x)->shape, tp_rankof(x));
  shape[axis] = tp_ix_mulc(shape[axis], size);
  memmove(shape + axis + 1, shape + axis + 2, sizeof *shape * (size_t)(tp_rankof(x) - axis - 2));
  tp_ix *rest = tp_ix_sub(extent, shape[axis]);
  return mk_pad(k, mk_reshape(k, x, tp_rankof(x) - 1, shape), axis, mk_int(k, 0), rest, 0);
}

tp_val mk_concat(tp_mk k, int n, const tp_val *x, int axis) {
  return n == 1 ? x[0] : mk_op(k, TP_OP_CONCAT, n, x, &(tp_attr){ .axis = axis });
}

tp_val mk_scan(tp_mk k, tp_val x, int axis, double factor, bool backwards) {
  return mk_op(
      k, TP_OP_SCAN, 1, &x, &(tp_attr){ .axis = axis, .f = { factor }, .backwards = backwards });
}

tp_val mk_moved(tp_mk k, tp_val x, int axis, bool ahead, double value) {
  if (!x.node) return x;
  tp_ix *zero = mk_int(k, 0), *one = mk_int(k, 1), *extent = mk_extent(x, axis);
  return mk_slice(k, mk_pad(k, x, axis, ahead ? zero : one, ahead ? one : zero, value), axis,
      ahead ? one : zero, extent, 1);
}

tp_val mk_product_beside(tp_mk k, tp_val x, int axis, bool behind) {
  tp_val y = mk_moved(k, x, axis, behind, 1);
  return mk_op(k, TP_OP_CUMPROD, 1, &y, &(tp_attr){ .axis = axis, .backwards = behind });
}

tp_val mk_swap(tp_mk k, tp_val x, int a, int b) {
  if (!x.node || a == b) return x;
  int order[TP_MAXRANK];
  for (int i = 0; i < tp_rankof(x); i++) order[i] = i == a ? b : i == b ? a : i;
  return mk_permute(k, x, order);
}

/* ---- sources ---- */

tp_val mk_zeros_like(tp_mk k, tp_val x) {
  return x.node ? mk_fill(k, 0, tp_dtypeof(x), tp_rankof(x), tp_outof(x)->shape, 0, NULL) : x;
}

tp_val mk_at(tp_mk k, tp_val v, tp_sym *d, tp_ix *p) {
  return v.node ? tp_read(k.g, v, tp_at_but(k.g, v.node, d, (tp_at){ .lo = p }), k.err) : v;
}

tp_val mk_declared(tp_mk k, tp_dtype dtype, int rank, tp_ixs shape, int ndom, tp_dims dom) {
  return mk_op(k, TP_OP_MERGE, 0, NULL,
      &(tp_attr){ .dtype = dtype, .nix = rank, .ix = shape, .ndom = ndom, .dom = dom });
}

tp_val mk_either(tp_mk k, int ndom, tp_dims dom, tp_ix *cond, tp_val yes, tp_val no) {
  if (!yes.node || !no.node) return tp_none;
  tp_val y = mk_declared(k, tp_dtypeof(yes), tp_rankof(yes), tp_outof(yes)->shape, ndom, dom);
  return y.node && tp_merge_add(k.g, y.node, cond, yes, k.err) &&
          tp_merge_add(k.g, y.node, NULL, no, k.err)
      ? y
      : tp_none;
}

tp_val mk_indices(tp_mk k, tp_ix *n) { return mk_iota(k, 0, 1, &n, 0, NULL); }

tp_ix *mk_numel(tp_mk k, tp_val x, int naxes, const int *axes) {
  tp_ix *p = mk_int(k, 1);
  for (int i = 0; i < naxes; i++) p = tp_ix_mul(p, mk_extent(x, axes ? axes[i] : i));
  return p;
}

tp_val mk_size(tp_mk k, tp_ix *n, tp_dtype d) {
  int64_t v;
  if (tp_ix_is_const(n, &v)) return mk_num(k, (double)v, d);
  return mk_cast(k, tp_ixvalue(k.g, n, k.err), d);
}

/* ---- axes of reductions ---- */

int mk_shape_but(tp_mk k, tp_val x, int naxes, const int *axes, bool keepdim, tp_ix **shape) {
  int rank = 0;
  for (int i = 0, next = 0; i < tp_rankof(x); i++) {
    bool gone = next < naxes && axes[next] == i;
    next += gone;
    if (!gone || keepdim) shape[rank++] = gone ? mk_int(k, 1) : mk_extent(x, i);
  }
  return rank;
}

tp_val mk_spread(tp_mk k, tp_val y, tp_val x, int naxes, const int *axes, bool keepdim) {
  if (!y.node) return y;
  tp_ix *kept[TP_MAXRANK];
  if (!keepdim) y = mk_reshape(k, y, mk_shape_but(k, x, naxes, axes, true, kept), kept);
  return mk_expand(k, y, tp_rankof(x), tp_outof(x)->shape);
}

/* order := the other axes and then these; gives the number of the others. */
static int others_first(int rank, int naxes, const int *axes, int *order) {
  int n = 0, next = 0;
  for (int i = 0; i < rank; i++) {
    if (next < naxes && axes[next] == i) next++;
    else order[n++] = i;
  }
  TP_COPYN(order + n, axes, naxes);
  return n;
}

tp_val mk_gather_axes(tp_mk k, tp_val x, int naxes, const int *axes) {
  if (!x.node) return x;
  int order[TP_MAXRANK], n = others_first(tp_rankof(x), naxes, axes, order);
  tp_ix *shape[TP_MAXRANK + 1];
  for (int i = 0; i < n; i++) shape[i] = mk_extent(x, order[i]);
  shape[n] = mk_numel(k, x, naxes, axes);
  return mk_reshape(k, mk_permute(k, x, order), n + 1, shape);
}

tp_val mk_scatter_axes(tp_mk k, tp_val y, tp_val x, int naxes, const int *axes) {
  int rank = tp_rankof(x), order[TP_MAXRANK], back[TP_MAXRANK];
  tp_ix *shape[TP_MAXRANK];
  others_first(rank, naxes, axes, order);
  for (int i = 0; i < rank; i++) {
    shape[i] = mk_extent(x, order[i]);
    back[order[i]] = i;
  }
  return mk_permute(k, mk_reshape(k, y, rank, shape), back);
}
