/* map.c: prints loops without a fold. Compilers are told that iterations are independent if windows
 * show it (alone.c). */
#include "emit/body/nest.h"

enum {
  STRIP = 256,
  TILE_ROWS = 16,
  MANY_POINTS = 4096 /* less: each thread of a few blocks has one */
};

/* ---- loops ---- */

/* Are iterations along axis k independent if they read operands and store results from..to? Turned
 * windows stand in locals. */
static bool is_axis_alone(const nest *l, int k, int from, int to) {
  tp_ix **step = TP_NEWN(l->e->a, tp_ix *, l->nw);
  for (int w = 0; w < l->nw; w++) {
    bool result = w >= l->r->nin, stored = w >= l->r->nin + from && w < l->r->nin + to;
    if ((!result || stored) && !(l->turned && l->turned[w])) step[w] = l->stride[w][k];
  }
  return tp_emit_alone(l->e, l->r, l->ax[k].n, step);
}

void emit_axis_alone(const nest *l, int k, int from, int to) {
  if (is_axis_alone(l, k, from, to)) tp_emit_line(l->e, "TP_IVDEP\n");
}

int emit_open_pieces(const nest *l, int axis, int most) {
  tp_emit *e = l->e;
  int64_t n;
  bool seam = axis == l->seam;
  emit_open(e, "for (int64_t j = %s, all = %s; j < all; j += %d) {\n", seam ? "lo" : "0",
      seam ? "hi" : emit_ix(e, l->ax[axis].n), most);
  bool known = !seam && tp_ix_is_const(l->ax[axis].n, &n) && n > 0 && n <= most;
  if (known) tp_emit_line(e, "enum { some = %d };\n", (int)n);
  else tp_emit_line(e, "const int64_t some = all - j < %d ? all - j : %d;\n", most, most);
  return known ? (int)n : most;
}

static bool is_branched(const nest *l) {
  bool any = false;
  for (int k = 0; k < l->r->nmicro; k++) any |= emit_has_near(l->r, &l->r->micro[k]);
  return any && !tp_emit_faults(l->e, l->r) && !l->e->to->threads;
}

void emit_open_elements(const nest *l, int axis, const char *count) {
  emit_open(l->e, "for (int64_t k = 0; k < %s; k++) {\n", count);
  tp_emit_line(l->e, "const int64_t x%d = j + k; (void)x%d;\n", axis, axis);
}

/* Is result k wanted, and the first result of its micro? */
static bool is_held(const nest *l, int k) {
  bool first = k == 0 || l->r->out[k].buf >= 0;
  for (int i = 0; i < k; i++) first &= l->r->outmicro[i] != l->r->outmicro[k];
  return first;
}

/* Prints values of elements into locals before any is stored: a result may lie over an operand. */
static void put_held(nest *l, int axis, const char *count, bool near) {
  l->near = near;
  l->again = !near;
  if (near) tp_emit_line(l->e, "TP_IVDEP\n");
  emit_open_elements(l, axis, count);
  emit_work(l);
  for (int k = 0; k < l->r->nout; k++)
    if (is_held(l, k)) tp_emit_line(l->e, "v%d[k] = m%d;\n", k, l->r->outmicro[k]);
  emit_shut(l->e, 1);
  l->near = l->again = false;
}

void emit_open_work(const nest *of, int axis, const char *count, int most, int first) {
  nest l = *of;
  tp_emit *e = l.e;
  bool branched = is_branched(&l);
  for (int k = 0; branched && k < l.r->nout; k++)
    if (is_held(&l, k))
      tp_emit_line(e, "%s v%d[%d];\n", tp_emit_held(l.r->micro[l.r->outmicro[k]].dtype), k, most);
  if (branched) {
    tp_emit_line(e, "int far = 0;\n");
    put_held(&l, axis, count, true);
    tp_emit_line(e, "if (far)\n");
    e->depth++;
    put_held(&l, axis, count, false);
    e->depth--;
  }
  emit_axis_alone(&l, axis, first, l.r->nout);
  emit_open_elements(&l, axis, count);
  if (!branched) emit_work(&l);
  for (int k = 0; branched && k < l.r->nout; k++)
    if (is_held(&l, k))
      tp_emit_line(e, "const %s m%d = v%d[k];\n", tp_emit_held(l.r->micro[l.r->outmicro[k]].dtype),
          l.r->outmicro[k], k);
}

/* ---- points of threads ---- */

/* A quarter of x; NULL: it is no multiple of four. */
static tp_ix *quarter_of(const nest *l, tp_ix *x) {
  return tp_ix_divexact(x, tp_ix_const(l->e->ix, 4));
}

/* Does the window begin at a multiple of four elements, wherever the other axes stand? */
static bool begins_at_fours(const nest *l, int w) {
  const tp_nd *x = l->w[w];
  bool ok = x->wrap < 0 && quarter_of(l, x->off);
  for (int i = 0; i < x->nring; i++) ok &= quarter_of(l, x->ring[i].stride) != NULL;
  for (int k = 0; k < l->nax - 1; k++) ok &= quarter_of(l, l->stride[w][k]) != NULL;
  return ok;
}

bool emit_by_fours(const nest *l) {
  int in = l->nax - 1;
  int64_t n = tp_emit_count(l->r);
  if (l->folds || l->r->check || in < 0 || l->ax[in].red || (n >= 0 && n < MANY_POINTS) ||
      !quarter_of(l, l->ax[in].n) || tp_emit_faults(l->e, l->r))
    return false;
  for (int k = 0; k < l->r->nlead; k++)
    if (tp_axis_is_named(l->r, k)) return false;
  for (int w = 0; w < l->nw; w++) {
    bool along = tp_is_number(l->stride[w][in], 1);
    if (l->w[w]->buf < 0) continue;
    if (along ? !begins_at_fours(l, w) : w >= l->r->nin || !emit_is_fixed(l, w)) return false;
  }
  return true;
}

