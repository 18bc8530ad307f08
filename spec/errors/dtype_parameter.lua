-- Loading fractions into a parameter of integers.
local tempo = require "tempo"
local P = tempo.program()
local n = P:param("n", { dtype = "i64", shape = { 2 }, init = 0 })
local f = P:compile { outputs = { n = n } }
f:load_params { n = { 1, 1.5 } } -- here
