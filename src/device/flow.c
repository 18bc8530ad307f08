/* flow.c: the plan's tree as a row of instructions, and running it. A run can stop between any two of them and go on later. */
#include "device/priv.h"

/* ---- laying out ---- */

static void count_insts(const tp_pnode *p, int *ninst, int *nreg) {
  *nreg += p->kind == TP_P_REGION;
  *ninst += p->kind == TP_P_REGION || p->kind == TP_P_LOAD || p->kind == TP_P_SPILL || p->kind == TP_P_FETCH ? 1 : p->kind == TP_P_SEQ ? 0 : 2;
  for (int i = 0; i < p->n; i++) count_insts(p->kid[i], ninst, nreg);
}

/* A condition e >= 0 or e == 0 is its e. */
static tp_dx condition(tp_exec *x, const tp_ix *c, tp_dtest *test) {
  tp_ixkind k = tp_ix_kind(c);
  *test = k == TP_IX_GE0 ? TP_TEST_GE0 : k == TP_IX_EQ0 ? TP_TEST_EQ0 : TP_TEST_TRUE;
  return tp_dx_new(&x->a, *test == TP_TEST_TRUE ? c : tp_ix_arg(c, 0));
}

static int put(tp_exec *x, tp_inst i) {
  i.pos = x->npos;
  i.up = x->around;
  x->inst[x->ninst] = i;
  return x->ninst++;
}

static bool lay(tp_exec *x, const tp_pnode *p, tp_error *err);

static bool lay_loop(tp_exec *x, const tp_pnode *p, tp_error *err) {
  tp_inst i = { .op = TP_I_FOR, .var = p->var->id, .step = p->step, .lo = tp_dx_new(&x->a, p->lo), .hi = tp_dx_new(&x->a, p->hi) };
  int begin = put(x, i), around = x->around;
  x->around = begin;
  if (!lay(x, p->kid[0], err)) return false;
  i.op = TP_I_NEXT;
  i.to = begin + 1;
  i.lo = tp_dx_new(&x->a, p->lo);               /* each is bound on its own */
  i.hi = tp_dx_new(&x->a, p->hi);
  x->inst[begin].to = put(x, i) + 1;
  x->around = around;
  return true;
}

static bool lay_if(tp_exec *x, const tp_pnode *p, tp_error *err) {
  tp_inst i = { .op = TP_I_IF };
  i.cond = condition(x, p->cond, &i.test);
  int test = put(x, i);
  if (!lay(x, p->kid[0], err)) return false;
  int jump = p->n > 1 ? put(x, (tp_inst){ .op = TP_I_JUMP }) : -1;
  x->inst[test].to = x->ninst;
  if (jump < 0) return true;
  if (!lay(x, p->kid[1], err)) return false;
  x->inst[jump].to = x->ninst;
  return true;
}

static tp_dop op_of(const tp_plan *p, const tp_region *r) {
  int fn = r->kind == TP_RG_CALL ? p->calls.v[r->call].fn : 0;
  return fn == TP_FN_TICK ? TP_I_TICK : fn == TP_FN_SHOW ? TP_I_SHOW : TP_I_REGION;
}

static bool lay_node(tp_exec *x, const tp_pnode *p, tp_error *err) {
  switch (p->kind) {
    case TP_P_REGION: {
      int at = put(x, (tp_inst){ .op = op_of(x->plan, p->rg), .rg = tp_dreg_new(x, p, err) });
      x->npos++;
      return x->inst[at].rg != NULL;
    }
    case TP_P_LOAD:
      x->loadat[p->pos] = &x->inst[put(x, (tp_inst){ .op = TP_I_LOAD, .var = p->var->id, .hi = tp_dx_new(&x->a, p->given), .end = tp_dend_new(x, p) })];
      x->npos++;
      return true;
    case TP_P_SPILL: case TP_P_FETCH:
      put(x, (tp_inst){ .op = p->kind == TP_P_SPILL ? TP_I_SPILL : TP_I_FETCH, .var = p->buf, .way = TP_WAY(p->dim, p->inner), .made = p->made, .step = p->step, .lo = tp_dx_new(&x->a, p->lo), .hi = tp_dx_new(&x->a, p->hi) });
      return true;
    case TP_P_FOR: return lay_loop(x, p, err);
    case TP_P_IF: return lay_if(x, p, err);
    case TP_P_SEQ:
      for (int i = 0; i < p->n; i++)
        if (!lay(x, p->kid[i], err)) return false;
      return true;
  }
  return true;
}

