/* core: functions that only the files of src/graph call. */
#ifndef TP_GRAPH_CORE_H
#define TP_GRAPH_CORE_H
#include "graph/graph.h"

/* ---- nodes (graph.c) ---- */
tp_node *tp_node_new(tp_graph *g, tp_op op); /* not in any list yet; g->pos */
/* gives the id; appends to nodes, inputs, params, sinks */
void tp_node_register(tp_graph *g, tp_node *n);
static inline bool tp_is_node(const tp_graph *g, const tp_node *n) {
  return n && n->id >= 0 && n->id < g->nodes.n && g->nodes.v[n->id] == n;
}
void tp_edge_push(tp_graph *g, tp_node *n, tp_edge e);
/* all points of n's domain */
static inline TP_GIVE tp_set *tp_box_of(const tp_graph *g, const tp_node *n) {
  return tp_set_box(g->ix, n->ndom, n->dom);
}
/* given name, input's name or tp_op_said */
const char *tp_label(const tp_node *n);

/* ---- inference (infer.c, move.c, time.c, result.c) ---- */
/* dom and out of n, with all checks */
bool tp_infer(tp_graph *g, tp_node *n, tp_error *err);
typedef struct tp_typing {
  tp_graph *g;
  tp_node *n;
  tp_error *err;
  tp_pos pos; /* n's position, or that of the edge at work */
} tp_typing;
typedef bool tp_infer_fn(tp_typing q);
tp_infer_fn tp_infer_move, tp_infer_matmul, tp_infer_conv, tp_infer_gather, tp_infer_sort,
    tp_infer_blocks, tp_infer_time;
void tp_outs(tp_typing q, int nout);
void tp_out_set(tp_typing q, int k, tp_dtype d, int rank, tp_ixs shape);
bool tp_dims_ok(const tp_node *n, tp_error *err); /* no more than TP_MAXDIM */
/* No extent of attr.ix mentions an end; else an error says what is refused, with the advice. */
bool tp_shape_known(tp_typing q, const char *what, const char *advice);
/* the usual case: one result */
bool tp_out1(tp_typing q, tp_dtype d, int rank, tp_ixs shape);
/* these join n's domain */
void tp_dims_add(tp_graph *g, tp_node *n, int count, tp_dims dims);
/* so do the dims of which an end that e mentions is a function */
void tp_ends_add(tp_graph *g, tp_node *n, tp_ix *e);
/* ---- ends by data (stop.c) ---- */
/* s is no reached end, or dom has the dims of which it is a function */
bool tp_end_known(const tp_graph *g, tp_sym *s, int ndom, tp_dims dom);
/* a for any reached end; conditions on the number that the call gave stay */
tp_set *tp_set_unended(tp_graph *g, TP_TAKE tp_set *a, const tp_stop *s);
/* a for any ends that there may be; zero: in runs to which nothing is given for it */
tp_set *tp_set_given(tp_graph *g, TP_TAKE tp_set *a, tp_sym *zero);
/* where dim has no points, the dim of s has none either: it then has no row, or is dim itself */
bool tp_stop_needs(const tp_graph *g, const tp_stop *s, tp_sym *dim);
/* points where dim zero has none, and what needs it */
tp_set *tp_set_nothing(tp_graph *g, TP_TAKE tp_set *a, int n, tp_dims dims, tp_sym *zero);
bool tp_affine(tp_ix *e); /* also inside conditions */
bool tp_nin_ok(tp_op op, int nin, tp_pos pos, tp_error *err);
bool tp_rank_ok(tp_typing q, int rank);
bool tp_axis_in(tp_typing q, int axis, int rank);
/* "bad operands of 'op': <why>: (T, 4) x (5, 3)" */
bool tp_bad_shape(tp_typing q, const char *why, ...) TP_PRINTF(2, 3);
/* "bad operands of 'op': f32 and i64: <what to do>" */
bool tp_bad_dtype(tp_typing q, const char *advice);

/* ---- shapes (shape.c) ---- */
/* As tp_extent_eq, at `points` over dims (taken; NULL: everywhere). */
bool tp_extent_eq_on(tp_graph *g, tp_ix *a, tp_ix *b, int ndims, tp_dims dims,
    TP_TAKE tp_set *points, const char *what);
/* e >= least, known or recorded as a check; false: not for all bounds of at least 2. */
bool tp_extent_least(tp_graph *g, tp_ix *e, int64_t least, const char *what);
/* shape := shape broadcast with vshape; false: they do not fit. rank grows. */
bool tp_broadcast(
    tp_graph *g, const tp_node *n, int *rank, tp_ix **shape, int vrank, tp_ixs vshape);
void tp_shapecheck_add(tp_graph *g, tp_ix *a, tp_ix *b, tp_pos pos, const char *what);
void tp_extents_print(tp_buf *b, int rank, tp_ixs shape); /* "T, 4" */
const char *tp_extents(tp_graph *g, int rank, tp_ixs shape);
/* Makes shape checks anew from the nodes that are left: those of dropped nodes must not bind a run
 * that never sees them. keep: adds them to those that there are. (verify.c) */
void tp_recheck(tp_graph *g, bool keep);

/* checks the structure, which inference takes for granted */
bool tp_verify_structure(const tp_graph *g, tp_error *err);

/* ---- attributes and lists (attr.c) ---- */
void tp_attr_copy(tp_graph *g, tp_attr *to, const tp_attr *from); /* deep; refs data */
/* attr.ix is the shape of the result */
bool tp_ix_is_shape(tp_op op);

/* ---- text (print.c) ---- */
void tp_node_print(tp_buf *b, const tp_node *n, int flags); /* one line, no newline */
#endif
