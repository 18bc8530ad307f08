/* The plan's text. Programs lie in spec/plan as x.sdg: each is compiled, its plan printed, read and
 * printed again, in its own context and in a fresh one, and both plans run on the same inputs:
 * outputs and calls of callbacks are the same bit for bit. If there is x.want it holds the
 * plan's text. A second argument names a folder into which the texts are written, a third one that
 * of what the passes make. */
#include "interp/interp.h"
#include "cpu/machine.h"
#include "poly/poly.h"
#include "opt/opt.h"
#include "check.h"
#include <dirent.h>
#include <stdlib.h>

static uint64_t seed = 88172645463325252ull;
static uint64_t rnd(void) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return seed;
}
static int64_t below(int64_t n) { return (int64_t)(rnd() % (uint64_t)n); }

/* ---- a program ---- */

typedef struct {
  tp_ictx *ix;
  tp_graph *g;
  tp_poly *poly;
  tp_plan *plan;
  tp_error err;
} prog;

/* Stepped along all of its dims; whatever has them comes and goes with the ticks. */
static bool insert_ticks(tp_graph *g, tp_error *err) {
  tp_sym **dim = TP_NEWN(&g->arena, tp_sym *, tp_nsym(g->ix));
  int n = 0;
  for (int i = 0; i < tp_nsym(g->ix); i++)
    if (tp_sym_at(g->ix, i)->kind == TP_SYM_DIM) dim[n++] = tp_sym_at(g->ix, i);
  bool *fed = TP_NEWN(&g->arena, bool, g->inputs.n + 1),
       *shown = TP_NEWN(&g->arena, bool, g->outputs.n + 1);
  for (int i = 0; i < g->inputs.n; i++) fed[i] = g->inputs.v[i]->ndom == n;
  for (int i = 0; i < g->outputs.n; i++) shown[i] = g->outputs.v[i].val.node->ndom == n;
  tp_ticks t = { n, dim, fed, shown, TP_NEWN(&g->arena, bool, g->nodes.n + 1),
    TP_NEWN(&g->arena, bool, g->outputs.n + 1) };
  tp_work w = { .g = g, .ticks = &t };
  return tp_pass_ticks(&w, err) && tp_pass_keep(&w, err);
}

static bool schedule(prog *p) {
  tp_work w = { .g = p->g };
  tp_need *need = tp_need_outputs(p->g, &p->err);
  bool ok = need && tp_need_check(p->g, need, &p->err);
  tp_need_free(need);
  if (!ok || !tp_pass_sums(&w, &p->err) || !tp_pass_ends(&w, &p->err) || !tp_verify(p->g, &p->err))
    return false;
  need = tp_need_outputs(p->g, &p->err);
  p->poly = need ? tp_lower(p->g, need, &p->err) : NULL;
  tp_need_free(need);
  return p->poly && tp_schedule(p->poly, &p->err);
}

static bool prog_open(prog *p, const char *text, int64_t limit) {
  memset(p, 0, sizeof *p);
  p->ix = tp_ictx_new();
  p->g = tp_graph_parse(p->ix, text, &p->err);
  bool ok = p->g && (strncmp(text, "-- stepped", 10) != 0 || insert_ticks(p->g, &p->err));
  return ok && schedule(p) &&
      (p->plan = tp_plan_build(p->g, p->poly,
           &(tp_planned){ .machine = &tp_cpu_machine, .fuse = true, .limit = limit }, &p->err));
}

static void prog_close(prog *p) {
  tp_poly_free(p->poly);
  tp_graph_free(p->g);
  tp_ictx_free(p->ix);
}

static char *text_of(const tp_plan *p) {
  tp_buf b;
  tp_buf_init(&b);
  tp_plan_print(&b, p);
  tp_puts(&b, "");
  return b.s;
}

/* ---- running ---- */

enum { MAXIN = 16 };
typedef struct {
  tp_array *in[MAXIN], *param[MAXIN];
  int64_t *env;
  bool loaded;
} given;

