/* build: the loop tree becomes a plan: each statement's cluster a row of regions on buffers
 * (operand.c). Elementwise operators of one shape that follow each other become one EW region. */
#include "plan/build.h"

/* ---- regions ---- */

static const tp_access *target(const tp_stmt *s);

/* Does node i's value lie where the result comes to lie? */
static bool is_in_place(const pb *b, int i) { return i < TP_PLACES && b->s->there >> i & 1; }

/* What an operand shows of the value that lies there. */
static tp_nd nd_there(pb *b, const tp_opnd *o) {
  const tp_access *w = target(b->s);
  const tp_arr *r = b->p->arrs.v[w->arr];
  tp_opnd q = *o;
  q.base = r->val;
  q.idx = TP_NEWN(b->a, const tp_ix *, r->ndim);
  for (int d = 0; d < r->ndim; d++) q.idx[d] = w->at[d].lo;
  return tp_pb_array(b, r, &q, false);
}

static tp_nd nd_value(pb *b, int i) {
  return is_in_place(b, i) ? tp_pb_write(b, target(b->s)) : tp_pb_scratch_out(b, i);
}

/* A value that lies where the result does is seen once. */
static bool fill_value(pb *b, int i) {
  return b->scratch[i] || tp_pb_fill(b, b->s->node[i], b->s->node[i]->attr.f[0], nd_value(b, i));
}

