-- The row next door may have ended.
local tempo = require "tempo"
local P = tempo.program()
local b = P:dim "b"
local t = P:dim "t"
local x = P:input("x", { domain = { b, t } })
P:stop(t, x:gt(1))
local y = x + x[{ b = tempo.max(b - 1, 0) }] -- here
P:compile { outputs = { y = y } }
