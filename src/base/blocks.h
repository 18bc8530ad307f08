/* blocks: weights in blocks of few bits, to and from f32. */
#ifndef TP_BLOCKS_H
#define TP_BLOCKS_H
#include "base/base.h"

typedef enum tp_format {
  TP_FORMAT_NONE, /* plain elements */
#define X(NAME, text, elements, bytes) TP_##NAME,
#include "base/formats.def"
#undef X
  TP_NFORMAT
} tp_format;
/* of a block */
typedef struct tp_format_info {
  const char *name;
  int elements, bytes;
} tp_format_info;
extern const tp_format_info tp_formats[TP_NFORMAT];
/* NONE: there is none of that name */
tp_format tp_format_parse(const char *name);
/* Each block's elements, as the format defines them: one rounding an operation. */
void tp_blocks_decode(tp_format f, const uint8_t *blocks, int64_t nblocks, float *to);
/* The blocks that llama.cpp's reference makes of the elements. */
void tp_blocks_encode(tp_format f, const float *from, int64_t nblocks, uint8_t *to);
#endif
