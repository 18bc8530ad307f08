/* ref.c: the entry points. */
#include "ref/machine.h"

/* ---- a run ---- */

bool ref_init(ref *r, tp_graph *g, tp_run *run, tp_error *err) {
  r->g = g;
  r->run = run;
  r->err = err;
  int nsym = tp_nsym(g->ix);
  r->env = TP_NEWN(&r->arena, int64_t, nsym);
  for (int i = 0; i < nsym; i++)
    if (tp_sym_at(g->ix, i)->kind == TP_SYM_BOUND) r->env[i] = run->env[i];
  ref_stops_open(r);
  r->number = TP_NEWN(&r->arena, int, g->nodes.n);
  r->scatter = TP_NEWN(&r->arena, ref_scatter *, g->nodes.n);
  r->calls = TP_NEWN(&r->arena, ref_calls *, g->nodes.n);
  for (int i = 0; i < g->inputs.n; i++)
    if (g->inputs.v[i]->id >= 0) r->number[g->inputs.v[i]->id] = i; /* -1: swept */
  return true;
}

static bool fill_output(ref *r, int i) {
  tp_val v = r->g->outputs.v[i].val;
  int64_t lo[TP_MAXDIM] = { 0 }, hi[TP_MAXDIM], at[TP_MAXDIM];
  if (v.node->op == TP_OP_PINIT && r->run->params &&
      r->run->outputs[i] == r->run->params[v.node->attr.number])
    return true;
  for (int k = 0; k < v.node->ndom; k++) hi[k] = ref_bound(r, v.node->dom[k]);
  for (bool more = ref_first(v.node->ndom, lo, hi, at); more;
       more = ref_next(v.node->ndom, lo, hi, at)) {
    tp_cell *c;
    ref_answer x = ref_find(r, v.node->ndom, v.node->dom, lo, hi, at);
    if (x != REF_YES) return x == REF_NO;
    if (!ref_eval(r, v.node, at, &c) || !ref_to_array(r, c, v.out, r->run->outputs[i]))
      return false;
  }
  return true;
}

/* After a cancel, outputs from i on are not complete. Parameters keep what was made. */
static void drop_outputs(ref *r, int i) {
  for (; i < r->g->outputs.n; i++)
    if (!r->g->outputs.v[i].hidden) r->run->outputs[i] = tp_array_unref(r->run->outputs[i]);
}

/* Parameters that do not evolve: before any callback, which may end the run. */
static bool fill_first(ref *r) {
  bool ok = true;
  for (int i = 0, k = 0; i < r->g->outputs.n && ok; i++)
    if (r->g->outputs.v[i].hidden && !tp_param_evolves(r->g->params.v[k++])) ok = fill_output(r, i);
  return ok;
}

/* ---- parameters, after a run that ended early ---- */

static bool is_along_axis(const tp_node *w, int d) {
  return tp_dom_has(w->attr.nalong, w->attr.along, w->dom[d]);
}

/* < 0: a lies before b, by the dims along which w evolves. */
static int compare_along(const tp_node *w, const int64_t *a, const int64_t *b) {
  int c = 0;
  for (int d = 0; d < w->ndom && !c; d++)
    if (is_along_axis(w, d)) c = (a[d] > b[d]) - (a[d] < b[d]);
  return c;
}

/* The last point of w that is made, before the one given unless that is NULL. */
static const int64_t *last_made(ref *r, const tp_node *w, const int64_t *before) {
  const int64_t *last = NULL;
  for (int64_t h = 0; h < r->nslot; h++)
    for (tp_cell *c = r->slot[h]; c; c = c->next)
      if (c->node == w && c->state == CELL_DONE &&
          (!before || compare_along(w, ref_at(c), before) < 0) &&
          (!last || compare_along(w, ref_at(c), last) > 0))
        last = ref_at(c);
  return last;
}

/* All rows of w at this point, if they are all made. */
static bool copy_made(ref *r, const tp_node *w, const int64_t *point, tp_array *to) {
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], at[TP_MAXDIM], n = 0;
  for (int d = 0; d < w->ndom; d++) {
    lo[d] = is_along_axis(w, d) ? point[d] : 0;
    hi[d] = is_along_axis(w, d) ? point[d] + 1 : ref_bound(r, w->dom[d]);
  }
  for (bool more = ref_first(w->ndom, lo, hi, at); more; more = ref_next(w->ndom, lo, hi, at), n++)
    if (ref_cell(r, w, at)->state != CELL_DONE) return false;
  size_t part = n ? tp_array_bytes(to) / (size_t)n : 0;
  char *p = to->data;
  for (bool more = ref_first(w->ndom, lo, hi, at); more;
       more = ref_next(w->ndom, lo, hi, at), p += part) {
    ref_data v;
    if (ref_view(r, ref_cell(r, w, at), 0, &v)) memcpy(p, v.data, part);
  }
  return true;
}

