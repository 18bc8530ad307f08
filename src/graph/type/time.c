/* time: infers READ, MERGE, ACCUM, PARAM and PINIT, and adds branches, updates and
 * contributions. */
#include "graph/core.h"

bool tp_affine(tp_ix *e) {
  if (!tp_ix_is_cond(e)) return tp_ix_is_affine(e);
  for (int i = 0; i < tp_ix_narg(e); i++)
    if (!tp_affine(tp_ix_arg(e, i))) return false;
  return true;
}

static bool not_affine(tp_typing q, tp_ix *e, const char *use, const tp_node *of) {
  return tp_fail(q.err, TP_E_AFFINE, q.pos,
      "%s %s of %s is not affine (a product of dims or bounds is a size, not an index)", use,
      tp_ix_str(e), tp_called(q.g, of));
}

/* ---- index maps ---- */

/* Checks that at has one entry a dim of x. */
static bool at_ok(tp_typing q, const tp_node *x, const tp_at *at) {
  for (int i = 0; i < x->ndom; i++)
    for (int end = 0; end <= at[i].range; end++) {
      tp_ix *e = end ? at[i].hi : at[i].lo;
      if (!e)
        return tp_fail(q.err, TP_E_DOMAIN, q.pos, "%s is read without an index for dim '%s'",
            tp_called(q.g, x), x->dom[i]->name);
      if (tp_ix_is_cond(e))
        return tp_fail(q.err, TP_E_AFFINE, q.pos, "dim '%s' of %s is indexed by a condition",
            x->dom[i]->name, tp_called(q.g, x));
      if (!tp_affine(e)) return not_affine(q, e, end ? "end" : "index", x);
    }
  return true;
}

/* An extent may mention an end only where it is the end at this very point. */
static bool ends_stay(tp_typing q, tp_ix *e, const tp_node *x, const tp_at *at) {
  TP_EACH (const tp_stop, s, q.g->stops)
    if (tp_ix_mentions(e, s->sym) && !tp_at_stays(x, at, s))
      return tp_fail(q.err, TP_E_RAGGED, q.pos,
          "the extent %s of %s is another at each point of the dims of which '%s' is a function: "
          "reduce or pad first",
          tp_ix_str(e), tp_called(q.g, x), s->dim->bound->name);
  return true;
}

/* Refuses a range over a dim of an end's domain if the operand still has the dim that ends: it
 * would put rows of unequal lengths side by side. */
static bool rows_even(tp_typing q) {
  const tp_node *x = tp_in(q.n, 0);
  TP_EACH (const tp_stop, s, q.g->stops) {
    tp_sym *along = NULL;
    bool has = false;
    for (int d = 0; d < x->ndom; d++) {
      const tp_at *at = &q.n->attr.at[d];
      if (at->range && tp_dom_has(s->ndom, s->dom, x->dom[d])) along = x->dom[d];
      if (x->dom[d] == s->dim)
        has = at->range || tp_ix_mentions(at->lo, s->dim) || tp_ix_mentions(at->lo, s->dim->bound);
    }
    if (along && has)
      return tp_fail(q.err, TP_E_RAGGED, q.pos,
          "a range over '%s' of %s, which has dim '%s', and that ends by data at each "
          "point of '%s': reduce over '%s' first, "
          "as in x[0 .. %s]:sum(0)[0 .. %s]:sum(0)",
          along->name, tp_called(q.g, x), s->dim->name, along->name, s->dim->name,
          s->dim->bound->name, along->bound->name);
  }
  return true;
}

/* out: extents with x's dims replaced by at's points, canonical on the dims of `to`. A range has no
 * single point: the result would be ragged. */
