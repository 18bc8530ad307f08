/* legal: judges legality on needed points. Each question is a set of bad points over a node's dims,
 * with bounds as parameters. Empty for all bounds: legal. Empty for no bounds that are all at least
 * 2: an error now, with the smallest bad point as witness. Else: a condition on the bounds, which
 * each call checks (g->boundchecks). */
#include "graph/core.h"

typedef struct check {
  tp_graph *g;
  const tp_need *need;
  tp_error *err;
  int64_t *env; /* a witness, by symbol id */
  /* judges the runs to which nothing is given for this dim; NULL: all others */
  tp_sym *zero;
} check;

#define TEXT(...) tp_printf(&c->g->arena, __VA_ARGS__)

static const char *called(check *c, const tp_node *n) { return tp_called(c->g, n); }
/* ---- words, with a witness ---- */

static const char *named(const tp_node *n, const char *otherwise) {
  return tp_own_name(n) ? tp_own_name(n) : otherwise;
}

/* x[t + 1]; with several dims x[{i, t + 1}] */
static const char *read_text(check *c, const tp_node *r) {
  const tp_node *x = tp_in(r, 0);
  tp_buf b;
  tp_buf_init(&b);
  tp_put_list(&b, TP_F_INDICES, x->ndom, r->attr.at);
  const char *list = tp_buf_give(&c->g->arena, &b);
  return TEXT(
      x->ndom > 1 ? "%s[{%.*s}]" : "%s[%.*s]", named(x, "it"), (int)strlen(list) - 2, list + 1);
}

static void add_bound(check *c, const char **list, tp_sym *s) {
  if (!s || s->kind != TP_SYM_BOUND || s->hidden) return;
  const char *item = TEXT("%s = %lld", s->name, (long long)c->env[s->id]);
  if (!strstr(*list, item)) *list = TEXT("%s%s%s", *list, **list ? ", " : " with ", item);
}

static void add_bounds_of(check *c, const char **list, tp_ix *e) {
  tp_dims syms;
  int n = tp_ix_syms(e, &syms);
  for (int i = 0; i < n; i++) add_bound(c, list, syms[i]);
}

/* " at t = 2 with T = 3": the witness, with bounds of n's dims and its operand's, and those in a
 * read's index or the extents of a view's operand. */
static const char *example(check *c, const tp_node *n) {
  const char *at = "", *with = "";
  for (int k = 0; k < n->ndom; k++) {
    at = TEXT(
        "%s%s%s = %lld", at, k ? ", " : " at ", n->dom[k]->name, (long long)c->env[n->dom[k]->id]);
    add_bound(c, &with, n->dom[k]->bound);
  }
  for (int i = 0; tp_ops[n->op].cls == TP_CLS_MOVE && i < tp_inof(n, 0)->rank; i++)
    add_bounds_of(c, &with, tp_inof(n, 0)->shape[i]);
  for (int k = 0; n->op == TP_OP_READ && k < n->attr.nat; k++) {
    add_bound(c, &with, tp_in(n, 0)->dom[k]->bound);
    add_bounds_of(c, &with, n->attr.at[k].lo);
    if (n->attr.at[k].range) add_bounds_of(c, &with, n->attr.at[k].hi);
  }
  return TEXT("%s%s", at, with);
}

/* ---- the three answers ---- */

static void add_check(check *c, tp_ix *cond, tp_code code, tp_pos pos, const char *late) {
  tp_arena *a = &c->g->arena;
  const char *msg = tp_printf(a, "%s: %s: it needs %s", tp_code_word(code), late, tp_ix_said(cond));
  TP_EACH (tp_boundcheck, b, c->g->boundchecks)
    if (b->cond == cond && strcmp(b->msg, msg) == 0) return;
  TP_PUSH(a, &c->g->boundchecks, (tp_boundcheck){ cond, pos, code, msg });
}

