/* loop.c: a LOOP as C loops.
 *
 * Axes are walked in the plan's order (plan/walk.c). The body is a straight line of the prelude's
 * functions, rounded where the interpreter rounds. Without a fold an iteration asks nothing of
 * another, and where windows show it compilers are told so (alone.c). A fold along the innermost
 * axis goes by TP_FOLD_LANES partial results that are joined after TP_FOLD_PART elements, one along
 * other axes keeps a result for each of up to COLUMNS places: f32 in f64, but for lanes, as the
 * interpreter's kernels do. A few points of known extents are written out without loops. */
#include "emit/priv.h"
#include "kernels/prelude/fold.h"
#include <math.h>

enum {
  LANES = TP_FOLD_LANES,
  COLUMNS = 1024,
  STRIP = 256,
  TILE_ROWS = 16,
  TILE_ROW = 64,
  TURN_SIDE = 16
};

typedef struct {
  tp_emit *e;
  const tp_region *r;
  int pos;
  int nw;
  const tp_nd **w; /* windows: inputs, then results */
  int nax;
  tp_axis *ax;
  tp_axis_strides *stride; /* as tp_nest */
  /* a written out point: its place along the region's axes; NULL: loops */
  const int64_t *at;
  bool folds, product; /* product: x * y is fused into the sum */
  /* operators take operands for near ones, `far` becomes 1 where one is not; again: then the strip
   * is made again */
  bool near, again;
  int across; /* the axis along which turned windows lie */
  /* by window: its elements of a tile stand in t<w> as the others' do; NULL: there are no tiles */
  const bool *turned;
} nest;

/* ---- axes ---- */

/* Of a product the summed axis goes innermost or around columns: its terms are added one by one
 * either way. */
static void find_axes(nest *l) {
  tp_nest *n = TP_NEW(l->e->a, tp_nest);
  tp_plan_walk(l->e->ix, l->e->a, l->r, n);
  l->nax = n->nax;
  l->ax = n->ax;
  l->stride = n->stride;
  l->turned = tp_emit_turned(l->e, l->r, n, &l->across);
}

static nest nest_of(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = tp_emit_region(e, x);
  nest l = { .e = e, .r = r, .pos = x->pos, .nw = r->nin + r->nout, .product = r != x->rg };
  l.w = TP_NEWN(e->a, const tp_nd *, l.nw);
  for (int i = 0; i < l.nw; i++) l.w[i] = tp_window_at(r, i);
  l.folds = r->sums && (!r->acc || l.product);
  for (int i = 0; i < r->nlead; i++) l.folds |= (r->sums >> i & 1) && !tp_is_number(r->lead[i], 1);
  return l;
}

/* ---- places ---- */

static const tp_ix *offset_at(const nest *l, const tp_nd *nd) {
  return tp_emit_offset(l->e, l->r, nd, l->at);
}

/* Where the window's elements along its ring begin: at this place of their axis, or, where that has
 * one place only, at the first (""). */
static void put_wrapped(const nest *l, const tp_nd *nd, const char *place) {
  tp_puts(l->e->b, "tp_ring_at(");
  tp_emit_ix(l->e, nd->wlo);
  tp_puts(l->e->b, place);
  tp_puts(l->e->b, ", ");
  tp_emit_ix(l->e, nd->wmod);
  tp_puts(l->e->b, ")");
}

static void put_element(const nest *l, int w) {
  tp_emit *e = l->e;
  const tp_nd *nd = l->w[w];
  if (l->turned && l->turned[w]) {
    tp_putf(e->b, "t%d[row*%d + k]", w, TILE_ROW);
    return;
  }
  if (l->at) {
    e->buf[nd->buf] = true;
    tp_putf(e->b, "b%d[", nd->buf);
    tp_emit_place(e, nd, offset_at(l, nd));
    tp_puts(e->b, "]");
    return;
  }
  bool any = false;
  tp_putf(e->b, "w%d[", w);
  for (int k = 0; k < l->nax; k++) {
    if (tp_is_number(l->stride[w][k], 0)) continue;
    tp_puts(e->b, any ? " + " : "");
    char place[24];
    snprintf(place, sizeof place, " + x%d", k);
    if (nd->wrap >= 0 && l->ax[k].of[0] == nd->wrap) put_wrapped(l, nd, place);
    else tp_puts(e->b, place + 3);
    any = true;
    if (tp_is_number(l->stride[w][k], 1)) continue;
    tp_puts(e->b, "*");
    tp_emit_ix(e, l->stride[w][k]);
  }
  tp_puts(e->b, any ? "]" : "0]");
}

static void put_windows(const nest *l) {
  tp_emit *e = l->e;
  for (int w = 0; w < l->nw; w++) {
    int buf = l->w[w]->buf;
    char type[32];
    if (buf < 0) continue;
    snprintf(type, sizeof type, "%s%s", w < l->r->nin ? "const " : "",
        tp_emit_cell(e, tp_emit_dtype(e, l->w[w])));
    if (!tp_emit_window(e, type, w, buf)) continue;
    tp_emit_place(e, l->w[w], l->w[w]->off);
    if (l->w[w]->wrap >= 0 && tp_is_number(l->r->lead[l->w[w]->wrap], 1)) {
      tp_puts(e->b, " + ");
      put_wrapped(l, l->w[w], "");
      tp_puts(e->b, "*");
      tp_emit_ix(e, l->w[w]->lead ? l->w[w]->lead[l->w[w]->wrap] : tp_ix_const(e->ix, 0));
    }
    tp_emit_window_end(e);
  }
}

/* ---- the body ---- */

static bool is_written(const nest *l, int buf) {
  bool any = false;
  for (int i = 0; i < l->r->nout; i++) any |= l->r->out[i].buf == buf;
  return any;
}