static void keep_newest(ref *r, const bool *complete) {
  for (int i = 0, k = 0; i < r->g->outputs.n; i++) {
    if (!r->g->outputs.v[i].hidden) continue;
    const tp_node *w = r->g->params.v[k++];
    if (complete[i] || w->id < 0 || !tp_param_evolves(w) || !r->run->outputs[i]) continue;
    const int64_t *at = NULL;
    while ((at = last_made(r, w, at)) && !copy_made(r, w, at, r->run->outputs[i])) {}
  }
}

/* Without callbacks nothing has to be kept ahead of the outputs: what is made of a parameter stays.
 */
static bool has_callbacks(const tp_graph *g) {
  bool any = false;
  for (int i = 0; i < g->nodes.n; i++)
    any |= g->nodes.v[i]->op == TP_OP_CALL && g->nodes.v[i]->attr.fn != TP_FN_KEEP;
  return any;
}

static bool run_all(ref *r) {
  int done = 0;
  bool ok = fill_first(r) && (!has_callbacks(r->g) || ref_call_all(r)),
       *complete = TP_NEWN(&r->arena, bool, r->g->outputs.n);
  for (; ok && done < r->g->outputs.n; done += ok) complete[done] = ok = fill_output(r, done);
  if (!ok) keep_newest(r, complete);
  if (r->cancelled) drop_outputs(r, done);
  return ok || r->cancelled;
}

/* The machine lives on the heap, away from what setjmp may put back. */
bool ref_open(ref *r, tp_error *err) {
  if (!r) return tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "out of memory in the reference evaluator");
  tp_arena_init(&r->arena);
  return true;
}

void ref_close(ref *r) {
  tp_arena_free(&r->arena);
  tp_free(r);
}

bool tp_ref_run(tp_graph *g, tp_run *run, tp_error *err) {
  ref *const r = tp_calloc(sizeof *r);
  if (!ref_open(r, err)) return false;
  volatile bool ok = false;
  tp_guard oom;
  if (TP_GUARDED(&oom)) {
    ok = ref_init(r, g, run, err) && run_all(r);
    tp_unguard(&oom);
  } else tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "out of memory in the reference evaluator");
  ref_close(r);
  return ok;
}

static bool is_there(ref *r, const tp_node *n, const int64_t *at) {
  for (int k = 0; k < n->ndom; k++)
    if (at[k] < 0 || at[k] >= ref_bound(r, n->dom[k])) {
      tp_fail(r->err, TP_E_DOMAIN, n->pos, "domain: %s has no point %s = %lld (%s = %lld)",
          ref_label(r, n), n->dom[k]->name, (long long)at[k], n->dom[k]->bound->name,
          (long long)ref_bound(r, n->dom[k]));
      return false;
    }
  int which = 0;
  ref_answer alive = ref_is_alive(r, n->ndom, n->dom, at, &which);
  if (alive == REF_NO)
    tp_fail(r->err, TP_E_DOMAIN, n->pos, "domain: %s has no point%s: '%s' has ended there",
        ref_label(r, n), ref_where(r, n, at), r->ending[which].stop->dim->name);
  return alive == REF_YES;
}

static tp_array *peek(ref *r, tp_val v, const int64_t *at) {
  tp_cell *c;
  ref_data x;
  if (!is_there(r, v.node, at) || !ref_eval(r, v.node, at, &c) || !ref_view(r, c, v.out, &x))
    return NULL;
  tp_array *a = tp_array_new(x.dtype, x.rank, x.shape);
  if (!a) tp_oom();
  if (x.n) memcpy(a->data, x.data, tp_array_bytes(a));
  return a;
}

tp_array *tp_ref_peek(tp_graph *g, tp_run *run, tp_val v, const int64_t *at, tp_error *err) {
  ref *const r = tp_calloc(sizeof *r);
  if (!ref_open(r, err)) return NULL;
  tp_array *volatile a = NULL;
  tp_guard oom;
  if (TP_GUARDED(&oom)) {
    if (ref_init(r, g, run, err)) a = peek(r, v, at);
    tp_unguard(&oom);
  } else tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "out of memory in the reference evaluator");
  ref_close(r);
  return a;
}
