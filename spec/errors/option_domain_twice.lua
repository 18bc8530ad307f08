-- A dim listed twice.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t, t } }) -- here
print(x)
