/* opt: passes over the SDG. Rank 3. Each pass: bool pass(tp_graph *, const tp_options *, tp_error *). */
#ifndef TP_OPT_H
#define TP_OPT_H
#include "graph/graph.h"
#include "graph/methods.h"
#include "graph/run.h"

typedef struct tp_options {
  bool on[32];                                  /* by row of passes.def */
  bool precise;
  int (*did)[2];                                /* by row: operators before and after; NULL: not asked */
} tp_options;
/* passes.def: P(name, function, default, "what it does") in the order they run */
typedef struct { const char *name; bool (*fn)(tp_graph *, const tp_options *, tp_error *);  /* NULL: the scheduler's */
  bool dflt, mandatory; const char *doc; } tp_pass;
enum {                                          /* a pass's row: its place in tp_options.on */
#define P(name, fn, dflt, doc) TP_P_##fn,
#define Q(name, id, doc) id,
#include "opt/passes.def"
#undef P
#undef Q
};
extern const tp_pass tp_passes[];
extern const int tp_npasses;
/* Not switchable: PARAM becomes MERGE of READs of its update, and one hidden output with its final value. After tp_grad_expand. */
bool tp_close_params(tp_graph *g, tp_error *err);
/* Compiled path only, not switchable: reductions over range axes become accumulations (sums.c). */
bool tp_lower_sums(tp_graph *g, tp_error *err);
/* The same: accumulations of f16 and bf16 are kept in f32, small sums over many points in f64, and rounded once (sums.c). */
bool tp_widen_sums(tp_graph *g, tp_error *err);
/* Compiled path only, pass `algebra`: accumulations that add at most one thing at a point become values (direct.c); graph and need are to be made anew if it
 * changed anything. Then values that a branch stores are read where they are stored (share.c); need stays right. */
bool tp_direct_sums(tp_graph *g, const tp_need *need, bool *changed, tp_error *err);
bool tp_share_branches(tp_graph *g, tp_need *need, tp_error *err);
/* check = "nan": marks the operators that are looked at (watch.c); later those that were made since. */
bool tp_watch(tp_graph *g, tp_error *err);
void tp_watch_rest(tp_graph *g);
/* Compiled path only: each stop gets the accumulation that finds its end out (stops.c). */
bool tp_lower_stops(tp_graph *g, tp_error *err);
/* Compiled path only: what comes and goes at each tick becomes callbacks (tick.c). */
bool tp_insert_ticks(tp_graph *g, const tp_ticks *t, tp_error *err);
/* Every edge and output that is `old` becomes `now` (edges of `now`'s own node excepted). */
void tp_replace(tp_graph *g, tp_val old, tp_val now);
bool tp_opt_run(tp_graph *g, const tp_options *o, tp_error *err);   /* all passes that are on, verifier between them, TEMPO_DUMP */
#endif
