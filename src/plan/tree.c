/* tree: walks over the nodes of a plan, and functions that make nodes. */
#include "plan/tree.h"

bool tp_tour_next(tp_tour *t) {
  while (t->n) {
    tp_pnode *x = t->at[t->n - 1].x;
    int *next = &t->at[t->n - 1].next;
    if (*next < 0 && ++*next == 0 && !t->kids_first) return t->x = x, true;
    if (*next < x->n && !TP_NEVER(t->n == TP_DEEP)) {
      t->at[t->n].next = -1;
      t->at[t->n++].x = x->kid[(*next)++];
      continue;
    }
    t->n--;
    if (t->kids_first) return t->x = x, true;
  }
  return false;
}

bool tp_tour_window(tp_tour *t) {
  do {
    while (!t->x || t->window == tp_node_windows(t->x))
      if (t->window = 0, !tp_tour_next(t)) return false;
    t->nd = tp_node_window(t->x, t->window++);
  } while (t->nd->buf < 0);
  return true;
}

void tp_tour_skip(tp_tour *t) { t->at[t->n - 1].next = t->x->n; }

bool tp_has(const tp_pnode *x, tp_pkind kind) {
  TP_EACH_NODE (k, x)
    if (k.x->kind == kind) return true;
  return false;
}

int tp_plan_leaves(const tp_pnode *x) {
  int n = 0;
  TP_EACH_NODE (k, x) n += k.x->kind == TP_P_REGION;
  return n;
}

static bool ix_mentions(tp_ix *e, tp_sym *s) { return e && tp_ix_mentions(e, s); }

bool tp_plan_by_data(const tp_plan *p, const tp_pnode *x) {
  if (!p->ends.n) return false;
  TP_EACH_NODE (k, p->body) {
    tp_sym *s = k.x->var;
    if (k.x->kind == TP_P_LOAD &&
        (ix_mentions(x->lo, s) || ix_mentions(x->hi, s) || ix_mentions(x->cond, s)))
      return true;
  }
  return false;
}

static bool any_mentions(int n, tp_ixs e, tp_sym *s) {
  bool any = false;
  for (int i = 0; i < n && !any; i++) any = ix_mentions(e[i], s);
  return any;
}

static bool window_mentions(const tp_nd *w, int nlead, tp_sym *s) {
  bool any = ix_mentions(w->off, s) || any_mentions(w->rank, w->shape, s) ||
      any_mentions(w->rank, w->stride, s) || ix_mentions(w->wlo, s) || ix_mentions(w->wmod, s) ||
      (w->lead && any_mentions(nlead, w->lead, s));
  for (int i = 0; i < w->nring && !any; i++) any = ix_mentions(w->ring[i].idx, s);
  return any;
}

bool tp_node_mentions_sym(const tp_pnode *x, tp_sym *s) {
  const tp_region *r = x->rg;
  const tp_rows *rows = r ? r->rows : x->rows;
  bool any = ix_mentions(x->lo, s) || ix_mentions(x->hi, s) || ix_mentions(x->cond, s) ||
      ix_mentions(x->given, s);
  for (int i = 0; i < tp_node_windows(x) && !any; i++)
    any = window_mentions(tp_node_window(x, i), r ? r->nlead : 0, s);
  for (int i = 0; i < (r ? r->nrows : x->nrows) && !any; i++) any = ix_mentions(rows[i].at, s);
  if (!r || any) return any;
  for (int i = 0; i < r->nmicro && !any; i++) any = ix_mentions(r->micro[i].ix, s);
  return any || any_mentions(r->nlead, r->lead, s) || any_mentions(r->nlead, r->leadlo, s) ||
      any_mentions(r->nix, r->ix, s) || any_mentions(r->ncoord, r->coord, s);
}

int tp_node_windows(const tp_pnode *x) {
  const tp_region *r = x->rg;
  return r ? r->nin + r->nout + r->nrows : x->kind == TP_P_LOAD ? 1 + x->nrows : 0;
}

