/* stmts: the statements of one stored node, with the clusters that go into them. */
#include "poly/lower.h"

/* Operators of a statement, each an operand of the one before. They are found by recursion, which a
 * stack of 256 KiB must hold; their number (TP_TUNE_CLUSTER) is known only on the way back. */
enum { CLUSTER_DEPTH = 96 };

typedef struct { /* a statement being made */
  low *l;
  tp_stmt *s;
  uint32_t pinned; /* dims that its domain fixes to one value */
  bool exact;      /* its guard has to be */
  const tp_node *by;
  int operand; /* for whom what is met now is read */
  /* operators around what is met now; their numbers come after its own */
  int depth;
  TP_VEC(tp_node *) node;
  TP_VEC(const tp_ix **) at;
  TP_VEC(tp_access) acc;
} sb;

static bool use(sb *b, const tp_opnd *o, tp_pos pos, bool window, bool inside);

/* ---- dims ---- */

static int by_label(const tp_sym *a) { return a->order; }

/* Inserts a dim behind those of smaller or equal label. */
static int add_dim(
    const tp_sym **dim, const tp_sym **label, int n, const tp_sym *d, const tp_sym *lab) {
  int i = n;
  while (i > 0 && by_label(label[i - 1]) > by_label(lab)) {
    dim[i] = dim[i - 1];
    label[i] = label[i - 1];
    i--;
  }
  dim[i] = d;
  label[i] = lab;
  return n + 1;
}

static sb start(low *l, tp_stkind kind, int n, const tp_sym *const *dim, const tp_sym *const *label,
    tp_set *dom, tp_node *node) {
  tp_stmt *s = TP_NEW(l->a, tp_stmt);
  *s = (tp_stmt){ .id = l->p->stmts.n,
    .kind = kind,
    .k = -1,
    .ndim = n,
    .dim = tp_dup(l->a, dim, sizeof *dim * (size_t)n),
    .label = tp_dup(l->a, label, sizeof *label * (size_t)n),
    .pos = node->pos,
    .of = node };
  s->dom = dom;
  s->name = l->p->title[node->id];
  return (sb){ .l = l, .s = s };
}

static const tp_ix **subset(low *l, const tp_node *n, const tp_ix *const *at, const tp_node *src) {
  const tp_ix **out = TP_NEWN(l->a, const tp_ix *, src->ndom);
  for (int d = 0; d < src->ndom; d++)
    for (int e = 0; e < n->ndom; e++)
      if (n->dom[e] == src->dom[d]) out[d] = at[e];
  return out;
}

/* ---- what goes inside ---- */

static double sample_bytes(const sb *b, tp_val v) { /* at sample bounds */
  int n = tp_nsym(b->l->g->ix);
  tp_arena scratch;
  tp_scratch_init(&scratch);
  int64_t *env = TP_NEWN(&scratch, int64_t, n);
  for (int i = 0; i < n; i++) env[i] = tp_sym_at(b->l->g->ix, i)->kind == TP_SYM_BOUND ? 64 : 32;
  double s = tp_dtype_size(tp_dtypeof(v));
  const tp_out *t = tp_outof(v);
  for (int a = 0; a < t->rank; a++) s *= (double)tp_ix_evalq(t->shape[a], env);
  tp_arena_free(&scratch);
  return s;
}

/* Operands that have all the node's dims must wait for the reader: not worth it when they are
 * larger than the result. */
static bool worth(const sb *b, const tp_node *u) {
  if (b->s->kind == TP_ST_ACC) return true;
  double in = 0, out = sample_bytes(b, (tp_val){ (tp_node *)u, 0 });
  for (int k = 0; k < u->nin; k++)
    if (u->in[k].src.node->ndom == u->ndom) in += sample_bytes(b, u->in[k].src);
  return in <= 2 * out + 64;
}

/* Each dim of the statement that isn't pinned appears as dim + constant in exactly one index; the
 * other indices are constant. */
static bool one_to_one(const sb *b, const tp_opnd *o) {
  uint32_t seen = b->pinned;
  for (int d = 0; d < o->base.node->ndom; d++)
    for (int e = 0; e < b->s->ndim; e++) {
      int64_t c;
      const tp_ix *rest;
      if (!tp_ix_mentions(o->idx[d], b->s->dim[e])) continue;
      if (!tp_ix_linear_in(b->l->g->ix, o->idx[d], b->s->dim[e], &c, &rest) || c != 1 ||
          !tp_ix_is_const(rest, NULL) || (seen >> e & 1))
        return false;
      seen |= 1u << e;
    }
  return seen == (1u << b->s->ndim) - 1u;
}

bool tp_is_outer(const tp_node *n) {
  bool a = false, b = false;
  if (n->op != TP_OP_MUL) return false;
  const tp_out *x = tp_outof(n->in[0].src), *y = tp_outof(n->in[1].src);
  for (int i = 0; i < x->rank && x->rank == y->rank; i++) {
    a |= tp_is_number(x->shape[i], 1) && !tp_is_number(y->shape[i], 1);
    b |= tp_is_number(y->shape[i], 1) && !tp_is_number(x->shape[i], 1);
  }
  return a && b;
}

static bool has_shape_that_follows(tp_val v) {
  const tp_out *t = tp_outof(v);
  int axis;
  return tp_varies(t->rank, t->shape, v.node->ndom, v.node->dom, &axis);
}

/* A product along rows that follow its point, added up if it is an outer one: alone in its
 * statement, so that those of a block can be one (block.c). */
static bool multiplies_rows(const sb *b, const tp_node *n) {
  bool product = n->op == TP_OP_MATMUL || (b->s->kind == TP_ST_ACC && tp_is_outer(n)),
       follows = false;
  for (int k = 0; product && k < n->nin; k++) follows |= has_shape_that_follows(n->in[k].src);
  return follows;
}

static bool goes_inside(sb *b, const tp_opnd *o) {
  tp_node *u = o->base.node;
  low *l = b->l;
  if (u->nout != 1 || (l->nreader[u->id] != 1 && !l->apart[u->id]) || l->queued[u->id] || o->nvar ||
      b->node.n >= TP_TUNE_CLUSTER || b->depth >= CLUSTER_DEPTH || b->s->ndim >= TP_MAXDIM)
    return false;
  switch (tp_ops[u->op].cls) {
  case TP_CLS_TIME:
    if (u->op != TP_OP_PINIT) return false;
    break;
  case TP_CLS_FX:
  case TP_CLS_ENV:
  case TP_CLS_SORT: return false;
  case TP_CLS_SRC:
    if (u->op == TP_OP_INPUT || u->op == TP_OP_CONST) return false;
    break;
  case TP_CLS_MOVE:
    if (u->op != TP_OP_PAD && u->op != TP_OP_CONCAT && u->op != TP_OP_FOLD) return false;
    break;
  default: break;
  }
  if (u->op == TP_OP_DETACH ||
      (u->op == TP_OP_MATMUL && b->s->kind != TP_ST_ACC && multiplies_rows(b, u)))
    return false;
  return one_to_one(b, o) && worth(b, u);
}

