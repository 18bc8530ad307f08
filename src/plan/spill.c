/* spill: puts statements into the plan by which a run keeps to a limit of memory.
 *
 * A buffer may lie in a file that is mapped: then only what is in use for now has to be in memory.
 * Let a loop go through the rows of one of its dims: once the loops inside have been gone through,
 * each iteration uses the rows k * v + lo .. k * v + hi of the loop's variable v, for one k other
 * than 0. Then the rows behind these are let go as the loop goes on, and the rows after them are
 * asked for ahead. A part of the plan that has no such loop uses its rows all the time:
 *
 *   for v { spill x rows .. up; fetch x rows .. up; body }  spill x;
 *   fetch x rows ..; part; spill x rows ..
 *
 * Every dim with such loops is offered, the outermost of them, and all of the buffer where no dim
 * has them. Which buffers go to a file, and by which of these, is chosen for given bounds
 * (run/file.c); for the others these statements do nothing. None of them takes a position or
 * decides what a region reads: they only say what will be used. */
#include "plan/priv.h"

/* A buffer known to be of fewer bytes, or slots, is never worth a file. LONG: a buffer that is
 * unused for more regions may go. */
enum { SMALL = 1 << 16, FEW = 64, LONG = 2 };

/* One use of rows; made: it writes them. */
typedef struct row_use {
  tp_pnode *leaf;
  const tp_nd *nd;
  bool made;
} row_use;
typedef TP_VEC(row_use) uselist;
/* Statements around a part; inside: those where a loop's body begins. */
typedef struct spot {
  tp_pnodes before, inside, after;
} spot;
/* rows lo .. lo + n - 1, where the loop's variable has factor k; made: some are written */
typedef struct range {
  tp_ix *lo, *n;
  int64_t k;
  bool made;
} range;
typedef struct spiller {
  tp_plan *p;
  tp_ictx *ix;
  tp_hmap spots; /* of parts */
  tp_pnodes loads;
  const tp_pbuf *buf;
  const uselist *uses;
  int dim;
} spiller;

/* ---- uses ---- */

static void collect_uses(spiller *s, tp_pnode *body, uselist *l) {
  TP_EACH_NODE (k, body)
    if (k.x->kind == TP_P_LOAD) TP_PUSH(s->p->a, &s->loads, k.x);
  TP_EACH_WINDOW (k, body) {
    const tp_region *r = k.x->rg;
    bool made = r && k.window > r->nin && k.window <= r->nin + r->nout;
    TP_PUSH(s->p->a, &l[k.nd->buf], ((row_use){ k.x, k.nd, made }));
  }
}

/* Are there uses inside x? They are [*from, *to). */
static bool within(const spiller *s, const tp_pnode *x, int *from, int *to) {
  int i = 0;
  while (i < s->uses->n && s->uses->v[i].leaf->pos < x->pos) i++;
  *from = i;
  while (i < s->uses->n && s->uses->v[i].leaf->pos <= x->lastpos) i++;
  *to = i;
  return *from < *to;
}

/* ---- rows ---- */

/* The greatest (least) value of e while v goes through lo .. last; NULL: not known. */
static tp_ix *extreme(tp_ix *e, tp_sym *v, tp_ix *lo, tp_ix *last, bool above) {
  int64_t c;
  tp_ix *rest;
  if (!e || !tp_ix_mentions(e, v)) return e;
  e = tp_ix_edge(e, v, lo, last, above);
  if (!e || !tp_ix_linear_in(e, v, &c, &rest)) return NULL;
  return tp_ix_subst(e, 1, &v, above == (c > 0) ? &last : &lo);
}

