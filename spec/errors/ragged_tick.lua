-- A run in steps ends with the whole output too.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x[0 .. t + 1] -- here
P:compile { outputs = { y = y }, tick = t }
