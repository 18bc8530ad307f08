/* The interface between a module that ptx.lua wrote and the emulator (watch.c, blocks.c). A module
 * exports emu_this. */
#ifndef EMU_H
#define EMU_H
#include <math.h>
#include <stdint.h>
#include <string.h>

/* A thread. at: the stop where it goes on, 0: its beginning. who: the block's number, ten bits of
 * its own. meet, place: why and where it stopped. give, lane, clamp, mask: what it brings there;
 * got, ok: what it takes. */
typedef struct emu_thread {
  int at;
  uint32_t tid[3], who;
  char *local;
  uint64_t *saved;
  int meet, place;
  uint32_t give, lane, clamp, mask, got, ok;
} emu_thread;
enum {
  EMU_NONE,
  EMU_BLOCK,
  EMU_BLOCK_COUNT,
  EMU_BLOCK_ALL,
  EMU_BLOCK_ANY,
  EMU_WARP,
  EMU_SHUFFLE_UP,
  EMU_SHUFFLE_DOWN,
  EMU_SHUFFLE_XOR,
  EMU_SHUFFLE_INDEX,
  EMU_VOTE_ANY,
  EMU_VOTE_ALL,
  EMU_VOTE_SAME,
  EMU_VOTE_BALLOT,
  EMU_SLEEP, /* other blocks go on */
};

typedef struct emu_block {
  char *shared;
  const char *params;
  uint32_t ntid[3], ctaid[3], nctaid[3], dynamic;
} emu_block;

typedef struct emu_span {
  int at, bytes;
} emu_span;
/* run gives 0 where the thread ended, the number of a stop, or -1 where it is given up. arrays: of
 * shared memory, which takes `taken` bytes on a device and `span` here, with gaps. registers: of 32
 * bits, an estimate. */
typedef struct emu_kernel {
  const char *name;
  int (*run)(const emu_block *, emu_thread *);
  const emu_span *params;
  int nparams;
  const emu_span *arrays;
  int narrays, span, taken, dynamic, local, saved, stops, threads, registers;
} emu_kernel;
/* line: of the text; from: the line of the kernel that it was called from; ptx: of the PTX. */
typedef struct emu_place {
  int line, from, ptx;
} emu_place;
typedef struct emu_table {
  char *at;
  uint64_t bytes;
} emu_table;
typedef struct emu_api {
  int64_t fuel; /* jumps back that the block may yet make */
  void *(*load)(char *p, int size, int n, int place);
  void *(*store)(char *p, int size, int n, int place);
  void *(*sync_load)(char *p, int size, int n, int place);
  void *(*sync_store)(char *p, int size, int n, int place);
  void *(*shared)(char *p, int size, int n, int place, int how);
  void *(*local)(char *p, int size, int n, int place, int how);
  void (*stuck)(int place);
  void (*trap)(int place);
  void (*fence)(void);
  uint64_t (*clock)(void);
} emu_api;
typedef struct emu_module {
  const emu_kernel *kernels;
  int nkernels;
  const emu_place *places;
  const emu_table *tables;
  int ntables;
  emu_api **api;
} emu_module;
enum { EMU_LOAD, EMU_STORE, EMU_SYNC_LOAD, EMU_SYNC_STORE };

