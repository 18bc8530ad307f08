/* product.c: a small matrix product is a loop as well: m, n and k are axes, x * y is summed along
 * k; or m and n are, and each of its points is a dot product of neighbours. It is one where all
 * extents are known and so few that a call costs more than it does, and where it is known how the
 * interpreter's kernels add it up. A batch of products of such matrices, however many, is one as
 * well: 256 of 4 x 4 take 4 ns each, by a kernel 92. */
#include "emit/priv.h"
#include "kernels/prelude/fold.h"

/* fewer terms: with more a library may be called, which adds them up as it likes */
enum { PRODUCT_TERMS = 4096, TINY = 8 };

static const tp_ix **strides(const tp_emit *e, const tp_region *r, const tp_nd *nd, const tp_ix *m,
    const tp_ix *n, const tp_ix *k) {
  const tp_ix **s = TP_NEWN(e->a, const tp_ix *, r->nlead + 3), *zero = tp_ix_const(e->ix, 0);
  for (int i = 0; i < r->nlead; i++) s[i] = nd->lead ? nd->lead[i] : zero;
  s[r->nlead] = m ? m : zero;
  s[r->nlead + 1] = n ? n : zero;
  s[r->nlead + 2] = k ? k : zero;
  return s;
}

static tp_nd window(const tp_nd *nd, const tp_ix **lead) {
  tp_nd w = *nd;
  w.rank = 0;
  w.lead = lead;
  return w;
}

static bool is_plain(const tp_emit *e, const tp_nd *nd) {
  tp_dtype d = nd->buf >= 0 ? e->p->bufs.v[nd->buf]->dtype : TP_BOOL;
  return nd->wrap < 0 && nd->rank >= 2 && d != TP_BOOL && !tp_half(d);
}

/* Axes: the region's, then m, n and k. */
typedef enum { CALLED, LOOPED, DOTTED } product_way;
typedef struct {
  int n;
  int64_t extent[TP_MAXRANK + 3], a[TP_MAXRANK + 3], b[TP_MAXRANK + 3], c[TP_MAXRANK + 3];
} small_product;

/* What has one place does not move. */
static bool add_axis(
    small_product *s, const tp_ix *n, const tp_ix *a, const tp_ix *b, const tp_ix *c) {
  int i = s->n++;
  bool ok = tp_ix_is_const(n, &s->extent[i]) && s->extent[i] >= 1 && s->extent[i] <= PRODUCT_TERMS;
  if (!ok || s->extent[i] == 1) return ok;
  return (!a || tp_ix_is_const(a, &s->a[i])) && (!b || tp_ix_is_const(b, &s->b[i])) &&
      (!c || tp_ix_is_const(c, &s->c[i]));
}

static bool moves(const tp_nd *nd, int i) {
  int64_t k;
  return nd->lead && (!tp_ix_is_const(nd->lead[i], &k) || k);
}

static bool is_tiny(const tp_ix *n) {
  int64_t k;
  return tp_ix_is_const(n, &k) && k <= TINY;
}

/* The axis only repeats the product with other matrices, however often: both, or, where they are
 * tiny, the right ones; kernels take other left ones as more rows. */
static bool is_repeated(const tp_region *r, int i) {
  bool tiny =
      is_tiny(r->out[0].shape[0]) && is_tiny(r->out[0].shape[1]) && is_tiny(r->in[0].shape[1]);
  return moves(&r->in[1], i) && moves(&r->out[0], i) && (tiny || moves(&r->in[0], i));
}

static bool find_extents(const tp_region *r, small_product *s) {
  const tp_nd *a = &r->in[0], *b = &r->in[1], *c = &r->out[0];
  int64_t all = 1;
  bool ok = true, repeated = false;
  for (int i = 0; ok && i < r->nlead; i++)
    if (is_repeated(r, i)) repeated = true;
    else
      ok = add_axis(s, r->lead[i], a->lead ? a->lead[i] : NULL, b->lead ? b->lead[i] : NULL,
          c->lead ? c->lead[i] : NULL);
  ok = ok && add_axis(s, c->shape[0], a->stride[0], NULL, c->stride[0]) &&
      add_axis(s, c->shape[1], NULL, b->stride[1], c->stride[1]) &&
      add_axis(s, a->shape[1], a->stride[1], b->stride[0], NULL);
  for (int i = 0; ok && i < s->n; i++) ok = (all *= s->extent[i]) < PRODUCT_TERMS + repeated;
  return ok;
}

/* As the interpreter's kernels make it (prelude/fold.h): rows and columns that axes of the region
 * lengthen are not looked for. */
static product_way way_of(const tp_region *r, tp_dtype d, bool ordered) {
  small_product s = { 0 };
  bool longer = false;
  if (!find_extents(r, &s)) return CALLED;
  if (!tp_dtype_float(d)) return LOOPED;
  int64_t m = s.extent[s.n - 3], n = s.extent[s.n - 2], k = s.extent[s.n - 1];
  for (int i = 0; i < s.n - 3; i++) {
    if (s.extent[i] > 1 && !s.c[i]) return CALLED;
    longer |= s.extent[i] > 1 && !(s.a[i] && s.b[i]);
  }
  bool contiguous = !ordered && s.a[s.n - 1] == 1 && s.b[s.n - 1] == 1;
  if (k > TP_DOT_BLOCK || (contiguous && longer && k >= TP_DOT_LEAST)) return CALLED;
  return contiguous && TP_DOTS(m, n, k) ? DOTTED : LOOPED;
}

