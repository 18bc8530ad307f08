/* limits: what the system lets a process have, and advice about pages, for all systems but Windows.
 * Linux says more than POSIX asks for: control groups and a process's pages in /proc. */
#ifndef _WIN32
#include "os/os.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

static int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

/* The file's n-th number, from 0; -1: none, as for "max". */
static int64_t number_of(const char *path, int n) {
  FILE *f = fopen(path, "r");
  long long v = -1;
  for (int i = 0; f && i <= n; i++)
    if (fscanf(f, "%lld", &v) != 1) {
      v = -1;
      break;
    }
  if (f) fclose(f);
  return v;
}

enum { PATH = 4096 };

/* The least limit of a group and those around it: a container may see its own group as the root. */
static int64_t least_of_groups(
    const char *root, const char *base, const char *path, const char *file) {
  int64_t most = INT64_MAX;
  for (size_t n = strlen(path);; n--) {
    char name[PATH];
    snprintf(name, sizeof name, "%s/sys/fs/cgroup%s%.*s/%s", root, base, (int)n, path, file);
    int64_t v = number_of(name, 0);
    if (v >= 0) most = least_of(most, v);
    if (!n) return most;
    while (n > 1 && path[n - 1] != '/') n--;
  }
}

/* /proc/self/cgroup: "4:cpu,memory:/a/b" (version 1), "0::/a/b" (version 2) */
static int64_t least_of_line(const char *root, char *line) {
  line[strcspn(line, "\n")] = 0;
  char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!path) return INT64_MAX;
  *path++ = 0;
  if (strstr(controllers, "memory"))
    return least_of_groups(root, "/memory", path, "memory.limit_in_bytes");
  if (controllers[1]) return INT64_MAX;
  return least_of(least_of_groups(root, "", path, "memory.max"),
      least_of_groups(root, "/unified", path, "memory.max"));
}

int64_t tp_os_group_memory(const char *root) {
  char name[PATH], line[PATH];
  int64_t most = INT64_MAX;
  snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
  FILE *f = fopen(name, "r");
  while (f && fgets(line, sizeof line, f)) most = least_of(most, least_of_line(root, line));
  if (f) fclose(f);
  return most;
}

/* The bytes that a limit leaves beyond the process's pages, `field` of statm; -1: no limit. */
static int64_t left_of(int resource, int field, int64_t back) {
  struct rlimit l;
  if (getrlimit(resource, &l) || l.rlim_cur == RLIM_INFINITY || l.rlim_cur > INT64_MAX) return -1;
  int64_t pages = number_of("/proc/self/statm", field);
  int64_t used = (pages > 0 ? pages : 0) * tp_os_page() - back;
  int64_t left = (int64_t)l.rlim_cur - (used > 0 ? used : 0);
  return left > 0 ? left : 0;
}

int tp_os_limits(int64_t back, tp_os_limit v[4]) {
  long pages = sysconf(_SC_PHYS_PAGES);
  int64_t group = tp_os_group_memory("");
  const tp_os_limit all[] = {
    { pages > 0 ? pages * tp_os_page() : -1, "that this machine has" },
    { group == INT64_MAX ? -1 : group, "that the container of this process may have" },
    { left_of(RLIMIT_AS, 0, back), "that RLIMIT_AS leaves to this process" },
    { left_of(RLIMIT_DATA, 5, back), "that RLIMIT_DATA leaves to this process" },
  };
  int n = 0;
  for (int i = 0; i < 4; i++)
    if (all[i].bytes >= 0) v[n++] = all[i];
  return n;
}

/* To write beyond a limit on files would end the process by a signal. */
int tp_os_take(int fd, int64_t bytes) {
  struct rlimit most;
  if (!getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur != RLIM_INFINITY &&
      (uint64_t)bytes > most.rlim_cur)
    return EFBIG;
#ifdef __APPLE__
  return ftruncate(fd, (off_t)bytes) ? errno : 0;
#else
  return posix_fallocate(fd, 0, (off_t)bytes);
#endif
}

#ifdef __linux__
#ifndef MADV_POPULATE_READ /* Linux 5.14 */
enum { MADV_POPULATE_READ = 22, MADV_POPULATE_WRITE = 23 };
#endif

bool tp_os_populates(void) {
  static char here[1];
  int64_t page = tp_os_page();
  return !madvise((void *)((intptr_t)here / page * page), 0, MADV_POPULATE_READ);
}
#else
enum { MADV_POPULATE_READ = MADV_WILLNEED, MADV_POPULATE_WRITE = MADV_WILLNEED };
bool tp_os_populates(void) { return false; }
#endif

void tp_os_advise(char *p, int64_t n, tp_os_advice what) {
  static const int advice[] = { [TP_OS_ASK] = MADV_WILLNEED,
    [TP_OS_READ] = MADV_POPULATE_READ,
    [TP_OS_WRITE] = MADV_POPULATE_WRITE,
    [TP_OS_LEAVE] = MADV_DONTNEED };
  madvise(p, (size_t)n, advice[what]);
}

bool tp_os_has_dots(void) {
#ifdef __ARM_FEATURE_DOTPROD
  return true;
#elif defined(HWCAP_ASIMDDP)
  return getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
#else
  return false;
#endif
}

/* Linux: the first processor's lines in /proc/cpuinfo. */
void tp_os_processor(char *text, size_t n) {
  static const char *const lines[] = { "vendor_id", "cpu family", "model", "stepping", "flags",
    "Features", "CPU " };
  char line[4096];
  FILE *f = fopen("/proc/cpuinfo", "r");
  bool more = f != NULL;
  size_t at = 0;
  *text = 0;
  while (more && (more = fgets(line, sizeof line, f) != NULL) && line[0] != '\n')
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
      if (!strncmp(line, lines[i], strlen(lines[i])) && at + strlen(line) < n)
        at += (size_t)snprintf(text + at, n - at, "%s", line);
  if (f) fclose(f);
}
#endif
