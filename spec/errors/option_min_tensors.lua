-- tempo.min is for index expressions.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = tempo.min(x, x * 2) -- here
print(y)
