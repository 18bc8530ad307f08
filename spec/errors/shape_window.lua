-- A window that grows, where a fixed shape was declared.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local h = P:tensor { domain = { t }, shape = { 3 }, name = "h" }
h[t] = x[tempo.max(t - 2, 0) .. t + 1] -- here
