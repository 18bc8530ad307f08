-- A negative index does not wrap.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x[-1] -- here
P:compile { outputs = { y = y } }
