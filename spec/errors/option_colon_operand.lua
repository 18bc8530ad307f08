-- A dot for the colon where the operand is a tensor too.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 3, 3 } })
local w = P:input("w", { shape = { 3, 3 } })
local y = x.matmul(w) -- here
print(y)
