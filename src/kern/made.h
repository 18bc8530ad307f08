/* made: of which elements of its operands an element of a result is made, and whether NaN or
 * infinity arose there. Asked of values that are there already, by every tier, only where a run
 * looks for them (tp_attr.check). */
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
/* o: which result `out` is */
typedef struct tp_made {
  tp_op op;
  const tp_how *how;
  int nin, o;
  const tp_lens *in;
  tp_lens out;
} tp_made;

/* Calls fn with each operand's number and the place in it, in row-major order of what is summed;
 * nin stands for the result itself, an element that was made before (scans). False: fn said so. */
/* operators of another class than the elementwise ones that can be asked about */
bool tp_made_known(tp_op op);
typedef bool tp_made_fn(void *ud, int k, const int64_t *at);
bool tp_made_each(const tp_made *m, const int64_t *at, tp_made_fn *fn, void *ud);
/* The first element, row major, that is NaN or infinite and made of some elements, all of them
 * finite. */
bool tp_made_find(const tp_made *m, int64_t *at);
bool tp_lens_finite(const tp_lens *v); /* all of it; true of integers */
bool tp_lens_finite_at(const tp_lens *v, const int64_t *at);
/* The last words of the error: "element [1, 0]: div('a' = 1, 'b' = 0) is inf". */
void tp_made_tell(tp_buf *b, const tp_made *m, const int64_t *at);
/* The same of a sum or product of what a list holds; n of them, the first few in v. */
enum { TP_TOLD = 8 };
void tp_made_tell_list(tp_buf *b, const char *op, int64_t n, const tp_dtype *d, const double *v,
    const tp_lens *out, const int64_t *at);
#endif
