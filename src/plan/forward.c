/* forward: a buffer that copies put together only to be read is not made: readers go to the
 * sources.
 *
 *   b[0 .. 1) = x[n-1 .. n); b[1 .. n) = x[0 .. n-1); y = f(b, x)
 *     =>   y[0 .. 1) = f(x[n-1 .. n), x[0 .. 1)); y[1 .. n) = f(x[0 .. n-1), x[1 .. n))
 *
 * A roll, a pad or a concatenation is such a row of copies and numbers, a stencil reads several of
 * them. The loop that reads them is cut where copies meet, along each axis, so that in each piece
 * every such window lies in the part that one copy wrote last, whose source is unchanged. It is
 * done if nothing else reads the buffer, or if the loop writes over it: then the copies go.
 * Elements are made by the same operators of the same numbers. */
#include "plan/priv.h"
#include <stdlib.h>

enum { MOST_PIECES = 27, MOST_WINDOWS = 16 };
/* By buffer, reads: how many there are; wrote: the row whose leaves so far write it. least: points
 * that a piece must have. */
typedef struct {
  tp_plan *p;
  tp_ictx *ix;
  int *reads;
  tp_pnode ***wrote;
  int64_t least;
  tp_pnode **row;
} forwarder;

/* ---- boxes that windows cover ---- */

/* The places of a buffer that a window covers, behind `rest`: n from lo on in each dim; n < 0: all.
 * along: the region's axis that goes along the dim; -1: none. */
typedef struct {
  int ndim, along[TP_MAXRANK];
  int64_t lo[TP_MAXRANK], n[TP_MAXRANK];
  tp_ix *all[TP_MAXRANK], *rest;
} forward_box;

/* Finds the box of a window, which lies inside each dim but the outermost, so that no two places
 * are one element. */
static bool find_box(const forwarder *f, const tp_region *r, const tp_nd *x, forward_box *o) {
  const tp_pbuf *b = f->p->bufs.v[x->buf];
  *o = (forward_box){ .ndim = b->ndim + b->rank };
  if (o->ndim > TP_MAXRANK || x->wrap >= 0 || x->rank || !tp_is_regular(f->p, r, x)) return false;
  for (int d = 0; d < o->ndim; d++) o->along[d] = -1, o->n[d] = 1;
  for (int k = 0; k < r->nlead; k++) {
    int d = tp_moves_along(f->p, r, x, k);
    if (d < 0) continue;
    o->along[d] = k, o->all[d] = r->lead[k];
    if (!tp_ix_is_const(r->lead[k], &o->n[d])) o->n[d] = -1;
  }
  int64_t off = tp_ix_cst(x->off);
  o->rest = tp_ix_addc(x->off, -off);
  return tp_places_of(f->p, b, off, o->n, o->lo);
}

static bool same_slots(const tp_nd *a, const tp_nd *b) {
  tp_nd x = *a, y = *b;
  x.off = y.off = NULL;
  return tp_same_start(&x, &y);
}

/* Do they lie on one ring, apart in time? */
static bool in_other_slots(const tp_nd *a, const tp_nd *b) {
  for (int i = 0; i < a->nring && a->nring == b->nring; i++) {
    const tp_ring *x = &a->ring[i], *y = &b->ring[i];
    int64_t between, width;
    if (x->width != y->width || x->stride != y->stride || !tp_ix_is_const(x->width, &width))
      return false;
    if (tp_ix_is_const(tp_ix_sub(x->idx, y->idx), &between) && between % width) return true;
  }
  return false;
}

static bool boxes_apart(const forward_box *a, const forward_box *b) {
  for (int d = 0; d < a->ndim; d++)
    if (a->n[d] >= 0 && b->n[d] >= 0 &&
        (a->lo[d] + a->n[d] <= b->lo[d] || b->lo[d] + b->n[d] <= a->lo[d]))
      return true;
  return false;
}

