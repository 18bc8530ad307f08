/* watch.c: runs checked regions: NaN or infinity that arises in one ends the run. tp_dreg_new sends
 * only such regions here. */
#include "run/priv.h"
#include "kern/made.h"

/* kept: copies of inputs that the run may overwrite, and of an accumulation's result */
struct tp_watch {
  bool (*run)(tp_exec *, tp_dreg *);
  char **kept;
  size_t *room; /* by operand */
  /* the operator; in an elementwise region the last one, else NULL */
  int nin;
  const tp_micro *micro;
  uint64_t *cell; /* its numbers */
};

static tp_view kept_view(const tp_view *v, char *p) {
  tp_view to = *v;
  to.p = p;
  (void)tp_dense_strides(&to);
  return to;
}

static bool keep(tp_exec *x, tp_dreg *r, int i) {
  tp_watch *w = r->watch;
  const tp_dnd *d = &r->in[i];
  tp_view from = d->v;
  for (int k = 0; k < from.rank; k++)
    if (!from.stride[k]) from.shape[k] = TP_MIN(from.shape[k], 1);
  size_t bytes = (size_t)(tp_view_count(&from) * d->size);
  if (bytes > w->room[i]) {
    tp_free(w->kept[i]);
    w->kept[i] = tp_alloc(bytes);
    w->room[i] = w->kept[i] ? bytes : 0;
  }
  if (bytes && !w->kept[i]) return tp_rfail(x, r, TP_E_MEMORY, "no memory to look at it");
  tp_view to = kept_view(&from, w->kept[i]);
  if (bytes) tp_copy(x, d->size, &to, &from);
  return true;
}

static bool is_written(const tp_dreg *r, int i) {
  bool same = i >= r->nin && r->rg->acc;
  for (int o = 0; o < r->nout && i < r->nin; o++) same |= r->out[o].buf == r->in[i].buf;
  return same && r->in[i].buf >= 0;
}

/* A view of operand i, results last, at a place along the leading axes; NULL: all of it. */
static tp_lens lens_of(const tp_dreg *r, int i, const int64_t *lead, bool before) {
  const tp_dnd *d = &r->in[i];
  int n = lead ? r->npoint : 0;
  tp_view v = before ? kept_view(&d->v, r->watch->kept[i]) : d->v;
  tp_lens l = { .dtype = d->dtype, .rank = v.rank - n };
  int64_t at = 0;
  for (int k = 0; k < n; k++) at += lead[k] * v.stride[k];
  TP_COPYN(l.shape, v.shape + n, l.rank);
  TP_COPYN(l.stride, v.stride + n, l.rank);
  l.data = (const char *)v.p + at * d->size;
  return l;
}

static tp_lens number_of(const tp_micro *m, uint64_t *cell) {
  tp_put(m->dtype, cell, 0, m->f);
  return (tp_lens){ .dtype = m->dtype, .data = cell };
}

static tp_lens source_of(const tp_dreg *r, int k, const int64_t *lead) {
  const tp_watch *w = r->watch;
  int i = w->micro ? w->micro->in[k] : k;
  tp_lens l = i < r->nin ? lens_of(r, i, lead, is_written(r, i))
                         : number_of(&r->rg->micro[i - r->nin], &w->cell[k]);
  if (k < r->rg->nsaid) l.name = tp_who_name(&r->rg->said[k]);
  return l;
}

/* drops the folded axes, or leaves one place along them */
static void without_folded(const tp_dreg *r, tp_lens *out) {
  int n = 0;
  for (int k = 0; k < out->rank; k++) {
    bool gone = r->rg->sums >> (r->npoint + k) & 1;
    if (gone && !r->rg->how.keepdim) continue;
    out->shape[n] = gone ? 1 : out->shape[k];
    out->stride[n++] = out->stride[k];
  }
  out->rank = n;
}

static bool tell(tp_exec *x, tp_dreg *r, const int64_t *lead, const int64_t *along,
    const tp_made *m, const int64_t *at) {
  tp_buf b;
  tp_buf_init(&b);
  tp_made_tell(&b, m, at);
  tp_rfail_at(x, r, lead, along, TP_E_NAN, "%s", b.failed ? "" : b.s);
  tp_buf_free(&b);
  return false;
}

