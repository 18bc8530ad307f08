/* flow.c: the plan's tree as a row of instructions, and running it. A run can stop between any two
 * of them and go on later. */
#include "run/priv.h"

/* ---- laying out ---- */

static void count_insts(const tp_pnode *p, int *ninst, int *nreg) {
  *nreg += p->kind == TP_P_REGION;
  *ninst += p->kind == TP_P_SEQ ? 0 : p->kind == TP_P_FOR || p->kind == TP_P_IF ? 2 : 1;
  for (int i = 0; i < p->n; i++) count_insts(p->kid[i], ninst, nreg);
}

/* A condition e >= 0 or e == 0 is its e. */
static tp_dx condition(tp_exec *x, const tp_ix *c, tp_dtest *test) {
  tp_ixkind k = tp_ix_kind(c);
  *test = k == TP_IX_GE0 ? TP_TEST_GE0 : k == TP_IX_EQ0 ? TP_TEST_EQ0 : TP_TEST_TRUE;
  return tp_dx_new(&x->a, *test == TP_TEST_TRUE ? c : tp_ix_arg(c, 0));
}

/* Where laying out stands: the plan's next position, the FOR and the BEHIND around it, the part
 * that comes next and where it begins. */
typedef struct {
  tp_exec *x;
  tp_inst *inst;
  int n, npos, around, side, npart, parting, partat;
  tp_part *part;
  int teaming, teamat;
} layout;

static int put(layout *l, tp_inst i) {
  i.pos = l->npos;
  i.up = l->around;
  i.side = l->side;
  l->inst[l->n] = i;
  return l->n++;
}

static bool lay(layout *l, const tp_pnode *p);

/* Of a loop at which the part that is being laid out may be entered. */
static void note_entry(layout *l, const tp_pnode *p, int next) {
  const tp_part *part = l->parting < l->npart ? &l->part[l->parting] : NULL;
  for (int i = 0; part && i < part->nloop; i++)
    if (part->loop[i] == p) {
      l->inst[next].entry = i + 1;
      l->inst[next].part = l->parting + 1;
    }
}

static bool lay_loop(layout *l, const tp_pnode *p) {
  tp_inst i = { .op = TP_I_FOR,
    .var = p->var->id,
    .step = p->step,
    .lo = tp_dx_new(&l->x->a, p->lo),
    .hi = tp_dx_new(&l->x->a, p->hi),
    .node = p };
  int begin = put(l, i), around = l->around;
  l->around = begin;
  if (!lay(l, p->kid[0])) return false;
  i.op = TP_I_NEXT;
  i.to = begin + 1;
  i.lo = tp_dx_new(&l->x->a, p->lo); /* each is bound on its own */
  i.hi = tp_dx_new(&l->x->a, p->hi);
  int next = put(l, i);
  l->inst[begin].to = next + 1;
  note_entry(l, p, next);
  l->around = around;
  return true;
}

static bool lay_if(layout *l, const tp_pnode *p) {
  tp_inst i = { .op = TP_I_IF };
  i.cond = condition(l->x, p->cond, &i.test);
  int test = put(l, i);
  if (!lay(l, p->kid[0])) return false;
  int jump = p->n > 1 ? put(l, (tp_inst){ .op = TP_I_JUMP }) : -1;
  l->inst[test].to = l->n;
  if (jump < 0) return true;
  if (!lay(l, p->kid[1])) return false;
  l->inst[jump].to = l->n;
  return true;
}

static bool lay_behind(layout *l, const tp_pnode *p) {
  int begin = put(l, (tp_inst){ .op = TP_I_BEHIND, .lo = tp_dx_new(&l->x->a, p->lo) });
  l->side = begin;
  if (!lay(l, p->kid[0])) return false;
  l->side = -1;
  l->inst[begin].to = l->n;
  return l->x->flow->behind = true;
}

static tp_dop op_of(const tp_plan *p, const tp_region *r) {
  int fn = r->kind == TP_RG_CALL ? p->calls.v[r->call].fn : 0;
  return fn == TP_FN_TICK ? TP_I_TICK : fn == TP_FN_SHOW ? TP_I_SHOW : TP_I_REGION;
}

