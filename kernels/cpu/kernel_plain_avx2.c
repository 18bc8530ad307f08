/* Inner loops for processors with avx2, without fma. */
#if defined(__x86_64__) && defined(__GNUC__)
#pragma GCC target("avx2,bmi2,f16c")
#include <immintrin.h>
#define TABLE  tp_kernels_plain_avx2
#define ISA    "avx2, plain"
#define VBYTES 32
#define FMA    0
#include "kernels/cpu/kernel.h"
#else
typedef int tp_no_x86;
#endif
