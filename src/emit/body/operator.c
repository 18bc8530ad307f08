/* operator.c: prints operators along axes for the threads of a device. Each thread makes elements
 * of the result, or a row along the operator's axis, with all that goes into them in the order of
 * src/cpu; kernels/prelude/export.h has the same operators for one thread. */
#include "emit/priv.h"

typedef const char *places[TP_MAXRANK]; /* by axis of a window */

bool emit_has_operator(const tp_emit *e, const tp_region *r) {
  if (!e->to->threads || (r->acc && r->op != TP_OP_CONV_WEIGHT)) return false;
  switch (tp_ops[r->op].cls) {
  case TP_CLS_SCAN:
  case TP_CLS_SORT:
  case TP_CLS_CONV: return true;
  default: return r->op == TP_OP_FOLD || r->op == TP_OP_MATMUL_AT;
  }
}

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

static void own_places(tp_emit *e, const tp_nd *nd, places at) {
  for (int i = 0; i < nd->rank; i++) at[i] = tp_printf(e->a, "e%d", i);
}

/* Prints an element, as a value that computes. */
static void put_value(tp_emit *e, const tp_region *r, int w, const places at) {
  emit_load(e, tp_emit_dtype(e, tp_window_at(r, w)));
  emit_element_at(e, r, w, at);
  tp_puts(e->b, ")");
}

/* Prints the declaration of a local that holds an element. */
static void put_local(
    tp_emit *e, const tp_region *r, const char *type, const char *name, int w, const places at) {
  tp_emit_line(e, "const %s %s = (%s)", type, name, type);
  put_value(e, r, w, at);
  tp_puts(e->b, ";\n");
}

static void put_result(tp_emit *e, const tp_region *r, const char *value) {
  tp_dtype d = dtype_of(e, r);
  places at;
  own_places(e, &r->out[0], at);
  tp_emit_indent(e);
  emit_element_at(e, r, r->nin, at);
  tp_putf(e->b, tp_half(d) ? " = tp_store_%s((float)(%s));\n" : "%.0s = (%s)(%s);\n",
      tp_dtype_name(d), tp_half(d) ? value : tp_emit_type(d), value);
}

static int open_count(tp_emit *e, const char *name, const tp_ix *n) {
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
  own_places(e, out, at);
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
  put_result(e, r, "sum_");
  emit_shut(e, opened);
}

/* ---- sort ---- an element's place is how many elements go before it */

static void put_sort(tp_emit *e, const tp_region *r) {
  const tp_nd *in = &r->in[0];
  int axis = r->how.axis, opened = emit_open_leads(e, r, in, 0, -1);
  tp_dtype d = tp_emit_dtype(e, in);
  const char *type = tp_emit_held(d), *fn = tp_dtype_float(d) ? "TP_BEFORE_F" : "TP_BEFORE_I";
  places at, other, to;
  own_places(e, in, at);
  memcpy(other, at, sizeof at);
  memcpy(to, at, sizeof at);
  other[axis] = "i_", to[axis] = "rank_";
  put_local(e, r, type, "x_", 0, at);
  tp_emit_line(e, "int64_t rank_ = 0;\n");
  open_count(e, "i_", in->shape[axis]);
  put_local(e, r, type, "y_", 0, other);
  tp_emit_line(e, "rank_ += %s(%d, y_, x_) || (i_ < e%d && !%s(%d, x_, y_));\n", fn,
      r->how.descending, axis, fn, r->how.descending);
  emit_shut(e, 1);
  for (int k = 0; k < r->nout; k++) {
    if (r->out[k].buf < 0) continue;
    tp_emit_indent(e);
    emit_element_at(e, r, r->nin + k, to);
    tp_puts(e->b, " = ");
    if (k) tp_putf(e->b, "e%d", axis);
    else emit_element_at(e, r, 0, at);
    tp_puts(e->b, ";\n");
  }
  emit_shut(e, opened);
}

