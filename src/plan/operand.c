/* operand: a statement's operands and results become windows on buffers.
 *
 * Layout of an array: [slots of each dim, in the order that poly found][spatial shape]. A dim with
 * one slot adds nothing to an address, a dense dim index * stride, a ring (index mod width) *
 * stride. Dims that a call runs over become leading axes with the index's coefficient as stride.
 * Values inside a cluster live in scratch: [leading extents][shape]. */
#include "plan/build.h"

/* ---- buffers ---- */

tp_pbuf *tp_pb_buf(pb *b, tp_bufkind kind, const char *name, tp_pos pos, tp_dtype d) {
  tp_pbuf *x = TP_NEW(b->a, tp_pbuf);
  *x = (tp_pbuf){ .id = b->pl->bufs.n,
    .kind = kind,
    .name = name,
    .pos = pos,
    .dtype = d,
    .size = K(b, 1),
    .inside = TP_INSIDE_ALL,
    .holds = -1,
    .first = -1,
    .last = -1 };
  TP_PUSH(b->a, &b->pl->bufs, x);
  return x;
}

static void layout(pb *b, tp_pbuf *x, int ndim, tp_ixs slots, int rank, tp_ixs shape) {
  x->ndim = ndim;
  x->rank = rank;
  x->slots = tp_pb_exprs(b, ndim + rank);
  for (int i = 0; i < ndim + rank; i++) x->slots[i] = i < ndim ? slots[i] : shape[i - ndim];
  x->size = tp_pbuf_size(C(b), x);
}

/* Extents over bounds that are no less than these. */
static tp_ix **upper(pb *b, int rank, tp_ixs shape, int nd, tp_dims dims) {
  tp_ix **up = tp_pb_exprs(b, rank);
  for (int i = 0; i < rank; i++) up[i] = tp_extent_upper(b->graph, shape[i], nd, dims);
  return up;
}

/* The extents of v at the points at which it is needed. */
static tp_ix **upper_of(pb *b, tp_val v) {
  const tp_out *t = tp_outof(v);
  tp_ix **up = upper(b, t->rank, t->shape, v.node->ndom, v.node->dom), *most = tp_most_of(b->p, v);
  if (most) up[0] = tp_ix_min(up[0], most);
  return up;
}

void tp_pb_arrays(pb *b) {
  static const tp_bufkind kinds[] = { TP_BUF_TEMP, TP_BUF_INPUT, TP_BUF_CONST, TP_BUF_OUTPUT,
    TP_BUF_PARAM };
  b->bufof = TP_NEWN(b->a, tp_pbuf *, b->p->arrs.n);
  for (int i = 0; i < b->p->arrs.n; i++) {
    tp_arr *r = b->p->arrs.v[i];
    tp_pbuf *x = b->bufof[i] = tp_pb_buf(b, kinds[r->kind], r->name, r->val.node->pos, r->dtype);
    x->slot = r->slot;
    x->order = r->order;
    if (r->kind == TP_ARR_CONST) x->data = r->val.node->attr.data;
    layout(b, x, r->ndim, r->width, r->rank,
        r->kind == TP_ARR_TEMP ? upper_of(b, r->val)
                               : upper(b, r->rank, r->shape, r->ndim, r->dim));
  }
  for (int i = 0; i < b->p->arrs.n; i++) b->bufof[i] = b->bufof[tp_lies_in(b->p->arrs.v[i])->id];
}

/* ---- the statement at hand ---- */

tp_ix *tp_pb_ends(pb *b, tp_ix *e) {
  tp_sym *from[TP_GROUP];
  tp_ix *to[TP_GROUP];
  int n = 0;
  for (int i = tp_next_end(b->p, e, 0); i >= 0 && n < TP_GROUP; i = tp_next_end(b->p, e, i + 1)) {
    while (b->ends.n <= i) TP_PUSH(b->a, &b->ends, ((pb_end){ NULL, false }));
    pb_end *end = &b->ends.v[i];
    if (!end->var)
      end->var = tp_sym_var(C(b), b->p->g->stops.v[b->p->ends.v[i].stop].dim->bound->name);
    end->wanted = true;
    from[n] = b->p->ends.v[i].sym;
    to[n++] = tp_ix_sym(end->var);
  }
  return tp_ix_subst(e, n, from, to);
}

tp_ix *tp_pb_here(pb *b, tp_ix *e) {
  return b->p->ends.n ? tp_pb_ends(b, tp_move_ends(b->p, e, b->s->ndim, b->s->dim, b->arg, 0))
                      : tp_ix_subst(e, b->s->ndim, b->s->dim, b->arg);
}

