/* place.c: writes where a run stands as bytes, and reads it back. Nothing read is trusted: cursors
 * must be at places that the loops reach, and buffers have the bytes of these bounds. */
#include "run/priv.h"

/* Is the buffer alive at the cursor? A wait has the position of the next region: behind the loop,
 * if it ends the body. */
static bool alive_at(const tp_exec *x, const tp_pbuf *b, const tp_cursor *c) {
  const tp_inst *i = &x->flow->inst[c->pc];
  return c->pc < x->flow->ninst && b->first <= i->pos && i->pos - (i->op == TP_I_WAIT) <= b->last;
}

static bool alive(const tp_exec *x, const tp_pbuf *b) {
  if (b->kind != TP_BUF_TEMP || b->first < 0 ||
      (x->mem->offset[b->id] < 0 && !x->mem->spilled[b->id].chunk))
    return false;
  return alive_at(x, b, &x->flow->front) || (x->flow->split && alive_at(x, b, &x->flow->back));
}

static size_t bytes(const tp_exec *x, const tp_pbuf *b) {
  return x->count[b->id] > 0 ? (size_t)x->count[b->id] * (size_t)tp_dtype_size(b->dtype) : 0;
}

bool tp_exec_tick(const tp_exec *x, int64_t *at) {
  const tp_cursor *c = &x->flow->front;
  const tp_inst *i = x->flow->inst + c->pc;
  if (c->pc >= x->flow->ninst || i->op != TP_I_TICK) return false;
  for (int k = 0; k < i->rg->rg->ncoord; k++) at[k] = tp_dx_get(&i->rg->coord[k], c->env);
  return true;
}

static bool keeps(const tp_inst *i) { return i->op == TP_I_SPILL || i->op == TP_I_FETCH; }

/* The place without the instructions of a limit of memory: states do not depend on it. */
static int64_t place_of(const tp_exec *x, int pc) {
  int64_t n = 0;
  for (int i = 0; i < pc; i++) n += !keeps(&x->flow->inst[i]);
  return n;
}

static void put_cursor(const tp_exec *x, const tp_cursor *c, tp_buf *b) {
  tp_put_i64(b, place_of(x, c->pc));
  tp_put_i64(b, c->pos);
  for (const tp_inst *i = x->flow->inst, *end = i + x->flow->ninst; i < end; i++)
    if (i->op == TP_I_FOR || i->op == TP_I_LOAD) tp_put_i64(b, c->env[i->var]);
}

void tp_exec_put(tp_exec *x, tp_buf *b) {
  tp_flow *f = x->flow;
  tp_flow_settle(x, &f->front);
  if (f->split) tp_flow_settle(x, &f->back);
  tp_put_i64(b, f->split);
  tp_put_i64(b, f->nshown);
  put_cursor(x, &f->front, b);
  put_cursor(x, f->split ? &f->back : &f->front, b);
  for (int i = 0; i < x->plan->bufs.n; i++) {
    const tp_pbuf *p = x->plan->bufs.v[i];
    if (!alive(x, p)) continue;
    tp_put_i64(b, i);
    tp_put_i64(b, (int64_t)bytes(x, p));
    if (!tp_see(x, i, false)) b->failed = true;
    tp_put_bytes(b, x->base[i], bytes(x, p));
  }
  tp_put_i64(b, -1);
  tp_spill_rest(x);
}

static void take_cursor(const tp_exec *x, tp_cursor *c, tp_reader *r) {
  const tp_inst *inst = x->flow->inst, *end = inst + x->flow->ninst, *i = inst;
  int64_t place = tp_take_in(r, 0, (int64_t)x->flow->ninst + 1);
  for (; i < end && (place > 0 || keeps(i)); i++) place -= !keeps(i);
  c->pc = (int)(i - inst);
  r->bad |= place > 0;
  c->pos = (int)tp_take_in(r, -1, INT32_MAX);
  for (i = inst; i < end; i++)
    if (i->op == TP_I_FOR) c->env[i->var] = tp_take_i64(r);
    else if (i->op == TP_I_LOAD) c->env[i->var] = tp_take_in(r, 0, tp_dx_get(&i->hi, x->env) + 1);
}

static void take_buffers(tp_exec *x, tp_reader *r) {
  for (int64_t i; !r->bad && (i = tp_take_in(r, -1, x->plan->bufs.n)) >= 0;) {
    const tp_pbuf *p = x->plan->bufs.v[i];
    size_t n = (size_t)tp_take_i64(r);
    if (!alive(x, p) || n != bytes(x, p)) r->bad = true;
    else if (tp_see(x, (int)i, true)) tp_take_bytes(r, x->base[i], n);
    else r->bad = true;
  }
}

/* ---- with a larger bound ---- */

/* A cursor's variables with both bounds; the outermost loop around it. */
typedef struct {
  const tp_exec *x;
  int loop;
  int64_t *was, *now;
} growth;

static int64_t value(const tp_dx *d, const int64_t *env) {
  return d->e ? tp_ix_evalq(d->e, env) : d->c;
}

