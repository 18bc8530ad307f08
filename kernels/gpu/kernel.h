/* Every kernel begins with this. It comes after dialect.h and the prelude. */
#define TP_KERNEL_THREADS 256
#define TP_UNROLLED       _Pragma("unroll")
#define TP_IVDEP          TP_UNROLLED
#define TP_EACH                _Pragma("unroll 1") for /* a thread has one point, or few */
#define __builtin_expect(x, y) (x)

typedef struct {
  uint64_t seed;
} tp_kernel_host;

/* Four neighbours in memory, which begin at a multiple of as many bytes as one access may have. */
#define TP_FOUR(name, T, bytes) \
  typedef struct __attribute__((aligned(bytes))) { \
    T v[4]; \
  } tp_four_##name;
TP_FOUR(bool, uint8_t, 4)
TP_FOUR(u8, uint8_t, 4)
TP_FOUR(i32, int32_t, 16)
TP_FOUR(i64, int64_t, 16)
TP_FOUR(f16, uint16_t, 8)
TP_FOUR(bf16, uint16_t, 8)
TP_FOUR(f32, float, 16)
TP_FOUR(f64, double, 16)
#define TP_EACH_OF_FOUR TP_UNROLLED for (int k_ = 0; k_ < 4; k_++)

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

#define TP_FINITE(x) ((x) - (x) == 0)

/* The place of a parameter that was not loaded. */
#define TP_MISSING (-2)

/* A number that blocks of one kernel set and look at. */
#define TP_SET(p)    ATOMIC_CAS_U64((GLOBAL uint64_t *)(p), 0, 1)
#define TP_IS_SET(p) ATOMIC_CAS_U64((GLOBAL uint64_t *)(p), 0, 0)

/* Is this the first fault of the run? Then the caller notes where it was. */
TP_FN int tp_fault_is_first(GLOBAL int64_t *fault, int pos) {
  return ATOMIC_CAS_U64((GLOBAL uint64_t *)fault, 0, (uint64_t)(pos + 1)) == 0;
}

/* The greatest x of the block's threads, all of which come here; x becomes it. */
#define TP_BLOCK_MOST(x, room) \
  room[THREAD] = (uint64_t)(x); \
  for (int h_ = THREADS / 2; h_; h_ /= 2) { \
    BARRIER(); \
    if (THREAD < h_ && room[THREAD] < room[THREAD + h_]) room[THREAD] = room[THREAD + h_]; \
  } \
  BARRIER(); \
  x = (int64_t)room[0]; \
  BARRIER();

/* ---- operators (emit/body/operator.c) ---- */

/* Adds a term to sum_, whose blocks of TP_DOT_BLOCK terms are added up in all_. */
#define TP_TERM(mad, x, y) \
  do { \
    sum_ = mad((x), (y), sum_); \
    if (++terms_ == TP_DOT_BLOCK) all_ = all_ + sum_, sum_ = 0, terms_ = 0; \
  } while (0)
/* The same, but the last block is still to be added. */
#define TP_BLOCK_TERM(mad, x, y) \
  if (terms_++ == TP_DOT_BLOCK) acc = acc + sum_, sum_ = 0, terms_ = 1; \
  sum_ = mad((x), (y), sum_);
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
/* The loop in which threads give a block its keys. */
#define TP_EACH_KEY(n) \
  int wide_ = 1; \
  while (wide_ < (n)) wide_ *= 2; \
  BARRIER(); \
  for (int i_ = THREAD; i_ < wide_; i_ += THREADS) sort_at[i_] = i_; \
  for (int i_ = THREAD; i_ < (n); i_ += THREADS)
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

/* A longer row goes through the block's memory by parts of TP_SORT_MOST, from_ .. from_ + some_ -
 * 1, which are sorted there, for TP_SORT_EACH elements of each thread: places number_ of all. */
#define TP_SORT_EACH  16
#define TP_SORT_SHARE (TP_SORT_EACH * TP_KERNEL_THREADS)
#define TP_EACH_PART(n) \
  for (int64_t from_ = 0, some_; some_ = tp_index_min((n)-from_, TP_SORT_MOST), from_ < (n); \
       from_ += TP_SORT_MOST)
