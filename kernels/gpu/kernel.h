/* Every kernel begins with this. It comes after dialect.h and the prelude. */
#define TP_KERNEL_THREADS      256
#define TP_UNROLLED            _Pragma("unroll")
#define TP_IVDEP               TP_UNROLLED
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

/* The same at the kernel's begin, as its first thread finds: others may be late. */
#define TP_RETURN_IF_ANY(ends) \
  LOCAL int any_; \
  if (THREAD == 0) any_ = (ends) != 0; \
  BARRIER(); \
  if (any_) return

/* The same in a part of a kernel: they go on behind it. */
#define TP_LEAVE_IF(ends, to) \
  do { \
    const int ends_ = (ends) != 0; \
    BARRIER(); \
    if (ends_) goto to; \
  } while (0)
#define TP_LEAVE_IF_ANY(ends, to) \
  do { \
    if (THREAD == 0) any_ = (ends) != 0; \
    BARRIER(); \
    TP_LEAVE_IF(any_, to); \
  } while (0)

/* A number that blocks of one kernel set and look at. */
#define TP_SET(p)    ATOMIC_CAS_U64((GLOBAL uint64_t *)(p), 0, 1)
#define TP_IS_SET(p) ATOMIC_CAS_U64((GLOBAL uint64_t *)(p), 0, 0)

/* Is this the first fault of the run? Then the caller notes where it was. */
TP_FN int tp_fault_is_first(GLOBAL int64_t *fault, int pos) {
  return ATOMIC_CAS_U64((GLOBAL uint64_t *)fault, 0, (uint64_t)(pos + 1)) == 0;
}

/* ---- operators (emit/body/operator.c) ---- */

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

/* Sorts sort_at, places of keys, in a block: 0 .. n - 1 of n keys, then places of none up to a
 * power of two (a bitonic sort; equal keys keep their order). */
#define TP_SORT_MOST 1024
#define TP_SORT_WIDTH(wide, n) \
  int wide = 1; \
  while (wide < (n)) wide *= 2;
#define TP_SORT_AFTER(before, down, keys, n, a, b) \
  ((b) >= (n) ? 0 \
          : (a) >= (n) \
          ? 1 \
          : before(down, keys[b], keys[a]) || (!before(down, keys[a], keys[b]) && (b) < (a)))
#define TP_BLOCK_SORT(before, down, keys, wide, n) \
  BARRIER(); \
  for (int k_ = 2; k_ <= wide; k_ *= 2) \
    for (int j_ = k_ / 2; j_; j_ /= 2) { \
      for (int i_ = THREAD; i_ < wide; i_ += THREADS) { \
        if (i_ & j_) continue; \
        const int a_ = sort_at[i_], b_ = sort_at[i_ + j_]; \
        if ((i_ & k_) ? TP_SORT_AFTER(before, down, keys, n, b_, a_) \
                      : TP_SORT_AFTER(before, down, keys, n, a_, b_)) \
          sort_at[i_] = b_, sort_at[i_ + j_] = a_; \
      } \
      BARRIER(); \
    }

/* ---- folds by a thread (emit/body/reduction.c) ---- some lanes at once: all would take more
 * registers than there are. Lanes 0 .. 7, 16 .. 23, 8 .. 15, 24 .. 31 are joined by halves, as by
 * TP_LANES_JOIN. */

#define TP_SOME          8
#define TP_SOME_AT       ((g_ & 1) * 16 + (g_ >> 1) * TP_SOME)
#define TP_SOME_BEGIN(A) A s_[TP_SOME], u_[TP_SOME], v_[TP_SOME];
#define TP_EACH_SOME     _Pragma("unroll 1") for (int g_ = 0; g_ < TP_FOLD_LANES / TP_SOME; g_++)
#define TP_SOME_START(P, part, odd, unit) \
  P part[TP_SOME], odd[TP_SOME]; \
  TP_UNROLLED \
  for (int k = 0; k < TP_SOME; k++) part[k] = (P)(unit), odd[k] = 0
#define TP_EACH_ROW_OF_SOME(j, end) \
  _Pragma("unroll 1") for (int64_t row_ = j; row_ + TP_FOLD_LANES <= end; row_ += TP_FOLD_LANES)
#define TP_SOME_JOIN(A, fn) \
  TP_UNROLLED \
  for (int k = 0; k < TP_SOME; k++) { \
    A x_ = (A)TP_LANE_END_##fn(part[k], odd[k]); \
    if (g_ & 1) x_ = (A)TP_FOLD_##fn(s_[k], x_); \
    if (g_ == 1) u_[k] = x_; \
    else if (g_ == 3) v_[k] = (A)TP_FOLD_##fn(u_[k], x_); \
    else s_[k] = x_; \
  }
