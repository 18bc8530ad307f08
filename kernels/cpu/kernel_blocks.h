/* Rows of weights in blocks times a few rows of f32, or of 8 bits. A row goes TP_SPAN numbers at a
 * time, these in four parts of 64. Each element of a result is one sum, the same for any number of
 * rows:
 *
 *   floats  64 lanes of w * x, in each one term after the other, then added by halves
 *   eights  16 lanes; a term is (scale of w * scale of x) * (sum of 4 products of integers); the
 *           offsets of a format add up apart, in 8 lanes. Nothing is fused, so all processors give
 *           the same bits. */
typedef float blocks_f8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint8_t blocks_q16 __attribute__((vector_size(16), aligned(1), may_alias));
/* The scales of a span: one for each 32 numbers (q6_k: for each 16), and an addend for each 32. */
typedef struct blocks_scales {
  blocks_f8 d[2], m;
} blocks_scales;

/* Formats with offsets, and what is taken from their numbers. */
KI bool blocks_shift(tp_format f) { return f == TP_Q4_1 || f == TP_Q4_K || f == TP_Q5_K; }
KI int blocks_zero(tp_format f) {
  return f == TP_Q8_0 ? 128 : f == TP_Q4_0 ? 8 : f == TP_Q5_0 ? 16 : f == TP_Q6_K ? 32 : 0;
}

/* ---- scales ---- */

KI uint16_t blocks_u16(const uint8_t *p) {
  uint16_t h;
  memcpy(&h, p, 2);
  return h;
}
KI uint32_t blocks_u32(const uint8_t *p) {
  uint32_t u;
  memcpy(&u, p, 4);
  return u;
}

/* Eight halves, `step` bytes apart; eight bytes, signed or not. */
KI void blocks_halves(blocks_f8 *to, const uint8_t *p, int step) {
#if VBYTES == 64
  if (step == 18) { /* all eight are among 64 words */
    const __m512i at = _mm512_castsi128_si512(_mm_set_epi16(63, 54, 45, 36, 27, 18, 9, 0));
    __m512i v = _mm512_permutex2var_epi16(_mm512_loadu_si512(p), at, _mm512_loadu_si512(p + 64));
    *to = (blocks_f8)_mm256_cvtph_ps(_mm512_castsi512_si128(v));
    return;
  }
#endif
#if VBYTES >= 32
  __m128i h = _mm_cvtsi32_si128(blocks_u16(p));
  h = _mm_insert_epi16(h, blocks_u16(p + step), 1);
  h = _mm_insert_epi16(h, blocks_u16(p + 2 * step), 2);
  h = _mm_insert_epi16(h, blocks_u16(p + 3 * step), 3);
  h = _mm_insert_epi16(h, blocks_u16(p + 4 * step), 4);
  h = _mm_insert_epi16(h, blocks_u16(p + 5 * step), 5);
  h = _mm_insert_epi16(h, blocks_u16(p + 6 * step), 6);
  h = _mm_insert_epi16(h, blocks_u16(p + 7 * step), 7);
  *to = (blocks_f8)_mm256_cvtph_ps(h);
#elif defined(__aarch64__)
  uint16_t h[8];
  for (int j = 0; j < 8; j++) h[j] = blocks_u16(p + j * step);
  float16x8_t v = vreinterpretq_f16_u16(vld1q_u16(h));
  vst1q_f32((float *)to, vcvt_f32_f16(vget_low_f16(v)));
  vst1q_f32((float *)to + 4, vcvt_high_f32_f16(v));
#else
  for (int j = 0; j < 8; j++) (*to)[j] = tp_load_f16(blocks_u16(p + j * step));
#endif
}
KI void blocks_bytes(blocks_f8 *to, uint64_t v, bool sign) {
#if VBYTES >= 32
  __m128i b = _mm_cvtsi64_si128((int64_t)v);
  *to = (blocks_f8)_mm256_cvtepi32_ps(sign ? _mm256_cvtepi8_epi32(b) : _mm256_cvtepu8_epi32(b));
#else
  for (int j = 0; j < 8; j++, v >>= 8) (*to)[j] = sign ? (float)(int8_t)v : (float)(uint8_t)v;
#endif
}

