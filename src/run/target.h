/* What a target sees of a running plan, and gives: functions of regions. A run makes each region
 * ready once: every expression becomes a tp_dx. New bounds bind it: expressions over bounds become
 * numbers, over loop variables linear forms if they are, windows get extents and strides, kernels
 * their loops. A region whose extents or strides mention loop variables (dynamic) is bound at each
 * execution; the others only find their offsets. */
#ifndef TP_TARGET_H
#define TP_TARGET_H
#include "run/run.h"

/* p: element 0; strides in elements; leading axes first */
typedef struct tp_view {
  void *p;
  int rank;
  int64_t shape[TP_MAXRANK], stride[TP_MAXRANK];
} tp_view;
int64_t tp_view_count(const tp_view *v);
bool tp_view_dense(const tp_view *v);
void tp_view_strides(tp_view *v); /* row major */
/* row major, but for axes that do not move; gives the number of elements */
int64_t tp_dense_strides(tp_view *v);
tp_view tp_view_part(const tp_view *v, int axis, int64_t lo, int64_t n, int size);
tp_view tp_view_spatial(const tp_view *v, int nlead);
/* its shape over dense elements */
tp_view tp_view_dense_as(const tp_view *like, void *p);

/* ---- expressions ---- value = c + sum of coef * env[sym], or tp_ix_evalq */
typedef struct tp_dxterm {
  int64_t coef;
  int sym;
} tp_dxterm;
typedef struct tp_dx {
  const tp_ix *e;
  bool var, generic;
  int n;
  int64_t c;
  tp_dxterm *t;
} tp_dx;
tp_dx tp_dx_new(tp_arena *a, const tp_ix *e); /* NULL is 0 */
void tp_dx_bind(tp_dx *d, const int64_t *env);
static inline int64_t tp_dx_get(const tp_dx *d, const int64_t *env) {
  if (d->generic) return tp_ix_evalq(d->e, env);
  uint64_t v = (uint64_t)d->c;
  for (int i = 0; i < d->n; i++) v += (uint64_t)d->t[i].coef * (uint64_t)env[d->t[i].sym];
  return (int64_t)v;
}

/* ---- operands ---- */
typedef struct tp_dring {
  tp_dx idx, width, stride;
  int64_t w, s;
} tp_dring;
typedef struct tp_dnd {
  int buf;
  tp_dtype dtype;
  int size; /* buf < 0: an unused result */
  tp_dx off;
  int nring, nlive;
  tp_dring *ring; /* live ones, of width > 1, first */
  int rank;
  tp_dx *shape, *stride; /* leading axes first */
  bool ragged;           /* extents or strides mention loop variables */
  int wrap;
  tp_dx wlo, wmod; /* the view's axis on a ring; -1 */
  tp_view v;       /* p: anew by each execution */
} tp_dnd;

/* next: the execution to time next; first, later: seconds of the first executions, and of nlater
 * timed ones after them, without waits for a processor; most: the longest of these; ran: the
 * thread's time when last asked before the timed execution. */
typedef struct tp_clock {
  int64_t calls, next, nlater;
  double first, later, most, ran;
} tp_clock;
typedef struct tp_dreg tp_dreg;
typedef struct tp_watch tp_watch;
struct tp_dreg {
  const tp_region *rg;
  bool (*bind)(tp_exec *x, tp_dreg *r); /* may be NULL */
  bool (*run)(tp_exec *x, tp_dreg *r);
  int nin, nout, nnd, nlead, npoint; /* npoint: axes that are dims */
  tp_dnd *in, *out;                  /* inputs, then outputs, in one array */
  /* halved: its f32 goes on into a 16-bit float */
  bool dynamic, wrapped, halved;
  tp_dx *lead, *leadlo, *ix, *coord;
  int pos;
  tp_clock *clock;
  struct tp_watch *watch;
  /* 1 + the parameter, of a PINIT and of the leaf that makes what it takes; else 0 */
  int first;
  void *k; /* tp_ew, tp_dcall, ... */
};

