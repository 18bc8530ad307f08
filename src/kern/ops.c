/* ops: the table of operators, names to operators, and how each works (how.def). */
#include "kern/kern.h"

enum {
  LINEAR0 = 1,
  LINEAR1 = 2,
  LINEAR2 = 4,
  COMMUTES = TP_COMMUTES,
  FAILS = TP_FAILS,
  PART = TP_PART,
  ADDS = TP_ADDS,
  ALONE = TP_ALONE
};

const tp_oprow tp_ops[TP_NOP] = {
#define O(N, text, cls, nin, nout, batch, diff, facts) \
  [TP_OP_##N] = { text, TP_CLS_##cls, nin, nout, TP_BATCH_##batch, TP_DIFF_##diff, facts },
#include "kern/ops.def"
#undef O
};

bool tp_op_parse(const char *text, tp_op *out) {
  for (int i = 0; i < TP_NOP; i++)
    if (tp_ops[i].text[0] == text[0] && strcmp(tp_ops[i].text, text) == 0) {
      *out = (tp_op)i;
      return true;
    }
  return false;
}

/* Operators that scripts call otherwise. */
const char *tp_op_said(tp_op op) {
  switch (op) {
  case TP_OP_SELECT: return "where";
  case TP_OP_CONCAT: return "cat";
  case TP_OP_CAST: return "to";
  case TP_OP_SCAN: return "cumsum";
  case TP_OP_ACCUM: return "sum";
  case TP_OP_MERGE: return "tensor";
  case TP_OP_FILL:
  case TP_OP_CONST: return "constant";
  default: return tp_ops[op].text;
  }
}

tp_op tp_red_op(tp_red red) { return (tp_op)(TP_OP_SUM + (int)red); }
tp_red tp_op_red(tp_op op) { return (tp_red)(op - TP_OP_SUM); }
_Static_assert(TP_OP_MIN - TP_OP_SUM == (int)TP_RED_MIN && TP_OP_MAX - TP_OP_SUM == (int)TP_RED_MAX,
    "reductions of ops.def are in another order than tp_red");

const int *tp_conv_roles(tp_op op) {
  static const int roles[3][3] = { { TP_CX, TP_CW, TP_CY }, { TP_CY, TP_CW, TP_CX },
    { TP_CX, TP_CY, TP_CW } };
  return roles[op - TP_OP_CONV];
}

double tp_red_identity(tp_red red, tp_dtype d) {
  if (red == TP_RED_SUM || red == TP_RED_PROD) return red == TP_RED_PROD;
  bool max = red == TP_RED_MAX;
  if (tp_dtype_float(d)) return max ? -__builtin_inf() : __builtin_inf();
  if (d == TP_BOOL) return max ? 0 : 1;
  if (d == TP_U8) return max ? 0 : 255;
  if (d == TP_I32) return max ? INT32_MIN : INT32_MAX;
  return max ? -9223372036854775808.0 : 9223372036854775808.0; /* saturates */
}

const char *tp_who_label(const tp_who *w, tp_op op, char *buf, size_t size) {
  if (op == TP_OP_MATMUL_AT) op = TP_OP_INDEX_SELECT; /* its part that fails */
  /* on the way to a gradient */
  bool step = w->what && !strncmp(w->what, "grad ", 5) && strncmp(w->what, "grad of ", 8);
  if (tp_who_name(w)) snprintf(buf, size, "'%s'", tp_who_name(w));
  else if (w->what && !step) snprintf(buf, size, "%s", w->what);
  else snprintf(buf, size, "this %s%s", tp_op_said(op), step ? " of a gradient" : "");
  return buf;
}

bool tp_op_is_env(tp_op op) { return tp_ops[op].cls == TP_CLS_ENV; }

bool tp_op_rounds(tp_op op) {
  switch (op) {
  case TP_OP_FILL:
  case TP_OP_VALUE:
  case TP_OP_SELECT:
  case TP_OP_DETACH:
  case TP_OP_NEG:
  case TP_OP_ABS:
  case TP_OP_MINIMUM:
  case TP_OP_MAXIMUM: return false;
  default: return true;
  }
}

const char *const tp_red_words[TP_NRED] = { "sum", "prod", "max", "min" };
static const char *const rand_words[] = { "uniform", "normal", "bernoulli", "randint" };

static const char *const format_words[] = {
  "none",
#define X(NAME, text, elements, bytes, gguf) text,
#include "base/formats.def"
#undef X
};

static const tp_field how_rows[] = {
#define TP_OWNER tp_how
#define A        TP_ROW_A
#define W        TP_ROW_W
#define L        TP_ROW_L
#include "kern/how.def"
#undef A
#undef W
#undef L
#undef TP_OWNER
};
const tp_fields tp_how_fields = { how_rows, TP_LEN(how_rows) };

int tp_words_per_draw(const tp_how *how, tp_dtype d) {
  return how->rand == TP_RAND_NORMAL || how->rand == TP_RAND_RANDINT ||
          (how->rand == TP_RAND_UNIFORM && d == TP_F64)
      ? 2
      : 1;
}

tp_how tp_how_copy(tp_arena *a, const tp_how *h) {
  tp_how to = *h;
  to.axes = h->naxes ? tp_dup(a, h->axes, sizeof *h->axes * (size_t)h->naxes) : NULL;
  to.str = h->str ? tp_strdup(a, h->str) : NULL;
  return to;
}
