/* print: the text form of a graph, which parse.c reads. One line a node, `@ file:line` last:
 *
 *   dim t:T
 *   %0 = input {str "x"} : (t) f32 [3] @ rnn.lua:3
 *   %1 = fill : () f32 [3] @ rnn.lua:5
 *   %2 "h" = merge %1 if t == 0 @ rnn.lua:5, %4 @ rnn.lua:6 : (t) f32 [3] @ rnn.lua:4
 *   %3 = read %2 {at [t - 1]} : (t) f32 [3] @ rnn.lua:6
 *   %4 = add %3, %0 : (t) f32 [3] @ rnn.lua:6
 *   stop t %5 @ rnn.lua:7
 *   output "h" %2 @ rnn.lua:8
 *
 * After the colon stand the domain and the results. Attributes that these say, or that are 0, are
 * left out: domain, shape and dtype of sources and declared tensors, the target of reshape, expand
 * and cast, the specs of a call. Operands are %id or %id.out; one of accum is `%4 to [t, 0 .. t] if
 * t >= 1` (scatter) or `%4 from [t - 1]` (gather). An input or parameter that a sweep dropped keeps
 * its place in the list, of which every entry is then printed:
 * `inputs 0 = input {str "y"} : (t) f32 []`. */
#include "graph/core.h"

/* ---- pieces ---- */

static void put_pos(tp_buf *b, tp_pos pos, int flags) {
  if (!(flags & TP_TEXT_NOPOS)) tp_put_where(b, pos);
}

static void put_val(tp_buf *b, tp_val v) {
  tp_putf(b, "%%%d", v.node->id);
  if (v.out) tp_putf(b, ".%d", v.out);
}

static void put_edge(tp_buf *b, const tp_node *n, const tp_edge *e, int flags) {
  put_val(b, e->src);
  if (n->op == TP_OP_ACCUM) {
    tp_puts(b, e->gather ? " from " : " to ");
    tp_put_list(b, TP_F_INDICES, e->gather ? e->src.node->ndom : n->ndom, e->at);
  }
  if (e->cond) {
    tp_puts(b, " if ");
    tp_ix_print(b, e->cond);
  }
  bool same = !e->pos.file ||
      (n->pos.file && strcmp(e->pos.file, n->pos.file) == 0 && e->pos.line == n->pos.line);
  if (!same) put_pos(b, e->pos, flags);
}

/* Ends a line with a word, a text in quotes (NULL: none) and the position. */
static void put_end(tp_buf *b, const char *word, const char *text, tp_pos pos, int flags) {
  tp_puts(b, word);
  if (text) tp_put_string(b, text);
  put_pos(b, pos, flags);
  tp_puts(b, "\n");
}

/* ---- attributes ---- */

static void put_data(tp_buf *b, const tp_array *a, int flags) {
  if (flags & TP_TEXT_HASHDATA)
    tp_putf(b, " #%016llx", (unsigned long long)tp_hash(a->data, tp_array_bytes(a), 0));
  else tp_put_array(b, a);
}

static void put_attrs(tp_buf *b, const tp_node *n, int flags) {
  const tp_attr *a = &n->attr;
  int count = 0;
  tp_attr_print(b, a, n->op, &count);
  if (n->what && !(flags & TP_TEXT_NOPOS))
    tp_puts(tp_put_item(b, &count, "what"), " "), tp_put_string(b, n->what);
  if (n->var && (flags & TP_TEXT_NAMES))
    tp_puts(tp_put_item(b, &count, "var"), " "), tp_put_string(b, n->var);
  if (a->data) put_data(tp_put_item(b, &count, "data"), a->data, flags);
  if (count) tp_puts(b, "}");
}

static void put_type(tp_buf *b, const tp_node *n) {
  tp_puts(b, " : ");
  tp_put_list(b, TP_F_DIMS, n->ndom, n->dom);
  for (int k = 0; k < n->nout; k++) {
    tp_putf(b, "%s %s ", k ? "," : "", tp_dtype_name(n->out[k].dtype));
    tp_put_list(b, TP_F_EXTENTS, n->out[k].rank, n->out[k].shape);
  }
}

/* Prints a node's line from the operator on. */
static void put_body(tp_buf *b, const tp_node *n, int flags) {
  tp_puts(b, tp_ops[n->op].text);
  for (int k = 0; k < n->nin; k++) {
    tp_puts(b, k ? ", " : " ");
    put_edge(b, n, &n->in[k], flags);
  }
  put_attrs(b, n, flags);
  put_type(b, n);
  put_pos(b, n->pos, flags);
}

void tp_node_print(tp_buf *b, const tp_node *n, int flags) {
  tp_putf(b, "%%%d ", n->id);
  if (n->name) tp_put_string(b, n->name), tp_puts(b, " ");
  tp_puts(b, "= ");
  put_body(b, n, flags);
}

/* ---- symbols that the graph uses ---- */

/* A dim and its bound are one line. */
static void use(bool *used, tp_sym *s) {
  used[s->id] = true;
  if (s->bound) used[s->bound->id] = true;
  if (s->dim) used[s->dim->id] = true;
}

static void use_dims(bool *used, int n, tp_dims dims) {
  for (int i = 0; i < n; i++) use(used, dims[i]);
}

static tp_ix *use_ix(void *used, tp_ix *e) {
  tp_dims syms;
  int n = tp_ix_syms(e, &syms);
  use_dims(used, n, syms);
  return e;
}

