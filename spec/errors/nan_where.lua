-- The side of a where that is not taken counts, as it is computed.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 3 } })
local y = tempo.where(x:gt(0), x:sqrt(), 0) -- here
P:compile { outputs = { y = y }, check = "nan" } { x = { 4, -4, 9 } }
