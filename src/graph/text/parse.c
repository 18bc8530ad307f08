/* parse: reads the text of print.c, and text that a person would write: empty lines, comments after
 * --, no types where operands have them. A node may be named before its line. The result is
 * verified. */
#include "graph/core.h"

/* Indices written for an operand: as many as its domain (ACCUM to: the node's) has dims, which is
 * known later. */
typedef struct {
  const tp_node *n;
  int edge, count, line;
} arity;

typedef struct {
  tp_graph *g;
  tp_scan in;
  tp_hmap nodes; /* nodes by their number in the text */
  TP_VEC(tp_node *) mentioned;
  TP_VEC(arity) arities;
  TP_VEC(tp_stop) stops;
  const tp_graph *from; /* hashes stand for this graph's constants; NULL: there is none */
  bool inputs, params;  /* these lists were given */
} graph_parser;

static tp_pos here(const graph_parser *p) { return tp_scan_pos(&p->in); }
static bool fail(graph_parser *p, const char *what) { return tp_scan_fail(&p->in, what); }

static bool list(graph_parser *p, tp_fieldkind kind, int *n, void *v) {
  return tp_scan_list(&p->in, p->g->ix, kind, n, v);
}

/* ---- nodes by number ---- */

static tp_node *numbered(graph_parser *p, int id) {
  tp_node *n = tp_hmap_get(&p->nodes, &id, sizeof id);
  if (n) return n;
  n = tp_node_new(p->g, TP_OP_CONST);
  tp_hmap_set(&p->nodes, &id, sizeof id, n);
  n->mark = id;
  TP_PUSH(&p->g->arena, &p->mentioned, n);
  return n;
}

static bool value(graph_parser *p, tp_val *v) {
  int id;
  *v = (tp_val){ 0 };
  if (!tp_expect(&p->in, "%") || !tp_scan_small(&p->in, &id)) return false;
  v->node = numbered(p, id);
  return *p->in.s == '.' && p->in.s[1] != '.' ? (p->in.s++, tp_scan_small(&p->in, &v->out)) : true;
}

static bool operand(graph_parser *p, tp_node *n) {
  tp_edge e = { 0 };
  int nat = 0;
  if (!value(p, &e.src)) return false;
  bool to = tp_accept(&p->in, "to");
  e.gather = !to && tp_accept(&p->in, "from");
  if (to || e.gather) {
    if (!list(p, TP_F_INDICES, &nat, &e.at)) return false;
    TP_PUSH(&p->g->arena, &p->arities, (arity){ n, n->nin, nat, p->in.line });
  }
  if ((tp_accept(&p->in, "if") && !tp_scan_ix(&p->in, p->g->ix, &e.cond)) ||
      !tp_scan_where(&p->in, &e.pos))
    return false;
  tp_edge_push(p->g, n, e);
  return true;
}

static bool operand_list(graph_parser *p, tp_node *n) {
  tp_scan_space(&p->in);
  if (*p->in.s != '%') return true;
  do {
    if (!operand(p, n)) return false;
  } while (tp_accept(&p->in, ","));
  return true;
}

/* ---- attributes ---- */

/* data: the place of a CONST's numbers, which are read when its type is known. */
static bool attribute(graph_parser *p, tp_node *n, const char **data) {
  const char *key = tp_scan_word(&p->in);
  bool known;
  if (!key || !tp_attr_parse(&p->in, p->g->ix, &n->attr, key, &known)) return false;
  if (known && strcmp(key, "at") == 0)
    TP_PUSH(&p->g->arena, &p->arities, (arity){ n, 0, n->attr.nat, p->in.line });
  if (known) return true;
  if (strcmp(key, "what") == 0) return (n->what = tp_scan_string(&p->in)) != NULL;
  if (strcmp(key, "var") == 0) return (n->var = tp_scan_string(&p->in)) != NULL;
  if (strcmp(key, "data") != 0) return fail(p, "an unknown attribute before this");
  *data = p->in.s;
  p->in.s += strcspn(p->in.s, "}");
  return true;
}