/* Where an operand's elements are: an array, or the scratch of a node of the cluster. */
static tp_nd nd_operand(pb *b, const tp_opnd *o) {
  int i = tp_stmt_find(b->s, o);
  if (i >= 0) {
    /* b->err, if it cannot be */
    if (b->s->node[i]->op == TP_OP_FILL) (void)fill_value(b, i);
    if (is_in_place(b, i)) return nd_there(b, o);
    return tp_pb_scratch(b, tp_pb_scratch_of(b, i), o);
  }
  return tp_pb_array(b, tp_array_of(b->p, o->base), o, true);
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

/* It is a region of its own, whose operands and result can be looked at. */
static bool watched(const tp_node *n) { return n->attr.check == TP_CHECK_NAN; }

/* Can data make it fail while running? Then its region knows its point. Of extents nothing is known
 * here, nor of an environment's actions. */
static bool may_fail(const tp_node *n) {
  if (watched(n)) return true;
  switch (tp_ops[n->op].cls) {
  case TP_CLS_BIN:
    return (n->op == TP_OP_MOD || n->op == TP_OP_FLOORDIV || n->op == TP_OP_POW) &&
        !tp_dtype_float(n->out[0].dtype) && !harmless(n->op, n->in[1].src);
  case TP_CLS_RED:
    return (n->op == TP_OP_MAX || n->op == TP_OP_MIN) && !tp_dtype_float(n->out[0].dtype);
  case TP_CLS_ARG:
  case TP_CLS_GATH:
  case TP_CLS_ENV: return true;
  default: return n->op == TP_OP_RAND;
  }
}

static void point(pb *b, tp_region *r, int i) {
  const tp_node *n = b->s->node[i];
  r->coord = TP_NEWN(b->a, const tp_ix *, n->ndom);
  r->dim = TP_NEWN(b->a, const tp_sym *, n->ndom);
  for (int d = 0; d < n->ndom; d++) {
    if (tp_pb_is_over(n, n->dom[d])) continue;
    r->dim[r->ncoord] = n->dom[d];
    r->coord[r->ncoord++] = tp_pb_here(b, b->s->nodeat[i][d]);
  }
}

/* Messages name its operands. */
static void watch(pb *b, tp_region *r, const tp_node *n) {
  if (!(r->check = watched(n))) return;
  r->said = TP_NEWN(b->a, tp_who, n->nin);
  for (r->nsaid = 0; r->nsaid < n->nin; r->nsaid++)
    r->said[r->nsaid] = tp_who_of(n->in[r->nsaid].src.node);
}

/* ---- elementwise groups ---- */

static bool same_shape(const tp_opnd *a, const tp_opnd *c) {
  if (a->rank != c->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->shape[i] != c->shape[i]) return false;
  return true;
}

static void group_open(pb *b, int i) {
  b->g.first = b->g.n = 0;
  b->g.open = true;
  tp_node *n = b->s->node[i];
  b->g.shape = tp_pb_whole(b, tp_v(n), n->ndom, n->dom, b->s->nodeat[i]);
  b->g.nin = 0;
  b->g.in = NULL;
}

static int group_find(const pb *b, int i) {
  for (int k = 0; k < b->g.n; k++)
    if (b->g.node[k] == i) return k;
  return -1;
}

/* Results that something outside the group wants go out; then the region is made. Inputs that
 * mention scratch come first (fill). */
static bool group_close(pb *b) {
  if (!b->g.open) return true;
  b->g.open = false;
  tp_region *r = tp_pb_region(b, TP_RG_LOOP, NULL);
  const tp_node *last = b->s->node[b->g.node[b->g.n - 1]];
  tp_pb_whose(r, last);
  if (may_fail(last)) point(b, r, b->g.node[b->g.n - 1]);
  watch(b, r, last);
  r->in = b->g.in;
  r->nin = b->g.nin;
  r->micro = tp_dup(b->a, b->g.micro, sizeof *b->g.micro * (size_t)b->g.nmicro);
  r->nmicro = b->g.nmicro;
  /* micro references were kept as negative numbers until nin was known */
  for (int k = 0; k < r->nmicro; k++)
    for (int j = 0; j < 3; j++)
      if (r->micro[k].in[j] < 0) r->micro[k].in[j] = r->nin + (-1 - r->micro[k].in[j]);
  int outs[TP_GROUP];
  for (int k = 0; k < b->g.n; k++) {
    int i = b->g.node[k];
    bool final = i == b->final;
    if (final) {
      r->acc = b->final_acc;
      r->red = b->final_red;
    }
    if (!final && b->uses[i] <= b->g.node[b->g.n - 1] && !b->g.leaks[k]) continue;
    tp_pb_put(b, &r->out, &r->nout, final ? b->final_nd : nd_value(b, i));
    outs[r->nout - 1] = b->g.micro_of[k];
  }
  r->outmicro = tp_dup(b->a, outs, sizeof *outs * (size_t)r->nout);
  return tp_pb_loop(b, r, r->out[0].rank, r->out[0].shape, 0, false);
}

static bool group_add(pb *b, int i) {
  const tp_node *n = b->s->node[i];
  tp_opnd o[3], self = tp_pb_whole(b, tp_v((tp_node *)n), n->ndom, n->dom, b->s->nodeat[i]);
  bool fits = b->g.open && !watched(n) && same_shape(&b->g.shape, &self) && b->g.n < TP_GROUP - 1 &&
      b->g.nmicro < 3 * TP_GROUP;
  if (b->final_acc && b->final == i) /* an accumulation is its region's only result */
    for (int k = 0; k < b->g.n && fits; k++) fits = b->uses[b->g.node[k]] <= i && !b->g.leaks[k];
  for (int k = 0; k < n->nin; k++) {
    if (!tp_stmt_operand(b->p, b->s, i, k, &o[k], b->err)) return false;
    int j = tp_stmt_find(b->s, &o[k]);
    if (fits && j >= 0 && group_find(b, j) >= 0 && !o[k].identity) fits = false;
  }
  if (!fits) {
    if (!group_close(b)) return false;
    group_open(b, i);
    b->g.nmicro = 0;
  }
  tp_micro m = { .op = n->op, .dtype = n->out[0].dtype };
  for (int k = 0; k < n->nin; k++) {
    int j = tp_stmt_find(b->s, &o[k]), at = j < 0 ? -1 : group_find(b, j);
    if (at >= 0) m.in[k] = -1 - b->g.micro_of[at];
    else if (j >= 0 && b->s->node[j]->op == TP_OP_FILL) {
      b->g.micro[b->g.nmicro] = (tp_micro){
        .op = TP_OP_FILL, .dtype = b->s->node[j]->out[0].dtype, .f = b->s->node[j]->attr.f[0]
      };
      m.in[k] = -1 - b->g.nmicro++;
    } else {
      tp_pb_put(b, &b->g.in, &b->g.nin, nd_operand(b, &o[k]));
      m.in[k] = b->g.nin - 1;
    }
  }
  b->g.leaks[b->g.n] = b->leaks[i];
  b->g.micro_of[b->g.n] = b->g.nmicro;
  b->g.node[b->g.n++] = i;
  b->g.micro[b->g.nmicro++] = m;
  /* the region's name, line and point are those of its last operator */
  return !may_fail(n) || group_close(b);
}

static void call_of(pb *b, tp_region *r, const tp_node *n) {
  r->call = b->pl->calls.n;
  TP_PUSH(b->a, &b->pl->calls, tp_callee_of(b->a, n));
  if (n->attr.nover && b->graph->stops.n) tp_pb_ended_rows(b, r, n);
}

/* ---- other operators ---- */

static void exprs(pb *b, tp_region *r, int i) {
  const tp_node *n = b->s->node[i];
  r->nix = n->attr.nix;
  r->ix = TP_NEWN(b->a, const tp_ix *, r->nix);
  for (int k = 0; k < r->nix; k++)
    r->ix[k] = tp_pb_here(b, tp_at_point(b->p, n, n->attr.ix[k], b->s->nodeat[i]));
  if (n->op == TP_OP_CALL || may_fail(n)) point(b, r, i);
  watch(b, r, n);
}

/* The loaded array of a PINIT of this cluster. */
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

/* Numbers that a node stands for, over variables. */
static tp_micro number_of(pb *b, int i, const tp_ix *e) {
  return (tp_micro){ .op = TP_OP_VALUE, .dtype = b->s->node[i]->out[0].dtype, .ix = e };
}

/* Reductions, numbers, and what is stored as it is. */
static bool op_loop(pb *b, tp_region *r, int i) {
  const tp_node *n = b->s->node[i];
  uint32_t gone = 0;
  if (n->op == TP_OP_VALUE || n->op == TP_OP_IOTA) {
    tp_micro m = number_of(
        b, i, n->op == TP_OP_VALUE ? r->ix[0] : tp_ix_sym(C(b), tp_pb_axis(b, n->attr.axis)));
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

/* Where it adds: the first axes of what is added go along the dims of a range. */
static void point_of_sum(pb *b, tp_region *r) {
  const tp_access *w = target(b->s);
  const tp_node *n = b->s->into;
  r->check = true;
  tp_pb_whose(r, n);
  r->coord = TP_NEWN(b->a, const tp_ix *, n->ndom);
  r->dim = (const tp_sym **)n->dom;
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

/* What zeros lie around is added where it is. */
static bool add_padded(pb *b, int i, const tp_nd *in, const tp_nd *out) {
  const tp_node *n = b->s->node[i];
  const tp_ix *lo = tp_pb_here(b, tp_at_point(b->p, n, n->attr.ix[0], b->s->nodeat[i]));
  tp_nd x = *in, to = *out;
  const tp_ix *at = tp_pb_split(b, lo, out->stride[n->attr.axis], to.lead);
  if (at == lo) tp_pb_inside(b, n->attr.axis, lo, &x, &to);
  else to = tp_pb_part(b, &to, n->attr.axis, at, x.shape[n->attr.axis]);
  return add_to(b, x, to);
}

/* Leaves of this statement that make, for pinit, what a loaded array takes the place of. */
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
  /* to what there is, in place of zeros */
  bool adds = i == b->adder && n->op != TP_OP_PAD;
  if (adds) tp_pb_put(b, &in, &nin, b->final_nd);
  for (int k = adds; k < n->nin; k++) {
    tp_opnd o;
    if (!tp_stmt_operand(b->p, b->s, i, k, &o, b->err)) return false;
    tp_pb_put(b, &in, &nin, nd_operand(b, &o));
  }
  result_windows(b, i, &out, &nout);
  if (n->op == TP_OP_PAD && i == b->adder) return add_padded(b, i, in, out);
  if (n->op == TP_OP_PAD)
    return tp_pb_pad(
        b, n, tp_pb_here(b, tp_at_point(b->p, n, n->attr.ix[0], b->s->nodeat[i])), in, out);
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
  if (n->op == TP_OP_CALL) call_of(b, r, n);
  if (i == b->final && i != b->adder) r->acc = b->final_acc, r->red = b->final_red;
  return !is_loop(n->op) || op_loop(b, r, i);
}

/* ---- contributions under a condition ---- */

static bool is_identity(tp_val v, tp_red red) {
  while (v.node->op == TP_OP_EXPAND) v = v.node->in[0].src;
  return v.node->op == TP_OP_FILL && v.node->attr.f[0] == tp_red_identity(red, tp_dtypeof(v));
}

static bool same_for_all(const pb *b, const tp_nd *x) {
  bool same = x->rank == 0;
  for (int k = 0; k < b->nlead; k++) same &= x->lead[k] == K(b, 0);
  return same;
}

/* Is what is added where(c, x, nothing), with an array's c that the call does not vary? Then *c is
 * where it lies. */
static bool find_unless(pb *b, tp_nd *c) {
  const tp_stmt *s = b->s;
  tp_opnd o, x;
  b->unless = -1;
  if (s->kind != TP_ST_ACC || s->nrow || !tp_stmt_src(b->p, s, &o, b->err)) return !b->err->code;
  int i = tp_stmt_find(s, &o);
  if (i < 0 || i != s->nnode - 1 || !o.identity || s->node[i]->op != TP_OP_SELECT ||
      !is_identity(s->node[i]->in[2].src, s->into->attr.red))
    return true;
  tp_opnd self = tp_pb_whole(b, tp_v(s->node[i]), s->node[i]->ndom, s->node[i]->dom, s->nodeat[i]);
  if (!tp_stmt_operand(b->p, s, i, 0, &o, b->err) || !tp_stmt_operand(b->p, s, i, 1, &x, b->err))
    return false;
  if (tp_stmt_find(s, &o) >= 0 || !same_shape(&self, &x)) return true;
  tp_nd cond = tp_pb_array(b, tp_array_of(b->p, o.base), &o, true);
  if (!same_for_all(b, &cond)) return true;
  *c = cond;
  b->unless = i;
  return true;
}

/* What the statement finally writes. */
static bool source(pb *b, tp_opnd *o) {
  return b->unless >= 0 ? tp_stmt_operand(b->p, b->s, b->unless, 1, o, b->err)
                        : tp_stmt_src(b->p, b->s, o, b->err);
}

/* ---- the result ---- */

static const tp_access *target(const tp_stmt *s) {
  for (int k = 0; k < s->nacc; k++)
    if (s->acc[k].kind != TP_ACC_READ) return &s->acc[k];
  return NULL;
}

static bool find_adder(pb *b) {
  tp_opnd o;
  b->adder = -1;
  if (b->s->kind != TP_ST_ACC) return true;
  if (!source(b, &o)) return false;
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
  /* a plain operator: the last node writes; several outputs are op_region's */
  if (!s->src.node) {
    if (s->nnode && is_ew(s->node[s->nnode - 1])) {
      b->final = s->nnode - 1;
      b->final_nd = tp_pb_write(b, target(s));
    }
    return true;
  }
  tp_opnd o;
  if (!source(b, &o)) return false;
  int i = tp_stmt_find(s, &o);
  if (i < 0) return true;
  b->uses[i] = s->nnode;
  tp_red red = s->kind == TP_ST_ACC ? s->into->attr.red : TP_RED_SUM;
  if (!o.identity || s->nrow || s->node[i]->op == TP_OP_FILL ||
      (s->kind == TP_ST_ACC && !accumulates_itself(b, i, s->into, red))) {
    b->leaks[i] = true;
    return true;
  }
  if (b->nuse[i]) {
    b->leaks[i] = true;
    return true;
  }
  b->final = i;
  b->final_nd = tp_pb_write(b, target(s));
  b->final_acc = s->kind == TP_ST_ACC;
  b->final_red = red;
  return true;
}

static bool count_uses(pb *b) {
  const tp_stmt *s = b->s;
  b->leaks = TP_NEWN(b->a, bool, s->nnode);
  b->nuse = TP_NEWN(b->a, int, s->nnode);
  for (int i = 0; i < s->nnode; i++)
    for (int k = i == b->adder && s->node[i]->op != TP_OP_PAD;
         k < s->node[i]->nin && i != b->unless; k++) {
      tp_opnd o;
      if (!tp_stmt_operand(b->p, s, i, k, &o, b->err)) return false;
      int j = tp_stmt_find(s, &o);
      if (j < 0) continue;
      b->uses[j] = TP_MAX(b->uses[j], i);
      b->nuse[j]++;
      if (!o.identity || !is_ew(s->node[i])) b->leaks[j] = true;
    }
  return true;
}

static void drop_rows(pb *b, tp_nd *n) {
  for (int k = 0; k < b->s->nrow; k++) {
    const tp_ix *e = tp_pb_split(b, tp_pb_here(b, b->s->row[k]), n->stride[k], n->lead);
    n->off = tp_ix_add(C(b), n->off, tp_ix_mul(C(b), e, n->stride[k]));
  }
  n->rank -= b->s->nrow;
  n->shape += b->s->nrow;
  n->stride += b->s->nrow;
}

static bool fill_target(pb *b, const tp_node *n) {
  return tp_pb_fill(b, n, n->attr.f[0], tp_pb_write(b, target(b->s)));
}

static bool final_copy(pb *b) {
  const tp_stmt *s = b->s;
  if (!s->src.node || b->final >= 0) return true;
  tp_opnd o;
  if (!source(b, &o)) return false;
  int i = tp_stmt_find(s, &o);
  if (i >= 0 && s->node[i]->op == TP_OP_FILL && s->kind != TP_ST_ACC)
    return fill_target(b, s->node[i]);
  /* of these axes one row is taken */
  for (int k = 0; k < s->nrow; k++) o.shape[k] = K(b, 1);
  tp_nd in = nd_operand(b, &o);
  drop_rows(b, &in);
  tp_nd to = tp_pb_write(b, target(s));
  if (s->kind != TP_ST_ACC && !b->nlead && tp_same_elements(&in, &to, 0)) return true;
  if (s->kind != TP_ST_ACC) return tp_pb_copy(b, s->src.node, in, to);
  return add_to(b, in, to);
}

/* ---- the newest values of parameters: they lie in a buffer that holds nothing else, or are copied
 * to the place of the last one too ---- */

/* Is a new value made whole, by one leaf, in a place of its own? */
static bool is_made_at_once(const pb *b, int arr) {
  int n = 0;
  for (int i = 0; i < b->p->arrs.n; i++) n += b->bufof[i] == b->bufof[arr];
  for (int i = 0; i < b->leaves.n; i++) {
    const tp_region *r = b->leaves.v[i]->rg;
    for (int o = 0; r && !r->first && o < r->nout; o++) n += r->out[o].buf == b->bufof[arr]->id;
    n += !r;
  }
  return n == 2;
}

/* Do both buffers have one value, laid out alike? */
static bool lies_alike(const pb *b, const tp_arr *from, const tp_arr *to) {
  const tp_pbuf *x = b->bufof[from->id], *y = b->bufof[to->id];
  int k = 0;
  for (int d = 0; d < from->ndim; d++)
    if (k < to->ndim && from->dim[d] == to->dim[k] && x->slots[d] == y->slots[k]) k++;
    else if (x->slots[d] != K(b, 1)) return false;
  for (int i = 0; i < to->rank; i++)
    if (x->slots[x->ndim + i] != y->slots[y->ndim + i]) return false;
  return x->kind == TP_BUF_TEMP && x->size == y->size && k == to->ndim && !x->order && !y->order;
}

static bool reads_array(const tp_stmt *s, int arr) {
  bool any = false;
  for (int a = 0; a < s->nacc; a++) any |= s->acc[a].kind == TP_ACC_READ && s->acc[a].arr == arr;
  return any;
}

/* Does anything read the array? Where only the last value is wanted, what the new one is made of
 * must, as then each value stays until the next. */
static bool is_carried(const pb *b, int arr) {
  bool any = reads_array(b->s, arr);
  for (int i = 0; i < b->p->stmts.n && !any; i++) {
    const tp_stmt *s = b->p->stmts.v[i];
    any = reads_array(s, arr) &&
        (b->p->keeps ||
            (s->nacc && s->acc[0].kind != TP_ACC_READ && reads_array(b->s, s->acc[0].arr)));
  }
  return any;
}

enum { NEVER_HOLDS = -2 };

static void hold_newest(pb *b, const tp_arr *from, const tp_arr *to) {
  tp_pbuf *x = b->bufof[from->id];
  if (x->holds == NEVER_HOLDS || !lies_alike(b, from, to) || !is_carried(b, from->id)) return;
  x->holds = is_made_at_once(b, from->id) ? to->slot : NEVER_HOLDS;
}

/* What several leaves of a statement write, or one adds to, is in between no value. */
static void note_parts(pb *b) {
  for (int i = 0; i < b->leaves.n; i++) {
    const tp_region *r = b->leaves.v[i]->rg, *s;
    for (int o = 0; r && !r->first && o < r->nout; o++) {
      bool part = r->acc && r->out[o].buf >= 0;
      for (int j = 0; j < i && r->out[o].buf >= 0; j++)
        for (int q = 0; (s = b->leaves.v[j]->rg) && !s->first && q < s->nout; q++)
          part |= s->out[q].buf == r->out[o].buf;
      if (part) b->pl->bufs.v[r->out[o].buf]->holds = NEVER_HOLDS;
    }
  }
}

static bool copy_newest(pb *b) {
  const tp_stmt *s = b->s;
  const tp_arr *to = tp_newest_in(b->p, s);
  const tp_access *w = target(s);
  if (!to) return true;
  const tp_arr *from = b->p->arrs.v[w->arr];
  if (!b->s->nnode || b->s->node[b->s->nnode - 1]->op != TP_OP_PINIT) hold_newest(b, from, to);
  if (!b->p->keeps) return true;
  const tp_ix **idx = TP_NEWN(b->a, const tp_ix *, to->ndim);
  for (int d = 0; d < to->ndim; d++)
    for (int e = 0; e < from->ndim; e++)
      if (from->dim[e] == to->dim[d]) idx[d] = w->at[e].lo;
  tp_opnd o = tp_pb_whole(b, to->val, to->ndim, to->dim, idx);
  if (!tp_pb_copy(b, s->into, tp_pb_write(b, w), tp_pb_array(b, to, &o, true))) return false;
  TP_PUSH(b->a, &b->copies, b->leaves.v[b->leaves.n - 1]);
  return true;
}

static void drop_copies(pb *b) {
  for (int i = 0; i < b->copies.n; i++)
    if (b->pl->bufs.v[b->copies.v[i]->rg->in[0].buf]->holds >= 0)
      *b->copies.v[i] = (tp_pnode){ .kind = TP_P_SEQ };
}

/* The leaves that there are now run only if c holds. */
static void run_if(pb *b, tp_nd c) {
  const tp_sym *v = tp_sym_var(C(b), "c");
  tp_pnode *load = TP_NEW(b->a, tp_pnode), *cond = TP_NEW(b->a, tp_pnode);
  *load = (tp_pnode){ .kind = TP_P_LOAD, .var = v, .given = K(b, 1), .nd = c };
  *cond = (tp_pnode){ .kind = TP_P_IF,
    .n = 1,
    .kid = TP_NEW(b->a, tp_pnode *),
    .cond = tp_ix_cmp(C(b), TP_GE, tp_ix_sym(C(b), v), K(b, 1)) };
  *cond->kid = tp_plan_seq(b->a, b->leaves.n, b->leaves.v);
  b->leaves.v = NULL;
  b->leaves.n = b->leaves.cap = 0;
  TP_PUSH(b->a, &b->leaves, load);
  TP_PUSH(b->a, &b->leaves, cond);
}

static bool stmt_regions(pb *b, const tp_tree *t) {
  tp_pb_open(b, t);
  const tp_stmt *s = b->s;
  tp_nd cond = { .buf = -1 };
  if (s->kind == TP_ST_INIT) {
    bool ok = tp_pb_fill(b, s->into, tp_red_identity(s->into->attr.red, s->into->out[0].dtype),
        tp_pb_write(b, target(s)));
    if (s->pos.file) b->leaves.v[b->leaves.n - 1]->rg->pos = s->pos;
    return ok;
  }
  if (!find_unless(b, &cond) || !find_adder(b) || !count_uses(b) || !choose_final(b)) return false;
  for (int i = 0; i < s->nnode; i++) {
    tp_node *n = s->node[i];
    if (i == b->unless) continue;
    if (is_ew(n)) {
      if (!group_add(b, i)) return false;
      continue;
    }
    /* made where it is wanted */
    if (n->op == TP_OP_FILL && (s->src.node || i < s->nnode - 1)) continue;
    if (!group_close(b) || !(n->op == TP_OP_FILL ? fill_target(b, n) : op_region(b, i)))
      return false;
  }
  if (!group_close(b) || !final_copy(b)) return false;
  note_parts(b);
  if (b->unless >= 0) run_if(b, cond);
  return copy_newest(b) && !b->err->code;
}

/* ---- the tree ---- */

static tp_pnode *after_loads(pb *b, tp_pnode *x) {
  tp_pnodes v = { 0 };
  tp_pb_loads(b, &v);
  TP_PUSH(b->a, &v, x);
  return tp_plan_seq(b->a, v.n, v.v);
}

/* A loop's end is looked at after each iteration, and may have come nearer by then. What is wanted
 * stays so. */
static tp_pnode *before_loads(pb *b, tp_pnode *x) {
  tp_pnodes v = { 0 };
  int n = b->nendvar;
  bool *wanted = tp_dup(b->a, b->wanted, sizeof *wanted * (size_t)n);
  TP_PUSH(b->a, &v, x);
  tp_pb_loads(b, &v);
  if (n) memcpy(b->wanted, wanted, sizeof *wanted * (size_t)n);
  return tp_plan_seq(b->a, v.n, v.v);
}

/* In the loop of ticks: what may wait, or what waits for it (behind.c). */
static tp_pnode *in_its_body(pb *b, tp_pnode *x) {
  if (!b->p->lag || !b->s->tickrow) return x;
  const tp_ix *row = tp_pb_here(b, b->s->tickrow);
  tp_pnode *side = TP_NEW(b->a, tp_pnode), *kid[] = { side, x };
  if (b->s->far)
    *side = (tp_pnode){ .kind = TP_P_BEHIND, .n = 1, .kid = tp_dup(b->a, &x, sizeof x), .lo = row };
  else *side = (tp_pnode){ .kind = TP_P_WAIT, .lo = tp_ix_addc(C(b), row, -b->p->lag) };
  return b->s->far ? side : tp_plan_seq(b->a, 2, kid);
}

static tp_pnode *build_run(pb *b, const tp_tree *t) {
  b->leaves.v = NULL;
  b->leaves.n = b->leaves.cap = 0;
  if (!stmt_regions(b, t)) return NULL;
  tp_pnode *x = after_loads(b, in_its_body(b, tp_plan_seq(b->a, b->leaves.n, b->leaves.v)));
  for (int i = 0; b->s->kind == TP_ST_INIT && i < b->p->g->stops.n; i++)
    b->begun[i] |= b->p->g->stops.v[i].end == b->s->into;
  return x;
}

static bool are_empty(int n, tp_pnode *const *kid) {
  bool all = true;
  for (int i = 0; i < n; i++) all &= kid[i]->kind == TP_P_SEQ && are_empty(kid[i]->n, kid[i]->kid);
  return all;
}

/* May the loop's turns be one region, that moves along each ring it goes over? Slots of a block
 * follow each other. */
static bool goes_straight(const pb *b, const tp_stmt *s, const tp_region *r, const tp_sym *var) {
  bool straight = true;
  for (int i = 0; i < r->nin + r->nout && straight; i++) {
    const tp_nd *x = tp_window_at(r, i);
    const tp_arr *arr = x->buf >= 0 && x->buf < b->p->arrs.n ? b->p->arrs.v[x->buf] : NULL;
    straight = x->wrap < 0;
    for (int k = 0; k < x->nring && straight; k++) {
      int64_t by, shift, block = s->block;
      const tp_ix *rest;
      if (!tp_ix_mentions(x->ring[k].idx, var)) continue;
      straight = arr && arr->align && tp_ix_linear_in(C(b), x->ring[k].idx, var, &by, &rest) &&
          by == 1 && tp_ix_is_const(tp_ix_sub(C(b), rest, s->bshift), &shift) && shift % block == 0;
      for (int d = 0; d < arr->ndim && straight; d++)
        if (b->bufof[x->buf]->slots[d] == x->ring[k].width)
          straight = arr->align[d] > 0 && arr->align[d] % block == 0;
    }
  }
  return straight;
}

/* A loop that a statement has for itself over the rows of a block. */
static bool is_of_rows(const pb *b, const tp_tree *t, const tp_pnode *body) {
  const tp_stmt *s = t->kind == TP_T_FOR && t->n == 1 && t->kid[0]->kind == TP_T_RUN
      ? b->p->stmts.v[t->kid[0]->stmt]
      : NULL;
  bool is = s && s->rdim >= 0 && (body->kind == TP_P_REGION || body->kind == TP_P_SEQ);
  for (int i = 0; is && i < (body->kind == TP_P_SEQ ? body->n : 1); i++) {
    const tp_pnode *leaf = body->kind == TP_P_SEQ ? body->kid[i] : body;
    is = leaf->kind == TP_P_REGION && goes_straight(b, s, leaf->rg, t->var);
  }
  return is;
}

static tp_pnode *build(pb *b, const tp_tree *t) {
  if (t->kind == TP_T_RUN) return build_run(b, t);
  tp_pnode **kid = TP_NEWN(b->a, tp_pnode *, t->n);
  /* as it is in front */
  bool *begun = tp_dup(b->a, b->begun, sizeof *begun * (size_t)b->p->g->stops.n),
       *inside = b->begun;
  for (int i = 0; i < t->n; i++)
    if (!(kid[i] = build(b, t->kid[i]))) return NULL;
  if (t->kind == TP_T_SEQ || are_empty(t->n, kid))
    return tp_plan_seq(b->a, t->kind == TP_T_SEQ ? t->n : 0, kid);
  int n = t->n == 2 && are_empty(1, kid + 1) ? 1 : t->n; /* an `else` with nothing in it */
  tp_pnode *x = TP_NEW(b->a, tp_pnode);
  *x = (tp_pnode){ .kind = t->kind == TP_T_FOR ? TP_P_FOR : TP_P_IF,
    .n = n,
    .kid = kid,
    .var = t->var,
    .lo = t->lo,
    .hi = t->hi,
    .step = t->step,
    .label = t->label,
    .independent = t->independent,
    .cond = t->kind == TP_T_IF ? t->cond : NULL };
  x->block = is_of_rows(b, t, kid[0]);
  if (!b->p->ends.n) return x;
  x->lo = tp_pb_ends(b, x->lo), x->hi = tp_pb_ends(b, x->hi), x->cond = tp_pb_ends(b, x->cond);
  if (t->kind == TP_T_FOR && t->step > 0) kid[0] = before_loads(b, kid[0]);
  b->begun = begun;
  x = after_loads(b, x);
  b->begun = inside;
  return x;
}

/* ---- the whole ---- */

/* Extents of outputs are over what the call gave: nobody knows more before. */
static void note_products(pb *b) {
  const tp_graph *g = b->graph;
  const tp_sym **from = TP_NEWN(b->a, const tp_sym *, g->stops.n);
  const tp_ix **to = TP_NEWN(b->a, const tp_ix *, g->stops.n);
  for (int i = 0; i < g->stops.n; i++) {
    const tp_sym *bound = g->stops.v[i].dim->bound;
    if (!g->stops.v[i].ndom) TP_PUSH(b->a, &b->pl->ends, (tp_pend){ bound, NULL });
    for (int d = 0; d < g->stops.v[i].ndom; d++)
      TP_PUSH(b->a, &b->pl->ends, (tp_pend){ bound, g->stops.v[i].dom[d]->bound });
    from[i] = g->stops.v[i].sym == bound ? g->stops.v[i].given : g->stops.v[i].sym;
    to[i] = tp_ix_sym(C(b), bound);
  }
  for (int i = 0; i < g->outputs.n; i++) {
    tp_product o = tp_product_of(g, i);
    const tp_ix **shape = TP_NEWN(b->a, const tp_ix *, o.type.rank);
    for (int k = 0; k < o.type.rank; k++)
      shape[k] = tp_ix_subst(C(b), o.type.shape[k], g->stops.n, from, to);
    o.type.shape = shape;
    TP_PUSH(b->a, &b->pl->products, o);
  }
}

tp_plan *tp_plan_build(tp_graph *g, tp_poly *p, const tp_planned *asked, tp_error *err) {
  tp_plan *pl = TP_NEW(p->a, tp_plan);
  pl->ix = g->ix;
  pl->a = p->a;
  pl->reproducible = asked->reproducible;
  pb b = {
    .pl = pl, .graph = g, .p = p, .a = p->a, .err = err, .begun = TP_NEWN(p->a, bool, g->stops.n)
  };
  tp_pb_arrays(&b);
  note_products(&b);
  pl->body = build(&b, p->tree);
  if (!pl->body) return NULL;
  drop_copies(&b);
  for (int i = 0; i < p->arrs.n; i++) {
    int *in = &pl->bufs.v[tp_lies_in(p->arrs.v[i])->id]->inside;
    *in = TP_MIN(*in, p->arrs.v[i]->cross);
  }
  return tp_plan_passes(pl, asked, NULL, err) ? pl : NULL;
}
