/* boxes: cuts statements in two places, so that calls can run over dims that have a loop else.
 *
 * Points that are no box (the last position of the last layer is all that is needed of it):
 *
 *   y at { l < L - 1 } and { t = T - 1, l = L - 1 }   =>   y at { l < L - 1 }; y at one point
 *
 * A call over t wants a range of t that is the same for all l of its statement.
 *
 * Rows before a recurrence begins (a prompt, before what is generated from it):
 *
 *   s = x if t < p, f(y[t - 1]);  y = g(s)   =>   s, y at t < p;  a loop over t >= p: s, y
 *
 * The cycle of s and y goes through a member that begins at p. Work of the others before p does not
 * wait for anything behind p, so nothing recurs there, and g is called once for all of it.
 *
 * Both are right because a statement's points may be shared out among statements as one likes: each
 * has the dependences of its points, and the order found is proved like any other. */
#include "poly/sched.h"

/* ---- ranges of a dim ---- */

/* Is dom = (dom without dim d) x an interval over bounds? One conjunction shows it; for several isl
 * is asked. */
static bool is_box(tp_sched *S, const tp_stmt *s, TP_KEEP isl_set *dom, int d) {
  bool fixed;
  if (isl_set_n_basic_set(dom) == 1) return tp_stands_alone(dom, d, &fixed);
  tp_ask(S, "whether '%s' runs over a dim in one call", s->name, NULL);
  tp_query(S);
  isl_set *rest = isl_set_eliminate(isl_set_copy(dom), isl_dim_set, d, 1);
  isl_set *own = isl_set_eliminate(
      isl_set_eliminate(isl_set_copy(dom), isl_dim_set, 0, d), isl_dim_set, d + 1, s->ndim - d - 1);
  own = tp_isl_coalesce(own);
  bool ok = isl_set_n_basic_set(own) == 1 && tp_stands_alone(own, d, &fixed);
  isl_set *both = isl_set_intersect(rest, own);
  ok = ok && isl_set_is_equal(both, dom) == isl_bool_true;
  isl_set_free(both);
  return tp_query_end(S) && ok;
}

/* The least or greatest value of dim d, exactly (a weight may only bound it). NULL: no single
 * expression. */
static tp_ix *end_of(tp_sched *S, const tp_stmt *s, int d, bool last) {
  tp_ask(S, "over which range of a dim '%s' runs", s->name, NULL);
  tp_query(S);
  isl_pw_aff *p =
      last ? isl_set_dim_max(isl_set_copy(s->dom), d) : isl_set_dim_min(isl_set_copy(s->dom), d);
  p = isl_pw_aff_coalesce(isl_pw_aff_gist_params(p, isl_pw_aff_domain(isl_pw_aff_copy(p))));
  p = isl_pw_aff_insert_domain(p, tp_isl_space(S->ix, 0));
  tp_ix *e = p ? tp_ix_of_pw_aff(S->ix, 0, NULL, p) : NULL;
  isl_pw_aff_free(p);
  return tp_query_end(S) ? e : NULL;
}

bool tp_vector_range(tp_sched *S, const tp_stmt *s, int d, tp_ix **lo, tp_ix **hi) {
  bool fresh;
  tp_question q = { .what = OF_RANGE, .of = s->dom, .a = d };
  tp_ix **e = tp_recall(S, &q, 2 * sizeof *e, &fresh);
  if (fresh && is_box(S, s, s->dom, d) && (e[0] = end_of(S, s, d, false)) &&
      (e[1] = end_of(S, s, d, true)))
    e[1] = tp_ix_addc(e[1], 1);
  if (e[0]) *lo = e[0];
  if (e[1]) *hi = e[1];
  return e[0] && e[1];
}

/* ---- cutting in boxes ---- */

typedef struct {
  int n;
  isl_set *v[TP_TUNE_BOXES];
} boxes;

/* The same points, as one piece if they are one. */
static isl_set *one_piece(TP_TAKE isl_set *a) {
  a = tp_isl_coalesce(a);
  if (!a || isl_set_n_basic_set(a) == 1) return a;
  isl_set *hull = isl_set_from_basic_set(isl_set_simple_hull(isl_set_copy(a)));
  if (isl_set_is_subset(hull, a) != isl_bool_true) return isl_set_free(hull), a;
  isl_set_free(a);
  return hull;
}

