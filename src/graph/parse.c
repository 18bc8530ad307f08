/* Reads what print.c prints, line by line, and lines a person would write: empty ones, comments after --, and types left out where the operands have them
 * already. A node may be named before its line. What is read is verified. */
#include "graph/core.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* How many indices were written for an operand: right only if its (ACCUM to: the node's) domain has as many dims, which is known later. */
typedef struct { const tp_node *n; int edge, count, line; } arity;

typedef struct {
  tp_graph *g;
  const char *s;                /* the rest of the line */
  int line;
  tp_error *err;
  tp_hmap nodes, files;         /* by number in the text, by name */
  TP_VEC(tp_node *) mentioned;
  TP_VEC(arity) arities;
  bool inputs, params, checks;  /* these lists were given */
} parser;

static tp_pos here(const parser *p) { return (tp_pos){ "sdg", p->line }; }
static bool fail(parser *p, const char *what) { return tp_fail(p->err, TP_E_FILE, here(p), "file: %s at '%.30s'", what, p->s); }

/* ---- words ---- */

static void space(parser *p) {
  while (*p->s && isspace((unsigned char)*p->s)) p->s++;
}

static bool accept(parser *p, const char *text) {
  space(p);
  size_t n = strlen(text);
  bool word = isalpha((unsigned char)text[0]);
  if (strncmp(p->s, text, n) != 0 || (word && (isalnum((unsigned char)p->s[n]) || p->s[n] == '_'))) return false;
  p->s += n;
  return true;
}

static bool expect(parser *p, const char *text) {
  char why[40];
  if (accept(p, text)) return true;
  snprintf(why, sizeof why, "'%s' is wanted", text);
  return fail(p, why);
}

/* A name of letters, digits, _ and other bytes beyond ASCII, in the graph's arena. */
static const char *word(parser *p) {
  space(p);
  const char *from = p->s;
  while (isalnum((unsigned char)*p->s) || *p->s == '_' || (unsigned char)*p->s >= 0x80) p->s++;
  if (p->s == from) return fail(p, "a word is wanted"), NULL;
  char *w = tp_new_bytes(&p->g->arena, (size_t)(p->s - from) + 1);
  return memcpy(w, from, (size_t)(p->s - from));
}

static const char *string(parser *p) {
  if (!expect(p, "\"")) return NULL;
  char *out = tp_new_bytes(&p->g->arena, strlen(p->s) + 1), *w = out;
  while (*p->s && *p->s != '"') {
    char c = *p->s++;
    if (c == '\\' && *p->s) {
      c = *p->s++;
      if (c == 'n') c = '\n';
    }
    *w++ = c;
  }
  return expect(p, "\"") ? out : NULL;
}

static bool integer(parser *p, int64_t *v) {
  char *end;
  space(p);
  *v = strtoll(p->s, &end, 10);
  if (end == p->s) return fail(p, "an integer is wanted");
  p->s = end;
  return true;
}

static bool small(parser *p, int *v) {
  int64_t i = 0;
  if (!integer(p, &i)) return false;
  *v = (int)i;
  return i >= 0 && i < 1 << 24 ? true : fail(p, "the number is too large");
}

static bool number(parser *p, double *v) {
  char *end;
  space(p);
  *v = strtod(p->s, &end);
  if (end == p->s) return fail(p, "a number is wanted");
  p->s = end;
  return true;
}

static bool more_numbers(parser *p) {
  space(p);
  return *p->s && !strchr(",}:", *p->s);
}

/* Files live as long as the context, for errors outlive graphs. */
static const char *interned(parser *p, const char *file, size_t n) {
  const char *f = tp_hmap_get(&p->files, file, n);
  if (f) return f;
  char *copy = tp_new_bytes(tp_ictx_arena(p->g->ix), n + 1);
  tp_hmap_set(&p->files, file, n, memcpy(copy, file, n));
  return copy;
}

static bool position(parser *p, tp_pos *pos) {
  if (!accept(p, "@")) return true;
  space(p);
  if (*p->s == '"') {
    const char *file = string(p);
    if (!file) return false;
    pos->file = interned(p, file, strlen(file));
  } else {
    size_t n = strcspn(p->s, ":");
    pos->file = interned(p, p->s, n);
    p->s += n;
  }
  return expect(p, ":") && small(p, &pos->line);
}

