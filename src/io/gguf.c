/* gguf: GGUF, versions 2 and 3, little endian:
 *
 *   "GGUF", version, how many arrays, how many pairs; pairs: key, type, value; arrays: name, number
 *   of extents, extents, type, place; zeros up to a multiple of general.alignment; the elements
 *
 * Texts have their length in front, in 8 bytes. The first extent is that of the axis that runs
 * fastest, so shapes are turned: (in, out) => (out, in). Places count from the first element. */
#include "io/gguf.h"
#include <stdlib.h>

enum { MAGIC = 0x46554747, ALIGNMENT = 32, MAX_ALIGNMENT = 1 << 20, NESTED = 8, GGUF_RANK = 4 };

static const char aligned[] = "general.alignment";

/* at: the next byte. Once it is bad, numbers are 0; why and where say what was first. */
typedef struct {
  const tp_mapped *f;
  const uint8_t *p;
  uint64_t n, at;
  const char *why;
  uint64_t where;
  int64_t align;
} gguf;

static bool gguf_bad(gguf *g, const char *why) {
  if (!g->why) g->why = why, g->where = g->at;
  return false;
}

static const uint8_t *skip_bytes(gguf *g, uint64_t n) {
  if (g->why || n > g->n - g->at) return gguf_bad(g, "it is cut off"), NULL;
  g->at += n;
  return g->p + g->at - n;
}

static uint64_t take_word(gguf *g, int bytes) {
  uint64_t v = 0;
  const uint8_t *p = skip_bytes(g, (uint64_t)bytes);
  if (p) memcpy(&v, p, (size_t)bytes);
  return v;
}

/* A count of things of at least `size` bytes each, which must fit the rest. */
static uint64_t take_count(gguf *g, uint64_t size) {
  uint64_t n = take_word(g, 8);
  if (!g->why && n > (g->n - g->at) / size)
    return g->at -= 8, gguf_bad(g, "a count or length is beyond what the file has"), 0;
  return n;
}

static const char *take_text(gguf *g, size_t *n) {
  *n = take_count(g, 1);
  return (const char *)skip_bytes(g, *n);
}

static tp_meta_type take_type(gguf *g) {
  uint64_t t = take_word(g, 4);
  if (t >= TP_NMETA) g->at -= 4, gguf_bad(g, "a type of values is unknown");
  return g->why ? TP_META_U8 : (tp_meta_type)t;
}

/* A value of type m->type. */
static void take_value(gguf *g, tp_meta *m, int depth) {
  size_t n;
  if (m->type == TP_META_TEXT) {
    m->p = (const uint8_t *)take_text(g, &n);
    m->n = n;
  } else if (m->type == TP_META_LIST) {
    m->of = take_type(g);
    int size = tp_meta_size(m->of);
    m->n = take_count(g, size ? (uint64_t)size : m->of == TP_META_TEXT ? 8 : 12);
    m->p = g->p + g->at;
    if (depth == NESTED) gguf_bad(g, "lists are nested too deep");
    tp_meta item = { .type = m->of };
    if (size) skip_bytes(g, m->n * (uint64_t)size);
    for (uint64_t k = 0; !size && k < m->n && !g->why; k++) take_value(g, &item, depth + 1);
  } else m->p = skip_bytes(g, (uint64_t)tp_meta_size(m->type));
}

static bool is_alignment(int64_t n, int64_t least) {
  return n >= least && n <= MAX_ALIGNMENT && (n & (n - 1)) == 0;
}

static bool take_pair(gguf *g, tp_weights *w, bool meta, tp_error *err) {
  size_t n;
  const char *key = take_text(g, &n);
  tp_meta m = { .type = take_type(g) };
  take_value(g, &m, 0);
  if (g->why) return false;
  if (n == strlen(aligned) && !memcmp(key, aligned, n) &&
      (!tp_meta_integer(&m, &g->align) || !is_alignment(g->align, 1)))
    return gguf_bad(g, "general.alignment is no power of two up to 2^20, before this");
  return !meta || tp_weights_add_meta(w, g->f, m, key, n, err);
}

static bool take_weight(gguf *g, tp_weights *w, tp_error *err) {
  size_t n;
  const char *name = take_text(g, &n);
  uint64_t rank = take_word(g, 4);
  if (rank > TP_MAXRANK) g->at -= 4, gguf_bad(g, "an array has more than 16 axes");
  tp_weight *v = g->why ? NULL : tp_weights_add(w, g->f, name, n, err);
  if (!v) return false;
  v->rank = (int)rank;
  for (int k = v->rank - 1; k >= 0; k--) {
    uint64_t extent = take_word(g, 8);
    if (extent > INT64_MAX) return g->at -= 8, gguf_bad(g, "an extent is impossible");
    v->shape[k] = (int64_t)extent;
  }
  uint64_t type = take_word(g, 4), at = take_word(g, 8);
  v->as = tp_stored_of_gguf((int64_t)type);
  v->kind = v->as ? v->as->name : tp_printf(&w->arena, "GGUF's type %d", (int)type);
  if (v->as && !tp_stored_bytes(v->as, v->rank, v->shape, &v->bytes))
    return gguf_bad(
        g, "an array's extents overflow or are no whole blocks of its type, before this");
  if (at > g->n) return g->at -= 8, gguf_bad(g, "an array begins beyond the file, says the number");
  v->at = (int64_t)at;
  return !g->why;
}

