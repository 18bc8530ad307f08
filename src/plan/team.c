/* team: divides a plan's work between threads.
 *
 * A team is a run of neighbours of the plan (sequences taken apart) that all threads go through
 * together, each with loop variables of its own. A leaf is cut, and each thread runs it over its
 * share of one axis, from .. from + n, or it is left to the first thread. Threads meet before a
 * leaf that touches what another one has made in another share; bounds and places in memory decide
 * where (run/team.c).
 *
 * An axis may be cut if nothing is folded along it, its extent is one over bounds, each place of it
 * writes elements of its own, and the leaf reads of what it writes only these. Then the same
 * operators make the elements of the same numbers, so no bit depends on the number of threads. A
 * product is cut along a dim, or along its rows or columns, a convolution along a dim, or its
 * images. The first thread alone runs leaves that may fail (errors name the first point), are
 * checked, or fold everything.
 *
 * The plan itself stays as it is. Cut leaves stand in a copy of its tree, with two symbols for each
 * extent that is cut, whose values differ from thread to thread. */
#include "plan/priv.h"

typedef struct {
  const tp_plan *p;
  tp_ictx *ix;
  tp_arena *a;
  tp_teams *t; /* NULL: a single loop is cut, whether that pays or not */
  TP_VEC(tp_share) share;
  TP_VEC(tp_team) team;
  TP_VEC(tp_teamed) group;
} teamster;

/* ---- leaves that may be cut ---- */

/* Does the operator make each result of the same numbers in the same order, whichever other results
 * it makes? */
static bool op_takes_parts(const tp_region *r) {
  int64_t n;
  switch (tp_ops[r->op].cls) {
  case TP_CLS_CONV:
  case TP_CLS_MM:
  case TP_CLS_SCAN:
  case TP_CLS_SORT:
  case TP_CLS_FMT: return true;
  case TP_CLS_ARG: return tp_ix_is_const(r->in[0].shape[r->how.axis], &n) && n > 0;
  case TP_CLS_GATH: return r->op != TP_OP_MATMUL_AT;
  case TP_CLS_ENV: return tp_is_pure_env(r);
  default:
    return r->op == TP_OP_RAND &&
        (r->how.rand != TP_RAND_RANDINT || r->how.limits[0] < r->how.limits[1]);
  }
}

static bool takes_parts(const tp_plan *p, const tp_region *r) {
  if (r->check || r->first || r->nrows || !r->nout || r->out[0].buf < 0) return false;
  return r->kind == TP_RG_LOOP ? !tp_loop_fails(p, r) : r->kind == TP_RG_OP && op_takes_parts(r);
}

/* ---- axes that may be cut ---- */

static bool is_product(const tp_region *r) {
  return r->kind == TP_RG_OP && (r->op == TP_OP_MATMUL || r->op == TP_OP_MATMUL_BLOCKS);
}
static bool is_own(const tp_cut *c) { return c->lead < 0; }

/* The own axis of window w that moves with the cut: in a convolution that of images. */
static int own_axis(const tp_region *r, const tp_cut *c, int w) {
  const tp_nd *x = tp_window_at(r, w);
  if (!is_product(r)) return tp_conv_roles(r->op)[w] == TP_CW ? -1 : 0;
  bool moves = w == r->nin || w == (c->columns ? 1 : 0),
       row = r->op == TP_OP_MATMUL_BLOCKS && w == 1;
  return moves ? x->rank - (c->columns && !row ? 1 : 2) : -1;
}

tp_ix *tp_cut_extent(const tp_region *r, const tp_cut *c) {
  return is_own(c) ? r->out[0].shape[own_axis(r, c, r->nin)] : r->lead[c->lead];
}

tp_ix *tp_cut_stride(const tp_region *r, const tp_cut *c, int w) {
  const tp_nd *x = tp_window_at(r, w);
  if (!is_own(c)) return x->buf >= 0 ? x->lead[c->lead] : NULL;
  int k = own_axis(r, c, w);
  return k >= 0 ? x->stride[k] : NULL;
}

