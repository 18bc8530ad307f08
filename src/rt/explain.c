/* explain: writes what was made of a program, as text, a section at a time. */
#include "rt/fn.h"
#include <stdlib.h>

static const char *const sections[] = { "graph", "schedule", "storage", "memory", "work", "plan",
  "threads", "code", "kernels", "passes", "rules", "evolution", "dot" };

/* ---- passes ---- */

static int count_blocks(const tp_tree *t) {
  int n = t && t->kind == TP_T_FOR && t->block > 0;
  for (int i = 0; t && i < t->n; i++) n += count_blocks(t->kid[i]);
  return n;
}

static int run_over_dims(const tp_poly *p) {
  int n = 0;
  for (int i = 0; i < p->stmts.n; i++) n += p->stmts.v[i]->vec != 0;
  return n;
}

static void passes(tp_buf *b, tp_fn *f) {
  if (f->tier == TP_TIER_REFERENCE)
    tp_puts(b, "the reference evaluator executes the program as recorded: no pass changes it\n");
  for (int i = 0; i < TP_NPASS; i++) {
    const int *did = f->did[i];
    tp_putf(b, "%-12s %-6s %s", tp_passes[i].name,
        tp_passes[i].always ? "always"
            : f->opt.on[i]  ? "on"
                            : "off",
        tp_passes[i].says);
    if (f->poly && f->opt.on[i]) {
      if (i == TP_PASS_VECTORIZE)
        tp_putf(b, ": %d of %d statements", run_over_dims(f->poly), f->poly->stmts.n);
      else if (i == TP_PASS_TILE) tp_putf(b, ": %d loops", count_blocks(f->poly->tree));
      else if (did[0] == did[1]) tp_putf(b, ": %d operators stay", did[0]);
      else tp_putf(b, ": %d operators become %d", did[0], did[1]);
    }
    tp_puts(b, "\n");
  }
}

/* ---- notes of one pass, or of all except those of explain "evolution" ---- */

static void told(tp_buf *b, const tp_fn *f, const char *pass, const char *none) {
  const tp_graph *g = f->ticking ? f->steps.graph : f->graph;
  int n = 0;
  TP_EACH (const tp_told, t, g->told) {
    if (pass ? strcmp(t->pass, pass) != 0 : !strcmp(t->pass, "evolve")) continue;
    if (t->pos.file) tp_putf(b, "%s:%d: ", t->pos.file, t->pos.line);
    tp_putf(b, "%s%s%s\n", pass ? "" : t->pass, pass ? "" : ": ", t->text);
    n++;
  }
  if (!n) tp_putf(b, "%s\n", none);
}

/* ---- summary ---- */

static void put_tick_dims(tp_buf *b, const tp_fn *f, int n) {
  for (int k = 0; k < n; k++) tp_putf(b, "%s%s", k ? ", " : "", f->tick[k]->name);
}

/* Puts the outputs that have the outer n tick dims. */
static void put_shown(tp_buf *b, const tp_fn *f, int n) {
  const char *before = n == f->ntick ? "; at each tick: " : "; with the last tick of each ";
  for (int i = 0; f->shown && i < f->graph->outputs.n; i++) {
    if (!f->shown[i] || tp_tick_depth_of(f, i) != n) continue;
    tp_puts(b, before);
    if (*before == ';' && n < f->ntick) put_tick_dims(b, f, n), tp_puts(b, ": ");
    tp_puts(b, f->graph->outputs.v[i].name);
    before = ", ";
  }
}

static void put_ticks(tp_buf *b, const tp_fn *f) {
  if (!f->ntick) return;
  tp_puts(b, "steps go through ");
  put_tick_dims(b, f, f->ntick);
  for (int n = f->ntick; n > 0; n--) put_shown(b, f, n);
  tp_puts(b, "\n");
}

/* Puts conditions on bounds, each once, and none that another implies. */
static void put_checks(tp_buf *b, const tp_fn *f) {
  tp_ictx *c = f->graph->ix;
  tp_ix *all = tp_ix_bool(c, true);
  for (int i = 0; i < f->graph->boundchecks.n; i++)
    all = tp_ix_and(all, f->graph->boundchecks.v[i].cond);
  if (tp_ix_kind(all) == TP_IX_TRUE) return;
  for (int i = 0; tp_ix_conjunct(all, i); i++)
    tp_putf(b, "%s%s\n", i ? "      and " : "needs ", tp_ix_said(tp_ix_conjunct(all, i)));
}

