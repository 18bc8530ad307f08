/* reduction.c: prints loops that fold in the order of the interpreter's kernels (plan/walk.c), so
 * bits are the same: along the innermost axis TP_FOLD_LANES partial results are joined after each
 * TP_FOLD_PART elements; along other axes up to COLUMNS results are kept, f32 in f64. */
#include "emit/body/nest.h"
#include "kernels/prelude/fold.h"

enum {
  LANES = TP_FOLD_LANES,
  COLUMNS = 1024,
  TURN_SIDE = 16,
  TURN_LEAST = 4,
  FEW_KEPT = 8,
  SHORT_ROW = 256,
  SOME = 8,
  LANES_ROW = 64
};

typedef struct {
  const char *part, *acc, *fn;
  tp_dtype c;
} fold_types;

static fold_types types_of(const nest *l) {
  tp_dtype c = tp_compute(tp_emit_result_type(l->e, l->r, 0));
  bool adds_up = l->r->red == TP_RED_SUM || l->r->red == TP_RED_PROD,
       most = l->r->red == TP_RED_MAX;
  const char *own = tp_emit_type(c),
             *natural = c == TP_I32 ? "uint32_t"
      : c == TP_I64                 ? "uint64_t"
                                    : own;
  fold_types t = { own, own, NULL, c };
  if (adds_up) t.fn = l->r->red == TP_RED_SUM ? "ADD" : "MUL";
  else if (c == TP_BOOL) t.fn = most ? "ANY" : "ALL";
  else if (tp_dtype_float(c)) t.fn = most ? "FMOST" : "FLEAST";
  else t.fn = most ? "MOST" : "LEAST";
  if (adds_up) t.part = t.acc = natural;
  if (adds_up && c == TP_F32 && !l->product)
    t.acc = "double", t.part = l->r->red == TP_RED_SUM ? "float" : "double";
  return t;
}

/* The result of a fold of nothing. */
static const char *identity_of(const nest *l, const fold_types *t) {
  return tp_emit_number(l->e, t->c, tp_red_identity(l->r->red, t->c));
}

bool emit_adds_blocks(const nest *l) {
  int in = -1;
  for (int k = 0; k < l->nax; k++)
    if (l->ax[k].red) in = k;
  return l->product && l->e->to->threads && l->e->p->reproducible && in >= 0 &&
      tp_dtype_float(tp_emit_result_type(l->e, l->r, 0)) && emit_has_least(l, in, TP_DOT_BLOCK + 1);
}

/* -0 and a sum are that sum. */
void emit_begin_sum(const nest *l) {
  if (l->r->acc) emit_element(l, l->r->nin);
  else tp_puts(l->e->b, "-0.0f");
}

void emit_store_whole(const nest *l, const char *value) {
  nest whole = *l;
  tp_region r = *l->r;
  r.acc = false;
  whole.r = &r;
  emit_store(&whole, 0, value);
}

static void put_fold_step(const nest *l, const fold_types *t, const char *to) {
  if (emit_adds_blocks(l)) {
    tp_emit_line(l->e, "TP_BLOCK_TERM(tp_mad_%s, i0, i1)\n", tp_emit_sfx(t->c));
    return;
  }
  if (l->product && tp_dtype_float(t->c)) {
    tp_emit_line(l->e, "%s = tp_mad_%s(i0, i1, %s);\n", to, tp_emit_sfx(t->c), to);
    return;
  }
  tp_emit_line(
      l->e, "%s = (%s)TP_FOLD_%s(%s, (%s)%s);\n", to, t->acc, t->fn, to, t->acc, emit_result(l, 0));
}

static void put_lane_step(const nest *l, const fold_types *t) {
  if (l->product && tp_dtype_float(t->c)) {
    put_fold_step(l, t, "part[k]");
    return;
  }
  tp_emit_line(l->e, "const %s y = (%s)%s;\n", t->part, t->part, emit_result(l, 0));
  tp_emit_line(l->e, "TP_LANE_%s(%s, part[k], odd[k], y);\n", t->fn, t->part);
}

static void put_delivery(const nest *l, const fold_types *t, const char *acc) {
  bool half = strcmp(t->acc, "double") == 0 && t->c == TP_F32 &&
      tp_half(tp_emit_result_type(l->e, l->r, 0));
  emit_store(l, 0,
      half ? tp_printf(l->e->a, "tp_sticky_f32(%s)", acc)
           : tp_printf(l->e->a, "(%s)%s", tp_emit_type(t->c), acc));
}

