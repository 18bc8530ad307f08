/* blocks: decodes weights in blocks, and makes blocks as llama.cpp's reference does.
 *
 *   32 numbers  =>  q4_0: d = -(the one of largest size) / 8 as f16, q = round(x / d) + 8
 *   256 numbers =>  q4_k: for each 32 of them the scale and offset with the least weighted error of
 *                   21 tries, these in 6 bits under a scale of their own, then q = round
 *
 * Products decode blocks on their own (kernels/cpu/kernel_blocks.h). */
#include "base/blocks.h"
#include <float.h>
#include <math.h>

enum { SUPER = 256 }; /* elements of a block of q4_k, q5_k, q6_k */

const char *const tp_format_names[TP_NFORMAT] = {
  [TP_FORMAT_NONE] = "none",
#define X(NAME, text, elements, bytes, gguf) [TP_##NAME] = text,
#include "base/formats.def"
#undef X
};

tp_format tp_format_named(const char *name, tp_pos pos, tp_error *err) {
  char hint[TP_HINT];
  for (int f = 1; f < TP_NFORMAT; f++)
    if (!strcmp(name, tp_format_names[f])) return (tp_format)f;
  tp_fail(err, TP_E_OPTION, pos, "no format of blocks '%s'%s", name,
      tp_hint(hint, name, tp_format_names + 1, TP_NFORMAT - 1));
  return TP_FORMAT_NONE;
}

static float get_half(const uint8_t *p) { return tp_f16_to_f32((uint16_t)(p[0] | p[1] << 8)); }

/* The number that the half has. */
static float put_half(uint8_t *p, float v) {
  uint16_t h = tp_f32_to_f16(v);
  p[0] = (uint8_t)h, p[1] = (uint8_t)(h >> 8);
  return tp_f16_to_f32(h);
}

/* Numbers of 4 bits, `half` below and as many above. */
static void get_low(const uint8_t *low, int half, uint8_t *q) {
  for (int i = 0; i < half; i++) q[i] = low[i] & 15, q[i + half] = low[i] >> 4;
}
static void put_low(uint8_t *low, int half, const uint8_t *q) {
  for (int i = 0; i < half; i++) low[i] = (uint8_t)((q[i] & 15) | q[i + half] << 4);
}

/* Scale and offset j of q4_k and q5_k. */
static void get_pair(const uint8_t *p, int j, int *scale, int *offset) {
  *scale = j < 4 ? p[j] & 63 : (p[j + 4] & 15) | p[j - 4] >> 6 << 4;
  *offset = j < 4 ? p[j + 4] & 63 : p[j + 4] >> 4 | p[j] >> 6 << 4;
}
static void put_pair(uint8_t *p, int j, int scale, int offset) {
  if (j < 4) {
    p[j] = (uint8_t)scale, p[j + 4] = (uint8_t)offset;
    return;
  }
  p[j + 4] = (uint8_t)((scale & 15) | (offset & 15) << 4);
  p[j - 4] |= (uint8_t)(scale >> 4 << 6), p[j] |= (uint8_t)(offset >> 4 << 6);
}

/* ---- decoding ---- */

static void decode_32(tp_format f, const uint8_t *b, float *to) {
  uint8_t q[32];
  float d = get_half(b);
  if (f == TP_Q8_0) {
    for (int i = 0; i < 32; i++) to[i] = (float)(int8_t)b[2 + i] * d;
    return;
  }
  get_low(b + tp_format_bytes(f) - 16, 16, q);
  for (int i = 0; i < 32 && f == TP_Q5_0; i++) q[i] |= (uint8_t)((b[2 + i / 8] >> i % 8 & 1) << 4);
  int zero = f == TP_Q4_0 ? 8 : f == TP_Q5_0 ? 16 : 0;
  for (int i = 0; i < 32; i++) to[i] = (float)(q[i] - zero) * d;
  float m = get_half(b + 2);
  for (int i = 0; i < 32 && f == TP_Q4_1; i++) to[i] += m;
}

static void decode_pairs(tp_format f, const uint8_t *b, float *to) {
  float d = get_half(b), m = get_half(b + 2);
  const uint8_t *fifth = b + 16, *low = f == TP_Q5_K ? b + 48 : fifth;
  for (int part = 0; part < 8; part += 2, low += 32) {
    uint8_t q[64];
    get_low(low, 32, q);
    for (int h = 0; h < 2; h++) {
      int scale, offset;
      get_pair(b + 4, part + h, &scale, &offset);
      float by = d * (float)scale, off = m * (float)offset;
      for (int i = 0; i < 32; i++) {
        int v = q[h * 32 + i];
        if (f == TP_Q5_K) v |= (fifth[i] >> (part + h) & 1) << 4;
        to[(part + h) * 32 + i] = by * (float)v - off;
      }
    }
  }
}

