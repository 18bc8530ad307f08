/* textvalues: the text of regions, their windows, and buffers. Each put is followed by its scan. */
#include "plan/text.h"
#include "plan/textfields.def"

/* ---- windows ---- */

static bool is_window(parser *p) {
  return is_numbered(p, 'b') || strncmp(p->in.s, "none{", 5) == 0;
}

static void put_buffer(text_writer *w, const void *x) {
  if (*(const int *)x < 0) tp_puts(w->b, "none");
  else tp_putf(w->b, "b%d", *(const int *)x);
}

static bool scan_buffer(parser *p, void *x) {
  *(int *)x = -1;
  return accept(p, "none") || numbered(p, 'b', x) ||
      (!p->in.err->code && fail(p, "a buffer is wanted before this"));
}

static void put_leads(text_writer *w, const void *x) {
  const tp_nd *nd = x;
  for (int i = 0; nd->lead && w->rg && i < w->rg->nlead; i++) {
    tp_puts(w->b, i ? ", " : "; lead ");
    tp_put_expr(w, nd->lead[i]);
  }
}

static bool scan_leads(parser *p, void *x) {
  static const text_row row = { "; lead ", &tp_kind_IX, MAY, COMMAS, 0, 0 };
  int n = 0;
  if (!tp_accept_text(p, row.text)) return true;
  return tp_scan_items(p, &row, &n, &((tp_nd *)x)->lead) &&
      ((p->rg && n == p->rg->nlead) ||
          fail(p, "as many strides as leading axes are wanted before this"));
}

static void put_edge(text_writer *w, tp_ix *e) {
  if (e) tp_put_expr(w, e);
  else tp_puts(w->b, "?");
}
static bool scan_edge(parser *p, void *x) { return accept(p, "?") || tp_kind_IX.scan(p, x); }

/* "0 to T - 1", "? to 3" */
static void put_span(text_writer *w, const void *x) {
  const tp_span *s = x;
  put_edge(w, s->lo);
  tp_puts(w->b, " to ");
  put_edge(w, s->hi);
}

static bool scan_span(parser *p, void *x) {
  tp_span *s = x;
  return scan_edge(p, &s->lo) && expect(p, "to") && scan_edge(p, &s->hi);
}

static void put_number(text_writer *w, const void *x) {
  tp_putf(w->b, "b%d", (*(tp_pbuf *const *)x)->id);
}

static bool scan_number(parser *p, void *x) {
  int i;
  if (!scan_buffer(p, &i)) return false;
  if (i < 0 || i >= p->pl->bufs.n || p->pl->bufs.v[i]->kind != TP_BUF_WORK)
    return fail(p, "no working memory before this");
  *(tp_pbuf **)x = p->pl->bufs.v[i];
  return true;
}

static void put_ends(text_writer *w, const void *x) {
  tp_put_text(&(text_writer){ w->b, w->used, NULL, w->p }, window_rows(), x);
}

static bool scan_ends(parser *p, void *x) {
  const tp_region *rg = p->rg;
  p->rg = NULL;
  bool ok = (is_window(p) || fail(p, "a window is wanted")) && tp_scan_text(p, window_rows(), x);
  p->rg = rg;
  return ok;
}

TEXT_KIND(NUMBER, tp_pbuf *, put_number, scan_number, NULL);
TEXT_KIND_OF(RING, tp_ring, ring_rows, NULL);
TEXT_KIND(BUFFER, int, put_buffer, scan_buffer, NULL);
TEXT_KIND(LEADS, char, put_leads, scan_leads, NULL);
TEXT_KIND(SPAN, tp_span, put_span, scan_span, NULL);
TEXT_KIND_OF(WINDOW, tp_nd, window_rows, is_window);
TEXT_KIND(ENDS, tp_nd, put_ends, scan_ends, NULL);

/* ---- kinds, operators, calls ---- */

