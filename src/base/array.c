/* Host arrays. A view holds a reference to the array whose data it shows; the owner's data is freed with the last of them. */
#include "base/array.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- making and keeping ---- */

static bool mul_fits(size_t *n, int64_t by) {
  if (by < 0 || (by > 0 && *n > (SIZE_MAX / 2) / (size_t)by)) return false;
  *n *= (size_t)by;
  return true;
}

/* The head alone; NULL: no memory, a rank or a size that is impossible. Extents after a 0 count: a size must fit whatever stands beside it. */
static tp_array *head(tp_dtype d, int rank, const int64_t *shape) {
  size_t bytes = (size_t)tp_dtype_size(d), nonzero = bytes;
  if (rank < 0 || rank > TP_MAXRANK) return NULL;
  for (int i = 0; i < rank; i++)
    if (!mul_fits(&bytes, shape[i]) || !mul_fits(&nonzero, shape[i] ? shape[i] : 1)) return NULL;
  tp_array *a = tp_calloc(sizeof *a);
  if (!a) return NULL;
  a->refs = 1;
  a->dtype = d;
  a->rank = rank;
  if (rank) memcpy(a->shape, shape, sizeof *shape * (size_t)rank);
  a->count = (int64_t)(bytes / (size_t)tp_dtype_size(d));
  return a;
}

tp_array *tp_array_new(tp_dtype d, int rank, const int64_t *shape) {
  tp_array *a = head(d, rank, shape);
  if (!a) return NULL;
  a->data = tp_alloc_aligned(tp_array_bytes(a));
  if (!a->data) {
    tp_free(a);
    return NULL;
  }
  memset(a->data, 0, tp_array_bytes(a));
  return a;
}

tp_array *tp_array_wrap(tp_dtype d, int rank, const int64_t *shape, void *data) {
  tp_array *a = head(d, rank, shape);
  if (!a) return NULL;
  a->data = data;
  a->borrowed = true;
  return a;
}

tp_array *tp_array_view(tp_array *a, int64_t row) {
  if (a->rank == 0 || row < 0 || row >= a->shape[0]) return NULL;
  tp_array *v = head(a->dtype, a->rank - 1, a->shape + 1);
  if (!v) return NULL;
  v->data = (char *)a->data + tp_array_bytes(v) * (size_t)row;
  v->base = tp_array_ref(a);
  return v;
}

tp_array *tp_array_ref(tp_array *a) {
  a->refs++;
  return a;
}

tp_array *tp_array_unref(tp_array *a) {
  if (!a || --a->refs > 0) return NULL;
  if (a->base) tp_array_unref(a->base);
  else if (!a->borrowed) tp_free_aligned(a->data);
  tp_free(a);
  return NULL;
}

size_t tp_array_bytes(const tp_array *a) { return (size_t)a->count * (size_t)tp_dtype_size(a->dtype); }

tp_array *tp_array_cast(tp_array *a, tp_dtype d) {
  tp_array *b = tp_array_new(d, a->rank, a->shape);
  if (!b) return NULL;
  if (d == a->dtype) memcpy(b->data, a->data, tp_array_bytes(a));
  else if (tp_dtype_float(a->dtype))
    for (int64_t i = 0; i < a->count; i++) tp_put(d, b->data, i, tp_get(a->dtype, a->data, i));
  else
    for (int64_t i = 0; i < a->count; i++) tp_puti(d, b->data, i, tp_geti(a->dtype, a->data, i));
  return b;
}

/* ---- printing: NumPy's array2string with its defaults (8 digits, 75 columns, 3 edge items beyond 1,000 elements) ---- */

enum { PRECISION = 8, WIDTH = 75, EDGE = 3, LIMIT = 1000, CELL = 64 };

typedef struct {
  const tp_array *a;
  bool summary, exponent;       /* exponent: 1.5e+10 */
  int left, right, tail;        /* columns before the point; of it and the digits after; of the exponent (e+10) */
} style;

static bool same_element(tp_dtype d, double x, double y) {
  if (d == TP_F32) return (float)x == (float)y;
  if (d == TP_F16) return tp_f32_to_f16((float)x) == tp_f32_to_f16((float)y);
  if (d == TP_BF16) return tp_f32_to_bf16((float)x) == tp_f32_to_bf16((float)y);
  return x == y;
}

