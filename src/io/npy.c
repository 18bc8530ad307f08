/* npy: NumPy's array files. A file is: "\x93NUMPY", major, minor, length of the header (2 bytes, from version 2.0 on 4), the header: a Python
 * literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, then the elements. Nothing of a file is trusted: the header is read by a
 * parser of exactly these keys, and sizes are compared with the bytes that are there before anything is allocated. */
#include "io/io.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_HEADER = 1 << 16 };

static const struct { tp_dtype dtype; const char *descr; } descrs[] = {
  { TP_BOOL, "|b1" }, { TP_U8, "|u1" }, { TP_I32, "<i4" }, { TP_I64, "<i8" }, { TP_F16, "<f2" }, { TP_F32, "<f4" }, { TP_F64, "<f8" },
};

static bool fail(tp_error *err, const char *path, const char *why) {
  return tp_fail(err, TP_E_FILE, (tp_pos){ 0 }, "file: %s: %s", path, why);
}

/* ---- writing ---- */
static void put_header(tp_buf *b, const char *descr, const tp_array *a) {
  tp_buf h;
  tp_buf_init(&h);
  tp_putf(&h, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  for (int k = 0; k < a->rank; k++) tp_putf(&h, k ? ", %lld" : "%lld", (long long)a->shape[k]);
  tp_puts(&h, a->rank == 1 ? ",), }" : "), }");
  while ((10 + h.n + 1) % 64) tp_puts(&h, " ");         /* elements start at a multiple of 64 */
  tp_puts(&h, "\n");
  char prefix[10] = "\x93NUMPY\x01";
  prefix[8] = (char)(h.n & 255);
  prefix[9] = (char)(h.n >> 8);
  tp_putn(b, prefix, sizeof prefix);
  tp_putn(b, h.s, h.n);
  b->failed |= h.failed;
  tp_buf_free(&h);
}

static bool write_file(const char *tmp, const tp_buf *head, const tp_array *a) {
  FILE *f = fopen(tmp, "wb");
  if (!f) return false;
  size_t n = tp_array_bytes(a);
  bool ok = fwrite(head->s, 1, head->n, f) == head->n && (n == 0 || fwrite(a->data, 1, n, f) == n) && fflush(f) == 0 && fsync(fileno(f)) == 0;
  int saved = errno;
  ok &= fclose(f) == 0;
  if (!ok && saved) errno = saved;
  return ok;
}

static bool write_and_rename(const char *path, const tp_buf *head, const tp_array *a, tp_error *err) {
  tp_buf tmp;
  tp_buf_init(&tmp);
  tp_putf(&tmp, "%s.%ld.tmp", path, (long)getpid());
  if (tmp.failed || head->failed) { tp_buf_free(&tmp); return tp_fail(err, TP_E_MEMORY, (tp_pos){ 0 }, "memory: out of memory"); }
  errno = 0;
  bool ok = write_file(tmp.s, head, a) && rename(tmp.s, path) == 0;
  if (!ok) {
    fail(err, path, errno ? strerror(errno) : "cannot be written");
    remove(tmp.s);
  }
  tp_buf_free(&tmp);
  return ok;
}

bool tp_npy_save(const char *path, const tp_array *a, tp_error *err) {
  const char *descr = NULL;
  for (size_t k = 0; k < TP_LEN(descrs); k++)
    if (descrs[k].dtype == a->dtype) descr = descrs[k].descr;
  if (!descr) return tp_fail(err, TP_E_DTYPE, (tp_pos){ 0 }, "dtype: NumPy has no %s; convert to f32 first", tp_dtype_name(a->dtype));
  tp_buf head;
  tp_buf_init(&head);
  put_header(&head, descr, a);
  bool ok = write_and_rename(path, &head, a, err);
  tp_buf_free(&head);
  return ok;
}

/* ---- the header ---- */
typedef struct { tp_dtype dtype; bool fortran; int rank; int64_t shape[TP_MAXRANK], count; } header_t;

static void skip_space(const char **s) {
  while (**s == ' ' || **s == '\n' || **s == '\t') (*s)++;
}

static bool take(const char **s, const char *word) {            /* the word, after space */
  skip_space(s);
  size_t n = strlen(word);
  if (strncmp(*s, word, n) != 0) return false;
  *s += n;
  return true;
}

static bool parse_descr(const char **s, header_t *h, const char **why) {
  skip_space(s);
  char quote = **s;
  const char *from = *s + 1, *to = quote == '\'' || quote == '"' ? strchr(from, quote) : NULL;
  if (!to) { *why = "structured arrays are not supported"; return false; }
  *s = to + 1;
  for (size_t k = 0; k < TP_LEN(descrs); k++) {
    const char *d = descrs[k].descr;
    bool order = *from == d[0] || *from == '=' || (d[2] == '1' && (*from == '<' || *from == '>'));
    if (order && to - from == 3 && strncmp(from + 1, d + 1, 2) == 0) { h->dtype = descrs[k].dtype; return true; }
  }
  *why = *from == '>' ? "big-endian arrays are not supported" : "its dtype is none of ours (bool u8 i32 i64 f16 f32 f64)";
  return false;
}

static bool parse_extent(const char **s, int64_t *out) {
  skip_space(s);
  int64_t v = 0;
  const char *from = *s;
  for (; **s >= '0' && **s <= '9'; (*s)++)
    if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, **s - '0', &v)) return false;
  *out = v;
  return *s > from;
}

