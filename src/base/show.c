/* show: prints arrays like NumPy 2.4's array2string with defaults (8 digits, 75 columns, 3 edge
 * items beyond 1,000 elements). */
#include "base/array.h"
#include <math.h>
#include <stdlib.h>

enum { PRECISION = 8, WIDTH = 75, EDGE = 3, LIMIT = 1000, CELL = 64 };

/* digit[0] . digit[1] digit[2] ... * 10^exp; the last of n digits is no 0; 0 is one digit. */
typedef struct {
  char digit[24];
  int n, exp;
  bool minus;
} decimal;

/* of %.*e, in any locale */
static void parse_decimal(decimal *d, const char *s) {
  d->n = 0;
  d->minus = *s == '-';
  for (; *s != 'e'; s++)
    if (*s >= '0' && *s <= '9') d->digit[d->n++] = *s;
  d->exp = atoi(s + 1);
  while (d->n > 1 && d->digit[d->n - 1] == '0') d->n--;
}

static double in_dtype(tp_dtype d, double x) {
  uint64_t store;
  tp_put(d, &store, 0, x);
  return tp_get(d, &store, 0);
}

/* Goes one step away from 0, in as many digits. */
static void step_up(char *s) {
  char *e = strchr(s, 'e');
  while (e-- > s && (*e < '0' || *e > '8'))
    if (*e == '9') *e = '0';
  if (e >= s) (*e)++;
}

/* The fewest digits that read back as x. Below a power of two numbers lie closer than above: the
 * nearest decimal may miss where the next one hits. */
static void shortest(tp_dtype d, double x, decimal *out) {
  char s[CELL];
  for (int p = 0; p < 18; p++) {
    snprintf(s, sizeof s, "%.*e", p, x);
    if (in_dtype(d, strtod(s, NULL)) == x) break;
    step_up(s);
    if (in_dtype(d, strtod(s, NULL)) == x) break;
  }
  parse_decimal(out, s);
}

/* 12.5, 1., -0. with at least `places` digits behind the point */
static void put_positional(char *s, const decimal *d, int places) {
  if (d->minus) *s++ = '-';
  for (int k = TP_MIN(d->exp, 0); k <= TP_MAX(d->exp, d->n - 1); k++) {
    if (k == d->exp + 1) *s++ = '.';
    *s++ = k >= 0 && k < d->n ? d->digit[k] : '0';
  }
  int have = TP_MAX(d->n - 1 - d->exp, 0);
  if (have == 0) *s++ = '.';
  for (; have < places; have++) *s++ = '0';
  *s = 0;
}

static void put_exponent(char *s, const decimal *d, int places, int power) { /* 1.50e+07 */
  if (d->minus) *s++ = '-';
  *s++ = d->digit[0];
  if (places >= 0) *s++ = '.';
  for (int k = 1; k <= places; k++) *s++ = k < d->n ? d->digit[k] : '0';
  sprintf(s, "e%c%0*d", d->exp < 0 ? '-' : '+', power, abs(d->exp));
}

typedef struct {
  const tp_array *a;
  bool summary, exponent; /* exponent: 1.5e+10 */
  /* columns before the point, or of all; digits behind it; digits of the exponent */
  int left, right, power;
} style;

static int columns(const style *f) {
  return f->left + 1 + f->right + (f->exponent ? f->power + 2 : 0);
}

static void put_cell(tp_buf *b, int pad_left, const char *s, int pad_right) {
  tp_putf(b, "%*s%s%*s", TP_MAX(pad_left, 0), "", s, TP_MAX(pad_right, 0), "");
}

static const char *special(double x) { return isnan(x) ? "nan" : x < 0 ? "-inf" : "inf"; }

/* x itself, not its shortest decimal */
static void rounded(double x, int places, decimal *out) {
  char s[CELL];
  snprintf(s, sizeof s, "%.*e", places, x);
  parse_decimal(out, s);
}

/* The digits to show: at most PRECISION of the shortest decimal. Without an exponent magnitudes are
 * at least 1e-4, so some digit is left. */
static void needed(const style *f, double x, decimal *out) {
  shortest(f->a->dtype, x, out);
  int places = f->exponent ? PRECISION : out->exp + PRECISION;
  if (out->n - 1 > places) rounded(x, places, out);
}

