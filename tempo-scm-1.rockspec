rockspec_format = "3.0"
package = "tempo"
version = "scm-1"
source = {
   url = "git+file://.",   -- not published: `luarocks make` in a clone
}
description = {
   summary = "Recurrent tensors: whole programs of recurrences, recorded, scheduled and compiled",
   detailed = [[
Tensors with temporal dimensions, indexed by symbolic expressions (x[t-1], x[0 .. t+1], r[t .. T]). A script is recorded
as a graph, differentiated, scheduled by isl over all its steps, and run as one program for any bound.]],
   license = "MIT",
   labels = { "machine-learning", "tensor", "reinforcement-learning", "compiler" },
}
dependencies = {
   "lua >= 5.1, < 5.5",    -- 5.4 and LuaJIT; the Makefile refuses the headers of others
}
-- Names without headers: LuaRocks looks for a header in include/ itself only. OpenBLAS is opened at run time.
external_dependencies = {
   ISL = { library = "isl" },
   GMP = { library = "gmp" },
   ZLIB = { library = "z" },
}
build = {
   type = "make",
   build_target = "rock",
   install_target = "install",
   build_variables = {
      B = "build/rock",
      CC = "$(CC)",
      CFLAGS = "$(CFLAGS) -DNDEBUG",
      LIBFLAG = "$(LIBFLAG)",
      LUA_INCDIR = "$(LUA_INCDIR)",
      ISL_INCDIR = "$(ISL_INCDIR)",
      ISL_LIBDIR = "$(ISL_LIBDIR)",
   },
   install_variables = {
      B = "build/rock",
      CC = "$(CC)",
      CFLAGS = "$(CFLAGS) -DNDEBUG",
      LIBFLAG = "$(LIBFLAG)",
      LUA_INCDIR = "$(LUA_INCDIR)",
      ISL_INCDIR = "$(ISL_INCDIR)",
      ISL_LIBDIR = "$(ISL_LIBDIR)",
      INST_LIBDIR = "$(LIBDIR)",
      INST_LUADIR = "$(LUADIR)",
      INST_BINDIR = "$(BINDIR)",
   },
   copy_directories = { "docs", "examples" },
}
test = {
   type = "command",
   script = ".ci/rock_test.lua",   -- the rock in a scratch tree; `make test` is for the sources
}
