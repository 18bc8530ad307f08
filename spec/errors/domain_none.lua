-- An index of a tensor without dims.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local x = P:input("x", { shape = { 3 } })
print(x[0]) -- here
