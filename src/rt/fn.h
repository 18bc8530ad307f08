/* Inside src/rt: a compiled function. */
#ifndef TP_RT_FN_H
#define TP_RT_FN_H
#include "rt/rt.h"
#include "grad/grad.h"
#include "opt/opt.h"
#include "ref/ref.h"
#include "poly/poly.h"
#include "plan/plan.h"
#include "device/device.h"
struct tp_fn {
  tp_program *program;
  tp_pos pos;
  tp_tier tier; tp_options opt; int threads;
  tp_graph *closed, *graph;
  int nbound; const tp_sym **bounds;
  tp_poly *poly; tp_plan *plan; tp_exec *exec;
  bool running; int64_t peak;
  tp_need *need; tp_graph *trial; tp_poly *order;       /* of the step of compiling under way: what a failed allocation leaves is freed with f */
};
void tp_dump_stage(const char *section, tp_fn *f);      /* to stderr if TEMPO_DUMP names it */
bool tp_tier_parse(const char *s, tp_tier *t);
#endif
