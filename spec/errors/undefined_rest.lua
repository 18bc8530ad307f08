-- A first value and no rest.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local h = P:tensor { domain = { t }, name = "h" } -- here
h[0] = 0
P:compile { outputs = { h = h } }
