/* move: infers contraction, convolution, movement, gathers and sort. */
#include "graph/core.h"

static bool one_dtype(tp_typing q, int a, int b) {
  return tp_inof(q.n, a)->dtype == tp_inof(q.n, b)->dtype ||
      tp_bad_dtype(q, "convert one with :to");
}

/* Are the extents equal? Records a shape check for n if that is open. */
static bool eq(tp_typing q, tp_ix *a, tp_ix *b) {
  return tp_extent_eq(q.g, a, b, tp_ops[q.n->op].text);
}

/* ---- matmul ---- */

bool tp_infer_matmul(tp_typing q) {
  const tp_out *a = tp_inof(q.n, 0), *b = tp_inof(q.n, 1);
  tp_ix *shape[TP_MAXRANK];
  if (!one_dtype(q, 0, 1)) return false;
  if (a->dtype == TP_BOOL) return tp_bad_dtype(q, "convert with :to(\"f32\")");
  if (a->rank < 2 || a->rank != b->rank)
    return tp_bad_shape(q, "needs two of one rank, at least 2");
  int r = a->rank, lead = r - 2;
  if (!eq(q, a->shape[r - 1], b->shape[r - 2])) return tp_bad_shape(q, "inner sizes differ");
  TP_COPYN(shape, a->shape, lead);
  if (!tp_broadcast(q.g, q.n, &lead, shape, lead, b->shape))
    return tp_bad_shape(q, "leading axes do not broadcast");
  shape[r - 2] = a->shape[r - 2];
  shape[r - 1] = b->shape[r - 1];
  return tp_out1(q, a->dtype, r, shape);
}

/* ---- blocks ---- */

/* The numbers that the bytes of operand k hold along its last axis; NULL: an error. */
static tp_ix *numbers_of(tp_typing q, int k) {
  const tp_out *x = tp_inof(q.n, k);
  tp_format f = q.n->attr.format;
  int each = tp_format_bytes(f);
  if (x->dtype != TP_U8) return tp_bad_dtype(q, "blocks are bytes: u8"), NULL;
  if (x->rank < 1) return tp_bad_shape(q, "a scalar has no blocks"), NULL;
  tp_ix *bytes = x->shape[x->rank - 1], *n = tp_ix_fdiv(bytes, each);
  if (!eq(q, tp_ix_mulc(n, each), bytes))
    return tp_bad_shape(q, "the last axis is no multiple of the %d bytes of a block of %s", each,
               tp_format_names[f]),
           NULL;
  return tp_ix_mulc(n, tp_format_elements(f));
}

bool tp_infer_blocks(tp_typing q) {
  const tp_out *x = tp_inof(q.n, 0), *w = tp_inof(q.n, q.n->nin - 1);
  tp_ix *shape[TP_MAXRANK], *n = numbers_of(q, q.n->nin - 1);
  int last = x->rank - 1, lead = last - 1;
  if (!n) return false;
  TP_COPYN(shape, x->shape, x->rank);
  if (q.n->op == TP_OP_DEQUANTIZE) return shape[last] = n, tp_out1(q, TP_F32, x->rank, shape);
  if (x->dtype != TP_F32) return tp_bad_dtype(q, "convert with :to(\"f32\")");
  if (last < 1 || w->rank != x->rank || !eq(q, shape[last], n))
    return tp_bad_shape(q, "inner sizes differ");
  if (!tp_broadcast(q.g, q.n, &lead, shape, lead, w->shape))
    return tp_bad_shape(q, "leading axes do not broadcast");
  shape[last - 1] = x->shape[last - 1], shape[last] = w->shape[last - 1];
  return tp_out1(q, TP_F32, x->rank, shape);
}

/* ---- convolution ---- */

static bool some(tp_typing q, tp_ix *e, int64_t least) {
  return tp_extent_least(q.g, e, least, tp_ops[q.n->op].text);
}

static bool conv_attrs(tp_typing q, int rank) {
  const tp_attr *a = &q.n->attr;
  if (rank < 4 || tp_inof(q.n, 1)->rank != rank || a->nix != rank || a->naxes != 3 * (rank - 3))
    return tp_bad_shape(q, "needs three of one rank, at least 4");
  for (int i = 0; i < a->naxes; i++)
    if (a->axes[i] < (i % 3 != 2))
      return tp_bad_shape(q, "stride and dilation are at least 1, padding at least 0");
  return true;
}

