/* explain: what was made of a program, as text. */
#include "rt/fn.h"
#include <stdio.h>
#include <stdlib.h>

static const char *const sections[] = { "graph", "schedule", "storage", "memory", "plan", "code", "passes", "dot" };

static void passes(tp_buf *b, tp_fn *f) {
  for (int i = 0; i < tp_npasses; i++) tp_putf(b, "%-12s %-3s %s\n", tp_passes[i].name, f->opt.on[i] ? "on" : "off", tp_passes[i].doc);
}

static void summary(tp_buf *b, tp_fn *f) {
  static const char *const tiers[] = { "auto", "reference", "interpreter", "native" };
  tp_putf(b, "tier %s, %d nodes", tiers[f->tier], f->graph->nodes.n);
  if (f->poly) {
    tp_putf(b, ", %d statements, %d arrays, %d isl queries (%ld spaces), schedule %s\n", f->poly->stmts.n, f->poly->arrs.n, f->poly->nquery,
            tp_isl_spaces(f->program->ix), f->poly->proved ? "proved" : "not fully proved");
    if (f->poly->unproved) tp_putf(b, "not proved: %s\n", f->poly->unproved);
    tp_putf(b, "ms: schedule %.1f, proof %.1f, tree %.1f, storage %.1f\n", f->poly->ms_schedule, f->poly->ms_proof, f->poly->ms_tree, f->poly->ms_live);
  } else tp_puts(b, "\n");
}

/* ---- memory ---- */

enum { LINES = 40, WIDTH = 40, TOP = 8 };

typedef struct piece { const tp_pbuf *buf; int pos; int64_t bytes; } piece;     /* buf NULL: working memory of the region at pos */
typedef struct chart {
  const tp_plan *plan;
  int64_t *live, *room, *at;                    /* by position; at: by buffer */
  const tp_pnode **region;                      /* by position; NULL: does not run for these bounds */
  int peak;
} chart;

static void note_region(void *ud, const tp_pnode *x, const int64_t *lo, const int64_t *hi) {
  (void)lo; (void)hi;
  if (x->kind == TP_P_REGION) ((chart *)ud)->region[x->pos] = x;
}

static int64_t bytes_of(const tp_pbuf *b, const int64_t *env) { return (tp_ix_evalq(b->size, env) * tp_dtype_size(b->dtype) + 63) / 64 * 64; }

static bool fill_chart(chart *c, const tp_exec *x, const int64_t *env) {
  const tp_plan *p = c->plan;
  if (!tp_exec_rooms(x, env, c->room) || tp_plan_color(p, env, NULL, c->at, NULL) < 0 || !tp_plan_reach(p, env, note_region, c)) return false;
  for (int i = 0; i < p->npos; i++) c->live[i] = c->room[i];
  for (int i = 0; i < p->bufs.n; i++) {
    const tp_pbuf *b = p->bufs.v[i];
    for (int k = b->first; b->kind == TP_BUF_TEMP && c->at[i] >= 0 && k <= b->last; k++) c->live[k] += bytes_of(b, env);
  }
  for (int i = 0; i < p->npos; i++)
    if (c->region[i] && (!c->region[c->peak] || c->live[i] > c->live[c->peak])) c->peak = i;
  return true;
}

static void put_number(tp_buf *b, int64_t v, int width) {
  char s[32], out[48];
  int n = snprintf(s, sizeof s, "%lld", (long long)v), k = 0;
  for (int i = 0; i < n; i++) {
    out[k++] = s[i];
    if ((n - 1 - i) % 3 == 0 && i < n - 1) out[k++] = ',';
  }
  out[k] = 0;
  tp_putf(b, "%*s", width, out);
}

/* "for i, t: matmul@net.lua:7" */
static void put_place(tp_buf *b, const tp_poly *p, const tp_pnode *x) {
  const tp_pnode *loop[64];
  int n = 0;
  for (const tp_pnode *q = x->up; q && n < 64; q = q->up)
    if (q->kind == TP_P_FOR) loop[n++] = q;
  for (int i = n - 1; i >= 0; i--) tp_putf(b, "%s%s%s", i == n - 1 ? "for " : ", ", (loop[i]->label ? loop[i]->label : loop[i]->var)->name, i ? "" : ": ");
  const tp_node *of = x->rg->node;
  tp_puts(b, of ? p->title[of->id] : tp_ops[x->rg->op].text);
}

