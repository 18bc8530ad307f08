/* device: executes plans. Rank 6. The interpreter: regions with everything that does not depend on loop variables resolved once per bounds,
 * kernels for every operator, BLAS by dlopen. No allocation per step. */
#ifndef TP_DEVICE_H
#define TP_DEVICE_H
#include "plan/plan.h"
#include "graph/run.h"

typedef struct tp_exec tp_exec;
tp_exec *tp_exec_new(const tp_plan *p, int threads, tp_error *err);
tp_exec *tp_exec_free(tp_exec *x);              /* NULL */
/* Colours the arena for run->env (kept while the bounds stay the same), binds inputs and outputs, runs. run->outputs exist. */
bool tp_exec_run(tp_exec *x, tp_run *run, tp_error *err);
int64_t tp_exec_peak(const tp_exec *x);         /* bytes of arena of the last run */

/* ---- kernels over resolved operands (kernel_*.c), also for tests and emitted code's tables ---- */
typedef struct tp_view { void *p; int rank; int64_t shape[TP_MAXRANK], stride[TP_MAXRANK]; } tp_view;  /* p at element 0 of the window; strides in elements; leading axes first */
/* C (m.. , n..) (+)= A (m.., k..) * B (k.., n..) with roles by stride: every axis is in the iteration space, with a stride in each of the three. f32, f64 through BLAS
 * where the shapes allow, also i32 i64. acc: add to C. Axes with stride 0 in C are summed. */
void tp_contract(tp_dtype d, int naxes, const int64_t *extent, const int64_t *sa, const int64_t *sb, const int64_t *sc,
                 const void *a, const void *b, void *c, bool acc);
#endif
