-- A dim that the tensor lacks.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local i = P:dim "i"
local x = P:input("x", { domain = { t } })
print(x[{ i = 0 }], i) -- here
