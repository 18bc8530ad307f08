/* ref: the reference evaluator, the oracle. Rank 3. Demand-driven, memoised by (node, point), an
 * explicit work stack, sums in f64 in a stated order. Shares nothing with the compiled path beyond
 * base, index, graph. Slow and obviously right. */
#ifndef TP_REF_H
#define TP_REF_H
#include "graph/graph.h"
#include "graph/run.h"
#include "base/bytes.h"

/* g: closed (no GRAD, no PARAM). Evaluates every output at every point of its domain and every
 * sink, callbacks at every point of their domain in lexicographic order, exactly once; a callback's
 * own inputs are demanded first. */
bool tp_ref_run(tp_graph *g, tp_run *run, tp_error *err);
/* Bytes that a run takes besides outputs, at least: all cells of a node that is needed at every
 * point (whole, by node id), one of any other; a dim that ends by data has one step. Each node is
 * added to v, unless that is NULL. */
int64_t tp_ref_bytes(const tp_graph *g, const bool *whole, const int64_t *env, tp_piece *v, int *n);
/* What is whole at its tick, the dims being ticked through in lexicographic order: outputs that
 * have all these dims, or the outer ones, which go with the last tick inside their point (shown, by
 * g->outputs), and callbacks that have all outside `over` (paced, by node id), no point of which
 * needs an input or a callback of a later tick; and whether what ends tick dims is known in time
 * (ends, by g->stops). Found by following demands at small bounds. */
bool tp_ref_ticks(tp_graph *g, int n, const tp_sym *const *dims, bool *shown, bool *paced,
    bool *ends, tp_error *err);
/* In steps: show puts this tick's values in and makes its outputs, arrays over their dims that do
 * not tick, and gives the point of the next tick, if there is one (more); rest does what else can
 * be done with what was given, until a time (0: all of it). After the last tick nothing is held
 * back. run and t are kept. */
typedef struct tp_refsteps tp_refsteps;
tp_refsteps *tp_ref_begin(tp_graph *g, tp_run *run, const tp_ticks *t, tp_error *err);
tp_refsteps *tp_ref_end(tp_refsteps *s); /* NULL */
bool tp_ref_show(tp_refsteps *s, const int64_t *at, tp_array *const *values, tp_array **out,
    int64_t *next, bool *more, tp_error *err);
bool tp_ref_rest(tp_refsteps *s, bool last, double until, tp_error *err);
/* What inputs and callbacks have given so far. get: right after begin, was: with bounds that were
 * less (NULL: the same); false: it does not fit (r->bad) or no memory. */
void tp_ref_put(tp_refsteps *s, tp_buf *b);
bool tp_ref_get(tp_refsteps *s, tp_reader *r, const int64_t *was, tp_error *err);
bool tp_ref_cancelled(const tp_refsteps *s);
/* One value at one point, for peek: at[] are the coordinates of v's domain. */
TP_GIVE tp_array *tp_ref_peek(tp_graph *g, tp_run *run, tp_val v, const int64_t *at, tp_error *err);
#endif
