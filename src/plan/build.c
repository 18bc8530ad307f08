/* build: the loop tree becomes a plan: each statement's cluster a row of regions on buffers.
 *
 * Layout of an array: [slots of each dim, in the order that poly found][spatial shape]. A dim with
 * one slot adds nothing to an address, a dense dim index * stride, a ring (index mod width) *
 * stride. Dims that a call runs over become leading axes with the index's coefficient as stride.
 * Values inside a cluster live in scratch: [leading extents][shape]. Elementwise operators of one
 * shape that follow each other become one EW region. */
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
    .first = -1,
    .last = -1,
    .holds = -1 };
  TP_PUSH(b->a, &b->pl->bufs, x);
  return x;
}

const tp_ix *tp_pbuf_size(tp_ictx *c, const tp_pbuf *x) {
  const tp_ix *n = tp_ix_const(c, 1), *none = tp_ix_const(c, 0);
  for (int i = 0; i < x->ndim + x->rank; i++) /* T - 1 slots at T = 0 are none */
    n = tp_ix_mul(c, n, tp_ix_simplify(c, tp_ix_max(c, none, x->slots[i]), 0, NULL));
  return n;
}

static void layout(
    pb *b, tp_pbuf *x, int ndim, const tp_ix *const *slots, int rank, const tp_ix *const *shape) {
  x->ndim = ndim;
  x->rank = rank;
  x->slots = TP_NEWN(b->a, const tp_ix *, ndim + rank);
  for (int i = 0; i < ndim + rank; i++) x->slots[i] = i < ndim ? slots[i] : shape[i - ndim];
  x->size = tp_pbuf_size(C(b), x);
}

const tp_ix **tp_pb_upper(
    pb *b, int rank, const tp_ix *const *shape, int nd, const tp_sym *const *dims) {
  const tp_ix **up = TP_NEWN(b->a, const tp_ix *, rank);
  for (int i = 0; i < rank; i++) up[i] = tp_extent_upper(b->graph, shape[i], nd, dims);
  return up;
}

/* At the points at which it is needed. */
const tp_ix **tp_pb_upper_of(pb *b, tp_val v) {
  const tp_out *t = tp_outof(v);
  const tp_ix **up = tp_pb_upper(b, t->rank, t->shape, v.node->ndom, v.node->dom),
              *most = tp_most_of(b->p, v);
  if (most) up[0] = tp_ix_min(C(b), up[0], most);
  return up;
}

static void array_bufs(pb *b) {
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
        r->kind == TP_ARR_TEMP ? tp_pb_upper_of(b, r->val)
                               : tp_pb_upper(b, r->rank, r->shape, r->ndim, r->dim));
  }
  for (int i = 0; i < b->p->arrs.n; i++) b->bufof[i] = b->bufof[tp_lies_in(b->p->arrs.v[i])->id];
}

const tp_ix *tp_pbuf_stride(tp_ictx *c, const tp_pbuf *x, int i) {
  const tp_ix *s = tp_ix_const(c, 1);
  for (int k = x->ndim + x->rank - 1; k >= 0; k--) {
    int axis = k < x->ndim && x->order ? x->order[k] : k;
    if (axis == i) break;
    s = tp_ix_mul(c, s, x->slots[axis]);
  }
  return s;
}

/* ---- the statement at hand ---- */

/* e with ends as variables, which the node at work wants loaded. */
static const tp_ix *ends_loaded(pb *b, const tp_ix *e) {
  const tp_sym *from[TP_GROUP];
  const tp_ix *to[TP_GROUP];
  int n = 0;
  for (int i = tp_next_end(b->p, e, 0); i >= 0 && n < TP_GROUP; i = tp_next_end(b->p, e, i + 1)) {
    if (i >= b->nendvar) { /* the table has grown */
      int cap = 2 * b->p->ends.n;
      const tp_sym **v = TP_NEWN(b->a, const tp_sym *, cap);
      bool *w = TP_NEWN(b->a, bool, cap);
      for (int k = 0; k < b->nendvar; k++) v[k] = b->endvar[k], w[k] = b->wanted[k];
      b->endvar = v, b->wanted = w, b->nendvar = cap;
    }
    if (!b->endvar[i])
      b->endvar[i] = tp_sym_var(C(b), b->p->g->stops.v[b->p->ends.v[i].stop].dim->bound->name);
    b->wanted[i] = true;
    from[n] = b->p->ends.v[i].sym;
    to[n++] = tp_ix_sym(C(b), b->endvar[i]);
  }
  return tp_ix_subst(C(b), e, n, from, to);
}

const tp_ix *tp_pb_here(pb *b, const tp_ix *e) {
  return b->p->ends.n ? ends_loaded(b, tp_move_ends(b->p, e, b->s->ndim, b->s->dim, b->arg, 0))
                      : tp_ix_subst(C(b), e, b->s->ndim, b->s->dim, b->arg);
}

/* Scratch lies as arrays do: a block's rows outermost. */
static void order_leads(pb *b) {
  int n = 0, *order = TP_NEWN(b->a, int, b->nlead);
  for (int first = 1; first >= 0; first--)
    for (int d = 0, k = 0; d < b->s->ndim; d++) {
      if (!(b->s->vec >> d & 1)) continue;
      if ((d == b->s->bdim) == first) order[n++] = k;
      k++;
    }
  b->leadorder = order;
}

static void open_stmt(pb *b, const tp_tree *t) {
  const tp_stmt *s = b->s = b->p->stmts.v[t->stmt];
  b->nlead = 0;
  b->arg = TP_NEWN(b->a, const tp_ix *, s->ndim);
  for (int d = 0; d < s->ndim; d++) {
    b->arg[d] = t->arg[d];
    if (!(s->vec >> d & 1)) continue;
    const tp_sym *v = tp_sym_var(C(b), s->label[d]->name);
    int k = b->nlead++;
    const tp_ix *hi;
    b->leadvar[k] = v;
    tp_run_range(C(b), s, t, d, &b->leadlo[k], &hi);
    hi = ends_loaded(b, hi);
    /* 0 .. T-2 at T = 0 */
    b->lead[k] =
        tp_ix_simplify(C(b), tp_ix_max(C(b), K(b, 0), tp_ix_sub(C(b), hi, b->leadlo[k])), 0, NULL);
    b->leadcap[k] = d == s->bdim
        ? tp_ix_max(
              C(b), K(b, 0), tp_ix_min(C(b), K(b, s->block), tp_ix_sub(C(b), s->vhi[d], s->vlo[d])))
        : tp_ix_simplify(
              C(b), tp_ix_max(C(b), K(b, 0), tp_ix_sub(C(b), s->vhi[d], s->vlo[d])), 0, NULL);
    b->arg[d] = tp_ix_sym(C(b), v);
  }
  order_leads(b);
  b->scratch = TP_NEWN(b->a, tp_pbuf *, s->nnode);
  b->uses = TP_NEWN(b->a, int, s->nnode);
}

/* e over lead variables: adds coefficient * stride to each lead stride, gives the value at lead
 * index 0. */
static const tp_ix *split_lead(pb *b, const tp_ix *e, const tp_ix *stride, const tp_ix **lead) {
  for (int k = 0; k < b->nlead; k++) {
    int64_t c;
    const tp_ix *rest;
    if (!tp_ix_mentions(e, b->leadvar[k])) continue;
    if (TP_NEVER(!tp_steps(b->p, e, b->leadvar[k], &c, &rest))) continue;
    lead[k] = tp_ix_add(C(b), lead[k], tp_ix_mulc(C(b), stride, c));
    e = tp_ix_add(C(b), rest, tp_ix_mulc(C(b), b->leadlo[k], c));
  }
  return e;
}

