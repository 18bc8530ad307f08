/* One text, two compilers: with these macros kernels are CUDA C (NVRTC) and OpenCL C. The text of
 * a module is this file, the prelude without native.h, the other files of this folder and printed
 * kernels (tp_prelude_gpu has all but the last). Compilers are told not to contract (--fmad=false;
 * the pragma below) and to round divisions and square roots of f32 to nearest (as CUDA does;
 * -cl-fp32-correctly-rounded-divide-sqrt), so that every value has the CPU's bits.
 *
 *   KERNEL_OF(n, name)(..)    a kernel of n threads a block
 *   LONG_KERNEL_OF            one of many leaves, of which a multiprocessor has two blocks at once;
 *                             ptxas by itself would have more, and spill
 *   PLACE(p), AT(p)           a kernel's parameter that says where a buffer lies, and the address:
 *                             one pointer, which CUDA C reads from constant memory where it is
 *                             used, or a pointer and an offset (tp_gplace)
 *   NOTED(p, arena, off)      such a p that lies `off` behind `arena`
 *   HIDDEN(x)                 x, of which compilers know nothing: what is made of it is made here,
 *                             and not kept in registers from the kernel's begin on
 *   GLOBAL, LOCAL             of a pointer: to the device's memory; of an array at the beginning of
 *                             a kernel: one for the threads of a block. OpenCL has no pointer that
 *                             may be either, so functions say which they take
 *   THREAD, THREADS           int: which thread of a block, of how many
 *   BLOCK, BLOCKS             int: which block, of how many
 *   BARRIER()                 all threads of a block come here; then each sees what the others
 *                             wrote
 *   ATOMIC_..(p, v)           of GLOBAL and LOCAL memory; the value before
 *   SHUFFLE_DOWN(x, n)        x of the n-th next thread of the same 32; only if TP_SHUFFLES is 1,
 *                             and only where all 32 come
 *   LOAD4(p), STORE4(p, v)    four f32 at once (type float4, made by FLOAT4(a, b, c, d)); p is a
 *                             multiple of 16 bytes
 *   DOT4(a, b, c)             c and the products of the four bytes of a and b, which have signs
 *   TP_U64(1), TP_I64(-1)     numbers of 64 bits. Never write ull or LL: long long has 128 bits in
 *                             OpenCL C, without a word from the compiler. Text that is printed for
 *                             all targets (emit/text.c) says TP_I64 too, which
 *                             kernels/prelude/math.h defines elsewhere
 *   TP_FN, TP_ONCE, TP_AT     what the prelude asks for
 *   GRID_MEET(p)              threads of all blocks come here, p a count of 0 at first; in CUDA C
 *                             alone
 *
 * MEET() stands where threads read each other, LEAF_ENDS() behind each leaf of a kernel of several.
 * In CUDA C threads meet at the first. In OpenCL C they meet at the second, which always suffices:
 * pocl 3.1 mixes threads up that go on from the loop of one leaf to that of the next. It also
 * copies all that follows a barrier under a condition, so each such branch doubles the kernel;
 * there leaves and loops ask for themselves whether their branch is taken, all barriers behind
 * leaves are met, and those of a leaf stand in a loop, which is no condition.
 *
 *   BRANCH(c, of, x) { LEAF(c) {..} LEAF_ENDS(); } OTHERWISE(d, of, c) {..}
 *                                         CUDA C: if (x) .. else ..
 *   for (s = 0; IN_BRANCH(c) s < n; s++)  a loop in it; ALL_BRANCHES(of): outside of all
 *
 * Pointers of an environment's functions (kernels/env) are to a thread's own arrays. Elementary
 * functions of libm are the prelude's, with the prelude's bits. `half` is a word of OpenCL C that
 * the prelude has as a name.
 */
#if defined(__OPENCL_VERSION__)
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define TP_U64(x)          x##ul
#define TP_I64(x)          x##l
#define KERNEL_OF(n, name) __kernel __attribute__((reqd_work_group_size(n, 1, 1))) void name
#define LONG_KERNEL_OF     KERNEL_OF
#define PLACE(p)           __global char *p, int64_t p##_o
#define AT(p)              ((p) + p##_o)
#define NOTED(p, arena, off) \
  __global char *const p = arena; \
  const int64_t p##_o = arena##_o + (off)
