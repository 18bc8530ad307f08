-- Half a step.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local f = P:compile { outputs = { y = x * 2 } }
f({ x = { 1, 2 } }, { T = 1.5 }) -- here
