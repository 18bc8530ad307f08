/* Inside exact.c, once for each instruction set: NORMAL names the function. The sequence of operations is that of docs/random.md, so its results are the
 * same bits everywhere; ln as fdlibm has it, of u1 = 2^n m with m in [sqrt(1/2), sqrt(2)]; a quarter turn is 2^22 units of u2, exactly. */
void NORMAL(double *o, const uint32_t *w, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    double u1 = (double)(int32_t)((w[2 * i] >> 8) + 1) * 0x1p-24, m, n;
    uint64_t bits, e;
    memcpy(&bits, &u1, 8);
    e = (bits - 0x3fe6a09e667f3bcdull + (1024ull << 52)) >> 52;      /* n + 1024 */
    bits -= (e - 1024) << 52;
    e |= 0x4330000000000000ull;
    memcpy(&m, &bits, 8);
    memcpy(&n, &e, 8);
    n -= 0x1p52 + 1024;
    double f = m - 1, s = f / (2 + f), z = s * s, h = 0.5 * f * f;
    double p = 1.479819860511658591e-01;
    p = p * z + 1.531383769920937332e-01;
    p = p * z + 1.818357216161805012e-01;
    p = p * z + 2.222219843214978396e-01;
    p = p * z + 2.857142874366239149e-01;
    p = p * z + 3.999999999940941908e-01;
    p = p * z + 6.666666666666735130e-01;
    double ln = n * 6.93147180369123816490e-01 - ((h - (s * (h + p * z) + n * 1.90821492927058770002e-10)) - f);
    uint32_t turn = (w[2 * i + 1] >> 8) + (1u << 21), q = turn >> 22;        /* quarters rounded to nearest */
    double r = (double)((int32_t)(turn & 0x3fffff) - (1 << 21)) * (1.57079632679489661923 * 0x1p-22);
    double cosine, sine = sine_of(r, &cosine);
    double v = q & 1 ? sine : cosine;
    v = (q + 1) & 2 ? -v : v;
    o[i] = sqrt(-2 * ln) * v;
  }
}
#undef NORMAL
