/* flow.c: runs instructions; can stop between any two and go on later. */
#include "run/priv.h"

static void enter_back(tp_exec *x, bool in) {
  x->flow->inback = in;
  x->env = in ? x->flow->back.env : x->flow->front.env;
}

/* Runs the work that front has left, up to rows beyond `row`, a time, or front itself. */
static bool follow(tp_exec *x, int64_t row, double until) {
  tp_flow *f = x->flow;
  const tp_inst *i = f->inst + f->back.pc;
  bool ok = true;
  f->ends = NULL;
  enter_back(x, true);
  for (bool more = true; ok && more && tp_flow_before(x, &f->back, &f->front);
       f->back.pc = (int)(i - f->inst)) {
    if (i == f->ends) tp_native_learnt(f);
    /* a part is in one BEHIND as a whole */
    if (i->side >= 0 && i->part && tp_native_takes(x, i, until)) {
      if ((f->backrow = tp_dx_get(&f->inst[i->side].lo, x->env)) > row) break;
      if (i->entry) tp_flow_turn(x, i, false);
      ok = tp_native_run(x, i, until);
      more = !f->left && (!until || tp_now() < until);
      i = f->left ? f->left : f->inst + i->next;
      f->left = NULL;
      continue;
    }
    if (!tp_is_leaf(i)) {
      i = tp_flow_turn(x, i, false);
      continue;
    }
    if (i->side >= 0) {
      f->backrow = tp_dx_get(&f->inst[i->side].lo, x->env);
      if (f->backrow > row) break;
      ok = tp_dreg_run(x, i->rg);
      more = !until || tp_now() < until;
    }
    i++;
  }
  enter_back(x, false);
  return ok;
}

bool tp_flow_catch_up(tp_exec *x, double until) {
  return !x->flow->split || follow(x, INT64_MAX, until);
}

/* Runs back as far as the WAIT says: nothing behind it may meet work that is left. */
static bool wait_for_back(tp_exec *x, const tp_inst *i) {
  tp_flow *f = x->flow;
  int64_t row = tp_dx_get(&i->lo, x->env);
  bool ok =
      !f->split || !tp_flow_before(x, &f->back, &f->front) || row < f->backrow || follow(x, row, 0);
  if (row == INT64_MAX) f->backrow = INT64_MIN; /* rows count anew */
  return ok;
}

/* Sets split, while no work is left for back. */
void tp_flow_split(tp_exec *x, bool split) {
  tp_flow *f = x->flow;
  int64_t *env = f->back.env;
  TP_COPYN(env, f->front.env, x->nsym);
  f->split = split;
  f->left = NULL;
  f->back = f->front;
  f->back.env = env;
  f->backrow = INT64_MIN;
  const tp_inst *side = split ? tp_flow_side(x, &f->front) : NULL;
  if (side) f->front.pc = side->to;
  tp_flow_settle(x, &f->front);
}

void tp_flow_begin(tp_exec *x) {
  x->flow->front.pc = 0;
  x->flow->front.pos = -1;
  x->flow->left = NULL;
  x->flow->split = x->flow->inback = false;
  x->flow->nshown = 0;
}

/* Does a device run what begins here, up to instruction *to? */
static bool device_takes(
    tp_exec *x, const tp_inst *i, const tp_goal *g, const tp_inst **to, bool *ok) {
  const tp_pnode *last = NULL;
  if (!x->device || !i->node || x->flow->split || g->until || tp_run_ends(x->run)) return false;
  x->flow->front.pc = (int)(i - x->flow->inst);
  x->running = true;
  int taken = x->offload->stretch(x, i->node, &last);
  *ok = taken > 0;
  for (*to = i; last && (*to)->node != last;) ++*to;
  *to = x->flow->inst + (*to)->behind;
  if (taken || i->op != TP_I_FOR) return taken != 0;
  int64_t lo = tp_dx_get(&i->lo, x->env), hi = tp_dx_get(&i->hi, x->env);
  taken =
      i->step > 0 ? x->offload->loop(x, i->node, lo, hi) : x->offload->loop(x, i->node, hi - 1, lo);
  *ok = taken > 0;
  return taken != 0;
}

tp_stand tp_flow_run(tp_exec *x, const tp_goal *g) {
  tp_flow *f = x->flow;
  const tp_inst *i = f->inst + f->front.pc, *end = f->inst + f->ninst, *to;
  tp_stand s = TP_AT_END;
  bool ok, begun = f->left && f->front.pc == f->leftpc; /* its iteration */
  if (begun) i = f->left;
  f->left = f->ends = NULL;
  while (i < end && s == TP_AT_END) {
    if (i == f->ends) tp_native_learnt(f);
    if (i->entry && f->ask) tp_native_ask(x);
    if (tp_native_takes(x, i, g->until)) {
      /* an iteration is over */
      if (i->entry && !begun) tp_flow_turn(x, i, f->split);
      if (!tp_native_run(x, i, g->until)) s = TP_AT_ERROR;
      else if (f->left) i = f->left, s = TP_AT_TIME;
      else i = f->inst + i->next;
      begun = false;
    } else if (begun) { /* no time for native code */
      i = f->inst + f->leftpc;
      begun = false;
    } else if (device_takes(x, i, g, &to, &ok)) {
      if (!ok) s = TP_AT_ERROR;
      else i = to;
    } else if (tp_team_takes(x, i, g) && tp_team_run(x, i, &ok)) {
      if (!ok) s = TP_AT_ERROR;
      else i = f->inst + i->beyond;
    } else if (i->op == TP_I_REGION || i->op == TP_I_SHOW) {
      f->front.pc = (int)(i - f->inst);
      f->nshown += i->op == TP_I_SHOW;
      if (!tp_dreg_run(x, i->rg)) s = TP_AT_ERROR;
      else if (g->shown && f->nshown == g->shown) s = TP_AT_SHOWN;
      else if (g->until && tp_now() >= g->until) s = TP_AT_TIME;
      i += s != TP_AT_ERROR;
    } else if (i->op == TP_I_TICK && g->tick) s = TP_AT_TICK;
    else {
      f->front.pc = (int)(i - f->inst);
      if (i->op == TP_I_WAIT && !wait_for_back(x, i)) s = TP_AT_ERROR;
      else i = tp_flow_turn(x, i, f->split);
    }
  }
  f->front.pc = (int)((s == TP_AT_ERROR ? i : tp_flow_stop(x, i)) - f->inst);
  f->leftpc = f->front.pc;
  if (s == TP_AT_END && !tp_flow_catch_up(x, 0)) s = TP_AT_ERROR;
  return s;
}
