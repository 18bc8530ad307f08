/* Inside src/plan: the builder's state. */
#ifndef TP_PLAN_BUILD_H
#define TP_PLAN_BUILD_H
#include "plan/plan.h"
#define TP_GROUP 64
#define TP_MAXLEAD 32
typedef struct {                                /* an EW region being made */
  bool open; int first, n, nmicro, nin;
  int node[TP_GROUP], micro_of[TP_GROUP]; bool leaks[TP_GROUP];
  tp_micro micro[4 * TP_GROUP];
  tp_nd *in;
  tp_opnd shape;
} tp_group;
typedef struct pb {
  tp_plan *pl; tp_poly *p; tp_arena *a; tp_error *err;
  tp_pbuf **bufof;                              /* by array */
  const tp_stmt *s; const tp_ix **arg;          /* the statement and its dims' values */
  int nlead; const tp_sym *leadvar[TP_MAXLEAD]; const tp_ix *leadlo[TP_MAXLEAD], *lead[TP_MAXLEAD], *leadcap[TP_MAXLEAD];   /* leadcap: over bounds, at least lead */
  const int *leadorder;                          /* from the outermost to the innermost in scratch */
  tp_pbuf **scratch; int *uses, *nuse; bool *leaks;    /* per node of the cluster: scratch, last using node, uses, used by more than a region */
  int final; tp_nd final_nd; bool final_acc; tp_red final_red;
  tp_group g;
  int unless;                                   /* an ACC's where(c, x, nothing), c the same for all of the call: runs if c, and takes x; -1: none */
  TP_VEC(tp_pnode *) leaves;
  const tp_sym **endvar; int nendvar;           /* by poly's ends: the VAR that a LOAD sets */
  int naxisvar; const tp_sym *axisvar[TP_MAXRANK];      /* that stand for the place along axes of elements */
  bool *wanted;                                 /* ends that the node at work mentions, by the same numbers */
} pb;
void tp_plan_number(tp_plan *p);                 /* positions of the nodes (life.c) */
void tp_plan_lifetimes(tp_plan *p, tp_pbuf *const *bufof);
#endif
