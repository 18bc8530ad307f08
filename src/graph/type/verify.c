/* verify: checks every invariant of graph.h: first the structure of all nodes, which inference
 * takes for granted, then each node's types against its operands, in a scratch graph. A domain may
 * be larger than the operands' (a pass may have shrunk one); extents may differ in form or by what
 * a shape check asks. */
#include "graph/core.h"

static bool unsound(tp_error *err, tp_pos pos, const char *fmt, ...) TP_PRINTF(3, 4);
static bool unsound(tp_error *err, tp_pos pos, const char *fmt, ...) {
  char text[512];
  TP_FORMAT(text, fmt);
  return tp_fail(err, TP_E_OPTION, pos, "bad graph: %s", text);
}

static bool wrong(const tp_node *n, tp_error *err, const char *why) {
  return unsound(err, n->pos, "%%%d '%s': %s", n->id, tp_ops[n->op].text, why);
}

static bool value_ok(const tp_graph *g, tp_val v) {
  return tp_is_node(g, v.node) && v.out >= 0 && v.out < v.node->nout;
}

static bool type_ok(const tp_node *n, tp_error *err) {
  int nout = tp_ops[n->op].nout;
  if (nout >= 0 && n->nout != nout) return wrong(n, err, "number of results");
  if (!tp_dims_ok(n, err)) return false;
  for (int i = 1; i < n->ndom; i++)
    if (n->dom[i]->order <= n->dom[i - 1]->order)
      return wrong(n, err, "its domain is not in order");
  for (int k = 0; k < n->nout; k++) {
    if (n->out[k].rank < 0 || n->out[k].rank > TP_MAXRANK) return wrong(n, err, "too many axes");
    for (int i = 0; i < n->out[k].rank; i++)
      if (!n->out[k].shape[i] || tp_ix_is_cond(n->out[k].shape[i]))
        return wrong(n, err, "an extent is no number");
  }
  if ((n->op == TP_OP_INPUT || n->op == TP_OP_PARAM) && !n->attr.str)
    return wrong(n, err, "it has no name");
  return n->op != TP_OP_CONST || n->ndom == 0 || wrong(n, err, "a constant has no dims");
}

static bool edge_ok(const tp_graph *g, const tp_node *n, const tp_edge *e, tp_error *err) {
  bool accum = n->op == TP_OP_ACCUM;
  if (!value_ok(g, e->src)) return wrong(n, err, "an operand is not in the graph");
  if ((e->at || e->gather) && !accum) return wrong(n, err, "an operand has indices");
  if (e->cond && !accum && n->op != TP_OP_MERGE) return wrong(n, err, "an operand has a condition");
  return !e->cond || tp_ix_is_cond(e->cond) ||
      wrong(n, err, "the condition of an operand is a number");
}

static bool structure_ok(const tp_graph *g, const tp_node *n, tp_error *err) {
  if (!tp_nin_ok(n->op, n->nin, n->pos, err) || !type_ok(n, err)) return false;
  for (int k = 0; k < n->nin; k++)
    if (!edge_ok(g, n, &n->in[k], err)) return false;
  if (n->attr.nat != (n->op == TP_OP_READ ? tp_in(n, 0)->ndom : 0))
    return wrong(n, err, "an index for each dim of its operand is wanted, and of a read only");
  if (n->attr.nover && n->op != TP_OP_CALL) return wrong(n, err, "only a call goes over dims");
  for (int i = 0; i < n->attr.nover; i++)
    if (tp_dom_has(i, n->attr.over, n->attr.over[i]))
      return wrong(n, err, "a dim stands twice in 'over'");
  for (int k = 0; n->op == TP_OP_MERGE && k < n->nin; k++)
    if (!n->in[k].cond != (n->done && k + 1 == n->nin))
      return wrong(n, err, "a branch without a condition must be the last and `otherwise`");
  return true;
}

bool tp_verify_structure(const tp_graph *g, tp_error *err) {
  for (int i = 0; i < g->nodes.n; i++) {
    const tp_node *n = g->nodes.v[i];
    if (!(n->id == i ? structure_ok(g, n, err) : wrong(n, err, "its id is not its place")))
      return false;
  }
  return true;
}