/* Reads four elements of windows that lie along the innermost axis into f<w>, or writes them. */
static void put_fours(const nest *l, bool writes) {
  nest there = *l;
  there.fours = false;
  for (int w = 0; w < l->nw; w++) {
    bool out = w >= l->r->nin;
    if (l->w[w]->buf < 0 || !tp_is_number(l->stride[w][l->nax - 1], 1) || (writes && !out))
      continue;
    const char *type = tp_dtype_name(tp_emit_dtype(l->e, l->w[w]));
    tp_emit_line(l->e, writes ? "*(GLOBAL tp_four_%s *)&" : "tp_four_%s f%d", type, w);
    if (writes) emit_element(&there, w), tp_putf(l->e->b, " = f%d", w);
    else if (!out || (l->r->acc && w == l->r->nin)) {
      tp_putf(l->e->b, " = *(GLOBAL const tp_four_%s *)&", type);
      emit_element(&there, w);
    }
    tp_puts(l->e->b, ";\n");
  }
}

/* Opens the threads' loop over axes that are kept, then the others; returns how many. */
static int open_points(const nest *l) {
  tp_emit_axis ax[TP_MAXRANK];
  int n = emit_kept_axes(l, ax, -1, -1);
  if (l->fours) ax[n - 1] = (tp_emit_axis){ "four_", quarter_of(l, ax[n - 1].n) };
  emit_open_threads(l->e, n, ax, l->lanes);
  if (l->fours) tp_emit_line(l->e, "const int64_t x%d = 4*four_;\n", l->nax - 1);
  return 1 + (l->folds ? 0 : emit_open_folded(l, -1));
}

void emit_for_threads(const nest *l) {
  if (l->looks && l->r->acc) {
    emit_look_at_sum(l);
    return;
  }
  int opened = open_points(l);
  if (l->folds) emit_fold_point(l);
  else {
    emit_inputs(l, true);
    if (l->fours) put_fours(l, false);
    if (l->fours) emit_open(l->e, "TP_EACH_OF_FOUR {\n");
    emit_work(l);
    if (l->checks) emit_look_at_values(l);
    if (!l->looks) emit_results(l, 0);
    emit_shut(l->e, l->fours);
    if (l->fours) put_fours(l, true);
  }
  emit_shut(l->e, opened);
}

void emit_map(const nest *l) {
  int in = l->nax - 1;
  bool strips = in >= 0 && is_branched(l);
  if (l->seam >= 0) emit_open_seams(l);
  for (int k = 0; k <= in; k++) {
    if (k == in) emit_inputs(l, true);
    if (k == in && strips) break;
    if (k == in) emit_axis_alone(l, k, 0, l->r->nout);
    emit_open_axis(l, k);
  }
  if (strips) emit_open_work(l, in, "some", emit_open_pieces(l, in, STRIP), 0);
  else emit_work(l);
  emit_results(l, 0);
  emit_shut(l->e, l->nax + strips + (l->seam >= 0));
}

/* ---- tiles, for windows that jump along the innermost axis ---- */

/* Moves the elements of window w in the tile at `top` and j into t<w> or out of it. */
static void put_turn(const nest *l, int w) {
  tp_emit *e = l->e;
  int in = l->nax - 1;
  bool out = w >= l->r->nin;
  nest there = *l;
  if (!l->turned[w]) return;
  there.turned = NULL;
  tp_emit_line(e, "{\n");
  tp_emit_line(e, "  const int64_t x%d = top, x%d = j;\n", l->across, in);
  tp_emit_indent(e);
  tp_putf(e->b, out ? "  h->turn(%d, &" : "  h->turn(%d, t%d, %d, &",
      tp_dtype_size(tp_emit_dtype(e, l->w[w])), w, TILE_ROW);
  emit_element(&there, w);
  tp_putf(e->b, ", %s", emit_ix(e, l->stride[w][in]));
  if (out) tp_putf(e->b, ", t%d, %d, some, rows);\n", w, TILE_ROW);
  else tp_puts(e->b, ", rows, some);\n");
  tp_emit_line(e, "}\n");
}

void emit_tiles(const nest *l) {
  tp_emit *e = l->e;
  for (int k = 0; k < l->nax - 1; k++)
    if (k != l->across) emit_open_axis(l, k);
  emit_open(e, "for (int64_t top = 0, high = %s; top < high; top += %d) {\n",
      emit_ix(e, l->ax[l->across].n), TILE_ROWS);
  tp_emit_line(
      e, "const int64_t rows = high - top < %d ? high - top : %d;\n", TILE_ROWS, TILE_ROWS);
  emit_open_pieces(l, l->nax - 1, TILE_ROW);
  for (int w = 0; w < l->nw; w++)
    if (l->turned[w])
      tp_emit_line(
          e, "%s t%d[%d];\n", tp_emit_cell(e, tp_emit_dtype(e, l->w[w])), w, TILE_ROWS * TILE_ROW);
  for (int w = 0; w < l->r->nin; w++) put_turn(l, w);
  emit_open(e, "for (int64_t row = 0; row < rows; row++) {\n");
  tp_emit_line(e, "const int64_t x%d = top + row;\n", l->across);
  emit_inputs(l, true);
  emit_open_work(l, l->nax - 1, "some", TILE_ROW, 0);
  emit_results(l, 0);
  emit_shut(e, 2);
  for (int w = l->r->nin; w < l->nw; w++) put_turn(l, w);
  emit_shut(e, l->nax);
}
