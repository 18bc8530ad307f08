-- Whether there is another step of t is known where i goes on, which is data as well.
local tempo = require "tempo"
local P = tempo.program()
local i = P:dim "i"
local t, T = P:dim "t"
local x = P:input("x", { domain = { i, t } })
P:stop(t, x:gt(0)) -- here
P:stop(i, x[{ t = T - 1 }]:gt(9))
local v = P:input("v", { domain = { t } })
P:compile { outputs = { v = v, x = x }, tick = t }
