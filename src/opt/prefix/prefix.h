/* What the files that make reductions over moving ranges recurrences share (incremental.c says
 * how). */
#ifndef TP_PREFIX_H
#define TP_PREFIX_H
#include "opt/opt.h"

typedef enum {
#define M(NAME, name) MONOID_##NAME,
#include "opt/prefix/monoid.def"
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
  /* EXP: v; NULL: 1. AFFINE: the factors */
  tp_val weight;
  bool behind;    /* AFFINE: by the factors of the rows behind, else of those before */
  tp_dtype dtype; /* that it is carried in */
  bool open;      /* gradients of it are still to be built */
  int ndom;
  const tp_sym *const *dom;
  const tp_sym *c;
  const tp_ix *l, *L, *h, *H;
} moving_range;

/* Is it such a range, of which a recurrence can be made? Fills in dom and the fields below it. */
bool tp_moving_range(moving_range *m);
tp_val tp_moving_row(const moving_range *m, const tp_ix *p); /* row p, in dtype */

/* The state of rows that lie side by side: one value, or several; of a monoid.def row's functions
 * (monoid.c). n 0: an error is in err. */
enum { PARTIALS = 3 };
typedef struct partial {
  int n;
  tp_val v[PARTIALS];
} partial;
static const partial tp_no_partial = { 0, { { NULL, 0 } } };
partial tp_partial_row(const moving_range *m, const tp_ix *p);
partial tp_partial_none(const moving_range *m);
/* of rows read at `at`, red being their reduction */
partial tp_partial_whole(const moving_range *m, tp_val red, const tp_at *at);
/* rows of a lie before those of b */
partial tp_partial_join(const moving_range *m, partial a, partial b);
/* part by part, as mk_either, mk_select, mk_at, mk_declared and tp_merge_add */
partial tp_partial_either(const moving_range *m, int ndom, const tp_sym *const *dom,
    const tp_ix *cond, partial yes, partial no);
partial tp_partial_select(const moving_range *m, tp_val cond, partial yes, partial no);
partial tp_partial_at(const moving_range *m, partial a, const tp_sym *d, const tp_ix *p);
partial tp_partial_declared(const moving_range *m, int ndom, const tp_sym *const *dom);
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
/* The state of the last w rows up to each, rows below the clip left out; w above 1. two_stacks.c */
partial tp_two_stacks(const window_rows *r, const tp_ix *w);

/* The reduction over m->dom. RED, PLACE, AFFINE: the first of its parts is the value. */
partial tp_moving_reduced(const moving_range *m);
/* over the rows lo .. hi in one go at each point */
partial tp_moving_through(const moving_range *m, const tp_ix *lo, const tp_ix *hi);
const bool *tp_moving_made_of(
    const moving_range *m); /* by node id: what x and weight are made of */
/* m over the rows lo .. hi; the caller says how these move */
moving_range tp_moving_over(const moving_range *m, const tp_ix *lo, const tp_ix *hi);
/* Is it a window that takes a ring, as only the call says how many rows it has? */
bool tp_takes_ring(const moving_range *m);
const tp_ix *tp_window_is_long(const moving_range *m); /* it has more than a few rows */
moving_range tp_moving_all(const moving_range *m);     /* all rows that the ring takes up */
bool tp_is_window(const moving_range *m);              /* both ends move: sliding_window.c */
partial tp_window_reduced(const moving_range *m);

/* What is reduced along the first axis, which stands for rows of dim d of what is read: outside *
 * (the reduction of row * exp(exponent - below)). row and exponent vary along the axis and not with
 * c, outside and below the other way round; NULL: 1, and no exp. In place of that exp a row may be
 * multiplied by `fade` for each row of the range before it (behind: behind it); 0: it is not. */
typedef struct factor_row {
  tp_val outside, row, exponent, below;
  double fade;
  bool behind;
} factor_row;
/* window: both ends of the range move. many: it has more than a few rows, if only the call says how
 * many it has, else NULL. */
typedef struct factor_rows {
  tp_mk mk;
  const tp_at *range;
  const tp_sym *d, *c;
  const tp_ix *many;
  bool window;
} factor_rows;
bool tp_factor_rows(factor_rows *t, tp_val v, factor_row *e);
tp_val tp_factor_row(
    factor_rows *t, tp_val v); /* one row, if it is another for each and nothing else */
/* v = x - from, x another for each row and not with c, from the other way round: gives x */
tp_val tp_row_deviation(factor_rows *t, tp_val v, tp_val *from);
bool tp_is_weighed(const factor_row *e); /* by more than row and outside */
/* n, the row in which a sum of rows up to each ends */
bool tp_scan_end_row(factor_rows *t, const tp_node *n, factor_row *e);
#endif
