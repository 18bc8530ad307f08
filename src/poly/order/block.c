/* block: cuts an innermost loop in blocks of iterations, if a part of it carries nothing.
 *   for t < T { a(t); b(t) }   =>   for tb { a over the block; for t in the block { b(t) } }
 * Recurrences run point by point, the rest over the block in one call (a product of a row by a
 * matrix becomes one of matrices), and values between the two are kept for a block. */
#include "poly/sched.h"

typedef struct {
  tp_sched *S;
  const tp_level *L;
  const tp_item *x;
  const tp_arcs *arcs;
  int ncomp;
  const tp_scc **comp;
  int *of; /* by statement: its component's place + 1 */
  /* by component: a call over a block; a loop of its own over its rows */
  bool *vec, *rows;
  /* by array: something outside of the loop accesses it */
  bool *away;
} cutter;

static bool is_free(const cutter *c, int st) {
  const tp_stmt *s = c->S->p->stmts.v[st];
  uint32_t all = (1u << s->ndim) - 1,
           used = c->S->st[st].used | 1u << tp_dim_of(c->S, st, c->x->label);
  return used == all;
}

double tp_elements(int rank, tp_ixs shape) {
  double n = 1;
  int64_t v;
  for (int k = 0; k < rank; k++)
    n *= tp_ix_is_const(shape[k], &v) ? (double)v : TP_TUNE_BLOCK_EXTENT;
  return n;
}

/* Is node i handed on from one leaf to another? An elementwise chain is one leaf, with the fold
 * behind it. */
static bool is_handed_on(const tp_stmt *s, int i) {
  const tp_node *n = s->node[i];
  bool stays = tp_ops[n->op].batch == TP_BATCH_E;
  for (int r = i + 1; r < s->nnode && stays; r++)
    for (int k = 0; k < s->node[r]->nin; k++)
      stays &= s->node[r]->in[k].src.node != n || tp_ops[s->node[r]->op].batch == TP_BATCH_E ||
          tp_ops[s->node[r]->op].cls == TP_CLS_RED;
  return !stays && n->nout == 1;
}

static double value_bytes(tp_dtype t, int rank, tp_ixs shape) {
  return (double)tp_dtype_size(t) * tp_elements(rank, shape);
}

double tp_row_inside(const tp_poly *p, const tp_stmt *s) {
  double most = 0, result = 0;
  for (int a = 0; a < s->nacc; a++) {
    const tp_arr *r = p->arrs.v[s->acc[a].arr];
    if (s->acc[a].kind != TP_ACC_READ)
      result = TP_MAX(result, value_bytes(r->dtype, r->rank, r->shape));
  }
  for (int i = 0; i + 1 < s->nnode; i++) {
    const tp_out *o = &s->node[i]->out[0];
    if (is_handed_on(s, i)) most = TP_MAX(most, value_bytes(o->dtype, o->rank, o->shape));
  }
  return most > result ? most : 0;
}

/* Bytes of the largest value that st makes or reads at each iteration, which may have to be kept
 * for a block. */
static double row_bytes(const cutter *c, int st) {
  tp_sched *S = c->S;
  const tp_stmt *s = S->p->stmts.v[st];
  int along = tp_dim_of(S, st, c->x->label);
  double most = tp_is_cut(S, c->x->label) ? tp_row_inside(S->p, s) : 0;
  for (int d = 0; d < s->ndim; d++)
    most *= d != along && (s->vec >> d & 1) ? TP_TUNE_BLOCK_EXTENT : 1;
  for (int a = 0; a < s->nacc; a++) {
    const tp_arr *r = S->p->arrs.v[s->acc[a].arr];
    double n = value_bytes(r->dtype, r->rank, r->shape);
    bool each = false;
    if (r->kind != TP_ARR_TEMP || tp_is_first_end(&s->acc[a])) continue;
    for (int k = 0; k < r->ndim; k++)
      for (int d = 0; d < s->ndim; d++) {
        if ((d != along && !(s->vec >> d & 1)) || !tp_linked(S, s, &s->acc[a], d, k)) continue;
        each |= d == along;
        n *= d == along ? 1 : TP_TUNE_BLOCK_EXTENT;
      }
    if (each) most = TP_MAX(most, n);
  }
  return most;
}

