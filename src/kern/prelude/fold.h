/* Folds: one step of each, and how long rows are cut (plan/walk.c has the order). */
#define TP_FOLD_LANES 32
#define TP_FOLD_PART 1024
#define TP_FOLD_ADD(x, y) ((x) + (y))
#define TP_FOLD_MUL(x, y) ((x) * (y))
#define TP_FOLD_MOST(x, y) ((y) > (x) ? (y) : (x))
#define TP_FOLD_LEAST(x, y) ((y) < (x) ? (y) : (x))
#define TP_FOLD_FMOST(x, y) ((x) != (x) ? (x) : (y) <= (x) ? (x) : (y))      /* a NaN stays, a new NaN gets in */
#define TP_FOLD_FLEAST(x, y) ((x) != (x) ? (x) : (y) >= (x) ? (x) : (y))
#define TP_FOLD_ANY(x, y) ((x) | ((y) != 0))
#define TP_FOLD_ALL(x, y) ((x) & ((y) != 0))

/* ---- products ---- each sum is of the dtype itself, a term fused into it by tp_mad. Its terms are added one by one, from 0 on, in blocks of TP_DOT_BLOCK whose sums are added
 * up. But where both operands lie contiguous along at least TP_DOT_LEAST terms and there are less than TP_DOT_FEW rows or columns it is that of tp_dot: four rows of
 * TP_DOT_LEAST lanes (f64: half of that), joined by halves. */
#define TP_DOT_BLOCK 128
#define TP_DOT_LEAST 16
#define TP_DOT_FEW 4
