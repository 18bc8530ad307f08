/* attr: attributes by the rows of kern/how.def and attrs.def: text, copies. */
#include "graph/core.h"

static const char *const check_words[] = { "none", "nan", "meant" };
#define red_words tp_red_words

static const tp_field attr_rows[] = {
#define TP_OWNER tp_attr
#define A        TP_ROW_A
#define W        TP_ROW_W
#define L        TP_ROW_L
#include "graph/attrs.def"
#undef A
#undef W
#undef L
#undef TP_OWNER
};
static const tp_fields attr_fields = { attr_rows, TP_LEN(attr_rows) };

bool tp_ix_is_shape(tp_op op) {
  switch (op) {
  case TP_OP_INPUT:
  case TP_OP_FILL:
  case TP_OP_IOTA:
  case TP_OP_RAND:
  case TP_OP_MERGE:
  case TP_OP_ACCUM:
  case TP_OP_PARAM:
  case TP_OP_RESHAPE:
  case TP_OP_EXPAND: return true;
  default: return tp_ops[op].cls == TP_CLS_CONV;
  }
}

void tp_attr_print(tp_buf *b, const tp_attr *a, tp_op op, int *count) {
  tp_attr said = *a;
  if (tp_ix_is_shape(op)) said.nix = 0;
  tp_put_fields(b, tp_how_fields, &said.how, count);
  tp_put_fields(b, attr_fields, &said, count);
}

bool tp_attr_parse(tp_scan *in, tp_ictx *c, tp_attr *a, const char *key, bool *known) {
  return tp_scan_field(in, c, tp_how_fields, &a->how, key, known) &&
      (*known || tp_scan_field(in, c, attr_fields, a, key, known));
}

void tp_attr_copy(tp_graph *g, tp_attr *to, const tp_attr *from) {
  *to = *from;
  to->how = tp_how_copy(&g->arena, &from->how);
#define A(kind, type, field, dimension)
#define W(type, field)
#define L(kind, type, field) \
  to->field = from->n##field \
      ? tp_dup(&g->arena, from->field, sizeof *from->field * (size_t)from->n##field) \
      : NULL;
#include "graph/attrs.def"
#undef A
#undef W
#undef L
  for (int i = 0; i < to->nspec; i++) {
    tp_out *s = (tp_out *)&to->spec[i];
    s->shape = TP_DUPN(&g->arena, s->shape, s->rank);
  }
  to->data = from->data ? tp_array_ref(from->data) : NULL;
}
