-- A power of a dim.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
print(x * 0.5 ^ t) -- here
