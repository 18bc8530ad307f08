/* graph: inference and its messages, time, branches, equality of extents, sweeps and clones, order,
 * text both ways, checks of runs, arrays. Golden texts lie in spec/graph: x.sdg parses and prints
 * as x.want, fails with the text of x.err, or parses and is judged as x.late says. */
#include "graph/core.h"
#include "graph/methods/methods.h"
#define MK(e) ((tp_mk){ .g = g, .err = e })
#include "graph/run.h"
#include "golden.h"

static tp_ictx *c;
static tp_graph *g;
static tp_error e;
static tp_sym *ds, *dt;
static tp_ix *s, *S, *t, *T, *K, *zero, *one;

static tp_ix *N(int64_t v) { return tp_ix_const(c, v); }
static tp_ix *X(const char *text) { return tp_ix_parse(c, &text, &e); }

static void begin(void) {
  memset(&e, 0, sizeof e);
  c = tp_ictx_new();
  g = tp_graph_new(c);
  ds = tp_sym_dim(c, "s", NULL, (tp_pos){ 0 }, &e);
  dt = tp_sym_dim(c, "t", NULL, (tp_pos){ 0 }, &e);
  s = tp_ix_sym(ds), S = tp_ix_sym(ds->bound);
  t = tp_ix_sym(dt), T = tp_ix_sym(dt->bound);
  K = tp_ix_sym(tp_sym_bound(c, "K", (tp_pos){ 0 }, &e));
  zero = N(0), one = N(1);
  g->pos = (tp_pos){ "a.lua", 1 };
}

static void end(void) {
  CHECKF(e.code != TP_OK || tp_verify(g, &e), "%s", e.msg);
  g = tp_graph_free(g);
  c = tp_ictx_free(c);
}

/* The next call must fail so. */
static bool failed(tp_code code, const char *msg) {
  bool ok = e.code == code && strcmp(e.msg, msg) == 0;
  if (!ok)
    fprintf(stderr, "  have [%s] %s\n  want [%s] %s\n", tp_code_word(e.code), e.msg,
        tp_code_word(code), msg);
  memset(&e, 0, sizeof e);
  return ok;
}

static tp_val input(const char *name, tp_dtype d, int ndom, tp_dims dom, int rank, tp_ixs shape) {
  tp_attr a = { .str = name, .dtype = d, .ndom = ndom, .dom = dom, .nix = rank, .ix = shape };
  return (tp_val){ tp_build(g, TP_OP_INPUT, 0, NULL, &a, &e), 0 };
}

#define SHAPE(...) \
  (int)(sizeof((tp_ix *[]){ __VA_ARGS__ }) / sizeof(tp_ix *)), (tp_ix *[]) { __VA_ARGS__ }
#define DOM(...) \
  (int)(sizeof((tp_sym *[]){ __VA_ARGS__ }) / sizeof(tp_sym *)), (tp_sym *[]) { __VA_ARGS__ }
#define NODOM       0, NULL
#define POINT(x)    ((tp_at){ false, (x), NULL })
#define RANGE(a, b) ((tp_at){ true, (a), (b) })
#define AT(...)     ((tp_at[]){ __VA_ARGS__ })

static tp_val f32(const char *name, int ndom, tp_dims dom, int rank, tp_ixs shape) {
  return input(name, TP_F32, ndom, dom, rank, shape);
}

/* "(s t) (T, 4)": domain and shape. */
static bool is(tp_val v, const char *want) {
  tp_buf b;
  tp_buf_init(&b);
  tp_puts(&b, "(");
  for (int k = 0; v.node && k < v.node->ndom; k++)
    tp_putf(&b, "%s%s", k ? " " : "", v.node->dom[k]->name);
  tp_puts(&b, ") ");
  if (v.node) tp_putf(&b, "(%s)", tp_extents(g, tp_rankof(v), tp_outof(v)->shape));
  else tp_putf(&b, "nothing: %s", e.msg);
  bool ok = strcmp(b.s, want) == 0;
  if (!ok) fprintf(stderr, "  have %s, want %s\n", b.s, want);
  tp_buf_free(&b);
  return ok;
}

static tp_node *merge(const char *name, int ndom, tp_dims dom, int rank, tp_ixs shape) {
  tp_attr a = { .dtype = TP_F32, .ndom = ndom, .dom = dom, .nix = rank, .ix = shape };
  tp_node *m = tp_build(g, TP_OP_MERGE, 0, NULL, &a, &e);
  if (m) m->name = name;
  return m;
}

/* ---- shapes ---- */

