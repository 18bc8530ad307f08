/* Attributes by the rows of attrs.def: text, copies, what tells two apart. The text of lists of expressions and dims is that of all of a graph. */
#include "graph/core.h"
#include <math.h>
#include <stddef.h>

static const char *const rand_words[] = { "uniform", "normal", "bernoulli", "randint" }, *const red_words[] = { "sum", "prod", "max", "min" };
static const char *const check_words[] = { "none", "nan", "meant" };

const char *tp_red_name(tp_red red) { return red_words[red]; }

/* count: where the number of a list's values stands; 0: it is no list. */
typedef struct { const char *key; tp_attr_kind kind; size_t at, size, count; const char *const *words; int nwords; } attr_row;

static const attr_row attr_rows[] = {
#define A(kind, type, field, dimension) { #field, TP_A_##kind, offsetof(tp_attr, field), sizeof(type dimension), 0, NULL, 0 },
#define W(type, field) { #field, TP_A_WORD, offsetof(tp_attr, field), sizeof(type), 0, field##_words, TP_LEN(field##_words) },
#define L(kind, type, field) { #field, TP_A_##kind, offsetof(tp_attr, field), sizeof(type), offsetof(tp_attr, n##field), NULL, 0 },
#include "graph/attrs.def"
#undef A
#undef W
#undef L
};

static int count_of(const attr_row *r, const tp_attr *a) { return r->count ? *(const int *)((const char *)a + r->count) : 1; }

/* Its value, or the first one of a list. */
static const void *value_of(const attr_row *r, const tp_attr *a) {
  const void *v = (const char *)a + r->at;
  if (r->count) memcpy(&v, v, sizeof v);
  return v;
}

static bool is_set(const attr_row *r, const tp_attr *a) {
  static const char zero[16];
  return r->count ? count_of(r, a) : memcmp(value_of(r, a), zero, r->size);
}

/* ---- lists ---- */

static void put_extent(tp_buf *b, const void *v) { tp_ix_print(b, *(const tp_ix *const *)v); }
static void put_dim(tp_buf *b, const void *v) { tp_puts(b, (*(const tp_sym *const *)v)->name); }

static void put_index(tp_buf *b, const void *v) {
  const tp_at *at = v;
  tp_ix_print(b, at->lo);
  if (!at->range) return;
  tp_puts(b, " .. ");
  tp_ix_print(b, at->hi);
}

bool tp_scan_ix(tp_scan *in, tp_ictx *c, const tp_ix **e) {
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
  const tp_sym *s = name ? tp_sym_find(c, name) : NULL;
  *(const tp_sym **)v = s;
  return name && ((s && s->kind == TP_SYM_DIM) || tp_scan_fail(in, "a dim is wanted before this"));
}

static const struct list_text {
  const char *open, *between, *close;
  size_t size;
  void (*put)(tp_buf *, const void *);
  bool (*scan)(tp_scan *, tp_ictx *, void *);
} list_texts[] = {
  [TP_A_EXTENTS] = { "[", ",", "]", sizeof(const tp_ix *), put_extent, scan_extent },
  [TP_A_INDICES] = { "[", ",", "]", sizeof(tp_at), put_index, scan_index },
  [TP_A_DIMS] = { "(", "", ")", sizeof(const tp_sym *), put_dim, scan_dim },
};

void tp_put_list(tp_buf *b, tp_attr_kind kind, int n, const void *v) {
  const struct list_text *t = &list_texts[kind];
  tp_puts(b, t->open);
  for (int i = 0; i < n; i++) {
    if (i) tp_putf(b, "%s ", t->between);
    t->put(b, (const char *)v + t->size * (size_t)i);
  }
  tp_puts(b, t->close);
}