/* The fewest digits that read back as x, less one. */
static int digits_after_first(tp_dtype d, double x) {
  char s[CELL];
  for (int p = 0; p < 17; p++) {
    snprintf(s, sizeof s, "%.*e", p, x);
    if (same_element(d, strtod(s, NULL), x)) return p;
  }
  return 17;
}

static int exponent_of(double x, int digits) {
  char s[CELL];
  snprintf(s, sizeof s, "%.*e", digits, x);
  return atoi(strchr(s, 'e') + 1);
}

/* x without trailing zeros but with its point: 1. 0.5 0.33333333 */
static void positional(tp_dtype d, double x, char s[CELL]) {
  int p = digits_after_first(d, x), frac = x == 0 ? 0 : p - exponent_of(x, p);
  snprintf(s, CELL, "%.*f", TP_MAX(TP_MIN(frac, PRECISION), 0), x);
  if (!strchr(s, '.')) strcat(s, ".");
  for (size_t n = strlen(s); s[n - 1] == '0'; n--) s[n - 1] = 0;
}

static void put_cell(tp_buf *b, int pad_left, const char *s, int pad_right) { tp_putf(b, "%*s%s%*s", TP_MAX(pad_left, 0), "", s, TP_MAX(pad_right, 0), ""); }

static void put_float(tp_buf *b, const style *f, double x) {
  char s[CELL];
  if (isnan(x) || isinf(x)) {
    const char *word = isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
    put_cell(b, f->left + f->right + f->tail - (int)strlen(word), word, 0);
    return;
  }
  if (f->exponent) {
    snprintf(s, sizeof s, "%#.*e", f->right - 1, x);
    char *e = strchr(s, 'e');
    int power = atoi(e + 1);
    snprintf(e, (size_t)(s + sizeof s - e), "e%c%0*d", power < 0 ? '-' : '+', f->tail - 2, abs(power));
    put_cell(b, f->left - (int)(strchr(s, '.') - s), s, 0);
    return;
  }
  positional(f->a->dtype, x, s);
  int point = (int)(strchr(s, '.') - s);
  put_cell(b, f->left - point, s, f->right - ((int)strlen(s) - point));
}

static void put_element(tp_buf *b, const style *f, int64_t i) {
  const tp_array *a = f->a;
  char s[CELL];
  if (tp_dtype_float(a->dtype)) {
    put_float(b, f, tp_get(a->dtype, a->data, i));
    return;
  }
  int64_t v = tp_geti(a->dtype, a->data, i);
  if (a->dtype == TP_BOOL) snprintf(s, sizeof s, v ? "True" : "False");
  else snprintf(s, sizeof s, "%lld", (long long)v);
  put_cell(b, f->left - (int)strlen(s), s, 0);
}

/* Calls fn for every element that is shown. */
typedef void visitor(style *f, int64_t i, void *ud);

static void each_shown(style *f, int axis, int64_t at, visitor *fn, void *ud) {
  if (axis == f->a->rank) {
    fn(f, at, ud);
    return;
  }
  int64_t n = f->a->shape[axis];
  for (int64_t i = 0; i < n; i++) {
    if (f->summary && 2 * EDGE < n && i == EDGE) i = n - EDGE;
    each_shown(f, axis + 1, at * n + i, fn, ud);
  }
}

typedef struct { double least, most; } extremes;

static void find_extremes(style *f, int64_t i, void *ud) {
  extremes *e = ud;
  double x = fabs(tp_get(f->a->dtype, f->a->data, i));
  if (isfinite(x) && x != 0) {
    e->least = fmin(e->least, x);
    e->most = fmax(e->most, x);
  }
}

static void widen_float(style *f, int64_t i, int *special) {
  double x = tp_get(f->a->dtype, f->a->data, i);
  char s[CELL];
  if (!isfinite(x)) {
    *special = TP_MAX(*special, x < 0 ? 4 : 3);
    return;
  }
  if (f->exponent) {
    int p = TP_MIN(digits_after_first(f->a->dtype, x), PRECISION);
    f->left = TP_MAX(f->left, 1 + (signbit(x) != 0));
    f->right = TP_MAX(f->right, p + 1);
    f->tail = TP_MAX(f->tail, abs(exponent_of(x, p)) >= 100 ? 5 : 4);
    return;
  }
  positional(f->a->dtype, x, s);
  int point = (int)(strchr(s, '.') - s);
  f->left = TP_MAX(f->left, point);
  f->right = TP_MAX(f->right, (int)strlen(s) - point);
}

