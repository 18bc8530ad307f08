/* What the files that lower ends by data share (ends.c says how). */
#ifndef TP_ENDS_H
#define TP_ENDS_H
#include "opt/opt.h"
#include "graph/mk.h"

typedef struct {
  int stop, ndom;
  const tp_sym *const *dom;
  const tp_ix *upto;
  tp_val val;
} ends_read;
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
  /* of the graph as it was: needed points, how many nodes */
  tp_need *need;
  int n;
  tp_node **end; /* by stop */
  bool *feeds;   /* by node id: is some done made of it? */
  /* by node id: at which points of the dims that it lacks it is read, NULL: any */
  const tp_ix **rows;
  TP_VEC(ends_read) reads; /* made so far */
  /* new nodes, with needed points of their own, which are lowered last */
  TP_VEC(ends_part) parts;
} ends;

/* ---- ends_values.c ---- */
bool tp_ends_make(ends *l, int i); /* the end of stop i, into l->end */
/* does e mention an end? */
bool tp_ends_mention(ends *l, const tp_ix *e);
/* The end of stop i (a number beyond any where there is none), for nodes with these dims (the
 * greatest over those of the stop's domain that are missing), after what it takes for t < upto;
 * NULL: all. */
tp_val tp_ends_read(ends *l, int i, int ndom, const tp_sym *const *dom, const tp_ix *upto);
/* a bool scalar that holds where cond does */
tp_val tp_ends_cond(ends *l, const tp_ix *cond, int ndom, const tp_sym *const *dom);
/* e as an i64 scalar */
tp_val tp_ends_value(ends *l, const tp_ix *e, int ndom, const tp_sym *const *dom);
/* of e as an end of a range of dim, whatever is reached, from 1 on */
const tp_ix *tp_ends_extreme(ends *l, const tp_ix *e, bool most, const tp_sym *dim);
/* the first term of e that is k times a min or max with an end inside; NULL: none */
const tp_ix *tp_ends_extremum(ends *l, const tp_ix *e, int64_t *k);
const tp_ix *tp_ends_clamped(ends *l, const tp_ix *e, const tp_sym *dim); /* 0 <= e < bound */
/* its domain: the dims of which e is a function */
tp_node tp_ends_about(ends *l, const tp_ix *e);
/* an extent of x mentions d */
bool tp_ends_shape_moves(tp_val x, const tp_sym *d);
/* n's needed points: what was reached at the point is a parameter. */
TP_GIVE tp_set *tp_ends_need(ends *l, const tp_node *n);
/* for anything that may be reached */
TP_GIVE tp_set *tp_ends_project(ends *l, TP_TAKE tp_set *a);
/* what may be, of the ends that a mentions */
const tp_ix *tp_ends_within(ends *l, TP_KEEP tp_set *a);
/* n's point is there */
const tp_ix *tp_ends_alive(ends *l, const tp_node *n);
/* is some done made of it? */
bool tp_ends_feeds(const ends *l, const tp_node *n);
/* v, for whoever reads it index by index */
tp_val tp_ends_same_dom(ends *l, tp_val v, int ndom, const tp_sym *const *dom);
/* all of the dims that are not left */
tp_at *tp_ends_whole(
    ends *l, int ndom, const tp_sym *const *dom, int nleft, const tp_sym *const *left);
/* n's dims without t */
int tp_ends_left(const tp_node *n, const tp_sym *t, const tp_sym **left);
/* x reduced over its dims but left, and over all of t */
tp_val tp_ends_reduced(ends *l, tp_red red, tp_val x, int n, const tp_sym *const *left);
tp_val tp_ends_over(ends *l, tp_red red, tp_val x, const tp_sym *t);
/* x where cond holds, else what adds nothing, at points of dom; a contraction's operands are masked
 * instead of its result, if nobody else sees that (only). */
tp_val tp_ends_masked(ends *l, const tp_ix *cond, int ndom, const tp_sym *const *dom, tp_val x,
    tp_red red, bool only);

/* ---- ends_sums.c ---- */
bool tp_ends_sum(ends *l, tp_node *n);
/* ---- ends_points.c ---- */
bool tp_ends_point(ends *l, tp_node *n);    /* READ */
bool tp_ends_branches(ends *l, tp_node *n); /* MERGE */
bool tp_ends_apart(ends *l, tp_node *n);    /* before these: where n reads one branch, of that */
/* x read where `at` may mention ends */
tp_val tp_ends_read_at(ends *l, tp_val x, const tp_at *at);
#endif
