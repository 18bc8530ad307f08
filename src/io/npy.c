/* npy: NumPy's array files: "\x93NUMPY", major, minor, the header's length (2 bytes, from
 * version 2.0 on 4), the header: a Python literal {'descr': '<f4', 'fortran_order': False, 'shape':
 * (3, 4), }, the elements. Nothing is trusted: a parser of exactly these keys, and sizes compared
 * with the bytes that are there before anything is allocated. */
#include "io/npy.h"
#include <zlib.h>

enum { MAX_HEADER = 1 << 16 };

/* ml_dtypes writes V2, any two bytes, for bf16. */
static const struct {
  tp_dtype dtype;
  const char *descr;
} descrs[] = {
  { TP_BOOL, "|b1" },
  { TP_U8, "|u1" },
  { TP_I32, "<i4" },
  { TP_I64, "<i8" },
  { TP_F16, "<f2" },
  { TP_BF16, "<V2" },
  { TP_F32, "<f4" },
  { TP_F64, "<f8" },
};

static const char *descr_of(tp_dtype d) {
  size_t k = 0;
  while (descrs[k].dtype != d) k++;
  return descrs[k].descr;
}

bool tp_npy_header(tp_buf *b, const tp_array *a, tp_error *err) {
  char prefix[10] = "\x93NUMPY\x01";
  size_t start = b->n;
  tp_putn(b, prefix, sizeof prefix);
  tp_putf(b, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(a->dtype));
  for (int k = 0; k < a->rank; k++) tp_putf(b, k ? ", %lld" : "%lld", (long long)a->shape[k]);
  tp_puts(b, a->rank == 1 ? ",), }" : "), }");
  /* elements start at a multiple of 64 */
  while (!b->failed && (b->n - start + 1) % 64) tp_puts(b, " ");
  tp_puts(b, "\n");
  if (b->failed) return tp_no_memory(err, TP_NOWHERE);
  size_t n = b->n - start - sizeof prefix;
  b->s[start + 8] = (char)(n & 255);
  b->s[start + 9] = (char)(n >> 8);
  return true;
}

typedef struct {
  tp_buf head;
  const tp_array *a;
} npy_t;

static bool write_npy(FILE *f, void *ud) {
  const npy_t *w = ud;
  size_t n = tp_array_bytes(w->a);
  return fwrite(w->head.s, 1, w->head.n, f) == w->head.n &&
      (n == 0 || fwrite(w->a->data, 1, n, f) == n);
}

bool tp_npy_save(const char *path, const tp_array *a, tp_error *err) {
  npy_t w = { .a = a };
  tp_buf_init(&w.head);
  bool ok = tp_npy_header(&w.head, a, err) && tp_file_replace(path, write_npy, &w, err);
  tp_buf_free(&w.head);
  return ok;
}

static void skip_space(const char **s) {
  while (**s == ' ' || **s == '\n' || **s == '\t') (*s)++;
}

static bool take(const char **s, const char *word) { /* after space */
  skip_space(s);
  size_t n = strlen(word);
  if (strncmp(*s, word, n) != 0) return false;
  *s += n;
  return true;
}

static bool parse_descr(const char **s, tp_npy *h, const char **why) {
  skip_space(s);
  char quote = **s;
  const char *from = *s + 1, *to = quote == '\'' || quote == '"' ? strchr(from, quote) : NULL;
  if (!to) return *why = "structured arrays are not supported", false;
  *s = to + 1;
  for (size_t k = 0; k < TP_LEN(descrs); k++) {
    const char *d = descrs[k].descr;
    bool order = *from && strchr(d[2] == '1' || d[1] == 'V' ? "|<>=" : "<>=", *from) != NULL;
    if (!order || to - from != 3 || strncmp(from + 1, d + 1, 2) != 0) continue;
    h->dtype = descrs[k].dtype;
    h->swapped = *from == '>' && d[2] != '1';
    return true;
  }
  *why = "its dtype is none of ours (bool u8 i32 i64 f16 bf16 f32 f64)";
  return false;
}

