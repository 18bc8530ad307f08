-- A processor has no number.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
P:compile { outputs = { x = x }, device = "cpu:1" } -- here
