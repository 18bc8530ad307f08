-- More elements than there are.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t }, shape = { 3 } })
print(x[0 .. T]:reshape { 2, 2 }) -- here
