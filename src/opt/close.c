/* close: parameters become declared tensors.
 *
 *   w along (i)     =>  w[i] = init at i == 0, else update[i - 1]
 *   w along (i, k)  =>  w[i, k] = init at i == 0, k == 0; update[i, k - 1] at k >= 1;
 *                       update[i - 1, K - 1] otherwise (the lexicographic predecessor)
 *
 * Each parameter gets a hidden output, its value after the last point: the update there, or init
 * when some bound is 0. `init` goes through PINIT, which a loaded array replaces. The pass runs
 * after gradients are built, for which a parameter is a leaf. */
#include "opt/opt.h"

typedef struct {
  tp_graph *g;
  tp_node *p;
  tp_val init, update;
  tp_pos updated;
  int nrest;
  tp_sym *rest[TP_MAXDIM];
  tp_error *err;
} closing;

static bool is_along(const tp_node *p, tp_sym *d) {
  return tp_dom_has(p->attr.nalong, p->attr.along, d);
}

static tp_ix *moved(tp_sym *d, int64_t by) { return tp_ix_addc(tp_ix_sym(d), by); }

/* cond and d == there. */
static tp_ix *and_is(closing *c, tp_ix *cond, tp_sym *d, tp_cmp is, int64_t there) {
  tp_ictx *ix = c->g->ix;
  return tp_ix_and(cond, tp_ix_cmp(is, tp_ix_sym(d), tp_ix_const(ix, there)));
}

/* e read with dims lo .. hi-1 of `along` at the given indices. */
static tp_val read_at(closing *c, tp_val e, int lo, int hi, tp_ixs along_at) {
  if (!e.node) return e;
  tp_at *at = tp_at_own(c->g, e.node->ndom, e.node->dom);
  for (int d = 0; d < e.node->ndom; d++)
    for (int j = lo; j < hi; j++)
      if (c->p->attr.along[j] == e.node->dom[d]) at[d].lo = along_at[j];
  return tp_read(c->g, e, at, c->err);
}

/* An end by data is the end at the point of the read: the last point of an inner dim is taken
 * before an outer dim moves. */
static tp_val read_update(closing *c, tp_ixs along_at) {
  tp_val e = c->update;
  if (!c->g->stops.n) return read_at(c, e, 0, c->p->attr.nalong, along_at);
  for (int j = c->p->attr.nalong - 1; j >= 0; j--) e = read_at(c, e, j, j + 1, along_at);
  return e;
}

/* Adds the branch in which dim j of `along` steps and the dims inside it start anew. */
static bool step(closing *c, int j) {
  const tp_attr *a = &c->p->attr;
  tp_ix *cond = tp_ix_bool(c->g->ix, true), *at[TP_MAXDIM];
  for (int k = 0; k < a->nalong; k++) {
    tp_sym *d = a->along[k];
    at[k] = k > j ? moved(d->bound, -1) : moved(d, -(k == j));
    if (k >= j) cond = and_is(c, cond, d, k > j ? TP_EQ : TP_GE, k == j);
  }
  c->g->pos = c->updated.file ? c->updated : c->p->pos;
  tp_val e = read_update(c, at);
  return e.node && tp_merge_add(c->g, c->p, cond, e, c->err);
}

/* The node itself turns from PARAM to MERGE, so its readers stay as they are; the graph's list of
 * parameters keeps it, with attr.str, attr.along and its type. */
static bool evolution(closing *c) {
  const tp_attr *a = &c->p->attr;
  c->p->op = TP_OP_MERGE;
  c->p->nin = 0;
  tp_ix *first = tp_ix_bool(c->g->ix, true);
  for (int j = 0; j < a->nalong; j++) first = and_is(c, first, a->along[j], TP_EQ, 0);
  bool ok = tp_merge_add(c->g, c->p, first, c->init, c->err);
  for (int j = a->nalong - 1; j >= 0 && ok; j--) ok = step(c, j);
  return ok;
}

/* A parameter without `along` becomes its first value, a PINIT in its own place; one with `along`
 * but without an update becomes a view of init. */
