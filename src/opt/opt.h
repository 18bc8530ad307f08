/* opt: rewrites the graph. Rank 3.
 *
 * A pass leaves a graph that gives the same outputs and calls at all needed points, for all bounds,
 * and costs less or is easier for the stages behind it. Floats may be rounded in another way,
 * unless the script asks for `precise`. src/rt/passes.def has the order, names and switches of
 * passes. The head of each file has its rewriting as before => after, and why it is right.
 *
 *   close.c tick.c keep.c   parameters become declared tensors; a step's values become callbacks
 *   cse.c rules/            equal nodes become one; algebra, as rows of rules.def
 *   prefix/                 reductions over ranges that move become recurrences
 *   chrec/                  recurrences of which few points are needed become formulas
 *   ends/                   ends by data, and conditions on them, become values
 *   store/                  values are stored once, near their readers, as loops want them to lie
 *   draws.c                 environments draw their own numbers
 *   watch.c                 marks operators for check = "nan" */
#ifndef TP_OPT_H
#define TP_OPT_H
#include "graph/graph.h"
#include "graph/mk.h"
#include "graph/run.h"

/* rules.c: the rows of rules.def. */
enum {
#define R(name, cls, pattern, result, guards) TP_RULE_ROW_##name,
#include "opt/rules/rules.def"
  TP_NRULE
};
const char *tp_rule_name(int row);
int tp_rule_named(const char *s, size_t n); /* its row; -1: none */
/* The work of a pass. */
typedef struct tp_work {
  tp_graph *g;
  bool precise, check;
  const bool *on;       /* by row of src/rt/passes.def */
  const bool *rule_off; /* by row of rules.def; NULL: none */
  /* ORDERED: the tick dims of a program that is stepped, else NULL */
  const tp_ticks *ticks;
  /* ENDED: a read that needs points of one branch alone reads that branch's value
   * (ends_points.c) */
  bool apart;
  /* NEEDED: the needed points; found anew when a pass has said that it changed something */
  tp_need **need;
  bool changed;
  /* by row of passes.def: operators before and after; NULL: not asked */
  int (*did)[2];
} tp_work;
/* Passes; passes.def describes each. False: an error. `share` runs inside algebra, behind `direct`,
 * and leaves need right. */
typedef bool tp_passfn(tp_work *job, tp_error *err);
tp_passfn tp_pass_params; /* close.c: after tp_grad_expand; PARAM becomes MERGE of READs */
tp_passfn tp_pass_cse, tp_pass_fold, tp_pass_watch, tp_pass_keep, tp_pass_rows, tp_pass_layout,
    tp_pass_ends, tp_pass_hold, tp_pass_evolve, tp_pass_branches, tp_pass_draws, tp_pass_firsts;
tp_passfn tp_pass_ticks;               /* tick.c */
tp_passfn tp_pass_sums, tp_pass_widen; /* sums.c */
tp_passfn tp_pass_direct, tp_pass_share;
tp_passfn tp_pass_parts;  /* parts.c */
tp_passfn tp_pass_turn;   /* turned.c */
tp_passfn tp_pass_blocks; /* blocks.c */
/* Reductions over ranges that move along a dim become recurrences (incremental.c). */
bool tp_incremental(tp_graph *g, bool precise, bool *changed, tp_error *err);
bool tp_is_small(const tp_out *o); /* a sum of it is kept in f64 */
/* v: readers, each in its loop, of values that are made again there; chain: the nodes, by id, that
 * make such values (again.c; poly/store/again.c chooses). */
typedef struct tp_again_reader {
  tp_node *by;
  const void *loop;
} tp_again_reader;
typedef struct tp_again {
  int n;
  tp_again_reader *v;
  bool *chain;
} tp_again;
/* tp_copied makes v anew with its operators in `in`, by id of the first n nodes; views: views of a
 * new value are made anew too. made: the new value, by id. */
enum { TP_CONE_OPERANDS = 3 }; /* an elementwise operator has at most so many */
typedef struct tp_cone {
  tp_mk mk;
  int n;
  const bool *in;
  bool views;
  tp_val *made;
} tp_cone;
tp_val tp_copied(const tp_cone *c, tp_val v);
bool tp_make_again(tp_graph *g, const tp_again *w, tp_error *err);
/* check = "nan": marks the operators made since the pass that a run checks (watch.c) */
void tp_watch_rest(tp_graph *g);
bool tp_is_kept(const tp_graph *g, const tp_node *n);
bool tp_is_output(const tp_graph *g, const tp_node *n);
static inline void tp_name_as(tp_node *y, const tp_node *n) {
  y->name = n->name, y->what = n->what;
}
static inline bool tp_one_shape(const tp_out *a, const tp_out *b) {
  return a->rank == b->rank &&
      (!a->rank || !memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank));
}
static inline bool tp_same_dims(const tp_node *a, const tp_node *b) {
  return tp_dom_same(a->ndom, a->dom, b->ndom, b->dom);
}
/* Can data make it fail? */
static inline bool tp_may_fail(const tp_node *n) {
  return tp_op_is(n->op, TP_FAILS) &&
      !(tp_op_is_elementwise(n->op) && tp_dtype_float(n->out[0].dtype));
}
/* Is it a view of its one operand, without work of its own? */
static inline bool tp_is_view(const tp_node *n) {
  return tp_ops[n->op].batch == TP_BATCH_V && n->nin == 1;
}
/* The value of which v shows elements: a number, if v is one number everywhere. A parameter's first
 * value is not looked through, as a loaded one may replace it. */
static inline tp_val tp_spread(tp_val v) {
  while (tp_is_view(v.node) && tp_ops[v.node->op].cls == TP_CLS_MOVE) v = v.node->in[0].src;
  return v;
}
/* every element is c in v's dtype, and the double c is exactly that (fold.c) */
bool tp_number_of(tp_val v, double *c);
/* Visits every value that lives without readers: outputs, the done of a stop, losses. */
typedef void tp_rootfn(void *ud, tp_val *v);
void tp_each_root(tp_graph *g, tp_rootfn *fn, void *ud);
/* put_rows.c: the value whose points v shows one by one. reshaped.c: gives a merge the shape in
 * which it changes. */
tp_val tp_shown_point(tp_val v);
bool tp_reshape_state(tp_mk mk, tp_node *m);
/* An accumulation over dom that gathers x at `at`. */
tp_val tp_gathered(tp_mk mk, tp_red red, tp_val x, const tp_at *at, int ndom, tp_dims dom);
/* Every edge and root that is `old` becomes `now` (edges of `now`'s own node excepted). */
void tp_replace(tp_graph *g, tp_val old, tp_val now);
/* Does the same for a rule of a pass, which explain "rules" names: "x * 1 => x". */
void tp_rewrite(tp_graph *g, tp_val old, tp_val now, const char *pass, const char *rule);
#endif
