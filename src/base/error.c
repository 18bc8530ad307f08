/* Errors: the first failure stays; messages begin with their class's word. */
#include "base/base.h"

static const char *const words[TP_NERR] = {
  [TP_OK] = "ok",
#define E(N, w) [TP_E_##N] = w,
#include "base/errs.def"
#undef E
};

const char *tp_code_word(tp_code c) { return (unsigned)c < TP_NERR ? words[c] : "unknown"; }

tp_code tp_code_of(const char *text) {
  int c = TP_OK + 1;
  while (c < TP_NERR && strncmp(text, words[c], strlen(words[c]))) c++;
  return c < TP_NERR ? (tp_code)c : TP_E_OPTION;
}

/* cuts the tail where the room ends */
static void prefix_word(char *msg, size_t room, const char *word) {
  size_t w = strlen(word), n = strlen(msg), keep = TP_MIN(n, room - w - 3);
  memmove(msg + w + 2, msg, keep);
  memcpy(msg, word, w);
  memcpy(msg + w, ": ", 2);
  msg[w + 2 + keep] = 0;
}

bool tp_fail(tp_error *e, tp_code code, tp_pos pos, const char *fmt, ...) {
  if (!e || e->code != TP_OK) return false;
  TP_FORMAT(e->msg, fmt);
  e->code = code;
  e->pos = pos;
  e->notes[0] = 0;
  if (strncmp(e->msg, tp_code_word(code), strlen(tp_code_word(code))))
    prefix_word(e->msg, sizeof e->msg, tp_code_word(code));
  return false;
}

bool tp_no_memory(tp_error *e, tp_pos pos) { return tp_fail(e, TP_E_MEMORY, pos, "out of memory"); }

void tp_note(tp_error *e, const char *fmt, ...) {
  size_t n = e ? strlen(e->notes) : 0;
  if (!e || n + 2 >= sizeof e->notes) return;
  if (n) e->notes[n++] = '\n';
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(e->notes + n, sizeof e->notes - n, fmt, ap);
  va_end(ap);
}

const char *tp_error_text(const tp_error *e, char *buf, size_t n) {
  int at = e->pos.file ? snprintf(buf, n, "%s:%d: ", e->pos.file, e->pos.line) : 0;
  size_t used = TP_MIN((size_t)at, n ? n - 1 : 0);
  snprintf(buf + used, n - used, "%s%s%s", e->msg, e->notes[0] ? "\n" : "", e->notes);
  return buf;
}
