/* Philox 4x32-10 over many counters, and the numbers made of its words (docs/random.md). */

KI void philox_rounds(tp_philox_lanes *c, uint32_t *k0, uint32_t *k1) {
  for (int round = 0; round < 10; round++)
    for (int i = 0; i < TP_LANES; i++) {
      uint64_t p0 = (uint64_t)0xD2511F53u * c->w[0][i], p1 = (uint64_t)0xCD9E8D57u * c->w[2][i];
      c->w[0][i] = (uint32_t)(p1 >> 32) ^ c->w[1][i] ^ k0[i];
      c->w[1][i] = (uint32_t)p1;
      c->w[2][i] = (uint32_t)(p0 >> 32) ^ c->w[3][i] ^ k1[i];
      c->w[3][i] = (uint32_t)p0;
      k0[i] += 0x9E3779B9u;
      k1[i] += 0xBB67AE85u;
    }
}

/* A counter and a key in each lane. */
static void philox_lanes(tp_philox_lanes *ctr, const uint32_t key[2][TP_LANES]) {
  uint32_t k0[TP_LANES], k1[TP_LANES];
  memcpy(k0, key[0], sizeof k0);
  memcpy(k1, key[1], sizeof k1);
  tp_philox_lanes c = *ctr;
  philox_rounds(&c, k0, k1);
  *ctr = c;
}

/* Neighbouring blocks of one stream. */
static void philox(tp_philox_key key, uint64_t block, int64_t nblock, uint32_t *out) {
  for (int64_t at = 0; at < nblock; at += TP_LANES) {
    uint32_t k0[TP_LANES], k1[TP_LANES];
    tp_philox_lanes c;
    for (int i = 0; i < TP_LANES; i++) {
      uint64_t ctr = block + (uint64_t)at + (uint64_t)i;
      c.w[0][i] = (uint32_t)ctr, c.w[1][i] = (uint32_t)(ctr >> 32), c.w[2][i] = 0, c.w[3][i] = 0;
      k0[i] = key.k[0], k1[i] = key.k[1];
    }
    philox_rounds(&c, k0, k1);
    int64_t n = nblock - at < TP_LANES ? nblock - at : TP_LANES;
    for (int64_t i = 0; i < n; i++)
      for (int q = 0; q < 4; q++) out[4 * (at + i) + q] = c.w[q][i];
  }
}

static void uniform(float *o, const uint32_t *w, int64_t n) {
  for (int64_t i = 0; i < n; i++) o[i] = (float)(int32_t)(w[i] >> 8) * 0x1p-24f;
}

/* u1 in (0, 1], the angle 2 pi u2: a quarter turn is 2^22 units of u2, exactly. */
static void normal(double *o, const uint32_t *w, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    double u1 = (double)(int32_t)((w[2 * i] >> 8) + 1) * 0x1p-24;
    uint32_t turn = (w[2 * i + 1] >> 8) + (1u << 21);                /* quarters rounded to nearest */
    double r = (double)((int32_t)(turn & 0x3fffff) - (1 << 21)) * (1.57079632679489661923 * 0x1p-22), z = r * r;
    double s = 1.58962301576546568060e-10, c = -1.13585365213876817300e-11;
    s = s * z - 2.50507477628578072866e-08;
    s = s * z + 2.75573136213857245213e-06;
    s = s * z - 1.98412698295895385996e-04;
    s = s * z + 8.33333333332211858878e-03;
    s = s * z - 1.66666666666666307295e-01;
    c = c * z + 2.08757008419747316778e-09;
    c = c * z - 2.75573141792967388112e-07;
    c = c * z + 2.48015872888517045348e-05;
    c = c * z - 1.38888888888730564116e-03;
    c = c * z + 4.16666666666665929218e-02;
    double sine = s * z * r + r, cosine = c * (z * z) + (1 - 0.5 * z);
    uint32_t q = turn >> 22;
    double v = q & 1 ? sine : cosine;
    v = (q + 1) & 2 ? -v : v;
    o[i] = sqrt(-2 * log_d(u1)) * v;
  }
}
