/* ends: types and functions that the files of opt/ends share; ends.c says how ends by data are
 * lowered. */
#ifndef TP_ENDS_H
#define TP_ENDS_H
#include "opt/opt.h"

/* The dims that a value made here has. */
typedef struct {
  int n;
  tp_dims dim;
} over;
static inline over over_of(const tp_node *n) { return (over){ n->ndom, n->dom }; }

/* An end that was read (tp_ends_read). */
typedef struct {
  int stop, ndom;
  tp_dims dom;
  tp_ix *upto;
  tp_val val;
} ends_read;
/* A node that lowering made and that has to be lowered in its turn. feeds: some done is made of
 * it. */
typedef struct {
  tp_node *node;
  tp_set *need;
  bool feeds;
} ends_part;
typedef struct ends {
  tp_graph *g;
  tp_ictx *ix;
  tp_error *err;
  tp_mk mk;
  /* needed points and number of nodes of the graph before lowering */
  tp_need *need;
  int n;
  tp_node **end; /* by stop */
  bool *feeds;   /* by node id: some done is made of it */
  /* by node id: the points of dims that it lacks at which it is read; NULL: any */
  tp_ix **rows;
  TP_VEC(ends_read) reads;
  TP_VEC(ends_part) parts;
} ends;

/* ---- ends_values.c ---- */
bool tp_ends_make(ends *l, int i); /* the end of stop i, into l->end */
/* The end of stop i, a number beyond any where done never holds, for nodes with these dims: the
 * greatest over those of the stop's domain that are missing. It waits for done at t < upto; NULL:
 * at all t. */
tp_val tp_ends_read(ends *l, int i, over on, tp_ix *upto);
/* a bool scalar that holds where cond does */
tp_val tp_ends_cond(ends *l, tp_ix *cond, over on);
/* e as an i64 scalar */
tp_val tp_ends_value(ends *l, tp_ix *e, over on);
/* the greatest or least value of e, an end of a range of dim, over all ends from 1 on */
tp_ix *tp_ends_extreme(ends *l, tp_ix *e, bool most, tp_sym *dim);
/* the first term of e that is k times a min or max with an end inside; NULL: none */
tp_ix *tp_ends_extremum(ends *l, tp_ix *e, int64_t *k);
tp_ix *tp_ends_clamped(ends *l, tp_ix *e, tp_sym *dim); /* 0 <= e < bound */
/* a scratch node whose domain is the dims of which e is a function */
tp_node tp_ends_about(ends *l, tp_ix *e);
/* an extent of x mentions d */
bool tp_ends_shape_moves(tp_val x, tp_sym *d);
/* n's needed points, the ends reached there being parameters */
TP_GIVE tp_set *tp_ends_need(ends *l, const tp_node *n);
/* the points of a for some ends */
TP_GIVE tp_set *tp_ends_project(ends *l, TP_TAKE tp_set *a);
/* the ends that a mentions are between 1 and what was given */
tp_ix *tp_ends_within(ends *l, TP_KEEP tp_set *a);
/* no end, between 1 and what was given, has a point of a */
bool tp_ends_never(ends *l, TP_TAKE tp_set *a, over on);
/* a condition for the points of a among these; NULL: they are all */
tp_ix *tp_ends_told(ends *l, over on, TP_TAKE tp_set *a, TP_TAKE tp_set *all);
/* a point of these dims lies before their ends */
tp_ix *tp_ends_alive(ends *l, over on);
bool tp_ends_feeds(const ends *l, const tp_node *n);
/* v over all of dom */
tp_val tp_ends_same_dom(ends *l, tp_val v, over on);
/* index maps: dims that are left at their own point, the others whole */
tp_at *tp_ends_whole(ends *l, over on, int nleft, tp_dims left);
/* n's dims without t */
int tp_ends_left(const tp_node *n, tp_sym *t, tp_sym **left);
/* x reduced over its dims but left, and over all of t */
tp_val tp_ends_reduced(ends *l, tp_red red, tp_val x, int n, tp_dims left);
tp_val tp_ends_over(ends *l, tp_red red, tp_val x, tp_sym *t);
/* x where cond holds, elsewhere a value that adds nothing, at points of dom. If nothing else reads
 * x (only), a contraction's operands are masked, not its result. */
tp_val tp_ends_masked(ends *l, tp_ix *cond, over on, tp_val x, tp_red red, bool only);

/* ---- ends_sums.c ---- */
bool tp_ends_sum(ends *l, tp_node *n);
/* ---- ends_points.c ---- */
bool tp_ends_point(ends *l, tp_node *n);    /* READ */
bool tp_ends_branches(ends *l, tp_node *n); /* MERGE */
/* before these: n, a read of points of one branch, reads that branch's value */
bool tp_ends_apart(ends *l, tp_node *n);
/* x read at points and ranges that may mention ends */
tp_val tp_ends_read_at(ends *l, tp_val x, const tp_at *at);
#endif
