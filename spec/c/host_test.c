/* Hosts with threads: programs of several threads at once, each with callbacks, an environment and
 * errors of its own; a run that another thread ends. */
#include "check.h"
#include "tempo.h"
#include "base/base.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 5, STEPS = 6 };

/* ---- programs of their own ---- */

/* s[t+1] = step(s[t], a[t]); a comes from a callback, a sink sees the reward, w counts. NAME is the
 * thread's environment. */
static const char text[] =
    "dim t:T\n"
    "%0 = fill {f 0.5} : () f64 [1]\n"
    "%1 = env_reset %0 {str \"NAME\"} : () f64 [1]\n"
    "%2 \"s\" = merge %1 if t == 0, %6 : (t) f64 [1]\n"
    "%3 = env_obs %2 {str \"NAME\"} : (t) f32 [1]\n"
    "%4 \"a\" = call %3 : (t) i64 []\n"
    "%5 = env_step %2, %4, %0 {str \"NAME\"} : (t) f64 [1], f32 [1], f32 [], bool [], bool []\n"
    "%6 = read %5 {at [t - 1]} : (t) f64 [1]\n"
    "%7 \"reward\" = mul %5.2, %11 : (t) f32 []\n"
    "%8 = call %7 {fn 1} : (t)\n"
    "%9 = fill {f 1} : () f32 []\n"
    "%10 = add %11, %9 : (t) f32 []\n"
    "%11 = param %9, %10 {str \"w\", along (t)} : (t) f32 []\n"
    "output \"reward\" %7\n";

typedef struct {
  int number;
  char name[32];
  double gain, seen;
  int calls;
  bool ok;
  char why[sizeof(tempo_error) + 64];
} worker;

static void env_reset(void *data, const double *u, double *state) { state[0] = u[0]; }
static void env_observe(void *data, const double *state, float *obs) { obs[0] = (float)state[0]; }

static void env_step(void *data, const double *state, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const worker *w = data;
  next[0] = state[0] + w->gain * (double)*(const int64_t *)action;
  reward[0] = (float)next[0];
}

static int act(void *data, const tempo_call *c, tempo_error *err) {
  return tempo_array_get(c->arg[0], 0) >= 0.5 &&
      tempo_array_set(c->result[0], 0, (double)(c->at[0] % 2));
}

static int see(void *data, const tempo_call *c, tempo_error *err) {
  worker *w = data;
  w->seen += tempo_array_get(c->arg[0], 0);
  w->calls++;
  return 1;
}

static double wanted(const worker *w) {
  double s = 0.5, sum = 0;
  for (int t = 0; t < STEPS; t++) {
    s += w->gain * (t % 2);
    sum += (float)((float)s * (float)(t + 1));
  }
  return sum;
}

static bool fail(worker *w, const char *what) {
  snprintf(w->why, sizeof w->why, "%s: %s", what, tempo_last_error()->message);
  return false;
}

/* The text with the worker's name for NAME. */
static void own_text(const worker *w, char *to) {
  for (const char *p = text; *p;) {
    bool name = strncmp(p, "NAME", 4) == 0;
    to += sprintf(to, name ? "%s" : "%.1s", name ? w->name : p);
    p += name ? 4 : 1;
  }
}

static tempo_function *compiled(worker *w) {
  char own[sizeof text + 256];
  own_text(w, own);
  tempo_program *p = tempo_program_parse(own, NULL);
  const char *const tick[] = { "t" }, *tier = w->number % 2 ? "reference" : "interpreter";
  tempo_function *f = p ? tempo_compile_ticks(p, tier, 1, tick, NULL) : NULL;
  tempo_program_free(p);
  return f;
}

static bool use(worker *w, tempo_function *f) {
  tempo_array *out[1], *count;
  const char *const names[] = { "T" };
  w->seen = w->calls = 0;
  if (!tempo_set_callback(f, 0, act, w, NULL) || !tempo_set_callback(f, 1, see, w, NULL))
    return fail(w, "callbacks");
  if (!tempo_run(f, 0, NULL, NULL, 1, names, (const int64_t[]){ STEPS }, 0, out, NULL))
    return fail(w, "run");
  tempo_array_free(out[0]);
  if (w->calls != STEPS || w->seen != wanted(w)) return fail(w, "what the sink saw");
  if (!(count = tempo_param(f, "w", NULL)) || tempo_array_get(count, 0) != STEPS + 1)
    return fail(w, "parameter");
  tempo_array_free(count);
  if (tempo_run(f, 0, NULL, NULL, 1, names, (const int64_t[]){ -1 - w->number }, 0, out, NULL))
    return fail(w, "a negative bound");
  return strstr(tempo_last_error()->message, "bound 'T' is negative") || fail(w, "the error");
}