static bool expression(parser *p, const tp_ix **e) {
  tp_pos at = here(p);
  *e = tp_ix_parse(p->g->ix, &p->s, p->err);
  if (!*e && p->err && p->err->code) p->err->pos = at;
  return *e != NULL;
}

/* ---- lists ---- */

typedef struct { int n; const tp_ix *v[4 * TP_MAXRANK]; } ixlist;
typedef struct { int n; const tp_sym *v[4 * TP_MAXRANK]; } dimlist;
typedef struct { int n; tp_at v[4 * TP_MAXRANK]; } atlist;

static bool extents(parser *p, ixlist *l) {
  l->n = 0;
  if (!expect(p, "[")) return false;
  while (!accept(p, "]")) {
    if (l->n == TP_LEN(l->v)) return fail(p, "too many extents");
    if ((l->n && !expect(p, ",")) || !expression(p, &l->v[l->n++])) return false;
  }
  return true;
}

static bool indices(parser *p, atlist *l) {
  l->n = 0;
  if (!expect(p, "[")) return false;
  while (!accept(p, "]")) {
    if (l->n == TP_LEN(l->v)) return fail(p, "too many indices");
    if (l->n && !expect(p, ",")) return false;
    tp_at *at = &l->v[l->n++];
    *at = (tp_at){ 0 };
    if (!expression(p, &at->lo)) return false;
    at->range = accept(p, "..");
    if (at->range && !expression(p, &at->hi)) return false;
  }
  return true;
}

static bool dims(parser *p, dimlist *l) {
  l->n = 0;
  if (!expect(p, "(")) return false;
  while (!accept(p, ")")) {
    const char *name = word(p);
    const tp_sym *s = name ? tp_sym_find(p->g->ix, name) : NULL;
    if (!name) return false;
    if (!s || s->kind != TP_SYM_DIM || l->n == TP_LEN(l->v)) return fail(p, "a dim is wanted before this");
    l->v[l->n++] = s;
  }
  return true;
}

#define KEEP(p, l) ((l).n ? tp_dup(&(p)->g->arena, (l).v, sizeof *(l).v * (size_t)(l).n) : NULL)

/* ---- nodes by number ---- */

static tp_node *numbered(parser *p, int id) {
  tp_node *n = tp_hmap_get(&p->nodes, &id, sizeof id);
  if (n) return n;
  n = tp_node_new(p->g, TP_OP_CONST);
  tp_hmap_set(&p->nodes, &id, sizeof id, n);
  n->mark = id;
  TP_PUSH(&p->g->arena, &p->mentioned, n);
  return n;
}

static bool value(parser *p, tp_val *v) {
  int id;
  *v = (tp_val){ 0 };
  if (!expect(p, "%") || !small(p, &id)) return false;
  v->node = numbered(p, id);
  return *p->s == '.' && p->s[1] != '.' ? (p->s++, small(p, &v->out)) : true;
}

static bool operand(parser *p, tp_node *n) {
  tp_edge e = { 0 };
  atlist at;
  bool to, from;
  if (!value(p, &e.src)) return false;
  to = accept(p, "to");
  from = !to && accept(p, "from");
  if ((to || from) && !indices(p, &at)) return false;
  if (to || from) {
    e.at = KEEP(p, at);
    TP_PUSH(&p->g->arena, &p->arities, (arity){ n, n->nin, at.n, p->line });
  }
  e.gather = from;
  if (accept(p, "if") && !expression(p, &e.cond)) return false;
  if (!position(p, &e.pos)) return false;
  tp_edge_push(p->g, n, e);
  return true;
}

static bool operands(parser *p, tp_node *n) {
  space(p);
  if (*p->s != '%') return true;
  do {
    if (!operand(p, n)) return false;
  } while (accept(p, ","));
  return true;
}

/* ---- attributes ---- */

static bool choice(parser *p, const char *const *names, int n, int *out) {
  const char *w = word(p);
  for (int i = 0; w && i < n; i++)
    if (strcmp(w, names[i]) == 0) {
      *out = i;
      return true;
    }
  return w ? fail(p, "an unknown word before this") : false;
}

static bool axes(parser *p, tp_attr *a) {
  int v[TP_MAXRANK], n = 0;
  while (more_numbers(p)) {
    if (n == TP_MAXRANK) return fail(p, "too many axes");
    if (!small(p, &v[n++])) return false;
  }
  a->naxes = n;
  a->axes = tp_dup(&p->g->arena, v, sizeof *v * (size_t)n);
  return true;
}