/* Scales and offsets of q4_k and q5_k, of 6 bits each. */
KI void blocks_pairs(blocks_scales *s, const uint8_t *b) {
  uint32_t x = blocks_u32(b + 4), y = blocks_u32(b + 8), z = blocks_u32(b + 12);
  uint64_t high = (z & 0x0f0f0f0f) | (x >> 2 & 0x30303030),
           off = (z >> 4 & 0x0f0f0f0f) | (y >> 2 & 0x30303030);
  blocks_bytes(&s->d[0], (x & 0x3f3f3f3f) | high << 32, false);
  blocks_bytes(&s->m, (y & 0x3f3f3f3f) | off << 32, false);
  s->d[0] = tp_load_f16(blocks_u16(b)) * s->d[0];
  s->m = -(tp_load_f16(blocks_u16(b + 2)) * s->m);
}

KI void blocks_scale(tp_format f, blocks_scales *s, const uint8_t *b) {
  int step = tp_format_bytes(f);
  if (f == TP_Q4_K || f == TP_Q5_K) blocks_pairs(s, b);
  else if (f == TP_Q6_K) {
    float d = tp_load_f16(blocks_u16(b + 208));
    for (int h = 0; h < 2; h++) {
      uint64_t v;
      memcpy(&v, b + 192 + 8 * h, 8);
      blocks_bytes(&s->d[h], v, true);
      s->d[h] = d * s->d[h];
    }
  } else blocks_halves(&s->d[0], b, step);
  if (f == TP_Q4_1) blocks_halves(&s->m, b + 2, step);
}

/* ---- numbers ---- */

/* 16 numbers from 64 p + 16 c on, as unsigned bytes: with the format's zero added. */
KI blocks_q16 blocks_load(const uint8_t *p) { return *(const blocks_q16 *)p; }
KI blocks_q16 blocks_nibbles(const uint8_t *p, int shift) { return blocks_load(p) >> shift & 15; }
KI blocks_q16 blocks_chunk(tp_format f, const uint8_t *b, int p, int c) {
  int half = c % 2, group = 2 * p + c / 2;
  const uint8_t *at = tp_format_elements(f) == 32 ? b + group * tp_format_bytes(f) : b;
  switch (f) {
  case TP_Q8_0: return blocks_load(at + 2 + 16 * half) ^ 128;
  case TP_Q4_0: return blocks_nibbles(at + 2, 4 * half);
  case TP_Q4_1: return blocks_nibbles(at + 4, 4 * half);
  case TP_Q5_0: {
    const blocks_q16 bit = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
    uint8_t x = at[2 + 2 * half], y = at[3 + 2 * half];
    blocks_q16 fifth = { x, x, x, x, x, x, x, x, y, y, y, y, y, y, y, y };
    return blocks_nibbles(at + 6, 4 * half) | ((blocks_q16)((fifth & bit) != 0) & 16);
  }
  case TP_Q4_K: return blocks_nibbles(b + 16 + 32 * p + 16 * half, c / 2 * 4);
  case TP_Q5_K:
    return blocks_nibbles(b + 48 + 32 * p + 16 * half, c / 2 * 4) |
        (blocks_load(b + 16 + 16 * half) >> group & 1) << 4;
  default: /* q6_k */
    return blocks_nibbles(b + p / 2 * 64 + 16 * c, p % 2 * 4) |
        (blocks_load(b + 128 + p / 2 * 32 + 16 * half) >> (p % 2 * 4 + c / 2 * 2) & 3) << 4;
  }
}

