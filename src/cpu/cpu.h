/* cpu: operators on windows that are no loops over points: products, convolutions, sorts, picks,
 * draws; and copies. Rank 8. ops.c has the table of operators, workspace.c their working memory;
 * the inner loops are kernels/cpu. */
#ifndef TP_CPU_H
#define TP_CPU_H
#include "cpu/machine.h"
#include "run/target.h"
#include "kernels/cpu/kernels.h"

/* The target's data of a run. same: the plan is reproducible, so our kernels add products in one
 * order. */
struct tp_cpu {
  const tp_kernels *K;
  bool same;
  char *scratch;
  size_t scratch_size;
};
static inline struct tp_cpu *tp_cpu(const tp_exec *x) { return x->own; }

/* ---- copy.c ---- */
/* the window's element at the walk's place; size: bytes of an element */
static inline char *tp_view_at(const tp_view *v, const tp_walk *w, int size) {
  return (char *)v->p + tp_walk_offset(w, v->stride) * size;
}
static inline int tp_log2_of(int size) { return size == 8 ? 3 : size == 4 ? 2 : size == 2; }
tp_view tp_view_without(const tp_view *v, int axis);
/* Two windows of one shape, squeezed and merged; the axis along which the result is contiguous is
 * last. */
typedef struct tp_pair {
  int rank;
  int64_t ext[TP_MAXRANK + 1], so[TP_MAXRANK + 1], si[TP_MAXRANK + 1];
  bool empty;
} tp_pair;
void tp_pair_make(tp_pair *p, const tp_view *out, const tp_view *in);
void tp_pair_copy(const tp_exec *x, int size, const tp_pair *p, void *out, const void *in);
/* as tp_kturn */
void tp_turn(int size, void *o, int64_t orow, const void *a, int64_t arow, int64_t rows, int64_t n);
/* same shapes */
void tp_view_copy(const tp_exec *x, int size, const tp_view *out, const tp_view *in);
/* out += in; same shapes, no halves */
void tp_view_add(const tp_exec *x, tp_dtype d, const tp_view *out, const tp_view *in);
void tp_view_fill(const tp_exec *x, tp_dtype d, const tp_view *out, double value);
/* f16, bf16 <-> f32 */
void tp_view_convert(
    const tp_exec *x, tp_dtype to, const tp_view *out, tp_dtype from, const tp_view *in);
/* either may lie on a ring */
void tp_wrapped_copy(const tp_exec *x, int size, const tp_dnd *out, const tp_dnd *in);

/* ---- operators ---- */
void tp_op_new(tp_exec *x, tp_dreg *r); /* chooses bind and run */
/* as tp_target.alike */
bool tp_op_alike(const tp_exec *x, const tp_dreg *whole, const tp_dreg *part);
bool tp_run_pinit(tp_exec *x, tp_dreg *r);
/* C (m.. , n..) (+)= A (m.., k..) * B (k.., n..) with roles by stride: every axis is in the
 * iteration space, with a stride in each of the three. f32, f64 through BLAS where the shapes
 * allow, also i32 i64. acc: add to C. Axes with stride 0 in C are summed. */
void tp_contract(tp_dtype d, int naxes, const int64_t *extent, const int64_t *sa, const int64_t *sb,
    const int64_t *sc, const void *a, const void *b, void *c, bool acc);
const tp_speed *tp_cpu_speed(void); /* one core's, measured once */

/* ---- workspace.c ---- */
/* Working memory: words of a short stream, points drawn together; bytes of a value with its place;
 * rows that are added to each of a table, at least, if all of it is in f64 (IMAGE);
 * columns of a convolution, bytes of its pieces; rows of a product by weights in blocks; blocks of
 * one of 16-bit floats, and rows of which only one operand is widened; rows that a kernel takes of
 * a matrix in no cache near. */
enum {
  TP_WORK_DRAWN = 64,
  TP_WORK_POINTS = 16,
  TP_WORK_PAIR = 16,
  TP_WORK_IMAGE = 2,
  TP_WORK_CHUNK = 1 << 19,
  TP_WORK_FEWEST = 64,
  TP_WORK_PIECE = 8 * (TP_MAXRANK + 1),
  TP_WORK_TAKEN = 128,
  TP_WORK_ROWS = 64,
  TP_WORK_BLOCK_M = 1024,
  TP_WORK_BLOCK_N = 256,
  TP_WORK_BLOCK_K = 256,
  TP_WORK_ROWS_M = 128,
  TP_WORK_ROWS_K = 2048,
  TP_WORK_THIN = 32
};
int64_t tp_work_columns(int64_t row_bytes); /* of a chunk, at most */
#endif
