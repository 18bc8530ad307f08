/* stop_add: P:stop makes a dim end by data; domains grow where its end is mentioned. */
#include "graph/core.h"

static bool done_ok(tp_graph *g, tp_sym *dim, tp_val done, tp_error *err) {
  const char *t = dim->name;
  if (tp_dtypeof(done) != TP_BOOL)
    return tp_fail(err, TP_E_DTYPE, g->pos,
        "stop: what ends '%s' must be bool, not %s: compare first, as in done:ne(0)", t,
        tp_dtype_name(tp_dtypeof(done)));
  if (tp_rankof(done))
    return tp_fail(err, TP_E_SHAPE, g->pos,
        "stop: what ends '%s' must be a scalar at each point, not of rank %d: reduce it "
        "with any or all",
        t, tp_rankof(done));
  if (!tp_has_dim(done.node, dim))
    return tp_fail(err, TP_E_DOMAIN, g->pos, "stop: what ends '%s' does not depend on '%s'", t, t);
  return true;
}

static bool over_ok(const tp_graph *g, tp_sym *dim, tp_error *err) {
  TP_NODES (n, g->nodes) {
    if (n->op == TP_OP_CALL && tp_dom_has(n->attr.nover, n->attr.over, dim))
      return tp_fail(
          err, TP_E_OPTION, n->pos, "'over' names dim '%s', which ends by data", dim->name);
  }
  return true;
}

/* A read has an index for each dim of its operand: for a new dim the index is the dim itself. */
static void index_new_dims(tp_graph *g, tp_node *n, const tp_node *was) {
  const tp_node *x = tp_in(n, 0);
  if (n->op != TP_OP_READ || was->ndom == x->ndom) return;
  tp_at *at = TP_NEWN(&g->arena, tp_at, x->ndom);
  for (int d = 0, k = 0; d < x->ndom; d++) {
    bool old = k < was->ndom && was->dom[k] == x->dom[d];
    at[d] = old ? n->attr.at[k] : (tp_at){ .lo = tp_ix_sym(x->dom[d]) };
    k += old;
  }
  n->attr.nat = x->ndom;
  n->attr.at = at;
}

/* Contributions, and reads of later nodes, keep their indices, so their operands may not grow; they
 * do in a text only. */
static bool indices_fit(const tp_node *n, const tp_node *was, int done, tp_error *err) {
  bool fit = n->op != TP_OP_READ || n->attr.nat == tp_in(n, 0)->ndom;
  for (int k = 0; k < n->nin && n->op == TP_OP_ACCUM; k++) {
    const tp_node *x = tp_in(n, k);
    fit &= !n->in[k].gather || x->id >= done || x->ndom == was[x->id].ndom;
  }
  return fit ||
      tp_fail(err, TP_E_DOMAIN, n->pos,
          "'%s' has no index for a dim that its operand has by an end: write that dim into "
          "the operand's type",
          tp_label(n));
}

/* Operands come before their readers, but for branches and updates, whose targets have declared
 * domains. After an error the graph is as it was. */
static bool infer_again(tp_graph *g, tp_error *err) {
  tp_pos pos = g->pos;
  int n = 0;
  tp_node *was = TP_NEWN(&g->arena, tp_node, g->nodes.n);
  bool ok = true;
  for (; ok && n < g->nodes.n; n++) {
    tp_node *x = g->nodes.v[n];
    was[n] = *x;
    g->pos = x->pos;
    if (x->op == TP_OP_READ && tp_in(x, 0)->id < n) index_new_dims(g, x, &was[tp_in(x, 0)->id]);
    ok = indices_fit(x, was, n, err) && tp_infer(g, x, err);
    /* a text may give a node a larger domain than it has to have */
    tp_dims_add(g, x, was[n].ndom, was[n].dom);
    ok = ok && tp_dims_ok(x, err);
  }
  for (int i = 0; ok && i < n; i++) ok = indices_fit(g->nodes.v[i], was, n, err);
  while (!ok && n-- > 0) *g->nodes.v[n] = was[n];
  g->pos = pos;
  return ok;
}

static bool find_dom(tp_graph *g, tp_stop *s) {
  const tp_node *done = s->done.node;
  tp_sym **dom = TP_NEWN(&g->arena, tp_sym *, done->ndom + 1);
  int was = s->ndom;
  s->dom = dom;
  s->ndom = 0;
  for (int i = 0; i < done->ndom; i++)
    if (done->dom[i] != s->dim) dom[s->ndom++] = done->dom[i];
  return s->ndom != was;
}

/* Repeats, as a done may mention the end of another dim and so get its dims. */
static bool grow(tp_graph *g, tp_error *err) {
  for (bool more = true; more;) {
    more = false;
    if (!infer_again(g, err)) return false;
    TP_EACH (tp_stop, s, g->stops) more |= find_dom(g, s);
  }
  return true;
}

static bool depends(const tp_graph *g, const tp_stop *s, tp_sym *dim, int depth) {
  for (int i = 0; i < s->ndom && depth <= g->stops.n; i++) {
    const tp_stop *other = tp_stop_of(g, s->dom[i]);
    if (s->dom[i] == dim || (other && depends(g, other, dim, depth + 1))) return true;
  }
  return false;
}

static bool no_circle(const tp_graph *g, tp_error *err) {
  TP_EACH (const tp_stop, s, g->stops)
    if (depends(g, s, s->dim, 0))
      return tp_fail(err, TP_E_CYCLE, g->pos,
          "stop: '%s' would end at each point of a dim that ends at each point of '%s': reduce one "
          "of the two over the other, with any or all",
          s->dim->name, s->dim->name);
  return true;
}

bool tp_stop_add(tp_graph *g, tp_sym *dim, tp_val done, tp_error *err) {
  const tp_stop *old = tp_stop_of(g, dim);
  if (dim->kind != TP_SYM_DIM || !dim->bound)
    return tp_fail(err, TP_E_OPTION, g->pos, "stop: '%s' is no dim", dim->name);
  if (old)
    return tp_fail(err, TP_E_OPTION, g->pos, "stop: '%s' ends by data already (%s)", dim->name,
        tp_line_of(g, old->pos));
  if (!done_ok(g, dim, done, err) || !over_ok(g, dim, err)) return false;
  tp_stop s = { .dim = dim, .done = done, .pos = g->pos, .sym = dim->bound };
  s.given = tp_sym_hidden_bound(g->ix, tp_printf(&g->arena, "%s_given", dim->bound->name));
  s.other = tp_sym_hidden_bound(g->ix, tp_printf(&g->arena, "%s_other", dim->bound->name));
  find_dom(g, &s);
  tp_stop *was = tp_dup(&g->arena, g->stops.v, sizeof s * (size_t)g->stops.n);
  int nwas = g->stops.n;
  TP_PUSH(&g->arena, &g->stops, s);
  if (no_circle(g, err) && grow(g, err) && no_circle(g, err)) return true;
  g->stops.n = nwas;
  memcpy(g->stops.v, was, sizeof s * (size_t)nwas);
  return false;
}
