/* look: states of runs, the memory of a run, texts about a function. */
#include "api/api.h"

/* A text or bytes for the caller; NULL: err. Takes b. */
static char *give_text(tp_buf *b, bool ok, tp_error *e, tempo_error *err) {
  if (ok && !b->failed && !b->s) tp_puts(b, "");
  if (ok && b->failed) ok = tp_no_memory(e, TP_NOWHERE);
  if (ok) return b->s;
  tp_buf_free(b);
  api_fail(err, e);
  return NULL;
}

/* ---- states ---- */

void *tempo_state(tempo_function *f, size_t *size, tempo_error *err) {
  tp_error e = { 0 };
  tp_buf b;
  if (!api_ready(f, __func__, err) || !api_given(size, __func__, "size", err)) return NULL;
  tp_buf_init(&b);
  bool ok = tp_fn_state(f->f, &b, &e);
  size_t n = b.n;
  void *bytes = give_text(&b, ok, &e, err);
  if (bytes) *size = n;
  return bytes;
}

int tempo_load_state(tempo_function *f, const void *state, size_t size, tempo_error *err) {
  tp_error e = { 0 };
  return api_ready(f, __func__, err) && api_given(state, __func__, "the state", err) &&
      (tp_fn_load_state(f->f, state, size, &e) || api_fail(err, &e));
}

static int with_file(tempo_function *f, const char *fn, const char *path,
    bool (*does)(tp_fn *, const char *, tp_error *), tempo_error *err) {
  tp_error e = { 0 };
  return api_ready(f, fn, err) && api_given(path, fn, "path", err) &&
      (does(f->f, path, &e) || api_fail(err, &e));
}

int tempo_save(tempo_function *f, const char *path, tempo_error *err) {
  return with_file(f, __func__, path, tp_fn_save, err);
}

int tempo_load(tempo_function *f, const char *path, tempo_error *err) {
  return with_file(f, __func__, path, tp_fn_load, err);
}

void tempo_bytes_free(void *bytes) { tp_free(bytes); }

/* ---- memory ---- */

int tempo_memory(tempo_function *f, int nbound, const char *const *bound_name, const int64_t *bound,
    int64_t *bytes, tempo_error *err) {
  tp_error e = { 0 };
  if (!api_ready(f, __func__, err) || !api_given(bytes, __func__, "bytes", err)) return 0;
  int64_t *env = api_env(f, (bounds){ nbound, bound_name, bound }, true, &e);
  int64_t n = env ? tp_fn_memory(f->f, env, &e) : -1;
  tp_free(env);
  if (e.code) return api_fail(err, &e);
  *bytes = n;
  return 1;
}

int64_t tempo_peak(const tempo_function *f) {
  return api_compiled(f, __func__, NULL) ? tp_fn_peak(f->f) : 0;
}

/* ---- texts ---- */

/* b NULL: without bounds. */
static char *explained(
    tempo_function *f, const char *fn, const char *section, const bounds *b, tempo_error *err) {
  tp_error e = { 0 };
  tp_buf text;
  if (!api_ready(f, fn, err)) return NULL;
  tp_buf_init(&text);
  int64_t *env = b ? api_env(f, *b, true, &e) : NULL;
  bool ok = !e.code && tp_fn_explain(f->f, section, env, &text, &e);
  tp_free(env);
  return give_text(&text, ok, &e, err);
}

char *tempo_explain(tempo_function *f, const char *section, tempo_error *err) {
  return explained(f, __func__, section, NULL, err);
}

char *tempo_explain_for(tempo_function *f, const char *section, int nbound,
    const char *const *bound_name, const int64_t *bound, tempo_error *err) {
  return explained(f, __func__, section, &(bounds){ nbound, bound_name, bound }, err);
}

char *tempo_profile(tempo_function *f, int rows, tempo_error *err) {
  tp_error e = { 0 };
  tp_buf b;
  if (!api_ready(f, __func__, err)) return NULL;
  if (rows < 0) return api_refuse(err, TP_E_OPTION, "tempo_profile: %d rows", rows), NULL;
  tp_buf_init(&b);
  return give_text(&b, tp_fn_profile(f->f, rows, &b, &e), &e, err);
}

void tempo_text_free(char *text) { tp_free(text); }
