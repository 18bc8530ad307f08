-- A product of bounds as an index.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local _, B = P:dim "b"
local x = P:input("x", { domain = { t } })
print(x[t + B * T]) -- here
