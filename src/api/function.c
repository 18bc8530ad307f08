/* function: lists what a compiled function has, by kind and number. */
#include "api/api.h"

int api_visible(const tp_graph *g, int i) {
  for (int k = 0; k < g->outputs.n; k++)
    if (!g->outputs.v[k].hidden && i-- == 0) return k;
  return -1;
}

/* The place of the i-th input that a run, or a step, needs; -1. */
static int needed_input(tempo_function *f, bool value, int i) {
  tp_error e = { 0 };
  if (value && !tp_fn_ticks(f->f, &e)) return -1;
  for (int k = 0; k < tp_fn_graph(f->f)->inputs.n; k++)
    if (tp_fn_needs_input(f->f, k) && (!value || tp_fn_fed(f->f, k)) && i-- == 0) return k;
  return -1;
}

/* Item i of a kind as a node, whose out[o] is its type, and its name; NULL: there is none, or the
 * kind has no types. */
static const tp_node *node_of(
    tempo_function *f, tempo_kind kind, int i, int *o, const char **name) {
  const tp_graph *g = tp_fn_graph(f->f);
  const tp_node *n = NULL;
  int k = -1;
  *o = 0;
  if (i < 0) return NULL;
  if (kind == TEMPO_INPUT || kind == TEMPO_VALUE) {
    if ((k = needed_input(f, kind == TEMPO_VALUE, i)) >= 0) n = g->inputs.v[k];
  } else if (kind == TEMPO_PARAM && i < g->params.n) n = g->params.v[i];
  if (n) *name = n->attr.str;
  if (kind != TEMPO_OUTPUT || (k = api_visible(g, i)) < 0) return n;
  *name = g->outputs.v[k].name;
  *o = g->outputs.v[k].val.out;
  return g->outputs.v[k].val.node;
}

const char *tempo_function_name(tempo_function *f, tempo_kind kind, int i) {
  tp_dims v;
  const char *name = NULL;
  int o;
  if (!api_compiled(f, __func__, NULL) || i < 0) return NULL;
  const tp_graph *g = tp_fn_graph(f->f);
  switch (kind) {
  case TEMPO_BOUND: return i < tp_fn_bounds(f->f, &v) ? v[i]->name : NULL;
  case TEMPO_TICK: return i < tp_fn_tick_dims(f->f, &v) ? v[i]->name : NULL;
  case TEMPO_CALLBACK: return i < f->nhook ? f->hooks[i].name : NULL;
  case TEMPO_WARNING: return i < g->warnings.n ? g->warnings.v[i] : NULL;
  default: return node_of(f, kind, i, &o, &name) ? name : NULL;
  }
}

int tempo_function_count(tempo_function *f, tempo_kind kind) {
  int n = 0;
  while (tempo_function_name(f, kind, n)) n++;
  return n;
}

int tempo_function_find(tempo_function *f, tempo_kind kind, const char *name) {
  const char *have;
  if (!api_given(name, __func__, "name", NULL)) return -1;
  for (int i = 0; (have = tempo_function_name(f, kind, i)); i++)
    if (strcmp(have, name) == 0) return i;
  return -1;
}

int tempo_function_noutput(const tempo_function *f) {
  return tempo_function_count((tempo_function *)f, TEMPO_OUTPUT);
}
const char *tempo_function_output_name(const tempo_function *f, int i) {
  return tempo_function_name((tempo_function *)f, TEMPO_OUTPUT, i);
}
uint64_t tempo_function_seed(tempo_function *f) {
  return api_compiled(f, __func__, NULL) ? tp_fn_graph(f->f)->seed : 0;
}

/* ---- types ---- */

const char *tempo_function_dtype(tempo_function *f, tempo_kind kind, int i) {
  const char *name;
  int o;
  if (!api_compiled(f, __func__, NULL)) return NULL;
  const tp_node *n = node_of(f, kind, i, &o, &name);
  return n ? tp_dtype_name(n->out[o].dtype) : NULL;
}

/* The dims of an item's array: a value lacks those that tick, a parameter those along which it
 * evolves. */
static int array_dims(tempo_function *f, tempo_kind kind, const tp_node *n, tp_sym **dom) {
  tp_dims tick;
  int ntick = tp_fn_tick_dims(f->f, &tick), count = 0;
  for (int d = 0; d < n->ndom && count < TP_MAXRANK; d++) {
    if (kind == TEMPO_VALUE && tp_dom_has(ntick, tick, n->dom[d])) continue;
    if (kind == TEMPO_PARAM && tp_dom_has(n->attr.nalong, n->attr.along, n->dom[d])) continue;
    dom[count++] = n->dom[d];
  }
  return count;
}

/* Are the bounds known that the extents mention, themselves or by dims? */
static bool extents_known(
    tempo_function *f, const tp_out *o, int ndom, tp_dims dom, bounds b, tp_error *e) {
  tp_dims all;
  int n = tp_fn_bounds(f->f, &all);
  bool ok = true;
  for (int i = 0; ok && i < n; i++) {
    bool wanted = false;
    for (int d = 0; d < ndom; d++) wanted |= dom[d]->bound == all[i];
    for (int k = 0; k < o->rank; k++)
      wanted |= tp_ix_mentions(o->shape[k], all[i]) ||
          (all[i]->dim && tp_ix_mentions(o->shape[k], all[i]->dim));
    ok = !wanted || api_place(b.n, b.name, all[i]->name) >= 0 ||
        tp_fail(e, TP_E_BOUND, TP_NOWHERE, "bound '%s' is missing", all[i]->name);
  }
  return ok;
}

static int shape_of(tempo_function *f, tempo_kind kind, const tp_node *n, const tp_out *o, bounds b,
    int64_t *shape, tp_error *e) {
  tp_sym *dom[TP_MAXRANK];
  int ndom = array_dims(f, kind, n, dom);
  int64_t *env = extents_known(f, o, ndom, dom, b, e) ? api_env(f, b, false, e) : NULL;
  const tp_run run = { .env = env };
  int rank = env ? tp_run_shape(&run, ndom, dom, o, shape) : -1;
  tp_free(env);
  return rank;
}

int tempo_function_shape(tempo_function *f, tempo_kind kind, int i, int nbound,
    const char *const *bound_name, const int64_t *bound, int64_t shape[TEMPO_MAXRANK],
    tempo_error *err) {
  tp_error e = { 0 };
  const char *name;
  int o;
  if (!api_compiled(f, __func__, err) || !api_given(shape, __func__, "shape", err)) return -1;
  const tp_node *n = node_of(f, kind, i, &o, &name);
  if (!n) {
    api_refuse(
        err, TP_E_OPTION, "tempo_function_shape: there is no item %d of this kind with a shape", i);
    return -1;
  }
  int rank = shape_of(f, kind, n, &n->out[o], (bounds){ nbound, bound_name, bound }, shape, &e);
  if (rank < 0) api_fail(err, &e);
  return rank;
}
