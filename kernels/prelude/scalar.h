/* tp_NAME_type for each row of scalar.def, tp_cast_from_to, tp_fault_WHY_type. After math.h. */

/* Integers are divided and raised to powers as if they had a value everywhere: 0 where there is a
 * fault. A quotient of -1 wraps. */
#define TP_INTEGERS(sfx, T, U, NEGATIVE) \
  TP_FN int tp_fault_DIVZERO_##sfx(T x, T y) { \
    (void)x; \
    return y == 0; \
  } \
  TP_FN int tp_fault_NEGPOW_##sfx(T x, T y) { \
    (void)x; \
    (void)y; \
    return NEGATIVE(y); \
  } \
  TP_FN T tp_floordiv_##sfx(T x, T y) { \
    if (y == 0) return 0; \
    if (NEGATIVE(y) && y == (T)-1) return (T)(0 - (U)x); \
    T k = (T)(x / y), r = (T)(x % y); \
    return r != 0 && NEGATIVE(r) != NEGATIVE(y) ? (T)(k - 1) : k; \
  } \
  TP_FN T tp_mod_##sfx(T x, T y) { return (T)((U)x - (U)y * (U)tp_floordiv_##sfx(x, y)); } \
  TP_FN T tp_pow_##sfx(T x, T y) { \
    U p = 1, b = (U)x; \
    if (NEGATIVE(y)) return 0; \
    for (; y; y = (T)(y >> 1), b *= b) \
      if (y & 1) p *= b; \
    return (T)p; \
  }
#define TP_BELOW(x)       ((x) < 0)
#define TP_NEVER_BELOW(x) 0
TP_INTEGERS(u8, uint8_t, uint32_t, TP_NEVER_BELOW)
TP_INTEGERS(i32, int32_t, uint32_t, TP_BELOW)
TP_INTEGERS(i64, int64_t, uint64_t, TP_BELOW)

/* If a double holds both numbers with bits to spare, the quotient is found as a double, wrong by
 * one at most. */
TP_FN int tp_is_near_mod_i64(int64_t x, int64_t y) {
  return (x >= -((int64_t)1 << 45)) & (x <= (int64_t)1 << 45) & (y > 0) & (y <= (int64_t)1 << 45);
}
TP_FN int64_t tp_quotient_i64(int64_t x, int64_t y) {
  double k = (double)x * (1.0 / (double)y);
  return (int64_t)k - (k < 0);
}
TP_FN int64_t tp_near_mod_i64(int64_t x, int64_t y) {
  int64_t r = x - tp_quotient_i64(x, y) * y;
  r = r < 0 ? r + y : r;
  return r >= y ? r - y : r;
}
TP_FN int64_t tp_near_floordiv_i64(int64_t x, int64_t y) {
  int64_t k = tp_quotient_i64(x, y), r = x - k * y;
  return r < 0 ? k - 1 : r >= y ? k + 1 : k;
}

/* ---- rows ---- */

#define TP_DEFINE_1(name, T, R, clean, e) \
  TP_FN R name(T x) { \
    clean(x); \
    return (R)(e); \
  }
#define TP_DEFINE_2(name, T, R, clean, e) \
  TP_FN R name(T x, T y) { \
    clean(x); \
    clean(y); \
    return (R)(e); \
  }
#define TP_DEFINE_3(name, T, R, clean, e) \
  TP_FN R name(uint8_t x, T y, T z) { return (R)(e); }
#define TP_AS_IT_IS(x)        (void)x
#define TP_CLEAN(x)           x = x != 0
#define TP_RESULT_SAME(T)     T
#define TP_RESULT_BOOL(T)     uint8_t
#define TP_FLOATS_FLOAT(...)  __VA_ARGS__
#define TP_FLOATS_NUMBER(...) __VA_ARGS__
#define TP_FLOATS_ANY(...)    __VA_ARGS__
#define TP_FLOATS_BOOL(...)
#define TP_INTEGERS_FLOAT(...)
#define TP_INTEGERS_NUMBER(...) __VA_ARGS__
#define TP_INTEGERS_ANY(...)    __VA_ARGS__
#define TP_INTEGERS_BOOL(...)
#define TP_BOOLS_FLOAT(...)
#define TP_BOOLS_NUMBER(...)
#define TP_BOOLS_ANY(...)  __VA_ARGS__
#define TP_BOOLS_BOOL(...) __VA_ARGS__

