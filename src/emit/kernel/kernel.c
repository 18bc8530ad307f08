/* kernel.c: prints leaves and loops of a plan as kernels in the dialect of devices
 * (kernels/gpu/dialect.h).
 *
 *   for t = 0 .. T - 1 { loop over | a0 = 0 for B .. }    =>    for t: each thread makes its share
 *                                                              of 0 .. B - 1, then all meet
 *
 * A leaf's points are shared by threads, each with all terms that are added to it, in the plan's
 * order: bits are those of other targets. That is right where no two points touch an element that
 * one of them writes (kernel_is_shared); else one thread makes all points, in order. */
#include "emit/kernel/kernel.h"
#include "base/env.h"

static const char *const device_cells[] = {
#define D(N, t, c, b, f) "GLOBAL " #c,
#include "base/dtypes.def"
#undef D
};
static const tp_emit_target device = { false, true, device_cells, NULL };

/* ---- which leaves ---- */

/* The place of the window's first element in memory, or (most) of its last. */
static tp_ix *edge_of(const tp_region *r, const tp_nd *nd, bool most) {
  tp_ix *at = nd->off;
  for (int i = 0; i < r->nlead && nd->lead; i++) {
    int64_t k;
    bool up = tp_ix_is_const(nd->lead[i], &k) ? k > 0 : tp_ix_prove_ge0(nd->lead[i], 0, NULL);
    if (up != most) continue;
    at = tp_ix_add(at, tp_ix_mul(nd->lead[i], tp_ix_addc(r->lead[i], -1)));
  }
  return at;
}

static bool is_below(tp_ix *a, tp_ix *b) {
  return tp_ix_prove_ge0(tp_ix_addc(tp_ix_sub(b, a), -1), 0, NULL);
}

/* Are both on the same rings, at one place of each but ring *other, in which their places differ?
 * *other -1: they are at one place in all. */
static bool rings_differ(const tp_nd *a, const tp_nd *b, int *other) {
  *other = -1;
  if (a->nring != b->nring) return false;
  for (int i = 0; i < a->nring; i++) {
    const tp_ring *x = &a->ring[i], *y = &b->ring[i];
    int64_t far, width;
    if (x->width != y->width || x->stride != y->stride) return false;
    if (x->idx == y->idx) continue;
    if (*other >= 0 || !tp_ix_is_const(tp_ix_sub(x->idx, y->idx), &far) ||
        !tp_ix_is_const(x->width, &width) || far % width == 0)
      return false;
    *other = i;
  }
  return true;
}

bool kernel_apart(const tp_region *r, const tp_nd *a, const tp_region *q, const tp_nd *b) {
  int other;
  if (a->wrap >= 0 || b->wrap >= 0 || !rings_differ(a, b, &other)) return false;
  tp_ix *lo_a = edge_of(r, a, false), *hi_a = edge_of(r, a, true), *lo_b = edge_of(q, b, false),
        *hi_b = edge_of(q, b, true);
  if (other < 0) return is_below(hi_a, lo_b) || is_below(hi_b, lo_a);
  tp_ix *slot = a->ring[other].stride;
  return is_below(tp_ix_sub(hi_a, lo_b), slot) && is_below(tp_ix_sub(hi_b, lo_a), slot);
}

bool kernel_is_shared(const tp_region *r) {
  for (int i = r->nin; i < r->nin + r->nout; i++)
    for (int k = 0; k < r->nin + r->nout; k++) {
      const tp_nd *out = tp_window_at(r, i), *x = tp_window_at(r, k);
      if (k == i || out->buf < 0 || x->buf != out->buf) continue;
      if (!tp_emit_same_elements(r, x, out) && !kernel_apart(r, x, r, out)) return false;
    }
  return true;
}