static void widen(style *f, int64_t i, void *ud) {
  if (tp_dtype_float(f->a->dtype)) {
    widen_float(f, i, ud);
    return;
  }
  int64_t v = tp_geti(f->a->dtype, f->a->data, i);
  int n = f->a->dtype == TP_BOOL ? 5 /* False */ : snprintf(NULL, 0, "%lld", (long long)v);
  f->left = TP_MAX(f->left, n);
}

static void measure(style *f) {
  extremes e = { INFINITY, 0 };
  int special = 0;
  if (tp_dtype_float(f->a->dtype)) {
    each_shown(f, 0, 0, find_extremes, &e);
    f->exponent = e.most > 0 && (e.most >= 1e8 || e.least < 1e-4 || e.most / e.least > 1000);
  }
  each_shown(f, 0, 0, widen, &special);
  f->left = TP_MAX(f->left, special - f->right - f->tail);
}

/* One row of elements, wrapped: a line goes on while it stays shorter than width. */
typedef struct { tp_buf *out; size_t line; int indent, width; } wrap;

static void put_word(wrap *w, const char *s, size_t n) {
  if (w->out->n - w->line + n > (size_t)w->width && w->out->n - w->line > (size_t)w->indent) {
    while (w->out->n && w->out->s[w->out->n - 1] == ' ') w->out->s[--w->out->n] = 0;
    tp_puts(w->out, "\n");
    w->line = w->out->n;
    tp_putf(w->out, "%*s", w->indent, "");
  }
  tp_putn(w->out, s, n);
}

static void put_row(tp_buf *b, const style *f, int64_t at, int64_t n, size_t line) {
  wrap w = { b, line, f->a->rank, WIDTH - f->a->rank };
  for (int64_t i = 0; i < n; i++) {
    if (i) tp_puts(b, " ");
    if (f->summary && 2 * EDGE < n && i == EDGE) {
      put_word(&w, "...", 3);
      tp_puts(b, " ");
      i = n - EDGE;
    }
    tp_buf cell;
    tp_buf_init(&cell);
    put_element(&cell, f, at * n + i);
    if (cell.s) put_word(&w, cell.s, cell.n);
    tp_buf_free(&cell);
  }
}

static void put_axis(tp_buf *b, const style *f, int axis, int64_t at, size_t line) {
  int64_t n = f->a->shape[axis];
  tp_puts(b, "[");
  if (axis == f->a->rank - 1) put_row(b, f, at, n, line);
  for (int64_t i = 0; axis < f->a->rank - 1 && i < n; i++) {
    bool skip = f->summary && 2 * EDGE < n && i == EDGE;
    if (i) {
      for (int k = axis; k < f->a->rank - 1; k++) tp_puts(b, "\n");
      line = b->n;
      tp_putf(b, "%*s", axis + 1, "");
    }
    if (skip) {
      tp_puts(b, "...");
      i = n - EDGE - 1;
    } else put_axis(b, f, axis + 1, at * n + i, line);
  }
  tp_puts(b, "]");
}

static void put_scalar(tp_buf *b, const tp_array *a) {
  style f = { .a = a };
  if (tp_dtype_float(a->dtype)) {
    double x = tp_get(a->dtype, a->data, 0);
    double most = a->dtype == TP_F64 ? 1e16 : 1e8;
    char s[CELL];
    if (isfinite(x) && (x == 0 || (fabs(x) >= 1e-4 && fabs(x) < most))) {
      int p = digits_after_first(a->dtype, x), frac = x == 0 ? 1 : p - exponent_of(x, p);
      snprintf(s, sizeof s, "%.*f", TP_MAX(frac, 1), x);
      tp_puts(b, s);
      return;
    }
    if (isfinite(x)) {
      tp_putf(b, "%.*e", digits_after_first(a->dtype, x), x);
      return;
    }
  }
  put_element(b, &f, 0);
}

void tp_array_print(tp_buf *b, const tp_array *a) {
  style f = { .a = a, .summary = a->count > LIMIT };
  if (a->rank == 0) put_scalar(b, a);
  else if (a->count == 0) tp_puts(b, "[]");
  else {
    measure(&f);
    put_axis(b, &f, 0, 0, b->n);
  }
}
