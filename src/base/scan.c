/* scan: words of our text forms. */
#include "base/scan.h"
#include <ctype.h>
#include <stdlib.h>

void tp_scan_init(tp_scan *in, const char *what, tp_arena *a, tp_arena *files, tp_error *err) {
  *in = (tp_scan){ .s = "", .what = what, .a = a, .files = files, .err = err };
  tp_hmap_init(&in->names, a);
}

bool tp_scan_line(tp_scan *in, const char **text) {
  if (!**text) return false;
  size_t n = strcspn(*text, "\n");
  char *copy = tp_new_bytes(in->a, n + 1);
  in->s = memcpy(copy, *text, n);
  in->line++;
  *text += n + ((*text)[n] == '\n');
  return true;
}

tp_pos tp_scan_pos(const tp_scan *in) { return (tp_pos){ in->what, in->line }; }
bool tp_scan_fail(tp_scan *in, const char *what) {
  return tp_fail(in->err, TP_E_FILE, tp_scan_pos(in), "%s at '%.30s'", what, in->s);
}

void tp_scan_space(tp_scan *in) {
  while (*in->s && isspace((unsigned char)*in->s)) in->s++;
}

bool tp_scan_end(tp_scan *in) {
  tp_scan_space(in);
  return !*in->s || tp_scan_fail(in, "nothing more is wanted");
}

static bool in_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

bool tp_accept(tp_scan *in, const char *text) {
  tp_scan_space(in);
  size_t n = strlen(text);
  bool word = isalpha((unsigned char)text[0]);
  if (strncmp(in->s, text, n) != 0 || (word && in_word(in->s[n]))) return false;
  in->s += n;
  return true;
}

bool tp_expect(tp_scan *in, const char *text) {
  char why[40];
  if (tp_accept(in, text)) return true;
  snprintf(why, sizeof why, "'%s' is wanted", text);
  return tp_scan_fail(in, why);
}

const char *tp_scan_word(tp_scan *in) {
  tp_scan_space(in);
  const char *from = in->s;
  while (in_word(*in->s)) in->s++;
  if (in->s == from) return tp_scan_fail(in, "a word is wanted"), NULL;
  char *w = tp_new_bytes(in->a, (size_t)(in->s - from) + 1);
  return memcpy(w, from, (size_t)(in->s - from));
}

const char *tp_scan_string(tp_scan *in) {
  if (!tp_expect(in, "\"")) return NULL;
  char *out = tp_new_bytes(in->a, strlen(in->s) + 1), *w = out;
  while (*in->s && *in->s != '"') {
    char c = *in->s++;
    if (c == '\\' && *in->s) {
      c = *in->s++;
      if (c == 'n') c = '\n';
    }
    *w++ = c;
  }
  return tp_expect(in, "\"") ? out : NULL;
}

static bool went(tp_scan *in, const char *end, const char *wanted) {
  if (end == in->s) return tp_scan_fail(in, wanted);
  in->s = end;
  return true;
}

bool tp_scan_int(tp_scan *in, int64_t *v) {
  char *end;
  tp_scan_space(in);
  *v = strtoll(in->s, &end, 10);
  return went(in, end, "an integer is wanted");
}

bool tp_scan_small(tp_scan *in, int *v) {
  int64_t i = 0;
  if (!tp_scan_int(in, &i)) return false;
  *v = (int)i;
  return i >= 0 && i < 1 << 24 ? true : tp_scan_fail(in, "the number is too large");
}

bool tp_scan_double(tp_scan *in, double *v) {
  const char *end;
  tp_scan_space(in);
  *v = tp_read_double(in->s, &end);
  return went(in, end, "a number is wanted");
}

bool tp_scan_u64(tp_scan *in, uint64_t *v) {
  char *end;
  tp_scan_space(in);
  *v = strtoull(in->s, &end, 0);
  return went(in, end, "a hash is wanted");
}

bool tp_scan_more(tp_scan *in) {
  tp_scan_space(in);
  return *in->s && !strchr(",}:@", *in->s);
}

