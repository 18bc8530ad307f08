-- A branch before the beginning.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local h = P:tensor { domain = { t }, name = "h" }
h[-1] = 0 -- here
h:otherwise(1)
P:compile { outputs = { h = h } }