/* One that makes an output may lend an array of the host (run/first.c). */
static bool has_pinit(const tp_emit *e, const tp_region *r) {
  if (r->nin != 2 || e->p->bufs.v[r->out[0].buf]->kind != TP_BUF_TEMP) return false;
  TP_WINDOWS (w, r)
    if (w->wrap >= 0) return false;
  return true;
}

/* How threads look for NaN (emit/body/look.c). LOOK_ON_HOST: they do not. */
typedef enum { LOOK_NEVER, LOOK_AT_ONCE, LOOK_BEFORE, LOOK_BEHIND, LOOK_ON_HOST } looking;

static looking looking_of(tp_emit *e, const tp_region *r) {
  bool loop = r->kind == TP_RG_LOOP, wraps = false, over = false, sums = false;
  if (!r->check) return LOOK_NEVER;
  TP_WINDOWS (w, r) {
    wraps |= w->wrap >= 0;
    if (w->buf < 0 || (w >= r->out && w < r->out + r->nout)) continue;
    for (int k = 0; k < r->nout; k++)
      over |= r->out[k].buf == w->buf && !(loop && kernel_apart(r, w, r, &r->out[k]));
  }
  for (int i = 0; i < r->nlead; i++) sums |= r->sums >> i & 1;
  if (loop && r->acc) {
    bool adds = r->red == TP_RED_SUM || r->red == TP_RED_PROD;
    return wraps || over || !adds || r->nout != 1 ? LOOK_ON_HOST : LOOK_BEFORE;
  }
  if (loop && !sums) return !r->nmicro ? LOOK_NEVER : over ? LOOK_BEFORE : LOOK_AT_ONCE;
  return wraps || over || r->acc || (loop && r->nmicro) ? LOOK_ON_HOST : LOOK_BEHIND;
}

static bool has_kernel(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  bool op = r->kind == TP_RG_OP;
  if (r->kind == TP_RG_PINIT) return has_pinit(e, r);
  if ((r->kind != TP_RG_LOOP && !op) || looking_of(e, r) == LOOK_ON_HOST) return false;
  if (op && tp_op_is_env(r->op) && !tp_env_text(r->how.str)) return false;
  return tp_emit_knows(e, x);
}

/* Do threads meet inside of the leaf, or does one of them do it all? */
static bool takes_one_block(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = tp_emit_region(e, x);
  looking how = looking_of(e, x->rg);
  if (how == LOOK_BEFORE || how == LOOK_BEHIND) return true;
  if (r->kind == TP_RG_LOOP) return !kernel_is_shared(r);
  return tp_emit_takes_one_block(r);
}

/* Is there a kernel for all that is in x? */
static bool has_kernels(tp_emit *e, const tp_pnode *x) {
  int leaves = 0;
  TP_EACH_NODE (k, x) {
    bool load = k.x->kind == TP_P_LOAD;
    bool ok = k.x->kind == TP_P_REGION ? has_kernel(e, k.x)
                                       : k.x->kind == TP_P_FOR || k.x->kind == TP_P_IF || load ||
            k.x->kind == TP_P_SEQ || k.x->kind == TP_P_SPILL || k.x->kind == TP_P_FETCH;
    if (!ok) return false;
    leaves += k.x->kind == TP_P_REGION || load;
  }
  return leaves > 0;
}

/* ---- printing ---- */

/* whole: it is all of a kernel. looks: nothing is stored. */
static void put_loop_leaf(tp_emit *e, const tp_pnode *x, bool whole, bool looks) {
  nest l = emit_nest_of(e, x);
  l.looks = looks;
  l.checks = looks || looking_of(e, x->rg) == LOOK_AT_ONCE;
  emit_find_axes(&l);
  bool shared = kernel_is_shared(l.r) && (whole || !kernel_has_one_point(&l));
  emit_open(e, shared ? "{ /* %d */\n" : "if (first_ == 0) { /* %d */\n", x->pos);
  if (!shared) tp_emit_line(e, "const int64_t first_ = 0, step_ = 1;\n");
  emit_windows(&l);
  l.together = shared && emit_folds_together(&l);
  l.lanes = whole && shared && !l.together && emit_folds_by_lanes(&l);
  l.together |= l.lanes;
  l.fours = shared && emit_by_fours(&l);
  if (l.lanes) tp_emit_line(e, "const int64_t first_ = block_*TP_ROWS, step_ = blocks_*TP_ROWS;\n");
  else if (l.together) emit_by_blocks(e);
  bool thin = whole && shared && emit_thin(&l);
  if (!(whole && shared && emit_tile(&l))) {
    if (l.folds) emit_fold(&l);
    else emit_for_threads(&l);
  }
  emit_shut(e, 1 + thin);
}

