/* evolve: a recurrence of which few points are needed is no loop: these points are told by a
 * formula of how many steps lie before them.
 *
 *   x[0] = a, x[t] = x[t-1] + b         =>   x[t] = a + t b            at every point of x, of
 * which what reads x[T-1] then needs one
 *
 * Chains of recurrences (chrec.c) tell what a step is made of, closed_form.c and binary_power.c
 * have the formulas and their errors. Done where who reads the tensor from outside of its
 * recurrence needs few points of it along the dim; of integers that grow by the same at each step
 * all points, too: no point waits for another then. One recurrence may hand on to the next, so this
 * is done until nothing changes. Left alone: dims that end by data, bools and halves (whose
 * rounding at each step is what one sees), floats where `precise` asks for the order in which sums
 * are written. Why others stay is kept for explain "evolution". */
#include "opt/evolve.h"

enum { FEW_POINTS = 4 }; /* pieces of one point each, that a reader needs */

typedef struct evolve_work {
  tp_graph *g;
  const tp_need *need;
  bool precise;
  int n0, *scc, *size;
  tp_evolving *course;
  int ncourse;
  TP_VEC(tp_told) stays;
  tp_error *err;
} evolve_work;

/* ---- who reads it ---- */

/* What a recurrence's step is made of, as far as that hangs on the recurrence, by node id: of what
 * lies in its component, each hangs on it. */
static bool mark_cone(const evolve_work *v, const tp_node *m, const tp_node *n, char *cone) {
  if (n->id >= v->n0 || v->scc[n->id] != v->scc[m->id] || cone[n->id]) return false;
  cone[n->id] = true;
  return true;
}

/* NULL: m does not step from itself. */
static const char *cone_of(const evolve_work *v, const tp_node *m, const tp_node *step) {
  if (step->id >= v->n0 || v->scc[step->id] != v->scc[m->id]) return NULL;
  char *cone = TP_NEWN(&v->g->arena, char, v->n0);
  TP_VEC(const tp_node *) left = { 0 };
  if (mark_cone(v, m, step, cone)) TP_PUSH(&v->g->arena, &left, step);
  while (left.n) {
    const tp_node *n = left.v[--left.n];
    for (int k = 0; n != m && k < n->nin; k++)
      if (mark_cone(v, m, n->in[k].src.node, cone)) TP_PUSH(&v->g->arena, &left, n->in[k].src.node);
  }
  return cone[m->id] ? cone : NULL;
}

