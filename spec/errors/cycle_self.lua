-- A tensor that needs itself.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local h = P:tensor { domain = { t }, name = "h" }
h[0] = 0
h[t] = h[t] * 0.9 + x -- here
P:compile { outputs = { h = h } }
