/* libcuda.so.1 for tests: the driver API over the emulator.
 *
 * Work is done as late as it may be: when somebody waits, and then only what that hangs on; memory
 * of the host is read and written then, whatever has become of it. So a mark that is not waited
 * for, or a buffer that is used again too early, gives wrong numbers here every time.
 *
 * A module's image is PTX. ptx.lua, beside this library, writes it in C; cc builds that once, into
 * modules/ beside it, named by what it is made of. A finding fails the launch with the error that a
 * driver would give, which stays until the context is gone; stderr says more. */
#include "own.h"
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#define API __attribute__((visibility("default"))) int

typedef uint64_t devptr;
typedef struct stream stream;
typedef enum kind { COPY, SET, LAUNCH, WAIT, FREE, HOST, LIBRARY } kind;
typedef struct function {
  const emu_kernel *kernel;
  const struct module *module;
  uint32_t dynamic;
} function;
typedef struct module {
  void *lib;
  const emu_module *is;
  function *functions;
} module;

/* Work. seq: its number on its stream. A copy: of `lines` pieces, these far apart. */
typedef struct op {
  struct op *next;
  kind kind;
  void *to;
  const void *from;
  uint64_t n, seq, lines, to_step, from_step;
  int value, width;
  const function *fn;
  emu_grid grid;
  char *args;
  stream *waits; /* until its work `seq` is done */
  void (*call)(void *);
} op;
struct stream {
  op *first, **last;
  uint64_t put, done;
  bool blocking, running;
};
typedef struct event {
  stream *on;
  uint64_t seq;
  int asked;
} event;

emu_knobs emu_knob;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static stream legacy = { .blocking = true };
static stream **streams;
static int nstreams, contexts, sticky;
static char folder[PATH_MAX];
static struct counts {
  long allocations, launches, copies_in, copies_out, copies_on, bytes_in, bytes_out, sets, waits,
      modules, libraries, findings;
} counted;

/* ---- settings ---- */
static bool word_is(const char *w, size_t n, const char *name, const char **value) {
  size_t m = strlen(name);
  if (n < m || memcmp(w, name, m)) return false;
  *value = w + m;
  return name[m - 1] == '=' || n == m;
}

static void settings(void) {
  static const struct {
    const char *name;
    int64_t *to;
  } number[] = { { "alloc=", &emu_knob.alloc }, { "launch=", &emu_knob.launch },
    { "seed=", &emu_knob.seed }, { "units=", &emu_knob.units }, { "memory=", &emu_knob.memory },
    { "arch=", &emu_knob.arch }, { "driver=", &emu_knob.driver }, { "fuel=", &emu_knob.fuel },
    { "deaf=", &emu_knob.deaf }, { "apart=", &emu_knob.apart } };
  emu_knob = (emu_knobs){ .units = 8,
    .memory = 4096,
    .arch = 90,
    .driver = 13000,
    .fuel = 1 << 30,
    .watched = true,
    .races = true,
    .fresh = true };
  const char *w = getenv("TEMPO_EMU"), *v;
  for (; w && *w; w += strcspn(w, ","), w += *w == ',') {
    size_t n = strcspn(w, ",");
    bool known = n == 0;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
      if (word_is(w, n, number[i].name, &v)) *number[i].to = strtoll(v, NULL, 10), known = true;
    if (word_is(w, n, "unwatched", &v)) emu_knob.watched = false;
    else if (word_is(w, n, "races=", &v)) emu_knob.races = *v != '0';
    else if (word_is(w, n, "fresh=", &v)) emu_knob.fresh = *v != '0';
    else if (word_is(w, n, "own", &v)) emu_knob.own = true;
    else if (word_is(w, n, "sync", &v)) emu_knob.sync = true;
    else if (word_is(w, n, "keep", &v)) emu_knob.keep = true;
    else if (word_is(w, n, "log=", &v))
      snprintf(emu_knob.log, sizeof emu_knob.log, "%.*s", (int)(n - (size_t)(v - w)), v);
    else if (word_is(w, n, "counts=", &v))
      snprintf(emu_knob.counts, sizeof emu_knob.counts, "%.*s", (int)(n - (size_t)(v - w)), v);
    else if (!known) emu_say("what is '%.*s' in TEMPO_EMU?", (int)n, w);
  }
}

