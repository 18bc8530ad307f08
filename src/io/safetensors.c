/* safetensors: 8 bytes with a length, a header of so many bytes in JSON, the elements:
 *
 *   { "w": { "dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24] }, "__metadata__": { ... } }
 *
 * Offsets count from the header's end. As its makers ask for, arrays fill the rest of the file
 * without overlap or gap. Written are the widest dtypes first, so that all lie at multiples of
 * their size, and spaces behind the header, so that the elements begin at a multiple of 64. */
#include "io/safetensors.h"
#include "io/json.h"
#include <stdlib.h>

enum { LENGTH = 8, MAX_JSON = 100000000 };

static bool entry_fail(const tp_mapped *f, const tp_json *j, const char *why, tp_error *err) {
  return tp_fail(
      err, TP_E_FILE, TP_NOWHERE, "file: %s: '%.200s': its %s", f->path, tp_json_key(j), why);
}

/* A list of numbers that are not negative: how many, -1: it is none, or longer. */
static int read_list(const tp_json *list, int most, int64_t *out) {
  int n = 0;
  if (tp_json_is(list) != TP_JSON_LIST) return -1;
  for (const tp_json *j = tp_json_first(list); j; j = tp_json_next(j), n++)
    if (n == most || !tp_json_integer(j, &out[n]) || out[n] < 0) return -1;
  return n;
}

static bool read_entry(
    tp_weights *w, const tp_mapped *f, const tp_json *j, int64_t start, tp_error *err) {
  const char *key = tp_json_key(j), *dtype = tp_json_text(tp_json_get(j, "dtype"));
  int64_t at[2], bytes, left = f->bytes->count - start;
  tp_weight *v = tp_weights_add(w, f, key, strlen(key), err);
  if (!v) return false;
  if (!dtype) return entry_fail(f, j, "dtype is missing", err);
  v->as = tp_stored_of_safetensors(dtype);
  v->kind = v->as ? v->as->name : tp_strdup(&w->arena, dtype);
  v->rank = read_list(tp_json_get(j, "shape"), TP_MAXRANK, v->shape);
  if (v->rank < 0) return entry_fail(f, j, "shape is no list of up to 16 extents", err);
  if (read_list(tp_json_get(j, "data_offsets"), 2, at) != 2 || at[0] > at[1] || at[1] > left)
    return entry_fail(
        f, j, "data_offsets are not two places of the file, one after the other", err);
  v->at = start + at[0];
  v->bytes = at[1] - at[0];
  if (v->as && (!tp_stored_bytes(v->as, v->rank, v->shape, &bytes) || bytes != v->bytes))
    return entry_fail(f, j, "data_offsets do not fit its shape and dtype", err);
  return true;
}

static bool read_texts(tp_weights *w, const tp_mapped *f, const tp_json *meta, tp_error *err) {
  for (const tp_json *j = tp_json_first(meta); j; j = tp_json_next(j)) {
    const char *key = tp_json_key(j), *text = tp_json_text(j);
    if (!key || !text) return tp_file_fail(err, f->path, "its __metadata__ is no table of strings");
    size_t n = strlen(text);
    tp_meta m = { .type = TP_META_TEXT, .n = n, .p = tp_dup(&w->arena, text, n) };
    if (!tp_weights_add_meta(w, f, m, key, strlen(key), err)) return false;
  }
  return true;
}

static bool read_header_of(tp_weights *w, const tp_mapped *f, const tp_json *header, bool meta,
    int64_t start, tp_error *err) {
  int first = w->all.n;
  for (const tp_json *j = tp_json_first(header); j; j = tp_json_next(j)) {
    bool texts = !strcmp(tp_json_key(j), "__metadata__");
    if (texts && meta && !read_texts(w, f, j, err)) return false;
    if (!texts && !read_entry(w, f, j, start, err)) return false;
  }
  return tp_weights_places(w, first, start, f->bytes->count, true, err);
}

static void drop_header(void *j) { tp_json_free(j); }

