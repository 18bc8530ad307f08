/* spill: statements that let a run keep to a limit of memory.
 *
 * A buffer with a dim that is whole may be kept in a file: at any moment only the rows in use have to be in memory. Let a loop go through its rows: each iteration uses
 * the rows lo .. hi, linear in the loop's variable with one coefficient, once the loops inside have been gone through. Then what lies behind lo (or hi, downwards)
 * leaves memory as the loop goes on, and what comes after hi is fetched ahead where the loop reads what was made before it:
 *
 *   for t { fetch x lo..hi; body; spill x lo..hi }  spill x
 *
 * A region outside of such a loop uses its own rows, and is followed by a spill of everything. Which buffers go to a file is decided for given bounds (device/spill.c);
 * for the others these statements do nothing. */
#include "plan/build.h"

typedef struct rows { const tp_ix *lo, *hi; bool made; } rows; /* made: written, not added to */
typedef TP_VEC(rows) rowlist;
typedef struct spiller { tp_plan *p; tp_ictx *ix; const tp_pbuf *buf; int dim, whole; bool known; } spiller;   /* whole: regions that use all rows; known: all rows are */

/* ---- rows that a part of the plan uses ---- */

static void note(spiller *s, rowlist *l, const tp_nd *x, bool made) {
  if (x->buf != s->buf->id) return;
  const tp_ix *lo = x->span ? x->span[2 * s->dim] : NULL, *hi = x->span ? x->span[2 * s->dim + 1] : NULL;
  s->known &= lo && hi;
  TP_PUSH(s->p->a, l, ((rows){ lo, hi, made }));
}

/* The least (greatest) value of e while the loop's variable goes through its range. */
static const tp_ix *over_loop(spiller *s, const tp_ix *e, const tp_pnode *loop, bool above) {
  int64_t c; const tp_ix *rest;
  if (!e || !tp_ix_mentions(e, loop->var)) return e;
  e = tp_ix_edge(s->ix, e, loop->var, above);
  if (!e || !tp_ix_linear_in(s->ix, e, loop->var, &c, &rest)) return NULL;
  const tp_ix *at = above == (c > 0) ? tp_ix_addc(s->ix, loop->hi, -1) : loop->lo;
  return tp_ix_subst(s->ix, e, 1, &loop->var, &at);
}

static void gather(spiller *s, const tp_pnode *x, rowlist *l) {
  int from = l->n;
  if (x->kind == TP_P_LOAD) note(s, l, x->nd, false);
  if (x->kind == TP_P_REGION && x->rg->kind != TP_RG_SPILL && x->rg->kind != TP_RG_FETCH) {
    for (int i = 0; i < x->rg->nin; i++) note(s, l, &x->rg->in[i], false);
    for (int i = 0; i < x->rg->nout; i++) note(s, l, &x->rg->out[i], !x->rg->acc);
    for (int i = 0; i < x->rg->nrows; i++) note(s, l, &x->rg->rows[i].nd, false);
  }
  for (int i = 0; i < x->n; i++) gather(s, x->kid[i], l);
  for (int i = from; i < l->n && x->kind == TP_P_FOR; i++) {
    l->v[i].lo = over_loop(s, l->v[i].lo, x, false);
    l->v[i].hi = over_loop(s, l->v[i].hi, x, true);
    s->known &= l->v[i].lo && l->v[i].hi;
  }
}

/* The hull of all of them as the loop's variable has it: k * var + lo .. k * var + hi. */
static bool local(spiller *s, const tp_pnode *loop, const rowlist *l, int64_t *k, const tp_ix **lo, const tp_ix **hi) {
  *k = 0;
  for (int i = 0; i < l->n; i++) {
    const tp_ix *a = tp_ix_edge(s->ix, l->v[i].lo, loop->var, false), *b = tp_ix_edge(s->ix, l->v[i].hi, loop->var, true);
    int64_t ka, kb;
    if (!a || !b || !tp_ix_linear_in(s->ix, a, loop->var, &ka, &a) || !tp_ix_linear_in(s->ix, b, loop->var, &kb, &b)) return false;
    if (ka == 0 || ka != kb || (i && ka != *k)) return false;
    *k = ka;
    *lo = i ? tp_ix_min(s->ix, *lo, a) : a;
    *hi = i ? tp_ix_max(s->ix, *hi, b) : b;
  }
  return l->n > 0;
}

/* ---- statements ---- */

