-- The condition that ends a dim is bool.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
P:stop(t, x) -- here
