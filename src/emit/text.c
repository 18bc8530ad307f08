/* text.c: prints types, numbers and index expressions in C. Indices are int64_t and wrap. Numbers
 * have no suffix for their size: each takes the type that holds it, in every dialect of C (in that
 * of OpenCL, LL would be 128 bits). */
#include "emit/priv.h"
#include <math.h>

tp_dtype tp_emit_dtype(const tp_emit *e, const tp_nd *nd) { return e->p->bufs.v[nd->buf]->dtype; }

const char *tp_emit_sfx(tp_dtype d) { return tp_dtype_name(tp_compute(d)); }

const char *const tp_emit_types[] = {
#define D(N, t, c, b, f) #c,
#include "base/dtypes.def"
#undef D
};

const char *tp_emit_held(tp_dtype d) { return tp_emit_type(tp_compute(d)); }

void emit_load(tp_emit *e, tp_dtype d) {
  tp_putf(e->b, tp_half(d) ? "tp_load_%s(" : "%.0s(", tp_dtype_name(d));
}

const char *emit_loaded(tp_emit *e, tp_dtype d, const char *element) {
  return tp_printf(e->a, tp_half(d) ? "tp_load_%s(%s)" : "%.0s(%s)", tp_dtype_name(d), element);
}

/* The text of number v in type d: v is a value of d, or rounds to the value that is meant. */
const char *tp_emit_number(const tp_emit *e, tp_dtype d, double v) {
  const char *size = tp_compute(d) == TP_F32 ? "F32" : "F64";
  uint64_t cell = 0;
  tp_put(d, &cell, 0, v);
  if (!tp_dtype_float(d)) {
    int64_t k = tp_geti(d, &cell, 0);
    return k == INT64_MIN ? "(-9223372036854775807 - 1)" : tp_printf(e->a, "%lld", (long long)k);
  }
  v = tp_get(d, &cell, 0);
  if (isnan(v)) return tp_printf(e->a, "TP_NAN_%s", size);
  if (isinf(v)) return tp_printf(e->a, "%sTP_INF_%s", v < 0 ? "-" : "", size);
  return tp_printf(e->a, "%a%s", v, tp_compute(d) == TP_F32 ? "f" : "");
}

static void put_const(tp_emit *e, int64_t v) {
  if (v == INT64_MIN) tp_puts(e->b, "(-9223372036854775807 - 1)");
  else tp_putf(e->b, v < 0 ? "(%lld)" : "%lld", (long long)v);
}

static void put_ix(tp_emit *e, tp_ix *x);

static void put_sum(tp_emit *e, tp_ix *x) {
  int64_t c = tp_ix_cst(x);
  tp_puts(e->b, "(");
  for (int i = 0; i < tp_ix_nterm(x); i++) {
    tp_ixs atom;
    int n = tp_ix_term(x, i, &atom);
    if (i) tp_puts(e->b, " + ");
    if (tp_ix_coef(x, i) != 1) put_const(e, tp_ix_coef(x, i)), tp_puts(e->b, "*");
    for (int k = 0; k < n; k++) {
      if (k) tp_puts(e->b, "*");
      put_ix(e, atom[k]);
    }
  }
  if (c || !tp_ix_nterm(x)) {
    if (tp_ix_nterm(x)) tp_puts(e->b, " + ");
    put_const(e, c);
  }
  tp_puts(e->b, ")");
}

static void put_nested(tp_emit *e, const char *fn, tp_ix *x) {
  int n = tp_ix_narg(x);
  for (int i = 0; i + 1 < n; i++) tp_putf(e->b, "%s(", fn);
  put_ix(e, tp_ix_arg(x, 0));
  for (int i = 1; i < n; i++) {
    tp_puts(e->b, ", ");
    put_ix(e, tp_ix_arg(x, i));
    tp_puts(e->b, ")");
  }
}

static int log2_of(int64_t k) {
  int s = 0;
  while (s < 62 && (int64_t)1 << s < k) s++;
  return (int64_t)1 << s == k ? s : -1;
}

static void put_division(tp_emit *e, tp_ix *x) {
  int64_t k = tp_ix_div(x);
  int s = log2_of(k);
  bool mod = tp_ix_kind(x) == TP_IX_MOD;
  tp_puts(e->b, s >= 0 ? "(" : mod ? "tp_index_mod(" : "tp_index_div(");
  put_ix(e, tp_ix_arg(x, 0));
  if (s < 0) tp_putf(e->b, ", %lld)", (long long)k);
  else if (mod) tp_putf(e->b, " & %lld)", (long long)(k - 1));
  else tp_putf(e->b, " >> %d)", s);
}

static void put_joined(tp_emit *e, tp_ix *x, const char *word) {
  tp_puts(e->b, "(");
  for (int i = 0; i < tp_ix_narg(x); i++) {
    if (i) tp_puts(e->b, word);
    put_ix(e, tp_ix_arg(x, i));
  }
  tp_puts(e->b, ")");
}

