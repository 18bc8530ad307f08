/* Elementary functions in f32 and f64: plain C99 (and C++), no include, no branch where a loop is
 * to vectorise. The including file gives before it
 *   TP_FN    static inline, __device__ or the like
 *   TP_ONCE  the same for functions too long to stand wherever they are called, if not TP_FN
 *   TP_FMA   1 where fma and fmaf are instructions, else 0
 *   TP_U64, TP_I64  what makes a number one of 64 bits, where that is not ull and ll
 *   the integer types of stdint; of math.h sqrt, fabs, floor, ceil, rint, fma and their f32 forms
 * and is compiled without contraction: an operation that may be fused is written as tp_mad. So the
 * same operands give the same bits on every target with TP_FMA 1, and errors of the same size
 * elsewhere: less than one unit of the last place (ulp), except exp 1.1 (f32), expm1 1.1 (f64), tan
 * 2.2 (f64), tanh 2 (f32) and 2.8 (f64), sigmoid 2.5; without fma also erf 1.2
 * (spec/c/math_test.c). .ci/coefficients.py makes the coefficients.
 *
 * near: the formula without branches, right for operands of which tp_is_near_.. holds; tp_sin_f32
 * and the like without `near` take any operand. */
#ifndef TP_ONCE
#define TP_ONCE TP_FN
#endif
#ifndef TP_U64
#define TP_U64(x) x##ull
#define TP_I64(x) x##ll
#endif
TP_FN uint32_t tp_bits_f32(float x) {
  union {
    float x;
    uint32_t u;
  } v;
  v.x = x;
  return v.u;
}
TP_FN float tp_of_f32(uint32_t u) {
  union {
    float x;
    uint32_t u;
  } v;
  v.u = u;
  return v.x;
}
TP_FN uint64_t tp_bits_f64(double x) {
  union {
    double x;
    uint64_t u;
  } v;
  v.x = x;
  return v.u;
}
TP_FN double tp_of_f64(uint64_t u) {
  union {
    double x;
    uint64_t u;
  } v;
  v.u = u;
  return v.x;
}
#define TP_INF_F32 tp_of_f32(0x7f800000u)
#define TP_NAN_F32 tp_of_f32(0x7fc00000u)
#define TP_INF_F64 tp_of_f64(TP_U64(0x7ff0000000000000))
#define TP_NAN_F64 tp_of_f64(TP_U64(0x7ff8000000000000))

/* tp_mad: a * b + c, of floats rounded once with TP_FMA, twice without. tp_fma: once everywhere
 * (f32: but for ties once in 2^29). */
TP_FN uint64_t tp_mad_u64(uint64_t a, uint64_t b, uint64_t c) { return a * b + c; }
#if TP_FMA
TP_FN float tp_mad_f32(float a, float b, float c) { return fmaf(a, b, c); }
TP_FN float tp_fma_f32(float a, float b, float c) { return fmaf(a, b, c); }
TP_FN double tp_mad_f64(double a, double b, double c) { return fma(a, b, c); }
TP_FN double tp_product_f64(double a, double b, double *rest) {
  double p = a * b;
  *rest = fma(a, b, -p);
  return p;
}
#else
TP_FN float tp_mad_f32(float a, float b, float c) { return a * b + c; }
TP_FN float tp_fma_f32(float a, float b, float c) { return (float)((double)a * b + c); }
TP_FN double tp_mad_f64(double a, double b, double c) { return a * b + c; }
/* Dekker: halves of 26 bits, whose products are exact; |a|, |b| < 2^996. */
TP_FN double tp_product_f64(double a, double b, double *rest) {
  double p = a * b, ca = a * 134217729.0, cb = b * 134217729.0, ah = ca - (ca - a),
         bh = cb - (cb - b), al = a - ah, bl = b - bh;
  *rest = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
  return p;
}
#endif
/* a + b and what is lost. */
TP_FN double tp_sum_f64(double a, double b, double *rest) {
  double s = a + b, t = s - a;
  *rest = (a - (s - t)) + (b - t);
  return s;
}

/* Horner: a + x (b + x (c + ..)). */
#define TP_POLY2(mad, x, a, b)    mad(b, x, a)
#define TP_POLY3(mad, x, a, ...)  mad(TP_POLY2(mad, x, __VA_ARGS__), x, a)
#define TP_POLY4(mad, x, a, ...)  mad(TP_POLY3(mad, x, __VA_ARGS__), x, a)
#define TP_POLY5(mad, x, a, ...)  mad(TP_POLY4(mad, x, __VA_ARGS__), x, a)
#define TP_POLY6(mad, x, a, ...)  mad(TP_POLY5(mad, x, __VA_ARGS__), x, a)
#define TP_POLY7(mad, x, a, ...)  mad(TP_POLY6(mad, x, __VA_ARGS__), x, a)
#define TP_POLY8(mad, x, a, ...)  mad(TP_POLY7(mad, x, __VA_ARGS__), x, a)
#define TP_POLY9(mad, x, a, ...)  mad(TP_POLY8(mad, x, __VA_ARGS__), x, a)
#define TP_POLY10(mad, x, a, ...) mad(TP_POLY9(mad, x, __VA_ARGS__), x, a)
#define TP_POLY11(mad, x, a, ...) mad(TP_POLY10(mad, x, __VA_ARGS__), x, a)
#define TP_POLY12(mad, x, a, ...) mad(TP_POLY11(mad, x, __VA_ARGS__), x, a)
#define TP_POLY13(mad, x, a, ...) mad(TP_POLY12(mad, x, __VA_ARGS__), x, a)
#define TP_POLY14(mad, x, a, ...) mad(TP_POLY13(mad, x, __VA_ARGS__), x, a)
#define TP_POLY15(mad, x, a, ...) mad(TP_POLY14(mad, x, __VA_ARGS__), x, a)
#define TP_POLY16(mad, x, a, ...) mad(TP_POLY15(mad, x, __VA_ARGS__), x, a)
#define TP_POLY17(mad, x, a, ...) mad(TP_POLY16(mad, x, __VA_ARGS__), x, a)
#define TP_POLY18(mad, x, a, ...) mad(TP_POLY17(mad, x, __VA_ARGS__), x, a)

