/* things: a device keeps a list of what was made with it, so that closing it releases all. */
#include "gpu/priv.h"

void *tp_gpu_make(tp_gdev *d, tp_gkind kind, size_t size, tp_error *err) {
  tp_gthing *x = tp_calloc(size);
  if (!x) return tp_no_memory(err, TP_NOWHERE), NULL;
  x->dev = d;
  x->kind = kind;
  x->next = d->made[kind];
  x->at = &d->made[kind];
  if (x->next) x->next->at = &x->next;
  return d->made[kind] = x;
}

void *tp_gpu_drop(void *thing) {
  tp_gthing *x = thing;
  if (!x) return NULL;
  if (x->handle) x->dev->release(x);
  *x->at = x->next;
  if (x->next) x->next->at = x->at;
  tp_free(x);
  return NULL;
}

void tp_gpu_drop_all(tp_gdev *d) {
  for (int k = 0; k < TP_G_KINDS; k++)
    while (d->made[k]) tp_gpu_drop(d->made[k]);
}

/* ---- what drivers have in common ---- */

tp_gdev *tp_gpu_opened(const tp_gdriver *of, int which, size_t size, tp_error *err) {
  tp_gspec spec = { 0 };
  tp_buf why;
  tp_buf_init(&why);
  int n = of->find(which, &spec, &why);
  if (n && which >= n) tp_putf(&why, "there is no device %d, the last is %d", which, n - 1);
  bool ok = !why.n || tp_fail(err, TP_E_DEVICE, TP_NOWHERE, "'%s': %s", of->name, why.s);
  tp_buf_free(&why);
  tp_gdev *d = ok ? tp_calloc(size) : NULL;
  if (!d) return tp_no_memory(err, TP_NOWHERE), NULL;
  d->spec = spec;
  return d;
}

const tp_gspec *tp_gpu_spec(const tp_gdev *d) { return &d->spec; }
void tp_gpu_drop_mem(tp_gmem *m) { tp_gpu_drop(m); }
char *tp_gpu_host(tp_gmem *m) { return m->host; }

int64_t tp_gpu_apart(const tp_gmem *a, const tp_gmem *b) {
  return (int64_t)((uintptr_t)a->is.handle - (uintptr_t)b->is.handle);
}

bool tp_gpu_no_room(const tp_gdev *d, int64_t bytes, tp_gside side, tp_error *err) {
  if (side != TP_G_NEAR)
    return tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "no %lld bytes of the host's memory for %s",
        (long long)bytes, d->spec.name);
  return tp_fail(err, TP_E_MEMORY, TP_NOWHERE,
      "%s, which has %lld bytes, has no room for %lld more", d->spec.name,
      (long long)d->spec.memory, (long long)bytes);
}

tp_gmodule *tp_gpu_cached(tp_gdev *d, const char *name,
    tp_gmodule *(*load)(tp_gdev *, const char *, size_t, tp_error *)) {
  tp_error unused = { 0 };
  size_t n = 0;
  char *image = tp_cache_get(name, ".gpu", &n);
  tp_gmodule *m = image ? load(d, image, n, &unused) : NULL;
  tp_free(image);
  return m;
}

bool tp_gpu_refused(const tp_gdev *d, const char *compiler, const char *log, tp_error *err) {
  tp_buf b;
  tp_buf_init(&b);
  tp_put_complaint(&b, log);
  tp_fail(err, TP_E_DEVICE, TP_NOWHERE, "%s refuses a kernel for %s%s%s", compiler, d->spec.name,
      b.n ? ": " : "", b.n ? b.s : "");
  tp_buf_free(&b);
  return false;
}

bool tp_gpu_fits(const tp_gdev *d, const tp_glaunch *l, tp_error *err) {
  int bytes = ((d->spec.pointers ? 1 : 2) * l->nplace + l->nnum) * 8;
  if (bytes > d->spec.parameters)
    return tp_fail(err, TP_E_DEVICE, TP_NOWHERE, "a kernel has %d bytes of parameters, %s takes %d",
        bytes, d->spec.name, d->spec.parameters);
  return l->threads <= d->spec.threads ||
      tp_fail(err, TP_E_DEVICE, TP_NOWHERE, "a kernel has blocks of %d threads, %s takes %d",
          l->threads, d->spec.name, d->spec.threads);
}
