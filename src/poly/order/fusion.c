/* fusion: puts the components of one depth into loops: typed fusion with parametric shifts
 * (docs/scheduling.md, section 2). */
#include "poly/order/fusion.h"

/* single points, one after the other, that are looked through */
enum { BRIDGE_DEPTH = 4 };

tp_wt tp_fusion_offset(const fusion *f, int st, int s) {
  const tp_scc *c = scc_of(f, st);
  for (int i = 0; i < c->ncand; i++)
    if (i == c->pick) return c->cand[i].off[s < 0][f->L->at[st]];
  return tp_wt_c(0);
}

tp_wt tp_fusion_shift(const fusion *f, int st, int s) {
  return tp_wt_add(f->S, scc_of(f, st)->c, tp_fusion_offset(f, st, s));
}

static void index_arcs(fusion *f) {
  f->end = TP_NEWN(f->S->a, arc_ends, f->L->nscc);
  f->waiting = TP_NEWN(f->S->a, int, f->L->nscc);
  f->of = TP_NEWN(f->S->a, group *, f->L->nscc);
  f->list = TP_NEWN(f->S->a, int, f->L->nscc);
  f->in = TP_NEWN(f->S->a, bool, f->L->nscc);
  f->readers = TP_NEWN(f->S->a, tp_ints, f->S->p->arrs.n);
  for (int e = 0; e < f->L->arcs.n; e++) {
    int u = f->L->of[dep(f, e)->src], v = f->L->of[dep(f, e)->dst];
    if (dep(f, e)->arr >= 0) TP_PUSH(f->S->a, &f->readers[dep(f, e)->arr], e);
    if (u == v) continue;
    TP_PUSH(f->S->a, &f->end[u].out, e);
    TP_PUSH(f->S->a, &f->end[v].in, e);
    f->waiting[v]++;
  }
}

static void group_place(fusion *f, int k, group *g, tp_wt c) {
  f->L->scc[k].placed = true;
  f->L->scc[k].c = c;
  f->of[k] = g;
  TP_PUSH(f->S->a, &g->scc, k);
  for (int i = 0; i < f->end[k].out.n; i++) f->waiting[f->L->of[dep(f, f->end[k].out.v[i])->dst]]--;
}

static void take_back(fusion *f, group *g, int keep) {
  while (g->scc.n > keep) {
    int k = g->scc.v[--g->scc.n];
    f->L->scc[k].placed = false;
    f->of[k] = NULL;
    for (int i = 0; i < f->end[k].out.n; i++)
      f->waiting[f->L->of[dep(f, f->end[k].out.v[i])->dst]]++;
  }
}

/* ---- sweeps place components whose operands are placed, in program order, until none is left that
 * can be. Each is tried once, as components placed meanwhile do not change the answer ---- */

typedef bool placer(fusion *f, int k, group *g);

static void sweeps(fusion *f, placer *take, group *g) {
  int n = f->L->nscc;
  bool *due = TP_NEWN(f->S->a, bool, n), more = true;
  for (int k = 0; k < n; k++) due[k] = !f->L->scc[k].placed && !f->waiting[k];
  while (more) {
    more = false;
    for (int k = 0; k < n; k++) {
      if (!due[k]) continue;
      due[k] = false;
      if (!take(f, k, g)) continue;
      more = true;
      for (int i = 0; i < f->end[k].out.n; i++) {
        int v = f->L->of[dep(f, f->end[k].out.v[i])->dst];
        due[v] = !f->waiting[v];
      }
    }
  }
}

/* ---- typed fusion ---- */

/* *c := the least shift of component v that arc e from the loop allows. False: v cannot or should
 * not run in this loop. */
static bool asked(const fusion *f, int e, const group *g, bool pinned, tp_wt *c) {
  tp_sched *S = f->S;
  int u = dep(f, e)->src, v = dep(f, e)->dst, du = dim_in(f, u, g), dv = dim_in(f, v, g);
  tp_ask_dep(S, "how far '%s' runs behind '%s'", dep(f, e));
  tp_wt w = tp_distance(S, f->L->arcs.v[e].map, du, dv, g->s), from = tp_fusion_shift(f, u, g->s);
  tp_wt row = tp_wt_sub(S, from, w); /* shift that v's statement needs */
  if (row.bad) return false;
  /* delayed past u's end for all bounds: nothing would be fused */
  if ((pinned && !scc_of(f, u)->pinned) || !tp_wt_le(S, tp_wt_c(0), w)) {
    tp_wt end = tp_wt_add(S, tp_last_row(S, u, du, g->s), from),
          begin = tp_wt_add(S, tp_first_row(S, v, dv, g->s), row);
    if (tp_wt_le(S, end, begin)) return false;
  }
  *c = tp_wt_sub(S, row, tp_fusion_offset(f, v, g->s));
  return !c->bad;
}

/* May component k run ahead by c < 0? It may if it starts that much later, so that the loop's first
 * iteration stays its first. */
