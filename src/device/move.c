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
  tp_put(r->out[0].dtype, &c->cell, 0, r->rg->micro->f);
  r->bind = bind_fill;
  r->run = run_fill;
}

void tp_put_numbers(tp_exec *x, const tp_dreg *r, const tp_dx *e, tp_dtype d, const tp_view *v) {
  tp_walk w;
  for (tp_walk_start(&w, r->nlead, v->shape); w.ok; tp_walk_next(&w)) {
    for (int k = 0; k < r->nlead; k++) x->env[r->rg->leadvar[k]->id] = tp_dx_get(&r->leadlo[k], x->env) + w.at[k];
    tp_puti(d, v->p, tp_walk_offset(&w, v->stride), tp_dx_get(e, x->env));
  }
}

/* Numbers that are all there is go to their place without working memory. */
static bool run_value(tp_exec *x, tp_dreg *r) {
  tp_put_numbers(x, r, r->k, r->out[0].dtype, &r->out[0].v);
  return true;
}

static bool bind_value(tp_exec *x, tp_dreg *r) {
  tp_dx_bind(r->k, x->env);
  return true;
}

static void value_new(tp_exec *x, tp_dreg *r) {
  tp_dx e = tp_dx_new(&x->a, r->rg->micro->ix);
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
  const tp_how *a = &r->rg->how;
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
