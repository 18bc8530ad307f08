/* mk: the vocabulary of build.c for long compositions (methods, src/grad, src/opt): NULL in, NULL
 * out, one check at the end of a chain. An operand {NULL} means that an error is in err already;
 * the result is then {NULL} too. */
#ifndef TP_MK_H
#define TP_MK_H
#include "graph/build.h"

typedef struct tp_mk {
  tp_graph *g;
  tp_error *err;
} tp_mk;
static const tp_val tp_none = { NULL, 0 };

static inline tp_val mk_op(tp_mk k, tp_op op, int nin, const tp_val *in, const tp_attr *at) {
  for (int i = 0; i < nin; i++)
    if (!in[i].node) return tp_none;
  tp_node *n = tp_build(k.g, op, nin, in, at, k.err);
  return n ? tp_v(n) : tp_none;
}
static inline tp_val mk_num(tp_mk k, double v, tp_dtype d) { return tp_number(k.g, v, d, k.err); }
static inline tp_val mk_cast(tp_mk k, tp_val x, tp_dtype d) {
  return x.node ? tp_cast(k.g, x, d, k.err) : x;
}
static inline tp_val mk_un(tp_mk k, tp_op op, tp_val x) {
  return x.node ? tp_un(k.g, op, x, k.err) : x;
}
static inline tp_val mk_bin(tp_mk k, tp_op op, tp_val a, tp_val b) {
  return a.node && b.node ? tp_bin(k.g, op, a, b, k.err) : tp_none;
}
static inline tp_val mk_add(tp_mk k, tp_val a, tp_val b) { return mk_bin(k, TP_OP_ADD, a, b); }
static inline tp_val mk_sub(tp_mk k, tp_val a, tp_val b) { return mk_bin(k, TP_OP_SUB, a, b); }
static inline tp_val mk_mul(tp_mk k, tp_val a, tp_val b) { return mk_bin(k, TP_OP_MUL, a, b); }
static inline tp_val mk_div(tp_mk k, tp_val a, tp_val b) { return mk_bin(k, TP_OP_DIV, a, b); }
static inline tp_val mk_neg(tp_mk k, tp_val x) { return mk_un(k, TP_OP_NEG, x); }
static inline tp_val mk_exp(tp_mk k, tp_val x) { return mk_un(k, TP_OP_EXP, x); }
static inline tp_val mk_log(tp_mk k, tp_val x) { return mk_un(k, TP_OP_LOG, x); }
/* x op c and c op x, the number in the dtype of x. */
static inline tp_val mk_binc(tp_mk k, tp_op op, tp_val x, double c) {
  return x.node ? mk_bin(k, op, x, mk_num(k, c, tp_dtypeof(x))) : x;
}
static inline tp_val mk_cbin(tp_mk k, tp_op op, double c, tp_val x) {
  return x.node ? mk_bin(k, op, mk_num(k, c, tp_dtypeof(x)), x) : x;
}
static inline tp_val mk_mulc(tp_mk k, tp_val x, double c) { return mk_binc(k, TP_OP_MUL, x, c); }
static inline tp_val mk_addc(tp_mk k, tp_val x, double c) { return mk_binc(k, TP_OP_ADD, x, c); }
static inline tp_val mk_select(tp_mk k, tp_val c, tp_val a, tp_val b) {
  return c.node && a.node && b.node ? tp_select(k.g, c, a, b, k.err) : tp_none;
}
/* c where it holds, else 0; and 0 where it holds, else x. */
static inline tp_val mk_where(tp_mk k, tp_val c, tp_val x) {
  return x.node ? mk_select(k, c, x, mk_num(k, 0, tp_dtypeof(x))) : x;
}
static inline tp_val mk_unless(tp_mk k, tp_val c, tp_val x) {
  return x.node ? mk_select(k, c, mk_num(k, 0, tp_dtypeof(x)), x) : x;
}
static inline tp_val mk_and(tp_mk k, tp_val a, tp_val b) {
  return mk_op(k, TP_OP_LAND, 2, (tp_val[]){ a, b }, NULL);
}
static inline tp_val mk_reduce(tp_mk k, tp_op op, tp_val x, int n, const int *axes, bool keepdim) {
  return x.node ? tp_reduce(k.g, op, x, n, axes, keepdim, k.err) : x;
}
static inline tp_val mk_reshape(tp_mk k, tp_val x, int rank, const tp_ix *const *shape) {
  return x.node ? tp_reshape(k.g, x, rank, shape, k.err) : x;
}
static inline tp_val mk_permute(tp_mk k, tp_val x, const int *order) {
  return x.node ? tp_permute(k.g, x, order, k.err) : x;
}
static inline tp_val mk_expand(tp_mk k, tp_val x, int rank, const tp_ix *const *shape) {
  return x.node ? tp_expand(k.g, x, rank, shape, k.err) : x;
}
static inline tp_val mk_slice(
    tp_mk k, tp_val x, int axis, const tp_ix *lo, const tp_ix *extent, int64_t step) {
  return x.node ? tp_slice(k.g, x, axis, lo, extent, step, k.err) : x;
}
static inline tp_val mk_squeeze(tp_mk k, tp_val x, int axis) {
  return x.node ? tp_squeeze(k.g, x, axis, k.err) : x;
}
static inline tp_val mk_unsqueeze(tp_mk k, tp_val x, int axis) {
  return x.node ? tp_unsqueeze(k.g, x, axis, k.err) : x;
}
static inline tp_val mk_matmul(tp_mk k, tp_val a, tp_val b) {
  return a.node && b.node ? tp_matmul(k.g, a, b, k.err) : tp_none;
}
static inline tp_val mk_detach(tp_mk k, tp_val x) { return x.node ? tp_detach(k.g, x, k.err) : x; }
static inline tp_val mk_sum_to(tp_mk k, tp_val x, int rank, const tp_ix *const *shape) {
  return x.node ? tp_sum_to(k.g, x, rank, shape, k.err) : x;
}
static inline const tp_ix *mk_extent(tp_val x, int axis) { return tp_outof(x)->shape[axis]; }
static inline const tp_ix *mk_int(tp_mk k, int64_t v) { return tp_ix_const(k.g->ix, v); }