/* The same along the innermost axis: read before it. */
static bool is_fixed(const nest *l, int i) {
  return !l->at && l->nax && tp_is_number(l->stride[i][l->nax - 1], 0) &&
      !is_written(l, l->w[i]->buf);
}

/* Does each point go through neighbours itself (product.c)? */
static bool is_dot(const nest *l) { return l->r->nmicro == 1 && l->r->micro->op == TP_OP_MATMUL; }

static void put_input(const nest *l, int i) {
  tp_emit *e = l->e;
  if (is_dot(l)) return;
  tp_dtype d = tp_emit_dtype(e, l->w[i]);
  tp_emit_indent(l->e);
  tp_putf(e->b, "const %s i%d = ", tp_emit_held(d), i);
  if (!l->at || !tp_emit_carried(e, l->w[i], offset_at(l, l->w[i]))) {
    if (tp_half(d)) tp_putf(e->b, "tp_load_%s(", tp_dtype_name(d));
    put_element(l, i);
    if (tp_half(d)) tp_puts(e->b, ")");
  }
  tp_puts(e->b, ";\n");
}

static void put_inputs(const nest *l, bool fixed) {
  for (int i = 0; i < l->r->nin; i++)
    if (is_fixed(l, i) == fixed) put_input(l, i);
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

/* An i64 divided by a number for which compilers know nothing better in vectors. */
static bool divides_i64(const tp_region *r, const tp_micro *m) {
  const tp_micro *by = m->in[1] >= r->nin ? &r->micro[m->in[1] - r->nin] : NULL;
  int64_t v = by && by->op == TP_OP_FILL && by->f > 0 && by->f < 0x1p45 ? (int64_t)by->f : 0;
  return m->dtype == TP_I64 && tp_emit_rows[m->op].fault == DIVZERO && (v & (v - 1));
}

/* Has the operator a form without branches, for what is near? */
static bool has_near(const tp_region *r, const tp_micro *m) {
  return tp_emit_rows[m->op].near && (tp_dtype_float(m->dtype) || divides_i64(r, m));
}

/* With all its branches, in a function of its own: seldom run, and long wherever it stands. */
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
  tp_dtype from = tp_compute(tp_emit_type_of(e, l->r, m->in[m->op == TP_OP_SELECT]));
  if (m->op == TP_OP_CAST && from == TP_F64 && tp_half(m->dtype)) tp_puts(e->b, "tp_sticky_f32(");
  else if (m->op == TP_OP_CAST)
    tp_putf(e->b, "tp_cast_%s_%s(", tp_emit_sfx(from), tp_emit_sfx(m->dtype));
  else if (l->near && has_near(l->r, m))
    tp_putf(e->b, "tp_near_%s_%s(", tp_emit_rows[m->op].near, tp_emit_sfx(from));
  else if (l->again && has_near(l->r, m)) put_far(e, m, tp_emit_sfx(from));
  else tp_putf(e->b, "tp_%s_%s(", tp_emit_rows[m->op].name, tp_emit_sfx(from));
  put_arguments(l, m);
}

/* Is the operand, are both, near? */
static void put_near(const nest *l, const tp_micro *m) {
  tp_emit_indent(l->e);
  tp_putf(l->e->b, "far |= !tp_is_near_%s_%s(", tp_emit_rows[m->op].test,
      tp_emit_sfx(tp_compute(m->dtype)));
  put_arguments(l, m);
  tp_puts(l->e->b, ";\n");
}

/* Where the element is along axis i of the region. */
static void put_at(const nest *l, int i) {
  tp_emit *e = l->e;
  for (int k = 0; k < l->nax && !l->at; k++)
    for (int j = 0; j < l->ax[k].nof; j++) {
      if (l->ax[k].of[j] != i) continue;
      const tp_ix *inner = tp_ix_const(e->ix, 1);
      for (int q = j + 1; q < l->ax[k].nof; q++)
        inner = tp_ix_mul(e->ix, inner, l->r->lead[l->ax[k].of[q]]);
      tp_putf(e->b, "x%d", k);
      if (!tp_is_number(inner, 1)) {
        tp_puts(e->b, "/");
        tp_emit_ix(e, inner);
      }
      if (j) {
        tp_puts(e->b, "%");
        tp_emit_ix(e, l->r->lead[i]);
      }
      return;
    }
  tp_putf(e->b, "%lld", (long long)(l->at ? l->at[i] : 0));
}

/* The run ends at this point. */
static void put_end(const nest *l, int what, bool here) {
  tp_emit *e = l->e;
  char pos[16];
  e->depth++;
  tp_emit_ends(e);
  tp_emit_indent(l->e);
  tp_putf(e->b, "const int64_t at[%d] = { ", TP_MAXRANK);
  for (int i = 0; i < l->r->nlead && here; i++) {
    if (i) tp_puts(e->b, ", ");
    put_at(l, i);
  }
  tp_puts(e->b, l->r->nlead && here ? " };\n" : "0 };\n");
  tp_emit_line(e, "return h->fault(h->exec, %s, %d, at);\n", tp_emit_pos(e, l->pos, pos), what);
  e->depth--;
  tp_emit_line(e, "}\n");
}

static void put_fault(const nest *l, const tp_micro *m) {
  static const char *const why[] = { [DIVZERO] = "DIVZERO", [NEGPOW] = "NEGPOW" };
  tp_emit *e = l->e;
  tp_dtype d = tp_compute(tp_emit_type_of(e, l->r, m->in[0]));
  int fault = tp_emit_rows[m->op].fault;
  if (!tp_emit_may_fault(e, l->r, m)) return;
  tp_emit_indent(l->e);
  tp_putf(e->b, "if (__builtin_expect(tp_fault_%s_%s(", why[fault], tp_emit_sfx(d));
  put_name(l, m->in[0]);
  tp_puts(e->b, ", ");
  put_name(l, m->in[1]);
  tp_puts(e->b, "), 0)) {\n");
  put_end(l, fault, true);
}

