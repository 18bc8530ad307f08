/* cache: keeps our files in a folder of the user's,
 * ${TEMPO_CACHE:-${XDG_CACHE_HOME:-~/.cache}/tempo}, each named by all that it depends on: native
 * code, plans, and kernels of devices. A file is written under a temporary name and renamed, so any
 * number of processes may write the same at once. It ends with its checksum and length: a file that
 * was cut off counts as none. Only files with such names are removed from the folder, and a folder
 * that holds other files is not used unless tempo made it. */
#include "io/io.h"
#include "os/os.h"
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

enum { CACHED_BYTES = 256 << 20 };

uint64_t tp_cache_processor(uint64_t h) {
  char text[1 << 14];
  tp_os_processor(text, sizeof text);
  return tp_hash(text, strlen(text), h);
}

/* ---- folders ---- */

#define MARK \
  ".tempo" /* the file that says that tempo made the folder, or found it without other files */

/* Is the name 32 hexadecimal digits, perhaps numbers, and the kind of file? */
static bool is_our_name(const char *name) {
  size_t n = strspn(name, "0123456789abcdef");
  if (n != 32) return false;
  for (name += n; name[0] == '.' && isdigit((unsigned char)name[1]);)
    name += 1 + strspn(name + 1, "0123456789");
  return !strcmp(name, ".c") || !strcmp(name, ".so") || !strcmp(name, ".plan") ||
      !strcmp(name, ".gpu");
}

/* False: there are other files, or the folder cannot be read. */
static bool has_only_ours(const char *dir) {
  DIR *d = opendir(dir);
  bool only = d != NULL;
  for (struct dirent *e; only && (e = readdir(d)) != NULL;)
    only = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || !strcmp(e->d_name, MARK) ||
        is_our_name(e->d_name);
  if (d) closedir(d);
  return only;
}

/* Makes the folder and those above it; a folder that was there is taken only if its files are
 * ours. */
static bool make_folder(char *dir, tp_buf *why) {
  char mark[TP_CACHE_PATH];
  tp_file_folder(dir, true);
  snprintf(mark, sizeof mark, "%.900s/" MARK, dir);
  if (!tp_os_is_mine(dir)) return false;
  if (tp_os_look(mark, NULL) == TP_OS_FILE) return true;
  if (has_only_ours(dir)) return tp_os_write(mark, "", 0);
  if (why)
    tp_putf(why, "'%s' holds files of others: let TEMPO_CACHE name a folder of its own", dir);
  return false;
}

bool tp_cache_folder(char dir[TP_CACHE_PATH], tp_buf *why) {
  const char *own = tp_setting("TEMPO_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
             *home = getenv("HOME");
  int n = -1;
  if (own && strcmp(own, "none")) n = snprintf(dir, TP_CACHE_PATH, "%s", own);
  else if (!own && xdg && *xdg == '/') n = snprintf(dir, TP_CACHE_PATH, "%s/tempo", xdg);
  else if (!own && home && *home == '/') n = snprintf(dir, TP_CACHE_PATH, "%s/.cache/tempo", home);
  return n > 0 && n < TP_CACHE_PATH - 128 && make_folder(dir, why);
}

/* ---- a cache that stays small: the oldest files of ours go ---- */

typedef struct {
  char name[64];
  int64_t size, used;
} cached_file;

static int oldest_first(const void *a, const void *b) {
  const cached_file *x = a, *y = b;
  return (x->used > y->used) - (x->used < y->used);
}

static int list_files(const char *dir, cached_file *v, int max, int64_t *total) {
  DIR *d = opendir(dir);
  int n = 0;
  for (struct dirent *e; d && n < max && (e = readdir(d)) != NULL;) {
    char path[TP_CACHE_PATH + 64];
    int64_t of[4];
    if (!is_our_name(e->d_name) || strlen(e->d_name) >= sizeof v->name) continue;
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    if (!tp_os_stamp(path, of)) continue;
    memcpy(v[n].name, e->d_name, strlen(e->d_name) + 1);
    v[n].size = of[0];
    v[n++].used = of[1];
    *total += of[0];
  }
  if (d) closedir(d);
  return n;
}

void tp_cache_prune(const char *file) {
  enum { MOST = 1 << 14 };
  cached_file *v = tp_alloc(sizeof *v * MOST);
  char dir[TP_CACHE_PATH];
  snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(file, '/') - file), file);
  int64_t total = 0;
  int n = v ? list_files(dir, v, MOST, &total) : 0;
  if (n > 1) qsort(v, (size_t)n, sizeof *v, oldest_first);
  for (int i = 0; i < n && (total > CACHED_BYTES || n - i > MOST / 2); i++) {
    char path[TP_CACHE_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", dir, v[i].name);
    if (remove(path) == 0) total -= v[i].size;
  }
  tp_free(v);
}

