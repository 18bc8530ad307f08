/* machine: cells, the stack, and functions that the files of ref share.
 *
 * A *cell* is one node at one point; all cells are memoised until the run ends and their data never
 * changes once done, so that a cell may alias the data of another (reads of a point, branches,
 * reshapes). Evaluation is a depth-first search with its own stack: a step on a cell demands the
 * cells of its operands, which either are all done (then it computes) or are pushed (then it is
 * stepped again later). Everything above a cell in CELL_WORK on the stack is there because that
 * cell needs it; so a demand for a cell in CELL_WORK is a cycle.
 *
 * r->env holds the bounds always and the dims of the point last set by ref_point; of a bound that
 * is reached by data, the end at that point if it is known. */
#ifndef TP_REF_MACHINE_H
#define TP_REF_MACHINE_H
#include "ref/ref.h"

typedef enum { CELL_NEW, CELL_WORK, CELL_DONE } ref_state;
typedef struct tp_cell {
  struct tp_cell *next; /* of the same hash slot */
  const tp_node *node;
  ref_state state;
  /* one for each output, then the coordinates: see ref_at */
  void *data[];
} tp_cell;
static inline int64_t *ref_at(tp_cell *c) { return (int64_t *)(c->data + c->node->nout); }

/* One value as the kernels see it: dense, row major. */
typedef struct ref_data {
  tp_dtype dtype;
  int rank;
  int64_t shape[TP_MAXRANK];
  int64_t n;
  void *data;
} ref_data;

/* One operand's value at one point: what a step has demanded. row: ACCUM, the first element of the
 * row taken. */
typedef struct ref_op {
  tp_cell *cell;
  int out;
  int64_t row;
} ref_op;

/* A dim that ends by data: nodes made for its cells, and by node id whether the node mentions the
 * end at its own point. See ending.c. */
typedef struct ref_ending {
  const tp_stop *stop;
  tp_node *alive, *end;
  bool *own;
} ref_ending;
typedef enum { REF_NO, REF_YES, REF_WAIT, REF_FAILED } ref_answer;

/* How far a callback is: the next point (domain without `over`) of a call; at[0] is the first dim's
 * bound, or 1 without dims, after all calls. */
typedef struct ref_calls {
  tp_callee of;
  int ndim;
  tp_sym *dims[TP_MAXDIM];
  int64_t at[TP_MAXDIM];
} ref_calls;

typedef struct tp_refsteps ref;
struct tp_refsteps {
  tp_graph *g;
  tp_run *run;
  tp_error *err;
  tp_arena arena;
  int64_t *env;   /* by symbol id */
  tp_cell **slot; /* the memo */
  int64_t nslot, ncell;
  TP_VEC(tp_cell *) stack;
  /* demanded by the step at work, in the order of enumeration */
  TP_VEC(ref_op) ops;
  TP_VEC(ref_data) in; /* their views, for kernels */
  bool waiting;        /* an operand demanded by this step is not done */
  bool cancelled;
  const tp_ticks *ticks;
  int64_t *now;       /* this tick: values of later ones do not exist yet; NULL: all values do */
  bool frozen;        /* all values not made count as later, except parameters that are kept */
  bool early;         /* a demand met a value of a later tick */
  bool dry;           /* demands alone (reach.c): no data, and no row ends before its bound */
  int *number;        /* by node id: INPUT, its place in g->inputs */
  ref_calls **calls;  /* by node id */
  ref_ending *ending; /* by g->stops */
  /* by output: all points are made; the first that is not */
  bool *complete;
  int64_t **at;
  int ncall;
  const tp_node **call;
};
/* Evaluates ok = expr; out of memory in it is an error. */
#define REF_GUARDED(r, e, ok, expr) \
  do { \
    tp_guard oom_; \
    (r)->err = (e); \
    if (TP_GUARDED(&oom_)) { \
      (ok) = (expr); \
      tp_unguard(&oom_); \
    } else tp_no_memory(e, TP_NOWHERE); \
  } while (0)

/* ---- eval.c: these run the stack; WAIT: for a later tick ---- */
ref_answer ref_eval(ref *r, const tp_node *n, const int64_t *at, tp_cell **out);
void ref_give_up(ref *r); /* drops all demands */
/* Does each point, or call, of n belong to one tick? */
bool ref_has_ticks(const tp_ticks *t, const tp_node *n);
/* -1: at, a point of all tick dims, is before the tick; 0: of it; 1: behind */
int ref_tick_sign(ref *r, const tp_node *n, const int64_t *at);
ref_answer ref_is_alive(ref *r, int n, tp_dims dims, const int64_t *at, int *which);
ref_answer ref_find(ref *r, int n, tp_dims dims, const int64_t *lo, const int64_t *hi, int64_t *at);
ref_answer ref_call_seek(ref *r, const tp_node *n);

/* ---- memo.c ---- */
tp_cell *ref_cell(ref *r, const tp_node *n, const int64_t *at); /* found or made */
/* the cell's value as a view without data; false: a negative or overflowing extent */
bool ref_view(ref *r, tp_cell *c, int out, ref_data *v);
/* the view, with fresh zeroed data */
bool ref_new(ref *r, tp_cell *c, int out, ref_data *v);
/* gives c its part of an array over its domain */
bool ref_from_array(ref *r, tp_cell *c, const tp_array *a);
/* puts c into place `number` of an array over ndim dims */
bool ref_put(ref *r, tp_cell *c, int out, tp_array *a, int ndim, int64_t number);
bool ref_to_array(ref *r, tp_cell *c, int out, tp_array *a);
/* the dim's bound as the call gives it */
int64_t ref_bound(const ref *r, tp_sym *dim);
/* at := lo; false: the box is empty */
bool ref_first(int n, const int64_t *lo, const int64_t *hi, int64_t *at);
/* false: at was the last */
bool ref_next(int n, const int64_t *lo, const int64_t *hi, int64_t *at);
#define REF_EACH(n, lo, hi, at) \
  for (bool more_ = ref_first(n, lo, hi, at); more_; more_ = ref_next(n, lo, hi, at))
