/* point.c: prints operators that are no loops over elements, point by point: places of the largest,
 * picks by data, draws (draw.c), environments (environment.c). Indices are checked before anything
 * is written. With a host only those with few elements at a point are printed; without one all are,
 * except sums that are rounded once (export.h). */
#include "emit/priv.h"

enum { FEW_ELEMENTS = 16, FEW_WORDS = 16, LONG_RUN = 256 };

/* ---- windows and indices ---- */

int64_t emit_elements(const tp_nd *nd, int most) {
  int64_t n = 1, k;
  for (int i = 0; i < nd->rank; i++) {
    if (!tp_ix_is_const(nd->shape[i], &k) || k > most) return -1;
    n *= k > 0 ? k : 0;
  }
  return n > most ? -1 : n;
}

/* Operators that move each element of PICK_EACH to or from another window, at the index that
 * PICK_BY has. */
enum { PICK_BY = 1, PICK_EACH = 2 };
static bool is_adding(const tp_region *r) { return tp_op_is(r->op, TP_ADDS); }
static int target_of(const tp_region *r) { return r->op == TP_OP_PUT || is_adding(r) ? r->nin : 0; }

static bool moves_along(const tp_nd *nd, int i) {
  return !tp_is_number(nd->shape[i], 1) && !tp_is_number(nd->stride[i], 0);
}

/* `index_select` and `index_add` have one index for each row. with_index, with_target: the loop
 * with which axis i goes, of the index, of the window in which data says where. */
static bool picks_rows(const tp_region *r) {
  return r->op == TP_OP_INDEX_SELECT || r->op == TP_OP_INDEX_ADD;
}
static int with_index(const tp_region *r, int i) { return picks_rows(r) ? i + r->how.axis : i; }
static int with_target(const tp_region *r, int i) {
  return picks_rows(r) && i > r->how.axis ? i - 1 + r->in[PICK_BY].rank : i;
}
/* The axis of an operand that goes with one of its places of the largest. */
static int with_best(const tp_region *r, int i) {
  return !r->how.keepdim && i >= r->how.axis ? i + 1 : i;
}

static bool index_moves(const tp_region *r, int axis) {
  bool any = false;
  for (int i = 0; i < r->in[PICK_BY].rank; i++)
    any |= with_index(r, i) == axis && moves_along(&r->in[PICK_BY], i);
  return any;
}

/* How many axes of PICK_EACH there are up to the last along which the index moves: elements along
 * the others share an index. */
static int indexed_axes(const tp_region *r) {
  int n = tp_window_at(r, PICK_EACH)->rank;
  while (n > 0 && !index_moves(r, n - 1)) n--;
  return n;
}

static tp_nd run_of(const tp_region *r) {
  tp_nd run = *tp_window_at(r, PICK_EACH);
  int n = indexed_axes(r);
  run.rank -= n;
  run.shape += n;
  return run;
}

static bool has_short_runs(const tp_region *r) {
  tp_nd run = run_of(r);
  return emit_elements(&run, LONG_RUN) > 0;
}

/* Are sums of several terms rounded once? They are not if the axis has one index: it hits no place
 * twice. */
static bool rounds_sums(const tp_emit *e, const tp_region *r) {
  bool one = (picks_rows(r) && !r->in[PICK_BY].rank) ||
      tp_is_number(r->in[PICK_EACH].shape[r->how.axis], 1);
  return tp_compute(tp_emit_dtype(e, &r->out[0])) == TP_F32 && !one;
}

bool emit_draws_few(const tp_emit *e, const tp_region *r) {
  int64_t n = emit_elements(&r->out[0], FEW_ELEMENTS);
  return n > 0 && n * tp_words_per_draw(&r->how, tp_emit_dtype(e, &r->out[0])) <= FEW_WORDS;
}

bool emit_has_range(const tp_region *r) {
  return r->how.rand != TP_RAND_RANDINT || r->how.limits[0] < r->how.limits[1];
}

