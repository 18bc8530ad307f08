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
  const int64_t *reached;                       /* of each dim in `over`: what was, here */
} tp_call;
typedef struct tp_run {
  const int64_t *env;                           /* bounds by sym id; at least tp_nsym(g->ix) entries */
  tp_array *const *inputs;                      /* by g->inputs; NULL where nothing needs it */
  tp_array *const *params;                      /* loaded first values by PINIT number, NULL entries: computed; NULL: none */
  tp_array **outputs;                           /* by g->outputs; made by tp_run_alloc */
  const bool *fed, *shown;                      /* in steps, by inputs and outputs: come point by point, go point by point (the whole of it is there if it fits); NULL: none */
  uint64_t seed;
  int64_t memory;                               /* bytes that the call may take; 0: what the machine has, < 0: any */
  bool (*call)(void *ud, const tp_call *c, tp_error *err);   /* false: the run ends with err */
  void *ud;
  bool *cancel;                                 /* looked at between statements (tp_run_ends), set by any thread; may be NULL */
} tp_run;
static inline bool tp_run_ends(const tp_run *r) { return r->cancel && __atomic_load_n(r->cancel, __ATOMIC_RELAXED); }
/* The dims that steps go through, outermost first. fed (by inputs) and shown (by outputs): which come and go point by point; paced (by node id): callbacks that
 * are done by their tick; first (by outputs): those that no tick has a part in, which are whole with the first. */
typedef struct tp_ticks { int n; const tp_sym *const *dim; const bool *fed, *shown, *paced, *first; } tp_ticks;
tp_array *tp_array_corner(const tp_array *a, const int64_t *shape);     /* a fresh one: the first elements of each axis; NULL: no memory */
/* How many of the tick dims a domain has, if it has none without those outside it: its points belong to a tick, if it has all, or else to the last tick inside
 * them. 0: to none. */
int tp_tick_depth(int n, const tp_sym *const *dim, int ndom, const tp_sym *const *dom);
/* Allocates outputs for the bounds in env; memory error names the bytes. Zeroed where a run may be over, or looked at, with points left out: ends by data, steps. */
bool tp_run_alloc(tp_graph *g, tp_run *run, tp_error *err);
void tp_run_free_outputs(tp_graph *g, tp_run *run);
/* ---- memory (fits.c) ---- */
int64_t tp_sum_bytes(int64_t a, int64_t b);     /* saturates; negative ones are too many to count */
int64_t tp_times_bytes(int64_t a, int64_t times);
int64_t tp_run_output_bytes(const tp_graph *g, const tp_run *run, int i);    /* of the array that tp_run_alloc makes; -1: it makes none */
/* A part of what a call takes: what "output ", "" or, where there is no name, words. */
typedef struct tp_piece { const char *what, *name; tp_pos pos; int64_t bytes; } tp_piece;
int64_t tp_run_outputs(const tp_graph *g, const tp_run *run, tp_piece *v, int *n);  /* the sum of all outputs; each is added to v, unless that is NULL */
void tp_run_few(const tp_graph *g, int64_t *env);               /* dims that end by data have one step: where they will end is not known */
tp_allowance tp_run_allowance(const tp_run *run, int64_t back);
bool tp_run_may(const tp_run *run, int64_t bytes, int64_t back, tp_allowance *a);    /* back: of them that are taken already. False: a is less */
/* What a call takes at other bounds; -1: too many bytes. */
typedef struct tp_demand { const tp_graph *g; int64_t (*bytes)(void *ud, const int64_t *env); void *ud; } tp_demand;
/* Notes: the largest of n pieces, which get sorted; values of single bounds with which `most` bytes are enough. env comes back as it was. */
void tp_tell_pieces(tp_error *err, tp_piece *v, int n);
void tp_tell_bounds(tp_error *err, const tp_demand *d, int64_t *env, int64_t most);
bool tp_run_refuse(tp_error *err, const tp_demand *d, int64_t *env, const tp_allowance *a, int64_t bytes, tp_piece *v, int n);        /* false */

/* Bound checks, shape checks and arrays against bounds: errors bound, domain/undefined, shape, dtype, input. */
bool tp_run_check(tp_graph *g, const tp_run *run, tp_error *err);
bool tp_run_check_bounds(tp_graph *g, const tp_run *run, tp_error *err);     /* what does not ask for arrays */
/* env[..] of the hidden bounds that stand for what the call gave. */
void tp_run_given(const tp_graph *g, int64_t *env);
/* Outputs of a run that went well get the lengths that were reached, and zeros beyond a row's own end; these are outputs too, by the bounds' names. */
bool tp_run_trim(tp_graph *g, tp_run *run, tp_error *err);
/* Shape of an array over a domain with a spatial shape, for given bounds; returns rank. */
/* "input 'x' has shape (1, 3), needs (T, 3) = (2, 3)"; symbols NULL: numbers only. False. */
bool tp_shape_fail(tp_error *err, tp_code code, const char *what, const tp_node *n, const tp_array *a, int rank, const int64_t *want, const char *symbols);
int tp_run_shape(const tp_run *run, int ndom, const tp_sym *const *dom, const tp_out *o, int64_t shape[TP_MAXRANK]);
#endif
