/* Elementwise loops and casts. T: the type in memory, U: its unsigned type, X: what is computed per element. */
#ifdef __clang__
#define IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define IVDEP _Pragma("GCC ivdep")
#endif
#define EW_UNARY(name, T, R, expr) \
  static int name(void *o_, const void *a_, const void *b_, const void *c_, int64_t n) { \
    R *o = o_; const T *a = a_; (void)b_; (void)c_; \
    IVDEP for (int64_t i = 0; i < n; i++) { T x = a[i]; o[i] = (R)(expr); } \
    return TP_K_OK; }
#define EW_BINARY(name, T, R, expr) \
  static int name(void *o_, const void *a_, const void *b_, const void *c_, int64_t n) { \
    R *o = o_; const T *a = a_, *b = b_; (void)c_; \
    IVDEP for (int64_t i = 0; i < n; i++) { T x = a[i], y = b[i]; o[i] = (R)(expr); } \
    return TP_K_OK; }
/* Elements that the branchless form gets wrong (wrong(x, y) of any element of the block) are done again, one by one. The result may lie over an operand. */
#define EW_UNARY_SLOW(name, T, expr, wrong, slow) \
  static int name(void *o_, const void *a_, const void *b_, const void *c_, int64_t n) { \
    T *o = o_; const T *a = a_; int bad = 0; (void)b_; (void)c_; \
    for (int64_t i = 0; i < n; i++) { T x = a[i]; bad |= (wrong); } \
    if (!bad) { IVDEP for (int64_t i = 0; i < n; i++) { T x = a[i]; o[i] = (T)(expr); } } \
    else for (int64_t i = 0; i < n; i++) { T x = a[i]; o[i] = (wrong) ? (T)(slow) : (T)(expr); } \
    return TP_K_OK; }

