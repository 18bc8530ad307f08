/* > base */
/* Operators that are no loops, for exported code: C99 on top of the rest of the prelude. Windows
 * are strided; parts that need no speed go by element and dtype. A line "> name" begins a section,
 * and a program has the sections that it uses. TPX_RANK, the most axes of a window, is defined
 * before. If a function is not 0, the run ends. */
enum { TPX_BOOL, TPX_U8, TPX_I32, TPX_I64, TPX_F16, TPX_BF16, TPX_F32, TPX_F64 };
enum { TPX_FAULT_INDEX = 4, TPX_FAULT_RANGE, TPX_FAULT_NOTHING, TPX_FAULT_ACTION, TPX_FAULT_CALL };

/* p: the first element; NULL: the result is not wanted. Index j of axis wrap lies at ((lo + j) mod
 * m) strides; m 0: no axis wraps. */
typedef struct tpx_window {
  char *p;
  int type, rank;
  int64_t n[TPX_RANK], s[TPX_RANK];
  int wrap;
  int64_t lo, m;
} tpx_window;

TP_FN int64_t tpx_size(int type) {
  return type < TPX_I32                    ? 1
      : type == TPX_I32 || type == TPX_F32 ? 4
      : type == TPX_I64 || type == TPX_F64 ? 8
                                           : 2;
}
TP_FN int tpx_is_float(int type) { return type >= TPX_F16; }

TP_FN double tpx_get(int type, const char *p, int64_t i) {
  switch (type) {
  case TPX_BOOL: return ((const tpx_u8 *)p)[i] != 0;
  case TPX_U8: return ((const tpx_u8 *)p)[i];
  case TPX_I32: return ((const tpx_i32 *)p)[i];
  case TPX_I64: return (double)((const tpx_i64 *)p)[i];
  case TPX_F16: return (double)tp_load_f16(((const tpx_f16 *)p)[i]);
  case TPX_BF16: return (double)tp_load_bf16(((const tpx_bf16 *)p)[i]);
  case TPX_F32: return (double)((const tpx_f32 *)p)[i];
  default: return ((const tpx_f64 *)p)[i];
  }
}
TP_FN int64_t tpx_geti(int type, const char *p, int64_t i) {
  switch (type) {
  case TPX_BOOL: return ((const tpx_u8 *)p)[i] != 0;
  case TPX_U8: return ((const tpx_u8 *)p)[i];
  case TPX_I32: return ((const tpx_i32 *)p)[i];
  case TPX_I64: return ((const tpx_i64 *)p)[i];
  default: return tp_cast_f64_i64(tpx_get(type, p, i));
  }
}
TP_FN void tpx_put(int type, char *p, int64_t i, double v) {
  switch (type) {
  case TPX_BOOL: ((tpx_u8 *)p)[i] = v != 0; break;
  case TPX_U8: ((tpx_u8 *)p)[i] = tp_cast_f64_u8(v); break;
  case TPX_I32: ((tpx_i32 *)p)[i] = tp_cast_f64_i32(v); break;
  case TPX_I64: ((tpx_i64 *)p)[i] = tp_cast_f64_i64(v); break;
  case TPX_F16: ((tpx_f16 *)p)[i] = tp_store_f16(tp_sticky_f32(v)); break;
  case TPX_BF16: ((tpx_bf16 *)p)[i] = tp_store_bf16(tp_sticky_f32(v)); break;
  case TPX_F32: ((tpx_f32 *)p)[i] = (float)v; break;
  default: ((tpx_f64 *)p)[i] = v; break;
  }
}
TP_FN void tpx_puti(int type, char *p, int64_t i, int64_t v) {
  switch (type) {
  case TPX_BOOL: ((tpx_u8 *)p)[i] = v != 0; break;
  case TPX_U8: ((tpx_u8 *)p)[i] = (uint8_t)v; break;
  case TPX_I32: ((tpx_i32 *)p)[i] = (int32_t)(uint32_t)v; break;
  case TPX_I64: ((tpx_i64 *)p)[i] = v; break;
  case TPX_F16: ((tpx_f16 *)p)[i] = tp_store_f16((float)v); break;
  case TPX_BF16: ((tpx_bf16 *)p)[i] = tp_store_bf16((float)v); break;
  case TPX_F32: ((tpx_f32 *)p)[i] = (float)v; break;
  default: ((tpx_f64 *)p)[i] = (double)v; break;
  }
}

