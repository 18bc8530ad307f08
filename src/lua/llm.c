/* llm: for lua/tempo/llm: choosing a token, and keys and values of earlier positions. These lie in
 * arrays (layers, heads, places, components); a position has the same place in all of them. */
#include "lua/tl.h"
#include "base/sample.h"

static double number_of(lua_State *L, const char *name, double otherwise) {
  lua_getfield(L, 3, name);
  double v = lua_isnil(L, -1) ? otherwise : lua_tonumber(L, -1);
  lua_pop(L, 1);
  return v;
}

/* the row `i` of a matrix of logits */
static const float *row_of(lua_State *L, const tp_array *a, int64_t i) {
  if (a->dtype != TP_F32 || a->rank < 1 || a->rank > 2 || a->shape[a->rank - 1] < 1)
    tl_fail(L, "shape: llm: logits are rows of f32");
  int64_t rows = a->rank == 2 ? a->shape[0] : 1;
  if (i < 0 || i >= rows) tl_fail(L, "input: llm: row %lld of logits", (long long)i);
  return (const float *)a->data + i * a->shape[a->rank - 1];
}

/* logits, row, { temperature, top_k, top_p, min_p, repetition_penalty, seed }, position, ids seen
 * (each once) or nil, logprob wanted -> id[, logprob] */
int tl_llm_sample(lua_State *L) {
  lua_settop(L, 6);
  int64_t row = tl_integer(L, 2, "row");
  luaL_checktype(L, 3, LUA_TTABLE);
  tp_sampling s = { .temperature = number_of(L, "temperature", 0),
    .top_k = (int64_t)number_of(L, "top_k", 0),
    .top_p = number_of(L, "top_p", 1),
    .min_p = number_of(L, "min_p", 0),
    .penalty = number_of(L, "repetition_penalty", 1),
    .seed = (uint64_t)(int64_t)number_of(L, "seed", 0),
    .position = tl_integer(L, 4, "position") };
  const tp_array *a = tl_toarray(L, 1, "llm");
  const float *logits = row_of(L, a, row);
  int64_t n = a->shape[a->rank - 1];
  if (lua_istable(L, 5) && s.penalty != 1) {
    s.nseen = (int64_t)lua_rawlen(L, 5);
    int64_t *seen = lua_newuserdata(L, sizeof *seen * (size_t)TP_MAX(s.nseen, 1));
    for (int64_t k = 0; k < s.nseen; k++) {
      lua_rawgeti(L, 5, (int)(k + 1));
      seen[k] = (int64_t)lua_tonumber(L, -1);
      lua_pop(L, 1);
      if (seen[k] < 0 || seen[k] >= n) tl_fail(L, "input: llm: an id outside the vocabulary");
    }
    s.seen = seen;
  }
  double logprob;
  bool wanted = lua_toboolean(L, 6);
  int64_t id = tp_sample(&s, logits, n, wanted ? &logprob : NULL);
  if (id < 0) tl_fail(L, "memory: no memory to choose a token");
  lua_pushinteger(L, (lua_Integer)id);
  if (wanted) lua_pushnumber(L, logprob);
  return wanted ? 2 : 1;
}

static tp_array *keys_kept(lua_State *L) {
  tp_array *a = tl_unseen(L, 1, "llm");
  if (a->rank != 4 || !a->shape[2]) tl_fail(L, "shape: llm: no array of keys or values");
  return a;
}

/* to, from (rows, layers, heads, components), row, n, position: rows row .. row + n - 1 of `from`
 * are those of position .. position + n - 1, each at its place modulo the number of places */
int tl_llm_keep(lua_State *L) {
  tp_array *to = keys_kept(L), *from = tl_unseen(L, 2, "llm");
  int64_t row = tl_integer(L, 3, "row"), n = tl_integer(L, 4, "n"), at = tl_integer(L, 5, "at");
  int64_t outer = to->shape[0] * to->shape[1], places = to->shape[2], d = to->shape[3];
  if (from->rank != 4 || from->dtype != to->dtype || from->shape[1] != to->shape[0] ||
      from->shape[2] != to->shape[1] || from->shape[3] != d)
    tl_fail(L, "shape: llm: keys or values of other layers");
  if (row < 0 || n < 0 || at < 0 || row > from->shape[0] - n)
    tl_fail(L, "input: llm: rows outside those that were computed");
  int64_t bytes = d * tp_dtype_size(to->dtype);
  tp_error e = { 0 };
  tp_pieces p = { to, from, bytes, outer, 0, places * bytes, 0, bytes };
  for (int64_t k = 0; k < n; k++) {
    p.to_at = (at + k) % places * bytes, p.from_at = (row + k) * outer * bytes;
    if (!tp_array_move(&p, &e)) tl_raise(L, &e);
  }
  return 0;
}

/* keys or values, places -> the same with so many places, which begin with those there are */
int tl_llm_grow(lua_State *L) {
  int64_t shape[TP_MAXRANK], places = tl_integer(L, 2, "places");
  const tp_array *a = keys_kept(L);
  TP_COPYN(shape, a->shape, a->rank);
  tp_error e = { 0 };
  if (places < shape[2]) tl_fail(L, "input: llm: fewer places");
  if (!tp_array_see((tp_array *)a, &e)) tl_raise(L, &e);
  shape[2] = places;
  tl_array *u = tl_pusharray(L);
  tl_setarray(L, u, tp_array_new(a->dtype, a->rank, shape));
  a = keys_kept(L);
  tp_array_overlay(u->a, a);
  return 1;
}
