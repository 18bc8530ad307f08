/* The two drivers of devices: memory, copies, kernels, marks, errors. OpenCL runs where
 * there is a device of it (pocl), CUDA where TEMPO_CUDA names a library, that of the tests or a
 * real one; what is left out is said. Errors without libraries need no device. */
#include "check.h"
#include "gpu/gpu.h"
#include <stdlib.h>
#include <unistd.h>

enum { N = 1000, THREADS = 64 };

static const tp_gdriver *of;
static tp_gdev *dev;
static tp_gqueue *queue;
static tp_error err;

/* Is the latest error of that class, and does it say that? Begins anew. */
static bool says(tp_code code, const char *text) {
  bool ok = err.code == code && strstr(err.msg, text);
  if (!ok) fprintf(stderr, "  said: '%s', wanted '%s'\n", err.msg, text);
  err = (tp_error){ 0 };
  return ok;
}

static bool well(bool ok) {
  if (err.code) fprintf(stderr, "  said: '%s'\n", err.msg);
  err = (tp_error){ 0 };
  return ok;
}

static const char *const dialect[] = {
  "#define KERNEL extern \"C\" __global__ void\ntypedef long long i64;\n"
  "#define PLACED(T, p) T *p\n#define AT(T, p) p\n"
  "#define PLACE ((i64)blockIdx.x * blockDim.x + threadIdx.x)\n",
  "#define KERNEL __kernel void\ntypedef long i64;\n"
  "#define PLACED(T, p) __global T *p, i64 p##_o\n"
  "#define AT(T, p) ((__global T *)((__global const char *)p + p##_o))\n"
  "#define PLACE ((i64)get_global_id(0))\n",
};

static tp_gmodule *build(const char *text) {
  char whole[8192];
  snprintf(whole, sizeof whole, "%s%s", dialect[of == &tp_opencl], text);
  return of->build(dev, whole, &err);
}

/* ---- memory ---- */

static void copies(void) {
  int32_t in[N], out[N], part[10];
  tp_gmem *a = of->take(dev, sizeof in, false, &err), *b = of->take(dev, sizeof in, false, &err),
          *pin = of->take(dev, sizeof in, true, &err), *none = of->take(dev, 0, false, &err);
  if (!CHECK(well(a && b && pin && none))) return;
  for (int i = 0; i < N; i++) in[i] = 3 * i + 1, ((int32_t *)of->host(pin))[i] = -i;
  CHECK(well(of->put(queue, (tp_gplace){ a, 0 }, in, sizeof in, &err)));
  CHECK(well(of->copy(queue, (tp_gplace){ b, 0 }, (tp_gplace){ a, 0 }, sizeof in, &err)));
  CHECK(well(of->copy(queue, (tp_gplace){ b, 400 }, (tp_gplace){ a, 40 }, 200, &err)));
  CHECK(well(of->copy(queue, (tp_gplace){ b, 800 }, (tp_gplace){ pin, 80 }, 200, &err)));
  CHECK(well(of->fill(queue, (tp_gplace){ b, 1600 }, 0x81, 200, &err)));
  CHECK(well(of->get(queue, out, (tp_gplace){ b, 0 }, sizeof out, &err)));
  int wrong = 0;
  for (int i = 0; i < N; i++) {
    int32_t want = i >= 100 && i < 150 ? in[i - 90]
        : i >= 200 && i < 250          ? -(i - 180)
        : i >= 400 && i < 450          ? (int32_t)0x81818181
                                       : in[i];
    wrong += out[i] != want;
  }
  CHECKF(wrong == 0, "%d", wrong);
  CHECK(well(of->get(queue, part, (tp_gplace){ b, 412 }, sizeof part, &err)));
  CHECK(part[0] == in[13] && part[9] == in[22]);
  CHECK(well(of->copy(queue, (tp_gplace){ pin, 4 }, (tp_gplace){ a, 8 }, 8, &err)));
  tp_gmark *m = of->mark(queue, NULL, &err);
  CHECK(well(m && of->reached(m, true, &err) == 1 && of->reached(m, false, &err) == 1));
  CHECK(((int32_t *)of->host(pin))[1] == in[2] && ((int32_t *)of->host(pin))[2] == in[3]);
  CHECK(well(of->put(queue, (tp_gplace){ a, 0 }, in, 0, &err)));
  of->drop(a), of->drop(b), of->drop(pin), of->drop(none), of->drop(NULL);
}

