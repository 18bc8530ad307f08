/* poly: puts a program in order: when each point is computed, in which loops, and how long it is
 * kept, for all bounds. docs/scheduling.md has the algorithm. Only this folder and src/index/isl*
 * include isl.
 *
 *   tp_lower     closed graph + needed points => arrays and statements (lower/)
 *   tp_schedule  statements => dependences (lower/deps.c), rows of loops (order/), a proof that
 *                every dependence goes forward (order/proof.c), the loop tree (schedule_tree.c,
 *                calls.c, ast.c), and slots for every array (store/)
 *
 * An *array* is a stored tensor; its elements are the points of its domain. A *statement* is one
 * operator, or a cluster (operators where each but the last has its only reader inside), at the
 * points of its domain. The writers of an array together write each element once; an accumulation
 * updates it after the array's INIT. print.c and summary.c word the result for explain; simulate.c
 * runs the loop tree at small bounds and checks it. */
#ifndef TP_POLY_H
#define TP_POLY_H
#include "graph/graph.h"
#include "index/isl.h"

/* PARAM: the loaded first value */
typedef enum { TP_ARR_TEMP, TP_ARR_INPUT, TP_ARR_CONST, TP_ARR_OUTPUT, TP_ARR_PARAM } tp_arrkind;
typedef struct tp_arr {
  int id;
  tp_arrkind kind;
  int slot;   /* INPUT, OUTPUT, PARAM: which one */
  tp_val val; /* the value it stores (names, lines) */
  const char *name;
  tp_dtype dtype;
  int ndim;
  tp_dims dim; /* the domain */
  int rank;
  tp_ixs shape; /* may mention its dims */
  /* bits of dims that must be dense; all for kinds other than TEMP */
  uint32_t dense;
  /* ---- results of tp_schedule ---- */
  /* by dim: slots, a formula over bounds (1: a point; the bound: dense); x is in slot x mod width
   */
  tp_ix **width;
  int64_t *align; /* by dim: width is a multiple, as calls run over such blocks; 0: any */
  /* by dim: width is at least this, as some statements lie on the first slots without going round;
   * NULL: any */
  tp_ix **least;
  /* its shape follows its dims, and its rows lie as far apart as the largest needs */
  bool apart;
  bool piece;        /* one of several arrays of a value (store/pieces.c) */
  const int *order;  /* dims from the outermost inwards as they lie in memory; NULL: as they are */
  struct tp_arr *in; /* it lies in this one, whose width it has; NULL: it has its own place */
  const char **why;  /* by dim: what decided it, "read of x[t - 2] at rnn.lua:7" */
  /* flow dependences stay within one iteration of so many outermost loops around the accesses */
  int cross;
} tp_arr;
static inline tp_arr *tp_lies_in(tp_arr *x) { return x->in ? x->in : x; }

/* UPDATE: y += ..., commutes with other updates */
typedef enum { TP_ACC_READ, TP_ACC_WRITE, TP_ACC_UPDATE } tp_acckind;
typedef struct tp_access {
  tp_acckind kind;
  int arr;
  /* by dim of the array; ranges only on reads, writes of a CALL over dims, updates that stretch */
  const tp_at *at;
  /* {statement point -> elements}, restricted to the statement's domain */
  tp_rel *rel;
  /* READ of a stop's array: it is after the updates for t < upto. NULL: after all; 0: after none */
  tp_ix *upto;
  bool idle;         /* result: it belongs to a guard that is not evaluated */
  const tp_node *by; /* READ: the operator that reads; NULL: a copy reads */
  int operand;
  bool alias; /* READ: the result may be written over it */
  tp_pos pos;
} tp_access;

/* it waits for no update: a guard that need not be exact */
bool tp_is_first_end(const tp_access *a);