/* ---- all types ---- */
#define COMPARISONS(sfx, T, V) \
  EW_BINARY(eq_##sfx, T, uint8_t, V(x) == V(y)) EW_BINARY(ne_##sfx, T, uint8_t, V(x) != V(y)) \
  EW_BINARY(lt_##sfx, T, uint8_t, V(x) < V(y)) EW_BINARY(le_##sfx, T, uint8_t, V(x) <= V(y)) \
  EW_BINARY(gt_##sfx, T, uint8_t, V(x) > V(y)) EW_BINARY(ge_##sfx, T, uint8_t, V(x) >= V(y))
#define SELECT_COPY(sfx, T) \
  EW_UNARY(copy_##sfx, T, T, x) \
  static int select_##sfx(void *o_, const void *a_, const void *b_, const void *c_, int64_t n) { \
    T *o = o_; const uint8_t *a = a_; const T *b = b_, *c = c_; \
    IVDEP for (int64_t i = 0; i < n; i++) { T x = b[i], y = c[i]; o[i] = a[i] ? x : y; } \
    return TP_K_OK; }
#define AS_IS(x) (x)
#define TRUTH(x) ((x) != 0)

/* ---- floats ---- */
#define FLOATS(sfx, T, FN) \
  EW_UNARY(neg_##sfx, T, T, -x) EW_UNARY(abs_##sfx, T, T, FN(fabs)(x)) \
  EW_UNARY(sign_##sfx, T, T, (T)((x > 0) - (x < 0))) \
  EW_UNARY(floor_##sfx, T, T, FN(floor)(x)) EW_UNARY(ceil_##sfx, T, T, FN(ceil)(x)) EW_UNARY(round_##sfx, T, T, FN(rint)(x)) \
  EW_UNARY(sqrt_##sfx, T, T, FN(sqrt)(x)) EW_UNARY(rsqrt_##sfx, T, T, 1 / FN(sqrt)(x)) \
  EW_BINARY(add_##sfx, T, T, x + y) EW_BINARY(sub_##sfx, T, T, x - y) EW_BINARY(mul_##sfx, T, T, x * y) EW_BINARY(div_##sfx, T, T, x / y) \
  EW_BINARY(min_##sfx, T, T, x != x ? x : x <= y ? x : y) EW_BINARY(max_##sfx, T, T, x != x ? x : x >= y ? x : y) \
  COMPARISONS(sfx, T, AS_IS) SELECT_COPY(sfx, T)
#define F32(fn) fn##f
#define F64(fn) fn
FLOATS(f32, float, F32)
FLOATS(f64, double, F64)

/* a - b * floor(a / b) with one rounding: fmod is exact. */
static double mod_of(double a, double b) {
  double m = fmod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
static double floordiv_of(double a, double b) {
  if (b == 0) return a / b;
  double m = fmod(a, b), q = (a - m) / b;
  if (m != 0 && (m < 0) != (b < 0)) q -= 1;
  return q == 0 ? copysign(0, a / b) : rint(q);
}
EW_BINARY(mod_f32, float, float, mod_of(x, y))
EW_BINARY(mod_f64, double, double, mod_of(x, y))
EW_BINARY(floordiv_f32, float, float, floordiv_of(x, y))
EW_BINARY(floordiv_f64, double, double, floordiv_of(x, y))

EW_UNARY(exp_f32_, float, float, exp_f32(x))
EW_UNARY(tanh_f32_, float, float, tanh_f32(x))
EW_UNARY(sigmoid_f32_, float, float, sigmoid_f32(x))
EW_UNARY(expm1_f32_, float, float, expm1_d(x))
EW_UNARY(log_f32_, float, float, log_d(x))
EW_UNARY(log1p_f32_, float, float, log1p_d(x))
EW_UNARY(erf_f32_, float, float, erf_d(x))
#define FAR(x) ((bits32(x) & 0x7fffffffu) > 0x49800000u)      /* |x| > 2^20, infinite or NaN */
EW_UNARY_SLOW(sin_f32_, float, sin_d(x), FAR(x), sinf(x))
EW_UNARY_SLOW(cos_f32_, float, cos_d(x), FAR(x), cosf(x))
EW_UNARY_SLOW(tan_f32_, float, tan_d(x), FAR(x), tanf(x))

EW_UNARY(exp_f64_, double, double, exp(x))
EW_UNARY(expm1_f64_, double, double, expm1(x))
EW_UNARY(log_f64_, double, double, log(x))
EW_UNARY(log1p_f64_, double, double, log1p(x))
EW_UNARY(sin_f64_, double, double, sin(x))
EW_UNARY(cos_f64_, double, double, cos(x))
EW_UNARY(tan_f64_, double, double, tan(x))
EW_UNARY(tanh_f64_, double, double, tanh(x))
EW_UNARY(sigmoid_f64_, double, double, 1 / (1 + exp(-x)))
EW_UNARY(erf_f64_, double, double, erf(x))
EW_BINARY(pow_f64, double, double, pow(x, y))

/* 0, infinities and NaN are libm's. */
#define ODDITY(x, y) (((bits32(x) & 0x7fffffffu) - 1u >= 0x7f7fffffu) | ((bits32(y) & 0x7fffffffu) >= 0x7f800000u))
static int pow_f32(void *o_, const void *a_, const void *b_, const void *c_, int64_t n) {
  enum { PART = 256 };
  float x[PART], y[PART];                       /* the result may lie over an operand */
  (void)c_;
  for (int64_t at = 0; at < n; at += PART) {
    int64_t m = n - at < PART ? n - at : PART;
    float *o = (float *)o_ + at;
    int bad = 0;
    memcpy(x, (const float *)a_ + at, sizeof(float) * (size_t)m);
    memcpy(y, (const float *)b_ + at, sizeof(float) * (size_t)m);
    for (int64_t i = 0; i < m; i++) bad |= ODDITY(x[i], y[i]);
    for (int64_t i = 0; i < m; i++) o[i] = (float)pow_d(x[i], y[i]);
    for (int64_t i = 0; i < m && bad; i++)
      if (ODDITY(x[i], y[i])) o[i] = powf(x[i], y[i]);
  }
  return TP_K_OK;
}

/* ---- integers: arithmetic in the unsigned type wraps ---- */
/* NEG(x): is x below 0? */
#define NEG_SIGNED(x) ((x) < 0)
#define NEG_UNSIGNED(x) 0
#define INT_DIVISION(name, T, U, NEG, expr) \
  static int name(void *o_, const void *a_, const void *b_, const void *c_, int64_t n) { \
    T *o = o_; const T *a = a_, *b = b_; (void)c_; \
    for (int64_t i = 0; i < n; i++) { \
      T x = a[i], y = b[i]; \
      if (y == 0) return TP_K_DIVZERO + 4 * (int)i; \
      if (NEG(y) && y == (T)-1) { T floor = (T)(0 - (U)x), rest = 0; (void)floor; (void)rest; o[i] = expr; continue; } \
      T rest = (T)(x % y), floor = (T)(x / y); \
      if (rest != 0 && NEG(rest) != NEG(y)) { rest = (T)(rest + y); floor = (T)(floor - 1); } \
      (void)floor; (void)rest; \
      o[i] = expr; \
    } \
    return TP_K_OK; }
#define INT_POW(name, T, U, NEG) \
  static int name(void *o_, const void *a_, const void *b_, const void *c_, int64_t n) { \
    T *o = o_; const T *a = a_, *b = b_; (void)c_; \
    for (int64_t i = 0; i < n; i++) { \
      uint64_t p = 1, x = (uint64_t)a[i]; \
      T e = b[i]; \
      if (NEG(e)) return TP_K_NEGPOW + 4 * (int)i; \
      for (; e; e = (T)(e >> 1), x *= x) if (e & 1) p *= x; \
      o[i] = (T)(U)p; \
    } \
    return TP_K_OK; }
/* W: an unsigned type at least as wide as int, so that nothing is promoted to a signed one. */
#define INTEGERS(sfx, T, U, W, NEG) \
  EW_UNARY(neg_##sfx, T, T, (U)((W)0 - (W)x)) EW_UNARY(abs_##sfx, T, T, NEG(x) ? (U)((W)0 - (W)x) : (U)x) EW_UNARY(sign_##sfx, T, T, (x > 0) - NEG(x)) \
  EW_BINARY(add_##sfx, T, T, (U)((W)x + (W)y)) EW_BINARY(sub_##sfx, T, T, (U)((W)x - (W)y)) EW_BINARY(mul_##sfx, T, T, (U)((W)x * (W)y)) \
  EW_BINARY(min_##sfx, T, T, x < y ? x : y) EW_BINARY(max_##sfx, T, T, x > y ? x : y) \
  INT_DIVISION(mod_##sfx, T, W, NEG, rest) INT_DIVISION(floordiv_##sfx, T, W, NEG, floor) INT_POW(pow_##sfx, T, U, NEG) \
  COMPARISONS(sfx, T, AS_IS) SELECT_COPY(sfx, T)
INTEGERS(u8, uint8_t, uint8_t, uint32_t, NEG_UNSIGNED)
INTEGERS(i32, int32_t, uint32_t, uint32_t, NEG_SIGNED)
INTEGERS(i64, int64_t, uint64_t, uint64_t, NEG_SIGNED)

COMPARISONS(bool, uint8_t, TRUTH)
SELECT_COPY(bool, uint8_t)
EW_UNARY(lnot_bool, uint8_t, uint8_t, x == 0)
EW_BINARY(land_bool, uint8_t, uint8_t, (x != 0) & (y != 0))
EW_BINARY(lor_bool, uint8_t, uint8_t, (x != 0) | (y != 0))

/* ---- casts: float to int truncates, saturates, NaN gives 0 ---- */
#define SATURATE(x, T, lo, hi, flo, fhi) ((x) != (x) ? (T)0 : (x) >= (fhi) ? (T)(hi) : (x) <= (flo) ? (T)(lo) : (T)(x))
#define TO_U8(x) SATURATE(x, uint8_t, 0, 255, 0, 255)
#define TO_I32(x) SATURATE((double)(x), int32_t, INT32_MIN, INT32_MAX, -2147483648.0, 2147483647.0)
#define TO_I64(x) SATURATE(x, int64_t, INT64_MIN, INT64_MAX, -0x1p63, 0x1p63)
#define CASTS_TO(from, T, V, u8, i32, i64) \
  EW_UNARY(cast_##from##_bool, T, uint8_t, x != 0) EW_UNARY(cast_##from##_u8, T, uint8_t, u8) EW_UNARY(cast_##from##_i32, T, int32_t, i32) \
  EW_UNARY(cast_##from##_i64, T, int64_t, i64) EW_UNARY(cast_##from##_f32, T, float, V(x)) EW_UNARY(cast_##from##_f64, T, double, V(x))
CASTS_TO(bool, uint8_t, TRUTH, x != 0, x != 0, x != 0)
CASTS_TO(u8, uint8_t, AS_IS, x, x, x)
CASTS_TO(i32, int32_t, AS_IS, (uint8_t)x, x, x)
CASTS_TO(i64, int64_t, AS_IS, (uint8_t)x, (int32_t)(uint32_t)x, x)
CASTS_TO(f32, float, AS_IS, TO_U8(x), TO_I32(x), TO_I64(x))
CASTS_TO(f64, double, AS_IS, TO_U8(x), TO_I32(x), TO_I64(x))

/* ---- the 16-bit floats ---- */

/* m >> s rounded to nearest even, for s in 1 .. 31. */
KI uint32_t shift_even(uint32_t m, uint32_t s) { return (m + ((1u << (s - 1)) - 1) + (m >> s & 1)) >> s; }

KI float f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, mag = h & 0x7fff;
  float tiny = (float)(int32_t)mag * 0x1p-24f;
  uint32_t normal = (mag << 13) + (mag >= 0x7c00 ? 0x70000000u : 0x38000000u);
  return of32(sign | (mag < 0x400 ? bits32(tiny) : normal));
}
KI uint16_t f32_to_f16(float f) {
  uint32_t u = bits32(f), mag = u & 0x7fffffff;
  uint32_t tiny = bits32(of32(mag) + 0.5f) - 0x3f000000u;       /* the sum's last place is 2^-24 */
  uint32_t h = mag < 0x38800000u ? tiny : shift_even(mag - 0x38000000u, 13);
  h = mag >= 0x477ff000u ? 0x7c00 : h;
  h = mag > 0x7f800000u ? 0x7e00 | (mag >> 13 & 0x3ff) : h;
  return (uint16_t)((u >> 16 & 0x8000) | h);
}
KI float bf16_to_f32(uint16_t h) { return of32((uint32_t)h << 16); }
KI uint16_t f32_to_bf16(float f) {
  uint32_t u = bits32(f);
  return (uint16_t)(f != f ? u >> 16 | 0x40 : shift_even(u, 16));
}
/* What f32 cannot hold of a double shows as an odd last bit, so that rounding on to a 16-bit float rounds once. */
KI float sticky(double x) {
  float f = (float)x;
  uint32_t u = bits32(f), odd = (u - (fabs((double)f) > fabs(x))) | 1u;
  return of32((double)f == x || x != x || (u & 0x7fffffffu) == 0x7f800000u ? u : odd);
}
EW_UNARY(sticky_f32, double, float, sticky(x))

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
HALVES(f16, f16_to_f32, f32_to_f16, f16_in, f16_out)
HALVES(bf16, bf16_to_f32, f32_to_bf16, none_in, none_in)
static int round_f16(void *o_, const void *a_, const void *b_, const void *c_, int64_t n) {
  enum { PART = 256 };
  float *o = o_;
  const float *a = a_;
  uint16_t h[PART];
  (void)b_; (void)c_;
  for (int64_t at = 0; at < n; at += PART) {
    int64_t m = n - at < PART ? n - at : PART;
    for (int64_t i = f16_out(h, a + at, m); i < m; i++) h[i] = f32_to_f16(a[at + i]);
    for (int64_t i = f16_in(o + at, h, m); i < m; i++) o[at + i] = f16_to_f32(h[i]);
  }
  return TP_K_OK;
}
EW_UNARY(round_bf16, float, float, bf16_to_f32(f32_to_bf16(x)))
