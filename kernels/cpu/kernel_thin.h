/* Products in f32 with a matrix B that is read as it is stored: f32, bf16 or f16, widened in
 * registers or in the nearest cache. Sums have the orders of prelude/fold.h, which do not depend on
 * the number of rows. */

/* A vector of floats from where it is stored. */
typedef uint32_t thin_words __attribute__((vector_size(VBYTES)));
typedef uint16_t thin_halves __attribute__((vector_size(VBYTES / 2), aligned(2), may_alias));
KI v_f32 thin_f32(const float *p) { return *(const v_f32 *)p; }
#if VBYTES == 64
KI v_f32 thin_bf16(const uint16_t *p) {
  __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
  return (v_f32)_mm512_slli_epi32(wide, 16);
}
KI v_f32 thin_f16(const uint16_t *p) {
  return (v_f32)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
#elif VBYTES == 32
KI v_f32 thin_bf16(const uint16_t *p) {
  __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
  return (v_f32)_mm256_slli_epi32(wide, 16);
}
KI v_f32 thin_f16(const uint16_t *p) {
  return (v_f32)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
#else
KI v_f32 thin_bf16(const uint16_t *p) {
  return (v_f32)(__builtin_convertvector(*(const thin_halves *)p, thin_words) << 16);
}
KI v_f32 thin_f16(const uint16_t *p) {
#ifdef __aarch64__
  return (v_f32)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
#else
  v_f32 o;
  for (int l = 0; l < L_f32; l++) o[l] = tp_load_f16(p[l]);
  return o;
#endif
}
#endif
#define load_f32 load_4
#define load_f64 load_8

/* ---- rows of B are contiguous: terms one by one ----
 *
 * THIN_TERMS terms of some columns are in registers while all rows take them. The sums of a block
 * of terms lie in the nearest cache; they are of as many columns as fit there, up to THIN_LONGEST,
 * so that B is read in long lines. */
enum {
  THIN_TERMS = 8,
  THIN_PAIR = VBYTES == 64 ? 2 : 1,
  THIN_ROWS = 32,
  THIN_SUMS = 8192,
  THIN_LONGEST = 4096
};
/* c (m x n) (+)= sums (m x n) */
static void thin_put(
    const tp_mm *s, int64_t m, float *c, const float *sums, int64_t ld, int64_t n, bool acc) {
  for (int64_t i = 0; i < m; i++, c += s->scm, sums += ld)
    if (s->scn == 1 && acc)
      for (int64_t j = 0; j < n; j++) c[j] += sums[j];
    else
      for (int64_t j = 0; j < n; j++) c[j * s->scn] = acc ? c[j * s->scn] + sums[j] : sums[j];
}
#define THIN(sfx, S) \
  /* sums (m x nv vectors) += A (m x terms) * B (terms x nv vectors) */ \
  KI void thin_step_##sfx(int terms, int nv, int64_t m, const float *a, int64_t sam, const S *b, \
      int64_t sbk, float *sums, int64_t ld) { \
    v_f32 t[THIN_TERMS][THIN_PAIR]; \
    UNROLLED for (int q = 0; q < terms; q++) UNROLLED for (int v = 0; v < nv; v++) t[q][v] = \
        thin_##sfx(b + q * sbk + v * L_f32); \
    for (int64_t i = 0; i < m; i++, a += sam, sums += ld) { \
      v_f32 r[THIN_PAIR]; \
      UNROLLED for (int v = 0; v < nv; v++) r[v] = ((const v_f32 *)sums)[v]; \
      UNROLLED for (int q = 0; q < terms; q++) UNROLLED for (int v = 0; v < nv; v++) r[v] = \
          MAD_f32(t[q][v], a[q], r[v]); \
      UNROLLED for (int v = 0; v < nv; v++)((v_f32 *)sums)[v] = r[v]; \
    } \
  } \
  /* of n columns, whole vectors; meanwhile the terms behind these come nearer */ \
  KI void thin_steps_##sfx(int terms, int64_t m, int64_t n, const float *a, int64_t sam, \
      const S *b, int64_t sbk, float *sums, int64_t ld) { \
    int64_t j = 0; \
    for (; j + THIN_PAIR * L_f32 <= n; j += THIN_PAIR * L_f32) { \
      for (int q = 0; terms > 1 && q < terms; q++) \
        for (int l = 0; l < THIN_PAIR * L_f32 * (int)sizeof(S); l += 64) \
          __builtin_prefetch((const char *)(b + (terms + q) * sbk + j) + l); \
      thin_step_##sfx(terms, THIN_PAIR, m, a, sam, b + j, sbk, sums + j, ld); \
    } \
    if (j < n) thin_step_##sfx(terms, 1, m, a, sam, b + j, sbk, sums + j, ld); \
  } \
  /* sums (m x n) = A (m x k) * B (k x n) */ \
  static __attribute__((noinline)) void thin_block_##sfx(int64_t m, int64_t n, int64_t k, \
      const float *a, int64_t sam, const S *b, int64_t sbk, float *sums, int64_t ld) { \
    int64_t p = 0; \
    for (int64_t i = 0; i < m; i++) memset(sums + i * ld, 0, sizeof(float) * (size_t)n); \
    for (; p + THIN_TERMS <= k; p += THIN_TERMS) \
      thin_steps_##sfx(THIN_TERMS, m, n, a + p, sam, b + p * sbk, sbk, sums, ld); \
    for (; p < k; p++) thin_steps_##sfx(1, m, n, a + p, sam, b + p * sbk, sbk, sums, ld); \
  } \
  /* n columns of m rows; the last ones, which fill no vector, are widened first */ \
  static void thin_strip_##sfx( \
      const tp_mm *s, int64_t m, int64_t n, const float *a, const S *b, float *c, bool acc) { \
    float sums[THIN_SUMS] __attribute__((aligned(64))), rest[TP_DOT_BLOCK * L_f32], \
        rows[THIN_ROWS * TP_DOT_BLOCK]; \
    int64_t most = n - n % L_f32, sam = s->sak == 1 ? s->sam : TP_DOT_BLOCK; \
    for (int64_t p = 0, k; p < s->k; p += k, a += k * s->sak, b += k * s->sbk) { \
      k = s->k - p < TP_DOT_BLOCK ? s->k - p : TP_DOT_BLOCK; \
      for (int64_t i = 0; s->sak != 1 && i < m; i++) \
        load_4(rows + i * sam, a + i * s->sam, 0, s->sak, 1, k); \
      const float *x = s->sak == 1 ? a : rows; \
      if (most) thin_block_##sfx(m, most, k, x, sam, b, s->sbk, sums, most); \
      if (most) thin_put(s, m, c, sums, most, most, acc || p); \
      if (most == n) continue; \
      memset(rest, 0, sizeof rest); \
      for (int64_t q = 0; q < k; q++) \
        load_##sfx(rest + q * L_f32, b + q * s->sbk + most, 0, 1, 1, n - most); \
      thin_block_f32(m, L_f32, k, x, sam, rest, L_f32, sums, L_f32); \
      thin_put(s, m, c + most * s->scn, sums, L_f32, n - most, acc || p); \
    } \
  } \
  static void thin_rows_##sfx(const tp_mm *s, const float *a, const S *b, float *c, bool acc) { \
    int64_t rows = s->m < THIN_ROWS ? s->m : THIN_ROWS, vector = THIN_PAIR * L_f32, \
            wide = THIN_SUMS / rows / vector * vector; \
    if (wide > THIN_LONGEST) wide = THIN_LONGEST; \
    for (int64_t j = 0; j < s->n; j += wide) \
      for (int64_t i = 0; i < s->m; i += rows) \
        thin_strip_##sfx(s, s->m - i < rows ? s->m - i : rows, s->n - j < wide ? s->n - j : wide, \
            a + i * s->sam, b + j, c + i * s->scm + j * s->scn, acc); \
  }
