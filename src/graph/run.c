/* run: allocates outputs and checks arguments before a run, in every tier, and sets reached lengths
 * after it. */
#include "graph/core.h"
#include "graph/run.h"

/* ---- what a graph says of a run ---- */

tp_callee tp_callee_of(tp_arena *a, const tp_node *n) {
  tp_dtype *res = TP_NEWN(a, tp_dtype, n->nout);
  uint32_t over = 0;
  for (int k = 0; k < n->nout; k++) res[k] = n->out[k].dtype;
  for (int d = 0; d < n->ndom; d++)
    over |= (uint32_t)tp_dom_has(n->attr.nover, n->attr.over, n->dom[d]) << d;
  return (tp_callee){ n->attr.fn, n->attr.number, n->name, n->pos, n->ndom, n->dom, over, n->nout,
    res };
}

tp_product tp_product_of(const tp_graph *g, int i) {
  const tp_output *o = &g->outputs.v[i];
  return (tp_product){ o->name, o->pos, o->hidden, o->val.node->ndom, o->val.node->dom,
    *tp_outof(o->val) };
}

int64_t tp_run_outputs(const tp_graph *g, const tp_run *run, tp_piece *v, int *n) {
  int64_t sum = 0;
  for (int i = 0; i < g->outputs.n; i++) {
    tp_product o = tp_product_of(g, i);
    sum = tp_sum_bytes(sum, tp_product_piece(&o, run, i, v, n));
  }
  return sum;
}

void tp_run_few(const tp_graph *g, int64_t *env) {
  TP_EACH (const tp_stop, s, g->stops)
    if (env[s->dim->bound->id] > 1) env[s->dim->bound->id] = 1;
  tp_run_given(g, env);
}

tp_sym *tp_bound_named(tp_ictx *c, const char *name, int n, tp_dims need, tp_error *err) {
  const char *names[64];
  char hint[TP_HINT];
  int known = 0;
  for (int k = 0; k < n; k++) {
    if (strcmp(need[k]->name, name) == 0) return need[k];
    if (known < (int)TP_LEN(names)) names[known++] = need[k]->name;
  }
  tp_sym *s = tp_sym_find(c, name);
  if (s && s->kind == TP_SYM_BOUND && !s->hidden)
    tp_fail(err, TP_E_BOUND, TP_NOWHERE,
        "'%s' is not needed: nothing that is computed mentions it; leave it out", name);
  else if (s && s->kind == TP_SYM_DIM && s->bound)
    tp_fail(err, TP_E_BOUND, TP_NOWHERE, "unknown bound '%s': it is a dim, whose bound is '%s'",
        name, s->bound->name);
  else
    tp_fail(err, TP_E_BOUND, TP_NOWHERE, "unknown bound '%s'%s", name,
        tp_hint(hint, name, names, known));
  return NULL;
}

void tp_run_given(const tp_graph *g, int64_t *env) {
  TP_EACH (const tp_stop, s, g->stops) env[s->given->id] = env[s->sym->id] = env[s->dim->bound->id];
  tp_sym_set_hidden(g->ix, env);
}

/* ---- outputs ---- */

static bool no_memory(const tp_product *o, int rank, const int64_t *shape, tp_error *err) {
  static const char *const unit[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
  char list[256] = "";
  double size = tp_dtype_size(o->type.dtype);
  int u = 0;
  for (int i = 0; i < rank; i++) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, i ? ", %lld" : "%lld", (long long)shape[i]);
    size *= (double)shape[i];
  }
  for (; size >= 1024 && u + 1 < (int)TP_LEN(unit); u++) size /= 1024;
  return tp_fail(err, TP_E_MEMORY, o->pos,
      "no memory for %s '%s' of shape (%s), %.4g %s: reduce it over a dim first, or give "
      "smaller bounds",
      o->hidden ? "parameter" : "output", o->name, list, size, unit[u]);
}

int tp_tick_depth(int n, tp_dims dim, int ndom, tp_dims dom) {
  int depth = 0;
  while (depth < n && tp_dom_has(ndom, dom, dim[depth])) depth++;
  for (int k = depth; k < n; k++)
    if (tp_dom_has(ndom, dom, dim[k])) return 0;
  return depth;
}