static bool may_run_ahead(const fusion *f, int k, const group *g, tp_wt c) {
  const tp_scc *x = &f->L->scc[k];
  tp_sched *S = f->S;
  if (!tp_wt_le(S, c, tp_wt_c(0))) return false;
  for (int i = 0; i < x->n; i++) {
    int v = x->st[i];
    if (S->p->stmts.v[v]->effect) return false;
    tp_wt first = tp_wt_add(S, tp_first_row(S, v, dim_in(f, v, g), g->s),
        tp_wt_add(S, c, tp_fusion_offset(f, v, g->s)));
    for (int j = 0; j < f->end[k].in.n; j++) {
      int u = dep(f, f->end[k].in.v[j])->src;
      if (group_of(f, u) != g) continue;
      if (!tp_wt_le(S,
              tp_wt_add(S, tp_first_row(S, u, dim_in(f, u, g), g->s), tp_fusion_shift(f, u, g->s)),
              first))
        return false;
    }
  }
  return true;
}

/* Is k, a single point, needed in the loop because a component that could run there reads both k
 * and the loop (adjoints of a recurrence's first point)? */
static bool bridges(const fusion *f, int k, const group *g, int depth) {
  for (int i = 0; i < f->end[k].out.n && depth; i++) {
    int v = f->L->of[dep(f, f->end[k].out.v[i])->dst];
    const tp_scc *x = &f->L->scc[v];
    if (x->pinned && bridges(f, v, g, depth - 1)) return true;
    for (int j = 0;
         j < f->end[v].in.n && !x->pinned && pick_label(x) == g->label && pick_sign(x, g->s); j++) {
      int u = f->L->of[dep(f, f->end[v].in.v[j])->src];
      const tp_scc *y = &f->L->scc[u];
      if (u != k && !y->pinned &&
          (y->placed ? f->of[u] == g : pick_label(y) == g->label && pick_sign(y, g->s)))
        return true;
    }
  }
  return false;
}

/* *out := the least shift that k's reads in the loop allow. k does not run ahead of values that are
 * made at a single row. */
static bool shift_in(const fusion *f, int k, const group *g, tp_wt *out) {
  bool any = false, rows = false, alone = f->L->scc[k].pinned && !bridges(f, k, g, BRIDGE_DEPTH);
  tp_wt c = tp_wt_c(0);
  for (int i = 0; i < f->end[k].in.n; i++) {
    int e = f->end[k].in.v[i];
    tp_wt x;
    if (group_of(f, dep(f, e)->src) != g) continue;
    if (!asked(f, e, g, alone, &x)) return false;
    c = any ? tp_wt_max(f->S, c, x) : x;
    any = true;
    rows |= !tp_pinned(f->S, dep(f, e)->src, dim_in(f, dep(f, e)->src, g));
  }
  if (!rows) c = tp_wt_max(f->S, c, tp_wt_c(0));
  c = tp_wt_above(f->S, c);
  if (!c.bad && !tp_wt_le(f->S, tp_wt_c(0), c) && !may_run_ahead(f, k, g, c))
    c = tp_wt_above(f->S, tp_wt_max(f->S, c, tp_wt_c(0)));
  *out = c;
  return !c.bad;
}

static bool take_in(fusion *f, int k, group *g) {
  const tp_scc *c = &f->L->scc[k];
  tp_wt shift;
  if (pick_label(c) != g->label || !pick_sign(c, g->s) || g->pinned || !shift_in(f, k, g, &shift))
    return false;
  group_place(f, k, g, shift);
  return true;
}

static void absorb(fusion *f, group *g) { sweeps(f, take_in, g); }

static group *new_group(fusion *f, int k, bool loop, int s) {
  group *g = TP_NEW(f->S->a, group);
  *g = (group){
    .loop = loop, .label = pick_label(&f->L->scc[k]), .s = s, .pinned = f->L->scc[k].pinned
  };
  group_place(f, k, g, tp_wt_c(0));
  TP_PUSH(f->S->a, &f->all, g);
  return g;
}

/* The component that begins a loop: a pinned one, else a recurrence with one direction, else a
 * recurrence, else the first in program order. */
static int seed(const fusion *f) {
  int best = -1, rank = 4;
  for (int k = 0; k < f->L->nscc; k++) {
    const tp_scc *c = &f->L->scc[k];
    if (c->placed || f->waiting[k]) continue;
    int r = c->pinned ? 0 : c->rec && !(pick_sign(c, 1) && pick_sign(c, -1)) ? 1 : c->rec ? 2 : 3;
    if (r < rank) {
      rank = r;
      best = k;
    }
  }
  return best;
}

static void open_loop(fusion *f, int k) {
  const tp_scc *c = &f->L->scc[k];
  bool both = pick_sign(c, 1) && pick_sign(c, -1);
  group *g = new_group(f, k, true, pick_sign(c, 1) ? 1 : -1);
  absorb(f, g);
  if (!both || g->pinned) return;
  int forwards = g->scc.n;
  take_back(f, g, 1);
  g->s = -1;
  absorb(f, g);
  if (g->scc.n > forwards) return;
  take_back(f, g, 1);
  g->s = 1;
  absorb(f, g);
}

static bool take_leaf(fusion *f, int k, group *g) {
  (void)g;
  if (!is_leaf(&f->L->scc[k]) && f->L->scc[k].pick >= 0) return false;
  new_group(f, k, false, 1);
  return true;
}

void tp_fuse(fusion *f) {
  index_arcs(f);
  for (;;) {
    sweeps(f, take_leaf, NULL);
    int k = seed(f);
    if (k < 0) return;
    open_loop(f, k);
  }
}
