/* The TEMPO_* environment, read when asked for, so a test may change it. A spec compares
 * settings.def with the names asked for. */
#include "base/base.h"
#include <stdlib.h>

const char *tp_setting(const char *name) {
  const char *s = getenv(name);
  return s && *s ? s : NULL;
}

bool tp_dump_wanted(const char *name) {
  size_t n = strlen(name);
  for (const char *list = tp_setting("TEMPO_DUMP"), *s = list; s && (s = strstr(s, name)); s += n)
    if ((s == list || s[-1] == ',') && (!s[n] || s[n] == ',')) return true;
  return false;
}
