/* program: a recording and its index context, shared with the functions compiled from it. */
#include "rt/rt.h"

tp_program *tp_program_new(uint64_t seed) {
  tp_program *p = tp_calloc(sizeof *p);
  if (!p) return NULL;
  p->refs = 1;
  p->seed = seed;
  p->ix = tp_ictx_new();
  p->g = p->ix ? tp_graph_new(p->ix) : NULL;
  if (!p->g) return tp_program_unref(p);
  p->g->seed = seed;
  return p;
}

tp_program *tp_program_ref(tp_program *p) {
  if (p) p->refs++;
  return p;
}

tp_program *tp_program_unref(tp_program *p) {
  if (!p || --p->refs > 0) return NULL;
  tp_graph_free(p->g);
  if (p->ix) tp_ictx_free(p->ix);
  tp_free(p);
  return NULL;
}

const char *const tp_tier_names[TP_NTIER] = {
#define T(ID, name) name,
#include "rt/tiers.def"
#undef T
};

bool tp_tier_parse(const char *s, tp_tier *t) {
  int i = TP_NTIER - 1;
  while (i >= 0 && strcmp(s, tp_tier_names[i])) i--;
  if (i >= 0) *t = (tp_tier)i;
  return i >= 0;
}
