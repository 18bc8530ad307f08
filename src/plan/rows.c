/* rows: products of the rows of a block become one over what they share.
 *
 *   for t = lo .. hi { s[t, 0 .. t + 1] = q[t] K[0 .. t + 1] }
 *   =>  s[lo .. hi, 0 .. lo + 1] = q[lo .. hi] K[0 .. lo + 1]
 *       for t = lo .. hi { s[t, lo + 1 .. t + 1] = q[t] K[lo + 1 .. t + 1] }
 *
 * A loop that a statement has for itself (poly/order/block.c) is around one product, or a sum of
 * outer ones. One axis follows t: at t it goes over the places u = b t .. b t + e(t) of some
 * window, for which t does not matter otherwise: b is 0 for a range that begins at one place, 1 for
 * one that slides. The places first .. last that all rows of the block go over become one product
 * with an axis more; the places before and behind these stay row by row, and are at most a block.
 * If the axis is summed, the rest is added to the product; if the result moves with u alone, rows
 * are added up. All axes of operands become the region's own, so that strips (strip.c) may go along
 * any. Nothing else runs between the turns of the loop, and it reads nothing that it writes, so
 * their order is no matter. */
#include "plan/priv.h"

enum { A, B, OUT, WINDOWS };

typedef struct {
  tp_plan *p;
  tp_ictx *ix;
  const tp_pnode *x;
  tp_sym *var;
  /* the product of one row, all axes of its operands among its own */
  tp_region *r;
  int along;     /* the axis that follows the loop */
  tp_ix *extent; /* of that axis, at the variable */
  /* by how much a row's extent, and its first place, grow from one row to the next */
  int64_t grows, moves;
  tp_ix *step[WINDOWS], *each[WINDOWS]; /* a window's step from row to row, from place to place */
  tp_ix *first, *last;                  /* places that all rows go over */
} rower;

static tp_ix *at(const rower *w, tp_ix *e, tp_ix *v) { return tp_ix_subst(e, 1, &w->var, &v); }
static tp_ix *last_row(const rower *w) { return tp_ix_addc(w->x->hi, -1); }
static tp_ix *first_place(const rower *w) { /* of a row */
  return tp_ix_mulc(tp_ix_sym(w->var), w->moves);
}
static bool follows(const rower *w, tp_ix *e) { return tp_ix_mentions(e, w->var); }

/* ---- which products ---- */

static bool is_summed(tp_dtype d) { return !tp_half(d) && d != TP_BOOL; }

static bool is_outer(const tp_region *r) {
  const tp_micro *m = r->micro;
  bool adds = r->kind == TP_RG_LOOP && r->acc && r->red == TP_RED_SUM && !r->sums && r->nin == 2;
  if (!adds || r->nmicro < 1 || r->nmicro > 2 || r->outmicro[0] != r->nmicro - 1) return false;
  bool copied = r->nmicro == 1 || (m[1].op == TP_OP_DETACH && m[1].in[0] == 2);
  return copied && m[0].op == TP_OP_MUL && m[0].in[0] + m[0].in[1] == 1;
}

static bool is_joined(const tp_plan *p, const tp_region *r) {
  bool matrix = r->kind == TP_RG_OP && r->op == TP_OP_MATMUL && (!r->acc || r->red == TP_RED_SUM);
  bool plain = r->nout == 1 && r->nin == 2 && !r->check && !r->first && !r->ncoord && !r->nrows;
  if (!plain || (!matrix && !is_outer(r))) return false;
  tp_dtype d = p->bufs.v[r->out[0].buf]->dtype;
  for (int i = 0; i < r->nin; i++) {
    tp_dtype in = p->bufs.v[r->in[i].buf]->dtype;
    bool widened = matrix && d == TP_F32 && tp_half(in);
    if (r->in[i].buf == r->out[0].buf || (in != d && !widened)) return false;
  }
  return is_summed(d) && r->out[0].wrap < 0 && r->in[0].wrap < 0 && r->in[1].wrap < 0;
}

/* ---- axes ---- */

typedef struct {
  tp_ix *n, *stride[WINDOWS];
} product_axis;

