/* dot: prints a graph for Graphviz: solid edges are identities, dashed ones go through time and say
 * how. */
#include "graph/core.h"

/* In a label: quotes and backslashes are themselves, other control characters a space. */
static void escape(tp_buf *b, const char *s) {
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') tp_puts(b, "\\");
    if (*s == '\n') tp_puts(b, "\\n");
    else tp_putn(b, (unsigned char)*s < ' ' ? " " : s, 1);
  }
}

static void node(tp_buf *b, const tp_node *n) {
  tp_putf(b, "  n%d [label=\"%s", n->id, tp_ops[n->op].text);
  const char *name = n->name ? n->name : n->attr.str;
  if (name) tp_puts(b, " "), escape(b, name);
  for (int k = 0; k < n->nout; k++) {
    tp_putf(b, "\\n%s ", tp_dtype_name(n->out[k].dtype));
    if (n->ndom) tp_put_list(b, TP_F_DIMS, n->ndom, n->dom), tp_puts(b, " ");
    tp_put_list(b, TP_F_EXTENTS, n->out[k].rank, n->out[k].shape);
  }
  tp_puts(b, "\"];\n");
}

static void edge(tp_buf *b, const tp_node *n, const tp_edge *e) {
  bool carried =
      n->op == TP_OP_READ || n->op == TP_OP_ACCUM || (n->op == TP_OP_PARAM && e != n->in);
  tp_putf(b, "  n%d -> n%d", e->src.node->id, n->id);
  if (carried || e->cond || e->src.out) {
    tp_putf(b, " [%slabel=\"", carried ? "style=dashed, " : "");
    if (e->src.out) tp_putf(b, ".%d ", e->src.out);
    if (n->op == TP_OP_READ) tp_put_list(b, TP_F_INDICES, n->attr.nat, n->attr.at);
    if (n->op == TP_OP_ACCUM) {
      tp_puts(b, e->gather ? "from " : "to ");
      tp_put_list(b, TP_F_INDICES, e->gather ? e->src.node->ndom : n->ndom, e->at);
    }
    if (e->cond) tp_puts(b, " if "), tp_ix_print(b, e->cond);
    tp_puts(b, "\"]");
  }
  tp_puts(b, ";\n");
}

void tp_graph_dot(tp_buf *b, const tp_graph *g) {
  tp_puts(b, "digraph sdg {\n  node [shape=box, fontname=monospace];\n");
  TP_NODES (n, g->nodes) {
    node(b, n);
    for (int k = 0; k < n->nin; k++) edge(b, n, &n->in[k]);
  }
  TP_EACH (tp_output, o, g->outputs) {
    int i = (int)(o - g->outputs.v);
    tp_putf(b, "  o%d [shape=plaintext, label=\"", i);
    escape(b, o->name);
    tp_putf(b, "\"];\n  n%d -> o%d;\n", o->val.node->id, i);
  }
  tp_puts(b, "}\n");
}
