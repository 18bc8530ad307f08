/* simplify: canonical forms and bounds on a domain. simplify drops operands of min and max that
 * cannot win, a//k and a%k with a in [0, k) or [-k, 0), conditions with a known value; r - max(a,
 * b) => min(r - a, r - b) and the like if not longer. upper: by monotonicity, dim by dim; min of
 * uppers, max of uppers, sums and products of nonnegative factors term by term. lower mirrors
 * it. */
#include "index/priv.h"

typedef struct {
  tp_ictx *c;
  int n;
  tp_sym **dims;
} domain;

/* the domain with the dims that e and f mention, which have a point */
static domain domain_of(tp_ix *e, tp_ix *f, int ndims, tp_dims dims) {
  domain d = { e->c, ndims, TP_NEWN(&e->c->arena, tp_sym *, ndims + e->nsym + f->nsym) };
  if (ndims) TP_COPYN(d.dims, dims, ndims);
  for (int i = 0; i < e->nsym + f->nsym; i++) {
    tp_sym *s = i < e->nsym ? e->syms[i] : f->syms[i - e->nsym];
    if (s->kind == TP_SYM_DIM) d.dims[d.n++] = s;
  }
  return d;
}

static bool is_nonneg(const domain *d, tp_ix *e) { return tp_ix_prove_ge0(e, d->n, d->dims); }

/* a <= b; a difference that overflows proves nothing */
static bool below(const domain *d, tp_ix *a, tp_ix *b) {
  int before = d->c->overflowed;
  d->c->overflowed = 0;
  tp_ix *gap = tp_ix_sub(b, a);
  bool ok = !d->c->overflowed && is_nonneg(d, gap);
  d->c->overflowed = before;
  return ok;
}

/* the kind of t's extremum; POLY: t has none, or one with a factor */
static tp_ixkind pull(const tp_term *t) {
  tp_ix *x = t->m->atom[0];
  if (t->m->n != 1 || (x->kind != TP_IX_MIN && x->kind != TP_IX_MAX)) return TP_IX_POLY;
  return (x->kind == TP_IX_MIN) == (t->coef > 0) ? TP_IX_MIN : TP_IX_MAX;
}

/* k*min(a, b) + r => min(k*a + r, k*b + r), if all such terms give min or all max. */
static tp_ix *distribute(tp_ix *e) {
  tp_ixkind kind = TP_IX_POLY;
  tp_ix *x = NULL, *k, *r;
  int64_t operands = 1;
  for (int i = 0; i < e->nterm && operands <= TP_TUNE_FLOOR_OPERANDS; i++) {
    tp_ixkind here = pull(&e->term[i]);
    if (here == TP_IX_POLY) continue;
    if (x && here != kind) return e;
    kind = here;
    x = e->term[i].m->atom[0];
    operands *= x->narg;
  }
  if (!x || e == x || operands > TP_TUNE_FLOOR_OPERANDS || !tp_ix_split(e, x, &k, &r) || k->nterm)
    return e;
  tp_ix *v[x->narg];
  for (int i = 0; i < x->narg; i++) v[i] = distribute(tp_ix_add(tp_ix_mul(k, x->arg[i]), r));
  return tp_ix_nary(kind, x->narg, v);
}

/* parts written down */
static int length(tp_ix *e) {
  bool poly = e->kind == TP_IX_POLY;
  int n = poly ? e->cst != 0 || !e->nterm : !e->narg + (e->div != 0);
  for (int i = 0; i < e->narg; i++) n += length(e->arg[i]);
  for (int i = 0; poly && i < e->nterm; i++) {
    n += e->term[i].coef != 1 && e->term[i].coef != -1;
    for (int k = 0; k < e->term[i].m->n; k++) n += length(e->term[i].m->atom[k]);
  }
  return n;
}

static tp_ix *simplify(tp_ix *e, void *ud);

