/* ref.c: the stack machine, what each class of operator does when its operands are there, and the
 * entry points. */
#include "ref/machine.h"

/* ---- computing one cell ---- */

/* The data of the only operand, seen at another point or in another shape. */
static bool alias(ref *r, tp_cell *c) {
  c->data[0] = r->ops.v[0].cell->data[r->ops.v[0].out];
  return true;
}

static bool compute_read(ref *r, tp_cell *c) {
  const tp_node *n = c->node;
  bool range = false;
  for (int k = 0; k < n->in[0].src.node->ndom; k++) range |= n->attr.at[k].range;
  if (!range) return alias(r, c);
  ref_data out;
  if (!ref_new(r, c, 0, &out)) return false;
  if (!r->ops.n || !out.n) return true;
  size_t bytes = (size_t)(out.n / r->ops.n) * (size_t)tp_dtype_size(out.dtype);
  for (int i = 0; i < r->ops.n; i++)
    memcpy((char *)out.data + (size_t)i * bytes, r->ops.v[i].cell->data[r->ops.v[i].out], bytes);
  return true;
}

static bool compute_accum(ref *r, tp_cell *c) {
  ref_data out;
  if (!ref_new(r, c, 0, &out)) return false;
  for (int64_t e = 0; e < out.n; e++) {
    ref_acc a = ref_acc_start(c->node->attr.red, out.dtype);
    for (int i = 0; i < r->ops.n; i++)
      ref_acc_add(&a, out.dtype, r->ops.v[i].cell->data[r->ops.v[i].out], r->ops.v[i].row + e);
    if (!ref_acc_end(&a, out.dtype, out.data, e))
      return ref_fail(r, c, TP_E_INPUT, "max or min of no integers");
  }
  return c->node->attr.check != TP_CHECK_NAN || ref_look_sum(r, c, &out);
}

static bool compute_init(ref *r, tp_cell *c) {
  tp_array *loaded = r->run->params ? r->run->params[c->node->attr.i[0]] : NULL;
  return loaded ? ref_from_array(r, c, loaded) : alias(r, c);
}

static bool compute_time(ref *r, tp_cell *c) {
  switch (c->node->op) {
  case TP_OP_READ: return compute_read(r, c);
  case TP_OP_MERGE: return alias(r, c);
  case TP_OP_ACCUM: return compute_accum(r, c);
  case TP_OP_PINIT: return compute_init(r, c);
  default: return ref_fail(r, c, TP_E_OPTION, "%s reached the evaluator", tp_ops[c->node->op].text);
  }
}

/* Views of operands and results, then the kernel. */
static bool compute_kernel(
    ref *r, tp_cell *c, bool (*kernel)(ref *, tp_cell *, ref_data *, const ref_data *)) {
  ref_data out[8];
  TP_ASSERT(c->node->nout <= (int)TP_LEN(out));
  r->in.n = 0;
  for (int k = 0; k < r->ops.n; k++) {
    ref_data v;
    if (!ref_view(r, r->ops.v[k].cell, r->ops.v[k].out, &v)) return false;
    TP_PUSH(&r->arena, &r->in, v);
  }
  for (int o = 0; o < c->node->nout; o++)
    if (!ref_new(r, c, o, &out[o])) return false;
  ref_point(r, c->node, ref_at(c));
  return kernel(r, c, out, r->in.v) &&
      (c->node->attr.check != TP_CHECK_NAN || ref_look(r, c, out, r->in.v));
}

