-- A product of a dim with itself.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
print(x[t * t]) -- here
