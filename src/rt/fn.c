/* fn: running a compiled function and looking at it. */
#include "rt/fn.h"
#include <stdio.h>

tp_graph *tp_fn_graph(tp_fn *f) { return f->closed; }
int tp_fn_nparam(tp_fn *f) { return f->closed->params.n; }
const tp_node *tp_fn_param(tp_fn *f, int k) { return f->closed->params.v[k]; }
int64_t tp_fn_peak(const tp_fn *f) { return f->peak; }

int tp_fn_bounds(tp_fn *f, const tp_sym *const **out) {
  *out = f->bounds;
  return f->nbound;
}

/* Inputs keep their places in every clone; a dropped one has id -1. */
bool tp_fn_needs_input(tp_fn *f, int i) { return f->graph->inputs.v[i]->id >= 0; }

/* ---- running ---- */

/* The environment has a place for every symbol, loop variables included; the caller's has the bounds. */
static int64_t *full_env(tp_fn *f, const tp_run *run) {
  int n = tp_nsym(f->graph->ix);
  int64_t *env = tp_calloc(sizeof *env * (size_t)TP_MAX(n, 1));
  for (int i = 0; env && i < f->nbound; i++) env[f->bounds[i]->id] = run->env[f->bounds[i]->id];
  if (env) tp_run_given(f->graph, env);
  return env;
}

static bool execute(tp_fn *f, tp_run *run, tp_error *err) {
  if (!tp_run_check(f->graph, run, err)) return false;
  bool ok = tp_run_alloc(f->graph, run, err);
  if (ok) ok = f->tier == TP_TIER_REFERENCE ? tp_ref_run(f->graph, run, err) : tp_exec_run(f->exec, run, err);
  f->peak = f->exec ? tp_exec_peak(f->exec) : 0;
  ok = ok && tp_run_trim(f->closed, run, err);
  if (!ok) tp_run_free_outputs(f->graph, run);
  return ok;
}

/* Words of errors are in arenas too. */
static bool guarded(tp_fn *f, tp_run *run, tp_error *err) {
  tp_guard oom;
  volatile bool ok = false;
  if (TP_GUARDED(&oom)) {
    ok = execute(f, run, err);
    tp_unguard(&oom);
  } else {
    tp_fail(err, TP_E_MEMORY, f->pos, "out of memory");
    tp_run_free_outputs(f->graph, run);
  }
  return ok;
}

bool tp_fn_run(tp_fn *f, tp_run *run, tp_error *err) {
  if (f->running) return tp_fail(err, TP_E_OPTION, f->pos, "this function is already running: a callback may not call it again");
  int64_t *env = full_env(f, run);
  if (!env) return tp_fail(err, TP_E_MEMORY, f->pos, "out of memory");
  tp_run inner = *run;
  inner.env = env;
  f->running = true;
  bool ok = guarded(f, &inner, err);
  f->running = false;
  run->outputs = ok ? inner.outputs : NULL;
  tp_free(env);
  return ok;
}

void tp_fn_outputs_free(tp_fn *f, tp_run *run) { tp_run_free_outputs(f->graph, run); }

int64_t tp_fn_memory(tp_fn *f, const int64_t *env, tp_error *err) {
  if (!f->plan) return -1;
  int64_t *offsets = tp_calloc(sizeof *offsets * (size_t)(f->plan->bufs.n + 1));
  tp_run run = { .env = env };
  int64_t *all = full_env(f, &run);
  int64_t n = offsets && all ? tp_plan_color(f->plan, all, offsets) : -1;
  if (n < 0) tp_fail(err, TP_E_MEMORY, f->pos, "sizes overflow for these bounds");
  tp_free(offsets); tp_free(all);
  return n;
}

