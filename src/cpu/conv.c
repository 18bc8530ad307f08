/* conv.c: computes convolution and its adjoints (ops.def has the form) by matrix products.
 *
 * Position p of image n is a *column*: the C * K elements of x that it sees. With all columns side
 * by side in a matrix B (CK x columns)
 *
 *   conv         y = w B          columns are gathered from x
 *   conv_data    B = w' y         columns are added to x
 *   conv_weight  w = y B'         columns are gathered from x
 *
 * but only a chunk of them, as large as a cache holds, exists at a time; small images share one.
 * Images are the batch and every leading axis along which w stays; for axes along which w moves
 * (leading axes, groups) all begins anew. */
#include "cpu/contract.h"

enum { MAXD = TP_MAXRANK - 3 };

typedef struct image_axes {
  int n;
  int64_t ext[TP_MAXRANK], s[3][TP_MAXRANK];
} image_axes;
/* n columns from col on, along the last spatial axis; where their images begin; the place in x of
 * window 0 */
typedef struct piece {
  int64_t x, y, at[MAXD], col, n;
} piece;
_Static_assert(sizeof(piece) <= TP_WORK_PIECE, "pieces are larger than cpu/workspace.c counts");
/* a matrix whose columns are contiguous */
typedef struct block {
  char *p;
  int64_t row;
} block;

typedef struct conv {
  tp_exec *x;
  tp_dreg *r;
  tp_op op;
  tp_dtype dtype;
  int size;
  /* spatial axes: stride, dilation, padding of each */
  int d;
  const int *attr;
  tp_view v[3]; /* without leading axes */
  image_axes outer, image;
  int64_t C, O, K, P, CK, columns;
  char *base[3]; /* of x, w, y at the outer point */
  int64_t chunk, npiece;
  bool apart; /* no chunk has columns of two images */
  /* are columns of one image rows of x as it lies? Is y dense? */
  bool pointwise, ydense;
  piece *piece;
  /* working memory, NULL if the operand will do as it lies; weight: w dense */
  char *cols, *ycols, *weight;
} conv;

static bool conv_along(image_axes *a, int64_t n, int64_t x, int64_t w, int64_t y) {
  if (n != 1) {
    a->ext[a->n] = n;
    a->s[TP_CX][a->n] = x;
    a->s[TP_CW][a->n] = w;
    a->s[TP_CY][a->n++] = y;
  }
  return n != 0;
}

/* Do the spatial axes lie as one of unit stride? */
static bool spatial_dense(const tp_view *v) {
  tp_view s = tp_view_spatial(v, 3);
  return tp_view_dense(&s);
}

static bool pointwise(const conv *c) {
  for (int i = 0; i < c->d; i++)
    if (c->v[TP_CW].shape[3 + i] != 1 || c->attr[3 * i] != 1 || c->attr[3 * i + 2] != 0 ||
        c->v[TP_CX].shape[3 + i] != c->v[TP_CY].shape[3 + i])
      return false;
  return spatial_dense(&c->v[TP_CX]);
}

static int64_t extents_product(int n, const int64_t *ext) {
  int64_t p = 1;
  for (int i = 0; i < n; i++) p *= ext[i];
  return p;
}

/* Sizes and axes; the views' leading axes have the region's extents. */
static void measure(conv *c, const tp_view *full[3]) {
  int nlead = c->r->nlead;
  for (int i = 0; i < 3; i++) c->v[i] = tp_view_spatial(full[i], nlead);
  c->d = c->v[TP_CX].rank - 3;
  for (int i = 0; i < nlead; i++)
    conv_along(full[TP_CW]->stride[i] ? &c->outer : &c->image, c->r->out[0].v.shape[i],
        full[TP_CX]->stride[i], full[TP_CW]->stride[i], full[TP_CY]->stride[i]);
  const tp_view *x = &c->v[TP_CX], *w = &c->v[TP_CW], *y = &c->v[TP_CY];
  conv_along(&c->image, x->shape[0], x->stride[0], 0, y->stride[0]);
  conv_along(&c->outer, x->shape[1], x->stride[1], w->stride[0], y->stride[1]);
  c->C = x->shape[2];
  c->O = y->shape[2];
  c->K = extents_product(c->d, w->shape + 3);
  c->P = extents_product(c->d, y->shape + 3);
  c->CK = c->C * c->K;
  c->columns = extents_product(c->image.n, c->image.ext) * c->P;
  c->pointwise = pointwise(c);
  c->ydense = spatial_dense(y);
  c->apart = c->P >= TP_WORK_FEWEST;
}

static bool weight_dense(const conv *c) {
  tp_view w = tp_view_spatial(&c->v[TP_CW], 2);
  return tp_view_dense(&w) && (c->O == 1 || c->v[TP_CW].stride[1] == c->CK);
}

/* Columns of each when P are cut into parts of about `fit`, at most 15 more. */
static int64_t equal_parts(int64_t P, int64_t fit) {
  int64_t parts = (P + fit - 1) / fit;
  return TP_MIN(((P + parts - 1) / parts + 15) & ~(int64_t)15, P);
}

