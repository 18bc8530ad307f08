-- An axis that x lacks.
local tempo = require "tempo"
local P = tempo.program()
P:input("x", { shape = { 3 } }):put(1, 0, 1) -- here