static void write_counts(void) {
  if (!*emu_knob.counts) return;
  FILE *f = fopen(emu_knob.counts, "w");
  if (!f) return;
  fprintf(f,
      "launches %ld\ncopies_in %ld\ncopies_out %ld\ncopies_on %ld\nbytes_in %ld\nbytes_out %ld\n"
      "sets %ld\nwaits %ld\nmodules %ld\nlibraries %ld\nallocations %ld\nfindings "
      "%ld\n",
      counted.launches, counted.copies_in, counted.copies_out, counted.copies_on, counted.bytes_in,
      counted.bytes_out, counted.sets, counted.waits, counted.modules, counted.libraries,
      counted.allocations, counted.findings);
  fclose(f);
}
__attribute__((destructor)) static void at_end(void) { write_counts(); }

/* ---- work that is done ---- */
static void fail(int error) {
  if (!error) return;
  counted.findings++;
  if (!sticky) sticky = error;
}

/* Memory that was there when the work was put may be gone. */
static bool still(const op *o, const void *p, const char *what) {
  if (!watch_is_device(p) || watch_holds(p, o->n)) return true;
  emu_say("a %s of %llu bytes: %s", what, (unsigned long long)o->n, watch_where(p));
  fail(EMU_ILLEGAL_ADDRESS);
  return false;
}

static void until(stream *s, uint64_t seq);
static void run(op *o);

static void run(op *o) {
  if (o->kind == WAIT) {
    until(o->waits, o->seq);
    return;
  }
  if (sticky && o->kind != FREE) return;
  switch (o->kind) {
  case COPY:
    if (!still(o, o->to, "copy") || !still(o, o->from, "copy")) break;
    for (uint64_t i = 0; i < (o->lines ? o->lines : 1); i++)
      watch_copy((char *)o->to + i * o->to_step, (const char *)o->from + i * o->from_step,
          o->lines ? (uint64_t)o->value : o->n);
    if (!watch_is_device(o->from)) counted.copies_in++, counted.bytes_in += (long)o->n;
    else if (!watch_is_device(o->to)) counted.copies_out++, counted.bytes_out += (long)o->n;
    else counted.copies_on++;
    break;
  case SET:
    if (!still(o, o->to, "fill")) break;
    for (uint64_t i = 0; i < o->n; i += (uint64_t)o->width)
      memcpy((char *)o->to + i, &o->value, (size_t)o->width);
    watch_set(o->to, o->n), counted.sets++;
    break;
  case LAUNCH:
    counted.launches++;
    if (emu_knob.launch > 0 && --emu_knob.launch == 0) fail(EMU_LAUNCH_FAILED);
    else fail(emu_launch(o->fn->module->is, o->fn->kernel, &o->grid, o->args));
    break;
  case FREE: watch_drop(o->to); break;
  case HOST: o->call(o->to); break;
  case LIBRARY: counted.libraries++, o->call(o->args); break;
  case WAIT: break;
  }
}

static void free_op(op *o) { free(o->args), free(o); }

/* Does s's work up to number seq. */
static void until(stream *s, uint64_t seq) {
  if (s->running) return; /* it waits for itself, further up */
  s->running = true;
  while (s->done < seq && s->first) {
    op *o = s->first;
    run(o);
    s->first = o->next, s->done++;
    free_op(o);
  }
  s->running = false;
}
static void drain(void) {
  for (int i = 0; i < nstreams; i++) until(streams[i], streams[i]->put);
  until(&legacy, legacy.put);
}

static void append(stream *s, op *o) {
  if (!s->first) s->last = &s->first;
  *s->last = o, s->last = &o->next, o->next = NULL;
  s->put++;
}

static op *made(kind k) {
  op *o = calloc(1, sizeof *o);
  o->kind = k;
  return o;
}

static void wait_for(stream *s, stream *other) {
  if (s == other || other->done == other->put) return;
  op *o = made(WAIT);
  o->waits = other, o->seq = other->put;
  append(s, o);
}

static int put(stream *s, op *o) {
  if (!s) s = &legacy;
  if (s == &legacy)
    for (int i = 0; i < nstreams; i++) {
      if (streams[i]->blocking) wait_for(&legacy, streams[i]);
    }
  else if (s->blocking) wait_for(s, &legacy);
  append(s, o);
  if (emu_knob.sync) until(s, s->put);
  return 0;
}

/* Every entry: the lock, and the error that stays. */
#define ENTER \
  pthread_mutex_lock(&lock); \
  if (sticky) return pthread_mutex_unlock(&lock), sticky
#define LEAVE(e) \
  do { \
    int e_ = (e); \
    pthread_mutex_unlock(&lock); \
    return e_; \
  } while (0)
