-- The value of one tick in another shape.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, shape = { 3 } })
local f = P:compile { outputs = { y = x + 1 } }
f:start({}, { T = 2 })
f:step { x = { 1, 2 } } -- here