/* Is there a place along each of the axes that are folded, or kept? */
static const char *any_of(const nest *l, bool folded) {
  const char *text = "";
  for (int k = 0; k < l->nax; k++)
    if (l->ax[k].red == folded)
      text = tp_printf(l->e->a, "%s%s%s > 0", text, *text ? " && " : "", emit_ix(l->e, l->ax[k].n));
  return *text ? text : "1";
}

/* Prints the rest of a row, fewer elements than lanes: made side by side, then folded in order. */
static void put_rest(const nest *l, const fold_types *t, int axis) {
  tp_emit *e = l->e;
  tp_emit_line(e, "%s y[TP_FOLD_LANES];\n", tp_emit_held(tp_emit_result_type(e, l->r, 0)));
  tp_emit_line(e, "const int64_t rest = n%d - j;\n", axis);
  emit_open_work(l, axis, "rest", LANES, 1);
  tp_emit_line(e, "y[k] = %s;\n", emit_result(l, 0));
  emit_results(l, 1);
  emit_shut(l->e, 1);
  tp_emit_line(e, "for (int64_t k = 0; k < rest; k++) acc = (%s)TP_FOLD_%s(acc, (%s)y[k]);\n",
      t->acc, t->fn, t->acc);
}

/* Prints the whole rows of lanes of a row, a part after the other. A thread of a device has a
 * quarter of the lanes at once, in registers: the first, third, second, last. */
static void put_lanes(const nest *l, const fold_types *t, int k) {
  tp_emit *e = l->e;
  bool some = e->to->threads;
  emit_open(e, "for (int64_t end; j + TP_FOLD_LANES <= n%d;%s) {\n", k,
      some ? " j += end - j - (end - j)%TP_FOLD_LANES" : "");
  tp_emit_line(e, "end = n%d - j > TP_FOLD_PART ? j + TP_FOLD_PART : n%d;\n", k, k);
  if (some) tp_emit_line(e, "TP_SOME_BEGIN(%s)\n", t->acc);
  if (some) emit_open(e, "TP_EACH_SOME {\n");
  tp_emit_line(
      e, "TP_%s_START(%s, part, odd, %s);\n", some ? "SOME" : "LANES", t->part, identity_of(l, t));
  emit_open(e,
      some ? "TP_EACH_ROW_OF_SOME(j, end) {\n"
           : "for (; j + TP_FOLD_LANES <= end; j += TP_FOLD_LANES) {\n");
  if (some) tp_emit_line(e, "const int64_t j = row_ + TP_SOME_AT;\n");
  emit_open_work(l, k, some ? "TP_SOME" : "TP_FOLD_LANES", some ? SOME : LANES, 1);
  put_lane_step(l, t);
  emit_results(l, 1);
  emit_shut(l->e, 2);
  if (some) tp_emit_line(e, "TP_SOME_JOIN(%s, %s)\n", t->acc, t->fn);
  if (some) emit_shut(l->e, 1);
  tp_emit_line(e, some ? "TP_SOME_END(%s, %s, acc)\n" : "TP_LANES_JOIN(%s, %s, acc, part, odd);\n",
      t->acc, t->fn);
  emit_shut(l->e, 1);
}

/* Prints a fold along the innermost axis. */
static void put_row(const nest *l, const fold_types *t) {
  tp_emit *e = l->e;
  int k = l->nax - 1;
  int64_t known;
  bool few = l->product || (tp_ix_is_const(l->ax[k].n, &known) && known < LANES);
  emit_inputs(l, true);
  tp_emit_line(e, "const int64_t n%d = %s;\n", k, emit_ix(e, l->ax[k].n));
  tp_emit_line(e, "int64_t j = 0;\n");
  if (!few) put_lanes(l, t, k);
  if (!l->product && l->r->nmicro > 1 && !e->to->threads) {
    put_rest(l, t, k);
    return;
  }
  /* If several short rows are folded into one result, they stay loops: gcc 12 would make vectors of
   * unrolled ones and add terms of several rows in another order. */
  bool rows = false;
  for (int i = 0; i < k; i++) rows |= l->ax[i].red;
  if (rows) tp_emit_line(e, "TP_ROLLED\n");
  emit_open(e, "for (; j < n%d; j++) {\n", k);
  tp_emit_line(e, "const int64_t x%d = j;\n", k);
  emit_work(l);
  put_fold_step(l, t, "acc");
  emit_results(l, 1);
  emit_shut(l->e, 1);
}

