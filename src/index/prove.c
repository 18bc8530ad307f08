/* prove: shows e >= 0 on a domain, by elimination. Each step replaces e by expressions that are
 * nonnegative only if e is (exactly then, where marked <=>):
 *   k*min(a, b) + r    k*a + r and k*b + r (k >= 0)  <=>;   k*a + r or k*b + r (k <= 0)
 *   max                likewise
 *   a//j + r           a + j*r  <=>
 *   r - a//j           j*r + j - 1 - a  <=>
 *   k*(a//j) + r       k*(a - j + 1) + j*r (k >= 0);   k*a + j*r (k <= 0)
 *   k*(a%j) + r        r (k >= 0);   k*(j - 1) + r, or a >= 0 and k*a + r (k <= 0)
 *   k*t + r, t a dim   at t = 0 and at t = T - 1 (it is linear between)  <=>
 *   bounds only        T := T + 1 where T >= 1 is known; then no coefficient is negative
 * The factor k may be any polynomial whose sign can be proved. Affine expressions that resist go to
 * isl, which is complete. Answers are remembered. */
#include "index/priv.h"

typedef struct {
  tp_ictx *c;
  tp_ix *goal;
  int ndims;
  tp_dims dims;
  int budget;
} prover;

/* Is s the bound of a dim that is listed or that e mentions, and so at least 1? */
static bool positive(tp_ix *e, int ndims, tp_dims dims, tp_sym *s) {
  if (s->kind != TP_SYM_BOUND || !s->dim) return false;
  while (ndims > 0 && dims[ndims - 1] != s->dim) ndims--;
  return ndims || tp_ix_mentions(e, s->dim);
}

size_t tp_ix_memo_key(int64_t *key, int tag, tp_ix *e, int ndims, tp_dims dims) {
  size_t n = 0;
  key[n++] = tag;
  key[n++] = e->id;
  for (int i = 0; i < e->nsym; i++)
    if (positive(e, ndims, dims, e->syms[i])) key[n++] = e->syms[i]->id;
  return n * sizeof *key;
}

static bool prove(prover *p, tp_ix *e, int depth);

static int sign_of(prover *p, tp_ix *k, int depth) {
  if (prove(p, k, depth)) return 1;
  return prove(p, tp_ix_neg(k), depth) ? -1 : 0;
}

static tp_ix *linear(tp_ix *k, tp_ix *x, tp_ix *r) { return tp_ix_add(tp_ix_mul(k, x), r); }

static bool by_operands(prover *p, tp_ix *x, tp_ix *k, tp_ix *r, int depth) {
  int sign = sign_of(p, k, depth);
  bool any = x->kind == TP_IX_MIN ? sign < 0 : sign > 0;
  for (int i = 0; i < x->narg; i++)
    if (prove(p, linear(k, x->arg[i], r), depth) == any) return any;
  return !any;
}

static bool by_quotient(prover *p, tp_ix *x, tp_ix *k, tp_ix *r, int depth) {
  tp_ix *a = x->arg[0], *jr = tp_ix_mulc(r, x->div);
  int64_t unit = 0;
  tp_ix_is_const(k, &unit);
  if (unit == 1) return prove(p, tp_ix_add(a, jr), depth);
  if (unit == -1) return prove(p, tp_ix_addc(tp_ix_sub(jr, a), x->div - 1), depth);
  int sign = sign_of(p, k, depth);
  if (sign < 0) return prove(p, linear(k, a, jr), depth);
  return sign > 0 &&
      (prove(p, linear(k, tp_ix_addc(a, 1 - x->div), jr), depth) ||
          (prove(p, a, depth) && prove(p, r, depth)));
}

static bool by_remainder(prover *p, tp_ix *x, tp_ix *k, tp_ix *r, int depth) {
  int sign = sign_of(p, k, depth);
  if (sign > 0) return prove(p, r, depth);
  if (sign == 0) return false;
  if (prove(p, tp_ix_add(tp_ix_mulc(k, x->div - 1), r), depth)) return true;
  return prove(p, x->arg[0], depth) && prove(p, linear(k, x->arg[0], r), depth);
}