static void random_elements(tp_array *a) {
  for (int64_t i = 0; i < a->count; i++)
    if (tp_dtype_float(a->dtype)) tp_put(a->dtype, a->data, i, (double)below(2001) / 1000 - 1);
    else tp_puti(a->dtype, a->data, i, below(a->dtype == TP_BOOL ? 2 : 3));
}

/* Random inputs, and a first value for each parameter, with every bound n. */
static given give(const prog *p, int64_t n, bool loaded) {
  given v = { .env = calloc((size_t)tp_nsym(p->ix), sizeof(int64_t)), .loaded = loaded };
  for (int i = 0; i < tp_nsym(p->ix); i++)
    if (tp_sym_at(p->ix, i)->kind == TP_SYM_BOUND) v.env[i] = n;
  tp_run run = { .env = v.env };
  for (int i = 0; i < p->g->inputs.n; i++) {
    const tp_node *x = p->g->inputs.v[i];
    int64_t shape[TP_MAXRANK];
    int rank = tp_run_shape(&run, x->ndom, x->dom, &x->out[0], shape);
    random_elements(v.in[i] = tp_array_new(x->out[0].dtype, rank, shape));
  }
  for (int i = 0; i < p->plan->bufs.n; i++) {
    const tp_pbuf *b = p->plan->bufs.v[i];
    int64_t count = tp_ix_evalq(b->size, v.env);
    if (b->kind == TP_BUF_PARAM && !v.param[b->slot])
      random_elements(v.param[b->slot] = tp_array_new(b->dtype, 1, &count));
  }
  return v;
}

static void given_free(given *v) {
  for (int i = 0; i < MAXIN; i++) tp_array_unref(v->in[i]), tp_array_unref(v->param[i]);
  free(v->env);
}

/* Hashes what it was told; its results are made of that. */
static bool callback(void *ud, const tp_call *c, tp_error *err) {
  uint64_t h = tp_hash(&c->of->fn, sizeof c->of->fn, *(uint64_t *)ud);
  for (int i = 0; i < c->ndim; i++)
    h = tp_hash(
        &c->coord[i], sizeof(int64_t), tp_hash(c->dims[i]->name, strlen(c->dims[i]->name), h));
  for (int i = 0; i < c->nargs; i++) h = tp_hash(c->args[i]->data, tp_array_bytes(c->args[i]), h);
  for (int i = 0; i < c->nres; i++)
    for (int64_t k = 0; k < c->res[i]->count; k++)
      tp_puti(c->res[i]->dtype, c->res[i]->data, k, (int64_t)(h >> 5) % 7 + k);
  *(uint64_t *)ud = h;
  return true;
}

typedef struct {
  tp_run run;
  uint64_t calls;
  bool ok;
  tp_error err;
} result;

static result execute(const prog *p, const tp_plan *plan, const given *v) {
  result r = { .run = { .env = v->env,
                   .inputs = v->in,
                   .params = v->loaded ? v->param : NULL,
                   .seed = 11,
                   .call = callback } };
  tp_exec *x = tp_exec_new(plan, &tp_interp, &r.err);
  r.run.ud = &r.calls;
  r.ok = x && tp_run_alloc(p->g, &r.run, &r.err) && tp_exec_run(x, &r.run, &r.err);
  tp_exec_free(x);
  return r;
}

static bool same_arrays(const tp_array *a, const tp_array *b) {
  return a && b && a->dtype == b->dtype && a->count == b->count &&
      (!a->count || memcmp(a->data, b->data, tp_array_bytes(a)) == 0);
}

/* Is the output kept? One that a callback shows lies nowhere when the run is over. */
static bool is_kept(const tp_plan *p, int output) {
  bool kept = false;
  for (int i = 0; i < p->bufs.n; i++)
    kept |= p->bufs.v[i]->kind == TP_BUF_OUTPUT && p->bufs.v[i]->slot == output;
  return kept;
}

static void compare_runs(
    const char *name, const prog *p, const tp_plan *q, int64_t n, bool loaded) {
  given v = give(p, n, loaded);
  result a = execute(p, p->plan, &v), b = execute(p, q, &v);
  CHECKF(a.ok && b.ok && a.calls == b.calls, "%s at %lld: %s%s", name, (long long)n, a.err.msg,
      b.err.msg);
  for (int i = 0; i < p->g->outputs.n && a.ok && b.ok; i++)
    CHECKF(!is_kept(p->plan, i) || same_arrays(a.run.outputs[i], b.run.outputs[i]),
        "%s at %lld, output %d", name, (long long)n, i);
  tp_run_free_outputs(p->g, &a.run);
  tp_run_free_outputs(p->g, &b.run);
  given_free(&v);
}

