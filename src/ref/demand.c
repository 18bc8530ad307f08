/* demand.c: demands the points of its operands that a cell needs. */
#include "ref/machine.h"

/* Fails, as the cells in work from the top of the stack to c need each other; names the first that
 * has one. */
static bool cycle(ref *r, tp_cell *c) {
  tp_cell *who = c;
  for (int k = r->stack.n - 1; k >= 0 && r->stack.v[k] != c && !who->node->name; k--)
    if (r->stack.v[k]->state == CELL_WORK && r->stack.v[k]->node->name) who = r->stack.v[k];
  return tp_fail(r->err, TP_E_CYCLE, who->node->pos, "%s%s needs itself", ref_label(r, who->node),
      ref_where(r, who->node, ref_at(who)));
}

static bool outside(ref *r, tp_cell *by, const tp_node *n, int k, int64_t at) {
  return tp_fail(r->err, TP_E_DOMAIN, by->node->pos,
      "%s is read at %s = %lld, outside 0 .. %s-1 (%s = %lld), by %s%s", ref_label(r, n),
      n->dom[k]->name, (long long)at, n->dom[k]->bound->name, n->dom[k]->bound->name,
      (long long)ref_bound(r, n->dom[k]), ref_label(r, by->node),
      ref_where(r, by->node, ref_at(by)));
}

bool ref_want(ref *r, tp_cell *c) {
  if (c->state == CELL_DONE) return true;
  if (c->state == CELL_WORK) return cycle(r, c);
  TP_PUSH(&r->arena, &r->stack, c);
  return r->waiting = true;
}

static bool ended(ref *r, tp_cell *by, const tp_node *n, int which, const int64_t *at) {
  return tp_fail(r->err, TP_E_DOMAIN, by->node->pos, "%s is read%s, where '%s' has ended, by %s%s",
      ref_label(r, n), ref_where(r, n, at), r->ending[which].stop->dim->name,
      ref_label(r, by->node), ref_where(r, by->node, ref_at(by)));
}

bool ref_demand(ref *r, tp_cell *by, tp_val v, const int64_t *at, int64_t row) {
  const tp_node *n = v.node;
  int which = 0;
  for (int k = 0; k < n->ndom; k++)
    if (at[k] < 0 || at[k] >= ref_bound(r, n->dom[k])) return outside(r, by, n, k, at[k]);
  ref_answer alive = ref_alive(r, by, n->ndom, n->dom, at, &which);
  if (alive == REF_NO) return ended(r, by, n, which, at);
  if (alive != REF_YES) return alive == REF_WAIT;
  tp_cell *c = ref_cell(r, n, at);
  TP_PUSH(&r->arena, &r->ops, (ref_op){ c, v.out, row });
  return ref_want(r, c);
}

bool ref_demand_here(ref *r, tp_cell *by, tp_val v) {
  int64_t at[TP_MAXDIM];
  for (int k = 0; k < v.node->ndom; k++) at[k] = r->env[v.node->dom[k]->id];
  return ref_demand(r, by, v, at, 0);
}

static void box_of(ref *r, int n, const tp_at *at, int64_t *lo, int64_t *hi) {
  for (int k = 0; k < n; k++) {
    lo[k] = tp_ix_evalq(at[k].lo, r->env);
    hi[k] = at[k].range ? tp_ix_evalq(at[k].hi, r->env) : lo[k] + 1;
  }
}

static bool demand_read(ref *r, tp_cell *c) {
  tp_val v = c->node->in[0].src;
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], at[TP_MAXDIM];
  box_of(r, v.node->ndom, c->node->attr.at, lo, hi);
  REF_EACH (v.node->ndom, lo, hi, at)
    if (!ref_demand(r, c, v, at, 0)) return false;
  return true;
}

int ref_branch(const ref *r, const tp_node *n) {
  for (int k = 0; k < n->nin; k++) {
    tp_ix *cond = n->in[k].cond;
    if (!cond || tp_ix_evalq(cond, r->env)) return k;
  }
  return -1;
}

