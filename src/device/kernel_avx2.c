/* Inner loops for processors with avx2. */
#if defined(__x86_64__) && defined(__GNUC__)
#pragma GCC target("avx2,fma,bmi2,f16c")
#include <immintrin.h>
#include "device/kernels.h"
#define TABLE tp_kernels_avx2
#define ISA "avx2"
#define NORMAL tp_normal_avx2
#define VBYTES 32
#include "device/kernel_math.h"
#include "device/kernel_elementwise.h"
#include "device/kernel_fold.h"
#include "device/kernel_gemm.h"
#include "device/kernel_window.h"
#include "device/kernel_random.h"
#include "device/kernel_table.h"
#else
typedef int tp_no_x86;
#endif
