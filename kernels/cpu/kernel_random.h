/* Philox 4x32-10 over many counters, and the numbers made of its words (docs/random.md). */

typedef uint32_t v_word __attribute__((vector_size(VBYTES)));
typedef uint64_t v_pair __attribute__((vector_size(VBYTES)));
enum { NV = TP_LANES * 4 / VBYTES };
/* Products of the low words of pairs. */
#if VBYTES == 64
#define WIDE(a, b) ((v_pair)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#elif VBYTES == 32
#define WIDE(a, b) ((v_pair)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#else
#define WIDE(a, b) (((a)&0xffffffffu) * (b))
#endif

/* Both halves of the product of each word with m. */
KI void multiply(v_word *hi, v_word *lo, v_word x, uint32_t m) {
  v_pair k = (v_pair){ 0 } + m, even = WIDE((v_pair)x, k), odd = WIDE((v_pair)x >> 32, k);
  *lo = (v_word)((even & 0xffffffffu) | odd << 32);
  *hi = (v_word)(even >> 32 | (odd & 0xffffffff00000000u));
}

typedef struct counters {
  v_word w[4][NV], k[2][NV];
} counters;

KI void philox_rounds(counters *c) {
  for (int round = 0; round < 10; round++)
    for (int i = 0; i < NV; i++) {
      v_word h0, l0, h1, l1;
      multiply(&h0, &l0, c->w[0][i], 0xD2511F53u);
      multiply(&h1, &l1, c->w[2][i], 0xCD9E8D57u);
      c->w[0][i] = h1 ^ c->w[1][i] ^ c->k[0][i];
      c->w[1][i] = l1;
      c->w[2][i] = h0 ^ c->w[3][i] ^ c->k[1][i];
      c->w[3][i] = l0;
      c->k[0][i] += 0x9E3779B9u;
      c->k[1][i] += 0xBB67AE85u;
    }
}

/* A counter and a key in each lane. */
static void philox_lanes(tp_philox_lanes *ctr, const uint32_t key[2][TP_LANES]) {
  counters c;
  memcpy(c.w, ctr->w, sizeof c.w);
  memcpy(c.k, key, sizeof c.k);
  philox_rounds(&c);
  memcpy(ctr->w, c.w, sizeof c.w);
}

/* Neighbouring blocks of one stream. */
static void philox(tp_philox_key key, uint64_t block, int64_t nblock, uint32_t *out) {
  for (int64_t at = 0; at < nblock; at += TP_LANES) {
    counters c;
    uint32_t w[4][TP_LANES] = { { 0 } };
    for (int i = 0; i < TP_LANES; i++) {
      uint64_t ctr = block + (uint64_t)at + (uint64_t)i;
      w[0][i] = (uint32_t)ctr, w[1][i] = (uint32_t)(ctr >> 32);
    }
    memcpy(c.w, w, sizeof c.w);
    for (int i = 0; i < NV; i++)
      c.k[0][i] = (v_word){ 0 } + key.k[0], c.k[1][i] = (v_word){ 0 } + key.k[1];
    philox_rounds(&c);
    memcpy(w, c.w, sizeof c.w);
    int64_t n = nblock - at < TP_LANES ? nblock - at : TP_LANES;
    for (int64_t i = 0; i < n; i++)
      for (int q = 0; q < 4; q++) out[4 * (at + i) + q] = w[q][i];
  }
}

static void uniform(float *o, const uint32_t *w, int64_t n) {
  for (int64_t i = 0; i < n; i++) o[i] = tp_uniform_of(w[i]);
}

static void normal(double *o, const uint32_t *w, int64_t n) {
  for (int64_t i = 0; i < n; i++) o[i] = tp_normal_of(w[2 * i], w[2 * i + 1]);
}
