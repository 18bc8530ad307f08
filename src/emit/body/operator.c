/* operator.c: prints operators along axes for threads of a device. A thread makes elements of the
 * result, or a row along the axis, with all that goes into them in the order of src/cpu. For a host
 * it prints scans of short rows. */
#include "emit/priv.h"

typedef const char *places[TP_MAXRANK]; /* by axis of a window */

static tp_dtype dtype_of(const tp_emit *e, const tp_region *r) {
  return tp_emit_dtype(e, &r->out[0]);
}

/* The type that sums are in. wide: floats in f64. */
static const char *sum_type(tp_dtype d, bool wide) {
  if (!tp_dtype_float(d)) return "uint64_t";
  return wide || d == TP_F64 ? "double" : "float";
}

static const char *mad_of(tp_dtype d, bool wide) {
  if (!tp_dtype_float(d)) return "tp_mad_u64";
  return wide || d == TP_F64 ? "tp_mad_f64" : "tp_mad_f32";
}

static void put_local(
    tp_emit *e, const tp_region *r, const char *type, const char *name, int w, const places at) {
  tp_emit_line(e, "const %s %s = (%s)%s;\n", type, name, type, emit_value_at(e, r, w, at));
}

static void put_whole(tp_emit *e, const tp_region *r, const char *value) {
  tp_dtype d = dtype_of(e, r);
  tp_emit_indent(e);
  tp_puts(e->b, emit_point_element(e, r, r->nin));
  tp_putf(e->b, tp_half(d) ? " = tp_store_%s((float)(%s));\n" : "%.0s = (%s)(%s);\n",
      tp_dtype_name(d), tp_half(d) ? value : tp_emit_type(d), value);
}

static int open_count(tp_emit *e, const char *name, tp_ix *n) {
  emit_open(e, "for (int64_t %s = 0; %s < %s; %s++) {\n", name, name, emit_ix(e, n), name);
  return 1;
}

/* ---- scans ---- */

static void put_scan(tp_emit *e, const tp_region *r) {
  const tp_nd *out = &r->out[0];
  tp_dtype d = dtype_of(e, r);
  int axis = r->how.axis, opened = emit_open_leads(e, r, out, 0, axis);
  const char *type = sum_type(d, true), *mad = mad_of(d, true), *n = emit_ix(e, out->shape[axis]);
  places at;
  emit_own_places(e, out, at);
  tp_emit_line(e, "%s sum_ = %d;\n", type, r->op == TP_OP_CUMPROD);
  opened += open_count(e, "i_", out->shape[axis]);
  tp_emit_line(e,
      r->how.backwards ? "const int64_t e%d = %s - 1 - i_;\n" : "const int64_t e%d = i_;\n", axis,
      n);
  put_local(e, r, type, "x_", 0, at);
  if (r->op == TP_OP_RECUR) put_local(e, r, type, "f_", 1, at);
  if (r->op == TP_OP_RECUR) tp_emit_line(e, "sum_ = i_ ? %s(f_, sum_, x_) : x_;\n", mad);
  else if (r->op == TP_OP_CUMPROD) tp_emit_line(e, "sum_ = sum_*x_;\n");
  else
    tp_emit_line(e, "sum_ = %s((%s)%s, sum_, x_);\n", mad, type,
        tp_emit_number(e, tp_dtype_float(d) ? TP_F64 : TP_I64, r->how.f[0]));
  put_whole(e, r, "sum_");
  emit_shut(e, opened);
}

/* ---- sort ---- */

/* Copies the element at place `from` of the row, and that number, to place `to`. */
static void put_sorted(tp_emit *e, const tp_region *r, const char *from, const char *to) {
  int axis = r->how.axis;
  places of, at;
  emit_own_places(e, &r->in[0], of);
  memcpy(at, of, sizeof of);
  of[axis] = from, at[axis] = to;
  for (int k = 0; k < r->nout; k++) {
    if (r->out[k].buf < 0) continue;
    tp_emit_line(e, "%s = %s;\n", emit_element_at(e, r, r->nin + k, at),
        k ? from : emit_element_at(e, r, 0, of));
  }
}

/* A block sorts n keys in its memory, i_ from the element `at`, beside their places, which decide
 * among equal ones. */
static void put_sorted_keys(
    tp_emit *e, const tp_region *r, const places at, const char *keys, const char *n) {
  tp_emit_line(e, "TP_EACH_KEY(%s) %s[i_] = %s;\n", n, keys, emit_value_at(e, r, 0, at));
  tp_emit_line(e, "TP_BLOCK_SORT(TP_BEFORE_%s, %d, %s, wide_, %s)\n", keys[5] == 'f' ? "F" : "I",
      r->how.descending, keys, n);
}

static void put_block_sort(tp_emit *e, const tp_region *r) {
  const tp_nd *in = &r->in[0];
  int axis = r->how.axis;
  places at;
  emit_own_places(e, in, at);
  at[axis] = "i_";
  emit_by_blocks(e);
  int opened = emit_open_leads(e, r, in, 0, axis);
  put_sorted_keys(e, r, at, tp_dtype_float(tp_emit_dtype(e, in)) ? "sort_f" : "sort_i", "n_");
  emit_open(e, "for (int i_ = THREAD; i_ < n_; i_ += THREADS) {\n");
  put_sorted(e, r, "sort_at[i_]", "i_");
  emit_shut(e, 1 + opened);
}

