/* ref: the reference evaluator, the oracle. Rank 3. Demand-driven, memoised by (node, point), an explicit work stack, sums in f64 in a stated order.
 * Shares nothing with the compiled path beyond base, index, graph. Slow and obviously right. */
#ifndef TP_REF_H
#define TP_REF_H
#include "graph/graph.h"
#include "graph/run.h"

/* g: closed (no GRAD, no PARAM). Evaluates every output at every point of its domain and every sink, callbacks at every point of their domain in
 * lexicographic order, exactly once; a callback's own inputs are demanded first. */
bool tp_ref_run(tp_graph *g, tp_run *run, tp_error *err);
/* One value at one point, for peek: at[] are the coordinates of v's domain. */
TP_GIVE tp_array *tp_ref_peek(tp_graph *g, tp_run *run, tp_val v, const int64_t *at, tp_error *err);
#endif