#define TP_GIVEN(sfx, T, fabs, sqrt, floor, ceil, rint) \
  TP_FN T tp_fabs_##sfx(T x) { return fabs(x); } \
  TP_FN T tp_sqrt_##sfx(T x) { return sqrt(x); } \
  TP_FN T tp_floor_##sfx(T x) { return floor(x); } \
  TP_FN T tp_ceil_##sfx(T x) { return ceil(x); } \
  TP_FN T tp_rint_##sfx(T x) { return rint(x); }
TP_GIVEN(f32, float, fabsf, sqrtf, floorf, ceilf, rintf)
TP_GIVEN(f64, double, fabs, sqrt, floor, ceil, rint)
/* |y| with the sign of x, for a y that is not negative. */
TP_FN float tp_sign_f32(float y, float x) {
  return tp_of_f32(tp_bits_f32(y) | (tp_bits_f32(x) & 0x80000000u));
}
TP_FN double tp_sign_f64(double y, double x) {
  return tp_of_f64(tp_bits_f64(y) | (tp_bits_f64(x) & TP_U64(0x8000000000000000)));
}

/* ---- exponentials: x = n ln 2 + r with |r| <= ln 2 / 2 ---- */
/* Adding 1.5 * 2^23 (2^52) rounds to an integer, which the low bits of the sum are. */

/* (e^r - 1 - r) / r^2. */
TP_FN float tp_exp_rest_f32(float r) {
  return TP_POLY5(tp_mad_f32, r, 0x1.fffffcp-2f, 0x1.555482p-3f, 0x1.555826p-5f, 0x1.12448cp-7f,
      0x1.6afd6p-10f);
}

/* Even and odd powers of the terms after the first go side by side: results are there sooner. */
TP_FN double tp_exp_rest_f64(double r) {
  double z = r * r, even, odd;
  even = TP_POLY5(tp_mad_f64, z, 0x1.5555555555500p-3, 0x1.1111111125a9ep-7, 0x1.a01a01385f82ap-13,
      0x1.71df002a8290cp-19, 0x1.adc31bbd06cbcp-26);
  odd = TP_POLY4(tp_mad_f64, z, 0x1.55555555505f4p-5, 0x1.6c16c184bbd53p-10, 0x1.a01998760747ep-16,
      0x1.28aef55949d45p-22);
  return tp_mad_f64(tp_mad_f64(odd, r, even), r, 0x1.000000000000ap-1);
}

/* x - n ln 2, exact, less its *rest; *u: n in the low bits. */
TP_FN float tp_exp_parts_f32(float x, float *rest, uint32_t *u) {
  float t = tp_mad_f32(x, 0x1.715476p+0f, 0x1.8p23f), n = t - 0x1.8p23f;
  *u = tp_bits_f32(t);
  *rest = n * -0x1.7f7d1cp-20f;
  return tp_mad_f32(n, -0x1.62e4p-1f, x);
}

TP_FN double tp_exp_parts_f64(double x, double *rest, uint64_t *u) {
  double t = tp_mad_f64(x, 0x1.71547652b82fep+0, 0x1.8p52), n = t - 0x1.8p52;
  *u = tp_bits_f64(t);
  *rest = n * -0x1.ef35793c76730p-45;
  return tp_mad_f64(n, -0x1.62e42fefa3800p-1, x);
}

/* y 2^n in two steps, so that subnormals are rounded once. */
TP_FN float tp_scale_f32(float y, uint32_t u) {
  uint32_t half = u >> 1 << 23;
  return y * tp_of_f32(half + 0x3f800000u) * tp_of_f32((u << 23) - half + 0x3f800000u);
}

TP_FN double tp_scale_f64(double y, uint64_t u) {
  uint64_t half = u >> 1 << 52;
  return y * tp_of_f64(half + TP_U64(0x3ff0000000000000)) *
      tp_of_f64((u << 52) - half + TP_U64(0x3ff0000000000000));
}

/* x <= 89 (710); of more the sums come to what is not looked at. 2^n in two steps, whose exponents
 * the low bits of t are, twice the bias more than n. */
TP_FN float tp_exp_low_f32(float x) {
  float t = tp_mad_f32(x, 0x1.715476p+0f, 0x1.8p23f + 254.0f), n = t - (0x1.8p23f + 254.0f);
  float r = tp_mad_f32(n, -0x1.62e4p-1f, x) + n * -0x1.7f7d1cp-20f;
  uint32_t u = tp_bits_f32(t), half = u << 22 & 0x7f800000u;
  float s = tp_of_f32(half);
  r = tp_mad_f32(tp_mad_f32(tp_exp_rest_f32(r), r * r, r), s, s) * tp_of_f32((u << 23) - half);
  return x < -105.0f ? 0.0f : r;
}

TP_FN double tp_exp_low_f64(double x) {
  uint64_t u;
  double rest, first = tp_exp_parts_f64(x, &rest, &u), r = first + rest;
  r = tp_scale_f64(1.0 + (first + tp_mad_f64(tp_exp_rest_f64(r), r * r, rest)), u);
  return x < -747.0 ? 0.0 : r;
}

/* An x that is too large is told by the result, which waits for the argument anyway. */
TP_FN float tp_exp_f32(float x) {
  float r = tp_exp_low_f32(x);
  return x > 89.0f ? TP_INF_F32 : r;
}
TP_FN double tp_exp_f64(double x) {
  double r = tp_exp_low_f64(x);
  return x > 710.0 ? TP_INF_F64 : r;
}