/* Elements find their places by those among the elements of each part of the row. */
static void put_sort_by_parts(tp_emit *e, const tp_region *r) {
  const tp_nd *in = &r->in[0];
  int axis = r->how.axis;
  tp_dtype d = tp_emit_dtype(e, in);
  bool real = tp_dtype_float(d);
  const char *keys = real ? "sort_f" : "sort_i", *fn = real ? "TP_BEFORE_F" : "TP_BEFORE_I";
  places at;
  emit_own_places(e, in, at);
  emit_open_shares(e, r, in, axis, in->shape[axis]);
  tp_emit_line(e, "%s x_[TP_SORT_EACH];\n", tp_emit_held(d));
  tp_emit_line(e, "int64_t rank_[TP_SORT_EACH] = { 0 };\n");
  at[axis] = "number_";
  emit_open_share(e);
  tp_emit_line(e, "x_[q_] = %s;\n", emit_value_at(e, r, 0, at));
  emit_shut(e, 1);
  emit_open(e, "TP_EACH_PART(n_) {\n");
  at[axis] = "(from_ + i_)";
  put_sorted_keys(e, r, at, keys, "some_");
  emit_open_share(e);
  tp_emit_line(e,
      "TP_SORT_COUNT(count_, %s(%d, %s[j_], x_[q_]) || (!%s(%d, x_[q_], %s[j_]) && "
      "from_ + j_ < number_))\n",
      fn, r->how.descending, keys, fn, r->how.descending, keys);
  tp_emit_line(e, "rank_[q_] += count_;\n");
  emit_shut(e, 2);
  emit_open_share(e);
  put_sorted(e, r, "number_", "rank_[q_]");
  emit_shut(e, 2);
}

/* An element's place is how many elements go before it. */
static void put_ranks(tp_emit *e, const tp_region *r) {
  const tp_nd *in = &r->in[0];
  int axis = r->how.axis, opened = emit_open_leads(e, r, in, 0, -1);
  tp_dtype d = tp_emit_dtype(e, in);
  const char *type = tp_emit_held(d), *fn = tp_dtype_float(d) ? "TP_BEFORE_F" : "TP_BEFORE_I";
  places at, other;
  emit_own_places(e, in, at);
  memcpy(other, at, sizeof at);
  other[axis] = "i_";
  put_local(e, r, type, "x_", 0, at);
  tp_emit_line(e, "int64_t rank_ = 0;\n");
  open_count(e, "i_", in->shape[axis]);
  put_local(e, r, type, "y_", 0, other);
  tp_emit_line(e, "rank_ += %s(%d, y_, x_) || (i_ < e%d && !%s(%d, x_, y_));\n", fn,
      r->how.descending, axis, fn, r->how.descending);
  emit_shut(e, 1);
  put_sorted(e, r, at[axis], "rank_");
  emit_shut(e, opened);
}

static void put_sort(tp_emit *e, const tp_region *r) {
  tp_ix *n = r->in[0].shape[r->how.axis];
  int64_t known = EMIT_SORT_MOST;
  bool is_known = tp_ix_is_const(n, &known);
  if (known <= EMIT_SORT_FEW) {
    put_ranks(e, r);
    return;
  }
  tp_emit_line(e, "const int64_t n_ = %s;\n", emit_ix(e, n));
  emit_open(e, "if (n_ <= TP_SORT_MOST) {\n");
  if (known <= EMIT_SORT_MOST) put_block_sort(e, r);
  emit_else(e);
  if (!is_known || known > EMIT_SORT_MOST) put_sort_by_parts(e, r);
  emit_shut(e, 1);
}

/* ---- sums of elements and of products ---- */

/* A product of the first operand's element and window y's. */
static void put_term(tp_emit *e, const tp_region *r, const places at, int y, const places yat) {
  tp_emit_line(e, "TP_TERM(%s, %s, %s);\n", mad_of(dtype_of(e, r), false),
      emit_value_at(e, r, 0, at), emit_value_at(e, r, y, yat));
}

static void put_sums_begin(tp_emit *e, const tp_region *r) {
  const char *type = sum_type(dtype_of(e, r), false);
  tp_emit_line(e, "%s all_ = 0, sum_ = 0;\n", type);
  tp_emit_line(e, "int terms_ = 0;\n");
}

