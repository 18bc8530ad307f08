/* npz: NumPy's archives, ZIP files: members, a directory, an end that says where that is. Sizes and
 * places must stay inside the file, must not overlap, and must be possible for DEFLATE (at most
 * 1032 bytes for one); members must have the directory's CRC. */
#include "io/npy.h"
#include "os/os.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

enum {
  LOCAL = 0x04034b50,
  ENTRY = 0x02014b50,
  END = 0x06054b50,
  END64 = 0x06064b50,
  LOCATOR = 0x07064b50
};
enum {
  LOCAL_SIZE = 30,
  ENTRY_SIZE = 46,
  END_SIZE = 22,
  END64_SIZE = 56,
  LOCATOR_SIZE = 20,
  RATIO = 1032
};
enum { STORED = 0, DEFLATED = 8, ENCRYPTED = 1 };
#define IN_EXTRA 0xffffffffu /* it stands in the zip64 extra */

static uint64_t get(const uint8_t *p, int n) {
  uint64_t v = 0;
  while (n-- > 0) v = v << 8 | p[n];
  return v;
}

typedef struct tp_zip {
  FILE *f;
  const char *path;
  /* members end before its start */
  int64_t start, size, entries;
  uint8_t *dir;
  /* bytes of members so far */
  int64_t used;
  tp_error *err;
} zip;
typedef tp_member member;

static bool broken(zip *z, const char *why) { return tp_file_fail(z->err, z->path, why); }
static bool no_memory(zip *z) {
  return tp_fail(z->err, TP_E_MEMORY, TP_NOWHERE, "no memory for what is in %s", z->path);
}

static bool read_at(zip *z, uint64_t at, void *p, size_t n) {
  return fseeko(z->f, (off_t)at, SEEK_SET) == 0 && tp_file_read(z->f, p, n);
}

static bool find_end64(zip *z, int64_t end, uint64_t *entries, uint64_t *size, uint64_t *start) {
  uint8_t p[END64_SIZE];
  if (end < LOCATOR_SIZE || !read_at(z, (uint64_t)(end - LOCATOR_SIZE), p, LOCATOR_SIZE))
    return false;
  if (get(p, 4) != LOCATOR) return false;
  uint64_t at = get(p + 8, 8);
  if (at > (uint64_t)end || (uint64_t)end - at < END64_SIZE || !read_at(z, at, p, END64_SIZE) ||
      get(p, 4) != END64)
    return false;
  *entries = get(p + 32, 8);
  *size = get(p + 40, 8);
  *start = get(p + 48, 8);
  return true;
}

/* Finds the end record: the file's last bytes except a comment, whose length it says. */
static bool find_directory(zip *z, int64_t n) {
  int64_t tail = TP_MIN(n, END_SIZE + 65535);
  uint8_t *p = tp_alloc((size_t)tail + 1);
  if (!p) return no_memory(z);
  int64_t k = read_at(z, (uint64_t)(n - tail), p, (size_t)tail) ? tail - END_SIZE : -1;
  while (k >= 0 && !(get(p + k, 4) == END && (int64_t)get(p + k + 20, 2) == tail - k - END_SIZE))
    k--;
  if (k < 0) {
    tp_free(p);
    return broken(z, "it is no whole .npz file: its directory is missing");
  }
  uint64_t entries = get(p + k + 10, 2), size = get(p + k + 12, 4), start = get(p + k + 16, 4);
  bool wide = entries == 0xffff || size == IN_EXTRA || start == IN_EXTRA,
       split = get(p + k + 4, 4) != 0;
  tp_free(p);
  int64_t end = n - tail + k;
  if (split || (wide && !find_end64(z, end, &entries, &size, &start)))
    return broken(z, "its directory is broken");
  if (start > (uint64_t)end || size > (uint64_t)end - start || entries > size / ENTRY_SIZE ||
      entries >= INT_MAX)
    return broken(z, "its directory is broken");
  z->start = (int64_t)start;
  z->size = (int64_t)size;
  z->entries = (int64_t)entries;
  z->dir = tp_alloc((size_t)size + 1);
  if (!z->dir) return no_memory(z);
  return read_at(z, start, z->dir, (size_t)size) || broken(z, "its directory is broken");
}

