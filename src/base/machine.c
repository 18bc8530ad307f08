/* machine.c: reads the clock, and finds the memory that a process may have. */
#include "base/base.h"
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double tp_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int64_t tp_bytes_parse(const char *s) {
  static const struct {
    const char *word;
    double bytes;
  } unit[] = { { "", 1 }, { "B", 1 }, { "KB", 1e3 }, { "MB", 1e6 }, { "GB", 1e9 }, { "TB", 1e12 },
    { "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 }, { "TiB", 0x1p40 } };
  size_t digits = strspn(s, "0123456789."), k = 0;
  const char *end;
  double n = tp_read_double(s, &end);
  if (!digits || end != s + digits) return -1;
  end += strspn(end, " ");
  while (k < TP_LEN(unit) && strcmp(unit[k].word, end) != 0) k++;
  double bytes = k < TP_LEN(unit) ? n * unit[k].bytes : -1;
  return bytes >= 1 && bytes < 0x1p62 ? (int64_t)bytes : -1;
}

static void least(tp_allowance *a, int64_t bytes, const char *whose) {
  if (bytes >= 0 && bytes < a->bytes) *a = (tp_allowance){ bytes, whose };
}

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
    if (v >= 0) most = TP_MIN(most, v);
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
  int64_t both[] = { least_of_groups(root, "", path, "memory.max"),
    least_of_groups(root, "/unified", path, "memory.max") };
  return TP_MIN(both[0], both[1]);
}

int64_t tp_group_memory(const char *root) {
  char name[PATH], line[PATH];
  int64_t most = INT64_MAX;
  snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
  FILE *f = fopen(name, "r");
  while (f && fgets(line, sizeof line, f)) {
    int64_t v = least_of_line(root, line);
    most = TP_MIN(most, v);
  }
  if (f) fclose(f);
  return most;
}

/* The bytes that a limit leaves beyond the process's pages, `field` of statm. */
static int64_t left_of(int resource, int field, int64_t back) {
  struct rlimit l;
  if (getrlimit(resource, &l) || l.rlim_cur == RLIM_INFINITY || l.rlim_cur > INT64_MAX) return -1;
  int64_t used = TP_MAX(number_of("/proc/self/statm", field), 0) * sysconf(_SC_PAGESIZE) - back;
  return TP_MAX((int64_t)l.rlim_cur - TP_MAX(used, 0), 0);
}

tp_allowance tp_machine_memory(int64_t back) {
  tp_allowance a = { INT64_MAX, "that can be counted" };
  long pages = sysconf(_SC_PHYS_PAGES);
  if (pages > 0) least(&a, (int64_t)pages * sysconf(_SC_PAGESIZE), "that this machine has");
  least(&a, tp_group_memory(""), "that the container of this process may have");
  least(&a, left_of(RLIMIT_AS, 0, back), "that RLIMIT_AS leaves to this process");
  least(&a, left_of(RLIMIT_DATA, 5, back), "that RLIMIT_DATA leaves to this process");
  return a;
}
