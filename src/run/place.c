/* place.c: where a run stands, written down and found again. What is read is not trusted: cursors
 * must be at places that the loops can reach, and a buffer has the bytes that these bounds give it.
 */
#include "run/priv.h"

/* A wait has the position of what follows it, which is behind the loop where it ends a loop's body.
 */
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
  const tp_inst *i = x->flow->inst + x->flow->front.pc;
  if (x->flow->front.pc >= x->flow->ninst || i->op != TP_I_TICK) return false;
  for (int k = 0; k < i->rg->rg->ncoord; k++)
    at[k] = tp_dx_get(&i->rg->coord[k], x->flow->front.env);
  return true;
}

/* ---- writing ---- */

static bool keeps(const tp_inst *i) { return i->op == TP_I_SPILL || i->op == TP_I_FETCH; }

/* Instructions before it, without those that a limit of memory brings: a state does not depend on
 * it. */
static int64_t place_of(const tp_exec *x, int pc) {
  int64_t n = 0;
  for (int i = 0; i < pc; i++) n += !keeps(&x->flow->inst[i]);
  return n;
}

static void put_cursor(const tp_exec *x, const tp_cursor *c, tp_buf *b) {
  tp_put_i64(b, place_of(x, c->pc));
  tp_put_i64(b, c->pos);
  for (int i = 0; i < x->flow->ninst; i++)
    if (x->flow->inst[i].op == TP_I_FOR || x->flow->inst[i].op == TP_I_LOAD)
      tp_put_i64(b, c->env[x->flow->inst[i].var]);
}

void tp_exec_put(tp_exec *x, tp_buf *b) {
  tp_flow_settle(x, &x->flow->front);
  if (x->flow->split) tp_flow_settle(x, &x->flow->back);
  tp_put_i64(b, x->flow->split);
  tp_put_i64(b, x->flow->nshown);
  put_cursor(x, &x->flow->front, b);
  put_cursor(x, x->flow->split ? &x->flow->back : &x->flow->front, b);
  for (int i = 0; i < x->plan->bufs.n; i++) {
    const tp_pbuf *p = x->plan->bufs.v[i];
    if (!alive(x, p)) continue;
    tp_put_i64(b, i);
    tp_put_i64(b, (int64_t)bytes(x, p));
    tp_put_bytes(b, x->base[i], bytes(x, p));
  }
  tp_put_i64(b, -1);
  tp_spill_rest(x);
}

/* ---- reading ---- */

static void take_cursor(const tp_exec *x, tp_cursor *c, tp_reader *r) {
  int64_t place = tp_take_in(r, 0, (int64_t)x->flow->ninst + 1);
  for (c->pc = 0; c->pc < x->flow->ninst && (place > 0 || keeps(&x->flow->inst[c->pc])); c->pc++)
    place -= !keeps(&x->flow->inst[c->pc]);
  if (place > 0) r->bad = true;
  c->pos = (int)tp_take_in(r, -1, INT32_MAX);
  for (int i = 0; i < x->flow->ninst; i++)
    if (x->flow->inst[i].op == TP_I_FOR) c->env[x->flow->inst[i].var] = tp_take_i64(r);
    else if (x->flow->inst[i].op == TP_I_LOAD)
      c->env[x->flow->inst[i].var] = tp_take_in(r, 0, tp_dx_get(&x->flow->inst[i].hi, x->env) + 1);
}

static void take_buffers(tp_exec *x, tp_reader *r) {
  for (int64_t i; !r->bad && (i = tp_take_in(r, -1, x->plan->bufs.n)) >= 0;) {
    const tp_pbuf *p = x->plan->bufs.v[i];
    size_t n = (size_t)tp_take_i64(r);
    if (!alive(x, p) || n != bytes(x, p)) r->bad = true;
    else tp_take_bytes(r, x->base[i], n);
  }
}

/* Those that matter at the place which was found; all of these have to be there. */
static void take_longer(tp_exec *x, tp_reader *r, const int64_t *was) {
  bool *taken = TP_NEWN(&x->a, bool, x->plan->bufs.n);
  for (int64_t i; !r->bad && (i = tp_take_in(r, -1, x->plan->bufs.n)) >= 0;) {
    const tp_pbuf *p = x->plan->bufs.v[i];
    size_t n = (size_t)tp_take_i64(r);
    taken[i] = true;
    if (!alive(x, p) || !tp_longer_takes(x, (int)i)) tp_take(r, n);
    else if (!tp_longer_buffer(x, p, was, r, n)) r->bad = true;
  }
  for (int i = 0; !r->bad && i < x->plan->bufs.n; i++)
    r->bad = alive(x, x->plan->bufs.v[i]) && !taken[i] && tp_longer_takes(x, i);
  if (!r->bad) tp_longer_ends(x);
}

/* With larger bounds front is found already (tp_exec_longer): the state's is read and left, if it
 * stands at the tick, with nothing of the row before to do. */
static bool take_front(tp_exec *x, tp_reader *r, bool found) {
  tp_cursor *c = found ? &x->flow->back : &x->flow->front;
  take_cursor(x, c, r);
  return !r->bad &&
      (found ? c->pc < x->flow->ninst && x->flow->inst[c->pc].op == TP_I_TICK
             : tp_flow_possible(x, c));
}

bool tp_exec_get(tp_exec *x, tp_reader *r, const int64_t *was) {
  memcpy(x->flow->back.env, x->flow->front.env, sizeof *x->env * (size_t)x->nsym);
  x->flow->split = tp_take_in(r, 0, x->flow->behind ? 2 : 1);
  x->flow->nshown = (int)tp_take_in(r, 0, INT32_MAX);
  bool ok = take_front(x, r, was);
  take_cursor(x, &x->flow->back, r);
  x->flow->backrow = INT64_MIN;
  ok = ok && !r->bad &&
      ((was && !x->flow->split) ||
          (tp_flow_possible(x, &x->flow->back) &&
              !tp_flow_before(x, &x->flow->front, &x->flow->back)));
  ok = ok && !(x->flow->split && tp_flow_side(x, &x->flow->front));
  if (ok)
    tp_first_passed(x,
        x->flow->front.pc < x->flow->ninst ? x->flow->inst[x->flow->front.pc].pos : x->plan->npos);
  if (!(r->bad = !ok)) (was ? take_longer(x, r, was) : take_buffers(x, r));
  if (ok) tp_spill_rest(x);
  return !r->bad;
}
