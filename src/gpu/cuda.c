/* cuda: NVIDIA's devices by the driver API, NVRTC and cuBLAS (cuda.def), opened at run time. A
 * device is a card's primary context, which all of the process share: a fault ends it for all of
 * them. The next that is opened begins it anew; what was made in the one before is gone, and no
 * call with that reaches the driver (is_stale).
 *
 * Kernels are compiled for the card's architecture. PTX is made where NVRTC does not know that, and
 * for the tests' own device, whose name begins with "tempo emulator". */
#include "gpu/priv.h"
#include <limits.h>
#include <pthread.h>

enum {
  CUDA_LEAST = 12000, /* version of the driver */
  CUDA_CARDS = 64,
  CUDA_WORKSPACE = 32 << 20, /* bytes for cuBLAS: its advice for the largest cards */
  CUDA_PARAMETERS = 4096,    /* bytes, which every version takes */
  CUDA_NO_MEMORY = 2,
  CUDA_NOT_READY = 600,
  CUDA_DESTROYED = 709,
  /* of cuBLAS: sums in that type; no TF32, no sums of f16 in f16 */
  CUBLAS_F32 = 68,
  CUBLAS_F64 = 70,
  CUBLAS_WHOLE = 16
};

/* CUDA_MEMCPY2D */
typedef struct {
  size_t from_x, from_y;
  int from_kind;
  const void *from_host;
  uint64_t from;
  void *from_array;
  size_t from_step, to_x, to_y;
  int to_kind;
  void *to_host;
  uint64_t to;
  void *to_array;
  size_t to_step, bytes, n;
} cuda_lines2d;

static struct {
#define C(name, text, args) int(*name) args;
#include "gpu/cuda.def"
} cu;
static struct {
#define N(name, text, args) int(*name) args;
#include "gpu/cuda.def"
} rtc;
static struct {
#define B(name, text, args) int(*name) args;
#include "gpu/cuda.def"
} blas;
static const char *const cuda_names[] = {
#define C(name, text, args) text,
#include "gpu/cuda.def"
};
static const char *const nvrtc_names[] = {
#define N(name, text, args) text,
#include "gpu/cuda.def"
};
static const char *const cublas_names[] = {
#define B(name, text, args) text,
#include "gpu/cuda.def"
};

/* Under cuda_lock: which libraries are open, the driver's version (13000), NVRTC's (13, 0) and the
 * architectures that it knows; by card, whether it was lost, and how often it began anew. */
static pthread_mutex_t cuda_lock = PTHREAD_MUTEX_INITIALIZER;
static bool has_cuda, has_nvrtc, has_cublas;
static int driver_version, nvrtc_major, nvrtc_minor, narch, archs[CUDA_CARDS];
static struct {
  _Atomic int began;
  _Atomic bool lost;
} cards[CUDA_CARDS];

typedef struct {
  tp_gdev is;
  int card, began;
  void *context;
} cuda_dev;

static cuda_dev *cuda_of(const tp_gthing *x) { return (cuda_dev *)x->dev; }
static bool is_stale(const cuda_dev *d) { return d->began != cards[d->card].began; }

static bool cuda_lost(const tp_gdev *gd) {
  const cuda_dev *d = (const cuda_dev *)gd;
  return is_stale(d) || cards[d->card].lost;
}

/* ---- errors ---- */

/* Does the context fail at whatever comes after this error? */
static bool cuda_loses(int rc) {
  return rc == 214 || rc == 220 || rc == 700 || rc == 702 || rc == 709 || rc == 710 ||
      (rc >= 714 && rc <= 719);
}

static void cuda_put(tp_buf *b, int rc, const char *call) {
  const char *name = NULL, *text = NULL;
  cu.GetErrorName(rc, &name);
  cu.GetErrorString(rc, &text);
  tp_putf(b, "%s: %s%s%s%s", call, name ? name : "an unknown error", text ? " (" : "",
      text ? text : "", text ? ")" : "");
}

static bool cuda_did(cuda_dev *d, int rc, const char *call, tp_error *err) {
  if (rc == 0) return true;
  tp_buf said;
  tp_buf_init(&said);
  cuda_put(&said, rc, call);
  if (cuda_loses(rc) && !is_stale(d)) cards[d->card].lost = true;
  tp_fail(err, rc == CUDA_NO_MEMORY ? TP_E_MEMORY : TP_E_DEVICE, TP_NOWHERE, "%s%s: %s",
      d->is.spec.name, cuda_loses(rc) ? " is lost" : "", said.s ? said.s : call);
  tp_buf_free(&said);
  return false;
}

