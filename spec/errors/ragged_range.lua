-- A range over growing windows.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x[0 .. t + 1]
print(y[0 .. T]) -- here
