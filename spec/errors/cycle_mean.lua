-- Centred by a mean that it is part of.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t } })
local h = P:tensor { domain = { t }, name = "h" }
h[0] = 0
h[t] = h[t - 1] + x - h[0 .. T]:mean(0) -- here
P:compile { outputs = { h = h } }
