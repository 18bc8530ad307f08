/* watch.c: regions that are checked: what one has made is looked at when it is done, and NaN or
 * infinity that arose there ends the run. Only such regions come here (tp_dreg_new), so that the
 * others pay nothing. */
#include "run/priv.h"
#include "kern/made.h"
#include <math.h>

/* kept: inputs that the run may write over, and the result of an accumulation, as they were before;
 * dense. */
struct tp_watch {
  bool (*run)(tp_exec *, tp_dreg *);
  char **kept;
  size_t *room; /* by operand */
  /* the operator's operands; what an elementwise region does, NULL: the region's operator */
  int nin;
  const tp_micro *micro;
  uint64_t *cell; /* numbers among them */
};

/* ---- what was there before ---- */

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

/* ---- lenses ---- */

/* Operand i (results after inputs) at a place along the leading axes; lead NULL: all of it. */
static tp_lens lens_of(const tp_dreg *r, int i, const int64_t *lead, bool before) {
  const tp_dnd *d = &r->in[i];
  int n = lead ? r->npoint : 0;
  tp_view v = before ? kept_view(&d->v, r->watch->kept[i]) : d->v;
  tp_lens l = { .dtype = d->dtype, .rank = v.rank - n };
  int64_t at = 0;
  for (int k = 0; k < n; k++) at += lead[k] * v.stride[k];
  memcpy(l.shape, v.shape + n, sizeof *l.shape * (size_t)l.rank);
  memcpy(l.stride, v.stride + n, sizeof *l.stride * (size_t)l.rank);
  l.data = (const char *)v.p + at * d->size;
  return l;
}

/* A number written in the region. */
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

/* ---- an operator ---- */

/* A fold as its operator. The result has one place along what is folded, or lacks the axis. */
static void as_reduction(const tp_dreg *r, tp_made *m, tp_how *a, int *axes) {
  *a = (tp_how){ .axes = axes, .keepdim = r->rg->how.keepdim };
  int rank = m->out.rank, n = 0;
  for (int k = 0; k < rank; k++) {
    bool gone = r->rg->sums >> (r->npoint + k) & 1;
    if (gone) axes[a->naxes++] = k;
    if (gone && !a->keepdim) continue;
    m->out.shape[n] = gone ? 1 : m->out.shape[k];
    m->out.stride[n++] = m->out.stride[k];
  }
  m->out.rank = n;
  m->how = a;
}

static bool look_at(tp_exec *x, tp_dreg *r, int o, const int64_t *lead) {
  const tp_watch *w = r->watch;
  tp_lens in[w->nin + 1];
  int64_t at[TP_MAXRANK];
  int axes[TP_MAXRANK];
  tp_how a;
  for (int k = 0; k < w->nin; k++) in[k] = source_of(r, k, lead);
  tp_made m = { w->micro ? w->micro->op : tp_region_op(r->rg), &r->rg->how, w->nin, o, in,
    lens_of(r, r->nin + o, lead, false) };
  if (r->rg->sums) as_reduction(r, &m, &a, axes);
  if (!tp_made_find(&m, at)) return true;
  tp_buf b;
  tp_buf_init(&b);
  tp_made_tell(&b, &m, at);
  tp_rfail_at(x, r, lead, TP_E_NAN, "%s", b.failed ? "" : b.s);
  tp_buf_free(&b);
  return false;
}

static bool look(tp_exec *x, tp_dreg *r) {
  for (int o = 0; o < r->nout; o++) {
    const tp_dnd *d = &r->out[o];
    if (d->buf < 0) continue;
    tp_lens all = lens_of(r, r->nin + o, NULL, false);
    if (tp_lens_finite(&all)) continue;
    tp_walk w;
    for (tp_walk_start(&w, r->npoint, d->v.shape); w.ok; tp_walk_next(&w))
      if (!look_at(x, r, o, w.at)) return false;
  }
  return true;
}

/* ---- an accumulation: what was there, and what is added to one element at all places along the
 * leading axes that do not move it ---- */

typedef struct terms {
  int64_t n;
  bool finite;
  tp_dtype d[TP_TOLD];
  double v[TP_TOLD];
} terms;

static void take_term(terms *t, tp_dtype d, double v) {
  t->finite &= isfinite(v);
  if (t->n < TP_TOLD) t->d[t->n] = d, t->v[t->n] = v;
  t->n++;
}

/* Of an operand. */
static double element(const tp_dreg *r, int i, const int64_t *at) {
  const tp_view *v = &r->in[i].v;
  int64_t o = 0;
  for (int k = 0; k < v->rank; k++) o += at[k] * v->stride[k];
  return tp_get(r->in[i].dtype, v->p, o);
}

static void take_terms(const tp_dreg *r, const int64_t *at, terms *t) {
  const tp_view *v = &r->out[0].v;
  int64_t shape[TP_MAXRANK], place[TP_MAXRANK];
  for (int k = 0; k < r->nlead; k++) shape[k] = r->rg->sums >> k & 1 ? v->shape[k] : 1;
  tp_walk w;
  for (tp_walk_start(&w, r->nlead, shape); w.ok; tp_walk_next(&w)) {
    for (int k = 0; k < v->rank; k++) place[k] = r->rg->sums >> k & 1 ? w.at[k] : at[k];
    /* rows that go on */
    if (r->nin < 2 || element(r, 1, place)) take_term(t, r->in[0].dtype, element(r, 0, place));
  }
}

static bool tell_sum(tp_exec *x, tp_dreg *r, const int64_t *at, const terms *t) {
  int along = __builtin_popcount(r->rg->along), skip = r->npoint + along;
  tp_lens l = lens_of(r, r->nin, at, false);
  l.rank -= along;
  for (int k = 0; k < along; k++)
    l.data = (const char *)l.data + at[r->npoint + k] * l.stride[k] * r->out[0].size;
  memmove(l.shape, l.shape + along, sizeof *l.shape * (size_t)l.rank);
  memmove(l.stride, l.stride + along, sizeof *l.stride * (size_t)l.rank);
  tp_buf b;
  tp_buf_init(&b);
  tp_made_tell_list(&b, tp_red_name(r->rg->red), t->n, t->d, t->v, &l, at + skip);
  tp_rfail_on(x, r, at, at + r->npoint, TP_E_NAN, "%s", b.failed ? "" : b.s);
  tp_buf_free(&b);
  return false;
}

static bool look_sum(tp_exec *x, tp_dreg *r) {
  const tp_dnd *d = &r->out[0];
  tp_lens all = lens_of(r, r->nin, NULL, false), old = lens_of(r, r->nin, NULL, true);
  int64_t shape[TP_MAXRANK];
  if (tp_lens_finite(&all)) return true;
  for (int k = 0; k < d->v.rank; k++)
    shape[k] = r->rg->sums >> k & 1 ? TP_MIN(d->v.shape[k], 1) : d->v.shape[k];
  tp_walk w;
  for (tp_walk_start(&w, d->v.rank, shape); w.ok; tp_walk_next(&w)) {
    if (tp_lens_finite_at(&all, w.at) || !tp_lens_finite_at(&old, w.at)) continue;
    double before = tp_get(old.dtype, old.data, tp_walk_offset(&w, old.stride));
    terms t = { .finite = true };
    if (before != (r->rg->red == TP_RED_PROD)) take_term(&t, old.dtype, before);
    int64_t had = t.n;
    take_terms(r, w.at, &t);
    if (t.finite && t.n > had) return tell_sum(x, r, w.at, &t);
  }
  return true;
}

/* ---- regions ---- */

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