#define WAITED \
  do { \
    counted.waits++, write_counts(); \
    LEAVE(sticky); \
  } while (0)
enum {
  NOT_INITIALIZED = 3,
  NO_DEVICE = 101,
  NO_CONTEXT = 201,
  NO_IMAGE = 209,
  BAD_PTX = 218,
  BAD_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  TOO_LARGE = 720
};

/* ---- devices ---- */
API cuInit(unsigned flags) {
  static char *read; /* the settings that hold */
  const char *now = getenv("TEMPO_EMU");
  if (flags) return EMU_INVALID;
  pthread_mutex_lock(&lock);
  if (!read || strcmp(read, now ? now : "")) {
    Dl_info me;
    settings();
    counted = (struct counts){ 0 };
    free(read), read = strdup(now ? now : "");
    if (dladdr((void *)cuInit, &me) && me.dli_fname && realpath(me.dli_fname, folder))
      dirname(folder);
  }
  LEAVE(0);
}
API cuDriverGetVersion(int *v) {
  return *v = (int)emu_knob.driver ? (int)emu_knob.driver : 13000, 0;
}
API cuDeviceGetCount(int *n) { return *n = 1, 0; }
API cuDeviceGet(int *d, int i) { return *d = i, i ? NO_DEVICE : 0; }
API cuDeviceGetName(char *s, int n, int d) {
  return snprintf(s, (size_t)n, "tempo emulator"), d ? NO_DEVICE : 0;
}
API cuDeviceTotalMem_v2(size_t *n, int d) {
  return *n = (size_t)emu_knob.memory << 20, d ? NO_DEVICE : 0;
}
API cuDeviceGetAttribute(int *v, int a, int d) {
  static const struct {
    int which, value;
  } known[] = { { 1, 1024 }, { 2, 1024 }, { 3, 1024 }, { 4, 64 }, { 5, 0x7fffffff }, { 6, 65535 },
    { 7, 65535 }, { 8, 49152 }, { 9, 65536 }, { 10, 32 }, { 12, 65536 }, { 13, 1980000 },
    { 36, 2619000 }, { 37, 5120 }, { 38, 50 << 20 }, { 39, 2048 }, { 41, 1 }, { 81, 233472 },
    { 82, 65536 }, { 95, 1 }, { 97, 232448 }, { 106, 32 }, { 111, 1024 } };
  *v = a == 16  ? (int)emu_knob.units
      : a == 75 ? (int)emu_knob.arch / 10
      : a == 76 ? (int)emu_knob.arch % 10
                : 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].which == a) *v = known[i].value;
  return d ? NO_DEVICE : 0;
}
API cuDeviceGetUuid(char *id, int d) { return memset(id, 0x54, 16), d ? NO_DEVICE : 0; }
API cuDevicePrimaryCtxRetain(void **c, int d) {
  pthread_mutex_lock(&lock);
  if (d) LEAVE(NO_DEVICE);
  if (!watch_open()) LEAVE(EMU_OUT_OF_MEMORY);
  contexts++;
  *c = &legacy;
  LEAVE(0);
}
/* The context ends: its error with it, its memory, and all that is on its streams. */
static void end_context(void) {
  if (!sticky) drain();
  for (int i = -1; i < nstreams; i++) {
    stream *s = i < 0 ? &legacy : streams[i];
    for (op *o; (o = s->first); free_op(o)) s->first = o->next;
    s->done = s->put;
  }
  sticky = 0;
  watch_drop_all();
  write_counts();
}
API cuDevicePrimaryCtxRelease_v2(int d) {
  pthread_mutex_lock(&lock);
  if (contexts == 0) LEAVE(NO_CONTEXT);
  if (--contexts == 0) end_context();
  LEAVE(d ? NO_DEVICE : 0);
}
API cuDevicePrimaryCtxReset_v2(int d) {
  pthread_mutex_lock(&lock);
  end_context();
  LEAVE(d ? NO_DEVICE : 0);
}
API cuDevicePrimaryCtxGetState(int d, unsigned *flags, int *active) {
  return *flags = 0, *active = contexts > 0, d ? NO_DEVICE : 0;
}
API cuCtxSetCurrent(void *c) { return c && c != &legacy ? NO_CONTEXT : 0; }
API cuCtxGetCurrent(void **c) { return *c = contexts ? &legacy : NULL, 0; }
API cuCtxPushCurrent_v2(void *c) { return cuCtxSetCurrent(c); }
API cuCtxPopCurrent_v2(void **c) { return cuCtxGetCurrent(c); }
API cuCtxGetDevice(int *d) { return *d = 0, 0; }
API cuCtxSynchronize(void) {
  ENTER;
  drain();
  WAITED;
}

