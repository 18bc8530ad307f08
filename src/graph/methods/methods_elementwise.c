/* methods: elementwise arithmetic, comparisons, logic, activations, types. Rows whose name is a
 * primitive's text share one body. */
#include "graph/methods/rows.h"
#include <math.h>

/* ---- blocks ---- */

METHOD(dequantize) {
  tp_format f = tp_format_named(a[1].s, k.g->pos, k.err);
  GIVE(f ? mk_op(k, TP_OP_DEQUANTIZE, 1, &a[0].val, &(tp_attr){ .format = f }) : tp_none);
}

METHOD(un) { GIVE(mk_un(k, tp_named_op(k), a[0].val)); }

/* A whole number beside integers that lack it wraps, as they do: u8 x + 300 is x + 44. (A limit, of
 * minimum, maximum or clamp, saturates instead.) */
static tp_arg wrapped(tp_mk k, const tp_arg *w, const tp_arg *beside) {
  tp_arg a = *w;
  if (w->where && tp_weak_beside(w, tp_dtypeof(beside->val)) == tp_dtypeof(beside->val)) {
    tp_arg *sides = tp_dup(&k.g->arena, w->where, 3 * sizeof *sides);
    for (int i = 1; i < 3; i++) sides[i] = wrapped(k, &w->where[i], beside);
    a.where = sides;
  }
  if (!w->isnum || beside->weak || w->num != floor(w->num) || fabs(w->num) >= 0x1p63) return a;
  tp_dtype d = tp_dtypeof(beside->val);
  if (d == TP_U8) a.num = (double)(uint8_t)(int64_t)w->num;
  if (d == TP_I32) a.num = (double)(int32_t)(uint32_t)(int64_t)w->num;
  return a;
}

static bool weak_wrapped(tp_mk k, const tp_arg *a, const tp_arg *b, tp_val *x, tp_val *y) {
  tp_arg v[2] = { wrapped(k, a, b), wrapped(k, b, a) };
  return tp_weak(k, &v[0], &v[1], false, x, y);
}

METHOD(bin) {
  tp_val x, y;
  tp_op op = tp_named_op(k);
  bool limits = op == TP_OP_MINIMUM || op == TP_OP_MAXIMUM, compares = tp_ops[op].cls == TP_CLS_CMP;
  if (!(limits || compares ? tp_weak(k, &a[0], &a[1], compares, &x, &y)
                           : weak_wrapped(k, &a[0], &a[1], &x, &y)))
    return false;
  GIVE(mk_bin(k, op, x, y));
}

METHOD(logic) {
  GIVE(
      mk_op(k, tp_named_op(k), tp_ops[tp_named_op(k)].nin, (tp_val[]){ a[0].val, a[1].val }, NULL));
}

/* x ^ 2 => x * x, exactly */
METHOD(pow) {
  tp_val x, y;
  if (a[1].isnum && a[1].num == 2) GIVE(mk_mul(k, a[0].val, a[0].val));
  if (!weak_wrapped(k, &a[0], &a[1], &x, &y)) return false;
  if (a[1].isnum && a[1].num < 0 && !tp_dtype_float(tp_dtypeof(x)))
    return tp_wrong(
        k, TP_E_DTYPE, "integers have no power %g: convert with :to(\"f32\")", a[1].num);
  GIVE(mk_bin(k, TP_OP_POW, x, y));
}

METHOD(where) {
  tp_val x, y;
  if (!weak_wrapped(k, &a[1], &a[2], &x, &y)) return false;
  GIVE(mk_select(k, a[0].val, x, y));
}

/* The operands of a method in Lua. */
METHOD(beside) {
  tp_val v[2];
  return tp_weak(k, &a[0], &a[1], false, &v[0], &v[1]) && tp_give(k, 2, v, out);
}

METHOD(to) {
  if (a[0].isnum) GIVE(mk_num(k, a[0].num, a[1].dtype));
  GIVE(mk_cast(k, a[0].val, a[1].dtype));
}

METHOD(detach) { GIVE(mk_detach(k, a[0].val)); }
