-- `require "tempo"` finds this file first. It refuses a Lua that tempo is not built for, under
-- which the C module would only miss symbols, and otherwise returns the C module, tempo.so on
-- package.cpath.
if _VERSION ~= "Lua 5.4" and not jit then
  error("tempo runs under Lua 5.4 and LuaJIT 2.1; this is " .. _VERSION, 3)
end
local path, tried = package.searchpath("tempo", package.cpath)
if not path then
  tried = tried:gsub("^%s+", "")
  error("module 'tempo' is here in part: its C part, tempo.so, is nowhere on package.cpath:\n\t"
    .. tried, 3)
end
local open, why = package.loadlib(path, "luaopen_tempo")
if not open then
  local other = why:find "undefined symbol: lua" and " (it was built for another Lua)" or ""
  error(("error loading module 'tempo' from file '%s':\n\t%s%s"):format(path, why, other), 3)
end
return open(...)
