/* fail.c: makes errors of regions, with their points; gives working memory. */
#include "run/priv.h"

/* " at t = 3, i = 2", or "". */
static const char *where(
    tp_exec *x, const tp_dreg *r, const int64_t *lead, const int64_t *axis, char *buf, size_t n) {
  *buf = 0;
  for (int i = 0; i < r->npoint; i++)
    x->env[r->rg->leadvar[i]->id] = tp_dx_get(&r->leadlo[i], x->env) + lead[i];
  for (int k = 0, at = 0; k < r->rg->ncoord && at < (int)n; k++) {
    int64_t v = tp_dx_get(&r->coord[k], x->env) + (r->rg->along >> k & 1 && axis ? *axis++ : 0);
    at += snprintf(buf + at, n - (size_t)at, "%s%s = %lld", k ? ", " : " at ",
        r->rg->dim ? r->rg->dim[k]->name : "?", (long long)v);
  }
  return buf;
}

static bool fail_at(tp_exec *x, const tp_dreg *r, const int64_t *lead, const int64_t *axis,
    tp_code code, const char *text) {
  char name[256], point[256] = "";
  x->ended = x->torn = r->pos;
  if (x->running && (lead || r->npoint == 0)) where(x, r, lead, axis, point, sizeof point);
  return tp_fail(x->err, code, r->rg->pos, "%s: %s%s: %s", tp_code_word(code),
      tp_who_label(&r->rg->who, tp_region_op(r->rg), name, sizeof name), point, text);
}

bool tp_rfail(tp_exec *x, const tp_dreg *r, tp_code code, const char *fmt, ...) {
  char text[512];
  TP_FORMAT(text, fmt);
  return fail_at(x, r, NULL, NULL, code, text);
}

bool tp_rfail_at(tp_exec *x, const tp_dreg *r, const int64_t *lead, const int64_t *axis,
    tp_code code, const char *fmt, ...) {
  char text[512];
  TP_FORMAT(text, fmt);
  return fail_at(x, r, lead, axis, code, text);
}

bool tp_rfault(tp_exec *x, const tp_dreg *r, const int64_t *lead, int what) {
  if (what > TP_K_NEGPOW)
    return tp_rfail_at(
        x, r, lead, NULL, TP_E_INPUT, "%s of an empty range of integers", tp_red_name(r->rg->red));
  return tp_rfail_at(x, r, lead, NULL, TP_E_INPUT,
      what == TP_K_DIVZERO ? "integer division by zero" : "integer power with a negative exponent");
}

void *tp_work(tp_exec *x, const tp_dreg *r, int64_t count, int64_t size) {
  int64_t n = tp_round_up(count * size, TP_WORK_LINE), left = x->workend - x->work;
  if (n > left) {
    tp_rfail(x, r, TP_E_MEMORY, "internal: %lld bytes of working memory, %lld are left",
        (long long)n, (long long)left);
    return NULL;
  }
  x->work += n;
  return x->work - n;
}
