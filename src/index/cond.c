/* cond: conditions, hash-consed. Normal forms: e >= 0 with coprime coefficients (k*e + c >= 0 => e
 * + c//k >= 0); e == 0 likewise, its first coefficient positive; not before == only; and, or flat,
 * sorted, without implied operands; a >= 0 and -a >= 0 => a == 0. */
#include "index/priv.h"

tp_ix *tp_ix_bool(tp_ictx *c, bool v) {
  return tp_ix_intern(c, &(tp_ix){ .kind = v ? TP_IX_TRUE : TP_IX_FALSE });
}

static tp_ix *with_arg(tp_ixkind kind, tp_ix *e) {
  return tp_ix_intern(e->c, &(tp_ix){ .kind = kind, .narg = 1, .arg = &e });
}

tp_ix *tp_ix_ge0(tp_ix *e) {
  if (!e) return NULL;
  tp_ictx *c = e->c;
  if (!e->nterm) return tp_ix_bool(c, e->cst >= 0);
  int64_t g = tp_ix_content(e, 0);
  return with_arg(TP_IX_GE0, tp_ix_part(e, 1, true, g, tp_floordiv(e->cst, g)));
}

tp_ix *tp_ix_eq0(tp_ix *e) {
  if (!e) return NULL;
  tp_ictx *c = e->c;
  if (!e->nterm) return tp_ix_bool(c, e->cst == 0);
  int64_t g = tp_ix_content(e, 0);
  if (e->cst % g) return tp_ix_bool(c, false);
  e = tp_ix_part(e, 1, true, g, e->cst / g);
  return with_arg(TP_IX_EQ0, e->term->coef < 0 ? tp_ix_neg(e) : e);
}

tp_ix *tp_ix_cmp(tp_cmp op, tp_ix *a, tp_ix *b) {
  tp_ix *d = op == TP_LE || op == TP_LT ? tp_ix_sub(b, a) : tp_ix_sub(a, b);
  if (op == TP_EQ) return tp_ix_eq0(d);
  if (op == TP_NE) return tp_ix_not(tp_ix_eq0(d));
  return tp_ix_ge0(op == TP_LT || op == TP_GT ? tp_ix_addc(d, -1) : d);
}

tp_ix *tp_ix_not(tp_ix *a) {
  if (!a) return NULL;
  tp_ictx *c = a->c;
  switch (a->kind) {
  case TP_IX_TRUE: return tp_ix_bool(c, false);
  case TP_IX_FALSE: return tp_ix_bool(c, true);
  case TP_IX_GE0: return tp_ix_ge0(tp_ix_addc(tp_ix_neg(a->arg[0]), -1));
  case TP_IX_EQ0: return with_arg(TP_IX_NOT, a);
  case TP_IX_NOT: return a->arg[0];
  default: break;
  }
  int64_t key[] = { TP_MEMO_NOT, a->id };
  tp_ix *no = tp_hmap_get(&c->memo, key, sizeof key), *v[a->narg];
  if (no) return no;
  for (int i = 0; i < a->narg; i++) v[i] = tp_ix_not(a->arg[i]);
  no = tp_ix_nary(a->kind == TP_IX_AND ? TP_IX_OR : TP_IX_AND, a->narg, v);
  tp_hmap_set(&c->memo, key, sizeof key, no);
  return no;
}

/* a: s >= 0 or s == 0 */
static bool literal_implies(tp_ix *a, tp_ix *b) {
  if (a->kind != TP_IX_GE0 && a->kind != TP_IX_EQ0) return false;
  bool eq = a->kind == TP_IX_EQ0, ne = b->kind == TP_IX_NOT;
  if (b->kind != TP_IX_GE0 && !ne) return false;
  tp_ix *x = a->arg[0], *y = ne ? b->arg[0]->arg[0] : b->arg[0];
  int64_t d;
  if (tp_ix_differ(y, 1, x, &d)) return !ne ? d >= 0 : eq ? d != 0 : d > 0;        /* y = x + d */
  if (tp_ix_differ(y, -1, x, &d)) return !ne ? eq && d >= 0 : eq ? d != 0 : d < 0; /* y = d - x */
  return false;
}

