/* stored: how elements lie in files of weights: the rows of stored.def and of formats.def. */
#ifndef TP_STORED_H
#define TP_STORED_H
#include "base/array.h"
#include "base/blocks.h"

/* size: of a block, in elements and in bytes; dtype TP_NDTYPE: none of ours; format:
 * of blocks that we can read, or NONE */
typedef struct tp_stored {
  const char *name;
  int elements, bytes, gguf;
  const char *safetensors;
  tp_dtype dtype;
  tp_format format;
} tp_stored;
/* NULL: there is none of that name, that number */
const tp_stored *tp_stored_named(const char *name);
const tp_stored *tp_stored_of_gguf(int64_t number);
const tp_stored *tp_stored_of_safetensors(const char *name);
const tp_stored *tp_stored_of_dtype(tp_dtype d);
/* Bytes of an array. False: they overflow (extents beside a 0 too), or its rows are no whole
 * blocks. */
bool tp_stored_bytes(const tp_stored *as, int rank, const int64_t *shape, int64_t *bytes);
#endif
