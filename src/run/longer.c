/* longer.c: going on with larger bounds. A tick is found by its point; what ends by data is not
 * known before it runs.
 *
 * What lies before the first tick and is not the same for the new bounds is run anew, if it calls
 * nobody: it asks for no values of ticks, and what only it writes is right then. The rest is taken
 * from the state, if what lies before the tick calls the same and writes as much of everything that
 * is kept for both: elements, not regions, as a row stands in the plan more than once, in other
 * pieces. What is computed at a point does not mention the bounds (rt/state.c), so elements as
 * often written hold the same. */
#include "run/priv.h"

/* A walk through the instructions that runs none. Ends lie where `ends` says: on the way to a tick,
 * at the smaller bounds in both walks, as what has ended did before. wrote: by buffer, the sum of
 * BASE ^ element over everything that was written, elements counted as they lie for the larger
 * bounds; the sum is the same however windows cut it. */
#define BASE UINT64_C(0x9e3779b97f4a7c15)
typedef struct {
  int n;
  int64_t was[2 * TP_MAXRANK], now[2 * TP_MAXRANK];
} corner;
typedef struct {
  tp_exec *x;
  int64_t *env, *ends;
  const bool *kept, *met;
  corner **lies;
  uint64_t *wrote, calls;
} inst_walk;

static int64_t value(const tp_dx *d, const int64_t *env) {
  return d->e ? tp_ix_evalq(d->e, env) : d->c;
}
static int place(const inst_walk *w, const tp_inst *i) { return (int)(i - w->x->flow->inst); }

/* The outermost loop around it; itself if there is none. */
static int outermost(const tp_exec *x, int pc) {
  while (x->flow->inst[pc].up >= 0) pc = x->flow->inst[pc].up;
  return pc;
}

/* ---- what was written ---- */

static uint64_t power(uint64_t q, uint64_t n) {
  uint64_t p = 1;
  for (; n; n >>= 1, q *= q)
    if (n & 1) p *= q;
  return p;
}

/* 1 + q + .. + q^(n-1) */
static uint64_t geometric(uint64_t q, uint64_t n) {
  uint64_t sum = 0, part = 1; /* of so many terms as the bit counts */
  for (; n; n >>= 1, part *= 1 + q, q *= q)
    if (n & 1) sum = sum * q + part;
  return sum;
}

/* From where an element lies for the smaller bounds to where it lies for the larger ones; also for
 * distances. */
static int64_t lies_at(const corner *c, int64_t p) {
  int64_t at = 0, unit = 1;
  if (!c) return p;
  for (int k = c->n - 1; k >= 0; unit *= c->now[k--]) {
    at += p % TP_MAX(c->was[k], 1) * unit;
    p /= TP_MAX(c->was[k], 1);
  }
  return at;
}

/* Of n elements in a row; of a window on a ring from lo on, at most all m of it. */
static uint64_t in_a_row(const inst_walk *w, const tp_dnd *d, bool wraps, uint64_t q, int64_t n) {
  if (!wraps) return geometric(q, (uint64_t)n);
  int64_t m = TP_MAX(value(&d->wmod, w->env), 1), lo = tp_floormod(value(&d->wlo, w->env), m),
          first = TP_MIN(n, m - lo);
  return power(q, (uint64_t)lo) * geometric(q, (uint64_t)first) +
      geometric(q, (uint64_t)(n - first));
}

static uint64_t window_sum(const inst_walk *w, const tp_dnd *d) {
  const corner *c = w->lies ? w->lies[d->buf] : NULL;
  int64_t off = value(&d->off, w->env);
  uint64_t sum = 1;
  for (int i = 0; i < d->nring; i++)
    off +=
        tp_floormod(value(&d->ring[i].idx, w->env), TP_MAX(value(&d->ring[i].width, w->env), 1)) *
        value(&d->ring[i].stride, w->env);
  for (int k = 0; k < d->rank; k++) {
    int64_t n = value(&d->shape[k], w->env), s = value(&d->stride[k], w->env);
    if (n <= 0) return 0;
    if (s < 0) off += (n - 1) * s;
    sum *= in_a_row(w, d, k == d->wrap, power(BASE, (uint64_t)lies_at(c, s < 0 ? -s : s)), n);
  }
  return sum * power(BASE, (uint64_t)lies_at(c, off));
}

