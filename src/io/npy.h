/* npy: one array in NumPy's format inside a stream: a file of its own or a member of an .npz. */
#ifndef TP_NPY_H
#define TP_NPY_H
#include "io/io.h"
/* writes the bytes before the elements */
bool tp_npy_header(tp_buf *b, const tp_array *a, tp_error *err);
typedef struct {
  tp_dtype dtype;
  bool fortran, swapped;
  int rank;
  int64_t shape[TP_MAXRANK], count;
} tp_npy;
/* reads them of the n bytes that f has left; head: how many they are */
bool tp_npy_head(FILE *f, int64_t n, const char *label, tp_npy *h, int64_t *head, tp_error *err);
/* reads from the n bytes that f has left; crc: their checksum, NULL: not checked */
TP_GIVE tp_array *tp_npy_read(
    FILE *f, int64_t n, const char *label, const uint32_t *crc, tp_error *err);

/* ---- npz.c ---- */
typedef struct tp_zip tp_zip; /* an archive that is read now */
typedef struct {
  const char *name; /* with .npy at its end; no 0 behind; gone after the visit */
  int len;
  unsigned flags, method;
  uint32_t crc;
  uint64_t packed, size, at;
} tp_member;
/* Visits the members of the archive, f's n bytes, in the directory's order. */
typedef bool tp_npz_visit(void *ud, tp_zip *z, const tp_member *m);
bool tp_npz_each(
    FILE *f, int64_t n, const char *path, tp_npz_visit *visit, void *ud, tp_error *err);
/* f at the bytes of a member that is neither packed nor encrypted; NULL and no error: it is */
bool tp_npz_find(tp_zip *z, const tp_member *m, FILE **f);
TP_GIVE tp_array *tp_npz_take(tp_zip *z, const tp_member *m, const char *label);
bool tp_npz_read(FILE *f, int64_t n, const char *path, tp_arrays *out, tp_error *err);
#endif
