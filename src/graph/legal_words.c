/* legal: the words for what is not legal, with the smallest bad point. */
#include "graph/legal.h"

static const char *index_text(check *c, const tp_at *at) {
  tp_ictx *ix = c->g->ix;
  return at->range
      ? tp_printf(&c->g->arena, "%s .. %s", tp_ix_str(ix, at->lo), tp_ix_str(ix, at->hi))
      : tp_ix_str(ix, at->lo);
}

/* x[t + 1]; with several dims x[{i, t + 1}] */
const char *tp_legal_read(check *c, const tp_node *r) {
  const tp_node *x = r->in[0].src.node;
  const char *name = tp_own_name(x) ? tp_own_name(x) : "it", *list = "";
  for (int k = 0; k < x->ndom; k++)
    list = tp_printf(&c->g->arena, "%s%s%s", list, k ? ", " : "", index_text(c, &r->attr.at[k]));
  return tp_printf(&c->g->arena, x->ndom > 1 ? "%s[{%s}]" : "%s[%s]", name, list);
}

/* "t = 2, i = 0": the dims' values in the witness. */
const char *tp_legal_point(check *c, const tp_node *n) {
  const char *list = "";
  for (int k = 0; k < n->ndom; k++)
    list = tp_printf(&c->g->arena, "%s%s%s = %lld", list, k ? ", " : "", n->dom[k]->name,
        (long long)c->env[n->dom[k]->id]);
  return list;
}

static void add_bound(check *c, const char **list, const tp_sym *s) {
  if (!s || s->kind != TP_SYM_BOUND || s->hidden) return;
  const char *item = tp_printf(&c->g->arena, "%s = %lld", s->name, (long long)c->env[s->id]);
  if (!strstr(*list, item))
    *list = tp_printf(&c->g->arena, "%s%s%s", *list, **list ? ", " : "", item);
}

static void add_bounds_of(check *c, const char **list, const tp_ix *e) {
  const tp_sym *const *syms;
  int n = tp_ix_syms(e, &syms);
  for (int i = 0; i < n; i++) add_bound(c, list, syms[i]);
}

/* "T = 3, I = 2": the bounds of n's dims, of its operand's, and those that its index or the extents
 * of a view mention. */
const char *tp_legal_bounds(check *c, const tp_node *n) {
  const char *list = "";
  for (int k = 0; k < n->ndom; k++) add_bound(c, &list, n->dom[k]->bound);
  for (int i = 0; tp_ops[n->op].cls == TP_CLS_MOVE && i < tp_rankof(n->in[0].src); i++)
    add_bounds_of(c, &list, tp_outof(n->in[0].src)->shape[i]);
  if (n->op != TP_OP_READ) return list;
  const tp_node *x = n->in[0].src.node;
  for (int k = 0; k < x->ndom; k++) {
    add_bound(c, &list, x->dom[k]->bound);
    for (int e = 0; e <= n->attr.at[k].range; e++)
      add_bounds_of(c, &list, e ? n->attr.at[k].hi : n->attr.at[k].lo);
  }
  return list;
}

/* "e.g. at t = 2 with T = 3" */
const char *tp_legal_example(check *c, const tp_node *n) {
  const char *point = tp_legal_point(c, n), *bounds = tp_legal_bounds(c, n);
  return tp_printf(
      &c->g->arena, "e.g.%s%s%s%s", *point ? " at " : "", point, *bounds ? " with " : "", bounds);
}
