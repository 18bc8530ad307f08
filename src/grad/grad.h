/* grad: gradients as ordinary expressions, built when the program is compiled. Rank 3. */
#ifndef TP_GRAD_H
#define TP_GRAD_H
#include "graph/graph.h"
#include "graph/mk.h"

/* Replaces every GRAD node (operands: losses.., leafs.., wrt) by the gradient of the sum of the
 * losses over all their points with respect to wrt, and rewires its readers. `loss:backward()` +
 * `x:grad()` is GRAD of g->losses, expanded here too (a GRAD whose only operand is wrt stands for
 * it). GRADs inside the ancestors of a loss are expanded first; a GRAD among its own ancestors is
 * the error `cycle` ("gradient runs through the update of 'w': make it a parameter, take it with
 * leaf = true, or detach (which drops terms)"). PARAM is a leaf at each point; so are the
 * attr.leaves operands before wrt, for this GRAD alone. DETACH, CALL, ENV_*, RAND and rows marked N
 * stop it.
 *
 * The adjoint of a tensor x is one ACCUM with x's domain, shape and dtype (made first, filled
 * after, because adjoints of recurrences are recurrences): one contribution for each reader:
 * through READ the scatter of the read's adjoint with the same index map; through a MERGE branch
 * the merge's adjoint under the branch's exclusive condition; through an identity edge the local
 * vjp at the reader's points, summed over the dims that the operand lacks. Each contribution's cond
 * is the support of the reader: the points of it that the losses need (tp_need from the losses
 * alone), as a condition. */
bool tp_grad_expand(tp_graph *g, tp_error *err);
/* What no output or sink needs goes. A parameter of whose gradients none is needed was meant to be
 * updated: the graph's warnings say so, once. */
void tp_grad_sweep_unneeded(tp_graph *g);
#endif
