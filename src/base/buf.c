/* Text buffers, shortest doubles, nearest names. A buffer that cannot grow is freed and goes to the
 * thread's guard, because half a key is worse than none; without a guard it remembers that, and
 * drops later text. */
#include "base/base.h"
#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

void tp_buf_init(tp_buf *b) { *b = (tp_buf){ 0 }; }

void tp_buf_free(tp_buf *b) {
  tp_free(b->s);
  tp_buf_init(b);
}

/* room for n bytes and the 0 */
static bool reserve(tp_buf *b, size_t n) {
  if (b->failed) return false;
  if (b->cap - b->n > n) return true;
  size_t cap = TP_MAX(b->cap * 2, TP_MAX(b->n + n + 1, 64));
  char *s = n < SIZE_MAX / 4 ? tp_realloc(b->s, cap) : NULL;
  if (!s && tp_guard_now()) {
    tp_buf_free(b);
    tp_oom();
  }
  b->failed = !s;
  if (!s) return false;
  b->s = s;
  b->cap = cap;
  return true;
}

void tp_putn(tp_buf *b, const char *s, size_t n) {
  if (!reserve(b, n)) return;
  if (n) memcpy(b->s + b->n, s, n);
  b->n += n;
  b->s[b->n] = 0;
}

static void drop(void *b) { tp_buf_free(b); }

void tp_buf_hold(tp_buf *b, tp_hold *h) {
  tp_buf_init(b);
  tp_hold_set(h, drop, b);
}

void tp_buf_drop(tp_buf *b, tp_hold *h) {
  tp_hold_end(h);
  tp_buf_free(b);
}

char *tp_buf_give(tp_arena *a, tp_buf *b) {
  tp_hold mine;
  tp_hold_set(&mine, drop, b);
  char *s = tp_strdup(a, b->s ? b->s : "");
  tp_hold_end(&mine);
  tp_buf_free(b);
  return s;
}

void tp_puts(tp_buf *b, const char *s) { tp_putn(b, s, strlen(s)); }

void tp_putf(tp_buf *b, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  if (n < 0 || !reserve(b, (size_t)n)) return;
  va_start(ap, fmt);
  vsnprintf(b->s + b->n, (size_t)n + 1, fmt, ap);
  va_end(ap);
  b->n += (size_t)n;
}

/* Any locale's decimal point becomes '.'. */
static void put_number(tp_buf *b, const char *s) {
  for (bool point = false; *s; s++) {
    bool plain = strchr("0123456789+-e", *s) != NULL;
    if (plain) tp_putn(b, s, 1);
    else if (!point) tp_puts(b, ".");
    point |= !plain;
  }
}

static void put_shortest(tp_buf *b, double x, bool single) {
  char s[64];
  const char *word = isnan(x) ? "nan" : isinf(x) ? x < 0 ? "-inf" : "inf" : NULL;
  if (word) {
    tp_puts(b, word);
    return;
  }
  if (x == floor(x) && fabs(x) < 1e15 && !single) snprintf(s, sizeof s, "%.0f", x);
  else
    for (int digits = 1; digits <= 17; digits++) {
      snprintf(s, sizeof s, "%.*g", digits, x);
      if (single ? strtof(s, NULL) == (float)x : strtod(s, NULL) == x) break;
    }
  put_number(b, s);
}

void tp_put_double(tp_buf *b, double x) { put_shortest(b, x, false); }
void tp_put_float(tp_buf *b, float x) { put_shortest(b, x, true); }

double tp_read_double(const char *s, const char **end) {
  char t[160], *stop;
  const char *point = localeconv()->decimal_point, *dot;
  size_t n = TP_MIN(strspn(s, "0123456789+-.abcdefinptxyABCDEFINPTXY"), sizeof t - 32),
         size = TP_MIN(strlen(point), 16), before;
  dot = memchr(s, '.', n);
  before = dot ? (size_t)(dot - s) : n;
  memcpy(t, s, before);
  memcpy(t + before, point, dot ? size : 0);
  if (dot) memcpy(t + before + size, dot + 1, n - before - 1);
  t[dot ? n - 1 + size : n] = 0;
  double v = strtod(t, &stop);
  size_t used = (size_t)(stop - t);
  *end = s + (dot && used > before ? used - size + 1 : used);
  return v;
}

/* Swaps of neighbours cost one, capitals nothing; longer names are far from everything. */
enum { NAME_MAX_ = 63 };
static int distance(const char *a, const char *b) {
  int d[NAME_MAX_ + 1][NAME_MAX_ + 1], n = (int)strlen(a), m = (int)strlen(b);
  for (int i = 0; i <= n; i++) d[i][0] = i;
  for (int j = 0; j <= m; j++) d[0][j] = j;
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++) {
      int v =
          d[i - 1][j - 1] + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
      v = TP_MIN(v, TP_MIN(d[i - 1][j], d[i][j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        v = TP_MIN(v, d[i - 2][j - 2] + 1);
      d[i][j] = v;
    }
  return d[n][m];
}

/* By length, then alphabet, never by order of names (a Lua table's is random). */
static bool better(int len, const char *a, const char *b) {
  int da = abs((int)strlen(a) - len), db = abs((int)strlen(b) - len);
  return da != db ? da < db : strcmp(a, b) < 0;
}

/* LSTM for LSTMCell */
static bool begins(const char *name, const char *word) {
  while (*word && tolower((unsigned char)*name) == tolower((unsigned char)*word)) name++, word++;
  return !*word;
}

const char *tp_nearest(const char *word, const char *const *names, int n) {
  const char *best = NULL;
  int least = NAME_MAX_, len = (int)TP_MIN(strlen(word), NAME_MAX_ + 1);
  for (int i = 0; i < n; i++) {
    int other = (int)TP_MIN(strlen(names[i]), NAME_MAX_ + 1);
    if (len > NAME_MAX_ || other > NAME_MAX_) continue;
    int d = distance(word, names[i]);
    if (3 * d > TP_MAX(len, other) && (d > 1 || TP_MAX(len, other) < 2)) continue;
    if (d < least || (d == least && best && better(len, names[i], best))) {
      least = d;
      best = names[i];
    }
  }
  for (int i = 0; least == NAME_MAX_ && len >= 2 && i < n; i++)
    if (begins(names[i], word) && (!best || better(len, names[i], best))) best = names[i];
  return best;
}

void tp_put_complaint(tp_buf *b, const char *said) {
  const char *line = strstr(said, "error");
  while (line && line > said && line[-1] != '\n') line--;
  if (!line) line = said;
  tp_putf(b, "%.*s", (int)TP_MIN(strcspn(line, "\n"), 255), line);
}

int tp_by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *tp_hint(char out[TP_HINT], const char *name, const char *const *names, int n) {
  enum { SHOWN = 12 };
  const char *sorted[SHOWN], *near = tp_nearest(name, names, n);
  *out = 0;
  if (near) snprintf(out, TP_HINT, "; did you mean '%s'?", near);
  if (near || n > SHOWN) return out;
  TP_COPYN(sorted, names, n);
  qsort(sorted, (size_t)n, sizeof *sorted, tp_by_text);
  for (int k = 0; k < n; k++) {
    size_t used = strlen(out);
    if (k && strcmp(sorted[k - 1], sorted[k]) == 0) continue;
    snprintf(out + used, TP_HINT - used, "%s'%s'",
        !*out            ? "; there is "
            : k + 1 == n ? " and "
                         : ", ",
        sorted[k]);
  }
  return out;
}
