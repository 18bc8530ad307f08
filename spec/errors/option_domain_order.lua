-- Dims in another order than their arrays.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local b = P:dim "b"
local x = P:input("x", { domain = { b, t } }) -- here
print(x)
