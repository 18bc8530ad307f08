/* Blocks into and out of memory. */
/* f16 to and from f32, whole vectors by the processor's own instructions where it has them; both give how many elements they did. (AVX512-BF16 flushes
 * subnormals, so bf16 is made of integer instructions everywhere; these vectorise.) */
#if VBYTES == 64
KI int64_t f16_in(float *o, const uint16_t *a, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) _mm512_storeu_ps(o + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(a + i))));
  return i;
}
KI int64_t f16_out(uint16_t *o, const float *a, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) _mm256_storeu_si256((__m256i *)(o + i), _mm512_cvtps_ph(_mm512_loadu_ps(a + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  return i;
}
#elif VBYTES == 32
KI int64_t f16_in(float *o, const uint16_t *a, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(o + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(a + i))));
  return i;
}
KI int64_t f16_out(uint16_t *o, const float *a, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm_storeu_si128((__m128i *)(o + i), _mm256_cvtps_ph(_mm256_loadu_ps(a + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
#else
KI int64_t f16_in(float *o, const uint16_t *a, int64_t n) { return 0; }
KI int64_t f16_out(uint16_t *o, const float *a, int64_t n) { return 0; }
#endif
KI int64_t none_in(void *o, const void *a, int64_t n) { return 0; }

/* ---- rows x n elements of which those of a column are neighbours: o[i][j] = a[j][i] ---- */
#define AS_IS(x) (x)
#define TURN(sfx, T) \
  typedef T v4_##sfx __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias)); \
  static void turn_##sfx(T *restrict o, int64_t orow, const T *restrict a, int64_t arow, int64_t rows, int64_t n) { \
    int64_t i, j = 0; \
    for (; j + 4 <= n; j += 4) { \
      for (i = 0; i + 4 <= rows; i += 4) { \
        const T *p = a + j * arow + i; \
        T *q = o + i * orow + j; \
        v4_##sfx x = *(const v4_##sfx *)p, y = *(const v4_##sfx *)(p + arow); \
        v4_##sfx z = *(const v4_##sfx *)(p + 2 * arow), w = *(const v4_##sfx *)(p + 3 * arow); \
        v4_##sfx lo = __builtin_shufflevector(x, y, 0, 4, 1, 5), hi = __builtin_shufflevector(x, y, 2, 6, 3, 7); \
        v4_##sfx under = __builtin_shufflevector(z, w, 0, 4, 1, 5), over = __builtin_shufflevector(z, w, 2, 6, 3, 7); \
        *(v4_##sfx *)q = __builtin_shufflevector(lo, under, 0, 1, 4, 5); \
        *(v4_##sfx *)(q + orow) = __builtin_shufflevector(lo, under, 2, 3, 6, 7); \
        *(v4_##sfx *)(q + 2 * orow) = __builtin_shufflevector(hi, over, 0, 1, 4, 5); \
        *(v4_##sfx *)(q + 3 * orow) = __builtin_shufflevector(hi, over, 2, 3, 6, 7); \
      } \
      for (; i < rows; i++) \
        for (int k = 0; k < 4; k++) o[i * orow + j + k] = a[(j + k) * arow + i]; \
    } \
    for (; j < n; j++) \
      for (i = 0; i < rows; i++) o[i * orow + j] = a[j * arow + i]; \
  }
#define TURN_EACH(name, S, T, get) \
  static void name(T *restrict o, int64_t orow, const S *restrict a, int64_t arow, int64_t rows, int64_t n) { \
    for (int64_t j = 0; j < n; j++) \
      for (int64_t i = 0; i < rows; i++) o[i * orow + j] = get(a[j * arow + i]); \
  }

/* ---- rows x n elements into and out of blocks ---- */
#define LOADS(sfx, S, T, get, vectors, turn) \
  static void load_##sfx(void *o_, const void *a_, int64_t row, int64_t step, int64_t rows, int64_t n) { \
    T *restrict o = o_; \
    if (row == 1 && step > 1) { turn(o, n, a_, step, rows, n); return; } \
    for (int64_t i = 0; i < rows; i++, o += n) { \
      const S *restrict a = (const S *)a_ + i * row; \
      if (step == 1) for (int64_t j = vectors(o, a, n); j < n; j++) o[j] = get(a[j]); \
      else if (step == 0) { T v = n ? get(*a) : 0; for (int64_t j = 0; j < n; j++) o[j] = v; } \
      else for (int64_t j = 0; j < n; j++) o[j] = get(a[j * step]); \
    } }
#define STORES(sfx, S, T, put, vectors, turn) \
  static void store_##sfx(void *o_, int64_t row, int64_t step, const void *a_, int64_t rows, int64_t n) { \
    const T *restrict a = a_; \
    if (row == 1 && step > 1) { turn(o_, step, a, n, n, rows); return; } \
    for (int64_t i = 0; i < rows; i++, a += n) { \
      S *restrict o = (S *)o_ + i * row; \
      if (step == 1) for (int64_t j = vectors(o, a, n); j < n; j++) o[j] = put(a[j]); \
      else for (int64_t j = 0; j < n; j++) o[j * step] = put(a[j]); \
    } }
#define MOVES(sfx, T) TURN(sfx, T) LOADS(sfx, T, T, AS_IS, none_in, turn_##sfx) STORES(sfx, T, T, AS_IS, none_in, turn_##sfx)
#define HALVES(sfx, in, out, vectors_in, vectors_out) \
  TURN_EACH(turn_in_##sfx, uint16_t, float, in) TURN_EACH(turn_out_##sfx, float, uint16_t, out) \
  LOADS(sfx, uint16_t, float, in, vectors_in, turn_in_##sfx) STORES(sfx, uint16_t, float, out, vectors_out, turn_out_##sfx)
MOVES(1, uint8_t)
MOVES(2, uint16_t)
MOVES(4, uint32_t)
MOVES(8, uint64_t)
HALVES(f16, tp_load_f16, tp_store_f16, f16_in, f16_out)
HALVES(bf16, tp_load_bf16, tp_store_bf16, none_in, none_in)

static int round_f16(void *o_, const void *a_, const void *b_, const void *c_, int64_t n) {
  float *o = o_;
  const float *a = a_;
  uint16_t h[PART];
  (void)b_; (void)c_;
  for (int64_t at = 0; at < n; at += PART) {
    int64_t m = n - at < PART ? n - at : PART;
    for (int64_t i = f16_out(h, a + at, m); i < m; i++) h[i] = tp_store_f16(a[at + i]);
    for (int64_t i = f16_in(o + at, h, m); i < m; i++) o[at + i] = tp_load_f16(h[i]);
  }
  return TP_K_OK;
}
