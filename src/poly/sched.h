/* sched: the state of one scheduling run, and the functions that its files call of each other.
 * Inside src/poly.
 *
 * Every isl object that outlives a function goes to a pool (tp_keep_*), freed with the run:
 * pointers are shared and answers memoised by address. A query has a budget of operations; beyond
 * it the answer is "unknown", and the caller takes the conservative side. */
#ifndef TP_POLY_SCHED_H
#define TP_POLY_SCHED_H
#include "poly/poly.h"

/* A number over bounds: c, or p + c; bad: not known. Functions that differ by a constant share p.
 */
typedef struct tp_wt {
  bool bad;
  int64_t c;
  isl_pw_aff *p;
} tp_wt;

/* dst at y must run after src at x for each (x, y) in map */
typedef struct tp_dep {
  int src, dst; /* statements */
  /* the array, and dst's access that reads it; arr < 0: the order of an effect */
  int arr, acc;
  bool soft; /* it is wanted, not needed */
  bool pace; /* it is between a tick and a callback */
  /* how many of the outermost common loops it stays inside of */
  int cross;
  isl_map *map;
} tp_dep;
/* a dependence restricted to points equal in all rows so far */
typedef struct tp_arc {
  int dep;
  isl_map *map;
} tp_arc;
typedef TP_VEC(tp_arc) tp_arcs;
typedef TP_VEC(int) tp_ints;
typedef struct tp_place {
  int st, acc;
} tp_place; /* an access of a statement */

/* One time row of a statement: s * x[dim] + shift, or any function of its point (dim < 0). */
typedef struct tp_mem {
  int st, dim, s;
  tp_wt shift;
  isl_pw_aff *row;
  int blocks; /* > 0: row is the number of the block that s * x[blocks - 1] + shift is in */
} tp_mem;
typedef struct tp_item tp_item;
typedef TP_VEC(tp_item *) tp_items;
/* an item of a sequence: a statement, or a loop around a sequence */
struct tp_item {
  int st; /* the statement; -1: a loop */
  tp_sym *label;
  int s;
  int nmem;
  tp_mem *mem;
  tp_items body;
  bool independent; /* see tp_tree */
  int64_t block;    /* > 0: a loop over blocks of so many rows */
};

typedef TP_VEC(isl_set *) tp_sets;
/* a statement's way down the result; the last has no loop */
typedef struct tp_way {
  int seq;
  tp_item *loop;
  const tp_mem *mem;
} tp_way;
typedef struct tp_sst {
  uint32_t used; /* dims that have their row, or are vector dims */
  int npath;
  tp_way *path;
  int then;     /* schedule_tree.c: runs right after it at the same times; -1: none */
  bool follows; /* it is another's `then` */
  bool asked;
  tp_ix *asks;           /* calls.c: the condition that each call asks of its point */
  isl_set *calls, *told; /* calls.c: the points that are called, also as isl gets them */
} tp_sst;

typedef struct tp_sched {
  tp_poly *p;
  tp_ictx *ix;
  tp_arena *a;
  isl_ctx *ctx;
  tp_error *err;
  isl_set *context; /* all bounds >= 0, without those of p->late */
  isl_set *freectx; /* the part that domains do not imply; NULL: none */
  tp_sst *st;       /* by statement */
  TP_VEC(tp_dep) deps;
  tp_items top;
  tp_hmap memo; /* tp_recall */
  TP_VEC(isl_map *) maps;
  tp_sets sets;
  TP_VEC(isl_pw_aff *) affs;
  int nsplit;
  /* the subject of queries, for the note about one that takes too much */
  const char *ask, *who, *whom;
  /* labels that get a loop only to be cut in blocks (vec.c) */
  TP_VEC(tp_sym *) cut;
  bool boxes;    /* statements were cut in boxes (boxes.c) */
  bool skewed;   /* some rows are by isl's scheduler (split.c) */
  bool hulled;   /* some dependence is a hull, larger than the exact one (deps.c) */
  bool outlined; /* isl gets points of several pieces as one (calls.c) */
} tp_sched;

