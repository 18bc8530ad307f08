/* A target's view of a plan that runs, to which it gives the functions of regions.
 *
 * A run makes each region ready once: every expression becomes a tp_dx. When bounds change it
 * binds: expressions over bounds become numbers, those that are linear in loop variables become
 * linear forms, windows get extents and strides, kernels their loops. A region whose extents or
 * strides mention loop variables (dynamic) is bound again each time it runs. Each execution finds
 * the offsets only. */
#ifndef TP_TARGET_H
#define TP_TARGET_H
#include "run/run.h"

/* ---- windows (view.c) ---- */
/* p at element 0 of the window; strides in elements; leading axes first */
typedef struct tp_view {
  void *p;
  int rank;
  int64_t shape[TP_MAXRANK], stride[TP_MAXRANK];
} tp_view;
int64_t tp_view_count(const tp_view *v);
bool tp_view_dense(const tp_view *v);
void tp_view_strides(tp_view *v); /* row major */
/* Row major, but axes that do not move stay so: elements that are one stay one. Returns how many
 * elements there are. */
int64_t tp_dense_strides(tp_view *v);
tp_view tp_view_part(const tp_view *v, int axis, int64_t lo, int64_t n, int size);
tp_view tp_view_spatial(const tp_view *v, int nlead); /* without the leading axes */
/* a view of that shape over dense elements */
tp_view tp_view_dense_as(const tp_view *like, void *p);

/* ---- expressions (expr.c) ---- value = c + sum of coef * env[sym], or tp_ix_evalq */
typedef struct tp_dxterm {
  int64_t coef;
  int sym;
} tp_dxterm;
typedef struct tp_dx {
  tp_ix *e;
  bool var, generic;
  int n;
  int64_t c;
  tp_dxterm *t;
} tp_dx;
tp_dx tp_dx_new(tp_arena *a, tp_ix *e); /* NULL is 0 */
void tp_dx_bind(tp_dx *d, const int64_t *env);
static inline int64_t tp_dx_get(const tp_dx *d, const int64_t *env) {
  if (d->generic) return tp_ix_evalq(d->e, env);
  uint64_t v = (uint64_t)d->c;
  for (int i = 0; i < d->n; i++) v += (uint64_t)d->t[i].coef * (uint64_t)env[d->t[i].sym];
  return (int64_t)v;
}

/* ---- operands (resolve.c) ---- */
typedef struct tp_dring {
  tp_dx idx, width, stride;
  int64_t w, s;
} tp_dring;
typedef struct tp_dnd {
  int buf;
  tp_dtype dtype;
  int size; /* buf < 0: the result is not wanted */
  tp_dx off;
  int nring, nlive;
  tp_dring *ring; /* live: of width > 1, first */
  int rank;
  tp_dx *shape, *stride; /* the region's leading axes first */
  bool ragged;           /* extents or strides mention loop variables */
  int wrap;
  tp_dx wlo, wmod; /* wrap: axis of the view that lies on a ring; -1 */
  tp_view v;       /* p: found anew by each execution */
} tp_dnd;

/* ---- regions ---- */
/* next: number of the execution that is timed next. first, later: seconds of the first executions,
 * and of the nlater timed ones after them, without waits for a processor; most: the longest of
 * these. ran: how long the thread had run when its clock was last read before the execution, at the
 * time `looked`; looks: it was read right before, so the next execution is timed. */
typedef struct tp_clock {
  bool looks;
  int64_t calls, next, nlater;
  double first, later, most, ran, looked;
} tp_clock;
typedef struct tp_dreg tp_dreg;
typedef struct tp_watch tp_watch;
struct tp_dreg {
  const tp_region *rg;
  bool (*bind)(tp_exec *x, tp_dreg *r); /* may be NULL */
  bool (*run)(tp_exec *x, tp_dreg *r);
  int nin, nout, nnd, nlead, npoint; /* npoint: axes that are dims */
  tp_dnd *in, *out;                  /* one array: inputs, then outputs */
  /* halved: its results in f32 are narrowed to a 16-bit float */
  bool dynamic, wrapped, halved;
  tp_dx *lead, *leadlo, *ix, *coord;
  int pos;
  tp_clock *clock;
  struct tp_watch *watch; /* of a region that is checked */
  /* of a PINIT, and of the leaf that makes its operand: 1 + the parameter; else 0 */
  int first;
  void *k; /* data of its functions: tp_ew, tp_dcall, ... */
};