#if VBYTES == 64
/* The same of all 64. */
KI __m512i blocks_two(const uint8_t *a, const uint8_t *b) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)a)),
      _mm256_loadu_si256((const __m256i *)b), 1);
}
/* 16 bytes in quarters 0 and 1, and in 2 and 3; 32 bytes twice. */
KI __m512i blocks_twice(const uint8_t *a, const uint8_t *b) {
  return _mm512_inserti64x4(
      _mm512_castsi256_si512(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)a))),
      _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)b)), 1);
}
KI __m512i blocks_both(const uint8_t *a) {
  return _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)a));
}
/* Bytes right by x in quarters 0 (and 2), y in 1 (and 3), or by halves; only `mask` is wanted. */
KI __m512i blocks_right(__m512i v, int x, int y, bool halves, int mask) {
  __m512i by = halves
      ? _mm512_inserti64x4(_mm512_set1_epi16((short)x), _mm256_set1_epi16((short)y), 1)
      : _mm512_broadcast_i64x4(
            _mm256_set_m128i(_mm_set1_epi16((short)y), _mm_set1_epi16((short)x)));
  return _mm512_and_si512(_mm512_srlv_epi16(v, by), _mm512_set1_epi8((char)mask));
}
KI __m512i blocks_part(tp_format f, const uint8_t *b, int p) {
  const uint8_t *at = b + 2 * p * tp_format_bytes(f), *next = at + tp_format_bytes(f);
  __m512i v;
  switch (f) {
  case TP_Q8_0: return _mm512_xor_si512(blocks_two(at + 2, next + 2), _mm512_set1_epi8(-128));
  case TP_Q4_0: return blocks_right(blocks_twice(at + 2, next + 2), 0, 4, false, 15);
  case TP_Q4_1: return blocks_right(blocks_twice(at + 4, next + 4), 0, 4, false, 15);
  case TP_Q5_0:
    v = blocks_right(blocks_twice(at + 6, next + 6), 0, 4, false, 15);
    return _mm512_mask_add_epi8(
        v, blocks_u32(at + 2) | (uint64_t)blocks_u32(next + 2) << 32, v, _mm512_set1_epi8(16));
  case TP_Q4_K: return blocks_right(blocks_both(b + 16 + 32 * p), 0, 4, true, 15);
  case TP_Q5_K:
    v = blocks_right(blocks_both(b + 48 + 32 * p), 0, 4, true, 15);
    return _mm512_or_si512(
        v, _mm512_slli_epi16(blocks_right(blocks_both(b + 16), 2 * p, 2 * p + 1, true, 1), 4));
  default: /* q6_k */
    v = blocks_right(_mm512_loadu_si512(b + p / 2 * 64), p % 2 * 4, p % 2 * 4, true, 15);
    return _mm512_or_si512(v,
        _mm512_slli_epi16(
            blocks_right(blocks_both(b + 128 + p / 2 * 32), p % 2 * 4, p % 2 * 4 + 2, true, 3), 4));
  }
}
#endif

/* ---- sums ---- */

/* Lane l and lane l + n / 2, until one is left. */
KI float blocks_halved(const float *v, int n) {
  float h[64];
  memcpy(h, v, sizeof *v * (size_t)n);
  for (n /= 2; n; n /= 2)
    for (int l = 0; l < n; l++) h[l] += h[l + n];
  return h[0];
}
#if VBYTES >= 32
KI float blocks_halved8(__m256 v) {
  __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
#endif

/* bytes of weights that are fetched ahead: of q8_0 0.68 to 0.8 of read bandwidth by 2048, 0.8 to 1
 * by 8192 */
enum { BLOCKS_AHEAD = 8192 };
/* Calls DO(span of w, its number) for each span; behind the last block there are blocks of 0. */
#define BLOCKS_SPANS(f, w, k, DO) \
  do { \
    int each_ = TP_SPAN / tp_format_elements(f) * tp_format_bytes(f); \
    int64_t n_ = (k) / TP_SPAN, left_ = (k) % TP_SPAN / tp_format_elements(f); \
    const uint8_t *w_ = (w); \
    uint8_t rest_[8 * 34]; \
    for (int64_t i_ = 0; i_ < n_ + (left_ > 0); i_++, w_ += each_) { \
      if (i_ == n_) { \
        memset(rest_, 0, sizeof rest_); \
        w_ = memcpy(rest_, w_, (size_t)(left_ * tp_format_bytes(f))); \
      } else \
        UNROLLED for (int o_ = 0; o_ < each_; o_ += 64) \
            __builtin_prefetch(w_ + BLOCKS_AHEAD + o_); \
      DO(w_, i_); \
    } \
  } while (0)

/* ---- rows of floats ---- */

#define BLOCKS_LANES (VBYTES / 4)
typedef struct blocks_sum {
  v_f32 v[64 / BLOCKS_LANES];
} blocks_sum;

/* The numbers from 64 p + `at` on, as many as a vector has, of the bytes u, those of part p. */
#if VBYTES == 64
typedef __m512i blocks_u;
KI v_f32 blocks_floats(const blocks_u *u, int at, int zero) {
  __m512i i = _mm512_cvtepu8_epi32(at == 0 ? _mm512_castsi512_si128(*u)
          : at == 16                       ? _mm512_extracti32x4_epi32(*u, 1)
          : at == 32                       ? _mm512_extracti32x4_epi32(*u, 2)
                                           : _mm512_extracti32x4_epi32(*u, 3));
  return (v_f32)_mm512_cvtepi32_ps(_mm512_sub_epi32(i, _mm512_set1_epi32(zero)));
}
#else
typedef struct blocks_u {
  uint8_t v[64] __attribute__((aligned(64)));
} blocks_u;
KI v_f32 blocks_floats(const blocks_u *u, int at, int zero) {
#if VBYTES == 32
  __m256i i = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(u->v + at)));
  return (v_f32)_mm256_cvtepi32_ps(_mm256_sub_epi32(i, _mm256_set1_epi32(zero)));
