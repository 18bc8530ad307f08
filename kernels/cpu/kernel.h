/* All inner loops of one instruction set, then their table. The including file defines TABLE, ISA
 * (names of the table, in C and in words), VBYTES (of a vector), FMA (1: it is an instruction).
 * Compiled without contraction: fused operations are written as tp_mad, or MAD of vectors
 * (kernel_gemm.h). */
#include "kernels/cpu/kernels.h"
#include <math.h>
#define KI     static inline __attribute__((always_inline))
#define TP_FN  static inline __attribute__((always_inline, unused))
#define TP_FMA FMA
#include "kernels/prelude/math.h"
#include "kernels/prelude/half.h"
#include "kernels/prelude/philox.h"
#include "kernels/prelude/scalar.h"
#include "kernels/prelude/fold.h"
#include "kernels/cpu/kernel_scalar.h"
#include "kernels/cpu/kernel_move.h"
#include "kernels/cpu/kernel_fold.h"
#include "kernels/cpu/kernel_gemm.h"
#include "kernels/cpu/kernel_blocks.h"
#include "kernels/cpu/kernel_thin.h"
#include "kernels/cpu/kernel_window.h"
#include "kernels/cpu/kernel_random.h"
#include "kernels/cpu/kernel_table.h"
