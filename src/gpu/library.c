/* library: opens libraries of others at run time. */
#include "gpu/priv.h"
#include "os/os.h"
#include <stdlib.h>

/* Keeps what the loader said, unless it only says that there is no such file. */
static void *open_at(const char *path, tp_buf *said) {
  void *library = tp_os_open(path);
  bool absent;
  const char *why = library ? NULL : tp_os_open_error(&absent);
  if (why && !absent && !said->n) tp_putf(said, ": %.300s", why);
  return library;
}

typedef struct {
  tp_buf *said;
  void *library;
} opened;

static bool open_found(void *ud, const char *path) {
  opened *o = ud;
  return (o->library = open_at(path, o->said)) != NULL;
}

static void *open_in(const tp_gfolder *f, const char *name, tp_buf *said) {
  const char *root = f->variable ? getenv(f->variable) : "";
  char pattern[TP_CACHE_PATH];
  opened o = { said, NULL };
  if (!f->variable && !f->path) return open_at(name, said);
  if (!root || (f->variable && !*root)) return NULL;
  int n = snprintf(pattern, sizeof pattern, "%s%s/%s", root, f->path, name);
  if (n < 0 || n >= (int)sizeof pattern) return NULL;
  tp_os_glob(pattern, open_found, &o);
  return o.library;
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

bool tp_gpu_functions(
    const char *of, void *library, int n, const char *const *names, void *fn, tp_buf *why) {
  for (int i = 0; i < n; i++) {
    void *p = tp_os_symbol(library, names[i]);
    if (!p) return tp_putf(why, "%s is too old: it has no %s", of, names[i]), false;
    memcpy((char *)fn + sizeof p * (size_t)i, &p, sizeof p);
  }
  return true;
}