bool tp_emit_is_pointwise(const tp_emit *e, const tp_region *r) {
  if (r->kind != TP_RG_OP || r->check || !r->nout) return false;
  if (emit_has_operator(e, r)) return true;
  if (r->acc) return false;
  switch (r->op) {
  case TP_OP_ENV_RESET:
  case TP_OP_ENV_OBS:
  case TP_OP_ENV_STEP: return tp_is_pure_env(r);
  case TP_OP_RAND: return !e->to->host || (emit_has_range(r) && emit_draws_few(e, r));
  case TP_OP_ARGMAX:
  case TP_OP_ARGMIN: return !e->to->host || emit_elements(&r->in[0], FEW_ELEMENTS) > 0;
  case TP_OP_GATHER:
  case TP_OP_INDEX_SELECT:
  case TP_OP_PUT: return !e->to->host || has_short_runs(r);
  case TP_OP_SCATTER_ADD:
  case TP_OP_INDEX_ADD:
    return e->to->threads || (!rounds_sums(e, r) && (!e->to->host || has_short_runs(r)));
  default: return false;
  }
}

/* ---- loops over points ---- */

void tp_emit_point_windows(tp_emit *e, const tp_region *r) {
  for (int i = 0; i < r->nin + r->nout; i++) {
    const tp_nd *nd = tp_window_at(r, i);
    bool there = i == 0 && target_of(r) && tp_emit_same_elements(r, nd, &r->out[0]);
    if (nd->buf >= 0 && !there) tp_emit_window(e, tp_emit_cell(e, tp_emit_dtype(e, nd)), i, nd, "");
  }
}

/* ` + at*stride`, of place `at` along axis i of the region's, then of the window's own. */
static void put_step(tp_emit *e, const tp_nd *nd, int axis, const char *at, const tp_ix *stride) {
  if (axis == nd->wrap)
    at = tp_printf(e->a, "tp_ring_at(%s + %s, %s)", emit_ix(e, nd->wlo), at, emit_ix(e, nd->wmod));
  tp_putf(e->b, " + %s*%s", at, emit_ix(e, stride));
}

/* Opens the element of window i at the point, `off` on, for steps that follow. */
static void open_point_cell(tp_emit *e, const tp_region *r, int i, const tp_ix *off) {
  const tp_nd *nd = tp_window_at(r, i);
  char at[16];
  tp_putf(e->b, "w%d[%s", i, emit_ix(e, off));
  for (int k = 0; k < r->nlead && nd->lead; k++) {
    if (tp_is_number(nd->lead[k], 0)) continue;
    snprintf(at, sizeof at, "x%d", k);
    put_step(e, nd, k, at, nd->lead[k]);
  }
}

void emit_point_cell(tp_emit *e, const tp_region *r, int i, const tp_ix *off) {
  open_point_cell(e, r, i, off);
  tp_puts(e->b, "]");
}

const tp_ix *emit_own_offset(const tp_emit *e, const tp_nd *nd, const int64_t *at) {
  const tp_ix *off = tp_ix_const(e->ix, 0);
  for (int i = 0; i < nd->rank; i++)
    off = tp_ix_add(e->ix, off, tp_ix_mulc(e->ix, nd->stride[i], at[i]));
  return off;
}

void emit_element_at(tp_emit *e, const tp_region *r, int w, const char *const *at) {
  const tp_nd *nd = tp_window_at(r, w);
  open_point_cell(e, r, w, tp_ix_const(e->ix, 0));
  for (int i = 0; i < nd->rank; i++) {
    bool one = tp_is_number(nd->shape[i], 1) && at[i][0] == 'e';
    if (tp_is_number(nd->stride[i], 0) || (one && nd->wrap != r->nlead + i)) continue;
    put_step(e, nd, r->nlead + i, one ? "0" : at[i], nd->stride[i]);
  }
  tp_puts(e->b, "]");
}

