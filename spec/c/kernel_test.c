/* Kernels: every instruction set's table against libm and plain loops; contractions of any strides
 * against loops in double. */
#include "cpu/cpu.h"
#include "check.h"
#include <math.h>
#include <stdlib.h>

/* ---- random ---- */

static uint64_t seed = 12345;
static uint64_t rnd(void) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return seed;
}
static int64_t below(int64_t n) { return (int64_t)(rnd() % (uint64_t)n); }
static double unit(void) { return (double)(rnd() >> 11) * 0x1p-53; }
static float any_float(void) {
  uint32_t u = (uint32_t)rnd();
  float f;
  memcpy(&f, &u, 4);
  return f;
}

static const tp_kernels *tables[5];
static int ntables;

static void find_tables(void) {
  tables[ntables++] = &tp_kernels_base;
#ifdef TP_X86
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    tables[ntables++] = &tp_kernels_avx2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    tables[ntables++] = &tp_kernels_avx512;
#endif
  CHECK(tp_kernels_get() == tables[ntables - 1] || tp_setting("TEMPO_ISA"));
#ifdef TP_X86
  int fused = ntables;
  if (fused > 1) tables[ntables++] = &tp_kernels_plain_avx2;
  if (fused > 2) tables[ntables++] = &tp_kernels_plain_avx512;
  CHECK(tp_kernels_plain_get() == tables[ntables - 1] || tp_setting("TEMPO_ISA"));
#endif
}

/* ---- functions of f32, in units of the last place ---- */

static double ulps(float got, double want) {
  float w = (float)want;
  if (isnan(want)) return isnan(got) ? 0 : 1e9;
  if (isinf(w) || isinf(got))
    return w == got || nextafterf(w, 0) == got || nextafterf(got, 0) == w ? 0 : 1e9;
  double ulp = (double)nextafterf(fabsf(w), INFINITY) - fabsf(w);
  return fabs((double)got - want) / ulp;
}

static double rsqrt(double x) { return 1 / sqrt(x); }

/* math_test.c has the others. */
typedef struct {
  tp_op op;
  double (*want)(double);
  double limit;
} unary_case;
static const unary_case unaries[] = {
  { TP_OP_SQRT, sqrt, 1 },
  { TP_OP_RSQRT, rsqrt, 2 },
  { TP_OP_FLOOR, floor, 0 },
  { TP_OP_CEIL, ceil, 0 },
  { TP_OP_ROUND, rint, 0 },
  { TP_OP_ABS, fabs, 0 },
};

enum { N = 1 << 16 };
static float fx[N], fy[N], fo[N];

static void fill_special(float *x, int n) {
  static const float odd[] = { 0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 0.5f, 1e-45f, -1e-45f,
    1e-40f, 3.4e38f, -3.4e38f, 88.7f, 88.73f, 89, -87.4f, -103.9f, -104, -110, 1e10f, -1e10f,
    1048576.5f, 3.1415927f, 1.5707964f, 0.625f, 0.46875f, 8388608.5f, 2.5f, 3.5f, -2.5f,
    1.17549435e-38f, 0.99999994f, 1.0000001f, -0.99999994f };
  for (int i = 0; i < n; i++) {
    switch (below(5)) {
    case 0: x[i] = any_float(); break;
    case 1: x[i] = (float)((unit() - 0.5) * 4); break;
    case 2: x[i] = (float)((unit() - 0.5) * 200); break;
    case 3: x[i] = (float)(unit() * 10); break;
    default: x[i] = (float)ldexp(unit() - 0.5, (int)below(60) - 40);
    }
  }
  for (size_t i = 0; i < TP_LEN(odd); i++) x[i] = odd[i];
}

static void test_unary_f32(const tp_kernels *k) {
  fill_special(fx, N);
  for (size_t c = 0; c < TP_LEN(unaries); c++) {
    double worst = 0;
    float at = 0;
    k->ew[unaries[c].op][TP_F32](fo, fx, fx, fx, N);
    for (int i = 0; i < N; i++) {
      double u = ulps(fo[i], unaries[c].want(fx[i]));
      if (u > worst) worst = u, at = fx[i];
    }
    CHECKF(worst <= unaries[c].limit, "%s %s: %g ulp at %.9g", k->isa, tp_ops[unaries[c].op].text,
        worst, (double)at);
    if (tp_setting("VERBOSE"))
      printf("%s %-8s %.3f ulp at %.9g\n", k->isa, tp_ops[unaries[c].op].text, worst, (double)at);
    memcpy(fy, fx, sizeof fy); /* over its operand */
    k->ew[unaries[c].op][TP_F32](fy, fy, fy, fy, N);
    CHECKF(memcmp(fy, fo, sizeof fy) == 0, "%s %s in place", k->isa, tp_ops[unaries[c].op].text);
  }
}

/* ---- plain loops in double or i64, as the language says ---- */

