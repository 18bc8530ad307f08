/* witness: finds a cycle of points when no order exists. The dependences among the statements at
 * fault are enumerated at small bounds, and the shortest cycle is told in the script's names: 'h'
 * at t = 1 needs itself: h[t] <- g[t + 1] <- h[t]. */
#include "poly/sched.h"
#include <stdlib.h>

enum { MAXDIM = 8 };

typedef struct {
  int st;
  int64_t x[MAXDIM];
} point;
typedef struct {
  TP_VEC(point) v;
  TP_VEC(int) from, to;
  tp_hmap at;
  const tp_sched *S;
  int src, dst;
  bool full;
} world;

static int number(world *w, int st, const int64_t *x) {
  point p;
  memset(&p, 0, sizeof p);
  p.st = st;
  for (int d = 0; d < w->S->p->stmts.v[st]->ndim; d++) p.x[d] = x[d];
  intptr_t i = (intptr_t)tp_hmap_get(&w->at, &p, sizeof p);
  if (i) return (int)i - 1;
  TP_PUSH(w->S->a, &w->v, p);
  tp_hmap_set(&w->at, &p, sizeof p, (void *)(intptr_t)w->v.n);
  return w->v.n - 1;
}

static isl_stat add_pair(isl_point *p, void *ud) {
  world *w = ud;
  int64_t x[2 * MAXDIM];
  int na = w->S->p->stmts.v[w->src]->ndim, nb = w->S->p->stmts.v[w->dst]->ndim;
  tp_isl_point(p, na + nb, x);
  int a = number(w, w->src, x), b = number(w, w->dst, x + na);
  TP_PUSH(w->S->a, &w->from, b); /* b needs a */
  TP_PUSH(w->S->a, &w->to, a);
  w->full |= w->from.n > TP_TUNE_WITNESS_POINTS;
  return w->full ? isl_stat_error : isl_stat_ok;
}

static void enumerate(tp_sched *S, world *w, const tp_scc *c, const int64_t *env) {
  *w = (world){ .S = S };
  tp_hmap_init(&w->at, S->a);
  bool *in = TP_NEWN(S->a, bool, S->p->stmts.n);
  for (int i = 0; i < c->n; i++) in[c->st[i]] = true;
  for (int e = 0; e < S->deps.n && !w->full; e++) {
    const tp_dep *d = &S->deps.v[e];
    if (d->soft || !in[d->src] || !in[d->dst] || S->p->stmts.v[d->src]->ndim > MAXDIM ||
        S->p->stmts.v[d->dst]->ndim > MAXDIM)
      continue;
    w->src = d->src;
    w->dst = d->dst;
    isl_set *plain = tp_isl_numbers(isl_map_wrap(isl_map_copy(d->map)), env);
    isl_set_foreach_point(plain, add_pair, w);
    isl_set_free(plain);
  }
}

/* Shortest way from point `s` back to itself; way[0] = s, ...; its length, 0: none below `limit`.
 */
static int circle(const world *w, const int *head, const int *next, int s, int limit, int *way,
    int *back, int *queue) {
  int n = w->v.n, at = 0, end = 0;
  for (int i = 0; i < n; i++) back[i] = -1;
  queue[end++] = s;
  while (at < end) {
    int u = queue[at++];
    for (int e = head[u]; e >= 0; e = next[e]) {
      int v = w->to.v[e];
      if (v == s) {
        int len = 1;
        for (int q = u; q != s; q = back[q]) len++;
        if (len >= limit) return 0;
        for (int q = u, k = len - 1; k >= 0; q = k ? back[q] : q, k--) way[k] = q;
        return len;
      }
      if (back[v] < 0 && v != s) {
        back[v] = u;
        queue[end++] = v;
      }
    }
  }
  return 0;
}

