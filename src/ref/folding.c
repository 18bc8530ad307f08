/* folding.c: computes reductions, argmax, scans, matmul. Floats are summed in f64 in row-major
 * order and rounded once; integers wrap in i64. */
#include "ref/machine.h"
#include <math.h>

ref_acc ref_acc_start(tp_red red, tp_dtype d) {
  ref_acc a = { .flt = tp_dtype_float(d),
    .any = red == TP_RED_SUM || red == TP_RED_PROD || d == TP_BOOL,
    .red = red };
  switch (red) {
  case TP_RED_SUM: break;
  case TP_RED_PROD: a.f = a.i = 1; break;
  case TP_RED_MAX: a.f = -INFINITY, a.i = d == TP_BOOL ? 0 : INT64_MIN; break;
  case TP_RED_MIN: a.f = INFINITY, a.i = d == TP_BOOL ? 1 : INT64_MAX; break;
  }
  return a;
}

static void add_f(ref_acc *a, double x) {
  switch (a->red) {
  case TP_RED_SUM: a->f += x; break;
  case TP_RED_PROD: a->f *= x; break;
  case TP_RED_MAX:
    if (isnan(x) || x > a->f) a->f = isnan(a->f) ? a->f : x;
    break;
  case TP_RED_MIN:
    if (isnan(x) || x < a->f) a->f = isnan(a->f) ? a->f : x;
    break;
  }
}

static void add_i(ref_acc *a, int64_t x) {
  switch (a->red) {
  case TP_RED_SUM: a->i = (int64_t)((uint64_t)a->i + (uint64_t)x); break;
  case TP_RED_PROD: a->i = (int64_t)((uint64_t)a->i * (uint64_t)x); break;
  case TP_RED_MAX: a->i = TP_MAX(a->i, x); break;
  case TP_RED_MIN: a->i = TP_MIN(a->i, x); break;
  }
}

void ref_acc_add(ref_acc *a, tp_dtype d, const void *p, int64_t i) {
  a->any = true;
  if (a->flt) add_f(a, tp_get(d, p, i));
  else add_i(a, tp_geti(d, p, i));
}

void ref_acc_product(ref_acc *a, const ref_data *x, int64_t i, const ref_data *y, int64_t j) {
  if (a->flt) a->f += tp_get(x->dtype, x->data, i) * tp_get(y->dtype, y->data, j);
  else
    add_i(a,
        (int64_t)((uint64_t)tp_geti(x->dtype, x->data, i) *
            (uint64_t)tp_geti(y->dtype, y->data, j)));
}

bool ref_acc_end(const ref_acc *a, tp_dtype d, void *p, int64_t i) {
  if (a->flt) tp_put(d, p, i, a->f);
  else tp_puti(d, p, i, a->i);
  return a->flt || a->any;
}

/* kept: strides by axis of out (0 for a kept-dim 1); shape, stride: of the reduced axes. */
typedef struct split {
  int64_t kept[TP_MAXRANK], shape[TP_MAXRANK], stride[TP_MAXRANK];
  int n;
} split;

static split split_axes(const ref_data *x, int naxes, const int *axes, bool keepdim) {
  split s = { 0 };
  int64_t stride[TP_MAXRANK];
  ref_strides(x, stride);
  for (int k = 0, o = 0; k < x->rank; k++) {
    if (s.n < naxes && axes[s.n] == k) {
      s.shape[s.n] = x->shape[k];
      s.stride[s.n++] = stride[k];
      if (keepdim) s.kept[o++] = 0;
    } else s.kept[o++] = stride[k];
  }
  return s;
}

static bool reduce(ref *r, tp_cell *c, ref_data *out, const ref_data *x) {
  const tp_attr *a = &c->node->attr;
  tp_op op = c->node->op;
  tp_red red = tp_op_red(op);
  split s = split_axes(x, a->naxes, a->axes, a->keepdim);
  TP_WALK (o, out->rank, out->shape) {
    ref_acc acc = ref_acc_start(red, x->dtype);
    int64_t base = tp_walk_offset(&o, s.kept);
    TP_WALK (w, s.n, s.shape)
      ref_acc_add(&acc, x->dtype, x->data, base + tp_walk_offset(&w, s.stride));
    if (!ref_acc_end(&acc, out->dtype, out->data, o.n))
      return ref_fail(r, c, TP_E_INPUT, "%s of an empty range of integers", tp_ops[op].text);
  }
  return true;
}

/* Does element i beat the best so far? At ties the first wins, and the first NaN beats all. */
static bool beats(const ref_data *x, int64_t i, int64_t best, bool max) {
  if (!tp_dtype_float(x->dtype)) {
    int64_t a = tp_geti(x->dtype, x->data, i), b = tp_geti(x->dtype, x->data, best);
    return max ? a > b : a < b;
  }
  double a = tp_get(x->dtype, x->data, i), b = tp_get(x->dtype, x->data, best);
  return !isnan(b) && (isnan(a) || (max ? a > b : a < b));
}

