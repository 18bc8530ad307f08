-- One index for two dims by position.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local i = P:dim "i"
local x = P:input("x", { domain = { t, i } })
print(x[{ 0 }]) -- here
