/* product.c: a small matrix product is a loop as well: m, n and k are axes, x * y is summed along k. It is one where all extents are known and so few that a call costs
 * more than it does; sums are kept in the dtype itself, each term fused into them where the processor can. */
#include "emit/priv.h"

enum { PRODUCT_TERMS = 4096 };                            /* terms */

static const tp_ix **strides(const tp_emit *e, const tp_region *r, const tp_nd *nd, const tp_ix *m, const tp_ix *n, const tp_ix *k) {
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
  return nd->wrap < 0 && nd->rank == 2 && d != TP_BOOL && !tp_half(d);
}

static bool is_small(const tp_region *r) {
  int64_t all = 1, n;
  const tp_ix *ext[TP_MAXRANK + 3];
  for (int i = 0; i < r->nlead; i++) ext[i] = r->lead[i];
  ext[r->nlead] = r->out[0].shape[0];
  ext[r->nlead + 1] = r->out[0].shape[1];
  ext[r->nlead + 2] = r->in[0].shape[1];
  for (int i = 0; i < r->nlead + 3; i++) {
    if (!tp_ix_is_const(ext[i], &n) || n < 1 || n > PRODUCT_TERMS) return false;
    all *= n;
    if (all > PRODUCT_TERMS) return false;
  }
  return true;
}

static const tp_region *product(const tp_emit *e, const tp_region *r) {
  const tp_nd *a = &r->in[0], *b = &r->in[1], *c = &r->out[0];
  tp_region *p = tp_dup(e->a, r, sizeof *r);
  int64_t zero;
  p->kind = TP_RG_LOOP;
  p->nlead = r->nlead + 3;
  p->lead = TP_NEWN(e->a, const tp_ix *, p->nlead);
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
  p->sums = 1u << (r->nlead + 2);
  for (int i = 0; i < r->nlead; i++)
    if (tp_ix_is_const(p->out[0].lead[i], &zero) && zero == 0) p->sums |= 1u << i;
  p->nmicro = 1;
  p->micro = TP_NEW(e->a, tp_micro);
  p->micro[0] = (tp_micro){ .op = TP_OP_MUL, .dtype = e->p->bufs.v[c->buf]->dtype, .in = { 0, 1 } };
  p->outmicro = TP_NEW(e->a, int);
  return p;
}

const tp_region *tp_emit_region(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  if (r->kind != TP_RG_OP || r->op != TP_OP_MATMUL || r->check) return r;
  if (e->as[x->pos]) return e->as[x->pos];
  bool ok = r->nin == 2 && is_plain(e, &r->in[0]) && is_plain(e, &r->in[1]) && is_plain(e, &r->out[0]) && is_small(r);
  return e->as[x->pos] = ok ? product(e, r) : r;
}