/* ---- memory ---- */
API cuMemAlloc_v2(devptr *p, size_t n) {
  ENTER;
  if (n == 0) LEAVE(EMU_INVALID);
  counted.allocations++;
  if (emu_knob.alloc > 0 && --emu_knob.alloc == 0) LEAVE(EMU_OUT_OF_MEMORY);
  char *at = watch_take(n, true);
  *p = (devptr)(uintptr_t)at;
  LEAVE(at ? 0 : EMU_OUT_OF_MEMORY);
}
API cuMemFree_v2(devptr p) {
  pthread_mutex_lock(&lock);
  if (!p) LEAVE(0);
  if (!sticky) drain();
  if (watch_drop((char *)(uintptr_t)p)) LEAVE(sticky);
  emu_say("cuMemFree of %s", watch_where((void *)(uintptr_t)p));
  LEAVE(EMU_INVALID);
}
API cuMemAllocAsync(devptr *p, size_t n, stream *s) {
  (void)s;
  return cuMemAlloc_v2(p, n);
}
API cuMemFreeAsync(devptr p, stream *s) {
  ENTER;
  op *o = made(FREE);
  o->to = (void *)(uintptr_t)p;
  LEAVE(put(s, o));
}
API cuMemGetInfo_v2(size_t *left, size_t *all) {
  *all = (size_t)emu_knob.memory << 20, *left = *all - (size_t)watch_used();
  return 0;
}
API cuMemAllocHost_v2(void **p, size_t n) {
  ENTER;
  counted.allocations++;
  if (emu_knob.alloc > 0 && --emu_knob.alloc == 0) LEAVE(EMU_OUT_OF_MEMORY);
  *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
  if (*p) memset(*p, 0xA5, n);
  LEAVE(*p ? 0 : EMU_OUT_OF_MEMORY);
}
/* Memory of the host that kernels may touch (2) lies among the device's, to be watched. */
API cuMemHostAlloc(void **p, size_t n, unsigned flags) {
  if (!(flags & 2)) return cuMemAllocHost_v2(p, n);
  ENTER;
  counted.allocations++;
  if (emu_knob.alloc > 0 && --emu_knob.alloc == 0) LEAVE(EMU_OUT_OF_MEMORY);
  *p = watch_take(n, false);
  LEAVE(*p ? 0 : EMU_OUT_OF_MEMORY);
}
API cuMemFreeHost(void *p) {
  pthread_mutex_lock(&lock);
  if (!sticky) drain();
  if (!watch_drop(p)) free(p);
  LEAVE(sticky);
}

static int copy(stream *s, void *to, const void *from, size_t n, int device) {
  ENTER;
  if ((device & 1 && !watch_holds(to, n)) || (device & 2 && !watch_holds(from, n))) {
    if (n == 0) LEAVE(0);
    emu_say(
        "a copy of %zu bytes: %s", n, watch_where(device & 1 && !watch_holds(to, n) ? to : from));
    LEAVE(EMU_INVALID);
  }
  op *o = made(COPY);
  o->to = to, o->from = from, o->n = n;
  LEAVE(put(s, o));
}
#define AT(p) ((void *)(uintptr_t)(p))
static int copy_now(void *to, const void *from, size_t n, int device) {
  int e = copy(NULL, to, from, n, device);
  if (e) return e;
  ENTER;
  until(&legacy, legacy.put);
  WAITED;
}
API cuMemcpyHtoDAsync_v2(devptr to, const void *from, size_t n, stream *s) {
  return copy(s, AT(to), from, n, 1);
}
API cuMemcpyDtoHAsync_v2(void *to, devptr from, size_t n, stream *s) {
  return copy(s, to, AT(from), n, 2);
}
API cuMemcpyDtoDAsync_v2(devptr to, devptr from, size_t n, stream *s) {
  return copy(s, AT(to), AT(from), n, 3);
}
/* CUDA_MEMCPY2D, between two memories of the device */
typedef struct {
  size_t from_x, from_y;
  int from_kind;
  const void *from_host;
  devptr from;
  void *from_array;
  size_t from_step, to_x, to_y;
  int to_kind;
  void *to_host;
  devptr to;
  void *to_array;
  size_t to_step, bytes, n;
} lines2d;
API cuMemcpy2DAsync_v2(const lines2d *l, stream *s) {
  ENTER;
  size_t to = (l->n - 1) * l->to_step + l->bytes, from = (l->n - 1) * l->from_step + l->bytes;
  if (l->from_kind != 2 || l->to_kind != 2 || l->from_x || l->from_y || l->to_x || l->to_y ||
      !l->n || !l->bytes || l->to_step < l->bytes || l->from_step < l->bytes ||
      !watch_holds(AT(l->to), to) || !watch_holds(AT(l->from), from)) {
    emu_say("a copy of %zu pieces of %zu bytes leaves its memory", l->n, l->bytes);
    LEAVE(EMU_INVALID);
  }
  op *o = made(COPY);
  o->to = AT(l->to), o->from = AT(l->from), o->n = to < from ? to : from;
  o->lines = l->n, o->value = (int)l->bytes, o->to_step = l->to_step, o->from_step = l->from_step;
  LEAVE(put(s, o));
}
API cuMemcpyHtoD_v2(devptr to, const void *from, size_t n) { return copy_now(AT(to), from, n, 1); }
API cuMemcpyDtoH_v2(void *to, devptr from, size_t n) { return copy_now(to, AT(from), n, 2); }
API cuMemcpyDtoD_v2(devptr to, devptr from, size_t n) { return copy_now(AT(to), AT(from), n, 3); }

