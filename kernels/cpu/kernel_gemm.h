/* Matrix products of any strides; kernels/prelude/fold.h says how terms are added up. B is taken in
 * panels of up to NR columns (packed unless its rows are contiguous and few). MR rows of a panel of
 * C are held in registers, MM_TALL if it is one vector wide or two of four. If there are many
 * panels, A is packed too, and the next parts of B and C are fetched meanwhile. */
#ifndef VBYTES
#define VBYTES 16
#endif
enum { MM_KC = TP_DOT_BLOCK, MM_MR = 4, MM_TALL = 8 };
/* rows of A that stay in a cache for all panels */
enum { MM_MC = 512 };
/* rows, and depth, from which on a panel is copied only because its rows are far apart */
enum { MM_PACKED = 128, MM_NEAR = 64 };
/* bytes of A that are copied at a time, and panels from which on they are */
enum { MM_GROUPED = 128 << 10, MM_MANY = 4 };

/* a * b + c of vectors; b may be one number. */
#define MAD(a, b, c) ((a) * (b) + (c))
#if VBYTES == 64 && FMA
#define MAD_f32(a, b, c) \
  ((v_f32)_mm512_fmadd_ps((__m512)(a), (__m512)((b) - (v_f32){ 0 }), (__m512)(c)))
#define MAD_f64(a, b, c) \
  ((v_f64)_mm512_fmadd_pd((__m512d)(a), (__m512d)((b) - (v_f64){ 0 }), (__m512d)(c)))
#elif VBYTES == 32 && FMA
#define MAD_f32(a, b, c) \
  ((v_f32)_mm256_fmadd_ps((__m256)(a), (__m256)((b) - (v_f32){ 0 }), (__m256)(c)))
#define MAD_f64(a, b, c) \
  ((v_f64)_mm256_fmadd_pd((__m256d)(a), (__m256d)((b) - (v_f64){ 0 }), (__m256d)(c)))
#elif FMA
#define FUSED(T, mad, a, b, c) \
  ({ \
    T a_ = (a), b_ = (b) - (T){ 0 }, c_ = (c); \
    for (int l = 0; l < (int)(sizeof c_ / sizeof c_[0]); l++) c_[l] = mad(a_[l], b_[l], c_[l]); \
    c_; \
  })
#define MAD_f32(a, b, c) FUSED(v_f32, tp_mad_f32, a, b, c)
#define MAD_f64(a, b, c) FUSED(v_f64, tp_mad_f64, a, b, c)
#else
#define MAD_f32 MAD
#define MAD_f64 MAD
#endif
/* The last vector of a row, of which only the lanes of m exist, and the same of half a vector. */
#if VBYTES == 64
enum { MASKS = 1, SLIM = 32 };
#define SIZED(S, of4, of8, of1) \
  __builtin_choose_expr(sizeof(S) == 4, of4, __builtin_choose_expr(sizeof(S) == 8, of8, of1))
#define LAST(V, S, p, m) \
  ((V)SIZED(S, _mm512_maskz_loadu_epi32((__mmask16)(m), p), \
      _mm512_maskz_loadu_epi64((__mmask8)(m), p), _mm512_maskz_loadu_epi8((__mmask64)(m), p)))
#define LAST_SLIM(V, S, p, m) \
  ((V)SIZED(S, _mm256_maskz_loadu_epi32((__mmask8)(m), p), \
      _mm256_maskz_loadu_epi64((__mmask8)(m), p), _mm256_maskz_loadu_epi8((__mmask32)(m), p)))
#define PUT_LAST(V, S, p, v, m) \
  SIZED(S, _mm512_mask_storeu_epi32(p, (__mmask16)(m), (__m512i)(v)), \
      _mm512_mask_storeu_epi64(p, (__mmask8)(m), (__m512i)(v)), \
      _mm512_mask_storeu_epi8(p, (__mmask64)(m), (__m512i)(v)))
#define PUT_LAST_SLIM(V, S, p, v, m) \
  SIZED(S, _mm256_mask_storeu_epi32(p, (__mmask8)(m), (__m256i)(v)), \
      _mm256_mask_storeu_epi64(p, (__mmask8)(m), (__m256i)(v)), \
      _mm256_mask_storeu_epi8(p, (__mmask32)(m), (__m256i)(v)))
#define SLIM_OF(V, v) ((V)_mm512_castsi512_si256((__m512i)(v)))
#else
enum { MASKS = 0, SLIM = VBYTES };
#define SLIM_OF(V, v)           (v)
#define LAST(V, S, p, m)        ((void)(m), *(const V *)(p))
#define PUT_LAST(V, S, p, v, m) ((void)(m), *(V *)(p) = (v))
#define LAST_SLIM               LAST
#define PUT_LAST_SLIM           PUT_LAST
#endif
#define ALL_OF(V, v) (v)
#if VBYTES == 64 && FMA
#define SLIM_MAD_f32(a, b, c) \
  ((s_f32)_mm256_fmadd_ps((__m256)(a), (__m256)((b) - (s_f32){ 0 }), (__m256)(c)))
#define SLIM_MAD_f64(a, b, c) \
  ((s_f64)_mm256_fmadd_pd((__m256d)(a), (__m256d)((b) - (s_f64){ 0 }), (__m256d)(c)))
#else
#define SLIM_MAD_f32 MAD_f32
#define SLIM_MAD_f64 MAD_f64
#endif
/* Rows of four from columns of four, o[p * ldo + j] = b[p + j * sbn]; what is left of rows and
 * columns one by one. */