static void too_much(void) {
  const tp_gspec *s = of->spec(dev);
  CHECK(!of->take(dev, s->memory * 16, false, &err) && says(TP_E_MEMORY, "has no room for"));
  tp_gmem *m = of->take(dev, 64, false, &err);
  CHECK(well(m != NULL));
  of->drop(m);
}

/* ---- kernels ---- */

static const char twice[] =
    "KERNEL twice(PLACED(int, to), PLACED(const int, from), i64 n, "
    "i64 add) {\n"
    "  if (PLACE < n) AT(int, to)[PLACE] = 2 * AT(const int, from)[PLACE] + "
    "(int)add;\n}\n";

static bool run_twice(tp_gqueue *q, const tp_gkernel *k, tp_gmem *to, int64_t at, tp_gmem *from,
    int64_t off, int64_t n, int64_t add) {
  const tp_gplace place[] = { { to, at }, { from, off } };
  const int64_t num[] = { n, add };
  return of->launch(q,
      &(tp_glaunch){ k, (int)((n + THREADS - 1) / THREADS), THREADS, 2, place, 2, num, false },
      &err);
}

static void launches(void) {
  int32_t in[N], out[N];
  tp_gmem *a = of->take(dev, sizeof in, false, &err), *b = of->take(dev, sizeof in, false, &err);
  tp_gmodule *m = build(twice);
  const tp_gkernel *k = m ? of->kernel(m, "twice", &err) : NULL;
  if (!CHECK(well(a && b && k))) return;
  for (int i = 0; i < N; i++) in[i] = i;
  CHECK(well(of->put(queue, (tp_gplace){ a, 0 }, in, sizeof in, &err)));
  CHECK(well(of->fill(queue, (tp_gplace){ b, 0 }, 0, sizeof in, &err)));
  CHECK(well(run_twice(queue, k, b, 40, a, 80, N - 20, 5)));
  CHECK(well(of->get(queue, out, (tp_gplace){ b, 0 }, sizeof out, &err)));
  int wrong = 0;
  for (int i = 0; i < N; i++)
    wrong += out[i] != (i >= 10 && i < N - 10 ? 2 * (i - 10 + 20) + 5 : 0);
  CHECKF(wrong == 0, "%d", wrong);
  tp_gneeds needs;
  of->needs(k, THREADS, &needs);
  CHECK(needs.registers >= -1 && needs.fit >= -1);
  /* another thread of compilation: from the cache */
  tp_gmodule *again = build(twice);
  k = again ? of->kernel(again, "twice", &err) : NULL;
  CHECK(well(k && run_twice(queue, k, b, 0, a, 0, N, 1)));
  CHECK(
      well(of->get(queue, out, (tp_gplace){ b, 0 }, sizeof out, &err)) && out[N - 1] == 2 * N - 1);
  CHECK(!of->kernel(m, "thrice", &err) && says(TP_E_DEVICE, ""));
  const tp_glaunch wide = { k, 1, of->spec(dev)->threads + 1, 0, NULL, 0, NULL, false };
  CHECK(!of->launch(queue, &wide, &err) && says(TP_E_DEVICE, "threads"));
  of->drop(a), of->drop(b);
}

