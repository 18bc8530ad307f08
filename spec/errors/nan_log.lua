-- The logarithm of 0 at one point.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x:log() * 2 -- here
P:compile { outputs = { y = y }, check = "nan" } ({ x = { 1, 2, 0, 3 } }, { T = 4 })
