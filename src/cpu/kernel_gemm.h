/* Matrix products of any strides; prelude/fold.h says how terms are added up. B is taken in panels of up to NR columns (packed unless its rows are contiguous and few), MR rows of a panel of C are held in
 * registers, MM_TALL where that is one vector wide. */
#ifndef VBYTES
#define VBYTES 16
#endif
enum { MM_KC = TP_DOT_BLOCK, MM_MR = 4, MM_TALL = 8, MM_MC = 512, MM_PACKED = 64, MM_NEAR = 256 };      /* MC: rows of A that stay in a cache for all panels. PACKED: rows, and depth, from which on a panel is copied that lies well already but for rows far apart */

/* a * b + c of vectors; b may be one number. */
#define MAD(a, b, c) ((a) * (b) + (c))
#if VBYTES == 64 && FMA
#define MAD_f32(a, b, c) ((v_f32)_mm512_fmadd_ps((__m512)(a), (__m512)((b) - (v_f32){0}), (__m512)(c)))
#define MAD_f64(a, b, c) ((v_f64)_mm512_fmadd_pd((__m512d)(a), (__m512d)((b) - (v_f64){0}), (__m512d)(c)))
#elif VBYTES == 32 && FMA
#define MAD_f32(a, b, c) ((v_f32)_mm256_fmadd_ps((__m256)(a), (__m256)((b) - (v_f32){0}), (__m256)(c)))
#define MAD_f64(a, b, c) ((v_f64)_mm256_fmadd_pd((__m256d)(a), (__m256d)((b) - (v_f64){0}), (__m256d)(c)))
#elif FMA
#define FUSED(T, mad, a, b, c) ({ T a_ = (a), b_ = (b) - (T){0}, c_ = (c); for (int l = 0; l < (int)(sizeof c_ / sizeof c_[0]); l++) c_[l] = mad(a_[l], b_[l], c_[l]); c_; })
#define MAD_f32(a, b, c) FUSED(v_f32, tp_mad_f32, a, b, c)
#define MAD_f64(a, b, c) FUSED(v_f64, tp_mad_f64, a, b, c)
#else
#define MAD_f32 MAD
#define MAD_f64 MAD
#endif
/* The last vector of a row, of which the lanes of m are there. */
#if VBYTES == 64
enum { MASKS = 1 };
#define LAST_f32(p, m) ((v_f32)_mm512_maskz_loadu_ps((__mmask16)(m), p))
#define LAST_f64(p, m) ((v_f64)_mm512_maskz_loadu_pd((__mmask8)(m), p))
#define LAST_i32(p, m) ((v_i32)_mm512_maskz_loadu_epi32((__mmask16)(m), p))
#define LAST_i64(p, m) ((v_i64)_mm512_maskz_loadu_epi64((__mmask8)(m), p))
#define LAST_u8(p, m) ((v_u8)_mm512_maskz_loadu_epi8((__mmask64)(m), p))
#define PUT_LAST_f32(p, v, m) _mm512_mask_storeu_ps(p, (__mmask16)(m), (__m512)(v))
#define PUT_LAST_f64(p, v, m) _mm512_mask_storeu_pd(p, (__mmask8)(m), (__m512d)(v))
#define PUT_LAST_i32(p, v, m) _mm512_mask_storeu_epi32(p, (__mmask16)(m), (__m512i)(v))
#define PUT_LAST_i64(p, v, m) _mm512_mask_storeu_epi64(p, (__mmask8)(m), (__m512i)(v))
#define PUT_LAST_u8(p, v, m) _mm512_mask_storeu_epi8(p, (__mmask64)(m), (__m512i)(v))
#else
enum { MASKS = 0 };
#define ALL_OF(V, p, m) ((void)(m), *(const V *)(p))
#define LAST_f32(p, m) ALL_OF(v_f32, p, m)
#define LAST_f64(p, m) ALL_OF(v_f64, p, m)
#define LAST_i32(p, m) ALL_OF(v_i32, p, m)
#define LAST_i64(p, m) ALL_OF(v_i64, p, m)
#define LAST_u8(p, m) ALL_OF(v_u8, p, m)
#define PUT_ALL(V, p, v, m) ((void)(m), *(V *)(p) = (v))
#define PUT_LAST_f32(p, v, m) PUT_ALL(v_f32, p, v, m)
#define PUT_LAST_f64(p, v, m) PUT_ALL(v_f64, p, v, m)
#define PUT_LAST_i32(p, v, m) PUT_ALL(v_i32, p, v, m)
#define PUT_LAST_i64(p, v, m) PUT_ALL(v_i64, p, v, m)
#define PUT_LAST_u8(p, v, m) PUT_ALL(v_u8, p, v, m)
#endif
/* Rows of four from columns of four, o[p * ldo + j] = b[p + j * sbn]; what is left of rows and columns one by one. */
#define TURN4(S, o, ldo, b, sbn) do { \
  typedef S q4 __attribute__((vector_size(4 * sizeof(S)), aligned(sizeof(S)), may_alias)); \
  typedef __typeof__(__builtin_choose_expr(sizeof(S) == 8, (int64_t)0, __builtin_choose_expr(sizeof(S) == 4, (int32_t)0, (int8_t)0))) i1; \
  typedef i1 i4 __attribute__((vector_size(4 * sizeof(S)))); \
  q4 r0 = *(const q4 *)(b), r1 = *(const q4 *)((b) + (sbn)), r2 = *(const q4 *)((b) + 2 * (sbn)), r3 = *(const q4 *)((b) + 3 * (sbn)); \
  q4 t0 = __builtin_shuffle(r0, r1, (i4){ 0, 4, 1, 5 }), t1 = __builtin_shuffle(r2, r3, (i4){ 0, 4, 1, 5 }); \
  q4 t2 = __builtin_shuffle(r0, r1, (i4){ 2, 6, 3, 7 }), t3 = __builtin_shuffle(r2, r3, (i4){ 2, 6, 3, 7 }); \
  *(q4 *)(o) = __builtin_shuffle(t0, t1, (i4){ 0, 1, 4, 5 }), *(q4 *)((o) + (ldo)) = __builtin_shuffle(t0, t1, (i4){ 2, 3, 6, 7 }); \
  *(q4 *)((o) + 2 * (ldo)) = __builtin_shuffle(t2, t3, (i4){ 0, 1, 4, 5 }), *(q4 *)((o) + 3 * (ldo)) = __builtin_shuffle(t2, t3, (i4){ 2, 3, 6, 7 }); \
} while (0)
/* The same of sixteen columns of four bytes, o[p * ldo + j] for p < 4: a quarter of a vector is one column. */
#if VBYTES == 64
enum { TURN_WIDE = 16 };
KI void turn_wide(void *o_, int64_t ldo, const void *b_, int64_t sbn) {
  float *o = o_;
  const float *b = b_;
  __m512 r[4];
  for (int q = 0; q < 4; q++, b += sbn) {
    r[q] = _mm512_castps128_ps512(_mm_loadu_ps(b));
    r[q] = _mm512_insertf32x4(r[q], _mm_loadu_ps(b + 4 * sbn), 1);
    r[q] = _mm512_insertf32x4(r[q], _mm_loadu_ps(b + 8 * sbn), 2);
    r[q] = _mm512_insertf32x4(r[q], _mm_loadu_ps(b + 12 * sbn), 3);
  }
  __m512d t0 = (__m512d)_mm512_unpacklo_ps(r[0], r[1]), t1 = (__m512d)_mm512_unpacklo_ps(r[2], r[3]);
  __m512d t2 = (__m512d)_mm512_unpackhi_ps(r[0], r[1]), t3 = (__m512d)_mm512_unpackhi_ps(r[2], r[3]);
  _mm512_storeu_ps(o, (__m512)_mm512_unpacklo_pd(t0, t1)), _mm512_storeu_ps(o + ldo, (__m512)_mm512_unpackhi_pd(t0, t1));
  _mm512_storeu_ps(o + 2 * ldo, (__m512)_mm512_unpacklo_pd(t2, t3)), _mm512_storeu_ps(o + 3 * ldo, (__m512)_mm512_unpackhi_pd(t2, t3));
}
#else
enum { TURN_WIDE = 0 };
KI void turn_wide(void *o, int64_t ldo, const void *b, int64_t sbn) { (void)o, (void)ldo, (void)b, (void)sbn; }
#endif
/* A step of a tree of sums over lanes: each lane of a without h, and of b with it, and the one that h tells it from. */
#define AT(L, h, l, o) ((((l) & (h)) ? (L) : 0) + ((l) ^ (o)))
#define AT_2(L, h, l, o) AT(L, h, l, o), AT(L, h, l + 1, o)
#define AT_4(L, h, l, o) AT_2(L, h, l, o), AT_2(L, h, l + 2, o)
#define AT_8(L, h, l, o) AT_4(L, h, l, o), AT_4(L, h, l + 4, o)
#define AT_16(L, h, l, o) AT_8(L, h, l, o), AT_8(L, h, l + 8, o)
#define HALVED(I, L, h, a, b) (__builtin_shuffle(a, b, (I){ AT_##L(L, h, 0, 0) }) + __builtin_shuffle(a, b, (I){ AT_##L(L, h, 0, h) }))
#define HALVE(I, L, h, r) for (int q = 0; q < (h); q++) (r)[q] = HALVED(I, L, h, (r)[q], (r)[q + (h)])
#define TREE_1(I, L, r) (void)0
#define TREE_2(I, L, r) HALVE(I, L, 1, r)
#define TREE_4(I, L, r) HALVE(I, L, 2, r); TREE_2(I, L, r)
#define TREE_8(I, L, r) HALVE(I, L, 4, r); TREE_4(I, L, r)
#define TREE_16(I, L, r) HALVE(I, L, 8, r); TREE_8(I, L, r)
/* Both operands contiguous along k: as tp_dot. A line of the few times L of the many is a vector of sums. */
enum { FOUR = 4 };
#define DOTS(sfx, S, I, MAD, SCALAR_MAD, DOT_LANES, L, QUARTER) \
  typedef S v_##sfx __attribute__((vector_size(VBYTES), aligned(sizeof(S)), may_alias)); \
  typedef I i_##sfx __attribute__((vector_size(VBYTES))); \
  /* what is left of n products when whole rows of lanes are added up */ \
  KI void lanes_##sfx(int n, const S *x, const S *y, int64_t sy, int64_t k, v_##sfx *o) { \
    enum { D = DOT_LANES, G = D / L }; \
    v_##sfx r[FOUR][4 * G]; \
    int64_t p = 0; \
    for (int i = 0; i < n; i++) \
      for (int q = 0; q < 4 * G; q++) r[i][q] = (v_##sfx){0}; \
    for (; p + 4 * D <= k; p += 4 * D) \
      for (int q = 0; q < 4 * G; q++) { \
        v_##sfx a = *(const v_##sfx *)(x + p + q * L); \
        for (int i = 0; i < n; i++) r[i][q] = MAD(*(const v_##sfx *)(y + i * sy + p + q * L), a, r[i][q]); \
      } \
    for (; p + D <= k; p += D) \
      for (int q = 0; q < G; q++) \
        for (int i = 0; i < n; i++) r[i][q] = MAD(*(const v_##sfx *)(y + i * sy + p + q * L), *(const v_##sfx *)(x + p + q * L), r[i][q]); \
    for (int i = 0; i < n; i++) { \
      for (int q = 0; q < G; q++) r[i][q] = (r[i][q] + r[i][G + q]) + (r[i][2 * G + q] + r[i][3 * G + q]); \
      for (int h = G / 2; h; h /= 2) \
        for (int q = 0; q < h; q++) r[i][q] += r[i][q + h]; \
      o[i] = r[i][0]; \
    } } \
  /* of L of them the sums */ \
  KI v_##sfx vector_##sfx(const S *x, const S *y, int64_t sy, int64_t k) { \
    v_##sfx r[QUARTER], o[FOUR]; \
    for (int q = 0; q < QUARTER; q++, y += sy) { \
      lanes_##sfx(FOUR, x, y, QUARTER * sy, k, o); \
      o[0] = HALVED(i_##sfx, L, 2 * QUARTER, o[0], o[2]); \
      o[1] = HALVED(i_##sfx, L, 2 * QUARTER, o[1], o[3]); \
      r[q] = HALVED(i_##sfx, L, QUARTER, o[0], o[1]); \
    } \
    TREE_##QUARTER(i_##sfx, L, r); \
    return r[0]; } \
  KI v_##sfx some_##sfx(const S *x, const S *y, int64_t sy, int n, int64_t k) { \
    v_##sfx r[L]; \
    for (int q = 0; q < L; q++) \
      if (q < n) lanes_##sfx(1, x, y + q * sy, sy, k, r + q); \
      else r[q] = (v_##sfx){0}; \
    TREE_##L(i_##sfx, L, r); \
    return r[0]; } \
  /* x times n lines y, of which each is sc further on in c */ \
  KI void line_##sfx(const S *x, const S *y, int64_t sy, int n, int64_t k, S *c, int64_t sc, bool acc) { \
    v_##sfx r = n == L && DOT_LANES == L ? vector_##sfx(x, y, sy, k) : some_##sfx(x, y, sy, n, k); \
    int64_t p = k / DOT_LANES * DOT_LANES; \
    if (p == k && sc == 1 && n == L) { \
      v_##sfx *to = (v_##sfx *)c; \
      if (acc) *to += r; \
      else *to = r; \
      return; \
    } \
    S sum[L]; \
    *(v_##sfx *)sum = r; \
    for (int q = 0; q < n; q++, c += sc, y += sy) { \
      for (int64_t w = p; w < k; w++) sum[q] = (S)SCALAR_MAD(x[w], y[w], sum[q]); \
      *c = acc ? (S)(*c + sum[q]) : sum[q]; \
    } } \
  static __attribute__((noinline)) void dots_##sfx(const tp_mm *s, const S *a, const S *b, S *c, bool acc) { \
    bool turned = s->n < s->m; \
    const S *x = turned ? b : a, *y = turned ? a : b; \
    int64_t few = turned ? s->n : s->m, many = turned ? s->m : s->n, sx = turned ? s->sbn : s->sam, sy = turned ? s->sam : s->sbn; \
    int64_t cx = turned ? s->scn : s->scm, cy = turned ? s->scm : s->scn, j = 0; \
    for (; j + L <= many; j += L) \
      for (int64_t i = 0; i < few; i++) line_##sfx(x + i * sx, y + j * sy, sy, L, s->k, c + i * cx + j * cy, cy, acc); \
    for (int64_t i = 0; i < few && j < many; i++) line_##sfx(x + i * sx, y + j * sy, sy, (int)(many - j), s->k, c + i * cx + j * cy, cy, acc); \
  }
/* ALONG: what multiplies a few rows or columns that are contiguous along k, if that has an order of its own. */
#define GEMM(sfx, T, S, MAD, SCALAR_MAD, ALONG, NVECTORS) \
  enum { L_##sfx = VBYTES / sizeof(S), NV_##sfx = NVECTORS, NR_##sfx = NVECTORS * L_##sfx }; \
  /* c (mr x nv vectors) (+)= A (mr x k) * panel; of the last vector the lanes `last` */ \
  KI void tile_##sfx(int mr, int nv, int64_t k, const S *a, int64_t sam, int64_t sak, const S *b, int64_t ldb, S *c, int64_t ldc, bool acc, uint64_t last) { \
    v_##sfx r[MM_TALL][NV_##sfx], x[NV_##sfx]; \
    for (int i = 0; i < mr; i++) \
      for (int v = 0; v < nv; v++) r[i][v] = (v_##sfx){0}; \
    for (int64_t p = 0; p < k; p++, b += ldb) { \
      for (int v = 0; v < nv - 1; v++) x[v] = *(const v_##sfx *)(b + v * L_##sfx); \
      x[nv - 1] = LAST_##sfx(b + (nv - 1) * L_##sfx, last); \
      for (int i = 0; i < mr; i++) { \
        S y = a[i * sam + p * sak]; \
        for (int v = 0; v < nv; v++) r[i][v] = MAD(x[v], y, r[i][v]); \
      } \
    } \
    for (int i = 0; i < mr; i++, c += ldc) { \
      for (int v = 0; v < nv - 1; v++) { \
        v_##sfx *to = (v_##sfx *)(c + v * L_##sfx); \
        if (acc) *to += r[i][v]; \
        else *to = r[i][v]; \
      } \
      S *end = c + (nv - 1) * L_##sfx; \
      if (acc) r[i][nv - 1] += LAST_##sfx(end, last); \
      PUT_LAST_##sfx(end, r[i][nv - 1], last); \
    } } \
  KI void vectors_##sfx(int mr, int nv, int64_t k, const S *a, int64_t sam, int64_t sak, const S *b, int64_t ldb, S *c, int64_t ldc, bool acc, uint64_t last) { \
    switch (nv < NV_##sfx ? nv : NV_##sfx) { \
      case 1: tile_##sfx(mr, 1, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
      case 2: tile_##sfx(mr, 2, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
      case 3: tile_##sfx(mr, NV_##sfx > 2 ? 3 : 2, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
      default: tile_##sfx(mr, NV_##sfx, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
    } } \
  static void rows_##sfx(int64_t mr, int nv, int64_t k, const S *a, int64_t sam, int64_t sak, const S *b, int64_t ldb, S *c, int64_t ldc, bool acc, uint64_t last) { \
    switch (mr) { \
      case 1: vectors_##sfx(1, nv, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
      case 2: vectors_##sfx(2, nv, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
      case 3: vectors_##sfx(3, nv, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
      case MM_TALL: tile_##sfx(MM_TALL, 1, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
      default: vectors_##sfx(MM_MR, nv, k, a, sam, sak, b, ldb, c, ldc, acc, last); break; \
    } } \
  static void turn_##sfx(S *o, int64_t ldo, const S *b, int64_t sbn, int64_t k, int64_t n) { \
    int64_t j = 0; \
    for (; TURN_WIDE && sizeof(S) == 4 && j + TURN_WIDE <= n; j += TURN_WIDE) { \
      int64_t p = 0; \
      for (; p + 4 <= k; p += 4) turn_wide(o + p * ldo + j, ldo, b + p + j * sbn, sbn); \
      for (; p < k; p++) \
        for (int q = 0; q < TURN_WIDE; q++) o[p * ldo + j + q] = b[p + (j + q) * sbn]; \
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
  static void pack_##sfx(S *o, int64_t ldo, const S *b, int64_t sbk, int64_t sbn, int64_t k, int64_t n) { \
    if (n < ldo) memset(o, 0, sizeof(S) * (size_t)(k * ldo)); \
    if (sbk == 1) turn_##sfx(o, ldo, b, sbn, k, n); \
    else if (sbn == 1) for (int64_t p = 0; p < k; p++) memcpy(o + p * ldo, b + p * sbk, sizeof(S) * (size_t)n); \
    else for (int64_t p = 0; p < k; p++) for (int64_t j = 0; j < n; j++) o[p * ldo + j] = b[p * sbk + j * sbn]; \
  } \
  static void put_##sfx(const tp_mm *s, S *c, const S *tile, int64_t ldt, int64_t m, int64_t n, bool acc) { \
    for (int64_t i = 0; i < m; i++, c += s->scm, tile += ldt) { \
      if (s->scn == 1 && acc) for (int64_t j = 0; j < n; j++) c[j] += tile[j]; \
      else if (s->scn == 1) for (int64_t j = 0; j < n; j++) c[j] = tile[j]; \
      else for (int64_t j = 0; j < n; j++) c[j * s->scn] = acc ? (S)(c[j * s->scn] + tile[j]) : tile[j]; \
    } } \
  /* one row: four vectors of columns at a time, k in order */ \
  static int64_t row_##sfx(const tp_mm *s, const S *a, const S *b, S *c, bool acc) { \
    int64_t j = 0; \
    for (; j + 4 * L_##sfx <= s->n; j += 4 * L_##sfx) { \
      v_##sfx r[4]; \
      for (int64_t p0 = 0; p0 < s->k; p0 += MM_KC) { \
        for (int q = 0; q < 4; q++) r[q] = (v_##sfx){0}; \
        for (int64_t p = p0; p < s->k && p < p0 + MM_KC; p++) \
          for (int q = 0; q < 4; q++) r[q] = MAD(*(const v_##sfx *)(b + p * s->sbk + j + q * L_##sfx), a[p * s->sak], r[q]); \
        for (int q = 0; q < 4; q++) { \
          v_##sfx *to = (v_##sfx *)(c + j + q * L_##sfx); \
          if (acc || p0) *to += r[q]; \
          else *to = r[q]; \
        } \
      } \
    } \
    return j; } \
  /* a few rows, a few columns, four sums at a time: packing a panel would cost more than the products */ \
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
        S r[4] = {0}; \
        for (int64_t p = p0; p < s->k && p < p0 + MM_KC; p++) \
          for (int q = 0; q < 4; q++) r[q] = (S)SCALAR_MAD(x[q][p * s->sak], y[q][p * s->sbk], r[q]); \
        for (int q = 0; q < n; q++) *o[q] = acc || p0 ? (S)(*o[q] + r[q]) : r[q]; \
      } \
    } } \
  static void panel_##sfx(const tp_mm *s, const S *a, const S *b, int64_t ldb, S *c, int64_t k, int64_t n, bool acc) { \
    S tile[MM_TALL * NR_##sfx]; \
    int nv = (int)((n + L_##sfx - 1) / L_##sfx); \
    bool whole = s->scn == 1 && (MASKS || n % L_##sfx == 0); \
    uint64_t last = whole && n % L_##sfx ? ((uint64_t)1 << n % L_##sfx) - 1 : ~(uint64_t)0; \
    for (int64_t i = 0, mr; i < s->m; i += mr) { \
      mr = s->m - i < MM_MR ? s->m - i : nv == 1 && s->m - i >= MM_TALL ? MM_TALL : MM_MR; \
      rows_##sfx(mr, nv, k, a + i * s->sam, s->sam, s->sak, b, ldb, whole ? c + i * s->scm : tile, whole ? s->scm : NR_##sfx, whole && acc, last); \
      if (!whole) put_##sfx(s, c + i * s->scm, tile, NR_##sfx, mr, n, acc); \
    } } \
  /* k terms of all columns */ \
  static void block_##sfx(const tp_mm *s, const S *a, const S *b, S *c, int64_t k, bool acc) { \
    S pack[MM_KC * NR_##sfx] __attribute__((aligned(64))); \
    for (int64_t j = 0; j < s->n; j += NR_##sfx) { \
      int64_t n = s->n - j < NR_##sfx ? s->n - j : NR_##sfx; \
      const S *bp = b + j * s->sbn; \
      bool direct = ((MASKS && s->scn == 1) || n % L_##sfx == 0) && s->sbn == 1 && (s->m < MM_PACKED || k < MM_PACKED || s->sbk <= MM_NEAR); \
      int64_t ldb = direct ? s->sbk : (n + L_##sfx - 1) / L_##sfx * L_##sfx; \
      if (!direct) pack_##sfx(pack, ldb, bp, s->sbk, s->sbn, k, n); \
      panel_##sfx(s, a, direct ? bp : pack, ldb, c + j * s->scn, k, n, acc); \
    } } \
  static void mm_##sfx(const tp_mm *s, const void *a_, const void *b_, void *c_, bool acc) { \
    const S *a = a_, *b = b_; S *c = c_; \
    if (!s->ordered && s->sak == 1 && s->sbk == 1 && (s->m < TP_DOT_FEW || s->n < TP_DOT_FEW) && s->k >= TP_DOT_LEAST && ALONG != few_##sfx) { ALONG(s, a, b, c, acc); return; } \
    if (s->m <= 2 && s->sbn == 1 && s->scn == 1 && s->n >= 4 * L_##sfx && s->k <= 4 * MM_KC) { \
      int64_t j = 0; \
      for (int64_t i = 0; i < s->m; i++) j = row_##sfx(s, a + i * s->sam, b, c + i * s->scm, acc); \
      if (j == s->n) return; \
      tp_mm rest = *s; \
      rest.n -= j; \
      mm_##sfx(&rest, a, b + j, c + j, acc); \
      return; \
    } \
    if (!(MASKS && s->sbn == 1 && s->scn == 1) && s->n < L_##sfx / 2 + 1 && (s->m <= 3 || s->m * s->n * s->k <= 256)) { few_##sfx(s, a, b, c, acc); return; } \
    tp_mm part = *s; \
    for (int64_t p = 0; p < s->k; p += MM_KC) \
      for (int64_t i = 0; i < s->m; i += MM_MC) { \
        part.m = s->m - i < MM_MC ? s->m - i : MM_MC; \
        block_##sfx(&part, a + i * s->sam + p * s->sak, b + p * s->sbk, c + i * s->scm, s->k - p < MM_KC ? s->k - p : MM_KC, acc || p > 0); \
      } }
#define WIDE_PANEL (VBYTES == 64 ? 4 : 2)                /* as many as there are registers for */
#if VBYTES == 64
DOTS(f32, float, int32_t, MAD_f32, tp_mad_f32, 16, 16, 4)
DOTS(f64, double, int64_t, MAD_f64, tp_mad_f64, 8, 8, 2)
#elif VBYTES == 32
DOTS(f32, float, int32_t, MAD_f32, tp_mad_f32, 16, 8, 2)
DOTS(f64, double, int64_t, MAD_f64, tp_mad_f64, 8, 4, 1)
#else
DOTS(f32, float, int32_t, MAD_f32, tp_mad_f32, 16, 4, 1)
DOTS(f64, double, int64_t, MAD_f64, tp_mad_f64, 8, 2, 1)
#endif
#define VECTOR(sfx, U) typedef U v_##sfx __attribute__((vector_size(VBYTES), aligned(sizeof(U)), may_alias));
VECTOR(i32, uint32_t)
VECTOR(i64, uint64_t)
VECTOR(u8, uint8_t)
GEMM(f32, float, float, MAD_f32, tp_mad_f32, dots_f32, WIDE_PANEL)
GEMM(f64, double, double, MAD_f64, tp_mad_f64, dots_f64, WIDE_PANEL)
GEMM(i32, int32_t, uint32_t, MAD, MAD, few_i32, 2)
GEMM(i64, int64_t, uint64_t, MAD, MAD, few_i64, 2)
GEMM(u8, uint8_t, uint8_t, MAD, MAD, few_u8, 2)
