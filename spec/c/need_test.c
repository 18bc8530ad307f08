/* need and legal: which points are needed, what is an error at once, what becomes a check at the
 * call. */
#include "script.h"

static tp_need *need;

static bool judge(void) {
  memset(&err, 0, sizeof err);
  tp_need_free(need);
  need = tp_need_outputs(g, &err);
  return need && tp_need_check(g, need, &err);
}

static void done(void) {
  need = tp_need_free(need);
  program_free();
}

/* v is needed exactly where cond holds in its box. */
static bool needs(tp_val v, const char *cond) {
  const tp_node *n = v.node;
  tp_set *want =
      tp_set_and(tp_set_box(ix, n->ndom, n->dom), tp_set_cond(ix, n->ndom, n->dom, X(cond)));
  bool ok = need && tp_set_equal(ix, want, need->set[n->id]);
  if (!ok && need)
    fprintf(stderr, "needed: %s\nwanted: %s\n",
        tp_ix_str(tp_set_to_cond(ix, n->ndom, n->dom, need->set[n->id], false)), cond);
  tp_set_free(want);
  return ok;
}

static bool one_check(tp_code code, const char *cond) {
  bool ok = g->boundchecks.n == 1 && g->boundchecks.v[0].code == code &&
      g->boundchecks.v[0].cond == X(cond);
  for (int i = 0; !ok && i < g->boundchecks.n; i++)
    fprintf(stderr, "check: %s\n", g->boundchecks.v[i].msg);
  return ok;
}

/* ---- recurrences ---- */

static tp_val chain(dim t, tp_val x, tp_val *step) {
  tp_val h = declare("h", TP_F32, DOM(t));
  *step = add(at1(h, pt(plus(t, -1))), x);
  branch(h, "t == 0", num(0, TP_F32));
  branch(h, NULL, *step);
  return h;
}

static void test_recurrence(void) {
  static const struct {
    const char *read, *h, *step;
  } row[] = {
    { NULL, "true", "t >= 1" },
    { "T - 1", "true", "t >= 1" },
    { "T - 3", "t <= T - 3", "t >= 1 and t <= T - 3" },
    { "0", "t == 0", "false" },
  };
  for (size_t i = 0; i < TP_LEN(row); i++) {
    program_new();
    dim t = dim_new("t");
    tp_val x = input("x", TP_F32, DOM(t)), step, h = chain(t, x, &step);
    output("y", row[i].read ? at1(h, pt(X(row[i].read))) : h);
    CHECKF(judge(), "%s", err.msg);
    CHECK(needs(h, row[i].h) && needs(step, row[i].step) && needs(x, row[i].step));
    done();
  }
}

/* h[5] alone needs h[0] .. h[5] where the domain has a point 5; the check of T >= 6 guards the
 * rest. */
static void test_constant_point(void) {
  program_new();
  dim t = dim_new("t");
  tp_val step, h = chain(t, input("x", TP_F32, DOM(t)), &step);
  output("y", at1(h, pt(K(5))));
  CHECKF(judge(), "%s", err.msg);
  CHECK(needs(h, "t <= 5 and T >= 6") && needs(step, "t >= 1 and t <= 5 and T >= 6") &&
      one_check(TP_E_DOMAIN, "T >= 6"));
  done();
}

static void test_two_lags(void) {
  program_new();
  dim t = dim_new("t");
  tp_val f = declare("f", TP_I64, DOM(t)),
         step = add(at1(f, pt(plus(t, -1))), at1(f, pt(plus(t, -2))));
  branch(f, "t <= 1", num(1, TP_I64));
  branch(f, NULL, step);
  output("y", at1(f, pt(K(9))));
  CHECK(judge() && needs(f, "t <= 9 and T >= 10") && needs(step, "t >= 2 and t <= 9 and T >= 10"));
  done();
}

/* a[t] needs b[t-1], b[t] needs a[t-1]; a[8] alone: even points of a, odd ones of b. */
static void test_two_cut_nodes(void) {
  program_new();
  dim t = dim_new("t");
  tp_val a = declare("a", TP_F32, DOM(t)), b = declare("b", TP_F32, DOM(t));
  branch(a, "t == 0", num(0, TP_F32));
  branch(a, NULL, add(at1(b, pt(plus(t, -1))), num(1, TP_F32)));
  branch(b, "t == 0", num(1, TP_F32));
  branch(b, NULL, add(at1(a, pt(plus(t, -1))), num(2, TP_F32)));
  output("y", at1(a, pt(K(8))));
  CHECK(judge() && needs(a, "t <= 8 and t%2 == 0 and T >= 9") &&
      needs(b, "t <= 7 and t%2 == 1 and T >= 9"));
  done();
}

