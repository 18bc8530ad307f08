/* grad: replaces GRAD nodes by adjoints.
 *
 * GRADs of the same losses share one sweep. Sweeps go in the order in which they depend on each
 * other: a gradient inside the ancestors of a loss first. The ancestors are the nodes that a
 * gradient passes; it does not go beyond a parameter, a leaf, a detach or an operator that stops
 * gradients. */
#include "grad/rules.h"

/* GRADs of the same losses that stop at the same leafs */
typedef struct family {
  tp_aims of;
  TP_VEC(tp_node *) grads;
  bool done;
} family;
typedef TP_VEC(family) families;

static tp_val *sources(tp_graph *g, const tp_node *n, int from, int count) {
  tp_val *v = TP_NEWN(&g->arena, tp_val, count);
  for (int i = 0; i < count; i++) v[i] = n->in[from + i].src;
  return v;
}

/* The losses of a GRAD, its own or those that backward() marked, and its leafs. */
static tp_aims aims_of(tp_graph *g, const tp_node *n) {
  int nleaf = n->attr.leaves, own = n->nin - 1 - nleaf, all = g->losses.n;
  return (tp_aims){ .nloss = own ? own : all,
    .loss = own ? sources(g, n, 0, own)
                : tp_dup(&g->arena, g->losses.v, sizeof *g->losses.v * (size_t)all),
    .nleaf = nleaf,
    .leaf = sources(g, n, own, nleaf) };
}

static tp_val asked(const tp_node *n) { return n->in[n->nin - 1].src; }

static bool same_values(int n, const tp_val *a, int m, const tp_val *b) {
  bool same = n == m;
  for (int i = 0; same && i < n; i++) same = tp_same_val(a[i], b[i]);
  return same;
}

static bool same_aims(const tp_aims *a, const tp_aims *b) {
  return same_values(a->nloss, a->loss, b->nloss, b->loss) &&
      same_values(a->nleaf, a->leaf, b->nleaf, b->leaf);
}

static void collect(tp_graph *g, families *all) {
  TP_NODES (n, g->nodes) {
    if (n->op != TP_OP_GRAD) continue;
    tp_aims of = aims_of(g, n);
    int k = 0;
    while (k < all->n && !same_aims(&all->v[k].of, &of)) k++;
    if (k == all->n) TP_PUSH(&g->arena, all, (family){ .of = of });
    TP_PUSH(&g->arena, &all->v[k].grads, n);
  }
}

/* ---- order ---- */

/* Marks the nodes that a gradient of the losses passes. True: one of them is a GRAD. */
static bool mark_ancestors(tp_graph *g, const tp_aims *of) {
  TP_VEC(tp_val) work = { 0 };
  bool *seen = TP_NEWN(&g->arena, bool, g->nodes.n), found = false;
  TP_NODES (n, g->nodes) n->mark = 0;
  for (int i = 0; i < of->nloss; i++) TP_PUSH(&g->arena, &work, of->loss[i]);
  while (work.n) {
    tp_val v = work.v[--work.n];
    v.node->mark = 1;
    found |= v.node->op == TP_OP_GRAD;
    if (v.out || seen[v.node->id]) continue;
    seen[v.node->id] = true;
    for (int k = 0; k < v.node->nin; k++)
      if (tp_grad_passes(of, v, k)) TP_PUSH(&g->arena, &work, v.node->in[k].src);
  }
  return found;
}

static family *next_ready(tp_graph *g, families *all) {
  for (int i = 0; i < all->n; i++)
    if (!all->v[i].done && !mark_ancestors(g, &all->v[i].of)) return &all->v[i];
  return NULL;
}

/* The name to blame for a GRAD among its own ancestors: that of the tensor it differentiates by,
 * else of a declared tensor on the way, else of any node there. */
static const char *culprit(tp_graph *g, const family *f) {
  const tp_node *best = NULL;
  mark_ancestors(g, &f->of);
  for (int i = 0; i < f->grads.n; i++) {
    const tp_node *x = asked(f->grads.v[i]).node;
    if (x->mark && x->name) return x->name;
  }
  TP_NODES (n, g->nodes) {
    if (n->mark && n->name && (!best || (n->op == TP_OP_MERGE && best->op != TP_OP_MERGE)))
      best = n;
  }
  return best ? best->name : "w";
}

static bool cycle(tp_graph *g, const families *all, tp_error *err) {
  for (int i = 0; i < all->n; i++)
    if (!all->v[i].done)
      return tp_fail(err, TP_E_CYCLE, all->v[i].grads.v[0]->pos,
          "cycle: gradient runs through the update of '%s': make it a parameter, take it with leaf "
          "= true, or detach (which drops terms)",
          culprit(g, &all->v[i]));
  return true;
}

/* ---- replacement ---- */

static void follow(tp_val *v) {
  while (v->node->op == TP_OP_GRAD && v->node->subst) *v = tp_v(v->node->subst);
}

/* Makes readers of an expanded GRAD read its gradient. */
static void rewire(tp_graph *g, families *all) {
  TP_NODES (n, g->nodes)
    for (int k = 0; k < n->nin; k++) follow(&n->in[k].src);
  for (int i = 0; i < g->outputs.n; i++) follow(&g->outputs.v[i].val);
  for (int i = 0; i < g->losses.n; i++) follow(&g->losses.v[i]);
  for (int i = 0; i < g->stops.n; i++) follow(&g->stops.v[i].done);
  for (int i = 0; i < all->n; i++) {
    const tp_aims *of = &all->v[i].of;
    for (int k = 0; k < of->nloss; k++) follow(&of->loss[k]);
    for (int k = 0; k < of->nleaf; k++) follow(&of->leaf[k]);
  }
}