void tp_pb_open(pb *b, const tp_tree *t) {
  const tp_stmt *s = b->s = b->p->stmts.v[t->stmt];
  b->nlead = 0;
  b->arg = tp_pb_exprs(b, s->ndim);
  for (int d = 0; d < s->ndim; d++) {
    b->arg[d] = t->arg[d];
    if (!(s->vec >> d & 1)) continue;
    tp_sym *v = tp_sym_var(C(b), s->label[d]->name);
    int k = b->nlead++;
    tp_ix *hi;
    b->leadvar[k] = v;
    tp_run_range(s, t, d, &b->leadlo[k], &hi);
    hi = tp_pb_ends(b, hi);
    /* not negative: at T = 0 the range 0 .. T - 2 is empty */
    b->lead[k] = tp_ix_simplify(tp_ix_max(K(b, 0), tp_ix_sub(hi, b->leadlo[k])), 0, NULL);
    tp_ix *all = tp_ix_sub(s->vhi[d], s->vlo[d]);
    for (int e = 0; e < s->ndim; e++)
      if (tp_ix_mentions(all, s->dim[e])) all = tp_ix_sym(s->label[d]->bound);
    b->leadcap[k] = d == s->bdim ? tp_ix_max(K(b, 0), tp_ix_min(K(b, s->block), all))
                                 : tp_ix_simplify(tp_ix_max(K(b, 0), all), 0, NULL);
    b->arg[d] = tp_ix_sym(v);
  }
  b->scratch = TP_NEWN(b->a, tp_pbuf *, s->nnode);
  b->uses = TP_NEWN(b->a, int, s->nnode);
}

tp_ix *tp_pb_split(pb *b, tp_ix *e, tp_ix *stride, tp_ix **lead) {
  for (int k = 0; k < b->nlead; k++) {
    int64_t c;
    tp_ix *rest;
    if (!tp_ix_mentions(e, b->leadvar[k])) continue;
    if (TP_NEVER(!tp_steps(b->p, e, b->leadvar[k], &c, &rest))) continue;
    lead[k] = tp_ix_add(lead[k], tp_ix_mulc(stride, c));
    e = tp_ix_add(rest, tp_ix_mulc(b->leadlo[k], c));
  }
  return e;
}

tp_ix **tp_pb_row_major(pb *b, int rank, tp_ixs shape) {
  tp_ix **stride = tp_pb_exprs(b, rank), *s = K(b, 1);
  for (int i = rank - 1; i >= 0; i--) {
    stride[i] = s;
    s = tp_ix_mul(s, shape[i]);
  }
  return stride;
}

bool tp_pb_is_over(const tp_node *n, tp_sym *d) {
  return tp_dom_has(n->attr.nover, n->attr.over, d);
}

/* ---- operands ---- */

static tp_nd nd_new(pb *b, const tp_pbuf *x, const tp_opnd *o) {
  tp_nd n = { .buf = x->id, .rank = o->rank, .wrap = -1 };
  n.shape = tp_pb_exprs(b, o->rank);
  n.stride = tp_pb_exprs(b, o->rank);
  n.lead = tp_pb_exprs(b, b->nlead);
  for (int i = 0; i < o->rank; i++) {
    n.shape[i] = tp_pb_here(b, o->shape[i]);
    n.stride[i] = tp_pb_here(b, o->stride[i]);
  }
  for (int k = 0; k < b->nlead; k++) n.lead[k] = K(b, 0);
  n.off = tp_pb_split(b, tp_pb_here(b, o->off), K(b, 1), n.lead);
  return n;
}

static int axis_of(const tp_opnd *o, int var) {
  for (int i = 0; i < o->rank; i++)
    if (o->axisvar[i] == var) return i;
  return -1;
}

/* Takes the max(0, e) off e: an empty range has no rows either way. */
static tp_ix *unclipped(tp_ix *e) {
  int64_t v;
  for (int i = 0; tp_ix_kind(e) == TP_IX_MAX && tp_ix_narg(e) == 2 && i < 2; i++)
    if (tp_ix_is_const(tp_ix_arg(e, i), &v) && v == 0) return tp_ix_arg(e, 1 - i);
  return e;
}

/* Least and greatest value of e over what the call runs over, where its last term moves over
 * `extent` more; NULL: not known. */
