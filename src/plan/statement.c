/* statement: a statement's cluster becomes a row of regions on buffers (operand.c). Elementwise
 * operators of one shape that follow each other become one region. */
#include "plan/build.h"

/* ---- regions ---- */

/* Does node i's value lie where the result comes to lie? */
static bool is_in_place(const pb *b, int i) { return i < TP_PLACES && b->s->there >> i & 1; }

/* The operand as a window on the result's place. */
static tp_nd nd_there(pb *b, const tp_opnd *o) {
  const tp_access *w = tp_pb_target(b->s);
  const tp_arr *r = b->p->arrs.v[w->arr];
  tp_opnd q = *o;
  q.base = r->val;
  q.idx = tp_pb_exprs(b, r->ndim);
  for (int d = 0; d < r->ndim; d++) q.idx[d] = w->at[d].lo;
  return tp_pb_array(b, r, &q, false);
}

static tp_nd nd_value(pb *b, int i) {
  if (is_in_place(b, i)) return tp_pb_result(b);
  tp_opnd o = tp_pb_self(b, i);
  return tp_pb_scratch(b, tp_pb_scratch_of(b, i), &o);
}

/* The operand as a window on an array, or on the scratch of a node of the cluster. */
static tp_nd nd_operand(pb *b, const tp_opnd *o) {
  int i = tp_stmt_find(b->s, o);
  if (i >= 0) {
    const tp_node *n = b->s->node[i];
    /* a number becomes elements when it is read (errors stay in b->err) */
    if (n->op == TP_OP_FILL && !b->scratch[i]) (void)tp_pb_fill(b, n, n->attr.f[0], nd_value(b, i));
    if (is_in_place(b, i)) return nd_there(b, o);
    return tp_pb_scratch(b, tp_pb_scratch_of(b, i), o);
  }
  return tp_pb_array(b, tp_array_read(b->p, b->s, o->base), o, true);
}

static bool is_ew(const tp_node *n) { return tp_op_is_elementwise(n->op); }

/* ---- points of errors ---- */

/* Is every element of v known and, as a divisor or an exponent, harmless? */
static bool harmless(tp_op op, tp_val v) {
  const tp_node *n = v.node;
  const tp_array *a = n->op == TP_OP_CONST ? n->attr.data : NULL;
  if (n->op != TP_OP_FILL && !a) return false;
  for (int64_t i = 0; i < (a ? a->count : 1); i++) {
    int64_t x = a ? tp_geti(a->dtype, a->data, i) : tp_f64_to_i64(n->attr.f[0]);
    if (op == TP_OP_POW ? x < 0 : x == 0) return false;
  }
  return true;
}

/* Is the node checked for NaN? Then it is a region of its own, whose operands and result can be
 * looked at. */
static bool watched(const tp_node *n) { return n->attr.check == TP_CHECK_NAN; }

/* Can data make it fail while running? Then its region knows its point. Extents, and an
 * environment's actions, are not known here. */
static bool may_fail(const tp_node *n) {
  if (watched(n)) return true;
  switch (tp_ops[n->op].cls) {
  case TP_CLS_BIN:
    return tp_op_is(n->op, TP_FAILS) && !tp_dtype_float(n->out[0].dtype) &&
        !harmless(n->op, n->in[1].src);
  case TP_CLS_RED:
    return (n->op == TP_OP_MAX || n->op == TP_OP_MIN) && !tp_dtype_float(n->out[0].dtype);
  case TP_CLS_ARG:
  case TP_CLS_GATH:
  case TP_CLS_ENV: return true;
  default: return n->op == TP_OP_RAND;
  }
}

/* Is the operand a draw's key that is an index expression? */
static bool is_point_key(const tp_node *n, const tp_opnd *o) {
  return n->op == TP_OP_RAND && o->base.node->op == TP_OP_VALUE;
}

/* A draw's key stands in the place of its point: an index expression as its only coordinate. */
static void key_point(pb *b, tp_region *r, int i) {
  tp_opnd o;
  if (!tp_stmt_operand(b->p, b->s, i, 0, &o, b->err) || !is_point_key(b->s->node[i], &o)) return;
  const tp_node *key = o.base.node;
  r->coord = tp_pb_exprs(b, 1);
  r->coord[r->ncoord++] = tp_pb_here(b, tp_at_point(b->p, key, key->attr.ix[0], o.idx));
}