static bool holds(const forward_box *a, const forward_box *b) {
  for (int d = 0; d < a->ndim; d++) {
    bool alike = a->lo[d] == b->lo[d] && a->all[d] == b->all[d] && a->n[d] == b->n[d];
    if (!alike &&
        (a->n[d] < 0 || b->n[d] < 0 || a->lo[d] > b->lo[d] ||
            a->lo[d] + a->n[d] < b->lo[d] + b->n[d]))
      return false;
  }
  return true;
}

/* Finds the boxes of two windows in the same slots; false: they are not known. */
static bool find_boxes(const forwarder *f, const tp_region *r, const tp_nd *x, const tp_region *s,
    const tp_nd *y, forward_box *a, forward_box *b) {
  return same_slots(x, y) && find_box(f, r, x, a) && find_box(f, s, y, b) && a->rest == b->rest;
}

static bool never_meet(
    const forwarder *f, const tp_region *r, const tp_nd *x, const tp_region *s, const tp_nd *y) {
  forward_box a, b;
  return x->buf != y->buf || in_other_slots(x, y) ||
      (find_boxes(f, r, x, s, y, &a, &b) && boxes_apart(&a, &b));
}

/* ---- copies ---- */

/* A result of a leaf (-1: of none) that is a copy of an input, `from`, or a number. made: the box
 * that it wrote. */
typedef struct {
  int leaf, result;
  const tp_nd *from;
  const tp_micro *number;
  forward_box made;
} forward_source;

static bool is_copy(const tp_region *r, int k, forward_source *to) {
  to->from = NULL, to->number = NULL;
  if (r->kind != TP_RG_LOOP || r->sums || r->acc || r->check || r->first || r->ncoord) return false;
  const tp_micro *m = r->nmicro ? &r->micro[r->outmicro[k]] : NULL;
  if (!m) to->from = &r->in[0];
  else if (m->op == TP_OP_FILL) to->number = m;
  else if (m->op == TP_OP_DETACH && m->in[0] < r->nin) to->from = &r->in[m->in[0]];
  return to->from || to->number;
}

/* The latest copy before leaf j that wrote places which j's window x covers (o). */
static forward_source maker(const forwarder *f, int j, const tp_nd *x, const forward_box *o) {
  forward_source m = { .leaf = -1 };
  for (int i = j - 1; i >= 0 && !tp_is_wall(f->row[i]); i--) {
    const tp_region *r = f->row[i]->rg;
    for (int k = 0; k < r->nout; k++) {
      const tp_nd *y = &r->out[k];
      if (y->buf != x->buf || in_other_slots(x, y)) continue;
      if (!same_slots(x, y) || !find_box(f, r, y, &m.made) || m.made.rest != o->rest) return m;
      if (boxes_apart(&m.made, o)) continue;
      if (is_copy(r, k, &m)) m.leaf = i, m.result = k;
      return m;
    }
  }
  return m;
}

/* Do neighbours lie side by side in the source too? A copy that turns a matrix is worth its
 * time. */
static bool keeps_lines(const tp_region *r, const tp_nd *z, const tp_nd *y) {
  for (int k = 0; k < r->nlead; k++)
    if (tp_is_number(y->lead[k], 1) && !tp_is_number(z->lead[k], 1) &&
        !tp_is_number(z->lead[k], 0) && !tp_is_number(r->lead[k], 1))
      return false;
  return true;
}

/* Is the copy's source unchanged when leaf j runs, in whatever order its pieces do? */
static bool still_there(const forwarder *f, const forward_source *m, int j) {
  const tp_region *r = f->row[m->leaf]->rg;
  if (m->number) return true;
  if (!keeps_lines(r, m->from, &r->out[m->result])) return false;
  for (int i = m->leaf; i <= j; i++)
    for (int k = 0; k < f->row[i]->rg->nout; k++)
      if (!never_meet(f, r, m->from, f->row[i]->rg, &f->row[i]->rg->out[k])) return false;
  return true;
}

/* The loop's axis along which the copy's source lies round a ring; -1: none. */
static int wrapped_axis(const forward_source *m, const forward_box *o) {
  for (int d = 0; d < o->ndim && m->from->wrap >= 0; d++)
    if (m->made.along[d] == m->from->wrap) return o->along[d];
  return -1;
}

