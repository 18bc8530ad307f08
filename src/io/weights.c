/* weights: what readers of files of weights share: maps, names, metadata, places; gives arrays. */
#include "io/weights.h"
#include "base/blocks.h"
#include "os/os.h"
#include <math.h>
#include <stdlib.h>

enum { MAX_NAME = 65535 };

bool tp_mapped_fail(const tp_mapped *f, tp_error *err, int64_t at, const char *fmt, ...) {
  char text[512];
  TP_FORMAT(text, fmt);
  return tp_fail(
      err, TP_E_FILE, TP_NOWHERE, "file: %s: %s at byte %lld", f->path, text, (long long)at);
}

/* ---- metadata ---- */

int tp_meta_size(tp_meta_type t) {
  static const int sizes[TP_NMETA] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
  return sizes[t];
}

bool tp_meta_integer(const tp_meta *m, int64_t *value) {
  uint64_t v = 0;
  int n = tp_meta_size(m->type);
  if (!n || m->type == TP_META_F32 || m->type == TP_META_F64) return false;
  memcpy(&v, m->p, (size_t)n);
  bool is_signed = m->type == TP_META_I8 || m->type == TP_META_I16 || m->type == TP_META_I32;
  if (m->type == TP_META_BOOL) v = v != 0;
  if (is_signed && v >> (8 * n - 1)) v |= ~(uint64_t)0 << 8 * n;
  *value = (int64_t)v;
  return m->type != TP_META_U64 || v <= INT64_MAX;
}

double tp_meta_number(const tp_meta *m) {
  int64_t v;
  float f;
  double d = NAN;
  if (m->type == TP_META_F32) return memcpy(&f, m->p, sizeof f), (double)f;
  if (m->type == TP_META_F64) return memcpy(&d, m->p, sizeof d), d;
  if (tp_meta_integer(m, &v)) return (double)v;
  return m->type == TP_META_U64 ? (double)(uint64_t)v : d;
}

static uint64_t word_at(const uint8_t *p, int n) {
  uint64_t v = 0;
  memcpy(&v, p, (size_t)n);
  return v;
}

/* Bytes of an item, which are known to be there. */
static const uint8_t *item_end(const tp_meta *m) {
  if (m->type != TP_META_LIST)
    return m->p + (m->type == TP_META_TEXT ? m->n : (uint64_t)tp_meta_size(m->type));
  tp_meta list = *m, item;
  if (tp_meta_size(m->of)) return m->p + m->n * (uint64_t)tp_meta_size(m->of);
  while (tp_meta_next(&list, &item)) {}
  return list.p;
}

bool tp_meta_next(tp_meta *list, tp_meta *item) {
  if (list->type != TP_META_LIST || !list->n) return false;
  const uint8_t *p = list->p;
  *item = (tp_meta){ .type = list->of, .p = p };
  if (list->of == TP_META_TEXT) item->n = word_at(p, 8), item->p += 8;
  else if (list->of == TP_META_LIST) {
    item->of = (tp_meta_type)word_at(p, 4);
    item->n = word_at(p + 4, 8);
    item->p += 12;
  }
  list->p = item_end(item);
  list->n--;
  return true;
}

/* ---- what readers add ---- */

const tp_mapped *tp_weights_map(tp_weights *w, const char *path, tp_error *err) {
  tp_mapped *f = TP_NEW(&w->arena, tp_mapped);
  f->path = tp_strdup(&w->arena, path);
  TP_PUSH(&w->arena, &w->files, f);
  if (tp_os_look(path, NULL) == TP_OS_FILE) tp_os_stamp(path, f->stamp);
  f->bytes = tp_array_map(path, err);
  if (f->bytes && f->bytes->count != f->stamp[0])
    return tp_file_fail(err, path, "it is being changed"), NULL;
  return f->bytes ? f : NULL;
}

static int place_of(const tp_hmap *m, const char *key, size_t n) {
  return (int)(intptr_t)tp_hmap_get(m, key, n) - 1;
}
static void set_place(tp_hmap *m, const char *key, size_t n, int k) {
  tp_hmap_set(m, key, n, (void *)(intptr_t)(k + 1));
}

/* A name without zero bytes, that the map does not have yet; NULL: it is none. */
static const char *new_name(
    tp_weights *w, const tp_hmap *m, const tp_mapped *f, const char *s, size_t n, tp_error *err) {
  if (n > MAX_NAME) return tp_file_fail(err, f->path, "a name has more than 65535 bytes"), NULL;
  if (memchr(s, 0, n)) return tp_file_fail(err, f->path, "a name has a zero byte"), NULL;
  if (place_of(m, s, n) < 0) return tp_printf(&w->arena, "%.*s", (int)n, s);
  tp_fail(
      err, TP_E_FILE, TP_NOWHERE, "file: %s: it has '%.*s' twice", f->path, (int)TP_MIN(n, 200), s);
  return NULL;
}

tp_weight *tp_weights_add(
    tp_weights *w, const tp_mapped *f, const char *name, size_t n, tp_error *err) {
  tp_weight v = { .name = new_name(w, &w->by_name, f, name, n, err), .file = f };
  if (!v.name) return NULL;
  TP_PUSH(&w->arena, &w->all, v);
  set_place(&w->by_name, name, n, w->all.n - 1);
  return &w->all.v[w->all.n - 1];
}