bool tp_check_late(tp_graph *g, TP_KEEP tp_set *bad, tp_code code, tp_pos pos, const char *late) {
  check c = { .g = g };
  tp_ix *cond = tp_set_empty_when(g->ix, bad);
  if (cond) add_check(&c, cond, code, pos, late);
  return cond != NULL;
}

/* True: it is legal, or each call checks it, with `late` and the condition as the message. False:
 * it is illegal, and env has the witness. An end by data is any number from 1 to the given one. */
static bool settled(
    check *c, const tp_node *n, TP_TAKE tp_set *bad, tp_code code, tp_pos pos, const char *late) {
  tp_ictx *ix = c->g->ix;
  bool ok = true;
  tp_set *given = tp_set_given(c->g, tp_set_copy(bad), c->zero);
  if (given && !tp_set_is_empty(ix, given)) {
    ok = c->zero || tp_set_can_be_empty(ix, given, 2);
    tp_ix *cond = ok ? tp_set_empty_when(ix, given) : NULL;
    /* a question that isl could not decide is no mistake of the script's */
    if (!ok) tp_isl_check(ix, pos, c->err);
    if (!ok) tp_set_witness(ix, n->ndom, n->dom, bad, 2, c->env);
    else if (cond) add_check(c, cond, code, pos, late);
  }
  tp_set_free(given);
  tp_set_free(bad);
  return ok;
}

/* The points at which n is needed and cond holds. */
static tp_set *needed(check *c, const tp_node *n, tp_ix *cond) {
  return tp_set_and(tp_set_copy(c->need->set[n->id]), tp_set_cond(c->g->ix, n->ndom, n->dom, cond));
}

static bool is_needed(check *c, const tp_node *n) {
  return !tp_set_is_empty(c->g->ix, c->need->set[n->id]);
}

/* Does anything read m, even outside its domain? */
static bool is_read(check *c, const tp_node *m) {
  if (is_needed(c, m)) return true;
  TP_NODES (n, c->g->nodes)
    for (int k = 0; k < n->nin; k++)
      if (tp_in(n, k) == m && is_needed(c, n)) return true;
  return false;
}

/* ---- declared tensors: one that is read at all is defined at every point ---- */

/* The branch to write: for the first point of a dim if the witness is there, else for the rest. */
static void note_branch(check *c, const tp_node *m) {
  const char *name = named(m, "h"), *first = "", *next = strstr(name, ":next()");
  if (!m->nin && next) {
    tp_note(c->err, "nothing updates the parameter '%.*s'", (int)(next - name), name);
    return;
  }
  if (!m->nin) {
    tp_note(c->err, "nothing was ever assigned to it: %s[%s] = ...", name,
        m->ndom == 1 ? m->dom[0]->name : "...");
    return;
  }
  for (int k = 0; k < m->ndom && !*first; k++)
    if (c->env[m->dom[k]->id] == 0)
      first = TEXT("%s[%s] = ... for these points, or ", name,
          m->ndom > 1 ? TEXT("{%s = 0}", m->dom[k]->name) : "0");
  tp_note(c->err, "write %s%s:otherwise(...) for all that the branches leave", first, name);
}

static bool defined(check *c, const tp_node *m) {
  if (m->nin && !m->in[m->nin - 1].cond) return true;
  const char *late = TEXT("%s has points without a branch (%s:otherwise(...) takes the rest)",
      called(c, m), named(m, "h"));
  if (settled(c, m, tp_branch_set(c->g, m, m->nin), TP_E_UNDEFINED, m->pos, late)) return true;
  tp_fail(c->err, TP_E_UNDEFINED, m->pos, "%s has no branch%s", called(c, m), example(c, m));
  note_branch(c, m);
  return false;
}

static tp_set *branch_points(check *c, const tp_node *m, int k) {
  tp_set *box = tp_box_of(c->g, m);
  return m->in[k].cond ? tp_set_and(box, tp_set_cond(c->g->ix, m->ndom, m->dom, m->in[k].cond))
                       : box;
}

/* The first branch that alone takes every point of branch k, else the last before k; -1: k has no
 * points. */
