/* turn.c: goes from one instruction to the next, and compares cursors. */
#include "run/priv.h"

static bool holds(const tp_exec *x, const tp_inst *i) {
  int64_t v = tp_dx_get(&i->cond, x->env);
  return i->test == TP_TEST_GE0 ? v >= 0 : i->test == TP_TEST_EQ0 ? v == 0 : v != 0;
}

static bool is_inside(const tp_exec *x, const tp_inst *i) {
  return i->step > 0 ? x->env[i->var] < tp_dx_get(&i->hi, x->env)
                     : x->env[i->var] >= tp_dx_get(&i->lo, x->env);
}

/* the next instruction of one that is no region; leaves: BEHIND is skipped */
const tp_inst *tp_flow_turn(tp_exec *x, const tp_inst *i, bool leaves) {
  const tp_inst *to = x->flow->inst + i->to;
  const tp_spilled *s;
  switch (i->op) {
  case TP_I_FOR:
    x->env[i->var] = i->step > 0 ? tp_dx_get(&i->lo, x->env) : tp_dx_get(&i->hi, x->env) - 1;
    return is_inside(x, i) ? i + 1 : to;
  case TP_I_NEXT: x->env[i->var] += i->step; return is_inside(x, i) ? to : i + 1;
  case TP_I_IF: return holds(x, i) ? i + 1 : to;
  case TP_I_JUMP: return to;
  case TP_I_BEHIND: return leaves ? to : i + 1;
  case TP_I_LOAD:
    x->env[i->var] = tp_dend_most(x, i->end, tp_dx_get(&i->hi, x->env));
    if (x->device) x->offload->loaded(x, i->var);
    return i + 1;
  case TP_I_SPILL:
  case TP_I_FETCH: /* if the buffer lies in the file that way */
    s = &x->mem->spilled[i->var];
    if (s->chunk && s->way == i->way) (i->op == TP_I_SPILL ? tp_run_spill : tp_run_fetch)(x, i);
    return i + 1;
  default: return i + 1;
  }
}

bool tp_flow_through(tp_exec *x, const tp_inst *i, const tp_inst *to,
    bool (*fn)(void *ud, const tp_inst *i), void *ud) {
  while (i < to) {
    if (i->op != TP_I_REGION) i = tp_flow_turn(x, i, false);
    else if (!fn(ud, i++)) return false;
  }
  return true;
}

/* Finds where an IF goes on if its condition fails; `to` if it has no else. */
static int else_of(const tp_exec *x, const tp_inst *i) {
  const tp_inst *last = x->flow->inst + i->to - 1;
  return last->op == TP_I_JUMP && last->to > i->to ? last->to : i->to;
}

static bool passes(tp_exec *x, const tp_inst *i, int pc) {
  int here = (int)(i - x->flow->inst);
  if (i->op == TP_I_FOR && pc > here && pc < i->to) {
    int64_t lo = tp_dx_get(&i->lo, x->env), hi = tp_dx_get(&i->hi, x->env), v = x->env[i->var];
    return v >= lo && v < hi && (i->step > 0 ? v - lo : hi - 1 - v) % i->step == 0;
  }
  if (i->op != TP_I_IF || pc <= here || pc >= else_of(x, i)) return true;
  return holds(x, i) == (pc < i->to);
}

static bool is_stop(const tp_inst *i) { return tp_is_leaf(i) || i->op == TP_I_WAIT; }

/* The next stop from i on, or the end: the only places where a run waits. */
const tp_inst *tp_flow_stop(tp_exec *x, const tp_inst *i) {
  while (i < x->flow->inst + x->flow->ninst && !is_stop(i)) i = tp_flow_turn(x, i, x->flow->split);
  return i;
}

/* Moves the cursor to the next region or tick. back goes no further than front: its inputs might
 * not be made. */
void tp_flow_settle(tp_exec *x, tp_cursor *c) {
  tp_flow *f = x->flow;
  int64_t *was = x->env;
  bool front = c == &f->front;
  x->env = c->env;
  while (
      c->pc < f->ninst && !is_stop(&f->inst[c->pc]) && (front || tp_flow_before(x, c, &f->front)))
    c->pc = (int)(tp_flow_turn(x, &f->inst[c->pc], front && f->split) - f->inst);
  x->env = was;
}

bool tp_flow_possible(const tp_exec *cx, const tp_cursor *c) {
  tp_exec *x = (tp_exec *)cx;
  int64_t *was = x->env;
  bool ok = c->pc >= 0 && c->pc <= x->flow->ninst;
  x->env = c->env;
  for (int i = 0; ok && i < c->pc; i++) ok = passes(x, &x->flow->inst[i], c->pc);
  x->env = was;
  return ok;
}

/* < 0: a's loops, from the outermost on, are further behind. */
static int order(const tp_exec *x, int loop, const int64_t *a, const int64_t *b) {
  if (loop < 0) return 0;
  const tp_inst *i = &x->flow->inst[loop];
  int outer = order(x, i->up, a, b), here = (a[i->var] > b[i->var]) - (a[i->var] < b[i->var]);
  return outer ? outer : i->step > 0 ? here : -here;
}

bool tp_flow_before(const tp_exec *x, const tp_cursor *a, const tp_cursor *b) {
  int loop = a->pc < x->flow->ninst ? x->flow->inst[a->pc].up : -1;
  while (loop >= 0 && (b->pc <= loop || b->pc >= x->flow->inst[loop].to))
    loop = x->flow->inst[loop].up;
  int o = order(x, loop, a->env, b->env);
  return o < 0 || (o == 0 && a->pc < b->pc);
}

const tp_inst *tp_flow_side(const tp_exec *x, const tp_cursor *c) {
  const tp_flow *f = x->flow;
  return c->pc < f->ninst && f->inst[c->pc].side >= 0 ? &f->inst[f->inst[c->pc].side] : NULL;
}
