-- A fraction where integers are declared.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, dtype = "i64" })
local f = P:compile { outputs = { y = x + 1 } }
f({ x = { 1, 1.5 } }, { T = 2 }) -- here