int tp_stmt_find(const tp_stmt *s, const tp_opnd *o) {
  for (int i = 0; i < s->nnode; i++) {
    if (s->node[i] != o->base.node) continue;
    bool same = true;
    for (int d = 0; d < o->base.node->ndom; d++) same &= s->nodeat[i][d] == o->idx[d];
    if (same) return i;
  }
  return -1;
}

static void sync(sb *b) {
  b->s->nnode = b->node.n;
  b->s->node = b->node.v;
  b->s->nodeat = (const tp_ix *const **)b->at.v;
}

/* The loaded array that may take the place of a parameter's first value. */
static void parameter_access(sb *b, tp_node *n, const tp_ix *const *at) {
  tp_at *w = TP_NEWN(b->l->a, tp_at, n->ndom);
  for (int d = 0; d < n->ndom; d++) w[d] = (tp_at){ .lo = at[d] };
  TP_PUSH(b->l->a, &b->acc,
      (tp_access){ .kind = TP_ACC_READ,
          .arr = tp_low_array(b->l, tp_v(n), TP_ARR_PARAM, (int)n->attr.i[0])->id,
          .at = w,
          .pos = n->pos });
}

/* Is it the condition under which something is added? It is made before, so that nothing else runs
 * where it does not hold (plan/build.c). */
static bool decides(const sb *b, const tp_node *n, int k) {
  return k == 0 && n->op == TP_OP_SELECT && b->s->kind == TP_ST_ACC && b->s->src.node == n;
}

static bool is_elementwise(const tp_node *n) { return tp_ops[n->op].batch == TP_BATCH_E; }

/* May n's result lie where its operand k does? What else n needs is made first, of what is there
 * before. */
static bool may_change(const tp_node *n, int k, const tp_opnd *o) {
  const tp_node *x = o->base.node;
  if (tp_op_is(n->op, TP_PART) || n->op == TP_OP_PINIT) return k == 0;
  bool after = is_elementwise(n) && (tp_op_is(x->op, TP_PART) || x->op == TP_OP_CONCAT);
  return (after || n->op == TP_OP_CONCAT) && tp_same_type(tp_outof(o->base), &n->out[0]);
}

static bool use_operand(sb *b, const tp_node *n, const tp_ix **at, int k, bool last) {
  tp_opnd o;
  bool ok = n->op == TP_OP_CALL
      ? tp_call_operand(b->l->p, n, at, k, &o, b->l->err)
      : tp_resolve(b->l->p, n->in[k].src, subset(b->l, n, at, n->in[k].src.node), 0, NULL, NULL, &o,
            b->l->err);
  if (!ok || last != may_change(n, k, &o)) return ok;
  b->by = n, b->operand = k;
  return use(b, &o, n->in[k].pos.line ? n->in[k].pos : n->pos, tp_reads_ring(b->l, n, k),
      !decides(b, n, k) && !multiplies_rows(b, n));
}

static bool emit(sb *b, tp_node *n, const tp_ix **at) {
  b->depth++;
  for (int k = 0; k < 2 * n->nin; k++)
    if (!use_operand(b, n, at, k % n->nin, k >= n->nin)) return false;
  b->depth--;
  if (n->op == TP_OP_PINIT) parameter_access(b, n, at);
  TP_PUSH(b->l->a, &b->node, n);
  TP_PUSH(b->l->a, &b->at, at);
  sync(b);
  return true;
}

/* ---- accesses ---- */

static void add_access(sb *b, tp_acckind kind, tp_arr *x, const tp_at *at, tp_pos pos) {
  TP_PUSH(b->l->a, &b->acc, (tp_access){ .kind = kind, .arr = x->id, .at = at, .pos = pos });
}

static const tp_at *ats_of(sb *b, const tp_opnd *o, tp_arr *x, bool window) {
  tp_at *at = TP_NEWN(b->l->a, tp_at, x->ndim);
  int left = 0;
  for (int k = 0; k < o->nvar; k++)
    for (int d = 0; d < x->ndim; d++) left += tp_ix_mentions(o->idx[d], o->var[k]);
  for (int d = 0; d < x->ndim; d++) {
    at[d] = tp_any_end(b->l->p, (tp_at){ .lo = o->idx[d] }, x->dim[d]);
    if (at[d].range) x->dense |= 1u << d;
    for (int k = 0; k < o->nvar; k++) {
      if (!tp_ix_mentions(o->idx[d], o->var[k])) continue;
      const tp_ix *lo = tp_ix_sub(b->l->g->ix, o->idx[d], tp_ix_sym(b->l->g->ix, o->var[k]));
      at[d] = tp_any_end(b->l->p,
          (tp_at){ .range = true,
              .lo = lo,
              .hi = tp_ix_add(b->l->g->ix, o->hi[k], tp_ix_sub(b->l->g->ix, lo, o->lo[k])) },
          x->dim[d]);
      /* one axis of a copied window may lie on a ring */
      if (!window || --left > 0) x->dense |= 1u << d;
    }
  }
  return at;
}

static bool use(sb *b, const tp_opnd *o, tp_pos pos, bool window, bool inside) {
  low *l = b->l;
  if (TP_NEVER(o->bad)) return tp_fail(l->err, TP_E_SHAPE, pos, "a view that cannot be one");
  if (l->p->mode[o->base.node->id] == TP_V_INLINE || (inside && goes_inside(b, o))) {
    if (tp_stmt_find(b->s, o) >= 0) return true;
    return emit(b, o->base.node, o->idx);
  }
  tp_arr *x = tp_low_stored(l, o->base);
  add_access(b, TP_ACC_READ, x, ats_of(b, o, x, window), pos);
  tp_access *made = &b->acc.v[b->acc.n - 1];
  made->upto = o->upto;
  made->by = b->by, made->operand = b->operand;
  made->alias = o->identity;
  return true;
}

bool tp_adds_part(const tp_graph *g, const tp_stmt *s, const tp_node *n) {
  if (s->kind != TP_ST_ACC || s->nrow || tp_graph_setting(g, "TEMPO_APART") ||
      s->into->attr.red != TP_RED_SUM || s->into->attr.check || n->attr.check ||
      tp_dtype_size(n->out[0].dtype) < 4)
    return false;
  const tp_node *base = tp_op_is(n->op, TP_ADDS) ? n->in[0].src.node : NULL;
  while (base && base->op == TP_OP_EXPAND) base = base->in[0].src.node;
  return base ? base->op == TP_OP_FILL && base->attr.f[0] == 0
              : n->op == TP_OP_PAD && n->attr.f[0] == 0;
}