static bool compute(ref *r, tp_cell *c) {
  switch (tp_ops[c->node->op].cls) {
  case TP_CLS_SRC: return ref_source(r, c);
  case TP_CLS_TIME: return compute_time(r, c);
  case TP_CLS_UN:
  case TP_CLS_UNF:
  case TP_CLS_LOG:
  case TP_CLS_CAST:
  case TP_CLS_BIN:
  case TP_CLS_CMP:
  case TP_CLS_SEL:
    return c->node->op == TP_OP_DETACH ? alias(r, c) : compute_kernel(r, c, ref_elementwise);
  case TP_CLS_RED:
  case TP_CLS_ARG:
  case TP_CLS_SCAN:
  case TP_CLS_MM: return compute_kernel(r, c, ref_fold);
  case TP_CLS_CONV: return compute_kernel(r, c, ref_conv);
  case TP_CLS_MOVE:
    return c->node->op == TP_OP_RESHAPE ? alias(r, c) : compute_kernel(r, c, ref_move);
  case TP_CLS_GATH:
  case TP_CLS_SORT: return compute_kernel(r, c, ref_pick);
  case TP_CLS_ENV: return compute_kernel(r, c, ref_env);
  case TP_CLS_FX:
  case TP_CLS_GRAD: break;
  }
  return ref_fail(r, c, TP_E_OPTION, "%s reached the evaluator", tp_ops[c->node->op].text);
}

/* ---- the stack ---- */

/* A call for a later point makes all earlier ones first, so the point of the next one decides. */
bool ref_early(ref *r, tp_cell *c) {
  const tp_node *n = c->node;
  int64_t at[TP_MAXDIM];
  if (n->op != TP_OP_INPUT && n->op != TP_OP_CALL) return false;
  if (n->op == TP_OP_CALL) ref_call_next(r, n, at);
  else memcpy(at, ref_at(c), sizeof *at * (size_t)n->ndom);
  for (int k = 0; k < r->ticks->n; k++)
    if (!tp_dom_has(n->ndom, n->dom, r->ticks->dim[k]) ||
        tp_dom_has(n->attr.nover, n->attr.over, r->ticks->dim[k]))
      return false;
  ref_point(r, n, at);
  for (int k = 0; k < r->ticks->n; k++) {
    int64_t x = r->env[r->ticks->dim[k]->id];
    if (x != r->now[k]) return x > r->now[k];
  }
  return n->op == TP_OP_INPUT;
}

/* What was demanded first is made first: of several points that fail the first in lexicographic
 * order is met. Not between ticks, where what comes of a later tick should be met soon: a
 * recurrence from the last point on would be followed to its beginning. */
static void turn_round(ref *r, int from) {
  for (int i = from, j = r->stack.n - 1; i < j; i++, j--) {
    tp_cell *c = r->stack.v[i];
    r->stack.v[i] = r->stack.v[j];
    r->stack.v[j] = c;
  }
}

/* Done, or r->waiting for what was pushed. */
static bool take_step(ref *r, tp_cell *c) {
  int from = r->stack.n;
  r->ops.n = 0;
  r->waiting = false;
  c->state = CELL_WORK;
  if (c->node->id >= r->g->nodes.n) return ref_stop_step(r, c);
  if (r->now && ref_early(r, c)) return !(r->early = true);
  if (c->node->op == TP_OP_CALL) return ref_call_step(r, c);
  if (!ref_demand_operands(r, c)) return false;
  if (r->waiting && !r->now) turn_round(r, from);
  if (r->waiting) return true;
  if (!compute(r, c)) return false;
  c->state = CELL_DONE;
  return true;
}

bool ref_eval(ref *r, const tp_node *n, const int64_t *at, tp_cell **out) {
  *out = ref_cell(r, n, at);
  TP_PUSH(&r->arena, &r->stack, *out);
  while (r->stack.n) {
    tp_cell *c = r->stack.v[r->stack.n - 1];
    if (c->state == CELL_DONE) {
      r->stack.n--;
      continue;
    }
    if (tp_run_ends(r->run)) return !(r->cancelled = true);
    if (!take_step(r, c)) return false;
  }
  return true;
}

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
      r->run->outputs[i] == r->run->params[v.node->attr.i[0]])
    return true;
  for (int k = 0; k < v.node->ndom; k++) hi[k] = ref_bound(r, v.node->dom[k]);
  for (bool more = ref_first(v.node->ndom, lo, hi, at); more;
       more = ref_next(v.node->ndom, lo, hi, at)) {
    tp_cell *c;
    ref_answer x = ref_seek(r, NULL, v.node->ndom, v.node->dom, lo, hi, at);
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

void ref_newest(ref *r, const bool *complete) {
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
  if (!ok) ref_newest(r, complete);
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
  ref_answer alive = ref_alive(r, NULL, n->ndom, n->dom, at, &which);
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