static int coverer(check *c, const tp_node *m, int k) {
  int found = tp_set_none(c->g->ix, branch_points(c, m, k)) ? -1 : k - 1;
  for (int i = found; i >= 0; i--)
    if (tp_set_none(c->g->ix, tp_set_minus(branch_points(c, m, k), branch_points(c, m, i))))
      found = i;
  return found;
}

static bool can_be_first(check *c, const tp_node *m, int k) {
  if (!tp_set_none(c->g->ix, tp_branch_set(c->g, m, k))) return true;
  int by = coverer(c, m, k);
  return tp_fail(c->err, TP_E_UNDEFINED, m->in[k].pos, "this branch of %s can never be first: %s",
      called(c, m),
      by < 0 ? "no point of its domain matches it (negative indices never wrap)"
             : TEXT("the branch at %s covers it", tp_line_of(c->g, m->in[by].pos)));
}

static bool check_merge(check *c, const tp_node *m) {
  for (int k = 0; k < m->nin && !m->attr.sparse; k++)
    if (!can_be_first(c, m, k)) return false;
  return defined(c, m);
}

/* ---- reads ---- */

/* A named reader of n, or a named reader of a reader and so on; NULL: none. */
static const tp_node *consumer(check *c, const tp_node *n) {
  bool *seen = TP_NEWN(&c->g->arena, bool, c->g->nodes.n), more = true;
  seen[n->id] = true;
  while (more) {
    more = false;
    TP_NODES (r, c->g->nodes) {
      bool *it = &seen[r->id];
      if (*it) continue;
      for (int k = 0; k < r->nin; k++) *it |= seen[tp_in(r, k)->id];
      if (*it && tp_own_name(r)) return r;
      more |= *it;
    }
  }
  return NULL;
}

static void note_consumer(check *c, const tp_node *n) {
  const tp_node *r = consumer(c, n);
  if (r) tp_note(c->err, "%s needs it", called(c, r));
  else
    TP_EACH (tp_output, o, c->g->outputs)
      if (o->val.node == n) tp_note(c->err, "output '%s' needs it", o->name);
}

/* Is r a side of a tempo.where, by itself or through one operator? */
static bool chosen(check *c, const tp_node *r) {
  TP_NODES (n, c->g->nodes)
    for (int k = 1; n->op == TP_OP_SELECT && k < n->nin; k++) {
      const tp_node *side = tp_in(n, k);
      if (side == r) return true;
      for (int j = 0; j < side->nin; j++)
        if (side->op != TP_OP_READ && tp_in(side, j) == r) return true;
    }
  return false;
}

static void note_advice(check *c, const tp_node *r, int k) {
  const tp_node *x = tp_in(r, 0);
  const tp_at *at = &r->attr.at[k];
  const char *name = named(x, "x"), *bound = x->dom[k]->bound->name;
  tp_ix *rest;
  int64_t v, coef;
  if (tp_ix_is_const(at->lo, &v) && v < 0)
    tp_note(c->err, "negative indices of dims never wrap: write %s[{%s = %s%lld}]", name,
        x->dom[k]->name, bound, (long long)v);
  else if (at->range)
    tp_note(c->err, "clip the range with tempo.max(0, ...) and tempo.min(..., %s)", bound);
  else if (tp_ix_linear_in(at->lo, x->dom[k]->bound, &coef, &rest) && coef == 1 &&
      tp_ix_is_const(rest, &v) && v >= 0)
    tp_note(c->err, "indices count from 0, so the last one is %s - 1: write %s[%s - 1]", bound,
        name, bound);
  else
    tp_note(c->err,
        "clip it, tempo.%s, or give the points where it leaves the domain a branch of their own",
        TEXT(c->env[x->dom[k]->id] < 0 ? "max(%s, 0)" : "min(%s, %s - 1)", tp_ix_str(at->lo),
            bound));
}

/* The bound of dim d where r reads it. The end at another point of its domain is any number; if
 * only r has dims of that domain, it is at least r's. */
