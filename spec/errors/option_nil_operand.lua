-- A forgotten variable.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
print(x + y) -- luacheck: ignore -- here
