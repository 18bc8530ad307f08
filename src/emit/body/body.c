/* body.c: prints the body of a loop: its windows, and a straight line of the prelude's functions,
 * rounded where the interpreter rounds, so bits are the same. */
#include "emit/body/nest.h"

/* ---- axes ---- */

void emit_find_axes(nest *l) {
  tp_nest *n = TP_NEW(l->e->a, tp_nest);
  tp_plan_walk(l->e->ix, l->e->a, l->r, n);
  l->nax = n->nax;
  l->ax = n->ax;
  l->stride = n->stride;
  for (int k = 0, seam = tp_emit_seam(l->r); k < l->nax; k++)
    if (seam >= 0 && !l->e->to->threads && l->ax[k].of[0] == seam) l->seam = k;
  l->turned = tp_emit_turned(l->e, l->r, n, &l->across);
}

nest emit_nest_of(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = tp_emit_region(e, x);
  nest l = {
    .e = e, .r = r, .pos = x->pos, .nw = r->nin + r->nout, .product = r != x->rg, .seam = -1
  };
  l.w = TP_NEWN(e->a, const tp_nd *, l.nw);
  for (int i = 0; i < l.nw; i++) l.w[i] = tp_window_at(r, i);
  l.folds = r->sums && (!r->acc || l.product);
  for (int i = 0; i < r->nlead; i++) l.folds |= (r->sums >> i & 1) && !tp_is_number(r->lead[i], 1);
  return l;
}

/* ---- axes ---- */

int64_t emit_extent(const nest *l, int axis) {
  int64_t n;
  return tp_ix_is_const(l->ax[axis].n, &n) ? n : -1;
}

bool emit_has_least(const nest *l, int axis, int64_t least) {
  int64_t n = emit_extent(l, axis);
  return n < 0 || n >= least;
}

int emit_kept_axes(const nest *l, tp_emit_axis *ax, int but, int other) {
  int n = 0;
  for (int k = 0; k < l->nax; k++)
    if (!l->ax[k].red && k != but && k != other) ax[n++] = emit_axis(l->e, 'x', k, l->ax[k].n);
  return n;
}

void emit_open_axis(const nest *l, int k) {
  bool seam = k == l->seam;
  emit_open(l->e, "for (int64_t x%d = %s, n%d = %s; x%d < n%d; x%d++) {\n", k, seam ? "lo" : "0", k,
      seam ? "hi" : emit_ix(l->e, l->ax[k].n), k, k, k);
}

int emit_open_folded(const nest *l, int but) {
  int n = 0;
  for (int k = 0; k < l->nax; k++)
    if (l->ax[k].red && k != but) emit_open_axis(l, k), n++;
  return n;
}

/* ---- places ---- */

static tp_ix *offset_at(const nest *l, const tp_nd *nd) { return tp_emit_offset(l->r, nd, l->at); }

/* The place on its ring at which the window begins, and `place` further. */
static const char *wrapped(const nest *l, const tp_nd *nd, const char *place) {
  return tp_printf(
      l->e->a, "tp_ring_at(%s%s, %s)", emit_ix(l->e, nd->wlo), place, emit_ix(l->e, nd->wmod));
}

void emit_element(const nest *l, int w) {
  tp_emit *e = l->e;
  const tp_nd *nd = l->w[w];
  if (l->turned && l->turned[w]) {
    tp_putf(e->b, "t%d[row*%d + k]", w, TILE_ROW);
    return;
  }
  if (l->at) {
    emit_cell(e, nd, offset_at(l, nd));
    return;
  }
  if (l->fours && tp_is_number(l->stride[w][l->nax - 1], 1)) {
    tp_putf(e->b, "f%d.v[k_]", w);
    return;
  }
  bool any = false;
  tp_putf(e->b, nd->wrap >= 0 && l->seam >= 0 ? "u%d[" : "w%d[", w);
  for (int k = 0; k < l->nax; k++) {
    if (tp_is_number(l->stride[w][k], 0)) continue;
    tp_puts(e->b, any ? " + " : "");
    const char *place = tp_printf(e->a, " + x%d", k);
    bool wraps = nd->wrap >= 0 && l->seam < 0 && l->ax[k].of[0] == nd->wrap;
    tp_puts(e->b, wraps ? wrapped(l, nd, place) : place + 3);
    any = true;
    if (!tp_is_number(l->stride[w][k], 1)) tp_putf(e->b, "*%s", emit_ix(e, l->stride[w][k]));
  }
  tp_puts(e->b, any ? "]" : "0]");
}