/* A bound of e without v, as far as min(a, v) <= a or max(a, v) >= a gives one. */
static tp_ix *spared(spiller *s, tp_ix *e, tp_sym *v, bool above) {
  tp_ix *all = NULL, *const * atom;
  if (tp_ix_kind(e) == (above ? TP_IX_MIN : TP_IX_MAX))
    for (int i = 0; i < tp_ix_narg(e); i++)
      if (!tp_ix_mentions(tp_ix_arg(e, i), v))
        all = !all ? tp_ix_arg(e, i) : (above ? tp_ix_min : tp_ix_max)(all, tp_ix_arg(e, i));
  if (all || tp_ix_kind(e) != TP_IX_POLY) return all ? all : e;
  tp_ix *sum = e;
  for (int i = 0; i < tp_ix_nterm(e); i++) {
    int64_t k = tp_ix_coef(e, i);
    if (tp_ix_term(e, i, &atom) != 1 || !tp_ix_mentions(atom[0], v)) continue;
    sum =
        tp_ix_add(sum, tp_ix_mulc(tp_ix_sub(spared(s, atom[0], v, above == (k > 0)), atom[0]), k));
  }
  return sum;
}

/* The extreme over all loops between a leaf and the part `top`, and over all values that an end by
 * data may have. */
static tp_ix *beyond(spiller *s, tp_ix *e, const tp_pnode *leaf, const tp_pnode *top, bool above) {
  for (const tp_pnode *q = leaf; q != top; q = q->up)
    if (q->up->kind == TP_P_FOR && q->up != top)
      e = extreme(e, q->up->var, q->up->lo, tp_ix_addc(q->up->hi, -1), above);
  for (int i = 0; e && i < s->loads.n; i++)
    if (tp_ix_mentions(e, s->loads.v[i]->var))
      e = extreme(spared(s, e, s->loads.v[i]->var, above), s->loads.v[i]->var,
          tp_ix_const(s->ix, 0), s->loads.v[i]->given, above);
  return e;
}

/* The rows of one use, as they are in the body of `top`; lo NULL: not known. */
static tp_span rows_of(spiller *s, const row_use *u, const tp_pnode *top) {
  tp_span r = { NULL, NULL };
  if (!u->nd->nspan || s->dim < 0) return r;
  r.lo = beyond(s, u->nd->span[s->dim].lo, u->leaf, top, false);
  r.hi = beyond(s, u->nd->span[s->dim].hi, u->leaf, top, true);
  return r.lo && r.hi ? r : (tp_span){ NULL, NULL };
}

static void stretch_rows(tp_span *all, tp_span more) {
  all->lo = all->lo ? tp_ix_min(all->lo, more.lo) : more.lo;
  all->hi = all->hi ? tp_ix_max(all->hi, more.hi) : more.hi;
}

static tp_ix *number_of_rows(tp_span r) { return tp_ix_addc(tp_ix_sub(r.hi, r.lo), 1); }

/* Does the loop go through the rows? */
static bool slides(spiller *s, const tp_pnode *loop, range *r) {
  int from, to;
  tp_span all = { NULL, NULL };
  *r = (range){ 0 };
  if (loop->kind != TP_P_FOR || !within(s, loop, &from, &to)) return false;
  tp_ix *last = tp_ix_addc(loop->hi, -1);
  for (int i = from; i < to; i++) {
    int64_t kl, kh;
    tp_span one = rows_of(s, &s->uses->v[i], loop);
    if (!one.lo) return false;
    one.lo = tp_ix_edge(one.lo, loop->var, loop->lo, last, false);
    one.hi = tp_ix_edge(one.hi, loop->var, loop->lo, last, true);
    if (!one.lo || !one.hi || !tp_ix_linear_in(one.lo, loop->var, &kl, &one.lo) ||
        !tp_ix_linear_in(one.hi, loop->var, &kh, &one.hi))
      return false;
    if (!kl || kl != kh || (r->k && r->k != kl)) return false;
    r->k = kl;
    r->made |= s->uses->v[i].made;
    stretch_rows(&all, one);
  }
  r->lo = tp_ix_add(tp_ix_mulc(tp_ix_sym(loop->var), r->k), all.lo);
  r->n = number_of_rows(all);
  return true;
}

/* Takes a few rows more than clipped blocks have, so that their number does not depend on the loops
 * around x if these only move them. */
