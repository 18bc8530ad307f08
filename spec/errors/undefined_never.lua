-- Declared, never assigned.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local h = P:tensor { domain = { t }, name = "h" } -- here
P:compile { outputs = { h = h } }
