-- A shape that names its own dim.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local h = P:tensor { domain = { t }, shape = { t + 1 }, name = "h" }
print(h[0 .. T]:sum(0)) -- here
