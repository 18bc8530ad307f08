/* Inside src/gpu: what a run on a device keeps, for the files that choose and run kernels. */
#ifndef TP_GPU_EXEC_H
#define TP_GPU_EXEC_H
#include "gpu/gpu.h"
#include "run/target.h"
#include "emit/emit.h"

/* Copies that the host waited for. */
typedef struct tp_gcount {
  int64_t copies, bytes;
} tp_gcount;
typedef struct tp_gstore tp_gstore; /* a device's memory of arrays (twins.c) */
/* of: NULL once the array is gone, or lies elsewhere. seen: the array's `writes` when the copy was
 * made. pins: runs that are bound to it. ahead: the array's own elements are older. count: where a
 * copy to the host counts, or NULL. */
struct tp_twin {
  tp_array *of;
  tp_gstore *store;
  tp_gmem *mem;
  int64_t bytes;
  uint64_t seen;
  int pins;
  bool ahead;
  tp_gcount *count;
  tp_twin *next, **at;
};

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
  TP_GPU_LATE = 4,     /* calls that may wait */
  TP_GPU_MISSING = -2, /* the place of a parameter that was not loaded (kernels/gpu/kernel.h) */
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
  /* the arena, and notes (emit.h); by buffer: its array's memory there, if it lies elsewhere */
  tp_gmem *arena, *notes, *sums;
  int64_t arena_bytes, sums_bytes, notes_bytes;
  tp_gstore *store;
  tp_twin **twin;
  unsigned char *where; /* by buffer */
  int64_t *place;       /* by buffer: in the device's arena; -1: not there */
  int64_t *noted;       /* places that the notes have */
  /* by buffer: does it lie in the host's memory (places.c)? all_far: all of the arena does; its
   * bytes by buffer; bytes that far ones move in a call; is_far: where the arena was taken */
  bool *far, all_far, is_far;
  int64_t *sizes, far_bytes;
  double far_moved;
  tp_gmem *far_mem;
  /* bytes of this call */
  struct {
    int64_t arena, sums, notes, far;
  } need;
  int64_t *env;   /* bounds for which kernels were chosen, if they were */
  tp_counted *at; /* by position: what these bounds make */
  int64_t *note;  /* of faults, on the host */
  int noting;     /* blocks that have a note of their own */
  /* ready: kernels were chosen; doubtful: kernels ran since faults were looked for; failing: an
   * error is being made */
  bool ready, doubtful, failing;
  /* ends by data (ends.c). By position of a LOAD: the host needs what it finds; by symbol: a kernel
   * found the end, and the host does not know it; the value that kernels read, if not */
  bool *needed, *found;
  int64_t *told;
  int64_t launches;
  tp_gcount count;
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

/* twins.c */
tp_gstore *tp_gpu_store(const tp_gdriver *driver, int which, tp_error *err);
bool tp_gpu_store_is_lost(const tp_gstore *s);
/* count: no longer there */
void tp_gpu_leave(tp_gstore *s, const tp_gcount *count);
/* The array's twin, made if `make`, bound to until tp_gpu_rest; NULL: none, or err says why. */
tp_twin *tp_gpu_twin(tp_gstore *s, tp_array *a, bool make, tp_error *err);
void tp_gpu_rest(tp_twin *t);
/* does it have the array's elements? */
bool tp_gpu_twin_is_new(const tp_twin *t);
/* It has them from now on, or not; ahead: it alone. */
void tp_gpu_twin_has(tp_twin *t, bool has, bool ahead, tp_gcount *count);
int64_t tp_gpu_spare(const tp_gstore *s); /* bytes that a run could have */
/* The queue waits for pieces of arrays that were moved. */
bool tp_gpu_after_moves(const tp_gstore *s, tp_gqueue *q, tp_error *err);

/* room.c */
/* Binds each buffer outside of the arena to its array's twin, if that is there or `make`. */
bool tp_gpu_bind(tp_exec *x, bool make);
/* before the device reads a buffer, or writes in it too */
bool tp_gpu_reach(tp_exec *x, int buf, bool writes);
/* Finds places of buffers for this call's bounds, or refuses a run that needs more memory than the
 * device has left. */
bool tp_gpu_find_room(tp_exec *x);

/* places.c */
/* Finds places (d->place), but for buffers that lie far. Gives the bytes of the device's own memory
 * that this needs (d->need). */
int64_t tp_gpu_find_places(tp_exec *x);
/* Finds places for which no more than `most` bytes are needed, if there are any. */
void tp_gpu_choose_far(tp_exec *x, int64_t most);
/* Takes the host's memory for buffers that lie far, and gives them places there. */
bool tp_gpu_take_far(tp_exec *x);

/* product.c */
/* Has the device's library made the leaf, if that is a product? It stays at 0 where a kernel is to
 * do it. */
bool tp_gpu_multiply(tp_exec *x, tp_dreg *r, int *products);

/* Was the buffer given, if it is a parameter's loaded value? */
static inline bool tp_gpu_is_there(const tp_exec *x, const tp_pbuf *b) {
  return b->kind != TP_BUF_PARAM || (x->run->params && x->run->params[b->slot]);
}

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
  if (d->twin[buf]) return (tp_gplace){ d->twin[buf]->mem, 0 };
  int64_t at = d->place[buf];
  return (tp_gplace){ d->arena, at == -1 || at == TP_GPU_MISSING ? 0 : at };
}

/* The place among the notes of the word that says whether there was a fault, and of ends. */
static inline int tp_gpu_failed_at(const tp_exec *x) { return 1 + x->plan->nsym + x->plan->bufs.n; }
static inline int tp_gpu_ends_at(const tp_exec *x) { return tp_gpu_failed_at(x) + 2; }

/* ends.c */
/* Finds which ends the host needs, once kernels are chosen. */
void tp_gpu_find_needed(tp_exec *x);
/* Nothing was told yet. */
void tp_gpu_ends_begin(tp_exec *x);
/* The host has run a LOAD of symbol `var`. */
void tp_gpu_loaded(tp_exec *x, int var);
/* Before a launch: tells kernels the ends that the host knows. After it: asks for those that the
 * host needs. */
bool tp_gpu_tell_ends(tp_exec *x);
bool tp_gpu_take_ends(tp_exec *x, const tp_kernel *of);
/* Where a loop left that ends by data: the value of its variable. */
bool tp_gpu_left_at(tp_exec *x, const tp_pnode *loop, int64_t *at);

/* choose.c */
/* How often the leaves of a node run in a call, and how much they do. */
typedef struct tp_amount {
  int64_t runs;
  double work;
} tp_amount;
tp_amount tp_gpu_amount(const tp_pnode *node, const tp_counted *at);
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