/* ---- the table ---- */
typedef struct tp_speed {
  double bytes, flops;
} tp_speed; /* a second */
struct tp_target {
  bool (*open)(tp_exec *x);             /* before any region is made */
  void (*make)(tp_exec *x, tp_dreg *r); /* gives a LOOP, OP or PINIT its functions */
  bool (*ready)(tp_exec *x);            /* all regions are made */
  void (*close)(tp_exec *x);            /* also where open failed, or never was */
  /* does the part make the bits that the whole makes there? Both are bound */
  bool (*alike)(const tp_exec *x, const tp_dreg *whole, const tp_dreg *part);
  /* copies elements of one shape; either window may lie on a ring */
  void (*copy)(const tp_exec *x, int size, const tp_dnd *out, const tp_dnd *in);
  /* rows x n elements: o[i * orow + j] = a[j * arow + i] */
  void (*turn)(
      int size, void *o, int64_t orow, const void *a, int64_t arow, int64_t rows, int64_t n);
  /* the machine's most: memory read and written, products of f32; 0: not known */
  const tp_speed *(*speed)(void);
};

/* ---- a device with memory of its own, beside the target, which runs what the device does not ----
 */
struct tp_offload {
  /* before any region is made; makes x->device, also where it fails later */
  bool (*open)(tp_exec *x, const struct tp_gdriver *driver, int which);
  void (*close)(tp_exec *x);
  bool (*begin)(tp_exec *x); /* a run begins, its buffers have their places */
  /* 1: the device runs the region, now or later; 0: the host may, and sees its buffers; -1: the
   * run ends with an error */
  int (*takes)(tp_exec *x, tp_dreg *r);
  /* the same of a loop, from one value of its variable to its end */
  int (*loop)(tp_exec *x, const tp_pnode *loop, int64_t from, int64_t end);
  /* the same of neighbours in the plan: up to *last, which it gives */
  int (*stretch)(tp_exec *x, const tp_pnode *first, const tp_pnode **last);
  /* the host reads the buffer, or writes in it too */
  bool (*see)(tp_exec *x, int buf, bool writes);
  void (*loaded)(tp_exec *x, int var);       /* the host has run a LOAD of that symbol */
  bool (*settle)(tp_exec *x, bool over);     /* the host has all outputs; over: so is the run */
  void (*tell)(const tp_exec *x, tp_buf *b); /* what runs where (explain) */
};

struct tp_exec {
  const tp_plan *plan;
  const tp_target *target;
  tp_arena a;                /* until it is freed */
  void *own;                 /* the target's */
  const tp_offload *offload; /* NULL: there is no device */
  struct tp_device *device;  /* what it keeps; NULL: there is none, or it is not open */
  tp_run *run;
  tp_error *err; /* of the run in progress */
  int nsym;
  int64_t *env; /* of the cursor that runs */
  int nbound;
  int *bound;
  bool bound_once; /* ids of bounds */
  char **base;
  int64_t *count; /* every buffer: its first element, its elements */
  /* by buffer: where the rows of its array begin, in elements from base (NULL: it is dense); the
   * dense copy of another input that was given by rows, or NULL */
  const int64_t **rows;
  tp_array **copied;
  int nreg;
  tp_dreg **reg, **regat; /* in order; by position */
  /* by buffer: position after which nothing writes it */
  int *written;
  char *work, *workend; /* what is left of the region's work buffer */
  /* the thread of a team that runs this exec; else NULL */
  struct tp_worker *worker;
  char *room;
  /* the threads that share teams (team.c); NULL: none */
  struct tp_workers *workers;
  /* by buffer: was a parameter's first value put there? (first.c) */
  bool *begun;
  /* by output: the PINIT whose array it may be; its buffer, and the one that holds its newest
   * value. NULL, -1: none */
  tp_dreg **lender;
  int *last, *holder;
  /* running: loop variables have their values; placed: buffers lie as the latest run put them */
  bool poison, running, cancelled, placed;
  /* positions ended .. torn may be half done, because the run ended early there; -1 */
  int ended, torn;
  /* code with clocks: when the timed execution that goes on began */
  double entered;
  bool timed;
  /* seconds that this thread had run at time `looked` (run/profile.c); 0: that may have been
   * another thread */
  double ran, looked;
  /* where buffers lie; where it stands (run/priv.h) */
  struct tp_store *mem;
  struct tp_flow *flow;
};

