/* Shared by environments. A program that runs environments has this text in it, then the text of
 * each of them: C99 over stdint.h, string.h and math.h, for the C module, native code, exported
 * programs and kernels alike, which say what TP_FN is. Names begin with the file's. An environment
 * is three functions as of include/tempo_env.h; src/base/envs.def has a row for each with its
 * facts. Operations are rounded one by one, so an environment's bits are the same everywhere. */

/* The sine and the cosine of an eighth turn at most: fdlibm's polynomials, less than one unit of
 * the last place off. */
TP_FN double env_sine(double x) {
  const double z = x * x;
  double p = 1.58969099521155010221e-10;
  p = p * z - 2.50507602534068634195e-08;
  p = p * z + 2.75573137070700676789e-06;
  p = p * z - 1.98412698298579493134e-04;
  p = p * z + 8.33333333332248946124e-03;
  p = p * z - 1.66666666666666324348e-01;
  return x + x * z * p;
}

TP_FN double env_cosine(double x) {
  const double z = x * x, rest = 0.5 * z, one = 1 - rest;
  double p = -1.13596475577881948265e-11;
  p = p * z + 2.08757232129817482790e-09;
  p = p * z - 2.75573143513906633035e-07;
  p = p * z + 2.48015872894767294178e-05;
  p = p * z - 1.38888888888741095749e-03;
  p = p * z + 4.16666666666666019037e-02;
  return one + ((1 - one - rest) + z * z * p);
}

/* The sine of x and some quarter turns. The three parts of a quarter turn have 33 bits each, so
 * that their products with n are exact up to 2^20. */
TP_FN double env_turned(double x, int64_t quarters) {
  const double n = floor(x * 6.36619772367581382433e-01 + 0.5);
  const double y = ((x - n * 1.57079632673412561417e+00) - n * 6.07710050630396597660e-11) -
      n * 2.02226624879595063154e-21;
  const int64_t q = (int64_t)n + quarters;
  const double v = q & 1 ? env_cosine(y) : env_sine(y);
  return q & 2 ? -v : v;
}
TP_FN double env_sin(double x) { return x * x < 0.616 ? env_sine(x) : env_turned(x, 0); }
TP_FN double env_cos(double x) { return x * x < 0.616 ? env_cosine(x) : env_turned(x, 1); }

/* x modulo y > 0, with the sign of y, as Python's % */
TP_FN double env_mod(double x, double y) {
  double r = fmod(x, y);
  return r < 0 ? r + y : r;
}

TP_FN double env_clamp(double x, double lo, double hi) { return x < lo ? lo : x > hi ? hi : x; }

/* One of 0 .. n - 1 by the uniform *u, which becomes what is left of it: another uniform, with
 * fewer bits. */
TP_FN int env_draw(double *u, int n) {
  double v = *u * n;
  int k = (int)v;
  *u = v - k;
  return k;
}

/* MinAtar's sticky actions: with so many percent the last action is taken again. */
TP_FN int env_sticky(int64_t action, double last, double u, int64_t percent) {
  return u < (double)percent / 100 ? (int)last : (int)action;
}
