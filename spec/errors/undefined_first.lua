-- No first value.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local h = P:tensor { domain = { t }, name = "h" } -- here
h[t + 1] = h * 0.9 + x
P:compile { outputs = { h = h } }
