/* Ends by data: P:stop, and what every judgement has to know about a bound that is reached while
 * running.
 *
 * In the graph the bound of such a dim is the reached end. In a set of points of a node it means
 * the end at that very point (a node that lacks dims of the stop's domain: the greatest over
 * these). So an edge that goes to other points of these dims must not hand on what a set says about
 * the end: see tp_edge_crosses. */
#include "graph/core.h"

const tp_stop *tp_stop_of(const tp_graph *g, const tp_sym *s) {
  for (int i = 0; i < g->stops.n; i++)
    if (g->stops.v[i].dim == s || g->stops.v[i].sym == s) return &g->stops.v[i];
  return NULL;
}

bool tp_mentions_end(const tp_graph *g, const tp_ix *e) {
  for (int i = 0; e && i < g->stops.n; i++)
    if (tp_ix_mentions(e, g->stops.v[i].sym)) return true;
  return false;
}

const tp_ix *tp_end_parts(tp_graph *g, const tp_ix *cond, bool mention) {
  const tp_ix *all = NULL, *x;
  for (int k = 0; (x = tp_ix_conjunct(cond, k)); k++)
    if (tp_mentions_end(g, x) == mention) all = tp_ix_both(g->ix, all, x);
  return all;
}

/* ---- points ---- */

bool tp_end_known(const tp_graph *g, const tp_sym *s, int ndom, const tp_sym *const *dom) {
  const tp_stop *p = s->kind == TP_SYM_BOUND ? tp_stop_of(g, s) : NULL;
  for (int i = 0; p && i < p->ndom; i++)
    if (!tp_dom_has(ndom, dom, p->dom[i])) return false;
  return true;
}

bool tp_at_stays(const tp_node *x, const tp_at *at, const tp_stop *s) {
  for (int i = 0; i < x->ndom; i++)
    if (tp_dom_has(s->ndom, s->dom, x->dom[i]) && (!tp_at_is_own(&at[i], x->dom[i]))) return false;
  return true;
}

bool tp_edge_crosses(const tp_node *n, int k, const tp_stop *s) {
  const tp_node *x = n->in[k].src.node;
  for (int i = 0; i < s->ndom; i++)
    if (tp_dom_has(n->ndom, n->dom, s->dom[i]) != tp_dom_has(x->ndom, x->dom, s->dom[i]))
      return true;
  if (n->op == TP_OP_READ) return !tp_at_stays(x, n->attr.at, s);
  if (n->op == TP_OP_ACCUM) return !tp_at_stays(n->in[k].gather ? x : n, n->in[k].at, s);
  return n->op == TP_OP_PARAM && k == 1 && s->ndom;
}

/* ---- sets ---- */

static const tp_ix *bound(tp_graph *g, const tp_sym *s) { return tp_ix_sym(g->ix, s); }
static const tp_ix *at_least(tp_graph *g, const tp_sym *s, int64_t k) {
  return tp_ix_cmp(g->ix, TP_GE, bound(g, s), tp_ix_const(g->ix, k));
}

const tp_ix *tp_end_within(tp_graph *g, const tp_stop *s, int64_t least) {
  return tp_ix_and(g->ix, at_least(g, s->sym, least),
      tp_ix_cmp(g->ix, TP_LE, bound(g, s->sym), bound(g, s->given)));
}

const tp_ix *tp_end_extreme(
    tp_graph *g, const tp_ix *e, bool most, int n, const tp_sym *const *dims) {
  const tp_sym *over[n + g->stops.n + 1];
  if (n) memcpy(over, dims, sizeof *dims * (size_t)n);
  for (int i = 0; i < g->stops.n; i++) {
    const tp_stop *s = &g->stops.v[i];
    const tp_ix *some = tp_ix_mentions(e, s->sym) ? tp_ix_addc(g->ix, bound(g, s->less), 1) : NULL;
    if (some) e = tp_ix_subst(g->ix, e, 1, &s->sym, &some), over[n++] = s->less;
  }
  return n ? (most ? tp_ix_upper : tp_ix_lower)(g->ix, e, n, over) : e;
}

/* An end is any number from 1 on: that something was given is what all judgements take for granted
 * (legal.c asks what holds where nothing was). */
tp_set *tp_set_unended(tp_graph *g, tp_set *a, const tp_stop *s) {
  return tp_set_some(g->ix, a, s->sym, at_least(g, s->sym, 1));
}

tp_set *tp_set_reached(tp_graph *g, tp_set *a, int n, const tp_sym *const *dims) {
  for (int i = 0; i < g->stops.n; i++)
    a = tp_set_and(a, tp_set_cond(g->ix, n, dims, at_least(g, g->stops.v[i].sym, 1)));
  return a;
}