static void test_elementwise(void) {
  begin();
  tp_val x = f32("x", DOM(dt), SHAPE(T, N(4))), y = f32("y", DOM(ds), SHAPE(N(4))),
         z = f32("z", NODOM, SHAPE(K, one)), b = input("b", TP_BOOL, NODOM, 0, NULL);
  CHECK(is(mk_bin(MK(&e), TP_OP_ADD, x, y), "(s t) (T, 4)"));
  CHECK(is(mk_bin(MK(&e), TP_OP_MUL, y, z), "(s) (K, 4)"));
  CHECK(g->shapechecks.n == 0);
  CHECK(is(mk_bin(MK(&e), TP_OP_ADD, x, z), "(t) (T, 4)") && g->shapechecks.n == 1 &&
      g->shapechecks.v[0].a == T && g->shapechecks.v[0].b == K);
  CHECK(is(mk_bin(MK(&e), TP_OP_ADD, z, x), "(t) (K, 4)") && g->shapechecks.n == 1);
  CHECK(is(mk_un(MK(&e), TP_OP_TANH, b), "() ()") &&
      tp_dtypeof(mk_un(MK(&e), TP_OP_TANH, b)) == TP_F32);
  CHECK(tp_dtypeof(mk_bin(MK(&e), TP_OP_SUB, mk_num(MK(&e), 1, TP_I64), b)) == TP_I64);
  CHECK(tp_dtypeof(mk_bin(MK(&e), TP_OP_ADD, b, b)) == TP_I64 &&
      tp_dtypeof(mk_bin(MK(&e), TP_OP_DIV, b, b)) == TP_F32);
  CHECK(tp_dtypeof(mk_bin(MK(&e), TP_OP_LT, x, b)) == TP_BOOL);
  CHECK(is(mk_select(MK(&e), b, x, mk_num(MK(&e), 0, TP_I64)), "(t) (T, 4)"));
  CHECK(!mk_bin(MK(&e), TP_OP_ADD, x, f32("x3", NODOM, SHAPE(N(3)))).node &&
      failed(TP_E_SHAPE,
          "shape: bad operands of 'add': shapes do not broadcast (they align at the last axis, and "
          "only a literal 1 stretches): (T, 4) x (3)"));
  CHECK(!mk_bin(MK(&e), TP_OP_LAND, x, b).node &&
      failed(TP_E_DTYPE,
          "dtype: bad operands of 'land': f32 and bool: it takes bool: compare first, as in "
          "x:ne(0)"));
  tp_val pair[2] = { x, b };
  CHECK(!tp_build(g, TP_OP_ADD, 2, pair, NULL, &e) &&
      failed(TP_E_DTYPE, "dtype: bad operands of 'add': f32 and bool: convert one with :to"));
  CHECK(!f32("x", NODOM, 0, NULL).node &&
      failed(TP_E_OPTION, "option: there is an input 'x' already (a.lua:1)"));
  CHECK(!f32("q", DOM(dt, ds), 0, NULL).node &&
      failed(TP_E_DOMAIN,
          "domain: 'q' must list its dims once each, in the order in which they were made: {s, "
          "t}"));
  CHECK(!f32("q", DOM(ds), SHAPE(t)).node &&
      failed(TP_E_SHAPE, "shape: extent t of 'q' mentions what is not in its domain: t"));
  end();
}