/* ---- sums of elements and of products ---- */

static void put_term(
    tp_emit *e, const tp_region *r, int x, const places xat, int y, const places yat) {
  tp_dtype d = dtype_of(e, r);
  tp_emit_line(e, "TP_TERM(%s, ", mad_of(d, false));
  put_value(e, r, x, xat);
  tp_puts(e->b, ", ");
  put_value(e, r, y, yat);
  tp_puts(e->b, ");\n");
}

static void put_sums_begin(tp_emit *e, const tp_region *r) {
  const char *type = sum_type(dtype_of(e, r), false);
  tp_emit_line(e, "%s all_ = 0, sum_ = 0;\n", type);
  tp_emit_line(e, "int terms_ = 0;\n");
}

/* Adds windows of an axis at their places, element j of each after the other. */
static void put_fold(tp_emit *e, const tp_region *r) {
  const tp_nd *out = &r->out[0], *in = &r->in[0];
  int axis = r->how.axis, opened = emit_open_leads(e, r, out, 0, -1);
  places at;
  for (int i = 0; i < in->rank; i++) at[i] = tp_printf(e->a, "e%d", i > axis ? i - 1 : i);
  at[axis] = "l_", at[axis + 1] = "j_";
  tp_emit_line(e, "%s sum_ = 0;\n", sum_type(dtype_of(e, r), false));
  open_count(e, "j_", in->shape[axis + 1]);
  tp_emit_line(e, "const int64_t far_ = e%d - j_*TP_I64(%lld), l_ = far_/TP_I64(%lld);\n", axis,
      (long long)r->how.dilation, (long long)r->how.step);
  emit_open(e, "if (far_ >= 0 && l_*TP_I64(%lld) == far_ && l_ < %s) {\n", (long long)r->how.step,
      emit_ix(e, in->shape[axis]));
  put_local(e, r, sum_type(dtype_of(e, r), false), "x_", 0, at);
  tp_emit_line(e, "sum_ = sum_ + x_;\n");
  emit_shut(e, 2);
  put_result(e, r, "sum_");
  emit_shut(e, opened);
}

/* Rows of the first operand times the matrix whose number stands in the second. */
static void put_matmul_at(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  const tp_nd *out = &r->out[0];
  int row = out->rank - 2, opened = emit_open_leads(e, r, out, 0, -1);
  places at, by, with;
  own_places(e, out, at);
  own_places(e, out, by);
  at[row + 1] = "i_";
  with[0] = "at", with[1] = "i_", with[2] = by[row + 1];
  tp_emit_line(e, "const int64_t at = ");
  emit_element_at(e, r, 1, by);
  tp_puts(e->b, ";\n");
  emit_open(e, "if ((uint64_t)at < (uint64_t)%s) {\n", emit_ix(e, r->in[2].shape[0]));
  put_sums_begin(e, r);
  open_count(e, "i_", r->in[0].shape[row + 1]);
  put_term(e, r, 0, at, 2, with);
  emit_shut(e, 1);
  put_result(e, r, "all_ + sum_");
  e->depth--;
  emit_open(e, "} else {\n");
  emit_put_fault(e, x->pos, NULL, NULL);
  emit_shut(e, opened + 1);
}

/* ---- convolutions ---- y = conv(x, w), or one of x and w from the other and y. Axes: image,
 * group, channel, space; of w group, both channels, space. */

typedef struct {
  int x, w, y; /* windows */
  places at_x, at_w, at_y;
} convolution;

