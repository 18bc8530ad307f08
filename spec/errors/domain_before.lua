-- The step before the first.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x - x[t - 1] -- here
P:compile { outputs = { y = y } }
