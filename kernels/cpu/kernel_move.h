/* Blocks into and out of memory. */
/* f16 to and from f32: whole vectors by the processor's own instructions, if it has them; both
 * return how many elements they did. (AVX512-BF16 flushes subnormals, so bf16 is made of integer
 * instructions everywhere; these vectorise.) */
#if VBYTES == 64
KI int64_t f16_in(float *o, const uint16_t *a, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(o + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(a + i))));
  return i;
}
KI int64_t f16_out(uint16_t *o, const float *a, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    _mm256_storeu_si256((__m256i *)(o + i),
        _mm512_cvtps_ph(_mm512_loadu_ps(a + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  return i;
}
#elif VBYTES == 32
KI int64_t f16_in(float *o, const uint16_t *a, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(o + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(a + i))));
  return i;
}
KI int64_t f16_out(uint16_t *o, const float *a, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(
        (__m128i *)(o + i), _mm256_cvtps_ph(_mm256_loadu_ps(a + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
#else
KI int64_t f16_in(float *o, const uint16_t *a, int64_t n) { return 0; }
KI int64_t f16_out(uint16_t *o, const float *a, int64_t n) { return 0; }
#endif
KI int64_t none_in(void *o, const void *a, int64_t n) { return 0; }

/* ---- rows x n elements of which those of a column are neighbours: o[i][j] = a[j][i] ----
 *
 * Squares are turned in vectors. For small elements, log2(side) times: lanes k of vectors i and i +
 * side / 2 become neighbours in vector 2 i, upper lanes in 2 i + 1. For 4 bytes: squares of 4 are
 * turned within 128 bits, then the squares change places. */
#define LOWER_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define UPPER_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOWER_8  0, 8, 1, 9, 2, 10, 3, 11
#define UPPER_8  4, 12, 5, 13, 6, 14, 7, 15
#define LOWER_4  0, 4, 1, 5
#define UPPER_4  2, 6, 3, 7
#define SQUARE(sfx, T, side) \
  typedef T v##side##_##sfx \
      __attribute__((vector_size(side * sizeof(T)), aligned(sizeof(T)), may_alias)); \
  KI void square##side##_##sfx(T *o, int64_t orow, const T *a, int64_t arow) { \
    v##side##_##sfx x[2][side]; \
    int now = 0; \
    for (int i = 0; i < side; i++, a += arow) x[0][i] = *(const v##side##_##sfx *)a; \
    for (int step = 1; step < side; step *= 2, now = !now) \
      for (int i = 0; i < side / 2; i++) { \
        x[!now][2 * i] = __builtin_shufflevector(x[now][i], x[now][i + side / 2], LOWER_##side); \
        x[!now][2 * i + 1] = \
            __builtin_shufflevector(x[now][i], x[now][i + side / 2], UPPER_##side); \
      } \
    for (int i = 0; i < side; i++, o += orow) *(v##side##_##sfx *)o = x[now][i]; \
  }
SQUARE(1, uint8_t, 4)
SQUARE(1, uint8_t, 16)
SQUARE(2, uint16_t, 4)
SQUARE(2, uint16_t, 8)
SQUARE(4, uint32_t, 4)
SQUARE(8, uint64_t, 4)
#if VBYTES < 32
enum { SIDE = 4 };
#define square_wide square4_4
#else
enum { SIDE = VBYTES / 4 };
#if VBYTES == 64
typedef __m512 wide;
typedef __m512d wide_pairs;
#define MM(name)   _mm512_##name
#define EVEN(x, y) _mm512_shuffle_f32x4(x, y, 0x88)
#define ODD(x, y)  _mm512_shuffle_f32x4(x, y, 0xdd)
#else
typedef __m256 wide;
typedef __m256d wide_pairs;
#define MM(name)   _mm256_##name
#define EVEN(x, y) _mm256_permute2f128_ps(x, y, 0x20)
#define ODD(x, y)  _mm256_permute2f128_ps(x, y, 0x31)
#endif
static __attribute__((noinline)) void square_wide(
    uint32_t *o, int64_t orow, const uint32_t *a, int64_t arow) {
  wide x[SIDE], y[SIDE];
  for (int i = 0; i < SIDE; i++, a += arow) x[i] = MM(loadu_ps)((const float *)a);
  for (int i = 0; i < SIDE; i += 2) {
    y[i] = MM(unpacklo_ps)(x[i], x[i + 1]);
    y[i + 1] = MM(unpackhi_ps)(x[i], x[i + 1]);
  }
  for (int i = 0; i < SIDE; i += 2) {
    int p = (i & ~3) + (i >> 1 & 1);
    x[i] = (wide)MM(unpacklo_pd)((wide_pairs)y[p], (wide_pairs)y[p + 2]);
    x[i + 1] = (wide)MM(unpackhi_pd)((wide_pairs)y[p], (wide_pairs)y[p + 2]);
  }
#if VBYTES == 64
  for (int i = 0; i < 16; i += 8)
    for (int k = 0; k < 4; k++)
      y[i + k] = EVEN(x[i + k], x[i + k + 4]), y[i + k + 4] = ODD(x[i + k], x[i + k + 4]);
#else
  for (int k = 0; k < 8; k++) y[k] = x[k];
#endif
  for (int k = 0; k < SIDE / 2; k++, o += orow)
    MM(storeu_ps)((float *)o, EVEN(y[k], y[k + SIDE / 2]));
  for (int k = 0; k < SIDE / 2; k++, o += orow)
    MM(storeu_ps)((float *)o, ODD(y[k], y[k + SIDE / 2]));
}
#endif

#define AS_IS(x) (x)
#define TURN(sfx, T, side, square) \
  static void quads_##sfx(T *o, int64_t orow, const T *a, int64_t arow, int64_t rows, int64_t n) { \
    int64_t i, j = 0; \
    for (; j + 4 <= n; j += 4) { \
      for (i = 0; i + 4 <= rows; i += 4) \
        square4_##sfx(o + i * orow + j, orow, a + j * arow + i, arow); \
      for (; i < rows; i++) \
        for (int k = 0; k < 4; k++) o[i * orow + j + k] = a[(j + k) * arow + i]; \
    } \
    for (; j < n; j++) \
      for (i = 0; i < rows; i++) o[i * orow + j] = a[j * arow + i]; \
  } \
  static void turn_##sfx( \
      void *o_, int64_t orow, const void *a_, int64_t arow, int64_t rows, int64_t n) { \
    T *o = o_; \
    const T *a = a_; \
    int64_t r = rows - rows % side, m = n - n % side; \
    for (int64_t j = 0; j < m; j += side) \
      for (int64_t i = 0; i < r; i += side) \
        square(o + i * orow + j, orow, a + j * arow + i, arow); \
    if (r < rows) quads_##sfx(o + r * orow, orow, a + r, arow, rows - r, m); \
    if (m < n) quads_##sfx(o + m, orow, a + m * arow, arow, rows, n - m); \
  }
#define TURN_EACH(name, S, T, get) \
  static void name( \
      T *restrict o, int64_t orow, const S *restrict a, int64_t arow, int64_t rows, int64_t n) { \
    for (int64_t j = 0; j < n; j++) \
      for (int64_t i = 0; i < rows; i++) o[i * orow + j] = get(a[j * arow + i]); \
  }

/* ---- rows x n elements into and out of blocks ---- */
#define LOADS(sfx, S, T, get, vectors, turn) \
  static void load_##sfx( \
      void *o_, const void *a_, int64_t row, int64_t step, int64_t rows, int64_t n) { \
    T *restrict o = o_; \
    if (row == 1 && step > 1) { \
      turn(o, n, a_, step, rows, n); \
      return; \
    } \
    for (int64_t i = 0; i < rows; i++, o += n) { \
      const S *restrict a = (const S *)a_ + i * row; \
      if (step == 1) \
        for (int64_t j = vectors(o, a, n); j < n; j++) o[j] = get(a[j]); \
      else if (step == 0) { \
        T v = n ? get(*a) : 0; \
        for (int64_t j = 0; j < n; j++) o[j] = v; \
      } else \
        for (int64_t j = 0; j < n; j++) o[j] = get(a[j * step]); \
    } \
  }
#define STORES(sfx, S, T, put, vectors, turn) \
  static void store_##sfx( \
      void *o_, int64_t row, int64_t step, const void *a_, int64_t rows, int64_t n) { \
    const T *restrict a = a_; \
    if (row == 1 && step > 1) { \
      turn(o_, step, a, n, n, rows); \
      return; \
    } \
    for (int64_t i = 0; i < rows; i++, a += n) { \
      S *restrict o = (S *)o_ + i * row; \
      if (step == 1) \
        for (int64_t j = vectors(o, a, n); j < n; j++) o[j] = put(a[j]); \
      else \
        for (int64_t j = 0; j < n; j++) o[j * step] = put(a[j]); \
    } \
  }
#define MOVES(sfx, T, side, square) \
  TURN(sfx, T, side, square) \
  LOADS(sfx, T, T, AS_IS, none_in, turn_##sfx) STORES(sfx, T, T, AS_IS, none_in, turn_##sfx)
#define HALVES(sfx, in, out, vectors_in, vectors_out) \
  TURN_EACH(turn_in_##sfx, uint16_t, float, in) \
  TURN_EACH(turn_out_##sfx, float, uint16_t, out) \
  LOADS(sfx, uint16_t, float, in, vectors_in, turn_in_##sfx) \
  STORES(sfx, uint16_t, float, out, vectors_out, turn_out_##sfx)
MOVES(1, uint8_t, 16, square16_1)
MOVES(2, uint16_t, 8, square8_2)
MOVES(4, uint32_t, SIDE, square_wide)
MOVES(8, uint64_t, 4, square4_8)
HALVES(f16, tp_load_f16, tp_store_f16, f16_in, f16_out)
HALVES(bf16, tp_load_bf16, tp_store_bf16, none_in, none_in)

static int round_f16(void *o_, const void *a_, const void *b_, const void *c_, int64_t n) {
  float *o = o_;
  const float *a = a_;
  uint16_t h[PART];
  (void)b_;
  (void)c_;
  for (int64_t at = 0; at < n; at += PART) {
    int64_t m = n - at < PART ? n - at : PART;
    for (int64_t i = f16_out(h, a + at, m); i < m; i++) h[i] = tp_store_f16(a[at + i]);
    for (int64_t i = f16_in(o + at, h, m); i < m; i++) o[at + i] = tp_load_f16(h[i]);
  }
  return TP_K_OK;
}

/* Is an index outside? If it is negative or beyond the last, i or n - 1 - i has the sign's bit. */
static bool outside(const int64_t *index, int64_t step, int64_t count, int64_t n) {
  uint64_t any = 0, last = (uint64_t)n - 1;
  if (step == 1)
    for (int64_t j = 0; j < count; j++) any |= (uint64_t)index[j] | (last - (uint64_t)index[j]);
  else
    for (int64_t j = 0; j < count; j++)
      any |= (uint64_t)index[j * step] | (last - (uint64_t)index[j * step]);
  return any >> 63;
}

/* Is each `by` or `by` - m more than the one before? A number other than 0, or its negative, has
 * the sign's bit. */
static bool even(const int64_t *index, int64_t n, int64_t by, int64_t m) {
  bool ok = true;
  for (int64_t at = 1; at < n && ok; at += PART) {
    uint64_t any = 0;
    for (int64_t j = at, end = n - at < PART ? n : at + PART; j < end; j++) {
      uint64_t more = (uint64_t)index[j] - (uint64_t)index[j - 1] - (uint64_t)by,
               around = more + (uint64_t)m;
      any |= (more | -more) & (around | -around);
    }
    ok = !(any >> 63);
  }
  return ok;
}