static bool attributes(graph_parser *p, tp_node *n, const char **data) {
  if (!tp_accept(&p->in, "{")) return true;
  do {
    if (!attribute(p, n, data)) return false;
  } while (tp_accept(&p->in, ","));
  return tp_expect(&p->in, "}");
}

/* ---- types ---- */

typedef TP_VEC(tp_out) outvec;

static bool one_result(graph_parser *p, outvec *outs) {
  tp_out o;
  if (!tp_scan_dtype(&p->in, &o.dtype) || !list(p, TP_F_EXTENTS, &o.rank, &o.shape)) return false;
  if (o.rank > TP_MAXRANK) return fail(p, "too many axes before this");
  for (int i = 0; i < o.rank; i++)
    if (tp_ix_is_cond(o.shape[i])) return fail(p, "an extent is a number, before this");
  TP_PUSH(&p->g->arena, outs, o);
  return true;
}

static bool is_declared(const tp_node *n) {
  return n->op == TP_OP_MERGE || n->op == TP_OP_ACCUM || n->op == TP_OP_PARAM;
}

/* Sets attributes that the printer leaves out because the type says them. */
static void attrs_of_type(tp_graph *g, tp_node *n) {
  tp_attr *a = &n->attr;
  bool source =
      n->op == TP_OP_INPUT || n->op == TP_OP_FILL || n->op == TP_OP_IOTA || n->op == TP_OP_RAND;
  if (source || is_declared(n) || n->op == TP_OP_CALL || n->op == TP_OP_PINIT)
    a->ndom = n->ndom, a->dom = n->dom;
  if (n->nout && tp_ix_is_shape(n->op)) a->nix = n->out->rank, a->ix = n->out->shape;
  if (n->nout && (source || is_declared(n) || n->op == TP_OP_CAST)) a->dtype = n->out->dtype;
  if (n->op == TP_OP_CALL && n->nout)
    a->nspec = n->nout, a->spec = TP_DUPN(&g->arena, n->out, n->nout);
}

static bool type(graph_parser *p, tp_node *n) {
  outvec outs = { 0 };
  if (!list(p, TP_F_DIMS, &n->ndom, &n->dom)) return false;
  if (n->ndom > TP_MAXDIM) return fail(p, "too many dims before this");
  for (int i = 0; i < n->ndom; i++)
    if (!n->dom[i]->bound) return fail(p, "a dim without a bound before this");
  tp_scan_space(&p->in);
  if (*p->in.s && *p->in.s != '@') do {
      if (!one_result(p, &outs)) return false;
    } while (tp_accept(&p->in, ","));
  n->nout = outs.n;
  n->out = outs.v;
  attrs_of_type(p->g, n);
  return true;
}

/* ---- data ---- */

static bool read_data(graph_parser *p, tp_node *n, const char *data) {
  int64_t shape[TP_MAXRANK];
  const char *rest = p->in.s;
  if (p->from && n->mark < p->from->nodes.n && p->from->nodes.v[n->mark]->attr.data)
    return (n->attr.data = tp_array_ref(p->from->nodes.v[n->mark]->attr.data)) != NULL;
  if (n->nout != 1) return fail(p, "a const needs its type");
  for (int i = 0; i < n->out->rank; i++)
    if (!tp_ix_is_const(n->out->shape[i], &shape[i]))
      return fail(p, "a const has constant extents");
  p->in.s = data;
  n->attr.data = tp_scan_array(&p->in, n->out->dtype, n->out->rank, shape);
  p->in.s = rest;
  return n->attr.data != NULL;
}

/* ---- a node ---- */

static bool arity_ok(graph_parser *p, const arity *a) {
  const tp_node *n = a->n;
  if (n->op != TP_OP_READ && n->op != TP_OP_ACCUM) return true;
  int want = a->edge >= n->nin                       ? -1
      : n->op == TP_OP_READ || n->in[a->edge].gather ? n->in[a->edge].src.node->ndom
                                                     : n->ndom;
  return want == a->count ||
      tp_fail(p->in.err, TP_E_FILE, (tp_pos){ "sdg", a->line }, "%d indices for %d dims", a->count,
          TP_MAX(want, 0));
}

