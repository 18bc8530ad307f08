-- A tensor as an index.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local k = P:input("k", { domain = { t }, dtype = "i64" })
print(x[k]) -- here