static void show_float(tp_buf *b, const style *f, double x) {
  char s[CELL];
  decimal d;
  if (!isfinite(x)) {
    put_cell(b, columns(f) - (int)strlen(special(x)), special(x), 0);
    return;
  }
  needed(f, x, &d);
  /* with x's digits, not zeros */
  if (f->exponent && d.n - 1 < f->right) rounded(x, f->right, &d);
  if (f->exponent) put_exponent(s, &d, f->right, f->power);
  else put_positional(s, &d, 0);
  int point = (int)(strchr(s, '.') - s);
  put_cell(b, f->left - point, s, f->exponent ? 0 : f->right + 1 - ((int)strlen(s) - point));
}

static void put_element(tp_buf *b, const style *f, int64_t i) {
  const tp_array *a = f->a;
  char s[CELL];
  if (tp_dtype_float(a->dtype)) {
    show_float(b, f, tp_get(a->dtype, a->data, i));
    return;
  }
  int64_t v = tp_geti(a->dtype, a->data, i);
  if (a->dtype == TP_BOOL) snprintf(s, sizeof s, v ? "True" : "False");
  else snprintf(s, sizeof s, "%lld", (long long)v);
  put_cell(b, f->left - (int)strlen(s), s, 0);
}

/* for every element shown */
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

/* magnitudes but 0; letters of the longest nan or inf */
typedef struct {
  double least, most;
  int word;
} extremes;

static void find_extremes(style *f, int64_t i, void *ud) {
  extremes *e = ud;
  double x = tp_get(f->a->dtype, f->a->data, i);
  if (!isfinite(x)) e->word = TP_MAX(e->word, (int)strlen(special(x)));
  else if (x != 0) {
    e->least = fmin(e->least, fabs(x));
    e->most = fmax(e->most, fabs(x));
  }
}

static void widen_float(style *f, int64_t i, void *ud) {
  double x = tp_get(f->a->dtype, f->a->data, i);
  char s[CELL];
  decimal d;
  if (!isfinite(x)) return;
  needed(f, x, &d);
  if (f->exponent) {
    f->left = TP_MAX(f->left, 1 + d.minus);
    f->right = TP_MAX(f->right, d.n - 1);
    f->power = TP_MAX(f->power, abs(d.exp) >= 100 ? 3 : 2);
    return;
  }
  put_positional(s, &d, 0);
  int point = (int)(strchr(s, '.') - s);
  f->left = TP_MAX(f->left, point);
  f->right = TP_MAX(f->right, (int)strlen(s) - point - 1);
}

static void widen(style *f, int64_t i, void *ud) {
  int n = f->a->dtype == TP_BOOL
      ? 5 /* False */
      : snprintf(NULL, 0, "%lld", (long long)tp_geti(f->a->dtype, f->a->data, i));
  f->left = TP_MAX(f->left, n);
}

/* From this magnitude on, beyond a dtype's digits, NumPy writes an exponent. */
static double many(tp_dtype d, double f64) { return d == TP_F64 ? f64 : d == TP_F32 ? 1e6 : 1e3; }

static void measure(style *f) {
  extremes e = { .least = INFINITY };
  tp_dtype d = f->a->dtype;
  if (!tp_dtype_float(d)) {
    each_shown(f, 0, 0, widen, NULL);
    return;
  }
  each_shown(f, 0, 0, find_extremes, &e);
  f->exponent = e.most > 0 &&
      (e.most >= many(d, 1e8) || e.least < in_dtype(d, 1e-4) ||
          in_dtype(d, e.most / e.least) > 1000);
  each_shown(f, 0, 0, widen_float, NULL);
  f->left += TP_MAX(e.word - columns(f), 0);
}

/* A line of a row goes on while it is shorter than width. */
typedef struct {
  tp_buf *out;
  size_t line;
  int indent, width;
} wrap;

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

/* as str of a NumPy scalar: every digit */
static void put_scalar(tp_buf *b, const tp_array *a) {
  style f = { .a = a };
  double x = tp_get(a->dtype, a->data, 0);
  char s[CELL];
  decimal d;
  if (!tp_dtype_float(a->dtype) || !isfinite(x)) {
    put_element(b, &f, 0);
    return;
  }
  shortest(a->dtype, x, &d);
  if (x == 0 || (fabs(x) >= 1e-4 && fabs(x) < many(a->dtype, 1e16))) put_positional(s, &d, 1);
  else put_exponent(s, &d, d.n > 1 ? d.n - 1 : -1, 2);
  tp_puts(b, s);
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
