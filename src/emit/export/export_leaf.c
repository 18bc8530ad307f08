/* export_leaf.c: prints calls of the library (kernels/prelude/export.h) on windows, and the
 * sections of it that a program needs. */
#include "emit/export/export.h"
#include "base/env.h"

/* ---- operators that can be exported ---- */

/* By operator, the function tpx_<fn>, in the section of that name, and its arguments
 * (put_argument). If it may fault, h and the position go first. */
static const struct {
  const char *fn, *with;
  bool faults;
} in_library[TP_NOP] = {
  [TP_OP_MATMUL] = { "matmul", "v+w", false },
  [TP_OP_CONV] = { "conv", "0lhABC+w", false },
  [TP_OP_CONV_DATA] = { "conv", "1lhCBA+w", false },
  [TP_OP_CONV_WEIGHT] = { "conv", "2lhACB+w", false },
  [TP_OP_FOLD] = { "fold", "ABxsdw", false },
  [TP_OP_SCAN] = { "scan", "ABxb0f", false },
  [TP_OP_CUMPROD] = { "scan", "ABxb1f", false },
  [TP_OP_RECUR] = { "recur", "ABCxb", false },
  [TP_OP_SORT] = { "sort", "ABCx>w", false },
  [TP_OP_INDEX_ADD] = { "index_add", "ABCDlxw", true },
  [TP_OP_SCATTER_ADD] = { "scatter_add", "ABCDxw", true },
  [TP_OP_MATMUL_AT] = { "matmul_at", "vlw", true },
};

static bool refused(const tp_region *r, tp_error *err, tp_code code, const char *why) {
  char name[256];
  return tp_fail(err, code, r->pos, "%s: export: %s: %s", tp_code_word(code),
      tp_who_label(&r->who, tp_region_op(r), name, sizeof name), why);
}

static bool region_goes(tp_emit *e, const tp_pnode *x, tp_error *err) {
  const tp_region *r = x->rg;
  if (r->check)
    return refused(
        r, err, TP_E_OPTION, "code that stands alone does not look for NaN: compile without check");
  if (r->kind == TP_RG_CALL)
    return !r->nrows ||
        refused(r, err, TP_E_DEVICE, "a callback over rows that end by data cannot be exported");
  if (r->kind == TP_RG_OP && tp_op_is_env(r->op) && !tp_env_text(r->how.str))
    return refused(r, err, TP_E_DEVICE,
        "the environment is the host's, and its source is not known here: step it by inputs, or by "
        "a callback");
  if (r->kind == TP_RG_PINIT || tp_emit_knows(e, x) ||
      (r->kind == TP_RG_OP && in_library[r->op].fn))
    return true;
  if (r->kind == TP_RG_OP && tp_ops[r->op].cls == TP_CLS_FMT)
    return refused(r, err, TP_E_OPTION,
        "code that stands alone reads no blocks: give it weights of f32 (tempo.dequantize)");
  return refused(r, err, TP_E_DEVICE, "this operator cannot be exported");
}

bool emit_all_go(tp_emit *e, const tp_pnode *x, tp_error *err) {
  TP_EACH_NODE (k, x) {
    if (k.x->rg && !region_goes(e, k.x, err)) return false;
    if (k.x->kind == TP_P_LOAD && k.x->nrows)
      return tp_fail(err, TP_E_DEVICE, e->p->bufs.v[k.x->nd.buf]->pos,
          "device: export: an end that is the greatest of rows that may have ended cannot be "
          "exported");
  }
  return true;
}

tp_dtype emit_operand_type(const exporter *w, const tp_region *r, int i) {
  const tp_nd *nd = tp_window_at(r, i);
  if (nd->buf >= 0) return w->e.p->bufs.v[nd->buf]->dtype;
  return r->kind == TP_RG_CALL ? w->e.p->calls.v[r->call].res[i - r->nin] : TP_U8;
}

/* ---- windows ---- */

/* Prints extents or strides of axes: the region's, then the window's own. */
static void put_axes(tp_emit *e, const tp_region *r, const tp_nd *nd, bool strides) {
  tp_ix *zero = tp_ix_const(e->ix, 0);
  int n = (r ? r->nlead : 0) + nd->rank, lead = n - nd->rank;
  tp_puts(e->b, "{ ");
  for (int i = 0; i < n; i++) {
    if (i) tp_puts(e->b, ", ");
    int64_t v;
    tp_ix *x = i >= lead ? (strides ? nd->stride : nd->shape)[i - lead]
        : !strides       ? r->lead[i]
        : nd->lead       ? nd->lead[i]
                         : zero;
    bool known = strides || (tp_ix_is_const(x, &v) && v >= 0);
    tp_putf(e->b, known ? "%s" : "tp_index_max(0, %s)", emit_ix(e, x));
  }
  tp_puts(e->b, n ? " }" : "0 }");
}

