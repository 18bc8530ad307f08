/* methods: convolution and pooling. Spatial axes are the last ones; before them channels, before
 * these perhaps a batch. A window is, for each spatial axis, its size, the stride from one to the
 * next, the dilation between its elements and the padding before and behind the axis. */
#include "graph/rows.h"
#include "graph/core.h"
#include <math.h>

enum { SPATIAL = 2 };
typedef struct window {
  int d;
  const tp_ix *size[SPATIAL];
  int64_t stride[SPATIAL], dilation[SPATIAL], lo[SPATIAL], hi[SPATIAL];
} window;

static int spatial_of(tp_mk k) { return strchr(k.who, '1') ? 1 : 2; }

/* One number for all spatial axes, or one for each. */
static bool conv_numbers(
    tp_mk k, const tp_arg *a, const char *what, int d, int64_t dflt, int64_t least, int64_t *out) {
  for (int i = 0; i < d; i++) {
    out[i] = dflt;
    if (!a->kind) continue;
    if (a->kind != 'A')
      return tp_wrong(k, TP_E_OPTION, "%s is an integer or a table of %d", what, d);
    if (a->n != 1 && a->n != d)
      return tp_wrong(k, TP_E_OPTION, "%s is a number or a table of %d, not of %d", what, d, a->n);
    tp_ix_is_const(a->ixs[a->n == 1 ? 0 : i], &out[i]);
    if (out[i] < least || out[i] >= 1 << 24)
      return tp_wrong(k, TP_E_OPTION, "%s is %lld; it must be at least %lld", what,
          (long long)out[i], (long long)least);
  }
  return true;
}

/* dilation (size - 1) + 1: elements from the first to the last of a window. */
static const tp_ix *reach(tp_mk k, const window *w, int i) {
  return tp_ix_addc(
      k.g->ix, tp_ix_mulc(k.g->ix, tp_ix_addc(k.g->ix, w->size[i], -1), w->dilation[i]), 1);
}

/* (extent + padding - reach) // stride + 1 windows. */
static const tp_ix *count(tp_mk k, const window *w, int i, const tp_ix *extent) {
  tp_ictx *c = k.g->ix;
  const tp_ix *room = tp_ix_sub(c, tp_ix_addc(c, extent, w->lo[i] + w->hi[i]), reach(k, w, i));
  return tp_ix_addc(c, tp_ix_fdiv(c, room, w->stride[i]), 1);
}

static bool window_fits(tp_mk k, const window *w, int i, const tp_ix *extent) {
  int64_t room;
  const tp_ix *all = tp_ix_addc(k.g->ix, extent, w->lo[i] + w->hi[i]), *r = reach(k, w, i);
  if (!tp_ix_is_const(tp_ix_sub(k.g->ix, all, r), &room) || room >= 0) return true;
  return tp_wrong(k, TP_E_SHAPE,
      "the window reaches over %s elements, spatial axis %d has %s with its padding: there is no "
      "place for it (pad more, or make it smaller)",
      tp_text(k, r), i, tp_text(k, all));
}

/* Rank d + 2, with a batch of one where x has none. */
static tp_val batched(tp_mk k, tp_val x, int d, bool *alone) {
  int rank = tp_rankof(x);
  *alone = rank == d + 1;
  if (rank == d + 1) return mk_unsqueeze(k, x, 0);
  if (rank == d + 2) return x;
  tp_wrong(k, TP_E_SHAPE,
      "x has %d axes, must have %d (channels and space) or %d (a batch before them)", rank, d + 1,
      d + 2);
  return tp_none;
}

/* ---- convolution ---- */

typedef struct conv_call {
  tp_val x, w, bias;
  tp_dtype dtype;
  int64_t groups;
  bool alone;
  window at;
} conv_call;

/* Integers stay; 16-bit floats are computed in f32 and rounded once. */
static bool dtypes(tp_mk k, conv_call *c) {
  tp_dtype d = tp_dtype_promote(tp_dtypeof(c->x), tp_dtypeof(c->w));
  if (c->bias.node) d = tp_dtype_promote(d, tp_dtypeof(c->bias));
  c->dtype = d == TP_BOOL ? TP_I64 : d;
  tp_dtype in = tp_compute(c->dtype);
  c->x = mk_cast(k, c->x, in);
  c->w = mk_cast(k, c->w, in);
  c->bias = mk_cast(k, c->bias, in);
  return c->x.node && c->w.node;
}

