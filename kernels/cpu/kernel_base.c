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

typedef enum { BASE, AVX2, AVX512 } isa_level;
static isa_level isa_of(void) {
  isa_level l = BASE;
#ifdef TP_X86
  const char *isa = tp_setting("TEMPO_ISA");
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512 && (!isa || !strcmp(isa, "avx512"))) l = AVX512;
  else if (avx2 && (!isa || strcmp(isa, "base"))) l = AVX2;
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

static const tp_kernels *table(bool plain) {
  static _Atomic(int) chosen; /* 1 + the level; 0: not yet */
  int l = atomic_load_explicit(&chosen, memory_order_acquire);
  if (!l) atomic_store_explicit(&chosen, l = 1 + (int)isa_of(), memory_order_release);
  return tables[l - 1][plain];
}

const tp_kernels *tp_kernels_get(void) { return table(false); }
const tp_kernels *tp_kernels_plain_get(void) { return table(true); }
