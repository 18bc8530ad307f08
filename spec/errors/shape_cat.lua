-- Rows of several widths.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local a = P:input("a", { shape = { 2, 3 } })
local b = P:input("b", { shape = { 2, 4 } })
print(tempo.cat({ a, b }, 0)) -- here