/* is the test the same with both bounds, in the whole row? */
static bool is_same(const growth *g, const tp_dx *d, tp_dtest test) {
  const tp_flow *f = g->x->flow;
  bool asks = false, varies = false;
  for (int id = 0; d->e && id < g->x->nsym; id++)
    asks |= g->was[id] != g->now[id] && tp_ix_mentions(d->e, tp_sym_at(g->x->plan->ix, id));
  if (!asks) return true;
  for (int k = 0; k < f->ninst; k++)
    varies |= k != g->loop && f->inst[k].op == TP_I_FOR &&
        tp_ix_mentions(d->e, tp_sym_at(g->x->plan->ix, f->inst[k].var));
  int64_t was = value(d, g->was), now = value(d, g->now);
  return !varies &&
      (test == TP_TEST_GE0          ? (was >= 0) == (now >= 0)
              : test == TP_TEST_EQ0 ? (was == 0) == (now == 0)
                                    : was == now);
}

static bool same_region(const growth *g, const tp_dreg *r) {
  bool same = true;
  for (int k = 0; k < r->rg->nix; k++) same &= is_same(g, &r->ix[k], TP_TEST_TRUE);
  for (int k = 0; k < r->nlead; k++)
    same &= is_same(g, &r->lead[k], TP_TEST_TRUE) && is_same(g, &r->leadlo[k], TP_TEST_TRUE);
  return same;
}

static bool all_same(const growth *g, int from, int to) {
  bool same = true;
  for (int k = from; k < to && same; k++) {
    const tp_inst *i = &g->x->flow->inst[k];
    if (i->op == TP_I_IF) same = is_same(g, &i->cond, i->test);
    if (i->op == TP_I_FOR && k != g->loop)
      same = is_same(g, &i->lo, TP_TEST_TRUE) && is_same(g, &i->hi, TP_TEST_TRUE);
    if (tp_is_leaf(i)) same = same_region(g, i->rg);
  }
  return same;
}

/* The end of what the cursor's row may have run: that of a loop that it was in. */
static int run_up_to(const growth *g, const tp_cursor *c) {
  const tp_inst *inst = g->x->flow->inst;
  int to = c->pc;
  for (int k = inst[c->pc].up; k >= 0 && k != g->loop; k = inst[k].up)
    if (g->was[inst[k].var] != value(&inst[k].lo, g->was)) to = inst[k].to;
  return to;
}

/* Reads ends again, which the state's bound no longer cuts. */
static void take_ends(tp_exec *x, tp_cursor *c) {
  int64_t *was = x->env;
  x->env = c->env;
  for (int k = 0; k < c->pc; k++) {
    const tp_inst *l = &x->flow->inst[k];
    bool around = l->op == TP_I_LOAD;
    for (int up = l->up; around && up >= 0; up = x->flow->inst[up].up)
      around = up < c->pc && c->pc < x->flow->inst[up].to;
    if (around) x->env[l->var] = tp_dend_most(x, l->end, tp_dx_get(&l->hi, x->env));
  }
  x->env = was;
}

/* Would the same regions have run with these bounds? A condition on the distance to the bound shows
 * in the last row that ran what it did in earlier ones. */
static bool goes_on(tp_exec *x, tp_cursor *c, const int64_t *bounds) {
  if (c->pc >= x->flow->ninst) return false;
  growth g = { x, c->pc, TP_DUPN(&x->a, c->env, x->nsym), c->env };
  for (int i = 0; i < x->nbound; i++) g.was[x->bound[i]] = bounds[x->bound[i]];
  tp_plan_given(x->plan, g.was);
  take_ends(x, c);
  while (x->flow->inst[g.loop].up >= 0) g.loop = x->flow->inst[g.loop].up;
  const tp_inst *l = &x->flow->inst[g.loop];
  if (!all_same(&g, 0, run_up_to(&g, c))) return false;
  if (l->op != TP_I_FOR || c->env[l->var] <= value(&l->lo, g.was)) return true;
  g.now = TP_DUPN(&x->a, c->env, x->nsym);
  g.now[l->var] = --g.was[l->var];
  return all_same(&g, g.loop, l->to);
}

bool tp_exec_get(tp_exec *x, tp_reader *r, const int64_t *was) {
  tp_flow *f = x->flow;
  tp_cursor *front = &f->front, *back = &f->back;
  TP_COPYN(back->env, front->env, x->nsym);
  f->split = tp_take_in(r, 0, f->behind ? 2 : 1);
  f->nshown = (int)tp_take_in(r, 0, INT32_MAX);
  take_cursor(x, front, r);
  take_cursor(x, back, r);
  f->backrow = INT64_MIN;
  f->left = NULL;
  bool ok = !r->bad && tp_flow_possible(x, front) && tp_flow_possible(x, back) &&
      !tp_flow_before(x, front, back) && !(f->split && tp_flow_side(x, front));
  if (ok) tp_first_passed(x, front->pc < f->ninst ? f->inst[front->pc].pos : x->plan->npos);
  if (!(r->bad = !ok)) take_buffers(x, r);
  if (was && !r->bad) r->bad = !goes_on(x, front, was) || (f->split && !goes_on(x, back, was));
  if (ok) tp_spill_rest(x);
  return !r->bad;
}
