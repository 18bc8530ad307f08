-- A bound that nothing mentions.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local _, B = P:dim "b"
local x = P:input("x", { domain = { t } })
local f = P:compile { outputs = { y = x * 2 } }
f({ x = { 1, 2 } }, { T = 2, B = 4 }) -- here
print(B)
