/* split: cuts a text into words by steps, as Hugging Face's pre-tokenizers do. Each piece that a
 * step gives is a text of its own to the next, which sees nothing beyond it: so steps are nested
 * calls, and no list of words is kept.
 *
 * Patterns are PCRE2's. Those of tokenizer.json are Oniguruma's: what differs is rewritten (\s,
 * which PCRE2 also lets be U+180E) or refused (&& in a class). A pattern that needs too many steps
 * at one place is an error. */
#include "text/priv.h"
#include "os/os.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#if defined(__has_include)
#if __has_include(<pcre2.h>)
#include <pcre2.h>
#define HAS_PCRE2 1
#endif
#endif

/* The cut itself knows no library. */
typedef struct {
  tp_encoding *e;
  int k;
  tp_chars x;
  bool first, have, match; /* have: a piece waits, which was a match or not */
  size_t lo, hi;
} cutting;

static bool cut_flush(cutting *c) {
  bool have = c->have && c->hi > c->lo;
  c->have = false;
  if (!have) return true;
  tp_chars piece = { c->x.s + c->lo, c->hi - c->lo };
  return tp_split_run(c->e, c->k + 1, piece, c->first && !c->lo);
}

/* Takes the next piece: joins it to the one that waits, or lets that go. */
static bool cut_take(cutting *c, size_t lo, size_t hi, bool match) {
  const tp_split *s = &c->e->t->split.v[c->k];
  match ^= s->invert;
  if (s->cut == TP_CUT_REMOVED && match) return cut_flush(c);
  if (lo == hi) return true;
  bool join = c->have;
  switch (s->cut) {
  case TP_CUT_CONTIGUOUS: join &= match == c->match; break;
  case TP_CUT_WITH_PREVIOUS: join &= match && !c->match; break;
  case TP_CUT_WITH_NEXT: join &= !match && c->match; break;
  default: join = false;
  }
  if (!join && !cut_flush(c)) return false;
  if (!join) c->lo = lo;
  c->hi = hi;
  c->match = match;
  return c->have = true;
}

static bool cut_all(tp_encoding *e, int k, tp_chars x, bool first) {
  const tp_split *s = &e->t->split.v[k];
  cutting c = { .e = e, .k = k, .x = x, .first = first };
  size_t done = 0, from = 0, lo, hi, len;
  int found = 0;
  while (from <= x.n && (found = tp_pattern_find(e->t, s->re, x, from, &lo, &hi, e->err)) > 0) {
    if (!cut_take(&c, done, lo, false) || !cut_take(&c, lo, hi, true)) return false;
    from = done = hi;
    if (hi > lo) continue;
    if (hi == x.n) break;
    tp_utf8((tp_chars){ x.s + hi, x.n - hi }, &len);
    from = hi + len;
  }
  return found >= 0 && cut_take(&c, done, x.n, false) && cut_flush(&c);
}

static void put_replaced(tp_buf *b, tp_chars x, tp_chars with) {
  for (const char *p; (p = x.n ? memchr(x.s, ' ', x.n) : NULL);) {
    size_t n = (size_t)(p - x.s);
    tp_putn(b, x.s, n);
    tp_putn(b, with.s, with.n);
    x = (tp_chars){ p + 1, x.n - n - 1 };
  }
  tp_putn(b, x.s, x.n);
}

static bool begins_with(tp_chars x, tp_chars y) { return x.n >= y.n && !memcmp(x.s, y.s, y.n); }

