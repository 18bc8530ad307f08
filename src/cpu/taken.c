/* taken.c: computes y[p] = x[p] w[k[p]] at points p, leading ones and those of k. The rows of
 * points that take the same matrix are copied side by side and make one product; a point with many
 * rows makes one by itself. */
#include "cpu/contract.h"

enum { FEW_TO_JOIN = 16 };

/* A point's places in x and y. */
typedef struct taker {
  int64_t x, y;
} taker;

/* One set of matrices. Strides of x: row, step; of w: matrix, row, step; of y: row, step. */
typedef struct taking {
  const tp_exec *exec;
  tp_dtype d;
  int size;
  int64_t m, n, k, sx[2], sw[3], sy[2];
  char *rows, *made; /* of points that make one product */
} taking;

/* Adds terms one by one: no sum's order depends on other points that take the matrix. */
static void one_product(const taking *t, int64_t m, const char *x, const int64_t *sx, const char *w,
    char *y, const int64_t *sy) {
  int64_t ext[] = { m, t->n, t->k }, a[] = { sx[0], 0, sx[1] }, b[] = { 0, t->sw[2], t->sw[1] },
          c[] = { sy[0], sy[1], 0 };
  tp_contraction q;
  tp_contraction_make(&q, tp_cpu(t->exec), t->d, t->d, t->d, 3, ext, a, b, c);
  q.s.lanes = 0;
  tp_contraction_run(&q, x, w, y, false, NULL);
}

static void joined_product(
    const taking *t, const taker *at, int64_t points, const char *x, const char *w, char *y) {
  int log = tp_log2_of(t->size), size = t->size;
  int64_t m = points * t->m, row = t->k * size, made = t->n * size;
  const tp_kernels *K = tp_cpu(t->exec)->K;
  for (int64_t i = 0; i < points; i++)
    K->load[log](t->rows + i * t->m * row, x + at[i].x * size, t->sx[0], t->sx[1], t->m, t->k);
  one_product(t, m, t->rows, (int64_t[]){ t->k, 1 }, w, t->made, (int64_t[]){ t->n, 1 });
  for (int64_t i = 0; i < points; i++)
    K->store[log](y + at[i].y * size, t->sy[0], t->sy[1], t->made + i * t->m * made, t->m, t->n);
}

static void all_of_matrix(
    const taking *t, const taker *at, int64_t points, const char *x, const char *w, char *y) {
  int64_t most = t->m < FEW_TO_JOIN ? TP_WORK_TAKEN / TP_MAX(t->m, 1) : 1;
  for (int64_t i = 0; i < points; i += most)
    if (t->m < FEW_TO_JOIN) joined_product(t, at + i, TP_MIN(most, points - i), x, w, y);
    else one_product(t, t->m, x + at[i].x * t->size, t->sx, w, y + at[i].y * t->size, t->sy);
}

/* Sorts points by the matrix that they take; start[e] becomes the end of matrix e's points. */
static void sort_takers(const tp_view *k, const tp_view *x, const tp_view *y, int64_t matrices,
    int64_t *start, taker *at) {
  tp_walk w;
  memset(start, 0, sizeof *start * (size_t)(matrices + 1));
  for (tp_walk_start(&w, k->rank, k->shape); w.ok; tp_walk_next(&w))
    start[((const int64_t *)k->p)[tp_walk_offset(&w, k->stride)] + 1]++;
  for (int64_t e = 0; e < matrices; e++) start[e + 1] += start[e];
  for (tp_walk_start(&w, k->rank, k->shape); w.ok; tp_walk_next(&w))
    at[start[((const int64_t *)k->p)[tp_walk_offset(&w, k->stride)]]++] =
        (taker){ tp_walk_offset(&w, x->stride), tp_walk_offset(&w, y->stride) };
}

/* How many leading axes stay outside, as matrices differ along them: all or none. */
static int walked_axes(const tp_dreg *r) {
  const tp_view *w = &r->in[2].v;
  bool moves = false;
  for (int i = 0; i < r->nlead; i++) moves |= w->stride[i] != 0 && w->shape[i] != 1;
  return moves ? r->nlead : 0;
}

static bool give_room(tp_exec *x, tp_dreg *r, taking *t, int64_t points, int64_t matrices,
    int64_t **start, taker **at) {
  int64_t rows = t->m < FEW_TO_JOIN ? TP_MIN(points * t->m, TP_WORK_TAKEN) : 0;
  *start = tp_work(x, r, matrices + 1, sizeof **start);
  *at = *start ? tp_work(x, r, points, sizeof **at) : NULL;
  t->rows = *at ? tp_work(x, r, rows * t->k, t->size) : NULL;
  t->made = t->rows ? tp_work(x, r, rows * t->n, t->size) : NULL;
  return t->made;
}

bool tp_run_matmul_at(tp_exec *x, tp_dreg *r) {
  const tp_view *a = &r->in[0].v, *k = &r->in[1].v, *w = &r->in[2].v, *o = &r->out[0].v;
  int last = o->rank - 1, first = r->nlead, walked = walked_axes(r);
  taking t = { .exec = x,
    .d = r->out[0].dtype,
    .size = r->out[0].size,
    .m = o->shape[last - 1],
    .n = o->shape[last],
    .k = a->shape[last],
    .sx = { a->stride[last - 1], a->stride[last] },
    .sw = { w->stride[first], w->stride[first + 1], w->stride[first + 2] },
    .sy = { o->stride[last - 1], o->stride[last] } };
  int64_t *start, points = 1, matrices = w->shape[first];
  taker *at;
  if (tp_view_count(o) == 0) return true;
  if (!tp_check_indices(x, r, k, matrices)) return false;
  tp_view ks = tp_view_spatial(k, walked), as = tp_view_spatial(a, walked),
          os = tp_view_spatial(o, walked);
  for (int i = 0; i < ks.rank; i++) points *= ks.shape[i];
  if (!give_room(x, r, &t, points, matrices, &start, &at)) return false;
  tp_walk l;
  for (tp_walk_start(&l, walked, o->shape); l.ok; tp_walk_next(&l)) {
    const char *from = tp_view_at(a, &l, t.size), *of = tp_view_at(w, &l, t.size);
    char *to = tp_view_at(o, &l, t.size);
    ks.p = tp_view_at(k, &l, sizeof(int64_t));
    sort_takers(&ks, &as, &os, matrices, start, at);
    for (int64_t e = 0, i = 0; e < matrices; i = start[e++])
      if (start[e] > i)
        all_of_matrix(&t, at + i, start[e] - i, from, of + e * t.sw[0] * t.size, to);
  }
  return true;
}
