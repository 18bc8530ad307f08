/* Hash map from bytes to pointers: chains; doubles when full. Entries live in the arena. */
#include "base/base.h"

typedef struct tp_mapent {
  struct tp_mapent *next;
  uint64_t hash;
  size_t n;
  void *val;
  unsigned char key[];
} tp_mapent;

/* little endian on every machine */
static uint64_t load_le(const unsigned char *p, size_t n) {
  uint64_t w = 0;
  for (size_t i = 0; i < n; i++) w |= (uint64_t)p[i] << (8 * i);
  return w;
}

static uint64_t mix(uint64_t h) { /* finalizer of MurmurHash3 */
  h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
  return h ^ h >> 33;
}

uint64_t tp_hash(const void *p, size_t n, uint64_t seed) {
  const unsigned char *s = p;
  uint64_t h = mix(seed ^ (n * 0x9e3779b97f4a7c15u));
  for (; n >= 8; s += 8, n -= 8) h = mix(h ^ load_le(s, 8)) + 0x9e3779b97f4a7c15u;
  return mix(h ^ load_le(s, n));
}

void tp_hmap_init(tp_hmap *m, tp_arena *a) { *m = (tp_hmap){ .a = a }; }

static tp_mapent *lookup(const tp_hmap *m, const void *key, size_t n, uint64_t hash) {
  if (!m->nslot) return NULL;
  for (tp_mapent *e = m->slot[hash & (uint64_t)(m->nslot - 1)]; e; e = e->next)
    if (e->hash == hash && e->n == n && memcmp(e->key, key, n) == 0) return e;
  return NULL;
}

static void insert(tp_mapent **slot, int nslot, tp_mapent *e) {
  tp_mapent **at = &slot[e->hash & (uint64_t)(nslot - 1)];
  e->next = *at;
  *at = e;
}

static void grow(tp_hmap *m) {
  int nslot = m->nslot ? m->nslot * 2 : 16;
  tp_mapent **slot = TP_NEWN(m->a, tp_mapent *, nslot);
  for (int i = 0; i < m->nslot; i++)
    for (tp_mapent *e = m->slot[i], *next; e; e = next) {
      next = e->next;
      insert(slot, nslot, e);
    }
  m->slot = slot;
  m->nslot = nslot;
}

void *tp_hmap_get(const tp_hmap *m, const void *key, size_t n) {
  tp_mapent *e = lookup(m, key, n, tp_hash(key, n, 0));
  return e ? e->val : NULL;
}

void tp_hmap_set(tp_hmap *m, const void *key, size_t n, const void *value) {
  void *val = (void *)(uintptr_t)value;
  uint64_t hash = tp_hash(key, n, 0);
  tp_mapent *e = lookup(m, key, n, hash);
  if (e) {
    e->val = val;
    return;
  }
  if (m->n >= m->nslot) grow(m);
  e = tp_new_bytes(m->a, sizeof *e + n);
  e->hash = hash;
  e->n = n;
  e->val = val;
  if (n) memcpy(e->key, key, n);
  insert(m->slot, m->nslot, e);
  m->n++;
}
