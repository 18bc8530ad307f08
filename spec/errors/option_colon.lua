-- A dot for the colon: a number where the tensor belongs.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, shape = { 3 } })
local y = x.sum(0) -- here
print(y)
