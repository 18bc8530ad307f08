/* Philox 4x32-10 and the numbers made of its words (docs/random.md): the same bits everywhere.
 * After math.h. */

TP_FN void tp_philox_round(uint32_t c[4], uint32_t k0, uint32_t k1) {
  uint64_t p = (uint64_t)0xD2511F53u * c[0], q = (uint64_t)0xCD9E8D57u * c[2];
  c[0] = (uint32_t)(q >> 32) ^ c[1] ^ k0;
  c[1] = (uint32_t)q;
  c[2] = (uint32_t)(p >> 32) ^ c[3] ^ k1;
  c[3] = (uint32_t)p;
}

/* In place: a counter becomes its four words. */
TP_FN void tp_philox_block(uint32_t c[4], uint32_t k0, uint32_t k1) {
  int i;
  for (i = 0; i < 10; i++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) tp_philox_round(c, k0, k1);
}

/* A key with one more coordinate in it (docs/random.md). */
#define TP_PHILOX_COORD 0x74656d70
TP_FN void tp_philox_next(uint32_t key[2], int ordinal, int64_t coord) {
  uint32_t c[4];
  c[0] = (uint32_t)coord, c[1] = (uint32_t)((uint64_t)coord >> 32), c[2] = (uint32_t)ordinal,
  c[3] = TP_PHILOX_COORD;
  tp_philox_block(c, key[0], key[1]);
  key[0] = c[0], key[1] = c[1];
}

/* A counter and a key in each lane. */
#define TP_PHILOX_LANES 16
TP_ONCE void tp_philox_many(uint32_t c[4][TP_PHILOX_LANES], uint32_t key[2][TP_PHILOX_LANES]) {
  int i, k;
  uint32_t k0 = 0, k1 = 0;
  for (i = 0; i < 10; i++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
    for (k = 0; k < TP_PHILOX_LANES; k++) {
      uint64_t p = (uint64_t)0xD2511F53u * c[0][k], q = (uint64_t)0xCD9E8D57u * c[2][k];
      c[0][k] = (uint32_t)(q >> 32) ^ c[1][k] ^ (key[0][k] + k0);
      c[1][k] = (uint32_t)q;
      c[2][k] = (uint32_t)(p >> 32) ^ c[3][k] ^ (key[1][k] + k1);
      c[3][k] = (uint32_t)p;
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