/* 2 ((s - 1/2) + s r + s (rest + r^2 P)) with s = 2^(n - 1), since n may be 128; what the first
 * sums lose is added to the last. */
TP_FN float tp_expm1_f32(float x) {
  uint32_t u;
  float rest, y = x > 89.0f ? 89.0f : x;
  float first = tp_exp_parts_f32(y, &rest, &u), r = first + rest,
        s = tp_of_f32((u << 23) + 0x3f000000u), c = s - 0.5f, e = tp_mad_f32(s, first, c);
  e += tp_mad_f32(
      s, tp_fma_f32(tp_exp_rest_f32(r), r * r, rest), tp_mad_f32(s, first, c - e) + (s - c - 0.5f));
  e = x < -25.0f ? -1.0f : e + e;
  return tp_fabs_f32(x) < 0x1p-25f ? x : e;
}

TP_FN double tp_expm1_f64(double x) {
  uint64_t u;
  double rest, y = x > 710.0 ? 710.0 : x;
  double first = tp_exp_parts_f64(y, &rest, &u), r = first + rest,
         s = tp_of_f64((u << 52) + TP_U64(0x3fe0000000000000)), c = s - 0.5,
         e = tp_mad_f64(s, first, c);
  e += tp_mad_f64(
      s, tp_mad_f64(tp_exp_rest_f64(r), r * r, rest), tp_mad_f64(s, first, c - e) + (s - c - 0.5));
  e = x < -60.0 ? -1.0 : e + e;
  return tp_fabs_f64(x) < 0x1p-54 ? x : e;
}

TP_FN float tp_sigmoid_f32(float x) {
  float e = tp_exp_low_f32(-tp_fabs_f32(x));
  return (x < 0 ? e : 1.0f) / (1.0f + e);
}

