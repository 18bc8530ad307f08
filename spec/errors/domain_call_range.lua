-- A range that the bounds of the call do not have.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x[tempo.range(2, 9)]:sum(0) -- here
P:compile { outputs = { y = y } }({ x = { 1, 2, 3, 4 } }, { T = 4 })
