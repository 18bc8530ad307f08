/* code: judges whether a graph is legal, orders it and makes its plan. */
#include "rt/fn.h"
#include "cpu/machine.h"
#include <stdlib.h>

tp_work tp_work_on(tp_fn *f, tp_graph *g) {
  return (tp_work){ .g = g,
    .precise = f->opt.precise,
    .check = f->opt.check,
    .on = f->opt.on,
    .rule_off = f->opt.rule_off,
    .need = &f->need,
    .did = f->did };
}

bool tp_sweep_graph(tp_fn *f, tp_graph *g, tp_error *err) {
  tp_work w = tp_work_on(f, g);
  if (f->tier == TP_TIER_REFERENCE) return true;
  tp_dump_graph(g, "record");
  return tp_passes_run(&w, TP_SWEPT, err);
}

static tp_poly *ordered(tp_fn *f, tp_graph *g, tp_error *err) {
  tp_poly *p = f->order = tp_lower(g, f->need, err);
  if (p) {
    p->judge = g == f->trial;
    p->without = (p->judge || !f->opt.on[TP_PASS_VECTORIZE] ? 1u << TP_RX_CALLS : 0) |
        (!f->opt.on[TP_PASS_TILE] || f->opt.precise ? 1u << TP_RX_BLOCKS : 0);
    const char *block = tp_graph_setting(g, "TEMPO_BLOCK");
    p->block = block ? atoll(block) : 0;
    p->rows = f->rows;
  }
  bool ok = p && tp_schedule(p, err);
  f->order = NULL;
  return ok ? p : tp_poly_free(p);
}

void tp_copy_checks(tp_graph *to, const tp_graph *from) {
  for (int i = to->boundchecks.n; i < from->boundchecks.n; i++) {
    tp_boundcheck c = from->boundchecks.v[i];
    c.msg = tp_strdup(&to->arena, c.msg);
    TP_PUSH(&to->arena, &to->boundchecks, c);
  }
}

/* Passes keep the needed points, but our knowledge of them may get less exact: refuses larger sets
 * that read outside a domain. */
static bool stays(tp_graph *g, tp_need *need, tp_error *err) {
  if (!need->rough) return true;
  tp_need_trim(g, need);
  if (tp_need_stays(g, need, err)) return true;
  tp_note(err,
      "which points are needed is known only roughly here: it may be that the program itself does "
      "not read there");
  return false;
}

/* Makes values again for each reader that the order would keep for long, and then orders anew. */
static tp_poly *made_again(tp_fn *f, tp_graph *g, tp_poly *p, tp_error *err) {
  tp_again again;
  tp_work w = tp_work_on(f, g);
  if (!p || g == f->trial || !f->opt.on[TP_PASS_AGAIN] || !tp_made_again(p, &g->arena, &again))
    return p;
  tp_poly_free(p);
  if (!tp_make_again(g, &again, err) || !tp_needed_anew(&w, err) || !stays(g, f->need, err))
    return NULL;
  tp_dump_graph(g, "again");
  return tp_verify(g, err) ? ordered(f, g, err) : NULL;
}

static tp_poly *lowered(tp_fn *f, tp_graph *g, bool apart, tp_error *err) {
  tp_work w = tp_work_on(f, g);
  w.apart = apart;
  tp_poly *p = NULL;
  if (tp_passes_run(&w, TP_ENDED, err) && (f->need = tp_need_outputs(g, err)) &&
      tp_passes_run(&w, TP_NEEDED, err) && stays(g, f->need, err)) {
    if (f->opt.check) tp_watch_rest(g);
    p = made_again(f, g, ordered(f, g, err), err);
  }
  f->need = tp_need_free(f->need);
  return p;
}

/* A value that is needed only at the point where a dim ends counts as needed at each point. If that
 * leaves no order, each reader gets an access of its own, in a copy that takes the graph's
 * place. */
static tp_poly *order_graph(tp_fn *f, tp_graph **at, tp_error *err) {
  tp_graph *g = *at, *other = f->other = g->stops.n ? tp_graph_clone(g, err) : NULL;
  tp_error first = { 0 }, second = { 0 };
  tp_poly *p = lowered(f, g, false, &first);
  if (!p && first.code == TP_E_CYCLE && other) {
    if (f->trial == g) f->trial = other;
    if ((p = lowered(f, other, true, &second))) tp_give_up(p, TP_RX_APART);
    *at = other;
    other = g;
  }
  if (!p) *err = first;
  f->other = NULL;
  tp_graph_free(other);
  return p;
}