TP_FN double tp_sigmoid_f64(double x) {
  double e = tp_exp_low_f64(-tp_fabs_f64(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}

/* tanh of x / 2 is h / (1 + q) with h = x P(x^2), q = x^2 Q(x^2). With d = (1 + q)^2 + h^2 and e =
 * d - (1 + q), which is small where x is, that of x is 2 h (1 + q) / d = 2 h - 2 h e / d = 1 - (1 +
 * q - h)^2 / d, which is 1 from 9.7 on. */
TP_FN float tp_tanh_f32(float x) {
  float y = tp_fabs_f32(x), z, h, q, e, w;
  int near = y < 0.96875f;
  y = y > 9.7f ? 9.7f : y, z = y * y;
  q = TP_POLY3(tp_mad_f32, z, 0x1.d703e6p-4f, 0x1.7298dep-10f, 0x1.81a58p-19f) * z;
  y = tp_mad_f32(
      TP_POLY3(tp_mad_f32, z, 0x1.035d22p-5f, 0x1.5863ep-13f, 0x1.9058e8p-24f) * z, y, y),
  h = 0.5f * y;
  e = tp_mad_f32(h, h, tp_mad_f32(q, q, q)), w = 1.0f + (q - h);
  return tp_sign_f32((near ? y : 1.0f) - (near ? y * e : w * w) / (1.0f + (q + e)), x);
}

/* u / (2 + u) with u = e^(-2 |x|) - 1 = s r^2 P + (s r + s - 1), s = 2^n; from 20 on it is 1. */
TP_FN double tp_tanh_f64(double x) {
  uint64_t n;
  double y = tp_fabs_f64(x), rest, first = tp_exp_parts_f64(-2.0 * y, &rest, &n), r = first + rest,
         s = tp_of_f64((n << 52) + TP_U64(0x3ff0000000000000));
  double p = tp_exp_rest_f64(r), c = s * (r * r), u = tp_mad_f64(c, p, tp_mad_f64(s, r, s - 1.0)),
         d = tp_mad_f64(c, p, tp_mad_f64(s, r, s + 1.0));
  return tp_sign_f64(y > 20.0 ? 1.0 : tp_fabs_f64(u / d), x);
}

/* ---- logarithms: x = 2^n (1 + f) ---- */

/* n ln 2 + ln(1 + f + rest), 1 + f in 2/3 .. 4/3; what n ln 2 + f loses is added to the last
 * sum. */
TP_FN float tp_log_sum_f32(float n, float f, float rest) {
  float p, h = tp_mad_f32(n, 0x1.62e4p-1f, f);
  p = TP_POLY9(tp_mad_f32, f, -0.5f, 0x1.555506p-2f, -0x1.fffedep-3f, 0x1.99d088p-3f,
      -0x1.55a192p-3f, 0x1.1ed02cp-3f, -0x1.f2a3a4p-4f, 0x1.1ea27ap-3f, -0x1.090f1ep-3f);
  return h +
      (tp_mad_f32(p, f * f, tp_mad_f32(n, 0x1.62e4p-1f, -h) + f) +
          tp_mad_f32(n, 0x1.7f7d1cp-20f, rest));
}

/* 1 + f in sqrt(1/2) .. sqrt(2): ln(1 + f) = f - (h - s (h + z P(z))), s = f / (2 + f), z = s^2, h
 * = f^2 / 2. */
TP_FN double tp_log_sum_f64(double n, double f, double rest) {
  double s = f / (2.0 + f), z = s * s, h = 0.5 * f * f, p;
  p = TP_POLY7(tp_mad_f64, z, 0x1.5555555555593p-1, 0x1.999999997f9f8p-2, 0x1.249249422a464p-2,
      0x1.c71c51d7ce852p-3, 0x1.746649afb4190p-3, 0x1.39a09585cccdcp-3, 0x1.2f117fb8e0117p-3);
  return tp_mad_f64(n, 0x1.62e42fefa3800p-1,
      f - (h - tp_mad_f64(s, tp_mad_f64(p, z, h), tp_mad_f64(n, 0x1.ef35793c76730p-45, rest))));
}

/* n of x > 0 in the high bits, the low ones 0. f64: 2^52 + 1024 + n as a double less what is added,
 * since not every processor shifts 64 bits with their sign. */
TP_FN uint32_t tp_exponent_f32(float x) { return (tp_bits_f32(x) - 0x3f2aaaabu) & 0xff800000u; }
TP_FN uint64_t tp_exponent_f64(double x) {
  return (tp_bits_f64(x) - TP_U64(0x3fe6a09e667f3bcd)) & TP_U64(0xfff0000000000000);
}
TP_FN float tp_exponent_of_f32(uint32_t e) { return (float)((int32_t)e >> 23); }
TP_FN double tp_exponent_of_f64(uint64_t e) {
  return tp_of_f64((e + (TP_U64(1024) << 52)) >> 52 | TP_U64(0x4330000000000000)) - (0x1p52 + 1024);
}

TP_FN float tp_log_f32(float x) {
  int tiny = x < 0x1p-126f;
  float v = tiny ? x * 0x1p23f : x;
  uint32_t e = tp_exponent_f32(v);
  float y = tp_log_sum_f32(
      tp_exponent_of_f32(e) - (tiny ? 23.0f : 0.0f), tp_of_f32(tp_bits_f32(v) - e) - 1.0f, 0.0f);
  y = x < TP_INF_F32 ? y : x;
  y = x < 0 ? TP_NAN_F32 : y;
  return x == 0 ? -TP_INF_F32 : y;
}

TP_FN double tp_log_f64(double x) {
  int tiny = x < 0x1p-1022;
  double v = tiny ? x * 0x1p52 : x;
  uint64_t e = tp_exponent_f64(v);
  double y = tp_log_sum_f64(
      tp_exponent_of_f64(e) - (tiny ? 52.0 : 0.0), tp_of_f64(tp_bits_f64(v) - e) - 1.0, 0.0);
  y = x < TP_INF_F64 ? y : x;
  y = x < 0 ? TP_NAN_F64 : y;
  return x == 0 ? -TP_INF_F64 : y;
}

/* (1 + x) 2^-n - 1 = x 2^-n + (2^-n - 1) = f + rest. 2^-n may be subnormal, 2^(2 - n) is not. */
TP_FN float tp_log1p_f32(float x) {
  float v = 1.0f + x;
  uint32_t e = tp_exponent_f32(v);
  float part = tp_of_f32(tp_bits_f32(x) - e),
        base = tp_mad_f32(0.25f, tp_of_f32(0x40800000u - e), -1.0f), f = part + base,
        rest = (base - f) + part;
  float y = tp_log_sum_f32(tp_exponent_of_f32(e), f, tp_mad_f32(tp_mad_f32(f, f, -f), rest, rest));
  y = x < TP_INF_F32 ? y : x;
  y = v < 0 ? TP_NAN_F32 : y;
  y = v == 0 ? -TP_INF_F32 : y;
  return x == 0 ? x : y;
}

TP_FN double tp_log1p_f64(double x) {
  double v = 1.0 + x;
  uint64_t e = tp_exponent_f64(v);
  double part = tp_of_f64(tp_bits_f64(x) - e),
         base = tp_mad_f64(0.25, tp_of_f64(TP_U64(0x4010000000000000) - e), -1.0), f = part + base,
         rest = (base - f) + part;
  double y = tp_log_sum_f64(tp_exponent_of_f64(e), f, tp_mad_f64(tp_mad_f64(f, f, -f), rest, rest));
  y = x < TP_INF_F64 ? y : x;
  y = v < 0 ? TP_NAN_F64 : y;
  y = v == 0 ? -TP_INF_F64 : y;
  return x == 0 ? x : y;
}

/* ---- erf: x + x P(x^2) to 1, then 1 - e^(x P(x)) ---- */

TP_FN float tp_erf_f32(float x) {
  float a = tp_fabs_f32(x), z = a * a, y = a > 4.0f ? 4.0f : a, p, q, rest;
  p = TP_POLY6(tp_mad_f32, z, -0x1.81273ep-2f, 0x1.ce2ce6p-4f, -0x1.b7f714p-6f, 0x1.53f1bep-8f,
      -0x1.a34dp-11f, 0x1.476278p-14f);
  p = tp_fma_f32(p, z, 0x1.06eba8p-3f);
  p = tp_fma_f32(p, a, a);
  q = TP_POLY6(tp_mad_f32, y, -0x1.07212p-3f, -0x1.458b4cp-1f, -0x1.ae91cp-4f, 0x1.758edap-6f,
      -0x1.a1c63ap-9f, 0x1.b9d502p-13f);
  uint32_t u;
  float r = tp_exp_parts_f32(tp_mad_f32(q, y, -y), &rest, &u) + rest,
        s = tp_of_f32((u << 23) + 0x3f800000u);
  q = tp_mad_f32(-s, tp_mad_f32(tp_exp_rest_f32(r), r * r, r), 1.0f - s);
  return tp_sign_f32(a < 1.0f ? p : a != a ? a : q, x);
}

TP_FN double tp_erf_f64(double x) {
  double a = tp_fabs_f64(x), z = a * a, y = a > 6.0 ? 6.0 : a, p, q, rest;
  p = TP_POLY13(tp_mad_f64, z, 0x1.06eba8214db69p-3, -0x1.812746b037a24p-2, 0x1.ce2f21a04576ap-4,
      -0x1.b82ce3134b283p-6, 0x1.565bcd2a8296fp-8, -0x1.c02db8cb7c367p-11, 0x1.f9a3abb1aff9dp-14,
      -0x1.f4dbcb14ab028p-17, 0x1.ba58d7905e29bp-20, -0x1.62fb72b2e5e34p-23, 0x1.0fc3ba2eed137p-26,
      -0x1.aea7030bf09e1p-30, 0x1.1c2b60503bf51p-33);
  p = tp_mad_f64(p, a, a);
  q = TP_POLY18(tp_mad_f64, y, -0x1.06eba13980898p-3, -0x1.45f315855bb6cp-1, -0x1.a4f336ef24edfp-4,
      0x1.3959e85fe2f30p-6, 0x1.bae348910aa6ep-13, -0x1.bb6a07208e796p-10, 0x1.2cb421f2e33fcp-11,
      0x1.ebdabacb60ffbp-20, -0x1.92ac9cd3e245bp-14, 0x1.d828c1d3c2ad6p-15, -0x1.56ffbdb8d28f1p-16,
      0x1.6b3caa7fd2030p-18, -0x1.23166a7ca959ap-20, 0x1.606aa6bb72a99p-23, -0x1.39d71beeb3564p-26,
      0x1.84ca1044f09c7p-30, -0x1.2b79853eed43dp-34, 0x1.b00d0f03928b7p-40);
  uint64_t u;
  double r = tp_exp_parts_f64(tp_mad_f64(q, y, -y), &rest, &u) + rest,
         s = tp_of_f64((u << 52) + TP_U64(0x3ff0000000000000));
  q = tp_mad_f64(-s, tp_mad_f64(tp_exp_rest_f64(r), r * r, r), 1.0 - s);
  return tp_sign_f64(a < 1.0 ? p : a != a ? a : q, x);
}

/* ---- sin, cos, tan: x = n pi / 2 + r + rest, |rest| below half a last place of r ---- */

/* A turned number: r and what is lost in it; q: n in its low two bits. */
typedef struct tp_turn_f32 {
  float r, rest;
  uint32_t q;
} tp_turn_f32;
typedef struct tp_turn_f64 {
  double r, rest;
  uint64_t q;
} tp_turn_f64;

/* |x| <= 2^20. pi / 2 in three parts; n times the first and what is left of x are exact. */
TP_FN tp_turn_f32 tp_turn_near_f32(float x) {
  tp_turn_f32 v;
  float a = tp_fabs_f32(x), t = tp_fma_f32(a, 0x1.45f306p-1f, 0x1.8p23f), n = t - 0x1.8p23f;
  float c = tp_fma_f32(n, -0x1.921fb4p+0f, a), b = n * 0x1.4442d0p-24f,
        lost = tp_fma_f32(n, 0x1.4442d0p-24f, -b), back;
  v.r = c - b;
  back = c - v.r;
  v.rest = (c - (v.r + back)) + (back - b) - tp_mad_f32(n, 0x1.84698ap-48f, lost);
  v.q = tp_bits_f32(t);
  return v;
}

/* As above; four parts, the first three of 33 bits, so that n times each is exact. */
TP_FN tp_turn_f64 tp_turn_near_f64(double x) {
  tp_turn_f64 v;
  double a = tp_fabs_f64(x), t = tp_mad_f64(a, 0x1.45f306dc9c883p-1, 0x1.8p52), n = t - 0x1.8p52,
         lost, lost2, rest;
  double r = tp_sum_f64(a - n * 0x1.921fb54400000p+0, n * -0x1.0b4611a600000p-34, &lost);
  r = tp_sum_f64(r, n * -0x1.3198a2e000000p-69, &lost2);
  rest = tp_mad_f64(n, -0x1.b839a252049c1p-104, lost + lost2);
  v.r = r + rest;
  v.rest = (r - v.r) + rest;
  v.q = tp_bits_f64(t);
  return v;
}

/* Finite |x| >= 2^20 (Payne and Hanek): x = m 2^e with an integer m of 53 bits, which is multiplied
 * with those 256 bits of 2 / pi whose products are neither multiples of 4 nor nothing. w[0] gets
 * whole quarters, w[1 .. 7] the rest. */
TP_FN tp_turn_f64 tp_turn_far_f64(double x) {
  const uint32_t two_over_pi[40] = { 0, 0, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
    0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau,
    0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u,
    0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu,
    0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu,
    0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu };
  uint64_t bits = tp_bits_f64(x) & TP_U64(0x7fffffffffffffff),
           m = (bits & TP_U64(0xfffffffffffff)) | TP_U64(0x10000000000000), low = 0, high = 0;
  int e = (int)(bits >> 52) - 1075 + 64, shift = e % 32, i;
  const uint32_t *of = two_over_pi + e / 32 - 1;
  uint32_t w[9];
  tp_turn_f64 v;
  for (i = 7, w[8] = 0; i >= 0; i--, low >>= 32)
    w[i] = (uint32_t)(low += (m & 0xffffffffu) * of[i]);
  for (i = 7; i >= 1; i--, high >>= 32) w[i - 1] = (uint32_t)(high += (m >> 32) * of[i] + w[i - 1]);
  for (i = 0; i < 8; i++) w[i] = w[i] << shift | w[i + 1] >> 1 >> (31 - shift);
  double lost, scale = 0x1p-32, r = (double)(int32_t)w[1] * scale, rest = 0, hi;
  for (i = 2; i < 7; i++) {
    scale *= 0x1p-32;
    r = tp_sum_f64(r, (double)w[i] * scale, &lost);
    rest += lost;
  }
  hi = tp_product_f64(r, 0x1.921fb54442d18p+0, &lost);
  rest = tp_mad_f64(rest, 0x1.921fb54442d18p+0, tp_mad_f64(r, 0x1.1a62633145c07p-54, lost));
  v.q = w[0] + (w[1] >> 31);
  v.r = hi + rest;
  v.rest = (hi - v.r) + rest;
  return v;
}

TP_FN tp_turn_f32 tp_turn_far_f32(float x) {
  tp_turn_f64 d = tp_turn_far_f64((double)x);
  tp_turn_f32 v;
  v.r = (float)d.r;
  v.rest = (float)(d.r - (double)v.r + d.rest);
  v.q = (uint32_t)d.q;
  return v;
}

/* |r| <= 0.82 (f32), pi / 4 (f64). */
TP_FN float tp_sin_of_f32(tp_turn_f32 v) {
  float z = v.r * v.r,
        p = tp_mad_f32(tp_mad_f32(-0x1.989544p-13f, z, 0x1.110532p-7f), z, -0x1.55554p-3f);
  return v.r + tp_mad_f32(p, v.r * z, v.rest);
}

/* 1 - z / 2 is rounded, what it loses is added at the end. */
TP_FN float tp_cos_of_f32(tp_turn_f32 v) {
  float z = v.r * v.r, h = 0.5f * z, w = 1.0f - h,
        p = tp_mad_f32(tp_mad_f32(0x1.998208p-16f, z, -0x1.6c0ad4p-10f), z, 0x1.555548p-5f);
  return w + ((1.0f - w - h) + tp_mad_f32(p, z * z, -v.r * v.rest));
}

TP_FN double tp_sin_of_f64(tp_turn_f64 v) {
  double z = v.r * v.r, p;
  p = TP_POLY6(tp_mad_f64, z, -0x1.5555555555549p-3, 0x1.111111110f8a4p-7, -0x1.a01a019c15b43p-13,
      0x1.71de357aad318p-19, -0x1.ae5e683ae551cp-26, 0x1.5d93844bb967bp-33);
  return v.r + tp_mad_f64(p, v.r * z, v.rest * (1.0 - 0.5 * z));
}

TP_FN double tp_cos_of_f64(tp_turn_f64 v) {
  double z = v.r * v.r, h = 0.5 * z, w = 1.0 - h, p;
  p = TP_POLY6(tp_mad_f64, z, 0x1.555555555554cp-5, -0x1.6c16c16c1521dp-10, 0x1.a01a019cbf0d6p-16,
      -0x1.27e4f81265648p-22, 0x1.1ee9f110be526p-29, -0x1.8fb10a3560c3fp-37);
  return w + ((1.0 - w - h) + tp_mad_f64(p, z * z, -v.r * v.rest));
}

/* tan r = r + r^3 P(r^2), with what r^3 loses; rest (1 + tan^2 r) is added. An odd quadrant has -1
 * / tan r, whose error is worked out and taken off. */
TP_FN float tp_tan_turned_f32(tp_turn_f32 v, float x) {
  float z = v.r * v.r, p;
  p = TP_POLY7(tp_mad_f32, z, 0x1.55556cp-2f, 0x1.110a74p-3f, 0x1.bb66c4p-5f, 0x1.5728b2p-6f,
      0x1.7f4d22p-7f, -0x1.023b3ap-10f, 0x1.40f1ccp-8f);
  float w = v.r * z, more = tp_mad_f32(tp_mad_f32(0.6667f, z, 1.0f), z, 1.0f);
  more = tp_mad_f32(p, tp_fma_f32(v.r, z, -w) + v.r * tp_fma_f32(v.r, v.r, -z), v.rest * more);
  float u = tp_fma_f32(p, w, more), t = v.r + u, lost = (v.r - t) + u, q = -1.0f / t;
  q = tp_mad_f32(q, tp_mad_f32(q, lost, tp_fma_f32(q, t, 1.0f)), q);
  return tp_of_f32(tp_bits_f32(v.q & 1 ? q : t) ^ (tp_bits_f32(x) & 0x80000000u));
}

TP_FN double tp_tan_turned_f64(tp_turn_f64 v, double x) {
  double s = tp_sin_of_f64(v), c = tp_cos_of_f64(v), t = (v.q & 1 ? c : s) / (v.q & 1 ? -s : c);
  return tp_of_f64(tp_bits_f64(t) ^ (tp_bits_f64(x) & TP_U64(0x8000000000000000)));
}

#define TP_TURNED(sfx, T, SHIFT) \
  TP_FN T tp_sin_turned_##sfx(tp_turn_##sfx v, T x) { \
    T s = tp_sin_of_##sfx(v), c = tp_cos_of_##sfx(v); \
    return tp_of_##sfx( \
        tp_bits_##sfx(v.q & 1 ? c : s) ^ (((v.q >> 1) ^ (tp_bits_##sfx(x) >> SHIFT)) << SHIFT)); \
  } \
  TP_FN T tp_cos_turned_##sfx(tp_turn_##sfx v) { \
    T s = tp_sin_of_##sfx(v), c = tp_cos_of_##sfx(v); \
    return tp_of_##sfx(tp_bits_##sfx(v.q & 1 ? s : c) ^ ((v.q + 1) >> 1 << SHIFT)); \
  } \
  TP_FN int tp_is_near_turn_##sfx(T x) { return tp_fabs_##sfx(x) <= (T)0x1p20; } \
  TP_FN T tp_near_sin_##sfx(T x) { return tp_sin_turned_##sfx(tp_turn_near_##sfx(x), x); } \
  TP_FN T tp_near_cos_##sfx(T x) { return tp_cos_turned_##sfx(tp_turn_near_##sfx(x)); } \
  TP_FN T tp_near_tan_##sfx(T x) { return tp_tan_turned_##sfx(tp_turn_near_##sfx(x), x); } \
  TP_FN tp_turn_##sfx tp_turn_any_##sfx(T x) { \
    return tp_is_near_turn_##sfx(x) ? tp_turn_near_##sfx(x) : tp_turn_far_##sfx(x); \
  } \
  TP_FN T tp_sin_##sfx(T x) { \
    return x - x == 0 ? tp_sin_turned_##sfx(tp_turn_any_##sfx(x), x) : x - x; \
  } \
  TP_FN T tp_cos_##sfx(T x) { \
    return x - x == 0 ? tp_cos_turned_##sfx(tp_turn_any_##sfx(x)) : x - x; \
  } \
  TP_FN T tp_tan_##sfx(T x) { \
    return x - x == 0 ? tp_tan_turned_##sfx(tp_turn_any_##sfx(x), x) : x - x; \
  }
