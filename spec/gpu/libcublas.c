/* libcublas.so.13 for tests: products of matrices on the emulated device, done as late as launches.
 * Leading dimensions, transposes and strides are checked as cuBLAS does, and that all that is read
 * or written lies in the device's memory. A sum is in f64, rounded once: near what cuBLAS gives,
 * never the same bits. */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define API __attribute__((visibility("default"))) int

enum { OK = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15, EXECUTION_FAILED = 13 };
enum { OP_N, OP_T, OP_C };

typedef struct handle {
  void *stream;
  bool workspace;
} handle;
static int (*put)(void *, void (*)(void *), const void *, size_t);
static int (*may)(const char *, const void *, size_t, int);

/* The emulator lies beside this library, and is open. */
static bool open_emulator(void) {
  Dl_info me;
  char path[PATH_MAX + 32], folder[PATH_MAX];
  if (put) return true;
  if (!dladdr((void *)open_emulator, &me) || !realpath(me.dli_fname, folder)) return false;
  snprintf(path, sizeof path, "%s/libcuda.so.1", dirname(folder));
  void *lib = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (!lib) return false;
  *(void **)&may = dlsym(lib, "emu_may");
  *(void **)&put = dlsym(lib, "emu_put");
  return put && may;
}

API cublasCreate_v2(handle **h) {
  if (!open_emulator()) return NOT_INITIALIZED;
  *h = calloc(1, sizeof **h);
  return *h ? OK : 3;
}
API cublasDestroy_v2(handle *h) { return free(h), OK; }
API cublasSetStream_v2(handle *h, void *stream) {
  if (!h) return NOT_INITIALIZED;
  h->stream = stream, h->workspace = false; /* cuBLAS goes back to its own, too */
  return OK;
}
API cublasSetMathMode(handle *h, int mode) {
  return !h ? NOT_INITIALIZED : mode < 0 || mode > 0x1f ? INVALID_VALUE : OK;
}
API cublasSetWorkspace_v2(handle *h, void *p, size_t n) {
  if (!h) return NOT_INITIALIZED;
  h->workspace = p && n;
  return OK;
}
API cublasGetVersion_v2(handle *h, int *v) { return *v = 130100, (void)h, OK; }
const char *cublasGetStatusString(int e);
__attribute__((visibility("default"))) const char *cublasGetStatusString(int e) {
  return e == OK ? "success" : e == INVALID_VALUE ? "an invalid value" : "it failed";
}

/* c = alpha op(a) op(b) + beta c, column major. */
typedef struct product {
  int of, made; /* cudaDataType */
  int op_a, op_b, m, n, k, lda, ldb, ldc, batch;
  long long stride_a, stride_b, stride_c;
  const char *a, *b;
  char *c;
  double alpha, beta;
} product;

enum { F32 = 0, F64 = 1, F16 = 2, BF16 = 14 };
static size_t size_of(int type) { return type == F64 ? 8 : type == F32 ? 4 : 2; }

static double at(int type, const char *x, long long i) {
  float f;
  if (type == F64) return ((const double *)x)[i];
  if (type == F32) return (double)((const float *)x)[i];
  uint32_t u = ((const uint16_t *)x)[i];
  if (type == F16) return (double)((const _Float16 *)x)[i];
  u <<= 16;
  return memcpy(&f, &u, 4), (double)f;
}

