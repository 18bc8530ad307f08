-- An array of a callback, kept without a copy.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })

local kept
P:sink({ x }, function(v) kept = v[1] end)
P:compile {}({ x = { 1 } }, { T = 1 })
print(kept:item()) -- here
