/* move.c: regions and operators that put elements into other places, and sources. */
#include "device/priv.h"

typedef struct tp_dcopy { tp_pair p; uint64_t cell; } tp_dcopy;      /* cell: the element that fills */

bool tp_run_copy(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *in = &r->in[0];
  tp_dcopy *c = r->k;
  if (o->wrap >= 0 || in->wrap >= 0) tp_wrapped_copy(x, o->size, o, in);
  else tp_pair_copy(x, o->size, &c->p, o->v.p, in->v.p);
  return true;
}

static bool bind_copy(tp_exec *x, tp_dreg *r) {
  (void)x;
  ((tp_dcopy *)r->k)->p = tp_pair_of(&r->out[0].v, &r->in[0].v);
  return true;
}

void tp_copy_new(tp_exec *x, tp_dreg *r) {
  r->k = TP_NEW(&x->a, tp_dcopy);
  r->bind = bind_copy;
  r->run = tp_run_copy;
  r->wrapped = false;                           /* it knows rings itself */
}

bool tp_run_fill(tp_exec *x, tp_dreg *r) {
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
  ((tp_dcopy *)r->k)->p = tp_pair_of(&r->out[0].v, &still);
  return true;
}

void tp_fill_new(tp_exec *x, tp_dreg *r) {
  tp_dcopy *c = r->k = TP_NEW(&x->a, tp_dcopy);
  bool op = r->rg->kind == TP_RG_OP && r->rg->attr;
  tp_put(r->out[0].dtype, &c->cell, 0, op ? r->rg->attr->f[0] : r->rg->fill);
  r->bind = bind_fill;
  r->run = tp_run_fill;
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

static bool run_unfold(tp_exec *x, tp_dreg *r) {
  const tp_view *in = &r->in[0].v;
  tp_view v = r->out[0].v;
  int axis = r->nlead + r->rg->attr->axis;
  v.p = in->p;
  for (int i = 0; i < v.rank; i++) v.stride[i] = in->stride[i <= axis ? i : i - 1];
  v.stride[axis] *= r->rg->attr->i[0];
  v.stride[axis + 1] *= r->rg->attr->i[1];
  tp_view_copy(x, r->out[0].size, &r->out[0].v, &v);
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

/* The operators that are views, where somebody wants them stored. */
bool tp_run_view(tp_exec *x, tp_dreg *r) {
  const tp_attr *a = r->rg->attr;
  if (r->rg->op == TP_OP_UNFOLD) return run_unfold(x, r);
  const tp_view *o = &r->out[0].v, *in = &r->in[0].v;
  tp_view v = *o;
  v.p = in->p;
  int axis = r->nlead + a->axis, size = r->out[0].size, grow = o->rank - in->rank;
  for (int i = 0; i < v.rank; i++) {
    int k = i < r->nlead ? i : r->rg->op == TP_OP_PERMUTE ? r->nlead + a->axes[i - r->nlead] : i - grow;
    bool still = (i >= r->nlead && k < r->nlead) || (r->rg->op == TP_OP_EXPAND && in->shape[k] == 1);
    v.stride[i] = still ? 0 : in->stride[k];
  }
  if (r->rg->op == TP_OP_SLICE) {
    int64_t lo = tp_dx_get(&r->ix[0], x->env), n = o->shape[axis], step = a->i[0];
    if (n > 0 && (lo < 0 || lo + (n - 1) * step >= in->shape[axis]))
      return tp_rfail(x, r, TP_E_DOMAIN, "elements %lld .. %lld of an axis of %lld", (long long)lo, (long long)(lo + (n - 1) * step + 1), (long long)in->shape[axis]);
    v.p = (char *)in->p + (n > 0 ? lo * in->stride[axis] * size : 0);
    v.stride[axis] *= step;
  }
  if (r->rg->op == TP_OP_FLIP && in->shape[axis] > 0) {
    v.p = (char *)in->p + (in->shape[axis] - 1) * in->stride[axis] * size;
    v.stride[axis] = -in->stride[axis];
  }
  tp_view_copy(x, size, o, &v);
  return true;
}

bool tp_run_pad(tp_exec *x, tp_dreg *r) {
  const tp_view *o = &r->out[0].v, *in = &r->in[0].v;
  int axis = r->nlead + r->rg->attr->axis, size = r->out[0].size;
  tp_dtype d = r->out[0].dtype;
  double v = r->rg->attr->f[0];
  int64_t lo = tp_dx_get(&r->ix[0], x->env), n = o->shape[axis], a = TP_MIN(TP_MAX(lo, 0), n), b = TP_MIN(TP_MAX(lo + in->shape[axis], a), n);
  tp_view before = tp_view_part(o, axis, 0, a, size), after = tp_view_part(o, axis, b, n - b, size);
  tp_view mid = tp_view_part(o, axis, a, b - a, size), src = tp_view_part(in, axis, a - lo, b - a, size);
  tp_view_fill(x, d, &before, v);
  tp_view_fill(x, d, &after, v);
  tp_view_copy(x, size, &mid, &src);
  return true;
}

bool tp_run_concat(tp_exec *x, tp_dreg *r) {
  int axis = r->nlead + r->rg->attr->axis, size = r->out[0].size;
  int64_t at = 0;
  for (int k = 0; k < r->nin; k++) {
    const tp_view *in = &r->in[k].v;
    int64_t n = in->shape[axis];
    if (at + n > r->out[0].v.shape[axis]) return tp_rfail(x, r, TP_E_SHAPE, "concat: operands are longer than the result");
    tp_view o = tp_view_part(&r->out[0].v, axis, at, n, size);
    tp_view_copy(x, size, &o, in);
    at += n;
  }
  return true;
}

/* ---- reshape: logical order ---- */

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

int64_t tp_room_reshape(const tp_exec *x, const tp_dreg *r, const tp_view *v) {
  (void)x;
  tp_view in = tp_view_spatial(&v[0], r->nlead), o = tp_view_spatial(&v[r->nin], r->nlead);
  return tp_view_dense(&in) || tp_view_dense(&o) ? 0 : tp_room(tp_room_count(&o), r->out[0].size);
}

bool tp_run_reshape(tp_exec *x, tp_dreg *r) {
  int size = r->out[0].size;
  tp_view o = tp_view_spatial(&r->out[0].v, r->nlead), in = tp_view_spatial(&r->in[0].v, r->nlead);
  int64_t n = tp_view_count(&o);
  if (n != tp_view_count(&in)) return tp_rfail(x, r, TP_E_SHAPE, "reshape: %lld elements into %lld", (long long)tp_view_count(&in), (long long)n);
  bool odense = tp_view_dense(&o), idense = tp_view_dense(&in);
  void *mid = odense || idense ? NULL : tp_work(x, r, n, size);
  if (!odense && !idense && !mid) return false;
  tp_walk w;
  for (tp_walk_start(&w, r->nlead, r->out[0].v.shape); w.ok; tp_walk_next(&w)) {
    tp_view a = in, b = o;
    a.p = (char *)in.p + tp_walk_offset(&w, r->in[0].v.stride) * size;
    b.p = (char *)o.p + tp_walk_offset(&w, r->out[0].v.stride) * size;
    if (!idense) {
      tp_view t = tp_view_dense_as(&a, odense ? b.p : mid);
      tp_view_copy(x, size, &t, &a);
      a = tp_view_dense_as(&b, mid);
    } else a = tp_view_dense_as(&b, a.p);
    if (idense || !odense) tp_view_copy(x, size, &b, &a);
  }
  return true;
}

/* ---- sources ---- */

int64_t tp_room_iota(const tp_exec *x, const tp_dreg *r, const tp_view *v) {
  (void)x;
  return tp_room(v[r->nin].shape[r->nlead + r->rg->attr->axis], r->out[0].size);
}

bool tp_run_iota(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0];
  int axis = r->nlead + r->rg->attr->axis;
  int64_t n = o->v.shape[axis];
  char *line = tp_work(x, r, n, o->size);
  if (!line) return false;
  for (int64_t i = 0; i < n; i++) tp_puti(o->dtype, line, i, i);
  tp_view in = o->v;
  in.p = line;
  memset(in.stride, 0, sizeof in.stride);
  in.stride[axis] = 1;
  tp_view_copy(x, o->size, &o->v, &in);
  return true;
}

bool tp_run_value(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0];
  tp_walk w;
  for (tp_walk_start(&w, o->v.rank, o->v.shape); w.ok; tp_walk_next(&w)) {
    for (int k = 0; k < r->nlead; k++) x->env[r->rg->leadvar[k]->id] = tp_dx_get(&r->leadlo[k], x->env) + w.at[k];
    tp_puti(o->dtype, o->v.p, tp_walk_offset(&w, o->v.stride), tp_dx_get(&r->ix[0], x->env));
  }
  return true;
}
