/* inflate: DEFLATE (RFC 1951) from memory to memory, and the CRC-32 that goes with it. No read is beyond `in`, no write beyond `out`, whatever the
 * bytes are; codes that say too much are refused, codes that say too little where they are met. */
#include "io/io.h"

enum { MAXBITS = 15, LITERALS = 288, DISTANCES = 32 };

typedef struct {
  const uint8_t *in, *end;
  uint64_t bits;                /* read, not used yet: the lowest first */
  int have;
  bool bad;                     /* more was asked for than there is */
  uint8_t *out;
  size_t size, at;
} stream;

/* A code: the next `max` bits say symbol << 4 | length; 0: no symbol begins so. */
typedef struct { int max; uint16_t entry[1 << MAXBITS]; } table;

/* ---- bits ---- */

static void refill(stream *s) {
  while (s->have <= 56 && s->in < s->end) {
    s->bits |= (uint64_t)*s->in++ << s->have;
    s->have += 8;
  }
}

static unsigned take(stream *s, int n) {                /* n <= 16 */
  refill(s);
  if (s->have < n) { s->bad = true; return 0; }
  unsigned v = (unsigned)(s->bits & ((1u << n) - 1));
  s->bits >>= n;
  s->have -= n;
  return v;
}

static int symbol(stream *s, const table *t) {          /* -1: none */
  refill(s);
  unsigned e = t->entry[s->bits & ((1u << t->max) - 1)];
  int n = e & 15;
  if (n == 0 || n > s->have) return -1;
  s->bits >>= n;
  s->have -= n;
  return (int)(e >> 4);
}

/* ---- codes ---- */

static unsigned reversed(unsigned code, int n) {
  unsigned r = 0;
  for (; n > 0; n--, code >>= 1) r = r << 1 | (code & 1);
  return r;
}

static bool make_table(table *t, const uint8_t *length, int n) {
  int count[MAXBITS + 1] = { 0 }, left = 1;
  unsigned next[MAXBITS + 2] = { 0 };
  t->max = 1;
  for (int k = 0; k < n; k++) count[length[k]]++;
  count[0] = 0;
  for (int b = 1; b <= MAXBITS; b++) {
    left = 2 * left - count[b];
    if (left < 0) return false;
    if (count[b]) t->max = b;
    next[b + 1] = (next[b] + (unsigned)count[b]) << 1;
  }
  memset(t->entry, 0, sizeof *t->entry << t->max);
  for (int k = 0; k < n; k++) {
    int b = length[k];
    if (b == 0) continue;
    for (unsigned i = reversed(next[b]++, b); i < 1u << t->max; i += 1u << b) t->entry[i] = (uint16_t)(k << 4 | b);
  }
  return true;
}

static bool fixed_codes(table *lit, table *dist) {
  uint8_t length[LITERALS];
  for (int k = 0; k < LITERALS; k++) length[k] = k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8;
  make_table(lit, length, LITERALS);
  memset(length, 5, DISTANCES);
  return make_table(dist, length, DISTANCES);
}

/* The lengths of both codes come as one run, themselves coded: 16 repeats the last, 17 and 18 are runs of 0. */
static bool read_lengths(stream *s, const table *code, uint8_t *length, int n) {
  static const struct { int bits, least; } run[3] = { { 2, 3 }, { 3, 3 }, { 7, 11 } };
  for (int k = 0; k < n;) {
    int v = symbol(s, code);
    if (v < 0 || (v == 16 && k == 0)) return false;
    if (v < 16) { length[k++] = (uint8_t)v; continue; }
    int times = run[v - 16].least + (int)take(s, run[v - 16].bits);
    if (s->bad || times > n - k) return false;
    memset(length + k, v == 16 ? length[k - 1] : 0, (size_t)times);
    k += times;
  }
  return true;
}

static bool dynamic_codes(stream *s, table *lit, table *dist) {
  static const uint8_t order[19] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
  uint8_t length[LITERALS + DISTANCES] = { 0 };
  int nlit = 257 + (int)take(s, 5), ndist = 1 + (int)take(s, 5), ncode = 4 + (int)take(s, 4);
  for (int k = 0; k < ncode; k++) length[order[k]] = (uint8_t)take(s, 3);
  if (s->bad || nlit > LITERALS || !make_table(lit, length, 19)) return false;
  return read_lengths(s, lit, length, nlit + ndist) && make_table(dist, length + nlit, ndist) && make_table(lit, length, nlit);
}

