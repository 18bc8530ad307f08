/* sweep: one reverse sweep through the graph.
 *
 * Only values on a way from a loss down to a requested tensor take part ("active"), and only points
 * that the losses need through such ways: the need is computed on a graph in which all other nodes
 * have lost their operands. If a reader is not needed at all points, its contribution has its
 * support as a condition.
 *
 * The adjoint of a value is either
 *   an ACCUM   over its domain, made before anything flows and filled as its readers come up: zero
 *              where nothing arrives. So adjoints of recurrences may be recurrences, and every
 *              cycle passes through one: it has a READ, a MERGE or an ACCUM, whose operands get one
 *   or direct  the sum of the parts of its readers, where identity edges in one domain join all of
 *              them to it and they are needed at the same points. It holds at these points only:
 *              whatever takes it further does so under a condition that implies them
 *
 * A reader passes its part on once its own adjoint is complete as a value: at once for an ACCUM,
 * after the last reader of its own for a direct one. */
#include "grad/rules.h"

typedef struct reader {
  tp_val by;
  int k;
  struct reader *next;
} reader; /* by's operand k */

typedef struct slot { /* one value */
  /* down: reached from a loss; up: reaches a requested tensor */
  bool down, up;
  bool accum;
  int pending; /* direct: parts still to come */
  reader *readers;
  tp_val adj;
} slot;

/* the points at which a node is needed, over its dims */
typedef struct support {
  bool known, full;
  tp_ix *cond;
} support;

typedef struct grad_sweep {
  tp_graph *g;
  tp_mk mk;
  const tp_aims *of;
  int n;       /* nodes before the sweep */
  slot **slot; /* by node id, one a result */
  support *support;
  tp_need *need;
  TP_VEC(tp_val) work;
} grad_sweep;

static slot *slot_of(grad_sweep *s, tp_val v) {
  slot **at = &s->slot[v.node->id];
  if (!*at) *at = TP_NEWN(&s->g->arena, slot, v.node->nout);
  return &(*at)[v.out];
}

static bool is_active(grad_sweep *s, tp_val v) {
  return v.node->id < s->n && slot_of(s, v)->down && slot_of(s, v)->up;
}

/* ---- which values take part ---- */

static void reach(grad_sweep *s, tp_val v, bool *flag) {
  if (*flag) return;
  *flag = true;
  TP_PUSH(&s->g->arena, &s->work, v);
}

static void go_down(grad_sweep *s, int n, const tp_val *from) {
  for (int i = 0; i < n; i++) reach(s, from[i], &slot_of(s, from[i])->down);
  while (s->work.n) {
    tp_val v = s->work.v[--s->work.n];
    for (int k = 0; k < v.node->nin; k++) {
      if (!tp_grad_passes(s->of, v, k)) continue;
      slot *x = slot_of(s, v.node->in[k].src);
      reader *r = TP_NEW(&s->g->arena, reader);
      *r = (reader){ v, k, x->readers };
      x->readers = r;
      reach(s, v.node->in[k].src, &x->down);
    }
  }
}

static void go_up(grad_sweep *s, int n, const tp_val *from) {
  for (int i = 0; i < n; i++) reach(s, from[i], &slot_of(s, from[i])->up);
  while (s->work.n)
    for (reader *r = slot_of(s, s->work.v[--s->work.n])->readers; r; r = r->next)
      reach(s, r->by, &slot_of(s, r->by)->up);
}

static bool any_active(grad_sweep *s, const tp_node *n) {
  for (int o = 0; o < n->nout; o++)
    if (is_active(s, (tp_val){ (tp_node *)n, o })) return true;
  return false;
}

/* ---- needed points ---- */

/* Computes needed points through active values only: all other nodes lose their operands
 * meanwhile. */
static bool compute_need(grad_sweep *s) {
  tp_graph *g = s->g;
  int *nin = TP_NEWN(&g->arena, int, s->n);
  for (int i = 0; i < s->n; i++) {
    tp_node *n = g->nodes.v[i];
    nin[i] = n->nin;
    if (!any_active(s, n) || tp_grad_leaf(s->of, tp_v(n))) n->nin = 0;
  }
  s->need = tp_need_compute(g, s->of->nloss, s->of->loss, s->mk.err);
  for (int i = 0; i < s->n; i++) g->nodes.v[i]->nin = nin[i];
  return s->need;
}

