-- Labels that are no integers.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 8, 10 } })
local y = P:input("y", { shape = { 8 } })
local loss = x:log_softmax(1):nll_loss(y) -- here
print(loss)
