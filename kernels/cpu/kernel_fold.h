/* Reductions of blocks, and scans. */

/* ---- across: acc[i] takes row i ---- a row goes by LANES partial results, joined at its end */
#define LANES TP_FOLD_LANES

/* T: elements, P: partial results, A: accumulators */
#define ACROSS(name, T, P, A, fn, unit) \
  static void name(void *acc_, const void *a_, int64_t row, int64_t rows, int64_t n) { \
    A *acc = acc_; \
    for (int64_t i = 0; i < rows; i++) { \
      const T *a = (const T *)a_ + i * row; \
      A r = acc[i]; \
      int64_t j = 0; \
      for (int64_t end; j + LANES <= n;) { \
        TP_LANES_START(P, part, odd, unit); \
        end = n - j > TP_FOLD_PART ? j + TP_FOLD_PART : n; \
        for (; j + LANES <= end; j += LANES) \
          for (int k = 0; k < LANES; k++) { \
            P y = (P)a[j + k]; \
            TP_LANE_##fn(P, part[k], odd[k], y); \
          } \
        TP_LANES_JOIN(A, fn, r, part, odd); \
      } \
      for (; j < n; j++) { \
        A y = (A)a[j]; \
        r = (A)TP_FOLD_##fn(r, y); \
      } \
      acc[i] = r; \
    } \
  }
/* ---- down: acc[j] takes column j ---- some long rows at a time, so that each is read as it lies
 * and accumulators are seldom moved */
enum { DOWN_ROWS = 8, DOWN_LONG = 8 * LANES };
#define DOWN(name, T, A, fn) \
  static void name(void *acc_, const void *a_, int64_t row, int64_t rows, int64_t n) { \
    A *restrict acc = acc_; \
    for (int64_t first = 0, end; first < rows; first = end) { \
      int64_t j = 0; \
      end = n >= DOWN_LONG && rows - first > DOWN_ROWS ? first + DOWN_ROWS : rows; \
      for (; j + LANES <= n; j += LANES) { \
        A r[LANES]; \
        for (int k = 0; k < LANES; k++) r[k] = acc[j + k]; \
        for (int64_t i = first; i < end; i++) \
          for (int k = 0; k < LANES; k++) { \
            A y = (A)((const T *)a_)[i * row + j + k]; \
            r[k] = (A)TP_FOLD_##fn(r[k], y); \
          } \
        for (int k = 0; k < LANES; k++) acc[j + k] = r[k]; \
      } \
      for (int64_t i = first; i < end && j < n; i++) { \
        const T *a = (const T *)a_ + i * row; \
        for (int64_t k = j; k < n; k++) { \
          A x = acc[k], y = (A)a[k]; \
          acc[k] = (A)TP_FOLD_##fn(x, y); \
        } \
      } \
    } \
  }
