/* stmts: makes the statements of a stored node, with the clusters that go into them. */
#include "poly/lower/stmts.h"

/* ---- dims ---- */

typedef struct {
  int n;
  tp_sym *dim[2 * TP_MAXDIM], *label[2 * TP_MAXDIM];
} dim_list;

/* Inserts a dim behind those of smaller or equal label. */
static void add_dim(dim_list *v, tp_sym *d, tp_sym *label) {
  int i = v->n++;
  for (; i > 0 && v->label[i - 1]->order > label->order; i--) {
    v->dim[i] = v->dim[i - 1];
    v->label[i] = v->label[i - 1];
  }
  v->dim[i] = d;
  v->label[i] = label;
}

static dim_list own_dims(const tp_node *n) {
  dim_list v = { 0 };
  for (int d = 0; d < n->ndom; d++) add_dim(&v, n->dom[d], n->dom[d]);
  return v;
}

static sb start(low *l, tp_stkind kind, const dim_list *v, tp_set *dom, tp_node *node) {
  tp_stmt *s = TP_NEW(l->a, tp_stmt);
  *s = (tp_stmt){ .id = l->p->stmts.n,
    .kind = kind,
    .k = -1,
    .ndim = v->n,
    .dim = tp_dup(l->a, v->dim, sizeof *v->dim * (size_t)v->n),
    .label = tp_dup(l->a, v->label, sizeof *v->label * (size_t)v->n),
    .dom = dom,
    .name = l->p->title[node->id],
    .pos = node->pos,
    .of = node };
  return (sb){ .l = l, .s = s };
}

/* Begins a statement that runs where the node has the point. */
static sb start_guarded(low *l, tp_stkind kind, const dim_list *v, tp_set *dom, tp_node *n) {
  sb b = start(l, kind, v, dom, n);
  b.s->guard = tp_guard_of(l->p, n, tp_low_point(l, n->ndom, n->dom));
  return b;
}

static sb start_own(low *l, tp_stkind kind, tp_node *n) {
  dim_list own = own_dims(n);
  return start_guarded(l, kind, &own, tp_set_copy(l->need->set[n->id]), n);
}

/* ---- ends that a statement waits for ---- */

typedef struct {
  int end;
  tp_ix *upto;
} end_wait; /* upto: as that of an access */
typedef TP_VEC(end_wait) end_list;

static void note(sb *b, end_list *v, tp_ix *e) {
  for (int i = tp_next_end(b->l->p, e, 0); i >= 0; i = tp_next_end(b->l->p, e, i + 1)) {
    tp_ix *upto = tp_end_wanted(b->l->p, e, i);
    int k = 0;
    while (k < v->n && v->v[k].end != i) k++;
    if (k == v->n) TP_PUSH(b->l->a, v, (end_wait){ i, upto });
    else if (v->v[k].upto) v->v[k].upto = upto ? tp_ix_max(v->v[k].upto, upto) : NULL;
  }
}

static void note_operand(sb *b, end_list *v, const tp_opnd *o, int rows) {
  note(b, v, o->off);
  for (int d = 0; d < o->base.node->ndom; d++) note(b, v, o->idx[d]);
  for (int a = 0; a < o->rank; a++)
    note(b, v, a < rows ? NULL : o->shape[a]), note(b, v, o->stride[a]);
}

/* A callback's dims in `over` leave in one call up to their ends, and are cleared beyond (plan:
 * rows): notes these ends. */
static void note_over(sb *b, end_list *v, const tp_node *n) {
  const tp_stmt *s = b->s;
  tp_ix *at[s->ndim + 1];
  for (int d = 0; d < s->ndim; d++) at[d] = tp_ix_sym(s->dim[d]);
  for (int k = 0; n->nin && k < n->attr.nover; k++)
    if (tp_stop_of(b->l->g, n->attr.over[k]))
      note(b, v,
          tp_at_dims(b->l->p, tp_ix_sym(tp_stop_of(b->l->g, n->attr.over[k])->sym), s->ndim,
              s->label, at));
}

