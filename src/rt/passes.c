/* passes: takes the graph from the recording to the scheduler, one row of passes.def after the
 * other. */
#include "rt/passes.h"
#include "grad/grad.h"

static bool grad_pass(tp_work *w, tp_error *err) { return tp_grad_expand(w->g, err); }
static bool dce_pass(tp_work *w, tp_error *err) {
  tp_graph_prune(w->g);
  return true;
}
static bool incremental_pass(tp_work *w, tp_error *err) {
  return tp_incremental(w->g, w->precise, &w->changed, err);
}

/* Records the lengths as an output, unless the text of a closed graph has it already. */
static bool record_length(tp_graph *g, const tp_stop *s, tp_error *err) {
  const char *name = s->dim->bound->name;
  tp_ix *end = tp_ix_sym(s->dim->bound);
  g->pos = s->pos;
  TP_EACH (const tp_output, o, g->outputs) {
    if (o->hidden || strcmp(o->name, name) != 0) continue;
    if (o->val.node->op == TP_OP_VALUE && o->val.node->attr.ix[0] == end) return true;
    return tp_fail(err, TP_E_OPTION, o->pos,
        "output '%s' has the name of a bound that ends by data, under which its lengths "
        "are given back",
        name);
  }
  tp_val v = tp_ixvalue(g, end, err);
  if (v.node) TP_PUSH(&g->arena, &g->outputs, (tp_output){ .name = name, .val = v, .pos = s->pos });
  return v.node != NULL;
}

static bool lengths_pass(tp_work *w, tp_error *err) {
  if (w->g->stops.n) tp_graph_sweep(w->g);
  for (int i = 0; i < w->g->stops.n; i++)
    if (!record_length(w->g, &w->g->stops.v[i], err)) return false;
  tp_graph_sweep(w->g);
  return true;
}

bool tp_needed_anew(tp_work *w, tp_error *err) {
  *w->need = tp_need_free(*w->need);
  tp_graph_prune(w->g);
  return (*w->need = tp_need_outputs(w->g, err));
}

static bool with_needs(tp_work *w, tp_passfn *fn, tp_error *err) {
  w->changed = false;
  return fn(w, err) && (!w->changed || tp_needed_anew(w, err));
}

static bool algebra_pass(tp_work *w, tp_error *err) {
  return with_needs(w, tp_pass_direct, err) && tp_pass_share(w, err);
}

/* Runs evolve. A tensor that became a formula may leave few needed points of another. */
static bool evolve_pass(tp_work *w, tp_error *err) {
  do
    if (!with_needs(w, tp_pass_evolve, err)) return false;
  while (w->changed);
  return true;
}

enum { ON, ALWAYS = 1, NOT_PRECISE = 2, NOT_CHECKED = 4, CHECKED = 8, BLOCKS = 16, NEEDS = 32 };
const tp_pass tp_passes[TP_NPASS] = {
#define P(ID, name, stage, fn, when, says) { name, TP_##stage, fn, when, (when)&ALWAYS, says },
#include "rt/passes.def"
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

static bool applies(const tp_work *w, int when) {
  return !((when & NOT_PRECISE) && w->precise) && !((when & NOT_CHECKED) && w->check) &&
      !((when & CHECKED) && !w->check) &&
      !((when & BLOCKS) && !(w->on[TP_PASS_TILE] && w->on[TP_PASS_VECTORIZE]));
}

bool tp_pass_run(tp_work *w, int row, tp_error *err) {
  int before = w->g->nodes.n;
  if (tp_ictx_ended(w->g->ix)) return tp_fail(err, TP_E_CALLBACK, w->g->pos, "ended");
  const tp_pass *p = &tp_passes[row];
  bool ok = !applies(w, p->when) || (p->when & NEEDS ? with_needs(w, p->fn, err) : p->fn(w, err));
  if (!ok || !tp_verify(w->g, err)) return false;
  if (w->did) {
    w->did[row][0] = before;
    w->did[row][1] = w->g->nodes.n;
  }
  tp_dump_graph(w->g, tp_passes[row].name);
  return true;
}

bool tp_passes_run(tp_work *w, tp_stage stage, tp_error *err) {
  for (int i = 0; i < TP_NPASS; i++)
    if (tp_passes[i].stage == stage && w->on[i] && !tp_pass_run(w, i, err)) return false;
  return true;
}