bool tp_run_alloc(tp_graph *g, tp_run *run, tp_error *err) {
  bool some = g->stops.n || run->shown, poison = tp_setting("TEMPO_POISON");
  run->outputs = tp_calloc(sizeof *run->outputs * (size_t)g->outputs.n);
  if (!run->outputs)
    return tp_fail(err, TP_E_MEMORY, g->pos, "no room for a list of %d outputs", g->outputs.n);
  for (int i = 0; i < g->outputs.n; i++) {
    tp_product p = tp_product_of(g, i);
    int64_t shape[TP_MAXRANK];
    int axis;
    if (p.ndim + p.type.rank > TP_MAXRANK)
      return tp_fail(err, TP_E_SHAPE, p.pos, "output '%s' has more than %d axes with its domain",
          p.name, TP_MAXRANK);
    if (tp_product_bytes(&p, run, i) < 0) continue;
    int rank = tp_run_shape(run, p.ndim, p.dims, &p.type, shape);
    bool whole = !some && !tp_varies(p.type.rank, p.type.shape, p.ndim, p.dims, &axis);
    tp_array *a = (whole ? tp_array_blank : tp_array_new)(p.type.dtype, rank, shape);
    if (!a) return no_memory(&p, rank, shape, err);
    a->blank = whole;
    if (whole && poison) memset(a->data, 0xff, tp_array_bytes(a));
    run->outputs[i] = a;
  }
  return true;
}

void tp_run_free_outputs(tp_graph *g, tp_run *run) {
  for (int i = 0; run->outputs && i < g->outputs.n; i++) tp_array_unref(run->outputs[i]);
  tp_free(run->outputs);
  run->outputs = NULL;
}

/* ---- lengths that were reached ---- */

/* The ends of a stop, an array over its domain; NULL: the run was cancelled before. */
static const tp_array *ends_of(const tp_graph *g, const tp_run *run, const tp_stop *s) {
  TP_EACH (const tp_output, o, g->outputs)
    if (!o->hidden && strcmp(o->name, s->dim->bound->name) == 0)
      return run->outputs[o - g->outputs.v];
  return NULL;
}

/* The end of n's row at this point: the greatest over dims that n lacks, 0 if these have no points.
 */
static int64_t end_at(
    const tp_node *n, const tp_stop *s, const tp_array *ends, const int64_t *point) {
  int64_t most = 0, base = 0, size = 1, step[TP_MAXRANK], shape[TP_MAXRANK];
  tp_walk w;
  for (int i = ends->rank - 1; i >= 0; size *= ends->shape[i--]) {
    int k = tp_dim_at(n, s->dom[i]);
    step[i] = size;
    shape[i] = k < 0 ? ends->shape[i] : 1;
    base += k < 0 ? 0 : point[k] * size;
  }
  if (ends->count)
    for (tp_walk_start(&w, ends->rank, shape); w.ok; tp_walk_next(&w))
      most = TP_MAX(most, tp_geti(TP_I64, ends->data, base + tp_walk_offset(&w, step)));
  return most;
}

static void clear_rows(const tp_node *n, const tp_stop *s, const tp_array *ends, tp_array *a) {
  int t = tp_dim_at(n, s->dim);
  if (t < 0 || a->count == 0) return;
  size_t bytes = tp_array_bytes(a);
  for (int k = 0; k < n->ndom; k++) bytes /= (size_t)a->shape[k];
  char *p = a->data;
  tp_walk w;
  for (tp_walk_start(&w, n->ndom, a->shape); w.ok; tp_walk_next(&w), p += bytes)
    if (w.at[t] >= end_at(n, s, ends, w.at)) memset(p, 0, bytes);
}

tp_array *tp_array_corner(const tp_array *a, const int64_t *shape) {
  tp_array *b = tp_array_new(a->dtype, a->rank, shape);
  if (b) tp_array_overlay(b, a);
  return b;
}

static bool trim(tp_graph *g, const tp_run *run, const tp_run *reached, int i, tp_error *err) {
  tp_product o = tp_product_of(g, i);
  tp_array *a = run->outputs[i];
  int64_t shape[TP_MAXRANK];
  int rank = tp_run_shape(reached, o.ndim, o.dims, &o.type, shape);
  if (rank == 0 || memcmp(shape, a->shape, sizeof *shape * (size_t)rank) == 0) return true;
  tp_array *b = tp_array_corner(a, shape);
  if (!b) return no_memory(&o, rank, shape, err);
  tp_array_unref(a);
  run->outputs[i] = b;
  return true;
}

