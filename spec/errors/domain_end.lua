-- The bound as an index.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = x[T] -- here
P:compile { outputs = { y = y } }