bool tp_scan_choice(tp_scan *in, const char *const *names, int n, int *out) {
  const char *w = tp_scan_word(in);
  for (int i = 0; w && i < n; i++)
    if (strcmp(w, names[i]) == 0) {
      *out = i;
      return true;
    }
  return w ? tp_scan_fail(in, "an unknown word before this") : false;
}

static const char *interned(tp_scan *in, const char *file, size_t n) {
  const char *f = tp_hmap_get(&in->names, file, n);
  if (f) return f;
  char *copy = tp_new_bytes(in->files, n + 1);
  tp_hmap_set(&in->names, file, n, memcpy(copy, file, n));
  return copy;
}

bool tp_scan_where(tp_scan *in, tp_pos *pos) {
  if (!tp_accept(in, "@")) return true;
  tp_scan_space(in);
  if (*in->s == '"') {
    const char *file = tp_scan_string(in);
    if (!file) return false;
    pos->file = interned(in, file, strlen(file));
  } else {
    size_t n = strcspn(in->s, ":");
    pos->file = interned(in, in->s, n);
    in->s += n;
  }
  return tp_expect(in, ":") && tp_scan_small(in, &pos->line);
}

bool tp_scan_dtype(tp_scan *in, tp_dtype *d) {
  const char *w = tp_scan_word(in);
  return w && (tp_dtype_parse(w, d) || tp_scan_fail(in, "a dtype is wanted before this"));
}

static bool element(tp_scan *in, tp_array *a, int64_t i) {
  double x;
  int64_t v;
  if (tp_dtype_float(a->dtype)) {
    if (!tp_scan_double(in, &x)) return false;
    tp_put(a->dtype, a->data, i, x);
  } else {
    if (!tp_scan_int(in, &v)) return false;
    tp_puti(a->dtype, a->data, i, v);
  }
  return true;
}

/* Enough characters for so many numbers? Asked before memory is taken. */
static bool long_enough(const tp_scan *in, int rank, const int64_t *shape) {
  int64_t most = (int64_t)strlen(in->s), n = 1;
  for (int i = 0; i < rank; i++)
    if (shape[i] == 0) return true;
  for (int i = 0; i < rank; i++) {
    if (shape[i] < 0 || shape[i] > most / n) return false;
    n *= shape[i];
  }
  return n <= most;
}

TP_GIVE tp_array *tp_scan_array(tp_scan *in, tp_dtype d, int rank, const int64_t *shape) {
  tp_array *a = NULL;
  tp_scan_space(in);
  if (!long_enough(in, rank, shape)) tp_scan_fail(in, "a number is wanted");
  else if (!(a = tp_array_new(d, rank, shape))) tp_scan_fail(in, "no memory for the constant");
  for (int64_t i = 0; a && i < a->count; i++)
    if (!element(in, a, i)) return tp_array_unref(a);
  if (a && tp_scan_more(in)) {
    tp_scan_fail(in, "more data than the shape has");
    return tp_array_unref(a);
  }
  return a;
}

void tp_put_string(tp_buf *b, const char *s) {
  tp_puts(b, "\"");
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') tp_putf(b, "\\%c", *s);
    else if (*s == '\n') tp_puts(b, "\\n");
    else tp_putn(b, s, 1);
  }
  tp_puts(b, "\"");
}

static bool plain_file(const char *s) {
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=";
  return *s && !s[strspn(s, plain)];
}

void tp_put_where(tp_buf *b, tp_pos pos) {
  if (!pos.file) return;
  tp_puts(b, " @ ");
  if (plain_file(pos.file)) tp_puts(b, pos.file);
  else tp_put_string(b, pos.file);
  tp_putf(b, ":%d", pos.line);
}

static void put_literal(tp_buf *b, tp_dtype d, double x) {
  if (d == TP_F64) tp_put_double(b, x);
  else tp_put_float(b, (float)x);
}

void tp_put_array(tp_buf *b, const tp_array *a) {
  for (int64_t i = 0; i < a->count; i++) {
    tp_puts(b, " ");
    if (tp_dtype_float(a->dtype)) put_literal(b, a->dtype, tp_get(a->dtype, a->data, i));
    else tp_putf(b, "%lld", (long long)tp_geti(a->dtype, a->data, i));
  }
}
