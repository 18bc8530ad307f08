/* The passes over a graph (passes.def), and the data that they work on. */
#ifndef TP_RT_PASSES_H
#define TP_RT_PASSES_H
#include "opt/opt.h"

enum { /* a pass's row */
#define P(ID, name, stage, fn, when, says) TP_PASS_##ID,
#include "rt/passes.def"
#undef P
  TP_NPASS
};
typedef enum {
  TP_CLOSED,
  TP_SWEPT,
  TP_MARKED,
  TP_ORDERED,
  TP_KEPT,
  TP_ENDED,
  TP_NEEDED,
  TP_LOOPS
} tp_stage;
typedef struct tp_switches {
  bool on[TP_NPASS], precise, reproducible, check, rule_off[TP_NRULE];
} tp_switches;
typedef struct tp_pass {
  const char *name;
  tp_stage stage;
  tp_passfn *fn;
  int when; /* as passes.def says */
  bool always;
  const char *says;
} tp_pass;
extern const tp_pass tp_passes[TP_NPASS];
int tp_pass_named(const char *s, size_t n);           /* its row; -1: none */
bool tp_pass_run(tp_work *w, int row, tp_error *err); /* then verifies, and dumps */
/* runs the passes of the stage that are on */
bool tp_passes_run(tp_work *w, tp_stage stage, tp_error *err);
/* After a change of the graph: drops nodes that nothing reaches and finds needed points anew. */
bool tp_needed_anew(tp_work *w, tp_error *err);
void tp_dump_graph(const tp_graph *g, const char *after);
#endif
