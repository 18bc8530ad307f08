/* exact.c: inner loops whose floats are the same bits on every processor. Compiled without contraction (Makefile), and written without anything else that a
 * compiler may round otherwise; so vectors of any width give what one element at a time does. */
#include "device/kernel_sine.h"
#include "device/kernels.h"
#include <math.h>

#define NORMAL tp_normal_base
#include "device/exact_normal.h"

#ifdef TP_X86
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi2")
#define NORMAL tp_normal_avx2
#include "device/exact_normal.h"
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2,prefer-vector-width=512")
#define NORMAL tp_normal_avx512
#include "device/exact_normal.h"
#pragma GCC pop_options
#endif
