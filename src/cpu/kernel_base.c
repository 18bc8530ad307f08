/* Inner loops for any processor, and the choice among the tables. */
#include "cpu/kernels.h"
#include <stdatomic.h>
#include <stdlib.h>
#define TABLE tp_kernels_base
#define ISA "base"
#define VBYTES 16
#ifdef __FP_FAST_FMA
#define FMA 1
#else
#define FMA 0
#endif
#include "cpu/kernel.h"

static const tp_kernels *choose(void) {
#ifdef TP_X86
  const char *isa = tp_setting("TEMPO_ISA");
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512 && (!isa || !strcmp(isa, "avx512"))) return &tp_kernels_avx512;
  if (avx2 && (!isa || strcmp(isa, "base"))) return &tp_kernels_avx2;
#endif
  return &tp_kernels_base;
}

const tp_kernels *tp_kernels_get(void) {
  static _Atomic(const tp_kernels *) chosen;
  const tp_kernels *k = atomic_load_explicit(&chosen, memory_order_acquire);
  if (!k) atomic_store_explicit(&chosen, k = choose(), memory_order_release);
  return k;
}
