/* graph: makes, copies and orders graphs. nodes.v[i]->id == i. A node that a sweep dropped has id
 * -1 and no operands, and stays in `inputs` and `params`, by which callers of a run and PINIT
 * count. The graph holds one reference to every CONST's array. */
#include "graph/core.h"

tp_graph *tp_graph_new(tp_ictx *ix) {
  tp_graph *g = tp_calloc(sizeof *g);
  if (!g) return NULL;
  g->ix = ix;
  tp_arena_init(&g->arena);
  return g;
}

tp_graph *tp_graph_free(tp_graph *g) {
  if (!g) return NULL;
  TP_NODES (n, g->nodes) tp_array_unref(n->attr.data);
  tp_arena_free(&g->arena);
  tp_free(g);
  return NULL;
}

/* ---- nodes ---- */

tp_node *tp_node_new(tp_graph *g, tp_op op) {
  tp_node *n = TP_NEW(&g->arena, tp_node);
  n->op = op;
  n->id = -1;
  n->pos = g->pos;
  return n;
}

void tp_node_register(tp_graph *g, tp_node *n) {
  n->id = g->nodes.n;
  TP_PUSH(&g->arena, &g->nodes, n);
  if (n->op == TP_OP_INPUT) TP_PUSH(&g->arena, &g->inputs, n);
  if (n->op == TP_OP_PARAM) TP_PUSH(&g->arena, &g->params, n);
  if (n->op == TP_OP_CALL && n->nout == 0) TP_PUSH(&g->arena, &g->sinks, n);
}

void tp_edge_push(tp_graph *g, tp_node *n, tp_edge e) {
  tp_vec_grow(&g->arena, (void **)&n->in, n->nin, &n->capin, sizeof *n->in);
  n->in[n->nin++] = e;
}

static const char *given_name(const tp_node *n) {
  return n->name ? n->name : tp_ops[n->op].cls == TP_CLS_ENV ? NULL : n->attr.str;
}
const char *tp_own_name(const tp_node *n) { return given_name(n) ? given_name(n) : n->var; }
const char *tp_label(const tp_node *n) { return given_name(n) ? given_name(n) : tp_op_said(n->op); }

tp_who tp_who_of(const tp_node *n) { return (tp_who){ given_name(n), n->var, n->what }; }

const char *tp_line_of(tp_graph *g, tp_pos pos) {
  return tp_printf(&g->arena, "%s:%d", pos.file ? pos.file : "?", pos.line);
}

const char *tp_called(tp_graph *g, const tp_node *n) {
  if (!tp_own_name(n) && g->learn) g->learn(g->host);
  if (tp_own_name(n)) return tp_printf(&g->arena, "'%s'", tp_own_name(n));
  return n->pos.file ? tp_printf(&g->arena, "the %s of %s", tp_label(n), tp_line_of(g, n->pos))
                     : tp_printf(&g->arena, "this %s", tp_label(n));
}

const char *tp_title(tp_arena *a, const tp_node *n) {
  if (n->name || n->attr.str) return tp_label(n);
  if (n->what) return n->what;
  const char *op = n->op == TP_OP_ACCUM ? tp_red_name(n->attr.red) : tp_op_said(n->op);
  if (!n->pos.file) return tp_printf(a, "%s%d", op, n->id);
  const char *folder = strrchr(n->pos.file, '/');
  return tp_printf(a, "%s@%s:%d", op, folder ? folder + 1 : n->pos.file, n->pos.line);
}

void tp_tell(tp_graph *g, const char *pass, tp_pos pos, const char *text) {
  TP_PUSH(&g->arena, &g->told, (tp_told){ pass, pos, text });
}

/* ---- clone ---- */

static tp_val moved(tp_graph *g, tp_val v) {
  return v.node ? (tp_val){ g->nodes.v[v.node->id], v.out } : v;
}

/* The whole node but for its operands, which may not exist yet. */
static tp_node *copy_node(tp_graph *g, const tp_node *n) {
  tp_arena *a = &g->arena;
  tp_node *c = tp_dup(a, n, sizeof *n);
  c->attr.data = NULL;
  c->in = NULL;
  c->nin = c->capin = 0;
  c->out = TP_DUPN(a, n->out, n->nout);
  for (int k = 0; k < n->nout; k++) c->out[k].shape = TP_DUPN(a, n->out[k].shape, n->out[k].rank);
  c->dom = TP_DUPN(a, n->dom, n->ndom);
  c->name = n->name ? tp_strdup(a, n->name) : NULL;
  c->var = n->var ? tp_strdup(a, n->var) : NULL;
  c->what = n->what ? tp_strdup(a, n->what) : NULL;
  c->subst = NULL;
  return c;
}

static void copy_edges(tp_graph *g, tp_node *c, const tp_node *n) {
  for (int k = 0; k < n->nin; k++) {
    tp_edge e = n->in[k];
    if (e.at) e.at = TP_DUPN(&g->arena, e.at, (e.gather ? e.src.node->ndom : n->ndom));
    e.src = moved(g, e.src);
    tp_edge_push(g, c, e);
  }
  tp_attr_copy(g, &c->attr, &n->attr);
}

/* The copy of an entry of a list, which may be a dropped node. */
static tp_node *listed(tp_graph *g, const tp_node *n) {
  if (n->id >= 0) return g->nodes.v[n->id];
  tp_node *c = copy_node(g, n);
  tp_attr_copy(g, &c->attr, &n->attr);
  return c;
}