/* Calls a function of libcuda in the device's context: contexts are current by thread. */
#define CUDA_CALL(d, name, ...) \
  (is_stale(d) ? CUDA_DESTROYED : (cu.CtxSetCurrent((d)->context), cu.name(__VA_ARGS__)))
#define CUDA_DO(d, err, name, ...) cuda_did(d, CUDA_CALL(d, name, __VA_ARGS__), "cu" #name, err)

/* ---- libraries ---- */

static bool cuda_open_driver(tp_buf *why) {
  const char *own = tp_setting("TEMPO_CUDA"), *names[] = { own ? own : "libcuda.so.1", NULL };
  const tp_gfolder anywhere = { NULL, NULL };
  if (has_cuda) return true;
  void *lib = tp_gpu_open(names, 1, &anywhere, why);
  if (!lib || !tp_gpu_functions(names[0], lib, TP_LEN(cuda_names), cuda_names, &cu, why))
    return tp_puts(why, own ? " (TEMPO_CUDA)" : ": install NVIDIA's driver, 525 or newer"), false;
  int rc = cu.Init(0);
  if (rc) return cuda_put(why, rc, "cuInit"), false;
  if (cu.DriverGetVersion(&driver_version)) driver_version = 0;
  if (driver_version >= CUDA_LEAST) return has_cuda = true;
  tp_putf(why, "NVIDIA's driver is one for CUDA %d.%d: install one for CUDA 12.0 or newer",
      driver_version / 1000, driver_version % 1000 / 10);
  return false;
}

/* The places of NVRTC and cuBLAS in wheels of PyPI and in the toolkit. */
#define WHEELS "/lib/python3*/*-packages/nvidia/*/lib"
static const tp_gfolder toolkit[] = { { NULL, NULL }, { "VIRTUAL_ENV", WHEELS },
  { "CONDA_PREFIX", WHEELS }, { "CONDA_PREFIX", "/lib" }, { "HOME", "/.local" WHEELS },
  { NULL, "/usr/local" WHEELS }, { NULL, "/usr" WHEELS }, { "CUDA_HOME", "/lib64" },
  { NULL, "/usr/local/cuda/lib64" }, { NULL, "/opt/cuda/lib64" } };

/* Opens a library of the toolkit, "libnvrtc" or "libcublas", of the driver's version first. A
 * folder that TEMPO_CUDA_LIBS names is in place of all others; before these comes TEMPO_CUDA's if
 * there may be one beside it. */
static void *cuda_open_part(const char *stem, bool beside, tp_buf *why) {
  const char *own = tp_setting("TEMPO_CUDA"), *slash = own ? strrchr(own, '/') : NULL;
  char newer[32], older[32], dir[TP_CACHE_PATH];
  bool old = driver_version < 13000;
  const char *names[] = { old ? older : newer, old ? newer : older, NULL };
  void *lib = NULL;
  snprintf(newer, sizeof newer, "%s.so.13", stem);
  snprintf(older, sizeof older, "%s.so.12", stem);
  if (beside && slash) {
    snprintf(dir, sizeof dir, "%.*s", (int)TP_MIN(slash - own, TP_CACHE_PATH - 1), own);
    lib = tp_gpu_open(names, 1, &(tp_gfolder){ NULL, dir }, why);
    if (lib) return lib;
    tp_buf_free(why);
  }
  if (!tp_setting("TEMPO_CUDA_LIBS")) return tp_gpu_open(names, TP_LEN(toolkit), toolkit, why);
  return tp_gpu_open(names, 1, &(tp_gfolder){ "TEMPO_CUDA_LIBS", "" }, why);
}

static bool cuda_open_nvrtc(tp_buf *why) {
  if (has_nvrtc) return true;
  void *lib = cuda_open_part("libnvrtc", false, why);
  if (lib && tp_gpu_functions("libnvrtc", lib, TP_LEN(nvrtc_names), nvrtc_names, &rtc, why))
    has_nvrtc = rtc.Version(&nvrtc_major, &nvrtc_minor) == 0 &&
        rtc.GetNumSupportedArchs(&narch) == 0 && narch <= CUDA_CARDS &&
        rtc.GetSupportedArchs(archs) == 0;
  if (!has_nvrtc)
    tp_puts(why,
        ": install NVRTC, CUDA's compiler, 12 or newer (pip install nvidia-cuda-nvrtc), or let "
        "TEMPO_CUDA_LIBS name its folder");
  return has_nvrtc;
}

