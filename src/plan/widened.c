/* widened: a value larger than its operands is made again, tile by tile, where products read it.
 *
 *   w[k, n] = f(q[k, n], s[k]); for t { y[m, n] = x[m, k] w[k, n] }
 *     =>   for t { for v = 0 .. N / B { u[k, j] = f(q[k, B v + j], s[k])
 *                                       y[m, B v + j] = x[m, k] u[k, j] } }
 *
 * Nothing of w varies along t, so it was made before the loop and kept for all of it: for instance
 * f32 of a bf16 matrix, of twice its bytes. Here only a tile u of it exists at a time, of a
 * reader's own rows and columns if it reads a slice. f is a loop of a few cheap operators that
 * folds nothing and cannot fail, so each element is the same number again; each element of the
 * product is one sum, in a tile as in the whole. The operands of f must be as they were when w was
 * made: nothing writes them at all, or nothing does from w on until the last product has read
 * them. */
#include "plan/priv.h"

typedef struct {
  tp_plan *p;
  tp_ictx *ix;
  int *uses, nleaf;
  tp_pnode **leaf;
  int nbuf; /* buffers that there were; others are made again */
  bool fuse, together;
} widener;
/* Dims of a buffer that follow each other in memory; outer < 0: none. */
typedef struct {
  int outer, inner;
} dims;
/* A region that reads the value. along: by axis of the window, the region's first; seen: all of
 * these dims. first, places, by dim: from which place on it reads, and how many. axis: the axis of
 * a product's result; dim: the dim that tiles cut; -1: the reader is a loop. */
typedef struct {
  tp_pnode *at;
  int operand, axis, dim;
  dims along[TP_MAXRANK];
  uint64_t seen;
  tp_ix *first[TP_MAXRANK], *places[TP_MAXRANK];
} wide_reader;

/* ---- the leaf that makes it ---- */

static bool is_cheap(tp_op op) {
  return op == TP_OP_FILL ||
      (tp_op_is_elementwise(op) && tp_ops[op].cls != TP_CLS_UNF && !tp_op_is(op, TP_FAILS));
}

static double usual_value(const widener *w, tp_ix *e) {
  int n = tp_nsym(w->ix);
  int64_t *env = TP_NEWN(w->p->a, int64_t, n);
  for (int i = 0; i < n; i++) env[i] = TP_TUNE_TILE_UNKNOWN;
  return (double)TP_MAX(tp_ix_evalq(e, env), 1);
}

/* Bytes of all elements that a window goes over. */
static double window_bytes(const widener *w, const tp_region *r, const tp_nd *x) {
  double n = (double)tp_dtype_size(w->p->bufs.v[x->buf]->dtype);
  for (int k = 0; k < r->nlead; k++)
    if (!tp_is_number(x->lead[k], 0)) n *= usual_value(w, r->lead[k]);
  return n;
}

static double source_bytes(const widener *w, const tp_region *r) {
  double n = 0;
  for (int k = 0; k < r->nin; k++) n += window_bytes(w, r, &r->in[k]);
  return n;
}

/* Does it write all of a buffer (none that was made here): from its first place on, each axis along
 * a dim, and along the axes of a point all places? */
static bool covers_buffer(const widener *w, const tp_region *r) {
  const tp_nd *x = &r->out[0];
  const tp_pbuf *b = w->p->bufs.v[x->buf];
  uint64_t seen = 0;
  if (b->kind != TP_BUF_TEMP || x->buf >= w->nbuf || x->nring) return false;
  if (!tp_is_number(x->off, 0) || !tp_is_regular(w->p, r, x)) return false;
  for (int k = 0; k < r->nlead; k++) {
    int d = tp_moves_along(w->p, r, x, k);
    if (d == -2 && !tp_is_number(r->lead[k], 1)) return false;
    if (d >= b->ndim && r->lead[k] != b->slots[d]) return false;
    if (d >= 0) seen |= (uint64_t)1 << d;
  }
  for (int d = 0; d < b->ndim + b->rank; d++)
    if (!tp_is_number(b->slots[d], 1) && !(seen >> d & 1)) return false;
  return b->ndim + b->rank <= TP_MAXRANK;
}

/* Is it a cheap loop that makes more than it reads? */
static bool is_wider(const widener *w, const tp_region *r) {
  if (!tp_fits_tile(r) || r->acc || r->sums || r->nout != 1 || !r->nin) return false;
  if (r->nmicro > TP_TUNE_WIDENED_OPERATORS) return false;
  for (int k = 0; k < r->nmicro; k++)
    if (!is_cheap(r->micro[k].op)) return false;
  double made = r->out[0].buf < 0 ? 0 : window_bytes(w, r, &r->out[0]);
  return made >= TP_TUNE_WIDENED_LEAST && made > source_bytes(w, r);
}