/* The shift is a constant: tp_blocks_of takes no other loops. */
static int64_t mem_shift(const tp_mem *m) { return m->s < 0 ? -m->shift.c : m->shift.c; }

static const tp_mem *mem_of(const tp_item *x, int st) {
  int lo = 0; /* members are in program order */
  for (int hi = x->nmem - 1; lo < hi;) {
    int mid = (lo + hi) / 2;
    if (x->mem[mid].st < st) lo = mid + 1;
    else hi = mid;
  }
  return &x->mem[lo];
}

/* Can arrays that only this loop accesses be kept for blocks? Calls must write them in step, and
 * read points a fixed number of steps away. */
static bool keeps_rings(const cutter *c, int st, int d) {
  tp_sched *S = c->S;
  const tp_stmt *s = S->p->stmts.v[st];
  int64_t lo, hi, shift = mem_shift(mem_of(c->x, st));
  for (int a = 0; a < s->nacc; a++) {
    const tp_access *x = &s->acc[a];
    if (tp_is_first_end(x) || S->p->arrs.v[x->arr]->kind != TP_ARR_TEMP || c->away[x->arr])
      continue;
    for (int k = 0; k < S->p->arrs.v[x->arr]->ndim; k++)
      if (tp_linked(S, s, x, d, k) &&
          !(tp_const_distance(S, x->rel, d, k, &lo, &hi) && lo == shift && hi == shift) &&
          !tp_goes_round(S, s, x, d, k))
        return false;
  }
  return true;
}

static bool can(const cutter *c, const tp_scc *k) {
  tp_sched *S = c->S;
  int st = k->st[0];
  const tp_stmt *s = S->p->stmts.v[st];
  int d = tp_dim_of(S, st, c->x->label);
  tp_ix *lo, *hi;
  int room = tp_is_cut(S, c->x->label) ? TP_TUNE_BLOCK_ROOM_MOST : TP_TUNE_BLOCK_ROOM;
  int64_t least = S->p->rows ? TP_MIN(S->p->rows, TP_TUNE_BLOCK_LEAST) : TP_TUNE_BLOCK_LEAST;
  return k->n == 1 && !k->rec && !s->effect && !tp_pinned(S, st, d) &&
      tp_most_axes(s) + __builtin_popcount(s->vec) < TP_MAXRANK && is_free(c, st) &&
      (s->mayvec >> d & 1) && row_bytes(c, st) * (double)least <= room &&
      tp_vector_range(S, s, d, &lo, &hi) && (S->p->block || keeps_rings(c, st, d));
}

static bool is_lone_product(const tp_stmt *s) {
  if (s->nnode != 1) return false;
  const tp_node *n = s->node[0];
  return n->op == TP_OP_MATMUL ||
      (s->kind == TP_ST_ACC && s->into->attr.red == TP_RED_SUM && tp_is_outer(n));
}

/* Do its rows go over ranges of an array that follow the loop, and so share most elements? */
static bool shares_ranges(const cutter *c, const tp_stmt *s, tp_sym *dim) {
  bool any = false;
  for (int a = 0; a < s->nacc; a++) {
    const tp_access *x = &s->acc[a];
    for (int k = 0; x->at && k < c->S->p->arrs.v[x->arr]->ndim; k++)
      any |=
          x->at[k].range && (tp_ix_mentions(x->at[k].lo, dim) || tp_ix_mentions(x->at[k].hi, dim));
  }
  return any;
}

/* Are these products whose extents follow the loop? No call can go over a block of them, so they
 * get a loop of their own over the rows of a block. */
