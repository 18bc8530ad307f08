/* simulate: runs the loop tree at given bounds, symbolically. Each statement point must run exactly
 * once, each read must come after the writes of what it reads, and the slot that storage gives the
 * element must still hold it. Iterations of a loop marked independent may not read each other's
 * elements, nor make one together. */
#include "poly/poly.h"

enum { SIM_DIM = 12 };

/* A point of a statement; for an access, with an element that it touches there. */
typedef struct sim_row {
  struct sim_row *same, *next; /* same: the next of the same point; next: of all */
  bool ran;
  int64_t x[2 * SIM_DIM];
} sim_row;
typedef struct {
  int key, width; /* how many numbers a point has; a sim_row */
  tp_hmap by;     /* point -> its sim_rows */
  sim_row *all;
} sim_rows;

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
  sim_rows *points; /* by statement */
  sim_rows **touch; /* by statement and access */
  together *loops;
  tp_hmap *held;  /* by array: slot -> what lies there */
  holder *copied; /* what the statement at work copies */
  tp_hmap *made;  /* by array: element -> how many writes are still missing, and 1 */
} sim;

/* ---- rows ---- */

typedef struct {
  sim *s;
  sim_rows *t;
} filling;

static sim_row *rows_of(const sim_rows *t, const int64_t *x) {
  return tp_hmap_get(&t->by, x, sizeof *x * (size_t)t->key);
}

static isl_stat add_row(isl_point *p, void *ud) {
  filling *f = ud;
  sim_row *r = TP_NEW(&f->s->a, sim_row);
  tp_isl_point(p, f->t->width, r->x);
  r->same = rows_of(f->t, r->x);
  r->next = f->t->all;
  f->t->all = r;
  tp_hmap_set(&f->t->by, r->x, sizeof *r->x * (size_t)f->t->key, r);
  return isl_stat_ok;
}

static bool fill(sim *s, sim_rows *t, const tp_stmt *q, int more, TP_TAKE isl_set *x) {
  *t = (sim_rows){ .key = q->ndim, .width = q->ndim + more };
  tp_hmap_init(&t->by, &s->a);
  x = tp_isl_numbers(x, s->env);
  bool ok = q->ndim <= SIM_DIM && more <= SIM_DIM && x &&
      isl_set_foreach_point(x, add_row, &(filling){ s, t }) == isl_stat_ok;
  isl_set_free(x);
  return ok ||
      tp_fail(
          s->err, TP_E_AFFINE, TP_NOWHERE, "affine: simulation: '%s' has too many points", q->name);
}

/* Reports what is wrong with an element of x, or a point of a statement, when `who` touches it. */
static bool wrong(
    sim *s, const char *what, const char *name, int n, const int64_t *x, const char *who) {
  tp_buf b;
  tp_buf_init(&b);
  tp_puts(&b, name ? name : "?");
  for (int i = 0; i < n; i++) tp_putf(&b, "%s%lld", i ? ", " : "[", (long long)x[i]);
  if (n) tp_puts(&b, "]");
  return tp_fail(s->err, TP_E_CYCLE, TP_NOWHERE, "cycle: simulation: %s %s%s%s", what,
      tp_buf_give(&s->a, &b), who ? " by " : "", who ? who : "");
}

/* ---- storage ---- */

static bool tracked(const tp_arr *x) { return x->kind == TP_ARR_TEMP || x->kind == TP_ARR_OUTPUT; }

static bool slot_of(sim *s, const tp_arr *x, const int64_t *e, int64_t *slot) {
  for (int d = 0; d < x->ndim; d++) {
    int64_t w = tp_ix_evalq(x->width[d], s->env);
    if (w < 1) return wrong(s, "no slots for", x->name, x->ndim, e, NULL);
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
      return wrong(s, "iterations of an independent loop meet in", x->name, x->ndim, e, who);
    if (made && !by)
      tp_hmap_set(&l->by, key, elem_bytes(x) + sizeof *key, tp_dup(&s->a, &l->at, sizeof l->at));
  }
  return true;
}