TP_TURNED(f32, float, 31)
TP_TURNED(f64, double, 63)

/* ---- pow: |x|^y = e^(y ln |x|), ln in f64 for f32 and in two f64 for f64 ---- */

/* r = |x|^y with its sign where x < 0: NaN unless y is an integer, - if it is odd. a + 2^52 - 2^52
 * is rounded to an integer. */
TP_FN double tp_pow_signed_f64(double r, double x, double y) {
  double a = tp_fabs_f64(y), half = 0.5 * a, whole = a < 0x1p52 ? (a + 0x1p52) - 0x1p52 : a,
         halves = half < 0x1p52 ? (half + 0x1p52) - 0x1p52 : half;
  double below = whole == a ? (halves == half ? r : -r) : TP_NAN_F64;
  return x < 0 ? below : r;
}

TP_FN int tp_is_near_pow_f32(float x, float y) {
  return (tp_fabs_f32(x) > 0) & (tp_fabs_f32(x) < TP_INF_F32) & (tp_fabs_f32(y) < TP_INF_F32);
}
TP_FN float tp_near_pow_f32(float x, float y) {
  double a = tp_fabs_f64((double)x), s, z, l, t, n, r, p;
  uint64_t e = tp_exponent_f64(a);
  s = tp_of_f64(tp_bits_f64(a) - e) - 1.0, s = s / (2.0 + s), z = s * s;
  l = TP_POLY4(tp_mad_f64, z, 0x1.555554fd424aap-1, 0x1.999a7b39b573fp-2, 0x1.2438a8e9b3393p-2,
      0x1.e2fdc150710edp-3);
  l = tp_mad_f64(tp_exponent_of_f64(e), 0x1.62e42fefa39efp-1, tp_mad_f64(l, s * z, s + s)) *
      (double)y;
  l = l > 120.0 ? 120.0 : l;
  l = l < -120.0 ? -120.0 : l;
  t = tp_mad_f64(l, 0x1.71547652b82fep+0, 0x1.8p52), n = t - 0x1.8p52,
  r = tp_mad_f64(n, -0x1.62e42fefa39efp-1, l);
  p = TP_POLY6(tp_mad_f64, r, 0x1.0000003a71870p-1, 0x1.555551d5fe2eap-3, 0x1.5554892fc02f0p-5,
      0x1.111452f2c2333p-7, 0x1.6d961eaa2de02p-10, 0x1.9e1f21451c43cp-13);
  p = (1.0 + tp_mad_f64(p, r * r, r)) *
      tp_of_f64((tp_bits_f64(t) << 52) + TP_U64(0x3ff0000000000000));
  return (float)tp_pow_signed_f64(p, (double)x, (double)y);
}

