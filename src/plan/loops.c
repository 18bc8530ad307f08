/* loops: makes the builder's regions. Whatever only moves elements becomes a loop too: fills,
 * copies, and the operators that put windows side by side. */
#include "plan/build.h"
#include <stdio.h>

tp_region *tp_pb_region(pb *b, tp_rgkind kind, const tp_node *n) {
  tp_region *r = TP_NEW(b->a, tp_region);
  *r = (tp_region){ .kind = kind, .pos = b->s->pos, .nlead = b->nlead };
  r->lead = TP_DUPN(b->a, b->lead, b->nlead);
  r->leadvar = TP_DUPN(b->a, b->leadvar, b->nlead);
  r->leadlo = TP_DUPN(b->a, b->leadlo, b->nlead);
  if (n) tp_pb_whose(r, n);
  TP_PUSH(b->a, &b->leaves, tp_plan_leaf(b->a, r));
  return r;
}

void tp_pb_whose(tp_region *r, const tp_node *n) {
  r->who = tp_who_of(n);
  if (n->pos.file) r->pos = n->pos;
}

void tp_pb_put(pb *b, tp_nd **v, int *n, tp_nd x) {
  tp_nd *w = TP_NEWN(b->a, tp_nd, *n + 1);
  if (*n) memcpy(w, *v, sizeof *w * (size_t)*n);
  w[*n] = x;
  *v = w;
  (*n)++;
}

/* ---- loops: axes of operands become axes of the region ---- */

tp_sym *tp_pb_axis(pb *b, int i) {
  while (b->naxisvar <= i) {
    char name[16];
    snprintf(name, sizeof name, "a%d", b->naxisvar);
    b->axisvar[b->naxisvar++] = tp_sym_var(C(b), name);
  }
  return b->axisvar[i];
}

/* Lays the operand's own axes on axes of the loop: its last ones, or those that are not in `gone`.
 * An axis of extent 1 does not move: on a ring it is a place. */
static void onto(pb *b, const tp_region *r, tp_nd *x, uint32_t gone) {
  int of[TP_MAXRANK];
  tp_ix **stride = tp_pb_exprs(b, r->nlead);
  for (int i = r->nlead - r->npoint - 1, k = x->rank - 1; i >= 0 && k >= 0; i--)
    if (!(gone >> i & 1)) of[k--] = r->npoint + i;
  for (int k = 0; k < r->nlead; k++) stride[k] = k < r->npoint ? x->lead[k] : K(b, 0);
  for (int k = 0; k < x->rank; k++)
    if (x->shape[k] != K(b, 1)) stride[of[k]] = x->stride[k];
  int own = x->wrap - r->npoint;
  if (own >= 0 && x->shape[own] == K(b, 1)) {
    tp_ring *ring = TP_NEWN(b->a, tp_ring, x->nring + 1);
    if (x->nring) TP_COPYN(ring, x->ring, x->nring);
    ring[x->nring++] = (tp_ring){ x->wlo, x->wmod, x->stride[own] };
    x->ring = ring;
    x->wrap = -1;
  } else if (own >= 0) x->wrap = of[own];
  x->lead = stride;
  x->rank = 0;
}

bool tp_pb_loop(pb *b, tp_region *r, int rank, tp_ixs ext, uint32_t gone, bool keepdim) {
  int np = r->npoint = r->nlead, n = np + rank;
  if (n > TP_MAXRANK)
    return tp_fail(b->err, TP_E_DEVICE, r->pos,
        "device: an operand has %d axes, leading ones included; at most %d are possible", n,
        TP_MAXRANK);
  tp_ix **lead = tp_pb_exprs(b, n), **lo = tp_pb_exprs(b, n);
  tp_sym **var = TP_NEWN(b->a, tp_sym *, n);
  for (int k = 0; k < n; k++) {
    lead[k] = k < np ? r->lead[k] : ext[k - np];
    lo[k] = k < np ? r->leadlo[k] : K(b, 0);
    var[k] = k < np ? r->leadvar[k] : tp_pb_axis(b, k - np);
  }
  r->nlead = n, r->lead = lead, r->leadlo = lo, r->leadvar = var;
  r->sums = gone << np;
  for (int k = 0; k < r->nin; k++) onto(b, r, &r->in[k], 0);
  for (int k = 0; k < r->nout; k++) onto(b, r, &r->out[k], keepdim ? 0 : gone);
  for (int k = 0; k < np && r->acc; k++)
    if (r->out[0].lead[k] == K(b, 0)) r->sums |= 1u << k;
  return true;
}

void tp_pb_micros(pb *b, tp_region *r, int n, const tp_micro *m) {
  r->micro = TP_DUPN(b->a, m, n);
  r->nmicro = n;
  r->outmicro = TP_NEW(b->a, int);
  *r->outmicro = n - 1;
}

bool tp_pb_fill(pb *b, const tp_node *n, double value, tp_nd to) {
  tp_region *r = tp_pb_region(b, TP_RG_LOOP, n);
  tp_pb_micros(
      b, r, 1, &(tp_micro){ .op = TP_OP_FILL, .dtype = b->pl->bufs.v[to.buf]->dtype, .f = value });
  tp_pb_put(b, &r->out, &r->nout, to);
  return tp_pb_loop(b, r, to.rank, to.shape, 0, false);
}

