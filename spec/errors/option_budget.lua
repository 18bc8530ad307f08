-- A budget below 0.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local f = P:compile { outputs = { y = x + 1 } }
f:start({}, { T = 2 })
f:step({ x = 1 }, { budget_ms = -1 }) -- here