bool tp_safetensors_read(tp_weights *w, const tp_mapped *f, bool meta, tp_error *err) {
  const uint8_t *p = f->bytes->data;
  uint64_t size = (uint64_t)f->bytes->count, n = 0;
  tp_hold h;
  if (size >= LENGTH) memcpy(&n, p, LENGTH);
  if (size < LENGTH + 2 || p[LENGTH] != '{')
    return tp_file_fail(
        err, f->path, "it begins as no file of weights (safetensors, GGUF, .npz, .npy)");
  if (n > MAX_JSON || n > size - LENGTH)
    return tp_mapped_fail(f, err, 0, "the header's length, %llu, is beyond %s",
        (unsigned long long)n, n > MAX_JSON ? "100 MB" : "the file's");
  char *text = tp_alloc(n + 1);
  if (!text) return tp_no_memory(err, TP_NOWHERE);
  memcpy(text, p + LENGTH, n);
  text[n] = 0;
  tp_hold_set(&h, tp_free, text);
  tp_json *j = tp_json_parse(f->path, text, n, err);
  tp_hold_end(&h);
  tp_free(text);
  if (!j) return false;
  tp_hold_set(&h, drop_header, j);
  bool ok = tp_json_is(j) == TP_JSON_OBJECT
      ? read_header_of(w, f, j, meta, LENGTH + (int64_t)n, err)
      : tp_file_fail(err, f->path, "its header is no object");
  tp_hold_end(&h);
  tp_json_free(j);
  return ok;
}

/* ---- writing ---- */

static int by_width(const void *a, const void *b) {
  const tp_saved *x = a, *y = b;
  int wide = y->as->bytes - x->as->bytes;
  return wide ? wide : strcmp(x->name, y->name);
}

static void put_texts(tp_buf *b, int n, const tp_meta *meta) {
  tp_puts(b, "\"__metadata__\":{");
  for (int k = 0; k < n; k++) {
    if (k) tp_puts(b, ",");
    tp_json_put(b, meta[k].key, strlen(meta[k].key));
    tp_puts(b, ":");
    tp_json_put(b, (const char *)meta[k].p, meta[k].n);
  }
  tp_puts(b, "}");
}

static void put_weight(tp_buf *b, const tp_saved *v, int64_t at) {
  tp_json_put(b, v->name, strlen(v->name));
  tp_putf(b, ":{\"dtype\":\"%s\",\"shape\":[", v->as->safetensors);
  for (int k = 0; k < v->rank; k++) tp_putf(b, k ? ",%lld" : "%lld", (long long)v->shape[k]);
  tp_putf(b, "],\"data_offsets\":[%lld,%lld]}", (long long)at, (long long)(at + v->bytes));
}

static bool fits_safetensors(
    int n, const tp_saved *v, int nmeta, const tp_meta *meta, tp_error *err) {
  for (int k = 0; k < n; k++)
    if (!*v[k].as->safetensors || !strcmp(v[k].name, "__metadata__"))
      return tp_fail(err, TP_E_OPTION, TP_NOWHERE,
          "option: save: safetensors cannot hold '%.200s' as %s; .gguf can", v[k].name,
          v[k].as->name);
  for (int k = 0; k < nmeta; k++)
    if (meta[k].type != TP_META_TEXT)
      return tp_fail(err, TP_E_OPTION, TP_NOWHERE,
          "option: save: meta of safetensors are strings, '%.200s' is none", meta[k].key);
  return true;
}

bool tp_safetensors_save(
    const char *path, int n, tp_saved *v, int nmeta, const tp_meta *meta, tp_error *err) {
  tp_saving s = { .n = n, .v = v, .align = 1 };
  int64_t at = 0;
  uint64_t length;
  if (!fits_safetensors(n, v, nmeta, meta, err)) return false;
  if (n) qsort(v, (size_t)n, sizeof *v, by_width);
  tp_buf_init(&s.head);
  tp_putn(&s.head, "01234567{", LENGTH + 1);
  if (nmeta) put_texts(&s.head, nmeta, meta);
  for (int k = 0; k < n; at += v[k++].bytes) {
    if (k || nmeta) tp_puts(&s.head, ",");
    put_weight(&s.head, &v[k], at);
  }
  tp_puts(&s.head, "}");
  while (!s.head.failed && s.head.n % 64) tp_puts(&s.head, " ");
  length = s.head.n - LENGTH;
  if (!s.head.failed) memcpy(s.head.s, &length, LENGTH);
  bool ok = s.head.failed ? tp_no_memory(err, TP_NOWHERE)
                          : tp_file_replace(path, tp_saving_write, &s, err);
  tp_buf_free(&s.head);
  return ok;
}
