/* blocks.c: weights in blocks (base/formats.def): their numbers, and products that read them as
 * they are stored. Rows of the other operand are put into whole spans of f32, or of 8 bits, some at
 * a time; a few rows of weights stay in the cache for all of these. */
#include "cpu/contract.h"
#include "kernels/cpu/kernels.h"

enum {
  BLOCK_MOST = 210,
  SPAN_MOST = 256,
  WEIGHT_ROWS = 32,
  PART_FLOATS = 1024,
  PART_EIGHTS = 2048
};

/* ---- numbers ---- */

/* A row of blocks whose bytes, or numbers, may lie apart. */
static void decode_row(
    tp_format f, const tp_dnd *in, const uint8_t *from, const tp_dnd *out, float *to, int64_t n) {
  int last = in->v.rank - 1, each = tp_format_bytes(f), numbers = tp_format_elements(f);
  int64_t si = in->v.stride[last], so = out->v.stride[last];
  if (si == 1 && so == 1) {
    tp_blocks_decode(f, from, n, to);
    return;
  }
  for (int64_t b = 0; b < n; b++) {
    uint8_t block[BLOCK_MOST];
    float v[SPAN_MOST];
    for (int i = 0; i < each; i++) block[i] = from[(b * each + i) * si];
    tp_blocks_decode(f, block, 1, v);
    for (int i = 0; i < numbers; i++) to[(b * numbers + i) * so] = v[i];
  }
}

bool tp_run_dequantize(tp_exec *x, tp_dreg *r) {
  const tp_dnd *in = &r->in[0], *out = &r->out[0];
  tp_format f = r->rg->how.format;
  int last = in->v.rank - 1;
  (void)x;
  TP_WALK (w, last, out->v.shape)
    decode_row(f, in, (const uint8_t *)in->v.p + tp_walk_offset(&w, in->v.stride), out,
        (float *)out->v.p + tp_walk_offset(&w, out->v.stride),
        in->v.shape[last] / tp_format_bytes(f));
  return true;
}

/* ---- products ---- */

/* Axes as of a product of bytes: contract.c finds rows, columns and loops. The summed axis counts
 * numbers; weights are contiguous along it, or each row is copied. */
bool tp_bind_matmul_blocks(tp_exec *x, tp_dreg *r) {
  const tp_view *a = &r->in[0].v, *b = &r->in[1].v, *c = &r->out[0].v;
  int last = c->rank - 1;
  int64_t ext[TP_MAXRANK + 1], sa[TP_MAXRANK + 1], sb[TP_MAXRANK + 1], sc[TP_MAXRANK + 1];
  for (int i = 0; i <= last; i++) {
    const int own = i == last ? last - 1 : i;
    ext[i] = c->shape[i];
    sa[i] = i == last || a->shape[i] != ext[i] ? 0 : a->stride[i];
    sb[i] = i == last - 1 || b->shape[own] != ext[i] ? 0 : b->stride[own];
    sc[i] = ext[i] == 1 ? 0 : c->stride[i];
  }
  ext[last + 1] = a->shape[last], sa[last + 1] = a->stride[last], sb[last + 1] = 1,
             sc[last + 1] = 0;
  tp_contraction_make(r->k, tp_cpu(x), TP_F32, TP_F32, TP_U8, last + 2, ext, sa, sb, sc);
  return true;
}

/* Rows from `from` on, in whole spans. */
static void pack_rows(const tp_blocks_mm *q, const float *a, int64_t rows) {
  int64_t k = q->s.k, whole = tp_round_up(k, TP_SPAN);
  for (int64_t i = 0; i < rows; i++, a += q->s.sam) {
    const float *from = a;
    float *to = q->exact ? (float *)(q->room + i * q->row) : q->line;
    if (q->exact || q->s.sak != 1) {
      for (int64_t p = 0; p < k; p++) to[p] = a[p * q->s.sak];
      from = to;
    }
    if (q->exact) memset(to + k, 0, (size_t)(whole - k) * sizeof *to);
    else q->K->eights(q->f, (tp_eights *)(q->room + i * q->row), from, k);
  }
}