/* Now the place of the first element is known. */
static bool place_weights(gguf *g, tp_weights *w, int first, tp_error *err) {
  int64_t start = tp_round_up((int64_t)g->at, g->align);
  for (int k = first; k < w->all.n; k++) {
    tp_weight *v = &w->all.v[k];
    if (v->at % g->align)
      return tp_mapped_fail(g->f, err, v->at + start, "'%.200s' is not aligned to %lld", v->name,
          (long long)g->align);
    v->at += start;
  }
  return tp_weights_places(w, first, start, (int64_t)g->n, false, err);
}

bool tp_gguf_read(tp_weights *w, const tp_mapped *f, bool meta, tp_error *err) {
  gguf g = { .f = f, .p = f->bytes->data, .n = (uint64_t)f->bytes->count, .align = ALIGNMENT };
  uint64_t magic = take_word(&g, 4), version = take_word(&g, 4);
  int first = w->all.n;
  if (!g.why && magic != MAGIC) gguf_bad(&g, "it is no GGUF");
  if (!g.why && version != 2 && version != 3)
    return tp_mapped_fail(f, err, 4,
        version & 0xffff ? "its version is neither 2 nor 3" : "it is of a big-endian machine");
  uint64_t n = take_count(&g, 24), pairs = take_count(&g, 13);
  if (n > INT32_MAX || pairs > INT32_MAX) gguf_bad(&g, "it has too many entries");
  bool ok = !g.why;
  for (uint64_t k = 0; ok && k < pairs; k++) ok = take_pair(&g, w, meta, err);
  for (uint64_t k = 0; ok && k < n; k++) ok = take_weight(&g, w, err);
  if (g.why) return tp_mapped_fail(f, err, (int64_t)g.where, "%s", g.why);
  return ok && place_weights(&g, w, first, err);
}

/* ---- writing ---- */

static void put_word(tp_buf *b, uint64_t v, int bytes) {
  tp_putn(b, (const char *)&v, (size_t)bytes);
}
static void put_text(tp_buf *b, const char *s, size_t n) {
  put_word(b, n, 8);
  tp_putn(b, s, n);
}

/* m's list is as it lies in a file */
static void put_pair(tp_buf *b, const tp_meta *m) {
  tp_meta list = *m, item;
  put_text(b, m->key, strlen(m->key));
  put_word(b, m->type, 4);
  if (m->type == TP_META_TEXT) put_text(b, (const char *)m->p, m->n);
  else if (m->type != TP_META_LIST) tp_putn(b, (const char *)m->p, (size_t)tp_meta_size(m->type));
  else {
    put_word(b, m->of, 4);
    put_word(b, m->n, 8);
    while (tp_meta_next(&list, &item)) {}
    tp_putn(b, (const char *)m->p, (size_t)(list.p - m->p));
  }
}

static bool fits_gguf(const tp_saved *v, tp_error *err) {
  if (v->as->gguf < 0)
    return tp_fail(err, TP_E_DTYPE, TP_NOWHERE, "dtype: save: GGUF has no %s, which '%.200s' is",
        v->as->name, v->name);
  if (v->rank > GGUF_RANK)
    return tp_fail(err, TP_E_SHAPE, TP_NOWHERE,
        "shape: save: '%.200s' has %d axes, GGUF's arrays have at most 4", v->name, v->rank);
  return strlen(v->name) < 64 ||
      tp_fail(err, TP_E_OPTION, TP_NOWHERE,
          "option: save: the name '%.200s' is longer than 63 bytes, GGUF's most", v->name);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const tp_saved *)a)->name, ((const tp_saved *)b)->name);
}

static bool alignment_of(int nmeta, const tp_meta *meta, int64_t *align, tp_error *err) {
  *align = ALIGNMENT;
  for (int k = 0; k < nmeta; k++)
    if (!strcmp(meta[k].key, aligned) &&
        (meta[k].type != TP_META_U32 || !tp_meta_integer(&meta[k], align) ||
            !is_alignment(*align, 8)))
      return tp_fail(err, TP_E_OPTION, TP_NOWHERE,
          "option: save: general.alignment is a power of two from 8 to 2^20");
  return true;
}

bool tp_gguf_save(
    const char *path, int n, tp_saved *v, int nmeta, const tp_meta *meta, tp_error *err) {
  tp_saving s = { .n = n, .v = v };
  int64_t at = 0;
  bool ok = alignment_of(nmeta, meta, &s.align, err);
  for (int k = 0; ok && k < n; k++) ok = fits_gguf(&v[k], err);
  if (!ok) return false;
  if (n) qsort(v, (size_t)n, sizeof *v, by_name);
  tp_buf_init(&s.head);
  tp_puts(&s.head, "GGUF");
  put_word(&s.head, 3, 4);
  put_word(&s.head, (uint64_t)n, 8);
  put_word(&s.head, (uint64_t)nmeta, 8);
  for (int k = 0; k < nmeta; k++) put_pair(&s.head, &meta[k]);
  for (int k = 0; k < n; k++) {
    int rank = TP_MAX(v[k].rank, 1);
    put_text(&s.head, v[k].name, strlen(v[k].name));
    put_word(&s.head, (uint64_t)rank, 4);
    for (int j = rank - 1; j >= 0; j--)
      put_word(&s.head, v[k].rank ? (uint64_t)v[k].shape[j] : 1, 8);
    put_word(&s.head, (uint64_t)v[k].as->gguf, 4);
    put_word(&s.head, (uint64_t)at, 8);
    at = tp_round_up(at + v[k].bytes, s.align);
  }
  while (!s.head.failed && s.head.n % (size_t)s.align) tp_putn(&s.head, "", 1);
  ok = s.head.failed ? tp_no_memory(err, TP_NOWHERE)
                     : tp_file_replace(path, tp_saving_write, &s, err);
  tp_buf_free(&s.head);
  return ok;
}
