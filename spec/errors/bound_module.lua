-- The bound of a dim along which only parameters lie.
local tempo = require "tempo"
local P = tempo.program()
local i = P:dim "i"
local x = P:input("x", { shape = { 3 } })
tempo.nn.Linear(P, 3, 2, { along = { i } })
local f = P:compile { outputs = { y = x + 1 } }
f { x = { 1, 2, 3 } } -- here