static product_axis axis_at(const rower *w, const tp_region *r, const int *own) {
  product_axis x = { .n = tp_ix_const(w->ix, 1) };
  for (int i = 0; i < WINDOWS; i++) {
    const tp_nd *v = tp_window_at(r, i);
    bool moves = own[i] >= 0 && !tp_is_number(v->shape[own[i]], 1);
    x.stride[i] = moves ? v->stride[own[i]] : tp_ix_const(w->ix, 0);
    if (moves) x.n = v->shape[own[i]];
  }
  return x;
}

/* Finds the axes of operands: batches, rows, columns, terms; not those of one place. */
static int own_axes(const rower *w, const tp_region *r, product_axis *to) {
  int n = 0, last = r->kind == TP_RG_LOOP ? -1 : r->out[0].rank - 1;
  for (int k = 0; k < last + 2; k++) {
    int a = k < last ? k : k == last ? -1 : last, b = k == last - 1 ? -1 : k <= last ? k : last - 1;
    int own[WINDOWS] = { a, b, k <= last ? k : -1 };
    to[n] = axis_at(w, r, own);
    n += !tp_is_number(to[n].n, 1);
  }
  return n;
}

/* The product with all axes of its operands as the region's own. */
static tp_region *over_all_axes(rower *w, const tp_region *r) {
  tp_arena *a = w->p->a;
  product_axis own[TP_MAXRANK + 1];
  tp_region *o = tp_region_copy(w->p, r);
  int n = own_axes(w, r, own), all = r->nlead + n;
  o->kind = TP_RG_OP, o->op = TP_OP_MATMUL, o->npoint = o->nmicro = 0;
  o->lead = TP_NEWN(a, tp_ix *, all);
  o->leadlo = TP_NEWN(a, tp_ix *, all);
  o->leadvar = TP_NEWN(a, tp_sym *, all);
  for (int k = 0; k < all; k++) {
    bool is = k < r->nlead;
    o->lead[k] = is ? r->lead[k] : own[k - r->nlead].n;
    o->leadlo[k] = is ? r->leadlo[k] : tp_ix_const(w->ix, 0);
    o->leadvar[k] = is ? r->leadvar[k] : tp_sym_var(w->ix, "a");
  }
  for (int i = 0; i < WINDOWS; i++) {
    tp_nd *v = tp_window_at(o, i);
    tp_ixs lead = v->lead;
    v->lead = TP_NEWN(a, tp_ix *, all);
    for (int k = 0; k < all; k++) v->lead[k] = k < r->nlead ? lead[k] : own[k - r->nlead].stride[i];
    v->rank = 2;
    v->shape = TP_NEWN(a, tp_ix *, 2);
    v->stride = TP_NEWN(a, tp_ix *, 2);
    for (int k = 0; k < 2; k++)
      v->shape[k] = tp_ix_const(w->ix, 1), v->stride[k] = tp_ix_const(w->ix, 0);
  }
  o->nlead = all;
  return o;
}

/* Finds the only axis whose extent follows the loop. */
static bool find_axis(rower *w) {
  tp_ix *rest;
  int n = 0;
  for (int k = 0; k < w->r->nlead; k++) {
    if (follows(w, w->r->leadlo[k])) return false;
    if (!follows(w, w->r->lead[k])) continue;
    w->along = k;
    w->extent = w->r->lead[k];
    n++;
  }
  return n == 1 && tp_ix_linear_in(w->extent, w->var, &w->grows, &rest);
}

static bool find_steps(rower *w) {
  for (int i = 0; i < WINDOWS; i++) {
    const tp_nd *x = tp_window_at(w->r, i);
    if (!(w->step[i] = tp_step_of(w->r, x, w->var, true))) return false;
    w->each[i] = x->lead[w->along];
  }
  return true;
}

/* The step of window i from row to row at one place. */
static tp_ix *step_at_place(const rower *w, int i, int64_t moves) {
  return tp_ix_sub(w->step[i], tp_ix_mulc(w->each[i], moves));
}

/* How many windows stay where they are from row to row, if the first place moves so; -1: it
 * cannot. */
static int shared(const rower *w, int64_t moves) {
  int n = 0;
  for (int i = 0; i < WINDOWS; i++) {
    bool stays = !tp_is_number(w->each[i], 0) && tp_is_number(step_at_place(w, i, moves), 0);
    if (stays && i == OUT && !w->r->acc) return -1;
    n += stays;
  }
  return n;
}