/* 20 places and 20 numbers: 60 parameters; and more than there may be */
static void many_parameters(void) {
  enum { MANY = 20 };
  tp_buf t;
  tp_gplace place[MANY];
  int64_t num[MANY], sum = 0, got[MANY];
  tp_buf_init(&t);
  tp_puts(&t, "KERNEL many(");
  for (int i = 0; i < MANY; i++) tp_putf(&t, "PLACED(i64, p%d), ", i);
  for (int i = 0; i < MANY; i++) tp_putf(&t, "%si64 n%d", i ? ", " : "", i);
  tp_puts(&t, ") {\n  i64 s = 0;\n");
  for (int i = 0; i < MANY; i++) tp_putf(&t, "  s = s * 3 + n%d;\n  *AT(i64, p%d) = s;\n", i, i);
  tp_puts(&t, "}\n");
  tp_gmem *m = of->take(dev, sizeof got, false, &err);
  tp_gmodule *b = build(t.s);
  const tp_gkernel *k = b ? of->kernel(b, "many", &err) : NULL;
  tp_buf_free(&t);
  for (int i = 0; i < MANY; i++)
    place[i] = (tp_gplace){ m, 8 * (MANY - 1 - i) }, num[i] = ((int64_t)i << 22) - i;
  const tp_glaunch l = { k, 1, 1, MANY, place, MANY, num, false };
  if (!CHECK(well(m && k && of->launch(queue, &l, &err)))) return;
  CHECK(well(of->get(queue, got, (tp_gplace){ m, 0 }, sizeof got, &err)));
  for (int i = 0; i < MANY; i++)
    sum = sum * 3 + num[i], CHECKF(got[MANY - 1 - i] == sum, "number %d", i);
  int64_t *beyond = calloc((size_t)of->spec(dev)->parameters, 8);
  const tp_glaunch more = { k, 1, 1, 0, NULL, of->spec(dev)->parameters / 8 + 1, beyond, false };
  CHECK(!of->launch(queue, &more, &err) && says(TP_E_DEVICE, "parameters"));
  free(beyond);
  of->drop(m);
}

static void refused(void) {
  CHECK(!build("KERNEL bad(PLACED(int, p)) { *AT(int, p) = unknown_name; }\n") &&
      says(TP_E_DEVICE, "unknown_name"));
  CHECK(!build("this is no kernel\n") && says(TP_E_DEVICE, "refuses a kernel"));
  CHECK(well(build(twice) != NULL));
}

/* ---- marks, pieces ---- */

/* A chain over two queues: each turn reads what the other has made. */
static void two_queues(void) {
  int32_t in[N], out[N];
  tp_gqueue *other = of->queue(dev, &err);
  tp_gmem *a = of->take(dev, sizeof in, false, &err), *b = of->take(dev, sizeof in, false, &err);
  tp_gmodule *m = build(twice);
  const tp_gkernel *k = m ? of->kernel(m, "twice", &err) : NULL;
  tp_gmark *first = NULL, *second = NULL;
  if (!CHECK(well(other && a && b && k))) return;
  for (int i = 0; i < N; i++) in[i] = i;
  CHECK(well(of->put(queue, (tp_gplace){ a, 0 }, in, sizeof in, &err)));
  for (int turn = 0; turn < 8; turn++) {
    CHECK(well(run_twice(queue, k, b, 0, a, 0, N, 1)));
    CHECK(well((first = of->mark(queue, first, &err)) && of->after(other, first, &err)));
    CHECK(well(run_twice(other, k, a, 0, b, 0, N, 0)));
    CHECK(well((second = of->mark(other, second, &err)) && of->after(queue, second, &err)));
  }
  CHECK(well(of->reached(second, true, &err) == 1 && of->reached(first, false, &err) == 1));
  CHECK(well(of->get(queue, out, (tp_gplace){ a, 0 }, sizeof out, &err)));
  int wrong = 0;
  for (int i = 0; i < N; i++) {
    int32_t want = in[i];
    for (int turn = 0; turn < 8; turn++) want = (int32_t)(4u * (uint32_t)want + 2u);
    wrong += out[i] != want;
  }
  CHECKF(wrong == 0, "%d", wrong);
  of->drop(a), of->drop(b);
}

/* Columns of a matrix become rows behind each other, and a column of another. */
static void lines(void) {
  enum { ROWS = 7, COLUMNS = 5 };
  int32_t in[ROWS * COLUMNS], out[ROWS * COLUMNS];
  tp_gmem *a = of->take(dev, sizeof in, false, &err), *b = of->take(dev, sizeof in, false, &err);
  if (!CHECK(well(a && b))) return;
  for (int i = 0; i < ROWS * COLUMNS; i++) in[i] = i;
  CHECK(well(of->put(queue, (tp_gplace){ a, 0 }, in, sizeof in, &err) &&
      of->put(queue, (tp_gplace){ b, 0 }, in, sizeof in, &err)));
  CHECK(well(
      of->lines(queue, (tp_gplace){ b, 4 }, 8, (tp_gplace){ a, 8 }, 4 * COLUMNS, 8, ROWS, &err)));
  CHECK(well(of->get(queue, out, (tp_gplace){ b, 0 }, sizeof out, &err)));
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    int k = i - 1, want = k >= 0 && k < 2 * ROWS ? k / 2 * COLUMNS + 2 + k % 2 : i;
    CHECKF(out[i] == want, "%d: %d", i, out[i]);
  }
  CHECK(well(of->lines(queue, (tp_gplace){ b, 0 }, 8, (tp_gplace){ a, 0 }, 8, 0, 3, &err)));
  of->drop(a), of->drop(b);
}

