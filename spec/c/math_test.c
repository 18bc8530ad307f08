/* The prelude's elementary functions, through every table of kernels: against what mpmath says
 * (spec/math.txt, made by .ci/math_fixture.py) and, where long double has more bits than double,
 * against libm's of random operands. Code compiled from its text has the same bits. The limits are
 * those that kernels/prelude/math.h states. */
#include "kernels/cpu/kernels.h"
#include "kern/kern.h"
#include "check.h"
#include <ctype.h>
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ---- errors in units of the last place ---- */

static double of_bits(uint64_t u) {
  double x;
  memcpy(&x, &u, 8);
  return x;
}

/* got - (want + rest): rest in units of want's last place. */
static double ulps_f64(double got, double want, double rest) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : 1e9;
  if (isinf(want) || isinf(got))
    return want == got || fabs(want) == DBL_MAX || fabs(got) == DBL_MAX ? 0 : 1e9;
  if (want == 0 && got == 0) return !signbit(want) == !signbit(got) || rest != 0 ? fabs(rest) : 1e9;
  double ulp = nextafter(fabs(want), INFINITY) - fabs(want);
  return fabs((got - want) / ulp - rest);
}

static double ulps_f32(float got, double want) {
  float w = (float)want;
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : 1e9;
  if (isinf(w) || isinf(got))
    return w == got || fabsf(w) == FLT_MAX || fabsf(got) == FLT_MAX ? 0 : 1e9;
  if (want == 0 && got == 0) return !signbit(want) == !signbit(got) ? 0 : 1e9;
  return fabs(((double)got - want) / ((double)nextafterf(fabsf(w), INFINITY) - fabsf(w)));
}

/* ---- what is stated ---- */

/* Largest errors with and without fma. */
typedef struct stated {
  tp_op op;
  double f32[2], f64[2];
  long double (*libm)(long double);
  double worst[2];
} stated;
static long double sigmoidl(long double x) { return 1 / (1 + expl(-x)); }
static stated unary[] = {
  { TP_OP_EXP, { 1.1, 1.1 }, { 1, 1 }, expl, { 0 } },
  { TP_OP_EXPM1, { 1, 1 }, { 1.1, 1.1 }, expm1l, { 0 } },
  { TP_OP_LOG, { 1, 1 }, { 1, 1 }, logl, { 0 } },
  { TP_OP_LOG1P, { 1, 1 }, { 1, 1 }, log1pl, { 0 } },
  { TP_OP_SIN, { 1, 1 }, { 1, 1 }, sinl, { 0 } },
  { TP_OP_COS, { 1, 1 }, { 1, 1 }, cosl, { 0 } },
  { TP_OP_TAN, { 1, 1 }, { 2.2, 2.2 }, tanl, { 0 } },
  { TP_OP_TANH, { 2, 2 }, { 2.8, 2.8 }, tanhl, { 0 } },
  { TP_OP_SIGMOID, { 2.5, 2.5 }, { 2.5, 2.5 }, sigmoidl, { 0 } },
  { TP_OP_ERF, { 1, 1.2 }, { 1, 1.2 }, erfl, { 0 } },
};
static stated power = { TP_OP_POW, { 1, 1 }, { 1, 1 }, NULL, { 0 } };

static const tp_kernels *tables[5];
static int ntables;

/* Those that do not fuse first. */
static void find_tables(void) {
  tables[ntables++] = &tp_kernels_plain;
#ifdef __FP_FAST_FMA
  tables[ntables++] = &tp_kernels_base;
#endif
#ifdef TP_X86
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (avx2) tables[ntables++] = &tp_kernels_plain_avx2;
  if (avx512) tables[ntables++] = &tp_kernels_plain_avx512;
  if (avx2) tables[ntables++] = &tp_kernels_avx2;
  if (avx512) tables[ntables++] = &tp_kernels_avx512;
#endif
}