/* Does e mention a lowered end, so that the domain does not tell the extent? */
static bool unknown(const tp_graph *g, tp_ix *e) {
  return g->stops.n && g->stops.v[0].end && tp_mentions_end(g, e);
}

/* How two types differ; NULL: they agree. */
static const char *differs(tp_graph *scratch, const tp_out *a, const tp_out *b) {
  if (a->dtype != b->dtype) return "dtype is not that of its operands";
  if (a->rank != b->rank) return "rank is not that of its operands";
  for (int i = 0; i < a->rank; i++)
    if (!unknown(scratch, a->shape[i]) && !unknown(scratch, b->shape[i]) &&
        !tp_extent_eq(scratch, a->shape[i], b->shape[i], ""))
      return "shape is not that of its operands";
  return NULL;
}

static bool types_agree(tp_graph *scratch, const tp_node *n, const tp_node *m, tp_error *err) {
  for (int i = 0; i < m->ndom; i++)
    if (!tp_has_dim(n, m->dom[i])) return wrong(n, err, "its domain lacks a dim of an operand");
  if (m->nout != n->nout) return wrong(n, err, "number of results");
  for (int k = 0; k < n->nout; k++) {
    const char *why = differs(scratch, &n->out[k], &m->out[k]);
    if (why) return wrong(n, err, why);
  }
  return true;
}

static bool node_ok(tp_graph *scratch, const tp_node *n, tp_error *err) {
  tp_node m = *n;
  scratch->pos = n->pos;
  return tp_infer(scratch, &m, err) && types_agree(scratch, n, &m, err);
}

static bool is_listed(const tp_node *n, int count, tp_node *const *v) {
  int found = 0;
  for (int i = 0; i < count; i++) found += v[i] == n;
  return found == 1;
}

/* ---- lists ---- */

/* Checks the entries of `inputs` and `params`; dropped ones are no nodes of the graph. A closed
 * parameter is no PARAM, but keeps name, type and along. */
static bool entries_ok(const tp_graph *g, int n, tp_node *const *v, bool inputs, tp_error *err) {
  for (int i = 0; i < n; i++) {
    const tp_attr *a = &v[i]->attr;
    bool is = a->str && v[i]->nout == 1 && (!inputs || v[i]->op == TP_OP_INPUT);
    for (int j = 0; j < a->nalong; j++)
      is &= tp_dom_has(v[i]->ndom, v[i]->dom, a->along[j]) && !tp_dom_has(j, a->along, a->along[j]);
    for (int j = 0; is && j < i; j++)
      if (strcmp(v[j]->attr.str, a->str) == 0) return wrong(v[i], err, "there are two of its name");
    if (!is)
      return wrong(v[i], err,
          inputs ? "among the inputs, but no input" : "among the parameters, but no parameter");
    if (v[i]->id >= 0 ? !tp_is_node(g, v[i]) : !type_ok(v[i], err))
      return wrong(v[i], err, "an entry is not in the graph");
  }
  return true;
}

/* Does v, a first or last value, have the type that the parameter has at each of its states? */
static bool is_state(tp_graph *scratch, const tp_node *param, tp_val v) {
  bool is = !differs(scratch, &param->out[0], tp_outof(v)) &&
      v.node->ndom == param->ndom - param->attr.nalong;
  for (int i = 0; i < v.node->ndom; i++)
    is &= tp_has_dim(param, v.node->dom[i]) &&
        !tp_dom_has(param->attr.nalong, param->attr.along, v.node->dom[i]);
  return is;
}

/* The k-th hidden output is the last value of the k-th parameter and has its name; before
 * parameters are closed there is none. */
static bool hidden_ok(const tp_graph *g, tp_graph *scratch, tp_error *err) {
  int k = 0, open = 0;
  TP_NODES (n, g->params) open += n->id >= 0 && n->op == TP_OP_PARAM;
  TP_EACH (const tp_output, o, g->outputs) {
    if (!o->hidden) continue;
    const tp_node *p = k < g->params.n ? g->params.v[k++] : NULL;
    if (!p || strcmp(p->attr.str, o->name))
      return unsound(
          err, o->pos, "hidden output '%s' is not that of a parameter in its place", o->name);
    if (!is_state(scratch, p, o->val))
      return unsound(err, o->pos, "hidden output '%s' has not the type of its parameter", o->name);
  }
  if (k ? k == g->params.n : open == g->params.n) return true;
  const tp_node *p = g->params.v[k];
  return unsound(err, p->pos, "parameter '%s' has no hidden output", p->attr.str);
}

