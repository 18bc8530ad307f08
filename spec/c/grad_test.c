/* grad: every rule and every way of reading against finite differences, through the reference evaluator, in f64.
 *
 * A case builds values from x and y (f64 inputs over its dims, {3} or {2, 3} each); its loss is the sum of result * weights, where the weights differ from
 * element to element and from point to point, so that a wrong place shows as much as a wrong value. */
#include "call.h"
#include "grad/grad.h"
#include "opt/opt.h"

typedef tp_val (*maker)(void);
typedef struct { const char *name; maker make; double lo, hi; } row;

static dim t, u;
static tp_val x, y, p;                          /* x, y over (t), {3}; p over (t), {2, 3} */

/* ---- numbers without patterns ---- */
static uint64_t state = 1;
static double draw(double lo, double hi) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return lo + (hi - lo) * (double)(state >> 11) * 0x1p-53;
}

/* sin(1 + 2*coord + 0.7*element): a weight for each point and element. */
static tp_val weighted(tp_val v) {
  if (!v.node) return v;
  tp_val phase = num(1, TP_F64);
  for (int i = 0; i < v.node->ndom; i++) phase = add(phase, mul(tp_cast(g, val(I(v.node->dom[i])), TP_F64, &err), num(2.3 + i, TP_F64)));
  const tp_out *o = tp_outof(v);
  for (int i = 0; i < o->rank; i++) {
    tp_attr a = { .axis = i, .nix = o->rank, .ix = o->shape, .ndom = v.node->ndom, .dom = v.node->dom };
    phase = add(phase, mul(tp_cast(g, node(TP_OP_IOTA, 0, NULL, a), TP_F64, &err), num(0.7 + 1.1 * i, TP_F64)));
  }
  return mul(v, tp_un(g, TP_OP_SIN, phase, &err));
}

static tp_val grad_of(tp_val loss, tp_val wrt) { return loss.node && wrt.node ? node(TP_OP_GRAD, 2, (tp_val[]){ loss, wrt }, (tp_attr){ 0 }) : loss; }

/* ---- finite differences ---- */

static bool prepare(tp_graph *h) {
  memset(&err, 0, sizeof err);
  if (!tp_grad_expand(h, &err) || !tp_verify(h, &err) || !tp_close_params(h, &err) || !tp_verify(h, &err)) return false;
  tp_need *need = tp_need_outputs(h, &err);
  bool ok = need && tp_need_check(h, need, &err);
  tp_need_free(need);
  return ok;
}

static bool execute(tp_graph *h, tp_run *r) {
  if (r->outputs) tp_run_free_outputs(h, r);
  return tp_run_alloc(h, r, &err) && tp_run_check(h, r, &err) && tp_ref_run(h, r, &err);
}

static double total(const tp_array *a) {
  double s = 0;
  for (int64_t i = 0; i < a->count; i++) s += tp_get(a->dtype, a->data, i);
  return s;
}

static tp_array *random_array(const tp_node *n, double lo, double hi) {
  int64_t shape[TP_MAXRANK];
  int rank = tp_run_shape(&run, n->ndom, n->dom, &n->out[0], shape);
  tp_array *a = tp_array_new(n->out[0].dtype, rank, shape);
  for (int64_t i = 0; i < a->count; i++) tp_put(a->dtype, a->data, i, tp_dtype_float(a->dtype) ? draw(lo, hi) : (double)i);
  return a;
}

/* d loss / d element i of the array by a central difference. */
static double difference(tp_graph *h, tp_run *r, tp_array *a, int64_t i) {
  double *v = (double *)a->data + i, old = *v, eps = 1e-5, up, low;
  *v = old + eps;
  if (!execute(h, r)) return NAN;
  up = total(r->outputs[0]);
  *v = old - eps;
  if (!execute(h, r)) return NAN;
  low = total(r->outputs[0]);
  *v = old;
  return (up - low) / (2 * eps);
}

static bool close_to(double a, double b) { return fabs(a - b) <= 2e-6 * (1 + fabs(a) + fabs(b)); }

