/* count: how often each region runs for given bounds, and how many elements it goes through. Exact
 * but for what only data tells: a dim that ends by data goes on to the bound that is given, both
 * branches run of a condition on its end, and a loop that begins by it has an iteration. A loop
 * whose body is the same in each of its iterations is gone through once. */
#include "plan/plan.h"

typedef struct {
  const tp_plan *p;
  int64_t *env, turns;
  tp_counted *at;
} counter;

static bool region_moves(const tp_region *r, tp_sym *v) {
  bool any = false;
  for (int i = 0; i < r->nlead; i++) any |= tp_ix_mentions(r->lead[i], v);
  TP_WINDOWS (x, r)
    for (int k = 0; k < x->rank; k++) any |= tp_ix_mentions(x->shape[k], v);
  return any;
}

/* Does the count of x depend on v? */
static bool count_moves(const tp_pnode *x, tp_sym *v) {
  TP_EACH_NODE (k, x) {
    const tp_pnode *y = k.x;
    if (y->kind == TP_P_FOR      ? tp_ix_mentions(y->lo, v) || tp_ix_mentions(y->hi, v)
            : y->kind == TP_P_IF ? tp_ix_mentions(y->cond, v)
                                 : y->rg && region_moves(y->rg, v))
      return true;
  }
  return false;
}

static int64_t volume(int n, tp_ixs extent, const int64_t *env) {
  int64_t all = 1;
  for (int i = 0; i < n; i++) all *= TP_MAX(tp_ix_evalq(extent[i], env), 0);
  return all;
}

static int64_t window_volume(const tp_nd *w, const int64_t *env) {
  return volume(w->rank, w->shape, env);
}

static bool changes_in_place(const tp_region *r) {
  return tp_same_window(&r->in[0], &r->out[0], r->in[0].lead && r->out[0].lead ? r->nlead : 0);
}

/* Elements of window i that are read or written: only those that are picked from it, or put into it
 * in place. */
static int64_t seen_of(const tp_region *r, int i, const int64_t *env) {
  const tp_nd *w = tp_window_at(r, i);
  switch (r->kind == TP_RG_OP ? r->op : TP_NOP) {
  case TP_OP_INDEX_SELECT:
  case TP_OP_GATHER: return window_volume(i ? w : &r->out[0], env);
  case TP_OP_PUT:
  case TP_OP_SCATTER_ADD:
  case TP_OP_INDEX_ADD:
    return window_volume((!i || i == r->nin) && changes_in_place(r) ? &r->in[2] : w, env);
  default: return window_volume(w, env);
  }
}

static bool multiplies(const tp_region *r) {
  return r->kind == TP_RG_OP &&
      (r->op == TP_OP_MATMUL || r->op == TP_OP_MATMUL_AT || r->op == TP_OP_MATMUL_BLOCKS);
}

/* A product's multiplications; the elements of the largest operand or result of another
 * operator. */
static int64_t elements_in(const tp_region *r, const int64_t *env) {
  int64_t lead = volume(r->nlead, r->lead, env), most = r->kind == TP_RG_LOOP ? 1 : 0;
  for (int i = 0; i < r->nin + r->nout && r->kind != TP_RG_LOOP; i++)
    most = TP_MAX(most, seen_of(r, i, env));
  if (multiplies(r) && r->in[0].rank)
    most = volume(r->out[0].rank, r->out[0].shape, env) *
        tp_ix_evalq(r->in[0].shape[r->in[0].rank - 1], env);
  return lead * most;
}

/* Each element of what it reads and writes, once. */
static double bytes_in(const tp_plan *p, const tp_region *r, const int64_t *env) {
  double all = 0;
  for (int i = 0; i < r->nin + r->nout; i++) {
    const tp_nd *w = tp_window_at(r, i);
    if (w->buf < 0) continue;
    double n = (double)seen_of(r, i, env) * tp_dtype_size(p->bufs.v[w->buf]->dtype);
    for (int k = 0; k < r->nlead; k++)
      if (w->lead && tp_ix_evalq(w->lead[k], env)) n *= (double)volume(1, &r->lead[k], env);
    all += n;
  }
  return all;
}

/* Operators of a LOOP, two for each multiplication of a product that is added; others count as
 * none. */
static double flops_in(const tp_region *r, const int64_t *env) {
  double each = r->sums || r->acc;
  if (r->kind == TP_RG_OP) each = multiplies(r) ? 2 : 0;
  for (int k = 0; r->kind == TP_RG_LOOP && k < r->nmicro; k++)
    each += r->micro[k].op != TP_OP_FILL && r->micro[k].op != TP_OP_VALUE &&
        r->micro[k].op != TP_OP_DETACH;
  return each * (double)elements_in(r, env);
}

static void count(counter *c, const tp_pnode *x, int64_t times);

static void count_loop(counter *c, const tp_pnode *x, int64_t times) {
  int64_t lo = tp_ix_evalq(x->lo, c->env), hi = tp_ix_evalq(x->hi, c->env),
          step = x->step < 0 ? -x->step : x->step;
  if (hi <= lo && tp_plan_by_data(c->p, x)) hi = lo + 1;
  if (hi <= lo) return;
  int64_t n = (hi - lo + step - 1) / step;
  bool moves = count_moves(x->kid[0], x->var);
  c->turns += times * n;
  c->env[x->var->id] = lo;
  if (!moves) count(c, x->kid[0], times * n);
  for (int64_t v = x->step < 0 ? hi - 1 : lo; moves && v >= lo && v < hi; v += x->step) {
    c->env[x->var->id] = v;
    count(c, x->kid[0], times);
  }
}

static void count(counter *c, const tp_pnode *x, int64_t times) {
  if (x->kind == TP_P_FOR) {
    count_loop(c, x, times);
    return;
  }
  if (x->kind == TP_P_LOAD) {
    c->env[x->var->id] = tp_ix_evalq(x->given, c->env);
    c->at[x->pos].runs += times;
  }
  if (x->kind == TP_P_REGION) {
    c->at[x->pos].runs += times;
    c->at[x->pos].elements += times * elements_in(x->rg, c->env);
    c->at[x->pos].bytes += (double)times * bytes_in(c->p, x->rg, c->env);
    c->at[x->pos].flops += (double)times * flops_in(x->rg, c->env);
  }
  bool one = x->kind == TP_P_IF && !tp_plan_by_data(c->p, x);
  int first = one && !tp_ix_evalq(x->cond, c->env), end = one ? TP_MIN(first + 1, x->n) : x->n;
  for (int i = first; i < end; i++) count(c, x->kid[i], times);
}

bool tp_plan_count(
    const tp_plan *p, const tp_pnode *of, const int64_t *env, tp_counted *at, int64_t *turns) {
  size_t n = sizeof *env * (size_t)p->nsym;
  counter c = { .p = p, .env = tp_alloc(n), .at = at };
  if (!c.env) return false;
  memcpy(c.env, env, n);
  memset(at, 0, sizeof *at * (size_t)p->npos);
  count(&c, of, 1);
  *turns = c.turns;
  tp_free(c.env);
  return true;
}