static int fused(const tp_poly *p) {
  int n = 0;
  for (int i = 0; i < p->stmts.n; i++) n += TP_MAX(p->stmts.v[i]->nnode - 1, 0);
  return n;
}

static void put_checked(tp_buf *b, const tp_fn *f, const tp_graph *g) {
  int n = 0;
  TP_NODES (x, g->nodes) n += x->attr.check == TP_CHECK_NAN;
  if (f->opt.check)
    tp_putf(b, "%d of them are looked at for NaN and infinity, each by itself\n", n);
}

static bool summary(tp_fn *f, const int64_t *env, tp_buf *b) {
  const tp_poly *p = f->poly;
  const tp_graph *g = f->ticking ? f->steps.graph : f->graph;
  tp_putf(b, "tier %s%s, %d operators", tp_tier_names[f->tier],
      f->tier != TP_TIER_AUTO  ? ""
          : tp_fn_is_native(f) ? " (native code)"
                               : " (interpreter)",
      g->nodes.n);
  if (!p) {
    tp_puts(b, ", evaluated point by point as they are asked for\n");
    put_checked(b, f, g);
    if (f->limit) tp_puts(b, "it keeps every value, whatever memory = says\n");
    put_ticks(b, f);
    put_checks(b, f);
    return true;
  }
  tp_putf(b, ", %d statements, %d fused into them, %d arrays\n", p->stmts.n, fused(p), p->arrs.n);
  put_checked(b, f, g);
  if (tp_fn_why_not_native(f))
    tp_putf(b, "no native code: %s; the interpreter runs the plan\n", tp_fn_why_not_native(f));
  tp_putf(b,
      "order of loops proved with %d isl queries (%ld spaces); ms: schedule %.1f, proof %.1f, tree "
      "%.1f, storage %.1f\n",
      p->nquery, tp_isl_spaces(f->program->ix), p->ms_schedule, p->ms_proof, p->ms_tree,
      p->ms_live);
  tp_poly_print_unknown(b, p);
  if (f->threads > 1) tp_putf(b, "%d threads share what explain \"threads\" says\n", f->threads);
  put_ticks(b, f);
  put_checks(b, f);
  int64_t bytes = env ? tp_exec_memory(f->exec, env) : 0;
  if (env && bytes >= 0)
    tp_putf(b, "needs %lld bytes besides inputs and outputs\n", (long long)bytes);
  tp_poly_print_summary(b, p, env);
  return bytes >= 0;
}

/* ---- memory ---- */

enum { LINES = 40, BAR = 40, TOP = 8 };

/* buf NULL: working memory of the region at pos */
typedef struct held_piece {
  const tp_pbuf *buf;
  int pos;
  int64_t bytes;
} held_piece;
typedef struct chart {
  tp_buf *b;
  tp_fn *f;
  const tp_plan *plan;
  const int64_t *env;
  const tp_places *places;
  int64_t *live; /* by position */
  /* by position; NULL: does not run for these bounds */
  const tp_pnode **region;
  int peak;
  bool ok;
} chart;

static void note_region(void *ud, const tp_pnode *x, const int64_t *lo, const int64_t *hi) {
  if (x->kind == TP_P_REGION) ((chart *)ud)->region[x->pos] = x;
}

static bool fill_chart(chart *c) {
  const tp_plan *p = c->plan;
  if (!tp_plan_reach(p, c->env, note_region, c)) return false;
  for (int i = 0; i < p->npos; i++) c->live[i] = c->places->load[i];
  for (int i = 0; i < p->bufs.n; i++) {
    const tp_pbuf *b = p->bufs.v[i];
    for (int k = b->first; c->places->at[i] >= 0 && k <= b->last; k++)
      c->live[k] += c->places->bytes[i];
  }
  for (int i = 0; i < p->npos; i++)
    if (c->region[i] && (!c->region[c->peak] || c->live[i] > c->live[c->peak])) c->peak = i;
  return true;
}

