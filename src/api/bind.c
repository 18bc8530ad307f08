/* bind: bounds and arrays by name become those of a run. */
#include "api/api.h"

int api_place(int n, const char *const *names, const char *want) {
  for (int i = 0; i < n; i++)
    if (names[i] && strcmp(names[i], want) == 0) return i;
  return -1;
}

int api_named(int n, tp_node *const *v, const char *name, char *hint) {
  enum { MOST = 512 };
  const char *names[MOST];
  for (int i = 0; i < n; i++) {
    if (strcmp(v[i]->attr.str, name) == 0) return i;
    if (i < MOST) names[i] = v[i]->attr.str;
  }
  tp_hint(hint, name, names, TP_MIN(n, MOST));
  return -1;
}

static bool names_ok(const char *what, tp_code code, int n, const char *const *names,
    const void *values, tp_error *e) {
  if (n < 0 || (n && (!names || !values)))
    return tp_fail(e, TP_E_OPTION, TP_NOWHERE, "%d %ss and no list of them", n, what);
  for (int i = 0; i < n; i++) {
    if (!names[i]) return tp_fail(e, code, TP_NOWHERE, "%s %d has no name", what, i);
    if (api_place(i, names, names[i]) >= 0)
      return tp_fail(e, code, TP_NOWHERE, "%s '%s' is given twice", what, names[i]);
  }
  return true;
}

/* ---- bounds ---- */

static bool put_bound(tempo_function *f, tp_sym *s, int64_t v, int64_t *env, tp_error *e) {
  if (v < 0) return tp_fail(e, TP_E_BOUND, TP_NOWHERE, "bound '%s' is negative", s->name);
  env[s->id] = v == TEMPO_ENDLESS && s == tp_fn_endless(f->f) ? TP_ENDLESS : v;
  return true;
}

static bool bind_bounds(tempo_function *f, bounds b, bool all, int64_t *env, tp_error *e) {
  tp_sym *const *need, *s;
  int n = tp_fn_bounds(f->f, &need);
  if (!names_ok("bound", TP_E_BOUND, b.n, b.name, b.v, e)) return false;
  for (int i = 0; i < b.n; i++)
    if (!(s = tp_bound_named(tp_fn_graph(f->f)->ix, b.name[i], n, need, e)) ||
        !put_bound(f, s, b.v[i], env, e))
      return false;
  for (int i = 0; all && i < n; i++)
    if (api_place(b.n, b.name, need[i]->name) < 0)
      return tp_fail(e, TP_E_BOUND, TP_NOWHERE, "bound '%s' is missing", need[i]->name);
  return true;
}

int64_t *api_env(tempo_function *f, bounds b, bool all, tp_error *e) {
  int64_t *env = tp_calloc(sizeof *env * (size_t)(tp_nsym(tp_fn_graph(f->f)->ix) + 1));
  if (env ? bind_bounds(f, b, all, env, e) : tp_no_memory(e, TP_NOWHERE)) return env;
  tp_free(env);
  return NULL;
}

/* ---- inputs ---- */

/* Is the input taken now? A start takes no input that comes with the steps, a step none that the
 * start took. */
static bool input_taken(tempo_function *f, moment when, int i) {
  return when == ALL || when == RESUMING || tp_fn_fed(f->f, i) == (when == STEPPING);
}

static bool input_wanted(tempo_function *f, moment when, int i) {
  if (!tp_fn_needs_input(f->f, i)) return false;
  switch (when) {
  case ALL: return true;
  case STARTING: return !tp_fn_fed(f->f, i);
  case STEPPING: return tp_fn_stepping(f->f) && tp_fn_wants(f->f, i);
  default: return tp_fn_fed(f->f, i);
  }
}

static bool bind_input(
    tempo_function *f, moment when, arrays a, int i, tp_array **in, tp_error *e) {
  const char *name = tp_fn_graph(f->f)->inputs.v[i]->attr.str;
  int k = api_place(a.n, a.name, name);
  if (k < 0)
    return !input_wanted(f, when, i) ||
        tp_fail(e, TP_E_INPUT, TP_NOWHERE, "input '%s' is missing", name);
  if (!a.v[k]) return tp_fail(e, TP_E_INPUT, TP_NOWHERE, "input '%s' is NULL", name);
  if (when == STEPPING && tp_fn_needs_input(f->f, i) && !input_taken(f, when, i))
    return tp_fail(e, TP_E_INPUT, TP_NOWHERE,
        "input '%s' does not have the tick dims: tempo_start takes it", name);
  if (!input_taken(f, when, i)) return true;
  *in = api_array(a.v[k]);
  if ((*in)->dtype == TP_BOOL && !tp_array_see(*in, e)) return false;
  int64_t bad = api_not_bool(*in);
  return bad < 0 ||
      tp_fail(e, TP_E_INPUT, TP_NOWHERE,
          "input '%s' is bool, and its element %lld is neither 0 nor 1", name, (long long)bad);
}

bool api_bind_inputs(tempo_function *f, moment when, arrays a, tp_array **in, tp_error *e) {
  const tp_graph *g = tp_fn_graph(f->f);
  char hint[TP_HINT];
  if (!names_ok("input", TP_E_INPUT, a.n, a.name, a.v, e)) return false;
  for (int i = 0; i < a.n; i++)
    if (api_named(g->inputs.n, g->inputs.v, a.name[i], hint) < 0)
      return tp_fail(e, TP_E_INPUT, TP_NOWHERE, "unknown input '%s'%s", a.name[i], hint);
  for (int i = 0; i < g->inputs.n; i++)
    if (!bind_input(f, when, a, i, &in[i], e)) return false;
  return true;
}
