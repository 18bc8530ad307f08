/* Matrix products of any strides; prelude/fold.h says how terms are added up. B is taken in panels of up to NR columns (packed unless its rows are contiguous and few), MR rows of a panel of C are held in
 * registers. */
#ifndef VBYTES
#define VBYTES 16
#endif
enum { MM_KC = TP_DOT_BLOCK, MM_MR = 4, MM_PACKED = 64, MM_NEAR = 256 };      /* PACKED: rows, and depth, from which on a panel is copied that lies well already but for rows far apart */

/* a * b + c of vectors; b may be one number. */
#define MAD(a, b, c) ((a) * (b) + (c))
#if VBYTES == 64
#define MAD_f32(a, b, c) ((v_f32)_mm512_fmadd_ps((__m512)(a), (__m512)((v_f32){0} + (b)), (__m512)(c)))
#define MAD_f64(a, b, c) ((v_f64)_mm512_fmadd_pd((__m512d)(a), (__m512d)((v_f64){0} + (b)), (__m512d)(c)))
#elif VBYTES == 32
#define MAD_f32(a, b, c) ((v_f32)_mm256_fmadd_ps((__m256)(a), (__m256)((v_f32){0} + (b)), (__m256)(c)))
#define MAD_f64(a, b, c) ((v_f64)_mm256_fmadd_pd((__m256d)(a), (__m256d)((v_f64){0} + (b)), (__m256d)(c)))
#elif FMA
#define FUSED(T, mad, a, b, c) ({ T a_ = (a), b_ = (T){0} + (b), c_ = (c); for (int l = 0; l < (int)(sizeof c_ / sizeof c_[0]); l++) c_[l] = mad(a_[l], b_[l], c_[l]); c_; })
#define MAD_f32(a, b, c) FUSED(v_f32, tp_mad_f32, a, b, c)
#define MAD_f64(a, b, c) FUSED(v_f64, tp_mad_f64, a, b, c)
#else
#define MAD_f32 MAD
#define MAD_f64 MAD
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
#define GEMM(sfx, T, S, MAD, SCALAR_MAD, DOT_LANES, NVECTORS) \
  typedef S v_##sfx __attribute__((vector_size(VBYTES), aligned(sizeof(S)), may_alias)); \
  enum { L_##sfx = VBYTES / sizeof(S), NV_##sfx = NVECTORS, NR_##sfx = NVECTORS * L_##sfx }; \
  /* c (mr x nv vectors) (+)= A (mr x k) * panel */ \
  KI void tile_##sfx(int mr, int nv, int64_t k, const S *a, int64_t sam, int64_t sak, const S *b, int64_t ldb, S *c, int64_t ldc, bool acc) { \
    v_##sfx r[MM_MR][NV_##sfx], x[NV_##sfx]; \
    for (int i = 0; i < mr; i++) \
      for (int v = 0; v < nv; v++) r[i][v] = (v_##sfx){0}; \
    for (int64_t p = 0; p < k; p++, b += ldb) { \
      for (int v = 0; v < nv; v++) x[v] = *(const v_##sfx *)(b + v * L_##sfx); \
      for (int i = 0; i < mr; i++) { \
        S y = a[i * sam + p * sak]; \
        for (int v = 0; v < nv; v++) r[i][v] = MAD(x[v], y, r[i][v]); \
      } \
    } \
    for (int i = 0; i < mr; i++, c += ldc) \
      for (int v = 0; v < nv; v++) { \
        v_##sfx *to = (v_##sfx *)(c + v * L_##sfx); \
        if (acc) *to += r[i][v]; \
        else *to = r[i][v]; \
      } } \
  KI void vectors_##sfx(int mr, int nv, int64_t k, const S *a, int64_t sam, int64_t sak, const S *b, int64_t ldb, S *c, int64_t ldc, bool acc) { \
    switch (nv < NV_##sfx ? nv : NV_##sfx) { \
      case 1: tile_##sfx(mr, 1, k, a, sam, sak, b, ldb, c, ldc, acc); break; \
      case 2: tile_##sfx(mr, 2, k, a, sam, sak, b, ldb, c, ldc, acc); break; \
      case 3: tile_##sfx(mr, NV_##sfx > 2 ? 3 : 2, k, a, sam, sak, b, ldb, c, ldc, acc); break; \
      default: tile_##sfx(mr, NV_##sfx, k, a, sam, sak, b, ldb, c, ldc, acc); break; \
    } } \
  static void rows_##sfx(int64_t mr, int nv, int64_t k, const S *a, int64_t sam, int64_t sak, const S *b, int64_t ldb, S *c, int64_t ldc, bool acc) { \
    switch (mr) { \
      case 1: vectors_##sfx(1, nv, k, a, sam, sak, b, ldb, c, ldc, acc); break; \
      case 2: vectors_##sfx(2, nv, k, a, sam, sak, b, ldb, c, ldc, acc); break; \
      case 3: vectors_##sfx(3, nv, k, a, sam, sak, b, ldb, c, ldc, acc); break; \
      default: vectors_##sfx(MM_MR, nv, k, a, sam, sak, b, ldb, c, ldc, acc); break; \
    } } \
  static void turn_##sfx(S *o, int64_t ldo, const S *b, int64_t sbn, int64_t k, int64_t n) { \
    int64_t j = 0; \
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
  /* both operands contiguous along k: as tp_dot */ \
  static S dot_##sfx(const S *x, const S *y, int64_t k) { \
    enum { D = DOT_LANES, G = D / L_##sfx }; \
    v_##sfx r[4 * G]; \
    S part[D]; \
    int64_t p = 0; \
    for (int q = 0; q < 4 * G; q++) r[q] = (v_##sfx){0}; \
    for (; p + 4 * D <= k; p += 4 * D) \
      for (int q = 0; q < 4 * G; q++) r[q] = MAD(*(const v_##sfx *)(x + p + q * L_##sfx), *(const v_##sfx *)(y + p + q * L_##sfx), r[q]); \
    for (; p + D <= k; p += D) \
      for (int q = 0; q < G; q++) r[q] = MAD(*(const v_##sfx *)(x + p + q * L_##sfx), *(const v_##sfx *)(y + p + q * L_##sfx), r[q]); \
    for (int q = 0; q < G; q++) *(v_##sfx *)(part + q * L_##sfx) = (r[q] + r[G + q]) + (r[2 * G + q] + r[3 * G + q]); \
    for (int h = D / 2; h; h /= 2) \
      for (int l = 0; l < h; l++) part[l] = (S)(part[l] + part[l + h]); \
    S sum = part[0]; \
    for (; p < k; p++) sum = (S)SCALAR_MAD(x[p], y[p], sum); \
    return sum; } \
  static void dots_##sfx(const tp_mm *s, const S *a, const S *b, S *c, bool acc) { \
    for (int64_t i = 0; i < s->m; i++) \
      for (int64_t j = 0; j < s->n; j++) { \
        S sum = dot_##sfx(a + i * s->sam, b + j * s->sbn, s->k), *o = c + i * s->scm + j * s->scn; \
        *o = acc ? (S)(*o + sum) : sum; \
      } } \
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
    S tile[MM_MR * NR_##sfx]; \
    int nv = (int)((n + L_##sfx - 1) / L_##sfx); \
    bool whole = s->scn == 1 && n % L_##sfx == 0; \
    for (int64_t i = 0; i < s->m; i += MM_MR) { \
      int64_t mr = s->m - i < MM_MR ? s->m - i : MM_MR; \
      rows_##sfx(mr, nv, k, a + i * s->sam, s->sam, s->sak, b, ldb, whole ? c + i * s->scm : tile, whole ? s->scm : NR_##sfx, whole && acc); \
      if (!whole) put_##sfx(s, c + i * s->scm, tile, NR_##sfx, mr, n, acc); \
    } } \
  static void mm_##sfx(const tp_mm *s, const void *a_, const void *b_, void *c_, bool acc) { \
    const S *a = a_, *b = b_; S *c = c_; \
    S pack[MM_KC * NR_##sfx] __attribute__((aligned(64))); \
    if (!s->ordered && s->sak == 1 && s->sbk == 1 && (s->m < TP_DOT_FEW || s->n < TP_DOT_FEW) && s->k >= TP_DOT_LEAST) { dots_##sfx(s, a, b, c, acc); return; } \
    if (s->m <= 2 && s->sbn == 1 && s->scn == 1 && s->n >= 4 * L_##sfx && s->k <= 4 * MM_KC) { \
      int64_t j = 0; \
      for (int64_t i = 0; i < s->m; i++) j = row_##sfx(s, a + i * s->sam, b, c + i * s->scm, acc); \
      if (j == s->n) return; \
      tp_mm rest = *s; \
      rest.n -= j; \
      mm_##sfx(&rest, a, b + j, c + j, acc); \
      return; \
    } \
    if (s->n < L_##sfx / 2 + 1 && (s->m <= 3 || s->m * s->n * s->k <= 256)) { few_##sfx(s, a, b, c, acc); return; } \
    for (int64_t p = 0; p < s->k; p += MM_KC) { \
      int64_t k = s->k - p < MM_KC ? s->k - p : MM_KC; \
      for (int64_t j = 0; j < s->n; j += NR_##sfx) { \
        int64_t n = s->n - j < NR_##sfx ? s->n - j : NR_##sfx; \
        const S *bp = b + p * s->sbk + j * s->sbn; \
        bool direct = n % L_##sfx == 0 && s->sbn == 1 && (s->m < MM_PACKED || k < MM_PACKED || s->sbk <= MM_NEAR); \
        int64_t ldb = direct ? s->sbk : (n + L_##sfx - 1) / L_##sfx * L_##sfx; \
        if (!direct) pack_##sfx(pack, ldb, bp, s->sbk, s->sbn, k, n); \
        panel_##sfx(s, a + p * s->sak, direct ? bp : pack, ldb, c + j * s->scn, k, n, acc || p > 0); \
      } \
    } }
#define WIDE_PANEL (VBYTES == 64 ? 4 : 2)                /* as many as there are registers for */
GEMM(f32, float, float, MAD_f32, tp_mad_f32, 16, WIDE_PANEL)
GEMM(f64, double, double, MAD_f64, tp_mad_f64, 8, WIDE_PANEL)
GEMM(i32, int32_t, uint32_t, MAD, MAD, 16, 2)
GEMM(i64, int64_t, uint64_t, MAD, MAD, 8, 2)
GEMM(u8, uint8_t, uint8_t, MAD, MAD, 64, 2)