/* ---- which dims one call may run over ---- */

static bool depends(const sb *b, const tp_ix *e, const tp_sym *d) {
  return tp_depends(b->l->p, e, d);
}

static bool linear(const sb *b, const tp_ix *e, const tp_sym *d) {
  int64_t by;
  const tp_ix *rest;
  return tp_steps(b->l->p, e, d, &by, &rest);
}

/* Does number i add a row at a place that goes along d alone, another for each point? All lie
 * inside, unless rows go on beyond an end. */
static bool adds_apart(const sb *b, int i, const tp_sym *d) {
  const tp_node *n = b->s->node[i];
  int64_t rows, by;
  tp_opnd o;
  if (n->op != TP_OP_PAD || !tp_adds_part(b->l->g, b->s, n) || b->l->g->stops.n ||
      !tp_ix_is_const(tp_outof(n->in[0].src)->shape[n->attr.axis], &rows))
    return false;
  if (!tp_stmt_src(b->l->p, b->s, &o, b->l->err) || !o.identity || o.base.node != n) return false;
  const tp_ix *lo = tp_at_point(b->l->p, n, n->attr.ix[0], b->s->nodeat[i]), *rest;
  if (!tp_steps(b->l->p, lo, d, &by, &rest) || by == 0 || (by < 0 ? -by : by) < rows) return false;
  for (int k = 0; k < b->s->ndim; k++)
    if (depends(b, rest, b->s->dim[k])) return false;
  return true;
}

static bool node_allows(const sb *b, int i, const tp_sym *d) {
  const tp_node *n = b->s->node[i];
  const tp_ix *const *at = b->s->nodeat[i];
  if (tp_ops[n->op].batch == TP_BATCH_X && n->op != TP_OP_CONST) return false;
  for (int k = 0; k < n->ndom; k++)
    if (!linear(b, at[k], d)) return false;
  for (int o = 0; o < n->nout; o++)
    for (int a = 0; a < n->out[o].rank; a++)
      if (depends(b, tp_at_point(b->l->p, n, n->out[o].shape[a], at), d)) return false;
  if (n->op == TP_OP_VALUE)
    return linear(b, tp_at_point(b->l->p, n, n->attr.ix[0], at), d) ||
        !tp_mentions_end(b->l->g, n->attr.ix[0]);
  for (int k = 0; k < n->attr.nix; k++)
    if (depends(b, tp_at_point(b->l->p, n, n->attr.ix[k], at), d) && !adds_apart(b, i, d))
      return false;
  return true;
}

/* Axis a of what is accessed, over the statement's dims. */
static const tp_ix *extent_at(const sb *b, const tp_access *x, int a) {
  const tp_arr *r = b->l->p->arrs.v[x->arr];
  const tp_ix *at[r->ndim + 1];
  for (int k = 0; k < r->ndim; k++) at[k] = x->at[k].range ? NULL : x->at[k].lo;
  return tp_mentions_end(b->l->g, r->shape[a])
      ? tp_at_dims(b->l->p, r->shape[a], r->ndim, r->dim, at)
      : r->shape[a];
}

static bool access_allows(const sb *b, const tp_access *x, const tp_sym *d) {
  const tp_arr *r = b->l->p->arrs.v[x->arr];
  for (int a = 0; a < r->rank; a++)
    if (tp_next_end(b->l->p, extent_at(b, x, a), 0) >= 0 && depends(b, extent_at(b, x, a), d))
      return false;
  for (int a = 0; a < r->rank; a++) /* rows of one call have one shape */
    for (int k = 0; k < r->ndim; k++)
      if (tp_ix_mentions(r->shape[a], r->dim[k]) && (depends(b, x->at[k].lo, d) || x->at[k].range))
        return false;
  for (int k = 0; k < r->ndim; k++) {
    if (!linear(b, x->at[k].lo, d)) return false;
    if (x->at[k].range && (depends(b, x->at[k].lo, d) || depends(b, x->at[k].hi, d))) return false;
  }
  return true;
}

/* Of the first `rows` axes one row is taken, however many there are. */
static bool view_allows(const sb *b, const tp_opnd *o, int rows, const tp_sym *d) {
  bool ok = linear(b, o->off, d);
  for (int k = 0; k < o->base.node->ndom; k++) ok = ok && linear(b, o->idx[k], d);
  for (int a = 0; a < o->rank; a++)
    ok = ok && (a < rows || !depends(b, o->shape[a], d)) && !depends(b, o->stride[a], d);
  return ok;
}

static bool operands_allow(sb *b, const tp_sym *d) {
  tp_opnd o;
  for (int i = 0; i < b->s->nnode; i++)
    for (int k = 0; k < b->s->node[i]->nin; k++)
      if (!tp_stmt_operand(b->l->p, b->s, i, k, &o, b->l->err) || !view_allows(b, &o, 0, d))
        return false;
  for (int r = 0; r < b->s->nrow; r++)
    if (!linear(b, b->s->row[r], d)) return false;
  return !b->s->src.node ||
      (tp_stmt_src(b->l->p, b->s, &o, b->l->err) && view_allows(b, &o, b->s->nrow, d));
}

/* Can it fail where its extents, which vary from point to point, are too small? */
static bool fails_by_extent(const tp_node *n) {
  bool integer = n->nout && !tp_dtype_float(n->out[0].dtype), varies = false;
  if (tp_ops[n->op].cls != TP_CLS_ARG && !((n->op == TP_OP_MAX || n->op == TP_OP_MIN) && integer))
    return false;
  for (int a = 0; a < tp_rankof(n->in[0].src); a++)
    varies |= !tp_ix_is_const(tp_outof(n->in[0].src)->shape[a], NULL);
  return varies;
}

static bool is_exact(const sb *b) {
  bool exact = b->s->effect || b->exact;
  for (int i = 0; i < b->s->nnode; i++)
    exact |= fails_by_extent(b->s->node[i]) || b->s->node[i]->attr.check == TP_CHECK_NAN;
  return exact;
}

/* An exact guard cuts a call's range, and says the same of all its rows. */
static bool guard_allows(const sb *b, const tp_sym *d) {
  const tp_ix *least, *rest;
  int64_t coef;
  int end, n = 0;
  if (!is_exact(b)) return true;
  for (int k = 0; tp_guard_part(b->l->p, b->s->guard, k, &end, &least); k++) {
    const tp_ix *e = tp_ix_sym(b->l->g->ix, b->l->p->ends.v[end].sym);
    if (depends(b, e, d) ||
        (tp_ix_mentions(least, d) &&
            (n++ || !tp_ix_linear_in(b->l->g->ix, least, d, &coef, &rest) || coef != 1)))
      return false;
    for (int k2 = 0; tp_ix_mentions(least, d) && k2 < b->s->ndim; k2++)
      if (b->s->dim[k2] != d && tp_ix_mentions(least, b->s->dim[k2])) return false;
  }
  return true;
}

