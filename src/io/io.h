/* io: files. Rank 7. Written to a temporary name in the same folder and renamed. Every offset and size of what is read is checked. */
#ifndef TP_IO_H
#define TP_IO_H
#include "base/base.h"
#include "base/array.h"
bool tp_npy_save(const char *path, const tp_array *a, tp_error *err);        /* NumPy .npy 1.0; bf16 as a structured V2 descr is refused (dtype) */
TP_GIVE tp_array *tp_npy_load(const char *path, tp_error *err);              /* C order and Fortran order; little endian */
#endif
