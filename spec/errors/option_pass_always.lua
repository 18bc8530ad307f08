-- A pass that is no switch.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
P:compile { outputs = { x = x }, passes = { sums = false } } -- here
