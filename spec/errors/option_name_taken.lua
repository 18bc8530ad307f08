-- A name given twice.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local again = P:input("x", { domain = { t } }) -- here
print(x, again)