/* Drops operands that always lose; the later of equals. */
static tp_ix *prune(const domain *d, tp_ix *e) {
  tp_ix *v[e->narg];
  int n = 0;
  bool least = e->kind == TP_IX_MIN;
  for (int i = 0; i < e->narg; i++) {
    tp_ix *a = e->arg[i];
    int j = 0, kept = 0;
    while (j < n && !(least ? below(d, v[j], a) : below(d, a, v[j]))) j++;
    if (j < n) continue;
    for (j = 0; j < n; j++)
      if (!(least ? below(d, a, v[j]) : below(d, v[j], a))) v[kept++] = v[j];
    n = kept;
    v[n++] = a;
  }
  return tp_ix_nary(e->kind, n, v);
}

static tp_ix *narrow_quotient(const domain *d, tp_ix *e) {
  tp_ix *a = e->arg[0], *above = tp_ix_addc(a, e->div);
  bool mod = e->kind == TP_IX_MOD;
  tp_ix *top = tp_ix_const(d->c, e->div - 1), *minus = tp_ix_const(d->c, -1);
  if (is_nonneg(d, a)) return !below(d, a, top) ? e : mod ? a : tp_ix_const(d->c, 0);
  if (below(d, a, minus) && is_nonneg(d, above)) return mod ? above : minus;
  return e;
}

static tp_ix *narrow(tp_ix *e, void *ud) {
  switch (e->kind) {
  case TP_IX_MIN:
  case TP_IX_MAX: return prune(ud, e);
  case TP_IX_FDIV:
  case TP_IX_MOD: return narrow_quotient(ud, e);
  default: return e;
  }
}

static tp_ix *simplify_atom(tp_ix *e, void *ud) {
  if (e->kind == TP_IX_SYM) return e;
  return tp_ix_map_atoms(tp_ix_map_args(e, simplify, ud), narrow, ud);
}

static tp_ix *simplify_sum(tp_ix *e, void *ud) {
  e = tp_ix_map_atoms(e, simplify_atom, ud);
  tp_ix *f = distribute(e);
  if (f == e) return e;
  f = simplify(f, ud);
  return length(f) <= length(e) ? f : e;
}

static tp_ix *simplify_cond(tp_ix *e, void *ud) {
  e = tp_ix_map_args(e, simplify, ud);
  if (e->kind != TP_IX_GE0 && e->kind != TP_IX_EQ0) return e;
  tp_ictx *c = e->c;
  tp_ix *a = e->arg[0];
  bool eq = e->kind == TP_IX_EQ0, ge0 = is_nonneg(ud, a);
  if (below(ud, a, tp_ix_const(c, -1)) || (eq && is_nonneg(ud, tp_ix_addc(a, -1))))
    return tp_ix_bool(c, false);
  return ge0 && (!eq || below(ud, a, tp_ix_const(c, 0))) ? tp_ix_bool(c, true) : e;
}

static tp_ix *simplify(tp_ix *e, void *ud) {
  const domain *d = ud;
  int64_t key[e->nsym + 2];
  size_t n = tp_ix_memo_key(key, TP_MEMO_SIMPLIFY, e, d->n, d->dims);
  tp_ix *r = tp_hmap_get(&e->c->memo, key, n);
  if (r) return r;
  r = (tp_ix_is_cond(e) ? simplify_cond : simplify_sum)(e, ud);
  tp_hmap_set(&e->c->memo, key, n, r);
  return r;
}

tp_ix *tp_ix_simplify(tp_ix *e, int ndims, tp_dims dims) {
  if (!e || !e->nsym) return e;
  domain d = domain_of(e, e, ndims, dims);
  return simplify(e, &d);
}

tp_ix *tp_ix_extent(tp_ix *lo, tp_ix *hi, int ndims, tp_dims dims) {
  if (!lo || !hi) return NULL;
  tp_ictx *c = lo->c;
  domain d = domain_of(lo, hi, ndims, dims);
  tp_ix *e = simplify(tp_ix_sub(hi, lo), &d);
  return is_nonneg(&d, e) ? e : simplify(tp_ix_max(tp_ix_const(c, 0), e), &d);
}

