/* Every request for memory of a small program's life fails once: the program is read, compiled,
 * explained, run, run again in steps that go back to a state once; the n-th request of ours fails,
 * for n = 1, 2, ... until one life meets no fault. Each fault must be an error of class memory that
 * leaks nothing (the sanitizer's build looks) and spoils nothing: the same life without a fault
 * succeeds afterwards, with the same numbers. isl's objects that were alive when an arena failed
 * stay with isl: it has no arenas, so those of its own are told of at exit and left out here. */
#include "base/base.h"
#include "index/isl.h"
#include "rt/rt.h"
#include "tempo.h"
#include "check.h"
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Reachable from isl's context, which refuses to go while they live. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:isl_\nleak:mp_\nleak:gmp"; }

#if defined(__SANITIZE_ADDRESS__)
enum { MOST = 80 };
#else
enum { MOST = 100 };
#endif

typedef struct {
  const char *name;
  int ninput;
  const char *input[2];
  int rank[2];
  int64_t shape[2][2];
  int nbound;
  const char *bound[4];
  int64_t value[4];
  /* fed: the input has the tick dims */
  int ntick;
  const char *tick[2];
  bool fed;
} life;

static const life lives[] = {
  { "prefix_sum", 1, { "x" }, { 1 }, { { 4 } }, 1, { "T" }, { 4 }, 1, { "t" }, true },
  { "two_lags", 1, { "x" }, { 2 }, { { 5, 3 } }, 1, { "T" }, { 5 }, 1, { "t" }, true },
  { "learning", 1, { "x" }, { 2 }, { { 3, 2 } }, 2, { "I", "T" }, { 2, 3 }, 2, { "i", "t" },
      false },
  { "cartpole", 0, { 0 }, { 0 }, { { 0 } }, 2, { "B", "T" }, { 2, 3 }, 1, { "t" }, false },
  { "calling", 1, { "x" }, { 1 }, { { 3 } }, 1, { "T" }, { 3 }, 1, { "t" }, true },
};

/* Callbacks with and without results. */
static const char calling[] = "dim t:T\n"
                              "%0 = input {str \"x\"} : (t) f32 []\n"
                              "%1 \"twice\" = call %0 : (t) f32 []\n"
                              "%2 = call %1 {fn 1} : (t)\n"
                              "output \"y\" %1\n";

static char path[64]; /* of a file of this process's own */

/* A parameter that learns from a recurrence: gradients, needed points, two loops. */
static const char learning[] = "dim i:I\ndim t:T\n"
                               "%0 = input {str \"x\"} : (t) f32 [2]\n"
                               "%1 = fill {f 0.5} : () f32 [2]\n"
                               "%2 = param %1, %12 {str \"w\", along (i)} : (i) f32 [2]\n"
                               "%3 \"h\" = merge %4 if t == 0, %7 : (i t) f32 [2]\n"
                               "%4 = read %0 {at [0]} : () f32 [2]\n"
                               "%5 = read %3 {at [i, t - 1]} : (i t) f32 [2]\n"
                               "%6 = mul %5, %2 : (i t) f32 [2]\n"
                               "%7 = add %6, %0 : (i t) f32 [2]\n"
                               "%8 = sum %3 {axes 0} : (i t) f32 []\n"
                               "%9 = grad %8, %2 : (i) f32 [2]\n"
                               "%10 = fill {f 0.1} : () f32 [2]\n"
                               "%11 = mul %9, %10 : (i) f32 [2]\n"
                               "%12 = sub %2, %11 : (i) f32 [2]\n"
                               "%13 = read %8 {at [i, 0 .. T]} : (i) f32 [T]\n"
                               "%14 = sum %13 {axes 0} : (i) f32 []\n"
                               "output \"loss\" %14\n";

