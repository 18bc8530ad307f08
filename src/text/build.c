/* build: what readers fill a tokenizer with. */
#include "text/priv.h"
#include <stdlib.h>

/* One request: what is held afterwards is freed if others fail. */
static tp_tokenizer *tokenizer_new(void) {
  tp_arena a;
  tp_arena_init(&a);
  tp_tokenizer *t = TP_NEW(&a, tp_tokenizer);
  t->a = a;
  t->merge.a = &t->a;
  t->bos = t->eos = t->eot = t->unk = -1;
  for (int k = 0; k < 256; k++) t->byte[k] = -1;
  return t;
}

tp_tokenizer *tp_tokenizer_free(tp_tokenizer *t) {
  if (!t) return NULL;
  for (int k = 0; k < t->patterns.n; k++) tp_pattern_free(t->patterns.v[k]);
  tp_arena a = t->a;
  tp_arena_free(&a);
  return NULL;
}

static void drop_tokenizer(void *t) { tp_tokenizer_free(t); }

tp_tokenizer *tp_tokenizer_filled(
    const char *label, tp_tokenizer_fill *fill, const void *from, tp_error *err) {
  tp_hold h;
  tp_tokenizer *t = tokenizer_new();
  tp_hold_set(&h, drop_tokenizer, t);
  t->label = tp_strdup(&t->a, label);
  bool ok = fill(t, from, err);
  tp_hold_end(&h);
  return ok ? t : tp_tokenizer_free(t);
}

bool tp_pieces_room(tp_tokenizer *t, int64_t n, tp_error *err) {
  if (n < 1 || n > 1 << 24)
    return tp_text_fail(t, err, "a vocabulary has 1 .. %d ids, not %lld", 1 << 24, (long long)n);
  t->n = (int)n;
  t->piece = TP_NEWN(&t->a, tp_vocab_piece, n);
  return true;
}

