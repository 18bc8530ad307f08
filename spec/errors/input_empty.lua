-- The largest of no integers.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, dtype = "i64" })
local y = x[0 .. t]:max(0) -- here
P:compile { outputs = { y = y } }({ x = { 3, 4 } }, { T = 2 })
