/* weights: reads all that files of weights say, for open_test.c and the fuzzer. */
#ifndef WEIGHTS_H
#define WEIGHTS_H
#include "io/gguf.h"
#include "io/json.h"
#include "io/open.h"
#include "io/safetensors.h"
#include <stdlib.h>

static uint64_t weights_seen; /* what was read, so that it is read */

static void read_bytes(const void *p, size_t n) {
  for (size_t k = 0; k < n; k++) weights_seen += ((const uint8_t *)p)[k];
}

static void read_meta(const tp_meta *m) {
  tp_meta list = *m, item;
  int64_t v;
  if (m->type == TP_META_TEXT) read_bytes(m->p, m->n);
  else if (m->type == TP_META_LIST)
    while (tp_meta_next(&list, &item)) read_meta(&item);
  else weights_seen += tp_meta_integer(m, &v) || tp_meta_number(m) > 0;
}

/* Do errors have their class, path and words? */
static bool read_weights(const tp_weights *w, const char *path) {
  bool ok = true;
  for (int k = 0; k < w->meta.n; k++) {
    ok &= tp_weights_meta(w, w->meta.v[k].key) == &w->meta.v[k];
    read_meta(&w->meta.v[k]);
  }
  for (int k = 0; k < 2 * w->all.n; k++) {
    const tp_weight *v = &w->all.v[k / 2];
    tp_error e = { 0 };
    tp_array *a = tp_weight_array(v, k % 2, &e);
    ok &= tp_weights_find(w, v->name) == v;
    if (a) read_bytes(a->data, tp_array_bytes(a));
    else ok &= e.code == TP_E_DTYPE || e.code == TP_E_MEMORY;
    tp_array_unref(a);
  }
  return ok;
}

static bool right_error(const tp_error *e, const char *path) {
  return e->code == TP_E_MEMORY ||
      (e->code == TP_E_FILE && !strncmp(e->msg, "file: ", 6) && strstr(e->msg, path));
}

/* A file that `open` opens is read, or refused as it should be. */
static bool opens_or_refuses(bool (*open)(tp_weights *w, const void *from, tp_error *e),
    const void *from, const char *path) {
  static tp_weights w;
  static tp_error e;
  volatile bool ok = true;
  tp_guard g;
  w = (tp_weights){ 0 };
  e = (tp_error){ 0 };
  if (TP_GUARDED(&g)) {
    ok = open(&w, from, &e) ? read_weights(&w, path) : right_error(&e, path);
    tp_unguard(&g);
  }
  tp_weights_close(&w);
  return ok;
}

/* A file's bytes in memory that ends with them, so that sanitizers see what is read behind. */
typedef struct {
  const char *path;
  const void *p;
  size_t n;
  bool (*read)(tp_weights *w, const tp_mapped *f, tp_error *err);
} bytes_t;

static inline bool gguf_of(tp_weights *w, const tp_mapped *f, tp_error *e) {
  return tp_gguf_read(w, f, true, e);
}

static inline bool safetensors_of(tp_weights *w, const tp_mapped *f, tp_error *e) {
  return tp_safetensors_read(w, f, true, e);
}

static bool open_bytes(tp_weights *w, const void *from, tp_error *e) {
  const bytes_t *b = from;
  int64_t n = (int64_t)b->n;
  tp_mapped *f = TP_NEW(&w->arena, tp_mapped);
  *f = (tp_mapped){ .path = b->path };
  tp_hmap_init(&w->by_name, &w->arena);
  tp_hmap_init(&w->by_key, &w->arena);
  TP_PUSH(&w->arena, &w->files, f); /* from here on a close frees it */
  f->bytes = tp_array_wrap(TP_U8, 1, &n, (void *)b->p);
  if (!f->bytes) return tp_no_memory(e, TP_NOWHERE);
  return b->read(w, f, e);
}

static inline bool open_path(tp_weights *w, const void *from, tp_error *e) {
  return tp_weights_open(w, from, e);
}

static inline void read_json(const tp_json *j) {
  const char *s = tp_json_key(j), *t = tp_json_text(j);
  int64_t v;
  if (s) read_bytes(s, strlen(s));
  if (t) read_bytes(t, strlen(t));
  weights_seen += (uint64_t)tp_json_is(j) + (tp_json_integer(j, &v) || tp_json_number(j) > 0);
  for (j = tp_json_first(j); j; j = tp_json_next(j)) read_json(j);
}

/* n bytes with a 0 behind them */
static inline bool json_or_refuses(const char *text, size_t n) {
  tp_error e = { 0 };
  tp_guard g;
  volatile bool ok = true;
  if (TP_GUARDED(&g)) {
    tp_json *j = tp_json_parse("text", text, n, &e);
    if (j) read_json(j);
    else ok = right_error(&e, "text");
    tp_json_free(j);
    tp_unguard(&g);
  }
  return ok;
}
#endif