/* Cuts each part in what lies over `shadow` and what does not. False: too many parts. */
static bool cut_by(const tp_sched *S, boxes *b, TP_TAKE isl_set *shadow) {
  bool ok = true;
  for (int i = b->n - 1; i >= 0 && ok; i--) {
    isl_set *in = isl_set_intersect(isl_set_copy(b->v[i]), isl_set_copy(shadow));
    isl_set *out = isl_set_subtract(isl_set_copy(b->v[i]), isl_set_copy(shadow));
    bool two = tp_has_points(S, in) && tp_has_points(S, out);
    ok = !two || b->n < TP_TUNE_BOXES;
    if (two && ok) {
      isl_set_free(b->v[i]);
      b->v[i] = in, in = NULL;
      b->v[b->n++] = out, out = NULL;
    }
    isl_set_free(in);
    isl_set_free(out);
  }
  isl_set_free(shadow);
  return ok;
}

/* Cuts the points of s where the range of one of these dims changes: at the borders of its pieces
 * along the other dims. False: the parts are no boxes. */
static bool find_boxes(tp_sched *S, const tp_stmt *s, uint32_t dims, boxes *b) {
  isl_basic_set_list *all = isl_set_get_basic_set_list(s->dom);
  bool ok = true;
  b->n = 1;
  b->v[0] = isl_set_copy(s->dom);
  for (int i = 0; ok && i < (int)isl_basic_set_list_size(all); i++) {
    isl_set *shadow = isl_set_from_basic_set(isl_basic_set_list_get_at(all, i));
    for (int d = 0; d < s->ndim; d++)
      if (dims >> d & 1) shadow = isl_set_eliminate(shadow, isl_dim_set, d, 1);
    ok = cut_by(S, b, shadow);
  }
  isl_basic_set_list_free(all);
  for (int i = 0; i < b->n; i++) {
    b->v[i] = one_piece(b->v[i]);
    for (int d = 0; ok && d < s->ndim; d++) ok = !(dims >> d & 1) || is_box(S, s, b->v[i], d);
  }
  return ok && b->n > 1;
}

/* The points that some statements have, and what they are cut in along a dim, -1: along several. */
typedef struct {
  isl_set *points;
  int dim;
  boxes b;
} box_cut;
typedef struct {
  int n;
  box_cut *v;
} box_cuts;

static const box_cut *find_cut(const box_cuts *c, const tp_stmt *s, int dim) {
  for (int k = 0; k < c->n; k++)
    if (c->v[k].dim == dim && isl_set_plain_is_equal(c->v[k].points, s->dom) == isl_bool_true)
      return &c->v[k];
  return NULL;
}

static box_cut *new_cut(tp_sched *S, box_cuts *c, const tp_stmt *s, int dim) {
  box_cut *x = &c->v[c->n++];
  *x = (box_cut){ tp_keep_set(S, isl_set_copy(s->dom)), dim, { 0 } };
  return x;
}

static void cut_in(tp_sched *S, int st, const boxes *b) {
  for (int i = 0; i + 1 < b->n; i++) {
    isl_set *rest = isl_set_copy(b->v[i + 1]);
    for (int k = i + 2; k < b->n; k++) rest = isl_set_union(rest, isl_set_copy(b->v[k]));
    tp_split_in_two(S, st + i, isl_set_copy(b->v[i]), rest);
  }
}

/* Finds boxes for a statement with dims that want them. */
static bool wants_boxes(tp_sched *S, const tp_stmt *s, uint32_t dims, boxes *b) {
  uint32_t broken = 0;
  if (isl_set_n_basic_set(s->dom) == 1) return false;
  for (int d = 0; d < s->ndim; d++)
    if ((dims >> d & 1) && !is_box(S, s, s->dom, d)) broken |= 1u << d;
  if (!broken) return false;
  tp_ask(S, "which boxes the points of '%s' are", s->name, NULL);
  tp_query(S);
  bool ok = find_boxes(S, s, broken, b);
  ok = tp_query_end(S) && ok;
  for (int i = 0; i < b->n; i++) tp_keep_set(S, b->v[i]);
  return ok;
}

/* Statements with the same points are cut alike, so that what one box of a statement needs is one
 * box of another. */
