-- The dim instead of its bound.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local f = P:compile { outputs = { y = x * 2 } }
f({ x = { 1, 2 } }, { t = 2 }) -- here
