/* fn: runs a compiled function and answers questions about it. */
#include "rt/fn.h"

tp_graph *tp_fn_graph(tp_fn *f) { return f->closed; }

/* The function holds loaded parameters, whichever plan it runs. */
int64_t tp_fn_peak(const tp_fn *f) {
  return f->peak ? tp_sum_bytes(f->peak, tp_loaded_bytes(f)) : 0;
}

int tp_fn_bounds(tp_fn *f, tp_dims *out) {
  *out = f->bounds;
  return f->nbound;
}

/* ---- running ---- */

static bool execute(tp_fn *f, void *given, tp_error *err) {
  tp_run *run = given;
  if (tp_fn_is_endless(f, run->env)) return tp_fn_run_endless(f, run, err);
  if (!tp_run_check(f->graph, run, err) || !f->engine->room(f, f->exec, run, err)) return false;
  bool ok = tp_run_alloc(f->graph, run, err);
  if (ok) tp_begin_params(f, f->exec, run);
  if (ok)
    ok = f->plan && f->ticking ? tp_fn_door(f, run, f->engine->run, err)
                               : f->engine->run(f, run, err);
  return ok && tp_fn_trim(f, run, err);
}

bool tp_fn_run(tp_fn *f, tp_run *run, tp_error *err) {
  tp_fn *g = f->ran = tp_fn_within(f, run->env);
  int64_t *env = tp_full_env(g, run->env);
  if (!env) return tp_no_memory(err, f->pos);
  tp_run inner = *run;
  inner.env = env;
  inner.params = f->loaded;
  inner.memory = f->most;
  inner.stays = g->plan && !g->ticking && !g->graph->stops.n && !tp_fn_is_endless(g, env);
  f->running = true;
  bool ok =
      (inner.stays || tp_run_see(g->graph, &inner, err)) && tp_guarded(g, execute, &inner, err);
  f->running = false;
  f->peak = g->peak;
  bool early = g->exec && !tp_fn_is_endless(g, env) && (!ok || tp_exec_cancelled(g->exec));
  if (early) tp_newest_params(f, g->exec, g->keeps, inner.outputs);
  for (int i = 0; inner.outputs && i < f->graph->outputs.n; i++)
    if (inner.outputs[i]) inner.outputs[i]->blank = false;
  tp_keep_params(f, inner.outputs);
  bool ran = inner.outputs;
  if (!ok) tp_run_free_outputs(f->graph, &inner);
  run->outputs = ok ? inner.outputs : NULL;
  if (ran) {
    tp_free(f->called);
    f->called = env;
  } else tp_free(env);
  return ok;
}

void tp_fn_outputs_free(tp_fn *f, tp_run *run) { tp_run_free_outputs(f->graph, run); }

int64_t tp_fn_memory(tp_fn *f, const int64_t *env, tp_error *err) {
  if (!f->plan) return -1;
  int64_t loaded = tp_loaded_bytes(f);
  f = tp_fn_within(f, env);
  int64_t *all = tp_full_env(f, env);
  int64_t n = all ? tp_exec_memory(f->exec, all) : -1;
  if (n < 0) tp_fail(err, TP_E_MEMORY, f->pos, "sizes overflow for these bounds");
  tp_free(all);
  return n < 0 ? n : tp_sum_bytes(n, loaded);
}

static bool simulate(tp_fn *f, void *env, tp_error *err) {
  const tp_run run = { .env = env };
  return tp_run_check_bounds(f->graph, &run, err) && tp_poly_simulate(f->poly, env, err);
}

bool tp_fn_simulate(tp_fn *f, const int64_t *given, bool *known, tp_error *err) {
  if (!tp_fn_whole(f, err)) return false;
  *known = f->poly && !f->poly->ends.n;
  if (!*known) return true;
  int64_t *env = tp_full_env(f, given);
  bool ok = env ? tp_guarded(f, simulate, env, err) : tp_no_memory(err, f->pos);
  tp_free(env);
  return ok;
}

/* Closing the graph may make symbols, so the environment is laid out anew. */
static tp_array *peek_at(
    tp_graph *g, tp_node *x, int out, tp_run *run, int nsym, const int64_t *at, tp_error *err) {
  TP_PUSH(&g->arena, &g->outputs, (tp_output){ .name = "peek", .val = { x, out }, .pos = x->pos });
  if (!tp_grad_expand(g, err) || !tp_pass_params(&(tp_work){ .g = g }, err)) return NULL;
  int64_t *env = TP_NEWN(&g->arena, int64_t, tp_nsym(g->ix));
  TP_COPYN(env, run->env, nsym);
  tp_run_given(g, env);
  tp_run inner = *run;
  inner.env = env;
  return tp_ref_peek(g, &inner, g->outputs.v[0].val, at, err);
}

tp_array *tp_program_peek(tp_program *p, tp_val v, tp_run *run, const int64_t *at, tp_error *err) {
  int nsym = tp_nsym(p->ix);
  tp_graph *const g = tp_graph_clone(p->g, err);
  tp_array *volatile a = NULL;
  tp_guard oom;
  if (!g) return NULL;
  if (TP_GUARDED(&oom)) {
    a = peek_at(g, g->nodes.v[v.node->id], v.out, run, nsym, at, err);
    tp_unguard(&oom);
  } else tp_no_memory(err, g->pos);
  tp_graph_free(g);
  return a;
}

bool tp_fn_explain(tp_fn *f, const char *section, const int64_t *env, tp_buf *out, tp_error *err) {
  if (env) f = tp_fn_within(f, env);
  return (tp_explains_plan(section) || tp_fn_whole(f, err)) &&
      tp_explain(f, section, env, out, err);
}