static int set(stream *s, devptr to, int v, size_t n, int width) {
  ENTER;
  if (n == 0) LEAVE(0);
  if (!watch_holds(AT(to), n * (size_t)width) || to % (unsigned)width) {
    emu_say("a fill of %zu bytes: %s", n * (size_t)width, watch_where(AT(to)));
    LEAVE(EMU_INVALID);
  }
  op *o = made(SET);
  o->to = AT(to), o->value = v, o->n = n * (size_t)width, o->width = width;
  LEAVE(put(s, o));
}
API cuMemsetD8Async(devptr to, unsigned char v, size_t n, stream *s) { return set(s, to, v, n, 1); }
API cuMemsetD16Async(devptr to, unsigned short v, size_t n, stream *s) {
  return set(s, to, v, n, 2);
}
API cuMemsetD32Async(devptr to, unsigned v, size_t n, stream *s) {
  return set(s, to, (int)v, n, 4);
}
API cuMemsetD8_v2(devptr to, unsigned char v, size_t n) { return set(NULL, to, v, n, 1); }

/* ---- streams and events ---- */
API cuStreamCreate(stream **s, unsigned flags) {
  ENTER;
  *s = calloc(1, sizeof **s);
  (*s)->blocking = !(flags & 1);
  streams = realloc(streams, sizeof *streams * (size_t)(nstreams + 1));
  streams[nstreams++] = *s;
  LEAVE(0);
}
API cuStreamCreateWithPriority(stream **s, unsigned flags, int priority) {
  (void)priority;
  return cuStreamCreate(s, flags);
}
/* The stream's work is done; what waits for it may still ask its number, so it stays. */
API cuStreamDestroy_v2(stream *s) {
  pthread_mutex_lock(&lock);
  if (!s) LEAVE(BAD_HANDLE);
  if (!sticky) until(s, s->put);
  for (int i = 0; i < nstreams; i++)
    if (streams[i] == s) streams[i] = streams[--nstreams];
  LEAVE(sticky);
}
API cuStreamSynchronize(stream *s) {
  ENTER;
  if (!s) s = &legacy;
  until(s, s->put);
  WAITED;
}
API cuStreamQuery(stream *s) {
  ENTER;
  if (!s) s = &legacy;
  bool was = s->done == s->put;
  until(s, s->put); /* the next time it is ready */
  LEAVE(sticky ? sticky : was ? 0 : NOT_READY);
}
API cuEventCreate(event **e, unsigned flags) {
  (void)flags;
  return *e = calloc(1, sizeof **e), 0;
}
API cuEventDestroy_v2(event *e) { return free(e), 0; }
API cuEventRecord(event *e, stream *s) {
  ENTER;
  if (!s) s = &legacy;
  e->asked = 0;
  if (s == &legacy)
    for (int i = 0; i < nstreams; i++)
      if (streams[i]->blocking) wait_for(&legacy, streams[i]);
  e->on = s, e->seq = s->put;
  LEAVE(0);
}
API cuEventRecordWithFlags(event *e, stream *s, unsigned flags) {
  (void)flags;
  return cuEventRecord(e, s);
}
API cuEventQuery(event *e) {
  ENTER;
  if (!e->on || e->on->done >= e->seq) LEAVE(0);
  if (e->asked++) until(e->on, e->seq);
  LEAVE(sticky ? sticky : e->on->done >= e->seq ? 0 : NOT_READY);
}
API cuEventSynchronize(event *e) {
  ENTER;
  if (e->on) until(e->on, e->seq);
  WAITED;
}
API cuEventElapsedTime(float *ms, event *from, event *to) {
  (void)from, (void)to;
  return *ms = 0.001f, 0;
}
API cuStreamWaitEvent(stream *s, event *e, unsigned flags) {
  ENTER;
  (void)flags;
  if (!s) s = &legacy;
  if (e->on && e->on != s && e->on->done < e->seq) {
    op *o = made(WAIT);
    o->waits = e->on, o->seq = e->seq;
    append(s, o);
  }
  LEAVE(0);
}
API cuLaunchHostFunc(stream *s, void (*call)(void *), void *arg) {
  ENTER;
  op *o = made(HOST);
  o->call = call, o->to = arg;
  LEAVE(put(s, o));
}

