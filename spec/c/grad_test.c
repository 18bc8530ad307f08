/* grad: every rule and every way of reading against finite differences, through the reference
 * evaluator, in f64.
 *
 * A case builds values from x and y (f64 inputs over its dims, {3} or {2, 3} each); its loss is the
 * sum of result * weights, where the weights differ from element to element and from point to
 * point, so that a wrong place shows as much as a wrong value. */
#include "call.h"
#include "grad/rules.h"
#include "opt/opt.h"

typedef tp_val (*maker)(void);
typedef struct {
  const char *name;
  maker make;
  double lo, hi;
} row;

static dim t, u;
static tp_val x, y, p; /* x, y over (t), {3}; p over (t), {2, 3} */

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
  for (int i = 0; i < v.node->ndom; i++)
    phase =
        add(phase, mul(mk_cast(MK(&err), val(I(v.node->dom[i])), TP_F64), num(2.3 + i, TP_F64)));
  const tp_out *o = tp_outof(v);
  for (int i = 0; i < o->rank; i++) {
    tp_attr a = {
      .axis = i, .nix = o->rank, .ix = o->shape, .ndom = v.node->ndom, .dom = v.node->dom
    };
    phase = add(phase,
        mul(mk_cast(MK(&err), node(TP_OP_IOTA, 0, NULL, a), TP_F64), num(0.7 + 1.1 * i, TP_F64)));
  }
  return mul(v, mk_un(MK(&err), TP_OP_SIN, phase));
}

static tp_val grad_of(tp_val loss, tp_val wrt) {
  return loss.node && wrt.node ? node(TP_OP_GRAD, 2, (tp_val[]){ loss, wrt }, (tp_attr){ 0 })
                               : loss;
}

/* ---- finite differences ---- */

static bool prepare(tp_graph *h) {
  memset(&err, 0, sizeof err);
  if (!tp_grad_expand(h, &err) || !tp_verify(h, &err) ||
      !tp_pass_params(&(tp_work){ .g = h }, &err) || !tp_verify(h, &err))
    return false;
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
  for (int64_t i = 0; i < a->count; i++)
    tp_put(a->dtype, a->data, i, tp_dtype_float(a->dtype) ? draw(lo, hi) : (double)i);
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
    if (!CHECKF(d && d->count == run.inputs[k]->count, "%s: gradient of input %d", what, k))
      continue;
    for (int64_t i = 0; i < d->count; i++) {
      double want = difference(h, r, run.inputs[k], i), got = tp_get(d->dtype, d->data, i);
      if (!CHECKF(close_to(want, got), "%s, T = %lld: d/d%s[%lld] is %.9g, not %.9g %s", what,
              (long long)T_, g->inputs.v[k]->attr.str, (long long)i, got, want, err.msg))
        return;
    }
  }
}

/* g holds inputs; the gradients of the sum of loss with respect to all of them, at the bounds in
 * env. */
static void check_at(const char *what, tp_graph *h, int64_t T_, double lo, double hi) {
  tp_run r = run;
  r.outputs = NULL;
  state = 7 + (uint64_t)T_;
  tp_array *in[16] = { 0 };
  for (int k = 0; k < g->inputs.n; k++) in[k] = random_array(g->inputs.v[k], lo, hi);
  run.inputs = r.inputs = in;
  if (CHECKF(execute(g, &run), "%s, T = %lld: %s", what, (long long)T_, err.msg))
    compare(what, h, &r, T_);
  if (run.outputs) tp_run_free_outputs(g, &run);
  if (r.outputs) tp_run_free_outputs(h, &r);
  for (int k = 0; k < g->inputs.n; k++) tp_array_unref(in[k]);
  run.inputs = NULL;
}

static void check_loss(
    const char *what, tp_val loss, int nbound, const int64_t *bounds, double lo, double hi) {
  if (!CHECKF(loss.node != NULL, "%s: %s", what, err.msg)) return;
  output("loss", loss);
  tp_graph *h = tp_graph_clone(g, &err);
  g->outputs.n = 0;
  for (int k = 0; k < g->inputs.n; k++) {
    tp_val in = tp_v(g->inputs.v[k]);
    output("d", tp_dtypeof(in) == TP_F64 ? grad_of(loss, in) : in);
  }
  if (CHECKF(prepare(g), "%s: %s %s", what, err.msg, err.notes) &&
      CHECKF(prepare(h), "%s: %s", what, err.msg))
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
  tp_attr a = {
    .str = "x", .dtype = TP_F64, .ndom = 1, .dom = &t, .nix = 1, .ix = (tp_ix *[]){ K(3) }
  };
  x = node(TP_OP_INPUT, 0, NULL, a);
  a.str = "y";
  y = node(TP_OP_INPUT, 0, NULL, a);
  a = (tp_attr){
    .str = "p", .dtype = TP_F64, .ndom = 1, .dom = &t, .nix = 2, .ix = (tp_ix *[]){ K(2), K(3) }
  };
  p = node(TP_OP_INPUT, 0, NULL, a);
}

