-- A Lua comparison is no condition, from the other side. 5.4 only: LuaJIT refuses by itself.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = tempo.where(3 <= t, x, 0) -- here
print(y)
