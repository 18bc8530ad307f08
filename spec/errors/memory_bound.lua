-- A bound beyond all memory.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = t:value() * 2 -- here
local f = P:compile { outputs = { y = y }, tier = "interpreter" }
f({}, { T = 2 ^ 59 })
print(x)
