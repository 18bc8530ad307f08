-- 2 .. 5 is the string "25".
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x[2 .. 5] -- here
print(y)