/* Opens the loop over what the result lacks along axis i of space, where it is inside. */
static int open_space(tp_emit *e, const tp_region *r, const convolution *c, int i) {
  const int *how = &r->how.axes[3 * i];
  const tp_nd *x = tp_window_at(r, c->x), *w = tp_window_at(r, c->w), *y = tp_window_at(r, c->y);
  bool weight = r->op == TP_OP_CONV_WEIGHT, data = r->op == TP_OP_CONV_DATA;
  open_count(
      e, weight ? c->at_y[3 + i] : c->at_w[3 + i], weight ? y->shape[3 + i] : w->shape[3 + i]);
  if (!data) {
    tp_emit_line(e, "const int64_t %s = %s*%d + %s*%d - %d;\n", c->at_x[3 + i], c->at_y[3 + i],
        how[0], c->at_w[3 + i], how[1], how[2]);
    emit_open(e, "if (%s >= 0 && %s < %s) {\n", c->at_x[3 + i], c->at_x[3 + i],
        emit_ix(e, x->shape[3 + i]));
    return 2;
  }
  tp_emit_line(e, "const int64_t f%d = %s + %d - %s*%d, %s = f%d/%d;\n", i, c->at_x[3 + i], how[2],
      c->at_w[3 + i], how[1], c->at_y[3 + i], i, how[0]);
  emit_open(e, "if (f%d >= 0 && %s*%d == f%d && %s < %s) {\n", i, c->at_y[3 + i], how[0], i,
      c->at_y[3 + i], emit_ix(e, y->shape[3 + i]));
  return 2;
}

static void put_conv(tp_emit *e, const tp_region *r) {
  bool weight = r->op == TP_OP_CONV_WEIGHT, data = r->op == TP_OP_CONV_DATA;
  convolution c = { data ? 2 : 0, weight ? 2 : 1, data ? 0 : weight ? 1 : 2, { 0 }, { 0 }, { 0 } };
  const tp_nd *x = tp_window_at(r, c.x), *w = tp_window_at(r, c.w);
  int d = x->rank - 3, opened = emit_open_leads(e, r, &r->out[0], 0, -1), inner;
  const char *made[3] = { "e0", "e1", "e2" }; /* of the result */
  c.at_x[0] = c.at_y[0] = weight ? "n_" : made[0];
  c.at_x[1] = c.at_y[1] = c.at_w[0] = weight ? made[0] : made[1];
  c.at_x[2] = c.at_w[2] = weight || data ? made[2] : "c_";
  c.at_y[2] = c.at_w[1] = weight ? made[1] : data ? "c_" : made[2];
  for (int i = 0; i < d; i++) {
    const char *own = tp_printf(e->a, "e%d", 3 + i);
    c.at_x[3 + i] = data ? own : tp_printf(e->a, "s%d_", i);
    c.at_w[3 + i] = weight ? own : tp_printf(e->a, "k%d_", i);
    c.at_y[3 + i] = weight || data ? tp_printf(e->a, "p%d_", i) : own;
  }
  put_sums_begin(e, r);
  if (r->acc) {
    places at;
    own_places(e, &r->out[0], at);
    tp_emit_line(e, "all_ = ");
    put_value(e, r, r->nin, at);
    tp_puts(e->b, ";\n");
  }
  inner = emit_open_stays(e, r);
  inner += weight ? open_count(e, "n_", x->shape[0]) : 0;
  inner += weight ? 0 : open_count(e, "c_", w->shape[data ? 1 : 2]);
  for (int i = 0; i < d; i++) inner += open_space(e, r, &c, i);
  if (data) put_term(e, r, c.w, c.at_w, c.y, c.at_y);
  else put_term(e, r, c.x, c.at_x, weight ? c.y : c.w, weight ? c.at_y : c.at_w);
  emit_shut(e, inner);
  put_result(e, r, "all_ + sum_");
  emit_shut(e, opened);
}

void emit_operator(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  switch (tp_ops[r->op].cls) {
  case TP_CLS_SCAN: put_scan(e, r); return;
  case TP_CLS_SORT: put_sort(e, r); return;
  case TP_CLS_CONV: put_conv(e, r); return;
  default: break;
  }
  if (r->op == TP_OP_FOLD) put_fold(e, r);
  else put_matmul_at(e, x);
}
