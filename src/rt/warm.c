/* warm: keeps plans in the cache, named by all that they depend on: the recording's text, options,
 * settings, this build and the processor. A function found there reads symbols, closed graph,
 * checks of bounds and plan, and runs like a compiled one: symbols keep their numbers, so even its
 * C is the same. Explain's other sections, steps without `tick` and shorter blocks compile the rest
 * (tp_fn_whole). Not kept: functions of the reference, those that asked isl for few spaces
 * (KEPT_SPACES), texts above 16 MiB. A file that does not fit is removed. */
#include "rt/fn.h"
#include "cpu/machine.h"
#include "io/io.h"
#include "os/os.h"

enum { WARM_FORMAT = 2, WARM_MOST = 16 << 20 };

/* ---- the name ---- */

static uint64_t hash_text(const char *s, uint64_t h) { return tp_hash(s, strlen(s) + 1, h); }

/* hashes the file that has this code; 0: it is not known */
static uint64_t hash_build(uint64_t h) {
  static const char here;
  char file[4096];
  int64_t v[5] = { WARM_FORMAT };
  if (!tp_os_file_of(&here, file, sizeof file) || !tp_os_stamp(file, v + 1)) return 0;
  return tp_hash(v, sizeof v, hash_text(TP_VERSION, h));
}

static uint64_t hash_settings(uint64_t h) {
  static const char *const names[] = {
#define S(name, says) name,
#include "base/settings.def"
#undef S
  };
  for (size_t i = 0; i < TP_LEN(names); i++) {
    const char *s = strcmp(names[i], "TEMPO_CACHE") ? tp_setting(names[i]) : NULL;
    h = hash_text(s ? s : "", h);
  }
  return h;
}

static uint64_t hash_options(const tp_fn *f, uint64_t h) {
  int64_t v[] = { f->tier, f->threads, f->limit, f->nasked, f->pos.line, f->opt.precise,
    f->opt.reproducible, f->opt.check };
  h = tp_hash(f->opt.on, sizeof f->opt.on, tp_hash(v, sizeof v, h));
  h = tp_hash(f->opt.rule_off, sizeof f->opt.rule_off, h);
  h = hash_text(f->backend->name, h);
  for (int i = 0; i < f->nasked; i++) h = hash_text(f->asked_tick[i], h);
  return hash_text(f->pos.file ? f->pos.file : "", h);
}

/* The name of f's plan; "": it is not kept. */
static void warm_name(const tp_fn *f, char name[33]) {
  *name = 0;
  if (f->tier == TP_TIER_REFERENCE || f->rows || tp_setting("TEMPO_DUMP") ||
      tp_setting("TEMPO_FAIL_ALLOC"))
    return;
  uint64_t h = hash_build(0);
  if (!h) return;
  h = hash_options(f, hash_settings(tp_cache_processor(h)));
  tp_cache_name(name, f->text.s, f->text.n, h);
}

/* ---- writing ---- */

/* text: the section that is printed. Both are released if memory fails. */
typedef struct {
  tp_buf out, text;
} kept_text;

/* Appends the text and its final 0; the next section begins empty. */
static void put_text(kept_text *w) {
  tp_putn(&w->text, "", 1);
  tp_put_i64(&w->out, (int64_t)w->text.n);
  tp_put_bytes(&w->out, w->text.s, w->text.n);
  w->out.failed |= w->text.failed;
  w->text.n = 0;
}

static void put_flags(kept_text *w, const bool *v, int n) {
  for (int i = 0; i < n; i++) tp_put_i64(&w->out, v[i]);
}

static void put_checks_of(kept_text *w, const tp_graph *g) {
  tp_checks_print(&w->text, g);
  put_text(w);
}

/* all symbols that there were when the plan was made, in order: C names them by their numbers */
static void put_symbols(kept_text *w, const tp_fn *f) {
  tp_ictx *c = f->program->ix;
  bool *used = TP_NEWN(&f->closed->arena, bool, tp_nsym(c));
  for (int i = 0; i < f->plan->nsym; i++) used[i] = true;
  tp_syms_print(&w->text, c, used);
  put_text(w);
}

