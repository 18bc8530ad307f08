-- A fraction as an index.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 3 } })
local y = x:index_select(0, { 0, 1.5 }) -- here
print(y)
