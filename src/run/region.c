/* region.c: makes, binds and runs a region. */
#include "run/priv.h"

/* Notes by buffer the position after which no region writes it: the end of the outermost loop. */
static void note_writes(tp_exec *x, const tp_pnode *p) {
  int end = p->pos;
  for (const tp_pnode *q = p->up; q; q = q->up)
    if (q->kind == TP_P_FOR) end = q->lastpos;
  for (int i = 0; i < p->rg->nout; i++)
    if (p->rg->out[i].buf >= 0)
      x->written[p->rg->out[i].buf] = TP_MAX(x->written[p->rg->out[i].buf], end);
}

tp_dreg *tp_dreg_new(tp_exec *x, const tp_pnode *p) {
  const tp_region *g = p->rg;
  tp_dreg *r = TP_NEW(&x->a, tp_dreg);
  r->rg = g;
  r->pos = p->pos;
  r->clock = TP_NEW(&x->a, tp_clock);
  tp_dreg_windows(x, r);
  for (int i = 0; i < r->nnd; i++)
    if (r->in[i].rank > TP_MAXRANK)
      return tp_rfail(x, r, TP_E_DEVICE,
                 "an operand has %d axes, leading ones included; at most %d are possible",
                 r->in[i].rank, TP_MAXRANK),
             NULL;
  note_writes(x, p);
  if (g->kind == TP_RG_CALL) tp_call_new(x, r);
  else if (g->kind == TP_RG_OP && tp_ops[g->op].cls == TP_CLS_ENV) r->run = tp_run_env;
  else x->target->make(x, r);
  if (g->check) tp_watch_new(x, r);
  return x->regat[p->pos] = x->reg[x->nreg++] = r;
}

static void bind_dxs(tp_dx *d, int n, const int64_t *env) {
  for (int i = 0; i < n; i++) tp_dx_bind(&d[i], env);
}

bool tp_dreg_bind(tp_exec *x, tp_dreg *r) {
  for (int i = 0; i < r->nnd; i++) tp_dnd_bind(&r->in[i], x->env);
  bind_dxs(r->lead, r->rg->nlead, x->env);
  bind_dxs(r->leadlo, r->rg->nlead, x->env);
  bind_dxs(r->ix, r->rg->nix, x->env);
  bind_dxs(r->coord, r->rg->ncoord, x->env);
  if (r->rg->kind == TP_RG_CALL) tp_call_bind(x, r);
  if (r->dynamic || r->wrapped) return true;
  tp_dreg_resolve(x, r);
  return !r->bind || r->bind(x, r);
}

/* A window on a ring becomes plain: in place if it does not cross the seam, else a copy. */
static bool unwrap(tp_exec *x, tp_dreg *r, tp_dnd *d) {
  int64_t m = TP_MAX(tp_dx_get(&d->wmod, x->env), 1),
          lo = tp_floormod(tp_dx_get(&d->wlo, x->env), m), n = d->v.shape[d->wrap];
  if (lo + n <= m) {
    d->v.p = (char *)d->v.p + lo * d->v.stride[d->wrap] * d->size;
    return true;
  }
  tp_dnd dense = { .wrap = -1, .v = d->v };
  if (!(dense.v.p = tp_work(x, r, tp_dense_strides(&dense.v), d->size))) return false;
  x->target->copy(x, d->size, &dense, d);
  d->v = dense.v;
  return true;
}

/* Ends the run without an error. An output is complete if nothing from here on, or round an
 * enclosing loop, writes it; parameters keep the values made. */
bool tp_dreg_cancelled(tp_exec *x, const tp_dreg *r) {
  x->cancelled = true;
  x->ended = r->pos;
  for (int i = 0; i < x->plan->bufs.n; i++) {
    const tp_pbuf *b = x->plan->bufs.v[i];
    if (b->kind == TP_BUF_OUTPUT && !x->plan->products.v[b->slot].hidden && x->written[i] >= r->pos)
      x->run->outputs[b->slot] = tp_array_unref(x->run->outputs[b->slot]);
  }
  return false;
}

bool tp_dreg_here(tp_exec *x, tp_dreg *r) {
  if (r->first && !tp_first_runs(x, r)) return true;
  bool again = r->dynamic || r->wrapped;
  x->running = true;
  x->work = x->workend = x->mem->arena;
  if (r->rg->work) {
    int work = r->rg->work->id;
    x->work = x->room ? x->room : x->work + x->mem->offset[work];
    x->workend = x->work + x->count[work];
  }
  if (again) tp_dreg_resolve(x, r);
  int taken = x->device ? x->offload->takes(x, r) : 0;
  if (taken) return taken > 0;
  for (tp_dnd *d = r->in, *end = d + r->nnd; d < end; d++)
    if (d->buf >= 0) tp_dnd_place(x, d);
  if (x->poison && !tp_poison_region(x, r)) return false;
  for (int i = 0; i < r->nin && r->wrapped; i++)
    if (r->in[i].wrap >= 0 && !unwrap(x, r, &r->in[i])) return false;
  if (again && r->bind && !r->bind(x, r)) return false;
  return r->run(x, r);
}

bool tp_dreg_execute(tp_exec *x, tp_dreg *r) {
  return tp_run_ends(x->run) ? tp_dreg_cancelled(x, r) : tp_dreg_here(x, r);
}
