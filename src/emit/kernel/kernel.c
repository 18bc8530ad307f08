/* kernel.c: prints leaves and loops of a plan as kernels in the dialect of devices
 * (kernels/gpu/dialect.h).
 *
 *   for t = 0 .. T - 1 { loop over | a0 = 0 for B .. }    =>    for t: each thread makes its share
 *                                                              of 0 .. B - 1, then all meet
 *
 * A leaf's points are shared by threads, each with all terms that are added to it, in the plan's
 * order: bits are those of other targets. That is right where no two points touch an element that
 * one of them writes (is_shared); else one thread makes all points, in order. */
#include "emit/body/nest.h"
#include "base/env.h"

static const char *const device_cells[] = {
#define D(N, t, c, b, f) "GLOBAL " #c,
#include "base/dtypes.def"
#undef D
};
static const tp_emit_target device = { false, true, device_cells, NULL };

/* ---- which leaves ---- */

/* The place of the window's first element in memory, or (most) of its last. */
static const tp_ix *edge_of(tp_emit *e, const tp_region *r, const tp_nd *nd, bool most) {
  const tp_ix *at = nd->off;
  for (int i = 0; i < r->nlead && nd->lead; i++) {
    int64_t k;
    bool up =
        tp_ix_is_const(nd->lead[i], &k) ? k > 0 : tp_ix_prove_ge0(e->ix, nd->lead[i], 0, NULL);
    if (up != most) continue;
    at = tp_ix_add(e->ix, at, tp_ix_mul(e->ix, nd->lead[i], tp_ix_addc(e->ix, r->lead[i], -1)));
  }
  return at;
}

static bool is_below(tp_emit *e, const tp_ix *a, const tp_ix *b) {
  return tp_ix_prove_ge0(e->ix, tp_ix_addc(e->ix, tp_ix_sub(e->ix, b, a), -1), 0, NULL);
}

/* Are both on the same rings, at one place of each but ring *other, in which their places differ?
 * *other -1: they are at one place in all. */
static bool rings_differ(tp_emit *e, const tp_nd *a, const tp_nd *b, int *other) {
  *other = -1;
  if (a->nring != b->nring) return false;
  for (int i = 0; i < a->nring; i++) {
    const tp_ring *x = &a->ring[i], *y = &b->ring[i];
    int64_t far, width;
    if (x->width != y->width || x->stride != y->stride) return false;
    if (x->idx == y->idx) continue;
    if (*other >= 0 || !tp_ix_is_const(tp_ix_sub(e->ix, x->idx, y->idx), &far) ||
        !tp_ix_is_const(x->width, &width) || far % width == 0)
      return false;
    *other = i;
  }
  return true;
}

/* Do the windows have no element in common? */
static bool windows_apart(tp_emit *e, const tp_region *r, const tp_nd *a, const tp_nd *b) {
  int other;
  if (a->wrap >= 0 || b->wrap >= 0 || !rings_differ(e, a, b, &other)) return false;
  const tp_ix *lo_a = edge_of(e, r, a, false), *hi_a = edge_of(e, r, a, true),
              *lo_b = edge_of(e, r, b, false), *hi_b = edge_of(e, r, b, true);
  if (other < 0) return is_below(e, hi_a, lo_b) || is_below(e, hi_b, lo_a);
  const tp_ix *slot = a->ring[other].stride;
  return is_below(e, tp_ix_sub(e->ix, hi_a, lo_b), slot) &&
      is_below(e, tp_ix_sub(e->ix, hi_b, lo_a), slot);
}

/* May threads share the points of a LOOP? */
static bool is_shared(tp_emit *e, const tp_region *r) {
  for (int i = r->nin; i < r->nin + r->nout; i++)
    for (int k = 0; k < r->nin + r->nout; k++) {
      const tp_nd *out = tp_window_at(r, i), *x = tp_window_at(r, k);
      if (k == i || out->buf < 0 || x->buf != out->buf) continue;
      if (!tp_emit_same_elements(r, x, out) && !windows_apart(e, r, x, out)) return false;
    }
  return true;
}

