/* gpu: runs plans on devices. Rank 10.
 *
 * A driver is a table of functions that both kinds of device have: cuda.c (the driver API, NVRTC,
 * cuBLAS) and opencl.c. Each opens its libraries at run time, so that one build serves machines
 * with and without a device. choose.c chooses the pieces of a plan that become kernels,
 * exec.c runs them beside the interpreter; emit/kernel prints their text.
 *
 * Work on a queue runs in order. Queues run beside each other unless a mark joins them. Functions
 * that return bool or a pointer fill err where they fail: class device, or memory where the device
 * has too little of it; the text names the library, and which version was wanted. A fault of the
 * device (a lost device, a kernel that left its memory) shows at the next call that waits. */
#ifndef TP_GPU_H
#define TP_GPU_H
#include "run/run.h"

typedef struct tp_gdev tp_gdev;       /* an opened device */
typedef struct tp_gmem tp_gmem;       /* its memory, or memory of the host that it can copy */
typedef struct tp_gmodule tp_gmodule; /* kernels that were built together */
typedef struct tp_gkernel tp_gkernel;
typedef struct tp_gqueue tp_gqueue;
typedef struct tp_gmark tp_gmark;

/* The device's own memory; the host's that can be copied, to which `host` points; the host's that
 * kernels read and write, for us as the device's own. */
typedef enum tp_gside { TP_G_NEAR, TP_G_PINNED, TP_G_FAR } tp_gside;

/* off: bytes. Kernels take it as a pointer, or as two parameters, a pointer and this offset, where
 * the device has no pointers into buffers (OpenCL). */
typedef struct tp_gplace {
  tp_gmem *mem;
  int64_t off;
} tp_gplace;

/* The device's facts. arch: what its compiler is asked for ("sm_90"). units: multiprocessors.
 * warp: threads that go together. threads: most in a block. local: bytes of memory that a block
 * shares, at most; memory, most: bytes of all of it, and of one tp_gmem; parameters: bytes that a
 * kernel's take at most. ieee: are division and square root of f32 rounded to nearest, and
 * subnormal numbers kept? together: may blocks of a launch
 * wait for each other? pointers: is a place one parameter, and may it lie beyond its memory, in
 * another? */
typedef struct tp_gspec {
  char name[96], arch[24];
  int units, warp, threads, parameters;
  int64_t memory, most, local;
  bool f64, i64_atomics, ieee, together, pointers;
} tp_gspec;

/* The needs of a kernel. spilled: bytes of registers in memory; fit: blocks of `threads` threads at
 * once on the whole device; -1: the driver cannot tell. */
typedef struct tp_gneeds {
  int registers, spilled, fit;
  int64_t local;
} tp_gneeds;

/* Parameters of a kernel are its places, then its numbers. together: all blocks are
 * there at once, as many as fit (tp_gneeds). */
typedef struct tp_glaunch {
  const tp_gkernel *kernel;
  int blocks, threads;
  int nplace;
  const tp_gplace *place;
  int nnum;
  const int64_t *num;
  bool together;
} tp_glaunch;

/* c (m x n) = a (m x k) b (k x n), or added to it: batches of row-major matrices of one float
 * dtype, the result also in f32; rows lie lda, .. elements apart, matrices stride_a, .. ; turned:
 * stored as its transpose.
 */
typedef struct tp_gproduct {
  tp_dtype dtype, made;
  int64_t m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, stride_c;
  bool turned_a, turned_b, adds;
  tp_gplace a, b, c;
} tp_gproduct;

/* Bytes from the begin of b to that of a, on a device with pointers. */
int64_t tp_gpu_apart(const tp_gmem *a, const tp_gmem *b);

typedef struct tp_gdriver {
  const char *name; /* what compile{ device = } and TEMPO_DEVICE say */
  /* How many devices there are; with `which` below that, fills *to. why: one line that says why
   * there is none, or what device `which` lacks so that it cannot be opened; else empty. */
  int (*find)(int which, tp_gspec *to, tp_buf *why);
  tp_gdev *(*open)(int which, tp_error *err);
  void (*close)(tp_gdev *d); /* and all that was made with it */
  /* Did it fail so that nothing made with it is of use any more? One that is opened then is. */
  bool (*lost)(const tp_gdev *d);
  const tp_gspec *(*spec)(const tp_gdev *d);
  int64_t (*left)(tp_gdev *d); /* bytes of its memory that are free now */
  tp_gmem *(*take)(tp_gdev *d, int64_t bytes, tp_gside side, tp_error *err);
  void (*drop)(tp_gmem *m); /* waits for work that may use it; NULL */
  char *(*host)(tp_gmem *m);
  /* From the cache of native code if it is there. The compiler's log stands in the error. */
  tp_gmodule *(*build)(tp_gdev *d, const char *text, tp_error *err);
  const tp_gkernel *(*kernel)(tp_gmodule *m, const char *name, tp_error *err);
  void (*needs)(const tp_gkernel *k, int threads, tp_gneeds *to);
  tp_gqueue *(*queue)(tp_gdev *d, tp_error *err);
  bool (*launch)(tp_gqueue *q, const tp_glaunch *l, tp_error *err);
  /* between a memory of the device and another, or a pinned one; does not wait */
  bool (*copy)(tp_gqueue *q, tp_gplace to, tp_gplace from, int64_t bytes, tp_error *err);
  /* n pieces of so many bytes, each `step` bytes behind the one before, within the device's memory
   */
  bool (*lines)(tp_gqueue *q, tp_gplace to, int64_t to_step, tp_gplace from, int64_t from_step,
      int64_t bytes, int64_t n, tp_error *err);
  /* from or to any memory of the host; waits until it may be used again */
  bool (*put)(tp_gqueue *q, tp_gplace to, const void *from, int64_t bytes, tp_error *err);
  bool (*get)(tp_gqueue *q, void *to, tp_gplace from, int64_t bytes, tp_error *err);
  /* fill: of the device's memory */
  bool (*fill)(tp_gqueue *q, tp_gplace to, int byte, int64_t bytes, tp_error *err);
  /* All work on q so far is over when the mark is reached. again: a mark to use anew, or NULL. */
  tp_gmark *(*mark)(tp_gqueue *q, tp_gmark *again, tp_error *err);
  bool (*after)(tp_gqueue *q, const tp_gmark *m, tp_error *err); /* q waits for it */
  /* 1: it is reached; 0: not yet (unless wait); -1: the device failed */
  int (*reached)(tp_gmark *m, bool wait, tp_error *err);
  /* *did false: no library, or the product is too small for one; ours does it */
  bool (*product)(tp_gqueue *q, const tp_gproduct *p, bool *did, tp_error *err);
} tp_gdriver;
extern const tp_gdriver tp_cuda, tp_opencl;
extern const tp_offload tp_on_device; /* plans run there (exec.c) */
#endif