/* elim: n dims to eliminate */
typedef struct {
  tp_ictx *c;
  domain on;
  int n;
  tp_dims elim;
} bounder;

static tp_ix *bound(bounder *b, tp_ix *e, bool up);

static bool to_eliminate(const bounder *b, tp_ix *e) {
  for (int i = 0; i < b->n; i++)
    if (tp_ix_mentions(e, b->elim[i])) return true;
  return false;
}

static tp_ix *bound_symbol(tp_ictx *c, tp_sym *s, bool up) {
  if (!s->bound) return NULL;
  return up ? tp_ix_addc(tp_ix_sym(s->bound), -1) : tp_ix_const(c, 0);
}

/* The upper bound of one operand of a min bounds the min. */
static tp_ix *bound_extremum(bounder *b, tp_ix *e, bool up) {
  bool lenient = (e->kind == TP_IX_MIN) == up;
  tp_ix *v[e->narg];
  int n = 0;
  for (int i = 0; i < e->narg; i++) {
    tp_ix *a = bound(b, e->arg[i], up);
    if (a) v[n++] = a;
    else if (!lenient) return NULL;
  }
  return n ? tp_ix_nary(e->kind, n, v) : NULL;
}

static tp_ix *bound_remainder(bounder *b, tp_ix *e, bool up) {
  if (!up) return tp_ix_const(b->c, 0);
  tp_ix *top = tp_ix_const(b->c, e->div - 1),
        *a = is_nonneg(&b->on, e->arg[0]) ? bound(b, e->arg[0], true) : NULL;
  return a ? tp_ix_min(top, a) : top;
}

static tp_ix *bound_product(bounder *b, const tp_mono *m, bool up) {
  tp_ix *p = tp_ix_const(b->c, 1);
  if (m->n == 1) return bound(b, m->atom[0], up);
  for (int k = 0; k < m->n; k++) {
    if (!is_nonneg(&b->on, m->atom[k])) return NULL;
    tp_ix *a = bound(b, m->atom[k], up);
    if (!a || !is_nonneg(&b->on, a)) return up ? NULL : tp_ix_const(b->c, 0);
    p = tp_ix_mul(p, a);
  }
  return p;
}

static tp_ix *bound_terms(bounder *b, tp_ix *e, bool up) {
  tp_ix *sum = tp_ix_const(b->c, e->cst);
  for (int i = 0; i < e->nterm && sum; i++) {
    tp_ix *p = bound_product(b, e->term[i].m, up == (e->term[i].coef > 0));
    sum = tp_ix_add(sum, tp_ix_mulc(p, e->term[i].coef));
  }
  return sum;
}

/* k*t + r, with t in neither, lies between r and k*(T - 1) + r. */
static tp_ix *bound_sum(bounder *b, tp_ix *e, bool up) {
  tp_ictx *c = b->c;
  tp_ix *k, *r, *f = distribute(e);
  if (f != e) return bound(b, f, up);
  for (int i = 0; i < b->n; i++) {
    tp_sym *t = b->elim[i];
    if (!t->bound || !tp_ix_mentions(e, t) || !tp_ix_split(e, tp_ix_sym(t), &k, &r) ||
        tp_ix_mentions(k, t) || tp_ix_mentions(r, t))
      continue;
    tp_ix *last = tp_ix_add(tp_ix_mul(k, bound_symbol(c, t, true)), r);
    if (is_nonneg(&b->on, k)) return bound(b, up ? last : r, up);
    if (is_nonneg(&b->on, tp_ix_neg(k))) return bound(b, up ? r : last, up);
    return bound(b, up ? tp_ix_max(r, last) : tp_ix_min(r, last), up);
  }
  return bound_terms(b, e, up);
}

static tp_ix *bound(bounder *b, tp_ix *e, bool up) {
  if (!to_eliminate(b, e)) return e;
  switch (e->kind) {
  case TP_IX_SYM: return bound_symbol(b->c, e->sym, up);
  case TP_IX_MIN:
  case TP_IX_MAX: return bound_extremum(b, e, up);
  case TP_IX_FDIV: return tp_ix_fdiv(bound(b, e->arg[0], up), e->div);
  case TP_IX_MOD: return bound_remainder(b, e, up);
  case TP_IX_POLY: return bound_sum(b, e, up);
  default: return NULL;
  }
}

