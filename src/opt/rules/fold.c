/* fold: the pass that applies the rows of rules.def. It goes through the graph once, operands
 * first, and at once through the operators that a row makes, so no row matches the graph that it
 * leaves. It costs a look at each operator and at those that a pattern names below it. */
#include "opt/rules/rules.h"
#include <math.h>

/* ---- matching ---- */

bool tp_number_of(tp_val v, double *c) {
  const tp_node *n = tp_spread(v).node;
  if (n->op != TP_OP_FILL) return false;
  uint64_t one[1];
  tp_put(n->out[0].dtype, one, 0, n->attr.f[0]);
  *c = tp_get(n->out[0].dtype, one, 0);
  return tp_dtype_float(n->out[0].dtype) || fabs(*c) < 0x1p53;
}

static bool same_number(double a, double b) { return a == b && signbit(a) == signbit(b); }

static bool matches(tp_match *m, const tp_ruleterm *x, tp_val v);

static bool operands_match(tp_match *m, const tp_ruleterm *x, const tp_node *n) {
  if (n->attr.check || (x->nkid && x->nkid != n->nin)) return false;
  m->met[m->nmet++] = n;
  for (int k = 0; k < x->nkid; k++)
    if (!matches(m, x->kid[k], n->in[k].src)) return false;
  return true;
}

static bool matches(tp_match *m, const tp_ruleterm *x, tp_val v) {
  double c;
  if (x->letter >= 0) m->at[x->letter] = v;
  switch (x->kind) {
  case TP_TERM_HOLE: return !x->floats || tp_dtype_float(tp_dtypeof(v));
  case TP_TERM_NUMBER: return tp_number_of(v, &c);
  case TP_TERM_LITERAL: return tp_number_of(v, &c) && same_number(c, x->value);
  default: return tp_rule_at(x, v.node->op) && operands_match(m, x, v.node);
  }
}

static void arguments(const tp_match *m, const tp_ruleterm *x, tp_val *v) {
  for (int k = 0; k < x->nkid; k++) v[k] = m->at[x->kid[k]->letter];
}

static bool guarded(tp_match *m, const tp_ruleform *f) {
  tp_val v[TP_TERM_KIDS];
  for (int i = 0; i < f->nguard; i++) {
    arguments(m, f->guard[i], v);
    if (!tp_rule_guards[f->guard[i]->fn](m, v)) return false;
  }
  return true;
}

/* ---- readers ---- */

int tp_readers(const tp_match *m, tp_val v) { return m->r->readers.v[v.node->id]; }

static void count_operands(tp_rewriter *r, const tp_node *n) {
  for (int k = 0; k < n->nin; k++) r->readers.v[tp_in(n, k)->id]++;
}

/* Takes `times` readers from n; a node without readers no longer counts as a reader. */
static void unread(tp_rewriter *r, const tp_node *n, int times) {
  r->readers.v[n->id] -= times;
  if (r->readers.v[n->id] > 0) return;
  for (int k = 0; k < n->nin; k++) unread(r, tp_in(n, k), 1);
}

/* Does `by` take x element by element at each point? A sum over points would be one product for
 * many points. */
static bool is_by_element(const tp_node *by, const tp_node *x) {
  bool all = by->op == TP_OP_ACCUM;
  for (int i = 0; i < x->ndom && all; i++) all = tp_has_dim(by, x->dom[i]);
  return all || tp_ops[by->op].batch == TP_BATCH_E;
}

/* By id of the operators before the pass: is it read in another way than element by element? */
static bool *read_otherwise(const tp_rewriter *r) {
  const tp_graph *g = r->mk.g;
  bool *other = TP_NEWN(&r->mk.g->arena, bool, g->nodes.n), more = true;
  for (int i = 0; i < g->outputs.n; i++) other[g->outputs.v[i].val.node->id] = true;
  while (more) {
    more = false;
    for (int i = 0; i < g->nodes.n; i++) {
      const tp_node *by = g->nodes.v[i];
      for (int k = 0; k < by->nin; k++) {
        const tp_node *x = tp_in(by, k);
        if (other[x->id] || (tp_is_view(by) ? !other[i] : is_by_element(by, x))) continue;
        other[x->id] = more = true;
      }
    }
  }
  return other;
}

bool tp_by_element(const tp_match *m) {
  if (m->root->id >= m->r->before) return false;
  if (!m->r->other) m->r->other = read_otherwise(m->r);
  return !m->r->other[m->root->id];
}

/* ---- results ---- */

static tp_val result_of(tp_match *m, const tp_ruleterm *x);

/* Makes an operator with the attributes of its like in the pattern. */
static tp_val operator_of(tp_match *m, const tp_ruleterm *x) {
  tp_val in[TP_TERM_KIDS] = { { 0 } };
  const tp_node *like = NULL;
  for (int i = m->nmet; i-- > 0;)
    if (tp_rule_at(x, m->met[i]->op)) like = m->met[i];
  for (int k = 0; k < x->nkid; k++)
    if (!(in[k] = result_of(m, x->kid[k])).node) return tp_none;
  return mk_op(
      m->mk, x->kind == TP_TERM_OP ? x->op : like->op, x->nkid, in, like ? &like->attr : NULL);
}

static tp_val result_of(tp_match *m, const tp_ruleterm *x) {
  tp_val v[TP_TERM_KIDS];
  double c;
  switch (x->kind) {
  case TP_TERM_HOLE: return m->at[x->letter];
  case TP_TERM_NUMBER:
    tp_number_of(m->at[x->letter], &c);
    return mk_num(m->mk, c, tp_dtypeof(m->at[x->letter]));
  case TP_TERM_CALL: arguments(m, x, v); return tp_rule_makers[x->fn](m, v);
  default: return operator_of(m, x);
  }
}