#define HIDDEN(x) (x)
#define GLOBAL    __global
#define LOCAL     __local
#define TP_FN     static inline
#define TP_ONCE   static __attribute__((noinline))
#define THREAD    ((int)get_local_id(0))
#define THREADS   ((int)get_local_size(0))
#define BLOCK     ((int)get_group_id(0))
#define BLOCKS    ((int)get_num_groups(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define MEET()
#define LEAF_ENDS()             BARRIER()
#define ALL_BRANCHES(c)         const int c = 1
#define BRANCH(c, of, x)        const int c = of && (x);
#define OTHERWISE(c, of, other) const int c = of && !other;
#define LEAF(c)                 for (int leaf_ = c; leaf_; leaf_ = 0)
#define IN_BRANCH(c)            c &&
#define ATOMIC_ADD_I32(p, v)    atomic_add(p, v)
#define ATOMIC_CAS_U32(p, c, v) atomic_cmpxchg(p, c, v)
#define ATOMIC_ADD_U64(p, v)    atom_add(p, v)
#define ATOMIC_CAS_U64(p, c, v) atom_cmpxchg(p, c, v)
#define ATOMIC_MIN_U64(p, v)    atom_min(p, v)
#define TP_SHUFFLES             0
#define FLOAT4(a, b, c, d)      ((float4)(a, b, c, d))
#define LOAD4(p)                (*(GLOBAL const float4 *)(p))
#define STORE4(p, v)            (*(GLOBAL float4 *)(p) = (v))
#define half                    half_
#define fabsf                   fabs
#define sqrtf                   sqrt
#define floorf                  floor
#define ceilf                   ceil
#define rintf                   rint
#define fmaf                    fma
TP_FN int tp_dot4(uint32_t a, uint32_t b, int c) {
  for (int i = 0; i < 32; i += 8) c += (int)(char)(a >> i & 255) * (int)(char)(b >> i & 255);
  return c;
}
#define DOT4(a, b, c) tp_dot4(a, b, c)
TP_FN void tp_copy_bytes(void *to, const void *from, int64_t n) {
  for (int64_t i = 0; i < n; i++) ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
}
#define memcpy(to, from, n) tp_copy_bytes(to, from, (int64_t)(n))
#else
#pragma nv_diag_suppress 177 /* of functions that are not called */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define TP_U64(x)               x##ull
#define TP_I64(x)               x##ll
#define KERNEL_OF(n, name)      extern "C" __global__ void __launch_bounds__(n) name
#define LONG_KERNEL_OF(n, name) extern "C" __global__ void __launch_bounds__(n, 2) name
#define PLACE(p)                char *p
#define AT(p)                   (p)
#define NOTED(p, arena, off)    char *const p = arena + (off)
#define GLOBAL
#define LOCAL     __shared__
#define TP_FN     static __device__ __forceinline__
#define TP_ONCE   static __device__ __noinline__
#define THREAD    ((int)threadIdx.x)
#define THREADS   ((int)blockDim.x)
#define BLOCK     ((int)blockIdx.x)
#define BLOCKS    ((int)gridDim.x)
#define BARRIER() __syncthreads()
#define MEET()    BARRIER()
#define LEAF_ENDS()
#define ALL_BRANCHES(c)
#define BRANCH(c, of, x)        if (x)
#define OTHERWISE(c, of, other) else
#define LEAF(c)
#define IN_BRANCH(c)
#define ATOMIC_ADD_I32(p, v)    atomicAdd(p, v)
#define ATOMIC_CAS_U32(p, c, v) atomicCAS(p, c, v)
#define ATOMIC_ADD_U64(p, v)    atomicAdd(p, v)
#define ATOMIC_CAS_U64(p, c, v) atomicCAS(p, c, v)
#define ATOMIC_MIN_U64(p, v)    atomicMin(p, v)
#define TP_SHUFFLES             1
#define DOT4(a, b, c)           __dp4a((int)(a), (int)(b), c)
#define SHUFFLE_DOWN(x, n)      __shfl_down_sync(0xffffffffu, x, n)
#define FLOAT4(a, b, c, d)      make_float4(a, b, c, d)
#define LOAD4(p)                (*(const float4 *)(p))
#define STORE4(p, v)            (*(float4 *)(p) = (v))
TP_FN int64_t tp_hidden(int64_t x) {
  asm volatile("" : "+l"(x));
  return x;
}
#define HIDDEN(x)               tp_hidden(x)
#endif
#if !defined(__OPENCL_VERSION__)
/* Threads of all blocks come here; then each sees what the others wrote. The blocks are there at
 * once. Bit 31 of the count turns when the last has come, and the others wait for that: the first
 * adds what carries into it when each other one has added 1. */
TP_FN void tp_grid_meet(uint32_t *count) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const uint32_t was = atomicAdd(count, blockIdx.x ? 1u : 0x80000001u - gridDim.x);
    while (!((was ^ *(volatile uint32_t *)count) >> 31)) {
#if __CUDA_ARCH__ >= 700 /* cards before Volta cannot sleep */
      __nanosleep(32);
#endif
    }
    __threadfence();
  }
  __syncthreads();
}
#define GRID_MEET(count) tp_grid_meet((uint32_t *)(count))
#endif
#define TP_AT GLOBAL
#ifndef TP_FMA
#define TP_FMA 1
#endif
#undef sin
#define sin(x) tp_sin_f64(x)
#undef cos
#define cos(x) tp_cos_f64(x)
#undef tan
#define tan(x) tp_tan_f64(x)
#undef exp
#define exp(x) tp_exp_f64(x)
#undef log
#define log(x) tp_log_f64(x)
#undef tanh
#define tanh(x) tp_tanh_f64(x)
#undef pow
#define pow(x, y) tp_pow_f64(x, y)
