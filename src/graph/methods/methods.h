/* methods: all that a script may call on tensors, primitive or composed. The binding, the docs and
 * the annotations come from the rows of methods.def:
 *   M(name, kinds, signature, body, shape, dtype, grad, ulp, "one line for the docs")
 *   kinds      m: method of tensors and function on tempo; f: function on tempo only; c: creation
 *              (on tempo, loose until it meets a program); p: for bodies in Lua only
 *   signature  "x:T axis:A? | keepdim:B": positional arguments, then options. ? may be left out.
 *              T tensor (numbers, index expressions, conditions and host arrays are lifted); U the
 *              same, but where another U is no number, a number has no val; C the same as T, but
 *              no Lua boolean; J the same of indices: a table of integers is i64; R T, but a
 *              table has the dtype of the first argument
 *              I integer; F number; B boolean; N string; D dtype; O domain
 *              X integer, index expression or i64 scalar tensor
 *              S extents: one or a sequence of integers and index expressions, also -1
 *              A axis or table of axes; W the same, a word ("same") or any other number
 *              E size or table of sizes, which may be negative or index expressions
 *              L table of tensors; V all remaining arguments are tensors
 *   body       the function METHOD(body) of methods_*.c; lua: the function of the row's name in
 *              lua/tempo/methods.lua, which gets the converted arguments in order
 *   shape, dtype of the result, for the docs. reduced: without the axes, 1 with keepdim; promoted:
 *              by docs/language.md, section 4, bool as i64; float: integers become f32; sums: bool,
 *              u8 and i32 become i64
 *   grad       D differentiable; N not
 *   ulp        how far a number may be from the exact one, in units of its last place (of the
 *              largest term's for sums); 0: equal */
#ifndef TP_METHODS_H
#define TP_METHODS_H
#include "graph/mk.h"

typedef struct tp_arg {
  /* 0: absent; as in the signature (W: 'A', 'N' or 'F'; X: 'I', 'X' or 'T') */
  char kind;
  tp_val val; /* T */
  /* T made of a number or index expression, which takes the other operand's dtype; num: its value,
   * or near it */
  bool weak;
  double num;
  bool isnum; /* num is exact */
  /* weak: condition and sides of a tempo.where of weak values, whose value without a neighbour is
   * val. NULL: none */
  const struct tp_arg *where;
  int64_t i;
  double f;
  bool b;
  const char *s;
  tp_ix *ix;
  int n;
  tp_ixs ixs;         /* S; A: constants */
  const tp_val *vals; /* L, V */
  tp_dtype dtype;
  tp_dims dom; /* O: n of them */
} tp_arg;

#define TP_MAXARG 16
typedef struct {
  int n;
  tp_val *v;
} tp_vals;
/* a[i] is the i-th entry of the signature (options included). */
typedef bool tp_method_fn(tp_mk k, const tp_arg *a, tp_vals *out);
/* the body of rows that lua/tempo/methods.lua has; it gives an error */
tp_method_fn tp_m_lua;
typedef struct tp_method {
  const char *name, *kinds, *sig;
  tp_method_fn *fn;
  const char *shape, *doc;
} tp_method;
extern const tp_method tp_methods[];
extern const int tp_nmethods;
const tp_method *tp_method_find(const char *name);
typedef struct {
  char name[24];
  char type;
  bool optional, option;
} tp_sigarg;
int tp_sig_parse(const char *sig, tp_sigarg out[TP_MAXARG]); /* number of entries */
/* an axis of `rank`, counted from 0; negative ones from the end */
bool tp_axis_of(tp_mk k, int rank, int64_t axis, int *out);

/* ---- weak values ---- */
/* the dtype that w takes beside an operand of dtype d */
tp_dtype tp_weak_beside(const tp_arg *w, tp_dtype d);
tp_val tp_weak_as(tp_mk k, const tp_arg *w, tp_dtype d);
/* a number *v in w that d does not hold: the words that say why; NULL: none */
const char *tp_weak_refused(const tp_arg *w, tp_dtype d, double *v);
#endif
