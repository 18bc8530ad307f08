/* strip: loops whose leaves all go over one axis are gone through a strip of it at a time.
 *
 *   for t { leaves over 0 .. E }   =>   for v = 0 .. E / B { for t { leaves over B places } }
 *
 * Each leaf of a loop, of loops in it and of neighbours goes over an axis of extent E that it does
 * not fold, and each window on a buffer that is written there lies, at place i of that axis, at
 * index i of one dim of the buffer. Then place i needs nothing of other places in any iteration, so
 * whatever depends on each other stays in order.
 *
 * A leaf may also sum up along the axis, into elements that each iteration of the loops around it
 * has for itself and that the others do not touch: the sums of strips are added up in a buffer
 * beside (floats in f64), which is copied to the sum's place after each strip, so the last copy is
 * the sum (not under `precise`: terms are added up strip by strip). Leaves are loops, and products
 * whose axes are all the region's own (rows.c). Buffers that nothing else touches shrink to B
 * places, so the values that a recurrence carries stay in the cache. It pays if these buffers are
 * larger than the cache, which is assumed of an extent that only the call knows. Programs with
 * callbacks are left as they are: a callback sees the order of work. */
#include "plan/priv.h"
#include <stdlib.h>

enum { SUMMED = -2 };
/* t.dim, by buffer: the dim along which places of the axis move; -1: nothing is written, SUMMED,
 * TP_MAXRANK: not known yet. own, by leaf: has each iteration of the loops around places of its own
 * for the first result? uses, by buffer: windows in the whole plan. beside, by buffer: the one in
 * which its sums are kept, or 0. depth: loops around the row; loop: loops around the leaf, inside
 * of the row. */
typedef struct {
  tp_plan *p;
  tp_tiled t;
  bool precise, own[TP_TILED];
  int *uses, *beside, depth, nloop;
  const tp_pnode *loop[TP_MAXRANK];
} strip;

static tp_region *strip_leaf(const strip *s, int j) { return s->t.leaf[j]->rg; }

/* A product all of whose axes are the region's own (rows.c). */
static bool is_all_axes(const tp_region *r) {
  bool is = r->kind == TP_RG_OP && r->op == TP_OP_MATMUL && !r->check && !r->first && !r->ncoord &&
      !r->nrows;
  TP_WINDOWS (x, r) {
    is &= x->wrap < 0;
    for (int k = 0; k < x->rank; k++) is &= tp_is_number(x->shape[k], 1);
  }
  return is;
}

/* The dim of its buffer along which the window goes by one index from an iteration to the next; -1:
 * by none, or by others. */
static int steps_along(const strip *s, const tp_region *r, const tp_nd *x, tp_sym *var) {
  const tp_pbuf *b = s->p->bufs.v[x->buf];
  tp_ix *by = tp_step_of(r, x, var, false);
  int d = by ? tp_pbuf_dim(s->p, b, by) : -1;
  if (by && d < 0) d = tp_pbuf_dim(s->p, b, tp_ix_neg(by));
  return d < b->ndim ? d : -1;
}

/* Has each iteration of the loops around the leaf places of its own for its first result? A dim of
 * the buffer then stands for each loop, and no axis goes along it. */
static bool has_own_places(const strip *s, const tp_region *r) {
  const tp_nd *x = &r->out[0];
  uint64_t seen = 0;
  if (x->buf < 0 || x->nring || !tp_is_regular(s->p, r, x)) return false;
  for (int k = 0; k < r->nlead; k++) {
    int d = tp_moves_along(s->p, r, x, k);
    if (d >= 0) seen |= (uint64_t)1 << d;
  }
  for (int i = 0; i < s->nloop; i++) {
    int d = steps_along(s, r, x, s->loop[i]->var);
    if (d < 0 || (seen >> d & 1)) return false;
    seen |= (uint64_t)1 << d;
  }
  return true;
}

static bool collect_leaves(strip *s, tp_pnode *x) {
  bool ok = true, loop = x->kind == TP_P_FOR;
  if (loop && s->nloop == TP_MAXRANK) return false;
  if (loop) s->loop[s->nloop++] = x;
  for (int i = 0; i < x->n && ok; i++) ok = collect_leaves(s, x->kid[i]);
  s->nloop -= loop;
  if (x->kind == TP_P_SEQ || loop || x->kind == TP_P_IF) return ok;
  if (x->kind != TP_P_REGION || s->t.n == TP_TILED || !(tp_fits_tile(x->rg) || is_all_axes(x->rg)))
    return false;
  s->own[s->t.n] = x->rg->nout && has_own_places(s, x->rg);
  s->t.leaf[s->t.n++] = x;
  return true;
}

