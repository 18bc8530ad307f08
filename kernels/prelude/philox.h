/* Philox 4x32-10 and the numbers made of its words (docs/random.md): the same bits everywhere.
 * After math.h. */

/* Words of a counter, of which the lower 32 bits count: 64 bits wide where compilers multiply
 * vectors of them by one instruction. */
#if defined(__clang__) && !defined(__OPENCL_VERSION__) || defined(__AVX512DQ__)
typedef uint64_t tp_word;
#else
typedef uint32_t tp_word;
#endif
TP_FN void tp_philox_round(tp_word c[4], uint32_t k0, uint32_t k1) {
  uint64_t p = (uint64_t)0xD2511F53u * (c[0] & 0xffffffffu),
           q = (uint64_t)0xCD9E8D57u * (c[2] & 0xffffffffu);
  c[0] = (tp_word)(q >> 32) ^ c[1] ^ k0;
  c[1] = (tp_word)q;
  c[2] = (tp_word)(p >> 32) ^ c[3] ^ k1;
  c[3] = (tp_word)p;
}

/* In place: a counter becomes its four words. Without a loop, so that a loop over points becomes
 * one of vectors. */
#define TP_PHILOX_ROUND(i) tp_philox_round(c, k0 + i * 0x9E3779B9u, k1 + i * 0xBB67AE85u)
TP_FN void tp_philox_block(tp_word c[4], uint32_t k0, uint32_t k1) {
  TP_PHILOX_ROUND(0u), TP_PHILOX_ROUND(1u), TP_PHILOX_ROUND(2u), TP_PHILOX_ROUND(3u);
  TP_PHILOX_ROUND(4u), TP_PHILOX_ROUND(5u), TP_PHILOX_ROUND(6u), TP_PHILOX_ROUND(7u);
  TP_PHILOX_ROUND(8u), TP_PHILOX_ROUND(9u);
}

/* A key with one more coordinate in it, and block number n of a key's words (docs/random.md).
 * Compilers take long over a block of Philox: each of these functions stands once. */
TP_ONCE void tp_philox_next(uint32_t key[2], int ordinal, int64_t coord) {
  tp_word c[4];
  c[0] = (uint32_t)coord, c[1] = (uint32_t)((uint64_t)coord >> 32), c[2] = (uint32_t)ordinal,
  c[3] = 0x74656d70;
  tp_philox_block(c, key[0], key[1]);
  key[0] = (uint32_t)c[0], key[1] = (uint32_t)c[1];
}
TP_ONCE void tp_philox_words(tp_word c[4], const uint32_t key[2], int64_t n) {
  c[0] = (uint32_t)n, c[1] = (uint32_t)((uint64_t)n >> 32), c[2] = c[3] = 0;
  tp_philox_block(c, key[0], key[1]);
}

/* The same of n points, a multiple of 16. Rows of m: the keys, which begin as one that all share,
 * then words. Coordinates are from, from + step, .., or given. */
#define TP_PHILOX_MANY 64
TP_ONCE void tp_philox_begin_many(uint32_t (*m)[TP_PHILOX_MANY], const uint32_t key[2], int64_t n) {
  int64_t k;
  for (k = 0; k < n; k++) m[0][k] = key[0], m[1][k] = key[1];
}
TP_FN void tp_philox_next_at(
    uint32_t (*m)[TP_PHILOX_MANY], int64_t k, int ordinal, uint64_t coord) {
  tp_word c[4];
  c[0] = (uint32_t)coord, c[1] = (uint32_t)(coord >> 32), c[2] = (uint32_t)ordinal,
  c[3] = 0x74656d70;
  tp_philox_block(c, m[0][k], m[1][k]);
  m[0][k] = (uint32_t)c[0], m[1][k] = (uint32_t)c[1];
}
TP_ONCE void tp_philox_next_many(
    uint32_t (*m)[TP_PHILOX_MANY], int ordinal, int64_t from, int64_t step, int64_t n) {
  int64_t k;
  for (k = 0; k < n; k++) tp_philox_next_at(m, k, ordinal, (uint64_t)(from + k * step));
}
TP_ONCE void tp_philox_given_many(
    uint32_t (*m)[TP_PHILOX_MANY], int ordinal, const int64_t *coord, int64_t n) {
  int64_t k;
  for (k = 0; k < n; k++) tp_philox_next_at(m, k, ordinal, (uint64_t)coord[k]);
}
TP_ONCE void tp_philox_words_many(uint32_t (*m)[TP_PHILOX_MANY], int block, int64_t n) {
  uint32_t(*w)[TP_PHILOX_MANY] = m + 2 + 4 * block;
  int64_t k;
  for (k = 0; k < n; k++) {
    tp_word c[4];
    c[0] = (uint32_t)block, c[1] = c[2] = c[3] = 0;
    tp_philox_block(c, m[0][k], m[1][k]);
    w[0][k] = (uint32_t)c[0], w[1][k] = (uint32_t)c[1];
    w[2][k] = (uint32_t)c[2], w[3][k] = (uint32_t)c[3];
  }
}

