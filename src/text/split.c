/* split: cuts a text into words by steps, as Hugging Face's pre-tokenizers do. Each piece that a
 * step gives is a text of its own to the next, which sees nothing beyond it: so steps are nested
 * calls, and no list of words is kept. */
#include "text/priv.h"

/* characters that stand for bytes => bytes */
static void word_bytes(tp_encoding *e, tp_chars *x, char *to) {
  size_t k = 0, len;
  for (tp_chars y = *x; y.n; y.s += len, y.n -= len) to[k++] = (char)tp_char_byte(tp_utf8(y, &len));
  *x = (tp_chars){ to, k };
}

bool tp_word(tp_encoding *e, tp_chars x, bool mapped) {
  if (!x.n) return true;
  e->last_unk = -1;
  if (mapped) word_bytes(e, &x, tp_new_bytes(e->a, x.n));
  if (e->t->model == TP_MODEL_UNIGRAM) {
    tp_unigram(e, x);
    return true;
  }
  while (x.n) {
    const char *end = e->t->bars ? tp_bar_behind(x) : x.s + x.n;
    tp_chars word = { x.s, (size_t)(end - x.s) };
    tp_by_pairs(e, word);
    x = (tp_chars){ end, x.n - word.n };
  }
  return true;
}

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
  while (from <= x.n && (found = tp_pattern_find(e, s->re, x, from, &lo, &hi)) > 0) {
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