/* Columns in a chunk: those of an image in equal parts, or those of some images. */
static int64_t chunk_size(const conv *c) {
  int64_t fit = tp_work_columns(c->size * c->CK);
  return c->apart ? equal_parts(c->P, fit) : TP_MIN(fit, c->columns);
}

/* Takes working memory for a chunk: pieces, and columns, results and weights if these do not lie as
 * needed. */
static bool prepare(conv *c) {
  c->chunk = chunk_size(c);
  int64_t lines = c->chunk / TP_MAX(c->v[TP_CY].shape[c->d + 2], 1) + 2;
  return (c->piece = tp_work(c->x, c->r, lines, TP_WORK_PIECE)) &&
      ((c->pointwise && c->apart) || (c->cols = tp_work(c->x, c->r, c->CK * c->chunk, c->size))) &&
      ((c->ydense && c->apart) || (c->ycols = tp_work(c->x, c->r, c->O * c->chunk, c->size))) &&
      (weight_dense(c) || (c->weight = tp_work(c->x, c->r, c->O * c->CK, c->size)));
}

/* ---- columns ---- */

/* Column number `col` as image and position. */
static void locate(const conv *c, int64_t col, piece *q) {
  const int64_t *P = c->v[TP_CY].shape + 3;
  q->x = q->y = 0;
  for (int i = c->d - 1; i >= 0; i--) {
    int64_t p = col % P[i];
    col /= P[i];
    q->at[i] = p * c->attr[3 * i] - c->attr[3 * i + 2];
    q->y += p * c->v[TP_CY].stride[3 + i];
  }
  for (int i = c->image.n - 1; i >= 0; i--) {
    int64_t n = col % c->image.ext[i];
    col /= c->image.ext[i];
    q->x += n * c->image.s[TP_CX][i];
    q->y += n * c->image.s[TP_CY][i];
  }
}

static void cut_images(conv *c, int64_t from, int64_t n) {
  int64_t last = c->v[TP_CY].shape[c->d + 2];
  c->npiece = 0;
  for (int64_t at = 0; at < n;) {
    piece *q = &c->piece[c->npiece++];
    locate(c, from + at, q);
    q->col = at;
    q->n = TP_MIN(last - (from + at) % last, n - at);
    at += q->n;
  }
}

/* Element k of the windows of a piece: where in x it is for the first of them (channel 0), and
 * which of them [lo, hi) have it inside. */
typedef struct seen {
  int64_t offset;
  tp_window w;
} seen;

static seen look_around(const conv *c, const piece *q, const int64_t *k) {
  const tp_view *x = &c->v[TP_CX];
  int last = c->d - 1;
  seen s = { q->x, { .n = q->n } };
  for (int i = 0; i < last; i++) {
    int64_t at = q->at[i] + k[i] * c->attr[3 * i + 1];
    if (at < 0 || at >= x->shape[3 + i]) return s;
    s.offset += at * x->stride[3 + i];
  }
  int64_t first = q->at[last] + k[last] * c->attr[3 * last + 1], stride = c->attr[3 * last],
          size = x->shape[3 + last];
  s.w.lo = first >= 0 ? 0 : TP_MIN((-first + stride - 1) / stride, q->n);
  s.w.hi =
      first >= size ? s.w.lo : TP_MAX(s.w.lo, TP_MIN((size - first + stride - 1) / stride, q->n));
  s.w.step = stride * x->stride[3 + last];
  s.offset += first * x->stride[3 + last];
  return s;
}

/* Copies between x and the chunk's columns in c->cols (row length n): for one element of the window
 * and one piece all channels at once. */
static void move_columns(const conv *c, int64_t n, bool gather) {
  const tp_kernels *K = tp_cpu(c->x)->K;
  int64_t channel = c->v[TP_CX].stride[2], row = c->K * n, k = 0;
  tp_walk w;
  for (tp_walk_start(&w, c->d, c->v[TP_CW].shape + 3); w.ok; tp_walk_next(&w), k++)
    for (const piece *q = c->piece, *end = q + c->npiece; q < end; q++) {
      seen s = look_around(c, q, w.at);
      char *cols = c->cols + (k * n + q->col) * c->size, *x = c->base[TP_CX] + s.offset * c->size;
      if (gather) K->window[tp_log2size(c->dtype)](cols, row, x, channel, c->C, &s.w);
      else K->unwindow[c->dtype](x, channel, cols, row, c->C, &s.w);
    }
}

static block columns_of(const conv *c, int64_t n, bool gather) {
  if (!c->cols) {
    int64_t at = c->piece[0].x;
    for (int i = 0; i < c->d; i++) at += c->piece[0].at[i] * c->v[TP_CX].stride[3 + i];
    return (block){ c->base[TP_CX] + at * c->size, c->v[TP_CX].stride[2] };
  }
  if (gather) move_columns(c, n, true);
  return (block){ c->cols, n };
}

/* ---- y ---- */

static block y_of(const conv *c, int64_t n) {
  if (!c->ycols) return (block){ c->base[TP_CY] + c->piece[0].y * c->size, c->v[TP_CY].stride[2] };
  return (block){ c->ycols, n };
}

