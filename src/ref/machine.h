/* machine: what the files of ref share. A *cell* is one node at one point. All cells are memoised
 * until the run ends, and data of done ones never change, so a cell may alias another's (reads of a
 * point, branches, reshapes). A depth-first search with its own stack evaluates: a step on a cell
 * demands the cells of its operands: all done, it computes; else they are pushed and it is stepped
 * again later. All above a cell in CELL_WORK on the stack is there for its sake, so a demand for it
 * is a cycle. r->env holds the bounds and the dims of the point last set by ref_point; of a bound
 * that is reached by data the end at that point, if known. */
#ifndef TP_REF_MACHINE_H
#define TP_REF_MACHINE_H
#include "ref/ref.h"

typedef enum { CELL_NEW, CELL_WORK, CELL_DONE } ref_state;
typedef struct tp_cell {
  struct tp_cell *next; /* in its hash slot */
  const tp_node *node;
  ref_state state;
  /* reach.c: number of the latest tick that it needs, -1: none */
  int64_t late;
  /* of each output, then the coordinates: ref_at */
  void *data[];
} tp_cell;
static inline int64_t *ref_at(tp_cell *c) { return (int64_t *)(c->data + c->node->nout); }

/* A value, dense and row major. */
typedef struct ref_data {
  tp_dtype dtype;
  int rank;
  int64_t shape[TP_MAXRANK];
  int64_t n;
  void *data;
} ref_data;

/* An operand at a point. row: ACCUM, the first element of the row taken. */
typedef struct ref_op {
  tp_cell *cell;
  int out;
  int64_t row;
} ref_op;

/* A contribution: target u (a number in the node's box) takes the sources p[start[u]] .. p[start[u
 * + 1] - 1] (in the operand's). */
typedef struct ref_scatter {
  int64_t *start, *p;
} ref_scatter;

/* A dim that ends by data (ending.c): nodes for its cells; by node id: does it mention the end at
 * its own point? */
typedef struct ref_ending {
  const tp_stop *stop;
  tp_node *alive, *end;
  bool *own;
} ref_ending;
typedef enum { REF_NO, REF_YES, REF_WAIT, REF_FAILED } ref_answer;

/* The next point to call a callback at, without `over`. */
typedef struct ref_calls {
  tp_callee of;
  bool begun, ended;
  int ndim;
  const tp_sym *dims[TP_MAXDIM];
  int64_t at[TP_MAXDIM];
} ref_calls;

typedef struct ref {
  tp_graph *g;
  tp_run *run;
  tp_error *err;
  tp_arena arena;
  int64_t *env;   /* by symbol id */
  tp_cell **slot; /* the memo */
  int64_t nslot, ncell;
  TP_VEC(tp_cell *) stack;
  /* demanded by this step, in order */
  TP_VEC(ref_op) ops;
  TP_VEC(ref_data) in; /* their views, for kernels */
  bool waiting;        /* some of these are not done */
  bool cancelled;
  /* in steps: later ticks are not there yet; NULL: all are */
  const tp_ticks *ticks;
  int64_t *now;
  bool early;  /* a demand met a later tick */
  bool frozen; /* whatever is not made is early */
  int *number; /* by node id: an input's place in g->inputs */
  /* by node id and contribution; on first demand */
  ref_scatter **scatter;
  ref_calls **calls;  /* by node id */
  ref_ending *ending; /* by g->stops */
} ref;

struct tp_refsteps {
  ref r[1];
  int64_t *now;
  bool *complete; /* by output */
  /* by output, then by parameter: the first point not made */
  int64_t **at;
  bool *updated; /* by parameter: all points are made */
  int ncall;
  const tp_node **call;
};
/* fn(s, arg) under a guard */
bool ref_guarded(tp_refsteps *s, bool (*fn)(tp_refsteps *, void *), void *arg, tp_error *err);

bool ref_eval(ref *r, const tp_node *n, const int64_t *at, tp_cell **out);
/* as ref_alive, ref_seek, ref_call_ask, but run the stack to wait */
ref_answer ref_is_alive(ref *r, int n, const tp_sym *const *dims, const int64_t *at, int *which);
ref_answer ref_find(
    ref *r, int n, const tp_sym *const *dims, const int64_t *lo, const int64_t *hi, int64_t *at);
