/* The table of one instruction set: TABLE names it, ISA says how, NORMAL is of exact.c. Included last. */
#define PER_FLOAT(OP, fn) [TP_OP_##OP][TP_F32] = fn##_f32, [TP_OP_##OP][TP_F64] = fn##_f64
#define PER_MATH(OP, fn) [TP_OP_##OP][TP_F32] = fn##_f32_, [TP_OP_##OP][TP_F64] = fn##_f64_
#define PER_INT(OP, fn) [TP_OP_##OP][TP_U8] = fn##_u8, [TP_OP_##OP][TP_I32] = fn##_i32, [TP_OP_##OP][TP_I64] = fn##_i64
#define PER_NUMBER(OP, fn) PER_FLOAT(OP, fn), PER_INT(OP, fn)
#define PER_ANY(OP, fn) PER_NUMBER(OP, fn), [TP_OP_##OP][TP_BOOL] = fn##_bool
#define CAST_ROW(D, from) [TP_##D] = { [TP_BOOL] = cast_##from##_bool, [TP_U8] = cast_##from##_u8, [TP_I32] = cast_##from##_i32, \
                                       [TP_I64] = cast_##from##_i64, [TP_F32] = cast_##from##_f32, [TP_F64] = cast_##from##_f64 }
#define FOLD_ROW(fn) { [TP_F32] = fn##_f32, [TP_F64] = fn##_f64, [TP_U8] = fn##_u8, [TP_I32] = fn##_i32, [TP_I64] = fn##_i64 }
#define FOLD_ROW_BOOL(fn) { [TP_F32] = fn##_f32, [TP_F64] = fn##_f64, [TP_U8] = fn##_u8, [TP_I32] = fn##_i32, [TP_I64] = fn##_i64, [TP_BOOL] = fn##_bool }

const tp_kernels TABLE = {
  .isa = ISA,
  .ew = {
    PER_NUMBER(NEG, neg), PER_NUMBER(ABS, abs), PER_NUMBER(SIGN, sign),
    PER_FLOAT(FLOOR, floor), PER_FLOAT(CEIL, ceil), PER_FLOAT(ROUND, round), PER_FLOAT(SQRT, sqrt), PER_FLOAT(RSQRT, rsqrt),
    PER_INT(FLOOR, copy), PER_INT(CEIL, copy), PER_INT(ROUND, copy),
    PER_MATH(EXP, exp), PER_MATH(EXPM1, expm1), PER_MATH(LOG, log), PER_MATH(LOG1P, log1p), PER_MATH(SIN, sin), PER_MATH(COS, cos), PER_MATH(TAN, tan),
    PER_MATH(TANH, tanh), PER_MATH(SIGMOID, sigmoid), PER_MATH(ERF, erf),
    PER_NUMBER(ADD, add), PER_NUMBER(SUB, sub), PER_NUMBER(MUL, mul), PER_FLOAT(DIV, div), PER_NUMBER(POW, pow), PER_NUMBER(MOD, mod),
    PER_NUMBER(FLOORDIV, floordiv), PER_NUMBER(MINIMUM, min), PER_NUMBER(MAXIMUM, max),
    [TP_OP_MINIMUM][TP_BOOL] = land_bool, [TP_OP_MAXIMUM][TP_BOOL] = lor_bool,
    [TP_OP_LNOT][TP_BOOL] = lnot_bool, [TP_OP_LAND][TP_BOOL] = land_bool, [TP_OP_LOR][TP_BOOL] = lor_bool,
    PER_ANY(EQ, eq), PER_ANY(NE, ne), PER_ANY(LT, lt), PER_ANY(LE, le), PER_ANY(GT, gt), PER_ANY(GE, ge),
    PER_ANY(SELECT, select), PER_ANY(DETACH, copy),
  },
  .cast = { CAST_ROW(BOOL, bool), CAST_ROW(U8, u8), CAST_ROW(I32, i32), CAST_ROW(I64, i64), CAST_ROW(F32, f32), CAST_ROW(F64, f64) },
  .round = { [TP_F16] = round_f16, [TP_BF16] = round_bf16 },
  .sticky = sticky_f32,
  .load = { load_1, load_2, load_4, load_8 },
  .loadhalf = { [TP_F16] = load_f16, [TP_BF16] = load_bf16 },
  .store = { store_1, store_2, store_4, store_8 },
  .storehalf = { [TP_F16] = store_f16, [TP_BF16] = store_bf16 },
  .across = { [TP_RED_SUM] = FOLD_ROW(across_sum), [TP_RED_PROD] = FOLD_ROW(across_prod), [TP_RED_MAX] = FOLD_ROW_BOOL(across_max), [TP_RED_MIN] = FOLD_ROW_BOOL(across_min) },
  .down = { [TP_RED_SUM] = FOLD_ROW(down_sum), [TP_RED_PROD] = FOLD_ROW(down_prod), [TP_RED_MAX] = FOLD_ROW_BOOL(down_max), [TP_RED_MIN] = FOLD_ROW_BOOL(down_min) },
  .best = { FOLD_ROW_BOOL(least), FOLD_ROW_BOOL(most) }, .bestof = { FOLD_ROW_BOOL(least_of), FOLD_ROW_BOOL(most_of) },
  .mm = { [TP_F32] = mm_f32, [TP_F64] = mm_f64, [TP_I32] = mm_i32, [TP_I64] = mm_i64, [TP_U8] = mm_u8 },
  .window = { window_uint8_t, window_uint16_t, window_uint32_t, window_uint64_t }, .unwindow = FOLD_ROW(unwindow),
  .sum_scan = FOLD_ROW(sum_scan), .prod_scan = FOLD_ROW(prod_scan), .recur = FOLD_ROW(recur),
  .philox = philox, .philox_lanes = philox_lanes, .uniform = uniform, .normal = NORMAL,
};