static char *slurp(const char *name) {
  char path[256];
  snprintf(path, sizeof path, "spec/plan/%s.sdg", name);
  FILE *f = fopen(path, "rb");
  char *s = calloc(1, 1 << 16);
  if (s && strcmp(name, "learning") == 0) return strcpy(s, learning);
  if (s && strcmp(name, "calling") == 0) return strcpy(s, calling);
  if (f && s) s[fread(s, 1, (1 << 16) - 1, f)] = 0;
  if (f) fclose(f);
  return s;
}

/* Sum of all outputs' numbers: what a life gives. */
static double total(tempo_array **out, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++)
    for (int64_t k = 0; out[i] && k < tempo_array_count(out[i]); k++)
      sum += strcmp(tempo_array_dtype(out[i]), "f32") == 0
          ? ((const float *)tempo_array_data(out[i]))[k]
          : 0;
  return sum;
}

static bool run_once(
    const life *l, tempo_function *f, tempo_array **in, double *sum, tempo_error *err) {
  tempo_array *out[16] = { 0 };
  int n = tempo_function_noutput(f);
  if (!tempo_run(f, l->ninput, l->input, in, l->nbound, l->bound, l->value, 1, out, err))
    return false;
  *sum = total(out, n);
  for (int i = 0; i < n; i++) tempo_array_free(out[i]);
  return true;
}

/* The input's row at a tick; no memory of ours. */
static bool step(const life *l, tempo_function *f, tempo_array *in, int tick, double *sum,
    int *done, tempo_error *err) {
  tempo_array *out[16] = { 0 }, *row = NULL;
  if (l->fed) {
    int64_t n = l->rank[0] == 2 ? l->shape[0][1] : 1;
    row = tempo_array_wrap(
        "f32", l->rank[0] - 1, l->shape[0] + 1, (float *)tempo_array_data(in) + n * tick);
    if (!row) return snprintf(err->message, sizeof err->message, "no memory for a row"), false;
  }
  bool ok = tempo_step(f, l->fed, l->input, &row, tick % 2 ? 1 : -1, done, NULL, out, err);
  *sum += ok ? total(out, 16) : 0;
  for (int i = 0; i < 16; i++) tempo_array_free(out[i]);
  tempo_array_free(row);
  return ok;
}

/* From the start to the end, a second time from the state after the first tick. */
static bool step_twice(
    const life *l, tempo_function *f, tempo_array **in, double *sum, tempo_error *err) {
  void *state = NULL;
  size_t size = 0;
  int done = 0;
  *sum = 0;
  bool ok =
      tempo_start(f, l->fed ? 0 : l->ninput, l->input, in, l->nbound, l->bound, l->value, 1, err) &&
      step(l, f, in[0], 0, sum, &done, err) && (state = tempo_state(f, &size, err)) &&
      tempo_save(f, path, err) && tempo_load(f, path, err);
  for (int pass = 0; ok && pass < 2; pass++) {
    done = 0;
    for (int k = 1; ok && !done; k++) ok = step(l, f, in[0], k, sum, &done, err);
    ok = ok && (pass || tempo_load_state(f, state, size, err));
  }
  tempo_bytes_free(state);
  return ok;
}

static bool explained(tempo_function *f, tempo_error *err) {
  static const char *const sections[] = { NULL, "graph", "schedule", "storage", "memory", "plan",
    "passes", "dot" };
  bool ok = true;
  for (size_t i = 0; ok && i < TP_LEN(sections); i++) {
    char *told = tempo_explain(f, sections[i], err);
    ok = told != NULL;
    tempo_text_free(told);
  }
  return ok;
}

static int twice(void *data, const tempo_call *c, tempo_error *err) {
  if (c->nresult) tempo_array_set(c->result[0], 0, 2 * tempo_array_get(c->arg[0], 0));
  return 1;
}

static bool called(tempo_function *f, tempo_error *err) {
  bool ok = true;
  for (int i = 0; ok && i < tempo_function_count(f, TEMPO_CALLBACK); i++)
    ok = tempo_set_callback(f, i, twice, NULL, err);
  return ok;
}

