/* grad: gradients as ordinary expressions, built when the program is compiled. Rank 3. */
#ifndef TP_GRAD_H
#define TP_GRAD_H
#include "graph/graph.h"
#include "graph/mk.h"

/* Replaces every GRAD node (operands: losses.., leafs.., wrt) by the gradient of the sum of the
 * losses over all their points with respect to wrt, and rewires its readers. `loss:backward()` +
 * `x:grad()` is GRAD of g->losses: its only operand is wrt. GRADs inside the ancestors of a loss
 * are expanded first; a GRAD among its own ancestors is an error of class `cycle`. PARAM is a leaf
 * at each point; so are the attr.leaves operands before wrt, for this GRAD alone. DETACH, CALL,
 * ENV_*, RAND and rows marked N stop it. */
bool tp_grad_expand(tp_graph *g, tp_error *err);
/* Drops nodes that no output or sink needs. A parameter of which no gradient is needed was meant to
 * be updated: the graph's warnings say so, once. */
void tp_grad_sweep_unneeded(tp_graph *g);
#endif
