/* Inside src/device: a plan made ready to run.
 *
 * tp_exec_new compiles each region: every expression becomes a tp_dx. When bounds change, tp_exec_run binds: expressions over bounds become numbers, those over
 * loop variables become linear forms where they are ones, windows get extents and strides, kernels their loops. A region whose extents or strides mention loop
 * variables (dynamic) is bound again each time it runs. What is left for each execution are the offsets. */
#ifndef TP_DEVICE_PRIV_H
#define TP_DEVICE_PRIV_H
#include "device/device.h"
#include "device/kernels.h"

/* ---- expressions (expr.c) ---- value = c + sum of coef * env[sym], or tp_ix_evalq */
typedef struct tp_dxterm { int64_t coef; int sym; } tp_dxterm;
typedef struct tp_dx { const tp_ix *e; bool var, generic; int n; int64_t c; tp_dxterm *t; } tp_dx;
tp_dx tp_dx_new(tp_arena *a, const tp_ix *e);                  /* NULL is 0 */
void tp_dx_bind(tp_dx *d, const int64_t *env);
static inline int64_t tp_dx_get(const tp_dx *d, const int64_t *env) {
  if (d->generic) return tp_ix_evalq(d->e, env);
  uint64_t v = (uint64_t)d->c;
  for (int i = 0; i < d->n; i++) v += (uint64_t)d->t[i].coef * (uint64_t)env[d->t[i].sym];
  return (int64_t)v;
}

/* ---- operands (resolve.c) ---- */
typedef struct tp_dring { tp_dx idx, width, stride; int64_t w, s; } tp_dring;
typedef struct tp_dnd {
  int buf; tp_dtype dtype; int size;            /* buf < 0: nobody wants this result */
  tp_dx off; int nring, nlive; tp_dring *ring;  /* live: of width > 1, first */
  int rank; tp_dx *shape, *stride;              /* the region's leading axes first */
  bool ragged;                                  /* extents or strides mention loop variables */
  int wrap; tp_dx wlo, wmod;                    /* axis of the view that lies on a ring; -1 */
  tp_view v;                                    /* p: found anew by each execution */
} tp_dnd;

/* ---- regions ---- */
/* next: the execution that is timed next. first, later: seconds of the first executions and of the nlater timed ones after them. */
typedef struct tp_clock { int64_t calls, next, nlater; double first, later; } tp_clock;
typedef struct tp_dreg tp_dreg;
typedef struct tp_watch tp_watch;
struct tp_dreg {
  const tp_region *rg;
  bool (*bind)(tp_exec *x, tp_dreg *r);         /* may be NULL */
  bool (*run)(tp_exec *x, tp_dreg *r);
  int nin, nout, nnd, nlead, npoint;            /* npoint: axes that are dims */
  tp_dnd *in, *out;                             /* one array: inputs, then outputs */
  bool dynamic, wrapped, halved;                /* halved: what it makes in f32 goes on into a 16-bit float */
  tp_dx *lead, *leadlo, *ix, *coord, row;
  bool far, inrow;                              /* inrow: in the loop of the first tick dim */
  int pos;
  tp_clock clock;
  struct tp_watch *watch;                       /* of a region that is checked */
  void *k;                                      /* what the kernel keeps: tp_ew, tp_dcall, ... */
};

/* Ends by data: whether a row is there (tp_rows), and the greatest end of those which are. */
typedef struct { tp_dx at, given; int along; tp_dnd nd; } tp_drows;
typedef struct { tp_dnd nd; int nrow; tp_drows *rows; } tp_dend;

