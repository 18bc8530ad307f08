/* move.c: regions and operators that put elements into other places, and sources. */
#include "device/priv.h"

typedef struct tp_dcopy { tp_pair p; uint64_t cell; } tp_dcopy;      /* cell: the element that fills */

static bool run_copy(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *in = &r->in[0];
  tp_dcopy *c = r->k;
  if (o->wrap >= 0 || in->wrap >= 0) tp_wrapped_copy(x, o->size, o, in);
  else tp_pair_copy(x, o->size, &c->p, o->v.p, in->v.p);
  return true;
}

static bool bind_copy(tp_exec *x, tp_dreg *r) {
  (void)x;
  tp_pair_make(&((tp_dcopy *)r->k)->p, &r->out[0].v, &r->in[0].v);
  return true;
}

static void copy_new(tp_exec *x, tp_dreg *r) {
  r->k = TP_NEW(&x->a, tp_dcopy);
  r->bind = bind_copy;
  r->run = run_copy;
  r->wrapped = false;                           /* it knows rings itself */
}

static bool run_fill(tp_exec *x, tp_dreg *r) {
  tp_dcopy *c = r->k;
  int64_t n = c->p.ext[0];
  if (c->cell == 0 && c->p.rank == 1 && c->p.so[0] == 1 && !c->p.empty) memset(r->out[0].v.p, 0, (size_t)(n * r->out[0].size));
  else tp_pair_copy(x, r->out[0].size, &c->p, r->out[0].v.p, &c->cell);
  return true;
}

static bool bind_fill(tp_exec *x, tp_dreg *r) {
  (void)x;
  tp_view still = r->out[0].v;
  memset(still.stride, 0, sizeof still.stride);
  tp_pair_make(&((tp_dcopy *)r->k)->p, &r->out[0].v, &still);
  return true;
}

static void fill_new(tp_exec *x, tp_dreg *r) {
  tp_dcopy *c = r->k = TP_NEW(&x->a, tp_dcopy);
  tp_put(r->out[0].dtype, &c->cell, 0, r->rg->micro->attr->f[0]);
  r->bind = bind_fill;
  r->run = run_fill;
}

/* A number at each point, put there without working memory. */
static bool run_value(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0];
  const tp_dx *e = r->k;
  tp_walk w;
  for (tp_walk_start(&w, r->nlead, o->v.shape); w.ok; tp_walk_next(&w)) {
    for (int k = 0; k < r->nlead; k++) x->env[r->rg->leadvar[k]->id] = tp_dx_get(&r->leadlo[k], x->env) + w.at[k];
    tp_puti(o->dtype, o->v.p, tp_walk_offset(&w, o->v.stride), tp_dx_get(e, x->env));
  }
  return true;
}

static bool bind_value(tp_exec *x, tp_dreg *r) {
  tp_dx_bind(r->k, x->env);
  return true;
}

static void value_new(tp_exec *x, tp_dreg *r) {
  tp_dx e = tp_dx_new(&x->a, r->rg->micro->attr->ix[0]);
  r->k = tp_dup(&x->a, &e, sizeof e);
  r->bind = bind_value;
  r->run = run_value;
}

void tp_loop_new(tp_exec *x, tp_dreg *r) {
  const tp_region *g = r->rg;
  bool plain = !g->acc && !g->sums && r->nout == 1;
  if (plain && !g->nmicro) copy_new(x, r);
  else if (plain && g->nmicro == 1 && g->micro->op == TP_OP_FILL) fill_new(x, r);
  else if (plain && g->nmicro == 1 && g->micro->op == TP_OP_VALUE) value_new(x, r);
  else tp_ew_new(x, r);
}

bool tp_run_pinit(tp_exec *x, tp_dreg *r) {
  int from = 0;
  if (r->nin > 1) {
    const tp_pbuf *b = x->plan->bufs.v[r->in[1].buf];
    if (b->kind == TP_BUF_PARAM && x->run->params && x->run->params[b->slot]) from = 1;
  }
  tp_view in = r->in[from].v;
  if (in.rank != r->out[0].v.rank) return tp_rfail(x, r, TP_E_SHAPE, "the first value of a parameter has another rank");
  tp_view_copy(x, r->out[0].size, &r->out[0].v, &in);
  return true;
}

/* Element j of every window, for one j after the other: these lie apart. */
bool tp_run_fold(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *in = &r->in[0];
  const tp_attr *a = r->rg->attr;
  int axis = r->nlead + a->axis;
  tp_view_fill(x, o->dtype, &o->v, 0);
  for (int64_t j = 0; j < in->v.shape[axis + 1]; j++) {
    tp_view from = tp_view_part(&in->v, axis + 1, j, 1, in->size), to = tp_view_part(&o->v, axis, j * a->i[1], from.shape[axis], o->size);
    from.rank--;
    for (int i = axis + 1; i < from.rank; i++) from.shape[i] = from.shape[i + 1], from.stride[i] = from.stride[i + 1];
    to.stride[axis] *= a->i[0];
    tp_view_add(x, o->dtype, &to, &from);
  }
  return true;
}

