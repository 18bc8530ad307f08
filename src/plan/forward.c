/* forward: what is put together only to be read is read where it comes from.
 *
 *   b[0 .. 1) = x[n-1 .. n); b[1 .. n) = x[0 .. n-1); y = f(b, x)
 *     =>   y[0 .. 1) = f(x[n-1 .. n), x[0 .. 1)); y[1 .. n) = f(x[0 .. n-1), x[1 .. n))
 *
 * A roll, a pad or a concatenation is such a row of copies and numbers, a stencil reads several of
 * them. The loop that reads them is cut where copies meet, along each axis, so that of each piece
 * every such window lies in what one of them put there last; what that had read nothing has changed
 * since. It is done where nobody else reads the buffer, or where the loop writes over it: then the
 * copies go. Elements are made by the same operators of the same numbers. */
#include "plan/priv.h"
#include <stdlib.h>

enum { MOST_PIECES = 27, MOST_CUTS = 8, MOST_WINDOWS = 16 };
/* reads: of each buffer; least: points a piece */
typedef struct {
  tp_plan *p;
  tp_arena *a;
  tp_ictx *ix;
  int *reads;
  int64_t least;
  tp_pnode **row;
} forwarder;

/* ---- what a window covers ---- */

/* Of its buffer, dim by dim and behind `rest`: n places from lo on, n < 0: as many as all. along:
 * the region's axis that goes there; -1: none. */
typedef struct {
  int ndim, along[TP_MAXRANK];
  int64_t lo[TP_MAXRANK], n[TP_MAXRANK];
  const tp_ix *all[TP_MAXRANK], *rest;
} box;

/* Inside each dim but the outermost, so that no two places are one element. */
static bool find_box(const forwarder *f, const tp_region *r, const tp_nd *x, box *o) {
  const tp_pbuf *b = f->p->bufs.v[x->buf];
  *o = (box){ .ndim = b->ndim + b->rank };
  if (o->ndim > TP_MAXRANK || x->wrap >= 0 || x->rank || !tp_is_regular(f->p, r, x)) return false;
  for (int d = 0; d < o->ndim; d++) o->along[d] = -1, o->n[d] = 1;
  for (int k = 0; k < r->nlead; k++) {
    int d = tp_moves_along(f->p, r, x, k);
    if (d < 0) continue;
    o->along[d] = k, o->all[d] = r->lead[k];
    if (!tp_ix_is_const(r->lead[k], &o->n[d])) o->n[d] = -1;
  }
  int64_t off = tp_ix_cst(x->off);
  o->rest = tp_ix_addc(f->ix, x->off, -off);
  return tp_places_of(f->p, b, off, o->n, o->lo);
}

static bool same_slots(const tp_nd *a, const tp_nd *b) {
  tp_nd x = *a, y = *b;
  x.off = y.off = NULL;
  return tp_same_start(&x, &y);
}

/* Do they lie on one ring, apart in time? */
static bool in_other_slots(const forwarder *f, const tp_nd *a, const tp_nd *b) {
  for (int i = 0; i < a->nring && a->nring == b->nring; i++) {
    const tp_ring *x = &a->ring[i], *y = &b->ring[i];
    int64_t between, width;
    if (x->width != y->width || x->stride != y->stride || !tp_ix_is_const(x->width, &width))
      return false;
    if (tp_ix_is_const(tp_ix_sub(f->ix, x->idx, y->idx), &between) && between % width) return true;
  }
  return false;
}

static bool boxes_apart(const box *a, const box *b) {
  for (int d = 0; d < a->ndim; d++)
    if (a->n[d] >= 0 && b->n[d] >= 0 &&
        (a->lo[d] + a->n[d] <= b->lo[d] || b->lo[d] + b->n[d] <= a->lo[d]))
      return true;
  return false;
}

static bool holds(const box *a, const box *b) {
  for (int d = 0; d < a->ndim; d++) {
    bool alike = a->lo[d] == b->lo[d] && a->all[d] == b->all[d] && a->n[d] == b->n[d];
    if (!alike &&
        (a->n[d] < 0 || b->n[d] < 0 || a->lo[d] > b->lo[d] ||
            a->lo[d] + a->n[d] < b->lo[d] + b->n[d]))
      return false;
  }
  return true;
}

