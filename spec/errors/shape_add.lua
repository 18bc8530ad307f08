-- Shapes that do not align.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local a = P:input("a", { domain = { t }, shape = { 4, 3 } })
local b = P:input("b", { shape = { 4 } })
print(a + b) -- here
