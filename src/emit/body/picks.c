/* picks.c: prints operators that move elements to or from where data says along an axis: loops over
 * elements, and, for threads of a device, sums by index, each place's in the order of its hits. */
#include "emit/body/pick.h"

static const char *index_of(tp_emit *e, const tp_region *r) {
  return emit_element_of(e, r, PICK_BY, with_index, -1);
}

/* The element of the result at the index `at`. */
static const char *element_at_index(tp_emit *e, const tp_region *r) {
  return emit_element_of(e, r, target_of(r), with_target, r->how.axis);
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
  tp_putf(e->b, "(uint64_t)%s >= (uint64_t)%s;\n", index_of(e, r),
      emit_ix(e, r->in[0].shape[r->how.axis]));
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
  tp_emit_line(e, "%s = %s;\n", emit_point_element(e, r, r->nin), emit_point_element(e, r, 0));
  emit_shut(e, opened);
  if (e->to->threads) tp_emit_line(e, "BARRIER();\n");
}

static void put_moved(tp_emit *e, const tp_region *r) {
  tp_dtype d = tp_emit_dtype(e, &r->out[0]);
  const char *each = emit_point_element(e, r, PICK_EACH), *sum;
  if (!target_of(r))
    tp_emit_line(e, "%s = %s;\n", each, emit_element_of(e, r, 0, with_target, r->how.axis));
  else if (!is_adding(r)) tp_emit_line(e, "%s = %s;\n", element_at_index(e, r), each);
  else {
    sum = tp_printf(e->a, "tp_ADD_%s(%s, %s)", tp_emit_sfx(d),
        emit_loaded(e, d, element_at_index(e, r)), emit_loaded(e, d, each));
    if (tp_half(d)) sum = tp_printf(e->a, "tp_store_%s(%s)", tp_dtype_name(d), sum);
    else sum = tp_printf(e->a, "(%s)", sum);
    tp_emit_line(e, "%s = %s;\n", element_at_index(e, r), sum);
  }
}

/* Ends what threads do at an index. An element put outside of a tensor is dropped. */
static void shut_inside(tp_emit *e, const tp_pnode *x) {
  if (e->to->threads && x->rg->op != TP_OP_PUT) {
    emit_else(e);
    emit_put_fault(e, x->pos, NULL, NULL);
  }
  emit_shut(e, 1);
}

static void put_inside(tp_emit *e, const tp_region *r) {
  tp_emit_line(e, "int64_t at = %s;\n", index_of(e, r));
  if (e->to->host && emit_elements(&r->in[PICK_BY], FEW_ELEMENTS) < 0)
    tp_emit_line(e, "TP_ONE_BY_ONE(at);\n");
  if (r->op == TP_OP_PUT || e->to->threads)
    emit_open(e, "if ((uint64_t)at < (uint64_t)%s) {\n", emit_ix(e, r->in[0].shape[r->how.axis]));
}

/* Texts of a sum by index, in a type in which it is rounded once: the value at first, a statement
 * that adds an element, one that stores the sum; how many indices there are. */
typedef struct {
  const char *type, *was, *hit, *store, *end;
} sum_texts;

static sum_texts sum_of(tp_emit *e, const tp_region *r) {
  tp_dtype d = tp_emit_dtype(e, &r->out[0]);
  const char *type = tp_dtype_float(d) ? "double" : "uint64_t", *at = element_at_index(e, r);
  sum_texts s = { .type = type };
  s.was = tp_printf(e->a, "(%s)%s", type, emit_loaded(e, d, at));
  s.hit = tp_printf(
      e->a, "sum += (%s)%s;\n", type, emit_loaded(e, d, emit_point_element(e, r, PICK_EACH)));
  s.store = tp_half(d)
      ? tp_printf(e->a, "%s = tp_store_%s(tp_sticky_f32(sum));\n", at, tp_dtype_name(d))
      : tp_printf(e->a, "%s = (%s)sum;\n", at, tp_emit_type(d));
  s.end = emit_ix(e, r->in[0].shape[r->how.axis]);
  return s;
}