static void copy_lists(tp_graph *c, const tp_graph *g) {
  tp_arena *a = &c->arena;
  TP_EACH (tp_output, x, g->outputs) {
    tp_output o = *x;
    o.name = tp_strdup(a, o.name);
    o.val = moved(c, o.val);
    TP_PUSH(a, &c->outputs, o);
  }
  TP_NODES (n, g->inputs) TP_PUSH(a, &c->inputs, listed(c, n));
  TP_NODES (n, g->params) TP_PUSH(a, &c->params, listed(c, n));
  TP_NODES (n, g->sinks) TP_PUSH(a, &c->sinks, listed(c, n));
  TP_EACH (tp_val, v, g->losses) TP_PUSH(a, &c->losses, moved(c, *v));
  TP_EACH (tp_stop, x, g->stops) {
    tp_stop s = *x;
    s.done = moved(c, s.done);
    s.dom = TP_DUPN(a, s.dom, s.ndom);
    s.end = s.end ? c->nodes.v[s.end->id] : NULL;
    TP_PUSH(a, &c->stops, s);
  }
  TP_EACH (tp_shapecheck, s, g->shapechecks) tp_shapecheck_add(c, s->a, s->b, s->pos, s->what);
  TP_EACH (tp_boundcheck, x, g->boundchecks) {
    tp_boundcheck s = *x;
    s.msg = tp_strdup(a, s.msg);
    TP_PUSH(a, &c->boundchecks, s);
  }
  for (int i = 0; i < g->warnings.n; i++) TP_PUSH(a, &c->warnings, tp_strdup(a, g->warnings.v[i]));
  TP_EACH (tp_told, x, g->told) tp_tell(c, x->pass, x->pos, tp_strdup(a, x->text));
}

static bool copied_all(tp_graph *c, const tp_graph *g) {
  tp_guard oom;
  if (!TP_GUARDED(&oom)) return false;
  c->seed = g->seed;
  c->nrand = g->nrand;
  c->fixed_bits = g->fixed_bits;
  c->pos = g->pos;
  TP_NODES (n, g->nodes) TP_PUSH(&c->arena, &c->nodes, copy_node(c, n));
  TP_NODES (n, g->nodes) copy_edges(c, c->nodes.v[n->id], n);
  copy_lists(c, g);
  tp_unguard(&oom);
  return true;
}

tp_graph *tp_graph_clone(const tp_graph *g, tp_error *err) {
  tp_graph *c = tp_graph_new(g->ix);
  if (c && copied_all(c, g)) return c;
  tp_fail(err, TP_E_MEMORY, g->pos, "no memory for a copy of the program");
  return tp_graph_free(c);
}

/* ---- order ---- */

/* Inside a component the order may run against edges that may carry a value through time. */
static bool carries(const tp_node *n, int k) {
  return n->op == TP_OP_READ || n->op == TP_OP_ACCUM || (n->op == TP_OP_PARAM && k == 1);
}

/* Post order over a component's edges that carry nothing; done[id] - 1 edges were followed. */
static int place(
    const tp_graph *g, const int *scc, int root, int *done, int *todo, int *order, int n) {
  int depth = 1;
  todo[0] = root;
  done[root] = 1;
  while (depth) {
    int id = todo[depth - 1], k = done[id]++ - 1;
    const tp_node *v = g->nodes.v[id];
    if (k == v->nin) {
      order[n++] = id;
      depth--;
      continue;
    }
    int src = tp_in(v, k)->id;
    if (scc[src] == scc[id] && !carries(v, k) && !done[src]) {
      todo[depth++] = src;
      done[src] = 1;
    }
  }
  return n;
}

/* From consumers to producers, so producers come first. The walk takes components in their order
 * and, inside one, nodes in the order of their ids. */
int tp_graph_sccs(const tp_graph *g, int *scc, int *order) {
  int n = g->nodes.n, nedge = 0, e = 0;
  tp_arena a;
  tp_scratch_init(&a);
  TP_NODES (x, g->nodes) nedge += x->nin;
  tp_link *edge = TP_NEWN(&a, tp_link, nedge);
  TP_NODES (x, g->nodes)
    for (int k = 0; k < x->nin; k++) edge[e++] = (tp_link){ x->id, tp_in(x, k)->id };
  int nscc = tp_sccs(n, nedge, edge, scc);
  if (order) {
    int *first = TP_NEWN(&a, int, nscc + 2), *sorted = TP_NEWN(&a, int, n),
        *done = TP_NEWN(&a, int, n), *todo = TP_NEWN(&a, int, n), placed = 0;
    for (int i = 0; i < n; i++) first[scc[i] + 1]++;
    for (int s = 0; s < nscc; s++) first[s + 1] += first[s];
    for (int i = 0; i < n; i++) sorted[first[scc[i]]++] = i;
    for (int i = 0; i < n; i++)
      if (!done[sorted[i]]) placed = place(g, scc, sorted[i], done, todo, order, placed);
  }
  tp_arena_free(&a);
  return nscc;
}

uint64_t tp_graph_hash(const tp_graph *g) {
  tp_buf b;
  tp_hold mine;
  tp_buf_hold(&b, &mine);
  tp_graph_print_as(&b, g, TP_TEXT_NOPOS | TP_TEXT_HASHDATA);
  uint64_t h = tp_hash(b.s ? b.s : "", b.n, 0);
  tp_buf_drop(&b, &mine);
  return h;
}