/* ---- products that read it ---- */

/* The dims of the buffer that n places of the stride go along: all of them, or n of one. False: not
 * known. */
static bool dims_along(const widener *w, const tp_pbuf *b, tp_ix *stride, tp_ix *n, dims *to) {
  int d = tp_pbuf_dim(w->p, b, stride);
  int64_t slots, some;
  *to = (dims){ -1, -1 };
  if (tp_is_number(stride, 0) || tp_is_number(n, 1)) return true;
  if (d < 0) return false;
  *to = (dims){ d, d };
  for (tp_ix *all = b->slots[d]; all != n; all = tp_ix_mul(all, b->slots[to->outer]))
    if (--to->outer < b->ndim) { /* dims of points may lie in another order */
      *to = (dims){ d, d };
      return tp_ix_is_const(b->slots[d], &slots) && tp_ix_is_const(n, &some) && some <= slots;
    }
  return true;
}

static uint64_t dims_bits(dims d) {
  uint64_t bits = 0;
  for (int k = d.outer; k >= 0 && k <= d.inner; k++) bits |= (uint64_t)1 << k;
  return bits;
}

/* Finds the places of the dims in `left` that make `off` together: numbers, or all of it in one
 * dim. */
static bool find_first_places(
    const widener *w, const tp_pbuf *b, tp_ix *off, uint64_t left, wide_reader *to) {
  int64_t rest, slots, n[TP_MAXRANK], lo[TP_MAXRANK];
  if (!tp_ix_is_const(off, &rest)) {
    for (int d = 0; d < b->ndim + b->rank; d++) {
      if (!(left >> d & 1) || (to->seen >> d & 1)) continue;
      tp_ix *at = tp_ix_divexact(off, tp_pbuf_stride(w->ix, b, d));
      if (at) return to->first[d] = at, true;
    }
    return false;
  }
  for (int d = 0; d < b->ndim + b->rank; d++)
    if (!tp_ix_is_const(to->places[d], &n[d])) n[d] = -1;
  if (!tp_places_of(w->p, b, rest, n, lo)) return false;
  for (int d = 0; d < b->ndim + b->rank; d++) {
    if (lo[d] == 0) continue;
    bool known = left >> d & 1 && n[d] >= 0 && tp_ix_is_const(b->slots[d], &slots);
    if (!known || lo[d] < 0 || lo[d] + n[d] > slots) return false;
    to->first[d] = tp_ix_const(w->ix, lo[d]);
  }
  return true;
}

/* Finds the dims that the window's axes go along, and its place in all others; false: one is not
 * known. */
static bool is_placed_window(
    const widener *w, const tp_region *r, const tp_nd *x, wide_reader *to) {
  const tp_pbuf *b = w->p->bufs.v[x->buf];
  tp_ix *off = x->off;
  uint64_t left = 0;
  if (x->nring || x->wrap >= 0 || r->nlead + x->rank > TP_MAXRANK) return false;
  if (b->ndim + b->rank > TP_MAXRANK) return false;
  for (int d = 0; d < b->ndim + b->rank; d++) {
    to->first[d] = tp_ix_const(w->ix, 0), to->places[d] = tp_ix_const(w->ix, 1);
    if (!tp_is_number(b->slots[d], 1)) left |= (uint64_t)1 << d;
  }
  for (int k = 0; k < r->nlead + x->rank; k++) {
    bool lead = k < r->nlead;
    tp_ix *stride = lead ? x->lead[k] : x->stride[k - r->nlead];
    tp_ix *places = lead ? r->lead[k] : x->shape[k - r->nlead];
    dims *along = &to->along[k];
    if (!dims_along(w, b, stride, places, along)) return false;
    if (to->seen & dims_bits(*along)) return false;
    to->seen |= dims_bits(*along);
    for (int d = along->outer; d >= 0 && d <= along->inner; d++)
      to->places[d] = along->outer < along->inner ? b->slots[d] : places;
  }
  for (int d = 0; d < b->ndim; d++) {
    if (to->seen >> d & 1 || tp_is_number(b->slots[d], 1)) continue;
    tp_ix *at = x->nspan ? x->span[d].lo : NULL;
    if (!at || at != x->span[d].hi) return false;
    to->first[d] = at;
    off = tp_ix_sub(off, tp_ix_mul(at, tp_pbuf_stride(w->ix, b, d)));
    left &= ~((uint64_t)1 << d);
  }
  return find_first_places(w, b, off, left, to);
}