/* ---- modules ---- */
static uint64_t hash(const char *s, size_t n, uint64_t h) {
  for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * 0x100000001b3ull;
  return h;
}

static char *whole(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f);
  rewind(f);
  char *text = calloc(1, *n + 1);
  *n = fread(text, 1, *n, f);
  fclose(f);
  return text;
}

static const char command[] =
    "unset LD_PRELOAD; { %s '%s/ptx.lua' '%s.ptx' >'%s.c' && %s -std=gnu11 -O1 -w -DEMU_MODULE %s "
    "-ffp-contract=off -fno-strict-aliasing -fno-math-errno -fno-trapping-math -fwrapv "
    "-march=native -fPIC -shared -I'%s' '%s.c' -o '%s.tmp' -lm && mv '%s.tmp' '%s.so'; } 2>'%s'";

/* Hashes what the translation is made of besides the PTX. */
static uint64_t tools(void) {
  static uint64_t h;
  static const char *const files[] = { "ptx.lua", "emu.h" };
  if (h) return h;
  h = hash(command, sizeof command, 0xcbf29ce484222325ull);
  for (int i = 0; i < 2; i++) {
    char path[PATH_MAX + 32];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/%s", folder, files[i]);
    char *text = whole(path, &n);
    if (text) h = hash(text, n, h);
    free(text);
  }
  return h;
}

static bool build(const char *image, const char *stem, char *log, size_t nlog) {
  char cmd[8 * PATH_MAX], err[PATH_MAX + 64];
  const char *lua = getenv("TEMPO_EMU_LUA"), *cc = getenv("TEMPO_EMU_CC");
  snprintf(cmd, sizeof cmd, "%s.ptx", stem);
  FILE *f = fopen(cmd, "w");
  if (!f) return snprintf(log, nlog, "%s: cannot be written", cmd), false;
  fputs(image, f), fclose(f);
  snprintf(err, sizeof err, "%s.err", stem);
  snprintf(cmd, sizeof cmd, command, lua ? lua : "lua5.4", folder, stem, stem, cc ? cc : "cc",
      emu_knob.watched ? "" : "-DEMU_UNWATCHED", folder, stem, stem, stem, stem, err);
  bool ok = system(cmd) == 0;
  size_t n = 0;
  char *text = whole(err, &n);
  if (!ok) {
    snprintf(log, nlog, "%s", text && *text ? text : "the translation failed");
    emu_say("%s", log);
  }
  free(text), unlink(err);
  if (ok && !emu_knob.keep) {
    snprintf(cmd, sizeof cmd, "%s.c", stem), unlink(cmd);
    snprintf(cmd, sizeof cmd, "%s.ptx", stem), unlink(cmd);
  }
  return ok;
}

static void *opened(const char *image, char *log, size_t nlog) {
  char dir[PATH_MAX + 16], stem[PATH_MAX + 64], path[PATH_MAX + 128];
  size_t n = strlen(image);
  uint64_t h = hash(image, n, tools()), h2 = hash(image, n, h * 31 + 7);
  snprintf(dir, sizeof dir, "%s/modules", folder);
  mkdir(dir, 0777);
  snprintf(stem, sizeof stem, "%s/%016llx%08x%s", dir, (unsigned long long)h, (unsigned)(h2 >> 32),
      emu_knob.watched ? "" : "u");
  snprintf(path, sizeof path, "%s.so", stem);
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (lib) return lib;
  char own[PATH_MAX + 128]; /* of this process, so that two may build the same */
  snprintf(own, sizeof own, "%s-%d", stem, (int)getpid());
  if (!build(image, own, log, nlog)) return NULL;
  snprintf(stem, sizeof stem, "%s.so", own);
  rename(stem, path);
  if (!(lib = dlopen(path, RTLD_NOW | RTLD_LOCAL))) snprintf(log, nlog, "%s", dlerror());
  return lib;
}