static bool widen(member *m, const uint8_t *p, int64_t n) { /* extra fields of an entry */
  uint64_t *field[3] = { &m->size, &m->packed, &m->at };
  while (n >= 4) {
    int64_t len = (int64_t)get(p + 2, 2);
    if (len > n - 4) return false;
    if (get(p, 2) == 1) {
      const uint8_t *v = p + 4;
      for (int k = 0; k < 3; k++) {
        if (*field[k] != IN_EXTRA) continue;
        if (v + 8 > p + 4 + len) return false;
        *field[k] = get(v, 8);
        v += 8;
      }
      return true;
    }
    p += 4 + len;
    n -= 4 + len;
  }
  return m->size != IN_EXTRA && m->packed != IN_EXTRA && m->at != IN_EXTRA;
}

static bool parse_entry(zip *z, int64_t *pos, member *m) {
  const uint8_t *p = z->dir + *pos;
  int64_t left = z->size - *pos;
  if (left < ENTRY_SIZE || get(p, 4) != ENTRY) return broken(z, "its directory is broken");
  int64_t name = (int64_t)get(p + 28, 2), extra = (int64_t)get(p + 30, 2),
          comment = (int64_t)get(p + 32, 2);
  *m = (member){ .name = (const char *)p + ENTRY_SIZE,
    .len = (int)name,
    .flags = (unsigned)get(p + 8, 2),
    .method = (unsigned)get(p + 10, 2),
    .crc = (uint32_t)get(p + 16, 4),
    .packed = get(p + 20, 4),
    .size = get(p + 24, 4),
    .at = get(p + 42, 4) };
  if (name + extra + comment > left - ENTRY_SIZE || memchr(m->name, 0, (size_t)name) ||
      !widen(m, p + ENTRY_SIZE + name, extra))
    return broken(z, "its directory is broken");
  *pos += ENTRY_SIZE + name + extra + comment;
  return true;
}

/* Goes to a member's bytes; ignores the local header's sizes. */
static bool find_member(zip *z, const member *m) {
  uint8_t p[LOCAL_SIZE];
  uint64_t start = (uint64_t)z->start;
  if (m->at > start || start - m->at < LOCAL_SIZE || !read_at(z, m->at, p, LOCAL_SIZE) ||
      get(p, 4) != LOCAL)
    return broken(z, "a member is missing");
  uint64_t data = m->at + LOCAL_SIZE + get(p + 26, 2) + get(p + 28, 2);
  if (data > start || m->packed > start - data || m->packed > start - (uint64_t)z->used)
    return broken(z, "a member is cut off");
  z->used += (int64_t)m->packed;
  return fseeko(z->f, (off_t)data, SEEK_SET) == 0 || broken(z, "a member is missing");
}

static void *zip_alloc(void *ud, unsigned n, unsigned size) { return tp_calloc((size_t)n * size); }
static void zip_free(void *ud, void *p) { tp_free(p); }

/* Inflates a member (no zlib header) to exactly the directory's size. zlib counts in unsigned:
 * larger members go in parts. */
static bool inflates(z_stream *s, const member *m) {
  uint64_t in = m->packed, out = m->size;
  int did = Z_OK;
  while (did == Z_OK) {
    s->avail_in = (unsigned)TP_MIN(in, UINT_MAX);
    s->avail_out = (unsigned)TP_MIN(out, UINT_MAX);
    in -= s->avail_in;
    out -= s->avail_out;
    did = inflate(s, Z_NO_FLUSH);
    in += s->avail_in;
    out += s->avail_out;
  }
  return did == Z_STREAM_END && out == 0;
}

static bool unpack(zip *z, const member *m, const char *label, uint8_t *packed, uint8_t *whole) {
  z_stream s = { .zalloc = zip_alloc, .zfree = zip_free, .next_in = packed, .next_out = whole };
  if (inflateInit2(&s, -MAX_WBITS) != Z_OK) return no_memory(z);
  bool ok = inflates(&s, m) || tp_file_fail(z->err, label, "its compressed bytes are broken");
  inflateEnd(&s);
  return ok;
}

static tp_array *read_unpacked(
    zip *z, const member *m, const char *label, uint8_t *packed, uint8_t *whole) {
  if (!tp_file_read(z->f, packed, m->packed))
    return tp_file_fail(z->err, label, "it is cut off"), NULL;
  if (!unpack(z, m, label, packed, whole)) return NULL;
  FILE *f = tp_os_bytes(whole, m->size);
  if (!f) return no_memory(z), NULL;
  tp_array *a = tp_npy_read(f, (int64_t)m->size, label, &m->crc, z->err);
  fclose(f);
  return a;
}

static tp_array *read_deflated(zip *z, const member *m, const char *label) {
  if (m->size == 0 || m->size / RATIO > m->packed)
    return tp_file_fail(z->err, label, "its sizes are impossible"), NULL;
  uint8_t *packed = tp_alloc(m->packed + 1), *whole = tp_alloc(m->size);
  tp_array *a = packed && whole ? read_unpacked(z, m, label, packed, whole) : (no_memory(z), NULL);
  tp_free(packed);
  tp_free(whole);
  return a;
}

