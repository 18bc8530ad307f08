/* opencl: devices of OpenCL 1.2 and newer (opencl.def), which come with the drivers of most cards;
 * libOpenCL is opened at run time. Graphics cards come first among devices.
 *
 * Pinned memory is a buffer that stays mapped, so its address is what copies read or write. A build
 * asks for nothing that changes numbers; what the device cannot compute as we do is in its spec. */
#include "gpu/priv.h"
#include <pthread.h>
#include <stdlib.h>

enum {
  CL_MOST = 64, /* platforms, and devices */
  /* results */
  CL_NO_DEVICE = -1,
  CL_NO_MEMORY = -4,
  CL_NO_RESOURCES = -5,
  CL_NO_HOST_MEMORY = -6,
  CL_BUFFER_TOO_LARGE = -61,
  CL_NO_PLATFORM = -1001,
  /* bits of what a device does with floats */
  CL_DENORM = 1,
  CL_ROUNDED = 128
};

static struct {
#define L(name, result, args) result(*name) args;
#include "gpu/opencl.def"
} cl;
static const char *const cl_names[] = {
#define L(name, result, args) #name,
#include "gpu/opencl.def"
};
static pthread_mutex_t cl_lock = PTHREAD_MUTEX_INITIALIZER;
/* Under cl_lock: is the library open; by device, the context that all of ours share, how many these
 * are, and bytes that they have. */
static bool has_cl;
static struct {
  void *context;
  int opened;
  int64_t taken;
} cl_cards[CL_MOST];

/* queue: maps memory */
typedef struct {
  tp_gdev is;
  int which;
  void *device, *context, *queue;
  bool rounded; /* division and square root of f32 are to be asked for */
  bool lost;    /* a call failed, and not for memory */
} cl_dev;

static cl_dev *cl_of(const tp_gthing *x) { return (cl_dev *)x->dev; }

/* ---- errors ---- */

static bool cl_lost(const tp_gdev *d) { return ((const cl_dev *)d)->lost; }

static bool cl_did(tp_gdev *d, int rc, const char *call, tp_error *err) {
  bool memory = rc == CL_NO_MEMORY || rc == CL_NO_HOST_MEMORY || rc == CL_BUFFER_TOO_LARGE;
  const char *why = memory    ? " (it has too little memory)"
      : rc == CL_NO_RESOURCES ? " (out of resources, or the device is lost)"
                              : "";
  ((cl_dev *)d)->lost |= rc < 0 && !memory;
  return rc >= 0 ||
      tp_fail(err, memory ? TP_E_MEMORY : TP_E_DEVICE, TP_NOWHERE, "%s: %s gives %d%s",
          d->spec.name, call, rc, why);
}
#define CL_DO(d, err, name, ...) cl_did((d), cl.name(__VA_ARGS__), #name, err)

/* ---- devices ---- */

static bool cl_open_library(tp_buf *why) {
  const char *own = tp_setting("TEMPO_OPENCL"),
             *names[] = { own ? own : "libOpenCL.so.1", own ? NULL : "libOpenCL.so", NULL };
  const tp_gfolder anywhere = { NULL, NULL };
  if (has_cl) return true;
  void *lib = tp_gpu_open(names, 1, &anywhere, why);
  if (!lib)
    tp_puts(why,
        own ? " (TEMPO_OPENCL)"
            : ": install the driver of a graphics card, and OpenCL's loader "
              "(Debian: ocl-icd-libopencl1)");
  return lib && (has_cl = tp_gpu_functions(names[0], lib, TP_LEN(cl_names), cl_names, &cl, why));
}

static uint64_t cl_number(void *device, unsigned what, size_t size) {
  uint64_t v = 0;
  uint32_t low = 0;
  if (size == 4) return cl.clGetDeviceInfo(device, what, size, &low, NULL) ? 0 : low;
  return cl.clGetDeviceInfo(device, what, size, &v, NULL) ? 0 : v;
}

static void cl_words(void *device, unsigned what, char *to, size_t size) {
  if (cl.clGetDeviceInfo(device, what, size, to, NULL)) *to = 0;
  to[size - 1] = 0;
}

