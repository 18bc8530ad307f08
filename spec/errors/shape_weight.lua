-- Weights that are not one for each class.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 8, 10 } })
local y = P:input("y", { shape = { 8 }, dtype = "i64" })
local loss = x:cross_entropy(y, { 1, 1, 1 }) -- here
print(loss)
