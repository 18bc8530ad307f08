-- The gradient of a norm written by hand, at 0: 0 times infinity later on, infinity first.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 2 } })
local norm = x:square():sum():sqrt() -- here
P:compile { outputs = { g = tempo.grad(norm, x) }, check = "nan" } { x = { 0, 0 } }