/* ---- operators that move whole windows: which ones to where is known once their extents are ---- */

typedef struct move { tp_pair p; int from; int64_t out, in; } move;             /* from: an operand, -1 the cell; elements from where the windows begin */
typedef struct moves { int n; move *m; uint64_t cell; bool apart; } moves;      /* n < 0: extents do not fit; apart: reshape by way of dense elements */

static void add_move(moves *s, const tp_view *o, int64_t out, int from, const tp_view *in, int64_t at) {
  move *m = &s->m[s->n];
  tp_pair_make(&m->p, o, in);
  if (m->p.empty) return;
  m->from = from, m->out = out, m->in = at;
  s->n++;
}

/* Strides of the operand along the axes of the result; where the first element lies. False: outside. */
static bool seen_through(tp_exec *x, const tp_dreg *r, tp_view *v, int64_t *at) {
  const tp_attr *a = r->rg->attr;
  const tp_view *o = &r->out[0].v, *in = &r->in[0].v;
  int axis = r->nlead + a->axis, grow = o->rank - in->rank;
  *v = *o;
  *at = 0;
  if (r->rg->op == TP_OP_UNFOLD) {
    for (int i = 0; i < v->rank; i++) v->stride[i] = in->stride[i <= axis ? i : i - 1];
    v->stride[axis] *= a->i[0];
    v->stride[axis + 1] *= a->i[1];
    return true;
  }
  for (int i = 0; i < v->rank; i++) {
    int k = i < r->nlead ? i : r->rg->op == TP_OP_PERMUTE ? r->nlead + a->axes[i - r->nlead] : i - grow;
    bool still = (i >= r->nlead && k < r->nlead) || (r->rg->op == TP_OP_EXPAND && in->shape[k] == 1);
    v->stride[i] = still ? 0 : in->stride[k];
  }
  if (r->rg->op == TP_OP_SLICE) {
    int64_t lo = tp_dx_get(&r->ix[0], x->env), n = o->shape[axis], step = a->i[0];
    if (n > 0 && (lo < 0 || lo + (n - 1) * step >= in->shape[axis])) return false;
    *at = n > 0 ? lo * in->stride[axis] : 0;
    v->stride[axis] *= step;
  }
  if (r->rg->op == TP_OP_FLIP) {
    *at = TP_MAX(in->shape[axis] - 1, 0) * in->stride[axis];
    v->stride[axis] = -in->stride[axis];
  }
  return true;
}

/* The operators that are views, where somebody wants them stored. */
static void see(tp_exec *x, tp_dreg *r, moves *s) {
  tp_view v;
  int64_t at;
  if (seen_through(x, r, &v, &at)) add_move(s, &r->out[0].v, 0, 0, &v, at);
  else s->n = -1;
}

static void pad(tp_exec *x, tp_dreg *r, moves *s) {
  tp_view o = r->out[0].v, in = r->in[0].v, still = o;
  int axis = r->nlead + r->rg->attr->axis;
  int64_t lo = tp_dx_get(&r->ix[0], x->env), n = o.shape[axis], a = TP_MIN(TP_MAX(lo, 0), n), b = TP_MIN(TP_MAX(lo + in.shape[axis], a), n);
  memset(still.stride, 0, sizeof still.stride);
  o.shape[axis] = a;
  add_move(s, &o, 0, -1, &still, 0);
  o.shape[axis] = n - b;
  add_move(s, &o, b * o.stride[axis], -1, &still, 0);
  o.shape[axis] = b - a;
  add_move(s, &o, a * o.stride[axis], 0, &in, (a - lo) * in.stride[axis]);
}

static void concat(tp_exec *x, tp_dreg *r, moves *s) {
  (void)x;
  tp_view o = r->out[0].v;
  int axis = r->nlead + r->rg->attr->axis;
  int64_t at = 0, room = o.shape[axis];
  for (int k = 0; k < r->nin; k++) {
    o.shape[axis] = r->in[k].v.shape[axis];
    if (at + o.shape[axis] > room) { s->n = -1; return; }
    add_move(s, &o, at * o.stride[axis], k, &r->in[k].v, 0);
    at += o.shape[axis];
  }
}

/* A window of the other's shape over dense elements. */
tp_view tp_view_dense_as(const tp_view *like, void *p) {
  tp_view v = *like;
  v.p = p;
  tp_view_strides(&v);
  return v;
}

tp_view tp_view_spatial(const tp_view *v, int nlead) {
  tp_view s = { .p = v->p, .rank = v->rank - nlead };
  for (int i = 0; i < s.rank; i++) s.shape[i] = v->shape[nlead + i], s.stride[i] = v->stride[nlead + i];
  return s;
}

