/* chars: characters of UTF-8, those that stand for bytes and spaces, and what errors begin with. */
#include "text/priv.h"

bool tp_text_fail(const tp_tokenizer *t, tp_error *err, const char *fmt, ...) {
  char text[512];
  TP_FORMAT(text, fmt);
  return tp_fail(err, TP_E_FILE, TP_NOWHERE, "file: %s: %s", t->label, text);
}

int32_t tp_utf8(tp_chars x, size_t *n) {
  const unsigned char *s = (const unsigned char *)x.s;
  *n = 1;
  if (s[0] < 0x80) return s[0];
  size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
  if (s[0] < 0xc2 || s[0] > 0xf4 || x.n < len) return -1;
  int32_t c = s[0] & (0xff >> (len + 1));
  for (size_t k = 1; k < len; k++) {
    if ((s[k] & 0xc0) != 0x80) return -1;
    c = c << 6 | (s[k] & 0x3f);
  }
  if (c < (len == 2 ? 0x80 : len == 3 ? 0x800 : 0x10000) || c > 0x10ffff || (c >> 11) == 0x1b)
    return -1;
  *n = len;
  return c;
}

static size_t ascii_run(tp_chars x) {
  size_t k = 0;
  for (uint64_t w; k + 8 <= x.n; k += 8) {
    memcpy(&w, x.s + k, 8);
    if (w & 0x8080808080808080u) break;
  }
  return k;
}

size_t tp_utf8_run(tp_chars x, bool *valid) {
  size_t len, k = ascii_run(x);
  *valid = k || tp_utf8(x, &len) >= 0;
  for (; k < x.n; k += len)
    if ((tp_utf8((tp_chars){ x.s + k, x.n - k }, &len) >= 0) != *valid) break;
  return k;
}

void tp_put_utf8(tp_buf *b, int32_t c) {
  char s[4];
  size_t n = 0;
  if (c < 0x80) s[n++] = (char)c;
  else {
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    s[n++] = (char)((0xf0 << (3 - more)) | c >> 6 * more);
    while (more--) s[n++] = (char)(0x80 | (c >> 6 * more & 0x3f));
  }
  tp_putn(b, s, n);
}

/* Bytes that print stand for themselves, the others for U+0100 on, in their order. */
static bool prints(int c) { return (c > 32 && c < 127) || (c > 160 && c != 173 && c < 256); }

int tp_byte_char(int byte) {
  if (prints(byte)) return byte;
  int k = byte < 33 ? byte : byte < 161 ? byte - 127 + 33 : 67;
  return 256 + k;
}

int tp_char_byte(int32_t c) {
  if (c < 0 || c > 256 + 67) return -1;
  if (c < 256) return prints(c) ? c : -1;
  c -= 256;
  return c < 33 ? c : c < 67 ? c - 33 + 127 : 173;
}

bool tp_is_space(int32_t c) {
  return (c >= 9 && c <= 13) || c == 32 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
      (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
      c == 0x3000;
}

const char *tp_bar_behind(tp_chars x) {
  const char *end = x.s + x.n, *p = x.s;
  for (bool bar = true; p < end; p += bar ? 3 : 1) {
    bool before = bar;
    bar = *p == *TP_BAR && end - p > 2 && !memcmp(p, TP_BAR, 3);
    if (bar && !before) break;
  }
  return p;
}
