/* Inside src/rt: C that becomes code of this process. */
#ifndef TP_RT_CC_H
#define TP_RT_CC_H
#include "base/base.h"

enum { TP_CC_PATH = 1024 };
/* Compiles the text by $CC, or cc, with the flags of this version and TEMPO_CFLAGS, unless the cache has it; opens what comes out. NULL: `why` says why not.
 * path: where the text lies, "" if nowhere. */
void *tp_cc_open(const char *text, size_t n, char path[TP_CC_PATH], tp_buf *why);
void *tp_cc_close(void *lib);                   /* NULL */
#endif
