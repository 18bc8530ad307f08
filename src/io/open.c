/* open: finds a model's files and maps them; gives their arrays. A folder has an index, or one file
 * of weights. The file's first bytes say its kind. */
#include "io/open.h"
#include "base/blocks.h"
#include "io/json.h"
#include "io/npy.h"
#include "os/os.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { TP_NONE = TP_NDTYPE };
static const tp_stored kinds[] = {
#define S(name, elements, bytes, gguf, safetensors, dtype) \
  { name, elements, bytes, gguf, safetensors, (tp_dtype)TP_##dtype },
#include "io/stored.def"
#undef S
};

#define FIND_KIND(test) \
  for (size_t k = 0; k < TP_LEN(kinds); k++) \
    if (test) return &kinds[k]; \
  return NULL
const tp_stored *tp_stored_named(const char *name) { FIND_KIND(!strcmp(kinds[k].name, name)); }
const tp_stored *tp_stored_of_gguf(int64_t number) { FIND_KIND(kinds[k].gguf == number); }
const tp_stored *tp_stored_of_safetensors(const char *name) {
  FIND_KIND(*name && !strcmp(kinds[k].safetensors, name));
}
const tp_stored *tp_stored_of_dtype(tp_dtype d) { FIND_KIND(kinds[k].dtype == d); }

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

bool tp_weight_measure(const tp_weight *v, int64_t *bytes) {
  int64_t n = 1, last = v->rank ? v->shape[v->rank - 1] : 1;
  for (int k = 0; k < v->rank; k++)
    if (__builtin_mul_overflow(n, v->shape[k], &n)) return false;
  return last % v->as->elements == 0 &&
      !__builtin_mul_overflow(n / v->as->elements, (int64_t)v->as->bytes, bytes);
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

/* ---- NumPy's files ---- */

typedef struct {
  tp_weights *w;
  const tp_mapped *f;
  tp_error *err;
} opening;

/* The array at `in`, n bytes from byte `at` of the file: mapped if its elements lie as ours do,
 * else in != NULL stays and it must be read. */
static bool map_npy(opening *o, tp_weight *v, FILE *in, int64_t at, int64_t n, bool *mapped) {
  tp_npy h;
  int64_t head;
  if (!tp_npy_head(in, n, o->f->path, &h, &head, o->err)) return false;
  v->as = tp_stored_of_dtype(h.dtype);
  v->rank = h.rank;
  TP_COPYN(v->shape, h.shape, h.rank);
  v->at = at + head;
  *mapped = !h.swapped && !(h.fortran && h.rank > 1);
  if (!tp_weight_measure(v, &v->bytes) || v->bytes > n - head)
    return tp_mapped_fail(o->f, o->err, v->at, "the elements of '%.200s' are cut off", v->name);
  return true;
}

static bool keep_read(tp_weight *v, tp_array *a) {
  v->read = a;
  if (!a) return false;
  v->as = tp_stored_of_dtype(a->dtype);
  v->rank = a->rank;
  TP_COPYN(v->shape, a->shape, a->rank);
  v->at = v->bytes = 0;
  return true;
}

static bool open_member(void *ud, tp_zip *z, const tp_member *m) {
  opening *o = ud;
  tp_weight *v = tp_weights_add(o->w, o->f, m->name, (size_t)m->len - 4, o->err);
  char label[512];
  bool mapped = false;
  FILE *in;
  if (!v || !tp_npz_find(z, m, &in)) return false;
  snprintf(label, sizeof label, "%s: '%s'", o->f->path, v->name);
  if (!in) return keep_read(v, tp_npz_take(z, m, label));
  int64_t at = (int64_t)ftello(in);
  if (!map_npy(o, v, in, at, (int64_t)m->size, &mapped)) return false;
  if (mapped) return true;
  return fseeko(in, (off_t)at, SEEK_SET) == 0 &&
      keep_read(v, tp_npy_read(in, (int64_t)m->size, label, &m->crc, o->err));
}

/* a .npy's array is called as the file */
static bool open_single(opening *o, FILE *in, int64_t n) {
  const char *path = o->f->path, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
             *dot = strrchr(name, '.');
  bool mapped = false;
  tp_weight *v =
      tp_weights_add(o->w, o->f, name, dot ? (size_t)(dot - name) : strlen(name), o->err);
  if (!v || !map_npy(o, v, in, 0, n, &mapped)) return false;
  if (mapped) return true;
  rewind(in);
  return keep_read(v, tp_npy_read(in, n, path, NULL, o->err));
}

static void close_stream(void *f) { fclose(f); }

static bool open_numpy(opening *o, bool zip) {
  int64_t n;
  tp_hold h;
  FILE *in = tp_file_open(o->f->path, &n, o->err);
  if (!in) return false;
  tp_hold_set(&h, close_stream, in);
  bool ok = zip ? tp_npz_each(in, n, o->f->path, open_member, o, o->err) : open_single(o, in, n);
  tp_hold_end(&h);
  fclose(in);
  return ok && tp_weights_places(o->w, 0, 0, o->f->bytes->count, false, o->err);
}

/* ---- a file, a folder, an index ---- */

static bool open_file(tp_weights *w, const char *path, tp_error *err) {
  opening o = { w, tp_weights_map(w, path, err), err };
  if (!o.f) return false;
  const char *p = o.f->bytes->data;
  int64_t n = o.f->bytes->count;
  if (n >= 4 && !memcmp(p, "GGUF", 4)) return tp_gguf_read(w, o.f, err);
  if (n >= 2 && !memcmp(p, "PK", 2)) return open_numpy(&o, true);
  if (n >= 6 && !memcmp(p, "\x93NUMPY", 6)) return open_numpy(&o, false);
  return tp_safetensors_read(w, o.f, true, err);
}

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && !strcmp(s + n - m, end);
}

/* The file beside another; NULL: the name leads elsewhere. */
static const char *beside(tp_weights *w, const char *path, const char *name) {
  const char *slash = strrchr(path, '/');
  if (!*name || strchr(name, '/') || strchr(name, '\\') || strchr(name, ':')) return NULL;
  return tp_printf(&w->arena, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, name);
}

static const tp_mapped *shard_of(tp_weights *w, const char *path, tp_error *err) {
  for (int k = 0; k < w->files.n; k++)
    if (!strcmp(w->files.v[k]->path, path)) return w->files.v[k];
  const tp_mapped *f = tp_weights_map(w, path, err);
  return f && tp_safetensors_read(w, f, w->files.n == 1, err) ? f : NULL;
}

/* Each name lies in the file that the index says. */
static bool open_shards(tp_weights *w, const char *path, const tp_json *map, tp_error *err) {
  if (tp_json_is(map) != TP_JSON_OBJECT) return tp_file_fail(err, path, "it has no weight_map");
  for (const tp_json *j = tp_json_first(map); j; j = tp_json_next(j)) {
    const char *name = tp_json_key(j), *file = tp_json_text(j);
    const char *real = file ? beside(w, path, file) : NULL;
    if (!real)
      return tp_fail(err, TP_E_FILE, TP_NOWHERE,
          "file: %s: '%.200s' is in no file of this folder: '%.200s'", path, name,
          file ? file : "");
    const tp_mapped *f = shard_of(w, real, err);
    if (!f) return false;
    const tp_weight *v = tp_weights_find(w, name);
    if (!v || v->file != f)
      return tp_fail(
          err, TP_E_FILE, TP_NOWHERE, "file: %s: '%.200s' is not in %s", path, name, real);
  }
  return true;
}

static void drop_index(void *j) { tp_json_free(j); }

static bool open_index(tp_weights *w, const char *path, tp_error *err) {
  size_t n;
  tp_hold h;
  char *text = tp_file_whole(path, &n, err);
  if (!text) return false;
  tp_hold_set(&h, tp_free, text);
  tp_json *j = tp_json_parse(path, text, n, err);
  tp_hold_end(&h);
  tp_free(text);
  if (!j) return false;
  tp_hold_set(&h, drop_index, j);
  bool ok = open_shards(w, path, tp_json_get(j, "weight_map"), err);
  tp_hold_end(&h);
  tp_json_free(j);
  return ok;
}

typedef struct {
  tp_weights *w;
  const char *path; /* NULL: none was found */
  int n;
} found_t;

static bool note_found(void *ud, const char *path) {
  found_t *f = ud;
  f->path = tp_strdup(&f->w->arena, path);
  f->n++;
  return false;
}

/* The folder's one file whose name ends so. */
static const char *one_of(tp_weights *w, const char *folder, const char *end, int *n) {
  tp_buf b;
  tp_hold h;
  found_t f = { .w = w };
  tp_buf_hold(&b, &h);
  for (const char *s = folder; *s; s++) {
    if (strchr("*?[\\", *s)) tp_puts(&b, "\\");
    tp_putn(&b, s, 1);
  }
  tp_putf(&b, "/*%s", end);
  if (!b.failed) tp_os_glob(b.s, note_found, &f);
  tp_buf_drop(&b, &h);
  *n += f.n;
  return f.n == 1 ? f.path : NULL;
}

static bool open_folder(tp_weights *w, const char *folder, tp_error *err) {
  int n = 0;
  const char *path = tp_printf(&w->arena, "%s/model.safetensors", folder),
             *index = one_of(w, folder, ".safetensors.index.json", &n);
  if (index) return open_index(w, index, err);
  if (tp_os_look(path, NULL) == TP_OS_FILE) return open_file(w, path, err);
  const char *a = one_of(w, folder, ".safetensors", &n), *b = one_of(w, folder, ".gguf", &n);
  if (n == 1) return open_file(w, a ? a : b, err);
  return tp_file_fail(err, folder,
      n ? "it has several files of weights: name one of them"
        : "it has no file of weights (.safetensors, .gguf)");
}

bool tp_weights_open(tp_weights *w, const char *path, tp_error *err) {
  w->path = tp_strdup(&w->arena, path);
  tp_hmap_init(&w->by_name, &w->arena);
  tp_hmap_init(&w->by_key, &w->arena);
  if (tp_os_look(path, NULL) == TP_OS_FOLDER) return open_folder(w, path, err);
  return ends_with(path, ".index.json") ? open_index(w, path, err) : open_file(w, path, err);
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
  tp_format format = v->as ? tp_format_parse(v->as->name) : TP_FORMAT_NONE;
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
