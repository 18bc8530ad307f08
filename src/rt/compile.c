/* compile: the pipeline, as a column of calls, and what a compiled function keeps.
 *
 * A function has a program of its own, read from the recording's text: it shares no symbols and no
 * isl context, so another thread may compile it, and what it becomes depends on that text and the
 * options alone.
 *
 * Two graphs. `closed` is the recording with gradients built and parameters closed: what is judged
 * and hashed, and what the function's inputs, outputs and parameters are. `graph` is what the tier
 * executes: swept, and for the compiled tiers rewritten by the passes. Where gradients of ranges
 * that move are asked for, compiled tiers execute `ranges` in place of `closed`: the recording
 * whose ranges were made recurrences, closed like it. Inputs, parameters and outputs keep their
 * places in all. */
#include "rt/fn.h"

/* ---- bounds that must be given ---- */

static const tp_ix *mark_ix(void *seen, const tp_ix *e) {
  const tp_sym *const *s;
  for (int i = 0, n = tp_ix_syms(e, &s); i < n; i++) {
    ((bool *)seen)[s[i]->id] = true;
    if (s[i]->bound) ((bool *)seen)[s[i]->bound->id] = true;
  }
  return e;
}

static void mark_node(bool *seen, tp_node *n) {
  for (int d = 0; d < n->ndom; d++)
    if (n->dom[d]->bound) seen[n->dom[d]->bound->id] = true;
  tp_node_map(NULL, n, mark_ix, seen);
}

static void needed_bounds(tp_fn *f) {
  tp_ictx *c = f->graph->ix;
  bool *seen = TP_NEWN(&f->graph->arena, bool, tp_nsym(c));
  for (int i = 0; i < f->graph->nodes.n; i++) mark_node(seen, f->graph->nodes.v[i]);
  f->bounds = TP_NEWN(&f->closed->arena, const tp_sym *, tp_nsym(c));
  for (int i = 0; i < tp_nsym(c); i++)
    if (seen[i] && tp_sym_at(c, i)->kind == TP_SYM_BOUND && !tp_sym_at(c, i)->hidden)
      f->bounds[f->nbound++] = tp_sym_at(c, i);
}

/* ---- a program of its own ---- */

/* An output is one array for all points. */
static bool is_array(const tp_graph *g, const tp_output *o, tp_error *err) {
  const tp_node *n = o->val.node;
  const tp_out *t = tp_outof(o->val);
  int axis;
  if (n->ndom + t->rank > TP_MAXRANK)
    return tp_fail(err, TP_E_SHAPE, o->pos,
        "shape: output '%s' would be an array of %d axes: %d dims and %d of its own; at most %d "
        "are possible",
        o->name, n->ndom + t->rank, n->ndom, t->rank, TP_MAXRANK);
  const tp_sym *d = tp_varies(t->rank, t->shape, n->ndom, n->dom, &axis);
  return !d ||
      tp_fail(err, TP_E_RAGGED, o->pos,
          "ragged: output '%s' has extent %s, which varies with '%s': reduce or pad first", o->name,
          tp_ix_str(g->ix, t->shape[axis]), d->name);
}

/* An output without a name of its own gets the script's, for errors and explain. */
static bool record_outputs(tp_graph *g, const tp_copts *o, tp_error *err) {
  for (int i = 0; i < o->nout; i++) {
    tp_output out = o->outputs[i];
    out.val.node = g->nodes.v[out.val.node->id];
    out.name = tp_strdup(&g->arena, out.name);
    if (!out.val.node->name && !out.val.node->attr.str) out.val.node->name = out.name;
    if (!is_array(g, &out, err)) return false;
    TP_PUSH(&g->arena, &g->outputs, out);
  }
  if (!g->outputs.n && !g->sinks.n)
    return tp_fail(
        err, TP_E_OPTION, o->pos, "nothing to compute: give outputs = {...} or add a sink");
  tp_grad_sweep_unneeded(g);
  return true;
}

/* The recording as far as the outputs need it, as text, and dims by their names: from here on
 * nothing of the host's program is looked at but the arrays of constants. */
static bool take_program(tp_fn *f, void *opts, tp_error *err) {
  const tp_copts *o = opts;
  tp_arena *a = tp_ictx_arena(f->program->ix);
  if (f->pos.file) f->pos.file = tp_strdup(a, f->pos.file);
  f->nasked = o->ntick;
  f->asked_tick = TP_NEWN(a, const char *, o->ntick + 1);
  for (int i = 0; i < o->ntick; i++) f->asked_tick[i] = tp_strdup(a, o->tick[i]->name);
  if (!tp_choose_options(f, o, err) || !record_outputs(f->recorded, o, err)) return false;
  tp_graph_print_as(&f->text, f->recorded, TP_TEXT_HASHDATA | TP_TEXT_NAMES | TP_TEXT_SYMS);
  if (f->text.failed) tp_oom();
  return true;
}