static void set(int type, char *x, long long i, double v) {
  float f = (float)v;
  uint32_t u;
  memcpy(&u, &f, 4);
  if (type == F64) ((double *)x)[i] = v;
  else if (type == F32) ((float *)x)[i] = f;
  else if (type == F16) ((_Float16 *)x)[i] = (_Float16)f;
  else ((uint16_t *)x)[i] = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* Columns of a stored matrix, each by itself: what lies between them is not touched. */
static bool lies(
    int type, const char *what, const char *x, int rows, int columns, int ld, int writes) {
  size_t size = size_of(type);
  for (int j = 0; j < columns; j++)
    if (!may(what, x + (size_t)j * (size_t)ld * size, (size_t)rows * size, writes)) return false;
  return true;
}

static void multiply(void *arg) {
  const product *p = arg;
  long long size = (long long)size_of(p->of), made = (long long)size_of(p->made);
  for (int g = 0; g < p->batch; g++) {
    const char *a = p->a + g * p->stride_a * size, *b = p->b + g * p->stride_b * size;
    char *c = p->c + g * p->stride_c * made;
    if (!lies(p->of, "cuBLAS's first operand", a, p->op_a ? p->k : p->m, p->op_a ? p->m : p->k,
            p->lda, 0) ||
        !lies(p->of, "cuBLAS's second operand", b, p->op_b ? p->n : p->k, p->op_b ? p->k : p->n,
            p->ldb, 0) ||
        (p->beta != 0 && !lies(p->made, "cuBLAS's sum", c, p->m, p->n, p->ldc, 0)) ||
        !lies(p->made, "cuBLAS's result", c, p->m, p->n, p->ldc, 1))
      return;
    for (int j = 0; j < p->n; j++)
      for (int i = 0; i < p->m; i++) {
        double sum = 0;
        for (int k = 0; k < p->k; k++)
          sum += at(p->of, a, p->op_a ? k + (long long)i * p->lda : i + (long long)k * p->lda) *
              at(p->of, b, p->op_b ? j + (long long)k * p->ldb : k + (long long)j * p->ldb);
        long long to = i + (long long)j * p->ldc;
        sum = p->alpha * sum + (p->beta != 0 ? p->beta * at(p->made, c, to) : 0);
        set(p->made, c, to, sum);
      }
  }
}

static int least(int n) { return n > 1 ? n : 1; }

static int gemm(handle *h, product p) {
  if (!h) return NOT_INITIALIZED;
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0 || p.op_a < 0 || p.op_a > OP_C || p.op_b < 0 ||
      p.op_b > OP_C || p.lda < least(p.op_a ? p.k : p.m) || p.ldb < least(p.op_b ? p.n : p.k) ||
      p.ldc < least(p.m))
    return INVALID_VALUE;
  if (p.batch > 1 && p.stride_c < (long long)p.ldc * (p.n - 1) + p.m) {
    fprintf(stderr, "tempo emulator: cuBLAS: results of a batch lie on each other\n");
    return INVALID_VALUE;
  }
  if (!p.m || !p.n || !p.batch) return OK;
  return put(h->stream, multiply, &p, sizeof p) ? EXECUTION_FAILED : OK;
}

/* Which types go together: sums of f16 and bf16 are f32. */
static bool fits(int a, int b, int c, int compute) {
  enum { COMPUTE_32F = 68, COMPUTE_64F = 70 };
  if (a != b || (a != F32 && a != F64 && a != F16 && a != BF16)) return false;
  if (compute != (a == F64 ? COMPUTE_64F : COMPUTE_32F)) return false;
  return c == a || (c == F32 && (a == F16 || a == BF16));
}

API cublasGemmStridedBatchedEx(handle *h, int op_a, int op_b, int m, int n, int k,
    const void *alpha, const void *a, int type_a, int lda, long long stride_a, const void *b,
    int type_b, int ldb, long long stride_b, const void *beta, void *c, int type_c, int ldc,
    long long stride_c, int batch, int compute, int algorithm) {
  if (!fits(type_a, type_b, type_c, compute) || algorithm != -1) return NOT_SUPPORTED;
  int scale = type_a == F64 ? F64 : F32;
  return gemm(h,
      (product){ type_a, type_c, op_a, op_b, m, n, k, lda, ldb, ldc, batch, stride_a, stride_b,
          stride_c, a, b, c, at(scale, alpha, 0), at(scale, beta, 0) });
}