static bool is_encrypted(zip *z, const member *m, const char *label) {
  return (m->flags & ENCRYPTED) && !tp_file_fail(z->err, label, "it is encrypted");
}

bool tp_npz_find(zip *z, const member *m, FILE **f) {
  *f = NULL;
  if ((m->flags & ENCRYPTED) || m->method != STORED || m->packed != m->size) return true;
  *f = z->f;
  return find_member(z, m);
}

tp_array *tp_npz_take(zip *z, const member *m, const char *label) {
  if (is_encrypted(z, m, label) || !find_member(z, m)) return NULL;
  if (m->method == DEFLATED) return read_deflated(z, m, label);
  if (m->method != STORED || m->packed != m->size)
    return tp_file_fail(z->err, label, "its compression is neither none nor deflate"), NULL;
  return tp_npy_read(z->f, (int64_t)m->size, label, &m->crc, z->err);
}

static char *copy_name(const char *s, int n) {
  char *c = tp_alloc((size_t)n + 1);
  if (!c) return NULL;
  memcpy(c, s, (size_t)n);
  c[n] = 0;
  return c;
}

/* reads the member into out */
static bool read_into(void *ud, zip *z, const member *m) {
  tp_arrays *out = ud;
  char *name = copy_name(m->name, m->len - 4);
  if (!out->v) out->v = tp_calloc(sizeof *out->v * (size_t)z->entries);
  if (!name || !out->v) return tp_free(name), no_memory(z);
  tp_named *to = &out->v[out->n++];
  to->name = name;
  tp_buf label;
  tp_buf_init(&label);
  tp_putf(&label, "%s: '%s'", z->path, name);
  to->a = label.failed ? (no_memory(z), NULL) : tp_npz_take(z, m, label.s);
  tp_buf_free(&label);
  return to->a != NULL;
}

bool tp_npz_each(
    FILE *f, int64_t n, const char *path, tp_npz_visit *visit, void *ud, tp_error *err) {
  zip z = { .f = f, .path = path, .err = err };
  member m;
  int64_t pos = 0;
  tp_hold h;
  bool ok = find_directory(&z, n);
  tp_hold_set(&h, tp_free, z.dir);
  for (int64_t k = 0; ok && k < z.entries; k++) {
    ok = parse_entry(&z, &pos, &m);
    if (ok && (m.len < 4 || memcmp(m.name + m.len - 4, ".npy", 4) != 0))
      ok = broken(&z, "it has a member whose name does not end in .npy");
    ok = ok && visit(ud, &z, &m);
  }
  tp_hold_end(&h);
  tp_free(z.dir);
  return ok;
}

bool tp_npz_read(FILE *f, int64_t n, const char *path, tp_arrays *out, tp_error *err) {
  if (!tp_npz_each(f, n, path, read_into, out, err)) return false;
  if (out->n) qsort(out->v, (size_t)out->n, sizeof *out->v, tp_by_text);
  for (int k = 1; k < out->n; k++)
    if (strcmp(out->v[k - 1].name, out->v[k].name) == 0)
      return tp_file_fail(err, path, "two members have one name");
  return true;
}

/* a member's bytes before its elements */
typedef struct {
  tp_buf head;
  uint64_t at, size;
  uint32_t crc;
} record;
typedef struct {
  const tp_named *v;
  int n;
  record *r;
} npz_t;

/* a number and its bytes, little endian */
typedef struct {
  uint64_t v;
  int bytes;
} field;

static void put_all(tp_buf *b, const field *f) {
  for (; f->bytes; f++)
    for (int i = 0; i < f->bytes; i++) tp_putn(b, &(char){ (char)(f->v >> 8 * i) }, 1);
}
#define PUT(b, ...) put_all(b, (const field[]){ __VA_ARGS__, { 0, 0 } })

/* Signature, versions, flags, method, time and date (1980), checksum: the same in both headers. */
static void put_fields(tp_buf *b, const record *r, const char *name, bool entry, bool wide) {
  bool ascii = true;
  for (const char *s = name; *s; s++) ascii &= (unsigned char)*s < 128;
  uint64_t size = wide ? IN_EXTRA : r->size;
  PUT(b, { entry ? ENTRY : LOCAL, 4 });
  if (entry) PUT(b, { 3 << 8 | 45, 2 });
  PUT(b, { wide ? 45 : 20, 2 }, { ascii ? 0 : 1 << 11, 2 }, { STORED, 2 }, { 0, 2 },
      { 1 << 5 | 1, 2 }, { r->crc, 4 }, { size, 4 }, { size, 4 }, { strlen(name) + 4, 2 },
      { wide ? (entry ? 28 : 20) : 0, 2 });
}

