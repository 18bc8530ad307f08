/* The TEMPO_* environment; settings.def has a row for each name, which a spec compares with the
 * names asked for here and there. Read when asked for, so a test may change it between two
 * compilations. */
#include "base/base.h"
#include <stdlib.h>

const char *tp_setting(const char *name) {
  const char *s = getenv(name);
  return s && *s ? s : NULL;
}