static uint64_t hash_of(const inst_walk *w, const tp_dx *d, int n, uint64_t h) {
  for (int k = 0; k < n; k++) {
    int64_t v = value(&d[k], w->env);
    h = tp_hash(&v, sizeof v, h);
  }
  return h;
}

/* A callback of the script's, by its point and how long its arrays are; of one that ticks only the
 * point: ends cut what it takes and shows. */
static uint64_t call_hash(const inst_walk *w, const tp_dreg *r) {
  int fn = w->x->plan->calls.v[r->rg->call].fn;
  uint64_t h = hash_of(w, r->coord, r->rg->ncoord, (uint64_t)fn);
  for (int k = 0; k < r->nnd && fn >= 0; k++) h = hash_of(w, r->in[k].shape, r->in[k].rank, h);
  return h;
}

static void note_region(inst_walk *w, const tp_dreg *r) {
  if (r->rg->kind == TP_RG_CALL) w->calls += call_hash(w, r);
  for (int o = 0; o < r->nout; o++)
    if (r->out[o].buf >= 0 && w->kept[r->out[o].buf])
      w->wrote[r->out[o].buf] += window_sum(w, &r->out[o]);
}

/* ---- the walk ---- */

/* Does it live at a tick, or for ever? */
static bool is_kept(const tp_exec *x, const tp_pbuf *b) {
  bool kept = b->kind == TP_BUF_OUTPUT;
  for (int i = 0; b->kind == TP_BUF_TEMP && i < x->flow->ninst && !kept; i++)
    kept = x->flow->inst[i].op == TP_I_TICK && b->first <= x->flow->inst[i].pos &&
        x->flow->inst[i].pos <= b->last;
  return kept;
}

static bool is_region(const tp_inst *i) { return i->op == TP_I_REGION || i->op == TP_I_SHOW; }

static bool *all_kept(tp_exec *x) {
  bool *kept = TP_NEWN(&x->a, bool, x->plan->bufs.n);
  for (int b = 0; b < x->plan->bufs.n; b++) kept[b] = is_kept(x, x->plan->bufs.v[b]);
  return kept;
}

/* Instructions that write what is kept, or call, and ticks; loops with one of these inside. */
static bool *all_met(tp_exec *x, const bool *kept) {
  bool *met = TP_NEWN(&x->a, bool, x->flow->ninst);
  for (int k = 0; k < x->flow->ninst; k++) {
    const tp_inst *i = &x->flow->inst[k];
    bool is = i->op == TP_I_TICK || (is_region(i) && i->rg->rg->kind == TP_RG_CALL);
    for (int o = 0; is_region(i) && o < i->rg->nout; o++)
      is |= i->rg->out[o].buf >= 0 && kept[i->rg->out[o].buf];
    for (int up = k; is && up >= 0 && !met[up]; up = x->flow->inst[up].up) met[up] = true;
  }
  return met;
}

static const tp_inst *iterate(inst_walk *w, const tp_inst *loop, int64_t at) {
  bool inside =
      w->met[place(w, loop)] && at >= value(&loop->lo, w->env) && at < value(&loop->hi, w->env);
  w->env[loop->var] = at;
  return inside ? loop + 1 : w->x->flow->inst + loop->to;
}

static bool holds_at(const inst_walk *w, const tp_inst *i) {
  int64_t v = value(&i->cond, w->env);
  return i->test == TP_TEST_GE0 ? v >= 0 : i->test == TP_TEST_EQ0 ? v == 0 : v != 0;
}

