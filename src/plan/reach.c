/* reach: finds the regions that run at all for given bounds, and the range of each loop variable
 * there. Loops that have no iteration and branches that bounds alone decide are left out; where a
 * condition depends on loop variables, ranges may show that it never holds. */
#include "plan/plan.h"

typedef struct {
  const tp_plan *p;
  int64_t *lo, *hi;
  tp_atregion *fn;
  void *ud;
} walk;
typedef struct {
  bool no, yes;
} may; /* may it fail, may it hold */

static may judge(const walk *w, tp_ix *c) {
  int64_t lo, hi;
  bool both = tp_ix_kind(c) == TP_IX_AND;
  may all = { !both, both };
  switch (tp_ix_kind(c)) {
  case TP_IX_TRUE: return (may){ false, true };
  case TP_IX_FALSE: return (may){ true, false };
  case TP_IX_GE0:
    tp_ix_range(tp_ix_arg(c, 0), w->lo, w->hi, &lo, &hi);
    return (may){ lo < 0, hi >= 0 };
  case TP_IX_EQ0:
    tp_ix_range(tp_ix_arg(c, 0), w->lo, w->hi, &lo, &hi);
    return (may){ lo != 0 || hi != 0, lo <= 0 && hi >= 0 };
  case TP_IX_NOT: all = judge(w, tp_ix_arg(c, 0)); return (may){ all.yes, all.no };
  case TP_IX_AND:
  case TP_IX_OR:
    for (int i = 0; i < tp_ix_narg(c); i++) {
      may m = judge(w, tp_ix_arg(c, i));
      all =
          both ? (may){ all.no | m.no, all.yes & m.yes } : (may){ all.no & m.no, all.yes | m.yes };
    }
    return all;
  default: return (may){ true, true };
  }
}

static void visit(walk *w, const tp_pnode *x);

/* The end that x loads lies between 0 and the bound that was given. */
static void visit_load(walk *w, const tp_pnode *x) {
  int64_t none;
  w->lo[x->var->id] = 0;
  tp_ix_range(x->given, w->lo, w->hi, &none, &w->hi[x->var->id]);
}

static void visit_loop(walk *w, const tp_pnode *x) {
  int64_t none, *lo = &w->lo[x->var->id], *hi = &w->hi[x->var->id];
  tp_ix_range(x->lo, w->lo, w->hi, lo, &none);
  tp_ix_range(x->hi, w->lo, w->hi, &none, hi);
  if (*lo < (*hi)--) visit(w, x->kid[0]);
}

static void visit(walk *w, const tp_pnode *x) {
  if (x->kind == TP_P_REGION || x->kind == TP_P_LOAD || x->kind == TP_P_SPILL ||
      x->kind == TP_P_FETCH)
    w->fn(w->ud, x, w->lo, w->hi);
  if (x->kind == TP_P_LOAD) visit_load(w, x);
  if (x->kind == TP_P_FOR) {
    visit_loop(w, x);
    return;
  }
  may m = x->kind == TP_P_IF ? judge(w, x->cond) : (may){ true, true };
  for (int i = 0; i < x->n; i++)
    if (x->kind != TP_P_IF || (i == 0 ? m.yes : m.no)) visit(w, x->kid[i]);
}

bool tp_plan_reach(const tp_plan *p, const int64_t *env, tp_atregion *fn, void *ud) {
  size_t n = sizeof *env * (size_t)p->nsym;
  walk w = { p, tp_alloc(n), tp_alloc(n), fn, ud };
  bool ok = w.lo && w.hi;
  if (ok) {
    memcpy(w.lo, env, n);
    memcpy(w.hi, env, n);
    visit(&w, p->body);
  }
  tp_free(w.lo);
  tp_free(w.hi);
  return ok;
}