bool tp_weights_add_meta(
    tp_weights *w, const tp_mapped *f, tp_meta m, const char *key, size_t n, tp_error *err) {
  m.key = new_name(w, &w->by_key, f, key, n, err);
  if (!m.key) return false;
  TP_PUSH(&w->arena, &w->meta, m);
  set_place(&w->by_key, key, n, w->meta.n - 1);
  return true;
}

static int by_place(const void *a, const void *b) {
  const tp_weight *x = *(const tp_weight *const *)a, *y = *(const tp_weight *const *)b;
  return x->at != y->at ? (x->at > y->at) - (x->at < y->at)
                        : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

bool tp_weights_places(
    tp_weights *w, int first, int64_t from, int64_t to, bool tight, tp_error *err) {
  int n = w->all.n - first;
  const tp_weight **v = TP_NEWN(&w->arena, const tp_weight *, n + 1);
  for (int k = 0; k < n; k++) v[k] = &w->all.v[first + k];
  qsort(v, (size_t)n, sizeof *v, by_place);
  for (int k = 0; k < n; k++) {
    const tp_mapped *f = v[k]->file;
    if (v[k]->at < from && v[k]->bytes)
      return tp_mapped_fail(f, err, v[k]->at,
          k ? "'%.200s' overlaps the array before it" : "'%.200s' overlaps what stands before it",
          v[k]->name);
    if (tight && v[k]->at != from)
      return tp_mapped_fail(f, err, from, "there is a gap before '%.200s'", v[k]->name);
    if (v[k]->at > to || v[k]->bytes > to - v[k]->at)
      return tp_mapped_fail(f, err, v[k]->at, "'%.200s' ends beyond the file,", v[k]->name);
    if (v[k]->bytes) from = v[k]->at + v[k]->bytes;
  }
  if (tight && n && from != to)
    return tp_mapped_fail(v[0]->file, err, from, "there are bytes of no array");
  return true;
}

void tp_weights_close(tp_weights *w) {
  for (int k = 0; k < w->files.n; k++) tp_array_unref(w->files.v[k]->bytes);
  for (int k = 0; k < w->all.n; k++) tp_array_unref(w->all.v[k].read);
  tp_arena_free(&w->arena);
  *w = (tp_weights){ 0 };
}

/* ---- their arrays ---- */

const tp_weight *tp_weights_find(const tp_weights *w, const char *name) {
  int k = place_of(&w->by_name, name, strlen(name));
  return k < 0 ? NULL : &w->all.v[k];
}

const tp_meta *tp_weights_meta(const tp_weights *w, const char *key) {
  int k = place_of(&w->by_key, key, strlen(key));
  return k < 0 ? NULL : &w->meta.v[k];
}

/* Another file of that name is none of ours: the map has the old one. */
static bool is_changed(const tp_mapped *f) {
  int64_t now[4];
  return tp_os_stamp(f->path, now) && now[3] == f->stamp[3] && memcmp(now, f->stamp, sizeof now);
}

/* A copy where the file's elements cannot be ours as they lie. */
static tp_array *plain_array(const tp_weight *v, tp_dtype d, int rank, const int64_t *shape) {
  tp_array *a = tp_array_part(v->file->bytes, (size_t)v->at, d, rank, shape), *copy = NULL;
  if (!a || (d != TP_BOOL && (uintptr_t)a->data % (size_t)tp_dtype_size(d) == 0)) return a;
  copy = tp_array_cast(a, d);
  tp_array_unref(a);
  if (copy) tp_array_tidy(copy);
  return copy;
}

static tp_array *weight_bytes(const tp_weight *v) {
  int64_t shape[TP_MAXRANK];
  int rank = v->rank ? v->rank : 1;
  TP_COPYN(shape, v->shape, v->rank);
  shape[rank - 1] = (v->rank ? v->shape[rank - 1] : 1) / v->as->elements * (int64_t)v->as->bytes;
  return plain_array(v, TP_U8, rank, shape);
}

static tp_array *decode_weight(const tp_weight *v, tp_format format) {
  tp_array *a = tp_array_blank(TP_F32, v->rank, v->shape);
  if (a)
    tp_blocks_decode(
        format, (const uint8_t *)v->file->bytes->data + v->at, a->count / v->as->elements, a->data);
  return a;
}

tp_array *tp_weight_array(const tp_weight *v, bool stored, tp_error *err) {
  const tp_mapped *f = v->file;
  tp_array *a = NULL;
  tp_format format = v->as ? v->as->format : TP_FORMAT_NONE;
  bool own = v->as && v->as->dtype != TP_NDTYPE;
  if (is_changed(f)) return tp_file_fail(err, f->path, "it has changed since it was opened"), NULL;
  if (!v->as || (!own && !format && !stored)) {
    tp_fail(err, TP_E_DTYPE, TP_NOWHERE,
        "dtype: '%.200s' of %s is stored as %s, which is none of our dtypes%s", v->name, f->path,
        v->kind ? v->kind : v->as->name, v->as ? " (f:stored gives its bytes)" : "");
    return NULL;
  }
  if (v->read) a = tp_array_ref(v->read);
  else if (own) a = plain_array(v, v->as->dtype, v->rank, v->shape);
  else if (stored) a = weight_bytes(v);
  else a = decode_weight(v, format);
  if (!a) tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "no memory for '%.200s' of %s", v->name, f->path);
  return a;
}
