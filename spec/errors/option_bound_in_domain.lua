-- P:dim gives two values, and both land in the table.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local x = P:input("x", { domain = { P:dim "s" } }) -- here
print(x)
