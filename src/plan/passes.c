/* passes: takes a plan from the builder to the run, one row of passes.def after the other. */
#include "plan/priv.h"
#include <stdio.h>

enum { PLAN_ALWAYS, PLAN_FUSED, PLAN_CACHED };
static const struct {
  const char *name;
  void (*fn)(tp_plan *p, const tp_planned *asked);
  int when;
} passes[] = {
#define P(name, fn, when, says) { name, fn, PLAN_##when },
#include "plan/passes.def"
};

static bool done(const char *name, const tp_plan *p, tp_error *err) {
#ifdef TP_HARD
  if (!tp_plan_check(p, err)) return false;
#endif
  (void)err;
  if (!tp_dump_wanted(name)) return true;
  tp_buf b;
  tp_buf_init(&b);
  tp_plan_print(&b, p->teams ? &p->teams->plan : p);
  fprintf(stderr, "> after %s\n%s", name, b.s ? b.s : "");
  tp_buf_free(&b);
  return true;
}

bool tp_plan_passes(tp_plan *p, const tp_planned *asked, const char *only, tp_error *err) {
  if (!only && !done("build", p, err)) return false;
  for (size_t i = 0; i < TP_LEN(passes); i++) {
    if (only ? strcmp(only, passes[i].name) != 0
             : (passes[i].when && !asked->fuse) ||
                (passes[i].when == PLAN_CACHED && !p->machine->caches))
      continue;
    passes[i].fn(p, asked);
    if (!done(passes[i].name, p, err)) return false;
  }
  return true;
}
