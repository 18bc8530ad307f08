/* methods: every row of methods.def is callable and gives the shape, dtype and numbers that
 * PyTorch's function of its name gives (numbers: NumPy, f64). */
#include "call.h"
#include "graph/core.h"

static tp_val x, y, p, i3, b2, e0; /* constants, see begin */

static tp_val constant(tp_dtype d, int rank, const int64_t *shape, const double *v) {
  tp_array *a = tp_array_new(d, rank, shape);
  for (int64_t i = 0; i < a->count; i++) tp_put(d, a->data, i, v[i]);
  tp_val c = node(TP_OP_CONST, 0, NULL, (tp_attr){ .data = a, .dtype = d });
  tp_array_unref(a);
  return c;
}
#define VEC(d, n, ...) constant(d, 1, (int64_t[]){ n }, (double[]){ __VA_ARGS__ })

static void begin(void) {
  program_new();
  x = VEC(TP_F64, 3, 0.5, -1.25, 2);
  y = VEC(TP_F64, 3, 1.5, 0.5, -0.5);
  p = constant(TP_F64, 2, (int64_t[]){ 2, 3 }, (double[]){ 0.5, -1.25, 2, 1.5, 0.25, -0.75 });
  i3 = VEC(TP_I64, 3, 7, -7, 2);
  b2 = VEC(TP_BOOL, 2, 1, 0);
  e0 = constant(TP_F64, 1, (int64_t[]){ 0 }, NULL);
}

/* ---- values ---- */

typedef struct {
  const char *what, *shape;
  tp_dtype dtype;
  tp_val (*make)(void);
  int n;
  double want[12];
} row;

static bool near(double a, double b) {
  return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-6 * (1 + fabs(b));
}

static void check_row(const row *r) {
  begin();
  tp_val v = r->make();
  if (CHECKF(v.node != NULL, "%s: %s", r->what, err.msg)) {
    tp_buf b;
    tp_buf_init(&b);
    tp_putf(&b, "(%s)", tp_extents(g, tp_rankof(v), tp_outof(v)->shape));
    CHECKF(strcmp(b.s, r->shape) == 0 && tp_dtypeof(v) == r->dtype, "%s: %s %s", r->what,
        tp_dtype_name(tp_dtypeof(v)), b.s);
    tp_buf_free(&b);
    output("v", v);
    CHECKF(tp_verify(g, &err) && go(), "%s: %s", r->what, err.msg);
    for (int i = 0; run.outputs && run.outputs[0] && i < r->n; i++)
      CHECKF(i < run.outputs[0]->count && near(out_at(0, i), r->want[i]), "%s[%d] = %.9g", r->what,
          i, out_at(0, i));
  }
  program_free();
}

