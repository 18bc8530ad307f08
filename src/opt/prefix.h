/* What the files that make reductions over moving ranges recurrences share (incremental.c says
 * how). */
#ifndef TP_PREFIX_H
#define TP_PREFIX_H
#include "opt/opt.h"
#include "graph/mk.h"

/* monoid.c */
typedef enum {
#define M(NAME, name) MONOID_##NAME,
#include "opt/monoid.def"
#undef M
} monoid_kind;
/* X over the points lo .. hi of its dim number `r` (at[r]), other dims at at[..], is reduced: the
 * value at each point of dom. Along dim `c` of dom the range moves: its lower end is max(L, c + l)
 * or L alone, the upper one min(H, c + h) or H alone; NULL: there is none such. Nothing else of at
 * mentions c. */
typedef struct moving_range {
  tp_mk mk;
  tp_red red;
  monoid_kind kind;
  const tp_node *of; /* gives the recurrence its name */
  tp_val x;
  const tp_at *at;
  int r;
  /* of MONOID_EXP: v; NULL: 1. Of MONOID_AFFINE: the factors. Of MONOID_SQUARES: what deviates
   * with x; NULL: x itself */
  tp_val weight;
  /* of MONOID_AFFINE: by those of the rows behind it, else of those before */
  bool behind;
  tp_dtype dtype; /* that it is carried in */
  bool open;      /* gradients of it are still to be built */
  bool keep;      /* the result stays in it; else it may be of x's */
  int ndom;
  const tp_sym *const *dom;
  const tp_sym *c;
  const tp_ix *l, *L, *h, *H;
} moving_range;

/* Is it such a range, of which a recurrence can be made? Fills in dom and what follows. */
bool tp_moving_range(moving_range *m);
bool tp_moving_ends(moving_range *m, const tp_at *range); /* the ends alone, along m->c */
/* The sum of v * exp(x - top) over the range, x being what m is of, top its maximum, over m->dom,
 * and 0 where that is not finite: carried as sums are. v {NULL}: 1. */
tp_val tp_moving_exp(const moving_range *m, tp_val v, tp_val *top);
/* The sum of (x - mean)^2, or of (x - mean[0]) (weight - mean[1]), over the range, the means and
 * how many rows that is, over m->dom. */
tp_val tp_moving_squares(const moving_range *m, tp_val mean[2], tp_val *count);
tp_val tp_moving_row(const moving_range *m, const tp_ix *p); /* row p, in what is carried */

/* What is carried of rows that lie side by side: one value, or several. n 0: an error is in err.
 * monoid.c */
enum { PARTIALS = 4 };
typedef struct partial {
  int n;
  tp_val v[PARTIALS];
} partial;
partial tp_partial_row(const moving_range *m, const tp_ix *p);
partial tp_partial_none(const moving_range *m);
/* of rows read at `at`, red being their reduction */
partial tp_partial_whole(const moving_range *m, tp_val red, const tp_at *at);
/* rows of a lie before those of b */
partial tp_partial_join(const moving_range *m, partial a, partial b);
partial tp_partial_either(const moving_range *m, int ndom, const tp_sym *const *dom,
    const tp_ix *cond, partial yes, partial no);
partial tp_partial_select(const moving_range *m, tp_val cond, partial yes, partial no);
partial tp_partial_at(const moving_range *m, partial a, const tp_sym *d, const tp_ix *p);
partial tp_partial_declared(const moving_range *m, int ndom, const tp_sym *const *dom);
/* in the dtypes of s */
bool tp_partial_branch(const moving_range *m, partial s, const tp_ix *cond, partial e);

tp_val tp_partial_mean(const moving_range *m, tp_val sum, tp_val n);
tp_val tp_finite_top(const moving_range *m, tp_val top); /* 0 where it is not finite */
/* Results do not depend on it, so derivatives do not pass it. */
tp_val tp_undifferentiated(const moving_range *m, tp_val top);

/* Rows of dim d of what is reduced that end at a row (way -1) or begin with it (1), up to the clip
 * (NULL: none clips), with the other dims that a value at one of them has. */
