/* read_tiktoken: lines "base64 rank", ranks that are ids. Neighbours become one where their bytes
 * together are in the file, the least rank first. */
#include "text/priv.h"
#include <stdlib.h>

static int digit_of(char c) {
  const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *p = c ? strchr(digits, c) : NULL;
  return p ? (int)(p - digits) : -1;
}

/* Bytes of base64, in an arena; NULL: it is none. */
static char *base64(tp_arena *a, tp_chars x, size_t *n) {
  while (x.n && x.s[x.n - 1] == '=') x.n--;
  char *to = TP_NEWN(a, char, x.n);
  uint32_t bits = 0;
  *n = 0;
  for (size_t k = 0; k < x.n; k++) {
    int d = digit_of(x.s[k]);
    if (d < 0) return NULL;
    bits = bits << 6 | (uint32_t)d;
    if (k % 4) to[(*n)++] = (char)(bits >> (6 - 2 * (k % 4)));
  }
  return to;
}

typedef struct {
  tp_chars text;
  int64_t rank;
} tiktoken_row;

/* The next row behind *at; 1: read; 0: end; -1: it is none. */
static int next_row(tp_tokenizer *t, tp_chars x, size_t *at, tiktoken_row *row) {
  while (*at < x.n && (x.s[*at] == '\n' || x.s[*at] == '\r')) ++*at;
  if (*at == x.n) return 0;
  const char *line = x.s + *at, *end = memchr(line, '\n', x.n - *at);
  size_t n = end ? (size_t)(end - line) : x.n - *at;
  const char *space = memchr(line, ' ', n);
  *at += n;
  if (!space) return -1;
  char *s = base64(&t->a, (tp_chars){ line, (size_t)(space - line) }, &row->text.n);
  row->text.s = s;
  row->rank = 0;
  size_t digits = 0;
  for (const char *p = space + 1; p < line + n && *p >= '0' && *p <= '9' && digits < 9;
       p++, digits++)
    row->rank = 10 * row->rank + (*p - '0');
  return s && row->text.n && digits ? 1 : -1;
}

typedef struct {
  tp_chars bytes;
  const char *pattern;
  int nspecial;
  const tp_special *special;
} tiktoken_file;

static bool read_rows(tp_tokenizer *t, const tiktoken_file *f, tp_error *err) {
  TP_VEC(tiktoken_row) rows = { 0 };
  tiktoken_row row;
  size_t at = 0;
  int64_t most = -1;
  for (int got; (got = next_row(t, f->bytes, &at, &row)); most = TP_MAX(most, row.rank)) {
    if (got < 0)
      return tp_text_fail(
          t, err, "line %d is no row \"base64 rank\" of a tiktoken file", rows.n + 1);
    TP_PUSH(&t->a, &rows, row);
  }
  if (most > 4 * (int64_t)rows.n + TP_MAXRULE)
    return tp_text_fail(t, err, "rank %lld is far beyond %d rows", (long long)most, rows.n);
  for (int k = 0; k < f->nspecial; k++) {
    if (f->special[k].id < 0 || f->special[k].id > 1 << 24)
      return tp_text_fail(t, err, "a special token has the id %lld", (long long)f->special[k].id);
    most = TP_MAX(most, f->special[k].id);
  }
  if (!tp_pieces_room(t, most + 1, err)) return false;
  for (int k = 0; k < rows.n; k++) {
    int id = (int)rows.v[k].rank;
    if (t->piece[id].kind) return tp_text_fail(t, err, "rank %d occurs twice", id);
    tp_piece_set(t, id, rows.v[k].text, 0, TP_PIECE_NORMAL);
    t->piece[id].rank = (uint32_t)id;
  }
  return true;
}

static bool fill_tiktoken(tp_tokenizer *t, const void *file, tp_error *err) {
  const tiktoken_file *f = file;
  t->model = TP_MODEL_TEXTS;
  t->byte_level = t->ignore_merges = true;
  if (!read_rows(t, f, err)) return false;
  tp_split cut = { .kind = TP_STEP_CUT };
  cut.re = tp_pattern_new(t, tp_chars_of(f->pattern), false, false, err);
  if (!cut.re) return false;
  TP_PUSH(&t->a, &t->split, cut);
  for (int k = 0; k < f->nspecial; k++) {
    int id = (int)f->special[k].id;
    tp_piece_set(t, id, f->special[k].text, 0, TP_PIECE_CONTROL);
    tp_added added = { .text = t->piece[id].text, .id = id, .special = true };
    if (!tp_added_put(t, added, false, err)) return false;
  }
  tp_pieces_done(t, false);
  return true;
}

tp_tokenizer *tp_tokenizer_tiktoken(tp_chars bytes, const char *pattern, int nspecial,
    const tp_special *special, const char *label, tp_error *err) {
  tiktoken_file f = { bytes, pattern, nspecial, special };
  return tp_tokenizer_filled(label, fill_tiktoken, &f, err);
}
