-- Forwards and backwards at once.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t } })
local h = P:tensor { domain = { t }, name = "h" }
h[0] = 0
h[T - 1] = 0
h[t] = h[t - 1] + h[t + 1] + x -- here
P:compile { outputs = { h = h } }
