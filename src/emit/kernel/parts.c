/* parts.c: prints several kernels, or a loop of them, as one.
 *
 *   for k { A: any blocks; B: a block for each share of rows; C: the sums of B; D: one block }
 *   =>  for k: all blocks do A, meet, do B, meet, do C, meet; one does D; all meet
 *
 * Each part is printed as by itself. All blocks are there at once and go through the same loops and
 * branches, which hang on bounds and loop variables alone, so all of them come to each meeting.
 * They meet before a part that touches a buffer of a part since they met last, one of the two
 * writing, and at the end of each iteration. Otherwise parts run beside each other. A part of one
 * block follows those that it touches in their block, if that is one, or has one of its own;
 * leaves of few points are such parts, in the first block. Faults do not end the kernel, for other
 * blocks would wait at the next meeting: parts that may fail are left, and before these and after
 * them all blocks meet. */
#include "emit/kernel/kernel.h"

/* since: parts since blocks met last, then the kernel's begin; home: the block of a part of one. */
typedef struct {
  tp_emit *e;
  const tp_kernel *k;
  bool *since;
  int *home;
} parts_text;

/* A loop by rows adds to sums of its own, for the kernel of sums. */
static bool part_touches(const tp_kernel *k, int buf, bool writes) {
  bool added = false;
  for (int i = 0; i < kernel_sums(k); i++) added |= k->rows->added[i] == buf;
  if (k->sums || added) return k->sums && added;
  for (int i = 0; i < k->n; i++)
    TP_EACH_NODE (x, k->all[i])
      for (int w = 0; w < tp_node_windows(x.x); w++)
        if (tp_node_window(x.x, w)->buf == buf &&
            (!writes || (x.x->rg && tp_region_writes(x.x->rg, buf))))
          return true;
  return false;
}

/* Must blocks meet between the parts? All sums lie at one place. */
static bool part_meets(const parts_text *t, const tp_kernel *a, const tp_kernel *b) {
  if (kernel_sums(a) && kernel_sums(b)) return true;
  if (kernel_may_fail(t->e->p, a) || kernel_may_fail(t->e->p, b)) return true;
  for (int i = 0; i < t->e->p->bufs.n; i++)
    if ((part_touches(a, i, true) && part_touches(b, i, false)) ||
        (part_touches(a, i, false) && part_touches(b, i, true)))
      return true;
  return false;
}

static int count_since(const parts_text *t) {
  int n = 0;
  for (int i = 0; i <= t->k->nparts; i++) n += t->since[i];
  return n;
}

static void put_grid_meet(parts_text *t) {
  if (count_since(t)) tp_emit_line(t->e, "GRID_MEET(meets_);\n");
  memset(t->since, 0, (size_t)t->k->nparts + 1);
}

/* Prints pointers to the buffers that are used. */
static void put_pointers(tp_emit *e, tp_buf *b) {
  for (int i = 0; i < e->p->bufs.n; i++) {
    const char *cell = tp_emit_cell(e, e->p->bufs.v[i]->dtype);
    if (e->buf[i]) tp_putf(b, "  %s *const b%d = (%s *)AT(p%d);\n", cell, i, cell, i);
  }
}

/* A part has pointers to its own buffers, so that no others take registers meanwhile. */
static void put_part_body(parts_text *t, int part) {
  tp_emit *e = t->e;
  emit_aside body;
  bool *all = e->buf;
  emit_begin_aside(e, &body);
  e->buf = TP_NEWN(e->a, bool, e->p->bufs.n + 1);
  kernel_put_body(e, &t->k->part[part], part + 1, t->home[part]);
  const char *text = emit_end_aside(e, &body);
  put_pointers(e, e->b);
  tp_puts(e->b, text);
  for (int i = 0; i < e->p->bufs.n; i++) all[i] |= e->buf[i];
  e->buf = all;
}