typedef enum { TP_ST_OP, TP_ST_INIT, TP_ST_ACC } tp_stkind; /* OP: also copies */
typedef struct tp_stmt {
  int id;
  tp_stkind kind;
  int nnode;
  tp_node **node; /* the cluster in order of execution */
  /* per node of the cluster: its dims as expressions over the statement's */
  tp_ixs *nodeat;
#define TP_PLACES 64 /* with more nodes `there` is 0 */
  /* nodes whose value lies where the result will lie, until the next of them changes it there */
  uint64_t there;
  tp_node *into; /* INIT, ACC: the ACCUM; OP: the MERGE whose element it defines; else NULL */
  int k;         /* ACC: the contribution; into a MERGE: the branch; else -1 */
  /* the value written, unless it is the last node's result: that of a branch or contribution, an
   * output that is a view, a view to be stored (through: src is that view); node NULL: none */
  tp_val src;
  tp_ixs srcat;
  bool through;
  /* ACC by scatter of ranges: indices that select the leading axes of src */
  int nrow;
  tp_ixs row;
  int ndim;
  tp_dims dim;   /* distinct: hidden ones for the second of two of one label */
  tp_dims label; /* the temporal dim of each: loops fuse by label */
  tp_set *dom;   /* within the box of the given bounds */
  /* over dims and ends: the points at which it need run (ends.c); NULL: all */
  tp_ix *guard;
  int gacc;   /* part k of the guard reads acc[gacc + k] */
  bool exact; /* it must not run where the guard does not hold */
  int nacc;
  tp_access *acc;
  bool effect;     /* CALL: runs in lexicographic order of its dims, inside its loop */
  uint32_t mayvec; /* dims that the operators allow one call to run over */
  uint32_t ahead;  /* dims along which it lies before a recurrence that it was cut off */
  const char *name;
  tp_pos pos;
  const tp_node *of; /* the node whose value it makes, for errors; NULL: not known */
  /* ---- results ---- */
  uint32_t vec;       /* dims that one call runs over */
  bool far;           /* with ticks: it may wait (behind.c) */
  tp_ix *tickrow;     /* its row in the loop of the tick dim; NULL: outside */
  tp_ix **vlo, **vhi; /* by dim in vec: its range, over bounds and dims that are not in vec */
  /* bdim >= 0: a call runs over one block of this dim in vec, number floor((x + bshift) / block) */
  int bdim;
  int64_t block;
  tp_ix *bshift;
  /* rdim >= 0: it has a loop of its own over this dim in one block (plan/rows.c) */
  int rdim;
} tp_stmt;

/* a node's value has an array (or lives in a cluster), composes into operands, or is made where it
 * is used */
typedef enum { TP_V_STORED, TP_V_VIEW, TP_V_INLINE } tp_vmode;

typedef enum { TP_T_SEQ, TP_T_FOR, TP_T_IF, TP_T_RUN } tp_tkind;
/* the loop tree: isl's AST in our expressions */
typedef struct tp_tree tp_tree;
struct tp_tree {
  tp_tkind kind;
  int n; /* SEQ: any number; FOR: one; IF: a second is the else */
  tp_tree **kid;
  tp_sym *var; /* FOR: from lo to before hi, or, step < 0, from hi - 1 down to lo */
  tp_ix *lo, *hi;
  int step;
  tp_sym *label;    /* FOR: the dim it runs over, for explain */
  bool independent; /* FOR: no dependence is carried; iterations may still share slots */
  int64_t block;    /* FOR: > 0: over blocks of so many points */
  /* IF: the condition; FOR: nothing runs unless it holds, which lo and hi imply */
  tp_ix *cond;
  tp_ix **top; /* RUN: by dim in vec, where an end by data cuts its range; NULL: nowhere */
  int stmt;
  tp_ix **arg; /* RUN: its dims; in vec NULL, but bdim's the block's number */
};

/* An end: the symbol for the bound that a dim which ends by data reaches at one point of the stop's
 * domain (lower/ends.c). */
/* at[d] a range: the greatest over it, all of the dim or a call's block */
typedef struct tp_end {
  int stop;
  tp_sym *sym;
  const tp_at *at;
} tp_end;

/* bad: bounds for which a read closes a cycle; a call that gives them is refused. */
typedef struct tp_late {
  tp_set *bad;
  int st, acc;
} tp_late;

/* The search for loops may give these up (relax.def). */
typedef enum {
#define R(N, says) TP_RX_##N,
#include "poly/order/relax.def"
#undef R
  TP_NRELAX
} tp_relax;