/* ---- the table ---- */
typedef struct tp_speed {
  double bytes, flops;
} tp_speed; /* a second */
struct tp_target {
  bool (*open)(tp_exec *x);             /* before any region is made */
  void (*make)(tp_exec *x, tp_dreg *r); /* functions for a LOOP, OP or PINIT */
  bool (*ready)(tp_exec *x);            /* all regions are made */
  void (*close)(tp_exec *x);            /* also where open failed or never was */
  /* both bound: does the part make the whole's bits? */
  bool (*alike)(const tp_exec *x, const tp_dreg *whole, const tp_dreg *part);
  /* one shape; either may lie on a ring */
  void (*copy)(const tp_exec *x, int size, const tp_dnd *out, const tp_dnd *in);
  /* rows x n elements: o[i * orow + j] = a[j * arow + i] */
  void (*turn)(
      int size, void *o, int64_t orow, const void *a, int64_t arow, int64_t rows, int64_t n);
  /* memory read and written, products of f32, at most; 0: unknown */
  const tp_speed *(*speed)(void);
};

struct tp_exec {
  const tp_plan *plan;
  const tp_target *target;
  tp_arena a; /* until it is freed */
  void *own;
  tp_run *run;
  tp_error *err; /* of the run in progress */
  int nsym;
  int64_t *env; /* the running cursor's */
  int nbound;
  int *bound;
  bool bound_once; /* ids of bounds */
  char **base;
  int64_t *count; /* by buffer: first element, number of elements */
  int nreg;
  tp_dreg **reg, **regat; /* in order; by position */
  /* by buffer: position after which nothing writes it */
  int *written;
  char *work, *workend; /* the rest of the region's work buffer */
  /* a team's thread: where its regions work; else NULL */
  char *room;
  /* team.c; NULL: none */
  struct tp_workers *workers;
  /* by buffer: a parameter's first value is there (first.c) */
  bool *begun;
  /* by output: the PINIT whose array it may be; its buffer; the buffer with its newest value. NULL,
   * -1: none */
  tp_dreg **lender;
  int *last, *holder;
  /* running: loop variables are set; placed: buffers lie as in the latest run */
  bool poison, running, cancelled, placed;
  /* positions of an early end, and the last that may be half done; -1 */
  int ended, torn;
  /* code with clocks: it is timed, since then */
  double entered;
  bool timed;
  /* seconds that this thread has run, and when that was asked; 0: maybe another thread */
  double ran, looked;
  struct tp_store *mem;
  struct tp_flow *flow;
};

/* "class: 'h' at t = 3: text". lead: place along the leading axes; axis: along rg->along. */
bool tp_rfail(tp_exec *x, const tp_dreg *r, tp_code code, const char *fmt, ...) TP_PRINTF(4, 5);
bool tp_rfail_at(tp_exec *x, const tp_dreg *r, const int64_t *lead, tp_code code, const char *fmt,
    ...) TP_PRINTF(5, 6);
bool tp_rfail_on(tp_exec *x, const tp_dreg *r, const int64_t *lead, const int64_t *axis,
    tp_code code, const char *fmt, ...) TP_PRINTF(6, 7);
/* Integers without a value: TP_K_DIVZERO, TP_K_NEGPOW, or 3: the least or greatest of none. */
bool tp_rfault(tp_exec *x, const tp_dreg *r, const int64_t *lead, int what);
/* false: ends the run here without an error */
bool tp_dreg_cancelled(tp_exec *x, const tp_dreg *r);
/* Aligned, until the region ends, in its work buffer; NULL: error. */
void *tp_work(tp_exec *x, const tp_dreg *r, int64_t count, int64_t size);

/* for this execution */
static inline void tp_dnd_place(const tp_exec *x, tp_dnd *d) {
  int64_t o = tp_dx_get(&d->off, x->env);
  for (int i = 0; i < d->nlive; i++) {
    const tp_dring *r = &d->ring[i];
    int64_t at = tp_dx_get(&r->idx, x->env);
    if ((uint64_t)at >= (uint64_t)r->w) at = tp_floormod(at, r->w);
    o += at * r->s;
  }
  d->v.p = x->base[d->buf] + o * d->size;
}
#endif