/* One line for as many regions as it takes to have no more than LINES; each shows the most among its own. */
static void put_plot(tp_buf *b, const chart *c, const tp_poly *poly) {
  int n = 0;
  for (int i = 0; i < c->plan->npos; i++) n += c->region[i] != NULL;
  int each = TP_MAX((n + LINES - 1) / LINES, 1), best = -1, seen = 0;
  for (int i = 0; i < c->plan->npos; i++) {
    if (!c->region[i]) continue;
    if (best < 0 || c->live[i] > c->live[best]) best = i;
    if (++seen % each && seen < n) continue;
    int bar = c->live[c->peak] ? (int)((c->live[best] * WIDTH + c->live[c->peak] - 1) / c->live[c->peak]) : 0;
    put_number(b, c->live[best], 14);
    tp_putf(b, " |%.*s%*s| ", bar, "########################################", WIDTH - bar, "");
    put_place(b, poly, c->region[best]);
    tp_puts(b, best == c->peak ? "  <- peak\n" : "\n");
    best = -1;
  }
}

static int by_bytes(const void *pa, const void *pb) {
  const piece *a = pa, *b = pb;
  return a->bytes != b->bytes ? (a->bytes > b->bytes ? -1 : 1) : a->pos - b->pos;
}

static void put_piece(tp_buf *b, const piece *x, const chart *c) {
  put_number(b, x->bytes, 14);
  if (!x->buf) {
    tp_puts(b, "  working memory of the operator\n");
    return;
  }
  tp_putf(b, "  %s: ", x->buf->name ? x->buf->name : "?");
  tp_ix_print(b, tp_ix_mulc(c->plan->g->ix, x->buf->size, tp_dtype_size(x->buf->dtype)));
  tp_puts(b, " bytes");
  if (x->buf->pos.file) tp_putf(b, "  -- %s:%d", x->buf->pos.file, x->buf->pos.line);
  tp_puts(b, "\n");
}

/* What is alive at the peak, the largest first. */
static void put_top(tp_buf *b, tp_arena *a, const chart *c, const int64_t *env) {
  piece *v = TP_NEWN(a, piece, c->plan->bufs.n + 1);
  int n = 0;
  for (int i = 0; i < c->plan->bufs.n; i++) {
    const tp_pbuf *x = c->plan->bufs.v[i];
    if (x->kind == TP_BUF_TEMP && c->at[i] >= 0 && x->first <= c->peak && c->peak <= x->last) v[n++] = (piece){ x, i, bytes_of(x, env) };
  }
  if (c->room[c->peak]) v[n++] = (piece){ NULL, n, c->room[c->peak] };
  qsort(v, (size_t)n, sizeof *v, by_bytes);
  int64_t rest = 0;
  for (int i = 0; i < n; i++)
    if (i < TOP) put_piece(b, &v[i], c);
    else rest += v[i].bytes;
  if (n > TOP) {
    put_number(b, rest, 14);
    tp_putf(b, "  %d others\n", n - TOP);
  }
}

static void formulas(tp_buf *b, const tp_plan *p) {
  for (int i = 0; i < p->bufs.n; i++)
    if (p->bufs.v[i]->kind == TP_BUF_TEMP && p->bufs.v[i]->first >= 0) {
      const tp_pbuf *x = p->bufs.v[i];
      tp_putf(b, "%s: ", x->name ? x->name : "?");
      tp_ix_print(b, tp_ix_mulc(p->g->ix, x->size, tp_dtype_size(x->dtype)));
      tp_putf(b, " bytes from region %d to %d", x->first, x->last);
      if (x->pos.file) tp_putf(b, "  -- %s:%d", x->pos.file, x->pos.line);
      tp_puts(b, "\n");
    }
  tp_puts(b, "with bounds, f:explain(\"memory\", { T = 100 }), this is over time\n");
}

