/* compile: the pipeline, as a column of calls, and what a compiled function keeps.
 *
 * Two graphs. `closed` is the recording with gradients built and parameters closed: what the function's inputs, outputs and parameters are. `graph` is what the
 * tier executes: swept, and for the compiled tiers rewritten by the passes. Inputs, parameters and outputs keep their places in both. */
#include "rt/fn.h"

static const char *const tier_names[] = { "auto", "reference", "interpreter", "native" };

bool tp_tier_parse(const char *s, tp_tier *t) {
  for (int i = 0; i < (int)TP_LEN(tier_names); i++)
    if (!strcmp(s, tier_names[i])) { *t = (tp_tier)i; return true; }
  return false;
}

static bool choose_tier(tp_fn *f, const tp_copts *o, tp_error *err) {
  f->tier = o->tier;
  const char *env = tp_setting("TEMPO_TIER");
  if (env && !tp_tier_parse(env, &f->tier)) return tp_fail(err, TP_E_OPTION, o->pos, "option: TEMPO_TIER is '%s'; it may be auto, reference, interpreter or native", env);
  if (f->tier == TP_TIER_NATIVE) return tp_fail(err, TP_E_DEVICE, o->pos, "device: tier 'native' is not in this build: use 'interpreter'");
  if (f->tier == TP_TIER_AUTO) f->tier = TP_TIER_INTERPRETER;
  static const char *const known[] = { "cpu", "cuda" };
  if (o->device && strcmp(o->device, "cpu")) {
    bool there = !strcmp(o->device, "cuda");
    const char *near = there ? NULL : tp_nearest(o->device, known, TP_LEN(known));
    if (near) return tp_fail(err, TP_E_DEVICE, o->pos, "device '%s' is unknown; did you mean '%s'?", o->device, near);
    return tp_fail(err, TP_E_DEVICE, o->pos, there ? "device '%s' is not in this build: use 'cpu'" : "device '%s' is unknown: use 'cpu'", o->device);
  }
  return true;
}

static bool choose_threads(tp_fn *f, const tp_copts *o, tp_error *err) {
  const char *env = tp_setting("TEMPO_THREADS");
  char *end = NULL;
  long n = env ? strtol(env, &end, 10) : o->threads;
  if (env && (*end || n < 1 || n > 4096)) return tp_fail(err, TP_E_OPTION, o->pos, "option: TEMPO_THREADS is '%s'; it may be 1 to 4096", env);
  f->threads = (int)n;
  return true;
}

static bool choose_limit(tp_fn *f, const tp_copts *o, tp_error *err) {
  const char *env = tp_setting("TEMPO_MEMORY");
  f->limit = tp_setting("TEMPO_SPILL") ? TP_SPILL_ALL : TP_MAX(o->memory, 0);
  f->most = o->memory == TP_MEMORY_ANY ? TP_MEMORY_ANY : 0;
  if (!env) return true;
  bool any = !strcmp(env, "none");
  f->most = any ? TP_MEMORY_ANY : tp_bytes_parse(env);
  return any || f->most > 0 || tp_fail(err, TP_E_OPTION, o->pos, "option: TEMPO_MEMORY is '%s'; it may be a number of bytes, as \"16GiB\", or none", env);
}

static bool choose_check(tp_fn *f, const tp_copts *o, tp_error *err) {
  static const char *const known[] = { "nan", "none" };
  const char *env = tp_setting("TEMPO_CHECK"), *what = env ? env : o->check ? o->check : "none";
  f->check = !strcmp(what, "nan");
  if (f->check || !strcmp(what, "none")) return true;
  const char *near = tp_nearest(what, known, TP_LEN(known));
  return tp_fail(err, TP_E_OPTION, o->pos, "option: %s is '%s'; %s%s%s", env ? "TEMPO_CHECK" : "check", what, near ? "did you mean '" : "it may be \"nan\" or \"none\"", near ? near : "", near ? "'?" : "");
}

/* ---- options of passes: "none", "evolve=false,cse=true" ---- */

static int pass_named(const char *s, size_t n) {
  for (int i = 0; i < tp_npasses; i++)
    if (strlen(tp_passes[i].name) == n && !memcmp(tp_passes[i].name, s, n)) return i;
  return -1;
}

/* Passes that are to come: naming them is legal and changes nothing. */
static const char *const later[] = { "fold", "cse", "dce", "hoist", "evolve", "incremental", "fuse", "layout", "dtype" };

