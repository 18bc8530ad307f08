/* What the files that make reductions over moving ranges recurrences share (incremental.c says
 * how). */
#ifndef TP_RUNNING_H
#define TP_RUNNING_H
#include "opt/opt.h"
#include "graph/mk.h"

/* X over the points lo .. hi of its dim number `r` (at[r]), other dims at at[..], is reduced: the
 * value at each point of dom. Along dim `c` of dom the range moves: its lower end is max(L, c + l)
 * or L alone, the upper one min(H, c + h) or H alone; NULL: there is none such. Nothing else of at
 * mentions c. */
typedef enum {
#define M(NAME, name) RUNNING_##NAME,
#include "opt/monoid.def"
#undef M
} running_kind;
typedef struct moving {
  tp_mk mk;
  tp_red red;
  running_kind kind;
  const tp_node *of; /* gives the recurrence its name */
  tp_val x;
  const tp_at *at;
  int r;
  /* of RUNNING_EXP: v; NULL: 1. Of RUNNING_AFFINE: the factors. Of RUNNING_SQUARES: what deviates
   * with x; NULL: x itself */
  tp_val weight;
  /* of RUNNING_AFFINE: by those of the rows behind it, else of those before */
  bool behind;
  tp_dtype dtype; /* that it is carried in */
  bool open;      /* gradients of it are still to be built */
  bool keep;      /* the result stays in it; else it may be of x's */
  int ndom;
  const tp_sym *const *dom;
  const tp_sym *c;
  const tp_ix *l, *L, *h, *H;
} moving;

/* Is it such a range, of which a recurrence can be made? Fills in dom and what follows. */
bool tp_moving_range(moving *m);
bool tp_moving_ends(moving *m, const tp_at *range); /* the ends alone, along m->c */
/* The recurrence's value over m->dom. */

/* The sum of v * exp(x - top) over the range, x being what m is of, top its maximum, over m->dom,
 * and 0 where that is not finite: carried as sums are. v {NULL}: 1. */
tp_val tp_running_exp(const moving *m, tp_val v, tp_val *top);
/* The sum of (x - mean)^2, or of (x - mean[0]) (weight - mean[1]), over the range, the means and
 * how many rows that is, over m->dom. */
tp_val tp_running_squares(const moving *m, tp_val mean[2], tp_val *count);
tp_val tp_running_row(const moving *m, const tp_ix *p); /* row p, in what is carried */

/* What is carried of rows that lie side by side: one value, or several. n 0: an error is in err.
 * monoid.c */
enum { RUNNING_PARTS = 4 };
typedef struct running_parts {
  int n;
  tp_val v[RUNNING_PARTS];
} running_parts;
running_parts tp_parts_row(const moving *m, const tp_ix *p);
running_parts tp_parts_none(const moving *m);
/* of rows read at `at`, red being their reduction */
running_parts tp_parts_whole(const moving *m, tp_val red, const tp_at *at);
/* rows of a lie before those of b */
running_parts tp_parts_join(const moving *m, running_parts a, running_parts b);
running_parts tp_parts_either(const moving *m, int ndom, const tp_sym *const *dom,
    const tp_ix *cond, running_parts yes, running_parts no);
running_parts tp_parts_select(const moving *m, tp_val cond, running_parts yes, running_parts no);
running_parts tp_parts_at(const moving *m, running_parts a, const tp_sym *d, const tp_ix *p);
running_parts tp_parts_declared(const moving *m, int ndom, const tp_sym *const *dom);
/* in the dtypes of s */
bool tp_parts_branch(const moving *m, running_parts s, const tp_ix *cond, running_parts e);

/* Rows of dim d of what is reduced, with the other dims that a value at one of them has. */
typedef struct running_rows {
  const moving *m;
  const tp_sym *d;
  const tp_ix *clip;
  int way;
  int ndom;
  const tp_sym *const *dom;
} running_rows;
/* What the last w rows up to each are, rows below the clip left out; w above 1. running_ring.c */
running_parts tp_running_ring(const running_rows *r, const tp_ix *w);

running_parts tp_running_parts(const moving *m);
/* over the rows lo .. hi, one after the other at each point */
running_parts tp_running_through(const moving *m, const tp_ix *lo, const tp_ix *hi);
/* m, but of these rows; what moves is for the caller to say */
moving tp_moving_over(const moving *m, const tp_ix *lo, const tp_ix *hi);
/* A window that takes a ring, of whose rows only the call says how many: what these are if there
 * are more than a few, and all rows that the ring takes up. */
bool tp_takes_ring(const moving *m);
const tp_ix *tp_window_is_long(const moving *m);
moving tp_moving_all(const moving *m);
bool tp_is_window(const moving *m); /* both ends move: running_window.c */
running_parts tp_running_window(const moving *m);

/* point by point, of what the call is given */
bool tp_made_of_inputs(tp_graph *g, tp_val a, tp_val b);

/* A reduction's operand along its first axis, which stands for the rows lo .. hi of dim d of what
 * is read. running_terms.c */
/* The reduction of out * in * exp(up - off): in and up vary along the axis and not with c, out and
 * off the other way round; NULL: 1, and no exp. In place of that exp it may be multiplied by `by`
 * of all rows of the range before it (behind: behind it). later: the first axis of in and out is
 * still to be summed, when the rows are. */
typedef struct running_term {
  tp_val in, out, up, off, by;
  bool behind, later;
} running_term;
enum { RUNNING_TERMS = 6, RUNNING_TERM_PARTS = 5 };
/* begin, end: of the range, where these do not move; NULL. many: where the range has more than a
 * few rows, if only the call says how many it has, else NULL. sums: of sums of products each is a
 * term; differences too: a difference cancels after it is summed, for what is summed in f64 and
 * rounded to less. */
typedef struct running_terms {
  tp_mk mk;
  const tp_at *range;
  const tp_sym *d, *c;
  const tp_ix *begin, *end, *many;
  bool sums, differences;
  int n;
  running_term v[RUNNING_TERMS];
} running_terms;
bool tp_running_terms(running_terms *t, tp_val v);
/* One row of v, whose axis number rank from the end is that of the rows; {NULL}: that cannot be
 * said. in: it is another for each row. And v's terms, behind those that there are. */
tp_val tp_terms_row(running_terms *t, tp_val v, int rank, bool *in);
bool tp_terms_of(running_terms *t, tp_val v, int rank);
bool tp_is_weighed(const running_term *e); /* by more than in and out */
/* Of what is scanned along the rows, or moved by one of them: running_scans.c */
tp_val tp_scanned_row(running_terms *t, const tp_node *n, int rank, bool *in);
bool tp_scanned_terms(running_terms *t, const tp_node *n, int rank);
/* n is the row in which a sum of rows up to each ends */
bool tp_scan_end_terms(running_terms *t, const tp_node *n);
/* exp(k v), v sums of rows up to each */
bool tp_exp_of_sums(running_terms *t, tp_val v, double k, int rank);
/* A read of a range whose rows are the first axis of v, and which of its indices is that; NULL:
 * there is none. incremental.c */
const tp_node *tp_range_below(tp_val v, int *r);
/* Of a product of matrices the first operand with what is summed along as its first axis; {NULL}:
 * that cannot be said. */
tp_val tp_rows_first(tp_mk mk, const tp_node *n);
/* x - from: x another for each row and not with c, from the other way round; NULL: 0. */
typedef struct running_off {
  tp_val x, from;
} running_off;
bool tp_running_off(running_terms *t, tp_val v, running_off *d);
#endif