static tp_pnode *statement(spiller *s, tp_rgkind kind, const tp_ix *lo, const tp_ix *count, int way) {
  tp_region *r = TP_NEW(s->p->a, tp_region);
  *r = (tp_region){ .kind = kind, .pos = s->buf->pos, .nin = 1, .nix = 4 };
  r->in = TP_NEW(s->p->a, tp_nd);
  *r->in = (tp_nd){ .buf = s->buf->id, .off = tp_ix_const(s->ix, 0), .wrap = -1 };
  r->ix = TP_NEWN(s->p->a, const tp_ix *, 4);
  r->ix[0] = lo; r->ix[1] = count; r->ix[2] = tp_ix_const(s->ix, s->dim); r->ix[3] = tp_ix_const(s->ix, way);
  tp_pnode *x = TP_NEW(s->p->a, tp_pnode);
  *x = (tp_pnode){ .kind = TP_P_REGION, .rg = r };
  return x;
}

static tp_pnode *row_of(spiller *s, int n, tp_pnode **kid) {
  tp_pnode *x = TP_NEW(s->p->a, tp_pnode);
  *x = (tp_pnode){ .kind = TP_P_SEQ, .n = n, .kid = tp_dup(s->p->a, kid, sizeof *kid * (size_t)n) };
  return x;
}

static tp_pnode *everything(spiller *s) { return statement(s, TP_RG_SPILL, tp_ix_const(s->ix, 0), tp_ix_const(s->ix, 0), 0); }

static tp_pnode *around_loop(spiller *s, tp_pnode *x, const rowlist *l, int64_t k, const tp_ix *lo, const tp_ix *hi) {
  const tp_ix *at = tp_ix_add(s->ix, tp_ix_mulc(s->ix, tp_ix_sym(s->ix, x->var), k), lo), *count = tp_ix_addc(s->ix, tp_ix_sub(s->ix, hi, lo), 1);
  int way = (k > 0) == (x->step > 0) ? 1 : -1;
  bool made = false;
  for (int i = 0; i < l->n; i++) made |= l->v[i].made;
  tp_pnode *body[3] = { statement(s, TP_RG_FETCH, at, count, way), x->kid[0], statement(s, TP_RG_SPILL, at, count, way) };
  x->kid[0] = row_of(s, 3 - made, body + made);
  return row_of(s, 2, (tp_pnode *[]){ x, everything(s) });
}

/* A part that uses the buffer, with its statements; only looked at where `write` is false. */
static tp_pnode *visit(spiller *s, tp_pnode *x, bool write) {
  rowlist l = { 0 };
  int64_t k;
  const tp_ix *lo, *hi;
  gather(s, x, &l);
  if (!l.n) return x;
  if (x->kind == TP_P_REGION || x->kind == TP_P_LOAD) {
    lo = l.v[0].lo; hi = l.v[0].hi;
    for (int i = 1; i < l.n && s->known; i++) { lo = tp_ix_min(s->ix, lo, l.v[i].lo); hi = tp_ix_max(s->ix, hi, l.v[i].hi); }
    s->whole++;
    return write ? row_of(s, 2, (tp_pnode *[]){ x, statement(s, TP_RG_SPILL, lo, tp_ix_addc(s->ix, tp_ix_sub(s->ix, hi, lo), 1), 0) }) : x;
  }
  if (x->kind == TP_P_FOR) {
    rowlist in = { 0 };
    gather(s, x->kid[0], &in);
    if (local(s, x, &in, &k, &lo, &hi)) return write ? around_loop(s, x, &in, k, lo, hi) : x;
  }
  for (int i = 0; i < x->n; i++) x->kid[i] = visit(s, x->kid[i], write);
  return x;
}

/* ---- which ---- */

static bool is_whole(const tp_plan *p, const tp_pbuf *b, int d) { return b->slots[d] == tp_ix_sym(p->g->ix, p->poly->arrs.v[b->id]->dim[d]->bound); }

/* The dim whose loops leave the fewest regions outside; rows have to be known for all that uses the buffer. */
static void add_statements(tp_plan *p, const tp_pbuf *b) {
  int best = -1, least = 0;
  for (int d = 0; d < b->ndim; d++) {
    spiller s = { .p = p, .ix = p->g->ix, .buf = b, .dim = d, .known = true };
    if (!is_whole(p, b, d)) continue;
    visit(&s, p->body, false);
    if (s.known && (best < 0 || s.whole < least)) { best = d; least = s.whole; }
  }
  spiller s = { .p = p, .ix = p->g->ix, .buf = b, .dim = best, .known = true };
  if (best >= 0) p->body = visit(&s, p->body, true);
}

void tp_plan_limit(tp_plan *p, int64_t bytes) {
  p->limit = bytes;
  if (!bytes) return;
  for (int i = 0; i < p->poly->arrs.n; i++)
    if (p->bufs.v[i]->kind == TP_BUF_TEMP && p->bufs.v[i]->first >= 0) add_statements(p, p->bufs.v[i]);
  for (int i = 0; i < p->bufs.n; i++) p->bufs.v[i]->first = p->bufs.v[i]->last = -1;
  tp_plan_lifetimes(p, p->bufs.v);              /* arrays have the first buffers */
}
