/* tokenizer: what lua/tempo/llm/tokenizer.lua is made of: opening a file, and ids of texts and
 * texts of ids. Lua's side knows folders, names and chat templates. */
#include "lua/tl.h"
#include "io/open.h"
#include "text/text.h"

typedef struct {
  tp_tokenizer *t;
  char *bytes;  /* of the file, while it is read */
  tp_weights w; /* the same for GGUF */
} tl_tokenizer;

static void drop_file(tl_tokenizer *u) {
  tp_free(u->bytes);
  u->bytes = NULL;
  tp_weights_close(&u->w);
}

static int tokenizer_gc(lua_State *L) {
  tl_tokenizer *u = tl_object(L, 1, TL_TOKENIZER, "close");
  u->t = tp_tokenizer_free(u->t);
  drop_file(u);
  return 0;
}

/* { [text] = id } */
static tp_special *specials(lua_State *L, int i, int *n) {
  int most = lua_istable(L, i) ? tl_count(L, i) : 0;
  tp_special *v = lua_newuserdata(L, sizeof *v * (size_t)(most + 1));
  *n = 0;
  for (lua_pushnil(L); most && lua_next(L, i) && *n < most; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TNUMBER)
      tl_fail(L, "option: tokenizer: special tokens are a table { [text] = id }");
    tp_special *s = &v[(*n)++];
    s->text.s = lua_tolstring(L, -2, &s->text.n);
    s->id = (int64_t)lua_tonumber(L, -1);
  }
  return v;
}

/* kind, path[, pattern, special tokens] */
int tl_tokenizer_open(lua_State *L) {
  tp_error e = { 0 };
  const char *kind = tl_string(L, 1, "tokenizer"), *path = tl_string(L, 2, "tokenizer");
  int nspecial;
  lua_settop(L, 4);
  const tp_special *special = specials(L, 4, &nspecial);
  const char *pattern = strcmp(kind, "tiktoken") ? "" : tl_string(L, 3, "tokenizer: pattern");
  tl_tokenizer *u = tl_new(L, TL_TOKENIZER, sizeof *u);
  tp_chars x = { 0 };
  bool gguf = !strcmp(kind, "gguf");
  if (!gguf) x.s = u->bytes = tp_file_whole(path, &x.n, &e);
  if (gguf ? !tp_weights_open(&u->w, path, &e) : !x.s) return tl_raise(L, &e);
  if (gguf) u->t = tp_tokenizer_gguf(&u->w, &e);
  else if (!strcmp(kind, "json")) u->t = tp_tokenizer_json(x, path, &e);
  else if (!strcmp(kind, "sentencepiece")) u->t = tp_tokenizer_sentencepiece(x, path, &e);
  else if (!strcmp(kind, "tiktoken"))
    u->t = tp_tokenizer_tiktoken(x, pattern, nspecial, special, path, &e);
  drop_file(u);
  return u->t ? 1 : tl_raise(L, &e);
}

static tp_tokenizer *tokenizer_self(lua_State *L, const char *what) {
  return ((tl_tokenizer *)tl_object(L, 1, TL_TOKENIZER, what))->t;
}