static bool parse_shape(const char **s, header_t *h, const char **why) {
  *why = "its shape is broken";
  if (!take(s, "(")) return false;
  h->count = 1;
  while (!take(s, ")")) {
    if (h->rank == TP_MAXRANK) { *why = "it has too many axes"; return false; }
    int64_t *n = &h->shape[h->rank++];
    if (!parse_extent(s, n) || __builtin_mul_overflow(h->count, *n, &h->count)) return false;
    skip_space(s);
    if (!take(s, ",") && **s != ')') return false;
  }
  return true;
}

static bool parse_flag(const char **s, header_t *h) {
  if (take(s, "True")) return h->fortran = true;
  return take(s, "False");
}

static bool parse_header(const char *s, header_t *h, const char **why) {
  bool descr = false, order = false, shape = false;
  *why = "its header is broken";
  if (!take(&s, "{")) return false;
  while (!take(&s, "}")) {
    if (!descr && take(&s, "'descr'")) {
      if (!take(&s, ":") || !parse_descr(&s, h, why)) return false;
      descr = true;
    } else if (!order && take(&s, "'fortran_order'")) {
      if (!take(&s, ":") || !parse_flag(&s, h)) return false;
      order = true;
    } else if (!shape && take(&s, "'shape'")) {
      if (!take(&s, ":") || !parse_shape(&s, h, why)) return false;
      shape = true;
    } else return false;
    *why = "its header is broken";
    skip_space(&s);
    if (!take(&s, ",") && *s != '}') return false;
  }
  return descr && order && shape;
}

/* ---- reading ---- */
static bool read_header(FILE *f, header_t *h, const char **why) {
  unsigned char head[12];
  *why = "it is no NumPy file";
  if (fread(head, 1, 10, f) != 10 || memcmp(head, "\x93NUMPY", 6) != 0) return false;
  size_t n = head[8] | (size_t)head[9] << 8;
  *why = "its version is not 1.0, 2.0 or 3.0";
  if (head[6] < 1 || head[6] > 3 || head[7] != 0) return false;
  *why = "its header is cut off";
  if (head[6] > 1) {
    if (fread(head + 10, 1, 2, f) != 2) return false;
    n |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
  }
  if (n > MAX_HEADER) { *why = "its header is too long"; return false; }
  char *text = tp_alloc(n + 1);
  if (!text) { *why = "out of memory"; return false; }
  bool ok = fread(text, 1, n, f) == n;
  text[n] = 0;
  if (ok && strlen(text) != n) { ok = false; *why = "its header is broken"; }
  ok = ok && parse_header(text, h, why);
  tp_free(text);
  return ok;
}

static bool bytes_left(FILE *f, int64_t *n) {
  long here = ftell(f);
  if (here < 0 || fseek(f, 0, SEEK_END) != 0) return false;
  long end = ftell(f);
  *n = (int64_t)end - here;
  return end >= here && fseek(f, here, SEEK_SET) == 0;
}

/* From Fortran's order, where the first axis runs fastest, to ours. */
static tp_array *from_fortran(TP_TAKE tp_array *a) {
  tp_array *c = tp_array_new(a->dtype, a->rank, a->shape);
  size_t size = (size_t)tp_dtype_size(a->dtype);
  int64_t at[TP_MAXRANK] = { 0 };
  for (int64_t k = 0; c && k < a->count; k++) {         /* k-th element in the file is at `at` */
    int64_t to = 0;
    for (int j = 0; j < a->rank; j++) to = to * a->shape[j] + at[j];
    memcpy((char *)c->data + (size_t)to * size, (const char *)a->data + (size_t)k * size, size);
    for (int j = 0; j < a->rank && ++at[j] == a->shape[j]; j++) at[j] = 0;
  }
  tp_array_unref(a);
  return c;
}

static void clean_bools(tp_array *a) {                  /* a byte of a file may be anything; a bool is 0 or 1 */
  uint8_t *p = a->data;
  for (int64_t k = 0; a->dtype == TP_BOOL && k < a->count; k++) p[k] = p[k] != 0;
}

static tp_array *read_elements(FILE *f, const header_t *h, const char **why) {
  int64_t left, size;
  *why = "its elements are cut off";
  if (__builtin_mul_overflow(h->count, (int64_t)tp_dtype_size(h->dtype), &size) || !bytes_left(f, &left) || left < size) return NULL;
  tp_array *a = tp_array_new(h->dtype, h->rank, h->shape);
  *why = "out of memory";
  if (!a) return NULL;
  *why = "its elements are cut off";
  if (size && fread(a->data, 1, (size_t)size, f) != (size_t)size) return tp_array_unref(a);
  clean_bools(a);
  *why = "out of memory";
  return h->fortran && h->rank > 1 ? from_fortran(a) : a;
}

tp_array *tp_npy_load(const char *path, tp_error *err) {
  header_t h = { 0 };
  const char *why = NULL;
  errno = 0;
  FILE *f = fopen(path, "rb");
  if (!f) { fail(err, path, strerror(errno)); return NULL; }
  tp_array *a = read_header(f, &h, &why) ? read_elements(f, &h, &why) : NULL;
  if (!a) fail(err, path, why);
  fclose(f);
  return a;
}
