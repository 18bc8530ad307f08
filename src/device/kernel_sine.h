/* sin and cos of |r| <= pi/4 (fdlibm's coefficients), for kernel_math.h and, with one sequence of operations
 * everywhere, exact.c. */
#ifndef TP_KERNEL_SINE_H
#define TP_KERNEL_SINE_H

#define KI static inline __attribute__((always_inline))

KI double sine_of(double r, double *cosine) {
  double z = r * r;
  double s = 1.58962301576546568060e-10, c = -1.13585365213876817300e-11;
  s = s * z - 2.50507477628578072866e-08;
  s = s * z + 2.75573136213857245213e-06;
  s = s * z - 1.98412698295895385996e-04;
  s = s * z + 8.33333333332211858878e-03;
  s = s * z - 1.66666666666666307295e-01;
  c = c * z + 2.08757008419747316778e-09;
  c = c * z - 2.75573141792967388112e-07;
  c = c * z + 2.48015872888517045348e-05;
  c = c * z - 1.38888888888730564116e-03;
  c = c * z + 4.16666666666665929218e-02;
  *cosine = c * (z * z) + (1 - 0.5 * z);
  return s * z * r + r;
}

#endif