#define TURN4(S, o, ldo, b, sbn) \
  do { \
    typedef S q4 __attribute__((vector_size(4 * sizeof(S)), aligned(sizeof(S)), may_alias)); \
    typedef __typeof__(__builtin_choose_expr(sizeof(S) == 8, (int64_t)0, \
        __builtin_choose_expr(sizeof(S) == 4, (int32_t)0, (int8_t)0))) i1; \
    typedef i1 i4 __attribute__((vector_size(4 * sizeof(S)))); \
    q4 r0 = *(const q4 *)(b), r1 = *(const q4 *)((b) + (sbn)), \
       r2 = *(const q4 *)((b) + 2 * (sbn)), r3 = *(const q4 *)((b) + 3 * (sbn)); \
    q4 t0 = __builtin_shuffle(r0, r1, (i4){ 0, 4, 1, 5 }), \
       t1 = __builtin_shuffle(r2, r3, (i4){ 0, 4, 1, 5 }); \
    q4 t2 = __builtin_shuffle(r0, r1, (i4){ 2, 6, 3, 7 }), \
       t3 = __builtin_shuffle(r2, r3, (i4){ 2, 6, 3, 7 }); \
    *(q4 *)(o) = __builtin_shuffle(t0, t1, (i4){ 0, 1, 4, 5 }), \
         *(q4 *)((o) + (ldo)) = __builtin_shuffle(t0, t1, (i4){ 2, 3, 6, 7 }); \
    *(q4 *)((o) + 2 * (ldo)) = __builtin_shuffle(t2, t3, (i4){ 0, 1, 4, 5 }), \
                      *(q4 *)((o) + 3 * (ldo)) = __builtin_shuffle(t2, t3, (i4){ 2, 3, 6, 7 }); \
  } while (0)
typedef float mm_turned __attribute__((vector_size(VBYTES)));
typedef double mm_wide __attribute__((vector_size(VBYTES)));
/* Sixteen columns of eight terms of four bytes, o[p] for p < 8, of which `terms` exist. */
#if VBYTES == 64
enum { TURN_WIDE = 16 };
#define EIGHT(p) \
  (terms == 8 ? _mm256_loadu_ps(p) : _mm256_maskz_loadu_ps((__mmask8)((1u << terms) - 1), p))
KI void turn_eight(mm_turned *o, const void *b_, int64_t sbn, int terms) {
  const float *b = b_;
  __m512 t[2][4];
  for (int h = 0; h < 2; h++) {
    __m512 r[4];
    for (int q = 0; q < 4; q++, b += sbn)
      r[q] =
          _mm512_mask_broadcast_f32x8(_mm512_castps256_ps512(EIGHT(b)), 0xff00, EIGHT(b + 4 * sbn));
    __m512d a0 = (__m512d)_mm512_unpacklo_ps(r[0], r[1]),
            a1 = (__m512d)_mm512_unpacklo_ps(r[2], r[3]);
    __m512d a2 = (__m512d)_mm512_unpackhi_ps(r[0], r[1]),
            a3 = (__m512d)_mm512_unpackhi_ps(r[2], r[3]);
    t[h][0] = (__m512)_mm512_unpacklo_pd(a0, a1), t[h][1] = (__m512)_mm512_unpackhi_pd(a0, a1);
    t[h][2] = (__m512)_mm512_unpacklo_pd(a2, a3), t[h][3] = (__m512)_mm512_unpackhi_pd(a2, a3);
    b += 4 * sbn;
  }
  for (int q = 0; q < 4; q++) {
    o[q] = (mm_turned)_mm512_shuffle_f32x4(t[0][q], t[1][q], 0x88);
    o[q + 4] = (mm_turned)_mm512_shuffle_f32x4(t[0][q], t[1][q], 0xdd);
  }
}
#else
enum { TURN_WIDE = 0 };
KI void turn_eight(mm_turned *o, const void *b, int64_t sbn, int terms) {
  (void)o, (void)b, (void)sbn, (void)terms;
}
#endif
/* A step of a tree of sums over lanes: lanes of a without bit h, lanes of b with it, and the lanes
 * that differ from these in h. */
#define AT(L, h, l, o)    ((((l) & (h)) ? (L) : 0) + ((l) ^ (o)))
#define AT_2(L, h, l, o)  AT(L, h, l, o), AT(L, h, l + 1, o)
#define AT_4(L, h, l, o)  AT_2(L, h, l, o), AT_2(L, h, l + 2, o)
#define AT_8(L, h, l, o)  AT_4(L, h, l, o), AT_4(L, h, l + 4, o)
#define AT_16(L, h, l, o) AT_8(L, h, l, o), AT_8(L, h, l + 8, o)
/* a blend, of which compilers make a shuffle */
#if VBYTES == 64
#define HALF_OF(h) ((h) == 1 ? 0xaaaa : (h) == 2 ? 0xcccc : (h) == 4 ? 0xf0f0 : 0xff00)
#define SIDE_BY_SIDE(I, L, h, a, b) \
  __builtin_choose_expr((L) == 16, \
      (mm_turned)_mm512_mask_blend_ps((__mmask16)HALF_OF(h), (__m512)(a), (__m512)(b)), \
      (mm_wide)_mm512_mask_blend_pd((__mmask8)HALF_OF(h), (__m512d)(a), (__m512d)(b)))
