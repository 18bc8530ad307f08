/* The verifier: every invariant of graph.h, and each node's types against what its operands give. A domain may be larger than the union of the
 * operands' (a pass may have shrunk one); extents may differ in form or by what a shape check asks. Works in a scratch graph, so that g stays as it is. */
#include "graph/core.h"

static bool wrong(const tp_node *n, tp_error *err, const char *why) {
  return tp_fail(err, TP_E_OPTION, n->pos, "option: bad graph: %%%d '%s': %s", n->id, tp_ops[n->op].text, why);
}

static bool known(const tp_graph *g, const tp_node *n) { return n && n->id >= 0 && n->id < g->nodes.n && g->nodes.v[n->id] == n; }
static bool value_ok(const tp_graph *g, tp_val v) { return known(g, v.node) && v.out >= 0 && v.out < v.node->nout; }

static bool structure_ok(const tp_graph *g, const tp_node *n, tp_error *err) {
  if (!tp_nin_ok(n->op, n->nin, n->pos, err)) return false;
  for (int k = 0; k < n->nin; k++)
    if (!value_ok(g, n->in[k].src)) return wrong(n, err, "an operand is not in the graph");
  for (int i = 1; i < n->ndom; i++)
    if (n->dom[i]->order <= n->dom[i - 1]->order) return wrong(n, err, "its domain is not in order");
  for (int k = 0; n->op == TP_OP_MERGE && k < n->nin; k++)
    if (!n->in[k].cond != (n->done && k + 1 == n->nin)) return wrong(n, err, "a branch without a condition must be the last and `otherwise`");
  return true;
}

/* Where ends are lowered, what an extent is on points before the end cannot be told from the domain. */
static bool unknown(const tp_graph *g, const tp_ix *e) { return g->stops.n && g->stops.v[0].end && tp_mentions_end(g, e); }

static bool types_agree(tp_graph *scratch, const tp_node *n, const tp_node *m, tp_error *err) {
  for (int i = 0; i < m->ndom; i++)
    if (!tp_dom_has(n->ndom, n->dom, m->dom[i])) return wrong(n, err, "its domain lacks a dim of an operand");
  if (m->nout != n->nout) return wrong(n, err, "number of results");
  for (int k = 0; k < n->nout; k++) {
    const tp_out *a = &n->out[k], *b = &m->out[k];
    if (a->dtype != b->dtype) return wrong(n, err, "dtype is not that of its operands");
    if (a->rank != b->rank) return wrong(n, err, "rank is not that of its operands");
    for (int i = 0; i < a->rank; i++)
      if (!unknown(scratch, a->shape[i]) && !tp_extent_eq(scratch, a->shape[i], b->shape[i], "")) return wrong(n, err, "shape is not that of its operands");
  }
  return true;
}

static bool node_ok(const tp_graph *g, tp_graph *scratch, const tp_node *n, tp_error *err) {
  if (!structure_ok(g, n, err)) return false;
  tp_node m = *n;
  scratch->pos = n->pos;
  return tp_infer(scratch, &m, err) && types_agree(scratch, n, &m, err);
}

static bool is_listed(const tp_node *n, int count, tp_node *const *v) {
  int found = 0;
  for (int i = 0; i < count; i++) found += v[i] == n;
  return found == 1;
}

static bool lists_ok(const tp_graph *g, tp_error *err) {
  for (int i = 0; i < g->nodes.n; i++) {
    const tp_node *n = g->nodes.v[i];
    if (n->op == TP_OP_INPUT && !is_listed(n, g->inputs.n, g->inputs.v)) return wrong(n, err, "not among the inputs");
    if (n->op == TP_OP_PARAM && !is_listed(n, g->params.n, g->params.v)) return wrong(n, err, "not among the parameters");
    if (n->op == TP_OP_CALL && n->nout == 0 && !is_listed(n, g->sinks.n, g->sinks.v)) return wrong(n, err, "not among the sinks");
    if (n->op == TP_OP_PINIT && (n->attr.i[0] < 0 || n->attr.i[0] >= g->params.n)) return wrong(n, err, "no parameter of its number");
  }
  for (int i = 0; i < g->sinks.n; i++)
    if (!known(g, g->sinks.v[i])) return tp_fail(err, TP_E_OPTION, g->pos, "option: bad graph: sink %d is not in the graph", i);
  for (int i = 0; i < g->outputs.n; i++)
    if (!value_ok(g, g->outputs.v[i].val)) return tp_fail(err, TP_E_OPTION, g->outputs.v[i].pos, "option: bad graph: output '%s' is not in the graph", g->outputs.v[i].name);
  for (int i = 0; i < g->stops.n; i++) {
    const tp_stop *s = &g->stops.v[i];
    const char *t = s->dim->name;
    if (!value_ok(g, s->done) || (s->end && !known(g, s->end))) return tp_fail(err, TP_E_OPTION, s->pos, "option: bad graph: what ends '%s' is not in the graph", t);
    if (tp_dtypeof(s->done) != TP_BOOL || tp_rankof(s->done) || s->done.node->ndom != s->ndom + 1) return tp_fail(err, TP_E_OPTION, s->pos, "option: bad graph: what ends '%s' is no bool over its domain", t);
  }
  for (int i = 0; i < g->losses.n; i++)
    if (!value_ok(g, g->losses.v[i])) return tp_fail(err, TP_E_OPTION, g->pos, "option: bad graph: loss %d is not in the graph", i);
  return true;
}

bool tp_verify(const tp_graph *g, tp_error *err) {
  tp_graph scratch = { .ix = g->ix, .stops = { g->stops.v, g->stops.n, g->stops.n } };
  tp_scratch_init(&scratch.arena);
  bool ok = true;
  for (int i = 0; ok && i < g->nodes.n; i++) {
    const tp_node *n = g->nodes.v[i];
    ok = n->id == i ? node_ok(g, &scratch, n, err) : wrong(n, err, "its id is not its place");
  }
  ok = ok && lists_ok(g, err);
  tp_arena_free(&scratch.arena);
  return ok;
}

/* Checks of nodes that a sweep dropped must not bind a run that never sees them. */
void tp_recheck(tp_graph *g) {
  tp_graph scratch = { .ix = g->ix, .stops = { g->stops.v, g->stops.n, g->stops.n } };
  tp_scratch_init(&scratch.arena);
  for (int i = 0; i < g->nodes.n; i++) {
    tp_node m = *g->nodes.v[i];
    tp_error ignored = { 0 };
    scratch.pos = m.pos;
    tp_infer(&scratch, &m, &ignored);
  }
  g->shapechecks.n = 0;
  for (int i = 0; i < scratch.shapechecks.n; i++) {
    const tp_shapecheck *s = &scratch.shapechecks.v[i];
    tp_shapecheck_add(g, s->a, s->b, s->pos, s->what);
  }
  tp_arena_free(&scratch.arena);
}
