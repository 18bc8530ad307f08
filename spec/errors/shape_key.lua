-- A key with an axis.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local k = P:input("k", { domain = { t }, shape = { 2 }, dtype = "i64" })
print(tempo.ones({ 3 }):dropout({ key = k })) -- here