ref_answer ref_call_seek(ref *r, const tp_node *n);

tp_cell *ref_cell(ref *r, const tp_node *n, const int64_t *at);
/* false: a negative or overflowing extent */
bool ref_view(ref *r, tp_cell *c, int out, ref_data *v);
/* the view, with fresh zeroed data */
bool ref_new(ref *r, tp_cell *c, int out, ref_data *v);
/* c's value is a part of an array over its domain */
bool ref_from_array(ref *r, tp_cell *c, const tp_array *a);
bool ref_to_array(ref *r, tp_cell *c, int out, tp_array *a);
/* as given by the call */
int64_t ref_bound(const ref *r, const tp_sym *dim);
/* points of a box; false: too many */
bool ref_box(const ref *r, int n, const tp_sym *const *dims, int64_t *count);
/* place in the box, row major */
int64_t ref_number(const ref *r, int n, const tp_sym *const *dims, const int64_t *at);
void ref_unnumber(const ref *r, int n, const tp_sym *const *dims, int64_t number, int64_t *at);
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

/* sets the dims of n and the known ends in env */
void ref_point(ref *r, const tp_node *n, const int64_t *at);
tp_cell *ref_cell_here(ref *r, const tp_node *n); /* at env's point */
/* The least possible end at env's point, which is there. */
int64_t ref_end_least(ref *r, const tp_node *n, const ref_ending *e);

void ref_stops_open(ref *r);
bool ref_mentions(const tp_node *n, const tp_sym *s);
bool ref_stop_step(ref *r, tp_cell *c);
/* NO: *which stop has ended it. by: NULL outside of steps. */
ref_answer ref_alive(
    ref *r, tp_cell *by, int n, const tp_sym *const *dims, const int64_t *at, int *which);
/* Moves at on to the first point that is alive, may be itself; NO: there is none. */
ref_answer ref_seek(ref *r, tp_cell *by, int n, const tp_sym *const *dims, const int64_t *lo,
    const int64_t *hi, int64_t *at);
/* Does n at env's point say the same for all ends of t from `least` on, as x[min(t, T - 1)] does?
 */
bool ref_says_same(ref *r, const tp_graph *g, const tp_node *n, const tp_sym *t, int64_t least);
bool ref_contribution_asks(const tp_node *n, const tp_edge *e, const tp_sym *end);
bool ref_demand_ends(ref *r, const tp_node *n);
bool ref_want_end(ref *r, const ref_ending *e); /* at env's point */

/* done, or r->waiting for it */
bool ref_want(ref *r, tp_cell *c);
bool ref_demand(ref *r, tp_cell *by, tp_val v, const int64_t *at, int64_t row);
bool ref_demand_operands(ref *r, tp_cell *c); /* all but CALL */
/* MERGE: the first that holds at env's point; -1: none */
int ref_branch(const ref *r, const tp_node *n);

void ref_strides(const ref_data *v, int64_t *stride);
/* of in, by out's axes; 0 where in has 1 or nothing */
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
/* ENV */
ref_kernel ref_env;
/* SRC */
bool ref_source(ref *r, tp_cell *c);

/* ---- sums, also of ACCUM: floats in f64, integers wrapping in i64 ---- */
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

/* ---- looking.c: false: NaN or infinity arose ---- */
bool ref_look(ref *r, tp_cell *c, const ref_data *out, const ref_data *in);
bool ref_look_sum(ref *r, tp_cell *c, const ref_data *out); /* ACCUM */

/* makes the calls up to c's */
bool ref_call_step(ref *r, tp_cell *c);
bool ref_call_demand(ref *r, tp_cell *c); /* what a call at c's point takes */
/* not in `over` */
int ref_call_dims(const tp_node *n, const tp_sym **dims);
const tp_node **ref_calls_reached(ref *r, int *n);
ref_calls *ref_calls_of(ref *r, const tp_node *n);
/* goes on to a point that is alive; NO: there is none */
ref_answer ref_call_ask(ref *r, const tp_node *n);
/* false: no next point */
bool ref_call_next(ref *r, const tp_node *n, int64_t *at);
void ref_call_at(ref *r, const tp_node *n, const int64_t *at, bool ended);
/* every callback at every point, merged in lexicographic order */
bool ref_call_all(ref *r);
#endif
