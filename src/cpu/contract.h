/* A contraction with its roles found (contract.c), for src/cpu and for devices' libraries. */
#ifndef TP_CONTRACT_H
#define TP_CONTRACT_H
#include "cpu/priv.h"

typedef enum {
  TP_MM_NOTHING,
  TP_MM_ZERO,
  TP_MM_OWN,
  TP_MM_THIN,
  TP_MM_PAIRS,
  TP_MM_GEMM,
  TP_MM_GEMV,
  TP_MM_BLOCKS
} tp_mmkind;
typedef struct tp_contraction {
  const struct tp_cpu *cpu;
  /* d: type of C and the sums; in: of A and of B, the same, or f16 or bf16 beside f32 */
  tp_dtype d, in[2];
  tp_mmkind kind;
  int size, insize[2];
  /* C is contiguous along m: the product is computed transposed */
  bool swapped;
  tp_mm s; /* one matrix product */
  int ta, tb, lda, ldb, ldc;
  /* loops around it; those from firstsum on add to the same places */
  int nloop, firstsum;
  int64_t ext[TP_MAXRANK], la[TP_MAXRANK], lb[TP_MAXRANK], lc[TP_MAXRANK];
} tp_contraction;
void tp_contraction_make(tp_contraction *t, const struct tp_cpu *cpu, tp_dtype d, tp_dtype a,
    tp_dtype b, int naxes, const int64_t *extent, const int64_t *sa, const int64_t *sb,
    const int64_t *sc);
/* that of a MATMUL whose windows have their extents; none lies on a ring (ops.c) */
void tp_matmul_contraction(const tp_exec *x, const tp_dreg *r, tp_contraction *to);
/* does each element of the part get its terms as in the whole? */
bool tp_contraction_alike(const tp_contraction *whole, const tp_contraction *part);
/* floats of working space for a run */
int64_t tp_contraction_room(const tp_contraction *t);
void tp_contraction_run(
    const tp_contraction *t, const void *a, const void *b, void *c, bool acc, float *room);
/* A product by weights in blocks (blocks.c): C = A (rows, k) times B (n, k) turned, f32 but for B,
 * where s.sbn is a row's step in bytes. bytes, step: of such a row, and between two of them; row:
 * of A in whole spans. room: for rows of A; line, weights: for one of A, and of B unless step is 1.
 */
typedef struct tp_blocks_mm {
  const tp_kernels *K;
  tp_format f;
  bool exact;
  tp_mm s;
  int64_t bytes, step, row;
  char *room;
  float *line;
  uint8_t *weights;
} tp_blocks_mm;
static inline int64_t tp_blocks_span(bool exact) {
  return exact ? TP_SPAN * (int64_t)sizeof(float) : (int64_t)sizeof(tp_eights);
}
void tp_blocks_multiply(const tp_blocks_mm *q, const float *a, const uint8_t *b, float *c);
#endif