/* ---- round trips ---- */

static bool same_text(const char *name, const char *have, const char *want) {
  bool ok = have && want && strcmp(have, want) == 0;
  if (!ok) fprintf(stderr, "-- %s gives\n%s\n", name, have ? have : "nothing");
  return ok;
}

/* In a context that knows nothing, the same text. */
static void round_trip(const char *name, const char *text) {
  tp_ictx *ix = tp_ictx_new();
  tp_error err = { 0 };
  tp_plan *p = tp_plan_parse(ix, &tp_cpu_machine, text, &err);
  char *again = p ? text_of(p) : NULL;
  CHECKF(same_text(name, again, text), "%s:%d %s", err.pos.file ? err.pos.file : "", err.pos.line,
      err.msg);
  free(again);
  tp_plan_free(p);
  tp_ictx_free(ix);
}

static void here_and_back(const char *name, const prog *p, const char *text) {
  tp_error err = { 0 };
  int nsym = tp_nsym(p->ix);
  tp_plan *q = tp_plan_parse(p->ix, &tp_cpu_machine, text, &err);
  if (!CHECKF(q && tp_nsym(p->ix) == nsym, "%s:%d %s", name, err.pos.line, err.msg)) return;
  char *again = text_of(q);
  CHECK(same_text(name, again, text) && q->npos == p->plan->npos);
  for (int i = 0; i < 3; i++) compare_runs(name, p, q, (int64_t[]){ 5, 1, 8 }[i], i == 2);
  free(again);
  tp_plan_free(q);
}

/* With everything that may be in a file: the same results as the plan of that text, and a text that
 * reads back; so does that of a plan that is reproducible, too. */
static void in_a_file(const char *name, const char *in, const char *text) {
  prog p;
  tp_error err = { 0 };
  if (CHECKF(prog_open(&p, in, TP_SPILL_ALL), "%s: %s", name, p.err.msg)) {
    tp_plan *q = tp_plan_parse(p.ix, &tp_cpu_machine, text, &err);
    if (CHECKF(q && tp_plan_check(p.plan, &err), "%s:%d %s", name, err.pos.line, err.msg)) {
      for (int i = 0; i < 3; i++) compare_runs(name, &p, q, (int64_t[]){ 5, 1, 8 }[i], i == 2);
      p.plan->reproducible = true;
      char *limited = text_of(p.plan);
      here_and_back(name, &p, limited);
      round_trip(name, limited);
      free(limited);
    }
    tp_plan_free(q);
  }
  prog_close(&p);
}

/* ---- wrong texts ---- */

/* Reads a text that may be anything; what reads is printed and made ready to run. True: it was
 * read. */
static bool survive(const char *text) {
  tp_ictx *ix = tp_ictx_new();
  tp_error err = { 0 };
  tp_plan *p = tp_plan_parse(ix, &tp_cpu_machine, text, &err);
  if (!p) CHECKF(err.code == TP_E_FILE, "%s: %s\n%s", tp_code_word(err.code), err.msg, text);
  bool ok = p != NULL;
  if (p) {
    free(text_of(p));
    tp_exec_free(tp_exec_new(p, &tp_interp, &err));
  }
  tp_plan_free(p);
  tp_ictx_free(ix);
  return ok;
}

#ifndef CHARACTERS
#define CHARACTERS 800000 /* of mutated texts, for each program */
#endif

static size_t mutate(char *s, size_t n) {
  static const char likely[] = "0123456789{}[]();:,+-*= \nbimt%/\"@";
  for (int64_t k = 1 + below(3); k > 0; k--) {
    size_t at = (size_t)below((int64_t)n);
    int64_t how = below(8);
    if (how == 0) s[at] = (char)(1 + below(255));
    else if (how == 1) memmove(s + at, s + at + 1, n-- - at);
    else if (how == 2) {
      char c = s[at];
      s[at] = s[n - 1 - at];
      s[n - 1 - at] = c;
    } else s[at] = likely[below(sizeof likely - 1)];
  }
  return n;
}

