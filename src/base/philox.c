/* Philox 4x32-10 (Salmon et al. 2011; the test holds it to Random123's known answers) and the numbers made of its words. Where a 64-bit value is made of
 * the words 2e and 2e + 1, word 2e is the low half. Nothing here has a state: a word is a function of key and element. */
#include "base/base.h"
#include <math.h>

void tp_philox4x32(const uint32_t ctr[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = ctr[0], c1 = ctr[1], c2 = ctr[2], c3 = ctr[3], k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

tp_philox_key tp_philox_coord(tp_philox_key k, int ordinal, int64_t coord) {
  uint32_t ctr[4] = { (uint32_t)coord, (uint32_t)((uint64_t)coord >> 32), (uint32_t)ordinal, 0x74656d70 }, out[4];
  tp_philox4x32(ctr, k.k, out);
  return (tp_philox_key){ { out[0], out[1] } };
}

tp_philox_key tp_philox_op(uint64_t seed, uint64_t ophash) {
  tp_philox_key k = { { (uint32_t)seed, (uint32_t)(seed >> 32) } };
  return tp_philox_coord(k, 0, (int64_t)ophash);
}

uint32_t tp_philox_word(tp_philox_key k, int64_t element) {
  uint64_t block = (uint64_t)element / 4;
  uint32_t ctr[4] = { (uint32_t)block, (uint32_t)(block >> 32), 0, 0 }, out[4];
  tp_philox4x32(ctr, k.k, out);
  return out[element & 3];
}

/* Words 2e and 2e + 1, which always lie in one block. */
static void word_pair(tp_philox_key k, int64_t e, uint32_t w[2]) {
  uint64_t block = (uint64_t)e / 2;
  uint32_t ctr[4] = { (uint32_t)block, (uint32_t)(block >> 32), 0, 0 }, out[4];
  tp_philox4x32(ctr, k.k, out);
  w[0] = out[(e & 1) * 2];
  w[1] = out[(e & 1) * 2 + 1];
}

static uint64_t word64(tp_philox_key k, int64_t e) {
  uint32_t w[2];
  word_pair(k, e, w);
  return (uint64_t)w[1] << 32 | w[0];
}

float tp_philox_uniform(tp_philox_key k, int64_t e) { return (float)(tp_philox_word(k, e) >> 8) * 0x1p-24f; }
float tp_uniform_cut(tp_dtype d, float u) {
  float steps = d == TP_F16 ? 0x1p11f : d == TP_BF16 ? 0x1p8f : 0x1p24f;
  return (float)(int32_t)(u * steps) / steps;
}

double tp_philox_uniform64(tp_philox_key k, int64_t e) { return (double)(word64(k, e) >> 11) * 0x1p-53; }

double tp_philox_normal(tp_philox_key k, int64_t e) {
  uint32_t w[2];
  word_pair(k, e, w);
  double u1 = ((w[0] >> 8) + 1) * 0x1p-24, u2 = (w[1] >> 8) * 0x1p-24;
  return sqrt(-2 * log(u1)) * cos(2 * 3.14159265358979323846 * u2);
}

int64_t tp_philox_randint(tp_philox_key k, int64_t e, int64_t lo, int64_t hi) {
  uint64_t width = (uint64_t)hi - (uint64_t)lo;
  return hi <= lo ? lo : (int64_t)((uint64_t)lo + word64(k, e) % width);
}
