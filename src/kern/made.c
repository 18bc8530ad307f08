/* made.c: one function for each way in which operators take elements (see made.h). Only operators
 * that can make what is not finite are known: those that move or choose elements are never asked
 * about. */
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

/* ---- sources of an element ---- */

typedef struct asking {
  const tp_made *m;
  const int64_t *at;
  tp_made_fn *fn;
  void *ud;
} asking;

static bool ask(const asking *q, int k, const int64_t *at) { return q->fn(q->ud, k, at); }

/* Operand k at the result's place, aligned at the last of its first `rank` axes. */
static void aligned(const asking *q, int k, int64_t *at) {
  const tp_lens *v = &q->m->in[k];
  for (int i = 0; i < v->rank; i++)
    at[i] = v->shape[i] == 1 ? 0 : q->at[q->m->out.rank - v->rank + i];
}

static bool of_places(const asking *q) {
  int64_t at[TP_MAXRANK];
  for (int k = 0; k < q->m->nin; k++) {
    aligned(q, k, at);
    if (!ask(q, k, at)) return false;
  }
  return true;
}

static bool of_axes(const asking *q) {
  const tp_lens *x = &q->m->in[0];
  const tp_how *a = q->m->how;
  int64_t at[TP_MAXRANK], shape[TP_MAXRANK], from[TP_MAXRANK];
  for (int i = 0, gone = 0; i < x->rank; i++) {
    bool reduced = gone < a->naxes && a->axes[gone] == i;
    from[i] = reduced ? 0 : q->at[a->keepdim ? i : i - gone];
    shape[i] = reduced ? x->shape[i] : 1;
    gone += reduced;
  }
  int64_t rest[TP_MAXRANK] = { 0 };
  if (is_empty(x->rank, shape)) return true;
  do {
    for (int i = 0; i < x->rank; i++) at[i] = from[i] + rest[i];
    if (!ask(q, 0, at)) return false;
  } while (tp_next_index(x->rank, shape, rest));
  return true;
}

/* y[i] of y[i - 1], x[i] and the factor c[i], which the first one has no use for. */
static bool of_before(const asking *q) {
  const tp_made *m = q->m;
  int64_t at[TP_MAXRANK];
  int axis = m->how->axis;
  memcpy(at, q->at, sizeof *at * (size_t)m->out.rank);
  at[axis] += m->how->flag ? 1 : -1;
  bool first = at[axis] < 0 || at[axis] >= m->out.shape[axis];
  if (!ask(q, 0, q->at)) return false;
  return first || ((m->nin < 2 || ask(q, 1, q->at)) && ask(q, m->nin, at));
}

static bool of_product(const asking *q) {
  const tp_lens *a = &q->m->in[0], *b = &q->m->in[1];
  int last = q->m->out.rank - 1;
  int64_t x[TP_MAXRANK], y[TP_MAXRANK];
  aligned(q, 0, x);
  aligned(q, 1, y);
  for (int64_t k = 0; k < a->shape[a->rank - 1]; k++) {
    x[a->rank - 2] = q->at[last - 1];
    x[a->rank - 1] = y[b->rank - 2] = k;
    y[b->rank - 1] = q->at[last];
    if (!ask(q, 0, x) || !ask(q, 1, y)) return false;
  }
  return true;
}