static bool demand_branch(ref *r, tp_cell *c) {
  int k = ref_branch(r, c->node);
  return k < 0 ? ref_fail(r, c, TP_E_UNDEFINED, "no branch matches")
               : ref_demand_here(r, c, c->node->in[k].src);
}

/* Cuts the box to the domain: a map counts only inside. */
static void clip(ref *r, const tp_node *n, int64_t *lo, int64_t *hi) {
  for (int k = 0; k < n->ndom; k++) {
    lo[k] = TP_MAX(lo[k], 0);
    hi[k] = TP_MIN(hi[k], ref_bound(r, n->dom[k]));
  }
}

/* env: a point of the operand. Finds the first element of the row that c takes; each range of the
 * map consumes a leading axis. */
static bool scatter_row(ref *r, tp_cell *c, const tp_edge *e, int64_t *row) {
  const tp_out *o = tp_outof(e->src);
  const int64_t *u = ref_at(c);
  int axis = 0;
  *row = 0;
  for (int k = 0; k < c->node->ndom; k++) {
    if (!e->at[k].range) continue;
    int64_t extent = tp_ix_evalq(o->shape[axis++], r->env),
            i = u[k] - tp_ix_evalq(e->at[k].lo, r->env);
    if (i < 0 || i >= extent)
      return ref_fail(r, c, TP_E_SHAPE, "a contribution has no row %lld of %lld", (long long)i,
          (long long)extent);
    *row = *row * extent + i;
  }
  for (; axis < o->rank; axis++) *row *= tp_ix_evalq(o->shape[axis], r->env);
  return true;
}

/* Is e the dim shifted by a number that bounds give? */
static bool is_shifted(ref *r, tp_ix *e, tp_sym *dim, int64_t *by) {
  int64_t k;
  tp_ix *rest;
  bool yes = e && tp_ix_linear_in(e, dim, &k, &rest) && k == 1 && tp_ix_of_bounds(rest) &&
      !tp_mentions_end(r->g, rest);
  if (yes) *by = tp_ix_evalq(rest, r->env);
  return yes;
}

/* The box of the operand's points that may add to c: solves for dims that the map shifts. */
static void sources_of(ref *r, tp_cell *c, const tp_edge *e, int64_t *lo, int64_t *hi) {
  const tp_node *m = e->src.node;
  for (int d = 0; d < m->ndom; d++) {
    lo[d] = 0;
    hi[d] = ref_bound(r, m->dom[d]);
    for (int j = 0; j < c->node->ndom; j++) {
      const tp_at *at = &e->at[j];
      int64_t u = ref_at(c)[j], by;
      if (is_shifted(r, at->lo, m->dom[d], &by)) {
        hi[d] = TP_MIN(hi[d], u - by + 1);
        if (!at->range) lo[d] = TP_MAX(lo[d], u - by);
      }
      if (at->range && is_shifted(r, at->hi, m->dom[d], &by)) lo[d] = TP_MAX(lo[d], u - by + 1);
    }
  }
}

/* Does the map or the operand's shape mention this end? */
static bool contribution_asks(const tp_node *n, const tp_edge *e, tp_sym *end) {
  tp_node probe = { .op = TP_OP_ACCUM,
    .ndom = n->ndom,
    .nin = 1,
    .in = (tp_edge *)e,
    .nout = e->src.node->nout,
    .out = e->src.node->out };
  return tp_node_mentions(&probe, end);
}

/* env: a point of the operand. Does its image hold c's? Looks only at parts without ends unless
 * these are known. */