static bool is_load_part(const tp_kernel *k) { return k->node->kind == TP_P_LOAD && !k->stretch; }

static void put_part(parts_text *t, int part) {
  const tp_kernel *k = &t->k->part[part];
  /* blocks read ends when they begin, before one of them notes others */
  bool meets = is_load_part(k) && t->since[t->k->nparts], alone = k->one && !k->by_rows;
  int home = -1;
  for (int i = 0; i < t->k->nparts; i++) {
    if (!t->since[i] || !part_meets(t, &t->k->part[i], k)) continue;
    meets |= !alone || t->home[i] < 0 || (home >= 0 && home != t->home[i]);
    home = t->home[i];
  }
  if (meets) put_grid_meet(t), home = -1;
  else tp_emit_line(t->e, "BARRIER();\n"); /* parts share the block's memory */
  bool leaf = !k->loop && !k->stretch && !is_load_part(k);
  t->home[part] = !alone ? -1 : home >= 0 ? home : leaf ? 0 : count_since(t);
  emit_open(t->e, "{ /* %s */\n", k->name);
  put_part_body(t, part);
  emit_shut(t->e, 1);
  tp_emit_line(t->e, "ends_%d:;\n", part + 1);
  t->since[part] = true;
}

static bool has_parts(const parts_text *t, const tp_pnode *x) {
  for (int i = 0; i < t->k->nparts; i++)
    for (const tp_pnode *q = t->k->part[i].node; q; q = q->up)
      if (q == x) return true;
  return false;
}

static bool *copy_since(const parts_text *t) {
  return TP_DUPN(t->e->a, t->since, t->k->nparts + 1);
}

static void put_parts_of(parts_text *t, const tp_pnode *x);

/* Bounds have decided which parts there are. */
static void put_branch_parts(parts_text *t, const tp_pnode *x) {
  if (tp_ix_of_bounds(x->cond)) {
    for (int i = 0; i < x->n; i++) put_parts_of(t, x->kid[i]);
    return;
  }
  bool *before = copy_since(t), *first = before;
  for (int i = 0; i < x->n; i++) {
    if (i) emit_open(t->e, "else {\n");
    else emit_open(t->e, "if (%s) {\n", emit_ix(t->e, x->cond));
    put_parts_of(t, x->kid[i]);
    emit_shut(t->e, 1);
    if (i) break;
    first = copy_since(t);
    TP_COPYN(t->since, before, t->k->nparts + 1);
  }
  for (int i = 0; i <= t->k->nparts; i++) t->since[i] |= first[i];
}

static void put_loop_parts(parts_text *t, const tp_pnode *x) {
  tp_emit *e = t->e;
  bool top = t->k->n == 1 && x == t->k->node, was = e->sym[x->var->id], *before = copy_since(t);
  kernel_open_for(e, x, top, "");
  put_parts_of(t, x->kid[0]);
  put_grid_meet(t);
  kernel_shut_for(e, x, top);
  TP_COPYN(t->since, before, t->k->nparts + 1); /* there may be no iteration */
  e->sym[x->var->id] = was;
}

static void put_parts_of(parts_text *t, const tp_pnode *x) {
  bool is = false;
  for (int i = 0; i < t->k->nparts; i++)
    if (t->k->part[i].node == x) put_part(t, i), is = true;
  if (is || !has_parts(t, x)) return;
  if (x->kind == TP_P_FOR) put_loop_parts(t, x);
  else if (x->kind == TP_P_IF) put_branch_parts(t, x);
  else
    for (int i = 0; i < x->n; i++) put_parts_of(t, x->kid[i]);
}

