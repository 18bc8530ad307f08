/* ix: index expressions: hash-consing, canonical polynomials. Each operation is a + k*m*b (addmul),
 * a merge of sorted terms. Rules of construction, for all values:
 *   floor  (k*a + b)//k => a + b//k      (g*a + c)//(g*k) => (a + c//g)//k
 *          (a//j + c)//k => (a + c*j)//(j*k)
 *   mod    (k*a + b)%k => b%k            (a%(j*k) + b)%k => (a + b)%k
 *          (g*a + c)%(g*k) => g*((a + c//g)%k) + c%g
 *   min    flat, also through + constant; a <= b by syntax => b goes; so min(a, max(a, b)) => a
 *   max    likewise */
#include "index/priv.h"
#include <stdlib.h>

static int64_t add64(tp_ictx *c, int64_t a, int64_t b) {
  int64_t r;
  c->overflowed |= __builtin_add_overflow(a, b, &r);
  return r;
}

static int64_t mul64(tp_ictx *c, int64_t a, int64_t b) {
  int64_t r;
  c->overflowed |= __builtin_mul_overflow(a, b, &r);
  return r;
}

static int cmp64(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int order_all(tp_ixs a, int na, tp_ixs b, int nb) {
  for (int i = 0; i < na && i < nb; i++)
    if (a[i] != b[i]) return tp_ix_order(a[i], b[i]);
  return cmp64(na, nb);
}

static int mono_order(const tp_mono *a, const tp_mono *b) {
  if (a == b) return 0;
  return a->n != b->n ? cmp64(a->n, b->n) : order_all(a->atom, a->n, b->atom, b->n);
}

static int poly_order(tp_ix *a, tp_ix *b) {
  if (!a->nterm != !b->nterm) return cmp64(a->nterm, b->nterm); /* constants first */
  for (int i = 0; i < a->nterm && i < b->nterm; i++) {
    int o = mono_order(a->term[i].m, b->term[i].m);
    if (o == 0) o = cmp64(a->term[i].coef, b->term[i].coef);
    if (o) return o;
  }
  return a->nterm != b->nterm ? cmp64(a->nterm, b->nterm) : cmp64(a->cst, b->cst);
}

int tp_ix_order(tp_ix *a, tp_ix *b) {
  if (a == b) return 0;
  if (a->kind == TP_IX_POLY || b->kind == TP_IX_POLY) {
    bool mixed = tp_ix_is_cond(a) || tp_ix_is_cond(b);
    return mixed ? cmp64(a->kind, b->kind) : poly_order(a, b);
  }
  if (a->kind != b->kind) return cmp64(a->kind, b->kind);
  if (a->kind == TP_IX_SYM) return cmp64(a->sym->id, b->sym->id);
  int o = order_all(a->arg, a->narg, b->arg, b->narg);
  return o ? o : cmp64(a->div, b->div);
}

static int order_pp(const void *a, const void *b) { return tp_ix_order(*(tp_ixs)a, *(tp_ixs)b); }
void tp_ix_sort(tp_ix **v, int n) {
  if (n > 1) qsort(v, (size_t)n, sizeof *v, order_pp);
}

static void *find_key(tp_ictx *c, const tp_hmap *m) {
  return tp_hmap_get(m, c->key.v, (size_t)c->key.n * sizeof(int64_t));
}
static void put_key(tp_ictx *c, tp_hmap *m, const void *val) {
  tp_hmap_set(m, c->key.v, (size_t)c->key.n * sizeof(int64_t), val);
}

static const tp_mono *mono_of(tp_ictx *c, int n, tp_ixs atom) {
  c->key.n = 0;
  for (int i = 0; i < n; i++) TP_PUSH(&c->arena, &c->key, atom[i]->id);
  tp_mono *m = find_key(c, &c->monos);
  if (m) return m;
  m = TP_NEW(&c->arena, tp_mono);
  m->id = c->monos.n;
  m->n = n;
  m->atom = TP_DUPN(&c->arena, atom, n);
  put_key(c, &c->monos, m);
  return m;
}

static void make_key(tp_ictx *c, tp_ix *p) {
  int64_t head[] = { p->kind, p->cst, p->div, p->sym ? p->sym->id : -1, p->narg };
  c->key.n = 0;
  for (size_t i = 0; i < TP_LEN(head); i++) TP_PUSH(&c->arena, &c->key, head[i]);
  for (int i = 0; i < p->narg; i++) TP_PUSH(&c->arena, &c->key, p->arg[i]->id);
  for (int i = 0; i < p->nterm; i++) {
    TP_PUSH(&c->arena, &c->key, p->term[i].coef);
    TP_PUSH(&c->arena, &c->key, p->term[i].m->id);
  }
}

typedef TP_VEC(tp_sym *) symvec;

static void add_sym(tp_ictx *c, symvec *v, tp_sym *s) {
  int i = v->n;
  while (i > 0 && v->v[i - 1]->id > s->id) i--;
  if (i > 0 && v->v[i - 1] == s) return;
  TP_PUSH(&c->arena, v, s);
  for (int j = v->n - 1; j > i; j--) v->v[j] = v->v[j - 1];
  v->v[i] = s;
}

static void collect(tp_ictx *c, struct tp_ix *e, symvec *v, tp_ix *child) {
  e->depth = TP_MAX(e->depth, child->depth);
  for (int i = 0; i < child->nsym; i++) add_sym(c, v, child->syms[i]);
  e->affine &= child->affine;
}

static void derive(tp_ictx *c, struct tp_ix *e) {
  symvec v = { 0 };
  e->affine = true;
  if (e->sym) add_sym(c, &v, e->sym);
  for (int i = 0; i < e->narg; i++) collect(c, e, &v, e->arg[i]);
  e->depth += e->narg > 0;
  for (int i = 0; i < e->nterm; i++) {
    const tp_mono *m = e->term[i].m;
    e->affine &= m->n == 1;
    for (int k = 0; k < m->n; k++) collect(c, e, &v, m->atom[k]);
  }
  e->syms = v.v;
  e->nsym = v.n;
}

tp_ix *tp_ix_intern(tp_ictx *c, tp_ix *proto) {
  make_key(c, proto);
  struct tp_ix *e = find_key(c, &c->nodes);
  if (e) return e;
  for (int i = 0; i < proto->narg; i++)
    if (proto->arg[i]->depth >= TP_MAXNEST) {
      /* walks are recursive, so a flat stand-in is returned; the mark makes an error of it */
      c->overflowed |= TP_TOO_DEEP;
      return tp_ix_is_cond(proto) ? tp_ix_bool(c, true) : tp_ix_const(c, 0);
    }
  e = tp_dup(&c->arena, proto, sizeof *proto);
  e->c = c;
  e->id = c->nnode++;
  e->arg = TP_DUPN(&c->arena, proto->arg, proto->narg);
  e->term = TP_DUPN(&c->arena, proto->term, proto->nterm);
  derive(c, e);
  if (e->kind >= TP_IX_SYM && e->kind <= TP_IX_MOD) {
    tp_ix *self = e;
    tp_term t = { 1, mono_of(c, 1, &self) };
    e->term = tp_dup(&c->arena, &t, sizeof t);
    e->nterm = 1;
    make_key(c, proto);
  }
  /* it is registered only when it is whole, as memory may fail before */
  put_key(c, &c->nodes, e);
  return e;
}

static const tp_mono *mono_mul(tp_ictx *c, const tp_mono *a, const tp_mono *b) {
  if (!a || !b) return a ? a : b;
  tp_ix *v[a->n + b->n];
  int n = 0, i = 0, j = 0;
  while (i < a->n || j < b->n) {
    bool left = j == b->n || (i < a->n && tp_ix_order(a->atom[i], b->atom[j]) <= 0);
    v[n++] = left ? a->atom[i++] : b->atom[j++];
  }
  return mono_of(c, n, v);
}

/* the polynomial of the stack's terms from base on, which it pops */
static tp_ix *poly_pop(tp_ictx *c, int base, int64_t cst) {
  struct tp_ix p = { .kind = TP_IX_POLY, .cst = cst, .nterm = c->stack.n - base };
  if (p.nterm) p.term = c->stack.v + base;
  bool atom = p.nterm == 1 && cst == 0 && p.term->coef == 1 && p.term->m->n == 1;
  tp_ix *e = atom ? p.term->m->atom[0] : tp_ix_intern(c, &p);
  c->stack.n = base;
  return e;
}

static void push_term(tp_ictx *c, int64_t coef, const tp_mono *m) {
  if (coef) TP_PUSH(&c->arena, &c->stack, ((tp_term){ coef, m }));
}

/* m NULL: 1 */
static tp_ix *addmul(tp_ix *a, int64_t k, const tp_mono *m, tp_ix *b) {
  tp_ictx *c = a->c;
  /* m*b's constant is a term */
  int base = c->stack.n, i = 0, j = m ? -1 : 0;
  int64_t cst = m ? a->cst : add64(c, a->cst, mul64(c, k, b->cst));
  while (i < a->nterm || j < b->nterm) {
    const tp_mono *q = j == b->nterm ? NULL : j < 0 ? m : mono_mul(c, m, b->term[j].m);
    int64_t kb = !q ? 0 : mul64(c, k, j < 0 ? b->cst : b->term[j].coef);
    int o = !q ? -1 : i == a->nterm ? 1 : mono_order(a->term[i].m, q);
    if (o < 0) push_term(c, a->term[i].coef, a->term[i].m);
    else push_term(c, o ? kb : add64(c, a->term[i].coef, kb), q);
    i += o <= 0;
    j += o >= 0;
  }
  return poly_pop(c, base, cst);
}

tp_ix *tp_ix_const(tp_ictx *c, int64_t v) {
  return tp_ix_intern(c, &(tp_ix){ .kind = TP_IX_POLY, .cst = v });
}

tp_ix *tp_ix_sym(tp_sym *s) {
  return s ? tp_ix_intern(s->c, &(tp_ix){ .kind = TP_IX_SYM, .sym = s }) : NULL;
}

tp_ix *tp_ix_add(tp_ix *a, tp_ix *b) { return a && b ? addmul(a, 1, NULL, b) : NULL; }
tp_ix *tp_ix_sub(tp_ix *a, tp_ix *b) { return a && b ? addmul(a, -1, NULL, b) : NULL; }
tp_ix *tp_ix_neg(tp_ix *a) { return tp_ix_mulc(a, -1); }
tp_ix *tp_ix_mulc(tp_ix *a, int64_t k) {
  return a ? addmul(tp_ix_const(a->c, 0), k, NULL, a) : NULL;
}
tp_ix *tp_ix_addc(tp_ix *a, int64_t k) {
  return a ? addmul(a, k, NULL, tp_ix_const(a->c, 1)) : NULL;
}

tp_ix *tp_ix_mul(tp_ix *a, tp_ix *b) {
  if (!a || !b) return NULL;
  tp_ix *sum = tp_ix_mulc(b, a->cst);
  for (int i = 0; i < a->nterm; i++) sum = addmul(sum, a->term[i].coef, a->term[i].m, b);
  return sum;
}

int64_t tp_ix_content(tp_ix *e, int64_t k) {
  uint64_t g = (uint64_t)k;
  for (int i = 0; i < e->nterm; i++) {
    int64_t v = e->term[i].coef;
    g = tp_gcd(g, v < 0 ? -(uint64_t)v : (uint64_t)v);
  }
  return g > INT64_MAX ? 1 : (int64_t)g;
}

tp_ix *tp_ix_part(tp_ix *e, int64_t k, bool divisible, int64_t by, int64_t cst) {
  tp_ictx *c = e->c;
  int base = c->stack.n;
  for (int i = 0; i < e->nterm; i++)
    if ((e->term[i].coef % k == 0) == divisible) push_term(c, e->term[i].coef / by, e->term[i].m);
  return poly_pop(c, base, cst);
}

bool tp_ix_differ(tp_ix *a, int sign, tp_ix *b, int64_t *k) {
  if (a->nterm != b->nterm) return false;
  for (int i = 0; i < a->nterm; i++) {
    int64_t v = b->term[i].coef;
    if (a->term[i].m != b->term[i].m || (sign < 0 && v == INT64_MIN) || a->term[i].coef != sign * v)
      return false;
  }
  return sign < 0 ? !__builtin_add_overflow(a->cst, b->cst, k)
                  : !__builtin_sub_overflow(a->cst, b->cst, k);
}

/* *q NULL: 1 */
static bool mono_div(tp_ictx *c, const tp_mono *a, const tp_mono *b, const tp_mono **q) {
  int na = a ? a->n : 0, nb = b ? b->n : 0, n = 0, j = 0;
  tp_ix *v[na + 1];
  for (int i = 0; i < na; i++)
    if (j < nb && a->atom[i] == b->atom[j]) j++;
    else v[n++] = a->atom[i];
  *q = n ? mono_of(c, n, v) : NULL;
  return j == nb;
}

static tp_term leading(tp_ix *e) {
  return e->nterm ? e->term[e->nterm - 1] : (tp_term){ e->cst, NULL };
}

static tp_ix *divide(tp_ictx *c, tp_ix *a, tp_ix *b) {
  tp_ix *zero = tp_ix_const(c, 0), *one = tp_ix_const(c, 1), *quotient = zero;
  tp_term lb = leading(b);
  while (a != zero && !c->overflowed) {
    tp_term la = leading(a);
    const tp_mono *m;
    if (lb.coef == 0 || (lb.coef == -1 && la.coef == INT64_MIN) || la.coef % lb.coef ||
        !mono_div(c, la.m, lb.m, &m))
      return NULL;
    quotient = addmul(quotient, la.coef / lb.coef, m, one);
    a = addmul(a, -(la.coef / lb.coef), m, b);
  }
  return quotient;
}

tp_ix *tp_ix_divexact(tp_ix *a, tp_ix *b) {
  if (!a || !b) return NULL;
  tp_ictx *c = a->c;
  int before = c->overflowed;
  c->overflowed = 0;
  tp_ix *q = divide(c, a, b);
  if (c->overflowed) q = NULL;
  c->overflowed = before;
  return q;
}

/* e = atom + constant; else NULL. */
static tp_ix *lone_atom(tp_ix *e, tp_ixkind kind) {
  bool lone = e->nterm == 1 && e->term->coef == 1 && e->term->m->n == 1 &&
      e->term->m->atom[0]->kind == kind;
  return lone ? e->term->m->atom[0] : NULL;
}

static tp_ix *quotient_atom(tp_ixkind kind, tp_ix *e, int64_t k) {
  return tp_ix_intern(e->c, &(tp_ix){ .kind = kind, .div = k, .narg = 1, .arg = &e });
}

tp_ix *tp_ix_fdiv(tp_ix *a, int64_t k) {
  if (!a || k == 1) return a;
  if (TP_NEVER(k <= 0)) return NULL;
  tp_ix *whole = tp_ix_part(a, k, true, k, tp_floordiv(a->cst, k));
  tp_ix *rest = tp_ix_part(a, k, false, 1, tp_floormod(a->cst, k));
  if (!rest->nterm) return whole;
  int64_t g = tp_ix_content(rest, k), j, shift;
  rest = tp_ix_part(rest, 1, true, g, rest->cst / g);
  k /= g;
  tp_ix *inner = lone_atom(rest, TP_IX_FDIV);
  if (inner && !__builtin_mul_overflow(inner->div, k, &j) &&
      !__builtin_mul_overflow(inner->div, rest->cst, &shift))
    return tp_ix_add(whole, tp_ix_fdiv(tp_ix_addc(inner->arg[0], shift), j));
  return tp_ix_add(whole, quotient_atom(TP_IX_FDIV, rest, k));
}

/* (a%(j*k) + b)%k => (a + b)%k */
static tp_ix *drop_inner_mods(tp_ix *e, int64_t k) {
  for (int i = 0; i < e->nterm; i++) {
    const tp_mono *m = e->term[i].m;
    if (m->n == 1 && m->atom[0]->kind == TP_IX_MOD && m->atom[0]->div % k == 0) {
      tp_ix *swap = tp_ix_sub(m->atom[0]->arg[0], m->atom[0]);
      return drop_inner_mods(addmul(e, e->term[i].coef, NULL, swap), k);
    }
  }
  return e;
}

tp_ix *tp_ix_mod(tp_ix *a, int64_t k) {
  if (!a || TP_NEVER(k <= 0)) return NULL;
  a = drop_inner_mods(a, k);
  tp_ix *rest = tp_ix_part(a, k, false, 1, tp_floormod(a->cst, k));
  if (!rest->nterm) return rest;
  int64_t g = tp_ix_content(rest, k), low = rest->cst % g;
  rest = tp_ix_part(rest, 1, true, g, rest->cst / g);
  return tp_ix_addc(tp_ix_mulc(quotient_atom(TP_IX_MOD, rest, k / g), g), low);
}

/* for all values, by syntax */
static bool wins(tp_ixkind kind, tp_ix *a, tp_ix *b) {
  int64_t d;
  if (tp_ix_differ(a, 1, b, &d)) return kind == TP_IX_MIN ? d <= 0 : d >= 0;
  if (b->kind == (kind == TP_IX_MIN ? TP_IX_MAX : TP_IX_MIN))
    for (int i = 0; i < b->narg; i++)
      if (wins(kind, a, b->arg[i])) return true;
  return false;
}

/* Adds e unless an operand wins over it; drops those that it beats. */
static int add_operand(tp_ixkind kind, tp_ix **v, int n, tp_ix *e) {
  int kept = 0;
  for (int i = 0; i < n; i++)
    if (wins(kind, v[i], e)) return n;
  for (int i = 0; i < n; i++)
    if (!wins(kind, e, v[i])) v[kept++] = v[i];
  v[kept++] = e;
  return kept;
}

static int add_operands(tp_ixkind kind, tp_ix **v, int n, tp_ix *e) {
  tp_ix *a = lone_atom(e, kind);
  if (!a) return add_operand(kind, v, n, e);
  for (int i = 0; i < a->narg; i++) n = add_operand(kind, v, n, tp_ix_addc(a->arg[i], e->cst));
  return n;
}

static tp_ix *extremum(tp_ixkind kind, tp_ix *a, tp_ix *b) {
  if (!a || !b) return NULL;
  tp_ix *fa = lone_atom(a, kind), *fb = lone_atom(b, kind);
  tp_ix *v[(fa ? fa->narg : 1) + (fb ? fb->narg : 1)];
  int n = add_operands(kind, v, add_operands(kind, v, 0, a), b);
  if (n == 1) return v[0];
  tp_ix_sort(v, n);
  return tp_ix_intern(a->c, &(tp_ix){ .kind = kind, .narg = n, .arg = v });
}

tp_ix *tp_ix_min(tp_ix *a, tp_ix *b) { return extremum(TP_IX_MIN, a, b); }
tp_ix *tp_ix_max(tp_ix *a, tp_ix *b) { return extremum(TP_IX_MAX, a, b); }

tp_ixkind tp_ix_kind(tp_ix *e) { return e->kind; }
bool tp_ix_is_cond(tp_ix *e) { return e->kind >= TP_IX_TRUE; }
bool tp_ix_is_affine(tp_ix *e) { return e->affine; }
tp_sym *tp_ix_as_sym(tp_ix *e) { return e->sym; }
int tp_ix_nterm(tp_ix *e) { return e->nterm; }
int64_t tp_ix_cst(tp_ix *e) { return e->cst; }
int64_t tp_ix_coef(tp_ix *e, int i) { return e->term[i].coef; }
int tp_ix_narg(tp_ix *e) { return e->narg; }
tp_ix *tp_ix_arg(tp_ix *e, int i) { return e->arg[i]; }
int64_t tp_ix_div(tp_ix *e) { return e->div; }

bool tp_ix_is_const(tp_ix *e, int64_t *v) {
  bool is = e->kind == TP_IX_POLY && e->nterm == 0;
  if (is && v) *v = e->cst;
  return is;
}

int tp_ix_term(tp_ix *e, int i, tp_ixs *atoms) {
  *atoms = e->term[i].m->atom;
  return e->term[i].m->n;
}

bool tp_ix_mentions(tp_ix *e, tp_sym *s) {
  for (int i = 0; i < e->nsym; i++)
    if (e->syms[i] == s) return true;
  return false;
}

int tp_ix_syms(tp_ix *e, tp_dims *out) {
  *out = e ? e->syms : NULL;
  return e ? e->nsym : 0;
}

bool tp_ix_of_bounds(tp_ix *e) {
  for (int i = 0; e && i < e->nsym; i++)
    if (e->syms[i]->kind != TP_SYM_BOUND) return false;
  return true;
}

tp_ix *tp_ix_map_atoms(tp_ix *e, tp_ix_fn *f, void *ud) {
  tp_ictx *c = e->c;
  tp_ix *sum = tp_ix_const(c, e->cst);
  for (int i = 0; i < e->nterm; i++) {
    tp_ix *prod = tp_ix_const(c, e->term[i].coef);
    for (int k = 0; k < e->term[i].m->n; k++) prod = tp_ix_mul(prod, f(e->term[i].m->atom[k], ud));
    sum = tp_ix_add(sum, prod);
  }
  return sum;
}

bool tp_ix_split(tp_ix *e, tp_ix *x, tp_ix **k, tp_ix **rest) {
  tp_ictx *c = e->c;
  tp_ix *one = tp_ix_const(c, 1);
  const tp_mono *xm = x->term->m;
  *k = tp_ix_const(c, 0);
  *rest = tp_ix_const(c, e->cst);
  for (int i = 0; i < e->nterm; i++) {
    const tp_mono *m = e->term[i].m, *q, *twice;
    bool has = mono_div(c, m, xm, &q);
    if (has && q && mono_div(c, q, xm, &twice)) return false;
    if (has) *k = addmul(*k, e->term[i].coef, q, one);
    else *rest = addmul(*rest, e->term[i].coef, m, one);
  }
  return true;
}

bool tp_ix_linear_in(tp_ix *e, tp_sym *s, int64_t *k, tp_ix **rest) {
  tp_ix *factor;
  return tp_ix_split(e, tp_ix_sym(s), &factor, rest) && tp_ix_is_const(factor, k) &&
      !tp_ix_mentions(*rest, s);
}

tp_ix *tp_ix_nary(tp_ixkind kind, int n, tp_ixs v) {
  tp_ix *e = v[0];
  if (kind == TP_IX_AND || kind == TP_IX_OR) return tp_ix_join(e->c, kind, n, v);
  for (int i = 1; i < n; i++) e = kind == TP_IX_MIN ? tp_ix_min(e, v[i]) : tp_ix_max(e, v[i]);
  return e;
}

tp_ix *tp_ix_map_args(tp_ix *e, tp_ix_fn *f, void *ud) {
  tp_ix *v[e->narg + 1];
  for (int i = 0; i < e->narg; i++) v[i] = f(e->arg[i], ud);
  switch (e->kind) {
  case TP_IX_FDIV: return tp_ix_fdiv(v[0], e->div);
  case TP_IX_MOD: return tp_ix_mod(v[0], e->div);
  case TP_IX_GE0: return tp_ix_ge0(v[0]);
  case TP_IX_EQ0: return tp_ix_eq0(v[0]);
  case TP_IX_NOT: return tp_ix_not(v[0]);
  case TP_IX_MIN:
  case TP_IX_MAX:
  case TP_IX_AND:
  case TP_IX_OR: return tp_ix_nary(e->kind, e->narg, v);
  default: return e;
  }
}

typedef struct {
  int n;
  tp_dims from;
  tp_ixs to;
} subst;

static tp_ix *subst_any(tp_ix *e, void *ud) {
  const subst *s = ud;
  int i = 0;
  while (i < s->n && !tp_ix_mentions(e, s->from[i])) i++;
  if (i == s->n) return e;
  if (e->sym) return s->to[i];
  return (e->kind == TP_IX_POLY ? tp_ix_map_atoms : tp_ix_map_args)(e, subst_any, ud);
}

tp_ix *tp_ix_subst(tp_ix *e, int n, tp_dims from, tp_ixs to) {
  subst s = { n, from, to };
  return e ? subst_any(e, &s) : NULL;
}