/* Points of axes, in lexicographic order: for (int go = tpx_first(..); go; go = tpx_next(..)). */
TP_FN int tpx_first(int rank, const int64_t *n, int64_t *at) {
  int any = 1;
  for (int i = 0; i < rank; i++) at[i] = 0, any &= n[i] > 0;
  return any;
}
TP_FN int tpx_next(int rank, const int64_t *n, int64_t *at) {
  for (int i = rank - 1; i >= 0; at[i--] = 0)
    if (++at[i] < n[i]) return 1;
  return 0;
}
TP_FN int64_t tpx_place(int rank, const int64_t *at, const int64_t *s) {
  int64_t place = 0;
  for (int i = 0; i < rank; i++) place += at[i] * s[i];
  return place;
}
TP_FN int64_t tpx_at(const tpx_window *w, const int64_t *at) {
  int64_t place = 0;
  for (int i = 0; i < w->rank; i++)
    place += (w->m && w->wrap == i ? tp_ring_at(w->lo + at[i], w->m) : at[i]) * w->s[i];
  return place;
}
TP_FN int64_t tpx_count(const tpx_window *w) {
  int64_t n = 1;
  for (int i = 0; i < w->rank; i++) n *= w->n[i];
  return n;
}
TP_FN tpx_window tpx_dense(const tpx_window *like, char *p) {
  tpx_window w = *like;
  int64_t s = 1;
  for (int i = w.rank - 1; i >= 0; i--) w.s[i] = s, s *= w.n[i];
  w.p = p;
  w.m = 0;
  return w;
}
TP_FN tpx_window tpx_without(const tpx_window *v, int axis) {
  tpx_window w = *v;
  w.rank--;
  for (int i = axis; i < w.rank; i++) w.n[i] = w.n[i + 1], w.s[i] = w.s[i + 1];
  return w;
}
/* The other axes, at a point of the first ones. */
TP_FN tpx_window tpx_rest(const tpx_window *v, int first, const int64_t *at) {
  tpx_window w = *v;
  if (w.p) w.p += tpx_place(first, at, v->s) * tpx_size(v->type);
  w.rank -= first;
  for (int i = 0; i < w.rank; i++) w.n[i] = v->n[first + i], w.s[i] = v->s[first + i];
  return w;
}

/* Copies a window of the same shape. Elements keep their bits if the types are the same. */
TP_FN void tpx_copy(const tpx_window *o, const tpx_window *in) {
  int64_t at[TPX_RANK], size = tpx_size(o->type), last = o->rank - 1, row = 1;
  int flat =
      o->rank && !o->m && !in->m && o->s[last] == 1 && in->s[last] == 1 && o->type == in->type;
  if (flat) row = o->n[last];
  for (int go = tpx_first(o->rank, o->n, at); go; go = tpx_next(o->rank - flat, o->n, at)) {
    int64_t to = tpx_at(o, at), from = tpx_at(in, at);
    if (o->type == in->type) memmove(o->p + to * size, in->p + from * size, (size_t)(row * size));
    else tpx_put(o->type, o->p, to, tpx_get(in->type, in->p, from));
  }
}
TP_FN void tpx_clear(const tpx_window *o) {
  int64_t at[TPX_RANK];
  for (int go = tpx_first(o->rank, o->n, at); go; go = tpx_next(o->rank, o->n, at))
    memset(o->p + tpx_at(o, at) * tpx_size(o->type), 0, (size_t)tpx_size(o->type));
}
/* Room in working memory. */
TP_FN char *tpx_room(char **work, int64_t bytes) {
  char *p = *work;
  *work += (bytes + 63) / 64 * 64;
  return p;
}
/* A window on a ring that crosses the seam becomes a copy. */
TP_FN void tpx_unwrap(tpx_window *v, char **work) {
  tpx_window dense = *v;
  int64_t first = tp_ring_at(v->lo, v->m), n = 1, size = tpx_size(v->type);
  if (!v->m) return;
  if (first + v->n[v->wrap] <= (v->m > 1 ? v->m : 1)) {
    v->p += first * v->s[v->wrap] * size;
    v->m = 0;
    return;
  }
  for (int i = v->rank - 1; i >= 0; i--) {
    dense.s[i] = v->s[i] ? n : 0;
    if (v->s[i]) n *= v->n[i];
  }
  dense.p = tpx_room(work, n * size);
  dense.m = 0;
  tpx_copy(&dense, v);
  *v = dense;
}
/* 16-bit floats become a copy in f32, which is narrowed into the result. */
TP_FN tpx_window tpx_wide(const tpx_window *v, int read, char **work) {
  tpx_window w = *v;
  int64_t n = 1;
  if (!v->p || (v->type != TPX_F16 && v->type != TPX_BF16)) return w;
  for (int i = v->rank - 1; i >= 0; i--) {
    w.s[i] = v->s[i] ? n : 0;
    if (v->s[i]) n *= v->n[i];
  }
  w.type = TPX_F32;
  w.m = 0;
  w.p = tpx_room(work, n * 4);
  if (read) tpx_copy(&w, v);
  return w;
}
TP_FN void tpx_narrow(const tpx_window *to, const tpx_window *wide) {
  if (to->p && wide->type != to->type) tpx_copy(to, wide);
}
/* > matmul */
/* c (+)= a b, sums in the order of k, TP_DOT_BLOCK terms at a time, each term fused; axes before
 * the last two along which c stays are summed too. Loads of 16-bit floats are f32; a may be of
 * other floats than b. */
