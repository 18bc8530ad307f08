/* speed.c: measures the speed of one core, once a process, when it is first wanted. */
#include "cpu/cpu.h"
#include <pthread.h>

/* The best of a few passes over more memory than a cache holds, and of products that lie in the
 * nearest one. */
enum { STREAM = 1 << 24, SIDE = 64, PASSES = 4, PRODUCTS = 200 };

static double stream_speed(float *a) {
  double best = 0;
  for (int i = 0; i < PASSES; i++) {
    double from = tp_now();
    for (int k = 0; k < STREAM; k++) a[k] = a[k] * 0.5f + 1;
    best = TP_MAX(best, 2.0 * STREAM * sizeof *a / (tp_now() - from));
  }
  return best;
}

static double product_speed(float *a) {
  static const int64_t n[] = { SIDE, SIDE, SIDE }, sa[] = { SIDE, 0, 1 }, sb[] = { 0, 1, SIDE },
                       sc[] = { SIDE, 1, 0 };
  double best = 0;
  for (int i = 0; i < PASSES; i++) {
    double from = tp_now();
    for (int k = 0; k < PRODUCTS; k++)
      tp_contract(TP_F32, 3, n, sa, sb, sc, a, a + SIDE * SIDE, a + 2 * SIDE * SIDE, false);
    best = TP_MAX(best, 2.0 * PRODUCTS * SIDE * SIDE * SIDE / (tp_now() - from));
  }
  return best;
}

static tp_speed machine;
static void measure_machine(void) {
  float *a = tp_alloc(sizeof *a * STREAM);
  for (int k = 0; a && k < STREAM; k++) a[k] = 1;
  if (a) machine = (tp_speed){ stream_speed(a), product_speed(a) };
  tp_free(a);
}

const tp_speed *tp_cpu_speed(void) {
  static pthread_once_t measured = PTHREAD_ONCE_INIT;
  pthread_once(&measured, measure_machine);
  return &machine;
}
