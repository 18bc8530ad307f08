/* Dtypes: names, promotion, elements. Float to int truncates, saturates, NaN gives 0; true is
 * anything but 0 (NaN too); i64 to a narrower int wraps; f16 and bf16 are rounded to nearest even
 * once, an i64 by way of f32. */
#include "base/base.h"
#include <math.h>

static const struct {
  const char *name;
  int size;
  bool is_float;
} info[TP_NDTYPE] = {
#define D(N, t, c, b, f) [TP_##N] = { t, b, f },
#include "base/dtypes.def"
#undef D
};

const char *tp_dtype_name(tp_dtype d) { return (unsigned)d < TP_NDTYPE ? info[d].name : "?"; }
int tp_dtype_size(tp_dtype d) { return info[d].size; }
bool tp_dtype_float(tp_dtype d) { return info[d].is_float; }

bool tp_dtype_parse(const char *s, tp_dtype *out) {
  int d = 0;
  while (d < TP_NDTYPE && strcmp(s, info[d].name) != 0) d++;
  if (d < TP_NDTYPE) *out = (tp_dtype)d;
  return d < TP_NDTYPE;
}

tp_dtype tp_dtype_promote(tp_dtype a, tp_dtype b) {
  if ((a == TP_F16 && b == TP_BF16) || (a == TP_BF16 && b == TP_F16)) return TP_F32;
  return TP_MAX(a, b);
}

static uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
static float of_bits(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

float tp_f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 31, man = h & 0x3ff;
  if (exp == 31) return of_bits(sign | 0x7f800000u | man << 13);
  if (exp == 0) return of_bits(sign | bits_of((float)man * 0x1p-24f));
  return of_bits(sign | (exp + 112) << 23 | man << 13);
}

/* to nearest even */
static uint32_t shift_even(uint32_t m, int s) {
  uint32_t half = 1u << (s - 1), q = m >> s, rest = m & ((1u << s) - 1);
  return q + (rest > half || (rest == half && (q & 1)));
}

uint16_t tp_f32_to_f16(float f) {
  uint32_t u = bits_of(f), sign = u >> 16 & 0x8000, mag = u & 0x7fffffff;
  if (mag > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (mag >> 13 & 0x3ff));
  /* >= 65520 rounds to infinity */
  if (mag >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (mag >= 0x38800000) return (uint16_t)(sign | shift_even(mag - 0x38000000, 13));
  /* subnormal: man * 2^-(s + 24) */
  int s = 126 - (int)(mag >> 23);
  return (uint16_t)(s > 24 ? sign : sign | shift_even((mag & 0x7fffff) | 0x800000, s));
}

float tp_bf16_to_f32(uint16_t h) { return of_bits((uint32_t)h << 16); }

uint16_t tp_f32_to_bf16(float f) {
  uint32_t u = bits_of(f);
  return isnan(f) ? (uint16_t)(u >> 16 | 0x40) : (uint16_t)shift_even(u, 16);
}

/* An f32 that rounds to 16 bits as the double does: an odd last bit stands for bits that f32
 * lacks. */
static float sticky(double v) {
  float f = (float)v;
  if (f == v || isnan(v) || isinf(f)) return f;
  uint32_t u = bits_of(f) - (fabs((double)f) > fabs(v));
  return of_bits(u | 1);
}

int64_t tp_f64_to_i64(double v) {
  if (isnan(v)) return 0;
  return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
}

const char *tp_dtype_refuses(tp_dtype d, double v) {
  if (d == TP_BOOL || tp_dtype_float(d)) return NULL;
  if (isnan(v) || v != floor(v)) return "no integer";
  switch (d) {
  case TP_U8: return v < 0 || v > UINT8_MAX ? "outside 0 .. 255" : NULL;
  case TP_I32: return v < INT32_MIN || v > INT32_MAX ? "outside -2^31 .. 2^31 - 1" : NULL;
  default: return v < -0x1p63 || v >= 0x1p63 ? "outside -2^63 .. 2^63 - 1" : NULL;
  }
}

static int64_t clamp(double v, int64_t lo, int64_t hi) {
  int64_t i = tp_f64_to_i64(v);
  return i < lo ? lo : i > hi ? hi : i;
}

double tp_get(tp_dtype d, const void *p, int64_t i) {
  switch (d) {
  case TP_F16: return tp_f16_to_f32(((const uint16_t *)p)[i]);
  case TP_BF16: return tp_bf16_to_f32(((const uint16_t *)p)[i]);
  case TP_F32: return ((const float *)p)[i];
  case TP_F64: return ((const double *)p)[i];
  default: return (double)tp_geti(d, p, i);
  }
}

int64_t tp_geti(tp_dtype d, const void *p, int64_t i) {
  switch (d) {
  case TP_BOOL: return ((const uint8_t *)p)[i] != 0;
  case TP_U8: return ((const uint8_t *)p)[i];
  case TP_I32: return ((const int32_t *)p)[i];
  case TP_I64: return ((const int64_t *)p)[i];
  default: return tp_f64_to_i64(tp_get(d, p, i));
  }
}

void tp_put(tp_dtype d, void *p, int64_t i, double v) {
  switch (d) {
  case TP_BOOL: ((uint8_t *)p)[i] = v != 0; break;
  case TP_U8: ((uint8_t *)p)[i] = (uint8_t)clamp(v, 0, UINT8_MAX); break;
  case TP_I32: ((int32_t *)p)[i] = (int32_t)clamp(v, INT32_MIN, INT32_MAX); break;
  case TP_I64: ((int64_t *)p)[i] = tp_f64_to_i64(v); break;
  case TP_F16: ((uint16_t *)p)[i] = tp_f32_to_f16(sticky(v)); break;
  case TP_BF16: ((uint16_t *)p)[i] = tp_f32_to_bf16(sticky(v)); break;
  case TP_F32: ((float *)p)[i] = (float)v; break;
  case TP_F64: ((double *)p)[i] = v; break;
  case TP_NDTYPE: TP_ASSERT(!"dtype"); break;
  }
}

void tp_puti(tp_dtype d, void *p, int64_t i, int64_t v) {
  switch (d) {
  case TP_BOOL: ((uint8_t *)p)[i] = v != 0; break;
  case TP_U8: ((uint8_t *)p)[i] = (uint8_t)v; break;
  case TP_I32: ((int32_t *)p)[i] = (int32_t)(uint32_t)v; break;
  case TP_I64: ((int64_t *)p)[i] = v; break;
  case TP_F16: ((uint16_t *)p)[i] = tp_f32_to_f16((float)v); break;
  case TP_BF16: ((uint16_t *)p)[i] = tp_f32_to_bf16((float)v); break;
  case TP_F32: ((float *)p)[i] = (float)v; break;
  case TP_F64: ((double *)p)[i] = (double)v; break;
  case TP_NDTYPE: TP_ASSERT(!"dtype"); break;
  }
}
