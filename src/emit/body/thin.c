/* thin.c: prints a product of few rows for a device, which reads each element of the matrix once,
 * neighbours by neighbours, and adds terms in the order of prelude/fold.h.
 *
 *   both operands lie along the terms:  TP_DOT_LEAST threads have a column, each a lane of its sum;
 *                                       with many terms twice as many, which take turns at
 *                                       TP_DOT_LONG terms
 *   columns lie side by side:           THIN_SIDE threads have as many columns, others beside them
 *                                       further blocks of TP_DOT_BLOCK terms; blocks are added in
 *                                       order
 *
 * Other kept axes are tiles of their own, other summed axes go around. The kernel itself finds how
 * many rows there are when it runs: with more of them it takes the branch that the caller prints.
 */
#include "emit/body/nest.h"
#include "kernels/prelude/fold.h"

enum { THIN_SIDE = 16 };

/* Window a has rows, b columns. dots: the first way, in which a column has `ways` times `side`
 * threads; else `side` columns lie side by side, and have `ways` threads each. Of `each` terms in a
 * row a thread has those `step` apart. */
typedef struct {
  int a, b, m, n, k, side, ways, each, step;
  bool dots, batch;
  const char *type, *sfx;
} thin;

static bool thin_roles(const nest *l, thin *t) {
  int kept[2];
  if (!emit_matrices(l, kept, &t->k)) return false;
  for (int i = 0; i < l->nax; i++)
    t->batch |=
        !l->ax[i].red && i != kept[0] && i != kept[1] && emit_moves(l, 0, i) && emit_moves(l, 1, i);
  int64_t m = emit_extent(l, kept[0]), n = emit_extent(l, kept[1]);
  t->a = (n >= 0 && n < EMIT_TILE_LEAST && !(m >= 0 && m <= n)) || (m >= EMIT_TILE_LEAST && n < 0);
  t->b = !t->a;
  t->m = kept[t->a], t->n = kept[t->b];
  return true;
}

/* Prints how many rows, or columns, there are in all. */
static void put_thin_count(const nest *l, int w, const char *name) {
  tp_emit_line(l->e, "const int64_t %s = 1", name);
  for (int i = 0; i < l->nax; i++)
    if (!l->ax[i].red && emit_moves(l, w, i) && !emit_moves(l, !w, i))
      tp_putf(l->e->b, "*%s", emit_ix(l->e, l->ax[i].n));
  tp_puts(l->e->b, ";\n");
}

/* ---- columns and rows of threads, here and in blocks.c ---- */

void emit_open_columns(tp_emit *e, int n, tp_emit_axis *ax, tp_ix *columns, int each,
    const char *own, const char *at) {
  emit_by_blocks(e);
  ax[n++] = emit_parts("tile_", columns, each);
  emit_open_threads(e, n, ax, false);
  tp_emit_line(e, "const int64_t own_ = tile_*%d + %s;\n", each, own);
  tp_emit_line(e, "const int mine_ = own_ < n_;\n");
  tp_emit_line(e, "const int64_t %s = mine_ ? own_ : 0;\n", at);
}

void emit_open_few_rows(tp_emit *e) {
  emit_open(e, "for (int64_t top_ = 0; top_ < m_; top_ += %d) {\n", EMIT_ROWS);
  tp_emit_line(e, "const int rows_ = (int)tp_index_min(m_ - top_, %d);\n", EMIT_ROWS);
  emit_open(e, "if (rows_ == 1) {\n");
}

void emit_open_row(tp_emit *e, int most) {
  tp_emit_line(e, "TP_UNROLLED\n");
  emit_open(e, "for (int r_ = 0; r_ < %d; r_++) {\n", most);
  tp_emit_line(e, "if (r_ >= rows_) continue;\n");
}

static void open_thin_row(const nest *l, const thin *t, int rows) {
  emit_open_row(l->e, rows);
  tp_emit_line(l->e, "const int64_t x%d = top_ + r_; (void)x%d;\n", t->m, t->m);
}

/* ---- terms ---- */