/* Under the lock as well. No product needs it. */
static bool cuda_open_cublas(void) {
  tp_buf why;
  pthread_mutex_lock(&cuda_lock);
  tp_buf_init(&why);
  void *lib = has_cublas ? NULL : cuda_open_part("libcublas", true, &why);
  if (lib)
    has_cublas =
        tp_gpu_functions("libcublas", lib, TP_LEN(cublas_names), cublas_names, &blas, &why);
  tp_buf_free(&why);
  pthread_mutex_unlock(&cuda_lock);
  return has_cublas;
}

/* ---- devices ---- */

static int cuda_attribute(int device, int which) {
  int v = 0;
  return cu.DeviceGetAttribute(&v, which, device) ? 0 : v;
}

static bool is_emulator(const tp_gspec *s) { return !strncmp(s->name, "tempo emulator", 14); }

/* The device's own architecture, or else the newest below it that NVRTC knows, whose PTX the driver
 * compiles. */
static void cuda_choose_arch(tp_gspec *to, int want, tp_buf *why) {
  int best = 0;
  for (int i = 0; i < narch; i++)
    if (archs[i] <= want) best = TP_MAX(best, archs[i]);
  if (is_emulator(to)) best = 90;
  bool own = best == want && !is_emulator(to);
  snprintf(to->arch, sizeof to->arch, own ? "sm_%d" : "compute_%d", best);
  if (!best)
    tp_putf(why, "NVRTC %d.%d makes no code for %s (sm_%d): install NVRTC 12", nvrtc_major,
        nvrtc_minor, to->name, want);
}

static void cuda_describe(int device, tp_gspec *to, tp_buf *why) {
  size_t bytes = 0;
  *to = (tp_gspec){ .f64 = true, .i64_atomics = true, .ieee = true, .pointers = true };
  cu.DeviceGetName(to->name, sizeof to->name, device);
  cu.DeviceTotalMem(&bytes, device);
  to->memory = to->most = (int64_t)bytes;
  to->threads = cuda_attribute(device, 1);
  to->local = cuda_attribute(device, 8);
  to->warp = cuda_attribute(device, 10);
  to->units = cuda_attribute(device, 16);
  to->together = cuda_attribute(device, 95);
  to->parameters = CUDA_PARAMETERS;
  if (cuda_open_nvrtc(why))
    cuda_choose_arch(to, 10 * cuda_attribute(device, 75) + cuda_attribute(device, 76), why);
}

static int cuda_find(int which, tp_gspec *to, tp_buf *why) {
  int n = 0, device, rc;
  pthread_mutex_lock(&cuda_lock);
  if (cuda_open_driver(why)) {
    if ((rc = cu.DeviceGetCount(&n))) n = 0, cuda_put(why, rc, "cuDeviceGetCount");
    else if (n == 0) tp_puts(why, "the driver finds no device");
    n = TP_MIN(n, CUDA_CARDS);
    if (which < n) {
      if ((rc = cu.DeviceGet(&device, which))) cuda_put(why, rc, "cuDeviceGet");
      else cuda_describe(device, to, why);
    }
  }
  pthread_mutex_unlock(&cuda_lock);
  return n;
}

static void cuda_release(tp_gthing *x) {
  cuda_dev *d = cuda_of(x);
  if (is_stale(d)) return;
  cu.CtxSetCurrent(d->context);
  switch (x->kind) {
  case TP_G_MARK: cu.EventDestroy(x->handle); break;
  case TP_G_MODULE: cu.ModuleUnload(x->handle); break;
  case TP_G_QUEUE:
    cu.StreamSynchronize(x->handle);
    if (((tp_gqueue *)x)->blas) blas.Destroy(((tp_gqueue *)x)->blas);
    cu.StreamDestroy(x->handle);
    break;
  case TP_G_MEM:
    for (tp_gthing *q = x->dev->made[TP_G_QUEUE]; q; q = q->next) cu.StreamSynchronize(q->handle);
    if (((tp_gmem *)x)->host || ((tp_gmem *)x)->far) cu.MemFreeHost(x->handle);
    else cu.MemFree((uint64_t)(uintptr_t)x->handle);
    break;
  default: break;
  }
}

