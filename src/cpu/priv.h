/* Inside src/cpu: functions of operators, and BLAS. */
#ifndef TP_CPU_PRIV_H
#define TP_CPU_PRIV_H
#include "cpu/cpu.h"

void tp_index_select_new(tp_exec *x, tp_dreg *r);
bool tp_bind_index_select(tp_exec *x, tp_dreg *r);
typedef bool tp_oprun(tp_exec *x, tp_dreg *r);
bool tp_conv_alike(const tp_dreg *whole, const tp_dreg *part); /* conv.c: as tp_op_alike */
tp_oprun tp_run_fold, tp_run_conv, tp_run_rand, tp_run_index_select, tp_run_index_add,
    tp_run_gather, tp_run_put, tp_run_scatter_add, tp_run_sort, tp_run_scan, tp_run_arg,
    tp_run_matmul, tp_run_matmul_at, tp_run_dequantize, tp_run_matmul_blocks, tp_bind_matmul_blocks;
/* each index is in 0 .. n, or the region fails */
bool tp_check_indices(tp_exec *x, tp_dreg *r, const tp_view *k, int64_t n);

/* blas.c: NULL functions where there is no library */
typedef struct tp_blas {
  void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
      int lda, const float *b, int ldb, float beta, float *c, int ldc);
  void (*dgemm)(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
      int lda, const double *b, int ldb, double beta, double *c, int ldc);
  void (*sgemv)(int order, int ta, int m, int n, float alpha, const float *a, int lda,
      const float *x, int incx, float beta, float *y, int incy);
  void (*dgemv)(int order, int ta, int m, int n, double alpha, const double *a, int lda,
      const double *x, int incx, double beta, double *y, int incy);
} tp_blas;
const tp_blas *tp_blas_get(void);
#endif