/* Graphics cards, then others. */
static int cl_list(void **v, int max) {
  static const uint64_t kinds[] = { 1 << 2, (1 << 1) | (1 << 3) }; /* processors and accelerators */
  void *platform[CL_MOST], *some[CL_MOST];
  unsigned np = 0, got;
  int n = 0;
  if (cl.clGetPlatformIDs(CL_MOST, platform, &np)) return 0;
  for (size_t k = 0; k < TP_LEN(kinds); k++)
    for (unsigned i = 0; i < TP_MIN(np, CL_MOST); i++) {
      if (cl.clGetDeviceIDs(platform[i], kinds[k], CL_MOST, some, &got)) continue;
      for (unsigned j = 0; j < TP_MIN(got, CL_MOST) && n < max; j++) v[n++] = some[j];
    }
  return n;
}

/* Says what keeps the device from being used. */
static void cl_judge(void *device, const tp_gspec *s, tp_buf *why) {
  char version[128];
  int major = 0, minor = 0;
  cl_words(device, 0x102F, version, sizeof version);
  sscanf(version, "OpenCL %d.%d", &major, &minor);
  if (10 * major + minor < 12)
    tp_putf(why, "%s has OpenCL %d.%d: 1.2 is wanted", s->name, major, minor);
  else if (!s->f64)
    tp_putf(why, "%s has no f64, which sums over time and environments need", s->name);
  else if (!cl_number(device, 0x1028, 4)) tp_putf(why, "the driver of %s has no compiler", s->name);
}

static void cl_describe(void *device, tp_gspec *to) {
  char extensions[16384];
  cl_words(device, 0x1030, extensions, sizeof extensions);
  uint64_t single = cl_number(device, 0x101B, 8);
  int warp = (int)cl_number(device, strstr(extensions, "cl_nv_") ? 0x4003 : 0x4043, 4);
  *to = (tp_gspec){ .arch = "CL1.2",
    .units = (int)cl_number(device, 0x1002, 4),
    .warp = TP_MAX(warp, 1),
    .threads = (int)TP_MIN(cl_number(device, 0x1004, sizeof(size_t)), 1 << 20),
    .parameters = (int)cl_number(device, 0x1017, sizeof(size_t)),
    .memory = (int64_t)cl_number(device, 0x101F, 8),
    .most = (int64_t)cl_number(device, 0x1010, 8),
    .local = (int64_t)cl_number(device, 0x1023, 8),
    .f64 = cl_number(device, 0x1032, 8) != 0,
    .i64_atomics = strstr(extensions, "cl_khr_int64_base_atomics") != NULL,
    .ieee = (single & CL_DENORM) && (single & CL_ROUNDED) };
  cl_words(device, 0x102B, to->name, sizeof to->name);
}

/* how many there are */
static int cl_find_device(int which, void **device, tp_buf *why) {
  void *v[CL_MOST];
  int n = 0;
  pthread_mutex_lock(&cl_lock);
  if (cl_open_library(why) && !(n = cl_list(v, CL_MOST)))
    tp_puts(why,
        "OpenCL finds no device: install the driver of a graphics card (or, for tests, "
        "Debian's pocl-opencl-icd)");
  pthread_mutex_unlock(&cl_lock);
  *device = which < n ? v[which] : NULL;
  return n;
}

static int cl_find(int which, tp_gspec *to, tp_buf *why) {
  void *device;
  int n = cl_find_device(which, &device, why);
  if (device) cl_describe(device, to), cl_judge(device, to, why);
  return n;
}

/* Bytes that all of ours have, after some were taken. */
static int64_t cl_took(const cl_dev *d, int64_t bytes) {
  pthread_mutex_lock(&cl_lock);
  int64_t all = cl_cards[d->which].taken += bytes;
  pthread_mutex_unlock(&cl_lock);
  return all;
}

