/* rules: shared by the files of src/grad. */
#ifndef TP_GRAD_RULES_H
#define TP_GRAD_RULES_H
#include "grad/grad.h"

/* One operator's rule gives the part of the adjoint of operand k of n that comes through n, from
 * the adjoint dy of n's (first) result. It has k's shape and dtype and n's domain. It is built of
 * differentiable operators wherever it varies with n's operands, so it can be differentiated
 * again. */
typedef tp_val tp_vjp(tp_mk mk, const tp_node *n, int k, tp_val dy);
tp_vjp *tp_vjp_of(tp_op op); /* NULL: not in the table */

/* The losses, and the values at which gradients end, as at parameters. */
typedef struct {
  int nloss;
  tp_val *loss;
  int nleaf;
  tp_val *leaf;
} tp_aims;

static inline bool tp_same_val(tp_val a, tp_val b) { return a.node == b.node && a.out == b.out; }
bool tp_grad_leaf(const tp_aims *of, tp_val v);

/* Does the gradient go from v through its operand k? (READ, MERGE and ACCUM included; leafs,
 * parameters, gradients and rows marked N end it.) */
bool tp_grad_passes(const tp_aims *of, tp_val v, int k);

/* One reverse sweep: makes adjoints of the sum of the losses with respect to nwrt values, as
 * ordinary values that exist at all points of their domains. */
bool tp_grad_sweep(tp_graph *g, const tp_aims *of, int nwrt, const tp_val *wrt, tp_val *out,
    bool *reached, tp_error *err);
#endif