/* May what the leaf sums up be added up strip by strip? */
static bool is_sum(const strip *s, int j) {
  const tp_region *r = strip_leaf(s, j);
  bool reorders = s->precise && r->nout && r->out[0].buf >= 0 &&
      tp_dtype_float(s->p->bufs.v[r->out[0].buf]->dtype);
  return r->kind == TP_RG_LOOP && r->sums && !r->acc && r->red == TP_RED_SUM &&
      (r->nmicro || r->nout == 1) && s->own[j] && !reorders;
}

/* Are all elements that leaf j writes such sums, each made once, and does nothing here read
 * them? */
static bool may_join(const strip *s, int j) {
  int buf = strip_leaf(s, j)->out[0].buf, others = 0;
  for (int k = 0; k < s->t.n; k++)
    others += tp_windows_on(strip_leaf(s, k), buf) -
        (is_sum(s, k) && strip_leaf(s, k)->out[0].buf == buf);
  return is_sum(s, j) && !others;
}

/* Is place i of axis k index i of dim d? It is, if the window goes over all of an axis of elements,
 * because a window lies inside its value. */
static bool is_index(const strip *s, const tp_region *r, const tp_nd *x, int k, int d) {
  const tp_pbuf *b = s->p->bufs.v[x->buf];
  if (!tp_is_number(r->leadlo[k], 0) || d < 0 || !tp_is_regular(s->p, r, x)) return false;
  if (d >= b->ndim) return b->slots[d] == s->t.extent;
  if (!x->nspan) return !x->nring && tp_is_number(x->off, 0);
  return x->span[d].lo && tp_is_number(x->span[d].lo, 0) &&
      x->span[d].hi == tp_ix_addc(s->t.extent, -1);
}

static bool sums_up(const strip *s, int j) { return strip_leaf(s, j)->sums >> s->t.axis[j] & 1; }

/* Do all windows through which leaf j meets others move along with its axis k? */
static bool moves_with(const strip *s, int j, int k) {
  const tp_region *r = strip_leaf(s, j);
  bool sums = r->sums >> k & 1;
  if (r->lead[k] != s->t.extent || (sums && !may_join(s, j))) return false;
  TP_WINDOWS (x, r) {
    int at = x->buf < 0 ? -1 : s->t.dim[x->buf], d;
    if (at == -1 || (sums && x == r->out)) continue;
    d = tp_moves_along(s->p, r, x, k);
    if (!is_index(s, r, x, k, d) || (at != TP_MAXRANK && at != d)) return false;
  }
  return true;
}

static bool take_leaf(strip *s, int j) {
  const tp_region *r = strip_leaf(s, j);
  int k = 0;
  while (k < r->nlead && !moves_with(s, j, k)) k++;
  if (k == r->nlead) return false;
  s->t.axis[j] = k;
  TP_WINDOWS (x, r)
    if (x->buf >= 0 && s->t.dim[x->buf] >= 0)
      s->t.dim[x->buf] = sums_up(s, j) && x == r->out ? SUMMED : tp_moves_along(s->p, r, x, k);
  return true;
}

/* Do all leaves of n nodes move with an axis of this extent? */
static bool goes_along(strip *s, tp_ix *extent, tp_pnode *const *v, int n) {
  bool ok = true;
  s->t.extent = extent;
  s->t.n = 0;
  for (int i = 0; i < n && ok; i++) ok = collect_leaves(s, v[i]);
  for (int i = 0; i < s->p->bufs.n; i++) s->t.dim[i] = -1;
  for (int j = 0; j < s->t.n; j++)
    for (int i = 0; i < strip_leaf(s, j)->nout; i++)
      if (strip_leaf(s, j)->out[i].buf >= 0) s->t.dim[strip_leaf(s, j)->out[i].buf] = TP_MAXRANK;
  for (int j = 0; j < s->t.n && ok; j++) ok = take_leaf(s, j);
  return ok;
}

/* ---- what shrinks ---- */

/* Is the buffer seen only here, and by one iteration at a time of the loops around? */
static bool is_small(const strip *s, int buf) {
  const tp_pbuf *b = s->p->bufs.v[buf];
  int n = 0, d = s->t.dim[buf];
  if (d < 0 || b->kind != TP_BUF_TEMP || b->inside < s->depth) return false;
  for (int j = 0; j < s->t.n; j++)
    TP_WINDOWS (x, strip_leaf(s, j)) {
      if (x->buf == buf && !tp_may_shrink(s->p, x, d)) return false;
      n += x->buf == buf;
    }
  return n == s->uses[buf];
}

/* Elements of one place of the strip, along dims from `from` on. A dim that only the call knows
 * counts as TP_TUNE_TILE_UNKNOWN. */
static int64_t place_elements(const strip *s, int buf, int from) {
  const tp_pbuf *b = s->p->bufs.v[buf];
  int64_t all = 1;
  for (int d = from; d < b->ndim + b->rank; d++) {
    int64_t n;
    if (d == s->t.dim[buf]) continue;
    if (!tp_known_most(b->slots[d], &n)) n = TP_TUNE_TILE_UNKNOWN;
    all = TP_MIN(all * TP_MAX(n, 1), INT32_MAX);
  }
  return all;
}