static double mod_d(double a, double b) {
  double m = fmod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
static double binary_d(tp_op op, double a, double b) {
  switch (op) {
  case TP_OP_ADD: return a + b;
  case TP_OP_SUB: return a - b;
  case TP_OP_MUL: return a * b;
  case TP_OP_DIV: return a / b;
  case TP_OP_MOD: return mod_d(a, b);
  case TP_OP_FLOORDIV:
    return b == 0                          ? a / b
        : isinf(b) && isfinite(a)          ? (a != 0 && (a < 0) != (b < 0) ? -1 : 0)
        : isinf(a) || isnan(a) || isnan(b) ? NAN
                                           : floor((a - mod_d(a, b)) / b + 0.5);
  case TP_OP_MINIMUM: return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
  case TP_OP_MAXIMUM: return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
  case TP_OP_EQ: return a == b;
  case TP_OP_NE: return a != b;
  case TP_OP_LT: return a < b;
  case TP_OP_LE: return a <= b;
  case TP_OP_GT: return a > b;
  default: return a >= b;
  }
}

__extension__ typedef __int128 wide;
static int64_t binary_i(tp_op op, int64_t a, int64_t b) {
  wide x = a, y = b, r = 0;
  switch (op) {
  case TP_OP_ADD: r = x + y; break;
  case TP_OP_SUB: r = x - y; break;
  case TP_OP_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
  case TP_OP_MOD:
    r = x % y;
    if (r != 0 && (r < 0) != (y < 0)) r += y;
    break;
  case TP_OP_FLOORDIV: r = x / y - (x % y != 0 && (x < 0) != (y < 0)); break;
  case TP_OP_POW: {
    uint64_t p = 1;
    for (int64_t i = 0; i < b; i++) p *= (uint64_t)a;
    return (int64_t)p;
  }
  case TP_OP_MINIMUM: r = x < y ? x : y; break;
  case TP_OP_MAXIMUM: r = x > y ? x : y; break;
  default: r = (wide)binary_d(op, (double)a, (double)b) != 0;
  }
  return (int64_t)(uint64_t)r;
}

static const tp_op binaries[] = { TP_OP_ADD, TP_OP_SUB, TP_OP_MUL, TP_OP_DIV, TP_OP_MOD,
  TP_OP_FLOORDIV, TP_OP_POW, TP_OP_MINIMUM, TP_OP_MAXIMUM, TP_OP_EQ, TP_OP_NE, TP_OP_LT, TP_OP_LE,
  TP_OP_GT, TP_OP_GE };

static void random_element(tp_dtype d, void *p, int i) {
  if (d == TP_F32 || d == TP_F64) {
    double v = below(4) ? (double)(below(41) - 20) / (below(3) ? 1 : 4)
        : below(8)      ? (unit() - 0.5) * 100
        : below(2)      ? NAN
        : below(2)      ? INFINITY
                        : -INFINITY;
    tp_put(d, p, i, v);
  } else
    tp_puti(d, p, i,
        below(8)       ? below(21) - 10
            : below(3) ? (int64_t)rnd()
            : below(2) ? INT64_MIN
                       : INT32_MIN);
}

static void test_binary(const tp_kernels *k, tp_dtype d) {
  enum { M = 777 };
  static double a[M], b[M], o[M];
  for (size_t c = 0; c < TP_LEN(binaries); c++) {
    tp_op op = binaries[c];
    bool cmp = tp_ops[op].cls == TP_CLS_CMP, flt = tp_dtype_float(d), ok = true;
    tp_dtype od = cmp ? TP_BOOL : d;
    if (flt && op == TP_OP_POW) continue;
    if (!k->ew[op][d]) {
      CHECKF(d == TP_BOOL || op == TP_OP_DIV, "%s of %s", tp_ops[op].text, tp_dtype_name(d));
      continue;
    }
    for (int i = 0; i < M; i++) {
      random_element(d, a, i);
      random_element(d, b, i);
      if (!flt && (op == TP_OP_MOD || op == TP_OP_FLOORDIV) && tp_geti(d, b, i) == 0)
        tp_puti(d, b, i, 1);
      if (!flt && op == TP_OP_POW) tp_puti(d, b, i, below(9));
    }
    CHECK(k->ew[op][d](o, a, b, b, M) == TP_K_OK);
    for (int i = 0; i < M && ok; i++) {
      double want[1] = { 0 };
      if (flt) tp_put(od, want, 0, binary_d(op, tp_get(d, a, i), tp_get(d, b, i)));
      else tp_puti(od, want, 0, binary_i(op, tp_geti(d, a, i), tp_geti(d, b, i)));
      double g = tp_get(od, o, i), w = tp_get(od, want, 0);
      ok = flt ? g == w || (isnan(g) && isnan(w)) || fabs(g - w) <= 1e-6 * fabs(w)
               : tp_geti(od, o, i) == tp_geti(od, want, 0);
      CHECKF(ok, "%s %s of %s: %g, %g gives %g, not %g", k->isa, tp_ops[op].text, tp_dtype_name(d),
          tp_get(d, a, i), tp_get(d, b, i), g, w);
    }
  }
}

static void test_faults(const tp_kernels *k) {
  int32_t a[4] = { 1, INT32_MIN, 3, 4 }, b[4] = { 1, -1, 0, 2 }, o[4];
  CHECK(k->ew[TP_OP_MOD][TP_I32](o, a, b, b, 4) == TP_K_DIVZERO + 4 * 2 &&
      k->ew[TP_OP_FLOORDIV][TP_I32](b, a, b, b, 4) == TP_K_DIVZERO + 4 * 2);
  b[0] = 1, b[1] = -1;
  CHECK(k->ew[TP_OP_FLOORDIV][TP_I32](o, a, b, b, 2) == TP_K_OK && o[1] == INT32_MIN &&
      k->ew[TP_OP_MOD][TP_I32](o, a, b, b, 2) == TP_K_OK && o[1] == 0);
  CHECK(k->ew[TP_OP_POW][TP_I32](o, a, b, b, 2) == TP_K_NEGPOW + 4 * 1);
}

static void test_casts(const tp_kernels *k) {
  static const double odd[] = { 0, -0.0, 0.5, -0.5, 1.5, 254.9, 255, 256, -1, 2147483647,
    2147483648.0, -2147483648.0, -2147483649.0, 1e10, 9.3e18, -9.3e18, 1e30, -1e30, INFINITY,
    -INFINITY, NAN };
  enum { M = 500 };
  static double a[M], o[M];
  for (int from = 0; from < TP_NDTYPE; from++)
    for (int to = 0; to < TP_NDTYPE; to++) {
      if (tp_half((tp_dtype)from) || tp_half((tp_dtype)to)) continue;
      tp_dtype f = (tp_dtype)from, t = (tp_dtype)to;
      bool ok = true;
      for (int i = 0; i < M; i++) {
        random_element(f, a, i);
        if (tp_dtype_float(f) && i < (int)TP_LEN(odd)) tp_put(f, a, i, odd[i]);
      }
      k->cast[f][t](o, a, a, a, M);
      for (int i = 0; i < M; i++) {
        double want[1];
        if (tp_dtype_float(f)) tp_put(t, want, 0, tp_get(f, a, i));
        else tp_puti(t, want, 0, tp_geti(f, a, i));
        bool same = tp_dtype_float(t) && isnan(tp_get(t, want, 0))
            ? isnan(tp_get(t, o, i))
            : memcmp((char *)o + i * tp_dtype_size(t), want, (size_t)tp_dtype_size(t)) == 0;
        if (!same && ok) fprintf(stderr, "  %g -> %g\n", tp_get(f, a, i), tp_get(t, o, i));
        ok &= same;
      }
      CHECKF(ok, "%s %s to %s", k->isa, tp_dtype_name(f), tp_dtype_name(t));
    }
}

static void test_halves(const tp_kernels *k) {
  static uint16_t h[65536], back[65536];
  static float f[65536];
  bool same16 = true, sameb = true;
  for (int i = 0; i < 65536; i++) h[i] = (uint16_t)i;
  for (int which = 0; which < 2; which++) {
    tp_dtype d = which ? TP_BF16 : TP_F16;
    bool *same = which ? &sameb : &same16;
    k->loadhalf[d](f, h, 0, 1, 1, 65536);
    for (int i = 0; i < 65536; i++) {
      float w = (float)tp_get(d, h, i);
      *same &= isnan(w) ? isnan(f[i]) : memcmp(&w, &f[i], 4) == 0;
    }
    for (int i = 0; i < 65536; i++)
      f[i] = i < 40000 ? any_float()
          : i < 50000  ? (float)((unit() - 0.5) * 1e-4)
                       : (float)((unit() - 0.5) * 140000);
    k->storehalf[d](back, 0, 1, f, 1, 65536);
    for (int i = 0; i < 65536; i++) {
      uint16_t w;
      tp_put(d, &w, 0, f[i]);
      *same &= isnan(f[i]) ? isnan(tp_get(d, back, i)) : w == back[i];
    }
    memcpy(fo, f, sizeof fo);
    k->round[d](fo, fo, fo, fo, 65536);
    for (int i = 0; i < 65536; i++)
      *same &= isnan(f[i]) ? isnan(fo[i]) : fo[i] == (float)tp_get(d, back, i);
  }
  CHECKF(same16 && sameb, "%s %d %d", k->isa, same16, sameb);
}

static void test_loads(const tp_kernels *k) {
  for (int log = 0; log < 4; log++)
    for (int round = 0; round < 50; round++) {
      int64_t size = 1 << log, rows = below(5), n = below(20), step = below(4), row = below(3) * 40;
      static unsigned char src[8192], dst[8192], back[8192];
      bool ok = true;
      for (size_t i = 0; i < sizeof src; i++) src[i] = (unsigned char)rnd();
      k->load[log](dst, src, row, step, rows, n);
      for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++)
          ok &= memcmp(dst + (i * n + j) * size, src + (i * row + j * step) * size, (size_t)size) ==
              0;
      row = 200, step = TP_MAX(step, 1);
      k->store[log](back, row, step, dst, rows, n);
      for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++)
          ok &= memcmp(dst + (i * n + j) * size, back + (i * row + j * step) * size,
                    (size_t)size) == 0;
      CHECKF(ok, "%s load, store of %d", k->isa, (int)size);
    }
}

