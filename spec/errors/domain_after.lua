-- The step after the last.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x[t + 1] - x -- here
P:compile { outputs = { y = y } }
