/* simple: the passes that only ever shrink the graph. */
#include "opt/opt.h"
#include "graph/mk.h"

/* cse: hash-consing. Two nodes with the same operator, attributes, domain and operands (with their index maps) compute the same at every point, so the second's readers
 * go to the first. Never for RAND (two draws are two draws), CALL, INPUT, MERGE and ACCUM (declared things keep their identity), ENV_* are pure and may. */
static bool shareable(const tp_node *n) {
  switch (n->op) {
    case TP_OP_RAND: case TP_OP_CALL: case TP_OP_INPUT: case TP_OP_CONST: case TP_OP_MERGE: case TP_OP_ACCUM: case TP_OP_PARAM: case TP_OP_PINIT: case TP_OP_GRAD: return false;
    default: return true;
  }
}

static void put(tp_buf *b, const void *p, size_t n) { tp_putn(b, p, n); }
static void put_ptrs(tp_buf *b, int n, const void *v) {
  put(b, &n, sizeof n);
  if (n) put(b, v, sizeof(void *) * (size_t)n);
}

static void put_node(tp_buf *b, const tp_node *n) {
  int op = n->op;
  b->n = 0;
  put(b, &op, sizeof op);
  for (int k = 0; k < n->nin; k++) {
    put(b, &n->in[k].src.node, sizeof(tp_node *));
    put(b, &n->in[k].src.out, sizeof(int));
  }
  put_ptrs(b, n->ndom, n->dom);
  for (int o = 0; o < n->nout; o++) put_ptrs(b, n->out[o].rank, n->out[o].shape);
  tp_attr_key(b, &n->attr);
}

static void rewire(tp_node *n) {
  for (int k = 0; k < n->nin; k++)
    if (n->in[k].src.node->subst) n->in[k].src.node = n->in[k].src.node->subst;
}

static void drop_text(void *b) { tp_buf_free(b); }

bool tp_share_equal(tp_graph *g) {
  int n = g->nodes.n, *scc = TP_NEWN(&g->arena, int, n), *order = TP_NEWN(&g->arena, int, n);
  tp_graph_sccs(g, scc, order);
  tp_hmap seen;
  tp_hmap_init(&seen, &g->arena);
  tp_buf b;
  tp_hold mine;
  tp_buf_init(&b);
  tp_hold_set(&mine, drop_text, &b);
  for (int i = 0; i < n; i++) g->nodes.v[i]->subst = NULL;
  for (int i = 0; i < n; i++) {
    tp_node *x = g->nodes.v[order[i]];
    rewire(x);
    if (!shareable(x)) continue;
    put_node(&b, x);
    tp_node *twin = tp_hmap_get(&seen, b.s, b.n);
    if (twin) {
      x->subst = twin;
      if (tp_ops[x->op].cls != TP_CLS_SRC) tp_tell(g, "cse", x->pos, tp_printf(&g->arena, "%s: equal => one", tp_title(&g->arena, x)));
    } else tp_hmap_set(&seen, b.s, b.n, x);
  }
  tp_hold_end(&mine);
  tp_buf_free(&b);
  for (int i = 0; i < n; i++) rewire(g->nodes.v[i]);
  for (int i = 0; i < g->outputs.n; i++)
    if (g->outputs.v[i].val.node->subst) g->outputs.v[i].val.node = g->outputs.v[i].val.node->subst;
  for (int i = 0; i < g->stops.n; i++)
    if (g->stops.v[i].done.node->subst) g->stops.v[i].done.node = g->stops.v[i].done.node->subst;
  for (int i = 0; i < n; i++) g->nodes.v[i]->subst = NULL;
  tp_graph_prune(g);
  return true;
}

/* fold: identities that hold for every value, NaN and infinities included:
 *   x * 1 => x, x / 1 => x, x - 0 => x   when shape, dtype and domain stay; 1 may be spread over the shape   (x + 0 is not: -0 + 0 is +0; it goes unless `precise`)
 *   x [.., m, 1] matmul y [.., 1, n] => x * y, where that is taken element by element
 *   (x matmul y), of which all see rows as columns => y turned matmul x turned, so it is stored as it is seen
 *   cast to the dtype it has => x,  reshape, expand to the shape it has => x,  permute by the identity => x
 * The reader's points are x's points, so what is needed of x does not grow. */
static bool filled_with(tp_val v, double c) {
  v = tp_spread(v);
  return v.node->op == TP_OP_FILL && v.node->attr.f[0] == c;
}

static bool is_outer(const tp_node *n) {
  const tp_out *x = n->nin ? tp_outof(n->in[0].src) : NULL, *w = n->nin > 1 ? tp_outof(n->in[1].src) : NULL;
  return n->op == TP_OP_MATMUL && !n->attr.check && tp_dtype_float(n->out[0].dtype) && x->rank > 1 && w->rank > 1 && tp_is_number(x->shape[x->rank - 1], 1) && tp_is_number(w->shape[w->rank - 2], 1);
}

/* Taken element by element, at each point for itself: not a sum over points, which is one product for many of them. */
static bool is_by_element(const tp_node *by, const tp_node *x) {
  bool all = by->op == TP_OP_ACCUM;
  for (int i = 0; i < x->ndom && all; i++) all = tp_dom_has(by->ndom, by->dom, x->dom[i]);
  return all || tp_ops[by->op].batch == TP_BATCH_E;
}