typedef struct tp_poly {
  tp_graph *g;
  tp_arena *a;
  TP_VEC(tp_arr *) arrs;
  TP_VEC(tp_stmt *) stmts;
  TP_VEC(tp_late) late;
  TP_VEC(tp_end) ends;
  tp_tree *tree;
  tp_vmode *mode;
  tp_arr *const **arrof; /* by node id; arrof by node id and output */
  /* by node id: the most that its first extent is where needed; NULL: as much as its dims allow */
  tp_ix **most;
  /* by node id: its name in explain, no two unnamed ones alike */
  const char **title;
  uint32_t without;    /* bits of tp_relax that are given up; set before tp_schedule */
  uint32_t gave_up;    /* those bits that the search added */
  int64_t block, rows; /* set before: blocks have this size, or at most so many rows; 0: any */
  bool judge;          /* set before: the caller asks only whether there is an order */
  bool ticks, keeps;   /* the passes ticks and keep have run */
  /* far statements of row r are over before anything of row r + lag; 0: there are none */
  int lag, lagdepth; /* lagdepth: loops around that of the rows */
  int nquery;
  bool proved;
  const char *unproved;         /* "edge from ... to ..." */
  int64_t budget;               /* isl operations of a query */
  int nover;                    /* queries that took more, for which the worse answer stands */
  TP_VEC(const char *) unknown; /* the first few of them */
  double ms_schedule, ms_proof, ms_tree, ms_live;
} tp_poly;
static inline tp_ix *tp_most_of(const tp_poly *p, tp_val v) {
  return v.out ? NULL : p->most[v.node->id];
}

/* ---- how an operand lies on the value that holds its elements (resolve.c): views are no
 * statements but compose into this ---- */
typedef struct tp_opnd {
  /* an array's value, or a node of the same cluster, or an inline node (FILL, VALUE) */
  tp_val base;
  /* per dim of base's domain: over the statement's dims and axis variables */
  tp_ix **idx;
  int rank;
  tp_ix **shape; /* as the consumer sees it */
  /* per axis: which axis variable it runs over, -1: spatial */
  int *axisvar;
  /* per axis: elements of base's row-major spatial layout (0 for axis variables) */
  tp_ix **stride;
  tp_ix *off; /* spatial offset */
  int nvar;
  tp_sym **var;
  tp_ix **extent; /* axis variables: 0 <= var < extent */
  /* the range as written: extent = max(0, hi - lo), simplified */
  tp_ix **lo, **hi;
  /* base exactly as it is: no view on the spatial side, no axis variables */
  bool identity;
  tp_ix *upto; /* see tp_access */
  /* not NULL: cannot be a view; this node must be stored */
  const tp_node *bad;
} tp_opnd;
/* e = *by * s + *rest, where rest does not depend on s. */
bool tp_steps(const tp_poly *p, tp_ix *e, tp_sym *s, int64_t *by, tp_ix **rest);
/* v as read by a statement where v's dims have the values at[] (over the statement's dims); `lead`
 * axis variables (dims of CALL's over) come first. */
bool tp_resolve(tp_poly *p, tp_val v, tp_ixs at, int nlead, tp_dims leadvar, tp_ixs leadext,
    tp_opnd *out, tp_error *err);
/* NULL: none (a view, inline or inside a cluster) */
tp_arr *tp_array_of(const tp_poly *p, tp_val v);
/* the one of them that s reads */
tp_arr *tp_array_read(const tp_poly *p, const tp_stmt *s, tp_val v);
/* operand k of the cluster's i-th node */
bool tp_stmt_operand(tp_poly *p, const tp_stmt *s, int i, int k, tp_opnd *out, tp_error *err);
/* the parameter whose last value the output is, or NULL */
const tp_node *tp_output_param(const tp_graph *g, int output);
/* p->keeps: the array of a parameter's last value, to which s's new value goes too. NULL: none. */
const tp_arr *tp_newest_in(const tp_poly *p, const tp_stmt *s);
/* Does a place along a dim of an array move with dims along which s lies before a recurrence, in
 * one call or by ranges? Then s goes round no ring: the width is at least `least`. */
bool tp_lies_ahead(const tp_poly *p, const tp_stmt *s, tp_ix *e, bool range);
/* s->src */
bool tp_stmt_src(tp_poly *p, const tp_stmt *s, tp_opnd *out, tp_error *err);
/* The range of a dim in vec that the call of a RUN covers. */
void tp_run_range(const tp_stmt *s, const tp_tree *run, int d, tp_ix **lo, tp_ix **hi);
/* a product of which each operand is the same along an axis of the other */
bool tp_is_outer(const tp_node *n);
/* may s add n only at its elements that are not always 0? n is zeros around a value, or a value put
 * in zeros */
bool tp_adds_part(const tp_graph *g, const tp_stmt *s, const tp_node *n);
/* the number of the cluster's node that is o.base at these points, -1: none */
int tp_stmt_find(const tp_stmt *s, const tp_opnd *o);

/* A statement reads r, and copies it or changes a part of it to make another array, w: may one lie
 * in the other? */
