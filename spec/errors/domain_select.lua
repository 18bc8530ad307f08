-- An index expression in an axis.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, shape = { 3 } })
print(x:select(0, 3)) -- here
