/* point.c: prints operators that are no loops over elements, point by point: places of the largest,
 * picks by data, draws (draw.c), environments (environment.c). Indices are checked before anything
 * is written. With a host only those with few elements at a point are printed; without one all are,
 * except sums that are rounded once (export.h). */
#include "emit/body/pick.h"

enum { FEW_WORDS = 16, LONG_RUN = 256 };

/* ---- windows and indices ---- */

int64_t emit_elements(const tp_nd *nd, int most) {
  int64_t n = 1, k;
  for (int i = 0; i < nd->rank; i++) {
    if (!tp_ix_is_const(nd->shape[i], &k) || k > most) return -1;
    n *= k > 0 ? k : 0;
  }
  return n > most ? -1 : n;
}

/* The axis of an operand that goes with one of its places of the largest. */
static int with_best(const tp_region *r, int i) {
  return !r->how.keepdim && i >= r->how.axis ? i + 1 : i;
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

/* Are blocks contiguous? A device reads them where they lie. */
static bool has_whole_blocks(const tp_region *r) {
  const tp_nd *w = &r->in[r->op == TP_OP_MATMUL_BLOCKS];
  return tp_is_number(w->stride[w->rank - 1], 1) && w->wrap != r->nlead + w->rank - 1;
}

enum { SHORT_SCAN = 64 };
static bool scans_short_rows(const tp_region *r) {
  const tp_nd *o = &r->out[0];
  int64_t n;
  return tp_ops[r->op].cls == TP_CLS_SCAN && r->how.axis == o->rank - 1 &&
      tp_ix_is_const(o->shape[o->rank - 1], &n) && n <= SHORT_SCAN;
}

bool emit_has_operator(const tp_emit *e, const tp_region *r) {
  if (e->to->host) return scans_short_rows(r);
  if (!e->to->threads || (r->acc && r->op != TP_OP_CONV_WEIGHT)) return false;
  switch (tp_ops[r->op].cls) {
  case TP_CLS_SCAN:
  case TP_CLS_SORT:
  case TP_CLS_CONV: return true;
  case TP_CLS_FMT: return has_whole_blocks(r);
  default: return r->op == TP_OP_FOLD || r->op == TP_OP_MATMUL_AT;
  }
}

bool tp_emit_is_pointwise(const tp_emit *e, const tp_region *r) {
  if (r->kind != TP_RG_OP || (r->check && !e->to->threads) || !r->nout) return false;
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
static const char *step_of(tp_emit *e, const tp_nd *nd, int axis, const char *at, tp_ix *stride) {
  if (axis == nd->wrap)
    at = tp_printf(e->a, "tp_ring_at(%s + %s, %s)", emit_ix(e, nd->wlo), at, emit_ix(e, nd->wmod));
  return tp_printf(e->a, " + %s*%s", at, emit_ix(e, stride));
}

/* The element of window i at the point, `off` on; `]` or further steps are to follow. */
static const char *point_of(tp_emit *e, const tp_region *r, int i, tp_ix *off) {
  const tp_nd *nd = tp_window_at(r, i);
  const char *text = tp_printf(e->a, "w%d[%s", i, emit_ix(e, off));
  for (int k = 0; k < r->nlead && nd->lead; k++)
    if (!tp_is_number(nd->lead[k], 0))
      text =
          tp_printf(e->a, "%s%s", text, step_of(e, nd, k, tp_printf(e->a, "x%d", k), nd->lead[k]));
  return text;
}

const char *emit_point_cell(tp_emit *e, const tp_region *r, int i, tp_ix *off) {
  return tp_printf(e->a, "%s]", point_of(e, r, i, off));
}

tp_ix *emit_own_offset(const tp_emit *e, const tp_nd *nd, const int64_t *at) {
  tp_ix *off = tp_ix_const(e->ix, 0);
  for (int i = 0; i < nd->rank; i++) off = tp_ix_add(off, tp_ix_mulc(nd->stride[i], at[i]));
  return off;
}

const char *emit_element_at(tp_emit *e, const tp_region *r, int w, const char *const *at) {
  const tp_nd *nd = tp_window_at(r, w);
  const char *text = point_of(e, r, w, tp_ix_const(e->ix, 0));
  for (int i = 0; i < nd->rank; i++) {
    bool one = tp_is_number(nd->shape[i], 1) && at[i][0] == 'e';
    if (tp_is_number(nd->stride[i], 0) || (one && nd->wrap != r->nlead + i)) continue;
    text = tp_printf(
        e->a, "%s%s", text, step_of(e, nd, r->nlead + i, one ? "0" : at[i], nd->stride[i]));
  }
  return tp_printf(e->a, "%s]", text);
}

const char *emit_value_at(tp_emit *e, const tp_region *r, int w, const char *const *at) {
  return emit_loaded(e, tp_emit_dtype(e, tp_window_at(r, w)), emit_element_at(e, r, w, at));
}

void emit_own_places(tp_emit *e, const tp_nd *nd, const char **at) {
  for (int i = 0; i < nd->rank; i++) at[i] = tp_printf(e->a, "e%d", i);
}

const char *emit_element_of(
    tp_emit *e, const tp_region *r, int w, int (*with)(const tp_region *, int), int by) {
  const char *at[TP_MAXRANK];
  for (int i = 0; i < tp_window_at(r, w)->rank; i++)
    at[i] = i == by ? "at" : tp_printf(e->a, "e%d", with ? with(r, i) : i);
  return emit_element_at(e, r, w, at);
}

const char *emit_point_element(tp_emit *e, const tp_region *r, int w) {
  return emit_element_of(e, r, w, NULL, -1);
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
  tp_ix **step = TP_NEWN(e->a, tp_ix *, r->nin + r->nout), *still = tp_ix_const(e->ix, 0);
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

/* The axes of leads and of the window itself that threads share. */
static int shared_axes(
    tp_emit *e, const tp_region *r, const tp_nd *nd, int from, int but, tp_emit_axis *ax) {
  int n = 0;
  for (int i = 0; i < r->nlead; i++)
    if (!index_stays(r, i)) ax[n++] = emit_axis(e, 'x', i, r->lead[i]);
  for (int i = from; nd && i < nd->rank; i++)
    if (i != but) ax[n++] = emit_axis(e, 'e', i, nd->shape[i]);
  return n;
}

void emit_open_shares(tp_emit *e, const tp_region *r, const tp_nd *nd, int axis, tp_ix *numbers) {
  tp_emit_axis ax[2 * TP_MAXRANK];
  int n = shared_axes(e, r, nd, 0, axis, ax);
  ax[n++] = emit_parts("share_", numbers, EMIT_SORT_SHARE);
  tp_emit_line(e, "const int64_t numbers_ = %s;\n", emit_ix(e, numbers));
  emit_by_blocks(e);
  emit_open_threads(e, n, ax, false);
}

void emit_open_share(tp_emit *e) {
  tp_emit_line(e, "TP_UNROLLED\n");
  emit_open(e, "for (int q_ = 0; q_ < TP_SORT_EACH; q_++) {\n");
  tp_emit_line(e, "const int64_t number_ = share_*TP_SORT_SHARE + q_*THREADS + THREAD;\n");
  tp_emit_line(e, "if (number_ >= numbers_) continue;\n");
}

int emit_open_leads(tp_emit *e, const tp_region *r, const tp_nd *nd, int from, int but) {
  if (e->to->threads) {
    tp_emit_axis ax[2 * TP_MAXRANK];
    emit_open_threads(e, shared_axes(e, r, nd, from, but, ax), ax, false);
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
  emit_else(e);
}

/* ---- the place of the largest, the least ---- */

void emit_best(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  const tp_nd *in = &r->in[0];
  tp_dtype d = tp_emit_dtype(e, in);
  const char *type = tp_emit_held(d), *than = r->op == TP_OP_ARGMAX ? ">" : "<",
             *x_at = emit_loaded(e, d, emit_point_element(e, r, 0));
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
  tp_emit_line(e, "%s best = %s;\n", type, x_at);
  if (e->to->host) tp_emit_line(e, "TP_UNROLLED\n");
  emit_open(e, "for (e%d = 1; e%d < %s; e%d++) {\n", axis, axis, emit_ix(e, in->shape[axis]), axis);
  tp_emit_line(e, "const %s y = %s;\n", type, x_at);
  tp_emit_line(e, "const int is = y %s best%s;\n", than,
      tp_dtype_float(d) ? " || (y != y && best == best)" : "");
  tp_emit_line(e, "best = is ? y : best, at = is ? e%d : at;\n", axis);
  emit_shut(e, 1);
  tp_emit_line(e, "%s = at;\n", emit_element_of(e, r, 1, with_best, -1));
  emit_shut(e, opened);
}
