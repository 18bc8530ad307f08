-- tempo.where reads both sides everywhere.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = tempo.where(t:ge(1), x[t - 1], 0) -- here
P:compile { outputs = { y = y } }