/* The number at this point, in the symbols of its axes. */
static void put_value(const nest *l, const tp_micro *m) {
  tp_emit *e = l->e;
  tp_putf(e->b, "tp_cast_i64_%s(", tp_emit_sfx(m->dtype));
  tp_emit_ix(e, m->ix);
  tp_puts(e->b, ")");
}

static void put_dot(const nest *l, const tp_micro *m) {
  tp_putf(l->e->b, "tp_dot_%s(&", tp_emit_sfx(m->dtype));
  put_element(l, 0);
  tp_puts(l->e->b, ", &");
  put_element(l, 1);
  tp_puts(l->e->b, ", ");
  tp_emit_ix(l->e, m->ix);
  tp_putf(l->e->b, ", %d)", (int)m->f);
}

/* Of integers, what they divide, multiply or raise by makes other code. */
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
  if (l->near && has_near(l->r, m)) put_near(l, m);
  tp_emit_indent(l->e);
  tp_putf(e->b, "const %s m%d = ", tp_emit_held(m->dtype), k);
  bool rounded = tp_half(m->dtype) && tp_op_rounds(m->op);
  if (rounded) tp_putf(e->b, "tp_round_%s(", tp_dtype_name(m->dtype));
  if (m->op == TP_OP_FILL) put_fill(l, k);
  else if (m->op == TP_OP_VALUE) put_value(l, m);
  else if (m->op == TP_OP_MATMUL) put_dot(l, m);
  else put_call(l, m);
  tp_puts(e->b, rounded ? ");\n" : ";\n");
}

void tp_emit_micros(tp_emit *e, const tp_pnode *x) {
  nest l = nest_of(e, x);
  for (int k = 0; k < l.r->nmicro; k++) put_micro(&l, k);
}

/* Symbols of axes whose values are numbers of the body. */
static void put_leads(const nest *l) {
  tp_emit *e = l->e;
  for (int i = 0; i < l->r->nlead; i++) {
    tp_axis a = { .nof = 1, .of = { i } };
    if (!tp_walk_is_named(l->r, &a)) continue;
    tp_emit_indent(l->e);
    tp_putf(e->b, "const int64_t s%d = ", l->r->leadvar[i]->id);
    tp_emit_ix(e, l->r->leadlo[i]);
    tp_puts(e->b, " + ");
    put_at(l, i);
    tp_puts(e->b, ";\n");
  }
}

static void put_work(const nest *l) {
  put_leads(l);
  put_inputs(l, false);
  /* fused into the sum */
  if (l->product && !is_dot(l) && tp_dtype_float(l->r->micro[0].dtype)) return;
  for (int k = 0; k < l->r->nmicro; k++) put_micro(l, k);
}

/* ---- results ---- */

static const char *const adds[] = {
  [TP_RED_SUM] = "ADD", [TP_RED_PROD] = "MUL", [TP_RED_MAX] = "MAXIMUM", [TP_RED_MIN] = "MINIMUM"
};

/* Result k, whose value the text is, goes to its place, or is added to what is there. */
static void put_store(const nest *l, int k, const char *value) {
  tp_emit *e = l->e;
  int w = l->r->nin + k;
  const tp_nd *nd = l->w[w];
  if (nd->buf < 0) return;
  tp_dtype d = tp_emit_dtype(e, nd);
  bool acc = l->r->acc && k == 0;
  tp_carry *c = l->at ? tp_emit_carries(e, nd, offset_at(l, nd)) : NULL;
  tp_emit_indent(l->e);
  if (c && tp_half(d)) tp_putf(e->b, "c%d_0 = tp_load_%s(", c->id, tp_dtype_name(d));
  else if (c) tp_putf(e->b, "c%d_0 = ", c->id);
  put_element(l, w);
  tp_puts(e->b, " = ");
  if (tp_half(d)) tp_putf(e->b, "tp_store_%s(", tp_dtype_name(d));
  if (acc) {
    tp_putf(e->b, "tp_%s_%s(", adds[l->r->red], tp_emit_sfx(d));
    if (!l->at || !tp_emit_carried(e, nd, offset_at(l, nd))) {
      if (tp_half(d)) tp_putf(e->b, "tp_load_%s(", tp_dtype_name(d));
      put_element(l, w);
      if (tp_half(d)) tp_puts(e->b, ")");
    }
    tp_puts(e->b, ", ");
  }
  tp_puts(e->b, value);
  tp_puts(e->b, acc ? ")" : "");
  if (tp_half(d)) tp_puts(e->b, ")");
  tp_puts(e->b, c && tp_half(d) ? ");\n" : ";\n");
  if (c) c->written = true;
}

static void put_results(const nest *l, int first) {
  char value[32];
  for (int k = first; k < l->r->nout; k++) {
    if (l->r->nmicro) snprintf(value, sizeof value, "m%d", l->r->outmicro[k]);
    else snprintf(value, sizeof value, "i0");
    put_store(l, k, value);
  }
}

/* ---- loops ---- */

static void open_axis(const nest *l, int k) {
  tp_emit *e = l->e;
  tp_emit_indent(l->e);
  tp_putf(e->b, "for (int64_t x%d = 0, n%d = ", k, k);
  tp_emit_ix(e, l->ax[k].n);
  tp_putf(e->b, "; x%d < n%d; x%d++) {\n", k, k, k);
  e->depth++;
}

static void shut(const nest *l) {
  l->e->depth--;
  tp_emit_line(l->e, "}\n");
}

/* May iterations over places of axis k be taken as independent, if they read operands and store
 * results from..to? Turned windows stand in locals. */
