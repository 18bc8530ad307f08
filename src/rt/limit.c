/* limit: chooses the plan that runs under a limit of memory.
 *
 * A plan keeps less for shorter blocks of rows, so the program is ordered again with blocks of
 * fewer rows before buffers go to a file, or, of a device, to the host's memory. The length of
 * blocks is part of an order, but only bounds tell what fits: a plan is made when bounds first need
 * it, and kept. */
#include "rt/fn.h"

/* The same function with blocks of at most `rows` rows and no matrix kept twice, or NULL where it
 * has no order. */
static tp_fn *made_shorter(tp_fn *f, int64_t rows) {
  tp_error none = { 0 };
  tp_fn *g = tp_calloc(sizeof *g);
  if (!g) return NULL;
  tp_fn_as(g, f);
  g->rows = rows;
  g->opt.on[TP_PASS_TURN] = false;
  return tp_pipeline(g, &none) ? g : tp_fn_free(g);
}

/* The k-th length of blocks that is tried. */
static int64_t rows_of(const tp_fn *f, int k) {
  int64_t most = 1;
  for (int i = 0; i < f->poly->stmts.n; i++) most = TP_MAX(most, f->poly->stmts.v[i]->block);
  return TP_MAX(most >> TP_TUNE_BLOCK_SHRINKS * (k + 1), 1);
}

static tp_fn *shorter(tp_fn *f, int k) {
  if (!f->asked[k]) f->shorter[k] = made_shorter(f, rows_of(f, k));
  f->asked[k] = true;
  tp_hold_loaded(f);
  return f->shorter[k];
}

typedef enum { NOT_AT_ALL, WITH_A_FILE, IN_MEMORY } fitting;

static void look_where(void *ud, const tp_places *p) { *(tp_places *)ud = *p; }

static fitting fits(tp_fn *f, int64_t held, const int64_t *given) {
  tp_places p = { .total = INT64_MAX };
  int64_t *env = tp_full_env(f, given);
  if (env) tp_exec_places(f->exec, env, look_where, &p);
  tp_free(env);
  int64_t limit = f->limit - held;
  return p.total > limit ? NOT_AT_ALL : p.total > p.arena ? WITH_A_FILE : IN_MEMORY;
}

/* Takes the longest blocks with which all buffers are in memory. If even the shortest do not
 * suffice, some go to a file: with f's own blocks or, if only they keep to the limit, with the
 * shortest. */
tp_fn *tp_fn_within(tp_fn *f, const int64_t *given) {
  if (f->limit <= 0 || f->limit == TP_SPILL_ALL || f->ticking || !f->exec ||
      tp_fn_is_endless(f, given))
    return f;
  int64_t held = tp_loaded_bytes(f);
  fitting own = fits(f, held, given);
  tp_error none = { 0 };
  int last = 0;
  if (own == IN_MEMORY || !tp_fn_whole(f, &none)) return f;
  while (rows_of(f, last) > 1 && last + 1 < TP_MAXSHORTER) last++;
  tp_fn *least = shorter(f, last);
  if (!least || fits(least, held, given) != IN_MEMORY)
    return least && own == NOT_AT_ALL && !f->backend->device ? least : f;
  for (int k = 0; k < last; k++)
    if (shorter(f, k) && fits(f->shorter[k], held, given) == IN_MEMORY) return f->shorter[k];
  return least;
}