static void put_all_parts(tp_emit *e, const tp_kernel *k) {
  parts_text t = { .e = e, .k = k, .since = TP_NEWN(e->a, bool, k->nparts + 1) };
  t.home = TP_NEWN(e->a, int, k->nparts);
  bool fails = false;
  for (int i = 0; i < k->nparts; i++) {
    fails |= kernel_may_fail(e->p, &k->part[i]);
    t.since[k->nparts] |= is_load_part(&k->part[i]);
  }
  if (fails) tp_emit_line(e, "LOCAL int any_;\n");
  else tp_emit_line(e, "TP_RETURN_IF_ANY(TP_IS_SET(failed_));\n");
  for (int i = 0; i < k->n; i++) put_parts_of(&t, k->all[i]);
}

static int64_t known(tp_ix *e) {
  int64_t n;
  return tp_ix_is_const(e, &n) && n <= TP_KERNEL_THREADS ? n : TP_KERNEL_THREADS + 1;
}

/* Is it a leaf that has no more points than a block has threads? */
static bool is_small_part(const tp_kernel *k) {
  const tp_region *r = k->node->rg;
  if (!r || k->stretch) return false;
  int64_t n = 1, most = 1;
  for (int i = 0; i < r->nlead && n <= TP_KERNEL_THREADS; i++) n *= known(r->lead[i]);
  TP_WINDOWS (w, r) {
    int64_t own = 1;
    for (int i = r->nlead; r->kind != TP_RG_LOOP && i < w->rank && own <= TP_KERNEL_THREADS; i++)
      own *= known(w->shape[i]);
    most = TP_MAX(most, own);
  }
  return n <= TP_KERNEL_THREADS && most <= TP_KERNEL_THREADS && n * most <= TP_KERNEL_THREADS;
}

tp_kernel *tp_emit_parts_kernel(
    tp_arena *a, int n, const tp_pnode *const *all, int nparts, const tp_kernel *const *part) {
  tp_kernel *k = TP_NEW(a, tp_kernel);
  *k = (tp_kernel){ .node = all[0], .n = n, .all = TP_DUPN(a, all, n), .nparts = nparts };
  k->part = TP_NEWN(a, tp_kernel, nparts);
  for (int i = 0; i < nparts; i++) {
    k->part[i] = *part[i];
    k->part[i].one = is_small_part(part[i]) || (part[i]->one && !is_load_part(part[i]));
  }
  snprintf(k->name, sizeof k->name, "parts_%d_%d", all[0]->pos, all[n - 1]->lastpos);
  return k;
}

/* ---- kernels ---- */

enum { FEW_LEAVES = 8 };

static int *numbers(tp_emit *e, const bool *used, int n, int *count) {
  int *v = TP_NEWN(e->a, int, n + 1);
  *count = 0;
  for (int i = 0; i < n; i++)
    if (used[i] && !(used == e->sym && kernel_is_end(e, i))) v[(*count)++] = i;
  return v;
}

static bool writes_any(const tp_pnode *x, int buf) {
  TP_EACH_NODE (k, x)
    if (k.x->rg && tp_region_writes(k.x->rg, buf)) return true;
  return false;
}

static bool is_long_kernel(const tp_kernel *k) {
  int leaves = 0;
  for (int i = 0; i < k->n; i++)
    TP_EACH_NODE (x, k->all[i]) leaves += x.x->rg != NULL;
  return k->nparts || leaves > FEW_LEAVES;
}