/* ln a + n ln 2 of a normal a, and what is left. With s = f / (2 + f), z = s^2 as above: 2 s + s z
 * (2/3 + z P(z)), each in two parts, + n ln 2. */
TP_FN double tp_log_parts_f64(double a, double n, double *rest) {
  uint64_t e = tp_exponent_f64(a);
  double f = tp_of_f64(tp_bits_f64(a) - e) - 1.0, d = 2.0 + f, inverse = 1.0 / d, s = f * inverse,
         lost, z, zlost, p, t, tlost, c, clost;
  c = tp_product_f64(s, d, &lost);
  *rest = ((f - c) - lost - s * ((2.0 - d) + f)) * inverse;
  z = tp_product_f64(s, s, &zlost), zlost = tp_mad_f64(s + s, *rest, zlost);
  p = z *
      TP_POLY8(tp_mad_f64, z, 0x1.9999999999996p-2, 0x1.2492492492f56p-2, 0x1.c71c71c59594ap-3,
          0x1.745d1829effcep-3, 0x1.3b136499dd3bcp-3, 0x1.1120770f2cf5bp-3, 0x1.de3c187bb7a34p-4,
          0x1.ead193dad3745p-4);
  t = 0x1.5555555555555p-1 + p, tlost = (0x1.5555555555555p-1 - t) + p + 0x1.5555555555555p-55;
  c = tp_product_f64(s, z, &clost), clost = tp_mad_f64(*rest, z, tp_mad_f64(s, zlost, clost));
  tlost = tp_mad_f64(clost, t, c * tlost);
  c = tp_product_f64(c, t, &clost), clost += tlost;
  c = tp_sum_f64(s + s, c, &lost), clost += lost + (*rest + *rest);
  n += tp_exponent_of_f64(e);
  c = tp_sum_f64(n * 0x1.62e42fefa3800p-1, c, &lost),
  clost = tp_mad_f64(n, 0x1.ef35793c76730p-45, clost) + lost;
  s = c + clost, *rest = (c - s) + clost;
  return s;
}

