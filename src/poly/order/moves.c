/* moves: moves groups and components towards their consumers. */
#include "poly/order/fusion.h"

static void number_groups(fusion *f) {
  for (int i = 0; i < f->all.n; i++) f->all.v[i]->pos = i;
}

static bool has_effect(const fusion *f, int k) {
  for (int i = 0; i < f->L->scc[k].n; i++)
    if (f->S->p->stmts.v[f->L->scc[k].st[i]]->effect) return true;
  return false;
}

/* Is the group a copy of a window? The copied array stays for other windows, so running later is
 * better. */
static bool copies_window(const fusion *f, const group *g) {
  const tp_stmt *s = f->S->p->stmts.v[f->L->scc[g->scc.v[0]].st[0]];
  return !g->loop && s->through && s->src.node->op == TP_OP_READ;
}

/* The first consumer of a group that waits for nothing outside, or may wait; NULL: the group
 * stays. */
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

/* Moves a leaf or a whole loop that waits for nothing, and a window, right before its first
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

/* *out := the greatest shift with which component k can run in g before its consumers there. False:
 * there is none. */
static bool latest_shift(const fusion *f, int k, const group *g, tp_wt *out) {
  bool any = false;
  for (int i = 0; i < f->end[k].out.n; i++) {
    int e = f->end[k].out.v[i], u = dep(f, e)->src, v = dep(f, e)->dst;
    if (group_of(f, v) != g) continue;
    tp_ask_dep(f->S, "how far '%s' runs behind '%s'", dep(f, e));
    tp_wt w = tp_distance(f->S, f->L->arcs.v[e].map, dim_in(f, u, g), dim_in(f, v, g), g->s);
    w = tp_wt_sub(
        f->S, tp_wt_add(f->S, tp_fusion_shift(f, v, g->s), w), tp_fusion_offset(f, u, g->s));
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

/* Is the component made again for its readers (opt/store/again.c)? Its operands are kept for it,
 * unless they are made again too. */
static bool is_anew(const fusion *f, int k) {
  bool anew = false;
  for (int i = 0; i < f->L->scc[k].n; i++) {
    const tp_stmt *s = f->S->p->stmts.v[f->L->scc[k].st[i]];
    for (int j = 0; j < s->nnode; j++) anew |= s->node[j]->attr.anew;
  }
  return anew;
}

/* Adds to the set what must go along with its first component: makers of its operands, unless these
 * are read in the other loop anyway, and readers of its results before that loop, maybe the loop's
 * first point by itself. False: one cannot. */
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

/* Takes no constant delay, which would only save a slot and cost guards. */
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

/* Shifts a component towards its consumers inside its loop, by a parametric amount only. */
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

void tp_fusion_move(fusion *f) {
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
