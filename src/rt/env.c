/* env: small functions for all parts of rt: environments of bounds, inputs, trimmed outputs. */
#include "rt/fn.h"

/* Inputs keep their places in every clone; a dropped one has id -1. */
bool tp_fn_needs_input(tp_fn *f, int i) { return f->graph->inputs.v[i]->id >= 0; }

int tp_tick_depth_of(const tp_fn *f, int output) {
  const tp_node *n = f->graph->outputs.v[output].val.node;
  return tp_tick_depth(f->ntick, f->tick, n->ndom, n->dom);
}

bool tp_guarded(tp_fn *f, bool (*fn)(tp_fn *, void *, tp_error *), void *arg, tp_error *err) {
  tp_guard oom;
  volatile bool ok = false;
  if (TP_GUARDED(&oom)) {
    ok = fn(f, arg, err);
    tp_unguard(&oom);
  } else tp_no_memory(err, f->pos);
  return ok;
}

void tp_fill_env(tp_fn *f, int64_t *env, const int64_t *given) {
  for (int i = 0; i < f->nbound; i++) env[f->bounds[i]->id] = given[f->bounds[i]->id];
  tp_run_given(f->graph, env);
}

int64_t *tp_full_env(tp_fn *f, const int64_t *given) {
  int64_t *env = tp_calloc(sizeof *env * (size_t)TP_MAX(tp_nsym(f->graph->ix), 1));
  if (env) tp_fill_env(f, env, given);
  return env;
}

/* Trims outputs, in an environment of its own: the run's has no place for symbols that callbacks
 * have made since it began. */
bool tp_fn_trim(tp_fn *f, tp_run *run, tp_error *err) {
  tp_run inner = *run;
  int64_t *env = tp_full_env(f, run->env);
  inner.env = env;
  bool ok = env ? tp_run_trim(f->closed, &inner, err) : tp_no_memory(err, f->pos);
  tp_free(env);
  return ok;
}
