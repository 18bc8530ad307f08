/* blas.c: opens OpenBLAS at run time. It reads its environment while it is loaded:
 * OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE may be another processor's, and without them a processor
 * newer than the library gets kernels of 2004 (a seventh of the speed). So we name the core by its
 * instructions for that moment. It gets one thread: teams share the work. */
#include "cpu/priv.h"
#include "os/os.h"
#include <pthread.h>
#include <stdlib.h>

static tp_blas blas;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static char *hide(const char *name) {
  const char *v = getenv(name);
  char *kept = v ? strdup(v) : NULL;
  tp_os_setenv(name, NULL);
  return kept;
}

static void restore(const char *name, char *kept) {
  tp_os_setenv(name, kept);
  free(kept);
}

/* NULL: let it decide. */
static const char *core_name(void) {
  const char *isa = tp_kernels_get()->isa;
  return !strcmp(isa, "avx512") ? "SkylakeX" : !strcmp(isa, "avx2") ? "Haswell" : NULL;
}

static void *open_library(void) {
  static const char *const names[] = { "libopenblas.so.0", "libopenblas.so", "libopenblas.dylib" };
  void *lib = NULL;
  char *core = hide("OPENBLAS_CORETYPE"), *l2 = hide("OPENBLAS_L2_SIZE"),
       *threads = hide("OPENBLAS_NUM_THREADS");
  tp_os_setenv("OPENBLAS_NUM_THREADS", "1");
  if (core_name()) tp_os_setenv("OPENBLAS_CORETYPE", core_name());
  for (size_t i = 0; i < TP_LEN(names) && !lib; i++) lib = tp_os_open(names[i]);
  restore("OPENBLAS_CORETYPE", core);
  restore("OPENBLAS_L2_SIZE", l2);
  restore("OPENBLAS_NUM_THREADS", threads);
  return lib;
}

static void find(void *lib, const char *name, void *fn) {
  void *p = tp_os_symbol(lib, name);
  memcpy(fn, &p, sizeof p);
}

static void open_once(void) {
  const char *off = tp_setting("TEMPO_BLAS");
  if (off && !strcmp(off, "none")) return;
  void *lib = open_library();
  if (!lib) return;
  find(lib, "cblas_sgemm", &blas.sgemm);
  find(lib, "cblas_dgemm", &blas.dgemm);
  find(lib, "cblas_sgemv", &blas.sgemv);
  find(lib, "cblas_dgemv", &blas.dgemv);
}

const tp_blas *tp_blas_get(void) {
  pthread_once(&once, open_once);
  return &blas;
}
