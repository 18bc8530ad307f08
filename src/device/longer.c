/* longer.c: going on with larger bounds. A tick is found by its point; what ends by data is not known before it runs.
 *
 * The same is meant by: as many regions of the same extents. What lies before the first tick and is not the same for the new bounds is run anew, if it calls nobody: it asks for no values of ticks, and what
 * only it writes is right then. The rest is taken from the state, if what ran since the row began, up to the tick, is the same for both. */
#include "device/priv.h"

/* A walk through the instructions that runs none, as if no row had ended: seen are regions, and loops without ticks with what is inside them, of the rows at which it is. */
typedef enum { UNSEEN, HERE, INSIDE } sight;
typedef struct { const tp_exec *x; int64_t *env; sight *seen; bool ticked; } inst_walk;

static int64_t value(const tp_dx *d, const int64_t *env) { return d->e ? tp_ix_evalq(d->e, env) : 0; }
static int place(const inst_walk *w, const tp_inst *i) { return (int)(i - w->x->inst); }

static bool has_tick(const tp_exec *x, int from, int to) {
  bool any = false;
  for (int i = from; i < to && !any; i++) any = x->inst[i].op == TP_I_TICK;
  return any;
}

/* The outermost loop around it; itself if there is none. */
static int outermost(const tp_exec *x, int pc) {
  for (int i = 0; i < pc; i++)
    if (x->inst[i].op == TP_I_FOR && pc < x->inst[i].to) return i;
  return pc;
}

static void forget(inst_walk *w, int from, int to) { memset(w->seen + from, 0, sizeof *w->seen * (size_t)(to - from)); }

/* Behind a loop: of one inside a row its own part is forgotten, of one around all rows everything. */
static const tp_inst *walk_leave(inst_walk *w, int loop) {
  int to = w->x->inst[loop].to;
  forget(w, outermost(w->x, loop) == loop ? 0 : loop, to);
  return w->x->inst + to;
}

static const tp_inst *iterate(inst_walk *w, const tp_inst *i, int loop, int64_t at) {
  int64_t lo = value(&i->lo, w->env), hi = value(&i->hi, w->env);
  w->env[i->var] = at;
  if (at < lo || at >= hi) return walk_leave(w, loop);
  forget(w, loop + 1, w->x->inst[loop].to);
  return w->x->inst + loop + 1;
}

static const tp_inst *enter(inst_walk *w, const tp_inst *i) {
  int loop = place(w, i);
  if (has_tick(w->x, loop, i->to)) return iterate(w, i, loop, i->step > 0 ? value(&i->lo, w->env) : value(&i->hi, w->env) - 1);
  w->seen[loop] = HERE;
  for (int k = loop + 1; k < i->to; k++) w->seen[k] = INSIDE;
  return w->x->inst + i->to;
}

static const tp_inst *next(inst_walk *w, const tp_inst *i) {
  int loop = i->to - 1;                         /* or further in front (enter_body) */
  while (w->x->inst[loop].op != TP_I_FOR) loop--;
  return iterate(w, i, loop, w->env[i->var] + i->step);
}

static bool holds_at(const inst_walk *w, const tp_inst *i) {
  int64_t v = value(&i->cond, w->env);
  return i->test == TP_TEST_GE0 ? v >= 0 : i->test == TP_TEST_EQ0 ? v == 0 : v != 0;
}

static const tp_inst *walk_turn(inst_walk *w, const tp_inst *i) {
  switch (i->op) {
    case TP_I_FOR: return enter(w, i);
    case TP_I_NEXT: return next(w, i);
    case TP_I_IF: return holds_at(w, i) ? i + 1 : w->x->inst + i->to;
    case TP_I_JUMP: return w->x->inst + i->to;
    case TP_I_LOAD: w->env[i->var] = value(&i->hi, w->env); return i + 1;
    case TP_I_REGION: case TP_I_SHOW: w->seen[place(w, i)] = HERE; return i + 1;
    default: return i + 1;
  }
}

static bool is_at(const inst_walk *w, const tp_inst *i, const int64_t *at) {
  bool same = true;
  for (int k = 0; at && k < i->rg->rg->ncoord; k++) same &= value(&i->rg->coord[k], w->env) == at[k];
  return same;
}

/* The instruction of the tick at this point, NULL: the first; -1: there is none. */
static int find_tick(inst_walk *w, const int64_t *at) {
  for (const tp_inst *i = w->x->inst, *end = i + w->x->ninst; i < end; i = walk_turn(w, i)) {
    if (i->op != TP_I_TICK) continue;
    if (is_at(w, i, at)) return place(w, i);
    if (!w->ticked) forget(w, 0, outermost(w->x, place(w, i)));
    w->ticked = true;
  }
  return -1;
}

/* Of values; of what is inside a loop that is gone through whole, of the bounds that it depends on. */
static uint64_t hash_of(const inst_walk *w, sight how, const tp_dx *d, int n, uint64_t h) {
  for (int k = 0; k < n; k++) {
    const tp_sym *const *sym;
    int64_t v = how == HERE ? value(&d[k], w->env) : 0;
    int m = how == HERE ? 0 : tp_ix_syms(d[k].e, &sym);
    h = tp_hash(&v, sizeof v, h);
    for (int i = 0; i < m; i++)
      if (sym[i]->kind == TP_SYM_BOUND) h = tp_hash(&w->env[sym[i]->id], sizeof *w->env, h);
  }
  return h;
}