static void put_work(text_writer *w, const void *x) {
  const tp_region *r = x;
  tp_puts(w->b, tp_rg_names[r->kind]);
  if (r->kind == TP_RG_OP) tp_putf(w->b, " %s", tp_ops[r->op].text);
  if (r->kind == TP_RG_CALL) tp_putf(w->b, " c%d", r->call);
}

static bool scan_op(parser *p, tp_op *op) {
  const char *name = tp_scan_word(&p->in);
  return name && (tp_op_parse(name, op) || fail(p, "an unknown operator before this"));
}

static bool scan_work(parser *p, void *x) {
  tp_region *r = x;
  int kind;
  if (!tp_scan_choice(&p->in, tp_rg_names, TP_NRG, &kind)) return false;
  r->kind = (tp_rgkind)kind;
  if (r->kind == TP_RG_CALL)
    return numbered(p, 'c', &r->call) || fail(p, "a callback is wanted: c0");
  return r->kind != TP_RG_OP || scan_op(p, &r->op);
}

static void put_how(text_writer *w, const void *x) {
  const tp_region *r = x;
  int count = 0;
  tp_put_fields(w->b, tp_how_fields, &r->how, &count);
  if (r->who.what && !r->who.name)
    tp_kind_TITLE.put(&(text_writer){ .b = tp_put_item(w->b, &count, "what ") }, &r->who.what);
  if (count) tp_puts(w->b, "}");
}

static bool scan_how(parser *p, void *x) {
  tp_region *r = x;
  bool known = true;
  if (!accept(p, "{")) return true;
  do {
    const char *key = tp_scan_word(&p->in);
    if (!key) return false;
    bool what = strcmp(key, "what") == 0;
    if (!(what ? tp_kind_TITLE.scan(p, &r->who.what)
               : tp_scan_field(&p->in, p->ix, tp_how_fields, &r->how, key, &known)))
      return false;
    if (!known) return fail(p, "an unknown attribute before this");
  } while (accept(p, ","));
  return expect(p, "}");
}

/* ---- axes ---- */

static void put_axes(text_writer *w, const void *x) {
  const tp_region *r = x;
  bool loop = r->kind == TP_RG_LOOP;
  for (int k = 0; k < r->nlead; k++) {
    tp_puts(w->b, k == 0 ? " over" : k == r->npoint && loop ? " |" : ",");
    if (k == 0 && r->npoint == 0 && loop) tp_puts(w->b, " |");
    tp_putf(w->b, r->sums >> k & 1 ? " %s " : " ", tp_red_name(r->red));
    tp_put_symbol(w, &r->leadvar[k]);
    tp_puts(w->b, " = ");
    tp_put_expr(w, r->leadlo[k]);
    tp_puts(w->b, " for ");
    tp_put_expr(w, r->lead[k]);
  }
}

/* Is this "t = e" and not an expression? */
static bool named_next(parser *p) {
  tp_scan at = p->in;
  tp_error err = { 0 };
  at.err = &err;
  return tp_scan_word(&at) && tp_accept(&at, "=") && *at.s != '=';
}

/* Is there a "sum" (..) before an axis? All axes are folded by the same operator. */
static bool folded(parser *p, tp_region *r) {
  for (int k = 0; k < TP_NRED && !named_next(p); k++) {
    if (!accept(p, tp_red_name((tp_red)k))) continue;
    if (r->sums && r->red != (tp_red)k)
      return fail(p, "axes are folded by one operator, not by this");
    r->sums |= 1u << r->nlead;
    r->red = (tp_red)k;
  }
  return true;
}

