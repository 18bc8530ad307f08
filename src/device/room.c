/* room.c: working memory, known before anything runs. Every extent lies in a range that the loops around its region give it; each kernel says what it takes for
 * windows that large at most, and that is coloured with the buffers. */
#include "device/priv.h"

int64_t tp_room(int64_t count, int64_t size) {
  if (count < 0 || count > INT64_MAX / 8 / size) return INT64_MAX / 4 + 1;
  return (count * size + 63) / 64 * 64;
}

int64_t tp_room_count(const tp_view *v) {
  int64_t n = 1;
  for (int i = 0; i < v->rank; i++)
    if (v->shape[i] == 0) return 0;
  for (int i = 0; i < v->rank; i++) {
    if (n > INT64_MAX / 8 / v->shape[i]) return INT64_MAX / 8;
    n *= v->shape[i];
  }
  return n;
}

typedef struct { const tp_exec *x; const int64_t *lo, *hi; int64_t *room; } ranges;

static int64_t extent(const ranges *g, const tp_ix *e, bool *exact) {
  int64_t lo, hi;
  tp_ix_range(e, g->lo, g->hi, &lo, &hi);
  *exact &= lo == hi;
  return TP_MAX(hi, 0);
}

/* Where an extent is not known exactly, a stride says nothing of how elements lie. */
static tp_view window(const ranges *g, const tp_region *r, const tp_nd *nd) {
  tp_view v = { .rank = r->nlead + nd->rank };
  bool exact = true;
  for (int i = 0; i < v.rank; i++) {
    const tp_ix *e = i >= r->nlead ? nd->stride[i - r->nlead] : nd->lead ? nd->lead[i] : NULL;
    v.shape[i] = extent(g, i < r->nlead ? r->lead[i] : nd->shape[i - r->nlead], &exact);
    int64_t lo = 0, hi = 0;
    if (e) tp_ix_range(e, g->lo, g->hi, &lo, &hi);
    v.stride[i] = lo == hi ? lo : TP_ANYSTRIDE;
  }
  for (int i = 0; i < v.rank && !exact; i++) v.stride[i] = v.stride[i] ? TP_ANYSTRIDE : 0;
  return v;
}

/* Its elements, those that are one counted once. */
static int64_t moving(const tp_view *v) {
  tp_view m = *v;
  for (int i = 0; i < m.rank; i++) m.shape[i] = m.stride[i] || !m.shape[i] ? m.shape[i] : 1;
  return tp_room_count(&m);
}

static int64_t room_of(const ranges *g, const tp_dreg *r) {
  tp_view v[r->nnd + 1];
  int64_t n = 0;
  for (int i = 0; i < r->nnd; i++) v[i] = window(g, r->rg, i < r->nin ? &r->rg->in[i] : &r->rg->out[i - r->nin]);
  for (int i = 0; i < r->nin && r->wrapped; i++)
    if (r->in[i].wrap >= 0) n += tp_room(moving(&v[i]), r->in[i].size);
  return r->room ? n + r->room(g->x, r, v) : n;
}

static void at_region(void *ud, const tp_pnode *p, const int64_t *lo, const int64_t *hi) {
  ranges *g = ud;
  if (p->kind != TP_P_REGION) return;
  const tp_dreg *r = g->x->regat[p->pos];
  g->lo = lo;
  g->hi = hi;
  if (r->room || r->wrapped) g->room[p->pos] = room_of(g, r);
}

bool tp_exec_rooms(const tp_exec *x, const int64_t *env, int64_t *room) {
  ranges g = { x, NULL, NULL, room };
  memset(room, 0, sizeof *room * (size_t)x->plan->npos);
  return tp_plan_reach(x->plan, env, at_region, &g);
}
