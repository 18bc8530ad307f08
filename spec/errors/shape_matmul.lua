-- Inner sizes that differ.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local a = P:input("a", { domain = { t }, shape = { 4 } })
local w = P:input("w", { shape = { 3, 2 } })
print(a:matmul(w)) -- here
