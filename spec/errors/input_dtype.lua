-- An array of another dtype.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })

local f = P:compile { outputs = { y = x * 2 } }
f({ x = tempo.array({ 1, 2 }, "f64") }, { T = 2 }) -- here