static support *support_of(grad_sweep *s, const tp_node *n) {
  support *p = &s->support[n->id];
  if (p->known) return p;
  tp_ictx *c = s->g->ix;
  tp_set *set = s->need->set[n->id],
         *box = tp_set_reached(s->g, tp_set_box(c, n->ndom, n->dom), n->ndom, n->dom);
  p->known = true;
  p->full = set && tp_set_subset(c, box, set);
  p->cond = p->full   ? NULL
      : s->g->stops.n ? tp_set_told(c, n->ndom, n->dom, set, tp_set_copy(box))
                      : tp_set_to_cond(c, n->ndom, n->dom, set, true);
  tp_set_free(box);
  return p;
}

static bool same_points(grad_sweep *s, const tp_node *a, const tp_node *b) {
  tp_set *x = s->need->set[a->id], *y = s->need->set[b->id];
  if (x == y || !x || !y) return x == y;
  x = tp_set_copy(x), y = tp_set_copy(y);
  if (s->g->stops.n) {
    x = tp_set_reached(s->g, x, a->ndom, a->dom);
    y = tp_set_reached(s->g, y, b->ndom, b->dom);
  }
  bool same = tp_set_equal(s->g->ix, x, y);
  tp_set_free(x);
  tp_set_free(y);
  return same;
}

static bool timed(const tp_node *n) {
  return n->op == TP_OP_READ || n->op == TP_OP_MERGE || n->op == TP_OP_ACCUM;
}

/* ---- the shape of the sweep: accumulations made, parts counted ---- */

/* Must v's adjoint be an ACCUM? The adjoint of an ACCUM must be total, as it is read at all points
 * of index maps, needed or not. */
static bool wants_accum(grad_sweep *s, tp_val v) {
  for (reader *r = slot_of(s, v)->readers; r; r = r->next) {
    const tp_node *n = r->by.node;
    if (is_active(s, r->by) &&
        (timed(n) || n->nout > 1 || !tp_dom_same(n->ndom, n->dom, v.node->ndom, v.node->dom) ||
            !same_points(s, n, v.node)))
      return true;
  }
  return v.node->op == TP_OP_ACCUM && !support_of(s, v.node)->full;
}

static const char *grad_of(grad_sweep *s, const tp_node *n) {
  return tp_printf(&s->g->arena, "grad of %s", tp_title(&s->g->arena, n));
}

static tp_val accumulation(grad_sweep *s, tp_val v) {
  const tp_node *n = v.node;
  const tp_out *o = tp_outof(v);
  s->g->pos = n->pos;
  tp_val y = mk_op(s->mk, TP_OP_ACCUM, 0, NULL,
      &(tp_attr){ .dtype = o->dtype,
          .nix = o->rank,
          .ix = o->shape,
          .ndom = n->ndom,
          .dom = n->dom,
          .red = TP_RED_SUM });
  if (y.node) y.node->what = grad_of(s, n);
  return y;
}

static bool lay_out(grad_sweep *s, tp_val v) {
  slot *x = slot_of(s, v);
  x->accum = wants_accum(s, v);
  for (reader *r = x->readers; r; r = r->next) x->pending += is_active(s, r->by);
  if (!x->accum) return true;
  x->adj = accumulation(s, v);
  TP_PUSH(&s->g->arena, &s->work, v);
  return x->adj.node;
}

/* ---- parts ---- */

/* Adds a part to v's ACCUM at `at`, from a reader n (NULL: everywhere), under cond; adds nothing if
 * cond never holds. */
static bool contribute(grad_sweep *s, tp_val v, const tp_node *n, tp_edge e) {
  if (!e.src.node) return false;
  if (n) e.cond = tp_ix_both(e.cond, support_of(s, n)->cond);
  if (e.cond && tp_ix_kind(e.cond) == TP_IX_FALSE) return true;
  if (e.cond && tp_ix_kind(e.cond) == TP_IX_TRUE) e.cond = NULL;
  e.pos = s->g->pos;
  return tp_accum_add(s->g, slot_of(s, v)->adj.node, e, s->mk.err);
}

/* Adds a part d at the points of n, whose dims contain v's, summed over the dims that v lacks. */
static bool deliver(grad_sweep *s, tp_val v, const tp_node *n, tp_val d) {
  slot *x = slot_of(s, v);
  const tp_at *own = tp_at_own(s->g, v.node->ndom, v.node->dom);
  if (x->accum || !d.node) return contribute(s, v, n, (tp_edge){ .src = d, .at = own });
  x->adj = x->adj.node ? mk_add(s->mk, x->adj, d) : d;
  if (--x->pending == 0) TP_PUSH(&s->g->arena, &s->work, v);
  return x->adj.node;
}

