/* evolve: a recurrence of which few points are needed is a formula of how many steps lie before a
 * point.
 *
 *   x[0] = a, x[t] = x[t-1] + b   =>   x[t] = a + t b, at every point of x
 *
 * so only the needed points cost work. chrec.c finds the form of a step; closed_form.c and
 * binary_power.c have the formulas and their errors. The pass takes a recurrence if the operators
 * outside of it read few of its points along the dim, and takes integers that grow by the same
 * number at each step always, as then no point waits for another. One recurrence may feed the next,
 * so the pass repeats until nothing changes. It leaves alone dims that end by data, bools and
 * halves (whose rounding at each step is seen), and floats where `precise` asks for the order in
 * which sums are written. Explain "evolution" says why others stay. */
#include "opt/chrec/evolve.h"

enum { FEW_POINTS = 4 }; /* single points that a reader may need */

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

/* ---- readers of the recurrence ---- */

/* By node id: the step depends on the node and the node on m, the recurrence; NULL: m does not step
 * from itself. */
static const bool *cone_of(const evolve_work *v, const tp_node *m, const tp_node *step) {
  bool *cone = TP_NEWN(&v->g->arena, bool, v->n0);
  TP_VEC(const tp_node *) left = { 0 };
  TP_PUSH(&v->g->arena, &left, step);
  while (left.n) {
    const tp_node *n = left.v[--left.n];
    if (n->id >= v->n0 || v->scc[n->id] != v->scc[m->id] || cone[n->id]) continue;
    cone[n->id] = true;
    for (int k = 0; n != m && k < n->nin; k++) TP_PUSH(&v->g->arena, &left, tp_in(n, k));
  }
  return cone[m->id] ? cone : NULL;
}

static bool reads_few(const evolve_work *v, const tp_node *n, int k, tp_sym *dim) {
  const tp_node *x = tp_in(n, k);
  int at = tp_dim_at(x, dim);
  if (at < 0) return true;
  tp_set *s = tp_set_apply(tp_set_copy(v->need->set[n->id]), tp_edge_rel(v->g, n, k));
  s = tp_set_and(s, tp_set_box(v->g->ix, x->ndom, x->dom));
  bool few = s && tp_set_few(v->g->ix, s, at, FEW_POINTS);
  tp_set_free(s);
  return few;
}

static void mark_shown(void *shown, tp_val *v) { ((bool *)shown)[v->node->id] = true; }

/* Do the nodes outside of the cone need few points of m? */
static bool needs_few(const evolve_work *v, const bool *cone, tp_sym *dim) {
  tp_graph *g = v->g;
  bool *shown = TP_NEWN(&g->arena, bool, g->nodes.n);
  tp_each_root(g, mark_shown, shown);
  for (int i = 0; i < g->stops.n; i++)
    if (g->stops.v[i].end) shown[g->stops.v[i].end->id] = true;
  for (int i = 0; i < v->n0; i++) {
    const tp_node *n = g->nodes.v[i];
    if (cone[i] && (n->op == TP_OP_CALL || (shown[i] && tp_has_dim(n, dim)))) return false;
    for (int k = 0; !cone[i] && k < n->nin; k++)
      if (cone[tp_in(n, k)->id] && !reads_few(v, n, k, dim)) return false;
  }
  return true;
}

/* ---- one recurrence ---- */

static bool may_evolve(const evolve_work *v, const tp_node *m) {
  tp_dtype d = m->out[0].dtype;
  return m->op == TP_OP_MERGE && m->nin >= 2 && m->ndom && !tp_is_kept(v->g, m) &&
      (tp_dtype_float(d) ? !v->precise && tp_dtype_size(d) >= 4 : d != TP_BOOL);
}

static bool may_along(const evolve_work *v, tp_sym *d) {
  return d->bound && !d->bound->digits && !tp_stop_of(v->g, d);
}

static tp_evolving *course_along(evolve_work *v, tp_sym *dim, bool back) {
  for (int i = 0; i < v->ncourse; i++)
    if (v->course[i].dim == dim && v->course[i].back == back) return &v->course[i];
  tp_evolving *e = &v->course[v->ncourse++];
  *e = (tp_evolving){ .mk = { .g = v->g, .err = v->err },
    .dim = dim,
    .back = back,
    .n0 = v->n0,
    .scc = v->scc,
    .in = -1,
    .known = TP_NEWN(&v->g->arena, tp_solution, v->n0) };
  return e;
}

/* ---- texts ---- */

static bool is_seen_through(const tp_node *n) {
  return n->op == TP_OP_EXPAND || n->op == TP_OP_RESHAPE || n->op == TP_OP_CAST ||
      n->op == TP_OP_PERMUTE;
}

static bool said_number(tp_val v, double *c) {
  const tp_node *n = v.node;
  double a, b = 0;
  int64_t k;
  if (n->op == TP_OP_FILL) return *c = n->attr.f[0], true;
  if (n->op == TP_OP_VALUE) return tp_ix_is_const(n->attr.ix[0], &k) && (*c = (double)k, true);
  if (is_seen_through(n)) return said_number(n->in[0].src, c);
  bool add = n->op == TP_OP_ADD, sub = n->op == TP_OP_SUB, neg = n->op == TP_OP_NEG;
  if ((!add && !sub && !neg && n->op != TP_OP_MUL) || !said_number(n->in[0].src, &a) ||
      (!neg && !said_number(n->in[1].src, &b)))
    return false;
  return *c = add ? a + b : sub ? a - b : neg ? -a : a * b, true;
}