/* A block sorts n of a row's indices, from number `from` on, and looks whether each is one. */
static void put_sorted_indices(tp_emit *e, const tp_pnode *x, const char *from, const char *n) {
  const tp_region *r = x->rg;
  int axis = r->how.axis;
  emit_open(e, "TP_EACH_KEY(%s) {\n", n);
  tp_emit_line(e, "const int64_t e%d = %si_; (void)e%d;\n", axis, from, axis);
  tp_emit_line(e, "sort_i[i_] = %s;\n", index_of(e, r));
  emit_open(e, "if ((uint64_t)sort_i[i_] >= (uint64_t)%s) {\n", emit_ix(e, r->in[0].shape[axis]));
  emit_put_fault(e, x->pos, NULL, NULL);
  emit_shut(e, 2);
  tp_emit_line(e, "TP_BLOCK_SORT(TP_BEFORE_I, 0, sort_i, wide_, %s)\n", n);
}

/* A row's indices, which columns share, are sorted; then a thread adds up a place's hits, in the
 * order of the row. */
static void put_sorted_sums(tp_emit *e, const tp_pnode *x, const sum_texts *s) {
  const tp_region *r = x->rg;
  const tp_nd *each = tp_window_at(r, PICK_EACH);
  int axis = r->how.axis, inside = indexed_axes(r), columns = 0;
  tp_nd rows = *each;
  tp_emit_axis ax[TP_MAXRANK];
  rows.rank = inside;
  tp_emit_line(e, "if (n_ > 0");
  for (int i = inside; i < each->rank; i++) /* has any element an index? */
    tp_putf(e->b, " && %s > 0", emit_ix(e, each->shape[i]));
  tp_puts(e->b, ") {\n");
  e->depth++;
  emit_by_blocks(e);
  int opened = emit_open_leads(e, r, &rows, 0, axis);
  put_sorted_indices(e, x, "", "n_");
  emit_open(e, "{\n");
  tp_emit_line(e, "const int64_t first_ = THREAD, step_ = THREADS;\n");
  ax[columns++] = (tp_emit_axis){ "i_", each->shape[axis] };
  for (int i = inside; i < each->rank; i++) ax[columns++] = emit_axis(e, 'e', i, each->shape[i]);
  emit_open_threads(e, columns, ax, false);
  tp_emit_line(e, "const int64_t at = sort_i[sort_at[i_]];\n");
  emit_open(e, "if ((i_ == 0 || sort_i[sort_at[i_ - 1]] != at) && (uint64_t)at < (uint64_t)%s) {\n",
      s->end);
  tp_emit_line(e, "%s sum = %s;\n", s->type, s->was);
  emit_open(e, "for (int64_t q_ = i_; q_ < n_ && sort_i[sort_at[q_]] == at; q_++) {\n");
  tp_emit_line(e, "const int64_t e%d = sort_at[q_];\n", axis);
  tp_emit_line(e, "%s", s->hit);
  emit_shut(e, 1);
  tp_emit_line(e, "%s", s->store);
  emit_shut(e, 4 + opened);
}

/* Opens the loop over a thread's hits of a share: own_ of the row, in the column e<..>. */
static void open_hits(tp_emit *e, const tp_region *r) {
  const tp_nd *each = tp_window_at(r, PICK_EACH);
  emit_open_share(e);
  tp_emit_line(e, "int64_t own_ = number_;\n");
  for (int i = each->rank - 1; i >= indexed_axes(r); i--) {
    const char *n = emit_ix(e, each->shape[i]);
    tp_emit_line(e, "const int64_t e%d = own_%%%s; (void)e%d;\n", i, n, i);
    tp_emit_line(e, "own_ = own_/%s;\n", n);
  }
}

/* The same for longer rows, whose parts are sorted one after the other: the thread that has a
 * place's first hit goes on, and others leave it when they meet that. */
