/* simulate: runs the loop tree at given bounds, symbolically. Each statement point must run exactly
 * once, each read must come after the writes of what it reads, and the slot that storage gives the
 * element must still hold it. Iterations of a loop marked independent make no element for one
 * another, and none together. */
#include "poly/poly.h"
#include <stdlib.h>

enum { SIM_DIM = 12 };

/* Sorted rows; the first `key` numbers are a statement's point, the others an element. */
typedef struct {
  int key, width, n, cap;
  int64_t *v;
} table;
/* same: another of which it is a copy */
typedef struct holder {
  int arr;
  int64_t elem[SIM_DIM];
  struct holder *same;
} holder;

typedef struct together { /* a loop marked independent that is being run */
  int64_t at;             /* its iteration */
  tp_hmap by;             /* (array, element) -> the iteration that made it */
  struct together *up;
} together;

typedef struct {
  const tp_poly *p;
  tp_arena a;
  int64_t *env;
  tp_error *err;
  table *points; /* by statement */
  bool **ran;
  table **touch; /* by statement and access */
  together *loops;
  tp_hmap *held;  /* by array: slot -> what lies there */
  holder *copied; /* what the statement at work copies */
  /* by array: element -> how many writes are still missing */
  tp_hmap *made;
} sim;

/* ---- tables ---- */

typedef struct {
  sim *s;
  table *t;
} filling;

static isl_stat add_row(isl_point *p, void *ud) {
  filling *f = ud;
  table *t = f->t;
  int64_t x[2 * SIM_DIM + 1];
  tp_isl_point(p, t->width, x);
  size_t size = sizeof(int64_t) * (size_t)(t->width ? t->width : 1);
  tp_vec_grow(&f->s->a, (void **)&t->v, t->n, &t->cap, size);
  memcpy((char *)t->v + size * (size_t)t->n, x, size);
  t->n++;
  return isl_stat_ok;
}

static const int64_t *table_row(const table *t, int i) {
  return t->v + (size_t)i * (size_t)(t->width ? t->width : 1);
}

static int by_row(const void *a, const void *b, void *width) {
  const int64_t *x = a, *y = b;
  for (int i = 0; i < *(int *)width; i++)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}