#else
#define SIDE_BY_SIDE(I, L, h, a, b) __builtin_shuffle(a, b, (I){ AT_##L(L, h, 0, 0) })
#endif
#define HALVED(I, L, h, a, b) \
  (SIDE_BY_SIDE(I, L, h, a, b) + __builtin_shuffle(a, b, (I){ AT_##L(L, h, 0, h) }))
#define HALVE(I, L, h, r) \
  for (int q = 0; q < (h); q++) (r)[q] = HALVED(I, L, h, (r)[q], (r)[q + (h)])
#define TREE_1(I, L, r) (void)0
#define TREE_2(I, L, r) HALVE(I, L, 1, r)
#define TREE_4(I, L, r) \
  HALVE(I, L, 2, r); \
  TREE_2(I, L, r)
#define TREE_8(I, L, r) \
  HALVE(I, L, 4, r); \
  TREE_4(I, L, r)
#define TREE_16(I, L, r) \
  HALVE(I, L, 8, r); \
  TREE_8(I, L, r)
/* Takes lanes of two vectors in turn, from lane `from` on. */
#define ZIP_2(L, l)           (l), (l) + (L)
#define ZIP_4(L, l)           ZIP_2(L, l), ZIP_2(L, (l) + 1)
#define ZIP_8(L, l)           ZIP_4(L, l), ZIP_4(L, (l) + 2)
#define ZIP_16(L, l)          ZIP_8(L, l), ZIP_8(L, (l) + 4)
#define ZIPPED(I, L, from, r) __builtin_shuffle((r)[0], (r)[1], (I){ ZIP_##L(L, from) })
#if defined(__GNUC__) && !defined(__clang__)
#define UNROLLED _Pragma("GCC unroll 16")
#else
#define UNROLLED
#endif
/* The first n lanes, and zeros. */
#define FIRST(sfx, S, p, n) \
  (MASKS ? LAST(v_##sfx, S, p, ((uint64_t)1 << (n)) - 1) : ({ \
    v_##sfx first_ = { 0 }; \
    for (int l = 0; l < (n); l++) first_[l] = (p)[l]; \
    first_; \
  }))
#define PUT_FIRST(sfx, S, p, v, n) \
  do { \
    if (MASKS) PUT_LAST(v_##sfx, S, p, v, ((uint64_t)1 << (n)) - 1); \
    else \
      for (int l = 0; l < (n); l++) (p)[l] = (v)[l]; \
  } while (0)
/* The lines of a panel of B that is wanted later, each of `bytes`, `step` apart. */
typedef struct mm_next {
  const char *at;
  int64_t lines, step, bytes;
} mm_next;
KI mm_next next_panel(const tp_mm *s, int size, const void *b, int64_t k, int64_t n) {
  bool turned = s->sbk == 1;
  return (mm_next){ b,
    n <= 0            ? 0
        : turned      ? n
        : s->sbn == 1 ? k
                      : 0,
    (turned ? s->sbn : s->sbk) * size, (turned ? k : n) * size };
}
/* `some` parts from one on */
KI void fetch_part(const mm_next *x, int64_t part, int64_t parts, int64_t some) {
  for (int64_t l = x->lines * part / parts; l < x->lines * (part + some) / parts; l++)
    for (int64_t i = 0; i < x->bytes; i += 64) __builtin_prefetch(x->at + l * x->step + i, 0, 2);
}
/* Both operands contiguous along k: as tp_dot. A line of the few times L of the many is a vector of
 * sums. */
/* lines of the few that go together, and of the many */
enum { FOUR = 4, DOT_PAIRS = VBYTES == 64 ? 4 : 2 };
#define DOTS(sfx, S, I, MAD, DOT_LANES, L, QUARTER) \
  typedef S v_##sfx __attribute__((vector_size(VBYTES), aligned(sizeof(S)), may_alias)); \
  typedef I i_##sfx __attribute__((vector_size(VBYTES))); \
  /* of f lines x times n lines y the g vectors of lanes, joined until one is left of each */ \
  KI void lanes_##sfx(int f, int n, int g, const S *x, int64_t sx, const S *y, int64_t sy, \
      int64_t k, v_##sfx o[][FOUR]) { \
    v_##sfx r[FOUR][FOUR][4 * DOT_LANES / L]; \
    int64_t p = 0; \
    UNROLLED for (int e = 0; e < f; e++) UNROLLED for (int i = 0; i < n; i++) \
        UNROLLED for (int q = 0; q < g; q++) r[e][i][q] = (v_##sfx){ 0 }; \
    for (; p + g * L <= k; p += g * L) \
      UNROLLED for (int q = 0; q < g; q++) UNROLLED for (int i = 0; i < n; i++) { \
        v_##sfx b = *(const v_##sfx *)(y + i * sy + p + q * L); \
        UNROLLED for (int e = 0; e < f; e++) r[e][i][q] = \
            MAD(b, *(const v_##sfx *)(x + e * sx + p + q * L), r[e][i][q]); \
      } \
    UNROLLED for (int q = 0; p < k && q < g; q++) { \
      int left = k - p < q * L ? 0 : k - p < (q + 1) * L ? (int)(k - p - q * L) : L; \
      UNROLLED for (int i = 0; i < n; i++) { \
        v_##sfx b = FIRST(sfx, S, y + i * sy + p + q * L, left); \
        UNROLLED for (int e = 0; e < f; e++) r[e][i][q] = \
            MAD(b, FIRST(sfx, S, x + e * sx + p + q * L, left), r[e][i][q]); \
      } \
    } \
    UNROLLED for (int e = 0; e < f; e++) UNROLLED for (int i = 0; i < n; i++) { \
      UNROLLED for (int h = g / 2; h; h /= 2) UNROLLED for (int q = 0; q < h; q++) r[e][i][q] += \
          r[e][i][q + h]; \
      o[e][i] = r[e][i][0]; \
    } \
  } \
  KI void four_##sfx( \
      int f, const S *x, int64_t sx, const S *y, int64_t sy, int64_t k, v_##sfx o[][FOUR]) { \
    v_##sfx w[FOUR][FOUR]; \
    if (f == 1 || DOT_PAIRS == FOUR) { \
      lanes_##sfx(f, FOUR, DOT_LANES / L, x, sx, y, sy, k, o); \
      return; \
    } \
    lanes_##sfx(f, 2, DOT_LANES / L, x, sx, y, sy, k, o); \
    lanes_##sfx(f, 2, DOT_LANES / L, x, sx, y + 2 * sy, sy, k, w); \
    for (int e = 0; e < f; e++) o[e][2] = w[e][0], o[e][3] = w[e][1]; \
  } \
  /* sums of each line x with L lines y */ \
  KI void vector_##sfx( \
      int f, const S *x, int64_t sx, const S *y, int64_t sy, int64_t k, v_##sfx *sum) { \
    v_##sfx r[FOUR][QUARTER], o[FOUR][FOUR]; \
    TP_ROLLED for (int q = 0; q < QUARTER; q++, y += sy) { \
      four_##sfx(f, x, sx, y, QUARTER *sy, k, o); \
      UNROLLED for (int e = 0; e < f; e++) { \
        o[e][0] = HALVED(i_##sfx, L, 2 * QUARTER, o[e][0], o[e][2]); \
        o[e][1] = HALVED(i_##sfx, L, 2 * QUARTER, o[e][1], o[e][3]); \
        r[e][q] = HALVED(i_##sfx, L, QUARTER, o[e][0], o[e][1]); \
      } \
    } \
    UNROLLED for (int e = 0; e < f; e++) { \
      TREE_##QUARTER(i_##sfx, L, r[e]); \
      sum[e] = r[e][0]; \
    } \
  } \
  /* with n of them; g: vectors of lanes */ \
  KI void some_##sfx(int f, int g, const S *x, int64_t sx, const S *y, int64_t sy, int n, \
      int64_t k, v_##sfx *sum) { \
    v_##sfx r[FOUR][L], o[FOUR][FOUR]; \
    for (int e = 0; e < f; e++) \
      for (int q = 0; q < L; q++) r[e][q] = (v_##sfx){ 0 }; \
    TP_ROLLED for (int q = 0, some; q < n; q += some) { \
      some = g == DOT_LANES / L && n - q >= FOUR ? FOUR : 1; \
      if (some == FOUR) four_##sfx(f, x, sx, y + q * sy, sy, k, o); \
      else lanes_##sfx(f, 1, g, x, sx, y + q * sy, sy, k, o); \
      for (int e = 0; e < f; e++) \
        for (int i = 0; i < some; i++) r[e][q + i] = o[e][i]; \
    } \
    UNROLLED for (int e = 0; e < f; e++) { \
      TREE_##L(i_##sfx, L, r[e]); \
      sum[e] = r[e][0]; \
    } \
  } \
  static void alone_##sfx(const S *x, const S *y, int64_t k, S *c, bool acc) { \
    v_##sfx r[1]; \
    some_##sfx(1, 4 * DOT_LANES / L, x, 0, y, 0, 1, k, r); \
    *c = acc ? *c + r[0][0] : r[0][0]; \
  } \
  /* f lines x times n lines y, of which each is sc further on in c, and each of x cx */ \
  KI void lines_##sfx(int f, const S *x, int64_t sx, const S *y, int64_t sy, int n, int64_t k, \
      S *c, int64_t cx, int64_t sc, bool acc) { \
    v_##sfx r[FOUR]; \
    if (n == FOUR * QUARTER && k == 4 * L) vector_##sfx(f, x, sx, y, sy, 4 * L, r); \
    else if (n == FOUR * QUARTER) vector_##sfx(f, x, sx, y, sy, k, r); \
    else some_##sfx(f, DOT_LANES / L, x, sx, y, sy, n, k, r); \
    if (n == L && f == 2 && cx == 1 && sc == 2) { \
      v_##sfx *to = (v_##sfx *)c, \
              both[2] = { ZIPPED(i_##sfx, L, 0, r), ZIPPED(i_##sfx, L, L / 2, r) }; \
      for (int e = 0; e < 2; e++) \
        if (acc) to[e] += both[e]; \
        else to[e] = both[e]; \
      return; \
    } \
    if (n == L && L >= FOUR && f == FOUR && cx == 1) { \
      S t[FOUR * L]; \
      for (int q = 0; q < L; q += FOUR) TURN4(S, t + q * FOUR, FOUR, (const S *)r + q, L); \
      for (int q = 0; q < L; q++) \
        for (int e = 0; e < FOUR; e++) \
          c[q * sc + e] = acc ? c[q * sc + e] + t[q * FOUR + e] : t[q * FOUR + e]; \
      return; \
    } \
    for (int e = 0; e < f; e++, c += cx) \
      if (sc == 1 && n == L) { \
        if (acc) *(v_##sfx *)c += r[e]; \
        else *(v_##sfx *)c = r[e]; \
      } else if (sc == 1) { \
        if (acc) r[e] += FIRST(sfx, S, c, n); \
        PUT_FIRST(sfx, S, c, r[e], n); \
      } else \
        for (int q = 0; q < n; q++) c[q * sc] = acc ? (S)(c[q * sc] + r[e][q]) : r[e][q]; \
  } \
  static __attribute__((noinline)) void line_##sfx(int64_t f, const S *x, int64_t sx, const S *y, \
      int64_t sy, int n, int64_t k, S *c, int64_t cx, int64_t sc, bool acc) { \
    if (f == DOT_PAIRS) lines_##sfx(DOT_PAIRS, x, sx, y, sy, n, k, c, cx, sc, acc); \
    else if (f == 2) lines_##sfx(2, x, sx, y, sy, n, k, c, cx, sc, acc); \
    else lines_##sfx(1, x, sx, y, sy, n, k, c, cx, sc, acc); \
  } \
  static void dots_##sfx(const tp_mm *s, const S *a, const S *b, S *c, bool acc);
/* ALONG: multiplies a few rows or columns that are contiguous along k, if these have an order of
 * their own. */
/* c (mr x nv vectors) (+)= A (mr x k) * panel; the last vector is an E, of which the lanes `last`
 * are there. */
#define TILE(name, sfx, S, MAD, E, MAD_E, LAST, PUT_LAST, PART) \
  KI void name(int mr, int nv, int64_t k, const S *a, int64_t sam, int64_t sak, const S *b, \
      int64_t ldb, S *c, int64_t ldc, bool acc, uint64_t last) { \
    v_##sfx r[MM_TALL][NV_##sfx], x[NV_##sfx]; \
    E e[MM_TALL], y; \
    UNROLLED for (int i = 0; i < mr; i++) { \
      UNROLLED for (int v = 0; v < nv - 1; v++) r[i][v] = (v_##sfx){ 0 }; \
      e[i] = (E){ 0 }; \
    } \
    for (int64_t p = 0; p < k; p++, b += ldb) { \
      UNROLLED for (int v = 0; v < nv - 1; v++) x[v] = *(const v_##sfx *)(b + v * L_##sfx); \
      y = LAST(E, S, b + (nv - 1) * L_##sfx, last); \
      UNROLLED for (int i = 0; i < mr; i++) { \
        S one = a[i * sam + p * sak]; \
        v_##sfx z = one - (v_##sfx){ 0 }; \
        UNROLLED for (int v = 0; v < nv - 1; v++) r[i][v] = MAD(x[v], z, r[i][v]); \
        e[i] = nv == 1 ? MAD_E(y, one, e[i]) : MAD_E(y, PART(E, z), e[i]); \
      } \
    } \
    UNROLLED for (int i = 0; i < mr; i++, c += ldc) { \
      UNROLLED for (int v = 0; v < nv - 1; v++) { \
        v_##sfx *to = (v_##sfx *)(c + v * L_##sfx); \
        if (acc) *to += r[i][v]; \
        else *to = r[i][v]; \
      } \
      S *end = c + (nv - 1) * L_##sfx; \
      if (acc) e[i] += LAST(E, S, end, last); \
      PUT_LAST(E, S, end, e[i], last); \
    } \
  }
#define GEMM(sfx, T, S, MAD, SLIM_MAD, SCALAR_MAD, ALONG, NVECTORS) \
  enum { \
    L_##sfx = VBYTES / sizeof(S), \
    NV_##sfx = NVECTORS, \
    NR_##sfx = NVECTORS * L_##sfx, \
    TALL_##sfx = NVECTORS > 2 ? 2 : 1 \
  }; \
  typedef S s_##sfx __attribute__((vector_size(SLIM), aligned(sizeof(S)), may_alias)); \
  TILE(tile_##sfx, sfx, S, MAD, v_##sfx, MAD, LAST, PUT_LAST, ALL_OF) \
  TILE(slim_##sfx, sfx, S, MAD, s_##sfx, SLIM_MAD, LAST_SLIM, PUT_LAST_SLIM, SLIM_OF) \
  KI void vectors_##sfx(int mr, int nv, int64_t k, const S *a, int64_t sam, int64_t sak, \
      const S *b, int64_t ldb, S *c, int64_t ldc, bool acc, uint64_t last) { \
    switch (nv < NV_##sfx ? nv : NV_##sfx) { \
    case 1: tile_##sfx(mr, 1, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
    case 2: tile_##sfx(mr, 2, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
    case 3: tile_##sfx(mr, NV_##sfx > 2 ? 3 : 2, k, a, sam, sak, b, ldb, c, ldc, acc, last); \
        break; \
    default: tile_##sfx(mr, NV_##sfx, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
    } \
  } \
  /* groups of MM_MR rows, each `step` further on in A; meanwhile what is copied next comes nearer \
   */ \
  static __attribute__((noinline)) void groups_##sfx(int64_t groups, int64_t step, int64_t k, \
      const S *a, int64_t sam, int64_t sak, const S *b, int64_t ldb, S *c, int64_t ldc, bool acc, \
      const mm_next *next) { \
    for (int64_t g = 0; g < groups; g++, a += step, c += MM_MR * ldc) { \
      for (int q = 0; next && acc && q < MM_MR; q++) \
        for (int v = 0; v < NV_##sfx; v++) __builtin_prefetch(c + q * ldc + v * L_##sfx, 1); \
      if (next) fetch_part(next, g, groups, 1); \
      tile_##sfx(MM_MR, NV_##sfx, k, a, sam, sak, b, ldb, c, ldc, acc, ~(uint64_t)0); \
    } \
  } \
  /* groups of rows of which the last vector is half full at most; gives how many rows that were \
   */ \
  static __attribute__((noinline)) \
  int64_t slims_##sfx(int nv, const tp_mm *s, int64_t k, const S *a, int64_t sam, int64_t sak, \
      const S *b, int64_t ldb, S *c, bool acc, uint64_t last) { \
    int64_t i = 0; \
    if (nv == 1) \
      for (; i + MM_TALL <= s->m; i += MM_TALL) \
        slim_##sfx( \
            MM_TALL, 1, k, a + i * sam, sam, sak, b, ldb, c + i * s->scm, s->scm, acc, last); \
    else if (nv == 2) \
      for (; i + MM_MR <= s->m; i += MM_MR) \
        slim_##sfx(MM_MR, 2, k, a + i * sam, sam, sak, b, ldb, c + i * s->scm, s->scm, acc, last); \
    else if (nv == 3) \
      for (; i + MM_MR <= s->m; i += MM_MR) \
        slim_##sfx(MM_MR, NV_##sfx > 2 ? 3 : 2, k, a + i * sam, sam, sak, b, ldb, c + i * s->scm, \
            s->scm, acc, last); \
    else \
      for (; i + MM_MR <= s->m; i += MM_MR) \
        slim_##sfx( \
            MM_MR, NV_##sfx, k, a + i * sam, sam, sak, b, ldb, c + i * s->scm, s->scm, acc, last); \
    return i; \
  } \
  static void rows_##sfx(int64_t mr, int nv, int64_t k, const S *a, int64_t sam, int64_t sak, \
      const S *b, int64_t ldb, S *c, int64_t ldc, bool acc, uint64_t last) { \
    switch (mr) { \
    case 1: vectors_##sfx(1, nv, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
    case 2: vectors_##sfx(2, nv, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
    case 3: vectors_##sfx(3, nv, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
    case MM_TALL: \
      if (nv == 1) tile_##sfx(MM_TALL, 1, k, a, sam, sak, b, ldb, c, ldc, acc, last); \
      else tile_##sfx(MM_TALL, TALL_##sfx, k, a, sam, sak, b, ldb, c, ldc, acc, last); \
      break; \
    default: vectors_##sfx(MM_MR, nv, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
    } \
  } \
  static void turn_##sfx(S *o, int64_t ldo, const S *b, int64_t sbn, int64_t k, int64_t n) { \
    int64_t j = 0; \
    for (; TURN_WIDE && sizeof(S) == 4 && j + TURN_WIDE <= n; j += TURN_WIDE) \
      for (int64_t p = 0, terms; p < k; p += terms) { \
        mm_turned t[8]; \
        terms = k - p < 8 ? k - p : 8; \
        if (terms == 8) turn_eight(t, b + p + j * sbn, sbn, 8); \
        else turn_eight(t, b + p + j * sbn, sbn, (int)terms); \
        for (int q = 0; q < terms; q++) memcpy(o + (p + q) * ldo + j, &t[q], sizeof t[q]); \
      } \
    for (; j + 4 <= n && sizeof(S) >= 4; j += 4) { \
      int64_t p = 0; \
      for (; p + 4 <= k; p += 4) TURN4(S, o + p * ldo + j, ldo, b + p + j * sbn, sbn); \
      for (; p < k; p++) \
        for (int q = 0; q < 4; q++) o[p * ldo + j + q] = b[p + (j + q) * sbn]; \
    } \
    for (; j < n; j++) \
      for (int64_t p = 0; p < k; p++) o[p * ldo + j] = b[p + j * sbn]; \
  } \
  KI void copy_##sfx(int nv, S *o, const S *b, int64_t sbk, int64_t k, uint64_t last) { \
    for (int64_t p = 0; p < k; p++, o += nv * L_##sfx, b += sbk) { \
      UNROLLED for (int v = 0; v < nv - 1; v++) * (v_##sfx *)(o + v * L_##sfx) = \
          *(const v_##sfx *)(b + v * L_##sfx); \
      *(v_##sfx *)(o + (nv - 1) * L_##sfx) = LAST(v_##sfx, S, b + (nv - 1) * L_##sfx, last); \
    } \
  } \
  static void pack_##sfx( \
      S *o, int64_t ldo, const S *b, int64_t sbk, int64_t sbn, int64_t k, int64_t n) { \
    if (sbn == 1 && (n == ldo || MASKS) && ldo % L_##sfx == 0) { \
      uint64_t last = n % L_##sfx ? ((uint64_t)1 << n % L_##sfx) - 1 : ~(uint64_t)0; \
      switch (ldo / L_##sfx) { \
      case 1: copy_##sfx(1, o, b, sbk, k, last); break; \
      case 2: copy_##sfx(2, o, b, sbk, k, last); break; \
      case 3: copy_##sfx(3, o, b, sbk, k, last); break; \
      default: copy_##sfx(4, o, b, sbk, k, last); break; \
      } \
      return; \
    } \
    if (n < ldo) memset(o, 0, sizeof(S) * (size_t)(k * ldo)); \
    if (sbk == 1) turn_##sfx(o, ldo, b, sbn, k, n); \
    else if (sbn == 1 && n == MM_MR) \
      for (int64_t p = 0; p < k; p++) memcpy(o + p * ldo, b + p * sbk, sizeof(S) * MM_MR); \
    else if (sbn == 1) \
      for (int64_t p = 0; p < k; p++) memcpy(o + p * ldo, b + p * sbk, sizeof(S) * (size_t)n); \
    else \
      for (int64_t p = 0; p < k; p++) \
        for (int64_t j = 0; j < n; j++) o[p * ldo + j] = b[p * sbk + j * sbn]; \
  } \
  static void put_##sfx( \
      const tp_mm *s, S *c, const S *tile, int64_t ldt, int64_t m, int64_t n, bool acc) { \
    for (int64_t i = 0; i < m; i++, c += s->scm, tile += ldt) { \
      if (s->scn == 1 && acc) \
        for (int64_t j = 0; j < n; j++) c[j] += tile[j]; \
      else if (s->scn == 1) \
        for (int64_t j = 0; j < n; j++) c[j] = tile[j]; \
      else \
        for (int64_t j = 0; j < n; j++) \
          c[j * s->scn] = acc ? (S)(c[j * s->scn] + tile[j]) : tile[j]; \
    } \
  } \
  /* one row: four vectors of columns at a time, k in order */ \
  static int64_t row_##sfx(const tp_mm *s, const S *a, const S *b, S *c, bool acc) { \
    int64_t j = 0; \
    for (; j + 4 * L_##sfx <= s->n; j += 4 * L_##sfx) { \
      v_##sfx r[4]; \
      for (int64_t p0 = 0; p0 < s->k; p0 += MM_KC) { \
        for (int q = 0; q < 4; q++) r[q] = (v_##sfx){ 0 }; \
        for (int64_t p = p0; p < s->k && p < p0 + MM_KC; p++) \
          for (int q = 0; q < 4; q++) \
            r[q] = MAD(*(const v_##sfx *)(b + p * s->sbk + j + q * L_##sfx), a[p * s->sak], r[q]); \
        for (int q = 0; q < 4; q++) { \
          v_##sfx *to = (v_##sfx *)(c + j + q * L_##sfx); \
          if (acc || p0) *to += r[q]; \
          else *to = r[q]; \
        } \
      } \
    } \
    return j; \
  } \
  /* a few rows, a few columns, four sums at a time: packing a panel would cost more than the \
   * products */ \
  static void few_##sfx(const tp_mm *s, const S *a, const S *b, S *c, bool acc) { \
    for (int64_t at = 0, i = 0, j = 0, all = s->m * s->n; at < all; at += 4) { \
      const S *x[4], *y[4]; \
      S *o[4]; \
      int n = all - at < 4 ? (int)(all - at) : 4; \
      for (int q = 0; q < 4; q++) { \
        x[q] = a + i * s->sam, y[q] = b + j * s->sbn, o[q] = c + i * s->scm + j * s->scn; \
        if (q < n - 1 && ++j == s->n) j = 0, i++; \
      } \
      if (++j == s->n) j = 0, i++; \
      for (int64_t p0 = 0; p0 < s->k; p0 += MM_KC) { \
        S r[4] = { 0 }; \
        for (int64_t p = p0; p < s->k && p < p0 + MM_KC; p++) \
          for (int q = 0; q < 4; q++) \
            r[q] = (S)SCALAR_MAD(x[q][p * s->sak], y[q][p * s->sbk], r[q]); \
        for (int q = 0; q < n; q++) *o[q] = acc || p0 ? (S)(*o[q] + r[q]) : r[q]; \
      } \
    } \
  } \
  /* grouped: rows of A lie by groups of MM_MR, the terms of each side by side */ \
  /* a few rows, columns contiguous along k: these are turned in registers, TURN_WIDE times nv at \
   * once */ \
  KI void short_##sfx(int mr, int nv, const tp_mm *s, const S *a, const S *b, S *c, bool acc) { \
    for (int64_t p0 = 0; p0 < s->k; p0 += MM_KC) { \
      v_##sfx r[MM_MR][2]; \
      mm_turned t[2][8]; \
      int64_t p = p0, end = s->k - p0 < MM_KC ? s->k : p0 + MM_KC; \
      UNROLLED for (int i = 0; i < mr; i++) UNROLLED for (int v = 0; v < nv; v++) r[i][v] = \
          (v_##sfx){ 0 }; \
      for (; p + 8 <= end; p += 8) { \
        UNROLLED for (int v = 0; v < nv; v++) \
            turn_eight(t[v], b + p + v * TURN_WIDE * s->sbn, s->sbn, 8); \
        UNROLLED for (int q = 0; q < 8; q++) UNROLLED for (int i = 0; i < mr; i++) { \
          S y = a[i * s->sam + (p + q) * s->sak]; \
          UNROLLED for (int v = 0; v < nv; v++) r[i][v] = MAD((v_##sfx)t[v][q], y, r[i][v]); \
        } \
      } \
      for (int v = 0; p < end && v < nv; v++) { \
        turn_eight(t[v], b + p + v * TURN_WIDE * s->sbn, s->sbn, (int)(end - p)); \
        for (int q = 0; q < end - p; q++) \
          UNROLLED for (int i = 0; i < mr; i++) r[i][v] = \
              MAD((v_##sfx)t[v][q], a[i * s->sam + (p + q) * s->sak], r[i][v]); \
      } \
      UNROLLED for (int i = 0; i < mr; i++) UNROLLED for (int v = 0; v < nv; v++) { \
        v_##sfx *to = (v_##sfx *)(c + i * s->scm + v * TURN_WIDE); \
        if (acc || p0) *to += r[i][v]; \
        else *to = r[i][v]; \
      } \
    } \
  } \
  static __attribute__((noinline)) \
  int64_t shorts_##sfx(const tp_mm *s, const S *a, const S *b, S *c, bool acc) { \
    int64_t j = 0; \
    for (int64_t i = 0; i < s->m; i += MM_MR) { \
      const S *ai = a + i * s->sam; \
      S *ci = c + i * s->scm; \
      int64_t m = s->m - i; \
      for (j = 0; j + 2 * TURN_WIDE <= s->n; j += 2 * TURN_WIDE) { \
        const S *bj = b + j * s->sbn; \
        switch (m < MM_MR ? m : MM_MR) { \
        case 1: short_##sfx(1, 2, s, ai, bj, ci + j, acc); break; \
        case 2: short_##sfx(2, 2, s, ai, bj, ci + j, acc); break; \
        case 3: short_##sfx(3, 2, s, ai, bj, ci + j, acc); break; \
        default: short_##sfx(MM_MR, 2, s, ai, bj, ci + j, acc); break; \
        } \
      } \
    } \
    return j; \
  } \
  static void panel_##sfx(const tp_mm *s, const S *a, const S *b, int64_t ldb, S *c, int64_t k, \
      int64_t n, bool acc, bool grouped, const mm_next *next) { \
    S tile[MM_TALL * NR_##sfx]; \
    int nv = (int)((n + L_##sfx - 1) / L_##sfx); \
    bool whole = s->scn == 1 && (MASKS || n % L_##sfx == 0); \
    uint64_t last = whole && n % L_##sfx ? ((uint64_t)1 << n % L_##sfx) - 1 : ~(uint64_t)0; \
    bool slim = whole && MASKS && !grouped && n % L_##sfx && n % L_##sfx <= L_##sfx / 2; \
    int64_t sam = grouped ? 1 : s->sam, \
            groups = whole && nv == NV_##sfx && last == ~(uint64_t)0 ? s->m / MM_MR : 0; \
    if (groups) \
      groups_##sfx(groups, MM_MR *(grouped ? k : s->sam), k, a, sam, grouped ? MM_MR : s->sak, b, \
          ldb, c, s->scm, acc, next); \
    int64_t i = \
        slim ? slims_##sfx(nv, s, k, a, sam, s->sak, b, ldb, c, acc, last) : groups * MM_MR; \
    for (int64_t mr; i < s->m; i += mr) { \
      mr = s->m - i < MM_MR                                     ? s->m - i \
          : nv <= TALL_##sfx && !grouped && s->m - i >= MM_TALL ? MM_TALL \
                                                                : MM_MR; \
      rows_##sfx(mr, nv, k, a + i * (grouped ? k : s->sam), sam, grouped ? mr : s->sak, b, ldb, \
          whole ? c + i * s->scm : tile, whole ? s->scm : NR_##sfx, whole && acc, last); \
      if (!whole) put_##sfx(s, c + i * s->scm, tile, NR_##sfx, mr, n, acc); \
    } \
  } \
  /* k terms of all columns */ \
  static void block_##sfx( \
      const tp_mm *s, const S *a, const S *b, S *c, int64_t k, bool acc, bool grouped) { \
    S pack[MM_KC * NR_##sfx] __attribute__((aligned(64))); \
    for (int64_t j = 0; j < s->n; j += NR_##sfx) { \
      int64_t n = s->n - j < NR_##sfx ? s->n - j : NR_##sfx; \
      const S *bp = b + j * s->sbn; \
      bool direct = ((MASKS && s->scn == 1) || n % L_##sfx == 0) && s->sbn == 1 && \
          (s->m < MM_PACKED || k < MM_PACKED || (s->sbk <= MM_NEAR && s->sbk % L_##sfx == 0)); \
      int64_t ldb = direct ? s->sbk : (n + L_##sfx - 1) / L_##sfx * L_##sfx; \
      mm_next next = next_panel(s, (int)sizeof(S), b + (j + NR_##sfx) * s->sbn, k, \
          s->n - j - NR_##sfx < NR_##sfx ? s->n - j - NR_##sfx : NR_##sfx); \
      if (!direct) pack_##sfx(pack, ldb, bp, s->sbk, s->sbn, k, n); \
      panel_##sfx(s, a, direct ? bp : pack, ldb, c + j * s->scn, k, n, acc, grouped, \
          grouped ? &next : NULL); \
    } \
  } \
  static void group_##sfx(S *o, const S *a, int64_t sam, int64_t sak, int64_t m, int64_t k) { \
    for (int64_t i = 0, mr; i < m; i += mr, o += mr * k) { \
      mr = m - i < MM_MR ? m - i : MM_MR; \
      for (int64_t q = i + 2 * MM_MR; sak == 1 && q < i + 3 * MM_MR && q < m; q++) \
        for (int64_t p = 0; p < k; p += 64 / (int64_t)sizeof(S)) \
          __builtin_prefetch(a + q * sam + p); \
      pack_##sfx(o, mr, a + i * sam, sak, sam, k, mr); \
    } \
  } \
  /* many columns: the same rows of A are taken for all of them from where they lie side by side \
   */ \
  static __attribute__((noinline)) void many_##sfx( \
      const tp_mm *s, const S *a, const S *b, S *c, bool acc) { \
    enum { MC = MM_GROUPED / (MM_KC * sizeof(S)) }; \
    S rows[MC * MM_KC] __attribute__((aligned(64))); \
    tp_mm part = *s; \
    for (int64_t p = 0; p < s->k; p += MM_KC) \
      for (int64_t i = 0; i < s->m; i += MC) { \
        int64_t k = s->k - p < MM_KC ? s->k - p : MM_KC; \
        part.m = s->m - i < MC ? s->m - i : MC; \
        group_##sfx(rows, a + i * s->sam + p * s->sak, s->sam, s->sak, part.m, k); \
        block_##sfx(&part, rows, b + p * s->sbk, c + i * s->scm, k, acc || p > 0, true); \
      } \
  } \
  static void mm_##sfx(const tp_mm *s, const void *a_, const void *b_, void *c_, bool acc) { \
    const S *a = a_, *b = b_; \
    S *c = c_; \
    if (s->lanes && ALONG != few_##sfx) { \
      ALONG(s, a, b, c, acc); \
      return; \
    } \
    if (MASKS && s->m <= MM_TALL && s->n <= L_##sfx && s->k <= MM_KC && s->sbn == 1 && \
        s->scn == 1) { \
      int64_t few = s->m < MM_MR || s->m == MM_TALL ? s->m : MM_MR; \
      rows_##sfx(few, 1, s->k, a, s->sam, s->sak, b, s->sbk, c, s->scm, acc, \
          ((uint64_t)2 << (s->n - 1)) - 1); \
      if (few < s->m) \
        rows_##sfx(s->m - few, 1, s->k, a + few * s->sam, s->sam, s->sak, b, s->sbk, \
            c + few * s->scm, s->scm, acc, ((uint64_t)2 << (s->n - 1)) - 1); \
      return; \
    } \
    if (s->m <= 2 && s->sbn == 1 && s->scn == 1 && s->n >= 4 * L_##sfx && s->k <= 4 * MM_KC) { \
      int64_t j = 0; \
      for (int64_t i = 0; i < s->m; i++) j = row_##sfx(s, a + i * s->sam, b, c + i * s->scm, acc); \
      if (j == s->n) return; \
      tp_mm rest = *s; \
      rest.n -= j; \
      mm_##sfx(&rest, a, b + j, c + j, acc); \
      return; \
    } \
    if (TURN_WIDE && sizeof(S) == 4 && s->sbk == 1 && s->sbn != 1 && s->scn == 1 && \
        s->m < 2 * MM_MR && s->n >= 2 * TURN_WIDE) { \
      int64_t j = shorts_##sfx(s, a, b, c, acc); \
      if (j == s->n) return; \
      tp_mm rest = *s; \
      rest.n -= j; \
      rest.lanes = 0; \
      mm_##sfx(&rest, a, b + j * s->sbn, c + j, acc); \
      return; \
    } \
    if (!(MASKS && s->sbn == 1 && s->scn == 1) && s->n < L_##sfx / 2 + 1 && \
        (s->m <= 3 || s->m * s->n * s->k <= 256)) { \
      few_##sfx(s, a, b, c, acc); \
      return; \
    } \
    int64_t rest = s->n % L_##sfx; \
    if (!MASKS && rest && rest <= L_##sfx / 4 && s->n > 4 * L_##sfx && s->m >= 4 * L_##sfx) { \
      int64_t n = s->n - rest; \
      tp_mm most = *s, \
            turned = { rest, s->m, s->k, s->sbn, s->sbk, s->sak, s->sam, s->scn, s->scm, 0 }; \
      most.lanes = 0; \
      most.n = n; \
      mm_##sfx(&most, a, b, c, acc); \
      mm_##sfx(&turned, b + n * s->sbn, a, c + n * s->scn, acc); \
      return; \
    } \
    if (s->n >= MM_MANY * NR_##sfx && s->m >= 2 * MM_MR && \
        s->m * s->k * (int64_t)sizeof(S) >= MM_GROUPED) { \
      many_##sfx(s, a, b, c, acc); \
      return; \
    } \
    tp_mm part = *s; \
    for (int64_t p = 0; p < s->k; p += MM_KC) \
      for (int64_t i = 0; i < s->m; i += MM_MC) { \
        part.m = s->m - i < MM_MC ? s->m - i : MM_MC; \
        block_##sfx(&part, a + i * s->sam + p * s->sak, b + p * s->sbk, c + i * s->scm, \
            s->k - p < MM_KC ? s->k - p : MM_KC, acc || p > 0, false); \
      } \
  }
#if VBYTES == 64 || defined(__aarch64__)
#define WIDE_PANEL 4 /* as many as there are registers for */
#else
#define WIDE_PANEL 2
#endif
#if VBYTES == 64
DOTS(f32, float, int32_t, MAD_f32, 16, 16, 4)
DOTS(f64, double, int64_t, MAD_f64, 8, 8, 2)
#elif VBYTES == 32
DOTS(f32, float, int32_t, MAD_f32, 16, 8, 2)
DOTS(f64, double, int64_t, MAD_f64, 8, 4, 1)
#else
DOTS(f32, float, int32_t, MAD_f32, 16, 4, 1)
DOTS(f64, double, int64_t, MAD_f64, 8, 2, 1)
#endif
#define VECTOR(sfx, U) \
  typedef U v_##sfx __attribute__((vector_size(VBYTES), aligned(sizeof(U)), may_alias));
VECTOR(i32, uint32_t)
VECTOR(i64, uint64_t)
VECTOR(u8, uint8_t)
GEMM(f32, float, float, MAD_f32, SLIM_MAD_f32, tp_mad_f32, dots_f32, WIDE_PANEL)
GEMM(f64, double, double, MAD_f64, SLIM_MAD_f64, tp_mad_f64, dots_f64, WIDE_PANEL)
GEMM(i32, int32_t, uint32_t, MAD, MAD, MAD, few_i32, 2)
GEMM(i64, int64_t, uint64_t, MAD, MAD, MAD, few_i64, 2)
GEMM(u8, uint8_t, uint8_t, MAD, MAD, MAD, few_u8, 2)
