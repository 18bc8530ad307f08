/* product.c: a small matrix product becomes a LOOP.
 *
 * Either m, n and k are axes and x * y is summed along k, or m and n are axes and each point is a
 * dot product of neighbours. This is done for products whose extents are known and so few that a
 * call costs more, if the interpreter's kernels add terms in a known order, and for batches of such
 * products, however many: 256 of 4 x 4 take 4 ns each, by a kernel 92. */
#include "emit/priv.h"
#include "kernels/prelude/fold.h"

/* products have fewer terms: with more a library may be called, which adds in any order */
enum { PRODUCT_TERMS = 4096, TINY = 8 };

/* Axes of a product: the region's, those of its windows before the last two, then m, n and k; and
 * how far each moves each window (x, y, the result). */
enum { OF_X, OF_Y, OF_MADE };
typedef struct {
  int n;
  tp_ix **extent, **stride[3];
} product_axes;

static bool is_plain(const tp_emit *e, const tp_nd *nd, int rank) {
  tp_dtype d = nd->buf >= 0 ? tp_emit_dtype(e, nd) : TP_BOOL;
  return nd->rank == rank && d != TP_BOOL && (e->to->threads || (nd->wrap < 0 && !tp_half(d)));
}

static product_axes axes_of(const tp_emit *e, const tp_region *r) {
  const tp_nd *nd[] = { &r->in[0], &r->in[1], &r->out[0] };
  int more = nd[OF_MADE]->rank - 2, first = r->nlead + more;
  tp_ix *zero = tp_ix_const(e->ix, 0);
  product_axes p = { .n = first + 3, .extent = TP_NEWN(e->a, tp_ix *, first + 3) };
  for (int i = 0; i < first + 2; i++)
    p.extent[i] = i < r->nlead ? r->lead[i] : nd[OF_MADE]->shape[i - r->nlead];
  p.extent[first + 2] = nd[OF_X]->shape[more + 1];
  for (int w = 0; w < 3; w++) {
    tp_ix **s = p.stride[w] = TP_NEWN(e->a, tp_ix *, p.n);
    for (int i = 0; i < r->nlead; i++) s[i] = nd[w]->lead ? nd[w]->lead[i] : zero;
    /* a batch of one matrix does not move */
    for (int i = 0; i < more; i++)
      s[r->nlead + i] = nd[w]->shape[i] == nd[OF_MADE]->shape[i] ? nd[w]->stride[i] : zero;
    s[first] = w == OF_Y ? zero : nd[w]->stride[more];
    s[first + 1] = w == OF_X ? zero : nd[w]->stride[more + 1];
    s[first + 2] = w == OF_MADE ? zero : nd[w]->stride[w == OF_X ? more + 1 : more];
  }
  return p;
}

/* Does the axis only repeat the product: with another x and y or, for tiny products, another y?
 * Kernels take another x as more rows. */
static bool is_repeated(const product_axes *p, int i) {
  int64_t k;
  bool tiny = true, moves[3];
  for (int w = 0; w < 3; w++) {
    moves[w] = !tp_is_number(p->stride[w][i], 0);
    tiny &= tp_ix_is_const(p->extent[p->n - 3 + w], &k) && k <= TINY;
  }
  return moves[OF_Y] && moves[OF_MADE] && (tiny || moves[OF_X]);
}

/* How a product is made, as the interpreter's kernels do (prelude/fold.h). Axes of the region that
 * lengthen rows and columns are not looked for. */
typedef enum { CALLED, LOOPED, DOTTED } product_way;
static product_way way_of(const product_axes *p, tp_dtype d, bool ordered) {
  int64_t all = 1, own[3] = { 0 }, s[3];
  bool repeated = false, longer = false, sums = false, contiguous = false;
  for (int i = 0, first = p->n - 3; i < p->n; i++) {
    int64_t n;
    if (i < first && is_repeated(p, i)) {
      repeated = true;
      continue;
    }
    if (!tp_ix_is_const(p->extent[i], &n) || n < 1 || n > PRODUCT_TERMS) return CALLED;
    if ((all *= n) >= PRODUCT_TERMS + repeated) return CALLED;
    for (int w = 0; w < 3; w++) {
      s[w] = 0;
      if (n > 1 && !tp_ix_is_const(p->stride[w][i], &s[w])) return CALLED;
    }
    if (i >= first) own[i - first] = n;
    sums |= i < first && n > 1 && !s[OF_MADE];
    longer |= i < first && n > 1 && !(s[OF_X] && s[OF_Y]);
    contiguous = s[OF_X] == 1 && s[OF_Y] == 1;
  }
  contiguous &= !ordered;
  if (!tp_dtype_float(d)) return LOOPED;
  if (sums || own[2] > TP_DOT_BLOCK || (contiguous && longer && own[2] >= TP_DOT_LEAST))
    return CALLED;
  return contiguous && TP_DOTS(own[0], own[1], own[2], repeated) ? DOTTED : LOOPED;
}