static void test_turns(const tp_kernels *k) {
  enum { SIDE = 70 };
  static unsigned char from[8 * SIDE * SIDE], to[8 * SIDE * SIDE], was[8 * SIDE * SIDE];
  for (int log = 0; log < 4; log++)
    for (int round = 0; round < 60; round++) {
      int64_t size = 1 << log, rows = below(SIDE + 1), n = below(SIDE + 1),
              arow = rows + below(SIDE - (int)rows + 1), orow = n + below(SIDE - (int)n + 1);
      bool ok = true;
      for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)rnd(), was[i] = to[i] = (unsigned char)rnd();
      k->turn[log](to, orow, from, arow, rows, n);
      for (int64_t i = 0; i < SIDE; i++)
        for (int64_t j = 0; j < orow && i * orow + j < SIDE * SIDE; j++) {
          const unsigned char *want =
              i < rows && j < n ? from + (j * arow + i) * size : was + (i * orow + j) * size;
          ok &= memcmp(to + (i * orow + j) * size, want, (size_t)size) == 0;
        }
      CHECKF(ok, "%s turns %d x %d of %d", k->isa, (int)rows, (int)n, (int)size);
    }
}

static void test_outside(const tp_kernels *k) {
  static const int64_t odd[] = { -1, INT64_MIN, INT64_MAX, 100, 101, INT64_MIN + 50 };
  int64_t index[150];
  for (int round = 0; round < 200; round++) {
    int64_t step = 1 + below(3), count = below(51), at = below(150);
    for (int i = 0; i < 150; i++) index[i] = below(100);
    if (round < 20 && count) index[0] = 99;
    bool want = round % 2 && at % step == 0 && at / step < count;
    if (round % 2) index[at] = odd[below((int)TP_LEN(odd))];
    CHECKF(k->outside(index, step, count, 100) == want, "%s %d of %d by %d", k->isa, (int)at,
        (int)count, (int)step);
  }
  index[0] = 0;
  CHECKF(k->outside(index, 1, 1, 0) && !k->outside(index, 1, 0, 0), "%s of none", k->isa);
}