/* Axis `axis` of x split in groups. */
static tp_val grouped(tp_mk k, tp_val x, int axis, int64_t groups, const char *what) {
  if (!x.node) return x;
  const tp_ix *shape[TP_MAXRANK],
      *each = tp_ix_divexact(k.g->ix, mk_extent(x, axis), mk_int(k, groups));
  int rank = tp_rankof(x);
  if (!each)
    return tp_wrong(k, TP_E_SHAPE, "%s: %s channels are not in %lld equal groups", what,
               tp_text(k, mk_extent(x, axis)), (long long)groups),
           tp_none;
  TP_COPYN(shape, tp_outof(x)->shape, axis);
  shape[axis] = mk_int(k, groups);
  shape[axis + 1] = each;
  TP_COPYN(shape + axis + 2, tp_outof(x)->shape + axis + 1, (rank - axis - 1));
  return mk_reshape(k, x, rank + 1, shape);
}

static tp_val form(
    tp_mk k, tp_op op, tp_val a, tp_val b, const window *w, const tp_ix *const *shape) {
  int axes[3 * SPATIAL];
  for (int i = 0; i < w->d; i++) {
    axes[3 * i] = (int)w->stride[i];
    axes[3 * i + 1] = (int)w->dilation[i];
    axes[3 * i + 2] = (int)w->lo[i];
  }
  return mk_op(k, op, 2, (tp_val[]){ a, b },
      &(tp_attr){ .naxes = 3 * w->d, .axes = axes, .nix = w->d + 3, .ix = shape });
}

/* Groups joined, bias added, the batch of one gone. */
static tp_val finished(tp_mk k, const conv_call *c, tp_val y) {
  const tp_ix *shape[TP_MAXRANK];
  int d = c->at.d;
  if (!y.node) return y;
  shape[0] = mk_extent(y, 0);
  shape[1] = tp_ix_mul(k.g->ix, mk_extent(y, 1), mk_extent(y, 2));
  TP_COPYN(shape + 2, tp_outof(y)->shape + 3, d);
  y = mk_reshape(k, y, d + 2, shape);
  if (c->bias.node) {
    if (tp_rankof(c->bias) != 1 || !tp_equal(k, mk_extent(c->bias, 0), shape[1]))
      return tp_wrong(k, TP_E_SHAPE, "bias must have shape (%s)", tp_text(k, shape[1])), tp_none;
    tp_val b = c->bias;
    for (int i = 0; i < d; i++) b = mk_unsqueeze(k, b, -1);
    y = mk_add(k, y, b);
  }
  return mk_cast(k, c->alone ? mk_squeeze(k, y, 0) : y, c->dtype);
}

/* What all convolutions are given: a[0 .. 2] are x, weight, bias. */
static bool given(tp_mk k, conv_call *c, const tp_arg *a, const tp_arg *stride,
    const tp_arg *dilation, const tp_arg *groups) {
  int d = c->at.d = spatial_of(k);
  c->x = a[0].val;
  c->w = a[1].val;
  c->bias = tp_arg_t(&a[2]);
  c->groups = tp_arg_i(groups, 1);
  if (c->groups < 1)
    return tp_wrong(k, TP_E_OPTION, "groups is %lld; it must be at least 1", (long long)c->groups);
  if (tp_rankof(c->w) != d + 2)
    return tp_wrong(k, TP_E_SHAPE,
        "weight has %d axes, must have %d: channels of both sides and its size", tp_rankof(c->w),
        d + 2);
  if (!dtypes(k, c) || !(c->x = batched(k, c->x, d, &c->alone)).node) return false;
  for (int i = 0; i < d; i++) c->at.size[i] = mk_extent(c->w, 2 + i);
  return conv_numbers(k, stride, "stride", d, 1, 1, c->at.stride) &&
      conv_numbers(k, dilation, "dilation", d, 1, 1, c->at.dilation);
}

static bool channels_match(tp_mk k, const conv_call *c, const tp_ix *wanted) {
  if (tp_equal(k, mk_extent(c->x, 1), wanted)) return true;
  return tp_wrong(k, TP_E_SHAPE, "x has %s channels, the weight with groups = %lld wants %s",
      tp_text(k, mk_extent(c->x, 1)), (long long)c->groups, tp_text(k, wanted));
}