/* Prints an element of window w. with: by axis of the window, the loop that it goes with; NULL: the
 * loop of the same number. by: the axis along which data says where (`at`). */
static void put_element_of(
    tp_emit *e, const tp_region *r, int w, int (*with)(const tp_region *, int), int by) {
  const char *at[TP_MAXRANK];
  for (int i = 0; i < tp_window_at(r, w)->rank; i++)
    at[i] = i == by ? "at" : tp_printf(e->a, "e%d", with ? with(r, i) : i);
  emit_element_at(e, r, w, at);
}

void emit_point_element(tp_emit *e, const tp_region *r, int w) {
  put_element_of(e, r, w, NULL, -1);
}

void emit_lead_name(tp_emit *e, const tp_region *r, int i, const char *at) {
  bool named = false;
  for (int k = 0; k < r->ncoord; k++) named |= tp_ix_mentions(r->coord[k], r->leadvar[i]);
  int v = r->leadvar[i]->id;
  if (named)
    tp_emit_line(
        e, "const int64_t s%d = %s + %s; (void)s%d;\n", v, emit_ix(e, r->leadlo[i]), at, v);
}

void tp_emit_lead(tp_emit *e, const tp_region *r, int i) {
  emit_open(e, "for (int64_t x%d = 0, n%d = %s; x%d < n%d; x%d++) {\n", i, i,
      emit_ix(e, r->lead[i]), i, i, i);
}

void emit_open_element(tp_emit *e, const tp_nd *nd, int i) {
  emit_open(e, "for (int64_t e%d = 0; e%d < %s; e%d++) {\n", i, i, emit_ix(e, nd->shape[i]), i);
}

void emit_lead_alone(tp_emit *e, const tp_region *r, int i, bool points, int at) {
  const tp_ix **step = TP_NEWN(e->a, const tp_ix *, r->nin + r->nout),
              *still = tp_ix_const(e->ix, 0);
  for (int w = 0; w < r->nin + r->nout; w++) {
    const tp_nd *nd = tp_window_at(r, w);
    if (nd->buf < 0) continue;
    if (points) step[w] = nd->lead ? nd->lead[i] : still;
    else if (nd->buf == r->out[0].buf) step[w] = i == at || i >= nd->rank ? still : nd->stride[i];
  }
  tp_emit_if_alone(e, r, points ? r->lead[i] : r->out[0].shape[i], step);
}

/* Do points along leading axis i add to the same places? Each is then behind the one before. */
static bool index_stays(const tp_region *r, int i) {
  bool adds = target_of(r) || tp_ops[r->op].cls == TP_CLS_CONV;
  const tp_nd *out = &r->out[0];
  return adds && !tp_is_number(r->lead[i], 1) && (!out->lead || tp_is_number(out->lead[i], 0));
}

int emit_open_stays(tp_emit *e, const tp_region *r) {
  int n = 0;
  for (int i = 0; i < r->nlead; i++)
    if (index_stays(r, i)) tp_emit_lead(e, r, i), n++;
  return n;
}

bool tp_emit_takes_one_block(const tp_region *r) {
  bool one = false;
  if (!target_of(r)) return false;
  for (int i = 0; i < r->nlead; i++) one |= index_stays(r, i);
  return one || !tp_emit_same_elements(r, &r->in[0], &r->out[0]);
}

int emit_open_leads(tp_emit *e, const tp_region *r, const tp_nd *nd, int from, int but) {
  if (e->to->threads) {
    tp_emit_axis ax[2 * TP_MAXRANK];
    int n = 0;
    for (int i = 0; i < r->nlead; i++)
      if (!index_stays(r, i)) ax[n++] = (tp_emit_axis){ tp_printf(e->a, "x%d", i), r->lead[i] };
    for (int i = from; nd && i < nd->rank; i++)
      if (i != but) ax[n++] = (tp_emit_axis){ tp_printf(e->a, "e%d", i), nd->shape[i] };
    emit_open_threads(e, n, ax, false);
    return 1;
  }
  for (int i = 0; i < r->nlead; i++) {
    if (i == r->nlead - 1) emit_lead_alone(e, r, i, true, -1);
    tp_emit_lead(e, r, i);
  }
  int opened = r->nlead;
  for (int i = from; nd && i < nd->rank; i++)
    if (i != but) emit_open_element(e, nd, i), opened++;
  return opened;
}

