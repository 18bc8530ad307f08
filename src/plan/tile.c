/* tile: rows of loops go over tiles that stay in the cache.
 *
 *   loops over 0 .. E   =>   for v = 0 .. E / B { the loops over B places from B * v on }
 *
 * The loops are neighbours with an axis of extent E that none of them folds, and along it alone
 * they hand elements to each other: two windows on a buffer that one of them writes have the same
 * offset and rings, move along one dim of it with this axis, and along other dims with other axes.
 * Then an element that a loop makes at place i is used by the others at place i only, so whatever
 * depends on each other stays in order, and sums add the same numbers in the same order. Buffers
 * that nothing else touches shrink to B places. It pays where a loop goes over more than the cache
 * holds and a few places of the axis do not: B places make TP_TUNE_TILE_ELEMENTS elements. An
 * extent that only the call knows, and is no dim's bound, counts as TP_TUNE_TILE_UNKNOWN places:
 * one iteration that was not needed costs little. */
#include "plan/priv.h"
#include <stdlib.h>

typedef struct {
  tp_plan *p;
  int *uses;
  int64_t tile, least, apart;
} tiler;

/* ---- which leaves ---- */

/* How many points the leaf goes over; -1: not known. */
static int64_t points(const tp_region *r) {
  int64_t all = 1;
  for (int k = 0; k < r->nlead; k++) {
    int64_t n = tp_extent_of_tiles(r->lead[k]);
    if (n < 0 || n > INT32_MAX) return -1;
    all = TP_MIN(all * TP_MAX(n, 1), (int64_t)1 << 40);
  }
  return all;
}

static bool fits(const tp_region *r) { return tp_fits_tile(r) && points(r) >= 0; }

/* An axis of r along which it goes with the leaves so far; -1: none. */
static int axis_along(const tp_tiled *run, const tp_region *r) {
  for (int k = r->npoint; k < r->nlead; k++) {
    bool ok = r->lead[k] == run->extent && !(r->sums >> k & 1);
    for (int i = 0; i < run->n && ok; i++)
      ok = tp_meet_along(run->p, run->leaf[i]->rg, run->axis[i], r, k);
    if (ok && tp_meet_along(run->p, r, k, r, k)) return k;
  }
  return -1;
}

/* The longest run of leaves from v on, at most n, along axis k of the first. */
static tp_tiled run_along(const tiler *t, tp_pnode **v, int n, int k) {
  tp_tiled run = {
    .p = t->p, .n = 1, .leaf = { v[0] }, .axis = { k }, .extent = v[0]->rg->lead[k]
  };
  if (!tp_meet_along(t->p, v[0]->rg, k, v[0]->rg, k)) run.n = 0;
  for (int j = 1; run.n == j && j < n && j < TP_TILED; j++) {
    if (v[j]->kind != TP_P_REGION || !fits(v[j]->rg)) break;
    int at = axis_along(&run, v[j]->rg);
    if (at >= 0) run.leaf[run.n] = v[j], run.axis[run.n++] = at;
  }
  return run;
}

static bool cuts_lines(const tp_tiled *run) {
  for (int i = 0; i < run->n; i++) {
    const tp_region *r = run->leaf[i]->rg;
    TP_WINDOWS (x, r)
      for (int j = 0; j < r->nlead && tp_is_number(x->lead[run->axis[i]], 1); j++)
        if (j != run->axis[i] && !tp_is_number(x->lead[j], 0) && !tp_is_number(r->lead[j], 1))
          return true;
  }
  return false;
}

/* Places of the axis in a tile; 0: it does not pay. A leaf of many elements has to share them with
 * another leaf: a tile only slows a mean's sum down. */