/* Notes where parts begin and end. */
static bool lay(tp_exec *x, const tp_pnode *p, tp_error *err) {
  int at = x->ninst;
  bool first = x->parting < x->npart && x->part[x->parting].first == p;
  if (!lay_node(x, p, err)) return false;
  if (first) {
    x->inst[at].part = x->parting + 1;
    x->partat = at;
  }
  if (x->parting < x->npart && x->part[x->parting].last == p) {
    x->inst[x->partat].behind = x->ninst;
    x->parting++;
  }
  return true;
}

/* A guard inside the loop of the first tick dim looks at nothing far (poly/behind.c); what follows that loop may look at what is made far in it. */
static void find_beyond(tp_exec *x) {
  bool *inrow = TP_NEWN(&x->a, bool, x->ninst);
  for (int k = 0; k < x->ninst; k++)
    for (int up = k; up >= 0 && x->inst[k].rg && x->inst[k].rg->inrow; up = x->inst[up].up) inrow[up] = true;
  for (int k = 0; k < x->ninst; k++) {
    x->inst[k].beyond = x->inst[k].op == TP_I_LOAD && x->plan->lag;
    for (int up = x->inst[k].up; up >= 0; up = x->inst[up].up) x->inst[k].beyond &= !inrow[up];
  }
}

bool tp_flow_new(tp_exec *x, tp_error *err) {
  int ninst = 0, nreg = 0;
  count_insts(x->plan->body, &ninst, &nreg);
  x->inst = TP_NEWN(&x->a, tp_inst, ninst);
  x->reg = TP_NEWN(&x->a, tp_dreg *, nreg);
  x->around = -1;
  x->npart = tp_plan_parts(x->plan, &x->a, &x->part);
  if (!lay(x, x->plan->body, err)) return false;
  find_beyond(x);
  return true;
}

/* Where a loop goes on: behind the statements of its body's begin that have nothing to do, as long as no buffer is in a file. */
static void enter_body(tp_exec *x, tp_inst *loop) {
  int *to = &x->inst[loop->to - 1].to;
  *to = (int)(loop - x->inst) + 1;
  while (!x->map && (x->inst[*to].op == TP_I_SPILL || x->inst[*to].op == TP_I_FETCH)) ++*to;
}

void tp_flow_bind(tp_exec *x) {
  for (tp_inst *i = x->inst, *end = i + x->ninst; i < end; i++) {
    tp_dx_bind(&i->lo, x->env);
    tp_dx_bind(&i->hi, x->env);
    tp_dx_bind(&i->cond, x->env);
    if (i->end) tp_dnd_bind(&i->end->nd, x->env), tp_drows_bind(i->end->rows, i->end->nrow, x->env);
    if (i->op == TP_I_FOR) enter_body(x, i);
  }
}

/* ---- running ---- */

static bool holds(const tp_exec *x, const tp_inst *i) {
  int64_t v = tp_dx_get(&i->cond, x->env);
  return i->test == TP_TEST_GE0 ? v >= 0 : i->test == TP_TEST_EQ0 ? v == 0 : v != 0;
}

/* Is the loop's variable still inside? */
static bool is_inside(const tp_exec *x, const tp_inst *i) {
  return i->step > 0 ? x->env[i->var] < tp_dx_get(&i->hi, x->env) : x->env[i->var] >= tp_dx_get(&i->lo, x->env);
}

