/* fuse: loops over the same points become one.
 *
 *   b[i] = f(a[i]); c[i] = g(b[i])   =>   c[i] = g(f(a[i]))
 *
 * Two loops join if their extents are the same expressions (the axes of the first one are reordered
 * where it folds nothing), and if each buffer that one writes and the other touches is seen by both
 * through one window in which no two points share an element: then a point needs only what the
 * other loop made at that point. The earlier loop moves down to the later one, so nothing in
 * between may touch what it touches. A result that nothing else reads is not stored. The later loop
 * may fold. At first a loop takes in those that it reads from: a sum that came to take in a
 * neighbour would keep that from its own readers. Operators and their order stay, so elements keep
 * their bits. Loops that may fail or are checked stay apart (they say their own name and point),
 * and so do those that would be too large (tuning.def). */
#include "plan/priv.h"

/* uses, here: windows on each buffer in the plan, and in this row of leaves. own: is the buffer
 * written before it is read in every row that has it? */
typedef struct {
  tp_plan *p;
  tp_arena *a;
  int *uses, *here;
  bool *own;
  int row;
} fuser;

/* Has each point an element of its own? */
static bool apart(const tp_region *r, const tp_nd *x) {
  for (int k = 0; k < r->nlead; k++)
    if (tp_is_number(x->lead[k], 0) && !tp_is_number(r->lead[k], 1)) return false;
  return true;
}

static bool never(
    const tp_region *a, const tp_nd *x, const tp_region *b, const tp_nd *y, const void *ud) {
  (void)a, (void)x, (void)b, (void)y, (void)ud;
  return false;
}

static bool meets(
    const tp_region *a, const tp_nd *x, const tp_region *b, const tp_nd *y, const void *ud) {
  (void)b, (void)ud;
  return tp_same_window(x, y, a->nlead) && apart(a, x);
}

/* ---- which loops ---- */

/* Has the body no numbers that differ between points? They take working memory for all points. */
static bool is_plain(const tp_region *r) {
  bool plain = r->kind == TP_RG_LOOP && !r->check && !r->ncoord;
  for (int k = 0; k < r->nlead && plain; k++) plain = !tp_axis_is_named(r, k);
  for (int k = 0; k < r->nout && plain; k++) plain = r->out[k].wrap < 0;
  return plain;
}

static bool same_axes(const tp_region *a, const tp_region *b) {
  return a->nlead == b->nlead && tp_same_exprs(a->nlead, a->lead, b->lead);
}

static bool joins(const tp_region *a, const tp_region *b) {
  if (!is_plain(a) || !is_plain(b) || a->sums || a->acc || a->first || b->first || !same_axes(a, b))
    return false;
  if (a->nmicro + b->nmicro + 2 > TP_TUNE_FUSE_OPERATORS ||
      a->nin + b->nin > TP_TUNE_FUSE_WINDOWS || a->nout + b->nout > TP_TUNE_FUSE_WINDOWS)
    return false;
  if (b->acc && tp_region_writes(a, b->out[0].buf)) return false;
  return tp_all_conflicts(a, b, meets, NULL);
}

/* order[k]: the axis of a along which x goes as y does along b's axis k. False: there is none. */
static bool axes_of(
    const tp_region *a, const tp_nd *x, const tp_region *b, const tp_nd *y, int *order) {
  uint32_t taken = 0;
  for (int k = 0; k < b->nlead; k++) {
    int i = 0;
    while (i < a->nlead && (taken >> i & 1 || a->lead[i] != b->lead[k] || x->lead[i] != y->lead[k]))
      i++;
    if (i == a->nlead) return false;
    taken |= 1u << i;
    order[k] = i;
  }
  return true;
}

static void *reordered(fuser *f, const void *v, size_t size, int n, const int *order) {
  if (!v) return NULL;
  char *to = TP_NEWN(f->a, char, size *(size_t)n);
  for (int k = 0; k < n; k++)
    memcpy(to + size * (size_t)k, (const char *)v + size * (size_t)order[k], size);
  return to;
}