static bool unknown_pass(const tp_copts *o, const char *s, size_t n, tp_error *err) {
  char word[64];
  const char *names[64];
  int have = 0;
  for (int i = 0; i < tp_npasses; i++) names[have++] = tp_passes[i].name;
  for (int i = 0; i < (int)TP_LEN(later); i++) names[have++] = later[i];
  memcpy(word, s, TP_MIN(n, sizeof word - 1));
  word[TP_MIN(n, sizeof word - 1)] = 0;
  const char *near = tp_nearest(word, names, have);
  return tp_fail(err, TP_E_OPTION, o->pos, "option: unknown pass '%s'%s%s%s", word, near ? "; did you mean '" : "; f:explain \"passes\" lists them", near ? near : "", near ? "'?" : "");
}

static bool known_later(const char *s, size_t n) {
  for (int i = 0; i < (int)TP_LEN(later); i++)
    if (strlen(later[i]) == n && !memcmp(later[i], s, n)) return true;
  return false;
}

static bool choose_passes(tp_fn *f, const tp_copts *o, tp_error *err) {
  const char *s = tp_setting("TEMPO_PASSES");
  if (!s) s = o->passes;
  bool none = s && !strcmp(s, "none");
  for (int i = 0; i < tp_npasses; i++) f->opt.on[i] = none ? tp_passes[i].mandatory : tp_passes[i].dflt || tp_passes[i].mandatory;
  f->opt.precise = o->precise;
  f->opt.did = f->did;
  if (!s || none || !strcmp(s, "all")) return true;
  while (*s) {
    size_t n = strcspn(s, "=,"), v = 0;
    bool on = true;
    if (s[n] == '=') { v = strcspn(s + n + 1, ","); on = strncmp(s + n + 1, "false", 5) && s[n + 1] != '0'; v++; }
    int i = pass_named(s, n);
    if (i < 0 && !known_later(s, n)) return unknown_pass(o, s, n, err);
    if (i >= 0 && !tp_passes[i].mandatory) f->opt.on[i] = on;
    s += n + v;
    if (*s == ',') s++;
  }
  return true;
}

/* ---- bounds that must be given ---- */

static const tp_ix *mark_ix(void *seen, const tp_ix *e) {
  const tp_sym *s[64];
  int n = TP_MIN(64, tp_ix_syms(e, s, 64));
  for (int i = 0; i < n; i++) {
    ((bool *)seen)[s[i]->id] = true;
    if (s[i]->bound) ((bool *)seen)[s[i]->bound->id] = true;
  }
  return e;
}

static void mark_node(bool *seen, tp_node *n) {
  for (int d = 0; d < n->ndom; d++) if (n->dom[d]->bound) seen[n->dom[d]->bound->id] = true;
  tp_node_map(NULL, n, mark_ix, seen);
}

static void needed_bounds(tp_fn *f) {
  tp_ictx *c = f->graph->ix;
  bool *seen = TP_NEWN(&f->graph->arena, bool, tp_nsym(c));
  for (int i = 0; i < f->graph->nodes.n; i++) mark_node(seen, f->graph->nodes.v[i]);
  f->bounds = TP_NEWN(&f->closed->arena, const tp_sym *, tp_nsym(c));
  for (int i = 0; i < tp_nsym(c); i++)
    if (seen[i] && tp_sym_at(c, i)->kind == TP_SYM_BOUND && !tp_sym_at(c, i)->hidden) f->bounds[f->nbound++] = tp_sym_at(c, i);
}

/* ---- the pipeline ---- */