static void decode_q6_k(const uint8_t *b, float *to) {
  const uint8_t *low = b, *upper = b + 128, *scale = b + 192;
  float d = get_half(b + 208);
  for (int part = 0; part < 2; part++, low += 64, upper += 32) {
    uint8_t q[128];
    get_low(low, 64, q);
    for (int i = 0; i < 128; i++) {
      int v = q[i] | (upper[i % 32] >> i / 32 * 2 & 3) << 4, at = part * 128 + i;
      to[at] = d * (float)(int8_t)scale[at / 16] * (float)(v - 32);
    }
  }
}

void tp_blocks_decode(tp_format f, const uint8_t *blocks, int64_t nblocks, float *to) {
  for (int64_t i = 0; i < nblocks; i++) {
    if (f == TP_Q6_K) decode_q6_k(blocks, to);
    else if (tp_format_elements(f) == SUPER) decode_pairs(f, blocks, to);
    else decode_32(f, blocks, to);
    blocks += tp_format_bytes(f), to += tp_format_elements(f);
  }
}

/* ---- encoding ---- */

/* Half to even, of numbers below 2^22; of all others some number. */
static int nearest(float v) {
  v += 12582912.f;
  int32_t i;
  memcpy(&i, &v, 4);
  return (i & 0x7fffff) - 0x400000;
}
static int nearest_in(float v, int lo, int hi) { return TP_MAX(lo, TP_MIN(hi, nearest(v))); }

/* The first number of largest size. */
static float largest(const float *x, int n) {
  float max = 0;
  for (int i = 0; i < n; i++)
    if (fabsf(max) < fabsf(x[i])) max = x[i];
  return max;
}

static float inverse(float d) { return d != 0 ? 1 / d : 0; }

/* To an integer, as a cast does: saturated, NaN 0. */
static int cut(float v) { return v != v ? 0 : (int)TP_MAX(TP_MIN(v, 1e9f), -1e9f); }

static void encode_32(tp_format f, const float *x, uint8_t *b) {
  float max = largest(x, 32), least = x[0], most = x[0], d, m = 0;
  if (f == TP_Q8_0) {
    put_half(b, d = fabsf(max) / 127);
    d = inverse(d);
    for (int i = 0; i < 32; i++) b[2 + i] = (uint8_t)cut(roundf(x[i] * d));
    return;
  }
  for (int i = 0; i < 32; i++)
    least = x[i] < least ? x[i] : least, most = x[i] > most ? x[i] : most;
  int top = f == TP_Q5_0 ? 31 : 15;
  float half = f == TP_Q4_1 ? 0.5f : (float)(top + 1) / 2 + 0.5f;
  if (f == TP_Q4_1) d = (most - least) / 15, put_half(b + 2, m = least);
  else d = max / -(float)((top + 1) / 2);
  put_half(b, d);
  d = inverse(d);
  uint8_t q[32];
  uint32_t fifth = 0;
  for (int i = 0; i < 32; i++) {
    q[i] = (uint8_t)TP_MAX(TP_MIN(cut((x[i] - m) * d + half), top), 0);
    fifth |= (uint32_t)(q[i] >> 4) << i;
  }
  for (int i = 0; i < 4 && f == TP_Q5_0; i++) b[2 + i] = (uint8_t)(fifth >> 8 * i);
  put_low(b + tp_format_bytes(f) - 16, 16, q);
}

/* The scale and the least number of n = 32 numbers, by weights. */
typedef struct {
  float scale, least, error;
  int q[32];
} block_fit;

static float error_of(const block_fit *f, const float *x, const float *w) {
  float sum = 0;
  for (int i = 0; i < 32; i++) {
    float diff = f->scale * (float)f->q[i] + f->least - x[i];
    sum += w[i] * (diff * diff);
  }
  return sum;
}

/* The best scale and least number for its q; false: there are none. */
static bool refit(block_fit *f, const float *x, const float *w, float sum_w, float sum_x) {
  float l = 0, l2 = 0, xl = 0;
  for (int i = 0; i < 32; i++) {
    float v = (float)f->q[i];
    l += w[i] * v, l2 += w[i] * v * v, xl += w[i] * v * x[i];
  }
  float D = sum_w * l2 - l * l;
  if (!(D > 0)) return false;
  f->scale = (sum_w * xl - sum_x * l) / D, f->least = (l2 * sum_x - l * xl) / D;
  if (f->least > 0) f->least = 0, f->scale = xl / l2;
  f->error = error_of(f, x, w);
  return true;
}