static bool never_meet(
    const forwarder *f, const tp_region *r, const tp_nd *x, const tp_region *s, const tp_nd *y) {
  box a, b;
  if (x->buf != y->buf || in_other_slots(f, x, y)) return true;
  return same_slots(x, y) && find_box(f, r, x, &a) && find_box(f, s, y, &b) && a.rest == b.rest &&
      boxes_apart(&a, &b);
}

/* ---- copies ---- */

/* What result k is without being computed: an input, or a number; else NULL. */
static const tp_nd *copied(const tp_region *r, int k, const tp_micro **number) {
  *number = NULL;
  if (r->kind != TP_RG_LOOP || r->sums || r->acc || r->check || r->first || r->ncoord) return NULL;
  if (!r->nmicro) return &r->in[0];
  const tp_micro *m = &r->micro[r->outmicro[k]];
  if (m->op == TP_OP_FILL) *number = m;
  return m->op == TP_OP_DETACH && m->in[0] < r->nin ? &r->in[m->in[0]] : NULL;
}

static bool writes(const tp_region *r, int buf) {
  for (int k = 0; k < r->nout; k++)
    if (r->out[k].buf == buf) return true;
  return false;
}

/* Leaf j's window x covers o: the leaf that made all of that, and which of its results; -1: no copy
 * did. met: told of copies that made a part. */
typedef struct {
  int leaf, result;
} forward_source;
typedef void forward_meeting(void *ud, const box *part);

static forward_source maker(
    const forwarder *f, int j, const tp_nd *x, const box *o, forward_meeting *met, void *ud) {
  const tp_micro *number;
  box w;
  for (int i = j - 1; i >= 0 && !tp_is_wall(f->row[i]); i--) {
    const tp_region *r = f->row[i]->rg;
    for (int k = 0; k < r->nout; k++) {
      const tp_nd *y = &r->out[k];
      if (y->buf != x->buf || in_other_slots(f, x, y)) continue;
      if (!same_slots(x, y) || !find_box(f, r, y, &w) || w.rest != o->rest)
        return (forward_source){ -1, 0 };
      if (boxes_apart(&w, o)) continue;
      if (!copied(r, k, &number) && !number) return (forward_source){ -1, 0 };
      if (holds(&w, o)) return (forward_source){ i, k };
      if (!met) return (forward_source){ -1, 0 };
      met(ud, &w);
    }
  }
  return (forward_source){ -1, 0 };
}

/* Neighbours lie side by side there too: a copy that turns a matrix is worth its time. */
static bool keeps_lines(const tp_region *r, const tp_nd *z, const tp_nd *y) {
  for (int k = 0; k < r->nlead; k++)
    if (tp_is_number(y->lead[k], 1) && !tp_is_number(z->lead[k], 1) &&
        !tp_is_number(z->lead[k], 0) && !tp_is_number(r->lead[k], 1))
      return false;
  return true;
}

/* Is what that had read still there when leaf j runs, in whatever order its pieces do? */
static bool still_there(const forwarder *f, forward_source m, int j) {
  const tp_region *r = f->row[m.leaf]->rg;
  const tp_micro *number;
  const tp_nd *z = copied(r, m.result, &number);
  if (number) return true;
  if (!keeps_lines(r, z, &r->out[m.result])) return false;
  for (int i = m.leaf; i <= j; i++)
    for (int k = 0; k < f->row[i]->rg->nout; k++)
      if (!never_meet(f, r, z, f->row[i]->rg, &f->row[i]->rg->out[k])) return false;
  return true;
}

/* ---- where a loop is cut ---- */

typedef struct {
  int n;
  int64_t at[MOST_CUTS];
} cuts;
typedef struct {
  const box *o;
  cuts *cut;
  bool ok;
} forward_cutter;

