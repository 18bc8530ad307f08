/* ends: a dim's end by data becomes data, so that all stages below see it as values.
 *
 *   stop t done        =>   end = accum(min) of where(done, t + 1, a number beyond any) gathered
 * over 0 .. given
 *   T >= e             =>   value(e - 1) < (end, read once done is known for t < e - 1)
 *   t == T - 1         =>   value(t + 1) == (end, read once done is known for t < t + 1)
 *
 * From here on a dim goes to the bound that the call gives, and `end` stands for min(end, given).
 * An end that is read early is not less than the final one, and whether t lies before it is settled
 * once done is known for all points before t. So a condition on an end becomes a bool that waits
 * for no more than it asks, and whatever has such a condition becomes a value:
 *
 *   contributions      where(condition, x, what adds nothing)    (ends_sums.c)
 *   branches           where(condition, first, second), over the points that several may take;
 *                      points of one branch keep it    (ends_points.c)
 *   x[T - 1]           the greatest of x where t is the last: one point is kept, not all; other
 *                      points: index_select of the whole dim    (ends_points.c)
 *
 * Such masks discard values computed beyond an end. Only extents still mention the end (a hidden
 * bound: tp_stop.sym), as a range over 0 .. T that nothing reduces: they wait for all of done. Runs
 * on the compiled path only. */
#include "opt/ends/ends.h"

/* ---- operators that can fail ---- */

/* The condition on ends under which a point of n is needed, among the points that some end needs;
 * TRUE: all are. */
static tp_ix *needed_where(ends *l, const tp_node *n) {
  tp_ix *alive = tp_ends_alive(l, over_of(n)), *cond = NULL;
  tp_set *own = tp_ends_need(l, n),
         *known = tp_set_and(tp_ends_project(l, tp_set_copy(own)),
             tp_set_cond(l->ix, n->ndom, n->dom, tp_ends_within(l, own))),
         *there = tp_set_and(tp_set_copy(known), tp_set_cond(l->ix, n->ndom, n->dom, alive));
  if (own && tp_set_subset(l->ix, known, own)) cond = tp_ix_bool(l->ix, true);
  else if (own && !(there && tp_set_subset(l->ix, there, own)))
    cond = tp_set_told(l->ix, n->ndom, n->dom, own, tp_set_copy(known));
  tp_set_free(own);
  tp_set_free(known);
  tp_set_free(there);
  return cond ? cond : alive;
}

/* The dims on which the ends of n's dims depend and which n lacks. */
static int lacked(ends *l, const tp_node *n, tp_dims *dims) {
  const tp_node about = tp_ends_about(l, tp_ends_alive(l, over_of(n)));
  tp_sym **left = TP_NEWN(&l->g->arena, tp_sym *, about.ndom + 1);
  int m = 0;
  for (int d = 0; d < about.ndom; d++)
    if (!tp_has_dim(n, about.dom[d])) left[m++] = about.dom[d];
  *dims = left;
  return m;
}

/* Does n run at each point at which some row goes on? */
static bool runs_in_all(const ends *l, const tp_node *n) {
  return tp_ends_feeds(l, n) || n->op == TP_OP_CALL || tp_is_output(l->g, n);
}

/* *rows gets the points of dims that n lacks at which nodes that have these dims read it, through
 * others that lack them too. False: it may be read anywhere. */
static bool rows_that_read(ends *l, const tp_node *n, int m, tp_dims dims, tp_set **rows) {
  bool *lacks = TP_NEWN(&l->g->arena, bool, l->n), *met = TP_NEWN(&l->g->arena, bool, l->n);
  lacks[n->id] = true;
  if (runs_in_all(l, n)) return false;
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < l->n; i++) {
      const tp_node *by = l->g->nodes.v[i];
      int has = 0;
      bool reads = false;
      for (int k = 0; k < by->nin; k++) reads |= lacks[tp_in(by, k)->id];
      if (met[i] || !reads) continue;
      met[i] = more = true;
      for (int d = 0; d < m; d++) has += tp_has_dim(by, dims[d]);
      lacks[i] |= !has;
      if (has ? has < m : runs_in_all(l, by)) return false;
      if (!has) continue;
      tp_rel *row = tp_rel_at(l->ix, by->ndom, by->dom, m, dims, tp_at_own(l->g, m, dims));
      *rows = tp_set_or(*rows, tp_set_apply(tp_ends_project(l, tp_ends_need(l, by)), row));
    }
  }
  return true;
}

