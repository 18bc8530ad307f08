/* poison.c: shows when a plan reads memory that it must not (TEMPO_POISON). */
#include "run/priv.h"

/* Poisons buffers that were live at the last position and are dead at pos. */
static void poison_dead(tp_exec *x, int pos) {
  tp_cursor *c = x->flow->inback ? &x->flow->back : &x->flow->front;
  for (int i = 0; i < x->plan->bufs.n; i++) {
    const tp_pbuf *b = x->plan->bufs.v[i];
    bool was = b->first <= c->pos && c->pos <= b->last, is = b->first <= pos && pos <= b->last;
    if (b->kind == TP_BUF_TEMP && x->mem->offset[i] >= 0 && was && !is &&
        (!x->flow->split || b->far == x->flow->inback))
      memset(x->base[i], 0xff, (size_t)(TP_MAX(x->count[i], 0) * tp_dtype_size(b->dtype)));
  }
  c->pos = pos;
}

/* Does the window lie inside its buffer? A wrong plan would write anywhere. */
static bool window_inside(tp_exec *x, const tp_dreg *r, const tp_dnd *d) {
  if (d->buf < 0 || tp_view_count(&d->v) == 0 ||
      (r->rg->kind == TP_RG_PINIT && x->plan->bufs.v[d->buf]->kind == TP_BUF_PARAM))
    return true;
  int64_t lo = x->rows[d->buf] ? tp_dx_get(&d->off, x->env)
                               : ((char *)d->v.p - x->base[d->buf]) / d->size,
          hi = lo;
  for (int i = 0; i < d->v.rank; i++) {
    int64_t reach =
        ((i == d->wrap ? TP_MIN(tp_dx_get(&d->wmod, x->env), d->v.shape[i]) : d->v.shape[i]) - 1) *
        d->v.stride[i];
    if (reach < 0) lo += reach;
    else hi += reach;
  }
  const tp_pbuf *b = x->plan->bufs.v[d->buf];
  if (b->kind == TP_BUF_TEMP && x->mem->offset[d->buf] >= 0)
    x->mem->top = TP_MAX(x->mem->top, tp_round_up(x->mem->offset[d->buf] + (hi + 1) * d->size, 64));
  if (lo >= 0 && hi < x->count[d->buf]) return tp_spill_touch(x, r, d);
  return tp_rfail(x, r, TP_E_DEVICE, "internal: elements %lld .. %lld of buffer %d (%s) of %lld",
      (long long)lo, (long long)hi, d->buf, b->name ? b->name : "", (long long)x->count[d->buf]);
}

bool tp_poison_begin(tp_exec *x) {
  x->mem->top = 0;
  if (x->poison && x->mem->total > 0) memset(x->mem->arena, 0xff, (size_t)x->mem->total);
  tp_spill_rest(x);
  return !x->poison || tp_spill_poison(x);
}

bool tp_poison_region(tp_exec *x, const tp_dreg *r) {
  poison_dead(x, r->pos);
  if (r->rg->work) x->mem->top = TP_MAX(x->mem->top, x->workend - x->mem->arena);
  for (int i = 0; i < r->nnd; i++)
    if (!window_inside(x, r, &r->in[i])) return false;
  return true;
}