/* ---- whole files ---- */

/* POSIX's cksum of n bytes, four bits at a time. */
static uint32_t checksum(const unsigned char *p, size_t n) {
  uint32_t table[16], c = 0;
  for (uint32_t i = 0; i < 16; i++) {
    table[i] = i << 28;
    for (int k = 0; k < 4; k++) table[i] = table[i] << 1 ^ (table[i] >> 31 ? 0x04c11db7u : 0);
  }
  for (size_t i = 0, length = n; i < n || length; i++) {
    unsigned byte = i < n ? p[i] : (unsigned)(length & 255);
    if (i >= n) length >>= 8;
    c = c << 4 ^ table[c >> 28 ^ byte >> 4];
    c = c << 4 ^ table[c >> 28 ^ (byte & 15)];
  }
  return ~c;
}

char *tp_cache_whole(const char *path, size_t *length) {
  enum { LONGEST = 64 };
  tp_error ignored = { 0 };
  size_t n = 0, at;
  char *p = tp_file_whole(path, &n, &ignored), *end;
  bool whole = false;
  for (at = n; p && at > 0 && n - at < LONGEST && !whole; at--) {
    if (strncmp(p + at, TP_CACHE_TAIL, strlen(TP_CACHE_TAIL))) continue;
    unsigned long sum = strtoul(p + at + strlen(TP_CACHE_TAIL), &end, 10);
    whole = strtoul(end, NULL, 10) == at && checksum((unsigned char *)p, at) == sum;
  }
  if (whole) return p[at + 1] = 0, *length = at + 1, p;
  tp_free(p);
  return NULL;
}

/* ---- by name ---- */

void tp_cache_name(char name[33], const char *text, size_t n, uint64_t h) {
  for (int i = 0; i < 2; i++)
    snprintf(name + 16 * i, 17, "%016llx", (unsigned long long)tp_hash(text, n, h + (uint64_t)i));
}

static bool path_of(char path[TP_CACHE_PATH], const char *name, const char *kind) {
  char dir[TP_CACHE_PATH];
  return tp_cache_folder(dir, NULL) &&
      snprintf(path, TP_CACHE_PATH, "%.900s/%s%s", dir, name, kind) > 0;
}

char *tp_cache_get(const char *name, const char *kind, size_t *n) {
  char path[TP_CACHE_PATH];
  char *p = path_of(path, name, kind) ? tp_cache_whole(path, n) : NULL;
  if (p) tp_os_touch(path); /* used now: removed after all others */
  return p;
}

void tp_cache_drop(const char *name, const char *kind) {
  char path[TP_CACHE_PATH];
  if (path_of(path, name, kind)) remove(path);
}

void tp_cache_put(const char *name, const char *kind, tp_buf *b) {
  static int made;
  char path[TP_CACHE_PATH], own[TP_CACHE_PATH + 64];
  if (!path_of(path, name, kind)) return;
  tp_putf(b, TP_CACHE_TAIL "%lu %zu\n", (unsigned long)checksum((unsigned char *)b->s, b->n), b->n);
  if (b->failed) return;
  int k = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
  snprintf(own, sizeof own, "%.*s.%ld.%d%s", (int)(strlen(path) - strlen(kind)), path,
      (long)tp_os_process(), k, kind);
  if (!tp_os_write(own, b->s, b->n) || !tp_os_rename(own, path)) remove(own);
  else tp_cache_prune(path);
}
