/* fields: prints and parses structs by the rows of their .def files. */
#include "index/fields.h"
#include <math.h>

static int count_of(const tp_field *r, const void *x) {
  return r->count ? *(const int *)((const char *)x + r->count) : 1;
}

/* the first of a list */
static const void *value_of(const tp_field *r, const void *x) {
  const void *v = (const char *)x + r->at;
  if (r->count) memcpy(&v, v, sizeof v);
  return v;
}

static bool has_value(const tp_field *r, const void *x) {
  static const char zero[16];
  return r->count ? count_of(r, x) : memcmp(value_of(r, x), zero, r->size);
}

static void put_extent(tp_buf *b, const void *v) { tp_ix_print(b, *(tp_ixs)v); }
static void put_dim(tp_buf *b, const void *v) { tp_puts(b, (*(tp_dims)v)->name); }

static void put_index(tp_buf *b, const void *v) {
  const tp_at *at = v;
  tp_ix_print(b, at->lo);
  if (!at->range) return;
  tp_puts(b, " .. ");
  tp_ix_print(b, at->hi);
}

bool tp_scan_ix(tp_scan *in, tp_ictx *c, tp_ix **e) {
  tp_pos at = tp_scan_pos(in);
  *e = tp_ix_parse(c, &in->s, in->err);
  if (!*e && in->err && in->err->code) in->err->pos = at;
  return *e != NULL;
}

static bool scan_extent(tp_scan *in, tp_ictx *c, void *v) { return tp_scan_ix(in, c, v); }

static bool scan_index(tp_scan *in, tp_ictx *c, void *v) {
  tp_at *at = v;
  *at = (tp_at){ 0 };
  if (!tp_scan_ix(in, c, &at->lo)) return false;
  at->range = tp_accept(in, "..");
  return !at->range || tp_scan_ix(in, c, &at->hi);
}

static bool scan_dim(tp_scan *in, tp_ictx *c, void *v) {
  const char *name = tp_scan_word(in);
  tp_sym *s = name ? tp_sym_find(c, name) : NULL;
  *(tp_sym **)v = s;
  return name && ((s && s->kind == TP_SYM_DIM) || tp_scan_fail(in, "a dim is wanted before this"));
}

static const struct list_text {
  const char *open, *between, *close;
  size_t size;
  void (*put)(tp_buf *, const void *);
  bool (*scan)(tp_scan *, tp_ictx *, void *);
} list_texts[] = {
  [TP_F_EXTENTS] = { "[", ",", "]", sizeof(tp_ix *), put_extent, scan_extent },
  [TP_F_INDICES] = { "[", ",", "]", sizeof(tp_at), put_index, scan_index },
  [TP_F_DIMS] = { "(", "", ")", sizeof(tp_sym *), put_dim, scan_dim },
};

void tp_put_list(tp_buf *b, tp_fieldkind kind, int n, const void *v) {
  const struct list_text *t = &list_texts[kind];
  tp_puts(b, t->open);
  for (int i = 0; i < n; i++) {
    if (i) tp_putf(b, "%s ", t->between);
    t->put(b, (const char *)v + t->size * (size_t)i);
  }
  tp_puts(b, t->close);
}

bool tp_scan_list(tp_scan *in, tp_ictx *c, tp_fieldkind kind, int *n, void *v) {
  enum { MOST = 4 * TP_MAXRANK };
  const struct list_text *t = &list_texts[kind];
  tp_at items[MOST]; /* the largest */
  int count = 0;
  if (!tp_expect(in, t->open)) return false;
  while (!tp_accept(in, t->close)) {
    if (count == MOST) return tp_scan_fail(in, "too many items");
    if ((count && !tp_expect(in, t->between)) ||
        !t->scan(in, c, (char *)items + t->size * (size_t)count++))
      return false;
  }
  void *copy = count ? tp_dup(in->a, items, t->size * (size_t)count) : NULL;
  *n = count;
  memcpy(v, &copy, sizeof copy);
  return true;
}