static bool pinit_ok(const tp_graph *g, tp_graph *scratch, const tp_node *n, tp_error *err) {
  if (n->attr.number < 0 || n->attr.number >= g->params.n)
    return wrong(n, err, "no parameter of its number");
  return is_state(scratch, g->params.v[n->attr.number], (tp_val){ (tp_node *)n, 0 }) ||
      wrong(n, err, "its parameter has another type");
}

static bool lists_ok(const tp_graph *g, tp_graph *scratch, tp_error *err) {
  if (!entries_ok(g, g->inputs.n, g->inputs.v, true, err) ||
      !entries_ok(g, g->params.n, g->params.v, false, err))
    return false;
  TP_NODES (n, g->nodes) {
    if (n->op == TP_OP_INPUT && !is_listed(n, g->inputs.n, g->inputs.v))
      return wrong(n, err, "not among the inputs");
    if (n->op == TP_OP_PARAM && !is_listed(n, g->params.n, g->params.v))
      return wrong(n, err, "not among the parameters");
    if (n->op == TP_OP_CALL && n->nout == 0 && !is_listed(n, g->sinks.n, g->sinks.v))
      return wrong(n, err, "not among the sinks");
    if (n->op == TP_OP_PINIT && !pinit_ok(g, scratch, n, err)) return false;
  }
  TP_NODES (n, g->sinks)
    if (!tp_is_node(g, n)) return unsound(err, g->pos, "a sink is not in the graph");
  TP_EACH (const tp_output, o, g->outputs)
    if (!value_ok(g, o->val))
      return unsound(err, o->pos, "output '%s' is not in the graph", o->name);
  TP_EACH (const tp_stop, s, g->stops) {
    const tp_val done = s->done;
    if (!value_ok(g, done) || (s->end && !tp_is_node(g, s->end)))
      return unsound(err, s->pos, "what ends '%s' is not in the graph", s->dim->name);
    if (tp_dtypeof(done) != TP_BOOL || tp_rankof(done) || done.node->ndom != s->ndom + 1)
      return unsound(err, s->pos, "what ends '%s' is no bool over its domain", s->dim->name);
  }
  TP_EACH (const tp_val, v, g->losses)
    if (!value_ok(g, *v) || !tp_dtype_float(tp_dtypeof(*v)))
      return unsound(err, g->pos, "loss %d is no float of the graph", (int)(v - g->losses.v));
  return hidden_ok(g, scratch, err);
}

static void scratch_start(tp_graph *scratch, const tp_graph *g) {
  *scratch = (tp_graph){ .ix = g->ix, .stops = { g->stops.v, g->stops.n, g->stops.n } };
  tp_scratch_init(&scratch->arena);
}

bool tp_verify(const tp_graph *g, tp_error *err) {
  tp_graph scratch;
  scratch_start(&scratch, g);
  bool ok = tp_verify_structure(g, err);
  for (int i = 0; ok && i < g->nodes.n; i++) ok = node_ok(&scratch, g->nodes.v[i], err);
  ok = ok && lists_ok(g, &scratch, err);
  tp_arena_free(&scratch.arena);
  return ok;
}

void tp_recheck(tp_graph *g, bool keep) {
  tp_graph scratch;
  scratch_start(&scratch, g);
  TP_NODES (n, g->nodes) {
    tp_node m = *n;
    tp_error ignored = { 0 };
    scratch.pos = m.pos;
    tp_infer(&scratch, &m, &ignored);
  }
  if (!keep) g->shapechecks.n = 0;
  TP_EACH (const tp_shapecheck, s, scratch.shapechecks)
    tp_shapecheck_add(g, s->a, s->b, s->pos, s->what);
  tp_arena_free(&scratch.arena);
}