bool tp_cut_in_boxes(tp_sched *S, const uint32_t *dims) {
  box_cuts c = { 0, TP_NEWN(S->a, box_cut, S->p->stmts.n) };
  boxes b;
  for (int i = 0; i < S->p->stmts.n; i++)
    if (!find_cut(&c, S->p->stmts.v[i], -1) && wants_boxes(S, S->p->stmts.v[i], dims[i], &b))
      new_cut(S, &c, S->p->stmts.v[i], -1)->b = b;
  for (int i = S->p->stmts.n - 1; i >= 0 && c.n; i--) {
    const box_cut *x = find_cut(&c, S->p->stmts.v[i], -1);
    if (x && !S->p->stmts.v[i]->effect) cut_in(S, i, &x->b);
  }
  S->boxes |= c.n;
  return c.n;
}

/* ---- what lies before a recurrence ---- */

typedef struct {
  tp_sched *S;
  const tp_scc *c;
  tp_arcs in;
  tp_sym *label;
  int s;
  tp_wt at; /* the row of the cut */
} ahead_cut;

static int dim_at(const ahead_cut *c, int st) { return tp_dim_of(c->S, st, c->label); }

/* Does it run at no row before the cut? */
static bool is_late(const ahead_cut *c, int st) {
  return tp_wt_le(c->S, c->at, tp_first_row(c->S, st, dim_at(c, st), c->s));
}

/* Does something among these statements recur along the label? */
static bool recurs(tp_sched *S, tp_sym *label, int nst, const int *st, const tp_arcs *arcs) {
  tp_level *L = tp_level_make(S, nst, st, arcs);
  tp_choose_recurrences(S, L);
  for (int k = 0; k < L->nscc; k++) {
    const tp_scc *c = &L->scc[k];
    tp_mem *mem;
    if (!c->rec) continue;
    if (c->pick < 0 || c->cand[c->pick].label == label) return true;
    tp_arcs rest = tp_arcs_inside(S, L, k, c->pick, &mem);
    for (int i = 0; i < c->n; i++) S->st[c->st[i]].used |= 1u << mem[i].dim;
    bool inside = rest.n && recurs(S, label, c->n, c->st, &rest);
    for (int i = 0; i < c->n; i++) S->st[c->st[i]].used &= ~(1u << mem[i].dim);
    if (inside) return true;
  }
  return false;
}

/* Without the members that begin at the cut, nothing recurs along the label, and calls can run over
 * it. */
static bool pays(const ahead_cut *c) {
  tp_sched *S = c->S;
  int n = 0, *st = TP_NEWN(S->a, int, c->c->n);
  bool calls = false, *in = TP_NEWN(S->a, bool, S->p->stmts.n);
  tp_arcs arcs = { 0 };
  for (int i = 0; i < c->c->n; i++) {
    const tp_stmt *s = S->p->stmts.v[c->c->st[i]];
    if (is_late(c, s->id)) continue;
    if (s->effect) return false;
    in[st[n++] = s->id] = true;
    calls |= s->mayvec >> dim_at(c, s->id) & 1;
  }
  for (int e = 0; e < c->in.n; e++) {
    const tp_dep *d = tp_dep_of(S, &c->in.v[e]);
    if (in[d->src] && in[d->dst]) TP_PUSH(S->a, &arcs, c->in.v[e]);
  }
  return calls && !recurs(S, c->label, n, st, &arcs);
}

/* The points of a statement before the cut, or others. */
static isl_set *side_of(const ahead_cut *c, int st, bool before) {
  tp_sched *S = c->S;
  tp_mem m = tp_mem_make(S, st, dim_at(c, st), c->s, tp_wt_c(0));
  isl_pw_aff *row = isl_pw_aff_copy(m.row),
             *at = isl_pw_aff_insert_domain(tp_wt_pw(S, c->at), tp_stmt_space(S, st));
  return before ? isl_pw_aff_lt_set(row, at) : isl_pw_aff_ge_set(row, at);
}

