/* ref: the reference evaluator, the oracle: slow and obviously right. Rank 3.
 *
 * It computes on demand, memoised by (node, point), with an explicit work stack and sums in f64 in
 * a stated order. It shares with the compiled path only base, index and graph. machine.h defines
 * cells and the stack, which eval.c runs; demand.c finds operands, ending.c ends by data, calling.c
 * callbacks, step.c ticks; the other files are kernels. */
#ifndef TP_REF_H
#define TP_REF_H
#include "graph/graph.h"
#include "graph/run.h"
#include "base/bytes.h"

/* g: closed (no GRAD, no PARAM). Evaluates every output at every point of its domain and every
 * sink, callbacks at every point of their domain in lexicographic order, exactly once; a callback's
 * own inputs are demanded first. */
bool tp_ref_run(tp_graph *g, tp_run *run, tp_error *err);
/* The least bytes that a run takes besides outputs: all cells of a node that is needed at every
 * point (whole, by node id), one of any other; a dim that ends by data has one step. Adds each node
 * to v, unless that is NULL. */
int64_t tp_ref_bytes(const tp_graph *g, const bool *whole, const int64_t *env, tp_piece *v, int *n);
/* Finds values that are whole at their tick, as no point needs an input or a callback of a later
 * tick; ticks go in lexicographic order. shown, by g->outputs: outputs with all tick dims, or with
 * the outer ones, which go with the last tick inside their point. paced, by node id: callbacks with
 * all tick dims outside `over`. ends, by g->stops: is the end of a tick dim known in time? It
 * follows demands at small bounds. */
bool tp_ref_ticks(
    tp_graph *g, int n, tp_dims dims, bool *shown, bool *paced, bool *ends, tp_error *err);
/* In steps: show takes this tick's values, makes its outputs, arrays over their dims that do not
 * tick, and finds the point of the next tick, if there is one (more); rest does other work that is
 * possible by now, until a time (0: all of it). After the last tick nothing is held back. run and t
 * are kept. */
typedef struct tp_refsteps tp_refsteps;
tp_refsteps *tp_ref_begin(tp_graph *g, tp_run *run, const tp_ticks *t, tp_error *err);
tp_refsteps *tp_ref_end(tp_refsteps *s); /* NULL */
bool tp_ref_show(tp_refsteps *s, const int64_t *at, tp_array *const *values, tp_array **out,
    int64_t *next, bool *more, tp_error *err);
bool tp_ref_rest(tp_refsteps *s, bool last, double until, tp_error *err);
/* Writes and reads the values of inputs and callbacks so far. get: right after begin; was: the
 * smaller bounds (NULL: the same); false: they do not fit (r->bad) or no memory. */
void tp_ref_put(tp_refsteps *s, tp_buf *b);
bool tp_ref_get(tp_refsteps *s, tp_reader *r, const int64_t *was, tp_error *err);
bool tp_ref_cancelled(const tp_refsteps *s);
/* One value at one point, for peek: at[] are the coordinates of v's domain. */
TP_GIVE tp_array *tp_ref_peek(tp_graph *g, tp_run *run, tp_val v, const int64_t *at, tp_error *err);
#endif
