/* Golden texts of a folder: x.sdg beside what comes of it, x.want or x.err. UPDATE=1 in the
 * environment writes x.want anew; then it is to be read. */
#ifndef TP_GOLDEN_H
#define TP_GOLDEN_H
#include "check.h"
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static char *slurp(const char *path) { /* NULL: there is none */
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  static char chunk[1 << 16];
  size_t n = fread(chunk, 1, sizeof chunk - 1, f);
  fclose(f);
  chunk[n] = 0;
  return strdup(chunk);
}

static bool same_text(const char *name, const char *have, const char *want) {
  bool ok = want && strcmp(have, want) == 0;
  if (!ok) fprintf(stderr, "-- %s gives\n%s\n", name, have);
  return ok;
}

/* The text beside x.sdg with another ending. */
static inline char *partner(const char *dir, const char *sdg, const char *ending) {
  char path[512];
  snprintf(path, sizeof path, "%s/%.*s%s", dir, (int)strlen(sdg) - 4, sdg, ending);
  return slurp(path);
}

static inline void write_partner(
    const char *dir, const char *sdg, const char *ending, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%.*s%s", dir, (int)strlen(sdg) - 4, sdg, ending);
  FILE *f = fopen(path, "wb");
  if (f) fputs(text, f), fclose(f);
}

static inline void each_golden(const char *dir, void (*fn)(const char *dir, const char *sdg)) {
  struct dirent *d;
  DIR *all = opendir(dir);
  int n = 0;
  for (; all && (d = readdir(all)); n++) {
    size_t len = strlen(d->d_name);
    if (len < 5 || strcmp(d->d_name + len - 4, ".sdg") != 0) {
      n--;
      continue;
    }
    fn(dir, d->d_name);
  }
  CHECKF(n > 0, "no golden texts in %s", dir);
  if (all) closedir(all);
}
#endif
