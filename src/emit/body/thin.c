/* thin.c: prints a product of few rows for a device, which reads each element of the matrix once,
 * neighbours by neighbours, and adds terms in the order of prelude/fold.h.
 *
 *   both operands lie along the terms    TP_DOT_LEAST threads have a column, each a lane of its
 * sum, with many terms twice as many, every other TP_DOT_LONG columns lie side by side THIN_SIDE
 * threads have as many columns, others beside them further blocks of TP_DOT_BLOCK terms; blocks are
 * added in order
 *
 * Other kept axes are tiles of their own, other summed axes go around. The number of rows is
 * thin_extent when the kernel runs: with more of them the caller's loop does it. */
#include "emit/body/nest.h"
#include "kernels/prelude/fold.h"

enum { THIN_ROWS = 4, THIN_SIDE = 16 };

/* Window a has rows, b columns. dots: the first way. lanes, of which `ways` times as many threads
 * have a column. */
typedef struct {
  int a, b, m, n, k, lanes, ways;
  bool dots, batch;
  const char *type, *sfx;
} thin;

static int64_t thin_extent(const nest *l, int axis) {
  int64_t n;
  return tp_ix_is_const(l->ax[axis].n, &n) ? n : -1;
}

/* The longest_of axis along which window w emit_moves and the other does not. */
static int longest_of(const nest *l, int w) {
  int best = -1;
  for (int i = 0; i < l->nax; i++) {
    if (l->ax[i].red || !emit_moves(l, w, i) || emit_moves(l, !w, i)) continue;
    if (best < 0 || thin_extent(l, i) < 0 ||
        (thin_extent(l, best) >= 0 && thin_extent(l, i) > thin_extent(l, best)))
      best = i;
  }
  return best;
}

static bool thin_roles(const nest *l, thin *t) {
  int axis[2] = { longest_of(l, 0), longest_of(l, 1) };
  t->k = l->nax - 1;
  if (axis[0] < 0 || axis[1] < 0) return false;
  for (int i = 0; i < l->nax; i++) {
    if (l->ax[i].red) t->k = i;
    t->batch |=
        !l->ax[i].red && i != axis[0] && i != axis[1] && emit_moves(l, 0, i) && emit_moves(l, 1, i);
  }
  int64_t m = thin_extent(l, axis[0]), n = thin_extent(l, axis[1]);
  t->a = (n >= 0 && n < EMIT_TILE_LEAST && !(m >= 0 && m <= n)) || (m >= EMIT_TILE_LEAST && n < 0);
  t->b = !t->a;
  t->m = axis[t->a], t->n = axis[t->b];
  return l->ax[t->k].red && emit_moves(l, t->a, t->k) && emit_moves(l, t->b, t->k);
}

/* Prints how many rows, or columns, there are in all. */
static void put_thin_count(const nest *l, int w, const char *name) {
  tp_emit_line(l->e, "const int64_t %s = 1", name);
  for (int i = 0; i < l->nax; i++)
    if (!l->ax[i].red && emit_moves(l, w, i) && !emit_moves(l, !w, i))
      tp_putf(l->e->b, "*%s", emit_ix(l->e, l->ax[i].n));
  tp_puts(l->e->b, ";\n");
}

/* Opens the loop over columns of all other kept axes. each: columns of a block. */
static void open_columns(const nest *l, const thin *t, int each, const char *own) {
  tp_emit *e = l->e;
  tp_emit_axis ax[TP_MAXRANK];
  int n = 0;
  tp_emit_line(e, "const int64_t first_ = block_, step_ = blocks_;\n");
  for (int i = 0; i < l->nax; i++)
    if (!l->ax[i].red && i != t->m && i != t->n)
      ax[n++] = (tp_emit_axis){ tp_printf(e->a, "x%d", i), l->ax[i].n };
  ax[n++] = (tp_emit_axis){ "tile_", tp_ix_fdiv(tp_ix_addc(l->ax[t->n].n, each - 1), each) };
  emit_open_threads(e, n, ax, false);
  tp_emit_line(e, "const int64_t own_ = tile_*%d + %s;\n", each, own);
  tp_emit_line(e, "const int mine_ = own_ < n_;\n");
  tp_emit_line(e, "const int64_t x%d = mine_ ? own_ : 0;\n", t->n);
}