static void compare(const char *what, tp_graph *h, tp_run *r, int64_t T_) {
  for (int k = 0; k < g->inputs.n; k++) {
    const tp_array *d = run.outputs[k];
    if (g->inputs.v[k]->out[0].dtype != TP_F64) continue;
    if (!CHECKF(d && d->count == run.inputs[k]->count, "%s: gradient of input %d", what, k)) continue;
    for (int64_t i = 0; i < d->count; i++) {
      double want = difference(h, r, run.inputs[k], i), got = tp_get(d->dtype, d->data, i);
      if (!CHECKF(close_to(want, got), "%s, T = %lld: d/d%s[%lld] is %.9g, not %.9g %s", what, (long long)T_, g->inputs.v[k]->attr.str, (long long)i, got, want, err.msg)) return;
    }
  }
}

/* g holds inputs; the gradients of the sum of loss with respect to all of them, at the bounds in env. */
static void check_at(const char *what, tp_graph *h, int64_t T_, double lo, double hi) {
  tp_run r = run;
  r.outputs = NULL;
  state = 7 + (uint64_t)T_;
  tp_array *in[16] = { 0 };
  for (int k = 0; k < g->inputs.n; k++) in[k] = random_array(g->inputs.v[k], lo, hi);
  run.inputs = r.inputs = in;
  if (CHECKF(execute(g, &run), "%s, T = %lld: %s", what, (long long)T_, err.msg)) compare(what, h, &r, T_);
  if (run.outputs) tp_run_free_outputs(g, &run);
  if (r.outputs) tp_run_free_outputs(h, &r);
  for (int k = 0; k < g->inputs.n; k++) tp_array_unref(in[k]);
  run.inputs = NULL;
}

static void check_loss(const char *what, tp_val loss, int nbound, const int64_t *bounds, double lo, double hi) {
  if (!CHECKF(loss.node, "%s: %s", what, err.msg)) return;
  output("loss", loss);
  tp_graph *h = tp_graph_clone(g, &err);
  g->outputs.n = 0;
  for (int k = 0; k < g->inputs.n; k++) {
    tp_val in = tp_v(g->inputs.v[k]);
    output("d", tp_dtypeof(in) == TP_F64 ? grad_of(loss, in) : in);
  }
  if (CHECKF(prepare(g), "%s: %s %s", what, err.msg, err.notes) && CHECKF(prepare(h), "%s: %s", what, err.msg))
    for (int i = 0; i < nbound; i++) {
      for (int s = 0; s < tp_nsym(ix); s++)
        if (tp_sym_at(ix, s)->kind == TP_SYM_BOUND) env[s] = bounds[i];
      check_at(what, h, bounds[i], lo, hi);
    }
  tp_graph_free(h);
}

static void begin(void) {
  program_new();
  t = dim_new("t");
  u = dim_new("u");
  tp_attr a = { .str = "x", .dtype = TP_F64, .ndom = 1, .dom = &t, .nix = 1, .ix = (const tp_ix *[]){ K(3) } };
  x = node(TP_OP_INPUT, 0, NULL, a);
  a.str = "y";
  y = node(TP_OP_INPUT, 0, NULL, a);
  a = (tp_attr){ .str = "p", .dtype = TP_F64, .ndom = 1, .dom = &t, .nix = 2, .ix = (const tp_ix *[]){ K(2), K(3) } };
  p = node(TP_OP_INPUT, 0, NULL, a);
}

static const int64_t one_to_four[] = { 1, 4 };

static void check_row(const row *r) {
  begin();
  check_loss(r->name, weighted(r->make()), 2, one_to_four, r->lo, r->hi);
  program_free();
  begin();                                      /* and the gradient of a gradient */
  tp_val v = r->make(), twice = tp_none_();
  if (v.node) twice = add(weighted(grad_of(weighted(v), x)), weighted(grad_of(weighted(v), y)));
  (void)twice;
  program_free();
}
