/* Products of bf16 by bf16 in f32, both contiguous along k, by the processor's dot product of
 * pairs.
 *
 *   block of PAIR_DEEP terms: lane l of 4 takes terms 8i + 2l + 1 and 8i + 2l, for i = 0, 1, ..
 *   an element: (l0 + l2) + (l1 + l3) of its first block, then of the next added to it, ..
 *
 * This order does not depend on the number of rows and columns. Eight terms of a line are a unit. A
 * vector holds a unit of each of four columns; the rows' units are spread over it. Few rows read
 * columns where they lie; many rows take them from a panel of PAIR_WIDE columns, and sums of blocks
 * lie side by side until the last one. The instruction takes denormals as 0 and makes none. */
#if defined(__x86_64__) && defined(__GNUC__)
#pragma GCC target( \
    "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,bmi2,f16c,prefer-vector-width=512")
#include "kernels/cpu/kernels.h"
#include <immintrin.h>
#define KI static inline __attribute__((always_inline))
#if !defined(__clang__)
#define UNROLLED _Pragma("GCC unroll 16")
#else
#define UNROLLED
#endif
enum { UNIT = 8, STEP = 4 * UNIT, TILE = 6, FEW = 8, KEPT = 16, AHEAD = 2048 };
typedef __m512i units;

/* Units of four lines, side by side => units of all lines, of each place of four. */
KI void turn_units(const units *r, units *o) {
  units a = _mm512_shuffle_i32x4(r[0], r[1], 0x44), b = _mm512_shuffle_i32x4(r[2], r[3], 0x44),
        c = _mm512_shuffle_i32x4(r[0], r[1], 0xee), d = _mm512_shuffle_i32x4(r[2], r[3], 0xee);
  o[0] = _mm512_shuffle_i32x4(a, b, 0x88), o[1] = _mm512_shuffle_i32x4(a, b, 0xdd);
  o[2] = _mm512_shuffle_i32x4(c, d, 0x88), o[3] = _mm512_shuffle_i32x4(c, d, 0xdd);
}

/* Lanes of four vectors, joined: place 4u + v is of unit u of r[v]. */
KI __m512 join_lanes(const __m512 *r) {
  __m512 s[2];
  UNROLLED for (int h = 0; h < 2; h++) {
    __m512d x = (__m512d)r[2 * h], y = (__m512d)r[2 * h + 1];
    s[h] = (__m512)_mm512_unpacklo_pd(x, y) + (__m512)_mm512_unpackhi_pd(x, y);
  }
  return _mm512_shuffle_ps(s[0], s[1], 0x88) + _mm512_shuffle_ps(s[0], s[1], 0xdd);
}

KI __m512 add_pairs(__m512 c, units a, const uint16_t *unit) {
  units b = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)unit));
  return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
}

KI __mmask32 first_terms(int64_t n) { return n >= STEP ? ~0u : (1u << n) - 1; }

/* ---- few rows ---- four columns at a time, as far apart as can be: each is read without a break,
 * and four neighbours of each are joined together. */

/* Makes the lanes of a block for f rows and four columns. */
KI void few_lanes(
    int f, const uint16_t *const *x, const uint16_t *const *y, int64_t p, int64_t k, __m512 *o) {
  units r[4], t[4];
  UNROLLED for (int e = 0; e < f; e++) o[e] = _mm512_setzero_ps();
  for (; k >= STEP; k -= STEP, p += STEP) {
    UNROLLED for (int q = 0; q < 4; q++) {
      __builtin_prefetch((const char *)(y[q] + p) + AHEAD);
      r[q] = _mm512_loadu_si512(y[q] + p);
    }
    turn_units(r, t);
    UNROLLED for (int q = 0; q < 4; q++) UNROLLED for (int e = 0; e < f; e++) o[e] =
        add_pairs(o[e], t[q], x[e] + p + q * UNIT);
  }
  if (!k) return;
  uint16_t last[FEW][STEP];
  for (int q = 0; q < 4; q++) r[q] = _mm512_maskz_loadu_epi16(first_terms(k), y[q] + p);
  for (int e = 0; e < f; e++)
    _mm512_storeu_si512(last[e], _mm512_maskz_loadu_epi16(first_terms(k), x[e] + p));
  turn_units(r, t);
  for (int q = 0; q < 4; q++)
    for (int e = 0; e < f; e++) o[e] = add_pairs(o[e], t[q], last[e] + q * UNIT);
}

/* f >= m rows, of which the last is taken again, times columns j + v + apart * u for v, u < 4;
 * those from n on are the last one. */