static bool lay_node(layout *l, const tp_pnode *p) {
  switch (p->kind) {
  case TP_P_REGION: {
    int at = put(l, (tp_inst){ .op = op_of(l->x->plan, p->rg), .rg = tp_dreg_new(l->x, p) });
    l->npos++;
    return l->inst[at].rg != NULL;
  }
  case TP_P_LOAD:
    l->x->flow->loadat[p->pos] = &l->inst[put(l,
        (tp_inst){ .op = TP_I_LOAD,
            .var = p->var->id,
            .hi = tp_dx_new(&l->x->a, p->given),
            .end = tp_dend_new(l->x, p) })];
    l->npos++;
    return true;
  case TP_P_SPILL:
  case TP_P_FETCH:
    put(l,
        (tp_inst){ .op = p->kind == TP_P_SPILL ? TP_I_SPILL : TP_I_FETCH,
            .var = p->buf,
            .way = TP_WAY(p->dim, p->inner),
            .made = p->made,
            .step = p->step,
            .lo = tp_dx_new(&l->x->a, p->lo),
            .hi = tp_dx_new(&l->x->a, p->hi) });
    return true;
  case TP_P_FOR: return lay_loop(l, p);
  case TP_P_IF: return lay_if(l, p);
  case TP_P_BEHIND: return lay_behind(l, p);
  case TP_P_WAIT:
    put(l,
        (tp_inst){ .op = TP_I_WAIT,
            .lo = p->lo ? tp_dx_new(&l->x->a, p->lo) : (tp_dx){ .c = INT64_MAX } });
    return true;
  case TP_P_SEQ:
    for (int i = 0; i < p->n; i++)
      if (!lay(l, p->kid[i])) return false;
    return true;
  }
  return true;
}

static void lay_team(layout *l, const tp_pnode *p, int at) {
  const tp_teams *t = l->x->plan->teams;
  const tp_team *m = t && l->teaming < t->nteam ? &t->team[l->teaming] : NULL;
  if (!m) return;
  if (m->v[0].node == p) l->teamat = at;
  if (m->v[m->n - 1].node != p) return;
  l->inst[l->teamat].team = ++l->teaming;
  l->inst[l->teamat].beyond = l->n;
}

/* Notes where parts begin and end: the instructions from which a compiled one may go on know what
 * is behind it. */
static bool lay(layout *l, const tp_pnode *p) {
  int at = l->n;
  const tp_part *part = l->parting < l->npart ? &l->part[l->parting] : NULL;
  bool first = part && part->node[0] == p, last = part && part->node[part->n - 1] == p;
  if (!lay_node(l, p)) return false;
  if (first) {
    l->inst[at].part = l->parting + 1;
    l->partat = at;
  }
  lay_team(l, p, at);
  if (last) {
    tp_inst *begin = &l->inst[l->partat];
    for (int i = l->partat; i < l->n; i++)
      begin->mixed |= l->inst[i].op == TP_I_BEHIND || l->inst[i].op == TP_I_WAIT;
    for (int i = l->partat; i < l->n; i++)
      if (l->inst[i].part == l->parting + 1)
        l->inst[i].next = l->n, l->inst[i].mixed = begin->mixed;
    l->parting++;
  }
  return true;
}

bool tp_flow_new(tp_exec *x) {
  int ninst = 0, nreg = 0;
  count_insts(x->plan->body, &ninst, &nreg);
  x->reg = TP_NEWN(&x->a, tp_dreg *, nreg);
  x->flow->loadat = TP_NEWN(&x->a, const tp_inst *, x->plan->npos);
  layout l = { .x = x, .inst = TP_NEWN(&x->a, tp_inst, ninst), .around = -1, .side = -1 };
  l.npart = tp_plan_parts(x->plan, &x->a, &l.part);
  if (!lay(&l, x->plan->body)) return false;
  x->flow->inst = l.inst;
  x->flow->ninst = l.n;
  return true;
}

/* Where a loop goes on: behind the statements of its body's begin that have nothing to do, as long
 * as no buffer is in a file. */