/* Passes dy to branch k at the points at which it is the first that holds. */
static bool through_merge(grad_sweep *s, tp_val v, const tp_node *n, int k, tp_val dy) {
  tp_set *first = tp_branch_set(s->g, n, k);
  tp_ix *cond = tp_set_to_cond(s->g->ix, n->ndom, n->dom, first, true);
  tp_set_free(first);
  if (!cond)
    return tp_isl_check(s->g->ix, n->pos, s->mk.err) &&
        tp_fail(s->mk.err, TP_E_OPTION, n->pos, "option: no condition for branch %d", k);
  const tp_at *own = tp_at_own(s->g, v.node->ndom, v.node->dom);
  return contribute(s, v, n, (tp_edge){ .src = dy, .at = own, .cond = cond });
}

/* y[u] += x[p], u in at(p): dx[p] is dy read at at(p). x may have dims that at(p) does not mention.
 */
static bool through_scatter(grad_sweep *s, tp_val v, const tp_edge *e, tp_val dy) {
  tp_val d = tp_read(s->g, dy, e->at, s->mk.err);
  const tp_at *own = d.node ? tp_at_own(s->g, d.node->ndom, d.node->dom) : NULL;
  return contribute(s, v, NULL, (tp_edge){ .src = d, .at = own, .gather = true, .cond = e->cond });
}

/* dy with the extents of at's ranges in front of its axes, so that a scatter can spread it. */
static tp_val over_ranges(grad_sweep *s, const tp_node *n, const tp_edge *e, tp_val dy) {
  tp_ix *shape[2 * TP_MAXRANK];
  int rank = 0;
  for (int i = 0; i < e->src.node->ndom && rank < TP_MAXRANK; i++)
    if (e->at[i].range) shape[rank++] = tp_ix_extent(e->at[i].lo, e->at[i].hi, n->ndom, n->dom);
  if (!rank) return dy;
  for (int i = 0; i < tp_rankof(dy); i++) shape[rank++] = mk_extent(dy, i);
  return mk_expand(s->mk, dy, rank, shape);
}

/* Makes e go from points (u, p) instead of u, for the dims of p over which it ranges and of which
 * its condition picks points (a dim of both is the node's): p runs over them, and the ends of their
 * ranges become further conditions. */
static tp_val run_picked(grad_sweep *s, const tp_node *n, tp_edge *e, tp_val dy) {
  const tp_node *x = e->src.node;
  tp_sym *run[x->ndom + 1];
  tp_at *at = tp_dup(&s->g->arena, e->at, sizeof *at * (size_t)x->ndom);
  tp_ix *cond = e->cond;
  int m = 0;
  for (int i = 0; cond && i < x->ndom; i++) {
    tp_sym *d = x->dom[i];
    if (!at[i].range || !tp_ix_mentions(e->cond, d) || tp_has_dim(n, d)) continue;
    tp_ix *p = tp_ix_sym(d);
    cond = tp_ix_and(cond, tp_ix_and(tp_ix_cmp(TP_GE, p, at[i].lo), tp_ix_cmp(TP_LT, p, at[i].hi)));
    at[i] = (tp_at){ .lo = p };
    run[m++] = d;
  }
  e->at = at;
  e->cond = cond;
  return m ? mk_add(s->mk, dy, mk_fill(s->mk, 0, tp_dtypeof(dy), 0, NULL, m, run)) : dy;
}

/* y[u] += x[p], p in at(u): dx[p] += dy[u]. A condition on p is one on u where p is a point of u.
 */
static bool through_gather(
    grad_sweep *s, tp_val v, const tp_node *n, const tp_edge *edge, tp_val dy) {
  tp_edge e = *edge;
  const tp_node *x = e.src.node;
  tp_sym *from[x->ndom + 1];
  tp_ix *to[x->ndom + 1];
  int m = 0;
  for (int i = 0; e.cond && i < x->ndom; i++) {
    if (e.at[i].range || tp_has_dim(n, x->dom[i])) continue;
    from[m] = x->dom[i];
    to[m++] = e.at[i].lo;
  }
  if (m) e.cond = tp_ix_subst(e.cond, m, from, to);
  tp_val d = run_picked(s, n, &e, dy);
  if (!d.node) return false;
  d = over_ranges(s, d.node, &e, d);
  return contribute(s, v, n, (tp_edge){ .src = d, .at = e.at, .cond = e.cond });
}