static tp_sym *end_there(check *c, const tp_node *r, tp_sym *d) {
  const tp_node *x = tp_in(r, 0);
  const tp_stop *s = tp_stop_of(c->g, d);
  if (!s) return d->bound;
  bool here = c->zero || tp_at_stays(x, r->attr.at, s);
  for (int i = 0; i < s->ndom; i++) here &= tp_has_dim(r, s->dom[i]) || !tp_has_dim(x, s->dom[i]);
  return here ? d->bound : s->other;
}

/* True: no clipping helps, as the end is another point's. */
static bool note_end(check *c, const tp_node *r, tp_sym *d) {
  const tp_stop *s = tp_stop_of(c->g, d);
  if (!s) return false;
  const char *end = d->bound->name,
             *by = TEXT("'%s' ends by data (%s)", d->name, tp_line_of(c->g, s->pos));
  bool other = end_there(c, r, d) != d->bound;
  if (other)
    tp_note(c->err,
        "%s, and %s at another point is a number of its own: read x[%s-1] at its own point first, "
        "or reduce over '%s'",
        by, end, end, d->name);
  else tp_note(c->err, "%s: %s may be any number from 1 on", by, end);
  return other;
}

static bool read_fail(check *c, const tp_node *r, int k) {
  const tp_node *x = tp_in(r, 0);
  tp_sym *d = x->dom[k];
  const char *eg = example(c, r);
  const tp_at *at = &r->attr.at[k];
  int64_t lo = tp_ix_evalq(at->lo, c->env);
  if (at->range && lo >= 0) lo = tp_ix_evalq(at->hi, c->env) - 1;
  c->env[d->id] = lo;
  tp_fail(c->err, TP_E_DOMAIN, r->pos, "%s is read at %s = %lld (%s), outside 0 .. %s-1, e.g.%s",
      called(c, x), d->name, (long long)lo, read_text(c, r), d->bound->name, eg);
  note_consumer(c, r);
  bool other = note_end(c, r, d);
  if (chosen(c, r))
    tp_note(c->err,
        "tempo.where reads both sides everywhere: give each side a branch of its own, in a tensor "
        "made by P:tensor");
  else if (!other) note_advice(c, r, k);
  return false;
}

static bool check_index(check *c, const tp_node *r, int k, tp_ix *something) {
  tp_ictx *ix = c->g->ix;
  tp_sym *d = tp_in(r, 0)->dom[k], *end = end_there(c, r, d);
  const tp_at *at = &r->attr.at[k];
  if (!d->bound || (tp_at_is_own(at, d) && end == d->bound)) return true;
  tp_ix *top = at->range ? at->hi : tp_ix_addc(at->lo, 1);
  tp_ix *out =
      tp_ix_or(tp_ix_cmp(TP_LT, at->lo, tp_ix_const(ix, 0)), tp_ix_cmp(TP_GT, top, tp_ix_sym(end)));
  const char *late = TEXT("%s leaves 0 .. %s-1 in dim '%s' of %s", read_text(c, r), d->bound->name,
      d->name, called(c, tp_in(r, 0)));
  return settled(c, r, needed(c, r, tp_ix_and(something, out)), TP_E_DOMAIN, r->pos, late) ||
      read_fail(c, r, k);
}

/* With an empty range nothing is read. */
static bool check_read(check *c, const tp_node *r) {
  tp_ictx *ix = c->g->ix;
  tp_ix *something = tp_ix_bool(ix, true);
  const tp_at *at = r->attr.at;
  for (int k = 0; k < r->attr.nat; k++)
    if (at[k].range) something = tp_ix_and(something, tp_ix_cmp(TP_LT, at[k].lo, at[k].hi));
  for (int k = 0; k < r->attr.nat; k++)
    if (!check_index(c, r, k, something)) return false;
  return true;
}

