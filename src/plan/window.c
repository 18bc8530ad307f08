/* window: questions that passes ask of regions and windows, and cuts of regions to tiles. */
#include "plan/window.h"
#include "base/env.h"

const char *const tp_rg_names[TP_NRG] = {
#define K(NAME, text, op) text,
#include "plan/rgkinds.def"
#undef K
};
const char *const tp_bufkind_names[TP_NBUFKIND] = {
#define B(NAME, text) text,
#include "plan/bufkinds.def"
#undef B
};

tp_op tp_region_op(const tp_region *r) {
  static const tp_op folds[TP_NRED] = { TP_OP_SUM, TP_OP_PROD, TP_OP_MAX, TP_OP_MIN },
                     kinds[TP_NRG] = {
#define K(NAME, text, op) op,
#include "plan/rgkinds.def"
#undef K
                     };
  if (r->kind == TP_RG_OP) return r->op;
  if (r->kind != TP_RG_LOOP) return kinds[r->kind];
  return r->acc   ? TP_OP_ACCUM
      : r->sums   ? folds[r->red]
      : r->nmicro ? r->micro[r->nmicro - 1].op
                  : TP_OP_DETACH;
}

bool tp_is_pure_env(const tp_region *r) { return tp_env_text(r->how.str) != NULL; }

/* ---- buffers ---- */

tp_ix *tp_pbuf_size(tp_ictx *c, const tp_pbuf *x) {
  tp_ix *n = tp_ix_const(c, 1), *none = tp_ix_const(c, 0);
  for (int i = 0; i < x->ndim + x->rank; i++) /* at T = 0, T - 1 slots are none */
    n = tp_ix_mul(n, tp_ix_simplify(tp_ix_max(none, x->slots[i]), 0, NULL));
  return n;
}

tp_ix *tp_pbuf_stride(tp_ictx *c, const tp_pbuf *x, int i) {
  tp_ix *s = tp_ix_const(c, 1);
  for (int k = x->ndim + x->rank - 1; k >= 0; k--) {
    int axis = k < x->ndim && x->order ? x->order[k] : k;
    if (axis == i) break;
    s = tp_ix_mul(s, x->slots[axis]);
  }
  return s;
}

/* ---- windows that are the same ---- */

bool tp_same_rings(const tp_nd *a, const tp_nd *b, int n, tp_dims from, tp_ixs to) {
  bool same = a->nring == b->nring;
  for (int i = 0; same && i < a->nring; i++) {
    const tp_ring *x = &a->ring[i], *y = &b->ring[i];
    same = (n ? tp_ix_subst(x->idx, n, from, to) : x->idx) == y->idx && x->width == y->width &&
        x->stride == y->stride;
  }
  return same;
}

bool tp_same_start(const tp_nd *a, const tp_nd *b) {
  return a->buf == b->buf && a->off == b->off && a->wrap < 0 && b->wrap < 0 &&
      tp_same_rings(a, b, 0, NULL, NULL);
}

bool tp_same_exprs(int n, tp_ixs x, tp_ixs y) { return !n || !memcmp(x, y, sizeof *x * (size_t)n); }

bool tp_same_window(const tp_nd *a, const tp_nd *b, int n) {
  return tp_same_start(a, b) && tp_same_exprs(n, a->lead, b->lead);
}

bool tp_same_elements(const tp_nd *a, const tp_nd *b, int n) {
  return tp_same_window(a, b, n) && a->rank == b->rank &&
      tp_same_exprs(a->rank, a->shape, b->shape) && tp_same_exprs(a->rank, a->stride, b->stride);
}

int tp_windows_on(const tp_region *r, int buf) {
  int n = 0;
  TP_WINDOWS (x, r) n += x->buf == buf;
  return n;
}

bool tp_region_writes(const tp_region *r, int buf) {
  for (int k = 0; k < r->nout; k++)
    if (r->out[k].buf == buf) return true;
  return false;
}

bool tp_all_conflicts(const tp_region *a, const tp_region *b, tp_pairfn *fn, const void *ud) {
  for (int i = 0; i < a->nin + a->nout; i++)
    for (int k = i < a->nin ? b->nin : 0; k < b->nin + b->nout; k++) {
      const tp_nd *x = tp_window_at(a, i), *y = tp_window_at(b, k);
      if (x->buf == y->buf && x->buf >= 0 && !fn(a, x, b, y, ud)) return false;
    }
  for (int i = 0; i < b->nrows; i++)
    if (tp_region_writes(a, b->rows[i].nd.buf)) return false;
  return true;
}

/* ---- along dims ---- */