/* ---- mk.c ---- */
tp_val mk_flip(tp_mk k, tp_val x, int axis);
/* x itself if both are 0 */
tp_val mk_pad(tp_mk k, tp_val x, int axis, const tp_ix *lo, const tp_ix *hi, double value);
/* Windows of `size` elements, `dilation` apart, at every `step`: axis becomes (count, size); and
 * the sum of such windows in an axis of `extent`. */
tp_val mk_unfold(tp_mk k, tp_val x, int axis, const tp_ix *count, const tp_ix *size, int64_t step,
    int64_t dilation);
tp_val mk_fold(tp_mk k, tp_val x, int axis, const tp_ix *extent, int64_t step, int64_t dilation);
tp_val mk_concat(tp_mk k, int n, const tp_val *x, int axis);
tp_val mk_scan(tp_mk k, tp_val x, int axis, double factor, bool backwards);
/* x moved by one along the axis: element i is that before it (ahead: after it), the one that falls
 * in is `value`. */
tp_val mk_moved(tp_mk k, tp_val x, int axis, bool ahead, double value);
/* prod x[j], j < i (behind: j > i) */
tp_val mk_product_beside(tp_mk k, tp_val x, int axis, bool behind);
tp_val mk_swap(tp_mk k, tp_val x, int a, int b);
/* Sources over a shape whose extents may mention dims: these are the domain (with dom's). */
tp_val mk_fill(tp_mk k, double v, tp_dtype d, int rank, const tp_ix *const *shape, int ndom,
    const tp_sym *const *dom);
tp_val mk_iota(
    tp_mk k, int axis, int rank, const tp_ix *const *shape, int ndom, const tp_sym *const *dom);
/* shape and dtype of x; the dims that its shape mentions */
tp_val mk_zeros_like(tp_mk k, tp_val x);
tp_val mk_at(tp_mk k, tp_val v, const tp_sym *d, const tp_ix *p); /* v with dim d at p */
/* a MERGE without branches yet */
tp_val mk_declared(tp_mk k, tp_dtype dtype, int rank, const tp_ix *const *shape, int ndom,
    const tp_sym *const *dom);
/* a MERGE over dom, of yes's type: no where cond does not hold */
tp_val mk_either(
    tp_mk k, int ndom, const tp_sym *const *dom, const tp_ix *cond, tp_val yes, tp_val no);
tp_val mk_indices(tp_mk k, const tp_ix *n); /* i64: 0 .. n-1 */
/* product of these extents; axes NULL: of the first naxes */
const tp_ix *mk_numel(tp_mk k, tp_val x, int naxes, const int *axes);
tp_val mk_size(tp_mk k, const tp_ix *n, tp_dtype d); /* an extent as a scalar */
/* What a reduction of x over axes (without keepdim: the axes are put back as 1) gives, spread over
 * x's shape again. */
tp_val mk_spread(tp_mk k, tp_val reduced, tp_val x, int naxes, const int *axes, bool keepdim);
/* The axes moved behind the others and made one; and back: y of that shape to x's. */
tp_val mk_gather_axes(tp_mk k, tp_val x, int naxes, const int *axes);
tp_val mk_scatter_axes(tp_mk k, tp_val y, tp_val x, int naxes, const int *axes);
#endif