void emit_windows(const nest *l) {
  tp_emit *e = l->e;
  for (int w = 0; w < l->nw; w++) {
    const tp_nd *nd = l->w[w];
    int wrap = nd->wrap;
    if (nd->buf < 0) continue;
    bool one = wrap >= 0 && tp_is_number(l->r->lead[wrap], 1);
    tp_ix *step = nd->lead && one ? nd->lead[wrap] : tp_ix_const(e->ix, 0);
    const char *cell = tp_emit_cell(e, tp_emit_dtype(e, nd)),
               *more = one ? tp_printf(e->a, " + %s*%s", wrapped(l, nd, ""), emit_ix(e, step)) : "";
    tp_emit_window(e, w < l->r->nin ? tp_printf(e->a, "const %s", cell) : cell, w, nd, more);
  }
}

/* Opens a loop over elements lo .. hi of the seam's axis, along which no window wraps. u<w>: where
 * a window that wraps would begin for these. */
void emit_open_seams(const nest *l) {
  tp_emit *e = l->e;
  const char *n = emit_ix(e, l->ax[l->seam].n);
  emit_open(e, "for (int64_t lo = 0, hi, seams = %s; lo < seams; lo = hi) {\n", n);
  tp_emit_line(e, "hi = seams;\n");
  for (int w = 0; w < l->nw; w++) {
    if (l->w[w]->wrap < 0) continue;
    const char *cell = tp_emit_cell(e, tp_emit_dtype(e, l->w[w]));
    tp_emit_line(e, "const int64_t r%d = %s;\n", w, wrapped(l, l->w[w], " + lo"));
    tp_emit_line(e, "hi = tp_index_min(hi, lo + tp_index_max(1, %s) - r%d);\n",
        emit_ix(e, l->w[w]->wmod), w);
    tp_emit_line(e, "%s%s *const u%d = w%d + (r%d - lo)*%s;\n", w < l->r->nin ? "const " : "", cell,
        w, w, w, emit_ix(e, l->stride[w][l->seam]));
  }
}

/* ---- the body ---- */

bool emit_is_fixed(const nest *l, int i) {
  return !l->at && l->nax && tp_is_number(l->stride[i][l->nax - 1], 0) &&
      !tp_region_writes(l->r, l->w[i]->buf);
}

/* Is each point a dot product over neighbours (product.c)? */
static bool is_dot(const nest *l) { return l->r->nmicro == 1 && l->r->micro->op == TP_OP_MATMUL; }

const char *emit_value(const nest *l, int w) {
  emit_aside a;
  emit_begin_aside(l->e, &a);
  if (!l->at || !tp_emit_carried(l->e, l->w[w], offset_at(l, l->w[w]))) {
    emit_load(l->e, tp_emit_dtype(l->e, l->w[w]));
    emit_element(l, w);
    tp_puts(l->e->b, ")");
  }
  return emit_end_aside(l->e, &a);
}

static void put_input(const nest *l, int i) {
  tp_emit *e = l->e;
  if (is_dot(l)) return;
  tp_emit_line(
      e, "const %s i%d = %s;\n", tp_emit_held(tp_emit_dtype(e, l->w[i])), i, emit_value(l, i));
}

void emit_inputs(const nest *l, bool fixed) {
  for (int i = 0; i < l->r->nin; i++)
    if (emit_is_fixed(l, i) == fixed) put_input(l, i);
}

static void put_name(const nest *l, int in) {
  tp_putf(l->e->b, in < l->r->nin ? "i%d" : "m%d", in < l->r->nin ? in : in - l->r->nin);
}

static void put_arguments(const nest *l, const tp_micro *m) {
  for (int i = 0; i < tp_ops[m->op].nin; i++) {
    if (i) tp_puts(l->e->b, ", ");
    put_name(l, m->in[i]);
  }
  tp_puts(l->e->b, ")");
}

/* Is it an i64 divided by a number for which compilers have no better code in vectors? */
static bool divides_i64(const tp_region *r, const tp_micro *m) {
  const tp_micro *by = m->in[1] >= r->nin ? &r->micro[m->in[1] - r->nin] : NULL;
  int64_t v = by && by->op == TP_OP_FILL && by->f > 0 && by->f < 0x1p45 ? (int64_t)by->f : 0;
  return m->dtype == TP_I64 && tp_emit_rows[m->op].fault == DIVZERO && (v & (v - 1));
}

bool emit_has_near(const tp_region *r, const tp_micro *m) {
  return tp_emit_rows[m->op].near && (tp_dtype_float(m->dtype) || divides_i64(r, m));
}

/* Prints the operator with all its branches as a function of its own: it seldom runs and is
 * long. */