static void test_backward_and_inside(void) {
  program_new();
  dim i = dim_new("i"), t = dim_new("t");
  tp_val x = input("x", TP_F32, DOM(t)), r = declare("r", TP_F32, DOM(i, t)),
         w = declare("w", TP_F32, DOM(i));
  tp_val next = at2(r, pt(I(i)), pt(plus(t, 1)));
  branch(w, "i == 0", num(1, TP_F32));
  branch(w, NULL, at2(r, pt(plus(i, -1)), pt(K(0))));
  branch(r, "t == T - 1", mul(w, x));
  branch(r, NULL, add(next, mul(w, x)));
  output("w", at1(w, pt(X("I - 1"))));
  CHECKF(judge(), "%s", err.msg);
  CHECK(needs(w, "T >= 1 or i == I - 1") && needs(r, "i <= I - 2") &&
      needs(next, "i <= I - 2 and t <= T - 2"));
  /* I >= 1 for w[I-1]; r[i-1, 0] wants T >= 1 where I >= 2 */
  CHECK(g->boundchecks.n == 2);
  done();
}

static void test_two_dims(void) {
  program_new();
  dim p = dim_new("p"), q = dim_new("q");
  tp_val d = declare("d", TP_I64, DOM(p, q));
  tp_val up = at2(d, pt(plus(p, -1)), pt(I(q))), left = at2(d, pt(I(p)), pt(plus(q, -1)));
  branch(d, "p == 0", val(I(q)));
  branch(d, "q == 0", val(I(p)));
  branch(d, NULL, mk_bin(MK(&err), TP_OP_MINIMUM, up, left));
  output("y", at2(d, pt(K(3)), pt(K(4))));
  CHECKF(judge(), "%s", err.msg);
  CHECK(needs(up, "p >= 1 and p <= 3 and q >= 1 and q <= 4 and P >= 4 and Q >= 5"));
  CHECK(needs(d, "p <= 3 and q <= 4 and P >= 4 and Q >= 5 and (p >= 1 or q >= 1)"));
  done();
}

/* ---- reads ---- */

static void test_windows(void) {
  program_new();
  dim t = dim_new("t");
  tp_val x = input("x", TP_F32, DOM(t));
  output("a", sum0(at1(x, rg(K(0), plus(t, 1)))));
  output("b", sum0(at1(x, rg(X("max(0, t - 2)"), plus(t, 1)))));
  output("c", sum0(at1(x, rg(I(t), X("min(t + 3, T)")))));
  output("d", at1(x, pt(X("t//2"))));
  CHECK(judge() && g->boundchecks.n == 0 && needs(x, "true"));
  done();
}

static void reads(
    const char *lo, const char *hi, tp_code code, const char *text, const char *cond) {
  program_new();
  dim t = dim_new("t");
  tp_val x = input("x", TP_F32, DOM(t));
  g->pos = (tp_pos){ "net.lua", 7 };
  tp_val y = at1(x, hi ? rg(X(lo), X(hi)) : pt(X(lo)));
  output("y", y);
  bool ok = judge();
  if (code) CHECK(!ok && failed(code, text) && err.pos.line == 7);
  else CHECKF(ok && (cond ? one_check(TP_E_DOMAIN, cond) : g->boundchecks.n == 0), "%s", err.msg);
  done();
}

static void test_reads(void) {
  reads("t + 1", NULL, TP_E_DOMAIN,
      "domain: 'x' is read at t = 2 (x[t + 1]), outside 0 .. T-1, e.g. at t = 1 with T = 2", NULL);
  reads("t - 1", NULL, TP_E_DOMAIN,
      "domain: 'x' is read at t = -1 (x[t - 1]), outside 0 .. T-1, e.g. at t = 0 with T = 2", NULL);
  reads("-1", NULL, TP_E_DOMAIN, "'x' is read at t = -1 (x[-1])", NULL);
  reads("T", NULL, TP_E_DOMAIN, "(x[T])", NULL);
  reads("t", "t + 2", TP_E_DOMAIN, "'x' is read at t = 2 (x[t .. t + 2])", NULL);
  reads("t - 1", "t", TP_E_DOMAIN, "'x' is read at t = -1", NULL);
  reads("0", NULL, 0, NULL, "T >= 1");
  reads("T - 1", NULL, 0, NULL, "T >= 1");
  reads("2", "9", 0, NULL, "T >= 9");
  reads("T - 3", "T", 0, NULL, "T >= 3");
  reads("5", "5", 0, NULL, NULL);
  reads("0", "T", 0, NULL, NULL);
  reads("min(t + 10, T - 1)", NULL, 0, NULL, NULL);
}