static uint32_t may_vectorise(sb *b) {
  uint32_t may = 0;
  if (b->s->effect) return 0;
  for (int d = 0; d < b->s->ndim; d++) {
    const tp_sym *s = b->s->dim[d];
    bool ok = guard_allows(b, s);
    for (int i = 0; i < b->s->nnode && ok; i++) ok = node_allows(b, i, s);
    for (int i = 0; i < b->acc.n && ok; i++) ok = access_allows(b, &b->acc.v[i], s);
    if (ok && operands_allow(b, s)) may |= 1u << d;
  }
  return may;
}

/* ---- in place ----
 * The operators of a statement run one after the other, elementwise ones that follow each other
 * together, and only the last writes the result. Who does not run together with the last has read
 * its operands by then. Who is elementwise, or copies, may write over what it sees as it sees its
 * result; so may an operator that begins with a copy of its first operand and changes a part of
 * that, and a concatenation over parts that lie where it puts them. What such an operator changes
 * may be another's value, which then lies where the result comes to lie (`there`): so of a row of
 * changes the first is the one that writes over what was read before. */

bool tp_is_version(const tp_poly *p, const tp_stmt *s, const tp_access *r, const tp_access *w) {
  const tp_arr *a = p->arrs.v[r->arr], *b = p->arrs.v[w->arr];
  bool is = r->kind == TP_ACC_READ && r->alias && a != b &&
      (r->by ? tp_op_is(r->by->op, TP_PART) || r->by->op == TP_OP_CONCAT : tp_is_copy(s));
  is = is && a->rank == b->rank && a->dtype == b->dtype && a->kind == TP_ARR_TEMP &&
      b->kind == TP_ARR_TEMP;
  for (int i = 0; is && i < a->rank; i++) is = a->shape[i] == b->shape[i];
  return is;
}

static int readings(const sb *b, const tp_node *by, int arr) {
  int n = 0;
  for (int i = 0; i < b->acc.n; i++)
    n += b->acc.v[i].kind == TP_ACC_READ && b->acc.v[i].arr == arr && b->acc.v[i].by == by;
  return n;
}

/* Is part k of the concatenation, number i of the cluster, a part of an array of the result's shape
 * just where the result has it? */
static bool stays_put(const sb *b, int i, int k) {
  tp_ictx *c = b->l->g->ix;
  const tp_node *n = b->s->node[i];
  const tp_ix *before = tp_ix_const(c, 0), *stride = tp_ix_const(c, 1);
  tp_opnd o;
  if (!tp_stmt_operand(b->l->p, b->s, i, k, &o, b->l->err) || o.nvar) return false;
  for (int j = 0; j < k; j++)
    before = tp_ix_add(c, before, tp_outof(n->in[j].src)->shape[n->attr.axis]);
  before = tp_at_point(b->l->p, n, before, b->s->nodeat[i]);
  for (int a = o.rank - 1; a >= 0; a--) {
    if (o.stride[a] != stride && !tp_is_number(o.shape[a], 1)) return false;
    if (a == n->attr.axis && o.off != tp_ix_mul(c, before, stride)) return false;
    stride = tp_ix_mul(c, stride, tp_outof(o.base)->shape[a]);
  }
  return true;
}

/* What number i, a concatenation, sees of the array lies where it will see it in the result. */
static bool all_stay(const sb *b, int i, int arr) {
  for (int k = 0; k < b->acc.n; k++) {
    const tp_access *x = &b->acc.v[k];
    if (x->kind == TP_ACC_READ && x->arr == arr && x->by == b->node.v[i] &&
        !stays_put(b, i, x->operand))
      return false;
  }
  return true;
}

static int last_place(const sb *b, const tp_node *n) {
  int i = b->node.n - 1;
  while (i >= 0 && b->node.v[i] != n) i--;
  return i;
}

/* first: the operator that writes where the result comes to lie, before others that do; -1: a copy
 * does. */
static bool writes_over(const sb *b, const tp_access *x, int first, const tp_out *res) {
  const tp_arr *r = b->l->p->arrs.v[x->arr];
  const tp_node *by = first < 0 ? NULL : b->node.v[first];
  if (by && x->by && last_place(b, x->by) > first) return false;
  if (x->by && x->by != by && !(is_elementwise(x->by) && (!by || is_elementwise(by)))) return true;
  if (r->rank != res->rank || r->dtype != res->dtype) return false;
  for (int a = 0; a < r->rank; a++)
    if (r->shape[a] != res->shape[a]) return false;
  if (by && x->by == by && by->op == TP_OP_CONCAT) return all_stay(b, first, x->arr);
  if (!x->alias) return false;
  if (x->by != by || !by || is_elementwise(by)) return true;
  return tp_op_is(by->op, TP_PART) && x->operand == 0 && readings(b, by, x->arr) == 1;
}

/* Values that elementwise operators may change where they lie: of operators whose own operands are
 * over, or that have none. */
static bool is_source(const tp_node *x) {
  return tp_op_is(x->op, TP_PART) || x->op == TP_OP_CONCAT || x->op == TP_OP_RAND;
}

/* By place: how many operands of the cluster show its value. */
static void count_showings(const sb *b, int *shown) {
  tp_opnd o;
  memset(shown, 0, sizeof *shown * (size_t)b->s->nnode);
  for (int i = 0; i < b->s->nnode; i++)
    for (int k = 0; k < b->s->node[i]->nin; k++) {
      int j = tp_stmt_operand(b->l->p, b->s, i, k, &o, b->l->err) ? tp_stmt_find(b->s, &o) : -1;
      if (j >= 0 && j < i) shown[j]++;
    }
}

/* Of the elementwise number i, through such as only serve it. */
static int changed_through(const sb *b, const int *shown, int i) {
  tp_opnd o;
  const tp_node *n = b->s->node[i];
  for (int k = 0; k < n->nin; k++) {
    int j = tp_stmt_operand(b->l->p, b->s, i, k, &o, b->l->err) && o.identity
        ? tp_stmt_find(b->s, &o)
        : -1;
    if (j < 0 || shown[j] != 1 || !tp_same_type(tp_outof(o.base), &n->out[0])) continue;
    if (is_source(b->s->node[j])) return j;
    int found = is_elementwise(b->s->node[j]) ? changed_through(b, shown, j) : -1;
    if (found >= 0) return found;
  }
  return -1;
}

/* The operator of the cluster whose value number i changes where it lies, as nobody else sees it;
 * -1: none. */
