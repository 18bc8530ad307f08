/* build: the vocabulary of makers of operators, for methods, src/grad and src/opt: results are
 * never half made; {NULL} on error. */
#ifndef TP_BUILD_H
#define TP_BUILD_H
#include "graph/graph.h"

/* FILL of rank 0, domain () */
tp_val tp_number(tp_graph *g, double v, tp_dtype d, tp_error *err);
tp_val tp_full(
    tp_graph *g, double v, tp_dtype d, int rank, const tp_ix *const *shape, tp_error *err);
/* VALUE: i64 or bool scalar */
tp_val tp_ixvalue(tp_graph *g, const tp_ix *e, tp_error *err);
/* x itself if it is d */
tp_val tp_cast(tp_graph *g, tp_val x, tp_dtype d, tp_error *err);
/* casts to f32 for UNF */
tp_val tp_un(tp_graph *g, tp_op op, tp_val x, tp_error *err);
/* promotes by docs/language.md, section 4 (no weak operands here) */
tp_val tp_bin(tp_graph *g, tp_op op, tp_val a, tp_val b, tp_error *err);
tp_val tp_select(tp_graph *g, tp_val c, tp_val a, tp_val b, tp_error *err);
tp_val tp_reduce(
    tp_graph *g, tp_op op, tp_val x, int naxes, const int *axes, bool keepdim, tp_error *err);
tp_val tp_reshape(tp_graph *g, tp_val x, int rank, const tp_ix *const *shape, tp_error *err);
tp_val tp_permute(tp_graph *g, tp_val x, const int *order, tp_error *err);
tp_val tp_expand(tp_graph *g, tp_val x, int rank, const tp_ix *const *shape, tp_error *err);
tp_val tp_slice(tp_graph *g, tp_val x, int axis, const tp_ix *lo, const tp_ix *extent, int64_t step,
    tp_error *err);
tp_val tp_squeeze(tp_graph *g, tp_val x, int axis, tp_error *err);
tp_val tp_unsqueeze(tp_graph *g, tp_val x, int axis, tp_error *err);
/* torch.matmul: ranks 1 and up, broadcasting */
tp_val tp_matmul(tp_graph *g, tp_val a, tp_val b, tp_error *err);
tp_val tp_detach(tp_graph *g, tp_val x, tp_error *err);
/* inverse of broadcasting: sums x down to shape */
tp_val tp_sum_to(tp_graph *g, tp_val x, int rank, const tp_ix *const *shape, tp_error *err);
#endif