/* Asks as a host does after a run: sizes, and parameters, which come and go by name and file. */
static bool hosted(const life *l, tempo_function *f, tempo_error *err) {
  int64_t shape[TEMPO_MAXRANK], bytes;
  int n = tempo_function_count(f, TEMPO_PARAM);
  bool ok = tempo_memory(f, l->nbound, l->bound, l->value, &bytes, err) &&
      tempo_function_shape(f, TEMPO_OUTPUT, 0, l->nbound, l->bound, l->value, shape, err) >= 0;
  char *told = ok ? tempo_explain_for(f, "storage", l->nbound, l->bound, l->value, err) : NULL;
  ok = told != NULL;
  tempo_text_free(told);
  for (int i = 0; ok && i < n; i++) {
    const char *name = tempo_function_name(f, TEMPO_PARAM, i);
    tempo_array *a = tempo_param(f, name, err);
    ok = a && tempo_load_param(f, name, a, err);
    tempo_array_free(a);
  }
  return ok && (!n || (tempo_save_params(f, path, err) && tempo_load_params(f, path, err)));
}

static bool live(const life *l, const char *text, const char *tier, tempo_array **in, double *sum,
    tempo_error *err) {
  double steps = 0;
  tempo_program *p = tempo_program_parse(text, err);
  tempo_function *f = p ? tempo_compile(p, tier, err) : NULL, *g = NULL;
  bool ok = f && called(f, err) && explained(f, err) && run_once(l, f, in, sum, err) &&
      hosted(l, f, err) && (g = tempo_compile_ticks(p, tier, l->ntick, l->tick, err)) &&
      called(g, err) && step_twice(l, g, in, &steps, err);
  *sum += steps;
  tempo_function_free(g);
  tempo_function_free(f);
  tempo_program_free(p);
  return ok;
}

static void make_inputs(const life *l, tempo_array **in) {
  for (int i = 0; i < l->ninput; i++) {
    in[i] = tempo_array_new("f32", l->rank[i], l->shape[i]);
    for (int64_t k = 0; k < tempo_array_count(in[i]); k++)
      ((float *)tempo_array_data(in[i]))[k] = (float)(k % 3) - 0.5f;
  }
}

/* How many requests a life makes, at least. */
static long requests(const life *l, const char *text, const char *tier, tempo_array **in) {
  double sum;
  long n = 1 << 20;
  tempo_error err = { 0 };
  while (n > 1) { /* a fault beyond the last one is not met */
    tp_fail_alloc(n / 2);
    live(l, text, tier, in, &sum, &err);
    if (tp_fail_alloc(0)) break;
    n /= 2;
  }
  return n / 2;
}

/* All of some hundred requests; of many, as under the sanitizer, where an arena asks for each
 * object, about as many, evenly. */
static void faults(const life *l, const char *tier, int most) {
  char *text = slurp(l->name);
  tempo_array *in[2] = { 0 };
  double want = NAN, sum = NAN;
  tempo_error err = { 0 };
  make_inputs(l, in);
  tp_fail_alloc(0);
  CHECKF(live(l, text, tier, in, &want, &err), "%s on %s: %s", l->name, tier, err.message);
  int met = 0;
  long step = 1 + requests(l, text, tier, in) / most;
  for (long n = 1; n > 0; n += step) {
    memset(&err, 0, sizeof err);
    tp_fail_alloc(n);
    bool ok = live(l, text, tier, in, &sum, &err);
    if (!tp_fail_alloc(0)) n = -step; /* beyond the last request */
    else met++;
    if (n > 0 && ok) CHECKF(sum == want, "%s on %s, request %ld: another answer", l->name, tier, n);
    else
      CHECKF(ok || strstr(err.message, "memory"), "%s on %s, request %ld: %s", l->name, tier, n,
          err.message);
  }
  CHECKF(met > 20, "only %d requests", met);
  CHECK(live(l, text, tier, in, &sum, &err) && sum == want);
  for (int i = 0; i < l->ninput; i++) tempo_array_free(in[i]);
  free(text);
}

