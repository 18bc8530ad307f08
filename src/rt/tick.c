/* tick: which dims steps go through, what is whole at a tick, and the code for it. */
#include "rt/fn.h"

/* ---- the dims ---- */

static bool is_used(const tp_graph *g, const tp_sym *d) {
  for (int i = 0; i < g->nodes.n; i++)
    if (tp_dom_has(g->nodes.v[i]->ndom, g->nodes.v[i]->dom, d)) return true;
  return false;
}

static bool take_dim(tp_fn *f, const tp_sym *d, tp_error *err) {
  if (!is_used(f->graph, d))
    return tp_fail(
        err, TP_E_OPTION, f->pos, "tick: nothing that is computed has dim '%s'", d->name);
  int i = f->ntick++;
  for (; i > 0 && f->tick[i - 1]->order > d->order; i--) f->tick[i] = f->tick[i - 1];
  f->tick[i] = d;
  return i == 0 || f->tick[i - 1] != d ||
      tp_fail(err, TP_E_OPTION, f->pos, "tick: '%s' is listed twice", d->name);
}

static int used_dims(const tp_fn *f, const tp_sym **last) {
  const tp_ictx *c = f->graph->ix;
  int n = 0;
  for (int i = 0; i < tp_nsym(c); i++) {
    const tp_sym *s = tp_sym_at(c, i);
    if (s->kind == TP_SYM_DIM && s->bound && is_used(f->graph, s)) {
      n++;
      *last = s;
    }
  }
  return n;
}

bool tp_choose_ticks(tp_fn *f, tp_error *err) {
  const tp_sym *only = NULL;
  f->ticking = f->nasked > 0;
  f->tick = TP_NEWN(&f->closed->arena, const tp_sym *, f->nasked + 1);
  for (int i = 0; i < f->nasked; i++)
    if (!take_dim(f, tp_sym_find(f->program->ix, f->asked_tick[i]), err)) return false;
  return f->ticking || used_dims(f, &only) != 1 || take_dim(f, only, err);
}

/* ---- what is whole when ---- */

typedef struct {
  tp_graph *g;
  int n;
  const tp_sym *dim[64];
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

static void add_dim(when *w, const tp_sym *d) {
  int i = w->n++;
  for (; i > 0 && w->dim[i - 1]->order > d->order; i--) w->dim[i] = w->dim[i - 1];
  w->dim[i] = d;
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

static bool forbidden(const when *w, const when *more, const tp_node *n, const char *name,
    tp_pos pos, const tp_sym *added, tp_error *err) {
  return tp_fail(err, TP_E_OPTION, pos.file ? pos : n->pos,
      "tick = %s is forbidden by a cycle: '%s' at a tick needs later ones, because '%s' goes "
      "outside: add it, tick = %s",
      dims_of(w), name, added ? added->name : "another dim", dims_of(more));
}

/* Late here and in time when further dims of its domain tick as well: these dims go outside, so the
 * tick is no order of the program. */
static bool allowed(
    const when *w, const tp_node *n, int output, const char *name, tp_pos pos, tp_error *err) {
  if (!has_ticks(w, n) || in_time(w, n, output)) return true;
  when all = *w;
  for (int k = 0; k < n->ndom; k++) {
    if (tp_dom_has(w->n, w->dim, n->dom[k]) || tp_dom_has(n->attr.nover, n->attr.over, n->dom[k]))
      continue;
    when one = *w;
    add_dim(&one, n->dom[k]);
    add_dim(&all, n->dom[k]);
    if (!judge_tick(&one, err)) return false;
    if (in_time(&one, n, output)) return forbidden(w, &one, n, name, pos, n->dom[k], err);
  }
  if (all.n < w->n + 2 || !judge_tick(&all, err)) return all.n < w->n + 2;
  return !in_time(&all, n, output) || forbidden(w, &all, n, name, pos, NULL, err);
}

static const char *label(const tp_node *n) { return n->name ? n->name : "a callback"; }

/* How far the dim goes is known where all its rows are, which are themselves known one by one. */
static bool inner_end(const when *w, const tp_stop *s, tp_error *err) {
  when more = *w;
  for (int d = 0; d < s->ndom; d++)
    if (tp_stop_of(w->g, s->dom[d]) && !tp_dom_has(w->n, w->dim, s->dom[d]))
      add_dim(&more, s->dom[d]);
  if (more.n == w->n) return true;
  return tp_fail(err, TP_E_OPTION, s->pos,
      "tick = %s is forbidden: '%s' ends by data at each point of a dim that ends by data itself: "
      "add it, tick = %s",
      dims_of(w), s->dim->name, dims_of(&more));
}

static bool late_end(const when *w, const tp_stop *s, tp_error *err) {
  return tp_fail(err, TP_E_OPTION, s->pos,
      "tick = %s is forbidden by a cycle: whether '%s' ends is known only after later ticks",
      dims_of(w), s->dim->name);
}

static bool all_allowed(const when *w, tp_error *err) {
  for (int i = 0; i < w->g->stops.n; i++) {
    const tp_stop *s = &w->g->stops.v[i];
    if (!tp_dom_has(w->n, w->dim, s->dim)) continue;
    if (!inner_end(w, s, err) || (!w->ends[i] && !late_end(w, s, err))) return false;
  }
  for (int i = 0; i < w->g->outputs.n; i++) {
    const tp_output *o = &w->g->outputs.v[i];
    if (!o->hidden && !allowed(w, o->val.node, i, o->name, o->pos, err)) return false;
  }
  for (int i = 0; i < w->g->nodes.n; i++)
    if (w->g->nodes.v[i]->op == TP_OP_CALL &&
        !allowed(w, w->g->nodes.v[i], -1, label(w->g->nodes.v[i]), w->g->nodes.v[i]->pos, err))
      return false;
  return true;
}

/* ---- the code ---- */

/* Has a tick any part in what n is made of, where `part` says it of other nodes? */
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

/* By node id; in rounds, as values go in circles. */
static const bool *ticked(const when *w) {
  bool *part = TP_NEWN(&w->g->arena, bool, w->g->nodes.n);
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < w->g->nodes.n; i++)
      if (!part[i] && ticks_in(w, w->g->nodes.v[i], part)) part[i] = more = true;
  }
  return part;
}