void emit_wrong(tp_emit *e, const tp_pnode *x, const char *fault, bool fails) {
  emit_open(e, "if (__builtin_expect(wrong, 0)) {\n");
  if (e->to->host) {
    tp_emit_ends(e);
    tp_emit_line(
        e, "TP_END_IF(h->leaf(h->exec, %s)%s);\n", tp_emit_pos(e, x->pos), fails ? " || 1" : "");
  } else emit_put_fault(e, x->pos, fault, "NULL");
  e->depth--;
  emit_open(e, "} else {\n");
}

/* ---- the place of the largest, the least ---- */

static void put_candidate(tp_emit *e, const tp_region *r) {
  emit_load(e, tp_emit_dtype(e, &r->in[0]));
  emit_point_element(e, r, 0);
  tp_puts(e->b, ");\n");
}

static void put_best(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  const tp_nd *in = &r->in[0];
  tp_dtype d = tp_emit_dtype(e, in);
  const char *type = tp_emit_held(d), *than = r->op == TP_OP_ARGMAX ? ">" : "<";
  int axis = r->how.axis;
  int opened = emit_open_leads(e, r, in, 0, axis);
  for (int i = 0; i < in->rank && !e->to->threads; i++)
    if (i != axis) emit_open_element(e, in, i), opened++;
  if (!e->to->host) {
    emit_open(e, "if (%s <= 0) {\n", emit_ix(e, in->shape[axis]));
    emit_put_fault(e, x->pos, "TPX_FAULT_NOTHING", "NULL");
    emit_shut(e, 1);
  }
  tp_emit_line(e, "int64_t e%d = 0, at = 0;\n", axis);
  tp_emit_line(e, "%s best = ", type);
  put_candidate(e, r);
  if (e->to->host) tp_emit_line(e, "TP_UNROLLED\n");
  emit_open(e, "for (e%d = 1; e%d < %s; e%d++) {\n", axis, axis, emit_ix(e, in->shape[axis]), axis);
  tp_emit_line(e, "const %s y = ", type);
  put_candidate(e, r);
  tp_emit_line(e, "const int is = y %s best%s;\n", than,
      tp_dtype_float(d) ? " || (y != y && best == best)" : "");
  tp_emit_line(e, "best = is ? y : best, at = is ? e%d : at;\n", axis);
  emit_shut(e, 1);
  tp_emit_indent(e);
  put_element_of(e, r, 1, with_best, -1);
  tp_puts(e->b, " = at;\n");
  emit_shut(e, opened);
}

/* ---- picks ---- loops over elements; in the other window data says where they are along an
 * axis */

static void put_index(tp_emit *e, const tp_region *r) {
  put_element_of(e, r, PICK_BY, with_index, -1);
}

static void put_looks(tp_emit *e, const tp_region *r) {
  tp_nd run = run_of(r);
  int64_t some;
  int n = r->nlead;
  for (int i = 0; i < n; i++) {
    if (i == n - 1) tp_emit_line(e, "TP_IVDEP\n");
    tp_emit_lead(e, r, i);
  }
  for (int i = 0, last = indexed_axes(r) - 1; i <= last; i++) {
    if (!index_moves(r, i)) continue;
    if (i == last) tp_emit_line(e, "TP_IVDEP\n");
    emit_open_element(e, tp_window_at(r, PICK_EACH), i);
    n++;
  }
  tp_emit_line(e, "wrong |= ");
  for (int i = 0; i < run.rank; i++) /* does any element have an index? */
    if (!tp_ix_is_const(run.shape[i], &some) || some <= 0)
      tp_putf(e->b, "%s > 0 && ", emit_ix(e, run.shape[i]));
  tp_puts(e->b, "(uint64_t)");
  put_index(e, r);
  tp_putf(e->b, " >= (uint64_t)%s;\n", emit_ix(e, r->in[0].shape[r->how.axis]));
  emit_shut(e, n);
}

