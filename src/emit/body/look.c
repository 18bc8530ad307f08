/* look.c: prints how threads of a device look for NaN and infinity that arise in a leaf whose
 * operands are finite, as run/watch.c does on the host.
 *
 *   an elementwise leaf   each thread looks at its value and operands before it stores the value
 *   a sum that goes on    a pass before the leaf adds without storing: the host, which says what is
 *                         wrong by running the leaf again, finds operands as they were
 *   others                a pass behind the leaf; where a result is not finite, a thread goes
 *                         through all operands of its point
 */
#include "emit/body/nest.h"

static bool is_watched(const tp_emit *e, const tp_nd *nd) {
  return nd->buf >= 0 && tp_dtype_float(tp_emit_dtype(e, nd));
}

/* The value as it is stored. */
static const char *stored(const nest *l, int k, const char *value) {
  tp_dtype d = tp_emit_dtype(l->e, &l->r->out[k]);
  const char *name = tp_dtype_name(d);
  if (!tp_half(d)) return tp_printf(l->e->a, "(%s)(%s)", tp_emit_type(d), value);
  return tp_printf(l->e->a, "tp_load_%s(tp_store_%s((float)(%s)))", name, name, value);
}

void emit_look_at_values(const nest *l) {
  tp_emit *e = l->e;
  const tp_micro *m = &l->r->micro[l->r->outmicro[0]];
  for (int k = 0; k < l->r->nout; k++) {
    if (!is_watched(e, &l->r->out[k])) continue;
    tp_emit_line(e, "if (!TP_FINITE(%s)", stored(l, k, emit_result(l, k)));
    for (int i = 0; i < tp_ops[m->op].nin; i++) {
      bool number = m->in[i] >= l->r->nin;
      if (tp_dtype_float(tp_operand_type(e->p, l->r, m->in[i])))
        tp_putf(e->b, " && TP_FINITE(%c%d)", number ? 'm' : 'i',
            number ? m->in[i] - l->r->nin : m->in[i]);
    }
    tp_puts(e->b, ") {\n");
    e->depth++;
    emit_put_fault(e, l->pos, NULL, NULL);
    emit_shut(e, 1);
  }
}

/* ---- whole operands ---- */

static const char *operand_number(tp_emit *e, const tp_region *r, int w) {
  return emit_loaded(e, tp_emit_dtype(e, tp_window_at(r, w)), emit_point_element(e, r, w));
}

/* Is the operand finite at the point of the first n axes? */
static void put_fine(tp_emit *e, const tp_region *r, int w, int n) {
  const tp_nd *nd = tp_window_at(r, w);
  for (int i = n; i < r->nlead; i++)
    tp_emit_line(
        e, "for (int64_t x%d = 0; x%d < %s && fine_; x%d++)\n", i, i, emit_ix(e, r->lead[i]), i);
  for (int i = 0; i < nd->rank; i++)
    tp_emit_line(
        e, "for (int64_t e%d = 0; e%d < %s && fine_; e%d++)\n", i, i, emit_ix(e, nd->shape[i]), i);
  tp_emit_line(e, "fine_ = TP_FINITE(%s);\n", operand_number(e, r, w));
}

/* Notes the fault if the first nin operands are finite; ends the branch around. */
static void put_fault_if_fine(tp_emit *e, const tp_region *r, int pos, int nin, int n) {
  tp_emit_line(e, "int fine_ = 1;\n");
  for (int w = 0; w < nin; w++)
    if (is_watched(e, tp_window_at(r, w))) put_fine(e, r, w, n);
  emit_open(e, "if (fine_) {\n");
  emit_put_fault(e, pos, NULL, NULL);
  emit_shut(e, 2);
}

void emit_look_at_sum(const nest *l) {
  tp_emit *e = l->e;
  tp_emit_axis ax[TP_MAXRANK];
  tp_dtype d = tp_emit_dtype(e, &l->r->out[0]);
  if (!tp_dtype_float(d)) return;
  emit_open_threads(e, emit_kept_axes(l, ax, -1, -1), ax, false);
  tp_emit_line(e, "const %s was_ = %s;\n", tp_emit_held(d), emit_value(l, l->r->nin));
  tp_emit_line(e, "%s now_ = was_;\n", tp_emit_held(d));
  int opened = emit_open_folded(l, -1);
  emit_inputs(l, true);
  emit_work(l);
  tp_emit_line(e, "now_ = %s;\n",
      stored(l, 0,
          tp_printf(e->a, "tp_%s_%s(now_, %s)", l->r->red == TP_RED_PROD ? "MUL" : "ADD",
              tp_emit_sfx(d), emit_result(l, 0))));
  emit_shut(e, opened);
  emit_open(e, "if (!TP_FINITE(now_) && TP_FINITE(was_)) {\n");
  put_fault_if_fine(e, l->r, l->pos, 1, 0);
  emit_shut(e, 1);
}

void emit_look_behind(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  int npoint = r->kind == TP_RG_LOOP ? r->npoint : r->nlead;
  emit_open(e, "{\n");
  for (int w = 0; w < r->nin + r->nout; w++) {
    const tp_nd *nd = tp_window_at(r, w);
    if (is_watched(e, nd)) tp_emit_window(e, tp_emit_cell(e, tp_emit_dtype(e, nd)), w, nd, "");
  }
  for (int w = r->nin; w < r->nin + r->nout; w++) {
    const tp_nd *nd = tp_window_at(r, w);
    tp_emit_axis ax[2 * TP_MAXRANK];
    int n = 0;
    if (!is_watched(e, nd)) continue;
    for (int i = 0; i < r->nlead; i++)
      if (i < npoint || !(r->sums >> i & 1)) ax[n++] = emit_axis(e, 'x', i, r->lead[i]);
    for (int i = 0; i < nd->rank; i++) ax[n++] = emit_axis(e, 'e', i, nd->shape[i]);
    emit_open_threads(e, n, ax, false);
    emit_open(e, "if (!TP_FINITE(%s)) {\n", operand_number(e, r, w));
    put_fault_if_fine(e, r, x->pos, r->nin, npoint);
    emit_shut(e, 1);
  }
  emit_shut(e, 1);
}