static const tp_inst *walk_turn(inst_walk *w, const tp_inst *i) {
  switch (i->op) {
  case TP_I_FOR:
    return iterate(w, i, i->step > 0 ? value(&i->lo, w->env) : value(&i->hi, w->env) - 1);
  case TP_I_NEXT: return iterate(w, w->x->flow->inst + i->up, w->env[i->var] + i->step);
  case TP_I_IF: return holds_at(w, i) ? i + 1 : w->x->flow->inst + i->to;
  case TP_I_JUMP: return w->x->flow->inst + i->to;
  case TP_I_LOAD: w->env[i->var] = value(&i->hi, w->ends); return i + 1;
  case TP_I_REGION:
  case TP_I_SHOW:
    if (w->met[place(w, i)]) note_region(w, i->rg);
    return i + 1;
  default: return i + 1;
  }
}

static bool is_at(const inst_walk *w, const tp_inst *i, const int64_t *at) {
  bool same = true;
  for (int k = 0; at && k < i->rg->rg->ncoord; k++)
    same &= value(&i->rg->coord[k], w->env) == at[k];
  return same;
}

/* The instruction of the tick at this point, NULL: the first; -1: there is none. */
static int find_tick(inst_walk *w, const int64_t *at) {
  const tp_inst *i = w->x->flow->inst, *end = i + w->x->flow->ninst;
  while (i < end && !(i->op == TP_I_TICK && is_at(w, i, at))) i = walk_turn(w, i);
  return i < end ? place(w, i) : -1;
}

/* Extents as they lie in memory. A dim that grows has a slot for each of its points, in which none
 * has gone round. */
static bool corner_of(const tp_exec *x, const tp_pbuf *b, const int64_t *was, corner *c) {
  c->n = b->ndim + b->rank;
  if (c->n > 2 * TP_MAXRANK) return false;
  for (int k = 0; k < c->n; k++) {
    int d = k < b->ndim && b->order ? b->order[k] : k;
    c->was[k] = TP_MAX(tp_ix_evalq(b->slots[d], was), 0);
    c->now[k] = TP_MAX(tp_ix_evalq(b->slots[d], x->env), 0);
    if (c->was[k] > c->now[k] || (c->was[k] < c->now[k] && !tp_ix_as_sym(b->slots[d])))
      return false;
  }
  return true;
}

static int64_t *bounds_of(tp_exec *x, const int64_t *from) {
  int64_t *env = TP_NEWN(&x->a, int64_t, x->nsym);
  for (int i = 0; i < x->nbound; i++) env[x->bound[i]] = from[x->bound[i]];
  tp_plan_given(x->plan, env);
  return env;
}

static corner **corners(tp_exec *x, const int64_t *was) {
  corner **all = TP_NEWN(&x->a, corner *, x->plan->bufs.n), c;
  for (int b = 0; b < x->plan->bufs.n; b++)
    if (corner_of(x, x->plan->bufs.v[b], was, &c)) all[b] = tp_dup(&x->a, &c, sizeof c);
  return all;
}

/* From the begin to the tick at this point, for the smaller and for the larger bounds. at: the
 * tick's instructions; false: there is none for one of them. */
typedef struct {
  inst_walk was, now;
  int pc[2];
} both;

static bool walk_both(tp_exec *x, const int64_t *was, const int64_t *at, both *w) {
  int n = x->plan->bufs.n;
  const bool *kept = all_kept(x), *met = all_met(x, kept);
  w->was = (inst_walk){ x, bounds_of(x, was), bounds_of(x, was), kept, met, corners(x, was),
    TP_NEWN(&x->a, uint64_t, n), 0 };
  w->now = (inst_walk){ x, bounds_of(x, x->env), bounds_of(x, at ? was : x->env), kept, met, NULL,
    TP_NEWN(&x->a, uint64_t, n), 0 };
  w->pc[0] = find_tick(&w->was, at);
  w->pc[1] = find_tick(&w->now, at);
  return w->pc[0] >= 0 && w->pc[1] >= 0;
}

static bool calls(const tp_exec *x, int to) {
  bool any = false;
  for (int i = 0; i < to; i++)
    any |= x->flow->inst[i].op == TP_I_SHOW ||
        (x->flow->inst[i].op == TP_I_REGION && x->flow->inst[i].rg->rg->kind == TP_RG_CALL);
  return any;
}