#define TP_SOME_HALVE(A, fn, n) \
  TP_UNROLLED \
  for (int k = 0; k < (n); k++) v_[k] = (A)TP_FOLD_##fn(v_[k], v_[k + (n)]);
#define TP_SOME_END(A, fn, acc) \
  TP_SOME_HALVE(A, fn, 4) \
  TP_SOME_HALVE(A, fn, 2) \
  TP_SOME_HALVE(A, fn, 1) \
  acc = (A)TP_FOLD_##fn(acc, v_[0]);

/* ---- folds by a block (emit/body/reduction.c) ---- a row's parts (prelude/fold.h), as many at
 * once as there are groups of TP_FOLD_LANES threads; a thread is a lane */

#define TP_ROOM \
  LOCAL double room_f[TP_KERNEL_THREADS]; \
  LOCAL uint64_t room_i[TP_KERNEL_THREADS]
#define TP_EACH_PARTS(n) \
  for (int64_t top_ = 0, all_ = n; top_ < all_; top_ += TP_FOLD_PART * (THREADS / TP_FOLD_LANES))
#define TP_EACH_IN_LANE(x) \
  for (int64_t x = top_ + THREAD / TP_FOLD_LANES * TP_FOLD_PART + THREAD % TP_FOLD_LANES, \
               end_ = tp_index_min(x - THREAD % TP_FOLD_LANES + TP_FOLD_PART, all_); \
       x < end_; x += TP_FOLD_LANES)
/* Joins the lanes of each group of threads by halves. */
#define TP_JOIN_LANES(A, fn, room) \
  for (int h_ = TP_FOLD_LANES / 2; h_; h_ /= 2) { \
    BARRIER(); \
    if (THREAD % TP_FOLD_LANES < h_) \
      room[THREAD] = TP_FOLD_##fn((A)room[THREAD], (A)room[THREAD + h_]); \
  } \
  BARRIER();

/* Joins the lanes of each part by halves, then the parts, in order. */
#define TP_BLOCK_JOIN(A, fn, acc, room, n) \
  TP_JOIN_LANES(A, fn, room) \
  for (int w_ = 0; w_ < THREADS && top_ + TP_FOLD_PART * (w_ / TP_FOLD_LANES) < (n); \
       w_ += TP_FOLD_LANES) \
    acc = (A)TP_FOLD_##fn(acc, (A)room[w_]); \
  BARRIER();

/* The same by groups of TP_FOLD_LANES threads, a row each: the row at_ of this thread's group, or,
 * if there is none, any, and mine_ is 0. All groups of a block meet alike. */
#define TP_ROWS (THREADS / TP_FOLD_LANES)
#define TP_ROW_OF(at, mine, top, rows) \
  const int mine = top + THREAD / TP_FOLD_LANES < rows; \
  const int64_t at = mine ? top + THREAD / TP_FOLD_LANES : top;
#define TP_EACH_PARTS_OF_ROW(n) for (int64_t top_ = 0, all_ = n; top_ < all_; top_ += TP_FOLD_PART)
#define TP_EACH_IN_LANE_OF_ROW(x) \
  for (int64_t x = top_ + THREAD % TP_FOLD_LANES, \
               end_ = mine_ ? tp_index_min(top_ + TP_FOLD_PART, all_) : 0; \
       x < end_; x += TP_FOLD_LANES)
#define TP_ROW_JOIN(A, fn, acc, room, n) \
  TP_JOIN_LANES(A, fn, room) \
  acc = (A)TP_FOLD_##fn(acc, (A)room[THREAD - THREAD % TP_FOLD_LANES]); \
  BARRIER();

/* ---- products by tiles (emit/body/tile.c) ---- */

#define TP_TILES_OF(n, side) (((n) + (side)-1) / (side))
/* Adds one term to the thread's n x m elements acc_, of rows a, da apart, and columns b. */
#define TP_TILE_TERM(T, mad, a, da, m, b, db, n) \
  T a_[m], b_[n]; \
  TP_UNROLLED \
  for (int i_ = 0; i_ < (m); i_++) a_[i_] = (a)[i_ * (da)]; \
  TP_UNROLLED \
  for (int j_ = 0; j_ < (n); j_++) b_[j_] = (b)[j_ * (db)]; \
  TP_UNROLLED \
  for (int i_ = 0; i_ < (m); i_++) { \
    TP_UNROLLED \
    for (int j_ = 0; j_ < (n); j_++) \
      acc_[i_ * (n) + j_] = mad(a_[i_], b_[j_], acc_[i_ * (n) + j_]); \
  }