typedef enum { TP_S_OK, TP_S_RESTART, TP_S_FAIL } tp_sres;

/* ---- calc.c: weights and queries ---- */
/* A question to isl; pools keep addresses unique, so the same objects are the same question. */
typedef struct tp_question {
  const void *of, *with, *third;
  int64_t by;
  enum {
    OF_FIRST,
    OF_CONST_DISTANCE,
    OF_DISTANCE,
    OF_ABOVE,
    OF_LE,
    OF_ADD,
    OF_SUB,
    OF_MAX,
    OF_MIN,
    OF_ROW,
    OF_BLOCKS,
    OF_ALIKE,
    OF_THROUGH,
    OF_MEETING,
    OF_FORWARD,
    OF_RANGE,
    OF_COORDINATES,
    OF_LINKED
  } what;
  int a, b, s;
} tp_question;
/* the answer's place, which is all zeros when it is first asked for */
void *tp_recall(tp_sched *S, const tp_question *q, size_t size, bool *fresh);
void tp_query(tp_sched *S); /* before a query: the budget starts anew */
/* before a query that may take so many times the budget */
void tp_query_long(tp_sched *S, int64_t times);
/* after: false if it failed (the error is cleared) */
bool tp_query_end(tp_sched *S);
/* Names the subject of the queries that follow: "how far '%s' runs behind '%s'". */
void tp_ask(tp_sched *S, const char *what, const char *who, const char *whom);
void tp_ask_dep(tp_sched *S, const char *what, const tp_dep *d); /* who: the later statement */
/* adds notes about unknown answers */
void tp_tell_unknown(const tp_poly *p, tp_error *err);
isl_map *tp_keep_map(tp_sched *S, TP_TAKE isl_map *m);
isl_set *tp_keep_set(tp_sched *S, TP_TAKE isl_set *s);
isl_pw_aff *tp_keep_aff(tp_sched *S, TP_TAKE isl_pw_aff *p);
void tp_pools_free(tp_sched *S);
static inline tp_wt tp_wt_c(int64_t c) { return (tp_wt){ .c = c }; }
static inline tp_wt tp_wt_bad(void) { return (tp_wt){ .bad = true }; }
tp_wt tp_wt_of(tp_sched *S, TP_TAKE isl_pw_aff *p);
TP_GIVE isl_pw_aff *tp_wt_pw(tp_sched *S, tp_wt w);
tp_wt tp_wt_add(tp_sched *S, tp_wt a, tp_wt b);
tp_wt tp_wt_sub(tp_sched *S, tp_wt a, tp_wt b);
bool tp_wt_le(tp_sched *S, tp_wt a, tp_wt b); /* proved for all bounds */
tp_wt tp_wt_max(tp_sched *S, tp_wt a, tp_wt b);
tp_wt tp_wt_min(tp_sched *S, tp_wt a, tp_wt b);
/* a piece of w that is nowhere smaller than w, if there is one; else w without divisions */
tp_wt tp_wt_above(tp_sched *S, tp_wt w);
/* w where every dim's bound is v and other bounds are 3 */
int64_t tp_wt_at(tp_sched *S, tp_wt w, int64_t v);
/* the first and last s * dim on the statement's domain */
tp_wt tp_first_row(tp_sched *S, int st, int dim, int s);
tp_wt tp_last_row(tp_sched *S, int st, int dim, int s);
/* Is the domain one conjunction that fixes the dim to one value? */
bool tp_pinned(tp_sched *S, int st, int dim);
/* Do the constraints of a conjunction that mention a dim mention no other? *fixed: one is an
 * equality. */