/* How many places of the part, whose keys are j_ on, go before. */
#define TP_SORT_COUNT(count, goes) \
  int count = 0; \
  for (int end_ = (int)some_; count < end_;) { \
    const int mid_ = (count + end_) / 2, j_ = sort_at[mid_]; \
    if (goes) count = mid_ + 1; \
    else end_ = mid_; \
  }

/* ---- folds by a thread (emit/body/reduction.c) ---- some lanes at once: all would take more
 * registers than there are. Lanes 0 .. 7, 16 .. 23, 8 .. 15, 24 .. 31 are joined by halves, as by
 * TP_LANES_JOIN. */

#define TP_SOME    8
#define TP_SOME_AT ((g_ & 1) * 16 + (g_ >> 1) * TP_SOME)
/* 0 at first, or registers were taken for them from the kernel's begin on */
#define TP_SOME_BEGIN(A) \
  A s_[TP_SOME], v_[TP_SOME]; \
  TP_UNROLLED \
  for (int k = 0; k < TP_SOME; k++) s_[k] = v_[k] = 0;
#define TP_EACH_SOME _Pragma("unroll 1") for (int g_ = 0; g_ < TP_FOLD_LANES / TP_SOME; g_++)
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
    if (!(g_ & 1)) s_[k] = x_; \
    else { \
      x_ = (A)TP_FOLD_##fn(s_[k], x_); \
      v_[k] = g_ == 1 ? x_ : (A)TP_FOLD_##fn(v_[k], x_); \
    } \
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

/* y: x of the thread that lies `far` further. */
#if TP_SHUFFLES
#define TP_GROUP_NEXT(A, y, x, far, room) const A y = SHUFFLE_DOWN(x, far);
#else
#define TP_GROUP_NEXT(A, y, x, far, room) \
  BARRIER(); \
  room[THREAD] = x; \
  BARRIER(); \
  const A y = (A)room[(THREAD + (far)) % THREADS];
#endif
/* Joins x of `lanes` threads that lie side by side by halves, for the first of them. All threads of
 * the block come here. */
#if TP_SHUFFLES
#define TP_GROUP_SUM(A, x, lanes, room) \
  for (int h_ = (lanes) / 2; h_; h_ /= 2) x = x + SHUFFLE_DOWN(x, h_);
#else
#define TP_GROUP_SUM(A, x, lanes, room) \
  BARRIER(); \
  room[THREAD] = x; \
  for (int h_ = (lanes) / 2; h_; h_ /= 2) { \
    BARRIER(); \
    if (THREAD % (lanes) < h_) room[THREAD] = (A)room[THREAD] + (A)room[THREAD + h_]; \
  } \
  x = (A)room[THREAD];
#endif

/* ---- products of few rows (emit/body/thin.c) ---- lanes of a column add up to all_, then those of
 * its second half; `side` columns lie side by side, and others have further terms of them */
#define TP_DOTS_JOIN(A, lanes, room) \
  TP_GROUP_SUM(A, part_[r_], lanes, room) \
  all_[r_] = all_[r_] + part_[r_];
#define TP_DOTS_NEXT(A, lanes, room) \
  TP_GROUP_NEXT(A, next_, part_[r_], lanes, room) \
  all_[r_] = all_[r_] + next_;
#define TP_COLUMNS_JOIN(A, side, room) \
  BARRIER(); \
  room[THREAD] = part_[r_]; \
  BARRIER(); \
  for (int q_ = THREAD; THREAD < (side) && q_ < THREADS; q_ += (side)) \
    all_[r_] = all_[r_] + (A)room[q_];

/* ---- products by tiles (emit/body/tile.c) ---- */

/* Adds one term to the thread's elements acc_, of `each` rows a and columns b, `far` apart. */
#define TP_TILE_TERM(T, mad, a, b, far, each) \
  T a_[each], b_[each]; \
  TP_UNROLLED \
  for (int i_ = 0; i_ < (each); i_++) a_[i_] = (a)[i_ * (far)], b_[i_] = (b)[i_ * (far)]; \
  TP_UNROLLED \
  for (int i_ = 0; i_ < (each); i_++) { \
    TP_UNROLLED \
    for (int j_ = 0; j_ < (each); j_++) \
      acc_[i_ * (each) + j_] = mad(a_[i_], b_[j_], acc_[i_ * (each) + j_]); \
  }