static void test_movement(void) {
  begin();
  tp_val x = f32("x", NODOM, SHAPE(T, N(6))), v = f32("v", NODOM, SHAPE(N(6))),
         w = f32("w", NODOM, SHAPE(N(5), N(3)));
  CHECK(is(mk_matmul(MK(&e), x, v), "() (T)") && is(mk_matmul(MK(&e), v, v), "() ()"));
  CHECK(is(mk_matmul(MK(&e), v, mk_permute(MK(&e), x, (int[]){ 1, 0 })), "() (T)"));
  CHECK(!mk_matmul(MK(&e), x, w).node &&
      failed(TP_E_SHAPE,
          "shape: bad operands of 'matmul': inner sizes 6 and 5 differ: (T, 6) x (5, 3)"));
  CHECK(is(mk_reshape(MK(&e), x, SHAPE(N(-1), N(3))), "() (2*T, 3)") &&
      is(mk_reshape(MK(&e), x, SHAPE(N(2), N(-1))), "() (2, 3*T)"));
  CHECK(mk_reshape(MK(&e), x, SHAPE(T, N(-1))).node == x.node);
  CHECK(!mk_reshape(MK(&e), x, SHAPE(N(-1), N(4))).node &&
      failed(TP_E_SHAPE,
          "shape: bad operand of 'reshape': 6*T elements are no exact multiple of 4: (T, 6)"));
  CHECK(!mk_reshape(MK(&e), x, SHAPE(T, N(5))).node &&
      failed(TP_E_SHAPE,
          "shape: bad operand of 'reshape': 6*T elements do not fill (T, 5), which has 5*T: (T, "
          "6)"));
  CHECK(is(mk_expand(MK(&e), mk_unsqueeze(MK(&e), v, 0), SHAPE(K, N(-1))), "() (K, 6)") &&
      is(mk_expand(MK(&e), v, SHAPE(s, N(6))), "(s) (s, 6)"));
  CHECK(!mk_expand(MK(&e), v, SHAPE(N(7))).node &&
      failed(TP_E_SHAPE,
          "shape: bad operand of 'expand': does not expand to (7) (only a literal 1 or a missing "
          "axis grows): (6)"));
  CHECK(is(mk_slice(MK(&e), x, -1, N(1), N(3), 2), "() (T, 3)") &&
      is(mk_slice(MK(&e), x, 0, t, one, 1), "(t) (1, 6)"));
  CHECK(!mk_slice(MK(&e), x, 1, N(2), N(3), 2).node &&
      failed(TP_E_DOMAIN, "domain: elements 2 .. 7 of axis 1 of 'x' are outside 0 .. 6"));
  CHECK(is(mk_squeeze(MK(&e), mk_unsqueeze(MK(&e), x, 1), -2), "() (T, 6)"));
  CHECK(!mk_squeeze(MK(&e), x, 1).node &&
      failed(TP_E_SHAPE, "shape: bad operand of 'squeeze': axis 1 is not 1: (T, 6)"));
  CHECK(is(mk_reduce(MK(&e), TP_OP_SUM, x, 1, (int[]){ -1 }, true), "() (T, 1)") &&
      is(mk_reduce(MK(&e), TP_OP_MAX, x, 2, (int[]){ 1, 0 }, false), "() ()"));
  CHECK(is(mk_reduce(MK(&e), TP_OP_ARGMAX, x, 1, (int[]){ 0 }, false), "() (6)"));
  CHECK(!mk_reduce(MK(&e), TP_OP_SUM, x, 2, (int[]){ 1, -1 }, false).node &&
      failed(TP_E_SHAPE, "shape: bad operand of 'sum': axis -1 is named twice: (T, 6)"));
  CHECK(is(mk_sum_to(MK(&e), f32("big", NODOM, SHAPE(K, T, N(6))), SHAPE(one, N(6))), "() (1, 6)"));
  tp_attr cat = { .axis = 0 };
  tp_val pair[2] = { x, f32("x2", NODOM, SHAPE(K, N(6))) };
  CHECK(is(tp_v(tp_build(g, TP_OP_CONCAT, 2, pair, &cat, &e)), "() (T + K, 6)"));
  tp_val pick[2] = { x, input("k", TP_I64, NODOM, SHAPE(K)) };
  CHECK(is(tp_v(tp_build(g, TP_OP_INDEX_SELECT, 2, pick, &cat, &e)), "() (K, 6)"));
  pick[1] = v;
  CHECK(!tp_build(g, TP_OP_INDEX_SELECT, 2, pick, &cat, &e) &&
      failed(TP_E_DTYPE,
          "dtype: bad operands of 'index_select': f32 and f32: indices must be i64: convert with "
          ":to(\"i64\")"));
  end();
}

/* ---- time ---- */

static void test_reads(void) {
  begin();
  tp_val x = f32("x", DOM(dt), SHAPE(N(3))), y = f32("y", DOM(ds, dt), 0, NULL);
  CHECK(tp_read(g, x, AT(POINT(t)), &e).node == x.node);
  CHECK(is(tp_read(g, x, AT(POINT(zero)), &e), "() (3)") &&
      is(tp_read(g, x, AT(POINT(s)), &e), "(s) (3)"));
  tp_val prefix = tp_read(g, x, AT(RANGE(zero, X("t + 1"))), &e);
  CHECK(is(prefix, "(t) (t + 1, 3)") && is(tp_read(g, x, AT(RANGE(zero, T)), &e), "() (T, 3)") &&
      is(tp_read(g, x, AT(RANGE(t, T)), &e), "(t) (T - t, 3)"));
  CHECK(is(tp_read(g, prefix, AT(POINT(X("t - 1"))), &e), "(t) (t, 3)"));
  CHECK(is(tp_read(g, y, AT(RANGE(zero, S), RANGE(zero, X("t + 1"))), &e), "(t) (S, t + 1)"));
  CHECK(!tp_read(g, prefix, AT(RANGE(zero, T)), &e).node &&
      failed(TP_E_RAGGED,
          "ragged: a range over 't' of the read of a.lua:1, whose shape depends on it (extent (t + "
          "1)): reduce or pad first"));
  CHECK(!tp_read(g, x, AT(POINT(X("t*s"))), &e).node && e.code == TP_E_AFFINE);
  memset(&e, 0, sizeof e);
  end();
}

