/* methods: products of matrices, and einsum.
 *
 * The axes of an ellipsis are letters too, counted from the last: codes up to ELLIPSIS, below every
 * real letter. A literal 1 broadcasts: its letter is dropped. A letter that stands twice in an
 * operand takes the diagonal. einsum keeps a running product, a tensor whose axes carry letters.
 * Each further operand is contracted with it by one matmul of [batch, m, k] x [batch, k, n], or of
 * matrices: letters of both that are needed later are batch, letters of both that are not are
 * summed (k), the others are m and n. Letters that only one side has and nobody needs are summed
 * before. */
#include "graph/rows.h"
#include <ctype.h>

METHOD(matmul) { GIVE(mk_matmul(k, a[0].val, a[1].val)); }

METHOD(dot) {
  if (tp_rankof(a[0].val) != 1 || tp_rankof(a[1].val) != 1)
    return tp_wrong(k, TP_E_SHAPE, "takes two vectors, not tensors with %d and %d axes",
        tp_rankof(a[0].val), tp_rankof(a[1].val));
  if (IS("dot")) GIVE(mk_matmul(k, a[0].val, a[1].val));
  GIVE(mk_mul(k, mk_unsqueeze(k, a[0].val, 1), a[1].val));
}

enum { ELLIPSIS = TP_MAXRANK }; /* code of the last axis of an ellipsis */

typedef struct lettered {
  tp_val v;
  int n;
  char letter[TP_MAXRANK];
} lettered;

static int letter_place(const lettered *x, char c) {
  for (int i = 0; i < x->n; i++)
    if (x->letter[i] == c) return i;
  return -1;
}

/* x without the letters that `keep` lacks. */
static void sum_out(tp_mk k, lettered *x, const char *keep) {
  int axes[TP_MAXRANK], n = 0, left = 0;
  for (int i = 0; i < x->n; i++) {
    if (!strchr(keep, x->letter[i])) axes[n++] = i;
    else x->letter[left++] = x->letter[i];
  }
  x->n = left;
  if (n) x->v = mk_reduce(k, TP_OP_SUM, x->v, n, axes, false);
}

/* x as [a.., b.., c..] made three axes, or two where `a` is left out. */
static tp_val folded(tp_mk k, const lettered *x, bool batched, const char *group[3]) {
  int order[TP_MAXRANK], n = 0;
  const tp_ix *shape[3];
  if (!x->v.node) return x->v;
  for (int i = !batched; i < 3; i++) {
    shape[i] = mk_int(k, 1);
    for (const char *c = group[i]; *c; c++) {
      order[n++] = letter_place(x, *c);
      shape[i] = tp_ix_mul(k.g->ix, shape[i], mk_extent(x->v, order[n - 1]));
    }
  }
  return mk_reshape(k, mk_permute(k, x->v, order), 2 + batched, shape + !batched);
}

/* Letters of x that are (not) in y and (not) in keep. */
static void letters(
    const lettered *x, const lettered *y, bool in_y, const char *keep, int in_keep, char *out) {
  int n = 0;
  for (int i = 0; i < x->n; i++) {
    char c = x->letter[i];
    if ((letter_place(y, c) >= 0) == in_y && (in_keep < 0 || (strchr(keep, c) != NULL) == in_keep))
      out[n++] = c;
  }
  out[n] = 0;
}

static bool same_size(tp_mk k, char letter, const tp_ix *a, const tp_ix *b) {
  return tp_equal(k, a, b) ||
      tp_wrong(k, TP_E_SHAPE, "'%c' is %s and %s", letter, tp_text(k, a), tp_text(k, b));
}

static bool agree(tp_mk k, const lettered *x, const lettered *y) {
  for (int i = 0, j; i < x->n; i++)
    if ((j = letter_place(y, x->letter[i])) >= 0 &&
        !same_size(k, x->letter[i], mk_extent(x->v, i), mk_extent(y->v, j)))
      return false;
  return true;
}

/* A vector times a stack of matrices: y's letters before those that are summed number the matrices,
 * which stay as they lie. */
static void number_matrices(
    const lettered *y, const char *batch, const char *rows, char *inner, char *cols, char *front) {
  int n = 0, k = (int)strlen(inner);
  while (n < y->n && cols[n] && cols[n] == y->letter[n]) n++;
  bool stack = n > 0 && k > 0 && !*batch && !*rows && n + k < y->n;
  for (int i = 0; i < k && stack; i++) stack = strchr(inner, y->letter[n + i]) != NULL;
  snprintf(front, TP_MAXRANK + 1, "%.*s", stack ? n : 0, cols);
  if (!stack) return;
  memmove(cols, cols + n, strlen(cols + n) + 1);
  memcpy(inner, y->letter + n, (size_t)k);
}

