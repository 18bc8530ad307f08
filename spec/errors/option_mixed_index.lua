-- An index with names and positions.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local i = P:dim "i"
local x = P:input("x", { domain = { t, i } })
print(x[{ t, i = 0 }]) -- here