static tp_span span(pb *b, tp_ix *e, tp_ix *extent) {
  tp_span s = { e, e };
  for (int k = 0; k < b->nlead; k++) {
    int64_t c;
    tp_ix *rest;
    if (!tp_ix_mentions(e, b->leadvar[k])) continue;
    if (!tp_steps(b->p, e, b->leadvar[k], &c, &rest)) return (tp_span){ NULL, NULL };
    tp_ix *first = b->leadlo[k], *last = tp_ix_addc(tp_ix_add(first, unclipped(b->lead[k])), -1);
    s.lo = tp_ix_subst(s.lo, 1, &b->leadvar[k], c > 0 ? &first : &last);
    s.hi = tp_ix_subst(s.hi, 1, &b->leadvar[k], c > 0 ? &last : &first);
  }
  if (extent) s.hi = tp_ix_addc(tp_ix_add(s.hi, unclipped(extent)), -1);
  return s;
}

/* Does a call over a block begin where a block does, at those of its first places e that move with
 * the blocks? In the first block nothing has moved. */
static bool at_block(tp_ictx *c, tp_ix *e) {
  tp_ixs atom;
  bool begins = tp_ix_is_const(e, NULL);
  for (int i = 0; i < tp_ix_nterm(e); i++) {
    int64_t n = tp_ix_coef(e, i);
    int atoms = tp_ix_term(e, i, &atom);
    tp_sym *s = atoms == 1 ? tp_ix_as_sym(atom[0]) : NULL;
    if (s && s->kind == TP_SYM_VAR && n > 1) {
      begins = tp_ix_cst(e) % n == 0;
      continue;
    }
    if (atoms != 1 || n != 1 || tp_ix_kind(atom[0]) != TP_IX_MAX) return false;
    for (int k = 0; k < tp_ix_narg(atom[0]); k++)
      if (!tp_ix_is_const(tp_ix_arg(atom[0], k), NULL))
        begins |= at_block(c, tp_ix_add(tp_ix_arg(atom[0], k), tp_ix_sub(e, atom[0])));
  }
  return begins;
}

/* Lays the window along a dim that lies on a ring. Calls over blocks mostly begin with a block and
 * lie in a row; some begin elsewhere, and go round the ring. */
static void on_ring(pb *b, bool reads, tp_nd *n, tp_ix *e, tp_ix *width, tp_ix *stride) {
  int along = -1;
  for (int k = 0; k < b->nlead; k++)
    if (tp_ix_mentions(e, b->leadvar[k])) along = k;
  tp_ix *first = tp_pb_split(b, e, stride, n->lead);
  if (!reads || along < 0 || n->wrap >= 0 || at_block(C(b), first))
    n->ring[n->nring++] = (tp_ring){ first, width, stride };
  else n->wrap = along, n->wlo = first, n->wmod = width;
}

tp_nd tp_pb_array(pb *b, const tp_arr *r, const tp_opnd *o, bool reads) {
  const tp_pbuf *x = b->bufof[r->id];
  tp_nd n = nd_new(b, x, o);
  n.nspan = r->ndim;
  n.span = TP_NEWN(b->a, tp_span, r->ndim);
  n.ring = TP_NEWN(b->a, tp_ring, r->ndim);
  for (int d = 0; d < r->ndim; d++) {
    tp_ix *e = tp_pb_here(b, o->idx[d]), *st = tp_pbuf_stride(C(b), x, d);
    int axis = -1;
    for (int k = 0; k < o->nvar; k++) {
      if (!tp_ix_mentions(e, o->var[k])) continue;
      axis = axis_of(o, k);
      e = tp_ix_sub(e, tp_ix_sym(o->var[k]));
    }
    n.span[d] = span(b, e, axis < 0 ? NULL : n.shape[axis]);
    if (tp_is_number(x->slots[d], 1)) continue;
    if (x->slots[d] == tp_ix_sym(r->dim[d]->bound) || /* dense */
        tp_lies_ahead(b->p, b->s, o->idx[d], axis >= 0)) {
      n.off = tp_ix_add(n.off, tp_ix_mul(tp_pb_split(b, e, st, n.lead), st));
    } else if (axis < 0) {
      on_ring(b, reads, &n, e, x->slots[d], st);
    } else {
      n.wrap = b->nlead + axis;
      n.wlo = e;
      n.wmod = x->slots[d];
    }
    if (axis >= 0) n.stride[axis] = st;
  }
  return n;
}

tp_nd tp_pb_scratch(pb *b, const tp_pbuf *x, const tp_opnd *o) {
  tp_nd n = nd_new(b, x, o);
  for (int k = 0; k < b->nlead; k++) n.lead[k] = tp_ix_add(n.lead[k], tp_pbuf_stride(C(b), x, k));
  return n;
}