static const int64_t one_to_four[] = { 1, 4 };

static void check_row(const row *r) {
  begin();
  check_loss(r->name, weighted(r->make()), 2, one_to_four, r->lo, r->hi);
  program_free();
  begin(); /* and the gradient of the gradients */
  tp_val loss = weighted(r->make()), dp = weighted(sum0(grad_of(loss, p)));
  tp_val twice = add(add(weighted(grad_of(loss, x)), weighted(grad_of(loss, y))), dp);
  char name[64];
  snprintf(name, sizeof name, "%s twice", r->name);
  check_loss(name, twice, 2, one_to_four, r->lo, r->hi);
  program_free();
}

/* ---- every operator ---- */

#define CASE(name, ...) \
  static tp_val c_##name(void) { return __VA_ARGS__; }
#define UNARY(name)  CASE(name, CALL(#name, T(x)))
#define BINARY(name) CASE(name, CALL(#name, T(x), T(y)))
/* clang-format off */
UNARY(neg) UNARY(abs) UNARY(exp) UNARY(expm1) UNARY(log) UNARY(log1p) UNARY(sqrt)
UNARY(rsqrt) UNARY(sin) UNARY(cos) UNARY(tan) UNARY(tanh)
UNARY(sigmoid) UNARY(erf) 
UNARY(sum) UNARY(prod) UNARY(mean) UNARY(max)
UNARY(min) UNARY(cumsum) UNARY(cumprod)
UNARY(flip) BINARY(add) BINARY(sub) BINARY(mul) BINARY(div)
BINARY(pow) BINARY(mod) BINARY(minimum) BINARY(maximum)

    /* clang-format on */

    static tp_val ints(int n, const int64_t *v) {
  tp_array *a = tp_array_new(TP_I64, 1, (int64_t[]){ n });
  memcpy(a->data, v, sizeof *v * (size_t)n);
  tp_val c = node(TP_OP_CONST, 0, NULL, (tp_attr){ .data = a, .dtype = TP_I64 });
  tp_array_unref(a);
  return c;
}
#define INTS(...) \
  ints(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), (int64_t[]){ __VA_ARGS__ })
static tp_val matrix(int r, int c, const int64_t *v) {
  return CALL("reshape", T(ints(r * c, v)), SHAPE(K(r), K(c)));
}
#define MATRIX(r, c, ...) matrix(r, c, (int64_t[]){ __VA_ARGS__ })

CASE(cast, CALL("to", T(mul(CALL("to", T(x), DTYPE(TP_F64)), x)), DTYPE(TP_F64)))
CASE(select, CALL("where", T(CALL("lt", T(x), T(y))), T(mul(x, x)), T(mul(y, x))))
CASE(broadcast, mul(CALL("unsqueeze", T(x), INT(1)), add(y, CALL("sum", T(y), NONE, BOOL(true)))))
CASE(pow_number, CALL("pow", T(x), NUM(3)))
CASE(pow_of_number, CALL("pow", NUM(2), T(x)))
CASE(sum_axis, CALL("sum", T(p), AXES(0)))
CASE(prod_axis, CALL("prod", T(p), AXES(0), BOOL(true)))
CASE(prod_all, CALL("prod", T(p)))
CASE(max_axis, CALL("max", T(p), AXES(1)))
CASE(min_all, CALL("min", T(p)))
CASE(discounted, CALL("discounted_cumsum", T(p), FLT(0.9), AXES(1)))
CASE(cumprod_axis, CALL("cumprod", T(p), AXES(0)))
CASE(matvec, CALL("matmul", T(p), T(x)))
CASE(reshape, CALL("reshape", T(mul(p, p)), SHAPE(K(3), K(-1))))
CASE(permute, mul(CALL("permute", T(p), AXES(1, 0)), CALL("reshape", T(p), SHAPE(K(3), K(2)))))
CASE(expand, CALL("expand", T(mul(x, y)), SHAPE(K(4), K(3))))
CASE(slice, CALL("part", T(mul(p, p)), INT(1), INT(1), INT(2)))
CASE(slice_step, CALL("part", T(mul(p, p)), INT(1), INT(0), INT(2), INT(2)))
CASE(pad, CALL("pad_axis", T(mul(p, p)), INT(1), INT(1), INT(2), FLT(0.5)))
CASE(cat,
    CALL("concat", LIST(3, ((tp_val[]){ p, mul(p, p), CALL("unsqueeze", T(x), INT(0)) })), INT(0)))