#define FOLD(red, sfx, T, P, A, fn, unit) \
  ACROSS(across_##red##_##sfx, T, P, A, fn, unit) DOWN(down_##red##_##sfx, T, A, fn)
FOLD(sum, f32, float, float, double, ADD, 0)
FOLD(sum, wide, float, double, double, ADD, 0)
FOLD(prod, f32, float, double, double, MUL, 1)
FOLD(max, f32, float, float, float, FMOST, -INFINITY)
FOLD(min, f32, float, float, float, FLEAST, INFINITY)
FOLD(sum, f64, double, double, double, ADD, 0)
FOLD(prod, f64, double, double, double, MUL, 1)
FOLD(max, f64, double, double, double, FMOST, -INFINITY)
FOLD(min, f64, double, double, double, FLEAST, INFINITY)
/* Sums and products in the unsigned type; u8 by way of u32, so that nothing is promoted to int. */
FOLD(sum, i32, uint32_t, uint32_t, uint32_t, ADD, 0)
FOLD(prod, i32, uint32_t, uint32_t, uint32_t, MUL, 1)
FOLD(max, i32, int32_t, int32_t, int32_t, MOST, INT32_MIN)
FOLD(min, i32, int32_t, int32_t, int32_t, LEAST, INT32_MAX)
FOLD(sum, i64, uint64_t, uint64_t, uint64_t, ADD, 0)
FOLD(prod, i64, uint64_t, uint64_t, uint64_t, MUL, 1)
FOLD(max, i64, int64_t, int64_t, int64_t, MOST, INT64_MIN)
FOLD(min, i64, int64_t, int64_t, int64_t, LEAST, INT64_MAX)
FOLD(sum, u8, uint8_t, uint8_t, uint8_t, ADD, 0)
FOLD(prod, u8, uint8_t, uint8_t, uint8_t, MUL, 1)
FOLD(max, u8, uint8_t, uint8_t, uint8_t, MOST, 0)
FOLD(min, u8, uint8_t, uint8_t, uint8_t, LEAST, 255)
FOLD(max, bool, uint8_t, uint8_t, uint8_t, ANY, 0)
FOLD(min, bool, uint8_t, uint8_t, uint8_t, ALL, 1)

/* ---- the row of the best of each column ---- */
#define BETTER_COLUMNS(T, get, better, width) \
  for (int64_t i = 1; i < rows; i++) { \
    const T *b = a + i * row; \
    for (int k = 0; k < (width); k++) { \
      T v = get(b[k]), x = m[k]; \
      bool is = better(v, x) | ((v != v) & (x == x)); \
      m[k] = is ? v : x; \
      in[k] = is ? i : in[k]; \
    } \
  }
#define BEST(name, T, get, better) \
  static void name(int64_t *at, const void *a_, int64_t row, int64_t rows, int64_t n) { \
    for (int64_t j = 0; j < n; j += LANES) { \
      const T *a = (const T *)a_ + j; \
      int width = n - j < LANES ? (int)(n - j) : LANES; \
      T m[LANES]; \
      int64_t in[LANES]; \
      for (int k = 0; k < LANES; k++) m[k] = k < width ? get(a[k]) : 0, in[k] = 0; \
      if (width == LANES) { \
        BETTER_COLUMNS(T, get, better, LANES) \
      } else { \
        BETTER_COLUMNS(T, get, better, width) \
      } \
      for (int k = 0; k < width; k++) at[j + k] = in[k]; \
    } \
  }
/* Goes by rows of LANES, then takes the best of the columns; the rest of the row comes last. */
#define BEST_OF(name, columns, T, get, better) \
  static int64_t name(const void *a_, int64_t n) { \
    const T *a = a_; \
    int64_t at[LANES], first = 0, rows = n / LANES, i = 1; \
    if (rows > 1) { \
      columns(at, a, LANES, rows, LANES); \
      for (int k = 0; k < LANES; k++) { \
        T v = get(a[at[k] * LANES + k]), x = get(a[first]); \
        bool same = (v == x) | ((v != v) & (x != x)); \
        if (k == 0 || better(v, x) || (v != v && x == x) || (same && at[k] * LANES + k < first)) \
          first = at[k] * LANES + k; \
      } \
      i = rows * LANES; \
    } \
    for (; i < n; i++) { \
      T v = get(a[i]), x = get(a[first]); \
      if (better(v, x) || (v != v && x == x)) first = i; \
    } \
    return first; \
  }
#define TRUTH(x)    ((x) != 0)
#define BELOW(v, x) ((v) < (x))
#define ABOVE(v, x) ((v) > (x))
#define BESTS(sfx, T, get) \
  BEST(least_##sfx, T, get, BELOW) \
  BEST_OF(least_of_##sfx, least_##sfx, T, get, BELOW) \
  BEST(most_##sfx, T, get, ABOVE) BEST_OF(most_of_##sfx, most_##sfx, T, get, ABOVE)
BESTS(f32, float, AS_IS)
BESTS(f64, double, AS_IS)
BESTS(i32, int32_t, AS_IS)
BESTS(i64, int64_t, AS_IS)
BESTS(u8, uint8_t, AS_IS)
BESTS(bool, uint8_t, TRUTH)

/* ---- rows that are added to one ---- */
#define SUM_ROWS(width) \
  double s[LANES]; \
  for (int k = 0; k < (width); k++) s[k] = to[i + k]; \
  for (int64_t q = j;; q = t[q].next) { \
    const float *a = from + q * apart + i; \
    for (int k = 0; k < (width); k++) s[k] += a[k]; \
    if (!t[q].next) break; \
  } \
  for (int k = 0; k < (width); k++) to[i + k] = (float)s[k];
static void sum_rows(
    float *to, const float *from, int64_t apart, const tp_row_hit *t, int64_t j, int64_t n) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) { SUM_ROWS(LANES) }
  if (i < n) { SUM_ROWS(n - i) }
}

static void add_rows(double *to, const float *from, int64_t apart, const int64_t *at, int64_t step,
    int64_t rows, int64_t n) {
  for (int64_t j = 0; j < rows; j++) {
    double *y = to + at[j * step] * n;
    const float *x = from + j * apart;
    IVDEP for (int64_t i = 0; i < n; i++) y[i] += x[i];
  }
}

/* ---- scans: `lanes` neighbouring lines at once ---- */
#define WRAPPED(a, b, c) ((a) * (b) + (c))
/* A line by itself keeps its sum at hand; 1 times it is itself. */
#define SCAN_LINE(T, A, next) \
  for (int64_t i = 0; i < n; i++) { \
    const A v = (A)((const T *)x_)[i * xstep]; \
    s = next; \
    ((T *)y_)[i * ystep] = (T)s; \
  }
#define SCANS(sfx, T, A, FACTOR, MAD) \
  static void sum_scan_##sfx(void *y_, int64_t ystep, const void *x_, int64_t xstep, int64_t n, \
      int64_t lanes, double f_, void *carry) { \
    A *c = carry, f = FACTOR(f_), s = *c; \
    if (lanes == 1 && f == 1) { \
      SCAN_LINE(T, A, s + v) \
    } else if (lanes == 1) { \
      SCAN_LINE(T, A, MAD(f, s, v)) \
    } \
    for (int64_t i = 0; i < n && lanes != 1; i++) { \
      const T *x = (const T *)x_ + i * xstep; \
      T *y = (T *)y_ + i * ystep; \
      IVDEP for (int64_t k = 0; k < lanes; k++) { \
        c[k] = MAD(f, c[k], (A)x[k]); \
        y[k] = (T)c[k]; \
      } \
    } \
  } \
  static void prod_scan_##sfx(void *y_, int64_t ystep, const void *x_, int64_t xstep, int64_t n, \
      int64_t lanes, double f_, void *carry) { \
    A *c = carry; \
    (void)f_; \
    for (int64_t i = 0; i < n; i++) { \
      const T *x = (const T *)x_ + i * xstep; \
      T *y = (T *)y_ + i * ystep; \
      IVDEP for (int64_t k = 0; k < lanes; k++) { \
        c[k] = c[k] * (A)x[k]; \
        y[k] = (T)c[k]; \
      } \
    } \
  }