/* Finds the reader: a loop, or a product whose operand has rows or columns of its own along a dim
 * that tiles can cut. */
static bool find_reader(const widener *w, tp_pnode *at, int buf, wide_reader *to) {
  const tp_region *r = at->rg;
  if (r->kind != TP_RG_LOOP && r->kind != TP_RG_OP) return false;
  int k = 0, rank = r->out[0].rank;
  if (r->check || r->nrows || r->first || tp_windows_on(r, buf) != 1) return false;
  while (k < r->nin && r->in[k].buf != buf) k++;
  *to = (wide_reader){ .at = at, .operand = k, .axis = rank - 2 + k, .dim = -1 };
  if (k == r->nin || !is_placed_window(w, r, &r->in[k], to)) return false;
  if (r->kind == TP_RG_LOOP) return w->fuse && tp_fits_tile(r);
  if (r->op != TP_OP_MATMUL) return false;
  if (rank < 2 || r->in[k].rank != rank) return false;
  to->dim = to->along[r->nlead + to->axis].outer;
  return to->dim >= 0;
}

/* ---- are its operands unchanged? ---- */

static bool encloses(const tp_pnode *x, const tp_pnode *at) {
  while (at && at != x) at = at->up;
  return at != NULL;
}

/* The outermost node around `at` that does not hold the other one too. */
static const tp_pnode *apart_from(const tp_pnode *at, const tp_pnode *other) {
  while (at->up && !encloses(at->up, other)) at = at->up;
  return at;
}

/* Is the buffer written before the product is reached, or while that may run again? */
static bool writes_between(const widener *w, int buf, const tp_pnode *made, const tp_pnode *until) {
  for (int i = 0; i < w->nleaf; i++)
    if (w->leaf[i]->pos >= made->pos && w->leaf[i]->pos <= until->lastpos &&
        tp_region_writes(w->leaf[i]->rg, buf))
      return true;
  return false;
}

/* Does each loop around `made` lie around `at`, and does `made` run whenever `at` is reached? */
static bool same_turn(const tp_pnode *made, const tp_pnode *at) {
  for (const tp_pnode *x = made->up; x; x = x->up)
    if (!tp_is_row(x) && !(x->kind == TP_P_IF && tp_ix_of_bounds(x->cond)) && !encloses(x, at))
      return false;
  return true;
}

/* Is there a loop around `at` that is not around `made`? */
static bool was_hoisted(const tp_pnode *made, const tp_pnode *at) {
  const tp_pnode *x = at;
  while (x && (x->kind != TP_P_FOR || encloses(x, made))) x = x->up;
  return x != NULL;
}

static bool are_fixed(int n, tp_ixs e) {
  bool all = true;
  for (int k = 0; k < n; k++) all &= tp_ix_of_bounds(e[k]);
  return all;
}

static bool is_fixed(const tp_region *r) {
  bool is = are_fixed(r->nlead, r->lead) && are_fixed(r->nlead, r->leadlo);
  for (int i = 0; i < r->nin; i++) {
    is &= tp_ix_of_bounds(r->in[i].off) && are_fixed(r->nlead, r->in[i].lead);
    for (int k = 0; k < r->in[i].nring; k++) is &= tp_ix_of_bounds(r->in[i].ring[k].idx);
  }
  return is;
}

static bool may_be_made_at(const widener *w, const tp_pnode *made, const tp_pnode *at) {
  const tp_region *r = made->rg;
  bool turn = same_turn(made, at) && !tp_is_behind(at);
  if (made->pos > at->pos || (!turn && !is_fixed(r))) return false;
  for (int k = 0; k < r->nin; k++) {
    int buf = r->in[k].buf;
    if (writes_between(w, buf, w->p->body, w->p->body) &&
        (!turn || writes_between(w, buf, made, apart_from(at, made))))
      return false;
  }
  return true;
}

/* ---- tiles ---- */

/* How many places the dims inside of the cut one have: one axis of the product goes along all of
 * them. */
static tp_ix *inner_places(const widener *w, const tp_pbuf *b, const wide_reader *by) {
  tp_ix *n = tp_ix_const(w->ix, 1);
  dims d = by->along[by->at->rg->nlead + by->axis];
  for (int k = d.outer + 1; k <= d.inner; k++) n = tp_ix_mul(n, b->slots[k]);
  return n;
}