#elif defined(__aarch64__)
  uint16x8_t i = vmovl_u8(vcreate_u8(blocks_u32(u->v + at)));
  return (v_f32)vcvtq_f32_s32(vsubq_s32((int32x4_t)vmovl_u16(vget_low_u16(i)), vdupq_n_s32(zero)));
#else
  v_f32 v;
  for (int l = 0; l < BLOCKS_LANES; l++) v[l] = (float)(u->v[at + l] - zero);
  return v;
#endif
}
#endif

KI void blocks_add_floats(
    tp_format f, const uint8_t *b, const float *const *x, int rows, int64_t span, blocks_sum *sum) {
  blocks_scales s;
  float d[16], m[8];
  blocks_scale(f, &s, b);
  memcpy(d, &s.d[0], sizeof s.d[0]);
  if (f == TP_Q6_K) memcpy(d + 8, &s.d[1], sizeof s.d[1]);
  if (blocks_shift(f)) memcpy(m, &s.m, sizeof m);
  UNROLLED for (int p = 0; p < 4; p++) {
    blocks_u u;
#if VBYTES == 64
    u = blocks_part(f, b, p);
#else
    UNROLLED for (int c = 0; c < 4; c++) * (blocks_q16 *)(u.v + 16 * c) = blocks_chunk(f, b, p, c);
#endif
    UNROLLED for (int i = 0; i < 64 / BLOCKS_LANES; i++) {
      int at = 64 * p + i * BLOCKS_LANES;
      v_f32 w =
          blocks_floats(&u, i * BLOCKS_LANES, blocks_zero(f)) * d[f == TP_Q6_K ? at / 16 : at / 32];
      if (blocks_shift(f)) w = w + m[at / 32];
      UNROLLED for (int r = 0; r < rows; r++) sum[r].v[i] =
          MAD_f32(w, *(const v_f32 *)(x[r] + span * TP_SPAN + at), sum[r].v[i]);
    }
  }
}

KI float blocks_floats_sum(const blocks_sum *s) {
#if VBYTES == 64
  v_f32 v = (s->v[0] + s->v[2]) + (s->v[1] + s->v[3]);
  return blocks_halved8(
      _mm256_add_ps(_mm512_castps512_ps256((__m512)v), _mm512_extractf32x8_ps((__m512)v, 1)));
#elif VBYTES == 32
  v_f32 v[4];
  for (int i = 0; i < 4; i++) v[i] = s->v[i] + s->v[i + 4];
  return blocks_halved8((__m256)((v[0] + v[2]) + (v[1] + v[3])));
#else
  return blocks_halved((const float *)s, 64);
#endif
}