static bool numbers(parser *p, tp_attr *a) { return number(p, &a->f[0]) && (!more_numbers(p) || number(p, &a->f[1])); }
static bool integers(parser *p, tp_attr *a) { return integer(p, &a->i[0]) && (!more_numbers(p) || integer(p, &a->i[1])); }

static bool hash(parser *p, tp_attr *a) {
  char *end;
  a->hash = strtoull(p->s, &end, 0);
  if (end == p->s) return fail(p, "a hash is wanted");
  p->s = end;
  return true;
}

static bool attr_lists(parser *p, tp_node *n, const char *key, bool *known) {
  tp_attr *a = &n->attr;
  ixlist ix;
  atlist at;
  dimlist d;
  *known = true;
  if (strcmp(key, "ix") == 0) {
    if (!extents(p, &ix)) return false;
    a->nix = ix.n;
    a->ix = KEEP(p, ix);
  } else if (strcmp(key, "at") == 0) {
    if (!indices(p, &at)) return false;
    a->at = KEEP(p, at);
    TP_PUSH(&p->g->arena, &p->arities, (arity){ n, 0, at.n, p->line });
  } else if (strcmp(key, "along") == 0) {
    if (!dims(p, &d)) return false;
    a->nalong = d.n;
    a->along = KEEP(p, d);
  } else if (strcmp(key, "over") == 0) {
    if (!dims(p, &d)) return false;
    a->nover = d.n;
    a->over = KEEP(p, d);
  } else *known = false;
  return true;
}

/* data: where the numbers of a CONST stand, read when its type is known. */
static bool attribute(parser *p, tp_node *n, const char **data) {
  static const char *const rands[] = { "uniform", "normal", "bernoulli", "randint" }, *const reds[] = { "sum", "prod", "max", "min" };
  const char *key = word(p);
  int v = 0;
  tp_attr *a = &n->attr;
  bool known, ok;
  if (!key || !attr_lists(p, n, key, &known)) return false;
  if (known) return true;
#define KEY(name) (strcmp(key, name) == 0)
  if (KEY("str")) ok = (a->str = string(p)) != NULL;
  else if (KEY("axes")) ok = axes(p, a);
  else if (KEY("axis")) ok = small(p, &a->axis);
  else if (KEY("keepdim")) ok = a->keepdim = true;
  else if (KEY("flag")) ok = a->flag = true;
  else if (KEY("f")) ok = numbers(p, a);
  else if (KEY("i")) ok = integers(p, a);
  else if (KEY("hash")) ok = hash(p, a);
  else if (KEY("rand")) ok = choice(p, rands, TP_LEN(rands), &v), a->rand = (tp_randkind)v;
  else if (KEY("red")) ok = choice(p, reds, TP_LEN(reds), &v), a->red = (tp_red)v;
  else if (KEY("fn")) ok = small(p, &a->fn);
  else if (KEY("data")) {
    *data = p->s;
    p->s += strcspn(p->s, "}");
    ok = true;
  } else return fail(p, "an unknown attribute before this");
#undef KEY
  return ok;
}

static bool attributes(parser *p, tp_node *n, const char **data) {
  if (!accept(p, "{")) return true;
  do {
    if (!attribute(p, n, data)) return false;
  } while (accept(p, ","));
  return expect(p, "}");
}

/* ---- types ---- */

typedef TP_VEC(tp_out) outvec;

static bool one_result(parser *p, outvec *outs) {
  ixlist shape;
  tp_dtype d;
  const char *w = word(p);
  if (!w) return false;
  if (!tp_dtype_parse(w, &d)) return fail(p, "a dtype is wanted before this");
  if (!extents(p, &shape)) return false;
  TP_PUSH(&p->g->arena, outs, (tp_out){ d, shape.n, KEEP(p, shape) });
  return true;
}

