/* Inside src/emit: a LOOP that becomes C loops, for the files that print them. */
#ifndef TP_EMIT_NEST_H
#define TP_EMIT_NEST_H
#include "emit/priv.h"

/* rows, columns of a device's tile: with fewer, threads make elements one by one, or by columns */
enum { EMIT_TILE_LEAST = 16 };
enum { TILE_ROW = 64 }; /* elements of a tile along the innermost axis */
enum { EMIT_ROWS = 4 }; /* of a thin product, at a time (TP_EIGHTS_ROWS) */

typedef struct {
  tp_emit *e;
  const tp_region *r;
  int pos;
  int nw;
  const tp_nd **w; /* windows: inputs, then results */
  int nax;
  tp_axis *ax;
  tp_axis_strides *stride; /* as tp_nest */
  /* the place of a written out point along the region's axes; NULL: loops */
  const int64_t *at;
  bool folds, product; /* product: x * y is fused into the sum */
  /* near: operators assume that operands are near, and set `far` if one is not; again: the strip is
   * made once more by the form that is right for all */
  bool near, again;
  bool together;      /* a block's threads fold a kept point (emit_folds_together) */
  bool lanes;         /* the same by TP_FOLD_LANES of them, a point for each group */
  bool fours;         /* a thread makes four neighbours at once (emit_by_fours) */
  bool checks, looks; /* values are looked at; and nothing is stored (look.c) */
  int across;         /* the axis along which turned windows lie */
  /* the axis along which windows wrap, gone through from one seam to the next; -1: none */
  int seam;
  /* by window: are its elements of a tile turned into t<w>? NULL: there are no tiles */
  const bool *turned;
} nest;

/* Does window w lie along the axis? */
static inline bool emit_moves(const nest *l, int w, int axis) {
  return !tp_is_number(l->stride[w][axis], 0);
}

/* body.c */
/* Finds the nest's axes. The summed axis of a product goes innermost or
 * around columns: its terms are added one by one either way. */
void emit_find_axes(nest *l);
nest emit_nest_of(tp_emit *e, const tp_pnode *x);
/* the extent of an axis; -1: it is not known */
int64_t emit_extent(const nest *l, int axis);
/* Has the axis so many places? If that is not known, it counts as long. */
bool emit_has_least(const nest *l, int axis, int64_t least);
/* the axes that are kept, but these two; how many */
int emit_kept_axes(const nest *l, tp_emit_axis *ax, int but, int other);
void emit_open_axis(const nest *l, int k);
/* opens loops over the axes that are folded, but that one; how many */
int emit_open_folded(const nest *l, int but);
void emit_element(const nest *l, int w);
/* its text as the type that computes: it is in a local, or in memory */
const char *emit_value(const nest *l, int w);
void emit_windows(const nest *l);
/* Is input i the same along the innermost axis? Then it is read before that loop. */
bool emit_is_fixed(const nest *l, int i);
void emit_open_seams(const nest *l);
void emit_inputs(const nest *l, bool fixed);
/* Has the operator a form without branches for near operands? */
bool emit_has_near(const tp_region *r, const tp_micro *m);
/* Prints the end of the run at this point. */
void emit_fault(const nest *l, int what, bool here);
void emit_work(const nest *l);
/* Stores result k, whose value is the text, or adds it to the element that is there. */
void emit_store(const nest *l, int k, const char *value);
void emit_results(const nest *l, int first);
const char *emit_result(const nest *l, int k); /* what the point makes, and stores or folds */

/* map.c */
void emit_axis_alone(const nest *l, int k, int from, int to);
/* Opens a loop over elements j .. j + some of an axis, `most` at a time; returns the largest
 * `some`. */
int emit_open_pieces(const nest *l, int axis, int most);
void emit_open_elements(const nest *l, int axis, const char *count);
/* Opens a loop over elements that makes the micros, `most`: of `count`, and in which the caller
 * stores results from `first` on. Operators with branches go without them; if an operand was far,
 * the strip is made again. */
void emit_open_work(const nest *of, int axis, const char *count, int most, int first);
void emit_map(const nest *l);
/* Should a thread make four neighbours, which it reads and writes at once? */
bool emit_by_fours(const nest *l);
/* Prints the points of axes that are kept for threads, each with all that is added to it. */
void emit_for_threads(const nest *l);
void emit_tiles(const nest *l);

/* look.c */
void emit_look_at_values(const nest *l);
void emit_look_at_sum(const nest *l);
void emit_look_behind(tp_emit *e, const tp_pnode *x);

/* tile.c */
/* Finds axes of a product of matrices of floats: by operand, the longest that is kept and that the
 * other does not lie along; the last summed one, along which both lie. False: it is none. */
bool emit_matrices(const nest *l, int kept[2], int *k);
/* declares the extents of three axes, m_, n_, k_ */
void emit_put_extents(const nest *l, int m, int n, int k);
/* Prints a product of matrices, of which all blocks of a device make tiles; false: it is none, or
 * a small one, and nothing is printed. */
bool emit_tile(const nest *l);

/* thin.c */
/* Prints a product of few rows, and opens the branch for more of them; false: it is none, and
 * nothing is printed. */
bool emit_thin(const nest *l);
/* Opens the loop of blocks over axes and `columns`, n_, `each` at a time. The column of a thread is
 * number `own` of these, named `at`; mine_: is there one? */
void emit_open_columns(
    tp_emit *e, int n, tp_emit_axis *ax, tp_ix *columns, int each, const char *own, const char *at);
/* Opens the loop over rows top_ .. top_ + rows_ - 1 of m_, and the branch for a single one. */
void emit_open_few_rows(tp_emit *e);
/* Opens the loop over rows r_ of these, at most `most`. */
void emit_open_row(tp_emit *e, int most);

/* reduction.c */
void emit_fold(const nest *l);
/* A fold of nothing changes no number that it would be added to: opens the branch of some terms;
 * false: there is no such number, and no branch. */
bool emit_open_terms(const nest *l);
/* Are terms of the product added by blocks, as the host adds them? Then the result is stored by
 * emit_store_whole, which has taken the sum that was there before as its begin: emit_begin_sum
 * prints that number. */
bool emit_adds_blocks(const nest *l);
void emit_begin_sum(const nest *l);
void emit_store_whole(const nest *l, const char *value);
/* Should a block's threads fold a point together? So few points are kept, and rows are long. */
bool emit_folds_together(const nest *l);
/* Should groups of threads, where the leaf is all of a kernel? Neighbours then read neighbours. */
bool emit_folds_by_lanes(const nest *l);
void emit_fold_point(const nest *l); /* prints the fold into the point at hand */
/* Prints the kept point l->at with all points that are folded into it. */
void emit_folded_point(const nest *l, int64_t *at, const int64_t *shape);
#endif
