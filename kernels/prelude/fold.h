/* Folds. A row goes by TP_FOLD_LANES partial results: element j goes to lane j mod TP_FOLD_LANES;
 * after each TP_FOLD_PART elements the lanes are joined, upper half to lower half until one is
 * left, and taken into the result; the rest of the row follows one by one. Native code and the
 * interpreter's kernels have this order. The most of floats is a NaN if there is one: lanes keep
 * numbers and NaNs apart. */
#define TP_FOLD_LANES        32
#define TP_FOLD_PART         1024
#define TP_FOLD_ADD(x, y)    ((x) + (y))
#define TP_FOLD_MUL(x, y)    ((x) * (y))
#define TP_FOLD_MOST(x, y)   ((y) > (x) ? (y) : (x))
#define TP_FOLD_LEAST(x, y)  ((y) < (x) ? (y) : (x))
#define TP_FOLD_FMOST(x, y)  ((x) != (x) ? (x) : (y) <= (x) ? (x) : (y))
#define TP_FOLD_FLEAST(x, y) ((x) != (x) ? (x) : (y) >= (x) ? (x) : (y))
#define TP_FOLD_ANY(x, y)    ((x) | ((y) != 0))
#define TP_FOLD_ALL(x, y)    ((x) & ((y) != 0))

/* Takes an element y, of type P, into a lane: x, and odd, which keeps NaNs apart. */
#define TP_LANE_ADD(P, x, odd, y)    ((x) = (P)((x) + (y)))
#define TP_LANE_MUL(P, x, odd, y)    ((x) = (P)((x) * (y)))
#define TP_LANE_MOST(P, x, odd, y)   ((x) = TP_FOLD_MOST(x, y))
#define TP_LANE_LEAST(P, x, odd, y)  ((x) = TP_FOLD_LEAST(x, y))
#define TP_LANE_FMOST(P, x, odd, y)  ((odd) = (y) != (y) ? (y) : (odd), (x) = (y) > (x) ? (y) : (x))
#define TP_LANE_FLEAST(P, x, odd, y) ((odd) = (y) != (y) ? (y) : (odd), (x) = (y) < (x) ? (y) : (x))
#define TP_LANE_ANY(P, x, odd, y)    ((x) = (P)TP_FOLD_ANY(x, y))
#define TP_LANE_ALL(P, x, odd, y)    ((x) = (P)TP_FOLD_ALL(x, y))
/* The result of a lane. */
#define TP_LANE_END_ADD(x, odd)    ((void)(odd), (x))
#define TP_LANE_END_MUL(x, odd)    ((void)(odd), (x))
#define TP_LANE_END_MOST(x, odd)   ((void)(odd), (x))
#define TP_LANE_END_LEAST(x, odd)  ((void)(odd), (x))
#define TP_LANE_END_FMOST(x, odd)  ((odd) != (odd) ? (odd) : (x))
#define TP_LANE_END_FLEAST(x, odd) ((odd) != (odd) ? (odd) : (x))
#define TP_LANE_END_ANY(x, odd)    ((void)(odd), (x))
#define TP_LANE_END_ALL(x, odd)    ((void)(odd), (x))

#define TP_LANES_START(P, part, odd, unit) \
  P part[TP_FOLD_LANES], odd[TP_FOLD_LANES]; \
  for (int k = 0; k < TP_FOLD_LANES; k++) part[k] = (P)(unit), odd[k] = 0
/* Each step by itself, of a known length: gcc makes one instruction of it, if it does not take it
 * apart before. */
#if defined(__GNUC__) && !defined(__clang__)
#define TP_ROLLED _Pragma("GCC unroll 1")
#else
#define TP_ROLLED
#endif
#define TP_LANES_HALVE(A, fn, n) \
  TP_ROLLED for (int k = 0; k < (n); k++) all_[k] = (A)TP_FOLD_##fn(all_[k], all_[k + (n)])
#define TP_LANES_JOIN(A, fn, acc, part, odd) \
  do { \
    A all_[TP_FOLD_LANES]; \
    for (int k = 0; k < TP_FOLD_LANES; k++) all_[k] = (A)TP_LANE_END_##fn(part[k], odd[k]); \
    TP_LANES_HALVE(A, fn, 16); \
    TP_LANES_HALVE(A, fn, 8); \
    TP_LANES_HALVE(A, fn, 4); \
    TP_LANES_HALVE(A, fn, 2); \
    TP_LANES_HALVE(A, fn, 1); \
    (acc) = (A)TP_FOLD_##fn(acc, all_[0]); \
  } while (0)

/* ---- products ---- each sum is of the dtype itself, a term fused into it by tp_mad. Its terms are
 * added one by one, from 0 on, in blocks of TP_DOT_BLOCK whose sums are added up. But if both
 * operands lie contiguous along k and TP_DOTS says so, it is that of tp_dot: term p goes to lane p
 * mod TP_DOT_LEAST (f64: half as many lanes; a sum that stands alone: TP_DOT_ALONE times as many),
 * zeros fill up the last row of lanes, and lanes are joined by halves; sums of TP_DOT_LONG terms
 * are added up, unless one stands alone. With many terms the number of rows and columns does not
 * matter: a row has the same bits in any batch. `batch`: there are several such products. */
#define TP_DOT_BLOCK   128
#define TP_DOT_LONG    512
#define TP_DOT_LEAST   16
#define TP_DOT_FEW(k)  ((k) < 4 * TP_DOT_LEAST ? 8 : 16)
#define TP_DOT_MANY(b) ((b) ? 4 * TP_DOT_LEAST : TP_DOT_BLOCK)
#define TP_DOT_ALONE   4
#define TP_DOTS(m, n, k, batch) \
  ((k) >= TP_DOT_LEAST && ((k) >= TP_DOT_MANY(batch) || (m) < TP_DOT_FEW(k) || (n) < TP_DOT_FEW(k)))