/* A sum over time was a read, which exact sets found legal; a superset of them may not. */
static bool check_gathers(check *c, const tp_node *n) {
  tp_ictx *ix = c->g->ix;
  for (int k = 0; k < n->nin; k++) {
    const tp_node *x = tp_in(n, k);
    if (!n->in[k].gather) continue;
    tp_set *from =
        tp_set_apply(tp_set_outside(ix, x->ndom, x->dom), tp_rel_reverse(tp_edge_rel(c->g, n, k)));
    tp_set *bad = tp_set_and(from, tp_set_copy(c->need->set[n->id]));
    const char *late = TEXT("%s leaves the domain of %s", called(c, n), called(c, x));
    if (!settled(c, n, bad, TP_E_DOMAIN, n->in[k].pos, late))
      return tp_fail(c->err, TP_E_DOMAIN, n->in[k].pos, "%s, e.g.%s", late, example(c, n));
  }
  return true;
}

/* ---- views and windows: index expressions inside a shape are judged like reads ---- */

/* The condition on bounds under which e >= 0 everywhere: e is >= 0 at both ends of each dim in
 * which it is linear. NULL: not known. */
static tp_ix *nonneg_when(check *c, tp_ix *e, int n, tp_dims dom) {
  tp_ictx *ix = c->g->ix;
  if (tp_ix_prove_ge0(e, n, dom)) return tp_ix_bool(ix, true);
  while (n > 0 && !tp_ix_mentions(e, dom[n - 1])) n--;
  if (n == 0) return tp_mentions_end(c->g, e) ? NULL : tp_ix_cmp(TP_GE, e, tp_ix_const(ix, 0));
  tp_ix *d = tp_ix_sym(dom[n - 1]), *v[3];
  tp_ix *end = tp_ix_addc(tp_ix_sym(dom[n - 1]->bound), -1);
  tp_ix *at[] = { tp_ix_const(ix, 0), tp_ix_const(ix, 1), end };
  for (int i = 0; i < 3; i++) v[i] = tp_ix_subst(e, 1, &dom[n - 1], &at[i]);
  if (tp_ix_add(v[0], tp_ix_mul(d, tp_ix_sub(v[1], v[0]))) != e) return NULL;
  tp_ix *first = nonneg_when(c, v[0], n - 1, dom), *last = nonneg_when(c, v[2], n - 1, dom);
  return first && last ? tp_ix_and(first, last) : NULL;
}

static tp_ix *has_none(tp_ictx *ix, tp_ix *count) {
  return tp_ix_cmp(TP_LT, count, tp_ix_const(ix, 1));
}

/* Judges products of symbols, which no set can hold, by a condition on bounds. */
static bool fits_on_bounds(
    check *c, const tp_node *n, tp_ix *none, tp_ixs least, tp_code code, const char *late) {
  tp_ictx *ix = c->g->ix;
  tp_ix *fits = none;
  for (int i = 0; i < n->ndom; i++)
    if (n->dom[i]->bound) fits = tp_ix_or(fits, has_none(ix, tp_ix_sym(n->dom[i]->bound)));
  tp_ix *a = nonneg_when(c, least[0], n->ndom, n->dom);
  tp_ix *b = nonneg_when(c, least[1], n->ndom, n->dom);
  for (int i = 0; i < n->ndom; i++)
    if (tp_ix_mentions(none, n->dom[i])) a = NULL;
  if (!a || !b) return tp_fail(c->err, TP_E_AFFINE, n->pos, "it cannot be told whether %s", late);
  add_check(c, tp_ix_or(fits, tp_ix_and(a, b)), code, n->pos, late);
  return true;
}

