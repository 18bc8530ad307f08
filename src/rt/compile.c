/* compile: the pipeline, as a column of calls, and what a compiled function keeps.
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

/* ---- the pipeline ---- */

/* An output is one array for all points. */
static bool is_array(tp_fn *f, const tp_output *o, tp_error *err) {
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
          tp_ix_str(f->closed->ix, t->shape[axis]), d->name);
}

/* An output without a name of its own gets the script's, for errors and explain. */
static bool record_outputs(tp_fn *f, const tp_copts *o, tp_error *err) {
  for (int i = 0; i < o->nout; i++) {
    tp_output out = o->outputs[i];
    out.val.node = f->closed->nodes.v[out.val.node->id];
    out.name = tp_strdup(&f->closed->arena, out.name);
    if (!out.val.node->name && !out.val.node->attr.str) out.val.node->name = out.name;
    if (!is_array(f, &out, err)) return false;
    TP_PUSH(&f->closed->arena, &f->closed->outputs, out);
  }
  if (!f->closed->outputs.n && !f->closed->sinks.n)
    return tp_fail(
        err, TP_E_OPTION, o->pos, "nothing to compute: give outputs = {...} or add a sink");
  return true;
}

/* Places for the values of parameters. */
static bool make_params(tp_fn *f) {
  f->loaded = TP_NEWN(&f->closed->arena, tp_array *, tp_fn_nparam(f) + 1);
  f->latest = TP_NEWN(&f->closed->arena, tp_array *, tp_fn_nparam(f) + 1);
  f->stepped = TP_NEWN(&f->closed->arena, bool, tp_fn_nparam(f) + 1);
  return true;
}

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
  if (!(f->recorded = tp_graph_clone(f->closed, err))) return false;
  tp_graph_sweep(f->recorded);
  tp_graph *g = f->ranges = tp_graph_clone(f->recorded, err);
  tp_work w = tp_work_on(f, g);
  if (!g || !tp_incremental(g, false, &changed, err) || !tp_verify(g, err)) return false;
  tp_dump_graph(g, "incremental");
  if (changed) return tp_pass_run(&w, TP_PASS_CSE, err) && tp_passes_run(&w, TP_CLOSED, err);
  f->ranges = tp_graph_free(g), f->recorded = tp_graph_free(f->recorded);
  return true;
}

static bool close_graph(tp_fn *f, const tp_copts *o, tp_error *err) {
  if (!(f->closed = tp_graph_clone(f->program->g, err))) return false;
  f->closed->fixed_bits = f->opt.reproducible;
  if (!record_outputs(f, o, err)) return false;
  tp_work w = tp_work_on(f, f->closed);
  return ranges_first(f, err) && tp_passes_run(&w, TP_CLOSED, err) && make_params(f);
}

/* ---- legality ---- */

static bool check_graph(tp_fn *f, tp_error *err) {
  if (!(f->graph = tp_graph_clone(f->closed, err))) return false;
  needed_bounds(f);
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

static bool interpreter(tp_fn *f, tp_error *err) {
  return (f->ticking ? ticking(f, err)
                     : tp_sweep_graph(f, f->graph, err) &&
                     tp_make_code(f, &f->graph, NULL, &f->poly, &f->plan, err)) &&
      (f->exec = tp_fn_exec(f, f->plan, err));
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

static bool pipeline(tp_fn *f, void *opts, tp_error *err) {
  const tp_copts *o = opts;
  return tp_choose_options(f, o, err) && close_graph(f, o, err) && check_graph(f, err) &&
      tp_choose_ticks(f, o, err) &&
      (f->tier == TP_TIER_REFERENCE ? reference : interpreter)(f, err) && dumped(f);
}

tp_fn *tp_compile(tp_program *p, const tp_copts *o, tp_error *err) {
  tp_fn *f = tp_calloc(sizeof *f);
  if (!f) {
    tp_no_memory(err, o->pos);
    return NULL;
  }
  f->program = tp_program_ref(p);
  f->pos = o->pos;
  tp_ictx_watch(p->ix, o->interrupted, o->host);
  if (!tp_making(f, pipeline, (void *)o, err)) {
    if (!err->pos.file) err->pos = o->pos;
    return tp_fn_free(f);
  }
  return f;
}

static bool again(tp_fn *f, void *of, tp_error *err) {
  const tp_fn *from = of;
  if (from->ranges && !(f->ranges = tp_graph_clone(from->ranges, err))) return false;
  return (f->closed = tp_graph_clone(from->closed, err)) && make_params(f) && check_graph(f, err) &&
      interpreter(f, err);
}

bool tp_compile_again(tp_fn *f, const tp_fn *of, tp_error *err) {
  return tp_making(f, again, (void *)of, err);
}

tp_fn *tp_fn_free(tp_fn *f) {
  if (!f) return NULL;
  for (int k = 0; k < TP_MAXSHORTER; k++) tp_fn_free(f->shorter[k]);
  f->session = tp_session_free(f, f->session);
  tp_exec_free(f->exec);
  tp_code_free(f);
  if (!f->ticking) tp_poly_free(f->poly); /* else it is that of the steps */
  tp_poly_free(f->steps.poly);
  if (f->steps.graph) tp_graph_free(f->steps.graph);
  if (f->graph) tp_graph_free(f->graph);
  tp_free(f->called);
  tp_free(f->fed);
  tp_free(f->shown);
  tp_free(f->first);
  tp_params_free(f);
  if (f->ranges) tp_graph_free(f->ranges);
  if (f->recorded) tp_graph_free(f->recorded);
  if (f->closed) tp_graph_free(f->closed);
  tp_program_unref(f->program);
  tp_free(f);
  return NULL;
}