/* text, special -> ids */
static int tokenizer_encode(lua_State *L) {
  tp_error e = { 0 };
  tp_chars x;
  tp_ids ids = { 0 };
  tp_arena a;
  tp_tokenizer *t = tokenizer_self(L, "encode");
  if (lua_type(L, 2) != LUA_TSTRING)
    tl_fail(L, "option: encode: expected a string, got %s", tl_describe(L, 2));
  x.s = lua_tolstring(L, 2, &x.n);
  tp_scratch_init(&a);
  bool ok = tp_tokenizer_encode(t, x, lua_toboolean(L, 3), &a, &ids, &e);
  int n = ids.n;
  int32_t *v = ok ? lua_newuserdata(L, sizeof *v * (size_t)(n + 1)) : NULL; /* Lua's */
  if (n && v) TP_COPYN(v, ids.v, n);
  tp_arena_free(&a);
  if (!ok) return tl_raise(L, &e);
  lua_createtable(L, n, 0);
  for (int k = 0; k < n; k++) {
    lua_pushinteger(L, v[k]);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

static void put_piece_at(lua_State *L, tp_buf *b, tp_tokenizer *t, int i, bool special) {
  tp_chars x;
  int64_t id;
  int size = tp_tokenizer_look(t).size;
  bool is = tl_isint(L, i, &id) && tp_tokenizer_piece(t, id, special, &x);
  if (is) {
    tp_putn(b, x.s, x.n);
    return;
  }
  tp_buf_free(b);
  tl_fail(L, "option: decode: expected ids of the vocabulary, 0 .. %d, got %s", size - 1,
      lua_type(L, i) == LUA_TNUMBER ? lua_tostring(L, i) : tl_describe(L, i));
}

/* ids, special, whether a text begins here */
static int tokenizer_decode(lua_State *L) {
  tp_tokenizer *t = tokenizer_self(L, "decode");
  int n = tl_sequence(L, 2, "decode", "{ 1, 2 }");
  bool special = lua_toboolean(L, 3), strip = lua_toboolean(L, 4) && tp_tokenizer_strips(t);
  tp_buf b;
  tp_buf_init(&b);
  tp_puts(&b, "");
  for (int k = 1; k <= n; k++) {
    size_t at = b.n;
    lua_rawgeti(L, 2, k);
    put_piece_at(L, &b, t, lua_gettop(L), special);
    lua_pop(L, 1);
    bool any = b.n > at;
    if (any && strip && b.s[at] == ' ') memmove(b.s + at, b.s + at + 1, b.n-- - at);
    strip &= !any;
  }
  return tl_pushbuf(L, &b), 1;
}

/* id -> its bytes */
static int tokenizer_piece(lua_State *L) {
  tp_tokenizer *t = tokenizer_self(L, "piece");
  tp_buf b;
  tp_buf_init(&b);
  tp_puts(&b, "");
  put_piece_at(L, &b, t, 2, true);
  return tl_pushbuf(L, &b), 1;
}

/* text -> the id of the piece that is this text */
static int tokenizer_find(lua_State *L) {
  tp_chars x;
  tp_tokenizer *t = tokenizer_self(L, "find");
  x.s = luaL_checklstring(L, 2, &x.n);
  int id = tp_tokenizer_find(t, x);
  if (id < 0) return 0;
  lua_pushinteger(L, id);
  return 1;
}

static void set_id(lua_State *L, const char *key, int id) {
  if (id < 0) return;
  lua_pushinteger(L, id);
  lua_setfield(L, -2, key);
}

/* { size =, bos =, eos =, eot =, unk =, add_bos =, chat_template = } */
static int tokenizer_facts(lua_State *L) {
  tp_tokenizer_facts f = tp_tokenizer_look(tokenizer_self(L, "facts"));
  lua_createtable(L, 0, 7);
  set_id(L, "size", f.size);
  set_id(L, "bos", f.bos);
  set_id(L, "eos", f.eos);
  set_id(L, "eot", f.eot);
  set_id(L, "unk", f.unk);
  lua_pushboolean(L, f.add_bos);
  lua_setfield(L, -2, "add_bos");
  if (f.chat.n) lua_pushlstring(L, f.chat.s, f.chat.n), lua_setfield(L, -2, "chat_template");
  return 1;
}

void tl_open_tokenizer(lua_State *L, tl_state *S) {
  static const tl_reg meta[] = { { 0 } };
  static const tl_reg methods[] = {
    { "encode", tokenizer_encode, 3 },
    { "decode", tokenizer_decode, 4 },
    { "piece", tokenizer_piece, 2 },
    { "find", tokenizer_find, 2 },
    { "facts", tokenizer_facts, 1 },
    { 0 },
  };
  tl_class(L, S, TL_TOKENIZER, "tempo.Tokenizer", meta, methods, NULL);
  lua_pop(L, 1);
  tl_setraw(L, TL_TOKENIZER, "__gc", tokenizer_gc);
}