int tp_pbuf_dim(const tp_plan *p, const tp_pbuf *b, tp_ix *stride) {
  for (int d = 0; d < b->ndim + b->rank; d++)
    if (tp_pbuf_stride(p->ix, b, d) == stride && !tp_is_number(b->slots[d], 1)) return d;
  return -1;
}

int tp_moves_along(const tp_plan *p, const tp_region *r, const tp_nd *x, int k) {
  if (tp_is_number(x->lead[k], 0) || tp_is_number(r->lead[k], 1)) return -2;
  return tp_pbuf_dim(p, p->bufs.v[x->buf], x->lead[k]);
}

tp_ix *tp_step_of(const tp_region *r, const tp_nd *x, tp_sym *var, bool rings) {
  tp_ix *next = tp_ix_addc(tp_ix_sym(var), 1),
        *by = tp_ix_sub(tp_ix_subst(x->off, 1, &var, &next), x->off);
  bool known = true;
  for (int i = 0; i < x->nring; i++)
    if (tp_ix_mentions(x->ring[i].idx, var)) known &= rings, by = tp_ix_add(by, x->ring[i].stride);
  for (int k = 0; k < r->nlead; k++) known &= !tp_ix_mentions(x->lead[k], var);
  return known && !tp_ix_mentions(by, var) ? by : NULL;
}

bool tp_places_of(const tp_plan *p, const tp_pbuf *b, int64_t off, const int64_t *n, int64_t *lo) {
  bool outermost = true;
  for (int k = 0; k < b->ndim + b->rank; k++) {
    int d = k < b->ndim && b->order ? b->order[k] : k;
    int64_t stride, slots;
    lo[d] = 0;
    if (tp_is_number(b->slots[d], 1)) continue;
    if (!tp_ix_is_const(tp_pbuf_stride(p->ix, b, d), &stride)) stride = INT64_MAX;
    if (stride < 1) return false; /* there are no elements */
    lo[d] = tp_floordiv(off, stride);
    off -= lo[d] * stride;
    bool inside = lo[d] >= 0 && (!tp_ix_is_const(b->slots[d], &slots) || lo[d] + n[d] <= slots);
    if (!inside && !outermost) return false;
    outermost = false;
  }
  return off == 0;
}

void tp_lie_anew(
    const tp_plan *p, const tp_region *r, tp_nd *x, const tp_pbuf *was, const tp_pbuf *now) {
  for (int k = 0; k < r->nlead + x->rank + x->nring; k++) {
    int own = k - r->nlead, ring = own - x->rank;
    tp_ix **stride = own < 0 ? &x->lead[k] : ring < 0 ? &x->stride[own] : &x->ring[ring].stride;
    bool moves = ring >= 0 || !tp_is_number(own < 0 ? r->lead[k] : x->shape[own], 1);
    int d = moves && !tp_is_number(*stride, 0) ? tp_pbuf_dim(p, was, *stride) : -1;
    if (d >= 0) *stride = tp_pbuf_stride(p->ix, now, d);
  }
}

bool tp_is_regular(const tp_plan *p, const tp_region *r, const tp_nd *x) {
  uint64_t seen = 0;
  for (int k = 0; k < r->nlead; k++) {
    int d = tp_moves_along(p, r, x, k);
    if (d == -1 || d >= 63 || (d >= 0 && seen >> d & 1) || x->wrap >= 0) return false;
    if (d >= 0) seen |= (uint64_t)1 << d;
  }
  return true;
}

typedef struct {
  const tp_plan *p;
  int ka, kb;
} axis_pair;

/* Do both begin at one place of dim d? On rings along other dims they may be at different slots. */
static bool same_start_along(const tp_plan *p, const tp_nd *x, const tp_nd *y, int d) {
  const tp_pbuf *b = p->bufs.v[x->buf];
  bool same = x->off == y->off && x->wrap < 0 && y->wrap < 0 && x->nring == y->nring;
  for (int i = 0; same && i < x->nring; i++) {
    const tp_ring *q = &x->ring[i], *r = &y->ring[i];
    int of = q->idx == r->idx ? TP_MAXRANK : tp_pbuf_dim(p, b, q->stride);
    same = q->width == r->width && q->stride == r->stride && of >= 0 && of != d;
  }
  return same;
}

static bool at_one_place(
    const tp_region *a, const tp_nd *x, const tp_region *b, const tp_nd *y, const void *ud) {
  const axis_pair *m = ud;
  int d = tp_moves_along(m->p, a, x, m->ka);
  return d >= 0 && d == tp_moves_along(m->p, b, y, m->kb) && same_start_along(m->p, x, y, d) &&
      tp_is_regular(m->p, a, x) && tp_is_regular(m->p, b, y);
}

