/* compile: the pipeline, as a column of calls, and what a compiled function keeps.
 *
 * Two graphs. `closed` is the recording with gradients built and parameters closed: what the
 * function's inputs, outputs and parameters are. `graph` is what the tier executes: swept, and for
 * the compiled tiers rewritten by the passes. Inputs, parameters and outputs keep their places in
 * both. */
#include "rt/fn.h"
#include "cpu/machine.h"
#include <stdlib.h>

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

static tp_work work_on(tp_fn *f, tp_graph *g) {
  return (tp_work){ .g = g, .o = &f->opt, .need = &f->need, .did = f->did };
}

static bool close_graph(tp_fn *f, const tp_copts *o, tp_error *err) {
  if (!(f->closed = tp_graph_clone(f->program->g, err))) return false;
  f->closed->fixed_bits = f->opt.reproducible;
  if (!record_outputs(f, o, err)) return false;
  tp_work w = work_on(f, f->closed);
  return tp_passes_run(&w, TP_CLOSED, err) && make_params(f);
}

bool tp_sweep_graph(tp_fn *f, tp_graph *g, tp_error *err) {
  tp_work w = work_on(f, g);
  if (f->tier == TP_TIER_REFERENCE) return true;
  tp_dump_graph(g, "record");
  return tp_passes_run(&w, TP_SWEPT, err);
}

/* ---- an order ---- */

static tp_poly *ordered(tp_fn *f, tp_graph *g, tp_error *err) {
  tp_poly *p = f->order = tp_lower(g, f->need, err);
  if (p) {
    p->judge = g == f->trial;
    p->without = (p->judge || !f->opt.on[TP_PASS_VECTORIZE] ? 1u << TP_RX_CALLS : 0) |
        (!f->opt.on[TP_PASS_TILE] || f->opt.precise ? 1u << TP_RX_BLOCKS : 0);
    const char *block = tp_graph_setting(g, "TEMPO_BLOCK");
    p->block = block ? atoll(block) : 0;
    p->rows = f->rows;
  }
  bool ok = p && tp_schedule(p, err);
  f->order = NULL;
  return ok ? p : tp_poly_free(p);
}

/* Both graphs were judged: what one has more is behind that. */
static void copy_checks(tp_graph *to, const tp_graph *from) {
  for (int i = to->boundchecks.n; i < from->boundchecks.n; i++) {
    tp_boundcheck c = from->boundchecks.v[i];
    c.msg = tp_strdup(&to->arena, c.msg);
    TP_PUSH(&to->arena, &to->boundchecks, c);
  }
}

/* Passes leave what is needed as it was, but what is known of it may get worse: larger sets that
 * read outside are refused here. */
static bool stays(tp_graph *g, tp_need *need, tp_error *err) {
  if (!need->rough) return true;
  tp_need_trim(g, need);
  if (tp_need_stays(g, need, err)) return true;
  tp_note(err,
      "which points are needed is known only roughly here: it may be that the program itself does "
      "not read there");
  return false;
}

/* Values that the order would keep for long are made again by each who reads them, which asks for
 * another order. */
static tp_poly *made_again(tp_fn *f, tp_graph *g, tp_poly *p, tp_error *err) {
  tp_again again;
  tp_work w = work_on(f, g);
  if (!p || g == f->trial || !f->opt.on[TP_PASS_AGAIN] || !tp_made_again(p, &g->arena, &again))
    return p;
  tp_poly_free(p);
  if (!tp_make_again(g, &again, err) || !tp_needed_anew(&w, err) || !stays(g, f->need, err))
    return NULL;
  tp_dump_graph(g, "again");
  return tp_verify(g, err) ? ordered(f, g, err) : NULL;
}

static tp_poly *lowered(tp_fn *f, tp_graph *g, bool apart, tp_error *err) {
  tp_work w = work_on(f, g);
  w.apart = apart;
  tp_poly *p = NULL;
  if (tp_passes_run(&w, TP_ENDED, err) && (f->need = tp_need_outputs(g, err)) &&
      tp_passes_run(&w, TP_NEEDED, err) && stays(g, f->need, err)) {
    if (f->opt.check) tp_watch_rest(g);
    p = made_again(f, g, ordered(f, g, err), err);
  }
  f->need = tp_need_free(f->need);
  return p;
}

/* What is needed at the point where a dim ends only would, as values, be needed at each point.
 * Where that leaves no order, each reads what it needs alone, on a copy of the graph, which takes
 * its place. */
static tp_poly *order_graph(tp_fn *f, tp_graph **at, tp_error *err) {
  tp_graph *g = *at, *other = f->other = g->stops.n ? tp_graph_clone(g, err) : NULL;
  tp_error first = { 0 }, second = { 0 };
  tp_poly *p = lowered(f, g, false, &first);
  if (!p && first.code == TP_E_CYCLE && other) {
    if (f->trial == g) f->trial = other;
    if ((p = lowered(f, other, true, &second))) tp_give_up(p, TP_RX_APART);
    *at = other;
    other = g;
  }
  if (!p) *err = first;
  f->other = NULL;
  if (other) tp_graph_free(other);
  return p;
}

