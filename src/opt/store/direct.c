/* direct: an accumulation becomes a value if each contribution reaches a point at most once, and no
 * point is reached by two of the contributions that leave points out.
 *
 *   y = accum  a[p] to [p]  and  b[p] to [p - 1] if p >= 1   =>   y[t] = a[t] + b[t+1] if t+1 < T,
 *                                                                 else a[t]
 *
 * Contributions to the same points count as one. Most derivatives of reads are such accumulations.
 * As values they are stored where they are used, or not at all, and need no statement that clears
 * them. The value is right at needed points: `need` tells which contributions reach all of them.
 * Sums over rows that end by data stay. */
#include "opt/opt.h"

/* A contribution as a value. at: the needed points that it reaches, none or all; group: the first
 * term that reaches the same. */
typedef struct term {
  tp_val value;
  tp_ix *cond;
  tp_set *at;
  bool all, none;
  int group;
} term;
typedef struct turn {
  tp_graph *g;
  tp_mk mk;
  const tp_need *need;
  tp_node *n;
  int nterm;
  term *term;
} turn;

/* ---- one contribution at the point where it arrives ---- */

/* The condition that x has this point, at points of n. */
static tp_ix *inside(tp_graph *g, const tp_node *n, const tp_node *x, tp_ixs at) {
  tp_ix *all = tp_ix_bool(g->ix, true), *zero = tp_ix_const(g->ix, 0);
  for (int j = 0; j < 2 * x->ndom; j++) {
    tp_ix *p = at[j / 2], *end = tp_ix_sym(x->dom[j / 2]->bound),
          *e = j % 2 ? tp_ix_addc(tp_ix_sub(end, p), -1) : p;
    if (!tp_ix_prove_ge0(e, n->ndom, n->dom)) all = tp_ix_and(all, tp_ix_cmp(TP_GE, e, zero));
  }
  return all;
}

/* Does the node's index u determine one of the operand's? It does if u = p_j + rest or u = rest -
 * p_j. */
static bool tells_u(const tp_node *x, tp_ix *e, tp_ix *u, tp_ix **to) {
  for (int j = 0; j < x->ndom; j++) {
    int64_t k;
    tp_ix *rest;
    if (to[j] || !tp_ix_linear_in(e, x->dom[j], &k, &rest) || (k != 1 && k != -1) ||
        tp_moves(x, rest))
      continue;
    to[j] = k > 0 ? tp_ix_sub(u, rest) : tp_ix_sub(rest, u);
    return true;
  }
  return false;
}

/* Finds the operand's point as a function of the node's, and the condition that there is one;
 * false: there may be several. */
static bool invert(tp_graph *g, const tp_node *n, const tp_edge *e, tp_ix **to, tp_ix **cond) {
  const tp_node *x = e->src.node;
  bool told[n->ndom + 1];
  for (int j = 0; j < x->ndom; j++) to[j] = NULL;
  for (int d = 0; d < n->ndom; d++) {
    if (e->at[d].range) return false;
    told[d] = tells_u(x, e->at[d].lo, tp_ix_sym(n->dom[d]), to);
  }
  for (int j = 0; j < x->ndom; j++)
    if (!to[j]) return false;
  *cond = inside(g, n, x, to);
  if (e->cond) *cond = tp_ix_and(*cond, tp_ix_subst(e->cond, x->ndom, x->dom, to));
  for (int d = 0; d < n->ndom; d++) {
    tp_ix *u = tp_ix_sym(n->dom[d]);
    if (!told[d])
      *cond = tp_ix_and(*cond, tp_ix_cmp(TP_EQ, u, tp_ix_subst(e->at[d].lo, x->ndom, x->dom, to)));
  }
  return true;
}

static bool over_ends(const tp_graph *g, int n, tp_dims dims) {
  for (int i = 0; i < n; i++)
    if (!dims[i]->bound || tp_stop_of(g, dims[i])) return true;
  return false;
}

static bool turned_term(turn *w, const tp_edge *e, term *out) {
  tp_graph *g = w->g;
  const tp_node *x = e->src.node;
  tp_ix *to[x->ndom + 1];
  tp_at at[x->ndom + 1];
  if (over_ends(g, x->ndom, x->dom) || e->gather || !invert(g, w->n, e, to, &out->cond) ||
      tp_mentions_end(g, out->cond))
    return false;
  for (int j = 0; j < x->ndom; j++) {
    if (!tp_ix_is_affine(to[j])) return false;
    at[j] = (tp_at){ .lo = to[j] };
  }
  out->value = tp_read(g, e->src, at, w->mk.err);
  if (!out->value.node || !tp_same_type(tp_outof(out->value), &w->n->out[0])) return false;
  tp_set *need = w->need->set[w->n->id], *box = tp_set_box(g->ix, w->n->ndom, w->n->dom);
  box = tp_set_and(box, tp_set_cond(g->ix, w->n->ndom, w->n->dom, out->cond));
  out->at = tp_set_and(box, tp_set_copy(need));
  out->none = tp_set_is_empty(g->ix, out->at);
  out->all = tp_set_subset(g->ix, need, out->at);
  return true;
}

