-- Rows that end by data are of unequal length.
local tempo = require "tempo"
local P = tempo.program()
local b, B = P:dim "b"
local t = P:dim "t"
local x = P:input("x", { domain = { b, t } })
P:stop(t, x:gt(1))
local y = x[{ b = 0 .. B }]:sum(0) -- here
P:compile { outputs = { y = y } }