static void forget_flags(tp_fn *f) {
  tp_free(f->fed);
  tp_free(f->shown);
  tp_free(f->first);
  f->fed = f->shown = f->first = NULL;
}

static bool note_flags(tp_fn *f, const when *w, tp_error *err) {
  forget_flags(f);
  f->fed = tp_calloc((size_t)w->g->inputs.n + 1);
  f->shown = tp_calloc((size_t)w->g->outputs.n + 1);
  f->first = tp_calloc((size_t)w->g->outputs.n + 1);
  if (!f->fed || !f->shown || !f->first) return tp_no_memory(err, f->pos);
  const bool *part = ticked(w);
  for (int i = 0; i < w->g->outputs.n; i++)
    f->first[i] = !w->g->outputs.v[i].hidden && !part[w->g->outputs.v[i].val.node->id];
  for (int i = 0; i < w->g->inputs.n; i++)
    f->fed[i] = tp_fn_needs_input(f, i) && has_ticks(w, w->g->inputs.v[i]);
  memcpy(f->shown, w->shown, (size_t)w->g->outputs.n);
  return true;
}

static bool prepare(tp_fn *f, when *w, tp_error *err) {
  *w = (when){ .g = tp_checked_graph(f, err), .n = f->ntick };
  memcpy(w->dim, f->tick, sizeof *f->tick * (size_t)f->ntick);
  f->steps.graph = w->g;
  return w->g && tp_sweep_graph(f, w->g, err) && judge_tick(w, err);
}

/* asks: how much more than legality does this order ask of bounds? */
static bool make_with(tp_fn *f, bool promise, int *asks, tp_error *err) {
  when w;
  if (!prepare(f, &w, err) || !all_allowed(&w, err)) return false;
  int before = w.g->boundchecks.n;
  if (!promise) {
    memset(w.shown, 0, (size_t)w.g->outputs.n);
    memset(w.paced, 0, (size_t)w.g->nodes.n);
  }
  if (!note_flags(f, &w, err)) return false;
  tp_ticks t = { w.n, w.dim, f->fed, w.shown, w.paced, f->first };
  bool ok = f->tier == TP_TIER_REFERENCE
      ? tp_has_order(f, w.g, &t, err)
      : tp_make_code(f, &f->steps.graph, &t, &f->steps.poly, &f->steps.plan, err);
  *asks = f->steps.graph->boundchecks.n - before;
  return ok;
}

static void drop_code(tp_fn *f) {
  tp_poly_free(f->steps.poly);
  if (f->steps.graph) tp_graph_free(f->steps.graph);
  f->steps = (tp_stages){ 0 };
}

static bool try_ticks(tp_fn *f, bool promise, int *asks, tp_error *err) {
  drop_code(f);
  bool ok = make_with(f, promise, asks, err);
  if (!ok) drop_code(f);
  return ok;
}

/* Small bounds do not show everything: where no order is found with what they promise, or only one
 * for fewer bounds, nothing is promised. */
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

void tp_drop_ticks(tp_fn *f) {
  drop_code(f);
  forget_flags(f);
}

int tp_fn_tick_dims(const tp_fn *f, const tp_sym *const **out) {
  *out = f->tick;
  return f->ntick;
}

bool tp_fn_fed(const tp_fn *f, int i) { return f->fed && f->fed[i]; }
const tp_sym *tp_fn_endless(const tp_fn *f) { return f->ntick ? f->tick[0]->bound : NULL; }