/* Of what was seen, in order. */
static uint64_t extents(const inst_walk *w) {
  uint64_t h = 0;
  for (int k = 0; k < w->x->ninst; k++) {
    const tp_inst *i = &w->x->inst[k];
    bool region = i->op == TP_I_REGION || i->op == TP_I_SHOW;
    if (!w->seen[k]) continue;
    h = region ? hash_of(w, w->seen[k], i->rg->ix, i->rg->rg->nix, h) : hash_of(w, w->seen[k], &i->cond, 1, hash_of(w, w->seen[k], &i->hi, 1, hash_of(w, w->seen[k], &i->lo, 1, h)));
    for (int o = 0; region && o < i->rg->nnd; o++) h = hash_of(w, w->seen[k], i->rg->in[o].shape, i->rg->in[o].rank, h);
  }
  return h;
}

/* Where the tick at this point is for these bounds, and what was seen on the way; now: the run goes on from there. */
static int find_for(tp_exec *x, const int64_t *bounds, const int64_t *at, bool now, uint64_t *h) {
  inst_walk w = { x, TP_NEWN(&x->a, int64_t, x->nsym), TP_NEWN(&x->a, sight, x->ninst), false };
  for (int i = 0; i < x->nbound; i++) w.env[x->bound[i]] = bounds[x->bound[i]];
  int pc = find_tick(&w, at);
  *h = extents(&w);
  if (now && pc >= 0) memcpy(x->front.env, w.env, sizeof *w.env * (size_t)x->nsym);
  return pc;
}

static bool calls(const tp_exec *x, int to) {
  bool any = false;
  for (int i = 0; i < to; i++) any |= x->inst[i].op == TP_I_SHOW || (x->inst[i].op == TP_I_REGION && x->inst[i].rg->rg->kind == TP_RG_CALL);
  return any;
}

/* What lies before the first tick. */
static bool begin_anew(tp_exec *x, const int64_t *was, tp_error *err) {
  uint64_t before, h;
  int first = find_for(x, x->env, NULL, false, &h);
  x->later = 0;
  if (first < 0 || (find_for(x, was, NULL, false, &before) == first && h == before)) return first >= 0;
  x->later = outermost(x, first);
  return !calls(x, first) && tp_exec_go(x, &(tp_goal){ .tick = true }, err) == TP_AT_TICK;
}

bool tp_exec_longer(tp_exec *x, const int64_t *was, const int64_t *at, tp_error *err) {
  uint64_t before, h;
  if (!begin_anew(x, was, err) || find_for(x, was, at, false, &before) < 0) return false;
  x->front.pc = find_for(x, x->env, at, true, &h);
  if (x->front.pc < 0 || h != before) return false;
  x->front.pos = x->inst[x->front.pc].pos;
  return true;
}

/* ---- buffers ---- */

bool tp_longer_takes(const tp_exec *x, int buf) {
  for (int i = x->later; i < x->ninst; i++)
    for (int o = 0; (x->inst[i].op == TP_I_REGION || x->inst[i].op == TP_I_SHOW) && o < x->inst[i].rg->nout; o++)
      if (x->inst[i].rg->out[o].buf == buf) return true;
  return false;
}

typedef struct { int n; int64_t was[2 * TP_MAXRANK], now[2 * TP_MAXRANK]; } corner;

/* Extents as they lie in memory. A dim that grows has a slot for each of its points, in which none has gone round. */
static bool corner_of(const tp_exec *x, const tp_pbuf *b, const int64_t *was, corner *c) {
  c->n = b->ndim + b->rank;
  if (c->n > 2 * TP_MAXRANK) return false;
  for (int k = 0; k < c->n; k++) {
    int d = k < b->ndim && b->order ? b->order[k] : k;
    c->was[k] = TP_MAX(tp_ix_evalq(b->slots[d], was), 0);
    c->now[k] = TP_MAX(tp_ix_evalq(b->slots[d], x->env), 0);
    if (c->was[k] > c->now[k] || (c->was[k] < c->now[k] && !tp_ix_as_sym(b->slots[d]))) return false;
  }
  return true;
}

static void copy_corner(const corner *c, int k, size_t size, const char **from, char *to) {
  size_t row = size;
  for (int j = k + 1; j < c->n; j++) row *= (size_t)c->now[j];
  if (k == c->n) memcpy(to, *from, size), *from += size;
  for (int64_t i = 0; k < c->n && i < c->was[k]; i++) copy_corner(c, k + 1, size, from, to + (size_t)i * row);
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
    if (x->inst[i].op == TP_I_FOR && place < x->inst[i].to) all &= i < pc && pc < x->inst[i].to;
  return all;
}

void tp_longer_ends(tp_exec *x) {
  for (int i = 0; i < x->front.pc; i++) {
    const tp_inst *l = &x->inst[i];
    if (l->op == TP_I_LOAD && l->end->dtype != TP_BOOL && around(x, x->front.pc, i)) x->env[l->var] = tp_dend_most(x, l->end, tp_dx_get(&l->hi, x->env));
  }
}
