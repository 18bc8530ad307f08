/* Index expressions. */
TP_FN int64_t tp_index_min(int64_t a, int64_t b) { return a < b ? a : b; }
TP_FN int64_t tp_index_max(int64_t a, int64_t b) { return a > b ? a : b; }
TP_FN int64_t tp_index_div(int64_t a, int64_t k) { return a / k - (a % k < 0); }
TP_FN int64_t tp_index_mod(int64_t a, int64_t k) { return a % k + (a % k < 0 ? k : 0); }
TP_FN int64_t tp_ring_at(int64_t at, int64_t width) {
  return width <= 1 ? 0 : (uint64_t)at < (uint64_t)width ? at : tp_index_mod(at, width);
}