static void use_node(bool *used, tp_node *n) {
  use_dims(used, n->ndom, n->dom);
  use_dims(used, n->attr.nalong, n->attr.along);
  tp_node_map(NULL, n, use_ix, used);
}

static bool *used_symbols(tp_arena *a, const tp_graph *g, bool all) {
  bool *used = TP_NEWN(a, bool, tp_nsym(g->ix));
  memset(used, all, (size_t)tp_nsym(g->ix));
  TP_NODES (n, g->nodes) use_node(used, n);
  TP_NODES (n, g->inputs) use_node(used, n);
  TP_NODES (n, g->params) use_node(used, n);
  TP_EACH (tp_shapecheck, s, g->shapechecks) use_ix(used, s->a), use_ix(used, s->b);
  TP_EACH (tp_boundcheck, s, g->boundchecks) use_ix(used, s->cond);
  return used;
}

/* ---- the whole ---- */

/* Is the list what registering the nodes in order would give? */
static bool usual(const tp_graph *g, tp_op op, int n, tp_node *const *v) {
  int at = 0;
  TP_NODES (x, g->nodes)
    if (x->op == op && (at >= n || v[at++] != x)) return false;
  return at == n;
}

static void put_list(
    tp_buf *b, const tp_graph *g, const char *what, tp_op op, int n, tp_node *const *v, int flags) {
  if (usual(g, op, n, v)) return;
  for (int i = 0; i < n; i++) {
    tp_putf(b, "%s %d = ", what, i);
    if (v[i]->id >= 0) tp_putf(b, "%%%d", v[i]->id);
    else put_body(b, v[i], flags);
    tp_puts(b, "\n");
  }
}

static void put_checks(tp_buf *b, const tp_graph *g, int flags) {
  TP_EACH (const tp_shapecheck, s, g->shapechecks) {
    tp_puts(b, s->b ? "equal " : "holds ");
    tp_put_list(b, TP_F_EXTENTS, s->b ? 2 : 1, (tp_ix *[]){ s->a, s->b });
    put_end(b, " ", s->what ? s->what : "", s->pos, flags);
  }
  TP_EACH (const tp_boundcheck, c, g->boundchecks) {
    tp_puts(b, "needs ");
    tp_put_list(b, TP_F_EXTENTS, 1, &c->cond);
    tp_putf(b, " %s", tp_code_word(c->code));
    put_end(b, " ", c->msg, c->pos, flags);
  }
}

void tp_checks_print(tp_buf *b, const tp_graph *g) { put_checks(b, g, 0); }

static void put_roots(tp_buf *b, const tp_graph *g, int flags) {
  TP_EACH (tp_val, v, g->losses) {
    tp_puts(b, "loss ");
    put_val(b, *v);
    tp_puts(b, "\n");
  }
  TP_EACH (tp_stop, s, g->stops) {
    tp_putf(b, "stop %s ", s->dim->name);
    put_val(b, s->done);
    put_end(b, "", NULL, s->pos, flags);
  }
  TP_EACH (tp_output, o, g->outputs) {
    tp_puts(b, "output ");
    tp_put_string(b, o->name);
    tp_puts(b, " ");
    put_val(b, o->val);
    put_end(b, o->hidden ? " hidden" : "", NULL, o->pos, flags);
  }
}

void tp_graph_print_as(tp_buf *b, const tp_graph *g, int flags) {
  tp_arena scratch;
  tp_scratch_init(&scratch);
  if (g->seed || g->nrand)
    tp_putf(b, "graph seed %llu nrand %d\n", (unsigned long long)g->seed, g->nrand);
  tp_syms_print(b, g->ix, used_symbols(&scratch, g, flags & TP_TEXT_SYMS));
  TP_NODES (n, g->nodes) {
    tp_node_print(b, n, flags);
    tp_puts(b, "\n");
  }
  put_list(b, g, "inputs", TP_OP_INPUT, g->inputs.n, g->inputs.v, flags);
  put_list(b, g, "params", TP_OP_PARAM, g->params.n, g->params.v, flags);
  put_roots(b, g, flags);
  put_checks(b, g, flags);
  /* they tell positions */
  for (int i = 0; !(flags & TP_TEXT_NOPOS) && i < g->warnings.n; i++)
    put_end(b, "warning ", g->warnings.v[i], TP_NOWHERE, flags);
  tp_arena_free(&scratch);
}

void tp_graph_print(tp_buf *b, const tp_graph *g) { tp_graph_print_as(b, g, 0); }

void tp_val_print(tp_buf *b, tp_val v) {
  const tp_node *n = v.node;
  tp_putf(b, "%s (", tp_dtype_name(tp_dtypeof(v)));
  for (int i = 0; i < n->ndom; i++)
    tp_putf(b, "%s%s%s%s", i ? ", " : "", n->dom[i]->name, n->dom[i]->bound ? ":" : "",
        n->dom[i]->bound ? n->dom[i]->bound->name : "");
  tp_puts(b, ") ");
  tp_put_list(b, TP_F_EXTENTS, tp_rankof(v), tp_outof(v)->shape);
  const char *name = n->name ? n->name : n->attr.str;
  if (name) tp_putf(b, " \"%s\"", name);
  if (n->pos.file) tp_putf(b, " at %s:%d", n->pos.file, n->pos.line);
}
