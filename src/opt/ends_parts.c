/* ends_parts: who reads a declared tensor or an accumulation only where some of its branches or
 * contributions count, reads these alone.
 *
 *   h[T-1] = e;  h:otherwise(f(h[T-1]))   =>   f(e)         for h[T-1] can only be e
 *
 * As values, where(t == T - 1, e, ..) would need at each point what it needs at one, and there
 * would be a cycle that the program does not have. What is read is judged with what is reached as a
 * parameter. Done where no order is found without, for a part is kept beside the whole. */
#include "opt/ends.h"

/* by branch or contribution: the points at which it counts */
typedef struct {
  ends *l;
  tp_node *m;
  tp_set *first[32];
  int n;
} whole;

/* Where contribution k may go to, from points that are there. */
static tp_set *contribution_points(ends *l, const tp_node *m, int k) {
  const tp_node *x = m->in[k].src.node;
  if (m->in[k].gather) return tp_set_box(l->ix, m->ndom, m->dom);
  return tp_set_apply(tp_set_cond(l->ix, x->ndom, x->dom, tp_ends_alive(l, x)),
      tp_rel_reverse(tp_edge_rel(l->g, m, k)));
}

static bool crosses(ends *l, const tp_node *n, int k) {
  bool any = false;
  for (int i = 0; i < l->g->stops.n; i++) any |= tp_edge_crosses(n, k, &l->g->stops.v[i]);
  return any;
}

static bool worth_it(ends *l, const tp_node *m) {
  bool any = false;
  if ((m->op != TP_OP_MERGE && m->op != TP_OP_ACCUM) || m->nin > 32) return false;
  for (int i = 0; i < l->g->stops.n; i++) any |= tp_node_mentions(m, l->g->stops.v[i].sym);
  for (int k = 0; k < m->nin && m->op == TP_OP_ACCUM; k++)
    any &= !crosses(l, m, k) || m->in[k].gather;
  return any;
}

static bool look_at(whole *w, ends *l, tp_node *m) {
  *w = (whole){ .l = l, .m = m };
  if (!worth_it(l, m)) return false;
  for (; w->n < m->nin; w->n++)
    w->first[w->n] =
        m->op == TP_OP_MERGE ? tp_branch_set(l->g, m, w->n) : contribution_points(l, m, w->n);
  return true;
}

static void forget(whole *w) {
  for (int k = 0; k < w->n; k++) tp_set_free(w->first[k]);
}

/* The branches or contributions that count at some point which is taken; 0: it cannot be told. */
static uint32_t counting(whole *w, const tp_node *n, int k) {
  ends *l = w->l;
  const tp_node *m = w->m;
  uint32_t may = 0;
  if (crosses(l, n, k)) return 0;
  tp_set *at = tp_set_and(tp_set_apply(tp_ends_need(l, n), tp_edge_rel(l->g, n, k)),
      tp_set_and(tp_set_box(l->ix, m->ndom, m->dom),
          tp_set_cond(l->ix, m->ndom, m->dom, tp_ends_alive(l, m))));
  for (int j = 0; j < w->n; j++) {
    tp_set *both = tp_set_and(tp_set_copy(at), tp_set_copy(w->first[j]));
    if (both) both = tp_set_and(both, tp_set_cond(l->ix, m->ndom, m->dom, tp_ends_within(l, both)));
    if (!tp_set_is_empty(l->ix, both)) may |= 1u << j;
    tp_set_free(both);
  }
  tp_set_free(at);
  return may;
}

static bool add_edges(whole *w, tp_node *part, uint32_t may) {
  ends *l = w->l;
  int last = 31 - __builtin_clz(may);
  for (int j = 0; j <= last; j++) {
    const tp_edge *e = &w->m->in[j];
    if (!(may >> j & 1)) continue;
    l->g->pos = e->pos.file ? e->pos : w->m->pos;
    if (!(part->op == TP_OP_MERGE
                ? tp_merge_add(l->g, part, j == last ? NULL : e->cond, e->src, l->err)
                : tp_accum_add(l->g, part, *e, l->err)))
      return false;
  }
  return true;
}

static tp_val part_of(whole *w, uint32_t may) {
  ends *l = w->l;
  tp_node *m = w->m;
  int only = __builtin_ctz(may);
  if (m->op == TP_OP_MERGE && may == 1u << only)
    return tp_ends_same_dom(l, m->in[only].src, m->ndom, m->dom);
  l->g->pos = m->pos;
  tp_attr a = m->attr;
  tp_node *part = tp_build(l->g, m->op, 0, NULL, &a, l->err);
  if (!part || !add_edges(w, part, may)) return tp_none;
  part->name = m->name;
  tp_set *need = tp_set_empty(l->ix, m->ndom, m->dom);
  for (int j = 0; j < w->n; j++)
    if (may >> j & 1) need = tp_set_or(need, tp_set_copy(w->first[j]));
  TP_PUSH(&l->g->arena, &l->parts,
      (ends_part){ part, tp_set_and(need, tp_ends_need(l, m)), tp_ends_feeds(l, m) });
  return tp_v(part);
}

typedef struct {
  uint32_t may;
  tp_val val;
} made;

static bool redirect(whole *w, int n0) {
  ends *l = w->l;
  TP_VEC(made) parts = { 0 };
  uint32_t all = (uint32_t)((1ull << w->n) - 1);
  for (int i = 0; i < n0; i++) {
    tp_node *n = l->g->nodes.v[i];
    for (int k = 0; k < n->nin; k++) {
      if (n->in[k].src.node != w->m || n == w->m) continue;
      uint32_t may = counting(w, n, k);
      int p = 0;
      if (!may || may == all) continue;
      while (p < parts.n && parts.v[p].may != may) p++;
      if (p == parts.n) TP_PUSH(&l->g->arena, &parts, ((made){ may, part_of(w, may) }));
      if (!parts.v[p].val.node) return false;
      n->in[k].src = parts.v[p].val;
    }
  }
  return true;
}

bool tp_ends_parts(ends *l) {
  bool ok = true;
  for (int i = 0; i < l->n && ok; i++) {
    whole w;
    if (!look_at(&w, l, l->g->nodes.v[i])) continue;
    ok = redirect(&w, l->n);
    forget(&w);
  }
  return ok;
}