static tp_ix *bound_over(tp_ix *e, int ndims, tp_dims dims, bool up) {
  if (!e) return NULL;
  tp_ictx *c = e->c;
  bounder b = { c, domain_of(e, e, ndims, dims), ndims, dims };
  tp_ix *r = bound(&b, simplify(e, &b.on), up);
  return r ? simplify(r, &b.on) : NULL;
}

tp_ix *tp_ix_upper(tp_ix *e, int ndims, tp_dims dims) { return bound_over(e, ndims, dims, true); }
tp_ix *tp_ix_lower(tp_ix *e, int ndims, tp_dims dims) { return bound_over(e, ndims, dims, false); }

typedef struct {
  tp_ictx *c;
  tp_sym *s;
  tp_ix *lo, *last;
  bool above;
} edge;

static tp_ix *edge_of(const edge *g, tp_ix *e);

static tp_ix *edge_poly(const edge *g, tp_ix *e) {
  tp_ix *sum = tp_ix_const(g->c, e->cst);
  for (const tp_term *k = e->term; k < e->term + e->nterm; k++) {
    tp_ix *v = tp_ix_const(g->c, 1);
    for (int i = 0; i < k->m->n; i++) v = tp_ix_mul(v, k->m->atom[i]);
    edge turned = *g;
    turned.above = g->above == (k->coef > 0);
    if (tp_ix_mentions(v, g->s)) v = k->m->n == 1 ? edge_of(&turned, v) : NULL;
    if (!v) return NULL;
    sum = tp_ix_add(sum, tp_ix_mulc(v, k->coef));
  }
  return sum;
}

/* The edge of any operand that moves with s. */
static tp_ix *edge_one(const edge *g, tp_ix *e) {
  for (int i = 0; i < e->narg; i++) {
    tp_ix *v = tp_ix_mentions(e->arg[i], g->s) ? edge_of(g, e->arg[i]) : NULL;
    if (v) return v;
  }
  return NULL;
}

/* The operands have the common factor k: for s >= lo and k > 0 a constant lies on that side of k*s
 * + (constant - k*lo), and likewise in other cases. */
static tp_ix *edge_all(const edge *g, tp_ix *e) {
  tp_ix *most = NULL, *one = edge_one(g, e), *rest;
  int64_t k, other;
  if (!one || !tp_ix_linear_in(one, g->s, &k, &rest) || k == 0) return NULL;
  tp_ix *end = tp_ix_mulc(g->above == (k > 0) ? g->lo : g->last, k);
  for (int i = 0; i < e->narg; i++) {
    tp_ix *v = tp_ix_sub(e->arg[i], end);
    if (tp_ix_mentions(e->arg[i], g->s)) {
      v = edge_of(g, e->arg[i]);
      if (!v || !tp_ix_linear_in(v, g->s, &other, &v) || other != k) return NULL;
    }
    most = !most ? v : g->above ? tp_ix_max(most, v) : tp_ix_min(most, v);
  }
  return tp_ix_add(tp_ix_mulc(tp_ix_sym(g->s), k), most);
}

static tp_ix *edge_of(const edge *g, tp_ix *e) {
  if (!tp_ix_mentions(e, g->s) || e->kind == TP_IX_SYM) return e;
  if (e->kind == TP_IX_POLY) return edge_poly(g, e);
  if (e->kind == (g->above ? TP_IX_MIN : TP_IX_MAX)) return edge_one(g, e);
  return e->kind == TP_IX_MIN || e->kind == TP_IX_MAX ? edge_all(g, e) : NULL;
}

tp_ix *tp_ix_edge(tp_ix *e, tp_sym *s, tp_ix *lo, tp_ix *last, bool above) {
  return edge_of(&(edge){ e->c, s, lo, last, above }, e);
}
