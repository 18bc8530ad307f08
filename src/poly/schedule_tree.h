/* schedule_tree: functions that schedule_tree.c, calls.c and ast.c call of each other. Inside
 * src/poly. */
#ifndef TP_POLY_TREE_H
#define TP_POLY_TREE_H
#include "poly/sched.h"
#include <isl/ast.h>

/* ---- calls.c ---- */
/* Is the dim one of the calls' points? */
static inline bool tp_is_called(const tp_stmt *s, int d) {
  return !(s->vec >> d & 1) || d == s->bdim;
}
/* The dim as the points of the calls have it. */
int tp_call_dim(const tp_stmt *s, int dim);
/* the condition that a call asks of its point; NULL: all points are called */
tp_ix *tp_call_asks(tp_sched *S, int st);
TP_KEEP isl_set *tp_called_set(tp_sched *S, int st);
isl_pw_aff *tp_call_row(tp_sched *S, const tp_mem *m); /* the row on the points that isl gets */
/* The points as a statement of isl's. */
TP_KEEP isl_set *tp_told_set(tp_sched *S, int st);
isl_set *tp_few_pieces(tp_sched *S, int st); /* the domain, or its outline */

/* ---- ast.c ---- */
typedef struct {
  isl_id *id;
  tp_ix *val;
} binding;
typedef struct {
  tp_sched *S;
  tp_ictx *ix;
  bool failed;
  const tp_item *loop;
  int depth; /* depth of the nearest mark */
  TP_VEC(binding) env;
} ast_walk;
/* A loop of isl's scheduler (split.c), whose body is another one or statements. */
static inline bool tp_is_skewed(const tp_item *x) {
  return x->st < 0 && x->mem[0].dim < 0 && !x->mem[0].blocks;
}
/* The innermost loop of a nest of such, which is one band to isl: statements of bands inside each
 * other have stood in another order than isl was told
 * (spec/fuzz/found/bands_inside_each_other.lua). */
const tp_item *tp_band_end(const tp_item *x);
tp_tree *tp_ast_new_tree(tp_sched *S, tp_tkind kind, int n);
tp_tree *tp_steady_loops(tp_sched *S, tp_tree *t); /* steady.c */
tp_tree *tp_ast_tree(ast_walk *c, TP_TAKE isl_ast_node *n);
#endif