/* Reads of reads are one read where no judgement is lost. */
static void test_composition(void) {
  begin();
  tp_val x = f32("x", DOM(dt), 0, NULL), y = f32("y", DOM(ds, dt), 0, NULL);
  tp_val back = tp_read(g, x, AT(POINT(X("t - 1"))), &e),
         fwd = tp_read(g, x, AT(POINT(X("t + 1"))), &e);
  tp_val two = tp_read(g, back, AT(POINT(X("t - 1"))), &e);
  CHECK(two.node->in[0].src.node == x.node && two.node->attr.at[0].lo == X("t - 2"));
  /* x[t] is legal at T - 1, back[t + 1] is not */
  tp_val lost = tp_read(g, back, AT(POINT(X("t + 1"))), &e);
  CHECK(lost.node->in[0].src.node == back.node);
  tp_val clamped =
      tp_read(g, tp_read(g, x, AT(POINT(X("min(t, 3)"))), &e), AT(POINT(X("t + 5"))), &e);
  CHECK(clamped.node->in[0].src.node != x.node);
  tp_val inner = tp_read(g, fwd, AT(POINT(X("max(t - 1, 0)"))), &e);
  CHECK(
      inner.node->in[0].src.node == x.node && inner.node->attr.at[0].lo == X("max(t - 1, 0) + 1"));
  tp_val rows = tp_read(g, back, AT(RANGE(X("t"), X("t + 1"))), &e);
  CHECK(rows.node->in[0].src.node == x.node && rows.node->attr.at[0].lo == X("t - 1") &&
      rows.node->attr.at[0].hi == t);
  /* y transposed: its bounds differ, so its ranges stay */
  tp_val swap = tp_read(g, y, AT(POINT(t), POINT(s)), &e);
  CHECK(is(tp_read(g, swap, AT(RANGE(zero, S), RANGE(zero, T)), &e), "() (S, T)"));
  tp_val diag = tp_read(g, y, AT(POINT(t), POINT(t)), &e);
  CHECK(tp_read(g, diag, AT(RANGE(zero, T)), &e).node->in[0].src.node == diag.node);
  tp_val same = tp_read(
      g, tp_read(g, y, AT(POINT(s), POINT(X("t - 1"))), &e), AT(POINT(s), POINT(X("t//2"))), &e);
  CHECK(same.node->in[0].src.node == y.node);
  end();
}

static void test_branches(void) {
  begin();
  tp_node *h = merge("h", DOM(dt), SHAPE(X("t + 1"), N(3)));
  tp_val first = f32("first", NODOM, SHAPE(one, N(3))), last = f32("last", NODOM, SHAPE(T, N(3))),
         rest = f32("rest", DOM(dt), SHAPE(X("t + 1"), N(3)));
  CHECK(
      tp_merge_add(g, h, X("t == 0"), first, &e) && tp_merge_add(g, h, X("t == T - 1"), last, &e));
  CHECK(!tp_merge_add(g, h, X("t == 1"), first, &e) &&
      failed(TP_E_SHAPE, "shape: the branch of 'h' has shape (1, 3), declared (t + 1, 3)"));
  CHECK(!tp_merge_add(g, h, X("s == 1"), rest, &e) &&
      failed(TP_E_DOMAIN,
          "domain: a branch of 'h' has a condition on 's', which is not in its domain"));
  CHECK(!tp_merge_add(g, h, NULL, mk_cast(MK(&e), rest, TP_F64), &e) &&
      failed(
          TP_E_DTYPE, "dtype: the branch of 'h' is f64, declared f32: convert with :to(\"f32\")"));
  g->pos.line = 7;
  CHECK(h->nin == 2 && tp_merge_add(g, h, NULL, rest, &e) && h->done);
  CHECK(!tp_merge_add(g, h, X("t == 1"), rest, &e) &&
      failed(TP_E_UNDEFINED,
          "undefined: this branch of 'h' can never be first: the one at a.lua:7 takes every point; "
          "write it before that one"));
  tp_node *w = merge("w", DOM(dt), SHAPE(X("min(t, 5)")));
  CHECK(tp_merge_add(g, w, X("t < 5"), f32("a", DOM(dt), SHAPE(t)), &e) &&
      tp_merge_add(g, w, NULL, f32("b", NODOM, SHAPE(N(5))), &e));
  CHECK(g->shapechecks.n == 0);
  tp_node *k = merge("k", DOM(dt), SHAPE(N(3)));
  CHECK(!tp_merge_add(g, k, NULL, f32("wide", DOM(ds, dt), SHAPE(N(3))), &e) &&
      failed(TP_E_DOMAIN,
          "domain: the branch of 'k' depends on dim 's', which 'k' lacks: declare 'k' with 's' in "
          "its domain, read at one point, x[{s = 0}], or reduce a range, x[{s = 0 .. S}]:sum(0)"));
  tp_set *b0 = tp_branch_set(g, h, 0), *b1 = tp_branch_set(g, h, 1), *b2 = tp_branch_set(g, h, 2),
         *all = tp_set_box(c, 1, (tp_sym *[]){ dt });
  tp_set *both = tp_set_or(tp_set_or(tp_set_copy(b0), tp_set_copy(b1)), tp_set_copy(b2)),
         *cut = tp_set_and(tp_set_copy(b0), tp_set_copy(b1));
  CHECK(tp_set_equal(c, both, all) && tp_set_is_empty(c, cut));
  tp_set_free(both), tp_set_free(cut), tp_set_free(b0), tp_set_free(b1), tp_set_free(b2),
      tp_set_free(all);
  end();
}