/* place: the pointer is the window's first element, not the buffer's. */
static void put_window(tp_emit *e, const tp_region *r, const tp_nd *nd, tp_dtype d, bool place) {
  if (nd->buf < 0) tp_puts(e->b, "{ NULL, ");
  else {
    e->buf[nd->buf] = true;
    tp_putf(e->b, "{ (char *)(b%d + ", nd->buf);
    if (place) tp_emit_place(e, nd, nd->off);
    else tp_puts(e->b, "0");
    tp_puts(e->b, "), ");
  }
  tp_putf(e->b, "TPX_%s, %d, ",
      (const char *[]){
#define D(N, t, c, b, f) #N,
#include "base/dtypes.def"
#undef D
      }[d],
      (r ? r->nlead : 0) + nd->rank);
  put_axes(e, r, nd, false);
  tp_puts(e->b, ", ");
  put_axes(e, r, nd, true);
  if (nd->wrap < 0) tp_puts(e->b, ", -1, 0, 0 }");
  else
    tp_putf(e->b, ", %d, %s, tp_index_max(1, %s) }", nd->wrap, emit_ix(e, nd->wlo),
        emit_ix(e, nd->wmod));
}

static void put_operands(exporter *w, const tp_region *r) {
  tp_emit *e = &w->e;
  int n = r->nin + r->nout, all = TP_MAX(n, r->kind == TP_RG_OP && r->op == TP_OP_SORT ? 3 : 1);
  tp_emit_line(e, "tpx_window v[%d] = {\n", all);
  for (int i = 0; i < n; i++) {
    tp_putf(e->b, "%*s", 2 * e->depth + 2, "");
    put_window(e, r, tp_window_at(r, i), emit_operand_type(w, r, i), true);
    tp_puts(e->b, ",\n");
  }
  for (int i = n; i < all; i++) tp_emit_line(e, "  { NULL, 0, 0, { 0 }, { 0 }, -1, 0, 0 },\n");
  tp_emit_line(e, "};\n");
}

/* ---- operators ---- */

/* Prints working memory, and copies of operands that lie on rings. */
static void put_ready(exporter *w, const tp_region *r) {
  tp_emit *e = &w->e;
  bool wraps = false;
  for (int i = 0; i < r->nin; i++) wraps |= r->in[i].wrap >= 0;
  if (r->work) e->buf[r->work->id] = true;
  tp_emit_line(e,
      r->work ? "char *work = (char *)b%d; (void)work;\n" : "char *work = NULL; (void)work;\n",
      r->work ? r->work->id : 0);
  if (wraps && !tp_knows_rings(e->p, r))
    tp_emit_line(e, "for (int i = 0; i < %d; i++) tpx_unwrap(&v[i], &work);\n", r->nin);
}

static void put_argument(tp_emit *e, const tp_region *r, char of) {
  const tp_how *h = &r->how;
  switch (of) {
  case 'v': tp_puts(e->b, "v"); return;    /* all windows */
  case 'h': tp_puts(e->b, "how"); return;  /* the operator's axes */
  case 'w': tp_puts(e->b, "work"); return; /* working memory */
  case 'f': tp_putf(e->b, "%a", h->f[0]); return;
  }
  long long n = of == 'l' ? r->nlead
      : of == 'x'         ? r->nlead + h->axis
      : of == '+'         ? r->acc
      : of == 'b'         ? h->backwards
      : of == '>'         ? h->descending
      : of == 's'         ? h->step
      : of == 'd'         ? h->dilation
      : of < 'A'          ? of - '0'
                          : of - 'A';
  tp_putf(e->b, of >= 'A' && of <= 'D' ? "&v[%lld]" : "%lld", n);
}

static void put_operator(exporter *w, const tp_pnode *x) {
  tp_emit *e = &w->e;
  const tp_region *r = x->rg;
  bool faults = in_library[r->op].faults;
  const char *with = in_library[r->op].with;
  if (strchr(with, 'h')) {
    tp_emit_line(e, "static const int how[] = { ");
    for (int i = 0; i < r->how.naxes; i++) tp_putf(e->b, "%d, ", r->how.axes[i]);
    tp_puts(e->b, "};\n");
  }
  tp_emit_line(e, faults ? "TP_END_IF(tpx_%s(h, %d, " : "tpx_%s(", in_library[r->op].fn, x->pos);
  for (const char *s = with; *s; s++) {
    if (s > with) tp_puts(e->b, ", ");
    put_argument(e, r, *s);
  }
  tp_puts(e->b, faults ? "));\n" : ");\n");
}