/* a with its axes in this order: any order will do if nothing is folded. */
static tp_region *turned(fuser *f, const tp_region *a, const int *order) {
  tp_region *r = tp_region_copy(f->p, a);
  r->lead = reordered(f, a->lead, sizeof *a->lead, a->nlead, order);
  r->leadvar = reordered(f, a->leadvar, sizeof *a->leadvar, a->nlead, order);
  r->leadlo = reordered(f, a->leadlo, sizeof *a->leadlo, a->nlead, order);
  TP_WINDOWS (x, r) {
    x->lead = reordered(f, x->lead, sizeof *x->lead, a->nlead, order);
    for (int k = 0, was = x->wrap; k < a->nlead; k++)
      if (order[k] == was) x->wrap = k;
  }
  return r;
}

/* a, as it is or with its axes as b has them, if the two can be one. */
static const tp_region *fitting(fuser *f, const tp_region *a, const tp_region *b) {
  int order[TP_MAXLEAD];
  if (joins(a, b)) return a;
  if (!is_plain(a) || a->sums || a->acc || a->nlead != b->nlead) return NULL;
  for (int i = 0; i < a->nout; i++)
    for (int k = 0; k < b->nin; k++) {
      if (!tp_same_start(&a->out[i], &b->in[k]) || !axes_of(a, &a->out[i], b, &b->in[k], order))
        continue;
      const tp_region *t = turned(f, a, order);
      return joins(t, b) ? t : NULL;
    }
  return NULL;
}

/* ---- one of two ---- */

/* Two loops that become one. value: which value each of a's results is. References to micros are -1
 * - k until nin is known. */
typedef struct {
  tp_region *r;
  tp_micro *m;
  int nm, nin;
  const tp_region *a;
  const int *value;
} joint;

/* The value that is read through x: the earlier loop's result there, or an input. */
static int source_of(joint *j, const tp_nd *x) {
  for (int k = 0; j->a && k < j->a->nout; k++)
    if (tp_same_window(&j->a->out[k], x, j->r->nlead)) return j->value[k];
  for (int k = 0; k < j->nin; k++)
    if (tp_same_window(&j->r->in[k], x, j->r->nlead)) return k;
  j->r->in[j->nin] = *x;
  return j->nin++;
}

/* Adds the micro, unless it is a constant that is there already; its place. */
static int same_number(joint *j, const tp_micro *m) {
  for (int k = 0; k < j->nm && (m->op == TP_OP_FILL || m->op == TP_OP_VALUE); k++) {
    const tp_micro *w = &j->m[k];
    if (w->op != m->op || w->dtype != m->dtype || memcmp(&w->f, &m->f, sizeof m->f)) continue;
    if (m->op == TP_OP_FILL || w->ix == m->ix) return k;
  }
  j->m[j->nm] = *m;
  return j->nm++;
}

/* Takes over the micros; value[i]: which value result i is. Without micros it is the input. */
static void take_over(joint *j, const tp_region *from, int *value) {
  int ref[TP_TUNE_FUSE_WINDOWS + TP_TUNE_FUSE_OPERATORS];
  for (int k = 0; k < from->nin; k++) ref[k] = source_of(j, &from->in[k]);
  for (int k = 0; k < from->nmicro; k++) {
    tp_micro m = from->micro[k];
    for (int i = 0; i < tp_ops[m.op].nin; i++) m.in[i] = ref[m.in[i]];
    ref[from->nin + k] = -1 - same_number(j, &m);
  }
  for (int k = 0; k < from->nout; k++)
    value[k] = ref[from->nmicro ? from->nin + from->outmicro[k] : 0];
}

/* The micro of a result: a value that is an input gets a micro that copies it. */
static int made_by(fuser *f, joint *j, int value, int buf) {
  if (value < 0) return -1 - value;
  tp_dtype d = f->p->bufs.v[buf]->dtype;
  j->m[j->nm] = (tp_micro){ .op = TP_OP_DETACH, .dtype = d, .in = { value } };
  return j->nm++;
}