bool tp_stands_alone(TP_KEEP isl_set *one, int dim, bool *fixed);
/* lo <= y[dv] - x[du] <= hi read off the equalities of m, without a query. */
bool tp_const_distance(tp_sched *S, isl_map *m, int du, int dv, int64_t *lo, int64_t *hi);
/* least s * (y[dv] - x[du]) */
tp_wt tp_distance(tp_sched *S, isl_map *m, int du, int dv, int s);
bool tp_map_empty(tp_sched *S, isl_map *m); /* false if unknown */
/* Equal rows are one object. */
tp_mem tp_mem_make(tp_sched *S, int st, int dim, int s, tp_wt shift);
tp_mem tp_block_row(tp_sched *S, const tp_mem *m, int64_t size); /* the row of a loop over blocks */
isl_space *tp_stmt_space(tp_sched *S, int st);

bool tp_whole(TP_TAKE isl_val *v, int64_t *to);        /* false: no whole number */
isl_map *tp_along(TP_TAKE isl_map *m, int du, int dv); /* {x[du] -> y[dv]} */

/* ---- deps.c ---- */
bool tp_deps(tp_sched *S);
int tp_call_fn(const tp_stmt *s); /* attr.fn of a callback's statement, else 0 */
/* marks the guards that can be evaluated, though they are no dependences */
void tp_settle_guards(tp_sched *S);
bool tp_is_tick(const tp_stmt *s); /* several such statements are pieces of one */
static inline tp_dep *tp_dep_of(tp_sched *S, const tp_arc *e) { return &S->deps.v[e->dep]; }

/* ---- level.c: components, legal dims, choice ---- */
/* [0]: s = 1, [1]: s = -1; off by member */
typedef struct tp_cand {
  tp_sym *label;
  bool ok[2];
  tp_wt *off[2];
} tp_cand;
typedef struct tp_scc {
  int n;
  int *st;
  bool rec;  /* has inner arcs */
  bool left; /* some member has dims left */
  bool pinned;
  int ncand;
  tp_cand *cand;
  int pick; /* pick < 0: not chosen */
  /* results: its item, and its shift there */
  bool placed;
  int item;
  tp_wt c;
} tp_scc;
typedef struct tp_level {
  int nst;
  const int *st;
  tp_arcs arcs; /* the arcs between these statements */
  int nscc;
  tp_scc *scc;  /* components, in order of their first statements */
  int *of, *at; /* by statement: its component, its place in it */
  /* by component: arcs inside it; places in arcs of those from or to others */
  tp_arcs *inner;
  tp_ints *outer;
} tp_level;
tp_level *tp_level_make(tp_sched *S, int nst, const int *st, const tp_arcs *arcs);
/* the statement's first unused dim of that label, -1: none */
int tp_dim_of(tp_sched *S, int st, tp_sym *label);
void tp_choose_recurrences(tp_sched *S, tp_level *L); /* stages 1 and 2 */
void tp_choose_rest(tp_sched *S, tp_level *L);        /* stages 3 and 4 */
/* The inner arcs of component k between points of equal rows of its candidate `pick`, these in mem.
 */
tp_arcs tp_arcs_inside(tp_sched *S, const tp_level *L, int k, int pick, tp_mem **mem);
bool tp_acyclic(tp_sched *S, const tp_scc *c, const tp_arcs *arcs);
/* The arc between points of equal rows; false: none. *exact: it is the whole arc. */
bool tp_arc_at(
    tp_sched *S, const tp_arc *e, const tp_mem *u, const tp_mem *v, tp_arc *out, bool *exact);

