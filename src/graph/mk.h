/* mk: the vocabulary of makers of operators, for methods, src/grad and src/opt. An operand {NULL}
 * means that an error is in err already, and the result is then {NULL} too: one check at the end of
 * a chain is enough. */
#ifndef TP_MK_H
#define TP_MK_H
#include "graph/graph.h"

typedef struct tp_mk {
  tp_graph *g;
  tp_error *err;
  const char *who; /* the method that a script called; NULL: none */
  /* the row of methods.def at work: `who`, or a method that its body in Lua calls */
  const char *row;
} tp_mk;
static const tp_val tp_none = { NULL, 0 };

/* ---- build.c: with the promotions of docs/language.md, section 4 (no weak operands) ---- */
tp_val mk_op(tp_mk k, tp_op op, int nin, const tp_val *in, const tp_attr *at);
/* Sources over a shape whose extents may mention dims: these and dom's are the domain. */
tp_val mk_fill(tp_mk k, double v, tp_dtype d, int rank, tp_ixs shape, int ndom, tp_dims dom);
tp_val mk_iota(tp_mk k, int axis, int rank, tp_ixs shape, int ndom, tp_dims dom);
/* VALUE: i64 or bool scalar */
tp_val tp_ixvalue(tp_graph *g, tp_ix *e, tp_error *err);
/* x itself if it is d */
tp_val mk_cast(tp_mk k, tp_val x, tp_dtype d);
/* casts to f32 for UNF */
tp_val mk_un(tp_mk k, tp_op op, tp_val x);
tp_val mk_bin(tp_mk k, tp_op op, tp_val a, tp_val b);
tp_val mk_select(tp_mk k, tp_val c, tp_val a, tp_val b);
tp_val mk_reduce(tp_mk k, tp_op op, tp_val x, int naxes, const int *axes, bool keepdim);
tp_val mk_reshape(tp_mk k, tp_val x, int rank, tp_ixs shape);
tp_val mk_permute(tp_mk k, tp_val x, const int *order);
tp_val mk_expand(tp_mk k, tp_val x, int rank, tp_ixs shape);
tp_val mk_slice(tp_mk k, tp_val x, int axis, tp_ix *lo, tp_ix *extent, int64_t step);
tp_val mk_squeeze(tp_mk k, tp_val x, int axis);
tp_val mk_unsqueeze(tp_mk k, tp_val x, int axis);
/* torch.matmul: ranks 1 and up, broadcasting */
tp_val mk_matmul(tp_mk k, tp_val a, tp_val b);
/* inverse of broadcasting: sums x down to shape */
tp_val mk_sum_to(tp_mk k, tp_val x, int rank, tp_ixs shape);

static inline tp_val mk_num(tp_mk k, double v, tp_dtype d) {
  return mk_fill(k, v, d, 0, NULL, 0, NULL);
}
static inline tp_val mk_add(tp_mk k, tp_val a, tp_val b) { return mk_bin(k, TP_OP_ADD, a, b); }
static inline tp_val mk_sub(tp_mk k, tp_val a, tp_val b) { return mk_bin(k, TP_OP_SUB, a, b); }
static inline tp_val mk_mul(tp_mk k, tp_val a, tp_val b) { return mk_bin(k, TP_OP_MUL, a, b); }
static inline tp_val mk_div(tp_mk k, tp_val a, tp_val b) { return mk_bin(k, TP_OP_DIV, a, b); }
static inline tp_val mk_and(tp_mk k, tp_val a, tp_val b) { return mk_bin(k, TP_OP_LAND, a, b); }
static inline tp_val mk_neg(tp_mk k, tp_val x) { return mk_un(k, TP_OP_NEG, x); }
static inline tp_val mk_exp(tp_mk k, tp_val x) { return mk_un(k, TP_OP_EXP, x); }
static inline tp_val mk_log(tp_mk k, tp_val x) { return mk_un(k, TP_OP_LOG, x); }
static inline tp_val mk_detach(tp_mk k, tp_val x) { return mk_un(k, TP_OP_DETACH, x); }
/* a number in the dtype of x */
static inline tp_val mk_like(tp_mk k, double v, tp_val x) {
  return x.node ? mk_num(k, v, tp_dtypeof(x)) : x;
}
/* x op c and c op x, the number in the dtype of x. */
static inline tp_val mk_binc(tp_mk k, tp_op op, tp_val x, double c) {
  return mk_bin(k, op, x, mk_like(k, c, x));
}
static inline tp_val mk_cbin(tp_mk k, tp_op op, double c, tp_val x) {
  return mk_bin(k, op, mk_like(k, c, x), x);
}
static inline tp_val mk_mulc(tp_mk k, tp_val x, double c) { return mk_binc(k, TP_OP_MUL, x, c); }
static inline tp_val mk_addc(tp_mk k, tp_val x, double c) { return mk_binc(k, TP_OP_ADD, x, c); }
/* mk_where: x where c holds, else 0; mk_unless: 0 where c holds, else x. */
static inline tp_val mk_where(tp_mk k, tp_val c, tp_val x) {
  return mk_select(k, c, x, mk_like(k, 0, x));
}
static inline tp_val mk_unless(tp_mk k, tp_val c, tp_val x) {
  return mk_select(k, c, mk_like(k, 0, x), x);
}
static inline tp_ix *mk_extent(tp_val x, int axis) { return tp_outof(x)->shape[axis]; }
static inline tp_ix *mk_int(tp_mk k, int64_t v) { return tp_ix_const(k.g->ix, v); }