static bool parse_extent(const char **s, int64_t *out) {
  skip_space(s);
  int64_t v = 0;
  const char *from = *s;
  for (; **s >= '0' && **s <= '9'; (*s)++)
    if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, **s - '0', &v)) return false;
  *out = v;
  if (*s == from) return false;
  if (**s == 'L') (*s)++; /* an integer of Python 2 */
  return true;
}

static bool parse_shape(const char **s, tp_npy *h, const char **why) {
  *why = "its shape is broken";
  if (!take(s, "(")) return false;
  h->count = 1;
  while (!take(s, ")")) {
    if (h->rank == TP_MAXRANK) return *why = "it has too many axes", false;
    int64_t *n = &h->shape[h->rank++];
    if (!parse_extent(s, n) || __builtin_mul_overflow(h->count, *n, &h->count)) return false;
    skip_space(s);
    if (!take(s, ",") && **s != ')') return false;
  }
  return true;
}

static bool parse_flag(const char **s, tp_npy *h) {
  h->fortran = take(s, "True");
  return h->fortran || take(s, "False");
}

static bool parse_header(const char *s, tp_npy *h, const char **why) {
  bool descr = false, order = false, shape = false;
  *why = "its header is broken";
  if (!take(&s, "{")) return false;
  while (!take(&s, "}")) {
    bool ok = false;
    if (!descr && take(&s, "'descr'")) ok = descr = take(&s, ":") && parse_descr(&s, h, why);
    else if (!order && take(&s, "'fortran_order'")) ok = order = take(&s, ":") && parse_flag(&s, h);
    else if (!shape && take(&s, "'shape'")) ok = shape = take(&s, ":") && parse_shape(&s, h, why);
    if (!ok) return false;
    *why = "its header is broken";
    skip_space(&s);
    if (!take(&s, ",") && *s != '}') return false;
  }
  return descr && order && shape;
}

typedef struct {
  FILE *f;
  int64_t left;
  const uint32_t *want; /* checksum, NULL: not checked */
  uint32_t crc;
  const char *why;
} source;

static bool take_bytes(source *s, void *p, size_t n) {
  if ((uint64_t)s->left < n || !tp_file_read(s->f, p, n)) return false;
  s->left -= (int64_t)n;
  if (s->want) s->crc = (uint32_t)crc32_z(s->crc, p, n);
  return true;
}

static bool read_header(source *s, tp_npy *h) {
  unsigned char head[12];
  s->why = "it is no NumPy file (tempo.open reads safetensors and GGUF)";
  if (!take_bytes(s, head, 10) || memcmp(head, "\x93NUMPY", 6) != 0) return false;
  size_t n = head[8] | (size_t)head[9] << 8;
  s->why = "its version is not 1.0, 2.0 or 3.0";
  if (head[6] < 1 || head[6] > 3 || head[7] != 0) return false;
  s->why = "its header is cut off";
  if (head[6] > 1) {
    if (!take_bytes(s, head + 10, 2)) return false;
    n |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
  }
  if (n > MAX_HEADER) return s->why = "its header is too long", false;
  char *text = tp_alloc(n + 1);
  if (!text) return s->why = NULL, false;
  bool ok = take_bytes(s, text, n);
  text[n] = 0;
  if (ok) s->why = "its header is broken";
  ok = ok && strlen(text) == n && parse_header(text, h, &s->why);
  tp_free(text);
  return ok;
}

/* Turns Fortran's order, in which the first axis runs fastest, into ours. */
static tp_array *from_fortran(TP_TAKE tp_array *a) {
  tp_array *c = tp_array_new(a->dtype, a->rank, a->shape);
  size_t size = (size_t)tp_dtype_size(a->dtype);
  int64_t at[TP_MAXRANK] = { 0 };
  for (int64_t k = 0; c && k < a->count; k++) { /* element k is at `at` */
    int64_t to = 0;
    for (int j = 0; j < a->rank; j++) to = to * a->shape[j] + at[j];
    memcpy((char *)c->data + (size_t)to * size, (const char *)a->data + (size_t)k * size, size);
    for (int j = 0; j < a->rank && ++at[j] == a->shape[j]; j++) at[j] = 0;
  }
  tp_array_unref(a);
  return c;
}