static void test_params(void) {
  begin();
  tp_val init = f32("init", DOM(ds), SHAPE(N(2)));
  tp_attr a = { .str = "w",
    .dtype = TP_F32,
    .ndom = 2,
    .dom = (tp_sym *[]){ ds, dt },
    .nalong = 1,
    .along = (tp_sym *[]){ dt },
    .nix = 1,
    .ix = (tp_ix *[]){ N(2) } };
  tp_node *w = tp_build(g, TP_OP_PARAM, 1, &init, &a, &e);
  CHECK(w && is(tp_v(w), "(s t) (2)"));
  CHECK(!tp_param_update(g, w, mk_num(MK(&e), 1, TP_F32), &e) &&
      failed(TP_E_SHAPE, "shape: the update of 'w' has shape (), declared (2)"));
  tp_val half = mk_bin(MK(&e), TP_OP_MUL, tp_v(w), mk_num(MK(&e), .5, TP_F32));
  CHECK(tp_param_update(g, w, half, &e) && w->nin == 2);
  CHECK(!tp_param_update(g, w, half, &e) &&
      failed(TP_E_UNDEFINED,
          "undefined: this update of parameter 'w' can never be first: a.lua:1 updates it already, "
          "and a parameter has one update"));
  a.str = "v";
  tp_val moving = f32("moving", DOM(dt), SHAPE(N(2)));
  CHECK(!tp_build(g, TP_OP_PARAM, 1, &moving, &a, &e) &&
      failed(TP_E_DOMAIN,
          "domain: the first value of parameter 'v' depends on dim 't', along which it evolves"));
  int scc[16], order[16], n = tp_graph_sccs(g, scc, order);
  CHECK(scc[w->id] == scc[half.node->id] && scc[w->id] > scc[init.node->id] && n == g->nodes.n - 1);
  end();
}

static void test_accum(void) {
  begin();
  tp_attr a = {
    .dtype = TP_F32, .ndom = 1, .dom = (tp_sym *[]){ dt }, .nix = 1, .ix = (tp_ix *[]){ N(3) }
  };
  tp_node *y = tp_build(g, TP_OP_ACCUM, 0, NULL, &a, &e);
  tp_val rows = f32("rows", DOM(dt), SHAPE(X("t + 1"), N(3))), x = f32("x", DOM(dt), SHAPE(N(3))),
         u = f32("u", DOM(ds), SHAPE(N(3)));
  CHECK(tp_accum_add(g, y, (tp_edge){ .src = rows, .at = AT(RANGE(zero, X("t + 1"))) }, &e));
  CHECK(tp_accum_add(
      g, y, (tp_edge){ .src = x, .at = AT(POINT(X("t - 1"))), .cond = X("t >= 1") }, &e));
  CHECK(tp_accum_add(g, y,
      (tp_edge){
          .src = u, .at = AT(RANGE(zero, X("t + 1"))), .gather = true, .cond = X("s >= t - 2") },
      &e));
  CHECK(!tp_accum_add(g, y, (tp_edge){ .src = rows, .at = AT(POINT(t)) }, &e) &&
      failed(TP_E_SHAPE,
          "shape: the contribution of the sum of a.lua:1 has shape (t + 1, 3), declared (3)"));
  CHECK(!tp_accum_add(g, y, (tp_edge){ .src = u, .at = AT(POINT(t)) }, &e) &&
      failed(TP_E_DOMAIN, "domain: a contribution to 'sum' mentions a dim that neither side has"));
  /* at t = 2 with T = S = 5: {2, 3, 4}, {3}, {0, 1, 2} */
  for (int k = 0; k < 3; k++) {
    tp_set *at = tp_set_cond(c, 1, y->dom, X("(t == 2 and T == 5 and S == 5)")),
           *p = tp_set_apply(at, tp_edge_rel(g, y, k));
    static const char *const exact[] = { "(s >= 2 and s < 5 and T == 5 and S == 5)",
      "(s == 3 and T == 5 and S == 5)", "(s >= 0 and s < 3 and T == 5 and S == 5)" };
    tp_set *w = tp_set_cond(c, 1, (tp_sym *[]){ ds }, X(exact[k]));
    CHECKF(tp_set_equal(c, p, w), "%s", tp_ix_str(tp_set_to_cond(c, 1, y->dom, p, false)));
    tp_set_free(p), tp_set_free(w);
  }
  end();
}

