/* open: finds a model's files and maps them. A folder has an index, or one file of weights. The
 * file's first bytes say its kind. */
#include "io/open.h"
#include "io/gguf.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "os/os.h"

/* ---- NumPy's files ---- */

typedef struct {
  tp_weights *w;
  const tp_mapped *f;
  tp_error *err;
} opening;

/* The array at `in`, n bytes from byte `at` of the file: mapped if its elements lie as ours do,
 * else in != NULL stays and it must be read. */
static bool map_npy(
    opening *o, tp_weight *v, FILE *in, const char *label, int64_t at, int64_t n, bool *mapped) {
  tp_npy h;
  int64_t head;
  if (!tp_npy_head(in, n, label, &h, &head, o->err)) return false;
  v->as = tp_stored_of_dtype(h.dtype);
  v->rank = h.rank;
  TP_COPYN(v->shape, h.shape, h.rank);
  v->at = at + head;
  *mapped = !h.swapped && !(h.fortran && h.rank > 1);
  if (!tp_stored_bytes(v->as, v->rank, v->shape, &v->bytes) || v->bytes > n - head)
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
  if (!map_npy(o, v, in, label, at, (int64_t)m->size, &mapped)) return false;
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
  if (!v || !map_npy(o, v, in, path, 0, n, &mapped)) return false;
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

enum { MAX_PARTS = 99999 };

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && !strcmp(s + n - m, end);
}

/* A model in several files, of which the first has the metadata: x-00001-of-00003.gguf. */
static bool open_gguf(tp_weights *w, const tp_mapped *f, tp_error *err) {
  const tp_meta *m;
  int64_t n = 0;
  if (!tp_gguf_read(w, f, true, err)) return false;
  m = tp_weights_meta(w, "split.count");
  if (!m || !tp_meta_integer(m, &n) || n < 2) return true;
  const char *end = tp_printf(&w->arena, "-00001-of-%05lld.gguf", (long long)n);
  if (n > MAX_PARTS || !ends_with(f->path, end))
    return tp_file_fail(err, f->path, "it is a part of a model: open the first one, of its name");
  for (int k = 2; k <= n; k++) {
    int stem = (int)(strlen(f->path) - strlen(end));
    f = tp_weights_map(
        w, tp_printf(&w->arena, "%.*s-%05d-of-%05lld.gguf", stem, f->path, k, (long long)n), err);
    if (!f || !tp_gguf_read(w, f, false, err)) return false;
  }
  return true;
}

static bool open_file(tp_weights *w, const char *path, tp_error *err) {
  opening o = { w, tp_weights_map(w, path, err), err };
  if (!o.f) return false;
  const char *p = o.f->bytes->data;
  int64_t n = o.f->bytes->count;
  if (n >= 4 && !memcmp(p, "GGUF", 4)) return open_gguf(w, o.f, err);
  if (n >= 2 && !memcmp(p, "PK", 2)) return open_numpy(&o, true);
  if (n >= 6 && !memcmp(p, "\x93NUMPY", 6)) return open_numpy(&o, false);
  return tp_safetensors_read(w, o.f, true, err);
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

enum { INDEX, SAFETENSORS, GGUF, KINDS };
typedef struct {
  char name[KINDS][512];
  int n[KINDS];
} found_t;

/* A GGUF in parts counts by its first. */
static void note_found(void *ud, const char *name) {
  static const char *const ends[KINDS] = { ".safetensors.index.json", ".safetensors", ".gguf" };
  found_t *f = ud;
  const char *of = strstr(name, "-of-");
  if (of && ends_with(name, ends[GGUF]) && of - name >= 6 && memcmp(of - 6, "-00001", 6)) return;
  for (int k = 0; k < KINDS; k++)
    if (ends_with(name, ends[k]) && ++f->n[k]) snprintf(f->name[k], sizeof *f->name, "%s", name);
}

static bool open_folder(tp_weights *w, const char *folder, tp_error *err) {
  found_t f = { 0 };
  tp_os_list(folder, note_found, &f);
  const char *path = tp_printf(&w->arena, "%s/model.safetensors", folder);
  if (f.n[INDEX] == 1)
    return open_index(w, tp_printf(&w->arena, "%s/%s", folder, f.name[INDEX]), err);
  if (tp_os_look(path, NULL) == TP_OS_FILE) return open_file(w, path, err);
  if (f.n[SAFETENSORS] + f.n[GGUF] == 1)
    return open_file(
        w, tp_printf(&w->arena, "%s/%s", folder, f.name[f.n[GGUF] ? GGUF : SAFETENSORS]), err);
  return tp_file_fail(err, folder,
      f.n[SAFETENSORS] + f.n[GGUF] ? "it has several files of weights: name one of them"
                                   : "it has no file of weights (.safetensors, .gguf)");
}

bool tp_weights_open(tp_weights *w, const char *path, tp_error *err) {
  w->path = tp_strdup(&w->arena, path);
  tp_hmap_init(&w->by_name, &w->arena);
  tp_hmap_init(&w->by_key, &w->arena);
  if (tp_os_look(path, NULL) == TP_OS_FOLDER) return open_folder(w, path, err);
  return ends_with(path, ".index.json") ? open_index(w, path, err) : open_file(w, path, err);
}