/* z gets these letters of x, with their extents. */
static void add_letters(lettered *z, const tp_ix **shape, const lettered *x, const char *letters) {
  for (const char *c = letters; *c && z->n < TP_MAXRANK; c++) {
    shape[z->n] = mk_extent(x->v, letter_place(x, *c));
    z->letter[z->n++] = *c;
  }
}

/* x := x * y summed over the letters of both that `keep` lacks. */
static bool contract(tp_mk k, lettered *x, lettered *y, const char *keep) {
  char batch[TP_MAXRANK + 1], inner[TP_MAXRANK + 1], rows[TP_MAXRANK + 1], cols[TP_MAXRANK + 1],
      front[TP_MAXRANK + 1], needed[TP_MAXRANK + 100];
  if (!agree(k, x, y)) return false;
  snprintf(needed, sizeof needed, "%s%.*s", keep, y->n, y->letter);
  sum_out(k, x, needed);
  snprintf(needed, sizeof needed, "%s%.*s", keep, x->n, x->letter);
  sum_out(k, y, needed);
  letters(x, y, true, keep, 1, batch);
  letters(x, y, true, keep, 0, inner);
  letters(x, y, false, keep, -1, rows);
  letters(y, x, false, keep, -1, cols);
  number_matrices(y, batch, rows, inner, cols, front);
  bool batched = *front || *batch;
  tp_val p = mk_matmul(k, folded(k, x, batched, (const char *[]){ batch, rows, inner }),
      folded(k, y, batched, (const char *[]){ *front ? front : batch, inner, cols }));
  if (!p.node) return false;
  const tp_ix *shape[TP_MAXRANK];
  lettered z = { .n = 0 };
  add_letters(&z, shape, y, front);
  add_letters(&z, shape, x, batch);
  add_letters(&z, shape, x, rows);
  add_letters(&z, shape, y, cols);
  z.v = mk_reshape(k, p, z.n, shape);
  *x = z;
  return z.v.node;
}

/* An operand's letters, up to ',', '-' or the end; an ellipsis has `hidden` axes. */
static bool read_letters(tp_mk k, const char **s, int hidden, lettered *x) {
  bool ellipsis = false;
  for (x->n = 0; **s && **s != ',' && **s != '-'; (*s)++) {
    if (**s == ' ') continue;
    bool dots = !ellipsis && strncmp(*s, "...", 3) == 0;
    if (!dots && !isalpha((unsigned char)**s))
      return tp_wrong(
          k, TP_E_OPTION, "'%c' in an equation of letters such as \"bij,bjk->bik\"", **s);
    if (x->n + (dots ? hidden : 1) > TP_MAXRANK)
      return tp_wrong(k, TP_E_SHAPE, "more than %d letters", TP_MAXRANK);
    if (dots) {
      for (int i = 0; i < hidden; i++) x->letter[x->n++] = (char)(ELLIPSIS - hidden + 1 + i);
      *s += 2;
      ellipsis = true;
    } else x->letter[x->n++] = **s;
  }
  return true;
}

/* Axes of an operand's ellipsis. */
static int hidden_axes(const char *s, int rank) {
  int n = 0;
  bool ellipsis = false;
  for (; *s && *s != ',' && *s != '-'; s++) {
    n += isalpha((unsigned char)*s) != 0;
    ellipsis |= *s == '.';
  }
  return ellipsis ? TP_MAX(rank - n, 0) : 0;
}

/* Axis i and a later one with its letter become their diagonal, at i. */
static void diagonal(tp_mk k, lettered *x, int i, int j) {
  const tp_ix *square[2] = { mk_extent(x->v, i), mk_extent(x->v, j) };
  tp_val same =
      mk_bin(k, TP_OP_EQ, mk_iota(k, 0, 2, square, 0, NULL), mk_iota(k, 1, 2, square, 0, NULL));
  for (int a = i + 1; a < j; a++) same = mk_unsqueeze(k, same, 1);
  for (int a = j + 1; a < x->n; a++) same = mk_unsqueeze(k, same, -1);
  x->v = mk_reduce(k, TP_OP_SUM, mk_where(k, same, x->v), 1, &j, false);
  memmove(x->letter + j, x->letter + j + 1, (size_t)(--x->n - j));
}

