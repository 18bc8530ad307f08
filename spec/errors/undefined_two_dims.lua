-- A corner without a branch.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local i = P:dim "i"
local d = P:tensor { domain = { t, i }, name = "d" } -- here
d[{ t = 0 }] = 0
d[{ t = t + 1, i = i + 1 }] = d + 1
P:compile { outputs = { d = d } }
