/* Products of a few rows with weights that no cache holds, as decoding has them: GB/s of weights
 * read, beside a plain read loop and OpenBLAS in the same process on one core. ot: weights (out,
 * in); it: weights (in, out). The other operand is f32; bf16 by bf16: both are. cc -O2
 * -march=native -D_GNU_SOURCE -Isrc -Iinclude -I. bench/llm_kernels.c build/libtempo.a -lisl -lgmp
 * -lz -lm -ldl -lpthread -o /tmp/llm_kernels && taskset -c 1 /tmp/llm_kernels [rows [dtype [layout
 * [out in]]]]. bench/peers/torch_products.py prints PyTorch's times of the same. */
#include "cpu/contract.h"
#include "kernels/cpu/kernels.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void gemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
    int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void gemv(int order, int t, int m, int n, float alpha, const float *a, int lda,
    const float *x, int incx, float beta, float *y, int incy);
static const int sides[][2] = { { 2048, 2048 }, { 2048, 8192 }, { 8192, 2048 }, { 128256, 2048 } };
static const int rows[] = { 1, 2, 4, 8, 16, 32, 512 };
static const tp_dtype dtypes[][2] = { { TP_F32, TP_F32 }, { TP_F32, TP_BF16 }, { TP_F32, TP_F16 },
  { TP_BF16, TP_BF16 } };
enum { LEAST = 256 << 20 };
static gemm *blas;
static gemv *blas_row;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ns for reading all of it */
static double read_all(const float *p, int64_t n) {
  typedef float wide __attribute__((vector_size(64)));
  wide s[8] = { { 0 } };
  double start = now();
  for (int64_t i = 0; i + 128 <= n; i += 128)
    for (int q = 0; q < 8; q++) s[q] += *(const wide *)(p + i + 16 * q);
  for (int q = 1; q < 8; q++) s[0] += s[q];
  __asm__ volatile("" : : "m"(s));
  return now() - start;
}

static void measure(
    int m, int out, int in, tp_dtype other, tp_dtype d, bool turned, char *w, float *x, float *y) {
  int64_t size = tp_dtype_size(d), each = (int64_t)out * in * size,
          copies = TP_MAX(LEAST / each, 1);
  int64_t ext[3] = { m, out, in }, sa[3] = { in, 0, 1 },
          sb[3] = { 0, turned ? 1 : in, turned ? out : 1 }, sc[3] = { out, 1, 0 };
  struct tp_cpu cpu = { .K = tp_kernels_get() };
  tp_contraction t;
  tp_contraction_make(&t, &cpu, TP_F32, other, d, 3, ext, sa, sb, sc);
  float *room = malloc(sizeof *room * (size_t)(tp_contraction_room(&t) + 1));
  double best[3] = { 1e30, 1e30, 1e30 };
  int times = m > 32 ? 1 : copies, rounds = m > 32 ? 3 : 5;
  for (int r = 0; r < rounds; r++)
    for (int who = 0; who < 3; who++) {
      double start = now();
      for (int i = 0; i < times; i++) {
        char *wi = w + i % copies * each;
        if (who == 0) tp_contraction_run(&t, x, wi, y, false, room);
        else if (who == 1 && d == TP_F32 && blas) {
          if (m == 1 && turned) blas_row(101, 112, in, out, 1, (float *)wi, out, x, 1, 0, y, 1);
          else if (m == 1) blas_row(101, 111, out, in, 1, (float *)wi, in, x, 1, 0, y, 1);
          else
            blas(101, 111, turned ? 111 : 112, m, out, in, 1, x, in, (float *)wi, turned ? out : in,
                0, y, out);
        } else if (who == 2 && m <= 32) read_all((const float *)wi, each / 4);
      }
      best[who] = fmin(best[who], (now() - start) / times);
    }
  double flops = 2.0 * m * out * in;
  printf("%s%s %s %3d x %6d x %4d %10.1f us %6.1f GB/s %6.1f GFLOP/s", tp_dtype_name(d),
      other == TP_BF16 ? " by bf16" : "", turned ? "it" : "ot", m, out, in, best[0] / 1e3,
      each / best[0], flops / best[0]);
  if (m <= 32) printf("  read %5.1f GB/s, share %.2f", each / best[2], best[2] / best[0]);
  if (d == TP_F32 && blas) printf("  BLAS %10.1f us ratio %.2f", best[1] / 1e3, best[1] / best[0]);
  printf("\n");
  fflush(stdout);
  free(room);
}

int main(int n, char **v) {
  void *lib = dlopen("libopenblas.so.0", RTLD_NOW);
  blas = lib ? (gemm *)dlsym(lib, "cblas_sgemm") : NULL;
  blas_row = lib ? (gemv *)dlsym(lib, "cblas_sgemv") : NULL;
  void (*threads)(int) = lib ? (void (*)(int))dlsym(lib, "openblas_set_num_threads") : NULL;
  if (threads) threads(1);
  int64_t most = (int64_t)128256 * 2048 * 4;
  char *w = aligned_alloc(4096, (size_t)most);
  float *x = malloc(sizeof *x * 512 * 8192), *y = malloc(sizeof *y * 512 * 128256);
  for (int64_t i = 0; i < most / 4; i++) ((float *)w)[i] = (float)((i * 7919) % 1001 - 500) * 1e-3f;
  for (int64_t i = 0; i < 512 * 8192; i++) x[i] = sinf((float)i);
  for (int64_t i = 0; i < (int64_t)512 * 128256; i++) y[i] = 0;
  printf("%s\n", tp_kernels_get()->isa);
  for (size_t q = 0; q < sizeof sides / sizeof *sides; q++)
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
      for (int turned = 0; turned < 2; turned++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
          if (n > 1 && atoi(v[1]) && atoi(v[1]) != rows[r]) continue;
          if (n > 2 && !strstr(v[2], tp_dtype_name(dtypes[d][1]))) continue;
          if (n > 3 && !strstr(v[3], turned ? "it" : "ot")) continue;
          if (n > 4 && atoi(v[4]) != sides[q][0]) continue;
          if (n > 5 && atoi(v[5]) != sides[q][1]) continue;
          if (rows[r] > 32 && sides[q][0] > 10000) continue;
          measure(rows[r], sides[q][0], sides[q][1], dtypes[d][0], dtypes[d][1], turned, w, x, y);
        }
}