/* ---- folds and scans ---- */

static void fold_one(tp_red red, tp_dtype d, double *f, int64_t *i, double vf, int64_t vi) {
  switch (red) {
  case TP_RED_SUM:
    *f += vf;
    *i = (int64_t)((uint64_t)*i + (uint64_t)vi);
    break;
  case TP_RED_PROD:
    *f *= vf;
    *i = (int64_t)((uint64_t)*i * (uint64_t)vi);
    break;
  case TP_RED_MAX:
    *f = isnan(*f) || isnan(vf) ? NAN : fmax(*f, vf);
    *i = TP_MAX(*i, d == TP_BOOL ? vi != 0 : vi);
    break;
  case TP_RED_MIN:
    *f = isnan(*f) || isnan(vf) ? NAN : fmin(*f, vf);
    *i = TP_MIN(*i, d == TP_BOOL ? vi != 0 : vi);
    break;
  }
}

static void test_folds(const tp_kernels *k, tp_dtype d) {
  static double a[8192], acc[2048];
  for (int red = 0; red < 4; red++)
    for (int round = 0; round < 40; round++) {
      bool down = round & 1, flt = tp_dtype_float(d), ok = true;
      int64_t rows = 1 + below(5), n = 1 + below(round < 20 ? 10 : 1500), row = n + below(3),
              out = down ? n : rows;
      tp_kfold *fn = down ? k->down[red][d] : k->across[red][d];
      if (!fn) {
        CHECK(d == TP_BOOL && red < 2);
        continue;
      }
      tp_dtype ad = tp_acctype((tp_red)red, d);
      for (int64_t i = 0; i < rows * row; i++) {
        if (red == TP_RED_PROD && flt) tp_put(d, a, i, 1 + (unit() - 0.5) * 0.01);
        else if (flt) tp_put(d, a, i, below(2000) ? unit() - 0.5 : NAN);
        else tp_puti(d, a, i, below(7) - 3);
      }
      for (int64_t i = 0; i < out; i++) flt ? tp_put(ad, acc, i, 0.5) : tp_puti(ad, acc, i, 1);
      fn(acc, a, row, rows, n);
      for (int64_t o = 0; o < out; o++) {
        double f = 0.5;
        int64_t v = 1, held = 0;
        for (int64_t i = 0; i < (down ? rows : n); i++) {
          int64_t at = down ? i * row + o : o * row + i;
          fold_one((tp_red)red, d, &f, &v, tp_get(d, a, at), tp_geti(d, a, at));
        }
        tp_puti(ad, &held, 0, v);
        double g = tp_get(ad, acc, o);
        ok &= flt ? fabs(g - f) <= 1e-5 * (1 + fabs(f)) || (isnan(f) && isnan(g))
                  : tp_geti(ad, acc, o) == tp_geti(ad, &held, 0);
      }
      CHECKF(ok, "%s fold %d of %s, %s, %d x %d", k->isa, red, tp_dtype_name(d),
          down ? "down" : "across", (int)rows, (int)n);
    }
}

/* ---- contractions ---- */

typedef struct {
  int n;
  int64_t ext[5], sa[5], sb[5], sc[5];
} problem;

