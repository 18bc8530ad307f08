/* Inside src/rt: files of ours in a folder of the user's. */
#ifndef TP_RT_CACHE_H
#define TP_RT_CACHE_H
#include "base/base.h"

enum { TP_CC_PATH = 1024 };
/* what stands between a file's bytes and their checksum (cksum's) and length */
#define TP_CACHE_TAIL "\ntempo "
/* False: nothing is kept; `why`, unless NULL, says which folder was refused, if one was. */
bool tp_cache_folder(char dir[TP_CC_PATH], tp_buf *why);
/* The oldest go from the file's folder, where it has grown too large. */
void tp_cache_prune(const char *file);
bool tp_cache_write(const char *path, const char *text, size_t n);
/* All of a file that ends with its checksum and length, which do not count: for tp_free. NULL: it
 * is not there, or not whole. */
char *tp_cache_whole(const char *path, size_t *n);
uint64_t tp_cache_processor(uint64_t h); /* a hash of the lines that say what it is and can */
/* The same for plans, by 32 hexadecimal digits, wherever there is a folder. put adds the tail. */
char *tp_cache_get(const char *name, size_t *n);
void tp_cache_put(const char *name, tp_buf *b);
void tp_cache_drop(const char *name);
#endif
