-- A branch behind one that takes all.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local h = P:tensor { domain = { t }, name = "h" }
h[t] = 1
h[0] = 0 -- here
P:compile { outputs = { h = h } }
