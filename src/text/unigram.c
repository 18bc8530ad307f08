/* unigram: the cut of a word into pieces with the greatest sum of scores, by Viterbi's algorithm:
 * from each character on, all pieces that begin there improve the ways to where they end. A
 * character that is no piece itself is unknown, ten below the least score. If sums are equal, the
 * first found stays, as in SentencePiece. */
#include "text/priv.h"

typedef struct {
  double score;  /* of the best way from the start to here */
  int32_t id;    /* its last piece; -1: unknown */
  uint32_t from; /* where that piece begins; UINT32_MAX: no way ends here */
} tp_best_way;

static void improve(
    const tp_tokenizer *t, tp_best_way *v, size_t from, size_t to, int id, double score) {
  score += v[from].score;
  if (t->single) score = (float)score;
  if (v[to].from == UINT32_MAX || score > v[to].score)
    v[to] = (tp_best_way){ score, id, (uint32_t)from };
}

/* Pieces that stand out beat all others: scores are logarithms. */
static double score_of(const tp_tokenizer *t, int id) {
  const tp_vocab_piece *p = &t->piece[id];
  return p->kind != TP_PIECE_USER ? p->score : t->single ? (float)-0.1 : 0;
}

static void all_from(const tp_tokenizer *t, tp_best_way *v, tp_chars x, size_t from) {
  bool known = false;
  size_t len;
  int node = 0;
  tp_utf8((tp_chars){ x.s + from, x.n - from }, &len);
  for (size_t k = from; k < x.n && (node = tp_trie_step(&t->unigram, node, x.s[k])) > 0; k++) {
    int id = t->unigram.value.v[node];
    if (id < 0) continue;
    improve(t, v, from, k + 1, id, score_of(t, id));
    known |= k + 1 - from == len;
  }
  if (!known) improve(t, v, from, from + len, -1, t->unk_score);
}

void tp_unigram(tp_encoding *e, tp_chars x) {
  const tp_tokenizer *t = e->t;
  size_t need = (x.n + 1) * sizeof(tp_best_way);
  if (e->room.cap < need) {
    char *s = tp_realloc(e->room.s, need);
    if (!s) tp_oom();
    e->room.s = s;
    e->room.cap = need;
  }
  tp_best_way *v = (void *)e->room.s;
  for (size_t k = 0; k <= x.n; k++) v[k] = (tp_best_way){ 0, -1, k ? UINT32_MAX : 0 };
  for (size_t k = 0; k < x.n; k++)
    if (v[k].from != UINT32_MAX) all_from(t, v, x, k);
  int n = 0;
  for (size_t at = x.n; at; at = v[at].from) n++;
  uint32_t *end = TP_NEWN(e->a, uint32_t, n);
  for (size_t at = x.n, k = (size_t)n; at; at = v[at].from) end[--k] = (uint32_t)at;
  for (int k = 0; k < n; k++) {
    const tp_best_way *w = &v[end[k]];
    if (w->id >= 0) tp_put_id(e, w->id);
    else tp_put_unknown(e, (tp_chars){ x.s + w->from, end[k] - w->from });
  }
}