/* ---- blocks ---- */

static bool stored(stream *s) {
  take(s, s->have & 7);
  unsigned n = take(s, 16), inverse = take(s, 16);
  if (s->bad || n != (~inverse & 0xffff) || n > s->size - s->at) return false;
  for (; n && s->have; n--, s->bits >>= 8, s->have -= 8) s->out[s->at++] = (uint8_t)s->bits;
  if (n > (size_t)(s->end - s->in)) return false;
  if (n) memcpy(s->out + s->at, s->in, n);
  s->in += n;
  s->at += n;
  return true;
}

static bool copy_back(stream *s, size_t n, size_t distance) {
  if (s->bad || distance > s->at || n > s->size - s->at) return false;
  uint8_t *to = s->out + s->at;
  if (distance >= n) memcpy(to, to - distance, n);
  else for (size_t k = 0; k < n; k++) to[k] = to[k - distance];         /* what is copied may be what was just written */
  s->at += n;
  return true;
}

static bool coded(stream *s, const table *lit, const table *dist) {
  static const uint16_t len_base[29] = { 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
                                         227, 258 };
  static const uint8_t len_bits[29] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0 };
  static const uint16_t dist_base[30] = { 1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097,
                                          6145, 8193, 12289, 16385, 24577 };
  for (;;) {
    int v = symbol(s, lit);
    if (v < 0 || v > 285) return false;
    if (v == 256) return true;
    if (v < 256) {
      if (s->at == s->size) return false;
      s->out[s->at++] = (uint8_t)v;
      continue;
    }
    size_t n = len_base[v - 257] + take(s, len_bits[v - 257]);
    int d = symbol(s, dist);
    if (d < 0 || d > 29) return false;
    size_t distance = dist_base[d] + take(s, d < 4 ? 0 : d / 2 - 1);
    if (!copy_back(s, n, distance)) return false;
  }
}

bool tp_inflate(const uint8_t *in, size_t n, uint8_t *out, size_t size) {
  stream s = { .in = in, .end = in + n, .out = out, .size = size };
  table lit, dist;
  bool ok = true, last = false;
  while (ok && !last) {
    last = take(&s, 1);
    switch (take(&s, 2)) {
      case 0: ok = stored(&s); break;
      case 1: ok = fixed_codes(&lit, &dist) && coded(&s, &lit, &dist); break;
      case 2: ok = dynamic_codes(&s, &lit, &dist) && coded(&s, &lit, &dist); break;
      default: ok = false;
    }
    ok &= !s.bad;
  }
  return ok && s.at == size;
}

/* ---- CRC-32 ---- */

void tp_crc_init(tp_crc *c) {
  for (uint32_t k = 0; k < 256; k++) {
    uint32_t r = k;
    for (int b = 0; b < 8; b++) r = r >> 1 ^ (r & 1 ? 0xedb88320u : 0);
    c->t[0][k] = r;
  }
  for (int j = 1; j < 8; j++)
    for (int k = 0; k < 256; k++) c->t[j][k] = c->t[j - 1][k] >> 8 ^ c->t[0][c->t[j - 1][k] & 255];
}

uint32_t tp_crc_add(const tp_crc *c, uint32_t crc, const void *p, size_t n) {
  const uint8_t *s = p;
  crc = ~crc;
  for (; n >= 8; n -= 8, s += 8) {
    crc ^= s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | (uint32_t)s[3] << 24;
    crc = c->t[7][crc & 255] ^ c->t[6][crc >> 8 & 255] ^ c->t[5][crc >> 16 & 255] ^ c->t[4][crc >> 24]
        ^ c->t[3][s[4]] ^ c->t[2][s[5]] ^ c->t[1][s[6]] ^ c->t[0][s[7]];
  }
  for (; n; n--, s++) crc = crc >> 8 ^ c->t[0][(crc ^ *s) & 255];
  return ~crc;
}
