/* text: a plan as it prints and is read: symbols, what it stands on, buffers, then the loops: one
 * line a region. Rows of fields.def say what a line consists of; here is what values look like. A
 * put and a scan stand beside each other.
 *
 *   dim t:T
 *   var t1
 *   ends T of B                                               a bound whose dim ends by data, for
 * each point of the dim with bound B output f32 (t) [4] "y" @ rnn.lua:5                        what
 * a call gives, a hidden `parameter` too c0 fn 2 (over b, t) gives f32 "act" @ rnn.lua:4 a
 * callback: number, dims, results; with ticks `tick`, `feed 0`, `show 1` b0 input 0 f32 "x" [T][4]
 * size 4*T                        kind, slot in tp_run, dtype, name, [slots][shape], the order of
 * dims in memory if it is another, elements b1 temp f32 "h" [2][4] size 8 life 0..1 with `scope
 * t1`: its values leave no iteration of t1 b2 const f32 "" [][2] size 2 data [2] 0.5 1 for t1 = 0
 * .. T step 1 of t { loop over a0 = 0 for 4 [mul:f32(i0,i1)] -> m0 out b1{0; ring t1 mod 2 by 4;
 * lead 1} in b0{4*t1; lead 1} b1{...} "h" @ rnn.lua:3
 *   }
 *   loop over i1 = 0 for I | sum a0 = 0 for 4 out b3{0; lead 1, 0} in b0{0; lead 4, 1} @ rnn.lua:4
 *
 * A region goes over its axes, dims before those of elements (|); what is made along `sum`, `prod`,
 * `max`, `min` axes is folded. A micro's operands are the region's inputs (i0) and micros before it
 * (m0); without micros it is the input. A window is its offset, rings, strides along these axes,
 * shape by strides of its own axes, and `wrap axis at lo mod width`. `+=` after the results
 * accumulates; ix(..) and at(t = t1) are expressions of the operator and coordinates. A loop is
 * `independent` if no iteration needs another one's values. `load T1 of T b3{..}` sets a variable
 * to what a dim that ends by data has reached; `rows t1 of T b3{..}` says which rows of a callback
 * have ended at t1. `spill b1 by 0 rows lo for n up` and `fetch b1 ..` are of a dim (`inner`:
 * another way), `up`, `down` or neither, `made` where they will be written, and of a whole buffer
 * without `by` (plan.h); a plan that has them has a `limit` in bytes. `of "x", "" checked`: NaN
 * that is made of finite operands, of these names, ends the run; `at(t = 1 ..)`: the result's first
 * axis is added. With ticks there may be `behind e {`, `wait for e` and `wait`; buffers that only
 * what runs behind touches are `far`. */
#include "plan/priv.h"
#include <ctype.h>

enum { DEPTH = 64, LISTED = 256 }; /* blocks one inside another; items of a list */

/* rg: the region at hand. used: symbols that were written. */
typedef struct {
  tp_buf *b;
  bool *used;
  const tp_region *rg;
  const tp_plan *p;
} text_writer;
typedef struct {
  tp_plan *pl;
  tp_ictx *ix;
  tp_scan in;
  int depth;
  const tp_region *rg;
} parser;

/* How values of one kind are written. has: O rows; next: does a value begin here? NULL: it does. */
typedef struct value_kind {
  size_t size;
  void (*put)(text_writer *w, const void *x);
  bool (*scan)(parser *p, void *x);
  bool (*has)(const void *x);
  bool (*next)(parser *p);
} value_kind;
typedef struct {
  const char *text;
  const value_kind *kind;
  enum { MUST, MAY, WITH } when;
  enum { ONE, COMMAS, EACH, FOLLOW } many;
  size_t at, count;
} text_row;
typedef struct {
  int n;
  const text_row *v;
} text_rows;

static bool fail(parser *p, const char *what) { return tp_scan_fail(&p->in, what); }
static bool accept(parser *p, const char *text) { return tp_accept(&p->in, text); }
static bool expect(parser *p, const char *text) { return tp_expect(&p->in, text); }

static char next_char(parser *p) {
  tp_scan_space(&p->in);
  return *p->in.s;
}

/* The letter before a number: b3, i0, m1. */
static bool is_numbered(parser *p, char c) {
  return next_char(p) == c && isdigit((unsigned char)p->in.s[1]);
}
static bool numbered(parser *p, char c, int *v) {
  return is_numbered(p, c) && (p->in.s++, tp_scan_small(&p->in, v));
}

/* ---- rows of fields ---- */

static const value_kind kind_IX, kind_COND, kind_EXTENT, kind_VAR, kind_DIM, kind_PLACE, kind_FLAG,
    kind_DTYPE, kind_TITLE, kind_NAME, kind_WHO, kind_POS, kind_STEP, kind_WAY, kind_RING,
    kind_NUMBER, kind_BUFFER, kind_LEADS, kind_SPAN, kind_WINDOW, kind_ENDS, kind_WORK, kind_HOW,
    kind_AXES, kind_MICROS, kind_ACC, kind_COORDS, kind_ROWS, kind_BUFKIND, kind_LAYOUT, kind_DATA,
    kind_CALLEE;

