/* Every pass before and after: spec/opt/<pass>[_case].sdg is read, the pass of that name
 * (src/rt/passes.def) runs, the graph is verified and printed: .want. That text parses and prints
 * the same, but for what no text can say: callbacks of ours (ticks), and bounds that are numbers
 * again (ends). Below stands what a pass that can be switched off does to the work of the whole
 * program: f:explain "work" without it and with it, all others being on but for fuse, so that
 * elements are those of each operator at each point that is executed. */
#include "rt/passes.h"
#include "golden.h"
#include "tempo.h"

static bool covered[TP_NPASS];

static bool has_all(const tp_ticks *t, const tp_node *n) {
  for (int k = 0; k < t->n; k++)
    if (!tp_dom_has(n->ndom, n->dom, t->dim[k])) return false;
  return true;
}

/* Stepped along its last dim; whatever has that dim comes and goes with the ticks. */
static tp_ticks stepped(tp_graph *g) {
  tp_sym **dim = TP_NEWN(&g->arena, tp_sym *, 1);
  bool *fed = TP_NEWN(&g->arena, bool, g->inputs.n),
       *shown = TP_NEWN(&g->arena, bool, g->outputs.n);
  for (int i = 0; i < tp_nsym(g->ix); i++)
    if (tp_sym_at(g->ix, i)->kind == TP_SYM_DIM) *dim = tp_sym_at(g->ix, i);
  tp_ticks t = { 1, dim, fed, shown, TP_NEWN(&g->arena, bool, g->nodes.n),
    TP_NEWN(&g->arena, bool, g->outputs.n) };
  for (int i = 0; i < g->inputs.n; i++) fed[i] = has_all(&t, g->inputs.v[i]);
  for (int i = 0; i < g->outputs.n; i++) shown[i] = has_all(&t, g->outputs.v[i].val.node);
  return t;
}

static bool applied(tp_graph *g, int row, tp_error *err) {
  bool on[TP_NPASS];
  for (int i = 0; i < TP_NPASS; i++) on[i] = true;
  tp_need *need = NULL;
  tp_ticks t = stepped(g);
  bool ok = tp_passes[row].stage != TP_NEEDED || (need = tp_need_outputs(g, err));
  tp_work w = { .g = g, .check = row == TP_PASS_WATCH, .on = on, .ticks = &t, .need = &need };
  ok = ok && tp_pass_run(&w, row, err);
  tp_need_free(need);
  if (ok) tp_graph_prune(g);
  return ok;
}

static void print_into(tp_buf *b, const tp_graph *g) {
  tp_buf_init(b);
  tp_graph_print(b, g);
}

static void reads_back(const char *name, const char *text) {
  tp_ictx *ix = tp_ictx_new();
  tp_error err = { 0 };
  tp_graph *g = tp_graph_parse(ix, text, &err);
  if (CHECKF(g != NULL, "%s: %s", name, err.msg)) {
    tp_buf b;
    print_into(&b, g);
    CHECK(same_text(name, b.s, text));
    tp_buf_free(&b);
    tp_graph_free(g);
  }
  tp_ictx_free(ix);
}

enum { BOUND = 24, NBOUND = 8 };

/* "1,234 elements in 56 runs of regions, 23 turns of loops"; false: it is not compiled, or not for
 * these bounds. */
static bool counted(char *to, size_t size, const char *sdg, const tp_graph *g, const char *passes) {
  const char *name[NBOUND];
  int64_t bound[NBOUND];
  char elements[32], runs[32], turns[32];
  int n = 0;
  for (int i = 0; i < tp_nsym(g->ix) && n < NBOUND; i++)
    if (tp_sym_at(g->ix, i)->kind == TP_SYM_BOUND)
      name[n] = tp_sym_at(g->ix, i)->name, bound[n++] = BOUND;
  tempo_error err;
  tempo_options o = { .size = sizeof o, .tier = "interpreter", .passes = passes };
  tempo_program *p = tempo_program_parse(sdg, &err);
  tempo_function *f = p ? tempo_compile_with(p, &o, &err) : NULL;
  char *text = f ? tempo_explain_for(f, "work", n, name, bound, &err) : NULL;
  bool ok = text &&
      sscanf(text, " %31s %31s elements, and runs of regions, in all; loops turn %31s", elements,
          runs, turns) == 3;
  if (ok)
    snprintf(
        to, size, "%s elements in %s runs of regions, %s turns of loops", elements, runs, turns);
  tempo_text_free(text);
  tempo_function_free(f);
  tempo_program_free(p);
  return ok;
}

static void put_work(tp_buf *b, const char *sdg, const tp_graph *g, const tp_pass *pass) {
  char off[64], without[192], with[192];
  snprintf(off, sizeof off, "fuse=false,%s=false", pass->name);
  if (pass->always || !counted(without, sizeof without, sdg, g, off) ||
      !counted(with, sizeof with, sdg, g, "fuse=false"))
    return;
  tp_putf(b, "-- work, each bound %d: %s\n-- without the pass:  %s\n", BOUND, with, without);
}

static void pair(const char *dir, const char *sdg) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, sdg);
  int row = tp_pass_named(sdg, strcspn(sdg, "._"));
  if (!CHECKF(row >= 0 && tp_passes[row].fn, "%s is named after no pass over graphs", path)) return;
  char *in = slurp(path), *want = partner(dir, sdg, ".want");
  tp_ictx *ix = tp_ictx_new();
  tp_error err = { 0 };
  tp_graph *g = tp_graph_parse(ix, in, &err);
  if (g && (tp_passes[row].stage == TP_CLOSED || tp_passes[row].stage == TP_SWEPT))
    tp_graph_sweep(g);
  if (CHECKF(g && applied(g, row, &err), "%s: %s", path, err.msg)) {
    tp_buf b;
    print_into(&b, g);
    size_t n = b.n;
    put_work(&b, in, g, &tp_passes[row]);
    if (getenv("UPDATE")) write_partner(dir, sdg, ".want", b.s);
    else CHECK(same_text(path, b.s, want));
    b.s[n] = 0;
    if (row != TP_PASS_TICKS && row != TP_PASS_KEEP && row != TP_PASS_ENDS) reads_back(path, b.s);
    tp_buf_free(&b);
    covered[row] = true;
  }
  if (g) tp_graph_free(g);
  tp_ictx_free(ix);
  free(in), free(want);
}

int main(int argc, char **argv) {
  each_golden(argc > 1 ? argv[1] : "spec/opt", pair);
  for (int i = 0; i < TP_NPASS; i++)
    CHECKF(covered[i] || !tp_passes[i].fn, "spec/opt has no pair for %s", tp_passes[i].name);
  return check_report();
}