/* May an own axis be cut? Rows, columns and images must lie apart and, where they are cut, on no
 * ring; and the leaf must not read the buffer that it writes. */
static bool may_cut_own(const tp_region *r, const tp_cut *c) {
  bool ok = !tp_is_number(tp_cut_stride(r, c, r->nin), 0);
  for (int i = 0; i < r->nin && ok; i++) ok = r->in[i].buf != r->out[0].buf;
  for (int i = 0; i <= r->nin && ok; i++)
    ok = tp_window_at(r, i)->wrap < r->nlead ||
        tp_window_at(r, i)->wrap != r->nlead + own_axis(r, c, i);
  return ok;
}

static double extent_about(tp_ix *e) {
  int64_t n;
  return tp_ix_is_const(e, &n) ? (double)n : TP_TUNE_TEAM_LEAST;
}

/* May a cut pay? Known extents are too small if one thread is done before another is awake. */
static bool may_pay_leaf(const tp_region *r) {
  double all = r->nmicro + 1;
  for (int k = 0; k < r->nlead; k++) all *= extent_about(r->lead[k]);
  for (int k = 0; r->kind == TP_RG_OP && k < r->out[0].rank; k++)
    all *= extent_about(r->out[0].shape[k]);
  if (is_product(r))
    return all * extent_about(r->in[0].shape[r->in[0].rank - 1]) >= TP_TUNE_TEAM_LEAST;
  return all >= TP_TUNE_TEAM_LEAST || tp_setting("TEMPO_SHARE");
}

static bool may_cut(const teamster *t, const tp_region *r, const tp_cut *c) {
  int64_t n;
  tp_ix *e = tp_cut_extent(r, c);
  if (t->t && is_product(r) && !may_pay_leaf(r)) return false;
  if ((tp_ix_is_const(e, &n) && n < 2) || !tp_ix_of_bounds(e)) return false;
  if (is_own(c)) return may_cut_own(r, c);
  /* the first share that fails has the first point only along the outermost axis */
  if (r->kind == TP_RG_OP && tp_op_is(r->op, TP_FAILS) && c->lead) return false;
  TP_WINDOWS (x, r)
    if (x->wrap == c->lead) return false;
  return !(r->sums >> c->lead & 1) && tp_meet_along(t->p, r, c->lead, r, c->lead);
}

enum { MOST_WAYS = TP_MAXLEAD + 2 };
/* The ways to cut the leaf. Matrices and images that a dim lays side by side stay whole. */
static int ways_to_cut(const teamster *t, const tp_region *r, tp_cut *to) {
  int n = 0,
      own = r->kind != TP_RG_OP ? 0
      : is_product(r)           ? 2
                                : r->op == TP_OP_CONV || r->op == TP_OP_CONV_DATA;
  for (int k = 0; takes_parts(t->p, r) && k < r->nlead + own; k++) {
    tp_cut c = { .lead = k < r->nlead ? k : -1, .columns = k > r->nlead };
    if (!may_cut(t, r, &c)) continue;
    to[n++] = c;
    if (k < r->nlead) own = 0;
  }
  return n;
}

/* ---- which of the ways ---- */

/* How much the leaves of a team gain from a cut of this extent. If most of them have it, the
 * elements that they hand to each other stay in one share. */
typedef struct {
  tp_ix *extent;
  int64_t worth;
} candidate;
typedef struct {
  tp_arena *a;
  TP_VEC(candidate) v;
} ballot;

static int64_t worth_of(tp_ix *e) {
  int64_t n;
  return tp_ix_is_const(e, &n) ? TP_MIN(n, TP_TUNE_TEAM_GRAIN) : TP_TUNE_TEAM_GRAIN;
}

static candidate *candidate_of(const ballot *b, tp_ix *extent) {
  for (int i = 0; i < b->v.n; i++)
    if (b->v.v[i].extent == extent) return &b->v.v[i];
  return NULL;
}