bool tp_has_order(tp_fn *f, tp_graph *of, const tp_ticks *t, tp_error *err) {
  tp_graph *g = f->trial = tp_graph_clone(of, err);
  tp_work w = work_on(f, g);
  w.ticks = t;
  bool ok = g && tp_passes_run(&w, TP_ORDERED, err) && (f->order = order_graph(f, &g, err));
  if (ok) copy_checks(of, g);
  f->order = tp_poly_free(f->order);
  f->trial = g ? tp_graph_free(g) : NULL;
  return ok;
}

/* ---- legality ---- */

/* Of several mistakes a cycle comes before undefined points and reads outside a domain. */
static void prefer_cycle(tp_fn *f, tp_error *err) {
  tp_error cycle = { 0 };
  if ((err->code == TP_E_UNDEFINED || err->code == TP_E_DOMAIN) &&
      !tp_has_order(f, f->graph, NULL, &cycle) && cycle.code == TP_E_CYCLE)
    *err = cycle;
}

static bool judge(tp_fn *f, tp_graph *g, const bool **whole, tp_error *err) {
  f->need = tp_need_outputs(g, err);
  bool ok = f->need && tp_need_check(g, f->need, err);
  if (ok && whole) *whole = tp_need_whole(f->need, &g->arena);
  f->need = tp_need_free(f->need);
  return ok;
}

static bool check_graph(tp_fn *f, tp_error *err) {
  if (!(f->graph = tp_graph_clone(f->closed, err))) return false;
  needed_bounds(f);
  bool ok = judge(f, f->graph, f->tier == TP_TIER_REFERENCE ? &f->whole : NULL, err);
  if (!ok) prefer_cycle(f, err);
  return ok;
}

tp_graph *tp_checked_graph(tp_fn *f, tp_error *err) {
  tp_graph *g = f->trial = tp_graph_clone(f->closed, err);
  if (!g) return NULL;
  bool ok = judge(f, g, NULL, err);
  f->trial = NULL;
  return ok ? g : tp_graph_free(g);
}

/* ---- what each tier executes ---- */

bool tp_make_code(
    tp_fn *f, tp_graph **g, const tp_ticks *t, tp_poly **poly, tp_plan **plan, tp_error *err) {
  tp_work w = work_on(f, *g);
  w.ticks = t;
  const tp_planned asked = { .machine = &tp_cpu_machine,
    .fuse = f->opt.on[TP_PASS_FUSE],
    .by_rows = f->limit || t,
    .reproducible = f->opt.reproducible,
    .precise = f->opt.precise,
    .limit = f->limit,
    .threads = f->threads };
  return tp_passes_run(&w, TP_MARKED, err) && tp_passes_run(&w, TP_ORDERED, err) &&
      tp_passes_run(&w, TP_KEPT, err) && (*poly = order_graph(f, g, err)) &&
      (*plan = tp_plan_build(*g, *poly, &asked, err));
}

/* With ticks given, what runs at once is what steps run. */
static bool ticking(tp_fn *f, tp_error *err) {
  if (!tp_make_ticks(f, err)) return false;
  copy_checks(f->graph, f->steps.graph);
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
  tp_work w = work_on(f, f->graph);
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

/* isl objects of the moment leak, everything of ours is freed with f. */
static void drop_attempt(tp_fn *f) {
  f->order = tp_poly_free(f->order);
  f->need = tp_need_free(f->need);
  f->trial = f->trial ? tp_graph_free(f->trial) : NULL;
  f->other = f->other ? tp_graph_free(f->other) : NULL;
}

bool tp_making(tp_fn *f, bool (*fn)(tp_fn *, void *, tp_error *), void *arg, tp_error *err) {
  int was = tp_sym_begin(f->program->ix);
  bool ok = tp_guarded(f, fn, arg, err);
  tp_sym_end(f->program->ix, was);
  if (tp_ictx_unwatch(f->program->ix)) {
    *err = (tp_error){ 0 };
    ok = tp_fail(err, TP_E_CALLBACK, f->pos, "callback: the host has ended this compilation");
  }
  if (!ok) drop_attempt(f);
  tp_isl_forget(f->program->ix);
  const char *why = tp_ictx_overflowed(f->program->ix);
  if (ok && why && !strcmp(why, TP_NESTED)) /* sizes of a plan are judged at the call */
    ok = tp_fail(err, TP_E_AFFINE, f->pos, "affine: an index expression %s", why);
  return ok;
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
  return (f->closed = tp_graph_clone(of, err)) && make_params(f) && check_graph(f, err) &&
      interpreter(f, err);
}

bool tp_compile_again(tp_fn *f, tp_graph *closed, tp_error *err) {
  return tp_making(f, again, closed, err);
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
  if (f->closed) tp_graph_free(f->closed);
  tp_program_unref(f->program);
  tp_free(f);
  return NULL;
}
