/* peek: x:peek{ inputs =, bounds =, at = {t = 3} }: one point, without compiling. */
#include "lua/tl.h"

/* The inputs and bounds that the value needs. */
typedef struct {
  tp_graph *g;
  bool *node, *sym;
  int *stack;
  int n;
} reach_t;

static void reach_val(reach_t *r, tp_val v);

/* Reaches the end by data of a dim, or of a bound that an expression mentions. */
static void reach_sym(reach_t *r, tp_sym *s) {
  const tp_stop *stop = tp_stop_of(r->g, s);
  r->sym[s->id] = true;
  if (s->bound) r->sym[s->bound->id] = true;
  if (stop) reach_val(r, stop->done);
}

static tp_ix *reach_ix(void *r, tp_ix *e) {
  tp_dims s;
  for (int k = 0, n = tp_ix_syms(e, &s); k < n; k++) reach_sym(r, s[k]);
  return e;
}

static void reach_val(reach_t *r, tp_val v) {
  if (r->node[v.node->id]) return;
  r->node[v.node->id] = true;
  r->stack[r->n++] = v.node->id;
}

static void reach_node(reach_t *r, tp_node *n) {
  for (int k = 0; k < n->ndom; k++) reach_sym(r, n->dom[k]);
  for (int k = 0; k < n->nin; k++) reach_val(r, n->in[k].src);
  tp_node_map(NULL, n, reach_ix, r);
  if (n->op == TP_OP_GRAD) /* and of the marked losses */
    for (int k = 0; k < r->g->losses.n; k++) reach_val(r, r->g->losses.v[k]);
}

static void reach(lua_State *L, tp_graph *g, tp_val v, reach_t *r) { /* pushes its memory */
  size_t n = (size_t)g->nodes.n, nsym = (size_t)tp_nsym(g->ix);
  size_t bytes = n * (sizeof(int) + 1) + nsym;
  char *mem = memset(lua_newuserdata(L, bytes + 1), 0, bytes);
  *r = (reach_t){ .g = g,
    .stack = (int *)mem,
    .node = (bool *)(mem + n * sizeof(int)),
    .sym = (bool *)(mem + n * (sizeof(int) + 1)) };
  reach_val(r, v);
  while (r->n) reach_node(r, g->nodes.v[r->stack[--r->n]]);
}

static void take_bounds(lua_State *L, tl_run *run, const reach_t *r, int i) {
  tp_ictx *c = r->g->ix;
  int n = 0, nsym = tp_nsym(c);
  tp_sym **need = lua_newuserdata(L, sizeof *need * (size_t)(nsym + 1));
  for (int k = 0; k < nsym; k++) {
    tp_sym *s = tp_sym_at(c, k);
    if (r->sym[k] && s->kind == TP_SYM_BOUND && !s->hidden) need[n++] = s;
  }
  tl_run_bounds(L, run, i, n, need);
}

static void take_point(lua_State *L, const tp_node *x, int i, int64_t *at) {
  const char **known = lua_newuserdata(L, sizeof *known * (size_t)(x->ndom + 1));
  for (int k = 0; k < x->ndom; k++) known[k] = x->dom[k]->name;
  known[x->ndom] = NULL;
  tl_options(L, i, "at of peek", known);
  for (int k = 0; k < x->ndom; k++) {
    if (!tl_option(L, i, x->dom[k]->name))
      tl_fail(L, "option: peek: the point lacks dim '%s': at = {%s = 0}", x->dom[k]->name,
          x->dom[k]->name);
    at[k] = tl_integer(L, -1, "at of peek");
    lua_pop(L, 1);
  }
}

int tl_peek(lua_State *L) { /* x, inputs, bounds, at, seed */
  tl_tensor *u = tl_check(L, 1, TL_TENSOR, "peek");
  tp_graph *g = u->lp->p->g;
  lua_settop(L, 5);
  reach_t r;
  tp_error e = { 0 };
  reach(L, g, u->v, &r);
  int64_t *at = lua_newuserdata(L, sizeof *at * (size_t)(u->v.node->ndom + 1));
  take_point(L, u->v.node, 4, at);
  tl_run *run = tl_run_new(L, u->lp, g->ix, g->inputs.n, 0);
  int nsym = tp_nsym(g->ix);
  take_bounds(L, run, &r, 3);
  for (int k = 0; k < run->ninput; k++) run->need[k] = r.node[g->inputs.v[k]->id];
  tl_run_inputs(L, run, 2, g, NULL);
  if (g->inputs.n != run->ninput || tp_nsym(g->ix) != nsym)
    tl_fail(L,
        "option: peek: while its inputs were read, the program was given another input, dim or "
        "bound");
  if (!lua_isnil(L, 5)) run->run.seed = (uint64_t)tl_integer(L, 5, "seed");
  tl_array *out = tl_pusharray(L);
  int result = lua_gettop(L);
  tl_run_prepare_calls(L, run);
  tl_mark(L, u->lp);
  for (int k = 0; k < run->ninput; k++)
    if (run->inputs[k] && !tp_array_see(run->inputs[k], &e)) tl_run_raise(L, run, &e);
  out->a = tp_program_peek(u->lp->p, u->v, &run->run, at, &e);
  if (!out->a) tl_run_raise(L, run, &e);
  tl_run_release(run);
  lua_settop(L, result);
  return 1;
}
