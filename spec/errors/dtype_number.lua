-- Half of an integer.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local h = P:tensor { domain = { t }, dtype = "i64" }
h[t] = 0.5 -- here
