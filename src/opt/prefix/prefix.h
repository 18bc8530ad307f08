/* prefix: types and functions that the files of opt/prefix share, which turn reductions over moving
 * ranges into recurrences (incremental.c says how). */
#ifndef TP_PREFIX_H
#define TP_PREFIX_H
#include "opt/opt.h"

typedef enum {
#define M(NAME, name) MONOID_##NAME,
#include "opt/prefix/monoid.def"
#undef M
} monoid_kind;
/* A reduction of x over the points lo .. hi of its dim number `r` (at[r]), other dims at at[..],
 * gives the value at each point of dom. Along dim `c` of dom the range moves: its lower end is
 * max(L, c + l) or L alone, the upper one min(H, c + h) or H alone; NULL: there is none. No other
 * index in `at` mentions c. */
typedef struct moving_range {
  tp_mk mk;
  tp_red red;
  monoid_kind kind;
  const tp_node *of; /* gives the recurrence its name */
  tp_val x;
  const tp_at *at;
  int r;
  /* EXP: v, NULL: 1. AFFINE: the factors */
  tp_val weight;
  /* AFFINE: rows are multiplied by the factors of those behind, else of those before */
  bool behind;
  tp_dtype dtype; /* dtype of the carried state */
  bool open;      /* its gradients are still to be built */
  int ndom;
  tp_dims dom;
  tp_sym *c;
  tp_ix *l, *L, *h, *H;
} moving_range;

/* Can a recurrence be made of this range? Fills in dom and the fields below it. */
bool tp_moving_range(moving_range *m);
tp_val tp_moving_row(const moving_range *m, tp_ix *p); /* row p, in dtype */

/* The state of rows that lie side by side: one value, or several. monoid.c has the functions of
 * each row of monoid.def. n 0: an error is in err. */
enum { PARTIALS = 3 };
typedef struct partial {
  int n;
  tp_val v[PARTIALS];
} partial;
static const partial tp_no_partial = { 0, { { NULL, 0 } } };
partial tp_partial_row(const moving_range *m, tp_ix *p);
partial tp_partial_none(const moving_range *m);
/* state of the rows read at `at`, whose reduction is red */
partial tp_partial_whole(const moving_range *m, tp_val red, const tp_at *at);
/* rows of a lie before those of b */
partial tp_partial_join(const moving_range *m, partial a, partial b);
/* part by part, as mk_either, mk_select, mk_at, mk_declared and tp_merge_add */
partial tp_partial_either(
    const moving_range *m, int ndom, tp_dims dom, tp_ix *cond, partial yes, partial no);
partial tp_partial_select(const moving_range *m, tp_val cond, partial yes, partial no);
partial tp_partial_at(const moving_range *m, partial a, tp_sym *d, tp_ix *p);
partial tp_partial_declared(const moving_range *m, int ndom, tp_dims dom);
bool tp_partial_branch(const moving_range *m, partial s, tp_ix *cond, partial e);

tp_val tp_partial_mean(const moving_range *m, tp_val sum, tp_val n);
tp_val tp_finite_top(const moving_range *m, tp_val top); /* 0 where it is not finite */
/* Results do not depend on top, so derivatives do not pass it. */
tp_val tp_undifferentiated(const moving_range *m, tp_val top);

/* Rows, along dim d of the reduced tensor, that end at a row (way -1) or begin with it (1), up to
 * the clip (NULL: none), with the other dims of a value at one of them. */
typedef struct window_rows {
  const moving_range *m;
  tp_sym *d;
  tp_ix *clip;
  int way;
  int ndom;
  tp_dims dom;
} window_rows;
/* The state of the last w rows up to each, rows below the clip left out; w above 1. two_stacks.c */
partial tp_two_stacks(const window_rows *r, tp_ix *w);

/* The reduction over m->dom. RED, PLACE, AFFINE: the first of its parts is the value. */
partial tp_moving_reduced(const moving_range *m);
/* the reduction over the rows lo .. hi in one call at each point */
partial tp_moving_through(const moving_range *m, tp_ix *lo, tp_ix *hi);
const bool *tp_moving_made_of(
    const moving_range *m); /* marks the nodes that x and weight are made of */
/* m over the rows lo .. hi; the caller says how these move */
moving_range tp_moving_over(const moving_range *m, tp_ix *lo, tp_ix *hi);
/* Is it a window that takes a ring, as only the call says how many rows it has? */
bool tp_takes_ring(const moving_range *m);
tp_ix *tp_window_is_long(const moving_range *m);   /* it has more than a few rows */
moving_range tp_moving_all(const moving_range *m); /* all rows that the ring takes up */
bool tp_is_window(const moving_range *m);          /* both ends move: sliding_window.c */
partial tp_window_reduced(const moving_range *m);

/* An expression that is reduced along its first axis, which stands for rows of dim d: outside *
 * (the reduction of row * exp(exponent - below)). row and exponent vary along the axis and not with
 * c, outside and below with c and not along the axis; NULL: 1, and no exp. In place of that exp a
 * row may be multiplied by `fade` for each row of the range before it (behind: behind it); fade 0:
 * it is not. */
typedef struct factor_row {
  tp_val outside, row, exponent, below;
  double fade;
  bool behind;
} factor_row;
/* window: both ends of the range move. many: the condition that it has more than a few rows, if
 * only the call says how many, else NULL. */
typedef struct factor_rows {
  tp_mk mk;
  const tp_at *range;
  tp_sym *d, *c;
  tp_ix *many;
  bool window;
} factor_rows;
bool tp_factor_rows(factor_rows *t, tp_val v, factor_row *e);
tp_val tp_factor_row(factor_rows *t, tp_val v); /* v as a row alone: no outside, exponent or fade */
/* Gives x of v = x - from: x varies from row to row and not with c, from with c and not from row to
 * row */
tp_val tp_row_deviation(factor_rows *t, tp_val v, tp_val *from);
bool tp_is_weighed(const factor_row *e); /* it has an exponent or a fade */
/* n picks the last row of a scan over rows: fills e */
bool tp_scan_end_row(factor_rows *t, const tp_node *n, factor_row *e);
#endif