static void judge(int t, stated *s, tp_dtype d, double ulps, double x, double y, double got) {
  double limit = (d == TP_F32 ? s->f32 : s->f64)[!tables[t]->fuses];
  s->worst[d == TP_F64] = fmax(s->worst[d == TP_F64], ulps);
  if (!(ulps <= limit))
    CHECKF(false, "%s %s %s(%.17g, %.17g) is %.17g: %g ulp", tables[t]->isa, tp_dtype_name(d),
        tp_ops[s->op].text, x, y, got, ulps);
}

/* ---- mpmath ---- lines of: name, bits of the operands, bits of the nearest f64, what is left in
 * its last places */

static void one_line(stated *s, double x, double y, double want, double rest) {
  for (int t = 0; t < ntables; t++) {
    double got;
    tables[t]->ew[s->op][TP_F64](&got, &x, &y, &y, 1);
    judge(t, s, TP_F64, ulps_f64(got, want, rest), x, y, got);
    float a = (float)x, b = (float)y, c;
    if ((isnan(x) || (double)a == x) && (isnan(y) || (double)b == y)) {
      tables[t]->ew[s->op][TP_F32](&c, &a, &b, &b, 1);
      judge(t, s, TP_F32, ulps_f32(c, want), x, y, (double)c);
    }
  }
}

static void test_fixture(const char *path) {
  FILE *f = fopen(path, "r");
  char name[16];
  unsigned long long x, y, want;
  double rest;
  int n = 0;
  CHECK(f != NULL);
  if (!f) return;
  for (; fscanf(f, "%15s %llx %llx %llx %lf", name, &x, &y, &want, &rest) == 5; n++) {
    stated *s = strcmp(name, "pow") == 0 ? &power : NULL;
    for (size_t i = 0; i < TP_LEN(unary); i++)
      if (strcmp(name, tp_ops[unary[i].op].text) == 0) s = &unary[i];
    CHECK(s != NULL);
    if (s) one_line(s, of_bits(x), of_bits(y), of_bits(want), rest);
  }
  CHECK(feof(f) && n > 1000);
  fclose(f);
}

/* ---- long double ---- */

static uint64_t seed = 12345;
static uint64_t rnd(void) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return seed;
}
static double unit(void) { return (double)(rnd() >> 11) * 0x1p-53; }

static double any(void) {
  switch (rnd() % 6) {
  case 0: return of_bits(rnd());
  case 1: return (unit() - 0.5) * 4;
  case 2: return (unit() - 0.5) * 200;
  case 3: return unit() * 10;
  case 4: return (unit() - 0.5) * 2e6;
  default: return ldexp(unit() - 0.5, (int)(rnd() % 60) - 40);
  }
}

enum { N = 1 << 14 };
static double fx[N], fy[N], fo[N];

static double ulps_long(double got, long double want) {
  double w = (double)want, ulp = nextafter(fabs(w), INFINITY) - fabs(w);
  return ulps_f64(got, w, isfinite(w) && w != 0 ? (double)((want - (long double)w) / ulp) : 0);
}

static float sx[N], sy[N], so[N];
static bool is_long(void) { return LDBL_MANT_DIG >= 64; }
static bool same(float a, float b) { return memcmp(&a, &b, 4) == 0 || (isnan(a) && isnan(b)); }

static void test_random(int t) {
  for (size_t i = 0; i < TP_LEN(unary); i++) {
    tp_kfn *const *fn = tables[t]->ew[unary[i].op];
    bool turns = unary[i].libm == tanl || unary[i].libm == sinl || unary[i].libm == cosl;
    for (int k = 0; k < N; k++) sx[k] = (float)(fx[k] = any());
    fn[TP_F32](so, sx, sx, sx, N);
    fn[TP_F64](fo, fx, fx, fx, N);
    for (int k = 0; k < N; k++) { /* x87 has no sine beyond 2^63 */
      if (!turns || fabsf(sx[k]) < 0x1p63f)
        judge(t, &unary[i], TP_F32, ulps_f32(so[k], (double)unary[i].libm(sx[k])), sx[k], 0, so[k]);
      if (is_long() && (!turns || fabs(fx[k]) < 0x1p63))
        judge(t, &unary[i], TP_F64, ulps_long(fo[k], unary[i].libm(fx[k])), fx[k], 0, fo[k]);
    }
    memcpy(fy, fx, sizeof fy), memcpy(sy, sx, sizeof sy);
    fn[TP_F32](sy, sy, sy, sy, N);
    fn[TP_F64](fy, fy, fy, fy, N);
    CHECKF(memcmp(fy, fo, sizeof fy) == 0 && memcmp(sy, so, sizeof sy) == 0, "%s %s in place",
        tables[t]->isa, tp_ops[unary[i].op].text);
  }
}

