/* bytes: writes states into a tp_buf, and reads them. A reader that has run out stays so and gives
 * zeros, so one look at `bad` at the end suffices. */
#ifndef TP_BYTES_H
#define TP_BYTES_H
#include "base/array.h"

typedef struct tp_reader {
  const char *p;
  size_t left;
  bool bad;
} tp_reader;

static inline void tp_put_bytes(tp_buf *b, const void *p, size_t n) {
  if (n) tp_putn(b, p, n);
}
static inline void tp_put_i64(tp_buf *b, int64_t v) { tp_put_bytes(b, &v, sizeof v); }
/* NULL: not so many are left */
static inline const void *tp_take(tp_reader *r, size_t n) {
  if (r->bad || n > r->left) {
    r->bad = true;
    return NULL;
  }
  r->p += n;
  r->left -= n;
  return r->p - n;
}
static inline void tp_take_bytes(tp_reader *r, void *to, size_t n) {
  const void *p = tp_take(r, n);
  if (n && p) memcpy(to, p, n);
  else if (n) memset(to, 0, n);
}
static inline int64_t tp_take_i64(tp_reader *r) {
  int64_t v;
  tp_take_bytes(r, &v, sizeof v);
  return v;
}
/* A number that must be in lo .. hi - 1. */
static inline int64_t tp_take_in(tp_reader *r, int64_t lo, int64_t hi) {
  int64_t v = tp_take_i64(r);
  if (v >= lo && v < hi) return v;
  r->bad = true;
  return lo;
}
void tp_put_array_bytes(tp_buf *b, const tp_array *a); /* NULL too */
/* NULL and not bad: there was none. Sizes are compared with what is left before anything is
 * allocated. */
TP_GIVE tp_array *tp_take_array(tp_reader *r);
#endif
