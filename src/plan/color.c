/* color: places in the arena. Buffers, and the working memory of regions, in order of their first position (larger ones first, then by id) each take the lowest
 * place at which nothing lies that is alive at the same time. Those of far regions, which run at other times than the others, lie behind those. */
#include "plan/plan.h"
#include <stdlib.h>

typedef struct item { int id, first, last; int64_t bytes, at; } item;      /* id: a buffer; from bufs.n on: a position's working memory */

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

/* What runs for these bounds: by buffer, whether something uses it; by position, whether it is a far region. */
typedef struct { bool *used, *far; } running;

static void use(bool *used, const tp_nd *x) {
  if (x->buf >= 0) used[x->buf] = true;
}

static void note(void *ud, const tp_pnode *x, const int64_t *lo, const int64_t *hi) {
  running *r = ud;
  const tp_region *g = x->rg;
  (void)lo; (void)hi;
  if (x->kind == TP_P_LOAD) use(r->used, &x->nd);
  if (x->kind != TP_P_REGION) return;
  for (int i = 0; i < g->nin; i++) use(r->used, &g->in[i]);
  for (int i = 0; i < g->nout; i++) use(r->used, &g->out[i]);
  for (int i = 0; i < g->nrows; i++) use(r->used, &g->rows[i].nd);
  r->far[x->pos] = g->far;
}

/* Of one side. -1: a size overflows. */
static int collect(const tp_plan *p, const int64_t *env, const bool *out, const int64_t *room, bool far, const running *r, item *v) {
  int n = 0;
  for (int i = 0; i < p->bufs.n; i++) {
    const tp_pbuf *b = p->bufs.v[i];
    if (b->kind != TP_BUF_TEMP || !r->used[i] || b->far != far || (out && out[i])) continue;
    int64_t bytes = tp_pbuf_bytes(b, env);
    if (bytes < 0) return -1;
    if (bytes > 0) v[n++] = (item){ i, b->first, b->last, bytes, 0 };
  }
  for (int i = 0; room && i < p->npos; i++) {
    if (room[i] > INT64_MAX / 4) return -1;
    if (room[i] > 0 && r->far[i] == far) v[n++] = (item){ p->bufs.n + i, i, i, (room[i] + 63) / 64 * 64, 0 };
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

/* Places for n of them from `base` on; the end. */
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

static int64_t color_sides(const tp_plan *p, const int64_t *env, const bool *out, const int64_t *room, const running *r, item *v, item **alive, int64_t *offsets, int64_t *roomat) {
  int64_t total = 0;
  for (int side = 0; side < (p->lag ? 2 : 1) && total >= 0; side++) {
    int64_t base = total;
    int n = collect(p, env, out, room, side, r, v);
    total = color(v, n, alive, base);
    for (int i = 0; i < n; i++) *(v[i].id < p->bufs.n ? &offsets[v[i].id] : &roomat[v[i].id - p->bufs.n]) = base + v[i].at;
  }
  return total;
}

int64_t tp_plan_color(const tp_plan *p, const int64_t *env, const bool *out, const int64_t *room, int64_t *offsets, int64_t *roomat) {
  size_t most = (size_t)(p->bufs.n + p->npos + 1);
  item *v = tp_alloc(sizeof *v * most);
  item **alive = tp_alloc(sizeof *alive * most);
  running r = { tp_calloc(most), tp_calloc(most) };
  for (int i = 0; i < p->bufs.n; i++) offsets[i] = -1;
  bool ok = v && alive && r.used && r.far && tp_plan_reach(p, env, note, &r);
  int64_t total = ok ? color_sides(p, env, out, room, &r, v, alive, offsets, roomat) : -1;
  tp_free(v);
  tp_free(alive);
  tp_free(r.used);
  tp_free(r.far);
  if (!ok) tp_oom();
  return total;
}