#ifdef EMU_MODULE
static emu_api *E;
#ifdef EMU_UNWATCHED
#define FENCE_()                                ((void)0)
#define AT_global_load(p, size, n, place)       ((void *)(p))
#define AT_global_store(p, size, n, place)      ((void *)(p))
#define AT_global_sync_load(p, size, n, place)  ((void *)(p))
#define AT_global_sync_store(p, size, n, place) ((void *)(p))
#define AT_shared_(p, size, n, place, how)      ((void *)(p))
#define AT_local_(p, size, n, place, how)       ((void *)(p))
#else
#define FENCE_()                                E->fence()
#define AT_global_load(p, size, n, place)       E->load(p, size, n, place)
#define AT_global_store(p, size, n, place)      E->store(p, size, n, place)
#define AT_global_sync_load(p, size, n, place)  E->sync_load(p, size, n, place)
#define AT_global_sync_store(p, size, n, place) E->sync_store(p, size, n, place)
#define AT_shared_(p, size, n, place, how)      E->shared(p, size, n, place, how)
#define AT_local_(p, size, n, place, how)       E->local(p, size, n, place, how)
#endif
#define AT_global_atomic(p, size, n, place)     AT_global_sync_store(p, size, n, place)
#define AT_shared_load(p, size, n, place)       AT_shared_(p, size, n, place, EMU_LOAD)
#define AT_shared_store(p, size, n, place)      AT_shared_(p, size, n, place, EMU_STORE)
#define AT_shared_sync_load(p, size, n, place)  AT_shared_(p, size, n, place, EMU_SYNC_LOAD)
#define AT_shared_sync_store(p, size, n, place) AT_shared_(p, size, n, place, EMU_SYNC_STORE)
#define AT_shared_atomic(p, size, n, place)     AT_shared_(p, size, n, place, EMU_SYNC_STORE)
#define AT_local_load(p, size, n, place)        AT_local_(p, size, n, place, EMU_LOAD)
#define AT_local_store(p, size, n, place)       AT_local_(p, size, n, place, EMU_STORE)
#define AT_local_sync_load(p, size, n, place)   AT_local_(p, size, n, place, EMU_LOAD)
#define AT_local_sync_store(p, size, n, place)  AT_local_(p, size, n, place, EMU_STORE)
#define AT_local_atomic(p, size, n, place)      AT_local_(p, size, n, place, EMU_STORE)