static bool is_one(const tp_ix *n) { return tp_is_number(n, 1); }

/* k: NULL where each point is a dot product. */
static const tp_region *product(const tp_emit *e, const tp_region *r, const tp_ix *k) {
  const tp_nd *a = &r->in[0], *b = &r->in[1], *c = &r->out[0];
  tp_region *p = tp_dup(e->a, r, sizeof *r);
  p->kind = TP_RG_LOOP;
  p->nlead = r->nlead + 2 + (k != NULL);
  p->lead = TP_NEWN(e->a, const tp_ix *, r->nlead + 3);
  for (int i = 0; i < r->nlead; i++) p->lead[i] = r->lead[i];
  p->lead[r->nlead] = c->shape[0];
  p->lead[r->nlead + 1] = c->shape[1];
  p->lead[r->nlead + 2] = a->shape[1];
  p->in = TP_NEWN(e->a, tp_nd, 2);
  p->out = TP_NEW(e->a, tp_nd);
  p->in[0] = window(a, strides(e, r, a, a->stride[0], NULL, a->stride[1]));
  p->in[1] = window(b, strides(e, r, b, NULL, b->stride[1], b->stride[0]));
  p->out[0] = window(c, strides(e, r, c, c->stride[0], c->stride[1], NULL));
  p->red = TP_RED_SUM;
  p->sums = k ? 1u << (r->nlead + 2) : 0;
  for (int i = 0; i < r->nlead && k; i++)
    if (tp_is_number(p->out[0].lead[i], 0)) p->sums |= 1u << i;
  p->nmicro = 1;
  p->micro = TP_NEW(e->a, tp_micro);
  p->micro[0] = (tp_micro){ .op = k ? TP_OP_MUL : TP_OP_MATMUL,
    .dtype = e->p->bufs.v[c->buf]->dtype,
    .in = { 0, 1 },
    .f = is_one(c->shape[0]) && is_one(c->shape[1]) ? TP_DOT_ALONE : 1,
    .ix = a->shape[1] };
  p->outmicro = TP_NEW(e->a, int);
  return p;
}

/* A window's axes before its last two as axes of the region; one that is a single place for all of
 * `as` does not move. */
static void lengthen(
    const tp_emit *e, const tp_region *r, tp_nd *to, const tp_nd *nd, const tp_nd *as) {
  int more = nd->rank - 2;
  const tp_ix **lead = TP_NEWN(e->a, const tp_ix *, r->nlead + more), *zero = tp_ix_const(e->ix, 0);
  for (int i = 0; i < r->nlead; i++) lead[i] = nd->lead ? nd->lead[i] : zero;
  for (int i = 0; i < more; i++)
    lead[r->nlead + i] = nd->shape[i] == as->shape[i] ? nd->stride[i] : zero;
  *to = *nd;
  to->rank = 2;
  to->shape += more;
  to->stride += more;
  to->lead = lead;
}

/* The same of matrices alone. */
static const tp_region *of_matrices(const tp_emit *e, const tp_region *r) {
  const tp_nd *c = &r->out[0];
  int more = c->rank - 2;
  if (!more) return r;
  tp_region *m = tp_dup(e->a, r, sizeof *r);
  m->in = TP_NEWN(e->a, tp_nd, 2);
  m->out = TP_NEW(e->a, tp_nd);
  for (int i = 0; i < 2; i++) lengthen(e, r, &m->in[i], &r->in[i], c);
  lengthen(e, r, m->out, c, c);
  m->lead = TP_NEWN(e->a, const tp_ix *, r->nlead + more);
  for (int i = 0; i < r->nlead + more; i++)
    m->lead[i] = i < r->nlead ? r->lead[i] : c->shape[i - r->nlead];
  m->nlead += more;
  return m;
}

const tp_region *tp_emit_region(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  if (r->kind != TP_RG_OP || r->op != TP_OP_MATMUL || r->check) return r;
  if (e->as[x->pos]) return e->as[x->pos];
  bool plain =
      r->nin == 2 && is_plain(e, &r->in[0]) && is_plain(e, &r->in[1]) && is_plain(e, &r->out[0]);
  int rank = r->out[0].rank;
  plain =
      plain && r->in[0].rank == rank && r->in[1].rank == rank && r->nlead + rank < TP_MAXRANK - 1;
  const tp_region *m = plain ? of_matrices(e, r) : r;
  product_way way =
      plain ? way_of(m, e->p->bufs.v[r->out[0].buf]->dtype, e->p->reproducible) : CALLED;
  return e->as[x->pos] =
             way == CALLED ? r : product(e, m, way == LOOPED ? m->in[0].shape[1] : NULL);
}