/* ---- operands ---- */

static tp_nd nd_new(pb *b, const tp_pbuf *x, const tp_opnd *o) {
  tp_nd n = { .buf = x->id, .rank = o->rank, .wrap = -1 };
  n.shape = TP_NEWN(b->a, const tp_ix *, o->rank);
  n.stride = TP_NEWN(b->a, const tp_ix *, o->rank);
  n.lead = TP_NEWN(b->a, const tp_ix *, b->nlead);
  for (int i = 0; i < o->rank; i++) {
    n.shape[i] = tp_pb_here(b, o->shape[i]);
    n.stride[i] = tp_pb_here(b, o->stride[i]);
  }
  for (int k = 0; k < b->nlead; k++) n.lead[k] = K(b, 0);
  n.off = split_lead(b, tp_pb_here(b, o->off), K(b, 1), n.lead);
  return n;
}

static int axis_of(const tp_opnd *o, int var) {
  for (int i = 0; i < o->rank; i++)
    if (o->axisvar[i] == var) return i;
  return -1;
}

static bool is_dense(pb *b, const tp_pbuf *x, const tp_arr *r, int d) {
  return x->slots[d] == tp_ix_sym(C(b), r->dim[d]->bound);
}
static bool is_point(const tp_pbuf *x, int d) { return tp_is_number(x->slots[d], 1); }

/* e without a max(0, e) around it: rows of what is empty are none either way. */
static const tp_ix *unclipped(const tp_ix *e) {
  int64_t v;
  for (int i = 0; tp_ix_kind(e) == TP_IX_MAX && tp_ix_narg(e) == 2 && i < 2; i++)
    if (tp_ix_is_const(tp_ix_arg(e, i), &v) && v == 0) return tp_ix_arg(e, 1 - i);
  return e;
}

/* Least and greatest value of e over what the call runs over, where its last term moves over
 * `extent` more; NULL: not known. */
static void span(pb *b, const tp_ix *e, const tp_ix *extent, const tp_ix **lo, const tp_ix **hi) {
  *lo = *hi = e;
  for (int k = 0; k < b->nlead; k++) {
    int64_t c;
    const tp_ix *rest;
    if (!tp_ix_mentions(e, b->leadvar[k])) continue;
    if (!tp_steps(b->p, e, b->leadvar[k], &c, &rest)) {
      *lo = *hi = NULL;
      return;
    }
    const tp_ix *first = b->leadlo[k],
                *last = tp_ix_addc(C(b), tp_ix_add(C(b), first, unclipped(b->lead[k])), -1);
    *lo = tp_ix_subst(C(b), *lo, 1, &b->leadvar[k], c > 0 ? &first : &last);
    *hi = tp_ix_subst(C(b), *hi, 1, &b->leadvar[k], c > 0 ? &last : &first);
  }
  if (extent) *hi = tp_ix_addc(C(b), tp_ix_add(C(b), *hi, unclipped(extent)), -1);
}

/* Of the places at which a call over a block may begin, is the one that moves with the blocks where
 * a block begins? Nothing moves in the first block. */
static bool at_block(tp_ictx *c, const tp_ix *e) {
  const tp_ix *const *atom;
  bool begins = tp_ix_is_const(e, NULL);
  for (int i = 0; i < tp_ix_nterm(e); i++) {
    int64_t n = tp_ix_coef(e, i);
    int atoms = tp_ix_term(e, i, &atom);
    const tp_sym *s = atoms == 1 ? tp_ix_as_sym(atom[0]) : NULL;
    if (s && s->kind == TP_SYM_VAR && n > 1) {
      begins = tp_ix_cst(e) % n == 0;
      continue;
    }
    if (atoms != 1 || n != 1 || tp_ix_kind(atom[0]) != TP_IX_MAX) return false;
    for (int k = 0; k < tp_ix_narg(atom[0]); k++)
      if (!tp_ix_is_const(tp_ix_arg(atom[0], k), NULL))
        begins |= at_block(c, tp_ix_add(c, tp_ix_arg(atom[0], k), tp_ix_sub(c, e, atom[0])));
  }
  return begins;
}

/* Along a dim that lies on a ring. Calls over blocks begin with one, and lie in a row; some read
 * from elsewhere on, round the ring. */
static void on_ring(
    pb *b, bool reads, tp_nd *n, const tp_ix *e, const tp_ix *width, const tp_ix *stride) {
  int along = -1;
  for (int k = 0; k < b->nlead; k++)
    if (tp_ix_mentions(e, b->leadvar[k])) along = k;
  const tp_ix *first = split_lead(b, e, stride, n->lead);
  if (!reads || along < 0 || n->wrap >= 0 || at_block(C(b), first))
    n->ring[n->nring++] = (tp_ring){ first, width, stride };
  else n->wrap = along, n->wlo = first, n->wmod = width;
}