THIN(f32, float)
THIN(bf16, uint16_t)
THIN(f16, uint16_t)

/* ---- both operands are contiguous along k: terms in lanes ----
 *
 * More than DOT_THIN rows: TP_DOT_LONG terms of DOT_LINES lines of B, and of as many rows of A as
 * DOT_ROOM bytes hold, lie side by side as floats. */
enum { DOT_LINES = 16, DOT_THIN = 16, DOT_ROOM = 256 << 10 };
#define DOT_LINED(sfx, T, D, S) \
  static __attribute__((noinline)) void lined_##sfx( \
      const tp_mm *s, const D *a, const S *b, D *c, bool acc) { \
    enum { ROWS = DOT_ROOM / (TP_DOT_LONG * sizeof(D)) }; \
    D t[DOT_LINES * TP_DOT_LONG] __attribute__((aligned(64))), \
        x[ROWS * TP_DOT_LONG] __attribute__((aligned(64))); \
    for (int64_t i0 = 0; i0 < s->m; i0 += ROWS) \
      for (int64_t p = 0; p < s->k; p += TP_DOT_LONG) { \
        int64_t rows = s->m - i0 < ROWS ? s->m - i0 : ROWS, \
                k = s->k - p < TP_DOT_LONG ? s->k - p : TP_DOT_LONG; \
        load_##T(x, a + i0 * s->sam + p, s->sam, 1, rows, k); \
        for (int64_t j = 0; j < s->n; j += DOT_LINES) { \
          int n = s->n - j < DOT_LINES ? (int)(s->n - j) : DOT_LINES; \
          mm_next next = { (const char *)(b + (j + n) * s->sbn + p), \
            j + 2 * DOT_LINES <= s->n ? DOT_LINES : 0, s->sbn * (int64_t)sizeof(S), \
            k * (int64_t)sizeof(S) }; \
          for (int q = 0; q < n; q++) load_##sfx(t + q * k, b + (j + q) * s->sbn + p, 0, 1, 1, k); \
          for (int64_t i = 0, f; i < rows; i += f) { \
            f = rows - i >= DOT_PAIRS ? DOT_PAIRS : rows - i >= 2 ? 2 : 1; \
            fetch_part(&next, i, rows, f); \
            for (int q = 0; q < n; q += L_##T) \
              line_##T(f, x + i * k, k, t + q * k, k, n - q < L_##T ? n - q : L_##T, k, \
                  c + (i0 + i) * s->scm + (j + q) * s->scn, s->scm, s->scn, acc || p); \
          } \
        } \
      } \
  }
