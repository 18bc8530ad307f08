/* kern: the operators as a machine sees them. Rank 2. ops.def lists operators, how.def what their
 * kernels need to know, scalar.def the elementwise ones in C. scalar.def and kernels/prelude are
 * also here as text, for code that is compiled elsewhere. run.h: what a run is given; made.h: where
 * NaN arose; fits.c: is there memory? */
#ifndef TP_KERN_H
#define TP_KERN_H
#include "base/array.h"
#include "base/blocks.h"
#include "index/fields.h"

typedef enum {
#define O(N, text, cls, nin, nout, batch, diff, facts) TP_OP_##N,
#include "kern/ops.def"
#undef O
  TP_NOP
} tp_op;
typedef enum {
  TP_CLS_SRC,
  TP_CLS_UN,
  TP_CLS_UNF,
  TP_CLS_LOG,
  TP_CLS_CAST,
  TP_CLS_BIN,
  TP_CLS_CMP,
  TP_CLS_SEL,
  TP_CLS_RED,
  TP_CLS_ARG,
  TP_CLS_SCAN,
  TP_CLS_MM,
  TP_CLS_CONV,
  TP_CLS_MOVE,
  TP_CLS_GATH,
  TP_CLS_SORT,
  TP_CLS_FMT,
  TP_CLS_TIME,
  TP_CLS_FX,
  TP_CLS_ENV,
  TP_CLS_GRAD
} tp_cls;
typedef enum {
  TP_BATCH_E,
  TP_BATCH_A,
  TP_BATCH_C,
  TP_BATCH_V,
  TP_BATCH_L,
  TP_BATCH_R,
  TP_BATCH_X
} tp_batch;
typedef enum { TP_DIFF_D, TP_DIFF_N, TP_DIFF_S } tp_diff;
typedef struct {
  const char *text;
  tp_cls cls;
  int nin, nout;
  tp_batch batch;
  tp_diff diff;
  int facts;
} tp_oprow;
extern const tp_oprow tp_ops[TP_NOP];
/* facts, as ops.def says; below them one bit for each operand in which an operator is linear */
enum { TP_COMMUTES = 8, TP_FAILS = 16, TP_PART = 32, TP_ADDS = 64, TP_ALONE = 128 };
static inline bool tp_op_is(tp_op op, int fact) { return (tp_ops[op].facts & fact) != 0; }
static inline bool tp_op_is_linear(tp_op op, int k) { return tp_op_is(op, 1 << TP_MIN(k, 2)); }
bool tp_op_parse(const char *text, tp_op *out);
static inline bool tp_op_is_elementwise(tp_op op) {
  return tp_ops[op].batch == TP_BATCH_E && tp_ops[op].cls != TP_CLS_SRC;
}
/* the operator as scripts call it: "where", "cat" */
const char *tp_op_said(tp_op op);
/* the error of an inner loop's data: code + 4 * the element at which it stopped */
enum { TP_K_OK, TP_K_DIVZERO, TP_K_NEGPOW };
enum { TP_CX, TP_CW, TP_CY }; /* y = conv(x, w) */
static inline bool tp_is_conv(tp_op op) {
  return op == TP_OP_CONV || op == TP_OP_CONV_DATA || op == TP_OP_CONV_WEIGHT;
}
/* which of these the two operands and the result of a convolution are */
const int *tp_conv_roles(tp_op op);

/* A value's name in messages: its own, the script's variable (which is in no text), "grad of h";
 * all NULL: that of its operator. */
typedef struct tp_who {
  const char *name, *var, *what;
} tp_who;
static inline const char *tp_who_name(const tp_who *w) { return w->name ? w->name : w->var; }
/* 'h', grad of h, or: this add. */
const char *tp_who_label(const tp_who *w, tp_op op, char *buf, size_t size);
/* the type of a result */
typedef struct tp_out {
  tp_dtype dtype;
  int rank;
  tp_ixs shape;
} tp_out;

typedef enum { TP_RAND_UNIFORM, TP_RAND_NORMAL, TP_RAND_BERNOULLI, TP_RAND_RANDINT } tp_randkind;
typedef enum { TP_RED_SUM, TP_RED_PROD, TP_RED_MAX, TP_RED_MIN } tp_red;
enum { TP_NRED = TP_RED_MIN + 1 };
extern const char *const tp_red_words[TP_NRED];
static inline const char *tp_red_name(tp_red red) { return tp_red_words[red]; } /* "sum" */
/* one of the three things that environments do */
bool tp_op_is_env(tp_op op);
/* elementwise: may its result of 16-bit floats be no 16-bit float? Else it is one of its
 * operands */
bool tp_op_rounds(tp_op op);
tp_red tp_op_red(tp_op op);                     /* of a reduction */
tp_op tp_red_op(tp_red red);                    /* and back */
double tp_red_identity(tp_red red, tp_dtype d); /* the number that changes nothing */

/* How an operator works; unused fields are 0. */
#define A TP_FIELD_A
#define W TP_FIELD_W
#define L TP_FIELD_L
typedef struct tp_how {
#include "kern/how.def"
} tp_how;
#undef A
#undef W
#undef L
extern const tp_fields tp_how_fields;
int tp_words_per_draw(const tp_how *how, tp_dtype d); /* of an element that RAND draws */
tp_how tp_how_copy(tp_arena *a, const tp_how *h);

/* Calls that ticking adds to those of the program's callbacks, 0, 1, ..: the begin of a step, a
 * point of an input, a point of an output. KEEP never reaches a plan: it says that every value of a
 * parameter is wanted (opt/keep.c). */
enum { TP_FN_TICK = -1, TP_FN_FEED = -2, TP_FN_SHOW = -3, TP_FN_KEEP = -4 };

/* math.h, half.h, philox.h, scalar.h, fold.h, dot.h and native.h of the prelude, in this order,
 * with scalar.def in them: C99 (and C++) without includes, made by the Makefile. Before it come
 * TP_FN, TP_FMA, the types of stdint and the functions that prelude/math.h names. */
extern const char tp_prelude[];
/* the same but native.h, between dialect.h and the other files of kernels/gpu: all that stands
 * before kernels */
extern const char tp_prelude_gpu[];
/* export.h, which follows in code that stands alone (emit/export/export.c) */
extern const char tp_prelude_export[];
/* its files around that (emit/export/export_files.c) */
extern const char tp_prelude_agent[];
#endif