static void put_parts(kept_text *w, tp_fn *f) {
  put_symbols(w, f);
  tp_graph_print_as(&w->text, f->closed, TP_TEXT_NAMES);
  put_text(w);
  put_checks_of(w, f->graph);
  for (int i = 0; i < f->graph->inputs.n; i++) tp_put_i64(&w->out, tp_fn_needs_input(f, i));
  tp_put_i64(&w->out, f->keeps);
  tp_put_i64(&w->out, f->ntick);
  for (int k = 0; k < f->ntick; k++) {
    tp_puts(&w->text, f->tick[k]->name);
    put_text(w);
  }
  if (f->ticking) {
    put_checks_of(w, f->steps.graph);
    put_flags(w, f->fed, f->closed->inputs.n);
    put_flags(w, f->shown, f->closed->outputs.n);
    put_flags(w, f->first, f->closed->outputs.n);
  }
  tp_plan_print(&w->text, f->plan);
  put_text(w);
}

void tp_warm_put(tp_fn *f) {
  kept_text w;
  tp_hold out, text;
  if (!*f->name || tp_isl_spaces(f->program->ix) < TP_TUNE_KEPT_SPACES) return;
  tp_buf_hold(&w.out, &out);
  tp_buf_hold(&w.text, &text);
  put_parts(&w, f);
  if (!w.out.failed && w.out.n < WARM_MOST) tp_cache_put(f->name, ".plan", &w.out);
  tp_buf_drop(&w.text, &text);
  tp_buf_drop(&w.out, &out);
}

/* ---- reading ---- */

static const char *take_text(tp_reader *r) {
  size_t n = (size_t)tp_take_in(r, 1, WARM_MOST);
  const char *s = tp_take(r, n);
  r->bad = r->bad || s[n - 1] != 0;
  return r->bad ? "" : s;
}

static bool *take_flags(tp_fn *f, tp_reader *r, int n) {
  bool *to = TP_NEWN(&f->closed->arena, bool, n);
  for (int i = 0; i < n; i++) to[i] = tp_take_in(r, 0, 2);
  return to;
}

/* Makes f->graph a copy of `closed` with the checks of bounds: runs need no more of it. */
static tp_graph *take_graph(tp_fn *f, tp_reader *r, tp_error *err) {
  tp_graph *g = tp_graph_clone(f->closed, err);
  const char *checks = take_text(r);
  if (!g || r->bad) return g;
  g->shapechecks.n = g->boundchecks.n = 0;
  if (!tp_checks_parse(g, checks, err)) r->bad = true;
  return g;
}

static void take_ticks(tp_fn *f, tp_reader *r, tp_error *err) {
  f->ticking = f->nasked > 0;
  f->ntick = (int)tp_take_in(r, 0, TP_MAXTICK);
  f->tick = TP_NEWN(&f->closed->arena, tp_sym *, f->ntick + 1);
  for (int k = 0; k < f->ntick; k++) {
    f->tick[k] = tp_sym_find(f->program->ix, take_text(r));
    r->bad = r->bad || !f->tick[k] || f->tick[k]->kind != TP_SYM_DIM || !f->tick[k]->bound;
  }
  if (!f->ticking || r->bad) return;
  f->steps.graph = take_graph(f, r, err);
  f->fed = take_flags(f, r, f->closed->inputs.n);
  f->shown = take_flags(f, r, f->closed->outputs.n);
  f->first = take_flags(f, r, f->closed->outputs.n);
}

/* Are the plan's inputs, parameters and outputs there? */
static bool plan_fits(const tp_fn *f, const tp_plan *p) {
  const tp_graph *g = f->closed;
  bool fits = p->products.n == g->outputs.n;
  for (int i = 0; i < p->bufs.n; i++) {
    const tp_pbuf *b = p->bufs.v[i];
    fits &= (b->kind != TP_BUF_INPUT || b->slot < g->inputs.n) &&
        (b->kind != TP_BUF_PARAM || b->slot < g->params.n);
  }
  TP_EACH (const tp_callee, c, p->calls) {
    fits &= (c->fn != TP_FN_FEED || c->slot < g->inputs.n) &&
        (c->fn != TP_FN_SHOW || c->slot < g->outputs.n);
  }
  return fits;
}

static bool take_plan(tp_fn *f, tp_reader *r, tp_error *err) {
  const tp_planned asked = tp_planned_as(f, f->ticking);
  const char *text = take_text(r);
  if (r->bad || r->left) return false;
  f->plan = f->read = tp_plan_parse(f->program->ix, asked.machine, text, err);
  if (f->ticking) f->steps.plan = f->plan;
  return f->plan && plan_fits(f, f->plan) && tp_plan_passes(f->plan, &asked, "teams", err);
}