static void test_advice(void) {
  program_new();
  dim t = dim_new("t");
  tp_val x = input("x", TP_F32, DOM(t));
  output("y", named(add(at1(x, pt(K(-1))), num(1, TP_F32)), "last"));
  CHECK(
      !judge() && strstr(err.notes, "write x[{t = T-1}]") && strstr(err.notes, "'last' needs it"));
  done();
}

static void test_slice(void) {
  program_new();
  dim t = dim_new("t");
  tp_ix *five = K(5);
  tp_val x = node(TP_OP_INPUT, 0, NULL,
      (tp_attr){ .str = "x", .dtype = TP_F32, .ndom = 1, .dom = &t, .nix = 1, .ix = &five });
  output("y", mk_slice(MK(&err), x, 0, I(t), K(1), 1));
  CHECK(judge() && one_check(TP_E_DOMAIN, "T <= 5"));
  output("z", mk_slice(MK(&err), x, 0, plus(t, 4), K(1), 1));
  CHECK(!judge() &&
      failed(TP_E_DOMAIN,
          "elements t + 4 .. t + 5 of axis 0 of 'x' (extent 5) are not all there, e.g. at t = 1 "
          "with T = 2"));
  done();
}

/* Only what is needed is judged: h[t-1] at t = 0 is not. */
static void test_only_needed(void) {
  program_new();
  dim t = dim_new("t");
  tp_val x = input("x", TP_F32, DOM(t)), y = add(at1(x, pt(plus(t, 1))), num(1, TP_F32)),
         h = declare("h", TP_F32, DOM(t));
  branch(h, "t == T - 1", num(0, TP_F32));
  branch(h, NULL, y);
  output("h", h);
  CHECK(judge() && g->boundchecks.n == 0 && needs(y, "t <= T - 2") && needs(x, "t >= 1"));
  done();
}

/* ---- branches ---- */

static void test_undefined(void) {
  program_new();
  dim t = dim_new("t");
  g->pos = (tp_pos){ "net.lua", 3 };
  tp_val h = declare("h", TP_F32, DOM(t));
  g->pos = (tp_pos){ "net.lua", 4 };
  branch(h, "t == 0", num(0, TP_F32));
  /* a domain error as well: undefined is told */
  output("y", at1(h, pt(K(-1))));
  CHECK(!judge() && failed(TP_E_UNDEFINED, "undefined: 'h' has no branch at t = 1 with T = 2") &&
      err.pos.line == 3);
  branch(h, "t == 1", num(0, TP_F32));
  only_output(h);
  CHECK(judge() && one_check(TP_E_UNDEFINED, "T <= 2"));
  g->pos = (tp_pos){ "net.lua", 12 };
  branch(h, "t >= 2", num(1, TP_F32));
  g->pos = (tp_pos){ "net.lua", 13 };
  branch(h, "t == 5", num(2, TP_F32));
  CHECK(!judge() &&
      failed(TP_E_UNDEFINED,
          "undefined: this branch of 'h' can never be first: the branch at net.lua:12 covers it") &&
      err.pos.line == 13);
  done();
  program_new();
  t = dim_new("t");
  h = declare("h", TP_F32, DOM(t));
  branch(h, "t == -1", num(0, TP_F32));
  branch(h, NULL, num(0, TP_F32));
  output("h", h);
  CHECK(!judge() && failed(TP_E_UNDEFINED, "no point of its domain matches it"));
  done();
}

static void test_unread_is_not_judged(void) {
  program_new();
  dim t = dim_new("t");
  tp_val h = declare("h", TP_F32, DOM(t)), x = input("x", TP_F32, DOM(t));
  branch(h, "t == 0", at1(x, pt(K(-1))));
  output("x", x);
  CHECK(judge() && needs(h, "false"));
  done();
}

/* ---- callbacks and accumulations ---- */