static void point(pb *b, tp_region *r, int i) {
  const tp_node *n = b->s->node[i];
  if (n->op == TP_OP_RAND && n->nin) {
    key_point(b, r, i);
    return;
  }
  r->coord = tp_pb_exprs(b, n->ndom);
  r->dim = TP_NEWN(b->a, tp_sym *, n->ndom);
  for (int d = 0; d < n->ndom; d++) {
    if (tp_pb_is_over(n, n->dom[d])) continue;
    r->dim[r->ncoord] = n->dom[d];
    r->coord[r->ncoord++] = tp_pb_here(b, b->s->nodeat[i][d]);
  }
}

/* Marks the region as checked and notes the names of its operands for messages. */
static void watch(pb *b, tp_region *r, const tp_node *n) {
  if (!(r->check = watched(n))) return;
  r->said = TP_NEWN(b->a, tp_who, n->nin);
  for (r->nsaid = 0; r->nsaid < n->nin; r->nsaid++)
    r->said[r->nsaid] = tp_who_of(n->in[r->nsaid].src.node);
}

/* ---- elementwise groups ---- */

/* Makes the group's region. Values that anything outside the group reads become its results. */
static bool group_close(pb *b) {
  int last = b->g.last, outs[TP_GROUP];
  if (!b->g.open) return true;
  b->g.open = false;
  tp_region *r = tp_pb_region(b, TP_RG_LOOP, b->s->node[last]);
  if (may_fail(b->s->node[last])) point(b, r, last);
  watch(b, r, b->s->node[last]);
  r->in = b->g.in, r->nin = b->g.nin;
  r->micro = TP_DUPN(b->a, b->g.micro, b->g.nmicro), r->nmicro = b->g.nmicro;
  tp_settle_micros(r);
  for (int i = b->g.first; i <= last; i++) {
    bool final = i == b->final;
    if (b->micro_of[i] < 0 || (!final && b->uses[i] <= last && !b->leaks[i])) continue;
    if (final) r->acc = b->final_acc, r->red = b->final_red;
    tp_pb_put(b, &r->out, &r->nout, final ? b->final_nd : nd_value(b, i));
    outs[r->nout - 1] = b->micro_of[i];
  }
  r->outmicro = TP_DUPN(b->a, outs, r->nout);
  return tp_pb_loop(b, r, r->out[0].rank, r->out[0].shape, 0, false);
}

static bool group_add(pb *b, int i) {
  const tp_node *n = b->s->node[i];
  tp_opnd o[3], self = tp_pb_self(b, i);
  bool fits = b->g.open && !watched(n) && b->g.shape.rank == self.rank &&
      tp_same_exprs(self.rank, b->g.shape.shape, self.shape) && b->g.n < TP_GROUP - 1 &&
      b->g.nmicro < 3 * TP_GROUP;
  if (b->final_acc && b->final == i) /* an accumulation is its region's only result */
    for (int k = b->g.first; k < i && fits; k++)
      fits = b->micro_of[k] < 0 || (b->uses[k] <= i && !b->leaks[k]);
  for (int k = 0; k < n->nin; k++) {
    if (!tp_stmt_operand(b->p, b->s, i, k, &o[k], b->err)) return false;
    int j = tp_stmt_find(b->s, &o[k]);
    if (j >= 0 && b->micro_of[j] >= 0) fits &= o[k].identity;
  }
  if (!fits) {
    if (!group_close(b)) return false;
    for (int k = 0; k < i; k++) b->micro_of[k] = -1;
    b->g.open = true;
    b->g.first = i;
    b->g.n = b->g.nmicro = b->g.nin = 0;
    b->g.in = NULL;
    b->g.shape = self;
  }
  tp_micro m = { .op = n->op, .dtype = n->out[0].dtype };
  for (int k = 0; k < n->nin; k++) {
    int j = tp_stmt_find(b->s, &o[k]);
    const tp_node *from = j < 0 ? NULL : b->s->node[j];
    if (from && b->micro_of[j] >= 0) m.in[k] = -1 - b->micro_of[j];
    else if (from && from->op == TP_OP_FILL) {
      b->g.micro[b->g.nmicro] =
          (tp_micro){ .op = TP_OP_FILL, .dtype = from->out[0].dtype, .f = from->attr.f[0] };
      m.in[k] = -1 - b->g.nmicro++;
    } else {
      tp_pb_put(b, &b->g.in, &b->g.nin, nd_operand(b, &o[k]));
      m.in[k] = b->g.nin - 1;
    }
  }
  b->g.last = i, b->g.n++;
  b->micro_of[i] = b->g.nmicro;
  b->g.micro[b->g.nmicro++] = m;
  /* the region's name, line and point are those of its last operator */
  return !may_fail(n) || group_close(b);
}

/* ---- other operators ---- */

