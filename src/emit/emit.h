/* emit: a plan as C. Rank 7. What it prints is self-contained: the prelude, then a function for each part of the plan (tp_plan_parts). */
#ifndef TP_EMIT_H
#define TP_EMIT_H
#include "plan/plan.h"

/* Prints a function `tp_part_N` for part N. How many there are; nothing is printed where there is none. No memory: to the latest guard. */
int tp_emit_c(tp_buf *b, const tp_plan *p);
#endif
