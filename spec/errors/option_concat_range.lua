-- A range of three ends.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x[0 .. t .. T] -- here
print(y)