static bool is_axis_alone(const nest *l, int k, int from, int to) {
  const tp_ix **step = TP_NEWN(l->e->a, const tp_ix *, l->nw);
  for (int w = 0; w < l->nw; w++) {
    bool result = w >= l->r->nin, stored = w >= l->r->nin + from && w < l->r->nin + to;
    if ((!result || stored) && !(l->turned && l->turned[w])) step[w] = l->stride[w][k];
  }
  return tp_emit_alone(l->e, l->r, l->ax[k].n, step);
}

static void put_axis_alone(const nest *l, int k, int from, int to) {
  if (is_axis_alone(l, k, from, to)) tp_emit_line(l->e, "TP_IVDEP\n");
}

/* Elements j .. j + some of an axis, `most` at a time; the largest `some`. */
static int open_pieces(const nest *l, int axis, int most) {
  tp_emit *e = l->e;
  int64_t n;
  tp_emit_indent(e);
  tp_puts(e->b, "for (int64_t j = 0, all = ");
  tp_emit_ix(e, l->ax[axis].n);
  tp_putf(e->b, "; j < all; j += %d) {\n", most);
  e->depth++;
  bool known = tp_ix_is_const(l->ax[axis].n, &n) && n > 0 && n <= most;
  if (known) tp_emit_line(e, "enum { some = %d };\n", (int)n);
  else tp_emit_line(e, "const int64_t some = all - j < %d ? all - j : %d;\n", most, most);
  return known ? (int)n : most;
}

static bool is_branched(const nest *l) {
  bool any = false;
  for (int k = 0; k < l->r->nmicro; k++) any |= has_near(l->r, &l->r->micro[k]);
  return any && !tp_emit_faults(l->e, l->r);
}

static void open_elements(const nest *l, int axis, const char *count) {
  tp_emit_line(l->e, "for (int64_t k = 0; k < %s; k++) {\n", count);
  l->e->depth++;
  tp_emit_line(l->e, "const int64_t x%d = j + k; (void)x%d;\n", axis, axis);
}

/* Is result k a micro that no result before it is, and that somebody takes? */
static bool is_held(const nest *l, int k) {
  bool first = k == 0 || l->r->out[k].buf >= 0;
  for (int i = 0; i < k; i++) first &= l->r->outmicro[i] != l->r->outmicro[k];
  return first;
}

/* Values of elements are held: a result may lie over an operand. */
static void put_held(nest *l, int axis, const char *count, bool near) {
  l->near = near;
  l->again = !near;
  if (near) tp_emit_line(l->e, "TP_IVDEP\n");
  open_elements(l, axis, count);
  put_work(l);
  for (int k = 0; k < l->r->nout; k++)
    if (is_held(l, k)) tp_emit_line(l->e, "v%d[k] = m%d;\n", k, l->r->outmicro[k]);
  shut(l);
  l->near = l->again = false;
}

/* For each element what the micros make of it; `most`: of `count`; then its results are stored from
 * `first` on. Where operators have branches all go without, and if one was wrong about that again
 * with them. */
static void open_work(const nest *of, int axis, const char *count, int most, int first) {
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
  put_axis_alone(&l, axis, first, l.r->nout);
  open_elements(&l, axis, count);
  if (!branched) put_work(&l);
  for (int k = 0; branched && k < l.r->nout; k++)
    if (is_held(&l, k))
      tp_emit_line(e, "const %s m%d = v%d[k];\n", tp_emit_held(l.r->micro[l.r->outmicro[k]].dtype),
          l.r->outmicro[k], k);
}

enum { ABREAST = 64 }; /* places: four vectors of the widest */

/* Is it a long chain of operators over many places? It goes by a few vectors at once: where one
 * waits for its own results the processor has the others. */
static bool goes_abreast(const nest *l, int in) {
  int64_t n;
  return l->r->nmicro >= TP_TUNE_ABREAST_MICROS && tp_ix_is_const(l->ax[in].n, &n) &&
      n >= TP_TUNE_ABREAST_PLACES && n % ABREAST == 0 && !tp_emit_faults(l->e, l->r) &&
      is_axis_alone(l, in, 0, l->r->nout);
}

static void open_abreast(const nest *l, int in) {
  put_inputs(l, true);
  tp_emit_indent(l->e);
  tp_puts(l->e->b, "for (int64_t j = 0; j < ");
  tp_emit_ix(l->e, l->ax[in].n);
  tp_putf(l->e->b, "; j += %d) {\n", ABREAST);
  l->e->depth++;
  tp_emit_line(l->e, "enum { some = %d };\n", ABREAST);
  tp_emit_line(l->e, "TP_ABREAST\n");
  open_elements(l, in, "some");
}

static void put_map(const nest *l) {
  int in = l->nax - 1;
  bool strips = in >= 0 && is_branched(l), abreast = in >= 0 && !strips && goes_abreast(l, in);
  for (int k = 0; k < in + !(strips || abreast); k++) {
    if (k == in) {
      put_inputs(l, true);
      put_axis_alone(l, k, 0, l->r->nout);
    }
    open_axis(l, k);
  }
  if (strips) {
    put_inputs(l, true);
    open_work(l, in, "some", open_pieces(l, in, STRIP), 0);
  } else {
    if (abreast) open_abreast(l, in);
    put_work(l);
  }
  put_results(l, 0);
  for (int k = 0; k < l->nax + (strips || abreast); k++) shut(l);
}

/* ---- maps with windows that are turned ---- a tile at a time, in which each line is gone through
 * while it is near */

