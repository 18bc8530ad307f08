-- A place beyond the axis.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 3 } })
P:compile { outputs = { y = x:put(0, 3, 1) } } -- here