#define RECUR(sfx, T, A, MAD) \
  static void recur_##sfx(void *y_, int64_t ystep, const void *x_, int64_t xstep, const void *c_, \
      int64_t cstep, int64_t n, int64_t lanes, void *carry) { \
    A *r = carry; \
    for (int64_t i = 0; i < n; i++) { \
      const T *x = (const T *)x_ + i * xstep, *c = (const T *)c_ + i * cstep; \
      T *y = (T *)y_ + i * ystep; \
      if (i == 0) \
        for (int64_t k = 0; k < lanes; k++) r[k] = (A)x[k]; \
      else IVDEP for (int64_t k = 0; k < lanes; k++) r[k] = MAD((A)c[k], r[k], (A)x[k]); \
      for (int64_t k = 0; k < lanes; k++) y[k] = (T)r[k]; \
    } \
  }
RECUR(f32, float, double, tp_mad_f64)
RECUR(f64, double, double, tp_mad_f64)
RECUR(u8, uint8_t, uint64_t, WRAPPED)
RECUR(i32, int32_t, uint64_t, WRAPPED)
RECUR(i64, int64_t, uint64_t, WRAPPED)
#define WHOLE(f) ((uint64_t)tp_f64_to_i64(f))
SCANS(f32, float, double, AS_IS, tp_mad_f64)
SCANS(f64, double, double, AS_IS, tp_mad_f64)
SCANS(u8, uint8_t, uint64_t, WHOLE, WRAPPED)
SCANS(i32, int32_t, uint64_t, WHOLE, WRAPPED)
SCANS(i64, int64_t, uint64_t, WHOLE, WRAPPED)
