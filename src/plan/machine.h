/* The machine that a plan is made for, as passes and checks see it. */
#ifndef TP_PLAN_MACHINE_H
#define TP_PLAN_MACHINE_H
#include "index/index.h"
struct tp_plan;
struct tp_region;

enum { TP_WORK_LINE = 64 }; /* alignment of work buffers, on any machine */

typedef struct tp_machine {
  const char *name;
  /* it does one thing at a time and has caches: rows of loops go over tiles and strips that stay
   * there */
  bool caches;
  /* does it read the region's operands on rings where they lie? If not, it works on copies */
  bool (*reads_rings)(const struct tp_plan *p, const struct tp_region *r);
  /* how many bytes the region works in: at least those copies */
  tp_ix *(*workspace)(const struct tp_plan *p, const struct tp_region *r);
} tp_machine;
#endif