typedef struct {
  char s[32];
} digits;

static digits commas(int64_t v) {
  char s[24];
  digits out;
  int n = snprintf(s, sizeof s, "%lld", (long long)v), k = 0;
  for (int i = 0; i < n; i++) {
    out.s[k++] = s[i];
    if ((n - 1 - i) % 3 == 0 && i < n - 1) out.s[k++] = ',';
  }
  out.s[k] = 0;
  return out;
}

static int loops_around(const tp_pnode *x, const tp_pnode *loop[64]) {
  int n = 0;
  for (x = x->up; x && n < 64; x = x->up)
    if (x->kind == TP_P_FOR) loop[n++] = x;
  return n;
}

/* "for i, t: matmul@net.lua:7" */
static void put_place(tp_buf *b, const tp_plan *plan, const tp_pnode *x) {
  const tp_pnode *loop[64];
  int n = loops_around(x, loop);
  for (int i = n - 1; i >= 0; i--)
    tp_putf(b, "%s%s%s", i == n - 1 ? "for " : ", ",
        (loop[i]->label ? loop[i]->label : loop[i]->var)->name, i ? "" : ": ");
  const tp_region *r = x->rg;
  const tp_pbuf *to = r->nout && r->out[0].buf >= 0 ? plan->bufs.v[r->out[0].buf] : NULL;
  if (r->who.name) tp_puts(b, r->who.name);
  else if (to && to->name && (to->kind == TP_BUF_TEMP || !r->pos.file)) tp_puts(b, to->name);
  else tp_putf(b, "%s@%d", tp_op_said(tp_region_op(r)), r->pos.line);
}

/* Puts at most LINES lines: each stands for several regions and shows the most among them. */
static void put_plot(tp_buf *b, const chart *c) {
  int n = 0;
  for (int i = 0; i < c->plan->npos; i++) n += c->region[i] != NULL;
  int each = TP_MAX((n + LINES - 1) / LINES, 1), best = -1, seen = 0;
  for (int i = 0; i < c->plan->npos; i++) {
    if (!c->region[i]) continue;
    if (best < 0 || c->live[i] > c->live[best]) best = i;
    if (++seen % each && seen < n) continue;
    int bar = c->live[c->peak]
        ? (int)((c->live[best] * BAR + c->live[c->peak] - 1) / c->live[c->peak])
        : 0;
    tp_putf(b, "%14s |%.*s%*s| ", commas(c->live[best]).s, bar,
        "########################################", BAR - bar, "");
    put_place(b, c->plan, c->region[best]);
    tp_puts(b, best == c->peak ? "  <- peak\n" : "\n");
    best = -1;
  }
}

static int by_bytes(const void *pa, const void *pb) {
  const held_piece *a = pa, *b = pb;
  return a->bytes != b->bytes ? (a->bytes > b->bytes ? -1 : 1) : a->pos - b->pos;
}

/* ": T*4 bytes" */
static void put_size(tp_buf *b, const tp_pbuf *x) {
  tp_putf(b, "%s: ", x->name ? x->name : "?");
  tp_ix_print(b, tp_ix_mulc(x->size, tp_dtype_size(x->dtype)));
  tp_puts(b, " bytes");
}

static void put_line(tp_buf *b, tp_pos pos) {
  if (pos.file) tp_putf(b, "  -- %s:%d", pos.file, pos.line);
  tp_puts(b, "\n");
}

static void put_piece(tp_buf *b, const held_piece *x) {
  tp_putf(b, "%14s  ", commas(x->bytes).s);
  if (x->buf->kind == TP_BUF_WORK) {
    tp_puts(b, "working memory of the operator\n");
    return;
  }
  put_size(b, x->buf);
  put_line(b, x->buf->pos);
}

