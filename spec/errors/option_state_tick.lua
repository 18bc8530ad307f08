-- A state for a function that has no ticks.
local tempo = require "tempo"
local P = tempo.program()
local i = P:dim "i"
local t = P:dim "t"
local x = P:input("x", { domain = { i, t } })
local f = P:compile { outputs = { y = x + 1 }, tick = i }
f:start({}, { I = 2, T = 1 })
f:step { x = { 1 } }
local g = P:compile { outputs = { y = x + 1 } } -- here
g:load_state(f:state())
