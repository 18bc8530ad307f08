/* normal: the steps that rewrite a text before it is cut: Unicode's normal forms, prefixes,
 * replacements, SentencePiece's maps of characters. Broken bytes stay as they are. */
#include "text/priv.h"
#include "os/os.h"
#include <stdlib.h>

#if defined(__has_include)
#if __has_include(<utf8proc.h>)
#include <utf8proc.h>
#define HAS_UTF8PROC 1
#endif
#endif

/* ---- utf8proc ---- */

#ifdef HAS_UTF8PROC
static struct {
  __typeof__(&utf8proc_map) map;
  __typeof__(&utf8proc_tolower) lower;
  __typeof__(&utf8proc_category) category;
} proc;
static bool proc_is_open;

static void open_utf8proc(void) {
  static const char *const names[] = { "libutf8proc.so.2", "libutf8proc.so.3", "libutf8proc.so",
    "libutf8proc.dylib", "libutf8proc.dll" };
  void *at = NULL, *p[3];
  for (size_t i = 0; i < TP_LEN(names) && !at; i++) at = tp_os_open(names[i]);
  if (!at) return;
  p[0] = tp_os_symbol(at, "utf8proc_map");
  p[1] = tp_os_symbol(at, "utf8proc_tolower");
  p[2] = tp_os_symbol(at, "utf8proc_category");
  memcpy(&proc.map, &p[0], sizeof p[0]);
  memcpy(&proc.lower, &p[1], sizeof p[1]);
  memcpy(&proc.category, &p[2], sizeof p[2]);
  proc_is_open = p[0] && p[1] && p[2];
}

bool tp_utf8proc_open(const tp_tokenizer *t, tp_error *err) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_utf8proc);
  return proc_is_open ||
      tp_text_fail(t, err, "it needs libutf8proc.so.2 (Debian: apt-get install libutf8proc2)");
}

static bool marks(int k) { return k >= UTF8PROC_CATEGORY_MN && k <= UTF8PROC_CATEGORY_ME; }
static bool is_mark(int32_t c) { return c >= 0 && marks(proc.category(c)); }
static int32_t lower_of(int32_t c) { return c < 0 ? c : proc.lower(c); }

bool tp_is_word(int32_t c) {
  if (c < 128) return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
  int k = proc_is_open ? (int)proc.category(c) : UTF8PROC_CATEGORY_LO;
  return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NL) || k == UTF8PROC_CATEGORY_PC ||
      c == 0x200c || c == 0x200d;
}

static bool put_form(tp_buf *b, tp_chars x, int form) {
  static const int options[] = { [TP_FORM_C] = UTF8PROC_COMPOSE,
    [TP_FORM_D] = UTF8PROC_DECOMPOSE,
    [TP_FORM_KC] = UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
    [TP_FORM_KD] = UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT };
  utf8proc_uint8_t *made = NULL;
  utf8proc_ssize_t n = proc.map((const utf8proc_uint8_t *)x.s, (utf8proc_ssize_t)x.n, &made,
      (utf8proc_option_t)(UTF8PROC_STABLE | options[form]));
  if (n < 0) tp_oom(); /* the text is UTF-8 */
  tp_hold h;
  tp_hold_set(&h, free, made);
  tp_putn(b, (char *)made, (size_t)n);
  tp_hold_end(&h);
  free(made);
  return true;
}
#else
bool tp_utf8proc_open(const tp_tokenizer *t, tp_error *err) {
  return tp_text_fail(t, err,
      "tempo was built without utf8proc (Debian: apt-get install libutf8proc-dev, then build)");
}
static bool is_mark(int32_t c) { return false; }
static int32_t lower_of(int32_t c) { return c; }
bool tp_is_word(int32_t c) {
  return c > 127 || c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}
static bool put_form(tp_buf *b, tp_chars x, int form) { return false; }
#endif

/* ---- SentencePiece's map of characters: a double array of prefixes, then texts behind them ----
 */

static uint32_t word_at(tp_chars map, size_t i) {
  uint32_t w = 0;
  if (i < map.n / 4) memcpy(&w, map.s + 4 * i, 4);
  return w;
}

