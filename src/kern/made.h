/* made: finds NaN and infinity that arose in a result of finite operands. Every tier asks it about
 * values that exist already, if a run is to check them (tp_attr.check). */
#ifndef TP_MADE_H
#define TP_MADE_H
#include "kern/kern.h"

/* A value at one point, wherever its elements lie. */
/* name: NULL or the tensor's */
typedef struct tp_lens {
  const char *name;
  tp_dtype dtype;
  int rank;
  int64_t shape[TP_MAXRANK], stride[TP_MAXRANK];
  const void *data;
} tp_lens;
typedef struct tp_made {
  tp_op op;
  int nin;
  const tp_lens *in;
  tp_lens out;
} tp_made;

/* Finds the first element, row major, that is NaN or infinite although operands are finite: of an
 * elementwise operator those at that place, of any other whole operands. */
bool tp_made_find(const tp_made *m, int64_t *at);
bool tp_lens_finite(const tp_lens *v); /* all of it; true of integers */
bool tp_lens_finite_at(const tp_lens *v, const int64_t *at);
/* The last words of the error: "element [1, 0]: div('a' = 1, 'b' = 0) is inf". */
void tp_made_tell(tp_buf *b, const tp_made *m, const int64_t *at);
#endif