enum { TPX_STRIP = 64 };
#define TPX_LOAD(x, i)      ((x)[i])
#define TPX_LOAD_F16(x, i)  tp_load_f16((x)[i])
#define TPX_LOAD_BF16(x, i) tp_load_bf16((x)[i])
TP_FN float tpx_load_any(const tpx_window *x, int64_t i) {
  return x->type == TPX_F16 ? tp_load_f16(((const tpx_f16 *)x->p)[i])
      : x->type == TPX_BF16 ? tp_load_bf16(((const tpx_bf16 *)x->p)[i])
                            : ((const tpx_f32 *)x->p)[i];
}
#define TPX_MADI(a, b, c) ((a) * (b) + (c))
#define TPX_MATRIX(name, C, S, of_a, load_a, in, load, mad) \
  TP_FN void name(int64_t m, int64_t n, int64_t k, const of_a *a, const int64_t *sa, const in *b, \
      const int64_t *sb, C *c, const int64_t *sc, int add) { \
    S sum[TPX_STRIP]; \
    for (int64_t from = 0; from < k || (from == 0 && !add); from += TP_DOT_BLOCK) { \
      const int64_t to = k - from < TP_DOT_BLOCK ? k : from + TP_DOT_BLOCK; \
      for (int64_t i = 0; i < m; i++) \
        for (int64_t j = 0; j < n; j += TPX_STRIP) { \
          const int64_t some = n - j < TPX_STRIP ? n - j : TPX_STRIP; \
          for (int64_t q = 0; q < some; q++) sum[q] = 0; \
          for (int64_t p = from; p < to; p++) { \
            const S x = (S)load_a(a, i * sa[0] + p * sa[1]); \
            const in *y = b + p * sb[0] + j * sb[1]; \
            if (sb[1] == 1) \
              for (int64_t q = 0; q < some; q++) sum[q] = (S)mad(x, (S)load(y, q), sum[q]); \
            else \
              for (int64_t q = 0; q < some; q++) \
                sum[q] = (S)mad(x, (S)load(y, q * sb[1]), sum[q]); \
          } \
          for (int64_t q = 0; q < some; q++) { \
            C *o = c + i * sc[0] + (j + q) * sc[1]; \
            *o = (C)(add || from ? (S)((S)*o + sum[q]) : sum[q]); \
          } \
        } \
    } \
  }
