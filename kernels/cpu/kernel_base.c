/* Inner loops for any processor, and the choice among the tables. */
#include "kernels/cpu/kernels.h"
#include <stdatomic.h>
#include <stdlib.h>
#ifdef __aarch64__
#include "os/os.h"
#include <arm_neon.h>
#define ISA "neon"
#else
#define ISA "base"
#endif
#define TABLE  tp_kernels_base
#define VBYTES 16
#ifdef __FP_FAST_FMA
#define FMA 1
#else
#define FMA 0
#endif
#include "kernels/cpu/kernel.h"

typedef enum { BASE, AVX2, AVX512, PAIRS } isa_level;
static isa_level isa_of(void) {
  isa_level l = BASE;
#ifdef TP_X86
  const char *isa = tp_setting("TEMPO_ISA");
  isa_level most = !isa        ? PAIRS
      : !strcmp(isa, "base")   ? BASE
      : !strcmp(isa, "avx2")   ? AVX2
      : !strcmp(isa, "avx512") ? AVX512
                               : PAIRS;
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  bool pairs = avx512 && __builtin_cpu_supports("avx512bf16");
  l = pairs ? PAIRS : avx512 ? AVX512 : avx2 ? AVX2 : BASE;
  l = TP_MIN(l, most);
#endif
  return l;
}

static const tp_kernels *const tables[][2] = {
  { &tp_kernels_base, &tp_kernels_plain },
#ifdef TP_X86
  { &tp_kernels_avx2, &tp_kernels_plain_avx2 },
  { &tp_kernels_avx512, &tp_kernels_plain_avx512 },
#endif
};

static isa_level level(void) {
  static _Atomic(int) chosen; /* 1 + the level; 0: not yet */
  int l = atomic_load_explicit(&chosen, memory_order_acquire);
  if (!l) atomic_store_explicit(&chosen, l = 1 + (int)isa_of(), memory_order_release);
  return (isa_level)(l - 1);
}

/* Products of pairs are beside the tables: their level has those below it. */
static const tp_kernels *table(bool plain) { return tables[TP_MIN(level(), AVX512)][plain]; }

const tp_kernels *tp_kernels_get(void) { return table(false); }
const tp_kernels *tp_kernels_plain_get(void) { return table(true); }
#ifdef TP_X86
tp_kpairs *tp_kernels_pairs(void) { return level() == PAIRS ? tp_pairs_multiply : NULL; }
#else
tp_kpairs *tp_kernels_pairs(void) { return NULL; }
#endif