enum { SAID_DEPTH = 4 };

/* x in words: "2 b", "a + 3", "slice@net.lua:7". */
static const char *said_value(const evolve_work *v, tp_val x, int depth) {
  tp_arena *a = &v->g->arena;
  double c;
  while (!x.node->name && is_seen_through(x.node)) x = x.node->in[0].src;
  if (said_number(x, &c)) return tp_printf(a, "%.9g", c);
  const tp_node *n = x.node;
  if (n->op == TP_OP_VALUE) return tp_ix_str(n->attr.ix[0]);
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

/* a x + b y + {c0,+,c1} */
static const char *said_row(const evolve_work *v, const tp_system *s, int i) {
  tp_arena *a = &v->g->arena;
  const tp_form *f = &s->row[i];
  const char *y = "";
  for (int j = 0; j < s->n; j++) {
    if (!f->has[j]) continue;
    const char *by = f->by[j].node ? said(v, f->by[j]) : "", *of = tp_title(a, s->state[j]);
    bool right = f->side == 'r';
    y = tp_printf(a, "%s%s%s%s%s", y, *y ? " + " : "", right ? of : by,
        f->side   ? " @ "
            : *by ? " "
                  : "",
        right ? by : of);
  }
  if (!f->n) return y;
  return tp_printf(a, "%s%s%s", y, *y ? " + " : "", f->n == 1 ? said(v, f->c[0]) : said_form(v, f));
}

/* `who`: x' = a x + b from x0 */
static const char *said_system(const evolve_work *v, const char *who, const tp_system *s) {
  tp_arena *a = &v->g->arena;
  for (int i = 0; i < s->n; i++)
    who = tp_printf(a, "%s%s %s' = %s from %s", who, i ? "," : ":", tp_title(a, s->state[i]),
        said_row(v, s, i), said(v, s->of[i].init));
  return who;
}

/* ---- a recurrence ---- */

static tp_val evolved(evolve_work *v, tp_evolving *e, tp_node *m, const bool *cone) {
  tp_arena *a = &v->g->arena;
  bool few = needs_few(v, cone, e->dim);
  v->g->pos = m->pos;
  const tp_solution *y = few || !tp_dtype_float(m->out[0].dtype) ? tp_evolution_of(e, m) : NULL;
  const char *who = tp_printf(a, "%s along %s", tp_title(a, m), e->dim->name);
  tp_val r = tp_none;
  if (y && y->is == SOLVE_FORM && (few || y->form.n <= 2)) {
    r = tp_evolved_form(e, m, &y->form);
    if (r.node)
      tp_tell(v->g, "evolve", m->pos, tp_printf(a, "%s = %s", who, said_form(v, &y->form)));
  } else if (few && y->is == SOLVE_SYSTEM) {
    r = tp_evolved_system(e, m, y->sys);
    if (r.node) tp_tell(v->g, "evolve", m->pos, said_system(v, who, y->sys));
  }
  if (r.node) return r;
  const char *why = !few ? "all its points are needed" : y->why ? y->why : "no formula is known";
  bool elsewhere = few && y->why && y->at.file && y->at.line != m->pos.line;
  who = tp_printf(a, "%s goes step by step: %s", who, why);
  if (elsewhere) who = tp_printf(a, "%s (line %d)", who, y->at.line);
  TP_PUSH(a, &v->stays, (tp_told){ "evolve", m->pos, who });
  return r;
}

/* Looks for the formula of m; the caller puts formulas in place when all are found. */
static bool try_merge(evolve_work *v, tp_node *m, tp_val *now) {
  for (int d = 0; d < m->ndom; d++)
    for (int back = 0; back < 2 && may_along(v, m->dom[d]); back++) {
      tp_evolving *e = course_along(v, m->dom[d], back);
      tp_course c;
      const bool *cone = tp_course_of(e, m, &c) ? cone_of(v, m, c.step.node) : NULL;
      if (cone) *now = evolved(v, e, m, cone);
      if (now->node || v->err->code) return !v->err->code;
    }
  return true;
}

bool tp_pass_evolve(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  tp_arena *a = &g->arena;
  int n = g->nodes.n;
  tp_val *now = TP_NEWN(a, tp_val, n + 1);
  evolve_work v = { .g = g,
    .need = *job->need,
    .precise = job->precise,
    .n0 = n,
    .scc = TP_NEWN(a, int, n),
    .size = TP_NEWN(a, int, n + 1),
    .course = TP_NEWN(a, tp_evolving, 2 * tp_nsym(g->ix) + 1),
    .err = err };
  tp_graph_sccs(g, v.scc, NULL);
  for (int i = 0; i < n; i++) v.size[v.scc[i]]++;
  for (int i = 0; i < n; i++) {
    tp_node *m = g->nodes.v[i];
    if (v.size[v.scc[i]] > 1 && may_evolve(&v, m) && !try_merge(&v, m, &now[i])) return false;
    job->changed |= now[i].node != NULL;
  }
  for (int i = 0; i < n; i++) {
    tp_node *m = g->nodes.v[i], *y = now[i].node;
    if (!y) continue;
    if (y->id >= n && !y->name) tp_name_as(y, m);
    tp_replace(g, tp_v(m), now[i]);
  }
  if (job->changed) return true;
  g->nodes.n = n; /* without what was tried */
  for (int i = 0; i < v.stays.n; i++)
    tp_tell(g, v.stays.v[i].pass, v.stays.v[i].pos, v.stays.v[i].text);
  return true;
}