static bool constant(closing *c, int k) {
  tp_node *p = c->p;
  p->op = p->attr.nalong ? TP_OP_DETACH : TP_OP_PINIT;
  if (p->attr.nalong) p->in[0].src = c->init;
  else p->attr.number = k;
  p->attr.nix = 0; /* its type says it */
  p->nin = 1;
  return true;
}

static tp_val after_the_last(closing *c) {
  if (!c->update.node) return c->init;
  const tp_attr *a = &c->p->attr;
  tp_mk mk = { .g = c->g, .err = c->err };
  tp_val m = mk_declared(mk, a->dtype, a->nix, a->ix, c->nrest, c->rest);
  tp_ix *ran = tp_ix_bool(c->g->ix, true), *at[TP_MAXDIM];
  for (int j = 0; j < a->nalong; j++) {
    at[j] = moved(a->along[j]->bound, -1);
    /* an end of at least 1 was reached if anything was given */
    const tp_stop *s = tp_stop_of(c->g, a->along[j]);
    ran = and_is(c, ran, s ? s->given : a->along[j]->bound, TP_GE, 1);
  }
  tp_val e = m.node ? read_update(c, at) : m;
  if (!e.node || !tp_merge_add(c->g, m.node, ran, e, c->err) ||
      !tp_merge_add(c->g, m.node, NULL, c->init, c->err))
    return tp_none;
  m.node->name = a->str;
  return m;
}

/* The last point along a dim that ends by data is that of its own point of the end's domain. */
static bool ends_known(tp_graph *g, const tp_node *p, tp_error *err) {
  for (int j = 0; j < p->attr.nalong; j++) {
    const tp_stop *s = tp_stop_of(g, p->attr.along[j]);
    for (int i = 0; s && i < s->ndom; i++) {
      if (!tp_has_dim(p, s->dom[i]))
        return tp_fail(err, TP_E_DOMAIN, p->pos,
            "domain: parameter '%s' evolves along '%s', which ends by data at each point of '%s': "
            "give it one state for each, domain = {%s}",
            p->attr.str, s->dim->name, s->dom[i]->name, s->dom[i]->name);
      if (is_along(p, s->dom[i]) && s->dom[i]->order > s->dim->order)
        return tp_fail(err, TP_E_DOMAIN, p->pos,
            "domain: parameter '%s' evolves along '%s' inside '%s', which ends by data at each "
            "point of '%s': make '%s' after it",
            p->attr.str, s->dom[i]->name, s->dim->name, s->dom[i]->name, s->dim->name);
    }
  }
  return true;
}

static bool close_one(tp_graph *g, int k, tp_error *err) {
  closing c = { .g = g, .p = g->params.v[k], .err = err };
  tp_node *p = c.p;
  if (!ends_known(g, p, err)) return false;
  for (int d = 0; d < p->ndom; d++)
    if (!is_along(p, p->dom[d])) c.rest[c.nrest++] = p->dom[d];
  if (p->nin > 1) {
    c.update = p->in[1].src;
    c.updated = p->in[1].pos;
  }
  g->pos = p->pos;
  c.init = tp_v(p);
  if (p->attr.nalong) {
    tp_attr ia = {
      .number = k, .dtype = p->attr.dtype, .str = p->attr.str, .ndom = c.nrest, .dom = c.rest
    };
    tp_node *init = tp_build(g, TP_OP_PINIT, 1, &p->in[0].src, &ia, err);
    if (!init) return false;
    c.init = tp_v(init);
  }
  if (!(p->attr.nalong && c.update.node ? evolution(&c) : constant(&c, k))) return false;
  tp_val end = after_the_last(&c);
  if (!end.node) return false;
  TP_PUSH(&g->arena, &g->outputs,
      (tp_output){ .name = p->attr.str, .val = end, .pos = p->pos, .hidden = true });
  return true;
}

/* In a graph that was read from the text of a closed one, parameters are closed already: no PARAM
 * is left, and the hidden outputs are there. */
bool tp_pass_params(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  int n = g->params.n;
  for (int k = 0; k < n; k++)
    if (g->params.v[k]->op == TP_OP_PARAM && !close_one(g, k, err)) return false;
  return true;
}