#define ROWS(X_) \
  X_("(3)", F64, CALL("add", T(x), NUM(1)), 1.5, -0.25, 3) \
  X_("(3)", F32, CALL("mul", T(i3), NUM(0.5)), 3.5, -3.5, 1) \
  X_("(3)", I64, CALL("sub", NUM(1), T(i3)), -6, 8, -1) \
  X_("(2)", I64, CALL("sub", NUM(1), T(b2)), 0, 1) \
  X_("(2)", I64, CALL("neg", T(b2)), -1, 0) \
  X_("(2)", F64, CALL("mul", T(b2), T(num(2.5, TP_F64))), 2.5, 0) \
  X_("(3)", F32, CALL("div", T(i3), NUM(2)), 3.5, -3.5, 1) \
  X_("(3)", I64, CALL("floordiv", T(i3), NUM(2)), 3, -4, 1) \
  X_("(3)", I64, CALL("mod", T(i3), NUM(3)), 1, 2, 2) \
  X_("(3)", I64, CALL("pow", T(i3), NUM(2)), 49, 49, 4) \
  X_("(3)", F64, CALL("pow", NUM(2), T(x)), 1.41421356, 0.420448208, 4) \
  X_("(3)", F64, CALL("minimum", T(x), NUM(1)), 0.5, -1.25, 1) \
  X_("(3)", BOOL, CALL("lt", T(VEC(TP_U8, 3, 1, 44, 255)), NUM(300)), 1, 1, 1) \
  X_("(3)", BOOL, CALL("ge", T(i3), NUM(1.5)), 1, 0, 1) \
  X_("(2)", BOOL, CALL("lor", T(b2), T(CALL("lnot", T(b2)))), 1, 1) \
  X_("(3)", F64, CALL("where", T(CALL("gt", T(x), NUM(0))), T(x), NUM(0)), 0.5, 0, 2) \
  X_("(3)", F32, CALL("exp", T(VEC(TP_I32, 3, 0, 1, -1))), 1, 2.71828183, 0.367879441) \
  X_("(3)", I64, CALL("to", T(x), DTYPE(TP_I64)), 0, -1, 2) \
  X_("()", I64, CALL("sum", T(VEC(TP_U8, 2, 255, 255))), 510) \
  X_("()", I64, CALL("prod", T(b2)), 0) \
  X_("(1, 3)", F64, CALL("sum", T(p), AXES(-2), BOOL(true)), 2, -1, 1.25) \
  X_("()", F32, CALL("mean", T(i3)), 0.666666667) \
  X_("(2)", F64, CALL("mean", T(p), AXES(1)), 0.416666667, 0.333333333) \
  X_("()", F64, CALL("mean", T(e0)), NAN) \
  X_("()", F64, CALL("sum", T(e0)), 0) \
  X_("()", F64, CALL("prod", T(e0)), 1) \
  X_("()", F64, CALL("max", T(e0)), -INFINITY) \
  X_("()", F64, CALL("min", T(e0)), INFINITY) \
  X_("(2)", F64, CALL("max", T(p), AXES(1)), 2, 1.5) \
  X_("(2, 1)", I64, CALL("argmax", T(p), AXES(1), BOOL(true)), 2, 0) \
  X_("()", I64, CALL("argmin", T(p)), 1) \
  X_("(1, 1)", I64, CALL("argmax", T(p), AXES(0, 1), BOOL(true)), 2) \
  X_("(2, 3)", F64, CALL("cumsum", T(p), AXES(1)), 0.5, -0.75, 1.25, 1.5, 1.75, 1) \
  X_("(2, 3)", F64, CALL("cumprod", T(p), AXES(0)), 0.5, -1.25, 2, 0.75, -0.3125, -1.5) \
  X_("(2, 3)", F64, CALL("discounted_cumsum", T(p), FLT(0.5), AXES(1)), 0.375, -0.25, 2, 1.4375, \
      -0.125, -0.75) \
  X_("(2)", I64, CALL("cumsum", T(b2)), 1, 1) \
  X_("(2)", F64, CALL("matmul", T(p), T(x)), 5.8125, -1.0625) \
  X_("(3, 2)", F64, CALL("reshape", T(p), SHAPE(K(-1), K(2))), 0.5, -1.25, 2, 1.5, 0.25, -0.75) \
  X_("(3, 2)", F64, CALL("permute", T(p), AXES(1, 0)), 0.5, 1.5, -1.25) \
  X_("(2, 3)", F64, CALL("expand", T(x), SHAPE(K(2), K(-1))), 0.5, -1.25, 2, 0.5, -1.25, 2) \
  X_("(3)", F64, CALL("squeeze", T(CALL("reshape", T(x), SHAPE(K(1), K(3), K(1)))))) \
  X_("(2, 3)", F64, CALL("squeeze", T(p), AXES(0))) \
  X_("(2, 3)", F64, CALL("flip", T(p)), -0.75, 0.25, 1.5, 2, -1.25, 0.5) \
  X_("(5)", F64, CALL("pad_axis", T(x), INT(0), INT(1), INT(1), FLT(9)), 9, 0.5, -1.25, 2, 9) \
  X_("(2)", F64, CALL("index_select", T(x), INT(0), T(VEC(TP_I32, 2, 2, 0))), 2, 0.5) \
  X_("(2, 1)", F64, \
      CALL("gather", T(p), INT(1), \
          T(constant(TP_I64, 2, (int64_t[]){ 2, 1 }, (double[]){ 2, 1 }))), \
      2, 0.25) \
  X_("(3)", F64, CALL("scatter_add", T(x), INT(0), T(VEC(TP_I64, 2, 2, 2)), NUM(1)), 0.5, -1.25, \
      4) \
  X_("(3)", F64, CALL("sort", T(VEC(TP_F64, 3, NAN, 2, 1)), NONE, BOOL(true)), 2, 1, NAN) \
  X_("(3)", I64, CALL("argsort", T(x)), 1, 0, 2) \
  X_("(2)", F32, CALL("zeros", SHAPE(K(2))), 0, 0) \
  X_("(2)", I32, CALL("ones", SHAPE(K(2)), DTYPE(TP_I32)), 1, 1) \
  X_("()", F32, CALL("full", SCALAR(), NUM(3)), 3) \
  X_("(2)", F32, CALL("full", SHAPE(K(2)), T(num(7, TP_I64))), 7, 7) \
  X_("(3)", F32, CALL("bernoulli", SHAPE(K(3)), T(VEC(TP_F32, 3, 0, 1, 1))), 0, 1, 1) \
  X_("(2)", F16, \
      CALL("mean", T(constant(TP_F16, 2, (int64_t[]){ 2, 2 }, (double[]){ 60000, 60000, 1, 2 })), \
          AXES(1)), \
      60000, 1.5)

