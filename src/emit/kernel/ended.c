/* ended.c: prints what of a plan hangs on ends by data (LOAD).
 *
 *   for t = 0 .. min(T, T2) { ..; load T2 of T b7{0; box B by 1} }
 *     =>  for (s1 = from_; s1 < to_ && s1 < min(s0, s2); s1++) { ..; s2 = the greatest of b7 }
 *
 * A kernel takes ends from the notes when it begins, where the kernel or the host has put them that
 * ran the LOAD. All threads of a block look for the greatest number together, so all of them know
 * it: loops and branches that hang on it go the same way in each. A loop that is launched in pieces
 * begins and ends where the host says, which takes the bound that was given for the end, or before:
 * the kernel looks for itself, and notes the value of the variable at which it left. */
#include "emit/kernel/kernel.h"

bool kernel_is_end(const tp_emit *e, int i) {
  TP_EACH_NODE (k, e->p->body)
    if (k.x->kind == TP_P_LOAD && k.x->var->id == i) return true;
  return false;
}

/* Is it launched in pieces, and may end before the host says? One that goes down begins where the
 * host says (gpu/ends.c). */
static bool leaves_early(const tp_emit *e, const tp_pnode *x, bool top) {
  return top && x->step > 0 && tp_plan_by_data(e->p, x);
}

void kernel_open_for(tp_emit *e, const tp_pnode *x, bool top, const char *branch) {
  int v = x->var->id;
  if (leaves_early(e, x, top)) {
    emit_open(e, "{\n");
    tp_emit_line(e, "int64_t s%d = from_;\n", v);
    emit_open(
        e, "for (; s%d < to_ && s%d < %s; s%d += %d) {\n", v, v, emit_ix(e, x->hi), v, x->step);
    return;
  }
  const char *end = top ? "to_" : emit_ix(e, x->step > 0 ? x->hi : x->lo);
  emit_open(e, "for (int64_t s%d = %s; %ss%d %s %s; s%d += %d) {\n", v,
      top ? "from_" : tp_emit_start(e, x, 0), branch, v, x->step > 0 ? "<" : ">=", end, v, x->step);
}

void kernel_shut_for(tp_emit *e, const tp_pnode *x, bool top) {
  int v = x->var->id;
  emit_shut(e, 1);
  if (!leaves_early(e, x, top)) return;
  tp_emit_line(e, "if (BLOCK == 0 && THREAD == 0) ends_[%d] = s%d;\n", v, v);
  emit_shut(e, 1);
}

/* ---- LOAD ---- */

/* " + y0_*stride .." along the first n axes; the others are z<axis>_. */
static const char *place_along(tp_emit *e, const tp_nd *w, int n) {
  const char *text = "";
  for (int k = 0; k < w->rank; k++)
    text = tp_printf(e->a, "%s + %c%d_*%s", text, k < n ? 'y' : 'z', k, emit_ix(e, w->stride[k]));
  return text;
}

static void put_first(tp_emit *e, const char *name, const tp_nd *w) {
  e->buf[w->buf] = true;
  tp_emit_line(e, "const int64_t %s = ", name);
  tp_emit_place(e, w, w->off);
  tp_puts(e->b, ";\n");
}

/* Is the row there (tp_rows)? n: axes of the load. */
static void put_row_test(tp_emit *e, const tp_rows *r, int n) {
  const tp_nd *w = &r->nd;
  emit_open(e, "{\n");
  put_first(e, "row_", w);
  tp_emit_line(e, "int64_t end_ = 0;\n");
  for (int k = n; k < w->rank; k++)
    tp_emit_line(
        e, "for (int64_t z%d_ = 0; z%d_ < %s; z%d_++)\n", k, k, emit_ix(e, w->shape[k]), k);
  tp_emit_line(e, "end_ = tp_index_max(end_, b%d[row_%s]);\n", w->buf, place_along(e, w, n));
  const char *at = emit_ix(e, r->at);
  if (r->along >= 0) at = tp_printf(e->a, "%s + y%d_", at, r->along);
  tp_emit_line(e, "there_ &= %s < tp_index_min(%s, end_);\n", at, emit_ix(e, r->given));
  emit_shut(e, 1);
}

void kernel_put_load(tp_emit *e, const tp_pnode *x, bool keeps) {
  const tp_nd *w = &x->nd;
  int v = x->var->id;
  e->sym[v] = true;
  emit_open(e, "{ /* %d */\n", x->pos);
  put_first(e, "at_", w);
  tp_emit_line(e, "int64_t most_ = 0, n_ = 1, last_ = at_;\n");
  for (int k = 0; k < w->rank; k++) {
    tp_emit_line(e, "const int64_t n%d_ = tp_index_max(%s, 0);\n", k, emit_ix(e, w->shape[k]));
    tp_emit_line(e, "n_ *= n%d_, last_ += (n%d_ - 1)*%s;\n", k, k, emit_ix(e, w->stride[k]));
  }
  /* a loop loads all ends that it may need at any bounds (run/resolve.c) */
  tp_emit_line(e, "if (at_ < 0 || last_ >= %s) n_ = 0;\n", emit_ix(e, e->p->bufs.v[w->buf]->size));
  emit_open(e, "for (int64_t i_ = THREAD; i_ < n_; i_ += THREADS) {\n");
  tp_emit_line(e, "int64_t left_ = i_, there_ = 1;\n");
  for (int k = w->rank; k-- > 0;)
    tp_emit_line(e, "const int64_t y%d_ = left_ %% n%d_; left_ /= n%d_;\n", k, k, k);
  for (int k = 0; k < x->nrows; k++) put_row_test(e, &x->rows[k], w->rank);
  tp_emit_line(e, "if (there_) most_ = tp_index_max(most_, b%d[at_%s]);\n", w->buf,
      place_along(e, w, w->rank));
  emit_shut(e, 1);
  tp_emit_line(e, "TP_BLOCK_MOST(most_, room_i);\n");
  tp_emit_line(e, "s%d = tp_index_min(%s, most_);\n", v, emit_ix(e, x->given));
  if (keeps) tp_emit_line(e, "if (first_ == 0) ends_[%d] = s%d;\n", v, v);
  emit_shut(e, 1);
}
