/* color: places in the arena. Buffers in order of their first position (larger ones first, then by id) each take the lowest place at which nothing lies that is
 * alive at the same time. Buffers of far regions, which run at other times than the others, lie behind those. */
#include "plan/plan.h"
#include <stdlib.h>

typedef struct item { int id, first, last; int64_t bytes, at; } item;

static int by_start(const void *pa, const void *pb) {
  const item *a = pa, *b = pb;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return a->id < b->id ? -1 : 1;
}

static int by_place(const void *pa, const void *pb) {
  const item *a = *(item *const *)pa, *b = *(item *const *)pb;
  return a->at != b->at ? (a->at < b->at ? -1 : 1) : a->id < b->id ? -1 : 1;
}

/* Bytes of a buffer, a multiple of 64; -1: too many. */
static int64_t bytes_of(const tp_pbuf *b, const int64_t *env) {
  int64_t n;
  if (!tp_ix_eval(b->size, env, &n) || n < 0) return -1;
  int64_t size = tp_dtype_size(b->dtype);
  return n > (INT64_MAX / 4) / size ? -1 : (n * size + 63) / 64 * 64;
}

/* Which buffers: TEMP ones that something uses, of one side. -1: a size overflows. */
static int collect(const tp_plan *p, const int64_t *env, bool far, int64_t *offsets, item *v) {
  int n = 0;
  for (int i = 0; i < p->bufs.n; i++) {
    const tp_pbuf *b = p->bufs.v[i];
    if (b->kind != TP_BUF_TEMP || b->first < 0 || b->far != far) continue;
    int64_t bytes = bytes_of(b, env);
    if (bytes < 0) return -1;
    if (bytes > 0) v[n++] = (item){ i, b->first, b->last, bytes, 0 };
  }
  return n;
}

/* The lowest gap of enough bytes among those alive with x, which are sorted by place. */
static bool place(item *x, item **alive, int n) {
  int64_t at = 0;
  for (int i = 0; i < n && alive[i]->at - at < x->bytes; i++) at = TP_MAX(at, alive[i]->at + alive[i]->bytes);
  x->at = at;
  return at <= INT64_MAX / 2 - x->bytes;
}

/* One side's places, from `base` on; the end of them. */
static int64_t color(const tp_plan *p, const int64_t *env, bool far, int64_t base, int64_t *offsets, item *v, item **alive) {
  int64_t total = base;
  int n = collect(p, env, far, offsets, v), nalive = 0;
  if (n < 0) return -1;
  qsort(v, (size_t)n, sizeof *v, by_start);
  for (int i = 0; i < n; i++) {
    int kept = 0;
    for (int k = 0; k < nalive; k++)
      if (alive[k]->last >= v[i].first) alive[kept++] = alive[k];
    nalive = kept;
    if (!place(&v[i], alive, nalive) || v[i].at > INT64_MAX / 2 - v[i].bytes - base) return -1;
    offsets[v[i].id] = base + v[i].at;
    total = TP_MAX(total, base + v[i].at + v[i].bytes);
    alive[nalive++] = &v[i];
    qsort(alive, (size_t)nalive, sizeof *alive, by_place);
  }
  return total;
}

int64_t tp_plan_color(const tp_plan *p, const int64_t *env, int64_t *offsets) {
  item *v = tp_alloc(sizeof *v * (size_t)(p->bufs.n + 1));
  item **alive = tp_alloc(sizeof *alive * (size_t)(p->bufs.n + 1));
  for (int i = 0; i < p->bufs.n; i++) offsets[i] = 0;
  int64_t total = v && alive ? color(p, env, false, 0, offsets, v, alive) : -1;
  if (total >= 0 && p->lag) total = color(p, env, true, total, offsets, v, alive);
  tp_free(v);
  tp_free(alive);
  return total;
}