/* ---- the plan's tree laid out flat (flow.c): where a run is, is an instruction and the values of the loop variables ---- */
typedef enum { TP_I_REGION, TP_I_SHOW, TP_I_TICK, TP_I_FOR, TP_I_NEXT, TP_I_IF, TP_I_JUMP, TP_I_LOAD, TP_I_SPILL, TP_I_FETCH } tp_dop;   /* SHOW: a region that gives a point of an output away */
typedef enum { TP_TEST_TRUE, TP_TEST_GE0, TP_TEST_EQ0 } tp_dtest;
typedef struct tp_inst {
  tp_dop op; tp_dtest test;                     /* IF: what must hold of cond's value */
  int to;                                       /* FOR: behind its NEXT; NEXT: the first of the body; IF: where to go on if not; JUMP */
  int up;                                       /* the FOR around it; -1: none */
  int var, step, way; bool made;                /* SPILL, FETCH: var is the buffer */
  tp_dx lo, hi, cond;                           /* FOR, NEXT: hi is looked at in each iteration; LOAD: hi is the bound given; SPILL, FETCH: hi rows from lo on */
  int pos;                                      /* of the next region from here on, in the plan's positions */
  int part, behind;                             /* a part of the plan begins here: its number, from 1 on, and the instruction behind it; 0: none */
  tp_dreg *rg;
  tp_dend *end; bool beyond;                    /* LOAD; beyond: outside the loop of the first tick dim, where some of what it looks at may have been left */
} tp_inst;
#define TP_WAY(dim, inner) (2 * (dim) + 2 + (inner))   /* in which a buffer may lie in the file */
/* Somebody who goes through the instructions. Where dims end by data, one who comes later may meet fewer regions. pos: of the last one run. */
typedef struct tp_cursor { int pc, pos; int64_t *env; } tp_cursor;

struct tp_exec {
  const tp_plan *plan;
  tp_arena a;
  const tp_kernels *K;
  int threads;
  tp_run *run; tp_error *err;                   /* of the run in progress */
  int nsym; int64_t *env;
  int nbound; int *bound;                       /* ids of bounds */
  bool bound_once;
  int64_t *offset; int64_t total; char *arena;  /* TEMP buffers */
  tp_spilled *spilled; char *mapping, *map; int64_t mapsize;     /* by buffer; the file, mapped: all that was reserved, its begin */
  int64_t page, grain; bool populates;          /* bytes that are mapped and counted together; pages can be mapped ahead */
  int64_t beside;                               /* bytes of it that are mapped at a time, at most */
  unsigned char *touched; int64_t ntouched, mosttouched;        /* where poisoned: its grains, and how many of them, are mapped */
  int64_t top;                                  /* where poisoned: the end of what was used */
  char **base; int64_t *count;                  /* every buffer: its first element, its elements */
  int *written; bool cancelled;                 /* position after which nothing writes the buffer */
  int ninst; tp_inst *inst;
  const tp_inst **loadat;                       /* by position: a LOAD */
  int npart, parting, partat; tp_part *part;    /* while laying out: the part that comes next, where it begins */
  tp_native *const *native;                     /* by part; NULL: not compiled */
  tp_cursor front, back;                        /* split: front leaves the regions that can wait (tp_region.far) to back, which follows behind it */
  bool split, inback; int64_t backrow;          /* all far regions of rows below that are done */
  int nshown;                                   /* since the last tick */
  int later;                                    /* going on with larger bounds: the instruction from which on what is written is taken from the state */
  int npos, around;                             /* while laying out: the plan's next position, the FOR around it */
  int nreg; tp_dreg **reg, **regat;             /* in order; by position */
  char *scratch; size_t scratch_size;           /* blocks of elementwise chains */
  int64_t work_at, work_end;                    /* what is left of the region's work buffer */
  bool poison, running;                         /* running: loop variables have their values */
};

/* "class: 'h' at t = 3: text". lead: place of the point along the leading axes, nlead of them; tp_rfail knows none. axis: place along the axes of rg->along. */
bool tp_rfail(tp_exec *x, const tp_dreg *r, tp_code code, const char *fmt, ...) TP_PRINTF(4, 5);
bool tp_rfail_at(tp_exec *x, const tp_dreg *r, const int64_t *lead, tp_code code, const char *fmt, ...) TP_PRINTF(5, 6);
bool tp_rfail_on(tp_exec *x, const tp_dreg *r, const int64_t *lead, const int64_t *axis, tp_code code, const char *fmt, ...) TP_PRINTF(6, 7);
/* Integers that have no value: TP_K_DIVZERO, TP_K_NEGPOW, or 3: the least or greatest of none. */
bool tp_rfault(tp_exec *x, const tp_dreg *r, const int64_t *lead, int what);
bool tp_dreg_cancelled(tp_exec *x, const tp_dreg *r);          /* false: the run ends at this region without an error */
/* Aligned memory until the region ends, in its work buffer; NULL (and the error filled): none left. */
void *tp_work(tp_exec *x, const tp_dreg *r, int64_t count, int64_t size);

