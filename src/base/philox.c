/* Philox 4x32-10 (Salmon et al. 2011; a test has Random123's known answers) and numbers made of its
 * words: functions of key and element. Word 2e is the low half of a 64-bit value. */
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
  uint32_t ctr[4] = { (uint32_t)coord, (uint32_t)((uint64_t)coord >> 32), (uint32_t)ordinal,
    0x74656d70 },
           out[4];
  tp_philox4x32(ctr, k.k, out);
  return (tp_philox_key){ { out[0], out[1] } };
}

tp_philox_key tp_philox_op(uint64_t seed, uint64_t ophash) {
  tp_philox_key k = { { (uint32_t)seed, (uint32_t)(seed >> 32) } };
  return tp_philox_coord(k, 0, (int64_t)ophash);
}

static void philox_block(tp_philox_key k, uint64_t block, uint32_t out[4]) {
  uint32_t ctr[4] = { (uint32_t)block, (uint32_t)(block >> 32), 0, 0 };
  tp_philox4x32(ctr, k.k, out);
}

uint32_t tp_philox_word(tp_philox_key k, int64_t element) {
  uint32_t out[4];
  philox_block(k, (uint64_t)element / 4, out);
  return out[element & 3];
}

/* always in one block */
static void word_pair(tp_philox_key k, int64_t e, uint32_t w[2]) {
  uint32_t out[4];
  philox_block(k, (uint64_t)e / 2, out);
  w[0] = out[(e & 1) * 2];
  w[1] = out[(e & 1) * 2 + 1];
}

static uint64_t word64(tp_philox_key k, int64_t e) {
  uint32_t w[2];
  word_pair(k, e, w);
  return (uint64_t)w[1] << 32 | w[0];
}

float tp_philox_uniform(tp_philox_key k, int64_t e) {
  return (float)(tp_philox_word(k, e) >> 8) * 0x1p-24f;
}
float tp_uniform_cut(tp_dtype d, float u) {
  float steps = d == TP_F16 ? 0x1p11f : d == TP_BF16 ? 0x1p8f : 0x1p24f;
  return (float)(int32_t)(u * steps) / steps;
}

double tp_philox_uniform64(tp_philox_key k, int64_t e) {
  return (double)(word64(k, e) >> 11) * 0x1p-53;
}

/* fdlibm's ln in (0, 1]; docs/random.md promises its bits: no operation may be contracted. */
static double exact_log(double u) {
  static const double L[7] = { 1.479819860511658591e-01, 1.531383769920937332e-01,
    1.818357216161805012e-01, 2.222219843214978396e-01, 2.857142874366239149e-01,
    3.999999999940941908e-01, 6.666666666666735130e-01 };
  int n;
  double m = frexp(u, &n), p = 0;
  if (m < 0.70710678118654752440) {
    m *= 2;
    n--;
  }
  double f = m - 1, s = f / (2 + f), z = s * s, h = 0.5 * f * f;
  for (int i = 0; i < 7; i++) p = p * z + L[i];
  return n * 6.93147180369123816490e-01 -
      ((h - (s * (h + p * z) + n * 1.90821492927058770002e-10)) - f);
}

/* cos of j / 2^24 turns: q quarters and r, at most half a quarter; as above. */
static double exact_cos(uint32_t j) {
  static const double S[6] = { 1.58962301576546568060e-10, -2.50507477628578072866e-08,
    2.75573136213857245213e-06, -1.98412698295895385996e-04, 8.33333333332211858878e-03,
    -1.66666666666666307295e-01 };
  static const double C[6] = { -1.13585365213876817300e-11, 2.08757008419747316778e-09,
    -2.75573141792967388112e-07, 2.48015872888517045348e-05, -1.38888888888730564116e-03,
    4.16666666666665929218e-02 };
  uint32_t q = (j + (1u << 21)) >> 22;
  double r = ((double)j - (double)q * 0x1p22) * (1.57079632679489661923 * 0x1p-22), z = r * r,
         s = 0, c = 0;
  for (int i = 0; i < 6; i++) {
    s = s * z + S[i];
    c = c * z + C[i];
  }
  double sine = s * z * r + r, cosine = c * (z * z) + (1 - 0.5 * z);
  return q % 4 == 0 ? cosine : q % 4 == 1 ? -sine : q % 4 == 2 ? -cosine : sine;
}

double tp_philox_normal(tp_philox_key k, int64_t e) {
  uint32_t w[2];
  word_pair(k, e, w);
  return sqrt(-2 * exact_log(((w[0] >> 8) + 1) * 0x1p-24)) * exact_cos(w[1] >> 8);
}

int64_t tp_philox_randint(tp_philox_key k, int64_t e, int64_t lo, int64_t hi) {
  uint64_t width = (uint64_t)hi - (uint64_t)lo;
  return hi <= lo ? lo : (int64_t)((uint64_t)lo + word64(k, e) % width);
}
