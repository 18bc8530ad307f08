/* io: files. Rank 1. A written file replaces the old one as a whole; every offset and size that is
 * read is checked. file.c has files, cache.c those that we keep for later runs, npy.c and npz.c
 * NumPy's formats. */
#ifndef TP_IO_H
#define TP_IO_H
#include "base/base.h"
#include "base/array.h"
#include <stdio.h>

/* ---- file.c ---- */
typedef bool tp_writer(FILE *f, void *ud); /* false: it failed, and errno says why */
/* Replaces the file by what `write` writes: under a temporary name in the same folder, brought to
 * the disk, then renamed. If anything fails, the old file stays. Devices and pipes are written
 * into. */
bool tp_file_replace(const char *path, tp_writer *write, void *ud, tp_error *err);
tp_writer tp_file_text; /* ud: a tp_buf */
typedef struct {
  const char *path;
  tp_writer *write;
  void *ud;
} tp_file_new;
/* replaces all of them or none, as long as the machine runs on */
bool tp_file_replace_all(int n, const tp_file_new *v, tp_error *err);
/* a regular file, for reading */
FILE *tp_file_open(const char *path, int64_t *size, tp_error *err);
bool tp_file_read(FILE *f, void *p, size_t n); /* n bytes or false */
/* the whole file and a 0 behind, for tp_free */
TP_GIVE char *tp_file_whole(const char *path, size_t *n, tp_error *err);
/* Makes a folder and those above it, where they are missing. False: errno says why. */
bool tp_file_folder(char *path, bool mine);
/* "file: path: why"; false */
bool tp_file_fail(tp_error *err, const char *path, const char *why);

/* ---- cache.c: our files in a folder of the user's ---- */
enum { TP_CACHE_PATH = 1024 };
/* it stands between a file's bytes and their checksum (cksum's) and length */
#define TP_CACHE_TAIL "\ntempo "
/* Finds the folder. False: there is none; `why`, unless NULL, names a folder that was refused. */
bool tp_cache_folder(char dir[TP_CACHE_PATH], tp_buf *why);
/* Removes the oldest files from the file's folder if it has grown too large. */
void tp_cache_prune(const char *file);
/* Reads a file that ends with its checksum and length, and leaves these away; a 0 stands behind.
 * For tp_free. NULL: it is not there, or not whole. */
TP_GIVE char *tp_cache_whole(const char *path, size_t *n);
uint64_t tp_cache_processor(uint64_t h); /* hashes the lines that describe the processor */
/* 32 hexadecimal digits for a text and the hash of all else that its file depends on */
void tp_cache_name(char name[33], const char *text, size_t n, uint64_t h);
/* The same for files with such a name and a kind, ".plan" or ".gpu", if there is a folder. put adds
 * the tail. */
TP_GIVE char *tp_cache_get(const char *name, const char *kind, size_t *n);
void tp_cache_put(const char *name, const char *kind, tp_buf *b);
void tp_cache_drop(const char *name, const char *kind);

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
/* Loads either kind, told by its first bytes. An error leaves `out` empty. */
bool tp_arrays_load(const char *path, tp_arrays *out, tp_error *err);
bool tp_arrays_read(FILE *f, int64_t n, const char *path, tp_arrays *out, tp_error *err);
void tp_arrays_free(tp_arrays *a);
#endif