static const tp_ix *is_zero(tp_graph *g, const tp_sym *s) {
  return tp_ix_cmp(g->ix, TP_EQ, bound(g, s), tp_ix_const(g->ix, 0));
}

/* Ends of ends have no circles (no_circle). */
bool tp_stop_needs(const tp_graph *g, const tp_stop *s, const tp_sym *dim) {
  bool needs = s->dim == dim;
  for (int i = 0; i < s->ndom && !needs; i++) {
    const tp_stop *row = tp_stop_of(g, s->dom[i]);
    needs = s->dom[i] == dim || (row && tp_stop_needs(g, row, dim));
  }
  return needs;
}

tp_set *tp_set_nothing(
    tp_graph *g, tp_set *a, int n, const tp_sym *const *dims, const tp_sym *zero) {
  a = tp_set_and(a, tp_set_cond(g->ix, n, dims, is_zero(g, zero->bound)));
  for (int i = 0; i < g->stops.n; i++)
    if (tp_stop_needs(g, &g->stops.v[i], zero))
      a = tp_set_and(a, tp_set_cond(g->ix, n, dims, is_zero(g, g->stops.v[i].sym)));
  return a;
}

tp_set *tp_set_given(tp_graph *g, tp_set *a, const tp_sym *zero) {
  for (int i = 0; i < g->stops.n; i++) {
    const tp_stop *s = &g->stops.v[i];
    a = tp_set_some(g->ix, a, s->other, at_least(g, s->other, 1));
    if (!zero) a = tp_set_some(g->ix, a, s->sym, tp_end_within(g, s, 1));
    else if (s->dim != zero && tp_stop_needs(g, s, zero))
      a = tp_set_some(g->ix, a, s->sym, is_zero(g, s->sym));
    if (s->given != s->dim->bound)
      a = tp_set_some(
          g->ix, a, s->given, tp_ix_cmp(g->ix, TP_EQ, bound(g, s->given), bound(g, s->sym)));
  }
  return a;
}

/* ---- recording ---- */

static const char *text_of(tp_graph *g, const tp_sym *dim, const char *suffix) {
  return tp_printf(&g->arena, "%s_%s", dim->bound->name, suffix);
}

static bool done_ok(tp_graph *g, const tp_sym *dim, tp_val done, tp_error *err) {
  const char *t = dim->name;
  if (tp_dtypeof(done) != TP_BOOL)
    return tp_fail(err, TP_E_DTYPE, g->pos,
        "dtype: stop: what ends '%s' must be bool, not %s: compare first, as in done:ne(0)", t,
        tp_dtype_name(tp_dtypeof(done)));
  if (tp_rankof(done))
    return tp_fail(err, TP_E_SHAPE, g->pos,
        "shape: stop: what ends '%s' must be a scalar at each point, not of rank %d: reduce it "
        "with any or all",
        t, tp_rankof(done));
  if (!tp_dom_has(done.node->ndom, done.node->dom, dim))
    return tp_fail(
        err, TP_E_DOMAIN, g->pos, "domain: stop: what ends '%s' does not depend on '%s'", t, t);
  return true;
}

static bool over_ok(const tp_graph *g, const tp_sym *dim, tp_error *err) {
  for (int i = 0; i < g->nodes.n; i++) {
    const tp_node *n = g->nodes.v[i];
    if (n->op == TP_OP_CALL && tp_dom_has(n->attr.nover, n->attr.over, dim))
      return tp_fail(
          err, TP_E_OPTION, n->pos, "option: 'over' names dim '%s', which ends by data", dim->name);
  }
  return true;
}

/* A read has an index for each dim of its operand: those that the operand has now and had not are
 * read where they are. */
static void index_new_dims(tp_graph *g, tp_node *n, const tp_node *was) {
  const tp_node *x = n->in[0].src.node;
  if (n->op != TP_OP_READ || was->ndom == x->ndom) return;
  tp_at *at = TP_NEWN(&g->arena, tp_at, x->ndom);
  for (int d = 0, k = 0; d < x->ndom; d++) {
    bool old = k < was->ndom && was->dom[k] == x->dom[d];
    at[d] = old ? n->attr.at[k] : (tp_at){ .lo = tp_ix_sym(g->ix, x->dom[d]) };
    k += old;
  }
  n->attr.nat = x->ndom;
  n->attr.at = at;
}

/* Contributions, and reads of what stands behind them, keep the indices that they have: only a text
 * can make what they read grow. */