static int changed_by(const sb *b, const int *shown, int i) {
  const tp_node *n = b->s->node[i];
  int found = -1, seen = 0;
  tp_opnd o;
  if (is_elementwise(n)) return changed_through(b, shown, i);
  for (int k = 0; k < n->nin; k++) {
    if (!tp_stmt_operand(b->l->p, b->s, i, k, &o, b->l->err) || !may_change(n, k, &o)) continue;
    int j = tp_stmt_find(b->s, &o);
    if (j < 0 || (found >= 0 && j != found) ||
        !(n->op == TP_OP_CONCAT ? stays_put(b, i, k) : o.identity))
      continue;
    found = j;
    seen++;
  }
  return found >= 0 && (b->s->node[found]->op != TP_OP_FILL || seen == 1) && shown[found] == seen
      ? found
      : -1;
}

static bool varies(const sb *b, const tp_out *res) {
  bool any = false;
  for (int a = 0; a < res->rank; a++) {
    any |= tp_mentions_end(b->l->g, res->shape[a]);
    for (int d = 0; d < b->s->ndim; d++) any |= tp_ix_mentions(res->shape[a], b->s->dim[d]);
  }
  return any;
}

/* From the operator that writes the result back to the first whose value lies there. */
static int find_there(sb *b, int last, const tp_out *res) {
  int shown[TP_PLACES];
  if (last < 0 || b->s->nnode > TP_PLACES || varies(b, res)) return last;
  count_showings(b, shown);
  for (int i; (i = changed_by(b, shown, last)) >= 0; last = i) b->s->there |= 1ull << i;
  return last;
}

/* The operator that writes the result; -1: a copy does. */
static int last_writer(const sb *b) {
  tp_opnd o;
  if (!b->s->src.node) return b->node.n - 1;
  return tp_stmt_src(b->l->p, b->s, &o, b->l->err) && o.identity ? tp_stmt_find(b->s, &o) : -1;
}

/* ---- what ends it waits for ---- */

typedef struct {
  int end;
  const tp_ix *upto;
} end_wait; /* upto: as that of an access */
typedef TP_VEC(end_wait) end_list;

static void note(sb *b, end_list *v, const tp_ix *e) {
  for (int i = tp_next_end(b->l->p, e, 0); i >= 0; i = tp_next_end(b->l->p, e, i + 1)) {
    const tp_ix *upto = tp_end_wanted(b->l->p, e, i);
    int k = 0;
    while (k < v->n && v->v[k].end != i) k++;
    if (k == v->n) TP_PUSH(b->l->a, v, (end_wait){ i, upto });
    else if (v->v[k].upto) v->v[k].upto = upto ? tp_ix_max(b->l->g->ix, v->v[k].upto, upto) : NULL;
  }
}

static void note_operand(sb *b, end_list *v, const tp_opnd *o, int rows) {
  note(b, v, o->off);
  for (int d = 0; d < o->base.node->ndom; d++) note(b, v, o->idx[d]);
  for (int a = 0; a < o->rank; a++)
    note(b, v, a < rows ? NULL : o->shape[a]), note(b, v, o->stride[a]);
}

/* What leaves in one call along a dim to its end is cleared beyond (plan: rows). */
static void note_over(sb *b, end_list *v, const tp_node *n) {
  const tp_stmt *s = b->s;
  const tp_ix *at[s->ndim + 1];
  for (int d = 0; d < s->ndim; d++) at[d] = tp_ix_sym(b->l->g->ix, s->dim[d]);
  for (int k = 0; n->nin && k < n->attr.nover; k++)
    if (tp_stop_of(b->l->g, n->attr.over[k]))
      note(b, v,
          tp_at_dims(b->l->p, tp_ix_sym(b->l->g->ix, tp_stop_of(b->l->g, n->attr.over[k])->sym),
              s->ndim, s->label, at));
}

static bool note_node(sb *b, end_list *v, int i) {
  const tp_node *n = b->s->node[i];
  const tp_ix *const *at = b->s->nodeat[i];
  tp_opnd o;
  for (int k = 0; k < n->nout; k++)
    for (int a = 0; a < n->out[k].rank; a++)
      note(b, v, tp_at_point(b->l->p, n, n->out[k].shape[a], at));
  for (int k = 0; k < n->attr.nix; k++) note(b, v, tp_at_point(b->l->p, n, n->attr.ix[k], at));
  if (n->op == TP_OP_CALL) note_over(b, v, n);
  for (int k = 0; k < n->nin; k++) {
    if (!tp_stmt_operand(b->l->p, b->s, i, k, &o, b->l->err)) return false;
    note_operand(b, v, &o, 0);
  }
  return true;
}