/* Copies the operand that is changed in part. */
static void put_base(tp_emit *e, const tp_region *r) {
  const tp_nd *out = &r->out[0];
  if (tp_emit_same_elements(r, &r->in[0], out)) return;
  int opened = emit_open_leads(e, r, out, 0, -1);
  if (e->to->threads) opened += emit_open_stays(e, r);
  for (int i = 0; i < out->rank && !e->to->threads; i++, opened++) {
    if (i == out->rank - 1) emit_lead_alone(e, r, i, false, -1);
    emit_open_element(e, out, i);
  }
  tp_emit_indent(e);
  emit_point_element(e, r, r->nin);
  tp_puts(e->b, " = ");
  emit_point_element(e, r, 0);
  tp_puts(e->b, ";\n");
  emit_shut(e, opened);
  if (e->to->threads) tp_emit_line(e, "BARRIER();\n");
}

static void put_moved(tp_emit *e, const tp_region *r) {
  int to = target_of(r), axis = r->how.axis;
  tp_dtype d = tp_emit_dtype(e, &r->out[0]);
  tp_emit_indent(e);
  put_element_of(e, r, to ? to : PICK_EACH, to ? with_target : NULL, to ? axis : -1);
  tp_puts(e->b, " = ");
  if (is_adding(r)) {
    tp_putf(e->b, tp_half(d) ? "tp_store_%s(tp_ADD_%s(" : "%.0s(tp_ADD_%s(", tp_dtype_name(d),
        tp_emit_sfx(d));
    emit_load(e, d);
    put_element_of(e, r, to, with_target, axis);
    tp_puts(e->b, "), ");
    emit_load(e, d);
  }
  put_element_of(e, r, to ? PICK_EACH : 0, to ? NULL : with_target, to ? -1 : axis);
  tp_puts(e->b, is_adding(r) ? ")));\n" : ";\n");
}

/* Ends what threads do at an index. An element put outside of a tensor is dropped. */
static void shut_inside(tp_emit *e, const tp_pnode *x) {
  if (e->to->threads && x->rg->op != TP_OP_PUT) {
    e->depth--;
    emit_open(e, "} else {\n");
    emit_put_fault(e, x->pos, NULL, NULL);
  }
  emit_shut(e, 1);
}

static void put_inside(tp_emit *e, const tp_region *r) {
  tp_emit_line(e, "int64_t at = ");
  put_index(e, r);
  tp_puts(e->b, ";\n");
  if (e->to->host && emit_elements(&r->in[PICK_BY], FEW_ELEMENTS) < 0)
    tp_emit_line(e, "TP_ONE_BY_ONE(at);\n");
  if (r->op == TP_OP_PUT || e->to->threads)
    emit_open(e, "if ((uint64_t)at < (uint64_t)%s) {\n", emit_ix(e, r->in[0].shape[r->how.axis]));
}

/* Prints a sum's begin: the target's element; what is added; the end. */
static void put_sum_begin(tp_emit *e, const tp_region *r) {
  tp_dtype d = tp_emit_dtype(e, &r->out[0]);
  const char *type = tp_dtype_float(d) ? "double" : "uint64_t";
  tp_emit_line(e, "%s sum = (%s)", type, type);
  emit_load(e, d);
  put_element_of(e, r, target_of(r), with_target, r->how.axis);
  tp_puts(e->b, ");\n");
}
static void put_hit(tp_emit *e, const tp_region *r) {
  tp_dtype d = tp_emit_dtype(e, &r->out[0]);
  tp_putf(e->b, "sum += (%s)", tp_dtype_float(d) ? "double" : "uint64_t");
  emit_load(e, d);
  put_element_of(e, r, PICK_EACH, NULL, -1);
  tp_puts(e->b, ");\n");
}
static void put_sum_end(tp_emit *e, const tp_region *r) {
  tp_dtype d = tp_emit_dtype(e, &r->out[0]);
  tp_emit_indent(e);
  put_element_of(e, r, target_of(r), with_target, r->how.axis);
  tp_putf(e->b, tp_half(d) ? " = tp_store_%s(tp_sticky_f32(sum));\n" : "%.0s = (%s)sum;\n",
      tp_dtype_name(d), tp_emit_type(d));
}

