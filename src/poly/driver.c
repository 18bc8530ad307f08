/* driver: from the outermost depth inwards. At each depth the components of what is left become
 * loops and leaves: typed fusion with parametric shifts (docs/scheduling.md, section 2), then moves
 * towards the consumers, then the members of each loop with the dependences between equal rows. isl
 * is a calculator. */
#include "poly/sched.h"
#include <stdlib.h>

typedef struct group {
  bool loop;
  const tp_sym *label;
  int s;
  bool pinned;
  TP_VEC(int) scc;
  int pos;
} group;

/* single points, one after the other, that are looked through */
enum { BRIDGE_DEPTH = 4 };
typedef struct {
  TP_VEC(int) in, out;
} arc_ends; /* arcs of a component from and to others */

typedef struct fusion {
  tp_sched *S;
  tp_level *L;
  arc_ends *end;
  /* by component: arcs from components not yet placed */
  int *waiting;
  group **of;          /* by component */
  TP_VEC(group *) all; /* in order */
  tp_ints *readers;    /* by array: arcs of its reads */
  int *list, nlist;
  bool *in; /* scratch, by component: a set */
} fusion;

static const tp_dep *dep(const fusion *f, int e) { return tp_dep_of(f->S, &f->L->arcs.v[e]); }
static tp_scc *scc_of(const fusion *f, int st) { return &f->L->scc[f->L->of[st]]; }
static group *group_of(const fusion *f, int st) { return f->of[f->L->of[st]]; }
static int pick_sign(const tp_scc *c, int s) { return c->pick >= 0 && c->cand[c->pick].ok[s < 0]; }
static const tp_sym *pick_label(const tp_scc *c) {
  return c->pick >= 0 ? c->cand[c->pick].label : NULL;
}

static int dim_in(const fusion *f, int st, const group *g) { return tp_dim_of(f->S, st, g->label); }

/* Offset of a member in its component; with the component's shift: its row is s * dim + that. */
static tp_wt offset(const fusion *f, int st, int s) {
  const tp_scc *c = scc_of(f, st);
  for (int i = 0; i < c->ncand; i++)
    if (i == c->pick) return c->cand[i].off[s < 0][f->L->at[st]];
  return tp_wt_c(0);
}