static int shortest(const world *w, int **best) {
  tp_arena *a = w->S->a;
  int n = w->v.n, len = n + 1, found = 0;
  int *head = TP_NEWN(a, int, n), *next = TP_NEWN(a, int, w->from.n), *back = TP_NEWN(a, int, n),
      *queue = TP_NEWN(a, int, n + 1), *way = TP_NEWN(a, int, n + 1);
  *best = TP_NEWN(a, int, n + 1);
  for (int i = 0; i < n; i++) head[i] = -1;
  for (int e = 0; e < w->from.n; e++) {
    next[e] = head[w->from.v[e]];
    head[w->from.v[e]] = e;
  }
  for (int s = 0; s < n && len > 1; s++) {
    int k = circle(w, head, next, s, len, way, back, queue);
    if (!k) continue;
    len = found = k;
    memcpy(*best, way, sizeof(int) * (size_t)k);
  }
  return found;
}

/* ---- text ---- */

static bool own(const tp_stmt *s, int d) { return s->dim[d] == s->label[d]; }

static const tp_stmt *stmt_at(const world *w, int point) {
  return w->S->p->stmts.v[w->v.v[point].st];
}

/* s->of is NULL only in tests */
static bool is_named(const tp_stmt *s) { return !s->of || tp_own_name(s->of); }

static const char *stmt_name(const tp_stmt *s) { return s->of ? tp_own_name(s->of) : s->name; }

static const char *stmt_called(tp_sched *S, const tp_stmt *s) {
  return s->of ? tp_called(S->p->g, s->of) : tp_printf(S->a, "'%s'", s->name);
}

/* Does the message tell statement i? One without a name stands for its line: once for neighbours,
 * never for the line of the error. */
static bool is_told(const world *w, const int *way, int i) {
  const tp_stmt *s = stmt_at(w, way[i]), *before = i ? stmt_at(w, way[i - 1]) : NULL;
  if (!i || is_named(s)) return true;
  return s->pos.file && (s->pos.line != stmt_at(w, way[0])->pos.line) &&
      (is_named(before) || before->pos.line != s->pos.line);
}

static void put_point(tp_buf *b, const world *w, const point *p, const point *first) {
  const tp_stmt *s = w->S->p->stmts.v[p->st], *f = w->S->p->stmts.v[first->st];
  bool any = false;
  if (!is_named(s)) {
    tp_putf(b, p == first ? "it" : "(%s:%d)", s->pos.file, s->pos.line);
    return;
  }
  tp_puts(b, stmt_name(s));
  for (int d = 0; d < s->ndim; d++) {
    if (!own(s, d)) continue;
    tp_puts(b, any ? ", " : "[");
    any = true;
    int e = 0;
    while (e < f->ndim && f->dim[e] != s->dim[d]) e++;
    int64_t by = e < f->ndim ? p->x[d] - first->x[e] : 0;
    if (e == f->ndim) tp_putf(b, "%lld", (long long)p->x[d]);
    else if (!by) tp_puts(b, s->dim[d]->name);
    else
      tp_putf(b, "%s %c %lld", s->dim[d]->name, by > 0 ? '+' : '-', (long long)(by > 0 ? by : -by));
  }
  if (any) tp_puts(b, "]");
}

/* Turns the circle so that it begins at a statement with a name, if there is one. */
static void turn(const world *w, int n, int *way) {
  int k = 0;
  while (k < n && !is_named(stmt_at(w, way[k]))) k++;
  for (; k > 0 && k < n; k--) {
    int first = way[0];
    memmove(way, way + 1, sizeof *way * (size_t)(n - 1));
    way[n - 1] = first;
  }
}

static void note_cure(tp_error *err, const tp_stmt *s) {
  const char *name = is_named(s) ? stmt_name(s) : "x";
  for (int d = 0; d < s->ndim; d++)
    if (own(s, d)) {
      tp_note(err,
          s->of && s->of->ndom > 1 ? "a point is made from points before it: read an earlier one, "
                                     "as in %s[{%s = %s - 1}], or end the range before it"
                                   : "a point is made from points before it: read an earlier one, "
                                     "as in %s[%.0s%s - 1], or end the range before it",
          name, s->dim[d]->name, s->dim[d]->name);
      return;
    }
}