/* Do these need few points along dim d of what they read there? */
static bool reads_few(const evolve_work *v, const tp_node *n, int k, const tp_sym *dim) {
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

static bool is_shown(const evolve_work *v, const tp_node *n, const tp_sym *dim) {
  bool any = false;
  for (int i = 0; i < v->g->outputs.n; i++) any |= v->g->outputs.v[i].val.node == n;
  for (int i = 0; i < v->g->stops.n; i++)
    any |= v->g->stops.v[i].done.node == n || v->g->stops.v[i].end == n;
  return any && tp_dom_has(n->ndom, n->dom, dim);
}

/* Few points are needed of the cone by what is not in it. */
static bool needs_few(const evolve_work *v, const char *cone, const tp_sym *dim) {
  for (int i = 0; i < v->n0; i++) {
    const tp_node *n = v->g->nodes.v[i];
    if (cone[i] && (n->op == TP_OP_CALL || is_shown(v, n, dim))) return false;
    for (int k = 0; !cone[i] && k < n->nin; k++)
      if (cone[n->in[k].src.node->id] && !reads_few(v, n, k, dim)) return false;
  }
  return true;
}

/* ---- one recurrence ---- */

static bool may_reorder_steps(const evolve_work *v, const tp_node *n) {
  return tp_dtype_float(n->out[0].dtype) ? !v->precise && tp_dtype_size(n->out[0].dtype) >= 4
                                         : n->out[0].dtype != TP_BOOL;
}

static bool may_evolve(const evolve_work *v, const tp_node *m) {
  return m->op == TP_OP_MERGE && m->nin >= 2 && m->ndom && !tp_is_kept(v->g, m) &&
      may_reorder_steps(v, m);
}

static bool may_along(const evolve_work *v, const tp_sym *d) {
  return d->bound && !d->bound->digits && !tp_stop_of(v->g, d);
}

static tp_evolving *course_along(evolve_work *v, const tp_sym *dim, bool back) {
  for (int i = 0; i < v->ncourse; i++)
    if (v->course[i].dim == dim && v->course[i].back == back) return &v->course[i];
  tp_evolving *e = &v->course[v->ncourse++];
  *e = (tp_evolving){ .mk = { .g = v->g, .err = v->err },
    .dim = dim,
    .back = back,
    .precise = v->precise,
    .n0 = v->n0,
    .scc = v->scc,
    .in = -1,
    .known = TP_NEWN(&v->g->arena, tp_solution, v->n0) };
  return e;
}

/* ---- what is told ---- */

static const char *called_along(const evolve_work *v, const tp_node *m, const tp_sym *dim) {
  return tp_printf(&v->g->arena, "%s along %s", tp_title(&v->g->arena, m), dim->name);
}

static void tell_stays(
    evolve_work *v, const tp_node *m, const tp_sym *dim, const char *why, tp_pos at) {
  const char *line =
      at.file && at.line != m->pos.line ? tp_printf(&v->g->arena, " (line %d)", at.line) : "";
  const char *text =
      tp_printf(&v->g->arena, "%s goes step by step: %s%s", called_along(v, m, dim), why, line);
  TP_PUSH(&v->g->arena, &v->stays, (tp_told){ "evolve", m->pos, text });
}

static bool is_view(const tp_node *n) {
  return n->op == TP_OP_EXPAND || n->op == TP_OP_RESHAPE || n->op == TP_OP_CAST ||
      n->op == TP_OP_PERMUTE;
}

/* A number that v is everywhere. */
static bool said_number(tp_val v, double *c) {
  const tp_node *n = v.node;
  double a, b;
  int64_t k;
  if (is_view(n)) return said_number(n->in[0].src, c);
  if (n->op == TP_OP_FILL) return *c = n->attr.f[0], true;
  if (n->op == TP_OP_VALUE) return tp_ix_is_const(n->attr.ix[0], &k) && (*c = (double)k, true);
  if (n->op == TP_OP_NEG) return said_number(n->in[0].src, &a) && (*c = -a, true);
  if ((n->op != TP_OP_ADD && n->op != TP_OP_SUB && n->op != TP_OP_MUL) ||
      !said_number(n->in[0].src, &a) || !said_number(n->in[1].src, &b))
    return false;
  return *c = n->op == TP_OP_ADD ? a + b : n->op == TP_OP_SUB ? a - b : a * b, true;
}

enum { SAID_DEPTH = 4 };

/* As one would write it: "2 b", "a + 3", "slice@net.lua:7". */
static const char *said_value(const evolve_work *v, tp_val x, int depth) {
  tp_arena *a = &v->g->arena;
  double c;
  while (!x.node->name && is_view(x.node)) x = x.node->in[0].src;
  if (said_number(x, &c)) return tp_printf(a, "%.9g", c);
  const tp_node *n = x.node;
  if (n->op == TP_OP_VALUE) return tp_ix_str(v->g->ix, n->attr.ix[0]);
  bool sum = n->op == TP_OP_ADD || n->op == TP_OP_SUB;
  if (n->nin == 1 && n->op != TP_OP_READ && !n->name && depth)
    return tp_printf(a, "%s(%s)", tp_op_said(n->op), said_value(v, n->in[0].src, depth - 1));
  if ((!sum && n->op != TP_OP_MUL) || n->name || !depth) return tp_title(a, n);
  if (n->op == TP_OP_ADD && said_number(n->in[0].src, &c) && c == 0)
    return said_value(v, n->in[1].src, depth);
  const char *l = said_value(v, n->in[0].src, depth - 1),
             *r = said_value(v, n->in[1].src, depth - 1);
  return sum ? tp_printf(a, "(%s %s %s)", l, n->op == TP_OP_ADD ? "+" : "-", r)
             : tp_printf(a, "%s %s", l, r);
}

static const char *said(const evolve_work *v, tp_val x) { return said_value(v, x, SAID_DEPTH); }

/* {c0,+,c1,+,c2} */
static const char *said_form(const evolve_work *v, const tp_form *f) {
  tp_arena *a = &v->g->arena;
  const char *s = "";
  for (int j = 0; j < f->n; j++) s = tp_printf(a, "%s%s%s", s, j ? ",+," : "", said(v, f->c[j]));
  return tp_printf(a, "{%s}", s);
}

static void tell_form(evolve_work *v, const tp_node *m, const tp_sym *dim, const tp_form *f) {
  tp_tell(v->g, "evolve", m->pos,
      tp_printf(&v->g->arena, "%s = %s", called_along(v, m, dim), said_form(v, f)));
}

/* a x + b y + {c0,+,c1} */
static const char *said_row(const evolve_work *v, const tp_system *s, int i) {
  tp_arena *a = &v->g->arena;
  const tp_form *f = &s->row[i];
  const char *y = "";
  for (int j = 0; j < s->n; j++) {
    if (!f->has[j]) continue;
    const char *by = f->by[j].node ? said(v, f->by[j]) : "", *of = tp_title(a, s->state[j]),
               *left = f->side[j] == 'r' ? of : by, *right = f->side[j] == 'r' ? by : of;
    y = tp_printf(a, "%s%s%s%s%s", y, *y ? " + " : "", left,
        f->side[j] ? " @ "
            : *by  ? " "
                   : "",
        right);
  }
  if (!f->n) return y;
  return tp_printf(a, "%s%s%s", y, *y ? " + " : "", f->n == 1 ? said(v, f->c[0]) : said_form(v, f));
}

/* x = {x0,+,(a-1) x0 + b,*,a}, or {x0,*,a}, or what it steps by and from. */
static void tell_system(evolve_work *v, const tp_node *m, const tp_sym *dim, const tp_system *s) {
  tp_arena *a = &v->g->arena;
  const tp_form *f = &s->row[0];
  const char *x0 = said(v, s->of[0].init), *by = f->by[0].node ? said(v, f->by[0]) : "1",
             *text = "";
  if (s->n == 1 && f->n == 0 && !s->matrix) text = tp_printf(a, " = {%s,*,%s}", x0, by);
  else if (s->n == 1 && f->n == 1 && !s->matrix)
    text = tp_printf(a, " = {%s,+,(%s - 1) %s + %s,*,%s}", x0, by, x0, said(v, f->c[0]), by);
  else
    for (int i = 0; i < s->n; i++)
      text = tp_printf(a, "%s%s %s' = %s from %s", text, i ? "," : ":", tp_title(a, s->state[i]),
          said_row(v, s, i), said(v, s->of[i].init));
  tp_tell(v->g, "evolve", m->pos, tp_printf(a, "%s%s", called_along(v, m, dim), text));
}

/* ---- a recurrence ---- */

static tp_val evolved(evolve_work *v, tp_evolving *e, tp_node *m, const char *cone) {
  bool few = needs_few(v, cone, e->dim);
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
  if (!r.node)
    tell_stays(v, m, e->dim,
        !few         ? "all its points are needed"
            : y->why ? y->why
                     : "no formula is known",
        few && y->why ? y->at : m->pos);
  return r;
}

/* {NULL}: it stays. */
static tp_val try_merge(evolve_work *v, tp_node *m) {
  for (int d = 0; d < m->ndom; d++)
    for (int back = 0; back < 2 && may_along(v, m->dom[d]); back++) {
      tp_evolving *e = course_along(v, m->dom[d], back);
      tp_course c;
      const char *cone = tp_course_of(e, m, &c) ? cone_of(v, m, c.step.node) : NULL;
      tp_val y = cone ? evolved(v, e, m, cone) : tp_none;
      if (y.node || v->err->code) return y;
    }
  return tp_none;
}

static void put_in_place(evolve_work *v, const tp_node *m, tp_val now) {
  if (now.node->id >= v->n0 && !now.node->name) now.node->name = m->name, now.node->what = m->what;
  tp_replace(v->g, tp_v((tp_node *)m), now);
}

/* All are looked for before one is put in place. */
static bool evolve_round(evolve_work *v, bool *changed) {
  tp_val *now = TP_NEWN(&v->g->arena, tp_val, v->n0 + 1);
  tp_graph_sccs(v->g, v->scc, NULL);
  for (int i = 0; i < v->n0; i++) v->size[v->scc[i]]++;
  for (int i = 0; i < v->n0; i++) {
    tp_node *m = v->g->nodes.v[i];
    if (v->size[v->scc[i]] > 1 && may_evolve(v, m)) now[i] = try_merge(v, m);
    if (v->err->code) return false;
    *changed |= now[i].node != NULL;
  }
  for (int i = 0; i < v->n0; i++)
    if (now[i].node) put_in_place(v, v->g->nodes.v[i], now[i]);
  return true;
}

bool tp_pass_evolve(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  int dims = 0;
  for (int i = 0; i < tp_nsym(g->ix); i++) dims += tp_sym_at(g->ix, i)->kind == TP_SYM_DIM;
  tp_arena *a = &g->arena;
  int n = g->nodes.n;
  evolve_work v = { .g = g,
    .need = *job->need,
    .precise = job->precise,
    .n0 = n,
    .scc = TP_NEWN(a, int, n),
    .size = TP_NEWN(a, int, n + 1),
    .course = TP_NEWN(a, tp_evolving, 2 * dims + 1),
    .err = err };
  if (!evolve_round(&v, &job->changed)) return false;
  if (job->changed) return true;
  g->nodes.n = v.n0; /* what was tried is in nobody's way */
  for (int i = 0; i < v.stays.n; i++)
    tp_tell(g, v.stays.v[i].pass, v.stays.v[i].pos, v.stays.v[i].text);
  return true;
}
