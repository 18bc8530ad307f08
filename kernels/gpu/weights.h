/* Weights in blocks (src/base/formats.def) on a device: their numbers, and products that read them
 * as they are stored (emit/body/blocks.c). Sums have the order of kernels/cpu/kernel_blocks.h, so
 * that they have the same bits.
 *
 * f: one of these names. b: where a row of blocks begins; i: the number of a number in the row.
 * word: bytes that may be read at once, as the address of each row is a multiple of that. */
enum {
  TP_FORMAT_q8_0,
  TP_FORMAT_q4_0,
  TP_FORMAT_q4_1,
  TP_FORMAT_q5_0,
  TP_FORMAT_q4_k,
  TP_FORMAT_q5_k,
  TP_FORMAT_q6_k
};
#define TP_FORMAT_HAS_OFFSETS(f) \
  ((f) == TP_FORMAT_q4_1 || (f) == TP_FORMAT_q4_k || (f) == TP_FORMAT_q5_k)
/* what is taken from each number */
#define TP_FORMAT_ZERO(f) \
  ((f) == TP_FORMAT_q4_0 ? 8 : (f) == TP_FORMAT_q5_0 ? 16 : (f) == TP_FORMAT_q6_k ? 32 : 0)

TP_FN uint32_t tp_bytes4(GLOBAL const uint8_t *p, int word) {
  if (word == 4) return *(GLOBAL const uint32_t *)p;
  if (word == 2)
    return ((GLOBAL const uint16_t *)p)[0] | (uint32_t)((GLOBAL const uint16_t *)p)[1] << 16;
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
TP_FN float tp_half_at(GLOBAL const uint8_t *p) {
  return tp_load_f16((uint16_t)(p[0] | p[1] << 8));
}
TP_FN GLOBAL const uint8_t *tp_block_of(int f, GLOBAL const uint8_t *b, int64_t i) {
  switch (f) {
  case TP_FORMAT_q8_0: return b + i / 32 * 34;
  case TP_FORMAT_q4_0: return b + i / 32 * 18;
  case TP_FORMAT_q4_1: return b + i / 32 * 20;
  case TP_FORMAT_q5_0: return b + i / 32 * 22;
  case TP_FORMAT_q4_k: return b + i / 256 * 144;
  case TP_FORMAT_q5_k: return b + i / 256 * 176;
  default: return b + i / 256 * 210;
  }
}

/* Four numbers from i on, a multiple of 4, each a byte with its sign. */
TP_FN uint32_t tp_block_four(int f, int word, GLOBAL const uint8_t *row, int64_t i) {
  GLOBAL const uint8_t *b = tp_block_of(f, row, i);
  const int o = (int)(i % (f < TP_FORMAT_q4_k ? 32 : 256)), p = o / 64, c = o / 32 % 2;
  uint32_t v;
  switch (f) {
  case TP_FORMAT_q8_0: return tp_bytes4(b + 2 + o, word);
  case TP_FORMAT_q4_0: return tp_bytes4(b + 2 + o % 16, word) >> o / 16 * 4 & 0x0f0f0f0fu;
  case TP_FORMAT_q4_1: return tp_bytes4(b + 4 + o % 16, word) >> o / 16 * 4 & 0x0f0f0f0fu;
  case TP_FORMAT_q5_0: /* bit k of four goes to bit 0 of byte k */
    v = ((b[2 + o / 8] >> o % 8 & 15) * 0x00204081u & 0x01010101u) << 4;
    return v | (tp_bytes4(b + 6 + o % 16, word) >> o / 16 * 4 & 0x0f0f0f0fu);
  case TP_FORMAT_q4_k: return tp_bytes4(b + 16 + 32 * p + o % 32, word) >> 4 * c & 0x0f0f0f0fu;
  case TP_FORMAT_q5_k:
    v = (tp_bytes4(b + 16 + o % 32, word) >> o / 32 & 0x01010101u) << 4;
    return v | (tp_bytes4(b + 48 + 32 * p + o % 32, word) >> 4 * c & 0x0f0f0f0fu);
  default:
    v = (tp_bytes4(b + 128 + o / 128 * 32 + o % 32, word) >> o / 32 % 4 * 2 & 0x03030303u) << 4;
    return v | (tp_bytes4(b + o / 128 * 64 + o % 64, word) >> p % 2 * 4 & 0x0f0f0f0fu);
  }
}

/* Scale j of q4_k and q5_k, of 6 bits, or (offset) what is added. */
TP_FN int tp_block_pair(GLOBAL const uint8_t *p, int j, int offset) {
  if (j < 4) return p[j + 4 * offset] & 63;
  return (p[j + 4] >> 4 * offset & 15) | p[j - 4 + 4 * offset] >> 6 << 4;
}
TP_FN float tp_block_scale(int f, GLOBAL const uint8_t *row, int64_t i) {
  GLOBAL const uint8_t *b = tp_block_of(f, row, i);
  if (f < TP_FORMAT_q4_k) return tp_half_at(b);
  const int o = (int)(i % 256);
  if (f == TP_FORMAT_q6_k) return tp_half_at(b + 208) * (float)(signed char)b[192 + o / 16];
  return tp_half_at(b) * (float)tp_block_pair(b + 4, o / 32, 0);
}
/* The offset that is added to number i, of a format with offsets. */
TP_FN float tp_block_offset(int f, GLOBAL const uint8_t *row, int64_t i) {
  GLOBAL const uint8_t *b = tp_block_of(f, row, i);
  if (f == TP_FORMAT_q4_1) return tp_half_at(b + 2);
  return -(tp_half_at(b + 2) * (float)tp_block_pair(b + 4, (int)(i % 256) / 32, 1));
}
TP_FN float tp_block_number(int f, int word, GLOBAL const uint8_t *row, int64_t i) {
  const uint32_t four = tp_block_four(f, word, row, i - i % 4);
  const int q = (signed char)(four >> (int)(i % 4) * 8 & 255) - TP_FORMAT_ZERO(f);
  const float v = (float)q * tp_block_scale(f, row, i);
  return TP_FORMAT_HAS_OFFSETS(f) ? v + tp_block_offset(f, row, i) : v;
}

/* ---- products ---- some rows of x at a time. With 8 bits: TP_EIGHTS_PART numbers of these rows
 * are in the block's memory, eights_q four in a word, eights_d and eights_s as tp_eights (kernels/
 * cpu/kernels.h) has them for each 32. */
#define TP_EIGHTS_ROWS 4
#define TP_EIGHTS_PART 4096
#define TP_EIGHTS_ROOM \
  LOCAL uint32_t eights_q[TP_EIGHTS_ROWS * TP_EIGHTS_PART / 4]; \
  LOCAL float eights_d[TP_EIGHTS_ROWS * TP_EIGHTS_PART / 32]; \
  LOCAL float eights_s[TP_EIGHTS_ROWS * TP_EIGHTS_PART / 32]
/* A loop of threads over every `each` numbers of the part, part_ of all, of rows_ rows. at_: the
 * place in the row, to_: where it lies in the block's memory. */
#define TP_EACH_EIGHT(each) for (int q_ = THREAD; q_ < rows_ * (part_ / (each)); q_ += THREADS)
#define TP_EIGHT_PLACE(each) \
  const int r_ = q_ / (part_ / (each)), at_ = q_ % (part_ / (each)), \
            to_ = r_ * (TP_EIGHTS_PART / (each)) + at_;

TP_FN int tp_eight_is_none(uint32_t most) { return most < 0x01000000u || most >= 0x7f800000u; }
/* The nearest, half to even: adds and takes away 1.5 * 2^23. */
TP_FN uint32_t tp_eight(float x, float most) {
  if (tp_eight_is_none(tp_bits_f32(most))) return 0;
  return (tp_bits_f32(x * (127 / most) + 12582912.f) - 0x4b400000u) & 255;
}

/* Brings the part from deep_ on of row r_, column k_ of x: eights_q has the largest size of four
 * numbers, as bits, so that NaN and infinity are largest; then eights_d those of 32; then eights_q
 * the bytes, and eights_d and eights_s their scales and sums. */
#define TP_EIGHTS_BRING(x) \
  BARRIER(); \
  TP_EACH_EIGHT(4) { \
    TP_EIGHT_PLACE(4) \
    uint32_t most_ = 0; \
    for (int64_t k_ = deep_ + 4 * at_; k_ < deep_ + 4 * at_ + 4; k_++) { \
      const uint32_t size_ = tp_bits_f32(x) & 0x7fffffffu; \
      most_ = size_ > most_ ? size_ : most_; \
    } \
    eights_q[to_] = most_; \
  } \
  BARRIER(); \
  TP_EACH_EIGHT(32) { \
    TP_EIGHT_PLACE(32) \
    uint32_t most_ = 0; \
    for (int i_ = 0; i_ < 8; i_++) { \
      const uint32_t size_ = eights_q[r_ * (TP_EIGHTS_PART / 4) + 8 * at_ + i_]; \
      most_ = size_ > most_ ? size_ : most_; \
    } \
    eights_d[to_] = tp_of_f32(most_); \
  } \
  BARRIER(); \
  TP_EACH_EIGHT(4) { \
    TP_EIGHT_PLACE(4) \
    const float most_ = eights_d[to_ / 8]; \
    uint32_t four_ = 0; \
    for (int i_ = 0; i_ < 4; i_++) { \
      const int64_t k_ = deep_ + 4 * at_ + i_; \
      four_ |= tp_eight(x, most_) << 8 * i_; \
    } \
    eights_q[to_] = four_; \
  } \
  BARRIER(); \
  TP_EACH_EIGHT(32) { \
    TP_EIGHT_PLACE(32) \
    const float size_ = eights_d[to_]; \
    const uint32_t most_ = tp_bits_f32(size_); \
    int all_ = 0; \
    for (int i_ = 0; i_ < 8; i_++) \
      all_ = DOT4(eights_q[r_ * (TP_EIGHTS_PART / 4) + 8 * at_ + i_], 0x01010101u, all_); \
    eights_d[to_] = most_ >= 0x7f800000u ? TP_NAN_F32 : tp_eight_is_none(most_) ? 0 : size_ / 127; \
    eights_s[to_] = eights_d[to_] * (float)all_; \
  } \
  BARRIER();

/* Sixteen threads have a column, four numbers each at a time; with offsets eight of them have those
 * of every eighth 32 numbers. rows: how many, a constant. */
#define TP_EIGHTS_LANES 16
#define TP_EIGHTS_ADD(f, word, rows, x) \
  for (int64_t deep_ = 0; deep_ < terms_; deep_ += TP_EIGHTS_PART) { \
    const int part_ = (int)tp_index_min(terms_ - deep_, TP_EIGHTS_PART); \
    TP_EIGHTS_BRING(x) \
    for (int at_ = lane_; mine_ && at_ < part_ / 4; at_ += TP_EIGHTS_LANES) { \
      const uint32_t w_ = tp_block_four(f, word, column_, deep_ + 4 * at_); \
      const float d_ = tp_block_scale(f, column_, deep_ + 4 * at_); \
      TP_UNROLLED \
      for (int r_ = 0; r_ < (rows); r_++) { \
        if (r_ >= rows_) continue; \
        const uint32_t q_ = eights_q[r_ * (TP_EIGHTS_PART / 4) + at_]; \
        const int zero_ = DOT4(TP_FORMAT_ZERO(f) * 0x01010101u, q_, 0); \
        sum_[r_] = sum_[r_] + \
            (float)(DOT4(w_, q_, 0) - zero_) * \
                (d_ * eights_d[r_ * (TP_EIGHTS_PART / 32) + at_ / 8]); \
      } \
    } \
    if (TP_FORMAT_HAS_OFFSETS(f)) \
      for (int at_ = lane_; mine_ && lane_ < 8 && at_ < part_ / 32; at_ += 8) { \
        const float m_ = tp_block_offset(f, column_, deep_ + 32 * at_); \
        TP_UNROLLED \
        for (int r_ = 0; r_ < (rows); r_++) \
          if (r_ < rows_) off_[r_] = off_[r_] + m_ * eights_s[r_ * (TP_EIGHTS_PART / 32) + at_]; \
      } \
  }
/* Joins the threads of a column: sums, and offsets, which add up apart. */
#define TP_EIGHTS_JOIN(f, room) \
  TP_GROUP_SUM(float, sum_[r_], TP_EIGHTS_LANES, room) \
  if (TP_FORMAT_HAS_OFFSETS(f)) { \
    TP_GROUP_SUM(float, off_[r_], 8, room) \
    sum_[r_] = sum_[r_] + off_[r_]; \
  }
/* A column has 32 threads, and each of these the sums of every 64th number from its own on, and
 * from 32 further. */
#define TP_FLOATS_LANES 32
#define TP_FLOATS_ADD(f, word, rows, x) \
  for (int64_t k_ = lane_; mine_ && k_ < terms_; k_ += TP_FLOATS_LANES) { \
    const float w_ = tp_block_number(f, word, column_, k_); \
    TP_UNROLLED \
    for (int r_ = 0; r_ < (rows); r_++) \
      if (r_ < rows_ && k_ & 32) off_[r_] = tp_mad_f32(w_, x, off_[r_]); \
      else if (r_ < rows_) sum_[r_] = tp_mad_f32(w_, x, sum_[r_]); \
  }
#define TP_FLOATS_JOIN(room) \
  sum_[r_] = sum_[r_] + off_[r_]; \
  TP_GROUP_SUM(float, sum_[r_], TP_FLOATS_LANES, room)