static tp_ix *expr(pb *b, int i, int k) {
  const tp_node *n = b->s->node[i];
  return tp_pb_here(b, tp_at_point(b->p, n, n->attr.ix[k], b->s->nodeat[i]));
}

static void exprs(pb *b, tp_region *r, int i) {
  const tp_node *n = b->s->node[i];
  r->nix = n->attr.nix;
  r->ix = tp_pb_exprs(b, r->nix);
  for (int k = 0; k < r->nix; k++) r->ix[k] = expr(b, i, k);
  if (n->op == TP_OP_CALL || may_fail(n)) point(b, r, i);
  watch(b, r, n);
}

/* The loaded array that a PINIT of this cluster takes. */
static tp_nd nd_loaded(pb *b, const tp_node *n) {
  for (int k = 0; k < b->s->nacc; k++) {
    const tp_access *x = &b->s->acc[k];
    if (x->kind == TP_ACC_READ && b->p->arrs.v[x->arr]->kind == TP_ARR_PARAM &&
        b->p->arrs.v[x->arr]->val.node == n)
      return tp_pb_write(b, x);
  }
  (void)TP_NEVER(true);
  return (tp_nd){ .buf = -1, .wrap = -1 };
}

static bool is_loop(tp_op op) {
  return tp_ops[op].cls == TP_CLS_RED || op == TP_OP_READ || op == TP_OP_DETACH ||
      op == TP_OP_VALUE || op == TP_OP_IOTA;
}

/* Makes loops of reductions, of numbers, and of values that are stored as they are. */
static bool op_loop(pb *b, tp_region *r, int i) {
  const tp_node *n = b->s->node[i];
  uint32_t gone = 0;
  if (n->op == TP_OP_VALUE || n->op == TP_OP_IOTA) {
    tp_micro m = { .op = TP_OP_VALUE, .dtype = n->out[0].dtype };
    m.ix = n->op == TP_OP_VALUE ? r->ix[0] : tp_ix_sym(tp_pb_axis(b, n->attr.axis));
    r->nix = 0;
    tp_pb_micros(b, r, 1, &m);
    return tp_pb_loop(b, r, r->out[0].rank, r->out[0].shape, 0, false);
  }
  bool reduces = tp_ops[n->op].cls == TP_CLS_RED;
  for (int k = 0; k < n->attr.naxes && reduces; k++) gone |= 1u << n->attr.axes[k];
  if (reduces) r->red = tp_op_red(n->op), r->how.keepdim = r->check && n->attr.keepdim;
  r->outmicro = TP_NEW(b->a, int);
  return tp_pb_loop(b, r, r->in[0].rank, r->in[0].shape, gone, n->attr.keepdim);
}

static void result_windows(pb *b, int i, tp_nd **out, int *nout) {
  if (i == b->final) tp_pb_put(b, out, nout, b->final_nd);
  else if (i < b->s->nnode - 1 || b->s->src.node) tp_pb_put(b, out, nout, nd_value(b, i));
  else
    for (int k = 0; k < b->s->nacc; k++)
      if (b->s->acc[k].kind == TP_ACC_WRITE) tp_pb_put(b, out, nout, tp_pb_write(b, &b->s->acc[k]));
}

/* Notes the point at which the accumulation adds: the addend's first axes go along the dims of a
 * range. */
static void point_of_sum(pb *b, tp_region *r) {
  const tp_access *w = tp_pb_target(b->s);
  const tp_node *n = b->s->into;
  r->check = true;
  tp_pb_whose(r, n);
  r->coord = tp_pb_exprs(b, n->ndom);
  r->dim = (tp_sym **)n->dom;
  for (int d = 0; d < n->ndom; d++) {
    r->along |= (uint32_t)w->at[d].range << d;
    r->coord[r->ncoord++] = tp_pb_here(b, w->at[d].lo);
  }
}

static bool add_to(pb *b, tp_nd in, tp_nd to) {
  tp_region *r = tp_pb_region(b, TP_RG_LOOP, b->s->src.node);
  if (b->s->pos.file) r->pos = b->s->pos;
  if (watched(b->s->into)) point_of_sum(b, r);
  tp_pb_put(b, &r->in, &r->nin, in);
  tp_pb_put(b, &r->out, &r->nout, to);
  r->acc = true;
  r->red = b->s->into->attr.red;
  tp_pb_micros(b, r, 1, &(tp_micro){ .op = TP_OP_DETACH, .dtype = tp_dtypeof(b->s->src) });
  return tp_pb_loop(b, r, to.rank, to.shape, 0, false);
}