static bool read_program(tp_fn *f, tp_error *err) {
  if (!f->recorded) return true;
  tp_graph *g = tp_graph_move(f->program->ix, f->recorded, f->text.s, err);
  if (!g) return false;
  tp_graph_free(f->program->g);
  f->program->g = g;
  f->recorded = tp_graph_free(f->recorded);
  tp_buf_free(&f->text);
  return true;
}

/* ---- the pipeline ---- */

/* Are there gradients, each by values that no pass replaces? A sum over a range that became a
 * recurrence would also get what reaches it through its later points. */
static bool differentiates_sources(const tp_graph *g) {
  bool any = false;
  for (int i = 0; i < g->nodes.n; i++) {
    const tp_node *n = g->nodes.v[i];
    if (n->op != TP_OP_GRAD) continue;
    any = true;
    /* behind the losses: leaves, then the tensor by which it differentiates */
    for (int k = n->nin - 1 - (int)n->attr.leaves; k < n->nin; k++) {
      tp_op of = n->in[k].src.node->op;
      if (!tp_op_is(of, TP_ALONE) || of == TP_OP_ACCUM || of == TP_OP_GRAD) return false;
    }
  }
  return any;
}

/* Where gradients are asked for, ranges become recurrences before, on a copy: gradients are then
 * those of recurrences. Several of them are made of the same rows, of which the derivatives are
 * added before they go on to what makes these: alone they may be large, and cancel. A host in C is
 * given what was recorded, of which the same is made. */
static bool ranges_first(tp_fn *f, tp_error *err) {
  const tp_switches *o = &f->opt;
  bool changed = false;
  if (f->tier == TP_TIER_REFERENCE || o->check || o->precise || !o->on[TP_PASS_INCREMENTAL] ||
      !differentiates_sources(f->closed))
    return true;
  tp_graph *g = f->ranges = tp_graph_clone(f->closed, err);
  tp_work w = tp_work_on(f, g);
  if (!g || !tp_incremental(g, false, &changed, err) || !tp_verify(g, err)) return false;
  tp_dump_graph(g, "incremental");
  if (changed) return tp_pass_run(&w, TP_PASS_CSE, err) && tp_passes_run(&w, TP_CLOSED, err);
  f->ranges = tp_graph_free(g);
  return true;
}

static bool close_graph(tp_fn *f, tp_error *err) {
  if (!(f->closed = tp_graph_clone(f->program->g, err))) return false;
  f->closed->fixed_bits = f->opt.reproducible;
  tp_work w = tp_work_on(f, f->closed);
  return ranges_first(f, err) && tp_passes_run(&w, TP_CLOSED, err);
}

/* ---- legality ---- */

/* What a call may name, and places for the values of parameters; f->graph is as it was closed. */
void tp_fn_interface(tp_fn *f) {
  needed_bounds(f);
  f->loaded = TP_NEWN(&f->closed->arena, tp_array *, tp_fn_nparam(f) + 1);
  f->latest = TP_NEWN(&f->closed->arena, tp_array *, tp_fn_nparam(f) + 1);
  f->stepped = TP_NEWN(&f->closed->arena, bool, tp_fn_nparam(f) + 1);
}

static bool check_graph(tp_fn *f, tp_error *err) {
  if (!(f->graph = tp_graph_clone(f->closed, err))) return false;
  tp_fn_interface(f);
  return tp_judge_graph(f, err);
}

/* ---- what each tier executes ---- */

/* With ticks given, what runs at once is what steps run. */
static bool ticking(tp_fn *f, tp_error *err) {
  if (!tp_make_ticks(f, err)) return false;
  tp_copy_checks(f->graph, f->steps.graph);
  f->poly = f->steps.poly;
  f->plan = f->steps.plan;
  return true;
}

static bool planned(tp_fn *f, tp_error *err) {
  bool ok = f->ticking ? ticking(f, err)
                       : tp_sweep_graph(f, f->graph, err) &&
          tp_make_code(f, &f->graph, NULL, &f->poly, &f->plan, err);
  if (ok) f->keeps = f->poly->keeps;
  return ok;
}

static bool performed(tp_fn *f, tp_error *err) {
  return f->tier == TP_TIER_REFERENCE || (f->exec = tp_fn_exec(f, f->plan, err));
}

