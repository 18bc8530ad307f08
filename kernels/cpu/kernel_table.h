/* The table of one instruction set, named TABLE, in words ISA. Included last. */
#define ENTRY(NAME, D, sfx) [TP_OP_##NAME][TP_##D] = NAME##_##sfx,
#define ENTRIES_FLOAT(NAME) ENTRY(NAME, F32, f32) ENTRY(NAME, F64, f64)
#define ENTRIES_NUMBER(NAME) \
  ENTRIES_FLOAT(NAME) ENTRY(NAME, U8, u8) ENTRY(NAME, I32, i32) ENTRY(NAME, I64, i64)
#define ENTRIES_ANY(NAME)                               ENTRIES_NUMBER(NAME) ENTRIES_BOOL(NAME)
#define ENTRIES_BOOL(NAME)                              ENTRY(NAME, BOOL, bool)
#define S(NAME, n, types, result, f, i, b, near, fault) ENTRIES_##types(NAME)
#define CAST_ROW(D, from) \
  [TP_##D] = { [TP_BOOL] = cast_##from##_bool, \
    [TP_U8] = cast_##from##_u8, \
    [TP_I32] = cast_##from##_i32, \
    [TP_I64] = cast_##from##_i64, \
    [TP_F32] = cast_##from##_f32, \
    [TP_F64] = cast_##from##_f64 }
#define FOLD_ROW(fn) \
  { \
    [TP_F32] = fn##_f32, [TP_F64] = fn##_f64, [TP_U8] = fn##_u8, [TP_I32] = fn##_i32, \
    [TP_I64] = fn##_i64 \
  }
#define FOLD_ROW_BOOL(fn) \
  { \
    [TP_F32] = fn##_f32, [TP_F64] = fn##_f64, [TP_U8] = fn##_u8, [TP_I32] = fn##_i32, \
    [TP_I64] = fn##_i64, [TP_BOOL] = fn##_bool \
  }

/* clang-format off: it does not read a table that includes its rows. */
const tp_kernels TABLE = {
  .isa = ISA,
  .fuses = FMA,
  .wide = VBYTES == 64,
  .ew = {
#include "kern/scalar.def"
  },
  .cast = {
    CAST_ROW(BOOL, bool), CAST_ROW(U8, u8), CAST_ROW(I32, i32), CAST_ROW(I64, i64),
    CAST_ROW(F32, f32), CAST_ROW(F64, f64),
  },
  .round = { [TP_F16] = round_f16, [TP_BF16] = round_bf16 },
  .sticky = sticky_f32,
  .load = { load_1, load_2, load_4, load_8 },
  .loadhalf = { [TP_F16] = load_f16, [TP_BF16] = load_bf16 },
  .store = { store_1, store_2, store_4, store_8 },
  .turn = { turn_1, turn_2, turn_4, turn_8 },
  .outside = outside,
  .even = even,
  .storehalf = { [TP_F16] = store_f16, [TP_BF16] = store_bf16 },
  .across = {
    [TP_RED_SUM] = FOLD_ROW(across_sum), [TP_RED_PROD] = FOLD_ROW(across_prod),
    [TP_RED_MAX] = FOLD_ROW_BOOL(across_max), [TP_RED_MIN] = FOLD_ROW_BOOL(across_min),
  },
  .down = {
    [TP_RED_SUM] = FOLD_ROW(down_sum), [TP_RED_PROD] = FOLD_ROW(down_prod),
    [TP_RED_MAX] = FOLD_ROW_BOOL(down_max), [TP_RED_MIN] = FOLD_ROW_BOOL(down_min),
  },
  .across_wide = across_sum_wide,
  .down_wide = down_sum_wide,
  .best = { FOLD_ROW_BOOL(least), FOLD_ROW_BOOL(most) },
  .bestof = { FOLD_ROW_BOOL(least_of), FOLD_ROW_BOOL(most_of) },
  .sum_rows = sum_rows,
  .add_rows = add_rows,
  .mm = {
    [TP_F32] = mm_f32, [TP_F64] = mm_f64, [TP_I32] = mm_i32, [TP_I64] = mm_i64, [TP_U8] = mm_u8,
  },
  .eights = blocks_to_eights,
  .blocks_eights = blocks_by_eights,
  .blocks_floats = blocks_by_floats,
  .thin = { [TP_F32] = thin_f32_any, [TP_F16] = thin_f16_any, [TP_BF16] = thin_bf16_any },
  .window = { window_uint8_t, window_uint16_t, window_uint32_t, window_uint64_t },
  .unwindow = FOLD_ROW(unwindow),
  .sum_scan = FOLD_ROW(sum_scan),
  .prod_scan = FOLD_ROW(prod_scan),
  .recur = FOLD_ROW(recur),
  .philox = philox,
  .philox_lanes = philox_lanes,
  .uniform = uniform,
  .normal = normal,
};
/* clang-format on */