/* Bases and exponents whose power is finite, mostly; with subnormals, negative bases and integers.
 */
static void test_random_pow(int t) {
  for (int k = 0; k < N; k++) {
    fx[k] = rnd() % 8 ? ldexp(0.5 + unit(), (int)(rnd() % 40) - 20) : fabs(of_bits(rnd()));
    fy[k] = rnd() % 4 ? (unit() - 0.5) * (k % 2 ? 1400 : 170) / fmax(fabs(log(fx[k])), 0.5)
                      : (double)(int)(rnd() % 41) - 20;
    if (rnd() % 4 == 0) fx[k] = -fx[k];
    if (rnd() % 50 == 0) fy[k] = any();
    sx[k] = (float)fx[k], sy[k] = (float)fy[k];
  }
  tables[t]->ew[TP_OP_POW][TP_F64](fo, fx, fy, fy, N);
  tables[t]->ew[TP_OP_POW][TP_F32](so, sx, sy, sy, N);
  for (int k = 0; k < N; k++) {
    judge(t, &power, TP_F32, ulps_f32(so[k], (double)powl(sx[k], sy[k])), sx[k], sy[k], so[k]);
    if (is_long())
      judge(t, &power, TP_F64, ulps_long(fo[k], powl(fx[k], fy[k])), fx[k], fy[k], fo[k]);
  }
}

/* Tables that fuse agree in every bit, and those that do not. */
static void test_same(void) {
  static float o[N];
  for (int k = 0; k < N; k++) sx[k] = (float)any();
  for (size_t i = 0; i < TP_LEN(unary); i++)
    for (int t = 0; t + 1 < ntables; t++) {
      if (tables[t]->fuses != tables[t + 1]->fuses) continue;
      bool ok = true;
      tables[t]->ew[unary[i].op][TP_F32](so, sx, sx, sx, N);
      tables[t + 1]->ew[unary[i].op][TP_F32](o, sx, sx, sx, N);
      for (int k = 0; k < N; k++) ok &= same(o[k], so[k]);
      CHECKF(ok, "%s of %s and %s", tp_ops[unary[i].op].text, tables[t]->isa, tables[t + 1]->isa);
    }
}

/* ---- the prelude as text ---- what the machine's compiler makes of it, as C and as C++ */

static void write_text(FILE *f, bool fma) {
  fprintf(f,
      "#include <stdint.h>\n#include <math.h>\n#define TP_FN static inline\n#define TP_FMA %d\n%s",
      fma, tp_prelude);
  fprintf(f,
      "#ifdef __cplusplus\nextern \"C\"\n#endif\nvoid all(int n, const float *x, float *o);\nvoid "
      "all(int n, const float *x, float *o) {\n  int i;\n");
  for (size_t i = 0; i < TP_LEN(unary); i++) {
    char name[16] = { 0 };
    for (int k = 0; tp_ops[unary[i].op].text[k]; k++)
      name[k] = (char)toupper(tp_ops[unary[i].op].text[k]);
    fprintf(f, "  for (i = 0; i < n; i++) *o++ = tp_%s_f32(x[i]);\n", name);
  }
  fprintf(f,
      "}\n#ifdef __cplusplus\nextern \"C\"\n#endif\nvoid draw(uint32_t *w, float *u, double *n, "
      "uint32_t k0, uint32_t k1);\n"
      "void draw(uint32_t *w, float *u, double *n, uint32_t k0, uint32_t k1) { tp_philox_block(w, "
      "k0, k1); *u = tp_uniform_of(w[0]); *n = tp_normal_of(w[1], w[2]); }\n");
}