static void end_access(sb *b, int end, const tp_ix *upto) {
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

/* The greatest of rows is that of rows which are there: it waits for the ends of their dims. */
static void rows_access(sb *b, int end) {
  const tp_end e = b->l->p->ends.v[end];
  for (int d = 0; d < b->l->g->stops.v[e.stop].ndom; d++) {
    const tp_ix *rows = tp_end_of_rows(b->l->p, &e, d);
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
  const tp_ix *least;
  if (!l->g->stops.n) return true;
  for (int i = 0; i < b->s->nnode; i++)
    if (!note_node(b, &v, i)) return false;
  if (b->s->src.node && !tp_stmt_src(l->p, b->s, &o, l->err)) return false;
  if (b->s->src.node) note_operand(b, &v, &o, b->s->nrow);
  for (int i = 0; i < b->acc.n; i++)
    for (int a = 0; a < l->p->arrs.v[b->acc.v[i].arr]->rank; a++)
      note(b, &v, extent_at(b, &b->acc.v[i], a));
  for (int i = 0; i < v.n; i++) end_access(b, v.v[i].end, v.v[i].upto);
  b->s->exact = is_exact(b);
  for (int k = 0; b->s->exact && tp_guard_part(l->p, b->s->guard, k, &end, &least); k++)
    rows_access(b, end);
  b->s->gacc = b->acc.n;
  for (int k = 0; tp_guard_part(l->p, b->s->guard, k, &end, &least); k++)
    end_access(
        b, end, b->s->exact ? tp_ix_addc(b->l->g->ix, least, -1) : tp_ix_const(b->l->g->ix, 0));
  return true;
}

static bool finish(sb *b, const tp_out *res) {
  low *l = b->l;
  tp_stmt *s = b->s;
  sync(b);
  if (!wait_for_ends(b)) return false;
  int first = res ? find_there(b, last_writer(b), res) : -1;
  bool apart = tp_graph_setting(l->g, "TEMPO_APART");
  for (int i = 0; i < b->acc.n; i++) {
    tp_access *x = &b->acc.v[i];
    tp_arr *r = l->p->arrs.v[x->arr];
    x->rel = tp_rel_restrict(
        tp_rel_at(b->l->g->ix, s->ndim, s->dim, r->ndim, r->dim, x->at), tp_set_copy(s->dom));
    x->alias = res && !apart && x->kind == TP_ACC_READ && writes_over(b, x, first, res);
  }
  s->acc = b->acc.v;
  s->nacc = b->acc.n;
  s->mayvec = may_vectorise(b);
  TP_PUSH(l->a, &l->p->stmts, s);
  return true;
}

static void write_first(sb *b, tp_acckind kind, tp_arr *x, const tp_ix *const *at) {
  tp_at *w = TP_NEWN(b->l->a, tp_at, x->ndim);
  for (int d = 0; d < x->ndim; d++) w[d] = (tp_at){ .lo = at[d] };
  add_access(b, kind, x, w, b->s->pos);
}

/* ---- what outputs take ---- */

static bool many_states(const low *l) {
  int states = 0;
  for (int i = 0; i < l->g->outputs.n; i++) states += l->g->outputs.v[i].hidden;
  return states > TP_TUNE_LAST_STATES;
}

/* What an output takes from one point of a loop, as of a state from its last one, is taken there,
 * inside that loop, by hidden dims: what it is made from (a layer's gradient, the new moments of an
 * optimiser) may be gone before the next one's is made. Each such statement has a guard of its own
 * in the loop, which costs isl more than linear time: where there are many without further dims,
 * they stay behind the loop. */
typedef struct {
  int n;
  const tp_sym *dim[TP_MAXDIM], *label[TP_MAXDIM];
  tp_val src;
  const tp_ix **srcat;
  tp_set *dom;
} taken_there;

static void take_there(low *l, int n, const tp_sym *const *dims, taken_there *x) {
  tp_ictx *c = l->g->ix;
  tp_opnd o;
  tp_at to[TP_MAXDIM];
  if (!tp_resolve(l->p, x->src, x->srcat, 0, NULL, NULL, &o, l->err)) return;
  const tp_node *u = o.base.node;
  const tp_ix *is = tp_ix_bool(c, true),
              **at = tp_dup(l->a, o.idx, sizeof *o.idx * (size_t)u->ndom);
  if (!o.identity || l->p->mode[u->id] != TP_V_STORED || u->op == TP_OP_INPUT ||
      u->op == TP_OP_CONST || x->n + u->ndom > TP_MAXDIM)
    return;
  for (int d = 0; d < u->ndom; d++) {
    bool moves = tp_dom_has(n, dims, u->dom[d]);
    for (int e = 0; e < n; e++) moves |= tp_ix_mentions(at[d], dims[e]);
    if (moves) continue;
    const tp_sym *h = tp_sym_hidden_dim(c, u->dom[d]->name);
    x->n = add_dim(x->dim, x->label, x->n, h, u->dom[d]);
    is = tp_ix_and(c, is, tp_ix_cmp(c, TP_EQ, tp_ix_sym(c, h), at[d]));
    at[d] = tp_ix_sym(c, h);
  }
  if (x->n == n) return;
  for (int d = 0; d < n; d++) to[d] = (tp_at){ .lo = tp_ix_sym(c, dims[d]) };
  x->dom = tp_set_and(tp_set_cond(c, x->n, x->dim, is),
      tp_set_apply(x->dom, tp_rel_reverse(tp_rel_at(c, x->n, x->dim, n, dims, to))));
  x->src = o.base;
  x->srcat = at;
}

static taken_there as_written(
    low *l, int n, const tp_sym *const *dims, tp_val src, TP_TAKE tp_set *dom) {
  taken_there x = { .src = src, .dom = dom };
  for (int d = 0; d < n; d++) x.n = add_dim(x.dim, x.label, x.n, dims[d], dims[d]);
  x.srcat = TP_NEWN(l->a, const tp_ix *, src.node->ndom);
  for (int d = 0; d < src.node->ndom; d++) x.srcat[d] = tp_ix_sym(l->g->ix, src.node->dom[d]);
  return x;
}

/* ---- kinds of statements ---- */

bool tp_low_copy(low *l, tp_val v, tp_arr *to, tp_pos pos) {
  const tp_node *n = v.node;
  taken_there x = as_written(l, n->ndom, n->dom, v, tp_set_box(l->g->ix, n->ndom, n->dom));
  if (n->ndom) take_there(l, n->ndom, n->dom, &x);
  sb b = start(l, TP_ST_OP, x.n, x.dim, x.label, x.dom, v.node);
  if (pos.file) b.s->pos = pos;
  b.s->guard = tp_guard_of(l->p, n, tp_low_point(l, n->ndom, n->dom));
  b.s->src = x.src;
  b.s->srcat = x.srcat;
  write_first(&b, TP_ACC_WRITE, to, tp_low_point(l, n->ndom, n->dom));
  tp_opnd o;
  if (!tp_stmt_src(l->p, b.s, &o, l->err) || !use(&b, &o, b.s->pos, false, true)) return false;
  return finish(&b, NULL);
}

/* Dims that a branch's condition sets equal to something without dims. */
static uint32_t pins(const tp_node *m, const tp_ix *cond) {
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

/* Bits of m's dims as the statement has them. */
static uint32_t renumbered(const tp_node *m, const taken_there *x, uint32_t dims) {
  uint32_t r = 0;
  for (int d = 0; d < m->ndom; d++)
    for (int e = 0; e < x->n; e++)
      if ((dims >> d & 1) && x->dim[e] == m->dom[d]) r |= 1u << e;
  return r;
}

static bool lower_branch(low *l, tp_node *m, int k) {
  tp_set *dom = tp_set_and(tp_branch_set(l->g, m, k), tp_set_copy(l->need->set[m->id]));
  if (tp_set_is_empty(l->g->ix, dom)) {
    tp_set_free(dom);
    return true;
  }
  taken_there x = as_written(l, m->ndom, m->dom, m->in[k].src, dom);
  tp_arr *to = tp_low_stored(l, tp_v(m));
  if (to->kind == TP_ARR_OUTPUT && (m->ndom || !many_states(l))) take_there(l, m->ndom, m->dom, &x);
  sb b = start(l, TP_ST_OP, x.n, x.dim, x.label, x.dom, m);
  b.s->into = m;
  b.s->k = k;
  b.s->guard = tp_guard_of(l->p, m, tp_low_point(l, m->ndom, m->dom));
  if (m->in[k].pos.file) b.s->pos = m->in[k].pos;
  b.pinned = renumbered(m, &x, pins(m, m->in[k].cond));
  b.s->src = x.src;
  b.s->srcat = x.srcat;
  write_first(&b, TP_ACC_WRITE, to, tp_low_point(l, m->ndom, m->dom));
  tp_opnd o;
  if (!tp_stmt_src(l->p, b.s, &o, l->err) || !use(&b, &o, b.s->pos, false, true)) return false;
  return finish(&b, &m->out[0]);
}

static bool init(low *l, tp_node *n, tp_arr *x) {
  sb b = start(l, TP_ST_INIT, n->ndom, n->dom, n->dom, tp_set_copy(l->need->set[n->id]), n);
  b.s->into = n;
  b.s->guard = tp_guard_of(l->p, n, tp_low_point(l, n->ndom, n->dom));
  write_first(&b, TP_ACC_WRITE, x, tp_low_point(l, n->ndom, n->dom));
  return finish(&b, NULL);
}

/* Where a contribution goes, over the statement's dims. */
typedef struct {
  int n;
  const tp_sym *dim[2 * TP_MAXDIM], *label[2 * TP_MAXDIM];
  tp_at u[TP_MAXDIM];
  const tp_ix *row[TP_MAXDIM];
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

/* Otherwise hidden dims of the target: where the contribution sends a range, and where all of it
 * goes to one point. So this runs in the target's loop, at that point, and not before all of it
 * (the loss at the last step, in front of the loop back through time). */
static space scatter_space(low *l, const tp_node *n, const tp_edge *e) {
  space s = { 0 };
  const tp_node *p = e->src.node;
  bool ranges = stretches(l, n, e);
  for (int d = 0; d < n->ndom; d++) {
    s.u[d] = e->at[d];
    if (e->at[d].range ? ranges
                       : tp_moves(p, e->at[d].lo) || tp_dom_has(p->ndom, p->dom, n->dom[d]))
      continue;
    const tp_sym *h = tp_sym_hidden_dim(l->g->ix, n->dom[d]->name);
    s.n = add_dim(s.dim, s.label, s.n, h, n->dom[d]);
    s.u[d] = (tp_at){ .lo = tp_ix_sym(l->g->ix, h) };
    if (e->at[d].range) s.row[s.nrow++] = tp_ix_sub(l->g->ix, s.u[d].lo, e->at[d].lo);
  }
  for (int d = 0; d < p->ndom; d++) s.n = add_dim(s.dim, s.label, s.n, p->dom[d], p->dom[d]);
  return s;
}

/* What a contribution's condition says but for ends. */
static const tp_ix *plain(low *l, const tp_ix *cond) {
  return tp_ix_both(l->g->ix, tp_ix_bool(l->g->ix, true), tp_end_parts(l->g, cond, false));
}

static const tp_ix *in_box(low *l, const tp_sym *d) {
  tp_ictx *c = l->g->ix;
  const tp_ix *x = tp_ix_sym(c, d);
  return tp_ix_both(
      c, tp_ix_cmp(c, TP_GE, x, tp_ix_const(c, 0)), tp_ix_cmp(c, TP_LT, x, tp_ix_sym(c, d->bound)));
}

/* {statement point -> elements} that are needed, back to the points. */
static tp_set *where_needed(low *l, const tp_node *n, const space *s) {
  return tp_set_apply(tp_set_copy(l->need->set[n->id]),
      tp_rel_reverse(tp_rel_at(l->g->ix, s->n, s->dim, n->ndom, n->dom, s->u)));
}

static tp_set *scatter_domain(low *l, tp_node *n, const tp_edge *e, const space *s) {
  tp_ictx *c = l->g->ix;
  const tp_node *p = e->src.node;
  const tp_ix *cond = plain(l, e->cond);
  for (int d = 0; d < p->ndom; d++) cond = tp_ix_both(c, cond, in_box(l, p->dom[d]));
  for (int d = 0; d < n->ndom; d++) {
    const tp_ix *u = s->u[d].lo;
    if (s->u[d].range || u == e->at[d].lo) continue;
    if (!e->at[d].range) cond = tp_ix_both(c, cond, tp_ix_cmp(c, TP_EQ, u, e->at[d].lo));
    else
      cond = tp_ix_both(c, cond,
          tp_ix_both(c, tp_ix_cmp(c, TP_GE, u, e->at[d].lo), tp_ix_cmp(c, TP_LT, u, e->at[d].hi)));
  }
  return tp_set_and(tp_set_cond(c, s->n, s->dim, cond), where_needed(l, n, s));
}

/* Both points are there; asks: and what the contribution has to know of ends. */
static const tp_ix *contribution_guard(low *l, const tp_node *n, const space *s, const tp_node *p,
    const tp_ix *const *pat, const tp_ix *asks) {
  const tp_ix *at[TP_MAXDIM], *there = tp_guard_of(l->p, p, pat);
  for (int d = 0; d < n->ndom; d++) at[d] = s->u[d].range ? NULL : s->u[d].lo;
  return tp_ix_both(l->g->ix, tp_ix_both(l->g->ix, tp_guard_of(l->p, n, at), there), asks);
}

static bool contribution(low *l, tp_node *n, int k, tp_arr *x) {
  tp_ictx *c = l->g->ix;
  const tp_edge *e = &n->in[k];
  const tp_node *p = e->src.node;
  space s = { 0 };
  const tp_ix *pat[TP_MAXDIM];
  tp_set *dom;
  if (e->gather) {
    for (int d = 0; d < n->ndom; d++) {
      s.n = add_dim(s.dim, s.label, s.n, n->dom[d], n->dom[d]);
      s.u[d] = (tp_at){ .lo = tp_ix_sym(c, n->dom[d]) };
    }
    const tp_ix *cond = plain(l, e->cond);
    for (int d = 0; d < p->ndom; d++) {
      pat[d] = e->at[d].lo;
      if (!e->at[d].range) continue;
      const tp_sym *h = tp_sym_hidden_dim(c, p->dom[d]->name);
      pat[d] = tp_ix_sym(c, h);
      /* a dim that both have is the node's */
      if (!tp_dom_has(n->ndom, n->dom, p->dom[d]))
        cond = tp_ix_subst(c, cond, 1, &p->dom[d], &pat[d]);
      s.n = add_dim(s.dim, s.label, s.n, h, p->dom[d]);
      cond = tp_ix_both(c, cond,
          tp_ix_both(c, tp_ix_cmp(c, TP_GE, pat[d], e->at[d].lo),
              tp_ix_cmp(c, TP_LT, pat[d], e->at[d].hi)));
    }
    dom = tp_set_and(tp_set_cond(c, s.n, s.dim, cond), where_needed(l, n, &s));
  } else {
    s = scatter_space(l, n, e);
    for (int d = 0; d < p->ndom; d++) pat[d] = tp_ix_sym(c, p->dom[d]);
    dom = scatter_domain(l, n, e, &s);
  }
  if (s.n > TP_MAXDIM) {
    tp_set_free(dom);
    return tp_fail(l->err, TP_E_OPTION, e->pos.file ? e->pos : n->pos,
        "option: what is added to %s runs over %d dims; at most %d are possible",
        tp_called(l->g, n), s.n, TP_MAXDIM);
  }
  if (tp_set_is_empty(c, dom)) {
    tp_set_free(dom);
    return true;
  }
  sb b = start(l, TP_ST_ACC, s.n, s.dim, s.label, dom, n);
  b.s->into = n;
  b.s->k = k;
  const tp_ix *asks = tp_end_parts(l->g, e->cond, true);
  if (asks) asks = tp_at_point(l->p, p, asks, pat);
  b.s->guard = contribution_guard(l, n, &s, p, pat, asks);
  b.exact = asks;
  if (e->pos.file) b.s->pos = e->pos;
  b.s->src = e->src;
  b.s->srcat = tp_dup(l->a, pat, sizeof *pat * (size_t)p->ndom);
  b.s->nrow = s.nrow;
  b.s->row = tp_dup(l->a, s.row, sizeof *s.row * (size_t)s.nrow);
  add_access(&b, TP_ACC_UPDATE, x, tp_dup(l->a, s.u, sizeof *s.u * (size_t)n->ndom), b.s->pos);
  tp_opnd o;
  if (!tp_stmt_src(l->p, b.s, &o, l->err) || !use(&b, &o, b.s->pos, false, true)) return false;
  return finish(&b, NULL);
}

static bool accum(low *l, tp_node *n) {
  tp_arr *x = tp_low_stored(l, tp_v(n));
  if (!init(l, n, x)) return false;
  for (int k = 0; k < n->nin; k++)
    if (!contribution(l, n, k, x)) return false;
  return true;
}

static bool is_over(const tp_node *n, const tp_sym *d) {
  return tp_dom_has(n->attr.nover, n->attr.over, d);
}

bool tp_call_operand(
    tp_poly *p, const tp_node *n, const tp_ix *const *at, int k, tp_opnd *o, tp_error *err) {
  tp_ictx *c = p->g->ix;
  const tp_sym *var[TP_MAXDIM];
  const tp_ix *ext[TP_MAXDIM], *vat[TP_MAXDIM];
  int nl = 0;
  tp_val v = n->in[k].src;
  for (int d = 0; d < n->ndom; d++)
    if (is_over(n, n->dom[d])) {
      var[nl] = tp_sym_var(c, "a");
      ext[nl++] = tp_ix_sym(c, n->dom[d]->bound);
    }
  for (int d = 0; d < v.node->ndom; d++)
    for (int e = 0, q = 0; e < n->ndom; e++) {
      bool over = is_over(n, n->dom[e]);
      if (n->dom[e] == v.node->dom[d]) vat[d] = over ? tp_ix_sym(c, var[q]) : at[e];
      q += over;
    }
  return tp_resolve(p, v, vat, nl, var, ext, o, err);
}

static bool lower_call(low *l, tp_node *n) {
  const tp_sym *dims[TP_MAXDIM] = { 0 };
  int nd = 0;
  for (int d = 0; d < n->ndom; d++)
    if (!is_over(n, n->dom[d])) dims[nd++] = n->dom[d];
  sb b = start(l, TP_ST_OP, nd, dims, dims, tp_set_box(l->g->ix, nd, dims), n);
  b.s->effect = true;
  b.s->guard = tp_guard_of(l->p, &(tp_node){ .ndom = nd, .dom = dims }, tp_low_point(l, nd, dims));
  for (int o = 0; o < n->nout; o++) {
    tp_arr *x = tp_low_stored(l, (tp_val){ n, o });
    tp_at *w = TP_NEWN(l->a, tp_at, n->ndom);
    for (int d = 0; d < n->ndom; d++) {
      bool over = is_over(n, n->dom[d]);
      w[d] = (tp_at){ .range = over,
        .lo = over ? tp_ix_const(l->g->ix, 0) : tp_ix_sym(l->g->ix, n->dom[d]),
        .hi = over ? tp_ix_sym(l->g->ix, n->dom[d]->bound) : NULL };
      if (over) x->dense |= 1u << d;
    }
    add_access(&b, TP_ACC_WRITE, x, w, n->pos);
  }
  if (!emit(&b, n, tp_low_point(l, n->ndom, n->dom))) return false;
  return finish(&b, NULL);
}

static bool view_itself(low *l, tp_node *n) {
  sb b = start(l, TP_ST_OP, n->ndom, n->dom, n->dom, tp_set_copy(l->need->set[n->id]), n);
  b.s->guard = tp_guard_of(l->p, n, tp_low_point(l, n->ndom, n->dom));
  b.s->src = tp_v(n);
  b.s->srcat = tp_low_point(l, n->ndom, n->dom);
  b.s->through = true;
  write_first(&b, TP_ACC_WRITE, tp_low_stored(l, tp_v(n)), b.s->srcat);
  tp_opnd o;
  if (!tp_stmt_src(l->p, b.s, &o, l->err) || !use(&b, &o, n->pos, n->op == TP_OP_READ, true))
    return false;
  return finish(&b, NULL);
}

static bool operator(low *l, tp_node *n) {
  sb b = start(l, TP_ST_OP, n->ndom, n->dom, n->dom, tp_set_copy(l->need->set[n->id]), n);
  const tp_ix **at = tp_low_point(l, n->ndom, n->dom);
  b.s->guard = tp_guard_of(l->p, n, at);
  for (int o = 0; o < n->nout; o++)
    write_first(&b, TP_ACC_WRITE, tp_low_stored(l, (tp_val){ n, o }), at);
  if (!emit(&b, n, at)) return false;
  return finish(&b, n->nout == 1 ? &n->out[0] : NULL);
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

bool tp_stmt_operand(tp_poly *p, const tp_stmt *s, int i, int k, tp_opnd *out, tp_error *err) {
  const tp_node *n = s->node[i];
  if (n->op == TP_OP_CALL) return tp_call_operand(p, n, s->nodeat[i], k, out, err);
  tp_val v = n->in[k].src;
  const tp_ix **at = TP_NEWN(p->a, const tp_ix *, v.node->ndom);
  for (int d = 0; d < v.node->ndom; d++)
    for (int e = 0; e < n->ndom; e++)
      if (n->dom[e] == v.node->dom[d]) at[d] = s->nodeat[i][e];
  return tp_resolve(p, v, at, 0, NULL, NULL, out, err);
}

bool tp_stmt_src(tp_poly *p, const tp_stmt *s, tp_opnd *out, tp_error *err) {
  tp_node *n = s->src.node;
  tp_vmode was = p->mode[n->id];
  if (s->through) p->mode[n->id] = TP_V_VIEW;
  bool ok = tp_resolve(p, s->src, s->srcat, 0, NULL, NULL, out, err);
  p->mode[n->id] = was;
  return ok;
}