/* native.c */
bool tp_native_takes(const tp_exec *x, const tp_inst *i, const tp_goal *g);    /* does a compiled part begin here, and may it run? */
bool tp_native_run(tp_exec *x, const tp_inst *i);
/* watch.c */
void tp_watch_new(tp_exec *x, tp_dreg *r);                     /* takes the place of r->run */
void tp_watch_free(tp_dreg *r);
/* exec.c */
tp_dreg *tp_dreg_new(tp_exec *x, const tp_pnode *p, tp_error *err);
bool tp_dreg_execute(tp_exec *x, tp_dreg *r);
bool tp_dreg_run(tp_exec *x, tp_dreg *r);                      /* the same by the clock; profile.c */
/* flow.c */
bool tp_flow_new(tp_exec *x, tp_error *err);                   /* lays the plan out */
void tp_flow_bind(tp_exec *x);
tp_stand tp_flow_run(tp_exec *x, const tp_goal *g);
bool tp_flow_catch_up(tp_exec *x, double until);               /* back, to where front is or until that time */
void tp_flow_begin(tp_exec *x);
void tp_flow_settle(tp_exec *x, tp_cursor *c);                 /* to the next region or tick */
/* Is the cursor at a place where its loop variables may have their values? */
bool tp_flow_possible(const tp_exec *x, const tp_cursor *c);
/* Goes from the start to where so many regions and ticks are behind it, running none. False: there is no such place. */
bool tp_flow_before(const tp_exec *x, const tp_cursor *a, const tp_cursor *b);

/* longer.c: a state of smaller bounds, in a plan in which dims end by data */
/* Runs what lies before the first tick, and goes to the tick at this point; false: what ran there is not the same for both bounds. */
bool tp_longer_takes(const tp_exec *x, int buf);               /* is it written after the first tick? */
bool tp_longer_buffer(tp_exec *x, const tp_pbuf *b, const int64_t *was, tp_reader *r, size_t n);
void tp_longer_ends(tp_exec *x);                               /* as the buffers say */

/* resolve.c */
void tp_dreg_windows(tp_exec *x, tp_dreg *r);                  /* compiles operands; sets dynamic, wrapped */
tp_drows *tp_drows_new(tp_exec *x, int n, const tp_rows *rows);
void tp_drows_bind(tp_drows *r, int n, const int64_t *env);
void tp_drows_place(const tp_exec *x, tp_drows *r);            /* before tp_drows_there */
bool tp_drows_there(const tp_exec *x, const tp_drows *r, int naxis, const tp_walk *at);         /* the row `at` of so many axes */
tp_dend *tp_dend_new(tp_exec *x, const tp_pnode *load);
int64_t tp_dend_most(const tp_exec *x, tp_dend *e, int64_t given);             /* the greatest of it, at most what was given */
bool tp_dreg_resolve(tp_exec *x, tp_dreg *r);                  /* extents and strides for env */
void tp_dnd_bind(tp_dnd *d, const int64_t *env);
static inline void tp_dnd_place(const tp_exec *x, tp_dnd *d) {
  int64_t o = tp_dx_get(&d->off, x->env);
  for (int i = 0; i < d->nlive; i++) {
    const tp_dring *r = &d->ring[i];
    int64_t at = tp_dx_get(&r->idx, x->env);
    if ((uint64_t)at >= (uint64_t)r->w) at = at % r->w + (at % r->w < 0 ? r->w : 0);
    o += at * r->s;
  }
  d->v.p = x->base[d->buf] + o * d->size;
}