/* ---- mk.c ---- */
tp_val mk_flip(tp_mk k, tp_val x, int axis);
/* x itself if both are 0 */
tp_val mk_pad(tp_mk k, tp_val x, int axis, tp_ix *lo, tp_ix *hi, double value);
/* Windows of `size` elements, `dilation` apart, at every `step`: axis becomes (count, size).
 * mk_fold sums such windows in an axis of `extent`. */
tp_val mk_unfold(
    tp_mk k, tp_val x, int axis, tp_ix *count, tp_ix *size, int64_t step, int64_t dilation);
tp_val mk_fold(tp_mk k, tp_val x, int axis, tp_ix *extent, int64_t step, int64_t dilation);
tp_val mk_concat(tp_mk k, int n, const tp_val *x, int axis);
tp_val mk_scan(tp_mk k, tp_val x, int axis, double factor, bool backwards);
/* x moved by one along the axis: element i becomes the element before it (ahead: after it), and
 * `value` stands at the end that becomes free. */
tp_val mk_moved(tp_mk k, tp_val x, int axis, bool ahead, double value);
/* prod x[j], j < i (behind: j > i) */
tp_val mk_product_beside(tp_mk k, tp_val x, int axis, bool behind);
tp_val mk_swap(tp_mk k, tp_val x, int a, int b);
/* zeros of x's shape and dtype, over the dims that its shape mentions */
tp_val mk_zeros_like(tp_mk k, tp_val x);
tp_val mk_at(tp_mk k, tp_val v, tp_sym *d, tp_ix *p); /* v with dim d at p */
/* a MERGE without branches yet */
tp_val mk_declared(tp_mk k, tp_dtype dtype, int rank, tp_ixs shape, int ndom, tp_dims dom);
/* a MERGE over dom, of yes's type: yes where cond holds, else no */
tp_val mk_either(tp_mk k, int ndom, tp_dims dom, tp_ix *cond, tp_val yes, tp_val no);
tp_val mk_indices(tp_mk k, tp_ix *n); /* i64: 0 .. n-1 */
/* product of x's extents along axes; axes NULL: along the first naxes */
tp_ix *mk_numel(tp_mk k, tp_val x, int naxes, const int *axes);
tp_val mk_size(tp_mk k, tp_ix *n, tp_dtype d); /* an extent as a scalar */
/* x's extents without the axes, or with 1 for them; gives the rank. */
int mk_shape_but(tp_mk k, tp_val x, int naxes, const int *axes, bool keepdim, tp_ix **shape);
/* A reduction of x over axes (without keepdim: the axes are put back as 1), spread over x's shape
 * again. */
tp_val mk_spread(tp_mk k, tp_val reduced, tp_val x, int naxes, const int *axes, bool keepdim);
/* Moves the axes behind the others and makes them one; brings y of that shape back to x's. */
tp_val mk_gather_axes(tp_mk k, tp_val x, int naxes, const int *axes);
tp_val mk_scatter_axes(tp_mk k, tp_val y, tp_val x, int naxes, const int *axes);
#endif