/* Opens the context that all of ours share, or closes it with the last. */
static void *cl_share(cl_dev *d, bool opens, int *rc) {
  pthread_mutex_lock(&cl_lock);
  void **c = &cl_cards[d->which].context;
  int *n = &cl_cards[d->which].opened;
  if (opens && !*n) *c = cl.clCreateContext(NULL, 1, &d->device, NULL, NULL, rc);
  if (opens) *n += *c != NULL;
  else if (!--*n) cl.clReleaseContext(*c);
  void *context = *c;
  pthread_mutex_unlock(&cl_lock);
  return context;
}

static void cl_release(tp_gthing *x) {
  tp_gmem *m = (tp_gmem *)x;
  cl_dev *d = cl_of(x);
  switch (x->kind) {
  case TP_G_MARK: cl.clReleaseEvent(x->handle); break;
  case TP_G_KERNEL: cl.clReleaseKernel(x->handle); break;
  case TP_G_MODULE: cl.clReleaseProgram(x->handle); break;
  case TP_G_QUEUE:
    cl.clFinish(x->handle);
    cl.clReleaseCommandQueue(x->handle);
    break;
  case TP_G_MEM:
    for (tp_gthing *q = x->dev->made[TP_G_QUEUE]; q; q = q->next) cl.clFinish(q->handle);
    if (m->host && cl.clEnqueueUnmapMemObject(d->queue, x->handle, m->host, 0, NULL, NULL) == 0)
      cl.clFinish(d->queue);
    cl.clReleaseMemObject(x->handle);
    cl_took(d, m->host || m->far ? 0 : -m->bytes);
    break;
  default: break;
  }
}

static void cl_close(tp_gdev *gd) {
  cl_dev *d = (cl_dev *)gd;
  if (!d) return;
  tp_gpu_drop_all(gd);
  if (d->queue) cl.clReleaseCommandQueue(d->queue);
  if (d->context) cl_share(d, false, NULL);
  tp_free(d);
}

static tp_gdev *cl_open(int which, tp_error *err) {
  cl_dev *d = (cl_dev *)tp_gpu_opened(&tp_opencl, which, sizeof *d, err);
  tp_buf why;
  int rc = 0;
  if (!d) return NULL;
  tp_buf_init(&why);
  d->is.release = cl_release;
  if (cl_find_device(which, &d->device, &why) && d->device) {
    d->rounded = cl_number(d->device, 0x101B, 8) & CL_ROUNDED;
    d->which = which;
    d->context = cl_share(d, true, &rc);
    if (d->context) d->queue = cl.clCreateCommandQueue(d->context, d->device, 0, &rc);
  }
  tp_buf_free(&why);
  if (d->queue) return &d->is;
  cl_did(&d->is, rc < 0 ? rc : CL_NO_DEVICE,
      d->context ? "clCreateCommandQueue" : "clCreateContext", err);
  cl_close(&d->is);
  return NULL;
}

/* ---- memory ---- */

/* There is no question for it: what others have is not known. */
static int64_t cl_left(tp_gdev *d) { return TP_MAX(d->spec.memory - cl_took((cl_dev *)d, 0), 0); }

static tp_gmem *cl_take(tp_gdev *gd, int64_t bytes, tp_gside side, tp_error *err) {
  cl_dev *d = (cl_dev *)gd;
  tp_gmem *m = tp_gpu_make(gd, TP_G_MEM, sizeof *m, err);
  size_t n = (size_t)TP_MAX(bytes, 1);
  int rc = 0;
  if (!m) return NULL;
  bool pinned = side == TP_G_PINNED;
  m->bytes = bytes;
  m->far = side == TP_G_FAR;
  m->is.handle = cl.clCreateBuffer(d->context, side ? 1 | 1 << 4 : 1, n, NULL, &rc);
  if (m->is.handle && pinned)
    m->host = cl.clEnqueueMapBuffer(d->queue, m->is.handle, 1, 3, 0, n, 0, NULL, NULL, &rc);
  if (m->is.handle && !side) cl_took(d, bytes);
  if (rc >= 0 && m->is.handle && (!pinned || m->host)) return m;
  if (rc == CL_NO_MEMORY || rc == CL_NO_RESOURCES || rc == CL_BUFFER_TOO_LARGE)
    tp_gpu_no_room(gd, bytes, side, err);
  else cl_did(gd, rc < 0 ? rc : CL_NO_MEMORY, "clCreateBuffer", err);
  return tp_gpu_drop(m);
}