/* The PINIT for which the leaf makes the operand: it follows (run/first.c). */
static const tp_region *pinit_of(const tp_emit *e, const tp_pnode *x) {
  TP_EACH_NODE (k, e->p->body)
    if (k.x->rg && k.x->pos > x->pos && k.x->rg->kind == TP_RG_PINIT)
      return k.x->rg->nin > 1 && k.x->rg->in[0].buf == x->rg->out[0].buf ? k.x->rg : NULL;
  return NULL;
}

/* Was the parameter of the PINIT loaded? */
static const char *is_loaded(tp_emit *e, const tp_region *r) {
  return tp_printf(e->a, "note_[%d] != TP_MISSING", 1 + e->p->nsym + r->in[1].buf);
}

static void put_pinit(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  emit_open(e, "{ /* %d */\n", x->pos);
  tp_emit_point_windows(e, r);
  tp_emit_line(e, "const int loaded_ = %s;\n", is_loaded(e, r));
  int opened = emit_open_leads(e, r, &r->out[0], 0, -1);
  for (int i = 1; i >= 0; i--)
    tp_emit_line(e, "%s%s = %s;\n", i ? "if (loaded_) " : "else ", emit_point_element(e, r, 2),
        emit_point_element(e, r, i));
  emit_shut(e, opened + 1);
}

static void put_leaf_of(tp_emit *e, const tp_pnode *x, bool whole) {
  if (x->rg->kind == TP_RG_PINIT) put_pinit(e, x);
  else if (tp_emit_is_pointwise(e, tp_emit_region(e, x))) tp_emit_pointwise(e, x);
  else put_loop_leaf(e, x, whole, false);
}

/* Threads of a block leave together if there was a fault: part as for kernel_put_body. */
static void put_leave(tp_emit *e, int part) {
  if (part) tp_emit_line(e, "TP_LEAVE_IF(fault_[0], ends_%d);\n", part);
  else tp_emit_line(e, "TP_RETURN_IF(fault_[0]);\n");
}

static void put_looked_leaf(tp_emit *e, const tp_pnode *x, bool whole, int part) {
  looking how = looking_of(e, x->rg);
  if (how == LOOK_BEFORE) {
    put_loop_leaf(e, x, whole, true);
    tp_emit_line(e, "BARRIER();\n");
    put_leave(e, part);
  }
  put_leaf_of(e, x, whole);
  if (how != LOOK_BEHIND) return;
  tp_emit_line(e, "BARRIER();\n");
  emit_look_behind(e, x);
}

static void put_kernel_leaf(tp_emit *e, const tp_pnode *x, bool whole, int part) {
  const tp_region *first = x->rg->first && x->rg->kind != TP_RG_PINIT ? pinit_of(e, x) : NULL;
  e->at = x;
  if (first) {
    emit_open(e, "if (!(%s)) {\n", is_loaded(e, first));
    put_looked_leaf(e, x, whole, part);
    emit_shut(e, 1);
  } else put_looked_leaf(e, x, whole, part);
}

/* Prints the leaf of a kernel of several. Symbols are hidden in it, or what all leaves make of them
 * were kept in registers through the whole kernel. */
