/* resolve.c: operands. Compiled once, bound once per bounds, placed at each execution. */
#include "run/priv.h"

static tp_dx *dxs(tp_arena *a, int n, const tp_ix *const *e) {
  tp_dx *d = TP_NEWN(a, tp_dx, n);
  for (int i = 0; i < n; i++) d[i] = tp_dx_new(a, e ? e[i] : NULL);
  return d;
}

/* The ring's index may vary; its width and stride as well, in principle. */
static void compile_rings(tp_exec *x, tp_dnd *d, const tp_nd *nd) {
  d->nring = nd->nring;
  d->ring = TP_NEWN(&x->a, tp_dring, nd->nring);
  for (int i = 0; i < nd->nring; i++) {
    tp_dring *r = &d->ring[i];
    *r = (tp_dring){ tp_dx_new(&x->a, nd->ring[i].idx), tp_dx_new(&x->a, nd->ring[i].width), tp_dx_new(&x->a, nd->ring[i].stride), 1, 0 };
    d->ragged |= r->width.var || r->stride.var;
  }
}

static tp_dnd compile_nd(tp_exec *x, const tp_dreg *r, const tp_nd *nd) {
  tp_dnd d = { .buf = nd->buf, .wrap = -1, .rank = r->nlead + nd->rank };
  if (nd->buf >= 0) {
    d.dtype = x->plan->bufs.v[nd->buf]->dtype;
    d.size = tp_dtype_size(d.dtype);
  }
  d.off = tp_dx_new(&x->a, nd->off);
  compile_rings(x, &d, nd);
  d.shape = TP_NEWN(&x->a, tp_dx, d.rank);
  d.stride = TP_NEWN(&x->a, tp_dx, d.rank);
  for (int i = 0; i < d.rank; i++) {
    int k = i - r->nlead;
    d.shape[i] = tp_dx_new(&x->a, k < 0 ? r->rg->lead[i] : nd->shape[k]);
    d.stride[i] = tp_dx_new(&x->a, k >= 0 ? nd->stride[k] : nd->lead ? nd->lead[i] : NULL);
    d.ragged |= d.shape[i].var || d.stride[i].var;
  }
  if (nd->wrap >= 0) {
    d.wrap = nd->wrap;
    d.wlo = tp_dx_new(&x->a, nd->wlo);
    d.wmod = tp_dx_new(&x->a, nd->wmod);
  }
  return d;
}

void tp_dreg_windows(tp_exec *x, tp_dreg *r) {
  const tp_region *g = r->rg;
  r->nlead = g->nlead;
  r->npoint = g->kind == TP_RG_LOOP ? g->npoint : g->nlead;
  r->nin = g->nin;
  r->nout = g->nout;
  r->nnd = g->nin + g->nout;
  r->in = TP_NEWN(&x->a, tp_dnd, r->nnd);
  r->out = r->in + g->nin;
  for (int i = 0; i < r->nnd; i++) {
    r->in[i] = compile_nd(x, r, i < g->nin ? &g->in[i] : &g->out[i - g->nin]);
    r->dynamic |= r->in[i].ragged;
    r->wrapped |= i < g->nin && r->in[i].wrap >= 0 && !tp_knows_rings(g);
  }
  r->lead = dxs(&x->a, g->nlead, g->lead);
  r->leadlo = dxs(&x->a, g->nlead, g->leadlo);
  r->ix = dxs(&x->a, g->nix, g->ix);
  r->coord = dxs(&x->a, g->ncoord, g->coord);
  for (int i = 0; i < g->nlead; i++) r->dynamic |= r->lead[i].var;
}

/* Rings of width 1 add nothing; the others come first. */
static void bind_rings(tp_dnd *d, const int64_t *env) {
  d->nlive = 0;
  for (int i = 0; i < d->nring; i++) {
    tp_dring *r = &d->ring[i];
    tp_dx_bind(&r->idx, env);
    tp_dx_bind(&r->width, env);
    tp_dx_bind(&r->stride, env);
    r->w = tp_dx_get(&r->width, env);
    r->s = tp_dx_get(&r->stride, env);
    if (r->w <= 1 || r->s == 0) continue;
    tp_dring t = d->ring[d->nlive];
    d->ring[d->nlive++] = *r;
    *r = t;
  }
}

void tp_dnd_bind(tp_dnd *d, const int64_t *env) {
  tp_dx_bind(&d->off, env);
  bind_rings(d, env);
  for (int i = 0; i < d->rank; i++) {
    tp_dx_bind(&d->shape[i], env);
    tp_dx_bind(&d->stride[i], env);
  }
  tp_dx_bind(&d->wlo, env);
  tp_dx_bind(&d->wmod, env);
}

/* Rings whose width or stride varies (none the builder makes): found again with the rest. */
static void resolve_rings(tp_dnd *d, const int64_t *env) {
  for (int i = 0; i < d->nring; i++)
    if (d->ring[i].width.var || d->ring[i].stride.var) { bind_rings(d, env); return; }
}

bool tp_dreg_resolve(tp_exec *x, tp_dreg *r) {
  for (int k = 0; k < r->nnd; k++) {
    tp_dnd *d = &r->in[k];
    if (d->ragged) resolve_rings(d, x->env);
    d->v.rank = d->rank;
    for (int i = 0; i < d->rank; i++) {
      int64_t n = tp_dx_get(&d->shape[i], x->env);
      d->v.shape[i] = TP_MAX(n, 0);             /* T - 1 at T = 0: a region that never runs, legality was judged before */
      d->v.stride[i] = tp_dx_get(&d->stride[i], x->env);
    }
  }
  return true;
}

/* ---- ends by data ---- */

tp_dnd *tp_dend_new(tp_exec *x, const tp_nd *nd) {
  tp_dreg alone = { .nlead = 0 };
  tp_dnd d = compile_nd(x, &alone, nd);
  return tp_dup(&x->a, &d, sizeof d);
}

/* Extents and strides mention bounds, and ends that were loaded before. */
void tp_dend_place(const tp_exec *x, tp_dnd *d) {
  d->v.rank = d->rank;
  for (int i = 0; i < d->rank; i++) {
    d->v.shape[i] = tp_dx_get(&d->shape[i], x->env);
    d->v.stride[i] = tp_dx_get(&d->stride[i], x->env);
  }
  tp_dnd_place(x, d);
}

/* Is the window that of rows which are there? A loop looks at the ends of all that can run in it, for other bounds too: b[J - 2] at J = 1 is nobody's. */
static bool has_rows(const tp_exec *x, const tp_dnd *d) {
  int64_t first = ((char *)d->v.p - x->base[d->buf]) / d->size, last = first;
  for (int i = 0; i < d->rank; i++) last += (d->v.shape[i] - 1) * d->v.stride[i];
  return first >= 0 && last < x->count[d->buf];
}

int64_t tp_dend_most(const tp_exec *x, tp_dnd *d, int64_t given) {
  tp_walk w;
  int64_t most = 0;
  tp_dend_place(x, d);
  if (!has_rows(x, d)) return 0;
  const int64_t *p = d->v.p;
  if (d->dtype == TP_BOOL) return TP_MIN(*(const uint8_t *)d->v.p, given);     /* of rank 0 */
  for (tp_walk_start(&w, d->rank, d->v.shape); w.ok; tp_walk_next(&w)) most = TP_MAX(most, p[tp_walk_offset(&w, d->v.stride)]);
  return TP_MIN(most, given);
}