/* the double array and the texts behind it */
static tp_chars map_parts(tp_chars map, tp_chars *texts) {
  uint32_t n = map.n >= 4 ? word_at(map, 0) : 0;
  *texts = (tp_chars){ map.s + 4 + n, map.n - 4 - n };
  return (tp_chars){ map.s + 4, n };
}

bool tp_charsmap_ok(tp_chars map) {
  return !map.n || (map.n >= 4 && word_at(map, 0) <= map.n - 4 && !map.s[map.n - 1]);
}

/* The longest prefix of x in the map and what it becomes; false: there is none. */
static bool map_prefix(tp_chars map, tp_chars x, size_t *used, tp_chars *to) {
  tp_chars texts, units = map.n ? map_parts(map, &texts) : map;
  if (!units.n) return false;
  uint32_t unit = word_at(units, 0), at = unit >> 10 << ((unit & 512) >> 6), value = UINT32_MAX;
  for (size_t k = 0; k < x.n && x.s[k]; k++) {
    at ^= (unsigned char)x.s[k];
    unit = word_at(units, at);
    if ((unit & (1u << 31 | 255)) != (unsigned char)x.s[k]) break;
    at ^= unit >> 10 << ((unit & 512) >> 6);
    if (!(unit & 256)) continue;
    value = word_at(units, at) & ~(1u << 31);
    *used = k + 1;
  }
  if (value >= texts.n) return false;
  *to = tp_chars_of(texts.s + value);
  return true;
}

/* The next part of x as SentencePiece's normaliser gives it. */
static tp_chars next_part(const tp_tokenizer *t, const tp_norm *s, tp_chars x, size_t *used) {
  tp_chars to;
  if (t->user.value.n && tp_trie_match(&t->user, x, used) >= 0) return (tp_chars){ x.s, *used };
  if (map_prefix(s->charsmap, x, used, &to)) return to;
  tp_utf8(x, used);
  return (tp_chars){ x.s, *used };
}

/* Maps characters, then makes "▁" of spaces, one in front; with `merge` of runs one, at the ends
 * none. */
static void put_pieces(const tp_tokenizer *t, const tp_norm *s, tp_buf *b, tp_chars x) {
  bool begun = !s->merge, space = s->merge; /* space: the latest was one */
  size_t used;
  if (begun && x.n && s->dummy) tp_puts(b, TP_BAR);
  for (; x.n; x.s += used, x.n -= used) {
    tp_chars y = next_part(t, s, x, &used);
    for (size_t k = 0; k < y.n; k++) {
      bool is = y.s[k] == ' ';
      if (is && space) continue;
      if (!is && !begun && s->dummy) tp_puts(b, TP_BAR);
      begun |= !is;
      if (is) tp_puts(b, TP_BAR);
      else tp_putn(b, y.s + k, 1);
      space = is && s->merge;
    }
  }
  while (s->merge && b->n >= 3 && !memcmp(b->s + b->n - 3, TP_BAR, 3)) b->n -= 3;
}

/* ---- steps ---- */

static void put_mapped(tp_buf *b, tp_chars x, const tp_norm *s) { /* character by character */
  for (size_t len; x.n; x.s += len, x.n -= len) {
    int32_t c = tp_utf8(x, &len), to = s->kind == TP_NORM_LOWER ? lower_of(c) : c;
    if (s->kind == TP_NORM_MARKS && is_mark(c)) continue;
    if (to == c) tp_putn(b, x.s, len);
    else tp_put_utf8(b, to);
    if (c == 0x130 && to != c) tp_put_utf8(b, 0x307); /* the one that becomes two */
  }
}

static void put_forms(tp_buf *b, tp_chars x, int form) {
  bool valid;
  for (size_t n; x.n; x.s += n, x.n -= n) {
    n = tp_utf8_run(x, &valid);
    if (valid) put_form(b, (tp_chars){ x.s, n }, form);
    else tp_putn(b, x.s, n);
  }
}