/* c = a b by cuBLAS where there is one; turned and added to, rows apart */
static void products(void) {
  enum { M = 130, K = 140, L = 150, PAD = 3 };
  float *a = calloc(K * (M + PAD), 4), *b = calloc(K * (L + PAD), 4), *c = calloc(M * (L + PAD), 4);
  tp_gmem *da = of->take(dev, K * (M + PAD) * 4, false, &err),
          *db = of->take(dev, K * (L + PAD) * 4, false, &err),
          *dc = of->take(dev, M * (L + PAD) * 4, false, &err);
  bool did = true;
  if (!CHECK(well(a && b && c && da && db && dc))) return;
  for (int i = 0; i < K * (M + PAD); i++) a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < K * (L + PAD); i++) b[i] = (float)(i % 5 - 2);
  for (int i = 0; i < M * (L + PAD); i++) c[i] = (float)(i % 3);
  CHECK(well(of->put(queue, (tp_gplace){ da, 0 }, a, K * (M + PAD) * 4, &err) &&
      of->put(queue, (tp_gplace){ db, 0 }, b, K * (L + PAD) * 4, &err) &&
      of->put(queue, (tp_gplace){ dc, 0 }, c, M * (L + PAD) * 4, &err)));
  const tp_gproduct p = { TP_F32, TP_F32, M, L, K, 1, M + PAD, L + PAD, L + PAD, 0, 0, 0, true,
    false, true, { da, 0 }, { db, 0 }, { dc, 0 } };
  CHECK(well(of->product(queue, &p, &did, &err)));
  if (!did) fprintf(stderr, "# %s: products are not a library's here\n", of->name);
  float *got = calloc(M * (L + PAD), 4);
  CHECK(well(of->get(queue, got, (tp_gplace){ dc, 0 }, M * (L + PAD) * 4, &err)));
  int wrong = 0;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < L + PAD; j++) {
      float want = c[i * (L + PAD) + j];
      for (int k = 0; k < K && did && j < L; k++)
        want += a[k * (M + PAD) + i] * b[k * (L + PAD) + j];
      wrong += got[i * (L + PAD) + j] != want;
    }
  CHECKF(wrong == 0, "%d", wrong);
  const tp_gproduct small = { TP_F32, TP_F32, 4, 4, 4, 1, 4, 4, 4, 0, 0, 0, false, false, false,
    { da, 0 }, { db, 0 }, { dc, 0 } };
  CHECK(well(of->product(queue, &small, &did, &err)) && !did);
  free(a), free(b), free(c), free(got);
  of->drop(da), of->drop(db), of->drop(dc);
}

/* Each request of ours that fails is an error, and nothing is lost. */
static void failing_requests(void) {
  for (long n = 1; n < 200; n++) {
    tp_fail_alloc(n);
    tp_gdev *d = of->open(0, &err);
    tp_gqueue *q = d ? of->queue(d, &err) : NULL;
    tp_gmem *m = q ? of->take(d, 64, n % 2, &err) : NULL;
    tp_gmark *k = m ? of->mark(q, NULL, &err) : NULL;
    of->close(d);
    bool came = tp_fail_alloc(0);
    if (!came) {
      CHECK(well(k != NULL));
      return;
    }
    if (!k && !CHECKF(err.code == TP_E_MEMORY || err.code == TP_E_DEVICE, "request %ld", n)) return;
    err = (tp_error){ 0 };
  }
}

/* A kernel leaves its memory, which the tests' device notices: all that is open there is lost, and
 * what is opened after that is not. */
