/* Inside src/plan: the passes, and functions that several of them use. */
#ifndef TP_PLAN_PRIV_H
#define TP_PLAN_PRIV_H
#include "plan/plan.h"

enum { TP_MAXLEAD = 32 };
enum { TP_INSIDE_ALL = 64 }; /* tp_pbuf.inside */
#define P(name, fn, when, says) void fn(tp_plan *p, const tp_planned *asked);
#include "plan/passes.def"
/* absorb.c: a loop around one leaf becomes an axis of it; false: it stays. varies: only loops whose
 * number of turns bounds do not say */
bool tp_absorb_loop(tp_plan *p, tp_pnode *x, bool varies);
#endif
