/* move.c: has the interpreter's table, and runs LOOPs that only copy elements. */
#include "interp/ew.h"

/* cell: the element of a fill, in place of an operand */
typedef struct tp_dcopy {
  tp_pair p;
  bool fills;
  uint64_t cell;
} tp_dcopy;

static bool run_copy(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *in = &r->in[0];
  tp_dcopy *c = r->k;
  int64_t n = c->p.ext[0];
  if (c->fills && c->cell == 0 && c->p.rank == 1 && c->p.so[0] == 1 && !c->p.empty)
    memset(o->v.p, 0, (size_t)(n * o->size));
  else if (c->fills) tp_pair_copy(x, o->size, &c->p, o->v.p, &c->cell);
  else if (o->wrap >= 0 || in->wrap >= 0) tp_wrapped_copy(x, o->size, o, in);
  else tp_pair_copy(x, o->size, &c->p, o->v.p, in->v.p);
  return true;
}

static bool bind_copy(tp_exec *x, tp_dreg *r) {
  tp_dcopy *c = r->k;
  tp_view from = c->fills ? r->out[0].v : r->in[0].v;
  (void)x;
  if (c->fills) memset(from.stride, 0, sizeof from.stride);
  tp_pair_make(&c->p, &r->out[0].v, &from);
  return true;
}

static void copy_new(tp_exec *x, tp_dreg *r) {
  tp_dcopy *c = r->k = TP_NEW(&x->a, tp_dcopy);
  c->fills = r->rg->nmicro;
  if (c->fills) tp_put(r->out[0].dtype, &c->cell, 0, r->rg->micro->f);
  r->bind = bind_copy;
  r->run = run_copy;
}

/* Writes a loop of numbers only to its place, without working memory. */
static bool run_value(tp_exec *x, tp_dreg *r) {
  tp_put_numbers(x, r, r->k, r->out[0].dtype, &r->out[0].v);
  return true;
}

static bool bind_value(tp_exec *x, tp_dreg *r) {
  tp_dx_bind(r->k, x->env);
  return true;
}

static void value_new(tp_exec *x, tp_dreg *r) {
  tp_dx e = tp_dx_new(&x->a, r->rg->micro->ix);
  r->k = tp_dup(&x->a, &e, sizeof e);
  r->bind = bind_value;
  r->run = run_value;
}

static void loop_new(tp_exec *x, tp_dreg *r) {
  const tp_region *g = r->rg;
  bool plain = !g->acc && !g->sums && r->nout == 1;
  tp_op one = g->nmicro == 1 ? g->micro->op : TP_NOP;
  if (plain && (!g->nmicro || one == TP_OP_FILL)) copy_new(x, r);
  else if (plain && one == TP_OP_VALUE) value_new(x, r);
  else tp_ew_new(x, r);
}

/* ---- the table ---- */

static bool open_cpu(tp_exec *x) {
  x->own = TP_NEW(&x->a, struct tp_cpu);
  tp_cpu(x)->same = x->plan->reproducible;
  tp_cpu(x)->K = tp_cpu(x)->same ? tp_kernels_plain_get() : tp_kernels_get();
  return true;
}

static void make(tp_exec *x, tp_dreg *r) {
  if (r->rg->kind == TP_RG_LOOP) loop_new(x, r);
  else if (r->rg->kind == TP_RG_OP) tp_op_new(x, r);
  else r->run = tp_run_pinit;
}

static bool take_scratch(tp_exec *x) {
  size_t n = tp_cpu(x)->scratch_size;
  tp_cpu(x)->scratch = tp_alloc_aligned(n);
  return tp_cpu(x)->scratch ||
      tp_fail(x->err, TP_E_MEMORY, (tp_pos){ 0 }, "no memory for %lld bytes of working space",
          (long long)n);
}

static void close_cpu(tp_exec *x) {
  if (tp_cpu(x)) tp_free_aligned(tp_cpu(x)->scratch);
}

static bool is_alike(const tp_exec *x, const tp_dreg *whole, const tp_dreg *part) {
  return whole->rg->kind != TP_RG_OP || tp_op_alike(x, whole, part);
}

const tp_target tp_interp = { open_cpu, make, take_scratch, close_cpu, is_alike, tp_wrapped_copy,
  tp_turn, tp_cpu_speed };