/* Copies between y and the chunk's block, unless it is y itself. */
static void move_y(const conv *c, block b, bool out) {
  for (int64_t i = 0; i < c->npiece; i++) {
    const piece *q = &c->piece[i];
    tp_view y = { .p = c->base[TP_CY] + q->y * c->size,
      .rank = 2,
      .shape = { c->O, q->n },
      .stride = { c->v[TP_CY].stride[2], c->v[TP_CY].stride[c->d + 2] } };
    tp_view m = {
      .p = b.p + q->col * c->size, .rank = 2, .shape = { c->O, q->n }, .stride = { b.row, 1 }
    };
    if (out) tp_view_copy(c->x, c->size, &y, &m);
    else tp_view_copy(c->x, c->size, &m, &y);
  }
}

/* ---- products ---- */

static void product_of(const conv *c, const int64_t *ext, const int64_t *sa, const int64_t *sb,
    const int64_t *sc, char *a, char *b, char *to, bool acc) {
  tp_contraction t;
  tp_contraction_make(&t, tp_cpu(c->x), c->dtype, c->dtype, c->dtype, 3, ext, sa, sb, sc);
  tp_contraction_run(&t, a, b, to, acc, NULL);
}

static void multiply(const conv *c, block w, block cols, block y, int64_t n, bool acc) {
  int64_t ext[3] = { c->O, c->CK, n }, sw[3] = { w.row, 1, 0 }, sc[3] = { 0, cols.row, 1 },
          sy[3] = { y.row, 0, 1 };
  switch (c->op) {
  case TP_OP_CONV: product_of(c, ext, sw, sc, sy, w.p, cols.p, y.p, false); break;
  case TP_OP_CONV_DATA: product_of(c, ext, sw, sy, sc, w.p, y.p, cols.p, false); break;
  default: product_of(c, ext, sy, sc, sw, y.p, cols.p, w.p, acc);
  }
}

static void chunk(const conv *c, block w, int64_t n, bool acc) {
  block cols = columns_of(c, n, c->op != TP_OP_CONV_DATA), y = y_of(c, n);
  if (c->ycols && c->op != TP_OP_CONV) move_y(c, y, false);
  multiply(c, w, cols, y, n, acc);
  if (c->ycols && c->op == TP_OP_CONV) move_y(c, y, true);
  if (c->cols && c->op == TP_OP_CONV_DATA) move_columns(c, n, false);
}

/* All images with the weights of one outer point. */
static void images(conv *c) {
  tp_view w = tp_view_spatial(&c->v[TP_CW], 1), dense = tp_view_dense_as(&w, c->weight);
  bool acc = c->r->rg->acc, makes = c->op == TP_OP_CONV_WEIGHT;
  w.p = c->base[TP_CW];
  block b = { c->weight ? c->weight : c->base[TP_CW], c->CK };
  if (c->weight && (!makes || acc)) tp_view_copy(c->x, c->size, &dense, &w);
  if (makes && !acc && c->columns == 0) tp_view_fill(c->x, c->dtype, &w, 0);
  for (int64_t from = 0, n; from < c->columns; from += n) {
    n = TP_MIN(c->chunk, c->columns - from);
    if (c->apart) n = TP_MIN(n, c->P - from % c->P);
    cut_images(c, from, n);
    chunk(c, b, n, acc || from > 0);
  }
  if (c->weight && makes && c->columns) tp_view_copy(c->x, c->size, &w, &dense);
}

/* Are bits the same in part and whole? The same products make an image that shares no chunk with
 * another. */
bool tp_conv_alike(const tp_dreg *whole, const tp_dreg *part) {
  const int *role = tp_conv_roles(whole->rg->op);
  const tp_dnd *y = role[2] == TP_CY ? &whole->out[0] : &whole->in[role[1] == TP_CY];
  int images = whole->nlead + 3;
  return !whole->dynamic && !part->dynamic &&
      extents_product(y->v.rank - images, y->v.shape + images) >= TP_WORK_FEWEST;
}

bool tp_run_conv(tp_exec *x, tp_dreg *r) {
  const int *role = tp_conv_roles(r->rg->op);
  conv c = { .x = x,
    .r = r,
    .op = r->rg->op,
    .dtype = r->out[0].dtype,
    .size = r->out[0].size,
    .attr = r->rg->how.axes };
  const tp_view *full[3];
  full[role[0]] = &r->in[0].v;
  full[role[1]] = &r->in[1].v;
  full[role[2]] = &r->out[0].v;
  if (c.op == TP_OP_CONV_DATA) tp_view_fill(x, c.dtype, full[TP_CX], 0);
  measure(&c, full);
  if (!prepare(&c)) return false;
  tp_walk w;
  for (tp_walk_start(&w, c.outer.n, c.outer.ext); w.ok; tp_walk_next(&w)) {
    for (int i = 0; i < 3; i++)
      c.base[i] = (char *)full[i]->p + tp_walk_offset(&w, c.outer.s[i]) * c.size;
    images(&c);
  }
  return true;
}
