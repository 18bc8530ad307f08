-- A point between two branches.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local h = P:tensor { domain = { t }, name = "h" } -- here
h:when(t:lt(3), 0)
h:when(t:gt(3), 1)
local f = P:compile { outputs = { h = h } }
f({}, { T = 5 })