/* Does nothing before the cut wait for what is behind it? */
static bool is_clean(const ahead_cut *c) {
  int64_t lo, hi;
  for (int e = 0; e < c->in.n; e++) {
    const tp_dep *d = tp_dep_of(c->S, &c->in.v[e]);
    isl_map *m = c->in.v[e].map;
    if (tp_const_distance(c->S, m, dim_at(c, d->src), dim_at(c, d->dst), &lo, &hi) &&
        (c->s > 0 ? lo : -hi) >= 0)
      continue;
    m = isl_map_intersect_domain(isl_map_copy(m), side_of(c, d->src, false));
    m = isl_map_intersect_range(m, side_of(c, d->dst, true));
    bool none = tp_map_empty(c->S, m);
    isl_map_free(m);
    if (!none) return false;
  }
  return true;
}

/* The points of s before the cut, and the others; one piece: there are not both. */
static void sides(const ahead_cut *c, const tp_stmt *s, boxes *b) {
  tp_query(c->S);
  for (int k = 0; k < 2; k++)
    b->v[k] = tp_keep_set(
        c->S, one_piece(isl_set_intersect(isl_set_copy(s->dom), side_of(c, s->id, k == 0))));
  b->n = 1 + (tp_has_points(c->S, b->v[0]) && tp_has_points(c->S, b->v[1]));
  if (!tp_query_end(c->S)) b->n = 1;
}

static bool cut_members(const ahead_cut *c) {
  tp_sched *S = c->S;
  box_cuts cuts = { 0, TP_NEWN(S->a, box_cut, c->c->n) };
  bool any = false;
  for (int i = c->c->n - 1; i >= 0; i--) {
    int st = c->c->st[i], d = dim_at(c, st);
    const tp_stmt *s = S->p->stmts.v[st];
    const box_cut *x = find_cut(&cuts, s, d);
    if (!x) sides(c, s, &new_cut(S, &cuts, s, d)->b), x = &cuts.v[cuts.n - 1];
    if (x->b.n == 1) continue;
    cut_in(S, st, &x->b);
    S->p->stmts.v[st]->ahead |= 1u << d;
    any = true;
  }
  return any;
}

/* Is there a member that begins earlier, and none before st that begins where st does? */
static bool begins_late(const ahead_cut *c, int st) {
  bool later = false;
  for (int i = 0; i < c->c->n; i++) {
    int other = c->c->st[i];
    tp_wt w = tp_first_row(c->S, other, dim_at(c, other), c->s);
    if (other < st && w.p == c->at.p && w.c == c->at.c) return false;
    later |= !w.bad && w.p != c->at.p && tp_wt_le(c->S, w, c->at);
  }
  return later;
}

/* Does a member read a window? With ends by data arrays that calls run over are dense, so its ring
 * would be lost. */
static bool loses_rings(const ahead_cut *c) {
  for (int i = 0; i < c->c->n && c->S->p->g->stops.n; i++) {
    const tp_stmt *s = c->S->p->stmts.v[c->c->st[i]];
    for (int a = 0; a < s->nacc; a++)
      for (int k = 0; s->acc[a].at && k < c->S->p->arrs.v[s->acc[a].arr]->ndim; k++) {
        const tp_at *at = &s->acc[a].at[k];
        tp_ix *far = c->s > 0 ? at->lo : at->hi;
        for (int d = 0; at->range && d < s->ndim; d++)
          if (tp_ix_mentions(far, s->dim[d])) return true;
      }
  }
  return false;
}

bool tp_cut_ahead(tp_sched *S, const tp_level *L, int k) {
  enum { AHEAD_TRIED = 4 };
  const tp_scc *x = &L->scc[k];
  const tp_cand *cand = &x->cand[x->pick];
  ahead_cut c = { S, x, L->inner[k], cand->label, cand->ok[0] ? 1 : -1, { 0 } };
  if (S->p->ticks || x->n < 2 || S->nsplit >= TP_TUNE_SPLITS) return false;
  for (int i = 0; i < x->n; i++)
    if (S->p->stmts.v[x->st[i]]->ahead >> dim_at(&c, x->st[i]) & 1) return false;
  if (loses_rings(&c)) return false;
  for (int i = 0, tried = 0; i < x->n && tried < AHEAD_TRIED; i++) {
    c.at = tp_first_row(S, x->st[i], dim_at(&c, x->st[i]), c.s);
    if (c.at.bad || !c.at.p || !begins_late(&c, x->st[i])) continue;
    tried++;
    if (!pays(&c) || !is_clean(&c) || !cut_members(&c)) continue;
    S->nsplit++;
    return S->boxes = true;
  }
  return false;
}