static bool steps(worker *w, tempo_function *f) {
  int done = 0;
  w->seen = 0;
  const char *const names[] = { "T" };
  bool ok = tempo_start(f, 0, NULL, NULL, 1, names, (const int64_t[]){ STEPS }, 0, NULL);
  while (ok && !done) {
    tempo_array *out[1];
    ok = tempo_step(f, 0, NULL, NULL, -1, &done, NULL, out, NULL);
    if (ok) tempo_array_free(out[0]);
  }
  return (ok && w->seen == wanted(w)) || fail(w, "steps");
}

static void *work(void *arg) {
  worker *w = arg;
  tempo_env mine = { .name = w->name,
    .nstate = 1,
    .shape = { 1 },
    .nreset = 1,
    .nactions = 2,
    .data = w,
    .reset = env_reset,
    .observe = env_observe,
    .step = env_step };
  w->ok = tempo_env_register(&mine, NULL) || fail(w, "environment");
  for (int k = 0; w->ok && k < ROUNDS; k++) {
    tempo_function *f = compiled(w);
    w->ok = f ? use(w, f) && steps(w, f) : fail(w, "compile");
    tempo_function_free(f);
  }
  return NULL;
}

static void workers(void) {
  pthread_t thread[THREADS];
  static worker w[THREADS];
  for (int k = 0; k < THREADS; k++) {
    w[k] = (worker){ .number = k, .gain = 1 + 0.25 * k };
    snprintf(w[k].name, sizeof w[k].name, "host-test-%d", k);
    CHECK(pthread_create(&thread[k], NULL, work, &w[k]) == 0);
  }
  for (int k = 0; k < THREADS; k++) {
    pthread_join(thread[k], NULL);
    CHECKF(w[k].ok, "thread %d: %s", k, w[k].why);
  }
  CHECKF(tempo_last_error()->code == TEMPO_OK, "the main thread failed nowhere: %s",
      tempo_last_error()->message);
}

/* ---- a run that another thread ends ---- */

static const char endless[] = "dim t:T\n"
                              "%0 = fill {f 1} : () f32 []\n"
                              "%1 \"x\" = merge %0 if t == 0, %3 : (t) f32 []\n"
                              "%2 = read %1 {at [t - 1]} : (t) f32 []\n"
                              "%3 = add %2, %0 : (t) f32 []\n"
                              "%4 = call %1 : (t)\n";

static atomic_long ticks;

static int tick(void *data, const tempo_call *c, tempo_error *err) {
  atomic_fetch_add(&ticks, 1);
  return 1;
}

static void *end_it(void *f) {
  while (atomic_load(&ticks) < 100) {}
  return tempo_cancel(f) ? f : NULL;
}

static void cancelled(const char *tier) {
  tempo_error err;
  tempo_program *p = tempo_program_parse(endless, &err);
  tempo_function *f = p ? tempo_compile(p, tier, &err) : NULL;
  CHECKF(f != NULL, "%s", err.message);
  pthread_t thread;
  void *ended = NULL;
  atomic_store(&ticks, 0);
  CHECK(tempo_cancel(f) == 0);
  CHECK(tempo_set_callback(f, 0, tick, NULL, &err));
  CHECK(pthread_create(&thread, NULL, end_it, f) == 0);
  const char *const names[] = { "T" };
  bool ok =
      tempo_run(f, 0, NULL, NULL, 1, names, (const int64_t[]){ TEMPO_ENDLESS }, 0, NULL, &err);
  CHECKF(ok, "%s", err.message);
  pthread_join(thread, &ended);
  CHECK(ended == f && tempo_cancelled(f) && atomic_load(&ticks) >= 100);
  tempo_function_free(f);
  tempo_program_free(p);
}

int main(void) {
  workers();
  cancelled("interpreter");
  cancelled("reference");
  return check_report();
}