/* ---- gradients that are 0: the losses do not contain the tensor ---- */

/* "'v', 'w' and 3 more": the tensors of those GRADs, not told yet, that stand in one optimiser's
 * step, or one line, with `like`. Marks them as told. */
static const char *names_of(
    tp_graph *g, const family *f, const tp_node *like, bool *told, int *count) {
  enum { SHOWN = 8 };
  const char *list = "";
  *count = 0;
  for (int i = 0; i < f->grads.n; i++) {
    const tp_node *n = f->grads.v[i];
    if (told[i] || n->attr.optimiser != like->attr.optimiser || n->pos.line != like->pos.line ||
        n->pos.file != like->pos.file)
      continue;
    told[i] = true;
    if ((*count)++ < SHOWN)
      list = tp_printf(&g->arena, "%s%s%s", list, *list ? ", " : "", tp_called(g, asked(n).node));
  }
  return *count > SHOWN ? tp_printf(&g->arena, "%s and %d more", list, *count - SHOWN) : list;
}

/* Do the losses reach a tensor of this step? The GRADs of one step of an optimiser have one
 * number. */
static bool learns(const family *f, const bool *reached, int step) {
  for (int i = 0; i < f->grads.n; i++)
    if (reached[i] && f->grads.v[i]->attr.optimiser == step) return true;
  return false;
}

static bool tell_unreached(tp_graph *g, const family *f, const bool *reached, tp_error *err) {
  const char *loss = f->of.nloss == 1 ? tp_called(g, f->of.loss[0].node) : "the marked losses";
  bool *told = tp_dup(&g->arena, reached, sizeof *reached * (size_t)f->grads.n);
  for (int i = 0, count; i < f->grads.n; i++) {
    const tp_node *n = f->grads.v[i];
    if (told[i]) continue;
    const char *names = names_of(g, f, n, told, &count);
    if (n->attr.optimiser && !learns(f, reached, n->attr.optimiser)) {
      tp_fail(err, TP_E_OPTION, n->pos, "option: %s reaches none of the optimiser's parameters: %s",
          loss, names);
      tp_note(err, "a gradient does not pass detach, comparisons, indices and callbacks");
      return false;
    }
    const char *why = f->of.nloss
        ? tp_printf(&g->arena,
              "%s does not contain %s, or only behind a detach, a comparison%s or an index", loss,
              names, f->of.nleaf > 1 ? ", another leaf" : "")
        : "no loss was marked by loss:backward()";
    TP_PUSH(&g->arena, &g->warnings,
        tp_printf(&g->arena, "%s:%d: option: %s: the gradient by %s is 0",
            n->pos.file ? n->pos.file : "?", n->pos.line, why,
            f->of.nloss ? count > 1 ? "them" : "it" : names));
  }
  return true;
}

static bool expand(tp_graph *g, family *f, tp_error *err) {
  tp_val *wrt = TP_NEWN(&g->arena, tp_val, f->grads.n),
         *out = TP_NEWN(&g->arena, tp_val, f->grads.n);
  bool *reached = TP_NEWN(&g->arena, bool, f->grads.n);
  for (int i = 0; i < f->grads.n; i++) wrt[i] = asked(f->grads.v[i]);
  if (!tp_grad_sweep(g, &f->of, f->grads.n, wrt, out, reached, err) ||
      !tell_unreached(g, f, reached, err))
    return false;
  for (int i = 0; i < f->grads.n; i++) {
    tp_node *n = f->grads.v[i];
    n->subst = out[i].node;
    if (n->name && !out[i].node->name) out[i].node->name = n->name;
  }
  f->done = true;
  return true;
}

/* ---- gradients that nothing needs ---- */

void tp_grad_sweep_unneeded(tp_graph *g) {
  typedef struct {
    const tp_node *grad;
    tp_node *param;
  } pair;
  TP_VEC(pair) all = { 0 };
  TP_NODES (n, g->nodes) {
    if (n->op == TP_OP_GRAD && asked(n).node->op == TP_OP_PARAM)
      TP_PUSH(&g->arena, &all, (pair){ n, asked(n).node });
  }
  tp_graph_sweep(g);
  for (int i = 0; i < all.n; i++) all.v[i].param->mark = 0;
  for (int i = 0; i < all.n; i++) all.v[i].param->mark |= all.v[i].grad->id >= 0;
  for (int i = 0; i < all.n; i++) {
    tp_pos at = all.v[i].grad->pos;
    tp_node *p = all.v[i].param;
    if (!p->mark)
      TP_PUSH(&g->arena, &g->warnings,
          tp_printf(&g->arena,
              "%s:%d: no output, sink or update needs the gradient of parameter '%s': "
              "'w = w - lr * g' only renames in Lua; write w:update(w - lr * g)",
              at.file ? at.file : "?", at.line, p->attr.str));
    p->mark = 1;
  }
}

bool tp_grad_expand(tp_graph *g, tp_error *err) {
  families all = { 0 };
  tp_pos pos = g->pos;
  tp_grad_sweep_unneeded(g);
  collect(g, &all);
  if (!all.n) return true;
  TP_NODES (n, g->nodes) n->subst = NULL;
  for (family *f; (f = next_ready(g, &all));) {
    if (!expand(g, f, err)) return false;
    rewire(g, &all);
  }
  g->pos = pos;
  if (!cycle(g, &all, err)) return false;
  tp_graph_sweep(g);
  return true;
}
