/* file: replaces files as a whole or not at all. */
#include "io/io.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RENAMES = 100 };

bool tp_file_fail(tp_error *err, const char *path, const char *why) {
  return tp_fail(err, TP_E_FILE, TP_NOWHERE, "file: %s: %s", path, why);
}

/* Refuses a pipe without a writer instead of waiting. */
FILE *tp_file_open(const char *path, int64_t *size, tp_error *err) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const char *why = fd < 0 || fstat(fd, &st) != 0 ? strerror(errno)
      : S_ISREG(st.st_mode)                       ? NULL
                                                  : "it is no regular file";
  FILE *f = why ? NULL : fdopen(fd, "rb");
  if (f) return *size = (int64_t)st.st_size, f;
  tp_file_fail(err, path, why ? why : strerror(errno));
  if (fd >= 0) close(fd);
  return NULL;
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
  tp_putf(tmp, "%s.%ld.%d.tmp", path, (long)getpid(), k);
}

/* Its name goes into tmp; other threads and processes may be writing the same path. */
static int open_beside(const char *path, mode_t mode, tp_buf *tmp) {
  int fd = -1;
  for (int k = 0; k < RENAMES && fd < 0; k++) {
    name_beside(path, k, tmp);
    if (tmp->failed) {
      errno = ENOMEM;
      return -1;
    }
    fd = open(tmp->s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0 && errno != EEXIST) return -1;
  }
  return fd;
}

#ifdef O_TMPFILE
static void door_to(int fd, char *link, size_t n) { snprintf(link, n, "/proc/self/fd/%d", fd); }

/* A nameless file in path's folder, which a dying process takes along; -1: the file system has
 * none, or no way to name it. */
static int open_unnamed(const char *path, mode_t mode) {
  char *copy = strdup(path), link[64];
  int fd = copy ? open(dirname(copy), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode) : -1;
  free(copy);
  door_to(fd, link, sizeof link);
  if (fd < 0 || access(link, F_OK) == 0) return fd;
  close(fd);
  return -1;
}

static bool give_name(int fd, const char *path, tp_buf *tmp) {
  char link[64];
  door_to(fd, link, sizeof link);
  for (int k = 0; k < RENAMES; k++) {
    name_beside(path, k, tmp);
    if (tmp->failed) {
      errno = ENOMEM;
      return false;
    }
    if (linkat(AT_FDCWD, link, AT_FDCWD, tmp->s, AT_SYMLINK_FOLLOW) == 0) return true;
    if (errno != EEXIST) break;
  }
  tp_buf_free(tmp);
  return false;
}
#else
static int open_unnamed(const char *path, mode_t mode) { return -1; }
static bool give_name(int fd, const char *path, tp_buf *tmp) { return false; }
#endif

static bool write_out(FILE *f, bool sync, tp_writer *write, void *ud) {
  return write(f, ud) && fflush(f) == 0 && (!sync || fsync(fileno(f)) == 0);
}

/* errno stays the first error's. */
static bool close_file(FILE *f, bool ok) {
  int saved = errno;
  bool closed = fclose(f) == 0;
  if (!ok && saved) errno = saved;
  return ok && closed;
}

/* makes the rename last, if possible */
static void sync_folder(char *path) {
  int fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
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
static bool write_beside(replaced *r, mode_t mode, bool keep_mode) {
  int fd = open_unnamed(r->real, mode);
  bool unnamed = fd >= 0;
  if (!unnamed) fd = open_beside(r->real, mode, &r->tmp);
  r->named = !unnamed && fd >= 0;
  FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
  if (!f && fd >= 0) close(fd);
  bool ok = f && (!keep_mode || fchmod(fd, mode) == 0 || errno == EPERM) &&
      write_out(f, true, r->of->write, r->of->ud);
  if (ok && unnamed) r->named = ok = give_name(fd, r->real, &r->tmp);
  return f ? close_file(f, ok) : false;
}

static bool prepare(replaced *r) {
  struct stat st;
  bool there = stat(r->of->path, &st) == 0;
  errno = 0;
  r->special = there && !S_ISREG(st.st_mode);
  if (r->special && S_ISDIR(st.st_mode)) return errno = EISDIR, false;
  r->real = there ? realpath(r->of->path, NULL) : strdup(r->of->path);
  return r->real && (r->special || write_beside(r, there ? st.st_mode & 07777 : 0666, there));
}

/* Keeps a name by which the old file can come back; without links the file moves there. No file: no
 * name. */
static void keep_old(replaced *r) {
  for (int k = 0; k < RENAMES; k++) {
    name_beside(r->real, k, &r->old);
    if (r->old.failed || link(r->real, r->old.s) == 0) return;
    if (errno != EEXIST) break;
  }
  if (errno != ENOENT && rename(r->real, r->old.s) == 0) return;
  tp_buf_free(&r->old);
}

static bool put_in_place(replaced *r, bool several) {
  errno = 0;
  if (r->special) {
    FILE *f = fopen(r->of->path, "wb");
    return f && close_file(f, write_out(f, false, r->of->write, r->of->ud));
  }
  if (several) keep_old(r);
  r->moved = rename(r->tmp.s, r->real) == 0;
  if (r->moved) sync_folder(r->tmp.s);
  return r->moved;
}

static void end_replacing(replaced *r, bool ok) {
  /* no effect while both are one file */
  if (!ok && r->old.s) rename(r->old.s, r->real);
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

bool tp_file_text(FILE *f, void *ud) {
  const tp_buf *b = ud;
  return fwrite(b->s ? b->s : "", 1, b->n, f) == b->n;
}

bool tp_file_replace(const char *path, tp_writer *write, void *ud, tp_error *err) {
  return tp_file_replace_all(1, &(tp_file_new){ path, write, ud }, err);
}