/* Places of the dim in a tile, at most a quarter of the bytes that are read for the whole; 0: it
 * does not pay. */
static int64_t places_of(const widener *w, const tp_region *made, const wide_reader *by) {
  const tp_pbuf *b = w->p->bufs.v[made->out[0].buf];
  int64_t all = tp_extent_of_tiles(by->places[by->dim]), least = TP_TUNE_WIDENED_LINE;
  double each = (double)tp_dtype_size(b->dtype);
  for (int k = 0; k < made->nlead; k++) {
    int d = tp_moves_along(w->p, made, &made->out[0], k);
    if (d >= 0 && d != by->dim && by->seen >> d & 1) each *= usual_value(w, by->places[d]);
  }
  least = TP_MAX(least / (int64_t)usual_value(w, inner_places(w, b, by)), 1);
  double part = source_bytes(w, made) / window_bytes(w, made, &made->out[0]);
  double most = TP_MIN(TP_TUNE_WIDENED_TILE, part * each * usual_value(w, by->places[by->dim]) / 4);
  int64_t n = TP_MAX((int64_t)(most / each) / least, 1) * least;
  if (!tp_ix_is_const(by->places[by->dim], NULL)) n = TP_MIN(n, 4 * least);
  return all >= 2 * n ? n : 0;
}

/* The buffer of a tile: n places of the dim (NULL: all), and one place of dims that are read at
 * one. */
static tp_pbuf *tile_buffer(
    widener *w, const tp_pbuf *b, const wide_reader *by, tp_ix *n, tp_sym *scope) {
  tp_pbuf *u = tp_dup(w->p->a, b, sizeof *b);
  u->slots = TP_DUPN(w->p->a, b->slots, b->ndim + b->rank);
  for (int d = 0; d < b->ndim + b->rank; d++) u->slots[d] = by->places[d];
  if (n) u->slots[by->dim] = tp_ix_min(n, by->places[by->dim]);
  u->size = tp_pbuf_size(w->ix, u);
  u->scope = scope, u->inside = TP_INSIDE_ALL;
  u->id = w->p->bufs.n;
  TP_PUSH(w->p->a, &w->p->bufs, u);
  return u;
}

/* Removes axis k, of one place. */
static void drop_axis(tp_region *r, int k) {
  size_t rest = sizeof *r->lead * (size_t)(r->nlead - k - 1);
  TP_WINDOWS (x, r) memmove(x->lead + k, x->lead + k + 1, rest);
  memmove(r->lead + k, r->lead + k + 1, rest);
  memmove(r->leadvar + k, r->leadvar + k + 1, rest);
  memmove(r->leadlo + k, r->leadlo + k + 1, rest);
  r->npoint -= k < r->npoint;
  r->nlead--;
}

/* The leaf that makes n places of the dim from `first` on; n NULL: all. */
static tp_pnode *make_tile(widener *w, const tp_region *made, const wide_reader *by,
    const tp_pbuf *u, tp_ix *first, tp_ix *n) {
  tp_region *m = tp_region_copy(w->p, made);
  const tp_pbuf *was = w->p->bufs.v[made->out[0].buf];
  bool *small = TP_NEWN(w->p->a, bool, w->p->bufs.n);
  small[u->id] = true;
  m->out[0].buf = u->id, m->out[0].nspan = 0;
  tp_lie_anew(w->p, m, &m->out[0], was, u);
  for (int k = m->nlead - 1; k >= 0; k--) {
    int d = tp_moves_along(w->p, made, &made->out[0], k);
    if (n && d >= 0 && d == by->dim) tp_cut_axis(m, k, tp_ix_add(by->first[d], first), n, small);
    else if (d >= 0 && by->places[d] != was->slots[d])
      tp_cut_axis(m, k, by->first[d], by->places[d], small);
    if (tp_is_number(m->lead[k], 1)) drop_axis(m, k);
  }
  return tp_plan_leaf(w->p->a, m);
}

/* Makes it right before its reader: for a product b rows or columns at a time, for a loop all of
 * it, which fuse.c then joins. */
