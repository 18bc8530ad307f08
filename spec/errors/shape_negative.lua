-- A negative extent.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local x = P:input("x", { shape = { -3 } }) -- here
print(x)
