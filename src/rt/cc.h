/* Inside src/rt: C that becomes code of this process. */
#ifndef TP_RT_CC_H
#define TP_RT_CC_H
#include "index/index.h"
#include "rt/cache.h"

/* C; flags of the script, behind those of this version; whose host may end the waiting
 * (tp_ictx_ended). */
typedef struct tp_cc_source {
  const char *text;
  size_t n;
  const char *flags;
  tp_ictx *ix;
} tp_cc_source;
/* Compiles it by $CC, or cc, unless the cache has it; opens what comes out. NULL: `why` says why
 * not, and a compiler that does not end within TEMPO_NATIVE_LIMIT is stopped; else `why` is empty
 * or says which folder for a cache was refused. path: where the text lies, "" if nowhere. */
void *tp_cc_open(const tp_cc_source *s, char path[TP_CC_PATH], tp_buf *why);
void *tp_cc_close(void *lib); /* NULL */
/* The same beside us: looks into the cache; else begins a compiler as a child process, which leaves
 * the object in the cache also when this process has ended meanwhile, and nothing else. */
void *tp_cc_cached(const tp_cc_source *s, char path[TP_CC_PATH]);
typedef struct tp_cc_job tp_cc_job;
/* NULL: no cache, or no process */
tp_cc_job *tp_cc_begin(const tp_cc_source *s, tp_buf *why);
/* then lib is what came out, or NULL */
bool tp_cc_ended(tp_cc_job *j, void **lib, char path[TP_CC_PATH], tp_buf *why);
void tp_cc_reap(void); /* waits for children of dropped jobs that have ended */
/* the compiler and all flags, as one would write them */
void tp_cc_command(tp_buf *b, const char *flags);
/* a compiler that still works goes on: the cache will have it; NULL */
tp_cc_job *tp_cc_drop(tp_cc_job *j);
#endif