/* One of them is dense at each point of the leading axes: it is seen as the other's shape. */
static void reshape(tp_exec *x, tp_dreg *r, moves *s) {
  (void)x;
  tp_view v[2] = { r->in[0].v, r->out[0].v }, rest[2];
  for (int i = 0; i < 2; i++) rest[i] = tp_view_spatial(&v[i], r->nlead);
  if (tp_view_count(&rest[0]) != tp_view_count(&rest[1])) { s->n = -1; return; }
  int dense = tp_view_dense(&rest[0]) ? 0 : 1;
  s->apart = !tp_view_dense(&rest[dense]);
  if (s->apart) return;
  tp_view as = v[1 - dense];
  int64_t n = 1;
  for (int i = as.rank - 1; i >= r->nlead; i--) as.stride[i] = n, n *= as.shape[i];
  for (int i = 0; i < r->nlead; i++) as.stride[i] = v[dense].stride[i];
  add_move(s, dense ? &as : &v[1], 0, 0, dense ? &v[0] : &as, 0);
}

int64_t tp_room_reshape(const tp_exec *x, const tp_dreg *r, const tp_view *v) {
  (void)x;
  tp_view in = tp_view_spatial(&v[0], r->nlead), o = tp_view_spatial(&v[r->nin], r->nlead);
  return tp_view_dense(&in) || tp_view_dense(&o) ? 0 : tp_room(tp_room_count(&o), r->out[0].size);
}

static bool reshape_apart(tp_exec *x, tp_dreg *r) {
  int size = r->out[0].size;
  tp_view o = tp_view_spatial(&r->out[0].v, r->nlead), in = tp_view_spatial(&r->in[0].v, r->nlead);
  void *mid = tp_work(x, r, tp_view_count(&o), size);
  if (!mid) return false;
  tp_view there = tp_view_dense_as(&in, mid), here = tp_view_dense_as(&o, mid);
  tp_walk w;
  for (tp_walk_start(&w, r->nlead, r->out[0].v.shape); w.ok; tp_walk_next(&w)) {
    tp_view a = in, b = o;
    a.p = (char *)in.p + tp_walk_offset(&w, r->in[0].v.stride) * size;
    b.p = (char *)o.p + tp_walk_offset(&w, r->out[0].v.stride) * size;
    tp_view_copy(x, size, &there, &a);
    tp_view_copy(x, size, &b, &here);
  }
  return true;
}

static bool does_not_fit(tp_exec *x, tp_dreg *r) {
  const tp_view *o = &r->out[0].v, *in = &r->in[0].v;
  int axis = r->nlead + r->rg->attr->axis;
  if (r->rg->op == TP_OP_CONCAT) return tp_rfail(x, r, TP_E_SHAPE, "concat: operands are longer than the result");
  if (r->rg->op == TP_OP_SLICE) {
    int64_t lo = tp_dx_get(&r->ix[0], x->env);
    return tp_rfail(x, r, TP_E_DOMAIN, "elements %lld .. %lld of an axis of %lld", (long long)lo, (long long)(lo + (o->shape[axis] - 1) * r->rg->attr->i[0] + 1), (long long)in->shape[axis]);
  }
  tp_view to = tp_view_spatial(o, r->nlead), from = tp_view_spatial(in, r->nlead);
  return tp_rfail(x, r, TP_E_SHAPE, "reshape: %lld elements into %lld", (long long)tp_view_count(&from), (long long)tp_view_count(&to));
}

bool tp_run_moves(tp_exec *x, tp_dreg *r) {
  const moves *s = r->k;
  int size = r->out[0].size;
  if (s->n < 0) return does_not_fit(x, r);
  if (s->apart) return reshape_apart(x, r);
  for (const move *m = s->m, *end = m + s->n; m < end; m++)
    tp_pair_copy(x, size, &m->p, (char *)r->out[0].v.p + m->out * size, m->from < 0 ? (const char *)&s->cell : (const char *)r->in[m->from].v.p + m->in * size);
  return true;
}

static bool bind_moves(tp_exec *x, tp_dreg *r) {
  moves *s = r->k;
  s->n = 0;
  s->apart = false;
  switch (r->rg->op) {
    case TP_OP_PAD: pad(x, r, s); break;
    case TP_OP_CONCAT: concat(x, r, s); break;
    case TP_OP_RESHAPE: reshape(x, r, s); break;
    default: see(x, r, s); break;
  }
  return true;
}

void tp_moves_new(tp_exec *x, tp_dreg *r) {
  moves *s = r->k = TP_NEW(&x->a, moves);
  s->m = TP_NEWN(&x->a, move, TP_MAX(r->nin, 3));
  tp_put(r->out[0].dtype, &s->cell, 0, r->rg->op == TP_OP_PAD ? r->rg->attr->f[0] : 0);
  for (int i = 0; i < r->rg->nix; i++) r->dynamic |= r->ix[i].var && r->rg->op != TP_OP_RESHAPE && r->rg->op != TP_OP_EXPAND;
  r->bind = bind_moves;
}
