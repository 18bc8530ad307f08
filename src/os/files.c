/* files: files and folders, for all systems but Windows. */
#ifndef _WIN32
#include "os/os.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

tp_os_kind tp_os_look(const char *path, int *mode) {
  struct stat s;
  if (stat(path, &s)) return TP_OS_NONE;
  if (mode) *mode = (int)(s.st_mode & 07777);
  return S_ISREG(s.st_mode) ? TP_OS_FILE : S_ISDIR(s.st_mode) ? TP_OS_FOLDER : TP_OS_OTHER;
}

bool tp_os_stamp(const char *path, int64_t of[4]) {
  struct stat s;
  if (stat(path, &s) || !S_ISREG(s.st_mode)) return false;
#ifdef __APPLE__
  of[2] = s.st_mtimespec.tv_nsec;
#else
  of[2] = s.st_mtim.tv_nsec;
#endif
  of[0] = (int64_t)s.st_size;
  of[1] = (int64_t)s.st_mtime;
  of[3] = (int64_t)s.st_ino;
  return true;
}

FILE *tp_os_read(const char *path, int64_t *size, const char **why) {
  struct stat s;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  *why = fd < 0 || fstat(fd, &s) != 0 ? strerror(errno)
      : S_ISREG(s.st_mode)            ? NULL
                                      : "it is no regular file";
  FILE *f = *why ? NULL : fdopen(fd, "rb");
  if (f) return *size = (int64_t)s.st_size, f;
  if (!*why) *why = strerror(errno);
  if (fd >= 0) close(fd);
  return NULL;
}

FILE *tp_os_bytes(void *p, size_t n) { return fmemopen(p, n, "r"); }
char *tp_os_real(const char *path) { return realpath(path, NULL); }

/* As a stream; errno stays the first error's. */
static FILE *stream(int fd) {
  FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
  int why = errno;
  if (!f && fd >= 0) close(fd);
  errno = why;
  return f;
}

FILE *tp_os_create(const char *path, int mode) {
  return stream(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode));
}

#ifdef O_TMPFILE
static void door_to(int fd, char *link, size_t n) { snprintf(link, n, "/proc/self/fd/%d", fd); }

FILE *tp_os_create_unnamed(const char *path, int mode) {
  char *copy = strdup(path), link[64];
  int fd = copy ? open(dirname(copy), O_WRONLY | O_TMPFILE | O_CLOEXEC, (mode_t)mode) : -1;
  free(copy);
  door_to(fd, link, sizeof link);
  if (fd < 0 || access(link, F_OK) == 0) return stream(fd);
  close(fd);
  return NULL;
}

bool tp_os_name(FILE *f, const char *path) {
  char link[64];
  door_to(fileno(f), link, sizeof link);
  return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}
#else
FILE *tp_os_create_unnamed(const char *path, int mode) { return NULL; }
bool tp_os_name(FILE *f, const char *path) { return false; }
#endif

bool tp_os_chmod(FILE *f, int mode) { return fchmod(fileno(f), (mode_t)mode) == 0; }
bool tp_os_sync(FILE *f) { return fsync(fileno(f)) == 0; }

void tp_os_sync_folder(const char *file) {
  char *copy = strdup(file);
  int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  free(copy);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

bool tp_os_rename(const char *from, const char *to) { return rename(from, to) == 0; }
bool tp_os_link(const char *from, const char *to) { return link(from, to) == 0; }

bool tp_os_write(const char *path, const char *text, size_t n) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool ok = fd >= 0;
  for (size_t at = 0; ok && at < n;) {
    ssize_t k = write(fd, text + at, n - at);
    if (k > 0) at += (size_t)k;
    else ok = k < 0 && errno == EINTR;
  }
  return fd >= 0 && close(fd) == 0 && ok;
}

void tp_os_touch(const char *path) { utimensat(AT_FDCWD, path, NULL, 0); }
bool tp_os_mkdir(const char *path, bool mine) { return mkdir(path, mine ? 0700 : 0777) == 0; }
bool tp_os_mkdir_new(char *path) { return mkdtemp(path) != NULL; }

bool tp_os_is_mine(const char *folder) {
  struct stat s;
  return !lstat(folder, &s) && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
      !(s.st_mode & (S_IWGRP | S_IWOTH));
}

void tp_os_glob(const char *pattern, bool (*each)(void *ud, const char *path), void *ud) {
  glob_t found;
  if (glob(pattern, 0, NULL, &found)) return;
  for (size_t i = 0; i < found.gl_pathc && !each(ud, found.gl_pathv[i]); i++) {}
  globfree(&found);
}

void tp_os_list(const char *folder, void (*each)(void *ud, const char *name), void *ud) {
  DIR *d = opendir(folder);
  for (struct dirent *e; d && (e = readdir(d));) each(ud, e->d_name);
  if (d) closedir(d);
}
#endif
