/* textrows: writes and reads rows of fields.def, and the values that all of them have: expressions,
 * symbols, numbers, words. */
#include "plan/text.h"

/* ---- rows of fields ---- */

/* Calls `one` for the words and signs of a text, one after the other, until it is false. */
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

bool tp_expect_text(parser *p, const char *text) { return each_token(p, text, expect); }

bool tp_accept_text(parser *p, const char *text) {
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
    if (r->many == FOLLOW) tp_puts(w->b, " ");
    const char *x = v + r->kind->size * (size_t)i;
    if (r->kind->rows) tp_put_text(w, r->kind->rows(), x);
    else if (r->kind->put) r->kind->put(w, x);
  }
}

/* Is there a value: a pointer that is not NULL, a place, a flag that is set? */
static bool is_there(const value_kind *k, const void *x) {
  return k->size >= sizeof(void *) ? *(const void *const *)x != NULL
      : k->size == sizeof(int)     ? *(const int *)x >= 0
                                   : *(const bool *)x;
}

void tp_put_text(text_writer *w, text_rows t, const void *x) {
  bool there = false;
  for (const text_row *r = t.v; r < t.v + t.n; r++) {
    const void *v = (const char *)x + r->at;
    int n = 1;
    if (r->many) n = *(const int *)((const char *)x + r->count), memcpy(&v, v, sizeof v);
    if (r->when != WITH) there = r->when == MUST || (r->many ? n > 0 : is_there(r->kind, v));
    if (there) put_values(w, r, n, v);
  }
}

static bool begins(parser *p, const value_kind *k) { return !k->next || k->next(p); }
static bool scan_value(parser *p, const value_kind *k, void *x) {
  return k->rows ? tp_scan_text(p, k->rows(), x) : k->scan(p, x);
}

bool tp_scan_items(parser *p, const text_row *r, int *count, void *list) {
  char *v = NULL;
  int n = 0, cap = 0;
  bool more = r->many != FOLLOW || begins(p, r->kind);
  while (more) {
    if (n == LISTED) return fail(p, "too many items");
    tp_vec_grow(p->pl->a, (void **)&v, n, &cap, r->kind->size);
    if (!scan_value(p, r->kind, memset(v + r->kind->size * (size_t)n, 0, r->kind->size)))
      return false;
    n++;
    more = r->many == COMMAS ? accept(p, ",")
        : r->many == EACH    ? tp_accept_text(p, r->text)
                             : begins(p, r->kind);
  }
  if ((r->when == WITH || *count) && n != *count)
    return fail(p, "as many as were said are wanted before this");
  *count = n;
  memcpy(list, &v, sizeof v);
  return true;
}

/* Reads the fields. A place that the text lacks is -1. */
bool tp_scan_text(parser *p, text_rows t, void *x) {
  bool there = false;
  for (const text_row *r = t.v; r < t.v + t.n; r++) {
    const char *at = p->in.s;
    if (r->when == MAY) there = tp_accept_text(p, r->text) && begins(p, r->kind);
    else if (r->when == MUST) there = tp_expect_text(p, r->text);
    if (r->when == MAY && !there) p->in.s = at;
    if ((r->when == MUST && !there) || (r->when == WITH && there && !tp_expect_text(p, r->text)))
      return false;
    void *v = (char *)x + r->at;
    if (!there && r->kind == &tp_kind_PLACE) *(int *)v = -1;
    if (!there || !r->kind) continue;
    if (!(r->many ? tp_scan_items(p, r, (int *)((char *)x + r->count), v)
                  : scan_value(p, r->kind, v)))
      return false;
  }
  return true;
}

/* ---- expressions and symbols ---- */

static void mark_used(text_writer *w, tp_sym *s) {
  if (!s || w->used[s->id]) return;
  w->used[s->id] = true;
  mark_used(w, s->bound);
  mark_used(w, s->dim);
}

void tp_put_expr(text_writer *w, tp_ix *e) {
  tp_dims syms;
  tp_ix_print(w->b, e);
  for (int i = 0, n = tp_ix_syms(e, &syms); i < n; i++) mark_used(w, syms[i]);
}

static void put_ix(text_writer *w, const void *x) { tp_put_expr(w, *(tp_ixs)x); }
static bool scan_extent(parser *p, void *x) {
  return tp_scan_ix(&p->in, p->ix, x) || (!p->in.err->code && fail(p, "an expression is wanted"));
}

bool tp_scan_any(parser *p, tp_ix **e) {
  tp_dims s;
  if (!scan_extent(p, e)) return false;
  for (int i = 0, n = tp_ix_syms(*e, &s); i < n; i++)
    if (s[i]->kind == TP_SYM_DIM) return fail(p, "a dim has no value in a plan, before this");
  return true;
}

static bool scan_ix(parser *p, void *x) {
  return tp_scan_any(p, x) &&
      (!tp_ix_is_cond(*(tp_ix **)x) || fail(p, "a number is wanted before this"));
}
static bool scan_cond(parser *p, void *x) {
  return tp_scan_any(p, x) &&
      (tp_ix_is_cond(*(tp_ix **)x) || fail(p, "a condition is wanted before this"));
}

bool tp_scan_symbol(parser *p, tp_symkind kind, void *x) {
  static const char *const wanted[] = { "a dim is wanted before this",
    "a bound is wanted before this", "a variable is wanted before this" };
  const char *name = tp_scan_word(&p->in);
  tp_sym *s = name ? tp_sym_find(p->ix, name) : NULL;
  *(tp_sym **)x = s;
  return name && ((s && s->kind == kind) || fail(p, wanted[kind]));
}

void tp_put_symbol(text_writer *w, const void *x) {
  tp_sym *s = *(tp_dims)x;
  tp_puts(w->b, s->name);
  mark_used(w, s);
}

static bool scan_dim(parser *p, void *x) {
  return tp_scan_symbol(p, TP_SYM_DIM, x) &&
      ((*(tp_sym **)x)->bound || fail(p, "a dim without a bound before this"));
}
static bool scan_var(parser *p, void *x) { return tp_scan_symbol(p, TP_SYM_VAR, x); }

TEXT_KIND(IX, tp_ix *, put_ix, scan_ix, no_close);
TEXT_KIND(COND, tp_ix *, put_ix, scan_cond, NULL);
TEXT_KIND(EXTENT, tp_ix *, put_ix, scan_extent, no_close);
TEXT_KIND(VAR, tp_sym *, tp_put_symbol, scan_var, NULL);
TEXT_KIND(DIM, tp_sym *, tp_put_symbol, scan_dim, no_close);

/* ---- numbers, words, names ---- */

static void put_place(text_writer *w, const void *x) { tp_putf(w->b, "%d", *(const int *)x); }
static bool scan_place(parser *p, void *x) { return tp_scan_small(&p->in, x); }
static bool scan_flag(parser *p, void *x) {
  (void)p;
  return *(bool *)x = true;
}
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

TEXT_KIND(PLACE, int, put_place, scan_place, NULL);
TEXT_KIND(FLAG, bool, NULL, scan_flag, NULL);
TEXT_KIND(DTYPE, tp_dtype, put_dtype, scan_dtype, NULL);
TEXT_KIND(TITLE, char *, put_title, scan_title, NULL);
TEXT_KIND(NAME, char *, put_title, scan_title, is_string);
TEXT_KIND(WHO, tp_who, put_title, scan_who, is_string);
TEXT_KIND(POS, tp_pos, put_pos, scan_pos, NULL);
TEXT_KIND(STEP, int, put_place, scan_step, NULL);
TEXT_KIND(WAY, int, put_way, scan_way, NULL);