static bool has_kernel(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  bool op = r->kind == TP_RG_OP;
  if (r->check || r->first || (r->kind != TP_RG_LOOP && !op)) return false;
  if (op && tp_op_is_env(r->op) && !tp_env_text(r->how.str)) return false;
  return tp_emit_knows(e, x);
}

/* Do threads meet inside of the leaf, or does one of them do it all? */
static bool takes_one_block(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = tp_emit_region(e, x);
  if (r->kind == TP_RG_LOOP) return !is_shared(e, r);
  return tp_emit_takes_one_block(r);
}

static bool is_kernel_loop(tp_emit *e, const tp_pnode *x) {
  int leaves = 0;
  TP_EACH_NODE (k, x) {
    bool ok = k.x->kind == TP_P_REGION ? has_kernel(e, k.x)
                                       : k.x->kind == TP_P_FOR || k.x->kind == TP_P_IF ||
            k.x->kind == TP_P_SEQ || k.x->kind == TP_P_SPILL || k.x->kind == TP_P_FETCH;
    if (!ok) return false;
    leaves += k.x->kind == TP_P_REGION;
  }
  return leaves > 0;
}

/* ---- printing ---- */

/* whole: it is all of a kernel. */
static void put_loop_leaf(tp_emit *e, const tp_pnode *x, bool whole) {
  nest l = emit_nest_of(e, x);
  bool shared = is_shared(e, l.r);
  emit_open(e, shared ? "{ /* %d */\n" : "if (first_ == 0) { /* %d */\n", x->pos);
  if (!shared) tp_emit_line(e, "const int64_t first_ = 0, step_ = 1;\n");
  emit_windows(&l);
  emit_find_axes(&l);
  l.together = shared && emit_folds_together(&l);
  if (l.together) tp_emit_line(e, "const int64_t first_ = block_, step_ = blocks_;\n");
  if (!(whole && shared && emit_tile(&l))) {
    if (l.folds) emit_fold(&l);
    else emit_for_threads(&l);
  }
  emit_shut(e, 1);
}

static void put_kernel_leaf(tp_emit *e, const tp_pnode *x, bool whole) {
  e->at = x;
  if (tp_emit_is_pointwise(e, tp_emit_region(e, x))) tp_emit_pointwise(e, x);
  else put_loop_leaf(e, x, whole);
}

static bool leaf_fails(tp_emit *e, const tp_region *r) {
  int64_t n;
  if (r->kind == TP_RG_LOOP) return tp_loop_fails(e->p, r);
  if (r->op == TP_OP_ARGMAX || r->op == TP_OP_ARGMIN)
    return !tp_ix_is_const(r->in[0].shape[r->how.axis], &n) || n < 1;
  return tp_op_is(r->op, TP_FAILS) || r->op == TP_OP_ENV_STEP;
}

/* top: the kernel's own loop, which goes from one parameter to another. */
static void put_node(tp_emit *e, const tp_pnode *x, bool top) {
  switch (x->kind) {
  case TP_P_SEQ:
    for (int i = 0; i < x->n; i++) put_node(e, x->kid[i], false);
    return;
  case TP_P_FOR: {
    int v = x->var->id;
    bool was = e->sym[v];
    const char *end = top ? "to_" : emit_ix(e, x->step > 0 ? x->hi : x->lo);
    emit_open(e, "for (int64_t s%d = %s; s%d %s %s; s%d += %d) {\n", v,
        top ? "from_" : tp_emit_start(e, x, 0), v, x->step > 0 ? "<" : ">=", end, v, x->step);
    put_node(e, x->kid[0], false);
    emit_shut(e, 1);
    e->sym[v] = was;
    return;
  }
  case TP_P_IF:
    for (int i = 0; i < x->n; i++) {
      if (i) emit_open(e, "else {\n");
      else emit_open(e, "if (%s) {\n", emit_ix(e, x->cond));
      put_node(e, x->kid[i], false);
      emit_shut(e, 1);
    }
    return;
  case TP_P_REGION:
    put_kernel_leaf(e, x, false);
    tp_emit_line(e, "BARRIER();\n");
    /* all threads see the note, before one of them goes on and makes another */
    if (leaf_fails(e, x->rg)) tp_emit_line(e, "TP_RETURN_IF(fault_[0]);\n");
    return;
  default: return;
  }
}

