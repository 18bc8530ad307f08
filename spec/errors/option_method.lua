-- A misspelled method.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x:sotfmax(0) -- here
print(y)