KI void blocks_floats_of(tp_format f, const uint8_t *w, int64_t k, const char *x, int64_t row,
    int rows, int real, float *lanes, bool first, float *c) {
  blocks_sum sum[TP_SPAN_ROWS];
  const float *at[TP_SPAN_ROWS];
  UNROLLED for (int r = 0; r < rows; r++) {
    at[r] = (const float *)(x + row * (r < real ? r : real - 1));
    if (first) sum[r] = (blocks_sum){ 0 };
    else memcpy(&sum[r], lanes + TP_SPAN_LANES * r, sizeof sum[r]);
  }
#define ADD(b, i) blocks_add_floats(f, b, at, rows, i, sum)
  BLOCKS_SPANS(f, w, k, ADD);
#undef ADD
  UNROLLED for (int r = 0; r < rows; r++) {
    if (!c) memcpy(lanes + TP_SPAN_LANES * r, &sum[r], sizeof sum[r]);
    else if (r < real) c[r] = blocks_floats_sum(&sum[r]);
  }
}

/* ---- rows of 8 bits ---- */

/* Largest size as bits, so that NaN and infinity are largest. */
KI uint32_t blocks_largest(const float *x) {
  uint32_t most = 0;
  for (int i = 0; i < 32; i++) {
    uint32_t u = tp_bits_f32(x[i]) & 0x7fffffff;
    most = u > most ? u : most;
  }
  return most;
}

/* 32 numbers as d * q, q nearest, half to even; not finite: d is NaN. */
KI void blocks_eight(const float *x, int8_t *q, int32_t *lane, float *d, float *s, int zero) {
  uint32_t most = blocks_largest(x);
  bool none = most < 0x01000000u || most >= 0x7f800000u;
  float by = none ? 0 : 127 / tp_of_f32(most);
  int32_t all = 0;
  for (int i = 0; i < 32; i++) { /* adds and takes away 1.5 * 2^23 */
    float v = none ? 0 : x[i] * by + 12582912.f;
    q[i] = (int8_t)(tp_bits_f32(v) - 0x4b400000u);
  }
  for (int l = 0; l < 8; l++) {
    int32_t sum = q[4 * l] + q[4 * l + 1] + q[4 * l + 2] + q[4 * l + 3];
    lane[l] = -zero * sum, all += sum;
  }
  *d = most >= 0x7f800000u ? tp_of_f32(0x7fc00000u) : none ? 0 : tp_of_f32(most) / 127;
  *s = *d * (float)all;
}

static void blocks_to_eights(tp_format f, tp_eights *to, const float *x, int64_t k) {
  for (int64_t i = 0; i < k; i += TP_SPAN, to++)
    for (int j = 0; j < 8; j++) {
      float v[32] = { 0 };
      int64_t at = i + 32 * j, n = k - at < 32 ? k - at : 32;
      if (n > 0) memcpy(v, x + at, (size_t)n * sizeof *v);
      blocks_eight(v, to->q + 32 * j, to->lane + 8 * j, &to->d[j], &to->s[j], blocks_zero(f));
    }
}

typedef struct blocks_sums {
#if VBYTES == 64
  __m512 v;
#elif VBYTES == 32
  __m256 v[2];
#elif defined(__aarch64__)
  float32x4_t v[4];
#else
  float v[16];
#endif
  blocks_f8 off;
} blocks_sums;