static void test_calls(void) {
  program_new();
  dim t = dim_new("t");
  tp_val x = input("x", TP_F32, DOM(t));
  tp_out spec = { TP_F32, 0, NULL };
  tp_val c = node(TP_OP_CALL, 1, &x, (tp_attr){ .ndom = 1, .dom = &t, .nspec = 1, .spec = &spec });
  tp_val unread =
      node(TP_OP_CALL, 1, &x, (tp_attr){ .ndom = 1, .dom = &t, .nspec = 1, .spec = &spec });
  output("y", at1(c, pt(K(3))));
  CHECK(judge() && needs(c, "true") && needs(x, "true") && needs(unread, "false"));
  done();
}

static void test_accum(void) {
  program_new();
  dim t = dim_new("t");
  tp_val x = input("x", TP_F32, DOM(t));
  tp_val y = node(TP_OP_ACCUM, 0, NULL, (tp_attr){ .dtype = TP_F32, .ndom = 1, .dom = &t });
  tp_at later = pt(plus(t, 2)), from = rg(I(t), X("T"));
  CHECK(tp_accum_add(g, y.node, (tp_edge){ .src = x, .at = &later, .cond = X("t%2 == 0") }, &err));
  output("y", at1(y, pt(K(4))));
  CHECK(judge() && needs(x, "t == 2 and T >= 5"));
  tp_val z = node(TP_OP_ACCUM, 0, NULL, (tp_attr){ .dtype = TP_F32, .ndom = 1, .dom = &t });
  CHECK(tp_accum_add(g, z.node, (tp_edge){ .src = x, .at = &from, .gather = true }, &err));
  only_output(at1(z, pt(K(4))));
  CHECK(judge() && needs(x, "t >= 4"));
  done();
}

/* ---- random programs against brute force ---- */

enum { MAXB = 5, MAXNODE = 64 };
static char colour[MAXNODE][MAXB + 1][MAXB + 1]; /* 1: on the path, 2: needed */
static bool cyclic;

static void visit(const tp_node *n, const int64_t *at);

static void visit_box(const tp_node *x, const tp_at *at) {
  int64_t lo[2] = { 0 }, hi[2] = { 1, 1 }, p[2];
  for (int k = 0; k < x->ndom; k++) {
    lo[k] = tp_ix_evalq(at[k].lo, env);
    hi[k] = at[k].range ? tp_ix_evalq(at[k].hi, env) : lo[k] + 1;
  }
  for (p[0] = lo[0]; p[0] < hi[0]; p[0]++)
    for (p[1] = lo[1]; p[1] < hi[1]; p[1]++) visit(x, p);
}

static void visit_same(const tp_node *x) {
  int64_t at[2] = { 0 };
  for (int k = 0; k < x->ndom; k++) at[k] = env[x->dom[k]->id];
  visit(x, at);
}

static void set_point(const tp_node *n, const int64_t *at) {
  for (int k = 0; k < n->ndom; k++) env[n->dom[k]->id] = at[k];
}

static void visit(const tp_node *n, const int64_t *at) {
  int64_t here[2] = { 0 };
  for (int k = 0; k < n->ndom; k++) {
    if (at[k] < 0 || at[k] >= env[n->dom[k]->bound->id]) return;
    here[k] = at[k];
  }
  char *c = &colour[n->id][here[0]][here[1]];
  cyclic |= *c == 1;
  if (*c) return;
  *c = 1;
  bool found = false;
  for (int k = 0; k < n->nin && !found; k++) {
    set_point(n, here);
    if (n->op == TP_OP_READ) visit_box(n->in[k].src.node, n->attr.at);
    else if (n->op != TP_OP_MERGE) visit_same(n->in[k].src.node);
    else if ((found = !n->in[k].cond || tp_ix_evalq(n->in[k].cond, env)))
      visit_same(n->in[k].src.node);
  }
  *c = 2;
}

/* The sets at these bounds against the truth. 0: equal, or a superset where some value needs
 * itself; 1: a superset; 2: points are missing. */
static int compare(tp_ixs member) {
  memset(colour, 0, sizeof colour);
  cyclic = false;
  int extra = 0;
  const tp_node *out = g->outputs.v[0].val.node;
  for (int64_t a = 0; a < (out->ndom > 0 ? env[out->dom[0]->bound->id] : 1); a++)
    for (int64_t b = 0; b < (out->ndom > 1 ? env[out->dom[1]->bound->id] : 1); b++)
      visit(out, (int64_t[]){ a, b });
  for (int i = 0; i < g->nodes.n; i++) {
    const tp_node *n = g->nodes.v[i];
    for (int64_t a = 0; a < (n->ndom > 0 ? env[n->dom[0]->bound->id] : 1); a++)
      for (int64_t b = 0; b < (n->ndom > 1 ? env[n->dom[1]->bound->id] : 1); b++) {
        set_point(n, (int64_t[]){ a, b });
        bool set = tp_ix_evalq(member[i], env), truth = colour[i][a][b] != 0;
        if (truth && !set) return 2;
        extra |= set && !truth && !cyclic;
      }
  }
  return extra;
}