/* ---- extents ---- */

static void test_extents(void) {
  begin();
  CHECK(tp_extent_eq(g, X("min(t + 1, T)"), X("t + 1"), "a") && g->shapechecks.n == 0);
  CHECK(!tp_extent_eq(g, X("T + 1"), T, "a") && !tp_extent_eq(g, N(3), N(4), "a") &&
      !tp_extent_eq(g, X("t + T + 1"), t, "a"));
  CHECK(!tp_extent_eq(g, X("t + 1"), X("T - t"), "a") && g->shapechecks.n == 0);
  CHECK(tp_extent_eq(g, X("min(t + 1, K)"), X("t + 1"), "window") && g->shapechecks.n == 1 &&
      !g->shapechecks.v[0].b);
  int64_t env[8] = { 0 };
  env[dt->bound->id] = 5;
  tp_run run = { .env = env };
  env[tp_ix_as_sym(K)->id] = 5;
  CHECK(tp_run_check(g, &run, &e));
  env[tp_ix_as_sym(K)->id] = 4;
  CHECK(!tp_run_check(g, &run, &e) && e.code == TP_E_SHAPE && strstr(e.msg, "'window'"));
  memset(&e, 0, sizeof e);
  end();
}

/* ---- graphs ---- */

static void test_sweep(void) {
  begin();
  tp_val x = f32("x", DOM(dt), SHAPE(T)), y = f32("y", NODOM, SHAPE(K)),
         dead = mk_bin(MK(&e), TP_OP_ADD, x, y), z = mk_un(MK(&e), TP_OP_EXP, y);
  int64_t three = 3;
  tp_array *a = tp_array_new(TP_F32, 1, &three);
  tp_attr k = { .data = a };
  tp_node *held = tp_build(g, TP_OP_CONST, 0, NULL, &k, &e);
  CHECK(a->refs == 2 && g->shapechecks.n == 1);
  TP_PUSH(&g->arena, &g->outputs, (tp_output){ .name = "z", .val = z, .pos = { "a.lua", 9 } });
  tp_graph *copy = tp_graph_clone(g, &e);
  CHECK(copy && a->refs == 3 && tp_verify(copy, &e) && tp_graph_hash(copy) == tp_graph_hash(g) &&
      copy->nodes.v[z.node->id] != z.node);
  tp_graph_sweep(copy);
  CHECK(a->refs == 2 && copy->nodes.n == 2 && copy->shapechecks.n == 0 && copy->inputs.n == 2 &&
      copy->inputs.v[0]->id < 0 && copy->inputs.v[1]->id == 0);
  CHECK(tp_verify(copy, &e) && held->id >= 0 && dead.node->id >= 0);
  tp_buf b;
  tp_buf_init(&b);
  tp_graph_print(&b, copy);
  CHECKF(
      strstr(b.s, "inputs 0 = input {str \"x\"} : (t) f32 [T] @ a.lua:1\ninputs 1 = %0\n") != NULL,
      "%s", b.s);
  tp_graph *back = tp_graph_parse(c, b.s, &e), *again = tp_graph_clone(back, &e);
  CHECKF(back && tp_graph_hash(back) == tp_graph_hash(copy) &&
          tp_graph_hash(again) == tp_graph_hash(copy),
      "%s", e.msg);
  tp_buf_free(&b);
  tp_graph_free(back), tp_graph_free(again), tp_graph_free(copy);
  tp_array_unref(a);
  end();
}