/* Reads lines of symbols, up to one that is none, or contradicts the context. */
static bool read_symbols(tp_ictx *c, const char *text, tp_error *err) {
  tp_scan in;
  bool ok = true;
  tp_scan_init(&in, "symbols", tp_ictx_arena(c), tp_ictx_arena(c), err);
  while (ok && tp_scan_line(&in, &text))
    ok = tp_accept(&in, "dim")    ? tp_sym_line(c, &in, TP_SYM_DIM)
        : tp_accept(&in, "bound") ? tp_sym_line(c, &in, TP_SYM_BOUND)
                                  : tp_accept(&in, "var") && tp_sym_line(c, &in, TP_SYM_VAR);
  return ok;
}

/* Declares the recording's own symbols before a file can declare their names otherwise: a bad file
 * must not hinder compiling. */
static void declare_symbols(const tp_fn *f) {
  const char *text = f->text.s;
  tp_error none = { 0 };
  if (!strncmp(text, "graph ", 6)) text = strchr(text, '\n') + 1;
  read_symbols(f->program->ix, text, &none);
}

static bool take_all(tp_fn *f, tp_reader *r, tp_error *err) {
  const char *symbols = take_text(r), *text = take_text(r);
  if (r->bad || !read_symbols(f->program->ix, symbols, err) ||
      !(f->closed = tp_graph_parse(f->program->ix, text, err)))
    return false;
  f->closed->fixed_bits = f->opt.reproducible;
  f->graph = take_graph(f, r, err);
  if (!f->graph) return false;
  tp_fn_interface(f);
  TP_NODES (n, f->graph->inputs)
    if (!tp_take_in(r, 0, 2)) n->id = -1;
  f->keeps = tp_take_in(r, 0, 2);
  take_ticks(f, r, err);
  return !r->bad && take_plan(f, r, err);
}

/* Takes f from the cache. Symbols of an earlier compilation are forgotten by name, so that a
 * compilation that follows may use the names. Without memory none follows. */
bool tp_warm_get(tp_fn *f) {
  tp_ictx *c = f->program->ix;
  tp_error err = { 0 };
  tp_hold hold;
  size_t n = 0;
  warm_name(f, f->name);
  if (!*f->name) return false;
  declare_symbols(f);
  char *p = tp_cache_get(f->name, ".plan", &n);
  if (!p) return false;
  tp_hold_set(&hold, tp_free, p);
  int was = tp_sym_begin(c);
  f->warm = take_all(f, &(tp_reader){ p, n, false }, &err);
  tp_sym_end(c, was);
  tp_hold_end(&hold);
  tp_free(p);
  if (f->warm) return true;
  if (err.code == TP_E_MEMORY) tp_oom();
  tp_cache_drop(f->name, ".plan");
  tp_fn_drop(f);
  tp_ictx_overflowed(c);
  return false;
}

/* ---- the rest ---- */

#define SWAP(type, a, b) \
  do { \
    type old = a; \
    a = b; \
    b = old; \
  } while (0)

/* Compiles the same function again, and gives f all of it except the plan that runs. */
bool tp_fn_whole(tp_fn *f, tp_error *err) {
  if (!f->warm) return true;
  tp_fn *g = tp_calloc(sizeof *g);
  if (!g) return tp_no_memory(err, f->pos);
  tp_fn_as(g, f);
  SWAP(tp_graph *, g->recorded, f->recorded);
  SWAP(tp_buf, g->text, f->text);
  bool ok = tp_making(g, tp_fn_stages, NULL, err);
  if (ok) {
    SWAP(tp_graph *, g->graph, f->graph);
    SWAP(tp_graph *, g->steps.graph, f->steps.graph);
    SWAP(tp_graph *, g->ranges, f->ranges);
    SWAP(tp_poly *, g->poly, f->poly);
    SWAP(tp_poly *, g->steps.poly, f->steps.poly);
    memcpy(f->did, g->did, sizeof f->did);
    f->warm = false;
  } else if (g->text.n) {
    SWAP(tp_graph *, g->recorded, f->recorded);
    SWAP(tp_buf, g->text, f->text);
  }
  tp_fn_empty(g);
  return ok;
}

static bool make_later(tp_fn *f, void *unused, tp_error *err) { return tp_make_ticks(f, err); }

bool tp_fn_ticks(tp_fn *f, tp_error *err) {
  if (f->fed) return true;
  if (!f->ntick)
    return tp_fail(err, TP_E_OPTION, f->pos,
        "steps and states go through dims: write compile{ tick = t } or tick = {i, t}");
  bool ok = tp_fn_whole(f, err) && tp_making(f, make_later, NULL, err);
  if (!ok) tp_drop_ticks(f);
  return ok;
}
