/* Nanoseconds an element of the interpreter's elementwise kernels, for each table that this
 * processor can run: operands of 1024 elements stay in the first-level cache, so that what is
 * measured is arithmetic. The best of many short runs, so that other processes do not matter. cc
 * -O2 -D_GNU_SOURCE -Isrc -Iinclude bench/kernels.c build/libtempo.a -lisl -lgmp -lz -lm -ldl
 * -lpthread -o /tmp/kernels && /tmp/kernels [table [row]] */
#include "kernels/cpu/kernels.h"
#include <math.h>
#include <stdio.h>
#include <time.h>

enum { N = 1024, RUNS = 300 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* lo .. hi: of the first operand; the second is 0.5 .. 2 unless the operator divides. */
static const struct {
  tp_op op;
  double lo, hi, lo2, hi2;
} rows[] = {
  { TP_OP_ADD, -4, 4, -4, 4 },
  { TP_OP_SQRT, 0, 9, 0, 0 },
  { TP_OP_RSQRT, 0.1, 9, 0, 0 },
  { TP_OP_ROUND, -9, 9, 0, 0 },
  { TP_OP_EXP, -20, 20, 0, 0 },
  { TP_OP_EXPM1, -5, 5, 0, 0 },
  { TP_OP_LOG, 0.01, 50, 0, 0 },
  { TP_OP_LOG1P, -0.9, 5, 0, 0 },
  { TP_OP_TANH, -4, 4, 0, 0 },
  { TP_OP_SIGMOID, -8, 8, 0, 0 },
  { TP_OP_ERF, -3, 3, 0, 0 },
  { TP_OP_SIN, -30, 30, 0, 0 },
  { TP_OP_COS, -30, 30, 0, 0 },
  { TP_OP_TAN, -30, 30, 0, 0 },
  { TP_OP_POW, 0.1, 20, -3, 3 },
  { TP_OP_MOD, -50, 50, 1, 9 },
  { TP_OP_FLOORDIV, -50, 50, 1, 9 },
  { TP_OP_MAXIMUM, -4, 4, -4, 4 },
  { TP_OP_LT, -4, 4, -4, 4 },
};

static double measure(tp_kfn *fn, void *o, const void *a, const void *b) {
  double best = 1e30;
  for (int run = 0; run < RUNS; run++) {
    double start = now();
    for (int k = 0; k < 4; k++) fn(o, a, b, b, N);
    double d = (now() - start) / (4 * N);
    if (d < best) best = d;
  }
  return best;
}

static double row_of(const tp_kernels *k, size_t i, tp_dtype d) {
  static double a[N], b[N], o[N];
  for (int j = 0; j < N; j++) {
    double u = (double)(j * 7919 % N) / N, v = (double)(j * 104729 % N) / N;
    tp_put(d, a, j, rows[i].lo + u * (rows[i].hi - rows[i].lo));
    tp_put(d, b, j, rows[i].lo2 + v * (rows[i].hi2 - rows[i].lo2));
  }
  return measure(k->ew[rows[i].op][d], o, a, b);
}

static double half_of(const tp_kernels *k, tp_dtype d, bool load) {
  static float f[N];
  static uint16_t h[N];
  double best = 1e30;
  for (int j = 0; j < N; j++) f[j] = (float)(j - N / 2) * 0.01f;
  for (int run = 0; run < RUNS; run++) {
    double start = now();
    for (int i = 0; i < 4; i++)
      load ? k->loadhalf[d](f, h, 0, 1, 1, N) : k->storehalf[d](h, 0, 1, f, 1, N);
    double t = (now() - start) / (4 * N);
    if (t < best) best = t;
  }
  return best;
}

static double random_of(const tp_kernels *k, int what) {
  static uint32_t w[2 * N];
  static double g[N];
  double best = 1e30;
  for (int run = 0; run < RUNS; run++) {
    double start = now();
    if (what == 0) k->philox((tp_philox_key){ { 1, 2 } }, (uint64_t)run, N / 4, w);
    else if (what == 1) k->uniform((float *)g, w, N);
    else k->normal(g, w, N);
    double t = (now() - start) / N;
    if (t < best) best = t;
  }
  return best;
}

/* Rows of n elements into their accumulators, or columns (down). */
static double fold_of(const tp_kernels *k, tp_red red, tp_dtype d, bool down, int64_t n) {
  static double a[N], acc[N];
  double best = 1e30;
  for (int j = 0; j < N; j++) tp_put(d, a, j, 1 + (j * 7919 % N) * 1e-6);
  for (int run = 0; run < RUNS; run++) {
    memset(acc, 0, sizeof acc);
    double start = now();
    for (int i = 0; i < 4; i++) (down ? k->down : k->across)[red][d](acc, a, n, N / n, n);
    double t = (now() - start) / (4 * N);
    if (t < best) best = t;
  }
  return best;
}

static void report_folds(const tp_kernels *k) {
  static const char *const names[] = { [TP_RED_SUM] = "sum", [TP_RED_MAX] = "max" };
  for (int red = TP_RED_SUM; red <= TP_RED_MAX; red += TP_RED_MAX - TP_RED_SUM)
    for (int n = 16; n <= N; n *= 8)
      printf("  %s of %-7d %7.3f %7.3f down %7.3f %7.3f\n", names[red], n,
          fold_of(k, (tp_red)red, TP_F32, false, n), fold_of(k, (tp_red)red, TP_F64, false, n),
          fold_of(k, (tp_red)red, TP_F32, true, n), fold_of(k, (tp_red)red, TP_F64, true, n));
}

static void report(const tp_kernels *k, const char *only) {
  printf("%-10s ns an element: f32, f64\n", k->isa);
  for (size_t i = 0; i < TP_LEN(rows); i++)
    if (!only || !strcmp(only, tp_ops[rows[i].op].text))
      printf("  %-14s %7.3f %7.3f\n", tp_ops[rows[i].op].text, row_of(k, i, TP_F32),
          row_of(k, i, TP_F64));
  if (only) return;
  report_folds(k);
  printf("  %-14s %7.3f %7.3f\n  %-14s %7.3f %7.3f\n", "f16 in, out", half_of(k, TP_F16, true),
      half_of(k, TP_F16, false), "bf16 in, out", half_of(k, TP_BF16, true),
      half_of(k, TP_BF16, false));
  printf("  %-14s %7.3f a word\n  %-14s %7.3f\n  %-14s         %7.3f\n", "philox", random_of(k, 0),
      "uniform", random_of(k, 1), "normal", random_of(k, 2));
}

int main(int argc, char **argv) {
  const tp_kernels *tables[] = {
    &tp_kernels_base,
#ifdef TP_X86
    __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &tp_kernels_avx2 : NULL,
    __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? &tp_kernels_avx512
                                                                            : NULL,
#endif
  };
  for (size_t i = 0; i < TP_LEN(tables); i++)
    if (tables[i] && (argc < 2 || !strcmp(argv[1], tables[i]->isa)))
      report(tables[i], argc > 2 ? argv[2] : NULL);
  return 0;
}