#define TPX_MATRIX_AS_IS(sfx, S, mad) \
  TPX_MATRIX(tpx_matrix_##sfx, tpx_##sfx, S, tpx_##sfx, TPX_LOAD, tpx_##sfx, TPX_LOAD, mad)
TPX_MATRIX_AS_IS(f32, float, tp_mad_f32)
TPX_MATRIX_AS_IS(f64, double, tp_mad_f64)
TPX_MATRIX_AS_IS(u8, uint32_t, TPX_MADI)
TPX_MATRIX_AS_IS(i32, uint32_t, TPX_MADI)
TPX_MATRIX_AS_IS(i64, uint64_t, TPX_MADI)
TPX_MATRIX(tpx_matrix_f16, tpx_f32, float, tpx_f16, TPX_LOAD_F16, tpx_f16, TPX_LOAD_F16, tp_mad_f32)
TPX_MATRIX(
    tpx_matrix_bf16, tpx_f32, float, tpx_bf16, TPX_LOAD_BF16, tpx_bf16, TPX_LOAD_BF16, tp_mad_f32)
#define TPX_MATRIX_MIXED(sfx, load) \
  TPX_MATRIX(tpx_mixed_##sfx, tpx_f32, float, tpx_window, tpx_load_any, tpx_##sfx, load, tp_mad_f32)
TPX_MATRIX_MIXED(f32, TPX_LOAD)
TPX_MATRIX_MIXED(f16, TPX_LOAD_F16)
TPX_MATRIX_MIXED(bf16, TPX_LOAD_BF16)

#define TPX_MATRIX_OF(sfx, C, in) \
  tpx_matrix_##sfx( \
      m, n, k, (const in *)a + pa, sa, (const in *)b + pb, sb, (C *)c + pc, v[2].s + r, add)
TP_FN void tpx_matrices(int type, int64_t m, int64_t n, int64_t k, const tpx_window *v, int r,
    const int64_t *at, const int64_t *sa, const int64_t *sb, int add) {
  const char *a = v[0].p, *b = v[1].p;
  char *c = v[2].p;
  int64_t pa = 0, pb = 0, pc = tpx_place(r, at, v[2].s);
  for (int i = 0; i < r; i++)
    pa += v[0].n[i] == 1 ? 0 : at[i] * v[0].s[i], pb += v[1].n[i] == 1 ? 0 : at[i] * v[1].s[i];
  if (v[0].type != v[1].type) {
    tpx_window x = v[0];
    float *to = (float *)c + pc;
    x.p += pa * tpx_size(x.type);
    switch (v[1].type) {
    case TPX_F16:
      tpx_mixed_f16(m, n, k, &x, sa, (const tpx_f16 *)b + pb, sb, to, v[2].s + r, add);
      break;
    case TPX_BF16:
      tpx_mixed_bf16(m, n, k, &x, sa, (const tpx_bf16 *)b + pb, sb, to, v[2].s + r, add);
      break;
    default: tpx_mixed_f32(m, n, k, &x, sa, (const float *)b + pb, sb, to, v[2].s + r, add); break;
    }
    return;
  }
  switch (type) {
  case TPX_F16: TPX_MATRIX_OF(f16, tpx_f32, tpx_f16); break;
  case TPX_BF16: TPX_MATRIX_OF(bf16, tpx_f32, tpx_bf16); break;
  case TPX_F32: TPX_MATRIX_OF(f32, tpx_f32, tpx_f32); break;
  case TPX_F64: TPX_MATRIX_OF(f64, tpx_f64, tpx_f64); break;
  case TPX_I32: TPX_MATRIX_OF(i32, tpx_i32, tpx_i32); break;
  case TPX_I64: TPX_MATRIX_OF(i64, tpx_i64, tpx_i64); break;
  default: TPX_MATRIX_OF(u8, tpx_u8, tpx_u8); break;
  }
}
TP_FN void tpx_product(const tpx_window *v, int acc) {
  const tpx_window *a = &v[0], *b = &v[1], *c = &v[2];
  int r = c->rank - 2;
  int64_t m = c->n[r], n = c->n[r + 1], k = a->n[r + 1], ext[TPX_RANK], at[TPX_RANK];
  for (int i = 0; i < r; i++) {
    ext[i] = c->n[i];
    if (c->s[i] == 0 && ext[i] == 0) ext[i] = 1, k = 0;
  }
  for (int go = tpx_first(r, ext, at); go; go = tpx_next(r, ext, at)) {
    int again = acc;
    for (int i = 0; i < r; i++) again |= c->s[i] == 0 && at[i];
    tpx_matrices(a->type, m, n, k, v, r, at, a->s + r, b->s + r, again);
  }
}
TP_FN void tpx_part(tpx_window *v, int axis, int64_t from, int64_t n) {
  v->p += from * v->s[axis] * tpx_size(v->type);
  v->n[axis] = n;
}
/* One operand may lie on a ring: the part behind the seam is a product of its own. */
TP_FN void tpx_ring_product(const tpx_window *v, int acc) {
  int i = v[0].m ? 0 : 1, w = v[i].wrap, last = v[2].rank - 1, summed = w == last - i;
  int64_t lo = tp_ring_at(v[i].lo, v[i].m), n = v[i].n[w], first = tp_index_min(n, v[i].m - lo);
  for (int k = 0; k < (first < n ? 2 : 1); k++) {
    tpx_window part[3] = { v[0], v[1], v[2] };
    int64_t from = k ? first : 0, some = k ? n - first : first;
    tpx_part(&part[i], w, k ? 0 : lo, some);
    if (summed) tpx_part(&part[1 - i], i ? last : last - 1, from, some);
    else if (w < last - 1 && v[1 - i].n[w] != 1) tpx_part(&part[1 - i], w, from, some);
    if (!summed) tpx_part(&part[2], w, from, some);
    tpx_product(part, acc || (k && (summed || v[2].s[w] == 0)));
  }
}
TP_FN void tpx_matmul(const tpx_window *v, int acc, char *work) {
  tpx_window made[3] = { v[0], v[1], tpx_wide(&v[2], acc, &work) };
  (v[0].m || v[1].m ? tpx_ring_product : tpx_product)(made, acc);
  tpx_narrow(&v[2], &made[2]);
}
/* > conv */
/* y = conv(x, w), or its adjoints: one of x, w, y from the other two. Axes: leading ones, image,
 * group, channel, space. how: stride, dilation, padding of each axis of space. */
#define TPX_CONVOLVE(name, T, S, mad) \
  TP_FN void name(int which, int d, const int *how, const tpx_window *x, const tpx_window *w, \
      const tpx_window *y, int64_t O, int64_t C) { \
    T *X = (T *)x->p, *W = (T *)w->p, *Y = (T *)y->p; \
    int64_t q_at[TPX_RANK], p[TPX_RANK], k[TPX_RANK]; \
    const int64_t *P = y->n, *K = w->n; \
    for (int64_t o = 0; o < (which == 1 ? 1 : O); o++) \
      for (int go = tpx_first(d, P, q_at); go; go = tpx_next(d, P, q_at)) { \
        for (int i = 0; i < d; i++) p[i] = which == 1 ? P[i] - 1 - q_at[i] : q_at[i]; \
        T *q = Y + o * y->s[d] + tpx_place(d, p, y->s); \
        S sum = 0, part = 0; \
        int terms = 0, cut = 0; \
        for (int64_t c = 0; c < C; c++) \
          for (int more = tpx_first(d, K, k); more; more = tpx_next(d, K, k)) { \
            if (terms++ == TP_DOT_BLOCK) \
              sum = cut ? (S)(sum + part) : part, part = 0, terms = cut = 1; \
            int64_t from = c * x->s[d]; \
            int inside = 1; \
            for (int i = 0; i < d; i++) { \
              int64_t at = p[i] * how[3 * i] + k[i] * how[3 * i + 1] - how[3 * i + 2]; \
              inside &= at >= 0 && at < x->n[i]; \
              from += at * x->s[i]; \
            } \
            if (!inside) continue; \
            T *u = W + o * w->s[d] + c * w->s[d + 1] + tpx_place(d, k, w->s); \
            if (which == 0) part = (S)mad((S)X[from], (S)*u, part); \
            else if (which == 2) *u = (T)mad((S)X[from], (S)*q, (S)*u); \
            else { \
              S all = 0; \
              for (int64_t e = 0; e < O; e += TP_DOT_BLOCK) { \
                part = 0; \
                for (int64_t f = e; f < O && f < e + TP_DOT_BLOCK; f++) \
                  part = (S)mad((S)u[f * w->s[d]], (S)q[f * y->s[d]], part); \
                all = e ? (S)(all + part) : part; \
              } \
              X[from] = (T)((S)X[from] + all); \
            } \
          } \
        if (which == 0) *q = (T)(cut ? (S)(sum + part) : part); \
      } \
  }
#define TPX_CMADI(a, b, c) ((a) * (b) + (c))
TPX_CONVOLVE(tpx_conv_f32, tpx_f32, float, tp_mad_f32)
TPX_CONVOLVE(tpx_conv_f64, tpx_f64, double, tp_mad_f64)
TPX_CONVOLVE(tpx_conv_u8, tpx_u8, uint32_t, TPX_CMADI)
TPX_CONVOLVE(tpx_conv_i32, tpx_i32, uint32_t, TPX_CMADI)
TPX_CONVOLVE(tpx_conv_i64, tpx_i64, uint64_t, TPX_CMADI)

/* One image and group: the axes of space, then the channels'. */
TP_FN tpx_window tpx_image(const tpx_window *v, int d, int channels) {
  tpx_window w = *v;
  for (int i = 0; i < d; i++) w.n[i] = v->n[channels + i], w.s[i] = v->s[channels + i];
  for (int i = 0; i < channels; i++) w.n[d + i] = v->n[i], w.s[d + i] = v->s[i];
  return w;
}
/* which: 0 y is made, 1 x, 2 w. */
TP_FN void tpx_conv(int which, int nlead, const int *how, const tpx_window *x_,
    const tpx_window *w_, const tpx_window *y_, int acc, char *work) {
  int d = x_->rank - nlead - 3;
  int64_t at[TPX_RANK], ext[TPX_RANK];
  const tpx_window wx = tpx_wide(x_, which != 1, &work),
                   ww = tpx_wide(w_, which != 2 || acc, &work),
                   wy = tpx_wide(y_, which != 0, &work), *x = &wx, *w = &ww, *y = &wy;
  if (which == 1) tpx_clear(x);
  if (which == 2 && !acc) tpx_clear(w);
  for (int i = 0; i < nlead + 2; i++) ext[i] = y->n[i] > x->n[i] ? y->n[i] : x->n[i];
  for (int go = tpx_first(nlead + 2, ext, at); go; go = tpx_next(nlead + 2, ext, at)) {
    int64_t inw[TPX_RANK];
    for (int i = 0; i < nlead; i++) inw[i] = at[i];
    inw[nlead] = at[nlead + 1];
    tpx_window a = tpx_rest(x, nlead + 2, at), b = tpx_rest(w, nlead + 1, inw),
               c = tpx_rest(y, nlead + 2, at);
    int64_t O = c.n[0], C = a.n[0];
    a = tpx_image(&a, d, 1), b = tpx_image(&b, d, 2), c = tpx_image(&c, d, 1);
    switch (x->type) {
    case TPX_F32: tpx_conv_f32(which, d, how, &a, &b, &c, O, C); break;
    case TPX_F64: tpx_conv_f64(which, d, how, &a, &b, &c, O, C); break;
    case TPX_I32: tpx_conv_i32(which, d, how, &a, &b, &c, O, C); break;
    case TPX_I64: tpx_conv_i64(which, d, how, &a, &b, &c, O, C); break;
    default: tpx_conv_u8(which, d, how, &a, &b, &c, O, C); break;
    }
  }
  if (which == 0) tpx_narrow(y_, y);
  else if (which == 1) tpx_narrow(x_, x);
  else tpx_narrow(w_, w);
}
/* > fold */
/* Adds windows of an axis at their places, element j of each after the other. */
TP_FN void tpx_fold(const tpx_window *in_, const tpx_window *o_, int axis, int64_t step,
    int64_t apart, char *work) {
  const tpx_window wi = tpx_wide(in_, 1, &work), wo = tpx_wide(o_, 0, &work), *in = &wi, *o = &wo;
  int64_t at[TPX_RANK], to[TPX_RANK];
  tpx_window lines = tpx_without(in, axis + 1);
  tpx_clear(o);
  for (int64_t j = 0; j < in->n[axis + 1]; j++)
    for (int go = tpx_first(lines.rank, lines.n, at); go; go = tpx_next(lines.rank, lines.n, at)) {
      int64_t from = tpx_place(lines.rank, at, lines.s) + j * in->s[axis + 1], p;
      for (int i = 0; i < o->rank; i++) to[i] = i == axis ? at[i] * step + j * apart : at[i];
      p = tpx_at(o, to);
      if (!tpx_is_float(o->type))
        tpx_puti(o->type, o->p, p,
            (int64_t)((uint64_t)tpx_geti(o->type, o->p, p) +
                (uint64_t)tpx_geti(in->type, in->p, from)));
      else if (o->type == TPX_F64) ((tpx_f64 *)o->p)[p] += ((const tpx_f64 *)in->p)[from];
      else ((tpx_f32 *)o->p)[p] += ((const tpx_f32 *)in->p)[from];
    }
  tpx_narrow(o_, o);
}
/* > scan */
/* Along an axis: c = f c + x, or c = c x. Floats in f64. */
TP_FN void tpx_scan(
    const tpx_window *in, const tpx_window *o, int axis, int back, int prod, double f) {
  int64_t at[TPX_RANK], n = o->n[axis], whole = tp_cast_f64_i64(f);
  tpx_window lo = tpx_without(o, axis), li = tpx_without(in, axis);
  for (int go = n && tpx_first(lo.rank, lo.n, at); go; go = tpx_next(lo.rank, lo.n, at)) {
    int64_t to = tpx_place(lo.rank, at, lo.s), from = tpx_place(lo.rank, at, li.s);
    double c = prod;
    uint64_t k = (uint64_t)prod;
    for (int64_t i = 0; i < n; i++) {
      int64_t j = back ? n - 1 - i : i, q = to + j * o->s[axis], p = from + j * in->s[axis];
      if (tpx_is_float(o->type)) {
        double x = tpx_get(in->type, in->p, p);
        c = prod ? c * x : tp_mad_f64(f, c, x);
        tpx_put(o->type, o->p, q, o->type == TPX_F64 ? c : (double)(float)c);
      } else {
        uint64_t x = (uint64_t)tpx_geti(in->type, in->p, p);
        k = prod ? k * x : (uint64_t)whole * k + x;
        tpx_puti(o->type, o->p, q, (int64_t)k);
      }
    }
  }
}
/* > recur */
/* y[i] = c[i] y[i-1] + x[i] along an axis. Floats in f64. */
TP_FN void tpx_recur(
    const tpx_window *in, const tpx_window *by, const tpx_window *o, int axis, int back) {
  int64_t at[TPX_RANK], n = o->n[axis];
  tpx_window lo = tpx_without(o, axis), li = tpx_without(in, axis), lc = tpx_without(by, axis);
  for (int go = n && tpx_first(lo.rank, lo.n, at); go; go = tpx_next(lo.rank, lo.n, at)) {
    int64_t to = tpx_place(lo.rank, at, lo.s), from = tpx_place(lo.rank, at, li.s),
            with = tpx_place(lo.rank, at, lc.s);
    double r = 0;
    uint64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
      int64_t j = back ? n - 1 - i : i, q = to + j * o->s[axis], p = from + j * in->s[axis],
              c = with + j * by->s[axis];
      if (tpx_is_float(o->type)) {
        double x = tpx_get(in->type, in->p, p);
        r = i ? tp_mad_f64(tpx_get(by->type, by->p, c), r, x) : x;
        tpx_put(o->type, o->p, q, o->type == TPX_F64 ? r : (double)(float)r);
      } else {
        uint64_t x = (uint64_t)tpx_geti(in->type, in->p, p);
        k = i ? (uint64_t)tpx_geti(by->type, by->p, c) * k + x : x;
        tpx_puti(o->type, o->p, q, (int64_t)k);
      }
    }
  }
}
/* > sort */
/* Stable; NaN last both ways: merged from runs of one up. */
#define TPX_SORT(name, T, get, before) \
  typedef struct name##_item { \
    T v; \
    int64_t at; \
  } name##_item; \
  TP_FN void name(const tpx_window *in, int64_t from, int64_t step, int64_t n, int down, \
      char *room, const tpx_window *v, int64_t to, const tpx_window *k, int64_t kto, int axis) { \
    name##_item *a = (name##_item *)(void *)room, *b = a + n, *t; \
    int64_t size = tpx_size(in->type); \
    for (int64_t i = 0; i < n; i++) a[i].v = get(in->type, in->p, from + i * step), a[i].at = i; \
    for (int64_t width = 1; width < n; width *= 2) { \
      for (int64_t lo = 0; lo < n; lo += 2 * width) { \
        int64_t mid = lo + width < n ? lo + width : n, hi = mid + width < n ? mid + width : n, \
                i = lo, j = mid, q = lo; \
        while (i < mid && j < hi) { \
          const T l = a[i].v, r = a[j].v; \
          b[q++] = before(r, l) ? a[j++] : a[i++]; \
        } \
        while (i < mid) b[q++] = a[i++]; \
        while (j < hi) b[q++] = a[j++]; \
      } \
      t = a, a = b, b = t; \
    } \
    for (int64_t i = 0; i < n && v->p; i++) \
      memcpy(v->p + (to + i * v->s[axis]) * size, in->p + (from + a[i].at * step) * size, \
          (size_t)size); \
    for (int64_t i = 0; i < n && k->p; i++) ((tpx_i64 *)k->p)[kto + i * k->s[axis]] = a[i].at; \
  }
