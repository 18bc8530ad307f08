/* Elementwise loops: one for each row and type of scalar.def, and casts. The result may lie over an
 * operand of its own size, exactly. */
#ifdef __clang__
#define IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define IVDEP _Pragma("GCC ivdep")
#endif
#define ELEMENTWISE(name, R, body) \
  static int name(void *o_, const void *a_, const void *b_, const void *c_, int64_t n) { \
    R *o = o_; \
    (void)a_; \
    (void)b_; \
    (void)c_; \
    body return TP_K_OK; \
  }
#define ELEMENTS(value) IVDEP for (int64_t i = 0; i < n; i++) o[i] = value;

#define LOOP_1(name, T, R, f) ELEMENTWISE(name, R, const T *a = a_; ELEMENTS(f(a[i])))
#define LOOP_2(name, T, R, f) \
  ELEMENTWISE(name, R, const T *a = a_; const T *b = b_; ELEMENTS(f(a[i], b[i])))
#define LOOP_3(name, T, R, f) \
  ELEMENTWISE(name, R, const uint8_t *a = a_; const T *b = b_; const T *c = c_; \
              ELEMENTS(f(a[i], b[i], c[i])))

/* Integers without a value end the loop. */
#define LOOP_FAULT(name, T, f, fault, code) \
  ELEMENTWISE( \
      name, T, const T *a = a_; const T *b = b_; for (int64_t i = 0; i < n; i++) { \
        if (fault(a[i], b[i])) return code + 4 * (int)i; \
        o[i] = f(a[i], b[i]); \
      })

/* Computes all elements of a part as if they were near, then those that are not, one by one, from a
 * copy of the operands. */
enum { PART = 256 };
#define LOOP_NEAR(name, T, OF, HOLD, any, near, is_near) \
  ELEMENTWISE( \
      name, T, T held[2][PART]; for (int64_t at = 0; at < n; at += PART, o += PART) { \
        const T *a = (const T *)a_ + at; \
        const T *b = (const T *)b_ + at; \
        int64_t m = n - at < PART ? n - at : PART; \
        int far = 0; \
        (void)b; \
        for (int64_t i = 0; i < m; i++) far |= !is_near(OF(a, b)); \
        if (far) { HOLD } \
        IVDEP for (int64_t i = 0; i < m; i++) o[i] = near(OF(a, b)); \
        for (int64_t i = 0; far && i < m; i++) \
          if (!is_near(OF(a, b))) o[i] = any(OF(a, b)); \
      })
#define OF_1(a, b) a[i]
#define OF_2(a, b) a[i], b[i]
#define HOLD_1     a = memcpy(held[0], a, sizeof *a * (size_t)m);
#define HOLD_2     HOLD_1 b = memcpy(held[1], b, sizeof *b * (size_t)m);

#define RESULT_SAME(T) T
#define RESULT_BOOL(T) uint8_t
#define NEAR_NONE      PLAIN, NONE, NONE
#define NEAR_AT(p, f)  NEAR, p, f
#define FLOAT_PLAIN(p, f, NAME, n, result, sfx, T) \
  LOOP_##n(NAME##_##sfx, T, RESULT_##result(T), tp_##NAME##_##sfx)
#define FLOAT_NEAR(p, f, NAME, n, result, sfx, T) \
  LOOP_NEAR(NAME##_##sfx, T, OF_##n, HOLD_##n, tp_##NAME##_##sfx, tp_near_##f##_##sfx, \
      tp_is_near_##p##_##sfx)
#define FLOAT_LOOP_(kind, p, f, NAME, n, result, sfx, T) FLOAT_##kind(p, f, NAME, n, result, sfx, T)
#define FLOAT_LOOP(...)                                  FLOAT_LOOP_(__VA_ARGS__)
#define INTEGER_NONE(NAME, n, result, sfx, T, why) \
  LOOP_##n(NAME##_##sfx, T, RESULT_##result(T), tp_##NAME##_##sfx)
#define INTEGER_FAULT(NAME, n, result, sfx, T, why) \
  LOOP_FAULT(NAME##_##sfx, T, tp_##NAME##_##sfx, tp_fault_##why##_##sfx, TP_K_##why)
#define INTEGER_DIVZERO INTEGER_FAULT
#define INTEGER_NEGPOW  INTEGER_FAULT
#define LOOPS_FLOAT(NAME, n, result, near, fault) \
  FLOAT_LOOP(NEAR_##near, NAME, n, result, f32, float) \
  FLOAT_LOOP(NEAR_##near, NAME, n, result, f64, double)
#define LOOPS_NUMBER(NAME, n, result, near, fault) \
  LOOPS_FLOAT(NAME, n, result, near, fault) \
  INTEGER_##fault(NAME, n, result, u8, uint8_t, fault) INTEGER_##fault( \
      NAME, n, result, i32, int32_t, fault) INTEGER_##fault(NAME, n, result, i64, int64_t, fault)
#define LOOPS_ANY(NAME, n, result, near, fault) \
  LOOPS_NUMBER(NAME, n, result, near, fault) LOOPS_BOOL(NAME, n, result, near, fault)
#define LOOPS_BOOL(NAME, n, result, near, fault) \
  LOOP_##n(NAME##_bool, uint8_t, uint8_t, tp_##NAME##_bool)
#define S(NAME, n, types, result, f, i, b, near, fault) LOOPS_##types(NAME, n, result, near, fault)
#include "kern/scalar.def"
#undef S

#define CASTS(from, T) \
  LOOP_1(cast_##from##_bool, T, uint8_t, tp_cast_##from##_bool) \
  LOOP_1(cast_##from##_u8, T, uint8_t, tp_cast_##from##_u8) \
  LOOP_1(cast_##from##_i32, T, int32_t, tp_cast_##from##_i32) \
  LOOP_1(cast_##from##_i64, T, int64_t, tp_cast_##from##_i64) \
  LOOP_1(cast_##from##_f32, T, float, tp_cast_##from##_f32) \
  LOOP_1(cast_##from##_f64, T, double, tp_cast_##from##_f64)
CASTS(bool, uint8_t)
CASTS(u8, uint8_t)
CASTS(i32, int32_t)
CASTS(i64, int64_t)
CASTS(f32, float)
CASTS(f64, double)
LOOP_1(round_bf16, float, float, tp_round_bf16)
LOOP_1(sticky_f32, double, float, tp_sticky_f32)
