/* eval: values of expressions. evalq, the plan interpreter's inner loop, wraps around and checks
 * nothing; eval is the range of one point, computed in 128 bits and saturated. */
#include "index/priv.h"

static int64_t quick_poly(tp_ix *e, const int64_t *env) {
  uint64_t sum = (uint64_t)e->cst;
  for (const tp_term *t = e->term, *end = t + e->nterm; t < end; t++) {
    uint64_t v = (uint64_t)t->coef;
    for (int k = 0; k < t->m->n; k++) {
      tp_ix *a = t->m->atom[k];
      v *= (uint64_t)(a->sym ? env[a->sym->id] : tp_ix_evalq(a, env));
    }
    sum += v;
  }
  return (int64_t)sum;
}

static int64_t quick_extremum(tp_ix *e, const int64_t *env) {
  int64_t best = tp_ix_evalq(e->arg[0], env);
  for (int i = 1; i < e->narg; i++) {
    int64_t v = tp_ix_evalq(e->arg[i], env);
    if (e->kind == TP_IX_MIN ? v < best : v > best) best = v;
  }
  return best;
}

static bool quick_all(tp_ix *e, const int64_t *env, bool want) {
  for (int i = 0; i < e->narg; i++)
    if ((tp_ix_evalq(e->arg[i], env) != 0) != want) return false;
  return true;
}

int64_t tp_ix_evalq(tp_ix *e, const int64_t *env) {
  switch (e->kind) {
  case TP_IX_SYM: return env[e->sym->id];
  case TP_IX_POLY: return quick_poly(e, env);
  case TP_IX_MIN:
  case TP_IX_MAX: return quick_extremum(e, env);
  case TP_IX_FDIV: return tp_floordiv(tp_ix_evalq(e->arg[0], env), e->div);
  case TP_IX_MOD: return tp_floormod(tp_ix_evalq(e->arg[0], env), e->div);
  case TP_IX_TRUE: return 1;
  case TP_IX_FALSE: return 0;
  case TP_IX_GE0: return tp_ix_evalq(e->arg[0], env) >= 0;
  case TP_IX_EQ0: return tp_ix_evalq(e->arg[0], env) == 0;
  case TP_IX_AND: return quick_all(e, env, true);
  case TP_IX_OR: return !quick_all(e, env, false);
  case TP_IX_NOT: return !tp_ix_evalq(e->arg[0], env);
  }
  return 0;
}

__extension__ typedef __int128 wide;

typedef struct {
  int64_t lo, hi;
} ix_range;

/* bounds of values, by symbol id; cut: some number was beyond 64 bits */
typedef struct {
  const int64_t *lo, *hi;
  bool cut;
} value_box;

static int64_t saturate(value_box *x, wide v) {
  if (v >= INT64_MIN && v <= INT64_MAX) return (int64_t)v;
  x->cut = true;
  return v < 0 ? INT64_MIN : INT64_MAX;
}

static ix_range product(value_box *x, ix_range a, ix_range b) {
  wide lo = (wide)a.lo * b.lo, hi = lo,
       v[] = { (wide)a.lo * b.hi, (wide)a.hi * b.lo, (wide)a.hi * b.hi };
  for (int i = 0; i < 3; i++) {
    lo = TP_MIN(lo, v[i]);
    hi = TP_MAX(hi, v[i]);
  }
  return (ix_range){ saturate(x, lo), saturate(x, hi) };
}

static ix_range range_of(value_box *x, tp_ix *e);

/* Sums are exact in 128 bits; a product is cut to 64 bits before its coefficient joins it. */
static ix_range range_poly(value_box *x, tp_ix *e) {
  wide least = e->cst, most = e->cst;
  for (int i = 0; i < e->nterm; i++) {
    const tp_mono *m = e->term[i].m;
    ix_range r = range_of(x, m->atom[0]);
    for (int k = 1; k < m->n; k++) r = product(x, r, range_of(x, m->atom[k]));
    wide c = e->term[i].coef;
    least += c * (c < 0 ? r.hi : r.lo);
    most += c * (c < 0 ? r.lo : r.hi);
  }
  return (ix_range){ saturate(x, least), saturate(x, most) };
}

/* the range of a min or max, and likewise of `and`, `or` */
static ix_range range_extremum(value_box *x, tp_ix *e) {
  bool min = e->kind == TP_IX_MIN || e->kind == TP_IX_AND;
  ix_range best = range_of(x, e->arg[0]);
  for (int i = 1; i < e->narg; i++) {
    ix_range r = range_of(x, e->arg[i]);
    best.lo = min ? TP_MIN(best.lo, r.lo) : TP_MAX(best.lo, r.lo);
    best.hi = min ? TP_MIN(best.hi, r.hi) : TP_MAX(best.hi, r.hi);
  }
  return best;
}

static ix_range range_sym(const value_box *x, tp_sym *s) {
  if (x->hi || s->kind != TP_SYM_DIM)
    return (ix_range){ x->lo[s->id], (x->hi ? x->hi : x->lo)[s->id] };
  return (ix_range){ 0, s->bound ? TP_MAX(x->lo[s->bound->id] - 1, 0) : 0 };
}

static ix_range range_mod(ix_range r, int64_t k) {
  if (tp_floordiv(r.lo, k) != tp_floordiv(r.hi, k)) return (ix_range){ 0, k - 1 };
  return (ix_range){ tp_floormod(r.lo, k), tp_floormod(r.hi, k) };
}

static ix_range range_of(value_box *x, tp_ix *e) {
  switch (e->kind) {
  case TP_IX_SYM: return range_sym(x, e->sym);
  case TP_IX_POLY: return range_poly(x, e);
  case TP_IX_TRUE: return (ix_range){ 1, 1 };
  case TP_IX_FALSE: return (ix_range){ 0, 0 };
  case TP_IX_MIN:
  case TP_IX_MAX:
  case TP_IX_AND:
  case TP_IX_OR: return range_extremum(x, e);
  default: break;
  }
  ix_range r = range_of(x, e->arg[0]);
  switch (e->kind) {
  case TP_IX_FDIV: return (ix_range){ tp_floordiv(r.lo, e->div), tp_floordiv(r.hi, e->div) };
  case TP_IX_MOD: return range_mod(r, e->div);
  case TP_IX_GE0: return (ix_range){ r.lo >= 0, r.hi >= 0 };
  case TP_IX_EQ0: return (ix_range){ r.lo == 0 && r.hi == 0, r.lo <= 0 && r.hi >= 0 };
  default: return (ix_range){ 1 - r.hi, 1 - r.lo }; /* not */
  }
}

void tp_ix_range(tp_ix *e, const int64_t *lo, const int64_t *hi, int64_t *least, int64_t *most) {
  ix_range r = range_of(&(value_box){ .lo = lo, .hi = hi }, e);
  *least = r.lo;
  *most = r.hi;
}

bool tp_ix_eval(tp_ix *e, const int64_t *env, int64_t *out) {
  value_box x = { .lo = env, .hi = env };
  *out = range_of(&x, e).lo;
  return !x.cut;
}
