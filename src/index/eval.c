/* Evaluation. evalq is the plan interpreter's inner loop: it wraps around and checks nothing. eval
 * computes in 128 bits and saturates. */
#include "index/priv.h"

static int64_t quick_poly(const tp_ix *e, const int64_t *env) {
  uint64_t sum = (uint64_t)e->cst;
  for (const tp_term *t = e->term, *end = t + e->nterm; t < end; t++) {
    uint64_t v = (uint64_t)t->coef;
    for (int k = 0; k < t->m->n; k++) {
      const tp_ix *a = t->m->atom[k];
      v *= (uint64_t)(a->sym ? env[a->sym->id] : tp_ix_evalq(a, env));
    }
    sum += v;
  }
  return (int64_t)sum;
}

static int64_t quick_extremum(const tp_ix *e, const int64_t *env) {
  int64_t best = tp_ix_evalq(e->arg[0], env);
  for (int i = 1; i < e->narg; i++) {
    int64_t v = tp_ix_evalq(e->arg[i], env);
    if (e->kind == TP_IX_MIN ? v < best : v > best) best = v;
  }
  return best;
}

static bool quick_all(const tp_ix *e, const int64_t *env, bool want) {
  for (int i = 0; i < e->narg; i++)
    if ((tp_ix_evalq(e->arg[i], env) != 0) != want) return false;
  return true;
}

int64_t tp_ix_evalq(const tp_ix *e, const int64_t *env) {
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

/* ---- checked ---- */

__extension__ typedef __int128 wide;

static int64_t saturate(wide v, bool *ok) {
  if (v >= INT64_MIN && v <= INT64_MAX) return (int64_t)v;
  *ok = false;
  return v < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t checked(const tp_ix *e, const int64_t *env, bool *ok);

/* Sums are exact in 128 bits; a product is cut to 64 bits before its coefficient joins it. */
static int64_t checked_poly(const tp_ix *e, const int64_t *env, bool *ok) {
  wide sum = e->cst;
  for (int i = 0; i < e->nterm; i++) {
    const tp_mono *m = e->term[i].m;
    int64_t prod = checked(m->atom[0], env, ok);
    for (int k = 1; k < m->n; k++) prod = saturate((wide)prod * checked(m->atom[k], env, ok), ok);
    sum += (wide)prod * e->term[i].coef;
  }
  return saturate(sum, ok);
}

static int64_t checked_extremum(const tp_ix *e, const int64_t *env, bool *ok) {
  int64_t best = checked(e->arg[0], env, ok);
  for (int i = 1; i < e->narg; i++) {
    int64_t v = checked(e->arg[i], env, ok);
    if (e->kind == TP_IX_MIN ? v < best : v > best) best = v;
  }
  return best;
}

static bool checked_all(const tp_ix *e, const int64_t *env, bool want, bool *ok) {
  bool all = true;
  for (int i = 0; i < e->narg; i++) all &= (checked(e->arg[i], env, ok) != 0) == want;
  return all;
}

static int64_t checked(const tp_ix *e, const int64_t *env, bool *ok) {
  switch (e->kind) {
  case TP_IX_POLY: return checked_poly(e, env, ok);
  case TP_IX_MIN:
  case TP_IX_MAX: return checked_extremum(e, env, ok);
  case TP_IX_FDIV: return tp_floordiv(checked(e->arg[0], env, ok), e->div);
  case TP_IX_MOD: return tp_floormod(checked(e->arg[0], env, ok), e->div);
  case TP_IX_GE0: return checked(e->arg[0], env, ok) >= 0;
  case TP_IX_EQ0: return checked(e->arg[0], env, ok) == 0;
  case TP_IX_AND: return checked_all(e, env, true, ok);
  case TP_IX_OR: return !checked_all(e, env, false, ok);
  case TP_IX_NOT: return !checked(e->arg[0], env, ok);
  default: return tp_ix_evalq(e, env);
  }
}

bool tp_ix_eval(const tp_ix *e, const int64_t *env, int64_t *out) {
  bool ok = true;
  *out = checked(e, env, &ok);
  return ok;
}

/* ---- ranges ---- */

typedef struct {
  int64_t lo, hi;
} interval;

static int64_t cut(wide v) {
  bool ok;
  return saturate(v, &ok);
}

static interval product(interval a, interval b) {
  wide v[4] = { (wide)a.lo * b.lo, (wide)a.lo * b.hi, (wide)a.hi * b.lo, (wide)a.hi * b.hi },
       lo = v[0], hi = v[0];
  for (int i = 1; i < 4; i++) {
    if (v[i] < lo) lo = v[i];
    if (v[i] > hi) hi = v[i];
  }
  return (interval){ cut(lo), cut(hi) };
}

static interval range_of(const tp_ix *e, const int64_t *lo, const int64_t *hi);

static interval range_poly(const tp_ix *e, const int64_t *lo, const int64_t *hi) {
  wide least = e->cst, most = e->cst;
  for (int i = 0; i < e->nterm; i++) {
    const tp_mono *m = e->term[i].m;
    interval r = range_of(m->atom[0], lo, hi);
    for (int k = 1; k < m->n; k++) r = product(r, range_of(m->atom[k], lo, hi));
    wide c = e->term[i].coef;
    least += c * (c < 0 ? r.hi : r.lo);
    most += c * (c < 0 ? r.lo : r.hi);
  }
  return (interval){ cut(least), cut(most) };
}

static interval range_extremum(const tp_ix *e, const int64_t *lo, const int64_t *hi) {
  interval best = range_of(e->arg[0], lo, hi);
  for (int i = 1; i < e->narg; i++) {
    interval r = range_of(e->arg[i], lo, hi);
    bool min = e->kind == TP_IX_MIN;
    best.lo = min ? TP_MIN(best.lo, r.lo) : TP_MAX(best.lo, r.lo);
    best.hi = min ? TP_MIN(best.hi, r.hi) : TP_MAX(best.hi, r.hi);
  }
  return best;
}

static interval range_sym(const tp_sym *s, const int64_t *lo, const int64_t *hi) {
  if (hi || s->kind != TP_SYM_DIM) return (interval){ lo[s->id], (hi ? hi : lo)[s->id] };
  return (interval){ 0, s->bound ? TP_MAX(lo[s->bound->id] - 1, 0) : 0 };
}

static interval range_of(const tp_ix *e, const int64_t *lo, const int64_t *hi) {
  interval r;
  switch (e->kind) {
  case TP_IX_SYM: return range_sym(e->sym, lo, hi);
  case TP_IX_POLY: return range_poly(e, lo, hi);
  case TP_IX_MIN:
  case TP_IX_MAX: return range_extremum(e, lo, hi);
  case TP_IX_FDIV:
    r = range_of(e->arg[0], lo, hi);
    return (interval){ tp_floordiv(r.lo, e->div), tp_floordiv(r.hi, e->div) };
  case TP_IX_MOD:
    r = range_of(e->arg[0], lo, hi);
    if (tp_floordiv(r.lo, e->div) != tp_floordiv(r.hi, e->div)) return (interval){ 0, e->div - 1 };
    return (interval){ tp_floormod(r.lo, e->div), tp_floormod(r.hi, e->div) };
  default: return (interval){ 0, 1 };
  }
}

void tp_ix_range(
    const tp_ix *e, const int64_t *lo, const int64_t *hi, int64_t *least, int64_t *most) {
  interval r = range_of(e, lo, hi);
  *least = r.lo;
  *most = r.hi;
}
