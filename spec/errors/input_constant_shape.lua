-- A shape without bounds is said once.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 256, 8 } })
local f = P:compile { outputs = { y = x + 1 } }
f { x = { { 1, 2 } } } -- here
