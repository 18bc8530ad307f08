/* evolve: a recurrence of which few points are needed is no loop: these points are told by a formula of how many steps lie before them.
 *
 *   x[0] = a, x[t] = x[t-1] + b         =>   x[t] = a + t b            at every point of x, of which what reads x[T-1] then needs one
 *
 * Chains of recurrences (chain.c) tell what a step is made of, evolved.c the formulas and their errors. Done where who reads the tensor from outside of its recurrence needs few points of it along the
 * dim; of integers that grow by the same at each step all points, too: no point waits for another then. One recurrence may hand on to the next, so this is done until nothing changes.
 * Left alone: dims that end by data, bools and halves (whose rounding at each step is what one sees), floats where `precise` asks for the order in which sums are written. Why others stay is kept for
 * explain "evolution". */
#include "opt/evolve.h"

enum { FEW_POINTS = 4 };                        /* pieces of one point each, that a reader needs */

typedef struct evolution { tp_graph *g; const tp_need *need; bool precise; int n0; tp_evolving *course; int ncourse; TP_VEC(tp_told) stays; tp_error *err; } evolution;

/* ---- who reads it ---- */

/* Marks m and what its step makes of it. True: v is such. */
static bool mark_cone(const evolution *v, const tp_node *m, const tp_node *n, char *seen) {
  if (n == m) return true;
  if (n->id >= v->n0 || seen[n->id]) return n->id < v->n0 && seen[n->id] == 2;
  seen[n->id] = 1;
  bool in = false;
  for (int k = 0; k < n->nin; k++) in |= mark_cone(v, m, n->in[k].src.node, seen);
  if (in) seen[n->id] = 2;
  return in;
}

/* Do these need few points along dim d of what they read there? */
static bool reads_few(const evolution *v, const tp_node *n, int k, const tp_sym *dim) {
  const tp_node *x = n->in[k].src.node;
  int at = -1;
  for (int d = 0; d < x->ndom; d++)
    if (x->dom[d] == dim) at = d;
  if (at < 0) return true;
  tp_set *s = tp_set_apply(tp_set_copy(v->need->set[n->id]), tp_edge_rel(v->g, n, k));
  s = tp_set_and(s, tp_set_box(v->g->ix, x->ndom, x->dom));
  bool few = s && tp_set_few(v->g->ix, s, at, FEW_POINTS);
  tp_set_free(s);
  return few;
}

static bool is_shown(const evolution *v, const tp_node *n, const tp_sym *dim) {
  bool any = false;
  for (int i = 0; i < v->g->outputs.n; i++) any |= v->g->outputs.v[i].val.node == n;
  for (int i = 0; i < v->g->stops.n; i++) any |= v->g->stops.v[i].done.node == n || v->g->stops.v[i].end == n;
  return any && tp_dom_has(n->ndom, n->dom, dim);
}

/* Few points are needed of m by what is no part of its recurrence. */
static bool needs_few(const evolution *v, const tp_node *m, const tp_node *step, const tp_sym *dim) {
  char *seen = TP_NEWN(&v->g->arena, char, v->n0);
  mark_cone(v, m, step, seen);
  seen[m->id] = 2;
  for (int i = 0; i < v->n0; i++) {
    const tp_node *n = v->g->nodes.v[i];
    if (seen[i] == 2 && is_shown(v, n, dim)) return false;
    if (seen[i] == 2 && n->op == TP_OP_CALL) return false;
    for (int k = 0; seen[i] != 2 && k < n->nin; k++)
      if (seen[n->in[k].src.node->id] == 2 && !reads_few(v, n, k, dim)) return false;
  }
  return true;
}

/* ---- one recurrence ---- */

static bool may_evolve(const evolution *v, const tp_node *m) {
  tp_dtype d = m->out[0].dtype;
  return m->op == TP_OP_MERGE && m->nin >= 2 && m->ndom && d != TP_BOOL && (tp_dtype_float(d) ? !v->precise && tp_dtype_size(d) >= 4 : true);
}

static bool may_along(const evolution *v, const tp_sym *d) { return d->bound && !tp_stop_of(v->g, d); }

static tp_evolving *course_along(evolution *v, const tp_sym *dim, bool back) {
  for (int i = 0; i < v->ncourse; i++)
    if (v->course[i].dim == dim && v->course[i].back == back) return &v->course[i];
  tp_evolving *e = &v->course[v->ncourse++];
  *e = (tp_evolving){ .mk = { v->g, v->err }, .dim = dim, .back = back, .precise = v->precise, .n0 = v->n0, .known = TP_NEWN(&v->g->arena, tp_solution, v->n0) };
  return e;
}

static bool steps_itself(const evolution *v, const tp_node *m, const tp_course *c) {
  char *seen = TP_NEWN(&v->g->arena, char, v->n0);
  return c->step.node->id < v->n0 && mark_cone(v, m, c->step.node, seen);
}

/* ---- what is told ---- */

static const char *called_along(const evolution *v, const tp_node *m, const tp_sym *dim) { return tp_printf(&v->g->arena, "%s along %s", tp_title(&v->g->arena, m), dim->name); }

static void tell_stays(evolution *v, const tp_node *m, const tp_sym *dim, const char *why, tp_pos at) {
  const char *line = at.file && at.line != m->pos.line ? tp_printf(&v->g->arena, " (line %d)", at.line) : "";
  const char *text = tp_printf(&v->g->arena, "%s goes step by step: %s%s", called_along(v, m, dim), why, line);
  TP_PUSH(&v->g->arena, &v->stays, (tp_told){ "evolve", m->pos, text });
}