bool tp_is_version(const tp_poly *p, const tp_stmt *s, const tp_access *r, const tp_access *w);
static inline bool tp_is_copy(const tp_stmt *s) {
  return s->kind == TP_ST_OP && s->src.node && !s->nnode;
}

/* ---- ends by data (ends.c) ---- */
/* the end of the rows over which e is the greatest, if rows end */
tp_ix *tp_end_of_rows(tp_poly *p, const tp_end *e, int d);
/* The place in the table of the next end from `from` on that e mentions; -1: no more. */
int tp_next_end(const tp_poly *p, tp_ix *e, int from);
/* e mentions s, or an end at a point that does */
bool tp_depends(const tp_poly *p, tp_ix *e, tp_sym *s);
/* An expression of the graph over these dims, at values of theirs: reached bounds become ends at
 * that point. */
tp_ix *tp_at_dims(tp_poly *p, tp_ix *e, int n, tp_dims dims, tp_ixs at);
tp_ix *tp_at_point(tp_poly *p, const tp_node *n, tp_ix *e, tp_ixs at);
/* An expression of a statement at other values of its dims; an end that depends on a dim of `gone`
 * becomes the greatest over it. */
tp_ix *tp_move_ends(tp_poly *p, tp_ix *e, int n, tp_dims dims, tp_ixs to, uint32_t gone);
tp_ix *tp_extent_upper(tp_graph *g, tp_ix *e, int n, tp_dims dims);
/* Part k of a guard: end number *end is at least *least; *end < 0: something else. False: no part.
 */
bool tp_guard_part(const tp_poly *p, tp_ix *guard, int k, int *end, tp_ix **least);
/* the dim that ends, if arr is a stop's array */
tp_sym *tp_stop_sym(const tp_poly *p, int arr);
/* The condition under which a call over dims in vec runs: the guard holds for some of its points.
 * Parts that depend on one dim cut its range (run->top). NULL: always. */
tp_ix *tp_guard_run(tp_poly *p, const tp_stmt *s, tp_tree *run);

/* need: the needed points for g's outputs and sinks. NULL: err. */
tp_poly *tp_lower(tp_graph *g, const tp_need *need, tp_error *err);
/* Fills results. Error cycle, with points at small bounds as a witness, where there is no order. */
bool tp_schedule(tp_poly *p, tp_error *err);
tp_poly *tp_poly_free(tp_poly *p); /* isl objects; the arena is the graph's */
/* For explain and specs: "for i < I { ... }" with the script's names and lines;
 * tp_poly_print_storage: every array's dim, width, reason. */
void tp_poly_print_schedule(tp_buf *b, const tp_poly *p);
/* env: bounds, for bytes; may be NULL */
void tp_poly_print_storage(tp_buf *b, const tp_poly *p, const int64_t *env);
static inline bool tp_without(const tp_poly *p, tp_relax r) { return p->without >> r & 1; }
static inline void tp_give_up(tp_poly *p, tp_relax r) {
  p->without |= 1u << r;
  p->gave_up |= 1u << r;
}
void tp_poly_print_unknown(tp_buf *b, const tp_poly *p); /* queries over budget */
void tp_poly_print_summary(tp_buf *b, const tp_poly *p, const int64_t *env);
/* "point", "ring", "block", "dense" */
const char *tp_arr_kind(const tp_arr *x, int d);
tp_ix *tp_arr_bytes(const tp_poly *p, const tp_arr *x); /* bytes that it keeps */
/* bytes at these bounds, or at sample bounds if env is NULL */
double tp_arr_sample(const tp_poly *p, const tp_arr *x, const int64_t *env);
typedef struct tp_sized {
  const tp_arr *x;
  double bytes; /* by tp_arr_sample */
} tp_sized;
/* All arrays: temporaries first, then by kind, of each kind the largest first. */
tp_sized *tp_arrs_by_size(tp_arena *a, const tp_poly *p, const int64_t *env);
/* Runs the loop tree at the given bounds symbolically and checks order (each read after its
 * writes), completeness (each statement point exactly once) and storage (slot holds the element
 * read), for every statement point. */
bool tp_poly_simulate(const tp_poly *p, const int64_t *env, tp_error *err);
/* Finds the values of a scheduled program that are kept along a whole dim and better made again by
 * each of their readers (store/again.c); how many. */
struct tp_again;
int tp_made_again(const tp_poly *p, tp_arena *a, struct tp_again *out);
#endif
