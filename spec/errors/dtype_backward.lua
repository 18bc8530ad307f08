-- A loss of integers.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local n = P:input("n", { dtype = "i64" })
local loss = n * 2
loss:backward() -- here