static holder *held_by(const sim *s, const tp_arr *x, const int64_t *slot) {
  return tp_hmap_get(&s->held[x->in ? x->in->id : x->id], slot, elem_bytes(x));
}

static holder *lies_there(const sim *s, const tp_arr *x, const int64_t *slot, const int64_t *e) {
  holder *h = held_by(s, x, slot);
  while (h && (h->arr != x->id || memcmp(h->elem, e, elem_bytes(x)))) h = h->same;
  return h;
}

static intptr_t missing(const sim *s, const tp_arr *x, const int64_t *e) {
  return (intptr_t)tp_hmap_get(&s->made[x->id], e, elem_bytes(x));
}

static void set_missing(sim *s, const tp_arr *x, const int64_t *e, intptr_t n) {
  tp_hmap_set(&s->made[x->id], e, elem_bytes(x), (void *)n);
}

static bool read_one(sim *s, const tp_arr *x, const int64_t *e, const tp_stmt *q, bool copied) {
  int64_t slot[SIM_DIM];
  if (!slot_of(s, x, e, slot) || !apart(s, x, e, false, q->name)) return false;
  intptr_t left = missing(s, x, e);
  if (left != 1)
    return wrong(s, left ? "read before it is made:" : "never made:", x->name, x->ndim, e, q->name);
  s->copied = copied ? held_by(s, x, slot) : NULL;
  return lies_there(s, x, slot, e) ||
      wrong(s, "overwritten before it is read:", x->name, x->ndim, e, q->name);
}

/* Writes an element; a copy of the slot's value leaves that there, too. */
static bool write_one(sim *s, const tp_arr *x, const int64_t *e, const tp_stmt *q, bool update) {
  int64_t slot[SIM_DIM];
  if (!slot_of(s, x, e, slot) || !apart(s, x, e, true, q->name)) return false;
  if (update && !lies_there(s, x, slot, e))
    return wrong(s, "updated where it isn't:", x->name, x->ndim, e, q->name);
  holder *h = TP_NEW(&s->a, holder), *was = held_by(s, x, slot);
  *h = (holder){ .arr = x->id, .same = was && was == s->copied ? was : NULL };
  memcpy(h->elem, e, elem_bytes(x));
  tp_hmap_set(&s->held[x->in ? x->in->id : x->id], slot, elem_bytes(x), h);
  set_missing(s, x, e, missing(s, x, e) - 1);
  return true;
}

/* ---- running ---- */

/* The phases of a call: operands that may not be written over must still be there after the
 * results. */
typedef enum { BEGIN, OPERANDS, RESULTS, OPERANDS_AGAIN, NPHASE } phase;

static bool touch(sim *s, int st, int a, const int64_t *x) {
  const tp_stmt *q = s->p->stmts.v[st];
  const tp_access *acc = &q->acc[a];
  const tp_arr *arr = s->p->arrs.v[acc->arr];
  bool ok = true;
  for (const sim_row *r = rows_of(&s->touch[st][a], x); r && ok; r = r->same) {
    const int64_t *e = r->x + q->ndim;
    ok = acc->kind == TP_ACC_READ ? read_one(s, arr, e, q, acc->alias && tp_is_copy(q))
                                  : write_one(s, arr, e, q, acc->kind == TP_ACC_UPDATE);
  }
  return ok;
}

static bool run_point(sim *s, int st, const int64_t *x, phase f) {
  const tp_stmt *q = s->p->stmts.v[st];
  sim_row *r = rows_of(&s->points[st], x);
  if (!r) return wrong(s, "outside its domain:", q->name, q->ndim, x, NULL);
  if (f == BEGIN && r->ran) return wrong(s, "run twice:", q->name, q->ndim, x, NULL);
  r->ran = true;
  for (int write = 0; write < 2 && f != BEGIN; write++)
    for (int a = 0; a < q->nacc; a++) {
      bool writes = q->acc[a].kind != TP_ACC_READ, late = writes || q->acc[a].alias;
      if (tracked(s->p->arrs.v[q->acc[a].arr]) && writes == write && late == (f == RESULTS) &&
          !touch(s, st, a, x))
        return false;
    }
  return true;
}