static void test_mutations(const char *text) {
  size_t n = strlen(text);
  int read = 0, times = (int)(CHARACTERS / (n + 400)) + 20;
  char *s = malloc(n + 1);
  for (int i = 0; i < times; i++) {
    memcpy(s, text, n + 1);
    mutate(s, n);
    read += survive(s);
  }
  for (size_t at = 0; at < n; at += 1 + n / 60) { /* and cut off */
    memcpy(s, text, at);
    s[at] = 0;
    read += survive(s);
  }
  CHECK(read < times);
  free(s);
}

/* `text` with the first `from` replaced. */
static char *replaced(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  tp_buf b;
  if (!CHECKF(at != NULL, "no %s in\n%s", from, text)) return NULL;
  tp_buf_init(&b);
  tp_putn(&b, text, (size_t)(at - text));
  tp_puts(&b, to);
  tp_puts(&b, at + strlen(from));
  return b.s;
}

static const char base[] =
    "dim t:T\n"
    "var t1\n"
    "var a0\n"
    "ends T\n"
    "output f32 (t) [3] \"y\" @ a.lua:2\n"
    "c0 fn 4 (t) gives f32 \"f\" @ a.lua:3\n"
    "reproducible\n"
    "limit 4096\n"
    "b0 input 0 f32 \"x\" [T][3] size 3*T\n"
    "b1 output 0 f32 \"y\" [T][3] size 3*T\n"
    "b2 temp f32 \"s\" [][] size 1 life 0..2\n"
    "b3 const i64 \"k\" [][2] size 2 data [2] 2 -1\n"
    "b4 param 0 f32 \"w\" [][] size 1\n"
    "b5 temp f32 \"o\" [][3] size 3 life 0..2\n"
    "for t1 = 0 .. T step 1 of t {\n"
    "  spill b2 rows 0 for 1\n"
    "  loop over | sum a0 = 0 for 3 out b2{0; lead 0} in b0{3*t1; lead 1} @ a.lua:1\n"
    "  if t1 >= 1 {\n"
    "    loop over | a0 = 0 for 3 [mul:f32(i0,i1) add:f32(m0,i0)] -> m1 out b1{3*t1; lead 1} in "
    "b0{3*t1; lead 1} b2{0; lead 0} \"y\" @ a.lua:2\n"
    "    call c0 out b5{0; box 3 by 1} in b0{3*t1; box 3 by 1} at(t = t1) \"f\" @ a.lua:3\n"
    "    op cumprod out b5{0; box 3 by 1} in b0{3*t1; box 3 by 1}\n"
    "  } else {\n"
    "    loop over | a0 = 0 for 3 out b1{3*t1; lead 1} in b0{0; ring t1 mod T by 3; lead 1}\n"
    "  }\n"
    "}\n";