static void open_rows(const nest *l, int rows) {
  tp_emit_line(l->e, "TP_UNROLLED\n");
  emit_open(l->e, "for (int r_ = 0; r_ < %d; r_++) {\n", rows);
  tp_emit_line(l->e, "if (r_ >= rows_) continue;\n");
}

/* The terms from_ .. end_ - 1 of some rows, `step` apart, to part_. */
static void put_thin_terms(const nest *l, const thin *t, int rows, int step) {
  tp_emit *e = l->e;
  emit_open(
      e, "for (int64_t x%d = from_; mine_ && x%d < end_; x%d += %d) {\n", t->k, t->k, t->k, step);
  tp_emit_line(e, "const %s b_ = ", t->type);
  emit_load(e, tp_emit_dtype(e, l->w[t->b]));
  emit_element(l, t->b);
  tp_puts(e->b, ");\n");
  open_rows(l, rows);
  tp_emit_line(e, "const int64_t x%d = top_ + r_; (void)x%d;\n", t->m, t->m);
  tp_emit_line(e, "part_[r_] = tp_mad_%s(", t->sfx);
  emit_load(e, tp_emit_dtype(e, l->w[t->a]));
  emit_element(l, t->a);
  tp_puts(e->b, "), b_, part_[r_]);\n");
  emit_shut(e, 2);
}

static void put_thin_dots(const nest *l, const thin *t, int rows) {
  tp_emit *e = l->e;
  emit_open(e, "for (int64_t deep_ = 0; deep_ < k_; deep_ += %d) {\n", t->ways * TP_DOT_LONG);
  tp_emit_line(e, "%s part_[%d] = { 0 };\n", t->type, rows);
  tp_emit_line(e, "const int64_t begin_ = deep_ + THREAD/%d%%%d*%d, from_ = begin_ + THREAD%%%d,\n",
      t->lanes, t->ways, TP_DOT_LONG, t->lanes);
  tp_emit_line(e, "              end_ = tp_index_min(begin_ + %d, k_);\n", TP_DOT_LONG);
  put_thin_terms(l, t, rows, t->lanes);
  open_rows(l, rows);
  tp_emit_line(e, "TP_GROUP_SUM(%s, part_[r_], %d, room_f)\n", t->type, t->lanes);
  tp_emit_line(e, "all_[r_] = all_[r_] + part_[r_];\n");
  if (t->ways > 1) {
    tp_emit_line(e, "TP_GROUP_NEXT(%s, next_, part_[r_], %d, room_f)\n", t->type, t->lanes);
    tp_emit_line(e, "all_[r_] = all_[r_] + next_;\n");
  }
  emit_shut(e, 2);
}

static void put_thin_columns(const nest *l, const thin *t, int rows) {
  tp_emit *e = l->e;
  int ways = TP_KERNEL_THREADS / THIN_SIDE;
  emit_open(e, "for (int64_t deep_ = 0; deep_ < k_; deep_ += %d) {\n", ways * TP_DOT_BLOCK);
  tp_emit_line(e, "%s part_[%d] = { 0 };\n", t->type, rows);
  tp_emit_line(e, "const int64_t from_ = deep_ + THREAD/%d*%d,\n", THIN_SIDE, TP_DOT_BLOCK);
  tp_emit_line(e, "              end_ = tp_index_min(from_ + %d, k_);\n", TP_DOT_BLOCK);
  put_thin_terms(l, t, rows, 1);
  open_rows(l, rows);
  tp_emit_line(e, "BARRIER();\n");
  tp_emit_line(e, "room_f[THREAD] = part_[r_];\n");
  tp_emit_line(e, "BARRIER();\n");
  tp_emit_line(
      e, "for (int q_ = THREAD; THREAD < %d && q_ < THREADS; q_ += %d)\n", THIN_SIDE, THIN_SIDE);
  tp_emit_line(e, "  all_[r_] = all_[r_] + (%s)room_f[q_];\n", t->type);
  emit_shut(e, 2);
}

