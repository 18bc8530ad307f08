/* Calling rows of methods.def from a C test: CALL("sum", T(x), AXIS(0), OPT) with arguments in the
 * order of the signature, options included; NONE leaves one out. */
#ifndef TP_CALL_H
#define TP_CALL_H
#include "script.h"

#define NONE ((tp_arg){ 0 })
#define CALL(name, ...) \
  call_(name, 0, sizeof((tp_arg[]){ __VA_ARGS__ }) / sizeof(tp_arg), (tp_arg[]){ __VA_ARGS__ })
#define SHAPE(...) \
  shape_(sizeof((tp_ix *[]){ __VA_ARGS__ }) / sizeof(tp_ix *), (tp_ix *[]){ __VA_ARGS__ })
#define AXES(...) axes_(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), (int[]){ __VA_ARGS__ })

static inline tp_arg T(tp_val v) { return (tp_arg){ .kind = 'T', .val = v }; }
static inline tp_arg INT(int64_t i) { return (tp_arg){ .kind = 'I', .i = i, .f = (double)i }; }
static inline tp_arg IX(tp_ix *e) { return (tp_arg){ .kind = 'X', .ix = e }; }
static inline tp_arg FLT(double f) { return (tp_arg){ .kind = 'F', .f = f }; }
static inline tp_arg BOOL(bool b) { return (tp_arg){ .kind = 'B', .b = b }; }
static inline tp_arg STR(const char *s) { return (tp_arg){ .kind = 'N', .s = s }; }
static inline tp_arg DTYPE(tp_dtype d) { return (tp_arg){ .kind = 'D', .dtype = d }; }
static inline tp_arg DOMAIN_(int n, const dim *d) {
  return (tp_arg){ .kind = 'O', .n = n, .dom = d };
}
/* A plain number, weak as the binding makes it. */
static inline tp_arg NUM(double v) {
  return (tp_arg){ .kind = 'T',
    .weak = true,
    .isnum = true,
    .num = v,
    .val = num(v, v == floor(v) && !isinf(v) ? TP_I64 : TP_F32) };
}
static inline tp_arg shape_(int n, tp_ixs e) {
  return (tp_arg){ .kind = 'S', .n = n, .ixs = tp_dup(&g->arena, e, sizeof *e * (size_t)n) };
}
static inline tp_arg SCALAR(void) { return (tp_arg){ .kind = 'S' }; }
static inline tp_arg axes_(int n, const int *v) {
  tp_ix **e = TP_NEWN(&g->arena, tp_ix *, n + 1);
  for (int i = 0; i < n; i++) e[i] = K(v[i]);
  return (tp_arg){ .kind = 'A', .n = n, .ixs = e };
}
static inline tp_arg LIST(int n, const tp_val *v) {
  return (tp_arg){ .kind = 'L', .n = n, .vals = tp_dup(&g->arena, v, sizeof *v * (size_t)n) };
}

static int nresults;
static tp_val results[64];
/* The first result ({NULL} and err on an error); all of them in results. */
static inline tp_val call_(const char *name, int which, int n, const tp_arg *given) {
  const tp_method *m = tp_method_find(name);
  tp_arg a[TP_MAXARG] = { 0 };
  tp_vals out = { 0 };
  if (!CHECKF(m && n <= TP_MAXARG, "no method %s", name)) return (tp_val){ 0 };
  for (int i = 0; i < n; i++) {
    a[i] = given[i];
    if (a[i].kind == 'T' && !a[i].val.node) return (tp_val){ 0 };
  }
  tp_sigarg sig[TP_MAXARG];
  int nsig = tp_sig_parse(m->sig, sig);
  for (int i = 0; m->kinds[0] == 'c' && i < nsig; i++) /* as a program of f32 gives it */
    if (sig[i].type == 'D' && !a[i].kind && strncmp(name, "rand", 4) != 0) a[i] = DTYPE(TP_F32);
  if (!m->fn((tp_mk){ g, &err, name, name }, a, &out)) return (tp_val){ 0 };
  nresults = out.n;
  memcpy(results, out.v, sizeof *out.v * (size_t)TP_MIN(out.n, 64));
  return out.v[which];
}
#endif
