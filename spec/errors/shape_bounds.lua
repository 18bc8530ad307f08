-- Sizes that are equal for some bounds only.
local tempo = require "tempo"
local P = tempo.program()
local _, T = P:dim "t"
local _, B = P:dim "b"
local x = P:input("x", { shape = { T } })
local y = P:input("y", { shape = { B } })
local z = x + y -- here
P:compile { outputs = { z = z } }({ x = { 1, 2 }, y = { 1, 2, 3 } }, { T = 2, B = 3 })
