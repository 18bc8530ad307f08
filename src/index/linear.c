/* Bounds of an expression that are linear along a symbol. */
#include "index/priv.h"

typedef struct {
  tp_ictx *c;
  const tp_sym *s;
  const tp_ix *lo, *last;
  bool above;
} edge;

static const tp_ix *edge_of(const edge *g, const tp_ix *e);

static const tp_ix *edge_poly(const edge *g, const tp_ix *e) {
  const tp_ix *sum = tp_ix_const(g->c, e->cst);
  for (int i = 0; i < e->nterm; i++) {
    const tp_mono *m = e->term[i].m;
    const tp_ix *v = m->atom[0];
    for (int k = 1; k < m->n; k++) v = tp_ix_mul(g->c, v, m->atom[k]);
    edge turned = *g;
    turned.above = g->above == (e->term[i].coef > 0);
    if (tp_ix_mentions(v, g->s)) v = m->n == 1 ? edge_of(&turned, v) : NULL;
    if (!v) return NULL;
    sum = tp_ix_add(g->c, sum, tp_ix_mulc(g->c, v, e->term[i].coef));
  }
  return sum;
}

/* Nowhere above all of them (below): any one that moves with s. */
static const tp_ix *edge_one(const edge *g, const tp_ix *e) {
  for (int i = 0; i < e->narg; i++) {
    const tp_ix *v = tp_ix_mentions(e->arg[i], g->s) ? edge_of(g, e->arg[i]) : NULL;
    if (v) return v;
  }
  return NULL;
}

/* The outermost of all of them, which have one factor k: a constant is on that side of k*s +
 * (constant - k*lo) where s >= lo and k > 0, and so on. */
static const tp_ix *edge_all(const edge *g, const tp_ix *e) {
  const tp_ix *most = NULL, *one = edge_one(g, e), *rest;
  int64_t k, other;
  if (!one || !tp_ix_linear_in(g->c, one, g->s, &k, &rest) || k == 0) return NULL;
  const tp_ix *end = tp_ix_mulc(g->c, g->above == (k > 0) ? g->lo : g->last, k);
  for (int i = 0; i < e->narg; i++) {
    const tp_ix *v = tp_ix_sub(g->c, e->arg[i], end);
    if (tp_ix_mentions(e->arg[i], g->s)) {
      v = edge_of(g, e->arg[i]);
      if (!v || !tp_ix_linear_in(g->c, v, g->s, &other, &v) || other != k) return NULL;
    }
    most = !most ? v : g->above ? tp_ix_max(g->c, most, v) : tp_ix_min(g->c, most, v);
  }
  return tp_ix_add(g->c, tp_ix_mulc(g->c, tp_ix_sym(g->c, g->s), k), most);
}

static const tp_ix *edge_of(const edge *g, const tp_ix *e) {
  if (!tp_ix_mentions(e, g->s) || e->kind == TP_IX_SYM) return e;
  if (e->kind == TP_IX_POLY) return edge_poly(g, e);
  if (e->kind == (g->above ? TP_IX_MIN : TP_IX_MAX)) return edge_one(g, e);
  return e->kind == TP_IX_MIN || e->kind == TP_IX_MAX ? edge_all(g, e) : NULL;
}

const tp_ix *tp_ix_edge(
    tp_ictx *c, const tp_ix *e, const tp_sym *s, const tp_ix *lo, const tp_ix *last, bool above) {
  return edge_of(&(edge){ c, s, lo, last, above }, e);
}