#define TPX_BEFORE_F(x, y) ((down ? (x) > (y) : (x) < (y)) || ((y) != (y) && (x) == (x)))
#define TPX_BEFORE_I(x, y) (down ? (x) > (y) : (x) < (y))
TPX_SORT(tpx_sort_floats, double, tpx_get, TPX_BEFORE_F)
TPX_SORT(tpx_sort_integers, int64_t, tpx_geti, TPX_BEFORE_I)
TP_FN void tpx_sort(const tpx_window *in, const tpx_window *v, const tpx_window *k, int axis,
    int down, char *work) {
  int64_t at[TPX_RANK], n = in->n[axis];
  tpx_window li = tpx_without(in, axis), lv = tpx_without(v, axis), lk = tpx_without(k, axis);
  for (int go = tpx_first(li.rank, li.n, at); go; go = tpx_next(li.rank, li.n, at))
    (tpx_is_float(in->type) ? tpx_sort_floats : tpx_sort_integers)(in, tpx_place(li.rank, at, li.s),
        in->s[axis], n, down, work, v, tpx_place(li.rank, at, lv.s), k,
        tpx_place(li.rank, at, lk.s), axis);
}
/* > indices */
/* Indices count from 0 and never wrap; 0: all are in 0 .. n-1. */
TP_FN int tpx_outside(const tpx_window *k, int64_t n) {
  int64_t at[TPX_RANK];
  for (int go = tpx_first(k->rank, k->n, at); go; go = tpx_next(k->rank, k->n, at))
    if ((uint64_t)((const tpx_i64 *)k->p)[tpx_place(k->rank, at, k->s)] >= (uint64_t)n) return 1;
  return 0;
}
/* Copies the base to the result's place, unless it lies there. */
TP_FN void tpx_base(const tpx_window *o, const tpx_window *base) {
  int same = base->p == o->p;
  for (int i = 0; i < o->rank; i++) same &= base->s[i] == o->s[i];
  if (!same) tpx_copy(o, base);
}
/* > index_add */
/* o = base with slices of src added at k. In f32 and narrower floats, rows that are hit more than
 * once are summed in f64, in order, and rounded once. */
