/* Inside src/rt: our files in a folder of the user's. cache.c */
#ifndef TP_RT_CACHE_H
#define TP_RT_CACHE_H
#include "base/base.h"

enum { TP_CC_PATH = 1024 };
/* it stands between a file's bytes and their checksum (cksum's) and length */
#define TP_CACHE_TAIL "\ntempo "
/* Finds the folder. False: there is none; `why`, unless NULL, names a folder that was refused. */
bool tp_cache_folder(char dir[TP_CC_PATH], tp_buf *why);
/* Removes the oldest files from the file's folder if it has grown too large. */
void tp_cache_prune(const char *file);
bool tp_cache_write(const char *path, const char *text, size_t n);
/* Reads a file that ends with its checksum and length, and leaves these away: for tp_free. NULL: it
 * is not there, or not whole. */
char *tp_cache_whole(const char *path, size_t *n);
uint64_t tp_cache_processor(uint64_t h); /* hashes the lines that describe the processor */
/* The same for plans, named by 32 hexadecimal digits, if there is a folder. put adds the tail. */
char *tp_cache_get(const char *name, size_t *n);
void tp_cache_put(const char *name, tp_buf *b);
void tp_cache_drop(const char *name);
#endif