static void make_where_read(widener *w, const tp_region *made, const wide_reader *by, int64_t b) {
  const tp_pbuf *was = w->p->bufs.v[made->out[0].buf];
  tp_region *r = tp_region_copy(w->p, by->at->rg);
  tp_nd *x = &r->in[by->operand], *y = &r->out[0];
  tp_tile t = { 0 };
  if (b) t = tp_tile_of(w->p, "tile", by->places[by->dim], b);
  const tp_pbuf *u = tile_buffer(w, was, by, b ? tp_ix_const(w->ix, b) : NULL, t.var);
  tp_lie_anew(w->p, r, x, was, u);
  x->buf = u->id, x->off = tp_ix_const(w->ix, 0), x->nspan = 0;
  if (b) {
    tp_ix *inner = inner_places(w, was, by), *row = tp_ix_mul(t.first, inner);
    y->shape[by->axis] = x->shape[by->axis] = tp_ix_mul(t.n, inner);
    y->off = tp_ix_add(y->off, tp_ix_mul(y->stride[by->axis], row));
  }
  tp_pnode *v[] = { make_tile(w, made, by, u, t.first, t.n), tp_plan_leaf(w->p->a, r) };
  tp_become(by->at, b ? tp_loop_over_tiles(w->p, &t, 2, v) : tp_plan_seq(w->p->a, 2, v));
}

/* ---- all of them ---- */

static void take_out(tp_pnode *x) {
  *x = (tp_pnode){ .kind = TP_P_SEQ, .up = x->up };
  tp_pnode *up = x->up;
  for (; up && (up->kind == TP_P_SEQ || up->kind == TP_P_IF) && up->n == 1; up = up->up)
    *up = (tp_pnode){ .kind = TP_P_SEQ, .up = up->up };
}

/* Makes it only where it is read, if all its readers are loops, or products that can go by
 * tiles. */
static bool make_again(widener *w, tp_pnode *made) {
  int buf = made->rg->out[0].buf, n = 0, left = w->uses[buf] - 1;
  wide_reader *by = TP_NEWN(w->p->a, wide_reader, left + 1);
  int64_t *places = TP_NEWN(w->p->a, int64_t, left + 1);
  for (int i = 0; i < w->nleaf; i++) {
    if (w->leaf[i] == made || !tp_windows_on(w->leaf[i]->rg, buf)) continue;
    if (n == left || !find_reader(w, w->leaf[i], buf, &by[n])) return false;
    if (!may_be_made_at(w, made, w->leaf[i])) return false;
    if (by[n].dim < 0 && !was_hoisted(made, w->leaf[i])) return false;
    if (by[n].dim >= 0 && !(places[n] = places_of(w, made->rg, &by[n]))) return false;
    n++;
  }
  if (!n || n != left) return false;
  for (int i = 0; i < n; i++) {
    make_where_read(w, made->rg, &by[i], places[i]);
    w->together |= by[i].dim < 0;
  }
  take_out(made);
  return true;
}

/* A loop around only this leaf, as over layers, becomes an axis of it: its reader says the
 * place. */
static bool make_again_of_loops(widener *w, int i) {
  enum { MOST = 4 };
  tp_pnode *leaf = w->leaf[i], *at[MOST], was[MOST];
  int n = 0;
  while (n < MOST) {
    tp_pnode *up = w->leaf[i]->up;
    while (up && up->kind == TP_P_SEQ && up->n == 1) up = up->up;
    if (!up || up->kind != TP_P_FOR) break;
    at[n] = up, was[n] = *up;
    if (!tp_absorb_loop(w->p, up, false)) break;
    up->pos = up->lastpos = leaf->pos;
    w->leaf[i] = at[n++];
    if (covers_buffer(w, up->rg) && make_again(w, up)) return true;
  }
  while (n--) *at[n] = was[n];
  w->leaf[i] = leaf;
  return false;
}

void tp_plan_widened(tp_plan *p, const tp_planned *asked) {
  widener w = { .p = p, .ix = p->ix, .nbuf = p->bufs.n, .fuse = asked->fuse };
  for (bool again = true; again;) {
    tp_plan_number(p);
    w.uses = tp_plan_uses(p);
    w.nleaf = 0;
    w.leaf = TP_NEWN(p->a, tp_pnode *, tp_plan_leaves(p->body) + 1);
    TP_EACH_NODE (k, p->body)
      if (k.x->rg) w.leaf[w.nleaf++] = k.x;
    again = false;
    for (int i = 0; i < w.nleaf && !again; i++) {
      if (!is_wider(&w, w.leaf[i]->rg)) continue;
      bool covers = covers_buffer(&w, w.leaf[i]->rg);
      again = covers ? make_again(&w, w.leaf[i]) : make_again_of_loops(&w, i);
    }
  }
  if (w.together) tp_plan_fuse(p, asked);
}
