-- True division of a dim.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
print(x[t / 2]) -- here