/* A type left out is inferred, if the operands have theirs. */
static bool infer_type(graph_parser *p, tp_node *n) {
  if (!tp_nin_ok(n->op, n->nin, here(p), p->in.err)) return false;
  for (int k = 0; k < n->nin; k++)
    if (n->in[k].src.out >= tp_in(n, k)->nout)
      return fail(p, "this node needs its type: an operand has none yet");
  bool told = is_declared(n) || n->op == TP_OP_CALL ||
      (tp_ops[n->op].cls == TP_CLS_SRC && n->op != TP_OP_VALUE);
  if (told || tp_ix_is_shape(n->op) || n->op == TP_OP_CAST)
    return fail(p, "this node needs its type");
  if (n->op == TP_OP_READ && p->arities.n && p->arities.v[p->arities.n - 1].n == n &&
      !arity_ok(p, &p->arities.v[p->arities.n - 1]))
    return false;
  if (tp_infer(p->g, n, p->in.err)) return true;
  if (!p->in.err->pos.file) p->in.err->pos = here(p);
  return false;
}

static bool body(graph_parser *p, tp_node *n) {
  const char *name = tp_scan_word(&p->in), *data = NULL;
  if (!name) return false;
  if (!tp_op_parse(name, &n->op)) return fail(p, "an unknown operator before this");
  if (!operand_list(p, n) || !attributes(p, n, &data)) return false;
  bool typed = tp_accept(&p->in, ":");
  if (typed && !type(p, n)) return false;
  if (!tp_scan_where(&p->in, &n->pos)) return false;
  if (n->op == TP_OP_CONST && !read_data(p, n, data ? data : "")) return false;
  for (int k = 0; k < n->nin; k++)
    if (!n->in[k].pos.file) n->in[k].pos = n->pos;
  n->done = n->op == TP_OP_MERGE && n->nin && !n->in[n->nin - 1].cond;
  return typed || infer_type(p, n);
}

static bool node_line(graph_parser *p) {
  int id;
  if (!tp_scan_small(&p->in, &id)) return false;
  tp_node *n = numbered(p, id);
  if (n->id >= 0) return fail(p, "a second node of this number");
  tp_scan_space(&p->in);
  if (*p->in.s == '"' && !(n->name = tp_scan_string(&p->in))) return false;
  n->id = 0; /* its line has come; tp_node_register gives its id */
  if (!tp_expect(&p->in, "=") || !body(p, n)) {
    n->attr.data = tp_array_unref(n->attr.data);
    return false;
  }
  tp_node_register(p->g, n);
  return true;
}

/* ---- other lines ---- */

static bool graph_line(graph_parser *p) {
  return tp_expect(&p->in, "seed") && tp_scan_u64(&p->in, &p->g->seed) &&
      tp_expect(&p->in, "nrand") && tp_scan_small(&p->in, &p->g->nrand);
}

/* An entry of `inputs` or `params`: the first one given replaces the usual list. */
static bool list_line(graph_parser *p, bool inputs) {
  tp_arena *a = &p->g->arena;
  int at;
  bool *given = inputs ? &p->inputs : &p->params;
  int *n = inputs ? &p->g->inputs.n : &p->g->params.n;
  if (!*given) *n = 0;
  *given = true;
  if (!tp_scan_small(&p->in, &at) || !tp_expect(&p->in, "=")) return false;
  if (at != *n) return fail(p, "entries must stand in order");
  tp_val v = { 0 };
  tp_scan_space(&p->in);
  if (*p->in.s == '%' ? !value(p, &v) : !body(p, v.node = tp_node_new(p->g, TP_OP_INPUT)))
    return false;
  v.node->attr.data = v.node->id < 0 ? tp_array_unref(v.node->attr.data) : v.node->attr.data;
  if (v.node->id < 0 && v.node->nout != 1) return fail(p, "one result is wanted");
  if (inputs) TP_PUSH(a, &p->g->inputs, v.node);
  else TP_PUSH(a, &p->g->params, v.node);
  return true;
}