static void enter_body(tp_exec *x, tp_inst *loop) {
  int *to = &x->flow->inst[loop->to - 1].to;
  *to = (int)(loop - x->flow->inst) + 1;
  while (
      !x->mem->map && (x->flow->inst[*to].op == TP_I_SPILL || x->flow->inst[*to].op == TP_I_FETCH))
    ++*to;
}

void tp_flow_bind(tp_exec *x) {
  for (tp_inst *i = x->flow->inst, *end = i + x->flow->ninst; i < end; i++) {
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
  return i->step > 0 ? x->env[i->var] < tp_dx_get(&i->hi, x->env)
                     : x->env[i->var] >= tp_dx_get(&i->lo, x->env);
}

static const tp_inst *begin_loop(tp_exec *x, const tp_inst *i) {
  x->env[i->var] = i->step > 0 ? tp_dx_get(&i->lo, x->env) : tp_dx_get(&i->hi, x->env) - 1;
  return is_inside(x, i) ? i + 1 : x->flow->inst + i->to;
}

static const tp_inst *next_iteration(tp_exec *x, const tp_inst *i) {
  x->env[i->var] += i->step;
  return is_inside(x, i) ? x->flow->inst + i->to : i + 1;
}

/* Of a buffer that lies in the file, the way that it does. */
static void keep_rows(tp_exec *x, const tp_inst *i) {
  const tp_spilled *s = &x->mem->spilled[i->var];
  if (!s->chunk || s->way != i->way) return;
  if (i->op == TP_I_SPILL) tp_run_spill(x, i);
  else tp_run_fetch(x, i);
}

/* An instruction that is no region. leaves: what may wait is left out. */
static const tp_inst *turn(tp_exec *x, const tp_inst *i, bool leaves) {
  switch (i->op) {
  case TP_I_FOR: return begin_loop(x, i);
  case TP_I_NEXT: return next_iteration(x, i);
  case TP_I_IF: return holds(x, i) ? i + 1 : x->flow->inst + i->to;
  case TP_I_JUMP: return x->flow->inst + i->to;
  case TP_I_BEHIND: return leaves ? x->flow->inst + i->to : i + 1;
  case TP_I_LOAD: x->env[i->var] = tp_dend_most(x, i->end, tp_dx_get(&i->hi, x->env)); return i + 1;
  case TP_I_SPILL:
  case TP_I_FETCH: keep_rows(x, i); return i + 1;
  default: return i + 1;
  }
}

bool tp_flow_through(tp_exec *x, const tp_inst *i, const tp_inst *to,
    bool (*fn)(void *ud, const tp_inst *i), void *ud) {
  while (i < to) {
    if (i->op != TP_I_REGION) i = turn(x, i, false);
    else if (!fn(ud, i++)) return false;
  }
  return true;
}

/* ---- finding a place again ---- */

/* Where the part for "if not" begins; `to` where there is none. */
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

static bool is_leaf(const tp_inst *i) {
  return i->op == TP_I_REGION || i->op == TP_I_SHOW || i->op == TP_I_TICK;
}
static bool is_stop(const tp_inst *i) { return is_leaf(i) || i->op == TP_I_WAIT; }

/* The next stop from i on, or the end. A run waits nowhere else: behind the last region of a loop
 * it may come round again (tp_exec_complete). */
static const tp_inst *next_stop(tp_exec *x, const tp_inst *i) {
  while (i < x->flow->inst + x->flow->ninst && !is_stop(i)) i = turn(x, i, x->flow->split);
  return i;
}

/* Back goes no further than front: what it would look at may not be made. */
void tp_flow_settle(tp_exec *x, tp_cursor *c) {
  tp_flow *f = x->flow;
  int64_t *was = x->env;
  bool front = c == &f->front;
  x->env = c->env;
  while (
      c->pc < f->ninst && !is_stop(&f->inst[c->pc]) && (front || tp_flow_before(x, c, &f->front)))
    c->pc = (int)(turn(x, &f->inst[c->pc], front && f->split) - f->inst);
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

/* ---- back ---- */

static void enter_back(tp_exec *x, bool in) {
  x->flow->inback = in;
  x->env = in ? x->flow->back.env : x->flow->front.env;
}

/* Whose loops, from `loop` outwards, are further behind: < 0: a's. */
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

/* Runs what front has left, up to rows beyond `row`, a point in time, or front. */
static bool follow(tp_exec *x, int64_t row, double until) {
  tp_flow *f = x->flow;
  const tp_inst *i = f->inst + f->back.pc;
  bool ok = true;
  enter_back(x, true);
  for (bool more = true; ok && more && tp_flow_before(x, &f->back, &f->front);
       f->back.pc = (int)(i - f->inst)) {
    if (!is_leaf(i)) {
      i = turn(x, i, false);
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

/* What is left must not lag so far that what follows would meet it. */
static bool wait_for_back(tp_exec *x, const tp_inst *i) {
  tp_flow *f = x->flow;
  int64_t row = tp_dx_get(&i->lo, x->env);
  bool ok =
      !f->split || !tp_flow_before(x, &f->back, &f->front) || row < f->backrow || follow(x, row, 0);
  if (row == INT64_MAX) f->backrow = INT64_MIN; /* rows count anew */
  return ok;
}

/* The BEHIND that it is in; NULL: none. */
const tp_inst *tp_flow_side(const tp_exec *x, const tp_cursor *c) {
  const tp_flow *f = x->flow;
  return c->pc < f->ninst && f->inst[c->pc].side >= 0 ? &f->inst[f->inst[c->pc].side] : NULL;
}

/* From now on front leaves what may wait to back, or does it again; nothing is left then. */
void tp_flow_split(tp_exec *x, bool split) {
  tp_flow *f = x->flow;
  int64_t *env = f->back.env;
  memcpy(env, f->front.env, sizeof *env * (size_t)x->nsym);
  f->split = split;
  f->back = f->front;
  f->back.env = env;
  f->backrow = INT64_MIN;
  const tp_inst *side = split ? tp_flow_side(x, &f->front) : NULL;
  if (side) f->front.pc = side->to;
  tp_flow_settle(x, &f->front);
}

/* ---- front ---- */

void tp_flow_begin(tp_exec *x) {
  x->flow->front.pc = 0;
  x->flow->front.pos = -1;
  x->flow->split = x->flow->inback = false;
  x->flow->nshown = 0;
}

static bool front_region(tp_exec *x, const tp_inst *i) {
  x->flow->front.pc = (int)(i - x->flow->inst);
  x->flow->nshown += i->op == TP_I_SHOW;
  return tp_dreg_run(x, i->rg);
}

tp_stand tp_flow_run(tp_exec *x, const tp_goal *g) {
  tp_flow *f = x->flow;
  const tp_inst *i = f->inst + f->front.pc, *end = f->inst + f->ninst;
  tp_stand s = TP_AT_END;
  bool ok;
  while (i < end) {
    if (i->entry && f->ask) tp_native_ask(x);
    if (tp_native_takes(x, i, g)) {
      /* an iteration is over: the next one is env's, if there is one */
      if (i->entry) turn(x, i, f->split);
      if (!tp_native_run(x, i)) {
        s = TP_AT_ERROR;
        break;
      }
      i = f->inst + i->next;
    } else if (tp_team_takes(x, i, g) && tp_team_run(x, i, &ok)) {
      if (!ok) {
        s = TP_AT_ERROR;
        break;
      }
      i = f->inst + i->beyond;
    } else if (i->op == TP_I_REGION || i->op == TP_I_SHOW) {
      if (!front_region(x, i)) {
        s = TP_AT_ERROR;
        break;
      }
      i++;
      if (g->shown && f->nshown == g->shown) {
        s = TP_AT_SHOWN;
        break;
      }
      if (g->until && tp_now() >= g->until) {
        s = TP_AT_TIME;
        break;
      }
    } else if (i->op == TP_I_TICK && g->tick) {
      s = TP_AT_TICK;
      break;
    } else {
      f->front.pc = (int)(i - f->inst);
      if (i->op == TP_I_WAIT && !wait_for_back(x, i)) {
        s = TP_AT_ERROR;
        break;
      }
      i = turn(x, i, f->split);
    }
  }
  f->front.pc = (int)((s == TP_AT_ERROR ? i : next_stop(x, i)) - f->inst);
  if (s == TP_AT_END && !tp_flow_catch_up(x, 0)) s = TP_AT_ERROR;
  return s;
}
