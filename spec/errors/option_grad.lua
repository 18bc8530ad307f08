-- A misspelled option of tempo.grad.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 3 } })
local loss = x:square():sum()
local g = tempo.grad(loss, x, { laef = true }) -- here
print(g)