static bool output_line(graph_parser *p) {
  tp_output o = { 0 };
  if (!(o.name = tp_scan_string(&p->in)) || !value(p, &o.val)) return false;
  o.hidden = tp_accept(&p->in, "hidden");
  if (!tp_scan_where(&p->in, &o.pos)) return false;
  TP_PUSH(&p->g->arena, &p->g->outputs, o);
  return true;
}

static bool loss_line(graph_parser *p) {
  tp_val v;
  if (!value(p, &v)) return false;
  TP_PUSH(&p->g->arena, &p->g->losses, v);
  return true;
}

/* Only notes the stop: its node may come later, and everything is inferred with it. */
static bool stop_line(graph_parser *p) {
  tp_stop s = { 0 };
  const char *name = tp_scan_word(&p->in);
  s.dim = name ? tp_sym_find(p->g->ix, name) : NULL;
  if (!name || !value(p, &s.done) || !tp_scan_where(&p->in, &s.pos)) return false;
  if (!s.dim || s.dim->kind != TP_SYM_DIM) return fail(p, "no dim of this name");
  TP_PUSH(&p->g->arena, &p->stops, s);
  return true;
}

static bool check_line(graph_parser *p) {
  int want = tp_accept(&p->in, "equal") ? 2 : tp_accept(&p->in, "holds"), n;
  bool needs = !want && tp_accept(&p->in, "needs");
  tp_ixs e;
  const char *word = NULL, *text;
  tp_pos pos = { 0 };
  tp_code code = TP_OK;
  if (!want && !needs) return fail(p, "an unknown line");
  if (!list(p, TP_F_EXTENTS, &n, &e) || (needs && !(word = tp_scan_word(&p->in))) ||
      !(text = tp_scan_string(&p->in)) || !tp_scan_where(&p->in, &pos))
    return false;
  bool fit = n == want + needs;
  for (int i = 0; i < n; i++) fit &= tp_ix_of_bounds(e[i]) && tp_ix_is_cond(e[i]) == (n == 1);
  for (int k = 1; needs && k < TP_NERR; k++)
    if (strcmp(tp_code_word((tp_code)k), word) == 0) code = (tp_code)k;
  if (!fit || (needs && !code))
    return fail(p,
        needs ? "a condition and a class of errors are wanted"
              : "two sizes or a condition over bounds are wanted");
  if (needs) TP_PUSH(&p->g->arena, &p->g->boundchecks, ((tp_boundcheck){ e[0], pos, code, text }));
  else tp_shapecheck_add(p->g, e[0], n == 2 ? e[1] : NULL, pos, text);
  return true;
}

static bool warning_line(graph_parser *p) {
  const char *s = tp_scan_string(&p->in);
  if (s) TP_PUSH(&p->g->arena, &p->g->warnings, s);
  return s;
}

static bool line_of(graph_parser *p) {
  if (tp_accept(&p->in, "%")) return node_line(p);
  if (tp_accept(&p->in, "dim")) return tp_sym_line(p->g->ix, &p->in, TP_SYM_DIM);
  if (tp_accept(&p->in, "bound")) return tp_sym_line(p->g->ix, &p->in, TP_SYM_BOUND);
  if (tp_accept(&p->in, "graph")) return graph_line(p);
  if (tp_accept(&p->in, "inputs")) return list_line(p, true);
  if (tp_accept(&p->in, "params")) return list_line(p, false);
  if (tp_accept(&p->in, "output")) return output_line(p);
  if (tp_accept(&p->in, "loss")) return loss_line(p);
  if (tp_accept(&p->in, "stop")) return stop_line(p);
  if (tp_accept(&p->in, "warning")) return warning_line(p);
  return check_line(p);
}