/* All bounds, and dims that occur squared, are >= 0. */
static bool by_coefficients(prover *p, tp_ix *e) {
  tp_sym *from[e->nsym + 1];
  tp_ix *to[e->nsym + 1];
  int n = 0;
  for (int i = 0; i < e->nsym; i++) {
    tp_sym *s = e->syms[i];
    if (s->kind == TP_SYM_VAR || (s->kind == TP_SYM_DIM && !s->bound)) return false;
    if (!positive(p->goal, p->ndims, p->dims, s)) continue;
    from[n] = s;
    to[n++] = tp_ix_addc(tp_ix_sym(s), 1);
  }
  e = tp_ix_subst(e, n, from, to);
  for (int i = 0; i < e->nterm; i++)
    if (e->term[i].coef < 0) return false;
  return e->cst >= 0;
}

static bool by_ends(prover *p, tp_ix *e, int depth) {
  tp_ix *k, *r;
  for (int i = 0; i < e->nsym; i++) {
    tp_sym *t = e->syms[i];
    if (!t->bound || !tp_ix_split(e, tp_ix_sym(t), &k, &r)) continue;
    int64_t slope = 0;
    tp_ix_is_const(k, &slope);
    tp_ix *last = tp_ix_addc(tp_ix_sym(t->bound), -1);
    return (slope < 0 || prove(p, r, depth)) && (slope > 0 || prove(p, linear(k, last, r), depth));
  }
  return by_coefficients(p, e);
}

/* An extremum, else a quotient or remainder; NULL: symbols only. */
static tp_ix *next_atom(tp_ix *e) {
  tp_ix *best = NULL;
  for (int i = 0; i < e->nterm; i++)
    for (int k = 0; k < e->term[i].m->n; k++) {
      tp_ix *a = e->term[i].m->atom[k];
      if (a->kind == TP_IX_MIN || a->kind == TP_IX_MAX) return a;
      if (a->kind != TP_IX_SYM && !best) best = a;
    }
  return best;
}

static bool prove(prover *p, tp_ix *e, int depth) {
  tp_ix *k, *r, *x = next_atom(e);
  if (e->nterm == 0) return e->cst >= 0;
  if (p->budget-- <= 0 || depth > TP_TUNE_PROVE_DEPTH) return false;
  if (!x) return by_ends(p, e, depth + 1);
  if (!tp_ix_split(e, x, &k, &r)) return false;
  if (x->kind == TP_IX_FDIV) return by_quotient(p, x, k, r, depth + 1);
  return x->kind == TP_IX_MOD ? by_remainder(p, x, k, r, depth + 1)
                              : by_operands(p, x, k, r, depth + 1);
}

/* no point has e <= -1 */
static bool prove_by_isl(tp_ictx *c, tp_ix *e, int ndims, tp_dims dims) {
  tp_sym *points[e->nsym + 1];
  int n = 0;
  tp_ix *cond = tp_ix_ge0(tp_ix_addc(tp_ix_neg(e), -1));
  for (int i = 0; i < e->nsym; i++) {
    if (e->syms[i]->kind != TP_SYM_BOUND) points[n++] = e->syms[i];
    if (positive(e, ndims, dims, e->syms[i]))
      cond = tp_ix_and(cond, tp_ix_ge0(tp_ix_addc(tp_ix_sym(e->syms[i]), -1)));
  }
  return tp_isl_impossible(c, n, points, cond);
}

static bool settle(tp_ictx *c, tp_ix *e, int ndims, tp_dims dims) {
  int before = c->overflowed;
  bool ok;
  c->overflowed = 0;
  prover p = { c, e, ndims, dims, TP_TUNE_PROVE_STEPS };
  ok = prove(&p, e, 0) && !c->overflowed;
  c->overflowed = 0;
  if (!ok && e->affine && next_atom(e)) ok = prove_by_isl(c, e, ndims, dims) && !c->overflowed;
  c->overflowed = before;
  return ok;
}

bool tp_ix_prove_ge0(tp_ix *e, int ndims, tp_dims dims) {
  static const char yes, no;
  if (!e || tp_ix_is_cond(e)) return false;
  if (e->nterm == 0) return e->cst >= 0;
  tp_ictx *c = e->c;
  int64_t key[e->nsym + 2];
  size_t n = tp_ix_memo_key(key, TP_MEMO_PROVE, e, ndims, dims);
  const char *known = tp_hmap_get(&c->memo, key, n);
  if (!known) {
    known = settle(c, e, ndims, dims) ? &yes : &no;
    tp_hmap_set(&c->memo, key, n, known);
  }
  return known == &yes;
}
