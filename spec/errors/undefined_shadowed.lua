-- A branch behind one that takes more.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local h = P:tensor { domain = { t }, name = "h" }
h:when(t:lt(4), 0)
h[2] = 1 -- here
h:otherwise(2)
P:compile { outputs = { h = h } }