static bool scan_axes(parser *p, void *x) {
  tp_region *r = x;
  bool loop = r->kind == TP_RG_LOOP, elements = false;
  if (!accept(p, "over")) return true;
  r->leadvar = TP_NEWN(p->pl->a, tp_sym *, TP_MAXLEAD);
  r->leadlo = TP_NEWN(p->pl->a, tp_ix *, TP_MAXLEAD);
  r->lead = TP_NEWN(p->pl->a, tp_ix *, TP_MAXLEAD);
  do {
    int k = r->nlead;
    if (k == TP_MAXLEAD) return fail(p, "too many leading axes");
    if (loop && !elements && accept(p, "|")) elements = true, r->npoint = k;
    if ((loop && !folded(p, r)) || !tp_kind_VAR.scan(p, &r->leadvar[k]) || !expect(p, "=") ||
        !tp_kind_IX.scan(p, &r->leadlo[k]) || !expect(p, "for") || !tp_kind_IX.scan(p, &r->lead[k]))
      return false;
    r->nlead++;
  } while (accept(p, ",") || (loop && next_char(p) == '|'));
  if (!elements) r->npoint = r->nlead;
  return true;
}

/* ---- micros ---- the number of inputs is known only later: references to micros are read as -1 -
 * k */

static void put_micro(text_writer *w, const tp_region *r, const tp_micro *m) {
  tp_putf(w->b, "%s:%s(", tp_ops[m->op].text, tp_dtype_name(m->dtype));
  if (m->op == TP_OP_FILL) tp_put_double(w->b, m->f);
  if (m->op == TP_OP_VALUE) tp_put_expr(w, m->ix);
  for (int j = 0; j < tp_ops[m->op].nin; j++)
    tp_putf(w->b, "%s%s%d", j ? "," : "", m->in[j] < r->nin ? "i" : "m",
        m->in[j] < r->nin ? m->in[j] : m->in[j] - r->nin);
  tp_puts(w->b, ")");
}

static void put_micros(text_writer *w, const void *x) {
  const tp_region *r = x;
  for (int k = 0; k < r->nmicro; k++) {
    tp_puts(w->b, k ? " " : " [");
    put_micro(w, r, &r->micro[k]);
  }
  for (int k = 0; k < r->nout && r->nmicro; k++)
    tp_putf(w->b, "%s m%d", k ? "" : "] ->", r->outmicro[k]);
}

static bool scan_operand(parser *p, int *in) {
  if (numbered(p, 'i', in)) return true;
  if (!numbered(p, 'm', in)) return fail(p, "i0 or m0 is wanted");
  *in = -1 - *in;
  return true;
}

static bool scan_micro(parser *p, void *x) {
  tp_micro *m = x;
  if (!scan_op(p, &m->op) || !expect(p, ":") || !tp_kind_DTYPE.scan(p, &m->dtype) ||
      !expect(p, "("))
    return false;
  if (m->op == TP_OP_FILL ? !tp_scan_double(&p->in, &m->f)
                          : m->op == TP_OP_VALUE && !tp_scan_any(p, &m->ix))
    return false;
  int nin = tp_ops[m->op].nin;
  if (nin < 0 || nin > 3) return fail(p, "an operator that is not elementwise");
  for (int j = 0; j < nin; j++)
    if ((j && !expect(p, ",")) || !scan_operand(p, &m->in[j])) return false;
  return expect(p, ")");
}

static bool no_bracket(parser *p) { return next_char(p) != ']'; }
static bool is_micro(parser *p) { return is_numbered(p, 'm'); }
static bool scan_made(parser *p, void *x) { return numbered(p, 'm', x); }

/* Reads micros; as many windows must follow as there are results. */
static bool scan_micros(parser *p, void *x) {
  static const value_kind kind_micro = { sizeof(tp_micro), NULL, scan_micro, no_bracket, NULL },
                          kind_made = { sizeof(int), NULL, scan_made, is_micro, NULL };
  static const text_row micro = { "", &kind_micro, MUST, FOLLOW, 0, 0 },
                        made = { "", &kind_made, MUST, FOLLOW, 0, 0 };
  tp_region *r = x;
  r->outmicro = TP_NEW(p->pl->a, int);
  return !accept(p, "[") ||
      (tp_scan_items(p, &micro, &r->nmicro, &r->micro) && tp_expect_text(p, "] ->") &&
          tp_scan_items(p, &made, &r->nout, &r->outmicro));
}