static void lost_device(void) {
  if (strncmp(of->spec(dev)->name, "tempo emulator", 14)) return;
  tp_gmem *a = of->take(dev, 400, false, &err), *b = of->take(dev, 400, false, &err);
  tp_gmodule *m = build(twice);
  const tp_gkernel *k = m ? of->kernel(m, "twice", &err) : NULL;
  if (!CHECK(well(a && b && k && of->fill(queue, (tp_gplace){ a, 0 }, 0, 400, &err)))) return;
  CHECK(well(run_twice(queue, k, b, 4000000, a, 0, 64, 0)));
  tp_gmark *mark = of->mark(queue, NULL, &err);
  CHECK(well(mark != NULL) && of->reached(mark, true, &err) == -1 && says(TP_E_DEVICE, "is lost"));
  CHECK(of->lost(dev));
  tp_gdev *again = of->open(0, &err);
  CHECK(well(again != NULL) && !of->lost(again) && of->lost(dev));
  of->close(again);
}

/* ---- errors without libraries ---- */

static void without_libraries(void) {
  tp_gspec s;
  tp_buf why;
  setenv("TEMPO_CUDA", "/nonexistent/libcuda.so.1", 1);
  setenv("TEMPO_OPENCL", "/nonexistent/libOpenCL.so.1", 1);
  for (int k = 0; k < 2; k++) {
    const tp_gdriver *d = k ? &tp_opencl : &tp_cuda;
    tp_buf_init(&why);
    CHECK(d->find(0, &s, &why) == 0 && why.n && strstr(why.s, "cannot be opened"));
    CHECK(!strchr(why.s, '\n'));
    tp_buf_free(&why);
    CHECK(!d->open(0, &err) && says(TP_E_DEVICE, "/nonexistent/"));
  }
}

/* Another library in its place lacks functions. */
static void other_libraries(void) {
  setenv("TEMPO_CUDA", "libm.so.6", 1);
  CHECK(!tp_cuda.open(0, &err) && says(TP_E_DEVICE, "libm.so.6 is too old: it has no cuInit"));
  setenv("TEMPO_OPENCL", "libm.so.6", 1);
  CHECK(!tp_opencl.open(0, &err) && says(TP_E_DEVICE, "libm.so.6 is too old: it has no cl"));
}

static void restore(const char *name, const char *was) {
  if (was) setenv(name, was, 1);
  else unsetenv(name);
}

static void on_device(const tp_gdriver *driver) {
  tp_gspec s = { 0 };
  tp_buf why;
  tp_buf_init(&why);
  of = driver;
  int n = of->find(0, &s, &why);
  if (n == 0 || why.n) {
    fprintf(stderr, "# %s: left out: %s\n", of->name, why.n ? why.s : "no device");
    tp_buf_free(&why);
    return;
  }
  tp_buf_free(&why);
  fprintf(stderr, "# %s: %s (%s)\n", of->name, s.name, s.arch);
  CHECK(s.f64 && s.units > 0 && s.threads >= THREADS && s.memory >= s.most && s.most > 0);
  CHECK(!of->open(n, &err) && says(TP_E_DEVICE, "there is no device"));
  dev = of->open(0, &err);
  queue = dev ? of->queue(dev, &err) : NULL;
  if (!CHECK(well(queue != NULL))) return;
  CHECK(!strcmp(of->spec(dev)->name, s.name));
  copies();
  too_much();
  launches();
  many_parameters();
  refused();
  two_queues();
  lines();
  products();
  lost_device();
  of->close(dev);
  failing_requests();
}

int main(void) {
  char cuda[1024] = "", opencl[1024] = "", folder[] = "/tmp/tempo-gpu-XXXXXX", command[64];
  const char *a = getenv("TEMPO_CUDA"), *b = getenv("TEMPO_OPENCL");
  if (a) a = strncpy(cuda, a, sizeof cuda - 1);
  if (b) b = strncpy(opencl, b, sizeof opencl - 1);
  CHECK(mkdtemp(folder) != NULL);
  setenv("TEMPO_CACHE", folder, 1);
  without_libraries();
  other_libraries();
  restore("TEMPO_CUDA", a);
  restore("TEMPO_OPENCL", b);
  on_device(&tp_opencl);
  on_device(&tp_cuda);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
  return check_report();
}
