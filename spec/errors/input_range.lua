-- A number beyond the declared dtype.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { dtype = "u8" })
local f = P:compile { outputs = { y = x + 1 } }
f({ x = 300 }) -- here
