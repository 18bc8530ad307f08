/* result: results of operators and refusals of operands, for all files of inference. */
#include "graph/core.h"

/* ---- messages ---- */

static void shapes_text(tp_buf *b, const tp_node *n) {
  for (int k = 0; k < n->nin && k < 6; k++) {
    if (k) tp_puts(b, n->nin == 2 ? " x " : ", ");
    tp_shape_print(b, n->in[k].src);
  }
}

bool tp_bad_shape(const tp_node *n, tp_error *err, const char *why, ...) {
  char text[512];
  TP_FORMAT(text, why);
  tp_buf b;
  tp_buf_init(&b);
  shapes_text(&b, n);
  tp_fail(err, TP_E_SHAPE, n->pos, "shape: bad operand%s of '%s': %s%s%s", n->nin == 1 ? "" : "s",
      tp_op_said(n->op), text, b.n ? ": " : "", b.n ? b.s : "");
  tp_buf_free(&b);
  return false;
}

bool tp_bad_dtype(const tp_node *n, tp_error *err, const char *advice) {
  char list[256] = "";
  for (int k = 0; k < n->nin && k < 6; k++) {
    strcat(list, k == 0 ? "" : k + 1 == n->nin ? " and " : ", ");
    strcat(list, tp_dtype_name(tp_inof(n, k)->dtype));
  }
  return tp_fail(err, TP_E_DTYPE, n->pos, "dtype: bad operand%s of '%s': %s: %s",
      n->nin == 1 ? "" : "s", tp_op_said(n->op), list, advice);
}

bool tp_rank_ok(tp_node *n, int rank, tp_error *err) {
  return rank <= TP_MAXRANK ||
      tp_fail(err, TP_E_SHAPE, n->pos, "shape: '%s' would have %d axes, at most %d are possible",
          tp_label(n), rank, TP_MAXRANK);
}

bool tp_nin_ok(tp_op op, int nin, tp_pos pos, tp_error *err) {
  int want = tp_ops[op].nin,
      least = want >= 0 ? want : op == TP_OP_GRAD || op == TP_OP_CONCAT || op == TP_OP_PARAM,
      most = want >= 0    ? want
      : op == TP_OP_PARAM ? 2
                          : INT32_MAX;
  if (nin >= least && nin <= most) return true;
  return tp_fail(err, TP_E_SHAPE, pos, "shape: '%s' takes %d operand%s, not %d", tp_ops[op].text,
      least, least == 1 ? "" : "s", nin);
}

bool tp_dims_ok(const tp_node *n, tp_error *err) {
  return n->ndom <= TP_MAXDIM ||
      tp_fail(err, TP_E_OPTION, n->pos, "option: %s would have %d dims; at most %d are possible",
          tp_label(n), n->ndom, TP_MAXDIM);
}

/* ---- results ---- */

void tp_outs(tp_graph *g, tp_node *n, int nout) {
  n->nout = nout;
  n->out = TP_NEWN(&g->arena, tp_out, nout);
}

void tp_out_set(tp_graph *g, tp_node *n, int k, tp_dtype d, int rank, const tp_ix *const *shape) {
  n->out[k] = (tp_out){ d, rank, tp_dup(&g->arena, shape, sizeof *shape * (size_t)rank) };
}

bool tp_out1(tp_graph *g, tp_node *n, tp_dtype d, int rank, const tp_ix *const *shape) {
  tp_outs(g, n, 1);
  tp_out_set(g, n, 0, d, rank, shape);
  return true;
}
