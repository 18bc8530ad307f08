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

/* Opens a new file beside, whose name goes into tmp: other threads and processes may write the same
 * path. No file: no name. */
static int open_beside(const char *path, mode_t mode, tp_buf *tmp) {
  int fd = -1;
  errno = EEXIST;
  for (int k = 0; k < RENAMES && fd < 0 && errno == EEXIST; k++) {
    tp_buf_free(tmp);
    tp_putf(tmp, "%s.%ld.%d.tmp", path, (long)getpid(), k);
    if (tmp->failed) errno = ENOMEM;
    else fd = open(tmp->s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  }
  int saved = errno;
  if (fd < 0) tp_buf_free(tmp);
  errno = saved;
  return fd;
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

/* real: where a symbolic link points; tmp: the new file's name, until it has its place. */
typedef struct {
  const tp_file_new *of;
  char *real;
  tp_buf tmp;
} replaced;

/* Prepares the file; devices and pipes are written into at once. */
static bool prepare(replaced *r) {
  struct stat st;
  const char *path = r->of->path;
  bool there = stat(path, &st) == 0, special = there && !S_ISREG(st.st_mode);
  mode_t mode = there ? st.st_mode & 07777 : 0666;
  errno = 0;
  if (special && S_ISDIR(st.st_mode)) return errno = EISDIR, false;
  if (!special) r->real = there ? realpath(path, NULL) : strdup(path);
  if (!special && !r->real) return false;
  int fd =
      special ? open(path, O_WRONLY | O_TRUNC | O_CLOEXEC) : open_beside(r->real, mode, &r->tmp);
  FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
  if (!f && fd >= 0) close(fd);
  return f &&
      close_file(f,
          (special || !there || fchmod(fd, mode) == 0 || errno == EPERM) &&
              r->of->write(f, r->of->ud) && fflush(f) == 0 && (special || fsync(fd) == 0));
}

static bool put_in_place(replaced *r) {
  if (!r->tmp.s) return true;
  if (rename(r->tmp.s, r->real) != 0) return false;
  sync_folder(r->tmp.s);
  tp_buf_free(&r->tmp);
  return true;
}

bool tp_file_replace_all(int n, const tp_file_new *v, tp_error *err) {
  replaced *r = tp_calloc(sizeof *r * (size_t)n);
  bool ok = r != NULL;
  int bad = 0, saved = ENOMEM;
  for (int i = 0; r && i < n; i++) r[i].of = &v[i];
  for (int i = 0; ok && i < n; i++) ok = prepare(&r[bad = i]);
  for (int i = 0; ok && i < n; i++) ok = put_in_place(&r[bad = i]);
  if (r) saved = errno;
  for (int i = 0; r && i < n; i++) {
    if (r[i].tmp.s) remove(r[i].tmp.s);
    tp_buf_free(&r[i].tmp);
    free(r[i].real);
  }
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
