/* Hand-built plans for the device's tests: windows with random layouts on input and output buffers,
 * regions, loops. */
#ifndef TP_PLANS_H
#define TP_PLANS_H
#include "interp/interp.h"
#include "cpu/machine.h"
#include "plan/plan.h"
#include "check.h"
#include <math.h>
#include <stdlib.h>

static uint64_t seed = 88172645463325252ull;
static inline uint64_t rnd(void) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return seed;
}
static inline int64_t below(int64_t n) { return (int64_t)(rnd() % (uint64_t)n); }
static inline double unit(void) { return (double)(rnd() >> 11) * 0x1p-53; }

enum { MAXBUF = 24, MAXAX = 8 };
typedef struct prog {
  tp_ictx *c;
  tp_arena a;
  tp_plan plan;
  tp_array *in[MAXBUF], *out[MAXBUF], *params[MAXBUF];
  int nin, nout;
  TP_VEC(tp_pnode *) list; /* the body so far */
  int64_t *env;
  tp_error err;
  uint64_t seed;
  tp_run run;
} prog;

/* A window as the test sees it: leading axes first. */
typedef struct win {
  int buf, nlead, rank;
  int64_t shape[MAXAX], stride[MAXAX], off;
  tp_dtype d;
  tp_array *a;
} win;

static inline void prog_open(prog *p) {
  memset(p, 0, sizeof *p);
  p->c = tp_ictx_new();
  tp_arena_init(&p->a);
  p->plan.machine = &tp_cpu_machine;
  p->plan.ix = p->c;
  p->plan.a = &p->a;
  p->env = calloc(256, sizeof *p->env);
}

static inline void prog_close(prog *p) {
  for (int i = 0; i < p->nin; i++) tp_array_unref(p->in[i]);
  for (int i = 0; i < p->nout; i++) tp_array_unref(p->out[i]);
  tp_ictx_free(p->c);
  tp_arena_free(&p->a);
  free(p->env);
}

static inline tp_ix *K(prog *p, int64_t v) { return tp_ix_const(p->c, v); }

static inline int new_buf(prog *p, tp_bufkind kind, tp_dtype d, tp_ix *size, int slot) {
  tp_pbuf *b = TP_NEW(&p->a, tp_pbuf);
  *b = (tp_pbuf){ .id = p->plan.bufs.n,
    .kind = kind,
    .slot = slot,
    .dtype = d,
    .size = size,
    .first = -1,
    .last = -1,
    .name = "b" };
  TP_PUSH(&p->a, &p->plan.bufs, b);
  return b->id;
}

static inline void random_element(tp_dtype d, void *p, int64_t i) {
  if (d == TP_F32 || d == TP_F64) tp_put(d, p, i, (double)below(2001) / 1000 - 1);
  else if (tp_dtype_float(d)) tp_put(d, p, i, (double)below(201) / 100 - 1);
  else if (d == TP_BOOL) tp_puti(d, p, i, below(2));
  else tp_puti(d, p, i, below(13) - 6);
}

static inline tp_array *data_buf(prog *p, tp_bufkind kind, tp_dtype d, int64_t count, int *buf) {
  tp_array *a = tp_array_new(d, 1, &count);
  for (int64_t i = 0; i < count; i++) random_element(d, a->data, i);
  int slot = kind == TP_BUF_INPUT ? p->nin : p->nout;
  *buf = new_buf(p, kind, d, K(p, count), slot);
  if (kind == TP_BUF_OUTPUT) TP_PUSH(&p->a, &p->plan.products, ((tp_product){ 0 }));
  if (kind == TP_BUF_INPUT) p->in[p->nin++] = a;
  else p->out[p->nout++] = a;
  return a;
}

/* A buffer and a window of that shape on it. still: axes (bits) of stride 0. plain: row major
 * without gaps. */
