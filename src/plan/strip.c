/* strip: loops whose leaves all go over one axis are gone through a strip of it at a time.
 *
 * Let each leaf of a loop, of loops in it and of neighbours go over an axis of one extent E that it does not fold, and let every window on a buffer that is written there lie, at
 * place i of that axis, at index i of one dim of the buffer. Then place i needs of the others nothing, in whatever iteration, and instead of each leaf going over
 * all of E in each iteration
 *
 *   for v = 0 .. E / B { the loop and its neighbours, their leaves over B places from B * v on }
 *
 * leaves the order of everything that depends on each other as it was. Leaves are loops, and products whose axes are all the region's own (rows.c). Buffers that nothing else touches shrink to B places: what a recurrence turns, makes and carries
 * for a block of its steps stays in the cache. It pays where these are larger than that; of an extent that only the call knows that is taken for granted.
 *
 * Not where callbacks see what runs when. */
#include "plan/priv.h"
#include <stdlib.h>

enum { STRIP_LEAVES = 64 };
/* axis: by leaf; dim: by buffer, that moves with it, -1 where nothing is written, TP_MAXRANK where it is not known yet; uses: windows in all of the plan; inside: as
 * tp_plan_lifetimes; depth: loops around the row. */
typedef struct { tp_plan *p; const tp_ix *extent; int n; tp_region *leaf[STRIP_LEAVES]; int axis[STRIP_LEAVES]; int *dim, *uses, *inside, depth; } strip;

/* A product all of whose axes are the region's own (rows.c). */
static bool is_all_axes(const tp_region *r) {
  bool is = r->kind == TP_RG_OP && r->op == TP_OP_MATMUL && !r->check && !r->newest && !r->ncoord && !r->nrows;
  for (int i = 0; is && i < r->nin + r->nout; i++) {
    const tp_nd *x = tp_window_at(r, i);
    is = x->wrap < 0;
    for (int k = 0; k < x->rank; k++) is &= tp_is_number(x->shape[k], 1);
  }
  return is;
}

static bool collect_leaves(strip *s, const tp_pnode *x) {
  bool ok = true;
  for (int i = 0; i < x->n && ok; i++) ok = collect_leaves(s, x->kid[i]);
  if (x->kind == TP_P_SEQ || x->kind == TP_P_FOR || x->kind == TP_P_IF) return ok;
  if (x->kind != TP_P_REGION || s->n == STRIP_LEAVES || (!tp_fits_tile(x->rg) && !is_all_axes(x->rg))) return false;
  s->leaf[s->n++] = x->rg;
  return true;
}

/* Is place i of axis k index i of the dim? It is where it goes over all of an axis of elements: a window lies inside its value. */
static bool is_index(const strip *s, const tp_region *r, const tp_nd *x, int k, int d) {
  const tp_pbuf *b = s->p->bufs.v[x->buf];
  if (!tp_is_number(r->leadlo[k], 0) || d < 0 || !tp_is_regular(s->p, r, x)) return false;
  if (d >= b->ndim) return b->slots[d] == s->extent;
  if (!x->span) return !x->nring && tp_is_number(x->off, 0);
  return x->span[2 * d] && tp_is_number(x->span[2 * d], 0) && x->span[2 * d + 1] == tp_ix_addc(s->p->ix, s->extent, -1);
}

/* Does all that the leaf says to others move along with its axis k? */
static bool moves_with(const strip *s, const tp_region *r, int k) {
  if (r->lead[k] != s->extent || (r->sums >> k & 1)) return false;
  for (int i = 0; i < r->nin + r->nout; i++) {
    const tp_nd *x = tp_window_at(r, i);
    if (x->buf < 0 || s->dim[x->buf] < 0) continue;
    int d = tp_moves_along(s->p, r, x, k);
    if (!is_index(s, r, x, k, d) || (s->dim[x->buf] != TP_MAXRANK && s->dim[x->buf] != d)) return false;
  }
  return true;
}

static bool take_leaf(strip *s, int j) {
  const tp_region *r = s->leaf[j];
  int k = 0;
  while (k < r->nlead && !moves_with(s, r, k)) k++;
  if (k == r->nlead) return false;
  s->axis[j] = k;
  for (int i = 0; i < r->nin + r->nout; i++) {
    const tp_nd *x = tp_window_at(r, i);
    if (x->buf >= 0 && s->dim[x->buf] >= 0) s->dim[x->buf] = tp_moves_along(s->p, r, x, k);
  }
  return true;
}

/* Do all leaves of n nodes, along an axis of this extent? */
static bool goes_along(strip *s, const tp_ix *extent, tp_pnode *const *v, int n) {
  bool ok = true;
  s->extent = extent;
  s->n = 0;
  for (int i = 0; i < n && ok; i++) ok = collect_leaves(s, v[i]);
  for (int i = 0; i < s->p->bufs.n; i++) s->dim[i] = -1;
  for (int j = 0; j < s->n; j++)
    for (int i = 0; i < s->leaf[j]->nout; i++)
      if (s->leaf[j]->out[i].buf >= 0) s->dim[s->leaf[j]->out[i].buf] = TP_MAXRANK;
  for (int j = 0; j < s->n && ok; j++) ok = take_leaf(s, j);
  return ok;
}

