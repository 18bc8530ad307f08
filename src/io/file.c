/* file: replaces files as a whole or not at all. */
#include "io/io.h"
#include "os/os.h"
#include <errno.h>
#include <stdlib.h>

enum { RENAMES = 100 };

bool tp_file_fail(tp_error *err, const char *path, const char *why) {
  return tp_fail(err, TP_E_FILE, TP_NOWHERE, "file: %s: %s", path, why);
}

FILE *tp_file_open(const char *path, int64_t *size, tp_error *err) {
  const char *why;
  FILE *f = tp_os_read(path, size, &why);
  if (!f) tp_file_fail(err, path, why);
  return f;
}

bool tp_file_read(FILE *f, void *p, size_t n) { return n == 0 || fread(p, 1, n, f) == n; }

char *tp_file_whole(const char *path, size_t *n, tp_error *err) {
  int64_t size = 0;
  FILE *f = tp_file_open(path, &size, err);
  if (!f) return NULL;
  char *p = tp_alloc((size_t)size + 1);
  bool ok = p && tp_file_read(f, p, (size_t)size);
  fclose(f);
  *n = (size_t)size;
  if (ok) return p[size] = 0, p;
  if (p) tp_file_fail(err, path, "cannot be read");
  else
    tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "no memory for %lld bytes of %s", (long long)size, path);
  tp_free(p);
  return NULL;
}

static void name_beside(const char *path, int k, tp_buf *tmp) {
  tp_buf_free(tmp);
  tp_putf(tmp, "%s.%ld.%d.tmp", path, (long)tp_os_process(), k);
}

/* Its name goes into tmp; other threads and processes may be writing the same path. */
static FILE *open_beside(const char *path, int mode, tp_buf *tmp) {
  FILE *f = NULL;
  for (int k = 0; k < RENAMES && !f; k++) {
    name_beside(path, k, tmp);
    if (tmp->failed) {
      errno = ENOMEM;
      return NULL;
    }
    f = tp_os_create(tmp->s, mode);
    if (!f && errno != EEXIST) return NULL;
  }
  return f;
}

static bool give_name(FILE *f, const char *path, tp_buf *tmp) {
  for (int k = 0; k < RENAMES; k++) {
    name_beside(path, k, tmp);
    if (tmp->failed) {
      errno = ENOMEM;
      return false;
    }
    if (tp_os_name(f, tmp->s)) return true;
    if (errno != EEXIST) break;
  }
  tp_buf_free(tmp);
  return false;
}

static bool write_out(FILE *f, bool sync, tp_writer *write, void *ud) {
  return write(f, ud) && fflush(f) == 0 && (!sync || tp_os_sync(f));
}

/* errno stays the first error's. */
static bool close_file(FILE *f, bool ok) {
  int saved = errno;
  bool closed = fclose(f) == 0;
  if (!ok && saved) errno = saved;
  return ok && closed;
}

/* real: where a symbolic link points; tmp: the new file's name; old: another name of the old file,
 * or NULL. */
typedef struct {
  const tp_file_new *of;
  char *real;
  tp_buf tmp, old;
  bool special, named, moved;
} replaced;

/* on the disk, under a temporary name */
static bool write_beside(replaced *r, int mode, bool keep_mode) {
  FILE *f = tp_os_create_unnamed(r->real, mode);
  bool unnamed = f != NULL;
  if (!unnamed) f = open_beside(r->real, mode, &r->tmp);
  r->named = !unnamed && f;
  bool ok = f && (!keep_mode || tp_os_chmod(f, mode) || errno == EPERM) &&
      write_out(f, true, r->of->write, r->of->ud);
  if (ok && unnamed) r->named = ok = give_name(f, r->real, &r->tmp);
  return f ? close_file(f, ok) : false;
}

static bool prepare(replaced *r) {
  int mode = 0666;
  tp_os_kind kind = tp_os_look(r->of->path, &mode);
  errno = 0;
  r->special = kind == TP_OS_OTHER;
  if (kind == TP_OS_FOLDER) return errno = EISDIR, false;
  r->real = kind ? tp_os_real(r->of->path) : strdup(r->of->path);
  return r->real && (r->special || write_beside(r, mode, kind != TP_OS_NONE));
}

/* Keeps a name by which the old file can come back; without links the file moves there. No file: no
 * name. */
static void keep_old(replaced *r) {
  for (int k = 0; k < RENAMES; k++) {
    name_beside(r->real, k, &r->old);
    if (r->old.failed || tp_os_link(r->real, r->old.s)) return;
    if (errno != EEXIST) break;
  }
  if (errno != ENOENT && tp_os_rename(r->real, r->old.s)) return;
  tp_buf_free(&r->old);
}

static bool put_in_place(replaced *r, bool several) {
  errno = 0;
  if (r->special) {
    FILE *f = fopen(r->of->path, "wb");
    return f && close_file(f, write_out(f, false, r->of->write, r->of->ud));
  }
  if (several) keep_old(r);
  r->moved = tp_os_rename(r->tmp.s, r->real);
  if (r->moved) tp_os_sync_folder(r->real);
  return r->moved;
}

static void end_replacing(replaced *r, bool ok) {
  /* no effect while both are one file */
  if (!ok && r->old.s) tp_os_rename(r->old.s, r->real);
  else if (!ok && r->moved) remove(r->real);
  if (r->old.s) remove(r->old.s);
  if (r->named && !r->moved) remove(r->tmp.s);
  tp_buf_free(&r->tmp);
  tp_buf_free(&r->old);
  free(r->real);
}

/* Refuses before the first file changes its place; brings those back that did if a later step
 * fails. */
bool tp_file_replace_all(int n, const tp_file_new *v, tp_error *err) {
  replaced *r = tp_calloc(sizeof *r * (size_t)n);
  bool ok = r != NULL;
  int bad = 0, saved = ENOMEM;
  for (int i = 0; r && i < n; i++) r[i].of = &v[i], tp_buf_init(&r[i].tmp), tp_buf_init(&r[i].old);
  for (int i = 0; ok && i < n; i++) ok = prepare(&r[bad = i]);
  for (int i = 0; ok && i < n; i++) ok = put_in_place(&r[bad = i], n > 1);
  if (r) saved = errno;
  for (int i = 0; r && i < n; i++) end_replacing(&r[i], ok);
  tp_free(r);
  if (!ok && saved == ENOMEM)
    return tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "no memory to write %s", v[bad].path);
  return ok || tp_file_fail(err, v[bad].path, saved ? strerror(saved) : "cannot be written");
}

bool tp_file_folder(char *path, bool mine) {
  for (char *p = path + (*path != 0); *p; p++) {
    if (*p != '/') continue;
    *p = 0;
    tp_os_mkdir(path, mine);
    *p = '/';
  }
  return tp_os_mkdir(path, mine) || tp_os_look(path, NULL) == TP_OS_FOLDER;
}

bool tp_file_text(FILE *f, void *ud) {
  const tp_buf *b = ud;
  return fwrite(b->s ? b->s : "", 1, b->n, f) == b->n;
}

bool tp_file_replace(const char *path, tp_writer *write, void *ud, tp_error *err) {
  return tp_file_replace_all(1, &(tp_file_new){ path, write, ud }, err);
}