static bool diagonals(tp_mk k, lettered *x) {
  for (int i = 0; i < x->n; i++)
    for (int j = x->n - 1; j > i && x->v.node; j--) {
      if (x->letter[i] != x->letter[j]) continue;
      if (!same_size(k, x->letter[i], mk_extent(x->v, i), mk_extent(x->v, j))) return false;
      diagonal(k, x, i, j);
    }
  return x->v.node;
}

/* Axes of 1 whose letter is larger elsewhere are left out. */
static void drop_ones(tp_mk k, int n, lettered *op) {
  for (int i = 0; i < n; i++)
    for (int a = op[i].n - 1; a >= 0; a--) {
      bool larger = false;
      for (int j = 0; j < n; j++) {
        int b = letter_place(&op[j], op[i].letter[a]);
        larger |= b >= 0 && !tp_is_number(mk_extent(op[j].v, b), 1);
      }
      if (!larger || !tp_is_number(mk_extent(op[i].v, a), 1)) continue;
      op[i].v = mk_squeeze(k, op[i].v, a);
      memmove(op[i].letter + a, op[i].letter + a + 1, (size_t)(--op[i].n - a));
    }
}

/* The letters of the result: given, or those of an ellipsis and, in alphabetical order, those that
 * stand once. */
static bool read_result(tp_mk k, const char *s, int n, const lettered *op, int hidden,
    const int *times, lettered *out) {
  if (strncmp(s, "->", 2) == 0) {
    s += 2;
    if (!read_letters(k, &s, hidden, out)) return false;
  } else
    for (int c = 1; c <= 'z'; c++)
      if ((c <= ELLIPSIS ? times[c] > 0 : times[c] == 1) && out->n < TP_MAXRANK)
        out->letter[out->n++] = (char)c;
  for (int i = 0; i < out->n; i++) {
    bool known = false;
    for (int j = 0; j < n; j++) known |= letter_place(&op[j], out->letter[i]) >= 0;
    if (!known)
      return tp_wrong(k, TP_E_OPTION, "'%c' of the result is in no operand", out->letter[i]);
    if (letter_place(out, out->letter[i]) < i)
      return tp_wrong(k, TP_E_OPTION, "'%c' twice in the result", out->letter[i]);
  }
  return *s == 0 || tp_wrong(k, TP_E_OPTION, "cannot read the equation from \"%s\"", s);
}

static bool read_equation(
    tp_mk k, const char *s, int n, const tp_val *v, lettered *op, lettered *out) {
  int widest = 0, times['z' + 1] = { 0 };
  for (int i = 0; i < n; i++) {
    if (i && *s++ != ',')
      return tp_wrong(k, TP_E_OPTION, "%d operands for an equation with fewer", n);
    op[i].v = v[i];
    int hidden = hidden_axes(s, tp_rankof(v[i]));
    widest = TP_MAX(widest, hidden);
    if (!read_letters(k, &s, hidden, &op[i])) return false;
    if (op[i].n != tp_rankof(v[i]))
      return tp_wrong(k, TP_E_SHAPE, "%d letters for operand %d, which has %d axes", op[i].n, i + 1,
          tp_rankof(v[i]));
    for (int a = 0; a < op[i].n; a++) times[(int)op[i].letter[a]]++;
    if (!diagonals(k, &op[i])) return false;
  }
  if (*s == ',') return tp_wrong(k, TP_E_OPTION, "%d operands for an equation with more", n);
  return read_result(k, s, n, op, widest, times, out);
}

METHOD(einsum) {
  int n = a[1].n;
  lettered *op = TP_NEWN(&k.g->arena, lettered, n + 1), result = { .n = 0 };
  if (n < 1) return tp_wrong(k, TP_E_OPTION, "takes an equation and tensors");
  if (!read_equation(k, a[0].s, n, a[1].vals, op, &result)) return false;
  drop_ones(k, n, op);
  for (int i = 1; i < n; i++) {
    char keep[96]; /* letters needed after this operand */
    int have = 0;
    for (int c = 1; c <= 'z'; c++) {
      bool later = letter_place(&result, (char)c) >= 0;
      for (int j = i + 1; j < n; j++) later |= letter_place(&op[j], (char)c) >= 0;
      if (later) keep[have++] = (char)c;
    }
    keep[have] = 0;
    if (!contract(k, &op[0], &op[i], keep)) return false;
  }
  char keep[TP_MAXRANK + 1] = "";
  memcpy(keep, result.letter, (size_t)result.n);
  sum_out(k, &op[0], keep);
  int order[TP_MAXRANK];
  for (int i = 0; i < result.n; i++) order[i] = letter_place(&op[0], result.letter[i]);
  GIVE(mk_permute(k, op[0].v, order));
}
