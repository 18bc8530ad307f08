/* f16 and bf16 as their bits, to f32 and back: rounded to nearest even once. After math.h. */

/* m >> s rounded to nearest even, s in 1 .. 31. */
TP_FN uint32_t tp_shift_even(uint32_t m, uint32_t s) {
  return (m + ((1u << (s - 1)) - 1) + (m >> s & 1)) >> s;
}

TP_FN float tp_load_f16(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, mag = h & 0x7fff;
  float tiny = (float)(int32_t)mag * 0x1p-24f;
  uint32_t normal = (mag << 13) + (mag >= 0x7c00 ? 0x70000000u : 0x38000000u);
  return tp_of_f32(sign | (mag < 0x400 ? tp_bits_f32(tiny) : normal));
}

TP_FN uint16_t tp_store_f16(float x) {
  uint32_t u = tp_bits_f32(x), mag = u & 0x7fffffff;
  /* the sum's last place is 2^-24 */
  uint32_t tiny = tp_bits_f32(tp_of_f32(mag) + 0.5f) - 0x3f000000u;
  uint32_t h = mag < 0x38800000u ? tiny : tp_shift_even(mag - 0x38000000u, 13);
  h = mag >= 0x477ff000u ? 0x7c00 : h;
  h = mag > 0x7f800000u ? 0x7e00 | (mag >> 13 & 0x3ff) : h;
  return (uint16_t)((u >> 16 & 0x8000) | h);
}

TP_FN float tp_load_bf16(uint16_t h) { return tp_of_f32((uint32_t)h << 16); }
TP_FN uint16_t tp_store_bf16(float x) {
  uint32_t u = tp_bits_f32(x);
  return (uint16_t)(x != x ? u >> 16 | 0x40 : tp_shift_even(u, 16));
}

/* f32 rounded to their values. */
TP_FN float tp_round_f16(float x) { return tp_load_f16(tp_store_f16(x)); }
TP_FN float tp_round_bf16(float x) { return tp_load_bf16(tp_store_bf16(x)); }

/* f64 to f32 on the way to one of them: an odd last bit stands for bits that f32 lacks, so that
 * both roundings together round once. */
TP_FN float tp_sticky_f32(double x) {
  float f = (float)x;
  uint32_t u = tp_bits_f32(f), odd = (u - (tp_fabs_f64((double)f) > tp_fabs_f64(x))) | 1u;
  return tp_of_f32((double)f == x || x != x || (u & 0x7fffffffu) == 0x7f800000u ? u : odd);
}