static void test_order(void) {
  begin();
  tp_val x = f32("x", DOM(dt), 0, NULL);
  tp_node *h = merge("h", DOM(dt), 0, NULL);
  tp_val prev = tp_read(g, tp_v(h), AT(POINT(X("t - 1"))), &e),
         sum = mk_bin(MK(&e), TP_OP_ADD, prev, x), out = mk_un(MK(&e), TP_OP_EXP, tp_v(h));
  CHECK(tp_merge_add(g, h, X("t == 0"), x, &e) && tp_merge_add(g, h, NULL, sum, &e));
  int scc[8], order[8], place[8], n = tp_graph_sccs(g, scc, order);
  for (int k = 0; k < g->nodes.n; k++) place[order[k]] = k;
  CHECK(n == 3 && scc[x.node->id] == 0 && scc[h->id] == 1 && scc[prev.node->id] == 1 &&
      scc[sum.node->id] == 1 && scc[out.node->id] == 2);
  CHECK(place[prev.node->id] < place[sum.node->id] && place[sum.node->id] < place[h->id] &&
      place[h->id] < place[out.node->id]);
  tp_buf b;
  tp_buf_init(&b);
  tp_graph_dot(&b, g);
  CHECK(strstr(b.s, "n1 -> n2 [style=dashed, label=\"[t - 1]\"]") != NULL);
  b.n = 0;
  tp_val_print(&b, tp_v(h));
  CHECKF(strcmp(b.s, "f32 (t:T) [] \"h\" at a.lua:1") == 0, "%s", b.s);
  tp_buf_free(&b);
  end();
}

/* Every operator's row has distinct text and parses. */
static void test_ops(void) {
  for (int k = 0; k < TP_NOP; k++) {
    tp_op op;
    CHECK(tp_op_parse(tp_ops[k].text, &op) && (int)op == k);
  }
  tp_op op;
  CHECK(!tp_op_parse("frobnicate", &op));
}

/* ---- runs ---- */

static void test_run(void) {
  begin();
  tp_val x = f32("x", DOM(dt), SHAPE(N(3))), y = tp_read(g, x, AT(RANGE(zero, X("t + 1"))), &e);
  TP_PUSH(&g->arena, &g->outputs, (tp_output){ .name = "y", .val = y });
  TP_PUSH(&g->arena, &g->boundchecks,
      (tp_boundcheck){ X("T >= 2"), { "a.lua", 3 }, TP_E_DOMAIN, "domain: needs T >= 2" });
  int64_t env[8] = { 0 }, shape[2] = { 4, 3 };
  env[dt->bound->id] = 4;
  tp_array *a = tp_array_new(TP_F32, 2, shape), *in[1] = { NULL };
  tp_run run = { .env = env, .inputs = in };
  CHECK(!tp_run_check(g, &run, &e) && failed(TP_E_INPUT, "input 'x' is missing"));
  in[0] = a;
  CHECK(tp_run_check(g, &run, &e) && tp_run_alloc(g, &run, &e));
  CHECK(run.outputs[0]->rank == 3 && run.outputs[0]->shape[0] == 4 &&
      run.outputs[0]->shape[1] == 4 && run.outputs[0]->shape[2] == 3);
  tp_run_free_outputs(g, &run);
  env[dt->bound->id] = 1;
  CHECK(!tp_run_check(g, &run, &e) &&
      failed(TP_E_INPUT, "input 'x' has shape (4, 3), needs (T, 3) = (1, 3)"));
  in[0] = tp_array_view(a, 0);
  CHECK(!tp_run_check(g, &run, &e) &&
      failed(TP_E_INPUT, "input 'x' has shape (3), needs (T, 3) = (1, 3)"));
  tp_array_unref(in[0]);
  shape[0] = 1;
  in[0] = tp_array_wrap(TP_F32, 2, shape, a->data);
  CHECK(!tp_run_check(g, &run, &e) && failed(TP_E_DOMAIN, "domain: needs T >= 2"));
  env[dt->bound->id] = -1;
  CHECK(!tp_run_check(g, &run, &e) && failed(TP_E_BOUND, "bound: 'T' is -1, must be at least 0"));
  env[dt->bound->id] = INT64_C(1) << 40;
  CHECK(!tp_run_alloc(g, &run, &e) && e.code == TP_E_MEMORY);
  memset(&e, 0, sizeof e);
  tp_run_free_outputs(g, &run);
  tp_array_unref(in[0]), tp_array_unref(a);
  end();
}

/* ---- arrays: texts are NumPy's ---- */

static bool prints(tp_dtype d, int rank, const int64_t *shape, const double *v, const char *want) {
  tp_array *a = tp_array_new(d, rank, shape);
  for (int64_t k = 0; k < a->count; k++) tp_put(d, a->data, k, v ? v[k] : (double)k);
  tp_buf b;
  tp_buf_init(&b);
  tp_array_print(&b, a);
  bool ok = strcmp(b.s, want) == 0;
  if (!ok) fprintf(stderr, "  have %s\n  want %s\n", b.s, want);
  tp_buf_free(&b);
  tp_array_unref(a);
  return ok;
}