typedef struct tpx_row {
  int64_t row, j;
} tpx_row;
TP_FN int tpx_row_after(const tpx_row *a, const tpx_row *b) {
  return a->row != b->row ? a->row > b->row : a->j > b->j;
}
TP_FN void tpx_rows(tpx_row *a, int64_t n, const tpx_window *k, int64_t kat, int64_t apart) {
  int64_t gap = 1;
  for (int64_t j = 0; j < n; j++) a[j].row = ((const tpx_i64 *)k->p)[kat + j * apart], a[j].j = j;
  while (gap < n / 3) gap = 3 * gap + 1;
  for (; gap > 0; gap /= 3)
    for (int64_t i = gap; i < n; i++) {
      tpx_row x = a[i];
      int64_t j = i;
      for (; j >= gap && tpx_row_after(&a[j - gap], &x); j -= gap) a[j] = a[j - gap];
      a[j] = x;
    }
}
/* The elements of n slices, `step` apart, are added to one at p. */
TP_FN void tpx_add_row(const tpx_window *o, int64_t p, const tpx_window *s, int64_t q, int64_t step,
    const tpx_row *hit, int64_t n) {
  if (o->type == TPX_F64 || (tpx_is_float(o->type) && n > 1)) {
    double sum = tpx_get(o->type, o->p, p);
    for (int64_t i = 0; i < n; i++) sum += tpx_get(s->type, s->p, q + hit[i].j * step);
    tpx_put(o->type, o->p, p, sum);
  } else if (tpx_is_float(o->type)) {
    float sum = (float)tpx_get(o->type, o->p, p) + (float)tpx_get(s->type, s->p, q + hit->j * step);
    tpx_put(o->type, o->p, p, (double)sum);
  } else {
    uint64_t sum = (uint64_t)tpx_geti(o->type, o->p, p);
    for (int64_t i = 0; i < n; i++) sum += (uint64_t)tpx_geti(s->type, s->p, q + hit[i].j * step);
    tpx_puti(o->type, o->p, p, (int64_t)sum);
  }
}
TP_FN int tpx_index_add(const tp_host *h, int pos, const tpx_window *base, const tpx_window *k,
    const tpx_window *src, const tpx_window *o, int nlead, int axis, char *work) {
  int64_t lead[TPX_RANK], at[TPX_RANK];
  int many = k->rank > nlead;
  int64_t n = many ? k->n[nlead] : 1, apart = many ? k->s[nlead] : 0,
          step = many ? src->s[axis] : 0, any = tpx_count(src);
  tpx_row *hit = (tpx_row *)(void *)work;
  if (any && tpx_outside(k, o->n[axis])) return h->fault(h->exec, pos, TPX_FAULT_INDEX, NULL);
  tpx_base(o, base);
  for (int go = any && tpx_first(nlead, o->n, lead); go; go = tpx_next(nlead, o->n, lead)) {
    tpx_window whole = tpx_rest(o, nlead, lead), from = tpx_rest(src, nlead, lead),
               to = tpx_without(&whole, axis - nlead);
    if (many) from = tpx_without(&from, axis - nlead);
    tpx_rows(hit, n, k, tpx_place(nlead, lead, k->s), apart);
    for (int64_t j = 0, end; j < n; j = end) {
      for (end = j + 1; end < n && hit[end].row == hit[j].row;) end++;
      for (int more = tpx_first(to.rank, to.n, at); more; more = tpx_next(to.rank, to.n, at))
        tpx_add_row(&to, tpx_place(to.rank, at, to.s) + hit[j].row * o->s[axis], &from,
            tpx_place(to.rank, at, from.s), step, hit + j, end - j);
    }
  }
  return 0;
}
/* > scatter_add */
/* Sums by place that is hit; the table has twice as many places as hits. */
typedef struct tpx_hit {
  int64_t at;
  double sum;
} tpx_hit;
TP_FN tpx_hit *tpx_hit_at(tpx_hit *t, int64_t places, int64_t at, const tpx_window *o) {
  int64_t i = (int64_t)(((uint64_t)at * 0x9e3779b97f4a7c15u >> 32) * (uint64_t)places >> 32);
  while (t[i].at != INT64_MIN && t[i].at != at) i = i + 1 < places ? i + 1 : 0;
  if (t[i].at == INT64_MIN) t[i].at = at, t[i].sum = tpx_get(o->type, o->p, at);
  return &t[i];
}
TP_FN void tpx_hits_end(tpx_hit *t, int64_t places, const tpx_window *o) {
  for (int64_t i = 0; i < places; i++) {
    if (t[i].at != INT64_MIN) tpx_put(o->type, o->p, t[i].at, t[i].sum);
    t[i].at = INT64_MIN, t[i].sum = 0;
  }
}
/* f32 and narrower are summed in f64, rounded once or, if points add to the same places, once a
 * point. */