static int *numbers(tp_emit *e, const bool *used, int n, int *count) {
  int *v = TP_NEWN(e->a, int, n + 1);
  *count = 0;
  for (int i = 0; i < n; i++)
    if (used[i]) v[(*count)++] = i;
  return v;
}

static bool writes_any(const tp_pnode *x, int buf) {
  TP_EACH_NODE (k, x)
    if (k.x->rg && tp_region_writes(k.x->rg, buf)) return true;
  return false;
}

/* Each block has a share of the rows, and its threads all points of it. */
static void put_share(tp_emit *e, const tp_share *s) {
  const char *all = emit_ix(e, s->whole);
  tp_emit_line(e, "const int64_t s%d = BLOCK*%s/BLOCKS, s%d = (BLOCK + 1)*%s/BLOCKS - s%d;\n",
      s->from->id, all, s->n->id, all, s->from->id);
}

static void put_kernel(tp_emit *e, tp_buf *b, tp_kernel *k) {
  tp_buf body;
  tp_hold hold;
  tp_buf_hold(&body, &hold);
  e->b = &body;
  e->sym = TP_NEWN(e->a, bool, tp_nsym(e->ix));
  e->buf = TP_NEWN(e->a, bool, e->p->bufs.n + 1);
  e->depth = 1;
  e->local = NULL;
  if (k->by_rows) put_share(e, &k->rows->share);
  if (k->loop) put_node(e, k->by_rows ? k->rows->as : k->node, true);
  else put_kernel_leaf(e, k->node, true);
  if (k->by_rows) e->sym[k->rows->share.from->id] = e->sym[k->rows->share.n->id] = false;
  k->buf = numbers(e, e->buf, e->p->bufs.n, &k->nbuf);
  k->sym = numbers(e, e->sym, tp_nsym(e->ix), &k->nsym);
  k->written = TP_NEWN(e->a, bool, k->nbuf + 1);
  for (int i = 0; i < k->nbuf; i++) k->written[i] = writes_any(k->node, k->buf[i]);
  tp_putf(b, "\nKERNEL_OF(TP_KERNEL_THREADS, %s)(GLOBAL char *fault_p, int64_t fault_o", k->name);
  tp_puts(b, ", GLOBAL char *arena_p, int64_t arena_o");
  for (int i = 0; i < k->nbuf; i++)
    if (!tp_in_arena(e->p->bufs.v[k->buf[i]]))
      tp_putf(b, ", GLOBAL char *p%d, int64_t o%d", k->buf[i], k->buf[i]);
  tp_puts(b, ", int64_t seed_, int64_t from_, int64_t to_");
  for (int i = 0; i < k->nsym; i++) tp_putf(b, ", int64_t s%d", k->sym[i]);
  tp_puts(b, ") {\n  GLOBAL int64_t *const note_ = (GLOBAL int64_t *)(fault_p + fault_o);\n");
  int one = 1 + e->p->nsym, failed = one + e->p->bufs.n;
  tp_putf(b, "  GLOBAL int64_t *const failed_ = note_ + %d;\n", failed);
  if (k->by_rows)
    tp_putf(b, "  GLOBAL int64_t *const fault_ = failed_ + 1 + (int64_t)BLOCK*%d;\n", one);
  else tp_puts(b, "  GLOBAL int64_t *const fault_ = note_;\n");
  bool fails = false;
  TP_EACH_NODE (x, k->node) fails |= x.x->rg && leaf_fails(e, x.x->rg);
  tp_puts(b,
      k->by_rows ? "  const int64_t block_ = 0, blocks_ = 1; /* which have points of one leaf */\n"
                 : "  const int64_t block_ = BLOCK, blocks_ = BLOCKS;\n");
  tp_puts(b,
      "  const int64_t first_ = block_*THREADS + THREAD, step_ = blocks_*THREADS;\n"
      "  const tp_kernel_host host_ = { (uint64_t)seed_ }, *const h = &host_;\n"
      "  (void)h, (void)from_, (void)to_, (void)fault_;\n");
  const char *ends = k->by_rows ? "note_[0] || fault_[0]"
      : fails                   ? "TP_IS_SET(failed_)"
                                : "*failed_";
  tp_putf(b, fails ? "  TP_RETURN_IF_ANY(%s);\n" : "  if (%s) return;\n", ends);
  if (body.s && strstr(body.s, " room_")) tp_puts(b, "  TP_ROOM;\n");
  if (body.s && strstr(body.s, "sort_at")) tp_puts(b, "  LOCAL int sort_at[TP_SORT_MOST];\n");
  if (body.s && strstr(body.s, "sort_f[")) tp_puts(b, "  LOCAL double sort_f[TP_SORT_MOST];\n");
  if (body.s && strstr(body.s, "sort_i[")) tp_puts(b, "  LOCAL int64_t sort_i[TP_SORT_MOST];\n");
  if (e->local) tp_putf(b, "  %s", e->local);
  for (int i = 0; i < k->nbuf; i++) {
    int id = k->buf[i];
    const char *cell = tp_emit_cell(e, e->p->bufs.v[id]->dtype);
    tp_putf(b, "  %s *const b%d = (%s *)", cell, id, cell);
    if (!tp_in_arena(e->p->bufs.v[id])) tp_putf(b, "(p%d + o%d);\n", id, id);
    else tp_putf(b, "(arena_p + arena_o + note_[%d]);\n", one + id);
  }
  tp_putn(b, body.s ? body.s : "", body.n);
  tp_puts(b, "}\n");
  b->failed |= body.failed;
  tp_buf_drop(&body, &hold);
}