static bool cl_write(
    tp_gqueue *q, tp_gplace to, const void *from, int64_t bytes, bool waits, tp_error *err) {
  return !bytes ||
      CL_DO(q->is.dev, err, clEnqueueWriteBuffer, q->is.handle, to.mem->is.handle, waits,
          (size_t)to.off, (size_t)bytes, from, 0, NULL, NULL);
}

static bool cl_read(
    tp_gqueue *q, void *to, tp_gplace from, int64_t bytes, bool waits, tp_error *err) {
  return !bytes ||
      CL_DO(q->is.dev, err, clEnqueueReadBuffer, q->is.handle, from.mem->is.handle, waits,
          (size_t)from.off, (size_t)bytes, to, 0, NULL, NULL);
}

static bool cl_copy(tp_gqueue *q, tp_gplace to, tp_gplace from, int64_t bytes, tp_error *err) {
  if (to.mem->host) return cl_read(q, to.mem->host + to.off, from, bytes, false, err);
  if (from.mem->host) return cl_write(q, to, from.mem->host + from.off, bytes, false, err);
  return !bytes ||
      CL_DO(q->is.dev, err, clEnqueueCopyBuffer, q->is.handle, from.mem->is.handle,
          to.mem->is.handle, (size_t)from.off, (size_t)to.off, (size_t)bytes, 0, NULL, NULL);
}

static bool cl_lines(tp_gqueue *q, tp_gplace to, int64_t to_step, tp_gplace from, int64_t from_step,
    int64_t bytes, int64_t n, tp_error *err) {
  const size_t size[3] = { (size_t)bytes, (size_t)n, 1 },
               step[2] = { (size_t)to_step, (size_t)from_step },
               at[2][3] = { { (size_t)to.off }, { (size_t)from.off } };
  return !bytes || !n ||
      CL_DO(q->is.dev, err, clEnqueueCopyBufferRect, q->is.handle, from.mem->is.handle,
          to.mem->is.handle, at[1], at[0], size, step[1], 0, step[0], 0, 0, NULL, NULL);
}

static bool cl_put(tp_gqueue *q, tp_gplace to, const void *from, int64_t bytes, tp_error *err) {
  return cl_write(q, to, from, bytes, true, err);
}

static bool cl_get(tp_gqueue *q, void *to, tp_gplace from, int64_t bytes, tp_error *err) {
  return cl_read(q, to, from, bytes, true, err);
}

static bool cl_fill(tp_gqueue *q, tp_gplace to, int byte, int64_t bytes, tp_error *err) {
  unsigned char pattern = (unsigned char)byte;
  return !bytes ||
      CL_DO(q->is.dev, err, clEnqueueFillBuffer, q->is.handle, to.mem->is.handle, &pattern, 1,
          (size_t)to.off, (size_t)bytes, 0, NULL, NULL);
}

/* ---- kernels ---- */

/* pocl makes one thread's branch the branch of all, or loses a store that one thread makes, where
 * its compiler (LLVM 15) has optimised a loop with barriers. */
static bool cl_is_pocl(void *device) {
  char version[128];
  cl_words(device, 0x102F, version, sizeof version);
  return strstr(version, " HSTR: ") != NULL;
}

static void cl_options(const cl_dev *d, char options[160]) {
  /* without warnings, which pocl prints */
  snprintf(options, 160, "-cl-std=CL1.2 -w%s%s%s", cl_is_pocl(d->device) ? " -cl-opt-disable" : "",
      d->rounded ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
      tp_setting("TEMPO_CHECK") ? " -g" : "");
}