/* All points of a call, from dim d on. */
static bool run_points(sim *s, const tp_tree *t, int64_t *x, int d, phase f) {
  const tp_stmt *q = s->p->stmts.v[t->stmt];
  tp_ix *lo, *hi;
  bool ok = true;
  if (d == q->ndim) return run_point(s, t->stmt, x, f);
  if (!(q->vec >> d & 1)) {
    x[d] = tp_ix_evalq(t->arg[d], s->env);
    return run_points(s, t, x, d + 1, f);
  }
  tp_run_range(q, t, d, &lo, &hi);
  int64_t end = tp_ix_evalq(hi, s->env);
  for (x[d] = tp_ix_evalq(lo, s->env); x[d] < end && ok; x[d]++) ok = run_points(s, t, x, d + 1, f);
  return ok;
}

static bool sim_tree(sim *s, const tp_tree *t) {
  int64_t x[SIM_DIM];
  bool ok = true;
  switch (t->kind) {
  case TP_T_SEQ:
    for (int i = 0; i < t->n && ok; i++) ok = sim_tree(s, t->kid[i]);
    return ok;
  case TP_T_IF:
    if (tp_ix_evalq(t->cond, s->env)) return sim_tree(s, t->kid[0]);
    return t->n < 2 || sim_tree(s, t->kid[1]);
  case TP_T_RUN:
    s->copied = NULL;
    for (int f = 0; f < NPHASE && ok; f++) ok = run_points(s, t, x, 0, (phase)f);
    return ok;
  case TP_T_FOR: break;
  }
  int64_t lo = tp_ix_evalq(t->lo, s->env), hi = tp_ix_evalq(t->hi, s->env);
  together here = { .up = s->loops };
  if (t->independent) {
    tp_hmap_init(&here.by, &s->a);
    s->loops = &here;
  }
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
  s->points = TP_NEWN(&s->a, sim_rows, p->stmts.n);
  s->touch = TP_NEWN(&s->a, sim_rows *, p->stmts.n);
  s->held = TP_NEWN(&s->a, tp_hmap, p->arrs.n);
  s->made = TP_NEWN(&s->a, tp_hmap, p->arrs.n);
  for (int i = 0; i < p->arrs.n; i++) {
    tp_hmap_init(&s->held[i], &s->a);
    tp_hmap_init(&s->made[i], &s->a);
  }
  for (int i = 0; i < p->stmts.n; i++) {
    const tp_stmt *q = p->stmts.v[i];
    if (!fill(s, &s->points[i], q, 0, isl_set_copy(q->dom))) return false;
    s->touch[i] = TP_NEWN(&s->a, sim_rows, q->nacc);
    for (int a = 0; a < q->nacc; a++) {
      const tp_arr *x = p->arrs.v[q->acc[a].arr];
      if (!fill(s, &s->touch[i][a], q, x->ndim, isl_map_wrap(isl_map_copy(q->acc[a].rel))))
        return false;
      for (const sim_row *r = s->touch[i][a].all; r && q->acc[a].kind != TP_ACC_READ; r = r->next) {
        intptr_t n = missing(s, x, r->x + q->ndim);
        set_missing(s, x, r->x + q->ndim, (n ? n : 1) + 1);
      }
    }
  }
  return true;
}

static bool all_made(sim *s) {
  for (int i = 0; i < s->p->stmts.n; i++)
    for (const sim_row *r = s->points[i].all; r; r = r->next)
      if (!r->ran)
        return wrong(s, "never run:", s->p->stmts.v[i]->name, s->points[i].key, r->x, NULL);
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
