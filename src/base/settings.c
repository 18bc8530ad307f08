/* The TEMPO_* environment. Read when asked for, so a test may change it between two compilations. */
#include "base/base.h"
#include <stdlib.h>

static const char *const settings[] = {
#define S(name, doc) name,
#include "base/settings.def"
#undef S
};

const char *tp_setting(const char *name) {
  size_t k = 0;
  while (k < TP_LEN(settings) && strcmp(settings[k], name) != 0) k++;
  if (TP_NEVER(k == TP_LEN(settings))) return NULL;
  const char *s = getenv(name);
  return s && *s ? s : NULL;
}
