/* color: gives buffers places in the arena. In order of first position (larger ones first, then by
 * id), each takes the lowest place at which no buffer lies that is alive at the same time. Buffers
 * of work that runs behind, at other times than the rest, lie after the others. */
#include "plan/plan.h"
#include <stdlib.h>

typedef struct item {
  int id, first, last;
  int64_t bytes, at;
} item;

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

int64_t tp_pbuf_bytes(const tp_pbuf *b, const int64_t *env) {
  int64_t n;
  if (!tp_ix_eval(b->size, env, &n) || n < 0) return -1;
  int64_t size = tp_dtype_size(b->dtype);
  return n > (INT64_MAX / 4) / size ? -1 : (n * size + 63) / 64 * 64;
}

/* used: by buffer, does any region that runs for these bounds use it? */
typedef struct {
  const tp_plan *p;
  const int64_t *env;
  bool *used;
  int64_t *bytes;
} running;

/* The most bytes that the buffer has where variables are between lo and hi. */
static int64_t bytes_there(const tp_pbuf *b, const int64_t *lo, const int64_t *hi) {
  int64_t least, most;
  tp_ix_range(b->size, lo, hi, &least, &most);
  return most > INT64_MAX / 4 ? -1 : (TP_MAX(most, 0) + 63) / 64 * 64;
}

static void note(void *ud, const tp_pnode *x, const int64_t *lo, const int64_t *hi) {
  running *r = ud;
  const tp_region *g = x->rg;
  for (int i = 0; i < tp_node_windows(x); i++)
    if (tp_node_window(x, i)->buf >= 0) r->used[tp_node_window(x, i)->buf] = true;
  if (!g || !g->work) return;
  r->used[g->work->id] = true;
  r->bytes[g->work->id] = bytes_there(g->work, lo, hi);
}

/* Collects the buffers of one side, near or far. -1: a size overflows. */
static int collect(const running *r, const bool *out, bool far, item *v) {
  int n = 0;
  for (int i = 0; i < r->p->bufs.n; i++) {
    const tp_pbuf *b = r->p->bufs.v[i];
    if (!tp_in_arena(b) || !r->used[i] || b->far != far || (out && out[i])) continue;
    if (r->bytes[i] < 0) return -1;
    if (r->bytes[i] > 0) v[n++] = (item){ i, b->first, b->last, r->bytes[i], 0 };
  }
  return n;
}

/* Puts x into the lowest gap of enough bytes between buffers alive with it, sorted by place. */
static bool place(item *x, item **alive, int n) {
  int64_t at = 0;
  for (int i = 0; i < n && alive[i]->at - at < x->bytes; i++)
    at = TP_MAX(at, alive[i]->at + alive[i]->bytes);
  x->at = at;
  return at <= INT64_MAX / 2 - x->bytes;
}

/* Places n buffers from `base` on; returns the end. */
static int64_t color(item *v, int n, item **alive, int64_t base) {
  int64_t total = base;
  int nalive = 0;
  if (n < 0) return -1;
  qsort(v, (size_t)n, sizeof *v, by_start);
  for (int i = 0; i < n; i++) {
    int kept = 0;
    for (int k = 0; k < nalive; k++)
      if (alive[k]->last >= v[i].first) alive[kept++] = alive[k];
    nalive = kept;
    if (!place(&v[i], alive, nalive) || v[i].at > INT64_MAX / 2 - v[i].bytes - base) return -1;
    total = TP_MAX(total, base + v[i].at + v[i].bytes);
    alive[nalive++] = &v[i];
    qsort(alive, (size_t)nalive, sizeof *alive, by_place);
  }
  return total;
}

static int64_t color_sides(
    const running *r, const bool *out, item *v, item **alive, int64_t *offsets) {
  int64_t total = 0;
  for (int side = 0; side < 2 && total >= 0; side++) {
    int64_t base = total;
    int n = collect(r, out, side, v);
    total = color(v, n, alive, base);
    for (int i = 0; i < n; i++) offsets[v[i].id] = base + v[i].at;
  }
  return total;
}

int64_t tp_plan_color(
    const tp_plan *p, const int64_t *env, const bool *out, int64_t *bytes, int64_t *offsets) {
  size_t most = (size_t)p->bufs.n + 1;
  item *v = tp_alloc(sizeof *v * most);
  item **alive = tp_alloc(sizeof *alive * most);
  running r = { p, env, tp_calloc(most), bytes };
  for (int i = 0; i < p->bufs.n; i++) {
    const tp_pbuf *b = p->bufs.v[i];
    offsets[i] = -1, bytes[i] = b->kind == TP_BUF_TEMP ? tp_pbuf_bytes(b, env) : 0;
  }
  bool ok = v && alive && r.used && tp_plan_reach(p, env, note, &r);
  int64_t total = ok ? color_sides(&r, out, v, alive, offsets) : -1;
  tp_free(v);
  tp_free(alive);
  tp_free(r.used);
  if (!ok) tp_oom();
  return total;
}