/* "same" pads so that as many come out as go in, the odd one behind. */
static bool padding(tp_mk k, const tp_arg *p, window *w) {
  bool same = p->kind == 'N' && strcmp(p->s, "same") == 0,
       valid = p->kind == 'N' && strcmp(p->s, "valid") == 0;
  static const tp_arg none;
  if (p->kind == 'N' && !same && !valid)
    return tp_wrong(k, TP_E_OPTION,
        "padding is a number, a table of numbers, \"same\" or \"valid\", not \"%s\"", p->s);
  if (!conv_numbers(k, p->kind == 'N' ? &none : p, "padding", w->d, 0, 0, w->lo)) return false;
  memcpy(w->hi, w->lo, sizeof w->hi);
  for (int i = 0; same && i < w->d; i++) {
    int64_t all;
    if (w->stride[i] != 1) return tp_wrong(k, TP_E_OPTION, "padding = \"same\" is for stride 1");
    if (!tp_ix_is_const(tp_ix_addc(k.g->ix, reach(k, w, i), -1), &all))
      return tp_wrong(k, TP_E_OPTION, "padding = \"same\" is for a weight whose size is known");
    w->lo[i] = all / 2;
    w->hi[i] = all - all / 2;
  }
  return true;
}

/* The operator of x and the weight, whose results lie along axis `out`. */
static tp_val convolved(tp_mk k, const conv_call *c, tp_op op, int out, const tp_ix **shape) {
  tp_val x = grouped(k, c->x, 1, c->groups, "x"), w = grouped(k, c->w, 0, c->groups, "weight");
  if (!x.node || !w.node) return tp_none;
  shape[0] = mk_extent(x, 0);
  shape[1] = mk_int(k, c->groups);
  shape[2] = mk_extent(w, out);
  return finished(k, c, form(k, op, x, w, &c->at, shape));
}

METHOD(conv) {
  conv_call c = { 0 };
  const tp_ix *shape[SPATIAL + 3];
  if (!given(k, &c, a, &a[3], &a[5], &a[6]) || !padding(k, &a[4], &c.at) ||
      !channels_match(k, &c, tp_ix_mulc(k.g->ix, mk_extent(c.w, 1), c.groups)))
    return false;
  for (int i = 0; i < c.at.d; i++) {
    if (!window_fits(k, &c.at, i, mk_extent(c.x, 2 + i))) return false;
    shape[3 + i] = count(k, &c.at, i, mk_extent(c.x, 2 + i));
  }
  GIVE(convolved(k, &c, TP_OP_CONV, 1, shape));
}

/* (extent - 1) stride - 2 padding + reach + output_padding */
METHOD(conv_transpose) {
  conv_call c = { 0 };
  int64_t more[SPATIAL];
  const tp_ix *shape[SPATIAL + 3];
  if (!given(k, &c, a, &a[3], &a[7], &a[6]) ||
      !conv_numbers(k, &a[4], "padding", c.at.d, 0, 0, c.at.lo) ||
      !conv_numbers(k, &a[5], "output_padding", c.at.d, 0, 0, more) ||
      !channels_match(k, &c, mk_extent(c.w, 0)))
    return false;
  for (int i = 0; i < c.at.d; i++) {
    if (more[i] >= TP_MAX(c.at.stride[i], c.at.dilation[i]))
      return tp_wrong(k, TP_E_OPTION,
          "output_padding is %lld; it must be less than the stride or the dilation",
          (long long)more[i]);
    const tp_ix *e =
        tp_ix_mulc(k.g->ix, tp_ix_addc(k.g->ix, mk_extent(c.x, 2 + i), -1), c.at.stride[i]);
    shape[3 + i] =
        tp_ix_addc(k.g->ix, tp_ix_add(k.g->ix, e, reach(k, &c.at, i)), more[i] - 2 * c.at.lo[i]);
  }
  GIVE(convolved(k, &c, TP_OP_CONV_DATA, 2, shape));
}

/* ---- pooling: windows as two more axes, reduced ---- */

typedef struct pool {
  tp_val x;
  bool alone, ceil;
  window at;
  const tp_ix *n[SPATIAL];
} pool;

/* With ceil_mode a last window may reach beyond the padding if it begins before it. */
static const tp_ix *places(tp_mk k, const pool *p, int i, const tp_ix *extent) {
  tp_ictx *c = k.g->ix;
  const window *w = &p->at;
  if (!p->ceil) return count(k, w, i, extent);
  window wide = *w;
  wide.hi[i] += w->stride[i] - 1;
  return tp_ix_min(c, count(k, &wide, i, extent),
      tp_ix_addc(c, tp_ix_fdiv(c, tp_ix_addc(c, extent, w->lo[i] - 1), w->stride[i]), 1));
}

