/* Inside src/gpu: what a run on a device keeps, for the files that choose and run kernels. */
#ifndef TP_GPU_EXEC_H
#define TP_GPU_EXEC_H
#include "gpu/gpu.h"
#include "run/target.h"
#include "emit/emit.h"

typedef struct tp_chosen tp_chosen;
struct tp_chosen {
  tp_kernel *of;
  const tp_gkernel *fn; /* NULL: no call has chosen it yet */
  bool chosen;
  /* products: how many the device's library made; blocks: of a loop by rows; of parts, as many as
   * fit on the device */
  int64_t launches, products, blocks;
  double each;     /* seconds of an iteration, as last measured; 0: not yet */
  tp_chosen *sums; /* of a loop by rows that adds up: what is launched after it */
};

/* A call of the host that is still to be made: its copies are over when the mark is reached. env:
 * as it was then. mem: pinned, of `bytes`; a word that says whether there was a fault, and the
 * windows; at: where the first element of each lies, in bytes. */
typedef struct tp_latecall {
  tp_dreg *r;
  tp_gmem *mem;
  tp_gmark *mark;
  int64_t *env, *at, bytes;
} tp_latecall;

enum {
  TP_GPU_LATE = 4, /* calls that may wait */
  /* where a buffer's values are */
  TP_IN_HOST = 1,
  TP_IN_DEVICE = 2
};

struct tp_device {
  const tp_gdriver *driver;
  int which; /* device of the driver's */
  tp_gdev *dev;
  tp_gqueue *queue;
  tp_gmark *mark;
  int n;
  tp_chosen *kernel;
  tp_chosen **leaf; /* by position */
  /* stretches, sums and kernels of parts that any call chose; by position: the stretch that begins
   * there, for these bounds */
  TP_VEC(tp_chosen *) more;
  tp_chosen **begins;
  /* the arena, and notes (emit.h); by buffer: memory of one that lies elsewhere, its bytes */
  tp_gmem *arena, *notes, *sums, **mem;
  int64_t arena_bytes, sums_bytes, notes_bytes, *bytes;
  unsigned char *where; /* by buffer */
  int64_t *place;       /* by buffer: in the device's arena; -1: not there */
  int64_t *env;         /* bounds for which kernels were chosen, if they were */
  tp_counted *at;       /* by position: what these bounds make */
  int64_t *note;        /* of faults, on the host */
  int noting;           /* blocks that have a note of their own */
  /* ready: kernels were chosen; doubtful: kernels ran since faults were looked for; failing: an
   * error is being made */
  bool ready, doubtful, failing;
  int64_t launches, copies, copied;
  /* calls that wait, a ring; how many there were, and what was copied for them */
  tp_latecall late[TP_GPU_LATE];
  int first_late, nlate;
  int64_t late_calls, late_bytes;
};
typedef struct tp_device tp_device;

/* blocks of a loop by rows, at most, for each multiprocessor: all are there at once */
enum { TP_GPU_ROW_BLOCKS = 8 };

/* late.c */
/* Makes those that can be made now, or all, unless there was a fault before (*fault). False: the
 * run ends. */
bool tp_gpu_late_run(tp_exec *x, bool all, bool *fault);
/* 1: the call will be made; 0: it has to be made now, after all that wait; -1: the run ends. There
 * is room for one more. */
int tp_gpu_late_takes(tp_exec *x, tp_dreg *r);

/* room.c */
/* before the device reads a buffer, or writes in it too */
bool tp_gpu_reach(tp_exec *x, int buf, bool writes);
/* Refuses a run that needs more memory than the device has left. arena: bytes of it; more: of sums
 * and notes. */
bool tp_gpu_has_room(tp_exec *x, int64_t arena, int64_t more);

/* product.c */
/* Has the device's library made the leaf, if that is a product? It stays at 0 where a kernel is to
 * do it. */
bool tp_gpu_multiply(tp_exec *x, tp_dreg *r, int *products);

/* Kernel i: those of leaves and loops, then more. */
static inline tp_chosen *tp_gpu_kernel(const tp_device *d, int i) {
  return i < d->n ? &d->kernel[i] : d->more.v[i - d->n];
}

/* the buffer's bytes for these bounds */
static inline int64_t tp_gpu_bytes(const tp_exec *x, int buf) {
  return x->count[buf] > 0 ? x->count[buf] * tp_dtype_size(x->plan->bufs.v[buf]->dtype) : 0;
}

static inline tp_gplace tp_gpu_place(const tp_exec *x, int buf) {
  const tp_device *d = x->device;
  if (d->mem[buf]) return (tp_gplace){ d->mem[buf], 0 };
  return (tp_gplace){ d->arena, TP_MAX(d->place[buf], 0) };
}

/* The place among the notes of the word that says whether there was a fault. */
static inline int tp_gpu_failed_at(const tp_exec *x) { return 1 + x->plan->nsym + x->plan->bufs.n; }

/* choose.c */
/* How often the leaves of a node run in a call, and how much they do. */
typedef struct tp_amount {
  int64_t runs;
  double work;
} tp_amount;
tp_amount tp_gpu_amount(const tp_exec *x, const tp_pnode *node, const tp_counted *at);
/* The kernel of a leaf or loop, or NULL. */
tp_chosen *tp_gpu_kernel_of(const tp_device *d, const tp_pnode *node);
/* Numbers that a kernel takes at most: symbols of bounds, of loops around, of ends by data. */
int tp_gpu_numbers(const tp_exec *x);
/* SPILL and FETCH do nothing where kernels run. */
bool tp_gpu_does_nothing(const tp_pnode *x);
/* The branch that bounds decide for; NULL: none; the node itself: they decide nothing. */
const tp_pnode *tp_gpu_decided(const tp_exec *x, const tp_pnode *node);
/* How often a sequence runs, as its leaves say; 0: it has none. */
int64_t tp_gpu_most_runs(const tp_exec *x, const tp_pnode *node);
/* Is the loop, or the node itself, around x? */
bool tp_gpu_is_around(const tp_pnode *loop, const tp_pnode *x);
/* Bytes of the sums of one block. */
int64_t tp_gpu_sums(const tp_exec *x, const tp_kernel *of);
/* May the library make the leaf, if it is large? */
bool tp_gpu_is_for_library(const tp_exec *x, const tp_dreg *r);
/* Chooses leaves, loops and stretches for these bounds, of which `at` says the counts. */
void tp_gpu_choose_each(tp_exec *x);

/* join.c */
/* Chooses kernels for these bounds, and builds those that no call has chosen before. */
bool tp_gpu_choose(tp_exec *x);
#endif
