/* The table of operators, and names to operators. */
#include "graph/graph.h"

const tp_oprow tp_ops[TP_NOP] = {
#define O(N, text, cls, nin, nout, batch, diff) [TP_OP_##N] = { text, TP_CLS_##cls, nin, nout, TP_BATCH_##batch, TP_DIFF_##diff },
#include "graph/ops.def"
#undef O
};

bool tp_op_parse(const char *text, tp_op *out) {
  for (int i = 0; i < TP_NOP; i++)
    if (strcmp(tp_ops[i].text, text) == 0) {
      *out = (tp_op)i;
      return true;
    }
  return false;
}

tp_red tp_op_red(tp_op op) { return op == TP_OP_SUM ? TP_RED_SUM : op == TP_OP_PROD ? TP_RED_PROD : op == TP_OP_MAX ? TP_RED_MAX : TP_RED_MIN; }

const int *tp_conv_roles(tp_op op) {
  static const int roles[3][3] = { { TP_CX, TP_CW, TP_CY }, { TP_CY, TP_CW, TP_CX }, { TP_CX, TP_CY, TP_CW } };
  return roles[op - TP_OP_CONV];
}

double tp_red_identity(tp_red red, tp_dtype d) {
  if (red == TP_RED_SUM || red == TP_RED_PROD) return red == TP_RED_PROD;
  bool max = red == TP_RED_MAX;
  if (tp_dtype_float(d)) return max ? -__builtin_inf() : __builtin_inf();
  if (d == TP_BOOL) return max ? 0 : 1;
  if (d == TP_U8) return max ? 0 : 255;
  if (d == TP_I32) return max ? INT32_MIN : INT32_MAX;
  return max ? -9223372036854775808.0 : 9223372036854775808.0;   /* saturates */
}
