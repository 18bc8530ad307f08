/* made.c: see made.h. */
#include "kern/made.h"
#include <math.h>

/* ---- elements ---- */

static int64_t offset_of(const tp_lens *v, const int64_t *at) {
  return tp_offset(v->rank, at, v->stride);
}

static bool is_empty(int rank, const int64_t *shape) {
  bool none = false;
  for (int i = 0; i < rank; i++) none |= shape[i] <= 0;
  return none;
}

bool tp_lens_finite_at(const tp_lens *v, const int64_t *at) {
  return !tp_dtype_float(v->dtype) || isfinite(tp_get(v->dtype, v->data, offset_of(v, at)));
}

static bool dense(const tp_lens *v) {
  int64_t n = 1;
  for (int i = v->rank - 1; i >= 0; i--) {
    if (v->stride[i] != n && v->shape[i] != 1) return false;
    n *= v->shape[i];
  }
  return true;
}

/* By exponents, in a loop that vectorises. */
static bool finite_f32(const uint32_t *p, int64_t n) {
  uint32_t bad = 0;
  for (int64_t i = 0; i < n; i++) bad |= (p[i] & 0x7f800000) == 0x7f800000;
  return !bad;
}

bool tp_lens_finite(const tp_lens *v) {
  int64_t at[TP_MAXRANK] = { 0 }, n = 1;
  if (!tp_dtype_float(v->dtype) || is_empty(v->rank, v->shape)) return true;
  for (int i = 0; i < v->rank; i++) n *= v->shape[i];
  if (v->dtype == TP_F32 && dense(v)) return finite_f32(v->data, n);
  do
    if (!tp_lens_finite_at(v, at)) return false;
  while (tp_next_index(v->rank, v->shape, at));
  return true;
}

/* ---- does it arise here? ---- */

/* The place of the operand's element that belongs to the result's element at `at`. */
static int64_t aligned(const tp_lens *v, const tp_lens *out, const int64_t *at) {
  int64_t o = 0;
  for (int i = 0; i < v->rank; i++)
    if (v->shape[i] != 1) o += at[out->rank - v->rank + i] * v->stride[i];
  return o;
}

static bool finite_there(const tp_made *m, const int64_t *at) {
  bool all = true;
  for (int k = 0; k < m->nin; k++) {
    const tp_lens *v = &m->in[k];
    all &=
        !tp_dtype_float(v->dtype) || isfinite(tp_get(v->dtype, v->data, aligned(v, &m->out, at)));
  }
  return all;
}

bool tp_made_find(const tp_made *m, int64_t *at) {
  bool each = tp_op_is_elementwise(m->op), whole = true;
  memset(at, 0, sizeof *at * TP_MAXRANK);
  if (tp_lens_finite(&m->out)) return false;
  for (int k = 0; k < m->nin; k++) whole &= tp_lens_finite(&m->in[k]);
  do
    if (!tp_lens_finite_at(&m->out, at) && (each ? finite_there(m, at) : whole)) return true;
  while (tp_next_index(m->out.rank, m->out.shape, at));
  return false;
}

/* ---- what is said ---- */

static void put_value(tp_buf *b, tp_dtype d, double v) {
  if (v == floor(v) && fabs(v) < 1e6) tp_putf(b, "%lld", (long long)v);
  else if (d == TP_F64 || !tp_dtype_float(d)) tp_put_double(b, v);
  else tp_put_float(b, (float)v);
}

static void put_element(tp_buf *b, const tp_lens *out, const int64_t *at) {
  if (!out->rank) return;
  tp_puts(b, "element [");
  for (int i = 0; i < out->rank; i++) tp_putf(b, i ? ", %lld" : "%lld", (long long)at[i]);
  tp_puts(b, "]: ");
}

static void put_result(tp_buf *b, const tp_lens *out, const int64_t *at) {
  tp_puts(b, ") is ");
  put_value(b, out->dtype, tp_get(out->dtype, out->data, offset_of(out, at)));
}

/* The first few of all elements; in brackets if they are several. */
static void put_elements(tp_buf *b, const tp_lens *v) {
  enum { TOLD = 8 };
  int64_t at[TP_MAXRANK] = { 0 }, n = 0, count = 1;
  for (int i = 0; i < v->rank; i++) count *= v->shape[i];
  if (count != 1) tp_puts(b, "[");
  for (bool more = count > 0; more && n < TOLD; more = tp_next_index(v->rank, v->shape, at)) {
    if (n++) tp_puts(b, ", ");
    put_value(b, v->dtype, tp_get(v->dtype, v->data, offset_of(v, at)));
  }
  if (count != 1) tp_puts(b, n < count ? ", ...]" : "]");
}

void tp_made_tell(tp_buf *b, const tp_made *m, const int64_t *at) {
  put_element(b, &m->out, at);
  tp_putf(b, "%s(", tp_op_said(m->op));
  for (int k = 0; k < m->nin; k++) {
    const tp_lens *v = &m->in[k];
    if (k) tp_puts(b, ", ");
    if (v->name) tp_putf(b, "'%s' = ", v->name);
    if (!tp_op_is_elementwise(m->op)) put_elements(b, v);
    else put_value(b, v->dtype, tp_get(v->dtype, v->data, aligned(v, &m->out, at)));
  }
  if (m->op == TP_OP_CAST) tp_putf(b, ", %s", tp_dtype_name(m->out.dtype));
  put_result(b, &m->out, at);
}