static bool note_node(sb *b, end_list *v, int i) {
  const tp_node *n = b->s->node[i];
  tp_ixs at = b->s->nodeat[i];
  tp_opnd o;
  for (int k = 0; k < n->nout; k++)
    for (int a = 0; a < n->out[k].rank; a++)
      note(b, v, tp_at_point(b->l->p, n, n->out[k].shape[a], at));
  for (int k = 0; k < n->attr.nix; k++) note(b, v, tp_at_point(b->l->p, n, n->attr.ix[k], at));
  if (n->op == TP_OP_CALL) note_over(b, v, n);
  for (int k = 0; k < n->nin; k++) {
    if (!sb_operand(b, i, k, &o)) return false;
    note_operand(b, v, &o, 0);
  }
  return true;
}

static void end_access(sb *b, int end, tp_ix *upto) {
  low *l = b->l;
  const tp_end *e = &l->p->ends.v[end];
  const tp_stop *s = &l->g->stops.v[e->stop];
  tp_arr *x = tp_low_stored(l, tp_v(s->end));
  tp_at *at = TP_NEWN(l->a, tp_at, s->ndom);
  for (int d = 0; d < s->ndom; d++) {
    at[d] = e->at[d];
    if (at[d].range) x->dense |= 1u << d;
  }
  TP_PUSH(l->a, &b->acc,
      (tp_access){ .kind = TP_ACC_READ, .arr = x->id, .at = at, .upto = upto, .pos = b->s->pos });
}

/* The greatest end of rows counts rows that exist: it waits for the ends of their dims. */
static void rows_access(sb *b, int end) {
  const tp_end e = b->l->p->ends.v[end];
  for (int d = 0; d < b->l->g->stops.v[e.stop].ndom; d++) {
    tp_ix *rows = tp_end_of_rows(b->l->p, &e, d);
    int inner = rows ? tp_next_end(b->l->p, rows, 0) : -1;
    if (inner < 0) continue;
    rows_access(b, inner);
    end_access(b, inner, NULL);
  }
}

static bool wait_for_ends(sb *b) {
  low *l = b->l;
  end_list v = { 0 };
  tp_opnd o;
  int end;
  tp_ix *least;
  if (!l->g->stops.n) return true;
  for (int i = 0; i < b->s->nnode; i++)
    if (!note_node(b, &v, i)) return false;
  if (b->s->src.node && !tp_stmt_src(l->p, b->s, &o, l->err)) return false;
  if (b->s->src.node) note_operand(b, &v, &o, b->s->nrow);
  for (int i = 0; i < b->acc.n; i++)
    for (int a = 0; a < l->p->arrs.v[b->acc.v[i].arr]->rank; a++)
      note(b, &v, tp_sb_extent_at(b, &b->acc.v[i], a));
  for (int i = 0; i < v.n; i++) end_access(b, v.v[i].end, v.v[i].upto);
  b->s->exact = tp_sb_is_exact(b);
  for (int k = 0; b->s->exact && tp_guard_part(l->p, b->s->guard, k, &end, &least); k++)
    rows_access(b, end);
  b->s->gacc = b->acc.n;
  for (int k = 0; tp_guard_part(l->p, b->s->guard, k, &end, &least); k++)
    end_access(b, end, b->s->exact ? tp_ix_addc(least, -1) : tp_ix_const(b->l->g->ix, 0));
  return true;
}

static bool finish(sb *b, const tp_out *res) {
  low *l = b->l;
  tp_stmt *s = b->s;
  tp_sb_sync(b);
  if (!wait_for_ends(b)) return false;
  int first = res ? tp_sb_find_there(b, res) : -1;
  bool apart = tp_graph_setting(l->g, "TEMPO_APART");
  TP_EACH (tp_access, x, b->acc) {
    tp_arr *r = l->p->arrs.v[x->arr];
    x->rel = tp_rel_restrict(
        tp_rel_at(b->l->g->ix, s->ndim, s->dim, r->ndim, r->dim, x->at), tp_set_copy(s->dom));
    x->alias = res && !apart && x->kind == TP_ACC_READ && tp_sb_writes_over(b, x, first, res);
  }
  s->acc = b->acc.v;
  s->nacc = b->acc.n;
  s->mayvec = tp_sb_may_vectorise(b);
  TP_PUSH(l->a, &l->p->stmts, s);
  return true;
}

static bool finish_src(sb *b, bool window, const tp_out *res) {
  tp_opnd o;
  return sb_src(b, &o) && tp_sb_use(b, &o, b->s->pos, window, true) && finish(b, res);
}