/* Elements of window w of the tile at `top` and j, into t<w> or out of it. */
static void put_turn(const nest *l, int w) {
  tp_emit *e = l->e;
  int in = l->nax - 1;
  bool out = w >= l->r->nin;
  nest there = *l;
  there.turned = NULL;
  tp_emit_line(e, "{\n");
  tp_emit_line(e, "  const int64_t x%d = top, x%d = j;\n", l->across, in);
  tp_emit_indent(e);
  tp_putf(e->b, out ? "  h->turn(%d, &" : "  h->turn(%d, t%d, %d, &",
      tp_dtype_size(tp_emit_dtype(e, l->w[w])), w, TILE_ROW);
  put_element(&there, w);
  tp_puts(e->b, ", ");
  tp_emit_ix(e, l->stride[w][in]);
  if (out) tp_putf(e->b, ", t%d, %d, some, rows);\n", w, TILE_ROW);
  else tp_puts(e->b, ", rows, some);\n");
  tp_emit_line(e, "}\n");
}

static void put_turns(const nest *l, int from, int to) {
  for (int w = from; w < to; w++)
    if (l->turned[w]) put_turn(l, w);
}

static void put_tile_rows(const nest *l) {
  tp_emit *e = l->e;
  tp_emit_line(e, "for (int64_t row = 0; row < rows; row++) {\n");
  e->depth++;
  tp_emit_line(e, "const int64_t x%d = top + row;\n", l->across);
  put_inputs(l, true);
  open_work(l, l->nax - 1, "some", TILE_ROW, 0);
  put_results(l, 0);
  shut(l);
  shut(l);
}

static void put_tiles(const nest *l) {
  tp_emit *e = l->e;
  for (int k = 0; k < l->nax - 1; k++)
    if (k != l->across) open_axis(l, k);
  tp_emit_indent(e);
  tp_puts(e->b, "for (int64_t top = 0, high = ");
  tp_emit_ix(e, l->ax[l->across].n);
  tp_putf(e->b, "; top < high; top += %d) {\n", TILE_ROWS);
  e->depth++;
  tp_emit_line(
      e, "const int64_t rows = high - top < %d ? high - top : %d;\n", TILE_ROWS, TILE_ROWS);
  open_pieces(l, l->nax - 1, TILE_ROW);
  for (int w = 0; w < l->nw; w++)
    if (l->turned[w])
      tp_emit_line(
          e, "%s t%d[%d];\n", tp_emit_cell(e, tp_emit_dtype(e, l->w[w])), w, TILE_ROWS * TILE_ROW);
  put_turns(l, 0, l->r->nin);
  put_tile_rows(l);
  put_turns(l, l->r->nin, l->nw);
  for (int k = 0; k < l->nax; k++) shut(l);
}

/* ---- folds ---- */

typedef struct {
  const char *part, *acc, *fn;
  tp_dtype c;
} fold_types;

static fold_types types_of(const nest *l) {
  tp_dtype c = tp_compute(tp_emit_result_type(l->e, l->r, 0));
  bool adds_up = l->r->red == TP_RED_SUM || l->r->red == TP_RED_PROD,
       most = l->r->red == TP_RED_MAX;
  const char *own = tp_emit_type(c),
             *natural = c == TP_I32 ? "uint32_t"
      : c == TP_I64                 ? "uint64_t"
                                    : own;
  fold_types t = { own, own, NULL, c };
  if (adds_up) t.fn = l->r->red == TP_RED_SUM ? "ADD" : "MUL";
  else if (c == TP_BOOL) t.fn = most ? "ANY" : "ALL";
  else if (tp_dtype_float(c)) t.fn = most ? "FMOST" : "FLEAST";
  else t.fn = most ? "MOST" : "LEAST";
  if (adds_up) t.part = t.acc = natural;
  if (adds_up && c == TP_F32 && !l->product)
    t.acc = "double", t.part = l->r->red == TP_RED_SUM ? "float" : "double";
  return t;
}

/* What a fold of nothing is. */
static void put_identity(const nest *l, const fold_types *t) {
  tp_emit *e = l->e;
  static const double least[] = { [TP_U8] = 0, [TP_I32] = INT32_MIN, [TP_I64] = -0x1p63 },
                      most[] = { [TP_U8] = 255, [TP_I32] = INT32_MAX };
  if (l->r->red == TP_RED_SUM || l->r->red == TP_RED_PROD)
    tp_puts(e->b, l->r->red == TP_RED_SUM ? "0" : "1");
  else if (tp_dtype_float(t->c))
    tp_puts(e->b, tp_emit_number(e, t->c, l->r->red == TP_RED_MAX ? -HUGE_VAL : HUGE_VAL));
  else if (t->c == TP_BOOL) tp_puts(e->b, l->r->red == TP_RED_MAX ? "0" : "1");
  else if (l->r->red == TP_RED_MIN && t->c == TP_I64) tp_puts(e->b, "9223372036854775807LL");
  else tp_puts(e->b, tp_emit_number(e, t->c, l->r->red == TP_RED_MAX ? least[t->c] : most[t->c]));
}

/* What a fold takes at a point. */
static void put_folded_value(const nest *l) {
  if (l->r->nmicro) tp_putf(l->e->b, "m%d", l->r->outmicro[0]);
  else tp_puts(l->e->b, "i0");
}

static void put_fold_step(const nest *l, const fold_types *t, const char *to) {
  if (l->product && tp_dtype_float(t->c)) {
    tp_emit_line(l->e, "%s = tp_mad_%s(i0, i1, %s);\n", to, tp_emit_sfx(t->c), to);
    return;
  }
  tp_emit_indent(l->e);
  tp_putf(l->e->b, "%s = (%s)TP_FOLD_%s(%s, (%s)", to, t->acc, t->fn, to, t->acc);
  put_folded_value(l);
  tp_puts(l->e->b, ");\n");
}

