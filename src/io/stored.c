/* stored: finds the rows of stored.def and formats.def. */
#include "io/stored.h"

enum { TP_NONE = TP_NDTYPE };
static const tp_stored kinds[] = {
#define X(NAME, text, elements, bytes, gguf) \
  { text, elements, bytes, gguf, "", TP_NDTYPE, TP_##NAME },
#include "base/formats.def"
#undef X
#define S(name, elements, bytes, gguf, safetensors, dtype) \
  { name, elements, bytes, gguf, safetensors, (tp_dtype)TP_##dtype, TP_FORMAT_NONE },
#include "io/stored.def"
#undef S
};

#define FIND_KIND(test) \
  for (size_t k = 0; k < TP_LEN(kinds); k++) \
    if (test) return &kinds[k]; \
  return NULL
const tp_stored *tp_stored_named(const char *name) { FIND_KIND(!strcmp(kinds[k].name, name)); }
const tp_stored *tp_stored_of_gguf(int64_t number) { FIND_KIND(kinds[k].gguf == number); }
const tp_stored *tp_stored_of_safetensors(const char *name) {
  FIND_KIND(*name && !strcmp(kinds[k].safetensors, name));
}
const tp_stored *tp_stored_of_dtype(tp_dtype d) { FIND_KIND(kinds[k].dtype == d); }

bool tp_stored_bytes(const tp_stored *as, int rank, const int64_t *shape, int64_t *bytes) {
  int64_t n = as->bytes, last = rank ? shape[rank - 1] : 1;
  bool empty = false;
  for (int k = 0; k < rank; k++) {
    empty |= shape[k] == 0;
    if (shape[k] && __builtin_mul_overflow(n, shape[k], &n)) return false;
  }
  *bytes = empty ? 0 : n / as->elements;
  return last % as->elements == 0;
}