static bool through(tp_typing q, int rank, tp_ixs shape, const tp_node *x, const tp_at *at,
    const tp_node *to, tp_ix **out) {
  tp_sym *from[x->ndom + 1];
  tp_ix *by[x->ndom + 1];
  int m = 0;
  for (int i = 0; i < x->ndom; i++) {
    if (!at[i].range) from[m] = x->dom[i], by[m++] = at[i].lo;
    for (int a = 0; at[i].range && a < rank; a++)
      if (tp_ix_mentions(shape[a], x->dom[i]))
        return tp_fail(q.err, TP_E_RAGGED, q.pos,
            "a range over '%s' of %s, whose shape depends on it (extent (%s)): reduce or "
            "pad first",
            x->dom[i]->name, tp_called(q.g, x), tp_ix_str(shape[a]));
  }
  for (int a = 0; a < rank; a++) {
    if (!ends_stay(q, shape[a], x, at)) return false;
    out[a] = tp_ix_simplify(tp_ix_subst(shape[a], m, from, by), to->ndom, to->dom);
  }
  return true;
}

static bool infer_read(tp_typing q) {
  const tp_node *x = tp_in(q.n, 0);
  const tp_out *o = tp_inof(q.n, 0);
  const tp_at *at = q.n->attr.at;
  tp_ix *shape[TP_MAXRANK];
  int ranges = 0, rank = 0;
  if (!at_ok(q, x, at) || !rows_even(q)) return false;
  for (int i = 0; i < x->ndom; i++) ranges += at[i].range;
  if (!tp_rank_ok(q, ranges + o->rank)) return false;
  for (int i = 0; i < x->ndom; i++)
    if (at[i].range) shape[rank++] = tp_ix_extent(at[i].lo, at[i].hi, q.n->ndom, q.n->dom);
  return through(q, o->rank, o->shape, x, at, q.n, shape + rank) &&
      tp_out1(q, o->dtype, rank + o->rank, shape);
}

/* ---- declared tensors ---- */

/* Are the shapes equal at `points` over q.n's dims (NULL: everywhere)? */
static bool shapes_equal(tp_typing q, int rank, tp_ixs a, tp_ixs b, TP_KEEP tp_set *points) {
  int i = 0;
  while (i < rank &&
      (a[i] == b[i] ||
          tp_extent_eq_on(
              q.g, a[i], b[i], q.n->ndom, q.n->dom, tp_set_copy(points), tp_label(q.n))))
    i++;
  return i == rank;
}

static bool same_dtype(tp_typing q, const char *what, const tp_edge *e) {
  tp_dtype want = q.n->attr.dtype, have = tp_dtypeof(e->src);
  return want == have ||
      tp_fail(q.err, TP_E_DTYPE, q.pos, "the %s of %s is %s, declared %s: convert with :to(\"%s\")",
          what, tp_called(q.g, q.n), tp_dtype_name(have), tp_dtype_name(want), tp_dtype_name(want));
}

static bool shape_differs(tp_typing q, const char *what, const tp_edge *e) {
  const tp_out *o = tp_outof(e->src);
  return tp_fail(q.err, TP_E_SHAPE, q.pos, "the %s of %s has shape (%s), declared (%s)", what,
      tp_called(q.g, q.n), tp_extents(q.g, o->rank, o->shape),
      tp_extents(q.g, q.n->attr.nix, q.n->attr.ix));
}

static bool lies_inside(tp_typing q, const char *what, const tp_edge *e) {
  for (int i = 0; i < e->src.node->ndom; i++) {
    tp_sym *d = e->src.node->dom[i];
    if (tp_has_dim(q.n, d)) continue;
    const char *it = tp_called(q.g, q.n), *end = d->bound ? d->bound->name : "...";
    return tp_fail(q.err, TP_E_DOMAIN, q.pos,
        "the %s of %s depends on dim '%s', which %s lacks: declare %s with '%s' in its domain, "
        "read "
        "at one point, x[{%s = 0}], or reduce a range, x[{%s = 0 .. %s}]:sum(0)",
        what, it, d->name, it, it, d->name, d->name, d->name, end);
  }
  return true;
}