DOT_LINED(f64, f64, double, double)
DOT_LINED(f32, f32, float, float)
DOT_LINED(bf16, f32, float, uint16_t)
DOT_LINED(f16, f32, float, uint16_t)

/* Fewer rows take lines of B where they lie: DOT_STREAMS of them at a time, as far apart as can be,
 * so that each stream goes on without a break. FOUR rows go together; the next FOUR find the lines
 * in a cache. DOT_GROUP lines of each stream are joined together; the lanes of DOT_KEPT blocks are
 * kept until then. */
#if VBYTES == 64
enum { DOT_STREAMS = 4 };
#define DOT_TREE(r) TREE_16(i_f32, 16, r)
#elif VBYTES == 32
enum { DOT_STREAMS = 2 };
#define DOT_TREE(r) TREE_8(i_f32, 8, r)
#else
enum { DOT_STREAMS = 1 };
#define DOT_TREE(r) TREE_4(i_f32, 4, r)
#endif
enum {
  DOT_VECTORS = 16 / L_f32,
  DOT_GROUP = 16 / DOT_STREAMS,
  DOT_KEPT = 64,
  DOT_AHEAD = 2048,
  DOT_STRIP = 512,
  DOT_ROW = TP_DOT_LONG + 16
};
#define DIRECT(sfx, S, get) \
  /* of f rows and some lines the lanes of a block; meanwhile streams from .. to of `next` come \
   * nearer */ \
  KI void direct_lanes_##sfx(bool all, int f, int some, const float *x, int64_t sx, const S *y, \
      int64_t sy, int64_t k, const S *next, int from, int to, v_f32 u[][16][DOT_VECTORS]) { \
    v_f32 o[FOUR][FOUR][DOT_VECTORS]; \
    int64_t p = 0; \
    UNROLLED for (int e = 0; e < f; e++) UNROLLED for (int i = 0; i < some; i++) \
        UNROLLED for (int q = 0; q < DOT_VECTORS; q++) o[e][i][q] = (v_f32){ 0 }; \
    for (; p + 16 <= k; p += 16) { \
      for (int i = from; !all && f == FOUR && i < to; i++) __builtin_prefetch(next + i * sy + p); \
      UNROLLED for (int q = 0; q < DOT_VECTORS; q++) UNROLLED for (int i = 0; i < some; i++) { \
        if (all && q == 0) __builtin_prefetch(next + i * sy + p); \
        v_f32 b = thin_##sfx(y + i * sy + p + q * L_f32); \
        UNROLLED for (int e = 0; e < f; e++) o[e][i][q] = \
            MAD_f32(b, *(const v_f32 *)(x + e * sx + p + q * L_f32), o[e][i][q]); \
      } \
    } \
    if (p < k) { \
      float xs[FOUR][16] = { 0 }, ys[FOUR][16] = { 0 }; \
      for (int l = 0; l < k - p; l++) { \
        for (int e = 0; e < f; e++) xs[e][l] = x[e * sx + p + l]; \
        for (int i = 0; i < some; i++) ys[i][l] = get(y[i * sy + p + l]); \
      } \
      UNROLLED for (int q = 0; q < DOT_VECTORS; q++) UNROLLED for (int i = 0; i < some; i++) \
          UNROLLED for (int e = 0; e < f; e++) o[e][i][q] = \
              MAD_f32(*(v_f32 *)(ys[i] + q * L_f32), *(v_f32 *)(xs[e] + q * L_f32), o[e][i][q]); \
    } \
    UNROLLED for (int e = 0; e < f; e++) UNROLLED for (int i = 0; i < some; i++) \
        UNROLLED for (int q = 0; q < DOT_VECTORS; q++) u[e][i * DOT_GROUP][q] = o[e][i][q]; \
  } \
  static __attribute__((noinline)) void direct_##sfx(int f, int some, const float *x, int64_t sx, \
      const S *y, int64_t sy, int64_t k, const S *next, int from, int to, \
      v_f32 u[][16][DOT_VECTORS]) { \
    bool all = to - from == DOT_STREAMS; \
    switch (some == 1 ? 0 : f) { \
    case 0: direct_lanes_##sfx(false, 1, 1, x, sx, y, sy, k, next, from, to, u); break; \
    case 1: \
      direct_lanes_##sfx(sizeof(S) < 4, 1, DOT_STREAMS, x, sx, y, sy, k, next, from, to, u); \
      break; \
    case 2: direct_lanes_##sfx(true, 2, DOT_STREAMS, x, sx, y, sy, k, next, from, to, u); break; \
    case 3: direct_lanes_##sfx(true, 3, DOT_STREAMS, x, sx, y, sy, k, next, from, to, u); break; \
    default: \
      if (all) direct_lanes_##sfx(true, FOUR, DOT_STREAMS, x, sx, y, sy, k, next, from, to, u); \
      else direct_lanes_##sfx(false, FOUR, DOT_STREAMS, x, sx, y, sy, k, next, from, to, u); \
    } \
  } \
  /* the rows times n lines of each of `streams`, which are `apart` lines apart */ \
  static void direct_part_##sfx(int streams, const tp_mm *s, const float *x, const S *y, \
      int64_t apart, int n, int64_t k0, const S *next, float *c, bool acc) { \
    v_f32 u[DOT_KEPT][16][DOT_VECTORS]; \
    int m = (int)s->m, few = streams == 1 ? 1 : FOUR, each = (streams * FOUR + m - 1) / m, \
        blocks = (int)((k0 + TP_DOT_LONG - 1) / TP_DOT_LONG); \
    for (int i = 0; i < n; i++) \
      for (int z = 0; z < blocks; z++) \
        for (int e = 0, g = 0; e < m; e += few, g += each) { \
          int64_t p = z * TP_DOT_LONG, at = i * s->sbn + p; \
          direct_##sfx(TP_MIN(m - e, few), streams, x + e * s->sam + p, s->sam, y + at, \
              apart * s->sbn, k0 - p < TP_DOT_LONG ? k0 - p : TP_DOT_LONG, next + at, g, \
              TP_MIN(g + each, streams), (v_f32(*)[16][DOT_VECTORS])(u[z * m + e] + i)); \
        } \
    for (int z = 0; z < blocks; z++) \
      for (int e = 0; e < m; e++) \
        for (int i = 0; i < 16; i += L_f32) { \
          v_f32 r[L_f32], (*all)[DOT_VECTORS] = u[z * m + e] + i; \
          UNROLLED for (int q = 0; q < L_f32; q++) { \
            bool made = (i + q) % DOT_GROUP < n && (i + q) / DOT_GROUP < streams; \
            r[q] = (v_f32){ 0 }; \
            if (!made) continue; \
            UNROLLED for (int h = DOT_VECTORS / 2; h; h /= 2) UNROLLED for (int v = 0; v < h; v++) \
                all[q][v] += all[q][v + h]; \
            r[q] = all[q][0]; \
          } \
          DOT_TREE(r); \
          for (int q = 0; q < L_f32; q++) { \
            int line = (i + q) % DOT_GROUP, stream = (i + q) / DOT_GROUP; \
            float *to = c + e * s->scm + (line + stream * apart) * s->scn; \
            if (line < n && stream < streams) *to = acc || z ? *to + r[0][q] : r[0][q]; \
          } \
        } \
  } \
  static __attribute__((noinline)) void directs_##sfx( \
      const tp_mm *s, const float *a, const S *b, float *c, bool acc) { \
    int64_t apart = s->n / DOT_STREAMS, most = DOT_KEPT / FOUR * TP_DOT_LONG; \
    for (int64_t p = 0; p < s->k; p += most) { \
      int64_t k = TP_MIN(s->k - p, most); \
      for (int64_t j = 0; j < apart; j += DOT_GROUP) \
        direct_part_##sfx(DOT_STREAMS, s, a + p, b + j * s->sbn + p, apart, \
            TP_MIN(apart - j, DOT_GROUP), k, b + j * s->sbn + p + DOT_AHEAD / (int)sizeof(S), \
            c + j * s->scn, acc || p); \
      for (int64_t j = apart * DOT_STREAMS; j < s->n; j++) \
        direct_part_##sfx(1, s, a + p, b + j * s->sbn + p, 0, 1, k, b + j * s->sbn + p, \
            c + j * s->scn, acc || p); \
    } \
  } \
  /* more rows than FOUR: a block of terms of them, of which no cache line meets another's place, \
   * times that of DOT_STRIP lines; the next lines come nearer meanwhile */ \
  static __attribute__((noinline)) void direct_strips_##sfx( \
      const tp_mm *s, const float *a, const S *b, float *c, bool acc) { \
    float x[DOT_THIN * DOT_ROW] __attribute__((aligned(64))); \
    tp_mm part = *s; \
    part.sam = DOT_ROW; \
    for (int64_t j0 = 0; j0 < s->n; j0 += DOT_STRIP) \
      for (int64_t p = 0, k; p < s->k; p += k) { \
        int64_t n = TP_MIN(s->n - j0, DOT_STRIP); \
        k = TP_MIN(s->k - p, TP_DOT_LONG); \
        for (int64_t e = 0; e < s->m; e++) \
          memcpy(x + e * DOT_ROW, a + e * s->sam + p, (size_t)k * sizeof *x); \
        const S *y = b + j0 * s->sbn + p, *then = p + k < s->k ? y + k : y + n * s->sbn - p; \
        int64_t j = 0, lines = DOT_STREAMS * DOT_GROUP; \
        for (; j + lines <= n; j += lines) \
          direct_part_##sfx(DOT_STREAMS, &part, x, y + j * s->sbn, DOT_GROUP, DOT_GROUP, k, \
              j + 2 * lines <= n ? y + (j + lines) * s->sbn : then, c + (j0 + j) * s->scn, \
              acc || p); \
        for (; j < n; j++) \
          direct_part_##sfx( \
              1, &part, x, y + j * s->sbn, 0, 1, k, then, c + (j0 + j) * s->scn, acc || p); \
      } \
  } \
  static void thin_##sfx##_any(const tp_mm *s, const void *a, const void *b, void *c, bool acc) { \
    if (!s->lanes) thin_rows_##sfx(s, a, b, c, acc); \
    else if (s->m <= FOUR) directs_##sfx(s, a, b, c, acc); \
    else if (s->m <= DOT_THIN) direct_strips_##sfx(s, a, b, c, acc); \
    else lined_##sfx(s, a, b, c, acc); \
  }