/* The numbers of a row of weights from k on. */
static const uint8_t *weights_at(const tp_blocks_mm *q, const uint8_t *b, int64_t j, int64_t k) {
  int64_t at = k / tp_format_elements(q->f) * tp_format_bytes(q->f);
  b += j * q->s.sbn;
  if (q->step == 1) return b + at;
  for (int64_t i = at; i < q->bytes; i++) q->weights[i] = b[i * q->step];
  return q->weights + at;
}

/* A few rows of x by a tile of weights, a part of the numbers at a time: those of x stay in the
 * nearest cache. */
static void multiply_tile(
    const tp_blocks_mm *q, const char *x, int rows, const uint8_t *b, int64_t tile, float *c) {
  tp_kblocks *run = q->exact ? q->K->blocks_floats : q->K->blocks_eights;
  const tp_mm *s = &q->s;
  float lanes[WEIGHT_ROWS][TP_SPAN_ROWS * TP_SPAN_LANES];
  int64_t part = rows == 1 ? TP_MAX(s->k, 1)
      : q->exact           ? PART_FLOATS
                           : PART_EIGHTS,
          size = tp_blocks_span(q->exact);
  for (int64_t k = 0; k < s->k; k += part)
    for (int64_t o = 0; o < tile; o++) {
      float y[TP_SPAN_ROWS];
      bool last = k + part >= s->k;
      run(q->f, weights_at(q, b, o, k), TP_MIN(s->k - k, part), x + k / TP_SPAN * size, q->row,
          rows, lanes[o], k == 0, last ? y : NULL);
      for (int e = 0; e < rows && last; e++) c[e * s->scm + o * s->scn] = y[e];
    }
}

static void multiply_rows(const tp_blocks_mm *q, int64_t rows, const uint8_t *b, float *c) {
  const tp_mm *s = &q->s;
  for (int64_t j = 0; j < s->n; j += WEIGHT_ROWS)
    for (int64_t i = 0; i < rows; i += TP_SPAN_ROWS)
      multiply_tile(q, q->room + i * q->row, (int)TP_MIN(rows - i, TP_SPAN_ROWS), b + j * s->sbn,
          TP_MIN(s->n - j, WEIGHT_ROWS), c + i * s->scm + j * s->scn);
}

void tp_blocks_multiply(const tp_blocks_mm *q, const float *a, const uint8_t *b, float *c) {
  const tp_mm *s = &q->s;
  for (int64_t i = 0; i < s->m; i += TP_WORK_ROWS) {
    int64_t rows = TP_MIN(s->m - i, TP_WORK_ROWS);
    pack_rows(q, a + i * s->sam, rows);
    multiply_rows(q, rows, b, c + i * s->scm);
  }
}

bool tp_run_matmul_blocks(tp_exec *x, tp_dreg *r) {
  const tp_contraction *t = r->k;
  if (t->kind == TP_MM_NOTHING) return true;
  if (t->kind == TP_MM_ZERO) {
    tp_view_fill(x, TP_F32, &r->out[0].v, 0);
    return true;
  }
  const tp_view *b = &r->in[1].v;
  tp_blocks_mm q = { .K = t->cpu->K, .f = r->rg->how.format, .exact = r->rg->how.exact, .s = t->s };
  int64_t whole = tp_round_up(q.s.k, TP_SPAN), rows = TP_MIN(q.s.m, TP_WORK_ROWS);
  q.row = whole / TP_SPAN * tp_blocks_span(q.exact);
  q.bytes = b->shape[b->rank - 1], q.step = b->stride[b->rank - 1];
  q.room = tp_work(x, r, rows * q.row, 1);
  q.line = q.room ? tp_work(x, r, whole, sizeof(float)) : NULL;
  q.weights = q.line && q.step != 1 ? tp_work(x, r, q.bytes, 1) : NULL;
  if (!q.line || (q.step != 1 && !q.weights)) return false;
  TP_WALK (w, t->nloop, t->ext)
    tp_blocks_multiply(&q, (const float *)r->in[0].v.p + tp_walk_offset(&w, t->la),
        (const uint8_t *)b->p + tp_walk_offset(&w, t->lb),
        (float *)r->out[0].v.p + tp_walk_offset(&w, t->lc));
  return true;
}