/* Adds the write of the array at the statement's own point of the array's dims. */
static void write_own(sb *b, tp_arr *x) {
  tp_at *w = TP_NEWN(b->l->a, tp_at, x->ndim);
  for (int d = 0; d < x->ndim; d++) w[d] = (tp_at){ .lo = tp_ix_sym(x->dim[d]) };
  tp_sb_access(b, TP_ACC_WRITE, x, w, b->s->pos);
}

/* ---- values that outputs take from a loop ---- */

static bool many_states(const low *l) {
  int states = 0;
  for (int i = 0; i < l->g->outputs.n; i++) states += l->g->outputs.v[i].hidden;
  return states > TP_TUNE_LAST_STATES;
}

/* A value that an output takes from one point of a loop, as the last one of a state, is copied
 * inside that loop, by hidden dims: the value that it is made from (a layer's gradient) may then be
 * freed before the next is made. The guards cost isl more than linear time: if there are many
 * states without further dims, they stay behind the loop. */
typedef struct {
  dim_list dims;
  tp_val src;
  tp_ix **srcat;
  tp_set *dom;
} taken_there;

static void take_there(low *l, int n, tp_dims dims, taken_there *x) {
  tp_ictx *c = l->g->ix;
  tp_opnd o;
  tp_at to[TP_MAXDIM];
  if (!tp_resolve(l->p, x->src, x->srcat, 0, NULL, NULL, &o, l->err)) return;
  const tp_node *u = o.base.node;
  tp_ix *is = tp_ix_bool(c, true), **at = tp_dup(l->a, o.idx, sizeof *o.idx * (size_t)u->ndom);
  if (!o.identity || l->p->mode[u->id] != TP_V_STORED || u->op == TP_OP_INPUT ||
      u->op == TP_OP_CONST || n + u->ndom > TP_MAXDIM)
    return;
  for (int d = 0; d < u->ndom; d++) {
    bool moves = tp_dom_has(n, dims, u->dom[d]);
    for (int e = 0; e < n; e++) moves |= tp_ix_mentions(at[d], dims[e]);
    if (moves) continue;
    tp_sym *h = tp_sym_hidden_dim(c, u->dom[d]->name);
    add_dim(&x->dims, h, u->dom[d]);
    is = tp_ix_and(is, tp_ix_cmp(TP_EQ, tp_ix_sym(h), at[d]));
    at[d] = tp_ix_sym(h);
  }
  if (x->dims.n == n) return;
  for (int d = 0; d < n; d++) to[d] = (tp_at){ .lo = tp_ix_sym(dims[d]) };
  x->dom = tp_set_and(tp_set_cond(c, x->dims.n, x->dims.dim, is),
      tp_set_apply(x->dom, tp_rel_reverse(tp_rel_at(c, x->dims.n, x->dims.dim, n, dims, to))));
  x->src = o.base;
  x->srcat = at;
}

/* The output's value is src at n's own points. */
static taken_there as_written(low *l, const tp_node *n, tp_val src, TP_TAKE tp_set *dom) {
  return (taken_there){ own_dims(n), src, tp_low_point(l, src.node->ndom, src.node->dom), dom };
}

static sb start_there(low *l, const taken_there *x, tp_node *n, tp_pos pos) {
  sb b = start_guarded(l, TP_ST_OP, &x->dims, x->dom, n);
  b.s->src = x->src;
  b.s->srcat = x->srcat;
  if (pos.file) b.s->pos = pos;
  return b;
}

/* ---- kinds of statements ---- */

bool tp_low_copy(low *l, tp_val v, tp_arr *to, tp_pos pos) {
  tp_node *n = v.node;
  taken_there x = as_written(l, n, v, tp_set_box(l->g->ix, n->ndom, n->dom));
  if (n->ndom) take_there(l, n->ndom, n->dom, &x);
  sb b = start_there(l, &x, n, pos);
  write_own(&b, to);
  return finish_src(&b, false, NULL);
}

/* The dims that a branch's condition sets equal to an expression without dims. */
static uint32_t pins(const tp_node *m, tp_ix *cond) {
  if (!cond) return 0;
  if (tp_ix_kind(cond) == TP_IX_AND) {
    uint32_t r = 0;
    for (int i = 0; i < tp_ix_narg(cond); i++) r |= pins(m, tp_ix_arg(cond, i));
    return r;
  }
  if (tp_ix_kind(cond) != TP_IX_EQ0) return 0;
  int found = -1, n = 0;
  for (int d = 0; d < m->ndom; d++)
    if (tp_ix_mentions(tp_ix_arg(cond, 0), m->dom[d])) {
      found = d;
      n++;
    }
  return n == 1 ? 1u << found : 0;
}