DIRECT(f32, float, )
DIRECT(bf16, uint16_t, tp_load_bf16)
DIRECT(f16, uint16_t, tp_load_f16)

/* A B that a cache holds, of one block of terms: few rows by each vector of lines. */
enum { DOT_NEAR = 256 << 10 };
#define DOT_NEARBY(T, D) \
  static bool near_##T(const tp_mm *s, const D *a, const D *b, D *c, bool acc) { \
    int64_t size = sizeof(D); \
    if (s->k > TP_DOT_LONG || s->m > DOT_THIN || s->n * s->k * size > DOT_NEAR) return false; \
    for (int64_t j = 0; j < s->n; j += L_##T) \
      for (int64_t i = 0, f; i < s->m; i += f) { \
        f = s->m - i >= DOT_PAIRS ? DOT_PAIRS : s->m - i >= 2 ? 2 : 1; \
        line_##T(f, a + i * s->sam, s->sam, b + j * s->sbn, s->sbn, \
            s->n - j < L_##T ? (int)(s->n - j) : L_##T, s->k, c + i * s->scm + j * s->scn, s->scm, \
            s->scn, acc); \
      } \
    return true; \
  }
DOT_NEARBY(f64, double)
DOT_NEARBY(f32, float)

static tp_mm mm_turned_over(const tp_mm *s) {
  return (tp_mm){ s->n, s->m, s->k, s->sbn, s->sbk, s->sak, s->sam, s->scn, s->scm, s->lanes };
}
#define DOTS_OF(T, D, far) \
  static void dots_##T(const tp_mm *s, const D *a, const D *b, D *c, bool acc) { \
    tp_mm t = mm_turned_over(s); \
    if (s->lanes == TP_DOT_ALONE) { \
      alone_##T(a, b, s->k, c, acc); \
      return; \
    } \
    if (s->n < s->m) { \
      const D *x = a; \
      a = b, b = x, s = &t; \
    } \
    if (!near_##T(s, a, b, c, acc)) far(s, a, b, c, acc); \
  }
DOTS_OF(f64, double, lined_f64)
DOTS_OF(f32, float, thin_f32_any)