static void unclip(const tp_pnode *x, tp_span *r) {
  for (const tp_pnode *q = x->up; q; q = q->up) {
    if (q->kind != TP_P_FOR) continue;
    tp_ix *last = tp_ix_addc(q->hi, -1);
    tp_span w = { tp_ix_edge(r->lo, q->var, q->lo, last, false),
      tp_ix_edge(r->hi, q->var, q->lo, last, true) };
    if (w.lo && w.hi && !tp_ix_mentions(tp_ix_sub(w.hi, w.lo), q->var)) *r = w;
  }
}

/* The rows that the parts use together: all of a dim if nothing better is known. */
static range hull(spiller *s, const tp_pnode *const *part, int n) {
  range all = { tp_ix_const(s->ix, 0), s->dim < 0 ? tp_ix_const(s->ix, 1) : s->buf->slots[s->dim],
    0, false };
  tp_span rows = { NULL, NULL };
  bool known = true;
  for (int k = 0; k < n; k++) {
    int from, to;
    if (!within(s, part[k], &from, &to)) continue;
    for (int i = from; i < to; i++) {
      tp_span one = rows_of(s, &s->uses->v[i], part[k]->up);
      all.made |= s->uses->v[i].made;
      if ((known &= one.lo != NULL)) stretch_rows(&rows, one);
    }
  }
  if (!known || !rows.lo) return all;
  unclip(part[0], &rows);
  return (range){ rows.lo, number_of_rows(rows), 0, all.made };
}

/* ---- statements ---- */

static tp_pnode *spill_statement(spiller *s, tp_pkind kind, const range *r, int step) {
  tp_pnode *x = TP_NEW(s->p->a, tp_pnode);
  int dim = s->dim;
  for (int k = 0; dim >= 0 && s->buf->order && k < s->buf->ndim; k++)
    if (s->buf->order[k] == s->dim) dim = k;
  *x = (tp_pnode){ .kind = kind,
    .buf = s->buf->id,
    .dim = dim,
    .lo = r->lo,
    .hi = r->n,
    .step = step,
    .made = kind == TP_P_FETCH && r->made };
  return x;
}

static spot *spot_of(spiller *s, const tp_pnode *x) {
  spot *at = tp_hmap_get(&s->spots, &x, sizeof x);
  if (at) return at;
  at = TP_NEW(s->p->a, spot);
  tp_hmap_set(&s->spots, &x, sizeof x, at);
  return at;
}

static void around_loop(spiller *s, const tp_pnode *x, const range *r) {
  spot *at = spot_of(s, x);
  int step = (r->k > 0) == (x->step > 0) ? 1 : -1;
  range none = { tp_ix_const(s->ix, 0), tp_ix_const(s->ix, 0), 0, false };
  TP_PUSH(s->p->a, &at->inside, spill_statement(s, TP_P_SPILL, r, step));
  TP_PUSH(s->p->a, &at->inside, spill_statement(s, TP_P_FETCH, r, step));
  TP_PUSH(s->p->a, &at->after, spill_statement(s, TP_P_SPILL, &none, 0));
}

/* Puts statements around parts that follow each other. */
static void around_parts(spiller *s, const tp_pnode *const *part, int n) {
  range r = hull(s, part, n);
  TP_PUSH(s->p->a, &spot_of(s, part[0])->before, spill_statement(s, TP_P_FETCH, &r, 0));
  TP_PUSH(s->p->a, &spot_of(s, part[n - 1])->after, spill_statement(s, TP_P_SPILL, &r, 0));
}

/* ---- which parts ---- */

static bool has_sliding(spiller *s, const tp_pnode *x) {
  range r;
  TP_EACH_NODE (k, x)
    if (slides(s, k.x, &r)) return true;
  return false;
}

static void spill_visit(spiller *s, const tp_pnode *x);

/* Does the next part of a row belong to the same use? */
static bool goes_on(spiller *s, const tp_pnode *x, int first, int next) {
  const tp_pnode *const *kid = (const tp_pnode *const *)x->kid;
  range a = hull(s, kid + first, next - first), b = hull(s, kid + next, 1);
  return x->kind == TP_P_SEQ && a.lo == b.lo && a.n == b.n;
}