tp_opnd tp_pb_whole(pb *b, tp_val v, int ndim, tp_dims dims, tp_ixs idx) {
  const tp_out *t = tp_outof(v);
  tp_opnd o = {
    .base = v, .rank = t->rank, .off = K(b, 0), .identity = true, .idx = (tp_ix **)idx
  };
  o.shape = tp_pb_exprs(b, t->rank);
  o.axisvar = TP_NEWN(b->a, int, t->rank);
  for (int i = 0; i < t->rank; i++) {
    o.shape[i] = tp_at_dims(b->p, t->shape[i], ndim, dims, idx);
    o.axisvar[i] = -1;
  }
  const tp_arr *r = tp_array_of(b->p, v);
  bool apart = r && r->apart;
  o.stride = tp_pb_row_major(
      b, t->rank, apart ? upper(b, t->rank, t->shape, v.node->ndom, v.node->dom) : o.shape);
  return o;
}

tp_opnd tp_pb_self(pb *b, int i) {
  tp_node *n = b->s->node[i];
  return tp_pb_whole(b, tp_v(n), n->ndom, n->dom, b->s->nodeat[i]);
}

tp_nd tp_pb_write(pb *b, const tp_access *w) {
  const tp_arr *r = b->p->arrs.v[w->arr];
  tp_ix **idx = tp_pb_exprs(b, r->ndim);
  int nv = 0;
  for (int d = 0; d < r->ndim; d++) {
    idx[d] = w->at[d].lo;
    nv += w->at[d].range;
  }
  tp_opnd o = tp_pb_whole(b, r->val, r->ndim, r->dim, idx);
  for (int i = 0; i < o.rank && r->kind == TP_ARR_OUTPUT; i++)
    o.stride[i] = tp_pbuf_stride(C(b), b->bufof[r->id], r->ndim + i);
  /* ranges lead: dims in a CALL's `over`, and the dims that an update stretches over */
  tp_opnd q = o;
  q.rank = nv + o.rank;
  q.nvar = nv;
  nv = 0;
  q.shape = tp_pb_exprs(b, q.rank);
  q.stride = tp_pb_exprs(b, q.rank);
  q.axisvar = TP_NEWN(b->a, int, q.rank);
  q.var = TP_NEWN(b->a, tp_sym *, q.nvar);
  for (int d = 0; d < r->ndim; d++) {
    if (!w->at[d].range) continue;
    q.var[nv] = tp_sym_var(C(b), "a");
    q.shape[nv] = tp_ix_extent(w->at[d].lo, w->at[d].hi, b->s->ndim, b->s->dim);
    q.stride[nv] = K(b, 0);
    q.axisvar[nv] = nv;
    idx[d] = tp_ix_add(idx[d], tp_ix_sym(q.var[nv++]));
  }
  for (int i = 0; i < o.rank; i++) {
    q.shape[nv + i] = o.shape[i];
    q.stride[nv + i] = o.stride[i];
    q.axisvar[nv + i] = -1;
  }
  return tp_pb_array(b, r, &q, false);
}

tp_pbuf *tp_pb_rows(pb *b, const tp_node *n) {
  tp_pbuf *x = tp_pb_buf(b, TP_BUF_TEMP, b->p->title[n->id], n->pos, n->out[0].dtype);
  layout(b, x, b->nlead, b->leadcap, n->out[0].rank, upper_of(b, tp_v((tp_node *)n)));
  return x;
}

/* The value of which only node i of the cluster changes a part, and nothing else reads it: the
 * change is made where it lies. NULL: there is none. */
static tp_pbuf *changed_in_place(pb *b, int i) {
  tp_opnd o;
  if (!tp_op_is(b->s->node[i]->op, TP_PART) || !tp_stmt_operand(b->p, b->s, i, 0, &o, b->err))
    return NULL;
  int j = tp_stmt_find(b->s, &o);
  bool alone = j >= 0 && o.identity && b->nuse[j] == 1 && j != b->final &&
      tp_same_type(tp_outof(o.base), &b->s->node[i]->out[0]);
  return alone ? b->scratch[j] : NULL;
}

tp_pbuf *tp_pb_scratch_of(pb *b, int i) {
  if (!b->scratch[i]) b->scratch[i] = changed_in_place(b, i);
  if (!b->scratch[i]) b->scratch[i] = tp_pb_rows(b, b->s->node[i]);
  return b->scratch[i];
}
