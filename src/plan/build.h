/* Inside src/plan: the builder's state, and what its files ask of each other. */
#ifndef TP_PLAN_BUILD_H
#define TP_PLAN_BUILD_H
#include "plan/priv.h"
#include "graph/run.h"
#include "poly/poly.h"
#define TP_GROUP 64
typedef struct { /* a LOOP being made of a row of elementwise nodes */
  bool open;
  int first, last, n, nmicro, nin; /* n nodes among first .. last */
  tp_micro micro[4 * TP_GROUP];
  tp_nd *in;
  tp_opnd shape;
} tp_group;
typedef struct {
  tp_sym *var;
  bool wanted;
} pb_end;
typedef struct pb {
  tp_plan *pl;
  tp_graph *graph;
  tp_poly *p;
  tp_arena *a;
  tp_error *err;
  tp_pbuf **bufof; /* by array */
  const tp_stmt *s;
  tp_ix **arg; /* the statement and its dims' values */
  /* the dims and extents that the call runs over; leadcap is over bounds, and at least lead */
  int nlead;
  tp_sym *leadvar[TP_MAXLEAD];
  tp_ix *leadlo[TP_MAXLEAD], *lead[TP_MAXLEAD], *leadcap[TP_MAXLEAD];
  /* By node of the cluster: its scratch, the last node that uses it, how many use it, whether more
   * than one region does, its micro in the group or -1. */
  tp_pbuf **scratch;
  int *uses, *nuse, *micro_of;
  bool *leaks;
  /* The node that writes the result itself, or -1; the window; whether it adds, and how. */
  int final;
  tp_nd final_nd;
  bool final_acc;
  tp_red final_red;
  tp_group g;
  /* The node of an ACC that is 0 except in one part: only the part is added (tp_adds_part); -1:
   * none. */
  int adder;
  tp_pnodes leaves, copies; /* leaves that copy new values of parameters */
  /* By poly's ends: the variable that a LOAD sets, and whether the node at work mentions it. */
  TP_VEC(pb_end) ends;
  int naxisvar; /* variables that stand for the place along axes of elements */
  tp_sym *axisvar[TP_MAXRANK];
  bool *begun; /* by stop: is its end begun in front of the node at work? */
} pb;
static inline tp_ictx *C(const pb *b) { return b->pl->ix; }
static inline tp_ix *K(const pb *b, int64_t v) { return tp_ix_const(C(b), v); }
static inline tp_ix **tp_pb_exprs(pb *b, int n) { return TP_NEWN(b->a, tp_ix *, n); }
/* operand.c */
/* e at the statement's point, with ends as variables that are loaded */
tp_ix *tp_pb_here(pb *b, tp_ix *e);
/* e with ends as variables, which the node at work wants loaded */
tp_ix *tp_pb_ends(pb *b, tp_ix *e);
void tp_pb_open(pb *b, const tp_tree *t); /* the statement at hand */
/* Takes e, over lead variables, apart: adds coefficient * stride to each lead stride and returns
 * the value at lead index 0. */
tp_ix *tp_pb_split(pb *b, tp_ix *e, tp_ix *stride, tp_ix **lead);
tp_pbuf *tp_pb_buf(pb *b, tp_bufkind kind, const char *name, tp_pos pos, tp_dtype d);
void tp_pb_arrays(pb *b); /* makes a buffer for each of poly's arrays */
/* makes a temp for a node's value at all points that the call runs over */
tp_pbuf *tp_pb_rows(pb *b, const tp_node *n);
tp_ix **tp_pb_row_major(pb *b, int rank, tp_ixs shape); /* strides */
/* A value as a whole, as it is, for writing. */
tp_opnd tp_pb_whole(pb *b, tp_val v, int ndim, tp_dims dims, tp_ixs idx);
tp_opnd tp_pb_self(pb *b, int i); /* of node i's value */
tp_nd tp_pb_array(pb *b, const tp_arr *r, const tp_opnd *o, bool reads);
tp_nd tp_pb_scratch(pb *b, const tp_pbuf *x, const tp_opnd *o);
tp_pbuf *tp_pb_scratch_of(pb *b, int i);
tp_nd tp_pb_write(pb *b, const tp_access *w); /* what the access writes */
/* does a callback get all of the dim at once? */
bool tp_pb_is_over(const tp_node *n, tp_sym *d);
/* what the statement writes */
static inline const tp_access *tp_pb_target(const tp_stmt *s) {
  for (int k = 0; k < s->nacc; k++)
    if (s->acc[k].kind != TP_ACC_READ) return &s->acc[k];
  return NULL;
}
static inline tp_nd tp_pb_result(pb *b) { return tp_pb_write(b, tp_pb_target(b->s)); }
/* statement.c: makes the statement's leaves; false: b->err */
bool tp_pb_statement(pb *b, const tp_tree *t);
/* newest.c: copies the parameter's new value, if the statement at hand makes one that is wanted. */
bool tp_pb_copy_newest(pb *b);
void tp_pb_note_parts(pb *b);
void tp_pb_drop_copies(pb *b); /* of values that are held elsewhere */
/* ended.c */
void tp_pb_loads(pb *b, tp_pnodes *to);                       /* of the ends that are wanted */
void tp_pb_ended_rows(pb *b, tp_region *r, const tp_node *n); /* of a callback over rows */
/* loops.c. A region becomes a leaf when it is made; false: b->err */
tp_region *tp_pb_region(pb *b, tp_rgkind kind, const tp_node *n);
void tp_pb_put(pb *b, tp_nd **v, int *n, tp_nd x); /* appends to a list */
/* gives the region its micros, of which the last one is its result */
void tp_pb_micros(pb *b, tp_region *r, int n, const tp_micro *m);
tp_sym *tp_pb_axis(pb *b, int i); /* stands for the place along axis i of elements */
/* Makes axes of operands axes of the region, behind the dims of the call. Axes in `gone` are folded
 * by red, and the result lacks them. */
bool tp_pb_loop(pb *b, tp_region *r, int rank, tp_ixs ext, uint32_t gone, bool keepdim);
void tp_pb_whose(tp_region *r, const tp_node *n); /* gives it the node's name and line */
bool tp_pb_fill(pb *b, const tp_node *n, double value, tp_nd to);
bool tp_pb_copy(pb *b, const tp_node *n, tp_nd from, tp_nd to);
/* x, but only n places of that axis from lo on */
tp_nd tp_pb_part(pb *b, const tp_nd *x, int axis, tp_ix *lo, tp_ix *n);
/* x begins at place lo of out: cuts x to the part inside of out, and out to the place of that
 * part. */
void tp_pb_inside(pb *b, int axis, tp_ix *lo, tp_nd *x, tp_nd *out);
/* writes a pad, whose operand begins at place lo of out */
bool tp_pb_pad(pb *b, const tp_node *n, tp_ix *lo, const tp_nd *in, const tp_nd *out);
bool tp_pb_concat(pb *b, const tp_node *n, int nin, const tp_nd *in, const tp_nd *out);
bool tp_pb_reshape(pb *b, const tp_node *n, tp_nd in, tp_nd out);
#endif