static const char *said_value(const evolution *v, tp_val x) {
  tp_arena *a = &v->g->arena;
  while (!x.node->name && (x.node->op == TP_OP_EXPAND || x.node->op == TP_OP_RESHAPE || x.node->op == TP_OP_CAST)) x = x.node->in[0].src;
  if (x.node->op == TP_OP_FILL) return tp_printf(a, "%g", x.node->attr.f[0]);
  if (x.node->op == TP_OP_VALUE) return tp_ix_str(v->g->ix, x.node->attr.ix[0]);
  return tp_title(a, x.node);
}

/* x = {x0,+,x1,+,x2} */
static void tell_form(evolution *v, const tp_node *m, const tp_sym *dim, const tp_form *f) {
  tp_arena *a = &v->g->arena;
  const char *s = "";
  for (int j = 0; j < f->n; j++) s = tp_printf(a, "%s%s%s", s, j ? ",+," : "", said_value(v, f->c[j]));
  tp_tell(v->g, "evolve", m->pos, tp_printf(a, "%s = {%s}", called_along(v, m, dim), s));
}

/* x = {x0,+,(a-1) x0 + b,*,a}, or {x0,*,a} */
static void tell_system(evolution *v, const tp_node *m, const tp_sym *dim, const tp_system *s) {
  tp_arena *a = &v->g->arena;
  const char *x0 = said_value(v, s->of[0].init), *by = said_value(v, s->row[0].by[0]), *text;
  if (!s->row[0].n) text = tp_printf(a, "{%s,*,%s}", x0, by);
  else text = tp_printf(a, "{%s,+,(%s - 1) %s + %s,*,%s}", x0, by, x0, said_value(v, s->row[0].c[0]), by);
  tp_tell(v->g, "evolve", m->pos, tp_printf(a, "%s = %s", called_along(v, m, dim), text));
}

/* ---- a recurrence ---- */

static tp_val evolved(evolution *v, tp_evolving *e, tp_node *m, const tp_course *c) {
  bool few = needs_few(v, m, c->step.node, e->dim);
  v->g->pos = m->pos;
  const tp_solution *y = few || !tp_dtype_float(m->out[0].dtype) ? tp_evolution_of(e, m) : NULL;
  tp_val r = tp_none;
  if (y && y->is == SOLVE_FORM && (few || y->form.n <= 2)) {
    r = tp_evolved_form(e, m, &y->form);
    if (r.node) tell_form(v, m, e->dim, &y->form);
  } else if (few && y->is == SOLVE_SYSTEM) {
    r = tp_evolved_system(e, m, y->sys);
    if (r.node) tell_system(v, m, e->dim, y->sys);
  }
  if (!r.node) tell_stays(v, m, e->dim, !few ? "all its points are needed" : y->why ? y->why : "no formula is known", few && y->why ? y->at : m->pos);
  return r;
}

/* {NULL}: it stays. */
static tp_val try_merge(evolution *v, tp_node *m) {
  for (int d = 0; d < m->ndom; d++)
    for (int back = 0; back < 2 && may_along(v, m->dom[d]); back++) {
      tp_evolving *e = course_along(v, m->dom[d], back);
      tp_course c;
      if (!tp_course_of(e, m, &c) || !steps_itself(v, m, &c)) continue;
      tp_val y = evolved(v, e, m, &c);
      if (y.node || v->err->code) return y;
    }
  return tp_none;
}

static void put_in_place(evolution *v, const tp_node *m, tp_val now) {
  if (now.node->id >= v->n0 && !now.node->name) now.node->name = m->name, now.node->what = m->what;
  tp_replace(v->g, tp_v((tp_node *)m), now);
}

/* All are looked for before one is put in place. */
static bool evolve_round(evolution *v, bool *changed) {
  int *scc = TP_NEWN(&v->g->arena, int, v->n0), *size = TP_NEWN(&v->g->arena, int, v->n0 + 1);
  tp_val *now = TP_NEWN(&v->g->arena, tp_val, v->n0 + 1);
  tp_graph_sccs(v->g, scc, NULL);
  for (int i = 0; i < v->n0; i++) size[scc[i]]++;
  for (int i = 0; i < v->n0; i++) {
    tp_node *m = v->g->nodes.v[i];
    if (size[scc[i]] < 2 || !may_evolve(v, m)) continue;
    now[i] = try_merge(v, m);
    if (v->err->code) return false;
    *changed |= now[i].node != NULL;
  }
  for (int i = 0; i < v->n0; i++)
    if (now[i].node) put_in_place(v, v->g->nodes.v[i], now[i]);
  return true;
}

bool tp_evolve(tp_graph *g, const tp_need *need, bool precise, bool *changed, tp_error *err) {
  int dims = 0;
  for (int i = 0; i < tp_nsym(g->ix); i++) dims += tp_sym_at(g->ix, i)->kind == TP_SYM_DIM;
  evolution v = { .g = g, .need = need, .precise = precise, .n0 = g->nodes.n, .course = TP_NEWN(&g->arena, tp_evolving, 2 * dims + 1), .err = err };
  if (!evolve_round(&v, changed)) return false;
  if (*changed) return true;
  g->nodes.n = v.n0;                            /* what was tried is in nobody's way */
  for (int i = 0; i < v.stays.n; i++) tp_tell(g, v.stays.v[i].pass, v.stays.v[i].pos, v.stays.v[i].text);
  return true;
}