static void put_lane_step(const nest *l, const fold_types *t) {
  if (l->product && tp_dtype_float(t->c)) {
    put_fold_step(l, t, "part[k]");
    return;
  }
  tp_emit_indent(l->e);
  tp_putf(l->e->b, "const %s y = (%s)", t->part, t->part);
  put_folded_value(l);
  tp_putf(l->e->b, ";\n");
  tp_emit_line(l->e, "TP_LANE_%s(%s, part[k], odd[k], y);\n", t->fn, t->part);
}

static void put_delivery(const nest *l, const fold_types *t, const char *acc) {
  char value[64];
  bool narrow = strcmp(t->acc, "double") == 0 && t->c == TP_F32;
  const char *how = narrow && tp_half(tp_emit_result_type(l->e, l->r, 0)) ? "tp_sticky_f32(" : "(";
  snprintf(value, sizeof value, narrow && how[0] == 't' ? "%s%s)" : "(%s)%s",
      narrow && how[0] == 't' ? how : tp_emit_type(t->c), acc);
  put_store(l, 0, value);
}

/* Extents of the folded axes, as a product that is 0 where there is nothing to fold. */
static void put_folded(const nest *l) {
  bool any = false;
  for (int k = 0; k < l->nax; k++) {
    if (!l->ax[k].red) continue;
    tp_puts(l->e->b, any ? " && " : "");
    tp_emit_ix(l->e, l->ax[k].n);
    tp_puts(l->e->b, " > 0");
    any = true;
  }
  if (!any) tp_puts(l->e->b, "1");
}

static void put_kept(const nest *l) {
  bool any = false;
  for (int k = 0; k < l->nax; k++) {
    if (l->ax[k].red) continue;
    tp_puts(l->e->b, any ? " && " : "");
    tp_emit_ix(l->e, l->ax[k].n);
    tp_puts(l->e->b, " > 0");
    any = true;
  }
  if (!any) tp_puts(l->e->b, "1");
}

/* What is left of a row, fewer than there are lanes: what is folded is made side by side, and then
 * folded in order. */
static void put_rest(const nest *l, const fold_types *t, int axis) {
  tp_emit *e = l->e;
  tp_emit_line(e, "%s y[TP_FOLD_LANES];\n", tp_emit_held(tp_emit_result_type(e, l->r, 0)));
  tp_emit_line(e, "const int64_t rest = n%d - j;\n", axis);
  open_work(l, axis, "rest", LANES, 1);
  tp_emit_indent(e);
  tp_puts(e->b, "y[k] = ");
  put_folded_value(l);
  tp_puts(e->b, ";\n");
  put_results(l, 1);
  shut(l);
  tp_emit_line(e, "for (int64_t k = 0; k < rest; k++) acc = (%s)TP_FOLD_%s(acc, (%s)y[k]);\n",
      t->acc, t->fn, t->acc);
}

/* Is more than one row folded into a result? Of short ones that are unrolled gcc 12 makes vectors,
 * and adds terms of several rows up in another order: they stay loops. */
static bool has_rows(const nest *l) {
  bool any = false;
  for (int k = 0; k < l->nax - 1; k++) any |= l->ax[k].red;
  return any;
}

/* Along the innermost axis. */
static void put_row(const nest *l, const fold_types *t) {
  tp_emit *e = l->e;
  int k = l->nax - 1;
  int64_t known;
  bool few = l->product || (tp_ix_is_const(l->ax[k].n, &known) && known < LANES);
  put_inputs(l, true);
  tp_emit_indent(l->e);
  tp_putf(e->b, "const int64_t n%d = ", k);
  tp_emit_ix(e, l->ax[k].n);
  tp_puts(e->b, ";\n");
  tp_emit_line(e, "int64_t j = 0;\n");
  if (!few) {
    tp_emit_line(e, "for (int64_t end; j + TP_FOLD_LANES <= n%d;) {\n", k);
    e->depth++;
    tp_emit_indent(l->e);
    tp_putf(e->b, "TP_LANES_START(%s, part, odd, ", t->part);
    put_identity(l, t);
    tp_puts(e->b, ");\n");
    tp_emit_line(e, "end = n%d - j > TP_FOLD_PART ? j + TP_FOLD_PART : n%d;\n", k, k);
    tp_emit_line(e, "for (; j + TP_FOLD_LANES <= end; j += TP_FOLD_LANES) {\n");
    e->depth++;
    open_work(l, k, "TP_FOLD_LANES", LANES, 1);
    put_lane_step(l, t);
    put_results(l, 1);
    shut(l);
    shut(l);
    tp_emit_line(e, "TP_LANES_JOIN(%s, %s, acc, part, odd);\n", t->acc, t->fn);
    shut(l);
  }
  if (!l->product && l->r->nmicro > 1) {
    put_rest(l, t, k);
    return;
  }
  if (has_rows(l)) tp_emit_line(e, "TP_ROLLED\n");
  tp_emit_line(e, "for (; j < n%d; j++) {\n", k);
  e->depth++;
  tp_emit_line(e, "const int64_t x%d = j;\n", k);
  put_work(l);
  put_fold_step(l, t, "acc");
  put_results(l, 1);
  shut(l);
}

static void put_acc(const nest *l, const fold_types *t) {
  tp_emit_indent(l->e);
  tp_putf(l->e->b, "%s acc = ", t->acc);
  put_identity(l, t);
  tp_puts(l->e->b, ";\n");
}

/* ---- short rows side by side ---- */

/* Is each sum a short row of the innermost axis, and are there many side by side? One by one their
 * terms would wait for each other; 16 rows are made, turned, and added up in lanes, each in its
 * order. */
