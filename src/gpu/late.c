/* late.c: calls of the host that give nothing back, such as a logger's, run behind the device.
 *
 *   launch; call(x); launch    =>    launch; x, to pinned memory; launch; ..; call(x)
 *
 * The queue copies the windows that the call reads, and whether there was a fault, to memory of the
 * host, and the run goes on. The call is made, with the loop variables of then, when its copies are
 * over: at a later call, at latest before a function of the host that gives something back, and
 * before the run ends or waits. Calls keep their order, and none is made behind a fault. */
#include "gpu/exec.h"

enum { LATE_MOST = 16 << 20 }; /* bytes of a call's windows */

static tp_latecall *first_late(tp_device *d) { return &d->late[d->first_late % TP_GPU_LATE]; }

/* The elements lo .. hi that a window touches, from its begin on; false: it has none. */
static bool span_of(const tp_view *v, int64_t *lo, int64_t *hi) {
  *lo = *hi = 0;
  for (int k = 0; k < v->rank; k++) {
    if (v->shape[k] < 1) return false;
    int64_t far = (v->shape[k] - 1) * v->stride[k];
    *(far < 0 ? lo : hi) += far;
  }
  return true;
}

/* Makes the call; its windows lie in the pinned memory. */
static bool late_call(tp_exec *x, tp_latecall *l) {
  int64_t *env = x->env;
  tp_dreg *r = l->r;
  const char *host = x->device->driver->host(l->mem);
  for (int i = 0; i < r->nin; i++) r->in[i].v.p = (char *)host + l->at[i];
  x->env = l->env;
  bool ok = r->run(x, r);
  x->env = env;
  /* the run stands elsewhere, and nothing there is half done */
  if (!ok) x->ended = x->torn = -1;
  return ok;
}

bool tp_gpu_late_run(tp_exec *x, bool all, bool *fault) {
  tp_device *d = x->device;
  while (d->nlate) {
    tp_latecall *l = first_late(d);
    int there = d->driver->reached(l->mark, all || d->nlate == TP_GPU_LATE, x->err);
    if (there <= 0) return there == 0;
    d->first_late++, d->nlate--;
    *fault = *(int64_t *)d->driver->host(l->mem);
    if (!*fault && late_call(x, l)) continue;
    d->nlate = 0;
    return *fault;
  }
  return true;
}

static bool copy_window(
    tp_exec *x, tp_latecall *l, const tp_dnd *w, int64_t at, int64_t from, int64_t bytes) {
  tp_device *d = x->device;
  if (d->where[w->buf] & TP_IN_HOST)
    return memcpy(d->driver->host(l->mem) + at, x->base[w->buf] + from, (size_t)bytes) != NULL;
  tp_gplace there = tp_gpu_place(x, w->buf);
  there.off += from;
  d->late_bytes += bytes;
  return d->driver->copy(d->queue, (tp_gplace){ l->mem, at }, there, bytes, x->err);
}

static bool late_has_room(tp_exec *x, tp_latecall *l, int64_t bytes) {
  tp_device *d = x->device;
  if (l->mem && l->bytes >= bytes) return true;
  d->driver->drop(l->mem);
  l->mem = d->driver->take(d->dev, l->bytes = bytes, TP_G_PINNED, x->err);
  return l->mem != NULL;
}

int tp_gpu_late_takes(tp_exec *x, tp_dreg *r) {
  tp_device *d = x->device;
  if (!r->nin || r->nout || r->rg->nrows || r->dynamic || r->wrapped || x->poison || d->failing ||
      !d->doubtful)
    return 0;
  tp_latecall *l = &d->late[(d->first_late + d->nlate) % TP_GPU_LATE];
  int64_t lo[r->nin], hi[r->nin], bytes = 64, failed = tp_gpu_failed_at(x);
  for (int i = 0; i < r->nin; i++) {
    bool any = span_of(&r->in[i].v, &lo[i], &hi[i]);
    int64_t n = any ? (hi[i] - lo[i] + 1) * r->in[i].size : 0;
    l->at[i] = bytes - lo[i] * r->in[i].size;
    if (n > LATE_MOST - bytes) return 0;
    bytes += (n + 63) / 64 * 64;
    if (!any) hi[i] = lo[i] - 1;
  }
  if (!late_has_room(x, l, bytes)) return -1;
  for (int i = 0; i < r->nin; i++) {
    const tp_dnd *w = &r->in[i];
    int64_t begin = tp_dnd_begin(x, w) + lo[i], n = hi[i] - lo[i] + 1;
    if (!copy_window(x, l, w, l->at[i] + lo[i] * w->size, begin * w->size, n * w->size)) return -1;
  }
  int64_t one = sizeof *d->note;
  l->mark = d->driver->copy(d->queue, (tp_gplace){ l->mem, 0 },
                (tp_gplace){ d->notes, one * failed }, one, x->err)
      ? d->driver->mark(d->queue, l->mark, x->err)
      : NULL;
  if (!l->mark) return -1;
  l->r = r;
  TP_COPYN(l->env, x->env, x->nsym);
  d->nlate++, d->late_calls++;
  return 1;
}