TP_FN int tpx_scatter_add(const tp_host *h, int pos, const tpx_window *base, const tpx_window *k,
    const tpx_window *src, const tpx_window *o, int axis, char *work) {
  int64_t at[TPX_RANK], sum = tpx_is_float(o->type) && o->type != TPX_F64, own = 1, places,
                        done = 0;
  tpx_hit *t = (tpx_hit *)(void *)work;
  if (tpx_outside(k, o->n[axis])) return h->fault(h->exec, pos, TPX_FAULT_INDEX, NULL);
  for (int i = k->rank - 1; i >= 0 && (k->n[i] == 1 || o->s[i] || i == axis); i--) own *= k->n[i];
  places = sum ? 2 * own : 0;
  for (int64_t i = 0; i < places; i++) t[i].at = INT64_MIN, t[i].sum = 0;
  tpx_base(o, base);
  for (int go = tpx_first(k->rank, k->n, at); go; go = tpx_next(k->rank, k->n, at)) {
    int64_t i = ((const tpx_i64 *)k->p)[tpx_place(k->rank, at, k->s)],
            q = tpx_place(src->rank, at, src->s);
    int64_t p = tpx_place(o->rank, at, o->s) + (i - at[axis]) * o->s[axis];
    if (places) tpx_hit_at(t, places, p, o)->sum += tpx_get(src->type, src->p, q);
    else if (o->type == TPX_F64) ((tpx_f64 *)o->p)[p] += ((const tpx_f64 *)src->p)[q];
    else
      tpx_puti(o->type, o->p, p,
          (int64_t)((uint64_t)tpx_geti(o->type, o->p, p) +
              (uint64_t)tpx_geti(src->type, src->p, q)));
    if (++done % own == 0) tpx_hits_end(t, places, o);
  }
  return 0;
}
/* > matmul_at */
/* v: rows, the number of each one's matrix, the matrices, the product. */
TP_FN int tpx_matmul_at(const tp_host *h, int pos, const tpx_window *v, int nlead, char *work) {
  const tpx_window *k = &v[1], *c = &v[3];
  int r = c->rank - 2;
  int64_t at[TPX_RANK], here[TPX_RANK];
  if (tpx_count(c) && tpx_outside(k, v[2].n[nlead]))
    return h->fault(h->exec, pos, TPX_FAULT_INDEX, NULL);
  for (int go = tpx_count(c) && tpx_first(r, c->n, at); go; go = tpx_next(r, c->n, at)) {
    int64_t i = ((const tpx_i64 *)k->p)[tpx_place(r, at, k->s)];
    tpx_window one[3] = { tpx_rest(&v[0], r, at), v[2], tpx_rest(c, r, at) };
    for (int d = 0; d < nlead; d++) here[d] = v[2].n[d] == 1 ? 0 : at[d];
    here[nlead] = i;
    one[1] = tpx_rest(&v[2], nlead + 1, here);
    tpx_matmul(one, 0, work);
  }
  return 0;
}
/* > end */
/* The greatest of the ends in a window that is inside its buffer, at most the given bound; a bool
 * is itself. */
