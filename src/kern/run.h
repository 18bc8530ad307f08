/* run: the bounds, arrays and functions that one execution is given, the same for every tier, and
 * the memory that it may take. Arrays have the domain's extents first, then the shape. */
#ifndef TP_RUN_H
#define TP_RUN_H
#include "kern/kern.h"

/* The function of a call. slot: of FEED the input, of SHOW the output. Dims in `over` (bits of dom)
 * lead the shapes of its arrays. */
typedef struct tp_callee {
  int fn, slot;
  const char *name;
  tp_pos pos;
  int ndom;
  tp_dims dom;
  uint32_t over;
  int nres;
  const tp_dtype *res;
} tp_callee;
static inline int tp_callee_nover(const tp_callee *c) { return __builtin_popcount(c->over); }
typedef struct tp_call { /* one call of a callback */
  const tp_callee *of;
  /* borrowed for the call; dims in `over` lead the shape, in domain order */
  int nargs;
  tp_array *const *args;
  /* to be filled, in the dtype and shape of the spec (over dims first); zeroed */
  int nres;
  tp_array *const *res;
  /* the point: domain without `over` */
  int ndim;
  tp_dims dims;
  const int64_t *coord;
  const int64_t *reached; /* by dim in `over`: how far it came here */
} tp_call;
typedef struct tp_run {
  /* bounds by sym id; at least as many entries as there are symbols */
  const int64_t *env;
  /* by the program's inputs; NULL: not needed */
  tp_array *const *inputs;
  /* loaded first values by PINIT number, NULL entries: computed; NULL: none */
  tp_array *const *params;
  tp_array **outputs; /* by the program's outputs */
  bool stays;         /* may these stay on a device until they are read? */
  /* in steps, by inputs and outputs: does it come or go point by point (with a whole array too, if
   * that fits)? NULL: none does */
  const bool *fed, *shown;
  uint64_t seed;
  /* bytes that the call may take; 0: what the machine has, < 0: any */
  int64_t memory;
  bool (*call)(void *ud, const tp_call *c, tp_error *err); /* false: the run ends with err */
  void *ud;
  /* looked at between statements (tp_run_ends), set by any thread; may be NULL */
  bool *cancel;
  /* Asked between statements by the thread that runs: does the host want the run to end? NULL: it
   * never does. */
  bool (*interrupted)(void *host);
  void *host;
} tp_run;
static inline bool tp_run_ends(const tp_run *r) {
  return (r->cancel && __atomic_load_n(r->cancel, __ATOMIC_RELAXED)) ||
      (r->interrupted && r->interrupted(r->host));
}

/* ---- memory (fits.c) ---- */
int64_t tp_sum_bytes(int64_t a, int64_t b); /* saturates; negative ones are too many to count */
int64_t tp_times_bytes(int64_t a, int64_t times);
/* The shape of an array over a domain; returns its rank. An extent that varies over the domain
 * takes its largest value: arrays are not ragged. */
int tp_run_shape(
    const tp_run *run, int ndom, tp_dims dom, const tp_out *o, int64_t shape[TP_MAXRANK]);
/* An output: an array over its dims. hidden: a parameter's last value. */
typedef struct tp_product {
  const char *name;
  tp_pos pos;
  bool hidden;
  int ndim;
  tp_dims dims;
  tp_out type;
} tp_product;
/* of the array that output i gets; -1: none */
int64_t tp_product_bytes(const tp_product *o, const tp_run *run, int i);
/* A part of the memory that a call takes. what: "output ", "" or, without a name, words. */
typedef struct tp_piece {
  const char *what, *name;
  tp_pos pos;
  int64_t bytes;
} tp_piece;
/* its bytes, or 0; added to v, unless that is NULL */
int64_t tp_product_piece(const tp_product *o, const tp_run *run, int i, tp_piece *v, int *n);
tp_allowance tp_run_allowance(const tp_run *run, int64_t back);
/* may the run take the bytes, of which `back` are taken already? False: a is less */
bool tp_run_may(const tp_run *run, int64_t bytes, int64_t back, tp_allowance *a);
/* The bytes that a call takes at other bounds, from which env may get more; -1: too many bytes. */
typedef struct tp_demand {
  const tp_ictx *ix;
  int64_t (*bytes)(void *ud, int64_t *env);
  void *ud;
} tp_demand;
/* Notes: the largest of n pieces, which get sorted; values of single bounds with which `most` bytes
 * are enough. */
void tp_tell_pieces(tp_error *err, tp_piece *v, int n);
void tp_tell_bounds(tp_error *err, const tp_demand *d, int64_t *env, int64_t most);
/* false */
bool tp_run_refuse(tp_error *err, const tp_demand *d, int64_t *env, const tp_allowance *a,
    int64_t bytes, tp_piece *v, int n);
#endif