tp_nd *tp_node_window(const tp_pnode *x, int i) {
  const tp_region *r = x->rg;
  int own = r ? r->nin + r->nout : 1;
  if (i < own) return r ? tp_window_at(r, i) : (tp_nd *)&x->nd;
  return &(r ? r->rows : x->rows)[i - own].nd;
}

int *tp_plan_uses(const tp_plan *p) {
  int *uses = TP_NEWN(p->a, int, p->bufs.n);
  TP_EACH_WINDOW (k, p->body) uses[k.nd->buf]++;
  for (int i = 0; i < p->bufs.n; i++) uses[i] += p->bufs.v[i]->holds >= 0;
  return uses;
}

const tp_pnode *tp_first_leaf(const tp_pnode *x) {
  TP_EACH_NODE (k, x)
    if (k.x->rg) return k.x;
  return NULL;
}

tp_region *tp_only_leaf(const tp_pnode *x) {
  while (x->kind == TP_P_SEQ && x->n == 1) x = x->kid[0];
  return x->kind == TP_P_REGION ? x->rg : NULL;
}

bool tp_is_behind(const tp_pnode *x) {
  while (x && x->kind != TP_P_BEHIND) x = x->up;
  return x != NULL;
}

bool tp_is_wall(const tp_pnode *x) {
  return x->kind != TP_P_REGION || x->rg->kind == TP_RG_CALL || x->rg->kind == TP_RG_PINIT;
}

static void number(tp_plan *p, tp_pnode *x, tp_pnode *up) {
  x->up = up;
  x->pos = p->npos;
  if (x->kind == TP_P_REGION || x->kind == TP_P_LOAD) p->npos++;
  for (int i = 0; i < x->n; i++) number(p, x->kid[i], x);
  x->lastpos = p->npos - 1;
}

void tp_plan_number(tp_plan *p) {
  p->npos = 0;
  p->nsym = tp_nsym(p->ix);
  number(p, p->body, NULL);
}

/* ---- new nodes ---- */

void tp_put_row(tp_arena *a, tp_pnodes *to, tp_pnode *x) {
  for (int i = 0; i < x->n && x->kind == TP_P_SEQ; i++) tp_put_row(a, to, x->kid[i]);
  if (x->kind != TP_P_SEQ) TP_PUSH(a, to, x);
}

static tp_pnode *node(tp_arena *a, tp_pnode x) { return tp_dup(a, &x, sizeof x); }

tp_pnode *tp_plan_seq(tp_arena *a, int n, tp_pnode *const *v) {
  if (n == 1) return v[0];
  return node(a, (tp_pnode){ .kind = TP_P_SEQ, .n = n, .kid = TP_DUPN(a, v, n) });
}

tp_pnode *tp_plan_leaf(tp_arena *a, tp_region *r) {
  return node(a, (tp_pnode){ .kind = TP_P_REGION, .rg = r });
}

void tp_become(tp_pnode *x, const tp_pnode *y) {
  tp_pnode *up = x->up;
  *x = *y;
  x->up = up;
}

tp_tile tp_tile_of(tp_plan *p, const char *name, tp_ix *all, int64_t b) {
  tp_tile t = { .var = tp_sym_var(p->ix, name), .all = all, .n = tp_ix_const(p->ix, b), .b = b };
  int64_t known;
  t.first = tp_ix_mulc(tp_ix_sym(t.var), b);
  if (!tp_ix_is_const(all, &known) || known % b) t.n = tp_ix_min(t.n, tp_ix_sub(all, t.first));
  return t;
}

tp_pnode *tp_loop_over_tiles(tp_plan *p, const tp_tile *t, int n, tp_pnode **v) {
  tp_pnode *body = tp_plan_seq(p->a, n, v);
  return node(p->a,
      (tp_pnode){ .kind = TP_P_FOR,
          .n = 1,
          .kid = TP_DUPN(p->a, &body, 1),
          .var = t->var,
          .lo = tp_ix_const(p->ix, 0),
          .hi = tp_ix_fdiv(tp_ix_addc(t->all, t->b - 1), t->b),
          .step = 1 });
}