#if VBYTES >= 32
/* The instruction is not in the pragma's list: a processor may have all else without it. */
#if VBYTES == 64
KI __m512i blocks_vnni(__m512i sum, __m512i u, __m512i s) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(u), "vm"(s));
  return sum;
}
/* Adds the products of 4 for all 64; q8_0 has numbers from -128 on here. */
KI __m512i blocks_sum4(tp_format f, bool dots, __m512i u, const tp_eights *x, int p) {
  __m512i q = _mm512_loadu_si512(x->q + 64 * p), one = _mm512_set1_epi16(1),
          lane = _mm512_loadu_si512(x->lane + 16 * p);
  if (dots) return blocks_vnni(lane, u, q);
  if (f == TP_Q8_0) {
    __m512i w = _mm512_xor_si512(u, _mm512_set1_epi8(-128));
    q = _mm512_mask_sub_epi8(q, _mm512_movepi8_mask(w), _mm512_setzero_si512(), q);
    return _mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_abs_epi8(w), q), one);
  }
  return _mm512_add_epi32(lane, _mm512_madd_epi16(_mm512_maddubs_epi16(u, q), one));
}
#else
KI __m256i blocks_vnni(__m256i sum, __m256i u, __m256i s) {
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(u), "xm"(s));
  return sum;
}
KI __m256i blocks_sum4(tp_format f, bool dots, __m256i u, const tp_eights *x, int at) {
  __m256i q = _mm256_loadu_si256((const __m256i *)(x->q + at)), one = _mm256_set1_epi16(1),
          lane = _mm256_loadu_si256((const __m256i *)(x->lane + at / 4));
  if (dots) return blocks_vnni(lane, u, q);
  if (f == TP_Q8_0) {
    __m256i w = _mm256_xor_si256(u, _mm256_set1_epi8(-128));
    return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(q, w)), one);
  }
  return _mm256_add_epi32(lane, _mm256_madd_epi16(_mm256_maddubs_epi16(u, q), one));
}
#endif
#endif

#ifdef __aarch64__
/* Adds the products of 4 for 16 numbers. In signed bytes; two products fit into 16 bits. */
KI int32x4_t blocks_sum4(tp_format f, bool dots, blocks_q16 v, const tp_eights *x, int at) {
  int8x16_t u = (int8x16_t)(v ^ (uint8_t)(f == TP_Q8_0 ? 128 : 0)), q = vld1q_s8(x->q + at);
  int32x4_t sum = f == TP_Q8_0 ? vdupq_n_s32(0) : vld1q_s32(x->lane + at / 4);
  if (dots) {
#ifdef __ARM_FEATURE_DOTPROD
    sum = vdotq_s32(sum, u, q);
#else
    __asm__(".arch armv8.2-a+dotprod\n\tsdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(u), "w"(q));
#endif
    return sum;
  }
  int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(u), vget_low_s8(q))),
            high = vpaddlq_s16(vmull_high_s8(u, q));
  return vaddq_s32(sum, vpaddq_s32(low, high));
}
#endif

/* The scales of a span for each 32 numbers, or each 16 (q6_k), times those of a row of x. */
#if VBYTES == 64
typedef __m512 blocks_by;
KI void blocks_scale_by(tp_format f, blocks_by *to, const blocks_scales *s, const float *d) {
  __m256 x = _mm256_loadu_ps(d);
  if (f == TP_Q6_K) {
    const __m512i twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    __m512 w = _mm512_insertf32x8(_mm512_castps256_ps512((__m256)s->d[0]), (__m256)s->d[1], 1);
    *to = _mm512_mul_ps(w, _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(x)));
  } else *to = _mm512_castps256_ps512(_mm256_mul_ps((__m256)s->d[0], x));
}
/* Those of the lanes of part p. */
KI __m512 blocks_lanes_of(tp_format f, blocks_by d, int p) {
  __m512i from = f == TP_Q6_K ? _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0)
                              : _mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
  int first = f == TP_Q6_K ? 4 * p : 2 * p;
  return _mm512_permutexvar_ps(_mm512_add_epi32(from, _mm512_set1_epi32(first)), d);
}
#else
typedef struct blocks_by {
  float v[16];
} blocks_by;
KI void blocks_scale_by(tp_format f, blocks_by *to, const blocks_scales *s, const float *d) {
  if (f != TP_Q6_K) *(blocks_f8 *)to->v = s->d[0] * *(const blocks_f8 *)d;
  else
    for (int j = 0; j < 16; j++) to->v[j] = s->d[j / 8][j % 8] * d[j / 2];
}
#endif

