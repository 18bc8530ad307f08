-- More than there are.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, shape = { 3 } })
print(x:topk(5)) -- here
