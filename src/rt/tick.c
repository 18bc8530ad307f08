/* tick: finds the dims that steps go through and the values that are whole at a tick, and makes the
 * code for steps. */
#include "rt/fn.h"

/* ---- the dims ---- */

static bool is_used(const tp_graph *g, tp_sym *d) {
  TP_NODES (n, g->nodes)
    if (tp_dom_has(n->ndom, n->dom, d)) return true;
  return false;
}

/* Puts d into the list, in the order of dims; returns its place. */
static int put_dim(tp_sym **v, int n, tp_sym *d) {
  int i = n;
  for (; i > 0 && v[i - 1]->order > d->order; i--) v[i] = v[i - 1];
  v[i] = d;
  return i;
}

static bool take_dim(tp_fn *f, tp_sym *d, tp_error *err) {
  if (!is_used(f->graph, d))
    return tp_fail(
        err, TP_E_OPTION, f->pos, "tick: nothing that is computed has dim '%s'", d->name);
  int i = put_dim(f->tick, f->ntick++, d);
  return i == 0 || f->tick[i - 1] != d ||
      tp_fail(err, TP_E_OPTION, f->pos, "tick: '%s' is listed twice", d->name);
}

/* The program's only dim; NULL: it has several, or none. */
static tp_sym *only_dim(const tp_graph *g) {
  tp_sym *only = NULL;
  for (int i = 0; i < tp_nsym(g->ix); i++) {
    tp_sym *s = tp_sym_at(g->ix, i);
    if (s->kind != TP_SYM_DIM || !s->bound || !is_used(g, s)) continue;
    if (only) return NULL;
    only = s;
  }
  return only;
}

bool tp_choose_ticks(tp_fn *f, tp_error *err) {
  f->ticking = f->nasked > 0;
  f->tick = TP_NEWN(&f->closed->arena, tp_sym *, f->nasked + 1);
  for (int i = 0; i < f->nasked; i++)
    if (!take_dim(f, tp_sym_find(f->program->ix, f->asked_tick[i]), err)) return false;
  tp_sym *only = f->ticking ? NULL : only_dim(f->graph);
  if (only) f->tick[f->ntick++] = only;
  return true;
}

/* ---- values that are whole at a tick ---- */

typedef struct {
  tp_graph *g;
  int n;
  tp_sym *dim[64];
  bool *shown, *paced, *ends;
} when;

static bool judge_tick(when *w, tp_error *err) {
  w->shown = TP_NEWN(&w->g->arena, bool, w->g->outputs.n);
  w->paced = TP_NEWN(&w->g->arena, bool, w->g->nodes.n);
  w->ends = TP_NEWN(&w->g->arena, bool, w->g->stops.n);
  return tp_ref_ticks(w->g, w->n, w->dim, w->shown, w->paced, w->ends, err);
}

static bool has_ticks(const when *w, const tp_node *n) {
  for (int k = 0; k < w->n; k++)
    if (!tp_dom_has(n->ndom, n->dom, w->dim[k]) ||
        tp_dom_has(n->attr.nover, n->attr.over, w->dim[k]))
      return false;
  return true;
}

static bool in_time(const when *w, const tp_node *n, int output) {
  return output >= 0 ? w->shown[output] : w->paced[n->id];
}

static const char *dims_of(const when *w) {
  tp_buf b;
  tp_buf_init(&b);
  for (int i = 0; i < w->n; i++) tp_putf(&b, "%s%s", i ? ", " : "{", w->dim[i]->name);
  tp_puts(&b, "}");
  return tp_buf_give(&w->g->arena, &b);
}

/* An output that is late here, but in time if further dims of its domain tick as well, shows that
 * these dims go outside: the tick is no order of the program. output -1: a callback. */
static bool allowed(
    const when *w, const tp_node *n, int output, const char *name, tp_pos pos, tp_error *err) {
  tp_sym *added = NULL;
  when all = *w, more = *w;
  if (!has_ticks(w, n) || in_time(w, n, output)) return true;
  for (int k = 0; k < n->ndom && !added; k++) {
    if (tp_dom_has(w->n, w->dim, n->dom[k]) || tp_dom_has(n->attr.nover, n->attr.over, n->dom[k]))
      continue;
    more = *w;
    put_dim(more.dim, more.n++, n->dom[k]);
    put_dim(all.dim, all.n++, n->dom[k]);
    if (!judge_tick(&more, err)) return false;
    if (in_time(&more, n, output)) added = n->dom[k];
  }
  if (!added) {
    if (all.n < w->n + 2) return true;
    more = all;
    if (!judge_tick(&more, err)) return false;
    if (!in_time(&more, n, output)) return true;
  }
  return tp_fail(err, TP_E_OPTION, pos.file ? pos : n->pos,
      "tick = %s is forbidden by a cycle: '%s' at a tick needs later ones, because '%s' goes "
      "outside: add it, tick = %s",
      dims_of(w), name, added ? added->name : "another dim", dims_of(&more));
}

/* The dim's end is known when all its rows are, and these become known one by one. */
static bool inner_end(const when *w, const tp_stop *s, tp_error *err) {
  when more = *w;
  for (int d = 0; d < s->ndom; d++)
    if (tp_stop_of(w->g, s->dom[d]) && !tp_dom_has(w->n, w->dim, s->dom[d]))
      put_dim(more.dim, more.n++, s->dom[d]);
  if (more.n == w->n) return true;
  return tp_fail(err, TP_E_OPTION, s->pos,
      "tick = %s is forbidden: '%s' ends by data at each point of a dim that ends by data itself: "
      "add it, tick = %s",
      dims_of(w), s->dim->name, dims_of(&more));
}