static void test_arrays(void) {
  CHECK(prints(TP_F32, 2, (int64_t[]){ 2, 2 }, (double[]){ 0.1, -2, 3.25, 1 / 3. },
      "[[ 0.1        -2.        ]\n [ 3.25        0.33333334]]"));
  CHECK(
      prints(TP_F64, 1, (int64_t[]){ 3 }, (double[]){ 1e10, 1, 1.5 }, "[1.0e+10 1.0e+00 1.5e+00]"));
  CHECK(
      prints(TP_F32, 1, (int64_t[]){ 3 }, (double[]){ 0. / 0., 1, -1. / 0. }, "[ nan   1. -inf]"));
  CHECK(prints(TP_BOOL, 1, (int64_t[]){ 2 }, NULL, "[False  True]") &&
      prints(TP_I64, 0, NULL, NULL, "0") && prints(TP_F32, 0, NULL, NULL, "0.0"));
  CHECK(prints(TP_I64, 1, (int64_t[]){ 1001 }, NULL, "[   0    1    2 ...  998  999 1000]") &&
      prints(TP_F32, 2, (int64_t[]){ 3, 0 }, NULL, "[]"));
  CHECK(!tp_array_new(TP_F32, 3, (int64_t[]){ INT64_MAX, INT64_MAX, 0 }) &&
      !tp_array_new(TP_F32, 1, (int64_t[]){ -1 }));
  tp_array *a = tp_array_new(TP_F32, 2, (int64_t[]){ 2, 3 }), *v = tp_array_view(a, 1);
  tp_put(TP_F32, a->data, 4, 2.75);
  CHECK(v->rank == 1 && tp_get(TP_F32, v->data, 1) == 2.75 && !tp_array_view(a, 2) &&
      !tp_array_view(a, -1));
  tp_array_unref(a);
  tp_array *i = tp_array_cast(v, TP_I32);
  CHECK(i->dtype == TP_I32 && tp_geti(TP_I32, i->data, 1) == 2);
  tp_array_unref(i), tp_array_unref(v);
}

/* ---- golden texts ---- */

/* A printed text parses, and prints the same. */
static void round_trip(const char *name, const char *text) {
  tp_ictx *ix = tp_ictx_new();
  tp_error err = { 0 };
  tp_graph *h = tp_graph_parse(ix, text, &err);
  tp_buf b;
  tp_buf_init(&b);
  if (h) tp_graph_print(&b, h);
  CHECKF(h && same_text(name, b.s, text), "%s", err.msg);
  tp_graph *copy = h ? tp_graph_clone(h, &err) : NULL;
  CHECK(copy && tp_graph_hash(copy) == tp_graph_hash(h) && tp_verify(copy, &err));
  tp_graph_free(copy);
  tp_buf_free(&b);
  tp_graph_free(h);
  tp_ictx_free(ix);
}

/* Checks what is wrong wherever a text is run, or what its calls are asked. */
static void judged(const char *name, tp_graph *h, const char *late) {
  char text[2200];
  tp_error err = { 0 };
  tp_need *need = tp_need_outputs(h, &err);
  tp_buf b;
  tp_buf_init(&b);
  if (!need || !tp_need_check(h, need, &err))
    tp_putf(&b, "%s\n", tp_error_text(&err, text, sizeof text));
  for (int i = 0; !err.code && i < h->boundchecks.n; i++)
    tp_putf(&b, "at the call: %s\n", h->boundchecks.v[i].msg);
  CHECK(same_text(name, b.n ? b.s : "", late));
  tp_buf_free(&b);
  tp_need_free(need);
}

static void golden(const char *dir, const char *name) {
  char text[2200], path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  char *in = slurp(path), *want = partner(dir, name, ".want"), *wrong = partner(dir, name, ".err"),
       *late = partner(dir, name, ".late");
  tp_ictx *ix = tp_ictx_new();
  tp_error err = { 0 };
  tp_graph *h = tp_graph_parse(ix, in, &err);
  tp_buf b;
  tp_buf_init(&b);
  if (h) tp_graph_print(&b, h);
  else tp_putf(&b, "%s\n", tp_error_text(&err, text, sizeof text));
  if (h && late) judged(name, h, late);
  else CHECK(same_text(name, b.s, h ? want : wrong));
  if (h && want) round_trip(name, want);
  tp_buf_free(&b);
  tp_graph_free(h);
  tp_ictx_free(ix);
  free(in), free(want), free(wrong), free(late);
}

int main(int argc, char **argv) {
  test_ops();
  test_elementwise();
  test_movement();
  test_reads();
  test_composition();
  test_branches();
  test_params();
  test_accum();
  test_extents();
  test_sweep();
  test_order();
  test_run();
  test_arrays();
  each_golden(argc > 1 ? argv[1] : "spec/graph", golden);
  return check_report();
}
