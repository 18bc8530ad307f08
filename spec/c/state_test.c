/* States that somebody changed and sealed again: whatever their numbers say, loading one is refused
 * or gives a run that steps inside its memory. */
#include "check.h"
#include "tempo.h"
#include "base/base.h"
#include <stdlib.h>
#include <string.h>

static const char text[] = "dim i:I\ndim t:T\n"
                           "%0 = input {str \"x\"} : (i t) f32 [3]\n"
                           "%1 = fill : () f32 [3]\n"
                           "%2 \"h\" = merge %1 if t == 0, %4 : (i t) f32 [3]\n"
                           "%3 = read %2 {at [i, t - 1]} : (i t) f32 [3]\n"
                           "%4 = add %3, %0 : (i t) f32 [3]\n"
                           "%5 = add %2, %0 : (i t) f32 [3]\n"
                           "%6 = sum %5 {axes 0} : (i t) f32 []\n"
                           "output \"h\" %2\noutput \"s\" %6\n";

enum { HEAD = 32, STEPS = 4 };
static tempo_error err;

static float seen; /* of the last step, output "s" */

static bool step(tempo_function *f, tempo_array *x, int *done) {
  tempo_array *out[2] = { NULL, NULL };
  if (!tempo_step(f, 1, (const char *const[]){ "x" }, &x, 0, done, NULL, out, &err)) return false;
  seen = out[1] ? *(float *)tempo_array_data(out[1]) : -1;
  for (int k = 0; k < 2; k++) tempo_array_free(out[k]);
  return true;
}

static bool start(tempo_function *f) {
  return tempo_start(
      f, 0, NULL, NULL, 2, (const char *const[]){ "I", "T" }, (const int64_t[]){ 3, 3 }, 1, &err);
}

/* From the begin to the end, with x = 1: s at t is 3 (h[t] + 1), h[t] the t ones before and the 0
 * that h begins with. */
static void whole_run(tempo_function *f, tempo_array *x) {
  int done = 0;
  CHECKF(start(f), "%s", err.message);
  for (int k = 0; k < 9; k++) {
    CHECKF(step(f, x, &done), "%s", err.message);
    CHECKF(seen == (float)(3 * (k % 3 + 1)), "tick %d gives %g", k, seen);
    CHECK(done == (k == 8));
  }
}

static void seal(char *s, size_t n) {
  uint64_t version, sum;
  memcpy(&version, s + 8, sizeof version);
  sum = tp_hash(s + HEAD, n - HEAD, version);
  memcpy(s + 24, &sum, sizeof sum);
}

/* Loads it, and if that works goes on to the end. */
static int try_it(tempo_function *f, tempo_array *x, char *s, size_t n) {
  int done = 0;
  seal(s, n);
  if (!tempo_load_state(f, s, n, &err)) return 0;
  for (int k = 0; k < 20 && !done && step(f, x, &done); k++) {}
  return 1;
}

static void hostile(const char *tier) {
  tempo_program *p = tempo_program_parse(text, &err);
  CHECKF(p != NULL, "%s", err.message);
  tempo_function *f = tempo_compile_ticks(p, tier, 2, (const char *const[]){ "i", "t" }, &err);
  CHECKF(f != NULL, "%s", err.message);
  tempo_program_free(p);
  tempo_array *x = tempo_array_new("f32", 1, (const int64_t[]){ 3 });
  size_t n = 0;
  int done = 0, loaded = 0, tried = 0;
  for (int k = 0; k < 3; k++) ((float *)tempo_array_data(x))[k] = 1;
  whole_run(f, x);
  CHECKF(start(f), "%s", err.message);
  for (int k = 0; k < STEPS; k++) CHECK(step(f, x, &done));
  char *whole = tempo_state(f, &n, &err), *s = malloc(n + 8);
  CHECK(whole != NULL && n > HEAD);
  memcpy(s, whole, n);
  CHECK(try_it(f, x, s, n) == 1 && seen == 9);
  static const int64_t bad[] = { 0, 1, 2, 3, 7, 100, -1, -2, INT64_MAX, INT64_MIN, (int64_t)1 << 32,
    (int64_t)1 << 60 };
  for (size_t at = HEAD; at + 8 <= n; at += 8)
    for (size_t k = 0; k < TP_LEN(bad); k++, tried++) {
      memcpy(s, whole, n);
      memcpy(s + at, &bad[k], 8);
      loaded += try_it(f, x, s, n);
    }
  for (size_t cut = HEAD; cut < n; cut++) {
    memcpy(s, whole, n);
    CHECKF(!try_it(f, x, s, cut), "%zu of %zu bytes", cut, n);
  }
  /* some changes are of values, which no check can tell */
  CHECKF(loaded < tried, "%d of %d", loaded, tried);
  whole_run(f, x);
  free(s);
  tempo_bytes_free(whole);
  tempo_array_free(x);
  tempo_function_free(f);
}

int main(void) {
  hostile("interpreter");
  hostile("reference");
  return check_report();
}
