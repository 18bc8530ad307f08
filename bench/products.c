/* Matrix products of f32 by our kernels and by OpenBLAS, one after the other in one process on one
 * core: GFLOP/s of both, and theirs over ours. n: as it lies, T: transposed. cc -O2 -D_GNU_SOURCE
 * -Isrc -Iinclude bench/products.c build/libtempo.a -lisl -lgmp -lz -lm -ldl -lpthread -o
 * /tmp/products && taskset -c 1 /tmp/products TEMPO_ISA=base|avx2|avx512 chooses the table;
 * OPENBLAS_CORETYPE theirs. */
#include "cpu/contract.h"
#include "kernels/cpu/kernels.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void gemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
    int lda, const float *b, int ldb, float beta, float *c, int ldc);
enum { ROUNDS = 15, MOST = 1 << 22 };
static const struct {
  int m, n, k;
  bool ta, tb;
} rows[] = {
  { 32, 64, 4, 0, 1 },
  { 32, 64, 64, 0, 1 },
  { 32, 2, 64, 0, 1 },
  { 32, 64, 64, 0, 0 },
  { 256, 64, 64, 0, 0 },
  { 256, 64, 64, 0, 1 },
  { 64, 64, 256, 1, 0 },
  { 4, 64, 256, 1, 0 },
  { 64, 64, 64, 0, 0 },
  { 2048, 64, 64, 0, 1 },
  { 2048, 64, 64, 0, 0 },
  { 64, 64, 2048, 1, 0 },
  { 256, 256, 256, 0, 0 },
  { 256, 256, 256, 0, 1 },
  { 128, 512, 128, 0, 1 },
  { 32, 512, 128, 0, 1 },
  { 512, 512, 512, 0, 0 },
  { 1024, 1024, 1024, 0, 0 },
  { 1600, 1600, 1600, 0, 0 },
  { 4, 64, 64, 0, 1 },
  { 4, 64, 64, 0, 0 },
  { 1, 512, 512, 0, 1 },
  { 1, 64, 64, 0, 1 },
  { 2, 64, 64, 0, 1 },
  { 16, 16, 16, 0, 0 },
  { 8, 8, 8, 0, 0 },
  { 4, 4, 4, 0, 0 },
  { 100, 100, 100, 0, 0 },
  { 30, 30, 30, 0, 0 },
  { 8, 64, 64, 0, 1 },
  { 64, 4, 64, 0, 1 },
  { 66, 66, 66, 0, 0 },
  { 70, 70, 70, 0, 0 },
  { 90, 90, 90, 0, 0 },
  { 4, 512, 512, 0, 1 },
  { 12, 512, 512, 0, 1 },
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void) {
  void *lib = dlopen("libopenblas.so.0", RTLD_NOW);
  gemm *theirs = lib ? (gemm *)dlsym(lib, "cblas_sgemm") : NULL;
  void (*threads)(int) = lib ? (void (*)(int))dlsym(lib, "openblas_set_num_threads") : NULL;
  if (!theirs) {
    fprintf(stderr, "no OpenBLAS here\n");
    return 1;
  }
  if (threads) threads(1);
  float *a = aligned_alloc(64, MOST * sizeof *a), *b = aligned_alloc(64, MOST * sizeof *b),
        *c = aligned_alloc(64, MOST * sizeof *c), *d = aligned_alloc(64, MOST * sizeof *d);
  for (int i = 0; i < MOST; i++) a[i] = sinf((float)i), b[i] = cosf((float)i * 0.7f);
  printf("%s\n    m     n     k        ours      BLAS  GFLOP/s   ratio   difference\n",
      tp_kernels_get()->isa);
  for (size_t q = 0; q < sizeof rows / sizeof *rows; q++) {
    int m = rows[q].m, n = rows[q].n, k = rows[q].k, lda = rows[q].ta ? m : k,
        ldb = rows[q].tb ? k : n;
    int64_t ext[3] = { m, n, k }, sa[3] = { rows[q].ta ? 1 : k, 0, rows[q].ta ? m : 1 },
            sb[3] = { 0, rows[q].tb ? k : 1, rows[q].tb ? 1 : n }, sc[3] = { n, 1, 0 };
    struct tp_cpu cpu = { .K = tp_kernels_get() };
    tp_contraction t;
    tp_contraction_make(&t, &cpu, TP_F32, TP_F32, TP_F32, 3, ext, sa, sb, sc);
    double work = (double)m * n * k, best[2] = { 1e30, 1e30 }, apart = 0;
    int times = work > 1e7 ? 3 : work > 1e5 ? 50 : 1000;
    for (int r = 0; r < 2 * ROUNDS; r++) {
      double start = now();
      for (int i = 0; i < times; i++)
        if (r & 1)
          theirs(101, rows[q].ta ? 112 : 111, rows[q].tb ? 112 : 111, m, n, k, 1, a, lda, b, ldb, 0,
              d, n);
        else tp_contraction_run(&t, a, b, c, false, NULL);
      best[r & 1] = fmin(best[r & 1], (now() - start) / times);
    }
    for (int i = 0; i < m * n; i++) apart = fmax(apart, fabs(c[i] - d[i]));
    printf("%5d %5d %5d %c%c  %8.1f  %8.1f           %5.2f   %.0e\n", m, n, k,
        rows[q].ta ? 'T' : 'n', rows[q].tb ? 'T' : 'n', 2 * work / best[0], 2 * work / best[1],
        best[1] / best[0], apart);
  }
}
