/* io: files. Rank 1. What is written replaces a file as a whole; every offset and size of what is
 * read is checked. */
#ifndef TP_IO_H
#define TP_IO_H
#include "base/base.h"
#include "base/array.h"
#include <stdio.h>

/* ---- file.c ---- */
typedef bool tp_writer(FILE *f, void *ud); /* false: it failed, and errno says why */
/* What write makes becomes the file: made under a temporary name in the same folder, brought to the
 * disk, renamed. When anything fails, what was there before still is. Devices and pipes are written
 * into. */
bool tp_file_replace(const char *path, tp_writer *write, void *ud, tp_error *err);
tp_writer tp_file_text; /* ud: a tp_buf */
typedef struct {
  const char *path;
  tp_writer *write;
  void *ud;
} tp_file_new;
/* all are written before the first takes its place */
bool tp_file_replace_all(int n, const tp_file_new *v, tp_error *err);
/* a regular file, for reading */
FILE *tp_file_open(const char *path, int64_t *size, tp_error *err);
bool tp_file_read(FILE *f, void *p, size_t n); /* n bytes or false */
/* all of it and a 0 behind, for tp_free */
TP_GIVE char *tp_file_whole(const char *path, size_t *n, tp_error *err);
/* "file: path: why"; false */
bool tp_file_fail(tp_error *err, const char *path, const char *why);

/* ---- npy.c, npz.c: NumPy's files ---- */
typedef struct {
  const char *name;
  tp_array *a;
} tp_named;
/* single: one array without a name (.npy) */
typedef struct {
  tp_named *v;
  int n;
  bool single;
} tp_arrays;
/* dtype: NumPy has no bf16 */
bool tp_npy_save(const char *path, const tp_array *a, tp_error *err);
/* stored, as savez does */
bool tp_npz_save(const char *path, int n, const tp_named *v, tp_error *err);
/* Either kind, told by its first bytes; n bytes of f. An error leaves out empty. */
bool tp_arrays_load(const char *path, tp_arrays *out, tp_error *err);
bool tp_arrays_read(FILE *f, int64_t n, const char *path, tp_arrays *out, tp_error *err);
void tp_arrays_free(tp_arrays *a);
#endif
