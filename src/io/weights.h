/* weights: a collection of arrays and metadata in files that are mapped to be read only. Readers
 * of files add to it what they find; each number of a file is checked against the file's bytes
 * before it is used. */
#ifndef TP_WEIGHTS_H
#define TP_WEIGHTS_H
#include "io/io.h"
#include "io/stored.h"

typedef struct tp_mapped {
  const char *path;
  tp_array *bytes; /* NULL: not mapped yet */
  int64_t stamp[4];
} tp_mapped;

/* An array of a file: its elements are bytes at .. at + bytes - 1, row by row. */
typedef struct tp_weight {
  const char *name;
  const tp_stored *as; /* NULL: unknown to us, and called `kind` */
  const char *kind;
  int rank;
  int64_t shape[TP_MAXRANK], at, bytes;
  const tp_mapped *file;
  tp_array *read; /* what cannot be mapped, as NumPy's reader read it; else NULL */
} tp_weight;

/* ---- metadata ---- with GGUF's numbers */
typedef enum {
  TP_META_U8,
  TP_META_I8,
  TP_META_U16,
  TP_META_I16,
  TP_META_U32,
  TP_META_I32,
  TP_META_F32,
  TP_META_BOOL,
  TP_META_TEXT,
  TP_META_LIST,
  TP_META_U64,
  TP_META_I64,
  TP_META_F64,
  TP_NMETA
} tp_meta_type;
/* text: n bytes at p. A list: n items of type `of`; the first is at p. A number: at p. */
typedef struct tp_meta {
  const char *key; /* NULL: it is an item */
  tp_meta_type type, of;
  uint64_t n;
  const uint8_t *p;
} tp_meta;
/* Bytes of a number; 0: a text or a list. */
int tp_meta_size(tp_meta_type t);
double tp_meta_number(const tp_meta *m);                /* a bool is 0 or 1; NaN: no number */
bool tp_meta_integer(const tp_meta *m, int64_t *value); /* also u64 beyond 2^63: false */
/* Takes the next item off a list (a copy of it, which becomes shorter); false: it is empty. */
bool tp_meta_next(tp_meta *list, tp_meta *item);

/* ---- the collection ---- */
/* Zeroed, then opened once (open.h); closed any number of times, also where opening failed or left
 * by way of a guard, which it needs. Its arrays keep the map alive. */
typedef struct tp_weights {
  const char *path;
  tp_arena arena;
  TP_VEC(tp_mapped *) files;
  TP_VEC(tp_weight) all; /* in the order of the file */
  TP_VEC(tp_meta) meta;
  tp_hmap by_name, by_key; /* place + 1 in `all`, `meta` */
} tp_weights;
void tp_weights_close(tp_weights *w);
/* NULL: there is none */
const tp_weight *tp_weights_find(const tp_weights *w, const char *name);
const tp_meta *tp_weights_meta(const tp_weights *w, const char *key);
/* A view of the map where the file's elements are ours, else a new array: blocks as f32, bools,
 * what is not at a multiple of its size. NULL: dtype (`stored` gives the bytes of such kinds, with
 * those of a row as last axis), file (it has changed meanwhile), memory. */
TP_GIVE tp_array *tp_weight_array(const tp_weight *v, bool stored, tp_error *err);

/* ---- for the readers ---- */
const tp_mapped *tp_weights_map(tp_weights *w, const char *path, tp_error *err);
tp_weight *tp_weights_add(
    tp_weights *w, const tp_mapped *f, const char *name, size_t n, tp_error *err);
bool tp_weights_add_meta(
    tp_weights *w, const tp_mapped *f, tp_meta m, const char *key, size_t n, tp_error *err);
/* The arrays from `first` on lie in from .. to - 1 of their file, and none overlap; tight: there
 * are no gaps. */
bool tp_weights_places(
    tp_weights *w, int first, int64_t from, int64_t to, bool tight, tp_error *err);
/* "file: path: why at byte n"; false */
bool tp_mapped_fail(const tp_mapped *f, tp_error *err, int64_t at, const char *fmt, ...)
    TP_PRINTF(4, 5);
#endif
