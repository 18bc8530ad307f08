/* file: files are replaced as a whole or not at all. */
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

FILE *tp_file_open(const char *path, int64_t *size, tp_error *err) {
  struct stat st;
  FILE *f = fopen(path, "rb");
  const char *why = !f || fstat(fileno(f), &st) != 0 ? strerror(errno) : S_ISREG(st.st_mode) ? NULL : "it is no regular file";
  if (!why) {
    *size = (int64_t)st.st_size;
    return f;
  }
  tp_file_fail(err, path, why);
  if (f) fclose(f);
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
  else tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "memory: no memory for %lld bytes of %s", (long long)size, path);
  tp_free(p);
  return NULL;
}

static void name_beside(const char *path, int k, tp_buf *tmp) {
  tp_buf_free(tmp);
  tp_putf(tmp, "%s.%ld.%d.tmp", path, (long)getpid(), k);
}

/* A new file beside path: its name goes into tmp. Others (threads, processes) may be writing the same path. */
static int open_beside(const char *path, mode_t mode, tp_buf *tmp) {
  int fd = -1;
  for (int k = 0; k < RENAMES && fd < 0; k++) {
    name_beside(path, k, tmp);
    if (tmp->failed) { errno = ENOMEM; return -1; }
    fd = open(tmp->s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0 && errno != EEXIST) return -1;
  }
  return fd;
}

#ifdef O_TMPFILE
static void door_to(int fd, char *link, size_t n) { snprintf(link, n, "/proc/self/fd/%d", fd); }

/* A file without a name in path's folder, which goes with the process that dies while it writes; -1: the file system has none, or there is no way to name it. */
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
    if (tmp->failed) { errno = ENOMEM; return false; }
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

static bool write_out(FILE *f, bool sync, tp_writer *write, void *ud) { return write(f, ud) && fflush(f) == 0 && (!sync || fsync(fileno(f)) == 0); }

/* The first thing that went wrong is what errno says. */
static bool close_file(FILE *f, bool ok) {
  int saved = errno;
  bool closed = fclose(f) == 0;
  if (!ok && saved) errno = saved;
  return ok && closed;
}

static void sync_folder(char *path) {           /* so that the rename lasts; where that cannot be asked, it has happened all the same */
  int fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

static bool replace(const char *path, mode_t mode, bool keep_mode, tp_writer *write, void *ud) {
  tp_buf tmp;
  tp_buf_init(&tmp);
  int fd = open_unnamed(path, mode);
  bool unnamed = fd >= 0;
  if (!unnamed) fd = open_beside(path, mode, &tmp);
  FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
  if (!f && fd >= 0) close(fd);
  bool ok = f && (!keep_mode || fchmod(fd, mode) == 0 || errno == EPERM) && write_out(f, true, write, ud) && (!unnamed || give_name(fd, path, &tmp));
  if (f) ok = close_file(f, ok);
  ok = ok && rename(tmp.s, path) == 0;
  int saved = errno;
  if (ok) sync_folder(tmp.s);
  else if (fd >= 0 && tmp.s) remove(tmp.s);
  tp_buf_free(&tmp);
  errno = saved;
  return ok;
}

bool tp_file_replace(const char *path, tp_writer *write, void *ud, tp_error *err) {
  struct stat st;
  bool ok, there = stat(path, &st) == 0;
  errno = 0;
  if (there && !S_ISREG(st.st_mode)) {
    FILE *f = fopen(path, "wb");
    ok = f && close_file(f, write_out(f, false, write, ud));
  } else {
    char *real = there ? realpath(path, NULL) : NULL;           /* where a symbolic link points */
    ok = replace(real ? real : path, there ? st.st_mode & 07777 : 0666, there, write, ud);
    int saved = errno;
    free(real);
    errno = saved;
  }
  if (!ok && errno == ENOMEM) return tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "memory: no memory to write %s", path);
  return ok || tp_file_fail(err, path, errno ? strerror(errno) : "cannot be written");
}