/* Does b alone read what a makes there? Both write it once at most. */
static bool is_passing(const fuser *f, const tp_region *a, const tp_region *b, int buf) {
  bool read = false;
  for (int k = 0; k < b->nin; k++) read |= b->in[k].buf == buf;
  return read && !tp_region_writes(b, buf) && f->p->bufs.v[buf]->kind == TP_BUF_TEMP &&
      tp_windows_on(a, buf) == 1 &&
      (f->own[buf] ? f->here : f->uses)[buf] == tp_windows_on(a, buf) + tp_windows_on(b, buf);
}

/* Puts the later loop's results first, because a fold is the first result. A result that the later
 * loop overwrites in the same place is not stored twice. */
static void put_results(
    fuser *f, joint *j, const tp_region *a, const tp_region *b, const int *va, const int *vb) {
  tp_region *r = j->r;
  int *om = TP_NEWN(f->a, int, a->nout + b->nout);
  for (int k = 0; k < b->nout; k++) {
    om[r->nout] = made_by(f, j, vb[k], b->out[k].buf);
    r->out[r->nout++] = b->out[k];
  }
  for (int k = 0; k < a->nout; k++) {
    int buf = a->out[k].buf;
    if (is_passing(f, a, b, buf) || (!b->acc && !b->sums && tp_region_writes(b, buf))) continue;
    om[r->nout] = made_by(f, j, va[k], a->out[k].buf);
    r->out[r->nout++] = a->out[k];
  }
  r->outmicro = om;
}

static void count_windows(int *uses, const tp_region *r, int n) {
  TP_WINDOWS (x, r)
    if (x->buf >= 0) uses[x->buf] += n;
  for (int k = 0; k < r->nrows; k++) uses[r->rows[k].nd.buf] += n;
}

static void count_both(fuser *f, const tp_region *r, int n) {
  count_windows(f->uses, r, n);
  count_windows(f->here, r, n);
}

static tp_region *join_loops(fuser *f, const tp_region *a, const tp_region *b) {
  tp_region *r = tp_dup(f->a, b, sizeof *b);
  tp_micro m[TP_TUNE_FUSE_OPERATORS + 2 * TP_TUNE_FUSE_WINDOWS];
  int va[TP_TUNE_FUSE_WINDOWS], vb[TP_TUNE_FUSE_WINDOWS];
  joint j = { .r = r, .m = m };
  r->in = TP_NEWN(f->a, tp_nd, a->nin + b->nin);
  r->out = TP_NEWN(f->a, tp_nd, a->nout + b->nout);
  r->nout = 0;
  take_over(&j, a, va);
  j.a = a;
  j.value = va;
  take_over(&j, b, vb);
  put_results(f, &j, a, b, va, vb);
  r->nin = j.nin;
  r->micro = TP_DUPN(f->a, m, j.nm);
  r->nmicro = j.nm;
  tp_settle_micros(r);
  count_both(f, a, -1);
  count_both(f, b, -1);
  count_both(f, r, 1);
  return r;
}

/* ---- rows of leaves ---- */

static bool can_sink(tp_pnode *const *v, int from, int to) {
  for (int k = from + 1; k < to; k++)
    if (v[k] && !tp_all_conflicts(v[from]->rg, v[k]->rg, never, NULL)) return false;
  return true;
}

static bool reads_from(const tp_region *r, const tp_region *a) {
  for (int i = 0; i < r->nin; i++)
    if (r->in[i].buf >= 0 && tp_region_writes(a, r->in[i].buf)) return true;
  return false;
}

/* Leaf j takes in those before it that it can, any or those that it reads from. */
static void take_in(fuser *f, tp_pnode **v, int j, bool any) {
  for (int i = j - 1; i >= 0 && i >= j - TP_TUNE_FUSE_NEAR; i--) {
    if (!v[i]) continue;
    if (tp_is_wall(v[i])) return;
    if (!any && !reads_from(v[j]->rg, v[i]->rg)) continue;
    const tp_region *a = can_sink(v, i, j) ? fitting(f, v[i]->rg, v[j]->rg) : NULL;
    if (!a) continue;
    v[j]->rg = join_loops(f, a, v[j]->rg);
    v[i] = NULL;
  }
}