static void put_hidden_leaf(tp_emit *e, const tp_pnode *x, int part) {
  emit_aside body;
  bool *all = e->sym;
  int n = tp_nsym(e->ix);
  emit_begin_aside(e, &body);
  e->sym = TP_NEWN(e->a, bool, n + 1);
  e->depth++;
  put_kernel_leaf(e, x, false, part);
  e->depth--;
  const char *text = emit_end_aside(e, &body);
  tp_emit_line(e, "{ const int64_t at_first_ = first_, by_step_ = step_");
  for (int i = 0; i < n; i++)
    if (e->sym[i]) tp_putf(e->b, ", z%d = s%d", i, i);
  tp_puts(e->b, ";\n");
  tp_emit_line(e, "{ const int64_t first_ = HIDDEN(at_first_), step_ = HIDDEN(by_step_)");
  for (int i = 0; i < n; i++)
    if (e->sym[i]) tp_putf(e->b, ", s%d = HIDDEN(z%d)", i, i);
  tp_puts(e->b, ";\n");
  tp_puts(e->b, text);
  tp_emit_line(e, "}}\n");
  for (int i = 0; i < n; i++) all[i] |= e->sym[i];
  e->sym = all;
}

static bool leaf_fails(const tp_plan *p, const tp_region *r) {
  int64_t n;
  if (r->check) return true;
  if (r->kind == TP_RG_PINIT) return false;
  if (r->kind == TP_RG_LOOP) return tp_loop_fails(p, r);
  if (r->op == TP_OP_ARGMAX || r->op == TP_OP_ARGMIN)
    return !tp_ix_is_const(r->in[0].shape[r->how.axis], &n) || n < 1;
  return tp_op_is(r->op, TP_FAILS) || r->op == TP_OP_ENV_STEP;
}

static void put_node(meet_state *m, const tp_pnode *x, bool top);

/* Leaves of one thread that follow each other end together. */
static void put_leaf_ends(meet_state *m) {
  if (m->open) tp_emit_line(m->e, "LEAF_ENDS();\n");
  m->open = false;
}

static void put_barrier(meet_state *m) {
  tp_emit_line(m->e, "MEET();\n");
  m->left.n = 0;
}

static void put_branches(meet_state *m, const tp_pnode *x) {
  meet_uses before = meet_copy(m), first = before;
  int around = m->branch, taken = 0;
  for (int i = 0; i < x->n; i++) {
    m->branch = ++m->branches;
    if (i) emit_open(m->e, "OTHERWISE(c%d, c%d, c%d) {\n", m->branch, around, taken);
    else emit_open(m->e, "BRANCH(c%d, c%d, %s) {\n", m->branch, around, emit_ix(m->e, x->cond));
    put_node(m, x->kid[i], false);
    emit_shut(m->e, 1);
    if (i) break;
    taken = m->branch;
    first = m->left;
    m->left = before;
  }
  m->branch = around;
  meet_add(m, &first);
}

