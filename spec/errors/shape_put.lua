-- A row of another length put into a tensor.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 3, 2 } })
x:put(1, 0, { 1, 2 }) -- here