static bool all_allowed(const when *w, tp_error *err) {
  for (int i = 0; i < w->g->stops.n; i++) {
    const tp_stop *s = &w->g->stops.v[i];
    if (!tp_dom_has(w->n, w->dim, s->dim)) continue;
    if (!inner_end(w, s, err)) return false;
    if (!w->ends[i])
      return tp_fail(err, TP_E_OPTION, s->pos,
          "tick = %s is forbidden by a cycle: whether '%s' ends is known only after later ticks",
          dims_of(w), s->dim->name);
  }
  for (int i = 0; i < w->g->outputs.n; i++) {
    const tp_output *o = &w->g->outputs.v[i];
    if (!o->hidden && !allowed(w, o->val.node, i, o->name, o->pos, err)) return false;
  }
  TP_NODES (n, w->g->nodes) {
    if (n->op == TP_OP_CALL && !allowed(w, n, -1, n->name ? n->name : "a callback", n->pos, err))
      return false;
  }
  return true;
}

/* ---- the code ---- */

/* Has a tick any part in node n? `part` says it of other nodes. */
static bool ticks_in(const when *w, const tp_node *n, const bool *part) {
  bool any = false;
  for (int k = 0; k < w->n; k++) any |= tp_dom_has(n->ndom, n->dom, w->dim[k]);
  for (int k = 0; k < n->nin; k++) any |= part[n->in[k].src.node->id];
  for (int i = 0; i < w->g->stops.n && !any; i++) {
    const tp_stop *s = &w->g->stops.v[i];
    any = part[s->done.node->id] &&
        (tp_dom_has(n->ndom, n->dom, s->dim) || tp_node_mentions(n, s->sym));
  }
  return any;
}

/* By node id: has a tick a part in it? Found in rounds, because values go in circles. */
static const bool *ticked(const when *w) {
  bool *part = TP_NEWN(&w->g->arena, bool, w->g->nodes.n);
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < w->g->nodes.n; i++)
      if (!part[i] && ticks_in(w, w->g->nodes.v[i], part)) part[i] = more = true;
  }
  return part;
}

static void note_flags(tp_fn *f, const when *w) {
  const bool *part = ticked(w);
  tp_arena *a = &f->closed->arena;
  f->fed = TP_NEWN(a, bool, w->g->inputs.n);
  f->shown = TP_DUPN(a, w->shown, w->g->outputs.n);
  f->first = TP_NEWN(a, bool, w->g->outputs.n);
  for (int i = 0; i < w->g->outputs.n; i++)
    f->first[i] = !w->g->outputs.v[i].hidden && !part[w->g->outputs.v[i].val.node->id];
  for (int i = 0; i < w->g->inputs.n; i++)
    f->fed[i] = tp_fn_needs_input(f, i) && has_ticks(w, w->g->inputs.v[i]);
}

static bool prepare(tp_fn *f, when *w, tp_error *err) {
  *w = (when){ .g = tp_checked_graph(f, err), .n = f->ntick };
  TP_COPYN(w->dim, f->tick, f->ntick);
  f->steps.graph = w->g;
  return w->g && tp_sweep_graph(f, w->g, err) && judge_tick(w, err);
}

/* *asks: how many conditions on bounds this order needs beyond legality. */
static bool make_with(tp_fn *f, bool promise, int *asks, tp_error *err) {
  when w;
  if (!prepare(f, &w, err) || !all_allowed(&w, err)) return false;
  int before = w.g->boundchecks.n;
  if (!promise) {
    memset(w.shown, 0, (size_t)w.g->outputs.n);
    memset(w.paced, 0, (size_t)w.g->nodes.n);
  }
  note_flags(f, &w);
  tp_ticks t = { w.n, w.dim, f->fed, w.shown, w.paced, f->first };
  bool ok = f->tier == TP_TIER_REFERENCE
      ? tp_has_order(f, w.g, &t, err)
      : tp_make_code(f, &f->steps.graph, &t, &f->steps.poly, &f->steps.plan, err);
  *asks = f->steps.graph->boundchecks.n - before;
  return ok;
}

void tp_drop_ticks(tp_fn *f) {
  tp_poly_free(f->steps.poly);
  tp_graph_free(f->steps.graph);
  f->steps = (tp_stages){ 0 };
  f->fed = f->shown = f->first = NULL;
}

static bool try_ticks(tp_fn *f, bool promise, int *asks, tp_error *err) {
  tp_drop_ticks(f);
  bool ok = make_with(f, promise, asks, err);
  if (!ok) tp_drop_ticks(f);
  return ok;
}

/* First assumes what bounds promise. If that gives no order, or one for fewer bounds, assumes
 * nothing, because small bounds do not show everything. */
bool tp_make_ticks(tp_fn *f, tp_error *err) {
  tp_error mine = { 0 }, other = { 0 };
  int asks = 0, fewer = 0;
  bool ok = try_ticks(f, true, &asks, &mine);
  if (ok ? asks > 0 : mine.code == TP_E_CYCLE) {
    bool better = try_ticks(f, false, &fewer, &other) && (!ok || fewer < asks);
    if (ok && !better) ok = try_ticks(f, true, &asks, &mine);
    else ok = better, mine = other;
  }
  if (!ok && err && err->code == TP_OK) *err = mine;
  return ok;
}

int tp_fn_tick_dims(const tp_fn *f, tp_dims *out) {
  *out = f->tick;
  return f->ntick;
}

bool tp_fn_fed(const tp_fn *f, int i) { return f->fed && f->fed[i]; }
tp_sym *tp_fn_endless(const tp_fn *f) { return f->ntick ? f->tick[0]->bound : NULL; }