/* All (n, g, o, c, p, k) of the form (ops.def) whose element of the result is this one. */
static bool of_windows(const asking *q) {
  const tp_made *m = q->m;
  const int *role = tp_conv_roles(m->op);
  const tp_lens *v[3];
  int d = m->out.rank - 3;
  v[role[0]] = &m->in[0], v[role[1]] = &m->in[1], v[role[2]] = &m->out;
  int64_t all[4 + 2 * TP_MAXRANK] = { v[TP_CX]->shape[0], v[TP_CX]->shape[1], v[TP_CW]->shape[1],
    v[TP_CW]->shape[2] },
                      at[4 + 2 * TP_MAXRANK] = { 0 };
  for (int i = 0; i < d; i++)
    all[4 + i] = v[TP_CY]->shape[3 + i], all[4 + d + i] = v[TP_CW]->shape[3 + i];
  if (is_empty(4 + 2 * d, all)) return true;
  do {
    int64_t e[3][TP_MAXRANK] = { { at[0], at[1], at[3] }, { at[1], at[2], at[3] },
      { at[0], at[1], at[2] } };
    bool ok = true;
    for (int i = 0; i < d; i++) {
      e[TP_CY][3 + i] = at[4 + i], e[TP_CW][3 + i] = at[4 + d + i];
      e[TP_CX][3 + i] = at[4 + i] * m->how->axes[3 * i] + at[4 + d + i] * m->how->axes[3 * i + 1] -
          m->how->axes[3 * i + 2];
      ok &= e[TP_CX][3 + i] >= 0 && e[TP_CX][3 + i] < v[TP_CX]->shape[3 + i];
    }
    if (!ok || memcmp(e[role[2]], q->at, sizeof *q->at * (size_t)(3 + d))) continue;
    if (!ask(q, 0, e[role[0]]) || !ask(q, 1, e[role[1]])) return false;
  } while (tp_next_index(4 + 2 * d, all, at));
  return true;
}

static bool of_copies(const asking *q) {
  const tp_lens *x = &q->m->in[0];
  const tp_how *a = q->m->how;
  int64_t at[TP_MAXRANK];
  for (int i = 0; i < x->rank; i++) at[i] = i <= a->axis ? q->at[i] : q->at[i - 1];
  for (int64_t p = 0; p < x->shape[a->axis]; p++) {
    int64_t rest = q->at[a->axis] - p * a->i[0];
    if (rest < 0 || rest % a->i[1] || rest / a->i[1] >= x->shape[a->axis + 1]) continue;
    at[a->axis] = p;
    at[a->axis + 1] = rest / a->i[1];
    if (!ask(q, 0, at)) return false;
  }
  return true;
}

/* The base's element and what data adds there; src may be larger than k in scatter_add. */
static bool of_scattered(const asking *q) {
  const tp_lens *k = &q->m->in[1], *src = &q->m->in[2];
  int axis = q->m->how->axis;
  bool by_place = q->m->op == TP_OP_SCATTER_ADD;
  int64_t at[TP_MAXRANK] = { 0 };
  const int64_t *shape = by_place ? k->shape : src->shape;
  if (!ask(q, 0, q->at)) return false;
  if (is_empty(src->rank, shape)) return true;
  do {
    int64_t to = tp_geti(k->dtype, k->data, offset_of(k, by_place ? at : at + axis));
    bool here = to == q->at[axis];
    for (int i = 0, j = 0; i < q->m->out.rank; i++, j++) {
      if (i == axis && !by_place) j += k->rank - 1;
      else if (i != axis) here &= at[j] == q->at[i];
    }
    if (here && !ask(q, 2, at)) return false;
  } while (tp_next_index(src->rank, shape, at));
  return true;
}

/* The last axis of an operand belongs to one environment, unless it has none; axes before it number
 * them. */
static bool of_lane(const asking *q) {
  const tp_made *m = q->m;
  int batch = m->op == TP_OP_ENV_STEP && m->o >= 2 ? m->out.rank : m->out.rank - 1;
  int64_t at[TP_MAXRANK];
  memcpy(at, q->at, sizeof *at * (size_t)m->out.rank);
  for (int k = 0; k < m->nin; k++) {
    bool vector = m->in[k].rank > batch;
    for (int64_t i = 0; i < (vector ? m->in[k].shape[batch] : 1); i++) {
      if (vector) at[batch] = i;
      if (!ask(q, k, at)) return false;
    }
  }
  return true;
}