/* ---- what shrinks ---- */

/* The dim whose stride this is; -1: none. */
static int dim_of_stride(const strip *s, const tp_pbuf *b, const tp_ix *stride) {
  for (int d = 0; d < b->ndim; d++)
    if (tp_pbuf_stride(s->p->ix, b, d) == stride && !tp_is_number(b->slots[d], 1)) return d;
  return -1;
}

/* Is the window's place along each dim, but for one that lies inside of the strip's, said by its axes and rings? */
static bool is_placed(const strip *s, const tp_nd *x) {
  bool ok = tp_is_number(x->off, 0) || (x->ahead == x->off && x->axis >= s->p->bufs.v[x->buf]->ndim && x->axis > s->dim[x->buf]);
  for (int i = 0; i < x->nring; i++) ok &= dim_of_stride(s, s->p->bufs.v[x->buf], x->ring[i].stride) >= 0;
  return ok;
}

/* Only seen here, and not from one iteration of a loop around to the next. */
static bool is_small(const strip *s, int buf) {
  int n = 0;
  if (s->dim[buf] < 0 || s->p->bufs.v[buf]->kind != TP_BUF_TEMP || s->inside[buf] < s->depth) return false;
  for (int j = 0; j < s->n; j++)
    for (int i = 0; i < s->leaf[j]->nin + s->leaf[j]->nout; i++) {
      const tp_nd *x = tp_window_at(s->leaf[j], i);
      if (x->buf != buf) continue;
      if (!is_placed(s, x)) return false;
      n++;
    }
  return n == s->uses[buf];
}

/* Bytes of one place of the strip. What is as long as a dim that only the call knows is taken for TP_TUNE_TILE_UNKNOWN. */
static int64_t place_bytes(const strip *s, int buf) {
  const tp_pbuf *b = s->p->bufs.v[buf];
  int64_t bytes = tp_dtype_size(b->dtype);
  for (int d = 0; d < b->ndim + b->rank; d++) {
    int64_t n, least = TP_TUNE_TILE_UNKNOWN;
    const tp_ix *e = b->slots[d];
    if (d == s->dim[buf]) continue;
    if (tp_ix_is_const(e, &n)) least = n;
    for (int i = 0; tp_ix_kind(e) == TP_IX_MIN && i < tp_ix_narg(e); i++)
      if (tp_ix_is_const(tp_ix_arg(e, i), &n)) least = TP_MIN(least, n);
    bytes = TP_MIN(bytes * TP_MAX(least, 1), INT32_MAX);
  }
  return bytes;
}

static bool has_products(const strip *s) {
  bool any = false;
  for (int j = 0; j < s->n; j++) any |= s->leaf[j]->kind == TP_RG_OP;
  return any;
}

/* Places of a strip: an odd number of vectors, so that rows lie in different lines of the cache. 0: it does not pay. */
static int64_t strip_places(const strip *s, const bool *small) {
  const char *set = tp_setting("TEMPO_TILE");
  int64_t bytes = 0, all = INT64_MAX, vector = TP_TUNE_TILE_LINE / 4;
  for (int i = 0; i < s->p->bufs.n; i++)
    if (small[i]) bytes += place_bytes(s, i);
  tp_ix_is_const(s->extent, &all);
  if (!bytes || (set && all < 2)) return 0;
  if (set) return TP_MAX(atoll(set), 1);
  if (has_products(s)) return bytes * all > TP_TUNE_STRIP_PRODUCTS ? TP_MIN(TP_MAX(TP_TUNE_STRIP_PRODUCTS / bytes, 1), all - 1) : 0;
  int64_t b = TP_MAX(TP_TUNE_STRIP_BYTES / bytes / vector, 4) | 1;
  return b * vector * 2 <= all ? b * vector : 0;
}

/* ---- the new loop ---- */

static void shrink_window(const strip *s, const tp_region *r, tp_nd *x, const tp_pbuf *was, const tp_ix *n) {
  const tp_pbuf *b = s->p->bufs.v[x->buf];
  tp_ictx *ix = s->p->ix;
  x->lead = tp_dup(s->p->a, x->lead, sizeof *x->lead * (size_t)r->nlead);
  x->ring = tp_dup(s->p->a, x->ring, sizeof *x->ring * (size_t)x->nring);
  for (int k = 0; k < r->nlead; k++)
    for (int d = 0; d < b->ndim + b->rank; d++)
      if (tp_pbuf_stride(ix, was, d) == x->lead[k] && !tp_is_number(was->slots[d], 1) && !tp_is_number(r->lead[k], 1)) {
        x->lead[k] = tp_pbuf_stride(ix, b, d);
        break;
      }
  for (int i = 0; i < x->nring; i++) x->ring[i].stride = tp_pbuf_stride(ix, b, dim_of_stride(&(strip){ .p = s->p }, was, x->ring[i].stride));
  if (!x->span || s->dim[x->buf] >= b->ndim) return;
  x->span = tp_dup(s->p->a, x->span, sizeof *x->span * 2 * (size_t)b->ndim);
  x->span[2 * s->dim[x->buf] + 1] = tp_ix_addc(ix, n, -1);
}