tp_chars tp_chars_dup(tp_tokenizer *t, tp_chars x) {
  return (tp_chars){ x.n ? tp_dup(&t->a, x.s, x.n) : "", x.n };
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* the byte of "<0x0A>", or -1 */
static int byte_named(tp_chars x) {
  if (x.n != 6 || memcmp(x.s, "<0x", 3) || x.s[5] != '>') return -1;
  int hi = hex_digit(x.s[3]), lo = hex_digit(x.s[4]);
  return hi < 0 || lo < 0 ? -1 : 16 * hi + lo;
}

void tp_piece_set(tp_tokenizer *t, int id, tp_chars text, double score, tp_piece_kind kind) {
  tp_vocab_piece *p = &t->piece[id];
  p->text = p->out = tp_chars_dup(t, text);
  p->score = score;
  p->kind = (uint8_t)kind;
  int byte = kind == TP_PIECE_BYTE ? byte_named(text) : -1;
  if (byte < 0) return;
  char c = (char)byte;
  p->out = tp_chars_dup(t, (tp_chars){ &c, 1 });
  t->byte[byte] = id;
}

bool tp_bytes_of(tp_tokenizer *t, tp_chars text, tp_chars *out) {
  char *to = TP_NEWN(&t->a, char, text.n + 1);
  size_t k = 0, len;
  for (*out = text; text.n; text.s += len, text.n -= len) {
    int byte = tp_char_byte(tp_utf8(text, &len));
    if (byte < 0) return false;
    to[k++] = (char)byte;
  }
  *out = (tp_chars){ to, k };
  return true;
}

/* ---- pieces by text ---- */

static uint32_t hash_chars(tp_chars x) {
  uint64_t h = x.n * 0x9e3779b97f4a7c15u, w;
  for (; x.n >= 8; x.s += 8, x.n -= 8) {
    memcpy(&w, x.s, 8);
    h = (h ^ w) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  for (w = 0; x.n; x.n--) w = w << 8 | (unsigned char)x.s[x.n - 1];
  h = (h ^ w) * 0xff51afd7ed558ccdu;
  return (uint32_t)(h ^ h >> 32);
}

int tp_piece_find(const tp_tokenizer *t, tp_chars x) {
  uint32_t h = hash_chars(x);
  if (!t->nslot) return -1;
  for (size_t i = h & (t->nslot - 1); t->slot[i].id1; i = (i + 1) & (t->nslot - 1)) {
    int id = (int)t->slot[i].id1 - 1;
    if (t->slot[i].hash == h && tp_chars_same(t->piece[id].text, x)) return id;
  }
  return -1;
}

static void slot_put(tp_tokenizer *t, int id) {
  uint32_t h = hash_chars(t->piece[id].text);
  size_t i = h & (t->nslot - 1);
  while (t->slot[i].id1) i = (i + 1) & (t->nslot - 1);
  t->slot[i].hash = h;
  t->slot[i].id1 = (uint32_t)id + 1;
}

/* "▁" => " " */
static tp_chars spaces_shown(tp_tokenizer *t, tp_chars x) {
  char *to = TP_NEWN(&t->a, char, x.n + 1);
  size_t k = 0;
  for (size_t i = 0; i < x.n; i++) {
    bool bar = x.n - i > 2 && !memcmp(x.s + i, TP_BAR, 3);
    to[k++] = bar ? ' ' : x.s[i];
    i += bar ? 2 : 0;
  }
  return (tp_chars){ to, k };
}

/* Is it found in words? Special texts never are: a text must not become a control token. */
static bool in_words(const tp_tokenizer *t, const tp_vocab_piece *p) {
  if (!p->text.n) return false;
  return p->kind == TP_PIECE_NORMAL || p->kind == TP_PIECE_USER || p->kind == TP_PIECE_UNUSED;
}

void tp_pieces_done(tp_tokenizer *t, bool spaces) {
  for (t->nslot = 16; t->nslot < 2 * (size_t)t->n; t->nslot *= 2) {}
  t->bars = !t->byte_level;
  t->slot = tp_new_bytes(&t->a, t->nslot * sizeof *t->slot);
  for (int id = 0; id < t->n; id++) {
    tp_vocab_piece *p = &t->piece[id];
    if (!in_words(t, p)) continue;
    if (tp_piece_find(t, p->text) < 0) slot_put(t, id);
    if (spaces) p->out = spaces_shown(t, p->text);
    t->bars &= tp_bar_behind(p->text) == p->text.s + p->text.n;
    if (p->kind == TP_PIECE_UNUSED && !t->cut) t->cut = TP_NEWN(&t->a, uint32_t, t->n);
  }
  t->bars &= tp_piece_find(t, (tp_chars){ TP_BAR, 3 }) >= 0;
  for (int k = 0; k < 256 && t->byte_level; k++)
    t->byte[k] = tp_piece_find(t, (tp_chars){ (char[]){ (char)k }, 1 });
}

bool tp_merge_put(tp_tokenizer *t, tp_chars left, tp_chars right, uint32_t rank) {
  int l = tp_piece_find(t, left), r = tp_piece_find(t, right);
  if (l < 0 || r < 0 || left.n + right.n > TP_MAXRULE) return false;
  char *both = tp_alloc(left.n + right.n);
  if (!both) tp_oom();
  memcpy(both, left.s, left.n);
  memcpy(both + left.n, right.s, right.n);
  int id = tp_piece_find(t, (tp_chars){ both, left.n + right.n });
  tp_free(both);
  if (id >= 0) tp_pairs_put(&t->merge, tp_pair_key(l, r), rank, (uint32_t)id);
  return id >= 0;
}

typedef struct {
  double score;
  int32_t id;
} ranked;

static int by_score(const void *a, const void *b) {
  double x = ((const ranked *)a)->score, y = ((const ranked *)b)->score;
  return x > y ? -1 : x < y;
}

void tp_rank_scores(tp_tokenizer *t) {
  ranked *v = TP_NEWN(&t->a, ranked, t->n);
  for (int id = 0; id < t->n; id++) {
    double s = t->piece[id].score;
    v[id] = (ranked){ s == s ? s : 0, id };
  }
  qsort(v, (size_t)t->n, sizeof *v, by_score);
  uint32_t rank = 0;
  for (int k = 0; k < t->n; k++) {
    if (k && v[k].score != v[k - 1].score) rank++;
    t->piece[v[k].id].rank = rank;
  }
}

bool tp_unigram_done(tp_tokenizer *t, bool all, tp_error *err) {
  double least = 0;
  bool seen = false;
  for (int id = 0; id < t->n; id++) {
    const tp_vocab_piece *p = &t->piece[id];
    double s = p->score;
    if (!(s - s == 0)) return tp_text_fail(t, err, "the score of id %d is not finite", id);
    if (p->kind == TP_PIECE_NORMAL || (all && p->kind != TP_PIECE_NONE)) {
      least = seen ? TP_MIN(least, s) : s;
      seen = true;
    }
    if (!in_words(t, p) || p->kind == TP_PIECE_UNUSED) continue;
    if (p->text.n > TP_MAXENTRY)
      return tp_text_fail(t, err, "piece %d has more than %d bytes", id, TP_MAXENTRY);
    tp_trie_put(&t->a, &t->unigram, p->text, id);
  }
  t->unk_score = t->single ? (float)least - 10.0f : least - 10;
  return true;
}

bool tp_added_put(tp_tokenizer *t, tp_added added, bool late, tp_error *err) {
  if (!added.text.n) return true;
  if (added.text.n > TP_MAXENTRY)
    return tp_text_fail(t, err, "added token %d has more than %d bytes", added.id, TP_MAXENTRY);
  tp_trie_put(&t->a, late ? &t->late : &t->early, added.text, t->added.n);
  TP_PUSH(&t->a, &t->added, added);
  return true;
}
