-- Labels of another batch.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 8, 10 } })
local y = P:input("y", { shape = { 7 }, dtype = "i64" })
local logits = x * 2
local loss = logits:cross_entropy(y) -- here
print(loss)