static void vote_all(const teamster *t, const tp_pnode *x, ballot *b) {
  tp_cut way[MOST_WAYS];
  TP_EACH_NODE (k, x)
    for (int i = 0, n = k.x->rg ? ways_to_cut(t, k.x->rg, way) : 0; i < n; i++) {
      tp_ix *e = tp_cut_extent(k.x->rg, &way[i]);
      candidate *c = candidate_of(b, e);
      if (c) c->worth += worth_of(e);
      else TP_PUSH(b->a, &b->v, ((candidate){ e, worth_of(e) }));
    }
}

/* The way along the extent that is worth most. */
static bool choose_way(const teamster *t, const tp_region *r, const ballot *b, tp_cut *best) {
  tp_cut way[MOST_WAYS];
  int64_t worth = 0;
  for (int i = 0, n = ways_to_cut(t, r, way); i < n; i++) {
    const candidate *c = candidate_of(b, tp_cut_extent(r, &way[i]));
    if (c && c->worth > worth) worth = c->worth, *best = way[i];
  }
  return worth > 0;
}

const char *tp_why_alone(const tp_plan *p, const tp_region *r) {
  if (r->check) return "it is checked";
  if (r->kind == TP_RG_LOOP && tp_loop_fails(p, r)) return "it may fail";
  if (!takes_parts(p, r)) return "its operator is not cut";
  return r->kind == TP_RG_LOOP && r->sums ? "it folds what could be cut"
                                          : "no axis of it can be cut";
}

/* ---- the copy ---- */

static int share_of(teamster *t, tp_ix *whole) {
  for (int i = 0; i < t->share.n; i++)
    if (t->share.v[i].whole == whole) return i;
  struct tp_sym *from = tp_sym_var(t->ix, "from"), *n = tp_sym_var(t->ix, "share");
  from->whole = n->whole = whole;
  TP_PUSH(t->a, &t->share, ((tp_share){ whole, from, n }));
  return t->share.n - 1;
}

static void cut_own(tp_region *r, const tp_cut *c, tp_ix *from, tp_ix *n) {
  for (int i = 0; i <= r->nin; i++) {
    tp_nd *x = tp_window_at(r, i);
    int k = own_axis(r, c, i);
    if (k < 0) continue;
    x->shape[k] = n;
    x->off = tp_ix_add(x->off, tp_ix_mul(x->stride[k], from));
  }
}

static tp_region *cut_region(teamster *t, const tp_region *whole, const tp_cut *c) {
  tp_region *r = tp_region_copy(t->p, whole);
  tp_ix *from = tp_ix_sym(t->share.v[c->share].from), *n = tp_ix_sym(t->share.v[c->share].n);
  if (is_own(c)) cut_own(r, c, from, n);
  else tp_cut_axis(r, c->lead, from, n, NULL);
  return r;
}

static tp_pnode *copy_tree(teamster *t, const tp_pnode *x, tp_pnode *up) {
  tp_pnode *y = tp_dup(t->a, x, sizeof *y);
  y->up = up;
  y->kid = TP_NEWN(t->a, tp_pnode *, x->n + 1);
  for (int i = 0; i < x->n; i++) y->kid[i] = copy_tree(t, x->kid[i], y);
  return y;
}

/* ---- teams ---- */

static void cut_leaves(teamster *t, tp_pnode *x, const ballot *b) {
  TP_EACH_NODE (k, x) {
    if (k.x->kind != TP_P_REGION) continue;
    t->t->leaf[k.x->pos] = k.x;
    tp_cut way;
    if (!choose_way(t, k.x->rg, b, &way)) continue;
    way.share = share_of(t, tp_cut_extent(k.x->rg, &way));
    t->t->cut[k.x->pos] = way;
    k.x->rg = cut_region(t, k.x->rg, &way);
  }
}

static bool may_have_cut(const teamster *t, const tp_pnode *x) {
  tp_cut way[MOST_WAYS];
  TP_EACH_NODE (k, x)
    if (k.x->rg && ways_to_cut(t, k.x->rg, way)) return true;
  return false;
}

