/* The peers of bench/native.lua: recurrences by hand, compiled as native code is (flags on its
 * line there), and this machine's streaming bandwidth. native_peer scalar|policy|dp N nanoseconds a
 * step (a cell), and what was computed native_peer matmul N                nanoseconds a product of
 * N x N (2, 4, 8, 16), of 256 at a time native_peer stream N                GB/s read and written,
 * over N floats of warm memory: the best of a copy, a scale and a sum of two */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double scalar(int64_t n) {
  float x = 0.5f;
  for (int64_t t = 1; t < n; t++) x = 3.7f * x * (1 - x);
  return x;
}

static float weights[6][256];
static void layer(const float *x, int n, const float *w, const float *b, int m, float *y, int act) {
  for (int j = 0; j < m; j++) y[j] = b[j];
  for (int k = 0; k < n; k++)
    for (int j = 0; j < m; j++) y[j] += x[k] * w[k * m + j];
  for (int j = 0; act && j < m; j++) y[j] = tanhf(y[j]);
}

/* The formulas of layers 4, 16, 16, 4 behind each other; x = 0.9 x + net(x). */
static double policy(int64_t n) {
  static const int size[6] = { 64, 16, 256, 16, 64, 4 };
  float x[4] = { 1, 1, 1, 1 }, h[16], g[16], y[4];
  for (int k = 0; k < 6; k++)
    for (int i = 0; i < size[k]; i++) weights[k][i] = (float)(sin((i + 1) * 7.3 + k) * 0.3);
  for (int64_t t = 1; t < n; t++) {
    layer(x, 4, weights[0], weights[1], 16, h, 1);
    layer(h, 16, weights[2], weights[3], 16, g, 1);
    layer(g, 16, weights[4], weights[5], 4, y, 0);
    for (int k = 0; k < 4; k++) x[k] = x[k] * 0.9f + y[k];
  }
  return x[0];
}

static double dp(int64_t n) {
  int32_t *a = malloc((size_t)n * 4), *b = malloc((size_t)n * 4), *row = malloc((size_t)n * 4);
  for (int32_t k = 0; k < n; k++) a[k] = k * k % 7, b[k] = k * k % 11 % 5, row[k] = k;
  for (int32_t p = 1; p < n; p++) {
    int32_t corner = row[0], left = row[0] = p;
    for (int64_t q = 1; q < n; q++) {
      int32_t up = row[q] + 1, side = left + 1, both = corner + (a[p] != b[q]);
      corner = row[q];
      left = up < side ? up : side;
      left = both < left ? both : left;
      row[q] = left;
    }
  }
  double d = row[n - 1];
  free(a), free(b), free(row);
  return d;
}

/* y = 0.5 y w + x of 256 matrices of N x N, 400 times. */
enum { MATRICES = 256, TIMES = 400 };
static float mx[MATRICES * 256], mw[MATRICES * 256], my[MATRICES * 256];
#define MATRIX(N) \
  static void matrix_##N(void) { \
    for (int b = 0; b < MATRICES; b++) { \
      float *y = my + b * N * N, r[N * N]; \
      const float *w = mw + b * N * N, *x = mx + b * N * N; \
      for (int i = 0; i < N; i++) { \
        float row[N] = { 0 }; \
        for (int k = 0; k < N; k++) \
          for (int j = 0; j < N; j++) row[j] += y[i * N + k] * w[k * N + j]; \
        for (int j = 0; j < N; j++) r[i * N + j] = 0.5f * row[j] + x[i * N + j]; \
      } \
      memcpy(y, r, sizeof r); \
    } \
  }
MATRIX(2)
MATRIX(4)
MATRIX(8)
MATRIX(16)

static double matmul(int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < MATRICES * n * n; i++)
    my[i] = mx[i] = (float)sin((double)i * 7.3), mw[i] = (float)(0.1 * sin((double)i * 7.3 + 1));
  for (int t = 0; t < TIMES; t++)
    n == 2 ? matrix_2() : n == 4 ? matrix_4() : n == 8 ? matrix_8() : matrix_16();
  for (int64_t i = 0; i < MATRICES * n * n; i++) sum += my[i];
  return sum;
}

static double stream(int64_t n) {
  float *x = malloc((size_t)n * 4), *y = malloc((size_t)n * 4), *z = malloc((size_t)n * 4);
  double best = 0;
  for (int64_t i = 0; i < n; i++) x[i] = (float)i, y[i] = 1, z[i] = 2;
  for (int round = 0; round < 10; round++) {
    double t0 = now();
    memcpy(z, x, (size_t)n * 4);
    double t1 = now();
    for (int64_t i = 0; i < n; i++) z[i] = 0.5f * x[i];
    double t2 = now();
    for (int64_t i = 0; i < n; i++) z[i] = x[i] + y[i];
    double t3 = now();
    best = fmax(best,
        fmax(fmax((double)n * 8 / (t1 - t0), (double)n * 8 / (t2 - t1)),
            (double)n * 12 / (t3 - t2)));
  }
  printf("%.6g %g\n", best * 1e-9, z[n - 1]);
  return best;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  int64_t n = atoll(argv[2]);
  double (*run)(int64_t) = !strcmp(argv[1], "scalar") ? scalar
      : !strcmp(argv[1], "policy")                    ? policy
      : !strcmp(argv[1], "matmul")                    ? matmul
                                                      : dp,
         least = 1e9, y = 0;
  if (!strcmp(argv[1], "stream")) return stream(n) <= 0;
  for (int round = 0; round < 5; round++) {
    double from = now();
    y = run(n);
    least = fmin(least, now() - from);
  }
  printf("%.6g %.9g\n",
      least * 1e9 / (run == matmul ? MATRICES * TIMES : (double)n * (run == dp ? (double)n : 1)),
      y);
  return 0;
}