/* Each function has a context of its own: the next one is given so many operations in place of what
 * it asks for; 0: it is not. */
static unsigned long quota;
__attribute__((visibility("default"))) void isl_ctx_set_max_operations(
    isl_ctx *ctx, unsigned long max) {
  static void (*set)(isl_ctx *, unsigned long);
  if (!set) *(void **)&set = dlsym(RTLD_NEXT, "isl_ctx_set_max_operations");
  bool mine = quota && max == TP_ISL_MOST;
  set(ctx, mine ? quota : max);
  if (mine) quota = 0;
}

/* isl gives up after n operations: an error of ours every time, never a crash, and the program can
 * be compiled afterwards. */
static void quotas(const life *l, const char *tier, int most) {
  char *text = slurp(l->name);
  tempo_error err = { 0 };
  tempo_program *p = tempo_program_parse(text, &err);
  unsigned long n = 1;
  int met = 0;
  tempo_function *f = NULL;
  for (; !f && met < 10 * most; n += 1 + n / (unsigned)(most / 4)) {
    memset(&err, 0, sizeof err);
    quota = n;
    f = tempo_compile(p, tier, &err);
    quota = 0;
    if (f) break;
    met++;
    CHECKF(strstr(err.message, "too hard for isl") || strstr(err.message, "operations of isl"),
        "%s, %lu operations: %s", l->name, n, err.message);
  }
  tempo_function_free(f);
  f = tempo_compile(p, tier, &err);
  CHECKF(f && met > 5, "%s: %d quotas: %s", l->name, met, err.message);
  tempo_function_free(f);
  tempo_program_free(p);
  free(text);
}

/* The host ends compiling when it is asked the n-th time: always that error, and then the same
 * plan. */
static bool asked(void *left) { return --*(long *)left < 0; }

static char *plan_of(tp_program *p, tp_copts *o, tp_error *err) {
  tp_buf b;
  tp_fn *f = tp_compile(p, o, err);
  tp_buf_init(&b);
  if (f && !tp_fn_explain(f, "plan", NULL, &b, err)) tp_puts(&b, "?");
  tp_fn_free(f);
  return b.s;
}

static void ends(const life *l, tp_tier tier, int most) {
  char *text = slurp(l->name);
  tempo_error e = { 0 };
  tp_error err = { 0 };
  tp_program *p = (tp_program *)tempo_program_parse(text, &e);
  long left = LONG_MAX, n = 0;
  tp_copts o = { .tier = tier, .interrupted = asked, .host = &left };
  char *want = plan_of(p, &o, &err), *got;
  long all = LONG_MAX - left;
  for (n = 0; n < all; n += 1 + all / most) {
    err = (tp_error){ 0 };
    left = n;
    got = plan_of(p, &o, &err);
    CHECKF(!got && strstr(err.msg, "the host has ended"), "%s, question %ld of %ld: %s", l->name, n,
        all, err.msg);
    free(got);
  }
  left = LONG_MAX;
  err = (tp_error){ 0 };
  got = plan_of(p, &o, &err);
  CHECKF(want && got && !strcmp(want, got) && all > 20, "%s, after %ld questions: %s", l->name, all,
      err.msg);
  free(want);
  free(got);
  tempo_program_free((tempo_program *)p);
  free(text);
}

/* ---- steps that ask for nothing ---- */