/* Extents and a random layout: each operand's moving axes in random order, dense or with gaps. */
static void lay_out(problem *p, int64_t *stride, const bool *moves) {
  int order[5], n = 0;
  for (int i = 0; i < p->n; i++) {
    stride[i] = 0;
    if (moves[i]) order[n++] = i;
  }
  for (int i = n - 1; i > 0 && below(2); i--) {
    int j = (int)below(i + 1), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  int64_t s = below(4) ? 1 : 2;
  for (int i = n - 1; i >= 0; i--) {
    stride[order[i]] = s;
    s *= TP_MAX(p->ext[order[i]], 1);
    s += below(3) ? 0 : below(3);
  }
}

static problem random_problem(int64_t most) {
  problem p = { .n = 1 + (int)below(5) };
  bool ma[5], mb[5], mc[5];
  for (int i = 0; i < p.n; i++) {
    int role = (int)below(8); /* m n k, batch, and odd ones */
    p.ext[i] = below(25) ? 1 + below(most) : 0;
    ma[i] = role == 0 || role == 2 || role == 3 || role == 5;
    mb[i] = role == 1 || role == 2 || role == 3 || role == 6;
    mc[i] = role == 0 || role == 1 || role == 3 || role == 7;
  }
  lay_out(&p, p.sa, ma);
  lay_out(&p, p.sb, mb);
  lay_out(&p, p.sc, mc);
  return p;
}

static int64_t span(const problem *p, const int64_t *s) {
  int64_t n = 1;
  for (int i = 0; i < p->n; i++) n += TP_MAX(p->ext[i] - 1, 0) * s[i];
  return n;
}

static void each_point(const problem *p, tp_dtype d, const void *a, const void *b, double *f,
    int64_t *v, bool *touched, bool count_only) {
  int64_t at[5] = { 0 };
  for (int i = 0; i < p->n; i++)
    if (p->ext[i] == 0 && (!count_only || p->sc[i])) return;
  for (;;) {
    int64_t oa = 0, ob = 0, oc = 0;
    for (int i = 0; i < p->n; i++)
      oa += at[i] * p->sa[i], ob += at[i] * p->sb[i], oc += at[i] * p->sc[i];
    touched[oc] = true;
    if (!count_only) {
      f[oc] += tp_get(d, a, oa) * tp_get(d, b, ob);
      v[oc] =
          (int64_t)((uint64_t)v[oc] + (uint64_t)tp_geti(d, a, oa) * (uint64_t)tp_geti(d, b, ob));
    }
    int i = p->n - 1;
    while (i >= 0 && (++at[i] >= p->ext[i])) at[i--] = 0;
    if (i < 0) return;
  }
}

static void test_contraction(tp_dtype d, int64_t most) {
  problem p = random_problem(most);
  int64_t na = span(&p, p.sa), nb = span(&p, p.sb), nc = span(&p, p.sc);
  if (na + nb + nc > 4000000) return;
  double points = 1, terms = 1;
  for (int i = 0; i < p.n; i++) points *= (double)p.ext[i], terms *= p.sc[i] ? 1 : (double)p.ext[i];
  if (points > 3e6) return;
  size_t size = (size_t)tp_dtype_size(d);
  char *a = malloc((size_t)na * size), *b = malloc((size_t)nb * size),
       *c = malloc((size_t)nc * size), *before = malloc((size_t)nc * size);
  double *f = calloc((size_t)nc, sizeof *f);
  int64_t *v = calloc((size_t)nc, sizeof *v);
  bool *touched = calloc((size_t)nc, 1), acc = below(2), ok = true, flt = tp_dtype_float(d);
  for (int64_t i = 0; i < na; i++)
    flt ? tp_put(d, a, i, unit() - 0.5) : tp_puti(d, a, i, (int64_t)rnd());
  for (int64_t i = 0; i < nb; i++)
    flt ? tp_put(d, b, i, unit() - 0.5) : tp_puti(d, b, i, (int64_t)rnd());
  for (int64_t i = 0; i < nc; i++)
    flt ? tp_put(d, c, i, acc ? unit() : NAN) : tp_puti(d, c, i, (int64_t)rnd());
  memcpy(before, c, (size_t)nc * size);
  each_point(&p, d, a, b, f, v, touched, false);
  each_point(&p, d, a, b, f, v, touched, true);
  tp_contract(d, p.n, p.ext, p.sa, p.sb, p.sc, a, b, c, acc);
  for (int64_t i = 0; i < nc && ok; i++) {
    if (!touched[i]) {
      ok = memcmp(c + (size_t)i * size, before + (size_t)i * size, size) == 0;
      continue;
    }
    double w = f[i] + (acc ? tp_get(d, before, i) : 0);
    int64_t wi = 0;
    tp_puti(d, &wi, 0, (int64_t)((uint64_t)v[i] + (acc ? (uint64_t)tp_geti(d, before, i) : 0)));
    ok = flt
        ? fabs(tp_get(d, c, i) - w) <= (d == TP_F32 ? 1e-4 : 1e-11) * (1 + fabs(w) + 0.003 * terms)
        : tp_geti(d, c, i) == tp_geti(d, &wi, 0);
  }
  CHECK(ok);
  if (!ok) {
    fprintf(stderr, "  %s, acc %d\n", tp_dtype_name(d), acc);
    for (int i = 0; i < p.n; i++)
      fprintf(stderr, "  %lld: %lld %lld %lld\n", (long long)p.ext[i], (long long)p.sa[i],
          (long long)p.sb[i], (long long)p.sc[i]);
  }
  free(a), free(b), free(c), free(before), free(f), free(v), free(touched);
}

/* Terms one by one, in blocks of 128. */
static double ordered_sum(bool fused, tp_dtype d, const tp_mm *s, const char *a, const char *b,
    int64_t i, int64_t j, double c, bool acc) {
  for (int64_t p0 = 0; p0 < s->k; p0 += 128) {
    double r = 0;
    for (int64_t p = p0; p < s->k && p < p0 + 128; p++) {
      double x = tp_get(d, a, i * s->sam + p * s->sak), y = tp_get(d, b, p * s->sbk + j * s->sbn);
      if (d == TP_F64) r = fused ? fma(x, y, r) : x * y + r;
      else r = fused ? fmaf((float)x, (float)y, (float)r) : (float)((float)x * (float)y) + (float)r;
      if (d == TP_F32) r = (float)r;
    }
    c = acc || p0 ? c + r : r;
    if (d == TP_F32) c = (float)c;
  }
  return c;
}

/* Term p to lane p mod lanes, zeros up to a whole row of them, joined by halves. */
static double lane_sum(bool fused, tp_dtype d, const tp_mm *s, const char *a, const char *b,
    int64_t i, int64_t j, double c, bool acc) {
  int lanes = (d == TP_F32 ? 16 : 8) * s->lanes;
  double r[64] = { 0 };
  for (int64_t p = 0; p < (s->k + lanes - 1) / lanes * lanes; p++) {
    double x = p < s->k ? tp_get(d, a, i * s->sam + p) : 0,
           y = p < s->k ? tp_get(d, b, p + j * s->sbn) : 0, *to = &r[p % lanes];
    if (d == TP_F64) *to = fused ? fma(x, y, *to) : x * y + *to;
    else
      *to = fused ? fmaf((float)x, (float)y, (float)*to)
                  : (float)((float)((float)x * (float)y) + (float)*to);
  }
  for (int h = lanes / 2; h; h /= 2)
    for (int l = 0; l < h; l++)
      r[l] = d == TP_F32 ? (float)r[l] + (float)r[l + h] : r[l] + r[l + h];
  return acc ? (d == TP_F32 ? (float)((float)c + (float)r[0]) : c + r[0]) : r[0];
}

/* That of 512 terms at a time, unless it stands alone. */
static double dot_sum(bool fused, tp_dtype d, const tp_mm *s, const char *a, const char *b,
    int64_t i, int64_t j, double c, bool acc) {
  tp_mm part = *s;
  int size = tp_dtype_size(d);
  if (s->lanes > 1) return lane_sum(fused, d, s, a, b, i, j, c, acc);
  for (int64_t p = 0; p < s->k; p += 512) {
    part.k = TP_MIN(s->k - p, 512);
    c = lane_sum(fused, d, &part, a + p * size, b + p * size, i, j, c, acc || p);
  }
  return c;
}

static void test_mm(const tp_kernels *k, tp_dtype d) {
  static char a[200000], b[200000], c[200000];
  for (int round = 0; round < 400; round++) {
    int64_t m = 1 + below(round & 1 ? 9 : 20), n = 1 + below(round & 2 ? 9 : 90),
            kk = 1 + below(round < 380 ? 90 : 1300);
    tp_mm s = { m, n, kk, kk, 1, n, 1, n, 1, 0 };
    bool lanes = below(2);
    if (below(3) == 0) s.sam = 1, s.sak = m;
    if (below(3) == 0) s.sbn = kk, s.sbk = 1;
    if (below(3) == 0) s.scm = 1, s.scn = m;
    if ((m * kk > kk * n ? m * kk : kk * n) > 20000 || m * n > 20000) continue;
    bool acc = below(2), ok = true, flt = tp_dtype_float(d);
    if (lanes && flt && s.sak == 1 && s.sbk == 1) s.lanes = m == 1 && n == 1 ? 4 : 1;
    for (int64_t i = 0; i < m * kk; i++)
      flt ? tp_put(d, a, i, unit() - 0.5) : tp_puti(d, a, i, below(100));
    for (int64_t i = 0; i < n * kk; i++)
      flt ? tp_put(d, b, i, unit() - 0.5) : tp_puti(d, b, i, below(100));
    for (int64_t i = 0; i < m * n; i++) flt ? tp_put(d, c, i, acc ? 1 : NAN) : tp_puti(d, c, i, 1);
    k->mm[d](&s, a, b, c, acc);
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double w = acc;
        int64_t wi = 0, sum = acc;
        for (int64_t p = 0; p < kk; p++) {
          w += tp_get(d, a, i * s.sam + p * s.sak) * tp_get(d, b, p * s.sbk + j * s.sbn);
          sum += tp_geti(d, a, i * s.sam + p * s.sak) * tp_geti(d, b, p * s.sbk + j * s.sbn);
        }
        tp_puti(d, &wi, 0, sum);
        int64_t at = i * s.scm + j * s.scn;
        if (flt)
          ok &= tp_get(d, c, at) ==
              (s.lanes ? dot_sum : ordered_sum)(k->fuses, d, &s, a, b, i, j, 1, acc);
        ok &= flt ? fabs(tp_get(d, c, at) - w) <= 1e-4 : tp_geti(d, c, at) == tp_geti(d, &wi, 0);
      }
    CHECKF(ok, "%s product of %s: %d %d %d", k->isa, tp_dtype_name(d), (int)m, (int)n, (int)kk);
  }
}