/* 'h', or: this 'add' */
const char *ref_label(ref *r, const tp_node *n);
/* " at t = 3, i = 2"; "" without dims */
const char *ref_where(ref *r, const tp_node *n, const int64_t *at);
/* "'h' at t = 3: " and the text */
bool ref_fail(ref *r, tp_cell *c, tp_code code, const char *fmt, ...) TP_PRINTF(4, 5);

/* ---- step.c ---- */
/* n's points at this tick, in domain order; returns their number */
int64_t ref_tick_box(const ref *r, const tp_node *n, int64_t *lo, int64_t *hi);
bool ref_call_some(ref *r, double until); /* calls each callback as far as possible now */

/* ---- points.c ---- */
/* dims of n := at, in env; ends that are known there, too */
void ref_point(ref *r, const tp_node *n, const int64_t *at);
tp_cell *ref_cell_here(ref *r, const tp_node *n); /* at env's point */
/* The least that an end can be at env's point, which is alive: later points may be known alive
 * too. */
int64_t ref_end_least(ref *r, const tp_node *n, const ref_ending *e);

/* ---- ending.c ---- */
void ref_stops_open(ref *r);
bool ref_stop_step(ref *r, tp_cell *c);
/* Is this point alive? NO: *which stop has ended it. WAIT: for cells now on the stack. by NULL: the
 * question comes from outside any step. */
ref_answer ref_alive(ref *r, tp_cell *by, int n, tp_dims dims, const int64_t *at, int *which);
/* Moves `at` on, in lexicographic order, to the first point that is alive; NO: there is none. */
ref_answer ref_seek(
    ref *r, tp_cell *by, int n, tp_dims dims, const int64_t *lo, const int64_t *hi, int64_t *at);
bool ref_demand_ends(ref *r, const tp_node *n);
bool ref_want_end(ref *r, const ref_ending *e); /* at env's point */

/* ---- demand.c ---- */
/* done, or r->waiting for it */
bool ref_want(ref *r, tp_cell *c);
bool ref_demand(ref *r, tp_cell *by, tp_val v, const int64_t *at, int64_t row);
bool ref_demand_here(ref *r, tp_cell *by, tp_val v); /* at env's point */
bool ref_demand_operands(ref *r, tp_cell *c);        /* all but CALL */
/* MERGE: the first that holds at env's point, -1: none */
int ref_branch(const ref *r, const tp_node *n);

/* ---- walking multi-indices ---- */
void ref_strides(const ref_data *v, int64_t *stride);
/* strides of in, by out's axes; 0 if in has extent 1 or no axis */
void ref_strides_broadcast(const ref_data *out, const ref_data *in, int64_t *stride);

/* element i of out := element at of x */
static inline void ref_copy(const ref_data *out, int64_t i, const ref_data *x, int64_t at) {
  int64_t size = tp_dtype_size(out->dtype);
  memcpy((char *)out->data + i * size, (const char *)x->data + at * size, (size_t)size);
}

/* ---- kernels: out is zeroed ---- */
/* UN UNF LOG CAST BIN CMP SEL */
typedef bool ref_kernel(ref *r, tp_cell *c, ref_data *out, const ref_data *in);
ref_kernel ref_elementwise;
/* RED ARG SCAN MM */
ref_kernel ref_fold;
ref_kernel ref_conv; /* CONV */
/* MOVE but RESHAPE */
ref_kernel ref_move;
/* GATH SORT (two outs) */
ref_kernel ref_pick;
/* FMT */
ref_kernel ref_blocks;
/* ENV */
ref_kernel ref_env;
/* sourcing.c: SRC, by itself */
bool ref_source(ref *r, tp_cell *c);

/* ---- sums (folding.c), also of ACCUM: floats in f64, integers wrapping in i64 ---- */
typedef struct ref_acc {
  bool flt, any;
  tp_red red;
  double f;
  int64_t i;
} ref_acc;
ref_acc ref_acc_start(tp_red red, tp_dtype d);
void ref_acc_add(ref_acc *a, tp_dtype d, const void *p, int64_t i);
/* of a sum: adds the product */
void ref_acc_product(ref_acc *a, const ref_data *x, int64_t i, const ref_data *y, int64_t j);
/* false: max or min of no integers */
bool ref_acc_end(const ref_acc *a, tp_dtype d, void *p, int64_t i);

/* ---- looking.c: false where NaN or infinity arose; operands are r->ops ---- */
bool ref_look(ref *r, tp_cell *c, const ref_data *out, const ref_data *in);
bool ref_look_sum(ref *r, tp_cell *c, const ref_data *out); /* ACCUM */

/* ---- calling.c ---- */
/* makes the calls up to c's; r->waiting: stopped at operands */
bool ref_call_step(ref *r, tp_cell *c);
const tp_node **ref_calls_reached(ref *r, int *n);
ref_calls *ref_calls_of(ref *r, const tp_node *n);
/* moves on to a point that is alive; NO: it has been called everywhere */
ref_answer ref_call_ask(ref *r, const tp_node *n);
/* The next point of a callback, all dims; false: it has been called everywhere. */
bool ref_call_next(ref *r, const tp_node *n, int64_t *at);
/* calls every callback of the graph at every point, merged in lexicographic order */
bool ref_call_all(ref *r);
#endif