static const struct {
  const char *from, *to, *why;
} wrong[] = {
  { "out b2{", "out b7{", "no such buffer" },
  { "limit 4096", "limit 0", "no such limit" },
  { "reproducible", "reproducible 1", "" },
  { "spill b2", "spill b0", "rows of a temp" },
  { "spill b2", "spill b7", "rows of a temp" },
  { "spill b2", "spill b2 by 0", "rows of a temp" },
  { "spill b2", "fetch 2", "a buffer is wanted" },
  { "rows 0 for 1", "rows q for 1", "unknown symbol" },
  { "out b2{", "out b0{", "not to be written" },
  { "out b2{", "out none{", "result is missing" },
  { "in b0{3*t1; lead 1} @", "in b4{0; lead 1} @", "by pinit alone" },
  { "in b0{3*t1; lead 1} @", "in b3{0; lead 1} @", "no operator" },
  { "in b0{3*t1; lead 1} @", "@", "no operator" },
  { "in b0{3*t1; lead 1} @", "in b0{t; lead 1} @", "a dim has no value" },
  { "in b0{3*t1; lead 1} @", "in b0{q; lead 1} @", "unknown symbol" },
  { "in b0{3*t1; lead 1} @", "in b0{t1 >= 1; lead 1} @", "a number is wanted" },
  { "  if t1 >= 1 {", "  behind {", "an expression is wanted" },
  { "  if t1 >= 1 {", "  behind t1 {", "nothing more is wanted" },
  { "  if t1 >= 1 {", "  wait {", "nothing more is wanted" },
  { "for t1 = 0 .. T step 1 of t {", "for t1 = 0 .. T step 1 of t parallel {", "'{' is wanted" },
  { "ends T", "ends t", "a bound is wanted" },
  { "output f32 (t)", "output f32 (t1)", "a dim is wanted" },
  { "b1 output 0", "b1 output 1", "there is no such output" },
  { "c0 fn 4 (t)", "c1 fn 4 (t)", "in order" },
  { "c0 fn 4 (t)", "c0 fun 4 (t)", "unknown word" },
  { "c0 fn 4 (t)", "c0 fn 4 (over t)", "points of other dims" },
  { "gives f32", "gives f32, f32", "number of results" },
  { "call c0", "call c1", "no such callback" },
  { "call c0", "call", "a callback is wanted" },
  { "at(t = t1)", "at(t1)", "a coordinate without its dim" },
  { "at(t = t1) ", "", "points of other dims" },
  { "box 3 by 1", "box 3 by 1, 2", "as many as were said" },
  { "box 3 by 1", "box 3 by 1; wrap 1 at 0 mod 2", "axis that wraps" },
  { "box 3 by 1", "box 3 by 1; lead 1", "'}' is wanted" },
  { "{0; lead 0}", "{0; lead 0, 1}", "leading axes" },
  { "lead 0} in", "lead 0; box 3 by 1} in", "axes of its own" },
  { "sum a0", "som a0", "a variable is wanted" },
  { "lead 0} in", "lead 0} max= in", "by another operator" },
  { "op cumprod", "op neg", "said by a loop" },
  { "out b5{0; box 3 by 1} in", "out b5{0; box 3 by 1} += in", "does not accumulate" },
  { "box 3 by 1", "box 9223372036854775807 by 4*t1*9223372036854775807", "too large" },
  { "op cumprod", "op cumprod {axis 1}", "axes do not fit" },
  { "op cumprod", "op cumprod {pad 0}", "unknown attribute" },
  { "op cumprod", "op cumprood", "unknown operator" },
  { "op cumprod", "summ", "unknown word" },
  { "m0,i0", "m1,i0", "after its use" },
  { "m0,i0", "i2,i0", "after its use" },
  { "mul:f32", "mul:f64", "other dtypes" },
  { "mul:f32(i0,i1)", "sort:f32(i0)", "not elementwise" },
  { "-> m1", "-> m2", "nothing makes" },
  { "-> m1", "-> m1 m0", "as many as were said" },
  { "step 1", "step 0", "no such step" },
  { "for t1", "for t2", "a variable is wanted" },
  { "if t1 >= 1", "if t1", "a condition is wanted" },
  { "life 0..2", "life 0..5", "life" },
  { "life 0..2", "life 2..0", "life" },
  { "data [2] 2 -1", "data [2] 22", "an integer is wanted" },
  { "data [2] 2 -1", "data [2] 2 1 3", "more data" },
  { "data [2] 2 -1", "data [4000000000000] 2", "a number is wanted" },
  { "b1 output", "b2 output", "in order" },
  { "var t1", "var T", "something else" },
  { "var t1", "bound and", "not a name" },
  { "  }\n}\n", "", "'}' is wanted" },
  { "dim t:T", "}", "a word is wanted" },
};

static char *nested(int depth) {
  tp_buf b;
  tp_buf_init(&b);
  for (int i = 0; i < depth; i++) tp_puts(&b, "if true {\n");
  return b.s;
}