/* An output is one array for all points. */
static bool is_array(tp_fn *f, const tp_output *o, tp_error *err) {
  const tp_node *n = o->val.node;
  const tp_out *t = tp_outof(o->val);
  int axis;
  if (n->ndom + t->rank > TP_MAXRANK)
    return tp_fail(err, TP_E_SHAPE, o->pos, "shape: output '%s' would be an array of %d axes: %d dims and %d of its own; at most %d are possible", o->name,
                   n->ndom + t->rank, n->ndom, t->rank, TP_MAXRANK);
  const tp_sym *d = tp_varies(t->rank, t->shape, n->ndom, n->dom, &axis);
  return !d || tp_fail(err, TP_E_RAGGED, o->pos, "ragged: output '%s' has extent %s, which varies with '%s': reduce or pad first", o->name,
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
  if (!f->closed->outputs.n && !f->closed->sinks.n) return tp_fail(err, TP_E_OPTION, o->pos, "nothing to compute: give outputs = {...} or add a sink");
  return true;
}

/* What was reached is an output of the bound's name; the text of a closed graph has it already. */
static bool record_end(tp_graph *g, const tp_stop *s, tp_error *err) {
  const char *name = s->dim->bound->name;
  const tp_ix *end = tp_ix_sym(g->ix, s->dim->bound);
  g->pos = s->pos;
  for (int k = 0; k < g->outputs.n; k++) {
    const tp_output *o = &g->outputs.v[k];
    if (o->hidden || strcmp(o->name, name) != 0) continue;
    if (o->val.node->op == TP_OP_VALUE && o->val.node->attr.ix[0] == end) return true;
    return tp_fail(err, TP_E_OPTION, o->pos, "option: output '%s' has the name of a bound that ends by data, under which its lengths are given back", name);
  }
  tp_val v = tp_ixvalue(g, end, err);
  if (v.node) TP_PUSH(&g->arena, &g->outputs, (tp_output){ .name = name, .val = v, .pos = s->pos });
  return v.node != NULL;
}

static bool record_ends(tp_fn *f, tp_error *err) {
  tp_graph *g = f->closed;
  if (g->stops.n) tp_graph_sweep(g);
  for (int i = 0; i < g->stops.n; i++)
    if (!record_end(g, &g->stops.v[i], err)) return false;
  return true;
}

/* Places for the values of parameters. */
static bool make_params(tp_fn *f) {
  f->loaded = TP_NEWN(&f->closed->arena, tp_array *, tp_fn_nparam(f) + 1);
  f->latest = TP_NEWN(&f->closed->arena, tp_array *, tp_fn_nparam(f) + 1);
  return true;
}

static bool close_graph(tp_fn *f, const tp_copts *o, tp_error *err) {
  return (f->closed = tp_graph_clone(f->program->g, err)) &&
         record_outputs(f, o, err) &&
         tp_grad_expand(f->closed, err) &&
         tp_close_params(f->closed, err) &&
         record_ends(f, err) &&
         (tp_graph_sweep(f->closed), true) &&
         tp_verify(f->closed, err) &&
         make_params(f);
}

static tp_poly *ordered(tp_fn *f, tp_graph *g, tp_error *err) {
  tp_poly *p = f->order = tp_lower(g, f->need, err);
  if (p) {
    p->judge = g == f->trial;
    p->novec = p->judge || !f->opt.on[TP_Q_VECTORIZE];
    p->noblock = !f->opt.on[TP_Q_TILE] || f->opt.precise;
    p->block = tp_setting("TEMPO_BLOCK") ? atoll(tp_setting("TEMPO_BLOCK")) : 0;
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

/* The needed points into f->need, and what can be said more simply on these alone. */
static bool find_needed(tp_fn *f, tp_graph *g, tp_error *err) {
  bool changed = false;
  if (!(f->need = tp_need_outputs(g, err))) return false;
  if (!f->opt.on[TP_Q_ALGEBRA]) return true;
  if (!tp_direct_sums(g, f->need, &changed, err)) return false;
  if (changed) {
    f->need = tp_need_free(f->need);
    tp_graph_prune(g);
    if (!(f->need = tp_need_outputs(g, err))) return false;
  }
  return tp_share_branches(g, f->need, err) && tp_verify(g, err);
}

/* Passes leave what is needed as it was, but what is known of it may get worse. */
static bool stays(tp_graph *g, tp_need *need, tp_error *err) {
  if (!g->stops.n) tp_need_trim(g, need);
  if (tp_need_stays(g, need, err)) return true;
  tp_note(err, "which points are needed is known only roughly here: it may be that the program itself does not read there");
  return false;
}

/* Larger sets that read outside are refused here. */
static tp_poly *schedule_graph(tp_fn *f, tp_graph *g, tp_error *err) {
  int before = g->nodes.n;
  bool found = find_needed(f, g, err) && (!f->need->rough || stays(g, f->need, err));
  if (f->check) tp_watch_rest(g);
  f->did[TP_Q_ALGEBRA][0] = before;
  f->did[TP_Q_ALGEBRA][1] = g->nodes.n;
  tp_poly *p = found ? ordered(f, g, err) : NULL;
  f->need = tp_need_free(f->need);
  return p;
}

static tp_poly *lowered(tp_fn *f, tp_graph *g, bool apart, tp_error *err) {
  return tp_lower_ends(g, apart, err) && tp_verify(g, err) ? schedule_graph(f, g, err) : NULL;
}

/* What is needed at the point where a dim ends only would, as values, be needed at each point. Where that leaves no order, each reads what it needs alone, on a copy of the
 * graph, which takes its place. */
static tp_poly *order_graph(tp_fn *f, tp_graph **at, tp_error *err) {
  tp_graph *g = *at, *other = f->other = g->stops.n ? tp_graph_clone(g, err) : NULL;
  tp_error first = { 0 }, second = { 0 };
  tp_poly *p = lowered(f, g, false, &first);
  if (!p && first.code == TP_E_CYCLE && other) {
    if (f->trial == g) f->trial = other;
    p = lowered(f, other, true, &second);
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
  bool ok = g && (!t || tp_insert_ticks(g, t, err)) && tp_lower_sums(g, err);
  f->order = ok ? order_graph(f, &g, err) : NULL;
  ok = f->order != NULL;
  if (ok) copy_checks(of, g);
  f->order = tp_poly_free(f->order);
  f->trial = g ? tp_graph_free(g) : NULL;
  return ok;
}

/* Of several mistakes a cycle comes before undefined points and reads outside a domain. */
static void prefer_cycle(tp_fn *f, tp_error *err) {
  tp_error cycle = { 0 };
  if ((err->code == TP_E_UNDEFINED || err->code == TP_E_DOMAIN) && !tp_has_order(f, f->graph, NULL, &cycle) && cycle.code == TP_E_CYCLE) *err = cycle;
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

bool tp_make_code(tp_fn *f, tp_graph **g, const tp_ticks *t, tp_poly **poly, tp_plan **plan, tp_error *err) {
  return (!f->check || tp_watch(*g, err)) && (!t || tp_insert_ticks(*g, t, err)) && tp_lower_sums(*g, err) && tp_widen_sums(*g, err) && tp_verify(*g, err) &&
         (*poly = order_graph(f, g, err)) &&
         (*plan = tp_plan_build(*g, *poly, err)) && tp_plan_limit(*plan, f->limit, err);
}

static bool plan_graph(tp_fn *f, tp_error *err) {
  return tp_opt_run(f->graph, &f->opt, err) && tp_make_code(f, &f->graph, NULL, &f->poly, &f->plan, err);
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
  return (f->ticking ? ticking(f, err) : plan_graph(f, err)) && (f->exec = tp_exec_new(f->plan, f->threads, err));
}

/* What the watch adds counts as one point where memory is looked at. */
static bool watched(tp_fn *f, tp_error *err) {
  int had = f->graph->nodes.n;
  if (!tp_watch(f->graph, err)) return false;
  bool *whole = TP_NEWN(&f->graph->arena, bool, f->graph->nodes.n);
  memcpy(whole, f->whole, sizeof *whole * (size_t)had);
  f->whole = whole;
  return true;
}

static bool reference(tp_fn *f, tp_error *err) {
  return (f->ticking ? ticking(f, err) : tp_has_order(f, f->graph, NULL, err)) && (!f->check || watched(f, err));
}

static bool dumped(tp_fn *f) {
  static const char *const stages[] = { "schedule", "storage", "plan" };
  for (size_t i = 0; i < TP_LEN(stages); i++) tp_dump_stage(stages[i], f);
  return true;
}

static bool pipeline(tp_fn *f, void *opts, tp_error *err) {
  const tp_copts *o = opts;
  return choose_tier(f, o, err) && choose_threads(f, o, err) && choose_limit(f, o, err) && choose_check(f, o, err) && choose_passes(f, o, err) &&
         close_graph(f, o, err) && check_graph(f, err) && tp_choose_ticks(f, o, err) &&
         (f->tier == TP_TIER_REFERENCE ? reference(f, err) : interpreter(f, err)) && dumped(f);
}

/* isl objects of the moment leak, everything of ours is freed with f. */
static void drop_attempt(tp_fn *f) {
  f->order = tp_poly_free(f->order);
  f->need = tp_need_free(f->need);
  f->trial = f->trial ? tp_graph_free(f->trial) : NULL;
  f->other = f->other ? tp_graph_free(f->other) : NULL;
}

bool tp_making(tp_fn *f, bool (*fn)(tp_fn *, void *, tp_error *), void *arg, tp_error *err) {
  bool ok = tp_guarded(f, fn, arg, err);
  if (!ok) drop_attempt(f);
  tp_isl_forget(f->program->ix);
  tp_ictx_overflowed(f->program->ix);           /* sizes of a plan are judged at the call */
  return ok;
}

tp_fn *tp_compile(tp_program *p, const tp_copts *o, tp_error *err) {
  tp_fn *f = tp_calloc(sizeof *f);
  if (!f) { tp_fail(err, TP_E_MEMORY, o->pos, "out of memory"); return NULL; }
  f->program = tp_program_ref(p);
  f->pos = o->pos;
  if (!tp_making(f, pipeline, (void *)o, err)) {
    if (!err->pos.file) err->pos = o->pos;
    return tp_fn_free(f);
  }
  return f;
}

tp_fn *tp_fn_free(tp_fn *f) {
  if (!f) return NULL;
  f->session = tp_session_free(f, f->session);
  tp_exec_free(f->exec);
  if (!f->ticking) tp_poly_free(f->poly);       /* else it is that of the steps */
  tp_poly_free(f->steps.poly);
  if (f->steps.graph) tp_graph_free(f->steps.graph);
  if (f->graph) tp_graph_free(f->graph);
  tp_free(f->fed); tp_free(f->shown); tp_free(f->first);
  tp_params_free(f);
  if (f->closed) tp_graph_free(f->closed);
  tp_program_unref(f->program);
  tp_free(f);
  return NULL;
}
