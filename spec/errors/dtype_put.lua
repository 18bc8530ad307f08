-- A value of another dtype put into a tensor.
local tempo = require "tempo"
local P = tempo.program()
local x, v = P:input("x", { shape = { 3, 2 } }), P:input("v", { shape = { 2 }, dtype = "f64" })
x:put(0, 1, v) -- here