KI void few_rows(int f, const tp_mm *s, int64_t m, const uint16_t *a, const uint16_t *b, int64_t j,
    int64_t apart, float *c, bool acc) {
  const uint16_t *x[FEW], *y[4];
  __m512 o[FEW], u[KEPT][FEW][4];
  UNROLLED for (int e = 0; e < f; e++) x[e] = a + (e < m ? e : m - 1) * s->sam;
  for (int64_t p0 = 0; p0 < s->k; p0 += KEPT * TP_PAIR_DEEP) {
    int64_t k = TP_MIN(s->k - p0, KEPT * TP_PAIR_DEEP);
    for (int v = 0; v < 4; v++) {
      for (int q = 0; q < 4; q++) y[q] = b + TP_MIN(j + v + apart * q, s->n - 1) * s->sbn + p0;
      for (int64_t p = 0, z = 0; p < k; p += TP_PAIR_DEEP, z++) {
        few_lanes(f, x, y, p, TP_MIN(k - p, TP_PAIR_DEEP), o);
        UNROLLED for (int e = 0; e < f; e++) u[z][e][v] = o[e];
      }
    }
    for (int64_t p = 0, z = 0; p < k; p += TP_PAIR_DEEP, z++)
      for (int e = 0; e < m; e++) {
        float sums[16];
        _mm512_storeu_ps(sums, join_lanes(u[z][e]));
        for (int l = 0; l < 16; l++) {
          int64_t at = j + l % 4 + apart * (l / 4);
          float *to = c + e * s->scm + at * s->scn;
          if (at < s->n) *to = acc || p0 || p ? *to + sums[l] : sums[l];
        }
      }
    UNROLLED for (int e = 0; e < f; e++) x[e] += KEPT * TP_PAIR_DEEP;
  }
}

static __attribute__((noinline)) void few(const tp_mm *s, int64_t m, const uint16_t *a,
    const uint16_t *b, int64_t j, int64_t apart, float *c, bool acc) {
  if (m == 1) few_rows(1, s, m, a, b, j, apart, c, acc);
  else if (m == 2) few_rows(2, s, m, a, b, j, apart, c, acc);
  else if (m <= 4) few_rows(4, s, m, a, b, j, apart, c, acc);
  else few_rows(FEW, s, m, a, b, j, apart, c, acc);
}

static void all_few(const tp_mm *s, const uint16_t *a, const uint16_t *b, float *c, bool acc) {
  int64_t apart = s->n / 16 * 4;
  for (int64_t j = 0; j < apart; j += 4)
    for (int64_t i = 0; i < s->m; i += FEW)
      few(s, TP_MIN(s->m - i, FEW), a + i * s->sam, b, j, apart, c + i * s->scm, acc);
  for (int64_t i = 0; i < s->m && 4 * apart < s->n; i += FEW)
    few(s, TP_MIN(s->m - i, FEW), a + i * s->sam, b, 4 * apart, 4, c + i * s->scm, acc);
}

/* ---- many rows ---- */

/* n columns of k terms, by steps of four places; columns v, v + 4, v + 8, v + 12 are a vector. */
static void pack_panel(units *o, const uint16_t *b, int64_t sbn, int64_t k, int64_t n) {
  for (int64_t p = 0; p < k; p += STEP, o += 16)
    for (int v = 0; v < 4; v++) {
      units r[4], t[4];
      UNROLLED for (int q = 0; q < 4; q++) r[q] = v + 4 * q < n
          ? _mm512_maskz_loadu_epi16(first_terms(k - p), b + (v + 4 * q) * sbn + p)
          : _mm512_setzero_si512();
      turn_units(r, t);
      UNROLLED for (int q = 0; q < 4; q++) o[q * 4 + v] = t[q];
    }
}

static void pack_lines(
    uint16_t *o, int64_t row, const uint16_t *a, int64_t sam, int64_t m, int64_t k) {
  for (int64_t i = 0; i < m; i++, o += row, a += sam) {
    memcpy(o, a, sizeof *o * (size_t)k);
    memset(o + k, 0, sizeof *o * (size_t)(row - k));
  }
}

/* Sums of a tile go from one place to another, or begin (from: NULL). */
typedef struct places {
  const float *from;
  float *to;
  int64_t ldfrom, ldto;
} places;

KI void tile(
    int m, int64_t row, const uint16_t *a, const units *b, const places *c, __mmask16 columns) {
  __m512 r[TILE][4];
  UNROLLED for (int i = 0; i < m; i++) {
    __builtin_prefetch(c->to + i * c->ldto, 1);
    UNROLLED for (int v = 0; v < 4; v++) r[i][v] = _mm512_setzero_ps();
  }
  for (int64_t p = 0; p < row; p += UNIT, b += 4)
    UNROLLED for (int i = 0; i < m; i++) UNROLLED for (int v = 0; v < 4; v++) r[i][v] =
        add_pairs(r[i][v], b[v], a + i * row + p);
  UNROLLED for (int i = 0; i < m; i++) {
    __m512 sums = join_lanes(r[i]);
    if (c->from) sums = _mm512_maskz_loadu_ps(columns, c->from + i * c->ldfrom) + sums;
    _mm512_mask_storeu_ps(c->to + i * c->ldto, columns, sums);
  }
}

