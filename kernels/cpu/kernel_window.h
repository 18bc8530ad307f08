/* Takes elements lo .. hi of n from (or adds them to) places `step` apart, in several rows; the
 * others are 0 (or left out). */
#define WINDOW(T) \
  static void window_##T(void *to_, int64_t torow, const void *from_, int64_t fromrow, \
      int64_t rows, const tp_window *w) { \
    T *to = to_; \
    const T *from = from_; \
    int64_t lo = w->lo, hi = w->hi, n = w->n, step = w->step; \
    for (; rows > 0; rows--, to += torow, from += fromrow) { \
      for (int64_t i = 0; i < lo; i++) to[i] = 0; \
      if (step == 1) \
        for (int64_t i = lo; i < hi; i++) to[i] = from[i]; \
      else \
        for (int64_t i = lo; i < hi; i++) to[i] = from[i * step]; \
      for (int64_t i = hi; i < n; i++) to[i] = 0; \
    } \
  }
WINDOW(uint8_t)
WINDOW(uint16_t)
WINDOW(uint32_t)
WINDOW(uint64_t)

#define UNWINDOW(sfx, T) \
  static void unwindow_##sfx(void *to_, int64_t torow, const void *from_, int64_t fromrow, \
      int64_t rows, const tp_window *w) { \
    T *restrict to = to_; \
    const T *restrict from = from_; \
    int64_t lo = w->lo, hi = w->hi, step = w->step; \
    for (; rows > 0; rows--, to += torow, from += fromrow) { \
      if (step == 1) \
        for (int64_t i = lo; i < hi; i++) to[i] = (T)(to[i] + from[i]); \
      else \
        for (int64_t i = lo; i < hi; i++) to[i * step] = (T)(to[i * step] + from[i]); \
    } \
  }
UNWINDOW(f32, float)
UNWINDOW(f64, double)
UNWINDOW(u8, uint8_t)
UNWINDOW(i32, uint32_t)
UNWINDOW(i64, uint64_t)
