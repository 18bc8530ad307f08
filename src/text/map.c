/* map: pairs of numbers to pairs of numbers, and tries over them. A trie's edge is looked up in one
 * table for all nodes: a probe a byte, whatever the number of children. */
#include "text/priv.h"

/* the place of a key, or the free one where it would be */
static size_t place_of(const tp_pairs *m, uint64_t key) {
  uint64_t h = key * 0x9e3779b97f4a7c15u;
  size_t i = (size_t)(h ^ h >> 29) & (m->cap - 1);
  while (m->v[i].key != key && m->v[i].key != UINT64_MAX) i = (i + 1) & (m->cap - 1);
  return i;
}

const tp_map_pair *tp_pairs_get(const tp_pairs *m, uint64_t key) {
  if (!m->cap) return NULL;
  const tp_map_pair *p = &m->v[place_of(m, key)];
  return p->key == key ? p : NULL;
}

static void pairs_grow(tp_pairs *m) {
  tp_pairs old = *m;
  m->cap = old.cap ? old.cap * 2 : 64;
  m->v = TP_NEWN(m->a, tp_map_pair, m->cap);
  for (size_t i = 0; i < m->cap; i++) m->v[i].key = UINT64_MAX;
  for (size_t i = 0; i < old.cap; i++)
    if (old.v[i].key != UINT64_MAX) m->v[place_of(m, old.v[i].key)] = old.v[i];
}

void tp_pairs_put(tp_pairs *m, uint64_t key, uint32_t a, uint32_t b) {
  if (2 * m->n >= m->cap) pairs_grow(m);
  tp_map_pair *p = &m->v[place_of(m, key)];
  if (p->key == key) return;
  *p = (tp_map_pair){ key, a, b };
  m->n++;
}

void tp_trie_put(tp_arena *a, tp_trie *t, tp_chars text, int value) {
  int node = 0;
  t->edge.a = a;
  if (!t->value.n) TP_PUSH(a, &t->value, -1);
  for (size_t k = 0; k < text.n; k++) {
    t->starts[(unsigned char)text.s[0]] = true;
    int next = tp_trie_step(t, node, text.s[k]);
    if (next < 0) {
      next = t->value.n;
      TP_PUSH(a, &t->value, -1);
      tp_pairs_put(
          &t->edge, (uint64_t)(uint32_t)node << 8 | (unsigned char)text.s[k], (uint32_t)next, 0);
    }
    node = next;
  }
  if (t->value.v[node] < 0) t->value.v[node] = value;
}

int tp_trie_match(const tp_trie *t, tp_chars x, size_t *n) {
  int found = -1, node = 0;
  for (size_t k = 0; k < x.n && (node = tp_trie_step(t, node, x.s[k])) > 0; k++) {
    if (t->value.v[node] < 0) continue;
    found = t->value.v[node];
    *n = k + 1;
  }
  return found;
}