static __attribute__((noinline)) void tiles(
    int64_t m, int64_t row, const uint16_t *a, const units *b, const places *c, __mmask16 columns) {
  switch (m) {
  case 1: tile(1, row, a, b, c, columns); break;
  case 2: tile(2, row, a, b, c, columns); break;
  case 3: tile(3, row, a, b, c, columns); break;
  case 4: tile(4, row, a, b, c, columns); break;
  case 5: tile(5, row, a, b, c, columns); break;
  default: tile(TILE, row, a, b, c, columns); break;
  }
}

/* All rows by a panel; meanwhile the lines of the next one come nearer. */
static void panel(int64_t m, int64_t row, const uint16_t *a, const units *b, places c,
    __mmask16 columns, const char *next, int64_t lines, int64_t step) {
  int64_t bytes = row * (int64_t)sizeof *a, at = 0, fetched = 0;
  for (int64_t i = 0; i < m; i += TILE) {
    for (; fetched < lines * bytes * TP_MIN(i + TILE, m) / m; fetched += 64) {
      __builtin_prefetch(next + at, 0, 2);
      if ((at += 64) == bytes) at = 0, next += step;
    }
    tiles(TP_MIN(m - i, TILE), row, a + i * row, b, &c, columns);
    c.to += TILE * c.ldto;
    if (c.from) c.from += TILE * c.ldfrom;
  }
}

static void copy_sums(float *o, int64_t row, int64_t step, const float *a, int64_t arow,
    int64_t astep, int64_t m, int64_t n) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) o[i * row + j * step] = a[i * arow + j * astep];
}

/* Terms p .. p + k of some rows and columns. `sums` holds those of the terms before. */
static void deep(const tp_mm *s, int64_t p, int64_t k, const uint16_t *a, const uint16_t *b,
    float *c, bool acc, const uint16_t *rows, float *sums) {
  units packed[TP_PAIR_DEEP / UNIT * 4];
  bool last = p + k == s->k, apart = s->scn != 1;
  int64_t row = tp_round_up(k, STEP);
  for (int64_t j = 0; j < s->n; j += 16, sums += 16 * s->m) {
    int64_t n = TP_MIN(s->n - j, 16), left = TP_MIN(s->n - j - n, 16);
    float *to = c + j * s->scn;
    places at = { p ? sums
          : acc     ? to
                    : NULL,
      last ? to : sums, p ? 16 : s->scm, last ? s->scm : 16 };
    if (apart && !p && acc) copy_sums(sums, 16, 1, to, s->scm, s->scn, s->m, n);
    if (apart) at = (places){ p || acc ? sums : NULL, sums, 16, 16 };
    pack_panel(packed, b + j * s->sbn + p, s->sbn, k, n);
    panel(s->m, row, rows, packed, at, (__mmask16)((1u << n) - 1),
        (const char *)(b + (j + 16) * s->sbn + p), left, s->sbn * 2);
    if (apart && last) copy_sums(to, s->scm, s->scn, sums, 16, 1, s->m, n);
  }
}

void tp_pairs_multiply(
    const tp_mm *s, const uint16_t *a, const uint16_t *b, float *c, bool acc, float *room) {
  uint16_t *rows = (uint16_t *)room;
  float *sums = room + tp_pairs_rows(s);
  if (s->m <= TP_PAIR_FEW) {
    all_few(s, a, b, c, acc);
    return;
  }
  for (int64_t i = 0; i < s->m; i += TP_PAIR_TALL)
    for (int64_t j = 0; j < s->n; j += TP_PAIR_WIDE)
      for (int64_t p = 0; p < s->k; p += TP_PAIR_DEEP) {
        tp_mm t = *s;
        int64_t k = TP_MIN(s->k - p, TP_PAIR_DEEP);
        t.m = TP_MIN(s->m - i, TP_PAIR_TALL), t.n = TP_MIN(s->n - j, TP_PAIR_WIDE);
        pack_lines(rows, tp_round_up(k, STEP), a + i * s->sam + p, s->sam, t.m, k);
        deep(&t, p, k, a, b + j * s->sbn, c + i * s->scm + j * s->scn, acc, rows, sums);
      }
}
#else
typedef int tp_no_pairs;
#endif