/* A block sorts a row's indices, which columns share; then a thread adds up a place's hits, in the
 * order of the row. */
static void put_sorted_sums(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  const tp_nd *each = tp_window_at(r, PICK_EACH);
  int axis = r->how.axis, inside = indexed_axes(r), columns = 0;
  const char *target = emit_ix(e, r->in[0].shape[axis]);
  tp_nd rows = *each;
  tp_emit_axis ax[TP_MAXRANK];
  rows.rank = inside;
  tp_emit_line(e, "const int64_t first_ = block_, step_ = blocks_;\n");
  tp_emit_line(e, "TP_SORT_WIDTH(wide_, n_)\n");
  int opened = emit_open_leads(e, r, &rows, 0, axis);
  tp_emit_line(e, "BARRIER();\n");
  emit_open(e, "for (int i_ = THREAD; i_ < wide_; i_ += THREADS) {\n");
  tp_emit_line(e, "sort_at[i_] = i_;\n");
  tp_emit_line(e, "if (i_ >= n_) continue;\n");
  tp_emit_line(e, "const int64_t e%d = i_; (void)e%d;\n", axis, axis);
  tp_emit_line(e, "sort_i[i_] = ");
  put_index(e, r);
  tp_puts(e->b, ";\n");
  emit_open(e, "if ((uint64_t)sort_i[i_] >= (uint64_t)%s) {\n", target);
  emit_put_fault(e, x->pos, NULL, NULL);
  emit_shut(e, 2);
  tp_emit_line(e, "TP_BLOCK_SORT(TP_BEFORE_I, 0, sort_i, wide_, n_)\n");
  emit_open(e, "{\n");
  tp_emit_line(e, "const int64_t first_ = THREAD, step_ = THREADS;\n");
  ax[columns++] = (tp_emit_axis){ "i_", each->shape[axis] };
  for (int i = inside; i < each->rank; i++)
    ax[columns++] = (tp_emit_axis){ tp_printf(e->a, "e%d", i), each->shape[i] };
  emit_open_threads(e, columns, ax, false);
  tp_emit_line(e, "const int64_t at = sort_i[sort_at[i_]];\n");
  emit_open(e, "if ((i_ == 0 || sort_i[sort_at[i_ - 1]] != at) && (uint64_t)at < (uint64_t)%s) {\n",
      target);
  put_sum_begin(e, r);
  emit_open(e, "for (int64_t q_ = i_; q_ < n_ && sort_i[sort_at[q_]] == at; q_++) {\n");
  tp_emit_line(e, "const int64_t e%d = sort_at[q_];\n", axis);
  tp_emit_indent(e);
  put_hit(e, r);
  emit_shut(e, 1);
  put_sum_end(e, r);
  emit_shut(e, 3 + opened);
}