static block_fit fit_pair(const float *x, int top, float first, int tries) {
  float w[32], sum_w, sum_x, square = 0, least = x[0], most = x[0];
  for (int i = 0; i < 32; i++) square += x[i] * x[i];
  for (int i = 0; i < 32; i++) w[i] = sqrtf(square / 32) + fabsf(x[i]);
  sum_w = w[0], sum_x = w[0] * x[0];
  for (int i = 1; i < 32; i++) {
    least = x[i] < least ? x[i] : least, most = x[i] > most ? x[i] : most;
    sum_w += w[i], sum_x += w[i] * x[i];
  }
  if (least > 0) least = 0;
  if (most == least) return (block_fit){ .least = least };
  float by = (float)top / (most - least);
  block_fit best = { .scale = 1 / by, .least = least }, f;
  for (int i = 0; i < 32; i++) best.q[i] = nearest_in(by * (x[i] - least), 0, top);
  best.error = error_of(&best, x, w);
  for (int t = 0; t <= tries; t++) {
    by = (first + 0.1f * (float)t + (float)top) / (most - least);
    for (int i = 0; i < 32; i++) f.q[i] = nearest_in(by * (x[i] - least), 0, top);
    /* numbers are counted from the best one's least, as there */
    if (refit(&f, x, w, sum_w, sum_x) && f.error < best.error) best = f, least = f.least;
  }
  return best;
}

static void encode_pairs(tp_format f, const float *x, uint8_t *b) {
  block_fit v[8];
  float scale = 0, offset = 0;
  bool five = f == TP_Q5_K;
  int top = five ? 31 : 15;
  memset(b, 0, (size_t)tp_format_bytes(f));
  for (int j = 0; j < 8; j++) {
    v[j] = five ? fit_pair(x + 32 * j, 31, -0.5f, 15) : fit_pair(x + 32 * j, 15, -1, 20);
    scale = TP_MAX(v[j].scale, scale), offset = TP_MAX(-v[j].least, offset);
  }
  float by = scale > 0 ? 63 / scale : 0, off = offset > 0 ? 63 / offset : 0;
  for (int j = 0; j < 8; j++)
    put_pair(b + 4, j, nearest_in(by * v[j].scale, 0, 63), nearest_in(off * -v[j].least, 0, 63));
  float d = put_half(b, scale / 63), m = put_half(b + 2, offset / 63);
  for (int j = 0; j < 8; j += 2) {
    uint8_t q[64];
    for (int i = 0; i < 64; i++) {
      int s, o;
      get_pair(b + 4, j + i / 32, &s, &o);
      q[i] = (uint8_t)v[j + i / 32].q[i % 32];
      if (d * (float)s != 0)
        q[i] = (uint8_t)nearest_in((x[32 * j + i] + m * (float)o) / (d * (float)s), 0, top);
      if (five) b[16 + i % 32] |= (uint8_t)(q[i] >> 4 << (j + i / 32));
    }
    put_low(b + (five ? 48 : 16) + 16 * j, 32, q);
  }
}

/* The scale of 16 numbers for which q - 32 is nearest, by their squares. */
static float fit_scale(const float *x, uint8_t *q) {
  float max = largest(x, 16), scale = 0, best = 0;
  memset(q, 0, 16);
  if (fabsf(max) < 1e-15f) return 0;
  for (int t = 0; t < 19; t++) { /* first as it is, then from -9 to 9 tenths aside */
    int aside = t == 0 ? 0 : t <= 9 ? t - 10 : t - 9;
    float by = -(32 + 0.1f * (float)aside) / max, xl = 0, l2 = 0;
    uint8_t tried[16];
    for (int i = 0; i < 16; i++) {
      float l = (float)nearest_in(by * x[i], -32, 31), w = x[i] * x[i];
      tried[i] = (uint8_t)(l + 32);
      xl += w * x[i] * l, l2 += w * l * l;
    }
    if (t && !(l2 > 0 && xl * xl > best * l2)) continue;
    memcpy(q, tried, 16);
    scale = l2 != 0 ? xl / l2 : 0, best = scale * xl;
  }
  return scale;
}

static void encode_q6_k(const float *x, uint8_t *b) {
  float scale[16];
  uint8_t q[SUPER];
  memset(b, 0, (size_t)tp_format_bytes(TP_Q6_K));
  for (int j = 0; j < 16; j++) scale[j] = fit_scale(x + 16 * j, q + 16 * j);
  float max = largest(scale, 16);
  if (fabsf(max) < 1e-15f) return;
  float by = -128 / max, d = put_half(b + 208, 1 / by);
  for (int j = 0; j < 16; j++) b[192 + j] = (uint8_t)TP_MIN(127, nearest(by * scale[j]));
  for (int i = 0; i < SUPER; i++) {
    float s = d * (float)(int8_t)b[192 + i / 16];
    if (s != 0) q[i] = (uint8_t)(32 + nearest_in(x[i] / s, -32, 31));
    b[128 + i / 128 * 32 + i % 32] |= (uint8_t)(q[i] >> 4 << i % 128 / 32 * 2);
  }
  put_low(b, 64, q);
  put_low(b + 64, 64, q + 128);
}

void tp_blocks_encode(tp_format f, const float *from, int64_t nblocks, uint8_t *to) {
  for (int64_t i = 0; i < nblocks; i++) {
    if (f == TP_Q6_K) encode_q6_k(from, to);
    else if (tp_format_elements(f) == SUPER) encode_pairs(f, from, to);
    else encode_32(f, from, to);
    from += tp_format_elements(f), to += tp_format_bytes(f);
  }
}