/* Takes program p; *m NULL: the compiler's log. */
static int cl_compile(cl_dev *d, void *p, tp_gmodule **m, tp_buf *log, tp_error *err) {
  char options[160];
  size_t n = 0;
  cl_options(d, options);
  *m = tp_gpu_make(&d->is, TP_G_MODULE, sizeof **m, err);
  if (*m) (*m)->is.handle = p;
  else return cl.clReleaseProgram(p), 0;
  int rc = cl.clBuildProgram(p, 1, &d->device, options, NULL, NULL);
  if (rc >= 0) return rc;
  cl.clGetProgramBuildInfo(p, d->device, 0x1183, 0, NULL, &n);
  char *text = tp_calloc(n + 1);
  if (text && cl.clGetProgramBuildInfo(p, d->device, 0x1183, n, text, NULL) == 0)
    tp_puts(log, text);
  tp_free(text);
  *m = tp_gpu_drop(*m);
  return rc;
}

static tp_gmodule *cl_load(tp_gdev *gd, const char *image, size_t n, tp_error *err) {
  cl_dev *d = (cl_dev *)gd;
  const unsigned char *v = (const unsigned char *)image;
  tp_gmodule *m = NULL;
  tp_buf log;
  int rc = 0, status = 0;
  tp_buf_init(&log);
  void *p = cl.clCreateProgramWithBinary(d->context, 1, &d->device, &n, &v, &status, &rc);
  if (p) cl_compile(d, p, &m, &log, err);
  tp_buf_free(&log);
  return m;
}

static void cl_keep(tp_gmodule *m, const char *name) {
  size_t n = 0;
  tp_buf image;
  char *room;
  if (cl.clGetProgramInfo(m->is.handle, 0x1165, sizeof n, &n, NULL) || !n) return;
  tp_buf_init(&image);
  if ((room = tp_alloc(n)) &&
      cl.clGetProgramInfo(m->is.handle, 0x1166, sizeof room, &room, NULL) == 0) {
    tp_putn(&image, room, n);
    tp_cache_put(name, ".gpu", &image);
  }
  tp_free(room);
  tp_buf_free(&image);
}

static void cl_name(const cl_dev *d, const char *text, char name[33]) {
  char options[160], of[4][256];
  cl_options(d, options);
  uint64_t h = tp_hash(options, strlen(options), 0);
  for (unsigned i = 0; i < 4; i++) { /* name, vendor, version of driver, of the device */
    static const unsigned what[] = { 0x102B, 0x102C, 0x102D, 0x102F };
    cl_words(d->device, what[i], of[i], sizeof of[i]);
    h = tp_hash(of[i], strlen(of[i]) + 1, h);
  }
  tp_cache_name(name, text, strlen(text), tp_cache_processor(h));
}

static tp_gmodule *cl_build(tp_gdev *gd, const char *text, tp_error *err) {
  cl_dev *d = (cl_dev *)gd;
  char name[33];
  int rc = 0;
  tp_buf log;
  cl_name(d, text, name);
  tp_gmodule *m = tp_gpu_cached(gd, name, cl_load);
  if (m) return m;
  tp_buf_init(&log);
  void *p = cl.clCreateProgramWithSource(d->context, 1, &text, NULL, &rc);
  if (p) rc = cl_compile(d, p, &m, &log, err);
  if (m) cl_keep(m, name);
  else if (rc == CL_NO_HOST_MEMORY || rc == CL_NO_RESOURCES) cl_did(gd, rc, "clBuildProgram", err);
  else tp_gpu_refused(gd, "the compiler", log.n ? log.s : "", err);
  tp_buf_free(&log);
  return m;
}

static const tp_gkernel *cl_kernel_of(tp_gmodule *m, const char *name, tp_error *err) {
  tp_gkernel *k = tp_gpu_make(m->is.dev, TP_G_KERNEL, sizeof *k, err);
  int rc = 0;
  if (!k || (k->is.handle = cl.clCreateKernel(m->is.handle, name, &rc))) return k;
  tp_fail(err, TP_E_DEVICE, TP_NOWHERE, "%s: clCreateKernel gives %d for '%s'",
      m->is.dev->spec.name, rc, name);
  return tp_gpu_drop(k);
}