/* What the printer leaves out because the type says it. */
static void attrs_of_type(tp_graph *g, tp_node *n) {
  tp_attr *a = &n->attr;
  const tp_out *o = n->nout ? n->out : NULL;
  bool source = n->op == TP_OP_INPUT || n->op == TP_OP_FILL || n->op == TP_OP_IOTA || n->op == TP_OP_RAND;
  bool declared = n->op == TP_OP_MERGE || n->op == TP_OP_ACCUM || n->op == TP_OP_PARAM;
  if (source || declared || n->op == TP_OP_CALL || n->op == TP_OP_PINIT) a->ndom = n->ndom, a->dom = n->dom;
  if (o && (source || declared || n->op == TP_OP_RESHAPE || n->op == TP_OP_EXPAND)) a->nix = o->rank, a->ix = o->shape;
  if (o && (source || declared || n->op == TP_OP_CAST)) a->dtype = o->dtype;
  if (n->op != TP_OP_CALL || !n->nout) return;
  tp_spec *spec = TP_NEWN(&g->arena, tp_spec, n->nout);
  for (int k = 0; k < n->nout; k++) spec[k] = (tp_spec){ n->out[k].dtype, n->out[k].rank, n->out[k].shape };
  a->nspec = n->nout;
  a->spec = spec;
}

static bool type(parser *p, tp_node *n) {
  dimlist d;
  outvec outs = { 0 };
  if (!dims(p, &d)) return false;
  n->ndom = d.n;
  n->dom = KEEP(p, d);
  space(p);
  if (*p->s && *p->s != '@') do {
    if (!one_result(p, &outs)) return false;
  } while (accept(p, ","));
  n->nout = outs.n;
  n->out = outs.v;
  attrs_of_type(p->g, n);
  return true;
}

/* ---- data ---- */

static bool constant_shape(parser *p, const tp_node *n, int64_t *shape) {
  if (n->nout != 1 || n->out[0].rank > TP_MAXRANK) return fail(p, "a const needs its type");
  for (int i = 0; i < n->out[0].rank; i++)
    if (!tp_ix_is_const(n->out[0].shape[i], &shape[i])) return fail(p, "a const has constant extents");
  return true;
}

static bool read_data(parser *p, tp_node *n, const char *data) {
  int64_t shape[TP_MAXRANK];
  const char *rest = p->s;
  if (!constant_shape(p, n, shape)) return false;
  tp_dtype d = n->out[0].dtype;
  tp_array *a = n->attr.data = tp_array_new(d, n->out[0].rank, shape);
  if (!a) return fail(p, "no memory for the constant");
  p->s = data;
  for (int64_t i = 0; i < a->count; i++) {
    double x;
    int64_t v;
    if (tp_dtype_float(d)) {
      if (!number(p, &x)) return false;
      tp_put(d, a->data, i, x);
    } else {
      if (!integer(p, &v)) return false;
      tp_puti(d, a->data, i, v);
    }
  }
  if (more_numbers(p)) return fail(p, "more data than the shape has");
  p->s = rest;
  return true;
}

/* ---- a node ---- */

static bool arity_ok(parser *p, const arity *a) {
  const tp_node *n = a->n;
  if (n->op != TP_OP_READ && n->op != TP_OP_ACCUM) return true;
  int want = a->edge >= n->nin ? -1 : n->op == TP_OP_READ || n->in[a->edge].gather ? n->in[a->edge].src.node->ndom : n->ndom;
  return want == a->count || tp_fail(p->err, TP_E_FILE, (tp_pos){ "sdg", a->line }, "file: %d indices for %d dims", a->count, TP_MAX(want, 0));
}

/* A type left out is inferred, if the operands have theirs. */
static bool infer_type(parser *p, tp_node *n) {
  if (!tp_nin_ok(n->op, n->nin, here(p), p->err)) return false;
  for (int k = 0; k < n->nin; k++)
    if (n->in[k].src.out >= n->in[k].src.node->nout) return fail(p, "this node needs its type: an operand has none yet");
  bool told = n->op == TP_OP_MERGE || n->op == TP_OP_ACCUM || n->op == TP_OP_PARAM || n->op == TP_OP_CALL || (tp_ops[n->op].cls == TP_CLS_SRC && n->op != TP_OP_VALUE);
  if (told || n->op == TP_OP_RESHAPE || n->op == TP_OP_EXPAND || n->op == TP_OP_CAST) return fail(p, "this node needs its type");
  if (n->op == TP_OP_READ && p->arities.n && p->arities.v[p->arities.n - 1].n == n && !arity_ok(p, &p->arities.v[p->arities.n - 1])) return false;
  if (tp_infer(p->g, n, p->err)) return true;
  if (!p->err->pos.file) p->err->pos = here(p);
  return false;
}