static void put_test(tp_emit *e, tp_ix *x, const char *test) {
  tp_puts(e->b, "(");
  put_ix(e, tp_ix_arg(x, 0));
  tp_putf(e->b, " %s 0)", test);
}

static void put_ix(tp_emit *e, tp_ix *x) {
  tp_sym *s = tp_ix_as_sym(x);
  if (s) {
    e->sym[s->id] = true;
    tp_putf(e->b, "s%d", s->id);
    return;
  }
  switch (tp_ix_kind(x)) {
  case TP_IX_MIN: put_nested(e, "tp_index_min", x); return;
  case TP_IX_MAX: put_nested(e, "tp_index_max", x); return;
  case TP_IX_FDIV:
  case TP_IX_MOD: put_division(e, x); return;
  case TP_IX_TRUE: tp_puts(e->b, "1"); return;
  case TP_IX_FALSE: tp_puts(e->b, "0"); return;
  case TP_IX_GE0: put_test(e, x, ">="); return;
  case TP_IX_EQ0: put_test(e, x, "=="); return;
  case TP_IX_AND: put_joined(e, x, " && "); return;
  case TP_IX_OR: put_joined(e, x, " || "); return;
  case TP_IX_NOT: put_test(e, x, "=="); return;
  default: put_sum(e, x);
  }
}

bool emit_is_steady(const tp_pnode *loop, tp_ix *x) {
  tp_dims sym;
  bool ok = true;
  for (int i = 0, n = tp_ix_syms(x, &sym); i < n && ok; i++) {
    bool around = sym[i]->kind == TP_SYM_BOUND;
    for (const tp_pnode *q = loop; q && !around; q = q->up)
      around = q->kind == TP_P_FOR && q->var == sym[i];
    ok = around;
  }
  return ok;
}

void emit_begin_aside(tp_emit *e, emit_aside *a) {
  a->was = e->b;
  tp_buf_hold(&a->b, &a->hold);
  e->b = &a->b;
}

const char *emit_end_aside(tp_emit *e, emit_aside *a) {
  e->b = a->was;
  if (a->b.failed) tp_oom();
  const char *text = tp_strdup(e->a, a->b.s ? a->b.s : "");
  tp_buf_drop(&a->b, &a->hold);
  return text;
}

const char *emit_ix(tp_emit *e, tp_ix *x) {
  emit_aside a;
  emit_begin_aside(e, &a);
  put_ix(e, x);
  return emit_end_aside(e, &a);
}

/* The begin of a row of an input whose rows may be arrays of their own. */
static void put_row_place(tp_emit *e, int buf, const tp_ring *r) {
  const char *row = emit_ix(e, r->idx), *stride = emit_ix(e, r->stride);
  if (e->to->host) tp_putf(e->b, " + (r%d ? r%d[%s] : (%s)*(%s))", buf, buf, row, row, stride);
  else tp_putf(e->b, " + (%s)*(%s)", row, stride);
}

static void put_ring(tp_emit *e, const tp_ring *r) {
  int64_t w = 0;
  bool known = tp_ix_is_const(r->width, &w);
  int s = known ? log2_of(w) : -1;
  if (known && w <= 1) return;
  tp_puts(e->b, s >= 0 ? " + (" : " + tp_ring_at(");
  put_ix(e, r->idx);
  if (s >= 0) tp_putf(e->b, " & %lld)*", (long long)(w - 1));
  else {
    tp_puts(e->b, ", ");
    put_ix(e, r->width);
    tp_puts(e->b, ")*");
  }
  put_ix(e, r->stride);
}

void tp_emit_place(tp_emit *e, const tp_nd *nd, tp_ix *off) {
  put_ix(e, off);
  bool by_rows = nd->buf >= 0 && e->p->bufs.v[nd->buf]->by_rows;
  for (int i = 0; i < nd->nring; i++)
    if (by_rows) put_row_place(e, nd->buf, &nd->ring[i]);
    else put_ring(e, &nd->ring[i]);
}

void emit_cell(tp_emit *e, const tp_nd *nd, tp_ix *off) {
  e->buf[nd->buf] = true;
  tp_putf(e->b, "b%d[", nd->buf);
  tp_emit_place(e, nd, off);
  tp_puts(e->b, "]");
}

tp_ix *tp_emit_offset(const tp_region *r, const tp_nd *nd, const int64_t *at) {
  tp_ix *off = nd->off;
  for (int i = 0; i < r->nlead && nd->lead; i++)
    off = tp_ix_add(off, tp_ix_mulc(nd->lead[i], at[i]));
  return off;
}

/* ---- lines, windows and numbers, which leaves may share (once.c) ---- */

void tp_emit_indent(tp_emit *e) { tp_putf(e->b, "%*s", 2 * e->depth, ""); }

void emit_shut(tp_emit *e, int n) {
  for (; n > 0; n--) {
    e->depth--;
    tp_emit_line(e, "}\n");
  }
}

