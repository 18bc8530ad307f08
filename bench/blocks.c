/* A row by weights in blocks, larger than caches: bytes a second of weights, beside those of a loop
 * that only reads. Processor time, best of several rounds, so that others on the machine count
 * little.
 *
 *   cc -O3 -march=native -Isrc -I. bench/blocks.c build/libtempo.a -lm -ldl -lpthread -lisl -lgmp \
 *       -lz -o build/blocks && taskset -c 1 build/blocks [ROWS [COLUMNS [NUMBERS]]] */
#include "cpu/contract.h"
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 12 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t read_all(const uint64_t *p, int64_t n) {
  uint64_t s[32] = { 0 };
  for (int64_t i = 0; i + 32 <= n; i += 32)
    for (int k = 0; k < 32; k++) s[k] += p[i + k];
  for (int k = 1; k < 32; k++) s[0] += s[k];
  return s[0];
}

/* The product of the region, t % 3 - 1: is it exact? */
static float multiply(tp_format f, bool exact, int64_t rows, int64_t n, int64_t k, const float *x,
    const uint8_t *w, char *room, float *y) {
  int64_t row = k / tp_format_elements(f) * tp_format_bytes(f);
  tp_blocks_mm q = { .K = tp_kernels_get(),
    .f = f,
    .exact = exact,
    .s = { rows, n, k, k, 1, 1, row, n, 1, false },
    .bytes = row,
    .step = 1,
    .row = tp_round_up(k, TP_SPAN) / TP_SPAN * tp_blocks_span(exact),
    .room = room };
  tp_blocks_multiply(&q, x, w, y);
  return y[n - 1];
}

int main(int argc, char **argv) {
  int64_t rows = argc > 1 ? atoi(argv[1]) : 1, n = argc > 2 ? atoi(argv[2]) : 8192,
          k = argc > 3 ? atoi(argv[3]) : 8192;
  float *x = malloc((size_t)(rows * k) * sizeof *x), *y = malloc((size_t)(rows * n) * sizeof *y);
  char *room = aligned_alloc(64, (size_t)(TP_WORK_ROWS * tp_round_up(k, TP_SPAN)) * sizeof *x);
  uint64_t seen = 0;
  for (int64_t i = 0; i < rows * k; i++) x[i] = (float)(i * 37 % 101 - 50) / 50;
  for (int f = 1; f < TP_NFORMAT; f++) {
    int64_t bytes = n * k / tp_format_elements(f) * tp_format_bytes(f);
    double best[3] = { 1e9, 1e9, 1e9 };
    uint8_t *w = aligned_alloc(64, (size_t)tp_round_up(bytes, 64));
    for (int64_t i = 0; i < bytes; i++) w[i] = (uint8_t)(i * 7 % 61);
    for (int t = 0; t < 3 * ROUNDS; t++) {
      double from = now();
      if (t % 3 == 0) seen += read_all((uint64_t *)w, bytes / 8);
      else seen += multiply(f, t % 3 == 2, rows, n, k, x, w, room, y) > 0;
      best[t % 3] = TP_MIN(best[t % 3], now() - from);
    }
    printf("%s: reads %.1f GB/s; 8 bits %.1f (%.2f), %.0f GFLOP/s; floats %.1f (%.2f), %.0f\n",
        tp_format_names[f], 1e-9 * (double)bytes / best[0], 1e-9 * (double)bytes / best[1],
        best[0] / best[1], 2e-9 * (double)(rows * n * k) / best[1], 1e-9 * (double)bytes / best[2],
        best[0] / best[2], 2e-9 * (double)(rows * n * k) / best[2]);
    free(w);
  }
  return seen == 0;
}