static bool fits(const emu_module *m, char *log, size_t nlog) {
  for (int i = 0; i < m->nkernels; i++)
    if (m->kernels[i].taken > 49152)
      return snprintf(log, nlog,
                 "ptxas error   : Entry function '%s' uses too much shared data (0x%x bytes, "
                 "0xc000 max)",
                 m->kernels[i].name, (unsigned)m->kernels[i].taken),
             false;
  return true;
}

API cuModuleLoadDataEx(module **to, const void *image, unsigned n, int *option, void **value) {
  char text[4000] = "", *log = NULL;
  size_t nlog = 0;
  ENTER;
  counted.modules++;
  for (unsigned i = 0; i < n; i++) {
    if (option[i] == 5) log = value[i];
    if (option[i] == 6) nlog = (size_t)(uintptr_t)value[i];
  }
  if (!log) log = text, nlog = sizeof text;
  if (!memcmp(image, "\177ELF", 4)) {
    snprintf(log, nlog,
        "this is a cubin: the emulator of tests takes PTX (--gpu-architecture=compute_90)");
    emu_say("%s", log);
    LEAVE(NO_IMAGE);
  }
  void *lib = opened(image, log, nlog);
  if (!lib) LEAVE(BAD_PTX);
  const emu_module *is = dlsym(lib, "emu_this");
  if (!is || !fits(is, log, nlog)) {
    dlclose(lib);
    LEAVE(BAD_PTX);
  }
  *is->api = &emu_calls;
  module *m = *to = calloc(1, sizeof *m);
  m->lib = lib, m->is = is, m->functions = calloc((size_t)is->nkernels + 1, sizeof(function));
  for (int i = 0; i < is->nkernels; i++) m->functions[i] = (function){ is->kernels + i, m, 0 };
  LEAVE(0);
}
API cuModuleLoadData(module **to, const void *image) {
  return cuModuleLoadDataEx(to, image, 0, NULL, NULL);
}
API cuModuleUnload(module *m) {
  pthread_mutex_lock(&lock);
  if (!sticky) drain();
  dlclose(m->lib);
  free(m->functions), free(m);
  LEAVE(sticky);
}
API cuModuleGetFunction(function **f, module *m, const char *name) {
  ENTER;
  for (int i = 0; i < m->is->nkernels; i++)
    if (!strcmp(m->is->kernels[i].name, name)) LEAVE((*f = &m->functions[i], 0));
  LEAVE(NOT_FOUND);
}
/* An estimate from PTX, kept to what a thread may have, as ptxas does. */
static int registers(const emu_kernel *k) {
  return k->registers < 24 ? 24 : k->registers > 255 ? 255 : k->registers;
}
API cuFuncGetAttribute(int *v, int which, function *f) {
  const emu_kernel *k = f->kernel;
  const int value[] = { k->threads, k->taken, 0, k->local, registers(k), (int)emu_knob.arch,
    (int)emu_knob.arch, 0, 49152 - k->taken };
  if (which < 0 || which > 8) return EMU_INVALID;
  return *v = value[which], 0;
}
API cuFuncSetAttribute(function *f, int which, int v) {
  if (which == 8) f->dynamic = (uint32_t)v;
  return which == 8 && v > 232448 ? EMU_INVALID : 0;
}
/* The occupancy of compute capability 9.0. */
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, function *f, int n, size_t dynamic) {
  const emu_kernel *k = f->kernel;
  int warps = (n + 31) / 32, regs = (registers(k) + 7) / 8 * 8;
  int most = 64 / warps, by_regs = 65536 / (regs * 32 * warps);
  int by_local = 233472 / (int)(((size_t)k->taken + dynamic + 1024 + 127) / 128 * 128);
  if (n < 1 || n > k->threads) return *blocks = 0, n < 1 ? EMU_INVALID : 0;
  most = most > 32 ? 32 : most, most = by_regs < most ? by_regs : most;
  return *blocks = by_local < most ? by_local : most, 0;
}
static int launch(function *f, emu_grid g, stream *s, void **p, void **extra) {
  ENTER;
  const emu_kernel *k = f ? f->kernel : NULL;
  uint64_t threads = (uint64_t)g.threads[0] * g.threads[1] * g.threads[2];
  if (!k) LEAVE(BAD_HANDLE);
  if (!g.blocks[0] || !g.blocks[1] || !g.blocks[2] || !threads || threads > 1024 ||
      g.blocks[1] > 65535 || g.blocks[2] > 65535 || g.blocks[0] > 0x7fffffff ||
      threads > (uint64_t)k->threads || extra || (k->nparams && !p) ||
      g.dynamic + (uint32_t)k->taken > (f->dynamic > 49152 ? f->dynamic : 49152)) {
    emu_say("kernel '%s' cannot run as %u x %u x %u blocks of %llu threads (at most %d) with %u "
            "bytes of shared memory",
        k->name, g.blocks[0], g.blocks[1], g.blocks[2], (unsigned long long)threads, k->threads,
        g.dynamic);
    LEAVE(EMU_INVALID);
  }
  uint64_t blocks = (uint64_t)g.blocks[0] * g.blocks[1] * g.blocks[2];
  int fit = 0;
  cuOccupancyMaxActiveBlocksPerMultiprocessor(&fit, f, (int)threads, g.dynamic);
  if (g.together && blocks > (uint64_t)fit * (uint64_t)emu_knob.units) {
    emu_say("kernel '%s': %llu blocks cannot be there at once, but %d", k->name,
        (unsigned long long)blocks, fit * (int)emu_knob.units);
    LEAVE(TOO_LARGE);
  }
  op *o = made(LAUNCH);
  o->fn = f, o->args = calloc(1, 4096), o->grid = g;
  for (int i = 0; i < k->nparams; i++)
    memcpy(o->args + k->params[i].at, p[i], (size_t)k->params[i].bytes);
  LEAVE(put(s, o));
}
API cuLaunchKernel(function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
    unsigned bz, unsigned dynamic, stream *s, void **p, void **extra) {
  emu_grid g = { { gx, gy, gz }, { bx, by, bz }, dynamic, false };
  return launch(f, g, s, p, extra);
}
API cuLaunchCooperativeKernel(function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
    unsigned by, unsigned bz, unsigned dynamic, stream *s, void **p) {
  emu_grid g = { { gx, gy, gz }, { bx, by, bz }, dynamic, true };
  return launch(f, g, s, p, NULL);
}