tp_buf *tp_put_item(tp_buf *b, int *count, const char *key) {
  tp_puts(b, (*count)++ ? ", " : " {");
  tp_puts(b, key);
  return b;
}

static void put_floats(tp_buf *b, const double *v) {
  tp_put_double(b, v[0]);
  if (v[1] == 0 && !signbit(v[1])) return;
  tp_puts(b, " ");
  tp_put_double(b, v[1]);
}

static void put_value(tp_buf *b, const tp_field *r, int n, const void *v) {
  if (r->kind != TP_F_BOOL && r->kind != TP_F_INTS && r->kind != TP_F_INTEGERS) tp_puts(b, " ");
  switch (r->kind) {
  case TP_F_STRING: tp_put_string(b, *(const char *const *)v); break;
  case TP_F_INT: tp_putf(b, "%d", *(const int *)v); break;
  case TP_F_FLOATS: put_floats(b, v); break;
  case TP_F_INTEGERS:
    for (size_t i = 0; i < r->size / sizeof(int64_t); i++)
      tp_putf(b, " %lld", (long long)((const int64_t *)v)[i]);
    break;
  case TP_F_BITS: tp_putf(b, "0x%llx", (unsigned long long)*(const uint64_t *)v); break;
  case TP_F_WORD: tp_puts(b, r->words[*(const int *)v]); break;
  case TP_F_INTS:
    for (int i = 0; i < n; i++) tp_putf(b, " %d", ((const int *)v)[i]);
    break;
  case TP_F_EXTENTS:
  case TP_F_INDICES:
  case TP_F_DIMS: tp_put_list(b, r->kind, n, v); break;
  default: break;
  }
}

static bool scan_ints(tp_scan *in, int *n, const int **axes) {
  int v[TP_MAXRANK];
  for (*n = 0; tp_scan_more(in); ++*n) {
    if (*n == TP_MAXRANK) return tp_scan_fail(in, "too many axes");
    if (!tp_scan_small(in, &v[*n])) return false;
  }
  *axes = TP_DUPN(in->a, v, *n);
  return true;
}

static bool scan_value(tp_scan *in, tp_ictx *c, const tp_field *r, int *n, void *v) {
  switch (r->kind) {
  case TP_F_STRING: return (*(const char **)v = tp_scan_string(in)) != NULL;
  case TP_F_INT: return tp_scan_small(in, v);
  case TP_F_BOOL: return *(bool *)v = true;
  case TP_F_FLOATS:
    return tp_scan_double(in, v) && (!tp_scan_more(in) || tp_scan_double(in, (double *)v + 1));
  case TP_F_INTEGERS:
    for (size_t i = 0; i < r->size / sizeof(int64_t); i++)
      if ((!i || tp_scan_more(in)) && !tp_scan_int(in, (int64_t *)v + i)) return false;
    return true;
  case TP_F_BITS: return tp_scan_u64(in, v);
  case TP_F_WORD: return tp_scan_choice(in, r->words, r->nwords, v);
  case TP_F_INTS: return scan_ints(in, n, v);
  default: return tp_scan_list(in, c, r->kind, n, v);
  }
}

void tp_put_fields(tp_buf *b, tp_fields f, const void *x, int *count) {
  for (const tp_field *r = f.v; r < f.v + f.n; r++)
    if (r->kind <= TP_F_DIMS && has_value(r, x))
      put_value(tp_put_item(b, count, r->key), r, count_of(r, x), value_of(r, x));
}

bool tp_scan_field(tp_scan *in, tp_ictx *c, tp_fields f, void *x, const char *key, bool *known) {
  const tp_field *r = f.v, *end = f.v + f.n;
  while (r < end && !(r->kind <= TP_F_DIMS && strcmp(r->key, key) == 0)) r++;
  *known = r < end;
  return r == end || scan_value(in, c, r, (int *)((char *)x + r->count), (char *)x + r->at);
}