/* A few rows by a matrix that lies in its own dtype, any strides that its kernels take: the sums
 * have the bits of the widened matrix. */
static void test_thin(const tp_kernels *k, tp_dtype d) {
  enum { MOST = 90000 };
  static char b[4 * MOST];
  static float a[MOST], wide[MOST], c[MOST];
  for (int round = 0; round < 300; round++) {
    bool lanes = below(2), acc = below(2), ok = true;
    int64_t m = 1 + below(below(4) ? 6 : 45), n = 1 + below(below(4) ? 40 : 400),
            kk = 1 + below(below(4) ? 300 : 2200), gap = below(3), cols = n + gap, terms = kk + gap;
    tp_mm s = { m, n, kk, terms, 1, lanes ? 1 : cols, lanes ? terms : 1, n, 1, lanes };
    if (!lanes && below(4) == 0) s.sam = 1, s.sak = m;
    if (below(3) == 0) s.scm = 1, s.scn = m;
    if (m * terms > MOST || cols * terms > MOST || m * n > MOST) continue;
    for (int64_t i = 0; i < MOST; i++) {
      double v = unit() - 0.5;
      tp_put(d, b, i, v);
      wide[i] = (float)tp_get(d, b, i);
      a[i] = (float)(unit() - 0.5);
      c[i] = 1;
    }
    k->thin[d](&s, a, b, c, acc);
    for (int q = 0; q < 200; q++) {
      int64_t i = below(m), j = below(4) ? below(n) : n - 1;
      ok &= c[i * s.scm + j * s.scn] ==
          (lanes ? dot_sum : ordered_sum)(
              k->fuses, TP_F32, &s, (const char *)a, (const char *)wide, i, j, 1, acc);
    }
    CHECKF(ok, "%s product by stored %s: %d %d %d, %s", k->isa, tp_dtype_name(d), (int)m, (int)n,
        (int)kk, lanes ? "lanes" : "one by one");
  }
}

