/* What every kernel begins with. After dialect.h and the prelude. */
#define TP_KERNEL_THREADS 256
#define TP_IVDEP
#define __builtin_expect(x, y) (x)

typedef struct {
  uint64_t seed;
} tp_kernel_host;

/* x / n and x % n, of x and n from 0 to `most`; devices divide numbers of 32 bits faster. */
#define TP_IS_SMALL(most) ((uint64_t)(most) >> 32 == 0)
#define TP_DIV_OF(most, x, n) \
  (TP_IS_SMALL(most) ? (int64_t)((uint32_t)(x) / (uint32_t)(n)) : (x) / (n))
#define TP_MOD_OF(most, x, n) \
  (TP_IS_SMALL(most) ? (int64_t)((uint32_t)(x) % (uint32_t)(n)) : (x) % (n))

/* All threads of the block return, or none. */
#define TP_RETURN_IF(ends) \
  do { \
    const int ends_ = (ends) != 0; \
    BARRIER(); \
    if (ends_) return; \
  } while (0)

/* Is this the first fault of the run? Then the caller notes where it was. */
TP_FN int tp_fault_is_first(GLOBAL int64_t *fault, int pos) {
  return ATOMIC_CAS_U64((GLOBAL uint64_t *)fault, 0, (uint64_t)(pos + 1)) == 0;
}

/* ---- operators (emit/body/operator.c) ---- */

TP_FN uint64_t tp_mad_u64(uint64_t a, uint64_t b, uint64_t c) { return a * b + c; }
/* Adds a term to sum_, whose blocks of TP_DOT_BLOCK terms are added up in all_. */
#define TP_TERM(mad, x, y) \
  do { \
    sum_ = mad((x), (y), sum_); \
    if (++terms_ == TP_DOT_BLOCK) all_ = all_ + sum_, sum_ = 0, terms_ = 0; \
  } while (0)
/* Place `at` of n, if it is one, at which `far`, whole steps, lies; else the loop goes on. */
#define TP_BEHIND(at, n, far, step) \
  const int64_t at = (far) / (step); \
  if ((far) < 0 || at * (step) != (far) || at >= (n)) continue;
/* Does x go before y? NaN is last both ways. */
#define TP_BEFORE_F(down, x, y) (((down) ? (x) > (y) : (x) < (y)) || ((y) != (y) && (x) == (x)))
#define TP_BEFORE_I(down, x, y) ((down) ? (x) > (y) : (x) < (y))
