/* run: runs, steps, cancelling. */
#include "api/api.h"

/* ---- in and out ---- */

static void enter(tempo_function *f) {
  f->raised = false;
  __atomic_store_n(&f->cancel, false, __ATOMIC_RELAXED);
  __atomic_store_n(&f->running, true, __ATOMIC_RELEASE);
}

static int run_done(tempo_function *f, bool ok, const tp_error *e, tempo_error *err) {
  __atomic_store_n(&f->running, false, __ATOMIC_RELEASE);
  f->cancelled = ok && __atomic_load_n(&f->cancel, __ATOMIC_RELAXED);
  return ok || (f->raised ? api_raise(err, &f->error) : api_fail(err, e));
}

int tempo_cancel(tempo_function *f) {
  if (!api_given(f, __func__, "the function", NULL) ||
      !__atomic_load_n(&f->running, __ATOMIC_ACQUIRE))
    return 0;
  __atomic_store_n(&f->cancel, true, __ATOMIC_RELAXED);
  return 1;
}

int tempo_cancelled(const tempo_function *f) {
  return api_given(f, __func__, "the function", NULL) && f->cancelled;
}

/* ---- results ---- */

static void no_results(tempo_function *f, tempo_array **to) {
  for (int i = 0; to && api_visible(tp_fn_graph(f->f), i) >= 0; i++) to[i] = NULL;
}

static void give_results(tempo_function *f, tp_array *const *from, tempo_array **to) {
  for (int i = 0, k; to && (k = api_visible(tp_fn_graph(f->f), i)) >= 0; i++)
    to[i] = (tempo_array *)(from[k] ? tp_array_ref(from[k]) : NULL);
}

static bool room_for_results(
    tempo_function *f, const char *fn, tempo_array **to, tempo_error *err) {
  return api_visible(tp_fn_graph(f->f), 0) < 0 || api_given(to, fn, "outputs", err);
}

/* ---- runs ---- */

/* A run from the beginning, the start of one in steps, or the rest of a state's. */
typedef struct {
  moment when;
  bounds b;
  arrays a;
  uint64_t seed;
  const void *state;
  size_t size;
} given;

static bool run_it(tempo_function *f, const given *g, tp_run *run, tp_array **in, tp_error *e) {
  if (g->when != ALL && !tp_fn_ticks(f->f, e)) return false;
  if (!(run->env = api_env(f, g->b, true, e)) || !api_bind_inputs(f, g->when, g->a, in, e))
    return false;
  return g->when == STARTING ? tp_fn_start(f->f, run, e)
      : g->when == RESUMING  ? tp_fn_resume(f->f, run, g->state, g->size, e)
                             : tp_fn_run(f->f, run, e);
}

static int run_now(tempo_function *f, const given *g, tempo_array **outputs, tempo_error *err) {
  tp_error e = { 0 };
  tp_array **in = tp_calloc(sizeof *in * (size_t)(tp_fn_graph(f->f)->inputs.n + 1));
  tp_run run = { .inputs = in, .seed = g->seed, .call = api_call, .ud = f, .cancel = &f->cancel };
  no_results(f, outputs);
  enter(f);
  bool ok = in ? run_it(f, g, &run, in, &e) : tp_no_memory(&e, TP_NOWHERE);
  if (ok && outputs) give_results(f, run.outputs, outputs);
  if (ok) tp_fn_outputs_free(f->f, &run);
  tp_free((void *)run.env);
  tp_free(in);
  return run_done(f, ok, &e, err);
}

int tempo_run(tempo_function *f, int ninput, const char *const *input_name,
    tempo_array *const *input, int nbound, const char *const *bound_name, const int64_t *bound,
    uint64_t seed, tempo_array **outputs, tempo_error *err) {
  const given g = { ALL, { nbound, bound_name, bound }, { ninput, input_name, input }, seed, NULL,
    0 };
  return api_ready(f, __func__, err) && room_for_results(f, __func__, outputs, err) &&
      run_now(f, &g, outputs, err);
}