bool tp_scan_list(tp_scan *in, tp_ictx *c, tp_attr_kind kind, int *n, void *v) {
  enum { MOST = 4 * TP_MAXRANK };
  const struct list_text *t = &list_texts[kind];
  tp_at items[MOST];                            /* the largest */
  int count = 0;
  if (!tp_expect(in, t->open)) return false;
  while (!tp_accept(in, t->close)) {
    if (count == MOST) return tp_scan_fail(in, "too many items");
    if ((count && !tp_expect(in, t->between)) || !t->scan(in, c, (char *)items + t->size * (size_t)count++)) return false;
  }
  void *copy = count ? tp_dup(in->a, items, t->size * (size_t)count) : NULL;
  *n = count;
  memcpy(v, &copy, sizeof copy);
  return true;
}

/* ---- text ---- */

tp_buf *tp_attr_item(tp_buf *b, int *count, const char *key) {
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

static void put_attr_value(tp_buf *b, const attr_row *r, int n, const void *v) {
  if (r->kind != TP_A_BOOL && r->kind != TP_A_INTS) tp_puts(b, " ");
  switch (r->kind) {
    case TP_A_STRING: tp_put_string(b, *(const char *const *)v); break;
    case TP_A_INT: tp_putf(b, "%d", *(const int *)v); break;
    case TP_A_FLOATS: put_floats(b, v); break;
    case TP_A_INTEGERS: tp_putf(b, "%lld %lld", (long long)((const int64_t *)v)[0], (long long)((const int64_t *)v)[1]); break;
    case TP_A_BITS: tp_putf(b, "0x%llx", (unsigned long long)*(const uint64_t *)v); break;
    case TP_A_WORD: tp_puts(b, r->words[*(const int *)v]); break;
    case TP_A_INTS: for (int i = 0; i < n; i++) tp_putf(b, " %d", ((const int *)v)[i]); break;
    case TP_A_EXTENTS: case TP_A_INDICES: case TP_A_DIMS: tp_put_list(b, r->kind, n, v); break;
    default: break;
  }
}

static bool scan_ints(tp_scan *in, int *n, const int **axes) {
  int v[TP_MAXRANK], count = 0;
  while (tp_scan_more(in)) {
    if (count == TP_MAXRANK) return tp_scan_fail(in, "too many axes");
    if (!tp_scan_small(in, &v[count++])) return false;
  }
  *n = count;
  *axes = tp_dup(in->a, v, sizeof *v * (size_t)count);
  return true;
}

static bool scan_attr_value(tp_scan *in, tp_ictx *c, const attr_row *r, int *n, void *v) {
  switch (r->kind) {
    case TP_A_STRING: return (*(const char **)v = tp_scan_string(in)) != NULL;
    case TP_A_INT: return tp_scan_small(in, v);
    case TP_A_BOOL: return *(bool *)v = true;
    case TP_A_FLOATS: return tp_scan_double(in, v) && (!tp_scan_more(in) || tp_scan_double(in, (double *)v + 1));
    case TP_A_INTEGERS: return tp_scan_int(in, v) && (!tp_scan_more(in) || tp_scan_int(in, (int64_t *)v + 1));
    case TP_A_BITS: return tp_scan_u64(in, v);
    case TP_A_WORD: return tp_scan_choice(in, r->words, r->nwords, v);
    case TP_A_INTS: return scan_ints(in, n, v);
    default: return tp_scan_list(in, c, r->kind, n, v);
  }
}

bool tp_ix_is_shape(tp_op op) {
  switch (op) {
    case TP_OP_INPUT: case TP_OP_FILL: case TP_OP_IOTA: case TP_OP_RAND: case TP_OP_MERGE: case TP_OP_ACCUM: case TP_OP_PARAM: case TP_OP_RESHAPE: case TP_OP_EXPAND: return true;
    default: return tp_ops[op].cls == TP_CLS_CONV;
  }
}

static bool is_text(const attr_row *r, bool expressions) { return r->kind <= (expressions ? TP_A_DIMS : TP_A_INTS); }

void tp_attr_print(tp_buf *b, const tp_attr *a, const tp_op *op, int *count) {
  for (const attr_row *r = attr_rows; r < attr_rows + TP_LEN(attr_rows); r++)
    if (is_text(r, op) && is_set(r, a) && !(r->kind == TP_A_EXTENTS && tp_ix_is_shape(*op))) put_attr_value(tp_attr_item(b, count, r->key), r, count_of(r, a), value_of(r, a));
}

bool tp_attr_parse(tp_scan *in, tp_ictx *c, tp_attr *a, const char *key, bool *known) {
  const attr_row *r = attr_rows, *end = attr_rows + TP_LEN(attr_rows);
  while (r < end && !(is_text(r, c) && strcmp(r->key, key) == 0)) r++;
  *known = r < end;
  return r == end || scan_attr_value(in, c, r, (int *)((char *)a + r->count), (char *)a + r->at);
}

/* ---- copies and comparison ---- */

void tp_attr_copy(tp_graph *g, tp_attr *to, const tp_attr *from) {
  *to = *from;
#define A(kind, type, field, dimension)
#define W(type, field)
#define L(kind, type, field) to->field = from->n##field ? tp_dup(&g->arena, from->field, sizeof *from->field * (size_t)from->n##field) : NULL;
#include "graph/attrs.def"
#undef A
#undef W
#undef L
  to->str = from->str ? tp_strdup(&g->arena, from->str) : NULL;
  for (tp_spec *s = (tp_spec *)to->spec, *end = s + to->nspec; s < end; s++) s->shape = tp_dup(&g->arena, s->shape, sizeof *s->shape * (size_t)s->rank);
  to->data = from->data ? tp_array_ref(from->data) : NULL;
}

/* A tp_at has bytes that mean nothing. */
static void put_index_key(tp_buf *b, const tp_at *at) {
  const tp_ix *ends[] = { at->lo, at->range ? at->hi : NULL };
  tp_putn(b, (const char *)ends, sizeof ends);
}

void tp_attr_key(tp_buf *b, const tp_attr *a) {
  for (const attr_row *r = attr_rows; r < attr_rows + TP_LEN(attr_rows); r++) {
    int n = count_of(r, a);
    if (r->count) tp_putn(b, (const char *)&n, sizeof n);
    if (r->kind == TP_A_STRING) tp_puts(b, a->str ? a->str : ""), tp_putn(b, "", 1);
    else if (r->kind == TP_A_INDICES) for (int i = 0; i < n; i++) put_index_key(b, &a->at[i]);
    else if (n) tp_putn(b, value_of(r, a), r->size * (size_t)n);
  }
}

/* ---- expressions ---- */

typedef struct { bool (*on)(void *, const tp_ix *); void *ud; } ix_walk;

static bool on_extents(const ix_walk *w, int n, const tp_ix *const *e) {
  for (int i = 0; i < n; i++)
    if (!w->on(w->ud, e[i])) return false;
  return true;
}

static bool on_indices(const ix_walk *w, int n, const tp_at *at) {
  for (int i = 0; at && i < n; i++)
    if (!w->on(w->ud, at[i].lo) || (at[i].range && !w->on(w->ud, at[i].hi))) return false;
  return true;
}

bool tp_each_ix(const tp_node *n, bool (*on)(void *ud, const tp_ix *e), void *ud) {
  const ix_walk w = { on, ud };
  bool go = on_extents(&w, n->attr.nix, n->attr.ix) && on_indices(&w, n->attr.nat, n->attr.at);
  for (int o = 0; go && o < n->nout; o++) go = on_extents(&w, n->out[o].rank, n->out[o].shape);
  for (int k = 0; go && k < n->nin; k++) {
    const tp_edge *e = &n->in[k];
    go = (!e->cond || on(ud, e->cond)) && on_indices(&w, e->gather ? e->src.node->ndom : n->ndom, e->at);
  }
  return go;
}