static void cuda_close(tp_gdev *gd) {
  cuda_dev *d = (cuda_dev *)gd;
  int device;
  if (!d) return;
  tp_gpu_drop_all(gd);
  if (cu.DeviceGet(&device, d->card) == 0) cu.DevicePrimaryCtxRelease(device);
  tp_free(d);
}

/* A card that was lost begins anew. */
static int cuda_retain(cuda_dev *d) {
  int device;
  pthread_mutex_lock(&cuda_lock);
  int rc = cu.DeviceGet(&device, d->card);
  if (!rc && cards[d->card].lost && !(rc = cu.DevicePrimaryCtxReset(device))) {
    cards[d->card].lost = false;
    cards[d->card].began++;
  }
  d->began = cards[d->card].began;
  if (!rc) rc = cu.DevicePrimaryCtxRetain(&d->context, device);
  pthread_mutex_unlock(&cuda_lock);
  return rc;
}

static tp_gdev *cuda_open(int which, tp_error *err) {
  cuda_dev *d = (cuda_dev *)tp_gpu_opened(&tp_cuda, which, sizeof *d, err);
  if (!d) return NULL;
  d->is.release = cuda_release;
  d->card = which;
  if (cuda_did(d, cuda_retain(d), "cuDevicePrimaryCtxRetain", err)) return &d->is;
  tp_free(d);
  return NULL;
}

/* ---- memory ---- */

static int64_t cuda_left(tp_gdev *d) {
  size_t left = 0, all = 0;
  int rc = CUDA_CALL((cuda_dev *)d, MemGetInfo, &left, &all);
  return rc ? d->spec.memory : (int64_t)left;
}

static tp_gmem *cuda_take(tp_gdev *gd, int64_t bytes, tp_gside side, tp_error *err) {
  cuda_dev *d = (cuda_dev *)gd;
  tp_gmem *m = tp_gpu_make(gd, TP_G_MEM, sizeof *m, err);
  uint64_t p = 0;
  int rc;
  if (!m) return NULL;
  size_t n = (size_t)TP_MAX(bytes, 1);
  m->far = side == TP_G_FAR;
  if (side == TP_G_PINNED)
    rc = CUDA_CALL(d, MemAllocHost, &m->is.handle, n), m->host = m->is.handle;
  else if (m->far) rc = CUDA_CALL(d, MemHostAlloc, &m->is.handle, n, 1 | 2); /* for all, mapped */
  else rc = CUDA_CALL(d, MemAlloc, &p, n), m->is.handle = (void *)(uintptr_t)p;
  m->bytes = bytes;
  if (rc == 0) return m;
  m->is.handle = NULL;
  if (rc == CUDA_NO_MEMORY) tp_gpu_no_room(gd, bytes, side, err);
  else cuda_did(d, rc, side != TP_G_NEAR ? "cuMemAllocHost" : "cuMemAlloc", err);
  return tp_gpu_drop(m);
}

static uint64_t cuda_place(tp_gplace p) {
  return p.mem ? (uint64_t)(uintptr_t)p.mem->is.handle + (uint64_t)p.off : 0;
}

static char *cuda_host_place(tp_gplace p) { return p.mem->host + p.off; }

static bool cuda_copy(tp_gqueue *q, tp_gplace to, tp_gplace from, int64_t bytes, tp_error *err) {
  cuda_dev *d = cuda_of(&q->is);
  size_t n = (size_t)bytes;
  if (!n) return true;
  if (to.mem->host)
    return CUDA_DO(d, err, MemcpyDtoH, cuda_host_place(to), cuda_place(from), n, q->is.handle);
  if (from.mem->host)
    return CUDA_DO(d, err, MemcpyHtoD, cuda_place(to), cuda_host_place(from), n, q->is.handle);
  return CUDA_DO(d, err, MemcpyDtoD, cuda_place(to), cuda_place(from), n, q->is.handle);
}

static bool cuda_lines(tp_gqueue *q, tp_gplace to, int64_t to_step, tp_gplace from,
    int64_t from_step, int64_t bytes, int64_t n, tp_error *err) {
  const cuda_lines2d l = { .from_kind = 2,
    .from = cuda_place(from),
    .from_step = (size_t)from_step,
    .to_kind = 2,
    .to = cuda_place(to),
    .to_step = (size_t)to_step,
    .bytes = (size_t)bytes,
    .n = (size_t)n }; /* 2: of the device */
  return !bytes || !n || CUDA_DO(cuda_of(&q->is), err, Memcpy2D, &l, q->is.handle);
}