/* a^y of a normal a, 2^n more. Exponents beyond 2^70 are far beyond the largest and the least
 * result. */
TP_FN double tp_pow_of_f64(double a, double n, double y) {
  double rest, l = tp_log_parts_f64(a, n, &rest), lost, first, less, r, p;
  uint64_t u;
  y = y > 0x1p70 ? 0x1p70 : y;
  y = y < -0x1p70 ? -0x1p70 : y;
  l = tp_product_f64(l, y, &lost), rest = tp_mad_f64(rest, y, lost);
  rest = tp_fabs_f64(l) < 750.0 ? rest : 0.0;
  l = l > 750.0 ? 750.0 : l;
  l = l < -750.0 ? -750.0 : l;
  first = tp_exp_parts_f64(l, &less, &u), r = first + less, rest += (first - r) + less;
  p = tp_exp_rest_f64(r) * (r * r);
  return tp_scale_f64(1.0 + (r + tp_mad_f64(rest, r + p, rest + p)), u);
}

TP_FN int tp_is_near_pow_f64(double x, double y) {
  return (tp_fabs_f64(x) >= 0x1p-1022) & (tp_fabs_f64(x) < TP_INF_F64) &
      (tp_fabs_f64(y) < TP_INF_F64);
}
TP_FN double tp_near_pow_f64(double x, double y) {
  return tp_pow_signed_f64(tp_pow_of_f64(tp_fabs_f64(x), 0.0, y), x, y);
}

