-- A gradient of integers.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local n = P:input("n", { dtype = "i64" })
local g = tempo.grad((n * 0.5):sum(), { n }) -- here
print(g)
