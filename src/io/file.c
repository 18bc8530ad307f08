/* file: files are replaced as a whole or not at all. */
#include "io/io.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 100 };

bool tp_file_fail(tp_error *err, const char *path, const char *why) {
  return tp_fail(err, TP_E_FILE, (tp_pos){ 0 }, "file: %s: %s", path, why);
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

/* A new file beside path: its name goes into tmp. Others (threads, processes) may be writing the same path. */
static FILE *open_beside(const char *path, mode_t mode, tp_buf *tmp) {
  for (int k = 0; k < TRIES; k++) {
    tp_buf_free(tmp);
    tp_putf(tmp, "%s.%ld.%d.tmp", path, (long)getpid(), k);
    if (tmp->failed) { errno = ENOMEM; return NULL; }
    int fd = open(tmp->s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (f || (fd < 0 && errno != EEXIST)) return f;
    if (fd >= 0) close(fd), remove(tmp->s);
  }
  return NULL;
}

static bool write_and_close(FILE *f, bool sync, tp_writer *write, void *ud) {
  bool ok = write(f, ud) && fflush(f) == 0 && (!sync || fsync(fileno(f)) == 0);
  int saved = errno;
  ok &= fclose(f) == 0;
  if (!ok && saved) errno = saved;
  return ok;
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
  FILE *f = open_beside(path, mode, &tmp);
  bool ok = f && (!keep_mode || fchmod(fileno(f), mode) == 0 || errno == EPERM);
  ok = f && write_and_close(f, true, write, ud) && ok && rename(tmp.s, path) == 0;
  int saved = errno;
  if (ok) sync_folder(tmp.s);
  else if (f) remove(tmp.s);
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
    ok = f && write_and_close(f, false, write, ud);
  } else {
    char *real = there ? realpath(path, NULL) : NULL;           /* where a symbolic link points */
    ok = replace(real ? real : path, there ? st.st_mode & 07777 : 0666, there, write, ud);
    int saved = errno;
    free(real);
    errno = saved;
  }
  if (!ok && errno == ENOMEM) return tp_fail(err, TP_E_MEMORY, (tp_pos){ 0 }, "memory: no memory to write %s", path);
  return ok || tp_file_fail(err, path, errno ? strerror(errno) : "cannot be written");
}