/* top: the kernel's own loop, which goes from one parameter to another. */
static void put_node(meet_state *m, const tp_pnode *x, bool top) {
  tp_emit *e = m->e;
  switch (x->kind) {
  case TP_P_SEQ:
    for (int i = 0; i < x->n; i++) put_node(m, x->kid[i], false);
    return;
  case TP_P_FOR: {
    bool was = e->sym[x->var->id];
    put_leaf_ends(m);
    kernel_open_for(e, x, top, tp_printf(e->a, "IN_BRANCH(c%d) ", m->branch));
    /* leaves of the iteration before are over; there may be no iteration */
    meet_uses before = meet_copy(m);
    put_node(m, x->kid[0], false);
    put_leaf_ends(m);
    if (m->left.n) put_barrier(m);
    m->left = before;
    kernel_shut_for(e, x, top);
    e->sym[x->var->id] = was;
    return;
  }
  case TP_P_LOAD:
    if (meet_before(m, x)) tp_emit_line(e, "MEET();\n");
    put_leaf_ends(m);
    emit_open(e, "LEAF(c%d) {\n", m->branch);
    kernel_put_load(e, x, !m->part);
    emit_shut(e, 1);
    tp_emit_line(e, "LEAF_ENDS();\n");
    m->left.n = 0; /* all threads meet in it */
    return;
  case TP_P_IF: put_branches(m, x); return;
  case TP_P_REGION:
    if (meet_before(m, x)) tp_emit_line(e, "MEET();\n");
    if (!meet_is_by_one(m)) put_leaf_ends(m);
    emit_open(e, "LEAF(c%d) {\n", m->branch);
    put_hidden_leaf(e, x, m->part);
    emit_shut(e, 1);
    m->open = true;
    if (leaf_fails(e->p, x->rg) || !meet_is_by_one(m)) put_leaf_ends(m);
    if (!leaf_fails(e->p, x->rg)) return;
    /* all threads see the note, before one of them goes on and makes another */
    put_barrier(m);
    put_leave(e, m->part);
    return;
  default: return;
  }
}

/* ---- sums by block ---- */

int kernel_sums(const tp_kernel *k) { return k->by_rows || k->sums ? k->rows->nadded : 0; }

static bool adds_to(const tp_kernel *k, int buf) {
  for (int i = 0; i < kernel_sums(k); i++)
    if (k->rows->added[i] == buf) return true;
  return false;
}

/* The place of each sum among those of a block, and how many bytes these take (tp_gpu_sums). */
static void put_sum_places(tp_emit *e, const tp_kernel *k) {
  int n = kernel_sums(k);
  if (n) tp_emit_line(e, "const int64_t q0 = 0");
  for (int i = 0; i < n; i++) {
    const tp_pbuf *b = e->p->bufs.v[k->rows->added[i]];
    tp_putf(e->b, ", q%d = q%d + (%s*%d + 63)/64*64", i + 1, i, emit_ix(e, b->size),
        tp_dtype_size(b->dtype));
  }
  if (n) tp_puts(e->b, ";\n");
}

/* The sum of block `block`. */
static void put_block_sum(
    tp_emit *e, const tp_kernel *k, int i, const char *name, const char *block) {
  const char *cell = tp_emit_cell(e, e->p->bufs.v[k->rows->added[i]]->dtype);
  tp_emit_line(e, "%s *const %s%d = (%s *)(AT(sums_p) + %s*q%d + q%d);\n", cell, name,
      k->rows->added[i], cell, block, kernel_sums(k), i);
}

static void put_empty_sums(tp_emit *e, const tp_kernel *k) {
  for (int i = 0; i < kernel_sums(k); i++) {
    int buf = k->rows->added[i];
    put_block_sum(e, k, i, "b", "BLOCK");
    tp_emit_line(e, "for (int64_t i_ = THREAD; i_ < %s; i_ += THREADS) b%d[i_] = 0;\n",
        emit_ix(e, e->p->bufs.v[buf]->size), buf);
  }
  if (kernel_sums(k)) tp_emit_line(e, "BARRIER();\n");
}

/* Each thread adds one element of all blocks, floats in f64. */
static void put_block_sums(tp_emit *e, const tp_kernel *k) {
  for (int i = 0; i < kernel_sums(k); i++) {
    int buf = k->rows->added[i];
    tp_dtype d = e->p->bufs.v[buf]->dtype;
    e->buf[buf] = true;
    emit_open(e, "for (int64_t i_ = first_; i_ < %s; i_ += step_) {\n",
        emit_ix(e, e->p->bufs.v[buf]->size));
    tp_emit_line(e, "%s sum_ = b%d[i_];\n", tp_dtype_float(d) ? "double" : "uint64_t", buf);
    emit_open(e, "for (int64_t block_ = 0; block_ < shares_; block_++) {\n");
    put_block_sum(e, k, i, "s", "block_");
    tp_emit_line(e, "sum_ += s%d[i_];\n", buf);
    emit_shut(e, 1);
    tp_emit_line(e, "b%d[i_] = (%s)sum_;\n", buf, tp_emit_type(d));
    emit_shut(e, 1);
  }
}

