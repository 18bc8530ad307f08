/* read: tp_read makes a read of a read one read, where that changes no judgement.
 *   read(read(x, f), at)  =>  read(x, f o at)
 * f has points only; `at` has points, or a range over a dim that moves exactly one index of x by 1.
 * Legality stays the same: wherever f o at is inside x's domain, `at` must be inside the inner
 * read's, so no mistake of the outer read is lost. */
#include "graph/core.h"

static bool at_identity(int n, tp_dims dom, const tp_at *at) {
  for (int i = 0; i < n; i++)
    if (!at[i].lo || !tp_at_is_own(&at[i], dom[i])) return false;
  return true;
}

static tp_ix *subst_at(tp_ix *e, const tp_node *v, const tp_at *at, bool hi) {
  tp_sym *from[v->ndom + 1];
  tp_ix *to[v->ndom + 1];
  for (int i = 0; i < v->ndom; i++) {
    from[i] = v->dom[i];
    to[i] = hi && at[i].range ? at[i].hi : at[i].lo;
  }
  return tp_ix_subst(e, v->ndom, from, to);
}

/* The only index of x that mentions dim d of v, if it is d + rest; else -1. */
static int moved_by(const tp_node *v, tp_sym *d) {
  const tp_node *x = tp_in(v, 0);
  int found = -1;
  for (int j = 0; j < x->ndom; j++) {
    tp_ix *rest;
    int64_t k;
    if (!tp_ix_mentions(v->attr.at[j].lo, d)) continue;
    if (found >= 0 || !tp_ix_linear_in(v->attr.at[j].lo, d, &k, &rest) || k != 1) return -1;
    found = j;
  }
  return found;
}

/* f o at, an entry a dim of x; false: there is none. Ranges keep their order, for they prepend
 * axes, and two may not move one index. */
static bool composed(const tp_node *v, const tp_at *at, tp_at *out) {
  const tp_node *x = tp_in(v, 0);
  int last = -1;
  for (int j = 0; j < x->ndom; j++) {
    if (v->attr.at[j].range) return false;
    out[j] = (tp_at){ false, subst_at(v->attr.at[j].lo, v, at, false), NULL };
  }
  for (int i = 0; i < v->ndom; i++) {
    if (!at[i].range) continue;
    int j = moved_by(v, v->dom[i]);
    if (j <= last) return false;
    last = j;
    out[j].range = true;
    out[j].hi = subst_at(v->attr.at[j].lo, v, at, true);
  }
  return true;
}

/* The condition under which `at` stays inside the domain; NULL: a dim has no bound. */
static tp_ix *inside(tp_graph *g, int n, tp_dims dom, const tp_at *at) {
  tp_ictx *c = g->ix;
  tp_ix *all = tp_ix_bool(c, true), *zero = tp_ix_const(c, 0);
  for (int i = 0; i < n; i++) {
    if (!dom[i]->bound) return NULL;
    tp_ix *end = tp_ix_sym(dom[i]->bound), *top = at[i].range ? at[i].hi : tp_ix_addc(at[i].lo, 1);
    tp_ix *in = tp_ix_and(tp_ix_cmp(TP_GE, at[i].lo, zero), tp_ix_cmp(TP_LE, top, end));
    if (at[i].range) in = tp_ix_or(in, tp_ix_cmp(TP_LE, at[i].hi, at[i].lo));
    all = tp_ix_and(all, in);
  }
  return all;
}

/* Wherever `a` holds on the box, `b` does. */
static bool implies(tp_graph *g, int n, tp_dims dims, tp_ix *a, tp_ix *b) {
  if (tp_ix_kind(b) == TP_IX_TRUE) return true;
  for (int i = 0; i < n; i++)
    if (!dims[i]->bound) return false;
  tp_set *not_b = tp_set_cond(g->ix, n, dims, tp_ix_and(a, tp_ix_not(b)));
  return tp_set_none(g->ix, tp_set_and(tp_set_box(g->ix, n, dims), not_b));
}

static bool at_affine(int n, const tp_at *at) {
  for (int i = 0; i < n; i++)
    for (int end = 0; end <= at[i].range; end++) {
      tp_ix *e = end ? at[i].hi : at[i].lo;
      if (!e || !tp_ix_is_affine(e)) return false;
    }
  return true;
}

/* An index of v that mentions a dim's bound means the bound at v's point: if the dim ends by data,
 * now or by a later P:stop, the bound may differ at the points of `at`. */
static bool bounds_stay(const tp_node *v) {
  tp_dims syms;
  for (int i = 0; i < v->attr.nat; i++)
    for (int end = 0; end <= v->attr.at[i].range; end++) {
      int n = tp_ix_syms(end ? v->attr.at[i].hi : v->attr.at[i].lo, &syms);
      for (int k = 0; k < n; k++)
        if (syms[k]->kind == TP_SYM_BOUND && syms[k]->dim) return false;
    }
  return true;
}

/* May v, a read, at `at` be read from v's operand at `out`? It may if that is as legal. */
static bool may_compose(tp_graph *g, const tp_node *v, const tp_at *at, tp_at *out) {
  const tp_node *x = tp_in(v, 0);
  tp_node probe = { 0 };
  if (!at_affine(v->ndom, at) || !bounds_stay(v) || !composed(v, at, out)) return false;
  for (int i = 0; i < v->ndom; i++) {
    tp_dom_add(g, &probe, at[i].lo);
    if (at[i].range) tp_dom_add(g, &probe, at[i].hi);
  }
  tp_ix *inner = inside(g, x->ndom, x->dom, out), *outer = inside(g, v->ndom, v->dom, at);
  return inner && outer && implies(g, probe.ndom, probe.dom, inner, outer);
}

tp_val tp_read(tp_graph *g, tp_val v, const tp_at *at, tp_error *err) {
  if (!v.node || at_identity(v.node->ndom, v.node->dom, at)) return v;
  if (v.node->op == TP_OP_READ) {
    tp_val x = v.node->in[0].src;
    tp_at out[x.node->ndom + 1];
    if (may_compose(g, v.node, at, out)) return tp_read(g, x, out, err);
  }
  return tp_v(tp_build(g, TP_OP_READ, 1, &v, &(tp_attr){ .nat = v.node->ndom, .at = at }, err));
}