/* Adds windows of an axis at their places, element j of each after the other. */
static void put_fold(tp_emit *e, const tp_region *r) {
  const tp_nd *in = &r->in[0];
  int axis = r->how.axis, opened = emit_open_leads(e, r, &r->out[0], 0, -1);
  const char *type = sum_type(dtype_of(e, r), false);
  places at;
  for (int i = 0; i < in->rank; i++) at[i] = tp_printf(e->a, "e%d", i > axis ? i - 1 : i);
  at[axis] = "l_", at[axis + 1] = "j_";
  tp_emit_line(e, "%s sum_ = 0;\n", type);
  open_count(e, "j_", in->shape[axis + 1]);
  tp_emit_line(e, "TP_BEHIND(l_, %s, e%d - j_*%lld, %lld)\n", emit_ix(e, in->shape[axis]), axis,
      (long long)r->how.dilation, (long long)r->how.step);
  put_local(e, r, type, "x_", 0, at);
  tp_emit_line(e, "sum_ = sum_ + x_;\n");
  emit_shut(e, 1);
  put_whole(e, r, "sum_");
  emit_shut(e, opened);
}

/* Rows of the first operand times the matrix whose number stands in the second. */
static void put_matmul_at(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  const tp_nd *out = &r->out[0];
  int row = out->rank - 2, opened = emit_open_leads(e, r, out, 0, -1);
  places at, by, with;
  emit_own_places(e, out, at);
  emit_own_places(e, out, by);
  at[row + 1] = "i_";
  with[0] = "at", with[1] = "i_", with[2] = by[row + 1];
  tp_emit_line(e, "const int64_t at = %s;\n", emit_element_at(e, r, 1, by));
  emit_open(e, "if ((uint64_t)at < (uint64_t)%s) {\n", emit_ix(e, r->in[2].shape[0]));
  put_sums_begin(e, r);
  open_count(e, "i_", r->in[0].shape[row + 1]);
  put_term(e, r, at, 2, with);
  emit_shut(e, 1);
  put_whole(e, r, "all_ + sum_");
  emit_else(e);
  emit_put_fault(e, x->pos, NULL, NULL);
  emit_shut(e, opened + 1);
}

/* ---- convolutions ---- y = conv(x, w), or one of x and w from the other and y */

enum { OF_CONV_X, OF_CONV_W, OF_CONV_Y };

static void put_conv(tp_emit *e, const tp_region *r) {
  /* axes before those of space: of images, groups, channels */
  static const places first[] = { { "n_", "g_", "c_" }, { "g_", "o_", "c_" },
    { "n_", "g_", "o_" } };
  int made = r->op == TP_OP_CONV_DATA ? OF_CONV_X : r->op == TP_OP_CONV ? OF_CONV_Y : OF_CONV_W;
  int window[3] = { 0, 1, 1 }, opened = emit_open_leads(e, r, &r->out[0], 0, -1), inner;
  if (made == OF_CONV_X) window[OF_CONV_Y] = 0;
  window[made] = 2;
  const tp_nd *x = tp_window_at(r, window[OF_CONV_X]), *w = tp_window_at(r, window[OF_CONV_W]),
              *y = tp_window_at(r, window[OF_CONV_Y]);
  places at[3];
  memcpy(at, first, sizeof at);
  for (int i = 3; i < x->rank; i++)
    for (int k = 0; k < 3; k++) at[k][i] = tp_printf(e->a, "%c%d_", "xwy"[k], i);
  for (int i = 0; i < x->rank; i++) tp_emit_line(e, "const int64_t %s = e%d;\n", at[made][i], i);
  put_sums_begin(e, r);
  if (r->acc) tp_emit_line(e, "all_ = %s;\n", emit_value_at(e, r, 2, at[made]));
  inner = emit_open_stays(e, r);
  if (made == OF_CONV_W) inner += open_count(e, "n_", x->shape[0]);
  else inner += open_count(e, made == OF_CONV_X ? "o_" : "c_", w->shape[made == OF_CONV_X ? 1 : 2]);
  for (int i = 3; i < x->rank; i++) {
    const int *how = &r->how.axes[3 * (i - 3)];
    inner += made == OF_CONV_W ? open_count(e, at[OF_CONV_Y][i], y->shape[i])
                               : open_count(e, at[OF_CONV_W][i], w->shape[i]);
    if (made == OF_CONV_X)
      tp_emit_line(e, "TP_BEHIND(y%d_, %s, x%d_ + %d - w%d_*%d, %d)\n", i, emit_ix(e, y->shape[i]),
          i, how[2], i, how[1], how[0]);
    else
      tp_emit_line(e, "TP_BEHIND(x%d_, %s, y%d_*%d + w%d_*%d - %d, 1)\n", i,
          emit_ix(e, x->shape[i]), i, how[0], i, how[1], how[2]);
  }
  put_term(e, r, at[made == OF_CONV_X ? OF_CONV_Y : OF_CONV_X], 1,
      at[made == OF_CONV_W ? OF_CONV_Y : OF_CONV_W]);
  emit_shut(e, inner);
  put_whole(e, r, "all_ + sum_");
  emit_shut(e, opened);
}

void emit_operator(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  switch (tp_ops[r->op].cls) {
  case TP_CLS_SCAN: put_scan(e, r); return;
  case TP_CLS_SORT: put_sort(e, r); return;
  case TP_CLS_CONV: put_conv(e, r); return;
  case TP_CLS_FMT: emit_blocks(e, r); return;
  default: break;
  }
  if (r->op == TP_OP_FOLD) put_fold(e, r);
  else put_matmul_at(e, x);
}