/* An element by the formula of kernel_pairs.c, and its terms in double. */
static float pairs_sum(const tp_mm *s, const uint16_t *a, const uint16_t *b, int64_t i, int64_t j,
    float c, bool acc, double *want) {
  *want = acc ? c : 0;
  for (int64_t p0 = 0; p0 < s->k; p0 += 512) {
    float lane[4] = { 0 };
    for (int64_t p = p0; p < p0 + 512; p++) {
      int64_t at = p ^ 1;
      if (at >= s->k) continue;
      double x = tp_get(TP_BF16, a, i * s->sam + at), y = tp_get(TP_BF16, b, at + j * s->sbn);
      lane[p % 8 / 2] = fmaf((float)x, (float)y, lane[p % 8 / 2]);
      *want += x * y;
    }
    float block = lane[0] + lane[2] + (lane[1] + lane[3]);
    c = acc || p0 ? c + block : block;
  }
  return c;
}

/* All elements of small products, some of large ones; a row alone has its bits. What lies beside
 * operands is NaN, and C is left alone beside its elements. */
static void test_pairs(void) {
  enum { A = 300 * 700, B = 600 * 700, C = 300 * 600 };
  static uint16_t a[A], b[B];
  static float c[C], alone[600], room[1 << 18];
  tp_kpairs *f = tp_kernels_pairs();
  for (int round = 0; f && round < 150; round++) {
    bool acc = below(2), ok = true;
    int64_t m = 1 + below(below(4) ? 20 : 290), n = 1 + below(below(4) ? 40 : 590),
            k = 1 +
        below(below(4)     ? 100
                : below(4) ? 690
                           : 9000),
            sa = k + below(3), sb = k + below(3), gap = below(2);
    tp_mm s = { m, n, k, sa, 1, 1, sb, n + gap, 1, 0 };
    if (below(3) == 0) s.scm = 1, s.scn = m + gap;
    else if (below(5) == 0) s.scm = 2 * n, s.scn = 2;
    if (m * sa > A || n * sb > B || m * s.scm + n * s.scn > C || tp_pairs_room(&s) > 1 << 18)
      continue;
    memset(a, 0xff, sizeof a), memset(b, 0xff, sizeof b);
    for (int64_t i = 0; i < m * k; i++) tp_put(TP_BF16, a, i / k * sa + i % k, unit() - 0.5);
    for (int64_t i = 0; i < n * k; i++) tp_put(TP_BF16, b, i / k * sb + i % k, unit() - 0.5);
    for (int64_t i = 0; i < C; i++) c[i] = 1;
    f(&s, a, b, c, acc, room);
    double sum = 0, all = 0;
    for (int64_t i = 0; i < C; i++) all += c[i];
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) sum += c[i * s.scm + j * s.scn];
    ok &= fabs(all - sum - (double)(C - m * n)) < 1e-6;
    for (int q = 0; q < 300; q++) {
      double want;
      int64_t i = below(m), j = below(4) ? below(n) : n - 1;
      float got = c[i * s.scm + j * s.scn];
      ok &= got == pairs_sum(&s, a, b, i, j, 1, acc, &want);
      ok &= fabs(got - want) <= 1e-6 * (double)(k + 10);
    }
    tp_mm one = s;
    int64_t row = below(m);
    one.m = 1, one.scn = 1;
    for (int64_t j = 0; j < n; j++) alone[j] = 1;
    f(&one, a + row * sa, b, alone, acc, NULL);
    for (int64_t j = 0; j < n; j++) ok &= alone[j] == c[row * s.scm + j * s.scn];
    CHECKF(ok, "product of pairs: %d %d %d, acc %d", (int)m, (int)n, (int)k, acc);
  }
  /* 2^-127 is 0 to it, 2^-126 is not; no result is between them */
  static const uint16_t in[] = { 0x0040, 0x0080 }, big = 0x7f00, half = 0x3f00;
  tp_mm s = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 0 };
  float y[3];
  for (int i = 0; f && i < 2; i++) f(&s, in + i, &big, y + i, false, NULL);
  if (f) f(&s, in + 1, &half, y + 2, false, NULL);
  CHECK(!f || (y[0] == 0 && y[1] == 2 && y[2] == 0));
}

