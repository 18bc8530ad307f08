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