TP_FN int64_t tpx_end(const tpx_window *w, int64_t off, int64_t count, int64_t given) {
  int64_t at[TPX_RANK], most = 0, last = off;
  for (int i = 0; i < w->rank; i++) last += (w->n[i] - 1) * w->s[i];
  if (off < 0 || last >= count) return 0;
  for (int go = tpx_first(w->rank, w->n, at); go; go = tpx_next(w->rank, w->n, at))
    most = tp_index_max(most, tpx_geti(w->type, w->p, off + tpx_place(w->rank, at, w->s)));
  return tp_index_min(most, given);
}
/* > call */
/* A function of the host's: dense arrays in, dense arrays out, which are zeroed before. */
TP_FN int tpx_call(const tp_host *h, int pos, int which, const int64_t *point, const tpx_window *v,
    int nin, int nout, char *room) {
  tpx_window dense[TPX_OPERANDS];
  const void *in[TPX_OPERANDS];
  void *out[TPX_OPERANDS];
  for (int i = 0; i < nin + nout; i++) {
    dense[i] = tpx_dense(&v[i], tpx_room(&room, tpx_count(&v[i]) * tpx_size(v[i].type)));
    if (i < nin) tpx_copy(&dense[i], &v[i]), in[i] = dense[i].p;
    else tpx_clear(&dense[i]), out[i - nin] = dense[i].p;
  }
  if (!tpx_host(h->exec, which, point, in, out))
    return h->fault(h->exec, pos, TPX_FAULT_CALL, NULL);
  for (int i = nin; i < nin + nout; i++)
    if (v[i].p) tpx_copy(&v[i], &dense[i]);
  return 0;
}
/* > ticks */
/* Dense values of a tick, from and to the host. */
TP_FN void tpx_take(const tpx_window *v, const void *from) {
  tpx_window dense = tpx_dense(v, (char *)(uintptr_t)from);
  tpx_copy(v, &dense);
}
TP_FN void tpx_show(const tpx_window *v, void *to) {
  tpx_window dense = tpx_dense(v, (char *)to);
  if (to) tpx_copy(&dense, v);
}