/* Places of a strip: an odd number of vectors, at least four in the longest rows, so that rows lie
 * in different lines of the cache. 0: it does not pay. */
static int64_t strip_places(const strip *s) {
  const char *set = s->p->reproducible ? NULL : tp_setting("TEMPO_TILE");
  int64_t bytes = 0, beside = 0, each = 1, all = INT64_MAX, vector = TP_TUNE_TILE_LINE / 4;
  bool products = false;
  for (int i = 0; i < s->p->bufs.n; i++)
    if (s->t.dim[i] >= 0) {
      const tp_pbuf *b = s->p->bufs.v[i];
      bytes += place_elements(s, i, 0) * tp_dtype_size(b->dtype);
      each = TP_MAX(each, place_elements(s, i, b->ndim));
    }
  for (int j = 0; j < s->t.n; j++) {
    products |= strip_leaf(s, j)->kind == TP_RG_OP;
    if (sums_up(s, j)) beside += 8 * place_elements(s, strip_leaf(s, j)->out[0].buf, 0);
  }
  tp_ix_is_const(s->t.extent, &all);
  if (!bytes || (set && all < 2) || beside > bytes * TP_MIN(all, INT32_MAX) / 2) return 0;
  if (set) return TP_MAX(atoll(set), 1);
  if (products)
    return bytes * all > TP_TUNE_STRIP_PRODUCTS
        ? TP_MIN(TP_MAX(TP_TUNE_STRIP_PRODUCTS / bytes, 1), all - 1)
        : 0;
  int64_t b = TP_MAX(TP_TUNE_STRIP_BYTES / bytes / vector, 4 / TP_MIN(each, 4)) | 1;
  return b * vector * 2 <= all ? b * vector : 0;
}

/* ---- what is summed up ---- */

/* A buffer like that of the sum, for the sum of the strips so far. */
static int buffer_beside(strip *s, int buf) {
  tp_pbuf *b = tp_dup(s->p->a, s->p->bufs.v[buf], sizeof *b);
  b->id = s->p->bufs.n;
  b->kind = TP_BUF_TEMP;
  b->slot = 0;
  b->scope = NULL, b->holds = -1;
  if (tp_dtype_float(b->dtype)) b->dtype = TP_F64;
  b->inside = s->depth;
  TP_PUSH(s->p->a, &s->p->bufs, b);
  return b->id;
}

static tp_micro *cast_to(const strip *s, tp_dtype d, int from, const tp_micro *before, int n) {
  tp_micro *m = TP_NEWN(s->p->a, tp_micro, n + 1);
  if (n) TP_COPYN(m, before, n);
  m[n] = (tp_micro){ .op = TP_OP_CAST, .dtype = d, .in = { from, from, from } };
  return m;
}

/* A leaf that sets all of the buffer to 0. */
static tp_pnode *cleared(strip *s, int buf, const tp_region *of) {
  const tp_pbuf *b = s->p->bufs.v[buf];
  tp_ix *one = tp_ix_const(s->p->ix, 1), *zero = tp_ix_const(s->p->ix, 0), *all = b->size;
  tp_sym *var = tp_sym_var(s->p->ix, "a");
  tp_micro fill = { .op = TP_OP_FILL, .dtype = b->dtype };
  tp_nd out = { .buf = buf, .off = zero, .lead = &one, .wrap = -1, .axis = -1 };
  tp_region r = { .kind = TP_RG_LOOP,
    .nlead = 1,
    .lead = &all,
    .leadvar = &var,
    .leadlo = &zero,
    .nmicro = 1,
    .micro = TP_DUPN(s->p->a, &fill, 1),
    .outmicro = TP_NEW(s->p->a, int),
    .nout = 1,
    .out = &out,
    .who = of->who,
    .pos = of->pos };
  return tp_plan_leaf(s->p->a, tp_region_copy(s->p, &r));
}

/* A leaf that copies the sum so far to its place. */
static tp_pnode *delivered(const strip *s, const tp_region *of, tp_nd from, tp_nd to) {
  tp_region r = *of, *copy;
  tp_dtype want = s->p->bufs.v[to.buf]->dtype;
  r.nmicro = s->p->bufs.v[from.buf]->dtype != want;
  r.micro = cast_to(s, want, 0, NULL, 0);
  r.outmicro = TP_NEW(s->p->a, int);
  r.nin = r.nout = 1;
  r.in = &from, r.out = &to;
  copy = tp_region_copy(s->p, &r);
  for (int k = 0; k < r.nlead; k++)
    if (r.sums >> k & 1) copy->lead[k] = tp_ix_const(s->p->ix, 1);
  copy->sums = 0, copy->acc = false;
  return tp_plan_leaf(s->p->a, copy);
}