/* Both of least are >= 0 wherever n is needed, unless `none` holds: there is nothing. */
static bool fits_inside(
    check *c, const tp_node *n, tp_ix *none, tp_ixs least, tp_code code, const char *late) {
  tp_ictx *ix = c->g->ix;
  tp_ix *out = tp_ix_bool(ix, false);
  bool known = true, affine = tp_affine(none);
  for (int i = 0; i < 2; i++) {
    known &= tp_ix_prove_ge0(least[i], n->ndom, n->dom);
    affine &= tp_affine(least[i]);
    out = tp_ix_or(out, tp_ix_cmp(TP_LT, least[i], tp_ix_const(ix, 0)));
  }
  if (known) return true;
  if (!affine) return fits_on_bounds(c, n, none, least, code, late);
  tp_set *bad = needed(c, n, tp_ix_and(tp_ix_not(none), out));
  if (settled(c, n, bad, code, n->pos, late)) return true;
  tp_fail(c->err, code, n->pos, "%s, e.g.%s", late, example(c, n));
  note_consumer(c, n);
  return false;
}

/* How far the last of count places, `step` from each other, lies behind the first. */
static tp_ix *last_place(tp_ix *count, int64_t step) {
  return tp_ix_mulc(tp_ix_addc(count, -1), step);
}

static tp_ix *behind(tp_ix *extent, tp_ix *last) { return tp_ix_addc(tp_ix_sub(extent, last), -1); }

static bool check_slice(check *c, const tp_node *n) {
  tp_ictx *ix = c->g->ix;
  const tp_attr *a = &n->attr;
  tp_ix *size = tp_inof(n, 0)->shape[a->axis], *lo = a->ix[0];
  tp_ix *last = tp_ix_add(lo, last_place(a->ix[1], a->step)), *least[] = { lo, behind(size, last) };
  const char *late =
      TEXT("elements %s .. %s of axis %d of %s (extent %s) are not all there", tp_ix_str(lo),
          tp_ix_str(tp_ix_addc(last, 1)), a->axis, called(c, tp_in(n, 0)), tp_ix_str(size));
  return fits_inside(c, n, has_none(ix, a->ix[1]), least, TP_E_DOMAIN, late);
}

static bool check_windows(check *c, const tp_node *n) {
  tp_ictx *ix = c->g->ix;
  const tp_attr *a = &n->attr;
  tp_ixs x = tp_inof(n, 0)->shape + a->axis;
  bool unfold = n->op == TP_OP_UNFOLD;
  tp_ix *extent = unfold ? x[0] : a->ix[0], *count = unfold ? a->ix[0] : x[0];
  tp_ix *size = unfold ? a->ix[1] : x[1], *none = tp_ix_or(has_none(ix, count), has_none(ix, size));
  tp_ix *last = tp_ix_add(last_place(count, a->step), last_place(size, a->dilation));
  tp_ix *least[] = { tp_ix_const(ix, 0), behind(extent, last) };
  const char *late = TEXT("%s windows of %s of %s are not in an axis of %s", tp_ix_str(count),
      tp_ix_str(size), called(c, tp_in(n, 0)), tp_ix_str(extent));
  return fits_inside(c, n, none, least, TP_E_DOMAIN, late);
}

static bool check_pad(check *c, const tp_node *n) {
  tp_ictx *ix = c->g->ix;
  const char *late = TEXT("%s is padded by %s and %s, which may not be negative",
      called(c, tp_in(n, 0)), tp_ix_str(n->attr.ix[0]), tp_ix_str(n->attr.ix[1]));
  return fits_inside(c, n, tp_ix_bool(ix, false), n->attr.ix, TP_E_DOMAIN, late);
}

/* Judges an extent unless it is an operand's, which was judged before. */
static bool check_extent(check *c, const tp_node *n, tp_ix *e) {
  tp_ictx *ix = c->g->ix;
  if (tp_ix_prove_ge0(e, n->ndom, n->dom) || !is_needed(c, n)) return true;
  for (int k = 0; k < n->nin; k++)
    for (int i = 0; i < tp_inof(n, k)->rank; i++)
      if (tp_inof(n, k)->shape[i] == e) return true;
  const char *late = TEXT("the extent %s of %s is negative", tp_ix_str(e), called(c, n));
  return fits_inside(c, n, tp_ix_bool(ix, false), (tp_ix *[]){ e, e }, TP_E_SHAPE, late);
}

