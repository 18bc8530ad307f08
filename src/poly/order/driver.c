/* driver: makes loops from the outermost depth inwards. At each depth the components become loops
 * and leaves by typed fusion with parametric shifts (docs/scheduling.md, section 2) and moves
 * towards consumers; the members of each loop, with the dependences between equal rows, go on to
 * the next depth. isl is a calculator. */
#include "poly/order/fusion.h"
#include <stdlib.h>

/* ---- loops ---- */

typedef struct {
  int arr, dim;
  int64_t by;
} target;

/* Finds the array dim that follows the loop in an update of member m, and how far behind it is.
 * False: none follows. */
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

/* Do two iterations never update one element? Updates commute, but not if they run at once. */
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

/* Finds the arcs inside a loop at equal rows, whether the loop carries any, and how deep each
 * dependence stays inside. */
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
    x->mem[i] = tp_mem_make(S, st[i], dim_in(f, st[i], g), g->s, tp_fusion_shift(f, st[i], g->s));
  tp_blocks *b = tp_blocks_of(S, f->L, x, &f->L->arcs);
  if (b) return blocked(S, x, b, depth, &f->L->arcs, out);
  TP_PUSH(S->a, out, x);
  return body_of(S, x, depth, &f->L->arcs);
}

/* Does a member run in calls over a dim? Its points are together then, and may make a cycle that
 * bounds have no part in, and that many cuts do not open. */
static bool has_call(const tp_sched *S, const tp_scc *c) {
  for (int i = 0; i < c->n; i++)
    if (S->p->stmts.v[c->st[i]]->vec) return true;
  return false;
}

static tp_sres leaf_item(const fusion *f, const group *g, tp_items *out) {
  tp_sched *S = f->S;
  const tp_scc *c = &f->L->scc[g->scc.v[0]];
  if (is_leaf(c)) {
    tp_item *x = TP_NEW(S->a, tp_item);
    *x = (tp_item){ .st = c->st[0] };
    TP_PUSH(S->a, out, x);
    return TP_S_OK;
  }
  bool calls = has_call(S, c);
  if (calls && S->nsplit >= TP_TUNE_SPLIT_GUESSES) return TP_S_FAIL;
  if (c->left && tp_split(S, f->L, c)) return TP_S_RESTART;
  /* a cycle of unknown arcs may be none */
  if (!S->p->nover && !calls && tp_assume(S, f->L, c)) return TP_S_RESTART;
  if (tp_cycle(S, c)) return TP_S_FAIL;
  if (c->left && tp_isl_nest(S, f->L, g->scc.v[0], out) == TP_S_OK) return TP_S_OK;
  tp_no_order(S, c);
  return TP_S_FAIL;
}

/* Does a statement at a single point of d belong to the loop of the others? An update does, and a
 * copy that only takes something from that point. */
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
  tp_fuse(&f);
  tp_fusion_move(&f);
  for (int i = 0; i < f.all.n; i++) {
    const group *g = f.all.v[i];
    if (!g->scc.n) continue;
    tp_sres r = g->loop ? loop_item(&f, g, depth, out) : leaf_item(&f, g, out);
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

bool tp_is_free_bound(const tp_sched *S, tp_sym *s) {
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
    tp_sym *s = tp_sym_at(S->ix, i);
    if (s->kind != TP_SYM_BOUND) continue;
    if (tp_is_free_bound(S, s)) {
      free_ = isl_set_lower_bound_si(free_, isl_dim_param, at, 0);
      any = true;
    }
    at++;
  }
  for (int i = 0; i < S->p->late.n; i++) {
    /* the gist does not mention bounds that do not matter */
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

/* Gives something up after a failed search (relax.def); false: there is nothing left. */
static bool relax(tp_sched *S) {
  bool calls = false;
  for (int i = 0; i < S->p->stmts.n; i++) calls |= S->p->stmts.v[i]->vec != 0;
  bool outlines = S->hulled && !tp_without(S->p, TP_RX_OUTLINES);
  if (!outlines && (!calls || tp_without(S->p, TP_RX_CALLS))) return false;
  tp_give_up(S->p, outlines ? TP_RX_OUTLINES : TP_RX_CALLS);
  return true;
}

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
    if (relax(S)) continue;
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

/* ---- loops around rows of isl's own ---- */

/* isl has written loops around rows with divisions in another order than it was told (fuzz seed
 * 1410000092), so such programs are simulated at small bounds, all equal. NULL, or the words for
 * the mistake. */
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
    if (given && !tp_poly_simulate(S->p, env, &why) && why.code == TP_E_CYCLE)
      return tp_strdup(S->a, why.msg);
  }
  return NULL;
}

static bool write_loops(tp_sched *S) {
  if (!tp_make_tree(S)) return false;
  const char *why = disorder(S);
  return !why ||
      tp_fail(S->err, TP_E_AFFINE, TP_NOWHERE,
          "affine: the loops of this program cannot be written down: %s", why);
}

static bool fill_schedule(tp_sched *S, tp_error *err) {
  tp_poly *p = S->p;
  if (!find_order(S, err)) return false;
  if (p->judge) return true;
  double t0 = tp_now();
  tp_settle_guards(S);
  tp_take_apart(S);
  tp_dense_vectors(S);
  tp_behind(S);
  tp_live(S);
  p->ms_live += 1e3 * (tp_now() - t0);
  tp_spread_rows(S);
  t0 = tp_now();
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
