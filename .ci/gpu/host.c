/* host: runs a script by the Lua that it is linked with, as the interpreter of that name does:
 * where a machine has none.   host [-e text] [script [argument ..]] */
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

static int traced(lua_State *L) {
  if (!lua_isstring(L, 1) && luaL_callmeta(L, 1, "__tostring")) lua_replace(L, 1);
  luaL_traceback(L, L, lua_tostring(L, 1), 1);
  return 1;
}

static int run(lua_State *L, int loaded, int narg) {
  int bad = loaded;
  if (!bad) {
    int base = lua_gettop(L) - narg;
    lua_pushcfunction(L, traced);
    lua_insert(L, base);
    bad = lua_pcall(L, narg, 0, base);
  }
  if (bad) fprintf(stderr, "%s\n", lua_tostring(L, -1) ? lua_tostring(L, -1) : "(no text)");
  return bad != 0;
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  int first = 1, bad = 0;
  if (!L) return 1;
  luaL_openlibs(L);
  while (!bad && first + 1 < argc && !strcmp(argv[first], "-e")) {
    bad = run(L, luaL_loadstring(L, argv[first + 1]), 0);
    first += 2;
  }
  if (!bad && first < argc) {
    lua_createtable(L, argc, 0);
    for (int i = 0; i < argc; i++) lua_pushstring(L, argv[i]), lua_rawseti(L, -2, i - first);
    lua_setglobal(L, "arg");
    int loaded = luaL_loadfile(L, argv[first]);
    for (int i = first + 1; i < argc && !loaded; i++) lua_pushstring(L, argv[i]);
    bad = run(L, loaded, argc - first - 1);
  }
  lua_close(L);
  return bad;
}