/* Adds part p of a span. */
KI void blocks_add_part(tp_format f, bool dots, const uint8_t *b, int p, const tp_eights *const *x,
    const blocks_by *d, int rows, blocks_sums *sum) {
#if VBYTES == 64
  __m512i u = blocks_part(f, b, p);
  UNROLLED for (int r = 0; r < rows; r++) {
    __m512 v = _mm512_cvtepi32_ps(blocks_sum4(f, dots, u, x[r], p));
    sum[r].v = _mm512_add_ps(sum[r].v, _mm512_mul_ps(v, blocks_lanes_of(f, d[r], p)));
  }
#elif VBYTES == 32
  UNROLLED for (int h = 0; h < 2; h++) {
    __m256i u = _mm256_set_m128i(
        (__m128i)blocks_chunk(f, b, p, 2 * h + 1), (__m128i)blocks_chunk(f, b, p, 2 * h));
    UNROLLED for (int r = 0; r < rows; r++) {
      const float *at = d[r].v + (f == TP_Q6_K ? 4 * p + 2 * h : 2 * p + h);
      __m256 by = f == TP_Q6_K ? _mm256_set_m128(_mm_set1_ps(at[1]), _mm_set1_ps(at[0]))
                               : _mm256_set1_ps(*at);
      __m256i v = blocks_sum4(f, dots, u, x[r], 64 * p + 32 * h);
      sum[r].v[h] = _mm256_add_ps(sum[r].v[h], _mm256_mul_ps(_mm256_cvtepi32_ps(v), by));
    }
  }
#elif defined(__aarch64__)
  UNROLLED for (int c = 0; c < 4; c++) {
    blocks_q16 u = blocks_chunk(f, b, p, c);
    UNROLLED for (int r = 0; r < rows; r++) {
      float32x4_t v = vcvtq_f32_s32(blocks_sum4(f, dots, u, x[r], 64 * p + 16 * c));
      float by = d[r].v[f == TP_Q6_K ? 4 * p + c : 2 * p + c / 2];
      sum[r].v[c] = vaddq_f32(sum[r].v[c], vmulq_n_f32(v, by));
    }
  }
#else
  uint8_t u[64];
  for (int c = 0; c < 4; c++) *(blocks_q16 *)(u + 16 * c) = blocks_chunk(f, b, p, c);
  for (int r = 0; r < rows; r++)
    for (int l = 0; l < 16; l++) {
      const int8_t *q = x[r]->q + 64 * p + 4 * l;
      const uint8_t *v = u + 4 * l;
      int32_t i = x[r]->lane[16 * p + l] + v[0] * q[0] + v[1] * q[1] + v[2] * q[2] + v[3] * q[3];
      sum[r].v[l] += (float)i * d[r].v[f == TP_Q6_K ? 4 * p + l / 4 : 2 * p + l / 8];
    }
#endif
}

KI void blocks_add_eights(tp_format f, bool dots, const uint8_t *b, const tp_eights *const *at,
    int rows, int64_t span, blocks_sums *sum) {
  blocks_scales s;
  blocks_by d[TP_SPAN_ROWS];
  const tp_eights *x[TP_SPAN_ROWS];
  blocks_scale(f, &s, b);
  UNROLLED for (int r = 0; r < rows; r++) {
    x[r] = at[r] + span;
    blocks_scale_by(f, &d[r], &s, x[r]->d);
    if (blocks_shift(f)) sum[r].off += s.m * *(const blocks_f8 *)x[r]->s;
  }
  UNROLLED for (int p = 0; p < 4; p++) blocks_add_part(f, dots, b, p, x, d, rows, sum);
}

KI float blocks_sum_up(tp_format f, const blocks_sums *s) {
#if VBYTES == 64
  float v =
      blocks_halved8(_mm256_add_ps(_mm512_castps512_ps256(s->v), _mm512_extractf32x8_ps(s->v, 1)));
  return blocks_shift(f) ? v + blocks_halved8((__m256)s->off) : v;
#elif VBYTES == 32
  float v = blocks_halved8(_mm256_add_ps(s->v[0], s->v[1]));
  return blocks_shift(f) ? v + blocks_halved8((__m256)s->off) : v;
#else
  float v = blocks_halved((const float *)s->v, 16);
  return blocks_shift(f) ? v + blocks_halved((const float *)&s->off, 8) : v;
#endif
}