bool tp_split_run(tp_encoding *e, int k, tp_chars x, bool first) {
  if (k == e->t->split.n) return tp_word(e, x, e->t->mapped);
  const tp_split *s = &e->t->split.v[k];
  if (s->kind == TP_STEP_CUT) return cut_all(e, k, x, first);
  tp_buf *b = &e->step[k];
  b->n = 0;
  if (s->kind == TP_STEP_SPACE) {
    if (*x.s == ' ') return tp_split_run(e, k + 1, x, first);
    tp_puts(b, " ");
    tp_putn(b, x.s, x.n);
  } else if (s->kind == TP_STEP_BYTES) {
    for (size_t i = 0; i < x.n; i++) tp_put_utf8(b, tp_byte_char((unsigned char)x.s[i]));
  } else {
    bool front = s->front == TP_FRONT_ALWAYS || (s->front == TP_FRONT_FIRST && first);
    if (front && *x.s != ' ' && !begins_with(x, s->with)) tp_putn(b, s->with.s, s->with.n);
    put_replaced(b, x, s->with);
  }
  return tp_split_run(e, k + 1, (tp_chars){ b->s, b->n }, first);
}

/* ---- patterns ---- */

#ifdef HAS_PCRE2
#define FUNCTIONS(F) \
  F(compile) F(jit_compile) F(match) F(code_free) F(get_error_message) F(get_ovector_pointer) \
  F(match_data_create) F(match_data_free) F(match_context_create) F(match_context_free) \
  F(set_match_limit) F(set_heap_limit)
#define PCRE2_NAME(f) PCRE2_SUFFIX(pcre2_##f##_)
static struct {
#define F(f) __typeof__(&PCRE2_NAME(f)) f;
  FUNCTIONS(F)
#undef F
} lib;
static bool lib_is_open;

struct tp_pattern {
  pcre2_code *code;
  pcre2_match_data *data;
  pcre2_match_context *context;
};

static void open_pcre2(void) {
  static const char *const names[] = { "libpcre2-8.so.0", "libpcre2-8.so", "libpcre2-8.dylib",
    "libpcre2-8-0.dll" };
  void *at = NULL, *p;
  for (size_t i = 0; i < TP_LEN(names) && !at; i++) at = tp_os_open(names[i]);
  if (!at) return;
  lib_is_open = true;
#define TEXT_OF(x)  #x
#define SYMBOL(x)   TEXT_OF(x)
#define F(f) \
  p = tp_os_symbol(at, SYMBOL(PCRE2_NAME(f))); \
  lib_is_open &= p != NULL; \
  memcpy(&lib.f, &p, sizeof p);
  FUNCTIONS(F)
#undef F
}

/* White_Space, for inside a class */
static const char space_class[] = "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}"
                                  "\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";

/* characters of words: Alphabetic, marks, digits, connectors, joiners */
static const char word_class[] = "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200c}\\x{200d}\\x{24b6}-"
                                 "\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}"
                                 "\\x{1f170}-\\x{1f189}";

/* \s and \w => their characters, of which PCRE2 has others. False: it says what PCRE2 cannot. */
static bool put_source(tp_buf *b, tp_chars x) {
  int inside = 0;
  for (size_t k = 0; k < x.n; k++) {
    char c = x.s[k], next = k + 1 < x.n ? x.s[k + 1] : 0;
    const char *set = next == 's' || next == 'S' ? space_class : word_class;
    bool in = next == 's' || next == 'w', out = (next == 'S' || next == 'W') && !inside;
    if (c == '\\' && (in || out)) tp_putf(b, inside ? "%s" : out ? "[^%s]" : "[%s]", set);
    else if (c == '\\' && next) tp_putn(b, x.s + k, 2);
    else {
      if (inside && c == '&' && next == '&') return false;
      if (c == '[' && !inside) inside = 1;
      else if (c == ']' && inside) inside = 0;
      tp_putn(b, &c, 1);
      continue;
    }
    k++;
  }
  return true;
}

static void put_literal(tp_buf *b, tp_chars x) {
  for (size_t k = 0; k < x.n; k++) {
    bool plain = (unsigned char)x.s[k] >= 128 || (x.s[k] >= 'a' && x.s[k] <= 'z');
    if (plain) tp_putn(b, x.s + k, 1);
    else tp_putf(b, "\\x{%x}", (unsigned char)x.s[k]);
  }
}

