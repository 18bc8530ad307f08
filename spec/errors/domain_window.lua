-- A window that begins before the beginning.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x[t - 2 .. t + 1]:mean(0) -- here
P:compile { outputs = { y = y } }
