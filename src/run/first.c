/* first.c: parameters: lends arrays as their values, puts loaded first values, copies newest values
 * for runs that are looked at or end early. */
#include "run/priv.h"

static bool is_pinit(const tp_dreg *r) { return r->rg->kind == TP_RG_PINIT; }

/* Finds the PINITs that may lend an array: only they, and the leaf before that makes their operand,
 * write the output. */
static void find_lenders(tp_exec *x) {
  bool *shared = TP_NEWN(&x->a, bool, x->plan->products.n);
  for (int i = 0; i < x->nreg; i++)
    for (int o = 0; o < x->reg[i]->nout; o++) {
      tp_dreg *r = x->reg[i];
      const tp_pbuf *b = r->out[o].buf >= 0 ? x->plan->bufs.v[r->out[o].buf] : NULL;
      if (!b || b->kind != TP_BUF_OUTPUT) continue;
      if (is_pinit(r) && r->nin > 1 && !x->lender[b->slot]) x->lender[b->slot] = r;
      else shared[b->slot] |= !r->rg->first || !r->first;
    }
  for (int i = 0; i < x->plan->products.n; i++) {
    const tp_product *p = &x->plan->products.v[i];
    /* zeros stand beyond an end */
    if (shared[i] || !p->hidden || (p->ndim && x->plan->ends.n)) x->lender[i] = NULL;
  }
}

void tp_first_new(tp_exec *x) {
  int n = x->plan->products.n;
  x->begun = TP_NEWN(&x->a, bool, x->plan->bufs.n);
  x->lender = TP_NEWN(&x->a, tp_dreg *, n);
  x->last = TP_NEWN(&x->a, int, n);
  x->holder = TP_NEWN(&x->a, int, n);
  x->ended = x->torn = -1;
  for (int i = 0; i < n; i++) x->last[i] = x->holder[i] = -1;
  for (int i = 0; i < x->plan->bufs.n; i++) {
    const tp_pbuf *b = x->plan->bufs.v[i];
    if (b->kind == TP_BUF_OUTPUT) x->last[b->slot] = i;
    if (b->holds >= 0) x->holder[b->holds] = i;
  }
  for (int i = 0; i < x->nreg; i++) {
    if (!is_pinit(x->reg[i])) continue;
    int param = x->reg[i]->nin > 1 ? x->plan->bufs.v[x->reg[i]->rg->in[1].buf]->slot : 0;
    x->reg[i]->first = 1 + param;
    /* and the leaf right before, which makes its operand */
    for (int k = i - 1; x->reg[i]->nin > 1 && k >= 0 && !is_pinit(x->reg[k]); k--)
      if (x->reg[k]->rg->first && x->reg[k]->rg->out[0].buf == x->reg[i]->rg->in[0].buf)
        x->reg[k]->first = 1 + param;
  }
  find_lenders(x);
}

bool tp_first_runs(tp_exec *x, const tp_dreg *r) {
  if (is_pinit(r)) return x->begun[r->out[0].buf] = true;
  return !x->run->params || !x->run->params[r->first - 1];
}

void tp_first_passed(tp_exec *x, int pos) {
  for (int i = 0; i < x->nreg; i++)
    if (is_pinit(x->reg[i]) && x->reg[i]->pos < pos) x->begun[x->reg[i]->out[0].buf] = true;
}

/* The constant that a pinit takes unchanged; NULL: none. */
static tp_array *begins_with(const tp_exec *x, const tp_region *r) {
  const tp_nd *in = &r->in[0], *out = &r->out[0];
  const tp_pbuf *b = x->plan->bufs.v[in->buf];
  bool same = b->kind == TP_BUF_CONST && in->off == out->off && !in->nring && !out->nring &&
      in->rank == out->rank;
  for (int i = 0; i < in->rank && same; i++)
    same = in->shape[i] == out->shape[i] && in->stride[i] == out->stride[i];
  for (int i = 0; i < r->nlead && same; i++) same = in->lead[i] == out->lead[i];
  return same ? b->data : NULL;
}

tp_array *tp_exec_lent(const tp_exec *x, const tp_run *run, int i) {
  const tp_dreg *r = x->lender[i];
  if (!r) return NULL;
  tp_array *loaded = run->params ? run->params[r->first - 1] : NULL,
           *a = loaded ? loaded : begins_with(x, r->rg);
  const tp_product *p = &x->plan->products.v[i];
  int64_t shape[TP_MAXRANK];
  int rank = tp_run_shape(run, p->ndim, p->dims, &p->type, shape);
  bool fits = a && tp_product_bytes(p, run, i) >= 0 && tp_array_is(a, p->type.dtype, rank, shape);
  return fits ? a : NULL;
}

bool tp_exec_newest(tp_exec *x, int i) {
  int to = x->last[i], from = x->holder[i], pc = x->flow->front.pc;
  if (!x->placed || to < 0) return false;
  int pos = x->ended >= 0 ? x->ended : pc < x->flow->ninst ? x->flow->inst[pc].pos : x->plan->npos;
  if (x->written[to] < pos) return true;
  const tp_pbuf *b = from < 0 ? NULL : x->plan->bufs.v[from];
  if (!b || !x->begun[from] || pos < b->first || pos > b->last || x->count[from] != x->count[to])
    return false;
  /* is it partly written, by a leaf that failed or by some threads of a team? */
  for (int p = x->ended; p >= 0 && p <= x->torn; p++)
    for (int o = 0; x->regat[p] && o < x->regat[p]->nout; o++)
      if (x->regat[p]->out[o].buf == from) return false;
  if (x->count[to] > 0 && tp_see(x, from, false) && tp_see(x, to, true))
    memcpy(x->base[to], x->base[from], (size_t)x->count[to] * (size_t)tp_dtype_size(b->dtype));
  if (x->mem->file.p) tp_spill_rest(x);
  return true;
}