/* Prints what the kernel needs to know, from what its body uses. */
static void put_head(tp_emit *e, tp_buf *b, const tp_kernel *k, const char *body) {
  tp_putf(b, "\n%sKERNEL_OF(TP_KERNEL_THREADS, %s)(PLACE(fault_p), PLACE(arena_p)",
      is_long_kernel(k) ? "LONG_" : "", k->name);
  for (int i = 0; i < k->nbuf; i++)
    if (tp_kernel_takes(e->p, k, i)) tp_putf(b, ", PLACE(p%d)", k->buf[i]);
  if (k->adds) tp_puts(b, ", PLACE(sums_p)");
  tp_puts(b, ", int64_t seed_, int64_t from_, int64_t to_");
  for (int i = 0; i < k->nsym; i++) tp_putf(b, ", int64_t s%d", k->sym[i]);
  int one = 1 + e->p->nsym, failed = one + e->p->bufs.n;
  tp_putf(b,
      ") {\n  GLOBAL int64_t *const note_ = (GLOBAL int64_t *)AT(fault_p);\n"
      "  GLOBAL int64_t *const failed_ = note_ + %d, *const meets_ = failed_ + 1,\n"
      "    *const ends_ = meets_ + 1;\n"
      "  const tp_kernel_host host_ = { (uint64_t)seed_ }, *const h = &host_;\n"
      "  (void)h, (void)from_, (void)to_, (void)ends_;\n",
      failed);
  for (int i = 0; i < e->p->nsym; i++)
    if (e->sym[i] && kernel_is_end(e, i)) tp_putf(b, "  int64_t s%d = ends_[%d];\n", i, i);
  if (strstr(body, "room_")) tp_puts(b, "  TP_ROOM;\n");
  if (strstr(body, "sort_at")) tp_puts(b, "  LOCAL int sort_at[TP_SORT_MOST];\n");
  if (strstr(body, "sort_f[")) tp_puts(b, "  LOCAL double sort_f[TP_SORT_MOST];\n");
  if (strstr(body, "sort_i[")) tp_puts(b, "  LOCAL int64_t sort_i[TP_SORT_MOST];\n");
  if (strstr(body, "EIGHTS_ADD(")) tp_puts(b, "  TP_EIGHTS_ROOM;\n");
  if (e->local) tp_putf(b, "  %s", e->local);
  for (int i = 0; i < k->nbuf; i++)
    if (!tp_kernel_takes(e->p, k, i))
      tp_putf(b, "  NOTED(p%d, arena_p, note_[%d]);\n", k->buf[i], one + k->buf[i]);
  if (!k->nparts) put_pointers(e, b);
}

bool tp_kernel_takes(const tp_plan *p, const tp_kernel *k, int i) {
  return k->placed || !tp_in_arena(p->bufs.v[k->buf[i]]);
}

static void put_kernel(tp_emit *e, tp_buf *b, tp_kernel *k, int most) {
  emit_aside body;
  emit_begin_aside(e, &body);
  e->sym = TP_NEWN(e->a, bool, tp_nsym(e->ix));
  e->buf = TP_NEWN(e->a, bool, e->p->bufs.n + 1);
  e->depth = 1;
  e->local = NULL;
  k->adds = kernel_sums(k) > 0;
  for (int i = 0; i < k->nparts; i++) k->adds |= kernel_sums(&k->part[i]) > 0;
  if (k->nparts) put_all_parts(e, k);
  else kernel_put_body(e, k, 0, 0);
  k->buf = numbers(e, e->buf, e->p->bufs.n, &k->nbuf);
  k->sym = numbers(e, e->sym, tp_nsym(e->ix), &k->nsym);
  k->placed = 3 + k->nbuf + 3 + k->nsym <= most;
  k->written = TP_NEWN(e->a, bool, k->nbuf + 1);
  for (int i = 0; i < k->nbuf; i++)
    for (int j = 0; j < k->n; j++) k->written[i] |= writes_any(k->all[j], k->buf[i]);
  const char *text = emit_end_aside(e, &body);
  put_head(e, b, k, text);
  tp_putf(b, "%s}\n", text);
}

void tp_emit_kernels(
    tp_buf *b, const tp_plan *p, tp_arena *a, tp_kernel *const *k, int n, int most) {
  tp_emit e = kernel_printer(p, a);
  if (p->reproducible) tp_puts(b, "#define TP_FMA 0\n");
  tp_puts(b, tp_prelude_gpu);
  tp_emit_environments(b, p, a);
  e.done = b;
  for (int i = 0; i < n; i++) put_kernel(&e, b, k[i], most);
}