/* What is added here counts as one point where memory is looked at. */
static bool watched(tp_fn *f, tp_error *err) {
  int had = f->graph->nodes.n;
  tp_work w = tp_work_on(f, f->graph);
  if (!tp_passes_run(&w, TP_MARKED, err) || !tp_pass_run(&w, TP_PASS_KEEP, err)) return false;
  bool *whole = TP_NEWN(&f->graph->arena, bool, f->graph->nodes.n);
  memcpy(whole, f->whole, sizeof *whole * (size_t)had);
  f->whole = whole;
  return true;
}

static bool reference(tp_fn *f, tp_error *err) {
  return (f->ticking ? ticking(f, err) : tp_has_order(f, f->graph, NULL, err)) && watched(f, err);
}

static bool dumped(tp_fn *f) {
  static const char *const stages[] = { "schedule", "storage", "plan" };
  for (size_t i = 0; i < TP_LEN(stages); i++) tp_dump_stage(stages[i], f);
  return true;
}

static bool stages(tp_fn *f, void *unused, tp_error *err) {
  (void)unused;
  return read_program(f, err) && close_graph(f, err) && check_graph(f, err) &&
      tp_choose_ticks(f, err) && (f->tier == TP_TIER_REFERENCE ? reference : planned)(f, err) &&
      dumped(f);
}

bool tp_fn_stages(tp_fn *f, tp_error *err) { return tp_making(f, stages, NULL, err); }

static bool made(tp_fn *f, void *unused, tp_error *err) {
  if (tp_warm_get(f)) return performed(f, err);
  if (!stages(f, unused, err)) return false;
  tp_warm_put(f);
  return performed(f, err);
}

bool tp_pipeline(tp_fn *f, tp_error *err) {
  if (!tp_making(f, made, NULL, err)) err->pos = err->pos.file ? err->pos : f->pos;
  return !err->code;
}

static tp_fn *fn_new(tp_program *p, const tp_copts *o, tp_error *err) {
  tp_fn *f = tp_calloc(sizeof *f);
  if (f && (f->program = tp_program_new(p->seed)) && (f->recorded = tp_graph_clone(p->g, err)))
    return f;
  tp_no_memory(err, o->pos);
  return tp_fn_free(f);
}

/* The name of the file goes into p, as the function is about to go. */
static void keep_place(tp_program *p, tp_pos pos, tp_error *err) {
  tp_guard oom;
  const char *file = err->pos.file;
  if (!file) err->pos = pos;
  else if (TP_GUARDED(&oom)) {
    err->pos.file = tp_strdup(&p->g->arena, file);
    tp_unguard(&oom);
  } else err->pos = pos;
}

tp_fn *tp_compile(tp_program *p, const tp_copts *o, tp_error *err) {
  tp_fn *f = fn_new(p, o, err);
  if (!f) return NULL;
  f->pos = o->pos;
  tp_buf_init(&f->text);
  tp_ictx_watch(f->program->ix, o->interrupted, o->host);
  if (tp_guarded(f, take_program, (void *)o, err) &&
      ((o->async && tp_compile_beside(f)) || tp_pipeline(f, err)))
    return f;
  keep_place(p, o->pos, err);
  return tp_fn_free(f);
}

static bool run_again(tp_fn *f, void *unused, tp_error *err) {
  return stages(f, unused, err) && performed(f, err);
}

bool tp_compile_again(tp_fn *f, tp_error *err) { return tp_making(f, run_again, NULL, err); }

void tp_fn_drop(tp_fn *f) {
  if (!f->ticking) tp_poly_free(f->poly); /* else it is that of the steps */
  tp_poly_free(f->steps.poly);
  tp_plan_free(f->read);
  if (f->steps.graph) tp_graph_free(f->steps.graph);
  if (f->graph) tp_graph_free(f->graph);
  tp_free(f->fed);
  tp_free(f->shown);
  tp_free(f->first);
  tp_params_free(f);
  if (f->ranges) tp_graph_free(f->ranges);
  if (f->closed) tp_graph_free(f->closed);
  f->poly = NULL;
  f->steps = (tp_stages){ 0 };
  f->plan = f->read = NULL;
  f->graph = f->ranges = f->closed = NULL;
  f->fed = f->shown = f->first = NULL;
  f->loaded = f->latest = NULL;
  f->nbound = f->ntick = 0;
}

tp_fn *tp_fn_free(tp_fn *f) {
  if (!f) return NULL;
  tp_beside_free(f);
  for (int k = 0; k < TP_MAXSHORTER; k++) tp_fn_free(f->shorter[k]);
  f->session = tp_session_free(f, f->session);
  tp_exec_free(f->exec);
  tp_code_free(f);
  tp_fn_drop(f);
  tp_free(f->called);
  if (f->recorded) tp_graph_free(f->recorded);
  tp_buf_free(&f->text);
  tp_program_unref(f->program);
  tp_free(f);
  return NULL;
}
