-- No number where integers are declared.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 2, 1 }, dtype = "i32" })
local f = P:compile { outputs = { y = x + 1 } }
f({ x = { { 1 }, { 0 / 0 } } }) -- here