static inline win window(prog *p, tp_bufkind kind, tp_dtype d, int nlead, int rank,
    const int64_t *shape, unsigned still, bool plain) {
  win w = { .nlead = nlead, .rank = rank, .d = d };
  int order[MAXAX], n = 0;
  int64_t count = 1;
  for (int i = 0; i < rank; i++) {
    w.shape[i] = shape[i];
    if (!(still >> i & 1)) order[n++] = i;
  }
  for (int i = n - 1; i > 0 && !plain && below(3) == 0; i--) {
    int j = (int)below(i + 1), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  if (!plain && below(4) == 0) count = 1 + below(3);
  for (int i = n - 1; i >= 0; i--) {
    int64_t e = shape[order[i]], s = count;
    if (!plain && below(6) == 0) {
      w.off += (e ? e - 1 : 0) * s;
      s = -s;
    }
    w.stride[order[i]] = s;
    count *= TP_MAX(e, 1);
    if (!plain && below(4) == 0) count += below(4);
  }
  if (!plain) w.off += below(3);
  w.a = data_buf(p, kind, d, count + 4, &w.buf);
  return w;
}

static inline int64_t win_at(const win *w, const int64_t *at) {
  int64_t o = w->off;
  for (int i = 0; i < w->rank; i++) o += at[i] * w->stride[i];
  return o;
}
static inline double win_get(const win *w, const int64_t *at) {
  return tp_get(w->d, w->a->data, win_at(w, at));
}
static inline int64_t win_geti(const win *w, const int64_t *at) {
  return tp_geti(w->d, w->a->data, win_at(w, at));
}

static inline bool next_point(int rank, const int64_t *shape, int64_t *at) {
  for (int i = rank - 1; i >= 0; i--) {
    if (++at[i] < shape[i]) return true;
    at[i] = 0;
  }
  return false;
}
static inline bool any_point(int rank, const int64_t *shape) {
  for (int i = 0; i < rank; i++)
    if (shape[i] == 0) return false;
  return true;
}
#define EACH_POINT(at, rank, shape) \
  for (int64_t at[MAXAX] = { 0 }, more_##at = any_point(rank, shape); more_##at; \
       more_##at = next_point(rank, shape, at))

/* ---- regions ---- */

static inline tp_nd nd_of(prog *p, const win *w) {
  tp_nd n = { .buf = w->buf, .off = K(p, w->off), .rank = w->rank - w->nlead, .wrap = -1 };
  n.shape = TP_NEWN(&p->a, tp_ix *, w->rank);
  n.stride = TP_NEWN(&p->a, tp_ix *, w->rank);
  n.lead = TP_NEWN(&p->a, tp_ix *, w->nlead + 1);
  for (int i = 0; i < w->nlead; i++) n.lead[i] = K(p, w->stride[i]);
  for (int i = 0; i < n.rank; i++)
    n.shape[i] = K(p, w->shape[w->nlead + i]), n.stride[i] = K(p, w->stride[w->nlead + i]);
  return n;
}

static inline tp_region *region(prog *p, tp_rgkind kind, tp_op op, int nlead, const int64_t *lead,
    int nin, const win *in, int nout, const win *out) {
  tp_region *r = TP_NEW(&p->a, tp_region);
  *r = (tp_region){
    .kind = kind, .op = op, .pos = { "test.lua", 7 }, .nlead = nlead, .nin = nin, .nout = nout
  };
  r->lead = TP_NEWN(&p->a, tp_ix *, nlead + 1);
  r->leadlo = TP_NEWN(&p->a, tp_ix *, nlead + 1);
  r->leadvar = TP_NEWN(&p->a, tp_sym *, nlead + 1);
  for (int i = 0; i < nlead; i++) {
    r->lead[i] = K(p, lead[i]);
    r->leadlo[i] = K(p, 2);
    r->leadvar[i] = tp_sym_var(p->c, "v");
  }
  r->in = TP_NEWN(&p->a, tp_nd, nin + 1);
  r->out = TP_NEWN(&p->a, tp_nd, nout + 1);
  for (int i = 0; i < nin; i++) r->in[i] = nd_of(p, &in[i]);
  for (int i = 0; i < nout; i++) r->out[i] = nd_of(p, &out[i]);
  return r;
}

/* ---- loops: the axes of operands become the region's; a reduction's axes are its attribute's ----
 */

static inline unsigned gone_axes(const tp_region *r) {
  unsigned gone = 0;
  for (int i = 0; i < r->how.naxes && tp_ops[r->op].cls == TP_CLS_RED; i++)
    gone |= 1u << r->how.axes[i];
  return gone;
}

static inline void onto_axes(prog *p, const tp_region *r, tp_nd *x, unsigned gone) {
  tp_ix **stride = TP_NEWN(&p->a, tp_ix *, r->nlead + 1);
  int k = x->rank - 1, wrap = x->wrap;
  for (int i = 0; i < r->nlead; i++) stride[i] = i < r->npoint ? x->lead[i] : K(p, 0);
  for (int i = r->nlead - 1; i >= r->npoint && k >= 0; i--) {
    if (gone >> (i - r->npoint) & 1) continue;
    if (wrap == r->npoint + k) x->wrap = i;
    if (x->shape[k] != K(p, 1) || wrap == r->npoint + k) stride[i] = x->stride[k];
    k--;
  }
  x->lead = stride;
  x->rank = 0;
}

static inline void onto_loop(prog *p, tp_region *r) {
  const tp_nd *space = gone_axes(r) || !r->nout ? &r->in[0] : &r->out[0];
  int np = r->npoint = r->nlead, n = r->nlead = np + space->rank;
  tp_ix **lead = TP_NEWN(&p->a, tp_ix *, n + 1), **lo = TP_NEWN(&p->a, tp_ix *, n + 1);
  tp_sym **var = TP_NEWN(&p->a, tp_sym *, n + 1);
  for (int i = 0; i < n; i++) {
    lead[i] = i < np ? r->lead[i] : space->shape[i - np];
    lo[i] = i < np ? r->leadlo[i] : K(p, 0);
    var[i] = i < np ? r->leadvar[i] : tp_sym_var(p->c, "a");
  }
  r->lead = lead, r->leadlo = lo, r->leadvar = var;
  r->sums = gone_axes(r) << np;
  for (int i = 0; i < r->nin; i++) onto_axes(p, r, &r->in[i], 0);
  for (int i = 0; i < r->nout; i++) onto_axes(p, r, &r->out[i], r->how.keepdim ? 0 : gone_axes(r));
  for (int i = 0; i < np && r->acc; i++)
    if (r->out[0].lead[i] == K(p, 0)) r->sums |= 1u << i;
  if (!r->outmicro) r->outmicro = TP_NEWN(&p->a, int, r->nout + 1);
  if (r->op != TP_OP_FILL || r->nmicro) return;
  r->nmicro = 1;
  r->micro = TP_NEW(&p->a, tp_micro);
  *r->micro = (tp_micro){
    .op = TP_OP_FILL, .dtype = p->plan.bufs.v[r->out[0].buf]->dtype, .f = r->how.f[0]
  };
}

static inline tp_pnode *leaf(prog *p, tp_region *r) {
  if (r->kind == TP_RG_LOOP) onto_loop(p, r);
  tp_pnode *x = TP_NEW(&p->a, tp_pnode);
  *x = (tp_pnode){ .kind = TP_P_REGION, .rg = r };
  return x;
}
static inline tp_pnode *seq(prog *p, int n, tp_pnode **kid) {
  tp_pnode *x = TP_NEW(&p->a, tp_pnode);
  *x = (tp_pnode){ .kind = TP_P_SEQ, .n = n, .kid = tp_dup(&p->a, kid, sizeof *kid * (size_t)n) };
  return x;
}
static inline tp_pnode *loop(prog *p, tp_sym *v, tp_ix *lo, tp_ix *hi, int step, tp_pnode *body) {
  tp_pnode *x = TP_NEW(&p->a, tp_pnode);
  *x = (tp_pnode){ .kind = TP_P_FOR,
    .n = 1,
    .kid = tp_dup(&p->a, &body, sizeof body),
    .var = v,
    .lo = lo,
    .hi = hi,
    .step = step };
  return x;
}
static inline void add(prog *p, tp_pnode *x) { TP_PUSH(&p->a, &p->list, x); }

/* Compiles and runs what was added, `times` times. */
static inline bool prog_go(prog *p, int times) {
  p->plan.body = seq(p, p->list.n, p->list.v);
  tp_plan_number(&p->plan);
  for (int i = 0; i < p->plan.bufs.n; i++)
    if (p->plan.bufs.v[i]->kind == TP_BUF_TEMP)
      p->plan.bufs.v[i]->first = 0, p->plan.bufs.v[i]->last = p->plan.npos - 1;
  tp_plan_passes(&p->plan, &(tp_planned){ .threads = 1 }, "work", &p->err);
  tp_exec *x = tp_exec_new(&p->plan, &tp_interp, &p->err);
  bool ok = x != NULL;
  p->run.env = p->env;
  p->run.inputs = p->in;
  p->run.outputs = p->out;
  p->run.seed = p->seed;
  for (int i = 0; i < times && ok; i++) ok = tp_exec_run(x, &p->run, &p->err);
  tp_exec_free(x);
  if (!ok && p->err.code == TP_OK) fprintf(stderr, "  failed without an error\n");
  return ok;
}
static inline bool prog_run(prog *p) {
  bool ok = prog_go(p, 1);
  if (!ok) fprintf(stderr, "  %s\n", p->err.msg);
  return ok;
}

static inline bool near(tp_dtype d, double got, double want) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (got == want) return true;
  double eps = d == TP_F64 ? 1e-12
      : d == TP_F32        ? 1e-5
      : d == TP_F16        ? 2e-3
      : d == TP_BF16       ? 1.6e-2
                           : 0;
  return fabs(got - want) <= eps * (1 + fabs(want));
}

/* ---- what tests share ---- */

static const tp_dtype all[TP_NDTYPE] = { TP_BOOL, TP_U8, TP_I32, TP_I64, TP_F16, TP_BF16, TP_F32,
  TP_F64 };
static inline tp_dtype any_dtype(void) { return all[below(8)]; }

/* Extents: mostly small, now and then one that makes more than a block, now and then none. */
static inline void random_shape(int rank, int64_t *shape) {
  for (int i = 0; i < rank; i++)
    shape[i] = below(30) == 0 ? 0 : below(25) == 0 ? 700 + below(800) : 1 + below(rank > 3 ? 4 : 9);
  int64_t n = 1;
  for (int i = 0; i < rank; i++)
    if ((n *= TP_MAX(shape[i], 1)) > 60000) {
      n /= shape[i];
      shape[i] = 2;
    }
}

typedef struct cell {
  double f;
  int64_t i;
} cell;

/* Rounded to what d holds. */
static inline cell hold(tp_dtype d, cell c) {
  uint64_t mem = 0;
  if (tp_dtype_float(d)) tp_put(d, &mem, 0, c.f);
  else tp_puti(d, &mem, 0, c.i);
  return (cell){ tp_get(d, &mem, 0), tp_dtype_float(d) ? 0 : tp_geti(d, &mem, 0) };
}

static inline bool same_element(const win *a, const int64_t *i, const win *b, const int64_t *j) {
  size_t size = (size_t)tp_dtype_size(a->d);
  return memcmp((char *)a->a->data + (size_t)win_at(a, i) * size,
             (char *)b->a->data + (size_t)win_at(b, j) * size, size) == 0;
}
#endif