static bool put_matches(tp_encoding *e, tp_buf *b, tp_chars x, const tp_norm *s) {
  size_t done = 0, from = 0, lo, hi, len;
  int found = 0;
  while (from <= x.n && (found = tp_pattern_find(e, s->re, x, from, &lo, &hi)) > 0) {
    tp_putn(b, x.s + done, lo - done);
    tp_putn(b, s->to.s, s->to.n);
    from = done = hi;
    if (hi > lo) continue;
    if (hi == x.n) break;
    tp_utf8((tp_chars){ x.s + hi, x.n - hi }, &len);
    from = hi + len;
  }
  tp_putn(b, x.s + done, x.n - done);
  return found >= 0;
}

static const char *find_chars(tp_chars x, tp_chars y) {
  while (x.n >= y.n) {
    const char *p = memchr(x.s, *y.s, x.n - y.n + 1);
    if (!p || !memcmp(p, y.s, y.n)) return p;
    x.n -= (size_t)(p + 1 - x.s);
    x.s = p + 1;
  }
  return NULL;
}

static bool put_replacement(tp_encoding *e, tp_buf *b, tp_chars x, const tp_norm *s) {
  bool valid;
  if (!s->re) {
    const char *p;
    while ((p = s->from.n ? find_chars(x, s->from) : NULL)) {
      size_t n = (size_t)(p - x.s);
      tp_putn(b, x.s, n);
      tp_putn(b, s->to.s, s->to.n);
      x = (tp_chars){ p + s->from.n, x.n - n - s->from.n };
    }
    tp_putn(b, x.s, x.n);
    return true;
  }
  for (size_t n; x.n; x.s += n, x.n -= n) {
    n = tp_utf8_run(x, &valid);
    if (!valid) tp_putn(b, x.s, n);
    else if (!put_matches(e, b, (tp_chars){ x.s, n }, s)) return false;
  }
  return true;
}

/* how many bytes of white space x ends with */
static size_t space_behind(tp_chars x) {
  size_t n = 0, len;
  while (n < x.n) {
    size_t back = 1;
    while (back < 4 && n + back < x.n && (x.s[x.n - n - back] & 0xc0) == 0x80) back++;
    if (!tp_is_space(tp_utf8((tp_chars){ x.s + x.n - n - back, back }, &len)) || len != back) break;
    n += back;
  }
  return n;
}

static size_t space_before(tp_chars x) {
  size_t n = 0, len;
  while (n < x.n && tp_is_space(tp_utf8((tp_chars){ x.s + n, x.n - n }, &len))) n += len;
  return n;
}

static bool normal_step(tp_encoding *e, const tp_norm *s, tp_buf *b, tp_chars x) {
  size_t l, r;
  switch (s->kind) {
  case TP_NORM_FORM: put_forms(b, x, s->form); break;
  case TP_NORM_PREPEND:
    if (x.n) tp_putn(b, s->to.s, s->to.n);
    tp_putn(b, x.s, x.n);
    break;
  case TP_NORM_REPLACE: return put_replacement(e, b, x, s);
  case TP_NORM_LOWER:
  case TP_NORM_MARKS: put_mapped(b, x, s); break;
  case TP_NORM_STRIP:
    l = s->left ? space_before(x) : 0;
    r = s->right && l < x.n ? space_behind(x) : 0;
    tp_putn(b, x.s + l, x.n - l - r);
    break;
  case TP_NORM_PIECES: put_pieces(e->t, s, b, x); break;
  }
  return true;
}

bool tp_normal(tp_encoding *e, tp_chars x, tp_chars *out) {
  *out = x;
  for (int k = 0; k < e->t->norm.n; k++) {
    tp_buf *b = &e->norm[k & 1];
    b->n = 0;
    tp_puts(b, "");
    if (!normal_step(e, &e->t->norm.v[k], b, *out)) return false;
    if (b->n > TP_MAXTEXT)
      return tp_fail(e->err, TP_E_MEMORY, TP_NOWHERE, "memory: a text grows beyond 1 GiB");
    *out = (tp_chars){ b->s, b->n };
  }
  return true;
}
