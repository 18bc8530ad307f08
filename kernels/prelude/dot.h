/* Dot products of neighbours, as fold.h says. After it and math.h. TP_AT: where operands lie,
 * for languages in which a pointer says so. */
#ifndef TP_AT
#define TP_AT
#endif
#define TP_DOT(sfx, T, LANES) \
  TP_FN T tp_dot_##sfx(TP_AT const T *x, TP_AT const T *y, int64_t k, int rows) { \
    T r[TP_DOT_ALONE * LANES]; \
    int64_t p = 0; \
    const int lanes = rows * LANES; \
    for (int l = 0; l < lanes; l++) r[l] = 0; \
    for (; p + lanes <= k; p += lanes) \
      for (int l = 0; l < lanes; l++) r[l] = tp_mad_##sfx(x[p + l], y[p + l], r[l]); \
    for (int l = 0; p < k && l < lanes; l++) \
      r[l] = l < k - p ? tp_mad_##sfx(x[p + l], y[p + l], r[l]) : r[l] + 0; \
    for (int h = lanes / 2; h; h /= 2) \
      for (int l = 0; l < h; l++) r[l] += r[l + h]; \
    return r[0]; \
  }
TP_DOT(f32, float, 16)
TP_DOT(f64, double, 8)