static bool check_extents(check *c) {
  TP_NODES (n, c->g->nodes) {
    /* extents that are sums of judged ones */
    bool sums = n->op == TP_OP_CONCAT || n->op == TP_OP_PAD;
    for (int k = 0; k < n->nout && !sums; k++)
      for (int j = 0; j < n->out[k].rank; j++)
        if (!check_extent(c, n, n->out[k].shape[j])) return false;
  }
  return true;
}

/* ---- all ---- */

static bool every(check *c, tp_op op, bool (*fn)(check *, const tp_node *)) {
  TP_NODES (n, c->g->nodes) {
    if (n->op == op && (op == TP_OP_MERGE ? is_read(c, n) : is_needed(c, n)) && !fn(c, n))
      return false;
  }
  return true;
}

/* Refuses a callback at the greatest of ends over a dim that ends by data itself: it would wait for
 * both. */
static bool check_greatest(check *c) {
  TP_NODES (n, c->g->nodes)
    TP_EACH (tp_stop, s, c->g->stops)
      for (int d = 0; d < s->ndom && n->op == TP_OP_CALL && tp_has_dim(n, s->dim); d++)
        if (tp_stop_of(c->g, s->dom[d]) && !tp_has_dim(n, s->dom[d]))
          return tp_fail(c->err, TP_E_DOMAIN, n->pos,
              "%s has dim '%s', which ends by data at each point of '%s', and lacks '%s', "
              "which ends by data too: give it both",
              called(c, n), s->dim->name, s->dom[d]->name, s->dom[d]->name);
  return true;
}

static bool stays(check *c) {
  return every(c, TP_OP_READ, check_read) && every(c, TP_OP_ACCUM, check_gathers) &&
      every(c, TP_OP_SLICE, check_slice) && every(c, TP_OP_PAD, check_pad) &&
      every(c, TP_OP_UNFOLD, check_windows) && every(c, TP_OP_FOLD, check_windows);
}

/* Errors of class `undefined` come before those of class `domain`. */
static bool check_all(check *c) {
  return every(c, TP_OP_MERGE, check_merge) && stays(c) && check_extents(c);
}

/* The end of a dim is 0 where nothing is given for it or for one of its rows. Each call checks what
 * is not legal then. */
static bool check_nothing(check *c, tp_sym *zero) {
  tp_need *need = tp_need_without(c->g, zero, c->err);
  check z = { .g = c->g, .need = need, .err = c->err, .env = c->env, .zero = zero };
  bool ok = need && check_all(&z);
  tp_need_free(need);
  return ok;
}

/* Is there a dim that ends by data and has points only where dim d has some? If it is another dim
 * than d: one that some node has without d? */
static bool ends_without(const tp_graph *g, tp_sym *d) {
  TP_EACH (const tp_stop, s, g->stops) {
    if (d->kind != TP_SYM_DIM || s->end || !tp_stop_needs(g, s, d)) continue;
    if (s->dim == d) return true;
    TP_NODES (n, g->nodes)
      if (tp_has_dim(n, s->dim) && !tp_has_dim(n, d)) return true;
  }
  return false;
}

/* reads: judges reads only */
static bool judged(tp_graph *g, const tp_need *need, bool reads, tp_error *err) {
  check c = {
    .g = g, .need = need, .err = err, .env = TP_NEWN(&g->arena, int64_t, tp_nsym(g->ix))
  };
  bool ok = reads ? stays(&c) : check_greatest(&c) && check_all(&c);
  for (int i = 0; i < tp_nsym(g->ix) && ok && !reads; i++)
    ok = !ends_without(g, tp_sym_at(g->ix, i)) || check_nothing(&c, tp_sym_at(g->ix, i));
  return tp_isl_check(g->ix, g->pos, err) && ok;
}

bool tp_need_check(tp_graph *g, const tp_need *need, tp_error *err) {
  return judged(g, need, false, err);
}
bool tp_need_stays(tp_graph *g, const tp_need *need, tp_error *err) {
  return judged(g, need, true, err);
}