/* Bits of m's dims, as bits of the statement's dims. */
static uint32_t renumbered(const tp_node *m, const dim_list *v, uint32_t dims) {
  uint32_t r = 0;
  for (int d = 0; d < m->ndom; d++)
    for (int e = 0; e < v->n; e++)
      if ((dims >> d & 1) && v->dim[e] == m->dom[d]) r |= 1u << e;
  return r;
}

static bool lower_branch(low *l, tp_node *m, int k) {
  tp_set *dom = tp_set_and(tp_branch_set(l->g, m, k), tp_set_copy(l->need->set[m->id]));
  if (tp_set_is_empty(l->g->ix, dom)) {
    tp_set_free(dom);
    return true;
  }
  taken_there x = as_written(l, m, m->in[k].src, dom);
  tp_arr *to = tp_low_stored(l, tp_v(m));
  if (to->kind == TP_ARR_OUTPUT && (m->ndom || !many_states(l))) take_there(l, m->ndom, m->dom, &x);
  sb b = start_there(l, &x, m, m->in[k].pos);
  b.s->into = m;
  b.s->k = k;
  b.pinned = renumbered(m, &x.dims, pins(m, m->in[k].cond));
  write_own(&b, to);
  return finish_src(&b, false, &m->out[0]);
}

static bool init(low *l, tp_node *n, tp_arr *x) {
  sb b = start_own(l, TP_ST_INIT, n);
  b.s->into = n;
  write_own(&b, x);
  return finish(&b, NULL);
}

/* A contribution's target point, over the statement's dims. */
typedef struct {
  dim_list dims;
  tp_at u[TP_MAXDIM];
  tp_ix *row[TP_MAXDIM];
  int nrow;
} space;

/* Do its ranges grow or shrink from point to point (prefixes, suffixes), over elements all of which
 * are wanted? Then each point adds to the whole range in one call. In the target's order instead,
 * each point's contribution, which is as long as the range, would wait for its last element. */
static bool stretches(low *l, const tp_node *n, const tp_edge *e) {
  const tp_node *p = e->src.node;
  bool any = false;
  for (int d = 0; d < n->ndom; d++) {
    if (!e->at[d].range) continue;
    if (tp_moves(p, e->at[d].lo) == tp_moves(p, e->at[d].hi)) return false;
    any = true;
  }
  if (!any) return false;
  tp_set *to = tp_set_apply(tp_set_copy(l->need->set[p->id]),
      tp_rel_at(l->g->ix, p->ndom, p->dom, n->ndom, n->dom, e->at));
  bool all = tp_set_subset(l->g->ix, to, l->need->set[n->id]);
  tp_set_free(to);
  return all;
}

/* Otherwise the target's dims are hidden dims if the contribution sends a range there, or all of it
 * goes to one point. So it runs in the target's loop, at that point (the loss at the last step). */
static space scatter_space(low *l, const tp_node *n, const tp_edge *e) {
  space s = { 0 };
  const tp_node *p = e->src.node;
  bool ranges = stretches(l, n, e);
  for (int d = 0; d < n->ndom; d++) {
    s.u[d] = e->at[d];
    if (e->at[d].range ? ranges
                       : tp_moves(p, e->at[d].lo) || tp_dom_has(p->ndom, p->dom, n->dom[d]))
      continue;
    tp_sym *h = tp_sym_hidden_dim(l->g->ix, n->dom[d]->name);
    add_dim(&s.dims, h, n->dom[d]);
    s.u[d] = (tp_at){ .lo = tp_ix_sym(h) };
    if (e->at[d].range) s.row[s.nrow++] = tp_ix_sub(s.u[d].lo, e->at[d].lo);
  }
  for (int d = 0; d < p->ndom; d++) add_dim(&s.dims, p->dom[d], p->dom[d]);
  return s;
}

/* The part of a contribution's condition without ends. */
static tp_ix *plain(low *l, tp_ix *cond) {
  return tp_ix_both(tp_ix_bool(l->g->ix, true), tp_end_parts(l->g, cond, false));
}