static void shrink_buffer(const strip *s, int buf, int64_t places, const tp_ix *n, const tp_sym *var) {
  tp_pbuf *b = s->p->bufs.v[buf], was = *b;
  b->slots = tp_dup(s->p->a, b->slots, sizeof *b->slots * (size_t)(b->ndim + b->rank));
  b->slots[s->dim[buf]] = tp_ix_const(s->p->ix, places);
  b->size = tp_pbuf_size(s->p->ix, b);
  if (!b->scope) b->scope = var;
  for (int j = 0; j < s->n; j++)
    for (int i = 0; i < s->leaf[j]->nin + s->leaf[j]->nout; i++) {
      tp_nd *x = (tp_nd *)tp_window_at(s->leaf[j], i);
      if (x->buf == buf) shrink_window(s, s->leaf[j], x, &was, n);
    }
}

static tp_pnode *make_strips(strip *s, tp_pnode **v, int n, int64_t places, const bool *small) {
  tp_ictx *ix = s->p->ix;
  const tp_sym *var = tp_sym_var(ix, "strip");
  const tp_ix *first = tp_ix_mulc(ix, tp_ix_sym(ix, var), places), *all = tp_ix_min(ix, tp_ix_const(ix, places), tp_ix_sub(ix, s->extent, first));
  for (int j = 0; j < s->n; j++) {
    tp_region *r = s->leaf[j];
    r->in = tp_dup(s->p->a, r->in, sizeof *r->in * (size_t)r->nin);
    r->out = tp_dup(s->p->a, r->out, sizeof *r->out * (size_t)r->nout);
  }
  for (int i = 0; i < s->p->bufs.n; i++)
    if (small[i]) {
      shrink_buffer(s, i, places, all, var);
      s->inside[i] += s->inside[i] < TP_INSIDE_ALL;     /* the new loop is around those that it counts */
    }
  for (int j = 0; j < s->n; j++) tp_cut_axis(s->p, s->leaf[j], s->axis[j], first, all, small);
  return tp_loop_over_tiles(s->p, var, s->extent, places, n, v);
}

bool tp_holds_loop(const tp_pnode *x) {
  bool any = x->kind == TP_P_FOR;
  for (int i = 0; i < x->n && !any; i++) any = tp_holds_loop(x->kid[i]);
  return any;
}

/* Node `at` of the row v and the neighbours that go with it become a loop over strips of this extent: at node *from, `to` is behind the last. */
static bool strip_along(strip *s, const tp_ix *extent, tp_pnode **v, int n, int at, int *from, int *to) {
  bool *small = TP_NEWN(s->p->a, bool, s->p->bufs.n);
  *from = at, *to = at + 1;
  if (!tp_ix_of_bounds(extent) || tp_is_number(extent, 1) || !goes_along(s, extent, v + at, 1)) return false;
  while (*from > 0 && goes_along(s, extent, v + *from - 1, *to - *from + 1)) --*from;
  while (*to < n && goes_along(s, extent, v + *from, *to - *from + 1)) ++*to;
  goes_along(s, extent, v + *from, *to - *from);
  for (int i = 0; i < s->p->bufs.n; i++) small[i] = is_small(s, i);
  int64_t places = strip_places(s, small);
  if (places) v[*from] = make_strips(s, v + *from, *to - *from, places, small);
  return places;
}

static bool strip_node(strip *s, tp_pnode **v, int n, int at, int *from, int *to) {
  s->n = 0;
  if (!tp_holds_loop(v[at]) || !collect_leaves(s, v[at]) || !s->n) return false;
  const tp_region *first = s->leaf[0];
  bool done = false;
  for (int k = 0; k < first->nlead && !done; k++) done = strip_along(s, first->lead[k], v, n, at, from, to);
  return done;
}

/* Nodes of a row, n of them; how many are left. */
static int strips_in(strip *s, tp_pnode **v, int n) {
  int from, to;
  for (int i = 0; i < n; i++) {
    if (strip_node(s, v, n, i, &from, &to)) {
      memmove(v + from + 1, v + to, sizeof *v * (size_t)(n - to));
      n -= to - from - 1;
      i = from;
    } else if (v[i]->kind == TP_P_SEQ) v[i]->n = strips_in(s, v[i]->kid, v[i]->n);
    else {
      s->depth += v[i]->kind == TP_P_FOR;
      for (int k = 0; k < v[i]->n; k++) strips_in(s, v[i]->kid + k, 1);
      s->depth -= v[i]->kind == TP_P_FOR;
    }
  }
  return n;
}

void tp_plan_strips(tp_plan *p, int *inside) {
  strip s = { .p = p, .inside = inside, .dim = TP_NEWN(p->a, int, p->bufs.n), .uses = tp_plan_uses(p) };
  if (!p->calls.n) strips_in(&s, &p->body, 1);
}