/* ---- cuts of a loop ---- */

/* n places of the loop from lo on, along each axis; n < 0: as many as the call says. */
typedef struct {
  int64_t lo[TP_MAXLEAD], n[TP_MAXLEAD];
} forward_piece;
/* in: which of its inputs are read at their sources, and which boxes they cover */
typedef struct {
  const tp_region *r;
  int j, n, in[MOST_WINDOWS], npiece;
  forward_box o[MOST_WINDOWS];
  forward_piece piece[MOST_PIECES];
} forwarding;

static const tp_nd *window_of(const forwarding *w, int i) { return &w->r->in[w->in[i]]; }

static forward_box part_of(const forward_box *o, const forward_piece *q) {
  forward_box x = *o;
  for (int d = 0; d < o->ndim; d++)
    if (o->along[d] >= 0 && o->n[d] >= 0) x.lo[d] += q->lo[o->along[d]], x.n[d] = q->n[o->along[d]];
  return x;
}

/* The place, and the axis, at which to cut o so that one part of it was all made, or not at all. */
static int64_t edge_inside(const forward_box *made, const forward_box *o, int *axis) {
  for (int d = 0; d < o->ndim; d++) {
    int64_t from = made->lo[d] - o->lo[d], to = from + made->n[d], n = o->n[d];
    if (made->n[d] < 0 || n < 0) continue;
    *axis = o->along[d];
    if (from > 0 && from < n) return from;
    if (to > 0 && to < n) return to;
  }
  return 0;
}

/* Cuts the piece until one copy made each of its windows. False: *bad is a window that none did, or
 * there are too many pieces. */
static bool cut_pieces(const forwarder *f, forwarding *w, forward_piece q, int *bad) {
  int axis = -1;
  for (*bad = 0; *bad < w->n; ++*bad) {
    forward_box o = part_of(&w->o[*bad], &q);
    forward_source m = maker(f, w->j, window_of(w, *bad), &o);
    if (m.leaf < 0) return false;
    if (holds(&m.made, &o)) {
      bool wraps = !m.number && m.from->wrap >= 0;
      if (!still_there(f, &m, w->j) || (wraps && wrapped_axis(&m, &o) < 0)) return false;
      continue;
    }
    int64_t at = edge_inside(&m.made, &o, &axis);
    if (!at || axis < 0) return false;
    forward_piece rest = q;
    q.n[axis] = at;
    rest.lo[axis] += at, rest.n[axis] -= at;
    return cut_pieces(f, w, q, bad) && cut_pieces(f, w, rest, bad);
  }
  if (w->npiece == MOST_PIECES) return false;
  return w->piece[w->npiece++] = q, true;
}

/* ---- one loop ---- */

static bool may_be_cut(const tp_region *r) {
  if (r->kind != TP_RG_LOOP || r->sums || r->check || r->first || r->ncoord || r->nrows)
    return false;
  TP_WINDOWS (x, r)
    if (x->wrap >= 0 || x->buf < 0) return false;
  return true;
}

/* Would the buffer of input i have no other reader, or be written over? */
static bool is_over(const forwarder *f, const forwarding *w, int i) {
  const tp_nd *x = window_of(w, i);
  int here = 0;
  for (int k = 0; k < w->n; k++) here += window_of(w, k)->buf == x->buf;
  bool over = f->p->bufs.v[x->buf]->kind == TP_BUF_TEMP && here == f->reads[x->buf];
  for (int k = 0; k < w->r->nout && !w->r->acc; k++)
    over |= tp_same_window(x, &w->r->out[k], w->r->nlead);
  return over;
}

static bool pays(const forwarder *f, const forwarding *w) {
  int64_t points = 1, n;
  for (int k = 0; k < w->r->nlead; k++)
    points *= tp_ix_is_const(w->r->lead[k], &n) ? TP_MIN(n, 1 << 20) : TP_TUNE_TILE_UNKNOWN;
  return points >= f->least * w->npiece;
}