static bool indices_fit(const tp_node *n, const tp_node *was, int done, tp_error *err) {
  bool fit = n->op != TP_OP_READ || n->attr.nat == n->in[0].src.node->ndom;
  for (int k = 0; k < n->nin && n->op == TP_OP_ACCUM; k++) {
    const tp_node *x = n->in[k].src.node;
    fit &= !n->in[k].gather || x->id >= done || x->ndom == was[x->id].ndom;
  }
  return fit ||
      tp_fail(err, TP_E_DOMAIN, n->pos,
          "domain: '%s' has no index for a dim that its operand has by an end: write that dim into "
          "the operand's type",
          tp_label(n));
}

/* Domains grow where an end is mentioned. Operands come before their readers, but for branches and
 * updates, whose targets have declared domains. After an error everything is as it was. */
static bool infer_again(tp_graph *g, tp_error *err) {
  tp_pos pos = g->pos;
  int n = 0;
  tp_node *was = TP_NEWN(&g->arena, tp_node, g->nodes.n);
  bool ok = true;
  for (; ok && n < g->nodes.n; n++) {
    tp_node *x = g->nodes.v[n];
    was[n] = *x;
    g->pos = x->pos;
    if (x->op == TP_OP_READ && x->in[0].src.node->id < n)
      index_new_dims(g, x, &was[x->in[0].src.node->id]);
    ok = indices_fit(x, was, n, err) && tp_infer(g, x, err);
    /* of a text a domain may be larger than it has to be */
    x->ndom = tp_dom_union(g, x->ndom, x->dom, was[n].ndom, was[n].dom, &x->dom);
    ok = ok && tp_dims_ok(x, err);
  }
  for (int i = 0; ok && i < n; i++) ok = indices_fit(g->nodes.v[i], was, n, err);
  while (!ok && n-- > 0) *g->nodes.v[n] = was[n];
  g->pos = pos;
  return ok;
}

static bool find_dom(tp_graph *g, tp_stop *s) {
  const tp_node *done = s->done.node;
  const tp_sym **dom = TP_NEWN(&g->arena, const tp_sym *, done->ndom + 1);
  int n = 0, was = s->ndom;
  for (int i = 0; i < done->ndom; i++)
    if (done->dom[i] != s->dim) dom[n++] = done->dom[i];
  s->dom = dom;
  s->ndom = n;
  return n != was;
}

/* What ends one dim may speak of the end of another, and so have its dims. */
static bool grow(tp_graph *g, tp_error *err) {
  for (bool more = true; more;) {
    more = false;
    if (!infer_again(g, err)) return false;
    for (int i = 0; i < g->stops.n; i++) more |= find_dom(g, &g->stops.v[i]);
  }
  return true;
}

static bool depends(const tp_graph *g, const tp_stop *s, const tp_sym *dim, int depth) {
  for (int i = 0; i < s->ndom && depth <= g->stops.n; i++) {
    const tp_stop *other = tp_stop_of(g, s->dom[i]);
    if (s->dom[i] == dim || (other && depends(g, other, dim, depth + 1))) return true;
  }
  return false;
}

static bool no_circle(const tp_graph *g, tp_error *err) {
  for (int i = 0; i < g->stops.n; i++)
    if (depends(g, &g->stops.v[i], g->stops.v[i].dim, 0))
      return tp_fail(err, TP_E_CYCLE, g->pos,
          "cycle: stop: '%s' would end at each point of a dim that ends at each point of '%s': "
          "reduce one of the two over the other, with any or all",
          g->stops.v[i].dim->name, g->stops.v[i].dim->name);
  return true;
}

bool tp_stop_add(tp_graph *g, const tp_sym *dim, tp_val done, tp_error *err) {
  const tp_stop *old = tp_stop_of(g, dim);
  if (dim->kind != TP_SYM_DIM || !dim->bound)
    return tp_fail(err, TP_E_OPTION, g->pos, "option: stop: '%s' is no dim", dim->name);
  if (old)
    return tp_fail(err, TP_E_OPTION, g->pos, "option: stop: '%s' ends by data already (%s:%d)",
        dim->name, old->pos.file ? old->pos.file : "?", old->pos.line);
  if (!done_ok(g, dim, done, err) || !over_ok(g, dim, err)) return false;
  tp_stop s = { .dim = dim, .done = done, .pos = g->pos, .sym = dim->bound };
  s.given = tp_sym_hidden_bound(g->ix, text_of(g, dim, "given"));
  s.other = tp_sym_hidden_bound(g->ix, text_of(g, dim, "other"));
  find_dom(g, &s);
  tp_stop *was = tp_dup(&g->arena, g->stops.v, sizeof s * (size_t)g->stops.n);
  int nwas = g->stops.n;
  TP_PUSH(&g->arena, &g->stops, s);
  if (no_circle(g, err) && grow(g, err) && no_circle(g, err)) return true;
  g->stops.n = nwas;
  memcpy(g->stops.v, was, sizeof s * (size_t)nwas);
  return false;
}