static void settle_references(tp_region *r) {
  for (int k = 0; k < r->nmicro; k++)
    for (int j = 0; j < 3; j++) {
      int *in = &r->micro[k].in[j];
      if (*in < 0) *in = r->nin + (-1 - *in);
      else if (j < tp_ops[r->micro[k].op].nin && *in >= r->nin) *in = -1; /* i3 of two inputs */
    }
}

/* ---- results and coordinates ---- */

static const char *const acc_signs[TP_NRED] = { "+=", "*=", "max=", "min=" };

static void put_acc(text_writer *w, const void *x) {
  const tp_region *r = x;
  if (r->acc) tp_putf(w->b, " %s", acc_signs[r->red]);
}

static bool scan_acc(parser *p, void *x) {
  tp_region *r = x;
  for (int i = 0; i < TP_NRED && !r->acc; i++) {
    if (!(r->acc = accept(p, acc_signs[i]))) continue;
    if (r->sums && r->red != (tp_red)i)
      return fail(p, "axes are folded by another operator before this");
    r->red = (tp_red)i;
  }
  return true;
}

static void put_coords(text_writer *w, const void *x) {
  const tp_region *r = x;
  for (int k = 0; k < r->ncoord; k++) {
    tp_puts(w->b, k ? ", " : " at(");
    if (r->dim) tp_put_symbol(w, &r->dim[k]), tp_puts(w->b, " = ");
    tp_put_expr(w, r->coord[k]);
    if (r->along >> k & 1) tp_puts(w->b, " ..");
  }
  if (r->ncoord) tp_puts(w->b, ")");
}

static bool scan_coords(parser *p, void *x) {
  tp_region *r = x;
  int ndim = 0;
  if (!tp_accept_text(p, "at (")) return true;
  r->coord = TP_NEWN(p->pl->a, tp_ix *, TP_MAXLEAD);
  r->dim = TP_NEWN(p->pl->a, tp_sym *, TP_MAXLEAD);
  do {
    if (r->ncoord == TP_MAXLEAD) return fail(p, "too many coordinates");
    if (named_next(p) && !(tp_kind_DIM.scan(p, &r->dim[ndim++]) && expect(p, "="))) return false;
    if (!tp_kind_IX.scan(p, &r->coord[r->ncoord])) return false;
    r->along |= (uint32_t)accept(p, "..") << r->ncoord++;
  } while (accept(p, ","));
  if (!ndim) r->dim = NULL;
  return expect(p, ")") &&
      (ndim == r->ncoord || (ndim == 0 && r->kind != TP_RG_CALL) ||
          fail(p, "a coordinate without its dim before this"));
}

TEXT_KIND(WORK, char, put_work, scan_work, NULL);
TEXT_KIND(HOW, char, put_how, scan_how, NULL);
TEXT_KIND(AXES, char, put_axes, scan_axes, NULL);
TEXT_KIND(MICROS, char, put_micros, scan_micros, NULL);
TEXT_KIND(ACC, char, put_acc, scan_acc, NULL);
TEXT_KIND(COORDS, char, put_coords, scan_coords, NULL);
TEXT_KIND_OF(ROWS, tp_rows, rows_rows, NULL);

tp_region *tp_scan_region(parser *p) {
  tp_region *r = TP_NEW(p->pl->a, tp_region);
  p->rg = r;
  if (!tp_scan_text(p, region_rows(), r)) return NULL;
  settle_references(r);
  return r;
}

/* ---- buffers ---- */

static void put_bufkind(text_writer *w, const void *x) {
  const tp_pbuf *b = x;
  tp_putf(w->b, "b%d %s", b->id, tp_bufkind_names[b->kind]);
  if (!tp_in_arena(b) && b->kind != TP_BUF_CONST) tp_putf(w->b, " %d", b->slot);
}

static bool scan_bufkind(parser *p, void *x) {
  tp_pbuf *b = x;
  int kind;
  if (!numbered(p, 'b', &b->id) || !tp_scan_choice(&p->in, tp_bufkind_names, TP_NBUFKIND, &kind))
    return false;
  b->kind = (tp_bufkind)kind;
  if (b->id != p->pl->bufs.n) return fail(p, "buffers must stand in order");
  return tp_in_arena(b) || b->kind == TP_BUF_CONST || tp_scan_small(&p->in, &b->slot);
}

