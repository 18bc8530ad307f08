/* run: the part of a run that all tiers share: outputs, checks of arguments, and reached
 * lengths. */
#ifndef TP_GRAPH_RUN_H
#define TP_GRAPH_RUN_H
#include "graph/graph.h"
#include "kern/run.h"

tp_callee tp_callee_of(tp_arena *a, const tp_node *call);
/* The dims that steps go through, outermost first. fed (by input) and shown (by output): they go
 * point by point; paced (by node id): callbacks that are done by their tick; first (by output): no
 * tick adds to it, so it is whole with the first. */
typedef struct tp_ticks {
  int n;
  tp_dims dim;
  const bool *fed, *shown, *paced, *first;
} tp_ticks;
/* a new array of the first elements of each axis; NULL: no memory */
tp_array *tp_array_corner(const tp_array *a, const int64_t *shape);
/* How many of the tick dims a domain has: its points belong to a tick if it has all, else to the
 * last tick inside them. 0: it has none, or it lacks one that is outside one that it has. */
int tp_tick_depth(int n, tp_dims dim, int ndom, tp_dims dom);
/* The bound of this name among those that a call needs; NULL: error bound. */
tp_sym *tp_bound_named(tp_ictx *c, const char *name, int n, tp_dims need, tp_error *err);
/* Allocates outputs for the bounds in env, with zeros where a run may leave elements out at its
 * end, or when a script looks: extents that vary, ends by data, steps. */
bool tp_run_alloc(tp_graph *g, tp_run *run, tp_error *err);
void tp_run_free_outputs(tp_graph *g, tp_run *run);
tp_product tp_product_of(const tp_graph *g, int output);
/* bytes of all outputs; each is added to v, unless that is NULL */
int64_t tp_run_outputs(const tp_graph *g, const tp_run *run, tp_piece *v, int *n);
/* sets bounds of dims that end by data to at most 1 in env, as their ends are not known */
void tp_run_few(const tp_graph *g, int64_t *env);

/* Checks bound checks, shape checks, and arrays against bounds. */
bool tp_run_check(tp_graph *g, const tp_run *run, tp_error *err);
/* the checks that need no arrays */
/* Brings what a run is given to the host, where more than a plan reads it. */
bool tp_run_see(const tp_graph *g, const tp_run *run, tp_error *err);
bool tp_run_check_bounds(tp_graph *g, const tp_run *run, tp_error *err);
/* sets env[..] of hidden bounds from the numbers that the call gave */
void tp_run_given(const tp_graph *g, int64_t *env);
/* After a run that went well, outputs get the reached lengths, and zeros beyond a row's own end;
 * the lengths are outputs too, by the bounds' names. */
bool tp_run_trim(tp_graph *g, tp_run *run, tp_error *err);
/* "input 'x' has shape (1, 3), needs (T, 3) = (2, 3)"; symbols NULL: numbers only. False. */
bool tp_shape_fail(tp_error *err, tp_code code, const char *what, const tp_node *n,
    const tp_array *a, int rank, const int64_t *want, const char *symbols);
#endif
