-- A logical operator on floats.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x:land(x:gt(0)) -- here
print(y)