static bool goes_by_rows(const cutter *c, const tp_scc *k) {
  tp_sched *S = c->S;
  int st = k->st[0], d = tp_dim_of(S, st, c->x->label);
  const tp_stmt *s = S->p->stmts.v[st];
  return k->n == 1 && !k->rec && !s->effect && !tp_pinned(S, st, d) && is_free(c, st) &&
      !(s->mayvec >> d & 1) && is_lone_product(s) && shares_ranges(c, s, s->dim[d]);
}

/* Values for which an effect waits are made at its time, not for a block. */
static void spare_effects(cutter *c) {
  tp_sched *S = c->S;
  bool *wanted = TP_NEWN(S->a, bool, c->ncomp + 1);
  for (int i = 0; i < c->ncomp; i++)
    for (int m = 0; m < c->comp[i]->n; m++) wanted[i] |= S->p->stmts.v[c->comp[i]->st[m]]->effect;
  for (bool more = true; more;) {
    more = false;
    for (int e = 0; e < c->arcs->n; e++) {
      const tp_dep *d = tp_dep_of(S, &c->arcs->v[e]);
      int u = c->of[d->src] - 1, v = c->of[d->dst] - 1;
      if (u < 0 || v < 0 || wanted[u] || !wanted[v]) continue;
      wanted[u] = more = true;
    }
  }
  for (int i = 0; i < c->ncomp; i++) c->vec[i] &= !wanted[i], c->rows[i] &= !wanted[i];
}

static bool follows(const tp_stmt *s, tp_ixs at, int n, int d) {
  bool any = false;
  for (int k = 0; k < n; k++) any |= at[k] && tp_ix_mentions(at[k], s->dim[d]);
  return any;
}

/* Does st multiply all rows of a block by one matrix, or sum their products up? Else a block would
 * only be as many products. */
static bool multiplies(const cutter *c, int st) {
  tp_poly *p = c->S->p;
  const tp_stmt *s = p->stmts.v[st];
  int d = tp_dim_of(c->S, st, c->x->label);
  bool sums = s->kind == TP_ST_ACC;
  for (int a = 0; a < s->nacc; a++)
    for (int k = 0; s->acc[a].kind == TP_ACC_UPDATE && k < p->arrs.v[s->acc[a].arr]->ndim; k++)
      sums &= !tp_linked(c->S, s, &s->acc[a], d, k);
  for (int i = 0; i < s->nnode; i++) {
    bool shares = sums;
    tp_opnd o;
    if (tp_ops[s->node[i]->op].batch != TP_BATCH_C) continue;
    for (int k = 0; k < s->node[i]->nin && !shares; k++)
      shares =
          tp_stmt_operand(p, s, i, k, &o, c->S->err) && !follows(s, o.idx, o.base.node->ndom, d);
    if (shares) return true;
  }
  return false;
}

/* Does s copy an array that lies in another order (opt/store/layout.c)? */
static bool turns(const tp_stmt *s) {
  return s->through && s->src.node->op == TP_OP_DETACH && s->src.node->attr.stored;
}

/* Does component i work on results of these, or for them alone? */
static bool serves(const cutter *c, const bool *these, int i) {
  bool from = false, to = false, other = false;
  for (int e = 0; e < c->arcs->n; e++) {
    const tp_dep *d = tp_dep_of(c->S, &c->arcs->v[e]);
    int u = c->of[d->src] - 1, v = c->of[d->dst] - 1;
    if (u < 0 || v < 0) continue;
    from |= v == i && these[u];
    to |= u == i && these[v];
    other |= u == i && !these[v];
  }
  return from || (to && !other);
}

/* Chooses rows that become matrices, and copies that turn them; others go along if they work on
 * their results, or for them alone. False: nothing is worth it. */
