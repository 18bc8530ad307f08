-- A misspelled option of a call.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local f = P:compile { outputs = { x = x } }
f({ x = { 1 } }, { T = 1 }, { sed = 3 }) -- here