bool tp_made_known(tp_op op) {
  switch (tp_ops[op].cls) {
  case TP_CLS_RED:
  case TP_CLS_SCAN:
  case TP_CLS_MM:
  case TP_CLS_CONV:
  case TP_CLS_ENV: return true;
  default: return op == TP_OP_INDEX_ADD || op == TP_OP_SCATTER_ADD || op == TP_OP_FOLD;
  }
}

bool tp_made_each(const tp_made *m, const int64_t *at, tp_made_fn *fn, void *ud) {
  asking q = { m, at, fn, ud };
  switch (tp_ops[m->op].cls) {
  case TP_CLS_RED: return of_axes(&q);
  case TP_CLS_SCAN: return of_before(&q);
  case TP_CLS_MM: return of_product(&q);
  case TP_CLS_CONV: return of_windows(&q);
  case TP_CLS_ENV: return of_lane(&q);
  case TP_CLS_GATH: return of_scattered(&q);
  case TP_CLS_MOVE: return of_copies(&q);
  default: return of_places(&q);
  }
}

/* ---- does it arise here? ---- */

typedef struct counting {
  const tp_made *m;
  int64_t n;
} counting;

static bool still_finite(void *ud, int k, const int64_t *at) {
  counting *s = ud;
  s->n++;
  return tp_lens_finite_at(k < s->m->nin ? &s->m->in[k] : &s->m->out, at);
}

bool tp_made_find(const tp_made *m, int64_t *at) {
  memset(at, 0, sizeof *at * TP_MAXRANK);
  if (tp_lens_finite(&m->out)) return false;
  do {
    counting s = { m, 0 };
    if (!tp_lens_finite_at(&m->out, at) && tp_made_each(m, at, still_finite, &s) && s.n)
      return true;
  } while (tp_next_index(m->out.rank, m->out.shape, at));
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

typedef struct teller {
  tp_buf *b;
  const tp_made *m;
  int k;
  int64_t n;
} teller;

/* Of operand t->k the first few, in brackets if they are several. */
static bool count_one(void *ud, int k, const int64_t *at) {
  teller *t = ud;
  (void)at;
  t->n += k == t->k;
  return true;
}

static bool tell_one(void *ud, int k, const int64_t *at) {
  teller *t = ud;
  const tp_lens *v = k < t->m->nin ? &t->m->in[k] : &t->m->out;
  if (k != t->k || t->n > TP_TOLD) return true;
  if (t->n) tp_puts(t->b, ", ");
  if (t->n++ == TP_TOLD) tp_puts(t->b, "...");
  else put_value(t->b, v->dtype, tp_get(v->dtype, v->data, offset_of(v, at)));
  return true;
}

void tp_made_tell(tp_buf *b, const tp_made *m, const int64_t *at) {
  bool any = false;
  put_element(b, &m->out, at);
  tp_putf(b, "%s(", tp_op_said(m->op));
  for (int k = 0; k <= m->nin; k++) {
    teller t = { b, m, k, 0 };
    tp_made_each(m, at, count_one, &t);
    bool several = t.n > 1;
    if (!t.n) continue;
    if (any) tp_puts(b, ", ");
    any = true;
    if (k == m->nin) tp_puts(b, "before = ");
    else if (m->in[k].name) tp_putf(b, "'%s' = ", m->in[k].name);
    t.n = 0;
    if (several) tp_puts(b, "[");
    tp_made_each(m, at, tell_one, &t);
    if (several) tp_puts(b, "]");
  }
  if (m->op == TP_OP_CAST) tp_putf(b, ", %s", tp_dtype_name(m->out.dtype));
  put_result(b, &m->out, at);
}

void tp_made_tell_list(tp_buf *b, const char *op, int64_t n, const tp_dtype *d, const double *v,
    const tp_lens *out, const int64_t *at) {
  put_element(b, out, at);
  tp_putf(b, "%s(", op);
  for (int64_t i = 0; i < n && i < TP_TOLD; i++) {
    if (i) tp_puts(b, ", ");
    put_value(b, d[i], v[i]);
  }
  if (n > TP_TOLD) tp_puts(b, ", ...");
  put_result(b, out, at);
}
