/* blocks: weights in blocks of few bits, to and from f32. */
#ifndef TP_BLOCKS_H
#define TP_BLOCKS_H
#include "base/base.h"

typedef enum tp_format {
  TP_FORMAT_NONE, /* plain elements */
#define X(NAME, text, elements, bytes, gguf) TP_##NAME,
#include "base/formats.def"
#undef X
  TP_NFORMAT
} tp_format;
extern const char *const tp_format_names[TP_NFORMAT];
/* of a block */
static inline int tp_format_elements(tp_format f) {
  switch (f) {
#define X(NAME, text, elements, bytes, gguf) \
  case TP_##NAME: \
    return elements;
#include "base/formats.def"
#undef X
  default: return 1;
  }
}
static inline int tp_format_bytes(tp_format f) {
  switch (f) {
#define X(NAME, text, elements, bytes, gguf) \
  case TP_##NAME: \
    return bytes;
#include "base/formats.def"
#undef X
  default: return 1;
  }
}
/* NONE: there is none of that name, an error */
tp_format tp_format_named(const char *name, tp_pos pos, tp_error *err);
/* Each block's elements, as the format defines them: one rounding an operation. */
void tp_blocks_decode(tp_format f, const uint8_t *blocks, int64_t nblocks, float *to);
/* The blocks that llama.cpp's reference makes of the elements. */
void tp_blocks_encode(tp_format f, const float *from, int64_t nblocks, uint8_t *to);
#endif
