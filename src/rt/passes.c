/* passes: the graph's way from the recording to what has loops, a row of passes.def each. */
#include "rt/passes.h"
#include "grad/grad.h"

static bool grad_pass(const tp_work *w, tp_error *err) { return tp_grad_expand(w->g, err); }
static bool params_pass(const tp_work *w, tp_error *err) { return tp_close_params(w->g, err); }
static bool cse_pass(const tp_work *w, tp_error *err) {
  (void)err;
  return tp_share_equal(w->g);
}
static bool fold_pass(const tp_work *w, tp_error *err) {
  return tp_fold(w->g, &(tp_rulings){ w->o->rule_off, w->o->precise, w->o->check }, err);
}
static bool dce_pass(const tp_work *w, tp_error *err) {
  (void)err;
  tp_graph_prune(w->g);
  return true;
}
static bool watch_pass(const tp_work *w, tp_error *err) {
  return !w->o->check || tp_watch(w->g, err);
}
static bool ticks_pass(const tp_work *w, tp_error *err) {
  return !w->ticks || tp_insert_ticks(w->g, w->ticks, err);
}
static bool keep_pass(const tp_work *w, tp_error *err) {
  return tp_keep_newest(w->g, w->ticks || w->o->check, err);
}
static bool sums_pass(const tp_work *w, tp_error *err) { return tp_lower_sums(w->g, err); }
static bool incremental_pass(const tp_work *w, tp_error *err) {
  bool changed;
  return w->o->check || tp_incremental(w->g, w->o->precise, &changed, err);
}
static bool rows_pass(const tp_work *w, tp_error *err) { return tp_put_rows(w->g, err); }
static bool takes_pass(const tp_work *w, tp_error *err) { return tp_take_matrices(w->g, err); }
static bool layout_pass(const tp_work *w, tp_error *err) {
  return w->o->precise || !w->o->on[TP_PASS_TILE] || !w->o->on[TP_PASS_VECTORIZE] ||
      tp_turn_edges(w->g, err);
}
static bool widen_pass(const tp_work *w, tp_error *err) { return tp_widen_sums(w->g, err); }
static bool ends_pass(const tp_work *w, tp_error *err) {
  return tp_lower_ends(w->g, w->apart, err);
}

/* The text of a closed graph has it already. */
static bool record_length(tp_graph *g, const tp_stop *s, tp_error *err) {
  const char *name = s->dim->bound->name;
  const tp_ix *end = tp_ix_sym(g->ix, s->dim->bound);
  g->pos = s->pos;
  for (int k = 0; k < g->outputs.n; k++) {
    const tp_output *o = &g->outputs.v[k];
    if (o->hidden || strcmp(o->name, name) != 0) continue;
    if (o->val.node->op == TP_OP_VALUE && o->val.node->attr.ix[0] == end) return true;
    return tp_fail(err, TP_E_OPTION, o->pos,
        "option: output '%s' has the name of a bound that ends by data, under which its lengths "
        "are given back",
        name);
  }
  tp_val v = tp_ixvalue(g, end, err);
  if (v.node) TP_PUSH(&g->arena, &g->outputs, (tp_output){ .name = name, .val = v, .pos = s->pos });
  return v.node != NULL;
}

static bool lengths_pass(const tp_work *w, tp_error *err) {
  if (w->g->stops.n) tp_graph_sweep(w->g);
  for (int i = 0; i < w->g->stops.n; i++)
    if (!record_length(w->g, &w->g->stops.v[i], err)) return false;
  tp_graph_sweep(w->g);
  return true;
}

bool tp_needed_anew(const tp_work *w, tp_error *err) {
  *w->need = tp_need_free(*w->need);
  tp_graph_prune(w->g);
  return (*w->need = tp_need_outputs(w->g, err));
}

static bool hold_pass(const tp_work *w, tp_error *err) {
  bool changed = false;
  return tp_hold_states(w->g, *w->need, &changed, err) && (!changed || tp_needed_anew(w, err));
}

static bool algebra_pass(const tp_work *w, tp_error *err) {
  bool changed = false;
  return tp_direct_sums(w->g, *w->need, &changed, err) && (!changed || tp_needed_anew(w, err)) &&
      tp_share_branches(w->g, *w->need, err);
}

/* A tensor that is a formula may leave few points of another. */
static bool evolve_pass(const tp_work *w, tp_error *err) {
  bool changed = !w->o->check, any = false;
  while (changed) {
    changed = false;
    if (!tp_evolve(w->g, *w->need, w->o->precise, &changed, err) ||
        (changed && !tp_needed_anew(w, err)))
      return false;
    any |= changed;
  }
  return !any || (tp_part_points(w->g, *w->need, err) && tp_needed_anew(w, err));
}

static bool products_pass(const tp_work *w, tp_error *err) {
  bool changed = false;
  return w->o->check ||
      (tp_order_products(w->g, w->o->precise, &changed, err) &&
          (!changed || tp_needed_anew(w, err)));
}

static bool turn_pass(const tp_work *w, tp_error *err) {
  bool changed = false;
  return w->o->precise || w->o->check ||
      (tp_turn_matrices(w->g, &changed, err) && (!changed || tp_needed_anew(w, err)));
}

static bool branches_pass(const tp_work *w, tp_error *err) {
  bool changed = false;
  return w->o->check ||
      (tp_part_branches(w->g, &changed, err) && (!changed || tp_needed_anew(w, err)));
}

enum { ALWAYS = true, ON = false };
const tp_pass tp_passes[TP_NPASS] = {
#define L(name)
#define P(ID, name, stage, fn, when, says) { name, TP_##stage, fn, when, says },
#include "rt/passes.def"
#undef L
#undef P
};

int tp_pass_named(const char *s, size_t n) {
  int i = TP_NPASS - 1;
  while (i >= 0 && (strlen(tp_passes[i].name) != n || memcmp(tp_passes[i].name, s, n))) i--;
  return i;
}

void tp_dump_graph(const tp_graph *g, const char *after) {
  if (!tp_dump_wanted(after)) return;
  tp_buf b;
  tp_buf_init(&b);
  tp_graph_print(&b, g);
  fprintf(stderr, "> after %s\n%s", after, b.s ? b.s : "");
  tp_buf_free(&b);
}

bool tp_pass_run(const tp_work *w, int row, tp_error *err) {
  int before = w->g->nodes.n;
  if (tp_ictx_ended(w->g->ix)) return tp_fail(err, TP_E_CALLBACK, w->g->pos, "callback: ended");
  if (!tp_passes[row].fn(w, err) || !tp_verify(w->g, err)) return false;
  if (w->did) {
    w->did[row][0] = before;
    w->did[row][1] = w->g->nodes.n;
  }
  tp_dump_graph(w->g, tp_passes[row].name);
  return true;
}

bool tp_passes_run(const tp_work *w, tp_stage stage, tp_error *err) {
  for (int i = 0; i < TP_NPASS; i++)
    if (tp_passes[i].stage == stage && w->o->on[i] && !tp_pass_run(w, i, err)) return false;
  return true;
}
