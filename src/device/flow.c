/* flow.c: the plan's tree as a row of instructions, and running it. A run can stop between any two of them and go on later. */
#include "device/priv.h"

/* ---- laying out ---- */

static void count(const tp_pnode *p, int *ninst, int *nreg) {
  *nreg += p->kind == TP_P_REGION;
  *ninst += p->kind == TP_P_REGION || p->kind == TP_P_LOAD ? 1 : p->kind == TP_P_SEQ ? 0 : 2;
  for (int i = 0; i < p->n; i++) count(p->kid[i], ninst, nreg);
}

/* A condition e >= 0 or e == 0 is its e. */
static tp_dx condition(tp_exec *x, const tp_ix *c, tp_dtest *test) {
  tp_ixkind k = tp_ix_kind(c);
  *test = k == TP_IX_GE0 ? TP_TEST_GE0 : k == TP_IX_EQ0 ? TP_TEST_EQ0 : TP_TEST_TRUE;
  return tp_dx_new(&x->a, *test == TP_TEST_TRUE ? c : tp_ix_arg(c, 0));
}

static int put(tp_exec *x, tp_inst i) {
  x->inst[x->ninst] = i;
  return x->ninst++;
}

static bool lay(tp_exec *x, const tp_pnode *p, tp_error *err);

static bool lay_loop(tp_exec *x, const tp_pnode *p, tp_error *err) {
  tp_inst i = { .op = TP_I_FOR, .var = p->var->id, .step = p->step, .lo = tp_dx_new(&x->a, p->lo), .hi = tp_dx_new(&x->a, p->hi) };
  int begin = put(x, i);
  if (!lay(x, p->kid[0], err)) return false;
  i.op = TP_I_NEXT;
  i.to = begin + 1;
  i.lo = tp_dx_new(&x->a, p->lo);               /* each is bound on its own */
  i.hi = tp_dx_new(&x->a, p->hi);
  x->inst[begin].to = put(x, i) + 1;
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

static bool lay(tp_exec *x, const tp_pnode *p, tp_error *err) {
  switch (p->kind) {
    case TP_P_REGION: {
      tp_dreg *r = tp_dreg_new(x, p, err);
      if (r) put(x, (tp_inst){ .op = TP_I_REGION, .rg = r });
      return r != NULL;
    }
    case TP_P_LOAD:
      put(x, (tp_inst){ .op = TP_I_LOAD, .var = p->var->id, .hi = tp_dx_new(&x->a, p->given), .end = tp_dend_new(x, p->nd) });
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

bool tp_flow_new(tp_exec *x, tp_error *err) {
  int ninst = 0, nreg = 0;
  count(x->plan->body, &ninst, &nreg);
  x->inst = TP_NEWN(&x->a, tp_inst, ninst);
  x->reg = TP_NEWN(&x->a, tp_dreg *, nreg);
  return lay(x, x->plan->body, err);
}

void tp_flow_bind(tp_exec *x) {
  for (tp_inst *i = x->inst, *end = i + x->ninst; i < end; i++) {
    tp_dx_bind(&i->lo, x->env);
    tp_dx_bind(&i->hi, x->env);
    tp_dx_bind(&i->cond, x->env);
    if (i->end) tp_dnd_bind(i->end, x->env);
  }
}

/* ---- running ---- */

static bool holds(const tp_exec *x, const tp_inst *i) {
  int64_t v = tp_dx_get(&i->cond, x->env);
  return i->test == TP_TEST_GE0 ? v >= 0 : i->test == TP_TEST_EQ0 ? v == 0 : v != 0;
}

/* Is the loop's variable still inside? */
static bool inside(const tp_exec *x, const tp_inst *i) {
  return i->step > 0 ? x->env[i->var] < tp_dx_get(&i->hi, x->env) : x->env[i->var] >= tp_dx_get(&i->lo, x->env);
}

static const tp_inst *begin_loop(tp_exec *x, const tp_inst *i) {
  x->env[i->var] = i->step > 0 ? tp_dx_get(&i->lo, x->env) : tp_dx_get(&i->hi, x->env) - 1;
  return inside(x, i) ? i + 1 : x->inst + i->to;
}

static const tp_inst *next_iteration(tp_exec *x, const tp_inst *i) {
  x->env[i->var] += i->step;
  return inside(x, i) ? x->inst + i->to : i + 1;
}

bool tp_flow_run(tp_exec *x) {
  const tp_inst *i = x->inst + x->pc, *end = x->inst + x->ninst;
  bool ok = true;
  while (ok && i < end) switch (i->op) {
    case TP_I_REGION: ok = tp_dreg_run(x, i->rg); i++; break;
    case TP_I_FOR: i = begin_loop(x, i); break;
    case TP_I_NEXT: i = next_iteration(x, i); break;
    case TP_I_IF: i = holds(x, i) ? i + 1 : x->inst + i->to; break;
    case TP_I_JUMP: i = x->inst + i->to; break;
    case TP_I_LOAD: x->env[i->var] = tp_dend_most(x, i->end, tp_dx_get(&i->hi, x->env)); i++; break;
  }
  x->pc = (int)(i - x->inst);
  return ok;
}