/* Finds dims that a condition fixes by equalities in which they have the coefficient 1 or -1. */
static int find_fixed(tp_typing q, tp_ix *cond, tp_sym **from, tp_ix **to) {
  tp_ix *x, *rest;
  int64_t k;
  int n = 0;
  for (int i = 0; (x = tp_ix_conjunct(cond, i)); i++)
    for (int d = 0; tp_ix_kind(x) == TP_IX_EQ0 && d < q.n->ndom; d++) {
      tp_sym *s = q.n->dom[d];
      if (tp_dom_has(n, from, s) || !tp_ix_linear_in(tp_ix_arg(x, 0), s, &k, &rest) ||
          (k != 1 && k != -1))
        continue;
      from[n] = s;
      to[n++] = k == 1 ? tp_ix_neg(rest) : rest;
      break;
    }
  return n;
}

/* Checks that shapes agree where the branch matches: with the dims that it fixes put in, or at its
 * very points. */
static bool branch_shape(tp_typing q, int k) {
  const tp_out *o = tp_inof(q.n, k);
  tp_ix *a[TP_MAXRANK], *b[TP_MAXRANK], *to[TP_MAXDIM];
  tp_sym *from[TP_MAXDIM];
  if (o->rank != q.n->attr.nix) return false;
  int fixed = find_fixed(q, q.n->in[k].cond, from, to);
  bool dims = false;
  for (int i = 0; i < o->rank; i++) {
    a[i] = tp_ix_subst(o->shape[i], fixed, from, to);
    b[i] = tp_ix_subst(q.n->attr.ix[i], fixed, from, to);
    dims |= a[i] != b[i] && (tp_moves(q.n, a[i]) || tp_moves(q.n, b[i]));
  }
  tp_set *points = dims ? tp_branch_set(q.g, q.n, k) : NULL;
  bool ok = shapes_equal(q, o->rank, a, b, points);
  tp_set_free(points);
  return ok;
}

static bool cond_ok(tp_typing q, tp_ix *cond) {
  tp_dims syms;
  int ns = tp_ix_syms(cond, &syms);
  for (int i = 0; i < ns; i++) {
    if (syms[i]->kind != TP_SYM_BOUND && !tp_has_dim(q.n, syms[i]))
      return tp_fail(q.err, TP_E_DOMAIN, q.pos,
          "a branch of %s has a condition on '%s', which is not in its domain", tp_called(q.g, q.n),
          syms[i]->name);
    if (!tp_end_known(q.g, syms[i], q.n->ndom, q.n->dom))
      return tp_fail(q.err, TP_E_DOMAIN, q.pos,
          "a branch of %s has a condition on '%s', which is another at each point of dims that %s "
          "lacks",
          tp_called(q.g, q.n), syms[i]->name, tp_called(q.g, q.n));
  }
  return tp_affine(cond) || not_affine(q, cond, "condition", q.n);
}

static bool branch_ok(tp_typing q, int k) {
  const tp_edge *e = &q.n->in[k];
  q.pos = e->pos;
  if ((e->cond && !cond_ok(q, e->cond)) || !same_dtype(q, "branch", e)) return false;
  return branch_shape(q, k) ? lies_inside(q, "branch", e) : shape_differs(q, "branch", e);
}

static bool infer_declared(tp_typing q) {
  return tp_rank_ok(q, q.n->attr.nix) && tp_out1(q, q.n->attr.dtype, q.n->attr.nix, q.n->attr.ix);
}

static bool infer_merge(tp_typing q) {
  if (!infer_declared(q)) return false;
  for (int k = 0; k < q.n->nin; k++)
    if (!branch_ok(q, k)) return false;
  return true;
}

/* Does an edge from e fit into the graph? */
static bool operand_ok(tp_typing q, tp_val e) {
  if (!e.node) return tp_fail(q.err, TP_E_OPTION, q.pos, "a right side is missing");
  return tp_is_node(q.g, e.node) ||
      tp_fail(q.err, TP_E_OPTION, q.pos, "'%s' belongs to another program", tp_label(e.node));
}