/* y in the root's shape; nothing, if y cannot take the root's place. */
static tp_val fitted_result(tp_match *m, tp_val y) {
  const tp_out *o = &m->root->out[0];
  if (!y.node || y.node == m->root || tp_dtypeof(y) != o->dtype) return tp_none;
  if (!tp_same_type(o, tp_outof(y))) y = mk_expand(m->mk, y, o->rank, o->shape);
  return y.node && tp_same_dims(y.node, m->root) ? y : tp_none;
}

/* ---- the pass ---- */

static void replace_now(void *ud, tp_val *v) {
  const tp_rewriter *r = ud;
  tp_val now = r->now.v[v->node->id];
  if (now.node) *v = now;
}

static void rewire_operands(tp_rewriter *r, tp_node *n) {
  for (int k = 0; k < n->nin; k++) replace_now(r, &n->in[k].src);
}

/* Makes room for the operators made since, and counts what they read. */
static void take_in(tp_rewriter *r) {
  tp_graph *g = r->mk.g;
  for (int id = r->now.n; id < g->nodes.n; id++) {
    TP_PUSH(&g->arena, &r->now, tp_none);
    TP_PUSH(&g->arena, &r->readers, 0);
  }
}

/* y gets the name of the root, or of an operator like it within; a name that a maker gave stays. */
static void take_name(const tp_match *m, tp_node *y) {
  const tp_node *of = m->root;
  if (y->name || y->what || y->var) return;
  for (int i = 1; i < m->nmet && !of->name && !of->what; i++)
    if (m->met[i]->op == y->op) of = m->met[i];
  tp_name_as(y, of), y->var = of->var;
}

static tp_val fire(tp_rewriter *r, const tp_ruleform *f, tp_node *n) {
  tp_match m;
  m.mk = r->mk, m.r = r, m.root = n, m.nmet = 0;
  if (r->job->precise && f->rule->cls != TP_RULE_EXACT && tp_dtype_float(n->out[0].dtype))
    return tp_none;
  if (!matches(&m, f->pattern, tp_v(n)) || !guarded(&m, f)) return tp_none;
  r->mk.g->pos = n->pos;
  int from = r->mk.g->nodes.n;
  tp_val y = fitted_result(&m, result_of(&m, f->result));
  if (y.node && y.node->id >= from) take_name(&m, y.node);
  return y;
}

static void settle_node(tp_rewriter *r, tp_node *n);

/* Puts y, with the nodes made for it from id `from` on, in n's place. */
static void retire(tp_rewriter *r, const tp_ruleform *f, tp_node *n, tp_val y, int from) {
  tp_graph *g = r->mk.g;
  int made = g->nodes.n;
  const tp_rule *rule = f->rule;
  const char *title = tp_title(&g->arena, n);
  tp_tell(g, "fold", n->pos,
      tp_printf(&g->arena, "%s: %s: %s => %s", title, rule->name, rule->pattern, rule->result));
  take_in(r);
  for (int id = from; id < made; id++) count_operands(r, g->nodes.v[id]);
  r->readers.v[y.node->id] += r->readers.v[n->id];
  r->now.v[n->id] = y;
  unread(r, n, r->readers.v[n->id]);
  for (int id = from; id < made; id++) settle_node(r, g->nodes.v[id]);
  if (r->now.v[y.node->id].node) r->now.v[n->id] = r->now.v[y.node->id];
}

static void settle_node(tp_rewriter *r, tp_node *n) {
  tp_val y = tp_none;
  rewire_operands(r, n);
  const tp_ruleforms *at = &r->at[n->op];
  for (int i = 0; n->nout == 1 && i < at->n && !y.node && r->left > 0; i++) {
    const tp_ruleform *f = at->v[i];
    int from = r->mk.g->nodes.n;
    y = fire(r, f, n);
    if (r->mk.err->code) return;
    if (y.node) r->left--, retire(r, f, n, y, from);
    else take_in(r);
  }
}

static void rewire_roots(tp_rewriter *r) {
  tp_graph *g = r->mk.g;
  TP_NODES (n, g->nodes) rewire_operands(r, n);
  tp_each_root(g, replace_now, r);
}

static void count_readers(tp_rewriter *r) {
  tp_graph *g = r->mk.g;
  TP_NODES (n, g->nodes) count_operands(r, n);
  for (int i = 0; i < g->outputs.n; i++) r->readers.v[g->outputs.v[i].val.node->id]++;
  for (int i = 0; i < g->stops.n; i++) r->readers.v[g->stops.v[i].done.node->id]++;
}

enum { REWRITES_EACH = 32 }; /* rewrites of one operator; no program has more */

bool tp_pass_fold(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  int n = g->nodes.n, *scc = TP_NEWN(&g->arena, int, n), *order = TP_NEWN(&g->arena, int, n);
  tp_rewriter r = {
    .mk = { .g = g, .err = err }, .job = job, .before = n, .left = n * REWRITES_EACH
  };
  tp_rules_begin(&r);
  take_in(&r);
  count_readers(&r);
  tp_graph_sccs(g, scc, order);
  for (int i = 0; i < n && !err->code; i++) settle_node(&r, g->nodes.v[order[i]]);
  TP_ASSERT(err->code || r.left > 0);
  rewire_roots(&r);
  tp_graph_prune(g);
  return !err->code;
}
