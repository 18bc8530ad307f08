/* known.c: decides which leaves are printed, and answers questions about them before they are. */
#include "emit/priv.h"

enum { POINTS = 4, TERMS = 32, COLD = 1 << 16, SQUARE = 1024, LONG_ROW = 256, FEW_FOLDED = 4 };

#define BY_NONE     NULL, NULL
#define BY_AT(p, f) #p, #f
const tp_emit_row tp_emit_rows[TP_NOP] = {
#define NONE NO_FAULT
#define S(NAME, operands, types, result, f, i, b, near, fault) \
  [TP_OP_##NAME] = { OF_##types, fault, #NAME, BY_##near },
#include "kern/scalar.def"
#undef S
#undef NONE
};

static bool row_takes(tp_op op, tp_dtype d) {
  switch (tp_emit_rows[op].types) {
  case OF_FLOAT: return tp_dtype_float(d);
  case OF_NUMBER: return d != TP_BOOL;
  case OF_ANY: return true;
  case OF_BOOL: return d == TP_BOOL;
  default: return false;
  }
}

static bool micro_known(const tp_emit *e, const tp_region *r, const tp_micro *m) {
  if (m->op == TP_OP_FILL || m->op == TP_OP_VALUE || m->op == TP_OP_CAST || m->op == TP_OP_MATMUL)
    return true;
  return row_takes(m->op, tp_compute(tp_operand_type(e->p, r, m->in[m->op == TP_OP_SELECT])));
}

tp_dtype tp_emit_result_type(const tp_emit *e, const tp_region *r, int k) {
  return r->nmicro ? r->micro[r->outmicro[k]].dtype : tp_emit_dtype(e, &r->in[0]);
}

/* The one leading axis along which windows wrap; -1: none does, -2: several do. */
static int wrapped_axis(const tp_region *r) {
  int at = -1;
  TP_WINDOWS (x, r)
    if (x->wrap >= 0 && at != x->wrap) at = at == -1 ? x->wrap : -2;
  return at;
}

static bool wraps(const tp_region *r) { return wrapped_axis(r) != -1; }

int tp_emit_seam(const tp_region *r) {
  return r->sums || r->acc ? -1 : TP_MAX(wrapped_axis(r), -1);
}

static bool all_known(const tp_emit *e, const tp_region *r) {
  bool ok = r->kind == TP_RG_LOOP && (!r->check || e->to->threads) && r->nlead < TP_MAXRANK &&
      r->nout > 0 && !(e->to->host && wraps(r) && tp_emit_seam(r) < 0);
  for (int i = 0; ok && i < r->nin; i++) ok = r->in[i].buf >= 0 && r->in[i].rank == 0;
  for (int i = 0; ok && i < r->nout; i++) ok = (r->out[i].buf >= 0 || i) && r->out[i].rank == 0;
  for (int i = 0; ok && i < r->nmicro; i++) ok = micro_known(e, r, &r->micro[i]);
  if (!ok) return false;
  tp_dtype d = tp_compute(tp_emit_result_type(e, r, 0));
  return d != TP_BOOL || !(r->sums || r->acc) || r->red == TP_RED_MAX || r->red == TP_RED_MIN;
}

/* May the operator have no value for an operand? That is known of a number. */
bool tp_emit_may_fault(const tp_emit *e, const tp_region *r, const tp_micro *m) {
  int fault = m->op == TP_OP_FILL || m->op == TP_OP_VALUE || m->op == TP_OP_CAST
      ? NO_FAULT
      : tp_emit_rows[m->op].fault;
  if (!fault || tp_dtype_float(tp_compute(tp_operand_type(e->p, r, m->in[0])))) return false;
  const tp_micro *by = m->in[1] >= r->nin ? &r->micro[m->in[1] - r->nin] : NULL;
  uint64_t cell = 0;
  if (!by || by->op != TP_OP_FILL) return true;
  tp_put(by->dtype, &cell, 0, by->f);
  int64_t v = tp_geti(by->dtype, &cell, 0);
  return fault == DIVZERO ? v == 0 : v < 0;
}

bool tp_emit_faults(const tp_emit *e, const tp_region *r) {
  bool any = false;
  for (int k = 0; k < r->nmicro; k++) any |= tp_emit_may_fault(e, r, &r->micro[k]);
  return any;
}

int64_t tp_emit_count(const tp_region *r) {
  int64_t n = 1, k;
  for (int i = 0; i < r->nlead; i++) {
    if (!tp_ix_is_const(r->lead[i], &k) || k > COLD || n > COLD) return -1;
    n *= k > 0 ? k : 0;
  }
  return n;
}

static bool is_far(tp_ix *stride) {
  int64_t s;
  return !tp_ix_is_const(stride, &s) || s >= TP_TUNE_WALK_LINE || s <= -TP_TUNE_WALK_LINE;
}

/* Does one window lie along one axis and jump along another, and some window the other way round?
 * Square tiles then use each line of the cache while it is near. */
static bool turns(const tp_region *r) {
  bool along[TP_MAXRANK][TP_MAXRANK] = { 0 }, any = false;
  TP_WINDOWS (x, r)
    for (int i = 0; i < r->nlead && x->buf >= 0 && x->lead; i++)
      for (int k = 0; k < r->nlead && tp_is_number(x->lead[i], 1); k++)
        along[i][k] |= i != k && !tp_is_number(r->lead[i], 1) && !tp_is_number(r->lead[k], 1) &&
            is_far(x->lead[k]);
  for (int i = 0; i < r->nlead; i++)
    for (int k = 0; k < i; k++) any |= along[i][k] && along[k][i];
  return any;
}

/* Does the leaf fold long columns, whose elements it at most converts? The host's kernels take
 * several rows at a time. */
static bool folds_columns(const tp_emit *e, const tp_region *r) {
  bool plain = r->nout == 1 && r->nin == 1 &&
      (r->nmicro == 0 ||
          (r->nmicro == 1 && (r->micro->op == TP_OP_DETACH || r->micro->op == TP_OP_CAST)));
  if (!plain || !r->sums) return false;
  tp_nest n;
  tp_plan_walk(e->ix, e->a, r, &n);
  int64_t row, rows = 1, k;
  for (int i = 0; i < n.nax && rows <= FEW_FOLDED; i++)
    if (n.ax[i].red) rows = tp_ix_is_const(n.ax[i].n, &k) ? rows * k : FEW_FOLDED + 1;
  return n.nax > 1 && !n.ax[n.nax - 1].red && rows > FEW_FOLDED &&
      !(tp_ix_is_const(n.ax[n.nax - 1].n, &row) && row < LONG_ROW);
}

/* Does window w lie along axis k of the nest and jump along its innermost one? */
static bool is_turned(const tp_region *r, const tp_nest *n, int w, int k) {
  return tp_window_at(r, w)->buf >= 0 && tp_is_number(n->stride[w][k], 1) &&
      is_far(n->stride[w][n->nax - 1]);
}

/* The axis along which turned windows lie; -1: none, or several. */
static int axis_across(const tp_region *r, const tp_nest *n) {
  int across = -1;
  bool one = true;
  for (int w = 0; w < r->nin + r->nout; w++)
    for (int k = 0; k < n->nax - 1; k++) {
      if (!is_turned(r, n, w, k)) continue;
      one &= across < 0 || across == k;
      across = k;
    }
  return one ? across : -1;
}

static bool is_small(const tp_region *r) {
  int64_t points = tp_emit_count(r);
  return points >= 0 && points <= SQUARE;
}

/* Does a chain go over tiles? The host copies better, and finds the first point without a value. */
static bool has_tiles(const tp_emit *e, const tp_region *r, const tp_nest *n) {
  bool chain = r->nmicro && !r->sums && !r->acc && !wraps(r) && !tp_emit_faults(e, r);
  return e->to->host && chain && !is_small(r) && turns(r) && axis_across(r, n) >= 0;
}

static int bytes_turned(const tp_emit *e, const tp_region *r, const tp_nest *n, int across) {
  int sum = 0;
  for (int w = 0; w < r->nin + r->nout; w++)
    if (is_turned(r, n, w, across)) sum += tp_dtype_size(tp_emit_dtype(e, tp_window_at(r, w)));
  return sum;
}

/* Swaps the axis across and the innermost one if fewer bytes are turned then. */
bool *tp_emit_turned(const tp_emit *e, const tp_region *r, tp_nest *n, int *across) {
  if (!has_tiles(e, r, n)) return NULL;
  *across = axis_across(r, n);
  int bytes = bytes_turned(e, r, n, *across);
  tp_nest_swap(n, *across, n->nax - 1);
  if (axis_across(r, n) != *across || bytes_turned(e, r, n, *across) >= bytes)
    tp_nest_swap(n, *across, n->nax - 1);
  bool *turned = TP_NEWN(e->a, bool, r->nin + r->nout);
  for (int w = 0; w < r->nin + r->nout; w++) turned[w] = is_turned(r, n, w, *across);
  return turned;
}

/* Do the host's kernels do better than a loop? */
static bool leaves(const tp_emit *e, const tp_region *r) {
  tp_nest n;
  if (is_small(r)) return false;
  if (r->sums) return folds_columns(e, r);
  if (r->acc || !turns(r)) return false;
  tp_plan_walk(e->ix, e->a, r, &n);
  return !has_tiles(e, r, &n);
}

/* A small region outside of all loops, in a program that has loops, runs once: it is not worth a
 * compiler's time. Many small products are: the host makes a call of each. */
bool tp_emit_knows(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = tp_emit_region(e, x);
  bool host = e->to->host;
  if (x->rg->first && host) return false;
  bool cold = e->looped && host && (r == x->rg ? tp_emit_count(r) >= 0 : is_small(r));
  for (const tp_pnode *q = x->up; q && cold; q = q->up) cold = q->kind != TP_P_FOR;
  if (tp_emit_is_pointwise(e, r)) return !cold;
  return !cold && all_known(e, r) && !(host && leaves(e, r));
}

bool tp_emit_is_points(tp_emit *e, const tp_pnode *x) {
  if (x->kind != TP_P_REGION || tp_emit_is_pointwise(e, x->rg)) return false;
  const tp_region *r = tp_emit_region(e, x);
  int64_t n = !wraps(r) ? tp_emit_count(r) : -1;
  return n >= 0 && n <= (r == x->rg || !r->sums ? POINTS : TERMS) && tp_emit_knows(e, x);
}