static tp_nd nd_array(pb *b, const tp_arr *r, const tp_opnd *o, bool reads) {
  const tp_pbuf *x = b->bufof[r->id];
  tp_nd n = nd_new(b, x, o);
  n.span = TP_NEWN(b->a, const tp_ix *, 2 * r->ndim);
  n.ring = TP_NEWN(b->a, tp_ring, r->ndim);
  for (int d = 0; d < r->ndim; d++) {
    const tp_ix *e = tp_pb_here(b, o->idx[d]), *st = tp_pbuf_stride(C(b), x, d);
    int axis = -1;
    for (int k = 0; k < o->nvar; k++) {
      if (!tp_ix_mentions(e, o->var[k])) continue;
      axis = axis_of(o, k);
      e = tp_ix_sub(C(b), e, tp_ix_sym(C(b), o->var[k]));
    }
    span(b, e, axis < 0 ? NULL : n.shape[axis], &n.span[2 * d], &n.span[2 * d + 1]);
    if (is_point(x, d)) continue;
    if (is_dense(b, x, r, d)) {
      n.off = tp_ix_add(C(b), n.off, tp_ix_mul(C(b), split_lead(b, e, st, n.lead), st));
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

static tp_nd nd_scratch(pb *b, const tp_pbuf *x, const tp_opnd *o) {
  tp_nd n = nd_new(b, x, o);
  for (int k = 0; k < b->nlead; k++)
    n.lead[k] = tp_ix_add(C(b), n.lead[k], tp_pbuf_stride(C(b), x, k));
  return n;
}

/* The whole of a value as it is, for writing. */
static tp_opnd whole(
    pb *b, tp_val v, int ndim, const tp_sym *const *dims, const tp_ix *const *idx) {
  const tp_out *t = tp_outof(v);
  tp_opnd o = {
    .base = v, .rank = t->rank, .off = K(b, 0), .identity = true, .idx = (const tp_ix **)idx
  };
  o.shape = TP_NEWN(b->a, const tp_ix *, t->rank);
  o.axisvar = TP_NEWN(b->a, int, t->rank);
  for (int i = 0; i < t->rank; i++) {
    o.shape[i] = tp_at_dims(b->p, t->shape[i], ndim, dims, idx);
    o.axisvar[i] = -1;
  }
  const tp_arr *r = tp_array_of(b->p, v);
  bool apart = r && r->apart;
  o.stride = tp_pb_row_major(
      b, t->rank, apart ? tp_pb_upper(b, t->rank, t->shape, v.node->ndom, v.node->dom) : o.shape);
  return o;
}

tp_nd tp_pb_write(pb *b, const tp_access *w) {
  const tp_arr *r = b->p->arrs.v[w->arr];
  const tp_ix **idx = TP_NEWN(b->a, const tp_ix *, r->ndim);
  tp_opnd o;
  int nv = 0;
  for (int d = 0; d < r->ndim; d++) {
    idx[d] = w->at[d].lo;
    nv += w->at[d].range;
  }
  o = whole(b, r->val, r->ndim, r->dim, idx);
  for (int i = 0; i < o.rank && r->kind == TP_ARR_OUTPUT; i++)
    o.stride[i] = tp_pbuf_stride(C(b), b->bufof[r->id], r->ndim + i);
  if (!nv) return nd_array(b, r, &o, false);
  /* ranges (dims in a CALL's `over`, what an update stretches over) lead */
  tp_opnd q = o;
  q.rank = nv + o.rank;
  q.nvar = nv;
  nv = 0;
  q.shape = TP_NEWN(b->a, const tp_ix *, q.rank);
  q.stride = TP_NEWN(b->a, const tp_ix *, q.rank);
  q.axisvar = TP_NEWN(b->a, int, q.rank);
  q.var = TP_NEWN(b->a, const tp_sym *, q.nvar);
  for (int d = 0; d < r->ndim; d++) {
    if (!w->at[d].range) continue;
    q.var[nv] = tp_sym_var(C(b), "a");
    q.shape[nv] = tp_ix_extent(C(b), w->at[d].lo, w->at[d].hi, b->s->ndim, b->s->dim);
    q.stride[nv] = K(b, 0);
    q.axisvar[nv] = nv;
    idx[d] = tp_ix_add(C(b), idx[d], tp_ix_sym(C(b), q.var[nv++]));
  }
  for (int i = 0; i < o.rank; i++) {
    q.shape[nv + i] = o.shape[i];
    q.stride[nv + i] = o.stride[i];
    q.axisvar[nv + i] = -1;
  }
  return nd_array(b, r, &q, false);
}

void tp_pb_rows(pb *b, tp_pbuf *x, int rank, const tp_ix *const *shape) {
  layout(b, x, b->nlead, b->leadcap, rank, shape);
  x->order = b->leadorder;
}

static tp_pbuf *scratch_of(pb *b, int i) {
  if (b->scratch[i]) return b->scratch[i];
  const tp_node *n = b->s->node[i];
  tp_pbuf *x = tp_pb_buf(b, TP_BUF_TEMP, b->p->title[n->id], n->pos, n->out[0].dtype);
  tp_pb_rows(b, x, n->out[0].rank, tp_pb_upper_of(b, (tp_val){ (tp_node *)n, 0 }));
  return b->scratch[i] = x;
}

static tp_nd nd_scratch_out(pb *b, int i) {
  tp_node *n = b->s->node[i];
  tp_opnd o = whole(b, tp_v(n), n->ndom, n->dom, b->s->nodeat[i]);
  return nd_scratch(b, scratch_of(b, i), &o);
}

/* ---- regions ---- */

static const tp_access *target(const tp_stmt *s);

/* Does node i's value lie where the result comes to lie? */
static bool is_in_place(const pb *b, int i) { return i < TP_PLACES && b->s->there >> i & 1; }

/* What an operand shows of the value that lies there. */
static tp_nd nd_there(pb *b, const tp_opnd *o) {
  const tp_access *w = target(b->s);
  const tp_arr *r = b->p->arrs.v[w->arr];
  tp_opnd q = *o;
  q.base = r->val;
  q.idx = TP_NEWN(b->a, const tp_ix *, r->ndim);
  for (int d = 0; d < r->ndim; d++) q.idx[d] = w->at[d].lo;
  return nd_array(b, r, &q, false);
}

static tp_nd nd_value(pb *b, int i) {
  return is_in_place(b, i) ? tp_pb_write(b, target(b->s)) : nd_scratch_out(b, i);
}

/* A value that lies where the result does is seen once. */
static bool fill_value(pb *b, int i) {
  return b->scratch[i] || tp_pb_fill(b, b->s->node[i], b->s->node[i]->attr.f[0], nd_value(b, i));
}

/* Where an operand's elements are: an array, or the scratch of a node of the cluster. */
static tp_nd nd_operand(pb *b, const tp_opnd *o) {
  int i = tp_stmt_find(b->s, o);
  if (i >= 0) {
    /* b->err, if it cannot be */
    if (b->s->node[i]->op == TP_OP_FILL) (void)fill_value(b, i);
    if (is_in_place(b, i)) return nd_there(b, o);
    return nd_scratch(b, scratch_of(b, i), o);
  }
  return nd_array(b, tp_array_of(b->p, o->base), o, true);
}

static bool is_ew(const tp_node *n) { return tp_op_is_elementwise(n->op); }

/* ---- points of errors ---- */

/* Is every element of v known and, as a divisor or an exponent, harmless? */
static bool harmless(tp_op op, tp_val v) {
  const tp_node *n = v.node;
  const tp_array *a = n->op == TP_OP_CONST ? n->attr.data : NULL;
  if (n->op != TP_OP_FILL && !a) return false;
  for (int64_t i = 0; i < (a ? a->count : 1); i++) {
    int64_t x = a ? tp_geti(a->dtype, a->data, i) : tp_f64_to_i64(n->attr.f[0]);
    if (op == TP_OP_POW ? x < 0 : x == 0) return false;
  }
  return true;
}

bool tp_pb_is_over(const tp_node *n, const tp_sym *d) {
  return tp_dom_has(n->attr.nover, n->attr.over, d);
}

/* It is a region of its own, whose operands and result can be looked at. */
static bool watched(const tp_node *n) { return n->attr.check == TP_CHECK_NAN; }

/* Can data make it fail while running? Then its region knows its point. Of extents nothing is known
 * here, nor of an environment's actions. */
static bool may_fail(const tp_node *n) {
  if (watched(n)) return true;
  switch (tp_ops[n->op].cls) {
  case TP_CLS_BIN:
    return (n->op == TP_OP_MOD || n->op == TP_OP_FLOORDIV || n->op == TP_OP_POW) &&
        !tp_dtype_float(n->out[0].dtype) && !harmless(n->op, n->in[1].src);
  case TP_CLS_RED:
    return (n->op == TP_OP_MAX || n->op == TP_OP_MIN) && !tp_dtype_float(n->out[0].dtype);
  case TP_CLS_ARG:
  case TP_CLS_GATH:
  case TP_CLS_ENV: return true;
  default: return n->op == TP_OP_RAND;
  }
}

static void point(pb *b, tp_region *r, int i) {
  const tp_node *n = b->s->node[i];
  r->coord = TP_NEWN(b->a, const tp_ix *, n->ndom);
  r->dim = TP_NEWN(b->a, const tp_sym *, n->ndom);
  for (int d = 0; d < n->ndom; d++) {
    if (tp_pb_is_over(n, n->dom[d])) continue;
    r->dim[r->ncoord] = n->dom[d];
    r->coord[r->ncoord++] = tp_pb_here(b, b->s->nodeat[i][d]);
  }
}

/* Messages name its operands. */
static void watch(pb *b, tp_region *r, const tp_node *n) {
  if (!(r->check = watched(n))) return;
  r->said = TP_NEWN(b->a, tp_who, n->nin);
  for (r->nsaid = 0; r->nsaid < n->nin; r->nsaid++)
    r->said[r->nsaid] = tp_who_of(n->in[r->nsaid].src.node);
}

/* ---- elementwise groups ---- */

static bool same_shape(const tp_opnd *a, const tp_opnd *c) {
  if (a->rank != c->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->shape[i] != c->shape[i]) return false;
  return true;
}

static void group_open(pb *b, int i) {
  b->g.first = b->g.n = 0;
  b->g.open = true;
  tp_node *n = b->s->node[i];
  b->g.shape = whole(b, tp_v(n), n->ndom, n->dom, b->s->nodeat[i]);
  b->g.nin = 0;
  b->g.in = NULL;
}

static int group_find(const pb *b, int i) {
  for (int k = 0; k < b->g.n; k++)
    if (b->g.node[k] == i) return k;
  return -1;
}

/* Results that something outside the group wants go out; then the region is made. Inputs that
 * mention scratch come first (fill). */
static bool group_close(pb *b) {
  if (!b->g.open) return true;
  b->g.open = false;
  tp_region *r = tp_pb_region(b, TP_RG_LOOP, NULL);
  const tp_node *last = b->s->node[b->g.node[b->g.n - 1]];
  tp_pb_whose(r, last);
  if (may_fail(last)) point(b, r, b->g.node[b->g.n - 1]);
  watch(b, r, last);
  r->in = b->g.in;
  r->nin = b->g.nin;
  r->micro = tp_dup(b->a, b->g.micro, sizeof *b->g.micro * (size_t)b->g.nmicro);
  r->nmicro = b->g.nmicro;
  /* micro references were kept as negative numbers until nin was known */
  for (int k = 0; k < r->nmicro; k++)
    for (int j = 0; j < 3; j++)
      if (r->micro[k].in[j] < 0) r->micro[k].in[j] = r->nin + (-1 - r->micro[k].in[j]);
  int outs[TP_GROUP];
  for (int k = 0; k < b->g.n; k++) {
    int i = b->g.node[k];
    bool final = i == b->final;
    if (final) {
      r->acc = b->final_acc;
      r->red = b->final_red;
    }
    if (!final && b->uses[i] <= b->g.node[b->g.n - 1] && !b->g.leaks[k]) continue;
    tp_pb_put(b, &r->out, &r->nout, final ? b->final_nd : nd_value(b, i));
    outs[r->nout - 1] = b->g.micro_of[k];
  }
  r->outmicro = tp_dup(b->a, outs, sizeof *outs * (size_t)r->nout);
  return tp_pb_loop(b, r, r->out[0].rank, r->out[0].shape, 0, false);
}

static bool group_add(pb *b, int i) {
  const tp_node *n = b->s->node[i];
  tp_opnd o[3], self = whole(b, tp_v((tp_node *)n), n->ndom, n->dom, b->s->nodeat[i]);
  bool fits = b->g.open && !watched(n) && same_shape(&b->g.shape, &self) && b->g.n < TP_GROUP - 1 &&
      b->g.nmicro < 3 * TP_GROUP;
  if (b->final_acc && b->final == i) /* an accumulation is its region's only result */
    for (int k = 0; k < b->g.n && fits; k++) fits = b->uses[b->g.node[k]] <= i && !b->g.leaks[k];
  for (int k = 0; k < n->nin; k++) {
    if (!tp_stmt_operand(b->p, b->s, i, k, &o[k], b->err)) return false;
    int j = tp_stmt_find(b->s, &o[k]);
    if (fits && j >= 0 && group_find(b, j) >= 0 && !o[k].identity) fits = false;
  }
  if (!fits) {
    if (!group_close(b)) return false;
    group_open(b, i);
    b->g.nmicro = 0;
  }
  tp_micro m = { .op = n->op, .dtype = n->out[0].dtype };
  for (int k = 0; k < n->nin; k++) {
    int j = tp_stmt_find(b->s, &o[k]), at = j < 0 ? -1 : group_find(b, j);
    if (at >= 0) m.in[k] = -1 - b->g.micro_of[at];
    else if (j >= 0 && b->s->node[j]->op == TP_OP_FILL) {
      b->g.micro[b->g.nmicro] = (tp_micro){
        .op = TP_OP_FILL, .dtype = b->s->node[j]->out[0].dtype, .f = b->s->node[j]->attr.f[0]
      };
      m.in[k] = -1 - b->g.nmicro++;
    } else {
      tp_pb_put(b, &b->g.in, &b->g.nin, nd_operand(b, &o[k]));
      m.in[k] = b->g.nin - 1;
    }
  }
  b->g.leaks[b->g.n] = b->leaks[i];
  b->g.micro_of[b->g.n] = b->g.nmicro;
  b->g.node[b->g.n++] = i;
  b->g.micro[b->g.nmicro++] = m;
  /* the region's name, line and point are those of its last operator */
  return !may_fail(n) || group_close(b);
}

static void call_of(pb *b, tp_region *r, const tp_node *n) {
  r->call = b->pl->calls.n;
  TP_PUSH(b->a, &b->pl->calls, tp_callee_of(b->a, n));
  if (n->attr.nover && b->graph->stops.n) tp_pb_ended_rows(b, r, n);
}

/* ---- other operators ---- */

static void exprs(pb *b, tp_region *r, int i) {
  const tp_node *n = b->s->node[i];
  r->nix = n->attr.nix;
  r->ix = TP_NEWN(b->a, const tp_ix *, r->nix);
  for (int k = 0; k < r->nix; k++)
    r->ix[k] = tp_pb_here(b, tp_at_point(b->p, n, n->attr.ix[k], b->s->nodeat[i]));
  if (n->op == TP_OP_CALL || may_fail(n)) point(b, r, i);
  watch(b, r, n);
}

/* The loaded array of a PINIT of this cluster. */
static tp_nd nd_loaded(pb *b, const tp_node *n) {
  for (int k = 0; k < b->s->nacc; k++) {
    const tp_access *x = &b->s->acc[k];
    if (x->kind == TP_ACC_READ && b->p->arrs.v[x->arr]->kind == TP_ARR_PARAM &&
        b->p->arrs.v[x->arr]->val.node == n)
      return tp_pb_write(b, x);
  }
  (void)TP_NEVER(true);
  return (tp_nd){ .buf = -1, .wrap = -1 };
}

static bool is_loop(tp_op op) {
  return tp_ops[op].cls == TP_CLS_RED || op == TP_OP_READ || op == TP_OP_DETACH ||
      op == TP_OP_VALUE || op == TP_OP_IOTA;
}

/* Numbers that a node stands for, over variables. */
static tp_micro number_of(pb *b, int i, const tp_ix *e) {
  return (tp_micro){ .op = TP_OP_VALUE, .dtype = b->s->node[i]->out[0].dtype, .ix = e };
}

/* Reductions, numbers, and what is stored as it is. */
static bool op_loop(pb *b, tp_region *r, int i) {
  const tp_node *n = b->s->node[i];
  uint32_t gone = 0;
  if (n->op == TP_OP_VALUE || n->op == TP_OP_IOTA) {
    tp_micro m = number_of(
        b, i, n->op == TP_OP_VALUE ? r->ix[0] : tp_ix_sym(C(b), tp_pb_axis(b, n->attr.axis)));
    r->nix = 0;
    tp_pb_micros(b, r, 1, &m);
    return tp_pb_loop(b, r, r->out[0].rank, r->out[0].shape, 0, false);
  }
  bool reduces = tp_ops[n->op].cls == TP_CLS_RED;
  for (int k = 0; k < n->attr.naxes && reduces; k++) gone |= 1u << n->attr.axes[k];
  if (reduces) r->red = tp_op_red(n->op), r->how.keepdim = r->check && n->attr.keepdim;
  r->outmicro = TP_NEW(b->a, int);
  return tp_pb_loop(b, r, r->in[0].rank, r->in[0].shape, gone, n->attr.keepdim);
}

static void result_windows(pb *b, int i, tp_nd **out, int *nout) {
  if (i == b->final) tp_pb_put(b, out, nout, b->final_nd);
  else if (i < b->s->nnode - 1 || b->s->src.node) tp_pb_put(b, out, nout, nd_value(b, i));
  else
    for (int k = 0; k < b->s->nacc; k++)
      if (b->s->acc[k].kind == TP_ACC_WRITE) tp_pb_put(b, out, nout, tp_pb_write(b, &b->s->acc[k]));
}

/* Where it adds: the first axes of what is added go along the dims of a range. */
static void point_of_sum(pb *b, tp_region *r) {
  const tp_access *w = target(b->s);
  const tp_node *n = b->s->into;
  r->check = true;
  tp_pb_whose(r, n);
  r->coord = TP_NEWN(b->a, const tp_ix *, n->ndom);
  r->dim = (const tp_sym **)n->dom;
  for (int d = 0; d < n->ndom; d++) {
    r->along |= (uint32_t)w->at[d].range << d;
    r->coord[r->ncoord++] = tp_pb_here(b, w->at[d].lo);
  }
}

static bool add_to(pb *b, tp_nd in, tp_nd to) {
  tp_region *r = tp_pb_region(b, TP_RG_LOOP, b->s->src.node);
  if (b->s->pos.file) r->pos = b->s->pos;
  if (watched(b->s->into)) point_of_sum(b, r);
  tp_pb_put(b, &r->in, &r->nin, in);
  tp_pb_put(b, &r->out, &r->nout, to);
  r->acc = true;
  r->red = b->s->into->attr.red;
  tp_pb_micros(b, r, 1, &(tp_micro){ .op = TP_OP_DETACH, .dtype = tp_dtypeof(b->s->src) });
  return tp_pb_loop(b, r, to.rank, to.shape, 0, false);
}

/* What zeros lie around is added where it is. */
static bool add_padded(pb *b, int i, const tp_nd *in, const tp_nd *out) {
  const tp_node *n = b->s->node[i];
  const tp_ix *lo = tp_pb_here(b, tp_at_point(b->p, n, n->attr.ix[0], b->s->nodeat[i]));
  tp_nd x = *in, to = *out;
  const tp_ix *at = split_lead(b, lo, out->stride[n->attr.axis], to.lead);
  if (at == lo) tp_pb_inside(b, n->attr.axis, lo, &x, &to);
  else to = tp_pb_part(b, &to, n->attr.axis, at, x.shape[n->attr.axis]);
  return add_to(b, x, to);
}

/* Leaves of this statement that make, for pinit, what a loaded array takes the place of. */
static void mark_first(pb *b, const tp_region *pinit) {
  for (int i = 0; i < b->leaves.n; i++) {
    tp_region *r = b->leaves.v[i]->rg;
    bool own = r && (r->kind == TP_RG_LOOP || r->kind == TP_RG_OP) && !r->check && r->nout == 1;
    if (own && r->out[0].buf == pinit->in[0].buf) r->first = true;
  }
}

static bool op_region(pb *b, int i) {
  tp_node *n = b->s->node[i];
  tp_nd *in = NULL, *out = NULL;
  int nin = 0, nout = 0;
  /* to what there is, in place of zeros */
  bool adds = i == b->adder && n->op != TP_OP_PAD;
  if (adds) tp_pb_put(b, &in, &nin, b->final_nd);
  for (int k = adds; k < n->nin; k++) {
    tp_opnd o;
    if (!tp_stmt_operand(b->p, b->s, i, k, &o, b->err)) return false;
    tp_pb_put(b, &in, &nin, nd_operand(b, &o));
  }
  result_windows(b, i, &out, &nout);
  if (n->op == TP_OP_PAD && i == b->adder) return add_padded(b, i, in, out);
  if (n->op == TP_OP_PAD)
    return tp_pb_pad(
        b, n, tp_pb_here(b, tp_at_point(b->p, n, n->attr.ix[0], b->s->nodeat[i])), in, out);
  if (n->op == TP_OP_CONCAT) return tp_pb_concat(b, n, nin, in, out);
  if (n->op == TP_OP_RESHAPE) return tp_pb_reshape(b, n, *in, *out);
  if (n->op == TP_OP_PINIT) tp_pb_put(b, &in, &nin, nd_loaded(b, n));
  tp_region *r = tp_pb_region(b,
      is_loop(n->op)             ? TP_RG_LOOP
          : n->op == TP_OP_CALL  ? TP_RG_CALL
          : n->op == TP_OP_PINIT ? TP_RG_PINIT
                                 : TP_RG_OP,
      n);
  r->in = in, r->nin = nin;
  r->out = out, r->nout = nout;
  if (r->kind == TP_RG_OP) r->op = n->op, r->how = n->attr.how;
  if (n->op == TP_OP_PINIT && i == b->s->nnode - 1) mark_first(b, r);
  exprs(b, r, i);
  if (n->op == TP_OP_CALL) call_of(b, r, n);
  if (i == b->final && i != b->adder) r->acc = b->final_acc, r->red = b->final_red;
  return !is_loop(n->op) || op_loop(b, r, i);
}

/* ---- contributions under a condition ---- */

static bool is_identity(tp_val v, tp_red red) {
  while (v.node->op == TP_OP_EXPAND) v = v.node->in[0].src;
  return v.node->op == TP_OP_FILL && v.node->attr.f[0] == tp_red_identity(red, tp_dtypeof(v));
}

static bool same_for_all(const pb *b, const tp_nd *x) {
  bool same = x->rank == 0;
  for (int k = 0; k < b->nlead; k++) same &= x->lead[k] == K(b, 0);
  return same;
}

/* Is what is added where(c, x, nothing), with an array's c that the call does not vary? Then *c is
 * where it lies. */
static bool find_unless(pb *b, tp_nd *c) {
  const tp_stmt *s = b->s;
  tp_opnd o, x;
  b->unless = -1;
  if (s->kind != TP_ST_ACC || s->nrow || !tp_stmt_src(b->p, s, &o, b->err)) return !b->err->code;
  int i = tp_stmt_find(s, &o);
  if (i < 0 || i != s->nnode - 1 || !o.identity || s->node[i]->op != TP_OP_SELECT ||
      !is_identity(s->node[i]->in[2].src, s->into->attr.red))
    return true;
  tp_opnd self = whole(b, tp_v(s->node[i]), s->node[i]->ndom, s->node[i]->dom, s->nodeat[i]);
  if (!tp_stmt_operand(b->p, s, i, 0, &o, b->err) || !tp_stmt_operand(b->p, s, i, 1, &x, b->err))
    return false;
  if (tp_stmt_find(s, &o) >= 0 || !same_shape(&self, &x)) return true;
  tp_nd cond = nd_array(b, tp_array_of(b->p, o.base), &o, true);
  if (!same_for_all(b, &cond)) return true;
  *c = cond;
  b->unless = i;
  return true;
}

/* What the statement finally writes. */
static bool source(pb *b, tp_opnd *o) {
  return b->unless >= 0 ? tp_stmt_operand(b->p, b->s, b->unless, 1, o, b->err)
                        : tp_stmt_src(b->p, b->s, o, b->err);
}

/* ---- the result ---- */

static const tp_access *target(const tp_stmt *s) {
  for (int k = 0; k < s->nacc; k++)
    if (s->acc[k].kind != TP_ACC_READ) return &s->acc[k];
  return NULL;
}

static bool find_adder(pb *b) {
  tp_opnd o;
  b->adder = -1;
  if (b->s->kind != TP_ST_ACC) return true;
  if (!source(b, &o)) return false;
  int i = tp_stmt_find(b->s, &o);
  if (i >= 0 && o.identity && tp_adds_part(b->p->g, b->s, b->s->node[i])) b->adder = i;
  return true;
}

static bool accumulates_itself(const pb *b, int i, const tp_node *into, tp_red red) {
  const tp_node *n = b->s->node[i];
  if (watched(n) || watched(into)) return false;
  return i == b->adder || is_ew(n) ||
      (red == TP_RED_SUM &&
          (n->op == TP_OP_MATMUL || n->op == TP_OP_CONV_WEIGHT || n->op == TP_OP_SUM));
}

/* Can the cluster's node write the result itself? Then b->final is it. */
static bool choose_final(pb *b) {
  const tp_stmt *s = b->s;
  b->final = -1;
  b->final_acc = false;
  /* a plain operator: the last node writes; several outputs are op_region's */
  if (!s->src.node) {
    if (s->nnode && is_ew(s->node[s->nnode - 1])) {
      b->final = s->nnode - 1;
      b->final_nd = tp_pb_write(b, target(s));
    }
    return true;
  }
  tp_opnd o;
  if (!source(b, &o)) return false;
  int i = tp_stmt_find(s, &o);
  if (i < 0) return true;
  b->uses[i] = s->nnode;
  tp_red red = s->kind == TP_ST_ACC ? s->into->attr.red : TP_RED_SUM;
  if (!o.identity || s->nrow || s->node[i]->op == TP_OP_FILL ||
      (s->kind == TP_ST_ACC && !accumulates_itself(b, i, s->into, red))) {
    b->leaks[i] = true;
    return true;
  }
  if (b->nuse[i]) {
    b->leaks[i] = true;
    return true;
  }
  b->final = i;
  b->final_nd = tp_pb_write(b, target(s));
  b->final_acc = s->kind == TP_ST_ACC;
  b->final_red = red;
  return true;
}

static bool count_uses(pb *b) {
  const tp_stmt *s = b->s;
  b->leaks = TP_NEWN(b->a, bool, s->nnode);
  b->nuse = TP_NEWN(b->a, int, s->nnode);
  for (int i = 0; i < s->nnode; i++)
    for (int k = i == b->adder && s->node[i]->op != TP_OP_PAD;
         k < s->node[i]->nin && i != b->unless; k++) {
      tp_opnd o;
      if (!tp_stmt_operand(b->p, s, i, k, &o, b->err)) return false;
      int j = tp_stmt_find(s, &o);
      if (j < 0) continue;
      b->uses[j] = TP_MAX(b->uses[j], i);
      b->nuse[j]++;
      if (!o.identity || !is_ew(s->node[i])) b->leaks[j] = true;
    }
  return true;
}

static void drop_rows(pb *b, tp_nd *n) {
  for (int k = 0; k < b->s->nrow; k++) {
    const tp_ix *e = split_lead(b, tp_pb_here(b, b->s->row[k]), n->stride[k], n->lead);
    n->off = tp_ix_add(C(b), n->off, tp_ix_mul(C(b), e, n->stride[k]));
  }
  n->rank -= b->s->nrow;
  n->shape += b->s->nrow;
  n->stride += b->s->nrow;
}

static bool fill_target(pb *b, const tp_node *n) {
  return tp_pb_fill(b, n, n->attr.f[0], tp_pb_write(b, target(b->s)));
}

/* A value that keeps its place. */
static bool is_there(const tp_nd *from, const tp_nd *to) {
  bool same = tp_same_start(from, to) && from->rank == to->rank;
  for (int k = 0; same && k < from->rank; k++)
    same = from->stride[k] == to->stride[k] && from->shape[k] == to->shape[k];
  return same;
}

static bool final_copy(pb *b) {
  const tp_stmt *s = b->s;
  if (!s->src.node || b->final >= 0) return true;
  tp_opnd o;
  if (!source(b, &o)) return false;
  int i = tp_stmt_find(s, &o);
  if (i >= 0 && s->node[i]->op == TP_OP_FILL && s->kind != TP_ST_ACC)
    return fill_target(b, s->node[i]);
  /* of these axes one row is taken */
  for (int k = 0; k < s->nrow; k++) o.shape[k] = K(b, 1);
  tp_nd in = nd_operand(b, &o);
  drop_rows(b, &in);
  tp_nd to = tp_pb_write(b, target(s));
  if (s->kind != TP_ST_ACC && !b->nlead && is_there(&in, &to)) return true;
  if (s->kind != TP_ST_ACC) return tp_pb_copy(b, s->src.node, in, to);
  return add_to(b, in, to);
}

/* ---- the newest values of parameters: they lie in a buffer that holds nothing else, or are copied
 * to the place of the last one too ---- */

/* Is a new value made whole, by one leaf, in a place of its own? */
static bool is_made_at_once(const pb *b, int arr) {
  int n = 0;
  for (int i = 0; i < b->p->arrs.n; i++) n += b->bufof[i] == b->bufof[arr];
  for (int i = 0; i < b->leaves.n; i++) {
    const tp_region *r = b->leaves.v[i]->rg;
    for (int o = 0; r && !r->first && o < r->nout; o++) n += r->out[o].buf == b->bufof[arr]->id;
    n += !r;
  }
  return n == 2;
}

/* Do both buffers have one value, laid out alike? */
static bool lies_alike(const pb *b, const tp_arr *from, const tp_arr *to) {
  const tp_pbuf *x = b->bufof[from->id], *y = b->bufof[to->id];
  int k = 0;
  for (int d = 0; d < from->ndim; d++)
    if (k < to->ndim && from->dim[d] == to->dim[k] && x->slots[d] == y->slots[k]) k++;
    else if (x->slots[d] != K(b, 1)) return false;
  for (int i = 0; i < to->rank; i++)
    if (x->slots[x->ndim + i] != y->slots[y->ndim + i]) return false;
  return x->kind == TP_BUF_TEMP && x->size == y->size && k == to->ndim && !x->order && !y->order;
}

static bool reads_array(const tp_stmt *s, int arr) {
  bool any = false;
  for (int a = 0; a < s->nacc; a++) any |= s->acc[a].kind == TP_ACC_READ && s->acc[a].arr == arr;
  return any;
}

/* Does anything read the array? Where only the last value is wanted, what the new one is made of
 * must, as then each value stays until the next. */
static bool is_carried(const pb *b, int arr) {
  bool any = reads_array(b->s, arr);
  for (int i = 0; i < b->p->stmts.n && !any; i++) {
    const tp_stmt *s = b->p->stmts.v[i];
    any = reads_array(s, arr) &&
        (b->p->keeps ||
            (s->nacc && s->acc[0].kind != TP_ACC_READ && reads_array(b->s, s->acc[0].arr)));
  }
  return any;
}

enum { NEVER_HOLDS = -2 };

static void hold_newest(pb *b, const tp_arr *from, const tp_arr *to) {
  tp_pbuf *x = b->bufof[from->id];
  if (x->holds == NEVER_HOLDS || !lies_alike(b, from, to) || !is_carried(b, from->id)) return;
  x->holds = is_made_at_once(b, from->id) ? to->slot : NEVER_HOLDS;
}

/* What several leaves of a statement write, or one adds to, is in between no value. */
static void note_parts(pb *b) {
  for (int i = 0; i < b->leaves.n; i++) {
    const tp_region *r = b->leaves.v[i]->rg, *s;
    for (int o = 0; r && !r->first && o < r->nout; o++) {
      bool part = r->acc && r->out[o].buf >= 0;
      for (int j = 0; j < i && r->out[o].buf >= 0; j++)
        for (int q = 0; (s = b->leaves.v[j]->rg) && !s->first && q < s->nout; q++)
          part |= s->out[q].buf == r->out[o].buf;
      if (part) b->pl->bufs.v[r->out[o].buf]->holds = NEVER_HOLDS;
    }
  }
}

static bool copy_newest(pb *b) {
  const tp_stmt *s = b->s;
  const tp_arr *to = tp_newest_in(b->p, s);
  const tp_access *w = target(s);
  if (!to) return true;
  const tp_arr *from = b->p->arrs.v[w->arr];
  if (!b->s->nnode || b->s->node[b->s->nnode - 1]->op != TP_OP_PINIT) hold_newest(b, from, to);
  if (!b->p->keeps) return true;
  const tp_ix **idx = TP_NEWN(b->a, const tp_ix *, to->ndim);
  for (int d = 0; d < to->ndim; d++)
    for (int e = 0; e < from->ndim; e++)
      if (from->dim[e] == to->dim[d]) idx[d] = w->at[e].lo;
  tp_opnd o = whole(b, to->val, to->ndim, to->dim, idx);
  if (!tp_pb_copy(b, s->into, tp_pb_write(b, w), nd_array(b, to, &o, true))) return false;
  TP_PUSH(b->a, &b->copies, b->leaves.v[b->leaves.n - 1]);
  return true;
}

static void drop_copies(pb *b) {
  for (int i = 0; i < b->copies.n; i++)
    if (b->pl->bufs.v[b->copies.v[i]->rg->in[0].buf]->holds >= 0)
      *b->copies.v[i] = (tp_pnode){ .kind = TP_P_SEQ };
}

static tp_pnode *seq(pb *b, int n, tp_pnode **kid) {
  if (n == 1) return kid[0];
  tp_pnode *x = TP_NEW(b->a, tp_pnode);
  *x = (tp_pnode){ .kind = TP_P_SEQ, .n = n, .kid = kid };
  return x;
}

/* The leaves that there are now run only if c holds. */
static void run_if(pb *b, tp_nd c) {
  const tp_sym *v = tp_sym_var(C(b), "c");
  tp_pnode *load = TP_NEW(b->a, tp_pnode), *cond = TP_NEW(b->a, tp_pnode);
  *load = (tp_pnode){ .kind = TP_P_LOAD, .var = v, .given = K(b, 1), .nd = c };
  *cond = (tp_pnode){ .kind = TP_P_IF,
    .n = 1,
    .kid = TP_NEW(b->a, tp_pnode *),
    .cond = tp_ix_cmp(C(b), TP_GE, tp_ix_sym(C(b), v), K(b, 1)) };
  *cond->kid = seq(b, b->leaves.n, b->leaves.v);
  b->leaves.v = NULL;
  b->leaves.n = b->leaves.cap = 0;
  TP_PUSH(b->a, &b->leaves, load);
  TP_PUSH(b->a, &b->leaves, cond);
}

static bool stmt_regions(pb *b, const tp_tree *t) {
  open_stmt(b, t);
  const tp_stmt *s = b->s;
  tp_nd cond = { .buf = -1 };
  if (s->kind == TP_ST_INIT) {
    bool ok = tp_pb_fill(b, s->into, tp_red_identity(s->into->attr.red, s->into->out[0].dtype),
        tp_pb_write(b, target(s)));
    if (s->pos.file) b->leaves.v[b->leaves.n - 1]->rg->pos = s->pos;
    return ok;
  }
  if (!find_unless(b, &cond) || !find_adder(b) || !count_uses(b) || !choose_final(b)) return false;
  for (int i = 0; i < s->nnode; i++) {
    tp_node *n = s->node[i];
    if (i == b->unless) continue;
    if (is_ew(n)) {
      if (!group_add(b, i)) return false;
      continue;
    }
    /* made where it is wanted */
    if (n->op == TP_OP_FILL && (s->src.node || i < s->nnode - 1)) continue;
    if (!group_close(b) || !(n->op == TP_OP_FILL ? fill_target(b, n) : op_region(b, i)))
      return false;
  }
  if (!group_close(b) || !final_copy(b)) return false;
  note_parts(b);
  if (b->unless >= 0) run_if(b, cond);
  return copy_newest(b) && !b->err->code;
}

/* ---- the tree ---- */

static tp_pnode *after_loads(pb *b, tp_pnode *x) {
  tp_pnodes v = { 0 };
  tp_pb_loads(b, &v);
  TP_PUSH(b->a, &v, x);
  return seq(b, v.n, v.v);
}

/* A loop's end is looked at after each iteration, and may have come nearer by then. What is wanted
 * stays so. */
static tp_pnode *before_loads(pb *b, tp_pnode *x) {
  tp_pnodes v = { 0 };
  int n = b->nendvar;
  bool *wanted = tp_dup(b->a, b->wanted, sizeof *wanted * (size_t)n);
  TP_PUSH(b->a, &v, x);
  tp_pb_loads(b, &v);
  if (n) memcpy(b->wanted, wanted, sizeof *wanted * (size_t)n);
  return seq(b, v.n, v.v);
}

/* In the loop of ticks: what may wait, or what waits for it (behind.c). */
static tp_pnode *in_its_body(pb *b, tp_pnode *x) {
  if (!b->p->lag || !b->s->tickrow) return x;
  const tp_ix *row = tp_pb_here(b, b->s->tickrow);
  tp_pnode *side = TP_NEW(b->a, tp_pnode), *kid[] = { side, x };
  if (b->s->far)
    *side = (tp_pnode){ .kind = TP_P_BEHIND, .n = 1, .kid = tp_dup(b->a, &x, sizeof x), .lo = row };
  else *side = (tp_pnode){ .kind = TP_P_WAIT, .lo = tp_ix_addc(C(b), row, -b->p->lag) };
  return b->s->far ? side : seq(b, 2, tp_dup(b->a, kid, sizeof kid));
}

static tp_pnode *build_run(pb *b, const tp_tree *t) {
  b->leaves.v = NULL;
  b->leaves.n = b->leaves.cap = 0;
  if (!stmt_regions(b, t)) return NULL;
  tp_pnode *x = after_loads(b, in_its_body(b, seq(b, b->leaves.n, b->leaves.v)));
  for (int i = 0; b->s->kind == TP_ST_INIT && i < b->p->g->stops.n; i++)
    b->begun[i] |= b->p->g->stops.v[i].end == b->s->into;
  return x;
}

static bool are_empty(int n, tp_pnode *const *kid) {
  bool all = true;
  for (int i = 0; i < n; i++) all &= kid[i]->kind == TP_P_SEQ && are_empty(kid[i]->n, kid[i]->kid);
  return all;
}

/* May the loop's turns be one region, that moves along each ring it goes over? Slots of a block
 * follow each other. */
static bool goes_straight(const pb *b, const tp_stmt *s, const tp_region *r, const tp_sym *var) {
  bool straight = true;
  for (int i = 0; i < r->nin + r->nout && straight; i++) {
    const tp_nd *x = tp_window_at(r, i);
    const tp_arr *arr = x->buf >= 0 && x->buf < b->p->arrs.n ? b->p->arrs.v[x->buf] : NULL;
    straight = x->wrap < 0;
    for (int k = 0; k < x->nring && straight; k++) {
      int64_t by, shift, block = s->block;
      const tp_ix *rest;
      if (!tp_ix_mentions(x->ring[k].idx, var)) continue;
      straight = arr && arr->align && tp_ix_linear_in(C(b), x->ring[k].idx, var, &by, &rest) &&
          by == 1 && tp_ix_is_const(tp_ix_sub(C(b), rest, s->bshift), &shift) && shift % block == 0;
      for (int d = 0; d < arr->ndim && straight; d++)
        if (b->bufof[x->buf]->slots[d] == x->ring[k].width)
          straight = arr->align[d] > 0 && arr->align[d] % block == 0;
    }
  }
  return straight;
}

/* A loop that a statement has for itself over the rows of a block. */
static bool is_of_rows(const pb *b, const tp_tree *t, const tp_pnode *body) {
  const tp_stmt *s = t->kind == TP_T_FOR && t->n == 1 && t->kid[0]->kind == TP_T_RUN
      ? b->p->stmts.v[t->kid[0]->stmt]
      : NULL;
  bool is = s && s->rdim >= 0 && (body->kind == TP_P_REGION || body->kind == TP_P_SEQ);
  for (int i = 0; is && i < (body->kind == TP_P_SEQ ? body->n : 1); i++) {
    const tp_pnode *leaf = body->kind == TP_P_SEQ ? body->kid[i] : body;
    is = leaf->kind == TP_P_REGION && goes_straight(b, s, leaf->rg, t->var);
  }
  return is;
}

static tp_pnode *build(pb *b, const tp_tree *t) {
  if (t->kind == TP_T_RUN) return build_run(b, t);
  tp_pnode **kid = TP_NEWN(b->a, tp_pnode *, t->n);
  /* as it is in front */
  bool *begun = tp_dup(b->a, b->begun, sizeof *begun * (size_t)b->p->g->stops.n),
       *inside = b->begun;
  for (int i = 0; i < t->n; i++)
    if (!(kid[i] = build(b, t->kid[i]))) return NULL;
  if (t->kind == TP_T_SEQ || are_empty(t->n, kid))
    return seq(b, t->kind == TP_T_SEQ ? t->n : 0, kid);
  int n = t->n == 2 && are_empty(1, kid + 1) ? 1 : t->n; /* an `else` with nothing in it */
  tp_pnode *x = TP_NEW(b->a, tp_pnode);
  *x = (tp_pnode){ .kind = t->kind == TP_T_FOR ? TP_P_FOR : TP_P_IF,
    .n = n,
    .kid = kid,
    .var = t->var,
    .lo = t->lo,
    .hi = t->hi,
    .step = t->step,
    .label = t->label,
    .independent = t->independent,
    .cond = t->kind == TP_T_IF ? t->cond : NULL };
  x->block = is_of_rows(b, t, kid[0]);
  if (!b->p->ends.n) return x;
  x->lo = ends_loaded(b, x->lo), x->hi = ends_loaded(b, x->hi), x->cond = ends_loaded(b, x->cond);
  if (t->kind == TP_T_FOR && t->step > 0) kid[0] = before_loads(b, kid[0]);
  b->begun = begun;
  x = after_loads(b, x);
  b->begun = inside;
  return x;
}

/* ---- the whole ---- */

/* Extents of outputs are over what the call gave: nobody knows more before. */
static void note_products(pb *b) {
  const tp_graph *g = b->graph;
  const tp_sym **from = TP_NEWN(b->a, const tp_sym *, g->stops.n);
  const tp_ix **to = TP_NEWN(b->a, const tp_ix *, g->stops.n);
  for (int i = 0; i < g->stops.n; i++) {
    const tp_sym *bound = g->stops.v[i].dim->bound;
    if (!g->stops.v[i].ndom) TP_PUSH(b->a, &b->pl->ends, (tp_pend){ bound, NULL });
    for (int d = 0; d < g->stops.v[i].ndom; d++)
      TP_PUSH(b->a, &b->pl->ends, (tp_pend){ bound, g->stops.v[i].dom[d]->bound });
    from[i] = g->stops.v[i].sym == bound ? g->stops.v[i].given : g->stops.v[i].sym;
    to[i] = tp_ix_sym(C(b), bound);
  }
  for (int i = 0; i < g->outputs.n; i++) {
    tp_product o = tp_product_of(g, i);
    const tp_ix **shape = TP_NEWN(b->a, const tp_ix *, o.type.rank);
    for (int k = 0; k < o.type.rank; k++)
      shape[k] = tp_ix_subst(C(b), o.type.shape[k], g->stops.n, from, to);
    o.type.shape = shape;
    TP_PUSH(b->a, &b->pl->products, o);
  }
}

tp_plan *tp_plan_build(tp_graph *g, tp_poly *p, const tp_planned *asked, tp_error *err) {
  tp_plan *pl = TP_NEW(p->a, tp_plan);
  pl->ix = g->ix;
  pl->a = p->a;
  pl->reproducible = asked->reproducible;
  pb b = {
    .pl = pl, .graph = g, .p = p, .a = p->a, .err = err, .begun = TP_NEWN(p->a, bool, g->stops.n)
  };
  array_bufs(&b);
  note_products(&b);
  pl->body = build(&b, p->tree);
  if (!pl->body) return NULL;
  drop_copies(&b);
  if (p->lag) tp_plan_behind(pl);
  if (asked->fuse) tp_plan_fuse(pl);
  tp_plan_rows(pl);
  if (asked->fuse && !asked->by_rows && tp_plan_absorb(pl)) tp_plan_fuse(pl);
  tp_plan_widened(pl, asked->fuse);
  int *inside = TP_NEWN(b.a, int, pl->bufs.n);
  for (int i = 0; i < pl->bufs.n; i++)
    inside[i] = i < p->arrs.n ? p->arrs.v[i]->cross : TP_INSIDE_ALL;
  for (int i = 0; i < p->arrs.n; i++) {
    int in = tp_lies_in(p->arrs.v[i])->id;
    inside[in] = TP_MIN(inside[in], inside[i]);
  }
  if (asked->fuse) {
    tp_plan_forward(pl);
    inside = tp_plan_strips(pl, inside, asked->precise);
    tp_plan_tile(pl);
  }
  tp_plan_lifetimes(pl, inside);
  tp_plan_work(pl);
#ifdef TP_HARD
  if (!tp_plan_check(pl, err)) return NULL;
#endif
  return pl;
}