/* Ends the team. Nodes at its begin and end in which no leaf is cut stay outside. */
static void end_team(teamster *t) {
  int first = 0, last = t->group.n - 1;
  while (first <= last && !may_have_cut(t, t->group.v[first].as)) first++;
  while (last > first && !may_have_cut(t, t->group.v[last].as)) last--;
  bool pays = false;
  for (int i = first; i <= last; i++)
    TP_EACH_NODE (k, t->group.v[i].as) pays = pays || (k.x->rg && may_pay_leaf(k.x->rg));
  if (pays) {
    tp_team m = { .n = last - first + 1, .v = TP_DUPN(t->a, t->group.v + first, last - first + 1) };
    ballot b = { .a = t->a };
    for (int i = 0; i < m.n; i++) vote_all(t, m.v[i].as, &b);
    for (int i = 0; i < m.n; i++) cut_leaves(t, m.v[i].as, &b);
    TP_PUSH(t->a, &t->team, m);
  }
  t->group.n = 0;
}

/* May all threads go through it? A callback is the first one's, at its time. */
static bool is_for_all(const tp_pnode *x) {
  TP_EACH_NODE (k, x) {
    tp_pkind kind = k.x->kind;
    if (kind == TP_P_LOAD || kind == TP_P_BEHIND || kind == TP_P_WAIT ||
        (k.x->rg && (k.x->rg->kind == TP_RG_CALL || k.x->rg->first)))
      return false;
  }
  return true;
}

/* inside: is x in a loop of the same part? An outermost loop of a part is in no team, because a run
 * may go on in it. */
static void find_teams(teamster *t, const tp_pnode *x, tp_pnode *as, bool inside) {
  if (x->kind == TP_P_SEQ) {
    for (int i = 0; i < x->n; i++) find_teams(t, x->kid[i], as->kid[i], inside);
    return;
  }
  if (is_for_all(x) && (inside || !tp_has(x, TP_P_FOR))) {
    TP_PUSH(t->a, &t->group, ((tp_teamed){ x, as }));
    return;
  }
  end_team(t);
  if (x->kind == TP_P_FOR) inside = !tp_part_waits(t->p, x);
  for (int i = 0; i < x->n; i++) {
    find_teams(t, x->kid[i], as->kid[i], inside);
    end_team(t);
  }
}

void tp_plan_teams(tp_plan *p, const tp_planned *asked) {
  teamster t = { .p = p, .ix = p->ix, .a = p->a };
  if (asked->threads < 2) return;
  tp_teams *all = t.t = TP_NEW(p->a, tp_teams);
  all->plan = *p;
  all->cut = TP_NEWN(p->a, tp_cut, p->npos + 1);
  all->leaf = TP_NEWN(p->a, const tp_pnode *, p->npos + 1);
  for (int i = 0; i < p->npos; i++) all->cut[i].share = -1;
  all->plan.body = copy_tree(&t, p->body, NULL);
  find_teams(&t, p->body, all->plan.body, false);
  end_team(&t);
  all->nshare = t.share.n;
  all->share = t.share.v;
  all->nteam = t.team.n;
  all->plan.teams = all;
  all->team = t.team.v;
  p->teams = all;
}

/* ---- a loop ---- */

/* May shares of axis k each add up out[0] for themselves? */
static bool may_add(const teamster *t, const tp_region *r, int k) {
  const tp_nd *sum = &r->out[0];
  bool loop = r->kind == TP_RG_LOOP;
  if (t->p->reproducible || t->p->precise || !takes_parts(t->p, r) || !r->acc) return false;
  if (loop ? r->red != TP_RED_SUM || !(r->sums >> k & 1) : !is_product(r)) return false;
  tp_dtype d = t->p->bufs.v[sum->buf]->dtype;
  bool ok = d != TP_BOOL && !tp_half(d) && (!sum->lead || tp_is_number(sum->lead[k], 0));
  TP_WINDOWS (x, r) ok &= x->wrap != k && (x == sum || x->buf != sum->buf);
  tp_region rest = *r; /* without the sum */
  rest.out = TP_DUPN(t->a, r->out, r->nout);
  rest.out[0].buf = -1;
  rest.acc = false;
  return ok && tp_meet_along(t->p, &rest, k, &rest, k);
}