bool tp_infer_conv(tp_typing q) {
  const int *role = tp_conv_roles(q.n->op);
  const tp_out *a = tp_inof(q.n, 0), *b = tp_inof(q.n, 1);
  tp_ixs s[3];
  if (!one_dtype(q, 0, 1)) return false;
  if (a->dtype == TP_BOOL) return tp_bad_dtype(q, "convert with :to(\"f32\")");
  if (!conv_attrs(q, a->rank)) return false;
  s[role[0]] = a->shape;
  s[role[1]] = b->shape;
  s[role[2]] = q.n->attr.ix;
  if (!eq(q, s[TP_CX][0], s[TP_CY][0])) return tp_bad_shape(q, "batches differ");
  if (!eq(q, s[TP_CX][1], s[TP_CW][0]) || !eq(q, s[TP_CX][1], s[TP_CY][1]))
    return tp_bad_shape(q, "groups differ");
  if (!eq(q, s[TP_CX][2], s[TP_CW][2]) || !eq(q, s[TP_CW][1], s[TP_CY][2]))
    return tp_bad_shape(q, "channels differ");
  for (int i = 3; i < a->rank; i++)
    if (!some(q, q.n->attr.ix[i], q.n->op == TP_OP_CONV))
      return tp_bad_shape(q, "a size of the result, %s, may be below %d",
          tp_ix_str(q.n->attr.ix[i]), q.n->op == TP_OP_CONV);
  return tp_out1(q, a->dtype, a->rank, q.n->attr.ix);
}

/* ---- movement: each judges, and changes a copy of the operand's shape into the result's ---- */

static tp_ix *product(tp_graph *g, int n, tp_ixs shape) {
  tp_ix *p = tp_ix_const(g->ix, 1);
  for (int i = 0; i < n; i++) p = tp_ix_mul(p, shape[i]);
  return p;
}

static bool reshape(tp_typing q, const tp_out *x) {
  const tp_attr *a = &q.n->attr;
  tp_ix *from = product(q.g, x->rank, x->shape), *to = product(q.g, a->nix, a->ix);
  return eq(q, from, to) ||
      tp_bad_shape(q, "%s elements do not fill (%s), which has %s", tp_ix_str(from),
          tp_extents(q.g, a->nix, a->ix), tp_ix_str(to));
}

static bool expand(tp_typing q, const tp_out *x) {
  const tp_attr *a = &q.n->attr;
  int grow = a->nix - x->rank;
  bool fits = grow >= 0;
  for (int i = 0; fits && i < x->rank; i++)
    fits = tp_is_number(x->shape[i], 1) || eq(q, x->shape[i], a->ix[grow + i]);
  return fits ||
      tp_bad_shape(q, "does not expand to (%s) (only a literal 1 or a missing axis grows)",
          tp_extents(q.g, a->nix, a->ix));
}

static bool permute(tp_typing q, const tp_out *x, tp_ix **shape) {
  const tp_attr *a = &q.n->attr;
  unsigned seen = 0;
  for (int i = 0; i < a->naxes && i < x->rank; i++) {
    if (!tp_axis_in(q, a->axes[i], x->rank)) return false;
    seen |= 1u << a->axes[i];
    shape[i] = x->shape[a->axes[i]];
  }
  return (a->naxes == x->rank && seen == (1u << x->rank) - 1) ||
      tp_bad_shape(q, "every axis must be named once");
}

/* The index behind the last of n elements from lo on; INT64_MAX: beyond 64 bits. */
static int64_t behind_last(int64_t lo, int64_t n, int64_t step) {
  int64_t at;
  bool beyond = __builtin_mul_overflow(n - 1, step, &at) || __builtin_add_overflow(at, lo, &at) ||
      at == INT64_MAX;
  return beyond ? INT64_MAX : at + 1;
}

/* Judges constants; legal.c judges symbolic bounds. */
static bool slice(tp_typing q, tp_ix **at) {
  const tp_attr *a = &q.n->attr;
  int64_t lo, extent, size;
  if (a->step < 1)
    return tp_fail(q.err, TP_E_OPTION, q.pos, "the step of a slice is %lld, must be at least 1",
        (long long)a->step);
  bool clo = tp_ix_is_const(a->ix[0], &lo), cext = tp_ix_is_const(a->ix[1], &extent),
       csize = tp_ix_is_const(*at, &size);
  if ((clo && lo < 0) ||
      (clo && cext && csize && extent > 0 &&
          (lo >= size || extent - 1 > (size - 1 - lo) / a->step)))
    return tp_fail(q.err, TP_E_DOMAIN, q.pos,
        "elements %lld .. %lld of axis %d of %s are outside 0 .. %s%s", (long long)lo,
        (long long)behind_last(lo, cext ? extent : 1, a->step), a->axis,
        tp_called(q.g, tp_in(q.n, 0)), csize ? tp_ix_str(*at) : "its extent",
        lo < 0 ? " (indices do not wrap)" : "");
  *at = a->ix[1];
  return true;
}