static bool note_end(const world *w, const tp_stmt *s) {
  const tp_graph *g = w->S->p->g;
  bool any = false;
  for (int i = 0; i < g->stops.n; i++)
    if (s->kind == TP_ST_ACC && g->stops.v[i].end == s->into) {
      any = true;
      tp_note(w->S->err,
          "'%s' ends by data: what decides that cannot read %s, or what waits for it, at its own "
          "point",
          g->stops.v[i].dim->name, g->stops.v[i].dim->bound->name);
    }
  return any;
}

static void tell(const world *w, int n, int *way) {
  turn(w, n, way);
  const point *first = &w->v.v[way[0]];
  const tp_stmt *s = w->S->p->stmts.v[first->st];
  tp_buf b;
  tp_buf_init(&b);
  tp_putf(&b, "cycle: %s", stmt_called((tp_sched *)w->S, s));
  for (int d = 0, any = 0; d < s->ndim; d++)
    if (own(s, d))
      tp_putf(&b, "%s %s = %lld", any++ ? "," : " at", s->dim[d]->name, (long long)first->x[d]);
  tp_puts(&b, " needs itself: ");
  for (int i = 0; i < n && i < 12; i++) {
    if (!is_told(w, way, i)) continue;
    put_point(&b, w, &w->v.v[way[i]], first);
    tp_puts(&b, " <- ");
  }
  if (n > 12) tp_puts(&b, "... <- ");
  put_point(&b, w, first, first);
  tp_fail(w->S->err, TP_E_CYCLE, s->pos, "%s", b.s);
  for (int i = 1; i < n && i < 12; i++) {
    const tp_stmt *o = stmt_at(w, way[i]);
    if (o->pos.file && is_named(o) && strcmp(o->name, s->name))
      tp_note(w->S->err, "'%s' is made at %s:%d", o->name, o->pos.file, o->pos.line);
  }
  bool ends = false;
  for (int i = 0; i < n; i++) ends |= note_end(w, w->S->p->stmts.v[w->v.v[way[i]].st]);
  if (!ends) note_cure(w->S->err, s);
  tp_buf_free(&b);
}

static bool cycle_at(tp_sched *S, const tp_scc *c, const int64_t *env) {
  world w;
  int *way;
  enumerate(S, &w, c, env);
  int n = w.v.n ? shortest(&w, &way) : 0;
  if (n) tell(&w, n, way);
  return n > 0;
}

static void set_bounds(tp_sched *S, int64_t *env, int dims, int rest) {
  for (int i = 0; i < tp_nsym(S->ix); i++) env[i] = tp_sym_at(S->ix, i)->dim ? dims : rest;
}

bool tp_cycle(tp_sched *S, const tp_scc *c) {
  int n = tp_nsym(S->ix);
  int64_t *env = TP_NEWN(S->a, int64_t, n);
  for (int k = 1; k <= TP_TUNE_WITNESS_BOUND; k++)
    for (int rest = 1; rest <= k; rest += TP_MAX(1, k - 1)) {
      set_bounds(S, env, k, rest);
      if (cycle_at(S, c, env)) return true;
    }
  for (int i = 0; i < n; i++) /* one bound differs from the others */
    for (int k = 1; k <= TP_TUNE_WITNESS_BOUND && tp_sym_at(S->ix, i)->kind == TP_SYM_BOUND; k += 2)
      for (int v = 0; v <= TP_TUNE_WITNESS_BOUND; v++) {
        set_bounds(S, env, k, k);
        env[i] = v;
        if (v != k && cycle_at(S, c, env)) return true;
      }
  return false;
}

void tp_no_order(tp_sched *S, const tp_scc *c) {
  const tp_stmt *s = S->p->stmts.v[c->st[0]];
  tp_fail(S->err, TP_E_CYCLE, s->pos,
      "cycle: no order of loops was found in which %s%s%s%s is made before it is read",
      stmt_called(S, s), c->n > 1 ? " (with " : "",
      c->n > 1 ? stmt_called(S, S->p->stmts.v[c->st[1]]) : "",
      c->n > 1 ? " and what they need)" : "");
  tp_tell_unknown(S->p, S->err);
}
