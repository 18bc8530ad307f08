-- A branch out of the range of its dtype.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local h = P:tensor { domain = { t }, dtype = "u8" }
h[0] = -1 -- here
h[t] = h[t - 1]