static tp_emit printer(const tp_plan *p, tp_arena *a) {
  tp_emit e = { .p = p, .to = &device, .ix = p->ix, .a = a };
  e.as = TP_NEWN(a, const tp_region *, p->npos + 1);
  return e;
}

int tp_emit_find_kernels(const tp_plan *p, tp_arena *a, tp_kernel **out) {
  tp_emit e = printer(p, a);
  TP_VEC(tp_kernel) v = { 0 };
  TP_EACH_NODE (k, p->body) {
    tp_kernel x = { .node = k.x, .loop = k.x->kind == TP_P_FOR };
    if (x.loop ? !is_kernel_loop(&e, k.x) : !(k.x->rg && has_kernel(&e, k.x))) continue;
    x.one = x.loop || takes_one_block(&e, k.x);
    if (x.loop) x.rows = tp_plan_cut_loop(p, a, k.x);
    if (x.loop) snprintf(x.name, sizeof x.name, "loop_%d_%d", k.x->var->id, k.x->pos);
    else snprintf(x.name, sizeof x.name, "leaf_%d", k.x->pos);
    TP_PUSH(a, &v, x);
  }
  *out = v.v;
  return v.n;
}

void tp_emit_kernels(tp_buf *b, const tp_plan *p, tp_arena *a, tp_kernel *const *k, int n) {
  tp_emit e = printer(p, a);
  tp_puts(b, tp_prelude_gpu);
  tp_emit_environments(b, p, a);
  e.done = b;
  for (int i = 0; i < n; i++) put_kernel(&e, b, k[i]);
}