static void put_far(tp_emit *e, const tp_micro *m, const char *sfx) {
  bool *made = &e->far[m->op][tp_compute(m->dtype)];
  const char *type = tp_emit_held(m->dtype), *name = tp_emit_rows[m->op].name;
  bool two = tp_ops[m->op].nin > 1;
  tp_putf(e->b, "tp_far_%s_%s(", name, sfx);
  if (*made || e->counts) return;
  *made = true;
  tp_putf(e->done, "\nTP_ONCE %s tp_far_%s_%s(%s a", type, name, sfx, type);
  if (two) tp_putf(e->done, ", %s b", type);
  tp_putf(e->done, ") { return tp_%s_%s(a%s); }\n", name, sfx, two ? ", b" : "");
}

static void put_call(const nest *l, const tp_micro *m) {
  tp_emit *e = l->e;
  tp_dtype from = tp_compute(tp_operand_type(e->p, l->r, m->in[m->op == TP_OP_SELECT]));
  if (m->op == TP_OP_CAST && from == TP_F64 && tp_half(m->dtype)) tp_puts(e->b, "tp_sticky_f32(");
  else if (m->op == TP_OP_CAST)
    tp_putf(e->b, "tp_cast_%s_%s(", tp_emit_sfx(from), tp_emit_sfx(m->dtype));
  else if (l->near && emit_has_near(l->r, m))
    tp_putf(e->b, "tp_near_%s_%s(", tp_emit_rows[m->op].near, tp_emit_sfx(from));
  else if (l->again && emit_has_near(l->r, m)) put_far(e, m, tp_emit_sfx(from));
  else tp_putf(e->b, "tp_%s_%s(", tp_emit_rows[m->op].name, tp_emit_sfx(from));
  put_arguments(l, m);
}

/* The element's index along axis i of the region. */
static void put_at(const nest *l, int i) {
  tp_emit *e = l->e;
  for (int k = 0; k < l->nax && !l->at; k++)
    for (int j = 0; j < l->ax[k].nof; j++) {
      if (l->ax[k].of[j] != i) continue;
      tp_ix *inner = tp_ix_const(e->ix, 1);
      for (int q = j + 1; q < l->ax[k].nof; q++)
        inner = tp_ix_mul(inner, l->r->lead[l->ax[k].of[q]]);
      tp_putf(e->b, "x%d", k);
      if (!tp_is_number(inner, 1)) tp_putf(e->b, "/%s", emit_ix(e, inner));
      if (j) tp_putf(e->b, "%%%s", emit_ix(e, l->r->lead[i]));
      return;
    }
  tp_putf(e->b, "%lld", (long long)(l->at ? l->at[i] : 0));
}

void emit_fault(const nest *l, int what, bool here) {
  tp_emit *e = l->e;
  e->depth++;
  if (!e->to->threads) {
    tp_emit_line(e, "const int64_t at[%d] = { ", TP_MAXRANK);
    for (int i = 0; i < l->r->nlead && here; i++) {
      if (i) tp_puts(e->b, ", ");
      put_at(l, i);
    }
    tp_puts(e->b, l->r->nlead && here ? " };\n" : "0 };\n");
  }
  emit_put_fault(e, l->pos, tp_printf(e->a, "%d", what), "at");
  emit_shut(e, 1);
}

static void put_fault(const nest *l, const tp_micro *m) {
  static const char *const why[] = { [DIVZERO] = "DIVZERO", [NEGPOW] = "NEGPOW" };
  tp_emit *e = l->e;
  tp_dtype d = tp_compute(tp_operand_type(e->p, l->r, m->in[0]));
  int fault = tp_emit_rows[m->op].fault;
  if (!tp_emit_may_fault(e, l->r, m)) return;
  tp_emit_line(e, "if (__builtin_expect(tp_fault_%s_%s(", why[fault], tp_emit_sfx(d));
  put_name(l, m->in[0]);
  tp_puts(e->b, ", ");
  put_name(l, m->in[1]);
  tp_puts(e->b, "), 0)) {\n");
  emit_fault(l, fault, true);
}

static void put_dot(const nest *l, const tp_micro *m) {
  tp_putf(l->e->b, "tp_dot_%s(&", tp_emit_sfx(m->dtype));
  emit_element(l, 0);
  tp_puts(l->e->b, ", &");
  emit_element(l, 1);
  tp_putf(l->e->b, ", %s, %d)", emit_ix(l->e, m->ix), (int)m->f);
}

/* Does input k decide which code is made: a number that divides, multiplies or raises integers? */
static bool decides(const tp_region *r, int k) {
  bool any = r->micro[k].dtype == TP_BOOL;
  for (int i = k + 1; i < r->nmicro && !tp_dtype_float(r->micro[k].dtype); i++)
    any |= tp_ops[r->micro[i].op].nin > 1 && r->micro[i].in[1] == r->nin + k &&
        (tp_emit_rows[r->micro[i].op].fault || r->micro[i].op == TP_OP_MUL);
  return any;
}