static inline float F32(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static inline uint32_t U32(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
static inline double F64(uint64_t u) {
  double f;
  memcpy(&f, &u, 8);
  return f;
}
static inline uint64_t U64(double f) {
  uint64_t u;
  memcpy(&u, &f, 8);
  return u;
}
#define FMA_f32       fmaf
#define FMA_f64       fma
#define SQRT_f32      sqrtf
#define SQRT_f64      sqrt
#define FABS_f32      fabsf
#define FABS_f64      fabs
#define COPYSIGN_f32  copysignf
#define COPYSIGN_f64  copysign
#define TRUNC_f32     truncf
#define TRUNC_f64     trunc
#define RINT_f32      rintf
#define RINT_f64      rint
#define FLOOR_f32     floorf
#define FLOOR_f64     floor
#define CEIL_f32      ceilf
#define CEIL_f64      ceil
#define FLESS_(a, b)  ((a) < (b) || ((a) == (b) && signbit(a)))
#define FMIN(a, b)    ((a) != (a) ? (b) : (b) != (b) ? (a) : FLESS_(a, b) ? (a) : (b))
#define FMAX(a, b)    ((a) != (a) ? (b) : (b) != (b) ? (a) : FLESS_(a, b) ? (b) : (a))
#define FNANMIN(a, b) ((a) != (a) ? (a) : (b) != (b) ? (b) : FLESS_(a, b) ? (a) : (b))
#define FNANMAX(a, b) ((a) != (a) ? (a) : (b) != (b) ? (b) : FLESS_(a, b) ? (b) : (a))

/* Quotients that C has no value for: a device gives all bits set, and wraps. */
#define DIV_(T, a, b) \
  ((b) == 0 ? (T)-1 : (T)-1 < 0 && (b) == (T)-1 ? (T)(0 - (uint64_t)(a)) : (T)((a) / (b)))
#define REM_(T, a, b) ((b) == 0 ? (T)(a) : (T)-1 < 0 && (b) == (T)-1 ? 0 : (T)((a) % (b)))

/* To an integer: kept in its range. NaN: 0; with 64 bits on either side the least, or half of all.
 */
#define TO_(sfx, T, lo, hi, nan) \
  static inline T TO_##sfx(double x, int wide) { \
    if (x != x) return wide || sizeof(T) == 8 ? nan : 0; \
    return x <= (double)lo ? lo : x >= (double)hi ? hi : (T)x; \
  }
TO_(s8, int8_t, INT8_MIN, INT8_MAX, INT8_MIN)
TO_(u8, uint8_t, 0, UINT8_MAX, 0x80)
TO_(s16, int16_t, INT16_MIN, INT16_MAX, INT16_MIN)
TO_(u16, uint16_t, 0, UINT16_MAX, 0x8000)
TO_(s32, int32_t, INT32_MIN, INT32_MAX, INT32_MIN)
TO_(u32, uint32_t, 0, UINT32_MAX, 0x80000000u)
TO_(s64, int64_t, INT64_MIN, INT64_MAX, INT64_MIN)
TO_(u64, uint64_t, 0, UINT64_MAX, 0x8000000000000000ull)

#define MIN32_(n)  ((n) < 32 ? (n) : 32)
#define CLZ_b32(x) ((x) ? __builtin_clz(x) : 32)
#define CLZ_b64(x) ((x) ? __builtin_clzll(x) : 64)
#define BFIND_(x, most, amount) \
  ((x) == 0          ? 0xffffffffu \
          : (amount) ? (uint32_t)__builtin_clzll((uint64_t)(x)) - (64 - (most)) \
                     : 63u - (uint32_t)__builtin_clzll((uint64_t)(x)))
static inline uint64_t BREV_b64(uint64_t x) {
  uint64_t r = 0;
  for (int i = 0; i < 64; i++) r |= (x >> i & 1) << (63 - i);
  return r;
}
static inline uint32_t BREV_b32(uint32_t x) { return (uint32_t)(BREV_b64(x) >> 32); }
static inline uint32_t LOP3_(uint32_t a, uint32_t b, uint32_t c, int table) {
  uint32_t r = 0;
  for (int i = 0; i < 8; i++)
    if (table >> i & 1) r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
}
static inline uint32_t PRMT_(uint32_t a, uint32_t b, uint32_t how) {
  uint64_t both = (uint64_t)b << 32 | a;
  uint32_t r = 0;
  for (int i = 0; i < 4; i++) {
    int pick = how >> 4 * i & 15;
    uint8_t byte = (uint8_t)(both >> 8 * (pick & 7));
    if (pick & 8) byte = byte & 128 ? 255 : 0;
    r |= (uint32_t)byte << 8 * i;
  }
  return r;
}
static inline uint32_t DP2A_(uint32_t a, uint32_t b, uint32_t c) {
  return c + (a & 65535) * (b & 255) + (a >> 16) * (b >> 8 & 255);
}
static inline int32_t DP4A_(uint32_t a, uint32_t b, int32_t c) {
  for (int i = 0; i < 32; i += 8) c += (int8_t)(a >> i) * (int8_t)(b >> i);
  return c;
}
#define BITS_(T, n) ((n) >= 8 * sizeof(T) ? (T)-1 : ((T)1 << (n)) - 1)
#define BFI_(sfx, T) \
  static inline T BFI_##sfx(T a, T b, uint32_t at, uint32_t n) { \
    at &= 255, n &= 255; \
    if (at >= 8 * sizeof(T)) return b; \
    T m = BITS_(T, n) << at; \
    return (b & ~m) | (a << at & m); \
  }
BFI_(b32, uint32_t)
BFI_(b64, uint64_t)
#define BFE_(sfx, T, U) \
  static inline T BFE_##sfx(T a, uint32_t at, uint32_t n) { \
    uint32_t most = 8 * sizeof(T); \
    at &= 255, n &= 255; \
    if (n == 0) return 0; \
    U sign = (T)-1 < 0 && (U)a >> ((at + n < most ? at + n : most) - 1) & 1 ? (U)-1 : 0; \
    U x = at >= most ? sign : (U)a >> at | (at ? sign << (most - at) : 0); \
    U m = BITS_(U, n); \
    return (T)((x & m) | (sign & ~m)); \
  }
BFE_(u32, uint32_t, uint32_t)
BFE_(s32, int32_t, uint32_t)
BFE_(u64, uint64_t, uint64_t)
BFE_(s64, int64_t, uint64_t)
#endif
#endif