static bool choose(cutter *c) {
  tp_sched *S = c->S;
  bool some = false, *in = TP_NEWN(S->a, bool, c->ncomp);
  if (tp_is_cut(S, c->x->label)) return true;
  for (int i = 0; i < c->ncomp; i++) {
    int st = c->comp[i]->st[0];
    in[i] =
        c->rows[i] || (c->vec[i] && (S->p->block || multiplies(c, st) || turns(S->p->stmts.v[st])));
    some |= in[i];
  }
  for (bool more = some; more;) {
    more = false;
    for (int i = 0; i < c->ncomp; i++)
      if (c->vec[i] && !in[i] && serves(c, in, i)) in[i] = more = true;
  }
  for (int i = 0; i < c->ncomp; i++) c->vec[i] &= in[i];
  return some;
}

/* Does an extent of a row grow with the loop? The number assumed for an unknown extent does not
 * show that. */
static bool row_grows(const cutter *c, int st) {
  const tp_stmt *s = c->S->p->stmts.v[st];
  bool grows = false;
  for (int a = 0; a < s->nacc; a++) {
    const tp_arr *r = c->S->p->arrs.v[s->acc[a].arr];
    for (int i = 0; i < r->rank && tp_dom_has(r->ndim, r->dim, c->x->label); i++)
      grows |= tp_ix_mentions(r->shape[i], c->x->label->bound);
  }
  return grows;
}

static int64_t block_size(const cutter *c) {
  double most = 1;
  int64_t n = TP_TUNE_BLOCK_MOST;
  bool cut = tp_is_cut(c->S, c->x->label), grows = false, ragged = false;
  for (int i = 0; i < c->ncomp; i++) {
    ragged |= c->rows[i];
    if (!c->vec[i]) continue;
    most = TP_MAX(most, row_bytes(c, c->comp[i]->st[0]));
    grows |= row_grows(c, c->comp[i]->st[0]);
  }
  if (cut && !grows) n = TP_TUNE_BLOCK_CUT;
  while (n > TP_TUNE_BLOCK_LEAST &&
      (double)n * most > (!cut                            ? TP_TUNE_BLOCK_ROOM
                                 : n > TP_TUNE_BLOCK_MOST ? TP_TUNE_BLOCK_ROOM_CUT
                                                          : TP_TUNE_BLOCK_ROOM_MOST))
    n /= 2;
  if (ragged) n = TP_MIN(n, TP_TUNE_BLOCK_RAGGED);
  return c->S->p->rows ? TP_MIN(n, c->S->p->rows) : n;
}

/* The phase of component i: a call or a loop of rows of its own; recurrences share a loop. */
static tp_phase *phase_of(cutter *c, tp_blocks *b, int i) {
  bool vec = c->vec[i], rows = c->rows[i];
  tp_phase *last = b->n ? &b->phase[b->n - 1] : NULL;
  if (last && !vec && !rows && !last->vec && !last->rows) return last;
  b->phase[b->n] = (tp_phase){ .vec = vec, .rows = rows, .st = TP_NEWN(c->S->a, int, c->x->nmem) };
  return &b->phase[b->n++];
}

/* Orders phases topologically, with as many of one kind in a row as can be. */
static void order(cutter *c, tp_blocks *b) {
  tp_sched *S = c->S;
  int left = c->ncomp, *waits = TP_NEWN(S->a, int, c->ncomp);
  tp_ints *out = TP_NEWN(S->a, tp_ints, c->ncomp);
  bool *done = TP_NEWN(S->a, bool, c->ncomp), alone = false;
  for (int e = 0; e < c->arcs->n; e++) {
    const tp_dep *d = tp_dep_of(S, &c->arcs->v[e]);
    int u = c->of[d->src], v = c->of[d->dst];
    if (!u || !v || u == v) continue;
    TP_PUSH(S->a, &out[u - 1], v - 1);
    waits[v - 1]++;
  }
  b->phase = TP_NEWN(S->a, tp_phase, c->ncomp);
  for (; left; alone = !alone)
    for (bool more = true; more;) {
      more = false;
      for (int i = 0; i < c->ncomp; i++) {
        if (done[i] || waits[i] || (c->vec[i] || c->rows[i]) != alone) continue;
        tp_phase *p = phase_of(c, b, i);
        for (int m = 0; m < c->comp[i]->n; m++) p->st[p->n++] = c->comp[i]->st[m];
        done[i] = more = true;
        left--;
        for (int k = 0; k < out[i].n; k++) waits[out[i].v[k]]--;
      }
    }
}

