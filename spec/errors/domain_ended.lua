-- An end by data may be any number from 1 on.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
P:stop(t, x:gt(1))
local y = x[tempo.range(0, 5)]:sum(0) -- here
P:compile { outputs = { y = y } }