typedef struct window_rows {
  const moving_range *m;
  const tp_sym *d;
  const tp_ix *clip;
  int way;
  int ndom;
  const tp_sym *const *dom;
} window_rows;
/* What the last w rows up to each are, rows below the clip left out; w above 1. two_stacks.c */
partial tp_two_stacks(const window_rows *r, const tp_ix *w);

/* The reduction over m->dom; the first of its parts is the value. */
partial tp_moving_reduced(const moving_range *m);
/* over the rows lo .. hi, one after the other at each point */
partial tp_moving_through(const moving_range *m, const tp_ix *lo, const tp_ix *hi);
/* m, but of these rows; what moves is for the caller to say */
moving_range tp_moving_over(const moving_range *m, const tp_ix *lo, const tp_ix *hi);
/* A window that takes a ring, of whose rows only the call says how many: what these are if there
 * are more than a few, and all rows that the ring takes up. */
bool tp_takes_ring(const moving_range *m);
const tp_ix *tp_window_is_long(const moving_range *m);
moving_range tp_moving_all(const moving_range *m);
bool tp_is_window(const moving_range *m); /* both ends move: window.c */
partial tp_window_reduced(const moving_range *m);

/* point by point, of what the call is given */
bool tp_made_of_inputs(tp_graph *g, tp_val a, tp_val b);

/* A reduction's operand along its first axis, which stands for the rows lo .. hi of dim d of what
 * is read. factor_rows.c */
/* One term: outside * (the reduction of row * exp(exponent - below)). row and exponent vary along
 * the axis and not with c, outside and below the other way round; NULL: 1, and no exp. In place of
 * that exp a row may be multiplied by `factor` of all rows of the range before it (behind: behind
 * it). later: the first axis of row and outside is still to be summed, when the rows are. */
typedef struct factor_row {
  tp_val outside, row, exponent, below, factor;
  bool behind, later;
} factor_row;
enum { FACTOR_ROWS = 6, FACTOR_ROW_PARTS = 5 };
/* begin, end: of the range, where these do not move; NULL. many: where the range has more than a
 * few rows, if only the call says how many it has, else NULL. sums: of sums of products each is a
 * term; differences too: a difference cancels after it is summed, for what is summed in f64 and
 * rounded to less. */
typedef struct factor_rows {
  tp_mk mk;
  const tp_at *range;
  const tp_sym *d, *c;
  const tp_ix *begin, *end, *many;
  bool sums, differences;
  int n;
  factor_row v[FACTOR_ROWS];
} factor_rows;
bool tp_factor_rows(factor_rows *t, tp_val v);
/* One row of v, whose axis number rank from the end is that of the rows; {NULL}: that cannot be
 * said. in: it is another for each row. And v's terms, behind those that there are. */
tp_val tp_terms_row(factor_rows *t, tp_val v, int rank, bool *in);
bool tp_terms_of(factor_rows *t, tp_val v, int rank);
bool tp_is_weighed(const factor_row *e); /* by more than row and outside */
/* Rows and terms of scans along the rows: scan_weights.c */
tp_val tp_scanned_row(factor_rows *t, const tp_node *n, int rank, bool *in);
bool tp_scanned_terms(factor_rows *t, const tp_node *n, int rank);
/* n is the row in which a sum of rows up to each ends */
bool tp_scan_end_terms(factor_rows *t, const tp_node *n);
/* exp(k v), v sums of rows up to each */
bool tp_exp_of_sums(factor_rows *t, tp_val v, double k, int rank);
/* A read of a range whose rows are the first axis of v, and which of its indices is that; NULL:
 * there is none. incremental.c */
const tp_node *tp_range_below(tp_val v, int *r);
/* Of a product of matrices the first operand with what is summed along as its first axis; {NULL}:
 * that cannot be said. */
tp_val tp_rows_first(tp_mk mk, const tp_node *n);
/* x - from: x another for each row and not with c, from the other way round; NULL: 0. */
typedef struct row_deviation {
  tp_val x, from;
} row_deviation;
bool tp_row_deviation(factor_rows *t, tp_val v, row_deviation *d);
#endif