static bool implies(tp_ix *a, tp_ix *b) {
  if (a == b) return true;
  bool all = a->kind == TP_IX_OR || b->kind == TP_IX_AND;
  tp_ix *over = a->kind == TP_IX_OR ? a
      : b->kind == TP_IX_AND        ? b
      : a->kind == TP_IX_AND        ? a
      : b->kind == TP_IX_OR         ? b
                                    : NULL;
  if (!over) return literal_implies(a, b);
  for (int i = 0; i < over->narg; i++)
    if (implies(over == a ? over->arg[i] : a, over == b ? over->arg[i] : b) != all) return !all;
  return all;
}

/* done: the result is the constant that absorbs all operands. */
typedef struct {
  tp_ictx *c;
  tp_ixkind kind;
  int n;
  bool done;
  tp_ix **v;
} junction;

static void add_literal(junction *j, tp_ix *e) {
  bool conj = j->kind == TP_IX_AND;
  tp_ix *no = tp_ix_not(e);
  int64_t d;
  for (int i = 0; i < j->n; i++) {
    tp_ix *o = j->v[i];
    j->done |= conj ? implies(o, no) : implies(no, o);
    if (conj ? implies(o, e) : implies(e, o)) return;
  }
  for (int i = j->n - 1; i >= 0; i--)
    if (conj ? implies(e, j->v[i]) : implies(j->v[i], e)) j->v[i] = j->v[--j->n];
  for (int i = 0; i < j->n; i++)
    if (conj && e->kind == TP_IX_GE0 && j->v[i]->kind == TP_IX_GE0 &&
        tp_ix_differ(e->arg[0], -1, j->v[i]->arg[0], &d) && d == 0) {
      j->v[i] = j->v[--j->n];
      add_literal(j, tp_ix_eq0(e->arg[0]));
      return;
    }
  j->v[j->n++] = e;
}

static void add_all(junction *j, tp_ix *e) {
  if (e->kind == j->kind)
    for (int i = 0; i < e->narg; i++) add_all(j, e->arg[i]);
  else if (e->kind == TP_IX_TRUE || e->kind == TP_IX_FALSE)
    j->done |= (e->kind == TP_IX_TRUE) == (j->kind == TP_IX_OR);
  else add_literal(j, e);
}

tp_ix *tp_ix_join(tp_ictx *c, tp_ixkind kind, int n, tp_ixs part) {
  int most = 1;
  for (int i = 0; i < n; i++) {
    if (!part[i]) return NULL;
    most += TP_MAX(part[i]->narg, 1);
  }
  tp_ix *v[most];
  junction j = { .c = c, .kind = kind, .v = v };
  bool joined = n && part[0]->kind == kind; /* its operands are in order */
  for (int i = 0; joined && i < part[0]->narg; i++) v[j.n++] = part[0]->arg[i];
  for (int i = joined; i < n; i++) add_all(&j, part[i]);
  if (j.done || j.n == 0) return tp_ix_bool(c, j.done == (kind == TP_IX_OR));
  if (j.n == 1) return v[0];
  tp_ix_sort(v, j.n);
  return tp_ix_intern(c, &(tp_ix){ .kind = kind, .narg = j.n, .arg = v });
}

tp_ix *tp_ix_both(tp_ix *a, tp_ix *b) { return !a ? b : !b ? a : tp_ix_and(a, b); }
tp_ix *tp_ix_conjunct(tp_ix *cond, int k) {
  if (cond && cond->kind == TP_IX_AND) return k < cond->narg ? cond->arg[k] : NULL;
  return k ? NULL : cond;
}
tp_ix *tp_ix_and(tp_ix *a, tp_ix *b) {
  return a && b ? tp_ix_join(a->c, TP_IX_AND, 2, (tp_ix *[]){ a, b }) : NULL;
}
tp_ix *tp_ix_or(tp_ix *a, tp_ix *b) {
  return a && b ? tp_ix_join(a->c, TP_IX_OR, 2, (tp_ix *[]){ a, b }) : NULL;
}