/* A condition on the dims that n lacks; NULL: none. Asked of the graph before it is lowered. */
static tp_ix *rows_read(ends *l, const tp_node *n) {
  tp_dims dims;
  int m = tp_may_fail(n) ? lacked(l, n, &dims) : 0;
  if (!m) return NULL;
  tp_set *rows = tp_set_empty(l->ix, m, dims);
  if (rows_that_read(l, n, m, dims, &rows))
    return tp_ends_told(l, (over){ m, dims }, rows, tp_set_box(l->ix, m, dims));
  tp_set_free(rows);
  return NULL;
}

static tp_val in_some_row(ends *l, const tp_node *n, tp_ix *cond, tp_ix *rows) {
  tp_sym *const *dims, *const *wide;
  int m = lacked(l, n, &dims), w = tp_dom_union(l->g, n->ndom, n->dom, m, dims, &wide);
  cond = tp_ix_and(cond, tp_ix_and(rows, tp_ends_alive(l, (over){ m, dims })));
  tp_val x = mk_select(l->mk, tp_ends_cond(l, cond, (over){ w, wide }), mk_num(l->mk, 1, TP_I64),
      mk_num(l->mk, 0, TP_I64));
  return mk_bin(l->mk, TP_OP_GT, tp_ends_reduced(l, TP_RED_MAX, x, n->ndom, n->dom),
      mk_num(l->mk, 0, TP_I64));
}

/* An operator that can fail on its second operand gets a safe value where the operator is not
 * needed. A node that some done is made of keeps its operand at all points before the end, as it
 * would be known too late that only other points need it. */
static bool guard(ends *l, tp_node *n) {
  if (!tp_may_fail(n)) return true;
  tp_val x = n->in[1].src;
  double safe = n->op == TP_OP_MOD || n->op == TP_OP_FLOORDIV;
  if (x.node->op == TP_OP_FILL || x.node->op == TP_OP_CONST) return true;
  tp_ix *cond = needed_where(l, n), *rows = n->id < l->n ? l->rows[n->id] : NULL;
  if (tp_ix_kind(cond) == TP_IX_TRUE) return true;
  if (tp_ends_feeds(l, n)) cond = tp_ends_alive(l, over_of(n));
  l->g->pos = n->pos;
  tp_val c = rows ? in_some_row(l, n, cond, rows) : tp_ends_cond(l, cond, over_of(n));
  tp_val y = mk_select(l->mk, c, x, mk_num(l->mk, safe, tp_dtypeof(x)));
  if (y.node) n->in[1].src = y;
  return y.node;
}

/* ---- names ---- */

typedef struct {
  tp_ictx *ix;
  int n;
  tp_sym **from;
  tp_ix **to;
} renaming;

static tp_ix *renamed(void *r, tp_ix *e) {
  return tp_ix_subst(e, ((renaming *)r)->n, ((renaming *)r)->from, ((renaming *)r)->to);
}