static tp_wt fused_shift(const fusion *f, int st, int s) {
  return tp_wt_add(f->S, scc_of(f, st)->c, offset(f, st, s));
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

/* ---- in sweeps: components whose operands are placed, in program order, again and again until
 * nothing more can be placed. A component is tried once in a sequence of sweeps, as nothing that is
 * placed meanwhile changes the answer; those that wait become ready for this sweep or for the next.
 * ---- */

typedef bool placer(fusion *f, int k, group *g);

static bool sweeps(fusion *f, placer *take, group *g) {
  tp_turns h = { 0 };
  bool any = false;
  for (int k = 0; k < f->L->nscc; k++)
    if (!f->L->scc[k].placed && !f->waiting[k]) tp_turn_push(f->S, &h, (tp_turn){ 0, k });
  while (h.n) {
    tp_turn t = tp_turn_pop(&h);
    if (!take(f, t.k, g)) continue;
    any = true;
    for (int i = 0, was = -1; i < f->end[t.k].out.n; i++) {
      int v = f->L->of[dep(f, f->end[t.k].out.v[i])->dst];
      if (!f->waiting[v] && v != was && !f->in[v]) {
        f->in[v] = true;
        f->list[f->nlist++] = v;
        tp_turn_push(f->S, &h, (tp_turn){ t.sweep + (v < t.k), v });
      }
      was = v;
    }
    while (f->nlist) f->in[f->list[--f->nlist]] = false;
  }
  return any;
}

/* ---- typed fusion ---- */

/* What one arc from the loop asks of the shift of component v. False: v cannot or should not run in
 * this loop. */
static bool asked(const fusion *f, int e, const group *g, bool pinned, tp_wt *c) {
  tp_sched *S = f->S;
  int u = dep(f, e)->src, v = dep(f, e)->dst, du = dim_in(f, u, g), dv = dim_in(f, v, g);
  tp_ask_dep(S, "how far '%s' runs behind '%s'", dep(f, e));
  tp_wt w = tp_distance(S, f->L->arcs.v[e].map, du, dv, g->s), from = fused_shift(f, u, g->s);
  tp_wt row = tp_wt_sub(S, from, w); /* shift that v's statement needs */
  if (row.bad) return false;
  /* delayed past u's end for all bounds: nothing would be fused */
  if ((pinned && !scc_of(f, u)->pinned) || !tp_wt_le(S, tp_wt_c(0), w)) {
    tp_wt end = tp_wt_add(S, tp_last_row(S, u, du, g->s), from),
          begin = tp_wt_add(S, tp_first_row(S, v, dv, g->s), row);
    if (tp_wt_le(S, end, begin)) return false;
  }
  *c = tp_wt_sub(S, row, offset(f, v, g->s));
  return !c->bad;
}

/* May component k run ahead by c < 0? Only what starts that much later, so that the loop's first
 * iteration stays its first. */
static bool may_run_ahead(const fusion *f, int k, const group *g, tp_wt c) {
  const tp_scc *x = &f->L->scc[k];
  tp_sched *S = f->S;
  if (!tp_wt_le(S, c, tp_wt_c(0))) return false;
  for (int i = 0; i < x->n; i++) {
    int v = x->st[i];
    if (S->p->stmts.v[v]->effect) return false;
    tp_wt first = tp_wt_add(
        S, tp_first_row(S, v, dim_in(f, v, g), g->s), tp_wt_add(S, c, offset(f, v, g->s)));
    for (int j = 0; j < f->end[k].in.n; j++) {
      int u = dep(f, f->end[k].in.v[j])->src;
      if (group_of(f, u) != g) continue;
      if (!tp_wt_le(S,
              tp_wt_add(S, tp_first_row(S, u, dim_in(f, u, g), g->s), fused_shift(f, u, g->s)),
              first))
        return false;
    }
  }
  return true;
}

/* Does what the loop makes, or might, reach one that could run in it past component k, a single
 * point? Without k there that could not (adjoints of a recurrence's first point). */
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

/* Least shift that what k reads in the loop allows. What is made at a single row of it is none to
 * run ahead of. */
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

static void absorb(fusion *f, group *g) { (void)sweeps(f, take_in, g); }

static group *new_group(fusion *f, int k, bool loop, int s) {
  group *g = TP_NEW(f->S->a, group);
  *g = (group){
    .loop = loop, .label = pick_label(&f->L->scc[k]), .s = s, .pinned = f->L->scc[k].pinned
  };
  group_place(f, k, g, tp_wt_c(0));
  TP_PUSH(f->S->a, &f->all, g);
  return g;
}

/* Pinned first, then recurrences with one direction, then recurrences, then program order. */
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

static bool is_leaf(const tp_scc *c) { return !c->left && !c->rec; }

static bool take_leaf(fusion *f, int k, group *g) {
  (void)g;
  if (!is_leaf(&f->L->scc[k]) && f->L->scc[k].pick >= 0) return false;
  new_group(f, k, false, 1);
  return true;
}

static void fuse(fusion *f) {
  index_arcs(f);
  for (;;) {
    (void)sweeps(f, take_leaf, NULL);
    int k = seed(f);
    if (k < 0) return;
    open_loop(f, k);
  }
}

/* ---- moves ---- */

static void number_groups(fusion *f) {
  for (int i = 0; i < f->all.n; i++) f->all.v[i]->pos = i;
}

static bool has_effect(const fusion *f, int k) {
  for (int i = 0; i < f->L->scc[k].n; i++)
    if (f->S->p->stmts.v[f->L->scc[k].st[i]]->effect) return true;
  return false;
}

/* A copy of a window: what it copies stays for other windows, so that later is better. */
static bool copies_window(const fusion *f, const group *g) {
  const tp_stmt *s = f->S->p->stmts.v[f->L->scc[g->scc.v[0]].st[0]];
  return !g->loop && s->through && s->src.node->op == TP_OP_READ;
}

/* The first consumer of what waits for nothing outside, or may wait; NULL: it stays where it is. */
static group *first_consumer(const fusion *f, const group *g) {
  group *best = NULL;
  for (int j = 0; j < g->scc.n; j++) {
    const arc_ends *x = &f->end[g->scc.v[j]];
    if (has_effect(f, g->scc.v[j])) return NULL;
    for (int i = 0; i < x->in.n && !copies_window(f, g); i++)
      if (group_of(f, dep(f, x->in.v[i])->src) != g) return NULL;
    for (int i = 0; i < x->out.n; i++) {
      group *to = group_of(f, dep(f, x->out.v[i])->dst);
      if (to != g && (!best || to->pos < best->pos)) best = to;
    }
  }
  return best;
}

/* A leaf or a whole loop that waits for nothing, and a window, goes right before its first
 * consumer; loops (the first points of a recurrence) stay in order there. */
static void move_group(fusion *f, int at) {
  group *g = f->all.v[at], *to = first_consumer(f, g);
  int end = to ? to->pos : 0;
  while (g->loop && end - 1 > at && f->all.v[end - 1]->loop &&
      first_consumer(f, f->all.v[end - 1]) == to)
    end--;
  if (end <= at + 1) return;
  for (int i = at; i + 1 < end; i++) f->all.v[i] = f->all.v[i + 1];
  f->all.v[end - 1] = g;
  number_groups(f);
}

/* Greatest shift with which component k can run in g before its consumers there. False: none of
 * use. */
static bool latest_shift(const fusion *f, int k, const group *g, tp_wt *out) {
  bool any = false;
  for (int i = 0; i < f->end[k].out.n; i++) {
    int e = f->end[k].out.v[i], u = dep(f, e)->src, v = dep(f, e)->dst;
    if (group_of(f, v) != g) continue;
    tp_ask_dep(f->S, "how far '%s' runs behind '%s'", dep(f, e));
    tp_wt w = tp_distance(f->S, f->L->arcs.v[e].map, dim_in(f, u, g), dim_in(f, v, g), g->s);
    w = tp_wt_sub(f->S, tp_wt_add(f->S, fused_shift(f, v, g->s), w), offset(f, u, g->s));
    *out = any ? tp_wt_min(f->S, *out, w) : w;
    any = true;
    if (out->bad) return false;
  }
  return any;
}

/* Is array `arr` read in g anyway by a component other than k (no earlier than `when`)? */
static bool array_read(const fusion *f, int arr, int k, const group *g, const tp_wt *when) {
  for (int i = 0; i < f->readers[arr].n; i++) {
    int x = f->L->of[dep(f, f->readers[arr].v[i])->dst];
    if (x != k && f->of[x] == g && (!when || tp_wt_le(f->S, *when, f->L->scc[x].c))) return true;
  }
  return false;
}

/* Is every operand that k reads from its present loop read in g as well? */
static bool read_there(const fusion *f, int k, const group *g, const tp_wt *when) {
  for (int i = 0; i < f->end[k].in.n; i++) {
    const tp_dep *d = dep(f, f->end[k].in.v[i]);
    if (d->arr >= 0 && group_of(f, d->src) == f->of[k] && !array_read(f, d->arr, k, g, when))
      return false;
  }
  return true;
}

static void unlist(group *g, int k) {
  int n = 0;
  for (int i = 0; i < g->scc.n; i++)
    if (g->scc.v[i] != k) g->scc.v[n++] = g->scc.v[i];
  g->scc.n = n;
}

/* May component k run in loop `to` at all? */
static bool could_move(const fusion *f, int k, const group *to) {
  const group *from = f->of[k];
  return !has_effect(f, k) && from->loop && to->loop && !to->pinned && to->label == from->label &&
      pick_sign(&f->L->scc[k], to->s);
}

static bool group_add(fusion *f, int k, const group *to) {
  if (f->in[k]) return true;
  if (!could_move(f, k, to)) return false;
  f->in[k] = true;
  f->list[f->nlist++] = k;
  return true;
}

/* Made again for who reads it: what it is made of is kept for it, unless that is made again too. */
static bool is_anew(const fusion *f, int k) {
  bool anew = false;
  for (int i = 0; i < f->L->scc[k].n; i++) {
    const tp_stmt *s = f->S->p->stmts.v[f->L->scc[k].st[i]];
    for (int j = 0; j < s->nnode; j++) anew |= s->node[j]->attr.anew;
  }
  return anew;
}

/* What must go along with the first of the set: who makes its operands, where these are not read in
 * the other loop anyway, and who reads its results before that loop; there may be the loop's first
 * point by itself, which then becomes part of it. False: it cannot be. */
static bool company(fusion *f, const group *to) {
  const group *from = f->of[f->list[0]];
  for (int at = 0; at < f->nlist; at++) {
    const arc_ends *x = &f->end[f->list[at]];
    for (int i = 0; i < x->in.n && !f->of[f->list[at]]->pinned; i++) {
      const tp_dep *d = dep(f, x->in.v[i]);
      int u = f->L->of[d->src];
      if (d->arr < 0 || f->of[u] != from || f->in[u] ||
          array_read(f, d->arr, f->list[at], to, NULL) ||
          (is_anew(f, f->list[at]) && !is_anew(f, u)))
        continue;
      if (!group_add(f, u, to)) return false;
    }
    for (int i = 0; i < x->out.n; i++) {
      int v = f->L->of[dep(f, x->out.v[i])->dst];
      if (f->of[v]->pos < to->pos &&
          ((f->of[v] != from && !f->of[v]->pinned) || !group_add(f, v, to)))
        return false;
    }
  }
  return true;
}

/* Constants would only buy a slot and cost guards, so a constant delay is not taken. */
static bool arrive(fusion *f, int k, group *to) {
  tp_wt c;
  f->L->scc[k].c = tp_wt_c(0);
  if (!latest_shift(f, k, to, &c)) return false;
  if (!c.p && c.c > 0) c = tp_wt_c(0);
  if (c.p && !tp_wt_le(f->S, tp_wt_c(0), c)) return false;
  f->L->scc[k].c = c;
  unlist(f->of[k], k);
  f->of[k] = to;
  TP_PUSH(f->S->a, &to->scc, k);
  return true;
}

static bool consumers_there(const fusion *f, int k, const group *to) {
  const arc_ends *x = &f->end[k];
  for (int i = 0; i < x->out.n; i++) {
    int v = f->L->of[dep(f, x->out.v[i])->dst];
    if (f->in[v] && f->of[v] != to) return false;
  }
  return true;
}

/* Moves the set, consumers first; all of it or nothing. */
static bool arrive_all(fusion *f, group *to) {
  int n = f->nlist, left = n;
  const int *v = f->list;
  group **from = TP_NEWN(f->S->a, group *, n);
  tp_wt *was = TP_NEWN(f->S->a, tp_wt, n);
  for (int i = 0; i < n; i++) {
    from[i] = f->of[v[i]];
    was[i] = f->L->scc[v[i]].c;
  }
  for (bool more = true; more && left;) {
    more = false;
    for (int i = 0; i < n; i++) {
      if (f->of[v[i]] == to || !consumers_there(f, v[i], to) || !arrive(f, v[i], to)) continue;
      more = true;
      left--;
    }
  }
  for (int i = 0; i < n && left; i++) {
    f->L->scc[v[i]].c = was[i];
    if (f->of[v[i]] != to) continue;
    unlist(to, v[i]);
    f->of[v[i]] = from[i];
    TP_PUSH(f->S->a, &from[i]->scc, v[i]);
  }
  return !left;
}

/* Component k to the loop of its consumers, with its company. */
static bool move_scc(fusion *f, int k) {
  group *from = f->of[k], *to = NULL;
  for (int i = 0; i < f->end[k].out.n; i++) {
    group *g = group_of(f, dep(f, f->end[k].out.v[i])->dst);
    if (g != from && !g->pinned && (!to || g->pos < to->pos)) to = g;
  }
  if (!to || from->pinned) return false;
  bool moved = group_add(f, k, to) && company(f, to) && arrive_all(f, to);
  while (f->nlist) f->in[f->list[--f->nlist]] = false;
  return moved;
}

/* Inside its loop, towards its consumers, by a parametric amount only. */
static void shift_scc(fusion *f, int k) {
  group *g = f->of[k];
  tp_scc *x = &f->L->scc[k];
  tp_wt c;
  if (x->rec || x->n > 1 || !latest_shift(f, k, g, &c) || !c.p ||
      (f->end[k].in.n && !tp_wt_le(f->S, x->c, c)))
    return;
  tp_wt by = tp_wt_sub(f->S, c, x->c);
  if (by.bad || !by.p || isl_pw_aff_n_piece(c.p) > 2 || !read_there(f, k, g, &c)) return;
  x->c = c;
}

static void move(fusion *f) {
  number_groups(f);
  for (int i = f->all.n - 1; i >= 0; i--) {
    group *g = f->all.v[i];
    for (int j = g->scc.n - 1; j >= 0 && g->loop; j--) {
      int k = g->scc.v[j], n = g->scc.n;
      if (has_effect(f, k) || !f->end[k].out.n) continue;
      if (!move_scc(f, k)) shift_scc(f, k);
      if (g->scc.n < n) j = g->scc.n; /* others went along */
    }
    move_group(f, i);
  }
}

/* ---- loops ---- */

typedef struct {
  int arr, dim;
  int64_t by;
} target;

/* Where an update of the loop's member goes: the array dim that follows the loop, and how far
 * behind. False: none does. */
static bool target_of(tp_sched *S, const tp_mem *m, const tp_access *x, target *t) {
  int64_t lo, hi;
  if (m->dim < 0 || m->shift.bad || m->shift.p) return false;
  for (int k = 0; k < S->p->arrs.v[x->arr]->ndim; k++)
    if (tp_const_distance(S, x->rel, m->dim, k, &lo, &hi) && lo == hi) {
      *t = (target){ x->arr, k, m->s * lo - m->shift.c };
      return true;
    }
  return false;
}

/* Updates commute, yet two iterations must not do them at once. */
static bool updates_apart(tp_sched *S, const tp_item *loop) {
  TP_VEC(target) seen = { 0 };
  for (int i = 0; i < loop->nmem; i++) {
    const tp_stmt *s = S->p->stmts.v[loop->mem[i].st];
    for (int a = 0; a < s->nacc; a++) {
      target t;
      if (s->acc[a].kind != TP_ACC_UPDATE) continue;
      if (!target_of(S, &loop->mem[i], &s->acc[a], &t)) return false;
      for (int j = 0; j < seen.n; j++)
        if (seen.v[j].arr == t.arr && (seen.v[j].dim != t.dim || seen.v[j].by != t.by))
          return false;
      TP_PUSH(S->a, &seen, t);
    }
  }
  return true;
}

/* The arcs inside a loop at equal rows; whether it carries any; how deep each dependence stays
 * inside. */
void tp_enter(tp_sched *S, tp_item *loop, int depth, const tp_arcs *in, tp_arcs *out) {
  int *at = TP_NEWN(S->a, int, S->p->stmts.n);
  for (int i = 0; i < loop->nmem; i++) at[loop->mem[i].st] = i + 1;
  loop->independent = updates_apart(S, loop);
  for (int e = 0; e < in->n; e++) {
    tp_dep *d = tp_dep_of(S, &in->v[e]);
    if (!at[d->src] || !at[d->dst]) continue;
    tp_arc rest;
    bool exact;
    bool some = tp_arc_at(
        S, &in->v[e], &loop->mem[at[d->src] - 1], &loop->mem[at[d->dst] - 1], &rest, &exact);
    if (some) TP_PUSH(S->a, out, rest);
    if (exact && d->cross == depth) d->cross = depth + 1;
    loop->independent &= exact;
  }
  for (int i = 0; i < loop->nmem; i++)
    if (S->p->stmts.v[loop->mem[i].st]->effect) loop->independent = false;
}

static tp_sres schedule(
    tp_sched *S, int depth, int nst, const int *st, const tp_arcs *arcs, tp_items *out);

static void mark_used(tp_sched *S, const tp_mem *mem, int n, bool on) {
  for (int i = 0; i < n; i++) {
    uint32_t bit = 1u << mem[i].dim, *used = &S->st[mem[i].st].used;
    *used = on ? *used | bit : *used & ~bit;
  }
}

/* The body of a loop whose rows are mem's. */
static tp_sres body_of(tp_sched *S, tp_item *x, int depth, const tp_arcs *arcs) {
  int *st = TP_NEWN(S->a, int, x->nmem);
  tp_arcs inner = { 0 };
  for (int i = 0; i < x->nmem; i++) st[i] = x->mem[i].st;
  tp_enter(S, x, depth, arcs, &inner);
  mark_used(S, x->mem, x->nmem, true);
  tp_sres r = schedule(S, depth + 1, x->nmem, st, &inner, &x->body);
  mark_used(S, x->mem, x->nmem, false);
  return r;
}

static tp_item *new_loop(tp_sched *S, const tp_item *like, int nmem) {
  tp_item *x = TP_NEW(S->a, tp_item);
  *x =
      (tp_item){ .st = -1, .label = like->label, .s = like->s, .mem = TP_NEWN(S->a, tp_mem, nmem) };
  return x;
}

/* Loop x in blocks: a loop over blocks around calls over a block and loops over its rows. */
static tp_sres blocked(tp_sched *S, const tp_item *x, const tp_blocks *b, int depth,
    const tp_arcs *arcs, tp_items *out) {
  tp_item *outer = new_loop(S, x, x->nmem);
  tp_arcs inner = { 0 };
  tp_sres r = TP_S_OK;
  outer->block = b->size;
  for (; outer->nmem < x->nmem; outer->nmem++)
    outer->mem[outer->nmem] = tp_block_row(S, &x->mem[outer->nmem], b->size);
  TP_PUSH(S->a, out, outer);
  tp_enter(S, outer, depth, arcs, &inner);
  for (int p = 0; p < b->n && r == TP_S_OK; p++) {
    const tp_phase *ph = &b->phase[p];
    tp_item *y = new_loop(S, x, ph->n);
    TP_PUSH(S->a, &outer->body, y);
    if (ph->vec) {
      tp_block_stmt(S, x, y->st = ph->st[0], b->size);
      continue;
    }
    for (int i = 0; i < x->nmem; i++) /* in program order */
      for (int k = 0; k < ph->n; k++)
        if (ph->st[k] == x->mem[i].st) y->mem[y->nmem++] = x->mem[i];
    if (ph->rows) tp_block_rows(S, x, ph->st[0], b->size);
    r = body_of(S, y, depth + 1, &inner);
  }
  return r;
}

/* Does a statement run point by point that could run over all of the loop in one call, had it not
 * been left to blocks? */
static bool lost_call(tp_sched *S, const tp_item *x) {
  if (!tp_is_cut(S, x->label)) return false;
  for (int i = 0; i < x->nmem; i++) {
    const tp_mem *m = &x->mem[i];
    const tp_stmt *s = S->p->stmts.v[m->st];
    const tp_ix *lo, *hi;
    bool inner = false; /* its calls are over another dim of that label */
    for (int d = 0; d < s->ndim; d++)
      inner |= s->label[d] == x->label && d != m->dim && (S->st[m->st].used >> d & 1);
    if (!inner && (s->mayvec >> m->dim & 1) && !tp_pinned(S, m->st, m->dim) &&
        tp_vector_range(S, s, m->dim, &lo, &hi))
      return true;
  }
  return false;
}

static tp_sres loop_item(const fusion *f, const group *g, int depth, tp_items *out) {
  tp_sched *S = f->S;
  tp_item *x = TP_NEW(S->a, tp_item);
  *x = (tp_item){ .st = -1, .label = g->label, .s = g->s };
  for (int i = 0; i < g->scc.n; i++) x->nmem += f->L->scc[g->scc.v[i]].n;
  x->mem = TP_NEWN(S->a, tp_mem, x->nmem);
  int n = 0, *st = TP_NEWN(S->a, int, x->nmem);
  for (int i = 0; i < f->L->nst; i++) /* in program order */
    if (group_of(f, f->L->st[i]) == g) st[n++] = f->L->st[i];
  for (int i = 0; i < n; i++)
    x->mem[i] = tp_mem_make(S, st[i], dim_in(f, st[i], g), g->s, fused_shift(f, st[i], g->s));
  tp_blocks *b = tp_blocks_of(S, f->L, x, &f->L->arcs);
  if (b) return blocked(S, x, b, depth, &f->L->arcs, out);
  if (lost_call(S, x)) {
    tp_give_up(S->p, TP_RX_CUTS);
    return TP_S_RESTART;
  }
  TP_PUSH(S->a, out, x);
  return body_of(S, x, depth, &f->L->arcs);
}

/* A loop of a component whose members go at different speeds, and what each iteration has inside.
 */
static tp_sres scaled_item(const fusion *f, int scc, int depth, tp_items *out) {
  tp_sched *S = f->S;
  tp_item *x = TP_NEW(S->a, tp_item);
  int n = f->L->scc[scc].n, *dim = TP_NEWN(S->a, int, n), *st = TP_NEWN(S->a, int, n);
  tp_arcs inner = { 0 };
  if (!tp_scaled_loop(S, f->L, scc, x, dim)) return TP_S_FAIL;
  tp_enter(S, x, depth, &f->L->arcs, &inner);
  for (int i = 0; i < n; i++) st[i] = x->mem[i].st, S->st[st[i]].used |= 1u << dim[i];
  tp_sres r = schedule(S, depth + 1, n, st, &inner, &x->body);
  for (int i = 0; i < n; i++) S->st[st[i]].used &= ~(1u << dim[i]);
  if (r != TP_S_OK) return r;
  S->skewed = true;
  TP_PUSH(S->a, out, x);
  return r;
}

static tp_sres leaf_item(const fusion *f, const group *g, int depth, tp_items *out) {
  tp_sched *S = f->S;
  const tp_scc *c = &f->L->scc[g->scc.v[0]];
  if (is_leaf(c)) {
    tp_item *x = TP_NEW(S->a, tp_item);
    *x = (tp_item){ .st = c->st[0] };
    TP_PUSH(S->a, out, x);
    return TP_S_OK;
  }
  if (c->left && tp_split(S, f->L, c)) return TP_S_RESTART;
  /* what was not known may be no cycle */
  if (!S->p->nover && tp_assume(S, f->L, c)) return TP_S_RESTART;
  if (tp_cycle(S, c)) return TP_S_FAIL;
  tp_sres scaled = c->left ? scaled_item(f, g->scc.v[0], depth, out) : TP_S_FAIL;
  if (scaled != TP_S_FAIL) return scaled;
  *S->err = (tp_error){ 0 };
  if (c->left && tp_isl_nest(S, f->L, g->scc.v[0], out) == TP_S_OK) return TP_S_OK;
  tp_no_order(S, c);
  return TP_S_FAIL;
}

/* An update of one point belongs to the loop of the others; so does what only takes something from
 * that point. */
static bool belongs(const tp_sched *S, const tp_stmt *s, int d) {
  for (int a = 0; a < s->nacc; a++)
    for (int k = 0; s->acc[a].kind == TP_ACC_WRITE && k < S->p->arrs.v[s->acc[a].arr]->ndim; k++)
      if (!s->acc[a].at || tp_ix_mentions(s->acc[a].at[k].lo, s->dim[d])) return false;
  return !s->effect;
}

static bool all_pinned(tp_sched *S, const tp_scc *c) {
  for (int i = 0; i < c->n; i++) {
    const tp_stmt *s = S->p->stmts.v[c->st[i]];
    int d = tp_dim_of(S, c->st[i], pick_label(c));
    if (belongs(S, s, d) || (S->st[c->st[i]].used | 1u << d) != (1u << s->ndim) - 1 ||
        !tp_pinned(S, c->st[i], d))
      return false;
  }
  return true;
}

static tp_sres schedule(
    tp_sched *S, int depth, int nst, const int *st, const tp_arcs *arcs, tp_items *out) {
  tp_level *L = tp_level_make(S, nst, st, arcs);
  tp_choose_recurrences(S, L);
  tp_choose_rest(S, L);
  for (int k = 0; k < L->nscc; k++)
    L->scc[k].pinned = L->scc[k].pick >= 0 && !L->scc[k].rec && all_pinned(S, &L->scc[k]);
  fusion f = { .S = S, .L = L };
  fuse(&f);
  move(&f);
  for (int i = 0; i < f.all.n; i++) {
    const group *g = f.all.v[i];
    if (!g->scc.n) continue;
    tp_sres r = g->loop ? loop_item(&f, g, depth, out) : leaf_item(&f, g, depth, out);
    if (r != TP_S_OK) return r;
  }
  return TP_S_OK;
}

/* ---- paths: each statement's way down the result ---- */

static void paths(tp_sched *S, const tp_items *seq, tp_way *way, int depth) {
  for (int i = 0; i < seq->n; i++) {
    tp_item *x = seq->v[i];
    way[depth] = (tp_way){ i, x->st < 0 ? x : NULL, NULL };
    if (x->st < 0) {
      paths(S, &x->body, way, depth + 1);
      for (int m = 0; m < x->nmem; m++) S->st[x->mem[m].st].path[depth].mem = &x->mem[m];
      continue;
    }
    tp_sst *s = &S->st[x->st];
    s->npath = depth + 1;
    s->path = tp_dup(S->a, way, sizeof *way * (size_t)s->npath);
  }
}

static int max_depth(const tp_items *seq) {
  int n = 1;
  for (int i = 0; i < seq->n; i++)
    if (seq->v[i]->st < 0) n = TP_MAX(n, 1 + max_depth(&seq->v[i]->body));
  return n;
}

/* ---- the run ---- */

bool tp_is_free_bound(const tp_sched *S, const tp_sym *s) {
  bool asked = false;
  for (int i = 0; i < S->p->g->nodes.n && !asked; i++)
    asked = tp_node_mentions(S->p->g->nodes.v[i], s);
  return asked && s->kind == TP_SYM_BOUND && !s->dim && !s->hidden;
}

/* False: isl has failed before the first question. */
static bool begin(tp_sched *S) {
  tp_pools_free(S);
  tp_hmap_init(&S->memo, S->a);
  S->st = TP_NEWN(S->a, tp_sst, S->p->stmts.n);
  S->deps.n = S->cut.n = 0;
  S->skewed = false;
  S->top = (tp_items){ 0 };
  S->context = tp_keep_set(S, tp_isl_context(S->ix, 0));
  isl_set *free_ = isl_set_universe(tp_isl_params(S->ix));
  bool any = false;
  for (int i = 0, at = 0; i < tp_nsym(S->ix); i++) {
    const tp_sym *s = tp_sym_at(S->ix, i);
    if (s->kind != TP_SYM_BOUND) continue;
    if (tp_is_free_bound(S, s)) {
      free_ = isl_set_lower_bound_si(free_, isl_dim_param, at, 0);
      any = true;
    }
    at++;
  }
  for (int i = 0; i < S->p->late.n; i++) {
    /* says nothing of bounds that do not matter */
    isl_set *bad = tp_isl_gist(isl_set_copy(S->p->late.v[i].bad), tp_isl_context(S->ix, 0));
    free_ = isl_set_subtract(free_, bad);
    S->context = tp_keep_set(
        S, isl_set_subtract(isl_set_copy(S->context), isl_set_copy(S->p->late.v[i].bad)));
    any = true;
  }
  S->freectx = any ? tp_keep_set(S, free_) : NULL;
  if (!any) isl_set_free(free_);
  return tp_isl_check(S->ix, TP_NOWHERE, S->err);
}

static tp_sres attempt(tp_sched *S) {
  if (!begin(S)) return TP_S_FAIL;
  if (!tp_deps(S)) {
    if (tp_isl_check(S->ix, TP_NOWHERE, S->err))
      tp_fail(S->err, TP_E_AFFINE, TP_NOWHERE,
          "affine: what must run before what could not be worked out");
    tp_tell_unknown(S->p, S->err);
    return TP_S_FAIL;
  }
  tp_sres r = tp_vectors(S);
  if (r != TP_S_OK) return r;
  int n = S->p->stmts.n, *st = TP_NEWN(S->a, int, n);
  tp_arcs all = { 0 };
  for (int i = 0; i < n; i++) st[i] = i;
  for (int e = 0; e < S->deps.n; e++) TP_PUSH(S->a, &all, (tp_arc){ e, S->deps.v[e].map });
  r = schedule(S, 0, n, st, &all, &S->top);
  if (r != TP_S_OK) return r;
  paths(S, &S->top, TP_NEWN(S->a, tp_way, max_depth(&S->top) + 1), 0);
  return TP_S_OK;
}

/* ---- what is given up where that does not work out (relax.def) ---- */

typedef enum { MIDWAY, ORDER, STORAGE } relax_when;

static bool has_none(const tp_sched *S) {
  (void)S;
  return false;
}
static bool has_cuts(const tp_sched *S) { return has_none(S); }
static bool has_outlines(const tp_sched *S) { return S->hulled; }

static bool has_calls(const tp_sched *S) {
  bool any = false;
  for (int i = 0; i < S->p->stmts.n; i++) any |= S->p->stmts.v[i]->vec != 0;
  return any;
}

static bool has_blocks(const tp_sched *S) {
  bool any = false;
  for (int i = 0; i < S->p->stmts.n; i++)
    any |= S->p->stmts.v[i]->bdim >= 0 || S->p->stmts.v[i]->rdim >= 0;
  return any && !S->p->block && !S->p->ticks;
}

static const struct {
  relax_when when;
  bool (*there)(const tp_sched *);
} relaxations[] = {
#define R(N, when, there, says) { when, there },
#include "poly/relax.def"
#undef R
};

static bool relax(tp_sched *S, relax_when when) {
  for (int k = 0; k < TP_NRELAX; k++) {
    if (relaxations[k].when != when || tp_without(S->p, (tp_relax)k) || !relaxations[k].there(S))
      continue;
    tp_give_up(S->p, (tp_relax)k);
    return true;
  }
  return false;
}

/* A schedule that passes the proof. */
static bool find_order(tp_sched *S, tp_error *err) {
  for (;;) {
    tp_error mine = { 0 };
    S->err = &mine;
    double t0 = tp_now();
    tp_sres r = attempt(S);
    S->p->ms_schedule += 1e3 * (tp_now() - t0);
    if (r == TP_S_RESTART) continue;
    t0 = tp_now();
    S->p->unproved = NULL;
    S->p->proved = r == TP_S_OK && tp_prove(S, &S->p->unproved);
    S->p->ms_proof += 1e3 * (tp_now() - t0);
    S->err = err;
    if (S->p->proved) return true;
    if (relax(S, ORDER)) continue;
    if (r == TP_S_OK) {
      tp_fail(&mine, TP_E_CYCLE, TP_NOWHERE,
          "the order found for the loops could not be proved: %s",
          S->p->unproved ? S->p->unproved : "?");
      tp_tell_unknown(S->p, &mine);
    }
    if (err && err->code == TP_OK) *err = mine;
    return false;
  }
}

/* What an order keeps; false: of some array that was too hard to say, so all of it is kept. */
static bool keep_enough(tp_sched *S) {
  double t0 = tp_now();
  tp_settle_guards(S);
  tp_dense_vectors(S);
  tp_behind(S);
  bool known = tp_live(S);
  S->p->ms_live += 1e3 * (tp_now() - t0);
  return known;
}

/* ---- loops around rows of isl's own ---- */

/* Of rows with divisions isl has written loops in another order than it was told (fuzz seed
 * 1410000092), so these are gone through at small bounds, all of them alike. NULL, or what is
 * wrong. */
static const char *disorder(tp_sched *S) {
  enum { TRIED = 12 };
  const tp_graph *g = S->p->g;
  int64_t *env = TP_NEWN(S->a, int64_t, tp_nsym(S->ix));
  if (g->stops.n || !S->skewed) return NULL;
  for (int64_t n = 0; n < TRIED; n++) {
    tp_error why = { 0 };
    for (int i = 0; i < tp_nsym(S->ix); i++) env[i] = n;
    isl_set *here = tp_isl_at(isl_set_copy(S->context), env);
    bool given = isl_set_is_empty(here) == isl_bool_false;
    isl_set_free(here);
    for (int i = 0; i < g->boundchecks.n; i++) given &= tp_ix_evalq(g->boundchecks.v[i].cond, env);
    if (given && !tp_poly_simulate(S->p, env, NULL, &why) && why.code == TP_E_CYCLE)
      return tp_strdup(S->a, why.msg);
  }
  return NULL;
}

static bool write_loops(tp_sched *S) {
  const tp_poly *p = S->p;
  int *cross = TP_NEWN(S->a, int, p->arrs.n);
  const char *why = NULL;
  for (int i = 0; i < p->arrs.n; i++) cross[i] = p->arrs.v[i]->cross;
  for (int way = 0; way < 2; way++) {
    S->nested = way;
    for (int i = 0; i < p->arrs.n; i++) p->arrs.v[i]->cross = cross[i];
    if (!tp_make_tree(S)) return false;
    if (!(why = disorder(S))) return true;
  }
  return tp_fail(S->err, TP_E_AFFINE, TP_NOWHERE,
      "affine: the loops of this program cannot be written down: %s", why);
}

static bool fill_schedule(tp_sched *S, tp_error *err) {
  tp_poly *p = S->p;
  uint32_t *dense = TP_NEWN(S->a, uint32_t, p->arrs.n);
  int nover = p->nover, nunknown = p->unknown.n;
  for (int i = 0; i < p->arrs.n; i++) dense[i] = p->arrs.v[i]->dense;
  if (!find_order(S, err)) return false;
  if (p->judge) return true;
  while (!keep_enough(S) && relax(S, STORAGE)) {
    p->nover = nover;
    p->unknown.n = nunknown;
    for (int i = 0; i < p->arrs.n; i++) p->arrs.v[i]->dense = dense[i], p->arrs.v[i]->align = NULL;
    if (!find_order(S, err)) return false;
  }
  tp_spread_rows(S);
  double t0 = tp_now();
  bool ok = write_loops(S);
  p->ms_tree += 1e3 * (tp_now() - t0);
  return ok;
}

bool tp_schedule(tp_poly *p, tp_error *err) {
  tp_sched *S = TP_NEW(p->a, tp_sched);
  *S = (tp_sched){ .p = p, .ix = p->g->ix, .a = p->a, .ctx = tp_isl_ctx(p->g->ix) };
  isl_ctx_reset_error(S->ctx);
  const char *budget = tp_graph_setting(p->g, "TEMPO_ISL_BUDGET");
  p->budget = budget && atoll(budget) > 0 ? atoll(budget) : TP_TUNE_ISL_BUDGET;
  bool ok = fill_schedule(S, err) && tp_late_checks(p, err);
  tp_pools_free(S);
  isl_ctx_reset_error(S->ctx);
  return ok;
}
