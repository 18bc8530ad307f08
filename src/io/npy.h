/* npy: an array in NumPy's format, in a file of its own or a member of an .npz. */
#ifndef TP_NPY_H
#define TP_NPY_H
#include "io/io.h"
/* all before the elements */
bool tp_npy_header(tp_buf *b, const tp_array *a, tp_error *err);
/* f has n bytes left */
TP_GIVE tp_array *tp_npy_read(FILE *f, int64_t n, const char *label, tp_error *err);
bool tp_npz_read(FILE *f, int64_t n, const char *path, tp_arrays *out, tp_error *err);
#endif