static void cut_at(forward_cutter *c, int k, int64_t at) {
  cuts *x = &c->cut[k];
  int i = 0;
  while (i < x->n && x->at[i] < at) i++;
  if (i < x->n && x->at[i] == at) return;
  if (x->n == MOST_CUTS) {
    c->ok = false;
    return;
  }
  memmove(x->at + i + 1, x->at + i, sizeof *x->at * (size_t)(x->n - i));
  x->at[i] = at, x->n++;
}

static void cut_there(void *ud, const box *w) {
  forward_cutter *c = ud;
  for (int d = 0; d < w->ndim; d++) {
    int64_t from = w->lo[d] - c->o->lo[d], to = from + w->n[d];
    if (w->n[d] < 0 || c->o->n[d] < 0) continue;
    if (from > 0 && from < c->o->n[d]) cut_at(c, c->o->along[d], from);
    if (to > 0 && to < c->o->n[d]) cut_at(c, c->o->along[d], to);
  }
}

/* Of the loop n places from lo on, along each axis. */
typedef struct {
  int64_t lo[TP_MAXLEAD], n[TP_MAXLEAD];
} forward_piece;

static box part_of(const box *o, const forward_piece *q) {
  box x = *o;
  for (int d = 0; d < o->ndim; d++)
    if (o->along[d] >= 0 && o->n[d] >= 0) x.lo[d] += q->lo[o->along[d]], x.n[d] = q->n[o->along[d]];
  return x;
}

static forward_piece piece_at(const tp_region *r, const cuts *cut, const int *at) {
  forward_piece q = { 0 };
  for (int k = 0; k < r->nlead; k++) {
    int64_t all = -1;
    tp_ix_is_const(r->lead[k], &all);
    q.lo[k] = at[k] ? cut[k].at[at[k] - 1] : 0;
    q.n[k] = (at[k] < cut[k].n ? cut[k].at[at[k]] : all) - q.lo[k];
  }
  return q;
}

static bool step(const tp_region *r, const cuts *cut, int *at) {
  for (int k = r->nlead - 1; k >= 0; k--) {
    if (++at[k] <= cut[k].n) return true;
    at[k] = 0;
  }
  return false;
}

static int pieces(const tp_region *r, const cuts *cut) {
  int n = 1;
  for (int k = 0; k < r->nlead; k++) n = n > MOST_PIECES ? n : n * (cut[k].n + 1);
  return n;
}

/* ---- one loop ---- */

/* Which of its inputs are read elsewhere, and what they cover. */
typedef struct {
  const tp_region *r;
  int j, n, in[MOST_WINDOWS];
  box o[MOST_WINDOWS];
  cuts cut[TP_MAXLEAD];
} forwarding;

static bool may_be_cut(const tp_region *r) {
  if (r->kind != TP_RG_LOOP || r->sums || r->check || r->first || r->ncoord || r->nrows)
    return false;
  for (int k = 0; k < r->nin + r->nout; k++)
    if (tp_window_at(r, k)->wrap >= 0 || tp_window_at(r, k)->buf < 0) return false;
  return true;
}

static bool is_written_over(const tp_region *r, const tp_nd *x) {
  for (int k = 0; k < r->nout && !r->acc; k++)
    if (tp_same_window(x, &r->out[k], r->nlead)) return true;
  return false;
}

/* Would the buffer have no reader, or be written over? */
static bool is_over(const forwarder *f, const forwarding *w, int i) {
  const tp_nd *x = &w->r->in[w->in[i]];
  int here = 0;
  for (int k = 0; k < w->n; k++) here += w->r->in[w->in[k]].buf == x->buf;
  return (f->p->bufs.v[x->buf]->kind == TP_BUF_TEMP && here == f->reads[x->buf]) ||
      is_written_over(w->r, x);
}

static bool find_cuts(const forwarder *f, forwarding *w) {
  forward_cutter c = { NULL, w->cut, true };
  memset(w->cut, 0, sizeof w->cut);
  for (int i = 0; i < w->n; i++) {
    c.o = &w->o[i];
    maker(f, w->j, &w->r->in[w->in[i]], c.o, cut_there, &c);
  }
  return c.ok && pieces(w->r, w->cut) <= MOST_PIECES;
}