/* cond, and lo <= x < hi. */
static tp_ix *in_range(tp_ix *cond, tp_ix *x, tp_ix *lo, tp_ix *hi) {
  cond = tp_ix_both(cond, tp_ix_cmp(TP_GE, x, lo));
  return tp_ix_both(cond, tp_ix_cmp(TP_LT, x, hi));
}

/* {statement point -> elements} that are needed, back to the points. */
static tp_set *where_needed(low *l, const tp_node *n, const space *s) {
  return tp_set_apply(tp_set_copy(l->need->set[n->id]),
      tp_rel_reverse(tp_rel_at(l->g->ix, s->dims.n, s->dims.dim, n->ndom, n->dom, s->u)));
}

static tp_set *scatter_domain(low *l, tp_node *n, const tp_edge *e, const space *s) {
  tp_ictx *c = l->g->ix;
  const tp_node *p = e->src.node;
  tp_ix *cond = plain(l, e->cond);
  for (int d = 0; d < p->ndom; d++)
    cond = in_range(cond, tp_ix_sym(p->dom[d]), tp_ix_const(c, 0), tp_ix_sym(p->dom[d]->bound));
  for (int d = 0; d < n->ndom; d++) {
    tp_ix *u = s->u[d].lo;
    if (s->u[d].range || u == e->at[d].lo) continue;
    cond = e->at[d].range ? in_range(cond, u, e->at[d].lo, e->at[d].hi)
                          : tp_ix_both(cond, tp_ix_cmp(TP_EQ, u, e->at[d].lo));
  }
  return tp_set_and(tp_set_cond(c, s->dims.n, s->dims.dim, cond), where_needed(l, n, s));
}

/* The guard that both points exist; asks: and that the ends which the contribution needs are
 * known. */
static tp_ix *contribution_guard(
    low *l, const tp_node *n, const space *s, const tp_node *p, tp_ixs pat, tp_ix *asks) {
  tp_ix *at[TP_MAXDIM], *there = tp_guard_of(l->p, p, pat);
  for (int d = 0; d < n->ndom; d++) at[d] = s->u[d].range ? NULL : s->u[d].lo;
  return tp_ix_both(tp_ix_both(tp_guard_of(l->p, n, at), there), asks);
}

static bool contribution(low *l, tp_node *n, int k, tp_arr *x) {
  tp_ictx *c = l->g->ix;
  const tp_edge *e = &n->in[k];
  const tp_node *p = e->src.node;
  space s = { 0 };
  tp_ix *pat[TP_MAXDIM];
  tp_set *dom;
  if (e->gather) {
    for (int d = 0; d < n->ndom; d++) {
      add_dim(&s.dims, n->dom[d], n->dom[d]);
      s.u[d] = (tp_at){ .lo = tp_ix_sym(n->dom[d]) };
    }
    tp_ix *cond = plain(l, e->cond);
    for (int d = 0; d < p->ndom; d++) {
      pat[d] = e->at[d].lo;
      if (!e->at[d].range) continue;
      tp_sym *h = tp_sym_hidden_dim(c, p->dom[d]->name);
      pat[d] = tp_ix_sym(h);
      /* a dim that both have is the node's */
      if (!tp_dom_has(n->ndom, n->dom, p->dom[d])) cond = tp_ix_subst(cond, 1, &p->dom[d], &pat[d]);
      add_dim(&s.dims, h, p->dom[d]);
      cond = in_range(cond, pat[d], e->at[d].lo, e->at[d].hi);
    }
    dom = tp_set_and(tp_set_cond(c, s.dims.n, s.dims.dim, cond), where_needed(l, n, &s));
  } else {
    s = scatter_space(l, n, e);
    for (int d = 0; d < p->ndom; d++) pat[d] = tp_ix_sym(p->dom[d]);
    dom = scatter_domain(l, n, e, &s);
  }
  if (s.dims.n > TP_MAXDIM) {
    tp_set_free(dom);
    return tp_fail(l->err, TP_E_OPTION, e->pos.file ? e->pos : n->pos,
        "option: what is added to %s runs over %d dims; at most %d are possible",
        tp_called(l->g, n), s.dims.n, TP_MAXDIM);
  }
  if (tp_set_is_empty(c, dom)) {
    tp_set_free(dom);
    return true;
  }
  sb b = start(l, TP_ST_ACC, &s.dims, dom, n);
  b.s->into = n;
  b.s->k = k;
  tp_ix *asks = tp_end_parts(l->g, e->cond, true);
  if (asks) asks = tp_at_point(l->p, p, asks, pat);
  b.s->guard = contribution_guard(l, n, &s, p, pat, asks);
  b.exact = asks;
  if (e->pos.file) b.s->pos = e->pos;
  b.s->src = e->src;
  b.s->srcat = tp_dup(l->a, pat, sizeof *pat * (size_t)p->ndom);
  b.s->nrow = s.nrow;
  b.s->row = tp_dup(l->a, s.row, sizeof *s.row * (size_t)s.nrow);
  tp_sb_access(&b, TP_ACC_UPDATE, x, tp_dup(l->a, s.u, sizeof *s.u * (size_t)n->ndom), b.s->pos);
  return finish_src(&b, false, NULL);
}