static bool pad(tp_typing q, tp_ix **at) {
  int64_t v;
  for (int i = 0; i < 2; i++) {
    tp_ix *by = q.n->attr.ix[i];
    if (tp_ix_is_const(by, &v) && v < 0)
      return tp_bad_shape(q, "padding by %lld: use slice to cut", (long long)v);
    *at = tp_ix_add(*at, by);
  }
  return true;
}

/* Checks that the last element that windows see lies inside, for constants; legal.c judges symbolic
 * extents. */
static bool windows(tp_typing q, tp_ix *extent, tp_ix *count, tp_ix *size) {
  int64_t e, c, s;
  const tp_attr *a = &q.n->attr;
  if (a->step < 1 || a->dilation < 1) return tp_bad_shape(q, "step and dilation are at least 1");
  return !tp_ix_is_const(extent, &e) || !tp_ix_is_const(count, &c) || !tp_ix_is_const(size, &s) ||
      c < 1 || s < 1 || behind_last(behind_last(0, c, a->step) - 1, s, a->dilation) <= e ||
      tp_bad_shape(q, "%lld windows of %lld are not in %lld elements", (long long)c, (long long)s,
          (long long)e);
}

static bool unfold(tp_typing q, tp_ix **at, int behind) {
  tp_ixs to = q.n->attr.ix;
  if (!windows(q, at[0], to[0], to[1])) return false;
  if (!some(q, to[0], 1))
    return tp_bad_shape(q, "there may be no window: %s of them", tp_ix_str(to[0]));
  memmove(at + 2, at + 1, sizeof *at * (size_t)behind);
  at[0] = to[0];
  at[1] = to[1];
  return true;
}

static bool fold(tp_typing q, tp_ix **at, int behind) {
  tp_ix *extent = q.n->attr.ix[0];
  if (!windows(q, extent, at[0], at[1])) return false;
  if (tp_inof(q.n, 0)->dtype == TP_BOOL) return tp_bad_dtype(q, "convert with :to(\"i64\")");
  memmove(at + 1, at + 2, sizeof *at * (size_t)(behind - 1));
  *at = extent;
  return true;
}

static bool concat(tp_typing q, const tp_out *x, tp_ix **shape) {
  int axis = q.n->attr.axis;
  for (int k = 1; k < q.n->nin; k++) {
    const tp_out *y = tp_inof(q.n, k);
    if (!one_dtype(q, 0, k)) return false;
    if (y->rank != x->rank) return tp_bad_shape(q, "ranks differ");
    for (int i = 0; i < x->rank; i++)
      if (i != axis && !eq(q, shape[i], y->shape[i]))
        return tp_bad_shape(q, "sizes of axis %d differ", i);
    shape[axis] = tp_ix_add(shape[axis], y->shape[axis]);
  }
  return true;
}

bool tp_infer_move(tp_typing q) {
  const tp_out *x = tp_inof(q.n, 0);
  const tp_attr *a = &q.n->attr;
  tp_ix *shape[TP_MAXRANK + 1];
  tp_op op = q.n->op;
  if (op == TP_OP_RESHAPE || op == TP_OP_EXPAND)
    return tp_rank_ok(q, a->nix) && (op == TP_OP_RESHAPE ? reshape(q, x) : expand(q, x)) &&
        tp_out1(q, x->dtype, a->nix, a->ix);
  int rank = x->rank + (op == TP_OP_UNFOLD) - (op == TP_OP_FOLD), behind = x->rank - a->axis - 1;
  if ((op != TP_OP_PERMUTE && !tp_axis_in(q, a->axis, TP_MIN(rank, x->rank))) ||
      !tp_rank_ok(q, rank))
    return false;
  TP_COPYN(shape, x->shape, x->rank);
  tp_ix **at = shape + a->axis;
  bool ok = true;
  switch (op) {
  case TP_OP_PERMUTE: ok = permute(q, x, shape); break;
  case TP_OP_SLICE: ok = slice(q, at); break;
  case TP_OP_PAD: ok = pad(q, at); break;
  case TP_OP_UNFOLD: ok = unfold(q, at, behind); break;
  case TP_OP_FOLD: ok = fold(q, at, behind); break;
  case TP_OP_CONCAT: ok = concat(q, x, shape); break;
  default: break; /* FLIP */
  }
  return ok && tp_out1(q, x->dtype, rank, shape);
}

