/* lay.c: lays the plan's tree out as a row of instructions. */
#include "run/priv.h"

static void count_insts(const tp_pnode *p, int *ninst, int *nreg) {
  *nreg += p->kind == TP_P_REGION;
  *ninst += p->kind == TP_P_SEQ ? 0 : p->kind == TP_P_FOR || p->kind == TP_P_IF ? 2 : 1;
  for (int i = 0; i < p->n; i++) count_insts(p->kid[i], ninst, nreg);
}

/* The next position; the FOR and BEHIND around it; the next part and where it begins. */
typedef struct {
  tp_exec *x;
  tp_inst *inst;
  int n, npos, around, side, npart, parting, partat;
  tp_part *part;
  int teaming, teamat;
} layout;

static tp_dx dx(layout *l, tp_ix *e) { return tp_dx_new(&l->x->a, e); }

static int put(layout *l, tp_inst i) {
  i.pos = l->npos;
  i.up = l->around;
  i.side = l->side;
  l->inst[l->n] = i;
  return l->n++;
}

static bool lay(layout *l, const tp_pnode *p);

static bool lay_loop(layout *l, const tp_pnode *p) {
  tp_inst i = {
    .op = TP_I_FOR, .var = p->var->id, .step = p->step, .lo = dx(l, p->lo), .hi = dx(l, p->hi)
  };
  int begin = put(l, i), around = l->around;
  l->around = begin;
  if (!lay(l, p->kid[0])) return false;
  i.op = TP_I_NEXT;
  i.to = begin + 1;
  i.lo = dx(l, p->lo); /* each is bound by itself */
  i.hi = dx(l, p->hi);
  int next = put(l, i);
  l->inst[begin].to = next + 1;
  const tp_part *part = l->parting < l->npart ? &l->part[l->parting] : NULL;
  for (int k = 0; part && k < part->nloop; k++) /* it may be entered here */
    if (part->loop[k] == p) {
      l->inst[next].entry = k + 1;
      l->inst[next].part = l->parting + 1;
    }
  l->around = around;
  return true;
}

/* The condition e >= 0 or e == 0 becomes e. */
static bool lay_if(layout *l, const tp_pnode *p) {
  tp_ixkind k = tp_ix_kind(p->cond);
  tp_inst i = { .op = TP_I_IF,
    .test = k == TP_IX_GE0 ? TP_TEST_GE0
        : k == TP_IX_EQ0   ? TP_TEST_EQ0
                           : TP_TEST_TRUE };
  i.cond = dx(l, i.test == TP_TEST_TRUE ? p->cond : tp_ix_arg(p->cond, 0));
  int test = put(l, i);
  if (!lay(l, p->kid[0])) return false;
  int jump = p->n > 1 ? put(l, (tp_inst){ .op = TP_I_JUMP }) : -1;
  l->inst[test].to = l->n;
  if (jump < 0) return true;
  if (!lay(l, p->kid[1])) return false;
  l->inst[jump].to = l->n;
  return true;
}

static bool lay_node(layout *l, const tp_pnode *p) {
  switch (p->kind) {
  case TP_P_REGION: {
    int fn = p->rg->kind == TP_RG_CALL ? l->x->plan->calls.v[p->rg->call].fn : 0;
    tp_dop op = fn == TP_FN_TICK ? TP_I_TICK : fn == TP_FN_SHOW ? TP_I_SHOW : TP_I_REGION;
    int at = put(l, (tp_inst){ .op = op, .rg = tp_dreg_new(l->x, p) });
    l->npos++;
    return l->inst[at].rg != NULL;
  }
  case TP_P_LOAD:
    l->x->flow->loadat[p->pos] = &l->inst[put(l,
        (tp_inst){ .op = TP_I_LOAD,
            .var = p->var->id,
            .hi = dx(l, p->given),
            .end = tp_dend_new(l->x, p) })];
    l->npos++;
    return true;
  case TP_P_SPILL:
  case TP_P_FETCH:
    put(l,
        (tp_inst){ .op = p->kind == TP_P_SPILL ? TP_I_SPILL : TP_I_FETCH,
            .var = p->buf,
            .way = TP_WAY(p->dim),
            .made = p->made,
            .step = p->step,
            .lo = dx(l, p->lo),
            .hi = dx(l, p->hi) });
    return true;
  case TP_P_FOR: return lay_loop(l, p);
  case TP_P_IF: return lay_if(l, p);
  case TP_P_BEHIND: {
    int begin = l->side = put(l, (tp_inst){ .op = TP_I_BEHIND, .lo = dx(l, p->lo) });
    if (!lay(l, p->kid[0])) return false;
    l->side = -1;
    l->inst[begin].to = l->n;
    return l->x->flow->behind = true;
  }
  case TP_P_WAIT:
    put(l, (tp_inst){ .op = TP_I_WAIT, .lo = p->lo ? dx(l, p->lo) : (tp_dx){ .c = INT64_MAX } });
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

/* Lays p out. Instructions at which compiled code may begin know which one follows the part. */
static bool lay(layout *l, const tp_pnode *p) {
  int at = l->n;
  const tp_part *part = l->parting < l->npart ? &l->part[l->parting] : NULL;
  bool first = part && part->node[0] == p, last = part && part->node[part->n - 1] == p;
  if (!lay_node(l, p)) return false;
  if (p->kind != TP_P_SEQ) l->inst[at].node = p, l->inst[at].behind = l->n;
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

/* Without a file an iteration begins behind SPILL and FETCH at its body's begin. */
static void enter_body(tp_exec *x, tp_inst *loop) {
  int *to = &x->flow->inst[loop->to - 1].to;
  *to = (int)(loop - x->flow->inst) + 1;
  while (!x->mem->file.p &&
      (x->flow->inst[*to].op == TP_I_SPILL || x->flow->inst[*to].op == TP_I_FETCH))
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