CASE(index_select, CALL("index_select", T(mul(p, p)), INT(1), T(INTS(2, 0, 2, 2))))
CASE(index_scalar, CALL("index_select", T(mul(p, p)), INT(1), T(num(1, TP_I64))))
CASE(gather, CALL("gather", T(mul(p, p)), INT(1), T(MATRIX(2, 2, 0, 2, 1, 1))))
CASE(scatter_add,
    CALL("scatter_add", T(mul(p, p)), INT(1), T(MATRIX(1, 2, 2, 2)),
        T(mul(x, CALL("unsqueeze", T(y), INT(0))))))
CASE(sort, CALL("sort", T(mul(p, p)), INT(1), BOOL(true)))
CASE(max_twice, mul(CALL("max", T(p), AXES(1)), CALL("max", T(mul(p, p)), AXES(1))))
CASE(six,
    add(add(mul(x, y), CALL("sin", T(x))),
        mul(add(x, x), mul(CALL("sum", T(x)), CALL("exp", T(x))))))
CASE(detached, mul(x, CALL("detach", T(num(2, TP_F64)))))

#define R(name) \
  { #name, c_##name, 0.2, 0.95 }
#define S(name) \
  { #name, c_##name, -1.5, 1.5 }
static const row operators[] = {
  S(neg),
  S(abs),
  S(exp),
  S(expm1),
  R(log),
  R(log1p),
  R(sqrt),
  R(rsqrt),
  S(sin),
  S(cos),
  R(tan),
  S(tanh),
  S(sigmoid),
  S(erf),
  S(sum),
  S(prod),
  S(mean),
  S(max),
  S(min),
  S(cumsum),
  S(cumprod),
  S(flip),
  S(add),
  S(sub),
  S(mul),
  R(div),
  R(pow),
  R(mod),
  S(minimum),
  S(maximum),
  S(cast),
  S(select),
  S(broadcast),
  S(pow_number),
  S(pow_of_number),
  S(sum_axis),
  S(prod_axis),
  S(prod_all),
  S(max_axis),
  S(min_all),
  S(discounted),
  S(cumprod_axis),
  S(matvec),
  S(reshape),
  S(permute),
  S(expand),
  S(slice),
  S(slice_step),
  S(pad),
  S(cat),
  S(index_select),
  S(index_scalar),
  S(gather),
  S(scatter_add),
  S(sort),
  S(max_twice),
  S(six),
  S(detached),
};

/* ---- every way of reading: docs/language.md, section 2 ---- */

/* f(softmax(x[at])) * weights where a range has its own axis: the position in the range matters. */
static tp_val soft(tp_val r) {
  tp_val top = CALL("detach", T(CALL("max", T(r), AXES(0), BOOL(true)))),
         e = CALL("exp", T(CALL("sub", T(r), T(top))));
  return mul(CALL("div", T(e), T(CALL("sum", T(e), AXES(0), BOOL(true)))), r);
}
static tp_val log_sum_exp(tp_val r) { return CALL("log", T(sum0(CALL("exp", T(r))))); }
static tp_val square(tp_val r) { return mul(r, r); }

static const char *const points[] = {
  "t//2",
  "min(t + 1, T - 1)",
  "max(t - 2, 0)",
  "T - 1 - t",
  "0",
  "T - 1",
  "t%2",
  "min(t + 10, T - 1)",
  "(t + 1)//2",
};
static const struct {
  const char *lo, *hi;
} ranges[] = {
  { "0", "t + 1" },
  { "t", "T" },
  { "max(0, t - 2)", "t + 1" },
  { "max(0, t - 1)", "min(T, t + 2)" },
  { "0", "T" },
  { "t//2", "t + 1" },
  { "0", "t" },
  { "min(t + 1, T)", "T" },
};

static const int64_t sizes[] = { 1, 2, 5 };

static void test_points(void) {
  for (size_t i = 0; i < TP_LEN(points); i++)
    for (int second = 0; second < 2; second++) {
      begin();
      tp_val r = square(at1(mul(x, y), pt(X(points[i])))), loss = weighted(mul(r, x));
      if (second) loss = add(weighted(grad_of(loss, x)), weighted(grad_of(loss, y)));
      check_loss(points[i], loss, 3, sizes, -1, 1);
      program_free();
    }
}

static void test_ranges(void) {
  for (size_t i = 0; i < TP_LEN(ranges); i++)
    for (int second = 0; second < 2; second++) {
      begin();
      tp_val r = soft(at1(mul(x, y), rg(X(ranges[i].lo), X(ranges[i].hi)))),
             loss = weighted(r.node ? mul(r, x) : r);
      if (second) loss = add(weighted(grad_of(loss, x)), weighted(grad_of(loss, y)));
      char name[64];
      snprintf(name, sizeof name, "%s .. %s%s", ranges[i].lo, ranges[i].hi, second ? " twice" : "");
      check_loss(name, loss, 3, sizes, -1, 1);
      program_free();
    }
}

/* y[u] takes of a range of t what a condition on both picks; bounds of T and U are equal. */
static void test_picked(void) {
  static const char *const conds[] = { "(t + u)%2 == 0", "t >= 1", "t >= 1 and t + u <= 5",
    "u >= 2" };
  for (size_t i = 0; i < TP_LEN(conds); i++)
    for (int second = 0; second < 2; second++) {
      begin();
      tp_attr a = { .dtype = TP_F64,
        .ndom = 1,
        .dom = &u,
        .nix = 1,
        .ix = (tp_ix *[]){ K(3) },
        .red = TP_RED_SUM };
      tp_val s = node(TP_OP_ACCUM, 0, NULL, a);
      tp_at from = rg(X("max(0, u - 2)"), X("min(u + 2, T)"));
      tp_edge e = { .src = square(mul(x, y)), .at = &from, .cond = X(conds[i]), .gather = true };
      CHECKF(s.node && tp_accum_add(g, s.node, e, &err), "%s: %s", conds[i], err.msg);
      tp_val loss = weighted(square(s));
      if (second) loss = add(weighted(grad_of(loss, x)), weighted(grad_of(loss, y)));
      check_loss(conds[i], loss, 3, sizes, -1, 1);
      program_free();
    }
}

/* x[t - 1] where a branch needs it at t >= 1 only: the gradient must not look at t = 0. */
static void test_branches(void) {
  for (int second = 0; second < 2; second++) {
    begin();
    tp_attr a = { .dtype = TP_F64, .ndom = 1, .dom = &t, .nix = 1, .ix = (tp_ix *[]){ K(3) } };
    tp_val h = named(node(TP_OP_MERGE, 0, NULL, a), "h"),
           z = CALL("exp", T(mul(at1(mul(x, y), pt(plus(t, -1))), num(0.5, TP_F64))));
    branch(h, "t == 0", square(at1(y, pt(K(0)))));
    branch(h, "t == T - 1", CALL("sin", T(x)));
    branch(h, NULL, mul(z, x));
    tp_val loss = weighted(square(h));
    if (second) loss = add(weighted(grad_of(loss, x)), weighted(grad_of(loss, y)));
    check_loss(second ? "branches twice" : "branches", loss, 3, sizes, -1, 1);
    program_free();
  }
}

static tp_val recurrence(void) {
  tp_attr a = { .dtype = TP_F64, .ndom = 1, .dom = &t, .nix = 1, .ix = (tp_ix *[]){ K(3) } };
  tp_val h = named(node(TP_OP_MERGE, 0, NULL, a), "h"),
         w = mul(mul(CALL("unsqueeze", T(at1(y, pt(K(0)))), INT(1)), at1(x, pt(K(0)))),
             num(0.3, TP_F64));
  branch(h, "t == 0", at1(y, pt(K(0))));
  branch(h, NULL, CALL("tanh", T(add(CALL("matmul", T(w), T(at1(h, pt(plus(t, -1))))), x))));
  return h;
}

/* Backpropagation through time: the loss at every point, at the last alone, over a window of h. */
static void test_recurrences(void) {
  for (int kind = 0; kind < 3; kind++)
    for (int second = 0; second < 2; second++) {
      begin();
      tp_val h = recurrence(),
             v = kind == 0 ? h
          : kind == 1      ? at1(h, pt(X("T - 1")))
                           : soft(at1(h, rg(X("max(0, t - 2)"), X("t + 1"))));
      tp_val loss = weighted(v);
      if (second) loss = add(weighted(grad_of(loss, x)), weighted(grad_of(loss, y)));
      char name[32];
      snprintf(name, sizeof name, "recurrence %d%s", kind, second ? " twice" : "");
      check_loss(name, loss, 3, sizes, -1, 1);
      program_free();
    }
}

/* A second order recurrence, and one that runs backwards and reads the first. */
static void test_two_recurrences(void) {
  begin();
  tp_attr a = { .dtype = TP_F64, .ndom = 1, .dom = &t, .nix = 1, .ix = (tp_ix *[]){ K(3) } };
  tp_val f = named(node(TP_OP_MERGE, 0, NULL, a), "f"),
         b = named(node(TP_OP_MERGE, 0, NULL, a), "b");
  branch(f, "t <= 1", x);
  branch(f, NULL, CALL("sin", T(add(mul(at1(f, pt(plus(t, -1))), y), at1(f, pt(plus(t, -2)))))));
  branch(b, "t == T - 1", f);
  branch(b, NULL, add(mul(at1(b, pt(plus(t, 1))), f), y));
  check_loss("two recurrences", weighted(mul(b, at1(f, pt(X("t//2"))))), 3, sizes, -1, 1);
  program_free();
}

/* One tensor read in six ways at once. */
static void test_six_readers(void) {
  begin();
  tp_val z = mul(x, y), s = z;
  s = add(s, at1(z, pt(X("t//2"))));
  s = mul(s, at1(z, pt(K(0))));
  s = add(s, sum0(soft(at1(z, rg(K(0), plus(t, 1))))));
  s = add(s, CALL("max", T(at1(z, rg(I(t), X("T")))), AXES(0)));
  s = mul(s, CALL("mean", T(at1(z, rg(K(0), X("T")))), AXES(0)));
  s = add(s, log_sum_exp(at1(z, rg(X("max(0, t - 2)"), plus(t, 1)))));
  check_loss("six readers", weighted(s), 3, sizes, -1, 1);
  program_free();
}

/* ---- two dims ---- */

static tp_val both; /* over (t, u), {2} */

static void begin_two(void) {
  begin();
  g->inputs.n = 0;
  g->nodes.n = 0;
  tp_attr a = { .str = "both",
    .dtype = TP_F64,
    .ndom = 2,
    .dom = (dim[]){ t, u },
    .nix = 1,
    .ix = (tp_ix *[]){ K(2) } };
  both = node(TP_OP_INPUT, 0, NULL, a);
  a = (tp_attr){
    .str = "x", .dtype = TP_F64, .ndom = 1, .dom = &t, .nix = 1, .ix = (tp_ix *[]){ K(2) }
  };
  x = node(TP_OP_INPUT, 0, NULL, a);
}

static tp_val grid(void) {
  tp_attr a = {
    .dtype = TP_F64, .ndom = 2, .dom = (dim[]){ t, u }, .nix = 1, .ix = (tp_ix *[]){ K(2) }
  };
  tp_val d = named(node(TP_OP_MERGE, 0, NULL, a), "d");
  branch(d, "t == 0", both);
  branch(d, "u == 0", mul(both, x));
  tp_val v[3] = { at2(d, pt(plus(t, -1)), pt(I(u))), at2(d, pt(I(t)), pt(plus(u, -1))),
    mul(at2(d, pt(plus(t, -1)), pt(plus(u, -1))), both) };
  for (int i = 0; i < 3; i++) v[i] = CALL("unsqueeze", T(v[i]), INT(0));
  branch(d, NULL, log_sum_exp(CALL("concat", LIST(3, v), INT(0))));
  return d;
}

static tp_val two_dims(int kind) {
  switch (kind) {
  case 0: return mul(both, x);
  case 1: return soft(at2(mul(both, x), pt(I(t)), rg(K(0), plus(u, 1))));
  case 2: return mul(soft(at2(both, rg(I(t), X("T")), pt(X("u//2")))), x);
  case 3:
    return CALL("reshape",
        T(soft(CALL("reshape", T(at2(mul(both, both), rg(K(0), plus(t, 1)), rg(I(u), X("U")))),
            SHAPE(K(-1), K(2))))),
        SHAPE(K(-1)));
  case 4: return at2(mul(both, both), pt(X("min(u, T - 1)")), pt(X("min(t, U - 1)")));
  case 5: return grid();
  case 6: return mul(at1(x, pt(X("min(u, T - 1)"))), both);
  case 7: return sum0(at2(mul(both, x), pt(X("T - 1")), rg(K(0), X("U"))));
  default: return at2(grid(), pt(X("T - 1")), pt(X("U - 1")));
  }
}

static void test_two_dims(void) {
  static const int64_t few[] = { 1, 3 };
  for (int kind = 0; kind < 9; kind++)
    for (int second = 0; second < 2; second++) {
      begin_two();
      tp_val loss = weighted(two_dims(kind));
      if (second && loss.node)
        loss = mul(add(weighted(grad_of(loss, both)), weighted(grad_of(loss, x))), num(1, TP_F64));
      char name[32];
      snprintf(name, sizeof name, "two dims %d%s", kind, second ? " twice" : "");
      check_loss(name, loss, 2, few, -1, 1);
      program_free();
    }
}

/* ---- the edges of the definition ---- */

static void test_ties(void) {
  static const double same[] = { 2, 2, 2 };
  begin();
  g->inputs.n = 0;
  tp_attr a = { .str = "x", .dtype = TP_F64, .nix = 1, .ix = (tp_ix *[]){ K(3) } };
  x = node(TP_OP_INPUT, 0, NULL, a);
  tp_val k = add(x, num(-2, TP_F64));
  output("max", grad_of(CALL("max", T(x)), x));
  output("maximum", grad_of(CALL("sum", T(CALL("maximum", T(x), T(x)))), x));
  output("maximum 2", grad_of(CALL("sum", T(CALL("maximum", NUM(2), T(x)))), x));
  output("abs", grad_of(CALL("sum", T(CALL("abs", T(k)))), x));
  output("detach", grad_of(CALL("sum", T(CALL("detach", T(x)))), x));
  CHECKF(tp_grad_expand(g, &err), "%s", err.msg);
  give(0, same);
  CHECKF(go(), "%s", err.msg);
  HOLDS(0, 1, 0, 0);
  HOLDS(1, 1, 1, 1);
  HOLDS(2, 0, 0, 0);
  for (int i = 3; i < 5; i++) HOLDS(i, 0, 0, 0);
  program_free();
}

/* w as a declared tensor whose update takes the gradient of what w made. */
static void test_cycle(void) {
  begin();
  tp_attr a = { .dtype = TP_F64, .ndom = 1, .dom = &t, .nix = 1, .ix = (tp_ix *[]){ K(3) } };
  tp_val w = named(node(TP_OP_MERGE, 0, NULL, a), "weight"),
         loss = CALL("sum", T(square(mul(w, x)))), d = grad_of(loss, w);
  branch(w, "t == 0", at1(x, pt(K(0))));
  branch(w, NULL, add(at1(w, pt(plus(t, -1))), at1(d, pt(plus(t, -1)))));
  output("w", w);
  CHECK(!tp_grad_expand(g, &err) &&
      failed(TP_E_CYCLE,
          "gradient runs through the update of 'weight': make it a parameter, take it with leaf = "
          "true, or detach (which drops terms)"));
  program_free();
}

/* The same with a parameter, and with a detached update, is gradient descent: w is 3/4 of what it
 * was at each step. */
static void test_descent(void) {
  for (int kind = 0; kind < 2; kind++) {
    begin();
    g->inputs.n = g->nodes.n = 0;
    tp_attr a = {
      .dtype = TP_F64, .str = kind ? NULL : "w", .ndom = 1, .dom = &t, .nalong = 1, .along = &t
    };
    tp_val one = num(1, TP_F64),
           w = kind
        ? named(node(TP_OP_MERGE, 0, NULL, (tp_attr){ .dtype = TP_F64, .ndom = 1, .dom = &t }), "w")
        : node(TP_OP_PARAM, 1, &one, a);
    tp_val d = grad_of(square(w), w), next = add(w, mul(d, num(-0.125, TP_F64)));
    if (kind) {
      branch(w, "t == 0", one);
      branch(w, NULL, CALL("detach", T(at1(next, pt(plus(t, -1))))));
    } else CHECK(tp_param_update(g, w.node, next, &err));
    output("w", w);
    CHECKF(prepare(g), "%s", err.msg);
    set_bound(t, 4);
    CHECKF(go(), "%s", err.msg);
    HOLDS(0, 1, 0.75, 0.5625, 0.421875);
    if (!kind) HOLDS(1, 0.31640625);
    set_bound(t, 0);
    CHECKF(go(), "%s", err.msg);
    EMPTY(0);
    if (!kind) HOLDS(1, 1);
    program_free();
  }
}

/* The same with w as a leaf, which can be differentiated in turn: w[T-1] by w[t]. */
static void test_leaf(void) {
  begin();
  g->inputs.n = g->nodes.n = 0;
  tp_val w =
      named(node(TP_OP_MERGE, 0, NULL, (tp_attr){ .dtype = TP_F64, .ndom = 1, .dom = &t }), "w");
  tp_val d = node(TP_OP_GRAD, 3, (tp_val[]){ square(w), w, w }, (tp_attr){ .leaves = 1 });
  branch(w, "t == 0", num(1, TP_F64));
  branch(w, NULL, at1(add(w, mul(d, num(-0.125, TP_F64))), pt(plus(t, -1))));
  output("w", w);
  output("through", grad_of(at1(w, pt(plus(t->bound, -1))), w));
  CHECKF(prepare(g), "%s", err.msg);
  set_bound(t, 4);
  CHECKF(go(), "%s", err.msg);
  HOLDS(0, 1, 0.75, 0.5625, 0.421875);
  HOLDS(1, 0.421875, 0.5625, 0.75, 1);
  program_free();
}

/* Two losses, one of them marked twice; a tensor that no loss needs. */
static void test_losses(void) {
  begin();
  g->inputs.n = g->nodes.n = 0;
  x = node(TP_OP_INPUT, 0, NULL, (tp_attr){ .str = "x", .dtype = TP_F64, .ndom = 1, .dom = &t });
  TP_PUSH(&g->arena, &g->losses, mul(x, x));
  TP_PUSH(&g->arena, &g->losses, mul(x, num(3, TP_F64)));
  output("d", node(TP_OP_GRAD, 1, &x, (tp_attr){ 0 }));
  output("none", grad_of(mul(x, x), mul(x, num(1, TP_F64))));
  CHECKF(prepare(g), "%s", err.msg);
  set_bound(t, 2);
  give(0, (double[]){ 1, 5 });
  CHECKF(go(), "%s", err.msg);
  HOLDS(0, 5, 13);
  HOLDS(1, 0, 0);
  program_free();
}

/* A gradient of a parameter that nothing needs is not expanded, and told once. */
static void test_unneeded(void) {
  begin();
  g->inputs.n = g->nodes.n = 0;
  tp_val one = num(1, TP_F64),
         w = node(TP_OP_PARAM, 1, &one,
             (tp_attr){
                 .dtype = TP_F64, .str = "w", .ndom = 1, .dom = &t, .nalong = 1, .along = &t });
  tp_val d = grad_of(square(w), w);
  add(d, grad_of(w, w));
  output("y", square(w));
  CHECK(prepare(g) && g->warnings.n == 1 && strstr(g->warnings.v[0], "gradient of parameter 'w'") &&
      g->nodes.n < 8);
  program_free();
}

/* Every operator marked D has a rule, and no other. */
static void test_table(void) {
  for (int i = 0; i < TP_NOP; i++)
    CHECKF((tp_ops[i].diff == TP_DIFF_D) == (tp_vjp_of((tp_op)i) != NULL), "%s", tp_ops[i].text);
}

int main(int argc, char **argv) {
  for (size_t i = 0; i < TP_LEN(operators); i++)
    if (argc < 2 || strcmp(argv[1], operators[i].name) == 0) check_row(&operators[i]);
  if (argc > 1) return check_report();
  test_points();
  test_ranges();
  test_picked();
  test_branches();
  test_recurrences();
  test_two_recurrences();
  test_six_readers();
  test_two_dims();
  test_ties();
  test_cycle();
  test_descent();
  test_leaf();
  test_losses();
  test_unneeded();
  test_table();
  return check_report();
}