void emit_else(tp_emit *e) {
  e->depth--;
  emit_open(e, "} else {\n");
}

const char *tp_emit_start(tp_emit *e, const tp_pnode *x, int entry) {
  const char *first = emit_ix(e, x->step > 0 ? x->lo : tp_ix_addc(x->hi, -1));
  return entry ? tp_printf(e->a, "h->entry == %d ? env[%d] : %s", entry, x->var->id, first) : first;
}

void tp_emit_ends(tp_emit *e) {
  for (int i = e->outer; i < e->nloop; i++) {
    int v = e->loop[i]->var->id;
    e->sym[v] = true;
    tp_emit_line(e, "env[%d] = s%d;\n", v, v);
  }
}

const char *tp_emit_pos(const tp_emit *e, int pos) {
  return e->once ? "pos" : tp_printf(e->a, "%d", pos);
}

tp_emit_axis emit_axis(tp_emit *e, char of, int i, tp_ix *n) {
  return (tp_emit_axis){ tp_printf(e->a, "%c%d", of, i), n };
}

tp_emit_axis emit_parts(const char *var, tp_ix *n, int each) {
  return (tp_emit_axis){ var, tp_ix_fdiv(tp_ix_addc(n, each - 1), each) };
}

void emit_by_blocks(tp_emit *e) {
  tp_emit_line(e, "const int64_t first_ = block_, step_ = blocks_;\n");
}

void emit_open_threads(tp_emit *e, int n, const tp_emit_axis *ax, bool by_lanes) {
  tp_emit_indent(e);
  const char *at = by_lanes ? "top_row_" : "at_";
  tp_putf(e->b, "TP_EACH (int64_t %s = first_, points_ = 1", at);
  for (int k = 0; k < n; k++) tp_putf(e->b, "*tp_index_max(0, %s)", emit_ix(e, ax[k].n));
  tp_putf(e->b, "; %s < points_; %s += step_) {\n", at, at);
  e->depth++;
  if (by_lanes) tp_emit_line(e, "TP_ROW_OF(at_, mine_, top_row_, points_)\n");
  if (n == 1) tp_emit_line(e, "const int64_t %s = at_; (void)%s;\n", ax[0].var, ax[0].var);
  if (n < 2) return;
  tp_emit_line(e, "int64_t rest_ = at_;\n");
  for (int k = n - 1; k > 0; k--) {
    const char *all = emit_ix(e, ax[k].n);
    tp_emit_line(e, "const int64_t %s = TP_MOD_OF(points_, rest_, %s); (void)%s;\n", ax[k].var, all,
        ax[k].var);
    tp_emit_line(e, "rest_ = TP_DIV_OF(points_, rest_, %s);\n", all);
  }
  tp_emit_line(e, "const int64_t %s = rest_; (void)%s;\n", ax[0].var, ax[0].var);
}

void emit_put_fault(tp_emit *e, int pos, const char *what, const char *lead) {
  if (!e->to->threads) {
    tp_emit_ends(e);
    tp_emit_line(e, "TP_FAULT(%s, %s, %s);\n", tp_emit_pos(e, pos), what, lead);
    return;
  }
  emit_open(e, "if (tp_fault_is_first(fault_, %d)) {\n", pos);
  tp_emit_line(e, "TP_SET(failed_);\n");
  for (const tp_pnode *q = e->at; q; q = q->up) {
    if (q->kind != TP_P_FOR) continue;
    e->sym[q->var->id] = true;
    tp_emit_line(e, "fault_[%d] = s%d;\n", 1 + q->var->id, q->var->id);
  }
  TP_EACH_NODE (k, e->p->body) {
    if (k.x->kind != TP_P_LOAD) continue;
    e->sym[k.x->var->id] = true;
    tp_emit_line(e, "fault_[%d] = s%d;\n", 1 + k.x->var->id, k.x->var->id);
  }
  emit_shut(e, 1);
}

void tp_emit_argument(tp_emit *e, const char *type, const void *of, const char *text) {
  int k = 0;
  if (!e->once) {
    tp_puts(e->b, text);
    return;
  }
  while (k < e->arg.n && e->arg.v[k].of != of) k++;
  if (k == e->arg.n) TP_PUSH(e->a, &e->arg, ((tp_emit_arg){ type, text, of }));
  tp_putf(e->b, "k%d", k);
}

void tp_emit_window(tp_emit *e, const char *type, int w, const tp_nd *nd, const char *more) {
  bool local = e->as_window == TP_AS_LOCAL;
  if (e->as_window == TP_AS_PARAMETER) {
    tp_putf(e->b, ", %s *const w%d", type, w);
    return;
  }
  e->buf[nd->buf] = true;
  if (local) tp_emit_line(e, "%s *const w%d = b%d + ", type, w, nd->buf);
  else tp_putf(e->b, ", b%d + ", nd->buf);
  tp_emit_place(e, nd, nd->off);
  tp_putf(e->b, local ? "%s;\n" : "%s", more);
}
