-- Five rows of four.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x[4] -- here
P:compile { outputs = { y = y } }({ x = { 1, 2, 3, 4 } }, { T = 4 })