static unsigned rnd(unsigned n) {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % n;
}

static tp_at random_index(dim d) {
  const char *const point[] = { "%s - 1", "%s - 1", "%s - 2", "%s + 1", "%s", "%s//2", "3", "0",
    "max(0, %s - 3)", "2*%s", "%s%%3" };
  const char *const range[][2] = { { "0", "%s" }, { "max(0, %s - 2)", "%s" }, { "%s + 1", "4" },
    { "0", "%s//2" } };
  if (rnd(4)) return pt(X(tp_printf(&g->arena, point[rnd(TP_LEN(point))], d->name)));
  unsigned k = rnd(TP_LEN(range));
  return rg(
      X(tp_printf(&g->arena, range[k][0], d->name)), X(tp_printf(&g->arena, range[k][1], d->name)));
}

static tp_val random_read(tp_val v) {
  tp_at at[2];
  for (int k = 0; k < v.node->ndom; k++) at[k] = random_index(v.node->dom[k]);
  tp_val r = tp_read(g, v, at, &err);
  while (r.node && tp_rankof(r)) r = sum0(r);
  return r;
}

static void random_program(int seed, int *inexact) {
  program_new();
  dim t = dim_new("t"), s = dim_new("s");
  tp_val h[3];
  for (int k = 0; k < 3; k++)
    h[k] = k < 2 && rnd(2) ? declare("h", TP_F32, DOM(t)) : declare("h", TP_F32, DOM(t, s));
  for (int k = 0; k < 3; k++) {
    bool two = h[k].node->ndom == 2;
    tp_val e = num(1, TP_F32);
    for (unsigned i = 0, n = 1 + rnd(2); i < n; i++) {
      tp_val from = h[rnd(2) ? (unsigned)k : rnd(3)];
      e = add(
          e, random_read(!two && from.node->ndom == 2 ? at2(from, pt(I(t)), pt(K(rnd(2)))) : from));
    }
    branch(h[k], rnd(2) ? "t == 0" : "t <= 1", num(0, TP_F32));
    if (two && rnd(2)) branch(h[k], "s == 0", at2(h[k], pt(plus(t, -1)), pt(K(1))));
    if (rnd(3) == 0) branch(h[k], "t == 3", num(0, TP_F32));
    branch(h[k], NULL, e);
  }
  output("y", rnd(2) ? h[2] : at2(h[2], pt(K(rnd(5))), pt(rnd(2) ? X("S - 1") : K(rnd(4)))));
  need = tp_need_outputs(g, &err);
  CHECKF(need && g->nodes.n <= MAXNODE, "program %d: %s", seed, err.msg);
  tp_ix **member = calloc(MAXNODE, sizeof *member);
  for (int i = 0; i < g->nodes.n; i++)
    member[i] = tp_set_to_cond(ix, g->nodes.v[i]->ndom, g->nodes.v[i]->dom, need->set[i], false);
  int worst = 0;
  for (int T = 0; T <= MAXB; T++)
    for (int S = 0; S <= MAXB; S++) {
      set_bound(t, T);
      set_bound(s, S);
      worst = TP_MAX(worst, compare(member));
    }
  CHECKF(worst < 2, "program %d", seed);
  *inexact += worst == 1;
  free(member);
  done();
}

static void test_random_programs(void) {
  enum { PROGRAMS = 100 };
  int inexact = 0;
  for (int i = 0; i < PROGRAMS; i++) random_program(i, &inexact);
  CHECKF(inexact * 5 <= PROGRAMS, "%d programs", inexact);
}

int main(void) {
  test_recurrence();
  test_constant_point();
  test_two_lags();
  test_two_cut_nodes();
  test_backward_and_inside();
  test_two_dims();
  test_windows();
  test_reads();
  test_advice();
  test_slice();
  test_only_needed();
  test_undefined();
  test_unread_is_not_judged();
  test_calls();
  test_accum();
  test_random_programs();
  return check_report();
}