tp_blocks *tp_blocks_of(tp_sched *S, const tp_level *L, const tp_item *x, const tp_arcs *arcs) {
  cutter c = { .S = S, .L = L, .x = x, .arcs = arcs, .of = TP_NEWN(S->a, int, S->p->stmts.n) };
  bool any = false;
  if (tp_without(S->p, TP_RX_CALLS) || tp_without(S->p, TP_RX_BLOCKS)) return NULL;
  for (int i = 0; i < x->nmem; i++) /* a step of f:step is one iteration */
    if (tp_is_tick(S->p->stmts.v[x->mem[i].st])) return NULL;
  /* a parametric shift between blocks is refused: isl would not find the widths */
  for (int i = 0; i < x->nmem; i++)
    if (x->mem[i].shift.bad || x->mem[i].shift.p) return NULL;
  for (int i = 0; i < x->nmem; i++) /* only loops that sum up may be inside */
    if (!is_free(&c, x->mem[i].st) && S->p->stmts.v[x->mem[i].st]->kind != TP_ST_ACC) return NULL;
  c.comp = TP_NEWN(S->a, const tp_scc *, x->nmem);
  c.vec = TP_NEWN(S->a, bool, x->nmem);
  c.rows = TP_NEWN(S->a, bool, x->nmem);
  for (int i = 0; i < x->nmem; i++) {
    int st = x->mem[i].st;
    const tp_scc *k = &L->scc[L->of[st]];
    if (k->st[0] == st) c.comp[c.ncomp++] = k;
  }
  for (int i = 0; i < c.ncomp; i++)
    for (int m = 0; m < c.comp[i]->n; m++) c.of[c.comp[i]->st[m]] = i + 1;
  c.away = TP_NEWN(S->a, bool, S->p->arrs.n);
  for (int i = 0; i < S->p->stmts.n; i++)
    for (int a = 0; !c.of[i] && a < S->p->stmts.v[i]->nacc; a++)
      c.away[S->p->stmts.v[i]->acc[a].arr] = true;
  for (int i = 0; i < c.ncomp; i++)
    any |= c.vec[i] = can(&c, c.comp[i]), any |= c.rows[i] = goes_by_rows(&c, c.comp[i]);
  if (!any) return NULL;
  spare_effects(&c);
  if (!choose(&c)) return NULL;
  tp_blocks *b = TP_NEW(S->a, tp_blocks);
  b->size = S->p->block ? S->p->block : block_size(&c);
  order(&c, b);
  return b;
}

static const tp_mem *in_blocks(tp_sched *S, const tp_item *x, int st, int64_t size) {
  const tp_mem *m = mem_of(x, st);
  S->p->stmts.v[st]->block = size;
  S->p->stmts.v[st]->bshift = tp_ix_const(S->ix, mem_shift(m));
  return m;
}

/* Statement st runs over its part of a block in one call. */
void tp_block_stmt(tp_sched *S, const tp_item *x, int st, int64_t size) {
  tp_stmt *s = S->p->stmts.v[st];
  int d = s->bdim = in_blocks(S, x, st, size)->dim;
  s->vec |= 1u << d;
  (void)tp_vector_range(S, s, d, &s->vlo[d], &s->vhi[d]);
}

/* Statement st has a loop of its own over the rows of a block. */
void tp_block_rows(tp_sched *S, const tp_item *x, int st, int64_t size) {
  S->p->stmts.v[st]->rdim = in_blocks(S, x, st, size)->dim;
}