static bool cuda_wait(tp_gqueue *q, tp_error *err) {
  return CUDA_DO(cuda_of(&q->is), err, StreamSynchronize, q->is.handle);
}

static bool cuda_put_in(
    tp_gqueue *q, tp_gplace to, const void *from, int64_t bytes, tp_error *err) {
  return !bytes ||
      (CUDA_DO(
           cuda_of(&q->is), err, MemcpyHtoD, cuda_place(to), from, (size_t)bytes, q->is.handle) &&
          cuda_wait(q, err));
}

static bool cuda_get(tp_gqueue *q, void *to, tp_gplace from, int64_t bytes, tp_error *err) {
  return !bytes ||
      (CUDA_DO(
           cuda_of(&q->is), err, MemcpyDtoH, to, cuda_place(from), (size_t)bytes, q->is.handle) &&
          cuda_wait(q, err));
}

static bool cuda_fill(tp_gqueue *q, tp_gplace to, int byte, int64_t bytes, tp_error *err) {
  return !bytes ||
      CUDA_DO(cuda_of(&q->is), err, MemsetD8, cuda_place(to), (unsigned char)byte, (size_t)bytes,
          q->is.handle);
}

/* ---- kernels ---- */

static tp_gmodule *cuda_load(tp_gdev *gd, const char *image, size_t n, tp_error *err) {
  cuda_dev *d = (cuda_dev *)gd;
  char log[2048] = "";
  int option[] = { 5, 6 }; /* the buffer for errors, its size */
  void *value[] = { log, (void *)(uintptr_t)(sizeof log - 1) };
  tp_gmodule *m = tp_gpu_make(gd, TP_G_MODULE, sizeof *m, err);
  int rc = m ? CUDA_CALL(d, ModuleLoadData, &m->is.handle, image, 2, option, value) : 0;
  if (!m || rc == 0) return m;
  m->is.handle = NULL;
  if (rc == 209 || rc == 218 || rc == 222) { /* no code for it, not valid, too new */
    tp_fail(err, TP_E_DEVICE, TP_NOWHERE,
        "the driver of %s, one for CUDA %d.%d, does not take what NVRTC %d.%d made for %s: "
        "install a newer driver, or NVRTC %d",
        gd->spec.name, driver_version / 1000, driver_version % 1000 / 10, nvrtc_major, nvrtc_minor,
        gd->spec.arch, driver_version / 1000);
    if (*log) tp_note(err, "%.*s", (int)strcspn(log, "\n"), log);
  } else cuda_did(d, rc, "cuModuleLoadDataEx", err);
  return tp_gpu_drop(m);
}

/* Puts NVRTC's image, which a 0 ends; false: it refused the text. */
static bool nvrtc_compile(
    const tp_gdev *d, const char *text, int n, const char *const *options, tp_buf *image) {
  bool ptx = *d->spec.arch == 'c';
  void *p = NULL;
  char *room = NULL;
  size_t size = 0;
  if (rtc.CreateProgram(&p, text, "kernels.cu", 0, NULL, NULL)) return false;
  bool ok = rtc.CompileProgram(p, n, options) == 0;
  int rc = !ok ? rtc.GetProgramLogSize(p, &size)
      : ptx    ? rtc.GetPTXSize(p, &size)
               : rtc.GetCUBINSize(p, &size);
  if (rc == 0 && (room = tp_calloc(size + 1)))
    rc = !ok ? rtc.GetProgramLog(p, room) : ptx ? rtc.GetPTX(p, room) : rtc.GetCUBIN(p, room);
  if (room && rc == 0) tp_putn(image, room, size);
  tp_putn(image, "", 1);
  tp_free(room);
  rtc.DestroyProgram(&p);
  return ok && rc == 0 && !image->failed;
}

