/* tile: rows of loops go over tiles that stay in the cache.
 *
 * Let leaves that follow each other be loops that all have an axis of one extent E that none of
 * them folds, and let all they say to each other through buffers be said along it: two windows on
 * a buffer that one of them writes have the same offset and rings, move along one dim of it with
 * their axis, and along other dims with theirs. Then what one leaf makes at place i of the axis
 * is used by the others at place i only, and instead of each going over all of E
 *
 *   for v = 0 .. E / B { each of them over B places from B * v on }
 *
 * leaves the order of everything that depends on each other as it was. Buffers that nothing else
 * touches shrink to B places of that axis. Sums stay sums of the same numbers in the same order.
 * It pays where a leaf goes over more than the cache holds, and a few places of the axis do not:
 * B is so many that they make TP_TUNE_TILE_ELEMENTS elements. An extent that only the call knows,
 * and is no dim's bound, is taken for TP_TUNE_TILE_UNKNOWN places: one iteration that was not
 * needed costs little. Small programs of known extents pay nothing. */
#include "plan/priv.h"
#include <stdlib.h>

typedef struct {
  tp_plan *p;
  tp_arena *a;
  tp_ictx *ix;
  int *uses;
  int64_t tile, least, apart;
} tiler;
/* n leaves of the row from some on, and which axis of each */
typedef struct {
  int n, axis[64];
  const tp_ix *extent;
} tiled;

static bool is_one(const tp_ix *e) { return tp_is_number(e, 1); }
static bool is_still(const tp_ix *e) { return tp_is_number(e, 0); }

/* ---- which leaves ---- */

static bool is_free(const tp_region *r, int k, const tp_ix *e) {
  return r->lead[k] == e && !(r->sums >> k & 1);
}

/* All that it goes over; -1: not known. */
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

/* An axis of leaf j along which it goes with those before it; -1: none. */
static int axis_of_leaf(tiler *t, tp_pnode *const *v, const tiled *run, int j) {
  for (int k = v[j]->rg->npoint; k < v[j]->rg->nlead; k++) {
    bool ok = is_free(v[j]->rg, k, run->extent);
    for (int i = 0; i < j && ok; i++) ok = tp_meet_along(t->p, v[i]->rg, run->axis[i], v[j]->rg, k);
    if (ok && tp_meet_along(t->p, v[j]->rg, k, v[j]->rg, k)) return k;
  }
  return -1;
}

/* The longest run of leaves from v on, at most n, along axis k of the first. */
static tiled run_along(tiler *t, tp_pnode *const *v, int n, int k) {
  tiled run = { .n = 1, .axis = { k }, .extent = v[0]->rg->lead[k] };
  if (!tp_meet_along(t->p, v[0]->rg, k, v[0]->rg, k)) return (tiled){ 0 };
  for (int j = 1; j < n && j < (int)TP_LEN(run.axis); j++) {
    const tp_region *r = v[j]->kind == TP_P_REGION ? v[j]->rg : NULL;
    if (!r || !fits(r)) break;
    int at = axis_of_leaf(t, v, &run, j);
    if (at < 0) break;
    run.axis[run.n++] = at;
  }
  return run;
}

/* Does a tile cut lines of neighbours? */
static bool cuts_lines(tp_pnode *const *v, const tiled *run) {
  for (int i = 0; i < run->n; i++)
    for (int k = 0; k < v[i]->rg->nin + v[i]->rg->nout; k++)
      if (is_one(tp_window_at(v[i]->rg, k)->lead[run->axis[i]])) {
        for (int j = 0; j < v[i]->rg->nlead; j++)
          if (j != run->axis[i] && !is_still(tp_window_at(v[i]->rg, k)->lead[j]) &&
              !is_one(v[i]->rg->lead[j]))
            return true;
      }
  return false;
}

/* Places of the axis in a tile; 0: it does not pay. A leaf of many elements has to meet another: a
 * mean's sum is only made worse. */
static int64_t places(const tiler *t, tp_pnode *const *v, const tiled *run) {
  int64_t most = 0, next = 0, all = tp_extent_of_tiles(run->extent);
  for (int i = 0; i < run->n; i++) {
    int64_t n = points(v[i]->rg);
    next = TP_MAX(next, TP_MIN(n, most));
    most = TP_MAX(most, n);
  }
  int64_t each = most / TP_MAX(all, 1), b = TP_MAX(t->tile / TP_MAX(each, 1), 1);
  if (next < t->least || each > 4 * t->tile || b >= all) return 0;
  if (b < t->apart && cuts_lines(v, run))
    return t->apart < all && t->apart * each <= TP_TUNE_TILE_COLUMNS ? t->apart : 0;
  /* without a rest if a number near it divides the extent */
  for (int64_t d = b; d > b / 2 && tp_ix_is_const(run->extent, NULL); d--)
    if (all % d == 0) return d;
  return b;
}

