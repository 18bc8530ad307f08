/* Inside src/emit/body: operators that move elements to or from where data says. */
#ifndef TP_EMIT_PICK_H
#define TP_EMIT_PICK_H
#include "emit/priv.h"

/* Operators that move each element of PICK_EACH to or from another window, at the index that
 * PICK_BY has. */
enum { PICK_BY = 1, PICK_EACH = 2 };
enum { FEW_ELEMENTS = 16 };
static inline bool is_adding(const tp_region *r) { return tp_op_is(r->op, TP_ADDS); }
static inline int target_of(const tp_region *r) {
  return r->op == TP_OP_PUT || is_adding(r) ? r->nin : 0;
}

static inline bool moves_along(const tp_nd *nd, int i) {
  return !tp_is_number(nd->shape[i], 1) && !tp_is_number(nd->stride[i], 0);
}

/* `index_select` and `index_add` have one index for each row. with_index, with_target: the loop
 * with which axis i goes, of the index, of the window in which data says where. */
static inline bool picks_rows(const tp_region *r) {
  return r->op == TP_OP_INDEX_SELECT || r->op == TP_OP_INDEX_ADD;
}
static inline int with_index(const tp_region *r, int i) {
  return picks_rows(r) ? i + r->how.axis : i;
}
static inline int with_target(const tp_region *r, int i) {
  return picks_rows(r) && i > r->how.axis ? i - 1 + r->in[PICK_BY].rank : i;
}
static inline bool index_moves(const tp_region *r, int axis) {
  bool any = false;
  for (int i = 0; i < r->in[PICK_BY].rank; i++)
    any |= with_index(r, i) == axis && moves_along(&r->in[PICK_BY], i);
  return any;
}

/* How many axes of PICK_EACH there are up to the last along which the index moves: elements along
 * the others share an index. */
static inline int indexed_axes(const tp_region *r) {
  int n = tp_window_at(r, PICK_EACH)->rank;
  while (n > 0 && !index_moves(r, n - 1)) n--;
  return n;
}

static inline tp_nd run_of(const tp_region *r) {
  tp_nd run = *tp_window_at(r, PICK_EACH);
  int n = indexed_axes(r);
  run.rank -= n;
  run.shape += n;
  return run;
}

/* point.c: the text of an element of window w. with: by axis of the window, the loop that it goes
 * with; NULL: the loop of the same number. by: the axis along which data says where (`at`). */
const char *emit_element_of(
    tp_emit *e, const tp_region *r, int w, int (*with)(const tp_region *, int), int by);
#endif