static bool find_plan(const forwarder *f, int j, forwarding *w) {
  forward_piece all = { 0 };
  *w = (forwarding){ .r = f->row[j]->rg, .j = j };
  if (!may_be_cut(w->r)) return false;
  for (int k = 0; k < w->r->nlead; k++)
    if (!tp_ix_is_const(w->r->lead[k], &all.n[k])) all.n[k] = -1;
  for (int i = 0; i < w->r->nin && w->n < MOST_WINDOWS; i++) {
    if (f->wrote[w->r->in[i].buf] == f->row && find_box(f, w->r, &w->r->in[i], &w->o[w->n]))
      w->in[w->n++] = i;
  }
  while (w->n) {
    int bad = 0;
    while (bad < w->n && is_over(f, w, bad)) bad++;
    w->npiece = 0;
    if (bad == w->n && cut_pieces(f, w, all, &bad)) return pays(f, w);
    if (bad == w->n) return false;
    w->n--; /* without that input */
    memmove(w->in + bad, w->in + bad + 1, sizeof *w->in * (size_t)(w->n - bad));
    memmove(w->o + bad, w->o + bad + 1, sizeof *w->o * (size_t)(w->n - bad));
  }
  return false;
}

/* ---- its pieces ---- */

/* In place of input i the piece reads the copy's source, through the box o of the places that it
 * made. */
static void read_source(
    const forwarder *f, tp_region *r, int i, const forward_box *o, const forward_source *m) {
  const tp_nd *z = m->from;
  tp_nd x = *z;
  x.lead = TP_NEWN(f->p->a, tp_ix *, r->nlead);
  for (int k = 0; k < r->nlead; k++) x.lead[k] = tp_ix_const(f->ix, 0);
  for (int d = 0; d < o->ndim; d++) {
    int k = m->made.along[d];
    if (k < 0) continue;
    int64_t from = o->lo[d] - m->made.lo[d];
    if (k == z->wrap) x.wlo = tp_ix_addc(z->wlo, from);
    else x.off = tp_ix_add(x.off, tp_ix_mulc(z->lead[k], from));
    if (o->along[d] >= 0) x.lead[o->along[d]] = z->lead[k];
  }
  x.wrap = wrapped_axis(m, o);
  r->in[i] = x;
}

/* In place of input i the piece has a number, its first micro. */
static void read_number(const forwarder *f, tp_region *r, int i, const tp_micro *number) {
  int nin = r->nin - 1;
  tp_micro *m = TP_NEWN(f->p->a, tp_micro, r->nmicro + 1);
  int *outs = TP_NEWN(f->p->a, int, r->nout);
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
    if (q->n[k] >= 0 && !tp_is_number(r->lead[k], q->n[k]))
      tp_cut_axis(r, k, tp_ix_const(f->ix, q->lo[k]), tp_ix_const(f->ix, q->n[k]), NULL);
  /* from the last on: a number takes its input's place away */
  for (int i = w->n - 1; i >= 0; i--) {
    forward_box o = part_of(&w->o[i], q);
    forward_source m = maker(f, w->j, window_of(w, i), &o);
    if (m.number) read_number(f, r, w->in[i], m.number);
    else read_source(f, r, w->in[i], &o, &m);
  }
  return r;
}

/* ---- copies that are not read ---- */

static bool is_read(const forwarder *f, int i, int j, const tp_region *r, const tp_nd *y) {
  for (int k = i; k <= j; k++) {
    const tp_region *s = f->row[k]->rg;
    TP_WINDOWS (x, s)
      if ((s->acc || x < s->out || x >= s->out + s->nout) && !never_meet(f, r, y, s, x))
        return true;
  }
  return false;
}

static bool all_over(const forwarder *f, const tp_region *r, const tp_nd *y, const forwarding *w) {
  forward_box a, b;
  for (int k = 0; k < w->r->nout; k++) {
    if (find_boxes(f, r, y, w->r, &w->r->out[k], &a, &b) && holds(&b, &a)) return true;
  }
  return false;
}

