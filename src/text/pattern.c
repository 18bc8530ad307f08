/* pattern: PCRE2's, opened at run time. Those of tokenizer.json are Oniguruma's, those of tiktoken
 * Rust's: what differs is rewritten (\s and \w, of which PCRE2 has other characters) or refused
 * (&& in a class). A pattern that needs too much work is an error. */
#include "text/priv.h"
#include "os/os.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#if defined(__has_include)
#if __has_include(<pcre2.h>)
#include <pcre2.h>
#define HAS_PCRE2 1
#endif
#endif

#ifdef HAS_PCRE2
#define PCRE2_NAME(f) PCRE2_SUFFIX(pcre2_##f##_)
static struct {
#define F(f) __typeof__(&PCRE2_NAME(f)) f;
#include "text/pcre2.def"
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
#define TEXT_OF(x) #x
#define SYMBOL(x)  TEXT_OF(x)
#define F(f) \
  p = tp_os_symbol(at, SYMBOL(PCRE2_NAME(f))); \
  lib_is_open &= p != NULL; \
  memcpy(&lib.f, &p, sizeof p);
#include "text/pcre2.def"
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
  lib.jit_compile(p->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
  p->data = lib.match_data_create(1, NULL);
  p->context = lib.match_context_create(NULL);
  if (!p->data || !p->context) tp_oom();
  lib.set_heap_limit(p->context, 256 * 1024);
  return p;
}

void tp_pattern_free(tp_pattern *p) {
  lib.match_context_free(p->context);
  lib.match_data_free(p->data);
  lib.code_free(p->code);
}

/* In JIT's stack, else on the heap. */
static int match_once(const tp_pattern *p, tp_chars x, size_t from, bool partial, uint32_t steps) {
  uint32_t options = PCRE2_NO_UTF_CHECK | (partial ? PCRE2_PARTIAL_HARD : 0);
  PCRE2_SPTR s = (PCRE2_SPTR)x.s;
  lib.set_match_limit(p->context, steps);
  int got = lib.match(p->code, s, x.n, from, options, p->data, p->context);
  if (got != PCRE2_ERROR_JIT_STACKLIMIT) return got;
  return lib.match(p->code, s, x.n, from, options | PCRE2_NO_JIT, p->data, p->context);
}

/* A match first sees WINDOW bytes. If it looks at their end, where a text goes on, PCRE2 says so,
 * and the window grows. Growing, and many steps at one place, are paid from e->work, so that no
 * pattern takes more time than in proportion to the text. */
int tp_pattern_find(
    tp_encoding *e, const tp_pattern *p, tp_chars x, size_t from, size_t *lo, size_t *hi) {
  enum { WINDOW = 4096, STEPS = 20000, MOST = 400 * STEPS };
  const PCRE2_SIZE *v = lib.get_ovector_pointer(p->data);
  uint32_t steps = STEPS;
  int got = -1;
  for (size_t window = WINDOW; e->work > 0;) {
    bool all = x.n - from <= window;
    size_t end = all ? x.n : from + window;
    while (!all && (x.s[end] & 0xc0) == 0x80) end--;
    got = match_once(p, (tp_chars){ x.s, end }, from, !all, steps);
    if (got == PCRE2_ERROR_MATCHLIMIT && steps < MOST) e->work -= steps, steps *= 20;
    else if (!all &&
        (got == PCRE2_ERROR_PARTIAL || got == PCRE2_ERROR_NOMATCH || (got >= 0 && v[1] == end)))
      e->work -= (int64_t)(window *= 4);
    else if (got == PCRE2_ERROR_NOMATCH) return 0;
    else break;
  }
  *lo = v[0];
  *hi = v[1];
  if (e->work > 0 && got >= 0 && v[0] >= from && v[1] >= v[0]) return 1;
  tp_text_fail(e->t, e->err, "a pattern needs too much work at byte %zu of a text", from);
  return -1;
}
#else
tp_pattern *tp_pattern_new(
    tp_tokenizer *t, tp_chars source, bool ruby, bool literal, tp_error *err) {
  tp_text_fail(
      t, err, "tempo was built without PCRE2 (Debian: apt-get install libpcre2-dev, then build)");
  return NULL;
}
void tp_pattern_free(tp_pattern *p) {}
int tp_pattern_find(
    tp_encoding *e, const tp_pattern *p, tp_chars x, size_t from, size_t *lo, size_t *hi) {
  return -1;
}
#endif
