/* Inside src/interp: elementwise chains and reductions, one engine (ew_build.c makes it, ew.c binds
 * and runs it).
 *
 * An iteration space (leading axes, then the shape) is squeezed, one axis chosen as inner,
 * neighbours merged, and walked in tiles of at most TP_BLOCK elements (rows x n). A fold has the
 * plan's inner axis and order of folded axes (plan/walk.c). For each tile, sources are used in
 * place if they are dense, else loaded into blocks; the steps of the chain run over the tile;
 * results are written in place, stored or combined with the elements there, or folded into
 * accumulators of the kept axes, which are finished when the reduced axes (walked innermost) are
 * done. */
#ifndef TP_EW_H
#define TP_EW_H
#include "interp/interp.h"
#include "cpu/cpu.h"

typedef struct tp_ewstep {
  tp_kfn *fn;
  int o, in[3];
} tp_ewstep;
typedef struct tp_ewsrc {
  int nd;        /* operand of the region; -1: a number made here */
  tp_dtype d, c; /* in memory, computed */
  /* VALUE: evaluated by each execution, along leading variables into an array */
  tp_dx value;
  bool is_value;
  uint64_t cell;              /* FILL, VALUE: the number, in c */
  int64_t stride[TP_MAXRANK]; /* by axis */
  int64_t row, step;          /* in the tile */
  bool direct, fixed;         /* dense in the tile; no loop moves it */
  int64_t tmpoff;
  char *tmp, *base;
  tp_kload *load;
} tp_ewsrc;
typedef struct tp_ewdst {
  int slot;
  tp_dtype d, c;
  int64_t stride[TP_MAXRANK], row, step;
  /* mayalias: an input lives in the same buffer and is read after this result is made */
  bool direct, mayalias;
  int64_t tmpoff;
  char *tmp, *base;
  tp_kload *load;
  tp_kstore *store;
  tp_kfn *combine;
} tp_ewdst;
typedef struct tp_ewloop {
  int axis;
  int64_t n, step;
} tp_ewloop;
typedef struct tp_ew {
  int nsrc, ndst, nstep, nslot; /* slots: sources, then micros */
  tp_ewsrc *src;
  tp_ewdst *dst;
  tp_ewstep *step;
  /* by slot: pointer now; offset of its block in the scratch */
  void **p;
  int64_t *slottmp;
  bool acc, folds; /* out (op)= result; some axis is reduced */
  tp_red red;      /* of both */
  tp_kfold *across, *down;
  tp_kfn *narrow; /* narrow: accumulators to the compute type */
  /* types of accumulators and of folded elements; places of both in the scratch */
  tp_dtype acct, folded;
  int64_t accoff, outoff;
  /* order: the region's axes as walked; group: which axes become one (-1: extent 1) */
  int order[TP_MAXRANK], group[TP_MAXRANK];
  /* bound */
  int rank;
  int64_t ext[TP_MAXRANK];
  bool reduced[TP_MAXRANK];
  /* by axis: its number before neighbours were merged */
  int id[TP_MAXRANK];
  /* axis k is those of id[end[k - 1] + 1 .. end[k]], of these extents */
  int end[TP_MAXRANK];
  int64_t extent[TP_MAXRANK];
  bool nothing, emptyfold; /* no element of any result; nothing to fold */
  int64_t n0, n1, e0, e1;
  bool red0, red1; /* tile n1 rows x n0 of extents e1 x e0 */
  int nkeep, nred;
  tp_ewloop keep[TP_MAXRANK], red_loop[TP_MAXRANK];
} tp_ew;

/* e at each point of v, an axis for each of the region */
void tp_put_numbers(tp_exec *x, const tp_dreg *r, const tp_dx *e, tp_dtype d, const tp_view *v);
void tp_ew_new(tp_exec *x, tp_dreg *r);
bool tp_ew_bind(tp_exec *x, tp_dreg *r);
bool tp_ew_run(tp_exec *x, tp_dreg *r);
#endif