/* Puts the buffers alive at the peak, the largest first. */
static void put_top(tp_buf *b, tp_arena *a, const chart *c) {
  held_piece *v = TP_NEWN(a, held_piece, c->plan->bufs.n + 1);
  int n = 0;
  for (int i = 0; i < c->plan->bufs.n; i++) {
    const tp_pbuf *x = c->plan->bufs.v[i];
    if (c->places->at[i] >= 0 && x->first <= c->peak && c->peak <= x->last)
      v[n++] = (held_piece){ x, i, c->places->bytes[i] };
  }
  qsort(v, (size_t)n, sizeof *v, by_bytes);
  int64_t rest = 0;
  for (int i = 0; i < n; i++)
    if (i < TOP) put_piece(b, &v[i]);
    else rest += v[i].bytes;
  if (n > TOP) tp_putf(b, "%14s  %d others\n", commas(rest).s, n - TOP);
}

static void formulas(tp_buf *b, const tp_plan *p) {
  for (int i = 0; i < p->bufs.n; i++) {
    const tp_pbuf *x = p->bufs.v[i];
    if (x->kind != TP_BUF_TEMP || x->first < 0) continue;
    put_size(b, x);
    tp_putf(b, " from region %d to %d", x->first, x->last);
    put_line(b, x->pos);
  }
  tp_puts(b, "with bounds, f:explain(\"memory\", { T = 100 }), this is over time\n");
}

static void put_spilled(tp_buf *b, const chart *c) {
  const tp_places *p = c->places;
  if (p->total > p->arena) tp_puts(b, "in a file, of which only rows in use are in memory:\n");
  for (int i = 0; i < c->plan->bufs.n; i++) {
    const tp_pbuf *x = c->plan->bufs.v[i];
    if (!p->out[i]) continue;
    tp_putf(b, "%14s  %s", commas(p->as[i].bytes).s, x->name ? x->name : "?");
    int d = p->as[i].dim;
    if (d >= 0 && i < c->f->poly->arrs.n)
      tp_putf(
          b, ", row by row of %s", c->f->poly->arrs.v[i]->dim[x->order ? x->order[d] : d]->name);
    tp_putf(b, ", at most %s in memory", commas(p->as[i].most).s);
    put_line(b, x->pos);
  }
}

static void put_total(tp_buf *b, const chart *c) {
  const tp_places *p = c->places;
  int64_t limit = c->plan->limit;
  tp_putf(b, "%s bytes of arena", commas(p->arena).s);
  if (p->total > p->arena)
    tp_putf(b, " and at most %s of a file mapped", commas(p->total - p->arena).s);
  tp_putf(b, "; at most %s are in use at once\n", commas(c->live[c->peak]).s);
  if (limit && limit != TP_SPILL_ALL)
    tp_putf(b, "the limit is %s%s\n", commas(limit).s,
        p->total <= limit ? "" : ": a call with these bounds is refused");
}

static void put_rows(tp_buf *b, const tp_fn *f) {
  if (f->rows)
    tp_putf(b, "blocks have at most %lld row%s, as more would not keep to the limit of memory\n",
        (long long)f->rows, f->rows == 1 ? "" : "s");
}

static void put_memory(void *ud, const tp_places *places) {
  chart *c = ud;
  tp_arena a;
  tp_scratch_init(&a);
  c->plan = c->f->plan;
  c->places = places;
  c->live = TP_NEWN(&a, int64_t, c->plan->npos + 1);
  c->region = TP_NEWN(&a, const tp_pnode *, c->plan->npos + 1);
  c->ok = fill_chart(c);
  if (c->ok && !c->region[c->peak]) tp_puts(c->b, "nothing runs with these bounds\n");
  else if (c->ok) {
    put_total(c->b, c);
    put_plot(c->b, c);
    tp_puts(c->b, "at the peak:\n");
    put_top(c->b, &a, c);
    put_spilled(c->b, c);
    put_rows(c->b, c->f);
  }
  tp_arena_free(&a);
}

static bool memory(tp_fn *f, const int64_t *env, tp_buf *b) {
  chart c = { .b = b, .f = f, .env = env };
  return tp_exec_places(f->exec, env, put_memory, &c) && c.ok;
}

/* ---- work ---- */

typedef struct {
  const tp_pnode *x;
  tp_counted done;
} worked;
typedef TP_VEC(worked) worked_list;

static void list_regions(tp_arena *a, worked_list *to, const tp_pnode *x, const tp_counted *at) {
  TP_EACH_NODE (k, x)
    if (k.x->rg && (!at || at[k.x->pos].runs))
      TP_PUSH(a, to, (worked){ k.x, at ? at[k.x->pos] : (tp_counted){ 0 } });
}