static bool line(graph_parser *p) {
  tp_scan_space(&p->in);
  return !*p->in.s || strncmp(p->in.s, "--", 2) == 0 || (line_of(p) && tp_scan_end(&p->in));
}

/* ---- the whole ---- */

/* Checks that nodes need themselves only through nodes that declare their type. */
static bool no_circle_in_text(graph_parser *p) {
  tp_arena *a = &p->g->arena;
  int n = p->g->nodes.n, nedge = 0, e = 0;
  TP_NODES (x, p->g->nodes) nedge += x->nin;
  tp_link *edge = TP_NEWN(a, tp_link, nedge + 1);
  int *scc = TP_NEWN(a, int, n + 1);
  bool self = false;
  TP_NODES (x, p->g->nodes)
    for (int k = 0; k < x->nin && !is_declared(x); k++) {
      edge[e++] = (tp_link){ x->id, tp_in(x, k)->id };
      self |= tp_in(x, k) == x;
    }
  if (!self && tp_sccs(n, e, edge, scc) == n) return true;
  return tp_fail(p->in.err, TP_E_FILE, here(p),
      "a node needs its own value, and not through a merge, accum or param");
}

static bool add_stops(graph_parser *p) {
  TP_EACH (const tp_stop, s, p->stops) {
    if (s->done.out >= s->done.node->nout)
      return tp_fail(
          p->in.err, TP_E_FILE, s->pos, "what ends '%s' has no such result", s->dim->name);
    p->g->pos = s->pos;
    if (!tp_stop_add(p->g, s->dim, s->done, p->in.err)) return false;
  }
  return true;
}

static bool lines(graph_parser *p, const char *text) {
  while (tp_scan_line(&p->in, &text))
    if (!line(p)) return false;
  TP_NODES (n, p->mentioned)
    if (n->id < 0) return tp_fail(p->in.err, TP_E_FILE, here(p), "there is no node %%%d", n->mark);
  TP_EACH (const arity, a, p->arities)
    if (!arity_ok(p, a)) return false;
  return tp_verify_structure(p->g, p->in.err) && no_circle_in_text(p) && add_stops(p);
}

bool tp_checks_parse(tp_graph *g, const char *text, tp_error *err) {
  tp_guard oom;
  if (!TP_GUARDED(&oom)) return tp_fail(err, TP_E_MEMORY, g->pos, "no memory for the graph");
  graph_parser p = { .g = g };
  bool ok = true;
  tp_scan_init(&p.in, "sdg", &g->arena, tp_ictx_arena(g->ix), err);
  while (ok && tp_scan_line(&p.in, &text)) ok = check_line(&p) && tp_scan_end(&p.in);
  tp_unguard(&oom);
  return ok;
}

static bool read_all(tp_graph *g, const tp_graph *from, const char *text, tp_error *err) {
  tp_guard oom;
  if (!TP_GUARDED(&oom)) return tp_fail(err, TP_E_MEMORY, g->pos, "no memory for the graph");
  graph_parser p = { .g = g, .from = from };
  tp_scan_init(&p.in, "sdg", &g->arena, tp_ictx_arena(g->ix), err);
  tp_hmap_init(&p.nodes, &g->arena);
  bool ok = lines(&p, text) && tp_verify(g, err);
  if (ok) tp_recheck(g, true);
  tp_unguard(&oom);
  return ok;
}

tp_graph *tp_graph_parse(tp_ictx *ix, const char *text, tp_error *err) {
  return tp_graph_move(ix, NULL, text, err);
}

tp_graph *tp_graph_move(tp_ictx *ix, const tp_graph *from, const char *text, tp_error *err) {
  tp_graph *g = tp_graph_new(ix);
  tp_error own = { 0 };
  if (!err) err = &own;
  if (g && read_all(g, from, text, err)) return g;
  tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "no memory for a graph");
  return tp_graph_free(g);
}
