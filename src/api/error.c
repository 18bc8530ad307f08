/* error: the latest failure of each thread, and how a call is refused. */
#include "api/api.h"

/* The header's statuses are the classes of errs.def, in its order. */
#define E(N, word) _Static_assert((int)TEMPO_E_##N == (int)TP_E_##N, "tempo_status lacks " #N);
#include "base/errs.def"
#undef E

static _Thread_local tempo_error last;

const tempo_error *tempo_last_error(void) { return &last; }
const char *tempo_status_word(int code) { return tp_code_word((tp_code)code); }
const char *tempo_version(void) { return TP_VERSION; }

static int leave(tempo_error *out) {
  if (out && out != &last) *out = last;
  return 0;
}

int api_fail(tempo_error *out, const tp_error *e) {
  last.code = (int)e->code;
  tp_error_text(e, last.message, sizeof last.message);
  return leave(out);
}

int api_raise(tempo_error *out, const tempo_error *e) {
  last = *e;
  return leave(out);
}

int api_refuse(tempo_error *out, tp_code code, const char *fmt, ...) {
  char text[512];
  tp_error e = { 0 };
  TP_FORMAT(text, fmt);
  tp_fail(&e, code, TP_NOWHERE, "%s", text);
  return api_fail(out, &e);
}

bool api_given(const void *p, const char *fn, const char *what, tempo_error *out) {
  return p || api_refuse(out, TP_E_OPTION, "%s: %s is NULL", fn, what);
}