static bool pass(grad_sweep *s, tp_val y, int k) {
  const tp_node *n = y.node;
  const tp_edge *e = &n->in[k];
  tp_val x = e->src, dy = slot_of(s, y)->adj;
  switch (n->op) {
  case TP_OP_READ: /* y = x[at]: dx[u] += dy[p] at every u that p read */
    return contribute(s, x, n, (tp_edge){ .src = dy, .at = n->attr.at });
  case TP_OP_MERGE: return through_merge(s, x, n, k, dy);
  case TP_OP_ACCUM:
    return e->gather ? through_gather(s, x, n, e, dy) : through_scatter(s, x, e, dy);
  default: return deliver(s, x, n, tp_vjp_of(n->op)(s->mk, n, k, dy));
  }
}

static bool pass_all(grad_sweep *s, tp_val y) {
  s->g->pos = y.node->pos;
  for (int k = 0; k < y.node->nin; k++)
    if (tp_grad_passes(s->of, y, k) && is_active(s, y.node->in[k].src) && !pass(s, y, k))
      return false;
  return true;
}

/* ---- the whole ---- */

/* A loss counts as the sum over all its points and elements, so its own part is 1 everywhere. */
static bool seed(grad_sweep *s, tp_val loss) {
  s->g->pos = loss.node->pos;
  const tp_out *o = tp_outof(loss);
  return deliver(s, loss, loss.node,
      mk_fill(s->mk, 1, o->dtype, o->rank, o->shape, loss.node->ndom, loss.node->dom));
}

static bool flow(grad_sweep *s) {
  const tp_val *loss = s->of->loss;
  for (int i = 0; i < s->of->nloss; i++)
    if (is_active(s, loss[i])) slot_of(s, loss[i])->pending++;
  for (int i = 0; i < s->n; i++)
    for (int o = 0; s->slot[i] && o < s->g->nodes.v[i]->nout; o++) {
      tp_val v = { s->g->nodes.v[i], o };
      if (is_active(s, v) && !lay_out(s, v)) return false;
    }
  for (int i = 0; i < s->of->nloss; i++)
    if (is_active(s, loss[i]) && !seed(s, loss[i])) return false;
  for (int i = 0; i < s->work.n; i++)
    if (!pass_all(s, s->work.v[i])) return false;
  return true;
}

static tp_val finished(grad_sweep *s, tp_val v) {
  s->g->pos = v.node->pos;
  if (!is_active(s, v))
    return mk_fill(
        s->mk, 0, tp_dtypeof(v), tp_rankof(v), tp_outof(v)->shape, v.node->ndom, v.node->dom);
  slot *x = slot_of(s, v);
  tp_ix *cond = support_of(s, v.node)->cond;
  if (x->accum || !cond) return x->adj;
  tp_val total = accumulation(s, v), part = x->adj;
  if (!total.node) return total;
  x->adj = total;
  const tp_at *own = tp_at_own(s->g, v.node->ndom, v.node->dom);
  return contribute(s, v, v.node, (tp_edge){ .src = part, .at = own }) ? total : tp_none;
}

static bool run(grad_sweep *s, int nwrt, const tp_val *wrt, tp_val *out, bool *reached) {
  go_down(s, s->of->nloss, s->of->loss);
  go_up(s, nwrt, wrt);
  if (!compute_need(s) || !flow(s)) return false;
  for (int i = 0; i < nwrt; i++) {
    slot *x = slot_of(s, wrt[i]);
    reached[i] = is_active(s, wrt[i]);
    tp_val before = x->adj;
    if (!(out[i] = finished(s, wrt[i])).node) return false;
    if (!out[i].node->what) out[i].node->what = grad_of(s, wrt[i].node);
    x->adj = before;
  }
  for (int i = s->n; i < s->g->nodes.n; i++) {
    tp_node *n = s->g->nodes.v[i];
    if (!n->what) n->what = tp_printf(&s->g->arena, "grad %s", tp_title(&s->g->arena, n));
  }
  return tp_isl_check(s->g->ix, s->g->pos, s->mk.err);
}

static void drop(void *s) { tp_need_free(((grad_sweep *)s)->need); }

bool tp_grad_sweep(tp_graph *g, const tp_aims *of, int nwrt, const tp_val *wrt, tp_val *out,
    bool *reached, tp_error *err) {
  grad_sweep s = { .g = g, .mk = { .g = g, .err = err }, .of = of, .n = g->nodes.n };
  s.slot = TP_NEWN(&g->arena, slot *, s.n);
  s.support = TP_NEWN(&g->arena, support, s.n);
  tp_hold mine;
  tp_hold_set(&mine, drop, &s);
  bool ok = run(&s, nwrt, wrt, out, reached);
  tp_hold_end(&mine);
  drop(&s);
  return ok;
}