static const tp_inst *begin_loop(tp_exec *x, const tp_inst *i) {
  x->env[i->var] = i->step > 0 ? tp_dx_get(&i->lo, x->env) : tp_dx_get(&i->hi, x->env) - 1;
  return is_inside(x, i) ? i + 1 : x->inst + i->to;
}

static const tp_inst *next_iteration(tp_exec *x, const tp_inst *i) {
  x->env[i->var] += i->step;
  return is_inside(x, i) ? x->inst + i->to : i + 1;
}

/* Of a buffer that lies in the file, the way that it does. */
static void keep_rows(tp_exec *x, const tp_inst *i) {
  const tp_spilled *s = &x->spilled[i->var];
  if (!s->chunk || s->way != i->way) return;
  if (i->op == TP_I_SPILL) tp_run_spill(x, i);
  else tp_run_fetch(x, i);
}

/* An instruction that is no region. */
static const tp_inst *turn(tp_exec *x, const tp_inst *i) {
  switch (i->op) {
    case TP_I_FOR: return begin_loop(x, i);
    case TP_I_NEXT: return next_iteration(x, i);
    case TP_I_IF: return holds(x, i) ? i + 1 : x->inst + i->to;
    case TP_I_JUMP: return x->inst + i->to;
    case TP_I_LOAD: x->env[i->var] = tp_dend_most(x, i->end, tp_dx_get(&i->hi, x->env)); return i + 1;
    case TP_I_SPILL: case TP_I_FETCH: keep_rows(x, i); return i + 1;
    default: return i + 1;
  }
}

/* ---- finding a place again ---- */

/* Where the part for "if not" begins; `to` where there is none. */
static int else_of(const tp_exec *x, const tp_inst *i) {
  const tp_inst *last = x->inst + i->to - 1;
  return last->op == TP_I_JUMP && last->to > i->to ? last->to : i->to;
}

static bool passes(tp_exec *x, const tp_inst *i, int pc) {
  int here = (int)(i - x->inst);
  if (i->op == TP_I_FOR && pc > here && pc < i->to) {
    int64_t lo = tp_dx_get(&i->lo, x->env), hi = tp_dx_get(&i->hi, x->env), v = x->env[i->var];
    return v >= lo && v < hi && (i->step > 0 ? v - lo : hi - 1 - v) % i->step == 0;
  }
  if (i->op != TP_I_IF || pc <= here || pc >= else_of(x, i)) return true;
  return holds(x, i) == (pc < i->to);
}

static bool is_stop(const tp_inst *i) { return i->op == TP_I_REGION || i->op == TP_I_SHOW || i->op == TP_I_TICK || i->beyond; }

/* The next stop from i on, or the end. A run waits nowhere else: behind the last region of a loop it may come round again (tp_exec_complete). */
static const tp_inst *next_stop(tp_exec *x, const tp_inst *i) {
  while (i < x->inst + x->ninst && !is_stop(i)) i = turn(x, i);
  return i;
}

/* Back goes no further than front: what it would look at may not be made. */
void tp_flow_settle(tp_exec *x, tp_cursor *c) {
  int64_t *was = x->env;
  x->env = c->env;
  while (c->pc < x->ninst && !is_stop(&x->inst[c->pc]) && (c == &x->front || tp_flow_before(x, c, &x->front))) c->pc = (int)(turn(x, &x->inst[c->pc]) - x->inst);
  x->env = was;
}

bool tp_flow_possible(const tp_exec *cx, const tp_cursor *c) {
  tp_exec *x = (tp_exec *)cx;
  int64_t *was = x->env;
  bool ok = c->pc >= 0 && c->pc <= x->ninst;
  x->env = c->env;
  for (int i = 0; ok && i < c->pc; i++) ok = passes(x, &x->inst[i], c->pc);
  x->env = was;
  return ok;
}

/* ---- back ---- */

static void enter_back(tp_exec *x, bool in) {
  x->inback = in;
  x->env = in ? x->back.env : x->front.env;
}

