/* emit: prints a plan as C. Rank 7.
 *
 * The text is self-contained: the prelude (kernels/prelude), then a function for each part of the
 * plan (tp_plan_parts). emit.c prints the tree of loops; select/ chooses leaves to print, functions
 * to share and values to keep in locals; body/ prints leaves, a file for each class; export/ prints
 * C99 that stands alone; text.c prints types, numbers, index expressions. */
#ifndef TP_EMIT_H
#define TP_EMIT_H
#include "plan/plan.h"

/* Prints a function `tp_part_N` for part N, with clocks or without. Returns how many; prints
 * nothing if there is none. No memory: to the latest guard. */
int tp_emit_c(tp_buf *b, const tp_plan *p, bool clocks);

/* ---- kernels for devices (kernel/) ---- */

/* A leaf, a loop, a stretch, or several of these as parts, that a device can run. A leaf goes over
 * any number of blocks, or over one. A loop is run by one block, whose threads meet between leaves
 * that need it (kernel/meet.c); or, where the target finds that shares of `rows` may run apart, by
 * a block for each share. A stretch is neighbours in the plan: leaves, branches, short loops. It
 * goes over any number of blocks if its threads meet nowhere, else over one. Buffers of loops and
 * stretches share no memory. Parts are kernels by themselves; all blocks, which are there at once,
 * meet between two of them that touch one buffer (kernel/parts.c).
 *
 * Its parameters: the place of notes, that of the arena, those of `buf` that lie outside of it, or
 * of all of them (tp_kernel_takes), that of sums by block, if it adds any; then the numbers: the
 * seed, a loop's first value and end (for a leaf 0, 0; for sums 0 and how many blocks), symbols
 * `sym`. Sums are those that the blocks of a loop by rows add up (tp_cut_loop). Notes are int64s: 1
 * + the position of the leaf that failed first, 0 until then; by symbol, the variables of loops
 * there; by buffer, its place in the arena; has anything failed; how often blocks met; by symbol,
 * an end by data as a LOAD found it last, and the value at which a loop left that ends by data
 * (ended.c). Then, for each block of a loop by rows, the same as the first two, for blocks are not
 * at one iteration. If something failed, kernels do nothing. */
typedef struct tp_kernel {
  const tp_pnode *node;
  int n; /* nodes of a stretch, or of parts, `node` the first; else 1 */
  const tp_pnode *const *all;
  char name[24];
  /* one: a single block must run it, unless it is printed by rows, as the target says before; the
   * last seven are known when it is printed */
  bool loop, stretch, one, by_rows;
  const tp_cut_loop *rows; /* NULL: not by rows */
  /* It adds what each block of a loop by rows has added up (rows->added) to the buffers. */
  bool sums;
  /* in the order of the plan; a loop's sums come behind it */
  struct tp_kernel *part;
  int nparts;
  bool adds;
  int nbuf, nsym;
  int *buf, *sym;
  bool *written; /* does it write buf[i]? */
  bool placed;   /* places in the arena are parameters, and not read from the notes */
} tp_kernel;
/* Threads of a block. */
enum { TP_KERNEL_THREADS = 256 };
/* Neighbours that may be a stretch, none at first: is there a kernel for all that is in x; adds x:
 * do threads meet? */
typedef struct tp_stretch tp_stretch;
tp_stretch *tp_emit_stretch(const tp_plan *p, tp_arena *a);
bool tp_emit_stretch_takes(tp_stretch *s, const tp_pnode *x);
bool tp_emit_stretch_add(tp_stretch *s, const tp_pnode *x);
/* The kernel of n neighbours. */
tp_kernel *tp_emit_stretch_kernel(tp_arena *a, int n, const tp_pnode *const *all, bool meets);
/* All leaves and loops that can be kernels, in the order of the plan. */
int tp_emit_find_kernels(const tp_plan *p, tp_arena *a, tp_kernel **out);
/* The kernel that adds sums up after `loop`. */
tp_kernel *tp_emit_sums_kernel(tp_arena *a, const tp_kernel *loop);
/* The kernel of n neighbours, or of one loop, which the parts, as they are now, make up. */
tp_kernel *tp_emit_parts_kernel(
    tp_arena *a, int n, const tp_pnode *const *all, int nparts, const tp_kernel *const *part);
/* Prints these in the dialect of devices, with all that they need. most: parameters that a kernel
 * takes if a place is one; 0: a place is two. No memory: to the latest guard. */
void tp_emit_kernels(
    tp_buf *b, const tp_plan *p, tp_arena *a, tp_kernel *const *k, int n, int most);
/* Is the place of buf[i] a parameter of the printed kernel? */
bool tp_kernel_takes(const tp_plan *p, const tp_kernel *k, int i);

/* ---- a program that stands alone (export.c) ---- */

/* An array that the host gives or takes, whole or at each tick, or a parameter. as: the member of a
 * struct in C; NULL: it has none. */
typedef struct tp_export_array {
  const char *name, *as;
  tp_dtype dtype;
  int rank;
  int64_t shape[TP_MAXRANK], bytes;
  bool ticks;
  int param;
  int64_t at;
  const tp_array *value;
} tp_export_array;
typedef struct tp_export {
  const char *name;
  tp_pos pos; /* what its files and functions are called */
  int64_t *env;
  uint64_t seed; /* bounds by symbol */
  int nbound;
  tp_dims bounds;
  /* By number of input, output, parameter. An output with param >= 0 is that parameter's last
   * value. A parameter's `at` is its place in the file of weights; value NULL: none yet. */
  int nin, nout, nparam;
  tp_export_array *in, *out, *param;
  int64_t weights; /* bytes of parameters */
  bool ticks, endless;
} tp_export;
typedef struct tp_export_text {
  tp_buf c, h, example, weights;
} tp_export_text;
/* False: an error that names what cannot be exported. No memory: to the latest guard. */
bool tp_emit_export(tp_export_text *to, const tp_plan *p, const tp_export *x, tp_error *err);
#endif
