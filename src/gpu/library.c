/* library: opens libraries of others at run time. */
#include "gpu/priv.h"
#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>

/* Keeps what the loader said, unless it only says that there is no such file. */
static void *open_at(const char *path, tp_buf *said) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char *why = library ? NULL : dlerror();
  if (why && !said->n && !strstr(why, "No such file")) tp_putf(said, ": %.300s", why);
  return library;
}

static void *open_in(const tp_gfolder *f, const char *name, tp_buf *said) {
  const char *root = f->variable ? getenv(f->variable) : "";
  char pattern[TP_CACHE_PATH];
  void *library = NULL;
  glob_t found;
  if (!f->variable && !f->path) return open_at(name, said);
  if (!root || (f->variable && !*root)) return NULL;
  int n = snprintf(pattern, sizeof pattern, "%s%s/%s", root, f->path, name);
  if (n < 0 || n >= (int)sizeof pattern || glob(pattern, 0, NULL, &found)) return NULL;
  for (size_t i = 0; i < found.gl_pathc && !library; i++)
    library = open_at(found.gl_pathv[i], said);
  globfree(&found);
  return library;
}

void *tp_gpu_open(const char *const *names, int nfolder, const tp_gfolder *folder, tp_buf *why) {
  void *library = NULL;
  tp_buf said;
  tp_buf_init(&said);
  for (int k = 0; k < nfolder && !library; k++)
    for (int i = 0; names[i] && !library; i++) library = open_in(&folder[k], names[i], &said);
  for (int i = 0; names[i] && !library; i++) tp_putf(why, "%s%s", i ? " or " : "", names[i]);
  if (!library) tp_putf(why, " cannot be opened%s", said.n ? said.s : "");
  tp_buf_free(&said);
  return library;
}

bool tp_gpu_functions(void *library, int n, const char *const *names, void *fn, tp_buf *why) {
  for (int i = 0; i < n; i++) {
    void *p = dlsym(library, names[i]);
    if (!p) return tp_putf(why, "it is too old: it has no %s", names[i]), false;
    memcpy((char *)fn + sizeof p * (size_t)i, &p, sizeof p);
  }
  return true;
}
