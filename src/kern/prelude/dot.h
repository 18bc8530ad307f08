/* Dot products of neighbours, as fold.h says. After it and math.h. */
#define TP_DOT(sfx, T, LANES) \
  TP_FN T tp_dot_##sfx(const T *x, const T *y, int64_t k) { \
    T r[4][LANES], sum; \
    int64_t p = 0; \
    for (int q = 0; q < 4; q++) for (int l = 0; l < LANES; l++) r[q][l] = 0; \
    for (; p + 4 * LANES <= k; p += 4 * LANES) \
      for (int q = 0; q < 4; q++) for (int l = 0; l < LANES; l++) r[q][l] = tp_mad_##sfx(x[p + q * LANES + l], y[p + q * LANES + l], r[q][l]); \
    for (; p + LANES <= k; p += LANES) \
      for (int l = 0; l < LANES; l++) r[0][l] = tp_mad_##sfx(x[p + l], y[p + l], r[0][l]); \
    for (int l = 0; l < LANES; l++) r[0][l] = (r[0][l] + r[1][l]) + (r[2][l] + r[3][l]); \
    for (int h = LANES / 2; h; h /= 2) for (int l = 0; l < h; l++) r[0][l] += r[0][l + h]; \
    sum = r[0][0]; \
    for (; p < k; p++) sum = tp_mad_##sfx(x[p], y[p], sum); \
    return sum; \
  }
TP_DOT(f32, float, 16)
TP_DOT(f64, double, 8)
