/* Inside src/rt: compiles C and opens it in this process. cc.c */
#ifndef TP_RT_CC_H
#define TP_RT_CC_H
#include "index/index.h"
#include "io/io.h"

/* The C; the script's flags, behind those of this version; ix: its host may end the wait
 * (tp_ictx_ended). */
typedef struct tp_cc_source {
  const char *text;
  size_t n;
  const char *flags;
  tp_ictx *ix;
} tp_cc_source;
/* Compiles it by $CC, or cc, unless the cache has it, and opens the result. NULL: `why` says why
 * not; a compiler that does not end within TEMPO_NATIVE_LIMIT is stopped. Otherwise `why` is empty
 * or names the cache folder that was refused. path: where the text lies, or "". */
void *tp_cc_open(const tp_cc_source *s, char path[TP_CACHE_PATH], tp_buf *why);
void *tp_cc_close(void *lib); /* NULL */
/* The same without waiting: takes it from the cache, or begins a compiler as a child process, which
 * leaves the object in the cache, and nothing else, even if this process ends before it. */
void *tp_cc_cached(const tp_cc_source *s, char path[TP_CACHE_PATH]);
typedef struct tp_cc_job tp_cc_job;
/* NULL: no cache, or no process */
tp_cc_job *tp_cc_begin(const tp_cc_source *s, tp_buf *why);
/* Has it ended? Then lib is the result, or NULL. */
bool tp_cc_ended(tp_cc_job *j, void **lib, char path[TP_CACHE_PATH], tp_buf *why);
void tp_cc_reap(void); /* waits for children of dropped jobs that have ended */
/* prints the compiler and all flags as a command line */
void tp_cc_command(tp_buf *b, const char *flags);
/* lets a compiler that still works go on into the cache; returns NULL */
tp_cc_job *tp_cc_drop(tp_cc_job *j);
#endif