#define ROW(shape_, dtype_, expr, ...) \
  { #expr, shape_, TP_##dtype_, NULL, \
    (int)(sizeof((double[]){ 0, ##__VA_ARGS__ }) / sizeof(double)) - 1, { __VA_ARGS__ } },

static tp_val make(int which) {
  int i = 0;
#define X_(shape_, dtype_, expr, ...) \
  if (i++ == which) return expr;
  ROWS(X_)
#undef X_
  return (tp_val){ 0 };
}
static const row rows[] = { ROWS(ROW) };

static int which;
static tp_val make_which(void) { return make(which); }

/* ---- domains, names, errors ---- */

static void test_domains(void) {
  begin();
  dim t = dim_new("t");
  tp_val z = CALL("zeros", SHAPE(K(2)), NONE, DOMAIN_(1, &t), STR("z"));
  CHECK(z.node && z.node->ndom == 1 && z.node->dom[0] == t && strcmp(z.node->name, "z") == 0);
  tp_val grown = CALL("ones", SHAPE(plus(t, 1)));
  CHECK(grown.node && grown.node->ndom == 1);
  tp_val r = CALL("uniform", SCALAR(), NONE, DOMAIN_(1, &t), STR("r")),
         s = CALL("uniform", SCALAR(), NONE, DOMAIN_(1, &t));
  CHECK(r.node && r.node->attr.hash == tp_hash("r", 1, 0) && s.node &&
      s.node->attr.hash != r.node->attr.hash && g->nrand == 1);
  CHECK(!CALL("normal", SCALAR(), NONE, NONE, STR("r")).node && failed(TP_E_OPTION, "'r' already"));
  tp_val m = CALL("mean", T(CALL("ones", SHAPE(X("T"), plus(t, 1)))));
  CHECK(m.node && m.node->ndom == 1 && tp_rankof(m) == 0);
  program_free();
}

static void test_symbolic(void) {
  begin();
  dim t = dim_new("t");
  tp_attr a = { .str = "q", .dtype = TP_F64, .nix = 2, .ix = (tp_ix *[]){ X("T"), K(4) } };
  tp_val q = node(TP_OP_INPUT, 0, NULL, a);
  output("sum", CALL("sum", T(q), AXES(1)));
  output("mean", CALL("mean", T(q)));
  output("last", CALL("part", T(q), INT(0), IX(X("T - 1")), INT(1)));
  set_bound(t, 3);
  give(0, (double[]){ 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3 });
  CHECKF(go(), "%s", err.msg);
  HOLDS(0, 4, 8, 12);
  HOLDS(1, 2);
  HOLDS(2, 3, 3, 3, 3);
  program_free();
}

#define FAILS(code, text, ...) \
  begin(), CHECKF(!(__VA_ARGS__).node && failed(code, text), #__VA_ARGS__), program_free()

static void test_errors(void) {
  FAILS(TP_E_SHAPE, "axis 2 of a tensor with 2 axes", CALL("sum", T(p), AXES(2)));
  FAILS(TP_E_SHAPE, "named twice", CALL("sum", T(p), AXES(1, -1)));
  FAILS(TP_E_SHAPE, "needs one axis", CALL("cumsum", T(p)));
  FAILS(TP_E_DTYPE, "compare first", CALL("land", T(x), T(x)));
  FAILS(TP_E_SHAPE, "", CALL("reshape", T(p), SHAPE(K(4), K(-1))));
  FAILS(TP_E_DTYPE, "indices must be i64", CALL("index_select", T(x), INT(0), T(x)));
  FAILS(TP_E_DTYPE, "no power", CALL("pow", T(i3), NUM(-1)));
}

/* Every row has a signature that parses, no two one name, and a doc. */
static void test_table(void) {
  for (int i = 0; i < tp_nmethods; i++) {
    tp_sigarg sig[TP_MAXARG];
    const tp_method *m = &tp_methods[i];
    int n = tp_sig_parse(m->sig, sig);
    CHECKF(
        n > 0 && tp_method_find(m->name) == m && m->doc[0] && strlen(m->kinds) == 1, "%s", m->name);
    for (int k = 0; k < n; k++)
      CHECKF(sig[k].name[0] && strchr("TRUCJIFBNXSAWELDOV", sig[k].type) &&
              sig[k].optional >= sig[k].option,
          "%s: %s", m->name, sig[k].name);
  }
  tp_sigarg sig[TP_MAXARG];
  CHECK(tp_sig_parse("x:T axis:A? | keepdim:B", sig) == 3 && sig[1].optional && !sig[1].option &&
      sig[2].option && strcmp(sig[2].name, "keepdim") == 0);
  CHECK(!tp_method_find("no such"));
}

int main(void) {
  for (which = 0; which < (int)TP_LEN(rows); which++) {
    row r = rows[which];
    r.make = make_which;
    check_row(&r);
  }
  test_domains();
  test_symbolic();
  test_errors();
  test_table();
  return check_report();
}