static int by_elements(const void *pa, const void *pb) {
  const worked *a = pa, *b = pb;
  return a->done.elements != b->done.elements ? (a->done.elements > b->done.elements ? -1 : 1)
                                              : a->x->pos - b->x->pos;
}

/* ": add, sum" */
static void put_operators(tp_buf *b, const tp_region *r) {
  int n = 0;
  for (int i = 0; i < r->nmicro; i++)
    if (r->micro[i].op != TP_OP_DETACH)
      tp_putf(b, "%s%s", n++ ? ", " : ": ", tp_op_said(r->micro[i].op));
  if (r->kind == TP_RG_OP) tp_putf(b, "%s%s", n++ ? ", " : ": ", tp_op_said(r->op));
  if (r->kind == TP_RG_LOOP && (r->acc || r->sums))
    tp_putf(b, "%s%s", n++ ? ", " : ": ", tp_op_said(tp_red_op(r->red)));
  tp_puts(b, n ? "\n" : ": copy\n");
}

static void put_worked(tp_buf *b, const tp_plan *p, const worked_list *all, int64_t turns) {
  tp_counted sum = { 0 };
  for (int i = 0; i < all->n; i++)
    sum.runs += all->v[i].done.runs, sum.elements += all->v[i].done.elements;
  tp_putf(b, "%14s%14s  elements, and runs of regions, in all; loops turn %s times\n",
      commas(sum.elements).s, commas(sum.runs).s, commas(turns).s);
  TP_EACH (const worked, w, *all) {
    tp_putf(b, "%14s%14s  ", commas(w->done.elements).s, commas(w->done.runs).s);
    put_place(b, p, w->x);
    put_operators(b, w->x->rg);
  }
}

static void put_factor(tp_buf *b, tp_ix *n, const char *of) {
  if (!tp_is_number(n, 1)) tp_putf(b, "(%s)%s", tp_ix_str(n), of);
}

/* "(T) (t + 1) for t, t: y: sum" */
static void put_formula(tp_buf *b, const tp_plan *p, const tp_pnode *x) {
  const tp_pnode *loop[64];
  int n = loops_around(x, loop);
  while (n-- > 0) put_factor(b, tp_ix_sub(loop[n]->hi, loop[n]->lo), " ");
  for (int i = 0; i < x->rg->nlead; i++) put_factor(b, x->rg->lead[i], " ");
  put_place(b, p, x);
  put_operators(b, x->rg);
}

static void work(tp_fn *f, const int64_t *env, tp_buf *b) {
  tp_arena a;
  worked_list all = { 0 };
  int64_t turns = 0;
  tp_scratch_init(&a);
  tp_counted *at = env ? TP_NEWN(&a, tp_counted, f->plan->npos + 1) : NULL;
  if (env && !tp_plan_count(f->plan, f->plan->body, env, at, &turns)) tp_oom();
  list_regions(&a, &all, f->plan->body, at);
  if (env) {
    if (all.n) qsort(all.v, (size_t)all.n, sizeof *all.v, by_elements);
    put_worked(b, f->plan, &all, turns);
  } else {
    for (int i = 0; i < all.n; i++) put_formula(b, f->plan, all.v[i].x);
    tp_puts(b, "with bounds, f:explain(\"work\", { T = 100 }), these are numbers\n");
  }
  tp_arena_free(&a);
}

/* ---- sections ---- */

