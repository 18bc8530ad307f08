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
