/* Inside src/rt: C that becomes code of this process. */
#ifndef TP_RT_CC_H
#define TP_RT_CC_H
#include "base/base.h"

enum { TP_CC_PATH = 1024 };
/* Compiles the text by $CC, or cc, with the flags of this version and TEMPO_CFLAGS, unless the cache has it; opens what comes out. NULL: `why` says why not.
 * path: where the text lies, "" if nowhere. */
void *tp_cc_open(const char *text, size_t n, char path[TP_CC_PATH], tp_buf *why);
void *tp_cc_close(void *lib);                   /* NULL */
/* The same beside us: what the cache has; else a compiler as a child process, which leaves the object in the cache also when this process has ended meanwhile, and nothing else. */
void *tp_cc_cached(const char *text, size_t n, char path[TP_CC_PATH]);
typedef struct tp_cc_job tp_cc_job;
tp_cc_job *tp_cc_begin(const char *text, size_t n, tp_buf *why);       /* NULL: no cache, or no process */
bool tp_cc_ended(tp_cc_job *j, void **lib, char path[TP_CC_PATH], tp_buf *why);        /* then lib is what came out, or NULL */
void tp_cc_reap(void);                          /* children of dropped jobs that have ended */
tp_cc_job *tp_cc_drop(tp_cc_job *j);            /* a compiler that still works goes on: the cache will have it; NULL */
#endif