static pcre2_code *compile(tp_tokenizer *t, tp_chars source, bool ruby, tp_error *err) {
  int why;
  PCRE2_SIZE at;
  PCRE2_UCHAR text[128];
  uint32_t options = PCRE2_UTF | PCRE2_UCP | (ruby ? PCRE2_MULTILINE : PCRE2_DOLLAR_ENDONLY);
  pcre2_code *code = lib.compile((PCRE2_SPTR)source.s, source.n, options, &why, &at, NULL);
  if (code) return code;
  lib.get_error_message(why, text, sizeof text);
  tp_text_fail(t, err, "a pattern is refused: %s", (char *)text);
  return NULL;
}

tp_pattern *tp_pattern_new(
    tp_tokenizer *t, tp_chars source, bool ruby, bool literal, tp_error *err) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  tp_buf b;
  tp_hold h;
  pthread_once(&once, open_pcre2);
  if (!lib_is_open)
    return tp_text_fail(t, err, "it needs libpcre2-8.so.0 (Debian: apt-get install libpcre2-8-0)"),
           NULL;
  if (source.n > TP_MAXRULE)
    return tp_text_fail(t, err, "a pattern has more than %d bytes", TP_MAXRULE), NULL;
  tp_pattern *p = TP_NEW(&t->a, tp_pattern);
  TP_PUSH(&t->a, &t->patterns, p);
  tp_buf_hold(&b, &h);
  tp_puts(&b, "");
  bool ok = literal ? (put_literal(&b, source), true) : put_source(&b, source);
  if (!ok) tp_text_fail(t, err, "a pattern has && in a class, which PCRE2 does not know");
  p->code = ok ? compile(t, (tp_chars){ b.s, b.n }, ruby, err) : NULL;
  tp_buf_drop(&b, &h);
  if (!p->code) return NULL;
  lib.jit_compile(p->code, PCRE2_JIT_COMPLETE);
  p->data = lib.match_data_create(1, NULL);
  p->context = lib.match_context_create(NULL);
  if (!p->data || !p->context) tp_oom();
  lib.set_match_limit(p->context, 20000000);
  lib.set_heap_limit(p->context, 256 * 1024);
  return p;
}

void tp_pattern_free(tp_pattern *p) {
  lib.match_context_free(p->context);
  lib.match_data_free(p->data);
  lib.code_free(p->code);
}

int tp_pattern_find(const tp_tokenizer *t, const tp_pattern *p, tp_chars x, size_t from, size_t *lo,
    size_t *hi, tp_error *err) {
  uint32_t options = PCRE2_NO_UTF_CHECK;
  PCRE2_SPTR s = (PCRE2_SPTR)x.s;
  int got = lib.match(p->code, s, x.n, from, options, p->data, p->context);
  if (got == PCRE2_ERROR_JIT_STACKLIMIT)
    got = lib.match(p->code, s, x.n, from, options | PCRE2_NO_JIT, p->data, p->context);
  if (got == PCRE2_ERROR_NOMATCH) return 0;
  const PCRE2_SIZE *v = lib.get_ovector_pointer(p->data);
  *lo = v[0];
  *hi = v[1];
  if (got >= 0 && v[0] >= from && v[1] >= v[0]) return 1;
  tp_text_fail(t, err, "a pattern needs too much work at byte %zu of a text (%d)", from, got);
  return -1;
}
#else
tp_pattern *tp_pattern_new(
    tp_tokenizer *t, tp_chars source, bool ruby, bool literal, tp_error *err) {
  tp_text_fail(t, err,
      "tempo was built without PCRE2 (Debian: apt-get install libpcre2-dev, then build)");
  return NULL;
}
void tp_pattern_free(tp_pattern *p) {}
int tp_pattern_find(const tp_tokenizer *t, const tp_pattern *p, tp_chars x, size_t from, size_t *lo,
    size_t *hi, tp_error *err) {
  return -1;
}
#endif