static void swap_bytes(tp_array *a) {
  size_t size = (size_t)tp_dtype_size(a->dtype);
  uint8_t *p = a->data;
  for (int64_t k = 0; k < a->count; k++, p += size)
    for (size_t j = 0; j < size / 2; j++) {
      uint8_t b = p[j];
      p[j] = p[size - 1 - j];
      p[size - 1 - j] = b;
    }
}

static tp_array *read_elements(source *s, const tp_npy *h) {
  int64_t size;
  s->why = "its elements are cut off";
  if (__builtin_mul_overflow(h->count, (int64_t)tp_dtype_size(h->dtype), &size) || s->left < size)
    return NULL;
  tp_array *a = tp_array_new(h->dtype, h->rank, h->shape);
  if (!a) return s->why = NULL, NULL;
  if (!take_bytes(s, a->data, (size_t)size)) return tp_array_unref(a);
  if (h->swapped) swap_bytes(a);
  tp_array_tidy(a);
  s->why = NULL;
  return h->fortran && h->rank > 1 ? from_fortran(a) : a;
}

/* The bytes behind the elements count too. */
static bool is_intact(source *s) {
  uint8_t chunk[4096];
  if (!s->want) return true;
  while (s->left && take_bytes(s, chunk, (size_t)TP_MIN(s->left, (int64_t)sizeof chunk))) {}
  return !s->left && s->crc == *s->want;
}

static bool npy_fail(const source *s, const char *label, tp_error *err) {
  if (s->why) return tp_file_fail(err, label, s->why);
  return tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "no memory for what is in %s", label);
}

bool tp_npy_head(FILE *f, int64_t n, const char *label, tp_npy *h, int64_t *head, tp_error *err) {
  source s = { .f = f, .left = n };
  *h = (tp_npy){ 0 };
  bool ok = read_header(&s, h);
  *head = n - s.left;
  return ok || npy_fail(&s, label, err);
}

tp_array *tp_npy_read(FILE *f, int64_t n, const char *label, const uint32_t *crc, tp_error *err) {
  source s = { .f = f, .left = n, .want = crc };
  tp_npy h = { 0 };
  tp_array *a = read_header(&s, &h) ? read_elements(&s, &h) : NULL;
  if (!is_intact(&s)) s.why = "its checksum is wrong", a = tp_array_unref(a);
  if (!a) npy_fail(&s, label, err);
  return a;
}

void tp_arrays_free(tp_arrays *a) {
  for (int k = 0; k < a->n; k++) {
    tp_array_unref(a->v[k].a);
    tp_free((char *)a->v[k].name);
  }
  tp_free(a->v);
  *a = (tp_arrays){ 0 };
}

static bool read_single(FILE *f, int64_t n, const char *path, tp_arrays *out, tp_error *err) {
  out->single = true;
  out->v = tp_calloc(sizeof *out->v);
  if (!out->v) return tp_no_memory(err, TP_NOWHERE);
  out->v[0].a = tp_npy_read(f, n, path, NULL, err);
  out->n = 1;
  return out->v[0].a != NULL;
}

bool tp_arrays_read(FILE *f, int64_t n, const char *path, tp_arrays *out, tp_error *err) {
  char first[2] = { 0 };
  *out = (tp_arrays){ 0 };
  bool zip = n >= 2 && tp_file_read(f, first, 2) && memcmp(first, "PK", 2) == 0;
  rewind(f);
  bool ok = zip ? tp_npz_read(f, n, path, out, err) : read_single(f, n, path, out, err);
  if (!ok) tp_arrays_free(out);
  return ok;
}

bool tp_arrays_load(const char *path, tp_arrays *out, tp_error *err) {
  int64_t n;
  *out = (tp_arrays){ 0 };
  FILE *f = tp_file_open(path, &n, err);
  bool ok = f && tp_arrays_read(f, n, path, out, err);
  if (f) fclose(f);
  return ok;
}
