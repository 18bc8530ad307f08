/* machine.c: reads the clock, and finds the memory that a process may have. */
#include "base/base.h"
#include "os/os.h"
#include <stdlib.h>

double tp_now(void) { return tp_os_clock(); }

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

tp_allowance tp_machine_memory(int64_t back) {
  tp_allowance a = { INT64_MAX, "that can be counted" };
  tp_os_limit v[4];
  for (int n = tp_os_limits(back, v), i = 0; i < n; i++)
    if (v[i].bytes < a.bytes) a = (tp_allowance){ v[i].bytes, v[i].whose };
  return a;
}
