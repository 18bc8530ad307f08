/* tokenizer: one text to ids. Added tokens are found in the text as it comes; what lies between is
 * rewritten; other added tokens are found there; runs of UTF-8 go through the steps that cut, and
 * broken bytes are words at once. */
#include "text/priv.h"

static void drop_encoding(void *at) {
  tp_encoding *e = at;
  tp_buf_free(&e->norm[0]);
  tp_buf_free(&e->norm[1]);
  for (int k = 0; k < TP_MAXSTEPS; k++) tp_buf_free(&e->step[k]);
  tp_buf_free(&e->room);
  tp_buf_free(&e->heap);
}

void tp_encoding_begin(tp_encoding *e, size_t bytes) {
  e->work = 1000000000 + 64 * (int64_t)bytes;
  tp_hold_set(&e->hold, drop_encoding, e);
}

void tp_encoding_end(tp_encoding *e) {
  tp_hold_end(&e->hold);
  drop_encoding(e);
}

/* A text without added tokens, rewritten. */
static bool put_piece(tp_encoding *e, tp_chars x, bool first) {
  bool valid;
  for (size_t n; x.n; x.s += n, x.n -= n) {
    n = tp_utf8_run(x, &valid);
    tp_chars run = { x.s, n };
    bool ok = valid ? tp_split_run(e, 0, run, first) : tp_word(e, run, false);
    if (!ok) return false;
    first = false;
  }
  return true;
}

static bool word_behind(tp_chars x) { /* does x end with a character of a word? */
  size_t len, n = 1;
  while (n < 4 && n < x.n && (x.s[x.n - n] & 0xc0) == 0x80) n++;
  return x.n && tp_is_word(tp_utf8((tp_chars){ x.s + x.n - n, n }, &len));
}

static bool stands_alone(tp_chars x, size_t lo, size_t hi) {
  size_t len;
  return !word_behind((tp_chars){ x.s, lo }) &&
      (hi == x.n || !tp_is_word(tp_utf8((tp_chars){ x.s + hi, x.n - hi }, &len)));
}

/* Takes the white space at its sides along. */
static void widen(const tp_added *a, tp_chars x, size_t done, size_t *lo, size_t *hi) {
  size_t len, back;
  while (a->lstrip && *lo > done) {
    for (back = 1; back < 4 && *lo - back > done && (x.s[*lo - back] & 0xc0) == 0x80;) back++;
    if (!tp_is_space(tp_utf8((tp_chars){ x.s + *lo - back, back }, &len)) || len != back) break;
    *lo -= back;
  }
  while (a->rstrip && *hi < x.n && tp_is_space(tp_utf8((tp_chars){ x.s + *hi, x.n - *hi }, &len)))
    *hi += len;
}

/* Calls `between` for what lies between the tokens of the trie. */
static bool put_added(tp_encoding *e, const tp_trie *trie, tp_chars x, bool first,
    bool (*between)(tp_encoding *e, tp_chars x, bool first)) {
  size_t done = 0, at = 0, n;
  while (trie->value.n && at < x.n) {
    int k = tp_trie_match(trie, (tp_chars){ x.s + at, x.n - at }, &n);
    const tp_added *a = k < 0 ? NULL : &e->t->added.v[k];
    bool hidden = a && a->special && !e->special;
    if (!a || hidden || (a->single && !stands_alone(x, at, at + n))) {
      at += a ? n : 1;
      continue;
    }
    size_t lo = at, hi = at + n;
    widen(a, x, done, &lo, &hi);
    if (lo > done && !between(e, (tp_chars){ x.s + done, lo - done }, first && !done)) return false;
    tp_put_id(e, a->id);
    done = at = hi;
  }
  return done == x.n || between(e, (tp_chars){ x.s + done, x.n - done }, first && !done);
}

static bool put_segment(tp_encoding *e, tp_chars x, bool first) {
  tp_chars y;
  return tp_normal(e, x, &y) && put_added(e, &e->t->late, y, first, put_piece);
}

bool tp_tokenizer_encode(
    tp_tokenizer *t, tp_chars text, bool special, tp_arena *a, tp_ids *out, tp_error *err) {
  if (text.n > TP_MAXTEXT)
    return tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "memory: encode: a text has at most 1 GiB");
  tp_encoding *e = TP_NEW(a, tp_encoding);
  *e = (tp_encoding){ .t = t, .a = a, .out = out, .special = special, .err = err };
  tp_encoding_begin(e, text.n);
  bool ok = put_added(e, &t->early, text, true, put_segment);
  tp_encoding_end(e);
  return ok;
}

tp_tokenizer_facts tp_tokenizer_look(const tp_tokenizer *t) {
  return (tp_tokenizer_facts){ t->n, t->bos, t->eos, t->eot, t->unk, t->add_bos, t->chat };
}

bool tp_tokenizer_piece(const tp_tokenizer *t, int64_t id, bool special, tp_chars *out) {
  if (id < 0 || id >= t->n || t->piece[id].kind == TP_PIECE_NONE) return false;
  const tp_vocab_piece *p = &t->piece[id];
  bool hidden = !special && (p->kind == TP_PIECE_CONTROL || p->kind == TP_PIECE_UNKNOWN);
  *out = hidden ? (tp_chars){ "", 0 } : p->out;
  return true;
}

bool tp_tokenizer_strips(const tp_tokenizer *t) { return t->strip; }

int tp_tokenizer_find(const tp_tokenizer *t, tp_chars text) {
  int id = tp_piece_find(t, text);
  for (int k = 0; k < t->n && id < 0; k++)
    if (t->piece[k].kind && tp_chars_same(t->piece[k].out, text)) id = k;
  return id;
}
