/* run: what one execution is given, the same for every tier. Arrays have the domain's extents first, then the shape. */
#ifndef TP_RUN_H
#define TP_RUN_H
#include "graph/graph.h"

typedef struct tp_call {                        /* one call of a callback */
  int fn;                                       /* its number: attr.fn */
  const tp_node *node;
  int nargs; tp_array *const *args;             /* borrowed for the call; dims in `over` lead the shape, in domain order */
  int nres; tp_array *const *res;               /* to be filled, in the dtype and shape of the spec (over dims first); zeroed */
  int ndim; const tp_sym *const *dims; const int64_t *coord;   /* the point: domain without `over` */
} tp_call;
typedef struct tp_run {
  const int64_t *env;                           /* bounds by sym id; at least tp_nsym(g->ix) entries */
  tp_array *const *inputs;                      /* by g->inputs; NULL where nothing needs it */
  tp_array *const *params;                      /* loaded first values by PINIT number, NULL entries: computed; NULL: none */
  tp_array **outputs;                           /* by g->outputs; made by tp_run_alloc */
  const bool *fed, *shown;                      /* in steps, by inputs and outputs: come point by point, go point by point (the whole of it is there if it fits); NULL: none */
  uint64_t seed;
  bool (*call)(void *ud, const tp_call *c, tp_error *err);   /* false: the run ends with err */
  void *ud;
  bool *cancel;                                 /* looked at between statements; may be NULL */
} tp_run;
/* The dims that steps go through, outermost first. fed (by inputs) and shown (by outputs): which come and go point by point; paced (by node id): callbacks that
 * are done by their tick. */
typedef struct tp_ticks { int n; const tp_sym *const *dim; const bool *fed, *shown, *paced; } tp_ticks;
/* How many of the tick dims a domain has, if it has none without those outside it: its points belong to a tick, if it has all, or else to the last tick inside
 * them. 0: to none. */
int tp_tick_depth(int n, const tp_sym *const *dim, int ndom, const tp_sym *const *dom);
/* Allocates outputs for the bounds in env; memory error names the bytes. */
bool tp_run_alloc(tp_graph *g, tp_run *run, tp_error *err);
void tp_run_free_outputs(tp_graph *g, tp_run *run);
/* Bound checks, shape checks and arrays against bounds: errors bound, domain/undefined, shape, dtype, input. */
bool tp_run_check(tp_graph *g, const tp_run *run, tp_error *err);
bool tp_run_check_bounds(tp_graph *g, const tp_run *run, tp_error *err);     /* what does not ask for arrays */
/* env[..] of the hidden bounds that stand for what the call gave. */
void tp_run_given(const tp_graph *g, int64_t *env);
/* Outputs of a run that went well get the lengths that were reached, and zeros beyond a row's own end; these are outputs too, by the bounds' names. */
bool tp_run_trim(tp_graph *g, tp_run *run, tp_error *err);
/* Shape of an array over a domain with a spatial shape, for given bounds; returns rank. */
int tp_run_shape(const tp_run *run, int ndom, const tp_sym *const *dom, const tp_out *o, int64_t shape[TP_MAXRANK]);
#endif
