/* result: sets results of operators and words the refusals of operands, for all files of
 * inference. */
#include "graph/core.h"

/* ---- messages ---- */

bool tp_bad_shape(tp_typing q, const char *why, ...) {
  char text[512];
  TP_FORMAT(text, why);
  const char *list = "";
  for (int k = 0; k < q.n->nin && k < 6; k++)
    list = tp_printf(&q.g->arena, "%s%s(%s)", list,
        !k                  ? ": "
            : q.n->nin == 2 ? " x "
                            : ", ",
        tp_extents(q.g, tp_inof(q.n, k)->rank, tp_inof(q.n, k)->shape));
  return tp_fail(q.err, TP_E_SHAPE, q.pos, "bad operand%s of '%s': %s%s", q.n->nin == 1 ? "" : "s",
      tp_op_said(q.n->op), text, list);
}

bool tp_bad_dtype(tp_typing q, const char *advice) {
  const char *list = "";
  for (int k = 0; k < q.n->nin && k < 6; k++)
    list = tp_printf(&q.g->arena, "%s%s%s", list,
        !k                      ? ""
            : k + 1 == q.n->nin ? " and "
                                : ", ",
        tp_dtype_name(tp_inof(q.n, k)->dtype));
  return tp_fail(q.err, TP_E_DTYPE, q.pos, "bad operand%s of '%s': %s: %s",
      q.n->nin == 1 ? "" : "s", tp_op_said(q.n->op), list, advice);
}

bool tp_rank_ok(tp_typing q, int rank) {
  return rank <= TP_MAXRANK ||
      tp_fail(q.err, TP_E_SHAPE, q.pos, "'%s' would have %d axes, at most %d are possible",
          tp_label(q.n), rank, TP_MAXRANK);
}

bool tp_axis_in(tp_typing q, int axis, int rank) {
  return (axis >= 0 && axis < rank) || tp_bad_shape(q, "axis %d of rank %d", axis, rank);
}

bool tp_nin_ok(tp_op op, int nin, tp_pos pos, tp_error *err) {
  int want = tp_ops[op].nin,
      least = want >= 0 ? want : op == TP_OP_GRAD || op == TP_OP_CONCAT || op == TP_OP_PARAM,
      most = want >= 0    ? want
      : op == TP_OP_PARAM ? 2
      : op == TP_OP_RAND  ? 1
                          : INT32_MAX;
  if (nin >= least && nin <= most) return true;
  return tp_fail(err, TP_E_SHAPE, pos, "'%s' takes %d operand%s, not %d", tp_ops[op].text, least,
      least == 1 ? "" : "s", nin);
}

bool tp_dims_ok(const tp_node *n, tp_error *err) {
  return n->ndom <= TP_MAXDIM ||
      tp_fail(err, TP_E_OPTION, n->pos, "option: %s would have %d dims; at most %d are possible",
          tp_label(n), n->ndom, TP_MAXDIM);
}

/* ---- results ---- */

void tp_outs(tp_typing q, int nout) {
  q.n->nout = nout;
  q.n->out = TP_NEWN(&q.g->arena, tp_out, nout);
}

void tp_out_set(tp_typing q, int k, tp_dtype d, int rank, tp_ixs shape) {
  q.n->out[k] = (tp_out){ d, rank, tp_dup(&q.g->arena, shape, sizeof *shape * (size_t)rank) };
}

bool tp_out1(tp_typing q, tp_dtype d, int rank, tp_ixs shape) {
  tp_outs(q, 1);
  tp_out_set(q, 0, d, rank, shape);
  return true;
}