/* Enough rows, columns and terms that A is copied as well; of some elements. */
static void test_large_mm(const tp_kernels *k, tp_dtype d) {
  enum { M = 270, N = 322, TERMS = 140, SOME = 500 };
  static double a[M * TERMS], b[TERMS * N], c[M * N];
  for (int64_t i = 0; i < M * TERMS; i++) tp_put(d, a, i, unit() - 0.5);
  for (int64_t i = 0; i < TERMS * N; i++) tp_put(d, b, i, unit() - 0.5);
  for (int lies = 0; lies < 8; lies++) {
    bool ta = lies & 1, tb = lies & 2, acc = lies & 4, ok = true;
    tp_mm s = { M, N, TERMS, ta ? 1 : TERMS, ta ? M : 1, tb ? 1 : N, tb ? TERMS : 1, N, 1, 0 };
    for (int64_t i = 0; i < M * N; i++) tp_put(d, c, i, acc ? 1 : NAN);
    k->mm[d](&s, a, b, c, acc);
    for (int q = 0; q < SOME; q++) {
      int64_t i = q < M ? q : below(M), j = below(8) ? below(N) : N - 1 - below(3);
      ok &= tp_get(d, c, i * N + j) ==
          ordered_sum(k->fuses, d, &s, (const char *)a, (const char *)b, i, j, 1, acc);
    }
    CHECKF(ok, "%s large product of %s, as %d", k->isa, tp_dtype_name(d), lies);
  }
}

/* ---- random numbers ---- */

static void test_random(const tp_kernels *k) {
  static uint32_t w[2 * 1000 + 64];
  static float u[1000];
  static double g[1000];
  tp_philox_key key = tp_philox_coord(tp_philox_op(42, 7), 1, 3);
  bool words = true, uniforms = true, normals = true;
  k->philox(key, 0, 500, w);
  for (int i = 0; i < 2000; i++) words &= w[i] == tp_philox_word(key, i);
  k->uniform(u, w, 1000);
  for (int i = 0; i < 1000; i++) uniforms &= u[i] == tp_philox_uniform(key, i);
  k->normal(g, w, 1000);
  for (int i = 0; i < 1000; i++) normals &= g[i] == tp_philox_normal(key, i);
  CHECKF(words && uniforms && normals, "%s: words %d, uniforms %d, normals %d", k->isa, words,
      uniforms, normals);
}

/* The ends of both words, where ln is 0 and the angle a whole number of quarters: the same bits,
 * and what libm says. */
static void test_normal_ends(const tp_kernels *k) {
  static const uint32_t at[] = { 0, 255, 256, 0x5a827900, 0x5a827a00, 0x1fffff00, 0x20000000,
    0x3fffff00, 0x40000000, 0x7fffffff, 0x80000000, 0xc0000000, 0xe0000000, 0xffffffff };
  for (size_t i = 0; i < TP_LEN(at); i++)
    for (size_t j = 0; j < TP_LEN(at); j++) {
      uint32_t w[2] = { at[i], at[j] };
      double g, b,
          u = ((w[0] >> 8) + 1) * 0x1p-24,
          want = sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * (w[1] >> 8) * 0x1p-24);
      k->normal(&g, w, 1);
      tp_kernels_base.normal(&b, w, 1);
      CHECKF(!memcmp(&g, &b, 8) && fabs(g - want) <= 4e-15,
          "%s: normal of %08x %08x is %.17g, base %.17g, libm %.17g", k->isa, w[0], w[1], g, b,
          want);
    }
}

int main(int argc, char **argv) {
  if (argc > 1) seed += strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15ull;
  static const tp_dtype plain[] = { TP_BOOL, TP_U8, TP_I32, TP_I64, TP_F32, TP_F64 };
  find_tables();
  for (int i = 0; i < ntables; i++) {
    const tp_kernels *k = tables[i];
    test_unary_f32(k);
    for (size_t d = 0; d < TP_LEN(plain); d++) {
      test_binary(k, plain[d]);
      test_folds(k, plain[d]);
      if (plain[d] != TP_BOOL) test_mm(k, plain[d]);
      if (tp_dtype_float(plain[d])) test_large_mm(k, plain[d]);
      if (plain[d] == TP_F32) test_thin(k, TP_F32), test_thin(k, TP_BF16), test_thin(k, TP_F16);
    }
    test_faults(k);
    test_casts(k);
    test_halves(k);
    test_loads(k);
    test_turns(k);
    test_outside(k);
    test_random(k);
    test_normal_ends(k);
  }
  test_pairs();
  for (int i = 0; i < 400; i++)
    for (size_t d = 1; d < TP_LEN(plain); d++)
      test_contraction(plain[d], i < 200 ? 6 : i < 380 ? 20 : 90);
  return check_report();
}