static bool argreduce(ref *r, tp_cell *c, ref_data *out, const ref_data *x) {
  split s = split_axes(x, 1, &c->node->attr.axis, c->node->attr.keepdim);
  TP_WALK (o, out->rank, out->shape) {
    if (s.shape[0] == 0)
      return ref_fail(r, c, TP_E_INPUT, "%s of an empty range", tp_ops[c->node->op].text);
    int64_t base = tp_walk_offset(&o, s.kept), best = 0;
    for (int64_t k = 1; k < s.shape[0]; k++)
      if (beats(x, base + k * s.stride[0], base + best * s.stride[0], c->node->op == TP_OP_ARGMAX))
        best = k;
    tp_puti(out->dtype, out->data, o.n, best);
  }
  return true;
}

/* y[i] = c y[i-1] + x[i], or their product; n elements from base on. A RECUR's c is x[1]. */
static void scan_line(const tp_node *node, ref_data *out, const ref_data *x, int64_t base,
    int64_t stride, int64_t n) {
  const ref_data *c = node->op == TP_OP_RECUR ? x + 1 : NULL;
  bool prod = node->op == TP_OP_CUMPROD;
  double f = prod, factor = node->attr.f[0];
  uint64_t u = prod;
  for (int64_t i = 0, at = base; i < n; i++, at += stride)
    if (tp_dtype_float(x->dtype)) {
      double v = tp_get(x->dtype, x->data, at);
      if (c) factor = i ? tp_get(c->dtype, c->data, at) : 0;
      f = prod ? f * v : factor * f + v;
      tp_put(out->dtype, out->data, at, f);
    } else {
      uint64_t v = (uint64_t)tp_geti(x->dtype, x->data, at);
      int64_t k = c ? tp_geti(c->dtype, c->data, at) : tp_f64_to_i64(factor);
      u = prod ? u * v : (uint64_t)k * u + v;
      tp_puti(out->dtype, out->data, at, (int64_t)u);
    }
}

static bool scan(tp_cell *c, ref_data *out, const ref_data *x) {
  const tp_attr *a = &c->node->attr;
  split s = split_axes(x, 1, &a->axis, true);
  int64_t lines[TP_MAXRANK], n = s.shape[0], stride = s.stride[0],
                             step = a->backwards ? -stride : stride;
  memcpy(lines, x->shape, sizeof lines);
  lines[a->axis] = n > 0;
  TP_WALK (w, x->rank, lines) {
    int64_t base = tp_walk_offset(&w, s.kept);
    if (a->backwards) base += (n - 1) * stride;
    scan_line(c->node, out, x, base, step, n);
  }
  return true;
}

/* ---- matmul: [.., m, k] x [.., k, n] ---- */

static bool matmul(ref_data *out, const ref_data *a, const ref_data *b) {
  int rank = out->rank;
  int64_t sa[TP_MAXRANK], sb[TP_MAXRANK], inner = a->shape[a->rank - 1];
  ref_strides_broadcast(out, a, sa);
  ref_strides_broadcast(out, b, sb);
  int64_t kb = b->shape[b->rank - 1];
  sa[rank - 2] = inner, sa[rank - 1] = 0;
  sb[rank - 2] = 0, sb[rank - 1] = 1;
  TP_WALK (w, rank, out->shape) {
    ref_acc acc = ref_acc_start(TP_RED_SUM, a->dtype);
    int64_t ia = tp_walk_offset(&w, sa), ib = tp_walk_offset(&w, sb);
    for (int64_t k = 0; k < inner; k++) ref_acc_product(&acc, a, ia + k, b, ib + k * kb);
    ref_acc_end(&acc, out->dtype, out->data, w.n);
  }
  return true;
}

/* ---- blocks: x [.., bytes], or a [.., m, k] x x [.., n, bytes] ---- */

bool ref_blocks(ref *r, tp_cell *c, ref_data *out, const ref_data *in) {
  tp_format f = c->node->attr.format;
  const ref_data *x = &in[c->node->nin - 1];
  int last = x->rank - 1;
  ref_data w = *x;
  w.dtype = TP_F32, w.n = x->n / tp_format_bytes(f) * tp_format_elements(f);
  w.shape[last] = x->shape[last] / tp_format_bytes(f) * tp_format_elements(f);
  w.data = c->node->nin == 1 ? out->data : TP_NEWN(&r->arena, float, w.n);
  tp_blocks_decode(f, x->data, x->n / tp_format_bytes(f), w.data);
  if (c->node->nin == 1) return true;
  int64_t sa[TP_MAXRANK], sb[TP_MAXRANK], inner = w.shape[last];
  ref_strides_broadcast(out, &in[0], sa);
  ref_strides_broadcast(out, &w, sb);
  sa[last - 1] = inner, sa[last] = 0;
  sb[last - 1] = 0, sb[last] = inner;
  TP_WALK (at, out->rank, out->shape) {
    ref_acc acc = ref_acc_start(TP_RED_SUM, TP_F32);
    int64_t ia = tp_walk_offset(&at, sa), ib = tp_walk_offset(&at, sb);
    for (int64_t k = 0; k < inner; k++) ref_acc_product(&acc, &in[0], ia + k, &w, ib + k);
    ref_acc_end(&acc, TP_F32, out->data, at.n);
  }
  return true;
}

bool ref_fold(ref *r, tp_cell *c, ref_data *out, const ref_data *in) {
  switch (tp_ops[c->node->op].cls) {
  case TP_CLS_RED: return reduce(r, c, out, in);
  case TP_CLS_ARG: return argreduce(r, c, out, in);
  case TP_CLS_SCAN: return scan(c, out, in);
  default: return matmul(out, &in[0], &in[1]);
  }
}
