/* watch: check = "nan" marks the operators that can make NaN or infinity of finite operands.
 * Nothing else changes.
 *
 * A marked operator can fail while running, like integer division: it is a region of its own that
 * knows its point, it does not run where a row has ended, and the tier looks at its result
 * (run/watch.c, ref). Operators that move or choose values stay unmarked; so do those that are
 * defined to give NaN or infinity for no elements:
 *
 *   sum(x) / size of x                        mean of nothing is NaN
 *   sum((x - m)^2) / max(0, size of x - 1)    var of nothing is NaN, of one element it is made: the
 *                                             divisor becomes where(size == 0, NaN, ..)
 *   log(sum(exp(x - top)))                    logsumexp of nothing, or of -inf alone, is -inf
 *
 * The pass runs on the recorded program; operators made by lowering are marked later
 * (tp_watch_rest). */
#include "opt/opt.h"
#include <math.h>

/* ---- which operators ---- */

static bool narrows(const tp_node *n) {
  tp_dtype from = tp_dtypeof(n->in[0].src), to = n->out[0].dtype;
  return from != to && to != TP_F64 && !(from == TP_BOOL || from == TP_U8) &&
      !(to == TP_F32 && from != TP_F64);
}

static bool can_make(const tp_node *n) {
  if (!n->nout || !tp_dtype_float(n->out[0].dtype)) return false;
  tp_op op = n->op;
  switch (tp_ops[op].cls) {
  case TP_CLS_UNF:
  case TP_CLS_SCAN:
  case TP_CLS_MM:
  case TP_CLS_CONV: return true;
  case TP_CLS_ENV: return n->nin > 0;
  case TP_CLS_CAST: return narrows(n);
  case TP_CLS_BIN: return op != TP_OP_MINIMUM && op != TP_OP_MAXIMUM;
  case TP_CLS_RED: return op == TP_OP_SUM || op == TP_OP_PROD;
  case TP_CLS_MOVE: return op == TP_OP_FOLD;
  case TP_CLS_GATH: return tp_op_is(op, TP_ADDS);
  case TP_CLS_TIME:
    return op == TP_OP_ACCUM && (n->attr.red == TP_RED_SUM || n->attr.red == TP_RED_PROD);
  default: return false;
  }
}

/* ---- operators that are meant to give NaN or infinity ---- */

static bool is_size(tp_val v, tp_ix **size, tp_graph *g) {
  const tp_node *n = v.node->op == TP_OP_CAST ? tp_in(v.node, 0) : v.node;
  double c = n->op == TP_OP_FILL ? n->attr.f[0] : NAN;
  if (n->op == TP_OP_VALUE) *size = n->attr.ix[0];
  else if (c == floor(c) && fabs(c) < 0x1p53) *size = tp_ix_const(g->ix, (int64_t)c);
  else return false;
  return true;
}

/* Marks the quotient of a sum by the number of its elements, or by a little less, as meant. */
static bool mean_of_nothing(tp_mk k, tp_node *n) {
  tp_graph *g = k.g;
  const tp_node *sum = n->op == TP_OP_DIV ? tp_in(n, 0) : n;
  tp_ix *divisor, *count;
  int64_t c;
  if (n->op != TP_OP_DIV || sum->op != TP_OP_SUM || !is_size(n->in[1].src, &divisor, g))
    return true;
  count = mk_numel(k, sum->in[0].src, sum->attr.naxes, sum->attr.axes);
  if (divisor == count || tp_is_number(count, 0)) n->attr.check = TP_CHECK_MEANT;
  if (n->attr.check || tp_ix_is_const(count, &c) ||
      tp_ix_prove_ge0(tp_ix_addc(count, -1), sum->ndom, sum->dom))
    return true;
  g->pos = n->pos;
  tp_val d = n->in[1].src, none = tp_ixvalue(g, tp_ix_cmp(TP_EQ, count, mk_int(k, 0)), k.err);
  d = mk_select(k, none, mk_num(k, NAN, tp_dtypeof(d)), d);
  if (d.node) n->in[1].src = d;
  return d.node;
}

/* log(sum(exp(x - t))), t = where(abs(top) < inf, top, 0), top the largest of x without a gradient
 */
static void logsumexp_of_nothing(tp_node *n) {
  static const tp_op inside[] = { TP_OP_LOG, TP_OP_SUM, TP_OP_EXP, TP_OP_SUB };
  const tp_node *x = n;
  for (size_t i = 0; i < TP_LEN(inside); i++) {
    if (x->op != inside[i]) return;
    x = tp_in(x, inside[i] == TP_OP_SUB);
  }
  const tp_node *top = x->op == TP_OP_SELECT ? tp_in(x, 1) : x;
  if (top->op == TP_OP_DETACH && tp_in(top, 0)->op == TP_OP_MAX && top != x)
    n->attr.check = TP_CHECK_MEANT;
}

/* ---- names: the value of a branch of h is h; one that a later point of h stores becomes it ----
 */

static void name_branches(tp_graph *g, const tp_node *m) {
  for (int k = 0; m->op == TP_OP_MERGE && tp_own_name(m) && k < m->nin; k++) {
    tp_node *n = tp_in(m, k);
    bool later = n->op == TP_OP_READ;
    if (later) n = tp_in(n, 0);
    if (!tp_own_name(n) && !n->what)
      n->what = tp_printf(&g->arena, later ? "what becomes '%s'" : "'%s'", tp_own_name(m));
  }
}

static bool is_new(const tp_node *n) { return !n->attr.check && can_make(n); }

void tp_watch_rest(tp_graph *g) {
  TP_NODES (n, g->nodes)
    if (is_new(n)) n->attr.check = TP_CHECK_NAN;
}

bool tp_pass_watch(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  for (int i = 0, n0 = g->nodes.n; i < n0; i++) {
    tp_node *n = g->nodes.v[i];
    if (!is_new(n)) continue;
    if (!mean_of_nothing((tp_mk){ .g = g, .err = err }, n)) return false;
    logsumexp_of_nothing(n);
  }
  for (int i = 0; i < g->nodes.n; i++) name_branches(g, g->nodes.v[i]);
  tp_watch_rest(g);
  return true;
}