/* Whose loops, from `loop` outwards, are further behind: < 0: a's. */
static int order(const tp_exec *x, int loop, const int64_t *a, const int64_t *b) {
  if (loop < 0) return 0;
  const tp_inst *i = &x->inst[loop];
  int outer = order(x, i->up, a, b), here = (a[i->var] > b[i->var]) - (a[i->var] < b[i->var]);
  return outer ? outer : i->step > 0 ? here : -here;
}

bool tp_flow_before(const tp_exec *x, const tp_cursor *a, const tp_cursor *b) {
  int loop = a->pc < x->ninst ? x->inst[a->pc].up : -1;
  while (loop >= 0 && (b->pc <= loop || b->pc >= x->inst[loop].to)) loop = x->inst[loop].up;
  int o = order(x, loop, a->env, b->env);
  return o < 0 || (o == 0 && a->pc < b->pc);
}

/* Runs what front has left, up to rows beyond `row`, a point in time, or front. */
static bool follow(tp_exec *x, int64_t row, double until) {
  const tp_inst *i = x->inst + x->back.pc;
  bool ok = true;
  enter_back(x, true);
  for (bool more = true; ok && more && tp_flow_before(x, &x->back, &x->front); x->back.pc = (int)(i - x->inst)) {
    if (!is_stop(i) || i->beyond) { i = turn(x, i); continue; }
    if (i->rg->far) {
      x->backrow = tp_dx_get(&i->rg->row, x->env);
      if (x->backrow > row) break;
      ok = tp_dreg_run(x, i->rg);
      more = !until || tp_now() < until;
    }
    i++;
  }
  enter_back(x, false);
  return ok;
}

bool tp_flow_catch_up(tp_exec *x, double until) { return !x->split || follow(x, INT64_MAX, until); }

/* What is left must not lag so far that this region would meet it. */
static bool wait_for_back(tp_exec *x, const tp_dreg *r) {
  if (!tp_flow_before(x, &x->back, &x->front)) return true;
  int64_t row = r->inrow ? tp_dx_get(&r->row, x->env) - x->plan->lag : INT64_MAX;
  return row < x->backrow || follow(x, row, 0);
}

/* ---- front ---- */

void tp_flow_begin(tp_exec *x) {
  x->front.pc = 0;
  x->front.pos = -1;
  x->split = x->inback = false;
  x->nshown = 0;
}

static bool front_region(tp_exec *x, const tp_inst *i) {
  bool ok = true;
  x->front.pc = (int)(i - x->inst);
  if (!x->split) ok = tp_dreg_run(x, i->rg);
  else if (!i->rg->far) ok = wait_for_back(x, i->rg) && tp_dreg_run(x, i->rg);
  x->nshown += i->op == TP_I_SHOW;
  return ok;
}

tp_stand tp_flow_run(tp_exec *x, const tp_goal *g) {
  const tp_inst *i = x->inst + x->front.pc, *end = x->inst + x->ninst;
  tp_stand s = TP_AT_END;
  while (i < end) {
    if (tp_native_takes(x, i, g)) {
      if (!tp_native_run(x, i)) { s = TP_AT_ERROR; break; }
      i = x->inst + i->behind;
    } else if (i->op == TP_I_REGION || i->op == TP_I_SHOW) {
      if (!front_region(x, i)) { s = TP_AT_ERROR; break; }
      i++;
      if (g->shown && x->nshown == g->shown) { s = TP_AT_SHOWN; break; }
      if (g->until && tp_now() >= g->until) { s = TP_AT_TIME; break; }
    } else if (i->op == TP_I_TICK && g->tick) {
      s = TP_AT_TICK;
      break;
    } else {
      x->front.pc = (int)(i - x->inst);
      if (i->beyond && !tp_flow_catch_up(x, 0)) { s = TP_AT_ERROR; break; }
      i = turn(x, i);
    }
  }
  x->front.pc = (int)((s == TP_AT_ERROR ? i : next_stop(x, i)) - x->inst);
  if (s == TP_AT_END && !tp_flow_catch_up(x, 0)) s = TP_AT_ERROR;
  return s;
}