/* The value if x is 0, infinite or NaN, or y infinite or NaN. */
TP_FN double tp_pow_edge_f64(double x, double y) {
  double a = tp_fabs_f64(x);
  if (y == 0 || x == 1) return 1.0;
  if (x != x || y != y) return x + y;
  if (y - y != 0) return a == 1 ? 1.0 : (a > 1) == (y > 0) ? TP_INF_F64 : 0.0;
  a = (a == 0) == (y > 0) ? 0.0 : TP_INF_F64;
  return tp_pow_signed_f64(1.0, -1.0, y) < 0 ? tp_sign_f64(a, x) : a;
}

TP_FN float tp_pow_f32(float x, float y) {
  return tp_is_near_pow_f32(x, y) ? tp_near_pow_f32(x, y)
                                  : (float)tp_pow_edge_f64((double)x, (double)y);
}
TP_FN double tp_pow_f64(double x, double y) {
  if (tp_is_near_pow_f64(x, y)) return tp_near_pow_f64(x, y);
  if (x == 0 || x - x != 0 || y - y != 0) return tp_pow_edge_f64(x, y);
  return tp_pow_signed_f64(tp_pow_of_f64(tp_fabs_f64(x) * 0x1p54, -54.0, y), x, y);
}

/* ---- the lesser and the greater, NaN if one is: two choices one after the other. Nested choices,
 * several in a row, become branches in gcc 12, which it does not vectorise ---- */
#define TP_EXTREME(name, T, of) \
  TP_FN T name(T x, T y) { \
    T r = x of y ? x : y; \
    return x != x ? x : r; \
  }
TP_EXTREME(tp_lesser_f32, float, <=)
TP_EXTREME(tp_greater_f32, float, >=)
TP_EXTREME(tp_lesser_f64, double, <=)
TP_EXTREME(tp_greater_f64, double, >=)

/* ---- mod, floordiv: r = x - k y is exact, k the integer nearest to x / y; they round down ---- */

/* x % y with the sign of x; exact. Quotients of 50 bits at a time; numbers near the largest are
 * made smaller, for the halves of tp_product. */
TP_FN double tp_fmod_f64(double x, double y) {
  double a = tp_fabs_f64(x), b = tp_fabs_f64(y);
  if (!(a - a == 0) || !(b > 0)) return TP_NAN_F64;
  while (a >= b) {
    double by = b, small = a > 0x1p900 ? 0x1p-200 : 1.0, k, r, lost;
    while (by < a * 0x1p-50) by *= 0x1p50;
    k = floor(a / by);
    r = tp_product_f64(k, by * small, &lost);
    r = (a * small - r) - lost;
    a = (r < 0 ? r + by * small : r) / small;
  }
  return tp_sign_f64(a, x);
}

TP_FN double tp_mod_of_f64(double r, double x, double y) {
  return r == 0 ? tp_sign_f64(0.0, x) : (r < 0) != (y < 0) ? r + y : r;
}
TP_FN double tp_floordiv_of_f64(double k, double r, double x, double y) {
  k = (r != 0 && (r < 0) != (y < 0)) ? k - 1.0 : k;
  return k == 0 ? tp_sign_f64(0.0, x / y) : k;
}
/* f32 by way of f64, whose products with an integer of 29 bits are exact. */
TP_FN int tp_is_near_mod_f32(float x, float y) {
  return (tp_fabs_f64((double)x / (double)y) < 0x1p28) & (tp_fabs_f32(y) < TP_INF_F32);
}
TP_FN int tp_is_near_mod_f64(double x, double y) {
  return (tp_fabs_f64(x / y) < 0x1p51) & (tp_fabs_f64(x) < 0x1p900) & (tp_fabs_f64(y) < 0x1p900);
}
TP_FN double tp_nearest_f64(double x) { return (x + 0x1.8p52) - 0x1.8p52; }
TP_FN double tp_left_f64(double k, double x, double y) {
  double lost, p = tp_product_f64(k, y, &lost);
  return (x - p) - lost;
}
TP_FN float tp_near_mod_f32(float x, float y) {
  double a = (double)x, b = (double)y, k = tp_nearest_f64(a / b);
  return (float)tp_mod_of_f64(a - k * b, a, b);
}
TP_FN float tp_near_floordiv_f32(float x, float y) {
  double a = (double)x, b = (double)y, k = tp_nearest_f64(a / b);
  return (float)tp_floordiv_of_f64(k, a - k * b, a, b);
}
TP_FN double tp_near_mod_f64(double x, double y) {
  return tp_mod_of_f64(tp_left_f64(tp_nearest_f64(x / y), x, y), x, y);
}
TP_FN double tp_near_floordiv_f64(double x, double y) {
  double k = tp_nearest_f64(x / y);
  return tp_floordiv_of_f64(k, tp_left_f64(k, x, y), x, y);
}
TP_FN double tp_mod_f64(double x, double y) { return tp_mod_of_f64(tp_fmod_f64(x, y), x, y); }
TP_FN double tp_floordiv_f64(double x, double y) {
  double m = tp_fmod_f64(x, y), k = (x - m) / y;
  return y == 0 ? x / y : tp_rint_f64(tp_floordiv_of_f64(k, m, x, y));
}
TP_FN float tp_mod_f32(float x, float y) { return (float)tp_mod_f64((double)x, (double)y); }
TP_FN float tp_floordiv_f32(float x, float y) {
  return (float)tp_floordiv_f64((double)x, (double)y);
}
