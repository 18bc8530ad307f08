-- Tensors of two programs.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local Q = tempo.program()
local y = Q:input "y"
print(x + y) -- here