/* First row whose first `key` numbers are x or greater. */
static int lower(const table *t, const int64_t *x) {
  int lo = 0, hi = t->n;
  while (lo < hi) {
    int mid = (lo + hi) / 2, key = t->key;
    if (by_row(table_row(t, mid), x, &key) < 0) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

static bool starts(const table *t, int i, const int64_t *x) {
  return i < t->n && !memcmp(table_row(t, i), x, sizeof *x * (size_t)t->key);
}

static bool fill_table(sim *s, table *t, int key, int width, TP_TAKE isl_set *x) {
  *t = (table){ .key = key, .width = width };
  x = tp_isl_numbers(x, s->env);
  filling f = { s, t };
  bool ok = x && isl_set_foreach_point(x, add_row, &f) == isl_stat_ok;
  isl_set_free(x);
  if (t->n)
    qsort_r(t->v, (size_t)t->n, sizeof(int64_t) * (size_t)(width ? width : 1), by_row, &width);
  return ok;
}

/* ---- text ---- */

static const char *text(sim *s, const char *name, int n, const int64_t *x) {
  tp_buf b;
  tp_buf_init(&b);
  tp_puts(&b, name ? name : "?");
  for (int i = 0; i < n; i++) tp_putf(&b, "%s%lld", i ? ", " : "[", (long long)x[i]);
  if (n) tp_puts(&b, "]");
  return tp_buf_give(&s->a, &b);
}

static bool wrong(sim *s, const char *what, const char *a, const char *b) {
  return tp_fail(s->err, TP_E_CYCLE, TP_NOWHERE, "cycle: simulation: %s %s%s%s", what, a,
      b ? " by " : "", b ? b : "");
}

static bool too_large(sim *s, const char *name) {
  return tp_fail(
      s->err, TP_E_AFFINE, TP_NOWHERE, "affine: simulation: '%s' has too many points", name);
}

/* ---- storage ---- */

static bool tracked(const tp_arr *x) { return x->kind == TP_ARR_TEMP || x->kind == TP_ARR_OUTPUT; }

static bool slot_of(sim *s, const tp_arr *x, const int64_t *e, int64_t *slot) {
  for (int d = 0; d < x->ndim; d++) {
    int64_t w = tp_ix_evalq(x->width[d], s->env);
    if (w < 1) return wrong(s, "no slots for", text(s, x->name, x->ndim, e), NULL);
    slot[d] = ((e[d] % w) + w) % w;
  }
  return true;
}

static size_t elem_bytes(const tp_arr *x) { return sizeof(int64_t) * (size_t)x->ndim; }

/* No other iteration of the independent loops around has the element; this one has it if `made`. */
static bool apart(sim *s, const tp_arr *x, const int64_t *e, bool made, const char *who) {
  int64_t key[SIM_DIM + 1] = { x->id };
  memcpy(key + 1, e, elem_bytes(x));
  for (together *l = s->loops; l; l = l->up) {
    const int64_t *by = tp_hmap_get(&l->by, key, elem_bytes(x) + sizeof *key);
    if (by && *by != l->at)
      return wrong(
          s, "iterations of an independent loop meet in", text(s, x->name, x->ndim, e), who);
    if (made && !by)
      tp_hmap_set(&l->by, key, elem_bytes(x) + sizeof *key, tp_dup(&s->a, &l->at, sizeof l->at));
  }
  return true;
}

static tp_hmap *place_of(const sim *s, const tp_arr *x) {
  return &s->held[x->in ? x->in->id : x->id];
}

static holder *held_by(const sim *s, const tp_arr *x, const int64_t *slot) {
  return tp_hmap_get(place_of(s, x), slot, elem_bytes(x));
}

static holder *lies_there(const sim *s, const tp_arr *x, const int64_t *slot, const int64_t *e) {
  holder *h = held_by(s, x, slot);
  while (h && (h->arr != x->id || memcmp(h->elem, e, elem_bytes(x)))) h = h->same;
  return h;
}

/* A copy of what is there leaves that there, too. */
static void lay_there(sim *s, const tp_arr *x, const int64_t *slot, const int64_t *e) {
  holder *h = TP_NEW(&s->a, holder), *was = held_by(s, x, slot);
  *h = (holder){ .arr = x->id, .same = was && was == s->copied ? was : NULL };
  memcpy(h->elem, e, elem_bytes(x));
  tp_hmap_set(place_of(s, x), slot, elem_bytes(x), h);
}

static bool holds(sim *s, const tp_arr *x, const int64_t *e, const char *who, bool copied) {
  int64_t slot[SIM_DIM];
  if (!slot_of(s, x, e, slot) || !apart(s, x, e, false, who)) return false;
  intptr_t missing = (intptr_t)tp_hmap_get(&s->made[x->id], e, elem_bytes(x));
  if (missing != 1)
    return wrong(
        s, missing ? "read before it is made:" : "never made:", text(s, x->name, x->ndim, e), who);
  s->copied = copied ? held_by(s, x, slot) : NULL;
  return lies_there(s, x, slot, e) ||
      wrong(s, "overwritten before it is read:", text(s, x->name, x->ndim, e), who);
}

/* How often an element is written or updated in all, plus 1. */
static void expect(sim *s) {
  const tp_poly *p = s->p;
  for (int i = 0; i < p->stmts.n; i++)
    for (int a = 0; a < p->stmts.v[i]->nacc; a++) {
      const tp_access *acc = &p->stmts.v[i]->acc[a];
      const tp_arr *x = p->arrs.v[acc->arr];
      const table *t = &s->touch[i][a];
      if (acc->kind == TP_ACC_READ || !tracked(x)) continue;
      for (int r = 0; r < t->n; r++) {
        const int64_t *e = table_row(t, r) + t->key;
        intptr_t n = (intptr_t)tp_hmap_get(&s->made[acc->arr], e, elem_bytes(x));
        tp_hmap_set(&s->made[acc->arr], e, elem_bytes(x), (void *)((n ? n : 1) + 1));
      }
    }
}

static bool write_one(sim *s, const tp_access *acc, const int64_t *e, const char *who) {
  const tp_arr *x = s->p->arrs.v[acc->arr];
  int64_t slot[SIM_DIM];
  if (!slot_of(s, x, e, slot) || !apart(s, x, e, true, who)) return false;
  if (acc->kind == TP_ACC_UPDATE && !lies_there(s, x, slot, e))
    return wrong(s, "updated where it isn't:", text(s, x->name, x->ndim, e), who);
  lay_there(s, x, slot, e);
  intptr_t n = (intptr_t)tp_hmap_get(&s->made[x->id], e, elem_bytes(x));
  tp_hmap_set(&s->made[x->id], e, elem_bytes(x), (void *)(n - 1));
  return true;
}

/* ---- running ---- */

typedef enum { OPERANDS, ALIASED, RESULTS } phase;

static bool in_phase(const tp_access *a, phase f) {
  if (a->kind != TP_ACC_READ) return f == RESULTS;
  return a->alias ? f == ALIASED : f == OPERANDS;
}

static bool touch_all(sim *s, int st, const int64_t *x, phase f) {
  const tp_stmt *q = s->p->stmts.v[st];
  for (int a = 0; a < q->nacc; a++) {
    const tp_access *acc = &q->acc[a];
    const tp_arr *arr = s->p->arrs.v[acc->arr];
    const table *t = &s->touch[st][a];
    if (!tracked(arr) || !in_phase(acc, f)) continue;
    for (int i = lower(t, x); starts(t, i, x); i++) {
      const int64_t *e = table_row(t, i) + t->key;
      if (!(f == RESULTS ? write_one(s, acc, e, q->name)
                         : holds(s, arr, e, q->name, f == ALIASED && tp_is_copy(q))))
        return false;
    }
  }
  return true;
}

typedef struct {
  int n;
  int64_t *x;
} iterations;

static void cross(
    sim *s, const tp_stmt *q, const tp_tree *t, int64_t *x, int d, iterations *c, int *cap) {
  if (d == q->ndim) {
    size_t size = sizeof(int64_t) * SIM_DIM;
    tp_vec_grow(&s->a, (void **)&c->x, c->n, cap, size);
    memcpy((char *)c->x + size * (size_t)c->n++, x, size);
    return;
  }
  if (!(q->vec >> d & 1)) {
    cross(s, q, t, x, d + 1, c, cap);
    return;
  }
  const tp_ix *lo, *hi;
  tp_run_range(s->p->g->ix, q, t, d, &lo, &hi);
  for (int64_t v = tp_ix_evalq(lo, s->env), end = tp_ix_evalq(hi, s->env); v < end; v++) {
    x[d] = v;
    cross(s, q, t, x, d + 1, c, cap);
  }
}

static bool run_node(sim *s, const tp_tree *t) {
  const tp_stmt *q = s->p->stmts.v[t->stmt];
  int64_t x[SIM_DIM] = { 0 };
  iterations c = { 0 };
  int cap = 0;
  for (int d = 0; d < q->ndim; d++)
    if (!(q->vec >> d & 1)) x[d] = tp_ix_evalq(t->arg[d], s->env);
  cross(s, q, t, x, 0, &c, &cap);
  s->copied = NULL;
  const table *pts = &s->points[t->stmt];
  for (int i = 0; i < c.n; i++) {
    const int64_t *p = c.x + i * SIM_DIM;
    int r = lower(pts, p);
    if (!starts(pts, r, p))
      return wrong(s, "outside its domain:", text(s, q->name, q->ndim, p), NULL);
    if (s->ran[t->stmt][r]) return wrong(s, "run twice:", text(s, q->name, q->ndim, p), NULL);
    s->ran[t->stmt][r] = true;
  }
  for (int i = 0; i < c.n; i++)
    if (!touch_all(s, t->stmt, c.x + i * SIM_DIM, OPERANDS)) return false;
  for (int i = 0; i < c.n; i++)
    if (!touch_all(s, t->stmt, c.x + i * SIM_DIM, ALIASED) ||
        !touch_all(s, t->stmt, c.x + i * SIM_DIM, RESULTS))
      return false;
  for (int i = 0; i < c.n; i++) /* what may not be written over is still there */
    if (!touch_all(s, t->stmt, c.x + i * SIM_DIM, OPERANDS)) return false;
  return true;
}

static bool sim_tree(sim *s, const tp_tree *t) {
  switch (t->kind) {
  case TP_T_SEQ:
    for (int i = 0; i < t->n; i++)
      if (!sim_tree(s, t->kid[i])) return false;
    return true;
  case TP_T_IF:
    if (tp_ix_evalq(t->cond, s->env)) return sim_tree(s, t->kid[0]);
    return t->n < 2 || sim_tree(s, t->kid[1]);
  case TP_T_RUN: return run_node(s, t);
  case TP_T_FOR: break;
  }
  int64_t lo = tp_ix_evalq(t->lo, s->env), hi = tp_ix_evalq(t->hi, s->env);
  together here = { .up = s->loops };
  if (t->independent) {
    tp_hmap_init(&here.by, &s->a);
    s->loops = &here;
  }
  bool ok = true;
  for (int64_t v = t->step > 0 ? lo : hi - 1; ok && (t->step > 0 ? v < hi : v >= lo);
       v += t->step) {
    s->env[t->var->id] = here.at = v;
    ok = sim_tree(s, t->kid[0]);
  }
  s->loops = here.up;
  return ok;
}

static bool prepare(sim *s) {
  const tp_poly *p = s->p;
  s->points = TP_NEWN(&s->a, table, p->stmts.n);
  s->ran = TP_NEWN(&s->a, bool *, p->stmts.n);
  s->touch = TP_NEWN(&s->a, table *, p->stmts.n);
  s->held = TP_NEWN(&s->a, tp_hmap, p->arrs.n);
  s->made = TP_NEWN(&s->a, tp_hmap, p->arrs.n);
  for (int i = 0; i < p->arrs.n; i++) {
    tp_hmap_init(&s->held[i], &s->a);
    tp_hmap_init(&s->made[i], &s->a);
  }
  for (int i = 0; i < p->stmts.n; i++) {
    const tp_stmt *q = p->stmts.v[i];
    if (q->ndim > SIM_DIM || !fill_table(s, &s->points[i], q->ndim, q->ndim, isl_set_copy(q->dom)))
      return too_large(s, q->name);
    s->ran[i] = TP_NEWN(&s->a, bool, s->points[i].n);
    s->touch[i] = TP_NEWN(&s->a, table, q->nacc);
    for (int a = 0; a < q->nacc; a++) {
      int n = p->arrs.v[q->acc[a].arr]->ndim;
      if (n > SIM_DIM ||
          !fill_table(
              s, &s->touch[i][a], q->ndim, q->ndim + n, isl_map_wrap(isl_map_copy(q->acc[a].rel))))
        return too_large(s, q->name);
    }
  }
  expect(s);
  return true;
}

static bool all_made(sim *s) {
  for (int i = 0; i < s->p->stmts.n; i++)
    for (int r = 0; r < s->points[i].n; r++)
      if (!s->ran[i][r])
        return wrong(s, "never run:",
            text(s, s->p->stmts.v[i]->name, s->points[i].key, table_row(&s->points[i], r)), NULL);
  return true;
}

bool tp_poly_simulate(const tp_poly *p, const int64_t *env, tp_error *err) {
  sim s = { .p = p, .err = err };
  tp_scratch_init(&s.a);
  int n = tp_nsym(p->g->ix);
  s.env = TP_NEWN(&s.a, int64_t, n);
  for (int i = 0; i < n; i++)
    if (tp_sym_at(p->g->ix, i)->kind == TP_SYM_BOUND) s.env[i] = env[i];
  bool ok = prepare(&s) && sim_tree(&s, p->tree) && all_made(&s);
  tp_arena_free(&s.a);
  return ok;
}