static tp_gmodule *cuda_build(tp_gdev *d, const char *text, tp_error *err) {
  char arch[48], name[33];
  bool lines = is_emulator(&d->spec) || tp_setting("TEMPO_CHECK");
  const char *options[] = { arch, "--fmad=false", "-lineinfo" };
  int n = lines ? 3 : 2;
  int64_t version[] = { nvrtc_major, nvrtc_minor };
  uint64_t h = tp_hash(version, sizeof version, 0);
  tp_gmodule *m = NULL;
  tp_buf image;
  snprintf(arch, sizeof arch, "-arch=%s", d->spec.arch);
  for (int i = 0; i < n; i++) h = tp_hash(options[i], strlen(options[i]) + 1, h);
  tp_cache_name(name, text, strlen(text), h);
  if ((m = tp_gpu_cached(d, name, cuda_load))) return m;
  tp_buf_init(&image);
  if (!nvrtc_compile(d, text, n, options, &image))
    tp_gpu_refused(d, "NVRTC", image.n ? image.s : "", err);
  else if ((m = cuda_load(d, image.s, image.n, err))) tp_cache_put(name, ".gpu", &image);
  tp_buf_free(&image);
  return m;
}

static const tp_gkernel *cuda_kernel(tp_gmodule *m, const char *name, tp_error *err) {
  tp_gkernel *k = tp_gpu_make(m->is.dev, TP_G_KERNEL, sizeof *k, err);
  int registers;
  /* code is loaded when a function is first asked about: now, not in the middle of a run */
  if (!k ||
      (CUDA_DO(cuda_of(&m->is), err, ModuleGetFunction, &k->is.handle, m->is.handle, name) &&
          CUDA_DO(cuda_of(&m->is), err, FuncGetAttribute, &registers, 4, k->is.handle)))
    return k;
  k->is.handle = NULL;
  return tp_gpu_drop(k);
}

static void cuda_needs(const tp_gkernel *k, int threads, tp_gneeds *to) {
  cuda_dev *d = cuda_of(&k->is);
  int local = 0, blocks = 0;
  *to = (tp_gneeds){ -1, -1, -1, -1 };
  if (CUDA_CALL(d, FuncGetAttribute, &to->registers, 4, k->is.handle)) to->registers = -1;
  if (CUDA_CALL(d, FuncGetAttribute, &to->spilled, 3, k->is.handle)) to->spilled = -1;
  if (!CUDA_CALL(d, FuncGetAttribute, &local, 1, k->is.handle)) to->local = local;
  if (!CUDA_CALL(d, Occupancy, &blocks, k->is.handle, threads, 0))
    to->fit = blocks * d->is.spec.units;
}

static tp_gqueue *cuda_queue(tp_gdev *d, tp_error *err) {
  tp_gqueue *q = tp_gpu_make(d, TP_G_QUEUE, sizeof *q, err);
  /* 1: it does not wait for the stream that others use */
  if (!q || CUDA_DO((cuda_dev *)d, err, StreamCreate, &q->is.handle, 1)) return q;
  q->is.handle = NULL;
  return tp_gpu_drop(q);
}

static bool cuda_launch(tp_gqueue *q, const tp_glaunch *l, tp_error *err) {
  enum { MOST = CUDA_PARAMETERS / 8 };
  uint64_t value[MOST];
  void *parameter[MOST];
  int n = 0;
  if (!tp_gpu_fits(q->is.dev, l, err)) return false;
  for (int i = 0; i < l->nplace; i++) value[n++] = cuda_place(l->place[i]);
  for (int i = 0; i < l->nnum; i++) value[n++] = (uint64_t)l->num[i];
  for (int i = 0; i < n; i++) parameter[i] = &value[i];
  if (l->together)
    return CUDA_DO(cuda_of(&q->is), err, LaunchTogether, l->kernel->is.handle, (unsigned)l->blocks,
        1, 1, (unsigned)l->threads, 1, 1, 0, q->is.handle, parameter);
  return CUDA_DO(cuda_of(&q->is), err, LaunchKernel, l->kernel->is.handle, (unsigned)l->blocks, 1,
      1, (unsigned)l->threads, 1, 1, 0, q->is.handle, parameter, NULL);
}

/* ---- marks ---- */

static tp_gmark *cuda_mark(tp_gqueue *q, tp_gmark *again, tp_error *err) {
  cuda_dev *d = cuda_of(&q->is);
  tp_gmark *m = again ? again : tp_gpu_make(q->is.dev, TP_G_MARK, sizeof *m, err);
  if (!m ||
      ((again || CUDA_DO(d, err, EventCreate, &m->is.handle, 2)) && /* 2: without times */
          CUDA_DO(d, err, EventRecord, m->is.handle, q->is.handle)))
    return m;
  return again ? NULL : tp_gpu_drop(m);
}

static bool cuda_after(tp_gqueue *q, const tp_gmark *m, tp_error *err) {
  return CUDA_DO(cuda_of(&q->is), err, StreamWaitEvent, q->is.handle, m->is.handle, 0);
}