int tempo_resume(tempo_function *f, const void *state, size_t size, int ninput,
    const char *const *input_name, tempo_array *const *input, int nbound,
    const char *const *bound_name, const int64_t *bound, tempo_array **outputs, tempo_error *err) {
  const given g = { RESUMING, { nbound, bound_name, bound }, { ninput, input_name, input }, 0,
    state, size };
  return api_ready(f, __func__, err) && api_given(state, __func__, "the state", err) &&
      room_for_results(f, __func__, outputs, err) && run_now(f, &g, outputs, err);
}

/* ---- steps ---- */

int tempo_start(tempo_function *f, int ninput, const char *const *input_name,
    tempo_array *const *input, int nbound, const char *const *bound_name, const int64_t *bound,
    uint64_t seed, tempo_error *err) {
  const given g = { STARTING, { nbound, bound_name, bound }, { ninput, input_name, input }, seed,
    NULL, 0 };
  return api_ready(f, __func__, err) && run_now(f, &g, NULL, err);
}

/* to: by visible output, an earlier step's array that may be written into. */
static void lend_results(tempo_function *f, tempo_array *const *to) {
  for (int i = 0, k; (k = api_visible(tp_fn_graph(f->f), i)) >= 0; i++)
    if (to[i]) f->into[k] = tp_array_ref(api_array(to[i]));
}

/* Arrays that the step made take the places of those that the host lent. */
static void change_results(tempo_function *f, tempo_array **to, int *made) {
  for (int i = 0, k; (k = api_visible(tp_fn_graph(f->f), i)) >= 0; i++) {
    if (made) made[i] = f->out[k] != NULL;
    if (!f->out[k] || f->out[k] == f->into[k]) continue;
    tempo_array_free(to[i]);
    to[i] = (tempo_array *)tp_array_ref(f->out[k]);
  }
}

/* Asks for no memory as far as results have a place. into: `outputs` holds arrays of an earlier
 * step, which are written into; else it gets new ones. */
static int step_now(tempo_function *f, const char *fn, arrays a, double budget_ms, int *done,
    double *late_ms, tempo_array **outputs, bool into, int *made, tempo_error *err) {
  tp_error e = { 0 };
  if (!api_ready(f, fn, err) || !room_for_results(f, fn, outputs, err) ||
      !api_given(done, fn, "done", err))
    return 0;
  if (budget_ms != budget_ms) return api_refuse(err, TP_E_OPTION, "%s: budget_ms is nan", fn);
  const tp_graph *g = tp_fn_graph(f->f);
  tp_step s = { .values = f->in,
    .budget = budget_ms < 0 ? -1 : budget_ms / 1e3,
    .call = api_call,
    .ud = f,
    .cancel = &f->cancel,
    .out = f->out,
    .into = f->into };
  enter(f);
  if (into) lend_results(f, outputs);
  else no_results(f, outputs);
  bool ok = api_bind_inputs(f, STEPPING, a, f->in, &e) && tp_fn_step(f->f, &s, &e);
  if (ok && into) change_results(f, outputs, made);
  else if (ok) give_results(f, s.out, outputs);
  if (ok) *done = s.done;
  if (ok && late_ms) *late_ms = s.late * 1e3;
  tp_step_drop(f->f, &s);
  for (int i = 0; i < g->outputs.n; i++) f->into[i] = tp_array_unref(f->into[i]);
  memset(f->in, 0, sizeof *f->in * (size_t)g->inputs.n);
  return run_done(f, ok, &e, err);
}

int tempo_step(tempo_function *f, int nvalue, const char *const *value_name,
    tempo_array *const *value, double budget_ms, int *done, double *late_ms, tempo_array **outputs,
    tempo_error *err) {
  return step_now(f, __func__, (arrays){ nvalue, value_name, value }, budget_ms, done, late_ms,
      outputs, false, NULL, err);
}

int tempo_step_into(tempo_function *f, int nvalue, const char *const *value_name,
    tempo_array *const *value, double budget_ms, int *done, double *late_ms, tempo_array **outputs,
    int *made, tempo_error *err) {
  return step_now(f, __func__, (arrays){ nvalue, value_name, value }, budget_ms, done, late_ms,
      outputs, true, made, err);
}

int tempo_next_tick(tempo_function *f, int64_t *at) {
  return api_compiled(f, __func__, NULL) && tp_fn_next_tick(f->f, at);
}
