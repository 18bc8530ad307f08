-- An option inside the list before it.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 3, 4 } })
local y = x:sum { 0, keepdim = true } -- here
print(y)