static const char *has_acc(const nest *l) {
  return l->lanes ? "mine_ && !(THREAD%TP_FOLD_LANES)" : "THREAD == 0";
}

/* Prints the same for a block: its threads are the lanes of several parts. The first one has acc.
 * By lanes: each group of threads has a row, and makes one part after the other. */
static void put_row_together(const nest *l, const fold_types *t) {
  tp_emit *e = l->e;
  int in = l->nax - 1;
  const char *n = emit_ix(e, l->ax[in].n), *room = strchr("df", *t->acc) ? "f" : "i";
  emit_inputs(l, true);
  tp_emit_line(e, "const int64_t rows_ = %s - %s%%TP_FOLD_LANES;\n", n, n);
  emit_open(e, "TP_EACH_PARTS%s(rows_) {\n", l->lanes ? "_OF_ROW" : "");
  tp_emit_line(e, "%s part[1] = { %s }, odd[1] = { 0 };\n", t->part, identity_of(l, t));
  tp_emit_line(e, "const int k = 0;\n");
  emit_open(e, "TP_EACH_IN_LANE%s(x%d) {\n", l->lanes ? "_OF_ROW" : "", in);
  emit_work(l);
  put_lane_step(l, t);
  emit_results(l, 1);
  emit_shut(e, 1);
  tp_emit_line(e, "room_%s[THREAD] = TP_LANE_END_%s(part[k], odd[k]);\n", room, t->fn);
  tp_emit_line(e, "TP_%s_JOIN(%s, %s, acc, room_%s, rows_)\n", l->lanes ? "ROW" : "BLOCK", t->acc,
      t->fn, room);
  emit_shut(e, 1);
  emit_open(e, "for (int64_t x%d = rows_; x%d < %s && %s; x%d++) {\n", in, in, n, has_acc(l), in);
  emit_work(l);
  put_fold_step(l, t, "acc");
  emit_results(l, 1);
  emit_shut(e, 1);
}

bool emit_folds_together(const nest *l) {
  int64_t kept = 1, n;
  int in = l->nax - 1;
  for (int k = 0; k <= in && kept <= FEW_KEPT; k++)
    if (!l->ax[k].red) kept = tp_ix_is_const(l->ax[k].n, &n) ? kept * n : FEW_KEPT + 1;
  return l->folds && !l->product && in >= 0 && l->ax[in].red && kept <= FEW_KEPT &&
      emit_has_least(l, in, SHORT_ROW);
}

bool emit_folds_by_lanes(const nest *l) {
  int in = l->nax - 1;
  return l->folds && !l->product && in > 0 && l->ax[in].red && emit_has_least(l, in, LANES_ROW);
}

/* ---- short rows side by side ---- */

/* Is each fold of f32 a short row of the innermost axis, with many beside it? One by one their
 * terms would wait for each other: 16 rows are made, turned, and folded in lanes, each in its
 * order. */
static bool has_short_rows(const nest *l, const fold_types *t) {
  int in = l->nax - 1;
  int64_t n, rows;
  bool few = in >= 1 && tp_ix_is_const(l->ax[in - 1].n, &rows) && rows < TURN_SIDE / 2;
  if (!l->e->to->host || l->product || in < 1 || few || t->c != TP_F32 ||
      l->r->red == TP_RED_PROD || tp_emit_faults(l->e, l->r))
    return false;
  for (int k = 0; k < in; k++)
    if (l->ax[k].red) return false;
  return tp_ix_is_const(l->ax[in].n, &n) && n >= TURN_LEAST && n <= TURN_SIDE;
}

