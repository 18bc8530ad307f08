-- A dim ends once.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
P:stop(t, x:gt(1))
P:stop(t, x:lt(0)) -- here
