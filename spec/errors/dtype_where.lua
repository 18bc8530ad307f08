-- A condition that is a number.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
print(tempo.where(x, 1, 2)) -- here
