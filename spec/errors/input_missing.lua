-- An input that was not given.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })

local f = P:compile { outputs = { y = x * 2 } }
f({}, { T = 2 }) -- here