static void put_short_rows(const nest *l, const fold_types *t) {
  tp_emit *e = l->e;
  int in = l->nax - 1;
  int64_t n, rows;
  bool full = tp_ix_is_const(l->ax[in].n, &n) && n == TURN_SIDE &&
      tp_ix_is_const(l->ax[in - 1].n, &rows) && rows % TURN_SIDE == 0;
  for (int k = 0; k < in - 1; k++) emit_open_axis(l, k);
  emit_open(e, "for (int64_t top = 0, high = %s; top < high; top += %d) {\n",
      emit_ix(e, l->ax[in - 1].n), TURN_SIDE);
  if (full) tp_emit_line(e, "enum { rows = %d };\n", TURN_SIDE);
  else
    tp_emit_line(
        e, "const int64_t rows = high - top < %d ? high - top : %d;\n", TURN_SIDE, TURN_SIDE);
  tp_emit_line(e, "const int64_t j = 0, n%d = %d;\n", in, (int)n);
  tp_emit_line(e, "float y[%d]%s;\n", TURN_SIDE * TURN_SIDE, full ? "" : " = { 0 }");
  emit_open(e, "for (int64_t row = 0; row < rows; row++) {\n");
  tp_emit_line(e, "const int64_t x%d = top + row;\n", in - 1);
  emit_inputs(l, true);
  char count[16];
  snprintf(count, sizeof count, "n%d", in);
  emit_open_work(l, in, count, TURN_SIDE, 1);
  tp_emit_line(e, "y[row*%d + k] = %s;\n", TURN_SIDE, emit_result(l, 0));
  emit_results(l, 1);
  emit_shut(l->e, 2);
  tp_emit_line(e, "tp_turn_16(y);\n");
  tp_emit_line(e, "%s acc[%d];\n", t->acc, TURN_SIDE);
  tp_emit_line(
      e, "for (int64_t row = 0; row < %d; row++) acc[row] = %s;\n", TURN_SIDE, identity_of(l, t));
  tp_emit_line(e, "for (int64_t k = 0; k < n%d; k++)\n", in);
  tp_emit_line(e,
      "  for (int64_t row = 0; row < %d; row++) acc[row] = TP_FOLD_%s(acc[row], (%s)y[k*%d + "
      "row]);\n",
      TURN_SIDE, t->fn, t->acc, TURN_SIDE);
  emit_axis_alone(l, in - 1, 0, 1);
  emit_open(e, "for (int64_t row = 0; row < rows; row++) {\n");
  tp_emit_line(e, "const int64_t x%d = top + row;\n", in - 1);
  put_delivery(l, t, "acc[row]");
  emit_shut(l->e, in + 1);
}

/* Prints the fold into a kept point: its rows, if the innermost axis is folded, or its elements. */
static void put_point(const nest *l, const fold_types *t) {
  int in = l->nax - 1;
  bool rows = in >= 0 && l->ax[in].red, blocks = emit_adds_blocks(l);
  if (blocks) {
    tp_emit_line(l->e, "int terms_ = 0;\n");
    tp_emit_line(l->e, "%s sum_ = 0, acc = ", t->acc);
    emit_begin_sum(l);
    tp_puts(l->e->b, ";\n");
  } else tp_emit_line(l->e, "%s acc = %s;\n", t->acc, identity_of(l, t));
  int inner = emit_open_folded(l, rows ? in : -1);
  emit_open(l->e, "{\n");
  if (rows) (l->together ? put_row_together : put_row)(l, t);
  else {
    emit_inputs(l, true);
    emit_work(l);
    put_fold_step(l, t, "acc");
    emit_results(l, 1);
  }
  emit_shut(l->e, 1 + inner);
  if (l->together) emit_open(l->e, "if (%s) {\n", has_acc(l));
  if (blocks) emit_store_whole(l, "acc + sum_");
  else put_delivery(l, t, "acc");
  emit_shut(l->e, l->together);
}

void emit_fold_point(const nest *l) {
  fold_types t = types_of(l);
  put_point(l, &t);
}

/* Prints a fold whose innermost axis is folded: kept axes outside, then the folded ones. */
static void put_across(const nest *l, const fold_types *t) {
  int opened = 0;
  if (has_short_rows(l, t)) {
    put_short_rows(l, t);
    return;
  }
  for (int k = 0; k < l->nax; k++)
    if (!l->ax[k].red) emit_open_axis(l, k), opened++;
  put_point(l, t);
  emit_shut(l->e, opened);
}

/* Does the body take many instructions? Only operators of floats do. */
static bool is_long(const tp_region *r) {
  bool any = false;
  for (int i = 0; i < r->nmicro; i++) any |= tp_emit_rows[r->micro[i].op].types == OF_FLOAT;
  return any;
}