/* ---- kernels ---- */

bool kernel_may_fail(const tp_plan *p, const tp_kernel *k) {
  for (int i = 0; i < k->n; i++)
    TP_EACH_NODE (x, k->all[i])
      if (x.x->rg && leaf_fails(p, x.x->rg)) return true;
  return false;
}

/* shares_ blocks have a share of the rows each, and their threads all points of it. In a part of a
 * kernel other blocks leave, and so do all but one where one runs it. */
static void put_share(tp_emit *e, const tp_kernel *k, int part, int home) {
  const char *rows = k->by_rows || k->sums ? emit_ix(e, k->rows->share.whole) : NULL;
  if (rows && k->sums && !part) tp_emit_line(e, "const int64_t shares_ = to_;\n");
  else if (rows) tp_emit_line(e, "const int64_t shares_ = tp_index_min(BLOCKS, %s);\n", rows);
  if (k->by_rows && part) tp_emit_line(e, "if (BLOCK >= shares_) goto ends_%d;\n", part);
  else if (part && k->one) tp_emit_line(e, "if (BLOCK != %d%%BLOCKS) goto ends_%d;\n", home, part);
  bool alone = k->by_rows || (part && k->one);
  tp_emit_line(e, "const int64_t block_ = %s, blocks_ = %s; /* which have points of one leaf */\n",
      alone ? "0" : "BLOCK", alone ? "1" : "BLOCKS");
  tp_emit_line(e, "const int64_t first_ = block_*THREADS + THREAD, step_ = blocks_*THREADS;\n");
  if (k->by_rows)
    tp_emit_line(e, "GLOBAL int64_t *const fault_ = ends_ + %d + (int64_t)BLOCK*%d;\n", e->p->nsym,
        1 + e->p->nsym);
  else tp_emit_line(e, "GLOBAL int64_t *const fault_ = note_;\n");
  tp_emit_line(e, "(void)first_, (void)step_, (void)blocks_, (void)fault_;\n");
}

/* Threads of a block leave if the run has failed: they agree, because one of them may note a fault
 * before another one has begun. */
static void put_check(tp_emit *e, const tp_kernel *k, int part) {
  bool fails = kernel_may_fail(e->p, k);
  const char *ends = k->by_rows ? "note_[0] || fault_[0]" : "TP_IS_SET(failed_)";
  if (part && fails) tp_emit_line(e, "TP_LEAVE_IF_ANY(%s, ends_%d);\n", ends, part);
  else if (part) return;
  else if (fails || k->loop || k->stretch || k->by_rows)
    tp_emit_line(e, "TP_RETURN_IF_ANY(%s);\n", ends);
  else tp_emit_line(e, "if (*failed_) return;\n");
}

void kernel_put_body(tp_emit *e, const tp_kernel *k, int part, int home) {
  const tp_share *s = k->by_rows ? &k->rows->share : NULL;
  put_share(e, k, part, home);
  put_check(e, k, part);
  put_sum_places(e, k);
  if (s) {
    const char *all = emit_ix(e, s->whole);
    tp_emit_line(e, "const int64_t s%d = BLOCK*%s/shares_, s%d = (BLOCK + 1)*%s/shares_ - s%d;\n",
        s->from->id, all, s->n->id, all, s->from->id);
    put_empty_sums(e, k);
  }
  meet_state m = { .e = e, .part = part };
  tp_emit_line(e, "ALL_BRANCHES(c0);\n");
  if (k->loop) put_node(&m, s ? k->rows->as : k->node, !part);
  else if (k->sums) put_block_sums(e, k);
  else if (!k->stretch && !k->node->rg) kernel_put_load(e, k->node, true);
  else if (!k->stretch) put_kernel_leaf(e, k->node, true, part);
  for (int i = 0; i < k->n && k->stretch; i++) put_node(&m, k->all[i], false);
  if (s) e->sym[s->from->id] = e->sym[s->n->id] = false;
  for (int i = 0; i < e->p->bufs.n; i++) e->buf[i] &= k->sums || !adds_to(k, i);
}

