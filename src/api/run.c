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
  if (!api_given(f, "tempo_cancel", "the function", NULL) ||
      !__atomic_load_n(&f->running, __ATOMIC_ACQUIRE))
    return 0;
  __atomic_store_n(&f->cancel, true, __ATOMIC_RELAXED);
  return 1;
}

int tempo_cancelled(const tempo_function *f) {
  return api_given(f, "tempo_cancelled", "the function", NULL) && f->cancelled;
}

/* ---- results ---- */

static void no_results(tempo_function *f, tempo_array **to) {
  for (int i = 0; to && api_visible(tp_fn_graph(f->f), i) >= 0; i++) to[i] = NULL;
}

static void give_results(tempo_function *f, tp_array *const *from, tempo_array **to) {
  for (int i = 0, k; to && (k = api_visible(tp_fn_graph(f->f), i)) >= 0; i++)
    to[i] = (tempo_array *)(from[k] ? tp_array_ref(from[k]) : NULL);
}

static bool room_for_results(tempo_function *f, const char *fn, tempo_array **to, tempo_error *err) {
  return api_visible(tp_fn_graph(f->f), 0) < 0 || api_given(to, fn, "outputs", err);
}

/* ---- runs ---- */

/* state NULL: from the beginning. */
static bool run_whole(api_frame *x, bounds b, arrays a, const void *state, size_t size, tp_error *e) {
  tempo_function *f = x->f;
  if (state && !tp_fn_ticks(f->f, e)) return false;
  if (!api_bind_bounds(f, b, true, x->env, e) || !api_bind_inputs(f, state ? RESUMING : ALL, a, x->in, e))
    return false;
  return state ? tp_fn_resume(f->f, &x->run, state, size, e) : tp_fn_run(f->f, &x->run, e);
}

static int run_now(tempo_function *f, bounds b, arrays a, const void *state, size_t size, uint64_t seed,
                   tempo_array **outputs, tempo_error *err) {
  tp_error e = { 0 };
  api_frame x;
  no_results(f, outputs);
  enter(f);
  bool ok = api_open(&x, f, &e);
  x.run.seed = seed;
  ok = ok && run_whole(&x, b, a, state, size, &e);
  if (ok) give_results(f, x.run.outputs, outputs);
  if (ok) tp_fn_outputs_free(f->f, &x.run);
  api_close(&x);
  return run_done(f, ok, &e, err);
}

int tempo_run(tempo_function *f, int ninput, const char *const *input_name, tempo_array *const *input,
              int nbound, const char *const *bound_name, const int64_t *bound, uint64_t seed,
              tempo_array **outputs, tempo_error *err) {
  if (!api_ready(f, "tempo_run", err) || !room_for_results(f, "tempo_run", outputs, err)) return 0;
  return run_now(f, (bounds){ nbound, bound_name, bound }, (arrays){ ninput, input_name, input }, NULL, 0,
                 seed, outputs, err);
}

int tempo_resume(tempo_function *f, const void *state, size_t size, int ninput,
                 const char *const *input_name, tempo_array *const *input, int nbound,
                 const char *const *bound_name, const int64_t *bound, tempo_array **outputs,
                 tempo_error *err) {
  if (!api_ready(f, "tempo_resume", err) || !api_given(state, "tempo_resume", "the state", err) ||
      !room_for_results(f, "tempo_resume", outputs, err))
    return 0;
  return run_now(f, (bounds){ nbound, bound_name, bound }, (arrays){ ninput, input_name, input }, state,
                 size, 0, outputs, err);
}

/* ---- steps ---- */

int tempo_start(tempo_function *f, int ninput, const char *const *input_name, tempo_array *const *input,
                int nbound, const char *const *bound_name, const int64_t *bound, uint64_t seed,
                tempo_error *err) {
  tp_error e = { 0 };
  api_frame x;
  if (!api_ready(f, "tempo_start", err)) return 0;
  enter(f);
  bool ok = api_open(&x, f, &e);
  x.run.seed = seed;
  ok = ok && tp_fn_ticks(f->f, &e) &&
       api_bind_bounds(f, (bounds){ nbound, bound_name, bound }, true, x.env, &e) &&
       api_bind_inputs(f, STARTING, (arrays){ ninput, input_name, input }, x.in, &e) &&
       tp_fn_start(f->f, &x.run, &e);
  api_close(&x);
  return run_done(f, ok, &e, err);
}

int tempo_step(tempo_function *f, int nvalue, const char *const *value_name, tempo_array *const *value,
               double budget_ms, int *done, double *late_ms, tempo_array **outputs, tempo_error *err) {
  tp_error e = { 0 };
  api_frame x;
  if (!api_ready(f, "tempo_step", err) || !room_for_results(f, "tempo_step", outputs, err) ||
      !api_given(done, "tempo_step", "done", err))
    return 0;
  if (budget_ms != budget_ms) return api_refuse(err, TP_E_OPTION, "tempo_step: budget_ms is nan");
  no_results(f, outputs);
  enter(f);
  bool ok = api_open(&x, f, &e);
  tp_step s = { .values = x.in, .budget = budget_ms < 0 ? -1 : budget_ms / 1e3,
                .call = api_call, .ud = f, .cancel = &f->cancel };
  ok = ok && api_bind_inputs(f, STEPPING, (arrays){ nvalue, value_name, value }, x.in, &e) &&
       tp_fn_step(f->f, &s, &e);
  if (ok) {
    give_results(f, s.out, outputs);
    *done = s.done;
    if (late_ms) *late_ms = s.late * 1e3;
    tp_step_free(f->f, &s);
  }
  api_close(&x);
  return run_done(f, ok, &e, err);
}

int tempo_next_tick(tempo_function *f, int64_t *at) {
  return api_given(f, "tempo_next_tick", "the function", NULL) && tp_fn_next_tick(f->f, at);
}