/* The thread with a place's first hit adds all of its hits, in order. */
static void put_counted_sums(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  const tp_nd *each = tp_window_at(r, PICK_EACH);
  int axis = r->how.axis, opened = emit_open_leads(e, r, each, 0, -1);
  put_inside(e, r);
  tp_emit_line(e, "const int64_t j_ = e%d;\n", axis);
  emit_open(e, "{\n");
  tp_emit_line(e, "int64_t e%d = 0;\n", axis);
  tp_emit_line(e, "while (");
  put_index(e, r);
  tp_putf(e->b, " != at) e%d++;\n", axis);
  emit_open(e, "if (e%d == j_) {\n", axis);
  put_sum_begin(e, r);
  tp_emit_line(e, "for (; e%d < %s; e%d++)\n", axis, emit_ix(e, each->shape[axis]), axis);
  tp_emit_line(e, "  if (");
  put_index(e, r);
  tp_puts(e->b, " == at) ");
  put_hit(e, r);
  put_sum_end(e, r);
  emit_shut(e, 2);
  shut_inside(e, x);
  emit_shut(e, opened);
}

static void put_sums(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  const tp_nd *each = tp_window_at(r, PICK_EACH);
  const tp_ix *n = each->shape[r->how.axis];
  int64_t known;
  int still = emit_open_stays(e, r), inside = indexed_axes(r);
  bool is_known = tp_ix_is_const(n, &known),
       sorts = inside > r->how.axis &&
      !(is_known && (known <= EMIT_SORT_FEW || known > EMIT_SORT_MOST));
  if (sorts) {
    tp_emit_line(e, "const int64_t n_ = %s;\n", emit_ix(e, n));
    tp_emit_line(e, "if (n_ <= %d", EMIT_SORT_MOST);
    for (int i = inside; i < each->rank; i++) /* has any element an index? */
      tp_putf(e->b, " && %s > 0", emit_ix(e, each->shape[i]));
    tp_puts(e->b, ") {\n");
    e->depth++;
    put_sorted_sums(e, x);
    e->depth--;
    emit_open(e, "} else {\n");
  }
  if (!sorts || !is_known) put_counted_sums(e, x);
  emit_shut(e, sorts);
  if (still) tp_emit_line(e, "BARRIER();\n");
  emit_shut(e, still);
}

/* Prints the loops of a pick: those over elements that share an index go inside. */
static void put_picks(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  const tp_nd *each = tp_window_at(r, PICK_EACH);
  int rank = each->rank, inside = indexed_axes(r), by_data = target_of(r) ? r->how.axis : -1;
  bool host_puts = r->op == TP_OP_PUT && !e->to->threads;
  /* threads share elements of which no two go to one place */
  int shared = !e->to->threads ? rank : target_of(r) ? inside : 0;
  int still = e->to->threads ? emit_open_stays(e, r) : 0;
  int opened = emit_open_leads(e, r, each, shared, -1);
  for (int i = 0; i < rank + 1; i++) {
    if (i == inside) put_inside(e, r);
    if (i == rank) break;
    if (i >= shared) continue;
    if (i == rank - 1) emit_lead_alone(e, r, target_of(r) ? with_target(r, i) : i, false, by_data);
    emit_open_element(e, each, i);
    opened++;
  }
  put_moved(e, r);
  if (e->to->threads) shut_inside(e, x);
  emit_shut(e, opened + host_puts);
  if (still) tp_emit_line(e, "BARRIER();\n");
  emit_shut(e, still);
}

static void put_pick(tp_emit *e, const tp_pnode *x) {
  bool looks = x->rg->op != TP_OP_PUT && !e->to->threads;
  if (looks) {
    tp_emit_line(e, "int wrong = 0;\n");
    put_looks(e, x->rg);
    emit_wrong(e, x, "TPX_FAULT_INDEX", true);
  }
  if (target_of(x->rg)) put_base(e, x->rg);
  bool adds_rows = is_adding(x->rg) && !(picks_rows(x->rg) && !x->rg->in[PICK_BY].rank);
  (e->to->threads && adds_rows ? put_sums : put_picks)(e, x);
  emit_shut(e, looks);
}

void tp_emit_point_body(tp_emit *e, const tp_pnode *x) {
  bool best = x->rg->op == TP_OP_ARGMAX || x->rg->op == TP_OP_ARGMIN;
  (emit_has_operator(e, x->rg) ? emit_operator : best ? put_best : put_pick)(e, x);
}