/* Closing the graph may make symbols, so the environment is laid out anew. */
static tp_array *peek_closed(tp_graph *g, tp_run *run, int nsym, const int64_t *at, tp_error *err) {
  int64_t *env = tp_calloc(sizeof *env * (size_t)(tp_nsym(g->ix) + 1));
  if (!env) { tp_fail(err, TP_E_MEMORY, g->pos, "out of memory"); return NULL; }
  memcpy(env, run->env, sizeof *env * (size_t)nsym);
  tp_run_given(g, env);
  tp_run inner = *run;
  inner.env = env;
  tp_array *a = tp_ref_peek(g, &inner, g->outputs.v[0].val, at, err);
  tp_free(env);
  return a;
}

tp_array *tp_program_peek(tp_program *p, tp_val v, tp_run *run, const int64_t *at, tp_error *err) {
  int nsym = tp_nsym(p->ix);
  tp_graph *g = tp_graph_clone(p->g, err);
  if (!g) return NULL;
  v.node = g->nodes.v[v.node->id];
  TP_PUSH(&g->arena, &g->outputs, (tp_output){ .name = "peek", .val = v, .pos = v.node->pos });
  tp_array *a = tp_grad_expand(g, err) && tp_close_params(g, err) ? peek_closed(g, run, nsym, at, err) : NULL;
  tp_graph_free(g);
  return a;
}

/* ---- explain ---- */

static const char *const sections[] = { "graph", "schedule", "storage", "plan", "passes", "dot" };

static void passes(tp_buf *b, tp_fn *f) {
  for (int i = 0; i < tp_npasses; i++) tp_putf(b, "%-12s %-3s %s\n", tp_passes[i].name, f->opt.on[i] ? "on" : "off", tp_passes[i].doc);
}

static void summary(tp_buf *b, tp_fn *f) {
  static const char *const tiers[] = { "auto", "reference", "interpreter", "native" };
  tp_putf(b, "tier %s, %d nodes", tiers[f->tier], f->graph->nodes.n);
  if (f->poly) {
    tp_putf(b, ", %d statements, %d arrays, %d isl queries, schedule %s\n", f->poly->stmts.n, f->poly->arrs.n, f->poly->nquery,
            f->poly->proved ? "proved" : "not fully proved");
    if (f->poly->unproved) tp_putf(b, "not proved: %s\n", f->poly->unproved);
    tp_putf(b, "ms: schedule %.1f, proof %.1f, tree %.1f, storage %.1f\n", f->poly->ms_schedule, f->poly->ms_proof, f->poly->ms_tree, f->poly->ms_live);
  } else tp_puts(b, "\n");
}

static void section_text(tp_fn *f, const char *s, tp_buf *b) {
  if (!strcmp(s, "graph")) tp_graph_print(b, f->graph);
  else if (!strcmp(s, "dot")) tp_graph_dot(b, f->graph);
  else if (!strcmp(s, "passes")) passes(b, f);
  else if (!f->poly) tp_putf(b, "the reference evaluator has no %s\n", s);
  else if (!strcmp(s, "schedule")) tp_poly_print_schedule(b, f->poly);
  else if (!strcmp(s, "storage")) tp_poly_print_storage(b, f->poly);
  else tp_plan_print(b, f->plan);
}

bool tp_fn_explain(tp_fn *f, const char *section, tp_buf *out, tp_error *err) {
  if (!section) { summary(out, f); return true; }
  for (int i = 0; i < (int)TP_LEN(sections); i++)
    if (!strcmp(section, sections[i])) { section_text(f, section, out); return true; }
  const char *near = tp_nearest(section, sections, TP_LEN(sections));
  return tp_fail(err, TP_E_OPTION, f->pos, "unknown section '%s' of explain: %s%s%s", section, near ? "did you mean '" : "graph, schedule, storage, plan, passes or dot",
                 near ? near : "", near ? "'?" : "");
}

void tp_dump_stage(const char *section, tp_fn *f) {
  const char *want = tp_setting("TEMPO_DUMP");
  if (!want || !strstr(want, section) || !f->poly) return;
  tp_buf b;
  tp_buf_init(&b);
  section_text(f, section, &b);
  fprintf(stderr, "> %s\n%s", section, b.s ? b.s : "");
  tp_buf_free(&b);
}