static bool look_at(tp_exec *x, tp_dreg *r, int o, const int64_t *lead) {
  const tp_watch *w = r->watch;
  tp_lens in[w->nin + 1];
  int64_t at[TP_MAXRANK];
  for (int k = 0; k < w->nin; k++) in[k] = source_of(r, k, lead);
  tp_made m = { w->micro ? w->micro->op : tp_region_op(r->rg), w->nin, in,
    lens_of(r, r->nin + o, lead, false) };
  if (r->rg->sums) without_folded(r, &m.out);
  return !tp_made_find(&m, at) || tell(x, r, lead, NULL, &m, at);
}

static bool look(tp_exec *x, tp_dreg *r) {
  for (int o = 0; o < r->nout; o++) {
    const tp_dnd *d = &r->out[o];
    if (d->buf < 0) continue;
    tp_lens all = lens_of(r, r->nin + o, NULL, false);
    if (tp_lens_finite(&all)) continue;
    TP_WALK (w, r->npoint, d->v.shape)
      if (!look_at(x, r, o, w.at)) return false;
  }
  return true;
}

/* ---- an accumulation ---- */

static bool tell_sum(tp_exec *x, tp_dreg *r, const int64_t *at, int nin, const tp_lens *in) {
  int along = __builtin_popcount(r->rg->along);
  tp_made m = { r->rg->red == TP_RED_PROD ? TP_OP_PROD : TP_OP_SUM, nin, in,
    lens_of(r, r->nin, at, false) };
  m.out.rank -= along;
  for (int k = 0; k < along; k++)
    m.out.data = (const char *)m.out.data + at[r->npoint + k] * m.out.stride[k] * r->out[0].size;
  memmove(m.out.shape, m.out.shape + along, sizeof *m.out.shape * (size_t)m.out.rank);
  memmove(m.out.stride, m.out.stride + along, sizeof *m.out.stride * (size_t)m.out.rank);
  return tell(x, r, at, at + r->npoint, &m, at + r->npoint + along);
}

static bool look_sum(tp_exec *x, tp_dreg *r) {
  const tp_view *v = &r->out[0].v;
  tp_lens all = lens_of(r, r->nin, NULL, false), old = lens_of(r, r->nin, NULL, true);
  tp_lens in[2] = { { .dtype = old.dtype }, lens_of(r, 0, NULL, is_written(r, 0)) };
  int64_t shape[TP_MAXRANK];
  if (tp_lens_finite(&all) || !tp_lens_finite(&in[1])) return true;
  for (int k = 0; k < v->rank; k++)
    shape[k] = r->rg->sums >> k & 1 ? TP_MIN(v->shape[k], 1) : v->shape[k];
  TP_WALK (w, v->rank, shape) {
    if (tp_lens_finite_at(&all, w.at) || !tp_lens_finite_at(&old, w.at)) continue;
    in[0].data = (const char *)old.data + tp_walk_offset(&w, old.stride) * r->out[0].size;
    bool none = tp_get(old.dtype, in[0].data, 0) == (r->rg->red == TP_RED_PROD);
    return tell_sum(x, r, w.at, 2 - none, in + none);
  }
  return true;
}

static bool run_watched(tp_exec *x, tp_dreg *r) {
  for (int i = 0; i < r->nnd; i++)
    if (is_written(r, i) && !keep(x, r, i)) return false;
  return r->watch->run(x, r) && (r->rg->acc ? look_sum(x, r) : look(x, r));
}

void tp_watch_new(tp_exec *x, tp_dreg *r) {
  const tp_region *g = r->rg;
  tp_watch *w = r->watch = TP_NEW(&x->a, tp_watch);
  w->run = r->run;
  w->micro = g->nmicro ? &g->micro[g->outmicro[0]] : NULL;
  w->nin = w->micro ? tp_ops[w->micro->op].nin : r->nin;
  w->kept = TP_NEWN(&x->a, char *, r->nnd);
  w->room = TP_NEWN(&x->a, size_t, r->nnd);
  w->cell = TP_NEWN(&x->a, uint64_t, w->nin);
  r->run = run_watched;
}

void tp_watch_free(tp_dreg *r) {
  for (int i = 0; r->watch && i < r->nnd; i++) tp_free(r->watch->kept[i]);
}