bool tp_meet_along(const tp_plan *p, const tp_region *a, int ka, const tp_region *b, int kb) {
  return tp_all_conflicts(a, b, at_one_place, &(axis_pair){ p, ka, kb });
}

/* ---- regions that are cut ---- */

bool tp_known_most(tp_ix *e, int64_t *n) {
  bool known = tp_ix_is_const(e, n);
  for (int i = 0; !known && tp_ix_kind(e) == TP_IX_MIN && i < tp_ix_narg(e); i++)
    known = tp_ix_is_const(tp_ix_arg(e, i), n);
  return known;
}

/* No tiles go over a dim that ends: it could not go on with a larger bound. */
int64_t tp_extent_of_tiles(tp_ix *e) {
  tp_dims sym;
  int64_t n = TP_TUNE_TILE_UNKNOWN;
  if (tp_ix_is_const(e, &n)) return n;
  for (int i = 0, all = tp_ix_syms(e, &sym); i < all; i++)
    if (sym[i]->kind != TP_SYM_BOUND || sym[i]->dim) n = -1;
  return n;
}

/* For a buffer in a file, spill.c still takes the rows of all tiles at once. */
bool tp_fits_tile(const tp_region *r) {
  if (r->kind != TP_RG_LOOP || r->check || r->first || r->ncoord) return false;
  TP_WINDOWS (x, r)
    if (x->wrap >= 0) return false;
  return true;
}

static bool is_integer(tp_dtype d) { return !tp_dtype_float(d) && d != TP_BOOL; }

tp_dtype tp_operand_type(const tp_plan *p, const tp_region *r, int in) {
  return in < r->nin ? p->bufs.v[r->in[in].buf]->dtype : r->micro[in - r->nin].dtype;
}

bool tp_loop_fails(const tp_plan *p, const tp_region *r) {
  bool any = r->sums && (r->red == TP_RED_MAX || r->red == TP_RED_MIN) &&
      is_integer(p->bufs.v[r->out[0].buf]->dtype);
  for (int k = 0; k < r->nmicro && !any; k++)
    any =
        tp_op_is(r->micro[k].op, TP_FAILS) && is_integer(tp_operand_type(p, r, r->micro[k].in[0]));
  return any;
}

bool tp_axis_is_named(const tp_region *r, int k) {
  for (int m = 0; m < r->nmicro; m++)
    if (r->micro[m].op == TP_OP_VALUE && tp_ix_mentions(r->micro[m].ix, r->leadvar[k])) return true;
  return false;
}

void tp_settle_micros(tp_region *r) {
  for (int k = 0; k < r->nmicro; k++)
    for (int j = 0; j < 3; j++) {
      int *in = &r->micro[k].in[j];
      if (*in < 0) *in = r->nin - 1 - *in;
    }
}

#define OWN(a, v, n) ((v) = (v) ? TP_DUPN(a, v, n) : NULL)

tp_region *tp_region_copy(const tp_plan *p, const tp_region *r) {
  tp_arena *a = p->a;
  tp_region *c = tp_dup(a, r, sizeof *r);
  OWN(a, c->lead, c->nlead), OWN(a, c->leadlo, c->nlead), OWN(a, c->leadvar, c->nlead);
  OWN(a, c->in, c->nin), OWN(a, c->out, c->nout);
  TP_WINDOWS (x, c) {
    OWN(a, x->lead, c->nlead), OWN(a, x->ring, x->nring), OWN(a, x->span, x->nspan);
    OWN(a, x->shape, x->rank), OWN(a, x->stride, x->rank);
  }
  return c;
}

void tp_cut_axis(tp_region *r, int k, tp_ix *first, tp_ix *n, const bool *small) {
  r->lead[k] = n;
  r->leadlo[k] = tp_ix_add(r->leadlo[k], first);
  TP_WINDOWS (x, r)
    if (x->buf >= 0 && !(small && small[x->buf]))
      x->off = tp_ix_add(x->off, tp_ix_mul(x->lead[k], first));
}

static void *with_first(tp_arena *a, const void *first, const void *rest, size_t size, int n) {
  char *to = TP_NEWN(a, char, size *(size_t)(n + 1));
  memcpy(to, first, size);
  if (n) memcpy(to + size, rest, size * (size_t)n);
  return to;
}

/* An end of a span over all iterations; NULL: it does not move evenly. */
static tp_ix *end_of_span(tp_ix *e, const tp_pnode *loop, bool greatest) {
  int64_t by = 0;
  tp_ix *rest;
  if (!e || !tp_ix_mentions(e, loop->var)) return e;
  bool known = tp_ix_linear_in(e, loop->var, &by, &rest);
  tp_ix *at = (by > 0) == greatest ? tp_ix_addc(loop->hi, -1) : loop->lo;
  return known ? tp_ix_subst(e, 1, &loop->var, &at) : NULL;
}

