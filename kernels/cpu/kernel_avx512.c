/* Inner loops for processors with avx512. */
#if defined(__x86_64__) && defined(__GNUC__)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2,f16c,prefer-vector-width=512")
#include <immintrin.h>
#define TABLE  tp_kernels_avx512
#define ISA    "avx512"
#define VBYTES 64
#define FMA    1
#include "kernels/cpu/kernel.h"
#else
typedef int tp_no_x86;
#endif
