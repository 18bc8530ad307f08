/* mayvec: finds the dims of a statement that one call may run over, and whether its guard has to be
 * exact. */
#include "poly/lower/stmts.h"

static bool depends(const sb *b, tp_ix *e, tp_sym *d) { return tp_depends(b->l->p, e, d); }

static bool linear(const sb *b, tp_ix *e, tp_sym *d) {
  int64_t by;
  tp_ix *rest;
  return tp_steps(b->l->p, e, d, &by, &rest);
}

/* Does node i add rows at a place that moves with d alone, so far that points do not overlap?
 * Places lie inside, as nothing ends by data. */
static bool adds_apart(const sb *b, int i, tp_sym *d) {
  const tp_node *n = b->s->node[i];
  int64_t rows, by;
  tp_opnd o;
  if (n->op != TP_OP_PAD || !tp_adds_part(b->l->g, b->s, n) || b->l->g->stops.n ||
      !tp_ix_is_const(tp_outof(n->in[0].src)->shape[n->attr.axis], &rows))
    return false;
  if (!sb_src(b, &o) || !o.identity || o.base.node != n) return false;
  tp_ix *lo = tp_at_point(b->l->p, n, n->attr.ix[0], b->s->nodeat[i]), *rest;
  if (!tp_steps(b->l->p, lo, d, &by, &rest) || by == 0 || (by < 0 ? -by : by) < rows) return false;
  for (int k = 0; k < b->s->ndim; k++)
    if (depends(b, rest, b->s->dim[k])) return false;
  return true;
}

static bool node_allows(const sb *b, int i, tp_sym *d) {
  const tp_node *n = b->s->node[i];
  tp_ixs at = b->s->nodeat[i];
  if (tp_ops[n->op].batch == TP_BATCH_X && n->op != TP_OP_CONST) return false;
  for (int k = 0; k < n->ndom; k++)
    if (!linear(b, at[k], d)) return false;
  for (int o = 0; o < n->nout; o++)
    for (int a = 0; a < n->out[o].rank; a++)
      if (depends(b, tp_at_point(b->l->p, n, n->out[o].shape[a], at), d)) return false;
  if (n->op == TP_OP_VALUE)
    return linear(b, tp_at_point(b->l->p, n, n->attr.ix[0], at), d) ||
        !tp_mentions_end(b->l->g, n->attr.ix[0]);
  for (int k = 0; k < n->attr.nix; k++)
    if (depends(b, tp_at_point(b->l->p, n, n->attr.ix[k], at), d) && !adds_apart(b, i, d))
      return false;
  return true;
}

/* Axis a of what is accessed, over the statement's dims. */
tp_ix *tp_sb_extent_at(const sb *b, const tp_access *x, int a) {
  const tp_arr *r = b->l->p->arrs.v[x->arr];
  tp_ix *at[r->ndim + 1];
  for (int k = 0; k < r->ndim; k++) at[k] = x->at[k].range ? NULL : x->at[k].lo;
  return tp_mentions_end(b->l->g, r->shape[a])
      ? tp_at_dims(b->l->p, r->shape[a], r->ndim, r->dim, at)
      : r->shape[a];
}

static bool access_allows(const sb *b, const tp_access *x, tp_sym *d) {
  const tp_arr *r = b->l->p->arrs.v[x->arr];
  for (int a = 0; a < r->rank; a++)
    if (tp_next_end(b->l->p, tp_sb_extent_at(b, x, a), 0) >= 0 &&
        depends(b, tp_sb_extent_at(b, x, a), d))
      return false;
  for (int a = 0; a < r->rank; a++) /* rows of one call have one shape */
    for (int k = 0; k < r->ndim; k++)
      if (tp_ix_mentions(r->shape[a], r->dim[k]) && (depends(b, x->at[k].lo, d) || x->at[k].range))
        return false;
  for (int k = 0; k < r->ndim; k++) {
    if (!linear(b, x->at[k].lo, d)) return false;
    if (x->at[k].range && (depends(b, x->at[k].lo, d) || depends(b, x->at[k].hi, d))) return false;
  }
  return true;
}

/* May a call run over d through this view? The extents of the first `rows` axes do not matter: one
 * row is taken. */
static bool view_allows(const sb *b, const tp_opnd *o, int rows, tp_sym *d) {
  bool ok = linear(b, o->off, d);
  for (int k = 0; k < o->base.node->ndom; k++) ok = ok && linear(b, o->idx[k], d);
  for (int a = 0; a < o->rank; a++)
    ok = ok && (a < rows || !depends(b, o->shape[a], d)) && !depends(b, o->stride[a], d);
  return ok;
}

static bool operands_allow(sb *b, tp_sym *d) {
  tp_opnd o;
  for (int i = 0; i < b->s->nnode; i++)
    for (int k = 0; k < b->s->node[i]->nin; k++)
      if (!sb_operand(b, i, k, &o) || !view_allows(b, &o, 0, d)) return false;
  for (int r = 0; r < b->s->nrow; r++)
    if (!linear(b, b->s->row[r], d)) return false;
  return !b->s->src.node || (sb_src(b, &o) && view_allows(b, &o, b->s->nrow, d));
}

/* Can n fail where its extents, which vary from point to point, are too small? */
static bool fails_by_extent(const tp_node *n) {
  bool integer = n->nout && !tp_dtype_float(n->out[0].dtype), varies = false;
  if (tp_ops[n->op].cls != TP_CLS_ARG && !((n->op == TP_OP_MAX || n->op == TP_OP_MIN) && integer))
    return false;
  for (int a = 0; a < tp_rankof(n->in[0].src); a++)
    varies |= !tp_ix_is_const(tp_outof(n->in[0].src)->shape[a], NULL);
  return varies;
}

bool tp_is_exact(const tp_node *n) { return fails_by_extent(n) || n->attr.check == TP_CHECK_NAN; }

bool tp_sb_is_exact(const sb *b) {
  bool exact = b->s->effect || b->exact;
  for (int i = 0; i < b->s->nnode; i++) exact |= tp_is_exact(b->s->node[i]);
  return exact;
}

/* Does an exact guard allow a call over d? It must only cut the call's range, alike for all its
 * rows. */
static bool guard_allows(const sb *b, tp_sym *d) {
  tp_ix *least, *rest;
  int64_t coef;
  int end, n = 0;
  if (!tp_sb_is_exact(b)) return true;
  for (int k = 0; tp_guard_part(b->l->p, b->s->guard, k, &end, &least); k++) {
    tp_ix *e = tp_ix_sym(b->l->p->ends.v[end].sym);
    if (depends(b, e, d) ||
        (tp_ix_mentions(least, d) &&
            (n++ || !tp_ix_linear_in(least, d, &coef, &rest) || coef != 1)))
      return false;
    for (int k2 = 0; tp_ix_mentions(least, d) && k2 < b->s->ndim; k2++)
      if (b->s->dim[k2] != d && tp_ix_mentions(least, b->s->dim[k2])) return false;
  }
  return true;
}

uint32_t tp_sb_may_vectorise(sb *b) {
  uint32_t may = 0;
  if (b->s->effect) return 0;
  for (int d = 0; d < b->s->ndim; d++) {
    tp_sym *s = b->s->dim[d];
    bool ok = guard_allows(b, s);
    for (int i = 0; i < b->s->nnode && ok; i++) ok = node_allows(b, i, s);
    for (int i = 0; i < b->acc.n && ok; i++) ok = access_allows(b, &b->acc.v[i], s);
    if (ok && operands_allow(b, s)) may |= 1u << d;
  }
  return may;
}