#define BEGIN(name, type) \
  static text_rows name##_rows(void) { \
    typedef type of; \
    static const text_row v[] = {
#define END(type) \
  } \
  ; \
  return (text_rows){ TP_LEN(v), v }; \
  }
#define F(kind, name, text) { text, &kind_##kind, MUST, ONE, offsetof(of, name), 0 },
#define O(kind, name, text) { text, &kind_##kind, MAY, ONE, offsetof(of, name), 0 },
#define W(kind, name, text) { text, &kind_##kind, WITH, ONE, offsetof(of, name), 0 },
#define L(kind, name, count, text) \
  { text, &kind_##kind, MAY, COMMAS, offsetof(of, name), offsetof(of, count) },
#define S(kind, name, count, text) \
  { text, &kind_##kind, WITH, COMMAS, offsetof(of, name), offsetof(of, count) },
#define E(kind, name, count, text) \
  { text, &kind_##kind, MAY, EACH, offsetof(of, name), offsetof(of, count) },
#define V(kind, name, count, text) \
  { text, &kind_##kind, MUST, FOLLOW, offsetof(of, name), offsetof(of, count) },
#define I(kind, name, count, text) \
  { text, &kind_##kind, MAY, FOLLOW, offsetof(of, name), offsetof(of, count) },
#define C(kind) { "", &kind_##kind, MUST, ONE, 0, 0 },
#define T(text) { text, NULL, MUST, ONE, 0, 0 },
#define X(text) { text, NULL, WITH, ONE, 0, 0 },
#define U(...)
#define TP_FIELDS_OF_TEXT
#include "plan/fields.def"

/* The words and signs of a text, one after the other. */
static bool each_token(parser *p, const char *text, bool (*one)(parser *, const char *)) {
  char token[16];
  while (*(text += strspn(text, " "))) {
    size_t n = isalpha((unsigned char)*text) ? strcspn(text, " ([{")
                                             : strcspn(text, " abcdefghijklmnopqrstuvwxyz");
    snprintf(token, sizeof token, "%.*s", (int)n, text);
    if (!one(p, token)) return false;
    text += n;
  }
  return true;
}

static bool expect_text(parser *p, const char *text) { return each_token(p, text, expect); }

/* All of it, or nothing is taken. */
static bool accept_text(parser *p, const char *text) {
  const char *at = p->in.s;
  bool all = each_token(p, text, accept);
  if (!all) p->in.s = at;
  return all;
}

static void put_values(text_writer *w, const text_row *r, int n, const char *v) {
  if (r->many != EACH) tp_puts(w->b, r->text);
  for (int i = 0; i < n && r->kind; i++) {
    if (r->many == EACH) tp_puts(w->b, r->text);
    if (r->many == COMMAS && i) tp_puts(w->b, ", ");
    r->kind->put(w, v + r->kind->size * (size_t)i);
  }
}

static void put_text(text_writer *w, text_rows t, const void *x) {
  bool there = false;
  for (const text_row *r = t.v; r < t.v + t.n; r++) {
    const void *v = (const char *)x + r->at;
    int n = 1;
    if (r->many) n = *(const int *)((const char *)x + r->count), memcpy(&v, v, sizeof v);
    if (r->when != WITH) there = r->when == MUST || (r->many ? n > 0 : r->kind->has(v));
    if (there) put_values(w, r, n, v);
  }
}

static bool begins(parser *p, const value_kind *k) { return !k->next || k->next(p); }

static bool scan_list(parser *p, const text_row *r, int *count, void *list) {
  char *v = NULL;
  int n = 0, cap = 0;
  bool more = r->many != FOLLOW || begins(p, r->kind);
  while (more) {
    if (n == LISTED) return fail(p, "too many items");
    tp_vec_grow(p->pl->a, (void **)&v, n, &cap, r->kind->size);
    if (!r->kind->scan(p, memset(v + r->kind->size * (size_t)n, 0, r->kind->size))) return false;
    n++;
    more = r->many == COMMAS ? accept(p, ",")
        : r->many == EACH    ? accept_text(p, r->text)
                             : begins(p, r->kind);
  }
  if ((r->when == WITH || *count) && n != *count)
    return fail(p, "as many as were said are wanted before this");
  *count = n;
  memcpy(list, &v, sizeof v);
  return true;
}

static bool scan_text(parser *p, text_rows t, void *x) {
  bool there = false;
  for (const text_row *r = t.v; r < t.v + t.n; r++) {
    const char *at = p->in.s;
    if (r->when == MAY) there = accept_text(p, r->text) && begins(p, r->kind);
    else if (r->when == MUST) there = expect_text(p, r->text);
    if (r->when == MAY && !there) p->in.s = at;
    if ((r->when == MUST && !there) || (r->when == WITH && there && !expect_text(p, r->text)))
      return false;
    if (!there || !r->kind) continue;
    void *v = (char *)x + r->at;
    if (!(r->many ? scan_list(p, r, (int *)((char *)x + r->count), v) : r->kind->scan(p, v)))
      return false;
  }
  return true;
}

/* ---- expressions and symbols ---- */

static void mark_used(text_writer *w, const tp_sym *s) {
  const tp_sym *const *of;
  if (!s || w->used[s->id]) return;
  w->used[s->id] = true;
  for (int k = 0; k < s->nleast; k++)
    for (int i = 0, n = tp_ix_syms(s->least[k], &of); i < n; i++) mark_used(w, of[i]);
  mark_used(w, s->bound);
  mark_used(w, s->dim);
}

static void put_expr(text_writer *w, const tp_ix *e) {
  const tp_sym *const *syms;
  tp_ix_print(w->b, e);
  for (int i = 0, n = tp_ix_syms(e, &syms); i < n; i++) mark_used(w, syms[i]);
}

static void put_ix(text_writer *w, const void *x) { put_expr(w, *(const tp_ix *const *)x); }
static bool has_pointer(const void *x) { return *(const void *const *)x != NULL; }
static bool scan_extent(parser *p, void *x) {
  return tp_scan_ix(&p->in, p->ix, x) || (!p->in.err->code && fail(p, "an expression is wanted"));
}
static bool no_close(parser *p) { return next_char(p) != ')' && next_char(p) != ']'; }

/* Over bounds and variables: a number or a condition. */
static bool scan_any(parser *p, const tp_ix **e) {
  const tp_sym *const *s;
  if (!scan_extent(p, e)) return false;
  for (int i = 0, n = tp_ix_syms(*e, &s); i < n; i++)
    if (s[i]->kind == TP_SYM_DIM) return fail(p, "a dim has no value in a plan, before this");
  return true;
}

static bool scan_ix(parser *p, void *x) {
  return scan_any(p, x) &&
      (!tp_ix_is_cond(*(const tp_ix **)x) || fail(p, "a number is wanted before this"));
}
static bool scan_cond(parser *p, void *x) {
  return scan_any(p, x) &&
      (tp_ix_is_cond(*(const tp_ix **)x) || fail(p, "a condition is wanted before this"));
}

static bool scan_symbol(parser *p, tp_symkind kind, void *x) {
  static const char *const wanted[] = { "a dim is wanted before this",
    "a bound is wanted before this", "a variable is wanted before this" };
  const char *name = tp_scan_word(&p->in);
  const tp_sym *s = name ? tp_sym_find(p->ix, name) : NULL;
  *(const tp_sym **)x = s;
  return name && ((s && s->kind == kind) || fail(p, wanted[kind]));
}

static void put_symbol(text_writer *w, const void *x) {
  const tp_sym *s = *(const tp_sym *const *)x;
  tp_puts(w->b, s->name);
  mark_used(w, s);
}

static bool scan_dim(parser *p, void *x) {
  return scan_symbol(p, TP_SYM_DIM, x) &&
      ((*(const tp_sym **)x)->bound || fail(p, "a dim without a bound before this"));
}
static bool scan_var(parser *p, void *x) { return scan_symbol(p, TP_SYM_VAR, x); }

static const value_kind kind_IX = { sizeof(const tp_ix *), put_ix, scan_ix, has_pointer, no_close },
                        kind_COND = { sizeof(const tp_ix *), put_ix, scan_cond, NULL, NULL };
static const value_kind kind_EXTENT = { sizeof(const tp_ix *), put_ix, scan_extent, NULL,
  no_close },
                        kind_VAR = { sizeof(const tp_sym *), put_symbol, scan_var, has_pointer,
                          NULL };
static const value_kind kind_DIM = { sizeof(const tp_sym *), put_symbol, scan_dim, has_pointer,
  no_close };

/* ---- numbers, words, names ---- */

static void put_place(text_writer *w, const void *x) { tp_putf(w->b, "%d", *(const int *)x); }
static bool scan_place(parser *p, void *x) { return tp_scan_small(&p->in, x); }
static bool has_place(const void *x) { return *(const int *)x >= 0; }
static void put_flag(text_writer *w, const void *x) { (void)w, (void)x; }
static bool scan_flag(parser *p, void *x) {
  (void)p;
  return *(bool *)x = true;
}
static bool has_flag(const void *x) { return *(const bool *)x; }
static void put_dtype(text_writer *w, const void *x) {
  tp_puts(w->b, tp_dtype_name(*(const tp_dtype *)x));
}
static bool scan_dtype(parser *p, void *x) { return tp_scan_dtype(&p->in, x); }
static void put_title(text_writer *w, const void *x) {
  tp_put_string(w->b, *(const char *const *)x ? *(const char *const *)x : "");
}
static bool scan_title(parser *p, void *x) {
  return (*(const char **)x = tp_scan_string(&p->in)) != NULL;
}
static bool is_string(parser *p) { return next_char(p) == '"'; }
static void put_pos(text_writer *w, const void *x) { tp_put_where(w->b, *(const tp_pos *)x); }
static bool scan_pos(parser *p, void *x) { return tp_scan_where(&p->in, x) && tp_scan_end(&p->in); }

static bool scan_who(parser *p, void *x) {
  tp_who *w = x;
  if (!scan_title(p, &w->name)) return false;
  if (!*w->name) w->name = NULL;
  return true;
}

static bool scan_step(parser *p, void *x) {
  int64_t v;
  if (!tp_scan_int(&p->in, &v)) return false;
  *(int *)x = (int)v;
  return (v && v == *(int *)x) || fail(p, "no such step before this");
}

static void put_way(text_writer *w, const void *x) {
  tp_puts(w->b, *(const int *)x > 0 ? " up" : *(const int *)x < 0 ? " down" : "");
}
static bool scan_way(parser *p, void *x) {
  return *(int *)x = accept(p, "up") ? 1 : accept(p, "down") ? -1 : 0, true;
}

static const value_kind kind_PLACE = { sizeof(int), put_place, scan_place, has_place, NULL },
                        kind_FLAG = { sizeof(bool), put_flag, scan_flag, has_flag, NULL };
static const value_kind kind_DTYPE = { sizeof(tp_dtype), put_dtype, scan_dtype, NULL, NULL },
                        kind_TITLE = { sizeof(char *), put_title, scan_title, NULL, NULL };
static const value_kind kind_NAME = { sizeof(char *), put_title, scan_title, has_pointer,
  is_string },
                        kind_WHO = { sizeof(tp_who), put_title, scan_who, has_pointer, is_string };
static const value_kind kind_POS = { sizeof(tp_pos), put_pos, scan_pos, NULL, NULL },
                        kind_STEP = { sizeof(int), put_place, scan_step, NULL, NULL };
static const value_kind kind_WAY = { sizeof(int), put_way, scan_way, NULL, NULL };

/* ---- windows ---- */

static void put_ring(text_writer *w, const void *x) { put_text(w, ring_rows(), x); }
static bool scan_ring(parser *p, void *x) { return scan_text(p, ring_rows(), x); }

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
    put_expr(w, nd->lead[i]);
  }
}

static bool scan_leads(parser *p, void *x) {
  static const text_row row = { "; lead ", &kind_IX, MAY, COMMAS, 0, 0 };
  int n = 0;
  if (!accept_text(p, row.text)) return true;
  return scan_list(p, &row, &n, &((tp_nd *)x)->lead) &&
      ((p->rg && n == p->rg->nlead) ||
          fail(p, "as many strides as leading axes are wanted before this"));
}

static void put_edge(text_writer *w, const void *x) {
  const tp_ix *e = *(const tp_ix *const *)x;
  if (e) put_expr(w, e);
  else tp_puts(w->b, "?");
}
static bool scan_edge(parser *p, void *x) { return accept(p, "?") || scan_ix(p, x); }

/* "; span 0 to T - 1, ? to 3" */
static void put_span(text_writer *w, const void *x) {
  const tp_nd *nd = x;
  for (int i = 0; nd->span && i < w->p->bufs.v[nd->buf]->ndim; i++) {
    tp_puts(w->b, i ? ", " : "; span ");
    put_edge(w, &nd->span[2 * i]);
    tp_puts(w->b, " to ");
    put_edge(w, &nd->span[2 * i + 1]);
  }
}

static bool scan_span(parser *p, void *x) {
  tp_nd *nd = x;
  if (!accept_text(p, "; span ")) return true;
  int n = nd->buf >= 0 && nd->buf < p->pl->bufs.n ? p->pl->bufs.v[nd->buf]->ndim : 0;
  nd->span = TP_NEWN(p->pl->a, const tp_ix *, 2 * n + 1);
  for (int i = 0; i < n; i++)
    if ((i && !expect(p, ",")) || !scan_edge(p, &nd->span[2 * i]) || !expect(p, "to") ||
        !scan_edge(p, &nd->span[2 * i + 1]))
      return false;
  return true;
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

static const value_kind kind_NUMBER = { sizeof(tp_pbuf *), put_number, scan_number, has_pointer,
  NULL };
static const value_kind kind_RING = { sizeof(tp_ring), put_ring, scan_ring, NULL, NULL },
                        kind_BUFFER = { sizeof(int), put_buffer, scan_buffer, NULL, NULL };
static const value_kind kind_LEADS = { 0, put_leads, scan_leads, NULL, NULL },
                        kind_SPAN = { 0, put_span, scan_span, NULL, NULL };

static void put_window(text_writer *w, const void *x) {
  tp_puts(w->b, " ");
  put_text(w, window_rows(), x);
}

static bool scan_window(parser *p, void *x) {
  *(tp_nd *)x = (tp_nd){ .wrap = -1 };
  return scan_text(p, window_rows(), x);
}

/* Without axes of a region. */
static void put_ends(text_writer *w, const void *x) {
  put_text(&(text_writer){ w->b, w->used, NULL, w->p }, window_rows(), x);
}

static bool scan_ends(parser *p, void *x) {
  const tp_region *rg = p->rg;
  p->rg = NULL;
  bool ok = (is_window(p) || fail(p, "a window is wanted")) && scan_window(p, x);
  p->rg = rg;
  return ok;
}

static const value_kind kind_WINDOW = { sizeof(tp_nd), put_window, scan_window, NULL, is_window },
                        kind_ENDS = { sizeof(tp_nd), put_ends, scan_ends, NULL, NULL };

/* ---- what a region does ---- */

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
    put_title(&(text_writer){ .b = tp_put_item(w->b, &count, "what ") }, &r->who.what);
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
    if (!(what ? scan_title(p, &r->who.what)
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
    put_symbol(w, &r->leadvar[k]);
    tp_puts(w->b, " = ");
    put_expr(w, r->leadlo[k]);
    tp_puts(w->b, " for ");
    put_expr(w, r->lead[k]);
  }
}

/* Is this "t = e" and not an expression? */
static bool named_next(parser *p) {
  tp_scan at = p->in;
  tp_error err = { 0 };
  at.err = &err;
  return tp_scan_word(&at) && tp_accept(&at, "=") && *at.s != '=';
}

/* "sum" before an axis; all are folded by one. */
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
  r->leadvar = TP_NEWN(p->pl->a, const tp_sym *, TP_MAXLEAD);
  r->leadlo = TP_NEWN(p->pl->a, const tp_ix *, TP_MAXLEAD);
  r->lead = TP_NEWN(p->pl->a, const tp_ix *, TP_MAXLEAD);
  do {
    int k = r->nlead;
    if (k == TP_MAXLEAD) return fail(p, "too many leading axes");
    if (loop && !elements && accept(p, "|")) elements = true, r->npoint = k;
    if ((loop && !folded(p, r)) || !scan_var(p, &r->leadvar[k]) || !expect(p, "=") ||
        !scan_ix(p, &r->leadlo[k]) || !expect(p, "for") || !scan_ix(p, &r->lead[k]))
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
  if (m->op == TP_OP_VALUE) put_expr(w, m->ix);
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
  if (!scan_op(p, &m->op) || !expect(p, ":") || !scan_dtype(p, &m->dtype) || !expect(p, "("))
    return false;
  if (m->op == TP_OP_FILL ? !tp_scan_double(&p->in, &m->f)
                          : m->op == TP_OP_VALUE && !scan_any(p, &m->ix))
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

/* As many windows must follow as there are results. */
static bool scan_micros(parser *p, void *x) {
  static const value_kind kind_micro = { sizeof(tp_micro), NULL, scan_micro, NULL, no_bracket },
                          kind_made = { sizeof(int), NULL, scan_made, NULL, is_micro };
  static const text_row micro = { "", &kind_micro, MUST, FOLLOW, 0, 0 },
                        made = { "", &kind_made, MUST, FOLLOW, 0, 0 };
  tp_region *r = x;
  r->outmicro = TP_NEW(p->pl->a, int);
  return !accept(p, "[") ||
      (scan_list(p, &micro, &r->nmicro, &r->micro) && expect_text(p, "] ->") &&
          scan_list(p, &made, &r->nout, &r->outmicro));
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
    if (r->dim) put_symbol(w, &r->dim[k]), tp_puts(w->b, " = ");
    put_expr(w, r->coord[k]);
    if (r->along >> k & 1) tp_puts(w->b, " ..");
  }
  if (r->ncoord) tp_puts(w->b, ")");
}

static bool scan_coords(parser *p, void *x) {
  tp_region *r = x;
  int ndim = 0;
  if (!accept_text(p, "at (")) return true;
  r->coord = TP_NEWN(p->pl->a, const tp_ix *, TP_MAXLEAD);
  r->dim = TP_NEWN(p->pl->a, const tp_sym *, TP_MAXLEAD);
  do {
    if (r->ncoord == TP_MAXLEAD) return fail(p, "too many coordinates");
    if (named_next(p) && !(scan_dim(p, &r->dim[ndim++]) && expect(p, "="))) return false;
    if (!scan_ix(p, &r->coord[r->ncoord])) return false;
    r->along |= (uint32_t)accept(p, "..") << r->ncoord++;
  } while (accept(p, ","));
  if (!ndim) r->dim = NULL;
  return expect(p, ")") &&
      (ndim == r->ncoord || (ndim == 0 && r->kind != TP_RG_CALL) ||
          fail(p, "a coordinate without its dim before this"));
}

static void put_ended(text_writer *w, const void *x) { put_text(w, rows_rows(), x); }

static bool scan_ended(parser *p, void *x) {
  ((tp_rows *)x)->along = -1;
  return scan_text(p, rows_rows(), x);
}

static const value_kind kind_WORK = { 0, put_work, scan_work, NULL, NULL },
                        kind_HOW = { 0, put_how, scan_how, NULL, NULL },
                        kind_AXES = { 0, put_axes, scan_axes, NULL, NULL };
static const value_kind kind_MICROS = { 0, put_micros, scan_micros, NULL, NULL },
                        kind_ACC = { 0, put_acc, scan_acc, NULL, NULL };
static const value_kind kind_COORDS = { 0, put_coords, scan_coords, NULL, NULL },
                        kind_ROWS = { sizeof(tp_rows), put_ended, scan_ended, NULL, NULL };

static tp_region *scan_region(parser *p) {
  tp_region *r = TP_NEW(p->pl->a, tp_region);
  p->rg = r;
  if (!scan_text(p, region_rows(), r)) return NULL;
  settle_references(r);
  return tp_region_check(p->pl, r, tp_scan_pos(&p->in), p->in.err) ? r : NULL;
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
    put_expr(w, b->slots[i]);
  }
  tp_puts(w->b, b->rank ? "]" : b->ndim ? "][]" : " [][]");
  for (int k = 0; b->order && k < b->ndim; k++) moved |= b->order[k] != k;
  for (int k = 0; moved && k < b->ndim; k++)
    tp_putf(w->b, "%s%d", k ? " " : " order ", b->order[k]);
}

/* Each dim once. */
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
  static const text_row row = { "", &kind_IX, MAY, COMMAS, 0, 0 };
  tp_pbuf *b = x;
  const tp_ix **slots = NULL, **shape = NULL;
  if (!expect(p, "[") || (no_close(p) && !scan_list(p, &row, &b->ndim, &slots)) ||
      !expect_text(p, "] ["))
    return false;
  if ((no_close(p) && !scan_list(p, &row, &b->rank, &shape)) || !expect(p, "]")) return false;
  b->slots = TP_NEWN(p->pl->a, const tp_ix *, b->ndim + b->rank);
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
  if (b->kind != TP_BUF_CONST) return tp_scan_end(&p->in);
  if (!expect_text(p, "data [")) return false;
  while (!accept(p, "]")) {
    if (rank == TP_MAXRANK) return fail(p, "too many axes");
    if ((rank && !expect(p, ",")) || !tp_scan_int(&p->in, &shape[rank++])) return false;
  }
  TP_PUSH(p->pl->a, &p->pl->bufs, b); /* whose array goes with the plan */
  return (b->data = tp_scan_array(&p->in, b->dtype, rank, shape)) != NULL && tp_scan_end(&p->in);
}

static const value_kind kind_BUFKIND = { 0, put_bufkind, scan_bufkind, NULL, NULL },
                        kind_LAYOUT = { 0, put_layout, scan_layout, NULL, NULL };
static const value_kind kind_DATA = { 0, put_data, scan_data, NULL, NULL };

static bool buffer_line(parser *p) {
  tp_pbuf *b = TP_NEW(p->pl->a, tp_pbuf);
  b->first = b->last = b->inside = b->holds = -1;
  int outputs = p->pl->products.n;
  if (!scan_text(p, buffer_rows(), b)) return false;
  if ((b->kind == TP_BUF_OUTPUT && b->slot >= outputs) || b->holds >= outputs)
    return fail(p, "there is no such output");
  if (b->kind != TP_BUF_CONST) TP_PUSH(p->pl->a, &p->pl->bufs, b);
  return true;
}

/* ---- what it stands on ---- */

static const char *const callee_words[] = { "fn", "tick", "feed", "show" }; /* by -fn */

static void put_callee(text_writer *w, const void *x) {
  const tp_callee *c = x;
  tp_putf(w->b, " %s", callee_words[c->fn < 0 ? -c->fn : 0]);
  if (c->fn != TP_FN_TICK) tp_putf(w->b, " %d", c->fn < 0 ? c->slot : c->fn);
  tp_puts(w->b, " (");
  for (int d = 0; d < c->ndom; d++) {
    tp_putf(w->b, "%s%s", d ? ", " : "", c->over >> d & 1 ? "over " : "");
    put_symbol(w, &c->dom[d]);
  }
  tp_puts(w->b, ")");
}

static bool scan_callee(parser *p, void *x) {
  tp_callee *c = x;
  const tp_sym **dom = TP_NEWN(p->pl->a, const tp_sym *, TP_MAXLEAD);
  int i, kind, number = 0;
  if (!numbered(p, 'c', &i) || !tp_scan_choice(&p->in, callee_words, TP_LEN(callee_words), &kind))
    return false;
  if (i != p->pl->calls.n) return fail(p, "callbacks must stand in order");
  if ((kind != -TP_FN_TICK && !tp_scan_small(&p->in, &number)) || !expect(p, "(")) return false;
  c->fn = kind ? -kind : number;
  c->slot = kind ? number : 0;
  for (c->dom = dom; !accept(p, ")"); c->ndom++) {
    if (c->ndom == TP_MAXLEAD - 1) return fail(p, "too many dims");
    if (c->ndom && !expect(p, ",")) return false;
    c->over |= (uint32_t)accept(p, "over") << c->ndom;
    if (!scan_dim(p, &dom[c->ndom])) return false;
  }
  return true;
}

static const value_kind kind_CALLEE = { 0, put_callee, scan_callee, NULL, NULL };

static bool callee_line(parser *p) {
  tp_callee c = { 0 };
  if (!scan_text(p, callee_rows(), &c)) return false;
  TP_PUSH(p->pl->a, &p->pl->calls, c);
  return true;
}

static bool product_line(parser *p, bool hidden) {
  tp_product o = { .hidden = hidden };
  if (!scan_text(p, product_rows(), &o)) return false;
  TP_PUSH(p->pl->a, &p->pl->products, o);
  return true;
}

static bool end_line(parser *p) {
  tp_pend e = { 0 };
  if (!scan_symbol(p, TP_SYM_BOUND, &e.bound) ||
      (accept(p, "of") && !scan_symbol(p, TP_SYM_BOUND, &e.row)) || !tp_scan_end(&p->in))
    return false;
  TP_PUSH(p->pl->a, &p->pl->ends, e);
  return true;
}

/* ---- statements ---- */

static text_rows rows_of_kind(tp_pkind kind) {
  switch (kind) {
  case TP_P_FOR: return for_rows();
  case TP_P_IF: return if_rows();
  case TP_P_LOAD: return load_rows();
  case TP_P_BEHIND: return behind_rows();
  case TP_P_WAIT: return wait_rows();
  case TP_P_SPILL:
  case TP_P_FETCH: return kept_rows();
  default: return region_rows();
  }
}

static void put_node(text_writer *w, const tp_pnode *x, int depth) {
  for (int i = 0; i < x->n && x->kind == TP_P_SEQ; i++) put_node(w, x->kid[i], depth);
  if (x->kind == TP_P_SEQ) return;
  tp_putf(w->b, "%*s%s", 2 * depth, "",
      x->kind == TP_P_SPILL       ? "spill"
          : x->kind == TP_P_FETCH ? "fetch"
                                  : "");
  w->rg = x->rg;
  put_text(w, rows_of_kind(x->kind), x->rg ? (const void *)x->rg : x);
  tp_puts(w->b, "\n");
  for (int i = 0; i < x->n; i++) {
    if (i) tp_putf(w->b, "%*s} else {\n", 2 * depth, "");
    put_node(w, x->kid[i], depth + 1);
  }
  if (x->n) tp_putf(w->b, "%*s}\n", 2 * depth, "");
}

static tp_pnode *block(parser *p, const char **text, bool inner);

static bool add_block(parser *p, const char **text, tp_pnode *x) {
  return tp_scan_end(&p->in) && (x->kid[x->n++] = block(p, text, true));
}

static bool statement_rest(parser *p, const char **text, tp_pnode *x) {
  if (x->kind == TP_P_REGION) return (x->rg = scan_region(p)) != NULL;
  p->rg = NULL;
  if (!scan_text(p, rows_of_kind(x->kind), x)) return false;
  if (x->kind == TP_P_LOAD && !tp_load_check(p->pl, x, tp_scan_pos(&p->in), p->in.err))
    return false;
  if ((x->kind == TP_P_SPILL || x->kind == TP_P_FETCH) &&
      !tp_kept_check(p->pl, x, tp_scan_pos(&p->in), p->in.err))
    return false;
  if ((x->kind == TP_P_FOR || x->kind == TP_P_IF || x->kind == TP_P_BEHIND) &&
      !add_block(p, text, x))
    return false;
  if (x->kind == TP_P_IF && accept_text(p, "else {") && !add_block(p, text, x)) return false;
  return tp_scan_end(&p->in);
}

static tp_pnode *statement(parser *p, const char **text) {
  tp_pnode *x = TP_NEW(p->pl->a, tp_pnode);
  const char *at = p->in.s;
  x->kind = accept(p, "spill") ? TP_P_SPILL
      : accept(p, "fetch")     ? TP_P_FETCH
      : accept(p, "load")      ? TP_P_LOAD
      : accept(p, "for")       ? TP_P_FOR
      : accept(p, "if")        ? TP_P_IF
      : accept(p, "behind")    ? TP_P_BEHIND
      : accept(p, "wait")      ? TP_P_WAIT
                               : TP_P_REGION;
  /* which their rows begin with */
  if (x->kind != TP_P_SPILL && x->kind != TP_P_FETCH) p->in.s = at;
  x->kid = TP_NEWN(p->pl->a, tp_pnode *, 2);
  x->dim = -1;
  return statement_rest(p, text, x) ? x : NULL;
}

/* A line that names something; *told: it was one. */
static bool declaration(parser *p, bool *told) {
  tp_plan *pl = p->pl;
  *told = true;
  if (accept(p, "dim")) return tp_sym_line(p->ix, &p->in, TP_SYM_DIM);
  if (accept(p, "bound")) return tp_sym_line(p->ix, &p->in, TP_SYM_BOUND);
  if (accept(p, "var")) return tp_sym_line(p->ix, &p->in, TP_SYM_VAR);
  if (p->depth == 1 && is_numbered(p, 'b')) return buffer_line(p);
  if (p->depth == 1 && is_numbered(p, 'c')) return callee_line(p);
  if (accept(p, "ends")) return end_line(p);
  if (accept(p, "output")) return product_line(p, false);
  if (accept(p, "parameter")) return product_line(p, true);
  if (accept(p, "reproducible")) return (pl->reproducible = true) && tp_scan_end(&p->in);
  if (accept(p, "limit"))
    return tp_scan_int(&p->in, &pl->limit) &&
        (pl->limit > 0 || fail(p, "no such limit before this")) && tp_scan_end(&p->in);
  *told = false;
  return true;
}

/* Lines up to the one that closes the block, whose rest is left, or to the end of the text. */
static tp_pnode *block(parser *p, const char **text, bool inner) {
  tp_pnodes l = { 0 };
  bool told, closed = false;
  if (++p->depth > DEPTH) return fail(p, "blocks are nested too deeply"), NULL;
  while (!closed && tp_scan_line(&p->in, text)) {
    if (!next_char(p) || strncmp(p->in.s, "--", 2) == 0) continue;
    if (inner && (closed = accept(p, "}"))) break;
    if (!declaration(p, &told)) return NULL;
    tp_pnode *x = told ? NULL : statement(p, text);
    if (!told && !x) return NULL;
    if (x) TP_PUSH(p->pl->a, &l, x);
  }
  p->depth--;
  if (closed != inner) return fail(p, "'}' is wanted"), NULL;
  return tp_plan_seq(p->pl->a, l.n, l.v);
}

/* ---- the whole ---- */

static void put_end(text_writer *w, const tp_pend *e) {
  tp_puts(w->b, "ends ");
  put_symbol(w, &e->bound);
  if (e->row) tp_puts(w->b, " of "), put_symbol(w, &e->row);
  tp_puts(w->b, "\n");
}

/* Symbols stand before all else: those that were written. */
void tp_plan_print(tp_buf *b, const tp_plan *p) {
  tp_arena scratch;
  tp_buf text;
  tp_scratch_init(&scratch);
  tp_buf_init(&text);
  text_writer w = { &text, TP_NEWN(&scratch, bool, tp_nsym(p->ix)), NULL, p };
  for (int i = 0; i < p->ends.n; i++) put_end(&w, &p->ends.v[i]);
  for (int i = 0; i < p->products.n; i++)
    tp_puts(&text, p->products.v[i].hidden ? "parameter " : "output "),
        put_text(&w, product_rows(), &p->products.v[i]), tp_puts(&text, "\n");
  for (int i = 0; i < p->calls.n; i++)
    tp_putf(&text, "c%d", i), put_text(&w, callee_rows(), &p->calls.v[i]), tp_puts(&text, "\n");
  if (p->reproducible) tp_puts(&text, "reproducible\n");
  if (p->limit) tp_putf(&text, "limit %lld\n", (long long)p->limit);
  for (int i = 0; i < p->bufs.n; i++)
    put_text(&w, buffer_rows(), p->bufs.v[i]), tp_puts(&text, "\n");
  put_node(&w, p->body, 0);
  tp_syms_print(b, p->ix, w.used);
  tp_putn(b, text.s, text.n);
  b->failed |= text.failed;
  tp_buf_free(&text);
  tp_arena_free(&scratch);
}

/* Lives lie inside the plan. */
static bool lives(parser *p) {
  for (int i = 0; i < p->pl->bufs.n; i++) {
    const tp_pbuf *b = p->pl->bufs.v[i];
    if (b->last < b->first || b->last >= p->pl->npos)
      return fail(p, "a buffer's life does not lie inside the plan");
  }
  return true;
}

static bool read_all(tp_plan *pl, const char *text, tp_error *err) {
  tp_guard oom;
  if (!TP_GUARDED(&oom)) return tp_fail(err, TP_E_MEMORY, (tp_pos){ 0 }, "no memory for the plan");
  parser p = { .pl = pl, .ix = pl->ix };
  tp_scan_init(&p.in, "plan", pl->a, tp_ictx_arena(p.ix), err);
  bool ok = (pl->body = block(&p, &text, false)) != NULL;
  if (ok) tp_plan_number(pl);
  ok = ok && lives(&p);
  if (ok && tp_ictx_overflowed(p.ix)) ok = fail(&p, "a number that is too large");
  tp_unguard(&oom);
  return ok;
}

tp_plan *tp_plan_parse(tp_ictx *ix, const char *text, tp_error *err) {
  tp_plan *pl = tp_calloc(sizeof *pl);
  tp_error own = { 0 };
  if (!err) err = &own;
  if (!pl) return tp_fail(err, TP_E_MEMORY, (tp_pos){ 0 }, "no memory for a plan"), NULL;
  tp_arena_init(&pl->own);
  pl->ix = ix;
  pl->a = &pl->own;
  return read_all(pl, text, err) ? pl : tp_plan_free(pl);
}

tp_plan *tp_plan_free(tp_plan *p) {
  if (!p) return NULL;
  for (int i = 0; i < p->bufs.n; i++) tp_array_unref(p->bufs.v[i]->data);
  tp_arena_free(&p->own);
  tp_free(p);
  return NULL;
}
