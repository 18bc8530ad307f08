/* opt: rewriting the SDG. Rank 3. The order in which these run, their switches and names:
 * src/rt/passes.def. */
#ifndef TP_OPT_H
#define TP_OPT_H
#include "graph/graph.h"
#include "graph/methods.h"
#include "graph/run.h"

/* cse.c; nothing can fail. dce is tp_graph_prune: right because nothing else is needed; callbacks
 * without readers are not needed either (docs/language.md, section 7). */
bool tp_share_equal(tp_graph *g);
/* rules.c: the rows of rules.def. */
enum {
#define R(name, cls, pattern, result, guards) TP_RULE_ROW_##name,
#include "opt/rules.def"
  TP_NRULE
};
const char *tp_rule_name(int row);
int tp_rule_named(const char *s, size_t n); /* its row; -1: none */
/* off: by row, what is left out */
typedef struct tp_rulings {
  const bool *off;
  bool precise, check;
} tp_rulings;
bool tp_fold(tp_graph *g, const tp_rulings *o, tp_error *err);
/* PARAM becomes MERGE of READs of its update, and one hidden output with its final value. After
 * tp_grad_expand. */
bool tp_close_params(tp_graph *g, tp_error *err);
/* Reductions over range axes become accumulations (sums.c). */
bool tp_lower_sums(tp_graph *g, tp_error *err);
/* Reductions over ranges that move along a dim become recurrences (incremental.c). */
bool tp_incremental(tp_graph *g, bool precise, bool *changed, tp_error *err);
bool tp_is_small(const tp_out *o); /* a sum of it is kept in f64 */
/* Where a carried state changes along one index of an axis, that is written (rows.c). */
bool tp_put_rows(tp_graph *g, tp_error *err);
/* Matrices that data picks are multiplied where they lie (takes.c). */
bool tp_take_matrices(tp_graph *g, tp_error *err);
/* Inputs and outputs that a recurrence would walk at a stride are copied, a block at a time
 * (layout.c). */
bool tp_turn_edges(tp_graph *g, tp_error *err);
/* Products of several matrices in the order that takes fewest multiplications, which bounds may
 * choose (products.c); if it changed anything, graph and need are to be made anew. */
bool tp_order_products(tp_graph *g, bool precise, bool *changed, tp_error *err);
/* Matrices that a recurrence multiplies by and sees turned are turned before it (turned.c); graph
 * and need are to be made anew if it changed anything. */
bool tp_turn_matrices(tp_graph *g, bool *changed, tp_error *err);
/* What branches of a tensor have in common each makes of its own (branches.c); as above. */
bool tp_part_branches(tp_graph *g, bool *changed, tp_error *err);
/* Accumulations of f16 and bf16 are kept in f32, small sums over many points in f64, and rounded
 * once (sums.c). */
bool tp_widen_sums(tp_graph *g, tp_error *err);
/* A state that is read at every n-th point only is held (hold.c); if it changed anything, graph and
 * need are to be made anew. */
bool tp_hold_states(tp_graph *g, const tp_need *need, bool *changed, tp_error *err);
/* A recurrence of which few points are needed is a formula (evolve.c); as above. */
bool tp_evolve(tp_graph *g, const tp_need *need, bool precise, bool *changed, tp_error *err);
/* Formulas that few points far from each other are needed of are made at each by itself (points.c);
 * graph and need are to be made anew. */
bool tp_part_points(tp_graph *g, const tp_need *need, tp_error *err);
/* Accumulations that add at most one thing at a point become values (direct.c); graph and need are
 * to be made anew if it changed anything. Then values that a branch stores are read where they are
 * stored (share.c); need stays right. */
bool tp_direct_sums(tp_graph *g, const tp_need *need, bool *changed, tp_error *err);
bool tp_share_branches(tp_graph *g, tp_need *need, tp_error *err);
/* Who reads, in which loop, what is made again there, and the nodes that make such values, by id
 * (again.c; which: poly/again.c). */
typedef struct tp_again_reader {
  tp_node *by;
  const void *loop;
} tp_again_reader;
typedef struct tp_again {
  int n;
  tp_again_reader *v;
  bool *chain;
} tp_again;
bool tp_make_again(tp_graph *g, const tp_again *w, tp_error *err);
/* check = "nan": marks the operators that are looked at (watch.c); later those that were made
 * since. */
bool tp_watch(tp_graph *g, tp_error *err);
void tp_watch_rest(tp_graph *g);
/* Ends by data become data (ends.c). apart: what is read only where some branches count is read
 * from these (ends_parts.c). */
bool tp_lower_ends(tp_graph *g, bool apart, tp_error *err);
/* Each value of a parameter is wanted, if it may be asked for before the last point (keep.c):
 * always, or as there are callbacks. */
bool tp_keep_newest(tp_graph *g, bool always, tp_error *err);
bool tp_is_kept(const tp_graph *g, const tp_node *n);
/* What comes and goes at each tick becomes callbacks (tick.c). */
bool tp_insert_ticks(tp_graph *g, const tp_ticks *t, tp_error *err);
static inline bool tp_one_shape(const tp_out *a, const tp_out *b) {
  return a->rank == b->rank &&
      (!a->rank || !memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank));
}
/* A view of its one operand: no work of its own. */
static inline bool tp_is_view(const tp_node *n) {
  return tp_ops[n->op].batch == TP_BATCH_V && n->nin == 1;
}
/* What v's elements are taken from, the same number everywhere if that is one. Not a parameter's
 * first value, whose place another may take. */
static inline tp_val tp_spread(tp_val v) {
  while (tp_is_view(v.node) && tp_ops[v.node->op].cls == TP_CLS_MOVE) v = v.node->in[0].src;
  return v;
}
/* every element is c, as its dtype has it, and a double all of it (fold.c) */
bool tp_number_of(tp_val v, double *c);
/* Every value that lives whoever reads it: outputs, what ends a dim, losses. */
typedef void tp_rootfn(void *ud, tp_val *v);
void tp_each_root(tp_graph *g, tp_rootfn *fn, void *ud);
/* Every edge and root that is `old` becomes `now` (edges of `now`'s own node excepted). */
void tp_replace(tp_graph *g, tp_val old, tp_val now);
/* The same by a rule of a pass, which explain "rules" tells: "x * 1 => x". */
void tp_rewrite(tp_graph *g, tp_val old, tp_val now, const char *pass, const char *rule);
#endif