/* Adds the operand of a pad where it lies in the result. */
static bool add_padded(pb *b, int i, const tp_nd *in, const tp_nd *out) {
  int axis = b->s->node[i]->attr.axis;
  tp_nd x = *in, to = *out;
  tp_ix *lo = expr(b, i, 0), *at = tp_pb_split(b, lo, out->stride[axis], to.lead);
  if (at == lo) tp_pb_inside(b, axis, lo, &x, &to);
  else to = tp_pb_part(b, &to, axis, at, x.shape[axis]);
  return add_to(b, x, to);
}

/* Marks the leaves of this statement that make the value which a loaded array replaces. */
static void mark_first(pb *b, const tp_region *pinit) {
  for (int i = 0; i < b->leaves.n; i++) {
    tp_region *r = b->leaves.v[i]->rg;
    bool own = r && (r->kind == TP_RG_LOOP || r->kind == TP_RG_OP) && !r->check && r->nout == 1;
    if (own && r->out[0].buf == pinit->in[0].buf) r->first = true;
  }
}

static bool op_region(pb *b, int i) {
  tp_node *n = b->s->node[i];
  tp_nd *in = NULL, *out = NULL;
  int nin = 0, nout = 0;
  /* it adds to the elements that are there, and makes no zeros */
  bool adds = i == b->adder && n->op != TP_OP_PAD;
  if (adds) tp_pb_put(b, &in, &nin, b->final_nd);
  for (int k = adds; k < n->nin; k++) {
    tp_opnd o;
    if (!tp_stmt_operand(b->p, b->s, i, k, &o, b->err)) return false;
    if (!is_point_key(n, &o)) tp_pb_put(b, &in, &nin, nd_operand(b, &o));
  }
  result_windows(b, i, &out, &nout);
  if (n->op == TP_OP_PAD && i == b->adder) return add_padded(b, i, in, out);
  if (n->op == TP_OP_PAD) return tp_pb_pad(b, n, expr(b, i, 0), in, out);
  if (n->op == TP_OP_CONCAT) return tp_pb_concat(b, n, nin, in, out);
  if (n->op == TP_OP_RESHAPE) return tp_pb_reshape(b, n, *in, *out);
  if (n->op == TP_OP_PINIT) tp_pb_put(b, &in, &nin, nd_loaded(b, n));
  tp_region *r = tp_pb_region(b,
      is_loop(n->op)             ? TP_RG_LOOP
          : n->op == TP_OP_CALL  ? TP_RG_CALL
          : n->op == TP_OP_PINIT ? TP_RG_PINIT
                                 : TP_RG_OP,
      n);
  r->in = in, r->nin = nin;
  r->out = out, r->nout = nout;
  if (r->kind == TP_RG_OP) r->op = n->op, r->how = n->attr.how;
  if (n->op == TP_OP_PINIT && i == b->s->nnode - 1) mark_first(b, r);
  exprs(b, r, i);
  if (n->op == TP_OP_CALL) {
    r->call = b->pl->calls.n;
    TP_PUSH(b->a, &b->pl->calls, tp_callee_of(b->a, n));
    if (n->attr.nover && b->graph->stops.n) tp_pb_ended_rows(b, r, n);
  }
  if (i == b->final && i != b->adder) r->acc = b->final_acc, r->red = b->final_red;
  return !is_loop(n->op) || op_loop(b, r, i);
}

/* ---- the result ---- */

static bool find_adder(pb *b) {
  tp_opnd o;
  b->adder = -1;
  if (b->s->kind != TP_ST_ACC) return true;
  if (!tp_stmt_src(b->p, b->s, &o, b->err)) return false;
  int i = tp_stmt_find(b->s, &o);
  if (i >= 0 && o.identity && tp_adds_part(b->p->g, b->s, b->s->node[i])) b->adder = i;
  return true;
}

static bool accumulates_itself(const pb *b, int i, const tp_node *into, tp_red red) {
  const tp_node *n = b->s->node[i];
  if (watched(n) || watched(into)) return false;
  return i == b->adder || is_ew(n) ||
      (red == TP_RED_SUM &&
          (n->op == TP_OP_MATMUL || n->op == TP_OP_CONV_WEIGHT || n->op == TP_OP_SUM));
}