static void put_sums_by_parts(tp_emit *e, const tp_pnode *x, const sum_texts *s) {
  const tp_region *r = x->rg;
  const tp_nd *each = tp_window_at(r, PICK_EACH);
  int axis = r->how.axis;
  tp_ix *numbers = each->shape[axis];
  tp_nd rows = *each;
  rows.rank = indexed_axes(r);
  for (int i = rows.rank; i < each->rank; i++) numbers = tp_ix_mul(numbers, each->shape[i]);
  emit_open_shares(e, r, &rows, axis, numbers);
  tp_emit_line(e, "%s sums_[TP_SORT_EACH];\n", s->type);
  tp_emit_line(e, "int64_t place_[TP_SORT_EACH];\n");
  open_hits(e, r);
  tp_emit_line(e, "const int64_t e%d = own_;\n", axis);
  tp_emit_line(e, "sums_[q_] = 0;\n");
  tp_emit_line(e, "place_[q_] = %s;\n", index_of(e, r));
  tp_emit_line(e, "if ((uint64_t)place_[q_] >= (uint64_t)%s) place_[q_] = -1;\n", s->end);
  emit_shut(e, 1);
  emit_open(e, "TP_EACH_PART(n_) {\n");
  put_sorted_indices(e, x, "from_ + ", "some_");
  open_hits(e, r);
  tp_emit_line(e, "const int64_t at = place_[q_];\n");
  tp_emit_line(e, "if (at < 0) continue;\n");
  tp_emit_line(e, "TP_SORT_COUNT(hit_, sort_i[j_] < at)\n");
  tp_emit_line(e, "%s sum = sums_[q_];\n", s->type);
  emit_open(e, "for (; hit_ < some_ && sort_i[sort_at[hit_]] == at; hit_++) {\n");
  tp_emit_line(e, "const int64_t e%d = from_ + sort_at[hit_];\n", axis);
  tp_emit_line(e, "if (e%d < own_) place_[q_] = -1;\n", axis);
  tp_emit_line(e, "if (e%d < own_) break;\n", axis);
  tp_emit_line(e, "if (e%d == own_) sum = %s;\n", axis, s->was);
  tp_emit_line(e, "%s", s->hit);
  emit_shut(e, 1);
  tp_emit_line(e, "sums_[q_] = sum;\n");
  emit_shut(e, 2);
  open_hits(e, r);
  tp_emit_line(e, "const int64_t at = place_[q_];\n");
  tp_emit_line(e, "const %s sum = sums_[q_];\n", s->type);
  tp_emit_line(e, "if (at >= 0) %s", s->store);
  emit_shut(e, 2);
}

/* The thread with a place's first hit adds all of its hits, in order. */
static void put_counted_sums(tp_emit *e, const tp_pnode *x, const sum_texts *s) {
  const tp_region *r = x->rg;
  const tp_nd *each = tp_window_at(r, PICK_EACH);
  int axis = r->how.axis, opened = emit_open_leads(e, r, each, 0, -1);
  put_inside(e, r);
  tp_emit_line(e, "const int64_t j_ = e%d;\n", axis);
  emit_open(e, "{\n");
  tp_emit_line(e, "int64_t e%d = 0;\n", axis);
  tp_emit_line(e, "while (%s != at) e%d++;\n", index_of(e, r), axis);
  emit_open(e, "if (e%d == j_) {\n", axis);
  tp_emit_line(e, "%s sum = %s;\n", s->type, s->was);
  tp_emit_line(e, "for (; e%d < %s; e%d++)\n", axis, emit_ix(e, each->shape[axis]), axis);
  tp_emit_line(e, "  if (%s == at) %s", index_of(e, r), s->hit);
  tp_emit_line(e, "%s", s->store);
  emit_shut(e, 2);
  shut_inside(e, x);
  emit_shut(e, opened);
}

static void put_sums(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  const sum_texts s = sum_of(e, r);
  tp_ix *n = tp_window_at(r, PICK_EACH)->shape[r->how.axis];
  int64_t known = EMIT_SORT_MOST;
  bool is_known = tp_ix_is_const(n, &known);
  int still = emit_open_stays(e, r);
  if (indexed_axes(r) <= r->how.axis || known <= EMIT_SORT_FEW) put_counted_sums(e, x, &s);
  else {
    tp_emit_line(e, "const int64_t n_ = %s;\n", emit_ix(e, n));
    emit_open(e, "if (n_ <= TP_SORT_MOST) {\n");
    if (known <= EMIT_SORT_MOST) put_sorted_sums(e, x, &s);
    emit_else(e);
    if (!is_known || known > EMIT_SORT_MOST) put_sums_by_parts(e, x, &s);
    emit_shut(e, 1);
  }
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

void emit_pick(tp_emit *e, const tp_pnode *x) {
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