static void put_fill(const nest *l, int k) {
  tp_emit *e = l->e;
  const tp_micro *m = &l->r->micro[k];
  const char *number = tp_emit_number(e, m->dtype, m->f);
  if (decides(l->r, k)) tp_puts(e->b, number);
  else tp_emit_argument(e, tp_emit_held(m->dtype), &m->f, number);
}

static void put_micro(const nest *l, int k) {
  tp_emit *e = l->e;
  const tp_micro *m = &l->r->micro[k];
  put_fault(l, m);
  if (l->near && emit_has_near(l->r, m)) {
    tp_emit_line(e, "far |= !tp_is_near_%s_%s(", tp_emit_rows[m->op].test, tp_emit_sfx(m->dtype));
    put_arguments(l, m);
    tp_puts(e->b, ";\n");
  }
  tp_emit_line(e, "const %s m%d = ", tp_emit_held(m->dtype), k);
  bool rounded = tp_half(m->dtype) && tp_op_rounds(m->op);
  if (rounded) tp_putf(e->b, "tp_round_%s(", tp_dtype_name(m->dtype));
  if (m->op == TP_OP_FILL) put_fill(l, k);
  else if (m->op == TP_OP_VALUE)
    tp_putf(e->b, "tp_cast_i64_%s(%s)", tp_emit_sfx(m->dtype), emit_ix(e, m->ix));
  else if (m->op == TP_OP_MATMUL) put_dot(l, m);
  else put_call(l, m);
  tp_puts(e->b, rounded ? ");\n" : ";\n");
}

void tp_emit_micros(tp_emit *e, const tp_pnode *x) {
  nest l = emit_nest_of(e, x);
  for (int k = 0; k < l.r->nmicro; k++) put_micro(&l, k);
}

/* Declares symbols of axes that the body's numbers mention. */
static void put_leads(const nest *l) {
  tp_emit *e = l->e;
  for (int i = 0; i < l->r->nlead; i++) {
    if (!tp_axis_is_named(l->r, i)) continue;
    tp_emit_line(e, "const int64_t s%d = %s + ", l->r->leadvar[i]->id, emit_ix(e, l->r->leadlo[i]));
    put_at(l, i);
    tp_puts(e->b, ";\n");
  }
}

void emit_work(const nest *l) {
  put_leads(l);
  emit_inputs(l, false);
  /* the multiplication is fused into the sum */
  if (l->product && !is_dot(l) && tp_dtype_float(l->r->micro[0].dtype)) return;
  for (int k = 0; k < l->r->nmicro; k++) put_micro(l, k);
}

/* ---- results ---- */

static const char *const adds[] = {
  [TP_RED_SUM] = "ADD", [TP_RED_PROD] = "MUL", [TP_RED_MAX] = "MAXIMUM", [TP_RED_MIN] = "MINIMUM"
};

/* Threads write at once where the host goes on from one point to the next: of several points that
 * share an element of the result, the last one stores. */
static void put_last_only(const nest *l, int w) {
  for (int i = 0; i < l->nax; i++)
    if (!l->ax[i].red && tp_is_number(l->stride[w][i], 0) && emit_extent(l, i) != 1)
      tp_putf(l->e->b, "if (x%d == %s - 1) ", i, emit_ix(l->e, l->ax[i].n));
}

void emit_store(const nest *l, int k, const char *value) {
  tp_emit *e = l->e;
  int w = l->r->nin + k;
  const tp_nd *nd = l->w[w];
  if (nd->buf < 0) return;
  tp_dtype d = tp_emit_dtype(e, nd);
  bool acc = l->r->acc && k == 0;
  tp_carry *c = l->at ? tp_emit_carries(e, nd, offset_at(l, nd)) : NULL;
  tp_emit_indent(l->e);
  if (e->to->threads && !acc && !l->at) put_last_only(l, w);
  if (c) tp_putf(e->b, "c%d_0 = ", c->id), emit_load(e, d);
  emit_element(l, w);
  tp_puts(e->b, " = ");
  if (tp_half(d)) tp_putf(e->b, "tp_store_%s(", tp_dtype_name(d));
  if (acc) tp_putf(e->b, "tp_%s_%s(%s, ", adds[l->r->red], tp_emit_sfx(d), emit_value(l, w));
  tp_puts(e->b, value);
  tp_puts(e->b, acc ? ")" : "");
  if (tp_half(d)) tp_puts(e->b, ")");
  tp_puts(e->b, c ? ");\n" : ";\n");
  if (c) c->written = true;
}

const char *emit_result(const nest *l, int k) {
  return l->r->nmicro ? tp_printf(l->e->a, "m%d", l->r->outmicro[k]) : "i0";
}

void emit_results(const nest *l, int first) {
  for (int k = first; k < l->r->nout; k++) emit_store(l, k, emit_result(l, k));
}