static void count_reads(forwarder *f, const tp_region *r, int by) {
  for (int k = 0; k < r->nin; k++) f->reads[r->in[k].buf] += by;
  for (int k = 0; k < r->nout; k++)
    if (r->out[k].buf >= 0 && (r->acc || r->kind != TP_RG_LOOP)) f->reads[r->out[k].buf] += by;
  for (int k = 0; k < r->nrows; k++) f->reads[r->rows[k].nd.buf] += by;
}

/* Leaf i goes if none of its results is read: their buffers have no reader, or the loop, whose last
 * piece is `last`, writes over them. */
static void drop_leaf(forwarder *f, const forwarding *w, int i, int last) {
  tp_region *r = f->row[i]->rg;
  forward_source copy;
  bool idle = true;
  count_reads(f, r, -1);
  for (int k = 0; k < r->nout && idle; k++) {
    const tp_nd *y = &r->out[k];
    bool seen = false;
    for (int q = 0; q < w->n; q++) seen |= window_of(w, q)->buf == y->buf;
    bool gone = seen && f->p->bufs.v[y->buf]->kind == TP_BUF_TEMP && !f->reads[y->buf];
    idle = seen && is_copy(r, k, &copy) &&
        (gone || (all_over(f, r, y, w) && !is_read(f, i + 1, last, r, y)));
  }
  if (idle) r->nout = 0;
  else count_reads(f, r, 1);
}

/* ---- rows of leaves ---- */

/* Replaces leaf j, the last of the row, by its pieces; returns how many leaves there are then. */
static int forward_leaf(forwarder *f, const forwarding *w) {
  int n = 0, end = w->j + w->npiece;
  tp_pnode *piece[MOST_PIECES];
  for (int k = 0; k < w->npiece; k++)
    piece[k] = tp_plan_leaf(f->p->a, make_piece(f, w, &w->piece[k]));
  count_reads(f, w->r, -1);
  for (int k = 0; k < w->npiece; k++) {
    f->row[w->j + k] = piece[k];
    count_reads(f, piece[k]->rg, 1);
  }
  for (int i = w->j - 1; i >= 0 && !tp_is_wall(f->row[i]); i--) drop_leaf(f, w, i, end - 1);
  for (int i = 0; i < end; i++)
    if (f->row[i]->kind != TP_P_REGION || f->row[i]->rg->nout || f->row[i]->rg->kind != TP_RG_LOOP)
      f->row[n++] = f->row[i];
  return n;
}

static void forward_row(forwarder *f, tp_pnode *x) {
  forwarding w;
  tp_pnode **row = f->row = TP_NEWN(f->p->a, tp_pnode *, x->n * MOST_PIECES);
  int n = 0;
  for (int i = 0; i < x->n; i++) {
    row[n++] = x->kid[i];
    const tp_region *r = x->kid[i]->rg;
    if (!tp_is_wall(x->kid[i]) && find_plan(f, n - 1, &w)) n = forward_leaf(f, &w);
    for (int k = 0; r && k < r->nout; k++)
      if (r->out[k].buf >= 0) f->wrote[r->out[k].buf] = row;
  }
  x->kid = row;
  x->n = n;
}

void tp_plan_forward(tp_plan *p, const tp_planned *asked) {
  (void)asked;
  const char *set = p->reproducible ? NULL : tp_setting("TEMPO_FORWARD");
  forwarder f = { .p = p,
    .ix = p->ix,
    .reads = TP_NEWN(p->a, int, p->bufs.n),
    .wrote = TP_NEWN(p->a, tp_pnode **, p->bufs.n),
    .least = set ? atoll(set) : TP_TUNE_FORWARD_PIECE };
  TP_EACH_NODE (k, p->body)
    if (k.x->rg) count_reads(&f, k.x->rg, 1);
  TP_EACH_WINDOW (k, p->body) f.reads[k.nd->buf] += !k.x->rg;
  TP_KIDS_FIRST (k, p->body)
    if (k.x->kind == TP_P_SEQ && k.x->n > 2) forward_row(&f, k.x);
}