API cuGetErrorName(int e, const char **s) {
  static const struct {
    int e;
    const char *name;
  } known[] = { { 0, "CUDA_SUCCESS" }, { EMU_INVALID, "CUDA_ERROR_INVALID_VALUE" },
    { EMU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY" },
    { NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED" }, { NO_DEVICE, "CUDA_ERROR_INVALID_DEVICE" },
    { NO_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT" }, { NO_IMAGE, "CUDA_ERROR_NO_BINARY_FOR_GPU" },
    { BAD_PTX, "CUDA_ERROR_INVALID_PTX" }, { BAD_HANDLE, "CUDA_ERROR_INVALID_HANDLE" },
    { NOT_FOUND, "CUDA_ERROR_NOT_FOUND" }, { NOT_READY, "CUDA_ERROR_NOT_READY" },
    { EMU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS" },
    { EMU_LAUNCH_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" },
    { EMU_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT" },
    { EMU_MISALIGNED, "CUDA_ERROR_MISALIGNED_ADDRESS" },
    { EMU_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED" },
    { TOO_LARGE, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE" },
    { 905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION" } };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].e == e) return *s = known[i].name, 0;
  return *s = NULL, EMU_INVALID;
}
API cuGetErrorString(int e, const char **s) { return cuGetErrorName(e, s); }

/* ---- what the libraries beside this one call ---- */

/* Calls fn on the stream with a copy of n bytes. */
API emu_put(stream *s, void (*fn)(void *), const void *args, size_t n) {
  ENTER;
  op *o = made(LIBRARY);
  o->call = fn, o->n = n, o->args = memcpy(malloc(n), args, n);
  LEAVE(put(s, o));
}
/* In fn: may it read (write) n bytes at p? If not, the run fails. */
API emu_may(const char *who, const void *p, size_t n, int writes) {
  const char *wrong = watch_library(p, n, writes);
  if (!wrong) return 1;
  emu_say("%s %s: %zu bytes from %s", who, wrong, n, watch_where(p));
  fail(EMU_ILLEGAL_ADDRESS);
  return 0;
}