/* ew.c: LOOPs */
void tp_ew_new(tp_exec *x, tp_dreg *r);
void tp_put_numbers(tp_exec *x, const tp_dreg *r, const tp_dx *e, tp_dtype d, const tp_view *v);     /* e at each point of v, an axis for each of the region */
void tp_loop_new(tp_exec *x, tp_dreg *r);                      /* what only copies or fills goes without its engine */
/* view.c: moving elements between windows */
int64_t tp_view_count(const tp_view *v);
bool tp_view_dense(const tp_view *v);
void tp_view_strides(tp_view *v);                              /* row major */
int64_t tp_dense_strides(tp_view *v);                          /* row major, but axes that do not move still don't: elements that are one stay one. How many there are */
tp_view tp_view_part(const tp_view *v, int axis, int64_t lo, int64_t n, int size);
tp_view tp_view_spatial(const tp_view *v, int nlead);           /* without the leading axes */
tp_view tp_view_dense_as(const tp_view *like, void *p);        /* of that shape, over dense elements */
/* Two windows of one shape, squeezed and merged; the axis along which the result is contiguous is last. */
typedef struct tp_pair { int rank; int64_t ext[TP_MAXRANK + 1], so[TP_MAXRANK + 1], si[TP_MAXRANK + 1]; bool empty; } tp_pair;
void tp_pair_make(tp_pair *p, const tp_view *out, const tp_view *in);
void tp_pair_copy(const tp_exec *x, int size, const tp_pair *p, void *out, const void *in);
void tp_view_copy(const tp_exec *x, int size, const tp_view *out, const tp_view *in);       /* same shapes */
void tp_view_add(const tp_exec *x, tp_dtype d, const tp_view *out, const tp_view *in);      /* out += in; same shapes, no halves */
void tp_view_fill(const tp_exec *x, tp_dtype d, const tp_view *out, double value);
void tp_view_convert(const tp_exec *x, tp_dtype to, const tp_view *out, tp_dtype from, const tp_view *in);  /* f16, bf16 <-> f32 */
void tp_wrapped_copy(const tp_exec *x, int size, const tp_dnd *out, const tp_dnd *in);      /* either may lie on a ring */
/* ops.c and friends: one function per operator */
bool tp_op_new(tp_exec *x, tp_dreg *r);                        /* chooses bind and run */
void tp_index_select_new(tp_exec *x, tp_dreg *r);
bool tp_bind_index_select(tp_exec *x, tp_dreg *r);
bool tp_run_pinit(tp_exec *x, tp_dreg *r);
/* spill.c */
void tp_spill_new(tp_exec *x);
bool tp_take_memory(tp_exec *x);                                /* for x->env: the arena, and the file where the limit wants one */
void tp_spill_close(tp_exec *x);
void tp_run_spill(tp_exec *x, const tp_inst *i);                /* of buffers in the file */
void tp_run_fetch(tp_exec *x, const tp_inst *i);
void tp_spill_rest(tp_exec *x);                                 /* nothing of the file stays mapped */
bool tp_spill_poison(tp_exec *x);
bool tp_spill_touch(tp_exec *x, const tp_dreg *r, const tp_dnd *d);     /* where poisoned: is no more mapped than was said? */
int64_t tp_spill_most(const tp_exec *x);
void tp_call_new(tp_exec *x, tp_dreg *r);
void tp_call_bind(tp_exec *x, tp_dreg *r);
void tp_call_free(tp_dreg *r);
typedef bool tp_oprun(tp_exec *x, tp_dreg *r);
tp_oprun tp_run_fold, tp_run_conv, tp_run_rand, tp_run_env, tp_run_index_select, tp_run_index_add,
  tp_run_gather, tp_run_scatter_add, tp_run_sort, tp_run_scan, tp_run_recur, tp_run_arg, tp_run_matmul;

/* blas.c: NULL functions where there is no library */
typedef struct tp_blas {
  void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
  void (*dgemm)(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);
  void (*sgemv)(int order, int ta, int m, int n, float alpha, const float *a, int lda, const float *x, int incx, float beta, float *y, int incy);
  void (*dgemv)(int order, int ta, int m, int n, double alpha, const double *a, int lda, const double *x, int incx, double beta, double *y, int incy);
} tp_blas;
const tp_blas *tp_blas_get(void);
#endif
