/* Inside emit/kernel. */
#ifndef TP_EMIT_KERNEL_H
#define TP_EMIT_KERNEL_H
#include "emit/body/nest.h"

/* kernel.c: may threads share the points of a LOOP? */
bool kernel_is_shared(const tp_region *r);
/* Have windows of two LOOPs no element in common? */
bool kernel_apart(const tp_region *r, const tp_nd *a, const tp_region *q, const tp_nd *b);
/* Does a leaf of the kernel note faults? */
bool kernel_may_fail(const tp_plan *p, const tp_kernel *k);
/* part: its number in a kernel of parts, from 1 on; 0: it is all of a kernel. home: the block that
 * runs a part of one block. */
void kernel_put_body(tp_emit *e, const tp_kernel *k, int part, int home);
/* How many sums it makes for each block, or joins. */
int kernel_sums(const tp_kernel *k);
tp_emit kernel_printer(const tp_plan *p, tp_arena *a);

/* ended.c. top: the kernel's own loop, which goes from one parameter to another. branch: a
 * condition that comes before the loop's. */
void kernel_open_for(tp_emit *e, const tp_pnode *x, bool top, const char *branch);
void kernel_shut_for(tp_emit *e, const tp_pnode *x, bool top);
/* All threads of a block come. keeps: the first of all notes the end, for kernels behind. */
void kernel_put_load(tp_emit *e, const tp_pnode *x, bool keeps);
/* Does the kernel take symbol i from the notes? */
bool kernel_is_end(const tp_emit *e, int i);

/* meet.c. left: leaves since threads met last. part: as above. branch: the number of the branch
 * that is printed, 0 outside of all; branches: how many there were. open: the latest leaf's end is
 * still to be printed. */
typedef struct meet_use meet_use;
typedef TP_VEC(meet_use *) meet_uses;
typedef struct meet_state {
  tp_emit *e;
  meet_uses left;
  int part, branch, branches;
  bool open;
} meet_state;
/* Must threads meet before the leaf? Then they do, and the leaf is run. */
bool meet_before(meet_state *m, const tp_pnode *leaf);
/* Does one thread do all of that leaf? */
bool meet_is_by_one(const meet_state *m);
/* Has the LOOP a single point, for one thread? */
bool kernel_has_one_point(const nest *l);
meet_uses meet_copy(const meet_state *m);
void meet_add(meet_state *m, const meet_uses *more);
#endif