bool tp_merge_add(tp_graph *g, tp_node *m, tp_ix *cond, tp_val e, tp_error *err) {
  tp_typing q = { g, m, err, g->pos };
  if (!operand_ok(q, e)) return false;
  if (m->done)
    return tp_fail(err, TP_E_UNDEFINED, g->pos,
        "this branch of %s can never be first: the one at %s takes every point; "
        "write it before that one",
        tp_called(g, m), tp_line_of(g, m->in[m->nin - 1].pos));
  tp_edge_push(g, m, (tp_edge){ .src = e, .cond = cond, .pos = g->pos });
  if (!branch_ok(q, m->nin - 1)) {
    m->nin--;
    return false;
  }
  m->done = !cond;
  return true;
}

/* ---- parameters ---- */

static bool param_edge(tp_typing q, int k) {
  const char *what = k ? "update" : "first value";
  const tp_edge *e = &q.n->in[k];
  const tp_out *o = tp_outof(e->src);
  const tp_attr *a = &q.n->attr;
  q.pos = e->pos;
  if (!same_dtype(q, what, e)) return false;
  if (o->rank != a->nix || !shapes_equal(q, o->rank, o->shape, a->ix, NULL))
    return shape_differs(q, what, e);
  for (int i = 0; k == 0 && i < a->nalong; i++)
    if (tp_has_dim(e->src.node, a->along[i]))
      return tp_fail(q.err, TP_E_DOMAIN, q.pos,
          "the first value of parameter '%s' depends on dim '%s', along which it evolves",
          tp_label(q.n), a->along[i]->name);
  return lies_inside(q, what, e);
}

static bool no_along(tp_typing q) {
  return tp_fail(q.err, TP_E_OPTION, q.pos,
      "parameter '%s' has no 'along', so nothing can update it", tp_label(q.n));
}

static bool infer_param(tp_typing q) {
  const tp_attr *a = &q.n->attr;
  if (q.n->nin > 1 && !a->nalong) return no_along(q);
  if (!tp_shape_known(q, "parameter", "")) return false;
  for (int i = 0; i < a->nalong; i++) {
    if (!tp_has_dim(q.n, a->along[i]))
      return tp_fail(q.err, TP_E_DOMAIN, q.pos,
          "parameter '%s' evolves along '%s', which its domain lacks", tp_label(q.n),
          a->along[i]->name);
    if (i && a->along[i]->order <= a->along[i - 1]->order)
      return tp_fail(q.err, TP_E_DOMAIN, q.pos,
          "'along' of '%s' must list dims in the order in which they were made", tp_label(q.n));
    for (int k = 0; k < a->nix; k++)
      if (tp_ix_mentions(a->ix[k], a->along[i]))
        return tp_fail(q.err, TP_E_SHAPE, q.pos,
            "the shape of parameter '%s' depends on '%s', along which it evolves", tp_label(q.n),
            a->along[i]->name);
  }
  if (!tp_rank_ok(q, a->nix + q.n->ndom - a->nalong) || !infer_declared(q)) return false;
  for (int k = 0; k < q.n->nin; k++)
    if (!param_edge(q, k)) return false;
  return true;
}

bool tp_param_update(tp_graph *g, tp_node *p, tp_val e, tp_error *err) {
  tp_typing q = { g, p, err, g->pos };
  if (!operand_ok(q, e)) return false;
  if (!p->attr.nalong) return no_along(q);
  if (p->nin > 1)
    return tp_fail(err, TP_E_UNDEFINED, g->pos,
        "this update of parameter '%s' can never be first: %s updates it already, "
        "and a parameter has one update",
        tp_label(p), tp_line_of(g, p->in[1].pos));
  tp_edge_push(g, p, (tp_edge){ .src = e, .pos = g->pos });
  if (param_edge(q, 1)) return true;
  p->nin--;
  return false;
}

