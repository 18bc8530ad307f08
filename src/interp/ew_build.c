/* ew_build.c: makes steps over slots of micros, and gives out blocks of the scratch by first and
 * last use. */
#include "interp/ew.h"

static const tp_op ops_of[] = { [TP_RED_SUM] = TP_OP_ADD,
  [TP_RED_PROD] = TP_OP_MUL,
  [TP_RED_MAX] = TP_OP_MAXIMUM,
  [TP_RED_MIN] = TP_OP_MINIMUM };

/* ---- blocks of the scratch ---- */

typedef struct blocks {
  int64_t next;
  int nfree;
  int64_t *free;
} blocks;
enum { BLOCK_BYTES = TP_BLOCK * 8 };

static int64_t block_new(blocks *b) {
  int64_t at = b->next;
  b->next += BLOCK_BYTES;
  return at;
}

/* A block, that of a dead value if there is one. Only for values of the chain: other blocks live as
 * long as the region. */
static int64_t block_take(blocks *b) { return b->nfree ? b->free[--b->nfree] : block_new(b); }

/* ---- sources ---- */

static bool is_number(tp_op op) { return op == TP_OP_FILL || op == TP_OP_VALUE; }

static tp_kload *load_of(const tp_exec *x, tp_dtype d) {
  return tp_half(d) ? tp_cpu(x)->K->loadhalf[d] : tp_cpu(x)->K->load[tp_log2size(d)];
}

static void source_operand(tp_ewsrc *s, const tp_exec *x, const tp_dnd *d, int nd) {
  *s = (tp_ewsrc){
    .nd = nd, .d = d->dtype, .c = tp_compute(d->dtype), .load = load_of(x, d->dtype)
  };
}

static void source_number(tp_ewsrc *s, tp_exec *x, const tp_micro *m) {
  *s = (tp_ewsrc){ .nd = -1, .d = tp_compute(m->dtype), .c = tp_compute(m->dtype) };
  s->load = load_of(x, s->c);
  if (m->op == TP_OP_VALUE) {
    s->is_value = true;
    s->value = tp_dx_new(&x->a, m->ix);
    return;
  }
  uint64_t held = 0;
  tp_put(m->dtype, &held, 0, m->f);
  if (tp_half(m->dtype)) tp_put(s->c, &s->cell, 0, tp_get(m->dtype, &held, 0));
  else s->cell = held;
}

/* ---- steps ---- */

typedef struct builder {
  tp_exec *x;
  tp_dreg *r;
  tp_ew *e;
  int *slot_of, *last;
  tp_dtype *dtype;
  blocks b;
} builder;

static int slot_ref(const builder *b, int in) {
  return in < b->r->nin ? in : b->slot_of[in - b->r->nin];
}

static int arity(const tp_micro *m) { return tp_ops[m->op].nin; }

/* When is each slot read last? Results stay to the end. */
static void lifetimes(builder *b) {
  const tp_region *g = b->r->rg;
  for (int k = 0; k < g->nmicro; k++)
    for (int i = 0; i < arity(&g->micro[k]); i++) b->last[slot_ref(b, g->micro[k].in[i])] = k;
  for (int i = 0; i < b->r->nout; i++) b->last[b->slot_of[g->outmicro[i]]] = g->nmicro;
}

static tp_kfn *kernel_of(const builder *b, const tp_micro *m, const int *in) {
  tp_dtype from = tp_compute(b->dtype[in[m->op == TP_OP_SELECT]]);
  if (m->op == TP_OP_CAST && from == TP_F64 && tp_half(m->dtype)) return tp_cpu(b->x)->K->sticky;
  if (m->op == TP_OP_CAST) return tp_cpu(b->x)->K->cast[from][tp_compute(m->dtype)];
  return tp_cpu(b->x)->K->ew[m->op][from];
}

/* A block for slot o: one of an operand of its size that dies here, else a new one. Kernels may
 * write over operands of their own element size. */
static void assign_block(builder *b, int k, int o, const int *in, int n) {
  tp_ew *e = b->e;
  int size = tp_dtype_size(tp_compute(b->dtype[o])), taken = -1;
  for (int i = 0; i < n && taken < 0; i++)
    if (in[i] >= e->nsrc && b->last[in[i]] == k &&
        tp_dtype_size(tp_compute(b->dtype[in[i]])) == size)
      taken = in[i];
  e->slottmp[o] = taken >= 0 ? e->slottmp[taken] : block_take(&b->b);
  for (int i = 0; i < n; i++) {
    bool again = in[i] == taken;
    for (int j = 0; j < i; j++) again |= in[j] == in[i];
    if (in[i] >= e->nsrc && b->last[in[i]] == k && !again)
      b->b.free[b->b.nfree++] = e->slottmp[in[i]];
  }
}