/* T => a hidden bound, which is the end; the hidden bound of what the call gives => T. */
static void rename_ends(ends *l) {
  int m = l->g->stops.n;
  renaming r = { l->ix, 2 * m, TP_NEWN(&l->g->arena, tp_sym *, 2 * m),
    TP_NEWN(&l->g->arena, tp_ix *, 2 * m) };
  for (int i = 0; i < m; i++) {
    tp_stop *s = &l->g->stops.v[i];
    const char *name = tp_printf(&l->g->arena, "%s_reached", s->dim->bound->name);
    tp_sym *now = tp_sym_hidden_bound(l->ix, name);
    r.from[i] = s->sym;
    r.to[i] = tp_ix_sym(now);
    r.from[m + i] = s->given;
    r.to[m + i] = tp_ix_sym(s->sym);
    for (int k = 0; k < l->n; k++)
      if (tp_set_mentions(l->need->set[k], s->given))
        l->need->set[k] = tp_set_some(l->ix, l->need->set[k], s->given,
            tp_ix_cmp(TP_GE, tp_ix_sym(s->given), tp_ix_const(l->ix, 0)));
    s->given = s->sym;
    s->sym = now;
    struct tp_sym *less = tp_sym_hidden_dim(l->ix, s->dim->bound->name);
    less->bound = (struct tp_sym *)s->given;
    s->less = less;
  }
  TP_NODES (n, l->g->nodes) tp_node_map(&l->g->arena, n, renamed, &r);
}

/* ---- the whole ---- */

static bool lower_value(ends *l, tp_node *n) {
  if (!tp_mentions_end(l->g, n->attr.ix[0])) return true;
  tp_ix *e = n->attr.ix[0];
  l->g->pos = n->pos;
  tp_val v = tp_ix_is_cond(e) ? tp_ends_cond(l, e, over_of(n)) : tp_ends_value(l, e, over_of(n));
  v = tp_ends_same_dom(l, v, over_of(n));
  if (v.node) tp_replace(l->g, tp_v(n), v);
  return v.node;
}

static bool lower_node(ends *l, tp_node *n) {
  switch (n->op) {
  case TP_OP_VALUE: return lower_value(l, n);
  case TP_OP_READ: return tp_ends_point(l, n);
  case TP_OP_MERGE: return tp_ends_branches(l, n);
  case TP_OP_ACCUM: return tp_ends_sum(l, n);
  default: return guard(l, n);
  }
}

static bool lower(ends *l, bool apart) {
  for (int i = 0; i < l->g->stops.n; i++)
    tp_reach(&l->g->arena, l->g->stops.v[i].done.node, l->feeds);
  rename_ends(l);
  for (int i = 0; i < l->n; i++) l->rows[i] = rows_read(l, l->g->nodes.v[i]);
  for (int i = 0; i < l->g->stops.n; i++)
    if (!tp_ends_make(l, i)) return false;
  for (int i = 0; i < l->n && apart; i++)
    if (!tp_ends_apart(l, l->g->nodes.v[i])) return false;
  for (int i = 0; i < l->n; i++)
    if (!lower_node(l, l->g->nodes.v[i])) return false;
  for (int i = 0; i < l->parts.n; i++)
    if (!lower_node(l, l->parts.v[i].node)) return false;
  for (int i = 0; i < l->g->stops.n; i++) l->g->stops.v[i].end = l->end[i];
  tp_graph_prune(l->g);
  return true;
}

static void drop(void *x) {
  ends *l = x;
  tp_need_free(l->need);
  for (int i = 0; i < l->parts.n; i++) tp_set_free(l->parts.v[i].need);
}

bool tp_pass_ends(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  if (!g->stops.n) return true;
  ends l = { .g = g, .ix = g->ix, .err = err, .mk = { .g = g, .err = err }, .n = g->nodes.n };
  if (!(l.need = tp_need_outputs(g, err))) return false;
  tp_hold mine;
  tp_hold_set(&mine, drop, &l);
  l.end = TP_NEWN(&g->arena, tp_node *, g->stops.n);
  l.feeds = TP_NEWN(&g->arena, bool, l.n);
  l.rows = TP_NEWN(&g->arena, tp_ix *, l.n);
  int asked = g->shapechecks.n;
  bool ok = lower(&l, job->apart);
  /* sizes were judged at the lines that the script wrote */
  g->shapechecks.n = asked;
  tp_hold_end(&mine);
  drop(&l);
  return tp_isl_check(g->ix, g->pos, err) && ok;
}
