-- A range over shrinking windows.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x[t .. T] * 2
print(y[0 .. t + 1]:sum()) -- here