static bool accum(low *l, tp_node *n) {
  tp_arr *x = tp_low_stored(l, tp_v(n));
  if (!init(l, n, x)) return false;
  for (int k = 0; k < n->nin; k++)
    if (!contribution(l, n, k, x)) return false;
  return true;
}

static bool is_over(const tp_node *n, tp_sym *d) {
  return tp_dom_has(n->attr.nover, n->attr.over, d);
}

static bool lower_call(low *l, tp_node *n) {
  dim_list own = { 0 };
  for (int d = 0; d < n->ndom; d++)
    if (!is_over(n, n->dom[d])) add_dim(&own, n->dom[d], n->dom[d]);
  sb b = start(l, TP_ST_OP, &own, tp_set_box(l->g->ix, own.n, own.dim), n);
  const tp_node once = { .ndom = own.n, .dom = own.dim };
  b.s->effect = true;
  b.s->guard = tp_guard_of(l->p, &once, tp_low_point(l, own.n, own.dim));
  for (int o = 0; o < n->nout; o++) {
    tp_arr *x = tp_low_stored(l, (tp_val){ n, o });
    tp_at *w = TP_NEWN(l->a, tp_at, n->ndom);
    for (int d = 0; d < n->ndom; d++) {
      bool over = is_over(n, n->dom[d]);
      w[d] = (tp_at){ .range = over,
        .lo = over ? tp_ix_const(l->g->ix, 0) : tp_ix_sym(n->dom[d]),
        .hi = over ? tp_ix_sym(n->dom[d]->bound) : NULL };
      if (over) x->dense |= 1u << d;
    }
    tp_sb_access(&b, TP_ACC_WRITE, x, w, n->pos);
  }
  return tp_sb_emit(&b, n, tp_low_point(l, n->ndom, n->dom)) && finish(&b, NULL);
}

static bool view_itself(low *l, tp_node *n) {
  sb b = start_own(l, TP_ST_OP, n);
  b.s->src = tp_v(n);
  b.s->srcat = tp_low_point(l, n->ndom, n->dom);
  b.s->through = true;
  write_own(&b, tp_low_stored(l, tp_v(n)));
  return finish_src(&b, n->op == TP_OP_READ, NULL);
}

static bool operator(low *l, tp_node *n) {
  sb b = start_own(l, TP_ST_OP, n);
  for (int o = 0; o < n->nout; o++) write_own(&b, tp_low_stored(l, (tp_val){ n, o }));
  return tp_sb_emit(&b, n, tp_low_point(l, n->ndom, n->dom)) &&
      finish(&b, n->nout == 1 ? &n->out[0] : NULL);
}

bool tp_low_statements(low *l, tp_node *n) {
  switch (n->op) {
  case TP_OP_INPUT:
  case TP_OP_CONST: return true;
  case TP_OP_MERGE:
    for (int k = 0; k < n->nin; k++)
      if (!lower_branch(l, n, k)) return false;
    return true;
  case TP_OP_ACCUM: return accum(l, n);
  case TP_OP_CALL: return lower_call(l, n);
  case TP_OP_READ:
  case TP_OP_DETACH:
  case TP_OP_PERMUTE:
  case TP_OP_EXPAND:
  case TP_OP_SLICE:
  case TP_OP_FLIP:
  case TP_OP_UNFOLD: return view_itself(l, n);
  default: return operator(l, n);
  }
}
