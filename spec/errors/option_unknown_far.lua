-- An option like no other.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { dims = { t } }) -- here
print(x)
