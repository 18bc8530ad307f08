/* turned: a matrix that a recurrence multiplies by and sees turned is turned before it.
 *
 *   h[t] = f(h[t-1] @ permute w), w the same for all t
 *       =>   h[t] = f(h[t-1] @ detach (permute w)), the detach to be stored
 *
 * A product of few rows goes along the rows of its right operand; if that lies along the summed
 * axis, each step gathers it anew. In a @ b this concerns b when a has few rows, and a when b has
 * few columns. With many, a product packs its operands anyway, and a single row by a large matrix
 * is faster as dot products (TP_TUNE_TURN_*). */
#include "opt/opt.h"

/* n: number of nodes; made: by node that is operand 0 or 1 */
typedef struct turner {
  tp_graph *g;
  int n, *scc;
  tp_val *made[2];
} turner;

static int summed_axis(const tp_node *n, int k) { return tp_rankof(n->in[k].src) - 1 - k; }

/* Does v lie in memory along this axis, as far as views tell? */
static bool lies_along(tp_val v, int axis) {
  while (v.node->op == TP_OP_PERMUTE || v.node->op == TP_OP_READ ||
      (v.node->op == TP_OP_DETACH && !v.node->attr.stored)) {
    if (v.node->op == TP_OP_PERMUTE) axis = v.node->attr.axes[axis];
    axis += tp_rankof(v.node->in[0].src) - tp_rankof(v);
    v = v.node->in[0].src;
  }
  return axis == tp_rankof(v) - 1;
}

/* Does a product of `rows` rows by a matrix of n rows and `width` columns gain? */
static bool gains(const tp_graph *g, int64_t rows, int64_t n, int64_t width) {
  if (tp_graph_setting(g, "TEMPO_TURN")) return true;
  if (rows > 2)
    return rows <= TP_TUNE_TURN_ROWS && width >= TP_TUNE_TURN_WIDTH &&
        n * width <= TP_TUNE_TURN_MOST;
  return n <= TP_TUNE_TURN_LONG && width >= TP_TUNE_TURN_VECTOR &&
      n * width <= TP_TUNE_TURN_ELEMENTS;
}

static bool would_gain(const tp_graph *g, const tp_node *n, int k) {
  tp_val a = n->in[0].src, b = n->in[1].src;
  int64_t rows, summed, columns;
  return tp_rankof(a) > 1 && tp_rankof(b) > 1 && tp_dtype_size(tp_dtypeof(a)) >= 4 &&
      lies_along(n->in[k].src, summed_axis(n, k)) &&
      tp_ix_is_const(mk_extent(a, tp_rankof(a) - 2), &rows) &&
      tp_ix_is_const(mk_extent(a, tp_rankof(a) - 1), &summed) &&
      tp_ix_is_const(mk_extent(b, tp_rankof(b) - 1), &columns) &&
      (k ? gains(g, rows, summed, columns) : gains(g, columns, summed, rows));
}

/* Does n show, or add to, other points of d than its own? */
static bool is_shifted(const tp_node *n, tp_sym *d) {
  int i = n->op == TP_OP_READ ? tp_dim_at(tp_in(n, 0), d) : -1;
  return i >= 0 ? !tp_at_is_own(&n->attr.at[i], d) : n->op == TP_OP_ACCUM && tp_has_dim(n, d);
}

/* Is n made step by step along a dim that v lacks? */
static bool is_repeated(const turner *t, const tp_node *n, const tp_node *v) {
  for (int d = 0; d < n->ndom; d++)
    for (int i = 0; i < t->n && !tp_has_dim(v, n->dom[d]); i++)
      if (t->scc[i] == t->scc[n->id] && is_shifted(t->g->nodes.v[i], n->dom[d])) return true;
  return false;
}

static tp_val turned_before(turner *t, tp_val v, int k, tp_error *err) {
  tp_mk mk = { .g = t->g, .err = err };
  int last = tp_rankof(v) - 1;
  t->g->pos = v.node->pos;
  tp_val x = k ? v : mk_swap(mk, v, last - 1, last),
         y = x.node ? mk_op(mk, TP_OP_DETACH, 1, &x, &(tp_attr){ .stored = true }) : x;
  if (y.node) tp_name_as(y.node, v.node);
  return k || !y.node ? y : mk_swap(mk, y, last - 1, last);
}

bool tp_pass_turn(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  int n = g->nodes.n;
  turner t = { .g = g };
  for (int i = 0; i < n; i++) {
    tp_node *x = g->nodes.v[i];
    for (int k = 0; x->op == TP_OP_MATMUL && k < 2; k++) {
      if (!would_gain(g, x, k)) continue;
      tp_val v = x->in[k].src;
      if (!t.scc) {
        t = (turner){ g, n, TP_NEWN(&g->arena, int, n),
          { TP_NEWN(&g->arena, tp_val, n), TP_NEWN(&g->arena, tp_val, n) } };
        tp_graph_sccs(g, t.scc, NULL);
      }
      if (!is_repeated(&t, x, v.node)) continue;
      if (!t.made[k][v.node->id].node &&
          !(t.made[k][v.node->id] = turned_before(&t, v, k, err)).node)
        return false;
      x->in[k].src = t.made[k][v.node->id];
      job->changed = true;
    }
  }
  return true;
}
