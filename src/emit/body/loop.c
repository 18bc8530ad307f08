/* loop.c: prints a LOOP as C loops in the plan's order of axes (plan/walk.c), or written out if it
 * has a few points of known extents. */
#include "emit/body/nest.h"

/* ---- written out ---- */

static void put_points(nest *l) {
  int64_t shape[TP_MAXRANK], at[TP_MAXRANK], ext[TP_MAXRANK];
  tp_walk w;
  if (l->folds) emit_find_axes(l);
  for (int i = 0; i < l->r->nlead; i++) {
    (void)tp_ix_is_const(l->r->lead[i], &shape[i]);
    ext[i] = l->folds && (l->r->sums >> i & 1) ? 1 : shape[i];
  }
  for (tp_walk_start(&w, l->r->nlead, ext); w.ok; tp_walk_next(&w)) {
    memcpy(at, w.at, sizeof at);
    l->at = at;
    emit_open(l->e, "{\n");
    if (l->folds) emit_folded_point(l, at, shape);
    else {
      emit_work(l);
      emit_results(l, 0);
    }
    emit_shut(l->e, 1);
  }
}

/* Are there no points to fold into a written out one? */
static bool folds_nothing(const nest *l) {
  bool any = false;
  for (int i = 0; i < l->r->nlead; i++)
    any |= (l->r->sums >> i & 1) && tp_is_number(l->r->lead[i], 0);
  return any;
}

enum { BRIEF = 64 };
bool tp_emit_is_brief(tp_emit *e, const tp_pnode *x) {
  int64_t n = tp_emit_count(tp_emit_region(e, x));
  return n >= 0 && n <= BRIEF;
}

void tp_emit_loop_windows(tp_emit *e, const tp_pnode *x) {
  nest l = emit_nest_of(e, x);
  emit_windows(&l);
}

static void put_nest(nest *l) {
  emit_find_axes(l);
  if (l->folds) emit_fold(l);
  else if (l->turned) emit_tiles(l);
  else emit_map(l);
}

void tp_emit_loop_body(tp_emit *e, const tp_pnode *x) {
  nest l = emit_nest_of(e, x);
  put_nest(&l);
}

void tp_emit_loop(tp_emit *e, const tp_pnode *x) {
  nest l = emit_nest_of(e, x);
  tp_emit_line(e, "{ /* %d */\n", x->pos);
  e->depth++;
  if (tp_emit_is_points(e, x) && !folds_nothing(&l)) put_points(&l);
  else {
    emit_windows(&l);
    put_nest(&l);
  }
  emit_shut(e, 1);
}