static void put_extra(tp_buf *b, const record *r, bool entry) {
  PUT(b, { 1, 2 }, { entry ? 24 : 16, 2 }, { r->size, 8 }, { r->size, 8 });
  if (entry) PUT(b, { r->at, 8 });
}

static void put_local(tp_buf *b, const record *r, const char *name) {
  bool wide = r->size >= IN_EXTRA;
  put_fields(b, r, name, false, wide);
  tp_puts(b, name);
  tp_puts(b, ".npy");
  if (wide) put_extra(b, r, false);
}

static void put_entry(tp_buf *b, const record *r, const char *name) {
  bool wide = r->size >= IN_EXTRA || r->at >= IN_EXTRA;
  put_fields(b, r, name, true, wide);
  /* comment, disk, internal attributes; external ones */
  PUT(b, { 0, 6 }, { 0600 << 16, 4 }, { wide ? IN_EXTRA : r->at, 4 });
  tp_puts(b, name);
  tp_puts(b, ".npy");
  if (wide) put_extra(b, r, true);
}

static void put_end(tp_buf *b, uint64_t n, uint64_t start) {
  uint64_t size = b->n, at = start + size;
  bool wide = n >= 0xffff || size >= IN_EXTRA || start >= IN_EXTRA;
  if (wide) { /* no disks but one */
    PUT(b, { END64, 4 }, { END64_SIZE - 12, 8 }, { 3 << 8 | 45, 2 }, { 45, 2 }, { 0, 8 }, { n, 8 },
        { n, 8 }, { size, 8 }, { start, 8 });
    PUT(b, { LOCATOR, 4 }, { 0, 4 }, { at, 8 }, { 1, 4 });
    n = 0xffff;
    size = start = IN_EXTRA;
  }
  PUT(b, { END, 4 }, { 0, 4 }, { n, 2 }, { n, 2 }, { size, 4 }, { start, 4 }, { 0, 2 });
}

static bool write_all(FILE *f, const void *p, size_t n) {
  return n == 0 || fwrite(p, 1, n, f) == n;
}

static bool write_npz(FILE *f, void *ud) {
  const npz_t *w = ud;
  tp_buf b;
  tp_buf_init(&b);
  uint64_t at = 0;
  bool ok = true;
  for (int k = 0; ok && k < w->n; k++) {
    record *r = &w->r[k];
    r->at = at;
    b.n = 0;
    put_local(&b, r, w->v[k].name);
    ok = !b.failed && write_all(f, b.s, b.n) && write_all(f, r->head.s, r->head.n) &&
        write_all(f, w->v[k].a->data, tp_array_bytes(w->v[k].a));
    at += b.n + r->size;
  }
  b.n = 0;
  for (int k = 0; ok && k < w->n; k++) put_entry(&b, &w->r[k], w->v[k].name);
  put_end(&b, (uint64_t)w->n, at);
  ok = ok && !b.failed && write_all(f, b.s, b.n);
  if (b.failed) errno = ENOMEM;
  tp_buf_free(&b);
  return ok;
}

static bool describe(record *r, const tp_named *v, tp_error *err) {
  size_t n = tp_array_bytes(v->a);
  if (strlen(v->name) > 65535 - 4)
    return tp_fail(err, TP_E_OPTION, TP_NOWHERE,
        "save: a name of %zu bytes is too long for an .npz file", strlen(v->name));
  if (!tp_npy_header(&r->head, v->a, err)) return false;
  r->size = r->head.n + n;
  r->crc = (uint32_t)crc32_z(crc32_z(0, (const uint8_t *)r->head.s, r->head.n), v->a->data, n);
  return true;
}

bool tp_npz_save(const char *path, int n, const tp_named *v, tp_error *err) {
  npz_t w = { v, n, tp_calloc(sizeof *w.r * (size_t)(n + 1)) };
  bool ok = w.r || tp_no_memory(err, TP_NOWHERE);
  for (int k = 0; ok && k < n; k++) ok = describe(&w.r[k], &v[k], err);
  ok = ok && tp_file_replace(path, write_npz, &w, err);
  for (int k = 0; w.r && k < n; k++) tp_buf_free(&w.r[k].head);
  tp_free(w.r);
  return ok;
}
