/* behind: the loop of a tick dim becomes two bodies (poly/store/behind.c chooses what may wait).
 *
 * A run with a budget leaves BEHIND nodes out and follows with them later; a WAIT says up to which
 * row they have to be over before the run goes on. The builder makes both, a statement at a time.
 * Here neighbours of one row are joined, BEHIND goes around a loop that has nothing else, and waits
 * move out of loops that do not change them. Later passes see ordinary statements. */
#include "plan/priv.h"

static tp_pnode *together(tp_arena *a, const tp_pnodes *s) { return tp_plan_seq(a, s->n, s->v); }

static tp_pnode *two(tp_arena *a, tp_pnode *x, tp_pnode *y) {
  tp_pnodes s = { 0 };
  tp_put_row(a, &s, x);
  tp_put_row(a, &s, y);
  return together(a, &s);
}

/* ---- one row ---- */

static bool waits_for(const tp_pnodes *s, tp_ix *row) {
  bool any = false;
  for (int i = 0; i < s->n; i++) any |= s->v[i]->kind == TP_P_WAIT && s->v[i]->lo == row;
  return any;
}

static tp_pnode *join_neighbours(tp_arena *a, tp_pnode *x) {
  tp_pnodes all = { 0 }, s = { 0 };
  tp_put_row(a, &all, x);
  for (int i = 0; i < all.n; i++) {
    tp_pnode *k = all.v[i], *last = s.n ? s.v[s.n - 1] : NULL;
    if (k->kind == TP_P_WAIT && waits_for(&s, k->lo)) continue;
    if (last && k->kind == TP_P_BEHIND && last->kind == TP_P_BEHIND && last->lo == k->lo)
      last->kid[0] = two(a, last->kid[0], k->kid[0]);
    else TP_PUSH(a, &s, k);
  }
  return together(a, &s);
}

/* Is x the loop of rows? */
static bool goes_through_rows(const tp_pnode *x, const tp_pnode *in) {
  bool any = (in->kind == TP_P_BEHIND || (in->kind == TP_P_WAIT && in->lo)) &&
      tp_ix_mentions(in->lo, x->var);
  for (int i = 0; x->kind == TP_P_FOR && i < in->n && !any; i++)
    any = goes_through_rows(x, in->kid[i]);
  return x->kind == TP_P_FOR && any;
}

/* Is x a loop around that of rows? In each of its iterations rows count anew. */
static bool is_around_rows(const tp_pnode *x, const tp_pnode *in) {
  bool any = false;
  for (int i = 0; x->kind == TP_P_FOR && i < in->n && !any; i++)
    any = goes_through_rows(in->kid[i], in->kid[i]) || is_around_rows(x, in->kid[i]);
  return any;
}

static bool has_loop_around(const tp_pnode *x) {
  TP_EACH_NODE (k, x)
    if (is_around_rows(k.x, k.x)) return true;
  return false;
}

/* Is there no row, or one that x's variable does not move? */
static bool stays(const tp_pnode *x, tp_ix *row) {
  return x->kind != TP_P_FOR || !tp_ix_mentions(row, x->var);
}

/* Takes the wait that a body begins with, for a place in front of the loop or condition x. */
static tp_pnode *take_out_wait(tp_arena *a, tp_pnode *x) {
  tp_pnode *out = NULL;
  for (int i = 0; i < x->n; i++) {
    tp_pnode *k = x->kid[i], *first = k->kind == TP_P_SEQ && k->n ? k->kid[0] : k;
    if (k == first || first->kind != TP_P_WAIT || !stays(x, first->lo) ||
        (out && out->lo != first->lo))
      continue;
    out = first;
    tp_pnodes rest = { 0 };
    for (int j = 1; j < k->n; j++) TP_PUSH(a, &rest, k->kid[j]);
    x->kid[i] = together(a, &rest);
  }
  return out;
}

/* A loop or condition x with nothing but a BEHIND becomes a BEHIND around x: all of it may wait. */
static tp_pnode *turn_inside_out(tp_pnode *x) {
  tp_pnode *k = x->kid[0];
  if (x->n != 1 || k->kind != TP_P_BEHIND || !stays(x, k->lo) || tp_has(k, TP_P_LOAD)) return x;
  x->kid[0] = k->kid[0];
  k->kid[0] = x;
  return k;
}

static tp_pnode *gather(tp_arena *a, tp_pnode *x) {
  for (int i = 0; i < x->n; i++) x->kid[i] = gather(a, x->kid[i]);
  if (x->kind == TP_P_SEQ) return join_neighbours(a, x);
  if ((x->kind != TP_P_FOR && x->kind != TP_P_IF) || is_around_rows(x, x)) return x;
  tp_pnode *wait = take_out_wait(a, x);
  x = turn_inside_out(x);
  return wait ? two(a, wait, x) : x;
}

/* Puts waits into x, the last node that has work to leave: behind its last loop of rows and, where
 * rows count anew, behind each one before: beside a loop around a loop of rows the others are like
 * iterations of that. comes_back: x runs again. */
static tp_pnode *end_with_wait(tp_arena *a, tp_pnode *x, bool comes_back) {
  tp_pnodes s = { 0 }, all = { 0 };
  bool around = is_around_rows(x, x);
  if (!tp_has(x, TP_P_BEHIND)) return x;
  for (int i = 0; i < x->n && (x->kind == TP_P_IF || around); i++)
    x->kid[i] = end_with_wait(a, x->kid[i], comes_back || around);
  if (x->kind != TP_P_SEQ && !(comes_back && x->kind == TP_P_FOR)) return x;
  tp_put_row(a, &s, x);
  int last = s.n;
  bool anew = x->kind == TP_P_SEQ && has_loop_around(x);
  while (!tp_has(s.v[last - 1], TP_P_BEHIND)) last--;
  for (int i = 0; i < s.n; i++) {
    tp_pnode *k = s.v[i];
    bool inner = k != x && has_loop_around(k);
    TP_PUSH(a, &all, (i + 1 == last && k != x) || inner ? end_with_wait(a, k, false) : k);
    if (i + 1 == last ? last == s.n && !comes_back : !anew || inner || !tp_has(k, TP_P_BEHIND))
      continue;
    tp_pnode *wait = TP_NEW(a, tp_pnode);
    wait->kind = TP_P_WAIT;
    TP_PUSH(a, &all, wait);
  }
  return together(a, &all);
}

/* The pass. Nodes behind the loop of rows find all of its work done. */
void tp_plan_behind(tp_plan *p, const tp_planned *asked) {
  (void)asked;
  if (tp_has(p->body, TP_P_BEHIND) || tp_has(p->body, TP_P_WAIT))
    p->body = end_with_wait(p->a, gather(p->a, p->body), false);
}
