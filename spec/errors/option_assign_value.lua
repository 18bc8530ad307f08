-- A branch of what is a value already.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x * 2
y[0] = 1 -- here