static void put_layout(text_writer *w, const void *x) {
  const tp_pbuf *b = x;
  bool moved = false;
  for (int i = 0; i < b->ndim + b->rank; i++) {
    tp_puts(w->b, i == b->ndim ? i ? "][" : " [][" : i ? ", " : " [");
    tp_put_expr(w, b->slots[i]);
  }
  tp_puts(w->b, b->rank ? "]" : b->ndim ? "][]" : " [][]");
  for (int k = 0; b->order && k < b->ndim; k++) moved |= b->order[k] != k;
  for (int k = 0; moved && k < b->ndim; k++)
    tp_putf(w->b, "%s%d", k ? " " : " order ", b->order[k]);
}

/* Reads the order of dims, in which each stands once. */
static bool scan_order(parser *p, tp_pbuf *b) {
  int *v = TP_NEWN(p->pl->a, int, b->ndim);
  bool *seen = TP_NEWN(p->pl->a, bool, b->ndim);
  for (int k = 0; k < b->ndim; k++) {
    if (!tp_scan_small(&p->in, &v[k])) return false;
    if (v[k] < 0 || v[k] >= b->ndim || seen[v[k]]) return fail(p, "an order names every dim once");
    seen[v[k]] = true;
  }
  b->order = v;
  return true;
}

static bool scan_layout(parser *p, void *x) {
  static const text_row row = { "", &tp_kind_IX, MAY, COMMAS, 0, 0 };
  tp_pbuf *b = x;
  tp_ix **slots = NULL, **shape = NULL;
  if (!expect(p, "[") || (no_close(p) && !tp_scan_items(p, &row, &b->ndim, &slots)) ||
      !tp_expect_text(p, "] ["))
    return false;
  if ((no_close(p) && !tp_scan_items(p, &row, &b->rank, &shape)) || !expect(p, "]")) return false;
  b->slots = TP_NEWN(p->pl->a, tp_ix *, b->ndim + b->rank);
  for (int i = 0; i < b->ndim + b->rank; i++)
    b->slots[i] = i < b->ndim ? slots[i] : shape[i - b->ndim];
  return !accept(p, "order") || scan_order(p, b);
}

/* " data [2, 3] 1 2 3 4 5 6" */
static void put_data(text_writer *w, const void *x) {
  const tp_array *a = ((const tp_pbuf *)x)->data;
  if (!a) return;
  for (int i = 0; i < a->rank; i++)
    tp_putf(w->b, "%s%lld", i ? ", " : " data [", (long long)a->shape[i]);
  tp_puts(w->b, a->rank ? "]" : " data []");
  tp_put_array(w->b, a);
}

static bool scan_data(parser *p, void *x) {
  tp_pbuf *b = x;
  int64_t shape[TP_MAXRANK];
  int rank = 0;
  if (b->kind != TP_BUF_CONST) return true;
  if (!tp_expect_text(p, "data [")) return false;
  while (!accept(p, "]")) {
    if (rank == TP_MAXRANK) return fail(p, "too many axes");
    if ((rank && !expect(p, ",")) || !tp_scan_int(&p->in, &shape[rank++])) return false;
  }
  TP_PUSH(p->pl->a, &p->pl->bufs, b); /* from here on its array is freed with the plan */
  return (b->data = tp_scan_array(&p->in, b->dtype, rank, shape)) != NULL;
}

TEXT_KIND(BUFKIND, char, put_bufkind, scan_bufkind, NULL);
TEXT_KIND(LAYOUT, char, put_layout, scan_layout, NULL);
TEXT_KIND(DATA, char, put_data, scan_data, NULL);

text_rows tp_text_region(void) { return region_rows(); }
text_rows tp_text_buffer(void) { return buffer_rows(); }
