/* lower: the state of lowering, and what its files call of each other. Inside src/poly. */
#ifndef TP_POLY_LOWER_H
#define TP_POLY_LOWER_H
#include "poly/poly.h"
typedef struct tp_branchuse {
  struct tp_branchuse *next;
  tp_node *merge;
  int k;
  tp_ix **idx;
} tp_branchuse;
typedef struct {
  tp_poly *p;
  tp_graph *g;
  tp_arena *a;
  const tp_need *need;
  tp_error *err;
  bool *live, *queued; /* by node id */
  bool *window;        /* READs of a range that slides, which are copied if needed in one piece */
  /* how many nodes read it, through views or not; the last one */
  int *nreader;
  tp_node **reader;
  /* its reads by branches of declared tensors; apart: it has no other readers, and they read
   * different points */
  tp_branchuse **uses;
  bool *apart;
  TP_VEC(tp_node *) queue; /* stored nodes whose statements are to be made */
} low;
/* ---- modes.c ---- */
bool tp_low_modes(low *l);
bool tp_low_readers(low *l); /* counts them */
/* the dims themselves as expressions */
tp_ix **tp_low_point(low *l, int n, tp_dims dims);
/* May a sliding window that operand k shows lie on a ring? */
bool tp_reads_ring(const low *l, const tp_node *n, int k);
tp_arr *tp_low_array(low *l, tp_val v, tp_arrkind kind, int slot);
tp_arr *tp_low_stored(low *l, tp_val v); /* its array, made and queued if new */
/* ---- stmts.c ---- */
bool tp_low_copy(low *l, tp_val v, tp_arr *to, tp_pos pos);
bool tp_low_statements(low *l, tp_node *n);
/* ---- resolve.c ---- */
/* Operand k of n at its dims' values. */
bool tp_node_operand(tp_poly *p, const tp_node *n, tp_ixs at, int k, tp_opnd *o, tp_error *err);
/* ---- ends.c ---- */
/* the condition that n has the point; at[d] NULL: not asked; NULL: no dim ends */
tp_ix *tp_guard_of(tp_poly *p, const tp_node *n, tp_ixs at);
/* how much of an end must be known where e is evaluated: upto of an access */
tp_ix *tp_end_wanted(tp_poly *p, tp_ix *e, int end);
/* an index into dim, for any values of the ends that it mentions */
tp_at tp_any_end(const tp_poly *p, tp_at at, tp_sym *dim);
#endif