/* ---- split.c: when no dim is legal ---- */
/* one statement becomes two; everything starts anew */
bool tp_split(tp_sched *S, const tp_level *L, const tp_scc *c);
/* Statement st becomes two with these points, the second right behind the first. */
void tp_split_in_two(tp_sched *S, int st, TP_TAKE tp_set *a, TP_TAKE tp_set *b);
bool tp_has_points(const tp_sched *S, TP_KEEP isl_set *a); /* for some bounds */
tp_sres tp_isl_nest(tp_sched *S, const tp_level *L, int scc, tp_items *out);
isl_id *tp_stmt_id(tp_sched *S, int st); /* the statement's name for isl */
/* ---- vec.c ---- */
tp_sres tp_vectors(tp_sched *S);
int tp_most_axes(const tp_stmt *s);
/* how many elements; an extent that only the call knows counts as TP_TUNE_BLOCK_EXTENT */
double tp_elements(int rank, tp_ixs shape);
/* bytes of the largest result that stays inside the cluster, for one point; 0: none */
double tp_row_inside(const tp_poly *p, const tp_stmt *s);
bool tp_is_cut(const tp_sched *S, tp_sym *label);
bool tp_goes_round(tp_sched *S, const tp_stmt *s, const tp_access *x, int d, int k);
/* Does which element is accessed in array dim k depend on the statement's dim d? */
bool tp_linked(tp_sched *S, const tp_stmt *s, const tp_access *x, int d, int k);
void tp_dense_vectors(tp_sched *S);
/* ---- boxes.c ---- */
/* Does dim d of the statement's domain stand apart from the others, from lo up to before hi? */
bool tp_vector_range(tp_sched *S, const tp_stmt *s, int d, tp_ix **lo, tp_ix **hi);
/* Cuts statements whose points are several boxes, for calls over these dims; everything starts anew
 * if it has cut one. */
bool tp_cut_in_boxes(tp_sched *S, const uint32_t *dims);
/* Cuts off what component k does before the member that closes its cycles begins, if nothing recurs
 * there along the dim that is chosen for it; everything starts anew. */
bool tp_cut_ahead(tp_sched *S, const tp_level *L, int k);
/* ---- block.c ---- */
/* a call over the block, or a loop over its rows; rows: the loop is one statement's own */
typedef struct tp_phase {
  bool vec, rows;
  int n, *st;
} tp_phase;
typedef struct tp_blocks {
  int64_t size;
  int n;
  tp_phase *phase;
} tp_blocks;
/* NULL: not worth it */
tp_blocks *tp_blocks_of(tp_sched *S, const tp_level *L, const tp_item *loop, const tp_arcs *arcs);
void tp_block_stmt(tp_sched *S, const tp_item *loop, int st, int64_t size);
void tp_block_rows(tp_sched *S, const tp_item *loop, int st, int64_t size);
void tp_spread_rows(tp_sched *S); /* spread.c */
void tp_take_apart(tp_sched *S);  /* pieces.c */
/* ---- driver.c ---- */
void tp_enter(tp_sched *S, tp_item *loop, int depth, const tp_arcs *in, tp_arcs *out);
/* ---- assume.c ---- */
/* leaves it to the call to refuse bounds that make a cycle; everything starts anew */
bool tp_assume(tp_sched *S, const tp_level *L, const tp_scc *c);
bool tp_late_checks(tp_poly *p, tp_error *err);
/* ---- witness.c ---- */
/* a cycle of points at small bounds: fills the error */
bool tp_cycle(tp_sched *S, const tp_scc *c);
/* fills the error if no cycle is found, and no order either */
void tp_no_order(tp_sched *S, const tp_scc *c);
/* ---- behind.c ---- */
void tp_behind(tp_sched *S);
/* ---- proof.c schedule_tree.c live.c ---- */
bool tp_prove(tp_sched *S, const char **which);
bool tp_is_forward(tp_sched *S, const tp_dep *d);
/* lo <= v's row - u's row <= hi for the pairs of m, by tp_const_distance. */
bool tp_rows_apart(
    tp_sched *S, isl_map *m, const tp_mem *u, const tp_mem *v, int64_t *lo, int64_t *hi);
bool tp_make_tree(tp_sched *S);
tp_tree *tp_stop_loops(tp_poly *p, tp_tree *t); /* narrow.c */
void tp_live(tp_sched *S);
/* a bound without a dim, given at the call, which the program mentions */
bool tp_is_free_bound(const tp_sched *S, tp_sym *s);
#endif
