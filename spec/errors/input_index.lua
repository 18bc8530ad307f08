-- Data chooses a row that is not there.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t } })
local k = P:input("k", { domain = { t }, dtype = "i64" })
local y = x[0 .. T]:index_select(0, k) -- here
P:compile { outputs = { y = y } }({ x = { 1, 2 }, k = { 1, 2 } }, { T = 2 })
