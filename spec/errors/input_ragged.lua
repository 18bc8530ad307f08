-- Rows of several lengths.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, shape = { 3 } })

local f = P:compile { outputs = { y = x * 2 } }
f({ x = { { 1, 2, 3 }, { 4, 5 } } }, { T = 2 }) -- here
