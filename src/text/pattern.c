/* pattern: PCRE2's, opened at run time. Those of tokenizer.json are Oniguruma's, those of tiktoken
 * Rust's: what differs is rewritten (\s and \w, of which PCRE2 has other characters) or refused
 * (&& in a class). A pattern that needs too many steps at one place is an error. */
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
  tp_text_fail(
      t, err, "tempo was built without PCRE2 (Debian: apt-get install libpcre2-dev, then build)");
  return NULL;
}
void tp_pattern_free(tp_pattern *p) {}
int tp_pattern_find(const tp_tokenizer *t, const tp_pattern *p, tp_chars x, size_t from, size_t *lo,
    size_t *hi, tp_error *err) {
  return -1;
}
#endif