/* A thread's terms of some rows, from_ .. end_ - 1, go to part_; threads join these in all_. */
static void put_thin_terms(const nest *l, const thin *t, int rows) {
  tp_emit *e = l->e;
  emit_open(e, "for (int64_t deep_ = 0; deep_ < k_; deep_ += %d) {\n", t->ways * t->each);
  tp_emit_line(e, "%s part_[%d] = { 0 };\n", t->type, rows);
  tp_emit_line(e, "const int64_t begin_ = deep_ + THREAD/%d%%%d*%d, from_ = begin_ + THREAD%%%d,\n",
      t->side, t->ways, t->each, t->step);
  tp_emit_line(e, "              end_ = tp_index_min(begin_ + %d, k_);\n", t->each);
  emit_open(e, "for (int64_t x%d = from_; mine_ && x%d < end_; x%d += %d) {\n", t->k, t->k, t->k,
      t->step);
  tp_emit_line(e, "const %s b_ = %s;\n", t->type, emit_value(l, t->b));
  open_thin_row(l, t, rows);
  tp_emit_line(e, "part_[r_] = tp_mad_%s(%s, b_, part_[r_]);\n", t->sfx, emit_value(l, t->a));
  emit_shut(e, 2);
  emit_open_row(e, rows);
  if (t->dots) tp_emit_line(e, "TP_DOTS_JOIN(%s, %d, room_f)\n", t->type, t->side);
  else tp_emit_line(e, "TP_COLUMNS_JOIN(%s, %d, room_f)\n", t->type, t->side);
  if (t->dots && t->ways > 1) tp_emit_line(e, "TP_DOTS_NEXT(%s, %d, room_f)\n", t->type, t->side);
  emit_shut(e, 2);
}

static void put_thin_rows(const nest *l, const thin *t, int rows) {
  tp_emit *e = l->e;
  tp_emit_line(e, "%s all_[%d] = { 0 };\n", t->type, rows);
  int inner = emit_open_folded(l, t->k);
  put_thin_terms(l, t, rows);
  emit_shut(e, inner);
  open_thin_row(l, t, rows);
  if (t->dots) emit_open(e, "if (mine_ && THREAD%%%d == 0) {\n", t->side * t->ways);
  else emit_open(e, "if (mine_ && THREAD < %d) {\n", t->side);
  emit_store(l, 0, "all_[r_]");
  emit_shut(e, 2);
}

static void put_thin(const nest *l, const thin *t) {
  tp_emit *e = l->e;
  tp_emit_axis ax[TP_MAXRANK];
  int n = emit_kept_axes(l, ax, t->m, t->n), threads = t->side * t->ways;
  emit_open_columns(e, n, ax, l->ax[t->n].n, t->dots ? TP_KERNEL_THREADS / threads : t->side,
      tp_printf(e->a, t->dots ? "THREAD/%d" : "THREAD%%%d", t->dots ? threads : t->side),
      tp_printf(e->a, "x%d", t->n));
  emit_open_few_rows(e);
  put_thin_rows(l, t, 1);
  emit_else(e);
  if (emit_extent(l, t->m) != 1) put_thin_rows(l, t, EMIT_ROWS);
  emit_shut(e, 3);
}

static void set_ways(const nest *l, thin *t, tp_dtype d) {
  t->dots = tp_is_number(l->stride[t->a][t->k], 1) && tp_is_number(l->stride[t->b][t->k], 1);
  t->side = !t->dots ? THIN_SIDE : d == TP_F64 ? TP_DOT_LEAST / 2 : TP_DOT_LEAST;
  t->ways = !t->dots ? TP_KERNEL_THREADS / THIN_SIDE : emit_extent(l, t->k) > TP_DOT_LONG ? 2 : 1;
  t->each = t->dots ? TP_DOT_LONG : TP_DOT_BLOCK;
  t->step = t->dots ? t->side : 1;
}

bool emit_thin(const nest *l) {
  tp_emit *e = l->e;
  tp_dtype d = tp_compute(tp_emit_result_type(e, l->r, 0));
  thin t = { .type = tp_emit_type(d), .sfx = tp_emit_sfx(d) };
  /* reproducible: no lanes, and no blocks that are joined otherwise */
  if (e->p->reproducible || !thin_roles(l, &t)) return false;
  set_ways(l, &t, d);
  if ((!t.dots && !tp_is_number(l->stride[t.b][t.n], 1)) ||
      emit_extent(l, t.m) >= EMIT_TILE_LEAST ||
      !emit_has_least(l, t.k, t.dots ? TP_DOT_LEAST : TP_DOT_BLOCK + 1))
    return false;
  emit_put_extents(l, t.m, t.n, t.k);
  if (t.dots) {
    put_thin_count(l, t.a, "rows_of_all_");
    put_thin_count(l, t.b, "columns_of_all_");
    emit_open(e,
        "if (m_ < %d && rows_of_all_*columns_of_all_ != 1 && "
        "TP_DOTS(rows_of_all_, columns_of_all_, k_, %d)) {\n",
        EMIT_TILE_LEAST, t.batch);
  } else emit_open(e, "if (m_ < %d && k_ > TP_DOT_BLOCK) {\n", EMIT_TILE_LEAST);
  put_thin(l, &t);
  emit_else(e);
  return true;
}