static bool has_short_rows(const nest *l, const fold_types *t) {
  int in = l->nax - 1;
  int64_t n, rows;
  bool few = in >= 1 && tp_ix_is_const(l->ax[in - 1].n, &rows) && rows < TURN_SIDE / 2;
  if (l->e->given || l->product || in < 1 || few || strcmp(t->acc, "double") || t->c != TP_F32 ||
      l->r->red != TP_RED_SUM || tp_emit_faults(l->e, l->r))
    return false;
  for (int k = 0; k < in; k++)
    if (l->ax[k].red) return false;
  return tp_ix_is_const(l->ax[in].n, &n) && n >= TURN_SIDE / 2 && n <= TURN_SIDE;
}

static void put_short_rows(const nest *l, const fold_types *t) {
  tp_emit *e = l->e;
  int in = l->nax - 1;
  int64_t n, rows;
  bool full = tp_ix_is_const(l->ax[in].n, &n) && n == TURN_SIDE &&
      tp_ix_is_const(l->ax[in - 1].n, &rows) && rows % TURN_SIDE == 0;
  for (int k = 0; k < in - 1; k++) open_axis(l, k);
  tp_emit_indent(e);
  tp_puts(e->b, "for (int64_t top = 0, high = ");
  tp_emit_ix(e, l->ax[in - 1].n);
  tp_putf(e->b, "; top < high; top += %d) {\n", TURN_SIDE);
  e->depth++;
  if (full) tp_emit_line(e, "enum { rows = %d };\n", TURN_SIDE);
  else
    tp_emit_line(
        e, "const int64_t rows = high - top < %d ? high - top : %d;\n", TURN_SIDE, TURN_SIDE);
  tp_emit_line(e, "const int64_t j = 0, n%d = %d;\n", in, (int)n);
  tp_emit_line(e, "float y[%d]%s;\n", TURN_SIDE * TURN_SIDE, full ? "" : " = { 0 }");
  tp_emit_line(e, "for (int64_t row = 0; row < rows; row++) {\n");
  e->depth++;
  tp_emit_line(e, "const int64_t x%d = top + row;\n", in - 1);
  put_inputs(l, true);
  char count[16];
  snprintf(count, sizeof count, "n%d", in);
  open_work(l, in, count, TURN_SIDE, 1);
  tp_emit_indent(e);
  tp_putf(e->b, "y[row*%d + k] = ", TURN_SIDE);
  put_folded_value(l);
  tp_puts(e->b, ";\n");
  put_results(l, 1);
  shut(l);
  shut(l);
  tp_emit_line(e, "tp_turn_16(y);\n");
  tp_emit_line(e, "double acc[%d] = { 0 };\n", TURN_SIDE);
  tp_emit_line(e, "for (int64_t k = 0; k < n%d; k++)\n", in);
  tp_emit_line(e,
      "  for (int64_t row = 0; row < %d; row++) acc[row] = TP_FOLD_%s(acc[row], (double)y[k*%d + "
      "row]);\n",
      TURN_SIDE, t->fn, TURN_SIDE);
  put_axis_alone(l, in - 1, 0, 1);
  tp_emit_line(e, "for (int64_t row = 0; row < rows; row++) {\n");
  e->depth++;
  tp_emit_line(e, "const int64_t x%d = top + row;\n", in - 1);
  put_delivery(l, t, "acc[row]");
  for (int k = 0; k <= in; k++) shut(l);
}

/* Kept axes around, then the folded ones, the innermost axis being one of these. */
static void put_across(const nest *l, const fold_types *t) {
  int in = l->nax - 1, opened = 0, inner = 0;
  if (has_short_rows(l, t)) {
    put_short_rows(l, t);
    return;
  }
  for (int k = 0; k < l->nax; k++)
    if (!l->ax[k].red) open_axis(l, k), opened++;
  put_acc(l, t);
  for (int k = 0; k < in; k++)
    if (l->ax[k].red) open_axis(l, k), inner++;
  tp_emit_line(l->e, "{\n");
  l->e->depth++;
  put_row(l, t);
  shut(l);
  for (int k = 0; k < inner; k++) shut(l);
  put_delivery(l, t, "acc");
  for (int k = 0; k < opened; k++) shut(l);
}

/* Operators of floats alone take many instructions. */
static bool is_long(const tp_region *r) {
  bool any = false;
  for (int i = 0; i < r->nmicro; i++) any |= tp_emit_rows[r->micro[i].op].types == OF_FLOAT;
  return any;
}

/* The innermost axis is kept: results of a few of its places at a time. What takes long is made
 * before it is added: a loop of f32 and f64 costs more than two. */
static void put_down(const nest *l, const fold_types *t) {
  tp_emit *e = l->e;
  int in = l->nax - 1, opened = 0, inner = 0;
  for (int k = 0; k < in; k++)
    if (!l->ax[k].red) open_axis(l, k), opened++;
  int most = open_pieces(l, in, COLUMNS);
  bool apart = t->c == TP_F32 && strcmp(t->acc, "double") == 0 && is_long(l->r);
  tp_emit_line(e, "%s acc[%d];\n", t->acc, most);
  if (apart) tp_emit_line(e, "float y[%d];\n", most);
  tp_emit_indent(l->e);
  tp_puts(e->b, "for (int64_t k = 0; k < some; k++) acc[k] = ");
  put_identity(l, t);
  tp_puts(e->b, ";\n");
  for (int k = 0; k < in; k++) {
    int64_t rows;
    if (!l->ax[k].red) continue;
    /* written out, gcc 12 would make vectors of columns */
    if (tp_ix_is_const(l->ax[k].n, &rows) && rows < LANES) tp_emit_line(e, "TP_ROLLED\n");
    open_axis(l, k);
    inner++;
  }
  put_inputs(l, true);
  open_work(l, in, "some", most, 1);
  if (apart) {
    tp_emit_indent(e);
    tp_puts(e->b, "y[k] = ");
    put_folded_value(l);
    tp_puts(e->b, ";\n");
  } else put_fold_step(l, t, "acc[k]");
  put_results(l, 1);
  shut(l);
  if (apart)
    tp_emit_line(e,
        "for (int64_t k = 0; k < some; k++) acc[k] = TP_FOLD_%s(acc[k], (double)y[k]);\n", t->fn);
  for (int k = 0; k < inner; k++) shut(l);
  put_axis_alone(l, in, 0, 1);
  open_elements(l, in, "some");
  put_delivery(l, t, "acc[k]");
  shut(l);
  shut(l);
  for (int k = 0; k < opened; k++) shut(l);
}