static bool body(parser *p, tp_node *n) {
  const char *name = word(p), *data = NULL;
  if (!name) return false;
  if (!tp_op_parse(name, &n->op)) return fail(p, "an unknown operator before this");
  if (!operands(p, n) || !attributes(p, n, &data)) return false;
  bool typed = accept(p, ":");
  if (typed && !type(p, n)) return false;
  if (!position(p, &n->pos)) return false;
  if (n->op == TP_OP_CONST && !read_data(p, n, data ? data : "")) return false;
  for (int k = 0; k < n->nin; k++)
    if (!n->in[k].pos.file) n->in[k].pos = n->pos;
  n->done = n->op == TP_OP_MERGE && n->nin && !n->in[n->nin - 1].cond;
  return typed || infer_type(p, n);
}

static bool end_of_line(parser *p) {
  space(p);
  return !*p->s || fail(p, "nothing more is wanted");
}

static bool node_line(parser *p) {
  int id;
  if (!small(p, &id)) return false;
  tp_node *n = numbered(p, id);
  if (n->id >= 0) return fail(p, "a second node of this number");
  space(p);
  if (*p->s == '"' && !(n->name = string(p))) return false;
  n->id = 0;                    /* its line has come: tp_node_register says which */
  if (!expect(p, "=") || !body(p, n)) {
    n->attr.data = tp_array_unref(n->attr.data);
    return false;
  }
  tp_node_register(p->g, n);
  return end_of_line(p);
}

/* ---- other lines ---- */

static bool make_dim(parser *p, const char *name, const char *bound) {
  tp_ictx *c = p->g->ix;
  tp_sym *s = tp_sym_find(c, name), *b = bound ? tp_sym_find(c, bound) : NULL;
  bool hidden = accept(p, "hidden");
  if (s) return (s->kind == TP_SYM_DIM && (bound ? s->bound && strcmp(s->bound->name, bound) == 0 : !s->bound)) || fail(p, "the context has this name for something else");
  if (bound && !b) {
    s = tp_sym_dim(c, name, bound, here(p), p->err);
    if (s) s->hidden = s->bound->hidden = hidden;
    return s != NULL;
  }
  s = tp_sym_hidden_dim(c, name);
  s->bound = b;
  s->hidden = hidden;
  return true;
}

static bool dim_line(parser *p) {
  const char *name = word(p), *bound = NULL;
  if (!name || (accept(p, ":") && !(bound = word(p)))) return false;
  return make_dim(p, name, bound) && end_of_line(p);
}

static bool bound_line(parser *p) {
  const char *name = word(p);
  if (!name) return false;
  tp_sym *s = tp_sym_find(p->g->ix, name);
  if (!s) s = tp_sym_bound(p->g->ix, name, here(p), p->err);
  if (!s) return false;
  if (s->kind != TP_SYM_BOUND) return fail(p, "this is no bound");
  s->hidden |= accept(p, "hidden");
  return end_of_line(p);
}

static bool graph_line(parser *p) {
  char *end;
  if (!expect(p, "seed")) return false;
  p->g->seed = strtoull(p->s, &end, 10);
  p->s = end;
  return expect(p, "nrand") && small(p, &p->g->nrand) && end_of_line(p);
}

/* Entry of `inputs` or `params`: the first one given takes the place of the usual list. */
static bool list_line(parser *p, bool inputs) {
  tp_arena *a = &p->g->arena;
  int at;
  bool *given = inputs ? &p->inputs : &p->params;
  int *n = inputs ? &p->g->inputs.n : &p->g->params.n;
  if (!*given) *n = 0;
  *given = true;
  if (!small(p, &at) || !expect(p, "=")) return false;
  if (at != *n) return fail(p, "entries must stand in order");
  tp_val v = { 0 };
  space(p);
  if (*p->s == '%' ? !value(p, &v) : !body(p, v.node = tp_node_new(p->g, TP_OP_INPUT))) return false;
  v.node->attr.data = v.node->id < 0 ? tp_array_unref(v.node->attr.data) : v.node->attr.data;
  if (v.node->id < 0 && v.node->nout != 1) return fail(p, "one result is wanted");
  if (inputs) TP_PUSH(a, &p->g->inputs, v.node);
  else TP_PUSH(a, &p->g->params, v.node);
  return end_of_line(p);
}

