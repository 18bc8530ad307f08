-- An integer divided by zero.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, dtype = "i64" })
local y = tempo.floordiv(10, x) -- here
P:compile { outputs = { y = y } }({ x = { 5, 0 } }, { T = 2 })