static bool memory(tp_fn *f, const int64_t *env, tp_buf *b) {
  const tp_plan *p = f->plan;
  tp_arena a;
  tp_scratch_init(&a);
  int64_t total = tp_exec_memory(f->exec, env);
  chart c = { .plan = p, .live = TP_NEWN(&a, int64_t, p->npos), .room = TP_NEWN(&a, int64_t, p->npos), .at = TP_NEWN(&a, int64_t, p->bufs.n),
              .region = TP_NEWN(&a, const tp_pnode *, p->npos + 1) };
  bool ok = total >= 0 && fill_chart(&c, f->exec, env);
  if (ok && c.region[c.peak]) {
    put_number(b, total, 0);
    tp_puts(b, " bytes of arena; at most ");
    put_number(b, c.live[c.peak], 0);
    tp_puts(b, " are in use at once\n");
    put_plot(b, &c, f->poly);
    tp_puts(b, "at the peak:\n");
    put_top(b, &a, &c, env);
  }
  tp_arena_free(&a);
  return ok;
}

/* ---- sections ---- */

static bool section_text(tp_fn *f, const char *s, const int64_t *env, tp_buf *b) {
  tp_graph *g = f->ticking ? f->steps.graph : f->graph;
  if (!strcmp(s, "graph")) tp_graph_print(b, g);
  else if (!strcmp(s, "dot")) tp_graph_dot(b, g);
  else if (!strcmp(s, "passes")) passes(b, f);
  else if (!f->poly) tp_putf(b, "the reference evaluator has no %s\n", s);
  else if (!strcmp(s, "schedule")) tp_poly_print_schedule(b, f->poly);
  else if (!strcmp(s, "storage")) tp_poly_print_storage(b, f->poly, env);
  else if (!strcmp(s, "memory") && env) return memory(f, env, b);
  else if (!strcmp(s, "memory")) formulas(b, f->plan);
  else tp_plan_print(b, f->plan);
  return true;
}

typedef struct { const char *section; int64_t *env; tp_buf *out; } telling;

static bool tell(tp_fn *f, void *arg, tp_error *err) {
  telling *t = arg;
  if (!t->section) summary(t->out, f);
  return !t->section || section_text(f, t->section, t->env, t->out) || tp_fail(err, TP_E_MEMORY, f->pos, "these bounds need more than 2^63 bytes");
}

static bool with_bounds(tp_fn *f, const char *section, const int64_t *env, tp_buf *out, tp_error *err) {
  telling t = { section, env ? tp_full_env(f, env) : NULL, out };
  bool ok = env && !t.env ? tp_fail(err, TP_E_MEMORY, f->pos, "out of memory") : tp_guarded(f, tell, &t, err);
  tp_free(t.env);
  return ok;
}

bool tp_fn_explain(tp_fn *f, const char *section, const int64_t *env, tp_buf *out, tp_error *err) {
  if (!section) return with_bounds(f, NULL, NULL, out, err);
  for (int i = 0; i < (int)TP_LEN(sections); i++)
    if (!strcmp(section, sections[i])) return with_bounds(f, section, env, out, err);
  const char *near = tp_nearest(section, sections, TP_LEN(sections));
  return tp_fail(err, TP_E_OPTION, f->pos, "unknown section '%s' of explain: %s%s%s", section, near ? "did you mean '" : "graph, schedule, storage, memory, plan, code, passes or dot",
                 near ? near : "", near ? "'?" : "");
}

typedef struct { int rows; tp_buf *out; } profiling;

static bool profile(tp_fn *f, void *arg, tp_error *err) {
  profiling *p = arg;
  const tp_exec *x = f->session && f->session->exec ? f->session->exec : f->exec;
  (void)err;
  if (x) tp_exec_profile(x, p->rows, p->out);
  else tp_puts(p->out, "the reference evaluator has no profile\n");
  return true;
}

bool tp_fn_profile(tp_fn *f, int rows, tp_buf *out, tp_error *err) { return tp_guarded(f, profile, &(profiling){ rows, out }, err); }

void tp_dump_stage(const char *section, tp_fn *f) {
  const char *want = tp_setting("TEMPO_DUMP");
  if (!want || !strstr(want, section) || !f->poly) return;
  tp_buf b;
  tp_buf_init(&b);
  section_text(f, section, NULL, &b);
  fprintf(stderr, "> %s\n%s", section, b.s ? b.s : "");
  tp_buf_free(&b);
}