/* Can the cluster's node write the result itself? Then b->final is it. */
static bool choose_final(pb *b) {
  const tp_stmt *s = b->s;
  b->final = -1;
  b->final_acc = false;
  /* in a plain operator the last node writes; op_region does several outputs */
  if (!s->src.node) {
    if (s->nnode && is_ew(s->node[s->nnode - 1])) {
      b->final = s->nnode - 1;
      b->final_nd = tp_pb_result(b);
    }
    return true;
  }
  tp_opnd o;
  if (!tp_stmt_src(b->p, b->s, &o, b->err)) return false;
  int i = tp_stmt_find(s, &o);
  if (i < 0) return true;
  b->uses[i] = s->nnode;
  tp_red red = s->kind == TP_ST_ACC ? s->into->attr.red : TP_RED_SUM;
  if (!o.identity || s->nrow || b->nuse[i] || s->node[i]->op == TP_OP_FILL ||
      (s->kind == TP_ST_ACC && !accumulates_itself(b, i, s->into, red))) {
    b->leaks[i] = true;
    return true;
  }
  b->final = i;
  b->final_nd = tp_pb_result(b);
  b->final_acc = s->kind == TP_ST_ACC;
  b->final_red = red;
  return true;
}

static bool count_uses(pb *b) {
  const tp_stmt *s = b->s;
  b->leaks = TP_NEWN(b->a, bool, s->nnode);
  b->nuse = TP_NEWN(b->a, int, s->nnode);
  b->micro_of = TP_NEWN(b->a, int, s->nnode);
  for (int i = 0; i < s->nnode; i++) b->micro_of[i] = -1;
  for (int i = 0; i < s->nnode; i++)
    for (int k = i == b->adder && s->node[i]->op != TP_OP_PAD; k < s->node[i]->nin; k++) {
      tp_opnd o;
      if (!tp_stmt_operand(b->p, s, i, k, &o, b->err)) return false;
      int j = tp_stmt_find(s, &o);
      if (j < 0 || is_point_key(s->node[i], &o)) continue;
      b->uses[j] = TP_MAX(b->uses[j], i);
      b->nuse[j]++;
      if (!o.identity || !is_ew(s->node[i])) b->leaks[j] = true;
    }
  return true;
}

static void drop_rows(pb *b, tp_nd *n) {
  for (int k = 0; k < b->s->nrow; k++) {
    tp_ix *e = tp_pb_split(b, tp_pb_here(b, b->s->row[k]), n->stride[k], n->lead);
    n->off = tp_ix_add(n->off, tp_ix_mul(e, n->stride[k]));
  }
  n->rank -= b->s->nrow;
  n->shape += b->s->nrow;
  n->stride += b->s->nrow;
}

static bool fill_target(pb *b, const tp_node *n) {
  return tp_pb_fill(b, n, n->attr.f[0], tp_pb_result(b));
}

static bool final_copy(pb *b) {
  const tp_stmt *s = b->s;
  if (!s->src.node || b->final >= 0) return true;
  tp_opnd o;
  if (!tp_stmt_src(b->p, b->s, &o, b->err)) return false;
  int i = tp_stmt_find(s, &o);
  if (i >= 0 && s->node[i]->op == TP_OP_FILL && s->kind != TP_ST_ACC)
    return fill_target(b, s->node[i]);
  /* one row is taken along these axes */
  for (int k = 0; k < s->nrow; k++) o.shape[k] = K(b, 1);
  tp_nd in = nd_operand(b, &o);
  drop_rows(b, &in);
  tp_nd to = tp_pb_result(b);
  if (s->kind != TP_ST_ACC && !b->nlead && tp_same_elements(&in, &to, 0)) return true;
  if (s->kind != TP_ST_ACC) return tp_pb_copy(b, s->src.node, in, to);
  return add_to(b, in, to);
}

bool tp_pb_statement(pb *b, const tp_tree *t) {
  tp_pb_open(b, t);
  const tp_stmt *s = b->s;
  if (s->kind == TP_ST_INIT) {
    bool ok = tp_pb_fill(
        b, s->into, tp_red_identity(s->into->attr.red, s->into->out[0].dtype), tp_pb_result(b));
    if (s->pos.file) b->leaves.v[b->leaves.n - 1]->rg->pos = s->pos;
    return ok;
  }
  if (!find_adder(b) || !count_uses(b) || !choose_final(b)) return false;
  for (int i = 0; i < s->nnode; i++) {
    tp_node *n = s->node[i];
    if (is_ew(n)) {
      if (!group_add(b, i)) return false;
      continue;
    }
    /* made where it is wanted; a draw's point */
    bool inside = s->src.node || i < s->nnode - 1;
    if (inside && (n->op == TP_OP_FILL || (n->op == TP_OP_VALUE && !b->uses[i]))) continue;
    if (!group_close(b) || !(n->op == TP_OP_FILL ? fill_target(b, n) : op_region(b, i)))
      return false;
  }
  if (!group_close(b) || !final_copy(b)) return false;
  tp_pb_note_parts(b);
  return tp_pb_copy_newest(b) && !b->err->code;
}
