-- A quotient by a bound.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t } })
print(x[tempo.floordiv(t, T)]) -- here
