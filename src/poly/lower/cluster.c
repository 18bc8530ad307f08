/* cluster: chooses the operators that go into a statement, and notes what it reads. */
#include "poly/lower/stmts.h"

/* Operators of a statement, each an operand of the one before: the recursion must fit a stack of
 * 256 KiB. */
enum { CLUSTER_DEPTH = 96 };

/* ---- operators that go inside ---- */

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

/* Is u worth taking in? Operands that have all of u's dims must then wait for the reader, which
 * does not pay if they are larger than the result. */
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
      tp_ix *rest;
      if (!tp_ix_mentions(o->idx[d], b->s->dim[e])) continue;
      if (!tp_ix_linear_in(o->idx[d], b->s->dim[e], &c, &rest) || c != 1 ||
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

/* Is n a product along rows that follow its point (an outer product only if it is added up)? It
 * stays alone in its statement, so that the products of a block can be one (block.c). */
static bool multiplies_rows(const sb *b, const tp_node *n) {
  bool product = n->op == TP_OP_MATMUL || (b->s->kind == TP_ST_ACC && tp_is_outer(n)),
       follows = false;
  for (int k = 0; product && k < n->nin; k++) follows |= has_shape_that_follows(n->in[k].src);
  return follows;
}

/* Is the product a part of what grows with its point, and does not grow itself? Alone it may run
 * over all points of a block. */
static bool is_steady_part(const sb *b, const tp_node *u) {
  return u->op == TP_OP_MATMUL && b->by && b->by->op == TP_OP_CONCAT &&
      has_shape_that_follows(tp_v((tp_node *)b->by)) && !has_shape_that_follows(tp_v((tp_node *)u));
}

/* Values that a reader of u chooses may be read beyond an end, as those of a mask are, and u, which
 * must not run there, would keep the reader from making them. */
static bool keeps_from_rows(const sb *b, const tp_node *u) {
  return b->l->g->stops.n && tp_is_exact(u) && b->by && !tp_is_exact(b->by);
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
  if (u->op == TP_OP_DETACH || is_steady_part(b, u) || keeps_from_rows(b, u) ||
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

void tp_sb_sync(sb *b) {
  b->s->nnode = b->node.n;
  b->s->node = b->node.v;
  b->s->nodeat = (tp_ix *const **)b->at.v;
}

/* Adds the read of the loaded array that may take the place of a parameter's first value. */
static void parameter_access(sb *b, tp_node *n, tp_ixs at) {
  tp_at *w = TP_NEWN(b->l->a, tp_at, n->ndom);
  for (int d = 0; d < n->ndom; d++) w[d] = (tp_at){ .lo = at[d] };
  TP_PUSH(b->l->a, &b->acc,
      (tp_access){ .kind = TP_ACC_READ,
          .arr = tp_low_array(b->l, tp_v(n), TP_ARR_PARAM, (int)n->attr.number)->id,
          .at = w,
          .pos = n->pos });
}

/* Is operand k the condition under which something is added? It is made first, so that nothing else
 * runs where it does not hold (plan/build.c). */
static bool decides(const sb *b, const tp_node *n, int k) {
  return k == 0 && n->op == TP_OP_SELECT && b->s->kind == TP_ST_ACC && b->s->src.node == n;
}

bool tp_is_elementwise(const tp_node *n) { return tp_ops[n->op].batch == TP_BATCH_E; }

bool tp_may_change(const tp_node *n, int k, const tp_opnd *o) {
  const tp_node *x = o->base.node;
  if (tp_op_is(n->op, TP_PART) || n->op == TP_OP_PINIT) return k == 0;
  bool after = tp_is_elementwise(n) && (tp_op_is(x->op, TP_PART) || x->op == TP_OP_CONCAT);
  return (after || n->op == TP_OP_CONCAT) && tp_same_type(tp_outof(o->base), &n->out[0]);
}

static bool use_operand(sb *b, const tp_node *n, tp_ix **at, int k, bool last) {
  tp_opnd o;
  bool ok = tp_node_operand(b->l->p, n, at, k, &o, b->l->err);
  if (!ok || last != tp_may_change(n, k, &o)) return ok;
  b->by = n, b->operand = k;
  return tp_sb_use(b, &o, n->in[k].pos.line ? n->in[k].pos : n->pos, tp_reads_ring(b->l, n, k),
      !decides(b, n, k) && !multiplies_rows(b, n));
}

bool tp_sb_emit(sb *b, tp_node *n, tp_ix **at) {
  b->depth++;
  for (int k = 0; k < 2 * n->nin; k++)
    if (!use_operand(b, n, at, k % n->nin, k >= n->nin)) return false;
  b->depth--;
  if (n->op == TP_OP_PINIT) parameter_access(b, n, at);
  TP_PUSH(b->l->a, &b->node, n);
  TP_PUSH(b->l->a, &b->at, at);
  tp_sb_sync(b);
  return true;
}

/* ---- accesses ---- */

void tp_sb_access(sb *b, tp_acckind kind, tp_arr *x, const tp_at *at, tp_pos pos) {
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
      tp_ix *lo = tp_ix_sub(o->idx[d], tp_ix_sym(o->var[k]));
      at[d] = tp_any_end(b->l->p,
          (tp_at){ .range = true, .lo = lo, .hi = tp_ix_add(o->hi[k], tp_ix_sub(lo, o->lo[k])) },
          x->dim[d]);
      /* one axis of a copied window may lie on a ring */
      if (!window || --left > 0) x->dense |= 1u << d;
    }
  }
  return at;
}

bool tp_sb_use(sb *b, const tp_opnd *o, tp_pos pos, bool window, bool inside) {
  low *l = b->l;
  if (TP_NEVER(o->bad)) return tp_fail(l->err, TP_E_SHAPE, pos, "a view that cannot be one");
  if (l->p->mode[o->base.node->id] == TP_V_INLINE || (inside && goes_inside(b, o))) {
    if (tp_stmt_find(b->s, o) >= 0) return true;
    return tp_sb_emit(b, o->base.node, o->idx);
  }
  tp_arr *x = tp_low_stored(l, o->base);
  tp_sb_access(b, TP_ACC_READ, x, ats_of(b, o, x, window), pos);
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