/* Input i of each piece is there elsewhere. */
static bool all_made(const forwarder *f, const forwarding *w, int i) {
  int at[TP_MAXLEAD] = { 0 };
  do {
    forward_piece q = piece_at(w->r, w->cut, at);
    box o = part_of(&w->o[i], &q);
    forward_source m = maker(f, w->j, &w->r->in[w->in[i]], &o, NULL, NULL);
    if (m.leaf < 0 || !still_there(f, m, w->j)) return false;
  } while (step(w->r, w->cut, at));
  return true;
}

static bool drop_others(const forwarder *f, forwarding *w) {
  bool kept[MOST_WINDOWS];
  int n = 0;
  for (int i = 0; i < w->n; i++) kept[i] = is_over(f, w, i) && all_made(f, w, i);
  for (int i = 0; i < w->n; i++) {
    if (!kept[i]) continue;
    w->in[n] = w->in[i];
    w->o[n++] = w->o[i];
  }
  bool any = n < w->n;
  w->n = n;
  return any;
}

static bool pays(const forwarder *f, const forwarding *w) {
  int64_t points = 1, n;
  for (int k = 0; k < w->r->nlead; k++)
    points *= tp_ix_is_const(w->r->lead[k], &n) ? TP_MIN(n, 1 << 20) : TP_TUNE_TILE_UNKNOWN;
  return w->n && points >= f->least * pieces(w->r, w->cut);
}

static bool find_plan(const forwarder *f, int j, forwarding *w) {
  *w = (forwarding){ .r = f->row[j]->rg, .j = j };
  if (!may_be_cut(w->r)) return false;
  for (int i = 0; i < w->r->nin && w->n < MOST_WINDOWS; i++) {
    bool written = false;
    for (int k = 0; k < j; k++)
      written |= f->row[k]->kind == TP_P_REGION && writes(f->row[k]->rg, w->r->in[i].buf);
    if (written && find_box(f, w->r, &w->r->in[i], &w->o[w->n])) w->in[w->n++] = i;
  }
  do
    if (!w->n || !find_cuts(f, w)) return false;
  while (drop_others(f, w));
  return pays(f, w);
}

/* ---- its pieces ---- */

/* In place of input i: what `from` reads, seen through the box that the piece sees of what that
 * makes. */
static void read_source(const forwarder *f, tp_region *r, int i, const box *seen,
    const tp_region *from, int result, const tp_nd *z) {
  tp_nd x = *z;
  box made_there;
  find_box(f, from, &from->out[result], &made_there);
  x.lead = TP_NEWN(f->a, const tp_ix *, r->nlead);
  for (int k = 0; k < r->nlead; k++) x.lead[k] = tp_ix_const(f->ix, 0);
  for (int d = 0; d < seen->ndim; d++) {
    int k = made_there.along[d];
    if (k < 0) continue;
    x.off = tp_ix_add(f->ix, x.off, tp_ix_mulc(f->ix, z->lead[k], seen->lo[d] - made_there.lo[d]));
    if (seen->along[d] >= 0) x.lead[seen->along[d]] = z->lead[k];
  }
  r->in[i] = x;
}

/* In place of input i a number, the first operator. */
static void read_number(const forwarder *f, tp_region *r, int i, const tp_micro *number) {
  int nin = r->nin - 1;
  tp_micro *m = TP_NEWN(f->a, tp_micro, r->nmicro + 1);
  int *outs = TP_NEWN(f->a, int, r->nout);
  m[0] = *number;
  for (int k = 0; k < r->nmicro; k++) {
    m[k + 1] = r->micro[k];
    for (int q = 0; q < tp_ops[m[k + 1].op].nin; q++) {
      int at = m[k + 1].in[q];
      m[k + 1].in[q] = at == i ? nin : at > i && at < r->nin ? at - 1 : at;
    }
  }
  for (int k = 0; k < r->nout; k++) outs[k] = r->nmicro ? r->outmicro[k] + 1 : 0;
  for (int k = i; k < nin; k++) r->in[k] = r->in[k + 1];
  r->nin = nin;
  r->micro = m, r->nmicro++;
  r->outmicro = outs;
}