static void cl_needs(const tp_gkernel *k, int threads, tp_gneeds *to) {
  uint64_t v = 0;
  *to = (tp_gneeds){ -1, -1, -1, -1 };
  if (cl.clGetKernelWorkGroupInfo(k->is.handle, cl_of(&k->is)->device, 0x11B2, 8, &v, NULL) == 0)
    to->local = (int64_t)v;
}

static tp_gqueue *cl_queue(tp_gdev *gd, tp_error *err) {
  cl_dev *d = (cl_dev *)gd;
  tp_gqueue *q = tp_gpu_make(gd, TP_G_QUEUE, sizeof *q, err);
  int rc = 0;
  if (!q || (q->is.handle = cl.clCreateCommandQueue(d->context, d->device, 0, &rc))) return q;
  cl_did(gd, rc, "clCreateCommandQueue", err);
  return tp_gpu_drop(q);
}

static bool cl_launch(tp_gqueue *q, const tp_glaunch *l, tp_error *err) {
  size_t block = (size_t)l->threads, all = block * (size_t)l->blocks;
  void *k = l->kernel->is.handle;
  unsigned n = 0;
  int rc = 0;
  if (!tp_gpu_fits(q->is.dev, l, err)) return false;
  for (int i = 0; i < l->nplace && rc >= 0; i++) {
    void *mem = l->place[i].mem ? l->place[i].mem->is.handle : NULL;
    rc = cl.clSetKernelArg(k, n++, sizeof mem, &mem);
    if (rc >= 0) rc = cl.clSetKernelArg(k, n++, 8, &l->place[i].off);
  }
  for (int i = 0; i < l->nnum && rc >= 0; i++) rc = cl.clSetKernelArg(k, n++, 8, &l->num[i]);
  return cl_did(q->is.dev, rc, "clSetKernelArg", err) &&
      CL_DO(q->is.dev, err, clEnqueueNDRangeKernel, q->is.handle, k, 1, NULL, &all, &block, 0, NULL,
          NULL);
}

/* ---- marks ---- */

/* Other queues wait for it only if it is sent to the device. */
static tp_gmark *cl_mark(tp_gqueue *q, tp_gmark *again, tp_error *err) {
  tp_gmark *m = again ? again : tp_gpu_make(q->is.dev, TP_G_MARK, sizeof *m, err);
  void *event = NULL;
  if (!m) return NULL;
  if (!CL_DO(q->is.dev, err, clEnqueueMarkerWithWaitList, q->is.handle, 0, NULL, &event) ||
      !CL_DO(q->is.dev, err, clFlush, q->is.handle)) {
    if (event) cl.clReleaseEvent(event);
    return again ? NULL : tp_gpu_drop(m);
  }
  if (m->is.handle) cl.clReleaseEvent(m->is.handle);
  m->is.handle = event;
  return m;
}

static bool cl_after(tp_gqueue *q, const tp_gmark *m, tp_error *err) {
  return CL_DO(q->is.dev, err, clEnqueueBarrierWithWaitList, q->is.handle, 1, &m->is.handle, NULL);
}

static int cl_reached(tp_gmark *m, bool wait, tp_error *err) {
  int status = 0;
  if (wait) {
    if (!CL_DO(m->is.dev, err, clWaitForEvents, 1, &m->is.handle)) return -1;
    return 1;
  }
  if (!CL_DO(m->is.dev, err, clGetEventInfo, m->is.handle, 0x11D3, sizeof status, &status, NULL) ||
      !cl_did(m->is.dev, status, "work on the device", err))
    return -1;
  return status == 0; /* it is complete */
}

/* ---- none of these ---- */

static bool cl_product(tp_gqueue *q, const tp_gproduct *p, bool *did, tp_error *err) {
  *did = false;
  return true;
}

const tp_gdriver tp_opencl = { "opencl", cl_find, cl_open, cl_close, cl_lost, tp_gpu_spec, cl_left,
  cl_take, tp_gpu_drop_mem, tp_gpu_host, cl_build, cl_kernel_of, cl_needs, cl_queue, cl_launch,
  cl_copy, cl_lines, cl_put, cl_get, cl_fill, cl_mark, cl_after, cl_reached, cl_product };