static bool find_places(rower *w) {
  int most = 0;
  for (int i = 0; i < WINDOWS; i++) {
    int64_t b;
    tp_ix *q = tp_is_number(w->each[i], 0) ? NULL : tp_ix_divexact(w->step[i], w->each[i]);
    if (!q || !tp_ix_is_const(q, &b) || shared(w, b) <= most) continue;
    most = shared(w, b);
    w->moves = b;
  }
  if (!most) return false;
  int64_t ends = w->moves + w->grows;
  tp_ix *begin = first_place(w), *end = tp_ix_add(begin, w->extent);
  w->first = at(w, begin, w->moves > 0 ? last_row(w) : w->x->lo);
  w->last = tp_ix_max(w->first, at(w, end, ends > 0 ? w->x->lo : last_row(w)));
  return true;
}

/* ---- the parts ---- */

/* The region over n places of the axis from `from` on, which is a row's own first place if NULL. */
static tp_region *part(const rower *w, const tp_region *r, tp_ix *from, tp_ix *n) {
  tp_region *to = tp_region_copy(w->p, r);
  to->lead[w->along] = n;
  for (int i = 0; from && i < WINDOWS; i++) {
    tp_nd *v = tp_window_at(to, i);
    tp_ix *ahead = tp_ix_mul(w->each[i], tp_ix_sub(from, first_place(w)));
    v->axis = tp_moves_along(w->p, w->r, tp_window_at(w->r, i), w->along);
    v->ahead = v->axis < 0 ? NULL : ahead;
    v->off = tp_ix_add(v->off, ahead);
  }
  return to;
}

/* The region as it was, over the places that the rows do not share. */
static tp_pnode *rests(const rower *w, const tp_region *was) {
  tp_ix *begin = first_place(w), *end = tp_ix_add(begin, w->extent);
  tp_pnode *v[2];
  int n = 0;
  if (w->moves)
    v[n++] = tp_plan_leaf(w->p->a, part(w, was, NULL, tp_ix_sub(tp_ix_min(w->first, end), begin)));
  if (w->moves + w->grows)
    v[n++] = tp_plan_leaf(
        w->p->a, part(w, was, w->last, tp_ix_max(tp_ix_const(w->ix, 0), tp_ix_sub(end, w->last))));
  for (int i = 0; i < n && tp_is_number(w->each[OUT], 0); i++)
    v[i]->rg->acc = true, v[i]->rg->red = TP_RED_SUM;
  tp_pnode *x = TP_DUPN(w->p->a, w->x, 1), *body = tp_plan_seq(w->p->a, n, v);
  x->kid = TP_DUPN(w->p->a, &body, 1);
  x->block = false;
  return n ? x : body;
}

static void join_rows(tp_plan *p, tp_pnode *x) {
  const tp_region *was = tp_only_leaf(x->kid[0]);
  rower w = { .p = p, .ix = p->ix, .x = tp_dup(p->a, x, sizeof *x), .var = x->var };
  if ((x->step != 1 && x->step != -1) || !was || !is_joined(p, was)) return;
  w.r = over_all_axes(&w, was);
  if (w.r->nlead + 3 > TP_MAXRANK || !find_axis(&w) || !find_steps(&w) || !find_places(&w)) return;
  /* the product over all rows, which are its first axis */
  tp_region *all = part(&w, w.r, w.first, tp_ix_sub(w.last, w.first));
  tp_ix *by[WINDOWS];
  for (int i = 0; i < WINDOWS; i++) by[i] = step_at_place(&w, i, w.moves);
  tp_add_axis(p, all, x, by);
  tp_pnode *v[] = { tp_plan_leaf(p->a, all), rests(&w, was->kind == TP_RG_LOOP ? was : w.r) };
  tp_become(x, tp_plan_seq(p->a, 2, v));
}

void tp_plan_rows(tp_plan *p, const tp_planned *asked) {
  (void)asked;
  TP_KIDS_FIRST (k, p->body) {
    if (k.x->kind == TP_P_FOR && k.x->block) join_rows(p, k.x);
    k.x->block = false;
  }
}