static tp_region *make_piece(const forwarder *f, const forwarding *w, const forward_piece *q) {
  tp_region *r = tp_region_copy(f->p, w->r);
  for (int k = 0; k < r->nlead; k++)
    if (w->cut[k].n)
      tp_cut_axis(f->p, r, k, tp_ix_const(f->ix, q->lo[k]), tp_ix_const(f->ix, q->n[k]), NULL);
  /* from the last on: a number takes its input's place away */
  for (int i = w->n - 1; i >= 0; i--) {
    const tp_micro *number;
    box o = part_of(&w->o[i], q);
    forward_source m = maker(f, w->j, &w->r->in[w->in[i]], &o, NULL, NULL);
    const tp_region *from = f->row[m.leaf]->rg;
    const tp_nd *z = copied(from, m.result, &number);
    if (number) read_number(f, r, w->in[i], number);
    else read_source(f, r, w->in[i], &o, from, m.result, z);
  }
  return r;
}

/* ---- copies that nobody reads ---- */

static bool is_read(const forwarder *f, int i, int j, const tp_region *r, const tp_nd *y) {
  for (int k = i; k <= j; k++) {
    const tp_region *s = f->row[k]->rg;
    for (int q = 0; q < s->nin + (s->acc ? s->nout : 0); q++)
      if (!never_meet(f, r, y, s, tp_window_at(s, q))) return true;
  }
  return false;
}

static bool all_over(const forwarder *f, const tp_region *r, const tp_nd *y, const forwarding *w) {
  box a, b;
  for (int k = 0; k < w->r->nout; k++) {
    const tp_nd *x = &w->r->out[k];
    if (x->buf == y->buf && same_slots(x, y) && find_box(f, r, y, &a) && find_box(f, w->r, x, &b) &&
        a.rest == b.rest && holds(&b, &a))
      return true;
  }
  return false;
}

/* Without the operators, and the inputs, that none of its results needs. */
static void prune(forwarder *f, tp_region *r) {
  int all = r->nin + r->nmicro, n = 0, *to = TP_NEWN(f->a, int, all);
  if (!r->nmicro) return;
  bool *needed = TP_NEWN(f->a, bool, all);
  for (int k = 0; k < r->nout; k++) needed[r->nin + r->outmicro[k]] = true;
  for (int k = r->nmicro - 1; k >= 0; k--)
    for (int i = 0; i < tp_ops[r->micro[k].op].nin && needed[r->nin + k]; i++)
      needed[r->micro[k].in[i]] = true;
  for (int k = 0; k < all; k++) to[k] = needed[k] ? n++ : -1;
  int nin = 0, nmicro = 0;
  tp_nd *in = TP_NEWN(f->a, tp_nd, r->nin);
  tp_micro *m = TP_NEWN(f->a, tp_micro, r->nmicro);
  for (int k = 0; k < r->nin; k++)
    if (needed[k]) in[nin++] = r->in[k];
  for (int k = 0; k < r->nmicro; k++) {
    if (!needed[r->nin + k]) continue;
    m[nmicro] = r->micro[k];
    for (int i = 0; i < tp_ops[m[nmicro].op].nin; i++) m[nmicro].in[i] = to[m[nmicro].in[i]];
    nmicro++;
  }
  for (int k = 0; k < r->nout; k++) r->outmicro[k] = to[r->nin + r->outmicro[k]] - nin;
  r->in = in, r->nin = nin;
  r->micro = m, r->nmicro = nmicro;
}

static void drop_result(forwarder *f, tp_region *r, int k) {
  tp_nd *out = TP_NEWN(f->a, tp_nd, r->nout);
  int *outs = TP_NEWN(f->a, int, r->nout), n = 0;
  for (int i = 0; i < r->nout; i++) {
    if (i == k) continue;
    out[n] = r->out[i];
    outs[n++] = r->nmicro ? r->outmicro[i] : 0;
  }
  r->out = out, r->outmicro = outs, r->nout = n;
}

