/* resolve.c: compiles operands once, binds them at new bounds, places them at each execution. */
#include "run/priv.h"

static tp_dx *dxs(tp_arena *a, int n, tp_ixs e) {
  tp_dx *d = TP_NEWN(a, tp_dx, n);
  for (int i = 0; i < n; i++) d[i] = tp_dx_new(a, e ? e[i] : NULL);
  return d;
}

static void compile_rings(tp_exec *x, tp_dnd *d, const tp_nd *nd) {
  d->nring = nd->nring;
  d->ring = TP_NEWN(&x->a, tp_dring, nd->nring);
  for (int i = 0; i < nd->nring; i++) {
    tp_dring *r = &d->ring[i];
    *r = (tp_dring){ tp_dx_new(&x->a, nd->ring[i].idx), tp_dx_new(&x->a, nd->ring[i].width),
      tp_dx_new(&x->a, nd->ring[i].stride), 1, 0 };
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
    r->wrapped |= i < g->nin && r->in[i].wrap >= 0 && !tp_knows_rings(x->plan, g);
  }
  r->lead = dxs(&x->a, g->nlead, g->lead);
  r->leadlo = dxs(&x->a, g->nlead, g->leadlo);
  r->ix = dxs(&x->a, g->nix, g->ix);
  r->coord = dxs(&x->a, g->ncoord, g->coord);
  for (int i = 0; i < g->nlead; i++) r->dynamic |= r->lead[i].var;
}

/* Puts rings of width > 1 first; the others add nothing. */
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

/* Finds rings' places: width and stride never vary. */
static void resolve_rings(tp_dnd *d, const int64_t *env) {
  for (int i = 0; i < d->nring; i++)
    if (d->ring[i].width.var || d->ring[i].stride.var) {
      bind_rings(d, env);
      return;
    }
}

/* Negative extents, as T - 1 at T = 0, become 0: such a region never runs. */
static void set_view(tp_dnd *d, const int64_t *env) {
  d->v.rank = d->rank;
  for (int i = 0; i < d->rank; i++) {
    int64_t n = tp_dx_get(&d->shape[i], env);
    d->v.shape[i] = TP_MAX(n, 0);
    d->v.stride[i] = tp_dx_get(&d->stride[i], env);
  }
}

void tp_dreg_resolve(tp_exec *x, tp_dreg *r) {
  for (tp_dnd *d = r->in, *end = d + r->nnd; d < end; d++) {
    if (d->ragged) resolve_rings(d, x->env);
    set_view(d, x->env);
  }
}

/* It stands for the region of an end's nd, which belongs to none. */
static const tp_dreg alone;

tp_drows *tp_drows_new(tp_exec *x, int n, const tp_rows *rows) {
  tp_drows *all = TP_NEWN(&x->a, tp_drows, n);
  for (int i = 0; i < n; i++)
    all[i] = (tp_drows){ tp_dx_new(&x->a, rows[i].at), tp_dx_new(&x->a, rows[i].given),
      rows[i].along, compile_nd(x, &alone, &rows[i].nd) };
  return all;
}

void tp_drows_bind(tp_drows *r, int n, const int64_t *env) {
  for (int i = 0; i < n; i++) {
    tp_dx_bind(&r[i].at, env);
    tp_dx_bind(&r[i].given, env);
    tp_dnd_bind(&r[i].nd, env);
  }
}

tp_dend *tp_dend_new(tp_exec *x, const tp_pnode *load) {
  tp_dend e = { compile_nd(x, &alone, &load->nd), load->nrows,
    tp_drows_new(x, load->nrows, load->rows) };
  return tp_dup(&x->a, &e, sizeof e);
}

/* Extents and strides mention bounds and loaded ends. */
void tp_end_place(const tp_exec *x, tp_dnd *d) {
  set_view(d, x->env);
  tp_dnd_place(x, d);
}

/* the greatest end over the other axes */
static int64_t end_at(const tp_view *v, int64_t first, int naxis) {
  int64_t most = 0;
  TP_WALK (w, v->rank - naxis, v->shape + naxis)
    most = TP_MAX(most, ((const int64_t *)v->p)[first + tp_walk_offset(&w, v->stride + naxis)]);
  return most;
}

bool tp_drows_there(const tp_exec *x, const tp_drows *r, int naxis, const tp_walk *at) {
  int64_t t = tp_dx_get(&r->at, x->env) + (r->along < 0 ? 0 : at->at[r->along]);
  return t < TP_MIN(tp_dx_get(&r->given, x->env),
                 end_at(&r->nd.v, tp_walk_offset(at, r->nd.v.stride), naxis));
}

/* Are the end's rows there? A loop loads all ends that it may need at any bounds: b[J - 2] at J = 1
 * is outside. */
static bool has_rows(const tp_exec *x, const tp_dnd *d) {
  int64_t first = ((char *)d->v.p - x->base[d->buf]) / d->size, last = first;
  for (int i = 0; i < d->rank; i++) last += (d->v.shape[i] - 1) * d->v.stride[i];
  return first >= 0 && last < x->count[d->buf];
}

int64_t tp_dend_most(const tp_exec *x, tp_dend *e, int64_t given) {
  tp_dnd *d = &e->nd;
  int64_t most = 0;
  tp_end_place(x, d);
  if (!has_rows(x, d)) return 0;
  bool seen = tp_see((tp_exec *)x, d->buf, false);
  for (int i = 0; i < e->nrow; i++) seen &= tp_see((tp_exec *)x, e->rows[i].nd.buf, false);
  if (!seen) return 0; /* the run ends at the next wait */
  const int64_t *p = d->v.p;
  for (int i = 0; i < e->nrow; i++) tp_end_place(x, &e->rows[i].nd);
  TP_WALK (w, d->rank, d->v.shape) {
    bool there = true;
    for (int i = 0; i < e->nrow && there; i++) there = tp_drows_there(x, &e->rows[i], d->rank, &w);
    if (there) most = TP_MAX(most, p[tp_walk_offset(&w, d->v.stride)]);
  }
  return TP_MIN(most, given);
}