static bool way_along(const teamster *t, const tp_region *r, tp_ix *extent, tp_cut *to) {
  tp_cut way[MOST_WAYS];
  for (int i = 0, n = ways_to_cut(t, r, way); i < n; i++)
    if (tp_cut_extent(r, &way[i]) == extent) return *to = way[i], true;
  for (int k = 0; k < r->nlead; k++)
    if (r->lead[k] == extent && may_add(t, r, k))
      return *to = (tp_cut){ .lead = k, .adds = true }, true;
  return false;
}

/* Finds buffers that are added to. False: one of them is touched otherwise too. */
static bool find_added(const teamster *t, const tp_pnode *loop, tp_cut_loop *to) {
  bool *added = TP_NEWN(t->a, bool, t->p->bufs.n);
  TP_EACH_NODE (k, loop)
    if (k.x->rg && to->cut[k.x->pos - loop->pos].adds) added[k.x->rg->out[0].buf] = true;
  TP_EACH_NODE (k, loop) {
    if (!k.x->rg) continue;
    bool adds = to->cut[k.x->pos - loop->pos].adds;
    TP_WINDOWS (x, k.x->rg)
      if (x->buf >= 0 && added[x->buf] && !(adds && x == &k.x->rg->out[0])) return false;
  }
  to->added = TP_NEWN(t->a, int, t->p->bufs.n);
  for (int i = 0; i < t->p->bufs.n; i++)
    if (added[i]) to->added[to->nadded++] = i;
  return true;
}

static bool all_along(const teamster *t, const tp_pnode *loop, tp_ix *extent, tp_cut *to) {
  TP_EACH_NODE (k, loop)
    if (k.x->rg && !way_along(t, k.x->rg, extent, &to[k.x->pos - loop->pos])) return false;
  return true;
}

static void cut_along(teamster *t, tp_pnode *loop, const tp_cut *cut) {
  TP_EACH_NODE (k, loop)
    if (k.x->rg) k.x->rg = cut_region(t, k.x->rg, &cut[k.x->pos - loop->pos]);
}

const tp_cut_loop *tp_plan_cut_loop(const tp_plan *p, tp_arena *a, const tp_pnode *loop) {
  teamster t = { .p = p, .ix = p->ix, .a = a };
  tp_cut way[MOST_WAYS], *cut = TP_NEWN(a, tp_cut, loop->lastpos - loop->pos + 1);
  const tp_pnode *leaf = tp_first_leaf(loop);
  for (int i = 0, n = leaf ? ways_to_cut(&t, leaf->rg, way) : 0; i < n; i++) {
    tp_ix *extent = tp_cut_extent(leaf->rg, &way[i]);
    if (!all_along(&t, loop, extent, cut)) continue;
    tp_cut_loop *to = TP_NEW(a, tp_cut_loop);
    *to = (tp_cut_loop){ .cut = cut };
    if (!find_added(&t, loop, to)) continue;
    tp_pnode *as = copy_tree(&t, loop, loop->up);
    share_of(&t, extent);
    cut_along(&t, as, cut);
    to->share = t.share.v[0];
    to->as = as;
    return to;
  }
  return NULL;
}

/* The place at which the part of thread `who` of n begins. Parts follow each other, and the ends of
 * all are ends of the whole. */
int64_t tp_share_from(int64_t whole, int who, int n) {
  int64_t each = whole / n,
          grain = each >= TP_TUNE_TEAM_GRAIN ? TP_TUNE_TEAM_GRAIN
      : each >= 4                            ? 4
                                             : 1;
  int64_t grains = (whole + grain - 1) / grain;
  return TP_MIN(whole, grains * who / n * grain);
}