bool tp_has_order(tp_fn *f, tp_graph *of, const tp_ticks *t, tp_error *err) {
  tp_graph *g = f->trial = tp_graph_clone(of, err);
  tp_work w = tp_work_on(f, g);
  w.ticks = t;
  bool ok = g && tp_passes_run(&w, TP_ORDERED, err) && (f->order = order_graph(f, &g, err));
  if (ok) tp_copy_checks(of, g);
  f->order = tp_poly_free(f->order);
  f->trial = tp_graph_free(g);
  return ok;
}

static bool judge(tp_fn *f, tp_graph *g, const bool **whole, tp_error *err) {
  f->need = tp_need_outputs(g, err);
  bool ok = f->need && tp_need_check(g, f->need, err);
  if (ok && whole) *whole = tp_need_whole(f->need, &g->arena);
  f->need = tp_need_free(f->need);
  return ok;
}

/* Puts the graph whose ranges are recurrences in the place of the judged one: it reads the same. */
static bool executed(tp_fn *f, tp_graph **g, tp_error *err) {
  tp_graph *judged = *g;
  if (!f->ranges) return true;
  if (!(f->other = tp_graph_clone(f->ranges, err))) return false;
  tp_copy_checks(f->other, judged);
  *g = f->other;
  f->other = NULL;
  tp_graph_free(judged);
  return true;
}

/* Judges f->graph. A cycle is reported before undefined points and reads outside a domain. */
bool tp_judge_graph(tp_fn *f, tp_error *err) {
  tp_error cycle = { 0 };
  bool ok = judge(f, f->graph, f->tier == TP_TIER_REFERENCE ? &f->whole : NULL, err);
  if (!ok && (err->code == TP_E_UNDEFINED || err->code == TP_E_DOMAIN) &&
      !tp_has_order(f, f->graph, NULL, &cycle) && cycle.code == TP_E_CYCLE)
    *err = cycle;
  return ok && executed(f, &f->graph, err);
}

tp_graph *tp_checked_graph(tp_fn *f, tp_error *err) {
  tp_graph *g = f->trial = tp_graph_clone(f->closed, err);
  if (!g) return NULL;
  bool ok = judge(f, g, NULL, err);
  f->trial = NULL;
  ok = ok && executed(f, &g, err);
  return ok ? g : tp_graph_free(g);
}

tp_planned tp_planned_as(const tp_fn *f, bool ticks) {
  return (tp_planned){ .machine = &tp_cpu_machine,
    .fuse = f->opt.on[TP_PASS_FUSE],
    .by_rows = f->limit || ticks,
    .reproducible = f->opt.reproducible,
    .precise = f->opt.precise,
    .limit = f->limit,
    .threads = f->threads };
}

bool tp_make_code(
    tp_fn *f, tp_graph **g, const tp_ticks *t, tp_poly **poly, tp_plan **plan, tp_error *err) {
  tp_work w = tp_work_on(f, *g);
  w.ticks = t;
  const tp_planned asked = tp_planned_as(f, t);
  return tp_passes_run(&w, TP_MARKED, err) && tp_passes_run(&w, TP_ORDERED, err) &&
      tp_passes_run(&w, TP_KEPT, err) && (*poly = order_graph(f, g, err)) &&
      (*plan = tp_plan_build(*g, *poly, &asked, err));
}

/* If memory fails, temporary isl objects leak; all objects of ours are freed with f. */
bool tp_making(tp_fn *f, bool (*fn)(tp_fn *, void *, tp_error *), void *arg, tp_error *err) {
  int was = tp_sym_begin(f->program->ix);
  bool ok = tp_guarded(f, fn, arg, err);
  tp_sym_end(f->program->ix, was);
  if (tp_ictx_unwatch(f->program->ix)) {
    *err = (tp_error){ 0 };
    ok = tp_fail(err, TP_E_CALLBACK, f->pos, "the host has ended this compilation");
  }
  f->order = tp_poly_free(f->order);
  f->need = tp_need_free(f->need);
  f->trial = tp_graph_free(f->trial);
  f->other = tp_graph_free(f->other);
  tp_isl_forget(f->program->ix);
  const char *why = tp_ictx_overflowed(f->program->ix);
  if (ok && why && !strcmp(why, TP_NESTED)) /* the call judges sizes of a plan */
    ok = tp_fail(err, TP_E_AFFINE, f->pos, "an index expression %s", why);
  return ok;
}
