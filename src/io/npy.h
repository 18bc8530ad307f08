/* npy: one array in NumPy's format inside a stream: a file of its own or a member of an .npz. */
#ifndef TP_NPY_H
#define TP_NPY_H
#include "io/io.h"
/* writes the bytes before the elements */
bool tp_npy_header(tp_buf *b, const tp_array *a, tp_error *err);
/* reads from the n bytes that f has left; crc: their checksum, NULL: not checked */
TP_GIVE tp_array *tp_npy_read(
    FILE *f, int64_t n, const char *label, const uint32_t *crc, tp_error *err);
bool tp_npz_read(FILE *f, int64_t n, const char *path, tp_arrays *out, tp_error *err);
#endif