static void count_reads(forwarder *f, const tp_region *r, int by) {
  for (int k = 0; k < r->nin; k++) f->reads[r->in[k].buf] += by;
  for (int k = 0; k < r->nout; k++)
    if (r->out[k].buf >= 0 && (r->acc || r->kind != TP_RG_LOOP)) f->reads[r->out[k].buf] += by;
  for (int k = 0; k < r->nrows; k++) f->reads[r->rows[k].nd.buf] += by;
}

/* Of leaf i the results that nobody reads: of a buffer that has no reader, or before the loop,
 * whose last piece is `last`, writes over them. */
static void drop_results(forwarder *f, const forwarding *w, int i, int last) {
  tp_region *r = f->row[i]->rg;
  const tp_micro *number;
  int before = r->nout;
  for (int k = r->nout - 1; k >= 0; k--) {
    const tp_nd *y = &r->out[k];
    bool seen = false;
    for (int q = 0; q < w->n; q++) seen |= w->r->in[w->in[q]].buf == y->buf;
    if (!seen || (!copied(r, k, &number) && !number)) continue;
    bool gone = f->p->bufs.v[y->buf]->kind == TP_BUF_TEMP && !f->reads[y->buf];
    if (gone || (all_over(f, r, y, w) && !is_read(f, i + 1, last, r, y))) drop_result(f, r, k);
  }
  if (r->nout == before) return;
  count_reads(f, r, -1);
  prune(f, r);
  if (r->nout) count_reads(f, r, 1);
}

/* ---- rows of leaves ---- */

/* Leaf j, the last of the row, becomes its pieces; how many leaves there are then. */
static int forward_leaf(forwarder *f, const forwarding *w) {
  int at[TP_MAXLEAD] = { 0 }, n = 0, made_of = pieces(w->r, w->cut);
  tp_region **piece_of = TP_NEWN(f->a, tp_region *, made_of);
  for (int k = 0; k < made_of; k++, step(w->r, w->cut, at)) {
    forward_piece q = piece_at(w->r, w->cut, at);
    piece_of[k] = make_piece(f, w, &q);
  }
  count_reads(f, w->r, -1);
  for (int k = 0; k < made_of; k++) {
    tp_pnode *x = tp_dup(f->a, f->row[w->j], sizeof *x);
    if (k) f->row[w->j + k] = x;
    f->row[w->j + k]->rg = piece_of[k];
    count_reads(f, piece_of[k], 1);
  }
  for (int i = w->j - 1; i >= 0 && !tp_is_wall(f->row[i]); i--)
    drop_results(f, w, i, w->j + made_of - 1);
  for (int i = 0; i < w->j + made_of; i++)
    if (f->row[i]->kind != TP_P_REGION || f->row[i]->rg->nout || f->row[i]->rg->kind != TP_RG_LOOP)
      f->row[n++] = f->row[i];
  return n;
}

static void forward_row(forwarder *f, tp_pnode *x) {
  forwarding w;
  tp_pnode **row = f->row = TP_NEWN(f->a, tp_pnode *, x->n * MOST_PIECES);
  int n = 0;
  for (int i = 0; i < x->n; i++) {
    row[n++] = x->kid[i];
    if (!tp_is_wall(x->kid[i]) && find_plan(f, n - 1, &w)) n = forward_leaf(f, &w);
  }
  x->kid = row;
  x->n = n;
}

void tp_plan_forward(tp_plan *p, const tp_planned *asked) {
  (void)asked;
  const char *set = p->reproducible ? NULL : tp_setting("TEMPO_FORWARD");
  forwarder f = { .p = p,
    .a = p->a,
    .ix = p->ix,
    .reads = TP_NEWN(p->a, int, p->bufs.n),
    .least = set ? atoll(set) : TP_TUNE_FORWARD_PIECE };
  TP_EACH_NODE (k, p->body) {
    if (k.x->rg) count_reads(&f, k.x->rg, 1);
    for (int i = 0; i < tp_node_windows(k.x) && !k.x->rg; i++)
      f.reads[tp_node_window(k.x, i)->buf]++;
  }
  TP_KIDS_FIRST (k, p->body)
    if (k.x->kind == TP_P_SEQ && k.x->n > 2) forward_row(&f, k.x);
}