tp_emit kernel_printer(const tp_plan *p, tp_arena *a) {
  tp_emit e = { .p = p, .to = &device, .ix = p->ix, .a = a };
  e.as = TP_NEWN(a, const tp_region *, p->npos + 1);
  return e;
}

int tp_emit_find_kernels(const tp_plan *p, tp_arena *a, tp_kernel **out) {
  tp_emit e = kernel_printer(p, a);
  TP_VEC(tp_kernel) v = { 0 };
  TP_EACH_NODE (k, p->body) {
    tp_kernel x = { .node = k.x, .n = 1, .loop = k.x->kind == TP_P_FOR };
    bool load = k.x->kind == TP_P_LOAD;
    if (x.loop ? !has_kernels(&e, k.x) : !(load || (k.x->rg && has_kernel(&e, k.x)))) continue;
    x.one = x.loop || load || takes_one_block(&e, k.x);
    /* ends are of all rows */
    if (x.loop && !tp_has(k.x, TP_P_LOAD)) x.rows = tp_plan_cut_loop(p, a, k.x);
    if (x.loop) snprintf(x.name, sizeof x.name, "loop_%d_%d", k.x->var->id, k.x->pos);
    else snprintf(x.name, sizeof x.name, "leaf_%d", k.x->pos);
    x.all = TP_DUPN(a, &k.x, 1);
    TP_PUSH(a, &v, x);
  }
  *out = v.v;
  return v.n;
}

/* ---- stretches ---- */

/* meets: threads meet in it */
struct tp_stretch {
  tp_emit e;
  meet_state m;
  bool meets;
};

static void add_node(tp_stretch *s, const tp_pnode *x) {
  s->meets |= x->kind == TP_P_FOR || x->kind == TP_P_LOAD;
  if (x->rg)
    s->meets |= meet_before(&s->m, x) || leaf_fails(s->e.p, x->rg) || takes_one_block(&s->e, x);
  for (int i = 0; i < x->n; i++) add_node(s, x->kid[i]);
}

tp_stretch *tp_emit_stretch(const tp_plan *p, tp_arena *a) {
  tp_stretch *s = TP_NEW(a, tp_stretch);
  s->e = kernel_printer(p, a);
  s->m.e = &s->e;
  return s;
}

bool tp_emit_stretch_takes(tp_stretch *s, const tp_pnode *x) { return has_kernels(&s->e, x); }

bool tp_emit_stretch_add(tp_stretch *s, const tp_pnode *x) {
  add_node(s, x);
  return s->meets;
}

tp_kernel *tp_emit_stretch_kernel(tp_arena *a, int n, const tp_pnode *const *all, bool meets) {
  tp_kernel *k = TP_NEW(a, tp_kernel);
  *k = (tp_kernel){ .node = all[0], .n = n, .all = TP_DUPN(a, all, n), .one = meets };
  k->stretch = true;
  snprintf(k->name, sizeof k->name, "stretch_%d_%d", all[0]->pos, all[n - 1]->lastpos);
  return k;
}

tp_kernel *tp_emit_sums_kernel(tp_arena *a, const tp_kernel *loop) {
  tp_kernel *k = TP_NEW(a, tp_kernel);
  *k =
      (tp_kernel){ .node = loop->node, .n = 1, .all = loop->all, .rows = loop->rows, .sums = true };
  snprintf(k->name, sizeof k->name, "sums_%d_%d", loop->node->var->id, loop->node->pos);
  return k;
}