/* Makes leaf j add the sum of a strip to the buffer beside. */
static void join_strips(strip *s, int j, int beside) {
  tp_region *r = strip_leaf(s, j);
  tp_nd to = r->out[0];
  int was = r->nmicro ? r->outmicro[0] : -r->nin;
  if (s->p->bufs.v[beside]->dtype != s->p->bufs.v[to.buf]->dtype) {
    r->micro = cast_to(s, TP_F64, r->nin + was, r->micro, r->nmicro);
    r->outmicro =
        r->nmicro ? TP_DUPN(s->p->a, r->outmicro, r->nout) : TP_NEWN(s->p->a, int, r->nout);
    r->outmicro[0] = r->nmicro++;
  }
  r->acc = true;
  r->out[0].buf = beside;
  r->out[0].nspan = 0;
  tp_pnode *kids[] = { tp_plan_leaf(s->p->a, r), delivered(s, r, r->out[0], to) };
  tp_become(s->t.leaf[j], tp_plan_seq(s->p->a, 2, kids));
}

/* Puts leaves around the loop over strips that clear the sums beside. If there is no strip, the
 * sums are still made, of no terms. */
static tp_pnode *with_sums(strip *s, tp_pnode *loop) {
  tp_pnode **kid = TP_NEWN(s->p->a, tp_pnode *, s->t.n + 1);
  int n = 0;
  memset(s->beside, 0, sizeof *s->beside * (size_t)s->p->bufs.n);
  for (int j = 0; j < s->t.n; j++) {
    if (!sums_up(s, j)) continue;
    int buf = strip_leaf(s, j)->out[0].buf, *beside = &s->beside[buf];
    if (!*beside) {
      *beside = buffer_beside(s, buf);
      kid[n++] = cleared(s, *beside, strip_leaf(s, j));
    }
    join_strips(s, j, *beside);
  }
  if (!n) return loop;
  loop->hi = tp_ix_max(loop->hi, tp_ix_const(s->p->ix, 1));
  kid[n++] = loop;
  return tp_plan_seq(s->p->a, n, kid);
}

static tp_pnode *make_strips(strip *s, tp_pnode **v, int n, int64_t places) {
  tp_pnode *loop = tp_over_tiles(&s->t, "strip", places, n, v);
  for (int i = 0; i < s->p->bufs.n; i++) {
    tp_pbuf *b = s->p->bufs.v[i];
    if (s->t.dim[i] < 0) continue;
    if (!b->scope) b->scope = loop->var;
    b->inside += b->inside < TP_INSIDE_ALL; /* the new loop is around those that it counts */
  }
  return with_sums(s, loop);
}

/* Node `at` of the row v and the neighbours that go with it become a loop over strips of this
 * extent: at node *from, `to` is behind the last. */
static bool strip_along(strip *s, tp_ix *extent, tp_pnode **v, int n, int at, int *from, int *to) {
  *from = at, *to = at + 1;
  if (!tp_ix_of_bounds(extent) || tp_is_number(extent, 1) || !goes_along(s, extent, v + at, 1))
    return false;
  while (*from > 0 && goes_along(s, extent, v + *from - 1, *to - *from + 1)) --*from;
  while (*to < n && goes_along(s, extent, v + *from, *to - *from + 1)) ++*to;
  goes_along(s, extent, v + *from, *to - *from);
  for (int i = 0; i < s->p->bufs.n; i++)
    if (!is_small(s, i)) s->t.dim[i] = -1;
  int64_t places = strip_places(s);
  if (places) v[*from] = make_strips(s, v + *from, *to - *from, places);
  return places;
}

static bool strip_node(strip *s, tp_pnode **v, int n, int at, int *from, int *to) {
  s->t.n = 0;
  if (!tp_has(v[at], TP_P_FOR) || !collect_leaves(s, v[at]) || !s->t.n) return false;
  const tp_region *first = strip_leaf(s, 0);
  bool done = false;
  for (int k = 0; k < first->nlead && !done; k++)
    done = strip_along(s, first->lead[k], v, n, at, from, to);
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

void tp_plan_strips(tp_plan *p, const tp_planned *asked) {
  int n = p->bufs.n, room = n + tp_plan_leaves(p->body); /* a sum beside for each leaf */
  strip s = { .p = p,
    .precise = asked->precise,
    .t = { .p = p, .dim = TP_NEWN(p->a, int, room) },
    .uses = TP_NEWN(p->a, int, room),
    .beside = TP_NEWN(p->a, int, room) };
  memcpy(s.uses, tp_plan_uses(p), sizeof *s.uses * (size_t)n);
  if (!p->calls.n) strips_in(&s, &p->body, 1);
}