static void test_wrong(void) {
  round_trip("base", base);
  for (size_t i = 0; i < TP_LEN(wrong); i++) {
    char *text = replaced(base, wrong[i].from, wrong[i].to);
    tp_ictx *ix = tp_ictx_new();
    tp_error err = { 0 };
    tp_plan *p = text ? tp_plan_parse(ix, &tp_cpu_machine, text, &err) : NULL;
    CHECKF(!p && err.code == TP_E_FILE && strstr(err.msg, wrong[i].why) && err.pos.line > 0,
        "%s -> %s: line %d, %s", wrong[i].from, wrong[i].to, err.pos.line, err.msg);
    tp_plan_free(p);
    tp_ictx_free(ix);
    free(text);
  }
  char *deep = nested(3000);
  survive(deep);
  free(deep);
  test_mutations(base);
  CHECK(survive("") && survive("\n-- nothing\n"));
}

/* ---- golden texts ---- */

static char *slurp(const char *dir, const char *name, int n, const char *ext) {
  char path[512], part[4096];
  snprintf(path, sizeof path, "%s/%.*s%s", dir, n, name, ext);
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  tp_buf b;
  tp_buf_init(&b);
  for (size_t k; (k = fread(part, 1, sizeof part, f)) > 0;) tp_putn(&b, part, k);
  fclose(f);
  tp_puts(&b, "");
  return b.s;
}

static void write_text(const char *into, const char *name, int n, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%.*s.want", into, n, name);
  FILE *f = fopen(path, "wb");
  if (!CHECK(f != NULL)) return;
  fputs(text, f);
  fclose(f);
}

static void test_program(const char *dir, const char *name, const char *into) {
  int n = (int)strlen(name) - 4;
  char *in = slurp(dir, name, n, ".sdg"), *want = slurp(dir, name, n, ".want");
  prog p;
  if (CHECKF(in && prog_open(&p, in, 0), "%s: %s", name, p.err.msg)) {
    char *text = text_of(p.plan);
    CHECKF(tp_plan_check(p.plan, &p.err), "%s: %s", name, p.err.msg);
    if (want) CHECK(same_text(name, text, want));
    here_and_back(name, &p, text);
    round_trip(name, text);
    test_mutations(text);
    if (into) write_text(into, name, n, text);
    in_a_file(name, in, text);
    free(text);
  }
  prog_close(&p);
  free(in), free(want);
}

static void test_programs(const char *dir, const char *into) {
  struct dirent *d;
  DIR *all = opendir(dir);
  int n = 0;
  while (all && (d = readdir(all))) {
    size_t len = strlen(d->d_name);
    if (len < 5 || strcmp(d->d_name + len - 4, ".sdg") != 0) continue;
    test_program(dir, d->d_name, into);
    n++;
  }
  CHECKF(n >= 12, "%d programs in %s", n, dir);
  if (all) closedir(all);
}

/* Each pass of passes.def by itself, on a text: x.plan becomes x.want. */
static void test_passes(const char *dir, const char *into) {
  static const char *const names[] = {
#define P(name, fn, when, says) name,
#include "plan/passes.def"
  };
  for (size_t i = 0; i < TP_LEN(names); i++) {
    int n = (int)strlen(names[i]);
    char *before = slurp(dir, names[i], n, ".plan"), *want = slurp(dir, names[i], n, ".want");
    tp_ictx *ix = tp_ictx_new();
    tp_error err = { 0 };
    const tp_planned asked = { .fuse = true, .threads = 2, .limit = TP_SPILL_ALL };
    tp_plan *p = before ? tp_plan_parse(ix, &tp_cpu_machine, before, &err) : NULL;
    if (CHECKF(p && tp_plan_passes(p, &asked, names[i], &err), "%s: %s", names[i], err.msg)) {
      char *text = text_of(p->teams ? &p->teams->plan : p);
      if (into) write_text(into, names[i], n, text);
      else CHECKF(want && same_text(names[i], text, want), "%s", names[i]);
      round_trip(names[i], text);
      free(text);
    }
    tp_plan_free(p);
    tp_ictx_free(ix);
    free(before), free(want);
  }
}

int main(int argc, char **argv) {
  test_wrong();
  test_programs(argc > 1 ? argv[1] : "spec/plan", argc > 2 ? argv[2] : NULL);
  test_passes("spec/plan/passes", argc > 3 ? argv[3] : NULL);
  return check_report();
}