KI void blocks_eights_of(tp_format f, bool dots, const uint8_t *w, int64_t k, const char *x,
    int64_t row, int rows, int real, float *lanes, bool first, float *c) {
  blocks_sums sum[TP_SPAN_ROWS];
  const tp_eights *at[TP_SPAN_ROWS];
  UNROLLED for (int r = 0; r < rows; r++) {
    at[r] = (const tp_eights *)(x + row * (r < real ? r : real - 1));
    if (first) sum[r] = (blocks_sums){ 0 };
    else memcpy(&sum[r], lanes + TP_SPAN_LANES * r, sizeof sum[r]);
  }
#define ADD(b, i) blocks_add_eights(f, dots, b, at, rows, i, sum)
  BLOCKS_SPANS(f, w, k, ADD);
#undef ADD
  UNROLLED for (int r = 0; r < rows; r++) {
    if (!c) memcpy(lanes + TP_SPAN_LANES * r, &sum[r], sizeof sum[r]);
    else if (r < real) c[r] = blocks_sum_up(f, &sum[r]);
  }
}

/* ---- by format and number of rows: 3 go as 4 of which one is there twice ---- */

#define BLOCKS_ARGS \
  const uint8_t *w, int64_t k, const void *x, int64_t row, int rows, float *lanes, bool first, \
      float *c
#if VBYTES >= 32 || defined(__aarch64__)
#define BLOCKS_BY_ROWS(DO, ...) \
  do { \
    if (rows == 1) DO(__VA_ARGS__, w, k, x, row, 1, 1, lanes, first, c); \
    else if (rows == 2) DO(__VA_ARGS__, w, k, x, row, 2, 2, lanes, first, c); \
    else DO(__VA_ARGS__, w, k, x, row, 4, rows, lanes, first, c); \
  } while (0)
#else /* nothing is gained by several at once */
#define BLOCKS_BY_ROWS(DO, ...) \
  for (int r = 0; r < rows; r++) \
  DO(__VA_ARGS__, w, k, (const char *)x + r * row, row, 1, 1, lanes + TP_SPAN_LANES * r, first, \
      c ? c + r : NULL)
#endif

#define X(NAME, text, elements, bytes, gguf) \
  static __attribute__((noinline)) void floats_##NAME(BLOCKS_ARGS) { \
    BLOCKS_BY_ROWS(blocks_floats_of, TP_##NAME); \
  } \
  static __attribute__((noinline)) void eights_##NAME(BLOCKS_ARGS) { \
    BLOCKS_BY_ROWS(blocks_eights_of, TP_##NAME, false); \
  }
#include "base/formats.def"
#undef X
#if VBYTES >= 32 || defined(__aarch64__)
#define X(NAME, text, elements, bytes, gguf) \
  static __attribute__((noinline)) void dots_##NAME(BLOCKS_ARGS) { \
    BLOCKS_BY_ROWS(blocks_eights_of, TP_##NAME, true); \
  }
#include "base/formats.def"
#undef X
#ifdef __aarch64__
#define BLOCKS_HAS_DOTS tp_os_has_dots()
#else
#define BLOCKS_HAS_DOTS __builtin_cpu_supports(VBYTES == 64 ? "avx512vnni" : "avxvnni")
#endif
#endif

static void blocks_by_floats(tp_format f, BLOCKS_ARGS) {
  switch (f) {
#define X(NAME, text, elements, bytes, gguf) \
  case TP_##NAME: \
    floats_##NAME(w, k, x, row, rows, lanes, first, c); \
    return;
#include "base/formats.def"
#undef X
  default: return;
  }
}

static void blocks_by_eights(tp_format f, BLOCKS_ARGS) {
#ifdef BLOCKS_HAS_DOTS
  if (BLOCKS_HAS_DOTS) {
    switch (f) {
#define X(NAME, text, elements, bytes, gguf) \
  case TP_##NAME: \
    dots_##NAME(w, k, x, row, rows, lanes, first, c); \
    return;
#include "base/formats.def"
#undef X
    default: return;
    }
  }
#endif
  switch (f) {
#define X(NAME, text, elements, bytes, gguf) \
  case TP_##NAME: \
    eights_##NAME(w, k, x, row, rows, lanes, first, c); \
    return;
#include "base/formats.def"
#undef X
  default: return;
  }
}