/* Elements from, from + 1, .. of a draw of uniform f64. */
TP_ONCE void tp_uniforms_f64(double *u, const uint32_t key[2], int64_t from, int64_t n) {
  tp_word c[4];
  int64_t k;
  for (k = 0; k < n; k++) {
    const int64_t e = from + k, q = e % 2 * 2;
    if (k == 0 || q == 0) tp_philox_words(c, key, e / 2);
    u[k] = (double)(int64_t)(((uint64_t)(uint32_t)c[q + 1] << 32 | (uint32_t)c[q]) >> 11) * 0x1p-53;
  }
}

TP_FN float tp_uniform_of(uint32_t w) { return (float)(int32_t)(w >> 8) * 0x1p-24f; }

/* sqrt(-2 ln u1) cos(2 pi u2), u1 = 2^n (1 + f). No tp_mad: its bits are a promise without TP_FMA
 * too. A quarter turn is 2^22 units of u2, exactly. */
TP_FN double tp_normal_of(uint32_t w1, uint32_t w2) {
  double u1 = (double)(int32_t)((w1 >> 8) + 1) * 0x1p-24;
  uint64_t e = tp_exponent_f64(u1);
  double n = tp_exponent_of_f64(e), f = tp_of_f64(tp_bits_f64(u1) - e) - 1, s = f / (2 + f),
         z = s * s, h = 0.5 * f * f, p = 1.479819860511658591e-01;
  p = p * z + 1.531383769920937332e-01;
  p = p * z + 1.818357216161805012e-01;
  p = p * z + 2.222219843214978396e-01;
  p = p * z + 2.857142874366239149e-01;
  p = p * z + 3.999999999940941908e-01;
  p = p * z + 6.666666666666735130e-01;
  double ln = n * 6.93147180369123816490e-01 -
      ((h - (s * (h + p * z) + n * 1.90821492927058770002e-10)) - f);
  /* quarters rounded to nearest */
  uint32_t turn = (w2 >> 8) + (1u << 21), q = turn >> 22;
  double r = (double)((int32_t)(turn & 0x3fffff) - (1 << 21)) * (1.57079632679489661923 * 0x1p-22),
         v, sine = 1.58962301576546568060e-10, cosine = -1.13585365213876817300e-11;
  z = r * r;
  sine = sine * z - 2.50507477628578072866e-08;
  sine = sine * z + 2.75573136213857245213e-06;
  sine = sine * z - 1.98412698295895385996e-04;
  sine = sine * z + 8.33333333332211858878e-03;
  sine = sine * z - 1.66666666666666307295e-01;
  cosine = cosine * z + 2.08757008419747316778e-09;
  cosine = cosine * z - 2.75573141792967388112e-07;
  cosine = cosine * z + 2.48015872888517045348e-05;
  cosine = cosine * z - 1.38888888888730564116e-03;
  cosine = cosine * z + 4.16666666666665929218e-02;
  v = q & 1 ? sine * z * r + r : cosine * (z * z) + (1 - 0.5 * z);
  return tp_sqrt_f64(-2 * ln) * ((q + 1) & 2 ? -v : v);
}