void tp_add_axis(const tp_plan *p, tp_region *r, const tp_pnode *loop, tp_ixs by) {
  tp_dims var = &loop->var;
  tp_ix *n = tp_ix_max(tp_ix_const(p->ix, 0), tp_ix_sub(loop->hi, loop->lo));
  for (int i = 0; i < r->nin + r->nout; i++) {
    tp_nd *x = tp_window_at(r, i);
    x->off = tp_ix_subst(x->off, 1, var, &loop->lo);
    for (int k = 0; k < x->nring; k++)
      x->ring[k].idx = tp_ix_subst(x->ring[k].idx, 1, var, &loop->lo);
    x->lead = with_first(p->a, &by[i], x->lead, sizeof by[i], r->nlead);
    for (int d = 0; d < x->nspan; d++)
      x->span[d] = (tp_span){ end_of_span(x->span[d].lo, loop, false),
        end_of_span(x->span[d].hi, loop, true) };
  }
  r->lead = with_first(p->a, &n, r->lead, sizeof n, r->nlead);
  r->leadvar = with_first(p->a, var, r->leadvar, sizeof *var, r->nlead);
  r->leadlo = with_first(p->a, &loop->lo, r->leadlo, sizeof loop->lo, r->nlead);
  r->sums <<= 1;
  r->nlead++;
  r->npoint++;
}

/* ---- loops over tiles ---- */

/* The offset of a window after its buffer, laid out as `was`, is laid out as b, shorter along dim
 * d: steps of the dims around d become shorter. NULL: it is not known which part of the offset
 * those dims make. */
static tp_ix *offset_in(
    const tp_plan *p, const tp_nd *x, const tp_pbuf *was, const tp_pbuf *b, int d) {
  tp_ictx *ix = p->ix;
  tp_ix *stride = tp_pbuf_stride(ix, was, d), *outer = tp_ix_mul(stride, was->slots[d]);
  int64_t inside = 0, each, all;
  if (x->ahead == x->off && x->axis >= b->ndim && x->axis > d) return x->off;
  if (tp_ix_is_const(stride, &each) && tp_ix_is_const(outer, &all) && all > 0) {
    inside = tp_floormod(tp_ix_cst(x->off), all);
    if (inside >= each) return NULL;
  }
  tp_ix *outside = tp_ix_divexact(tp_ix_addc(x->off, -inside), outer);
  return outside ? tp_ix_addc(tp_ix_mul(outside, tp_ix_mul(stride, b->slots[d])), inside) : NULL;
}

bool tp_may_shrink(const tp_plan *p, const tp_nd *x, int d) {
  const tp_pbuf *b = p->bufs.v[x->buf];
  bool ok = offset_in(p, x, b, b, d);
  for (int i = 0; i < x->nring; i++) ok &= tp_pbuf_dim(p, b, x->ring[i].stride) >= 0;
  return ok;
}

/* Shrinks the buffer to the places of a tile, of which this one has n. */
static void shrink_buffer(const tp_tiled *t, int buf, int64_t places, tp_ix *n) {
  tp_pbuf *b = t->p->bufs.v[buf], was = *b;
  int d = t->dim[buf];
  b->slots = TP_DUPN(t->p->a, b->slots, b->ndim + b->rank);
  b->slots[d] = tp_ix_const(t->p->ix, places);
  b->size = tp_pbuf_size(t->p->ix, b);
  for (int j = 0; j < t->n; j++)
    TP_WINDOWS (x, t->leaf[j]->rg) {
      if (x->buf != buf) continue;
      x->off = offset_in(t->p, x, &was, b, d);
      tp_lie_anew(t->p, t->leaf[j]->rg, x, &was, b);
      if (d < x->nspan) x->span[d].hi = tp_ix_addc(n, -1);
    }
}

tp_pnode *tp_over_tiles(const tp_tiled *t, const char *name, int64_t places, int n, tp_pnode **v) {
  tp_plan *p = t->p;
  tp_tile q = tp_tile_of(p, name, t->extent, places);
  bool *small = TP_NEWN(p->a, bool, p->bufs.n);
  for (int j = 0; j < t->n; j++) t->leaf[j]->rg = tp_region_copy(p, t->leaf[j]->rg);
  for (int i = 0; i < p->bufs.n; i++)
    if ((small[i] = t->dim[i] >= 0)) shrink_buffer(t, i, places, q.n);
  for (int j = 0; j < t->n; j++) tp_cut_axis(t->leaf[j]->rg, t->axis[j], q.first, q.n, small);
  return tp_loop_over_tiles(p, &q, n, v);
}