#define S(NAME, n, types, result, f, i, b, near, fault) \
  TP_FLOATS_##types( \
      TP_DEFINE_##n(tp_##NAME##_f32, float, TP_RESULT_##result(float), TP_AS_IT_IS, f))
#define FN(f) tp_##f##_f32
#include "kern/scalar.def"
#undef S
#undef FN
#define S(NAME, n, types, result, f, i, b, near, fault) \
  TP_FLOATS_##types( \
      TP_DEFINE_##n(tp_##NAME##_f64, double, TP_RESULT_##result(double), TP_AS_IT_IS, f))
#define FN(f) tp_##f##_f64
#include "kern/scalar.def"
#undef S
#undef FN

#define WRAP(x)     ((uint32_t)(x))
#define NEGATIVE(x) TP_NEVER_BELOW(x)
#define S(NAME, n, types, result, f, i, b, near, fault) \
  TP_INTEGERS_##types( \
      TP_DEFINE_##n(tp_##NAME##_u8, uint8_t, TP_RESULT_##result(uint8_t), TP_AS_IT_IS, i))
#define FN(f) tp_##f##_u8
#include "kern/scalar.def"
#undef S
#undef FN
#undef NEGATIVE
#define NEGATIVE(x) TP_BELOW(x)
#define S(NAME, n, types, result, f, i, b, near, fault) \
  TP_INTEGERS_##types( \
      TP_DEFINE_##n(tp_##NAME##_i32, int32_t, TP_RESULT_##result(int32_t), TP_AS_IT_IS, i))
#define FN(f) tp_##f##_i32
#include "kern/scalar.def"
#undef S
#undef FN
#undef WRAP
#define WRAP(x) ((uint64_t)(x))
#define S(NAME, n, types, result, f, i, b, near, fault) \
  TP_INTEGERS_##types( \
      TP_DEFINE_##n(tp_##NAME##_i64, int64_t, TP_RESULT_##result(int64_t), TP_AS_IT_IS, i))
#define FN(f) tp_##f##_i64
#include "kern/scalar.def"
#undef S
#undef FN
#undef WRAP
#undef NEGATIVE
#define S(NAME, n, types, result, f, i, b, near, fault) \
  TP_BOOLS_##types(TP_DEFINE_##n(tp_##NAME##_bool, uint8_t, uint8_t, TP_CLEAN, b))
#include "kern/scalar.def"
#undef S

/* ---- casts: float to integer truncates, saturates, NaN gives 0; to a narrower integer wraps;
 * anything but 0 is true ---- */

#define TP_SATURATE(x, T, lo, hi, flo, fhi) \
  ((x) != (x) ? (T)0 : (x) >= (fhi) ? (T)(hi) : (x) <= (flo) ? (T)(lo) : (T)(x))
#define TP_CASTS(from, F, v, u8, i32, i64) \
  TP_FN uint8_t tp_cast_##from##_bool(F x) { return x != 0; } \
  TP_FN uint8_t tp_cast_##from##_u8(F x) { return (uint8_t)(u8); } \
  TP_FN int32_t tp_cast_##from##_i32(F x) { return (int32_t)(i32); } \
  TP_FN int64_t tp_cast_##from##_i64(F x) { return (int64_t)(i64); } \
  TP_FN float tp_cast_##from##_f32(F x) { return (float)(v); } \
  TP_FN double tp_cast_##from##_f64(F x) { return (double)(v); }
#define TP_FLOAT_CASTS(from, F) \
  TP_CASTS(from, F, x, TP_SATURATE(x, uint8_t, 0, 255, 0, 255), \
      TP_SATURATE((double)x, int32_t, -2147483647 - 1, 2147483647, -2147483648.0, 2147483647.0), \
      TP_SATURATE(x, int64_t, TP_I64(-9223372036854775807) - 1, TP_I64(9223372036854775807), \
          -0x1p63, 0x1p63))
TP_CASTS(bool, uint8_t, x != 0, x != 0, x != 0, x != 0)
TP_CASTS(u8, uint8_t, x, x, x, x)
TP_CASTS(i32, int32_t, x, x, x, x)
TP_CASTS(i64, int64_t, x, x, (uint32_t)x, x)
TP_FLOAT_CASTS(f32, float)
TP_FLOAT_CASTS(f64, double)
