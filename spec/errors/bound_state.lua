-- A state of a run without an end cannot go on with one.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local f = P:compile { outputs = { y = x + 1 }, tick = t } -- here
f:start({}, { T = math.huge })
f:step { x = 1 }
f({ x = { 1 } }, { T = 1 }, { state = f:state() })
