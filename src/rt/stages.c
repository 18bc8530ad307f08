/* stages: goes from a program's text to a plan, as a column of calls.
 *
 * There are two graphs. `closed` is the recording with gradients built and parameters closed: it is
 * judged and hashed, and has the function's inputs, outputs and parameters. The tier executes
 * `graph`: swept, and for compiled tiers rewritten by the passes. If gradients of ranges that move
 * are wanted, compiled tiers make it of `ranges` in place of `closed`: the recording whose ranges
 * were made recurrences, closed too. Inputs, parameters and outputs keep their places in all
 * three. */
#include "rt/fn.h"

/* ---- bounds that must be given ---- */

static tp_ix *mark_ix(void *seen, tp_ix *e) {
  tp_dims s;
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
  TP_NODES (n, f->graph->nodes) mark_node(seen, n);
  f->bounds = TP_NEWN(&f->closed->arena, tp_sym *, tp_nsym(c));
  for (int i = 0; i < tp_nsym(c); i++)
    if (seen[i] && tp_sym_at(c, i)->kind == TP_SYM_BOUND && !tp_sym_at(c, i)->hidden)
      f->bounds[f->nbound++] = tp_sym_at(c, i);
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

/* Are there gradients, all with respect to values that no pass replaces? The gradient with respect
 * to a sum that became a recurrence would include what reaches it through its later points. */
static bool differentiates_sources(const tp_graph *g) {
  bool any = false;
  TP_NODES (n, g->nodes) {
    if (n->op != TP_OP_GRAD) continue;
    any = true;
    /* leaves stand behind the losses, then the tensor by which it differentiates */
    for (int k = n->nin - 1 - (int)n->attr.leaves; k < n->nin; k++) {
      tp_op of = n->in[k].src.node->op;
      if (!tp_op_is(of, TP_ALONE) || of == TP_OP_ACCUM || of == TP_OP_GRAD) return false;
    }
  }
  return any;
}

/* Makes ranges recurrences before gradients are built, on a copy, so that gradients are those of
 * recurrences. Several recurrences may be made of the same rows; their derivatives are added before
 * they go on to the makers of the rows, because single ones may be large and cancel. A host in C
 * gets the recording, and makes the same of it. */
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

/* Finds the names that a call may use, and makes places for the values of parameters; f->graph is
 * still as it was closed. */
void tp_fn_interface(tp_fn *f) {
  needed_bounds(f);
  f->stepped = TP_NEWN(&f->closed->arena, bool, tp_fn_nparam(f) + 1);
  f->latest = TP_NEWN(&f->closed->arena, tp_array *, tp_fn_nparam(f) + 1);
  f->loaded =
      TP_NEWN(&f->closed->arena, tp_array *, tp_fn_nparam(f) + 1); /* the others are there */
}

static bool check_graph(tp_fn *f, tp_error *err) {
  if (!(f->graph = tp_graph_clone(f->closed, err))) return false;
  tp_fn_interface(f);
  return tp_judge_graph(f, err);
}

/* ---- the code of each tier ---- */

/* If ticks were given, runs at once execute the code of steps. */
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

/* Checks NaN. Values that are added here count as one point for memory. Steps run the same graph,
 * so parameters are kept. */
static bool watched(tp_fn *f, tp_error *err) {
  static const tp_ticks stepped;
  int had = f->graph->nodes.n;
  tp_work w = tp_work_on(f, f->graph);
  if (!tp_passes_run(&w, TP_MARKED, err)) return false;
  w.ticks = &stepped;
  if (!tp_pass_run(&w, TP_PASS_KEEP, err)) return false;
  bool *whole = TP_NEWN(&f->graph->arena, bool, f->graph->nodes.n);
  TP_COPYN(whole, f->whole, had);
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

static bool stages_made(tp_fn *f, bool *judged, tp_error *err) {
  *judged = close_graph(f, err) && check_graph(f, err);
  return *judged && tp_choose_ticks(f, err) &&
      (f->tier == TP_TIER_REFERENCE ? reference : planned)(f, err);
}

/* A program that was judged reads inside its domains. If needed points of recurrences that were
 * made of its ranges are known too roughly to show it, ranges stay. */
bool tp_fn_stages(tp_fn *f, void *unused, tp_error *err) {
  bool judged, *recurrences = &f->opt.on[TP_PASS_INCREMENTAL];
  tp_error first = { 0 };
  if (!read_program(f, err)) return false;
  bool ok = stages_made(f, &judged, &first);
  if (!ok && judged && first.code == TP_E_DOMAIN && *recurrences) {
    tp_fn_drop(f);
    *recurrences = false;
    ok = stages_made(f, &judged, err);
  } else if (!ok) *err = first;
  return ok && dumped(f);
}

void tp_fn_drop(tp_fn *f) {
  if (!f->ticking) tp_poly_free(f->poly); /* else the steps' poly is the same */
  tp_drop_ticks(f);
  tp_plan_free(f->read);
  tp_graph_free(f->graph);
  tp_params_free(f);
  tp_graph_free(f->ranges);
  tp_graph_free(f->closed);
  f->poly = NULL;
  f->plan = f->read = NULL;
  f->graph = f->ranges = f->closed = NULL;
  f->loaded = f->latest = NULL;
  f->nbound = f->ntick = 0;
}

void tp_fn_empty(tp_fn *f) {
  tp_fn_drop(f);
  tp_graph_free(f->recorded);
  tp_buf_free(&f->text);
  tp_program_unref(f->program);
  tp_free(f);
}

void tp_fn_as(tp_fn *g, const tp_fn *f) {
  *g = (tp_fn){ .program = tp_program_ref(f->program),
    .pos = f->pos,
    .tier = f->tier,
    .engine = f->engine,
    .backend = f->backend,
    .opt = f->opt,
    .threads = f->threads,
    .cflags = f->cflags,
    .limit = f->limit,
    .most = f->most,
    .nasked = f->nasked,
    .asked_tick = f->asked_tick };
}