/* Threads make elements of any product, term by term. In the order of all targets they do so with
 * TP_DOT_BLOCK terms at most, and by blocks of these (emit_adds_blocks). */
static product_way of_threads(const product_axes *p, bool ordered, bool rounds) {
  int64_t n;
  bool sums = false;
  for (int i = 0; i < p->n - 3; i++) sums |= tp_is_number(p->stride[OF_MADE][i], 0);
  bool few = tp_ix_is_const(p->extent[p->n - 1], &n) && n <= TP_DOT_BLOCK && !sums;
  return ordered && !few && (sums || rounds) ? CALLED : LOOPED;
}

/* The axis with which axis i of window w goes: m, n and k are the last ones. */
static int axis_of(const tp_region *r, int w, int i) {
  int m = r->nlead + r->out[0].rank - 2;
  if (i < m) return i;
  return w == OF_X ? m + 2 * (i - m) : w == OF_Y ? m + 2 - (i - m) : i;
}

static tp_nd window(const tp_region *r, int w, tp_ix **lead) {
  tp_nd nd = *tp_window_at(r, w);
  nd.rank = 0;
  nd.lead = lead;
  if (nd.wrap >= 0) nd.wrap = axis_of(r, w, nd.wrap);
  return nd;
}

/* Does a window go round a ring along an axis that repeats its one place? */
static bool rings_repeat(const tp_region *r, const product_axes *a) {
  bool any = false;
  for (int w = 0, i; w < 3; w++)
    any |= (i = tp_window_at(r, w)->wrap) >= 0 && tp_is_number(a->stride[w][axis_of(r, w, i)], 0);
  return any;
}

static const tp_region *product(
    const tp_emit *e, const tp_region *r, const product_axes *a, bool dotted) {
  tp_region *p = tp_dup(e->a, r, sizeof *r);
  bool alone = tp_is_number(a->extent[a->n - 3], 1) && tp_is_number(a->extent[a->n - 2], 1);
  p->kind = TP_RG_LOOP;
  p->nlead = a->n - dotted;
  p->lead = a->extent;
  p->in = TP_NEWN(e->a, tp_nd, 2);
  p->out = TP_NEW(e->a, tp_nd);
  for (int i = 0; i < 2; i++) p->in[i] = window(r, i, a->stride[i]);
  p->out[0] = window(r, OF_MADE, a->stride[OF_MADE]);
  p->red = TP_RED_SUM;
  p->sums = dotted ? 0 : 1u << (a->n - 1);
  for (int i = 0; i < a->n - 3 && !dotted; i++)
    if (tp_is_number(a->stride[OF_MADE][i], 0)) p->sums |= 1u << i;
  p->nmicro = 1;
  p->micro = TP_NEW(e->a, tp_micro);
  p->micro[0] = (tp_micro){ .op = dotted ? TP_OP_MATMUL : TP_OP_MUL,
    .dtype = tp_emit_dtype(e, &r->out[0]),
    .in = { 0, 1 },
    .f = alone ? TP_DOT_ALONE : 1,
    .ix = a->extent[a->n - 1] };
  p->outmicro = TP_NEW(e->a, int);
  return p;
}

const tp_region *tp_emit_region(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  if (r->kind != TP_RG_OP || r->op != TP_OP_MATMUL || (r->check && !e->to->threads)) return r;
  if (e->as[x->pos]) return e->as[x->pos];
  int rank = r->out[0].rank;
  bool plain = r->nin == 2 && rank >= 2 && r->nlead + rank < TP_MAXRANK - 1;
  for (int i = 0; i < 3 && plain; i++) plain = is_plain(e, tp_window_at(r, i), rank);
  e->as[x->pos] = r;
  if (!plain) return r;
  product_axes a = axes_of(e, r);
  product_way way = e->to->threads
      ? of_threads(&a, e->p->reproducible, r->acc && tp_half(tp_emit_dtype(e, &r->out[0])))
      : way_of(&a, tp_emit_dtype(e, &r->out[0]), e->p->reproducible);
  if (way != CALLED && !rings_repeat(r, &a)) e->as[x->pos] = product(e, r, &a, way == DOTTED);
  return e->as[x->pos];
}
