/* Inner loops for any processor that fuse nothing, if those of kernel_base.c do. */
#ifdef __FP_FAST_FMA
#ifdef __aarch64__
#include "os/os.h"
#include <arm_neon.h>
#endif
#define TABLE  tp_kernels_plain
#define ISA    "plain"
#define VBYTES 16
#define FMA    0
#include "kernels/cpu/kernel.h"
#else
typedef int tp_no_fma;
#endif
