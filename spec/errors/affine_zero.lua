-- A quotient by zero.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
print(x[tempo.mod(t, 0)]) -- here