static void count_row(fuser *f, const tp_pnode *x, int n) {
  for (int i = 0; i < x->n; i++)
    if (x->kid[i]->kind == TP_P_REGION) count_windows(f->here, x->kid[i]->rg, n);
}

static void fuse_row(fuser *f, tp_pnode *x) {
  count_row(f, x, 1);
  for (int any = 0; any < 2; any++)
    for (int j = 1; j < x->n; j++)
      if (x->kid[j] && !tp_is_wall(x->kid[j])) take_in(f, x->kid, j, any);
  int n = 0;
  for (int i = 0; i < x->n; i++)
    if (x->kid[i]) x->kid[n++] = x->kid[i];
  x->n = n;
  count_row(f, x, -1);
}

/* ---- values that stay in a row ---- */

/* the first writer of a buffer, and the number of its row */
typedef struct {
  const tp_region *r;
  const tp_nd *x;
  int row;
} writer;

/* Does the window read only elements that were written in this row? If not, own is false. */
static void see_window(fuser *f, const writer *by, const tp_region *r, const tp_nd *x) {
  by += x->buf;
  f->own[x->buf] &= r->kind == TP_RG_LOOP && !r->first && by->r && by->row == f->row &&
      same_axes(by->r, r) && tp_same_window(by->x, x, r->nlead);
}

static void see_region(fuser *f, writer *by, const tp_region *r) {
  for (int k = 0; k < r->nin; k++) see_window(f, by, r, &r->in[k]);
  for (int k = 0; k < r->nrows; k++) f->own[r->rows[k].nd.buf] = false;
  for (int k = 0; k < r->nout; k++) {
    const tp_nd *x = &r->out[k];
    if (x->buf < 0) continue;
    if (r->acc) see_window(f, by, r, x);
    else if (!by[x->buf].r || by[x->buf].row != f->row) by[x->buf] = (writer){ r, x, f->row };
  }
}

/* Finds own for the rows in x. A row ends at a node that is no leaf. */
static void find_own(fuser *f, const tp_pnode *x, writer *by) {
  if (x->kind == TP_P_REGION) see_region(f, by, x->rg);
  for (int i = 0; i < tp_node_windows(x) && x->kind == TP_P_LOAD; i++)
    f->own[tp_node_window(x, i)->buf] = false;
  for (int i = 0; i < x->n; i++) {
    const tp_pnode *k = x->kid[i];
    find_own(f, k, by);
    bool leaves = k->kind == TP_P_REGION && i + 1 < x->n && x->kid[i + 1]->kind == TP_P_REGION;
    f->row += x->kind != TP_P_SEQ || !leaves;
  }
}

void tp_plan_fuse(tp_plan *p, const tp_planned *asked) {
  (void)asked;
  int n = p->bufs.n;
  fuser f = { .p = p,
    .a = p->a,
    .uses = tp_plan_uses(p),
    .here = TP_NEWN(p->a, int, n),
    .own = TP_NEWN(p->a, bool, n) };
  for (int i = 0; i < n; i++)
    f.own[i] = p->bufs.v[i]->kind == TP_BUF_TEMP && p->bufs.v[i]->holds < 0;
  TP_KIDS_FIRST (k, p->body)
    if (k.x->kind == TP_P_SEQ) {
      tp_pnodes row = { 0 };
      tp_put_row(p->a, &row, k.x);
      k.x->kid = row.v, k.x->n = row.n;
    }
  find_own(&f, p->body, TP_NEWN(p->a, writer, n));
  TP_KIDS_FIRST (k, p->body)
    if (k.x->kind == TP_P_SEQ) fuse_row(&f, k.x);
}
