-- A fraction from a where among numbers, in a tensor of integers.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local h = P:tensor { domain = { t }, dtype = "i32" }
h[t] = tempo.where(t:eq(0), 0, 0.5) -- here