/* ---- the sum ---- */

static void group_terms(turn *w) {
  for (int i = 0; i < w->nterm; i++) {
    term *a = &w->term[i];
    for (a->group = 0; a->group < i &&
         (w->term[a->group].all || !tp_set_equal(w->g->ix, w->term[a->group].at, a->at));
         a->group++) {}
  }
}

/* No two groups that leave points out meet. */
static bool apart(turn *w) {
  group_terms(w);
  for (int i = 0; i < w->nterm; i++)
    for (int j = 0; j < i; j++) {
      const term *a = &w->term[i], *b = &w->term[j];
      if (a->all || b->all || a->none || b->none || a->group == b->group) continue;
      tp_set *both = tp_set_and(tp_set_copy(a->at), tp_set_copy(b->at));
      bool empty = both && tp_set_is_empty(w->g->ix, both);
      tp_set_free(both);
      if (!empty) return false;
    }
  return true;
}

/* The sum of terms that arrive everywhere and those of group k (-1: none), in the order of
 * contributions; {NULL} if there are none. */
static tp_val turned_sum(turn *w, int k) {
  tp_val y = tp_none;
  for (int i = 0; i < w->nterm; i++) {
    const term *t = &w->term[i];
    if (!t->none && (t->all || t->group == k)) y = y.node ? mk_add(w->mk, y, t->value) : t->value;
  }
  return y;
}

static bool covered(turn *w) {
  tp_set *left = tp_set_copy(w->need->set[w->n->id]);
  for (int i = 0; i < w->nterm; i++) left = tp_set_minus(left, tp_set_copy(w->term[i].at));
  bool yes = left && tp_set_is_empty(w->g->ix, left);
  tp_set_free(left);
  return yes;
}

static tp_val by_branches(turn *w) {
  const tp_node *n = w->n;
  const tp_out *o = &n->out[0];
  tp_val m = mk_declared(w->mk, o->dtype, o->rank, o->shape, n->ndom, n->dom);
  for (int i = 0; m.node && i < w->nterm; i++) {
    if (w->term[i].all || w->term[i].none || w->term[i].group != i) continue;
    tp_val v = turned_sum(w, i);
    if (!v.node || !tp_merge_add(w->g, m.node, w->term[i].cond, v, w->mk.err)) return tp_none;
  }
  tp_val rest = turned_sum(w, -1);
  if (!rest.node && !covered(w))
    rest = mk_fill(w->mk, 0, o->dtype, o->rank, o->shape, n->ndom, n->dom);
  bool ok = !rest.node || (m.node && tp_merge_add(w->g, m.node, NULL, rest, w->mk.err));
  return ok && !w->mk.err->code ? m : tp_none;
}

static tp_val value_of(turn *w) {
  bool all = true;
  for (int i = 0; i < w->nterm; i++) all &= w->term[i].all;
  tp_val y = all ? turned_sum(w, -1) : tp_none;
  return y.node && y.node->ndom == w->n->ndom ? y : by_branches(w);
}

static bool take(turn *w, bool *changed) {
  tp_graph *g = w->g;
  tp_node *n = w->n;
  bool ok = n->nin > 0 && !over_ends(g, n->ndom, n->dom);
  g->pos = n->pos;
  w->term = TP_NEWN(&g->arena, term, n->nin);
  for (; ok && w->nterm < n->nin; w->nterm++)
    ok = turned_term(w, &n->in[w->nterm], &w->term[w->nterm]);
  int made = g->nodes.n;
  tp_val y = ok && apart(w) ? value_of(w) : tp_none;
  if (y.node) {
    if (y.node->id >= made && y.node->op != TP_OP_READ) tp_name_as(y.node, n);
    tp_rewrite(g, tp_v(n), y, "algebra", "a sum of one term at each point => a value");
    *changed = true;
  }
  for (int i = 0; i < w->nterm; i++) tp_set_free(w->term[i].at);
  return !w->mk.err->code;
}

bool tp_pass_direct(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  for (int i = 0, n0 = g->nodes.n; i < n0; i++) {
    turn w = { .g = g, .mk = { .g = g, .err = err }, .need = *job->need, .n = g->nodes.v[i] };
    if (w.n->op == TP_OP_ACCUM && w.n->attr.red == TP_RED_SUM && !take(&w, &job->changed))
      return false;
  }
  return true;
}
