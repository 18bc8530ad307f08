/* What an operator is to a machine: scalar.def and prelude/. The interpreter's kernels include them; what is compiled elsewhere takes them as text. */
#ifndef TP_KERN_H
#define TP_KERN_H

/* math.h, half.h, philox.h, scalar.h and native.h of the prelude, in this order, with scalar.def in them: C99 (and C++) without includes, made by the Makefile. Before it come
 * TP_FN, TP_FMA, the types of stdint and the functions that prelude/math.h names. */
extern const char tp_prelude[];
#endif