static bool section_text(tp_fn *f, const char *s, const int64_t *env, tp_buf *b) {
  if (!s) return summary(f, env, b);
  if (!strcmp(s, "graph")) tp_graph_print(b, f->ranges ? f->program->g : f->closed);
  else if (!strcmp(s, "dot")) tp_graph_dot(b, f->closed);
  else if (!strcmp(s, "passes")) passes(b, f);
  else if (!strcmp(s, "evolution") && f->poly)
    told(b, f, "evolve", "nothing is a recurrence whose points a formula could tell");
  else if (!strcmp(s, "rules") && f->poly) told(b, f, NULL, "no rule has changed anything");
  else if (!f->plan)
    tp_putf(b,
        "the reference evaluator has no %s: it computes points as they are asked for; with tier = "
        "\"interpreter\" there is one\n",
        s);
  else if (!strcmp(s, "schedule")) tp_poly_print_schedule(b, f->poly);
  else if (!strcmp(s, "storage")) tp_poly_print_storage(b, f->poly, env), put_rows(b, f);
  else if (!strcmp(s, "memory") && env) return memory(f, env, b);
  else if (!strcmp(s, "memory")) formulas(b, f->plan);
  else if (!strcmp(s, "work")) work(f, env, b);
  else if (!strcmp(s, "threads")) tp_fn_threads(b, f);
  else if (!strcmp(s, "kernels")) tp_exec_tell(f->exec, b);
  else if (!strcmp(s, "code") && (f->tier == TP_TIER_NATIVE || tp_fn_is_native(f)))
    tp_fn_code(f, b);
  else tp_plan_print(b, f->plan);
  return true;
}

typedef struct {
  const char *section;
  const int64_t *given;
  tp_buf *out;
} telling;

static bool tell(tp_fn *f, void *arg, tp_error *err) {
  telling *t = arg;
  tp_arena a;
  tp_scratch_init(&a);
  int64_t *env = t->given ? TP_NEWN(&a, int64_t, tp_nsym(f->graph->ix)) : NULL;
  if (env) tp_fill_env(f, env, t->given);
  bool ok = section_text(f, t->section, env, t->out);
  tp_arena_free(&a);
  return ok || tp_fail(err, TP_E_MEMORY, f->pos, "these bounds need more than 2^63 bytes");
}

static bool is_one_of(const char *s, int n, const char *const *of) {
  while (n > 0 && strcmp(s, of[n - 1])) n--;
  return n > 0;
}

bool tp_explains_plan(const char *s) {
  static const char *const of_plan[] = { "plan", "code", "work", "threads" };
  return s && is_one_of(s, TP_LEN(of_plan), of_plan);
}

bool tp_explain(tp_fn *f, const char *s, const int64_t *env, tp_buf *out, tp_error *err) {
  char hint[TP_HINT];
  if (s && !is_one_of(s, TP_LEN(sections), sections))
    return tp_fail(err, TP_E_OPTION, f->pos, "unknown section '%s' of explain%s", s,
        tp_hint(hint, s, sections, TP_LEN(sections)));
  return tp_guarded(f, tell, &(telling){ s, env, out }, err);
}

/* ---- clocks ---- */

typedef struct {
  int rows;
  tp_buf *out;
} profiling;

static tp_exec *newest_exec(const tp_fn *f) {
  return f->session && f->session->exec ? f->session->exec : f->ran ? f->ran->exec : f->exec;
}

static bool profile(tp_fn *f, void *arg, tp_error *err) {
  profiling *p = arg;
  const tp_exec *x = newest_exec(f);
  if (x) tp_exec_profile(x, p->rows, p->out);
  else tp_puts(p->out, "the reference evaluator has no profile\n");
  return true;
}

bool tp_fn_profile(tp_fn *f, int rows, tp_buf *out, tp_error *err) {
  return tp_guarded(f, profile, &(profiling){ rows, out }, err);
}

static bool inside(tp_fn *f, void *arg, tp_error *err) {
  tp_fn_clocks(f, *(bool *)arg);
  return true;
}

bool tp_fn_inside(tp_fn *f, bool on, tp_error *err) { return tp_guarded(f, inside, &on, err); }

static bool trace(tp_fn *f, void *arg, tp_error *err) {
  tp_exec *x = newest_exec(f);
  return x ? tp_exec_trace(x, arg, err)
           : tp_fail(err, TP_E_OPTION, f->pos, "the reference evaluator has no trace");
}

bool tp_fn_trace(tp_fn *f, const char *path, tp_error *err) {
  return tp_guarded(f, trace, (void *)path, err);
}

void tp_dump_stage(const char *section, tp_fn *f) {
  if (!tp_dump_wanted(section) || !f->poly) return;
  tp_buf b;
  tp_buf_init(&b);
  section_text(f, section, NULL, &b);
  fprintf(stderr, "> %s\n%s", section, b.s ? b.s : "");
  tp_buf_free(&b);
}