static void put_thin_rows(const nest *l, const thin *t, int rows) {
  tp_emit *e = l->e;
  int inner = 0;
  tp_emit_line(e, "%s all_[%d] = { 0 };\n", t->type, rows);
  for (int i = 0; i < l->nax; i++)
    if (l->ax[i].red && i != t->k) emit_open_axis(l, i), inner++;
  (t->dots ? put_thin_dots : put_thin_columns)(l, t, rows);
  emit_shut(e, inner);
  open_rows(l, rows);
  tp_emit_line(e, "const int64_t x%d = top_ + r_; (void)x%d;\n", t->m, t->m);
  if (t->dots) emit_open(e, "if (mine_ && THREAD%%%d == 0) {\n", t->lanes * t->ways);
  else emit_open(e, "if (mine_ && THREAD < %d) {\n", THIN_SIDE);
  emit_store(l, 0, "all_[r_]");
  emit_shut(e, 2);
}

static void put_thin(const nest *l, const thin *t) {
  tp_emit *e = l->e;
  int each = t->dots ? TP_KERNEL_THREADS / (t->lanes * t->ways) : THIN_SIDE;
  open_columns(l, t, each,
      tp_printf(e->a, "THREAD%c%d", t->dots ? '/' : '%', t->dots ? t->lanes * t->ways : THIN_SIDE));
  emit_open(e, "for (int64_t top_ = 0; top_ < m_; top_ += %d) {\n", THIN_ROWS);
  tp_emit_line(e, "const int rows_ = (int)tp_index_min(m_ - top_, %d);\n", THIN_ROWS);
  emit_open(e, "if (rows_ == 1) {\n");
  put_thin_rows(l, t, 1);
  e->depth--;
  emit_open(e, "} else {\n");
  if (thin_extent(l, t->m) != 1) put_thin_rows(l, t, THIN_ROWS);
  emit_shut(e, 3);
}

bool emit_thin(const nest *l) {
  tp_emit *e = l->e;
  tp_dtype d = tp_compute(tp_emit_result_type(e, l->r, 0));
  thin t = { .type = tp_emit_type(d), .sfx = tp_emit_sfx(d) };
  if (!l->product || !l->folds || !tp_dtype_float(d) || !thin_roles(l, &t)) return false;
  if (e->p->reproducible) return false; /* no lanes, and no blocks that are joined otherwise */
  int64_t k = thin_extent(l, t.k);
  t.dots = tp_is_number(l->stride[t.a][t.k], 1) && tp_is_number(l->stride[t.b][t.k], 1);
  t.lanes = d == TP_F64 ? TP_DOT_LEAST / 2 : TP_DOT_LEAST;
  t.ways = k > TP_DOT_LONG ? 2 : 1;
  if (!t.dots && !tp_is_number(l->stride[t.b][t.n], 1)) return false;
  if (thin_extent(l, t.m) >= EMIT_TILE_LEAST ||
      (k >= 0 && k < (t.dots ? TP_DOT_LEAST : TP_DOT_BLOCK + 1)))
    return false;
  tp_emit_line(e, "const int64_t m_ = %s, n_ = %s, k_ = %s;\n", emit_ix(e, l->ax[t.m].n),
      emit_ix(e, l->ax[t.n].n), emit_ix(e, l->ax[t.k].n));
  put_thin_count(l, t.a, "rows_of_all_");
  put_thin_count(l, t.b, "columns_of_all_");
  tp_emit_line(e, "(void)rows_of_all_, (void)columns_of_all_;\n");
  if (t.dots)
    emit_open(e,
        "if (m_ < %d && rows_of_all_*columns_of_all_ != 1 && "
        "TP_DOTS(rows_of_all_, columns_of_all_, k_, %d)) {\n",
        EMIT_TILE_LEAST, t.batch);
  else emit_open(e, "if (m_ < %d && k_ > TP_DOT_BLOCK) {\n", EMIT_TILE_LEAST);
  put_thin(l, &t);
  e->depth--;
  emit_open(e, "} else {\n");
  return true;
}
