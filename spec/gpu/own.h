/* The emulator's own interface: watch.c (memory), blocks.c (launches), libcuda.c (the driver API).
 * Everything runs on the thread that waits. */
#ifndef EMU_OWN_H
#define EMU_OWN_H
#include "emu.h"
#include <stdbool.h>
#include <stddef.h>

/* TEMPO_EMU: words between commas.
 *   alloc=N, launch=N  the N-th allocation (kernel) from now on fails, once
 *   unwatched          accesses are not looked at
 *   races=0, fresh=0   these findings are left out
 *   own                of threads' own arrays, too, reads of what was never written are told
 *   seed=N             turns the order of blocks, warps and threads
 *   units=N, memory=N  multiprocessors; memory in MiB
 *   arch=N             90: compute capability 9.0
 *   driver=N           12040: what cuDriverGetVersion says
 *   deaf=N             to the watch, the N-th barrier of each block is none
 *   apart=N            to the watch, the N-th meeting of all blocks is none
 *   fuel=N             jumps back that a block may make before it is taken for stuck
 *   counts=PATH        a file with counts of what was done, written where somebody waits
 *   log=PATH           findings go there, added to what it has, instead of to stderr
 *   sync               work is done as it comes, not as late as it may be
 *   keep               files of modules stay readable beside what was built of them */
typedef struct emu_knobs {
  int64_t alloc, launch, seed, units, memory, arch, driver, fuel, deaf, apart;
  bool watched, races, fresh, own, sync, keep;
  char counts[1024], log[1024];
} emu_knobs;
extern emu_knobs emu_knob;

enum {
  EMU_OK = 0,
  EMU_INVALID = 1,
  EMU_OUT_OF_MEMORY = 2,
  EMU_ILLEGAL_ADDRESS = 700,
  EMU_LAUNCH_RESOURCES = 701,
  EMU_LAUNCH_TIMEOUT = 702,
  EMU_MISALIGNED = 716,
  EMU_LAUNCH_FAILED = 719,
};

/* ---- watch.c ---- */
bool watch_open(void);                  /* false: there is no room for the device's memory */
char *watch_take(uint64_t n, bool own); /* own: not the host's, so it counts */
bool watch_drop(char *p);               /* false: it is no allocation */
void watch_drop_all(void);
uint64_t watch_used(void);
/* Do n bytes lie in one living allocation? The arena is where pointers of the device point to. */
bool watch_holds(const void *p, uint64_t n);
bool watch_is_device(const void *p);
/* where p lies, in words */
const char *watch_where(const void *p);
/* Copies of the host: states go with the bytes. */
void watch_copy(void *to, const void *from, uint64_t n);
void watch_set(void *to, uint64_t n);
/* A library reads (writes) n bytes: what is wrong with that, or NULL. */
const char *watch_library(const void *p, uint64_t n, bool writes);

/* The state of the running launch. Times only grow: an access is before those of another thread of
 * its block if it was made before the interval began; before those of another block, if that has
 * learnt since that it was made: knows[c] is the time before which it knows all of block c, most
 * the latest of these times. */
typedef struct watch_now {
  uint32_t launch, block, interval, warp, who, most;
  const uint32_t *knows;
  const emu_kernel *kernel;
  const emu_module *module;
  char *shared, *local;
  int local_bytes, threads;
  int error; /* the first finding's, or 0 */
  int told;
} watch_now;
extern watch_now emu_now;
extern emu_api emu_calls;
void watch_begin_launch(const emu_module *m, const emu_kernel *k, int threads);
/* Blocks of the launch that are there at once: how many, and which one runs now. slot: of these. */
bool watch_together(int blocks, int dynamic); /* false: they have no room */
void watch_begin_block(int slot, int dynamic);
void watch_go_on(int slot);
void watch_begin_interval(void);
/* A finding: a line on stderr. place: an index of the module's, or -1. */
void emu_tell(int error, int place, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void emu_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- blocks.c ---- */
/* together: all blocks are there at once. */
typedef struct emu_grid {
  uint32_t blocks[3], threads[3], dynamic;
  bool together;
} emu_grid;
int emu_launch(const emu_module *m, const emu_kernel *k, const emu_grid *g, const char *params);
#endif