static bool add_micro(builder *b, int k) {
  const tp_micro *m = &b->r->rg->micro[k];
  tp_ew *e = b->e;
  int in[3] = { 0 }, n = arity(m), o = b->slot_of[k];
  for (int i = 0; i < n; i++) in[i] = slot_ref(b, m->in[i]);
  tp_kfn *fn = kernel_of(b, m, in);
  if (!fn) return false;
  assign_block(b, k, o, in, n);
  e->step[e->nstep++] =
      (tp_ewstep){ fn, o, { in[0], n > 1 ? in[1] : in[0], n > 2 ? in[2] : in[0] } };
  if (tp_half(m->dtype) && tp_op_rounds(m->op))
    e->step[e->nstep++] = (tp_ewstep){ tp_cpu(b->x)->K->round[m->dtype], o, { o, o, o } };
  if (b->last[o] < 0) b->b.free[b->b.nfree++] = e->slottmp[o]; /* it is not read */
  return true;
}

/* Is there a fold at any bounds? */
static bool has_fold(const tp_region *g) {
  bool any = g->sums && !g->acc;
  for (int i = 0; i < g->nlead; i++) any |= (g->sums >> i & 1) && !tp_is_number(g->lead[i], 1);
  return any;
}

/* Is micro k a cast of f32 for a sum in f64? The kernels of sums do it as they go. */
static bool is_widened(const builder *b, int k) {
  const tp_region *g = b->r->rg;
  bool cast = g->micro[k].op == TP_OP_CAST && g->micro[k].dtype == TP_F64 &&
      b->dtype[slot_ref(b, g->micro[k].in[0])] == TP_F32;
  return cast && k == g->nmicro - 1 && k == g->outmicro[0] && g->red == TP_RED_SUM;
}

static bool is_result(const tp_region *g, int k) {
  bool any = false;
  for (int i = 0; i < g->nout; i++) any |= g->outmicro[i] == k;
  return any;
}

/* Is operand k folded, or read by a micro, and not only copied? */
static bool is_passed(const builder *b, int k) {
  const tp_region *g = b->r->rg;
  bool folded = b->r->nout == 1 && has_fold(g);
  return g->micro[k].op == TP_OP_DETACH ? folded || !is_result(g, k) : folded && is_widened(b, k);
}

/* Numbers the slots: operands, then numbers, then the other micros. */
static void number_slots(builder *b) {
  const tp_region *g = b->r->rg;
  tp_ew *e = b->e;
  e->nsrc = g->nin;
  for (int k = 0; k < g->nmicro; k++) e->nsrc += is_number(g->micro[k].op);
  e->nslot = g->nin + g->nmicro;
  e->src = TP_NEWN(&b->x->a, tp_ewsrc, e->nsrc);
  for (int i = 0; i < g->nin; i++) {
    source_operand(&e->src[i], b->x, &b->r->in[i], i);
    b->dtype[i] = e->src[i].d;
  }
  for (int k = 0, number = g->nin, other = e->nsrc; k < g->nmicro; k++) {
    if (is_passed(b, k)) {
      b->slot_of[k] = slot_ref(b, g->micro[k].in[0]);
      continue;
    }
    int s = b->slot_of[k] = is_number(g->micro[k].op) ? number++ : other++;
    b->dtype[s] = g->micro[k].dtype;
    if (is_number(g->micro[k].op)) source_number(&e->src[s], b->x, &g->micro[k]);
  }
}

/* ---- results ---- */

static bool run_unknown(tp_exec *x, tp_dreg *r) {
  return tp_rfail(x, r, TP_E_DEVICE, "no kernel for the operator or dtype on this device");
}

static void dest(builder *b, int i, int slot) {
  const tp_exec *x = b->x;
  tp_ew *e = b->e;
  const tp_dnd *d = &b->r->out[i];
  tp_ewdst *t = &e->dst[i];
  *t = (tp_ewdst){ .slot = slot, .d = d->dtype, .c = tp_compute(d->dtype) };
  t->load = load_of(x, t->d);
  t->store = tp_half(t->d) ? tp_cpu(x)->K->storehalf[t->d] : tp_cpu(x)->K->store[tp_log2size(t->d)];
  t->combine = e->acc && i == 0 ? tp_cpu(x)->K->ew[ops_of[e->red]][t->c] : NULL;
  t->tmpoff = block_new(&b->b);
  bool lastly = e->nstep && e->step[e->nstep - 1].o == slot;
  for (int k = 0; k < b->r->nin; k++) t->mayalias |= b->r->in[k].buf == d->buf && !lastly;
}

