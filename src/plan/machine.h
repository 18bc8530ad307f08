/* The machine that a plan is made for, as passes and checks see it. */
#ifndef TP_PLAN_MACHINE_H
#define TP_PLAN_MACHINE_H
#include "index/index.h"
struct tp_plan;
struct tp_region;

enum { TP_WORK_LINE = 64 }; /* alignment of what regions work in, on any machine */

typedef struct tp_machine {
  const char *name;
  /* one thing at a time, beside caches: rows of loops go over tiles and strips that stay in them */
  bool caches;
  /* does it read operands of the region on rings where they lie? Else it works on copies */
  bool (*reads_rings)(const struct tp_plan *p, const struct tp_region *r);
  /* bytes that the region works in, at least those copies */
  const tp_ix *(*workspace)(const struct tp_plan *p, const struct tp_region *r);
} tp_machine;
#endif
