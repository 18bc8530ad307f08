/* product.c: large products by the device's library: a MATMUL is a contraction (cpu/contract.c),
 * whose loops become a batch, and calls one after the other. */
#include "gpu/exec.h"
#include "cpu/contract.h"

enum { MOST_CALLS = 64 };

/* Rows and columns of a matrix, where these lie, as a library wants them: rows `lead` apart. */
typedef struct {
  int64_t lead;
  bool turned, ok;
} blas_layout;
static blas_layout layout_of(int64_t rows, int64_t columns, int64_t row, int64_t step) {
  bool plain = (step == 1 || columns == 1) && (rows == 1 || row >= columns),
       turned = (row == 1 || rows == 1) && (columns == 1 || step >= rows);
  int64_t lead = plain ? (rows == 1 ? columns : row) : columns == 1 ? rows : step;
  return (blas_layout){ lead, !plain, plain || turned };
}

static tp_gplace operand(const tp_exec *x, const tp_dnd *d) {
  tp_gplace p = tp_gpu_place(x, d->buf);
  p.off += tp_dnd_begin(x, d) * d->size;
  return p;
}

/* Takes the longest loop that goes from result to result out of the others; -1: there is none. */
static int take_batch(const tp_contraction *t) {
  int best = -1;
  for (int i = 0; i < t->firstsum; i++)
    if (t->lc[i] && (best < 0 || t->ext[i] > t->ext[best])) best = i;
  return best;
}

static bool describe(const tp_dreg *r, const tp_contraction *t, int batch, tp_gproduct *p) {
  const tp_mm *s = &t->s;
  blas_layout a = layout_of(s->m, s->k, s->sam, s->sak), b = layout_of(s->k, s->n, s->sbk, s->sbn),
              c = layout_of(s->m, s->n, s->scm, s->scn);
  *p = (tp_gproduct){ .dtype = r->in[0].dtype,
    .made = r->out->dtype,
    .m = s->m,
    .n = s->n,
    .k = s->k,
    .batch = batch < 0 ? 1 : t->ext[batch],
    .lda = a.lead,
    .ldb = b.lead,
    .ldc = c.lead,
    .turned_a = a.turned,
    .turned_b = b.turned };
  if (batch >= 0) {
    p->stride_a = (t->swapped ? t->lb : t->la)[batch];
    p->stride_b = (t->swapped ? t->la : t->lb)[batch];
    p->stride_c = t->lc[batch];
  }
  return a.ok && b.ok && c.ok && !c.turned && p->stride_a >= 0 && p->stride_b >= 0 &&
      p->stride_c >= 0;
}

/* Calls the library for each place of the loops; it takes all, or none. */
static bool multiply_all(tp_exec *x, tp_dreg *r, tp_contraction *t, int *products) {
  tp_device *d = x->device;
  tp_gproduct p;
  int batch = take_batch(t), calls = 1;
  if (!describe(r, t, batch, &p)) return true;
  if (batch >= 0) t->ext[batch] = 1;
  for (int i = 0; i < t->nloop; i++)
    if (tp_half(p.made) && i >= t->firstsum && t->ext[i] > 1) return true; /* to be rounded once */
    else if ((calls *= (int)TP_MIN(t->ext[i], MOST_CALLS + 1)) > MOST_CALLS) return true;
  tp_gplace a = operand(x, &r->in[0]), b = operand(x, &r->in[1]), c = operand(x, r->out);
  int64_t size = r->in[0].size;
  tp_walk w;
  for (tp_walk_start(&w, t->nloop, t->ext); w.ok; tp_walk_next(&w)) {
    tp_gplace at = { a.mem, a.off + tp_walk_offset(&w, t->la) * size },
              bt = { b.mem, b.off + tp_walk_offset(&w, t->lb) * size };
    bool did;
    p.adds = r->rg->acc;
    for (int i = t->firstsum; i < t->nloop; i++) p.adds |= w.at[i] > 0;
    p.a = t->swapped ? bt : at;
    p.b = t->swapped ? at : bt;
    p.c = (tp_gplace){ c.mem, c.off + tp_walk_offset(&w, t->lc) * r->out->size };
    if (!d->driver->product(d->queue, &p, &did, x->err)) return false;
    if (!did) return true;
    ++*products;
  }
  return true;
}

bool tp_gpu_multiply(tp_exec *x, tp_dreg *r, int *products) {
  tp_contraction t;
  if (!tp_gpu_is_for_library(x, r)) return true;
  tp_matmul_contraction(x, r, &t);
  if (t.kind == TP_MM_NOTHING || t.kind == TP_MM_ZERO ||
      (double)t.s.m * (double)t.s.n * (double)t.s.k < TP_TUNE_GPU_PRODUCT)
    return true;
  for (int i = 0; i < r->nnd; i++)
    if (!tp_gpu_reach(x, r->in[i].buf, i >= r->nin)) return false;
  x->device->doubtful = true;
  return multiply_all(x, r, &t, products);
}