/* y[t] = y[t-1] / 2 + x[t], its sum, and what a callback makes of it. */
static const char decaying[] = "dim t:T\n"
                               "%0 = input {str \"x\"} : (t) f32 [3]\n"
                               "%1 \"y\" = merge %0 if t == 0, %5 : (t) f32 [3]\n"
                               "%2 = read %1 {at [t - 1]} : (t) f32 [3]\n"
                               "%3 = fill {f 0.5} : () f32 []\n"
                               "%4 = mul %2, %3 : (t) f32 [3]\n"
                               "%5 = add %4, %0 : (t) f32 [3]\n"
                               "%6 = sum %1 {axes 0} : (t) f32 []\n"
                               "%7 \"twice\" = call %6 : (t) f32 []\n"
                               "output \"y\" %1\noutput \"twice\" %7\n";

enum { WARM = 3, TICKS = 500 };

/* From the third step on the first request would fail. made: each output, at each tick. */
static void steps_ask_nothing(const char *tier) {
  static const char *const names[] = { "t", "T", "x" };
  int64_t bound = TEMPO_ENDLESS;
  int done = 0, made[2] = { 0 };
  tempo_error err = { 0 };
  tempo_array *x = tempo_array_new("f32", 1, (int64_t[]){ 3 }), *out[2] = { 0 }, *plain[2] = { 0 },
              *first[2];
  tempo_program *p = tempo_program_parse(decaying, &err);
  tempo_function *f = tempo_compile_ticks(p, tier, 1, names, &err),
                 *g = tempo_compile_ticks(p, tier, 1, names, &err);
  bool ok = f && g && called(f, &err) && called(g, &err) &&
      tempo_start(f, 0, NULL, NULL, 1, names + 1, &bound, 1, &err) &&
      tempo_start(g, 0, NULL, NULL, 1, names + 1, &bound, 1, &err);
  for (int n = 0; ok && n < TICKS; n++) {
    for (int k = 0; k < 3; k++) tempo_array_set(x, k, n % 7 + k);
    tp_fail_alloc(n < WARM ? 0 : 1);
    ok = tempo_step_into(f, 1, names + 2, &x, n % 3 ? -1 : 1000, &done, NULL, out, made, &err);
    CHECKF(!tp_fail_alloc(0), "%s: a step asks for memory, tick %d", tier, n);
    CHECKF(ok && made[0] && made[1] && !done, "%s, tick %d: %s", tier, n, err.message);
    if (!n) memcpy(first, out, sizeof first);
    ok = ok && tempo_step(g, 1, names + 2, &x, -1, &done, NULL, plain, &err);
    CHECK(ok && out[0] == first[0] && out[1] == first[1] && total(out, 2) == total(plain, 2));
    for (int k = 0; k < 2; k++) tempo_array_free(plain[k]);
  }
  CHECKF(ok, "%s: %s", tier, err.message);
  /* what another handle holds stays as it is */
  tempo_array *held = tempo_array_ref(out[0]);
  double was = tempo_array_get(held, 0);
  tempo_array_free(out[1]);
  out[1] = tempo_array_new("f64", 1, (int64_t[]){ 2 });
  CHECK(tempo_step_into(f, 1, names + 2, &x, -1, &done, NULL, out, NULL, &err));
  CHECK(out[0] != held && tempo_array_get(held, 0) == was && tempo_array_rank(out[1]) == 0);
  tempo_array_free(held);
  for (int k = 0; k < 2; k++) tempo_array_free(out[k]);
  tempo_array_free(x);
  tempo_function_free(f);
  tempo_function_free(g);
  tempo_program_free(p);
}

int main(int argc, char **argv) {
  int most = argc > 1 ? atoi(argv[1]) : CHECK_SHORT ? MOST / 2 : MOST;
  snprintf(path, sizeof path, "/tmp/tempo_oom_%ld", (long)getpid());
  for (int i = 0; i < (int)TP_LEN(lives); i++) {
    faults(&lives[i], "reference", most);
    faults(&lives[i], "interpreter", most);
    quotas(&lives[i], "interpreter", most / 5);
    ends(&lives[i], TP_TIER_INTERPRETER, most);
  }
  steps_ask_nothing("interpreter");
  steps_ask_nothing("native");
  remove(path);
  return check_report();
}