/* The words of block 7, and numbers made of them. */
static void compare_draw(
    void (*draw)(uint32_t *, float *, double *, uint32_t, uint32_t), const char *language) {
  uint32_t w[4] = { 7 }, want[4];
  float u, wantu;
  double n, wantn;
  const tp_kernels *k = tables[ntables - 1];
  draw(w, &u, &n, 123, 456);
  k->philox((tp_philox_key){ { 123, 456 } }, 7, 1, want);
  k->uniform(&wantu, want, 1);
  k->normal(&wantn, want + 1, 1);
  CHECKF(
      memcmp(w, want, sizeof w) == 0 && u == wantu && n == wantn, "draws compiled as %s", language);
}

static void compare_text(const char *path, const char *language) {
  enum { M = 2000 };
  static float o[TP_LEN(unary)][M];
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void (*all)(int, const float *, float *) = NULL;
  if (lib) *(void **)&all = dlsym(lib, "all");
  CHECKF(all != NULL, "%s: no library", language);
  for (int k = 0; k < M; k++) sx[k] = (float)any();
  if (all) all(M, sx, o[0]);
  for (size_t i = 0; i < TP_LEN(unary) && all; i++) {
    bool ok = true;
    tables[ntables - 1]->ew[unary[i].op][TP_F32](so, sx, sx, sx, M);
    for (int k = 0; k < M; k++) ok &= same(o[i][k], so[k]);
    CHECKF(ok, "%s compiled as %s", tp_ops[unary[i].op].text, language);
  }
  void (*draw)(uint32_t *, float *, double *, uint32_t, uint32_t) = NULL;
  if (lib) *(void **)&draw = dlsym(lib, "draw");
  if (draw) compare_draw(draw, language);
  CHECK(draw != NULL);
  if (lib) dlclose(lib);
}

static void test_text(const char *compiler, const char *language) {
  char dir[] = "/tmp/tempo-math-XXXXXX", command[512], path[64];
  if (!mkdtemp(dir)) {
    CHECK(!"mkdtemp");
    return;
  }
  bool fma = tables[ntables - 1]->fuses;
  snprintf(path, sizeof path, "%s/a.%s", dir, language);
  FILE *f = fopen(path, "w");
  write_text(f, fma);
  fclose(f);
  snprintf(command, sizeof command,
      "%s -O2 -Wall -Werror -Wno-unused-function -ffp-contract=off %s -fPIC -shared -o %s/a.so %s "
      "-lm",
      compiler,
#ifdef TP_X86
      fma ? "-mfma" : "",
#else
      "",
#endif
      dir, path);
  CHECKF(system(command) == 0, "%s", command);
  snprintf(path, sizeof path, "%s/a.so", dir);
  compare_text(path, language);
  snprintf(command, sizeof command, "rm -r %s", dir);
  CHECK(system(command) == 0);
}

int main(int argc, char **argv) {
  if (argc > 1) seed += strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15ull;
  find_tables();
  test_fixture("spec/math.txt");
  for (int t = 0; t < ntables; t++) test_random(t), test_random_pow(t);
  test_same();
  test_text("cc -std=c99 -pedantic", "c");
  if (system("c++ --version >/dev/null 2>&1") == 0) test_text("c++ -std=c++17", "cc");
  for (size_t i = 0; i <= TP_LEN(unary); i++) {
    stated *s = i < TP_LEN(unary) ? &unary[i] : &power;
    CHECKF(s->worst[0] > 0.3 && s->worst[1] > 0.3, "%s: not measured", tp_ops[s->op].text);
    if (tp_setting("VERBOSE"))
      printf("%-8s f32 %.3f f64 %.3f ulp\n", tp_ops[s->op].text, s->worst[0], s->worst[1]);
  }
  return check_report();
}