bool tp_pb_copy(pb *b, const tp_node *n, tp_nd from, tp_nd to) {
  tp_region *r = tp_pb_region(b, TP_RG_LOOP, n);
  tp_pb_put(b, &r->in, &r->nin, from);
  tp_pb_put(b, &r->out, &r->nout, to);
  r->outmicro = TP_NEW(b->a, int);
  return tp_pb_loop(b, r, to.rank, to.shape, 0, false);
}

/* ---- operators that move windows ---- they keep own axes; the part of an axis is an expression,
 * so that its extent may come out as 0 */

static tp_ix *clip(tp_ix *e, tp_ix *lo, tp_ix *hi) {
  return tp_ix_simplify(tp_ix_min(tp_ix_max(e, lo), hi), 0, NULL);
}

tp_nd tp_pb_part(pb *b, const tp_nd *x, int axis, tp_ix *lo, tp_ix *n) {
  tp_nd p = *x;
  p.shape = TP_DUPN(b->a, x->shape, x->rank);
  p.shape[axis] = n;
  if (x->wrap == b->nlead + axis) p.wlo = tp_ix_add(x->wlo, lo);
  else p.off = tp_ix_add(x->off, tp_ix_mul(x->stride[axis], lo));
  return p;
}

void tp_pb_inside(pb *b, int axis, tp_ix *lo, tp_nd *x, tp_nd *out) {
  tp_ix *all = out->shape[axis], *from = clip(lo, K(b, 0), all),
        *to = clip(tp_ix_add(lo, x->shape[axis]), from, all);
  *x = tp_pb_part(b, x, axis, tp_ix_sub(from, lo), tp_ix_sub(to, from));
  *out = tp_pb_part(b, out, axis, from, tp_ix_sub(to, from));
}

bool tp_pb_pad(pb *b, const tp_node *n, tp_ix *lo, const tp_nd *in, const tp_nd *out) {
  int axis = n->attr.axis;
  tp_ix *all = out->shape[axis], *from = clip(lo, K(b, 0), all);
  tp_ix *to = clip(tp_ix_add(lo, in->shape[axis]), from, all);
  tp_ix *gap[3] = { K(b, 0), from, to }, *end[3] = { from, to, all };
  for (int i = 0; i < 3; i++) {
    tp_ix *count = tp_ix_sub(end[i], gap[i]);
    tp_nd o = tp_pb_part(b, out, axis, gap[i], count);
    tp_nd x = tp_pb_part(b, in, axis, tp_ix_sub(gap[i], lo), count);
    if (count != K(b, 0) && !(i == 1 ? tp_pb_copy(b, n, x, o) : tp_pb_fill(b, n, n->attr.f[0], o)))
      return false;
  }
  return true;
}

/* A part that lies in its place already is not copied; if all parts do, the last one is copied. */
bool tp_pb_concat(pb *b, const tp_node *n, int nin, const tp_nd *in, const tp_nd *out) {
  tp_ix *at = K(b, 0);
  bool made = false;
  for (int k = 0; k < nin; k++) {
    tp_ix *count = in[k].shape[n->attr.axis];
    tp_nd to = tp_pb_part(b, out, n->attr.axis, at, count);
    bool there = tp_same_elements(&in[k], &to, b->nlead) && (made || k < nin - 1);
    if (!there && !tp_pb_copy(b, n, in[k], to)) return false;
    made |= !there;
    at = tp_ix_add(at, count);
  }
  return true;
}

static tp_nd row_major(pb *b, const tp_nd *x, int rank, tp_ix **shape) {
  tp_nd r = *x;
  r.rank = rank;
  r.shape = shape;
  r.stride = tp_pb_row_major(b, rank, shape);
  return r;
}

/* Are its own axes one line? */
static bool is_line(pb *b, const tp_nd *x) {
  tp_ix **stride = tp_pb_row_major(b, x->rank, x->shape);
  bool line = x->wrap < 0;
  for (int i = 0; i < x->rank; i++) line &= x->stride[i] == stride[i] || x->shape[i] == K(b, 1);
  return line;
}

/* A window that is a line is seen in the other's shape; if neither is one, by way of a buffer. */
bool tp_pb_reshape(pb *b, const tp_node *n, tp_nd in, tp_nd out) {
  if (!is_line(b, &in) && !is_line(b, &out)) {
    const tp_pbuf *x = tp_pb_rows(b, n);
    tp_nd mid = { .buf = x->id, .off = K(b, 0), .wrap = -1 };
    mid.lead = tp_pb_exprs(b, b->nlead);
    for (int k = 0; k < b->nlead; k++) mid.lead[k] = tp_pbuf_stride(C(b), x, k);
    if (!tp_pb_copy(b, n, in, row_major(b, &mid, in.rank, in.shape))) return false;
    in = row_major(b, &mid, out.rank, out.shape);
  }
  if (is_line(b, &in)) in = row_major(b, &in, out.rank, out.shape);
  else out = row_major(b, &out, in.rank, in.shape);
  return tp_pb_copy(b, n, in, out);
}
