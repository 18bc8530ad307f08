/* bpe: a word's ids by pair merging. Symbols are the word's bytes or characters; the pair with the
 * least rank, the leftmost of equals, becomes one symbol until no pair may. Offers wait in a heap;
 * one is stale if a neighbour has grown since, which its length tells. n symbols take n log n. */
#include "text/priv.h"

static void heap_up(tp_merge_offer *h, size_t i, tp_merge_offer x) {
  for (size_t up; i && h[up = (i - 1) / 2].at > x.at; i = up) h[i] = h[up];
  h[i] = x;
}

static void heap_push(tp_encoding *e, tp_merge_offer x) {
  size_t need = (e->w.nh + 1) * sizeof x;
  if (e->w.nh == e->w.caph) {
    e->heap.n = e->w.nh * sizeof x;
    tp_buf *b = &e->heap;
    size_t cap = TP_MAX(2 * need, 1024);
    char *s = tp_realloc(b->s, cap);
    if (!s) tp_oom();
    b->s = s;
    b->cap = cap;
    e->w.h = (void *)s;
    e->w.caph = cap / sizeof x;
  }
  heap_up(e->w.h, e->w.nh++, x);
}

static tp_merge_offer heap_pop(tp_encoding *e) {
  tp_merge_offer *h = e->w.h, top = h[0], x = h[--e->w.nh];
  size_t i = 0, n = e->w.nh;
  for (size_t k; (k = 2 * i + 1) < n; i = k) {
    k += k + 1 < n && h[k + 1].at < h[k].at;
    if (h[k].at >= x.at) break;
    h[i] = h[k];
  }
  h[i] = x;
  return top;
}

/* A piece that stands out keeps so. */
static bool frozen(const tp_tokenizer *t, int id) {
  return t->user.value.n && id >= 0 && t->piece[id].kind == TP_PIECE_USER;
}

/* Offers to join the symbol at byte l with the next. */
static void offer(tp_encoding *e, int l) {
  tp_tokenizer *t = e->t;
  tp_symbol *s = e->w.s;
  int r = s[l].next;
  if (r >= (int)e->w.x.n) return;
  int end = s[r].next;
  uint32_t n = (uint32_t)(end - l), rank;
  int id;
  if (t->model == TP_MODEL_MERGES) {
    if (s[l].id < 0 || s[r].id < 0) return;
    const tp_map_pair *p = tp_pairs_get(&t->merge, tp_pair_key(s[l].id, s[r].id));
    if (!p) return;
    rank = p->a;
    id = (int)p->b;
  } else {
    if (frozen(t, s[l].id) || frozen(t, s[r].id)) return;
    id = tp_piece_find(t, (tp_chars){ e->w.x.s + l, n });
    if (id < 0) return;
    rank = t->piece[id].rank;
    if (t->cut) t->cut[id] = (uint32_t)(r - l);
  }
  heap_push(e, (tp_merge_offer){ (uint64_t)rank << 32 | (uint32_t)l, n, id });
}

static void merge_all(tp_encoding *e) {
  tp_symbol *s = e->w.s;
  int n = (int)e->w.x.n;
  e->w.nh = 0;
  for (int l = 0; l < n; l = s[l].next) offer(e, l);
  while (e->w.nh) {
    tp_merge_offer x = heap_pop(e);
    int l = (int)(uint32_t)x.at, r = s[l].next;
    if (!r || r >= n || s[r].next - l != (int)x.n) continue; /* stale */
    s[l].next = s[r].next;
    s[l].id = x.id;
    if (s[r].next < n) s[s[r].next].prev = l;
    s[r].next = 0;
    if (s[l].prev >= 0) offer(e, s[l].prev);
    offer(e, l);
  }
}

/* One symbol for each byte, or character, or piece that stands out. */
static void make_symbols(tp_encoding *e) {
  const tp_tokenizer *t = e->t;
  tp_chars x = e->w.x;
  tp_symbol *s = e->w.s;
  for (size_t k = 0, len = 1, prev = 0; k < x.n; prev = k, k += len) {
    tp_chars rest = { x.s + k, x.n - k };
    int id = t->user.value.n ? tp_trie_match(&t->user, rest, &len) : -1;
    if (id < 0 && t->byte_level) {
      len = 1;
      id = t->byte[(unsigned char)x.s[k]];
    } else if (id < 0) {
      tp_utf8(rest, &len);
      id = tp_piece_find(t, (tp_chars){ rest.s, len });
    }
    s[k] = (tp_symbol){ k ? (int32_t)prev : -1, (int32_t)(k + len), id };
  }
}

void tp_put_unknown(tp_encoding *e, tp_chars x) {
  const tp_tokenizer *t = e->t;
  bool bytes = t->byte_fallback;
  for (size_t k = 0; k < x.n && bytes; k++) bytes = t->byte[(unsigned char)x.s[k]] >= 0;
  for (size_t k = 0; k < x.n && bytes; k++) tp_put_id(e, t->byte[(unsigned char)x.s[k]]);
  if (bytes || t->unk < 0 || (t->fuse_unk && e->last_unk == e->out->n)) return;
  tp_put_id(e, t->unk);
  e->last_unk = e->out->n;
}

/* A piece that is unused is what it was made of. */
static void put_symbol(tp_encoding *e, tp_chars x, int id) {
  const tp_tokenizer *t = e->t;
  if (id >= 0 && t->piece[id].kind == TP_PIECE_UNUSED && t->cut[id] && t->cut[id] < x.n) {
    tp_chars l = { x.s, t->cut[id] }, r = { x.s + l.n, x.n - l.n };
    put_symbol(e, l, tp_piece_find(t, l));
    put_symbol(e, r, tp_piece_find(t, r));
  } else if (id >= 0) tp_put_id(e, id);
  else tp_put_unknown(e, x);
}

static void by_merging(tp_encoding *e, tp_chars x) {
  e->room.n = 0;
  size_t need = x.n * sizeof(tp_symbol);
  if (e->room.cap < need) {
    char *s = tp_realloc(e->room.s, TP_MAX(need, 4096));
    if (!s) tp_oom();
    e->room.s = s;
    e->room.cap = TP_MAX(need, 4096);
  }
  e->w.x = x;
  e->w.s = (void *)e->room.s;
  make_symbols(e);
  merge_all(e);
  for (int l = 0; l < (int)x.n; l = e->w.s[l].next) {
    tp_chars y = { x.s + l, (size_t)(e->w.s[l].next - l) };
    put_symbol(e, y, e->w.s[l].id);
  }
}

/* Most words are pieces, and most such words become that piece: one look-up, remembered. */
void tp_by_pairs(tp_encoding *e, tp_chars x) {
  tp_tokenizer *t = e->t;
  int id = tp_piece_find(t, x), n = e->out->n;
  bool normal = id >= 0 && t->piece[id].kind != TP_PIECE_CONTROL;
  if (normal && (t->ignore_merges || t->piece[id].whole == 1)) {
    tp_put_id(e, id);
    return;
  }
  by_merging(e, x);
  if (id < 0 || t->piece[id].whole) return;
  t->piece[id].whole = e->out->n == n + 1 && e->out->v[n] == id ? 1 : 2;
}
