/* exprs: visits or replaces every index expression of a node. */
#include "graph/core.h"

/* a: new lists lie there; NULL: nothing is written */
typedef struct {
  tp_arena *a;
  tp_ixfn *fn;
  void *ud;
} ix_visit;

static tp_ix *one(const ix_visit *v, tp_ix *e) { return e ? v->fn(v->ud, e) : NULL; }

static tp_ixs all(const ix_visit *v, int n, tp_ixs e) {
  tp_ix **to = v->a && n ? TP_NEWN(v->a, tp_ix *, n) : NULL;
  for (int i = 0; i < n; i++) {
    tp_ix *x = one(v, e[i]);
    if (to) to[i] = x;
  }
  return to ? to : e;
}

static const tp_at *map(const ix_visit *v, int n, const tp_at *at) {
  tp_at *to = v->a && at ? TP_NEWN(v->a, tp_at, n + 1) : NULL;
  for (int i = 0; at && i < n; i++) {
    tp_at x = { at[i].range, one(v, at[i].lo), one(v, at[i].hi) };
    if (to) to[i] = x;
  }
  return to ? to : at;
}

void tp_node_map(tp_arena *a, tp_node *n, tp_ixfn *fn, void *ud) {
  const ix_visit v = { a, fn, ud };
  n->attr.ix = all(&v, n->attr.nix, n->attr.ix);
  if (n->op == TP_OP_READ) n->attr.at = map(&v, tp_in(n, 0)->ndom, n->attr.at);
  for (int o = 0; o < n->nout; o++) n->out[o].shape = all(&v, n->out[o].rank, n->out[o].shape);
  if (a && n->attr.nspec) {
    tp_out *spec = tp_dup(a, n->attr.spec, sizeof *spec * (size_t)n->attr.nspec);
    for (int o = 0; o < n->attr.nspec; o++) spec[o].shape = all(&v, spec[o].rank, spec[o].shape);
    n->attr.spec = spec;
  }
  for (int k = 0; k < n->nin; k++) {
    tp_edge *e = &n->in[k];
    e->cond = one(&v, e->cond);
    e->at = map(&v, e->gather ? e->src.node->ndom : n->ndom, e->at);
  }
}

typedef struct {
  tp_sym *s;
  bool found;
} ix_looking;

static tp_ix *look(void *ud, tp_ix *e) {
  ix_looking *x = ud;
  x->found |= tp_ix_mentions(e, x->s);
  return e;
}

bool tp_node_mentions(const tp_node *n, tp_sym *s) {
  ix_looking x = { s, false };
  tp_node_map(NULL, (tp_node *)n, look, &x);
  return x.found;
}