static bool reaches(ref *r, tp_cell *c, const tp_edge *e, bool known) {
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM];
  tp_ix *cond = !e->cond || known ? e->cond : tp_end_parts(r->g, e->cond, false);
  if (cond && !tp_ix_evalq(cond, r->env)) return false;
  box_of(r, c->node->ndom, e->at, lo, hi);
  for (int k = 0; k < c->node->ndom; k++) {
    bool clear = known ||
        !(tp_mentions_end(r->g, e->at[k].lo) ||
            (e->at[k].range && tp_mentions_end(r->g, e->at[k].hi)));
    if (clear && (ref_at(c)[k] < lo[k] || ref_at(c)[k] >= hi[k])) return false;
  }
  return true;
}

/* Demands a point if it counts. Asks whether it is alive before the ends in the map are known. */
static bool demand_from(ref *r, tp_cell *c, const tp_edge *e, const int64_t *at, bool asks) {
  const tp_node *m = e->src.node;
  int64_t row;
  ref_point(r, m, at);
  if (!reaches(r, c, e, !asks)) return true;
  ref_answer x = ref_alive(r, c, m->ndom, m->dom, at, NULL);
  if (x != REF_YES) return x != REF_FAILED;
  for (int i = 0; asks && i < r->g->stops.n; i++)
    if (contribution_asks(c->node, e, r->ending[i].stop->dim->bound) &&
        !ref_want_end(r, &r->ending[i]))
      return false;
  if (asks && r->waiting) return true;
  return (asks && !reaches(r, c, e, true)) ||
      (scatter_row(r, c, e, &row) && ref_demand(r, c, e->src, at, row));
}

static bool demand_scatter(ref *r, tp_cell *c, int k) {
  const tp_edge *e = &c->node->in[k];
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], at[TP_MAXDIM];
  bool asks = false;
  for (int i = 0; i < r->g->stops.n; i++)
    asks |= contribution_asks(c->node, e, r->g->stops.v[i].dim->bound);
  sources_of(r, c, e, lo, hi);
  REF_EACH (e->src.node->ndom, lo, hi, at) {
    if (!demand_from(r, c, e, at, asks)) return false;
    if (asks && r->waiting) return true;
  }
  return true;
}

static bool demand_gather(ref *r, tp_cell *c, int k) {
  const tp_edge *e = &c->node->in[k];
  const tp_node *m = e->src.node;
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], at[TP_MAXDIM];
  ref_point(r, c->node, ref_at(c));
  box_of(r, m->ndom, e->at, lo, hi);
  clip(r, m, lo, hi);
  REF_EACH (m->ndom, lo, hi, at) {
    ref_answer x = ref_seek(r, c, m->ndom, m->dom, lo, hi, at);
    if (x != REF_YES) return x != REF_FAILED;
    ref_point(r, m, at);
    ref_point(r, c->node, ref_at(c)); /* a dim of both is the node's in cond */
    if ((!e->cond || tp_ix_evalq(e->cond, r->env)) && !ref_demand(r, c, e->src, at, 0))
      return false;
  }
  return true;
}

static bool demand_accum(ref *r, tp_cell *c) {
  for (int k = 0; k < c->node->nin; k++)
    if (!(c->node->in[k].gather ? demand_gather : demand_scatter)(r, c, k)) return false;
  return true;
}

/* A loaded parameter takes the place of its init. */
static bool demand_init(ref *r, tp_cell *c) {
  tp_array *const *loaded = r->run->params;
  return (loaded && loaded[c->node->attr.number]) || ref_demand_here(r, c, c->node->in[0].src);
}

bool ref_demand_operands(ref *r, tp_cell *c) {
  ref_point(r, c->node, ref_at(c));
  if (!ref_demand_ends(r, c->node)) return false;
  if (r->waiting) return true;
  ref_point(r, c->node, ref_at(c));
  switch (c->node->op) {
  case TP_OP_READ: return demand_read(r, c);
  case TP_OP_MERGE: return demand_branch(r, c);
  case TP_OP_ACCUM: return demand_accum(r, c);
  case TP_OP_PINIT: return demand_init(r, c);
  default: break;
  }
  for (int k = 0; k < c->node->nin; k++)
    if (!ref_demand_here(r, c, c->node->in[k].src)) return false;
  return true;
}