/* ---- gathers ---- */

static bool index_dtype(tp_typing q) {
  return tp_inof(q.n, 1)->dtype == TP_I64 ||
      tp_bad_dtype(q, "indices must be i64: convert with :to(\"i64\")");
}

static bool index_op(tp_typing q) {
  const tp_out *x = tp_inof(q.n, 0), *k = tp_inof(q.n, 1);
  tp_ix *shape[TP_MAXRANK];
  int rank = 0;
  if (k->rank > 1) return tp_bad_shape(q, "indices must have rank 0 or 1");
  for (int i = 0; i < x->rank; i++) {
    if (i != q.n->attr.axis) shape[rank++] = x->shape[i];
    else if (k->rank) shape[rank++] = k->shape[0];
  }
  if (q.n->op == TP_OP_INDEX_SELECT) return tp_out1(q, x->dtype, rank, shape);
  const tp_out *src = tp_inof(q.n, 2);
  bool fits = src->rank == rank;
  for (int i = 0; fits && i < rank; i++) fits = eq(q, src->shape[i], shape[i]);
  return fits ? one_dtype(q, 0, 2) && tp_out1(q, x->dtype, x->rank, x->shape)
              : tp_bad_shape(q, "what is added does not have the indexed shape");
}

/* Is a <= b, known now or left to the call? */
static bool within(tp_typing q, tp_ix *a, tp_ix *b) {
  return tp_ix_prove_ge0(tp_ix_sub(b, a), q.n->ndom, q.n->dom) || eq(q, tp_ix_min(a, b), a);
}

/* torch's rule: indices are no larger than x but along the axis, and no larger than what is added.
 */
static bool gather_op(tp_typing q) {
  const tp_out *x = tp_inof(q.n, 0), *k = tp_inof(q.n, 1),
               *src = q.n->nin > 2 ? tp_inof(q.n, 2) : NULL;
  bool fits = k->rank == x->rank && (!src || src->rank == x->rank);
  for (int i = 0; fits && i < x->rank; i++)
    fits = (i == q.n->attr.axis || within(q, k->shape[i], x->shape[i])) &&
        (!src || within(q, k->shape[i], src->shape[i]));
  if (!fits)
    return tp_bad_shape(q,
        "indices must have the tensor's rank and no larger sizes but along axis %d",
        q.n->attr.axis);
  return src ? one_dtype(q, 0, 2) && tp_out1(q, x->dtype, x->rank, x->shape)
             : tp_out1(q, x->dtype, k->rank, k->shape);
}

/* Operands: rows, the index of the matrix that each is multiplied by, the matrices. */
static bool matmul_at(tp_typing q) {
  const tp_out *x = tp_inof(q.n, 0), *k = tp_inof(q.n, 1), *w = tp_inof(q.n, 2);
  tp_ix *shape[TP_MAXRANK];
  bool fits = x->rank >= 2 && k->rank == x->rank - 2 && w->rank == 3 &&
      eq(q, x->shape[x->rank - 1], w->shape[1]);
  for (int i = 0; fits && i < k->rank; i++) fits = eq(q, k->shape[i], x->shape[i]);
  if (!fits) return tp_bad_shape(q, "rows, indices and matrices do not fit");
  TP_COPYN(shape, x->shape, x->rank);
  shape[x->rank - 1] = w->shape[2];
  return one_dtype(q, 0, 2) && tp_out1(q, x->dtype, x->rank, shape);
}

bool tp_infer_gather(tp_typing q) {
  if (!tp_axis_in(q, q.n->attr.axis, tp_inof(q.n, 0)->rank) || !index_dtype(q)) return false;
  if (q.n->op == TP_OP_MATMUL_AT) return matmul_at(q);
  return q.n->op == TP_OP_GATHER || q.n->op == TP_OP_SCATTER_ADD || q.n->op == TP_OP_PUT
      ? gather_op(q)
      : index_op(q);
}

bool tp_infer_sort(tp_typing q) {
  const tp_out *x = tp_inof(q.n, 0);
  if (!tp_axis_in(q, q.n->attr.axis, x->rank)) return false;
  tp_outs(q, 2);
  tp_out_set(q, 0, x->dtype, x->rank, x->shape);
  tp_out_set(q, 1, TP_I64, x->rank, x->shape);
  return true;
}