/* Fails with "class: 'h' at t = 3: text". lead: place of the point along the nlead leading axes;
 * tp_rfail knows none. axis: NULL, or the place along the axes of rg->along. */
bool tp_rfail(tp_exec *x, const tp_dreg *r, tp_code code, const char *fmt, ...) TP_PRINTF(4, 5);
bool tp_rfail_at(tp_exec *x, const tp_dreg *r, const int64_t *lead, const int64_t *axis,
    tp_code code, const char *fmt, ...) TP_PRINTF(6, 7);
/* Fails because an integer has no value: TP_K_DIVZERO, TP_K_NEGPOW, or 3: the least or greatest of
 * none. */
bool tp_rfault(tp_exec *x, const tp_dreg *r, const int64_t *lead, int what);
/* false: the run ends at this region without an error */
bool tp_dreg_cancelled(tp_exec *x, const tp_dreg *r);
/* Aligned memory until the region ends, in its work buffer; NULL (and the error filled): none
 * left. */
void *tp_work(tp_exec *x, const tp_dreg *r, int64_t count, int64_t size);

/* runs it, also in a cancelled run (region.c) */
bool tp_dreg_here(tp_exec *x, tp_dreg *r);

/* The array in which the buffer lies; NULL: there is none. */
tp_array *tp_exec_array(const tp_exec *x, const tp_pbuf *b);
/* The buffer's place in the arena (-1: it has none), and the arena's bytes. */
int64_t tp_arena_place(const tp_exec *x, int buf);
int64_t tp_arena_bytes(const tp_exec *x);
bool tp_arena_spills(const tp_exec *x); /* some buffers lie in a file instead */

/* Before the host reads a buffer, or writes in it too. */
static inline bool tp_see(tp_exec *x, int buf, bool writes) {
  return !x->device || x->offload->see(x, buf, writes);
}

/* Is window w of the cut region the share's own, where symbols are between lo and hi? step: how far
 * it moves from one place of the share to the next. Shares with own windows of one step on a buffer
 * never meet in it (meet.c). */
bool tp_cut_is_own(const int64_t *lo, const int64_t *hi, const tp_region *r, const tp_cut *c, int w,
    int64_t *step);

/* The element of its buffer at which the operand begins in this execution; finds its place. */
static inline int64_t tp_dnd_begin(const tp_exec *x, const tp_dnd *d) {
  int64_t o = tp_dx_get(&d->off, x->env);
  const int64_t *rows = x->rows[d->buf];
  for (int i = 0; i < d->nlive; i++) {
    const tp_dring *r = &d->ring[i];
    int64_t at = tp_dx_get(&r->idx, x->env);
    if ((uint64_t)at >= (uint64_t)r->w) at = tp_floormod(at, r->w);
    o += rows ? rows[at] : at * r->s;
  }
  return o;
}
static inline void tp_dnd_place(const tp_exec *x, tp_dnd *d) {
  d->v.p = x->base[d->buf] + tp_dnd_begin(x, d) * d->size;
}
#endif
