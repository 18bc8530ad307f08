/* ref: the reference evaluator, the oracle. Rank 3. Demand-driven, memoised by (node, point), with
 * an explicit stack; sums in f64 in a stated order. Shares only base, index, graph with the
 * compiled path. Slow and obviously right. */
#ifndef TP_REF_H
#define TP_REF_H
#include "graph/graph.h"
#include "graph/run.h"
#include "base/bytes.h"

/* g: closed (no GRAD, no PARAM). Evaluates all outputs and sinks at all points; callbacks at all
 * points in lexicographic order, exactly once, their own inputs first. */
bool tp_ref_run(tp_graph *g, tp_run *run, tp_error *err);
/* Bytes that a run takes besides outputs, at least: all cells of a node that is needed at every
 * point (whole, by node id), one of others; a dim that ends by data has one step. Adds each node to
 * v, unless NULL. */
int64_t tp_ref_bytes(const tp_graph *g, const bool *whole, const int64_t *env, tp_piece *v, int *n);
/* What is whole at its tick, the dims being ticked in lexicographic order: outputs that have all
 * these dims, or the outer ones, which go with the last tick inside their point (shown, by
 * g->outputs); callbacks that have all outside `over` (paced, by node id); none of whose points
 * needs an input or callback of a later tick; and whether ends of tick dims are known in time
 * (ends, by g->stops). Follows demands at small bounds. */
bool tp_ref_ticks(tp_graph *g, int n, const tp_sym *const *dims, bool *shown, bool *paced,
    bool *ends, tp_error *err);
/* In steps: show takes a tick's values, makes its outputs, over their dims that do not tick, and
 * gives the next tick's point, if any (more); rest does what else can be done until a time (0:
 * all), after the last tick everything. Keeps run and t. */
typedef struct tp_refsteps tp_refsteps;
tp_refsteps *tp_ref_begin(tp_graph *g, tp_run *run, const tp_ticks *t, tp_error *err);
tp_refsteps *tp_ref_end(tp_refsteps *s); /* NULL */
bool tp_ref_show(tp_refsteps *s, const int64_t *at, tp_array *const *values, tp_array **out,
    int64_t *next, bool *more, tp_error *err);
bool tp_ref_rest(tp_refsteps *s, bool last, double until, tp_error *err);
/* Everything made so far. get: right after begin; was: smaller bounds of the state (NULL: the
 * same). False: it does not fit (r->bad) or no memory. */
void tp_ref_put(tp_refsteps *s, tp_buf *b);
bool tp_ref_get(tp_refsteps *s, tp_reader *r, const int64_t *was, tp_error *err);
bool tp_ref_cancelled(const tp_refsteps *s);
/* At one point of v's domain. */
TP_GIVE tp_array *tp_ref_peek(tp_graph *g, tp_run *run, tp_val v, const int64_t *at, tp_error *err);
#endif