/* ---- the new loop ---- */

/* Is the buffer only for these leaves, and what they see of it all of the same form? Then *d is
 * the dim that shrinks. */
static bool shrinks(tiler *t, tp_pnode *const *v, const tiled *run, int buf, int *d) {
  int n = 0;
  for (int i = 0; i < run->n; i++) n += tp_windows_on(v[i]->rg, buf);
  *d = -1;
  if (t->p->bufs.v[buf]->kind != TP_BUF_TEMP || n != t->uses[buf]) return false;
  for (int i = 0; i < run->n; i++)
    for (int k = 0; k < v[i]->rg->nin + v[i]->rg->nout; k++) {
      const tp_nd *x = tp_window_at(v[i]->rg, k);
      if (x->buf != buf) continue;
      int at = tp_moves_along(t->p, v[i]->rg, x, run->axis[i]);
      if (at < 0 || (*d >= 0 && at != *d) || x->nring || !is_still(x->off) ||
          !tp_is_regular(t->p, v[i]->rg, x))
        return false;
      *d = at;
    }
  return *d >= 0;
}

static void shrink(tiler *t, tp_pnode *const *v, const tiled *run, int buf, int d, int64_t b) {
  tp_pbuf *now = t->p->bufs.v[buf], was = tp_shrink_dim(t->p, now, d, b);
  for (int i = 0; i < run->n; i++)
    for (int k = 0; k < v[i]->rg->nin + v[i]->rg->nout; k++) {
      tp_nd *x = tp_window_at(v[i]->rg, k);
      if (x->buf == buf) tp_lie_anew(t->p, v[i]->rg, x, &was, now);
    }
}

static tp_pnode *loop_of(tiler *t, tp_pnode **v, const tiled *run, int64_t b) {
  const tp_sym *var = tp_sym_var(t->ix, "tile");
  const tp_ix *first = tp_ix_mulc(t->ix, tp_ix_sym(t->ix, var), b), *all = run->extent,
              *n = tp_places_of_tile(t->ix, all, b, first);
  bool *small = TP_NEWN(t->a, bool, t->p->bufs.n);
  for (int i = 0; i < run->n; i++) v[i]->rg = tp_region_copy(t->p, v[i]->rg);
  for (int i = 0; i < run->n; i++)
    for (int k = 0; k < v[i]->rg->nin + v[i]->rg->nout; k++) {
      int d, buf = tp_window_at(v[i]->rg, k)->buf;
      if (small[buf] || !shrinks(t, v, run, buf, &d)) continue;
      shrink(t, v, run, buf, d, b);
      t->p->bufs.v[buf]->scope = var;
      small[buf] = true;
    }
  for (int i = 0; i < run->n; i++) tp_cut_axis(t->p, v[i]->rg, run->axis[i], first, n, small);
  return tp_loop_over_tiles(t->p, var, all, b, run->n, v);
}

/* The longest run from v on that pays becomes a loop; how many leaves that are. */
static int tile_from(tiler *t, tp_pnode **v, int n) {
  tiled best = { 0 };
  int64_t b = 0;
  if (v[0]->kind != TP_P_REGION || !fits(v[0]->rg)) return 0;
  for (int k = v[0]->rg->npoint; k < v[0]->rg->nlead; k++) {
    if (tp_extent_of_tiles(v[0]->rg->lead[k]) < 2 || v[0]->rg->sums >> k & 1) continue;
    tiled run = run_along(t, v, n, k);
    int64_t n_places = run.n > best.n ? places(t, v, &run) : 0;
    if (n_places) best = run, b = n_places;
  }
  if (!b) return 0;
  v[0] = loop_of(t, v, &best, b);
  return best.n;
}

static void tile_row(tiler *t, tp_pnode *x) {
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
  tiler t = { p, p->a, p->ix, tp_plan_uses(p), TP_TUNE_TILE_ELEMENTS, TP_TUNE_TILE_LEAST,
    TP_TUNE_TILE_LINE };
  if (set) t.tile = TP_MAX(atoll(set), 1), t.least = 2, t.apart = 1;
  TP_KIDS_FIRST (k, p->body)
    if (k.x->kind == TP_P_SEQ) tile_row(&t, k.x);
}