/* Clears along the stops of its domain's dims first, so that only rows that are there count. */
static void clear_stop(tp_graph *g, tp_run *run, int64_t *env, bool *done, int i) {
  const tp_stop *s = &g->stops.v[i];
  const tp_array *ends = ends_of(g, run, s);
  int64_t most = 0;
  if (done[i]) return;
  done[i] = true;
  for (int k = 0; k < g->stops.n; k++)
    if (tp_dom_has(s->ndom, s->dom, g->stops.v[k].dim)) clear_stop(g, run, env, done, k);
  for (int64_t k = 0; ends && k < ends->count; k++)
    most = TP_MAX(most, tp_geti(TP_I64, ends->data, k));
  if (ends) env[s->dim->bound->id] = most;
  for (int k = 0; ends && k < g->outputs.n; k++)
    if (run->outputs[k]) clear_rows(g->outputs.v[k].val.node, s, ends, run->outputs[k]);
}

bool tp_run_trim(tp_graph *g, tp_run *run, tp_error *err) {
  if (!g->stops.n) return true;
  size_t bytes = sizeof *run->env * (size_t)tp_nsym(g->ix);
  int64_t *env = tp_alloc(bytes);
  if (!env) return tp_fail(err, TP_E_MEMORY, g->pos, "no room for the bounds of a run");
  memcpy(env, run->env, bytes);
  tp_run reached = *run;
  reached.env = env;
  bool done[g->stops.n], ok = true;
  memset(done, 0, sizeof done);
  for (int i = 0; i < g->stops.n; i++) clear_stop(g, run, env, done, i);
  for (int i = 0; i < g->outputs.n && ok; i++)
    ok = !run->outputs[i] || trim(g, run, &reached, i, err);
  tp_free(env);
  return ok;
}

/* ---- checks, in the order of errs.def ---- */

static bool is_asked(const tp_node *n) { return n->id >= 0; }

static bool inputs_there(const tp_graph *g, const tp_run *run, tp_error *err) {
  for (int i = 0; i < g->inputs.n; i++) {
    const tp_node *n = g->inputs.v[i];
    if (is_asked(n) && !(run->fed && run->fed[i]) && !(run->inputs && run->inputs[i]))
      return tp_fail(err, TP_E_INPUT, TP_NOWHERE, "input '%s' is missing", n->attr.str);
  }
  return true;
}

static bool bounds_ok(const tp_graph *g, const tp_run *run, tp_error *err) {
  for (int i = 0; i < tp_nsym(g->ix); i++) {
    tp_sym *s = tp_sym_at(g->ix, i);
    if (s->kind == TP_SYM_BOUND && run->env[i] < 0)
      return tp_fail(err, TP_E_BOUND, s->pos, "'%s' is %lld, must be at least 0", s->name,
          (long long)run->env[i]);
  }
  return true;
}

static void put_shape(tp_buf *b, int rank, const int64_t *shape) {
  tp_puts(b, "(");
  for (int i = 0; i < rank; i++) tp_putf(b, "%s%lld", i ? ", " : "", (long long)shape[i]);
  tp_puts(b, ")");
}

bool tp_shape_fail(tp_error *err, tp_code code, const char *what, const tp_node *n,
    const tp_array *a, int rank, const int64_t *want, const char *symbols) {
  tp_buf has, needs;
  tp_buf_init(&has);
  tp_buf_init(&needs);
  put_shape(&has, a->rank, a->shape);
  put_shape(&needs, rank, want);
  bool said = !symbols || strcmp(symbols, needs.s) == 0;
  tp_fail(err, code, TP_NOWHERE, "%s '%s' has shape %s, needs %s%s%s", what, n->attr.str, has.s,
      said ? "" : symbols, said ? "" : " = ", needs.s);
  if (n->pos.file) tp_note(err, "'%s' is declared at %s:%d", n->attr.str, n->pos.file, n->pos.line);
  tp_buf_free(&has);
  tp_buf_free(&needs);
  return false;
}

/* "(T, 3)", domain first. */
static void put_symbols(tp_buf *b, int ndom, tp_dims dom, const tp_out *o) {
  tp_puts(b, "(");
  for (int i = 0; i < ndom; i++) tp_putf(b, "%s%s", i ? ", " : "", dom[i]->bound->name);
  if (ndom && o->rank) tp_puts(b, ", ");
  tp_extents_print(b, o->rank, o->shape);
  tp_puts(b, ")");
}

/* An array handed in for n: its values have o's type over dom. */
typedef struct {
  bool input;
  const tp_node *n;
  int ndom;
  tp_dims dom;
  const tp_out *o;
  const tp_array *a;
} given_array;

