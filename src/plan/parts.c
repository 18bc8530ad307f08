/* parts: cuts a plan into pieces that run from begin to end without a place at which a run may
 * wait. It may wait at ticks, and where a point of an output is given away. Emitters compile this
 * list, and runs go by it. */
#include "plan/plan.h"

typedef struct {
  const tp_plan *p;
  tp_arena *a;
  TP_VEC(tp_part) parts;
  TP_VEC(const tp_pnode *) group;
} part_cutter;

tp_pos tp_pnode_line(const tp_pnode *x) {
  TP_EACH_NODE (k, x)
    if (k.x->rg && k.x->rg->pos.file) return k.x->rg->pos;
  return (tp_pos){ 0 };
}

static bool calls(const tp_plan *p, const tp_pnode *x, int fn) {
  TP_EACH_NODE (k, x)
    if (k.x->rg && k.x->rg->kind == TP_RG_CALL && p->calls.v[k.x->rg->call].fn == fn) return true;
  return false;
}

bool tp_plan_ticks(const tp_plan *p, const tp_pnode *x) { return calls(p, x, TP_FN_TICK); }
bool tp_part_waits(const tp_plan *p, const tp_pnode *x) {
  return tp_plan_ticks(p, x) || calls(p, x, TP_FN_SHOW);
}

int tp_part_loops(const tp_pnode *x, const tp_pnode **v, int n) {
  TP_EACH_NODE (k, x) {
    if (k.x->kind != TP_P_FOR) continue;
    if (v) v[n] = k.x;
    n++;
    tp_tour_skip(&k);
  }
  return n;
}

static void add_part(part_cutter *c) {
  tp_part p = { .n = c->group.n, .node = TP_DUPN(c->a, c->group.v, c->group.n) };
  for (int i = 0; i < p.n; i++) p.nloop = tp_part_loops(p.node[i], NULL, p.nloop);
  p.loop = TP_NEWN(c->a, const tp_pnode *, p.nloop + 1);
  for (int i = 0, n = 0; i < p.n; i++) n = tp_part_loops(p.node[i], p.loop, n);
  TP_PUSH(c->a, &c->parts, p);
}

static void end_group(part_cutter *c) {
  bool worth = false; /* is anything in it more than a call? */
  for (int i = 0; i < c->group.n; i++)
    TP_EACH_NODE (k, c->group.v[i])
      worth |= k.x->kind == TP_P_FOR || (k.x->rg && k.x->rg->kind == TP_RG_LOOP);
  if (worth) add_part(c);
  c->group.n = 0;
}

/* BEHIND nodes make no part together with others. A loop with both, or with a wait, is a part only
 * for runs that leave nothing for later. */
static void cut_parts(part_cutter *c, const tp_pnode *x) {
  if (x->kind == TP_P_SEQ) {
    for (int i = 0; i < x->n; i++) cut_parts(c, x->kid[i]);
    return;
  }
  if (!tp_part_waits(c->p, x) && x->kind != TP_P_BEHIND && x->kind != TP_P_WAIT) {
    /* a run may go on in a loop behind a SPILL or FETCH (flow.c) */
    if (c->group.n || (x->kind != TP_P_SPILL && x->kind != TP_P_FETCH)) TP_PUSH(c->a, &c->group, x);
    return;
  }
  end_group(c);
  for (int i = 0; i < x->n; i++) {
    cut_parts(c, x->kid[i]);
    end_group(c);
  }
}

int tp_plan_parts(const tp_plan *p, tp_arena *a, tp_part **out) {
  part_cutter c = { .p = p, .a = a };
  cut_parts(&c, p->body);
  end_group(&c);
  *out = c.parts.v;
  return c.parts.n;
}