static bool pooled(tp_mk k, pool *p, const tp_arg *a, const tp_arg *stride, const tp_arg *pad,
    const tp_arg *dilation, const tp_arg *ceil) {
  int64_t size[SPATIAL];
  window *w = &p->at;
  w->d = spatial_of(k);
  p->ceil = tp_arg_b(ceil, false);
  p->x = batched(k, a[0].val, w->d, &p->alone);
  if (!p->x.node || !conv_numbers(k, &a[1], "kernel_size", w->d, 1, 1, size) ||
      !conv_numbers(k, stride, "stride", w->d, 0, 1, w->stride) ||
      !conv_numbers(k, dilation, "dilation", w->d, 1, 1, w->dilation) ||
      !conv_numbers(k, pad, "padding", w->d, 0, 0, w->lo))
    return false;
  memcpy(w->hi, w->lo, sizeof w->hi);
  for (int i = 0; i < w->d; i++) {
    if (!stride->kind) w->stride[i] = size[i];
    w->size[i] = mk_int(k, size[i]);
    if (2 * w->lo[i] > size[i])
      return tp_wrong(k, TP_E_OPTION, "padding is %lld; it must be at most half of kernel_size",
          (long long)w->lo[i]);
    if (!window_fits(k, w, i, mk_extent(p->x, 2 + i))) return false;
    p->n[i] = places(k, p, i, mk_extent(p->x, 2 + i));
  }
  return true;
}

/* [N, C, H', h, W', w] => [N, C, H', W'] */
static tp_val over_windows(tp_mk k, const pool *p, tp_op op, double fill) {
  const window *w = &p->at;
  tp_val x = p->x;
  int axes[SPATIAL];
  for (int i = 0; i < w->d && x.node; i++) {
    int64_t size, axis = axes[i] = 3 + 2 * i;
    tp_ix_is_const(w->size[i], &size);
    x = mk_pad(k, x, (int)axis - 1, mk_int(k, w->lo[i]),
        mk_int(k, w->hi[i] + (p->ceil ? w->stride[i] - 1 : 0)), fill);
    x = mk_unfold(k, x, (int)axis - 1, p->n[i], w->size[i], w->stride[i], w->dilation[i]);
  }
  return mk_reduce(k, op, x, w->d, axes, false);
}

METHOD(max_pool) {
  pool p;
  if (!pooled(k, &p, a, &a[2], &a[3], &a[4], &a[5])) return false;
  tp_val y = over_windows(k, &p, TP_OP_MAX, -INFINITY);
  GIVE(p.alone ? mk_squeeze(k, y, 0) : y);
}

/* How many elements of axis i the windows see: [n, 1 ..] of f32 or f64. With padding counted, that
 * of ceil_mode's last window is not. */
static tp_val seen_of(tp_mk k, const pool *p, int i, bool padding_counts, tp_dtype d) {
  const window *w = &p->at;
  int64_t size, pad = padding_counts ? w->lo[i] : 0;
  tp_ix_is_const(w->size[i], &size);
  tp_val first = mk_addc(
             k, mk_mulc(k, mk_indices(k, p->n[i]), (double)w->stride[i]), (double)-w->lo[i]),
         last = mk_addc(k, first, (double)size);
  last = mk_bin(
      k, TP_OP_MINIMUM, last, mk_size(k, tp_ix_addc(k.g->ix, mk_extent(p->x, 2 + i), pad), TP_I64));
  tp_val n = mk_cast(k, mk_sub(k, last, mk_binc(k, TP_OP_MAXIMUM, first, (double)-pad)), d);
  for (int j = i + 1; j < w->d; j++) n = mk_unsqueeze(k, n, -1);
  return n;
}

METHOD(avg_pool) {
  static const tp_arg none;
  pool p;
  const tp_arg *counts = &a[5], *divisor = &a[6];
  if (!pooled(k, &p, a, &a[2], &a[3], &none, &a[4])) return false;
  if (divisor->kind && divisor->i == 0) return tp_wrong(k, TP_E_OPTION, "divisor_override is 0");
  p.x = tp_wide(k, p.x);
  tp_val y = over_windows(k, &p, TP_OP_SUM, 0);
  if (!y.node) return false;
  bool with_padding = tp_arg_b(counts, true), whole = !p.ceil;
  int64_t size = 1, n;
  for (int i = 0; i < p.at.d; i++) {
    whole &= with_padding || p.at.lo[i] == 0;
    if (tp_ix_is_const(p.at.size[i], &n)) size *= n;
  }
  if (divisor->kind || whole)
    y = mk_binc(k, TP_OP_DIV, y, (double)(divisor->kind ? divisor->i : size));
  else
    for (int i = 0; i < p.at.d; i++)
      y = mk_div(k, y, seen_of(k, &p, i, with_padding, tp_dtypeof(y)));
  GIVE_FLOAT(p.alone ? mk_squeeze(k, y, 0) : y);
}