/* Does the call go over no rows? Then it stands for no point of its domain, and is left out. */
static bool no_rows(const exporter *w, const tp_callee *c) {
  bool none = false;
  for (int d = 0; d < c->ndom; d++)
    none |= (c->over >> d & 1) && w->x->env[c->dom[d]->bound->id] == 0;
  return none;
}

static void put_callback(exporter *w, const tp_pnode *x, const tp_callee *c) {
  tp_emit *e = &w->e;
  const tp_region *r = x->rg;
  if (c->fn == TP_FN_FEED) tp_emit_line(e, "tpx_take(&v[0], h->values[%d]);\n", c->slot);
  else if (c->fn == TP_FN_SHOW) tp_emit_line(e, "tpx_show(&v[0], h->shown[%d]);\n", c->slot);
  else {
    tp_emit_line(e, "const int64_t point[] = { ");
    for (int k = 0; k < r->ncoord; k++) tp_putf(e->b, "%s, ", emit_ix(e, r->coord[k]));
    tp_puts(e->b, r->ncoord ? "};\n" : "0 };\n");
    tp_emit_line(e, "TP_END_IF(tpx_call(h, %d, %d, point, v, %d, %d, h->room));\n", x->pos, c->fn,
        r->nin, r->nout);
  }
}

/* Prints the load of a symbol: the greatest end, or a bool. */
static void put_end_of(exporter *w, const tp_pnode *x) {
  tp_emit *e = &w->e;
  int v = x->var->id;
  tp_emit_line(e, "const tpx_window v = ");
  put_window(e, NULL, &x->nd, e->p->bufs.v[x->nd.buf]->dtype, false);
  tp_puts(e->b, ";\n");
  e->sym[v] = true;
  tp_emit_line(e, "s%d = env[%d] = tpx_end(&v, ", v, v);
  tp_emit_place(e, &x->nd, x->nd.off);
  tp_putf(e->b, ", %s, %s);\n", emit_ix(e, e->p->bufs.v[x->nd.buf]->size), emit_ix(e, x->given));
}

void emit_library_call(tp_emit *e, const tp_pnode *x) {
  exporter *w = (exporter *)e;
  const tp_region *r = x->rg;
  const tp_callee *c =
      x->kind == TP_P_REGION && r->kind == TP_RG_CALL ? &e->p->calls.v[r->call] : NULL;
  if (c && no_rows(w, c)) return;
  tp_emit_line(e, "{ /* %d */\n", x->pos);
  e->depth++;
  if (x->kind == TP_P_LOAD) put_end_of(w, x);
  else {
    put_operands(w, r);
    put_ready(w, r);
    if (c) put_callback(w, x, c);
    else if (r->kind != TP_RG_PINIT) put_operator(w, x);
    /* a loaded value takes the place of the first one: its buffer is there if it was loaded */
    else if (r->nin > 1 && e->p->bufs.v[r->in[1].buf]->kind == TP_BUF_PARAM)
      tp_emit_line(e, "tpx_copy(&v[%d], h->base[%d] ? &v[1] : &v[0]);\n", r->nin, r->in[1].buf);
    else tp_emit_line(e, "tpx_copy(&v[%d], &v[0]);\n", r->nin);
  }
  emit_shut(e, 1);
}

/* ---- the library ---- */

typedef TP_VEC(const char *) sections;

static void mark_region(const exporter *w, const tp_region *r, sections *on) {
  bool op = r->kind == TP_RG_OP;
  if (r->kind == TP_RG_CALL)
    TP_PUSH(w->e.a, on, w->e.p->calls.v[r->call].fn < 0 ? "ticks" : "call");
  if (op && in_library[r->op].fn) TP_PUSH(w->e.a, on, in_library[r->op].fn);
  if (op && tp_ops[r->op].cls == TP_CLS_GATH) TP_PUSH(w->e.a, on, "indices");
  if (op && r->op == TP_OP_MATMUL_AT) TP_PUSH(w->e.a, on, "matmul");
}

void emit_library(exporter *w, tp_buf *b) {
  sections on = { 0 };
  TP_PUSH(w->e.a, &on, "base");
  TP_EACH_NODE (k, w->e.p->body) {
    if (k.x->kind == TP_P_LOAD) TP_PUSH(w->e.a, &on, "end");
    if (k.x->rg && (k.x->rg->kind != TP_RG_OP || !tp_emit_knows(&w->e, k.x)))
      mark_region(w, k.x->rg, &on);
  }
  for (const char *s = tp_prelude_export, *next; s; s = next) {
    size_t n = strcspn(s + 5, " ");
    bool wanted = false;
    next = strstr(s + 1, "/* > ");
    for (int i = 0; i < on.n; i++) wanted |= strlen(on.v[i]) == n && !strncmp(on.v[i], s + 5, n);
    if (wanted) tp_putn(b, s, next ? (size_t)(next - s) : strlen(s));
  }
}
