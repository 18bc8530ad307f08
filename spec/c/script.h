/* A C test's way of writing programs: one program at a time, errors kept in `err`, values checked
 * where they are looked at. */
#ifndef TP_SCRIPT_H
#define TP_SCRIPT_H
#include "graph/graph.h"
#include "graph/methods/methods.h"
#define MK(e) ((tp_mk){ .g = g, .err = e })
#include "graph/run.h"
#include "ref/ref.h"
#include "check.h"
#include <math.h>
#include <stdlib.h>

typedef tp_sym *dim;
#define DOM(...) ((int)(sizeof((dim[]){ __VA_ARGS__ }) / sizeof(dim))), ((dim[]){ __VA_ARGS__ })
#define NODOM    0, NULL

static tp_ictx *ix;
static tp_graph *g;
static tp_error err;
static tp_run run;
static int64_t env[64];

static inline void program_new(void) {
  memset(&err, 0, sizeof err);
  memset(&run, 0, sizeof run);
  memset(env, 0, sizeof env);
  ix = tp_ictx_new();
  g = tp_graph_new(ix);
  run.env = env;
}

static inline dim dim_new(const char *name) {
  return tp_sym_dim(ix, name, NULL, (tp_pos){ 0 }, &err);
}
static inline tp_ix *I(dim d) { return tp_ix_sym(d); }
static inline tp_ix *K(int64_t v) { return tp_ix_const(ix, v); }
static inline tp_ix *plus(dim d, int64_t k) { return tp_ix_addc(I(d), k); }

/* An expression or condition from text. */
static inline tp_ix *X(const char *text) {
  tp_ix *e = tp_ix_parse(ix, &text, &err);
  CHECKF(e && !*text, "%s: %s", text, err.msg);
  return e;
}

static inline tp_val node(tp_op op, int nin, const tp_val *in, tp_attr a) {
  for (int k = 0; k < nin; k++)
    if (!in[k].node) return (tp_val){ NULL, 0 };
  return tp_v(tp_build(g, op, nin, in, &a, &err));
}
static inline tp_val named(tp_val v, const char *name) {
  if (v.node) v.node->name = name;
  return v;
}
static inline tp_val un(tp_op op, tp_val x, tp_attr a) { return node(op, 1, &x, a); }
static inline tp_val input(const char *name, tp_dtype d, int ndom, const dim *dom) {
  return node(TP_OP_INPUT, 0, NULL, (tp_attr){ .str = name, .dtype = d, .ndom = ndom, .dom = dom });
}
static inline tp_val declare(const char *name, tp_dtype d, int ndom, const dim *dom) {
  return named(node(TP_OP_MERGE, 0, NULL, (tp_attr){ .dtype = d, .ndom = ndom, .dom = dom }), name);
}
static inline void branch(tp_val m, const char *cond, tp_val e) {
  CHECKF(tp_merge_add(g, m.node, cond ? X(cond) : NULL, e, &err), "%s", err.msg);
}
static inline tp_val num(double v, tp_dtype d) { return mk_num(MK(&err), v, d); }
static inline tp_val add(tp_val a, tp_val b) { return mk_bin(MK(&err), TP_OP_ADD, a, b); }
static inline tp_val mul(tp_val a, tp_val b) { return mk_bin(MK(&err), TP_OP_MUL, a, b); }
static inline tp_val val(tp_ix *e) { return tp_ixvalue(g, e, &err); }
static inline tp_at pt(tp_ix *e) { return (tp_at){ false, e, NULL }; }
static inline tp_at rg(tp_ix *lo, tp_ix *hi) { return (tp_at){ true, lo, hi }; }
static inline tp_val at1(tp_val v, tp_at a) { return v.node ? tp_read(g, v, &a, &err) : v; }
static inline tp_val at2(tp_val v, tp_at a, tp_at b) {
  return v.node ? tp_read(g, v, (tp_at[]){ a, b }, &err) : v;
}
static inline tp_val sum0(tp_val v) {
  return mk_reduce(MK(&err), TP_OP_SUM, v, 1, (int[]){ 0 }, false);
}
/* The outputs of the last run go when the list of outputs changes. */
static inline void outputs_drop(void) {
  if (run.outputs) tp_run_free_outputs(g, &run);
}
static inline void output(const char *name, tp_val v) {
  outputs_drop();
  TP_PUSH(&g->arena, &g->outputs, (tp_output){ .name = name, .val = v });
}
/* From now on the only output, or none. */
static inline void only_output(tp_val v) {
  outputs_drop();
  g->outputs.n = 0;
  if (v.node) output("y", v);
}
static inline void set_bound(dim d, int64_t v) { env[d->bound ? d->bound->id : d->id] = v; }

/* Input i := an array of these numbers in the shape of its domain and type. */
static inline void give(int i, const double *v) {
  if (!run.inputs) run.inputs = calloc(16, sizeof *run.inputs);
  const tp_node *n = g->inputs.v[i];
  int64_t shape[TP_MAXRANK];
  int rank = tp_run_shape(&run, n->ndom, n->dom, &n->out[0], shape);
  tp_array *a = tp_array_new(n->out[0].dtype, rank, shape);
  for (int64_t k = 0; k < a->count; k++) tp_put(a->dtype, a->data, k, v[k]);
  tp_array_unref(((tp_array **)run.inputs)[i]);
  ((tp_array **)run.inputs)[i] = a;
}

/* Runs the reference evaluator; outputs stay in run.outputs until the next. */
static inline bool go(void) {
  outputs_drop();
  memset(&err, 0, sizeof err);
  return tp_run_alloc(g, &run, &err) && tp_ref_run(g, &run, &err);
}

static inline void program_free(void) {
  outputs_drop();
  for (int i = 0; run.inputs && i < g->inputs.n; i++) tp_array_unref(run.inputs[i]);
  free((void *)run.inputs);
  tp_graph_free(g);
  tp_ictx_free(ix);
}

static inline double out_at(int i, int64_t k) {
  return tp_get(run.outputs[i]->dtype, run.outputs[i]->data, k);
}

/* Output i holds exactly these n numbers (NaN equals NaN). */
static inline bool holds(int i, int64_t n, const double *want) {
  bool ok = run.outputs && run.outputs[i] && run.outputs[i]->count == n;
  for (int64_t k = 0; ok && k < n; k++)
    ok = out_at(i, k) == want[k] || (isnan(out_at(i, k)) && isnan(want[k]));
  for (int64_t k = 0; !ok && run.outputs && run.outputs[i] && k < run.outputs[i]->count && k < 20;
       k++)
    fprintf(stderr, " %g", out_at(i, k));
  return ok;
}
#define HOLDS(i, ...) \
  CHECKF(holds(i, sizeof((double[]){ __VA_ARGS__ }) / sizeof(double), (double[]){ __VA_ARGS__ }), \
      "output %d; %s", i, err.msg)
#define EMPTY(i) CHECKF(holds(i, 0, NULL), "output %d; %s", i, err.msg)

/* The error is of this class and says this. */
static inline bool failed(tp_code code, const char *text) {
  bool ok = err.code == code && strstr(err.msg, text);
  if (!ok)
    fprintf(stderr, "wanted %s ... %s, got %s\n%s\n", tp_code_word(code), text,
        err.code ? err.msg : "no error", err.notes);
  return ok;
}
#endif
