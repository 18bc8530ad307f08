/* rows: helpers that the files of methods share. A body is METHOD(name) { ... GIVE(value); }. */
#ifndef TP_ROWS_H
#define TP_ROWS_H
#include "graph/methods/methods.h"

#define M(name, kinds, sig, fn, shape, dtype, grad, ulp, doc) tp_method_fn tp_m_##fn;
#include "graph/methods/methods.def"
#undef M

#define METHOD(name) bool tp_m_##name(tp_mk k, const tp_arg *a, tp_vals *out)
#define GIVE(v)      return tp_give(k, 1, (tp_val[]){ v }, out)
#define AXIS(axis, x, number) \
  int axis; \
  if (!tp_axis_of(k, tp_rankof(x), number, &axis)) return false
#define IS(name) (strcmp(k.row, name) == 0)

/* These give the argument, or dflt where it is left out. */
static inline int64_t tp_arg_i(const tp_arg *a, int64_t dflt) { return a->kind ? a->i : dflt; }
static inline double tp_arg_f(const tp_arg *a, double dflt) { return a->kind ? a->f : dflt; }
static inline bool tp_arg_b(const tp_arg *a, bool dflt) { return a->kind ? a->b : dflt; }

/* ---- methods_args.c ---- */
/* false if one is {NULL} */
bool tp_give(tp_mk k, int n, const tp_val *v, tp_vals *out);
tp_op tp_named_op(tp_mk k); /* the operator whose text is the method's name */
/* "<word>: 'name': ..." */
bool tp_wrong(tp_mk k, tp_code code, const char *fmt, ...) TP_PRINTF(3, 4);
/* ascending; absent or {}: all; -1: error */
int tp_axes(tp_mk k, tp_val x, const tp_arg *a, int *out);
/* Two operands of which a weak one takes the other's dtype. */
bool tp_weak(tp_mk k, const tp_arg *a, const tp_arg *b, bool compares, tp_val *x, tp_val *y);
/* the dtype of the result: x's, or f32 for integers */
tp_dtype tp_float_of(tp_val x);
tp_val tp_index_arg(tp_mk k, tp_val x);     /* indices as i64 */
tp_ix *tp_arg_ix(tp_mk k, const tp_arg *a); /* an argument X that is no tensor */
#endif