static int64_t places(const tiler *t, const tp_tiled *run) {
  int64_t most = 0, next = 0, all = tp_extent_of_tiles(run->extent);
  for (int i = 0; i < run->n; i++) {
    int64_t n = points(run->leaf[i]->rg);
    next = TP_MAX(next, TP_MIN(n, most));
    most = TP_MAX(most, n);
  }
  int64_t each = most / TP_MAX(all, 1), b = TP_MAX(t->tile / TP_MAX(each, 1), 1);
  if (next < t->least || each > 4 * t->tile || b >= all) return 0;
  if (b < t->apart && cuts_lines(run))
    return t->apart < all && t->apart * each <= TP_TUNE_TILE_COLUMNS ? t->apart : 0;
  /* a divisor of the extent that is near leaves no rest */
  for (int64_t d = b; d > b / 2 && tp_ix_is_const(run->extent, NULL); d--)
    if (all % d == 0) return d;
  return b;
}

/* ---- the new loop ---- */

/* The dim that shrinks in a buffer that only these leaves see, all in one layout; -1: none. */
static int dim_that_shrinks(const tiler *t, const tp_tiled *run, int buf) {
  int n = 0, dim = -1;
  for (int i = 0; i < run->n; i++)
    TP_WINDOWS (x, run->leaf[i]->rg) {
      if (x->buf != buf) continue;
      int at = tp_moves_along(t->p, run->leaf[i]->rg, x, run->axis[i]);
      if (at < 0 || (dim >= 0 && at != dim) || x->nring || !tp_is_number(x->off, 0) ||
          !tp_is_regular(t->p, run->leaf[i]->rg, x))
        return -1;
      dim = at, n++;
    }
  return t->p->bufs.v[buf]->kind == TP_BUF_TEMP && n == t->uses[buf] ? dim : -1;
}

static tp_pnode *loop_of(const tiler *t, tp_pnode **v, tp_tiled *run, int64_t b) {
  run->dim = TP_NEWN(t->p->a, int, t->p->bufs.n);
  for (int i = 0; i < t->p->bufs.n; i++) run->dim[i] = dim_that_shrinks(t, run, i);
  tp_pnode *loop = tp_over_tiles(run, "tile", b, run->n, v);
  for (int i = 0; i < t->p->bufs.n; i++)
    if (run->dim[i] >= 0) t->p->bufs.v[i]->scope = loop->var;
  return loop;
}

/* The longest run from v on that pays becomes a loop; how many leaves that are. */
static int tile_from(const tiler *t, tp_pnode **v, int n) {
  tp_tiled best = { 0 };
  int64_t b = 0;
  if (v[0]->kind != TP_P_REGION || !fits(v[0]->rg)) return 0;
  for (int k = v[0]->rg->npoint; k < v[0]->rg->nlead; k++) {
    if (tp_extent_of_tiles(v[0]->rg->lead[k]) < 2 || v[0]->rg->sums >> k & 1) continue;
    tp_tiled run = run_along(t, v, n, k);
    int64_t n_places = run.n > best.n ? places(t, &run) : 0;
    if (n_places) best = run, b = n_places;
  }
  if (!b) return 0;
  v[0] = loop_of(t, v, &best, b);
  return best.n;
}

static void tile_row(const tiler *t, tp_pnode *x) {
  int n = 0;
  for (int i = 0; i < x->n;) {
    int took = tile_from(t, x->kid + i, x->n - i);
    x->kid[n++] = x->kid[i];
    i += TP_MAX(took, 1);
  }
  x->n = n;
}

void tp_plan_tile(tp_plan *p, const tp_planned *asked) {
  (void)asked;
  const char *set = p->reproducible ? NULL : tp_setting("TEMPO_TILE");
  tiler t = { p, tp_plan_uses(p), TP_TUNE_TILE_ELEMENTS, TP_TUNE_TILE_LEAST, TP_TUNE_TILE_LINE };
  if (set) t.tile = TP_MAX(atoll(set), 1), t.least = 2, t.apart = 1;
  TP_KIDS_FIRST (k, p->body)
    if (k.x->kind == TP_P_SEQ) tile_row(&t, k.x);
}
