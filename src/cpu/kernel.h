/* All inner loops of one instruction set, then their table. Before it: TABLE, ISA (names of the
 * table, in C and in words), VBYTES (of a vector), FMA (1: it is an instruction). Compiled without
 * contraction: what is to be fused is written as tp_mad, or MAD of vectors (kernel_gemm.h). */
#include "cpu/kernels.h"
#include <math.h>
#define KI     static inline __attribute__((always_inline))
#define TP_FN  static inline __attribute__((always_inline, unused))
#define TP_FMA FMA
#include "kern/prelude/math.h"
#include "kern/prelude/half.h"
#include "kern/prelude/philox.h"
#include "kern/prelude/scalar.h"
#include "kern/prelude/fold.h"
#include "cpu/kernel_scalar.h"
#include "cpu/kernel_move.h"
#include "cpu/kernel_fold.h"
#include "cpu/kernel_gemm.h"
#include "cpu/kernel_window.h"
#include "cpu/kernel_random.h"
#include "cpu/kernel_table.h"