static int cuda_reached(tp_gmark *m, bool wait, tp_error *err) {
  cuda_dev *d = cuda_of(&m->is);
  int rc =
      wait ? CUDA_CALL(d, EventSynchronize, m->is.handle) : CUDA_CALL(d, EventQuery, m->is.handle);
  if (rc == CUDA_NOT_READY) return 0;
  return cuda_did(d, rc, wait ? "cuEventSynchronize" : "cuEventQuery", err) ? 1 : -1;
}

/* ---- products ---- */

/* A handle belongs to a queue. The workspace is ours: else cuBLAS takes memory in a run. Setting
 * the stream takes the workspace away, so it comes first. */
static bool cublas_begin(tp_gqueue *q) {
  cuda_dev *d = cuda_of(&q->is);
  tp_error unused = { 0 };
  if (q->blas || q->no_blas) return q->blas != NULL;
  q->no_blas =
      !cuda_open_cublas() || !(q->space = cuda_take(&d->is, CUDA_WORKSPACE, TP_G_NEAR, &unused));
  if (q->no_blas) return false;
  cu.CtxSetCurrent(d->context);
  if (blas.Create(&q->blas)) q->blas = NULL;
  else if (blas.SetStream(q->blas, q->is.handle) ||
      blas.SetWorkspace(q->blas, q->space->is.handle, CUDA_WORKSPACE) ||
      blas.SetMathMode(q->blas, CUBLAS_WHOLE))
    blas.Destroy(q->blas), q->blas = NULL;
  q->no_blas = !q->blas;
  if (q->no_blas) q->space = tp_gpu_drop(q->space);
  return !q->no_blas;
}

/* cuBLAS has matrices column by column: it computes the transpose, c' = b' a'. Sums of f16 and bf16
 * are f32. */
static bool cuda_product(tp_gqueue *q, const tp_gproduct *p, bool *did, tp_error *err) {
  static const int type[TP_NDTYPE] = { [TP_F32] = 0, [TP_F64] = 1, [TP_F16] = 2, [TP_BF16] = 14 };
  const int64_t v[] = { p->m, p->n, p->k, p->batch, p->lda, p->ldb, p->ldc };
  const void *a = (void *)(uintptr_t)cuda_place(p->a), *b = (void *)(uintptr_t)cuda_place(p->b);
  void *c = (void *)(uintptr_t)cuda_place(p->c);
  int m = (int)p->m, n = (int)p->n, k = (int)p->k, of = type[p->dtype], rc;
  bool f64 = p->dtype == TP_F64;
  const double one = 1, adds = p->adds;
  const float one_f32 = 1, adds_f32 = p->adds;
  *did = false;
  if (is_stale(cuda_of(&q->is))) return cuda_wait(q, err);
  for (size_t i = 0; i < TP_LEN(v); i++)
    if (v[i] < 1 || v[i] > INT_MAX) return true;
  if ((double)m * n * k < TP_TUNE_GPU_PRODUCT || !tp_dtype_float(p->dtype) || !cublas_begin(q))
    return true;
  cu.CtxSetCurrent(cuda_of(&q->is)->context);
  rc = blas.Gemm(q->blas, p->turned_b, p->turned_a, n, m, k, f64 ? (const void *)&one : &one_f32, b,
      of, (int)p->ldb, p->stride_b, a, of, (int)p->lda, p->stride_a,
      f64 ? (const void *)&adds : &adds_f32, c, type[p->made], (int)p->ldc, p->stride_c,
      (int)p->batch, f64 ? CUBLAS_F64 : CUBLAS_F32, -1);
  *did = rc == 0;
  return rc == 0 ||
      tp_fail(err, TP_E_DEVICE, TP_NOWHERE, "%s: cuBLAS refuses a product of %d x %d x %d (%d)",
          q->is.dev->spec.name, m, k, n, rc);
}

const tp_gdriver tp_cuda = { "cuda", cuda_find, cuda_open, cuda_close, cuda_lost, tp_gpu_spec,
  cuda_left, cuda_take, tp_gpu_drop_mem, tp_gpu_host, cuda_build, cuda_kernel, cuda_needs,
  cuda_queue, cuda_launch, cuda_copy, cuda_lines, cuda_put_in, cuda_get, cuda_fill, cuda_mark,
  cuda_after, cuda_reached, cuda_product };