static void visit_kids(spiller *s, const tp_pnode *x) {
  int from, to, first = -1, last = -1;
  for (int i = 0; i < x->n; i++) {
    if (!within(s, x->kid[i], &from, &to)) continue;
    bool inner = x->kid[i]->n > 0 &&
        (s->dim < 0 || x->kid[i]->kind != TP_P_FOR || has_sliding(s, x->kid[i]));
    if (first >= 0 && (inner || i > last + 1 || !goes_on(s, x, first, i))) {
      around_parts(s, (const tp_pnode *const *)x->kid + first, last + 1 - first);
      first = -1;
    }
    if (inner) spill_visit(s, x->kid[i]);
    else if (first < 0) first = i;
    last = i;
  }
  if (first >= 0) around_parts(s, (const tp_pnode *const *)x->kid + first, last + 1 - first);
}

/* Puts statements around the loops in x that slide or, if the buffer has none, around parts that
 * use it. */
static void spill_visit(spiller *s, const tp_pnode *x) {
  range r;
  if (slides(s, x, &r)) around_loop(s, x, &r);
  else visit_kids(s, x);
}

static void offer(spiller *s, const tp_pbuf *b, const uselist *uses) {
  int64_t v;
  bool any = false, gap = false; /* gap: is it unused for long? */
  if (b->kind != TP_BUF_TEMP || !uses->n ||
      (tp_ix_is_const(b->size, &v) && v * tp_dtype_size(b->dtype) < SMALL))
    return;
  s->buf = b;
  s->uses = uses;
  for (s->dim = 0; s->dim < b->ndim; s->dim++) {
    if (tp_known_most(b->slots[s->dim], &v) && v <= FEW) continue;
    if (!has_sliding(s, s->p->body)) continue;
    any = true;
    spill_visit(s, s->p->body);
  }
  s->dim = -1;
  for (int i = 1; i < uses->n; i++) gap |= uses->v[i].leaf->pos - uses->v[i - 1].leaf->pos > LONG;
  if (!any && gap && s->p->body->n) spill_visit(s, s->p->body);
}

/* ---- the new tree ---- */

static void append(spiller *s, tp_pnodes *l, const tp_pnodes *more) {
  for (int i = 0; i < more->n; i++) TP_PUSH(s->p->a, l, more->v[i]);
}

/* Appends x to l, with the statements around and inside of it. */
static void put_around(spiller *s, tp_pnode *x, tp_pnodes *l) {
  static const spot nothing;
  const spot *at = tp_hmap_get(&s->spots, &x, sizeof x);
  tp_pnodes in = { 0 };
  if (!at) at = &nothing;
  append(s, l, &at->before);
  TP_PUSH(s->p->a, l, x);
  append(s, l, &at->after);
  append(s, &in, &at->inside);
  for (int i = 0; i < x->n; i++) {
    put_around(s, x->kid[i], &in);
    if (x->kind == TP_P_SEQ) continue;
    x->kid[i] = tp_plan_seq(s->p->a, in.n, in.v);
    in = (tp_pnodes){ 0 };
  }
  if (x->kind == TP_P_SEQ) x->n = in.n, x->kid = in.v;
}

void tp_plan_limit(tp_plan *p, const tp_planned *asked) {
  spiller s = { .p = p, .ix = p->ix };
  tp_pnodes l = { 0 };
  if ((p->limit = asked->limit)) {
    uselist *uses = TP_NEWN(p->a, uselist, p->bufs.n);
    tp_hmap_init(&s.spots, p->a);
    collect_uses(&s, p->body, uses);
    for (int i = 0; i < p->bufs.n; i++) offer(&s, p->bufs.v[i], &uses[i]);
    put_around(&s, p->body, &l);
    p->body = tp_plan_seq(p->a, l.n, l.v);
    tp_plan_number(p);
  }
  /* runs do not use these fields */
  TP_EACH_WINDOW (k, p->body) k.nd->nspan = 0, k.nd->ahead = NULL;
}
