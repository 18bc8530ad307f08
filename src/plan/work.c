/* work: a region that needs memory beside its windows (tp_machine.workspace) gets a buffer of bytes
 * that is alive only there. Its size is over bounds and the variables of the loops around: the
 * largest value counts (color.c). */
#include "plan/priv.h"

static void give_work(tp_plan *p, tp_pnode *x) {
  tp_ix *size = p->machine->workspace(p, x->rg);
  if (tp_is_number(size, 0)) return;
  tp_pbuf *b = x->rg->work = TP_NEW(p->a, tp_pbuf);
  *b = (tp_pbuf){ .id = p->bufs.n,
    .kind = TP_BUF_WORK,
    .name = tp_op_said(tp_region_op(x->rg)),
    .pos = x->rg->pos,
    .dtype = TP_U8,
    .size = size,
    .first = x->pos,
    .last = x->pos,
    .inside = -1,
    .holds = -1,
    .far = tp_is_behind(x) };
  TP_PUSH(p->a, &p->bufs, b);
}

void tp_plan_work(tp_plan *p, const tp_planned *asked) {
  (void)asked;
  TP_EACH_NODE (k, p->body)
    if (k.x->rg) give_work(p, k.x);
}
