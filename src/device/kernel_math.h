/* Functions without branches, so that loops over them vectorise. f32 exp, tanh, sigmoid in f32; the rest of f32 by way of double, where ~1e-11 is plenty.
 * Rounding to an integer adds 1.5 * 2^23 (2^52): the sum's low bits are the integer. (Never under -ffast-math.) */
#include "device/kernel_sine.h"
#include <math.h>

KI uint32_t bits32(float x) { uint32_t u; memcpy(&u, &x, 4); return u; }
KI float of32(uint32_t u) { float x; memcpy(&x, &u, 4); return x; }
KI uint64_t bits64(double x) { uint64_t u; memcpy(&u, &x, 8); return u; }
KI double of64(uint64_t u) { double x; memcpy(&x, &u, 8); return x; }

/* e^x: x = n ln 2 + r, a polynomial in r (Cephes), times 2^n in two steps, so that subnormals round once. */
KI float exp_f32(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -105.0f ? -105.0f : x;
  float t = x * 1.44269504088896341f + 0x1.8p23f, n = t - 0x1.8p23f;
  int32_t k = (int32_t)(bits32(t) - bits32(0x1.8p23f));
  float r = x - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  int32_t half = k >> 1;
  return p * of32((uint32_t)(half + 127) << 23) * of32((uint32_t)(k - half + 127) << 23);
}

KI float sigmoid_f32(float x) {
  float e = exp_f32(-fabsf(x));
  return (x < 0 ? e : 1.0f) / (1.0f + e) + (x != x ? x : 0.0f);
}

KI float tanh_f32(float x) {
  float a = fabsf(x), z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  p = p * z * x + x;
  float big = 1.0f - 2.0f / (exp_f32(a + a) + 1.0f);
  big = x < 0 ? -big : big;
  return a < 0.625f ? p : big;
}

/* ---- double, good to about 1e-12 ---- */

/* x = n ln 2 + r; gives e^r - 1 and 2^n. Beyond +-700 (no float) it is cut. */
KI double exp_parts(double x, double *scale) {
  x = x > 700 ? 700 : x;
  x = x < -700 ? -700 : x;
  double t = x * 1.4426950408889634074 + 0x1.8p52, n = t - 0x1.8p52;
  double r = x - n * 6.93147180369123816490e-01;
  r = r - n * 1.90821492927058770002e-10;
  double p = 2.5052108385441718775e-08;
  p = p * r + 2.7557319223985890653e-07;
  p = p * r + 2.7557319223985890653e-06;
  p = p * r + 2.4801587301587301566e-05;
  p = p * r + 1.9841269841269841253e-04;
  p = p * r + 1.3888888888888889419e-03;
  p = p * r + 8.3333333333333332177e-03;
  p = p * r + 4.1666666666666664354e-02;
  p = p * r + 1.6666666666666665741e-01;
  p = p * r + 0.5;
  p = p * (r * r) + r;
  *scale = of64((bits64(t) + 1023) << 52);
  return p;
}

KI double exp_d(double x) {
  double s, p = exp_parts(x, &s);
  return s * p + s;
}

KI double expm1_d(double x) {
  double s, p = exp_parts(x, &s);
  return s * p + (s - 1);
}

/* ln x of a positive normal number: x = 2^e m, m in [0.707, 1.414], 2 atanh((m - 1) / (m + 1)). Others: as log. */
KI double log_d(double x) {
  uint64_t u = bits64(x) - 0x3fe6a09e667f3bcdull;
  uint64_t e = (u + (1024ull << 52)) >> 52;                     /* exponent + 1024, never negative for x > 0 */
  double m = of64(bits64(x) - ((e - 1024) << 52));
  double n = of64(e | 0x4330000000000000ull) - (0x1p52 + 1024);
  double s = (m - 1) / (m + 1), z = s * s;
  double p = 0.15384615384615385;
  p = p * z + 0.18181818181818182;
  p = p * z + 0.22222222222222222;
  p = p * z + 0.28571428571428571;
  p = p * z + 0.4;
  p = p * z + 0.66666666666666667;
  double y = n * 6.93147180369123816490e-01 + (p * z * s + 2 * s + n * 1.90821492927058770002e-10);
  y = x == (double)INFINITY ? x : y;
  y = x == 0 ? -(double)INFINITY : y;
  return x < 0 || x != x ? (double)NAN : y;
}

KI double log1p_d(double x) {
  double u = 1 + x, c = (x - (u - 1)) / u;
  c = u > 0 && u < (double)INFINITY ? c : 0;
  return log_d(u) + c;
}

/* sin and cos of |x| <= 2^20: x = n pi/2 + r. quadrant: n mod 4. */
KI double circle(double x, uint64_t *quadrant, double *cosine) {
  double t = x * 6.36619772367581382433e-01 + 0x1.8p52, n = t - 0x1.8p52;
  double r = x - n * 1.57079632673412561417e+00;
  r = r - n * 6.07710050650619224932e-11;
  *quadrant = bits64(t);
  return sine_of(r, cosine);
}

KI double sin_d(double x) {
  uint64_t q;
  double c, s = circle(x, &q, &c), y = q & 1 ? c : s;
  return q & 2 ? -y : y;
}

KI double cos_d(double x) {
  uint64_t q;
  double c, s = circle(x, &q, &c), y = q & 1 ? s : c;
  return (q + 1) & 2 ? -y : y;
}

KI double tan_d(double x) {
  uint64_t q;
  double c, s = circle(x, &q, &c);
  return q & 1 ? -c / s : s / c;
}

/* Cody's rational approximations. */
KI double erf_d(double x) {
  double y = fabs(x);
  y = y > 6 ? 6 : y;
  double z = x * x;
  double p = ((((1.85777706184603153e-1 * z + 3.16112374387056560e00) * z + 1.13864154151050156e02) * z + 3.77485237685302021e02) * z + 3.20937758913846947e03);
  double q = ((((z + 2.36012909523441209e01) * z + 2.44024637934444173e02) * z + 1.28261652607737228e03) * z + 2.84423683343917062e03);
  double small = x * p / q;
  double a = 2.15311535474403846e-8 * y + 5.64188496988670089e-1, b = y + 1.57449261107098347e01;
  a = a * y + 8.88314979438837594e0,   b = b * y + 1.17693950891312499e02;
  a = a * y + 6.61191906371416295e01,  b = b * y + 5.37181101862009858e02;
  a = a * y + 2.98635138197400131e02,  b = b * y + 1.62138957456669019e03;
  a = a * y + 8.81952221241769090e02,  b = b * y + 3.29079923573345963e03;
  a = a * y + 1.71204761263407058e03,  b = b * y + 4.36261909014324716e03;
  a = a * y + 2.05107837782607147e03,  b = b * y + 3.43936767414372164e03;
  a = a * y + 1.23033935479799725e03,  b = b * y + 1.23033935480374942e03;
  double big = 1 - exp_d(-y * y) * (a / b);
  big = x < 0 ? -big : big;
  return y < 0.46875 ? small : x != x ? x : big;
}

/* |x|^y for a positive normal x; odd: y is an odd integer. */
KI double pow_d(double x, double y) {
  double a = fabs(x), r = exp_d(y * log_d(a)), whole = (y + 0x1.8p52) - 0x1.8p52;
  double halved = 0.5 * y, hw = (halved + 0x1.8p52) - 0x1.8p52;
  bool integer = whole == y || fabs(y) > 0x1p51, odd = integer && hw != halved && fabs(y) < 0x1p51;
  double neg = integer ? (odd ? -r : r) : (double)NAN;
  return x < 0 ? neg : r;
}