/* No axis is left: one element, folded. */
static void put_single(const nest *l, const fold_types *t) {
  put_acc(l, t);
  put_work(l);
  put_fold_step(l, t, "acc");
  put_results(l, 1);
  put_delivery(l, t, "acc");
}

/* Integers have no least and no greatest of nothing. */
static void put_empty(const nest *l, const fold_types *t) {
  tp_emit *e = l->e;
  if (l->r->acc || tp_dtype_float(t->c) || t->c == TP_BOOL || l->r->red == TP_RED_SUM ||
      l->r->red == TP_RED_PROD)
    return;
  tp_emit_indent(l->e);
  tp_puts(e->b, "if (!(");
  put_folded(l);
  tp_puts(e->b, ") && ");
  put_kept(l);
  tp_puts(e->b, ") {\n");
  put_end(l, 3, false);
}

static void put_fold(const nest *l) {
  fold_types t = types_of(l);
  put_empty(l, &t);
  if (l->r->acc) { /* nothing leaves what is there as it was */
    tp_emit_indent(l->e);
    tp_puts(l->e->b, "if (");
    put_folded(l);
    tp_puts(l->e->b, ") {\n");
    l->e->depth++;
  }
  if (!l->nax) put_single(l, &t);
  else if (l->ax[l->nax - 1].red) put_across(l, &t);
  else put_down(l, &t);
  if (l->r->acc) shut(l);
}

/* ---- written out ---- */

static void put_point(nest *l, const int64_t *at) {
  l->at = at;
  tp_emit_line(l->e, "{\n");
  l->e->depth++;
  put_work(l);
  put_results(l, 0);
  shut(l);
}

/* The folded axes of extent other than 1 in the order in which they are walked; how many. */
static int folded_axes(const nest *l, int *of) {
  int n = 0;
  for (int k = 0; k < l->nax; k++)
    for (int i = 0; l->ax[k].red && i < l->ax[k].nof; i++) of[n++] = l->ax[k].of[i];
  return n;
}

/* Points that are kept, each with all that is folded into it. */
static void put_folded_point(nest *l, int64_t *at, const int64_t *shape) {
  fold_types t = types_of(l);
  int64_t ext[TP_MAXRANK];
  int of[TP_MAXRANK], n = folded_axes(l, of);
  tp_walk w;
  for (int i = 0; i < n; i++) ext[i] = shape[of[i]];
  l->at = at;
  tp_emit_line(l->e, "{\n");
  l->e->depth++;
  put_acc(l, &t);
  for (tp_walk_start(&w, n, ext); w.ok; tp_walk_next(&w)) {
    for (int i = 0; i < n; i++) at[of[i]] = w.at[i];
    tp_emit_line(l->e, "{\n");
    l->e->depth++;
    put_work(l);
    put_fold_step(l, &t, "acc");
    put_results(l, 1);
    shut(l);
  }
  for (int i = 0; i < n; i++) at[of[i]] = 0;
  put_delivery(l, &t, "acc");
  shut(l);
}

static void put_points(nest *l) {
  int64_t shape[TP_MAXRANK], at[TP_MAXRANK], ext[TP_MAXRANK];
  tp_walk w;
  if (l->folds) find_axes(l);
  for (int i = 0; i < l->r->nlead; i++) {
    (void)tp_ix_is_const(l->r->lead[i], &shape[i]);
    ext[i] = l->folds && (l->r->sums >> i & 1) ? 1 : shape[i];
  }
  for (tp_walk_start(&w, l->r->nlead, ext); w.ok; tp_walk_next(&w)) {
    memcpy(at, w.at, sizeof at);
    if (l->folds) put_folded_point(l, at, shape);
    else put_point(l, at);
  }
}

/* Nothing to fold into a written out point. */
static bool folds_nothing(const nest *l) {
  bool any = false;
  for (int i = 0; i < l->r->nlead; i++)
    any |= (l->r->sums >> i & 1) && tp_is_number(l->r->lead[i], 0);
  return any;
}

enum { BRIEF = 64 };
bool tp_emit_is_brief(tp_emit *e, const tp_pnode *x) {
  int64_t n = tp_emit_count(tp_emit_region(e, x));
  return n >= 0 && n <= BRIEF;
}

void tp_emit_loop_windows(tp_emit *e, const tp_pnode *x) {
  nest l = nest_of(e, x);
  put_windows(&l);
}

static void put_nest(nest *l) {
  find_axes(l);
  if (l->folds) put_fold(l);
  else if (l->turned) put_tiles(l);
  else put_map(l);
}

void tp_emit_loop_body(tp_emit *e, const tp_pnode *x) {
  nest l = nest_of(e, x);
  put_nest(&l);
}

void tp_emit_loop(tp_emit *e, const tp_pnode *x) {
  nest l = nest_of(e, x);
  tp_emit_line(e, "{ /* %d */\n", x->pos);
  e->depth++;
  if (tp_emit_is_points(e, x) && !folds_nothing(&l)) put_points(&l);
  else {
    put_windows(&l);
    put_nest(&l);
  }
  e->depth--;
  tp_emit_line(e, "}\n");
}
