-- Data says a place beyond the axis.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x, k = P:input("x", { shape = { 3 } }), P:input("k", { domain = { t }, dtype = "i64" })
local y = x:put(0, k, 1) -- here
P:compile { outputs = { y = y } }({ x = { 1, 2, 3 }, k = { 0, 3 } }, { T = 2 })