/* ---- accumulations ---- */

/* Scatter, y[u] += x[p] with u in at(p): x's leading axes are the ranges, the rest is y's shape at
 * u. Gather, p in at(u): x's shape at p is y's. */
static bool contribution_shape(tp_typing q, const tp_edge *e) {
  const tp_node *x = e->src.node;
  const tp_out *o = tp_outof(e->src);
  const tp_attr *y = &q.n->attr;
  tp_ix *shape[2 * TP_MAXRANK];
  int rank = 0;
  for (int i = 0; !e->gather && i < q.n->ndom && rank < TP_MAXRANK; i++)
    if (e->at[i].range) shape[rank++] = tp_ix_extent(e->at[i].lo, e->at[i].hi, x->ndom, x->dom);
  if (o->rank != rank + y->nix) return shape_differs(q, "contribution", e);
  if (!(e->gather ? through(q, o->rank, o->shape, x, e->at, q.n, shape)
                  : through(q, y->nix, y->ix, q.n, e->at, x, shape + rank)))
    return false;
  return shapes_equal(q, o->rank, e->gather ? shape : o->shape, e->gather ? y->ix : shape, NULL) ||
      shape_differs(q, "contribution", e);
}

/* e mentions only dims of a or b, and only ends that are known at a's points. */
static bool over_dims(const tp_graph *g, tp_ix *e, const tp_node *a, const tp_node *b) {
  tp_dims syms;
  int ns = tp_ix_syms(e, &syms);
  for (int i = 0; i < ns; i++) {
    if (syms[i]->kind != TP_SYM_BOUND && !tp_has_dim(a, syms[i]) && !(b && tp_has_dim(b, syms[i])))
      return false;
    if (!tp_end_known(g, syms[i], a->ndom, a->dom)) return false;
  }
  return true;
}

static bool contribution_ok(tp_typing q, const tp_edge *e) {
  const tp_node *x = e->src.node, *to = e->gather ? x : q.n, *over = e->gather ? q.n : x;
  q.pos = e->pos;
  if (!at_ok(q, to, e->at) || !same_dtype(q, "contribution", e)) return false;
  bool inside = !e->cond || over_dims(q.g, e->cond, over, e->gather ? x : NULL);
  for (int i = 0; i < to->ndom; i++)
    inside = inside && over_dims(q.g, e->at[i].lo, over, NULL) &&
        (!e->at[i].range || over_dims(q.g, e->at[i].hi, over, NULL));
  if (!inside)
    return tp_fail(q.err, TP_E_DOMAIN, q.pos,
        "a contribution to '%s' mentions a dim that neither side has", tp_label(q.n));
  if (e->cond && !tp_affine(e->cond)) return not_affine(q, e->cond, "condition", q.n);
  return contribution_shape(q, e);
}

static bool infer_accum(tp_typing q) {
  if (!infer_declared(q)) return false;
  for (int k = 0; k < q.n->nin; k++)
    if (!contribution_ok(q, &q.n->in[k])) return false;
  return true;
}

bool tp_accum_add(tp_graph *g, tp_node *acc, tp_edge e, tp_error *err) {
  tp_typing q = { g, acc, err, g->pos };
  if (!operand_ok(q, e.src) || !contribution_ok(q, &e)) return false;
  e.at = TP_DUPN(&g->arena, e.at, (e.gather ? e.src.node->ndom : acc->ndom));
  tp_edge_push(g, acc, e);
  return true;
}

bool tp_infer_time(tp_typing q) {
  const tp_out *o = q.n->nin ? tp_inof(q.n, 0) : NULL;
  switch (q.n->op) {
  case TP_OP_READ: return infer_read(q);
  case TP_OP_MERGE: return infer_merge(q);
  case TP_OP_ACCUM: return infer_accum(q);
  case TP_OP_PARAM: return infer_param(q);
  default: return tp_out1(q, o->dtype, o->rank, o->shape); /* PINIT */
  }
}