static void folding(builder *b, tp_dtype c) {
  tp_ew *e = b->e;
  const tp_region *g = b->r->rg;
  bool wide = g->nmicro && is_passed(b, g->nmicro - 1) && is_widened(b, g->nmicro - 1);
  e->acct = tp_acctype(e->red, c);
  e->folded = wide ? TP_F32 : c;
  e->across = wide ? tp_cpu(b->x)->K->across_wide : tp_cpu(b->x)->K->across[e->red][c];
  e->down = wide ? tp_cpu(b->x)->K->down_wide : tp_cpu(b->x)->K->down[e->red][c];
  e->narrow = e->acct == c   ? NULL
      : tp_half(e->dst[0].d) ? tp_cpu(b->x)->K->sticky
                             : tp_cpu(b->x)->K->cast[e->acct][c];
  e->accoff = block_new(&b->b);
  e->outoff = block_new(&b->b);
}

/* Orders the walk. Axes of extent 1 go first and are squeezed out; kept axes may go in any
 * order. */
static void order_walk(const builder *b, tp_ew *e) {
  const tp_region *g = b->r->rg;
  tp_nest nest = { 0 };
  int n = 0;
  for (int i = 0; i < g->nlead; i++) e->group[i] = -1;
  if (g->sums) tp_plan_walk(b->x->plan->ix, &b->x->a, g, &nest);
  for (int k = 0; k < nest.nax; k++)
    for (int i = 0; i < nest.ax[k].nof; i++) e->group[nest.ax[k].of[i]] = k;
  for (int i = 0; i < g->nlead; i++)
    if (e->group[i] < 0) e->order[n++] = i;
  for (int k = 0; k < nest.nax; k++)
    for (int i = 0; i < nest.ax[k].nof; i++) e->order[n++] = nest.ax[k].of[i];
}

static void finish(builder *b) {
  tp_ew *e = b->e;
  for (int i = 0; i < e->nsrc; i++) e->slottmp[i] = e->src[i].tmpoff = block_new(&b->b);
  e->p = TP_NEWN(&b->x->a, void *, e->nslot + 1);
  if (e->ndst) folding(b, e->dst[0].c);
  order_walk(b, e);
  tp_cpu(b->x)->scratch_size = TP_MAX(tp_cpu(b->x)->scratch_size, (size_t)b->b.next);
  bool known = !b->r->rg->sums || e->across;
  if (e->acc) known &= e->dst[0].combine && e->across;
  b->r->bind = known ? tp_ew_bind : NULL;
  b->r->run = known ? tp_ew_run : run_unknown;
  b->r->k = e;
}

static builder start(tp_exec *x, tp_dreg *r, int nmicro) {
  builder b = { .x = x, .r = r, .e = TP_NEW(&x->a, tp_ew) };
  int n = r->nin + nmicro + 1;
  b.slot_of = TP_NEWN(&x->a, int, n);
  b.last = TP_NEWN(&x->a, int, n);
  for (int i = 0; i < n; i++) b.last[i] = -1;
  b.dtype = TP_NEWN(&x->a, tp_dtype, n);
  b.b.free = TP_NEWN(&x->a, int64_t, 4 * n + 8);
  b.e->slottmp = TP_NEWN(&x->a, int64_t, n);
  b.e->step = TP_NEWN(&x->a, tp_ewstep, 2 * n);
  b.e->acc = r->rg->acc;
  b.e->red = r->rg->red;
  b.e->ndst = r->nout;
  b.e->dst = TP_NEWN(&x->a, tp_ewdst, r->nout);
  return b;
}

void tp_ew_new(tp_exec *x, tp_dreg *r) {
  const tp_region *g = r->rg;
  builder b = start(x, r, g->nmicro);
  number_slots(&b);
  if (g->nmicro) lifetimes(&b);
  for (int k = 0; k < g->nmicro; k++)
    if (!is_number(g->micro[k].op) && !is_passed(&b, k) && !add_micro(&b, k)) {
      r->run = run_unknown;
      return;
    }
  for (int i = 0; i < r->nout; i++) dest(&b, i, g->nmicro ? b.slot_of[g->outmicro[i]] : 0);
  finish(&b);
}