/* By node: something else reads it, through views or not. */
static bool *read_otherwise(tp_graph *g) {
  bool *other = TP_NEWN(&g->arena, bool, g->nodes.n), more = true;
  for (int i = 0; i < g->outputs.n; i++) other[g->outputs.v[i].val.node->id] = true;
  while (more) {
    more = false;
    for (int i = 0; i < g->nodes.n; i++) {
      const tp_node *by = g->nodes.v[i];
      for (int k = 0; k < by->nin; k++) {
        const tp_node *x = by->in[k].src.node;
        if (other[x->id] || (tp_is_view(by) ? !other[i] : is_by_element(by, x))) continue;
        other[x->id] = more = true;
      }
    }
  }
  return other;
}

/* A product of a column and a row, or of stacks of them, is a multiplication at each element, which can be part of a loop. */
static tp_val outer(tp_graph *g, const tp_node *n, tp_error *err) {
  g->pos = n->pos;
  tp_val y = tp_bin(g, TP_OP_MUL, n->in[0].src, n->in[1].src, err);
  if (y.node) y.node->name = n->name, y.node->what = n->what;
  return y;
}

/* Does it show rows as columns, and all else as it is? */
static bool turns(const tp_node *n) {
  int rank = n->attr.naxes;
  bool does = n->op == TP_OP_PERMUTE && rank > 1 && n->attr.axes[rank - 2] == rank - 1 && n->attr.axes[rank - 1] == rank - 2;
  for (int i = 0; i < rank - 2 && does; i++) does = n->attr.axes[i] == i;
  return does;
}

static bool all_turn(const tp_graph *g, const tp_node *m) {
  bool all = true;
  for (int i = 0; i < g->outputs.n; i++) all &= g->outputs.v[i].val.node != m;
  for (int i = 0; i < g->nodes.n && all; i++)
    for (int k = 0; k < g->nodes.v[i]->nin && all; k++) all = g->nodes.v[i]->in[k].src.node != m || turns(g->nodes.v[i]);
  return all;
}

static tp_val turned(tp_mk mk, tp_val x) { return turns(x.node) ? x.node->in[0].src : mk_swap(mk, x, tp_rankof(x) - 2, tp_rankof(x) - 1); }

/* The product n, a turned one, made so. */
static tp_val turned_product(tp_graph *g, const tp_node *n, tp_error *err) {
  const tp_node *m = n->in[0].src.node;
  tp_val none = { 0 };
  bool is = turns(n) && m->op == TP_OP_MATMUL && !m->attr.check && tp_rankof(m->in[0].src) > 1 && tp_rankof(m->in[1].src) > 1;
  if (!is || !all_turn(g, m)) return none;
  g->pos = m->pos;
  tp_mk mk = { g, err };
  tp_val y = mk_matmul(mk, turned(mk, m->in[1].src), turned(mk, m->in[0].src));
  if (y.node) y.node->name = n->name ? n->name : m->name, y.node->what = n->what ? n->what : m->what;
  return y;
}

static tp_val folded(const tp_node *n, bool precise) {
  tp_val none = { 0 }, a = n->nin > 0 ? n->in[0].src : none, b = n->nin > 1 ? n->in[1].src : none, r = none;
  switch (n->op) {
    case TP_OP_MUL: r = filled_with(b, 1) ? a : filled_with(a, 1) ? b : none; break;
    case TP_OP_DIV: r = filled_with(b, 1) ? a : none; break;
    case TP_OP_SUB: r = filled_with(b, 0) ? a : none; break;
    case TP_OP_ADD: if (!precise) r = filled_with(b, 0) ? a : filled_with(a, 0) ? b : none; break;
    case TP_OP_CAST: case TP_OP_RESHAPE: case TP_OP_EXPAND: r = a; break;
    case TP_OP_PERMUTE:
      for (int i = 0; i < n->attr.naxes; i++)
        if (n->attr.axes[i] != i) return none;
      r = a;
      break;
    default: break;
  }
  return r.node && n->ndom == r.node->ndom && tp_same_type(&n->out[0], tp_outof(r)) ? r : none;
}

static const char *rule_of(const tp_node *n) {
  switch (n->op) {
    case TP_OP_MUL: return "x * 1 => x";
    case TP_OP_DIV: return "x / 1 => x";
    case TP_OP_SUB: return "x - 0 => x";
    case TP_OP_ADD: return "x + 0 => x";
    case TP_OP_MATMUL: return "column @ row => column * row";
    case TP_OP_PERMUTE: return "turned: it changes nothing, or the product is taken the other way round";
    default: return "it changes nothing => its operand";
  }
}

bool tp_fold(tp_graph *g, bool precise, tp_error *err) {
  int n = g->nodes.n;
  bool *other = NULL;
  for (int i = 0; i < g->nodes.n; i++) {
    tp_node *x = g->nodes.v[i];
    if (!x->nout) continue;
    if (!other && is_outer(x)) other = read_otherwise(g);
    bool split = i < n && is_outer(x) && !other[i];
    tp_val r = split ? outer(g, x, err) : x->op == TP_OP_PERMUTE ? turned_product(g, x, err) : folded(x, precise);
    if (err->code) return false;
    if (!r.node && x->op == TP_OP_PERMUTE) r = folded(x, precise);
    if (r.node && r.node != x) tp_rewrite(g, tp_v(x), r, "fold", rule_of(x));
  }
  tp_graph_prune(g);
  return true;
}