/* Prints a fold whose innermost axis is kept, some of its places at a time. Operators that take
 * long go before the sum: one loop of f32 and f64 costs more than two loops. */
static void put_down(const nest *l, const fold_types *t) {
  tp_emit *e = l->e;
  int in = l->nax - 1, opened = 0, inner = 0;
  for (int k = 0; k < in; k++)
    if (!l->ax[k].red) emit_open_axis(l, k), opened++;
  int most = emit_open_pieces(l, in, COLUMNS);
  bool apart = t->c == TP_F32 && strcmp(t->acc, "double") == 0 && is_long(l->r);
  tp_emit_line(e, "%s acc[%d];\n", t->acc, most);
  if (apart) tp_emit_line(e, "float y[%d];\n", most);
  tp_emit_line(e, "for (int64_t k = 0; k < some; k++) acc[k] = %s;\n", identity_of(l, t));
  for (int k = 0; k < in; k++) {
    int64_t rows;
    if (!l->ax[k].red) continue;
    /* written out, gcc 12 would make vectors of columns */
    if (tp_ix_is_const(l->ax[k].n, &rows) && rows < LANES) tp_emit_line(e, "TP_ROLLED\n");
    emit_open_axis(l, k);
    inner++;
  }
  emit_inputs(l, true);
  emit_open_work(l, in, "some", most, 1);
  if (apart) tp_emit_line(e, "y[k] = %s;\n", emit_result(l, 0));
  else put_fold_step(l, t, "acc[k]");
  emit_results(l, 1);
  emit_shut(l->e, 1);
  if (apart)
    tp_emit_line(e,
        "for (int64_t k = 0; k < some; k++) acc[k] = TP_FOLD_%s(acc[k], (double)y[k]);\n", t->fn);
  emit_shut(l->e, inner);
  emit_axis_alone(l, in, 0, 1);
  emit_open_elements(l, in, "some");
  put_delivery(l, t, "acc[k]");
  emit_shut(l->e, 2);
  emit_shut(l->e, opened);
}

/* Integers have no least and no greatest of nothing. */
static void put_empty(const nest *l, const fold_types *t) {
  tp_emit *e = l->e;
  if (l->r->acc || tp_dtype_float(t->c) || t->c == TP_BOOL || l->r->red == TP_RED_SUM ||
      l->r->red == TP_RED_PROD)
    return;
  tp_emit_line(e, "if (!(%s) && %s) {\n", any_of(l, true), any_of(l, false));
  emit_fault(l, 3, false);
}

bool emit_open_terms(const nest *l) {
  if (!l->r->acc) return false;
  emit_open(l->e, "if (%s) {\n", any_of(l, true));
  return true;
}

void emit_fold(const nest *l) {
  fold_types t = types_of(l);
  put_empty(l, &t);
  bool acc = emit_open_terms(l);
  if (l->e->to->threads) emit_for_threads(l);
  else if (!l->nax) put_point(l, &t); /* a single element is folded */
  else if (l->ax[l->nax - 1].red) put_across(l, &t);
  else put_down(l, &t);
  emit_shut(l->e, acc);
}

/* ---- written out ---- */

/* The folded axes of extent other than 1 in the order in which they are walked; how many. */
static int folded_axes(const nest *l, int *of) {
  int n = 0;
  for (int k = 0; k < l->nax; k++)
    for (int i = 0; l->ax[k].red && i < l->ax[k].nof; i++) of[n++] = l->ax[k].of[i];
  return n;
}

void emit_folded_point(const nest *l, int64_t *at, const int64_t *shape) {
  fold_types t = types_of(l);
  int64_t ext[TP_MAXRANK];
  int of[TP_MAXRANK], n = folded_axes(l, of);
  tp_walk w;
  for (int i = 0; i < n; i++) ext[i] = shape[of[i]];
  tp_emit_line(l->e, "%s acc = %s;\n", t.acc, identity_of(l, &t));
  for (tp_walk_start(&w, n, ext); w.ok; tp_walk_next(&w)) {
    for (int i = 0; i < n; i++) at[of[i]] = w.at[i];
    emit_open(l->e, "{\n");
    emit_work(l);
    put_fold_step(l, &t, "acc");
    emit_results(l, 1);
    emit_shut(l->e, 1);
  }
  for (int i = 0; i < n; i++) at[of[i]] = 0;
  put_delivery(l, &t, "acc");
}