static bool writes(const tp_exec *x, int from, int to, int buf) {
  bool any = false;
  for (int i = from; i < to; i++)
    for (int o = 0; is_region(&x->flow->inst[i]) && o < x->flow->inst[i].rg->nout; o++)
      any |= x->flow->inst[i].rg->out[o].buf == buf;
  return any;
}

bool tp_longer_takes(const tp_exec *x, int buf) {
  return writes(x, x->flow->later, x->flow->ninst, buf);
}

bool tp_exec_made_anew(const tp_exec *x, int output) {
  bool anew = false;
  for (int b = 0; b < x->plan->bufs.n; b++)
    if (x->plan->bufs.v[b]->kind == TP_BUF_OUTPUT && x->plan->bufs.v[b]->slot == output)
      anew = writes(x, 0, x->flow->later, b) && !tp_longer_takes(x, b);
  return anew;
}

static bool is_same(const both *w, const tp_exec *x) {
  bool same = w->was.calls == w->now.calls;
  for (int b = 0; b < x->plan->bufs.n; b++)
    same &= !tp_longer_takes(x, b) || w->was.wrote[b] == w->now.wrote[b];
  return same;
}

/* What lies before the first tick. */
static bool begin_anew(tp_exec *x, const int64_t *was, tp_error *err) {
  both w;
  bool found = walk_both(x, was, NULL, &w);
  x->flow->later = 0;
  if (w.pc[1] < 0 || (found && w.pc[0] == w.pc[1] && is_same(&w, x))) return w.pc[1] >= 0;
  x->flow->later = outermost(x, w.pc[1]);
  return !calls(x, w.pc[1]) && tp_exec_go(x, &(tp_goal){ .tick = true }, err) == TP_AT_TICK;
}

bool tp_exec_longer(tp_exec *x, const int64_t *was, const int64_t *at, tp_error *err) {
  both w;
  if (!begin_anew(x, was, err) || !walk_both(x, was, at, &w) || !is_same(&w, x)) return false;
  memcpy(x->flow->front.env, w.now.env, sizeof *w.now.env * (size_t)x->nsym);
  x->flow->front.pc = w.pc[1];
  x->flow->front.pos = x->flow->inst[x->flow->front.pc].pos;
  return true;
}

/* ---- buffers ---- */

static void copy_corner(const corner *c, int k, size_t size, const char **from, char *to) {
  size_t row = size;
  for (int j = k + 1; j < c->n; j++) row *= (size_t)c->now[j];
  if (k == c->n) memcpy(to, *from, size), *from += size;
  for (int64_t i = 0; k < c->n && i < c->was[k]; i++)
    copy_corner(c, k + 1, size, from, to + (size_t)i * row);
}

bool tp_longer_buffer(tp_exec *x, const tp_pbuf *b, const int64_t *was, tp_reader *r, size_t n) {
  corner c;
  size_t all = (size_t)tp_dtype_size(b->dtype);
  if (!corner_of(x, b, was, &c)) return false;
  for (int k = 0; k < c.n; k++) all *= (size_t)c.was[k];
  const char *from = all == n ? tp_take(r, n) : NULL;
  if (!from) return false;
  copy_corner(&c, 0, (size_t)tp_dtype_size(b->dtype), &from, x->base[b->id]);
  return true;
}

/* ---- what was reached ---- */

static bool around(const tp_exec *x, int pc, int place) {
  bool all = true;
  for (int i = 0; i < place; i++)
    if (x->flow->inst[i].op == TP_I_FOR && place < x->flow->inst[i].to)
      all &= i < pc && pc < x->flow->inst[i].to;
  return all;
}

void tp_longer_ends(tp_exec *x) {
  for (int i = 0; i < x->flow->front.pc; i++) {
    const tp_inst *l = &x->flow->inst[i];
    if (l->op == TP_I_LOAD && l->end->nd.dtype != TP_BOOL && around(x, x->flow->front.pc, i))
      x->env[l->var] = tp_dend_most(x, l->end, tp_dx_get(&l->hi, x->env));
  }
}