static bool dtype_ok(const given_array *v, tp_error *err) {
  if (v->a->dtype == v->o->dtype) return true;
  const char *want = tp_dtype_name(v->o->dtype);
  tp_fail(err, v->input ? TP_E_INPUT : TP_E_DTYPE, TP_NOWHERE,
      "%s '%s' has dtype %s, declared %s: tempo.array(a, \"%s\") converts",
      v->input ? "input" : "parameter", v->n->attr.str, tp_dtype_name(v->a->dtype), want, want);
  return false;
}

static bool shape_ok(const given_array *v, const tp_run *run, tp_error *err) {
  int64_t want[TP_MAXRANK];
  int rank = tp_run_shape(run, v->ndom, v->dom, v->o, want);
  if (rank == v->a->rank && memcmp(want, v->a->shape, sizeof *want * (size_t)rank) == 0)
    return true;
  tp_buf b;
  tp_buf_init(&b);
  put_symbols(&b, v->ndom, v->dom, v->o);
  tp_shape_fail(err, v->input ? TP_E_INPUT : TP_E_SHAPE, v->input ? "input" : "parameter", v->n,
      v->a, rank, want, b.s);
  tp_buf_free(&b);
  return false;
}

/* Array i of inputs and then parameters; false: not given, or not needed. dom has room for a
 * parameter's domain without `along`. */
static bool pick(const tp_graph *g, const tp_run *run, int i, tp_sym **dom, given_array *v) {
  bool input = i < g->inputs.n;
  int k = input ? i : i - g->inputs.n;
  const tp_node *n = input ? g->inputs.v[k] : g->params.v[k];
  tp_array *const *from = input ? run->inputs : run->params;
  if (!from || !from[k] || (input && !is_asked(n))) return false;
  *v = (given_array){ input, n, 0, dom, &n->out[0], from[k] };
  for (int d = 0; d < n->ndom; d++)
    if (input || !tp_dom_has(n->attr.nalong, n->attr.along, n->dom[d])) dom[v->ndom++] = n->dom[d];
  return true;
}

static bool arrays_ok(const tp_graph *g, const tp_run *run, bool shapes, tp_error *err) {
  for (int i = 0; i < g->inputs.n + g->params.n; i++) {
    tp_sym *dom[TP_MAXRANK];
    given_array v;
    if (pick(g, run, i, dom, &v) && !(shapes ? shape_ok(&v, run, err) : dtype_ok(&v, err)))
      return false;
  }
  return true;
}

static bool shapes_hold(const tp_graph *g, const tp_run *run, tp_error *err) {
  TP_EACH (const tp_shapecheck, s, g->shapechecks) {
    int64_t a = tp_ix_evalq(s->a, run->env), b = s->b ? tp_ix_evalq(s->b, run->env) : 1;
    if (a == b) continue;
    if (!s->b)
      return tp_fail(
          err, TP_E_SHAPE, s->pos, "the sizes of '%s' fit only if %s", s->what, tp_ix_said(s->a));
    return tp_fail(err, TP_E_SHAPE, s->pos, "sizes in '%s' differ: %s = %lld, %s = %lld", s->what,
        tp_ix_str(s->a), (long long)a, tp_ix_str(s->b), (long long)b);
  }
  return true;
}

/* Reports a failed check, one of the class that errs.def has first. */
static bool bounds_hold(const tp_graph *g, const tp_run *run, tp_error *err) {
  const tp_boundcheck *first = NULL;
  TP_EACH (const tp_boundcheck, c, g->boundchecks) {
    if (!tp_ix_evalq(c->cond, run->env) && (!first || c->code < first->code)) first = c;
  }
  return !first || tp_fail(err, first->code, first->pos, "%s", first->msg);
}

bool tp_run_see(const tp_graph *g, const tp_run *run, tp_error *err) {
  for (int i = 0; i < g->inputs.n + g->params.n; i++) {
    bool input = i < g->inputs.n;
    tp_array *const *from = input ? run->inputs : run->params,
                    *a = from ? from[input ? i : i - g->inputs.n] : NULL;
    if (a && !tp_array_see(a, err)) return false;
  }
  return true;
}

bool tp_run_check_bounds(tp_graph *g, const tp_run *run, tp_error *err) {
  return bounds_ok(g, run, err) && shapes_hold(g, run, err) && bounds_hold(g, run, err);
}

bool tp_run_check(tp_graph *g, const tp_run *run, tp_error *err) {
  return inputs_there(g, run, err) && bounds_ok(g, run, err) && arrays_ok(g, run, false, err) &&
      arrays_ok(g, run, true, err) && shapes_hold(g, run, err) && bounds_hold(g, run, err);
}