static bool output_line(parser *p) {
  tp_output o = { 0 };
  if (!(o.name = string(p)) || !value(p, &o.val)) return false;
  o.hidden = accept(p, "hidden");
  if (!position(p, &o.pos)) return false;
  TP_PUSH(&p->g->arena, &p->g->outputs, o);
  return end_of_line(p);
}

static bool loss_line(parser *p) {
  tp_val v;
  if (!value(p, &v)) return false;
  TP_PUSH(&p->g->arena, &p->g->losses, v);
  return end_of_line(p);
}

static bool shapecheck_line(parser *p, int operands) {
  ixlist e;
  tp_pos pos = { 0 };
  const char *what = NULL;
  if (!extents(p, &e) || !(what = string(p)) || !position(p, &pos)) return false;
  if (e.n != operands) return fail(p, "the number of expressions is wrong");
  tp_shapecheck_add(p->g, e.v[0], operands == 2 ? e.v[1] : NULL, pos, what);
  p->checks = true;
  return end_of_line(p);
}

static bool boundcheck_line(parser *p) {
  ixlist e;
  tp_boundcheck c = { 0 };
  const char *cls;
  if (!extents(p, &e) || !(cls = word(p)) || !(c.msg = string(p)) || !position(p, &c.pos)) return false;
  for (int k = 1; k < TP_NERR; k++)
    if (strcmp(tp_code_word((tp_code)k), cls) == 0) c.code = (tp_code)k;
  if (e.n != 1 || !tp_ix_is_cond(e.v[0]) || !c.code) return fail(p, "a condition and a class of errors are wanted");
  c.cond = e.v[0];
  TP_PUSH(&p->g->arena, &p->g->boundchecks, c);
  return end_of_line(p);
}

static bool warning_line(parser *p) {
  const char *s = string(p);
  if (s) TP_PUSH(&p->g->arena, &p->g->warnings, s);
  return s && end_of_line(p);
}

static bool line(parser *p) {
  space(p);
  if (!*p->s || strncmp(p->s, "--", 2) == 0) return true;
  if (accept(p, "%")) return node_line(p);
  if (accept(p, "dim")) return dim_line(p);
  if (accept(p, "bound")) return bound_line(p);
  if (accept(p, "graph")) return graph_line(p);
  if (accept(p, "inputs")) return list_line(p, true);
  if (accept(p, "params")) return list_line(p, false);
  if (accept(p, "output")) return output_line(p);
  if (accept(p, "loss")) return loss_line(p);
  if (accept(p, "equal")) return shapecheck_line(p, 2);
  if (accept(p, "holds")) return shapecheck_line(p, 1);
  if (accept(p, "needs")) return boundcheck_line(p);
  if (accept(p, "warning")) return warning_line(p);
  return fail(p, "an unknown line");
}

/* ---- the whole ---- */

static bool lines(parser *p, const char *text) {
  while (*text) {
    size_t n = strcspn(text, "\n");
    char *copy = tp_new_bytes(&p->g->arena, n + 1);
    p->s = memcpy(copy, text, n);
    p->line++;
    if (!line(p)) return false;
    text += n + (text[n] == '\n');
  }
  for (int i = 0; i < p->mentioned.n; i++)
    if (p->mentioned.v[i]->id < 0) return tp_fail(p->err, TP_E_FILE, here(p), "file: there is no node %%%d", p->mentioned.v[i]->mark);
  for (int i = 0; i < p->arities.n; i++)
    if (!arity_ok(p, &p->arities.v[i])) return false;
  return true;
}

static bool read_all(tp_graph *g, const char *text, tp_error *err) {
  jmp_buf oom;
  g->arena.oom = &oom;
  if (setjmp(oom)) return tp_fail(err, TP_E_MEMORY, g->pos, "no memory for the graph");
  parser p = { .g = g, .err = err };
  tp_hmap_init(&p.nodes, &g->arena);
  tp_hmap_init(&p.files, &g->arena);
  bool ok = lines(&p, text) && tp_verify(g, err);
  if (ok && !p.checks) tp_recheck(g);
  g->arena.oom = NULL;
  return ok;
}

tp_graph *tp_graph_parse(tp_ictx *ix, const char *text, tp_error *err) {
  tp_graph *g = tp_graph_new(ix);
  tp_error own = { 0 };
  if (!err) err = &own;
  if (g && read_all(g, text, err)) return g;
  tp_fail(err, TP_E_MEMORY, (tp_pos){ 0 }, "no memory for a graph");
  return tp_graph_free(g);
}
